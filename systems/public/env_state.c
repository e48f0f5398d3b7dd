/* The state of environments as bytes, and pictures of them. A state is what scans follow from; observations
 * are made of it anew. */
#include "systems/public/env.h"

#include "engine/base/half.h"
#include "engine/files/part.h"
#include "engine/files/png.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <string.h>

/* ---- state --------------------------------------------------------------------------------------------- */

struct state_head {
  char magic[8];
  uint32_t size, actions, initial, budget, envs, slices; /* must be those of the handle */
  uint32_t seed, begun;
  char data[64];     /* hash of the names of the files */
  uint64_t checksum; /* of the columns */
};

static const char magic[8] = "l2sr_s1";
static const unsigned columns[] = {ENV_scan,   ENV_slice,  ENV_step,    ENV_done,
                                   ENV_action, ENV_reward, ENV_quality, ENV_mask};
enum { COLUMNS = sizeof columns / sizeof *columns };

static size_t column_bytes(const struct env *env, size_t column) {
  return env->envs * world_column_bytes(env->simulation.world, columns[column]);
}

size_t env_state_bytes(const struct env *env) {
  size_t bytes = sizeof(struct state_head);
  for (size_t c = 0; c < COLUMNS; c++) bytes += column_bytes(env, c);
  return bytes;
}

static uint64_t sum_of(const uint8_t *data, size_t bytes) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; i++) sum = (sum ^ data[i]) * 0x100000001b3u;
  return sum;
}

static struct state_head head_of(const struct env *env) {
  const struct acquisition *scan = &env->acquisition;
  struct state_head head = {.size = scan->size,
                            .actions = scan->lines,
                            .initial = scan->initial_lines,
                            .budget = scan->budget,
                            .envs = (uint32_t)env->envs,
                            .slices = (uint32_t)env->report.slices,
                            .seed = env->options.world.seed,
                            .begun = env->begun};
  memcpy(head.magic, magic, sizeof magic);
  memcpy(head.data, env->dataset.hash, sizeof head.data);
  return head;
}

/* The columns of a state. */
static component_set saved_columns(void) {
  component_set set = 0;
  for (size_t c = 0; c < COLUMNS; c++) set |= SET(columns[c]);
  return set;
}

bool env_save(struct env *env, void *to, struct error *error) {
  struct state_head head = head_of(env);
  uint8_t *place = (uint8_t *)to + sizeof head;
  const struct system save = {.name = "save_state", .doc = "what the scans stand at", .reads = saved_columns()};
  struct world_use before = world_enter(env->simulation.world, &save);
  for (size_t c = 0; c < COLUMNS; place += column_bytes(env, c++))
    world_read(env->simulation.world, columns[c], 0, env->envs, place);
  world_leave(env->simulation.world, before);
  head.checksum = sum_of((const uint8_t *)to + sizeof head, env_state_bytes(env) - sizeof head);
  memcpy(to, &head, sizeof head);
  return device_finish(&env->device, error);
}

static bool check_head(const struct env *env, const struct state_head *head, size_t bytes,
                       struct error *error) {
  struct state_head own = head_of(env);
  const struct {
    const char *what;
    uint32_t found, wanted;
  } facts[] = {{"images of side", head->size, own.size},        {"actions", head->actions, own.actions},
               {"initial actions", head->initial, own.initial}, {"steps a scan", head->budget, own.budget},
               {"environments", head->envs, own.envs},          {"slices", head->slices, own.slices}};
  if (memcmp(head->magic, magic, sizeof magic))
    return fail_file(error, "these %zu bytes are no state of l2sr_env_save", bytes);
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if (facts[i].found != facts[i].wanted)
      return fail_usage(
          error,
          "the state has %s %u, and the handle %u; open it with the scene, the data and the number of "
          "environments of the state",
          facts[i].what, facts[i].found, facts[i].wanted);
  if (memcmp(head->data, own.data, sizeof own.data))
    return fail_usage(error,
                      "the state is of other files than the handle's; open it with the data of the state");
  return bytes == env_state_bytes(env) ||
         fail_file(error, "the state is damaged: it has %zu bytes of %zu", bytes, env_state_bytes(env));
}

/* Numbers that index memory; a checksum is no promise. */
static bool check_columns(const struct env *env, const uint8_t *place, struct error *error) {
  size_t envs = env->envs;
  const uint32_t *words = (const uint32_t *)place, *slice = words + envs, *step = words + 2 * envs;
  for (size_t row = 0; row < envs; row++)
    if (slice[row] >= env->report.slices || step[row] > env->acquisition.budget)
      return fail_file(error, "the state is damaged: environment %zu has slice %u of %zu and step %u of %u",
                       row, slice[row], env->report.slices, step[row], env->acquisition.budget);
  return true;
}

static void write_state(struct env *env, const struct state_head *head, const uint8_t *place) {
  const uint32_t *steps = (const uint32_t *)place + 2 * env->envs;
  for (size_t row = 0; row < env->envs; row++) env_count(env, row, steps[row]);
  const struct system load = {.name = "load_state", .doc = "what the scans go on from", .writes = saved_columns()};
  struct world_use before = world_enter(env->simulation.world, &load);
  for (size_t c = 0; c < COLUMNS; place += column_bytes(env, c++))
    world_write(env->simulation.world, columns[c], 0, env->envs, place);
  world_leave(env->simulation.world, before);
  env->options.world.seed = head->seed;
  load_order(&env->simulation, env->report.slices);
  env->begun = head->begun != 0;
  env->decided = false;
  env->dones = env->rewards = true;
}

static bool check_state(const struct env *env, const struct state_head *head, const uint8_t *place,
                        size_t bytes, struct error *error) {
  if (head->checksum != sum_of(place, bytes))
    return fail_file(error, "the state is damaged: its bytes are not those that were saved");
  return check_columns(env, place, error);
}

/* The caller's bytes may lie at any address. */
bool env_restore(struct env *env, const void *from, size_t bytes, struct error *error) {
  struct state_head head;
  if (bytes < sizeof head)
    return fail_file(error, "%zu bytes are no state: it has %zu", bytes, env_state_bytes(env));
  memcpy(&head, from, sizeof head);
  if (!check_head(env, &head, bytes, error)) return false;
  struct arena *arena = arena_open();
  size_t rest = bytes - sizeof head;
  uint8_t *place = arena_new(arena, rest);
  memcpy(place, (const uint8_t *)from + sizeof head, rest);
  bool good = check_state(env, &head, place, rest, error);
  if (good) write_state(env, &head, place);
  arena_close(arena);
  if (!good) return false;
  env_clear_scores(env);
  return env_renew(env, error);
}

/* ---- pictures ------------------------------------------------------------------------------------------ */

static uint8_t grey_of(float value, float black, float white) {
  if (!(value > black)) return 0;
  return value >= white ? 255 : (uint8_t)(255 * (value - black) / (white - black) + 0.5f);
}

static void shade(const float *image, size_t pixels, float black, uint8_t *grey) {
  float white = black;
  for (size_t i = 0; i < pixels; i++)
    if (isfinite(image[i]) && image[i] > white) white = image[i];
  for (size_t i = 0; i < pixels; i++) grey[i] = grey_of(image[i], black, white);
}

static void widen(const uint16_t *from, size_t pixels, float *to) {
  for (size_t i = 0; i < pixels; i++) to[i] = half_to_float(from[i]);
}

static bool is_picture(const struct l2sr_shape *shape) {
  return shape->rank > 1;
}

static bool draw_row(struct env *env, enum l2sr_array array, const struct l2sr_shape *shape, size_t row,
                     uint8_t *grey, struct arena *arena, struct error *error) {
  size_t n = env->options.data.size, bytes = shape->total / shape->extent[0];
  void *values = arena_new(arena, bytes);
  float *image = ARENA_NEW(arena, float, n *n);
  bool standard = array == L2SR_STANDARDISED || array == L2SR_FINAL_STANDARDISED;
  device_read(&env->device, env_array_memory(env, array), row * bytes, bytes, values);
  if (!device_finish(&env->device, error)) return false;
  if (shape->element == L2SR_U8) {
    geometry_mask(geometry_of(&env->acquisition), (uint32_t)n, values, grey);
    for (size_t i = 0; i < n * n; i++) grey[i] = grey[i] ? 255 : 0;
    return true;
  }
  if (shape->element == L2SR_F16) widen(values, n * n, image);
  shade(shape->element == L2SR_F16 ? image : values, n * n, standard ? -6 : 0, grey);
  return true;
}

static bool write_picture(const char *path, const uint8_t *grey, size_t n, struct arena *arena,
                          struct error *error) {
  struct text_file file;
  size_t bytes;
  const unsigned char *data = png_make(arena, grey, n, n, &bytes);
  if (!data) return fail_memory(error, "no memory for a picture of %zux%zu", n, n);
  if (!file_create(&file, path, error)) return false;
  fwrite(data, 1, bytes, file.file); /* what the disk does not take is told by the commit */
  return file_commit(&file, error);
}

bool env_draw(struct env *env, enum l2sr_array array, size_t row, const char *path, struct error *error) {
  struct l2sr_shape shape = {0};
  size_t n = env->options.data.size;
  env_array_shape(env, array, &shape);
  if (!is_picture(&shape))
    return fail_usage(error, "array %s has one number a row; draw one of images or masks", shape.name);
  if (row >= env->envs)
    return fail_usage(error, "there is no environment %zu to draw; there are %zu", row, env->envs);
  struct arena *arena = arena_open();
  uint8_t *grey = arena_new(arena, n * n);
  bool good =
      draw_row(env, array, &shape, row, grey, arena, error) && write_picture(path, grey, n, arena, error);
  arena_close(arena);
  return good;
}
