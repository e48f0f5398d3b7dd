/* A policy that imitates: the teacher's choices against the teacher alone, the cross-entropy and its gradient against
 * finite differences, how it falls, what comes after, going on, and what is refused. */
#include "tests/learning.h"

#include <math.h>
#include <string.h>

enum { TAUGHT = 4, ROLLOUTS = 3 };

static struct device device;
static struct folder folder;

static void set_options(struct learning_run *run, enum learn_clone clone, const char *output) {
  set_learning(run, &folder, &device, output, ROLLOUTS);
  run->options.sampler.mask = support_path(&folder, "mask.h5");
  run->options.learn.save_every = 1;
  run->options.learn.clone = clone;
  run->options.learn.clone_steps = ROWS * TAUGHT - 1;
}

/* The order of a mask: lines 3, 30, 8, 20 and 1, and more than the budget. */
static const uint32_t order[] = {3, 30, 8, 20, 1, 11};

/* Its mask is these lines and three initial ones from `initial` on, of `lines` in all; no order: the mask alone. */
static void write_grown(const char *name, const char *geometry, const uint32_t *actions, size_t count, size_t lines,
                        size_t initial) {
  struct store *store;
  struct error error;
  uint8_t mask[2 * N] = {0};
  memset(mask + initial, 1, 3);
  for (size_t i = 0; i < count; i++) mask[actions[i]] = 1;
  assert_good(store_create(&store, support_path(&folder, name), &error), &error);
  assert_good(store_put_text(store, "scan_geometry", geometry, &error), &error);
  assert_good(store_write(store, "mask", STORE_U8, 1, &lines, mask, false, &error), &error);
  if (count) assert_good(store_write(store, "order", STORE_U32, 1, &count, actions, false, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

static void write_mask(const char *name, const char *geometry, const uint32_t *actions, size_t count) {
  write_grown(name, geometry, actions, count, N, N / 2 - 1);
}

/* ---- what is taught ------------------------------------------------------------------------------------ */

static void read_rows(struct learning_run *run, unsigned component, void *to) {
  struct error error;
  support_get(training_world(&run->training), component, 0, ROWS, to);
  assert_good(device_finish(&device, &error), &error);
}

/* Scans of the oracle without a policy, of the same slices. */
static void play_oracle(struct learning_run *run, uint32_t actions[ROWS]) {
  struct training *training = &run->training;
  struct split *split = &training->train;
  struct simulation oracle;
  struct simulation_plan plan = {.slices = SLICES,
                                 .envs = SCANS,
                                 .rollout_steps = LINES + 1,
                                 .metrics = "ssim",
                                 .network = true,
                                 .deciders = DECIDES_ORACLE,
                                 .record = true,
                                 .kernels = split->simulation.kernels};
  struct error error;
  assert_good(simulation_open(&oracle, &device, &split->options, &plan, &error), &error);
  assert_good(load_simulation(&oracle, &split->dataset, &split->options, run->arena, &split->report, &error), &error);
  oracle.reconstructor = &training->reconstructor;
  assert_good(simulation_set(&oracle, &training->acquisition, sampler_find("oracle", &error), &error), &error);
  simulation_restart(&oracle, 0, SCANS);
  simulation_episode(&oracle);
  support_get(oracle.world, ROLLOUT_action, SCANS, ROWS, actions);
  assert_good(device_finish(&device, &error), &error);
  simulation_close(&oracle);
}

/* The teacher decides, though scans share slices later: each has its own. */
static void the_oracle_teaches(void **state) {
  struct learning_run run;
  uint32_t found[ROWS], expected[ROWS], slices[ROWS];
  (void)state;
  set_options(&run, CLONE_ORACLE, NULL);
  run.options.learn.group = 3;
  run.options.learn.baseline = BASELINE_GROUP;
  open_learning(&run);
  assert_int_equal(run.training.wanted, TAUGHT + ROLLOUTS);
  learn_step(&run.training);
  read_rows(&run, ROLLOUT_action, found);
  read_rows(&run, ROLLOUT_slice, slices);
  play_oracle(&run, expected);
  assert_memory_equal(found, expected, sizeof found);
  for (uint32_t i = 0; i < ROWS; i++) assert_int_equal(slices[i], i % SCANS);
  for (int i = 1; i < TAUGHT; i++) {
    run.training.done++;
    assert_true((run.training.done < learning_of(&run.training)->taught));
  }
  run.training.done++;
  assert_false((run.training.done < learning_of(&run.training)->taught));
  learn_step(&run.training);
  read_rows(&run, ROLLOUT_slice, slices);
  for (uint32_t i = 0; i < ROWS; i++) assert_int_equal(slices[i], (TAUGHT * SCANS / 3 + i % SCANS / 3) % SLICES);
  close_learning(&run);
}

static void an_order_teaches(void **state) {
  struct learning_run run;
  uint32_t found[ROWS];
  (void)state;
  set_options(&run, CLONE_LBCS, NULL);
  open_learning(&run);
  learn_step(&run.training);
  read_rows(&run, ROLLOUT_action, found);
  for (size_t i = 0; i < ROWS; i++) assert_int_equal(found[i], order[i / SCANS]);
  close_learning(&run);
}

/* ---- the loss ------------------------------------------------------------------------------------------ */

static void add_gradient(struct learning_run *run) {
  struct rollout *rollout = &learning_of(&run->training)->rollout;
  struct schedule *schedule = ARENA_NEW(run->arena, struct schedule, 1);
  struct error error;
  rollout->first = 0;
  rollout->count = ROWS;
  schedule_open(schedule, &component_schema);
  rollout_add_gradient(rollout, schedule);
  assert_good(schedule_close(schedule, &error), &error);
  assert_good(schedule_prepare(schedule, rollout->simulation->kernels, &error), &error);
  schedule_run(schedule, training_world(&run->training));
}

/* Of the last rollout's choices: mean over its rows, with the policy as it is. */
static double cross_entropy(struct learning_run *run) {
  static float terms[4 * ROWS];
  double sum = 0;
  graph_zero_gradients(run->training.policy.graph);
  add_gradient(run);
  graph_gather(run->training.policy.graph, 0, run->training.policy.graph->elements);
  read_rows(run, ROLLOUT_terms, terms);
  for (size_t i = 0; i < ROWS; i++) sum += (double)terms[4 * i] / ROWS;
  return sum;
}

static void set_value(struct graph *graph, size_t place, float value) {
  device_write(graph->device, graph->values, sizeof(float) * place, sizeof value, &value);
}

/* Central differences. */
static void check_gradient(struct learning_run *run, size_t place) {
  struct graph *graph = run->training.policy.graph;
  struct error error;
  float value, slope;
  double loss[2];
  cross_entropy(run);
  device_read(&device, graph->values, sizeof(float) * place, sizeof value, &value);
  device_read(&device, graph->gradients, sizeof(float) * place, sizeof slope, &slope);
  assert_good(device_finish(&device, &error), &error);
  for (int k = 0; k < 2; k++) {
    set_value(graph, place, value + (k ? 1e-2f : -1e-2f));
    policy_changed(&run->training.policy);
    loss[k] = cross_entropy(run);
  }
  set_value(graph, place, value);
  policy_changed(&run->training.policy);
  double expected = (loss[1] - loss[0]) / 2e-2;
  if (fabs(expected - (double)slope) > 2e-4 + 0.03 * fabs(expected))
    fail_msg("parameter %zu: the gradient is %.6g, differences give %.6g", place, (double)slope, expected);
}

static void gradients_are_of_the_cross_entropy(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, CLONE_ORACLE, NULL);
  open_learning(&run);
  learn_step(&run.training);
  const struct schedule *list = run.training.list;
  struct world *world = training_world(&run.training);
  list[LEARN_CLONE].system[0].run(world, &run.training);
  learning_of(&run.training)->rollout.update.value_weight = 0;
  struct graph *graph = run.training.policy.graph;
  int checked = 0;
  for (int p = 0; p < graph->parameters; p++) {
    if (!strstr(graph->parameter[p].name, "fc_out")) continue;
    check_gradient(&run, graph->parameter[p].offset + graph->parameter[p].count / 2);
    checked++;
  }
  assert_int_equal(checked, 6);
  float advantage[ROWS];
  read_rows(&run, ROLLOUT_advantage, advantage);
  for (size_t i = 0; i < ROWS; i++) assert_true(advantage[i] == 1);
  list[LEARN_IMITATE].system[list[LEARN_IMITATE].count - 1].run(world, &run.training);
  close_learning(&run);
}

/* With PPO and its normalised advantages as with A2C; the rate is that of cloning, then that of learning. */
static void the_loss_falls(void **state) {
  (void)state;
  for (uint32_t algorithm = LEARN_A2C; algorithm <= LEARN_PPO; algorithm++) {
    struct learning_run run;
    set_options(&run, CLONE_LBCS, NULL);
    run.options.learn.algorithm = algorithm;
    run.options.learn.clone_steps = ROWS * 60;
    run.options.learn.clone_rate = 0.003;
    run.options.learn.optimiser = LEARN_ADAM;
    run.options.learn.value = 0;
    run.options.learn.group = 3;
    run.options.learn.epochs = 2;
    open_learning(&run);
    run_learning(&run);
    const struct history *logged = &run.training.logged;
    double first = logged->value[LEARN_policy_loss][0], last = logged->value[LEARN_policy_loss][59];
    print_message("cross-entropy %.3f, then %.3f\n", first, last);
    assert_true(first > 2.5 && last < 0.5 * first);
    assert_true(fabs(logged->value[LEARN_rate][59] - 0.003) < 1e-9 && fabs(logged->value[LEARN_rate][60] - 0.001) < 1e-9);
    assert_true(isnan(logged->value[LEARN_distinct][59]) && !isnan(logged->value[LEARN_distinct][60]));
    close_learning(&run);
  }
}

static void *read_parameters(struct learning_run *run, size_t *bytes) {
  const struct graph *graph = run->training.policy.graph;
  struct error error;
  *bytes = sizeof(float) * graph->elements;
  void *values = arena_new(run->arena, *bytes);
  device_read(&device, graph->values, 0, *bytes, values);
  assert_good(device_finish(&device, &error), &error);
  return values;
}

/* The policy has seen the teacher's states when it learns from them: its activations may stay. */
static void kept_activations_change_nothing(void **state) {
  static const enum train_keep keeps[] = {KEEP_ALWAYS, KEEP_NEVER};
  enum device_matrix matrix = device.facts.matrix;
  struct learning_run runs[2];
  void *values[2];
  size_t bytes;
  (void)state;
  if (matrix == MATRIX_NONE) device.facts.matrix = MATRIX_EMULATED;
  for (int k = 0; k < 2; k++) {
    set_options(&runs[k], CLONE_LBCS, NULL);
    runs[k].options.policy.channels = 16; /* 2 are too few for the fused path */
    runs[k].options.policy.batch = 64;
    runs[k].options.policy.pools = 1;
    runs[k].options.learn.scans = 2; /* emulation is slow */
    runs[k].options.train.keep_activations = keeps[k];
    open_learning(&runs[k]);
    assert_int_equal(learning_of(&runs[k].training)->rollout.keeps, keeps[k] == KEEP_ALWAYS);
    learn_step(&runs[k].training);
    values[k] = read_parameters(&runs[k], &bytes);
  }
  assert_memory_equal(values[0], values[1], bytes);
  for (int k = 0; k < 2; k++) close_learning(&runs[k]);
  device.facts.matrix = matrix;
}

static void teaching_allocates_nothing(void **state) {
  struct learning_run run;
  struct error error;
  (void)state;
  set_options(&run, CLONE_ORACLE, NULL);
  open_learning(&run);
  learn_step(&run.training);
  uint64_t allocations = device.allocations, bytes = device.bytes;
  learn_step(&run.training);
  assert_good(device_finish(&device, &error), &error);
  assert_int_equal(device.allocations, allocations);
  assert_int_equal(device.bytes, bytes);
  close_learning(&run);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

/* Copies the folder's checkpoint while the unit after it is told. */
struct copying {
  const char *from, *to;
  uint64_t at;
};

static void copy_folder(const struct training *trainer, const struct log_record *record, void *context) {
  const struct copying *copying = context;
  static const char *const names[] = {"last.h5", "best.h5", "log.jsonl", EVENTS_NAME};
  struct error error;
  if (strcmp(record->kind, "look") || trainer->done != copying->at) return;
  assert_good(folder_make(copying->to, &error), &error);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct arena *arena = arena_open();
    size_t bytes;
    const char *from = arena_text(arena, "%s/%s", copying->from, names[i]);
    if (file_is_there(from)) {
      const unsigned char *data = support_read(arena, from, &bytes);
      support_write(arena_text(arena, "%s/%s", copying->to, names[i]), data, bytes);
    }
    arena_close(arena);
  }
}

/* From within what is taught, and from just after it. */
static void go_on(enum learn_clone clone, const char *whole, const char *cut, uint64_t at) {
  struct copying copying = {support_path(&folder, whole), support_path(&folder, cut), at};
  struct learning_run runs[2];
  void *values[2];
  size_t bytes;
  for (int k = 0; k < 2; k++) {
    struct learning_run *run = &runs[k];
    set_options(run, clone, k ? cut : whole);
    if (!k) run->config.see = copy_folder;
    run->config.context = &copying;
    run->config.resume = k;
    open_learning(run);
    assert_int_equal(run->training.done, k ? at - 1 : 0);
    run_learning(run);
    values[k] = read_parameters(run, &bytes);
  }
  assert_memory_equal(values[0], values[1], bytes);
  for (int v = 0; v < LEARN_explained; v++)
    assert_memory_equal(runs[0].training.logged.value[v], runs[1].training.logged.value[v],
                        sizeof(double) * (TAUGHT + ROLLOUTS));
  for (int k = 0; k < 2; k++) close_learning(&runs[k]);
}

static void it_goes_on_as_if_never_stopped(void **state) {
  (void)state;
  go_on(CLONE_ORACLE, "oracle", "oracle_cut", 3);
  go_on(CLONE_LBCS, "lbcs", "lbcs_cut", TAUGHT + 1);
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void other_teachers_are_refused(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, CLONE_LBCS, "again");
  open_learning(&run);
  run_learning(&run);
  training_close(&run.training);
  run.config.resume = true;
  run.options.learn.clone = CLONE_NONE;
  refuse_learning(&run, "learn.clone was lbcs and is none now");
  run.options.learn.clone = CLONE_LBCS;
  run.options.learn.clone_steps = 1;
  refuse_learning(&run, "learn.clone_steps was 119 and is 1 now");
  run.options.learn.clone_steps = ROWS * TAUGHT - 1;
  write_mask("mask.h5", "lines", order, 5);
  refuse_learning(&run, "it was trained with mask ");
  write_mask("mask.h5", "lines", order, 6);
  arena_close(run.arena);
}

static void masks_without_an_order_are_refused(void **state) {
  static const uint32_t initial[] = {3, 30, 16, 20, 1}, twice[] = {3, 30, 3, 20, 1};
  struct learning_run run;
  (void)state;
  set_options(&run, CLONE_LBCS, NULL);
  run.options.sampler.mask = "";
  refuse_learning(&run, "learn.clone is lbcs and sampler.mask is empty; name last.h5 of train.method lbcs");
  run.options.sampler.mask = support_path(&folder, "other.h5");
  write_mask("other.h5", "lines", NULL, 0);
  refuse_learning(&run, "it has no dataset order");
  write_mask("other.h5", "spokes", order, 5);
  refuse_learning(&run, "is of spokes and acquisition.geometry is lines");
  write_mask("other.h5", "lines", order, 4);
  refuse_learning(&run, "it has 4 lines in its order, and the budget is 5");
  write_mask("other.h5", "lines", initial, 5);
  refuse_learning(&run, "entry 2 of its order is 16, which is no free line there");
  write_mask("other.h5", "lines", twice, 5);
  refuse_learning(&run, "entry 2 of its order is 3, which is no free line there");
  write_grown("other.h5", "lines", order, 6, 2 * N, N / 2 - 1);
  refuse_learning(&run, "holds 64 values; 32 are expected at data.size 32");
  write_grown("other.h5", "lines", order, 6, N, N / 2);
  refuse_learning(&run, "it was grown from other initial lines (3) than the scene has (3)");
  arena_close(run.arena);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static int open_all(void **state) {
  (void)state;
  if (support_open_training(&folder, &device, N, SLICES / 3)) return 1;
  struct learning_run run;
  write_mask("mask.h5", "lines", order, 6);
  set_options(&run, CLONE_NONE, NULL);
  run.options.train.epochs = 1;
  run.options.train.batch = 5;
  train_unet(&run, "unet");
  return 0;
}

static int close_all(void **state) {
  (void)state;
  return support_close_training(&folder, &device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_oracle_teaches),
      cmocka_unit_test(an_order_teaches),
      cmocka_unit_test(gradients_are_of_the_cross_entropy),
      cmocka_unit_test(the_loss_falls),
      cmocka_unit_test(kept_activations_change_nothing),
      cmocka_unit_test(teaching_allocates_nothing),
      cmocka_unit_test(it_goes_on_as_if_never_stopped),
      cmocka_unit_test(other_teachers_are_refused),
      cmocka_unit_test(masks_without_an_order_are_refused),
  };
  return cmocka_run_group_tests_name("clone", tests, open_all, close_all);
}
