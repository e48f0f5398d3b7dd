/* Steps of environments, as lists of systems that the host chooses among. */
#include "systems/public/env.h"
#include "systems/public/env_systems.h"

#include "systems/sampling/samplers.h"
#include "systems/scan/systems.h"

#include <string.h>

/* ---- lists --------------------------------------------------------------------------------------------- */

static void add_actions(struct env *env, struct schedule *schedule) {
  schedule_add(schedule, &system_env_place, env);
  schedule_add(schedule, &system_env_check, env);
}

static void fill_begin(struct env *env, struct schedule *schedule) {
  schedule_add(schedule, &system_env_begin, env);
}

static void fill_renew(struct env *env, struct schedule *schedule) {
  schedule_add(schedule, &system_env_ended, env);
  fill_begin(env, schedule);
}

static void fill_observe(struct env *env, struct schedule *schedule) {
  simulation_add_observe(&env->simulation, schedule);
}

static void fill_step(struct env *env, struct schedule *schedule) {
  add_actions(env, schedule);
  schedule_add(schedule, &system_env_take, env);
  fill_observe(env, schedule);
}

/* Scans that have ended begin anew in place of the step, unless an action is refused. */
static void fill_next(struct env *env, struct schedule *schedule) {
  add_actions(env, schedule);
  fill_renew(env, schedule);
  schedule_add(schedule, &system_env_take, env);
  fill_observe(env, schedule);
}

/* Scans that end with the step begin anew: nobody sees what is observed at their end. */
static void fill_same(struct env *env, struct schedule *schedule) {
  add_actions(env, schedule);
  schedule_add(schedule, &system_env_take, env);
  fill_renew(env, schedule);
  fill_observe(env, schedule);
}

static void fill_reconstruct(struct env *env, struct schedule *schedule) {
  simulation_add_reconstruct(&env->simulation, schedule);
}

/* Every metric that the world has a column for; a system's metrics stand together. */
static void fill_measure(struct env *env, struct schedule *schedule) {
  const struct system *last = NULL;
  component_set scores = 0;
  fill_reconstruct(env, schedule);
  for (const struct metric *metric = metric_list; metric < metric_list + METRICS_SCORED; metric++) {
    if (!world_has(env->simulation.world, metric->env)) continue;
    if (metric->system != last) last = simulation_add_score(&env->simulation, schedule, metric);
    if (env_array_memory(env, metric_arrays[metric - metric_list]))
      scores |= SET(metric->env);
  }
  schedule_add(schedule, &system_env_keep_scores, env)->reads |= scores;
}

static const struct metric *rewarded(const struct env *env) {
  return &metric_list[env->options.reward.metric];
}

static void fill_score(struct env *env, struct schedule *schedule) {
  fill_measure(env, schedule);
  schedule_add(schedule, &system_env_reward, env)->reads |= SET(rewarded(env)->env);
}

static void fill_clear(struct env *env, struct schedule *schedule) {
  schedule_add(schedule, &system_env_clear_scores, env);
}

static void fill_start(struct env *env, struct schedule *schedule) {
  fill_reconstruct(env, schedule);
  simulation_add_score(&env->simulation, schedule, rewarded(env));
  schedule_add(schedule, &system_env_quality, env)->reads |= SET(rewarded(env)->env);
}

static void fill_decide(struct env *env, struct schedule *schedule) {
  simulation_add_decide(&env->simulation, schedule);
}

static bool build(struct env *env, struct schedule *schedule,
                  void (*fill)(struct env *env, struct schedule *schedule), struct error *error) {
  schedule_open(schedule, &component_schema);
  fill(env, schedule);
  return schedule_close(schedule, error) && schedule_prepare(schedule, env->simulation.kernels, error);
}

bool env_build(struct env *env, struct error *error) {
  bool scores = env->config.scoring != L2SR_SCORE_NEVER;
  return build(env, &env->step, fill_step, error) && build(env, &env->next, fill_next, error) &&
         build(env, &env->same, fill_same, error) && build(env, &env->renew, fill_renew, error) &&
         build(env, &env->begin, fill_begin, error) && build(env, &env->observe, fill_observe, error) &&
         build(env, &env->reconstruct, fill_reconstruct, error) &&
         (!scores ||
          (build(env, &env->measure, fill_measure, error) && build(env, &env->score, fill_score, error) &&
           build(env, &env->clear, fill_clear, error) && build(env, &env->start, fill_start, error)));
}

static void run_list(struct env *env, const struct schedule *schedule) {
  schedule_run(schedule, env->simulation.world);
}

/* ---- what the host knows ------------------------------------------------------------------------------- */

bool env_is_idle(const struct env *env, bool begun, struct error *error) {
  if (env->device.failed)
    return fail_as(error, ERROR_DEVICE,
                   "an earlier call failed, so this handle can only be closed: %s",
                   env->device.first.text);
  if (env->sent) return fail_as(error, ERROR_CALL, "a step is under way; call l2sr_env_wait first");
  if (begun && !env->begun)
    return fail_as(error, ERROR_CALL, "no scan has begun; call l2sr_env_reset, without a mask, first");
  return true;
}

bool env_is_free(const struct env *env, bool begun, struct error *error) {
  return env_is_idle(env, begun, error) && (!env->cuda || cuda_wait(env->cuda, error));
}

/* When scans began that have taken so many steps. */
static uint32_t began(const struct env *env, uint32_t steps) {
  return (env->clock.now + env->clock.period - steps) % env->clock.period;
}

void env_count(struct env *env, size_t row, uint32_t steps) {
  struct env_clock *clock = &env->clock;
  uint32_t time = began(env, steps < clock->period ? steps : clock->period - 1);
  clock->count[clock->began[row]]--;
  clock->count[time]++;
  clock->began[row] = time;
}

/* All take a step, or begin anew if they have ended. */
static void count_step(struct env *env) {
  env->clock.now = (env->clock.now + 1) % env->clock.period;
}

/* Where scans begin in the step that ends them, this is known during the step alone. */
static bool any_ended(const struct env *env) {
  return env->clock.count[began(env, env->acquisition.budget)];
}

static bool any_first(const struct env *env) {
  return env->clock.count[began(env, 1)];
}

static bool refuse_ended(const struct env *env, uint32_t taken, struct error *error) {
  size_t row = 0;
  while (env->clock.began[row] != began(env, taken)) row++;
  if (taken == env->acquisition.budget)
    return fail_as(error, ERROR_CALL,
                   "the scan of environment %zu has ended; reset it, or open the handle with "
                   "another autoreset",
                   row);
  return fail_as(error, ERROR_CALL,
                 "the scan of environment %zu ends after %u more; take no more steps than that, or open the "
                 "handle with another autoreset",
                 row, env->acquisition.budget - taken);
}

/* The program resets scans that have ended; none may end before the last of these steps. */
static bool check_none_ended(const struct env *env, uint32_t steps, struct error *error) {
  uint32_t budget = env->acquisition.budget;
  if (env->config.autoreset != L2SR_RESET_DISABLED) return true;
  for (uint32_t left = 0; left < steps && left <= budget; left++)
    if (env->clock.count[began(env, budget - left)]) return refuse_ended(env, budget - left, error);
  return true;
}

/* ---- resets -------------------------------------------------------------------------------------------- */

static size_t flag_bytes(const struct env *env) {
  return sizeof(uint32_t) * env->envs;
}

static void clear_skip(struct env *env) {
  if (env->skips) device_fill(&env->device, env->skip, 0, flag_bytes(env), 0);
  env->skips = false;
}

void env_clear_scores(struct env *env) {
  if (env->scored) run_list(env, &env->clear);
  env->scored = false;
}

static bool check_reset(const struct env *env, const uint8_t *mask, const uint32_t *seed,
                        struct error *error) {
  if (!env_is_free(env, mask, error)) return false;
  for (size_t row = 0; seed && mask && row < env->envs; row++)
    if (!mask[row])
      return fail_as(error, ERROR_CALL,
                     "a reset with a seed is of all environments, and the mask leaves out %zu; "
                     "give no mask",
                     row);
  return true;
}

static void start_over(struct env *env, uint32_t seed) {
  env->options.world.seed = seed;
  load_order(&env->simulation, env->report.slices);
  simulation_restart(&env->simulation, 0, env->envs);
}

bool env_reset(struct env *env, const uint8_t *mask, const uint32_t *seed, struct error *error) {
  if (!check_reset(env, mask, seed, error)) return false;
  if (seed) start_over(env, *seed);
  for (size_t row = 0; row < env->envs; row++) {
    env->flags[row] = !mask || mask[row];
    if (env->flags[row]) env_count(env, row, 0);
  }
  device_write(&env->device, env->reset, 0, flag_bytes(env), env->flags);
  clear_skip(env);
  run_list(env, &env->begin);
  env->begun = true;
  env->decided = false;
  run_list(env, &env->observe);
  if (env->starts) run_list(env, &env->start);
  env_clear_scores(env);
  env_arrays_renew(env, CHANGE_ALL);
  return device_finish(&env->device, error) && simulation_check(&env->simulation, error);
}

bool env_renew(struct env *env, struct error *error) {
  run_list(env, &env->observe);
  env_arrays_renew(env, CHANGE_ALL);
  return device_finish(&env->device, error);
}

/* ---- deciding ------------------------------------------------------------------------------------------ */

static const struct sampler *find_sampler(const struct env *env, const char *name, struct error *error) {
  if (!name) {
    fail_as(error, ERROR_CALL, "the sampler is NULL; name one, as random");
    return NULL;
  }
  const struct sampler *sampler = sampler_find(name, error);
  if (!sampler || (sampler == &sampler_policy && env->simulation.policy)) return sampler;
  if (sampler == &sampler_policy)
    fail_usage(error, "sampler policy needs a network; name its checkpoint in struct l2sr_config");
  else if (sampler_is_heuristic(sampler))
    return sampler;
  else
    fail_usage(error, "sampler %s is no heuristic; environments let heuristics and policies choose", name);
  return NULL;
}

static bool set_sampler(struct env *env, const char *name, struct error *error) {
  const struct sampler *sampler = find_sampler(env, name, error);
  if (!sampler) return false;
  if (sampler != env->sampler) {
    env->sampler = NULL;
    if (!simulation_set(&env->simulation, &env->acquisition, sampler, error) ||
        !build(env, &env->decide, fill_decide, error))
      return false;
    env->sampler = sampler;
  }
  return true;
}

/* Writes L2SR_ACTION alone. */
bool env_decide(struct env *env, const char *name, struct error *error) {
  bool shared = env->array[L2SR_ACTION].shared.count;
  if (!(shared ? env_is_free : env_is_idle)(env, true, error) || !set_sampler(env, name, error)) return false;
  run_list(env, &env->decide);
  env->decided = true;
  if (!shared) return true;
  env_array_fill_shared(env, L2SR_ACTION);
  return device_finish(&env->device, error);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

bool env_check_memory(const struct env *env, cl_mem memory, size_t offset, size_t bytes, const char *what,
                      struct error *error) {
  cl_context context = NULL;
  size_t found = 0;
  if (clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
      clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof found, &found, NULL) != CL_SUCCESS)
    return fail_as(error, ERROR_CALL, "the memory of %s is no OpenCL memory object", what);
  if (context != env->device.context)
    return fail_as(error, ERROR_CALL,
                   "the memory of %s is of another context; l2sr_env_queue has the handle's", what);
  if (offset % sizeof(uint32_t) == 0 && offset <= found && found - offset >= bytes) return true;
  return fail_as(error, ERROR_CALL,
                 "the memory of %s has %zu bytes; %zu are wanted from byte %zu on, a multiple of 4", what,
                 found, bytes, offset);
}

static bool check_actions(const struct env *env, const struct env_source *source, struct error *error) {
  if (!env_is_free(env, true, error) || !check_none_ended(env, 1, error)) return false;
  if (source->memory &&
      !env_check_memory(env, source->memory, source->offset, flag_bytes(env), "the actions", error))
    return false;
  bool itself = source->memory == env_array_memory(env, L2SR_ACTION) && !source->offset;
  if (source->memory && !itself && env_is_part(env, source->memory, L2SR_ACTION))
    return fail_as(
        error, ERROR_CALL,
        "the actions are a part of array action, which the step writes; give the array from byte 0");
  return source->host || source->memory || env->decided ||
         fail_as(error, ERROR_CALL,
                 "there are no actions: give some, or call l2sr_env_decide before every step");
}

/* What the program gives always may. Draws by weights find a free action in every scan that runs: they are
 * all at least 1. */
bool env_checks(const struct env *env) {
  bool decided = !env->source.host && !env->source.memory;
  bool draws = env->sampler && env->sampler->kind == SAMPLER_DRAW;
  return !decided || (env->config.invalid == L2SR_INVALID_ERROR && !draws);
}

/* With L2SR_RESET_NEXT_STEP the ended ones do not step. */
static void skip_ended(struct env *env) {
  clear_skip(env);
  if (env->config.autoreset != L2SR_RESET_NEXT_STEP || !any_ended(env)) return;
  device_copy(&env->device, world_memory(env->simulation.world, ENV_done), 0, env->skip, 0, flag_bytes(env));
  env->skips = true;
}

/* Rewards of a start need the quality of those that have begun, before their first step. */
static void score(struct env *env, bool begun) {
  bool ended = any_ended(env), compat = env->options.reward.form == REWARD_COMPAT;
  env_clear_scores(env);
  if (env->config.scoring == L2SR_SCORE_NEVER) return;
  if (env->every || ended || (compat && any_first(env))) {
    env->all = env->every;
    run_list(env, &env->score);
    env->scored = env->rewards = true;
  }
  if (begun && env->starts) run_list(env, &env->start);
}

/* After scores and what ended scans leave. */
static void reset_ended(struct env *env) {
  env_arrays_keep_final(env);
  run_list(env, &env->renew);
  run_list(env, &env->observe);
  if (env->starts) run_list(env, &env->start);
}

/* What arrays have that is not the same in every row at every time. */
static unsigned held(const struct env *env) {
  return (env->dones ? CHANGE_DONE : 0) | (env->rewards ? CHANGE_REWARD : 0) |
         (env->scored ? CHANGE_SCORE : 0);
}

/* One step of the device, whose ends the host has counted. Tells what it changes. */
static unsigned run_step(struct env *env) {
  unsigned before = held(env);
  env->dones = any_ended(env);
  env->rewards = false;
  bool resets = env->config.autoreset == L2SR_RESET_SAME_STEP && env->dones;
  bool unseen = env->config.scoring == L2SR_SCORE_NEVER && !env_arrays_want_final(env);
  run_list(env, env->skips ? &env->next : resets && unseen ? &env->same : &env->step);
  score(env, env->skips);
  if (resets && !unseen) reset_ended(env);
  return CHANGE_STEP | before | held(env) | (resets || env->skips ? CHANGE_SCAN : 0) |
         (resets ? CHANGE_END : 0);
}

void env_clear_refused(struct env *env) {
  *(uint32_t *)env->refused_row.data = NO_LINE;
  device_fill(&env->device, env->refused, 0, sizeof(uint32_t), NO_LINE);
  device_fill(&env->device, env->before, 0, sizeof(uint32_t), NO_LINE);
}

/* What is refused in one step is not looked for in those after it, whose ends the host has wrong then. */
static void keep_refused(struct env *env) {
  if (env_checks(env)) device_copy(&env->device, env->refused, 0, env->before, 0, sizeof(uint32_t));
}

static void read_refused(struct env *env) {
  struct device *device = &env->device;
  if (!env_checks(env)) return;
  CL(device, clEnqueueReadBuffer(device->queue, env->refused, CL_FALSE, 0, sizeof(uint32_t),
                                 env->refused_row.data, 0, NULL, NULL));
}

/* One step of the device and of the host's count. Tells what it changes. */
static unsigned enqueue_step(struct env *env) {
  skip_ended(env);
  count_step(env);
  return run_step(env);
}

/* What is left to enqueue after the last step. */
static void finish_enqueue(struct env *env, unsigned changes) {
  env_arrays_renew(env, changes);
  read_refused(env);
  CL(&env->device, clFlush(env->device.queue));
}

bool env_send(struct env *env, const struct env_source *source, struct error *error) {
  if (!check_actions(env, source, error)) return false;
  env->source = *source;
  if (source->host) env->source.host = memcpy(env->actions.data, source->host, flag_bytes(env));
  env->sent = true;
  finish_enqueue(env, enqueue_step(env));
  return true;
}

/* What is enqueued takes memory of the host until it is done; twice so many steps are enough for the device.
 */
enum { STEPS_AHEAD = 512 };

/* Waits, where a block of steps ends, for the block before. */
static void let_catch_up(struct env *env, uint32_t step, cl_event *ended) {
  cl_event before = *ended;
  if (!step || step % STEPS_AHEAD) return;
  *ended = NULL;
  CL(&env->device, clEnqueueMarkerWithWaitList(env->device.queue, 0, NULL, ended));
  CL(&env->device, clFlush(env->device.queue));
  if (before) CL(&env->device, clWaitForEvents(1, &before));
  if (before) clReleaseEvent(before);
}

bool env_play(struct env *env, const char *sampler, uint32_t steps, struct error *error) {
  unsigned changes = 0;
  cl_event ended = NULL;
  if (!env_is_free(env, true, error)) return false;
  if (!steps) return fail_usage(error, "there are 0 steps to play; take 1 or more");
  if (!check_none_ended(env, steps, error) || !set_sampler(env, sampler, error)) return false;
  env->source = (struct env_source){0};
  env->sent = true;
  for (uint32_t step = 0; step < steps; step++) {
    let_catch_up(env, step, &ended);
    if (step) keep_refused(env);
    run_list(env, &env->decide);
    changes |= enqueue_step(env);
  }
  if (ended) clReleaseEvent(ended);
  finish_enqueue(env, changes);
  return true;
}

static const struct system save_refused = {.name = "save_refused",
                                           .doc = "the action that was refused, and the steps so far",
                                           .reads = SET(ENV_action) | SET(ENV_step)};

/* Nothing has changed since the step that is refused: steps are as many as the device has counted. */
static bool refuse_action(struct env *env, struct error *error) {
  uint32_t action = NO_LINE, row = *(uint32_t *)env->refused_row.data, *steps = env->flags;
  env->dones = env->rewards = true;
  env->scored = env->config.scoring != L2SR_SCORE_NEVER;
  env_clear_refused(env);
  struct world_use before = world_enter(env->simulation.world, &save_refused);
  world_read(env->simulation.world, ENV_action, row, 1, &action);
  world_read(env->simulation.world, ENV_step, 0, env->envs, steps);
  world_leave(env->simulation.world, before);
  if (!device_finish(&env->device, error)) return false;
  for (size_t i = 0; i < env->envs; i++) env_count(env, i, steps[i]);
  bool acquired = action < env->acquisition.shape.actions;
  return fail_usage(error, "environment %u cannot take action %u: it is %s; L2SR_FREE has those that are free%s",
                    row, action, acquired ? "acquired already" : "none",
                    acquired ? ", and L2SR_INVALID_MASK lets steps take the nearest of them instead" : "");
}

bool env_wait(struct env *env, struct error *error) {
  if (!env->sent) return fail_as(error, ERROR_CALL, "no step is under way; call l2sr_env_send first");
  env->sent = env->decided = false;
  if (!device_finish(&env->device, error)) return false;
  return (*(uint32_t *)env->refused_row.data == NO_LINE || refuse_action(env, error)) &&
         simulation_check(&env->simulation, error);
}

bool env_reconstruct(struct env *env, bool scores, struct error *error) {
  if (!env_is_free(env, true, error)) return false;
  if (scores && env->config.scoring == L2SR_SCORE_NEVER)
    return fail_usage(error, "scoring is never, so there are no metrics; open the handle with another");
  if (!env_array_need(env, L2SR_RECONSTRUCTION, error)) return false;
  env->all = true;
  run_list(env, scores ? &env->measure : &env->reconstruct);
  env->scored |= scores;
  env_arrays_renew(env, CHANGE_SCORE);
  return device_finish(&env->device, error) && simulation_check(&env->simulation, error);
}
