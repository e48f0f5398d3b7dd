/* Scans, trainings and results of images that are no squares. */
#include "systems/public/l2sr.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "engine/device/fft.h"
#include "engine/files/part.h"
#include "engine/files/store.h"
#include "systems/data/phantom.h"
#include "systems/methods/evaluate.h"
#include "systems/methods/methods.h"
#include "systems/sampling/geometry.h"
#include "systems/sampling/mask_file.h"
#include "systems/scan/systems.h"
#include "systems/scan/transform.h"
#include "tests/scans.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sides below the option's range keep the tests small. */
static struct option_sides sides_of(uint32_t height, uint32_t width) {
  return (struct option_sides){height, width};
}

/* ---- geometry and masks -------------------------------------------------------------------------------- */

/* Columns of every row, or single points in rows; the square of given points lies around the middle of both
 * axes. */
static void actions_are_of_both_sides(void **state) {
  struct scene scene;
  uint32_t cell[6];
  (void)state;
  plan_sides(&scene, GEOMETRY_LINES, sides_of(6, 10), 2, "base");
  const struct scan_shape *shape = &scene.acquisition.shape;
  assert_int_equal(shape->actions, 10);
  assert_int_equal(geometry_cells(shape), 6);
  geometry_of(&scene.acquisition)->cells(shape, 7, cell);
  for (uint32_t row = 0; row < 6; row++) assert_int_equal(cell[row], 10 * row + 7);
  assert_true(fabs(geometry_acceleration(geometry_of(&scene.acquisition), shape, 4) - 2.5) < 1e-12);
  arena_close(scene.arena);
  plan_sides(&scene, GEOMETRY_POINTS, sides_of(20, 12), 4, "base");
  assert_int_equal(scene.acquisition.shape.actions, 240);
  assert_int_equal(scene.acquisition.initial_side, 6); /* 2 round(root(240) / (2 root(8))) */
  assert_int_equal(scene.acquisition.initial_lines + scene.acquisition.budget, 60);
  for (size_t p = 0; p < 240; p++) {
    bool given = p / 12 >= 7 && p / 12 < 13 && p % 12 >= 3 && p % 12 < 9;
    assert_int_equal(acquisition_is_initial(&scene.acquisition, p), given);
  }
  arena_close(scene.arena);
}

static void refuse_plan(enum acquisition_geometry geometry, uint32_t side, const char *part) {
  struct arena *arena = arena_open();
  struct options options;
  struct acquisition acquisition;
  struct error error;
  option_defaults(&option_table, &options, arena);
  options.data.size = sides_of(32, 48);
  options.acquisition.geometry = geometry;
  options.acquisition.initial_side = side;
  assert_false(acquisition_plan(&acquisition, &options, 4, "base", &error));
  assert_holds(error.text, part);
  arena_close(arena);
}

static void what_wants_a_square_says_so(void **state) {
  (void)state;
  refuse_plan(GEOMETRY_SPOKES, 0,
              "acquisition.geometry is spokes, which are of a square, and data.size is [32, 48]; set "
              "data.size to one "
              "number, or acquisition.geometry to lines or points");
  refuse_plan(GEOMETRY_POINTS, 33, "acquisition.initial_side is 33; k-space has 32x48 points, set it lower");
}

/* Both edges of k-space are as far from its centre: a density has there what it has at the edges of a square.
 */
static void densities_end_at_both_edges(void **state) {
  struct scene scene;
  struct error error;
  uint32_t table[24 * 40];
  (void)state;
  plan_sides(&scene, GEOMETRY_POINTS, sides_of(24, 40), 4, "base");
  assert_good(sampler_fill(sampler_find("variable_density", &error), &scene.options, &scene.acquisition,
                           table, &error),
              &error);
  for (size_t step = 1; step < 4; step++) /* three rows are as far as five columns */
    assert_int_equal(table[(12 - 3 * step) * 40 + 20], table[12 * 40 + 20 - 5 * step]);
  assert_true(table[12 * 40 + 20] > table[9 * 40 + 20] && table[9 * 40 + 20] > table[6 * 40 + 20]);
  arena_close(scene.arena);
}

static void masks_of_files_have_both_sides(void **state) {
  struct folder folder;
  struct acquisition acquisition = {.shape = {3, 5, 5}, .geometry = GEOMETRY_LINES};
  uint8_t mask[15];
  struct error error;
  (void)state;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "mask.txt");
  support_write_text(path, "0 1 1 0 1\n0 1 1 0 1\n0 1 1 0 1\n");
  assert_good(mask_file_read(path, &acquisition, mask, &error), &error);
  assert_memory_equal(mask, "\0\1\1\0\1", 5);
  support_write_text(path, "0 1 1 0 1\n0 1 1 0 1\n0 1 1 0 0\n");
  assert_false(mask_file_read(path, &acquisition, mask, &error));
  assert_holds(error.text,
               "holds 3 x 5 values, and its rows differ; whole columns are acquired: give one row of 5");
  support_write_text(path, "0 1 1\n");
  assert_false(mask_file_read(path, &acquisition, mask, &error));
  assert_holds(error.text, "holds 3 values; 5 are expected at data.size [3, 5]");
  support_close_folder(&folder);
}

static void sides_are_said_and_read_again(void **state) {
  static const char *const bad[] = {"",     "[",  "[3]", "[3, 5",  "[3;5]",   "[0, 5]",
                                    "3, 5", "-3", "0",   "[5, 5]", "[3, 5] ", "x"};
  char text[SCAN_SHAPE_TEXT];
  struct scan_shape shape;
  (void)state;
  assert_string_equal(scan_shape_text(&(struct scan_shape){.height = 640, .width = 368, .actions = 0}, text), "[640, 368]");
  assert_true(scan_shape_read(text, &shape) && shape.height == 640 && shape.width == 368);
  assert_string_equal(scan_shape_text(&(struct scan_shape){.height = 128, .width = 128, .actions = 0}, text), "128");
  assert_true(scan_shape_read(text, &shape) && shape.height == 128 && shape.width == 128);
  assert_true(scan_shape_read("[640,368]", &shape) && shape.height == 640 && shape.width == 368);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_false(scan_shape_read(bad[i], &shape));
    assert_true(!shape.height && !shape.width);
  }
}

/* ---- observations -------------------------------------------------------------------------------------- */

enum { LONGEST = 1024 };

/* Along index i of `from`, at `stride`: the centred orthonormal transform of sign -1 or 1 at frequency k. */
static double complex turn(const double complex *from, size_t stride, size_t n, size_t k, int sign) {
  static double complex root[LONGEST];
  static size_t roots;
  double complex sum = 0;
  for (size_t i = 0; roots != n && i < n; i++) root[i] = cexp(2 * M_PI * I * (double)i / (double)n);
  roots = n;
  size_t far = (k + n - n / 2) % n, at = (n - n / 2) * far % n;
  for (size_t i = 0; i < n; i++, at = at + far < n ? at + far : at + far - n)
    sum += from[i * stride] * root[sign < 0 && at ? n - at : at];
  return sum / sqrt((double)n);
}

/* |IFFT2c(M FFT2c(image))| in double, straight from the definition. */
static void observe_slowly(const struct scan_shape *shape, const float *image, const uint8_t *cells,
                           double *magnitude) {
  struct arena *arena = arena_open();
  size_t h = shape->height, w = shape->width, pixels = h * w;
  double complex *a = arena_new(arena, pixels * sizeof *a), *b = arena_new(arena, pixels * sizeof *b);
  for (size_t i = 0; i < pixels; i++) a[i] = image[i];
  for (size_t i = 0; i < pixels; i++) b[i] = turn(a + i / w * w, 1, w, i % w, -1);
  for (size_t i = 0; i < pixels; i++) a[i] = cells[i] ? turn(b + i % w, w, h, i / w, -1) : 0;
  for (size_t i = 0; i < pixels; i++) b[i] = turn(a + i / w * w, 1, w, i % w, 1);
  for (size_t i = 0; i < pixels; i++) magnitude[i] = cabs(turn(b + i % w, w, h, i / w, 1));
  arena_close(arena);
}

static void check_image(struct scene *scene, size_t env) {
  struct world *world = scene->simulation.world;
  const struct scan_shape *shape = &scene->acquisition.shape;
  size_t pixels = scan_shape_pixels(shape);
  struct arena *arena = arena_open();
  float *image = ARENA_NEW(arena, float, pixels), *found = ARENA_NEW(arena, float, pixels), unit;
  uint8_t *mask = ARENA_NEW(arena, uint8_t, shape->actions), *cells = ARENA_NEW(arena, uint8_t, pixels);
  double *expected = ARENA_NEW(arena, double, pixels), worst = 0, most = 0;
  uint32_t slice;
  support_get(world, ENV_slice, env, 1, &slice);
  support_get(world, ENV_mask, env, 1, mask);
  support_get(world, SLICE_image, slice, 1, image);
  support_get(world, SLICE_unit, slice, 1, &unit);
  support_get(world, ENV_magnitude, env, 1, found);
  geometry_mask(geometry_of(&scene->acquisition), shape, mask, cells);
  observe_slowly(shape, image, cells, expected);
  for (size_t i = 0; i < pixels; i++) {
    worst = fmax(worst, fabs(expected[i] / (double)unit - (double)found[i]));
    most = fmax(most, expected[i] / (double)unit);
  }
  assert_true(worst < 3e-6 * most);
  arena_close(arena);
}

/* Lines by the transform in registers and by sums, points by sums. */
static void scans_are_observed_on_rectangles(void **state) {
  static const struct {
    enum acquisition_geometry geometry;
    struct option_sides sides;
    const char *sampler;
  } rows[] = {{GEOMETRY_LINES, {48, 32}, "random"},
              {GEOMETRY_LINES, {32, 40}, "poisson_disc"},
              {GEOMETRY_LINES, {45, 33}, "oracle"},
              {GEOMETRY_LINES, {37, 34}, "low_bias"}, /* lengths that clFFT does not take */
              {GEOMETRY_POINTS, {24, 36}, "random"},
              {GEOMETRY_POINTS, {23, 31}, "random"},
              {GEOMETRY_SPOKES, {31, 31}, "random"},
              {GEOMETRY_POINTS, {64, 32}, "variable_density"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct scene scene;
    plan_sides(&scene, rows[i].geometry, rows[i].sides, 4, "base");
    struct simulation_plan plan = {.slices = 3,
                                   .envs = 5,
                                   .rollout_steps = acquisition_steps(&scene.acquisition) + 1,
                                   .images = IMAGES_EVERY_STEP,
                                   .metrics = "ssim,nmse",
                                   .deciders = strcmp(rows[i].sampler, "oracle") ? 0 : DECIDES_ORACLE,
                                   .record = true};
    struct error error;
    assert_good(simulation_open(&scene.simulation, *state, &scene.options, &plan, &error), &error);
    support_fill_slices(scene.simulation.world, 3);
    run_scans(&scene, rows[i].sampler, 0, 5);
    for (size_t env = 0; env < 5; env += 2) check_image(&scene, env);
    close_scene(&scene);
  }
}

/* fastMRI's knees, whose width is 16 times 23, by sums of lines; and points of a plane whose cells are looked up a band
 * of columns at a time (kernels/observe.cl). */
static void large_planes_are_observed(void **state) {
  static const struct {
    enum acquisition_geometry geometry;
    struct option_sides sides;
    uint32_t budget; /* 0: by the acceleration */
  } rows[] = {{GEOMETRY_LINES, {640, 368}, 2}, {GEOMETRY_POINTS, {1024, 272}, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct scene scene;
    plan_sides(&scene, rows[i].geometry, rows[i].sides, 8, "base");
    if (rows[i].budget) scene.acquisition.budget = rows[i].budget;
    struct simulation_plan plan = {
        .slices = 1, .envs = 1, .images = IMAGES_EVERY_STEP, .rollout_steps = acquisition_steps(&scene.acquisition) + 1};
    struct error error;
    assert_good(simulation_open(&scene.simulation, *state, &scene.options, &plan, &error), &error);
    support_fill_slices(scene.simulation.world, 1);
    run_scans(&scene, "random", 0, 1);
    check_image(&scene, 0);
    close_scene(&scene);
  }
  support_optimise(false); /* programs that are built by now stay, and are those of other tests */
}

/* ---- images that are solved for ------------------------------------------------------------------------- */

/* What tests/solver_vectors.py has of a grid. */
struct odd {
  enum acquisition_geometry geometry;
  struct option_sides sides;
  const char *name;
};

static void read_odd(const struct odd *odd, const char *name, enum store_type type, size_t count, void *to) {
  struct arena *arena = arena_open();
  struct store *store;
  struct error error;
  assert_good(store_open(&store, arena_text(arena, "%s/solvers_odd.h5", getenv("L2SR_TEST_DATA")), &error), &error);
  assert_good(store_read_known(store, arena_text(arena, "%s/%s", odd->name, name), type, count, to, &error), &error);
  store_close(store);
  arena_close(arena);
}

enum { ODD_MOST = 45 * 33 };

static void open_odd(struct scene *scene, struct device *device, const struct odd *odd, uint32_t method) {
  static float image[ODD_MOST];
  static uint8_t mask[ODD_MOST];
  const uint32_t slice = 0;
  const float range = 1;
  struct error error;
  plan_sides(scene, odd->geometry, odd->sides, 4, "base");
  const struct scan_shape *shape = &scene->acquisition.shape;
  scene->options.reconstruct.method = method;
  scene->options.reconstruct.weight = 0.01;
  scene->options.reconstruct.iterations = 20;
  scene->options.reconstruct.shifts = false;
  struct simulation_plan plan = {.slices = 1, .envs = 1, .images = IMAGES_AT_END, .metrics = "ssim,nmse"};
  assert_good(simulation_open(&scene->simulation, device, &scene->options, &plan, &error), &error);
  struct world *world = scene->simulation.world;
  read_odd(odd, "image", STORE_F32, scan_shape_pixels(shape), image);
  read_odd(odd, "mask", STORE_U8, shape->actions, mask);
  support_put(world, SLICE_image, 0, 1, image);
  support_put(world, SLICE_data_range, 0, 1, &range);
  support_put(world, SLICE_order, 0, 1, &slice);
  assert_good(transform_rows(world, 0, 1, &error), &error);
  support_put(world, ENV_slice, 0, 1, &slice);
  support_put(world, ENV_mask, 0, 1, mask);
  world_set_rows(world, TABLE_ENV, 1);
}

/* What a scan does at its end. */
static void finish_odd(struct scene *scene) {
  struct error error;
  assert_good(schedule_prepare(&scene->simulation.finish, scene->simulation.kernels, &error), &error);
  schedule_run(&scene->simulation.finish, scene->simulation.world);
  assert_good(device_finish(scene->simulation.device, &error), &error);
}

static void check_odd(struct scene *scene, const struct odd *odd, const char *method) {
  static float found[ODD_MOST], expected[ODD_MOST], image[ODD_MOST];
  struct world *world = scene->simulation.world;
  size_t pixels = scan_shape_pixels(&scene->acquisition.shape);
  double off = 0, size = 0, gap = 0, power = 0;
  float nmse, ssim;
  read_odd(odd, method, STORE_F32, pixels, expected);
  support_get(world, ENV_reconstruction, 0, 1, found);
  support_get(world, SLICE_image, 0, 1, image);
  support_get(world, ENV_nmse, 0, 1, &nmse);
  support_get(world, ENV_ssim, 0, 1, &ssim);
  for (size_t i = 0; i < pixels; i++) {
    off += pow((double)found[i] - (double)expected[i], 2), size += pow(expected[i], 2);
    gap += pow((double)expected[i] - (double)image[i], 2), power += pow(image[i], 2);
  }
  /* Of one coil, all that conjugate gradients find after two steps is what rounding left where nothing is acquired, over the weight. */
  double bound = strcmp(method, "cg_sense") ? 5e-6 : 2e-5;
  if (!(sqrt(off / size) <= bound)) fail_msg("%s of %s is %.3g off", method, odd->name, sqrt(off / size));
  assert_true(fabs(gap / power / (double)nmse - 1) < 1e-4 && ssim > 0.2f && ssim < 1);
}

static void images_of_odd_grids_are_solved_for(void **state) {
  static const struct odd rows[] = {{GEOMETRY_LINES, {45, 33}, "lines_45x33"},
                                    {GEOMETRY_LINES, {37, 34}, "lines_37x34"},
                                    {GEOMETRY_POINTS, {23, 31}, "points_23x31"},
                                    {GEOMETRY_SPOKES, {31, 31}, "spokes_31x31"}};
  static const struct {
    uint32_t method;
    const char *name;
  } methods[] = {{RECONSTRUCT_ZERO_FILLED, "zero_filled"}, {RECONSTRUCT_CG_SENSE, "cg_sense"}, {RECONSTRUCT_TV, "tv"},
                 {RECONSTRUCT_WAVELET, "wavelet"}};
  for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
      struct scene scene;
      open_odd(&scene, *state, &rows[row], methods[m].method);
      finish_odd(&scene);
      check_odd(&scene, &rows[row], methods[m].name);
      close_scene(&scene);
    }
}

/* ---- trainings and results ----------------------------------------------------------------------------- */

static void set(struct options *options, struct folder *folder, const char *key, const char *value) {
  struct error error;
  assert_good(option_set(&option_table, options, folder->arena, key, value, "test", &error), &error);
}

/* Words key=value between spaces. */
static void set_all(struct options *options, struct folder *folder, const char *words) {
  char key[64], value[64];
  for (int used; sscanf(words, " %63[^=]=%63s%n", key, value, &used) == 2; words += used)
    set(options, folder, key, value);
}

static void set_scene(struct options *options, struct folder *folder, const char *words) {
  option_defaults(&option_table, options, folder->arena);
  options->data.size = sides_of(24, 32);
  set_all(
      options, folder,
      "acquisition.initial_lines=3 network.channels=4 network.pools=2 policy.channels=2 policy.pools=2 "
      "policy.hidden=16 policy.batch=16 reward.scale=100 train.epochs=1 train.batch=5 train.rate=0.01 "
      "train.rate_every=1 train.initial_accelerations=16 train.accelerations=4 learn.steps=60 learn.scans=6 "
      "learn.validations=1 alternate.rounds=1 alternate.steps=30 alternate.epochs=1 alternate.batch=5 "
      "pgmri.epochs=1 pgmri.batch=2 pgmri.trajectories=3 tau.steps=2 tau.hidden=16 tau.channels=2 "
      "tau.pools=2 "
      "lbcs.slices=4 lbcs.candidates=4 evaluate.samplers=random evaluate.metrics=ssim,ssim_uniform,nmse");
  set(options, folder, "data.path", support_path(folder, "data"));
  set_all(options, folder, words);
}

/* The errors of the table are those of the images beside it. */
static void check_evaluation(const struct evaluation *evaluation, const struct options *options) {
  const struct evaluate_run *run = evaluation->runs;
  size_t height = options->data.size.height, width = options->data.size.width;
  size_t pixels = height * width, steps = acquisition_steps(&run->acquisition) + 1;
  const float *nmse = run->metric[4];
  assert_string_equal(metric_list[4].name, "nmse");
  assert_true(evaluation->shape.height == height && evaluation->shape.width == width);
  for (size_t s = 0; s < evaluation->slices; s++) {
    double plain = 0, power = 0;
    for (size_t i = s * pixels; i < (s + 1) * pixels; i++) {
      double gap = (double)run->images[i] - (double)evaluation->truth[i];
      plain += gap * gap, power += (double)evaluation->truth[i] * (double)evaluation->truth[i];
    }
    assert_true(fabs(plain / power / (double)nmse[s * steps + steps - 1] - 1) < 1e-4);
    assert_true(run->metric[0][s * steps + steps - 1] > 0 && run->metric[1][s * steps + steps - 1] > 0);
  }
}

static void evaluate(struct device *device, const struct options *options) {
  struct evaluation evaluation;
  struct evaluate_config config = {.images = true, .kernel_folder = ""};
  struct error error;
  assert_good(evaluate_open(&evaluation, device, options, &config, &error), &error);
  check_evaluation(&evaluation, options);
  evaluate_close(&evaluation);
}

/* The checkpoint says the sides, and is refused on others. */
static void check_sides(const char *path, struct device *device, const struct options *options,
                        struct folder *folder) {
  struct options other = *options;
  struct store *store;
  struct error error;
  struct evaluation evaluation;
  struct evaluate_config config = {.kernel_folder = ""};
  char text[32] = "";
  assert_good(store_open(&store, path, &error), &error);
  assert_true(store_text(store, "network_size", text, sizeof text));
  store_close(store);
  assert_string_equal(text, "[24, 32]");
  set(&other, folder, "evaluate.samplers", "random");
  set(&other, folder, "evaluate.policy", "");
  other.data.size = sides_of(32, 24);
  assert_false(evaluate_open(&evaluation, device, &other, &config, &error));
  assert_holds(error.text,
               "it was trained with data.size [24, 32] (attribute network_size), and data.size is [32, 24]");
}

/* Each method, and what scans by it: FILE in `by` is a file of the training's folder. */
static const struct {
  const char *method, *keys;
  const char *reconstructor;   /* in the folder */
  const char *by, *key, *file; /* sampler; the key of its file, and the file in the folder; NULL: none */
} trained[] = {
    {"reconstructor", "", "last.h5", "random", NULL, NULL},
    {"reconstructor", "network.input=complex data.scale=0.0001", "last.h5", "lowest_index", NULL, NULL},
    {"l2s", "", "reconstructor/best.h5", "policy", "evaluate.policy", "policy_1/last.h5"},
    {"l2sr", "data.source=kspace data.kspace=measured", "reconstructor_1/last.h5", "policy",
     "evaluate.policy", "policy_1/last.h5"},
    {"pgmri", "", "reconstructor/best.h5", "policy", "evaluate.policy", "policy_1/last.h5"},
    {"loupe", "", "last.h5", "learned_mask", "sampler.mask", "last.h5"},
    {"loupe", "acquisition.geometry=points acquisition.initial_lines=0", "last.h5", "fixed_mask",
     "sampler.mask", "last.h5"},
    {"tau_step", "", "last.h5", "tau_step", "sampler.tau_step", "last.h5"},
    {"tau_step", "network.input=complex data.scale=0.0001", "last.h5", "tau_step", "sampler.tau_step",
     "last.h5"},
    {"tau_step", "acquisition.geometry=points acquisition.initial_lines=0", "last.h5", "tau_step",
     "sampler.tau_step", "last.h5"},
    {"lbcs", "", "reconstructor/best.h5", "fixed_mask", "sampler.mask", "mask_1/last.h5"},
};

static void train(struct device *device, struct folder *folder, size_t row) {
  struct options options;
  struct method_config config = {.kernel_folder = ""};
  struct error error;
  const char *out = support_path(folder, arena_text(folder->arena, "out_%zu", row));
  set_scene(&options, folder, trained[row].keys);
  set(&options, folder, "train.method", trained[row].method);
  set(&options, folder, "train.output", out);
  if (!method_train(device, &options, &config, &error))
    fail_msg("%s (row %zu): %s", trained[row].method, row, error.text);
  const char *network = arena_text(folder->arena, "%s/%s", out, trained[row].reconstructor);
  set(&options, folder, "evaluate.samplers", trained[row].by);
  set(&options, folder, "evaluate.reconstructor", network);
  if (trained[row].key)
    set(&options, folder, trained[row].key, arena_text(folder->arena, "%s/%s", out, trained[row].file));
  evaluate(device, &options);
  check_sides(network, device, &options, folder);
}

static void open_data(struct folder *folder) {
  struct options options;
  struct error error;
  support_open_folder(folder);
  option_defaults(&option_table, &options, folder->arena);
  support_set_phantoms(&options, 32, 4);
  options.phantom.coils = 2;
  assert_good(phantom_write(&options, support_path(folder, "data"), &error), &error);
}

/* All lines of the coils' k-space, cut as the image is or before it, make the image again. */
static void measured_kspace_is_of_both_sides(void **state) {
  static const char *const crops[] = {"image", "kspace"};
  struct folder folder;
  open_data(&folder);
  for (size_t c = 0; c < 2; c++) {
    struct evaluation evaluation;
    struct evaluate_config config = {.images = true, .kernel_folder = ""};
    struct options options;
    struct error error;
    set_scene(&options, &folder, "data.source=kspace data.kspace=measured acquisition.acceleration=1");
    set(&options, &folder, "data.crop", crops[c]);
    options.data.size = c ? sides_of(32, 24) : sides_of(24, 32);
    options.acquisition.budget = options.data.size.width - 3;
    assert_good(evaluate_open(&evaluation, *state, &options, &config, &error), &error);
    size_t steps = acquisition_steps(&evaluation.runs->acquisition) + 1;
    for (size_t s = 0; s < evaluation.slices; s++)
      assert_true(evaluation.runs->metric[4][s * steps + steps - 1] < 1e-10f);
    evaluate_close(&evaluation);
  }
  support_close_folder(&folder);
}

static void methods_train_on_rectangles(void **state) {
  struct folder folder;
  open_data(&folder);
  for (size_t row = 0; row < sizeof trained / sizeof *trained; row++) train(*state, &folder, row);
  support_close_folder(&folder);
}

/* ---- l2sr.h -------------------------------------------------------------------------------------------- */

#define GOOD(call)                                                                                           \
  if ((call) != L2SR_GOOD) fail_msg("%s: %s", #call, l2sr_last_error())

enum { GIVEN = 3 * 44 * 40 };

static l2sr_env *open_env(float *images, const char *size) {
  const char *const overrides[] = {"acquisition.initial_lines=3", size};
  struct l2sr_slices slices = {.bytes = sizeof slices, .values = images, .count = 3, .height = 44, .width = 40};
  struct l2sr_config config = {
      .bytes = sizeof config, .overrides = overrides, .override_count = 2, .slices = &slices, .envs = 4};
  l2sr_env *env;
  for (size_t i = 0; i < GIVEN; i++) images[i] = (float)(1 + i % 7 + i % 40 / 3);
  GOOD(l2sr_env_open(&config, &env));
  return env;
}

static void expect_shape(l2sr_env *env, enum l2sr_array array, size_t rank, size_t second, size_t third) {
  struct l2sr_shape shape = {.bytes = sizeof shape};
  GOOD(l2sr_env_shape(env, array, &shape));
  assert_int_equal(shape.rank, rank);
  assert_int_equal(shape.extent[1], second);
  if (rank > 2) assert_int_equal(shape.extent[2], third);
}

static void environments_have_both_sides(void **state) {
  static float images[GIVEN];
  struct l2sr_facts facts = {.bytes = sizeof facts};
  struct folder folder;
  size_t bytes;
  (void)state;
  support_open_folder(&folder);
  l2sr_env *env = open_env(images, "data.size=[40, 32]");
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_facts(env, &facts));
  assert_true(facts.height == 40 && facts.width == 32 && facts.actions == 32 && facts.size == 0);
  expect_shape(env, L2SR_OBSERVATION, 3, 40, 32);
  expect_shape(env, L2SR_TARGET, 3, 40, 32);
  expect_shape(env, L2SR_ACQUIRED, 2, 32, 0);
  const char *path = support_path(&folder, "observation.png");
  GOOD(l2sr_env_draw(env, L2SR_OBSERVATION, 1, path));
  struct decoded picture = support_read_png(folder.arena, path);
  assert_true(picture.height == 40 && picture.width == 32);
  path = support_path(&folder, "acquired.png");
  GOOD(l2sr_env_draw(env, L2SR_ACQUIRED, 1, path));
  picture = support_read_png(folder.arena, path);
  assert_true(picture.height == 40 && picture.width == 32);
  for (size_t i = 0; i < 40 * 32; i++) assert_int_equal(picture.pixel[i], picture.pixel[i % 32]);
  GOOD(l2sr_env_save(env, NULL, 0, &bytes));
  void *saved = arena_new(folder.arena, bytes);
  GOOD(l2sr_env_save(env, saved, bytes, &bytes));
  GOOD(l2sr_env_restore(env, saved, bytes));
  GOOD(l2sr_env_close(env));
  env = open_env(images, "data.size=[44,32]");
  assert_int_equal(l2sr_env_restore(env, saved, bytes), L2SR_WRONG_USAGE);
  assert_holds(l2sr_last_error(), "the state has images of height 40, and the handle 44");
  GOOD(l2sr_env_close(env));
  support_close_folder(&folder);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(actions_are_of_both_sides),        cmocka_unit_test(what_wants_a_square_says_so),
      cmocka_unit_test(densities_end_at_both_edges),      cmocka_unit_test(masks_of_files_have_both_sides),
      cmocka_unit_test(sides_are_said_and_read_again),    cmocka_unit_test(large_planes_are_observed),        cmocka_unit_test(scans_are_observed_on_rectangles),
      cmocka_unit_test(images_of_odd_grids_are_solved_for),
      cmocka_unit_test(measured_kspace_is_of_both_sides), cmocka_unit_test(environments_have_both_sides),
      cmocka_unit_test(methods_train_on_rectangles)};
  return cmocka_run_group_tests(tests, support_open_transforms, support_close_transforms);
}
