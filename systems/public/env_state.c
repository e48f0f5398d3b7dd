/* The state of environments as bytes, and pictures of them. A state is what scans follow from; observations
 * are made of it anew. */
#include "systems/public/env.h"

#include "engine/base/half.h"
#include "engine/base/hash.h"
#include "engine/files/part.h"
#include "engine/files/png.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- what a state is of -------------------------------------------------------------------------------- */

/* A state: this head, a word for every key of the scene that scans follow from, and the columns. */
struct state_head {
  char magic[8];
  char check[64]; /* SHA-256 of everything behind it */
  char version[16];
  char data[64];                                                          /* SHA-256 of what the slices are */
  uint32_t height, width, actions, initial, budget, envs, slices, keys,
      autoreset; /* must be those of the handle */
  uint32_t seed, begun;
};

static const char magic[8] = "l2sr_s3";
static const unsigned columns[] = {ENV_scan,   ENV_slice,  ENV_step,    ENV_done,
                                   ENV_action, ENV_reward, ENV_quality, ENV_mask};
enum { COLUMNS = sizeof columns / sizeof *columns };
enum { SCAN, SLICE, STEP, DONE, WORDS = COLUMNS - 1 }; /* all but the mask are a word an environment */

/* Scans follow from these, and not from those: how slices are found and kept, and what the state itself says.
 */
static bool is_of_scans(const struct option *row) {
  static const char *const sections[] = {"data", "acquisition", "world", "sampler", "reward"};
  static const char *const others[] = {"path", "split", "window", "strict",
                                       "envs", "seed",  "mask",   "tau_step"};
  bool is_one = false;
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
    is_one |= !strcmp(row->section, sections[i]);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) is_one &= strcmp(row->name, others[i]) != 0;
  return is_one;
}

static uint32_t count_keys(void) {
  uint32_t count = 0;
  for (size_t i = 0; i < option_table.count; i++) count += is_of_scans(&option_table.rows[i]);
  return count;
}

static uint32_t word_of(const struct option *row, const struct options *options, struct arena *arena) {
  const char *text = option_text(row, options, arena);
  char hex[65];
  uint32_t word;
  hash_hex(text, strlen(text), hex);
  sscanf(hex, "%8x", &word);
  return word;
}

static void write_keys(const struct env *env, uint32_t *words) {
  struct arena *arena = arena_open();
  for (size_t i = 0; i < option_table.count; i++)
    if (is_of_scans(&option_table.rows[i])) *words++ = word_of(&option_table.rows[i], &env->options, arena);
  arena_close(arena);
}

static struct state_head head_of(const struct env *env) {
  const struct acquisition *scan = &env->acquisition;
  struct state_head head = {.version = L2SR_VERSION,
                            .height = scan->shape.height,
                            .width = scan->shape.width,
                            .actions = scan->shape.actions,
                            .initial = scan->initial_lines,
                            .budget = scan->budget,
                            .envs = (uint32_t)env->envs,
                            .slices = (uint32_t)env->report.slices,
                            .keys = count_keys(),
                            .autoreset = env->config.autoreset,
                            .seed = env->options.world.seed,
                            .begun = env->begun};
  memcpy(head.magic, magic, sizeof magic);
  memcpy(head.data, env->contents, sizeof head.data);
  return head;
}

/* Files by their names and digests (systems/data/digest.h), slices in memory by all of their values. */
void env_digest(struct env *env) {
  const struct dataset *dataset = &env->dataset;
  struct arena *arena = arena_open();
  const char *text = dataset->hash;
  for (size_t v = 0; v < dataset->volume_count; v++) {
    const struct volume *volume = &dataset->volumes[v];
    char hex[65] = "";
    if (volume->memory)
      hash_hex(volume->memory, sizeof(float) * volume->slices * volume_slice_floats(volume), hex);
    text = arena_text(arena, "%s\n%zu %zu %zu %zu %08x%08x %s", hex, volume->slices, volume->coils,
                      volume->height, volume->width, volume->digest.word[0], volume->digest.word[1], text);
    hash_hex(text, strlen(text), env->contents);
    text = env->contents;
  }
  arena_close(arena);
}

/* ---- saving -------------------------------------------------------------------------------------------- */

static size_t column_bytes(const struct env *env, size_t column) {
  return env->envs * world_column_bytes(env->simulation.world, columns[column]);
}

/* Tells the size of the state with this head, whoever wrote it; 0: there is none of so many environments. */
static size_t bytes_of(const struct state_head *head) {
  enum { ENVS_MOST = 65536, ACTIONS_MOST = 1024 * 1024 }; /* as components/options.h has them */
  bool can_be = head->envs <= ENVS_MOST && head->actions <= ACTIONS_MOST;
  size_t row = WORDS * sizeof(uint32_t) + head->actions;
  return can_be ? sizeof *head + sizeof(uint32_t) * (size_t)head->keys + head->envs * row : 0;
}

size_t env_state_bytes(const struct env *env) {
  struct state_head head = head_of(env);
  return bytes_of(&head);
}

static void sign(const uint8_t *state, size_t bytes, char check[64]) {
  const size_t behind = offsetof(struct state_head, version);
  char hex[65];
  hash_hex(state + behind, bytes - behind, hex);
  memcpy(check, hex, 64);
}

static component_set saved_columns(void) {
  component_set set = 0;
  for (size_t c = 0; c < COLUMNS; c++) set |= SET(columns[c]);
  return set;
}

static void read_columns(struct env *env, uint8_t *place) {
  const struct system save = {.name = "save_state", .doc = "what the scans stand at", .reads = saved_columns()};
  struct world_use before = world_enter(env->simulation.world, &save);
  for (size_t c = 0; c < COLUMNS; place += column_bytes(env, c++))
    world_read(env->simulation.world, columns[c], 0, env->envs, place);
  world_leave(env->simulation.world, before);
}

static void write_columns(struct env *env, const uint8_t *place) {
  const struct system load = {.name = "load_state", .doc = "what the scans go on from", .writes = saved_columns()};
  struct world_use before = world_enter(env->simulation.world, &load);
  for (size_t c = 0; c < COLUMNS; place += column_bytes(env, c++))
    world_write(env->simulation.world, columns[c], 0, env->envs, place);
  world_leave(env->simulation.world, before);
}

bool env_save(struct env *env, void *to, struct error *error) {
  struct state_head head = head_of(env);
  size_t bytes = bytes_of(&head);
  struct arena *arena = arena_open();
  uint8_t *state = arena_try(arena, bytes), *place = state + sizeof head;
  bool good = state ? true : fail_memory(error, "no host memory for a state of %zu bytes", bytes);
  if (good) {
    memcpy(state, &head, sizeof head);
    write_keys(env, (uint32_t *)place);
    place += sizeof(uint32_t) * head.keys;
    read_columns(env, place);
    good = device_finish(&env->device, error);
  }
  if (good) {
    sign(state, bytes, ((struct state_head *)state)->check);
    memcpy(to, state, bytes);
  }
  arena_close(arena);
  return good;
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

/* Whether these are the bytes that some handle has saved. */
static bool check_whole(const uint8_t *state, size_t bytes, struct error *error) {
  const struct state_head *head = (const struct state_head *)state;
  char check[64];
  sign(state, bytes, check);
  return !memcmp(check, head->check, sizeof check) ||
         fail_file(error, "the state is damaged: its bytes are not those that were saved");
}

static bool check_length(const struct state_head *head, size_t bytes, struct error *error) {
  if (memcmp(head->magic, magic, sizeof magic))
    return fail_file(error,
                     "these %zu bytes are no state of l2sr_env_save, or one of an older version than %s; "
                     "save it anew",
                     bytes, L2SR_VERSION);
  return bytes == bytes_of(head) ||
         fail_file(error, "the state is damaged: it has %zu bytes of %zu", bytes, bytes_of(head));
}

static bool check_version(const struct state_head *head, struct error *error) {
  return !strncmp(head->version, L2SR_VERSION, sizeof head->version) ||
         fail_file(error, "the state is of l2sr %.*s, and this is l2sr %s; restore it there, or save it anew",
                   (int)sizeof head->version, head->version, L2SR_VERSION);
}

static bool check_sizes(const struct state_head *head, const struct state_head *own, struct error *error) {
  const struct {
    const char *what;
    uint32_t found, wanted;
  } facts[] = {
      {"images of height", head->height, own->height}, {"images of width", head->width, own->width},
      {"actions", head->actions, own->actions},        {"initial actions", head->initial, own->initial},
      {"steps a scan", head->budget, own->budget},     {"environments", head->envs, own->envs},
      {"slices", head->slices, own->slices},           {"keys of a scene", head->keys, own->keys}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    if (facts[i].found != facts[i].wanted)
      return fail_usage(
          error,
          "the state has %s %u, and the handle %u; open it with the scene, the data and the number of "
          "environments of the state",
          facts[i].what, facts[i].found, facts[i].wanted);
  return true;
}

static bool check_scene(const struct env *env, const uint32_t *words, struct error *error) {
  struct arena *arena = arena_open();
  bool same = true;
  for (size_t i = 0; same && i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (is_of_scans(row) && *words++ != word_of(row, &env->options, arena))
      same = fail_usage(error,
                        "the state is of another scene: %s.%s was not %s, as it is now; open the handle with "
                        "the scene of the state",
                        row->section, row->name, option_text(row, &env->options, arena));
  }
  arena_close(arena);
  return same;
}

/* Who begins a scan decides whether an ended one may stand between two steps. */
static bool check_handle(const struct env *env, const struct state_head *head, struct error *error) {
  static const char *const ways[] = {"L2SR_RESET_DISABLED", "L2SR_RESET_SAME_STEP", "L2SR_RESET_NEXT_STEP"};
  struct state_head own = head_of(env);
  if (!check_sizes(head, &own, error) || !check_scene(env, (const uint32_t *)(head + 1), error)) return false;
  if (memcmp(head->data, own.data, sizeof own.data))
    return fail_usage(error, "the state is of other %s than the handle's; open it with the data of the state",
                      env->config.slices ? "slices" : "files");
  if (head->autoreset > L2SR_RESET_NEXT_STEP || head->begun > 1)
    return fail_file(error, "the state is damaged: autoreset %u, begun %u", head->autoreset, head->begun);
  return head->autoreset == own.autoreset ||
         fail_usage(error,
                    "the state is of a handle with autoreset %s, and this has %s; open it with the former",
                    ways[head->autoreset], ways[own.autoreset]);
}

static bool is_mask(const struct env *env, const uint8_t *mask, const uint8_t *initial, uint32_t steps) {
  uint32_t taken = 0;
  for (uint32_t i = 0; i < env->acquisition.shape.actions; i++) {
    if (mask[i] > 1 || mask[i] < initial[i]) return false;
    taken += mask[i] && !scan_shape_is_padded(&env->acquisition.shape, i);
  }
  return taken <= env->acquisition.initial_lines + steps; /* L2SR_INVALID_IGNORE acquires less */
}

/* Where scans begin in the step that ends them, none has its budget; else all that have are done. */
static bool is_count(const struct env *env, uint32_t steps, uint32_t done) {
  uint32_t budget = env->acquisition.budget;
  if (env->config.autoreset == L2SR_RESET_SAME_STEP) return steps < budget && done <= 1;
  return steps <= budget && done == (steps == budget);
}

/* One environment as scans are; a hash is no promise. Before the first reset only what a reset reads is set.
 */
static bool is_scan(const struct env *env, const struct state_head *head, const uint32_t *words,
                    const uint8_t *mask, const uint32_t *order, const uint8_t *initial) {
  uint32_t scan = words[SCAN * env->envs], slice = words[SLICE * env->envs], steps = words[STEP * env->envs];
  if (!head->begun) return scan == NO_LINE && slice < head->slices && !steps;
  return scan != NO_LINE && slice == order[scan % head->slices] &&
         is_count(env, steps, words[DONE * env->envs]) && is_mask(env, mask, initial, steps);
}

static bool check_columns(const struct env *env, const struct state_head *head, const uint32_t *words,
                          struct arena *arena, struct error *error) {
  struct options options = env->options;
  const uint8_t *mask = (const uint8_t *)(words + WORDS * env->envs);
  uint8_t *initial = arena_new(arena, head->actions);
  uint32_t *order = ARENA_NEW(arena, uint32_t, head->slices);
  options.world.seed = head->seed;
  load_list_order(&options, order, head->slices);
  acquisition_initial(&env->acquisition, initial);
  for (size_t row = 0; row < env->envs; row++)
    if (!is_scan(env, head, words + row, mask + row * head->actions, order, initial))
      return fail_file(
          error,
          "the state is damaged: environment %zu has no scan that can be: number %u, slice %u of "
          "%u, step %u of %u",
          row, words[row], words[SLICE * env->envs + row], head->slices, words[STEP * env->envs + row],
          head->budget);
  return true;
}

/* ---- restoring ----------------------------------------------------------------------------------------- */

static const uint8_t *columns_of(const uint8_t *state) {
  const struct state_head *head = (const struct state_head *)state;
  return state + sizeof *head + sizeof(uint32_t) * head->keys;
}

static void write_state(struct env *env, const uint8_t *state) {
  const struct state_head *head = (const struct state_head *)state;
  const uint8_t *place = columns_of(state);
  const uint32_t *steps = (const uint32_t *)place + STEP * env->envs;
  for (size_t row = 0; row < env->envs; row++) env_count(env, row, steps[row]);
  write_columns(env, place);
  env->options.world.seed = head->seed;
  load_order(&env->simulation, env->report.slices);
  env->begun = head->begun;
  env->decided = false;
  env->dones = env->rewards = true;
}

static bool check_state(const struct env *env, const uint8_t *state, size_t bytes, struct arena *arena,
                        struct error *error) {
  const struct state_head *head = (const struct state_head *)state;
  return check_whole(state, bytes, error) && check_version(head, error) && check_handle(env, head, error) &&
         check_columns(env, head, (const uint32_t *)columns_of(state), arena, error);
}

/* The caller's bytes may lie at any address. */
bool env_restore(struct env *env, const void *from, size_t bytes, struct error *error) {
  struct state_head head;
  if (bytes < sizeof head)
    return fail_file(error, "%zu bytes are no state: it has %zu", bytes, env_state_bytes(env));
  memcpy(&head, from, sizeof head);
  if (!check_length(&head, bytes, error)) return false;
  struct arena *arena = arena_open();
  uint8_t *state = arena_try(arena, bytes);
  bool good = state ? true : fail_memory(error, "no host memory for a state of %zu bytes", bytes);
  if (good) {
    memcpy(state, from, bytes);
    good = check_state(env, state, bytes, arena, error);
  }
  if (good) write_state(env, state);
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
  return shape->rank == 2 || shape->rank == 3;
}

static bool draw_row(struct env *env, enum l2sr_array array, const struct l2sr_shape *shape, size_t row,
                     uint8_t *grey, struct arena *arena, struct error *error) {
  const struct scan_shape *scan = &env->acquisition.shape;
  size_t pixels = scan_shape_pixels(scan), bytes = shape->total / shape->extent[0];
  void *values = arena_new(arena, bytes);
  float *image = ARENA_NEW(arena, float, pixels);
  bool standard = array == L2SR_STANDARDISED || array == L2SR_FINAL_STANDARDISED;
  device_read(&env->device, env_array_memory(env, array), row * bytes, bytes, values);
  if (!device_finish(&env->device, error)) return false;
  if (shape->element == L2SR_U8) {
    geometry_mask(geometry_of(&env->acquisition), scan, values, grey);
    for (size_t i = 0; i < pixels; i++) grey[i] = grey[i] ? 255 : 0;
    return true;
  }
  if (shape->element == L2SR_F16) widen(values, pixels, image);
  shade(shape->element == L2SR_F16 ? image : values, pixels, standard ? -6 : 0, grey);
  return true;
}

static bool write_picture(const char *path, const uint8_t *grey, const struct scan_shape *shape,
                          struct arena *arena, struct error *error) {
  struct text_file file;
  size_t bytes;
  const unsigned char *data = png_make(arena, grey, shape->width, shape->height, &bytes);
  if (!data) return fail_memory(error, "no memory for a picture of %ux%u", shape->height, shape->width);
  if (!file_create(&file, path, error)) return false;
  fwrite(data, 1, bytes, file.file); /* what the disk does not take is told by the commit */
  return file_commit(&file, error);
}

bool env_draw(struct env *env, enum l2sr_array array, size_t row, const char *path, struct error *error) {
  struct l2sr_shape shape = {0};
  const struct scan_shape *scan = &env->acquisition.shape;
  env_array_shape(env, array, &shape);
  if (!is_picture(&shape))
    return fail_usage(error, "array %s has %s; draw one of images or masks", shape.name,
                      shape.rank > 3 ? "planes of coils" : "one number a row");
  if (row >= env->envs)
    return fail_usage(error, "there is no environment %zu to draw; there are %zu", row, env->envs);
  struct arena *arena = arena_open();
  uint8_t *grey = arena_new(arena, scan_shape_pixels(scan));
  bool good =
      draw_row(env, array, &shape, row, grey, arena, error) && write_picture(path, grey, scan, arena, error);
  arena_close(arena);
  return good;
}
