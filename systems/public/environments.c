/* The public functions of environments (systems/public/l2sr.h). */
#include "systems/public/call.h"
#include "systems/public/env.h"
#include "systems/sampling/geometry.h"

#include <string.h>

/* ---- opening ------------------------------------------------------------------------------------------- */

struct opening {
  const struct l2sr_config *config;
  l2sr_env **handle;
};

static bool open_env(void *none, void *arguments, struct error *error) {
  const struct opening *opening = arguments;
  struct l2sr_config config;
  struct env *env;
  (void)none;
  if (!opening->handle) return fail_as(error, ERROR_CALL, "there is no place for the handle: NULL");
  if (!config_read(&config, opening->config, error) || !env_open(&env, &config, error)) return false;
  *opening->handle = handle_give(HANDLE_ENV, env, error);
  if (!*opening->handle) env_close(env);
  return *opening->handle;
}

enum l2sr_code l2sr_env_open(const struct l2sr_config *config, l2sr_env **env) {
  struct opening opening = {config, env};
  if (env) *env = NULL;
  return call_plain(open_env, &opening);
}

static bool close_env(void *object, void *none, struct error *error) {
  (void)none, (void)error;
  env_close(object);
  return true;
}

enum l2sr_code l2sr_env_close(l2sr_env *env) {
  return call_close(env, HANDLE_ENV, close_env);
}

static bool tell_facts(void *object, void *arguments, struct error *error) {
  const struct env *env = object;
  const struct acquisition *scan = &env->acquisition;
  struct l2sr_facts facts = {.envs = (uint32_t)env->envs,
                             .actions = scan->shape.actions,
                             .size = scan->shape.height == scan->shape.width ? scan->shape.width : 0,
                             .height = scan->shape.height,
                             .width = scan->shape.width,
                             .initial = scan->initial_lines,
                             .budget = scan->budget,
                             .slices = (uint32_t)env->report.slices,
                             .seed = env->options.world.seed};
  size_t bytes;
  if (!config_room(arguments, sizeof facts, &bytes, "l2sr_facts", error)) return false;
  facts.bytes = *(const size_t *)arguments;
  snprintf(facts.device, sizeof facts.device, "%s", env->device.facts.name);
  snprintf(facts.geometry, sizeof facts.geometry, "%s", geometry_of(scan)->name);
  memcpy(arguments, &facts, bytes);
  return true;
}

enum l2sr_code l2sr_env_facts(l2sr_env *env, struct l2sr_facts *facts) {
  return call_on(env, HANDLE_ENV, tell_facts, facts);
}

struct slice_places {
  size_t slice;
  const char **path;
  size_t *number;
};

static bool tell_slice(void *object, void *arguments, struct error *error) {
  const struct env *env = object;
  const struct slice_places *places = arguments;
  if (places->slice >= env->report.slices)
    return fail_usage(error, "there is no slice %zu; the handle has %zu", places->slice, env->report.slices);
  const struct slice_name *name = &env->report.names[places->slice];
  if (places->path) *places->path = env->dataset.volumes[name->volume].path;
  if (places->number) *places->number = name->slice;
  return true;
}

enum l2sr_code l2sr_env_slice(l2sr_env *env, size_t slice, const char **path, size_t *number) {
  struct slice_places places = {slice, path, number};
  return call_on(env, HANDLE_ENV, tell_slice, &places);
}

struct queue_places {
  cl_context *context;
  cl_command_queue *queue;
};

static bool tell_queue(void *object, void *arguments, struct error *error) {
  const struct env *env = object;
  const struct queue_places *places = arguments;
  (void)error;
  if (places->context) *places->context = env->device.context;
  if (places->queue) *places->queue = env->device.queue;
  return true;
}

enum l2sr_code l2sr_env_queue(l2sr_env *env, struct _cl_context **context, struct _cl_command_queue **queue) {
  struct queue_places places = {context, queue};
  return call_on(env, HANDLE_ENV, tell_queue, &places);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

struct reset {
  const uint8_t *mask;
  const uint32_t *seed;
};

static bool reset_env(void *object, void *arguments, struct error *error) {
  const struct reset *reset = arguments;
  return env_reset(object, reset->mask, reset->seed, error);
}

enum l2sr_code l2sr_env_reset(l2sr_env *env, const uint8_t *mask, const uint32_t *seed) {
  struct reset reset = {mask, seed};
  return call_on(env, HANDLE_ENV, reset_env, &reset);
}

static bool decide(void *object, void *arguments, struct error *error) {
  return env_decide(object, arguments, error);
}

enum l2sr_code l2sr_env_decide(l2sr_env *env, const char *sampler) {
  return call_on(env, HANDLE_ENV, decide, (void *)(uintptr_t)sampler);
}

static bool send_actions(void *object, void *arguments, struct error *error) {
  return env_send(object, arguments, error);
}

enum l2sr_code l2sr_env_send(l2sr_env *env, const uint32_t *actions) {
  struct env_source source = {.host = actions};
  return call_on(env, HANDLE_ENV, send_actions, &source);
}

static bool send_memory(void *object, void *arguments, struct error *error) {
  const struct env_source *source = arguments;
  if (!source->memory) return fail_as(error, ERROR_CALL, "the memory of the actions is NULL; give a buffer");
  return env_send(object, source, error);
}

enum l2sr_code l2sr_env_send_memory(l2sr_env *env, struct _cl_mem *actions, size_t offset) {
  struct env_source source = {.memory = actions, .offset = offset};
  return call_on(env, HANDLE_ENV, send_memory, &source);
}

struct play {
  const char *sampler;
  uint32_t steps;
};

static bool play(void *object, void *arguments, struct error *error) {
  const struct play *play = arguments;
  return env_play(object, play->sampler, play->steps, error);
}

enum l2sr_code l2sr_env_play(l2sr_env *env, const char *sampler, uint32_t steps) {
  struct play arguments = {sampler, steps};
  return call_on(env, HANDLE_ENV, play, &arguments);
}

static bool wait_env(void *object, void *none, struct error *error) {
  (void)none;
  return env_wait(object, error);
}

enum l2sr_code l2sr_env_wait(l2sr_env *env) {
  return call_on(env, HANDLE_ENV, wait_env, NULL);
}

static bool step(void *object, void *arguments, struct error *error) {
  return env_send(object, arguments, error) && env_wait(object, error);
}

enum l2sr_code l2sr_env_step(l2sr_env *env, const uint32_t *actions) {
  struct env_source source = {.host = actions};
  return call_on(env, HANDLE_ENV, step, &source);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

struct array_call {
  enum l2sr_array array;
  struct l2sr_shape *shape;
  cl_mem *memory;
  const void **values;
  void *to;
  size_t bytes, row;
  const char *path;
};

/* Asks for the array; nothing may be under way, for it may have to be made. */
static bool need(struct env *env, const struct array_call *call, struct error *error) {
  return env_is_idle(env, false, error) && env_array_need(env, call->array, error);
}

static bool tell_shape(void *object, void *arguments, struct error *error) {
  const struct array_call *call = arguments;
  struct l2sr_shape shape = {0};
  size_t bytes;
  if (!config_room(call->shape, sizeof shape, &bytes, "l2sr_shape", error) || !need(object, call, error))
    return false;
  shape.bytes = call->shape->bytes;
  env_array_shape(object, call->array, &shape);
  memcpy(call->shape, &shape, bytes);
  return true;
}

enum l2sr_code l2sr_env_shape(l2sr_env *env, enum l2sr_array array, struct l2sr_shape *shape) {
  struct array_call call = {.array = array, .shape = shape};
  return call_on(env, HANDLE_ENV, tell_shape, &call);
}

static bool tell_memory(void *object, void *arguments, struct error *error) {
  const struct array_call *call = arguments;
  if (!call->memory) return fail_as(error, ERROR_CALL, "there is no place for the memory object: NULL");
  if (!need(object, call, error)) return false;
  *call->memory = env_array_memory(object, call->array);
  return true;
}

enum l2sr_code l2sr_env_memory(l2sr_env *env, enum l2sr_array array, struct _cl_mem **memory) {
  struct array_call call = {.array = array, .memory = memory};
  return call_on(env, HANDLE_ENV, tell_memory, &call);
}

static bool place(void *object, void *arguments, struct error *error) {
  const struct array_call *call = arguments;
  return need(object, call, error) && env_array_place(object, call->array, *call->memory, error);
}

enum l2sr_code l2sr_env_place(l2sr_env *env, enum l2sr_array array, struct _cl_mem *memory) {
  struct array_call call = {.array = array, .memory = &memory};
  return call_on(env, HANDLE_ENV, place, &call);
}

struct sharing {
  enum l2sr_array array;
  uint64_t *address;
  int *number;
};

static bool share(void *object, void *arguments, struct error *error) {
  const struct sharing *sharing = arguments;
  struct env *env = object;
  if (!sharing->address || !sharing->number)
    return fail_as(error, ERROR_CALL, "there is no place for %s: NULL",
                   sharing->address ? "the device" : "the address");
  if (!env_is_free(env, false, error) || !env_array_need(env, sharing->array, error) ||
      !env_array_share(env, sharing->array, error))
    return false;
  *sharing->address = env->array[sharing->array].shared.address;
  *sharing->number = cuda_number(env->cuda);
  return true;
}

enum l2sr_code l2sr_env_cuda(l2sr_env *env, enum l2sr_array array, uint64_t *address, int *device) {
  struct sharing sharing = {array, address, device};
  return call_on(env, HANDLE_ENV, share, &sharing);
}

static bool pin(void *object, void *arguments, struct error *error) {
  const struct array_call *call = arguments;
  struct env *env = object;
  if (!call->values) return fail_as(error, ERROR_CALL, "there is no place for the address of the copy: NULL");
  if (!need(env, call, error) || !env_array_pin(env, call->array, error)) return false;
  *call->values = env->array[call->array].copy.data;
  return true;
}

enum l2sr_code l2sr_env_pin(l2sr_env *env, enum l2sr_array array, const void **values) {
  struct array_call call = {.array = array, .values = values};
  return call_on(env, HANDLE_ENV, pin, &call);
}

static bool unpin(void *object, void *arguments, struct error *error) {
  const struct array_call *call = arguments;
  if (!need(object, call, error)) return false;
  env_array_unpin(object, call->array);
  return true;
}

enum l2sr_code l2sr_env_unpin(l2sr_env *env, enum l2sr_array array) {
  struct array_call call = {.array = array};
  return call_on(env, HANDLE_ENV, unpin, &call);
}

static bool read_array(void *object, void *arguments, struct error *error) {
  const struct array_call *call = arguments;
  return need(object, call, error) && env_array_read(object, call->array, call->to, call->bytes, error);
}

enum l2sr_code l2sr_env_read(l2sr_env *env, enum l2sr_array array, void *to, size_t bytes) {
  struct array_call call = {.array = array, .to = to, .bytes = bytes};
  return call_on(env, HANDLE_ENV, read_array, &call);
}

static bool draw(void *object, void *arguments, struct error *error) {
  const struct array_call *call = arguments;
  if (!call->path) return fail_as(error, ERROR_CALL, "the path of the picture is NULL");
  return env_is_idle(object, true, error) && env_array_need(object, call->array, error) &&
         env_draw(object, call->array, call->row, call->path, error);
}

enum l2sr_code l2sr_env_draw(l2sr_env *env, enum l2sr_array array, size_t row, const char *path) {
  struct array_call call = {.array = array, .row = row, .path = path};
  return call_on(env, HANDLE_ENV, draw, &call);
}

/* ---- what is made of the running scans ----------------------------------------------------------------- */

static bool reconstruct(void *object, void *none, struct error *error) {
  (void)none;
  return env_reconstruct(object, false, error);
}

enum l2sr_code l2sr_env_reconstruct(l2sr_env *env) {
  return call_on(env, HANDLE_ENV, reconstruct, NULL);
}

static bool score(void *object, void *none, struct error *error) {
  (void)none;
  return env_reconstruct(object, true, error);
}

enum l2sr_code l2sr_env_score(l2sr_env *env) {
  return call_on(env, HANDLE_ENV, score, NULL);
}

struct state {
  void *to;
  const void *from;
  size_t bytes, *needed;
};

static bool save(void *object, void *arguments, struct error *error) {
  const struct state *state = arguments;
  size_t bytes = env_state_bytes(object);
  if (!state->needed) return fail_as(error, ERROR_CALL, "there is no place for the number of bytes: NULL");
  if (!env_is_idle(object, false, error)) return false;
  *state->needed = bytes;
  if (!state->to) return true;
  if (state->bytes < bytes)
    return fail_as(error, ERROR_CALL, "the state has %zu bytes, and the memory for it %zu", bytes,
                   state->bytes);
  return env_save(object, state->to, error);
}

enum l2sr_code l2sr_env_save(l2sr_env *env, void *to, size_t room, size_t *bytes) {
  struct state state = {.to = to, .bytes = room, .needed = bytes};
  return call_on(env, HANDLE_ENV, save, &state);
}

static bool restore(void *object, void *arguments, struct error *error) {
  const struct state *state = arguments;
  if (!state->from) return fail_as(error, ERROR_CALL, "there is no state: NULL");
  return env_is_free(object, false, error) && env_restore(object, state->from, state->bytes, error);
}

enum l2sr_code l2sr_env_restore(l2sr_env *env, const void *from, size_t bytes) {
  struct state state = {.from = from, .bytes = bytes};
  return call_on(env, HANDLE_ENV, restore, &state);
}
