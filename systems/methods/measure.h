/* Similarities as published programs compute them, in double precision on the host: scikit-image's as
 * fastMRI's evaluate.py and active-mri call them, and PG-MRI's (PROTOCOL 1.14). Images are [height][width],
 * rows `stride` pixels apart; a is the reconstruction, b the truth, L the data range in their units. */
#ifndef L2SR_SYSTEMS_MEASURE_H
#define L2SR_SYSTEMS_MEASURE_H

#include <stddef.h>

struct measure_images {
  const float *a, *b;
  size_t height, width, stride;
};

enum { MEASURE_UNIFORM_SIDE = 7, MEASURE_GAUSSIAN_SIDE = 11 };

/* Mean structural similarity (Wang et al. 2004) over the pixels whose 7x7 window lies in the image, all
 * weights equal, sample variances (49/48): scikit-image's structural_similarity. No side is below 7. */
double measure_ssim_uniform(const struct measure_images *images, double L);
/* The same over all pixels: 11x11 Gaussian window of deviation 1.5 and sum 1, zeros outside, variances with
 * divisor of the window's sum (PG-MRI, torch_metrics). */
double measure_ssim_gaussian(const struct measure_images *images, double L);

/* Sums over pixels: (a - b)^2, the same of a clamped to [0, 10], and b^2. */
struct measure_sums {
  double square, clamped, power;
};
struct measure_sums measure_errors(const struct measure_images *images);

/* The largest pixel of b. */
double measure_peak(const struct measure_images *images);

/* 10 log10(L^2/mean_square): infinite where nothing differs. */
double measure_psnr(double mean_square, double L);
/* -10 log10(mean_square/L^2 + 1e-8): 80 at most (PG-MRI, piq 0.5.1). */
double measure_psnr_limited(double mean_square, double L);

#endif
