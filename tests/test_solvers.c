/* Reconstructors without a network: least squares, total variation and wavelets of all geometries, of images
 * and of coils, against double precision (tests/solver_vectors.py) and BART; numbers of scans; what uses
 * them; what is refused. */
#include "engine/files/store.h"
#include "kernels/kernels.h"
#include "systems/coils/hybrid.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/systems.h"
#include "systems/scan/transform.h"
#include "tests/scans.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 32, PIXELS = N * N, COILS = 3, SETS = 2, SCANS = 5 };

static const char *const geometry_names[] = {"lines", "spokes", "points"};

/* What the vectors hold. */
static struct vectors { float image[PIXELS], maps[COILS][PIXELS][2], kspace[COILS][PIXELS][2]; } vectors;

static float both_maps[SETS][COILS][PIXELS][2]; /* those, and others that are orthogonal to them */

static void make_second_maps(void) {
  memcpy(both_maps[0], vectors.maps, sizeof vectors.maps);
  for (size_t i = 0; i < PIXELS; i++) {
    const float *a = vectors.maps[0][i], *b = vectors.maps[1][i];
    float complex first = a[0] + I * a[1], second = b[0] + I * b[1], turn = cexpf(I * (float)(i % N) / N);
    float size = hypotf(cabsf(first), cabsf(second));
    float complex other[2] = {-conjf(second) * turn / size, conjf(first) * turn / size};
    for (size_t c = 0; c < 2 && size > 0; c++) {
      both_maps[1][c][i][0] = crealf(other[c]);
      both_maps[1][c][i][1] = cimagf(other[c]);
    }
  }
}

static int open_vectors(void **state) {
  struct store *store;
  struct error error;
  const char *folder = getenv("L2SR_TEST_DATA");
  struct arena *arena = arena_open();
  assert_non_null(folder);
  assert_good(store_open(&store, arena_text(arena, "%s/solvers_32.h5", folder), &error), &error);
  assert_good(store_read_known(store, "image", STORE_F32, PIXELS, vectors.image, &error) &&
                  store_read_known(store, "maps", STORE_C64, COILS * PIXELS, vectors.maps, &error) &&
                  store_read_known(store, "kspace", STORE_C64, COILS * PIXELS, vectors.kspace, &error),
              &error);
  store_close(store);
  arena_close(arena);
  make_second_maps();
  return support_open_transforms(state);
}

static void read_vector(const char *name, enum store_type type, size_t count, void *to) {
  struct store *store;
  struct error error;
  struct arena *arena = arena_open();
  assert_good(store_open(&store, arena_text(arena, "%s/solvers_32.h5", getenv("L2SR_TEST_DATA")), &error),
              &error);
  assert_good(store_read_known(store, name, type, count, to, &error), &error);
  store_close(store);
  arena_close(arena);
}

/* ---- a scene ------------------------------------------------------------------------------------------- */

static void set_options(struct options *options, uint32_t method, bool coils) {
  options->reconstruct.method = method;
  options->reconstruct.weight = 0.01;
  options->reconstruct.iterations = 40;
  options->reconstruct.shifts = false;
  options->data.kspace = coils ? KSPACE_MEASURED : KSPACE_IMAGE;
  options->coils.maps = coils ? MAPS_FILE : MAPS_NONE;
}

/* Slice 0 is the vectors', slice 1 a brighter one of another unit; scans take the one or the other. */
static void fill_image(struct world *world, float factor, size_t row) {
  float image[PIXELS], range = 1;
  uint32_t place = (uint32_t)row;
  for (size_t i = 0; i < PIXELS; i++) image[i] = factor * vectors.image[i];
  support_put(world, SLICE_image, row, 1, image);
  support_put(world, SLICE_data_range, row, 1, &range);
  support_put(world, SLICE_order, row, 1, &place);
}

static void fill_coils(struct world *world, float unit, size_t row, bool maps) {
  const uint32_t coils = COILS;
  static float kspace[COILS][PIXELS][2];
  for (size_t i = 0; i < (size_t)COILS * PIXELS * 2; i++)
    (&kspace[0][0][0])[i] = (&vectors.kspace[0][0][0])[i] / unit;
  support_put(world, SLICE_coil_kspace, row, 1, kspace);
  if (maps) support_put(world, SLICE_maps, row, 1, both_maps);
  support_put(world, SLICE_coils, row, 1, &coils);
  support_put(world, SLICE_unit, row, 1, &unit);
}

static void open_solver(struct scene *scene, struct device *device, size_t envs, bool coils,
                        unsigned deciders) {
  struct error error;
  struct simulation_plan plan = {.slices = 2,
                                 .envs = envs,
                                 .rollout_steps = acquisition_steps(&scene->acquisition) + 1,
                                 .images = IMAGES_EVERY_STEP,
                                 .metrics = "ssim",
                                 .coils = coils ? COILS : 0,
                                 .deciders = deciders,
                                 .record = true};
  assert_good(simulation_open(&scene->simulation, device, &scene->options, &plan, &error), &error);
  struct world *world = scene->simulation.world;
  fill_image(world, 1, 0);
  fill_image(world, 1024, 1);
  assert_good(transform_rows(world, 0, 2, &error), &error);
  if (!coils) return;
  bool maps = !scene->options.reconstruct.compensate;
  fill_coils(world, 1, 0, maps);
  fill_coils(world, 0.25f, 1, maps);
  assert_good(hybrid_fill(world, 2, &error), &error);
}

static void reconstruct(struct scene *scene) {
  struct schedule schedule;
  struct error error;
  schedule_open(&schedule, &component_schema);
  schedule_name(&schedule, "test");
  simulation_add_reconstruct(&scene->simulation, &schedule);
  assert_good(schedule_close(&schedule, &error) &&
                  schedule_prepare(&schedule, scene->simulation.kernels, &error),
              &error);
  schedule_run(&schedule, scene->simulation.world);
  assert_good(device_finish(scene->simulation.device, &error), &error);
}

/* Relative to the whole image. */
static double distance(const float *found, const float *expected, double factor) {
  double off = 0, size = 0;
  for (size_t i = 0; i < PIXELS; i++) {
    double difference = found[i] - factor * expected[i];
    off += difference * difference;
    size += factor * factor * expected[i] * expected[i];
  }
  return sqrt(off / size);
}

/* ---- against double precision ------------------------------------------------------------------------- */

static void put_scans(struct scene *scene, const uint8_t *mask, size_t envs) {
  struct world *world = scene->simulation.world;
  for (uint32_t env = 0; env < envs; env++) {
    const uint32_t slice = env % 2;
    support_put(world, ENV_slice, env, 1, &slice);
    support_put(world, ENV_mask, env, 1, mask);
  }
  world_set_rows(world, TABLE_ENV, envs);
}

/* In units of the image: those of a slice of coils are its k-space's. */
static void check_scans(struct scene *scene, const float *expected, bool coils) {
  float found[PIXELS];
  for (uint32_t env = 0; env < SCANS; env++) {
    support_get(scene->simulation.world, ENV_reconstruction, env, 1, found);
    double off = distance(found, expected, env % 2 && !coils ? 1024 : 1);
    if (off > 5e-5) fail_msg("scan %u is %.3g off", env, off);
  }
}

static void check_geometry(struct device *device, uint32_t geometry, uint32_t method, bool coils) {
  static uint8_t mask[PIXELS];
  static float expected[PIXELS];
  struct scene scene;
  struct arena *arena = arena_open();
  const char *name = geometry_names[geometry], *kind = coils ? "coils" : "image";
  plan_scene(&scene, (enum acquisition_geometry)geometry, N, 4, "base");
  set_options(&scene.options, method, coils);
  open_solver(&scene, device, SCANS, coils, 0);
  read_vector(arena_text(arena, "%s/mask", name), STORE_U8, scene.acquisition.shape.actions, mask);
  read_vector(arena_text(arena, "%s/%s/%s", name, kind, reconstruction_chosen(&scene.options, false)->name),
              STORE_F32, PIXELS, expected);
  put_scans(&scene, mask, SCANS);
  reconstruct(&scene);
  check_scans(&scene, expected, coils);
  close_scene(&scene);
  arena_close(arena);
}

static void images_are_those_of_double_precision(void **state) {
  for (uint32_t method = RECONSTRUCT_CG_SENSE; method <= RECONSTRUCT_WAVELET; method++)
    for (uint32_t geometry = 0; geometry < 3; geometry++)
      for (int coils = 0; coils < 2; coils++) check_geometry(*state, geometry, method, coils);
}

/* ---- total variation, a scan in one launch (kernels/total.cl) ------------------------------------------- */

enum { TALL = 70, WIDE = 64, SIDES = TALL * WIDE };

/* Rows are more than the work-group takes at a time. */
static void solve_sides(struct device *device, const char *kernels, float *image) {
  static float pixels[SIDES];
  struct scene scene;
  struct error error;
  const float range = 1;
  const uint32_t place = 0;
  uint8_t mask[WIDE];
  for (size_t i = 0; i < SIDES; i++) pixels[i] = vectors.image[i * 7 % PIXELS] + vectors.image[i % PIXELS];
  for (size_t i = 0; i < WIDE; i++) mask[i] = i % 5 == 0 || (i > 28 && i < 37);
  plan_sides(&scene, GEOMETRY_LINES, (struct option_sides){TALL, WIDE}, 4, "base");
  set_options(&scene.options, RECONSTRUCT_TV, false);
  struct simulation_plan plan = {.slices = 1,
                                 .envs = 1,
                                 .rollout_steps = 1,
                                 .images = IMAGES_EVERY_STEP,
                                 .metrics = "ssim",
                                 .kernel_folder = kernels};
  assert_good(simulation_open(&scene.simulation, device, &scene.options, &plan, &error), &error);
  support_put(scene.simulation.world, SLICE_image, 0, 1, pixels);
  support_put(scene.simulation.world, SLICE_data_range, 0, 1, &range);
  support_put(scene.simulation.world, SLICE_order, 0, 1, &place);
  assert_good(transform_rows(scene.simulation.world, 0, 1, &error), &error);
  put_scans(&scene, mask, 1);
  reconstruct(&scene);
  support_get(scene.simulation.world, ENV_reconstruction, 0, 1, image);
  close_scene(&scene);
}

/* The kernels of this program, of which that of whole scans is refused. */
static void write_refused(struct folder *folder) {
  support_open_folder(folder);
  for (const struct source *source = kernel_table.sources; source->name; source++) {
    FILE *file = fopen(support_path(folder, source->name), "w");
    assert_non_null(file);
    fputs(strcmp(source->name, "total.cl") ? source->text : "refused", file);
    fclose(file);
  }
}

static void whole_scans_are_those_of_steps(void **state) {
  static float steps[SIDES], whole[SIDES], refused[SIDES];
  struct device *device = *state;
  struct folder folder;
  enum device_matrix matrix = device->facts.matrix;
  cl_ulong declared = device->facts.declared;
  device->facts.declared = 0;
  solve_sides(device, NULL, steps);
  device->facts.declared = declared;
  if (matrix == MATRIX_NONE) device->facts.matrix = MATRIX_EMULATED;
  solve_sides(device, NULL, whole);
  write_refused(&folder);
  solve_sides(device, folder.path, refused);
  support_close_folder(&folder);
  assert_memory_equal(refused, steps, sizeof steps);
  check_geometry(device, GEOMETRY_LINES, RECONSTRUCT_TV, false);
  device->facts.matrix = matrix;
  double off = 0, size = 0;
  for (size_t i = 0; i < SIDES; i++) {
    off += pow(whole[i] - steps[i], 2);
    size += pow(steps[i], 2);
  }
  if (!(off <= 1e-10 * size) || !(off > 0)) fail_msg("scans solved at once are %.3g off", sqrt(off / size));
}

/* ---- density compensation ------------------------------------------------------------------------------ */

static uint32_t cells[PIXELS]; /* of all actions */

/* The cells that a mask acquires, the centre at the start. */
static const uint8_t *cells_of(const struct scene *scene, const uint8_t *mask) {
  static uint8_t taken[PIXELS];
  uint32_t each = PIXELS / scene->acquisition.shape.actions;
  support_get(scene->simulation.world, SCENE_cells, 0, 1, cells);
  memset(taken, 0, sizeof taken);
  for (uint32_t i = 0; i < PIXELS; i++)
    if (mask[i / each] && cells[i] != NO_CELL) taken[cells[i]] = 1;
  return taken;
}

/* Areas of the cells of a mask, by the kernel's reference. */
static const float *areas_of(const struct scene *scene, const uint8_t *mask) {
  static float areas[PIXELS];
  uint32_t actions = scene->acquisition.shape.actions, each = PIXELS / actions;
  const uint8_t *taken = cells_of(scene, mask);
  struct host_args args = {.rows = 1, .in = {mask, cells, taken}, .out = {NULL, NULL, NULL, areas}};
  args.value[5].u = actions;
  args.value[6].u = each;
  args.value[7].u = args.value[8].u = N;
  solve_density_reference(&args);
  return areas;
}

/* Root of the sum of squares over coils at a pixel, by the sum over all frequencies. */
static double pixel_of(const float *areas, long y, long x) {
  double squares = 0;
  for (size_t coil = 0; coil < COILS; coil++) {
    double complex sum = 0;
    for (long i = 0; i < PIXELS; i++) {
      const float *value = vectors.kspace[coil][i];
      double turn = 2 * M_PI * (double)((i / N) * (y - N / 2) + (i % N) * (x - N / 2)) / N;
      if (areas[i] > 0) sum += (double)areas[i] * (value[0] + I * value[1]) * cexp(I * turn);
    }
    squares += pow(cabs(sum) / N, 2);
  }
  return sqrt(squares);
}

static void cells_count_by_their_area(void **state) {
  static uint8_t mask[PIXELS];
  static float found[PIXELS];
  for (int points = 0; points < 2; points++) {
    struct scene scene;
    plan_scene(&scene, points ? GEOMETRY_POINTS : GEOMETRY_SPOKES, N, 4, "base");
    set_options(&scene.options, RECONSTRUCT_ZERO_FILLED, true);
    scene.options.reconstruct.compensate = true;
    open_solver(&scene, *state, SCANS, true, 0);
    read_vector(points ? "points/mask" : "spokes/mask", STORE_U8, scene.acquisition.shape.actions, mask);
    put_scans(&scene, mask, SCANS);
    reconstruct(&scene);
    support_get(scene.simulation.world, ENV_reconstruction, SCANS - 1, 1, found);
    const float *areas = areas_of(&scene, mask);
    for (long i = 5; i < PIXELS; i += 37) {
      double expected = pixel_of(areas, i / N, i % N);
      if (fabs(found[i] - expected) > 2e-5 * (1 + expected)) fail_msg("pixel %ld is %g, expected %g", i, (double)found[i], expected);
    }
    close_scene(&scene);
  }
}

/* ---- against BART, where it is installed -------------------------------------------------------------- */

/* A complex array [1][row][column][coil][set], the first axis fastest; the plane's centre is at its start where
 * centred. */
static void write_cfl(const char *path, const float *values, size_t coils, size_t sets, bool centred) {
  static float pairs[SETS * COILS][N][N][2];
  for (size_t i = 0; i < sets * coils * PIXELS; i++) {
    size_t half = centred ? N / 2 : 0, coil = i / PIXELS, y = (i / N + half) % N, x = (i + half) % N;
    memcpy(pairs[coil][x][y], values + 2 * i, sizeof pairs[0][0][0]);
  }
  struct arena *arena = arena_open();
  support_write(arena_text(arena, "%s.cfl", path), pairs, sets * coils * sizeof pairs[0]);
  support_write_text(arena_text(arena, "%s.hdr", path),
                     arena_text(arena, "# Dimensions\n1 %d %d %zu %zu 1 1 1 1 1 1 1 1 1 1 1\n", N, N, coils, sets));
  arena_close(arena);
}

/* The root of the sum of squares of the images of all sets. */
static void run_bart(struct folder *folder, const char *flags, size_t sets, float *image) {
  struct arena *arena = folder->arena;
  size_t bytes;
  const char *at = folder->path;
  const char *command =
      arena_text(arena, "OMP_NUM_THREADS=1 bart pics -S -p %s/mask %s %s/kspace %s/maps %s/out >/dev/null",
                 at, flags, at, at, at);
  assert_int_equal(system(command), 0);
  const float *pairs = (const float *)support_read(arena, support_path(folder, "out.cfl"), &bytes);
  assert_int_equal(bytes, sets * PIXELS * sizeof(float[2]));
  for (size_t i = 0; i < PIXELS; i++) image[i] = 0;
  for (size_t i = 0; i < sets * PIXELS; i++) {
    const float *pair = pairs + 2 * (i / PIXELS * PIXELS + i % N * N + i % PIXELS / N);
    image[i % PIXELS] = hypotf(image[i % PIXELS], hypotf(pair[0], pair[1]));
  }
}

/* taken: cells of k-space, the centre at the start. */
static void write_problem(struct folder *folder, const uint8_t *taken, size_t sets) {
  static float kept[PIXELS][2], kspace[COILS][PIXELS][2];
  for (size_t i = 0; i < PIXELS; i++) kept[i][0] = taken[i];
  for (size_t i = 0; i < (size_t)COILS * PIXELS; i++)
    for (size_t k = 0; k < 2; k++)
      kspace[i / PIXELS][i % PIXELS][k] = kept[i % PIXELS][0] * (&vectors.kspace[0][0][0])[2 * i + k];
  write_cfl(support_path(folder, "mask"), &kept[0][0], 1, 1, true);
  write_cfl(support_path(folder, "kspace"), &kspace[0][0][0], COILS, 1, true);
  write_cfl(support_path(folder, "maps"), &both_maps[0][0][0][0], COILS, sets, false);
}

static bool has_bart(void) {
  if (!system("command -v bart >/dev/null")) return true;
  print_message("did not run: bart is not installed (Debian: bart)\n");
  return false;
}

static void bart_agrees(void **state) {
  static const struct {
    const char *method, *flags;
  } cases[] = {{"cg_sense", "-w 1 -l2 -r 0.01 -i 40"},
               {"tv", "-R T:7:0:0.01 -i 40"},
               {"wavelet", "-n -R W:7:0:0.01 -i 40"}};
  static float image[PIXELS], expected[PIXELS];
  struct folder folder;
  static uint8_t mask[N], taken[PIXELS];
  (void)state;
  if (!has_bart()) return;
  support_open_folder(&folder);
  read_vector("lines/mask", STORE_U8, N, mask);
  for (size_t i = 0; i < PIXELS; i++) taken[i] = mask[(i + N / 2) % N];
  write_problem(&folder, taken, 1);
  for (int i = 0; i < 3; i++) {
    run_bart(&folder, cases[i].flags, 1, image);
    read_vector(arena_text(folder.arena, "lines/coils/%s", cases[i].method), STORE_F32, PIXELS, expected);
    double off = distance(image, expected, 1);
    if (off > 5e-5) fail_msg("%s of BART is %.3g off", cases[i].method, off);
  }
  support_close_folder(&folder);
}

/* Images of both sets are solved for together. */
static void compare_sets(struct device *device, struct folder *folder, uint32_t geometry, uint32_t method, const char *flags) {
  static uint8_t mask[PIXELS];
  static float expected[PIXELS];
  struct scene scene;
  plan_scene(&scene, (enum acquisition_geometry)geometry, N, 4, "base");
  set_options(&scene.options, method, true);
  scene.options.coils.maps = MAPS_PRESCAN;
  scene.options.coils.sets = SETS;
  open_solver(&scene, device, SCANS, true, 0);
  read_vector(arena_text(folder->arena, "%s/mask", geometry_names[geometry]), STORE_U8, scene.acquisition.shape.actions, mask);
  put_scans(&scene, mask, SCANS);
  reconstruct(&scene);
  write_problem(folder, cells_of(&scene, mask), SETS);
  run_bart(folder, flags, SETS, expected);
  check_scans(&scene, expected, true);
  close_scene(&scene);
}

static void two_sets_are_those_of_bart(void **state) {
  struct folder folder;
  if (!has_bart()) return;
  support_open_folder(&folder);
  for (uint32_t geometry = 0; geometry < 3; geometry++) {
    compare_sets(*state, &folder, geometry, RECONSTRUCT_CG_SENSE, "-w 1 -l2 -r 0.01 -i 40");
    compare_sets(*state, &folder, geometry, RECONSTRUCT_WAVELET, "-n -R W:7:0:0.01 -i 40");
    compare_sets(*state, &folder, geometry, RECONSTRUCT_TV, "-R T:7:0:0.01 -i 40");
  }
  support_close_folder(&folder);
}

/* ---- numbers of scans, tolerances, shifts ------------------------------------------------------------- */

/* Conjugate gradients of one coil need no more than two steps: theirs are of several. */
static void scan(struct device *device, uint32_t method, size_t envs, double tolerance, bool shifts,
                 float *images) {
  struct scene scene;
  static uint8_t mask[N];
  bool coils = method == RECONSTRUCT_CG_SENSE;
  plan_scene(&scene, GEOMETRY_LINES, N, 4, "base");
  set_options(&scene.options, method, coils);
  scene.options.reconstruct.tolerance = tolerance;
  scene.options.reconstruct.shifts = shifts;
  open_solver(&scene, device, envs, coils, 0);
  read_vector("lines/mask", STORE_U8, N, mask);
  put_scans(&scene, mask, envs);
  reconstruct(&scene);
  for (size_t env = 0; env < 2; env++)
    support_get(scene.simulation.world, ENV_reconstruction, env, 1, images + env * PIXELS);
  close_scene(&scene);
}

/* More than a chunk of the solver's. */
static void others_change_nothing(void **state) {
  static float few[2 * PIXELS], many[2 * PIXELS];
  for (uint32_t method = RECONSTRUCT_CG_SENSE; method <= RECONSTRUCT_WAVELET; method++) {
    scan(*state, method, 2, 0, true, few);
    scan(*state, method, 700, 0, true, many);
    assert_memory_equal(few, many, sizeof few);
  }
}

/* A tight one changes little, a loose one ends sooner. */
static void tolerances_end_scans(void **state) {
  static float all[2 * PIXELS], tight[2 * PIXELS], loose[2 * PIXELS];
  for (uint32_t method = RECONSTRUCT_CG_SENSE; method <= RECONSTRUCT_WAVELET; method++) {
    scan(*state, method, 2, 0, false, all);
    scan(*state, method, 2, 1e-7, false, tight);
    scan(*state, method, 2, 0.2, false, loose);
    assert_true(distance(tight, all, 1) < 1e-4);
    assert_true(distance(loose, all, 1) > 1e-3);
  }
}

static void shifts_are_other_images(void **state) {
  static float with[2 * PIXELS], again[2 * PIXELS], without[2 * PIXELS];
  scan(*state, RECONSTRUCT_WAVELET, 2, 0, true, with);
  scan(*state, RECONSTRUCT_WAVELET, 2, 0, true, again);
  scan(*state, RECONSTRUCT_WAVELET, 2, 0, false, without);
  assert_memory_equal(with, again, sizeof with);
  assert_true(distance(with, without, 1) > 1e-3 && distance(with, without, 1) < 0.5);
}

/* ---- what uses them ----------------------------------------------------------------------------------- */

/* Candidates of an oracle are solved for: its lines score higher than drawn ones. */
static void oracles_solve(void **state) {
  float score[2][2];
  for (int oracle = 0; oracle < 2; oracle++) {
    struct scene scene;
    plan_scene(&scene, GEOMETRY_LINES, N, 4, "base");
    set_options(&scene.options, RECONSTRUCT_TV, false);
    scene.options.reconstruct.iterations = 10;
    scene.options.network.batch = 7;
    open_solver(&scene, *state, 2, false, DECIDES_ORACLE);
    run_scans(&scene, oracle ? "oracle" : "random", 0, 2);
    support_get(scene.simulation.world, ENV_ssim, 0, 2, score[oracle]);
    close_scene(&scene);
  }
  for (int env = 0; env < 2; env++) assert_true(score[1][env] > score[0][env]);
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static void expect_refusal(struct device *device, struct scene *scene, size_t coils, const char *part) {
  struct simulation_plan plan = {.slices = 1, .envs = 1, .images = IMAGES_AT_END, .coils = coils};
  struct error error;
  assert_false(simulation_open(&scene->simulation, device, &scene->options, &plan, &error));
  assert_holds(error.text, part);
}

static void what_cannot_be_is_refused(void **state) {
  struct scene scene;
  plan_scene(&scene, GEOMETRY_LINES, N, 4, "base");
  set_options(&scene.options, RECONSTRUCT_TV, true);
  scene.options.coils.maps = MAPS_NONE;
  expect_refusal(*state, &scene, 2, "there are 2 coils, and coils.maps is none");
  set_options(&scene.options, RECONSTRUCT_NETWORK, false);
  expect_refusal(*state, &scene, 0, "reconstruct.method is network, and no reconstructor is named");
  set_options(&scene.options, RECONSTRUCT_ZERO_FILLED, false);
  scene.options.reconstruct.compensate = true;
  expect_refusal(*state, &scene, 0, "reconstruct.compensate is true, which is of spokes and points, and acquisition.geometry is lines");
  set_options(&scene.options, RECONSTRUCT_TV, false);
  expect_refusal(*state, &scene, 0, "reconstruct.compensate is true, which is of the zero-filled image, and images are made by tv");
  arena_close(scene.arena);
}

/* Maps whose squares sum to more than 1: the step is too long. */
static void divergence_is_told(void **state) {
  static uint8_t mask[N];
  static float maps[COILS][PIXELS][2];
  struct scene scene;
  struct error error;
  for (size_t i = 0; i < (size_t)COILS * PIXELS * 2; i++)
    (&maps[0][0][0])[i] = 9 * (&vectors.maps[0][0][0])[i];
  plan_scene(&scene, GEOMETRY_LINES, N, 4, "base");
  set_options(&scene.options, RECONSTRUCT_WAVELET, true);
  open_solver(&scene, *state, 2, true, 0);
  support_put(scene.simulation.world, SLICE_maps, 1, 1, maps);
  read_vector("lines/mask", STORE_U8, N, mask);
  put_scans(&scene, mask, 2);
  reconstruct(&scene);
  assert_false(simulation_check(&scene.simulation, &error));
  assert_holds(error.text,
               "reconstruct.method wavelet: the image of scan 1 has pixels that are no finite numbers");
  assert_int_equal(scene.simulation.refused, 1);
  assert_good(simulation_check(&scene.simulation, &error), &error);
  close_scene(&scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(images_are_those_of_double_precision),
                                     cmocka_unit_test(whole_scans_are_those_of_steps),
                                     cmocka_unit_test(cells_count_by_their_area),
                                     cmocka_unit_test(bart_agrees),
                                     cmocka_unit_test(two_sets_are_those_of_bart),
                                     cmocka_unit_test(others_change_nothing),
                                     cmocka_unit_test(tolerances_end_scans),
                                     cmocka_unit_test(shifts_are_other_images),
                                     cmocka_unit_test(oracles_solve),
                                     cmocka_unit_test(what_cannot_be_is_refused),
                                     cmocka_unit_test(divergence_is_told)};
  return cmocka_run_group_tests(tests, open_vectors, support_close_transforms);
}
