/* DDQN: an update against double precision; scans in which the optimum is known, for one mask and for an
 * adaptive policy, are solved; one that is stopped in mid-replay goes on to the same bytes; what may be
 * drawn; what is refused. */
#include "systems/replay/ddqn.h"
#include "systems/methods/method.h"
#include "systems/scan/transform.h"
#include "tests/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct task *task(void) {
  return method_list[METHOD_DDQN]->stages[1];
}

static void open_with(struct run *run, const struct training_config *config) {
  struct error error;
  assert_good(training_open(&run->training, &device, &run->options, config, &error), &error);
}

/* Zero-filled images, so that no reconstructor is trained. */
static void set_scene(struct run *run, uint32_t specific) {
  set_training(run, METHOD_DDQN, NULL);
  run->options.reconstruct.method = RECONSTRUCT_ZERO_FILLED;
  run->options.acquisition.initial_lines = 3;
  run->options.acquisition.budget = 4;
  run->options.policy.channels = 4;
  run->options.policy.pools = 2;
  run->options.policy.hidden = 16;
  run->options.ddqn.specific = specific;
  run->options.ddqn.scans = 3;
  run->options.ddqn.replay = 36;
  run->options.ddqn.first = 6;
  run->options.ddqn.batch = 8;
  run->options.ddqn.ahead = 2;
  run->options.ddqn.target_every = 3;
  run->options.ddqn.log_every = 5;
}

/* ---- an update ------------------------------------------------------------------------------------------
 */

static struct store *open_vectors(struct arena *arena) {
  struct store *store;
  struct error error;
  assert_good(store_open(&store, arena_text(arena, "%s/ddqn_32.h5", getenv("L2SR_TEST_DATA")), &error),
              &error);
  return store;
}

static void *read_vector(struct store *store, struct arena *arena, const char *name, enum store_type type,
                         size_t bytes, size_t count) {
  struct error error;
  void *data = arena_new(arena, bytes * count);
  assert_good(store_read_known(store, name, type, count, data, &error), &error);
  return data;
}

static void put_parameters(const struct graph *graph, struct store *store, struct arena *arena,
                           const char *group) {
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    const char *name = arena_text(arena, "%s/%s", group, parameter->name);
    device_write(&device, parameter->value, 0, sizeof(float) * parameter->count,
                 read_vector(store, arena, name, STORE_F32, sizeof(float), parameter->count));
  }
}

/* Gradients, and what Adam's first step makes of them, whose size does not depend on theirs. */
static void compare_parameters(const struct training *training, struct store *store, struct arena *arena) {
  const struct graph *graph = ddqn_of(training)->online_steps.graph;
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    size_t count = parameter->count;
    const double *expected =
        read_vector(store, arena, arena_text(arena, "grad/%s", parameter->name), STORE_F64, 8, count);
    const float *before =
        read_vector(store, arena, arena_text(arena, "param/%s", parameter->name), STORE_F32, 4, count);
    const float *found = read_floats(arena, parameter->gradient, count),
                *after = read_floats(arena, parameter->value, count);
    double largest = 0;
    for (size_t k = 0; k < count; k++) largest = fmax(largest, fabs(expected[k]));
    assert_true(largest > 1e-4);
    for (size_t k = 0; k < count; k++) {
      assert_true(fabs(found[k] - expected[k]) <= 3e-6 * largest);
      double step = expected[k] / (fabs(expected[k]) + 1e-8) * training->options->ddqn.rate;
      if (fabs(expected[k]) > 1e-4 * largest || expected[k] == 0)
        assert_true(fabs(before[k] - step - after[k]) < 1e-6);
    }
  }
}

static void compare_terms(struct training *training, struct store *store, struct arena *arena, size_t batch) {
  const double *expected = read_vector(store, arena, "terms", STORE_F64, 8, 4 * batch);
  const uint32_t *drawn = read_vector(store, arena, "drawn", STORE_U32, 4, batch);
  float *terms = ARENA_NEW(arena, float, 4 * batch);
  uint32_t *found = ARENA_NEW(arena, uint32_t, batch);
  support_get(training_world(training), ROLLOUT_drawn, 0, batch, found);
  support_get(training_world(training), ROLLOUT_terms, 0, batch, terms);
  assert_memory_equal(found, drawn, sizeof(uint32_t) * batch);
  for (size_t i = 0; i < 4 * batch; i++) assert_true(fabs(terms[i] - expected[i]) < 3e-6);
}

/* In two passes, of which the second is not full. */
static void an_update_is_that_of_the_vectors(void **state) {
  enum { COLUMNS = 9, STEPS = 6, DRAWN = 8 };
  struct run run;
  struct arena *arena = arena_open();
  struct store *store = open_vectors(arena);
  (void)state;
  set_scene(&run, DDQN_DATA_SET);
  run.options.world.seed = 7;
  run.options.acquisition.initial_lines = 1;
  run.options.acquisition.budget = STEPS;
  run.options.policy.batch = 5;
  run.options.ddqn.replay = COLUMNS * STEPS;
  run.options.ddqn.gamma = 0.75;
  run.options.ddqn.huber = 0.0625;
  run.options.ddqn.rate = 0.01;
  open_with(&run, &(struct training_config){.task = task(), .kernel_folder = ""});
  struct training *training = &run.training;
  put_parameters(ddqn_of(training)->online_steps.graph, store, arena, "param");
  put_parameters(ddqn_of(training)->target_steps.graph, store, arena, "target");
  support_put(training_world(training), ROLLOUT_action, 0, COLUMNS * STEPS,
              read_vector(store, arena, "action", STORE_U32, 4, COLUMNS * STEPS));
  support_put(training_world(training), ROLLOUT_reward, 0, COLUMNS * STEPS,
              read_vector(store, arena, "reward", STORE_F32, 4, COLUMNS * STEPS));
  training->done = 2 * STEPS + 4 - 1; /* of the unit whose update this is */
  training_run_list(training, DDQN_TARGETS);
  training_run_list(training, DDQN_UPDATE);
  compare_terms(training, store, arena, DRAWN);
  compare_parameters(training, store, arena);
  store_close(store);
  close_run(&run);
  arena_close(arena);
}

/* ---- scans whose optimum is known -----------------------------------------------------------------------
 */

/* A row of a slice: of two classes, told apart by the sign of the lowest frequency, which every scan begins
 * with. */
static double brightness(size_t class, size_t x) {
  const double turn = 2 * M_PI * (double)x / N, sign = class ? 1 : -1;
  double low = 1 + 0.1 * sign * cos(turn);
  return low +
         (class ? 0.3 * cos(5 * turn) + 0.2 * cos(9 * turn) : 0.3 * cos(7 * turn) + 0.2 * cos(12 * turn));
}

static const struct system load_classes = {.name = "load_classes",
                                           .writes =
                                               SET(SLICE_image) | SET(SLICE_data_range) | SET(SLICE_order),
                                           .loads = true};

static bool fill_classes(struct world *world, size_t slices, uint32_t seed, struct error *error) {
  (void)seed;
  struct world_use before = world_enter(world, &load_classes);
  for (uint32_t s = 0; s < slices; s++) {
    float image[N * N], range = 1;
    for (size_t i = 0; i < N * N; i++) image[i] = (float)brightness(s % 2, i % N);
    world_write(world, SLICE_image, s, 1, image);
    world_write(world, SLICE_data_range, s, 1, &range);
    world_write(world, SLICE_order, s, 1, &s);
  }
  world_leave(world, before);
  return transform_rows(world, 0, slices, error);
}

/* Squared error over squared norm of the magnitude of a row with the three lines in the middle and these two.
 */
static double error_of(size_t class, size_t one, size_t other) {
  double wrong = 0, all = 0, re[N] = {0}, im[N] = {0};
  for (size_t k = 0; k < N; k++) {
    double a = 0, b = 0, turn = 2 * M_PI * ((double)k - N / 2) / N;
    if (k + 1 != N / 2 && k != N / 2 && k != N / 2 + 1 && k != one && k != other) continue;
    for (size_t x = 0; x < N; x++) a += brightness(class, x) * cos(turn * (double)x) / N;
    for (size_t x = 0; x < N; x++) b -= brightness(class, x) * sin(turn * (double)x) / N;
    for (size_t x = 0; x < N; x++) re[x] += a * cos(turn * (double)x) - b * sin(turn * (double)x);
    for (size_t x = 0; x < N; x++) im[x] += a * sin(turn * (double)x) + b * cos(turn * (double)x);
  }
  for (size_t x = 0; x < N; x++) {
    wrong += pow(hypot(re[x], im[x]) - brightness(class, x), 2);
    all += pow(brightness(class, x), 2);
  }
  return wrong / all;
}

struct optimum {
  double adaptive, one_mask; /* the least mean errors of both classes */
};

static struct optimum find_optimum(void) {
  double least[2] = {1, 1}, both = 1;
  for (size_t one = 0; one < N; one++)
    for (size_t other = 0; other < one; other++) {
      double error[] = {error_of(0, one, other), error_of(1, one, other)};
      for (int class = 0; class < 2; class ++) least[class] = fmin(least[class], error[class]);
      both = fmin(both, (error[0] + error[1]) / 2);
    }
  return (struct optimum){(least[0] + least[1]) / 2, both};
}

/* The error of the best of its validations. */
static double solve(uint32_t specific, uint32_t units) {
  struct run run;
  set_scene(&run, specific);
  run.options.acquisition.budget = 2;
  run.options.policy.channels = 2;
  for (size_t m = 0; m < METRICS; m++)
    if (!strcmp(metric_list[m].name, "nmse")) run.options.reward.metric = (uint32_t)m;
  run.options.reward.scale = 20;
  run.options.ddqn.scans = 32;
  run.options.ddqn.steps = 32 * units;
  run.options.ddqn.replay = 8192;
  run.options.ddqn.first = 512;
  run.options.ddqn.batch = 16;
  run.options.ddqn.ahead = 1;
  run.options.ddqn.gamma = 1;
  run.options.ddqn.target_every = 20;
  run.options.ddqn.epsilon_steps = units / 3;
  run.options.ddqn.rate = 0.004;
  run.options.ddqn.validate_every = units / 2;
  open_with(&run, &(struct training_config){
                      .task = task(), .kernel_folder = "", .fill = fill_classes, .slices = 8});
  run_epochs(&run);
  double best = -run.training.best;
  close_run(&run);
  return best;
}

static void one_mask_is_the_best_of_all(void **state) {
  struct optimum optimum = find_optimum();
  (void)state;
  double found = solve(DDQN_DATA_SET, 160);
  assert_true(optimum.one_mask > 1.5 * optimum.adaptive);
  if (fabs(found - optimum.one_mask) > 0.001 * optimum.one_mask)
    fail_msg("%g, the best is %g", found, optimum.one_mask);
}

static void a_policy_that_looks_is_better(void **state) {
  struct optimum optimum = find_optimum();
  (void)state;
  double found = solve(DDQN_SUBJECT, 200);
  if (found > 0.8 * optimum.one_mask || found < 0.999 * optimum.adaptive)
    fail_msg("%g, an adaptive policy has %g, one mask %g", found, optimum.adaptive, optimum.one_mask);
}

/* ---- going on -------------------------------------------------------------------------------------------
 */

static bool stop_now(void *context) {
  return ++*(int *)context == 15; /* in the midst of a scan, and of the replay's second turn */
}

static void set_going_on(struct run *run, uint32_t specific) {
  set_scene(run, specific);
  run->options.ddqn.steps = 3 * 24;
  run->options.ddqn.validate_every = 8;
  run->options.ddqn.priority = specific == DDQN_SUBJECT ? 0.6 : 0;
}

/* Stopped, it is what was never stopped: parameters, the target's, moments, replay, log. */
static void compare_stopped(uint32_t specific) {
  struct run whole, rest;
  struct error error;
  int units = 0;
  char digest[2][17];
  const char *output = support_path(&folder, specific ? "stopped_mask" : "stopped");
  struct training_config config = {
      .task = task(), .folder = output, .kernel_folder = "", .stop = stop_now, .context = &units};
  set_going_on(&whole, specific);
  open_with(&whole,
            &(struct training_config){.task = task(),
                                      .kernel_folder = "",
                                      .folder = support_path(&folder, specific ? "whole_mask" : "whole")});
  run_epochs(&whole);
  set_going_on(&rest, specific);
  open_with(&rest, &config);
  assert_false(trainer_run(&rest.training, &error));
  training_close(&rest.training);
  config.stop = NULL;
  config.resume = true;
  open_with(&rest, &config);
  assert_int_equal(rest.training.done, 15);
  run_epochs(&rest);
  memcpy(digest[0], whole.training.digest, 17);
  memcpy(digest[1], rest.training.digest, 17);
  assert_string_equal(digest[0], digest[1]);
  assert_int_equal(strlen(digest[0]), 16);
  const struct history *one = &whole.training.logged, *other = &rest.training.logged;
  assert_int_equal(one->count, other->count);
  for (size_t v = 0; v < DDQN_VALUE_COUNT; v++)
    assert_memory_equal(one->value[v], other->value[v], sizeof(double) * one->count);
  float rewards[2][36];
  support_get(training_world(&whole.training), ROLLOUT_reward, 0, 36, rewards[0]);
  support_get(training_world(&rest.training), ROLLOUT_reward, 0, 36, rewards[1]);
  assert_memory_equal(rewards[0], rewards[1], sizeof rewards[0]);
  close_run(&whole);
  close_run(&rest);
}

static void one_stopped_in_mid_replay_goes_on(void **state) {
  (void)state;
  compare_stopped(DDQN_SUBJECT);
  compare_stopped(DDQN_DATA_SET);
}

/* ---- what may be drawn ----------------------------------------------------------------------------------
 */

/* Blocks of 2 scans of 4 steps, of which there is room for 3. */
static void steps_are_drawn_once_their_rewards_are_there(void **state) {
  const struct replay replay = {.scans = 2, .blocks = 3, .columns = 6, .steps = 4, .rows = 24};
  static const struct {
    uint64_t played;
    size_t ahead, whole, running, steps;
  } rows[] = {{1, 1, 0, 0, 1}, {1, 2, 0, 0, 0},  {2, 2, 0, 0, 1},  {4, 2, 0, 0, 4},
              {5, 9, 2, 2, 0}, {12, 9, 4, 4, 4}, {13, 1, 4, 0, 1}, {18, 2, 4, 2, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct replay_valid valid = replay_valid(&replay, rows[i].played, rows[i].ahead);
    assert_int_equal(valid.whole, rows[i].whole);
    assert_int_equal(valid.running, rows[i].running);
    assert_int_equal(valid.steps, rows[i].steps);
    assert_int_equal(valid.count, 4 * rows[i].whole + 2 * rows[i].steps);
  }
  struct replay_place place = replay_place(&replay, 18);
  assert_true(place.episode == 4 && place.step == 2 && place.column == 2 && place.row == 14);
}

/* ---- what is refused ------------------------------------------------------------------------------------
 */

static void refuse_with(void (*set)(struct options *options), const char *part) {
  struct run run;
  struct error error;
  set_scene(&run, DDQN_SUBJECT);
  set(&run.options);
  assert_false(training_check(task(), &device, &run.options, 1, &error));
  assert_holds(error.text, part);
  arena_close(run.arena);
}

static void set_small(struct options *options) {
  options->ddqn.replay = 23;
}
static void set_late(struct options *options) {
  options->ddqn.first = 25;
}
static void set_many(struct options *options) {
  options->ddqn.scans = 65536;
  options->ddqn.replay = 100000000;
  options->ddqn.steps = UINT32_MAX;
  options->acquisition.budget = 1;
}
static void set_rising(struct options *options) {
  options->ddqn.epsilon = 0.1;
  options->ddqn.epsilon_floor = 0.2;
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  refuse_with(set_small,
              "ddqn.replay is 23 steps; it must hold those of two scans for each of the ddqn.scans 3, of 4 "
              "actions: raise it to 24");
  refuse_with(set_late, "ddqn.first is 25 and ddqn.batch 8; of 36 steps in the replay, 24 may be drawn");
  refuse_with(set_many, "ddqn.steps 4294967295 are more scans than have numbers");
  refuse_with(set_rising, "ddqn.epsilon is 0.1 and ddqn.epsilon_floor 0.2");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_update_is_that_of_the_vectors),
                                     cmocka_unit_test(one_mask_is_the_best_of_all),
                                     cmocka_unit_test(a_policy_that_looks_is_better),
                                     cmocka_unit_test(one_stopped_in_mid_replay_goes_on),
                                     cmocka_unit_test(steps_are_drawn_once_their_rewards_are_there),
                                     cmocka_unit_test(what_cannot_be_is_refused)};
  return cmocka_run_group_tests_name("ddqn", tests, open_trainings, close_trainings);
}
