#include "systems/scan/sequence.h"
#include "tests/training.h"

#include "engine/files/part.h"
#include "systems/methods/method.h"
#include "systems/scan/systems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct device device;
struct folder folder;

int open_trainings(void **state) {
  (void)state;
  return support_open_training(&folder, &device, N, SLICES / 3);
}

int close_trainings(void **state) {
  (void)state;
  return support_close_training(&folder, &device);
}

void set_training(struct run *run, enum train_method method, const char *output) {
  *run = (struct run){.arena = arena_open()};
  option_defaults(&option_table, &run->options, run->arena);
  run->options.data.path = support_path(&folder, "data");
  run->options.data.size = option_square(N);
  run->options.network.channels = 4;
  run->options.network.pools = 2;
  run->options.train.method = method;
  run->options.train.batch = BATCH;
  run->options.train.epochs = 3;
  run->options.train.rate = 0.05;
  run->options.train.optimiser = OPTIMISER_SGD;
  run->options.train.output = output ? support_path(&folder, output) : "";
}

void set_complex(struct run *run) {
  run->options.network.input = INPUT_COMPLEX;
  run->options.data.scale = 0x1p-13;
}

static struct training_config config_of(const struct run *run, bool resume) {
  const char *output = run->options.train.output;
  return (struct training_config){.task = run->task ? run->task : method_of(&run->options)->stages[0], .folder = *output ? output : NULL, .resume = resume, .kernel_folder = ""};
}

void open_run(struct run *run, bool resume) {
  struct training_config config = config_of(run, resume);
  struct error error;
  assert_good(training_open(&run->training, &device, &run->options, &config, &error), &error);
}

void start_run(struct run *run) {
  struct error error;
  open_run(run, false);
  assert_good(minibatch_epoch(&fitting_of(&run->training)->train, 0, &error), &error);
}

void close_run(struct run *run) {
  training_close(&run->training);
  arena_close(run->arena);
}

void run_epochs(struct run *run) {
  struct error error;
  assert_good(trainer_run(&run->training, &error), &error);
}

void refuse_open(struct run *run, bool resume, const char *part) {
  struct training_config config = config_of(run, resume);
  struct error error;
  assert_false(training_open(&run->training, &device, &run->options, &config, &error));
  assert_holds(error.text, part);
}

void refuse(struct run *run, const char *part) {
  refuse_open(run, true, part);
  arena_close(run->arena);
}

struct loss_target target_of(struct run *run) {
  const struct world *world = run->training.train.simulation.world;
  return (struct loss_target){world_memory(world, ENV_slice), world_memory(world, SLICE_image),
                              world_memory(world, SLICE_mean), world_memory(world, SLICE_std),
                              world_memory(world, SLICE_data_range)};
}

void show_slices(struct run *run, struct tau *tau, uint32_t first, size_t images) {
  struct world *world = run->training.train.simulation.world;
  const struct system shows = {.name = "shows",
                               .reads = SET(ENV_slice) | tau_encode_reads(&run->options)};
  struct world_use before = world_enter(world, &shows);
  tau_encode(tau, world, world_in(world, ENV_slice), 0, first, images);
  world_leave(world, before);
}

void run_steps(struct run *run, uint32_t first, size_t images) {
  struct tau *tau = training_tau(&run->training);
  struct world *world = run->training.train.simulation.world;
  struct tau_steps steps = {.tau = tau, .sample = first};
  show_slices(run, tau, first, images);
  world_set_rows(world, TABLE_ENV, images);
  for (; steps.step < tau->steps; steps.step++) {
    system_forward_sampler.run(world, &steps);
    if (tau->adaptive) system_forward_reconstruction.run(world, &steps);
  }
  system_forward_last.run(world, &steps);
}

float *read_floats(struct arena *arena, cl_mem from, size_t count) {
  struct error error;
  float *values = ARENA_NEW(arena, float, count);
  device_read(&device, from, 0, sizeof(float) * count, values);
  assert_good(device_finish(&device, &error), &error);
  return values;
}

double largest_difference(const float *a, const float *b, size_t count) {
  double worst = 0;
  for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs((double)a[i] - b[i]));
  return worst;
}

static void compare_histories(const struct history *a, const struct history *b, size_t values) {
  assert_true(a->count && a->count == b->count);
  assert_memory_equal(a->at, b->at, sizeof(double) * a->count);
  for (size_t v = 0; v < values; v++) assert_memory_equal(a->value[v], b->value[v], sizeof(double) * a->count);
}

static void compare_runs(struct run *whole, struct run *rest, const struct graph *a, const struct graph *b) {
  assert_memory_equal(read_floats(whole->arena, a->values, a->elements),
                      read_floats(rest->arena, b->values, b->elements), sizeof(float) * a->elements);
  const struct training *one = &whole->training, *other = &rest->training;
  compare_histories(&one->logged, &other->logged, 3);
  compare_histories(&one->validations, &other->validations, EPOCH_VALUES);
  assert_int_equal(one->optimiser.step, other->optimiser.step);
}

void check_going_on(void (*set)(struct run *run, const char *output),
                    const struct graph *(*graph)(const struct training *training)) {
  struct run whole, half, rest;
  set(&whole, "whole");
  set(&half, "halves");
  set(&rest, "halves");
  whole.options.train.optimiser = half.options.train.optimiser = rest.options.train.optimiser =
      OPTIMISER_ADAM;
  half.options.train.epochs = 1;
  open_run(&whole, false);
  run_epochs(&whole);
  open_run(&half, true); /* nothing there yet: from the start */
  run_epochs(&half);
  close_run(&half);
  open_run(&rest, true);
  assert_int_equal(fit_epoch(&rest.training), 1);
  run_epochs(&rest);
  compare_runs(&whole, &rest, graph(&whole.training), graph(&rest.training));
  close_run(&rest);
  close_run(&whole);
}

void set_halves(struct run *run, void (*set)(struct run *run, const char *output)) {
  set(run, "halves");
  run->options.train.optimiser = OPTIMISER_ADAM;
}

void refuse_other_method(void (*set)(struct run *run, const char *output), const char *method) {
  struct run run;
  set_halves(&run, set);
  run.options.train.method = METHOD_RECONSTRUCTOR;
  refuse(&run, arena_text(run.arena, "it was trained with train.method %s; go on with that", method));
}

/* ---- vectors ------------------------------------------------------------------------------------------- */

struct store *vector_open(struct run *run, const char *name) {
  struct store *store;
  struct error error;
  assert_good(store_open(&store, arena_text(run->arena, "%s/%s", getenv("L2SR_TEST_DATA"), name), &error), &error);
  return store;
}

void vector_write_volumes(struct run *run, struct store *vector) {
  const size_t shape[] = {VECTOR, N, N};
  float *images = ARENA_NEW(run->arena, float, VECTOR *N *N);
  struct store *store;
  struct error error;
  assert_good(store_read_known(vector, "images", STORE_F32, VECTOR * N * N, images, &error), &error);
  for (int i = 0; i < 2; i++) {
    assert_good(folder_make(support_path(&folder, i ? "vector/val" : "vector/train"), &error), &error);
    const char *path = support_path(&folder, i ? "vector/val/one.h5" : "vector/train/one.h5");
    assert_good(store_create(&store, path, &error), &error);
    assert_good(store_write(store, "reconstruction_esc", STORE_F32, 3, shape, images, false, &error), &error);
    assert_good(store_commit(store, &error), &error);
  }
  run->options.data.path = support_path(&folder, "vector");
}

void vector_read_parameters(struct run *run, struct store *vector, const char *group, const struct graph *graph) {
  struct error error;
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    float *value = ARENA_NEW(run->arena, float, parameter->count);
    assert_good(store_read_known(vector, arena_text(run->arena, "%s/%s", group, parameter->name), STORE_F32,
                                 parameter->count, value, &error),
                &error);
    device_write(&device, parameter->value, 0, sizeof(float) * parameter->count, value);
    assert_good(device_finish(&device, &error), &error);
  }
}

void vector_compare_gradients(struct run *run, struct store *vector, const char *group, const struct graph *graph) {
  struct error error;
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    float *expected = ARENA_NEW(run->arena, float, parameter->count);
    const float *found = read_floats(run->arena, parameter->gradient, parameter->count);
    double largest = 0;
    assert_good(store_read_known(vector, arena_text(run->arena, "%s/%s", group, parameter->name), STORE_F32,
                                 parameter->count, expected, &error),
                &error);
    for (size_t k = 0; k < parameter->count; k++) largest = fmax(largest, fabs(expected[k]));
    double off = largest_difference(found, expected, parameter->count);
    assert_true(largest > 1e-5 || strstr(parameter->name, ".bias"));
    if (off > 4e-4 * fmax(largest, 1e-4)) fail_msg("%s is off by %g of %g", parameter->name, off, largest);
  }
}

void vector_check_order(struct run *run, struct store *vector) {
  uint32_t expected[VECTOR];
  struct error error;
  assert_good(store_read_known(vector, "order", STORE_U32, VECTOR, expected, &error), &error);
  for (int i = 0; i < VECTOR; i++)
    assert_int_equal(fitting_of(&run->training)->train.order.slice[i], expected[i]);
}
