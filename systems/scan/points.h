/* Scans of points, all of whose budget is drawn at once: independent points of the sampler's probabilities
 * given that exactly the budget of them are acquired (engine/graph/graph.h: exact_threshold). */
#ifndef L2SR_SYSTEMS_POINTS_H
#define L2SR_SYSTEMS_POINTS_H

#include "engine/graph/graph.h"
#include "systems/sampling/samplers.h"

struct world;

struct points {
  struct device *device;
  struct kernels *kernels;
  struct graph *graph; /* NULL: not open */
  tensor chance, taken, scan, threshold, mask;
};

/* Draws of at most `envs` scans at a time. */
bool points_open(struct points *points, struct device *device, struct kernels *kernels,
                 const struct options *options, size_t envs, struct error *error);
void points_close(struct points *points);

/* The acquisition and the probabilities of the next scans; waits. */
bool points_set(struct points *points, const struct sampler *sampler, const struct options *options,
                const struct acquisition *acquisition, const uint32_t *table, struct error *error);
/* Enqueues: the masks of scans, U32 [rows], which key the draws, into `mask`, U8 [rows][points]. */
void points_draw(const struct points *points, cl_mem scan, struct arg mask, size_t rows);

#endif
