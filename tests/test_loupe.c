/* LOUPE: an update against one graph of mask, network and loss; masks of minibatches and samples; what is
 * stored; going on; what is refused. */
#include "engine/files/store.h"
#include "systems/networks/net_unet.h"
#include "systems/networks/op_coils.h"
#include "tests/training.h"

#include <math.h>
#include <string.h>

enum { LINES = 8, INITIAL = 2 };

static void set_options(struct run *run, const char *output) {
  set_training(run, METHOD_LOUPE, output);
  run->options.acquisition.initial_lines = INITIAL;
}

static float *read_weights(struct run *run) {
  return read_floats(run->arena, training_loupe(&run->training)->graph->values, N);
}

/* Two cascades, whose sensitivities are those of a network, or of points 1. */
static void set_varnet(struct run *run, const char *output) {
  set_options(run, output);
  run->options.reconstruct.method = RECONSTRUCT_VARNET;
  run->options.varnet.cascades = run->options.varnet.channels = run->options.varnet.pools = 2;
  run->options.varnet.sense_channels = run->options.varnet.sense_pools = 2;
}

/* 36 of 1,024 points are given and 220 drawn. */
static void set_points(struct run *run, const char *output) {
  set_training(run, METHOD_LOUPE, output);
  run->options.acquisition.geometry = GEOMETRY_POINTS;
  run->options.acquisition.horizon = "long";
}

/* ---- an update ----------------------------------------------------------------------------------------- */

static bool is_varnet(const struct run *run) {
  return run->options.reconstruct.method == RECONSTRUCT_VARNET;
}

/* The slices of the batch as complex images, those of the U-Net of magnitudes in its units. */
static void write_images(struct run *run, cl_mem to) {
  struct world *world = run->training.train.simulation.world;
  bool own = run->options.network.input == INPUT_COMPLEX || is_varnet(run);
  struct error error;
  uint32_t slice[BATCH];
  float unit[SLICES], *image = ARENA_NEW(run->arena, float, SLICES *N *N);
  float *planes = ARENA_NEW(run->arena, float, BATCH * 2 * N * N);
  device_read(&device, world_memory(world, ENV_slice), 0, sizeof slice, slice);
  device_read(&device, world_memory(world, SLICE_unit), 0, sizeof unit, unit);
  device_read(&device, world_memory(world, SLICE_image), 0, sizeof(float) * SLICES * N * N, image);
  assert_good(device_finish(&device, &error), &error);
  for (size_t i = 0; i < BATCH; i++)
    for (size_t p = 0; p < N * N; p++)
      planes[2 * i * N * N + p] = image[slice[i] * N * N + p] / (own ? 1 : unit[slice[i]]);
  device_write(&device, to, 0, sizeof(float) * BATCH * 2 * N * N, planes);
}

/* What the network makes of frequencies of one coil and a mask. */
static tensor reconstruct(const struct run *run, struct graph *graph, tensor frequencies, tensor mask, tensor *units) {
  tensor acquired = multiply(graph, frequencies, mask);
  if (is_varnet(run)) {
    struct net_varnet_setup setup = net_varnet_setup(&run->options, 1);
    *units = graph_input(graph, "units", 2, 1, 1);
    return in_units(graph, net_varnet_of(graph, &setup, acquired, mask).out, *units);
  }
  tensor seen = inverse_fourier(graph, acquired);
  if (run->options.network.input == INPUT_COMPLEX)
    return net_unet_sum(graph, net_unet(graph, seen, 4, 2), seen, true);
  return net_unet(graph, standardise_image(graph, magnitude(graph, seen)), 4, 2);
}

/* Mean and deviation of the slices of the batch, in which the variational network tells its output. */
static void write_units(struct run *run, cl_mem to) {
  struct world *world = run->training.train.simulation.world;
  struct error error;
  uint32_t slice[BATCH];
  float mean[SLICES], deviation[SLICES], units[2 * BATCH];
  device_read(&device, world_memory(world, ENV_slice), 0, sizeof slice, slice);
  device_read(&device, world_memory(world, SLICE_mean), 0, sizeof mean, mean);
  device_read(&device, world_memory(world, SLICE_std), 0, sizeof deviation, deviation);
  assert_good(device_finish(&device, &error), &error);
  for (size_t i = 0; i < BATCH; i++) {
    units[2 * i] = mean[slice[i]];
    units[2 * i + 1] = deviation[slice[i]];
  }
  device_write(&device, to, 0, sizeof units, units);
}

/* Mask, both transforms and network in one graph, the same parameters and inputs; returns the gradient of the
 * probabilities. */
static float *gradient_by_hand(struct run *run) {
  struct training *training = &run->training;
  struct loupe *loupe = training_loupe(training);
  struct kernels *kernels = training->train.simulation.kernels;
  struct net_loupe_setup net = {.shape = scan_shape_of(&run->options),
                                .points = run->options.acquisition.geometry == GEOMETRY_POINTS,
                                .budget = loupe->acquisition.budget,
                                .seed = run->options.world.seed,
                                .slope = 10};
  struct graph_setup setup = {.device = &device, .kernels = kernels, .batch = BATCH, .train = true};
  struct graph *graph;
  struct loss loss;
  struct error error;
  graph_open(&graph);
  struct net_loupe mask = net_loupe(graph, &net);
  tensor image = graph_input(graph, "image", 2, N, N);
  tensor units = {0}, out = reconstruct(run, graph, fourier(graph, image), mask.mask, &units);
  assert_good(graph_plan(graph, &setup, &error), &error);
  assert_good(loss_open(&loss, &device, kernels, LOSS_SSIM, N, N, BATCH, &error), &error);
  for (int i = 0; i < graph->parameters; i++) {
    const struct graph *from = i ? training->reconstructor.graph : loupe->graph;
    const struct parameter *to = &graph->parameter[i], *own = graph_find(from, to->name);
    device_copy(&device, own->value, 0, to->value, 0, sizeof(float) * to->count);
  }
  write_images(run, graph_value(graph, image));
  if (is_varnet(run)) write_units(run, graph_value(graph, units));
  const tensor inputs[][2] = {{loupe->net.taken, mask.taken}, {loupe->net.scan, mask.scan}};
  for (int i = 0; i < 2; i++)
    device_copy(&device, graph_value(loupe->graph, inputs[i][0]), 0, graph_value(graph, inputs[i][1]), 0,
                sizeof(float) * BATCH * graph_elements(graph, inputs[i][1]));
  const struct loss_target target = target_of(run);
  graph_zero_gradients(graph);
  graph_forward(graph);
  loss_run(&loss, &target, graph_value(graph, out), graph_gradient(graph, out), BATCH, 1.0 / BATCH);
  graph_backward(graph);
  const struct parameter *weight = graph_find(graph, "probability.weight");
  float *gradient = read_floats(run->arena, weight->gradient, weight->count);
  loss_close(&loss);
  graph_close(graph);
  return gradient;
}

/* A rate of 0 leaves the parameters as the gradient saw them. */
static void check_update(void (*set)(struct run *run, const char *output), bool complex) {
  struct run run;
  set(&run, NULL);
  if (complex) set_complex(&run);
  run.options.train.rate = 0;
  start_run(&run);
  fit_step(&run.training, 0, BATCH);
  size_t count = training_loupe(&run.training)->acquisition.shape.actions;
  const float *found = read_floats(run.arena, training_loupe(&run.training)->graph->gradients, count);
  const float *expected = gradient_by_hand(&run);
  double largest = 0, off = largest_difference(found, expected, count);
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(expected[i]));
  assert_true(largest > 0);
  if (off > 1e-4 * largest) fail_msg("the gradient is off by %g of %g", off, largest);
  close_run(&run);
}

static void an_update_is_that_of_one_graph(void **state) {
  (void)state;
  check_update(set_options, false);
  check_update(set_options, true);
  check_update(set_points, false);
  check_update(set_points, true);
  check_update(set_varnet, false);
}

/* Where the device lacks the matrix instructions, its lanes are emulated. */
static void check_fused(bool complex) {
  const float *gradient[2];
  struct run run[2];
  double largest = 0;
  for (int fused = 0; fused < 2; fused++) {
    enum device_matrix matrix = device.facts.matrix;
    if (!fused || matrix == MATRIX_NONE) device.facts.matrix = fused ? MATRIX_EMULATED : MATRIX_NONE;
    set_options(&run[fused], NULL);
    run[fused].options.network.channels = 16;
    run[fused].options.network.pools = 1;
    run[fused].options.train.rate = 0;
    if (complex) set_complex(&run[fused]);
    start_run(&run[fused]);
    assert_int_equal(run[fused].training.reconstructor.blocks != NULL, fused);
    fit_step(&run[fused].training, 0, BATCH);
    gradient[fused] = read_floats(run[fused].arena, training_loupe(&run[fused].training)->graph->gradients, N);
    device.facts.matrix = matrix;
  }
  for (int i = 0; i < N; i++) largest = fmax(largest, fabs(gradient[0][i]));
  assert_true(largest > 0 && largest_difference(gradient[0], gradient[1], N) < 5e-3 * largest);
  for (int k = 0; k < 2; k++) close_run(&run[k]);
}

static void the_fused_path_gives_the_same_gradient(void **state) {
  (void)state;
  check_fused(false);
  check_fused(true);
}

static void the_rate_of_the_probabilities_is_their_own(void **state) {
  struct run run;
  (void)state;
  set_options(&run, NULL);
  run.options.loupe.rate = 0.5;
  run.options.train.rate_every = 1;
  start_run(&run);
  run.training.done = run.training.each; /* both rates have made a step */
  const float *before = read_weights(&run);
  fit_step(&run.training, 0, BATCH);
  const float *after = read_weights(&run);
  const float *gradient = read_floats(run.arena, training_loupe(&run.training)->graph->gradients, N);
  for (int i = 0; i < N; i++) assert_true(fabs(before[i] - 0.05 * gradient[i] - after[i]) < 1e-6);
  close_run(&run);
}

/* ---- masks --------------------------------------------------------------------------------------------- */

/* Before backward, which reuses their place. */
static float *draw_masks(struct run *run, uint32_t number, uint32_t first) {
  struct training *training = &run->training;
  struct loupe *loupe = training_loupe(training);
  loupe_number(loupe, number, first);
  loupe_forward(loupe, BATCH);
  return read_floats(run->arena, graph_value(loupe->graph, loupe->net.mask), BATCH * N);
}

static void check_budget(const float *mask) {
  double lines = 0;
  for (int i = 0; i < N; i++) lines += mask[i];
  assert_true(lines == LINES && mask[N / 2] == 1 && mask[N / 2 - 1] == 1);
}

static void a_mask_is_of_a_minibatch_or_of_a_sample(void **state) {
  (void)state;
  for (int each = 0; each < 2; each++) {
    struct run run;
    int same = 0;
    set_options(&run, NULL);
    run.options.loupe.masks = each ? LOUPE_SAMPLE : LOUPE_BATCH;
    start_run(&run);
    const float *first = draw_masks(&run, 7, 20);
    for (int i = 0; i < BATCH; i++) {
      check_budget(first + N * i);
      same += !memcmp(first + N * i, first, sizeof(float) * N);
    }
    assert_true(each ? same < BATCH : same == BATCH);
    const float *other = draw_masks(&run, each ? 7 : 20, each ? 21 : 20);
    assert_true(memcmp(first, other, sizeof(float) * N) != 0);
    if (each)
      assert_memory_equal(first + N, other, sizeof(float) * (BATCH - 1) * N); /* each is of its scan */
    close_run(&run);
  }
}

/* Masks and update are the same but for rounding, whatever part of a batch is taken at once. */
static void micro_batches_change_nothing(void **state) {
  (void)state;
  for (int each = 0; each < 2; each++) {
    struct run run[2];
    const float *after[2], *before = NULL;
    for (int k = 0; k < 2; k++) {
      set_options(&run[k], NULL);
      run[k].options.loupe.masks = each ? LOUPE_SAMPLE : LOUPE_BATCH;
      if (k) run[k].options.network.batch = 2;
      start_run(&run[k]);
      before = read_weights(&run[k]);
      fit_step(&run[k].training, BATCH, BATCH);
      after[k] = read_weights(&run[k]);
    }
    double moved = largest_difference(before, after[0], N);
    assert_true(moved > 0 && largest_difference(after[0], after[1], N) < 1e-3 * moved);
    for (int k = 0; k < 2; k++) close_run(&run[k]);
  }
}

static void a_step_allocates_nothing(void **state) {
  struct run run;
  struct error error;
  (void)state;
  set_options(&run, NULL);
  run.options.train.clip = 1;
  start_run(&run);
  fit_step(&run.training, 0, BATCH);
  uint64_t allocations = device.allocations, bytes = device.bytes;
  for (int i = 0; i < 3; i++) fit_step(&run.training, 0, BATCH);
  assert_good(device_finish(&device, &error), &error);
  assert_int_equal(device.allocations, allocations);
  assert_int_equal(device.bytes, bytes);
  close_run(&run);
}

/* Where not all fit, fewer images a pass: the mask's graph has room beside the network. */
static void memory_is_left_for_the_mask(void **state) {
  struct run run;
  struct training_config config = {.task = &task_loupe, .kernel_folder = ""};
  struct error error;
  cl_ulong memory = device.facts.memory;
  uint64_t before = device.bytes;
  (void)state;
  set_options(&run, NULL);
  start_run(&run);
  uint64_t whole = device.bytes - before;
  training_close(&run.training);
  device.facts.memory = before + whole * 3 / 4;
  assert_good(training_open(&run.training, &device, &run.options, &config, &error), &error);
  assert_true(run.training.reconstructor.batch < BATCH);
  assert_good(minibatch_epoch(&fitting_of(&run.training)->train, 0, &error), &error);
  fit_step(&run.training, 0, BATCH);
  assert_good(device_finish(&device, &error), &error);
  device.facts.memory = memory;
  close_run(&run);
  assert_int_equal(device.bytes, before);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void the_stored_mask_is_the_most_probable_one(void **state) {
  struct run run;
  struct store *store;
  struct error error;
  void *mask, *chance;
  size_t lines, count;
  double least = 1, most = 0, sum = 0;
  (void)state;
  set_options(&run, "stored");
  run.options.train.epochs = 1;
  start_run(&run);
  run_epochs(&run);
  assert_good(store_open(&store, support_path(&folder, "stored/best.h5"), &error), &error);
  assert_good(store_read_all(store, "mask", STORE_U8, 1 << 28, run.arena, &mask, &lines, &error), &error);
  assert_good(store_read_all(store, "probability", STORE_F64, 1 << 28, run.arena, &chance, &count, &error),
              &error);
  store_close(store);
  assert_int_equal(lines, N);
  assert_int_equal(count, N);
  size_t taken = 0;
  for (int i = 0; i < N; i++) {
    bool initial = i == N / 2 - 1 || i == N / 2, in = ((const uint8_t *)mask)[i];
    double p = ((const double *)chance)[i];
    taken += in;
    sum += p;
    if (initial) assert_true(in && p == 0);
    if (!initial && in) least = fmin(least, p);
    if (!in) most = fmax(most, p);
  }
  assert_true(taken == LINES && least >= most && fabs(sum - (LINES - INITIAL)) < 1e-6);
  close_run(&run);
}

static const struct graph *graph_of(const struct training *training) {
  return training_loupe(training)->graph;
}

static void going_on_equals_never_stopping(void **state) {
  (void)state;
  check_going_on(set_options, graph_of);
}

/* `halves` holds a training of LOUPE with Adam by now. */
static void other_trainings_are_refused(void **state) {
  struct run run;
  (void)state;
  refuse_other_method(set_options, "loupe");
  set_halves(&run, set_options);
  run.options.acquisition.initial_lines = 4;
  refuse(&run, "acquisition.initial_lines was 2 and is 4 now");
  set_options(&run, NULL);
  run.options.acquisition.acceleration = "4,8";
  refuse(&run, "the scene has 2 settings");
  set_options(&run, NULL);
  run.options.acquisition.initial_lines = 8;
  refuse(&run, "no line is left to acquire");
}

/* ---- the program --------------------------------------------------------------------------------------- */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_update_is_that_of_one_graph),
      cmocka_unit_test(the_fused_path_gives_the_same_gradient),
      cmocka_unit_test(the_rate_of_the_probabilities_is_their_own),
      cmocka_unit_test(a_mask_is_of_a_minibatch_or_of_a_sample),
      cmocka_unit_test(micro_batches_change_nothing),
      cmocka_unit_test(a_step_allocates_nothing),
      cmocka_unit_test(memory_is_left_for_the_mask),
      cmocka_unit_test(the_stored_mask_is_the_most_probable_one),
      cmocka_unit_test(going_on_equals_never_stopping),
      cmocka_unit_test(other_trainings_are_refused),
  };
  return cmocka_run_group_tests_name("loupe", tests, open_trainings, close_trainings);
}
