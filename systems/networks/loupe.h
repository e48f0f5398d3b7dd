/* LOUPE: a mask learned together with the reconstructor by back-propagation (PROTOCOL 3.2). The masks and
 * their way back stand here; systems/methods/train.h trains mask and reconstructor on one loss. Scans are observed as
 * ever (systems/scan/simulation.h: `batch`), with a way back in one launch; where there is none for what the
 * reconstructor takes, the mask's graph goes on to that (systems/networks/net_view.h). */
#ifndef L2SR_SYSTEMS_LOUPE_H
#define L2SR_SYSTEMS_LOUPE_H

#include "engine/files/store.h"
#include "engine/graph/optimise.h"
#include "systems/networks/net_loupe.h"
#include "systems/networks/reconstructor.h"
#include "systems/scan/acquisition.h"

struct simulation;
struct world;

struct loupe_setup {
  struct device *device;
  struct kernels *kernels;
  const struct options *options;
  size_t batch;
};

struct loupe {
  struct device *device;
  struct kernels *kernels;
  struct acquisition acquisition; /* the only setting of the scene */
  bool each;                      /* a mask for every sample, not one for the minibatch */
  bool views;                     /* its graph observes the scans */
  size_t size;                    /* N */
  uint32_t number, stride;        /* what keys the next draws */
  struct graph *graph;            /* NULL: no mask is learned */
  struct net_loupe net;
  struct optimiser optimiser;
};

/* Whether the mask's graph observes the scans of this scene. */
bool loupe_views(const struct options *options);

/* The parameters are those of a new training. Refuses more than one setting, as wrong usage. */
bool loupe_open(struct loupe *loupe, const struct loupe_setup *setup, struct error *error);
void loupe_close(struct loupe *loupe);
/* What training takes beside the reconstructor: bytes in all, and for an image a pass. */
bool loupe_measure(const struct loupe_setup *setup, size_t *bytes, size_t *image, struct error *error);

/* What the next draws are for: sample i of the minibatch `number` is scan `first` + i; where all share a mask
 * its number is `number`. */
void loupe_number(struct loupe *loupe, uint32_t number, uint32_t first);

/* All enqueue. */
/* Draws masks into `mask`, u8 [images][lines]. */
void loupe_forward(struct loupe *loupe, struct arg mask, size_t images);
/* Where the graph observes: draws masks for the environments' slices and writes the reconstructor's input. */
void loupe_observe(struct loupe *loupe, const struct simulation *simulation);
/* After reconstructor_backward on what simulation.batch or loupe_observe has drawn and observed; adds into
 * the gradient of the probabilities. */
void loupe_backward(struct loupe *loupe, const struct simulation *simulation);

/* Draws the masks of validation samples, each its own, into EPOCH_mask; the same ones from the same
 * probabilities. Waits. */
bool loupe_draw(struct loupe *loupe, struct world *world, size_t rows, struct error *error);

/* Parameters in the group `sampler`, its optimiser's moments in `sampler_optimiser`, the probabilities of the
 * lines as dataset `probability` (points: [N][N]), and the most probable mask as dataset `mask`, for the
 * sampler fixed_mask.
 */
bool loupe_write(const struct loupe *loupe, struct store *store, struct error *error);
bool loupe_read(struct loupe *loupe, struct store *store, struct error *error);

#endif
