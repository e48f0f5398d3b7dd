#include "tools/search/score.h"

#include "engine/files/part.h"
#include "tools/report/json_line.h"

#include <math.h>
#include <string.h>

struct reading {
  const struct method *method;
  const struct task *task; /* of the last stage */
  double best, score;
  bool any;
  score_see *see;
  void *context;
};

static const struct task *last_of(const struct method *method) {
  size_t last = 0;
  while (method->stages[last + 1]) last++;
  return method->stages[last];
}

const char *score_file(const struct method *method, const char *folder, struct arena *arena) {
  if (method->alternates) return arena_text(arena, "%s/stages.jsonl", folder);
  if (!method->stages[1]) return arena_text(arena, "%s/log.jsonl", folder);
  return arena_text(arena, "%s/%s_1/log.jsonl", folder, last_of(method)->name);
}

/* The best is that by which the task selects; else the last. */
static bool is_better(const struct reading *reading, double selected) {
  enum task_select select = reading->task->select;
  return !reading->any || select == SELECT_NOTHING ||
         (select == SELECT_LOWEST ? selected < reading->best : selected > reading->best);
}

static bool see_validation(const json_t *line, void *context, struct error *error) {
  struct reading *reading = context;
  const struct task *task = reading->task;
  const char *kind = json_string_value(json_object_get(line, "kind"));
  char units[64];
  double at, score, selected;
  (void)error;
  snprintf(units, sizeof units, "%ss", task->unit);
  if (!kind || strcmp(kind, task->validation.kind) || !json_number_of(line, units, &at) ||
      !json_number_of(line, task->validation.values[task->score].name, &score) ||
      !json_number_of(line, task->validation.values[task->selected].name, &selected) || !isfinite(score))
    return true;
  if (is_better(reading, selected)) reading->best = selected, reading->score = score, reading->any = true;
  reading->see(at, reading->score, reading->context);
  return true;
}

/* A round is as good as its last stage. */
static bool see_stage(const json_t *line, void *context, struct error *error) {
  struct reading *reading = context;
  const char *stage = json_string_value(json_object_get(line, "stage")), *name = reading->task->name;
  double round, score;
  (void)error;
  if (!stage || strncmp(stage, name, strlen(name)) || !json_number_of(line, "round", &round) || round < 1 ||
      !json_number_of(line, "best", &score) || !isfinite(score))
    return true;
  if (!reading->any || score > reading->score) reading->score = score, reading->any = true;
  reading->see(round, reading->score, reading->context);
  return true;
}

bool score_read(const struct method *method, const char *folder, score_see *see, void *context,
                struct error *error) {
  struct reading reading = {.method = method, .task = last_of(method), .see = see, .context = context};
  struct arena *arena = arena_open();
  const char *path = score_file(method, folder, arena);
  bool good = !file_is_there(path) ||
              json_lines(path, true, method->alternates ? see_stage : see_validation, &reading, error);
  arena_close(arena);
  return good;
}
