#include "systems/methods/learn.h"

#include "systems/networks/checkpoint.h"

/* ---- one rollout -------------------------------------------------------------------------------------- */

static uint32_t next_scan(const struct learning *learning) {
  return learning->first_scan + (uint32_t)(learning->trainer.done * learning->rollout.scans);
}

/* From draws of the rollout's own. */
static void shuffle(struct learning *learning, uint32_t epoch) {
  struct random random;
  uint64_t before = next_scan(learning) / learning->rollout.scans; /* rollouts, of all rounds */
  uint64_t pass = before * learning->trainer.options->learn.epochs + epoch;
  random_start(&random, learning->trainer.options->world.seed, STREAM_ORDER, (uint32_t)pass);
  random_order(&random, learning->order, learning->rollout.rows);
  rollout_order(&learning->rollout, learning->order);
}

static bool next_epoch(struct world *world, void *context, size_t turn) {
  struct learning *learning = context;
  (void)world;
  if (turn >= learning->trainer.options->learn.epochs) return false;
  shuffle(learning, (uint32_t)turn);
  return true;
}

static const struct system repeat_epochs = {
    .name = "epochs", .doc = "PPO's, each over all rows in an order of its own", .next = next_epoch};

/* A2C's is all rows. */
static bool next_minibatch(struct world *world, void *context, size_t turn) {
  struct learning *learning = context;
  struct rollout *rollout = &learning->rollout;
  size_t first = turn * rollout->most, left = rollout->rows - first;
  (void)world;
  if (first >= rollout->rows) return false;
  rollout->first = first;
  rollout->count = left < rollout->most ? left : rollout->most;
  return true;
}

static const struct system repeat_minibatches = {
    .name = "minibatches", .doc = "rows of an update", .next = next_minibatch};

static void run_zero(struct world *world, void *context) {
  (void)world;
  graph_zero_gradients(((struct learning *)context)->policy.graph);
}

static const struct system zero = {
    .name = "zero_gradients", .doc = "gradients of the policy start at 0", .run = run_zero};

static void run_optimise(struct world *world, void *context) {
  struct learning *learning = context;
  (void)world;
  optimise_step(&learning->trainer.optimiser);
  policy_changed(&learning->policy);
}

static const struct system optimise = {
    .name = "optimise_policy", .doc = "a step of the policy's parameters", .run = run_optimise};

static bool is_ppo(const struct options *options) {
  return options->learn.algorithm == LEARN_PPO;
}

void learn_add_update(struct learning *learning, struct schedule *schedule) {
  bool ppo = is_ppo(learning->trainer.options);
  if (ppo) schedule_add(schedule, &repeat_epochs, learning);
  rollout_add_normalise(&learning->rollout, schedule);
  schedule_add(schedule, &repeat_minibatches, learning);
  schedule_add(schedule, &zero, learning);
  rollout_add_gradient(&learning->rollout, schedule);
  schedule_add(schedule, &optimise, learning);
  schedule_add(schedule, &system_end, NULL);
  if (ppo) schedule_add(schedule, &system_end, NULL);
}

const struct system *const learn_systems[] = {&repeat_epochs, &repeat_minibatches, &zero, &optimise, NULL};

bool learn_describe(struct learning *learning, const struct options *options, struct schedule *play,
                    struct error *error) {
  struct simulation *simulation = &learning->train.simulation;
  struct simulation_plan plan = rollout_plan(options, 1, 1, 1);
  *learning = (struct learning){.trainer = {.options = options}};
  plan.network = true;
  if (!simulation_describe(simulation, options, &plan, &sampler_policy, error)) return false;
  rollout_describe(&learning->rollout, simulation, learn_normalises(options));
  schedule_open(play, &component_schema);
  rollout_add_play(&learning->rollout, play);
  schedule_open(&learning->update, &component_schema);
  learn_add_update(learning, &learning->update);
  return schedule_close(play, false, error) && schedule_close(&learning->update, false, error);
}

void learn_step(struct learning *learning) {
  struct rollout *rollout = &learning->rollout;
  rollout_play(rollout, next_scan(learning));
  rollout->most = is_ppo(learning->trainer.options) ? learning->trainer.options->learn.rows : rollout->rows;
  learning->trainer.device->phase = "update";
  schedule_run(&learning->update, &learning->train.simulation.world);
  learning->trainer.device->phase = "";
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static void add_all(struct trainer *trainer, struct schedule *schedule) {
  struct learning *learning = (struct learning *)trainer;
  rollout_add_play(&learning->rollout, schedule);
  learn_add_update(learning, schedule);
}

static void step(struct trainer *trainer) {
  learn_step((struct learning *)trainer);
}

/* Tells the return of the last rollout. */
static bool look(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct learning *learning = (struct learning *)trainer;
  struct world *world = &learning->train.simulation.world;
  size_t rows = learning->rollout.rows;
  double sum[4] = {0}, reward = 0, norm = 0;
  world_read(world, ROLLOUT_terms, 0, rows, learning->terms);
  world_read(world, ROLLOUT_reward, 0, rows, learning->rewards);
  if (!device_finish(trainer->device, error) || !optimise_norm(&trainer->optimiser, &norm, error)) return false;
  for (size_t i = 0; i < rows; i++) {
    reward += learning->rewards[i];
    for (int k = 0; k < 4; k++) sum[k] += learning->terms[4 * i + (size_t)k] / (double)rows;
  }
  values[LEARN_reward] = reward / (double)learning->rollout.scans;
  values[LEARN_policy_loss] = sum[0];
  values[LEARN_value_loss] = sum[2];
  values[LEARN_entropy] = sum[1];
  values[LEARN_ratio] = sum[3];
  values[LEARN_gradient_norm] = norm;
  values[LEARN_rate] = trainer->optimiser.rate;
  return true;
}

static bool validate(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  return split_score(&((struct learning *)trainer)->validation, &values[0], error);
}

static bool write(const struct trainer *trainer, struct store *store, struct error *error) {
  const struct learning *learning = (const struct learning *)trainer;
  return policy_write(&learning->policy, store, error) &&
         store_put_number(store, "first_scan", learning->first_scan, error);
}

static bool read(struct trainer *trainer, struct store *store, struct error *error) {
  struct learning *learning = (struct learning *)trainer;
  double scan;
  if (!policy_same(&learning->policy, store, error) ||
      !checkpoint_whole(store, "first_scan", UINT32_MAX, &scan, error))
    return false;
  if (scan != learning->first_scan)
    return fail(error,
                "it has first_scan %.0f; expected scans from %u on: it is of another training or damaged",
                scan, learning->first_scan);
  policy_changed(&learning->policy);
  return true;
}

static const struct trainer_value look_values[] = {
#define X(name, tag, doc) {#name, tag, doc},
    LEARN_VALUES(X)
#undef X
        {NULL, NULL, NULL}};

static const struct trainer_value score_values[] = {
    {"score", "%s/validation", "the mean of the scene's metric over the validation slices"},
    {NULL, NULL, NULL}};

const struct task task_policy = {.network = "policy",
                                 .unit = "rollout",
                                 .worked = "steps",
                                 .train = {"look", look_values, (1 << LEARN_VALUE_COUNT) - 1},
                                 .validation = {"validation", score_values, 1},
                                 .select = SELECT_HIGHEST,
                                 .scores = true,
                                 .more = "learn.steps or alternate.steps",
                                 .advice = "lower learn.rate or learn.clip (0 is no limit)",
                                 .add = add_all,
                                 .step = step,
                                 .look = look,
                                 .validate = validate,
                                 .write = write,
                                 .read = read};
