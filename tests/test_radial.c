/* Spokes: their cells (PROTOCOL 5), the masks that scans start from and end with, and what is observed by
 * them. */
#include "engine/device/kernel_check.h"
#include "engine/files/store.h"
#include "kernels/kernels.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/load.h"
#include "systems/scan/transform.h"
#include "systems/scan/systems.h"
#include "tests/scans.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct geometry *const spokes = &geometry_list[GEOMETRY_SPOKES];

/* ---- cells --------------------------------------------------------------------------------------------- */

static uint32_t count_cells(const uint32_t *cell, uint32_t n) {
  uint32_t count = 0;
  while (count < n && cell[count] != NO_CELL) count++;
  return count;
}

/* A cell for every step of the longer axis, no two apart, through the centre, no two spokes the same. */
static void spokes_have_no_gaps(void **state) {
  static uint8_t mask[256][256 * 256];
  uint32_t cell[256];
  (void)state;
  for (uint32_t n = 128; n <= 256; n *= 2) {
    const struct scan_shape shape = geometry_shape(spokes, n, n);
    for (uint32_t a = 0; a < n; a++) {
      uint8_t one[256] = {0};
      one[a] = 1;
      spokes->cells(&shape, a, cell);
      uint32_t count = count_cells(cell, n);
      assert_true(count == n || count == n - 1);
      assert_int_equal(geometry_mask(spokes, &shape, one, mask[a]), count);
      assert_int_equal(mask[a][n / 2 * n + n / 2], 1);
      for (uint32_t i = 1; i < count; i++) {
        int rows = (int)(cell[i] / n) - (int)(cell[i - 1] / n),
            columns = (int)(cell[i] % n) - (int)(cell[i - 1] % n);
        assert_true(abs(rows) <= 1 && abs(columns) <= 1 && (abs(rows) == 1 || abs(columns) == 1));
      }
      for (uint32_t b = 0; b < a; b++) assert_memory_not_equal(mask[a], mask[b], n * n);
    }
  }
}

/* The fractions of k-space that PROTOCOL 5 measured. */
static void coverage_is_as_measured(void **state) {
  static const struct {
    uint32_t n, spokes;
    double percent;
  } rows[] = {{128, 128, 74.0}, {128, 32, 23.39}, {128, 16, 12.11}, {128, 8, 6.15},
              {128, 4, 3.10},   {128, 2, 1.56},   {256, 32, 12.10}, {256, 16, 6.15}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct scan_shape shape = geometry_shape(spokes, rows[i].n, rows[i].n);
    double fraction = 100 / geometry_acceleration(spokes, &shape, rows[i].spokes);
    if (fabs(fraction - rows[i].percent) > (rows[i].spokes == 128 ? 0.05 : 0.0051))
      fail_msg("%u spokes of %u cover %.3f %%, expected %.2f %%", rows[i].spokes, rows[i].n, fraction,
               rows[i].percent);
  }
}

static void random_spokes_cover_less(void **state) {
  static const double expected[] = {22.05, 11.55};
  static uint8_t mask[128 * 128];
  const struct scan_shape shape = geometry_shape(spokes, 128, 128);
  struct random random;
  (void)state;
  random_start(&random, 1, STREAM_PHANTOM, 0);
  for (uint32_t k = 0, count = 32; k < 2; k++, count /= 2) {
    double sum = 0;
    for (int draw = 0; draw < 400; draw++) {
      uint32_t order[128];
      uint8_t chosen[128] = {0};
      for (uint32_t i = 0; i < 128; i++) order[i] = i;
      random_order(&random, order, 128);
      for (uint32_t i = 0; i < count; i++) chosen[order[i]] = 1;
      sum += 100.0 * (double)geometry_mask(spokes, &shape, chosen, mask) / (128 * 128) / 400;
    }
    assert_true(fabs(sum - expected[k]) < 0.08);
  }
}

/* ---- scans --------------------------------------------------------------------------------------------- */

/* N0 = N / (2 acc) or N / (8 acc) evenly spaced, N / acc in all. */
static void scans_start_evenly_spaced(void **state) {
  static const struct {
    uint32_t acceleration;
    const char *horizon;
    uint32_t spokes, budget;
  } rows[] = {{4, "base", 16, 16}, {4, "long", 4, 28}, {8, "base", 8, 8}, {8, "long", 2, 14}};
  struct scene scene;
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint8_t mask[128];
    plan_scene(&scene, GEOMETRY_SPOKES, 128, rows[i].acceleration, rows[i].horizon);
    assert_int_equal(scene.acquisition.initial_lines, rows[i].spokes);
    assert_int_equal(scene.acquisition.budget, rows[i].budget);
    acquisition_initial(&scene.acquisition, mask);
    for (uint32_t a = 0; a < 128; a++) assert_int_equal(mask[a], a % (128 / rows[i].spokes) == 0);
    arena_close(scene.arena);
  }
  plan_scene(&scene, GEOMETRY_SPOKES, 128, 4, "base");
  for (uint32_t count = 1; count <= 128; count++) { /* any number of them, none twice */
    uint32_t found = 0;
    scene.acquisition.initial_lines = count;
    for (uint32_t a = 0; a < 128; a++) found += acquisition_is_initial(&scene.acquisition, a);
    assert_int_equal(found, count);
  }
  arena_close(scene.arena);
}

static void budgets_are_exact(void **state) {
  enum { N = 32, ENVS = 20 };
  static const char *const samplers[] = {"random", "uniform"};
  struct scene scene;
  uint8_t mask[ENVS][N], initial[N];
  uint32_t action[N][ENVS];
  plan_scene(&scene, GEOMETRY_SPOKES, N, 4, "base");
  open_scene(&scene, *state, ENVS, 7);
  acquisition_initial(&scene.acquisition, initial);
  for (size_t s = 0; s < 2; s++) {
    run_scans(&scene, samplers[s], 0, ENVS);
    support_get(scene.simulation.world, ENV_mask, 0, ENVS, mask);
    support_get(scene.simulation.world, ROLLOUT_action, ENVS, ENVS * scene.acquisition.budget, action);
    for (int e = 0; e < ENVS; e++) {
      uint8_t seen[N];
      unsigned count = 0;
      memcpy(seen, initial, N);
      for (uint32_t t = 0; t < scene.acquisition.budget; t++) {
        assert_true(action[t][e] < N && !seen[action[t][e]]); /* none twice */
        seen[action[t][e]] = 1;
      }
      assert_memory_equal(seen, mask[e], N);
      for (int a = 0; a < N; a++) count += mask[e][a];
      assert_int_equal(count, N / 4);
    }
  }
  close_scene(&scene);
}

/* All angles of a scan by uniform are evenly spaced; while it runs, no gap is more than twice another. */
static void uniform_bisects(void **state) {
  struct scene scene;
  (void)state;
  for (uint32_t acceleration = 4; acceleration <= 8; acceleration += 4) {
    struct error error;
    uint32_t rank[128], taken[128], total = 128 / acceleration;
    uint8_t mask[128];
    plan_scene(&scene, GEOMETRY_SPOKES, 128, acceleration, "long");
    assert_good(
        sampler_fill(sampler_find("uniform", &error), &scene.options, &scene.acquisition, rank, &error),
        &error);
    acquisition_initial(&scene.acquisition, mask);
    for (uint32_t t = 0; t < scene.acquisition.budget; t++) {
      uint32_t best = 0, least = 128, most = 0, last = 0;
      for (uint32_t a = 0; a < 128; a++)
        if (!mask[a] && (mask[best] || rank[a] < rank[best])) best = a;
      mask[taken[t] = best] = 1;
      for (uint32_t a = 1; a <= 128; a++)
        if (a == 128 || mask[a]) {
          least = a - last < least ? a - last : least;
          most = a - last > most ? a - last : most;
          last = a;
        }
      assert_true(most <= 2 * least);
    }
    for (uint32_t a = 0; a < 128; a++) assert_int_equal(mask[a], a % (128 / total) == 0);
    arena_close(scene.arena);
  }
  /* 25 in all, 12 to start with: not evenly spaced together */
  plan_scene(&scene, GEOMETRY_SPOKES, 128, 5, "base");
  struct error error;
  uint32_t rank[128];
  assert_good(sampler_fill(sampler_find("uniform", &error), &scene.options, &scene.acquisition, rank, &error),
              &error);
  for (uint32_t a = 0; a < 128; a++) assert_true(rank[a] < 128);
  arena_close(scene.arena);
}

static void samplers_of_lines_are_refused(void **state) {
  struct scene scene;
  struct error error;
  uint32_t table[512];
  (void)state;
  plan_scene(&scene, GEOMETRY_SPOKES, 128, 4, "base");
  assert_false(
      sampler_fill(sampler_find("low_bias", &error), &scene.options, &scene.acquisition, table, &error));
  assert_holds(error.text,
               "sampler low_bias: it does not choose among spokes (acquisition.geometry); these do: random "
               "uniform fixed_mask oracle average_oracle");
  scene.options.acquisition.initial_lines = 32;
  assert_false(acquisition_plan(&scene.acquisition, &scene.options, 4, "base", &error));
  assert_holds(error.text, "no spoke is left to acquire: 32 initial spokes of 128/4");
  scene.options.acquisition.geometry = GEOMETRY_LINES;
  scene.options.acquisition.initial_lines = 0;
  assert_good(acquisition_plan(&scene.acquisition, &scene.options, 4, "base", &error), &error);
  assert_false(
      sampler_fill(sampler_find("uniform", &error), &scene.options, &scene.acquisition, table, &error));
  assert_holds(error.text, "it does not choose among lines");
  arena_close(scene.arena);
}

/* ---- observations -------------------------------------------------------------------------------------- */

/* Along index i of `from`, at `stride`: the centred orthonormal transform of sign -1 or 1 at frequency k. */
static double complex turn(const double complex *from, size_t stride, size_t n, size_t k, int sign) {
  double complex sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += from[i * stride] *
           cexp(sign * 2 * M_PI * I * (double)((i + n - n / 2) * (k + n - n / 2) % n) / (double)n);
  return sum / sqrt((double)n);
}

/* |IFFT2c(M FFT2c(image))| in double, straight from the definition. */
static void observe_slowly(const float *image, const uint8_t *cells, size_t n, double *magnitude) {
  struct arena *arena = arena_open();
  double complex *a = arena_new(arena, n * n * sizeof *a), *b = arena_new(arena, n * n * sizeof *b);
  for (size_t i = 0; i < n * n; i++) a[i] = image[i];
  for (size_t i = 0; i < n * n; i++) b[i] = turn(a + i / n * n, 1, n, i % n, -1);
  for (size_t i = 0; i < n * n; i++) a[i] = cells[i] ? turn(b + i % n, n, n, i / n, -1) : 0;
  for (size_t i = 0; i < n * n; i++) b[i] = turn(a + i / n * n, 1, n, i % n, 1);
  for (size_t i = 0; i < n * n; i++) magnitude[i] = cabs(turn(b + i % n, n, n, i / n, 1));
  arena_close(arena);
}

static void check_image(struct scene *scene, size_t env, const uint8_t *cells) {
  struct world *world = scene->simulation.world;
  size_t n = world_width(world), pixels = n * n;
  struct arena *arena = arena_open();
  float *image = ARENA_NEW(arena, float, pixels), *found = ARENA_NEW(arena, float, pixels), unit, mean, std;
  double *expected = ARENA_NEW(arena, double, pixels), worst = 0, most = 0, sum = 0, square = 0;
  uint32_t slice;
  support_get(world, ENV_slice, env, 1, &slice);
  support_get(world, SLICE_image, slice, 1, image);
  support_get(world, SLICE_unit, slice, 1, &unit);
  support_get(world, ENV_magnitude, env, 1, found);
  support_get(world, ENV_magnitude_mean, env, 1, &mean);
  support_get(world, ENV_magnitude_std, env, 1, &std);
  observe_slowly(image, cells, n, expected);
  for (size_t i = 0; i < pixels; i++) {
    double value = expected[i] / unit;
    worst = fmax(worst, fabs(value - found[i]));
    most = fmax(most, value);
    sum += value;
    square += value * value;
  }
  double average = sum / (double)pixels;
  assert_true(worst < 3e-6 * most);
  assert_true(fabs(mean - average) < 1e-6 * most);
  assert_true(fabs(std - sqrt((square - sum * average) / (double)(pixels - 1))) < 2e-6 * most);
  arena_close(arena);
}

/* Sizes of both kernels, odd ones too; more scans than work-groups. Larger ones stand below, where no world compiles
 * all its kernels for them. */
static void observations_are_exact(void **state) {
  static const uint32_t sizes[] = {32, 45, 64};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    uint32_t n = sizes[k];
    size_t envs = n < 64 ? 500 : 3;
    struct scene scene;
    struct arena *arena = arena_open();
    uint8_t *mask = ARENA_NEW(arena, uint8_t, n), *cells = ARENA_NEW(arena, uint8_t, (size_t)n * n);
    plan_scene(&scene, GEOMETRY_SPOKES, n, 4, "base");
    open_scene(&scene, *state, envs, 3);
    run_scans(&scene, "random", 0, envs);
    for (size_t env = 0; env < envs; env += envs - 1) {
      support_get(scene.simulation.world, ENV_mask, env, 1, mask);
      geometry_mask(spokes, &scene.acquisition.shape, mask, cells);
      check_image(&scene, env, cells);
    }
    arena_close(arena);
    close_scene(&scene);
  }
}

/* K-space of the slices against the vectors that numpy made. */
static void spectra_are_as_computed(void **state) {
  static const char *const names[] = {"acquisition_60.h5", "acquisition_64.h5", "acquisition_45.h5"};
  const char *folder = getenv("L2SR_TEST_DATA");
  assert_non_null(folder);
  for (size_t k = 0; k < 3; k++) {
    struct arena *arena = arena_open();
    struct error error;
    struct store *store;
    struct scene scene;
    size_t count;
    float *image, *re, *im, unit;
    assert_good(store_open(&store, arena_text(arena, "%s/%s", folder, names[k]), &error), &error);
    assert_good(
        store_read_all(store, "image", STORE_F32, 1 << 28, arena, (void **)&image, &count, &error) &&
            store_read_all(store, "kspace_re", STORE_F32, 1 << 28, arena, (void **)&re, &count, &error) &&
            store_read_all(store, "kspace_im", STORE_F32, 1 << 28, arena, (void **)&im, &count, &error),
        &error);
    store_close(store);
    size_t n = (size_t)atoi(names[k] + 12), pixels = n * n;
    plan_scene(&scene, GEOMETRY_SPOKES, (uint32_t)n, 4, "base");
    open_scene(&scene, *state, 1, 1);
    support_put(scene.simulation.world, SLICE_image, 0, 1, image);
    assert_good(transform_rows(scene.simulation.world, 0, 1, &error), &error);
    float *found = ARENA_NEW(arena, float, 2 * pixels), most = 0;
    support_get(scene.simulation.world, SLICE_kspace, 0, 1, found);
    support_get(scene.simulation.world, SLICE_unit, 0, 1, &unit);
    for (size_t i = 0; i < pixels; i++) most = fmaxf(most, hypotf(re[i], im[i]));
    for (size_t i = 0; i < pixels; i++) {
      size_t row = (i / n + n - n / 2) % n, column = (i % n + n - n / 2) % n;
      const float *value = found + 2 * (row * n + column);
      assert_true(hypotf(value[0] * unit - re[i], value[1] * unit - im[i]) < 2e-6f * most);
    }
    close_scene(&scene);
    arena_close(arena);
  }
}

/* Masks of lines by the general kernel: what the one for lines gives, up to rounding. */
static void both_ways_agree(void **state) {
  enum { N = 64 };
  static float image[2][N * N];
  static uint32_t cell[N * N];
  struct scene scene;
  uint8_t mask[N] = {0};
  for (int a = 0; a < N; a++) mask[a] = a % 5 == 2 || (a > 28 && a < 36);
  for (int geometry = 0; geometry < 2; geometry++) {
    struct error error;
    uint32_t slice = 1;
    plan_scene(&scene, GEOMETRY_SPOKES, N, 4, "base");
    open_scene(&scene, *state, 1, 3);
    scene.options.acquisition.geometry = (uint32_t)geometry;
    if (!geometry) {
      simulation_close(&scene.simulation);
      struct simulation_plan plan = {.slices = 3, .envs = 1, .images = IMAGES_EVERY_STEP, .metrics = "ssim"};
      assert_good(simulation_open(&scene.simulation, *state, &scene.options, &plan, &error), &error);
      support_fill_slices(scene.simulation.world, 3);
    } else {
      for (uint32_t i = 0; i < N * N; i++) /* frequencies from the centre on */
        cell[i] = i % N * N + (i / N + N - N / 2) % N;
      support_put(scene.simulation.world, SCENE_cells, 0, 1, cell);
    }
    support_put(scene.simulation.world, ENV_slice, 0, 1, &slice);
    support_put(scene.simulation.world, ENV_mask, 0, 1, mask);
    world_set_rows(scene.simulation.world, TABLE_ENV, 1);
    const struct system *observe = &scene.simulation.begin.system[1];
    struct world_use before = world_enter(scene.simulation.world, observe);
    observe->run(scene.simulation.world, observe->context);
    world_leave(scene.simulation.world, before);
    support_get(scene.simulation.world, ENV_magnitude, 0, 1, image[geometry]);
    close_scene(&scene);
  }
  for (int i = 0; i < N * N; i++) assert_true(fabsf(image[0][i] - image[1][i]) < 1e-5f);
}

/* Scan 3 of 8, alone and of 500, byte for byte; a step allocates nothing. */
static void results_do_not_depend_on_the_number(void **state) {
  enum { N = 32 };
  static const size_t counts[] = {8, 1, 500};
  static float image[3][N * N];
  struct device *device = *state;
  for (int k = 0; k < 3; k++) {
    struct scene scene;
    bool alone = counts[k] == 1;
    plan_scene(&scene, GEOMETRY_SPOKES, N, 4, "base");
    open_scene(&scene, device, counts[k], 7);
    run_scans(&scene, "random", alone ? 3 : 0, counts[k]);
    uint64_t allocations = device->allocations, bytes = device->bytes;
    run_scans(&scene, "random", alone ? 3 : 0, counts[k]);
    assert_int_equal(device->allocations, allocations);
    assert_int_equal(device->bytes, bytes);
    support_get(scene.simulation.world, ENV_magnitude, alone ? 0 : 3, 1, image[k]);
    close_scene(&scene);
  }
  assert_memory_equal(image[0], image[1], sizeof image[0]);
  assert_memory_equal(image[0], image[2], sizeof image[0]);
}

/* The rows at sizes that test_kernels does not take. */
static void kernels_agree_with_their_reference(void **state) {
  static const struct {
    const char *name;
    size_t n;
  } rows[] = {{"observe_cells_direct", 45},
              {"observe_cells_fft", 64},
              {"observe_cells_fft", 128},
              {"observe_cells_fft", 256},
              {"image_pack_plane", 45},
              {"observe_coils_direct", 45},
              {"observe_coils_fft", 64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t count = 1; count <= 3; count += 2) {
      const size_t n = rows[i].n, shape[SHAPE_COUNT] = {1, n, n, n, n * n, 3 * n * n, [SHAPE_AC] = n * n};
      struct check_sizes check = {.rows = count,
                                  .height = n,
                                  .width = n,
                                  .shape = shape,
                                  .shared_table = TABLE_SHARED,
                                  .half = i == 1,
                                  .seed = 5};
      struct check_result result;
      struct error error;
      assert_good(kernel_check(*state, &kernel_table, kernel_row(&kernel_table, rows[i].name), &check, "",
                               &result, &error),
                  &error);
      if (result.worst > result.bound)
        fail_msg("%s at %zu: %s[%zu] is %.9g, expected %.9g", rows[i].name, n, result.argument, result.index,
                 result.found, result.expected);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spokes_have_no_gaps),
      cmocka_unit_test(coverage_is_as_measured),
      cmocka_unit_test(random_spokes_cover_less),
      cmocka_unit_test(scans_start_evenly_spaced),
      cmocka_unit_test(budgets_are_exact),
      cmocka_unit_test(uniform_bisects),
      cmocka_unit_test(samplers_of_lines_are_refused),
      cmocka_unit_test(observations_are_exact),
      cmocka_unit_test(spectra_are_as_computed),
      cmocka_unit_test(both_ways_agree),
      cmocka_unit_test(results_do_not_depend_on_the_number),
      cmocka_unit_test(kernels_agree_with_their_reference),
  };
  return cmocka_run_group_tests_name("radial", tests, support_open_transforms, support_close_transforms);
}
