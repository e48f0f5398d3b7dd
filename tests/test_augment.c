/* Moved slices (data.augment): exactly the loaded ones turned, flipped and shifted as seed, slice and epoch
 * draw; what follows from them, and what stays. */
#include "engine/base/random.h"
#include "tests/training.h"

#include <math.h>
#include <string.h>

static void open_moving(struct run *run, const char *words) {
  set_training(run, METHOD_RECONSTRUCTOR, NULL);
  run->options.data.augment = words;
  open_run(run, false);
}

static float *column_of(struct run *run, struct minibatches *batches, unsigned column) {
  struct world *world = batches->split->simulation.world;
  struct error error;
  size_t floats = world_column_bytes(world, column) / sizeof(float);
  float *values = ARENA_NEW(run->arena, float, floats * batches->slices);
  support_get(world, column, 0, batches->slices, values);
  assert_good(device_finish(&device, &error), &error);
  return values;
}

static void begin(struct run *run, uint32_t epoch) {
  struct error error;
  assert_good(minibatch_epoch(&fitting_of(&run->training)->train, epoch, &error), &error);
}

static int drawn_shift(uint32_t word) {
  return (int)((uint64_t)word * 3 >> 32) - 1; /* N/32 is one pixel */
}

/* Quarter turns against the clock, then flips, then shifts: one after the other. */
static void move(const float *from, float *to, struct philox words, uint32_t kinds) {
  uint32_t turns = kinds & AUGMENT_TURNS ? words.word[0] >> 2 & 3 : 0;
  uint32_t flips = kinds & AUGMENT_FLIPS ? words.word[0] & 3 : 0;
  int down = kinds & AUGMENT_SHIFTS ? drawn_shift(words.word[1]) : 0;
  int right = kinds & AUGMENT_SHIFTS ? drawn_shift(words.word[2]) : 0;
  for (int i = 0; i < N * N; i++) {
    int y = i / N, x = i % N;
    for (uint32_t turn = 0; turn < turns; turn++) {
      int row = y;
      y = N - 1 - x;
      x = row;
    }
    y = flips & 1 ? N - 1 - y : y;
    x = flips & 2 ? N - 1 - x : x;
    to[(y + down + N) % N * N + (x + right + N) % N] = from[i];
  }
}

static void check_images(struct run *run, const float *loaded, uint32_t kinds, uint32_t epoch) {
  const float *image = column_of(run, &fitting_of(&run->training)->train, SLICE_image);
  float expected[N * N];
  for (uint32_t s = 0; s < SLICES; s++) {
    move(loaded + s * N * N, expected, random_words(run->options.world.seed, STREAM_MOVE, s, epoch), kinds);
    assert_memory_equal(image + s * N * N, expected, sizeof expected);
  }
}

static void check_close(struct run *run, struct run *other, unsigned column, double most) {
  const float *a = column_of(run, &fitting_of(&run->training)->train, column),
              *b = column_of(other, &fitting_of(&other->training)->train, column);
  for (int s = 0; s < SLICES; s++) assert_true(fabsf(a[s] - b[s]) <= most * fabsf(b[s]));
}

static void images_are_moved_as_drawn(void **state) {
  static const struct {
    const char *words;
    uint32_t kinds;
  } rows[] = {{"flips", AUGMENT_FLIPS},
              {"shifts", AUGMENT_SHIFTS},
              {"turns", AUGMENT_TURNS},
              {"turns,flips,shifts", AUGMENT_FLIPS | AUGMENT_SHIFTS | AUGMENT_TURNS}};
  struct run still, run;
  (void)state;
  open_moving(&still, "");
  begin(&still, 0);
  const float *loaded = column_of(&still, &fitting_of(&still.training)->train, SLICE_image);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    open_moving(&run, rows[i].words);
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
      begin(&run, epoch % 2);
      check_images(&run, loaded, rows[i].kinds, epoch % 2);
    }
    fitting_of(&run.training)->train.setup.round = 5;
    begin(&run, 1);
    check_images(&run, loaded, rows[i].kinds, (5 << 20) + 1);
    close_run(&run);
  }
  close_run(&still);
}

static void what_follows_and_what_stays(void **state) {
  struct run still, run;
  (void)state;
  open_moving(&still, "");
  open_moving(&run, "turns,flips,shifts");
  begin(&still, 0);
  begin(&run, 0);
  check_close(&run, &still, SLICE_mean, 1e-5);
  check_close(&run, &still, SLICE_std, 1e-5);
  check_close(&run, &still, SLICE_peak, 1e-5);
  check_close(&run, &still, SLICE_data_range, 0);
  assert_memory_equal(column_of(&run, &fitting_of(&run.training)->validation, SLICE_image),
                      column_of(&still, &fitting_of(&still.training)->validation, SLICE_image),
                      sizeof(float) * N * N * fitting_of(&run.training)->validation.slices);
  assert_false(world_has(still.training.train.simulation.world, SLICE_original));
  close_run(&run);
  close_run(&still);
}

static void other_words_are_refused(void **state) {
  struct run run;
  (void)state;
  set_training(&run, METHOD_RECONSTRUCTOR, NULL);
  run.options.data.augment = "flips,turn";
  refuse_open(&run, false, "data.augment has 'turn'; it must be a list of flips, shifts and turns");
  run.options.data.augment = "flips";
  run.options.data.kspace = KSPACE_MEASURED;
  refuse_open(&run, false, "data.augment is [flips] and data.kspace measured");
  arena_close(run.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(images_are_moved_as_drawn),
                                     cmocka_unit_test(what_follows_and_what_stays),
                                     cmocka_unit_test(other_words_are_refused)};
  return cmocka_run_group_tests(tests, open_trainings, close_trainings);
}
