/* Trainings: the log of a folder, or of the folders of all stages. */
#include "engine/base/log.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "systems/methods/method.h"
#include "tools/report/json_line.h"
#include "tools/report/report.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct log {
  struct arena *arena;
  struct report_stage *stage;
  size_t room[2]; /* room for validations and for rewards */
  double slices, worked; /* of an epoch; what is done of that which its speed counts */
  size_t lines, kinds; /* those that are objects, and those of them that say their kind */
};

static void add_point(struct log *log, size_t which, double x, double y) {
  struct report_points *points = which ? &log->stage->reward : &log->stage->validation;
  if (points->count == log->room[which]) {
    struct report_points more = *points;
    log->room[which] = log->room[which] ? 2 * log->room[which] : 64;
    more.x = ARENA_NEW(log->arena, double, log->room[which]);
    more.y = ARENA_NEW(log->arena, double, log->room[which]);
    if (points->count) {
      memcpy(more.x, points->x, points->count * sizeof *more.x);
      memcpy(more.y, points->y, points->count * sizeof *more.y);
    }
    *points = more;
  }
  points->x[points->count] = x;
  points->y[points->count++] = y;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), other = strlen(end);
  return length >= other && !strcmp(text + length - other, end);
}

/* What a line counts beside its epoch: its first number. NULL: nothing. */
static const char *count_of(const json_t *line, double *count) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)line, key, value) {
    if (strcmp(key, "epoch") && json_number_of(line, key, count)) return key;
  }
  return NULL;
}

/* The first value of a line, behind what it counts: images or steps, of which it tells the speed, are no
 * value. */
static const char *value_of(const json_t *line, const char *counts, double *y) {
  const char *key, *worked = "";
  json_t *value;
  json_object_foreach((json_t *)line, key, value) {
    if (ends_with(key, "_per_second")) worked = key;
  }
  size_t length = strlen(worked) - (*worked ? strlen("_per_second") : 0);
  json_object_foreach((json_t *)line, key, value) {
    bool counted = !strcmp(key, "epoch") || !strcmp(key, counts) || !strncmp(key, "best_", 5) ||
                   key == worked || (length && strlen(key) == length && !strncmp(key, worked, length));
    if (!counted && json_number_of(line, key, y)) return key;
  }
  return NULL;
}

static void see_epoch(struct log *log, double x, double y) {
  log->stage->unit = "epochs";
  log->stage->metric = "ssim";
  add_point(log, 0, x, y);
}

/* The score of a policy or mask; of what is not known, the first value, by its name. */
static void see_validation(struct log *log, const json_t *line, const char *counts, double x) {
  double y, best, epoch;
  const char *metric = json_text_of(line, "metric", log->arena), *name = "score";
  if (!json_number_of(line, "score", &y) && !(metric = name = value_of(line, counts, &y))) return;
  if (metric) log->stage->metric = arena_text(log->arena, "%s", metric);
  add_point(log, 0, x, y);
  bool epochs = json_number_of(line, "epoch", &epoch);
  const char *one = epochs ? "best_epoch" : arena_text(log->arena, "best_%.*s", (int)strlen(counts) - 1, counts);
  if (json_number_of(line, one, &best) && best == x) log->stage->selected = y;
}

/* Adds the time since the last such line, by its speed: of what it counts itself (steps), else of the slices of its epochs. */
static void add_seconds(struct log *log, const json_t *line, const char *kind) {
  const char *key;
  json_t *value;
  double speed = 0, done, epoch;
  bool counted = false;
  json_object_foreach((json_t *)line, key, value) {
    if (!ends_with(key, "_per_second") || !json_number_of(line, key, &speed)) continue;
    counted = json_number_of(line, arena_text(log->arena, "%.*s", (int)(strlen(key) - strlen("_per_second")), key), &done);
  }
  if (!counted && !strcmp(kind, "update")) return; /* in the middle of an epoch */
  if (!counted && json_number_of(line, "epoch", &epoch)) done = epoch * log->slices, counted = true;
  if (!counted || !(speed > 0) || !(done > log->worked)) return;
  log->stage->seconds += (done - log->worked) / speed;
  log->worked = done;
}

/* Epochs of a reconstructor; looks and validations of others, over epochs where they say one, else over rollouts, updates
 * or steps. */
static bool see_line(const json_t *line, void *context, struct error *error) {
  struct log *log = context;
  const char *kind = json_text_of(line, "kind", log->arena), *counts;
  double x, y, epoch;
  (void)error;
  log->lines++;
  log->kinds += kind != NULL;
  if (!kind) return true;
  add_seconds(log, line, kind);
  if (!strcmp(kind, "epoch") && json_number_of(line, "epoch", &x) && json_number_of(line, "val_ssim", &y))
    see_epoch(log, x, y);
  if (!strcmp(kind, "epoch") || !(counts = count_of(line, &x))) return true;
  bool look = !strcmp(kind, "look") && json_number_of(line, "reward", &y),
       validation = !strcmp(kind, "validation");
  bool epochs = json_number_of(line, "epoch", &epoch) && isfinite(epoch);
  if (epochs) x = epoch;
  if (look || validation) log->stage->unit = epochs ? "epochs" : arena_text(log->arena, "%s", counts);
  if (look) add_point(log, 1, x, y);
  if (validation) see_validation(log, line, counts, x);
  return true;
}

/* What a policy chose at its last validation; where that is damaged, it stays unknown. */
static void read_choices(struct store *store, struct arena *arena, struct report_stage *stage) {
  struct store_shape shape;
  struct error ignored;
  size_t count;
  if (!store_has(store, "choices") || !store_shape(store, "choices", &shape, &ignored) || shape.rank != 2 ||
      !shape.size[0] || shape.size[0] > shape.size[1] || shape.size[1] > REPORT_SIDE)
    return;
  if (!store_read_all(store, "choices", STORE_U32, shape.size[0] * shape.size[1], arena,
                      (void **)&stage->choices, &count, &ignored))
    stage->choices = NULL;
  stage->steps = shape.size[0];
  stage->actions = shape.size[1];
}

/* Reads what the checkpoint says of its scene and its choices; a missing or unreadable one leaves it unknown.
 */
static void read_checkpoint(struct report *report, struct report_training *training, struct log *log,
                            const char *folder) {
  enum { SCENE_MOST = 1 << 16, WORD = 256 };
  struct report_stage *stage = log->stage;
  struct store *store;
  struct error error;
  char *scene = arena_new(report->arena, SCENE_MOST), *device = arena_new(report->arena, WORD),
       *version = arena_new(report->arena, WORD);
  const char *path = arena_text(report->arena, "%s/last.h5", folder), *method;
  if (!file_is_there(path)) return;
  if (!store_open(&store, path, &error)) {
    log_warning("%s; the report does not say how it was trained", error.text);
    return;
  }
  if (store_text(store, "scene", scene, SCENE_MOST) &&
      (method = scene_value(scene, "train", "method", report->arena))) {
    training->method = method;
    if (!training->scene) training->scene = scene; /* a later stage says what its round made of some options */
    stage->gamma =
        store_number(store, "scan_initial_lines", &training->initial_lines) ? method_gamma(scene) : NAN;
  }
  if (store_text(store, "device", device, WORD)) training->device = device;
  if (store_text(store, "version", version, WORD)) training->version = version;
  store_number(store, "training_slices", &log->slices);
  if (!store_number(store, "device_bytes", &stage->bytes)) stage->bytes = 0;
  read_choices(store, report->arena, stage);
  store_close(store);
}

static bool is_empty(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && !status.st_size;
}

/* Other files of that name have no lines, or lines without the key that each of a training's has. */
static bool refuse_lines(const char *path, size_t lines, const char *key, const char *what, struct error *error) {
  return fail_file(error,
                   "%s holds %zu whole line%s of JSON, and none has \"%s\": it is no %s; name a folder that `l2sr train` "
                   "wrote, or remove the file if another program left it there",
                   path, lines, plural(lines), key, what);
}

/* It is empty where the training has just begun. */
static bool check_log(const struct log *log, const char *path, struct error *error) {
  return log->kinds || is_empty(path) || refuse_lines(path, log->lines, "kind", "log of a training", error);
}

static bool add_stage(struct report *report, struct report_training *training, const char *name,
                      const char *folder, struct error *error) {
  const char *path = arena_text(report->arena, "%s/log.jsonl", folder);
  if (training->stages == REPORT_STAGES)
    return fail(error, "%s has more than %d stages", training->path, REPORT_STAGES);
  struct report_stage *stage = &training->stage[training->stages++];
  struct log log = {.arena = report->arena, .stage = stage};
  stage->name = name;
  stage->unit = "";
  stage->metric = "ssim";
  stage->gamma = stage->selected = NAN;
  read_checkpoint(report, training, &log, folder);
  return json_lines(path, true, see_line, &log, error) && check_log(&log, path, error);
}

/* A value that is no metric: only its trainer knows whether more is better. */
double report_stage_best(const struct report_stage *stage) {
  double best = NAN, sign = 0;
  for (size_t m = 0; m < METRICS; m++)
    if (!strcmp(metric_list[m].name, stage->metric)) sign = metric_list[m].sign;
  if (sign == 0) return stage->selected;
  for (size_t i = 0; i < stage->validation.count; i++) best = fmax(best, sign * stage->validation.y[i]);
  return sign * best;
}

/* ---- stages -------------------------------------------------------------------------------------------- */

static const char first_stage[] = "reconstructor";

/* "policy_12": the round, 0 where there is none. Other folders than a word and a round are no stages: -1. */
static int round_of(const char *name) {
  size_t word = strspn(name, "abcdefghijklmnopqrstuvwxyz"),
         digits = strspn(name + word + (name[word] == '_'), "0123456789");
  if (!word || digits > 6) return -1;
  if (!name[word]) return 0;
  return name[word] == '_' && digits && !name[word + 1 + digits] ? atoi(name + word + 1) : -1;
}

static int is_stage(const struct dirent *entry) {
  return round_of(entry->d_name) >= 0;
}

/* A round's reconstructor is made of what the round made before. */
static int compare_stages(const struct dirent **a, const struct dirent **b) {
  const char *one = (*a)->d_name, *other = (*b)->d_name;
  size_t length = sizeof first_stage - 1;
  int rounds = round_of(one) - round_of(other);
  int last = !strncmp(one, first_stage, length) - !strncmp(other, first_stage, length);
  return rounds ? rounds : last ? last : strcmp(one, other);
}

/* Whatever a method calls them: those folders that hold a log. */
static bool add_stages(struct report *report, struct report_training *training, struct error *error) {
  struct dirent **entry;
  bool good = true;
  int count = scandir(training->path, &entry, is_stage, compare_stages);
  if (count < 0) return fail_file(error, "cannot read %s: %s", training->path, strerror(errno));
  for (int i = 0; i < count; i++) {
    const char *name = arena_text(report->arena, "%s", entry[i]->d_name);
    const char *folder = arena_text(report->arena, "%s/%s", training->path, name);
    if (good && file_is_there(arena_text(report->arena, "%s/log.jsonl", folder)))
      good = add_stage(report, training, name, folder, error);
    free(entry[i]);
  }
  free(entry);
  return good;
}

struct stages {
  struct arena *arena;
  size_t lines, named;
};

static bool see_stage(const json_t *line, void *context, struct error *error) {
  struct stages *stages = context;
  (void)error;
  stages->lines++;
  stages->named += json_text_of(line, "stage", stages->arena) != NULL;
  return true;
}

/* A training of stages has an empty one until the first stage has ended, and no log beside it. */
static bool check_stages(struct report *report, const char *folder, struct error *error) {
  struct stages stages = {.arena = report->arena};
  const char *path = arena_text(report->arena, "%s/stages.jsonl", folder);
  bool logged = file_is_there(arena_text(report->arena, "%s/log.jsonl", folder));
  if (!json_lines(path, true, see_stage, &stages, error)) return false;
  if (!stages.named && !is_empty(path))
    return refuse_lines(path, stages.lines, "stage", "list of a training's stages", error);
  if (!logged || stages.named) return true;
  return fail_file(error,
                   "%s has a log.jsonl, as a training of one stage, and a stages.jsonl that is empty, as one of several that "
                   "has just begun; remove the one that is not of this training",
                   folder);
}

bool report_read_training(struct report *report, const char *folder, struct error *error) {
  if (report->trainings == REPORT_TRAININGS)
    return fail(error, "there are more than %d trainings; write several reports", REPORT_TRAININGS);
  struct report_training *training = &report->training[report->trainings++];
  bool staged = file_is_there(arena_text(report->arena, "%s/stages.jsonl", folder));
  *training = (struct report_training){
      .path = arena_text(report->arena, "%s", folder), .method = "", .initial_lines = NAN};
  if (!(staged ? check_stages(report, folder, error) && add_stages(report, training, error)
               : add_stage(report, training, "training", folder, error)))
    return false;
  size_t points = 0;
  for (size_t s = 0; s < training->stages; s++)
    points += training->stage[s].validation.count + training->stage[s].reward.count;
  if (!training->stages)
    return fail_file(error,
                     "%s has a stages.jsonl, and no folder of a stage with a log.jsonl in it; let it train longer, or name "
                     "the folder that `l2sr train` wrote",
                     folder);
  return points ? true
                : fail(error, "the log of %s holds no epoch, look or validation yet; let it train longer",
                       folder);
}
