/* The methods of the paper, a row each: what it is, from where, its networks and systems, and the tasks that
 * train it. Each row stands at the end of the method's own file; its name stands in TRAIN_METHODS
 * (components/options.h). */
#ifndef L2SR_SYSTEMS_METHOD_H
#define L2SR_SYSTEMS_METHOD_H

#include "systems/networks/networks.h"
#include "systems/training/training.h"

enum { METHOD_STAGES = 3, METHOD_NETWORKS = 3 };

struct method {
  const char *name; /* as in train.method */
  const char *doc, *paper;
  const char *networks; /* that learn, in words */
  /* Beside the reconstructor's, ended by NULL; of points others may stand for them (network_desc.of_points).
   */
  const struct network_desc *beside[METHOD_NETWORKS + 1];
  const struct system *const *systems; /* that no other row names, ended by NULL; NULL: none */
  /* In order; where there are several, the first trains the reconstructor that the others start with. */
  const struct task *stages[METHOD_STAGES + 1];
  bool alternates; /* the stages after the first are a round, of which there are alternate.rounds */
  /* Options of a stage of a round, from 1; NULL: the scene's. */
  void (*set)(struct options *options, const struct task *task, uint32_t round);
};

#define METHOD_ROW(enumerator, name) extern const struct method method_##name;
TRAIN_METHODS(METHOD_ROW)

extern const struct task task_reconstructor;                     /* the first stage of most */
extern const struct method *const method_list[METHOD_COUNT + 1]; /* by enum train_method; ended by NULL */
const struct method *method_of(const struct options *options);
/* The discount of the policy that was trained by the scene, which is a text with all keys; NaN where its
 * method has none or is not known. */
double method_gamma(const char *scene);
/* Its stages in words. */
const char *method_stages(const struct method *method, struct arena *arena);

/* Every network of every method, each once; NULL after the last. */
const struct network_desc *network_at(size_t place);

/* The networks that the scene trains and scans with: the reconstructor's first, NULL after the last. */
enum { NETWORKS_MOST = METHOD_NETWORKS + 1 };
void method_networks(const struct options *options, const struct network_desc *networks[NETWORKS_MOST + 1]);
/* Refuses sizes that one of them does not take, as wrong usage. */
bool method_check_networks(const struct options *options, struct error *error);

#endif
