#include "systems/coils/mix.h"

#include "engine/base/log.h"

#include <complex.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

bool mix_wanted(const struct volume *volume, const struct options *options) {
  return volume->from_kspace && volume->coils > 1 &&
         (options->coils.whiten != WHITEN_NONE || volume->made_coils < volume->coils);
}

/* ---- matrices ----------------------------------------------------------------------------------------- */

/* Rows of samples of every coil: `count` samples from the start of each, `stride` apart. */
struct samples {
  const float complex *first;
  size_t coils, stride, count;
};

/* Adds products of the coils' samples, but for those that are 0 in all of them; says how many were not. */
static size_t add_products(const struct samples *samples, double complex *product) {
  size_t coils = samples->coils, used = 0;
  for (size_t i = 0; i < samples->count; i++) {
    bool any = false;
    for (size_t c = 0; c < coils; c++) any |= samples->first[c * samples->stride + i] != 0;
    used += any;
    for (size_t a = 0; any && a < coils; a++)
      for (size_t b = 0; b < coils; b++)
        product[a * coils + b] += (double complex)samples->first[a * samples->stride + i] *
                                  conj((double complex)samples->first[b * samples->stride + i]);
  }
  return used;
}

/* Adds rows [top, top + height) of columns [left, left + width). */
static size_t add_box(const struct volume *volume, const float complex *kspace, size_t top, size_t left,
                      size_t height, size_t width, double complex *product) {
  size_t used = 0;
  for (size_t y = top; y < top + height; y++)
    used += add_products(&(struct samples){kspace + y * volume->width + left, volume->coils,
                                           volume->height * volume->width, width},
                         product);
  return used;
}

/* The four corners, an eighth of each axis wide: there is least of the image. */
static size_t add_edge(const struct volume *volume, const float complex *kspace, double complex *product) {
  size_t high = volume->height / 8 + 1, wide = volume->width / 8 + 1, used = 0;
  for (size_t corner = 0; corner < 4; corner++)
    used += add_box(volume, kspace, corner / 2 ? volume->height - high : 0,
                    corner % 2 ? volume->width - wide : 0, high, wide, product);
  return used;
}

static void add_centre(const struct volume *volume, const struct options *options,
                       const float complex *kspace, double complex *product) {
  size_t lines = options->coils.lines, high = lines < volume->height ? lines : volume->height,
         wide = lines < volume->width ? lines : volume->width;
  add_box(volume, kspace, (volume->height - high) / 2, (volume->width - wide) / 2, high, wide, product);
}

static bool is_finite(const double complex *matrix, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(creal(matrix[i])) || !isfinite(cimag(matrix[i]))) return false;
  return true;
}

static void set_identity(double complex *matrix, size_t rows, size_t coils) {
  for (size_t i = 0; i < rows * coils; i++) matrix[i] = i / coils == i % coils;
}

/* a b, or a times the conjugate transpose of b: rows x coils of squares of `coils`. */
static void multiply(const double complex *a, const double complex *b, bool turned, size_t rows, size_t coils,
                     double complex *to) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < coils; j++) {
      double complex sum = 0;
      for (size_t k = 0; k < coils; k++)
        sum += a[i * coils + k] * (turned ? conj(b[j * coils + k]) : b[k * coils + j]);
      to[i * coils + j] = sum;
    }
}

/* The inverse of the lower Cholesky factor of the covariance, in its place; false where it has none. */
static bool invert_root(double complex *covariance, size_t coils) {
  lapack_int n = (lapack_int)coils;
  for (size_t i = 0; i < coils; i++)
    for (size_t j = i + 1; j < coils; j++) covariance[i * coils + j] = 0;
  return is_finite(covariance, coils * coils) && !LAPACKE_zpotrf(LAPACK_ROW_MAJOR, 'L', n, covariance, n) &&
         !LAPACKE_ztrtri(LAPACK_ROW_MAJOR, 'L', 'N', n, covariance, n);
}

/* Leaves the matrix of noise whitening: of variance 1 then, E|n|^2. *good: there is one. */
static void whiten(const struct volume *volume, const struct options *options, const float complex *kspace,
                   const float complex *noise, double complex *to, bool *good) {
  size_t coils = volume->coils, used;
  memset(to, 0, sizeof *to * coils * coils);
  if (options->coils.whiten == WHITEN_NOISE)
    used = add_products(&(struct samples){noise, coils, volume->noise_samples, volume->noise_samples}, to);
  else
    used = add_edge(volume, kspace, to);
  for (size_t i = 0; i < coils * coils; i++) to[i] /= used > 1 ? (double)used - 1 : 1;
  *good = used > 2 * coils && invert_root(to, coils);
  if (!*good) set_identity(to, coils, coils);
}

/* Rows of *to, `made` of them: the conjugated principal vectors of the middle's products, seen through
 * `before`. A slice that cannot be read as numbers is judged by its image. */
static bool compress(const struct volume *volume, const struct options *options, const float complex *kspace,
                     const double complex *before, double complex *work, double complex *to,
                     struct error *error) {
  size_t coils = volume->coils, made = volume->made_coils;
  double complex *product = work, *other = work + coils * coils;
  double *value = (double *)(work + 2 * coils * coils);
  memset(product, 0, sizeof *product * coils * coils);
  add_centre(volume, options, kspace, product);
  multiply(before, product, false, coils, coils, other);
  multiply(other, before, true, coils, coils, product);
  set_identity(to, made, coils);
  if (!is_finite(product, coils * coils)) return true;
  if (LAPACKE_zheevd(LAPACK_ROW_MAJOR, 'V', 'L', (lapack_int)coils, product, (lapack_int)coils, value))
    return fail(error, "LAPACK's zheevd finds no principal vectors of %zu coils", coils);
  for (size_t i = 0; i < made * coils; i++)
    other[i] = conj(product[i % coils * coils + coils - 1 - i / coils]);
  multiply(other, before, false, made, coils, to);
  return true;
}

static bool make_matrix(struct mix *mix, const struct volume *volume, const struct options *options,
                        const float *kspace, const float *noise, double complex *work, float complex *to,
                        struct error *error) {
  size_t coils = volume->coils, count = volume->made_coils * coils;
  const float complex *samples = (const void *)kspace, *scan = (const void *)noise;
  double complex *before = work, *all = work + coils * coils;
  bool good = true;
  set_identity(before, coils, coils);
  for (size_t i = 0; options->coils.whiten == WHITEN_NOISE && i < volume->noise_coils * volume->noise_samples; i++)
    if (!isfinite(crealf(scan[i])) || !isfinite(cimagf(scan[i])))
      return fail_file(error, "%s: dataset noise holds values that are not finite; mend them, or set coils.whiten to edge or none",
                       volume->path);
  if (options->coils.whiten != WHITEN_NONE) whiten(volume, options, samples, scan, before, &good);
  if (!good && options->coils.whiten == WHITEN_NOISE)
    return fail_file(
        error,
        "%s: the %zu samples of dataset noise have no covariance of full rank for %zu coils; give more of "
        "them, or set coils.whiten to none",
        volume->path, volume->noise_samples, coils);
  if (!good && !mix->said)
    log_warning(
        "%s: the corners of k-space are 0 or alike in all coils: noise is not whitened where they are "
        "(coils.whiten)",
        volume->path);
  mix->said |= !good;
  if (volume->made_coils == coils)
    memcpy(all, before, sizeof *all * count);
  else if (!compress(volume, options, samples, before, work + 2 * coils * coils, all, error))
    return false;
  for (size_t i = 0; i < count; i++) to[i] = (float complex)all[i];
  return true;
}

/* ---- on the device ------------------------------------------------------------------------------------ */

void mix_close(struct mix *mix) {
  if (!mix->coils) return;
  device_release(mix->device, mix->kspace, 8 * mix->coils * mix->samples);
  device_release(mix->device, mix->mixed, 8 * mix->made * mix->samples);
  device_release(mix->device, mix->matrix, 8 * mix->made * mix->coils);
  *mix = (struct mix){.said = mix->said};
}

static bool open_mix(struct mix *mix, struct device *device, struct kernels *kernels,
                     const struct volume *volume, struct error *error) {
  size_t coils = volume->coils, made = volume->made_coils, samples = volume->height * volume->width;
  if (mix->coils == coils && mix->made == made && mix->samples == samples) return true;
  mix_close(mix);
  *mix = (struct mix){device, kernels, coils, made, samples, NULL, NULL, NULL, mix->said};
  bool good = kernel_need(kernels, "coil_mix", error) &&
              (mix->kspace = device_buffer(device, 8 * coils * samples, "the k-space of a slice", error)) &&
              (mix->mixed = device_buffer(device, 8 * made * samples, "the mixed coils of a slice", error)) &&
              (mix->matrix = device_buffer(device, 8 * made * coils, "the matrix of coils", error));
  if (!good) mix_close(mix);
  return good;
}

bool mix_run(struct mix *mix, struct device *device, struct kernels *kernels, const struct volume *volume,
             const struct options *options, const float *kspace, const float *noise, float *mixed,
             struct error *error) {
  size_t coils = volume->coils, count = volume->made_coils * volume->height * volume->width;
  struct arena *arena = arena_open();
  double complex *work = ARENA_NEW(arena, double complex, 5 * coils * coils);
  float complex *matrix = ARENA_NEW(arena, float complex, volume->made_coils *coils);
  bool good = open_mix(mix, device, kernels, volume, error) &&
              make_matrix(mix, volume, options, kspace, noise, work, matrix, error);
  if (good) {
    device_write(device, mix->kspace, 0, 8 * coils * mix->samples, kspace);
    device_write(device, mix->matrix, 0, 8 * volume->made_coils * coils, matrix);
    kernel_run(kernels, "coil_mix", count,
               ARGS(arg_buffer(ARG_IN, ELEMENT_C64, mix->kspace),
                    arg_buffer(ARG_IN, ELEMENT_C64, mix->matrix),
                    arg_buffer(ARG_OUT, ELEMENT_C64, mix->mixed), arg_u32((uint32_t)coils),
                    arg_u32((uint32_t)mix->samples)));
    device_read(device, mix->mixed, 0, 8 * count, mixed);
    good = device_finish(device, error);
  }
  arena_close(arena);
  return good;
}
