/* PG-MRI's estimators on a scan so short that all its trajectories can be counted: their expectation is the
 * gradient of the exact return, the baseline makes them less noisy, and updates raise the return. */
#include "engine/graph/optimise.h"
#include "kernels/kernels.h"
#include "systems/methods/trajectories.h"
#include "systems/scan/load.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum {
  N = 32,
  FREE = 4,
  INITIAL = N - FREE,
  STEPS = 2,
  BATCH = 4,
  MINIBATCHES = 4,
  MOST = BATCH * MINIBATCHES
};
enum { PSNR = 2 }; /* its row in metric_list */
enum { STATES = 1 + FREE, PAIRS = FREE * (FREE - 1), DRAWS_MOST = 5 };

static const double gamma_ = 0.7;

struct bench {
  struct arena *arena;
  struct options options;
  struct acquisition acquisition;
  struct simulation simulation;
  struct policy policy;
  struct trajectories trajectories;
  struct schedule play, gradient_list;
  size_t elements;
  float *gradient;
  uint32_t next; /* slice number */
};

struct config {
  bool greedy, no_baseline;
  size_t draws, batch, slices; /* numbers of the policy's passes; slices of the data */
  uint32_t initial, metric;    /* lines, 0: INITIAL; of the reward */
};

static void open_policy(struct bench *bench, struct device *device, size_t batch) {
  struct error error;
  struct policy_setup setup = {.device = device,
                               .kernels = bench->simulation.kernels,
                               .shape = {N, N, N},
                               .channels = 2,
                               .pools = 2,
                               .hidden = 8,
                               .batch = batch,
                               .train = true,
                               .dense = true};
  assert_good(policy_open(&bench->policy, &setup, &error), &error);
  graph_start(bench->policy.graph, 2);
  policy_changed(&bench->policy);
  bench->simulation.policy = &bench->policy;
  bench->elements = bench->policy.graph->elements;
  bench->gradient = ARENA_NEW(bench->arena, float, bench->elements);
}

static void open_list(struct bench *bench, struct schedule *list,
                      void (*fill)(struct trajectories *trajectories, struct schedule *schedule)) {
  struct error error;
  schedule_open(list, &component_schema);
  fill(&bench->trajectories, list);
  assert_good(schedule_close(list, &error), &error);
  assert_good(schedule_prepare(list, bench->simulation.kernels, &error), &error);
}

static void open_bench(struct bench *bench, struct device *device, struct config config) {
  struct error error;
  *bench = (struct bench){.arena = arena_open()};
  option_defaults(&option_table, &bench->options, bench->arena);
  bench->options.data.size = option_square(N);
  bench->options.acquisition.initial_lines = config.initial ? config.initial : INITIAL;
  bench->options.acquisition.budget = STEPS;
  bench->options.reward.form = REWARD_DENSE;
  bench->options.reward.scale = 100;
  bench->options.reward.metric = config.metric;
  bench->options.pgmri.estimator = config.greedy ? PGMRI_GREEDY : PGMRI_NONGREEDY;
  bench->options.pgmri.batch = BATCH;
  bench->options.pgmri.accumulation = MINIBATCHES;
  bench->options.pgmri.baseline = !config.no_baseline;
  bench->options.pgmri.gamma = gamma_;
  assert_good(acquisition_plan(&bench->acquisition, &bench->options, 2, "base", &error), &error);
  struct simulation_plan plan = trajectories_plan(&bench->options, config.slices, MOST, config.draws, STEPS);
  assert_good(simulation_open(&bench->simulation, device, &bench->options, &plan, &error), &error);
  assert_good(simulation_set(&bench->simulation, &bench->acquisition, &sampler_policy, &error), &error);
  support_fill_slices(bench->simulation.world, (uint32_t)config.slices);
  open_policy(bench, device, config.batch);
  bench->trajectories.simulation = &bench->simulation;
  trajectories_open(&bench->trajectories);
  open_list(bench, &bench->play, trajectories_add_play);
  open_list(bench, &bench->gradient_list, trajectories_add_gradient);
}

static void close_bench(struct bench *bench) {
  policy_close(&bench->policy);
  simulation_close(&bench->simulation);
  arena_close(bench->arena);
}

static void read_gradient(struct bench *bench) {
  struct error error;
  device_read(bench->simulation.device, bench->policy.graph->gradients, 0, sizeof(float) * bench->elements,
              bench->gradient);
  assert_good(device_finish(bench->simulation.device, &error), &error);
}

/* One estimate of the gradient, over MOST slices. */
static void estimate(struct bench *bench) {
  trajectories_play(&bench->trajectories, &bench->play, bench->next, MOST);
  bench->next += MOST;
  graph_zero_gradients(bench->policy.graph);
  schedule_run(&bench->gradient_list, bench->simulation.world);
  read_gradient(bench);
}

/* ---- the network --------------------------------------------------------------------------------------- */

static void check_count(int size, int channels, int pools, size_t expected) {
  struct error error;
  struct graph *graph;
  graph_open(&graph);
  tensor image = graph_input(graph, "observation", 1, size, size);
  net_pgmri_logits(graph, net_pgmri_maps(graph, image, channels, pools), 256, size);
  assert_good(graph_good(graph, &error), &error);
  assert_int_equal(graph_parameter_count(graph), expected);
  assert_non_null(graph_find(graph, "channel_layer.layers.0.weight"));
  assert_non_null(graph_find(graph, "down_sample_layers.3.layers.0.bias"));
  assert_int_equal(graph_find(graph, "fc_out.4.weight")->count, size * 256);
  graph_close(graph);
}

/* PROTOCOL 2: knee and brain. */
static void has_its_parameters(void **state) {
  (void)state;
  check_count(128, 16, 4, 4685568);
  check_count(256, 8, 5, 4719552);
}

/* A checkpoint says whose policy it is, and gives the same logits again. */
static void comes_back_from_a_file(void **state) {
  struct bench bench;
  struct folder folder;
  struct store *store;
  struct policy again;
  struct error error;
  float logits[2][MOST * N];
  bool dense = false;
  support_open_folder(&folder);
  open_bench(&bench, *state, (struct config){.draws = 2, .batch = MOST, .slices = 6});
  assert_good(store_create(&store, support_path(&folder, "a.h5"), &error), &error);
  assert_good(policy_write(&bench.policy, store, &error) && store_commit(store, &error), &error);
  assert_good(policy_is_dense(support_path(&folder, "a.h5"), &dense, &error), &error);
  assert_true(dense);
  struct policy_setup setup = {
      .device = *state, .kernels = bench.simulation.kernels, .shape = {N, N, N}, .batch = MOST};
  assert_good(policy_load(&again, support_path(&folder, "a.h5"), &setup, &error), &error);
  estimate(&bench);
  struct policy *both[] = {&bench.policy, &again};
  for (int k = 0; k < 2; k++) {
    device_copy(*state, world_memory(bench.simulation.world, STATE_observation), 0, both[k]->input, 0, sizeof(float) * N * N * MOST);
    path_forward(&both[k]->network.path, MOST);
    device_read(*state, both[k]->logits, 0, sizeof logits[k], logits[k]);
  }
  assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
  policy_close(&again);
  setup.shape = (struct scan_shape){.height = 2 * N, .width = 2 * N, .actions = 2 * N};
  assert_false(policy_load(&again, support_path(&folder, "a.h5"), &setup, &error));
  assert_holds(error.text, "it was trained with data.size 32 (attribute network_size), and data.size is 64");
  close_bench(&bench);
  support_close_folder(&folder);
}

/* ---- the exact expectation ----------------------------------------------------------------------------- */

/* The states of a scan of slice 0: none of the free lines, one, two; in that order. */
struct exact {
  uint32_t line[FREE];
  float quality[STATES + FREE * FREE]; /* the last: [first][second] */
  double chance[STATES][FREE];         /* chance of a free line in the states with a decision */
};

static void present_states(struct bench *bench, struct exact *exact) {
  struct world *world = bench->simulation.world;
  static uint8_t mask[STATES + FREE * FREE][N];
  enum { ALL = STATES + FREE * FREE };
  uint32_t none[ALL] = {0};
  uint8_t first[N] = {0};
  size_t found = 0;
  memset(first + bench->acquisition.initial_start, 1, INITIAL);
  for (uint32_t c = 0; c < N; c++)
    if (!first[c]) exact->line[found++] = c;
  for (size_t i = 0; i < ALL; i++) {
    memcpy(mask[i], first, N);
    if (i >= STATES)
      mask[i][exact->line[(i - STATES) / FREE]] = mask[i][exact->line[(i - STATES) % FREE]] = 1;
    if (i > 0 && i < STATES) mask[i][exact->line[i - 1]] = 1;
  }
  world_set_rows(world, TABLE_ENV, ALL);
  support_fill(world, ENV_done, 0); /* reset leaves them alone */
  support_put(world, ENV_slice, 0, ALL, none);
  support_put(world, ENV_mask, 0, ALL, mask);
  schedule_run(&bench->simulation.begin, world);
  support_get(world, ENV_quality, 0, ALL, exact->quality);
  for (size_t i = 0; i < ALL; i++) exact->quality[i] *= (float)bench->options.reward.scale;
}

static void see_states(struct bench *bench, struct exact *exact) {
  struct world *world = bench->simulation.world;
  float logits[STATES][N];
  kernel_run(world_kernels(world), "pgmri_input", STATES,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, world_memory(world, ENV_slice)),
                  graph_arg(ARG_IN, world_memory(world, ENV_reconstruction)), graph_arg(ARG_IN, world_memory(world, SLICE_mean)),
                  graph_arg(ARG_IN, world_memory(world, SLICE_std)), graph_arg(ARG_OUT, bench->policy.input), arg_u32(0)));
  kernel_run(world_kernels(world), "policy_mask", STATES,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U8, world_memory(world, ENV_mask)), graph_arg(ARG_OUT, bench->policy.mask),
                  arg_u32(0)));
  path_forward(&bench->policy.network.path, STATES);
  device_read(bench->simulation.device, bench->policy.logits, 0, sizeof logits, logits);
  for (size_t s = 0; s < STATES; s++) {
    double sum = 0;
    for (size_t a = 0; a < FREE; a++)
      sum += exact->chance[s][a] = s == a + 1 ? 0 : exp((double)logits[s][exact->line[a]]);
    for (size_t a = 0; a < FREE; a++) exact->chance[s][a] /= sum;
  }
}

static double gain_of(const struct exact *exact, size_t state, size_t a) {
  size_t next = state ? STATES + (state - 1) * FREE + a : 1 + a;
  return (double)exact->quality[next] - (double)exact->quality[state];
}

/* The value of taking line a in a state, from there on. */
static double worth(const struct exact *exact, size_t state, size_t a, bool greedy) {
  double sum = gain_of(exact, state, a);
  for (size_t b = 0; state == 0 && !greedy && b < FREE; b++)
    if (b != a) sum += gamma_ * exact->chance[a + 1][b] * gain_of(exact, a + 1, b);
  return sum;
}

/* The gradient of minus the sum over states and lines of P(state) p(line) worth(line) log p(line), the p
 * before the logarithm held fixed: what both estimators expect. */
static void expect(struct bench *bench, bool greedy) {
  struct exact exact;
  float advantage[FREE * STATES] = {0};
  uint32_t action[FREE * STATES] = {0};
  present_states(bench, &exact);
  see_states(bench, &exact);
  for (size_t s = 0; s < STATES; s++)
    for (size_t a = 0; a < FREE; a++) {
      double reached = s ? exact.chance[0][s - 1] : 1;
      action[a * STATES + s] = exact.line[s == a + 1 ? (a + 1) % FREE : a];
      if (s != a + 1)
        advantage[a * STATES + s] = (float)(reached * exact.chance[s][a] * worth(&exact, s, a, greedy));
    }
  const struct world *world = bench->simulation.world;
  const struct policy_draws draws = {.action = world_memory(world, ROLLOUT_action),
                                     .advantage = world_memory(world, ROLLOUT_advantage),
                                     .terms = world_memory(world, STATE_terms),
                                     .slices = STATES,
                                     .draws = FREE,
                                     .each = STATES,
                                     .steps = 1,
                                     .shared = true};
  device_write(bench->simulation.device, draws.action, 0, sizeof action, action);
  device_write(bench->simulation.device, draws.advantage, 0, sizeof advantage, advantage);
  graph_zero_gradients(bench->policy.graph);
  policy_reinforce(&bench->policy, &draws, 0, STATES, 1);
  policy_backward(&bench->policy, STATES);
  read_gradient(bench);
}

/* ---- the estimators ------------------------------------------------------------------------------------ */

struct moments {
  double off, variance,
      size; /* squared: distance of the mean from the exact one; one estimate's noise; exact */
};

static struct moments measure(struct device *device, struct config config, size_t estimates) {
  struct bench bench;
  struct moments moments = {0};
  open_bench(&bench, device, config);
  expect(&bench, config.greedy);
  double *exact = ARENA_NEW(bench.arena, double, bench.elements);
  double *mean = ARENA_NEW(bench.arena, double, bench.elements);
  double *square = ARENA_NEW(bench.arena, double, bench.elements);
  for (size_t i = 0; i < bench.elements; i++) exact[i] = (double)bench.gradient[i];
  for (size_t k = 0; k < estimates; k++) {
    estimate(&bench);
    for (size_t i = 0; i < bench.elements; i++) {
      mean[i] += (double)bench.gradient[i] / (double)estimates;
      square[i] += (double)bench.gradient[i] * (double)bench.gradient[i] / (double)estimates;
    }
  }
  for (size_t i = 0; i < bench.elements; i++) {
    moments.off += (mean[i] - exact[i]) * (mean[i] - exact[i]);
    moments.variance += square[i] - mean[i] * mean[i];
    moments.size += exact[i] * exact[i];
  }
  close_bench(&bench);
  return moments;
}

/* The mean of many estimates is off the exact gradient by what their noise explains, which is small beside
 * it. */
static void expectation_is_the_gradient(void **state) {
  static const struct config configs[] = {{.greedy = true, .draws = 2},
                                          {.greedy = true, .draws = 4},
                                          {.greedy = true, .draws = 3, .no_baseline = true},
                                          {.greedy = false, .draws = 2},
                                          {.greedy = false, .draws = 3}};
  for (size_t w = 0; w < sizeof configs / sizeof *configs; w++) {
    struct config config = configs[w];
    const size_t estimates = config.no_baseline ? 200 : 80;
    config.batch = 40;
    config.slices = 1;
    struct moments moments = measure(*state, config, estimates);
    double noise = moments.variance / (double)estimates;
    print_message("%s, q = %zu: off by %.3f of the gradient, noise %.3f\n",
                  config.greedy ? "greedy" : "nongreedy", config.draws, sqrt(moments.off / moments.size),
                  sqrt(noise / moments.size));
    assert_true(noise < 0.15 * 0.15 * moments.size);
    assert_true(moments.off < 4 * noise);
  }
}

static double variance_of(struct bench *bench, int estimates) {
  double *mean = ARENA_NEW(bench->arena, double, bench->elements), variance = 0;
  for (int k = 0; k < estimates; k++) {
    estimate(bench);
    for (size_t i = 0; i < bench->elements; i++) {
      double value = (double)bench->gradient[i];
      variance += value * value / estimates;
      mean[i] += value / estimates;
    }
  }
  for (size_t i = 0; i < bench->elements; i++) variance -= mean[i] * mean[i];
  return variance;
}

/* The baseline takes away what all lines gain together, which says nothing of one of them: of PSNR most. */
static void the_baseline_reduces_variance(void **state) {
  double variance[2];
  struct config config = {
      .greedy = true, .draws = 8, .batch = 32, .slices = 1, .initial = 14, .metric = PSNR};
  for (int without = 0; without < 2; without++) {
    struct bench bench;
    config.no_baseline = without;
    open_bench(&bench, *state, config);
    variance[without] = variance_of(&bench, 40);
    close_bench(&bench);
  }
  print_message("variance of an estimate %.4g with the baseline, %.4g without\n", variance[0], variance[1]);
  assert_true(variance[0] < 0.25 * variance[1]);
}

static void gradient_is_of_the_loss_in(struct device *device, struct config config) {
  struct bench bench;
  double norm = 0, loss[2] = {0};
  const double reach = 1e-4;
  open_bench(&bench, device, config);
  float *values = ARENA_NEW(bench.arena, float, bench.elements);
  float *moved = ARENA_NEW(bench.arena, float, bench.elements);
  float *terms = ARENA_NEW(bench.arena, float, 2 * DRAWS_MOST * MOST * STEPS);
  struct graph *graph = bench.policy.graph;
  estimate(&bench);
  size_t images = trajectories_images(&bench.trajectories);
  device_read(bench.simulation.device, graph->values, 0, sizeof(float) * bench.elements, values);
  float *way = ARENA_NEW(bench.arena, float, bench.elements);
  memcpy(way, bench.gradient, sizeof(float) * bench.elements);
  for (size_t i = 0; i < bench.elements; i++) norm += (double)way[i] * (double)way[i];
  norm = sqrt(norm);
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < bench.elements; i++)
      moved[i] = (float)((double)values[i] + (side ? reach : -reach) * (double)way[i] / norm);
    device_write(bench.simulation.device, graph->values, 0, sizeof(float) * bench.elements, moved);
    policy_changed(&bench.policy);
    schedule_run(&bench.gradient_list, bench.simulation.world);
    support_get(bench.simulation.world, STATE_terms, 0, images, terms);
    for (size_t i = 0; i < images; i++) loss[side] += (double)terms[2 * i];
  }
  double slope = (loss[1] - loss[0]) / (2 * reach);
  print_message("slope %.6g by differences, %.6g by the gradient\n", slope, norm);
  assert_true(fabs(slope - norm) < 0.01 * norm && norm > 0);

  close_bench(&bench);
}

/* Central differences of the whole along the gradient: from all parameters through the draws of all steps. */
static void gradient_is_of_the_loss(void **state) {
  for (int greedy = 0; greedy < 2; greedy++)
    gradient_is_of_the_loss_in(*state,
                               (struct config){.greedy = greedy, .draws = 5, .batch = 7, .slices = 6});
}

/* ---- trajectories -------------------------------------------------------------------------------------- */

static void read_rollout(struct bench *bench, unsigned column, size_t draws, void *to) {
  struct error error;
  support_get(bench->simulation.world, column, 0, STEPS * MOST * draws, to);
  assert_good(device_finish(bench->simulation.device, &error), &error);
}

/* Lines are free when they are drawn. greedy: all draws of a slice go on from the same successor, whose index
 * is the same in a minibatch, but not in all. */
static void greedy_goes_on_from_one(void **state) {
  enum { DRAWS = 4, ROWS = MOST * DRAWS };
  struct bench bench;
  static uint32_t action[STEPS][DRAWS][MOST];
  static uint8_t mask[DRAWS][MOST][N];
  unsigned seen = 0;
  open_bench(&bench, *state, (struct config){.greedy = true, .draws = DRAWS, .batch = 5, .slices = 6});
  for (int play = 0; play < 8; play++) {
    estimate(&bench);
    read_rollout(&bench, ROLLOUT_action, DRAWS, action);
    support_get(bench.simulation.world, ENV_mask, 0, ROWS, mask);
    for (size_t first = 0; first < MOST; first += BATCH) {
      unsigned possible = (1u << DRAWS) - 1; /* indices that explain all masks of the minibatch */
      for (size_t s = first; s < first + BATCH; s++)
        for (unsigned i = 0; i < DRAWS; i++)
          for (unsigned d = 0; d < DRAWS; d++)
            if (!mask[d][s][action[0][i][s]]) possible &= ~(1u << i);
      assert_true(possible);
      if (!(possible & (possible - 1))) seen |= possible;
    }
    for (size_t s = 0; s < MOST; s++)
      for (size_t d = 0; d < DRAWS; d++) {
        unsigned lines = 0;
        for (size_t c = 0; c < N; c++) lines += mask[d][s][c];
        assert_int_equal(lines, INITIAL + STEPS);
        assert_int_equal(mask[d][s][action[1][d][s]], 1);
      }
  }
  assert_true(seen & (seen - 1));
  close_bench(&bench);
}

/* Draws and rewards are the same, and the gradient nearly, however many images pass through the policy at a
 * time; a play allocates nothing. */
static void results_do_not_depend_on_the_batch(void **state) {
  enum { DRAWS = 3 };
  static uint32_t action[2][STEPS * MOST * DRAWS];
  static float reward[2][STEPS * MOST * DRAWS];
  for (int greedy = 0; greedy < 2; greedy++) {
    struct bench bench[2];
    double apart = 0, size = 0;
    for (int k = 0; k < 2; k++) {
      open_bench(&bench[k], *state,
                 (struct config){.greedy = greedy, .draws = DRAWS, .batch = k ? 7 : 200, .slices = 6});
      estimate(&bench[k]);
      uint64_t allocations = bench[k].simulation.device->allocations;
      estimate(&bench[k]);
      assert_int_equal(bench[k].simulation.device->allocations, allocations);
      read_rollout(&bench[k], ROLLOUT_action, DRAWS, action[k]);
      read_rollout(&bench[k], ROLLOUT_reward, DRAWS, reward[k]);
    }
    assert_memory_equal(action[0], action[1], sizeof action[0]);
    assert_memory_equal(reward[0], reward[1], sizeof reward[0]);
    for (size_t i = 0; i < bench[0].elements; i++) {
      double gap = (double)bench[0].gradient[i] - (double)bench[1].gradient[i];
      apart += gap * gap;
      size += (double)bench[0].gradient[i] * (double)bench[0].gradient[i];
    }
    assert_true(size > 0 && apart < 1e-8 * size);
    for (int k = 0; k < 2; k++) close_bench(&bench[k]);
  }
}

/* The last update of an epoch has fewer slices, its last minibatch too: they draw and gain as they would
 * among others, and weigh as the mean over fewer. */
static void short_updates_are_parts(void **state) {
  enum { DRAWS = 3, FEW = BATCH + 2 };
  static uint32_t action[STEPS][DRAWS][MOST], few_action[STEPS][DRAWS][FEW];
  static float advantage[STEPS][DRAWS][MOST], few_advantage[STEPS][DRAWS][FEW];
  for (int greedy = 0; greedy < 2; greedy++) {
    struct bench bench;
    open_bench(&bench, *state, (struct config){.greedy = greedy, .draws = DRAWS, .batch = 64, .slices = 20});
    struct world *world = bench.simulation.world;
    trajectories_play(&bench.trajectories, &bench.play, 0, MOST);
    support_get(world, ROLLOUT_action, 0, STEPS * DRAWS * MOST, action);
    support_get(world, ROLLOUT_advantage, 0, STEPS * DRAWS * MOST, advantage);
    trajectories_play(&bench.trajectories, &bench.play, 0, FEW);
    assert_int_equal(trajectories_images(&bench.trajectories),
                     FEW + (STEPS - 1) * FEW * (greedy ? 1 : DRAWS));
    support_get(world, ROLLOUT_action, 0, STEPS * DRAWS * FEW, few_action);
    support_get(world, ROLLOUT_advantage, 0, STEPS * DRAWS * FEW, few_advantage);
    for (size_t t = 0; t < STEPS; t++)
      for (size_t d = 0; d < DRAWS; d++)
        for (size_t s = 0; s < FEW; s++) {
          double share = s < BATCH ? 1 : BATCH / 2.0, expected = share * (double)advantage[t][d][s];
          assert_int_equal(few_action[t][d][s], action[t][d][s]);
          assert_true(fabs((double)few_advantage[t][d][s] - expected) <= 1e-5 * fabs(expected));
        }
    close_bench(&bench);
  }
}

/* The rewards of a trajectory add up to what it gained; those of the first draws are of one state. */
static void rewards_are_gains(void **state) {
  enum { DRAWS = 3 };
  struct bench bench;
  static float reward[STEPS][DRAWS][MOST], last[DRAWS][MOST];
  struct exact exact;
  open_bench(&bench, *state, (struct config){.draws = DRAWS, .batch = 30, .slices = 1});
  present_states(&bench, &exact);
  estimate(&bench);
  read_rollout(&bench, ROLLOUT_reward, DRAWS, reward);
  support_get(bench.simulation.world, ENV_quality, 0, DRAWS * MOST, last);
  for (size_t d = 0; d < DRAWS; d++)
    for (size_t s = 0; s < MOST; s++) {
      double sum = (double)reward[0][d][s] + (double)reward[1][d][s];
      assert_true(fabs(sum - (100 * (double)last[d][s] - (double)exact.quality[0])) < 1e-3);
    }
  close_bench(&bench);
}

/* Adam on the estimates raises the return of either estimator. */
static void a_policy_learns(void **state) {
  enum { DRAWS = 4, UPDATES = 60, LATE = 20 };
  static float reward[STEPS * MOST * DRAWS];
  for (int greedy = 0; greedy < 2; greedy++) {
    struct bench bench;
    struct error error;
    struct optimiser optimiser;
    struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, 3e-3);
    double mean[2] = {0};
    open_bench(&bench, *state,
               (struct config){.greedy = greedy, .draws = DRAWS, .batch = 64, .slices = 4, .initial = 3});
    assert_good(optimise_open(&optimiser, bench.policy.graph, &adam, &error), &error);
    for (int i = 0; i < UPDATES; i++) {
      estimate(&bench);
      optimise_step(&optimiser);
      policy_changed(&bench.policy);
      read_rollout(&bench, ROLLOUT_reward, DRAWS, reward);
      for (size_t k = 0; k < STEPS * MOST * DRAWS && (i < LATE || i >= UPDATES - LATE); k++)
        mean[i >= LATE] += (double)reward[k] / (LATE * MOST * DRAWS);
    }
    print_message("%s: mean return of the first updates %.3f, of the last %.3f\n",
                  greedy ? "greedy" : "nongreedy", mean[0], mean[1]);
    assert_true(mean[1] > mean[0] + 1);
    optimise_close(&optimiser);
    close_bench(&bench);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(has_its_parameters),
      cmocka_unit_test(comes_back_from_a_file),
      cmocka_unit_test(short_updates_are_parts),
      cmocka_unit_test(rewards_are_gains),
      cmocka_unit_test(greedy_goes_on_from_one),
      cmocka_unit_test(results_do_not_depend_on_the_batch),
      cmocka_unit_test(gradient_is_of_the_loss),
      cmocka_unit_test(expectation_is_the_gradient),
      cmocka_unit_test(the_baseline_reduces_variance),
      cmocka_unit_test(a_policy_learns),
  };
  return cmocka_run_group_tests_name("pgmri", tests, support_open_device, support_close_device);
}
