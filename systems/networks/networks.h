/* Every network that the program has, a row each: what it is, what checkpoints say of it, what it reads and writes. */
#ifndef L2SR_SYSTEMS_NETWORKS_H
#define L2SR_SYSTEMS_NETWORKS_H

#include "components/components.h"
#include "components/options.h"
#include "engine/graph/graph.h"
#include "systems/networks/facts.h"

enum { NETWORK_KEYS = 4 };

struct network_desc {
  const char *name, *doc, *paper;
  /* Ports (engine/ecs/world.h): columns that its systems read and write, with their gradients where it is trained. */
  component_set in, out;
  const struct fact *facts;             /* in checkpoints: the first one is the kind's */
  const char *group;                    /* of its parameters there; NULL: "param" */
  const char *keys[NETWORK_KEYS + 1];   /* options that size it, the one to lower first; ended by NULL */
  const char *precision_key;            /* NULL: it computes in f32 */
  size_t batch;                         /* images a pass: place in struct options */
  bool dense; /* of a policy: it looks at the reconstruction, after every action */
  const struct network_desc *of_points; /* that stands for it where actions are points; NULL: it does itself */
  /* Appends it to an empty graph. Refuses options that no such network has. */
  bool (*append)(struct graph *graph, const struct options *options, struct error *error);
};

/* By name: */
extern const struct network_desc network_unet, network_complex_unet, network_varnet, network_policy, network_pgmri, network_loupe,
    network_tau_step, network_tau_step_points;

enum { RECONSTRUCTOR_NETWORKS = 3 };
const struct network_desc *network_of_reconstructor(size_t place); /* each of them */
const struct network_desc *network_chosen(const struct options *options); /* the scene's reconstructor */
const struct network_desc *network_of_sampler(bool points);        /* of tau steps */

/* Refuses sizes of options that the network does not take, as wrong usage; before anything is loaded. */
bool network_check(const struct network_desc *network, const struct options *options, struct error *error);

#endif
