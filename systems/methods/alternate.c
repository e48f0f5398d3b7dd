#include "systems/methods/alternate.h"

#include "engine/base/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct alternation {
  struct arena *arena;
  struct device *device;
  const struct options *options;
  const struct alternate_wish *wish;
  const char *reconstructor, *policy; /* checkpoints of the last stages; NULL: none yet */
  FILE *log;                          /* stages.jsonl; holds the folder */
  off_t noted;                        /* bytes of it that are of stages done */
};

static const char *path_of(const struct alternation *all, const char *stage, const char *file) {
  return arena_text(all->arena, "%s/%s%s%s", all->options->train.output, stage, *file ? "/" : "", file);
}

/* A stage is not changed under the next one, which was made from it. */
static bool check_next(const struct alternation *all, const char *next, const char *state,
                       struct error *error) {
  if (!file_is_there(path_of(all, next, "last.h5"))) return true;
  return fail(
      error,
      "%s, and %s was made from it as it is; set the steps or epochs back to what they were, or move %s "
      "and the stages after it away",
      state, path_of(all, next, ""), path_of(all, next, ""));
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
  options->train.early_stopping = 0;
}

static bool train_on(struct alternation *all, const struct stage *stage, struct training *training,
                     const struct training_wish *wish, struct error *error) {
  const char *next = arena_text(all->arena, "policy_%u", stage->round + 1);
  const char *state = arena_text(all->arena, "%u of %u epoch%s are done", training->epoch,
                                 training->options->train.epochs, plural(training->options->train.epochs));
  return (training_done(training) || check_next(all, next, state, error)) &&
         training_run(training, wish, error) &&
         (!all->wish->draw_training || all->wish->draw_training(training, error));
}

static bool run_reconstructor(struct alternation *all, struct stage *stage, struct error *error) {
  const struct alternate_wish *wish = all->wish;
  struct options options = *all->options;
  struct training training;
  struct training_wish own = {.resume = wish->resume,
                              .see = wish->see_epoch,
                              .context = wish->context,
                              .kernel_folder = wish->kernel_folder};
  if (stage->round) {
    set_round(&options, stage->round);
    own.start = all->reconstructor;
    own.policy = all->policy;
    own.drawn = options.alternate.actions == ACTIONS_DRAWN;
  }
  options.train.output = path_of(all, stage->name, "");
  if (!training_open(&training, all->device, &options, &own, error)) return false;
  bool good = train_on(all, stage, &training, &own, error);
  if (good) {
    stage->score = training.epoch_value[EPOCH_VAL_SSIM][training.epoch - 1];
    stage->best = training.epoch_value[EPOCH_VAL_SSIM][training.best_epoch - 1];
  }
  training_close(&training);
  all->reconstructor = path_of(all, stage->name, "best.h5");
  return good;
}

/* ---- a policy ------------------------------------------------------------------------------------------ */

/* What alternate.* says of the rounds after the first. */
static void set_policy_round(struct options *options, uint32_t round) {
  if (round > 1 && options->alternate.policy_rate > 0) options->learn.rate = options->alternate.policy_rate;
  options->learn.rate /= pow(options->alternate.policy_divisor, round - 1.0);
  if (round > 1 && options->alternate.entropy >= 0) options->learn.entropy = options->alternate.entropy;
}

static bool learn_on(struct alternation *all, const struct stage *stage, struct learning *learning,
                     const struct learn_wish *wish, struct error *error) {
  const char *next = arena_text(all->arena, "reconstructor_%u", stage->round);
  const char *state =
      arena_text(all->arena, "%llu of %llu roll-out%s are done", (unsigned long long)learning->rollouts,
                 (unsigned long long)learning->wanted, plural(learning->wanted));
  return (learning->rollouts == learning->wanted || check_next(all, next, state, error)) &&
         learn_run(learning, wish, error) &&
         (!all->wish->draw_learning || all->wish->draw_learning(learning, error));
}

static bool run_policy(struct alternation *all, struct stage *stage, struct error *error) {
  const struct alternate_wish *wish = all->wish;
  struct options options = *all->options;
  struct learning learning;
  bool first = stage->round == 1;
  set_policy_round(&options, stage->round);
  struct learn_wish own = {.folder = path_of(all, stage->name, ""),
                           .reconstructor = all->reconstructor,
                           .policy = all->policy,
                           .steps = first ? options.learn.steps : options.alternate.steps,
                           .round = stage->round - 1,
                           .resume = wish->resume,
                           .see = wish->see_look,
                           .context = wish->context,
                           .kernel_folder = wish->kernel_folder};
  if (!learn_open(&learning, all->device, &options, &own, error)) return false;
  bool good = learn_on(all, stage, &learning, &own, error);
  if (good) {
    stage->score = learning.score[learning.validations - 1];
    stage->best = learning.best;
  }
  learn_close(&learning);
  all->policy = path_of(all, stage->name, "last.h5");
  return good;
}

static bool run_pgmri(struct alternation *all, struct stage *stage, struct error *error) {
  const struct alternate_wish *wish = all->wish;
  struct pgmri pgmri;
  struct pgmri_wish own = {.folder = path_of(all, stage->name, ""),
                           .reconstructor = all->reconstructor,
                           .resume = wish->resume,
                           .see = wish->see_update,
                           .context = wish->context,
                           .kernel_folder = wish->kernel_folder};
  if (!pgmri_open(&pgmri, all->device, all->options, &own, error)) return false;
  bool good = pgmri_run(&pgmri, &own, error);
  stage->score = pgmri.score;
  stage->best = NAN; /* nothing is selected by validation */
  pgmri_close(&pgmri);
  return good;
}

/* ---- stages -------------------------------------------------------------------------------------------- */

/* What stands in stages.jsonl already stays: a stage that refuses to go on leaves the file as it was. */
static bool write_line(struct alternation *all, const char *line, size_t bytes, struct error *error) {
  int file = fileno(all->log);
  char *before = arena_new(all->arena, bytes);
  bool same = pread(file, before, bytes, all->noted) == (ssize_t)bytes && !memcmp(before, line, bytes);
  if (!same && (ftruncate(file, all->noted) || fwrite(line, 1, bytes, all->log) != bytes || fflush(all->log)))
    return fail(error, "cannot write %s: %s", path_of(all, "stages.jsonl", ""), strerror(errno));
  all->noted += (off_t)bytes;
  return true;
}

void alternate_print_stage(const struct stage *stage, FILE *file) {
  fprintf(file, "{\"kind\":\"stage\",\"stage\":\"%s\",\"round\":%u,\"validation\":", stage->name,
          stage->round);
  json_number(file, stage->score);
  fprintf(file, ",\"best\":");
  json_number(file, stage->best);
  fprintf(file, "}\n");
}

static bool note_stage(struct alternation *all, const struct stage *stage, struct error *error) {
  char *line = NULL;
  size_t bytes = 0;
  FILE *text = open_memstream(&line, &bytes);
  if (!text) return fail_memory(error, "no host memory for the log of the stages");
  alternate_print_stage(stage, text);
  fclose(text);
  bool good = write_line(all, line, bytes, error);
  free(line);
  if (good && all->wish->see_stage) all->wish->see_stage(stage, all->wish->context);
  return good;
}

static bool run_stage(struct alternation *all, uint32_t round, bool policy, struct error *error) {
  struct stage stage = {.policy = policy, .round = round};
  const char *what = policy ? "policy" : "reconstructor";
  if (round)
    snprintf(stage.name, sizeof stage.name, "%s_%u", what, round);
  else
    snprintf(stage.name, sizeof stage.name, "%s", what);
  bool pgmri = all->options->train.method == METHOD_PGMRI;
  log_info("stage %s", stage.name);
  if (!(!policy ? run_reconstructor : pgmri ? run_pgmri : run_policy)(all, &stage, error))
    return fail_in(error, "%s", stage.name);
  return note_stage(all, &stage, error);
}

static bool run_stages(struct alternation *all, struct error *error) {
  const struct options *options = all->options;
  bool turns = options->train.method == METHOD_L2SR;
  all->reconstructor = *options->learn.reconstructor ? options->learn.reconstructor : NULL;
  if (!all->reconstructor && !run_stage(all, 0, false, error)) return false;
  for (uint32_t round = 1; round <= (turns ? options->alternate.rounds : 1); round++)
    if (!run_stage(all, round, true, error) || (turns && !run_stage(all, round, false, error))) return false;
  return true;
}

/* What a policy would refuse is refused before the reconstructor is trained. */
static bool check_policy(const struct alternation *all, struct error *error) {
  const struct options *options = all->options;
  bool turns = options->train.method == METHOD_L2SR;
  if (options->train.method == METHOD_PGMRI) {
    struct acquisition acquisition;
    return acquisition_only(&acquisition, options, all->arena, error) && pgmri_check(all->device, options, error);
  }
  return learn_check(all->device, options, turns ? options->alternate.rounds : 1, error);
}

static bool open_log(struct alternation *all, struct error *error) {
  const char *folder = all->options->train.output;
  if (file_is_there(path_of(all, "last.h5", "")))
    return fail(error,
                "%s holds the training of one network (last.h5), train.method l2s, l2sr or pgmri makes a folder "
                "of stages; choose another train.output",
                folder);
  if (!run_hold(&all->log, folder, path_of(all, "stages.jsonl", ""), error)) return false;
  if (all->wish->resume || (fseek(all->log, 0, SEEK_END) == 0 && ftell(all->log) == 0)) return true;
  return fail(error,
              "%s holds a training (stages.jsonl); go on with --resume, or choose another train.output",
              folder);
}

/* Where not even the first stage has begun, the folder is as it was. */
static void forget_stages(const struct alternation *all) {
  bool begun = folder_is_there(path_of(all, "reconstructor", "")) || folder_is_there(path_of(all, "policy_1", ""));
  if (!begun && !ftell(all->log)) unlink(path_of(all, "stages.jsonl", ""));
}

bool alternate_takes(const struct options *options) {
  enum train_method method = (enum train_method)options->train.method;
  return method == METHOD_L2S || method == METHOD_L2SR || method == METHOD_PGMRI;
}

bool alternate_run(struct device *device, const struct options *options, const struct alternate_wish *wish,
                   struct error *error) {
  struct alternation all = {.arena = arena_open(), .device = device, .options = options, .wish = wish};
  bool good = check_policy(&all, error) && open_log(&all, error) && run_stages(&all, error);
  if (!good && all.log) forget_stages(&all);
  if (all.log) fclose(all.log);
  arena_close(all.arena);
  return good;
}
