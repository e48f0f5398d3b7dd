/* Arrays that a program sees: columns of the world, or memory beside it that is derived from them. */
#include "systems/public/env.h"
#include "systems/public/env_systems.h"

#include "systems/scan/planes.h"
#include "systems/scan/systems.h"

#include <math.h>

/* ---- rows ---------------------------------------------------------------------------------------------- */

enum array_kind {
  ARRAY_COLUMN,
  ARRAY_BOUND, /* a column that is placed in memory of its own where scans are not scored */
  ARRAY_METRIC,
  ARRAY_RUNNING, /* derived after steps and resets */
  ARRAY_FINAL    /* derived before a reset in the same step */
};

struct array_row {
  const char *name;
  enum array_kind kind;
  unsigned changes; /* enum env_change */
  unsigned column;  /* it is this one, or has its elements and shape */
  const struct system *system;
};

#define METRIC_PLACE(name, ...) PLACE_##name,
enum { METRIC_ROWS(METRIC_PLACE) };
const enum l2sr_array metric_arrays[] = {[PLACE_ssim] = L2SR_SSIM, [PLACE_ssim_uniform] = L2SR_SSIM_UNIFORM,
                                         [PLACE_psnr] = L2SR_PSNR, [PLACE_psnr_unclamped] = L2SR_PSNR_UNCLAMPED,
                                         [PLACE_nmse] = L2SR_NMSE, [PLACE_mse] = L2SR_MSE,
                                         [PLACE_callback] = L2SR_CALLBACK,
                                         [PLACE_log_likelihood] = L2SR_LOG_LIKELIHOOD,
                                         [METRIC_CROSS_ENTROPY] = L2SR_CROSS_ENTROPY,
                                         [METRIC_ACCURACY] = L2SR_ACCURACY, [METRIC_AUC] = L2SR_AUC};
_Static_assert(sizeof metric_arrays / sizeof *metric_arrays == METRICS, "l2sr.h has an array for every metric");

#define METRIC_ARRAY(array, name) [array] = {#name, ARRAY_METRIC, CHANGE_SCORE, ENV_##name, NULL}

static const struct array_row rows[L2SR_ARRAYS] = {
    [L2SR_OBSERVATION] = {"observation", ARRAY_COLUMN, CHANGE_STEP, ENV_magnitude, NULL},
    [L2SR_OBSERVATION_MEAN] = {"observation_mean", ARRAY_COLUMN, CHANGE_STEP, ENV_magnitude_mean, NULL},
    [L2SR_OBSERVATION_STD] = {"observation_std", ARRAY_COLUMN, CHANGE_STEP, ENV_magnitude_std, NULL},
    [L2SR_STANDARDISED] = {"standardised", ARRAY_RUNNING, CHANGE_STEP, ENV_reconstruction,
                           &system_env_standardise},
    [L2SR_FREE] = {"free", ARRAY_RUNNING, CHANGE_STEP, ENV_mask, &system_env_free},
    [L2SR_ACQUIRED] = {"acquired", ARRAY_COLUMN, CHANGE_STEP, ENV_mask, NULL},
    [L2SR_REWARD] = {"reward", ARRAY_COLUMN, CHANGE_REWARD, ENV_reward, NULL},
    [L2SR_DONE] = {"done", ARRAY_COLUMN, CHANGE_DONE, ENV_done, NULL},
    [L2SR_STEP] = {"step", ARRAY_COLUMN, CHANGE_STEP, ENV_step, NULL},
    [L2SR_SLICE] = {"slice", ARRAY_COLUMN, CHANGE_SCAN, ENV_slice, NULL},
    [L2SR_SCAN] = {"scan", ARRAY_COLUMN, CHANGE_SCAN, ENV_scan, NULL},
    [L2SR_ACTION] = {"action", ARRAY_COLUMN, CHANGE_STEP, ENV_action, NULL},
    [L2SR_RECONSTRUCTION] = {"reconstruction", ARRAY_BOUND, CHANGE_SCORE | CHANGE_SCAN, ENV_reconstruction,
                             NULL},
    [L2SR_TARGET] = {"target", ARRAY_RUNNING, CHANGE_SCAN, ENV_reconstruction, &system_env_target},
    METRIC_ARRAY(L2SR_SSIM, ssim),
    METRIC_ARRAY(L2SR_SSIM_UNIFORM, ssim_uniform),
    METRIC_ARRAY(L2SR_PSNR, psnr),
    METRIC_ARRAY(L2SR_PSNR_UNCLAMPED, psnr_unclamped),
    METRIC_ARRAY(L2SR_NMSE, nmse),
    METRIC_ARRAY(L2SR_MSE, mse),
    METRIC_ARRAY(L2SR_CALLBACK, callback),
    METRIC_ARRAY(L2SR_LOG_LIKELIHOOD, log_likelihood),
    [L2SR_CROSS_ENTROPY] = {"cross_entropy", ARRAY_METRIC, CHANGE_SCORE, ENV_log_likelihood, NULL},
    [L2SR_ACCURACY] = {"accuracy", ARRAY_METRIC, CHANGE_SCORE, ENV_log_likelihood, NULL},
    [L2SR_AUC] = {"auc", ARRAY_METRIC, CHANGE_SCORE, ENV_log_likelihood, NULL},
    [L2SR_KSPACE] = {"kspace", ARRAY_RUNNING, CHANGE_STEP, SLICE_coil_kspace, &system_env_kspace},
    [L2SR_MAPS] = {"maps", ARRAY_RUNNING, CHANGE_SCAN, SLICE_maps, &system_env_maps},
    [L2SR_FINAL_OBSERVATION] = {"final_observation", ARRAY_FINAL, CHANGE_END, ENV_magnitude,
                                &system_env_final_observation},
    [L2SR_FINAL_STANDARDISED] = {"final_standardised", ARRAY_FINAL, CHANGE_END, ENV_reconstruction,
                                 &system_env_final_standardised},
    [L2SR_FINAL_FREE] = {"final_free", ARRAY_FINAL, CHANGE_END, ENV_mask, &system_env_final_free},
    [L2SR_FINAL_TARGET] = {"final_target", ARRAY_FINAL, CHANGE_END, ENV_reconstruction, &system_env_final_target},
    [L2SR_FINAL_ACQUIRED] = {"final_acquired", ARRAY_FINAL, CHANGE_END, ENV_mask, &system_env_final_acquired},
    [L2SR_FINAL_RECONSTRUCTION] = {"final_reconstruction", ARRAY_FINAL, CHANGE_END, ENV_reconstruction,
                                   &system_env_final_reconstruction},
    [L2SR_LABEL] = {"label", ARRAY_RUNNING, CHANGE_SCAN, SLICE_label, &system_env_label},
    [L2SR_FINAL_LABEL] = {"final_label", ARRAY_FINAL, CHANGE_END, SLICE_label, &system_env_final_label}};

static bool is_planes(enum l2sr_array array) {
  return array == L2SR_KSPACE || array == L2SR_MAPS;
}

static size_t elements_of(const struct env *env, enum l2sr_array array) {
  if (is_planes(array)) return planes_coils(&env->simulation) * world_shape(env->simulation.world, SHAPE_HW);
  return world_shape(env->simulation.world, component_schema.components[rows[array].column].shape);
}

static enum element element_of(enum l2sr_array array) {
  return component_schema.components[rows[array].column].element;
}

static size_t bytes_of(const struct env *env, enum l2sr_array array) {
  return env->envs * elements_of(env, array) * element_bytes(element_of(array), world_half(env->simulation.world));
}

cl_mem env_array_memory(const struct env *env, enum l2sr_array array) {
  const struct world *world = env->simulation.world;
  if (env->array[array].placed) return env->array[array].placed;
  if (rows[array].kind != ARRAY_COLUMN && rows[array].kind != ARRAY_BOUND) return env->array[array].own;
  return world_has(world, rows[array].column) ? world_memory(world, rows[array].column) : NULL;
}

void env_array_shape(const struct env *env, enum l2sr_array array, struct l2sr_shape *shape) {
  static const enum l2sr_element elements[] = {
      [ELEMENT_U8] = L2SR_U8, [ELEMENT_U32] = L2SR_U32, [ELEMENT_F32] = L2SR_F32, [ELEMENT_C64] = L2SR_C64};
  enum element element = element_of(array);
  bool half = world_half(env->simulation.world);
  *shape = (struct l2sr_shape){.bytes = shape->bytes,
                               .name = rows[array].name,
                               .element = element != ELEMENT_REAL ? elements[element]
                                          : half                  ? L2SR_F16
                                                                  : L2SR_F32,
                               .total = bytes_of(env, array),
                               .rank = env->array[array].rank,
                               .extent = env->array[array].extent};
}

/* ---- making them --------------------------------------------------------------------------------------- */

static bool make_memory(struct env *env, enum l2sr_array array, struct error *error) {
  struct env_array *made = &env->array[array];
  size_t bytes = bytes_of(env, array);
  char what[64];
  snprintf(what, sizeof what, "array %s", rows[array].name);
  if (!(made->own = device_buffer(&env->device, bytes, what, error))) return false;
  device_fill(&env->device, made->own, 0, bytes, 0);
  return true;
}

static bool make_list(struct env *env, enum l2sr_array array, struct error *error) {
  struct schedule *schedule = ARENA_NEW(env->arena, struct schedule, 1);
  schedule_open(schedule, &component_schema);
  struct system *row = schedule_add(schedule, rows[array].system, env);
  if (is_planes(array)) row->reads = (array == L2SR_MAPS ? planes_maps_reads : planes_kspace_reads)(&env->options);
  if (!schedule_close(schedule, error) || !schedule_prepare(schedule, env->simulation.kernels, error))
    return false;
  env->array[array].derive = schedule;
  return true;
}

/* What it is made of beside columns. */
static bool make_before(struct env *env, enum l2sr_array array, struct error *error) {
  if (array == L2SR_FINAL_TARGET) return env_array_need(env, L2SR_TARGET, error);
  if (array == L2SR_FINAL_LABEL) return env_array_need(env, L2SR_LABEL, error);
  if (array != L2SR_KSPACE || env->taken) return true;
  size_t bytes = env->envs * world_shape(env->simulation.world, SHAPE_HW);
  return (env->taken = device_buffer(&env->device, bytes, "array kspace", error));
}

static bool make(struct env *env, enum l2sr_array array, struct error *error) {
  struct env_array *made = &env->array[array];
  if (!make_before(env, array, error) || !make_memory(env, array, error)) return false;
  if (rows[array].kind == ARRAY_BOUND) {
    world_bind(env->simulation.world, rows[array].column, made->own, env->envs);
    return true;
  }
  if (!make_list(env, array, error)) {
    device_release(&env->device, made->own, bytes_of(env, array));
    made->own = NULL;
    return false;
  }
  if (rows[array].kind == ARRAY_RUNNING && env->begun) schedule_run(made->derive, env->simulation.world);
  return true;
}

static bool refuse_metric(const struct env *env, enum l2sr_array array, struct error *error) {
  if (env->config.scoring == L2SR_SCORE_NEVER)
    return fail_usage(error, "there is no array %s: scoring is never; open the handle with another",
                      rows[array].name);
  if (array == L2SR_CROSS_ENTROPY || array == L2SR_ACCURACY || array == L2SR_AUC)
    return fail_usage(error, "there is no array %s, which is of all slices of an evaluation; take log_likelihood",
                      rows[array].name);
  return fail_usage(error, "there is no array %s: metrics are %s; name it there", rows[array].name,
                    env->options.evaluate.metrics);
}

static bool check_made(const struct env *env, enum l2sr_array array, struct error *error) {
  const char *name = rows[array].name;
  uint32_t input = env->options.reconstruct.input;
  if (rows[array].kind == ARRAY_METRIC) return refuse_metric(env, array, error);
  if (rows[array].kind == ARRAY_FINAL && env->config.autoreset != L2SR_RESET_SAME_STEP)
    return fail_usage(error,
                      "array %s is of scans that a step ends and resets; open the handle with autoreset "
                      "L2SR_RESET_SAME_STEP",
                      name);
  if (array == L2SR_FINAL_RECONSTRUCTION && env->config.scoring == L2SR_SCORE_NEVER)
    return fail_usage(error, "there is no array %s: scoring is never; open the handle with another", name);
  if ((array == L2SR_LABEL || array == L2SR_FINAL_LABEL) && !*env->options.data.label)
    return fail_usage(error, "there is no array %s: data.label is empty; set it to a column of the CSV file that data.labels names, "
                             "or give l2sr_slices.label", name);
  if (is_planes(array) && (input == GIVEN_OBSERVATION || (array == L2SR_MAPS && input != GIVEN_MAPS)))
    return fail_usage(error, "there is no array %s: reconstruct.input is %s; set it to %s", name,
                      input == GIVEN_KSPACE ? "kspace" : "observation", name);
  return true;
}

bool env_array_need(struct env *env, enum l2sr_array array, struct error *error) {
  if ((int)array < 0 || array >= L2SR_ARRAYS)
    return fail_usage(error, "there is no array %d; it must be from 0 to %d", (int)array, L2SR_ARRAYS - 1);
  return env_array_memory(env, array) || (check_made(env, array, error) && make(env, array, error));
}

/* Metrics of one system are computed together; those that nobody named are not kept. */
static bool is_kept(const struct env *env, size_t metric) {
  return world_has(env->simulation.world, metric_list[metric].env) &&
         (metric == (size_t)env->options.reward.metric ||
          option_has(env->options.evaluate.metrics, metric_list[metric].name));
}

static void find_extent(struct env *env, enum l2sr_array array) {
  struct env_array *found = &env->array[array];
  const struct scan_shape *scan = &env->acquisition.shape;
  size_t elements = elements_of(env, array);
  bool image = elements == scan_shape_pixels(scan);
  if (is_planes(array)) {
    *found = (struct env_array){.rank = 4, .extent = {env->envs, planes_coils(&env->simulation), scan->height, scan->width}};
    return;
  }
  found->rank = image ? 3 : elements > 1 ? 2 : 1;
  found->extent[0] = env->envs;
  found->extent[1] = image ? scan->height : elements;
  found->extent[2] = scan->width;
}

bool env_arrays_open(struct env *env, struct error *error) {
  bool good = true;
  for (int a = 0; a < L2SR_ARRAYS; a++) find_extent(env, (enum l2sr_array)a);
  for (size_t m = 0; good && m < METRICS_SCORED; m++)
    if (is_kept(env, m) && (good = make_memory(env, metric_arrays[m], error)))
      device_fill_floats(&env->device, env->array[metric_arrays[m]].own, env->envs, NAN);
  return good;
}

void env_arrays_close(struct env *env) {
  for (int a = 0; a < L2SR_ARRAYS; a++) {
    struct env_array *array = &env->array[a];
    host_memory_close(&array->copy, &env->device);
    if (array->own) device_release(&env->device, array->own, bytes_of(env, (enum l2sr_array)a));
    if (array->placed) clReleaseMemObject(array->placed);
    if (array->shared.count) cuda_memory_close(env->cuda, &array->shared);
    array->own = array->placed = NULL;
  }
  if (env->taken) device_release(&env->device, env->taken, env->envs * world_shape(env->simulation.world, SHAPE_HW));
  env->taken = NULL;
}

/* ---- memory of the program's --------------------------------------------------------------------------- */

/* The buffer that a sub-buffer is a part of. */
static cl_mem whole_of(cl_mem memory) {
  cl_mem whole = NULL;
  clGetMemObjectInfo(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL);
  return whole ? whole : memory;
}

bool env_is_part(const struct env *env, cl_mem memory, enum l2sr_array array) {
  cl_mem its = env_array_memory(env, array);
  return its && whole_of(its) == whole_of(memory);
}

static bool check_place(const struct env *env, enum l2sr_array array, cl_mem memory, struct error *error) {
  cl_mem_flags flags = 0;
  if (!memory)
    return fail_as(error, ERROR_CALL, "the memory for array %s is NULL; give a buffer", rows[array].name);
  if (!env_check_memory(env, memory, 0, bytes_of(env, array), rows[array].name, error)) return false;
  for (int other = 0; other < L2SR_ARRAYS; other++)
    if (env_is_part(env, memory, (enum l2sr_array)other))
      return fail_as(error, ERROR_CALL, "the memory for array %s is of array %s; give another",
                     rows[array].name, rows[other].name);
  clGetMemObjectInfo(memory, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
  return !(flags & CL_MEM_READ_ONLY) ||
         fail_as(error, ERROR_CALL, "the memory for array %s is CL_MEM_READ_ONLY; it is to be written",
                 rows[array].name);
}

bool env_array_place(struct env *env, enum l2sr_array array, cl_mem memory, struct error *error) {
  struct env_array *placed = &env->array[array];
  struct world *world = env->simulation.world;
  cl_mem before = placed->placed, own = placed->own;
  size_t bytes = bytes_of(env, array);
  if (memory && memory == env_array_memory(env, array)) return true;
  if (!check_place(env, array, memory, error)) return false;
  clRetainMemObject(memory);
  if (rows[array].kind == ARRAY_COLUMN || rows[array].kind == ARRAY_BOUND)
    world_move(world, rows[array].column, memory);
  else
    device_copy(&env->device, env_array_memory(env, array), 0, memory, 0, bytes);
  placed->placed = memory;
  placed->own = NULL;
  if (own) device_release(&env->device, own, bytes);
  if (before) clReleaseMemObject(before);
  return device_finish(&env->device, error);
}

void env_array_fill_shared(struct env *env, enum l2sr_array array) {
  const struct cuda_memory *shared = &env->array[array].shared;
  cl_mem memory = env_array_memory(env, array);
  if (shared->count && cuda_memory_buffer(shared) != memory)
    cuda_memory_fill(env->cuda, shared, memory, bytes_of(env, array));
}

bool env_array_share(struct env *env, enum l2sr_array array, struct error *error) {
  struct cuda_memory *shared = &env->array[array].shared;
  char what[64];
  snprintf(what, sizeof what, "array %s", rows[array].name);
  if (shared->count) return true;
  if (!env->cuda && !cuda_open(&env->cuda, &env->device, env->arena, error)) return false;
  if (!cuda_memory_open(env->cuda, shared, bytes_of(env, array), what, env->arena, error)) return false;
  if (cuda_memory_buffer(shared)) return env_array_place(env, array, cuda_memory_buffer(shared), error);
  env_array_fill_shared(env, array);
  return device_finish(&env->device, error);
}

/* ---- copies -------------------------------------------------------------------------------------------- */

static void enqueue_copy(struct env *env, enum l2sr_array array) {
  struct device *device = &env->device;
  CL(device, clEnqueueReadBuffer(device->queue, env_array_memory(env, array), CL_FALSE, 0,
                                 bytes_of(env, array), env->array[array].copy.data, 0, NULL, NULL));
}

bool env_array_pin(struct env *env, enum l2sr_array array, struct error *error) {
  struct host_memory *copy = &env->array[array].copy;
  if (copy->buffer) return true;
  if (!host_memory_open(copy, &env->device, bytes_of(env, array), rows[array].name, "lower world.envs", error)) return false;
  enqueue_copy(env, array);
  return device_finish(&env->device, error);
}

void env_array_unpin(struct env *env, enum l2sr_array array) {
  host_memory_close(&env->array[array].copy, &env->device);
}

bool env_array_read(struct env *env, enum l2sr_array array, void *to, size_t bytes, struct error *error) {
  size_t wanted = bytes_of(env, array);
  if (!to)
    return fail_as(error, ERROR_CALL, "there is no memory to read array %s to: NULL", rows[array].name);
  if (bytes != wanted)
    return fail_as(error, ERROR_CALL, "array %s has %zu bytes, and the memory to read it to %zu",
                   rows[array].name, wanted, bytes);
  device_read(&env->device, env_array_memory(env, array), 0, bytes, to);
  return device_finish(&env->device, error);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static void derive(struct env *env, enum array_kind kind, unsigned changes) {
  for (int a = 0; a < L2SR_ARRAYS; a++)
    if (env->array[a].derive && rows[a].kind == kind && rows[a].changes & changes)
      schedule_run(env->array[a].derive, env->simulation.world);
}

void env_arrays_renew(struct env *env, unsigned changes) {
  derive(env, ARRAY_RUNNING, changes);
  for (int a = 0; a < L2SR_ARRAYS; a++) {
    if (!(rows[a].changes & changes)) continue;
    if (env->array[a].copy.buffer) enqueue_copy(env, (enum l2sr_array)a);
    env_array_fill_shared(env, (enum l2sr_array)a);
  }
}

bool env_arrays_want_final(const struct env *env) {
  bool wanted = false;
  for (int a = 0; a < L2SR_ARRAYS; a++) wanted |= env->array[a].derive && rows[a].kind == ARRAY_FINAL;
  return wanted;
}

void env_arrays_keep_final(struct env *env) {
  derive(env, ARRAY_FINAL, CHANGE_END);
}
