#include "systems/methods/methods.h"

#include "engine/base/log.h"
#include "systems/methods/evaluate.h"
#include "systems/methods/learn.h"
#include "systems/methods/policy_training.h"
#include "systems/methods/start.h"
#include "systems/methods/train.h"
#include "systems/scan/augment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* After that of a reconstructor. */
static bool has_stages(const struct method *method) {
  return method->policy || method->grows;
}

/* What its lists are called by, in every round. */
static const char *title_of(const struct method *method, bool policy, uint32_t round) {
  if (!has_stages(method)) return "train";
  if (policy) return method->grows ? "mask" : "policy";
  return round ? "reconstructor again" : "reconstructor";
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static bool add_start(struct lists *lists, const struct options *options, struct arena *arena,
                      struct error *error) {
  struct options *first = ARENA_NEW(arena, struct options, 1);
  *first = *options;
  return start_checkpoint(options) ||
         (start_set(first, arena, error) &&
          training_list(lists, first, title_of(method_of(options), false, 0), false, arena, error));
}

static bool add_stages(struct lists *lists, const struct options *options, struct arena *arena,
                       struct error *error) {
  const struct method *method = method_of(options);
  if (!has_stages(method)) return training_list(lists, options, title_of(method, false, 0), false, arena, error);
  return add_start(lists, options, arena, error) &&
         (method->grows ? method->grows->describe(lists, options, arena, error)
                        : policy_training_describe(method->policy, lists, options, arena, error)) &&
         (!method->alternates ||
          training_list(lists, options, title_of(method, false, 1), true, arena, error));
}

/* What a device or data would tell. */
static void note_assumed(struct lists *lists, const struct options *options) {
  bool there = file_is_there(options->data.path) || folder_is_there(options->data.path);
  bool may_keep = method_of(options)->policy == &policy_trainer_l2s && options->learn.algorithm == LEARN_A2C &&
                  options->train.keep_activations == KEEP_AUTO;
  if (options->data.kspace == KSPACE_IMAGE && !options->data.window)
    lists_note(lists, "assumed", "all slices fit on the device (data.window is 0)");
  if (options->data.kspace == KSPACE_IMAGE && options->data.window && !there)
    lists_note(lists, "assumed", "there are more slices than data.window (data.path is not there)");
  if (may_keep)
    lists_note(lists, "assumed",
               "the device keeps no activations of a rollout, as it may where it has matrix instructions and memory "
               "(train.keep_activations is auto; always shows those lists)");
}

bool method_lists(struct lists *lists, const struct options *options, struct arena *arena,
                  struct error *error) {
  *lists = (struct lists){0};
  note_assumed(lists, options);
  return method_check_networks(options, error) && add_stages(lists, options, arena, error) &&
         evaluate_list(lists, options, arena, error);
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

static void name_stage(char name[32], const struct method *method, bool policy, uint32_t round) {
  const char *what = !policy ? "reconstructor" : method->grows ? "mask" : "policy";
  if (round)
    snprintf(name, 32, "%s_%u", what, round);
  else
    snprintf(name, 32, "%s", what);
}

/* A stage is not changed under the next one, which was made from it. */
static bool check_next(struct trainer *trainer, void *context, struct error *error) {
  const struct stages *all = context;
  bool epochs = trainer->task->epochs;
  uint64_t per = epochs ? trainer->each : 1;
  char next[32];
  name_stage(next, all->method, !all->stage.policy, all->stage.policy ? all->stage.round : all->stage.round + 1);
  if (!*all->stage.name || trainer_done(trainer) || !file_is_there(path_of(all, next, "last.h5"))) return true;
  return fail(error,
              "%llu of %llu %ss are done, and %s was made from it as it is; set the steps or epochs back to "
              "what they were, or move %s and the stages after it away",
              (unsigned long long)(trainer->done / per), (unsigned long long)(trainer->wanted / per),
              epochs ? "epoch" : trainer->task->unit,
              path_of(all, next, ""), path_of(all, next, ""));
}

/* The first reconstructor's stage tells its SSIM, even where it is trained by another loss. */
static size_t scored(const struct stage *stage, const struct task *task) {
  if (stage->policy) return task->selected;
  return stage->round ? EPOCH_VAL_SCORE : EPOCH_VAL_SSIM;
}

static void tell_scores(struct stage *stage, const struct trainer *trainer) {
  const struct history *history = &trainer->validations;
  size_t value = scored(stage, trainer->task);
  stage->best = NAN;
  for (size_t i = 0; i < history->count; i++)
    if (trainer->task->select != SELECT_NOTHING && history->at[i] == (double)trainer->best_at)
      stage->best = history->value[value][i];
  stage->score = history->count ? history->value[value][history->count - 1] : NAN;
}

static bool end_stage(struct trainer *trainer, void *context, struct error *error) {
  struct stages *all = context;
  tell_scores(&all->stage, trainer);
  return !all->config->end || all->config->end(trainer, &all->stage, all->config->context, error);
}

static struct trainer_config config_of(struct stages *all) {
  return (struct trainer_config){.folder = *all->options->train.output ? path_of(all, all->stage.name, "") : NULL,
                                 .resume = all->config->resume,
                                 .see = all->config->see,
                                 .stop = all->config->stop,
                                 .context = all->config->context,
                                 .opened = check_next,
                                 .ended = end_stage,
                                 .stage = all,
                                 .kernel_folder = all->config->kernel_folder};
}

/* ---- a reconstructor ----------------------------------------------------------------------------------- */

/* Options of the reconstructor's part of a round: what alternate.* says. */
static void set_round(struct options *options, uint32_t round) {
  const double divisor = pow(options->alternate.divisor, round - 1.0);
  options->train.epochs = options->alternate.epochs;
  options->train.batch = options->alternate.batch;
  options->train.rate = options->alternate.rate / divisor;
  options->train.schedule = SCHEDULE_STEP;
  options->train.rate_factor = options->alternate.rate_factor;
  options->train.rate_every = options->alternate.rate_every;
  options->train.optimiser = OPTIMISER_ADAM;
  options->train.clip = options->train.weight_decay = 0;
  options->train.early_stopping = options->alternate.early_stopping;
}

static bool run_reconstructor(struct stages *all, struct error *error) {
  struct options options = *all->options;
  struct trainer_config config = config_of(all);
  struct training training;
  all->device->stage = title_of(all->method, false, all->stage.round);
  if (all->stage.round) {
    set_round(&options, all->stage.round);
    config.start = all->reconstructor;
    config.policy = all->policy;
    config.round = all->stage.round;
    config.drawn = options.alternate.actions == ACTIONS_DRAWN;
  } else {
    if (has_stages(all->method) && !start_set(&options, all->arena, error)) return false;
    if (*options.train.start) config.start = options.train.start;
  }
  options.train.output = config.folder ? config.folder : ""; /* the scene that its checkpoints keep */
  if (!training_open(&training, all->device, &options, &config, error)) return false;
  bool good = trainer_run_stage(&training.trainer, &config, error);
  training_close(&training);
  all->reconstructor = path_of(all, all->stage.name, "best.h5");
  return good;
}

/* ---- a policy, or a mask ------------------------------------------------------------------------------- */

/* alternate.* sets the rounds after the first. */
static void set_policy_round(struct options *options, uint32_t round) {
  if (round > 1 && options->alternate.policy_rate > 0) options->learn.rate = options->alternate.policy_rate;
  options->learn.rate /= pow(options->alternate.policy_divisor, round - 1.0);
  if (round > 1 && options->alternate.entropy >= 0) options->learn.entropy = options->alternate.entropy;
}

static bool run_policy(struct stages *all, struct error *error) {
  struct options options = *all->options;
  struct trainer_config config = config_of(all);
  all->device->stage = title_of(all->method, true, all->stage.round);
  set_policy_round(&options, all->stage.round);
  config.trains = all->method->policy;
  config.reconstructor = all->reconstructor;
  config.policy = all->policy;
  if (!config.policy && *options.learn.start) config.policy_start = options.learn.start;
  config.steps = all->stage.round == 1 ? options.learn.steps : options.alternate.steps;
  config.round = all->stage.round - 1;
  bool good = all->method->grows ? all->method->grows->run(all->device, &options, &config, error)
                                 : policy_training_run(all->device, &options, &config, error);
  all->policy = path_of(all, all->stage.name, "last.h5");
  return good;
}

/* ---- stages.jsonl -------------------------------------------------------------------------------------- */

/* Lines in stages.jsonl stay: a stage that refuses to go on leaves the file as it was. */
static bool write_line(struct stages *all, const char *line, size_t bytes, struct error *error) {
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
          "{\"kind\":\"best\",\"round\":%u,\"policy\":\"policy_%u\",\"reconstructor\":\"reconstructor_%u\","
          "\"rounds\":%u,\"validation\":",
          best->round, best->round, best->round, best->rounds);
  json_number(file, best->score);
  fprintf(file, "}\n");
}

/* The stage that has ended, or the best round. */
static bool note(struct stages *all, const struct best_round *best, struct error *error) {
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
  return good;
}

static bool note_stage(struct stages *all, struct error *error) {
  if (!note(all, NULL, error)) return false;
  if (all->config->see_stage) all->config->see_stage(&all->stage, all->config->context);
  return true;
}

static bool note_best(struct stages *all, struct error *error) {
  if (!note(all, &all->best, error)) return false;
  if (all->config->see_best) all->config->see_best(&all->best, all->config->context);
  return true;
}

static bool run_stage(struct stages *all, uint32_t round, bool policy, struct error *error) {
  all->stage = (struct stage){.policy = policy, .round = round};
  name_stage(all->stage.name, all->method, policy, round);
  log_info("stage %s", all->stage.name);
  if (!(policy ? run_policy : run_reconstructor)(all, error)) return fail_in(error, "%s", all->stage.name);
  return note_stage(all, error);
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
  if (!run_stage(all, round, true, error) || !run_stage(all, round, false, error)) return false;
  if (!all->best.round || all->stage.best > all->best.score)
    all->best = (struct best_round){.round = round, .score = all->stage.best};
  all->best.rounds = round;
  return true;
}

static bool run_stages(struct stages *all, struct error *error) {
  all->reconstructor = start_checkpoint(all->options);
  if (!all->reconstructor && !run_stage(all, 0, false, error)) return false;
  if (!all->method->alternates) return run_stage(all, 1, true, error);
  while (!is_over(all))
    if (!run_round(all, error)) return false;
  return note_best(all, error);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static bool open_log(struct stages *all, struct error *error) {
  const char *folder = all->options->train.output;
  if (file_is_there(path_of(all, "", "last.h5")))
    return fail(error,
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
  name_stage(first, all->method, true, 1);
  bool begun = folder_is_there(path_of(all, "reconstructor", "")) || folder_is_there(path_of(all, first, ""));
  if (begun || fstat(fileno(all->log), &status) || status.st_size) return;
  unlink(path_of(all, "", "stages.jsonl"));
  if (all->made) rmdir(path_of(all, "", ""));
}

/* Before the reconstructor is trained. */
static bool check_options(const struct stages *all, struct error *error) {
  const struct method *method = all->method;
  uint32_t rounds = method->alternates ? all->options->alternate.rounds : 1;
  return method->grows ? method->grows->check(all->options, error)
                       : policy_training_check(method->policy, all->device, all->options, rounds, error);
}

static bool train_stages(struct stages *all, struct error *error) {
  bool good = check_options(all, error) && start_check(all->options, error) && open_log(all, error) && run_stages(all, error);
  if (!good && all->log) forget_stages(all);
  if (all->log) fclose(all->log);
  return good;
}

bool method_train(struct device *device, const struct options *options, const struct method_config *config,
                  struct error *error) {
  struct stages all = {.arena = arena_open(),
                       .device = device,
                       .options = options,
                       .method = method_of(options),
                       .config = config};
  struct augment augment;
  bool good =
      augment_read(&augment, options, error) && start_parameters_check(all.method, options, device, error);
  if (good) good = has_stages(all.method) ? train_stages(&all, error) : run_reconstructor(&all, error);
  device->stage = NULL;
  arena_close(all.arena);
  return good;
}
