/* Trains a reconstructor on the scene's training slices and keeps the best and the last. */
#include "systems/train.h"
#include "tools/command.h"
#include "tools/curves.h"

static void print_json(const struct training *training, void *context) {
  (void)context;
  training_log_epoch(training, stdout);
}

static void print_summary(const struct training *training) {
  const char *folder = training->options->train.output;
  if (!training->best_epoch) return;
  size_t best = training->best_epoch - 1;
  printf("%u epochs of %zu slices; best is epoch %u: validation loss %.5f, SSIM %.5f, PSNR %.3f dB\n",
         training->epoch, training->train.slices, training->best_epoch, training->best,
         training->epoch_value[EPOCH_VAL_SSIM][best], training->epoch_value[EPOCH_VAL_PSNR][best]);
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

static bool run(struct call *call, struct error *error) {
  if (!*call->options.train.output)
    return fail_usage(error, "train.output is empty; give --output DIR or set it in the scene");
  return call_on_device(call, train, error);
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    {"output", "DIR", "train.output", NULL},
    {"resume", NULL, NULL,
     "goes on from DIR/last.h5, as if it had never stopped; from the start if there is none"},
    {"epochs", "N", "train.epochs", NULL},
    {"seed", "N", "world.seed", NULL},
    {"json", NULL, NULL, "prints one JSON object an epoch"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_train = {
    .name = "train",
    .operands = "SCENE",
    .doc = "trains a reconstructor and keeps the best by validation",
    .more = "Trains on the split train of data.path and validates on val after every epoch. The folder gets\n"
            "last.h5 and best.h5 (for --reconstructor of evaluate and render), log.h5, log.jsonl, an event "
            "file for\n"
            "TensorBoard and, at the end, curves.png.",
    .takes_scene = true,
    .flags = flags,
    .run = run,
};
