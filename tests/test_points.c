/* Points of k-space: the squares that scans start from, exact budgets of what is drawn at once, what is
 * observed by them, refusals. */
#include "engine/device/kernel_check.h"
#include "kernels/kernels.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/systems.h"
#include "tests/scans.h"

#include <math.h>
#include <string.h>

enum { N = 32, SLICES = 3 };

/* ---- squares and budgets ------------------------------------------------------------------------------- */

/* PROTOCOL 3.2: the sides of 128 are 22, 16 and 12. */
static void squares_are_as_published(void **state) {
  static const uint32_t rows[][4] = {
      {128, 4, 22, 3612}, {128, 8, 16, 1792}, {128, 16, 12, 880}, {256, 4, 46, 14268}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct scene scene;
    plan_scene(&scene, GEOMETRY_POINTS, rows[i][0], rows[i][1], "long");
    const struct acquisition *scan = &scene.acquisition;
    uint32_t n = rows[i][0], side = rows[i][2], count = 0;
    assert_int_equal(scan->initial_side, side);
    assert_int_equal(scan->initial_lines, side * side);
    assert_int_equal(scan->budget, rows[i][3]);
    assert_int_equal(scan->initial_lines + scan->budget, n * n / rows[i][1]);
    for (uint32_t point = 0; point < n * n; point++) {
      uint32_t row = point / n, column = point % n, low = n / 2 - side / 2;
      bool inside = row >= low && row < low + side && column >= low && column < low + side;
      assert_int_equal(acquisition_is_initial(scan, point), inside);
      count += inside;
    }
    assert_int_equal(count, side * side);
    assert_int_equal(acquisition_steps(scan), 1);
    arena_close(scene.arena);
  }
}

static void given_sides_are_taken(void **state) {
  struct scene scene;
  struct error error;
  (void)state;
  plan_scene(&scene, GEOMETRY_POINTS, N, 4, "long");
  scene.options.acquisition.initial_side = 5;
  scene.options.acquisition.budget = 77;
  assert_good(acquisition_plan(&scene.acquisition, &scene.options, 4, "long", &error), &error);
  assert_string_equal(scene.acquisition.horizon, "custom");
  assert_int_equal(scene.acquisition.initial_lines, 25);
  assert_int_equal(scene.acquisition.initial_start, 14);
  assert_int_equal(scene.acquisition.budget, 77);
  arena_close(scene.arena);
}

/* ---- scans --------------------------------------------------------------------------------------------- */

static void read_masks(struct scene *scene, size_t envs, uint8_t *mask) {
  struct error error;
  support_get(scene->simulation.world, ENV_mask, 0, envs, mask);
  assert_good(device_finish(scene->simulation.device, &error), &error);
}

/* A scan depends on its number, not on what runs beside it. */
static void scans_have_exact_budgets(void **state) {
  static const char *const names[] = {"random", "variable_density", "variable_density_gaussian"};
  enum { SCANS = 70, FEW = 4 };
  static uint8_t mask[SCANS * N * N], few[FEW * N * N];
  for (size_t s = 0; s < sizeof names / sizeof *names; s++) {
    struct scene scene;
    size_t centre = 0, drawn = 0;
    plan_scene(&scene, GEOMETRY_POINTS, N, 4, "long");
    open_scene(&scene, *state, SCANS, SLICES);
    run_scans(&scene, names[s], 5, SCANS);
    read_masks(&scene, SCANS, mask);
    for (size_t i = 0; i < SCANS; i++) {
      uint32_t count = 0;
      for (size_t point = 0; point < N * N; point++) {
        uint8_t own = mask[i * N * N + point];
        count += own;
        if (acquisition_is_initial(&scene.acquisition, point)) assert_int_equal(own, 1);
        bool near = hypot((double)(point / N) - N / 2, (double)(point % N) - N / 2) < N / 4;
        centre += own && near;
        drawn += own;
      }
      assert_int_equal(count, N * N / 4);
    }
    assert_true(s ? centre > drawn / 2 : centre < drawn / 2);
    run_scans(&scene, names[s], 71, FEW);
    read_masks(&scene, FEW, few);
    assert_memory_equal(few, mask + 66 * N * N, sizeof few);
    close_scene(&scene);
  }
}

static void chances_add_up_to_the_budget(void **state) {
  static const char *const names[] = {"random", "variable_density", "variable_density_gaussian"};
  (void)state;
  for (size_t s = 0; s < sizeof names / sizeof *names; s++) {
    struct scene scene;
    struct error error;
    plan_scene(&scene, GEOMETRY_POINTS, 128, 16, "long");
    const struct sampler *sampler = sampler_find(names[s], &error);
    size_t count = scene.acquisition.shape.actions;
    uint32_t *table = ARENA_NEW(scene.arena, uint32_t, count);
    double *chance = ARENA_NEW(scene.arena, double, count), sum = 0, most = 0;
    assert_good(sampler_fill(sampler, &scene.options, &scene.acquisition, table, &error), &error);
    assert_good(sampler_chances(sampler, &scene.options, &scene.acquisition, table, chance, &error), &error);
    for (size_t i = 0; i < count; i++) {
      assert_true(chance[i] >= 0 && chance[i] <= 1);
      if (acquisition_is_initial(&scene.acquisition, i)) assert_true(chance[i] == 0);
      sum += chance[i];
      most = fmax(most, chance[i]);
    }
    assert_true(fabs(sum - scene.acquisition.budget) < 1e-6);
    assert_true(s ? most > 0.3 : most < 0.1);
    arena_close(scene.arena);
  }
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* The rows at square sizes, which test_kernels does not take. */
static void kernels_agree_with_their_reference(void **state) {
  static const struct {
    const char *name;
    size_t n;
  } rows[] = {{"observe_cells_direct", 45},
              {"observe_cells_fft", 64},
              {"observe_coils_direct", 45},
              {"observe_coils_fft", 64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const size_t n = rows[i].n, shape[SHAPE_COUNT] = {1, n, n, n * n, n * n, 3 * n * n, [SHAPE_AC] = n * n};
    struct check_sizes check = {.rows = 3,
                                .height = n,
                                .width = n,
                                .shape = shape,
                                .shared_table = TABLE_SHARED,
                                .half = i == 1,
                                .seed = 5,
                                .macro = "ACTIONS=PIXELS",
                                .actions = n * n};
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

/* ---- refusals ------------------------------------------------------------------------------------------ */

static void refuse_plan(struct scene *scene, const char *part) {
  struct error error;
  assert_false(acquisition_plan(&scene->acquisition, &scene->options, 4, "long", &error));
  assert_holds(error.text, part);
}

static void what_is_of_lines_is_refused(void **state) {
  struct scene scene;
  struct error error;
  uint32_t table[N * N];
  (void)state;
  plan_scene(&scene, GEOMETRY_POINTS, N, 4, "long");
  assert_false(
      sampler_fill(sampler_find("oracle", &error), &scene.options, &scene.acquisition, table, &error));
  assert_holds(error.text,
               "sampler oracle: it does not choose among points (acquisition.geometry); these do: random "
               "variable_density variable_density_gaussian fixed_mask learned_mask tau_step");
  scene.options.acquisition.initial_side = 16;
  refuse_plan(&scene, "no point is left to acquire: 256 initial points of 1024/4 = 256 in all; lower "
                      "acquisition.initial_side or the acceleration");
  scene.options.acquisition.initial_side = 33;
  refuse_plan(&scene, "acquisition.initial_side is 33; k-space has 32x32 points");
  scene.options.acquisition.initial_lines = 4;
  refuse_plan(
      &scene,
      "acquisition.initial_lines is 4 and acquisition.geometry is points; set acquisition.initial_side");
  scene.options.acquisition.geometry = GEOMETRY_LINES;
  refuse_plan(
      &scene,
      "acquisition.initial_side is 33 and acquisition.geometry is lines; set acquisition.initial_lines");
  arena_close(scene.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(squares_are_as_published),           cmocka_unit_test(given_sides_are_taken),
      cmocka_unit_test(scans_have_exact_budgets),           cmocka_unit_test(chances_add_up_to_the_budget),
      cmocka_unit_test(kernels_agree_with_their_reference), cmocka_unit_test(what_is_of_lines_is_refused),
  };
  return cmocka_run_group_tests_name("points", tests, support_open_device, support_close_device);
}
