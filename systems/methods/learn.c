#include "systems/methods/learn.h"

#include "systems/networks/checkpoint.h"

#include <math.h>

/* ---- one rollout -------------------------------------------------------------------------------------- */

static uint32_t next_scan(const struct learning *learning) {
  return learning->first_scan + (uint32_t)(learning->base.trainer.done * learning->rollout.scans);
}

/* From draws of the rollout's own. */
static void run_shuffle(struct world *world, void *context) {
  struct learning *learning = context;
  struct random random;
  uint64_t before = next_scan(learning) / learning->rollout.scans; /* rollouts, of all rounds */
  uint64_t pass = before * learning->base.trainer.options->learn.epochs + learning->epoch;
  random_start(&random, learning->base.trainer.options->world.seed, STREAM_ORDER, (uint32_t)pass);
  random_order(&random, learning->base.order, learning->rollout.rows);
  world_write(world, ROLLOUT_order, 0, learning->rollout.rows, learning->base.order);
}

static const struct system shuffle_rows = {.name = "shuffle_rows",
                                           .doc = "the order in which an epoch takes the rows of the rollout",
                                           .parts = SET(ROLLOUT_order),
                                           .loads = true,
                                           .run = run_shuffle};

static bool next_epoch(struct world *world, void *context, size_t turn) {
  struct learning *learning = context;
  (void)world;
  learning->epoch = (uint32_t)turn;
  return turn < learning->base.trainer.options->learn.epochs;
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

static bool is_ppo(const struct options *options) {
  return options->learn.algorithm == LEARN_PPO;
}

/* By every epoch's minibatches; of advantages as they are, or normalised. */
static void add_epochs(struct learning *learning, struct schedule *schedule, bool normalised) {
  struct policy_training *training = &learning->base;
  bool ppo = is_ppo(training->trainer.options);
  if (ppo) schedule_add(schedule, &repeat_epochs, learning);
  if (ppo) schedule_add(schedule, &shuffle_rows, learning);
  if (normalised) rollout_add_normalise(&learning->rollout, schedule);
  schedule_add(schedule, &repeat_minibatches, learning);
  rollout_add_gradient(&learning->rollout, schedule);
  policy_training_add_optimise(training, schedule);
  schedule_add(schedule, &system_end, NULL);
  if (ppo) schedule_add(schedule, &system_end, NULL);
}

void learn_add_update(struct policy_training *training, struct schedule *schedule) {
  add_epochs((struct learning *)training, schedule, true);
}

void learn_add_passes(struct learning *learning, struct schedule *schedule) {
  add_epochs(learning, schedule, false);
}

const struct system *const learn_systems[] = {&repeat_epochs, &shuffle_rows, &repeat_minibatches, NULL};

/* From `start` to `floor` while `progress` goes from 0 to 1; never up. */
static double scheduled(enum learn_schedule schedule, double start, double floor, double progress) {
  if (schedule == LEARN_CONSTANT || floor >= start) return start;
  double left = schedule == LEARN_LINEAR ? 1 - progress : (1 + cos(M_PI * progress)) / 2;
  return floor + (start - floor) * left;
}

/* Weights of this unit. A constant rate stays the optimiser's own: what goes on keeps it, but for a
 * teacher's. */
static void schedule_weights(struct learning *learning) {
  const struct options *options = learning->base.trainer.options;
  uint64_t taught = learning->clone.rollouts, done = learning->base.trainer.done - taught;
  double progress = (double)done / (double)(learning->base.trainer.wanted - taught);
  if (taught && !done) learning->base.trainer.optimiser.rate = learn_scaled_rate(options);
  learning->rollout.update.entropy_weight =
      (float)scheduled((enum learn_schedule)options->learn.entropy_schedule, options->learn.entropy,
                       options->learn.entropy_floor, progress);
  if (options->learn.rate_schedule != LEARN_CONSTANT)
    learning->base.trainer.optimiser.rate =
        scheduled((enum learn_schedule)options->learn.rate_schedule, learn_scaled_rate(options),
                  options->learn.rate_floor, progress);
}

void learn_step(struct learning *learning) {
  struct rollout *rollout = &learning->rollout;
  bool taught = clone_teaches(learning);
  (taught ? clone_begin : schedule_weights)(learning);
  rollout_play(rollout, taught ? &learning->clone.play : &rollout->play, next_scan(learning));
  rollout->most =
      is_ppo(learning->base.trainer.options) ? learning->base.trainer.options->learn.rows : rollout->rows;
  learning->base.trainer.device->phase = "update";
  schedule_run(taught ? &learning->clone.update : &learning->base.update,
               learning->base.train.simulation.world);
  if (taught) clone_end(learning);
  learning->base.trainer.device->phase = "";
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static void step(struct trainer *trainer) {
  learn_step((struct learning *)trainer);
}

/* A teacher's scans have no others of their slice, and its choices no advantages. */
static void tell_facts(struct rollout_facts facts, bool taught, double values[TRAINER_VALUES]) {
  values[LEARN_explained] = facts.explained;
  if (taught) values[LEARN_ratio] = 0;
  if (taught) facts.between = facts.signal = facts.distinct = NAN;
  values[LEARN_between] = facts.between;
  values[LEARN_signal] = facts.signal;
  values[LEARN_distinct] = facts.distinct;
}

static const struct system save_terms = {
    .name = "save_terms", .doc = "the losses of the last rollout, for the log", .reads = SET(ROLLOUT_terms)};

/* Tells the return of the last rollout. */
static bool look(struct trainer *trainer, double values[TRAINER_VALUES], struct error *error) {
  struct learning *learning = (struct learning *)trainer;
  struct world *world = learning->base.train.simulation.world;
  size_t rows = learning->rollout.rows;
  double sum[4] = {0}, reward = 0, norm = 0;
  world_get(world, &save_terms, ROLLOUT_terms, 0, rows, learning->base.terms);
  rollout_copy_read(&learning->copy, &learning->rollout);
  if (!device_finish(trainer->device, error) || !optimise_norm(&trainer->optimiser, &norm, error))
    return false;
  for (size_t i = 0; i < rows; i++) {
    reward += learning->copy.reward[i];
    for (int k = 0; k < 4; k++) sum[k] += learning->base.terms[4 * i + (size_t)k] / (double)rows;
  }
  values[LEARN_reward] = reward / (double)learning->rollout.scans;
  values[LEARN_policy_loss] = sum[0];
  values[LEARN_value_loss] = sum[2];
  values[LEARN_entropy] = sum[1];
  values[LEARN_ratio] = sum[3];
  values[LEARN_gradient_norm] = norm;
  values[LEARN_rate] = trainer->optimiser.rate;
  values[LEARN_entropy_weight] = learning->rollout.update.entropy_weight;
  tell_facts(rollout_facts(&learning->copy, &learning->rollout), trainer->done <= learning->clone.rollouts,
             values);
  return true;
}

static bool write(const struct trainer *trainer, struct store *store, struct error *error) {
  return policy_training_write(trainer, store, error) &&
         store_put_number(store, "first_scan", ((const struct learning *)trainer)->first_scan, error);
}

static bool read(struct trainer *trainer, struct store *store, struct error *error) {
  uint32_t expected = ((const struct learning *)trainer)->first_scan;
  double scan;
  if (!policy_training_read(trainer, store, error) ||
      !checkpoint_whole(store, "first_scan", UINT32_MAX, &scan, error))
    return false;
  return scan == expected ||
         fail(error,
              "it has first_scan %.0f; expected scans from %u on: it is of another training or damaged", scan,
              expected);
}

static const struct trainer_value look_values[] = {
#define X(name, tag, doc) {#name, tag, doc},
    LEARN_VALUES(X)
#undef X
        {NULL, NULL, NULL}};

static const struct trainer_curve curves[] = {
    {"reward of a scan", "training", .looks = true, .value = LEARN_reward},
    {"%s", "validation", .validation = true},
    {"entropy of a choice", "training", .looks = true, .value = LEARN_entropy},
    {.up = NULL}};

const struct task task_policy = {
    .network = "policy",
    .unit = "rollout",
    .worked = "steps",
    .train = {"look", look_values, (1 << LEARN_explained) - 1, ~0u << LEARN_explained},
    .validation = {"validation", policy_score_values, 1},
    .select = SELECT_HIGHEST,
    .scores = true,
    .curves = curves,
    .more = "learn.steps or alternate.steps",
    .advice = "lower learn.rate or learn.clip (0 is no limit)",
    .add = policy_training_add,
    .step = step,
    .look = look,
    .validate = policy_training_validate,
    .picture = policy_training_picture,
    .write = write,
    .read = read};
