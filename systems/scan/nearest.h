/* A dictionary of slices, each with a mask of its own (PROTOCOL 4.2): scans take the mask of the slice that is nearest to
 * what their initial lines show. */
#ifndef L2SR_SYSTEMS_NEAREST_H
#define L2SR_SYSTEMS_NEAREST_H

#include "engine/files/store.h"
#include "systems/networks/network.h"

struct nearest {
  struct device *device; /* NULL: not open */
  struct kernels *kernels;
  struct acquisition acquisition;
  size_t entries, pixels, actions, batch; /* batch: scans a pass */
  cl_mem image; /* F32 [entries][height][width]: zero-filled magnitudes of the initial lines, over their largest pixel */
  cl_mem mask;  /* U8 [entries][actions] */
  cl_mem query, found; /* F32 [batch][height][width], [batch][actions]: of the running pass */
};

/* Room for so many slices; what they are is the caller's to write. */
bool nearest_open(struct nearest *nearest, const struct masks_setup *setup, size_t entries, struct error *error);
void nearest_close(struct nearest *nearest); /* also where it is not open */

/* Enqueues: images of scans [first, first + images), as ENV.magnitude has them, into `to`. Kernel nearest_scale. */
void nearest_scale(struct world *world, cl_mem to, size_t first, size_t images);

/* Attributes of the scans; datasets `masks` [entries][actions] and `images` [entries][height][width]. */
bool nearest_write(const struct nearest *nearest, const uint8_t *masks, struct store *store, struct error *error);
/* Opens that of a checkpoint. masks: room of the arena for all of them, [entries][actions]. Refuses one of another kind,
 * other sides, other scans, or with masks that are not of the budget. */
bool nearest_load(struct nearest *nearest, const char *path, const struct masks_setup *setup, struct arena *arena,
                  uint8_t **masks, struct error *error);

#endif
