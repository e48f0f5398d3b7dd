/* Scans as a whole: budgets, resets, rewards, independence of the number of environments, no allocation. */
#include "engine/base/half.h"
#include "engine/device/fft.h"
#include "kernels/kernels.h"
#include "systems/scan/load.h"
#include "systems/scan/systems.h"
#include "tests/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 32, SLICES = 7, ENVS_MOST = 500 };

struct scene {
  struct arena *arena;
  struct options options;
  struct simulation simulation;
  struct acquisition acquisition;
};

static void open_scene(struct scene *scene, struct device *device, size_t envs, bool every_step, bool dense,
                       bool half) {
  struct error error;
  *scene = (struct scene){.arena = arena_open()};
  option_defaults(&option_table, &scene->options, scene->arena);
  scene->options.data.size = option_square(N);
  scene->options.acquisition.initial_lines = 3;
  scene->options.reward.form = dense ? REWARD_DENSE : REWARD_SPARSE;
  scene->options.reward.scale = 100;
  scene->options.world.observation = half ? OBSERVATION_F16 : OBSERVATION_F32;
  assert_good(acquisition_plan(&scene->acquisition, &scene->options, 4, "base", &error), &error);
  struct simulation_plan plan = {.slices = SLICES,
                                 .envs = envs,
                                 .rollout_steps = scene->acquisition.budget + 1,
                                 .images = every_step ? IMAGES_EVERY_STEP : IMAGES_SCORED,
                                 .metrics = "ssim,psnr,nmse",
                                 .record = true};
  assert_good(simulation_open(&scene->simulation, device, &scene->options, &plan, &error), &error);
}

static void close_scene(struct scene *scene) {
  simulation_close(&scene->simulation);
  arena_close(scene->arena);
}

static void set_sampler(struct scene *scene, const char *name) {
  struct error error;
  const struct sampler *sampler = sampler_find(name, &error);
  assert_non_null(sampler);
  assert_good(simulation_set(&scene->simulation, &scene->acquisition, sampler, &error), &error);
}

static void run_scans(struct scene *scene, uint32_t first, size_t envs) {
  struct error error;
  simulation_restart(&scene->simulation, first, envs);
  simulation_episode(&scene->simulation);
  assert_good(device_finish(scene->simulation.device, &error), &error);
}

static const char *const samplers[] = {"random",
                                       "low_bias",
                                       "variable_density",
                                       "variable_density_gaussian",
                                       "poisson_disc",
                                       "equispaced_one_sided",
                                       "equispaced_two_sided",
                                       "lowest_index"};

static void budgets_are_exact(void **state) {
  struct scene scene;
  uint8_t mask[20][N];
  open_scene(&scene, *state, 20, false, false, false);
  support_fill_slices(scene.simulation.world, SLICES);
  for (size_t s = 0; s < sizeof samplers / sizeof *samplers; s++) {
    set_sampler(&scene, samplers[s]);
    run_scans(&scene, 0, 20);
    support_get(scene.simulation.world, ENV_mask, 0, 20, mask);
    for (int e = 0; e < 20; e++) {
      unsigned lines = 0, centre = 0;
      for (unsigned c = 0; c < N; c++) {
        lines += mask[e][c];
        centre += mask[e][c] && c - scene.acquisition.initial_start < 3;
      }
      if (lines != N / 4 || centre != 3)
        fail_msg("%s: %u lines, %u of 3 initial", samplers[s], lines, centre);
    }
  }
  close_scene(&scene);
}

static void a_larger_mask_is_a_better_image(void **state) {
  struct scene scene;
  float ssim[9][SLICES];
  open_scene(&scene, *state, SLICES, true, false, false);
  support_fill_slices(scene.simulation.world, SLICES);
  set_sampler(&scene, "lowest_index");
  run_scans(&scene, 0, SLICES);
  support_get(scene.simulation.world, ROLLOUT_ssim, 0, SLICES * (scene.acquisition.budget + 1), ssim);
  for (uint32_t s = 0; s < SLICES; s++) assert_true(ssim[scene.acquisition.budget][s] > ssim[0][s]);
  close_scene(&scene);
}

/* Scans are the same, whatever the number of environments: actions, masks and scores of scan 3, byte for
 * byte. */
static void results_do_not_depend_on_the_number(void **state) {
  static const size_t counts[] = {8, 1, 500};
  uint8_t masks[3][N];
  float scores[3];
  for (int k = 0; k < 3; k++) {
    struct scene scene;
    bool alone = counts[k] == 1; /* scan 3 as the only one */
    open_scene(&scene, *state, counts[k], false, false, false);
    support_fill_slices(scene.simulation.world, SLICES);
    set_sampler(&scene, "random");
    run_scans(&scene, alone ? 3 : 0, counts[k]);
    support_get(scene.simulation.world, ENV_mask, alone ? 0 : 3, 1, masks[k]);
    support_get(scene.simulation.world, ENV_ssim, alone ? 0 : 3, 1, &scores[k]);
    close_scene(&scene);
  }
  for (int k = 1; k < 3; k++) {
    assert_memory_equal(masks[0], masks[k], N);
    assert_memory_equal(&scores[0], &scores[k], sizeof scores[0]);
  }
}

static void the_seed_decides(void **state) {
  uint8_t masks[3][64][N];
  for (int k = 0; k < 3; k++) {
    struct scene scene;
    open_scene(&scene, *state, 64, false, false, false);
    scene.options.world.seed = k == 2 ? 43 : 42;
    support_fill_slices(scene.simulation.world, SLICES);
    set_sampler(&scene, "variable_density");
    run_scans(&scene, 0, 64);
    support_get(scene.simulation.world, ENV_mask, 0, 64, masks[k]);
    close_scene(&scene);
  }
  assert_memory_equal(masks[0], masks[1], sizeof masks[0]);
  assert_memory_not_equal(masks[0], masks[2], sizeof masks[0]);
}

/* After an episode everything is done; the next begin starts the following scans, and nothing else does. */
static void reset_is_the_only_owner(void **state) {
  struct scene scene;
  uint32_t scan[5], step[5], done[5], slice[5];
  open_scene(&scene, *state, 5, false, false, false);
  support_fill_slices(scene.simulation.world, SLICES);
  struct world *world = scene.simulation.world;
  set_sampler(&scene, "random");
  run_scans(&scene, 0, 5);
  support_get(world, ENV_done, 0, 5, done);
  support_get(world, ENV_step, 0, 5, step);
  for (uint32_t e = 0; e < 5; e++) {
    assert_int_equal(done[e], 1);
    assert_int_equal(step[e], scene.acquisition.budget);
  }
  simulation_episode(&scene.simulation);
  support_get(world, ENV_scan, 0, 5, scan);
  support_get(world, ENV_slice, 0, 5, slice);
  for (uint32_t e = 0; e < 5; e++) {
    assert_int_equal(scan[e], 5 + e);
    assert_int_equal(slice[e], (5 + e) % SLICES);
  }
  close_scene(&scene);
}

/* Dense rewards sum to the gain of the whole scan, sparse ones are the quality at the end. */
static void rewards_are_as_defined(void **state) {
  for (int dense = 0; dense < 2; dense++) {
    struct scene scene;
    open_scene(&scene, *state, SLICES, true, dense, false);
    support_fill_slices(scene.simulation.world, SLICES);
    set_sampler(&scene, "lowest_index");
    run_scans(&scene, 0, SLICES);
    size_t steps = scene.acquisition.budget + 1;
    float reward[16][SLICES], ssim[16][SLICES];
    support_get(scene.simulation.world, ROLLOUT_reward, 0, SLICES * steps, reward);
    support_get(scene.simulation.world, ROLLOUT_ssim, 0, SLICES * steps, ssim);
    for (size_t e = 0; e < SLICES; e++) {
      double sum = 0;
      for (size_t t = 1; t < steps; t++) sum += reward[t][e];
      for (size_t t = 1; !dense && t + 1 < steps; t++) assert_true(reward[t][e] == 0);
      double expected = 100 * (ssim[steps - 1][e] - (dense ? ssim[0][e] : 0));
      assert_true(fabs(sum - expected) < 1e-3);
    }
    close_scene(&scene);
  }
}

static void a_step_allocates_nothing(void **state) {
  struct device *device = *state;
  struct scene scene;
  open_scene(&scene, device, 16, true, true, false);
  support_fill_slices(scene.simulation.world, SLICES);
  set_sampler(&scene, "random");
  run_scans(&scene, 0, 16);
  uint64_t allocations = device->allocations, bytes = device->bytes;
  for (int k = 0; k < 5; k++) simulation_episode(&scene.simulation);
  struct error error;
  assert_good(device_finish(device, &error), &error);
  assert_int_equal(device->allocations, allocations);
  assert_int_equal(device->bytes, bytes);
  close_scene(&scene);
}

/* Observes the same scan in f32 and in f16: the difference is the rounding of a half. */
static void half_observations_are_close(void **state) {
  float full[N * N], mean[2], std[2];
  uint16_t halves[N * N];
  for (int half = 0; half < 2; half++) {
    struct scene scene;
    open_scene(&scene, *state, 4, false, false, half);
    support_fill_slices(scene.simulation.world, SLICES);
    set_sampler(&scene, "low_bias");
    run_scans(&scene, 0, 4);
    support_get(scene.simulation.world, ENV_magnitude, 2, 1, half ? (void *)halves : (void *)full);
    support_get(scene.simulation.world, ENV_magnitude_mean, 2, 1, &mean[half]);
    support_get(scene.simulation.world, ENV_magnitude_std, 2, 1, &std[half]);
    close_scene(&scene);
  }
  assert_memory_equal(&mean[0], &mean[1], sizeof *mean); /* statistics are taken before the rounding */
  assert_memory_equal(&std[0], &std[1], sizeof *std);
  for (int i = 0; i < N * N; i++)
    assert_true(fabsf(half_to_float(halves[i]) - full[i]) <= 1e-3f * full[i] + 1e-6f);
}

/* <A x, y> = <x, A* y> for the masked transform along the lines: A = M F, A* = F^-1 M. */
static void the_masked_transform_is_adjoint(void **state) {
  struct device *device = *state;
  struct error error;
  struct fft fft;
  float x[2 * N], y[2 * N], forward[2 * N], backward[2 * N];
  struct random random;
  random_start(&random, 5, STREAM_PHANTOM, 0);
  for (int i = 0; i < 2 * N; i++) x[i] = (float)random_normal(&random), y[i] = (float)random_normal(&random);
  assert_good(fft_open(&fft, device, 1, N, 1, &error), &error);
  cl_mem buffer = device_buffer(device, sizeof x, "the test", &error);
  device_write(device, buffer, 0, sizeof x, x);
  fft_run(&fft, FFT_FORWARD, buffer);
  device_read(device, buffer, 0, sizeof x, forward);
  for (int i = 0; i < N; i++)
    if (i % 3) forward[2 * i] = forward[2 * i + 1] = 0;
  for (int i = 0; i < 2 * N; i++) backward[i] = i / 2 % 3 ? 0 : y[i];
  device_write(device, buffer, 0, sizeof x, backward);
  fft_run(&fft, FFT_INVERSE, buffer);
  device_read(device, buffer, 0, sizeof x, backward);
  double left = 0, right = 0;
  for (int i = 0; i < 2 * N; i++) left += (double)forward[i] * y[i], right += (double)x[i] * backward[i];
  assert_true(fabs(left - right) < 1e-4 * (fabs(left) + 1));
  device_release(device, buffer, sizeof x);
  fft_close(&fft);
}

static void plans_are_refused(void **state) {
  struct error error;
  struct arena *arena = arena_open();
  struct options options;
  struct acquisition acquisition, *list;
  size_t count;
  (void)state;
  option_defaults(&option_table, &options, arena);
  assert_true(acquisition_plan(&acquisition, &options, 4, "long", &error));
  assert_int_equal(acquisition.initial_start, 62);
  assert_int_equal(acquisition.initial_lines, 4);
  assert_int_equal(acquisition.budget, 28);
  assert_false(acquisition_plan(&acquisition, &options, 4, "medium", &error));
  assert_holds(error.text, "it must be base or long");
  options.acquisition.budget = 120;
  assert_false(acquisition_plan(&acquisition, &options, 4, "base", &error));
  assert_holds(error.text, "only 112 of 128 lines are free");
  options.acquisition.budget = 0;
  options.acquisition.initial_lines = 40;
  assert_false(acquisition_plan(&acquisition, &options, 4, "base", &error));
  assert_holds(error.text, "no line is left to acquire");
  options.acquisition.acceleration = "4,x";
  assert_false(acquisition_list(&list, &count, &options, arena, &error));
  assert_int_equal(error.code, ERROR_USAGE);
  arena_close(arena);
}

static void settings_are_listed_once(void **state) {
  struct error error;
  struct arena *arena = arena_open();
  struct options options;
  struct acquisition *list;
  size_t count;
  (void)state;
  option_defaults(&option_table, &options, arena);
  options.acquisition.acceleration = "4,8";
  options.acquisition.horizon = "base,long";
  assert_good(acquisition_list(&list, &count, &options, arena, &error), &error);
  assert_int_equal(count, 4);
  options.acquisition.initial_lines = 6; /* the horizons are one */
  assert_good(acquisition_list(&list, &count, &options, arena, &error), &error);
  assert_int_equal(count, 2);
  assert_string_equal(list[1].horizon, "custom");
  assert_int_equal(list[1].acceleration, 8);
  options.acquisition.acceleration = "4,8,04";
  assert_false(acquisition_list(&list, &count, &options, arena, &error));
  assert_holds(error.text, "x4 custom stands twice");
  options.acquisition.initial_lines = 0;
  options.acquisition.acceleration = "4";
  options.acquisition.horizon = "long,long";
  assert_false(acquisition_list(&list, &count, &options, arena, &error));
  assert_holds(error.text, "x4 long stands twice");
  arena_close(arena);
}

/* reward.metric is a place in metric_list. */
static void the_reward_is_one_of_the_metrics(void **state) {
  struct arena *arena = arena_open();
  const char *names = "";
  (void)state;
  for (size_t m = 0; m < METRICS_SCORED; m++)
    names = arena_text(arena, "%s%s%s", names, m ? "|" : "", metric_list[m].name);
  assert_string_equal(option_find(&option_table, "reward.metric")->choices, names);
  arena_close(arena);
}

/* PROTOCOL 1.4, row by row. */
static void initial_masks_are_the_published_ones(void **state) {
  static const struct {
    uint32_t n, acceleration;
    const char *horizon;
    uint32_t start, lines, budget;
  } rows[] = {{128, 4, "base", 56, 16, 16}, {128, 4, "long", 62, 4, 28},   {128, 8, "base", 60, 8, 8},
              {128, 8, "long", 63, 2, 14},  {256, 8, "base", 120, 16, 16}, {256, 8, "long", 126, 4, 28},
              {256, 16, "base", 124, 8, 8}, {256, 16, "long", 127, 2, 14}};
  struct arena *arena = arena_open();
  struct options options;
  (void)state;
  option_defaults(&option_table, &options, arena);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct acquisition acquisition;
    struct error error;
    options.data.size = option_square(rows[i].n);
    assert_good(acquisition_plan(&acquisition, &options, rows[i].acceleration, rows[i].horizon, &error),
                &error);
    assert_int_equal(acquisition.initial_start, rows[i].start);
    assert_int_equal(acquisition.initial_lines, rows[i].lines);
    assert_int_equal(acquisition.budget, rows[i].budget);
  }
  arena_close(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(initial_masks_are_the_published_ones),
      cmocka_unit_test(plans_are_refused),
      cmocka_unit_test(settings_are_listed_once),
      cmocka_unit_test(the_reward_is_one_of_the_metrics),
      cmocka_unit_test(budgets_are_exact),
      cmocka_unit_test(a_larger_mask_is_a_better_image),
      cmocka_unit_test(results_do_not_depend_on_the_number),
      cmocka_unit_test(the_seed_decides),
      cmocka_unit_test(reset_is_the_only_owner),
      cmocka_unit_test(rewards_are_as_defined),
      cmocka_unit_test(a_step_allocates_nothing),
      cmocka_unit_test(half_observations_are_close),
      cmocka_unit_test(the_masked_transform_is_adjoint),
  };
  return cmocka_run_group_tests(tests, support_open_transforms, support_close_transforms);
}
