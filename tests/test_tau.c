/* tau-step sampling: an update against one graph of everything; the fused path; splits of the budget; what is
 * drawn; memory; going on; what is refused. */
#include "kernels/kernels.h"
#include "systems/networks/net_unet.h"
#include "systems/networks/op_coils.h"
#include "systems/networks/tau.h"
#include "systems/scan/sequence.h"
#include "tests/training.h"

#include <math.h>
#include <string.h>

enum { LINES = 8, INITIAL = 2, STEPS = 2, HIDDEN = 16 };

static void set_options(struct run *run, const char *output) {
  set_training(run, METHOD_TAU_STEP, output);
  run->options.acquisition.initial_lines = INITIAL;
  run->options.tau.steps = STEPS;
  run->options.tau.hidden = HIDDEN;
}

/* 36 of 1,024 points are given and 220 drawn. */
static void set_points(struct run *run, const char *output) {
  set_training(run, METHOD_TAU_STEP, output);
  run->options.acquisition.geometry = GEOMETRY_POINTS;
  run->options.acquisition.horizon = "long";
  run->options.tau.steps = STEPS;
  run->options.tau.channels = 2;
}

/* A variational network of two coils, whose sensitivities a network finds; of points maps, which are 1 of one coil. */
static void set_varnet(struct run *run, const char *output) {
  set_options(run, output);
  run->options.reconstruct.method = RECONSTRUCT_VARNET;
  run->options.varnet.cascades = run->options.varnet.channels = run->options.varnet.pools = 2;
  run->options.varnet.sense_channels = run->options.varnet.sense_pools = 2;
  run->options.coils.simulate = 2;
}

static void set_varnet_points(struct run *run, const char *output) {
  set_points(run, output);
  run->options.reconstruct.method = RECONSTRUCT_VARNET;
  run->options.varnet.cascades = 1;
  run->options.varnet.channels = run->options.varnet.pools = 2;
  run->options.varnet.sense = SENSE_MAPS;
}

enum { FEW = 3 }; /* images of an update, for emulated lanes are slow: an odd number, as BATCH is; others have one */

/* Sets networks that the fused path takes, where it runs. */
static void set_wide(struct run *run, const char *output) {
  set_options(run, output);
  run->options.train.batch = FEW;
  run->options.network.channels = 16;
  run->options.network.pools = 1;
}

static void set_one_wide(struct run *run, const char *output) {
  set_wide(run, output);
  run->options.train.batch = 1;
}

static void set_wide_points(struct run *run, const char *output) {
  set_points(run, output);
  run->options.train.batch = 1;
  run->options.network.channels = run->options.tau.channels = 16;
  run->options.network.pools = run->options.tau.pools = 1;
}

/* Root of the summed squares of what differs, over that of the second. */
static double distance(const float *a, const float *b, size_t count) {
  double off = 0, size = 0;
  for (size_t i = 0; i < count; i++) {
    off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    size += (double)b[i] * b[i];
  }
  assert_true(size > 0);
  return sqrt(off / size);
}

static float *read_gradients(struct run *run, const struct graph *graph) {
  return read_floats(run->arena, graph->gradients, graph->elements);
}

static float *read_values(struct run *run, const struct graph *graph) {
  return read_floats(run->arena, graph->values, graph->elements);
}

/* ---- an update ----------------------------------------------------------------------------------------- */

static tensor reconstruct(struct graph *graph, const struct net_tau *net, uint32_t pass) {
  return net_unet(graph, net->observed[pass], 4, 2);
}

static tensor reconstruct_complex(struct graph *graph, const struct net_tau *net, uint32_t pass) {
  return net_unet_sum(graph, reconstruct(graph, net, pass), net->observed[pass], false);
}

/* The variational network's setup, and what it takes beside frequencies and mask: units once, and maps for every pass. */
static struct net_varnet_setup varnet;
static tensor varnet_units, varnet_maps[TAU_MOST + 1];

static tensor reconstruct_varnet(struct graph *graph, const struct net_tau *net, uint32_t pass) {
  if (!varnet_units.node) varnet_units = graph_input(graph, "slice_units", 2, 1, 1);
  struct net_varnet own = net_varnet_of(graph, &varnet, net->observed[pass], net->kept[pass]);
  varnet_maps[pass] = own.maps;
  return in_units(graph, own.out, varnet_units);
}

static bool is_varnet(const struct run *run) {
  return run->options.reconstruct.method == RECONSTRUCT_VARNET;
}

struct whole {
  struct graph *graph;
  struct net_tau net;
  tensor out;
};

/* Sampler and reconstructor of all steps in one graph, with shared parameters. */
static void open_whole(struct whole *whole, const struct run *run) {
  struct graph_setup setup = {
      .device = &device, .kernels = run->training.train.simulation.kernels, .batch = BATCH, .train = true};
  struct net_tau_setup net = {.shape = scan_shape_of(&run->options),
                              .hidden = HIDDEN,
                              .points = run->options.acquisition.geometry == GEOMETRY_POINTS,
                              .channels = (int)run->options.tau.channels,
                              .pools = (int)run->options.tau.pools,
                              .steps = run->options.tau.steps,
                              .budget = training_tau(&run->training)->acquisition.budget,
                              .seed = run->options.world.seed,
                              .slope = 10,
                              .view = net_tau_view(&run->options),
                              .coils = (int)training_tau(&run->training)->coils,
                              .adaptive = run->options.tau.adaptive,
                              .reconstruct = is_varnet(run)                               ? reconstruct_varnet
                                             : run->options.network.input == INPUT_COMPLEX ? reconstruct_complex
                                                                                           : reconstruct};
  struct error error;
  varnet = run->training.reconstructor.setup.varnet;
  varnet_units = (tensor){0};
  graph_open(&whole->graph);
  whole->net = net_tau(whole->graph, &net);
  whole->out = net.reconstruct(whole->graph, &whole->net, net.steps);
  assert_good(graph_plan(whole->graph, &setup, &error), &error);
}

static void copy_parameters(const struct whole *whole, const struct run *run) {
  const struct graph *graphs[] = {tau_parameters(training_tau(&run->training)), run->training.reconstructor.graph};
  assert_int_equal(whole->graph->parameters, graphs[0]->parameters + graphs[1]->parameters);
  for (int g = 0; g < 2; g++)
    for (int i = 0; i < graphs[g]->parameters; i++) {
      const struct parameter *own = &graphs[g]->parameter[i];
      device_copy(&device, own->value, 0, graph_find(whole->graph, own->name)->value, 0,
                  sizeof(float) * own->count);
    }
}

static void copy_input(const struct whole *whole, const struct run *run, tensor from, tensor to) {
  device_copy(&device, graph_value(training_tau(&run->training)->graph, from), 0, graph_value(whole->graph, to), 0,
              sizeof(float) * BATCH * graph_values(whole->graph, to));
}

/* What its passes were given. */
static void copy_varnet(const struct whole *whole, const struct run *run) {
  const struct net_tau *net = &training_tau(&run->training)->net;
  struct reconstructor_inputs inputs = reconstructor_inputs(&run->training.reconstructor);
  copy_input(whole, run, net->inside, whole->net.inside);
  copy_input(whole, run, net->units, whole->net.units);
  device_copy(&device, inputs.units, 0, graph_value(whole->graph, varnet_units), 0, sizeof(float) * BATCH * 2);
  for (uint32_t pass = run->options.tau.adaptive ? 0 : run->options.tau.steps; varnet.maps && pass <= run->options.tau.steps;
       pass++)
    device_copy(&device, inputs.maps, 0, graph_value(whole->graph, varnet_maps[pass]), 0,
                sizeof(float) * BATCH * graph_values(whole->graph, varnet_maps[pass]));
}

static void run_in_one(struct whole *whole, struct run *run) {
  const struct training *training = &run->training;
  const struct net_tau *net = &training_tau(training)->net;
  const struct loss_target target = target_of(run);
  struct loss loss;
  struct error error;
  assert_good(loss_open(&loss, &device, training->train.simulation.kernels, LOSS_SSIM, N, N, BATCH, &error),
              &error);
  copy_input(whole, run, net->image, whole->net.image);
  copy_input(whole, run, net->taken, whole->net.taken);
  copy_input(whole, run, net->scan, whole->net.scan);
  if (!run->options.tau.adaptive) copy_input(whole, run, net->noise, whole->net.noise);
  if (is_varnet(run)) copy_varnet(whole, run);
  graph_zero_gradients(whole->graph);
  graph_forward(whole->graph);
  loss_run(&loss, &target, graph_value(whole->graph, whole->out),
           graph_gradient(whole->graph, whole->out), BATCH, 1.0 / BATCH);
  graph_backward(whole->graph);
  loss_close(&loss);
}

static void deal(struct run *run, size_t images) {
  struct minibatches *batches = &fitting_of(&run->training)->train;
  struct error error;
  struct schedule *schedule = ARENA_NEW(run->arena, struct schedule, 1);
  schedule_open(schedule, &component_schema);
  minibatch_add(batches, schedule);
  assert_good(schedule_close(schedule, &error), &error);
  minibatch_select(batches, 0, images);
  reconstructor_bind(&run->training.reconstructor, batches->split->simulation.world);
  schedule_run(schedule, batches->split->simulation.world);
}

/* An update's gradients, the parameters left as they are. Of the reconstructor also what its last pass alone
 * gives: at the start a sampler lets little through to those before. */
struct gradients {
  float *sampler, *network, *last;
};

static struct gradients run_update(struct run *run) {
  struct training *training = &run->training;
  struct reconstructor *reconstructor = &training->reconstructor;
  struct gradients found;
  const size_t images = run->options.train.batch;
  graph_zero_gradients(reconstructor->graph);
  graph_zero_gradients(tau_parameters(training_tau(training)));
  const struct loss_target target = target_of(run);
  deal(run, images);
  run_steps(run, 0, images);
  reconstructor_forward(reconstructor, images);
  loss_run(&fitting_of(training)->loss, &target, reconstructor->output, reconstructor->output_gradient, images,
           1.0 / (double)images);
  reconstructor_backward(reconstructor, images, images);
  found.last = read_gradients(run, reconstructor->graph);
  struct tau_steps steps = {.tau = training_tau(training)};
  for (steps.step = steps.tau->steps; steps.step; steps.step--) {
    system_backward_sampler.run(training_world(training), &steps);
    if (!steps.tau->adaptive) break;
    system_backward_reconstruction.run(training_world(training), &steps);
  }
  found.network = read_gradients(run, reconstructor->graph);
  found.sampler = read_gradients(run, tau_parameters(training_tau(training)));
  return found;
}

static void subtract(float *from, const float *what, size_t count) {
  for (size_t i = 0; i < count; i++) from[i] -= what[i];
}

/* Gathers from the other graph the parameters of this one by their names, in this one's layout. */
static float *gather(struct run *run, const struct graph *own, const struct graph *other) {
  float *to = ARENA_NEW(run->arena, float, own->elements);
  for (int i = 0; i < own->parameters; i++) {
    const struct parameter *parameter = &own->parameter[i];
    const float *values =
        read_floats(run->arena, graph_find(other, parameter->name)->gradient, parameter->count);
    memcpy(to + parameter->offset, values, sizeof(float) * parameter->count);
  }
  return to;
}

static void check(const char *what, const float *found, const float *expected, size_t count, double bound) {
  double off = distance(found, expected, count);
  if (!(off < bound)) fail_msg("%s is off by %.2e, bound %.0e", what, off, bound);
}

static void check_update(void (*set)(struct run *run, const char *output), uint32_t steps, bool adaptive,
                         bool complex) {
  struct run run;
  struct whole whole;
  set(&run, NULL);
  run.options.tau.steps = steps;
  run.options.tau.adaptive = adaptive;
  if (complex) set_complex(&run);
  start_run(&run);
  struct gradients found = run_update(&run);
  open_whole(&whole, &run);
  copy_parameters(&whole, &run);
  run_in_one(&whole, &run);
  const struct graph *sampler = tau_parameters(training_tau(&run.training)),
                     *network = run.training.reconstructor.graph;
  float *expected = gather(&run, network, whole.graph);
  check("the sampler's gradient", found.sampler, gather(&run, sampler, whole.graph), sampler->elements, 1e-3);
  check("the network's gradient", found.network, expected, network->elements, 1e-4);
  subtract(found.network, found.last, network->elements);
  subtract(expected, found.last, network->elements);
  if (adaptive)
    check("what the passes before the last give", found.network, expected, network->elements, 2e-2);
  graph_close(whole.graph);
  close_run(&run);
}

static void an_update_is_that_of_one_graph(void **state) {
  (void)state;
  check_update(set_options, 1, true, false);
  check_update(set_options, 2, true, false);
  check_update(set_options, 2, false, false);
  check_update(set_options, 2, true, true);
  check_update(set_options, 1, false, true);
  check_update(set_points, 2, true, false);
  check_update(set_points, 1, true, true);
  check_update(set_varnet, 2, true, false);
  check_update(set_varnet, 1, false, false);
  check_update(set_varnet_points, 1, true, false);
}

/* Where the device lacks the matrix instructions, its lanes are emulated; other precisions are tested with
 * them (test_block.c). */
static void check_fused(void (*set)(struct run *run, const char *output), uint32_t steps, bool complex) {
  struct run run[2];
  struct gradients found[2];
  for (int fused = 0; fused < 2; fused++) {
    enum device_matrix matrix = device.facts.matrix;
    if (!fused || matrix == MATRIX_NONE) device.facts.matrix = fused ? MATRIX_EMULATED : MATRIX_NONE;
    set(&run[fused], NULL);
    run[fused].options.network.precision = BLOCK_F32;
    run[fused].options.tau.steps = steps;
    if (complex) set_complex(&run[fused]);
    start_run(&run[fused]);
    assert_int_equal(run[fused].training.reconstructor.blocks != NULL, fused);
    assert_int_equal(training_tau(&run[fused].training)->sampler.blocks != NULL, fused && set == set_wide_points);
    found[fused] = run_update(&run[fused]);
    subtract(found[fused].network, found[fused].last, run[0].training.reconstructor.graph->elements);
    device.facts.matrix = matrix;
  }
  size_t sampler = tau_parameters(training_tau(&run[0].training))->elements,
         network = run[0].training.reconstructor.graph->elements;
  check("the sampler's gradient", found[1].sampler, found[0].sampler, sampler, 5e-3);
  check("what the last pass gives", found[1].last, found[0].last, network, 5e-3);
  check("what the passes before the last give", found[1].network, found[0].network, network, 5e-3);
  for (int k = 0; k < 2; k++) close_run(&run[k]);
}

static void the_fused_path_gives_the_same_gradient(void **state) {
  (void)state;
  check_fused(set_wide, 1, false);
  check_fused(set_one_wide, 1, true);
}

static void the_fused_sampler_of_points_too(void **state) {
  (void)state;
  check_fused(set_wide_points, 2, false);
}

/* Runs the last pass backward from a gradient of about these sizes, of an image in each of two shards. */
static float *run_level(struct run *run, float first, float second) {
  struct reconstructor *reconstructor = &run->training.reconstructor;
  const size_t count = 2 * N * N;
  float *gradient = ARENA_NEW(run->arena, float, count);
  for (size_t i = 0; i < count; i++) gradient[i] = (i < N * N ? first : second) * sinf(0.37f * (float)i);
  device_write(&device, reconstructor->output_gradient, 0, sizeof(float) * count, gradient);
  graph_zero_gradients(reconstructor->graph);
  reconstructor_backward_level(reconstructor, 2, true);
  return read_floats(run->arena, reconstructor->graph->gradients, 2 * reconstructor->graph->elements);
}

/* Halves end at 6e-8; fixed-point sums of a mean loss's gradients not far below. A shard's digits are its own: other
 * ranks have other shards beside it. */
static void gradients_of_any_size_keep_their_digits(void **state) {
  enum device_matrix matrix = device.facts.matrix;
  struct run run;
  (void)state;
  if (matrix == MATRIX_NONE) device.facts.matrix = MATRIX_EMULATED;
  set_one_wide(&run, NULL);
  run.options.train.batch = run.options.train.shards = 2;
  run.options.network.precision = BLOCK_HALF;
  start_run(&run);
  fit_step(&run.training, 0, 2);
  const float *near_one = run_level(&run, 1, 1), *tiny = run_level(&run, 1, 0x1p-50f);
  size_t elements = run.training.reconstructor.graph->elements;
  double largest[2] = {0};
  for (size_t i = 0; i < 2 * elements; i++) {
    assert_true(tiny[i] == (i < elements ? 1 : 0x1p-50f) * near_one[i]);
    largest[i / elements] = fmax(largest[i / elements], fabsf(near_one[i]));
  }
  assert_true(largest[0] > 0 && largest[1] > 0);
  close_run(&run);
  device.facts.matrix = matrix;
}

static void the_rate_of_the_sampler_is_its_own(void **state) {
  struct run run;
  (void)state;
  set_options(&run, NULL);
  run.options.tau.rate = 0.5;
  run.options.train.rate_every = 1;
  start_run(&run);
  run.training.done = run.training.each; /* both rates have made a step */
  const struct graph *graph = training_tau(&run.training)->graph;
  const float *before = read_values(&run, graph);
  fit_step(&run.training, 0, BATCH);
  const float *after = read_values(&run, graph), *gradient = read_gradients(&run, graph);
  for (size_t i = 0; i < graph->elements; i++)
    assert_true(fabs(before[i] - 0.05 * gradient[i] - after[i]) < 1e-6);
  close_run(&run);
}

/* Draws and update are the same but for rounding, whatever part of a batch is taken at once. */
static void micro_batches_change_nothing(void **state) {
  struct run run[2];
  float *gradient[2];
  (void)state;
  for (int k = 0; k < 2; k++) {
    set_options(&run[k], NULL);
    if (k) run[k].options.network.batch = 2;
    start_run(&run[k]);
    fit_step(&run[k].training, BATCH, BATCH);
    gradient[k] = read_gradients(&run[k], training_tau(&run[k].training)->graph);
  }
  assert_true(distance(gradient[1], gradient[0], training_tau(&run[0].training)->graph->elements) < 1e-3);
  for (int k = 0; k < 2; k++) close_run(&run[k]);
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

/* ---- steps --------------------------------------------------------------------------------------------- */

static void the_budget_is_split_into_whole_lines(void **state) {
  static const uint32_t shares[] = {4, 3, 4, 3};
  (void)state;
  for (uint32_t step = 0; step < 4; step++) assert_int_equal(net_tau_lines(14, 4, step), shares[step]);
  for (uint32_t budget = 1; budget < 40; budget++)
    for (uint32_t steps = 1; steps <= TAU_MOST; steps++) {
      uint32_t sum = 0;
      for (uint32_t step = 0; step < steps; step++) {
        uint32_t share = net_tau_lines(budget, steps, step);
        assert_true(share == budget / steps || share == budget / steps + 1);
        sum += share;
      }
      assert_int_equal(sum, budget);
    }
}

/* The samplers have as many parameters as the published ones, for lines and for points (PROTOCOL 3.3, 9). */
static void the_sampler_is_as_large_as_published(void **state) {
  static const size_t counts[3][2] = {{128, 42797184}, {256, 168691968}, {128, 13390595}};
  (void)state;
  for (int k = 0; k < 3; k++) {
    struct net_tau_setup setup = {
        .shape = scan_shape_make(counts[k][0], counts[k][0], k == 2 ? GEOMETRY_POINTS : GEOMETRY_LINES),
        .hidden = 512,
        .points = k == 2,
        .channels = 64,
        .pools = 4,
        .steps = 4,
        .budget = 28,
        .slope = 10,
        .adaptive = true};
    struct graph *graph;
    struct error error;
    graph_open(&graph);
    net_tau(graph, &setup);
    assert_good(graph_good(graph, &error), &error);
    assert_int_equal(graph_parameter_count(graph), counts[k][1]);
    graph_close(graph);
  }
}

static int count_lines(const float *mask) {
  int lines = 0;
  for (int i = 0; i < N; i++) lines += mask[i] > 0.5f;
  return lines;
}

/* Each step adds its share to what the one before has left, every sample for itself; the same scans get the
 * same lines whatever runs beside them. */
static void every_step_takes_its_lines(void **state) {
  struct run run;
  int same = 0;
  (void)state;
  set_options(&run, NULL);
  run.options.tau.steps = 4;
  start_run(&run);
  struct tau *tau = training_tau(&run.training);
  deal(&run, BATCH);
  run_steps(&run, 20, BATCH);
  const float *mask[5];
  for (int step = 0; step <= 4; step++)
    mask[step] = read_floats(run.arena, graph_value(tau->graph, tau->net.mask[step]), BATCH * N);
  for (int i = 0; i < BATCH; i++) {
    uint32_t lines = INITIAL;
    for (int step = 0; step <= 4; step++) {
      assert_int_equal(count_lines(mask[step] + i * N), lines);
      if (step < 4) lines += net_tau_lines(LINES - INITIAL, 4, (uint32_t)step);
      for (int k = 0; step && k < N; k++) assert_true(mask[step][i * N + k] >= mask[step - 1][i * N + k]);
    }
    same += !memcmp(mask[4] + i * N, mask[4], sizeof(float) * N);
  }
  assert_true(same < BATCH);
  run_steps(&run, 20, 2);
  const float *fewer = read_floats(run.arena, graph_value(tau->graph, tau->net.mask[4]), 2 * N);
  assert_memory_equal(fewer, mask[4], sizeof(float) * 2 * N);
  close_run(&run);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static bool open_within(struct run *run, cl_ulong bytes, struct error *error) {
  struct training_config config = {.task = &task_tau_step, .kernel_folder = ""};
  cl_ulong memory = device.facts.memory;
  device.facts.memory = device.bytes + bytes;
  bool good = training_open(&run->training, &device, &run->options, &config, error);
  device.facts.memory = memory;
  return good;
}

enum { ROOM = 3 }; /* images a pass: emulated lanes are slow */

static void check_room(void (*set)(struct run *run, const char *output), bool fused) {
  enum device_matrix matrix = device.facts.matrix;
  struct run run;
  struct error error;
  if (!fused || matrix == MATRIX_NONE) device.facts.matrix = fused ? MATRIX_EMULATED : MATRIX_NONE;
  set(&run, NULL);
  run.options.train.batch = ROOM;
  if (set == set_wide_points) run.options.tau.steps = 1;
  uint64_t before = device.bytes;
  start_run(&run);
  uint64_t whole = device.bytes - before;
  assert_int_equal(run.training.reconstructor.batch, ROOM);
  training_close(&run.training);
  assert_int_equal(device.bytes, before);
  assert_good(open_within(&run, whole * 3 / 4, &error), &error);
  assert_true(run.training.reconstructor.batch < ROOM);
  assert_good(minibatch_epoch(&fitting_of(&run.training)->train, 0, &error), &error);
  fit_step(&run.training, 0, ROOM);
  assert_good(device_finish(&device, &error), &error);
  training_close(&run.training);
  assert_false(open_within(&run, whole / 4, &error));
  assert_holds(error.text, "with 1 image a pass: ");
  assert_holds(error.text, "lower network.channels, network.pools, data.size, tau.steps, ");
  assert_int_equal(device.bytes, before);
  arena_close(run.arena);
  device.facts.matrix = matrix;
}

/* Fewer images a pass where not all fit, by the one path and the other; the batch is what it was. */
static void what_does_not_fit_is_taken_in_parts(void **state) {
  (void)state;
  check_room(set_wide, false);
  check_room(set_wide, true);
}

static void so_is_what_the_sampler_of_points_leaves_no_room_for(void **state) {
  (void)state;
  check_room(set_wide_points, false);
  check_room(set_wide_points, true);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const struct graph *graph_of(const struct training *training) {
  return tau_parameters(training_tau(training));
}

static void going_on_equals_never_stopping(void **state) {
  (void)state;
  check_going_on(set_options, graph_of);
}

/* Trains on as little as shows it, for emulated lanes are slow: on an image, and validates on one; one is scanned. */
enum { SCANNED = 1 };

static void set_points_files(struct run *run, const char *output) {
  set_wide_points(run, strcmp(output, "whole") ? "points_halves" : "points_whole");
  run->options.tau.steps = 1;
  run->options.data.most = 1;
  run->options.train.epochs = 2;
}

/* Masks of points that the sampler of a checkpoint gives. */
static uint8_t *scan_points(struct run *run, bool fused) {
  struct training *training = &run->training;
  struct simulation *simulation = &training->train.simulation;
  struct masks_setup setup = {.device = &device,
                            .kernels = simulation->kernels,
                            .options = &run->options,
                            .acquisition = training_tau(training)->acquisition,
                            .batch = SCANNED};
  struct tau tau;
  struct error error;
  uint8_t *mask = ARENA_NEW(run->arena, uint8_t, SCANNED * N * N);
  assert_good(tau_load(&tau, support_path(&folder, "points_whole/last.h5"), &setup, &error), &error);
  assert_int_equal(tau.sampler.blocks != NULL, fused);
  show_slices(run, &tau, 0, SCANNED);
  tau_run(&tau, SCANNED);
  const float *drawn = read_floats(run->arena, graph_value(tau.graph, tau.net.mask[tau.steps]), SCANNED * N * N);
  for (int i = 0; i < SCANNED * N * N; i++) mask[i] = drawn[i] > 0.5f;
  tau_close(&tau);
  return mask;
}

/* Trained, gone on with and loaded by the fused path; one without it scans with the same file, and gets the
 * same points but for those whose probabilities differ in rounding. */
static void the_fused_sampler_of_points_is_kept(void **state) {
  enum device_matrix matrix = device.facts.matrix;
  struct run run;
  int differ = 0, taken = 0;
  (void)state;
  if (matrix == MATRIX_NONE) device.facts.matrix = MATRIX_EMULATED;
  check_going_on(set_points_files, graph_of);
  set_wide_points(&run, NULL);
  run.options.train.batch = SCANNED;
  start_run(&run);
  deal(&run, SCANNED);
  const uint8_t *fused = scan_points(&run, true);
  device.facts.matrix = MATRIX_NONE;
  const uint8_t *portable = scan_points(&run, false);
  for (int i = 0; i < SCANNED * N * N; i++) {
    differ += fused[i] != portable[i];
    taken += fused[i];
  }
  assert_int_equal(taken, SCANNED * N * N / 4);
  assert_true(differ <= taken / 100);
  close_run(&run);
  device.facts.matrix = matrix;
}

/* `halves` holds a training with Adam by now. */
static void other_trainings_are_refused(void **state) {
  struct run run;
  struct error error;
  (void)state;
  refuse_other_method(set_options, "tau_step");
  set_halves(&run, set_options);
  run.options.tau.steps = 3;
  refuse(&run, "tau.steps was 2 and is 3 now");
  set_halves(&run, set_options);
  open_run(&run, true);
  fitting_of(&run.training)->sampler.is.noise_seed = 7;
  assert_good(trainer_save(&run.training, "last.h5", &error), &error);
  training_close(&run.training);
  refuse(&run, "its attribute sampler_noise_seed is 7; expected 42: the file is damaged");
  set_options(&run, NULL);
  run.options.acquisition.acceleration = "4,8";
  refuse(&run, "the scene has 2 settings");
  set_options(&run, NULL);
  run.options.tau.steps = 7;
  refuse(&run, "tau.steps is 7 and 6 lines are acquired (x4 custom): every step takes one at least");
}

/* ---- the program --------------------------------------------------------------------------------------- */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_update_is_that_of_one_graph),
      cmocka_unit_test(the_fused_path_gives_the_same_gradient),
      cmocka_unit_test(the_fused_sampler_of_points_too),
      cmocka_unit_test(gradients_of_any_size_keep_their_digits),
      cmocka_unit_test(the_rate_of_the_sampler_is_its_own),
      cmocka_unit_test(micro_batches_change_nothing),
      cmocka_unit_test(a_step_allocates_nothing),
      cmocka_unit_test(the_budget_is_split_into_whole_lines),
      cmocka_unit_test(the_sampler_is_as_large_as_published),
      cmocka_unit_test(every_step_takes_its_lines),
      cmocka_unit_test(what_does_not_fit_is_taken_in_parts),
      cmocka_unit_test(so_is_what_the_sampler_of_points_leaves_no_room_for),
      cmocka_unit_test(going_on_equals_never_stopping),
      cmocka_unit_test(the_fused_sampler_of_points_is_kept),
      cmocka_unit_test(other_trainings_are_refused),
  };
  return cmocka_run_group_tests_name("tau", tests, open_trainings, close_trainings);
}
