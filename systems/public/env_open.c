/* Opening environments: device, slices, networks, and the first row of everything. */
#include "systems/public/env.h"

#include "engine/base/log.h"
#include "engine/device/fft.h"
#include "systems/methods/evaluate.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/planes.h"

/* ---- what is refused ----------------------------------------------------------------------------------- */

static bool check_scans(const struct options *options, struct error *error) {
  if (geometry_chosen(options)->points)
    return fail_usage(
        error, "acquisition.geometry is points, whose scan acquires all of them at once; environments choose "
               "one action after the other: set it to lines or spokes");
  if (options->network.input == INPUT_COMPLEX)
    return fail_usage(error,
                      "network.input is complex, and environments observe magnitudes; set it to magnitude");
  return true;
}

static bool choose_setting(struct env *env, struct error *error) {
  struct acquisition *list;
  size_t count;
  if (!acquisition_list(&list, &count, &env->options, env->arena, error)) return false;
  env->acquisition = list[0];
  return count == 1 ||
         fail_usage(error,
                    "the scene has %zu settings of acceleration and horizon, and environments scan by one; "
                    "set acquisition.acceleration and acquisition.horizon to one each",
                    count);
}

/* A policy that looks at reconstructions would need one before every choice. */
static bool check_policy(const struct env *env, struct error *error) {
  const char *path = env->options.evaluate.policy;
  bool dense;
  if (!*path) return true;
  if (!policy_is_dense(path, &dense, error)) return fail_in(error, "evaluate.policy");
  return !dense ||
         fail_usage(error,
                    "evaluate.policy %s is PG-MRI's, which looks at reconstructions; environments let "
                    "policies choose that look at observations",
                    path);
}

static bool read_options(struct env *env, struct error *error) {
  return config_options(&env->config, &env->options, env->arena, error) &&
         check_scans(&env->options, error) && evaluate_check(&env->options, error) &&
         choose_setting(env, error) && check_policy(env, error);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Bytes that columns and arrays of the scans take a pixel where a CPU has them and the host pins them: measured. */
enum { BYTES_OF_PIXEL = 24 };

static bool open_device(struct env *env, struct error *error) {
  struct scan_shape shape = scan_shape_of(&env->options);
  size_t later = BYTES_OF_PIXEL * scan_shape_pixels(&shape) * env->envs;
  if (!env->config.context && !env->config.queue && !device_load(later, error)) return false;
  if (!callbacks_device(&env->config, &env->calls, &env->device, error)) return false;
  log_info("device %s, %s", env->device.facts.name, env->device.facts.platform);
  return env->transforms = fft_library_open(error);
}

static bool open_data(struct env *env, struct error *error) {
  struct slices_in_memory slices;
  if (env->config.slices)
    return config_slices(&env->config, &slices, error) &&
           dataset_of_slices(&env->dataset, &slices, &env->options, error);
  if (*env->options.data.path) return dataset_open(&env->dataset, &env->options, error);
  return fail_usage(error,
                    "there are no slices: struct l2sr_config has neither data nor slices, and the scene no "
                    "data.path; give one of them");
}

static bool open_simulation(struct env *env, struct error *error) {
  const struct options *options = &env->options;
  size_t slices = env->dataset.slice_count, most = options->data.most;
  bool scores = env->config.scoring != L2SR_SCORE_NEVER;
  struct simulation_plan plan = {.slices = most && most < slices ? most : slices,
                                 .envs = env->envs,
                                 .coils = dataset_coils(&env->dataset),
                                 .metrics = scores ? options->evaluate.metrics : NULL,
                                 .observe_every_step = true,
                                 .network = *options->evaluate.reconstructor,
                                 .deciders = *options->evaluate.policy ? DECIDES_POLICY : 0,
                                 .columns = SET(ENV_reward) | SET(ENV_quality) | SET(ENV_action) |
                                            SET(ENV_log_prob) | planes_reads(options)};
  if (simulation_open(&env->simulation, &env->device, options, &plan, error)) return true;
  env->simulation = (struct simulation){0}; /* it is closed */
  return false;
}

static bool open_reconstructor(struct env *env, struct error *error) {
  const struct options *options = &env->options;
  struct reconstructor_setup setup =
      reconstructor_setup_of(&env->device, env->simulation.kernels, options, env->envs);
  reconstructor_set_coils(&setup, env->simulation.plan.coils);
  if (!*options->evaluate.reconstructor) return true;
  if (!reconstructor_load(&env->reconstructor, options->evaluate.reconstructor, &setup, error))
    return fail_in(error, "evaluate.reconstructor");
  env->simulation.reconstructor = &env->reconstructor;
  return true;
}

static bool open_policy(struct env *env, struct error *error) {
  const struct options *options = &env->options;
  struct policy_setup setup = policy_setup_of(&env->device, env->simulation.kernels, options, env->envs);
  if (!*options->evaluate.policy) return true;
  if (!policy_load(&env->policy, options->evaluate.policy, &setup, error))
    return fail_in(error, "evaluate.policy");
  env->simulation.policy = &env->policy;
  if (!callback_compare(&env->simulation, options->evaluate.policy, false, error)) return false;
  env->simulation.best = options->evaluate.actions == ACTIONS_BEST;
  return true;
}

/* Where scans begin in the step that ends them, none has its budget between steps. */
static void open_clock(struct env *env) {
  uint32_t counts = env->acquisition.budget + (env->config.autoreset != L2SR_RESET_SAME_STEP);
  env->clock = (struct env_clock){.period = counts,
                                  .began = ARENA_NEW(env->arena, uint32_t, env->envs),
                                  .count = ARENA_NEW(env->arena, uint32_t, counts)};
  env->clock.count[0] = (uint32_t)env->envs;
}

/* Memory beside the world: flags of the kernels, and what is sent to them. */
static bool open_flags(struct env *env, struct error *error) {
  size_t bytes = sizeof(uint32_t) * env->envs;
  open_clock(env);
  env->flags = ARENA_NEW(env->arena, uint32_t, env->envs);
  if (!(env->reset = device_buffer(&env->device, bytes, "flags of environments", error)) ||
      !(env->skip = device_buffer(&env->device, bytes, "flags of environments", error)) ||
      !(env->refused = device_buffer(&env->device, sizeof(uint32_t), "flags of environments", error)) ||
      !(env->before = device_buffer(&env->device, sizeof(uint32_t), "flags of environments", error)) ||
      !host_memory_open(&env->actions, &env->device, bytes, "actions", "lower world.envs", error) ||
      !host_memory_open(&env->refused_row, &env->device, sizeof(uint32_t), "flags of environments", "lower world.envs", error))
    return false;
  device_fill(&env->device, env->reset, 0, bytes, 0);
  device_fill(&env->device, env->skip, 0, bytes, 0);
  env_clear_refused(env);
  return true;
}

static bool open_scans(struct env *env, struct error *error) {
  struct simulation *simulation = &env->simulation;
  const struct sampler *random = &sampler_list[0];
  if (!load_simulation(simulation, &env->dataset, &env->options, env->arena, &env->report, error) ||
      !simulation_set(simulation, &env->acquisition, random, error))
    return false;
  simulation_restart(simulation, 0, env->envs);
  return env_arrays_open(env, error) && env_build(env, error) && device_finish(&env->device, error);
}

static bool open_all(struct env *env, struct error *error) {
  if (!read_options(env, error)) return false;
  const struct options *options = &env->options;
  env->envs = options->world.envs;
  bool scores = env->config.scoring != L2SR_SCORE_NEVER;
  env->every =
      scores && (env->config.scoring == L2SR_SCORE_EVERY_STEP || options->reward.form == REWARD_DENSE);
  env->starts = scores && options->reward.form != REWARD_SPARSE;
  if (!open_device(env, error) || !open_data(env, error)) return false;
  env_digest(env);
  return open_simulation(env, error) &&
         open_reconstructor(env, error) && open_policy(env, error) && open_flags(env, error) &&
         open_scans(env, error);
}

bool env_open(struct env **opened, const struct l2sr_config *config, struct error *error) {
  struct arena *arena = arena_open();
  struct env *env = ARENA_NEW(arena, struct env, 1);
  *env = (struct env){.arena = arena, .config = *config, .dones = true, .rewards = true};
  if (open_all(env, error)) {
    *opened = env;
    return true;
  }
  env_close(env);
  return false;
}

static void close_flags(struct env *env) {
  size_t bytes = sizeof(uint32_t) * env->envs;
  device_release(&env->device, env->reset, bytes);
  device_release(&env->device, env->skip, bytes);
  device_release(&env->device, env->refused, sizeof(uint32_t));
  device_release(&env->device, env->before, sizeof(uint32_t));
  host_memory_close(&env->actions, &env->device);
  host_memory_close(&env->refused_row, &env->device);
}

/* At any stage of opening. */
void env_close(struct env *env) {
  struct error error;
  if (env->device.context) device_finish(&env->device, &error);
  env_arrays_close(env);
  close_flags(env);
  if (env->simulation.policy) policy_close(&env->policy);
  if (env->simulation.reconstructor) reconstructor_close(&env->reconstructor);
  if (env->simulation.device) simulation_close(&env->simulation);
  if (env->dataset.arena) dataset_close(&env->dataset);
  if (env->transforms) fft_library_close();
  cuda_close(env->cuda);
  device_close(&env->device);
  arena_close(env->arena);
}
