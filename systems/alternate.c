#include "systems/alternate.h"

#include "engine/log.h"

#include <math.h>
#include <stdlib.h>

struct alternation {
  struct arena *arena;
  struct device *device;
  const struct options *options;
  const struct alternate_wish *wish;
  const char *reconstructor, *policy; /* checkpoints of the last stages; NULL: none yet */
  FILE *log;                          /* into `lines`: what stages.jsonl is to hold */
  char *lines;
  size_t bytes;
  int noted, before; /* lines; in the file of the training that goes on */
};

static const char *path_of(const struct alternation *all, const char *stage, const char *file) {
  return arena_text(all->arena, "%s/%s%s%s", all->options->train.output, stage, *file ? "/" : "", file);
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
  bool good = training_run(&training, &own, error);
  if (good) {
    stage->score = training.epoch_value[EPOCH_VAL_SSIM][training.epoch - 1];
    stage->best = training.epoch_value[EPOCH_VAL_SSIM][training.best_epoch - 1];
  }
  training_close(&training);
  all->reconstructor = path_of(all, stage->name, "best.h5");
  return good;
}

/* ---- a policy ------------------------------------------------------------------------------------------ */

/* What alternate.* says of the rounds after the first. A rate of its own starts in the second. */
static void set_policy_round(struct options *options, uint32_t round) {
  double own = options->alternate.policy_rate;
  bool starts_later = round > 1 && own > 0;
  if (starts_later) options->learn.rate = own;
  options->learn.rate /= pow(options->alternate.policy_divisor, round - (starts_later ? 2.0 : 1.0));
  if (round > 1 && options->alternate.entropy >= 0) options->learn.entropy = options->alternate.entropy;
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
  bool good = learn_run(&learning, &own, error);
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
  stage->score = stage->best = pgmri.score;
  pgmri_close(&pgmri);
  return good;
}

/* ---- stages -------------------------------------------------------------------------------------------- */

/* Written beside, and in place only when it is no shorter than before: a stage that refuses to go on leaves
 * the file as it was. */
static bool write_stages(const struct alternation *all, struct error *error) {
  struct text_file file;
  if (all->noted < all->before) return true;
  if (!file_create(&file, path_of(all, "stages.jsonl", ""), error)) return false;
  fwrite(all->lines, 1, all->bytes, file.file);
  return file_commit(&file, error);
}

static bool note_stage(struct alternation *all, const struct stage *stage, struct error *error) {
  fprintf(all->log, "{\"kind\":\"stage\",\"stage\":\"%s\",\"round\":%u,\"validation\":", stage->name,
          stage->round);
  json_number(all->log, stage->score);
  fprintf(all->log, ",\"best\":");
  json_number(all->log, stage->best);
  fprintf(all->log, "}\n");
  if (fflush(all->log)) return fail(error, "no host memory for the log of the stages");
  all->noted++;
  if (!write_stages(all, error)) return false;
  if (all->wish->see_stage) all->wish->see_stage(stage, all->wish->context);
  return true;
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
  struct acquisition acquisition;
  return acquisition_only(&acquisition, all->options, all->arena, error) &&
         (all->options->train.method == METHOD_PGMRI ? pgmri_check : net_policy_check)(all->options, error);
}

static int count_lines(const char *path) {
  FILE *file = fopen(path, "rb");
  int lines = 0;
  for (int c; file && (c = fgetc(file)) != EOF;) lines += c == '\n';
  if (file) fclose(file);
  return lines;
}

static bool open_log(struct alternation *all, struct error *error) {
  const char *path = path_of(all, "stages.jsonl", "");
  if (!folder_make(all->options->train.output, error)) return false;
  all->before = count_lines(path);
  if (!all->wish->resume && all->before)
    return fail(error,
                "%s holds a training (stages.jsonl); go on with --resume, or choose another train.output",
                all->options->train.output);
  all->log = open_memstream(&all->lines, &all->bytes);
  return all->log ? true : fail(error, "no host memory for the log of the stages");
}

bool alternate_run(struct device *device, const struct options *options, const struct alternate_wish *wish,
                   struct error *error) {
  struct alternation all = {.arena = arena_open(), .device = device, .options = options, .wish = wish};
  bool good = check_policy(&all, error) && open_log(&all, error) && run_stages(&all, error);
  if (all.log) fclose(all.log);
  free(all.lines);
  arena_close(all.arena);
  return good;
}
