/* Trainings: the log of a folder, or of the folders of all stages. */
#include "engine/base/log.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "tools/report/json_line.h"
#include "tools/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct log {
  struct arena *arena;
  struct report_stage *stage;
  size_t room[2]; /* room for validations and for rewards */
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

/* Epochs of a reconstructor; looks and validations of a policy, over rollouts or, of PG-MRI, updates. */
static bool see_line(const json_t *line, void *context, struct error *error) {
  struct log *log = context;
  const char *kind = json_text_of(line, "kind", log->arena), *metric;
  double x, y;
  (void)error;
  if (!kind) return true;
  if (!strcmp(kind, "epoch") && json_number_of(line, "epoch", &x) && json_number_of(line, "val_ssim", &y)) {
    log->stage->unit = "epochs";
    log->stage->metric = "ssim";
    add_point(log, 0, x, y);
  }
  bool rollouts = json_number_of(line, "rollouts", &x);
  if (!strcmp(kind, "epoch") || (!rollouts && !json_number_of(line, "updates", &x))) return true;
  log->stage->unit = rollouts ? "rollouts" : "updates";
  if (!strcmp(kind, "look") && json_number_of(line, "reward", &y)) add_point(log, 1, x, y);
  if (!strcmp(kind, "validation") && json_number_of(line, "score", &y)) {
    if ((metric = json_text_of(line, "metric", log->arena))) log->stage->metric = metric;
    add_point(log, 0, x, y);
  }
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
static void read_checkpoint(struct report *report, struct report_training *training,
                            struct report_stage *stage, const char *folder) {
  enum { SCENE_MOST = 1 << 16 };
  struct store *store;
  struct error error;
  char *scene = arena_new(report->arena, SCENE_MOST);
  const char *path = arena_text(report->arena, "%s/last.h5", folder), *method, *gamma;
  if (!file_is_there(path)) return;
  if (!store_open(&store, path, &error)) {
    log_warning("%s; the report does not say how it was trained", error.text);
    return;
  }
  if (store_text(store, "scene", scene, SCENE_MOST) &&
      (method = scene_value(scene, "train", "method", report->arena))) {
    training->method = method;
    gamma = scene_value(scene, !strcmp(method, "pgmri") ? "pgmri" : "learn", "gamma", report->arena);
    if (store_number(store, "scan_initial_lines", &training->initial_lines) && gamma)
      training->gamma = strtod(gamma, NULL);
  }
  read_choices(store, report->arena, stage);
  store_close(store);
}

/* A stage that has no log yet ends the list. */
static bool add_stage(struct report *report, struct report_training *training, const char *name,
                      const char *folder, bool *there, struct error *error) {
  const char *path = arena_text(report->arena, "%s/log.jsonl", folder);
  *there = file_is_there(path);
  if (!*there) return true;
  if (training->stages == REPORT_STAGES)
    return fail(error, "%s has more than %d stages", training->path, REPORT_STAGES);
  struct report_stage *stage = &training->stage[training->stages++];
  struct log log = {.arena = report->arena, .stage = stage};
  stage->name = name;
  stage->unit = "";
  stage->metric = "ssim";
  read_checkpoint(report, training, stage, folder);
  return json_lines(path, true, see_line, &log, error);
}

static bool add_stages(struct report *report, struct report_training *training, struct error *error) {
  struct arena *arena = report->arena;
  bool there = true;
  const char *folder = arena_text(arena, "%s/reconstructor", training->path);
  if (!add_stage(report, training, "reconstructor", folder, &there, error)) return false;
  for (unsigned round = 1, going = 1; going; round++)
    for (int half = 0; half < 2; half++) {
      const char *name = arena_text(arena, "%s_%u", half ? "reconstructor" : "policy", round);
      if (!add_stage(report, training, name, arena_text(arena, "%s/%s", training->path, name), &there, error))
        return false;
      if (!half) going = there;
    }
  return true;
}

bool report_read_training(struct report *report, const char *folder, struct error *error) {
  if (report->trainings == REPORT_TRAININGS)
    return fail(error, "there are more than %d trainings; write several reports", REPORT_TRAININGS);
  struct report_training *training = &report->training[report->trainings++];
  bool staged = file_is_there(arena_text(report->arena, "%s/stages.jsonl", folder)), there;
  *training = (struct report_training){
      .path = arena_text(report->arena, "%s", folder), .method = "?", .gamma = NAN, .initial_lines = NAN};
  if (!(staged ? add_stages(report, training, error)
               : add_stage(report, training, "training", folder, &there, error)))
    return false;
  size_t points = 0;
  for (size_t s = 0; s < training->stages; s++)
    points += training->stage[s].validation.count + training->stage[s].reward.count;
  return points ? true
                : fail(error, "the log of %s holds no epoch, look or validation yet; let it train longer",
                       folder);
}
