/* Classifiers: an update against a vector in double precision; parts of a minibatch; going on; the area under the ROC curve
 * counted by hand; what is refused. */
#include "systems/classifier/classifier.h"
#include "systems/classifier/classes.h"
#include "tests/training.h"

#include <math.h>

static void set_options(struct run *run, const char *output) {
  set_training(run, METHOD_CLASSIFIER, output);
  run->task = &task_classifier;
  run->options.reconstruct.method = RECONSTRUCT_ZERO_FILLED;
  run->options.classifier.channels = 2;
  run->options.classifier.pools = 2;
  run->options.classifier.hidden = 16;
  run->options.data.labels = support_path(&folder, "labels.csv");
  run->options.data.label = "class";
}

/* Of all that the tests' folders may hold, by a label for each of four slices. */
static void write_labels(const float label[VECTOR]) {
  FILE *file = fopen(support_path(&folder, "labels.csv"), "w");
  assert_non_null(file);
  fprintf(file, "file,slice,class\n");
  for (int s = 0; s < VECTOR; s++) fprintf(file, "train/one,%d,%g\nval/one,%d,%g\n", s, (double)label[s], s, (double)label[s]);
  for (int i = 0; i < 60; i++)
    for (int s = 0; s < SLICES / 3; s++) fprintf(file, "file%d,%d,%g\n", 1000001 + i, s, (double)label[(i + s) % VECTOR]);
  fclose(file);
}

static void start(struct run *run) {
  struct error error;
  open_run(run, false);
  assert_good(minibatch_epoch(&fitting_of(&run->training)->train, 0, &error), &error);
}

/* ---- an update (tests/classifier_vectors.py) ------------------------------------------------------------- */

static void read_known(struct store *vector, const char *name, enum store_type element, size_t count, void *to) {
  struct error error;
  assert_good(store_read_known(vector, name, element, count, to, &error), &error);
}

/* In place of those that the epoch has drawn. */
static void write_masks(struct run *run, struct store *vector) {
  uint8_t masks[VECTOR * N];
  uint32_t order[VECTOR];
  struct error error;
  read_known(vector, "masks", STORE_U8, sizeof masks, masks);
  read_known(vector, "order", STORE_U32, VECTOR, order);
  device_write(&device, world_memory(run->training.train.simulation.world, EPOCH_mask), 0, sizeof masks, masks);
  assert_good(device_finish(&device, &error), &error);
  for (int i = 0; i < VECTOR; i++) assert_int_equal(fitting_of(&run->training)->train.order.slice[i], order[i]);
}

static void update(struct run *run) {
  run->training.task->step(&run->training);
  run->training.done++;
}

/* A rate of 0 leaves the parameters as the gradients saw them. */
static void an_update_is_that_of_the_vector(void **state) {
  struct run run;
  float label[VECTOR], expected[VECTOR];
  (void)state;
  set_options(&run, NULL);
  struct store *vector = vector_open(&run, "classifier_32.h5");
  vector_write_volumes(&run, vector);
  read_known(vector, "labels", STORE_F32, VECTOR, label);
  write_labels(label);
  run.options.classifier.classes = 3;
  run.options.train.batch = VECTOR;
  run.options.train.rate = 0;
  start(&run);
  const struct graph *graph = run.training.policy.graph;
  vector_read_parameters(&run, vector, "network", graph);
  policy_changed(&run.training.policy);
  write_masks(&run, vector);
  update(&run);
  read_known(vector, "log_likelihood", STORE_F32, VECTOR, expected);
  double off = largest_difference(read_floats(run.arena, fitting_of(&run.training)->parts, VECTOR), expected, VECTOR);
  if (off > 2e-5) fail_msg("log-likelihoods are off by %g", off);
  vector_compare_gradients(&run, vector, "gradient", graph);
  store_close(vector);
  close_run(&run);
}

static const float two[VECTOR] = {0, 1, 1, 0};

/* The same but for rounding, whatever part of a batch is taken at once. */
static void micro_batches_change_nothing(void **state) {
  struct run run[2];
  const float *after[2], *before = NULL;
  size_t count = 0;
  (void)state;
  write_labels(two);
  for (int k = 0; k < 2; k++) {
    set_options(&run[k], NULL);
    if (k) run[k].options.policy.batch = 2;
    start(&run[k]);
    const struct graph *graph = run[k].training.policy.graph;
    count = graph->elements;
    before = read_floats(run[k].arena, graph->values, count);
    update(&run[k]);
    after[k] = read_floats(run[k].arena, graph->values, count);
  }
  double moved = largest_difference(before, after[0], count);
  assert_true(moved > 0 && largest_difference(after[0], after[1], count) < 1e-3 * moved);
  for (int k = 0; k < 2; k++) close_run(&run[k]);
}

/* ---- the area under the ROC curve ------------------------------------------------------------------------ */

/* Probabilities of class 1, of which some are equal. */
static const double probability[] = {0.9, 0.2, 0.5, 0.5, 0.7, 0.2, 0.5, 0.1};
static const float positive[] = {1, 0, 1, 0, 0, 1, 1, 0};
enum { COUNT = sizeof positive / sizeof *positive, STRIDE = 3 };

/* Pairs of a positive and a negative: 4 x 4. */
static double count_pairs(void) {
  double won = 0;
  for (int i = 0; i < COUNT; i++)
    for (int k = 0; k < COUNT; k++)
      if (positive[i] > positive[k])
        won += probability[i] > probability[k] ? 1 : probability[i] < probability[k] ? 0 : 0.5;
  return won / 16;
}

static void fill_likely(float likely[COUNT * STRIDE]) {
  for (int i = 0; i < COUNT; i++) likely[i * STRIDE] = logf((float)(positive[i] > 0 ? probability[i] : 1 - probability[i]));
}

/* 0.9 beats 4; 0.5 beats 2 and ties one, twice; 0.2 beats one and ties one: 10.5 of 16. */
static void the_area_is_counted_with_ties(void **state) {
  float likely[COUNT * STRIDE] = {0}, worth[COUNT * STRIDE], label[COUNT];
  double mean = 0;
  (void)state;
  fill_likely(likely);
  double area = classes_auc(likely, positive, COUNT, STRIDE, worth);
  assert_true(fabs(count_pairs() - 10.5 / 16) < 1e-12 && fabs(area - 10.5 / 16) < 1e-7);
  for (int i = 0; i < COUNT; i++) mean += (double)worth[i * STRIDE] / COUNT;
  assert_true(fabs(mean - area) < 1e-6);
  /* the positive that beats all: its class's share of 8 slices times 1 less the area, above it */
  assert_true(fabs((double)worth[0] - (area + 8.0 / 4 * (1 - area))) < 1e-6);
  assert_true(classes_auc(likely, positive, COUNT, STRIDE, likely) == area); /* in its place */
  for (int i = 0; i < COUNT; i++) label[i] = 1;
  assert_true(isnan(classes_auc(likely, label, COUNT, STRIDE, NULL)));
  label[0] = 2;
  label[1] = 0;
  assert_true(isnan(classes_auc(likely, label, COUNT, STRIDE, NULL)));
}

/* A likelihood that is no number leaves none; a certain slice is no less than it is because others are not. */
static void odds_without_a_size(void **state) {
  const float nobody[] = {-1, NAN, -1, -1}, label[] = {1, 1, 0, 0}, certain[] = {-0.1f, -0.2f, 0, -3};
  (void)state;
  assert_true(isnan(classes_auc(nobody, label, 4, 1, NULL)));
  assert_true(fabs(classes_auc(certain, label, 4, 1, NULL) - 0.5) < 1e-12); /* the second negative is above both positives */
}

/* Probabilities so near 1 that they are 1 in single precision are told apart. */
static void certain_slices_have_an_order(void **state) {
  const float likely[] = {-1e-20f, -1e-30f, -1e-25f, -60}, label[] = {1, 1, 0, 0};
  (void)state;
  assert_true(fabs(classes_auc(likely, label, 4, 1, NULL) - 0.75) < 1e-12);
}

/* ---- files ----------------------------------------------------------------------------------------------- */

static const struct graph *graph_of(const struct training *training) {
  return training->policy.graph;
}

static void going_on_equals_never_stopping(void **state) {
  (void)state;
  write_labels(two);
  check_going_on(set_options, graph_of);
}

static void other_trainings_are_refused(void **state) {
  struct run run;
  const float three[VECTOR] = {0, 1, 2, 1}, half[VECTOR] = {0, 0.5, 1, 1};
  (void)state;
  set_halves(&run, set_options);
  run.options.classifier.hidden = 8;
  refuse(&run, "classifier.hidden was 16 and is 8 now");
  set_options(&run, NULL);
  run.options.data.label = run.options.data.labels = "";
  refuse(&run, "train.method is classifier, which needs labels of slices, and data.label is empty");
  write_labels(three);
  set_options(&run, NULL);
  refuse(&run, "has the label 2 (data.label class), and the classifier has 2 classes; labels must be whole numbers from 0 to 1");
  write_labels(half);
  set_options(&run, NULL);
  refuse(&run, "has the label 0.5 (data.label class)");
}

/* ---- the program ----------------------------------------------------------------------------------------- */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_update_is_that_of_the_vector), cmocka_unit_test(micro_batches_change_nothing),
      cmocka_unit_test(the_area_is_counted_with_ties),   cmocka_unit_test(odds_without_a_size),
      cmocka_unit_test(certain_slices_have_an_order),
      cmocka_unit_test(going_on_equals_never_stopping),  cmocka_unit_test(other_trainings_are_refused),
  };
  return cmocka_run_group_tests_name("classifier", tests, open_trainings, close_trainings);
}
