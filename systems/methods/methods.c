#include "systems/methods/methods.h"

#include "engine/base/log.h"
#include "systems/coils/simulated.h"
#include "systems/methods/evaluate.h"
#include "systems/methods/start.h"
#include "systems/scan/augment.h"
#include "systems/scan/reconstruction.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- lists --------------------------------------------------------------------------------------------- */

static bool has_stages(const struct method *method) {
  return method->stages[1];
}

/* The first stage trains the reconstructor, where the scene has one to train. */
static bool trains_first(const struct options *options) {
  return reconstruction_trains(options) && !start_checkpoint(options);
}

/* A stage of a name that was there before is that once more. */
static const char *list_name(const struct method *method, size_t place, struct arena *arena) {
  const struct task *task = method->stages[place];
  if (!has_stages(method)) return "train";
  for (size_t i = 0; i < place; i++)
    if (!strcmp(method->stages[i]->name, task->name)) return arena_text(arena, "%s again", task->name);
  return task->name;
}

static bool add_stage(struct lists *lists, const struct options *options, size_t place, struct arena *arena,
                      struct error *error) {
  const struct method *method = method_of(options);
  struct options *own = ARENA_NEW(arena, struct options, 1);
  *own = *options;
  if (has_stages(method) && !place) {
    if (!trains_first(options)) return true;
    if (!start_set(own, arena, error)) return false;
  }
  return training_describe(method->stages[place], list_name(method, place, arena), lists, own, arena, error);
}

/* What data would tell. */
static void note_assumed(struct lists *lists, const struct options *options) {
  bool there = file_is_there(options->data.path) || folder_is_there(options->data.path);
  if (simulated_or_measured(options)) return;
  if (!options->data.window) lists_note(lists, "assumed", "all slices fit on the device (data.window is 0)");
  if (options->data.window && !there)
    lists_note(lists, "assumed", "there are more slices than data.window (data.path is not there)");
}

bool method_lists(struct lists *lists, const struct options *options, struct arena *arena,
                  struct error *error) {
  const struct method *method = method_of(options);
  *lists = (struct lists){0};
  note_assumed(lists, options);
  bool trains = start_trains(options);
  if (!trains)
    lists_note(lists, "train",
               arena_text(arena, "nothing is trained: reconstruct.method %s has no network, which train.method %s trains",
                          reconstruction_chosen(options, true)->name, method->name));
  bool good = method_check_networks(options, error) && (!trains || start_check_method(method, options, error));
  for (size_t i = 0; good && trains && method->stages[i]; i++) good = add_stage(lists, options, i, arena, error);
  return good && evaluate_list(lists, options, arena, error);
}

/* ---- stages -------------------------------------------------------------------------------------------- */

struct stages {
  struct arena *arena;
  struct device *device;
  const struct options *options;
  const struct method *method;
  const struct method_config *config;
  const char *reconstructor, *policy; /* checkpoints of the last stages; NULL: none yet */
  bool made;                          /* the folder was not there before */
  FILE *log;                          /* stages.jsonl; holds the folder */
  off_t noted;                        /* bytes of it that are of stages done */
  struct stage stage;                 /* the running one */
  struct best_round best;             /* of the rounds that are done */
};

static const char *path_of(const struct stages *all, const char *stage, const char *file) {
  return arena_text(all->arena, "%s%s%s%s%s", all->options->train.output, *stage ? "/" : "", stage,
                    *file ? "/" : "", file);
}

static void name_stage(char name[32], const struct task *task, uint32_t round) {
  if (round)
    snprintf(name, 32, "%s_%u", task->name, round);
  else
    snprintf(name, 32, "%s", task->name);
}

static size_t place_of(const struct stages *all, const struct task *task) {
  size_t place = 0;
  while (all->method->stages[place] != task) place++;
  return place;
}

/* The folder of the stage after the running one; "": there is none. */
static void name_next(const struct stages *all, char name[32]) {
  const struct task *next = all->method->stages[place_of(all, all->stage.task) + 1];
  uint32_t round = all->stage.round ? all->stage.round : 1;
  *name = 0;
  if (!next && !all->method->alternates) return;
  name_stage(name, next ? next : all->method->stages[1], next ? round : round + 1);
}

/* A stage is not changed under the next one, which was made from it. */
static bool check_next(struct training *training, void *context, struct error *error) {
  const struct stages *all = context;
  bool epochs = training->task->epochs;
  uint64_t per = epochs ? training->each : 1;
  char next[32];
  name_next(all, next);
  if (!*all->stage.name || !*next || trainer_done(training) || !file_is_there(path_of(all, next, "last.h5")))
    return true;
  return fail(error,
              "%llu of %llu %ss are done, and %s was made from it as it is; set the steps or epochs back to "
              "what they were, or move %s and the stages after it away",
              (unsigned long long)(training->done / per), (unsigned long long)(training->wanted / per),
              epochs ? "epoch" : training->task->unit, path_of(all, next, ""), path_of(all, next, ""));
}

static void tell_scores(struct stage *stage, const struct training *training) {
  const struct history *history = &training->validations;
  const double *score = history->value[training->task->score];
  stage->best = NAN;
  for (size_t i = 0; i < history->count; i++)
    if (training->task->select != SELECT_NOTHING && history->at[i] == (double)training->best_at)
      stage->best = score[i];
  stage->score = history->count ? score[history->count - 1] : NAN;
}

static bool end_stage(struct training *training, void *context, struct error *error) {
  struct stages *all = context;
  tell_scores(&all->stage, training);
  return !all->config->end || all->config->end(training, &all->stage, all->config->context, error);
}

/* How often what bears its name was trained before; a first reconstructor that is named was, too. */
static uint32_t trained_before(const struct stages *all) {
  const struct task *const *stage = all->method->stages, *task = all->stage.task;
  uint32_t before = all->stage.round ? all->stage.round - 1 : 0;
  for (; *stage != task; stage++) before += !strcmp((*stage)->name, task->name);
  return before;
}

static struct training_config config_of(struct stages *all) {
  const struct task *task = all->stage.task;
  const struct options *options = all->options;
  const char *before = task->reconstructs ? all->reconstructor : all->policy;
  return (struct training_config){.task = task,
                                  .folder = *options->train.output ? path_of(all, all->stage.name, "") : NULL,
                                  .resume = all->config->resume,
                                  .reconstructor = all->reconstructor,
                                  .policy = all->policy,
                                  .start = before ? NULL : start_parameters(task, options),
                                  .drawn = options->alternate.actions == ACTIONS_DRAWN,
                                  .steps =
                                      all->stage.round > 1 ? options->alternate.steps : options->learn.steps,
                                  .round = trained_before(all),
                                  .see = all->config->see,
                                  .stop = all->config->stop,
                                  .context = all->config->context,
                                  .opened = check_next,
                                  .ended = end_stage,
                                  .stage = all,
                                  .kernel_folder = all->config->kernel_folder};
}

static bool set_options(const struct stages *all, struct options *options, struct error *error) {
  const struct stage *stage = &all->stage;
  *options = *all->options;
  if (stage->round && all->method->set) all->method->set(options, stage->task, stage->round);
  return stage->round || !*stage->name || start_set(options, all->arena, error);
}

/* The stages after it take its reconstructor, or its policy. */
static bool train_stage(struct stages *all, struct error *error) {
  const struct task *task = all->stage.task;
  struct options options;
  struct training_config config = config_of(all);
  if (!set_options(all, &options, error)) return false;
  if (task->reconstructs)
    options.train.output = config.folder ? config.folder : ""; /* the scene that its checkpoints keep */
  all->device->stage = list_name(all->method, place_of(all, task), all->arena);
  if (!training_stage(all->device, &options, &config, error)) return false;
  *(task->reconstructs ? &all->reconstructor : &all->policy) =
      path_of(all, all->stage.name, task->reconstructs ? "best.h5" : "last.h5");
  return true;
}

/* ---- stages.jsonl -------------------------------------------------------------------------------------- */

/* Lines in stages.jsonl stay: a stage that refuses to go on leaves the file as it was. Of ranks the first has it. */
static bool write_line(struct stages *all, const char *line, size_t bytes, struct error *error) {
  if (!all->log) return true;
  int file = fileno(all->log);
  char *before = arena_new(all->arena, bytes);
  bool same = pread(file, before, bytes, all->noted) == (ssize_t)bytes && !memcmp(before, line, bytes);
  if (!same && (ftruncate(file, all->noted) || fwrite(line, 1, bytes, all->log) != bytes || fflush(all->log)))
    return fail_file(error, "cannot write %s: %s", path_of(all, "", "stages.jsonl"), strerror(errno));
  all->noted += (off_t)bytes;
  return true;
}

void method_print_stage(const struct stage *stage, FILE *file) {
  fprintf(file, "{\"kind\":\"stage\",\"stage\":\"%s\",\"round\":%u,\"validation\":", stage->name,
          stage->round);
  json_number(file, stage->score);
  fprintf(file, ",\"best\":");
  json_number(file, stage->best);
  fprintf(file, "}\n");
}

void method_print_best(const struct best_round *best, FILE *file) {
  fprintf(file,
          "{\"kind\":\"best\",\"round\":%u,\"policy\":\"%s_%u\",\"reconstructor\":\"reconstructor_%u\","
          "\"rounds\":%u,\"validation\":",
          best->round, best->decides, best->round, best->round, best->rounds);
  json_number(file, best->score);
  fprintf(file, "}\n");
}

/* The stage that has ended, or the best round. */
static bool note(struct stages *all, const struct best_round *best, struct error *error) {
  const struct method_config *config = all->config;
  char *line = NULL;
  size_t bytes = 0;
  FILE *text = open_memstream(&line, &bytes);
  if (!text) return fail_memory(error, "no host memory for the log of the stages");
  if (best)
    method_print_best(best, text);
  else
    method_print_stage(&all->stage, text);
  fclose(text);
  bool good = write_line(all, line, bytes, error);
  free(line);
  if (good && best && config->see_best) config->see_best(best, config->context);
  if (good && !best && config->see_stage) config->see_stage(&all->stage, config->context);
  return good;
}

static bool run_stage(struct stages *all, uint32_t round, size_t place, struct error *error) {
  all->stage = (struct stage){.task = all->method->stages[place], .round = round};
  name_stage(all->stage.name, all->stage.task, round);
  log_info("stage %s", all->stage.name);
  return (train_stage(all, error) || fail_in(error, "%s", all->stage.name)) && note(all, NULL, error);
}

/* All stages after the first. */
static bool run_others(struct stages *all, uint32_t round, struct error *error) {
  for (size_t place = 1; all->method->stages[place]; place++)
    if (!run_stage(all, round, place, error)) return false;
  return true;
}

/* ---- rounds -------------------------------------------------------------------------------------------- */

/* Going on runs over the finished stages again, and so comes to the same end. */
static bool is_over(const struct stages *all) {
  uint32_t patience = all->options->alternate.patience, rounds = all->best.rounds;
  if (rounds == all->options->alternate.rounds) return true;
  if (!patience || rounds - all->best.round < patience) return false;
  log_info("stopped after round %u: no better validation than round %u's for %u round%s", rounds,
           all->best.round, patience, plural(patience));
  return true;
}

static bool run_round(struct stages *all, struct error *error) {
  uint32_t round = all->best.rounds + 1;
  if (!run_others(all, round, error)) return false;
  if (!all->best.round || all->stage.best > all->best.score)
    all->best = (struct best_round){.round = round, .score = all->stage.best, .decides = all->method->stages[1]->name};
  all->best.rounds = round;
  return true;
}

static bool run_stages(struct stages *all, struct error *error) {
  all->reconstructor = start_checkpoint(all->options);
  if (trains_first(all->options) && !run_stage(all, 0, 0, error)) return false;
  if (!all->method->alternates) return run_others(all, 1, error);
  while (!is_over(all))
    if (!run_round(all, error)) return false;
  return note(all, &all->best, error);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static bool open_log(struct stages *all, struct error *error) {
  const char *folder = all->options->train.output;
  if (ranks_number(all->device->ranks)) return true;
  if (file_is_there(path_of(all, "", "last.h5")))
    return fail(
        error,
        "%s holds the training of one network (last.h5), train.method %s makes a folder of stages; choose "
        "another train.output",
        folder, all->method->name);
  all->made = !folder_is_there(folder);
  if (!run_hold(&all->log, folder, path_of(all, "", "stages.jsonl"), error)) return false;
  if (all->config->resume || (fseek(all->log, 0, SEEK_END) == 0 && ftell(all->log) == 0)) return true;
  return fail(error,
              "%s holds a training (stages.jsonl); go on with --resume, or choose another train.output",
              folder);
}

/* Where not even the first stage has begun, the folder is as it was, or gone. */
static void forget_stages(const struct stages *all) {
  struct stat status;
  char first[32];
  name_stage(first, all->method->stages[1], 1);
  bool begun = folder_is_there(path_of(all, "reconstructor", "")) || folder_is_there(path_of(all, first, ""));
  if (begun || fstat(fileno(all->log), &status) || status.st_size) return;
  unlink(path_of(all, "", "stages.jsonl"));
  if (all->made) rmdir(path_of(all, "", ""));
}

/* Before the reconstructor is trained. */
static bool check_options(const struct stages *all, struct error *error) {
  uint32_t rounds = all->method->alternates ? all->options->alternate.rounds : 1;
  for (size_t place = 1; all->method->stages[place]; place++)
    if (!training_check(all->method->stages[place], all->device, all->options, rounds, error)) return false;
  return true;
}

static bool train_stages(struct stages *all, struct error *error) {
  bool good = check_options(all, error) && start_check(all->options, error) && open_log(all, error) &&
              run_stages(all, error);
  if (!good && all->log) forget_stages(all);
  if (all->log) fclose(all->log);
  return good;
}

static bool check_ranks(const struct method *method, const struct device *device, struct error *error) {
  uint32_t ranks = ranks_count(device->ranks);
  for (const struct task *const *task = method->stages; *task; task++)
    if (ranks > 1 && (*task)->alone)
      return fail_usage(error, "train.method %s trains on one device (stage %s), and %u ranks were started; start it alone",
                        method->name, (*task)->name, ranks);
  return true;
}

bool method_train(struct device *device, const struct options *options, const struct method_config *config,
                  struct error *error) {
  const struct method *method = method_of(options);
  struct stages all = {.arena = arena_open(),
                       .device = device,
                       .options = options,
                       .method = method,
                       .stage = {.task = method->stages[0]},
                       .config = config};
  struct augment augment;
  bool good = check_ranks(method, device, error) && start_check_method(method, options, error) && augment_read(&augment, options, error) &&
              start_parameters_check(method, options, device, error) &&
              (has_stages(method) ? train_stages : train_stage)(&all, error);
  device->stage = NULL;
  arena_close(all.arena);
  return good;
}
