/* Evaluators: an update against a vector in double precision; parts of a minibatch; going on; what is
 * refused. */
#include "systems/evaluator/evaluator.h"
#include "tests/training.h"

#include <math.h>

static void set_options(struct run *run, const char *output) {
  set_training(run, METHOD_EVALUATOR, output);
  run->options.evaluator.channels = 2;
  run->options.evaluator.gamma = 0.5;
}

/* ---- an update (tests/evaluator_vectors.py) --------------------------------------------------------------
 */

/* In place of those that the epoch has drawn. */
static void write_masks(struct run *run, struct store *vector) {
  uint8_t masks[VECTOR * N];
  struct error error;
  assert_good(store_read_known(vector, "masks", STORE_U8, sizeof masks, masks, &error), &error);
  device_write(&device, world_memory(run->training.train.simulation.world, EPOCH_mask), 0, sizeof masks,
               masks);
  assert_good(device_finish(&device, &error), &error);
}

static void check_scores(struct run *run, struct store *vector) {
  const struct evaluator *evaluator = evaluator_of(&run->training);
  const float *found = read_floats(run->arena, evaluator->target, VECTOR * N);
  float expected[VECTOR * N];
  struct error error;
  assert_good(store_read_known(vector, "target", STORE_F32, VECTOR * N, expected, &error), &error);
  assert_true(largest_difference(found, expected, VECTOR * N) < 2e-5);
}

/* The last of the update's losses are of the true images alone, and of those before, the outputs. */
static void check_loss(struct run *run, struct store *vector) {
  const float *each = read_floats(run->arena, evaluator_of(&run->training)->loss, VECTOR);
  double expected, found = 0;
  struct error error;
  assert_good(store_read_known(vector, "loss", STORE_F64, 1, &expected, &error), &error);
  for (int i = 0; i < VECTOR; i++) found += (double)each[i] / VECTOR;
  if (fabs(found - expected) > 1e-4 * expected) fail_msg("the loss is %g, expected %g", found, expected);
}

/* A rate of 0 leaves the parameters as the gradients saw them. */
static void an_update_is_that_of_the_vector(void **state) {
  struct run run;
  (void)state;
  set_options(&run, NULL);
  struct store *vector = vector_open(&run, "evaluator_32.h5");
  vector_write_volumes(&run, vector);
  run.options.train.batch = VECTOR;
  run.options.train.rate = 0;
  start_run(&run);
  const struct graph *graph = run.training.policy.graph, *net = run.training.reconstructor.graph;
  vector_read_parameters(&run, vector, "network", graph);
  vector_read_parameters(&run, vector, "unet", net);
  policy_changed(&run.training.policy);
  reconstructor_changed(&run.training.reconstructor);
  vector_check_order(&run, vector);
  write_masks(&run, vector);
  fit_step(&run.training, 0, VECTOR);
  check_scores(&run, vector);
  check_loss(&run, vector);
  vector_compare_gradients(&run, vector, "gradient", graph);
  vector_compare_gradients(&run, vector, "unet_gradient", net);
  store_close(vector);
  close_run(&run);
}

/* The same but for rounding, whatever part of a batch is taken at once. */
static void micro_batches_change_nothing(void **state) {
  struct run run[2];
  const float *after[2], *before = NULL;
  size_t count = 0;
  (void)state;
  for (int k = 0; k < 2; k++) {
    set_options(&run[k], NULL);
    if (k) run[k].options.network.batch = 2;
    start_run(&run[k]);
    const struct graph *graph = run[k].training.policy.graph;
    count = graph->elements;
    before = read_floats(run[k].arena, graph->values, count);
    fit_step(&run[k].training, BATCH, BATCH);
    after[k] = read_floats(run[k].arena, graph->values, count);
  }
  double moved = largest_difference(before, after[0], count);
  assert_true(moved > 0 && largest_difference(after[0], after[1], count) < 1e-3 * moved);
  for (int k = 0; k < 2; k++) close_run(&run[k]);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const struct graph *graph_of(const struct training *training) {
  return training->policy.graph;
}

static void going_on_equals_never_stopping(void **state) {
  (void)state;
  check_going_on(set_options, graph_of);
}

static void other_trainings_are_refused(void **state) {
  struct run run;
  (void)state;
  refuse_other_method(set_options, "evaluator");
  set_halves(&run, set_options);
  run.options.evaluator.gamma = 100;
  refuse(&run, "evaluator.gamma was 0.5 and is 100 now");
  set_options(&run, NULL);
  run.options.acquisition.geometry = GEOMETRY_SPOKES;
  refuse(&run, "which tells columns of k-space apart, and acquisition.geometry is spokes");
}

/* ---- the program --------------------------------------------------------------------------------------- */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_update_is_that_of_the_vector),
      cmocka_unit_test(micro_batches_change_nothing),
      cmocka_unit_test(going_on_equals_never_stopping),
      cmocka_unit_test(other_trainings_are_refused),
  };
  return cmocka_run_group_tests_name("evaluator", tests, open_trainings, close_trainings);
}
