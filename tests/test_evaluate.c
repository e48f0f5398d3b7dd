/* Evaluations as a whole: what is kept beside the scores. */
#include "components/options.h"
#include "engine/files/store.h"
#include "systems/methods/evaluate.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { SLICES = 3, N = 32, PIXELS = N * N, PSNR = 2, NMSE = 4 /* rows of metric_list */ };

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

/* Of so many slices of the folder, two scans each. */
static void open_profile(struct evaluation *evaluation, struct folder *folder, struct device *device,
                         const char *profile, bool window, const char *curves, const char *most) {
  struct evaluate_config config = {.images = true, .kernel_folder = ""};
  static struct options options;
  struct error error;
  option_defaults(&option_table, &options, folder->arena);
  set(&options, folder, "data.path", folder->path);
  set(&options, folder, "data.size", "32");
  set(&options, folder, "data.most", most);
  set(&options, folder, "data.window", window ? "2" : "0");
  set(&options, folder, "data.order", "permuted");
  set(&options, folder, "world.envs", window ? "2" : "8");
  set(&options, folder, "evaluate.samplers", "random");
  set(&options, folder, "evaluate.trajectories", "2");
  set(&options, folder, "evaluate.curves", curves);
  set(&options, folder, "evaluate.metrics", "ssim,psnr,nmse");
  set(&options, folder, "evaluate.profile", profile);
  assert_good(evaluate_open(evaluation, device, &options, &config, &error), &error);
}

static float end_of(const struct evaluate_run *run, size_t metric, size_t scan) {
  size_t steps = acquisition_steps(&run->acquisition) + 1;
  return run->metric[metric][scan * steps + steps - 1];
}

/* A volume's scores from its first slice's row on, by the images that are kept, of one trajectory. */
static void compare_volume(const struct evaluation *evaluation, size_t trajectory, size_t first,
                           size_t slices) {
  const struct evaluate_run *run = evaluation->runs;
  const float *image = run->images + (trajectory * evaluation->slices + first) * PIXELS,
              *truth = evaluation->truth + first * PIXELS;
  const struct measure_images all = {image, truth, slices * N, N, N};
  size_t scan = trajectory * evaluation->slices + first;
  struct measure_sums sums = measure_errors(&all);
  double L = measure_peak(&all), ssim = 0;
  for (size_t s = 0; s < slices; s++) {
    const struct measure_images one = {image + s * PIXELS, truth + s * PIXELS, N, N, N};
    ssim += measure_ssim_uniform(&one, L) / (double)slices;
    for (size_t m = 0; s && m <= NMSE; m++) assert_true(!run->metric[m] || isnan(end_of(run, m, scan + s)));
  }
  assert_true(fabs(ssim / (double)end_of(run, 0, scan) - 1) < 1e-6);
  assert_true(
      fabs(measure_psnr(sums.square / (double)(slices * PIXELS), L) / (double)end_of(run, PSNR, scan) - 1) <
      1e-6);
  assert_true(fabs(sums.square / sums.power / (double)end_of(run, NMSE, scan) - 1) < 1e-6);
}

/* A slice's, by the range L. */
static void compare_slice(const struct evaluation *evaluation, size_t scan, bool gaussian) {
  const struct evaluate_run *run = evaluation->runs;
  size_t slice = scan % evaluation->slices;
  const struct measure_images one = {run->images + scan * PIXELS, evaluation->truth + slice * PIXELS, N, N,
                                     N};
  double L = evaluation->report.data_range[slice],
         ssim = gaussian ? measure_ssim_gaussian(&one, L) : measure_ssim_uniform(&one, L);
  if (!gaussian) assert_true(L == measure_peak(&one));
  assert_true(fabs(ssim / (double)end_of(run, 0, scan) - 1) < 1e-6);
}

static void write_second(struct folder *folder) {
  size_t bytes;
  const unsigned char *file = support_read(folder->arena, support_path(folder, "a.h5"), &bytes);
  support_write(support_path(folder, "b.h5"), file, bytes);
}

/* Scores follow from the images, whatever the order, the window and the number of scans at a time; curves end
 * in them. */
static void profiles_score_what_is_kept(void **state) {
  static const char *const names[] = {"fastmri", "pgmri", "pineda"};
  struct folder folder;
  support_open_folder(&folder);
  write_volume(&folder);
  write_second(&folder);
  for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
    struct evaluation evaluation, other;
    const char *name = names[i / 2];
    bool of_volumes = i / 2 == 0;
    open_profile(&evaluation, &folder, *state, name, i % 2, "true", "0");
    open_profile(&other, &folder, *state, name, !(i % 2), "false", "0");
    const struct evaluate_run *run = evaluation.runs, *end = other.runs;
    assert_true(run->scans == 2 * 2 * SLICES && (evaluation.truth[PIXELS / 2] == 40) == (i / 2 != 1));
    for (size_t scan = 0; scan < run->scans; scan++) {
      if (of_volumes && scan % SLICES == 0) compare_volume(&evaluation, scan / 6, scan % 6, SLICES);
      if (!of_volumes) compare_slice(&evaluation, scan, i / 2 == 1);
      for (size_t m = 0; m <= NMSE; m++)
        if (run->metric[m]) {
          float a = end_of(run, m, scan), b = end_of(end, m, scan);
          assert_true(a == b || (isnan(a) && isnan(b)));
        }
    }
    assert_true(isnan(end->metric[0][0]) && isfinite(run->metric[0][0]));
    double mean, std, two = 0;
    evaluate_mean(run, 0, acquisition_steps(&run->acquisition), &mean, &std);
    for (size_t scan = 0; scan < run->scans; scan += SLICES) two += (double)end_of(run, 0, scan) / 4;
    if (of_volumes) assert_true(fabs(mean / two - 1) < 1e-12);
    evaluate_close(&evaluation);
    evaluate_close(&other);
  }
  support_close_folder(&folder);
}

/* Of the second volume two slices of three are there. */
static void a_part_of_a_volume_is_its_score(void **state) {
  struct folder folder;
  struct evaluation evaluation;
  support_open_folder(&folder);
  write_volume(&folder);
  write_second(&folder);
  open_profile(&evaluation, &folder, *state, "fastmri", false, "false", "5");
  assert_true(evaluation.scores.volumes == 2 && evaluation.scores.partial == 1);
  compare_volume(&evaluation, 1, 0, 3);
  compare_volume(&evaluation, 1, 3, 2);
  evaluate_close(&evaluation);
  support_close_folder(&folder);
}

/* The file says no maximum, and the advice is none that the profile refuses. */
static void a_range_that_the_file_does_not_say_is_refused(void **state) {
  struct evaluate_config config = {.kernel_folder = ""};
  struct evaluation evaluation;
  struct options options;
  struct folder folder;
  struct error error;
  support_open_folder(&folder);
  write_volume(&folder);
  option_defaults(&option_table, &options, folder.arena);
  set(&options, &folder, "data.path", folder.path);
  set(&options, &folder, "data.size", "32");
  set(&options, &folder, "data.range", "attribute");
  set(&options, &folder, "evaluate.profile", "fastmri");
  assert_false(evaluate_open(&evaluation, *state, &options, &config, &error));
  assert_holds(error.text, "a.h5 has no attribute max; set data.range to volume");
  assert_null(strstr(error.text, "slice"));
  support_close_folder(&folder);
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_kept_is_what_was_scored),
                                            cmocka_unit_test(profiles_score_what_is_kept),
                                            cmocka_unit_test(a_part_of_a_volume_is_its_score),
                                            cmocka_unit_test(a_range_that_the_file_does_not_say_is_refused)};
  return cmocka_run_group_tests(tests, support_open_transforms, support_close_transforms);
}
