/* Rollouts of a policy: budgets, rewards, advantages, and the same observations once more when it learns. */
#include "engine/graph/optimise.h"
#include "kernels/kernels.h"
#include "systems/methods/rollout.h"
#include "systems/scan/load.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum {
  N = 32,
  SLICES = 7,
  INITIAL = 3,
  STEPS = N / 4 - INITIAL,
  SCANS_MOST = 30,
  ROWS_MOST = STEPS * SCANS_MOST
};

struct bench {
  struct arena *arena;
  struct options options;
  struct simulation simulation;
  struct policy policy;
  struct rollout rollout;
  struct schedule list; /* its play */
  uint32_t played; /* rollouts */
};

static void open_policy(struct bench *bench, struct device *device, size_t batch) {
  struct error error;
  struct policy_setup setup = {.device = device,
                               .kernels = bench->simulation.kernels,
                               .shape = {N, N, N},
                               .channels = 2,
                               .pools = 2,
                               .hidden = 16,
                               .batch = batch,
                               .train = true};
  assert_good(policy_open(&bench->policy, &setup, &error), &error);
  graph_start(bench->policy.graph, 1);
  policy_changed(&bench->policy);
  bench->simulation.policy = &bench->policy;
}

/* `launch` scans at a time. */
static void open_setup(struct bench *bench, struct device *device, const struct rollout *wanted,
                       size_t batch, enum reward_form form) {
  size_t scans = wanted->scans, launch = wanted->launch;
  struct error error;
  struct acquisition acquisition;
  *bench = (struct bench){.arena = arena_open()};
  option_defaults(&option_table, &bench->options, bench->arena);
  bench->options.data.size = option_square(N);
  bench->options.acquisition.initial_lines = INITIAL;
  bench->options.reward.form = form;
  bench->options.reward.scale = 100;
  assert_good(acquisition_plan(&acquisition, &bench->options, 4, "base", &error), &error);
  assert_int_equal(acquisition.budget, STEPS);
  struct simulation_plan plan =
      rollout_plan(&bench->options, SLICES, launch > batch ? launch : batch, scans * STEPS);
  assert_good(simulation_open(&bench->simulation, device, &bench->options, &plan, &error), &error);
  assert_good(simulation_set(&bench->simulation, &acquisition, &sampler_policy, &error), &error);
  support_fill_slices(bench->simulation.world, SLICES);
  open_policy(bench, device, batch);
  bench->rollout = *wanted;
  bench->rollout.simulation = &bench->simulation;
  rollout_open(&bench->rollout);
  schedule_open(&bench->list, &component_schema);
  rollout_add_play(&bench->rollout, &bench->list, NULL);
  assert_good(schedule_close(&bench->list, &error), &error);
  assert_good(schedule_prepare(&bench->list, bench->simulation.kernels, &error), &error);
}

static void open_launches(struct bench *bench, struct device *device, size_t scans, size_t launch,
                          size_t batch, enum reward_form form) {
  struct rollout setup = {.scans = scans, .launch = launch, .gamma = 0.9, .lambda = 0.95};
  open_setup(bench, device, &setup, batch, form);
}

static void open_bench(struct bench *bench, struct device *device, size_t scans, size_t batch,
                       enum reward_form form) {
  open_launches(bench, device, scans, scans, batch, form);
}

static void close_bench(struct bench *bench) {
  policy_close(&bench->policy);
  simulation_close(&bench->simulation);
  arena_close(bench->arena);
}

static void play(struct bench *bench) {
  struct error error;
  rollout_play(&bench->rollout, &bench->list, bench->played++ * (uint32_t)bench->rollout.scans);
  assert_good(device_finish(bench->simulation.device, &error), &error);
}

static void run_list(struct bench *bench, void (*fill)(struct rollout *rollout, struct schedule *schedule)) {
  struct schedule *schedule = ARENA_NEW(bench->arena, struct schedule, 1);
  struct error error;
  schedule_open(schedule, &component_schema);
  fill(&bench->rollout, schedule);
  assert_good(schedule_close(schedule, &error), &error);
  assert_good(schedule_prepare(schedule, bench->simulation.kernels, &error), &error);
  schedule_run(schedule, bench->simulation.world);
}

static void normalise(struct bench *bench, size_t most) {
  bench->rollout.most = most;
  run_list(bench, rollout_add_normalise);
}

/* Of the order's rows [first, first + count). */
static void add_gradient(struct bench *bench, size_t first, size_t count) {
  bench->rollout.first = first;
  bench->rollout.count = count;
  run_list(bench, rollout_add_gradient);
}

static const void *read_rows(struct bench *bench, unsigned component) {
  uint32_t *words = ARENA_NEW(bench->arena, uint32_t, ROWS_MOST);
  support_get(bench->simulation.world, component, 0, bench->rollout.rows, words);
  return words;
}

/* Every action is a line that was free; what is acquired is what was chosen. */
static void budgets_are_exact(void **state) {
  struct bench bench;
  uint8_t mask[11][N];
  open_bench(&bench, *state, 11, 4, REWARD_SPARSE);
  for (int round = 0; round < 2; round++) {
    play(&bench);
    const uint32_t *action = read_rows(&bench, ROLLOUT_action), *done = read_rows(&bench, ROLLOUT_done);
    const uint32_t *slice = read_rows(&bench, ROLLOUT_slice);
    support_get(bench.simulation.world, ENV_mask, 0, 11, mask);
    for (size_t e = 0; e < 11; e++) {
      unsigned lines = 0, chosen = 0;
      for (int c = 0; c < N; c++) lines += mask[e][c];
      for (size_t t = 0; t < STEPS; t++) {
        chosen += mask[e][action[t * 11 + e]]--; /* each once */
        assert_int_equal(done[t * 11 + e], t == STEPS - 1);
        assert_int_equal(slice[t * 11 + e], ((size_t)round * 11 + e) % SLICES);
      }
      assert_int_equal(lines, N / 4);
      assert_int_equal(chosen, STEPS);
    }
  }
  close_bench(&bench);
}

/* Sparse: 100 S at the end. Dense and compat: in sum 100 times the gain over the initial lines. */
static void rewards_are_as_defined(void **state) {
  struct bench bench[3];
  const float *reward[3], *ssim = NULL;
  const enum reward_form forms[] = {REWARD_SPARSE, REWARD_DENSE, REWARD_COMPAT};
  for (int f = 0; f < 3; f++) {
    open_bench(&bench[f], *state, 6, 6, forms[f]);
    play(&bench[f]);
    play(&bench[f]); /* what earlier scans have left does not matter */
    reward[f] = read_rows(&bench[f], ROLLOUT_reward);
    if (f == 0) ssim = read_rows(&bench[f], ROLLOUT_ssim);
  }
  for (size_t e = 0; e < 6; e++) {
    double sum[3] = {0};
    for (int f = 0; f < 3; f++)
      for (size_t t = 0; t < STEPS; t++) sum[f] += (double)reward[f][t * 6 + e];
    size_t last = (STEPS - 1) * 6 + e;
    assert_true(fabs((double)reward[0][last] - 100 * (double)ssim[last]) < 1e-4);
    assert_true(reward[0][e] == 0 && reward[2][6 + e] == 0);
    assert_true(reward[2][last] == reward[0][last] && reward[2][e] < 0);
    assert_true(fabs(sum[1] - sum[2]) < 1e-3);
    assert_true(fabs(sum[0] + (double)reward[2][e] - sum[2]) < 1e-3);
  }
  for (int f = 0; f < 3; f++) close_bench(&bench[f]);
}

static void advantages_are_as_defined(void **state) {
  struct bench bench;
  open_bench(&bench, *state, 5, 5, REWARD_COMPAT);
  play(&bench);
  const float *reward = read_rows(&bench, ROLLOUT_reward), *value = read_rows(&bench, ROLLOUT_value);
  const float *advantage = read_rows(&bench, ROLLOUT_advantage), *target = read_rows(&bench, ROLLOUT_return);
  for (size_t e = 0; e < 5; e++) {
    double sum = 0, next = 0;
    for (size_t t = STEPS; t-- > 0;) {
      size_t i = t * 5 + e;
      sum = (double)reward[i] + 0.9 * next - (double)value[i] + 0.9 * 0.95 * sum;
      next = (double)value[i];
      assert_true(fabs(sum - (double)advantage[i]) < 1e-3);
      assert_true(fabs(sum + next - (double)target[i]) < 1e-3);
    }
  }
  close_bench(&bench);
}

/* Scans in a row share a slice, in launches that split groups too, and draw for themselves. */
static void scans_of_a_group_share_a_slice(void **state) {
  enum { SCANS = 12, GROUP = 3 };
  struct rollout setup = {.scans = SCANS, .launch = 5, .gamma = 1, .lambda = 1, .group.members = GROUP};
  struct bench bench;
  open_setup(&bench, *state, &setup, 5, REWARD_SPARSE);
  for (size_t round = 0; round < 3; round++) {
    size_t differ = 0;
    play(&bench);
    const uint32_t *slice = read_rows(&bench, ROLLOUT_slice), *action = read_rows(&bench, ROLLOUT_action);
    for (size_t i = 0; i < STEPS * SCANS; i++) {
      size_t first = i / GROUP * GROUP;
      assert_int_equal(slice[i], (round * SCANS + i % SCANS) / GROUP % SLICES);
      differ += action[i] != action[first];
    }
    assert_true(differ > STEPS * SCANS / 3);
  }
  close_bench(&bench);
}

/* Against the other scans of the slice, on the host: without a critic, and with one. */
static void check_group(struct bench *bench, bool critic) {
  enum { SCANS = 12, GROUP = 4 };
  const float *reward = read_rows(bench, ROLLOUT_reward), *value = read_rows(bench, ROLLOUT_value);
  const float *advantage = read_rows(bench, ROLLOUT_advantage), *target = read_rows(bench, ROLLOUT_return);
  for (size_t e = 0; e < SCANS; e++) {
    double sum = 0, next = 0, lambda = critic ? 0.95 : 1;
    for (size_t t = STEPS; t-- > 0;) {
      size_t i = t * SCANS + e, first = i - e % GROUP;
      double others = -(double)reward[i], estimate = critic ? (double)value[i] : 0;
      for (size_t k = 0; k < GROUP; k++) others += (double)reward[first + k];
      sum = (double)reward[i] - others / (GROUP - 1) + 0.9 * next - estimate + 0.9 * lambda * sum;
      next = estimate;
      assert_true(fabs(sum - (double)advantage[i]) < 1e-3);
      assert_true(fabs(sum + estimate - (double)target[i]) < 1e-3);
    }
  }
}

static void groups_are_the_baseline(void **state) {
  static const enum reward_form forms[] = {REWARD_SPARSE, REWARD_COMPAT};
  for (int k = 0; k < 4; k++) {
    bool critic = k / 2;
    struct bench bench;
    struct rollout setup = {.scans = 12,
                            .launch = 12,
                            .gamma = 0.9,
                            .lambda = 0.95,
                            .group.members = 4,
                            .baseline = critic ? BASELINE_GROUP_CRITIC : BASELINE_GROUP};
    open_setup(&bench, *state, &setup, 12, forms[k % 2]);
    play(&bench);
    check_group(&bench, critic);
    close_bench(&bench);
  }
}

/* What a rollout tells, of numbers that can be checked by hand: two slices of two scans, two steps. */
static void facts_are_as_defined(void **state) {
  float reward[8] = {0, 0, 0, 0, 1, 3, 7, 9}, value[8] = {0}, target[8] = {1, 3, 7, 9, 1, 3, 7, 9};
  float advantage[8] = {1, 3, 1, 3, 2, 2, 5, 7};
  uint32_t action[8] = {4, 5, 4, 5, 5, 4, 6, 6};
  double sum[N], square[N], count[N];
  uint64_t mask[4];
  struct simulation simulation = {.acquisition = {.shape = {N, N, N}}};
  struct rollout rollout = {
      .simulation = &simulation, .scans = 4, .steps = 2, .rows = 8, .group.members = 2};
  struct rollout_copy copy = {reward, value, target, advantage, action, sum, square, count, mask};
  struct rollout_facts facts = rollout_facts(&copy, &rollout);
  (void)state;
  assert_true(fabs(facts.between - 36.0 / 40) < 1e-12); /* means 2 and 8, each scan 1 beside its own */
  /* first step: 1 1 and 3 3, mean 2; second: 2, 2 and 5 7, mean 4: 4 + 22 - ... over 1 + 2, 0 + 2 over 2 + 1 */
  assert_true(fabs(facts.signal - (4 + (4 + 4 + 72 - 64)) / 3.0 / (2 / 3.0)) < 1e-12);
  assert_true(fabs(facts.explained) < 1e-12);
  assert_true(facts.distinct == 0.75); /* 4 5 and 5 4 are one mask, 4 6 and 5 6 are two */
  for (int i = 0; i < 8; i++) value[i] = target[i] - 2;
  rollout.group.members = 1;
  facts = rollout_facts(&copy, &rollout);
  assert_true(isnan(facts.between) && facts.explained == 1 && isnan(facts.distinct));
}

/* Rows in another order, in passes that do not come out even, give the values and probabilities of the
 * rollout: the observations are the same. */
static void rows_are_recalled(void **state) {
  struct bench bench;
  struct error error;
  uint32_t order[6 * STEPS];
  float terms[4 * 6 * STEPS], value[4];
  open_bench(&bench, *state, 6, 4, REWARD_SPARSE);
  play(&bench);
  const float *values = read_rows(&bench, ROLLOUT_value);
  for (uint32_t i = 0; i < 6 * STEPS; i++) order[i] = (i * 7 + 3) % (6 * STEPS);
  support_put(bench.simulation.world, ROLLOUT_order, 0, bench.rollout.rows, order);
  for (size_t first = 0; first + 4 <= 6 * STEPS; first += 4) {
    add_gradient(&bench, first, 4);
    device_read(bench.simulation.device, bench.policy.value, 0, sizeof value, value);
    for (size_t i = 0; i < 4; i++) assert_true(fabsf(value[i] - values[order[first + i]]) < 1e-5f);
  }
  add_gradient(&bench, 0, 6 * STEPS);
  support_get(bench.simulation.world, ROLLOUT_terms, 0, 6 * STEPS, terms);
  for (size_t i = 0; i < 6 * STEPS; i++) {
    assert_true(fabsf(terms[4 * i + 3]) < 1e-5f);
    assert_true(terms[4 * i + 1] > 0 && terms[4 * i + 1] < logf(N));
  }
  assert_good(device_finish(bench.simulation.device, &error), &error);
  close_bench(&bench);
}

/* Scan 3 is the same among 4 and among 30, whatever a pass takes. */
static void results_do_not_depend_on_the_number(void **state) {
  static const size_t counts[][3] = {{4, 4, 4}, {30, 30, 7}, {30, 30, 30}, {30, 7, 16}};
  uint32_t actions[4][STEPS];
  for (int k = 0; k < 4; k++) {
    struct bench bench;
    open_launches(&bench, *state, counts[k][0], counts[k][1], counts[k][2], REWARD_SPARSE);
    play(&bench);
    const uint32_t *action = read_rows(&bench, ROLLOUT_action);
    for (size_t t = 0; t < STEPS; t++) actions[k][t] = action[t * counts[k][0] + 3];
    close_bench(&bench);
  }
  for (int k = 1; k < 4; k++) assert_memory_equal(actions[0], actions[k], sizeof actions[0]);
}

/* The update is the same, to the byte, however many scans are played at a time; normalised too. */
static void updates_do_not_depend_on_the_launch(void **state) {
  float *gradients[2];
  struct bench bench[2];
  for (int k = 0; k < 2; k++) {
    struct rollout setup = {
        .scans = 30, .launch = k ? 30 : 7, .gamma = 0.9, .lambda = 0.95, .normalises = true};
    open_setup(&bench[k], *state, &setup, 16, REWARD_SPARSE);
    const struct graph *graph = bench[k].policy.graph;
    gradients[k] = ARENA_NEW(bench[k].arena, float, graph->elements);
    play(&bench[k]);
    graph_zero_gradients(bench[k].policy.graph);
    normalise(&bench[k], bench[k].rollout.rows);
    add_gradient(&bench[k], 0, bench[k].rollout.rows);
    device_read(bench[k].simulation.device, graph->gradients, 0, sizeof(float) * graph->elements,
                gradients[k]);
  }
  assert_memory_equal(gradients[0], gradients[1], sizeof(float) * bench[0].policy.graph->elements);
  for (int k = 0; k < 2; k++) close_bench(&bench[k]);
}

/* The rows that updates of 11 rows in another order learn from, on the host; the rollout's own stay as they
 * were. */
static void advantages_are_normalised_in_every_update(void **state) {
  enum { ROWS = 6 * STEPS, MOST = 11 };
  struct bench bench;
  uint32_t order[ROWS];
  float found[ROWS];
  struct rollout setup = {.scans = 6, .launch = 6, .gamma = 0.9, .lambda = 0.95, .normalises = true};
  open_setup(&bench, *state, &setup, 4, REWARD_SPARSE);
  play(&bench);
  const float *advantage = read_rows(&bench, ROLLOUT_advantage);
  for (uint32_t i = 0; i < ROWS; i++) order[i] = (i * 7 + 3) % ROWS;
  support_put(bench.simulation.world, ROLLOUT_order, 0, bench.rollout.rows, order);
  normalise(&bench, MOST);
  support_get(bench.simulation.world, ROLLOUT_normalised, 0, ROWS, found);
  for (size_t first = 0; first < ROWS; first += MOST) {
    size_t count = ROWS - first < MOST ? ROWS - first : MOST;
    double mean = 0, square = 0;
    for (size_t i = first; i < first + count; i++) mean += (double)advantage[order[i]] / (double)count;
    for (size_t i = first; i < first + count; i++) square += pow((double)advantage[order[i]] - mean, 2);
    double deviation = sqrt(square / (double)(count - 1)) + 1e-8;
    for (size_t i = first; i < first + count; i++)
      assert_true(fabs((double)found[order[i]] - ((double)advantage[order[i]] - mean) / deviation) < 1e-4);
  }
  assert_memory_equal(advantage, read_rows(&bench, ROLLOUT_advantage), sizeof found);
  close_bench(&bench);
}

/* The best line does not depend on the scan's number; steps allocate nothing. */
static void the_best_is_taken(void **state) {
  struct bench bench;
  open_bench(&bench, *state, 2 * SLICES, 5, REWARD_SPARSE);
  bench.simulation.best = true;
  play(&bench);
  uint64_t allocations = bench.simulation.device->allocations, bytes = bench.simulation.device->bytes;
  play(&bench);
  add_gradient(&bench, 0, bench.rollout.rows);
  assert_int_equal(bench.simulation.device->allocations, allocations);
  assert_int_equal(bench.simulation.device->bytes, bytes);
  const uint32_t *action = read_rows(&bench, ROLLOUT_action);
  for (size_t t = 0; t < STEPS; t++)
    for (size_t e = 0; e < SLICES; e++) {
      size_t i = t * 2 * SLICES + e;
      assert_int_equal(action[i], action[i + SLICES]);
    }
  close_bench(&bench);
}

/* Updates of A2C raise the mean reward. */
static void a_policy_learns(void **state) {
  struct bench bench;
  struct error error;
  struct optimiser optimiser;
  struct optimiser_setup rmsprop = optimise_defaults(OPTIMISER_RMSPROP, 3e-4);
  double mean[2] = {0};
  rmsprop.epsilon = 1e-5;
  rmsprop.clip = 0.5;
  open_bench(&bench, *state, SCANS_MOST, SCANS_MOST, REWARD_SPARSE);
  bench.rollout.update.value_weight = 0.5f;
  bench.rollout.update.entropy_weight = 0.03f;
  assert_good(optimise_open(&optimiser, bench.policy.graph, &rmsprop, &error), &error);
  for (int i = 0; i < 120; i++) {
    play(&bench);
    const float *reward = read_rows(&bench, ROLLOUT_reward);
    for (size_t k = 0; k < bench.rollout.rows; k++) mean[i >= 60] += (double)reward[k] / (60 * SCANS_MOST);
    graph_zero_gradients(bench.policy.graph);
    add_gradient(&bench, 0, bench.rollout.rows);
    optimise_step(&optimiser);
    policy_changed(&bench.policy);
  }
  print_message("mean reward of the first 60 updates %.3f, of the next %.3f\n", mean[0], mean[1]);
  assert_true(mean[1] > mean[0] + 0.5);
  optimise_close(&optimiser);
  close_bench(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(budgets_are_exact),
      cmocka_unit_test(rewards_are_as_defined),
      cmocka_unit_test(advantages_are_as_defined),
      cmocka_unit_test(scans_of_a_group_share_a_slice),
      cmocka_unit_test(groups_are_the_baseline),
      cmocka_unit_test(facts_are_as_defined),
      cmocka_unit_test(advantages_are_normalised_in_every_update),
      cmocka_unit_test(rows_are_recalled),
      cmocka_unit_test(the_best_is_taken),
      cmocka_unit_test(results_do_not_depend_on_the_number),
      cmocka_unit_test(updates_do_not_depend_on_the_launch),
      cmocka_unit_test(a_policy_learns),
  };
  return cmocka_run_group_tests_name("rollout", tests, support_open_device, support_close_device);
}
