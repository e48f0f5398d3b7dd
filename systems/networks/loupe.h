/* LOUPE: a mask learned together with the reconstructor by back-propagation (PROTOCOL 3.2). The masks and
 * their way back stand here; systems/methods/fit.h trains mask and reconstructor on one loss. Scans are observed as
 * ever (systems/scan/simulation.h: `batch`), with a way back in one launch; where there is none for what the
 * reconstructor takes, the mask's graph goes on to that (systems/networks/net_view.h). */
#ifndef L2SR_SYSTEMS_LOUPE_H
#define L2SR_SYSTEMS_LOUPE_H

#include "engine/ecs/world.h"
#include "engine/files/store.h"
#include "engine/graph/optimise.h"
#include "systems/networks/net_loupe.h"
#include "systems/networks/reconstructor.h"
#include "systems/sampling/acquisition.h"

struct loupe {
  struct device *device;
  struct kernels *kernels;
  struct acquisition acquisition; /* the only setting of the scene */
  bool each;                      /* a mask for every sample, not one for the minibatch */
  bool views;                     /* its graph observes the scans */
  uint32_t number, stride;        /* what keys the next draws */
  struct graph *graph;            /* NULL: no mask is learned */
  struct net_loupe net;
  struct optimiser optimiser;
  struct watch watch;
};

/* The parameters are those of a new training. */
bool loupe_open(struct loupe *loupe, const struct masks_setup *setup, struct error *error);
void loupe_close(struct loupe *loupe);
/* Bytes that training takes beside the reconstructor: in all, and for an image a pass. */
bool loupe_measure(const struct masks_setup *setup, struct network_need *need, struct error *error);

/* Says which samples the next draws are for: sample i of the minibatch `number` is scan `first` + i; where
 * all share a mask its number is `number`. */
void loupe_number(struct loupe *loupe, uint32_t number, uint32_t first);

/* Its ports become the columns of BATCH. */
void loupe_bind(struct loupe *loupe, struct world *world);

/* All enqueue. */
/* Draws the masks of `images` samples into BATCH.drawn. */
void loupe_forward(struct loupe *loupe, size_t images);
/* Draws the masks of samples [row, row + images) of the validation data, each its own; the same ones from the same
 * probabilities. */
void loupe_forward_validation(struct loupe *loupe, size_t row, size_t images);
/* Where the graph observes: from frequencies, written into loupe_frequencies, to what the reconstructor takes. */
void loupe_forward_views(struct loupe *loupe, size_t images);
cl_mem loupe_frequencies(const struct loupe *loupe);
cl_mem loupe_observed(const struct loupe *loupe);
cl_mem loupe_observed_gradient(const struct loupe *loupe);
size_t loupe_observed_bytes(const struct loupe *loupe, size_t images);
/* Goes back from the gradient of BATCH.drawn, or of what it observed; adds into that of the probabilities. */
void loupe_backward(struct loupe *loupe);

/* What checkpoints say of it (network_loupe.facts). */
struct network_facts loupe_facts(const struct loupe *loupe);
/* What samplers take of it: the probabilities of the lines as dataset `probability` (points: [height][width]), and the
 * most probable mask as dataset `mask`, for the sampler fixed_mask. */
bool loupe_write(const struct loupe *loupe, struct store *store, struct error *error);

#endif
