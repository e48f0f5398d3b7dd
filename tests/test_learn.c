/* Training a policy: going on from any checkpoint, launches, rounds, and what is refused. */
#include "systems/methods/methods.h"
#include "tests/learning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROLLOUTS = 7, SAVE_EVERY = 3 };

static struct device device;
static struct folder folder;

static void set_options(struct learning_run *run, const char *output) {
  set_learning(run, &folder, &device, output, ROLLOUTS);
  run->options.learn.epochs = 2;
  run->options.learn.rows = 13;
  run->options.learn.save_every = SAVE_EVERY;
}

/* Runs a training from opening to closing. */
static void learn(struct learning_run *run) {
  open_learning(run);
  run_learning(run);
  close_learning(run);
}

static void train_other(const char *output, uint32_t epochs) {
  struct learning_run run;
  set_options(&run, NULL);
  run.options.train.epochs = epochs;
  train_unet(&run, output);
}

/* ---- files --------------------------------------------------------------------------------------------- */

struct comparison {
  struct arena *arena;
  struct store *store[2];
  size_t count;
};

static void count_dataset(const char *name, void *context) {
  (void)name;
  ++*(size_t *)context;
}

static void compare_dataset(const char *name, void *context) {
  struct comparison *comparison = context;
  void *data[2];
  size_t total[2];
  struct error error;
  for (int k = 0; k < 2; k++)
    assert_good(store_read_all(comparison->store[k], name, STORE_F64, 1 << 28, comparison->arena, &data[k],
                               &total[k], &error),
                &error);
  assert_int_equal(total[0], total[1]);
  if (memcmp(data[0], data[1], sizeof(double) * total[0])) fail_msg("%s differs", name);
  comparison->count++;
}

/* Every dataset to the byte, and where the training stands. */
static void assert_same_file(const char *one, const char *other, const char *file) {
  static const char *const numbers[] = {"rollouts", "best",           "best_at",       "first_scan",
                                        "seed",     "optimiser_step", "optimiser_rate"};
  struct comparison comparison = {.arena = arena_open()};
  const char *folders[] = {one, other};
  struct error error;
  size_t count = 0;
  double value[2];
  for (int k = 0; k < 2; k++) {
    const char *path = support_path(&folder, arena_text(comparison.arena, "%s/%s", folders[k], file));
    assert_good(store_open(&comparison.store[k], path, &error), &error);
  }
  assert_good(store_list(comparison.store[0], compare_dataset, &comparison, &error), &error);
  assert_good(store_list(comparison.store[1], count_dataset, &count, &error), &error);
  assert_true(count > 20 && count == comparison.count);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    for (int k = 0; k < 2; k++) assert_true(store_number(comparison.store[k], numbers[i], &value[k]));
    if (memcmp(&value[0], &value[1], sizeof *value))
      fail_msg("%s is %g and %g", numbers[i], value[0], value[1]);
  }
  for (int k = 0; k < 2; k++) store_close(comparison.store[k]);
  arena_close(comparison.arena);
}

/* Compares the records but for their times: each is a length, its checksum, 9 bytes of time, the rest, a
 * checksum. */
static void assert_same_events(const char *one, const char *other) {
  const char *folders[] = {one, other};
  const unsigned char *data[2];
  size_t bytes[2], records = 0;
  uint64_t length;
  struct arena *arena = arena_open();
  for (int k = 0; k < 2; k++)
    data[k] = support_read(arena, support_path(&folder, arena_text(arena, "%s/" EVENTS_NAME, folders[k])),
                           &bytes[k]);
  assert_int_equal(bytes[0], bytes[1]);
  for (size_t at = 0; at < bytes[0]; at += length + 16, records++) {
    memcpy(&length, data[0] + at, sizeof length);
    assert_true(at + length + 16 <= bytes[0]);
    assert_memory_equal(data[0] + at, data[1] + at, 12);
    assert_memory_equal(data[0] + at + 21, data[1] + at + 21, length - 9);
  }
  assert_true(records > 6);
  arena_close(arena);
}

static void assert_same_files(const char *one, const char *other) {
  assert_same_file(one, other, "last.h5");
  assert_same_file(one, other, "best.h5");
  assert_same_events(one, other);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

struct copying {
  const char *from, *to;
  uint64_t at;
};

static void copy_file(const struct copying *copying, const char *name) {
  struct arena *arena = arena_open();
  size_t bytes;
  const char *from = support_path(&folder, arena_text(arena, "%s/%s", copying->from, name));
  if (file_is_there(from)) {
    unsigned char *data = support_read(arena, from, &bytes);
    support_write(support_path(&folder, arena_text(arena, "%s/%s", copying->to, name)), data, bytes);
  }
  arena_close(arena);
}

/* Copies the folder after so many rollouts, as a training that is killed then leaves it. */
static void copy_folder(const struct training *trainer, const struct log_record *record, void *context) {
  const struct copying *copying = context;
  struct error error;
  if (record != &trainer->task->train || trainer->done != copying->at) return;
  assert_good(folder_make(support_path(&folder, copying->to), &error), &error);
  copy_file(copying, "last.h5");
  copy_file(copying, "best.h5");
  copy_file(copying, "log.jsonl");
  copy_file(copying, EVENTS_NAME);
}

/* Groups with schedules: what follows from how far the training is. */
static void set_variant(struct learning_run *run, enum learn_algorithm algorithm, enum learn_baseline baseline) {
  run->options.learn.algorithm = algorithm;
  if (baseline == BASELINE_CRITIC) return;
  run->options.learn.baseline = baseline;
  run->options.learn.group = 2;
  run->options.learn.entropy_schedule = LEARN_COSINE;
  run->options.learn.rate_schedule = LEARN_LINEAR;
  run->options.learn.rate_floor = 0.0001;
}

static void go_on(enum learn_algorithm algorithm, enum learn_baseline baseline, const char *whole, const char *cut,
                  uint64_t at) {
  struct copying copying = {whole, cut, at};
  struct learning_run run;
  set_options(&run, whole);
  set_variant(&run, algorithm, baseline);
  run.config.see = copy_folder;
  run.config.context = &copying;
  learn(&run);
  set_options(&run, cut);
  set_variant(&run, algorithm, baseline);
  run.config.resume = true;
  open_learning(&run);
  assert_int_equal(run.training.done, (at - 1) / SAVE_EVERY * SAVE_EVERY);
  assert_int_equal(run.training.wanted, ROLLOUTS);
  run_learning(&run);
  close_learning(&run);
  assert_same_files(whole, cut);
}

static void a2c_goes_on_as_if_never_stopped(void **state) {
  (void)state;
  go_on(LEARN_A2C, BASELINE_CRITIC, "a2c", "a2c_cut_2", 2); /* before the first checkpoint */
  go_on(LEARN_A2C, BASELINE_CRITIC, "a2c_5", "a2c_cut_5", 5);
  go_on(LEARN_A2C, BASELINE_CRITIC, "a2c_7", "a2c_cut_7", 7);
}

static void ppo_goes_on_as_if_never_stopped(void **state) {
  (void)state;
  go_on(LEARN_PPO, BASELINE_CRITIC, "ppo", "ppo_cut_5", 5);
}

static void groups_go_on_as_if_never_stopped(void **state) {
  (void)state;
  go_on(LEARN_A2C, BASELINE_GROUP, "group", "group_cut_5", 5);
  go_on(LEARN_PPO, BASELINE_GROUP_CRITIC, "group_ppo", "group_ppo_cut_5", 5);
}

/* What the log says of them: from the first value towards the floor, which the last unit does not reach. */
static void weights_follow_their_schedules(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, NULL);
  set_variant(&run, LEARN_A2C, BASELINE_GROUP);
  run.options.learn.entropy_floor = 0.01;
  open_learning(&run);
  run_learning(&run);
  const struct history *logged = &run.training.logged;
  for (size_t i = 0; i < ROLLOUTS; i++) {
    double progress = (double)i / ROLLOUTS, cosine = (1 + cos(acos(-1) * progress)) / 2;
    assert_true(fabs(logged->value[LEARN_rate][i] - (0.001 - 0.0009 * progress)) < 1e-9);
    assert_true(fabs(logged->value[LEARN_entropy_weight][i] - (0.01 + 0.02 * cosine)) < 1e-8);
  }
  close_learning(&run);
}

static void a_finished_training_changes_nothing(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, "done");
  learn(&run);
  set_options(&run, "done");
  run.config.resume = true;
  open_learning(&run);
  assert_int_equal(run.training.done, ROLLOUTS);
  assert_int_equal(run.training.logged.count, ROLLOUTS);
  assert_int_equal(run.training.validations.count, 3);
  run_learning(&run);
  close_learning(&run);
  assert_same_files("done", "a2c");
}

static void launches_change_nothing(void **state) {
  struct learning_run run;
  (void)state;
  for (int k = 0; k < 2; k++) {
    set_options(&run, k ? "launch_5" : "launch_16");
    run.options.learn.scans = 16;
    run.options.world.envs = k ? 5 : 16;
    open_learning(&run);
    assert_int_equal(learning_of(&run.training)->rollout.launch, run.options.world.envs);
    run_learning(&run);
    close_learning(&run);
  }
  assert_same_files("launch_16", "launch_5");
}

/* Another rank, whose half is as the first one's. */
static void exchange_alike(struct ranks *ranks, uint32_t partner, const void *give, void *take, size_t bytes) {
  assert_int_equal(partner, 1 - ranks->rank);
  memcpy(take, give, bytes);
}

static void unite_alike(struct ranks *ranks, void *words, size_t bytes) {
  (void)ranks;
  memcpy((char *)words + bytes / 2, words, bytes / 2);
}

/* Alone, and as one of two ranks, which sum most of the gradient before the pass back is complete. */
static void step_twice(struct ranks *ranks) {
  struct learning_run run;
  struct error error;
  set_options(&run, NULL);
  run.options.learn.algorithm = LEARN_PPO;
  device.ranks = ranks;
  open_learning(&run);
  const struct graph *graph = run.training.policy.graph;
  assert_int_equal(graph->early != NULL, ranks != NULL);
  if (ranks) assert_true(graph->early->from && 2 * graph->early->from <= graph->elements);
  learn_step(&run.training);
  uint64_t allocations = device.allocations, bytes = device.bytes;
  learn_step(&run.training);
  assert_good(device_finish(&device, &error), &error);
  assert_int_equal(device.allocations, allocations);
  assert_int_equal(device.bytes, bytes);
  close_learning(&run);
  device.ranks = NULL;
}

static void a_step_allocates_nothing(void **state) {
  (void)state;
  step_twice(NULL);
  step_twice(&(struct ranks){.count = 2, .exchange = exchange_alike, .unite = unite_alike});
}

/* ---- rounds -------------------------------------------------------------------------------------------- */

/* Slices follow from the numbers of scans. */
static void rounds_number_their_scans_after_those_before(void **state) {
  static const uint32_t expected[] = {0, 4 * SCANS, 6 * SCANS, 8 * SCANS};
  uint32_t slice[SCANS];
  (void)state;
  for (uint32_t round = 0; round < 4; round++) {
    struct learning_run run;
    set_options(&run, NULL);
    run.options.learn.steps = 4 * ROWS;
    run.options.alternate.steps = 2 * ROWS - 3;
    run.options.data.most = 7;
    run.config.round = round;
    open_learning(&run);
    assert_int_equal(learning_of(&run.training)->first_scan, expected[round]);
    learn_step(&run.training);
    support_get(run.training.train.simulation.world, ROLLOUT_slice, 0, SCANS, slice);
    for (uint32_t e = 0; e < SCANS; e++) assert_int_equal(slice[e], (expected[round] + e) % 7);
    close_learning(&run);
  }
}

/* Parameters and moments of the round before, its own rate. */
static void a_round_takes_up_the_policy(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, "round_1");
  learn(&run);
  set_options(&run, "round_2");
  run.config.policy = support_path(&folder, "round_1/last.h5");
  run.config.round = 1;
  run.options.learn.rate = 0;
  open_learning(&run);
  assert_int_equal(run.training.optimiser.step, ROLLOUTS);
  assert_true(run.training.optimiser.rate == 0 && run.training.done == 0);
  run_learning(&run);
  double score = run.training.validations.value[0][0], best = run.training.best;
  close_learning(&run);
  set_options(&run, NULL);
  run.config.policy = support_path(&folder, "round_2/last.h5");
  open_learning(&run);
  struct error error;
  assert_good(split_score(&run.training.validation, NULL, &score, &error), &error);
  assert_true(score == best); /* a rate of 0 has left it as it was */
  close_learning(&run);
}

/* What a validation has chosen: every scan one action a step, none twice, and checkpoints hold it. */
static void choices_are_counted(void **state) {
  struct learning_run run;
  struct error error;
  double score;
  (void)state;
  set_options(&run, "choices");
  open_learning(&run);
  struct training *training = &run.training;
  size_t slices = training->validation.report.slices, lines = training->acquisition.shape.actions;
  run_learning(&run);
  for (uint32_t t = 0; t < training->acquisition.budget; t++) {
    size_t sum = 0;
    for (size_t i = 0; i < lines; i++) sum += policy_learning_of(training)->choices[t * lines + i];
    assert_int_equal(sum, slices);
  }
  for (size_t i = 0; i < lines; i++) {
    size_t sum = 0;
    for (uint32_t t = 0; t < training->acquisition.budget; t++) sum += policy_learning_of(training)->choices[t * lines + i];
    assert_true(sum <= (acquisition_is_initial(&training->acquisition, i) ? 0 : slices));
  }
  uint32_t *kept = ARENA_NEW(folder.arena, uint32_t, training->acquisition.budget * lines);
  memcpy(kept, policy_learning_of(training)->choices, training->acquisition.budget * lines * sizeof *kept);
  assert_good(split_score(&training->validation, policy_learning_of(training)->choices, &score, &error), &error);
  assert_memory_equal(kept, policy_learning_of(training)->choices, training->acquisition.budget * lines * sizeof *kept);
  close_learning(&run);
  struct store *store;
  uint32_t *stored;
  size_t count;
  assert_good(store_open(&store, support_path(&folder, "choices/last.h5"), &error), &error);
  assert_good(store_read_all(store, "choices", STORE_U32, 1 << 16, folder.arena, (void **)&stored, &count, &error),
              &error);
  store_close(store);
  assert_memory_equal(kept, stored, count * sizeof *kept);
}

/* PPO's passes over the rows are shuffled anew in every round. */
static void rounds_have_orders_of_their_own(void **state) {
  uint32_t order[2][ROWS];
  (void)state;
  for (uint32_t round = 0; round < 2; round++) {
    struct learning_run run;
    set_options(&run, NULL);
    run.options.learn.algorithm = LEARN_PPO;
    run.options.learn.epochs = 1;
    run.config.round = round;
    open_learning(&run);
    learn_step(&run.training);
    memcpy(order[round], policy_learning_of(&run.training)->order, sizeof order[round]);
    close_learning(&run);
  }
  assert_memory_not_equal(order[0], order[1], sizeof order[0]);
}

/* ---- what options stand for ---------------------------------------------------------------------------- */

/* auto is stable-baselines3's of the algorithm; PPO's passes and rows are its too. */
static void the_optimiser_follows_the_algorithm(void **state) {
  static const struct {
    enum learn_algorithm algorithm;
    enum learn_optimiser wanted;
    enum optimiser_kind kind;
  } rows[] = {{LEARN_A2C, LEARN_AUTO, OPTIMISER_RMSPROP}, {LEARN_PPO, LEARN_AUTO, OPTIMISER_ADAM},
              {LEARN_A2C, LEARN_ADAM, OPTIMISER_ADAM},    {LEARN_PPO, LEARN_RMSPROP, OPTIMISER_RMSPROP}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct learning_run run;
    set_options(&run, NULL);
    assert_int_equal(run.options.learn.optimiser, LEARN_AUTO);
    run.options.learn.algorithm = rows[i].algorithm;
    run.options.learn.optimiser = rows[i].wanted;
    open_learning(&run);
    assert_int_equal(run.training.optimiser.setup.kind, rows[i].kind);
    assert_true(run.training.optimiser.setup.epsilon == 1e-5);
    close_learning(&run);
  }
  assert_string_equal(option_find(&option_table, "learn.epochs")->standard, "10");
  assert_string_equal(option_find(&option_table, "learn.rows")->standard, "64");
}

/* A reward of PSNR is the PSNR itself, whatever reward.scale says: a mean of decibels is no thousands. */
static void decibels_are_not_scaled(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, NULL);
  assert_true(run.options.reward.scale == 100 && metric_scale(&run.options) == 100);
  assert_good(option_set(&option_table, &run.options, run.arena, "reward.metric", "psnr", "here", &(struct error){0}),
              &(struct error){0});
  assert_true(metric_scale(&run.options) == 1);
  run.config.steps = ROWS;
  open_learning(&run);
  run_learning(&run);
  double reward = run.training.logged.value[LEARN_reward][0];
  if (!(reward > 5 && reward < 60)) fail_msg("the reward of PSNR is %g", reward);
  close_learning(&run);
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

/* Seen by a look, or before a checkpoint is written: the last one stays good. */
static void diverge(const char *output, uint32_t log_every, uint32_t save_every, const char *part) {
  struct learning_run run;
  struct error error;
  set_options(&run, output);
  run.options.learn.save_every = save_every;
  run.options.learn.log_every = log_every;
  open_learning(&run);
  for (int updates = 0; updates < 3; updates++) {
    learn_step(&run.training);
    run.training.done++;
  }
  assert_good(trainer_save(&run.training, "last.h5", &error), &error);
  training_close(&run.training);
  run.config.resume = true;
  open_learning(&run);
  run.training.optimiser.setup.clip = 0;
  run.training.optimiser.rate = 1e30;
  assert_false(trainer_run(&run.training, &error));
  assert_holds(error.text, part);
  close_learning(&run);
  set_options(&run, output);
  run.options.learn.save_every = save_every;
  run.options.learn.log_every = log_every;
  run.config.resume = true;
  open_learning(&run);
  close_learning(&run);
}

static void a_loss_of_nan_stops(void **state) {
  (void)state;
  diverge("nan_1", 1, ROLLOUTS,
          "last.h5; lower learn.rate or learn.clip (0 is no limit) and train anew");
  diverge("nan_7", 7, 1, "is not written; lower the learning rate or set a clip");
}

static void scenes_are_refused(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, NULL);
  run.options.acquisition.initial_lines = 0;
  run.options.acquisition.acceleration = "4,8";
  refuse_learning(&run, "the scene has 2 settings of acceleration, horizon or initial actions");
  run.options.acquisition.acceleration = "4";
  run.options.acquisition.initial_lines = 8;
  refuse_learning(&run, "no line is left to acquire");
  run.options.acquisition.initial_lines = 3;
  run.options.policy.pools = 2;
  run.options.learn.baseline = BASELINE_GROUP;
  refuse_learning(&run, "learn.baseline is group and learn.group 1: a scan has no others of its slice");
  run.options.learn.group = SCANS - 1;
  refuse_learning(&run, "a rollout must have whole groups; set learn.scans to a multiple of learn.group");
  run.options.learn.group = SCANS;
  refuse_learning(&run, "a rollout would scan one slice only; set learn.scans to twice learn.group or more");
  run.options.learn.group = 1;
  run.options.learn.baseline = BASELINE_CRITIC;
  run.config.reconstructor = support_path(&folder, "nowhere.h5");
  refuse_learning(&run, "the reconstructor: ");
  run.config.reconstructor = support_path(&folder, "a2c/last.h5");
  refuse_learning(&run, "it is no checkpoint of a reconstructor");
  run.config.reconstructor = support_path(&folder, "unet/best.h5");
  run.config.policy = support_path(&folder, "unet/best.h5");
  refuse_learning(&run, "the parameters in group 'param' are not those of the network");
  run.config.policy = NULL;
  run.options.data.path = support_path(&folder, "nowhere");
  refuse_learning(&run, "training data: ");
  arena_close(run.arena);
}

static void checkpoints_are_refused(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, "kept");
  learn(&run);
  set_options(&run, "kept");
  refuse_learning(&run, "holds a training (last.h5); go on with --resume");
  run.config.resume = true;
  run.options.policy.hidden = 17;
  refuse_learning(&run, "policy.hidden was 16 and is 17 now");
  run.options.policy.hidden = 16;
  run.options.learn.gamma = 0.5;
  refuse_learning(&run, "learn.gamma was 1 and is 0.5 now");
  run.options.learn.gamma = 1;
  run.options.learn.group = 2;
  refuse_learning(&run, "learn.group was 1 and is 2 now");
  run.options.learn.baseline = BASELINE_GROUP_CRITIC;
  run.options.learn.group = 1;
  refuse_learning(&run, "learn.baseline is group_critic and learn.group 1");
  run.options.learn.baseline = BASELINE_CRITIC;
  run.config.round = 1;
  refuse_learning(&run, "first_scan 0");
  run.config.round = 0;
  run.config.steps = ROWS;
  refuse_learning(&run, "it has 7 rollouts, and 1 are wanted; raise learn.steps or alternate.steps");
  run.config.steps = ROWS * ROLLOUTS;
  run.options.data.path = support_path(&folder, "data/train");
  refuse_learning(&run, "it is of other data");
  run.options.data.path = support_path(&folder, "data");
  support_write_text(support_path(&folder, "kept/last.h5"), "no HDF5");
  refuse_learning(&run, "has no HDF5 signature");
  arena_close(run.arena);
}

/* The scene is the same, but what the training was made from has changed; a copy elsewhere has not. */
static void other_origins_are_refused(void **state) {
  struct copying copying = {"unet", "moved", 0};
  struct learning_run run;
  struct error error;
  (void)state;
  assert_good(folder_make(support_path(&folder, "moved"), &error), &error);
  copy_file(&copying, "best.h5");
  set_options(&run, "origin");
  run.config.policy = support_path(&folder, "round_1/last.h5");
  run.config.round = 1;
  learn(&run);
  set_options(&run, "origin");
  run.config.policy = support_path(&folder, "a2c/last.h5"); /* the same policy */
  run.config.reconstructor = support_path(&folder, "moved/best.h5");
  run.config.round = 1;
  run.config.resume = true;
  open_learning(&run);
  training_close(&run.training);
  run.config.policy = support_path(&folder, "launch_16/last.h5");
  refuse_learning(&run, "it was trained with policy ");
  run.config.policy = support_path(&folder, "a2c/last.h5");
  train_other("other", 2);
  run.config.reconstructor = support_path(&folder, "other/last.h5");
  refuse_learning(&run, "it was trained with reconstructor ");
  refuse_learning(&run, "origin (and the stages after it) away to train anew");
  arena_close(run.arena);
}

/* As the device shrinks, a pass of the policy takes fewer images; then all networks are refused in one text. */
static void networks_are_refused_in_one_text(void **state) {
  struct learning_run run;
  struct error error;
  cl_ulong memory = device.facts.memory, before = device.bytes;
  (void)state;
  set_options(&run, NULL);
  open_learning(&run);
  cl_ulong left = device.bytes - before;
  for (bool good = true; good; left -= left / 64) {
    training_close(&run.training);
    device.facts.memory = before + left;
    good = training_open(&run.training, &device, &run.options, &run.config, &error);
  }
  device.facts.memory = memory;
  assert_holds(error.text, "training needs ");
  assert_holds(error.text, "MiB with 1 image a pass: policy ");
  assert_holds(error.text, ", unet ");
  assert_holds(error.text, "lower policy.channels, policy.pools, policy.hidden, data.size, network.channels, "
                           "network.pools, network.batch or data.most");
  assert_int_equal(device.bytes, before);
  arena_close(run.arena);
}

/* All of a rollout's activations stay where they have room beside the reconstructor; else always is refused. */
static void activations_are_kept_beside_the_reconstructor(void **state) {
  enum device_matrix matrix = device.facts.matrix;
  cl_ulong memory = device.facts.memory, before = device.bytes;
  struct learning_run run;
  (void)state;
  if (matrix == MATRIX_NONE) device.facts.matrix = MATRIX_EMULATED;
  set_options(&run, NULL);
  run.options.policy.channels = 16; /* 2 are too few for the fused path */
  run.options.world.envs = SCANS;
  run.options.train.keep_activations = KEEP_ALWAYS;
  open_learning(&run);
  assert_int_equal(run.training.policy.batch, ROWS);
  assert_true(learning_of(&run.training)->rollout.keeps && run.training.policy.blocks);
  training_close(&run.training);
  device.facts.memory = before + ((cl_ulong)64 << 20); /* what libraries may take */
  refuse_learning(&run, "train.keep_activations is always, and a rollout's cannot be kept");
  device.facts.memory = memory;
  device.facts.matrix = matrix;
  assert_int_equal(device.bytes, before);
  arena_close(run.arena);
}

/* The lists of a policy whose rollouts are kept, as they are described. */
static char *described(const struct learning_run *run) {
  struct lists lists;
  struct error error;
  char *text = NULL;
  size_t bytes;
  assert_good(method_lists(&lists, &run->options, run->arena, &error), &error);
  FILE *file = open_memstream(&text, &bytes);
  schedule_print_json(lists_find(&lists, "policy", "play")->schedule, "policy", file);
  schedule_print_json(lists_find(&lists, "policy", "update")->schedule, "policy", file);
  fclose(file);
  return text;
}

/* train.keep_activations always describes the lists that a device runs which keeps them. */
static void what_is_kept_is_described(void **state) {
  enum device_matrix matrix = device.facts.matrix;
  const char *path = support_path(&folder, "trace");
  struct learning_run run;
  struct error error;
  size_t bytes;
  (void)state;
  if (matrix == MATRIX_NONE) device.facts.matrix = MATRIX_EMULATED;
  set_options(&run, NULL);
  run.options.train.method = METHOD_L2S;
  run.options.policy.channels = 16;
  run.options.policy.pools = 1;
  run.options.learn.scans = run.options.world.envs = 2; /* emulated matrix instructions take their time */
  run.options.acquisition.budget = 1;
  run.options.train.keep_activations = KEEP_ALWAYS;
  setenv("L2SR_STRICT", "1", 1);
  setenv("L2SR_TRACE", path, 1);
  open_learning(&run);
  unsetenv("L2SR_TRACE");
  unlink(path); /* what loading ran */
  device.stage = "policy";
  learn_step(&run.training);
  assert_good(device_finish(&device, &error), &error);
  device.stage = NULL;
  char *told = described(&run), *ran = (char *)support_read(run.arena, path, &bytes);
  assert_non_null(strstr(told, "gather_kept"));
  support_lines(ran, told);
  support_lines(told, ran);
  free(told);
  device.facts.matrix = matrix;
  close_learning(&run);
}

/* Refuses what would not fit into the 32 bits of a scan's number. */
static void numbers_of_scans_do_not_wrap(void **state) {
  struct learning_run run;
  (void)state;
  set_options(&run, NULL);
  run.options.learn.steps = UINT32_MAX;
  run.options.alternate.steps = UINT32_MAX;
  run.config.steps = ROWS;
  run.config.round = 4; /* 5 budgets of a fifth each, rounded up */
  refuse_learning(&run, "rollouts in 5 rounds are more than the 715827882 whose scans and passes have numbers");
  run.options.alternate.steps = UINT32_MAX - 7 * ROWS;
  open_learning(&run);
  assert_true(learning_of(&run.training)->first_scan > UINT32_MAX - UINT32_MAX / 5 - 200);
  learn_step(&run.training);
  close_learning(&run);
}

/* Goes on from what a training saves that stands where none can. */
static void refuse_saved(struct learning_run *run, const char *part) {
  struct copying copying = {"saved", "damaged", 0};
  struct learning_run next;
  struct error error;
  assert_good(trainer_save(&run->training, "last.h5", &error), &error);
  assert_good(folder_make(support_path(&folder, copying.to), &error), &error);
  copy_file(&copying, "last.h5");
  copy_file(&copying, "best.h5");
  set_options(&next, "damaged");
  next.config.resume = true;
  refuse_learning(&next, part);
  arena_close(next.arena);
}

static void damaged_values_are_refused(void **state) {
  struct learning_run run;
  struct error error;
  const float nan_value = NAN;
  (void)state;
  set_options(&run, "saved");
  open_learning(&run);
  run_learning(&run);
  struct training *training = &run.training;
  struct learning *learning = learning_of(training);
  uint64_t best_at = training->best_at;
  training->best_at = ROLLOUTS + 1;
  refuse_saved(&run, "it has best_at 8; expected a number from 0 to 7");
  training->best_at = best_at;
  learning->first_scan = 5;
  refuse_saved(&run, "it has first_scan 5; expected scans from 0 on");
  learning->first_scan = 0;
  training->done = ROLLOUTS + 1;
  refuse_saved(&run, "it has 8 rollouts, and 7 are wanted");
  training->done = ROLLOUTS;
  training->logged.count = ROLLOUTS + 2;
  refuse_saved(&run, "log/look/rollouts is longer than its training");
  training->logged.count = ROLLOUTS;
  training->best = NAN;
  refuse_saved(&run, "it has best nan; expected a number from");
  training->best = INFINITY;
  refuse_saved(&run, "it has best inf");
  training->best = -INFINITY;
  refuse_saved(&run, "it has best -inf");
  training->best = 2;
  refuse_saved(&run, "which is none of the validations in its log");
  training->best = training->validations.value[0][0];
  training->policy.setup.channels++;
  refuse_saved(&run, "its attribute network_channels is ");
  training->policy.setup.channels--;
  training->policy.budget++;
  refuse_saved(&run, "its attribute scan_budget is 6; expected 5: the file is damaged");
  training->policy.budget--;
  device_write(&device, training->optimiser.second, 0, sizeof nan_value, &nan_value);
  assert_false(trainer_save(training, "last.h5", &error));
  assert_holds(error.text, "has become nan at element 0 and is not written");
  close_learning(&run);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static int open_all(void **state) {
  (void)state;
  if (support_open_training(&folder, &device, N, SLICES / 3)) return 1;
  train_other("unet", 1);
  return 0;
}

static int close_all(void **state) {
  (void)state;
  return support_close_training(&folder, &device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a2c_goes_on_as_if_never_stopped),
      cmocka_unit_test(ppo_goes_on_as_if_never_stopped),
      cmocka_unit_test(groups_go_on_as_if_never_stopped),
      cmocka_unit_test(weights_follow_their_schedules),
      cmocka_unit_test(a_finished_training_changes_nothing),
      cmocka_unit_test(launches_change_nothing),
      cmocka_unit_test(a_step_allocates_nothing),
      cmocka_unit_test(rounds_number_their_scans_after_those_before),
      cmocka_unit_test(a_round_takes_up_the_policy),
      cmocka_unit_test(choices_are_counted),
      cmocka_unit_test(rounds_have_orders_of_their_own),
      cmocka_unit_test(the_optimiser_follows_the_algorithm),
      cmocka_unit_test(decibels_are_not_scaled),
      cmocka_unit_test(a_loss_of_nan_stops),
      cmocka_unit_test(scenes_are_refused),
      cmocka_unit_test(checkpoints_are_refused),
      cmocka_unit_test(other_origins_are_refused),
      cmocka_unit_test(networks_are_refused_in_one_text),
      cmocka_unit_test(activations_are_kept_beside_the_reconstructor),
      cmocka_unit_test(what_is_kept_is_described),
      cmocka_unit_test(numbers_of_scans_do_not_wrap),
      cmocka_unit_test(damaged_values_are_refused),
  };
  return cmocka_run_group_tests_name("learn", tests, open_all, close_all);
}
