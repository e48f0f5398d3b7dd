/* tau-step sequential sampling (PROTOCOL 3.3): the sampler of systems/networks/net_tau.h beside the reconstructor that
 * it looks through: opened here, run by systems/scan/sequence.h.
 */
#ifndef L2SR_SYSTEMS_TAU_H
#define L2SR_SYSTEMS_TAU_H

#include "engine/files/store.h"
#include "engine/graph/optimise.h"
#include "systems/networks/net_tau.h"
#include "systems/networks/reconstructor.h"
#include "systems/sampling/acquisition.h"

struct tau {
  struct device *device;
  struct kernels *kernels;
  struct acquisition acquisition;
  size_t plane; /* bytes of an image's values */
  size_t batch; /* images a pass that it was planned for */
  uint32_t steps, hidden, channels, pools;
  bool adaptive, train;
  bool points;         /* the sampler is a U-Net, apart from the graph */
  enum net_view_kind view; /* what the reconstructor takes */
  size_t coils;        /* VIEW_COILS: of a slice, at most */
  uint32_t noise_seed; /* of the sampler's input where it is not adaptive */
  struct graph *graph; /* NULL: not open */
  struct reconstructor sampler; /* points: that U-Net, a pass for each step that learns */
  struct net_tau net;
  struct optimiser optimiser;          /* to train */
  struct reconstructor *reconstructor; /* the caller's; to train with tau_passes passes */
  struct reconstructor own;            /* of a checkpoint (tau_load) */
  cl_mem slice;                        /* rows of SLICE of the images at hand */
  struct watch watch;
};

/* The parameters are those of a new training. Refuses fewer lines than steps. */
bool tau_open(struct tau *tau, const struct masks_setup *setup, struct reconstructor *reconstructor,
              struct error *error);
void tau_close(struct tau *tau);

/* What is done to the sampler from here on is asked of whose system does it (SAMPLER of components). */
void tau_watch(struct tau *tau);
/* The graph that owns the sampler's parameters. */
struct graph *tau_parameters(const struct tau *tau);

/* Passes of the reconstructor that training keeps. */
size_t tau_passes(const struct options *options);
/* Bytes that training takes beside the reconstructor: in all, and for an image a pass. */
bool tau_measure(const struct masks_setup *setup, struct network_need *need, struct error *error);

/* What checkpoints say of the sampler and its scans (facts of network_of_sampler). */
struct network_facts tau_facts(const struct tau *tau);
/* The sampler and the reconstructor of a checkpoint, to scan with. Refuses one of another kind, other sides,
 * or trained for other scans than the setup's. */
bool tau_load(struct tau *tau, const char *path, const struct masks_setup *setup, struct error *error);

#endif
