#include "systems/methods/learn.h"

#include "engine/base/log.h"
#include "engine/base/round.h"

#include <math.h>

/* ---- one rollout -------------------------------------------------------------------------------------- */

static uint32_t next_scan(const struct learning *learning) {
  return learning->first_scan + (uint32_t)(learning->rollouts * learning->rollout.scans);
}

/* From draws of the rollout's own. */
static void shuffle(struct learning *learning, uint32_t epoch) {
  struct random random;
  uint64_t before = next_scan(learning) / learning->rollout.scans; /* roll-outs, of all rounds */
  uint64_t pass = before * learning->options->learn.epochs + epoch;
  random_start(&random, learning->options->world.seed, STREAM_ORDER, (uint32_t)pass);
  random_order(&random, learning->order, learning->rollout.rows);
  rollout_order(&learning->rollout, learning->order);
}

static bool next_epoch(struct world *world, void *context, size_t turn) {
  struct learning *learning = context;
  (void)world;
  if (turn >= learning->options->learn.epochs) return false;
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
  optimise_step(&learning->optimiser);
  policy_changed(&learning->policy);
}

static const struct system optimise = {
    .name = "optimise_policy", .doc = "a step of the policy's parameters", .run = run_optimise};

static bool is_ppo(const struct options *options) {
  return options->learn.algorithm == LEARN_PPO;
}

void learn_add_update(struct learning *learning, struct schedule *schedule) {
  bool ppo = is_ppo(learning->options);
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
  *learning = (struct learning){.options = options};
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
  rollout->most = is_ppo(learning->options) ? learning->options->learn.rows : rollout->rows;
  learning->device->phase = "update";
  schedule_run(&learning->update, &learning->train.simulation.world);
  learning->device->phase = "";
  learning->rollouts++;
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static bool refuse_loss(const struct learning *learning, double loss, struct error *error) {
  struct arena *arena = arena_open();
  const char *last = learning->run.folder ? learn_path(learning, "last.h5") : "";
  const char *kept = file_is_there(last) ? arena_text(arena, "; %s is from before", last) : "";
  fail_as(error, L2SR_DIVERGED,
          "the loss is %g after %llu roll-out%s (%llu update%s)%s; lower learn.rate or learn.clip (0 is no "
          "limit) and train anew",
          loss, (unsigned long long)learning->rollouts, plural(learning->rollouts),
          (unsigned long long)learning->optimiser.step, plural(learning->optimiser.step), kept);
  arena_close(arena);
  return false;
}

/* Reads what the last roll-out was worth; waits. */
static bool look(struct learning *learning, struct error *error) {
  size_t rows = learning->rollout.rows, at = learning->looks;
  double sum[4] = {0}, reward = 0, norm = 0;
  world_read(&learning->train.simulation.world, ROLLOUT_terms, 0, rows, learning->terms);
  world_read(&learning->train.simulation.world, ROLLOUT_reward, 0, rows, learning->rewards);
  if (!device_finish(learning->device, error)) return false;
  if (!optimise_norm(&learning->optimiser, &norm, error)) return false;
  for (size_t i = 0; i < rows; i++) {
    reward += learning->rewards[i];
    for (int k = 0; k < 4; k++) sum[k] += learning->terms[4 * i + (size_t)k] / (double)rows;
  }
  const double values[] = {[LEARN_reward] = reward / (double)learning->rollout.scans,
                           [LEARN_policy_loss] = sum[0],
                           [LEARN_value_loss] = sum[2],
                           [LEARN_entropy] = sum[1],
                           [LEARN_ratio] = sum[3],
                           [LEARN_gradient_norm] = norm,
                           [LEARN_rate] = learning->optimiser.rate};
  double loss = sum[0] + sum[1] + sum[2];
  if (!isfinite(loss + reward + norm)) return refuse_loss(learning, loss + reward + norm, error);
  for (int v = 0; v < LEARN_VALUE_COUNT; v++) learning->look[v][at] = values[v];
  learning->look_at[at] = (double)learning->rollouts;
  learning->looks++;
  return true;
}

bool learn_score_split(struct learn_split *split, double *score, struct error *error) {
  struct simulation *simulation = &split->simulation;
  size_t slices = split->report.slices, most = simulation->world.capacity[TABLE_ENV];
  struct arena *arena = arena_open();
  float *quality = ARENA_NEW(arena, float, most);
  double sum = 0;
  bool good = true;
  for (size_t first = 0; good && first < slices; first += most) {
    size_t envs = slices - first < most ? slices - first : most;
    simulation_restart(simulation, (uint32_t)first, envs);
    simulation_episode(simulation);
    world_read(&simulation->world, ENV_quality, 0, envs, quality);
    good = device_finish(simulation->device, error);
    for (size_t i = 0; i < envs; i++) sum += quality[i];
  }
  arena_close(arena);
  *score = sum / (double)slices;
  return good;
}

static bool validate(struct learning *learning, struct error *error) {
  double score;
  if (!learn_score_split(&learning->validation, &score, error)) return false;
  if (!isfinite(score)) return refuse_loss(learning, score, error);
  learning->score_at[learning->validations] = (double)learning->rollouts;
  learning->score[learning->validations++] = score;
  if (score <= learning->best) return true;
  learning->best = score;
  learning->best_at = learning->rollouts;
  return !learning->run.folder || learn_save(learning, "best.h5", error);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

bool learn_due(uint64_t done, uint64_t every, uint64_t wanted) {
  return done % every == 0 || done == wanted;
}

double learn_pace_take(struct learn_pace *pace, uint64_t done) {
  double now = clock_seconds(), rate = (double)(done - pace->done) / (now - pace->seconds);
  *pace = (struct learn_pace){done, now};
  return rate;
}

static bool validate_beside(struct learning *learning, struct learn_pace *pace, struct error *error) {
  if (!device_finish(learning->device, error)) return false;
  double start = clock_seconds();
  bool good = validate(learning, error);
  pace->seconds += clock_seconds() - start;
  return good;
}

/* What is to be done after a roll-out. */
static bool attend(struct learning *learning, const struct learn_wish *wish, struct learn_pace *pace,
                   struct error *error) {
  const struct options *options = learning->options;
  uint64_t done = learning->rollouts, wanted = learning->wanted;
  uint64_t each = divide_up(wanted, options->learn.validations);
  if (learn_due(done, options->learn.log_every, wanted)) {
    if (!look(learning, error)) return false;
    learning->steps_per_second = learn_pace_take(pace, done) * (double)learning->rollout.rows;
    learn_log_look(learning, learning->run.log);
    learn_log_look_event(learning);
    if (wish->see) wish->see(learning, wish->context);
  }
  if (learn_due(done, each, wanted)) {
    if (!validate_beside(learning, pace, error)) return false;
    learn_log_validation(learning, learning->run.log);
    learn_log_validation_event(learning);
    log_info("%llu of %llu roll-out%s: validation %s %.5f%s", (unsigned long long)done,
             (unsigned long long)wanted, plural(wanted), metric_list[options->reward.metric].name,
             learning->score[learning->validations - 1], learning->best_at == done ? ", best" : "");
  }
  if (learning->run.folder && learn_due(done, options->learn.save_every, wanted))
    return learn_save(learning, "last.h5", error);
  return true;
}

bool learn_run(struct learning *learning, const struct learn_wish *wish, struct error *error) {
  struct progress progress;
  size_t rows = learning->rollout.rows;
  bool good = true;
  uint64_t start = learning->rollouts;
  struct learn_pace pace = {start, clock_seconds()};
  progress_open(&progress, "learning", "steps", (size_t)(learning->wanted - start) * rows);
  while (good && learning->rollouts < learning->wanted) {
    learn_step(learning);
    good = attend(learning, wish, &pace, error);
    progress_move(&progress, (size_t)(learning->rollouts - start) * rows);
  }
  progress_close(&progress);
  return good;
}
