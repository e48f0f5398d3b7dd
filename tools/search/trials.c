#include "tools/search/trials.h"

#include "engine/base/log.h"
#include "engine/files/part.h"
#include "tools/report/json_line.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const trial_states[TRIAL_STATES] = {"runs", "done", "stopped", "late", "failed"};

/* ---- trials -------------------------------------------------------------------------------------------- */

static struct trial *add_trial(struct trials *trials, const char *const *value, size_t again, size_t seed) {
  REQUIRE(trials->count < trials->room, "more than %zu trials", trials->room);
  struct trial *trial = &trials->trial[trials->count++];
  *trial = (struct trial){.number = trials->count, .again = again, .seed = seed};
  for (size_t r = 0; r < trials->space->ranges; r++) {
    trial->value[r] = arena_text(trials->arena, "%s", value[r]);
    trial->dial[r] = space_dial(trials->space, r, value[r]);
  }
  return trial;
}

static void add_point(struct trials *trials, struct trial *trial, const struct trial_point *point) {
  if (trial->points == trial->room) {
    struct trial_point *more = ARENA_NEW(trials->arena, struct trial_point, 2 * trial->room + 16);
    if (trial->points) memcpy(more, trial->point, trial->points * sizeof *more);
    trial->point = more, trial->room = 2 * trial->room + 16;
  }
  trial->point[trial->points++] = *point;
  trial->seconds = point->seconds;
}

double trial_score(const struct trial *trial) {
  return trial->points && trial->state != TRIAL_FAILED ? trial->point[trial->points - 1].score : NAN;
}

const struct trial *trials_best(const struct trials *trials) {
  const struct trial *best = NULL;
  for (size_t i = 0; i < trials->count; i++) {
    const struct trial *trial = &trials->trial[i];
    if (trial->again || trial->state == TRIAL_RUNS || !isfinite(trial_score(trial))) continue;
    if (!best || trial_score(trial) > trial_score(best)) best = trial;
  }
  return best;
}

size_t trials_observed(const struct trials *trials, struct observation *seen) {
  size_t count = 0;
  for (size_t i = 0; i < trials->count; i++) {
    const struct trial *trial = &trials->trial[i];
    double score = trial_score(trial);
    enum observed what = trial->state == TRIAL_RUNS      ? OBSERVED_NOTHING
                         : !isfinite(score)              ? OBSERVED_FAILURE
                         : trial->state == TRIAL_STOPPED ? OBSERVED_PART
                                                         : OBSERVED_SCORE;
    if (!trial->again)
      seen[count++] = (struct observation){trial->dial, what, score, fmax(trial->seconds, 1e-3)};
  }
  return count;
}

/* The score after so many seconds; NaN where it had none yet. */
static double score_after(const struct trial *trial, double seconds) {
  double score = NAN;
  for (size_t p = 0; p < trial->points && trial->point[p].seconds <= seconds; p++)
    score = trial->point[p].score;
  return score;
}

bool trials_behind(const struct trials *trials, const struct trial *trial, double quantile, size_t least) {
  double own = trial_score(trial);
  size_t others = 0, below = 0;
  if (!(quantile > 0) || !trial->points || trial->number == 1) return false;
  for (size_t i = 0; i < trials->count; i++) {
    const struct trial *other = &trials->trial[i];
    double score = score_after(other, trial->point[trial->points - 1].seconds);
    if (other == trial || other->again || other->state == TRIAL_RUNS || other->state == TRIAL_FAILED ||
        isnan(score))
      continue;
    others++;
    below += score < own;
  }
  return others >= least && (double)below < quantile * (double)others;
}

/* ---- the journal --------------------------------------------------------------------------------------- */

struct reading {
  struct trials *trials;
  const char *path;
  uint32_t sum;
  bool known; /* the first line was there */
};

static bool see_space(struct reading *reading, const json_t *line, struct error *error) {
  double sum;
  reading->known = json_number_of(line, "sum", &sum);
  return (reading->known && sum == reading->sum) ||
         fail_usage(error,
                    "%s is of a search of other options, data or ranges; name another --output, or remove it",
                    reading->path);
}

static bool see_trial(struct trials *trials, const json_t *line) {
  const json_t *set = json_object_get(line, "set");
  const char *value[RANGES_MOST];
  double again, seed;
  bool whole = trials->count < trials->room && json_number_of(line, "again", &again) &&
               json_number_of(line, "seed", &seed);
  for (size_t r = 0; whole && r < trials->space->ranges; r++)
    whole = (value[r] = json_string_value(json_object_get(set, trials->space->range[r].key)));
  if (whole) add_trial(trials, value, (size_t)again, (size_t)seed);
  return whole;
}

static bool see_more(struct trials *trials, const char *kind, const json_t *line) {
  struct trial_point point;
  double number;
  if (!json_number_of(line, "trial", &number) || !(number >= 1 && number <= (double)trials->count))
    return false;
  struct trial *trial = &trials->trial[(size_t)number - 1];
  if (!json_number_of(line, "seconds", &point.seconds)) return false;
  if (!strcmp(kind, "point") && json_number_of(line, "at", &point.at) &&
      json_number_of(line, "score", &point.score)) {
    add_point(trials, trial, &point);
    return true;
  }
  if (!strcmp(kind, "cut")) return (trial->seconds = point.seconds, true);
  const char *state = json_string_value(json_object_get(line, "state"));
  for (int s = 0; state && s < TRIAL_STATES; s++)
    if (!strcmp(trial_states[s], state)) trial->state = s;
  trial->seconds = point.seconds;
  trial->why = json_text_of(line, "why", trials->arena);
  return !strcmp(kind, "end") && trial->state != TRIAL_RUNS;
}

static bool see_line(const json_t *line, void *context, struct error *error) {
  struct reading *reading = context;
  const char *kind = json_string_value(json_object_get(line, "kind"));
  if (kind && !strcmp(kind, "space")) return see_space(reading, line, error);
  bool whole =
      kind && reading->known &&
      (!strcmp(kind, "trial") ? see_trial(reading->trials, line) : see_more(reading->trials, kind, line));
  return whole || fail(error,
                       "%s has a line that no search writes, or more than %zu trials; name another --output, "
                       "or remove it",
                       reading->path, reading->trials->room);
}

/* A line that a killed program has not finished is none. */
static bool cut_unfinished(const char *path, struct error *error) {
  FILE *file = file_read(path, error);
  long whole = 0;
  if (!file) return false;
  for (int c; (c = getc(file)) != EOF;)
    if (c == '\n') whole = ftell(file);
  bool cut = ftell(file) != whole;
  fclose(file);
  return !cut || !truncate(path, whole) || fail_file(error, "cannot shorten %s: %s", path, strerror(errno));
}

bool trials_open(struct trials *trials, const struct space *space, const char *path, uint32_t sum,
                 size_t room, struct arena *arena, struct error *error) {
  struct reading reading = {trials, path, sum, false};
  *trials = (struct trials){
      .arena = arena, .space = space, .room = room, .trial = ARENA_NEW(arena, struct trial, room)};
  if (file_is_there(path) &&
      (!cut_unfinished(path, error) || !json_lines(path, false, see_line, &reading, error)))
    return false;
  if (!file_append(&trials->journal, path, error)) return false;
  if (!reading.known) fprintf(trials->journal, "{\"kind\":\"space\",\"sum\":%u}\n", sum);
  fflush(trials->journal);
  return true;
}

bool trials_close(struct trials *trials, const char *path, struct error *error) {
  bool good = !fflush(trials->journal) && !ferror(trials->journal) && !fsync(fileno(trials->journal));
  if (!good) fail_file(error, "cannot write %s: %s", path, strerror(errno ? errno : EIO));
  fclose(trials->journal);
  return good;
}

struct trial *trials_begin(struct trials *trials, const char *const *value, size_t again, size_t seed) {
  struct trial *trial = add_trial(trials, value, again, seed);
  fprintf(trials->journal, "{\"kind\":\"trial\",\"trial\":%zu,\"again\":%zu,\"seed\":%zu,\"set\":{",
          trial->number, again, seed);
  for (size_t r = 0; r < trials->space->ranges; r++) {
    if (r) putc(',', trials->journal);
    json_text(trials->journal, trials->space->range[r].key);
    putc(':', trials->journal);
    json_text(trials->journal, value[r]);
  }
  fprintf(trials->journal, "}}\n");
  fflush(trials->journal);
  return trial;
}

void trials_point(struct trials *trials, struct trial *trial, const struct trial_point *point) {
  add_point(trials, trial, point);
  fprintf(trials->journal,
          "{\"kind\":\"point\",\"trial\":%zu,\"seconds\":%.3f,\"at\":%.17g,\"score\":", trial->number,
          point->seconds, point->at);
  json_number(trials->journal, point->score);
  fprintf(trials->journal, "}\n");
  fflush(trials->journal);
}

void trials_cut(struct trials *trials, struct trial *trial, double seconds) {
  trial->seconds = seconds;
  fprintf(trials->journal, "{\"kind\":\"cut\",\"trial\":%zu,\"seconds\":%.3f}\n", trial->number, seconds);
  fflush(trials->journal);
}

void trials_end(struct trials *trials, struct trial *trial, enum trial_state state, double seconds,
                const char *why) {
  trial->state = state;
  trial->seconds = seconds;
  trial->why = why ? arena_text(trials->arena, "%s", why) : NULL;
  fprintf(trials->journal, "{\"kind\":\"end\",\"trial\":%zu,\"state\":\"%s\",\"seconds\":%.3f", trial->number,
          trial_states[state], seconds);
  if (why) fprintf(trials->journal, ",\"why\":"), json_text(trials->journal, why);
  fprintf(trials->journal, "}\n");
  fflush(trials->journal);
}
