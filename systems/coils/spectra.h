/* The k-space of every coil of a slice as it was measured: its coil images, which systems/coils/coil.h leaves on
 * the device, cropped and padded as the image is (PROTOCOL 1.2), transformed again. Where nothing is cropped
 * that is the file's own k-space up to rounding. */
#ifndef L2SR_SYSTEMS_SPECTRA_H
#define L2SR_SYSTEMS_SPECTRA_H

#include "systems/coils/coil.h"

struct spectra {
  struct device *device;
  struct kernels *kernels;
  struct coil_plan sizes; /* the plan that it was opened for; 0 coils: not open */
  struct scan_shape shape;
  size_t pad;
  struct fft fft;
  cl_mem planes, row_from, column_from;
};

/* Opens for the plan's sizes, or keeps what is open when they have not changed. */
bool spectra_for(struct spectra *spectra, const struct coil_plan *plan, const struct scan_shape *shape,
                 size_t pad, struct error *error);
/* Writes the k-space of the slice that the plan has run last, [coils][height][width], the centre at the
 * start, into `column` from byte `offset` on; only enqueues. */
void spectra_run(struct spectra *spectra, const struct coil_plan *plan, cl_mem column, size_t offset);
void spectra_close(struct spectra *spectra); /* one that was never opened is allowed */

#endif
