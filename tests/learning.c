#include "tests/learning.h"

#include "systems/methods/fit.h"

void set_learning(struct learning_run *run, struct folder *folder, struct device *device, const char *output,
                  uint64_t rollouts) {
  *run = (struct learning_run){.folder = folder, .device = device, .arena = arena_open()};
  struct options *options = &run->options;
  option_defaults(&option_table, options, run->arena);
  options->data.path = support_path(folder, "data");
  options->data.size = option_square(N);
  options->acquisition.initial_lines = 3;
  options->network.channels = 4;
  options->network.pools = options->policy.pools = 2;
  options->policy.channels = 2;
  options->policy.hidden = 16;
  options->policy.batch = 16;
  options->reward.scale = 100;
  options->learn.scans = SCANS;
  options->learn.validations = 3;
  options->learn.log_every = 1;
  options->learn.rate = 0.001;
  run->config = (struct training_config){.task = &task_policy,
                                        .folder = output ? support_path(folder, output) : NULL,
                                        .reconstructor = support_path(folder, "unet/best.h5"),
                                        .steps = ROWS * rollouts - 1,
                                        .kernel_folder = ""};
}

static bool try_open(struct learning_run *run, struct error *error) {
  return training_open(&run->training, run->device, &run->options, &run->config, error);
}

void open_learning(struct learning_run *run) {
  struct error error;
  assert_good(try_open(run, &error), &error);
}

void refuse_learning(struct learning_run *run, const char *part) {
  struct error error;
  assert_false(try_open(run, &error));
  assert_holds(error.text, part);
}

void run_learning(struct learning_run *run) {
  struct error error;
  assert_good(trainer_run(&run->training, &error), &error);
}

void close_learning(struct learning_run *run) {
  training_close(&run->training);
  arena_close(run->arena);
}

void train_unet(struct learning_run *run, const char *output) {
  struct training training;
  struct training_config config = {.task = &task_reconstructor, .folder = support_path(run->folder, output), .kernel_folder = ""};
  struct error error;
  run->options.train.output = config.folder;
  assert_good(training_open(&training, run->device, &run->options, &config, &error), &error);
  assert_good(trainer_run(&training, &error), &error);
  training_close(&training);
  arena_close(run->arena);
}
