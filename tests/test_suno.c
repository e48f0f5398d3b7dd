/* SUNO: a pass of exchanges and the masks of nearest slices against vectors in double precision; what is stored, and read
 * again to scan and to train with; what is refused. */
#include "engine/files/part.h"
#include "engine/files/store.h"
#include "systems/scan/nearest.h"
#include "systems/scan/planned.h"
#include "tests/training.h"

#include <stdlib.h>
#include <string.h>

enum { TRAIN = 4, TEST = 2, LINES = 4 };

static struct store *open_vector(struct run *run) {
  struct store *store;
  struct error error;
  assert_good(store_open(&store, arena_text(run->arena, "%s/suno_32.h5", getenv("L2SR_TEST_DATA")), &error), &error);
  return store;
}

static void write_volume(struct run *run, struct store *vector, const char *split, size_t slices) {
  const size_t shape[] = {slices, N, N};
  float *images = ARENA_NEW(run->arena, float, slices *N *N);
  struct store *store;
  struct error error;
  assert_good(store_read_known(vector, split, STORE_F32, slices * N * N, images, &error), &error);
  assert_good(folder_make(support_path(&folder, arena_text(run->arena, "suno/%s", split)), &error), &error);
  assert_good(store_create(&store, support_path(&folder, arena_text(run->arena, "suno/%s/one.h5", split)), &error), &error);
  assert_good(store_write(store, "reconstruction_esc", STORE_F32, 3, shape, images, false, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

/* Zero-filled images, the published loss: nothing but lines is exchanged. */
static void set_options(struct run *run, const char *output) {
  set_training(run, METHOD_SUNO, output);
  run->options.data.path = support_path(&folder, "suno");
  run->options.reconstruct.method = RECONSTRUCT_ZERO_FILLED;
  while (strcmp(metric_list[run->options.reward.metric].name, "nmse") != 0) run->options.reward.metric++;
}

static void open_masks(struct run *run, bool resume) {
  const char *output = run->options.train.output;
  struct training_config config = {.task = &task_suno, .folder = *output ? output : NULL, .resume = resume, .kernel_folder = ""};
  struct error error;
  assert_good(training_open(&run->training, &device, &run->options, &config, &error), &error);
}

static uint8_t *read_masks(struct run *run, const struct world *world, size_t rows) {
  uint8_t *masks = ARENA_NEW(run->arena, uint8_t, rows *N);
  struct error error;
  device_read(&device, world_memory(world, ENV_mask), 0, rows * N, masks);
  assert_good(device_finish(&device, &error), &error);
  return masks;
}

static void compare_masks(struct run *run, const char *name, const uint8_t *found, size_t rows) {
  struct store *vector = open_vector(run);
  uint8_t *expected = ARENA_NEW(run->arena, uint8_t, rows *N);
  struct error error;
  assert_good(store_read_known(vector, name, STORE_U8, rows * N, expected, &error), &error);
  assert_memory_equal(found, expected, rows * N);
  store_close(vector);
}

static void a_pass_is_that_of_the_vector(void **state) {
  struct run run;
  struct error error;
  double worth;
  (void)state;
  set_options(&run, "masks");
  struct store *vector = open_vector(&run);
  write_volume(&run, vector, "train", TRAIN);
  write_volume(&run, vector, "val", TEST);
  assert_good(store_read_known(vector, "worth", STORE_F64, 1, &worth, &error), &error);
  store_close(vector);
  run.options.suno.log_every = 3;
  open_masks(&run, false);
  assert_int_equal(run.training.wanted, LINES);
  compare_masks(&run, "start", read_masks(&run, training_world(&run.training), TRAIN), TRAIN);
  run_epochs(&run);
  compare_masks(&run, "masks", read_masks(&run, training_world(&run.training), TRAIN), TRAIN);
  compare_masks(&run, "nearest", read_masks(&run, run.training.validation.simulation.world, TEST), TEST);
  const struct history *looks = &run.training.logged;
  assert_true(looks->count == 2 && looks->value[0][0] <= looks->value[0][1]);
  assert_true(looks->value[0][1] > worth - 1e-6 && looks->value[0][1] < worth + 1e-6);
  close_run(&run);
}

/* From `masks`, which has one pass: a second one begins with its lists anew, and only better masks are kept. */
static void passes_go_on(void **state) {
  struct run run;
  (void)state;
  set_options(&run, "masks");
  run.options.suno.passes = 2;
  open_masks(&run, true);
  assert_int_equal(run.training.done, LINES);
  run_epochs(&run);
  const struct history *looks = &run.training.logged;
  for (size_t i = 1; i < looks->count; i++) assert_true(looks->value[0][i] > looks->value[0][i - 1] - 1e-6);
  assert_int_equal(run.training.done, 2 * LINES);
  close_run(&run);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static struct masks_setup setup_of(struct run *run) {
  return (struct masks_setup){.device = &device,
                              .kernels = run->training.train.simulation.kernels,
                              .options = &run->options,
                              .acquisition = run->training.acquisition,
                              .batch = TEST};
}

static bool load(struct run *run, const struct masks_setup *setup, struct error *error) {
  struct nearest nearest;
  uint8_t *masks;
  memset(&nearest, 0, sizeof nearest);
  bool good = nearest_load(&nearest, support_path(&folder, "masks/last.h5"), setup, run->arena, &masks, error);
  nearest_close(&nearest);
  return good;
}

/* A mask of the file with a line too few, or of other scans. */
static void other_dictionaries_are_refused(void **state) {
  struct run run;
  struct error error;
  (void)state;
  set_options(&run, NULL);
  open_masks(&run, false);
  struct masks_setup setup = setup_of(&run);
  assert_good(load(&run, &setup, &error), &error);
  setup.acquisition.budget++;
  assert_false(load(&run, &setup, &error));
  assert_holds(error.text, "it was made for scans of 4 initial and 4 acquired lines");
  setup = setup_of(&run);
  setup.acquisition.shape.height = 2 * N;
  assert_false(load(&run, &setup, &error));
  assert_holds(error.text, "data.size");
  close_run(&run);
  struct training_config config = {.task = &task_suno_round, .policy = support_path(&folder, "masks/last.h5"), .kernel_folder = ""};
  set_options(&run, NULL);
  run.options.reconstruct.method = RECONSTRUCT_AUTO;
  run.options.data.path = support_path(&folder, "data");
  assert_false(training_open(&run.training, &device, &run.options, &config, &error));
  assert_holds(error.text, "it has masks of 4 slices");
  arena_close(run.arena);
}

static void a_round_trains_on_the_masks_of_its_slices(void **state) {
  struct run run;
  struct error error;
  (void)state;
  set_options(&run, NULL);
  run.options.reconstruct.method = RECONSTRUCT_AUTO;
  run.options.train.batch = TRAIN;
  struct training_config config = {.task = &task_suno_round, .policy = support_path(&folder, "masks/last.h5"), .kernel_folder = ""};
  assert_good(training_open(&run.training, &device, &run.options, &config, &error), &error);
  assert_good(run.training.task->begin(&run.training, 0, &error), &error);
  fit_step(&run.training, 0, TRAIN);
  const uint8_t *masks = read_masks(&run, training_world(&run.training), TRAIN);
  struct store *store;
  uint8_t stored[TRAIN * N];
  assert_good(store_open(&store, support_path(&folder, "masks/last.h5"), &error), &error);
  assert_good(store_read_known(store, "masks", STORE_U8, TRAIN * N, stored, &error), &error);
  store_close(store);
  const uint32_t *order = fitting_of(&run.training)->train.order.slice;
  for (size_t i = 0; i < TRAIN; i++) assert_memory_equal(masks + i * N, stored + order[i] * N, N);
  close_run(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pass_is_that_of_the_vector),
      cmocka_unit_test(passes_go_on),
      cmocka_unit_test(other_dictionaries_are_refused),
      cmocka_unit_test(a_round_trains_on_the_masks_of_its_slices),
  };
  return cmocka_run_group_tests_name("suno", tests, open_trainings, close_trainings);
}
