/* Straight-through policies: an update against a vector in double precision; draws of exactly the budget; the fused path;
 * parts of a minibatch; a reconstructor that stays; going on; what is refused. */
#include "systems/planned/through.h"
#include "tests/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 8 };

static void set_options(struct run *run, const char *output) {
  set_training(run, METHOD_STRAIGHT_THROUGH, output);
  run->options.policy.channels = run->options.policy.pools = 2;
  run->options.policy.hidden = 16;
}

static void set_steps(struct run *run, const char *output) {
  set_options(run, output);
  run->options.straight_through.steps = 2;
}

/* ---- an update (tests/through_vectors.py) --------------------------------------------------------------- */

/* A rate of 0 leaves the parameters as the gradient saw them. */
static void an_update_is_that_of_the_vector(void **state) {
  struct run run;
  struct error error;
  double expected, values[TRAINING_VALUES] = {0};
  (void)state;
  set_steps(&run, NULL);
  struct store *vector = vector_open(&run, "through_32.h5");
  vector_write_volumes(&run, vector);
  run.options.train.batch = VECTOR;
  run.options.train.rate = 0;
  start_run(&run);
  struct through *through = training_through(&run.training);
  vector_read_parameters(&run, vector, "policy", through->policy.graph);
  vector_read_parameters(&run, vector, "unet", run.training.reconstructor.graph);
  policy_changed(&through->policy);
  reconstructor_changed(&run.training.reconstructor);
  vector_check_order(&run, vector);
  fit_step(&run.training, 0, VECTOR);
  run.training.done = 1;
  assert_good(fit_log(&run.training, values, &error), &error);
  assert_good(store_read_known(vector, "loss", STORE_F64, 1, &expected, &error), &error);
  assert_true(fabs(values[0] - expected) < 1e-5);
  vector_compare_gradients(&run, vector, "gradient", through->policy.graph);
  store_close(vector);
  close_run(&run);
}

/* Where the device lacks the matrix instructions, its lanes are emulated. */
static void the_fused_path_gives_the_same_gradient(void **state) {
  const float *gradient[2];
  struct run run[2];
  double largest = 0;
  size_t count = 0;
  (void)state;
  for (int fused = 0; fused < 2; fused++) {
    enum device_matrix matrix = device.facts.matrix;
    if (!fused || matrix == MATRIX_NONE) device.facts.matrix = fused ? MATRIX_EMULATED : MATRIX_NONE;
    set_options(&run[fused], NULL);
    run[fused].options.network.channels = run[fused].options.policy.channels = 16;
    run[fused].options.network.pools = run[fused].options.policy.pools = 1;
    run[fused].options.train.rate = 0;
    start_run(&run[fused]);
    const struct graph *graph = training_through(&run[fused].training)->policy.graph;
    assert_int_equal(training_through(&run[fused].training)->policy.blocks != NULL, fused);
    fit_step(&run[fused].training, 0, BATCH);
    count = graph->elements;
    gradient[fused] = read_floats(run[fused].arena, graph->gradients, count);
    device.facts.matrix = matrix;
  }
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(gradient[0][i]));
  assert_true(largest > 0 && largest_difference(gradient[0], gradient[1], count) < 2e-2 * largest);
  for (int k = 0; k < 2; k++) close_run(&run[k]);
}

/* ---- draws --------------------------------------------------------------------------------------------- */

static float *read_masks(struct run *run, size_t first, size_t images) {
  struct world *world = run->training.train.simulation.world;
  uint8_t *bytes = ARENA_NEW(run->arena, uint8_t, images * N);
  float *masks = ARENA_NEW(run->arena, float, images *N);
  struct error error;
  fit_step(&run->training, first, images);
  device_read(&device, world_memory(world, ENV_mask), 0, images * N, bytes);
  assert_good(device_finish(&device, &error), &error);
  for (size_t i = 0; i < images * N; i++) masks[i] = bytes[i];
  return masks;
}

/* After an update of one step the environments still have its masks. */
static void masks_have_the_budget_and_are_of_their_samples(void **state) {
  struct run run[2];
  const float *mask[2];
  int differ = 0;
  (void)state;
  for (int k = 0; k < 2; k++) {
    set_options(&run[k], NULL);
    run[k].options.train.rate = 0;
    start_run(&run[k]);
    mask[k] = read_masks(&run[k], k, BATCH);
    for (int i = 0; i < BATCH; i++) {
      double lines = 0;
      for (int line = 0; line < N; line++) lines += mask[k][i * N + line];
      assert_true(lines == LINES && mask[k][i * N + N / 2] == 1);
      differ += memcmp(mask[k] + i * N, mask[k], sizeof(float) * N) != 0;
    }
  }
  assert_true(differ > 0);
  assert_memory_equal(mask[0] + N, mask[1], sizeof(float) * (BATCH - 1) * N); /* each is of its sample */
  for (int k = 0; k < 2; k++) close_run(&run[k]);
}

static void steps_share_the_budget(void **state) {
  (void)state;
  const uint32_t expected[] = {9, 9, 10};
  for (uint32_t i = 0; i < 3; i++) assert_int_equal(net_through_lines(28, 3, i), expected[i]);
}

/* The same but for rounding, whatever part of a batch is taken at once. */
static void micro_batches_change_nothing(void **state) {
  struct run run[2];
  const float *after[2], *before = NULL;
  size_t count = 0;
  (void)state;
  for (int k = 0; k < 2; k++) {
    set_steps(&run[k], NULL);
    if (k) run[k].options.network.batch = 2;
    start_run(&run[k]);
    const struct graph *graph = training_through(&run[k].training)->policy.graph;
    count = graph->elements;
    before = read_floats(run[k].arena, graph->values, count);
    fit_step(&run[k].training, BATCH, BATCH);
    after[k] = read_floats(run[k].arena, graph->values, count);
  }
  double moved = largest_difference(before, after[0], count);
  assert_true(moved > 0 && largest_difference(after[0], after[1], count) < 1e-3 * moved);
  for (int k = 0; k < 2; k++) close_run(&run[k]);
}

static void a_step_allocates_nothing(void **state) {
  struct run run;
  struct error error;
  (void)state;
  set_steps(&run, NULL);
  start_run(&run);
  fit_step(&run.training, 0, BATCH);
  uint64_t allocations = device.allocations, bytes = device.bytes;
  for (int i = 0; i < 3; i++) fit_step(&run.training, 0, BATCH);
  assert_good(device_finish(&device, &error), &error);
  assert_int_equal(device.allocations, allocations);
  assert_int_equal(device.bytes, bytes);
  close_run(&run);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const struct graph *graph_of(const struct training *training) {
  return training_through(training)->policy.graph;
}

static void going_on_equals_never_stopping(void **state) {
  (void)state;
  check_going_on(set_steps, graph_of);
}

/* `halves` holds a training with Adam by now, whose reconstructor stays here while the policy learns. */
static void a_fixed_reconstructor_stays(void **state) {
  struct run run;
  struct error error;
  (void)state;
  set_options(&run, NULL);
  run.options.straight_through.joint = false;
  refuse_open(&run, false, "train.start is empty");
  run.options.train.start = support_path(&folder, "halves/best.h5");
  struct training_config config = {.task = &task_straight_through, .start = run.options.train.start, .kernel_folder = ""};
  assert_good(training_open(&run.training, &device, &run.options, &config, &error), &error);
  assert_good(minibatch_epoch(&fitting_of(&run.training)->train, 0, &error), &error);
  const struct graph *net = run.training.reconstructor.graph, *policy = graph_of(&run.training);
  const float *net_before = read_floats(run.arena, net->values, net->elements),
              *before = read_floats(run.arena, policy->values, policy->elements);
  fit_step(&run.training, 0, BATCH);
  assert_memory_equal(read_floats(run.arena, net->values, net->elements), net_before, sizeof(float) * net->elements);
  assert_true(largest_difference(read_floats(run.arena, policy->values, policy->elements), before, policy->elements) > 0);
  close_run(&run);
}

static void other_trainings_are_refused(void **state) {
  struct run run;
  (void)state;
  refuse_other_method(set_options, "straight_through");
  set_halves(&run, set_options);
  run.options.straight_through.steps = 4;
  refuse(&run, "straight_through.steps was 2 and is 4 now");
  set_options(&run, NULL);
  run.options.straight_through.steps = 8;
  refuse(&run, "every step takes one at least");
  set_options(&run, NULL);
  run.options.acquisition.geometry = GEOMETRY_POINTS;
  refuse(&run, "whose policy chooses lines, and acquisition.geometry is points");
  set_options(&run, NULL);
  set_complex(&run);
  refuse(&run, "whose policy sees magnitudes");
}

/* ---- the program --------------------------------------------------------------------------------------- */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_update_is_that_of_the_vector),
      cmocka_unit_test(the_fused_path_gives_the_same_gradient),
      cmocka_unit_test(masks_have_the_budget_and_are_of_their_samples),
      cmocka_unit_test(steps_share_the_budget),
      cmocka_unit_test(micro_batches_change_nothing),
      cmocka_unit_test(a_step_allocates_nothing),
      cmocka_unit_test(going_on_equals_never_stopping),
      cmocka_unit_test(a_fixed_reconstructor_stays),
      cmocka_unit_test(other_trainings_are_refused),
  };
  return cmocka_run_group_tests_name("through", tests, open_trainings, close_trainings);
}
