#include "systems/checks/verify.h"
#include "systems/checks/vectors.h"

#include "engine/base/half.h"
#include "engine/device/fft.h"
#include "engine/device/kernel_check.h"
#include "engine/files/store.h"
#include "kernels/kernels.h"
#include "systems/checks/verify_network.h"
#include "systems/checks/verify_policy.h"
#include "systems/scan/load.h"
#include "systems/scan/systems.h"
#include "systems/scan/transform.h"

#include <math.h>
#include <string.h>

/* ---- comparing ----------------------------------------------------------------------------------------- */

/* Largest difference over the largest magnitude of the expected values. */
static double worst_error(const double *found, const double *expected, size_t count) {
  double largest = 0, worst = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(expected[i]));
  for (size_t i = 0; i < count; i++) {
    double gap = fabs(found[i] - expected[i]);
    worst = isnan(gap) ? INFINITY : fmax(worst, gap);
  }
  return largest > 0 ? worst / largest : worst;
}

static void see(const struct verify *verify, const char *source, const char *quantity, double worst,
                double bound) {
  verify->see(source, quantity, worst, bound, verify->context);
}

/* ---- a small world for vectors ------------------------------------------------------------------------- */

struct bench {
  struct arena *arena;
  struct options options;
  struct simulation simulation;
  size_t count, n;
};

/* `count` slices and as many environments, environment i on slice i. */
static const struct system set_scans = {.name = "set_scans", .doc = "scan i is of slice i", .writes = SET(ENV_slice)};

static bool open_bench(struct bench *bench, const struct verify *verify, size_t count, size_t n, bool half,
                       struct error *error) {
  *bench = (struct bench){.arena = arena_open(), .count = count, .n = n};
  option_defaults(&option_table, &bench->options, bench->arena);
  bench->options.data.size = option_square(n);
  bench->options.world.observation = half ? OBSERVATION_F16 : OBSERVATION_F32;
  struct simulation_plan plan = {.slices = count,
                                 .envs = count,
                                 .images = IMAGES_EVERY_STEP,
                                 .metrics = "ssim,ssim_uniform,psnr,psnr_unclamped,nmse,mse",
                                 .kernel_folder = verify->kernel_folder};
  if (!simulation_open(&bench->simulation, verify->device, &bench->options, &plan, error)) {
    arena_close(bench->arena);
    return false;
  }
  uint32_t *slice = ARENA_NEW(bench->arena, uint32_t, count);
  for (size_t i = 0; i < count; i++) slice[i] = (uint32_t)i;
  world_put(bench->simulation.world, &set_scans, ENV_slice, 0, count, slice);
  return true;
}

static void close_bench(struct bench *bench) {
  simulation_close(&bench->simulation);
  arena_close(bench->arena);
}

static void run_system(struct bench *bench, const struct system *row) {
  struct system system = *row;
  system.context = &bench->simulation;
  struct world_use before = world_enter(bench->simulation.world, &system);
  system.run(bench->simulation.world, system.context);
  world_leave(bench->simulation.world, before);
}

/* One column as doubles. */
static double *column(struct bench *bench, unsigned component) {
  struct world *world = bench->simulation.world;
  size_t bytes = world_column_bytes(world, component) * bench->count;
  bool half = component_schema.components[component].element == ELEMENT_REAL && world_half(world);
  size_t count = bytes / (half ? 2 : 4);
  void *raw = arena_new(bench->arena, bytes);
  double *values = ARENA_NEW(bench->arena, double, count);
  const struct system compare = {.name = "compare", .doc = "a column beside its vectors", .reads = SET(component)};
  world_get(world, &compare, component, 0, bench->count, raw);
  for (size_t i = 0; i < count; i++)
    values[i] = half ? half_to_float(((const uint16_t *)raw)[i]) : ((const float *)raw)[i];
  return values;
}

/* (value * scale[slice] - mean) / (std + 1e-11), clamped to +-6: what every consumer does on load. */
static double *standardise(struct bench *bench, const double *values, const double *mean, const double *std) {
  size_t pixels = bench->n * bench->n;
  double *out = ARENA_NEW(bench->arena, double, bench->count *pixels);
  for (size_t i = 0; i < bench->count * pixels; i++)
    out[i] = fmin(fmax((values[i] - mean[i / pixels]) / (std[i / pixels] + 1e-11), -6), 6);
  return out;
}

static void scale_by(struct bench *bench, double *values, size_t per_row, const double *scale) {
  for (size_t i = 0; i < bench->count * per_row; i++) values[i] *= scale[i / per_row];
}

/* ---- acquisition --------------------------------------------------------------------------------------- */

/* The results that an acquisition must give; NULL: not known. */
struct acquisition_vectors {
  size_t count, n;
  const float *image;
  const uint8_t *mask;
  const double *kspace_re, *kspace_im, *zero_filled, *observation, *observation_mean, *observation_std;
  const double *target, *target_mean, *target_std;
};

/* The centred orthonormal transform of every image, by the path that multi-coil data take backwards. */
static bool verify_kspace(const struct verify *verify, struct bench *bench, const char *source,
                          const struct acquisition_vectors *v, struct error *error) {
  size_t n = v->n, samples = v->count * n * n;
  struct device *device = verify->device;
  struct fft fft = {0};
  cl_mem from = device_buffer(device, 8 * samples, "a transform", error);
  cl_mem to = from ? device_buffer(device, 8 * samples, "a transform", error) : NULL;
  bool good = to && fft_open(&fft, device, n, n, v->count, error) &&
              kernel_need(bench->simulation.kernels, "coil_centre", error);
  float *data = ARENA_NEW(bench->arena, float, 2 * samples);
  double *re = ARENA_NEW(bench->arena, double, samples), *im = ARENA_NEW(bench->arena, double, samples);
  for (size_t i = 0; i < samples; i++) data[2 * i] = v->image[i];
  if (good) {
    device_write(device, from, 0, 8 * samples, data);
    kernel_run(bench->simulation.kernels, "coil_centre", samples,
               ARGS(arg_buffer(ARG_IN, ELEMENT_C64, from), arg_buffer(ARG_OUT, ELEMENT_C64, to),
                    arg_u32((uint32_t)n), arg_u32((uint32_t)n)));
    fft_run(&fft, FFT_FORWARD, to);
    device_read(device, to, 0, 8 * samples, data);
    good = device_finish(device, error);
  }
  for (size_t i = 0; i < samples; i++) { /* the centre back to the middle */
    size_t y = i / n % n, x = i % n, slice = i / (n * n);
    size_t at = (slice * n + (y + n - n / 2) % n) * n + (x + n - n / 2) % n;
    re[i] = data[2 * at];
    im[i] = data[2 * at + 1];
  }
  if (good) see(verify, source, "kspace, real part", worst_error(re, v->kspace_re, samples), 1e-5);
  if (good) see(verify, source, "kspace, imaginary part", worst_error(im, v->kspace_im, samples), 1e-5);
  fft_close(&fft);
  device_release(device, from, 8 * samples);
  device_release(device, to, 8 * samples);
  return good;
}

static void compare_slices(const struct verify *verify, struct bench *bench, const char *source,
                           const struct acquisition_vectors *v) {
  double *image = column(bench, SLICE_image), *mean = column(bench, SLICE_mean),
         *std = column(bench, SLICE_std);
  see(verify, source, "target_mean", worst_error(mean, v->target_mean, v->count), 1e-5);
  see(verify, source, "target_std", worst_error(std, v->target_std, v->count), 1e-5);
  if (v->target)
    see(verify, source, "target",
        worst_error(standardise(bench, image, mean, std), v->target, v->count * v->n * v->n), 1e-5);
}

static void compare_observation(const struct verify *verify, struct bench *bench, const char *source,
                                const struct acquisition_vectors *v, bool half) {
  size_t pixels = v->n * v->n;
  double *unit = column(bench, SLICE_unit), *magnitude = column(bench, ENV_magnitude);
  double *mean = column(bench, ENV_magnitude_mean), *std = column(bench, ENV_magnitude_std);
  double bound = half ? 1e-3 : 1e-5; /* f16 keeps 11 binary digits of every pixel */
  scale_by(bench, magnitude, pixels, unit);
  scale_by(bench, mean, 1, unit);
  scale_by(bench, std, 1, unit);
  if (v->zero_filled)
    see(verify, source, half ? "zero_filled, f16" : "zero_filled",
        worst_error(magnitude, v->zero_filled, v->count * pixels), bound);
  see(verify, source, half ? "observation_mean, f16" : "observation_mean",
      worst_error(mean, v->observation_mean, v->count), 1e-5);
  see(verify, source, half ? "observation_std, f16" : "observation_std",
      worst_error(std, v->observation_std, v->count), 1e-5);
  if (v->observation)
    see(verify, source, half ? "observation, f16" : "observation",
        worst_error(standardise(bench, magnitude, mean, std), v->observation, v->count * pixels), bound);
}

static const struct system set_acquisition = {.name = "set_acquisition",
                                              .doc = "the images and masks of the vectors",
                                              .writes = SET(SLICE_image) | SET(ENV_mask),
                                              .loads = true};

static bool run_acquisition(const struct verify *verify, struct bench *bench, const char *source,
                            const struct acquisition_vectors *v, bool half, struct error *error) {
  struct world *world = bench->simulation.world;
  struct world_use before = world_enter(world, &set_acquisition);
  world_write(world, SLICE_image, 0, v->count, v->image);
  world_write(world, ENV_mask, 0, v->count, v->mask);
  world_leave(world, before);
  if (!transform_rows(world, 0, v->count, error)) return false;
  run_system(bench, &system_observe);
  if (!half) compare_slices(verify, bench, source, v);
  compare_observation(verify, bench, source, v, half);
  return half || !v->kspace_re || verify_kspace(verify, bench, source, v, error);
}

static bool verify_acquisition(const struct verify *verify, const char *source,
                               const struct acquisition_vectors *v, struct error *error) {
  bool good = true;
  for (int half = 0; good && half < 2; half++) {
    struct bench bench;
    if (!open_bench(&bench, verify, v->count, v->n, half, error)) return false;
    good = run_acquisition(verify, &bench, source, v, half, error) && device_finish(verify->device, error);
    close_bench(&bench);
  }
  return good;
}

/* ---- metrics ------------------------------------------------------------------------------------------- */

struct metric_vectors {
  size_t count, n;
  const float *reference, *distorted;
  const double *data_range;
  const double *expected[METRICS]; /* in the order of metric_list; NULL: not known */
};

static const struct system set_pairs = {
    .name = "set_pairs",
    .doc = "the references and distorted images of the vectors",
    .writes = SET(SLICE_image) | SET(SLICE_std) | SET(SLICE_data_range) | SET(ENV_reconstruction),
    .loads = true};

static bool verify_metrics(const struct verify *verify, const char *source, const struct metric_vectors *v,
                           struct error *error) {
  struct bench bench;
  if (!open_bench(&bench, verify, v->count, v->n, false, error)) return false;
  struct world *world = bench.simulation.world;
  float *range = ARENA_NEW(bench.arena, float, v->count), *one = ARENA_NEW(bench.arena, float, v->count);
  for (size_t i = 0; i < v->count; i++) {
    range[i] = (float)v->data_range[i];
    one[i] = 1; /* mean 0 and deviation 1: the target's clamp to +-6 changes no pixel */
  }
  struct world_use before = world_enter(world, &set_pairs);
  world_write(world, SLICE_image, 0, v->count, v->reference);
  world_write(world, SLICE_std, 0, v->count, one);
  world_write(world, SLICE_data_range, 0, v->count, range);
  world_write(world, ENV_reconstruction, 0, v->count, v->distorted);
  world_leave(world, before);
  run_system(&bench, &system_score_ssim);
  run_system(&bench, &system_score_ssim_uniform);
  run_system(&bench, &system_score_error);
  for (size_t m = 0; m < METRICS; m++)
    if (v->expected[m])
      see(verify, source, metric_list[m].name,
          worst_error(column(&bench, metric_list[m].env), v->expected[m], v->count), 1e-5);
  bool good = device_finish(verify->device, error);
  close_bench(&bench);
  return good;
}

/* ---- files --------------------------------------------------------------------------------------------- */

struct vector_file {
  struct store *store;
  struct arena *arena;
  const char *path;
  size_t count, n;
};

/* Reads a dataset that must have `total` elements. */
static bool read_vector(const struct vector_file *file, const char *name, enum store_type type, size_t total,
                        const void **data, struct error *error) {
  void *read;
  size_t found;
  if (!store_read_all(file->store, name, type, total, file->arena, &read, &found, error)) return false;
  *data = read;
  return found == total
             ? true
             : fail(error, "%s in %s has %zu elements; expected %zu", name, file->path, found, total);
}

static bool read_sizes(struct vector_file *file, const char *name, struct error *error) {
  struct store_shape shape;
  if (!store_shape(file->store, name, &shape, error)) return false;
  if (!vectors_check_images(&shape))
    return fail(error, "%s in %s must be [count, N, N], of N at most %d and 2^28 numbers together", name,
                file->path, VECTORS_SIDE);
  file->count = shape.size[0];
  file->n = shape.size[1];
  return true;
}

static bool verify_acquisition_file(const struct verify *verify, struct vector_file *file, const char *source,
                                    struct error *error) {
  struct acquisition_vectors v = {0};
  if (!read_sizes(file, "image", error)) return false;
  v.count = file->count;
  v.n = file->n;
  size_t rows = v.count, all = v.count * v.n * v.n;
  const struct {
    const char *name;
    size_t total;
    const double **to;
  } doubles[] = {{"kspace_re", all, &v.kspace_re},
                 {"kspace_im", all, &v.kspace_im},
                 {"zero_filled", all, &v.zero_filled},
                 {"observation", all, &v.observation},
                 {"target", all, &v.target},
                 {"observation_mean", rows, &v.observation_mean},
                 {"observation_std", rows, &v.observation_std},
                 {"target_mean", rows, &v.target_mean},
                 {"target_std", rows, &v.target_std}};
  const void *data;
  if (!read_vector(file, "image", STORE_F32, all, &data, error)) return false;
  v.image = data;
  if (!read_vector(file, "mask", STORE_U8, rows * v.n, &data, error)) return false;
  v.mask = data;
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
    if (!read_vector(file, doubles[i].name, STORE_F64, doubles[i].total, &data, error)) return false;
    *doubles[i].to = data;
  }
  return !verify->device || verify_acquisition(verify, source, &v, error);
}

static bool verify_metrics_file(const struct verify *verify, struct vector_file *file, const char *source,
                                struct error *error) {
  /* the file's names, by place in metric_list */
  static const char *const names[METRICS] = {
      "ssim_gaussian11", "ssim_uniform7", "psnr_clamped", "psnr", "nmse", "mse"};
  struct metric_vectors v = {0};
  const void *data;
  if (!read_sizes(file, "reference", error)) return false;
  v.count = file->count;
  v.n = file->n;
  size_t all = v.count * v.n * v.n;
  if (!read_vector(file, "reference", STORE_F32, all, &data, error)) return false;
  v.reference = data;
  if (!read_vector(file, "distorted", STORE_F32, all, &data, error)) return false;
  v.distorted = data;
  if (!read_vector(file, "data_range", STORE_F64, v.count, &data, error)) return false;
  v.data_range = data;
  for (size_t m = 0; m < METRICS && names[m]; m++) {
    if (!read_vector(file, names[m], STORE_F64, v.count, &data, error)) return false;
    v.expected[m] = data;
  }
  return !verify->device || verify_metrics(verify, source, &v, error);
}

bool verify_file(const struct verify *verify, const char *path, struct error *error) {
  struct vector_file file = {.path = path, .arena = arena_open()};
  const char *slash = strrchr(path, '/'), *source = slash ? slash + 1 : path;
  bool good = store_open(&file.store, path, error);
  if (good) {
    if (store_has(file.store, "kspace_re"))
      good = verify_acquisition_file(verify, &file, source, error);
    else if (store_has(file.store, "distorted"))
      good = verify_metrics_file(verify, &file, source, error);
    else if (store_has(file.store, "episode_start"))
      good = verify_advantage_file(verify, path, error);
    else if (store_has(file.store, "encoder_output"))
      good = verify_policy_file(verify, path, error);
    else if (store_has(file.store, "grad"))
      good = verify_network_file(verify, path, error);
    else
      good = fail(error,
                  "%s holds no acquisition, metric, network, policy or advantage vectors; this version knows "
                  "no others",
                  path);
    store_close(file.store);
  }
  arena_close(file.arena);
  return good;
}

/* ---- golden numbers of PROTOCOL section 9 -------------------------------------------------------------- */

enum { GOLDEN = 32 };

static void make_golden(float *g, float *h) {
  for (int i = 0; i < GOLDEN; i++)
    for (int j = 0; j < GOLDEN; j++) {
      double value = 0.5 + 0.5 * sin(0.3 * i) * cos(0.2 * j);
      g[i * GOLDEN + j] = (float)value;
      h[i * GOLDEN + j] = (float)(0.9 * value + 0.05 * cos(0.7 * i + 0.1 * j));
    }
}

static bool golden_metrics(const struct verify *verify, const float *g, const float *h, struct error *error) {
  static const double range[2] = {1, 0.9992716726873025};
  static const double ssim[1] = {0.9564157676629873};
  static const double psnr[1] = {23.308210799215374}, uniform[2] = {0.9561364094253308, 0.9561348672592292};
  struct metric_vectors one = {1, GOLDEN, g, h, range, {ssim, NULL, psnr}};
  float twice[2][GOLDEN * GOLDEN], twice_h[2][GOLDEN * GOLDEN];
  for (int k = 0; k < 2; k++) {
    memcpy(twice[k], g, sizeof twice[k]);
    memcpy(twice_h[k], h, sizeof twice_h[k]);
  }
  struct metric_vectors two = {2, GOLDEN, twice[0], twice_h[0], range, {NULL, uniform}};
  return verify_metrics(verify, "golden", &one, error) && verify_metrics(verify, "golden", &two, error);
}

static bool golden_acquisition(const struct verify *verify, const float *g, struct error *error) {
  static const double target_mean[1] = {0.5018978539118748}, target_std[1] = {0.2500704551641862};
  static const double mean[1] = {0.5019009665265304}, std[1] = {0.250063209638349};
  uint8_t mask[GOLDEN] = {0};
  memset(mask + 12, 1, 8);
  struct acquisition_vectors v = {.count = 1,
                                  .n = GOLDEN,
                                  .image = g,
                                  .mask = mask,
                                  .observation_mean = mean,
                                  .observation_std = std,
                                  .target_mean = target_mean,
                                  .target_std = target_std};
  return verify_acquisition(verify, "golden", &v, error);
}

bool verify_golden(const struct verify *verify, struct error *error) {
  float g[GOLDEN * GOLDEN], h[GOLDEN * GOLDEN];
  make_golden(g, h);
  return golden_acquisition(verify, g, error) && golden_metrics(verify, g, h, error);
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static bool uses_real(const struct kernel_desc *row) {
  for (int i = 0; i < ARGS_MOST; i++)
    if (row->args[i].kind != ARG_END && row->args[i].element == ELEMENT_REAL) return true;
  return false;
}

/* Odd and wide maps, and others for kernels that are written for some sizes only: those of
 * tests/test_kernels.c, so that what one compiles is there for the other. */
static const size_t sizes[][2] = {{45, 33}, {20, 256}, {32, 32}, {70, 64}, {40, 128}};
enum { SIZES = sizeof sizes / sizeof *sizes, ANY = 2 /* of them for every kernel */ };

static bool run_kernel(const struct verify *verify, const struct kernel_desc *row, size_t size, bool half,
                       struct check_result *result, struct error *error) {
  size_t height = sizes[size][0], width = sizes[size][1],
         shape[SHAPE_COUNT] = {1, height, width, width, height * width, 3 * height * width, [SHAPE_AC] = height * width};
  struct check_sizes check = {.rows = row->launch == LAUNCH_ITEM ? 1000 : 5,
                              .height = height,
                              .width = width,
                              .shape = shape,
                              .shared_table = TABLE_SHARED,
                              .half = half,
                              .seed = (uint32_t)size};
  return kernel_check(verify->device, &kernel_table, row, &check, verify->kernel_folder, result, error);
}

/* Both storages of observations at the first size. */
static bool check_kernel(const struct verify *verify, const struct kernel_desc *row, struct error *error) {
  struct check_result worst = {.bound = row->tolerance}, result;
  bool first = true;
  for (size_t s = 0; s < SIZES; s++) {
    if (row->fits ? !row->fits(sizes[s][0], sizes[s][1]) : s >= ANY) continue;
    for (int half = 0; half <= (first && uses_real(row)); half++) {
      if (!run_kernel(verify, row, s, half, &result, error)) return false;
      if (result.worst - result.bound > worst.worst - worst.bound || (first && !half)) worst = result;
    }
    first = false;
  }
  see(verify, "kernel", row->name, worst.worst, worst.bound);
  return true;
}

bool verify_kernels(const struct verify *verify, struct error *error) {
  for (size_t i = 0; i < kernel_table.count; i++)
    if (kernel_table.rows[i].group && !check_kernel(verify, &kernel_table.rows[i], error))
      return fail_in(error, "kernel %s", kernel_table.rows[i].name);
  return true;
}
