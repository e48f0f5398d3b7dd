/* The oracles against brute force: every mask with one line more is observed, reconstructed and scored the
 * slow way, from the mask. */
#include "kernels/kernels.h"
#include "systems/methods/evaluate.h"
#include "systems/networks/reconstructor.h"
#include "systems/scan/oracle.h"
#include "systems/scan/transform.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { N = 32, SLICES = 3, INITIAL = 3, STEPS = N / 4 - INITIAL };

struct bench {
  struct arena *arena;
  struct options options;
  struct acquisition acquisition;
  struct simulation simulation, brute; /* brute: an environment for every line of every slice */
  struct reconstructor reconstructor;
};

static void open_network(struct bench *bench, struct device *device) {
  struct error error;
  struct reconstructor_setup setup = {.device = device,
                                      .kernels = bench->simulation.kernels,
                                      .shape = {N, N, N},
                                      .channels = 2,
                                      .pools = 2,
                                      .batch = 5};
  assert_good(reconstructor_open(&bench->reconstructor, &setup, &error), &error);
  graph_start(bench->reconstructor.graph, 3);
  reconstructor_changed(&bench->reconstructor);
  bench->simulation.reconstructor = bench->brute.reconstructor = &bench->reconstructor;
}

static void open_geometry(struct bench *bench, struct device *device, uint32_t geometry, bool network,
                          size_t metric, uint32_t batch) {
  struct error error;
  *bench = (struct bench){.arena = arena_open()};
  option_defaults(&option_table, &bench->options, bench->arena);
  bench->options.data.size = option_square(N);
  bench->options.acquisition.geometry = geometry;
  bench->options.acquisition.initial_lines = INITIAL;
  bench->options.network.batch = batch;
  bench->options.reward.metric = (uint32_t)metric;
  assert_good(acquisition_plan(&bench->acquisition, &bench->options, 4, "base", &error), &error);
  struct simulation_plan plan = {.slices = SLICES,
                                 .envs = SLICES,
                                 .rollout_steps = STEPS + 1,
                                 .metrics = metric_list[metric].name,
                                 .network = network,
                                 .deciders = DECIDES_ORACLE,
                                 .record = true};
  assert_good(simulation_open(&bench->simulation, device, &bench->options, &plan, &error), &error);
  plan.deciders = 0;
  plan.envs = SLICES * N;
  plan.kernels = bench->simulation.kernels;
  assert_good(simulation_open(&bench->brute, device, &bench->options, &plan, &error), &error);
  support_fill_slices(bench->simulation.world, SLICES);
  support_fill_slices(bench->brute.world, SLICES);
  if (network) open_network(bench, device);
}

static void open_bench(struct bench *bench, struct device *device, bool network, size_t metric,
                       uint32_t batch) {
  open_geometry(bench, device, GEOMETRY_LINES, network, metric, batch);
}

static void close_bench(struct bench *bench) {
  reconstructor_close(&bench->reconstructor);
  simulation_close(&bench->brute);
  simulation_close(&bench->simulation);
  arena_close(bench->arena);
}

/* actions[step][slice] */
static void scan(struct bench *bench, const char *name, uint32_t actions[STEPS][SLICES]) {
  struct error error;
  const struct sampler *sampler = sampler_find(name, &error);
  assert_good(sampler && simulation_set(&bench->simulation, &bench->acquisition, sampler, &error), &error);
  simulation_restart(&bench->simulation, 0, SLICES);
  simulation_episode(&bench->simulation);
  support_get(bench->simulation.world, ROLLOUT_action, SLICES, STEPS * SLICES, actions);
  assert_good(device_finish(bench->simulation.device, &error), &error);
}

/* quality[slice][line] of the masks with that line more. */
static void score_all(struct bench *bench, uint8_t mask[SLICES][N], float quality[SLICES][N]) {
  struct world *world = bench->brute.world;
  static uint8_t masks[SLICES * N][N];
  uint32_t slice[SLICES * N];
  for (uint32_t i = 0; i < SLICES * N; i++) {
    slice[i] = i / N;
    memcpy(masks[i], mask[i / N], N);
    masks[i][i % N] = 1;
  }
  support_put(world, ENV_slice, 0, SLICES * N, slice);
  support_put(world, ENV_mask, 0, SLICES * N, masks);
  bench->brute.rollout_row = 0;
  schedule_run(&bench->brute.finish, world);
  support_get(world, ENV_quality, 0, SLICES * N, quality);
}

/* The action taken is as good as the best free one, up to rounding; one before it is not. */
static void assert_best(const uint8_t *mask, const double *quality, uint32_t taken) {
  double size = 0.5; /* similarities tie by a part of 1 */
  for (uint32_t c = 0; c < N; c++) size = fmax(size, fabs(quality[c]));
  assert_true(taken < N && !mask[taken]);
  for (uint32_t c = 0; c < N; c++)
    if (!mask[c] && quality[c] > quality[taken] + 1e-5 * size)
      fail_msg("line %u with %.9g is taken; line %u has %.9g", taken, quality[taken], c, quality[c]);
}

static void check_scan(struct bench *bench, bool together) {
  uint8_t mask[SLICES][N] = {{0}};
  uint32_t actions[STEPS][SLICES];
  static float quality[SLICES][N];
  scan(bench, together ? "average_oracle" : "oracle", actions);
  for (size_t s = 0; s < SLICES; s++) acquisition_initial(&bench->acquisition, mask[s]);
  for (size_t t = 0; t < STEPS; t++) {
    double own[SLICES][N], mean[N] = {0};
    score_all(bench, mask, quality);
    for (size_t i = 0; i < SLICES * N; i++) {
      own[i / N][i % N] = (double)quality[i / N][i % N];
      mean[i % N] += (double)quality[i / N][i % N] / SLICES;
    }
    for (size_t s = 0; s < SLICES; s++) {
      assert_best(mask[s], together ? mean : own[s], actions[t][s]);
      if (together) assert_int_equal(actions[t][s], actions[t][0]);
      mask[s][actions[t][s]] = 1;
    }
  }
}

/* A metric of the program's own has no function here, and those of a classifier no network. */
static bool is_own(size_t metric) {
  return !strcmp(metric_list[metric].name, "callback") || metric == METRIC_LOG_LIKELIHOOD || metric == METRIC_CROSS_ENTROPY ||
         metric == METRIC_ACCURACY || metric == METRIC_AUC;
}

static void takes_the_best_line(void **state) {
  for (size_t metric = 0; metric < METRICS; metric++)
    for (int network = 0; network < 2 && !is_own(metric); network++) {
      struct bench bench;
      open_bench(&bench, *state, network, metric, 16);
      check_scan(&bench, false);
      check_scan(&bench, true);
      close_bench(&bench);
    }
}

/* Candidates of spokes are observed one by one. */
static void takes_the_best_spoke(void **state) {
  for (int network = 0; network < 2; network++) {
    struct bench bench;
    open_geometry(&bench, *state, GEOMETRY_SPOKES, network, 0, 16);
    check_scan(&bench, false);
    check_scan(&bench, true);
    close_bench(&bench);
  }
}

/* However many candidates are scored at a time; a step allocates nothing. */
static void does_not_depend_on_the_batch(void **state) {
  static const uint32_t batches[] = {1, 7, 200};
  uint32_t actions[3][STEPS][SLICES];
  for (int k = 0; k < 3; k++) {
    struct bench bench;
    open_bench(&bench, *state, true, 0, batches[k]);
    scan(&bench, "oracle", actions[k]);
    uint64_t allocations = bench.simulation.device->allocations, bytes = bench.simulation.device->bytes;
    scan(&bench, "oracle", actions[k]);
    assert_int_equal(bench.simulation.device->allocations, allocations);
    assert_int_equal(bench.simulation.device->bytes, bytes);
    close_bench(&bench);
  }
  assert_memory_equal(actions[0], actions[1], sizeof actions[0]);
  assert_memory_equal(actions[0], actions[2], sizeof actions[0]);
}

/* The oracle takes the best of some candidates: a better image than a line at random gives, no better than
 * the best of all. */
static void takes_the_best_of_some(void **state) {
  struct bench bench;
  float ssim[3][SLICES];
  double mean[3] = {0};
  uint32_t actions[STEPS][SLICES];
  static const uint32_t candidates[] = {1, 8, 0};
  open_bench(&bench, *state, false, 0, 64);
  for (int k = 0; k < 3; k++) {
    bench.options.sampler.candidates = candidates[k];
    scan(&bench, "oracle", actions);
    support_get(bench.simulation.world, ENV_ssim, 0, SLICES, ssim[k]);
    for (size_t s = 0; s < SLICES; s++) mean[k] += (double)ssim[k][s] / SLICES;
  }
  print_message("mean SSIM of 1, 8 and all candidates: %.4f, %.4f, %.4f\n", mean[0], mean[1], mean[2]);
  assert_true(mean[0] < mean[1] && mean[1] < mean[2] + 1e-6);
  bench.options.sampler.candidates = 8;
  scan(&bench, "average_oracle", actions);
  for (size_t t = 0; t < STEPS; t++)
    for (size_t s = 1; s < SLICES; s++) assert_int_equal(actions[t][s], actions[t][0]);
  close_bench(&bench);
}

/* The oracle takes the first of equal candidates: a constant image is as good with any line. */
static void takes_the_first_of_equals(void **state) {
  struct bench bench;
  struct error error;
  static float image[N * N];
  uint32_t actions[STEPS][SLICES];
  open_bench(&bench, *state, false, 0, 64);
  for (size_t i = 0; i < N * N; i++) image[i] = 0;
  for (size_t s = 0; s < SLICES; s++) support_put(bench.simulation.world, SLICE_image, s, 1, image);
  assert_good(transform_rows(bench.simulation.world, 0, SLICES, &error), &error);
  scan(&bench, "oracle", actions);
  for (size_t t = 0; t < STEPS; t++)
    for (size_t s = 0; s < SLICES; s++) assert_int_equal(actions[t][s], t);
  close_bench(&bench);
}

/* Another image in every slice and with every seed. */
static void fill_images(struct bench *bench, uint32_t seed) {
  struct random random;
  static float image[N * N];
  struct error error;
  random_start(&random, seed, STREAM_ORDER, 0);
  for (size_t s = 0; s < SLICES; s++) {
    for (size_t i = 0; i < N * N; i++) {
      double x = (double)(i % N) - N / 2.0, y = (double)(i / N) - N / 2.0;
      image[i] = (float)(2 * exp(-(x * x + 2 * y * y) / (40 + 20 * (double)s)) + random_uniform(&random));
    }
    support_put(bench->simulation.world, SLICE_image, s, 1, image);
    support_put(bench->brute.world, SLICE_image, s, 1, image);
  }
  assert_good(transform_rows(bench->simulation.world, 0, SLICES, &error), &error);
  assert_good(transform_rows(bench->brute.world, 0, SLICES, &error), &error);
}

/* How much float32 parts lines that mirror each other, of which each adds the conjugate of what the other
 * does. */
static double gap_of_mirrored(struct bench *bench) {
  static float quality[SLICES][N];
  uint8_t mask[SLICES][N];
  double most = 0, least = metric_list[bench->options.reward.metric].sign > 0;
  for (size_t s = 0; s < SLICES; s++) acquisition_initial(&bench->acquisition, mask[s]);
  score_all(bench, mask, quality);
  for (size_t s = 0; s < SLICES; s++)
    for (size_t c = 1; c < N / 2; c++)
      most = fmax(most,
                  fabs((double)quality[s][c] - quality[s][N - c]) / fmax(fabs((double)quality[s][c]), least));
  return most;
}

/* Of a real image and a mask that mirrors itself: the first of two lines is taken, whatever float32 makes of
 * them. */
static void takes_the_lower_of_mirrored_lines(void **state) {
  for (size_t metric = 0; metric < METRICS; metric++)
    for (int network = 0; network < 2 && !is_own(metric); network++) {
      struct bench bench;
      double gap = 0;
      uint32_t actions[STEPS][SLICES];
      open_bench(&bench, *state, network, metric, 64);
      bench.acquisition.budget = 1; /* the mask of later steps mirrors itself no more */
      for (uint32_t seed = 0; seed < 8; seed++) {
        fill_images(&bench, seed);
        gap = fmax(gap, gap_of_mirrored(&bench));
        for (int together = 0; together < 2; together++) {
          scan(&bench, together ? "average_oracle" : "oracle", actions);
          for (size_t s = 0; s < SLICES; s++)
            if (actions[0][s] >= N / 2)
              fail_msg("%s, seed %u: line %u is taken, and %u is as good", metric_list[metric].name, seed,
                       actions[0][s], N - actions[0][s]);
        }
      }
      print_message("%s%s: mirrored lines are %.2g apart\n", metric_list[metric].name,
                    network ? " of a network" : "", gap);
      assert_true(gap < 0x1p-20); /* a quarter of what ties */
      close_bench(&bench);
    }
}

/* PROTOCOL 4: 3094 and 1672 reconstructions a slice for knee x4 Long and Base. */
static void counts_its_candidates(void **state) {
  struct arena *arena = arena_open();
  struct options options;
  struct acquisition acquisition;
  struct error error;
  (void)state;
  option_defaults(&option_table, &options, arena);
  assert_good(acquisition_plan(&acquisition, &options, 4, "long", &error), &error);
  assert_int_equal(oracle_candidates(&options, &acquisition), 3094);
  assert_good(acquisition_plan(&acquisition, &options, 4, "base", &error), &error);
  assert_int_equal(oracle_candidates(&options, &acquisition), 1672);
  options.sampler.candidates = 20;
  assert_int_equal(oracle_candidates(&options, &acquisition), 16 * 20);
  arena_close(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_the_best_line),    cmocka_unit_test(does_not_depend_on_the_batch),
      cmocka_unit_test(takes_the_best_of_some), cmocka_unit_test(takes_the_first_of_equals),
      cmocka_unit_test(counts_its_candidates),  cmocka_unit_test(takes_the_lower_of_mirrored_lines),
      cmocka_unit_test(takes_the_best_spoke),
  };
  return cmocka_run_group_tests_name("oracle", tests, support_open_device, support_close_device);
}
