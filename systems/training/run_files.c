#include "systems/training/run_files.h"

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "engine/files/events.h"
#include "engine/files/scene.h"
#include "systems/data/patients.h"
#include "systems/networks/checkpoint.h"
#include "systems/scan/callback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SCENE_MOST = 1 << 16 };

const char *run_path(const struct run_files *run, const char *name) {
  return arena_text(run->arena, "%s/%s", run->folder, name);
}

/* ---- the scene ----------------------------------------------------------------------------------------- */

/* Whether the row is on the list: as section.name, or its whole section as `section.` */
static bool is_listed(const struct option *row, const char *const list[]) {
  char key[128];
  snprintf(key, sizeof key, "%s.%s", row->section, row->name);
  for (size_t i = 0; list && list[i]; i++) {
    size_t length = strlen(list[i]);
    bool section = list[i][length - 1] == '.';
    if (section && row->concerns == CONCERNS_TRAINING) continue;
    if (section ? !strncmp(key, list[i], length) : !strcmp(key, list[i])) return true;
  }
  return false;
}

/* Options of which the network's shape, or what it is trained for, follows: none starts from it with another
 * value. */
static const char *const shapes[] = {
    "network.input", "network.channels", "network.pools",        "policy.channels", "policy.pools",
    "policy.hidden", "data.size",        "acquisition.geometry", "train.method",    NULL};

/* How the new value is trained with all the same. */
static const char *way_on(const struct run_files *run, const struct option *row, struct arena *arena) {
  if (is_listed(row, shapes)) return "";
  if (!run->start) return "; no option starts from its parameters, with another value it is trained anew";
  return arena_text(arena,
                    "; to train on from these parameters with other options, start a new training in another "
                    "train.output with --set %s=%s%s",
                    run->start, run_path(run, "last.h5"),
                    strcmp(run->start, "learn.start")
                        ? ""
                        : ", and with the reconstructor that stands beside it as train.start or learn.reconstructor");
}

/* A key that is newer than the checkpoint had its default then. */
static bool compare_scene(const struct run_files *run, const char *stored, struct error *error) {
  struct arena *arena = arena_open();
  struct options *standard = ARENA_NEW(arena, struct options, 1);
  bool same = true;
  option_defaults(&option_table, standard, arena);
  for (size_t i = 0; same && i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (row->concerns == CONCERNS_PLACE || !(is_listed(row, run->reads) || is_listed(row, run->reads_beside))) continue;
    const char *before = scene_value(stored, row->section, row->name, arena);
    const char *now = option_text(row, run->options, arena);
    if (!before) before = option_text(row, standard, arena);
    if (strcmp(before, now))
      same = fail(error,
                  "it is of another scene: %s.%s was %s and is %s now; use that value, or another "
                  "train.output%s",
                  row->section, row->name, before, now, way_on(run, row, arena));
  }
  arena_close(arena);
  return same;
}

/* ---- the folder ---------------------------------------------------------------------------------------- */

/* The lock goes with the process, however it ends. File systems without locks train all the same. */
bool run_hold(FILE **file, const char *folder, const char *path, struct error *error) {
  if (!folder_make(folder, error)) return false;
  if (!file_append(file, path, error)) return false;
  bool taken = flock(fileno(*file), LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
  if (!taken) return true;
  fclose(*file);
  *file = NULL;
  return fail(error,
              "%s is in use: another training holds %s; wait for its end, or choose another train.output",
              folder, path);
}

/* Where the last whole line of the first `bytes` ends. */
static off_t whole_lines(int descriptor, off_t bytes) {
  char block[4096];
  while (bytes > 0) {
    size_t size = bytes < (off_t)sizeof block ? (size_t)bytes : sizeof block;
    if (pread(descriptor, block, size, bytes - (off_t)size) != (ssize_t)size) return 0;
    for (; size && block[size - 1] != '\n'; size--) bytes--;
    if (size) return bytes;
  }
  return 0;
}

/* Lines that were appended after the checkpoint are appended again. A file that was cut since then goes on
 * after its last whole line or record: half of one would make the rest unreadable. */
static bool shorten(FILE *file, const char *path, double bytes, off_t (*whole)(int descriptor, off_t bytes),
                    struct error *error) {
  struct stat status;
  int descriptor = fileno(file);
  if (fstat(descriptor, &status)) return fail_file(error, "cannot look at %s: %s", path, strerror(errno));
  off_t wanted = (off_t)bytes, length = whole(descriptor, status.st_size < wanted ? status.st_size : wanted);
  if (length < wanted)
    log_warning(
        "%s has %lld of the %lld bytes that it had at the checkpoint: it goes on, what was cut off stays "
        "missing",
        path, (long long)length, (long long)wanted);
  if ((status.st_size == length || ftruncate(descriptor, length) == 0) && fseek(file, 0, SEEK_END) == 0)
    return true;
  return fail_file(error, "cannot shorten %s: %s", path, strerror(errno));
}

/* A log that was made for a training that is refused goes. */
static bool forget_log(const struct run_files *run, const char *path) {
  struct stat status;
  if (fstat(fileno(run->log), &status) == 0 && !status.st_size) unlink(path);
  return false;
}

static bool folder_takes(const struct run_files *run, bool resume, struct error *error) {
  const char *folder = run->folder;
  if (file_is_there(run_path(run, "stages.jsonl")))
    return fail(error,
                "%s holds the stages of a train.method that has several (stages.jsonl); choose another "
                "train.output",
                folder);
  if (resume) return true;
  if (file_is_there(run_path(run, "last.h5")))
    return fail(error, "%s holds a training (last.h5); go on with --resume, or choose another train.output",
                folder);
  if (run->selects && file_is_there(run_path(run, "best.h5")))
    return fail(error, "%s holds best.h5 of another training and no last.h5; choose another train.output",
                folder);
  return true;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static bool flush(const struct run_files *run, FILE *file, const char *name, struct error *error) {
  if (fflush(file) == 0 && fsync(fileno(file)) == 0) return true;
  return fail_file(error, "cannot write %s: %s", run_path(run, name), strerror(errno));
}

bool run_flush(const struct run_files *run, struct error *error) {
  return flush(run, run->log, "log.jsonl", error) && flush(run, run->events, EVENTS_NAME, error);
}

static bool write_origins(const struct run_files *run, struct store *store, struct error *error) {
  char key[64];
  for (int i = 0; i < RUN_ORIGINS && run->origin[i].name; i++) {
    snprintf(key, sizeof key, "origin_%s", run->origin[i].name);
    if (!store_put_text(store, key, run->origin[i].value, error)) return false;
  }
  return true;
}

/* Two words a file, in order of their paths. */
static bool write_contents(struct store *store, const char *name, const struct run_data *data,
                           struct error *error) {
  const struct dataset *dataset = data->dataset;
  const size_t shape[] = {dataset->volume_count, 2};
  if (!dataset->volume_count) return true;
  struct arena *arena = arena_open();
  struct digest *digests = ARENA_NEW(arena, struct digest, dataset->volume_count);
  for (size_t v = 0; v < dataset->volume_count; v++) digests[v] = dataset->volumes[v].digest;
  bool good = store_write(store, name, STORE_U32, 2, shape, digests, false, error);
  arena_close(arena);
  return good;
}

/* A scene that names functions of the program's own is told whose they were. */
static bool write_callbacks(const struct run_files *run, struct store *store, struct error *error) {
  bool images = run->options->reconstruct.method == RECONSTRUCT_CALLBACK, numbers = run->options->reward.metric == METRIC_CALLBACK;
  return (!images || store_put_text(store, "callback_reconstruct", callback_name(run->device), error)) &&
         (!numbers || store_put_text(store, "callback_metric", callback_name(run->device), error));
}

/* As `l2sr describe scene` prints it. */
static bool write_scene(const struct run_files *run, struct store *store, struct error *error) {
  char *scene = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&scene, &size);
  if (!memory) return fail_memory(error, "no host memory for the scene's text");
  option_print(&option_table, run->options, false, memory);
  fclose(memory);
  bool good = store_put_text(store, "scene", scene, error);
  free(scene);
  return good;
}

bool run_write(const struct run_files *run, struct store *store, struct error *error) {
  const struct device_facts *facts = &run->device->facts;
  return (!run->optimiser || checkpoint_write_optimiser(store, run->optimiser, error)) &&
         write_origins(run, store, error) && write_scene(run, store, error) &&
         store_put_text(store, "version", L2SR_VERSION, error) &&
         store_put_text(store, "device", facts->name, error) &&
         store_put_text(store, "driver", facts->driver, error) && write_callbacks(run, store, error) &&
         store_put_number(store, "device_bytes", (double)run->device->bytes, error) &&
         store_put_text(store, "training_selection", run->train.hash, error) &&
         store_put_text(store, "validation_selection", run->validation.hash, error) &&
         write_contents(store, "training_contents", &run->train, error) &&
         write_contents(store, "validation_contents", &run->validation, error) &&
         store_put_number(store, "training_slices", (double)run->train.slices, error) &&
         store_put_number(store, "validation_slices", (double)run->validation.slices, error) &&
         store_put_number(store, "seed", run->options->world.seed, error) &&
         store_put_number(store, "log_bytes", (double)ftell(run->log), error) &&
         store_put_number(store, "events_bytes", (double)ftell(run->events), error);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

/* Checkpoints of older versions do not say what the files held; and a file that could not be read, now or then, proves
 * nothing. */
static bool compare_contents(const struct run_data *data, const char *name, struct store *store,
                             struct error *error) {
  const struct dataset *dataset = data->dataset;
  size_t changed = 0, first = 0, count = dataset->volume_count;
  char key[64];
  snprintf(key, sizeof key, "%s_contents", name);
  if (!count || !store_has(store, key)) return true;
  struct arena *arena = arena_open();
  struct digest *before = ARENA_NEW(arena, struct digest, count);
  bool good = store_read_known(store, key, STORE_U32, 2 * count, before, error);
  for (size_t v = count; good && v-- > 0;) {
    const struct digest *now = &dataset->volumes[v].digest;
    if (digest_is_known(&before[v]) && digest_is_known(now) && memcmp(&before[v], now, sizeof *now)) changed++, first = v;
  }
  arena_close(arena);
  if (!changed) return good;
  return fail(
      error,
      "it is of other data: %zu of %zu %s file%s%s changed under the same name since, %s the first; put back "
      "what was there, or use another train.output",
      changed, count, name, plural(count), dataset->volumes[first].label ? " or their labels" : "",
      dataset->volumes[first].path);
}

static bool compare_data(const struct run_data *data, const char *name, struct store *store,
                         struct error *error) {
  char selection[80] = "", key[64];
  double slices = 0;
  snprintf(key, sizeof key, "%s_selection", name);
  bool same = store_text(store, key, selection, sizeof selection) && !strcmp(selection, data->hash);
  snprintf(key, sizeof key, "%s_slices", name);
  if (store_number(store, key, &slices) && same && slices == (double)data->slices)
    return compare_contents(data, name, store, error);
  return fail(error,
              "it is of other data: %s files %.16s (%.0f slices), now %.16s (%zu); use those, or another "
              "train.output",
              name, selection, slices, data->hash, data->slices);
}

/* Compares the parameters that it started from, wherever their file is now. */
static bool compare_start(const struct run_files *run, struct store *store, struct error *error) {
  const char *now = NULL;
  char before[65] = "";
  bool started = store_text(store, "origin_" RUN_START, before, sizeof before);
  for (int i = 0; i < RUN_ORIGINS && run->origin[i].name; i++)
    if (!strcmp(run->origin[i].name, RUN_START)) now = run->origin[i].value;
  if (!started && !now) return true;
  if (!started)
    return fail(error, "it began with new parameters; leave %s out, or use another train.output", run->start);
  if (!now)
    return fail(error,
                "it began with a checkpoint's parameters; name that in %s again, or use another train.output",
                run->start);
  return !strcmp(before, now) || fail(error,
                                      "it began with the parameters %.16s, and those that %s names are "
                                      "%.16s; name the checkpoint that it "
                                      "began with, or use another train.output",
                                      before, run->start, now);
}

static bool compare_origins(const struct run_files *run, struct store *store, struct error *error) {
  for (int i = 0; i < RUN_ORIGINS && run->origin[i].name; i++) {
    const struct run_origin *origin = &run->origin[i];
    char key[64], before[65] = "not known";
    if (!strcmp(origin->name, RUN_START)) continue;
    snprintf(key, sizeof key, "origin_%s", origin->name);
    if (store_text(store, key, before, sizeof before) && !strcmp(before, origin->value)) continue;
    return fail(error,
                "it was trained with %s %.16s, now it would be with %.16s; use what it was, or move %s (and "
                "the stages after it) away to train anew",
                origin->name, before, origin->value, run->folder);
  }
  return true;
}

static void compare_device(const struct run_files *run, const char *path, struct store *store) {
  const char *device = run->device->facts.name;
  char before[128] = "";
  if (store_text(store, "device", before, sizeof before) && strcmp(before, device))
    log_warning("%s was written on %s; on %s the numbers go on differently", path, before, device);
}

/* How long the appended files were when last.h5 was written. */
struct lengths {
  double log, events;
};

static bool check_scene(const struct run_files *run, struct store *store, char *scene, struct error *error) {
  if (!store_text(store, "scene", scene, SCENE_MOST))
    return fail_file(error,
                     "it is no checkpoint of a training of this version: scene is missing; use another "
                     "train.output");
  char network[32] = "";
  store_text(store, "network", network, sizeof network);
  if (strcmp(network, run->network))
    return fail(
        error,
        "it holds a network of kind '%s', this train.method trains '%s'; use the method that began it, "
        "or another train.output",
        network, run->network);
  return compare_scene(run, scene, error);
}

static bool read_facts(const struct run_files *run, struct store *store, struct lengths *lengths, struct error *error) {
  return checkpoint_whole(store, "log_bytes", 1e15, &lengths->log, error) &&
         checkpoint_whole(store, "events_bytes", 1e15, &lengths->events, error) &&
         compare_data(&run->train, "training", store, error) &&
         compare_data(&run->validation, "validation", store, error) && compare_origins(run, store, error) &&
         compare_start(run, store, error) &&
         (!run->optimiser || (checkpoint_read_parameters(store, "param", run->optimiser->graph, error) &&
                              checkpoint_read_optimiser(store, run->optimiser, error)));
}

/* Of last.h5, where it is there: its scene, and where there is somebody to read it, all the rest. */
static bool go_on(const struct run_files *run, struct lengths *lengths, run_reader *read, void *context,
                  struct error *error) {
  const char *path = run_path(run, "last.h5");
  struct store *store;
  if (!file_is_there(path)) return true;
  if (!store_open(&store, path, error)) return fail_in(error, "cannot go on");
  struct arena *arena = arena_open();
  bool good = check_scene(run, store, arena_new(arena, SCENE_MOST), error) &&
              (!read || (read_facts(run, store, lengths, error) && read(store, context, error)));
  if (good && read) compare_device(run, path, store);
  arena_close(arena);
  store_close(store);
  return good ? true : fail_in(error, "cannot go on from %s", path);
}

bool run_check_scene(const struct run_files *run, struct error *error) {
  return go_on(run, NULL, NULL, NULL, error);
}

/* Whoever was learned from says little about others. */
static bool check_patients(const struct run_files *run, struct error *error) {
  const char *text =
      patients_shared(run->arena, run->train.dataset, "training", run->validation.dataset, "validation");
  if (text && run->options->data.strict) return fail_file(error, "data.strict: %s", text);
  if (text) log_warning("%s", text);
  return true;
}

bool run_open(struct run_files *run, bool resume, run_reader *read, void *context, struct error *error) {
  const char *last = run_path(run, "last.h5"), *log = run_path(run, "log.jsonl"), *events = run_path(run, EVENTS_NAME);
  struct lengths lengths = {0};
  if (!check_patients(run, error) || !run_hold(&run->log, run->folder, log, error)) return false;
  if (!folder_takes(run, resume, error)) return forget_log(run, log);
  if (!go_on(run, &lengths, read, context, error)) return false;
  if (resume && !file_is_there(last)) log_info("there is no %s yet: training from the start", last);
  if (!shorten(run->log, log, lengths.log, whole_lines, error) || !file_append(&run->events, events, error) ||
      !shorten(run->events, events, lengths.events, events_whole, error))
    return false;
  if (ftell(run->events) == 0) events_start(run->events, (double)time(NULL));
  return true;
}

bool run_follow(struct run_files *run, bool resume, run_reader *read, void *context, struct error *error) {
  struct lengths lengths;
  bool good = !resume || go_on(run, &lengths, read, context, error);
  run->folder = NULL;
  return good;
}

void run_close(struct run_files *run) {
  if (run->events) fclose(run->events);
  if (run->log) fclose(run->log);
  run->events = run->log = NULL;
}
