/* Scans of k-space as it was measured (data.kspace): complex, of several coils, combined by
 * root-sum-of-squares; against double precision from the file's samples. */
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "systems/coils/noise.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/load.h"
#include "systems/scan/systems.h"
#include "tests/support.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { N = 32, COILS_MOST = 3 };

static struct folder folder;
static struct options options;
static struct random noise;

/* A file of one slice with a readout and lines of other lengths than N, header that crops it, and its
 * samples. */
struct file {
  const char *name;
  size_t coils, height, width, image; /* image: recon size of the header */
  float complex *samples;
};

static void write_file(struct file *file) {
  struct store *store;
  struct error error;
  size_t count = file->coils * file->height * file->width;
  const size_t four[] = {1, file->coils, file->height, file->width}, three[] = {1, file->height, file->width};
  file->samples = arena_new(folder.arena, count * sizeof *file->samples);
  for (size_t i = 0; i < count; i++) {
    double y = (double)(i / file->width % file->height) - (double)(file->height / 2),
           x = (double)(i % file->width) - (double)(file->width / 2);
    double size = exp(-(x * x + y * y) / 60); /* low frequencies are strong, and every phase is there */
    file->samples[i] = (float)(size * random_normal(&noise)) + I * (float)(size * random_normal(&noise));
  }
  assert_good(store_create(&store, support_path(&folder, file->name), &error), &error);
  assert_good(store_write(store, "kspace", STORE_C64, file->coils > 1 ? 4 : 3, file->coils > 1 ? four : three,
                          file->samples, false, &error),
              &error);
  const char *header =
      arena_text(folder.arena, "<reconSpace><matrixSize><x>%zu</x><y>%zu</y></matrixSize></reconSpace>",
                 file->image, file->image);
  assert_good(store_write_text(store, "ismrmrd_header", header, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  option_defaults(&option_table, &options, folder.arena);
  random_start(&noise, 3, STREAM_PHANTOM, 0);
  options.data.path = folder.path;
  options.data.size = option_square(N);
  options.data.kspace = KSPACE_MEASURED;
  options.data.pad = 40;
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  support_close_folder(&folder);
  return 0;
}

/* ---- in double ----------------------------------------------------------------------------------------- */

/* Along `count` values at `stride`: the centred orthonormal transform, in place. */
static void turn_line(double complex *line, size_t stride, size_t n, int sign) {
  double complex out[64];
  for (size_t k = 0; k < n; k++) {
    out[k] = 0;
    for (size_t i = 0; i < n; i++)
      out[k] += line[i * stride] *
                cexp(sign * 2 * M_PI * I * (double)((i + n - n / 2) * (k + n - n / 2) % n) / (double)n) /
                sqrt((double)n);
  }
  for (size_t k = 0; k < n; k++) line[k * stride] = out[k];
}

static void turn_plane(double complex *plane, size_t height, size_t width, int sign) {
  for (size_t y = 0; y < height; y++) turn_line(plane + y * width, 1, width, sign);
  for (size_t x = 0; x < width; x++) turn_line(plane + x, width, height, sign);
}

/* A coil's image: central `image` pixels of each axis, padded to data.pad and cropped to N (PROTOCOL 1.2). */
static void coil_image(const struct file *file, size_t coil, double complex *to) {
  size_t h = file->height, w = file->width;
  double complex *plane = arena_new(folder.arena, h * w * sizeof *plane);
  for (size_t i = 0; i < h * w; i++) plane[i] = file->samples[coil * h * w + i];
  turn_plane(plane, h, w, 1);
  for (size_t i = 0; i < N * N; i++) {
    long y = volume_place(i / N, file->image, options.data.pad, N);
    long x = volume_place(i % N, file->image, options.data.pad, N);
    to[i] = y < 0 || x < 0
                ? 0
                : plane[((size_t)y + (h - file->image) / 2) * w + (size_t)x + (w - file->image) / 2];
  }
}

static void observe_slowly(const struct file *file, const uint8_t *cells, double *magnitude) {
  static double complex plane[N * N];
  for (size_t i = 0; i < N * N; i++) magnitude[i] = 0;
  for (size_t coil = 0; coil < file->coils; coil++) {
    coil_image(file, coil, plane);
    turn_plane(plane, N, N, -1);
    for (size_t i = 0; i < N * N; i++) plane[i] *= cells[i];
    turn_plane(plane, N, N, 1);
    for (size_t i = 0; i < N * N; i++) magnitude[i] += creal(plane[i] * conj(plane[i]));
  }
  for (size_t i = 0; i < N * N; i++) magnitude[i] = sqrt(magnitude[i]);
}

/* ---- scans --------------------------------------------------------------------------------------------- */

struct bench {
  struct dataset dataset;
  struct load_report report;
  struct simulation simulation;
  struct acquisition acquisition;
};

static void open_bench(struct bench *bench, struct device *device, size_t envs, bool oracle) {
  struct error error;
  *bench = (struct bench){.dataset = {NULL}};
  assert_good(acquisition_plan(&bench->acquisition, &options, 4, "base", &error), &error);
  assert_good(dataset_open(&bench->dataset, &options, &error), &error);
  struct simulation_plan plan = {.slices = bench->dataset.slice_count,
                                 .envs = envs,
                                 .coils = dataset_coils(&bench->dataset),
                                 .together =
                                     1, /* measured k-space is on the device as a whole all the same */
                                 .rollout_steps = bench->acquisition.budget + 1,
                                 .images = IMAGES_EVERY_STEP,
                                 .metrics = "ssim",
                                 .deciders = oracle ? DECIDES_ORACLE : 0,
                                 .record = true};
  assert_good(simulation_open(&bench->simulation, device, &options, &plan, &error), &error);
  assert_good(
      load_simulation(&bench->simulation, &bench->dataset, &options, folder.arena, &bench->report, &error),
      &error);
}

static void close_bench(struct bench *bench) {
  simulation_close(&bench->simulation);
  dataset_close(&bench->dataset);
}

static void run_scans(struct bench *bench, const char *name, size_t envs) {
  struct error error;
  const struct sampler *sampler = sampler_find(name, &error);
  assert_good(sampler && simulation_set(&bench->simulation, &bench->acquisition, sampler, &error), &error);
  simulation_restart(&bench->simulation, 0, envs);
  simulation_episode(&bench->simulation);
  assert_good(device_finish(bench->simulation.device, &error), &error);
}

static void observe(struct bench *bench) {
  const struct system *system = &bench->simulation.begin.system[1];
  struct world_use before = world_enter(bench->simulation.world, system);
  system->run(bench->simulation.world, system->context);
  world_leave(bench->simulation.world, before);
}

static void check_env(struct bench *bench, const struct file *file, size_t env) {
  struct world *world = bench->simulation.world;
  static float found[N * N];
  static double expected[N * N];
  static uint8_t cells[N * N];
  uint8_t mask[N];
  uint32_t slice;
  float unit;
  double worst = 0, most = 0;
  support_get(world, ENV_slice, env, 1, &slice);
  support_get(world, ENV_mask, env, 1, mask);
  support_get(world, ENV_magnitude, env, 1, found);
  support_get(world, SLICE_unit, slice, 1, &unit);
  const struct scan_shape shape = scan_shape_of(&options);
  geometry_mask(geometry_chosen(&options), &shape, mask, cells);
  observe_slowly(file, cells, expected);
  for (size_t i = 0; i < N * N; i++) {
    worst = fmax(worst, fabs((double)found[i] * (double)unit - expected[i]));
    most = fmax(most, expected[i]);
  }
  assert_true(worst < 5e-6 * most);
}

static struct file files[] = {
    {"a.h5", 3, 40, 36, 34, NULL}, {"b.h5", 1, 37, 48, 36, NULL}, {"c.h5", 2, 32, 32, 32, NULL}};

/* Lines and spokes, volumes of other numbers of coils and sizes in one data set; more scans than slices. */
static void observations_are_exact(void **state) {
  for (int f = 0; f < 3; f++) write_file(&files[f]);
  for (uint32_t geometry = GEOMETRY_LINES; geometry <= GEOMETRY_SPOKES; geometry++) {
    struct bench bench;
    options.acquisition.geometry = geometry;
    open_bench(&bench, *state, 300, false);
    run_scans(&bench, "random", 300);
    for (size_t env = 0; env < 3; env++) check_env(&bench, &files[env], env);
    for (size_t env = 297; env < 300; env++) check_env(&bench, &files[env % 3], env);
    close_bench(&bench);
  }
}

/* All of k-space gives the image: the target is the root-sum-of-squares of the same coils. */
static void all_cells_give_the_image(void **state) {
  struct bench bench;
  uint8_t mask[N];
  for (int f = 0; f < 3; f++) write_file(&files[f]);
  open_bench(&bench, *state, 3, false);
  memset(mask, 1, N);
  run_scans(&bench, "random", 3);
  for (size_t env = 0; env < 3; env++) support_put(bench.simulation.world, ENV_mask, env, 1, mask);
  observe(&bench);
  for (size_t env = 0; env < 3; env++) {
    static float found[N * N], image[N * N];
    float unit, most = 0;
    support_get(bench.simulation.world, ENV_magnitude, env, 1, found);
    support_get(bench.simulation.world, SLICE_image, env, 1, image);
    support_get(bench.simulation.world, SLICE_unit, env, 1, &unit);
    for (size_t i = 0; i < N * N; i++) most = fmaxf(most, image[i]);
    for (size_t i = 0; i < N * N; i++) assert_true(fabsf(found[i] * unit - image[i]) < 3e-6f * most);
    check_env(&bench, &files[env], env);
  }
  close_bench(&bench);
}

/* The sampling of a phase cannot be guessed from the magnitude: another image than of data.kspace image. */
static void the_phase_counts(void **state) {
  static float image[2][N * N];
  double off = 0, size = 0;
  for (int f = 0; f < 3; f++) write_file(&files[f]);
  options.data.source = SOURCE_KSPACE;
  for (uint32_t kspace = KSPACE_IMAGE; kspace <= KSPACE_MEASURED; kspace++) {
    struct bench bench;
    options.data.kspace = kspace;
    open_bench(&bench, *state, 3, false);
    run_scans(&bench, "lowest_index", 3);
    support_get(bench.simulation.world, ENV_magnitude, 1, 1, image[kspace]);
    close_bench(&bench);
  }
  for (size_t i = 0; i < N * N; i++) {
    off += fabs((double)image[0][i] - (double)image[1][i]);
    size += (double)image[1][i];
  }
  assert_true(off > 0.01 * size);
}

/* The oracle observes candidates as scans: it beats random lines on every slice. */
static void the_oracle_sees_coils(void **state) {
  float ssim[2][3];
  struct bench bench;
  for (int f = 0; f < 3; f++) write_file(&files[f]);
  open_bench(&bench, *state, 3, true);
  for (int k = 0; k < 2; k++) {
    run_scans(&bench, k ? "oracle" : "random", 3);
    support_get(bench.simulation.world, ENV_ssim, 0, 3, ssim[k]);
  }
  for (int s = 0; s < 3; s++) assert_true(ssim[1][s] > ssim[0][s]);
  close_bench(&bench);
}

static void what_has_no_measured_kspace_is_refused(void **state) {
  struct dataset dataset;
  struct simulation simulation;
  struct error error;
  write_file(&files[0]);
  options.data.source = SOURCE_RSS;
  assert_false(dataset_open(&dataset, &options, &error));
  assert_holds(error.text, "data.kspace is measured, and data.source names reconstructions");
  options.data.source = SOURCE_AUTO;
  struct simulation_plan plan = {.slices = 1, .envs = 1};
  assert_false(simulation_open(&simulation, *state, &options, &plan, &error));
  assert_holds(error.text, "data.kspace is measured, and this works on images without files");
  static float image[N * N];
  const size_t shape[] = {1, N, N};
  struct store *store;
  assert_good(store_create(&store, support_path(&folder, "a.h5"), &error), &error);
  assert_good(store_write(store, "reconstruction_rss", STORE_F32, 3, shape, image, false, &error), &error);
  assert_good(store_commit(store, &error), &error);
  options.data.strict = true;
  assert_false(dataset_open(&dataset, &options, &error));
  assert_holds(error.text, "has no dataset kspace");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

/* ---- noise of least squares ----------------------------------------------------------------------------- */

enum { ACROSS = 8, DOWN = 2, SEEN_BY = 3 };

/* Every other line: two pixels fold onto one another, and g is that of two unknowns. */
static void noise_of_two_pixels_is_pruessmanns(void **state) {
  float complex maps[SEEN_BY * DOWN * ACROSS];
  uint8_t mask[ACROSS];
  float g[DOWN * ACROSS];
  struct error error;
  struct noise_data data = {SEEN_BY, DOWN, ACROSS, maps, mask, 0};
  (void)state;
  for (size_t i = 0; i < SEEN_BY * DOWN * ACROSS; i++) maps[i] = (float)random_normal(&noise) + I * (float)random_normal(&noise);
  for (size_t c = 0; c < SEEN_BY; c++) maps[c * DOWN * ACROSS + 3] = 0; /* nobody sees it: its fellow is free of it */
  for (size_t i = 0; i < ACROSS; i++) mask[i] = i % 2 == 0;
  assert_good(noise_map(&data, g, &error), &error);
  for (size_t at = 0; at < DOWN * ACROSS; at++) {
    size_t other = at / ACROSS * ACROSS + (at + ACROSS / 2) % ACROSS;
    double p = 0, r = 0;
    double complex q = 0;
    for (size_t c = 0; c < SEEN_BY; c++) {
      double complex one = (double complex)maps[c * DOWN * ACROSS + at], two = (double complex)maps[c * DOWN * ACROSS + other];
      p += pow(cabs(one), 2);
      r += pow(cabs(two), 2);
      q += conj(one) * two;
    }
    double expected = p > 0 && r > 0 ? sqrt(p * r / (p * r - pow(cabs(q), 2))) : p > 0;
    assert_true(fabs((double)g[at] - expected) < 1e-5 * expected + 1e-6);
  }
}

/* All lines and a weight: one coil's noise is divided by 1 + w. With half of the lines one coil cannot tell pixels apart. */
static void weights_take_noise_away(void **state) {
  float complex maps[DOWN * ACROSS];
  uint8_t mask[ACROSS];
  float g[DOWN * ACROSS];
  struct error error;
  struct noise_data data = {1, DOWN, ACROSS, maps, mask, 0.25};
  (void)state;
  for (size_t i = 0; i < DOWN * ACROSS; i++) maps[i] = cexpf(I * (float)i);
  memset(mask, 1, sizeof mask);
  assert_good(noise_map(&data, g, &error), &error);
  for (size_t at = 0; at < DOWN * ACROSS; at++) assert_true(fabs((double)g[at] - 1 / 1.25) < 1e-6);
  data.weight = 0;
  memset(mask, 0, ACROSS / 2);
  assert_false(noise_map(&data, g, &error));
  assert_holds(error.text, "open to least squares of 1 coil: noise is without bounds; set reconstruct.weight above 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(observations_are_exact),
      TEST(all_cells_give_the_image),
      TEST(the_phase_counts),
      TEST(the_oracle_sees_coils),
      TEST(what_has_no_measured_kspace_is_refused),
      cmocka_unit_test(noise_of_two_pixels_is_pruessmanns),
      cmocka_unit_test(weights_take_noise_away),
  };
  return cmocka_run_group_tests_name("coils", tests, support_open_transforms, support_close_transforms);
}
