/* Evaluations as a whole: what is kept beside the scores. */
#include "components/options.h"
#include "engine/files/store.h"
#include "systems/methods/evaluate.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { SLICES = 3, N = 32, PIXELS = N * N, NMSE = 4 /* its row in metric_list */ };

/* Noise on an offset, and one pixel far above. */
static void write_volume(struct folder *folder) {
  static float pixel[SLICES * PIXELS];
  const size_t shape[] = {SLICES, N, N};
  struct store *store;
  struct error error;
  uint32_t state = 1;
  for (size_t i = 0; i < SLICES * PIXELS; i++) {
    state = state * 1664525u + 1013904223u;
    pixel[i] = 1 + (float)(state >> 8) / 0x1p24f;
  }
  for (size_t s = 0; s < SLICES; s++) pixel[s * PIXELS + PIXELS / 2] = 40;
  assert_good(store_create(&store, support_path(folder, "a.h5"), &error), &error);
  assert_good(store_write(store, "reconstruction_esc", STORE_F32, 3, shape, pixel, false, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

static void set(struct options *options, struct folder *folder, const char *key, const char *value) {
  struct error error;
  assert_good(option_set(&option_table, options, folder->arena, key, value, "test", &error), &error);
}

/* NMSE of the images that are kept is the NMSE of the table, with all slices on the device and with one. */
static void what_is_kept_is_what_was_scored(void **state) {
  static float truth[SLICES * PIXELS];
  struct folder folder;
  struct options options;
  support_open_folder(&folder);
  write_volume(&folder);
  option_defaults(&option_table, &options, folder.arena);
  set(&options, &folder, "data.path", folder.path);
  set(&options, &folder, "data.size", "32");
  set(&options, &folder, "evaluate.samplers", "lowest_index");
  set(&options, &folder, "evaluate.metrics", "nmse");
  for (int window = 0; window < 2; window++) {
    struct evaluation evaluation;
    struct evaluate_config config = {.images = true, .kernel_folder = ""};
    struct error error;
    set(&options, &folder, "data.window", window ? "1" : "0");
    set(&options, &folder, "world.envs", window ? "1" : "8");
    assert_good(evaluate_open(&evaluation, *state, &options, &config, &error), &error);
    const struct evaluate_run *run = evaluation.runs;
    size_t steps = acquisition_steps(&run->acquisition) + 1;
    for (size_t s = 0; s < SLICES; s++) {
      double plain = 0, power = 0;
      for (size_t i = s * PIXELS; i < (s + 1) * PIXELS; i++) {
        double gap = (double)run->images[i] - (double)evaluation.truth[i];
        plain += gap * gap, power += (double)evaluation.truth[i] * (double)evaluation.truth[i];
      }
      assert_true(fabs(plain / power / (double)run->metric[NMSE][s * steps + steps - 1] - 1) < 1e-4);
      assert_true(evaluation.truth[s * PIXELS + PIXELS / 2] < 30); /* the file has 40 */
    }
    if (window) assert_memory_equal(evaluation.truth, truth, sizeof truth);
    memcpy(truth, evaluation.truth, sizeof truth);
    evaluate_close(&evaluation);
  }
  support_close_folder(&folder);
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_kept_is_what_was_scored)};
  return cmocka_run_group_tests(tests, support_open_transforms, support_close_transforms);
}
