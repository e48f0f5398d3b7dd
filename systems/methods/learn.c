#include "systems/methods/learn.h"

#include <math.h>

/* ---- one rollout -------------------------------------------------------------------------------------- */

struct learning *learning_of(const struct training *training) {
  return OWN(learning, training);
}

uint32_t learn_next_scan(const struct training *training) {
  const struct learning *learning = training->own;
  return learning->first_scan + (uint32_t)(training->done * learning->rollout.scans);
}

double learn_scaled_rate(const struct options *options) {
  double rate = options->learn.rate, more = options->learn.scans / 16.0;
  if (options->learn.scaling == SCALING_NONE) return rate;
  return rate * (options->learn.scaling == SCALING_LINEAR ? more : sqrt(more));
}

/* Every epoch of a rollout has an order of its own. */
static void run_shuffle(struct world *world, void *context) {
  struct training *training = context;
  struct learning *learning = training->own;
  struct random random;
  uint64_t before = learn_next_scan(training) / learning->rollout.scans; /* rollouts, of all rounds */
  uint64_t pass = before * training->options->learn.epochs + learning->epoch;
  random_start(&random, training->options->world.seed, STREAM_ORDER, (uint32_t)pass);
  random_order(&random, learning->policy.order, learning->rollout.rows);
  world_write(world, ROLLOUT_order, 0, learning->rollout.rows, learning->policy.order);
}

static const struct system shuffle_rows = {.name = "shuffle_rows",
                                           .doc = "the order in which an epoch takes the rows of the rollout",
                                           .parts = SET(ROLLOUT_order),
                                           .loads = true,
                                           .run = run_shuffle};

static bool next_epoch(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  struct learning *learning = training->own;
  (void)world;
  learning->epoch = (uint32_t)turn;
  return turn < training->options->learn.epochs;
}

static const struct system repeat_epochs = {
    .name = "epochs", .doc = "PPO's, each over all rows in an order of its own", .next = next_epoch};

/* A2C's is all rows. */
static bool next_minibatch(struct world *world, void *context, size_t turn) {
  struct learning *learning = ((struct training *)context)->own;
  struct rollout *rollout = &learning->rollout;
  struct pass pass;
  (void)world;
  if (!pass_take(&pass, turn, rollout->rows, rollout->most)) return false;
  rollout->first = pass.first;
  rollout->count = pass.images;
  return true;
}

static const struct system repeat_minibatches = {
    .name = "minibatches", .doc = "rows of an update", .next = next_minibatch};

bool learn_is_ppo(const struct options *options) {
  return options->learn.algorithm == LEARN_PPO;
}

void learn_set_loss(struct training *training) {
  const struct options *options = training->options;
  struct rollout *rollout = &learning_of(training)->rollout;
  rollout->update = (struct policy_update){.value_weight = (float)options->learn.value,
                                           .clip = learn_is_ppo(options) ? (float)options->learn.ratio : 0};
  rollout->simulation->group = options->learn.group;
  rollout->group.members = options->learn.group;
}

/* A value that falls from `start` to `floor` while `progress` goes from 0 to 1; it never rises. */
static double scheduled(enum learn_schedule schedule, double start, double floor, double progress) {
  if (schedule == LEARN_CONSTANT || floor >= start) return start;
  double left = schedule == LEARN_LINEAR ? 1 - progress : (1 + cos(M_PI * progress)) / 2;
  return floor + (start - floor) * left;
}

/* A constant rate stays the optimiser's own: what goes on keeps it, but for a teacher's. */
static void run_schedule(struct world *world, void *context) {
  struct training *training = context;
  const struct options *options = training->options;
  struct learning *learning = training->own;
  (void)world;
  uint64_t taught = learning->taught, done = training->done - taught;
  double progress = (double)done / (double)(training->wanted - taught);
  if (taught && !done) training->optimiser.rate = learn_scaled_rate(options);
  learning->rollout.update.entropy_weight =
      (float)scheduled((enum learn_schedule)options->learn.entropy_schedule, options->learn.entropy,
                       options->learn.entropy_floor, progress);
  if (options->learn.rate_schedule != LEARN_CONSTANT)
    training->optimiser.rate = scheduled((enum learn_schedule)options->learn.rate_schedule,
                                         learn_scaled_rate(options), options->learn.rate_floor, progress);
}

static const struct system schedule_rates = {
    .name = "schedule_rates", .doc = "the learning rate and the entropy's weight of this update", .run = run_schedule};

void learn_fill_passes(struct training *training, struct schedule *schedule, bool normalised) {
  struct rollout *rollout = &learning_of(training)->rollout;
  bool ppo = learn_is_ppo(training->options);
  if (ppo) schedule_add(schedule, &repeat_epochs, training);
  if (ppo) schedule_add(schedule, &shuffle_rows, training);
  if (normalised) rollout_add_normalise(rollout, schedule);
  schedule_add(schedule, &repeat_minibatches, training);
  rollout_add_gradient(rollout, schedule);
  policy_task_add_optimise(training, schedule);
  schedule_add(schedule, &system_end, NULL);
  if (ppo) schedule_add(schedule, &system_end, NULL);
}

void learn_fill_update(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &schedule_rates, training);
  learn_fill_passes(training, schedule, true);
}

static const struct system save_terms = {
    .name = "save_terms", .doc = "the losses of the last rollout, for the log", .reads = SET(ROLLOUT_terms)};

const struct system *const learn_log_rows[] = {&save_terms, &system_save_rollout, NULL};

const struct system *const learn_systems[] = {&schedule_rates, &repeat_epochs, &shuffle_rows,
                                                     &repeat_minibatches, NULL};

/* ---- looking ------------------------------------------------------------------------------------------- */

/* A teacher's scans have no others of their slice, and its choices no advantages. */
static void tell_facts(struct rollout_facts facts, bool taught, double values[TRAINING_VALUES]) {
  values[LEARN_explained] = facts.explained;
  if (taught) values[LEARN_ratio] = 0;
  if (taught) facts.between = facts.signal = facts.distinct = NAN;
  values[LEARN_between] = facts.between;
  values[LEARN_signal] = facts.signal;
  values[LEARN_distinct] = facts.distinct;
}

/* Tells the return of the last rollout. */
bool learn_log(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct learning *learning = training->own;
  float *terms = learning->policy.terms;
  size_t rows = learning->rollout.rows;
  double sum[4] = {0}, reward = 0, norm = 0;
  world_get(training_world(training), &save_terms, ROLLOUT_terms, 0, rows, terms);
  rollout_copy_read(&learning->copy, &learning->rollout);
  policy_task_share_terms(training, 4, rows, learning->rollout.most);
  if (!device_finish(training->device, error) || !optimise_norm(&training->optimiser, &norm, error))
    return false;
  for (size_t i = 0; i < rows; i++) {
    reward += learning->copy.reward[i];
    for (int k = 0; k < 4; k++) sum[k] += terms[4 * i + (size_t)k] / (double)rows;
  }
  values[LEARN_reward] = reward / (double)learning->rollout.scans;
  values[LEARN_policy_loss] = sum[0];
  values[LEARN_value_loss] = sum[2];
  values[LEARN_entropy] = sum[1];
  values[LEARN_ratio] = sum[3];
  values[LEARN_gradient_norm] = norm;
  values[LEARN_rate] = training->optimiser.rate;
  values[LEARN_entropy_weight] = learning->rollout.update.entropy_weight;
  tell_facts(rollout_facts(&learning->copy, &learning->rollout), training->done <= learning->taught,
             values);
  return true;
}
