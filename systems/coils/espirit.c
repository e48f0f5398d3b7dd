#include "systems/coils/espirit.h"

#include "engine/base/lock.h"
#include "engine/base/log.h"

#include <complex.h>
#include <dlfcn.h>
#include <lapacke.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const size_t lines_most = (size_t)256
                                 << 20; /* bytes of transformed lags: how many slices go together */
static const size_t cpu_most = (size_t)32 << 20, gpu_most = (size_t)256 << 20; /* of the pixels' matrices: what a cache
                                                                                     holds, or keeps a GPU busy */

enum { WORKERS_MOST = 64 };
enum { FEW_COILS = 16, PIXELS_A_GROUP = 4 }; /* of espirit_solve_few (kernels/espirit.cl) */

/* What finds the eigenvectors of one matrix after the other. */
struct worker {
  double complex *matrix, *vectors; /* [samples][samples] */
  double *value, *diagonal, *beside; /* [samples] */
  double complex *turns;             /* [samples] */
  lapack_int *support;               /* [2][samples] */
};

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
  struct worker worker[WORKERS_MOST];
  size_t workers;
  size_t *each_kept; /* [room] */
};

/* ---- eigenvectors ------------------------------------------------------------------------------------- */

/* The eigenvectors of the worker's Hermitian matrix [n][n] whose eigenvalues are above `threshold` of the largest one, the
 * first *kept vectors of `vectors`, by rising eigenvalue; the last one in any case. LAPACK stores matrices column after column,
 * so it sees the conjugate: its vectors are conjugated back. Returns LAPACK's code. */
static int solve(struct worker *own, size_t n, double threshold, size_t *kept) {
  lapack_int size = (lapack_int)n, found;
  lapack_logical tries = true;
  int code = LAPACKE_zhetrd(LAPACK_COL_MAJOR, 'L', size, own->matrix, size, own->diagonal, own->beside, own->turns);
  memcpy(own->value, own->diagonal, sizeof *own->value * n);
  double *beside = (double *)own->vectors;
  memcpy(beside, own->beside, sizeof *beside * n);
  if (!code) code = LAPACKE_dsterf(size, own->value, beside);
  if (code) return code;
  for (*kept = 1; *kept < n && own->value[n - 1 - *kept] > threshold * own->value[n - 1];) ++*kept;
  code = LAPACKE_zstemr(LAPACK_COL_MAJOR, 'V', 'I', size, own->diagonal, own->beside, 0, 0, size - (lapack_int)*kept + 1,
                        size, &found, own->value, own->vectors, size, (lapack_int)*kept, own->support, &tries);
  if (!code)
    code = LAPACKE_zunmtr(LAPACK_COL_MAJOR, 'L', 'L', 'N', size, (lapack_int)*kept, own->matrix, size, own->turns,
                          own->vectors, size);
  for (size_t i = 0; i < *kept * n; i++) own->vectors[i] = conj(own->vectors[i]);
  return code;
}

static bool refuse(size_t n, int code, struct error *error) {
  return !code || fail(error, "LAPACK finds no eigenvectors of a matrix of %zu x %zu (%d)", n, n, code);
}

/* The first principal coil vector of a region [coils][area]. Vectors have no phase of their own: that of the
 * largest component is 0. */
static bool find_reference(struct batch *batch, const float complex *region, float complex *reference,
                           struct error *error) {
  size_t coils = batch->espirit->coils, largest = 0;
  struct worker *own = batch->worker;
  double complex *matrix = own->matrix;
  for (size_t a = 0; a < coils; a++)
    for (size_t b = 0; b < coils; b++) {
      double complex sum = 0;
      for (size_t i = 0; i < batch->area; i++)
        sum +=
            (double complex)region[a * batch->area + i] * conj((double complex)region[b * batch->area + i]);
      matrix[a * coils + b] = sum;
    }
  size_t kept;
  if (!refuse(coils, solve(own, coils, 1, &kept), error)) return false;
  const double complex *vector = own->vectors;
  for (size_t c = 1; c < coils; c++)
    if (cabs(vector[c]) > cabs(vector[largest])) largest = c;
  double complex turn = conj(vector[largest]) / cabs(vector[largest]);
  for (size_t c = 0; c < coils; c++) reference[c] = (float complex)(vector[c] * turn);
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
static int find_kernels(struct batch *batch, struct worker *own, size_t i) {
  size_t n = batch->samples, *kept = batch->each_kept + i;
  float complex *to = batch->host_vectors + i * n * n;
  for (size_t k = 0; k < n * n; k++) own->matrix[k] = (double complex)batch->host_gram[i * n * n + k];
  int code = solve(own, n, batch->espirit->threshold, kept);
  memset(to, 0, sizeof *to * n * n);
  for (size_t k = 0; !code && k < *kept * n; k++) to[k] = (float complex)own->vectors[k];
  return code;
}

/* Workers take the slices in turn. */
struct crew {
  struct batch *batch;
  atomic_size_t next, workers;
  atomic_int code; /* the last one of LAPACK's that is not 0 */
};

static void *work(void *context) {
  struct crew *crew = context;
  struct worker *own = &crew->batch->worker[atomic_fetch_add(&crew->workers, 1)];
  for (size_t i; (i = atomic_fetch_add(&crew->next, 1)) < crew->batch->count;) {
    int code = find_kernels(crew->batch, own, i);
    if (code) atomic_store(&crew->code, code);
  }
  return NULL;
}

/* A matrix each, side by side: a library's own threads stand still meanwhile. */
static bool find_all_kernels(struct batch *batch, struct error *error) {
  HOLD(LOCK_MATRICES);
  struct crew crew = {.batch = batch};
  pthread_t threads[WORKERS_MOST];
  size_t started = 0;
  union {
    void *object;
    void (*set)(int);
    int (*get)(void);
  } set = {dlsym(RTLD_DEFAULT, "openblas_set_num_threads")}, get = {dlsym(RTLD_DEFAULT, "openblas_get_num_threads")};
  int before = set.object && get.object ? get.get() : 0;
  if (before) set.set(1);
  while (started + 1 < batch->workers && !pthread_create(&threads[started], NULL, work, &crew)) started++;
  work(&crew);
  for (size_t t = 0; t < started; t++) pthread_join(threads[t], NULL);
  if (before) set.set(before);
  return refuse(batch->samples, crew.code, error);
}

static bool collect_kernels(struct batch *batch, struct error *error) {
  size_t n = batch->samples;
  if (!find_all_kernels(batch, error)) return false;
  batch->kept = 0;
  for (size_t i = 0; i < batch->count; i++)
    if (batch->each_kept[i] > batch->kept) batch->kept = batch->each_kept[i];
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
           arg_u32((uint32_t)own->most), arg_u32((uint32_t)batch->first),
           arg_u32((uint32_t)own->height), arg_u32((uint32_t)own->width), arg_u32((uint32_t)start),
           arg_f32((float)own->crop)));
}

/* All pixels of few coils at once. */
static void run_few(struct batch *batch, size_t pixels) {
  const struct espirit *own = batch->espirit;
  kernel_run(
      batch->kernels, "espirit_solve_few", (pixels + PIXELS_A_GROUP - 1) / PIXELS_A_GROUP,
      ARGS(arg_buffer(ARG_IN, ELEMENT_C64, batch->lines), arg_buffer(ARG_IN, ELEMENT_C64, batch->reference),
           arg_buffer(ARG_INOUT, ELEMENT_C64, own->maps), arg_u32((uint32_t)own->coils), arg_u32((uint32_t)own->kernel),
           arg_u32((uint32_t)own->sets), arg_u32((uint32_t)own->most),
           arg_u32((uint32_t)batch->first), arg_u32((uint32_t)own->height), arg_u32((uint32_t)own->width),
           arg_u32((uint32_t)pixels), arg_f32((float)own->crop)));
}

static bool run_batch(struct batch *batch, size_t *broken, struct error *error) {
  size_t pixels = batch->count * batch->espirit->height * batch->espirit->width;
  if (!take_region(batch, broken, error) || !take_kernels(batch, error)) return false;
  run_lags(batch);
  if (batch->espirit->coils <= FEW_COILS) run_few(batch, pixels);
  for (size_t start = 0; batch->espirit->coils > FEW_COILS && start < pixels; start += batch->chunk)
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
  bool gpu = batch->device->facts.kind & CL_DEVICE_TYPE_GPU;
  batch->chunk = (gpu ? gpu_most : cpu_most) / (8 * batch->entries) / 64 * 64;
  if (batch->chunk > batch->room * pixels) batch->chunk = batch->room * pixels;
  if (own->coils <= FEW_COILS) batch->chunk = 1; /* which keep their matrices in registers */
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

static bool open_worker(struct worker *worker, size_t n, struct arena *arena) {
  *worker = (struct worker){.matrix = arena_try_array(arena, 16 * n, n),
                            .vectors = arena_try_array(arena, 16 * n, n),
                            .value = arena_try_array(arena, sizeof(double), n),
                            .diagonal = arena_try_array(arena, sizeof(double), n),
                            .beside = arena_try_array(arena, sizeof(double), n),
                            .turns = arena_try_array(arena, 16, n),
                            .support = arena_try_array(arena, 2 * sizeof(lapack_int), n)};
  return worker->matrix && worker->vectors && worker->value && worker->diagonal && worker->beside && worker->turns &&
         worker->support;
}

/* A worker a processor, and no more than there are slices. */
static bool open_workers(struct batch *batch) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t most = processors < 1 ? 1 : processors < WORKERS_MOST ? (size_t)processors : WORKERS_MOST;
  bool good = true;
  batch->workers = most < batch->room ? most : batch->room;
  for (size_t w = 0; good && w < batch->workers; w++) good = open_worker(&batch->worker[w], batch->samples, batch->arena);
  return good;
}

static bool open_host(struct batch *batch, struct error *error) {
  size_t n = batch->samples, coils = batch->espirit->coils, room = batch->room;
  struct arena *arena = batch->arena;
  batch->host_region = arena_try_array(arena, 8 * coils * batch->area, room);
  batch->host_reference = arena_try_array(arena, 8 * coils, room);
  batch->host_gram = arena_try_array(arena, 8 * n * n, room);
  batch->host_vectors = arena_try_array(arena, 8 * n * n, room);
  batch->each_kept = arena_try_array(arena, sizeof(size_t), room);
  if (open_workers(batch) && batch->host_region && batch->host_reference && batch->host_gram && batch->host_vectors &&
      batch->each_kept)
    return true;
  return fail_memory(error, "no host memory for calibration matrices of %zu x %zu", n, n);
}

static bool open_batch(struct batch *batch, struct error *error) {
  const char *const kernels[] = {"espirit_region", "espirit_gram", "espirit_lags", "espirit_rows",
                                        batch->espirit->coils > FEW_COILS ? "espirit_solve" : "espirit_solve_few"};
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
