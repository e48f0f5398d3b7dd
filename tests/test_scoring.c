/* Scores of evaluate.profile against those of the programs that it names (tests/make_profile_vectors.py), and
 * what is refused. */
#include "components/options.h"
#include "engine/files/store.h"
#include "systems/methods/scoring.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { HEIGHT = 40, WIDTH = 33, PIXELS = HEIGHT * WIDTH, SLICES = 5, VOLUMES = 2, SCORES = 4 };
enum { SSIM, SSIM_UNIFORM, PSNR, PSNR_UNCLAMPED, NMSE, MSE }; /* rows of metric_list */

static struct {
  float image[SLICES * PIXELS], truth[SLICES * PIXELS];
  double maximum[VOLUMES], fastmri[VOLUMES * SCORES], fastmri_attribute[VOLUMES * SCORES],
      pgmri_volume[VOLUMES * SCORES], pgmri[SLICES * 2], pineda[SLICES * SCORES];
} vectors;

static int read_vectors(void **state) {
  static const struct {
    const char *name;
    enum store_type type;
    size_t total;
    void *to;
  } rows[] = {{"image", STORE_F32, SLICES * PIXELS, vectors.image},
              {"truth", STORE_F32, SLICES * PIXELS, vectors.truth},
              {"maximum", STORE_F64, VOLUMES, vectors.maximum},
              {"fastmri", STORE_F64, VOLUMES * SCORES, vectors.fastmri},
              {"fastmri_attribute", STORE_F64, VOLUMES * SCORES, vectors.fastmri_attribute},
              {"pgmri_volume", STORE_F64, VOLUMES * SCORES, vectors.pgmri_volume},
              {"pgmri", STORE_F64, SLICES * 2, vectors.pgmri},
              {"pineda", STORE_F64, SLICES * SCORES, vectors.pineda}};
  struct store *store;
  struct error error;
  char path[512];
  (void)state;
  snprintf(path, sizeof path, "%s/profiles_40x33.h5", getenv("L2SR_TEST_DATA"));
  assert_good(store_open(&store, path, &error), &error);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_good(store_read_known(store, rows[i].name, rows[i].type, rows[i].total, rows[i].to, &error),
                &error);
  store_close(store);
  return 0;
}

/* Two volumes of three and two slices, of files that have so many. */
struct setting {
  struct arena *arena;
  struct options options;
  struct volume volume[VOLUMES];
  struct dataset dataset;
  struct slice_name names[SLICES];
  struct scoring_data scores;
};

static void set(struct setting *setting, const char *key, const char *value) {
  struct error error;
  assert_good(option_set(&option_table, &setting->options, setting->arena, key, value, "test", &error),
              &error);
}

static void open_setting(struct setting *setting, const char *profile) {
  static const struct slice_name names[SLICES] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}};
  *setting = (struct setting){.arena = arena_open()};
  option_defaults(&option_table, &setting->options, setting->arena);
  set(setting, "evaluate.profile", profile);
  for (size_t v = 0; v < VOLUMES; v++)
    setting->volume[v] = (struct volume){.path = v ? "folder/b.h5" : "folder/a.h5",
                                         .name = v ? "b.h5" : "a.h5",
                                         .slices = v ? 2 : 3,
                                         .image_height = HEIGHT,
                                         .image_width = WIDTH,
                                         .has_max = true,
                                         .max = vectors.maximum[v]};
  memcpy(setting->names, names, sizeof names);
  setting->dataset = (struct dataset){.volumes = setting->volume, .volume_count = VOLUMES};
  setting->scores = (struct scoring_data){
      .shape = scan_shape_make(HEIGHT, WIDTH, GEOMETRY_LINES), .slices = SLICES, .names = setting->names};
}

/* Scores of all images: [slice] of slices, [volume] of volumes. */
static void score(struct setting *setting, const bool asked[METRICS], float slices[SLICES][METRICS],
                  double volumes[VOLUMES][METRICS]) {
  struct error error;
  struct scoring_part part[SLICES];
  static float truth[SLICES * PIXELS];
  memcpy(truth, vectors.truth, sizeof truth);
  assert_good(scoring_plan(&setting->scores, &setting->options, &setting->dataset, setting->arena, &error),
              &error);
  for (size_t i = 0; i < SLICES; i++) scoring_see_truth(&setting->scores, i, truth + i * PIXELS);
  scoring_set_ranges(&setting->scores, &setting->dataset, &setting->options);
  for (size_t i = 0; i < SLICES; i++)
    part[i] =
        scoring_score(&setting->scores, i, vectors.image + i * PIXELS, truth + i * PIXELS, asked, slices[i]);
  for (size_t v = 0; v < VOLUMES; v++)
    for (size_t m = 0; m < METRICS; m++)
      volumes[v][m] = asked[m] && setting->scores.scoring->unit[m] == UNIT_VOLUME
                          ? scoring_volume_score(&setting->scores, v, m, part, 1)
                          : NAN;
}

static void assert_near(double found, double expected) {
  if (fabs(found / expected - 1) < 1e-6) return;
  print_error("%.12g, expected %.12g\n", found, expected);
  _fail(__FILE__, __LINE__);
}

static const size_t as_skimage[SCORES] = {SSIM, PSNR, NMSE, MSE};

static void volumes_are_scored_as_fastmri_does(void **state) {
  static const bool asked[METRICS] = {[SSIM] = true, [PSNR] = true, [NMSE] = true, [MSE] = true};
  float slices[SLICES][METRICS];
  double volumes[VOLUMES][METRICS];
  (void)state;
  for (int attribute = 0; attribute < 2; attribute++) {
    struct setting setting;
    open_setting(&setting, "fastmri");
    if (attribute) set(&setting, "data.range", "attribute");
    score(&setting, asked, slices, volumes);
    const double *expected = attribute ? vectors.fastmri_attribute : vectors.fastmri;
    for (size_t v = 0; v < VOLUMES; v++)
      for (size_t i = 0; i < SCORES; i++) assert_near(volumes[v][as_skimage[i]], expected[v * SCORES + i]);
    assert_true(setting.scores.volumes == 2 && setting.scores.partial == 0);
    arena_close(setting.arena);
  }
}

/* Units of the file are divided by data.scale; scores of images in other units are the same, but MSE. */
static void the_attribute_is_scaled(void **state) {
  struct setting setting;
  struct error error;
  (void)state;
  open_setting(&setting, "fastmri");
  set(&setting, "data.range", "attribute");
  set(&setting, "data.scale", "0.5");
  assert_good(scoring_plan(&setting.scores, &setting.options, &setting.dataset, setting.arena, &error),
              &error);
  scoring_set_ranges(&setting.scores, &setting.dataset, &setting.options);
  assert_true(setting.scores.range[0] == vectors.maximum[0] * 2 &&
              setting.scores.range[4] == vectors.maximum[1] * 2);
  arena_close(setting.arena);
}

static void slices_and_volumes_are_scored_as_pgmri_does(void **state) {
  static const bool asked[METRICS] = {true, true, true, true, true, true};
  static const size_t of_volumes[SCORES] = {SSIM_UNIFORM, PSNR_UNCLAMPED, NMSE, MSE};
  struct setting setting;
  float slices[SLICES][METRICS];
  double volumes[VOLUMES][METRICS];
  (void)state;
  open_setting(&setting, "pgmri");
  score(&setting, asked, slices, volumes);
  for (size_t i = 0; i < SLICES; i++) {
    assert_near((double)slices[i][SSIM], vectors.pgmri[2 * i]);
    assert_near((double)slices[i][PSNR], vectors.pgmri[2 * i + 1]);
  }
  for (size_t v = 0; v < VOLUMES; v++)
    for (size_t i = 0; i < SCORES; i++)
      assert_near(volumes[v][of_volumes[i]], vectors.pgmri_volume[v * SCORES + i]);
  arena_close(setting.arena);
}

static void slices_are_scored_as_active_mri_does(void **state) {
  static const bool asked[METRICS] = {[SSIM] = true, [PSNR] = true, [NMSE] = true, [MSE] = true};
  struct setting setting;
  float slices[SLICES][METRICS];
  double volumes[VOLUMES][METRICS];
  (void)state;
  open_setting(&setting, "pineda");
  score(&setting, asked, slices, volumes);
  for (size_t i = 0; i < SLICES; i++)
    for (size_t k = 0; k < SCORES; k++)
      assert_near((double)slices[i][as_skimage[k]], vectors.pineda[i * SCORES + k]);
  arena_close(setting.arena);
}

/* What lies beyond the size that the header says, or the image's own before padding, is not scored. */
static void crops_follow_the_file(void **state) {
  static const struct {
    const char *profile;
    size_t said_height, said_width, image_width, top, left, height, width;
  } known[] = {{"fastmri", 0, 0, WIDTH, 3, 0, 33, 33}, {"fastmri", 36, 30, WIDTH, 5, 1, 30, 30},
               {"fastmri", 0, 0, 28, 6, 2, 28, 28},    {"fastmri", 400, 400, WIDTH, 3, 0, 33, 33},
               {"pgmri", 36, 30, 28, 0, 0, 40, 33},    {"pineda", 0, 0, WIDTH, 0, 0, 40, 33},
               {"pineda", 36, 30, WIDTH, 2, 1, 36, 30}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct setting setting;
    struct error error;
    open_setting(&setting, known[i].profile);
    setting.volume[0].said_height = known[i].said_height;
    setting.volume[0].said_width = known[i].said_width;
    setting.volume[0].image_width = known[i].image_width;
    assert_good(scoring_plan(&setting.scores, &setting.options, &setting.dataset, setting.arena, &error),
                &error);
    const struct scoring_volume *volume = &setting.scores.volume[0];
    assert_true(volume->top == known[i].top && volume->left == known[i].left);
    assert_true(volume->height == known[i].height && volume->width == known[i].width);
    arena_close(setting.arena);
  }
}

static void a_part_of_a_volume_is_told(void **state) {
  struct setting setting;
  struct error error;
  (void)state;
  open_setting(&setting, "fastmri");
  setting.volume[1].slices = 6;
  setting.names[3].slice = 2;
  setting.names[4].slice = 3;
  assert_good(scoring_plan(&setting.scores, &setting.options, &setting.dataset, setting.arena, &error),
              &error);
  assert_int_equal(setting.scores.partial, 1);
  assert_string_equal(scoring_text(&setting.scores, &setting.dataset, setting.arena),
                      "1 of 2 by a part of their slices, first b.h5 by 2 of its 6, number 2 to 3");
  arena_close(setting.arena);
}

static void what_a_profile_does_not_have_is_refused(void **state) {
  static const struct {
    const char *profile, *key, *value, *part;
  } known[] = {
      {"fastmri", "evaluate.metrics", "ssim,ssim_uniform", "name some of ssim, psnr, nmse, mse"},
      {"pineda", "evaluate.metrics", "psnr_unclamped",
       "names psnr_unclamped, which evaluate.profile pineda does not"},
      {"fastmri", "data.range", "slice", "scores volumes and data.range is slice; set it to volume"}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct setting setting;
    struct error error;
    open_setting(&setting, known[i].profile);
    assert_good(scoring_check(&setting.options, &error), &error);
    set(&setting, known[i].key, known[i].value);
    assert_false(scoring_check(&setting.options, &error));
    assert_holds(error.text, known[i].part);
    arena_close(setting.arena);
  }
}

static void crops_that_fastmri_would_not_take_are_refused(void **state) {
  static const struct {
    size_t height, width;
    const char *part;
  } known[] = {{30, 33, "folder/b.h5: its images of 30x33 are wider than high"},
               {40, 6, "folder/b.h5: its images of 40x6 are smaller than the 7x7 window"}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct setting setting;
    struct error error;
    open_setting(&setting, "fastmri");
    setting.volume[1].image_height = known[i].height;
    setting.volume[1].image_width = known[i].width;
    assert_false(scoring_plan(&setting.scores, &setting.options, &setting.dataset, setting.arena, &error));
    assert_holds(error.text, known[i].part);
    arena_close(setting.arena);
  }
}

static void padded_columns_follow_the_profile(void **state) {
  static const struct {
    const char *profile;
    uint8_t mask[6];
  } known[] = {{"fastmri", {0, 1, 0, 1, 0, 0}},
               {"pineda", {1, 1, 0, 1, 1, 1}},
               {"pgmri", {1, 1, 0, 1, 0, 1}},
               {"l2sr", {1, 1, 0, 1, 0, 1}}};
  const struct scan_shape shape = {.height = 4, .width = 6, .actions = 6, .padded_left = 1, .padded_right = 2};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint8_t mask[6] = {1, 1, 0, 1, 0, 1};
    scoring_pad_mask(scoring_named(known[i].profile), &shape, mask);
    assert_memory_equal(mask, known[i].mask, sizeof mask);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(volumes_are_scored_as_fastmri_does),
                                            cmocka_unit_test(the_attribute_is_scaled),
                                            cmocka_unit_test(slices_and_volumes_are_scored_as_pgmri_does),
                                            cmocka_unit_test(slices_are_scored_as_active_mri_does),
                                            cmocka_unit_test(crops_follow_the_file),
                                            cmocka_unit_test(a_part_of_a_volume_is_told),
                                            cmocka_unit_test(what_a_profile_does_not_have_is_refused),
                                            cmocka_unit_test(crops_that_fastmri_would_not_take_are_refused),
                                            cmocka_unit_test(padded_columns_follow_the_profile)};
  return cmocka_run_group_tests(tests, read_vectors, NULL);
}
