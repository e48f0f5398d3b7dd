/* Trains what a folder says from its own record, and compares digests of the parameters. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/part.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "systems/methods/methods.h"
#include "tools/commands/command.h"
#include "tools/report/json_line.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCENE_MOST = 1 << 16, STAGES_MOST = 256, DIGESTS_MOST = 1 << 20 };

/* Stages of a training: folders with a last.h5, "" where it has one stage. */
struct replay {
  struct call *call;
  const char *folder, *to;
  const char *stage[STAGES_MOST];
  size_t stages;
  size_t compared; /* digests that are equal */
};

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool find_stages(struct replay *replay, struct error *error) {
  struct arena *arena = replay->call->arena;
  if (file_is_there(arena_text(arena, "%s/last.h5", replay->folder))) replay->stage[replay->stages++] = "";
  DIR *folder = replay->stages ? NULL : opendir(replay->folder);
  for (struct dirent *entry; folder && (entry = readdir(folder)) && replay->stages < STAGES_MOST;)
    if (entry->d_name[0] != '.' &&
        file_is_there(arena_text(arena, "%s/%s/last.h5", replay->folder, entry->d_name)))
      replay->stage[replay->stages++] = arena_text(arena, "%s", entry->d_name);
  if (folder) closedir(folder);
  qsort(replay->stage, replay->stages, sizeof *replay->stage, compare_names);
  return replay->stages || fail_file(error,
                                     "%s holds no training (last.h5, or a folder with one for each stage); "
                                     "name the folder of train's --output",
                                     replay->folder);
}

/* ---- the record ---------------------------------------------------------------------------------------- */

static const char *checkpoint_of(const struct replay *replay, const char *folder, size_t stage) {
  const char *name = replay->stage[stage];
  return arena_text(replay->call->arena, "%s/%s%slast.h5", folder, name, *name ? "/" : "");
}

/* Another version or device need not give the same numbers: said, and tried. */
static void say_others(struct store *store, const struct device *device) {
  char version[64], name[256];
  if (store_text(store, "version", version, sizeof version) && strcmp(version, L2SR_VERSION) != 0)
    log_warning("it was trained by version %s, this is %s", version, L2SR_VERSION);
  if (store_text(store, "device", name, sizeof name) && strcmp(name, device->facts.name) != 0)
    log_warning("it was trained on %s, this is %s: sums may be rounded otherwise", name, device->facts.name);
}

/* The scene of the record; only where files are is told anew. */
static bool read_scene(struct replay *replay, const struct device *device, struct error *error) {
  struct call *call = replay->call;
  const char *path = checkpoint_of(replay, replay->folder, 0), *data = call_flag(call, "data");
  char *text = ARENA_NEW(call->arena, char, SCENE_MOST);
  struct store *store;
  if (!store_open(&store, path, error)) return false;
  bool there = store_text(store, "scene", text, SCENE_MOST);
  if (there) say_others(store, device);
  store_close(store);
  option_defaults(&option_table, &call->options, call->arena);
  if (!there) return fail_file(error, "%s holds no scene; it is no checkpoint of this program", path);
  if (!scene_read_text(&option_table, &call->options, call->arena, text, NULL, error))
    return fail_in(error, "the scene in %s", path);
  if (data) call->options.data.path = data;
  call->options.train.output = replay->to;
  return true;
}

/* Whether the files held what they hold now: by the digests that both checkpoints have of them. */
static bool same_data(const struct replay *replay, size_t stage, struct error *error) {
  static const char *const names[] = {"training_contents", "validation_contents"};
  struct arena *arena = arena_open();
  struct store *before = NULL, *now = NULL;
  bool good = store_open(&before, checkpoint_of(replay, replay->folder, stage), error), opened = good;
  if (good && !(good = opened = store_open(&now, checkpoint_of(replay, replay->to, stage), error)))
    store_close(before);
  bool same = good;
  for (size_t i = 0; good && i < 2; i++) {
    void *first, *second;
    size_t count, other;
    if (!store_has(before, names[i]) || !store_has(now, names[i])) continue;
    good = store_read_all(before, names[i], STORE_U32, DIGESTS_MOST, arena, &first, &count, error) &&
           store_read_all(now, names[i], STORE_U32, DIGESTS_MOST, arena, &second, &other, error);
    same &= good && count == other && !memcmp(first, second, count * sizeof(uint32_t));
  }
  if (opened) store_close(before), store_close(now);
  arena_close(arena);
  return good &&
         (same ||
          fail_file(
              error,
              "the data are others than those of %s: files changed since, or --data names another folder",
              replay->folder));
}

/* ---- digests ------------------------------------------------------------------------------------------- */

struct digests {
  struct arena *arena;
  const char **value, **place; /* "epoch 3" */
  size_t count, room;
};

static const char **longer(struct arena *arena, const char **texts, size_t count, size_t room) {
  const char **more = ARENA_NEW(arena, const char *, room);
  if (count) memcpy(more, texts, count * sizeof *more);
  return more;
}

static void make_room(struct digests *digests) {
  digests->room = 2 * digests->room + 256;
  digests->value = longer(digests->arena, digests->value, digests->count, digests->room);
  digests->place = longer(digests->arena, digests->place, digests->count, digests->room);
}

static bool see_line(const json_t *line, void *context, struct error *error) {
  struct digests *digests = context;
  const char *value = json_text_of(line, "parameters", digests->arena), *word = "epoch";
  double at;
  (void)error;
  if (!value) return true;
  if (!json_number_of(line, "epoch", &at) && !json_number_of(line, word = "rollouts", &at) &&
      !json_number_of(line, word = "updates", &at) && !json_number_of(line, word = "actions", &at))
    word = "line", at = (double)digests->count;
  if (digests->count == digests->room) make_room(digests);
  digests->value[digests->count] = value;
  digests->place[digests->count++] = arena_text(digests->arena, "%s %.6g", word, at);
  return true;
}

static bool read_digests(struct digests *digests, const char *path, struct arena *arena,
                         struct error *error) {
  *digests = (struct digests){.arena = arena};
  return json_lines(path, false, see_line, digests, error) &&
         (digests->count ||
          fail_file(error, "%s tells no digests of parameters: it ends early, or an older version of the program wrote it",
                    path));
}

static const char *log_of(const struct replay *replay, const char *folder, size_t stage) {
  const char *name = replay->stage[stage];
  return arena_text(replay->call->arena, "%s/%s%slog.jsonl", folder, name, *name ? "/" : "");
}

/* One stage: *differs says where the first difference is; NULL: there is none. */
static bool compare_stage(struct replay *replay, size_t stage, const char **differs, struct error *error) {
  struct arena *arena = replay->call->arena;
  const char *name = replay->stage[stage];
  struct digests before, now;
  if (!read_digests(&before, log_of(replay, replay->folder, stage), arena, error) ||
      !read_digests(&now, log_of(replay, replay->to, stage), arena, error))
    return false;
  for (size_t i = 0; i < before.count && i < now.count && !*differs; i++) {
    if (!strcmp(before.value[i], now.value[i]))
      replay->compared++;
    else
      *differs = arena_text(arena, "%s%s%s: parameters were %s and are %s", name, *name ? ", " : "",
                            before.place[i], before.value[i], now.value[i]);
  }
  if (!*differs && before.count != now.count)
    *differs = arena_text(arena, "%s%s%zu digests of parameters were told and %zu are now", name,
                          *name ? ": " : "", before.count, now.count);
  return true;
}

static bool compare_all(struct replay *replay, struct error *error) {
  const char *differs = NULL;
  for (size_t s = 0; s < replay->stages && !differs; s++)
    if (!same_data(replay, s, error) || !compare_stage(replay, s, &differs, error)) return false;
  if (differs)
    printf("differs first at %s\n", text_shown(replay->call->arena, differs));
  else
    printf("the same: %zu digest%s of parameters in %zu stage%s\n", replay->compared,
           plural(replay->compared), replay->stages, plural(replay->stages));
  replay->call->status = differs != NULL;
  return true;
}

/* Before hours of training: the logs tell what to compare with, and the folder is free. */
static bool check_before(struct replay *replay, struct error *error) {
  static const char *const held[] = {"last.h5", "stages.jsonl"};
  struct arena *arena = replay->call->arena;
  struct digests digests;
  for (size_t i = 0; i < sizeof held / sizeof *held; i++)
    if (!access(arena_text(arena, "%s/%s", replay->to, held[i]), F_OK))
      return fail_file(error, "%s holds a training (%s); remove it, or choose another --output", replay->to, held[i]);
  for (size_t s = 0; s < replay->stages; s++)
    if (!read_digests(&digests, log_of(replay, replay->folder, s), arena, error)) return false;
  return true;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static bool replay_on(struct call *call, struct device *device, struct error *error) {
  struct replay *replay = call->own;
  const struct method_config config = {.kernel_folder = call_flag(call, "kernels")};
  return read_scene(replay, device, error) && method_train(device, &call->options, &config, error) &&
         compare_all(replay, error);
}

static bool run_replay(struct call *call, struct error *error) {
  struct replay *replay = ARENA_NEW(call->arena, struct replay, 1);
  const char *to = call_flag(call, "output");
  *replay = (struct replay){.call = call, .folder = call->operand[0]};
  size_t length = strlen(replay->folder);
  while (length > 1 && replay->folder[length - 1] == '/') length--;
  replay->to = to ? to : arena_text(call->arena, "%.*s-replay", (int)length, replay->folder);
  call->own = replay;
  return find_stages(replay, error) && check_before(replay, error) && call_on_device(call, replay_on, error);
}

static const struct flag flags[] = {
    {"output", "DIR", NULL, "folder for the training that is compared (default: RUN-replay)"},
    {"data", "DIR", NULL, "where the data are, if no longer where they were"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_replay = {
    .name = "replay",
    .operands = "RUN",
    .doc = "trains what a folder's record says once more, and compares the parameters at every validation",
    .more = "RUN is a folder that train wrote. Its checkpoints hold the scene, the seed, the version, the "
            "device and digests of the data; its "
            "logs tell a digest of all parameters at every validation, and with --set train.digest_every=N "
            "every N updates or "
            "rollouts. The exit status is 0 if all are the same, and 1 where they differ: the first "
            "difference is told.",
    .operands_least = 1,
    .operands_most = 1,
    .flags = flags,
    .run = run_replay,
};
