/* Slices that do not all fit on the device: their images wait in host memory, and a window of them is on the
 * device at a time, in the rows of SLICE. What a scan needs is brought before it begins. Rows of SLICE are
 * then places in the window, not slices; results are the same as without one, byte for byte. */
#ifndef L2SR_SYSTEMS_WINDOW_H
#define L2SR_SYSTEMS_WINDOW_H

#include "systems/scan/load.h"
#include "systems/scan/simulation.h"

/* Rows that SLICE gets for `slices`: all of them, or fewer where data.window says so or the device has no room
 * beside the other tables. `together`: so many are needed at the same time at least; 0: all are. */
size_t window_rows(const struct world_setup *setup, const struct device *device,
                   const struct options *options, size_t together);

bool window_open(struct window **window, struct simulation *simulation, size_t slices, struct error *error);
void window_close(struct window *window); /* NULL allowed */

/* ---- loading ------------------------------------------------------------------------------------------- */

float *window_image(struct window *window, size_t slice); /* room for it in host memory */
/* All images are there: the peak of each (SLICE.peak). */
void window_measure(struct window *window, size_t slices, float *peak);
void window_ranges(struct window *window, const double *range);

/* ---- running; without a window (NULL in the simulation) slices are rows ------------------------------ */

/* Slices of scans [first_scan, first_scan + scans) to the device, to stay there until the next call. */
void window_bring_scans(struct simulation *simulation, uint32_t first_scan, size_t scans);
/* Brings these; rows[i] is where slice[i] is then. */
void window_bring(struct window *window, const uint32_t *slice, size_t count, uint32_t *rows);
/* Which slice the scan with this number takes: order[number % count]. */
void window_order(struct simulation *simulation, const uint32_t *order, size_t count);
/* Rows of SLICE as slices, in place. */
void window_slices(const struct simulation *simulation, uint32_t *rows, size_t count);
/* The image that the slice's scans are scored against, which is clamped where the stored one is far from its
 * mean. */
void window_read_target(struct simulation *simulation, size_t slice, float *image);

#endif
