/* Trials of settings out of a space, as trainings side by side, each chosen by what those before it found. */
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/part.h"
#include "engine/files/store.h"
#include "systems/data/listing.h"
#include "systems/methods/start.h"
#include "tools/commands/command.h"
#include "tools/commands/jobs.h"
#include "tools/commands/made.h"
#include "tools/commands/queue.h"
#include "tools/ranks/devices.h"
#include "tools/report/score_text.h"
#include "tools/search/score.h"
#include "tools/search/show.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A trial that is trained. */
struct running {
  struct queue_job job;
  struct trial *trial;
  const char *folder, *curve;
  double before, now; /* seconds of its earlier processes; until now */
  off_t bytes;        /* of the curve, as it was read last */
  enum trial_state end;
};

struct search {
  struct call *call;
  const struct options *options;
  const struct method *method;
  const char *folder;
  struct space space;
  struct trials trials;
  struct running *running; /* [room of trials], by number */
  bool *started;
  double end; /* when nothing more begins, and all stops; 0: never */
  bool over;  /* the first trial failed */
};

/* ---- a trial ------------------------------------------------------------------------------------------- */

/* Other seeds validate on other folds, where there are some. */
static size_t add_again(const struct search *search, const struct trial *trial, const char **word) {
  const struct options *options = search->options;
  struct arena *arena = search->call->arena;
  if (!trial->again) return 0;
  word[0] = "--set",
  word[1] = arena_text(arena, "world.seed=%zu", (options->world.seed + trial->seed) & UINT32_MAX);
  if (!options->data.folds) return 2;
  word[2] = "--set",
  word[3] = arena_text(arena, "data.fold=%zu", (options->data.fold + trial->seed) % options->data.folds);
  return 4;
}

static const char *const *words_of(const struct search *search, const struct trial *trial,
                                   const char *folder) {
  static const char *const own[] = {"output", "device", "devices", "jobs", "seconds", "json", NULL};
  const struct call *call = search->call;
  const char **word = ARENA_NEW(call->arena, const char *, 2 * call->given_count + 2 * RANGES_MOST + 16);
  size_t used = 0;
  word[used++] = "train", word[used++] = call->scene;
  used += queue_flags(call, own, word + used);
  for (size_t r = 0; r < search->space.ranges && trial->number > 1 && trial->again != 1; r++) {
    word[used++] = "--set";
    word[used++] = arena_text(call->arena, "%s=%s", search->space.range[r].key, trial->value[r]);
  }
  used += add_again(search, trial, word + used);
  word[used++] = "--output", word[used++] = folder, word[used++] = "--resume";
  return word;
}

static struct queue_job *prepare(struct search *search, struct trial *trial) {
  struct running *running = &search->running[trial->number - 1];
  struct arena *arena = search->call->arena;
  struct error error;
  running->trial = trial;
  running->folder = arena_text(arena, "%s/trial_%04zu", search->folder, trial->number);
  running->curve = score_file(search->method, running->folder, arena);
  running->before = trial->seconds;
  running->end = TRIAL_DONE;
  running->job = (struct queue_job){.name = arena_text(arena, "trial %zu", trial->number),
                                    .words = words_of(search, trial, running->folder),
                                    .log = arena_text(arena, "%s.log", running->folder)};
  search->started[trial->number - 1] = true;
  if (file_is_there(running->folder) && folder_make(running->folder, &error))
    log_info("trial %zu goes on", trial->number);
  return &running->job;
}

/* ---- what comes next ----------------------------------------------------------------------------------- */

static size_t count_plain(const struct trials *trials) {
  size_t count = 0;
  for (size_t i = 0; i < trials->count; i++) count += !trials->trial[i].again;
  return count;
}

static bool any_runs(const struct trials *trials) {
  for (size_t i = 0; i < trials->count; i++)
    if (trials->trial[i].state == TRIAL_RUNS) return true;
  return false;
}

static struct trial *begin_next(struct search *search) {
  struct trials *trials = &search->trials;
  struct arena *arena = arena_open();
  struct observation *seen = ARENA_NEW(arena, struct observation, trials->count + 1);
  double dial[RANGES_MOST];
  const char *value[RANGES_MOST];
  size_t count = trials_observed(trials, seen), number = count;
  if (!count)
    space_own(&search->space, search->options, dial);
  else
    suggest(&search->space, seen, count, search->options->world.seed, (uint32_t)number,
            search->options->search.even + 1, dial);
  for (size_t r = 0; r < search->space.ranges; r++)
    value[r] = count ? space_text(&search->space, r, dial[r])
                     : option_text(option_find(&option_table, search->space.range[r].key), search->options,
                                   search->call->arena);
  struct trial *trial = trials_begin(trials, value, 0, 0);
  arena_close(arena);
  return trial;
}

static bool has_again(const struct trials *trials, size_t number, size_t seed) {
  for (size_t i = 0; i < trials->count; i++)
    if (trials->trial[i].again == number && trials->trial[i].seed == seed) return true;
  return false;
}

/* How many repeats by other seeds are left of the first trial and the best; *next, *by: the first of them, and its seed. */
static size_t repeats_left(const struct search *search, const struct trial **next, size_t *by) {
  const struct trials *trials = &search->trials;
  const struct trial *best = trials_best(trials);
  size_t left = 0;
  for (size_t seed = 1; best && best->number > 1 && seed <= search->options->search.repeats; seed++) {
    const struct trial *both[] = {&trials->trial[0], best};
    for (size_t i = 0; i < 2; i++)
      if (!has_again(trials, both[i]->number, seed) && !left++) *next = both[i], *by = seed;
  }
  return left;
}

/* Once all trials have ended. */
static struct trial *begin_again(struct search *search) {
  const struct trial *next;
  size_t seed;
  if (!repeats_left(search, &next, &seed)) return NULL;
  return trials_begin(&search->trials, next->value, next->number, seed);
}

/* First what was begun and not ended. */
static struct queue_job *next_trial(void *context) {
  struct search *search = context;
  struct trials *trials = &search->trials;
  if (search->over || (search->end > 0 && clock_seconds() >= search->end)) return NULL;
  for (size_t i = 0; i < trials->count; i++)
    if (trials->trial[i].state == TRIAL_RUNS && !search->started[i])
      return prepare(search, &trials->trial[i]);
  bool more = count_plain(trials) < search->options->search.trials, repeats = !more && !any_runs(trials);
  if (trials->count == trials->room) return NULL;
  struct trial *trial = more                                                ? begin_next(search)
                        : repeats || trials->trial[trials->count - 1].again ? begin_again(search)
                                                                            : NULL;
  return trial ? prepare(search, trial) : NULL;
}

/* ---- what runs ----------------------------------------------------------------------------------------- */

struct looking {
  struct search *search;
  struct running *running;
};

static void see_point(double at, double score, void *context) {
  const struct looking *looking = context;
  struct trial *trial = looking->running->trial;
  if (trial->points && at <= trial->point[trial->points - 1].at) return;
  trials_point(&looking->search->trials, trial, &(struct trial_point){looking->running->now, at, score});
}

static void look(struct search *search, struct running *running) {
  struct stat status;
  struct error error;
  if (stat(running->curve, &status) || status.st_size == running->bytes) return;
  running->bytes = status.st_size;
  if (!score_read(search->method, running->folder, see_point, &(struct looking){search, running}, &error))
    log_warning("%s", error.text);
}

static struct running *running_of(struct queue_job *job) {
  return (struct running *)((char *)job - offsetof(struct running, job));
}

static bool watch_trial(struct queue_job *job, double seconds, void *context) {
  struct search *search = context;
  struct running *running = running_of(job);
  const struct options *options = search->options;
  size_t points = running->trial->points;
  running->now = running->before + seconds;
  look(search, running);
  running->end = TRIAL_RUNS;
  if (search->over || (search->end > 0 && clock_seconds() >= search->end)) return false;
  running->end = TRIAL_LATE;
  if (options->search.limit && running->now >= options->search.limit) return false;
  running->end = TRIAL_STOPPED;
  bool behind =
      running->trial->points > points && !running->trial->again &&
      trials_behind(&search->trials, running->trial, options->search.quantile, options->search.even);
  if (!behind) running->end = TRIAL_DONE;
  return !behind;
}

static void tell_end(const struct trial *trial) {
  if (trial->why)
    log_warning("trial %zu failed: %s", trial->number, trial->why);
  else
    log_info("trial %zu: score %.5f, %.1f s, %s", trial->number, trial_score(trial), trial->seconds,
             trial_states[trial->state]);
}

/* What is cut by the end of the search goes on when it does. */
static void end_trial(struct queue_job *job, double seconds, void *context) {
  struct search *search = context;
  struct running *running = running_of(job);
  struct trial *trial = running->trial;
  const char *why = NULL;
  running->now = running->before + seconds;
  look(search, running);
  if (job->stopped && running->end == TRIAL_RUNS) {
    trials_cut(&search->trials, trial, running->now);
    return;
  }
  if (job->failed) {
    struct job told = {.log = job->log};
    why = job_last_line(&told, search->call->arena);
    if (!strncmp(why, "l2sr: ", 6)) why += 6;
    if (!*why) why = "its process ended without a word";
  } else if (!trial->points) {
    why = job->stopped ? arena_text(search->call->arena, "no validation in %u s (search.limit)",
                                    search->options->search.limit)
                       : "its log has no validation";
  }
  trials_end(&search->trials, trial,
             why            ? TRIAL_FAILED
             : job->stopped ? running->end
                            : TRIAL_DONE,
             running->now, why);
  tell_end(trial);
  search->over = search->over || (why && trial->number == 1);
}

/* ---- the command --------------------------------------------------------------------------------------- */

/* Before anything is begun; what only data tell, the first trial says. */
static bool check_trains(struct search *search, struct error *error) {
  const struct options *options = search->options;
  search->method = method_of(options);
  if (!start_trains(options))
    return fail_usage(error,
                      "reconstruct.method of %s has no network, which train.method %s trains: there is "
                      "nothing to search; name a scene that trains",
                      search->call->scene, search->method->name);
  if (!method_check_networks(options, error) || !start_check_method(search->method, options, error))
    return false;
  if (options->search.trials <= options->search.even)
    log_warning("search.trials is %u, and search.even %u of them follow from nothing", options->search.trials,
                options->search.even);
  if (search->method->stages[1] && !start_checkpoint(options))
    log_warning("every trial trains a reconstructor first; name one that is trained by learn.reconstructor, "
                "where the space leaves it as it is");
  return true;
}

static uint32_t sum_of(const struct search *search) {
  uint32_t sum = made_from(search->options, made_by(search->options, 0));
  const struct options *options = search->options;
  const char *const lists[] = {options->search.linear, options->search.log, options->search.integer,
                               options->search.choice};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    sum = hash_crc(CRC_CASTAGNOLI, sum, lists[i], strlen(lists[i]) + 1);
  return sum;
}

static size_t count_left(const struct search *search) {
  const struct trials *trials = &search->trials;
  size_t begun = count_plain(trials), wanted = search->options->search.trials,
         left = begun < wanted ? wanted - begun : 0;
  for (size_t i = 0; i < trials->count; i++) left += trials->trial[i].state == TRIAL_RUNS;
  const struct trial *next;
  size_t seed;
  return left ? left : repeats_left(search, &next, &seed);
}

static bool finish(struct search *search, struct error *error) {
  struct trials *trials = &search->trials;
  const struct trial *first = &trials->trial[0];
  const char *up = score_name(search->call->arena, search->options->reward.metric);
  if (first->why)
    return fail(error,
                "the scene's own values cannot be trained: %s; %s/trial_0001.log has more; change the scene, "
                "and remove the folder",
                first->why, text_shown(search->call->arena, search->folder));
  size_t left = count_left(search);
  search->call->status = left != 0;
  if (!trials->count || first->state == TRIAL_RUNS)
    return fail(error, "no trial has ended yet; the same command goes on");
  if (!show_write(trials, search->folder, up, error)) return false;
  show_print(trials, call_flag(search->call, "json"));
  if (call_flag(search->call, "json")) return true;
  if (left) printf("%zu trial%s left: the same command goes on\n", left, plural(left));
  printf("written: %s/search.csv, front.csv, front.svg, front.png\n",
         text_shown(search->call->arena, search->folder));
  return true;
}

/* What every trial needs, before a folder is made. */
static bool check_files(const struct search *search, struct error *error) {
  struct options options = *search->options;
  struct listing listing = {.arena = search->call->arena};
  const char *reconstructor = start_checkpoint(&options);
  struct store *store = NULL;
  options.data.split = SPLIT_TRAIN;
  if (!start_check(&options, error) || !listing_make(&listing, &options, error)) return false;
  bool good = !reconstructor || store_open(&store, reconstructor, error);
  store_close(store);
  return good || fail_in(error, *options.learn.reconstructor ? "learn.reconstructor" : "alternate.start");
}

static bool serve(struct search *search, const size_t *devices, size_t count, uint32_t each,
                  struct error *error) {
  const char *journal = arena_text(search->call->arena, "%s/search.jsonl", search->folder);
  size_t room = search->options->search.trials + 2 * search->options->search.repeats;
  int held;
  if (!folder_make(search->folder, error) || !folder_hold(search->folder, &held, error)) return false;
  bool good = trials_open(&search->trials, &search->space, journal, sum_of(search), room > 1000 ? room : 1000,
                          search->call->arena, error);
  if (good) {
    search->running = ARENA_NEW(search->call->arena, struct running, search->trials.room);
    search->started = ARENA_NEW(search->call->arena, bool, search->trials.room);
    search->over = search->trials.count && search->trials.trial[0].why;
    const struct queue_feed feed = {next_trial, watch_trial, end_trial, search};
    good = queue_serve(&feed, devices, count, each, error);
    good = trials_close(&search->trials, journal, error) && good;
  }
  good = good && finish(search, error);
  if (held >= 0) close(held);
  return good;
}

static bool run_search(struct call *call, struct error *error) {
  struct search *search = ARENA_NEW(call->arena, struct search, 1);
  size_t place[DEVICES_MOST], count;
  uint32_t each = 1, seconds = 0;
  *search = (struct search){.call = call, .options = &call->options, .folder = call->options.train.output};
  if (!*search->folder) return fail_usage(error, "train.output is empty; give --output DIR");
  if (call_flag(call, "device"))
    return fail_usage(error, "--device names one, and a search takes several; name it by --devices");
  if (!space_read(&search->space, search->options, call->arena, error) || !check_trains(search, error) ||
      !check_files(search, error) ||
      !call_number(call, "jobs", 1, 64, &each, error) ||
      !call_number(call, "seconds", 1, 100000000, &seconds, error) ||
      !devices_read(call_flag(call, "devices"), place, &count, error))
    return false;
  search->end = seconds ? clock_seconds() + seconds : 0;
  return serve(search, place, count, each, error);
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    {"output", "DIR", "train.output",
     "folder for a folder of every trial, its log, search.csv and the Pareto front"},
    {"epochs", "N", "train.epochs", NULL},
    {"seed", "N", "world.seed", NULL},
    {"devices", "LIST", NULL, "trains on these: all (default), or places in the list of `l2sr info`, as 0,1"},
    {"jobs", "N", NULL, "trainings at once on each of them (default 1); small ones do not fill a card"},
    {"seconds", "N", NULL, "stops after so long; the same command goes on"},
    {"json", NULL, NULL, "prints one JSON object for every trial instead of the front"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_search = {
    .name = "search",
    .operands = "SPACE",
    .doc = "looks for better settings: trains what a Gaussian process of scores and seconds suggests",
    .more = "SPACE is a scene with a section search: linear, log, integer and choice name keys and their "
            "ranges. The first trial has "
            "the scene's own values, search.even more fill the space evenly, and the others follow from "
            "scores of validation slices "
            "(data.folds: of patients of split train) and seconds. search.limit ends a trial after so many "
            "seconds, search.quantile one "
            "that is behind the others. A trial that fails counts as the lowest score.\n"
            "DIR has trial_N and trial_N.log for each, search.jsonl, by which the same command goes on, "
            "search.csv, and the Pareto front of score over "
            "seconds as front.csv, front.svg and front.png. search.repeats trains the best and the scene's "
            "own values by other seeds. "
            "The exit status is 1 while trials are left.",
    .takes_scene = true,
    .flags = flags,
    .run = run_search,
};
