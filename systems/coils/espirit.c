#include "systems/coils/espirit.h"

#include "engine/base/log.h"

#include <complex.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

static const size_t lines_most = (size_t)64
                                 << 20; /* bytes of transformed lags: how many slices go together */
static const size_t matrix_most = (size_t)32 << 20; /* of the pixels' matrices: what a cache holds */

/* Slices that go together: `count` from `first` on. */
struct batch {
  const struct espirit *espirit;
  struct device *device;
  struct kernels *kernels;
  struct arena *arena;
  size_t first, count, room;           /* room: slices that the buffers are for */
  size_t entries, area, samples, lags; /* coil pairs; of a region, of a patch and all lags of an entry */
  size_t kept, chunk;                  /* vectors of the slice that has most; pixels at a time */
  cl_mem region, gram, vectors, lag, lines, reference, matrix;
  float complex *host_region, *host_gram, *host_vectors, *host_reference;
  double complex *work; /* [samples][samples] */
  double *value;        /* [samples] */
};

/* ---- eigenvectors ------------------------------------------------------------------------------------- */

/* Of a Hermitian matrix [n][n], in place: vector after vector, by rising eigenvalue. LAPACK stores matrices
 * column after column, so it sees the conjugate: its vectors are conjugated back. */
static bool solve(double complex *matrix, size_t n, double *value, struct error *error) {
  int code = LAPACKE_zheevd(LAPACK_COL_MAJOR, 'V', 'L', (lapack_int)n, matrix, (lapack_int)n, value);
  if (code)
    return fail(error, "LAPACK's zheevd finds no eigenvectors of a matrix of %zu x %zu (%d)", n, n, code);
  for (size_t i = 0; i < n * n; i++) matrix[i] = conj(matrix[i]);
  return true;
}

/* The first principal coil vector of a region [coils][area]. Vectors have no phase of their own: that of the
 * largest component is 0. */
static bool find_reference(struct batch *batch, const float complex *region, float complex *reference,
                           struct error *error) {
  size_t coils = batch->espirit->coils, largest = 0;
  double complex *matrix = batch->work;
  for (size_t a = 0; a < coils; a++)
    for (size_t b = 0; b < coils; b++) {
      double complex sum = 0;
      for (size_t i = 0; i < batch->area; i++)
        sum +=
            (double complex)region[a * batch->area + i] * conj((double complex)region[b * batch->area + i]);
      matrix[a * coils + b] = sum;
    }
  if (!solve(matrix, coils, batch->value, error)) return false;
  const double complex *vector = matrix + (coils - 1) * coils;
  for (size_t c = 1; c < coils; c++)
    if (cabs(vector[c]) > cabs(vector[largest])) largest = c;
  double complex turn = conj(vector[largest]) / cabs(vector[largest]);
  for (size_t c = 0; c < coils; c++) reference[c] = (float complex)(vector[c] * turn);
  return true;
}

/* Leaves the kernels of slice i at the end of batch->work and says how many there are. */
static bool find_kernels(struct batch *batch, size_t i, size_t *kept, struct error *error) {
  size_t n = batch->samples;
  for (size_t k = 0; k < n * n; k++) batch->work[k] = (double complex)batch->host_gram[i * n * n + k];
  if (!solve(batch->work, n, batch->value, error)) return false;
  double least = batch->espirit->threshold * batch->value[n - 1];
  *kept = 1;
  while (*kept < n && batch->value[n - 1 - *kept] > least) ++*kept;
  return true;
}

/* ---- the region --------------------------------------------------------------------------------------- */

/* Brings the region's largest part to 1: squares of a scanner's units may vanish. */
static const char *scale_region(float complex *region, size_t count) {
  float largest = 0, *parts = (float *)region;
  for (size_t i = 0; i < 2 * count; i++) {
    if (!isfinite(parts[i])) return "hold values that are not finite";
    largest = fmaxf(largest, fabsf(parts[i]));
  }
  for (size_t i = 0; i < 2 * count; i++) parts[i] /= largest;
  return largest > 0 ? NULL : "are all zero";
}

static bool take_region(struct batch *batch, size_t *broken, struct error *error) {
  const struct espirit *own = batch->espirit;
  size_t each = own->coils * batch->area, count = batch->count * each;
  kernel_run(batch->kernels, "espirit_region", count,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, own->kspace),
                  arg_buffer(ARG_OUT, ELEMENT_C64, batch->region), arg_u32((uint32_t)batch->first),
                  arg_u32((uint32_t)own->most), arg_u32((uint32_t)own->coils),
                  arg_u32((uint32_t)own->side_rows), arg_u32((uint32_t)own->side_columns),
                  arg_u32((uint32_t)own->height), arg_u32((uint32_t)own->width)));
  device_read(batch->device, batch->region, 0, 8 * count, batch->host_region);
  if (!device_finish(batch->device, error)) return false;
  for (size_t i = 0; i < batch->count; i++) {
    float complex *region = batch->host_region + i * each;
    const char *fault = scale_region(region, each);
    *broken = batch->first + i;
    if (fault)
      return fail(error, "its %zux%zu central samples %s: there are no coil sensitivities in them",
                  own->side_rows, own->side_columns, fault);
    if (!find_reference(batch, region, batch->host_reference + i * own->coils, error)) return false;
  }
  device_write(batch->device, batch->region, 0, 8 * count, batch->host_region);
  device_write(batch->device, batch->reference, 0, 8 * batch->count * own->coils, batch->host_reference);
  return true;
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

/* Slices with fewer vectors than others have zeros in their places. */
static bool collect_kernels(struct batch *batch, struct error *error) {
  size_t n = batch->samples, kept;
  batch->kept = 0;
  for (size_t i = 0; i < batch->count; i++) {
    float complex *to = batch->host_vectors + i * n * n;
    if (!find_kernels(batch, i, &kept, error)) return false;
    memset(to, 0, sizeof *to * n * n);
    for (size_t k = 0; k < kept * n; k++) to[k] = (float complex)batch->work[(n - kept) * n + k];
    batch->kept = kept > batch->kept ? kept : batch->kept;
  }
  for (size_t i = 0; i < batch->count; i++)
    device_write(batch->device, batch->vectors, 8 * i * batch->kept * n, 8 * batch->kept * n,
                 batch->host_vectors + i * n * n);
  return true;
}

static bool take_kernels(struct batch *batch, struct error *error) {
  const struct espirit *own = batch->espirit;
  size_t count = batch->count * batch->samples * batch->samples;
  kernel_run(batch->kernels, "espirit_gram", count,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, batch->region),
                  arg_buffer(ARG_OUT, ELEMENT_C64, batch->gram), arg_u32((uint32_t)own->coils),
                  arg_u32((uint32_t)own->side_rows), arg_u32((uint32_t)own->side_columns),
                  arg_u32((uint32_t)own->kernel)));
  device_read(batch->device, batch->gram, 0, 8 * count, batch->host_gram);
  return device_finish(batch->device, error) && collect_kernels(batch, error);
}

/* ---- pixels ------------------------------------------------------------------------------------------- */

static void run_lags(struct batch *batch) {
  const struct espirit *own = batch->espirit;
  size_t count = batch->count * batch->entries, side = 2 * own->kernel - 1;
  kernel_run(batch->kernels, "espirit_lags", count * batch->lags,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, batch->vectors),
                  arg_buffer(ARG_OUT, ELEMENT_C64, batch->lag), arg_u32((uint32_t)own->coils),
                  arg_u32((uint32_t)own->kernel), arg_u32((uint32_t)batch->kept)));
  kernel_run(batch->kernels, "espirit_rows", count * own->height * side,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, batch->lag), arg_buffer(ARG_OUT, ELEMENT_C64, batch->lines),
                  arg_u32((uint32_t)own->kernel), arg_u32((uint32_t)own->height)));
}

static void run_pixels(struct batch *batch, size_t start, size_t count) {
  const struct espirit *own = batch->espirit;
  kernel_run(
      batch->kernels, "espirit_solve", count,
      ARGS(arg_buffer(ARG_IN, ELEMENT_C64, batch->lines), arg_buffer(ARG_IN, ELEMENT_C64, batch->reference),
           arg_buffer(ARG_INOUT, ELEMENT_C64, batch->matrix), arg_buffer(ARG_INOUT, ELEMENT_C64, own->maps),
           arg_u32((uint32_t)own->coils), arg_u32((uint32_t)own->kernel), arg_u32((uint32_t)own->sets),
           arg_u32((uint32_t)own->slices), arg_u32((uint32_t)own->most), arg_u32((uint32_t)batch->first),
           arg_u32((uint32_t)own->height), arg_u32((uint32_t)own->width), arg_u32((uint32_t)start),
           arg_f32((float)own->crop)));
}

static bool run_batch(struct batch *batch, size_t *broken, struct error *error) {
  size_t pixels = batch->count * batch->espirit->height * batch->espirit->width;
  if (!take_region(batch, broken, error) || !take_kernels(batch, error)) return false;
  run_lags(batch);
  for (size_t start = 0; start < pixels; start += batch->chunk)
    run_pixels(batch, start, pixels - start < batch->chunk ? pixels - start : batch->chunk);
  return device_finish(batch->device, error);
}

/* ---- opening ------------------------------------------------------------------------------------------ */

static size_t lines_bytes(const struct batch *batch) {
  return 8 * batch->entries * batch->espirit->height * (2 * batch->espirit->kernel - 1);
}

static void size_batch(struct batch *batch) {
  const struct espirit *own = batch->espirit;
  size_t pixels = own->height * own->width;
  batch->entries = own->coils * (own->coils + 1) / 2;
  batch->area = own->side_rows * own->side_columns;
  batch->samples = own->coils * own->kernel * own->kernel;
  batch->lags = (2 * own->kernel - 1) * (2 * own->kernel - 1);
  batch->room = lines_bytes(batch) < lines_most ? lines_most / lines_bytes(batch) : 1;
  if (batch->room > own->count) batch->room = own->count;
  batch->chunk = matrix_most / (8 * batch->entries) / 64 * 64;
  if (batch->chunk > batch->room * pixels) batch->chunk = batch->room * pixels;
}

struct need {
  cl_mem *buffer;
  size_t bytes;
};
enum { NEEDS = 7 };

static void list_needs(struct batch *batch, struct need *need) {
  size_t coils = batch->espirit->coils, room = batch->room, square = 8 * batch->samples * batch->samples;
  const struct need all[NEEDS] = {{&batch->region, 8 * room * coils * batch->area},
                                  {&batch->reference, 8 * room * coils},
                                  {&batch->gram, room * square},
                                  {&batch->vectors, room * square},
                                  {&batch->lag, 8 * room * batch->entries * batch->lags},
                                  {&batch->lines, room * lines_bytes(batch)},
                                  {&batch->matrix, 8 * batch->entries * batch->chunk}};
  memcpy(need, all, sizeof all);
}

static bool open_host(struct batch *batch, struct error *error) {
  size_t n = batch->samples, coils = batch->espirit->coils, room = batch->room;
  struct arena *arena = batch->arena;
  batch->host_region = arena_try_array(arena, 8 * coils * batch->area, room);
  batch->host_reference = arena_try_array(arena, 8 * coils, room);
  batch->host_gram = arena_try_array(arena, 8 * n * n, room);
  batch->host_vectors = arena_try_array(arena, 8 * n * n, room);
  batch->work = arena_try_array(arena, 16 * n, n);
  batch->value = arena_try_array(arena, sizeof(double), n);
  if (batch->host_region && batch->host_reference && batch->host_gram && batch->host_vectors && batch->work &&
      batch->value)
    return true;
  return fail_memory(error, "no host memory for calibration matrices of %zu x %zu", n, n);
}

static bool open_batch(struct batch *batch, struct error *error) {
  static const char *const kernels[] = {"espirit_region", "espirit_gram", "espirit_lags", "espirit_rows",
                                        "espirit_solve"};
  struct need need[NEEDS];
  batch->arena = arena_open();
  size_batch(batch);
  list_needs(batch, need);
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
    if (!kernel_need(batch->kernels, kernels[k], error)) return false;
  for (size_t i = 0; i < NEEDS; i++)
    if (!(*need[i].buffer = device_buffer(batch->device, need[i].bytes, "coil sensitivities", error)))
      return false;
  return open_host(batch, error);
}

static void close_batch(struct batch *batch) {
  struct need need[NEEDS];
  list_needs(batch, need);
  for (size_t i = 0; i < NEEDS; i++) device_release(batch->device, *need[i].buffer, need[i].bytes);
  arena_close(batch->arena);
}

static bool check(const struct espirit *espirit, struct error *error) {
  REQUIRE(espirit->coils >= 2 && espirit->coils <= ESPIRIT_COILS && espirit->coils <= espirit->most,
          "%zu coils of %zu", espirit->coils, espirit->most);
  REQUIRE(espirit->sets >= 1 && espirit->sets <= ESPIRIT_SETS && espirit->kernel >= 1 &&
              espirit->kernel <= ESPIRIT_KERNEL,
          "%zu sets, kernels of %zu", espirit->sets, espirit->kernel);
  REQUIRE(espirit->side_rows <= espirit->height && espirit->side_columns <= espirit->width,
          "region of %zux%zu", espirit->side_rows, espirit->side_columns);
  if (espirit->side_rows >= espirit->kernel && espirit->side_columns >= espirit->kernel) return true;
  return fail(
      error,
      "coil sensitivities need %zu fully sampled lines at least, the side of coils.kernel; there are %zu",
      espirit->kernel, espirit->side_columns);
}

bool espirit_run(const struct espirit *espirit, struct device *device, struct kernels *kernels,
                 size_t *broken, struct error *error) {
  struct batch batch = {.espirit = espirit, .device = device, .kernels = kernels};
  *broken = espirit->first;
  if (!check(espirit, error)) return false;
  bool good = open_batch(&batch, error);
  for (size_t done = 0; good && done < espirit->count; done += batch.count) {
    batch.first = espirit->first + done;
    batch.count = espirit->count - done < batch.room ? espirit->count - done : batch.room;
    good = run_batch(&batch, broken, error);
  }
  close_batch(&batch);
  return good;
}
