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
static struct stage stage_of(const struct method *method, size_t place, uint32_t round, struct arena *arena) {
  struct stage stage = {.task = method->stages[place], .round = round, .name = "", .list = "train"};
  if (!has_stages(method)) return stage;
  stage.list = stage.task->name;
  for (size_t i = 0; i < place; i++)
    if (!strcmp(method->stages[i]->name, stage.list)) stage.list = arena_text(arena, "%s again", stage.task->name);
  snprintf(stage.name, sizeof stage.name, round ? "%s_%u" : "%s", stage.task->name, round);
  return stage;
}

/* All stages in their order: the first, those of every round, and those of one round more, which are not run; ended by one
 * without a task. */
static struct stage *order_stages(const struct method *method, uint32_t rounds, struct arena *arena) {
  struct stage *first = ARENA_NEW(arena, struct stage, (rounds + 2) * (size_t)METHOD_STAGES), *next = first;
  *next++ = stage_of(method, 0, 0, arena);
  for (uint32_t round = 1; round <= rounds + method->alternates; round++)
    for (size_t place = 1; method->stages[place]; place++) *next++ = stage_of(method, place, round, arena);
  return first;
}

static bool add_stage(struct lists *lists, const struct options *options, const struct stage *stage, struct arena *arena,
                      struct error *error) {
  struct options *own = ARENA_NEW(arena, struct options, 1);
  *own = *options;
  if (*stage->name && !stage->round) {
    if (!trains_first(options)) return true;
    if (!start_set(own, arena, error)) return false;
  }
  return training_describe(stage->task, stage->list, lists, own, arena, error);
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
  const struct stage *stage = order_stages(method, 1, arena);
  for (; good && trains && stage->task && stage->round < 2; stage++) good = add_stage(lists, options, stage, arena, error);
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
  uint32_t rounds;                    /* at most */
  struct stage *first, *stage;        /* all; the running one */
  struct best_round best;             /* of the rounds that are done */
};

static const char *path_of(const struct stages *all, const char *stage, const char *file) {
  return arena_text(all->arena, "%s%s%s%s%s", all->options->train.output, *stage ? "/" : "", stage,
                    *file ? "/" : "", file);
}

/* A stage is not changed under the next one, which was made from it. */
static bool check_next(struct training *training, void *context, struct error *error) {
  const struct stages *all = context;
  bool epochs = training->task->epochs;
  uint64_t per = epochs ? training->each : 1;
  const char *next = all->stage[1].name;
  if (!*next || trainer_done(training) || !file_is_there(path_of(all, next, "last.h5"))) return true;
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
  tell_scores(all->stage, training);
  return !all->config->end || all->config->end(training, all->stage, all->config->context, error);
}

/* How often what bears its name was trained before; a first reconstructor that is named was, too. */
static uint32_t trained_before(const struct stages *all) {
  uint32_t before = 0;
  for (const struct stage *stage = all->first; stage != all->stage; stage++)
    before += !strcmp(stage->task->name, all->stage->task->name);
  return before;
}

static struct training_config config_of(struct stages *all) {
  const struct task *task = all->stage->task;
  const struct options *options = all->options;
  const char *before = task->reconstructs ? all->reconstructor : all->policy;
  return (struct training_config){.task = task,
                                  .folder = *options->train.output ? path_of(all, all->stage->name, "") : NULL,
                                  .resume = all->config->resume,
                                  .reconstructor = all->reconstructor,
                                  .policy = all->policy,
                                  .start = before ? NULL : start_parameters(task, options),
                                  .drawn = options->alternate.actions == ACTIONS_DRAWN,
                                  .steps =
                                      all->stage->round > 1 ? options->alternate.steps : options->learn.steps,
                                  .round = trained_before(all),
                                  .see = all->config->see,
                                  .stop = all->config->stop,
                                  .context = all->config->context,
                                  .opened = check_next,
                                  .ended = end_stage,
                                  .stage = all,
                                  .kernel_folder = all->config->kernel_folder};
}

/* The stages after it take its reconstructor, or its policy. */
static bool train_stage(struct stages *all, struct error *error) {
  const struct stage *stage = all->stage;
  const struct task *task = stage->task;
  struct options options = *all->options;
  struct training_config config = config_of(all);
  if (stage->round && all->method->set) all->method->set(&options, task, stage->round);
  if (!stage->round && *stage->name && !start_set(&options, all->arena, error)) return false;
  if (task->reconstructs)
    options.train.output = config.folder ? config.folder : ""; /* the scene that its checkpoints keep */
  all->device->stage = stage->list;
  if (!training_stage(all->device, &options, &config, error)) return false;
  *(task->reconstructs ? &all->reconstructor : &all->policy) =
      path_of(all, stage->name, task->reconstructs ? "best.h5" : "last.h5");
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
    method_print_stage(all->stage, text);
  fclose(text);
  bool good = write_line(all, line, bytes, error);
  free(line);
  if (good && best && config->see_best) config->see_best(best, config->context);
  if (good && !best && config->see_stage) config->see_stage(all->stage, config->context);
  return good;
}

static bool run_stage(struct stages *all, struct stage *stage, struct error *error) {
  all->stage = stage;
  log_info("stage %s", stage->name);
  return (train_stage(all, error) || fail_in(error, "%s", stage->name)) && note(all, NULL, error);
}

/* ---- rounds -------------------------------------------------------------------------------------------- */

/* Going on runs over the finished stages again, and so comes to the same end. */
static bool is_over(const struct stages *all) {
  uint32_t patience = all->options->alternate.patience, rounds = all->best.rounds;
  if (rounds == all->rounds) return true;
  if (!patience || rounds - all->best.round < patience) return false;
  log_info("stopped after round %u: no better validation than round %u's for %u round%s", rounds,
           all->best.round, patience, plural(patience));
  return true;
}

static bool run_stages(struct stages *all, struct error *error) {
  struct stage *stage = all->first + !trains_first(all->options);
  all->reconstructor = start_checkpoint(all->options);
  for (; !is_over(all); stage++) {
    if (!run_stage(all, stage, error)) return false;
    if (!stage->round || stage[1].round == stage->round) continue;
    if (!all->best.round || stage->best > all->best.score)
      all->best = (struct best_round){.round = stage->round, .score = stage->best, .decides = all->method->stages[1]->name};
    all->best.rounds = stage->round;
  }
  return !all->method->alternates || note(all, &all->best, error);
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
  bool begun = folder_is_there(path_of(all, all->first[0].name, "")) || folder_is_there(path_of(all, all->first[1].name, ""));
  if (begun || fstat(fileno(all->log), &status) || status.st_size) return;
  unlink(path_of(all, "", "stages.jsonl"));
  if (all->made) rmdir(path_of(all, "", ""));
}

static bool train_stages(struct stages *all, struct error *error) {
  bool good = true; /* others are checked before the reconstructor is trained */
  for (size_t place = 1; good && all->method->stages[place]; place++)
    good = training_check(all->method->stages[place], all->device, all->options, all->rounds, error);
  good = good && start_check(all->options, error) && open_log(all, error) && run_stages(all, error);
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
                       .rounds = method->alternates ? options->alternate.rounds : 1,
                       .config = config};
  struct augment augment;
  all.first = all.stage = order_stages(method, all.rounds, all.arena);
  bool good = check_ranks(method, device, error) && start_check_method(method, options, error) && augment_read(&augment, options, error) &&
              start_parameters_check(method, options, device, error) &&
              (has_stages(method) ? train_stages : train_stage)(&all, error);
  device->stage = NULL;
  arena_close(all.arena);
  return good;
}
