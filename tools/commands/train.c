/* Trains what train.method names on the scene's training slices and keeps the best and the last. */
#include "engine/base/log.h"
#include "systems/methods/alternate.h"
#include "tools/commands/command.h"
#include "tools/draw/curves.h"

#include <math.h>

static void print_json(const struct training *training, void *context) {
  (void)context;
  training_log_epoch(training, stdout);
}

static void print_summary(const struct training *training) {
  const char *folder = training->options->train.output;
  if (!training->best_epoch) return;
  size_t best = training->best_epoch - 1;
  printf("%u epoch%s of %zu slice%s; best is epoch %u: validation loss %.5f, SSIM %.5f, PSNR %.3f dB\n",
         training->epoch, plural(training->epoch), training->train.slices, plural(training->train.slices),
         training->best_epoch, training->best, training->epoch_value[EPOCH_VAL_SSIM][best],
         training->epoch_value[EPOCH_VAL_PSNR][best]);
  printf("written: %s/best.h5, last.h5, log.h5, log.jsonl, " EVENTS_NAME ", curves.png\n", folder);
}

static bool train(struct call *call, struct device *device, struct error *error) {
  struct training training;
  bool json = call_flag(call, "json");
  struct training_wish wish = {.resume = call_flag(call, "resume"),
                               .see = json ? print_json : NULL,
                               .kernel_folder = call_flag(call, "kernels")};
  if (!training_open(&training, device, &call->options, &wish, error)) return false;
  bool good = training_run(&training, &wish, error) && curves_draw(&training, error);
  if (good && !json) print_summary(&training);
  training_close(&training);
  return good;
}

/* ---- policies ------------------------------------------------------------------------------------------ */

static void print_look(const struct learning *learning, void *context) {
  (void)context;
  learn_log_look(learning, stdout);
}

static void print_update(const struct pgmri *pgmri, void *context) {
  (void)context;
  pgmri_log_look(pgmri, stdout);
}

static void print_stage(const struct stage *stage, void *context) {
  const bool *json = context;
  if (*json)
    alternate_print_stage(stage, stdout);
  else
    printf(isnan(stage->best) ? "%-18s validation %.5f\n" : "%-18s validation %.5f, best %.5f\n", stage->name,
           stage->score, stage->best);
  fflush(stdout);
}

static bool alternate(struct call *call, struct device *device, struct error *error) {
  bool json = call_flag(call, "json");
  struct alternate_wish wish = {.resume = call_flag(call, "resume"),
                                .see_epoch = json ? print_json : NULL,
                                .see_look = json ? print_look : NULL,
                                .see_update = json ? print_update : NULL,
                                .see_stage = print_stage,
                                .draw_training = curves_draw,
                                .draw_learning = curves_draw_policy,
                                .context = &json,
                                .kernel_folder = call_flag(call, "kernels")};
  return alternate_run(device, &call->options, &wish, error);
}

static bool holds_training(struct call *call, const char *folder) {
  return file_is_there(arena_text(call->arena, "%s/last.h5", folder)) ||
         file_is_there(arena_text(call->arena, "%s/stages.jsonl", folder));
}

/* Scripts of a cluster give --resume from the first start on, so it is no error; a mistyped folder would look
 * the same. */
static void say_new(struct call *call) {
  const char *folder = call->options.train.output;
  if (!call_flag(call, "resume") || holds_training(call, folder)) return;
  log_warning("%s holds no training to resume: a new one starts there", folder);
}

static bool run(struct call *call, struct error *error) {
  if (!*call->options.train.output)
    return fail_usage(error, "train.output is empty; give --output DIR or set it in the scene");
  say_new(call);
  return call_on_device(call, alternate_takes(&call->options) ? alternate : train, error);
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    {"output", "DIR", "train.output", NULL},
    {"resume", NULL, NULL,
     "goes on with the training in DIR, as if it had never stopped; where there is none it warns and starts "
     "one, so that a script may always give it"},
    {"epochs", "N", "train.epochs", NULL},
    {"seed", "N", "world.seed", NULL},
    {"method", "NAME", "train.method", NULL},
    {"json", NULL, NULL, "prints one JSON object for every epoch, log line of a policy, and stage"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_train = {
    .name = "train",
    .operands = "SCENE",
    .doc = "trains a reconstructor, a policy (L2S, PG-MRI), both in turn (L2SR), or a mask (LOUPE) or a "
           "sampler of several steps (tau-step) with its reconstructor",
    .more = "It trains on the split train of data.path and validates on val. DIR gets last.h5 and "
            "best.h5, log.h5, log.jsonl, an event file for TensorBoard and, at the end, curves.png.\n"
            "The methods l2s, l2sr and pgmri have several stages, with such a folder for each: "
            "reconstructor, policy_1, reconstructor_1, ... evaluate and render take a reconstructor's "
            "best.h5 as --reconstructor and a policy's last.h5 as --policy.\n"
            "With loupe best.h5 holds the learned mask too: evaluate with --set sampler.mask=DIR/best.h5. "
            "With tau_step it holds the sampler too: evaluate with --set sampler.tau_step=DIR/best.h5.",
    .takes_scene = true,
    .flags = flags,
    .run = run,
};
