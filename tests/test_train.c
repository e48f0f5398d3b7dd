/* Training: masks, the update against one made by hand, micro-batches, going on, and what is refused. */
#include "systems/data/phantom.h"
#include "systems/networks/net_unet.h"
#include "tests/training.h"

#include <hdf5.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static void set_options(struct run *run, const char *output) {
  set_training(run, METHOD_RECONSTRUCTOR, output);
}

/* A value of the validation after an epoch, from 1. */
static double value_after(const struct run *run, size_t value, uint64_t epoch) {
  return run->training.validations.value[value][epoch - 1];
}

static float *read_parameters(struct run *run) {
  const struct graph *graph = run->training.reconstructor.graph;
  return read_floats(run->arena, graph->values, graph->elements);
}

/* ---- masks --------------------------------------------------------------------------------------------- */

/* PROTOCOL 1.10: R_dense for x4 at 128 lines. */
static void mixtures_are_the_published_ones(void **state) {
  static const struct {
    uint32_t lines;
    double chance;
  } expected[] = {{32, 0}, {21, 0.1028}, {16, 0.1429}, {21, 0.0031}, {16, 0.0476}, {16, 0}};
  struct run run;
  struct split split = {0};
  struct minibatches batches = {.split = &split};
  struct error error;
  (void)state;
  set_options(&run, NULL);
  split.options = run.options;
  split.options.data.size = option_square(128);
  split.options.train.accelerations = "4,4,4,6,6,8";
  split.options.train.initial_accelerations = "4,6,8,6,8,8";
  assert_good(minibatch_pairs(&batches, &error), &error);
  assert_int_equal(batches.pairs, 6);
  for (size_t p = 0; p < 6; p++) {
    assert_int_equal(batches.pair[p].initial_lines, expected[p].lines);
    assert_true(fabs(minibatch_chance(&batches.pair[p]) - expected[p].chance) < 1e-4);
    assert_int_equal(batches.pair[p].initial_lines + batches.pair[p].budget, 128 / batches.pair[p].acceleration);
  }
  arena_close(run.arena);
}

static void read_masks(struct minibatches *batches, uint32_t epoch, uint8_t mask[SLICES][N]) {
  struct error error;
  assert_good(minibatch_epoch(batches, epoch, &error), &error);
  support_get(batches->split->simulation.world, EPOCH_mask, 0, SLICES, mask);
}

/* The central lines always, the others as often as their chance says: within 4.5 deviations. */
static void masks_by_chance_have_their_expectation(void **state) {
  enum { EPOCHS = 100 };
  struct run run;
  unsigned seen[N] = {0};
  double chance = (N / 4.0 - 4) / (N - 4), scans = EPOCHS * SLICES;
  (void)state;
  set_options(&run, NULL);
  open_run(&run, false);
  for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
    uint8_t mask[SLICES][N];
    read_masks(&fitting_of(&run.training)->train, epoch, mask);
    for (int s = 0; s < SLICES; s++)
      for (int line = 0; line < N; line++) seen[line] += mask[s][line];
  }
  for (int line = 0; line < N; line++) {
    if (line >= 14 && line < 18)
      assert_int_equal(seen[line], EPOCHS * SLICES);
    else
      assert_true(fabs(seen[line] - chance * scans) < 4.5 * sqrt(scans * chance * (1 - chance)));
  }
  close_run(&run);
}

static void masks_are_fresh_in_training_and_fixed_in_validation(void **state) {
  struct run run;
  uint8_t mask[2][SLICES][N];
  uint32_t slice[2][SLICES];
  (void)state;
  set_options(&run, NULL);
  open_run(&run, false);
  struct minibatches *batches = &fitting_of(&run.training)->train;
  for (uint32_t epoch = 0; epoch < 2; epoch++) {
    read_masks(batches, epoch, mask[epoch]);
    support_get(batches->split->simulation.world, EPOCH_slice, 0, SLICES, slice[epoch]);
  }
  assert_memory_not_equal(mask[0], mask[1], sizeof mask[0]);
  assert_memory_not_equal(slice[0], slice[1], sizeof slice[0]);
  unsigned all = 0;
  for (int i = 0; i < SLICES; i++) all |= 1u << slice[1][i];
  assert_int_equal(all, (1u << SLICES) - 1);
  batches = &fitting_of(&run.training)->validation;
  for (uint32_t epoch = 0; epoch < 2; epoch++) {
    struct error error;
    assert_good(minibatch_epoch(batches, epoch, &error), &error);
    support_get(batches->split->simulation.world, EPOCH_mask, 0, batches->slices, mask[epoch]);
  }
  assert_memory_equal(mask[0], mask[1], batches->slices * N);
  close_run(&run);
}

/* Each sample has the exact lines of one pair of the mixture, and both pairs occur. */
static void exact_masks_keep_their_budgets(void **state) {
  struct run run;
  uint8_t mask[SLICES][N];
  unsigned eight = 0, sixteen = 0;
  (void)state;
  set_options(&run, NULL);
  run.options.train.masks = MASKS_EXACT;
  run.options.train.sampler = "poisson_disc";
  run.options.train.accelerations = "4,2";
  run.options.train.initial_accelerations = "8,2";
  run.options.world.envs = 7;
  open_run(&run, false);
  read_masks(&fitting_of(&run.training)->train, 1, mask);
  for (int s = 0; s < SLICES; s++) {
    unsigned lines = 0;
    for (int line = 0; line < N; line++) lines += mask[s][line];
    eight += lines == 8;
    sixteen += lines == 16;
  }
  assert_int_equal(eight + sixteen, SLICES);
  assert_true(eight && sixteen);
  close_run(&run);
}

/* ---- an update ----------------------------------------------------------------------------------------- */

/* |IDFT(mask * DFT(row))| with the centre of k-space at line N/2, in double. */
static void zero_fill(const float *image, const uint8_t *mask, double *to) {
  for (int y = 0; y < N; y++)
    for (int x = 0; x < N; x++) {
      double re = 0, im = 0;
      for (int k = 0; k < N; k++)
        for (int j = 0; mask[k] && j < N; j++) {
          double angle = 2 * M_PI * (k - N / 2) * (x - j) / N;
          re += image[y * N + j] * cos(angle) / N;
          im += image[y * N + j] * sin(angle) / N;
        }
      to[y * N + x] = hypot(re, im);
    }
}

static void standardise(const double *image, float *to) {
  double sum = 0, square = 0;
  for (int i = 0; i < N * N; i++) sum += image[i];
  double mean = sum / (N * N);
  for (int i = 0; i < N * N; i++) square += (image[i] - mean) * (image[i] - mean);
  double std = sqrt(square / (N * N - 1));
  for (int i = 0; i < N * N; i++) to[i] = (float)fmin(fmax((image[i] - mean) / (std + 1e-11), -6), 6);
}

/* The network's input of the first BATCH samples of the running epoch, from images and masks alone. */
static float *make_input(struct run *run) {
  struct world *world = run->training.train.simulation.world;
  float *input = ARENA_NEW(run->arena, float, BATCH *N *N), image[N * N];
  uint32_t slice[BATCH];
  uint8_t mask[BATCH][N];
  double filled[N * N];
  support_get(world, EPOCH_slice, 0, BATCH, slice);
  support_get(world, EPOCH_mask, 0, BATCH, mask);
  for (int b = 0; b < BATCH; b++) {
    support_get(world, SLICE_image, slice[b], 1, image);
    zero_fill(image, mask[b], filled);
    standardise(filled, input + b * N * N);
  }
  return input;
}

/* Loss, gradient and step on that input, with a graph of its own; returns the parameters after it. */
static float *step_by_hand(struct run *run, const float *input) {
  struct graph *graph;
  struct loss loss;
  struct optimiser optimiser;
  struct optimiser_setup sgd = optimise_defaults(OPTIMISER_SGD, run->options.train.rate);
  struct kernels *kernels = run->training.train.simulation.kernels;
  struct graph_setup setup = {.device = &device, .kernels = kernels, .batch = BATCH, .train = true};
  struct error error;
  graph_open(&graph);
  tensor in = graph_input(graph, "input", 1, N, N), out = net_unet(graph, in, 4, 2);
  assert_good(graph_plan(graph, &setup, &error), &error);
  graph_start(graph, run->options.world.seed);
  graph_zero_gradients(graph);
  assert_good(loss_open(&loss, &device, kernels, LOSS_SSIM, N, N, BATCH, &error), &error);
  assert_good(optimise_open(&optimiser, graph, &sgd, &error), &error);
  device_write(&device, graph_value(graph, in), 0, sizeof(float) * BATCH * N * N, input);
  graph_forward(graph);
  const struct loss_target target = target_of(run);
  loss_run(&loss, &target, graph_value(graph, out), graph_gradient(graph, out), BATCH,
           1.0 / BATCH);
  graph_backward(graph);
  optimise_step(&optimiser);
  float *values = ARENA_NEW(run->arena, float, graph->elements);
  device_read(&device, graph->values, 0, sizeof(float) * graph->elements, values);
  optimise_close(&optimiser);
  loss_close(&loss);
  graph_close(graph);
  return values;
}

static void check_update(const char *augment) {
  struct run run;
  struct error error;
  set_options(&run, NULL);
  run.options.data.augment = augment;
  open_run(&run, false);
  size_t elements = run.training.reconstructor.graph->elements;
  const float *before = read_parameters(&run);
  assert_good(minibatch_epoch(&fitting_of(&run.training)->train, 0, &error), &error);
  fit_step(&run.training, 0, BATCH);
  const float *after = read_parameters(&run), *input = make_input(&run);
  const float *expected = step_by_hand(&run, input); /* the environments still hold the batch's slices */
  double moved = largest_difference(before, after, elements);
  assert_true(moved > 0);
  double off = largest_difference(after, expected, elements);
  if (off > 2e-3 * moved) fail_msg("parameters differ by %g of a step of %g", off, moved);
  close_run(&run);
}

/* Of moved slices too: k-space and target follow from them. */
static void an_update_equals_one_by_hand(void **state) {
  (void)state;
  check_update("");
  check_update("flips,shifts,turns");
}

/* Samples are the same, and the update but for rounding, whatever part of a batch is taken at once. */
static void micro_batches_change_nothing(void **state) {
  uint8_t mask[2][SLICES][N];
  float *after[2], *before = NULL;
  struct run run[2];
  size_t elements = 0;
  (void)state;
  for (int k = 0; k < 2; k++) {
    set_options(&run[k], NULL);
    if (k) run[k].options.network.batch = 2;
    open_run(&run[k], false);
    elements = run[k].training.reconstructor.graph->elements;
    assert_int_equal(run[k].training.reconstructor.batch, k ? 2 : BATCH);
    before = read_parameters(&run[k]);
    read_masks(&fitting_of(&run[k].training)->train, 0, mask[k]);
    fit_step(&run[k].training, BATCH, BATCH);
    after[k] = read_parameters(&run[k]);
  }
  assert_memory_equal(mask[0], mask[1], sizeof mask[0]);
  double moved = largest_difference(before, after[0], elements);
  assert_true(moved > 0 && largest_difference(after[0], after[1], elements) < 1e-3 * moved);
  for (int k = 0; k < 2; k++) close_run(&run[k]);
}

static void a_step_allocates_nothing(void **state) {
  struct run run;
  struct error error;
  (void)state;
  set_options(&run, NULL);
  run.options.train.clip = 1;
  open_run(&run, false);
  assert_good(minibatch_epoch(&fitting_of(&run.training)->train, 0, &error), &error);
  fit_step(&run.training, 0, BATCH);
  uint64_t allocations = device.allocations, bytes = device.bytes;
  for (int i = 0; i < 3; i++) fit_step(&run.training, 0, BATCH);
  assert_good(device_finish(&device, &error), &error);
  assert_int_equal(device.allocations, allocations);
  assert_int_equal(device.bytes, bytes);
  close_run(&run);
}

/* ---- epochs -------------------------------------------------------------------------------------------- */

static void the_loss_goes_down(void **state) {
  struct run run;
  (void)state;
  set_options(&run, NULL);
  run.options.train.optimiser = OPTIMISER_ADAM;
  run.options.train.rate = 0.01;
  run.options.train.epochs = 12;
  open_run(&run, false);
  run_epochs(&run);
  const double *loss = run.training.validations.value[EPOCH_LOSS];
  if (loss[11] > loss[0] - 0.2) fail_msg("the loss went from %g to %g", loss[0], loss[11]);
  assert_true(run.training.best <= value_after(&run, EPOCH_VAL_LOSS, 12));
  close_run(&run);
}

/* Minus the SSIM of the loss is the score that evaluate prints. */
static void the_validation_loss_is_the_score(void **state) {
  struct run run;
  (void)state;
  set_options(&run, NULL);
  run.options.train.epochs = 1;
  open_run(&run, false);
  run_epochs(&run);
  double loss = value_after(&run, EPOCH_VAL_LOSS, 1),
         ssim = value_after(&run, EPOCH_VAL_SSIM, 1);
  assert_true(fabs(loss + ssim) < 1e-5);
  close_run(&run);
}

static const struct graph *graph_of(const struct training *training) {
  return training->reconstructor.graph;
}

static void going_on_equals_never_stopping(void **state) {
  (void)state;
  check_going_on(set_options, graph_of);
}

static double rate_of(const struct options *options, uint64_t epoch) {
  const struct rate_schedule rates = fit_rates(options);
  return rate_at(&rates, 1, epoch);
}

static void rates_follow_the_schedule(void **state) {
  struct run run;
  (void)state;
  set_options(&run, NULL);
  run.options.train.rate = 1;
  run.options.train.rate_every = 2;
  assert_true(fabs(rate_of(&run.options, 1) - 1) < 1e-12);
  assert_true(fabs(rate_of(&run.options, 5) - 0.01) < 1e-12);
  run.options.train.schedule = SCHEDULE_MILESTONES;
  run.options.train.milestones = "3";
  assert_true(fabs(rate_of(&run.options, 2) - 1) < 1e-12);
  assert_true(fabs(rate_of(&run.options, 3) - 0.1) < 1e-12);
  arena_close(run.arena);
}

static void training_stops_early(void **state) {
  struct run run;
  (void)state;
  set_options(&run, NULL);
  run.options.train.rate = 0; /* no epoch is better than the first */
  run.options.train.epochs = 9;
  run.options.train.early_stopping = 2;
  open_run(&run, false);
  run_epochs(&run);
  assert_int_equal(fit_epoch(&run.training), 3);
  assert_int_equal(run.training.best_at / run.training.each, 1);
  close_run(&run);
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

static void scenes_are_refused(void **state) {
  struct run run;
  (void)state;
  set_options(&run, NULL);
  run.options.train.accelerations = "4,8";
  refuse_open(&run, false, "train.accelerations has 2 entries and train.initial_accelerations 1");
  run.options.train.initial_accelerations = "8,4";
  refuse_open(&run, false, "train.initial_accelerations has 4 for the acceleration 8");
  run.options.train.accelerations = "4,x";
  refuse_open(&run, false, "train.accelerations has 'x'");
  run.options.train.accelerations = run.options.train.initial_accelerations = "4";
  run.options.train.sampler = "randm";
  refuse_open(&run, false, "unknown sampler 'randm'");
  run.options.train.sampler = "random";
  run.options.train.milestones = "30,forty";
  refuse_open(&run, false, "train.milestones has 'forty'");
  run.options.train.milestones = "";
  run.options.network.precision = BLOCK_HALF;
  refuse_open(&run, false, "network.precision is half");
  run.options.data.path = support_path(&folder, "data/val");
  run.options.data.acquisition = "AXT2";
  refuse_open(&run, false, "training data: no usable slice");
  arena_close(run.arena);
}

/* Too little memory: for the slices, for one image; and enough for a part of a batch only. */
static void memory_is_refused_or_shared(void **state) {
  cl_ulong memory = device.facts.memory;
  struct run run;
  (void)state;
  set_options(&run, NULL);
  open_run(&run, false);
  cl_ulong taken = device.bytes, activations = run.training.reconstructor.graph->arena_bytes;
  training_close(&run.training);
  device.facts.memory = 50000;
  refuse_open(&run, false, "rows fit");
  device.facts.memory = taken - activations;
  refuse_open(&run, false, "MiB with 1 image a pass: unet ");
  device.facts.memory = taken - activations / 2;
  open_run(&run, false);
  device.facts.memory = memory;
  assert_in_range(run.training.reconstructor.batch, 1, BATCH - 1);
  close_run(&run);
}

static void a_loss_of_nan_stops(void **state) {
  struct run run;
  struct error error;
  (void)state;
  set_options(&run, "nan");
  run.options.train.epochs = 1;
  open_run(&run, false);
  run_epochs(&run);
  const float nan_value = NAN;
  run.options.train.epochs = 2;
  training_close(&run.training);
  open_run(&run, true);
  device_write(&device, run.training.reconstructor.graph->values, 0, sizeof nan_value, &nan_value);
  assert_false(trainer_run(&run.training, &error));
  assert_holds(error.text, "the loss of update 1 of epoch 2 (slices of its minibatch: file");
  assert_holds(error.text, "nan after 6 updates (6 steps of the optimiser); the last good checkpoint is");
  assert_holds(error.text, "nan/last.h5; lower train.rate or set train.clip and train anew");
  close_run(&run);
  set_options(&run, "nan");
  open_run(&run, true); /* it is still good */
  assert_int_equal(fit_epoch(&run.training), 1);
  close_run(&run);
}

/* One update an epoch, so large that only the validation after it sees what it did. */
static void a_validation_loss_of_nan_stops(void **state) {
  struct run run;
  struct error error;
  (void)state;
  set_options(&run, "diverged");
  run.options.train.batch = SLICES;
  run.options.train.epochs = 1;
  open_run(&run, false);
  run_epochs(&run);
  run.options.train.epochs = 2;
  training_close(&run.training);
  open_run(&run, true);
  ((struct options *)run.training.options)->train.rate = 1e38; /* it would be refused before */
  assert_false(trainer_run(&run.training, &error));
  assert_holds(error.text, "the validation loss is ");
  assert_int_equal(error.code, ERROR_DIVERGED);
  assert_holds(error.text, " after 2 updates (2 steps of the optimiser); the last good checkpoint is ");
  assert_holds(error.text, "diverged/last.h5; lower train.rate or set train.clip and train anew");
  close_run(&run);
  set_options(&run, "diverged");
  run.options.train.batch = SLICES;
  open_run(&run, true); /* it is still good */
  assert_int_equal(fit_epoch(&run.training), 1);
  close_run(&run);
}

/* Leaves the folder, and the options. */
static void train_one_epoch(struct run *run, const char *output) {
  set_options(run, output);
  run->options.train.epochs = 1;
  open_run(run, false);
  run_epochs(run);
  training_close(&run->training);
}

static void checkpoints_are_refused(void **state) {
  struct run run;
  (void)state;
  train_one_epoch(&run, "kept");
  refuse_open(&run, false, "holds a training (last.h5); go on with --resume");
  run.options.network.channels = 6;
  refuse_open(&run, true, "network.channels was 4 and is 6 now");
  run.options.network.channels = 4;
  run.options.world.seed = 7;
  refuse_open(&run, true, "world.seed was 42 and is 7 now");
  run.options.world.seed = 42;
  run.options.data.path = support_path(&folder, "data/train");
  refuse_open(&run, true, "it is of other data");
  run.options.data.path = support_path(&folder, "data");
  support_write_text(support_path(&folder, "kept/last.h5"), "no HDF5");
  refuse_open(&run, true, "has no HDF5 signature");
  arena_close(run.arena);
}

/* The volume has the name of the one for validation, and more slices. */
static void other_validation_data_are_refused(void **state) {
  struct run run;
  struct error error;
  struct options options;
  (void)state;
  train_one_epoch(&run, "validation");
  option_defaults(&option_table, &options, folder.arena);
  support_set_phantoms(&options, N, 4);
  assert_good(phantom_write(&options, support_path(&folder, "other"), &error), &error);
  options.phantom.slices = 5;
  assert_good(phantom_write(&options, support_path(&folder, "longer"), &error), &error);
  const char *path = support_path(&folder, "other/val");
  assert_int_equal(rename(path, support_path(&folder, "other/kept")), 0);
  assert_int_equal(rename(support_path(&folder, "longer/val"), path), 0);
  run.options.data.path = support_path(&folder, "other");
  refuse_open(&run, true, "it is of other data: validation files ");
  refuse_open(&run, true, " (4 slices), now ");
  arena_close(run.arena);
}

static void one_training_a_folder(void **state) {
  struct run run, second;
  (void)state;
  set_options(&run, "one");
  set_options(&second, "one");
  open_run(&run, false);
  refuse_open(&second, false, "one is in use: another training holds ");
  refuse_open(&second, true, "log.jsonl; wait for its end, or choose another train.output");
  training_close(&run.training);
  open_run(&second, true);
  close_run(&second);
  arena_close(run.arena);
}

/* Overwrites a number of a file: an attribute of the root, or with `dataset` all values of a data set. */
static void damage(const char *path, const char *name, bool dataset, double value) {
  double values[4096];
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) values[i] = value;
  support_forget_sums(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t place = dataset ? H5Dopen2(file, name, H5P_DEFAULT) : H5Aopen(file, name, H5P_DEFAULT);
  herr_t code = dataset ? H5Dwrite(place, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values)
                        : H5Awrite(place, H5T_NATIVE_DOUBLE, values);
  if (code < 0) fail_msg("cannot change %s of %s", name, path);
  if (dataset)
    H5Dclose(place);
  else
    H5Aclose(place);
  H5Fclose(file);
}

/* Takes an attribute away; text: puts this in its place. */
static void take_attribute(const char *path, const char *name, const char *text) {
  support_forget_sums(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(H5Adelete(file, name) >= 0);
  if (text) {
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  }
  H5Fclose(file);
}

/* Returns the path of a checkpoint after one of four epochs. */
static const char *train_damaged(struct run *run) {
  static int number;
  char name[32];
  snprintf(name, sizeof name, "damaged%d", number++);
  set_options(run, name);
  run->options.train.optimiser = OPTIMISER_ADAM;
  run->options.train.epochs = 1;
  open_run(run, false);
  run_epochs(run);
  training_close(&run->training);
  run->options.train.epochs = 4;
  return support_path(&folder, arena_text(folder.arena, "%s/last.h5", name));
}

/* A checkpoint with one number changed. */
static void damaged_checkpoints_are_refused(void **state) {
  static const struct {
    const char *name;
    bool dataset;
    double value;
    const char *text;
  } cases[] = {
      {"updates", false, 1.5, "it has updates 1.5; expected a whole number"},
      {"updates", false, 1e16, "it has updates 1e+16; expected a number from 0 to 1e+15"},
      {"updates", false, -1, "the file is damaged, start anew in another train.output"},
      {"updates", false, NAN, "it has updates nan"},
      {"updates", false, 13, "it has 13 updates, and 12 are wanted; raise train.epochs"},
      {"updates", false, 4, "it has 4 updates; it must be whole epochs of 3"},
      {"best_at", false, 4, "it has best_at 4; expected a number from 0 to 3:"},
      {"best_at", false, 0, "at best_at 0, which is none of the validations in its log"},
      {"best", false, NAN, "it has best nan; expected a number from"},
      {"best", false, -INFINITY, "it has best -inf"},
      {"best", false, -1, "it has best -1 at best_at 3, which is none of the validations in its log"},
      {"optimiser_step", false, NAN, "it has optimiser_step nan"},
      {"optimiser_step", false, -3, "it has optimiser_step -3; expected a number from 0 to 1e+15"},
      {"optimiser_step", false, 1e300, "it has optimiser_step 1e+300"},
      {"optimiser_step", false, 2.5, "it has optimiser_step 2.5; expected a whole number"},
      {"optimiser_step", false, 4, "it has optimiser_step 4 and updates 3, which must be equal"},
      {"optimiser_rate", false, -INFINITY, "it has optimiser_rate -inf"},
      {"optimiser_rate", false, 1e10, "it has optimiser_rate 1e+10; expected a number from 0 to 1e+09"},
      {"log/epoch/loss", true, NAN, "log/epoch/loss holds nan at entry 0"},
      {"log/update/gradient_norm", true, INFINITY, "log/update/gradient_norm holds inf at entry 0"},
      {"optimiser/second/conv2.2.bias", true, -1, "optimiser/second/conv2.2.bias holds -1 at element 0"},
      {"optimiser/second/conv2.2.bias", true, 3e38, "optimiser/second/conv2.2.bias holds 3e+38 at element 0"},
      {"param/conv2.2.bias", true, 3e38, "param/conv2.2.bias holds 3e+38 at element 0"},
      {"log_bytes", false, -1, "it has log_bytes -1"},
      {"events_bytes", false, NAN, "it has events_bytes nan"},
      {"param/conv2.2.bias", true, NAN, "param/conv2.2.bias holds nan at element 0"},
      {"param/conv.layers.0.weight", true, INFINITY, "a checkpoint's numbers are finite"},
  };
  struct run run;
  size_t bytes;
  (void)state;
  const char *path = train_damaged(&run);
  const void *good = support_read(folder.arena, path, &bytes);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    support_write(path, good, bytes);
    damage(path, cases[i].name, cases[i].dataset, cases[i].value);
    refuse_open(&run, true, cases[i].text);
  }
  arena_close(run.arena);
}

/* Flips one bit of a dataset's numbers where they lie in the file. */
static void flip_bit(const char *path, const char *name) {
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, name, H5P_DEFAULT);
  haddr_t place = H5Dget_offset(dataset);
  size_t bytes;
  assert_true(place != HADDR_UNDEF);
  H5Dclose(dataset);
  H5Fclose(file);
  unsigned char *data = support_read(folder.arena, path, &bytes);
  data[place] ^= 1;
  support_write(path, data, bytes);
}

/* Values that differ by a rounding are as good as any: only a checksum tells. */
static void checkpoints_of_a_changed_bit_are_refused(void **state) {
  static const char *const names[] = {"param/conv2.2.bias", "optimiser/first/conv2.2.bias", "log/epoch/loss"};
  struct run run;
  size_t bytes;
  (void)state;
  const char *path = train_damaged(&run);
  const void *good = support_read(folder.arena, path, &bytes);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    support_write(path, good, bytes);
    flip_bit(path, names[i]);
    refuse_open(&run, true, arena_text(run.arena, "%s in %s is damaged: its checksum is f", names[i], path));
  }
  support_write(path, good, bytes);
  open_run(&run, true);
  training_close(&run.training);
  arena_close(run.arena);
}

/* Where the weights fit: what is said of the network must be true all the same. */
static void damaged_facts_are_refused(void **state) {
  static const struct {
    const char *name, *expected;
  } facts[] = {{"network_channels", "4"}, {"network_pools", "2"}, {"network_size", "32"}};
  struct run run;
  size_t bytes;
  (void)state;
  const char *path = train_damaged(&run);
  const void *good = support_read(folder.arena, path, &bytes);
  for (size_t i = 0; i < 4 * sizeof facts / sizeof *facts; i++) {
    const char *name = facts[i / 4].name, *expected = facts[i / 4].expected;
    support_write(path, good, bytes);
    if (i % 4 < 2)
      damage(path, name, false, i % 4 ? -4 : NAN);
    else
      take_attribute(path, name, i % 4 == 2 ? "four" : NULL);
    refuse_open(&run, true,
                arena_text(run.arena, "its attribute %s is %s; expected %s: the file is damaged", name,
                           i % 4 == 0   ? "nan"
                           : i % 4 == 1 ? "-4"
                                        : "missing or no number",
                           expected));
  }
  arena_close(run.arena);
}

/* Written again where last.h5 is the best so far, else missed. */
static void a_best_checkpoint_that_went_is_noticed(void **state) {
  struct run run;
  struct error error;
  (void)state;
  train_one_epoch(&run, "went");
  const char *best = support_path(&folder, "went/best.h5");
  assert_int_equal(unlink(best), 0);
  open_run(&run, true);
  assert_true(file_is_there(best));
  training_close(&run.training);
  run.options.train.epochs = 2;
  open_run(&run, true);
  run_epochs(&run);
  run.training.best_at = run.training.each; /* as where the second epoch was the worse one */
  run.training.best = value_after(&run, EPOCH_VAL_LOSS, 1);
  assert_good(trainer_save(&run.training, "last.h5", &error), &error);
  training_close(&run.training);
  assert_int_equal(unlink(best), 0);
  run.options.train.epochs = 3;
  refuse_open(&run, true, "went/best.h5, the best so far, is not there: bring it back, or start anew in");
  arena_close(run.arena);
}

static size_t whole_lines(const unsigned char *data, size_t bytes) {
  while (bytes && data[bytes - 1] != '\n') bytes--;
  return bytes;
}

/* Each of a length, its checksum, so many bytes and their checksum. */
static size_t whole_records(const unsigned char *data, size_t bytes) {
  size_t end = 0;
  for (uint64_t size; bytes - end >= 16; end += 16 + size) {
    memcpy(&size, data + end, 8);
    if (size > bytes - end - 16) break;
  }
  return end;
}

/* Lines and records are whole after it, and those that are left stay. */
static void logs_that_were_cut_go_on(void **state) {
  static const struct {
    const char *name;
    size_t left; /* bytes */
  } cases[] = {{"log.jsonl", 0}, {"log.jsonl", 5}, {"log.jsonl", 0}, {EVENTS_NAME, 41}, {EVENTS_NAME, 100}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct run run;
    char name[32];
    size_t bytes;
    snprintf(name, sizeof name, "cut%zu", i);
    set_options(&run, name);
    run.options.train.epochs = 2;
    run.options.train.log_every = 1;
    open_run(&run, false);
    run_epochs(&run);
    training_close(&run.training);
    const char *path = support_path(&folder, arena_text(folder.arena, "%s/%s", name, cases[i].name));
    const unsigned char *data = support_read(folder.arena, path, &bytes);
    size_t left = i == 2 ? bytes - 10 : cases[i].left;
    assert_int_equal(truncate(path, (off_t)left), 0);
    size_t whole = i < 3 ? whole_lines(data, left) : whole_records(data, left);
    open_run(&run, true);
    close_run(&run);
    const unsigned char *after = support_read(folder.arena, path, &bytes);
    assert_memory_equal(after, data, whole);
    assert_int_equal(bytes, whole);
  }
}

/* It keeps the lines that it has, and has room for those to come. */
static void a_log_goes_on_less_often(void **state) {
  struct run run;
  (void)state;
  set_options(&run, "seldom");
  run.options.train.batch = run.options.train.log_every = run.options.train.epochs = 1;
  open_run(&run, false);
  run_epochs(&run);
  size_t logged = run.training.logged.count;
  assert_int_equal(logged, fitting_of(&run.training)->train.slices);
  training_close(&run.training);
  run.options.train.log_every = 1000;
  run.options.train.epochs = 4;
  open_run(&run, true);
  run_epochs(&run);
  assert_int_equal(run.training.logged.count, logged + 3);
  close_run(&run);
}

/* Takes the line that begins with `key` out of the scene that the checkpoint holds. */
static void forget_key(const char *path, const char *key) {
  static char scene[1 << 16];
  struct store *store;
  struct error error;
  assert_good(store_open(&store, path, &error), &error);
  assert_true(store_text(store, "scene", scene, sizeof scene));
  store_close(store);
  char *line = strstr(scene, key), *next = strchr(line, '\n') + 1;
  memmove(line, next, strlen(next) + 1);
  support_forget_sums(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, strlen(scene) + 1);
  H5Adelete(file, "scene");
  hid_t attribute = H5Acreate2(file, "scene", type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, type, scene) >= 0);
  H5Aclose(attribute), H5Sclose(space), H5Tclose(type), H5Fclose(file);
}

/* Lists and texts too, which a scene writes in brackets and quotes. */
static void a_key_that_is_newer_than_the_checkpoint_had_its_default(void **state) {
  static const char *const keys[] = {"  milestones:", "  mask:", "  polynomial_power:"};
  struct run run;
  (void)state;
  set_options(&run, "older");
  run.options.train.epochs = 1;
  open_run(&run, false);
  run_epochs(&run);
  training_close(&run.training);
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
    forget_key(support_path(&folder, "older/last.h5"), keys[k]);
  open_run(&run, true);
  close_run(&run);
}

/* Before anything of the network is allocated, but for the values of its parameters. */
static void refuse_network(const struct run *run, const char *path, const char *part) {
  struct reconstructor_setup setup = {
      .device = &device, .kernels = run->training.train.simulation.kernels, .shape = {N, N, N}, .batch = 1};
  struct reconstructor reconstructor;
  struct error error;
  uint64_t allocations = device.allocations;
  assert_false(reconstructor_load(&reconstructor, path, &setup, &error));
  assert_holds(error.text, part);
  if (!strstr(part, "element")) assert_int_equal(device.allocations, allocations);
}

static void damaged_networks_are_refused(void **state) {
  struct run run;
  (void)state;
  set_options(&run, "sizes");
  run.options.train.epochs = 1;
  open_run(&run, false);
  run_epochs(&run);
  const char *path = support_path(&folder, "sizes/best.h5");
  damage(path, "network_pools", false, 1.5);
  refuse_network(&run, path, "its attribute network_pools is 1.5; expected a whole number from 1 to 12: the file is damaged");
  damage(path, "network_pools", false, 13);
  refuse_network(&run, path, "its attribute network_pools is 13; expected a whole number from 1 to 12");
  damage(path, "network_pools", false, 12);
  refuse_network(&run, path, "a plane has one pixel; normalising needs at least 2");
  damage(path, "network_pools", false, 2);
  damage(path, "network_channels", false, NAN);
  refuse_network(&run, path, "its attribute network_channels is nan; expected a whole number from 2 to 1024");
  damage(path, "network_channels", false, 1024);
  refuse_network(&run, path, "down_sample_layers.0.layers.0.weight (4x1x3x3, expected 1024x1x3x3)");
  damage(path, "network_channels", false, 4);
  damage(path, "param/conv2.2.bias", true, NAN);
  refuse_network(&run, path, "param/conv2.2.bias holds nan at element 0");
  close_run(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mixtures_are_the_published_ones),
      cmocka_unit_test(masks_by_chance_have_their_expectation),
      cmocka_unit_test(masks_are_fresh_in_training_and_fixed_in_validation),
      cmocka_unit_test(exact_masks_keep_their_budgets),
      cmocka_unit_test(an_update_equals_one_by_hand),
      cmocka_unit_test(micro_batches_change_nothing),
      cmocka_unit_test(a_step_allocates_nothing),
      cmocka_unit_test(the_loss_goes_down),
      cmocka_unit_test(the_validation_loss_is_the_score),
      cmocka_unit_test(going_on_equals_never_stopping),
      cmocka_unit_test(rates_follow_the_schedule),
      cmocka_unit_test(training_stops_early),
      cmocka_unit_test(scenes_are_refused),
      cmocka_unit_test(memory_is_refused_or_shared),
      cmocka_unit_test(a_loss_of_nan_stops),
      cmocka_unit_test(a_validation_loss_of_nan_stops),
      cmocka_unit_test(checkpoints_are_refused),
      cmocka_unit_test(other_validation_data_are_refused),
      cmocka_unit_test(one_training_a_folder),
      cmocka_unit_test(damaged_checkpoints_are_refused),
      cmocka_unit_test(checkpoints_of_a_changed_bit_are_refused),
      cmocka_unit_test(damaged_facts_are_refused),
      cmocka_unit_test(a_best_checkpoint_that_went_is_noticed),
      cmocka_unit_test(logs_that_were_cut_go_on),
      cmocka_unit_test(a_log_goes_on_less_often),
      cmocka_unit_test(a_key_that_is_newer_than_the_checkpoint_had_its_default),
      cmocka_unit_test(damaged_networks_are_refused),
  };
  return cmocka_run_group_tests(tests, open_trainings, close_trainings);
}
