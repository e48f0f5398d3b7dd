/* Batched complex transforms as products with the transform's matrix by CLBlast, for lengths that clFFT does
 * not take: what engine/device/fft.h falls back to. */
#ifndef L2SR_ENGINE_DFT_H
#define L2SR_ENGINE_DFT_H

#include "engine/device/device.h"

struct dft {
  size_t height, width, batch; /* height 1: rows alone; batch 0: not open */
  cl_mem rows, columns; /* matrices of the inverse transforms of length width and height; may be one */
  cl_mem half; /* rows transformed, columns not yet */
};

bool dft_open(struct dft *dft, struct device *device, size_t height, size_t width, size_t batch,
              struct error *error);
void dft_run(struct dft *dft, struct device *device, bool inverse, cl_mem data); /* enqueues, in place */
void dft_close(struct dft *dft, struct device *device);

#endif
