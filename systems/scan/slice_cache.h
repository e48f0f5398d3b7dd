/* Slices that do not all fit on the device: their images wait in host memory, and a cache of them is on the
 * device at a time, in the rows of SLICE. What a scan needs is brought before it begins. Rows of SLICE are
 * then places in the cache, not slices; results are the same as without one, byte for byte. */
#ifndef L2SR_SYSTEMS_SLICE_CACHE_H
#define L2SR_SYSTEMS_SLICE_CACHE_H

#include "systems/scan/simulation.h"

/* Rows that SLICE gets for `slices`: all of them, or fewer where data.window says so or the device has no room
 * beside the other tables. `together`: so many are needed at the same time at least; 0: all are. */
size_t slice_cache_rows(const struct world_setup *setup, const struct device *device,
                   const struct options *options, size_t together);

/* Without a device: whether fewer than `slices` will be on it, as data.window says; where it is 0 the device decides. */
bool slice_cache_planned(const struct options *options, size_t slices, size_t together);
/* The list that brings slices on the host's word, without a device. */
bool slice_cache_describe(struct schedule *schedule, const struct simulation *simulation, struct error *error);

bool slice_cache_open(struct slice_cache **cache, struct simulation *simulation, size_t slices, struct error *error);
void slice_cache_close(struct slice_cache *cache); /* NULL allowed */

/* ---- loading ------------------------------------------------------------------------------------------- */

float *slice_cache_image(struct slice_cache *cache, size_t slice); /* room for it in host memory */
extern const struct system system_read_peaks, system_load_some_ranges, system_load_order;
/* All images are there: the peak of each (SLICE.peak). */
void slice_cache_measure(struct slice_cache *cache, size_t slices, float *peak);
void slice_cache_ranges(struct slice_cache *cache, const double *range);
/* Before slices are brought; they stay as long as the cache. */
void slice_cache_labels(struct slice_cache *cache, const float *label);

/* ---- running; where the plan has no window (the simulation's cache is NULL) slices are rows ------------------------------ */

/* Says that slices of scans [first_scan, first_scan + scans) are wanted, */
void slice_cache_want_scans(struct simulation *simulation, uint32_t first_scan, size_t scans);
/* and adds what brings them to the device, to stay there until others are brought. */
void slice_cache_add_bring(struct simulation *simulation, struct schedule *schedule);
/* For systems that bring slices, whose parts are slice_cache_parts: their images to the device; rows[i] is where slice[i] is
 * then. The systems of slice_cache_add_transform come after it. */
void slice_cache_take(struct slice_cache *cache, const uint32_t *slice, size_t count, uint32_t *rows);
/* What is made of the slices' images (transform_add). */
component_set slice_transforms(const struct simulation *simulation);
component_set slice_cache_parts(const struct simulation *simulation);
void slice_cache_add_transform(const struct simulation *simulation, struct schedule *schedule);
/* From now on slices are brought moved so. */
struct augment;
void slice_cache_augment(struct slice_cache *cache, const struct augment *augment);
/* The slice that the scan with this number takes: order[number % count]. */
void slice_cache_order(struct simulation *simulation, const uint32_t *order, size_t count);
void slice_order_write(struct world *world, const uint32_t *order, size_t count); /* to the device */
/* One that is drawn, by the scene's seed and `key`. */
struct slice_order {
  struct simulation *simulation;
  uint32_t *slice; /* of every place */
  size_t count;
  uint32_t key;
  bool kept; /* it stays as it is */
};
/* Adds the system that draws it and says it to scans. */
extern const struct system system_order_slices;
void slice_order_add(struct slice_order *order, struct schedule *schedule);
/* Rows of SLICE as slices, in place. */
void slice_cache_slices(const struct simulation *simulation, uint32_t *rows, size_t count);
/* A slice's image as it was loaded; what is on the device does not change. */
void slice_cache_read_image(struct simulation *simulation, size_t slice, float *image);
/* The image that the slice's scans are scored against, which is clamped where the stored one is far from its
 * mean. */
void slice_cache_read_target(struct simulation *simulation, size_t slice, float *image);
extern const struct system system_read_image, system_read_target; /* as what these do so; the first not with a cache */

#endif
