/* What a policy's first reconstructor is: R_dense follows from the scene's acceleration and size. */
#include "systems/methods/start.h"
#include "tests/support.h"

static const struct {
  uint32_t size;
  const char *acceleration;
  uint32_t initial, budget;
  const char *accelerations, *initials;
} dense[] = {{128, "4", 0, 0, "4,4,4,6,6,8", "4,6,8,6,8,8"}, /* scenes/train_unet_dense_*.yaml */
             {128, "8", 0, 0, "8,8,8,12,12,16", "8,12,16,12,16,16"},
             {256, "16", 0, 0, "16,16,16,24,24,32", "16,24,32,24,32,32"},
             {128, "5", 0, 0, "5,5,5,8,8,10", "5,8,10,8,10,10"},         /* halves are rounded up */
             {128, "4", 4, 12, "8,8,8,12,12,16", "8,12,16,12,16,16"},    /* 16 lines in all */
             {33, "4", 1, 1, "17,17,17,26,26,33", "17,26,33,26,33,33"}}; /* at least one line */

static void check_dense(size_t row) {
  struct arena *arena = arena_open();
  struct options options;
  struct error error;
  option_defaults(&option_table, &options, arena);
  options.alternate.start = "dense";
  options.data.size = option_square(dense[row].size);
  options.acquisition.acceleration = dense[row].acceleration;
  options.acquisition.initial_lines = dense[row].initial;
  options.acquisition.budget = dense[row].budget;
  assert_good(start_check(&options, &error) && start_set(&options, arena, &error), &error);
  assert_null(start_checkpoint(&options));
  assert_string_equal(options.train.accelerations, dense[row].accelerations);
  assert_string_equal(options.train.initial_accelerations, dense[row].initials);
  arena_close(arena);
}

static void test_dense(void **state) {
  (void)state;
  for (size_t row = 0; row < sizeof dense / sizeof *dense; row++) check_dense(row);
}

static void test_others(void **state) {
  struct arena *arena = arena_open();
  struct options options;
  struct error error;
  (void)state;
  option_defaults(&option_table, &options, arena);
  assert_good(start_check(&options, &error) && start_set(&options, arena, &error), &error);
  assert_null(start_checkpoint(&options));
  assert_string_equal(options.train.accelerations, "4"); /* sparse: as they are */
  options.alternate.start = "denes";
  assert_false(start_check(&options, &error));
  assert_holds(error.text, "alternate.start is 'denes'; it must be sparse, dense, or the file");
  options.learn.reconstructor = "run/best.h5"; /* alternate.start is of no account */
  assert_good(start_check(&options, &error), &error);
  assert_string_equal(start_checkpoint(&options), "run/best.h5");
  arena_close(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense), cmocka_unit_test(test_others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
