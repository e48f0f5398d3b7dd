/* The methods of the paper, a row each: what it is, from where, its networks and systems, and how it is trained.
 * Each row stands at the end of the method's own file; its name stands in TRAIN_METHODS (components/options.h). */
#ifndef L2SR_SYSTEMS_METHOD_H
#define L2SR_SYSTEMS_METHOD_H

#include "systems/methods/masks.h"
#include "systems/methods/policy_training.h"
#include "systems/networks/networks.h"

/* A mask that grows by a reconstructor: one stage after that of the reconstructor. */
struct mask_grower {
  /* Refuses bad options before anything is trained. */
  bool (*check)(const struct options *options, struct error *error);
  /* From opening to closing. */
  bool (*run)(struct device *device, const struct options *options, const struct trainer_config *config,
              struct error *error);
  /* Adds its lists of systems, which are in the arena, without a device. */
  bool (*describe)(struct lists *lists, const struct options *options, struct arena *arena, struct error *error);
};

struct method {
  const char *name; /* as in train.method */
  const char *doc, *paper;
  const char *networks;                         /* that learn, in words */
  const struct network_desc *network;           /* beside the reconstructor's; NULL: none */
  const struct network_desc *network_of_points; /* where they are another's; NULL: the same */
  const struct system *const *systems;          /* that no other row names, ended by NULL; NULL: none */
  const struct masks *masks;                    /* NULL: it learns none beside a reconstructor */
  const struct policy_trainer *policy;          /* NULL: it trains none */
  const struct mask_grower *grows;              /* NULL: it grows no mask */
  bool alternates;                              /* policy and reconstructor in turn */
};

#define METHOD_ROW(enumerator, name) extern const struct method method_##name;
TRAIN_METHODS(METHOD_ROW)

extern const struct method *const method_list[METHOD_COUNT + 1]; /* by enum train_method; ended by NULL */
const struct method *method_of(const struct options *options);
/* The discount of the policy that was trained by the scene, which is a text with all keys; NaN where its method has none
 * or is not known. */
double method_gamma(const char *scene);
/* Its stages in words. */
const char *method_stages(const struct method *method);

/* Every network of every method, each once; NULL after the last. */
const struct network_desc *network_at(size_t place);

/* The networks that the scene trains and scans with: the reconstructor's first, NULL after the last. */
enum { NETWORKS_MOST = 2 };
void method_networks(const struct options *options, const struct network_desc *networks[NETWORKS_MOST + 1]);
/* Refuses sizes that one of them does not take, as wrong usage. */
bool method_check_networks(const struct options *options, struct error *error);

#endif
