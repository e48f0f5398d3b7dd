/* Batched complex transforms of any lengths, in place: by clFFT, or where it does not take one of them, as products with
 * the transform's matrices (engine/device/dft.h). */
#ifndef L2SR_ENGINE_FFT_H
#define L2SR_ENGINE_FFT_H

#include "engine/device/dft.h"
#include "engine/device/fft_library.h"

enum fft_direction { FFT_FORWARD, FFT_INVERSE };

struct fft {
  struct device *device;
  size_t plan;  /* clfftPlanHandle */
  cl_mem spare; /* clFFT's scratch memory at some sizes; else NULL */
  size_t spare_bytes;
  bool open, launched[2]; /* by enum fft_direction */
  struct dft dft;         /* in place of a plan */
};

/* Whether clFFT takes the length: a product of 2, 3, 5, 7, 11 and 13. Other lengths take as many operations more as the
 * length is over its logarithm. */
bool fft_takes(size_t length);

/* A plan of `batch` transforms of height x width (height 1: one-dimensional rows) with the orthonormal
 * scale 1/sqrt(height*width) in both directions. */
bool fft_open(struct fft *fft, struct device *device, size_t height, size_t width, size_t batch,
              struct error *error);
void fft_run(struct fft *fft, enum fft_direction direction, cl_mem data); /* enqueues, in place */
void fft_close(struct fft *fft);

#endif
