/* Coil sensitivities of loaded slices (coils.maps): of the file, of the middle of k-space, of single coils;
 * where they lie; and what is refused. Of coils whose maps are known. */
#include "systems/coils/maps.h"

#include "engine/files/store.h"
#include "systems/sampling/acquisition.h"
#include "systems/scan/load.h"
#include "systems/scan/systems.h"
#include "tests/support.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { N = 32, HEIGHT = 40, WIDTH = 36, IMAGE = 34, COILS = 4, PIXELS = N * N };

static struct folder folder;
static struct options options;

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  option_defaults(&option_table, &options, folder.arena);
  options.data.path = folder.path;
  options.data.size = option_square(N);
  options.data.kspace = KSPACE_MEASURED;
  options.coils.maps = MAPS_PRESCAN;
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  support_close_folder(&folder);
  return 0;
}

/* ---- files -------------------------------------------------------------------------------------------- */

/* A coil's map, and what it sees, at a pixel of the file; squares sum to 1. */
static double complex map_at(size_t coil, size_t coils, size_t y, size_t x) {
  double complex own = 0;
  double sum = 0;
  for (size_t c = 0; c < coils; c++) {
    double around = 2 * M_PI * (double)c / (double)coils;
    double top = (double)y / HEIGHT - 0.5 - 0.7 * sin(around),
           left = (double)x / WIDTH - 0.5 - 0.7 * cos(around);
    double complex value = cexp(I * (around + 2 * top)) / (0.3 + top * top + left * left);
    sum += creal(value * conj(value));
    if (c == coil) own = value;
  }
  return own / sqrt(sum);
}

static double body_at(size_t y, size_t x) {
  double top = (double)y / HEIGHT - 0.53, left = (double)x / WIDTH - 0.46;
  double r = top * top + 1.5 * left * left;
  return r < 0.13 ? (1 + 0.3 * sin(30 * top) * cos(20 * left)) * (1 - r) : 0;
}

static void transform(double complex *line, size_t stride, size_t n) {
  double complex out[HEIGHT];
  for (size_t k = 0; k < n; k++) {
    out[k] = 0;
    for (size_t i = 0; i < n; i++)
      out[k] +=
          line[i * stride] *
          cexp(-2 * M_PI * I * ((double)i - (double)(n / 2)) * ((double)k - (double)(n / 2)) / (double)n) /
          sqrt((double)n);
  }
  for (size_t k = 0; k < n; k++) line[k * stride] = out[k];
}

enum { PLANE = HEIGHT * WIDTH };

static void fill_coil(float complex *kspace, size_t coil, size_t coils) {
  static double complex plane[PLANE];
  for (size_t i = 0; i < PLANE; i++)
    plane[i] = body_at(i / WIDTH, i % WIDTH) * map_at(coil, coils, i / WIDTH, i % WIDTH);
  for (size_t y = 0; y < HEIGHT; y++) transform(plane + y * WIDTH, 1, WIDTH);
  for (size_t x = 0; x < WIDTH; x++) transform(plane + x, WIDTH, HEIGHT);
  for (size_t i = 0; i < PLANE; i++) kspace[i] = (float complex)plane[i];
}

struct file {
  const char *name;
  size_t coils;
  size_t map_coils, map_width; /* of sensitivity_maps; 0: it has none */
  bool empty;                  /* the second of its two slices */
  bool broken;                 /* a map of it is no number */
  size_t dark;                 /* maps of so many of its slices are 0 */
};

static void write_maps(struct store *store, const struct file *file) {
  const size_t shape[] = {2, file->map_coils, HEIGHT, file->map_width};
  size_t plane = HEIGHT * file->map_width, count = 2 * file->map_coils * plane;
  float complex *maps = arena_new(folder.arena, count * sizeof *maps);
  struct error error;
  for (size_t i = 0; i < count; i++)
    maps[i] = (float complex)map_at(i / plane % file->map_coils, file->map_coils, i % plane / file->map_width,
                                    i % file->map_width);
  if (file->broken) maps[count - plane / 2 + file->map_width / 2] = NAN; /* in the middle of the last slice */
  memset(maps, 0, file->dark * count / 2 * sizeof *maps);
  assert_good(store_write(store, "sensitivity_maps", STORE_C64, 4, shape, maps, false, &error), &error);
}

static void write_file(const struct file *file) {
  struct store *store;
  struct error error;
  const size_t shape[] = {2, file->coils, HEIGHT, WIDTH};
  float complex *kspace = arena_new(folder.arena, 2 * file->coils * PLANE * sizeof *kspace);
  for (size_t p = 0; p < 2 * file->coils; p++) {
    memset(kspace + p * PLANE, 0, PLANE * sizeof *kspace);
    if (p < file->coils || !file->empty) fill_coil(kspace + p * PLANE, p % file->coils, file->coils);
  }
  assert_good(store_create(&store, support_path(&folder, file->name), &error), &error);
  assert_good(store_write(store, "kspace", STORE_C64, 4, shape, kspace, false, &error), &error);
  const char *header = arena_text(
      folder.arena, "<reconSpace><matrixSize><x>%d</x><y>%d</y></matrixSize></reconSpace>", IMAGE, IMAGE);
  assert_good(store_write_text(store, "ismrmrd_header", header, &error), &error);
  if (file->map_coils) write_maps(store, file);
  assert_good(store_commit(store, &error), &error);
}

/* ---- slices ------------------------------------------------------------------------------------------- */

struct bench {
  struct dataset dataset;
  struct load_report report;
  struct simulation simulation;
};

static bool open_bench(struct bench *bench, struct device *device, struct error *error) {
  *bench = (struct bench){.dataset = {NULL}};
  if (!dataset_open(&bench->dataset, &options, error)) return false;
  struct simulation_plan plan = {.slices = bench->dataset.slice_count,
                                 .envs = bench->dataset.slice_count,
                                 .coils = dataset_coils(&bench->dataset),
                                 .images = IMAGES_EVERY_STEP,
                                 .columns = SET(SLICE_maps)};
  return simulation_open(&bench->simulation, device, &options, &plan, error) &&
         load_simulation(&bench->simulation, &bench->dataset, &options, folder.arena, &bench->report, error);
}

static void close_bench(struct bench *bench) {
  if (bench->simulation.world) simulation_close(&bench->simulation);
  if (bench->dataset.arena) dataset_close(&bench->dataset);
}

/* Pixel (y, x) of the scene in the file. */
static size_t place_y(size_t y) {
  return y + (IMAGE - N) / 2 + (HEIGHT - IMAGE) / 2;
}
static size_t place_x(size_t x) {
  return x + (IMAGE - N) / 2 + (WIDTH - IMAGE) / 2;
}

static const float complex *maps_of(struct bench *bench, size_t slice) {
  float complex *maps = arena_new(folder.arena, COILS * PIXELS * sizeof *maps);
  support_get(bench->simulation.world, SLICE_maps, slice, 1, maps);
  return maps;
}

/* How far the slice's maps are from the truth at most in the body, by the angle; and which part of the body
 * they cover. */
static double distance(struct bench *bench, size_t slice, double *covered) {
  const float complex *maps = maps_of(bench, slice);
  double worst = 0, body = 0, seen = 0;
  for (size_t i = 0; i < PIXELS; i++) {
    size_t y = place_y(i / N), x = place_x(i % N);
    double complex sum = 0;
    double size = 0;
    for (size_t c = 0; c < COILS; c++) {
      sum += conj(map_at(c, COILS, y, x)) * maps[c * PIXELS + i];
      size += creal(maps[c * PIXELS + i] * conjf(maps[c * PIXELS + i]));
    }
    if (!body_at(y, x)) continue;
    body++;
    if (size == 0) continue;
    seen++;
    worst = fmax(worst, sqrt(fmax(0, 1 - creal(sum * conj(sum)) / size)));
  }
  *covered = seen / body;
  return worst;
}

static void maps_are_made_of_the_middle(void **state) {
  struct bench bench;
  struct error error;
  double covered;
  const struct file files[] = {
      {"a.h5", COILS, 0, 0, .empty = false}, {"b.h5", 1, 0, 0, .empty = false}, {"c.h5", COILS, 0, 0, .empty = false}};
  for (size_t f = 0; f < 3; f++) write_file(&files[f]);
  assert_good(open_bench(&bench, *state, &error), &error);
  for (size_t slice = 0; slice < 6; slice++) {
    if (slice / 2 == 1) continue;
    assert_true(distance(&bench, slice, &covered) < 0.05);
    assert_true(covered > 0.95);
  }
  const float complex *one = maps_of(&bench, 2);
  for (size_t i = 0; i < COILS * PIXELS; i++) assert_true(one[i] == (i < PIXELS ? 1 : 0));
  close_bench(&bench);
}

/* Twelve lines are enough for coils as smooth as these, though not as good. */
static void maps_are_made_of_acquired_lines(void **state) {
  struct bench bench;
  struct error error;
  double covered, worst[2];
  write_file(&(struct file){"a.h5", COILS, 0, 0, .empty = false});
  for (int k = 0; k < 2; k++) {
    options.coils.maps = k ? MAPS_ACQUIRED : MAPS_PRESCAN;
    options.acquisition.initial_lines = 13;
    options.acquisition.acceleration = "2";
    assert_good(open_bench(&bench, *state, &error), &error);
    worst[k] = distance(&bench, 0, &covered);
    close_bench(&bench);
  }
  assert_true(worst[1] > worst[0] && worst[1] < 0.2);
}

static void maps_of_the_file_lie_where_its_images_do(void **state) {
  struct bench bench;
  struct error error;
  options.coils.maps = MAPS_FILE;
  options.data.pad = 0;
  write_file(&(struct file){"a.h5", COILS, COILS, WIDTH, .empty = false});
  assert_good(open_bench(&bench, *state, &error), &error);
  for (size_t slice = 0; slice < 2; slice++) {
    const float complex *maps = maps_of(&bench, slice);
    for (size_t i = 0; i < COILS * PIXELS; i++) {
      double complex expected = map_at(i / PIXELS, COILS, place_y(i % PIXELS / N), place_x(i % N));
      assert_true(cabs(maps[i] - expected) < 1e-6);
    }
  }
  close_bench(&bench);
}

/* Every coil alike: what it sees is left as it is. */
static void ones_are_ones(void **state) {
  struct bench bench;
  struct error error;
  static float complex kspace[COILS * PIXELS];
  static float image[PIXELS];
  float unit;
  options.coils.maps = MAPS_ONES;
  write_file(&(struct file){"a.h5", COILS, 0, 0, .empty = false});
  assert_good(open_bench(&bench, *state, &error), &error);
  const float complex *maps = maps_of(&bench, 1);
  for (size_t i = 0; i < COILS * PIXELS; i++) assert_true(maps[i] == 1);
  support_get(bench.simulation.world, SLICE_coil_kspace, 1, 1, kspace);
  support_get(bench.simulation.world, SLICE_image, 1, 1, image);
  support_get(bench.simulation.world, SLICE_unit, 1, 1, &unit);
  double energy = 0, own = 0;
  for (size_t i = 0; i < COILS * PIXELS; i++) energy += pow(cabsf(kspace[i]) * unit, 2);
  for (size_t i = 0; i < PIXELS; i++) own += pow(image[i], 2);
  assert_true(fabs(energy / own - 1) < 1e-4);
  close_bench(&bench);
}

/* ---- coils combined by maps --------------------------------------------------------------------------- */

static void observe_all(struct bench *bench, size_t envs) {
  struct simulation *simulation = &bench->simulation;
  struct acquisition acquisition;
  struct error error;
  uint8_t mask[N];
  assert_good(acquisition_plan(&acquisition, &options, 4, "base", &error), &error);
  assert_good(simulation_set(simulation, &acquisition, sampler_find("random", &error), &error), &error);
  simulation_restart(simulation, 0, envs);
  memset(mask, 1, N);
  for (size_t env = 0; env < envs; env++) support_put(simulation->world, ENV_mask, env, 1, mask);
  const struct system *system = &simulation->begin.system[1];
  struct world_use before = world_enter(simulation->world, system);
  system->run(simulation->world, system->context);
  world_leave(simulation->world, before);
  assert_good(device_finish(simulation->device, &error), &error);
}

/* Coils saw the body through maps whose squares sum to 1: combined by these they are the body, in truth and
 * in what a scan of all lines observes. */
static void truth_and_observation_are_combined_by_maps(void **state) {
  static float image[PIXELS], magnitude[PIXELS];
  struct bench bench;
  struct error error;
  float unit;
  options.coils.maps = MAPS_FILE;
  options.coils.combine = COMBINE_MAPS;
  options.data.scale = 0.5;
  write_file(&(struct file){"a.h5", COILS, COILS, WIDTH, .empty = false});
  assert_good(open_bench(&bench, *state, &error), &error);
  observe_all(&bench, 2);
  for (size_t slice = 0; slice < 2; slice++) {
    support_get(bench.simulation.world, SLICE_image, slice, 1, image);
    support_get(bench.simulation.world, SLICE_unit, slice, 1, &unit);
    support_get(bench.simulation.world, ENV_magnitude, slice, 1, magnitude);
    for (size_t i = 0; i < PIXELS; i++) {
      assert_true(fabs(image[i] - 2 * body_at(place_y(i / N), place_x(i % N))) < 2e-5);
      assert_true(fabsf(magnitude[i] * unit - image[i]) < 2e-5F);
    }
  }
  close_bench(&bench);
}

/* Where maps are cropped, neither has a signal. */
static void what_no_coil_sees_is_zero(void **state) {
  static float image[PIXELS], magnitude[PIXELS];
  static float complex maps[COILS * PIXELS];
  struct bench bench;
  struct error error;
  size_t cropped = 0;
  options.coils.combine = COMBINE_MAPS;
  write_file(&(struct file){"a.h5", COILS, 0, 0, .empty = false});
  assert_good(open_bench(&bench, *state, &error), &error);
  observe_all(&bench, 2);
  support_get(bench.simulation.world, SLICE_maps, 0, 1, maps);
  support_get(bench.simulation.world, SLICE_image, 0, 1, image);
  support_get(bench.simulation.world, ENV_magnitude, 0, 1, magnitude);
  for (size_t i = 0; i < PIXELS; i++) {
    if (maps[i] != 0) continue;
    cropped++;
    assert_true(image[i] == 0 && magnitude[i] == 0);
  }
  assert_true(cropped > 20 && cropped < PIXELS - 20);
  close_bench(&bench);
}

/* A coil's image, of k-space whose zero frequency is first. */
static void back(const float complex *kspace, double complex *image) {
  static double complex half[PIXELS];
  for (size_t i = 0; i < PIXELS; i++) {
    half[i] = 0;
    for (size_t k = 0; k < N; k++)
      half[i] +=
          kspace[i / N * N + k] * cexp(2 * M_PI * I * (double)k * ((double)(i % N) - N / 2) / N) / sqrt(N);
  }
  for (size_t i = 0; i < PIXELS; i++) {
    image[i] = 0;
    for (size_t k = 0; k < N; k++)
      image[i] +=
          half[k * N + i % N] * cexp(2 * M_PI * I * (double)k * ((double)(i / N) - N / 2) / N) / sqrt(N);
  }
}

/* Of two orthonormal sets, truth and observation are the part of the coil images that lies in them. */
static void two_sets_share_what_coils_see(void **state) {
  static float image[PIXELS], magnitude[PIXELS];
  static float complex maps[2][COILS][PIXELS], kspace[COILS][PIXELS];
  static double complex seen[COILS][PIXELS];
  struct bench bench;
  struct error error;
  float unit;
  options.coils.combine = COMBINE_MAPS;
  options.coils.sets = 2;
  options.coils.crop = 0;
  write_file(&(struct file){"a.h5", COILS, 0, 0, .empty = false});
  assert_good(open_bench(&bench, *state, &error), &error);
  observe_all(&bench, 2);
  support_get(bench.simulation.world, SLICE_maps, 1, 1, maps);
  support_get(bench.simulation.world, SLICE_coil_kspace, 1, 1, kspace);
  support_get(bench.simulation.world, SLICE_image, 1, 1, image);
  support_get(bench.simulation.world, SLICE_unit, 1, 1, &unit);
  support_get(bench.simulation.world, ENV_magnitude, 1, 1, magnitude);
  for (size_t c = 0; c < COILS; c++) back(kspace[c], seen[c]);
  for (size_t i = 0; i < PIXELS; i++) {
    double complex both = 0, part[2] = {0, 0};
    for (size_t c = 0; c < COILS; c++) {
      both += conj(maps[0][c][i]) * maps[1][c][i];
      for (size_t s = 0; s < 2; s++) part[s] += conj(maps[s][c][i]) * seen[c][i] * unit;
    }
    assert_true(cabs(both) < 1e-3);
    assert_true(fabs(hypot(cabs(part[0]), cabs(part[1])) - image[i]) < 1e-4);
    assert_true(fabsf(magnitude[i] * unit - image[i]) < 2e-5F);
  }
  close_bench(&bench);
}

/* ---- simulated coils ---------------------------------------------------------------------------------- */

enum { MANY = 5 };

/* Images of two volumes of two slices each. */
static void write_images(void) {
  static float image[2 * PIXELS];
  const size_t shape[] = {2, N, N};
  struct store *store;
  struct error error;
  for (size_t v = 0; v < 2; v++) {
    for (size_t i = 0; i < 2 * PIXELS; i++)
      image[i] =
          (float)((1.0 + (double)v + 0.1 * (double)(i / PIXELS)) * body_at(i % PIXELS / N + 4, i % N + 2));
    assert_good(store_create(&store, support_path(&folder, v ? "b.h5" : "a.h5"), &error), &error);
    assert_good(store_write(store, "reconstruction_rss", STORE_F32, 3, shape, image, false, &error), &error);
    assert_good(store_commit(store, &error), &error);
  }
  options.data.kspace = KSPACE_IMAGE;
  options.coils.simulate = MANY;
  options.coils.maps = MAPS_FILE;
}

static void open_images(struct bench *bench, struct device *device) {
  struct error error;
  assert_good(open_bench(bench, device, &error), &error);
}

/* sigpy's formula. */
static double complex birdcage_at(size_t coil, size_t y, size_t x) {
  double complex own = 0;
  double sum = 0;
  for (size_t c = 0; c < MANY; c++) {
    double turn = 2 * M_PI * (double)c / MANY;
    double dx = ((double)x - N / 2) / (N / 2) - 1.5 * cos(turn),
           dy = ((double)y - N / 2) / (N / 2) - 1.5 * sin(turn);
    double size = 1 / sqrt(dx * dx + dy * dy);
    sum += size * size;
    if (c == coil) own = size * cexp(I * (atan2(dx, -dy) - turn));
  }
  return own / sqrt(sum);
}

static void simulated_coils_see_the_image(void **state) {
  static float complex kspace[MANY * PIXELS], maps[MANY * PIXELS];
  static double complex seen[PIXELS], sum[PIXELS];
  static float image[PIXELS];
  struct bench bench;
  uint32_t coils;
  float unit;
  write_images();
  open_images(&bench, *state);
  for (size_t slice = 0; slice < 4; slice++) {
    struct world *world = bench.simulation.world;
    double step = 0;
    support_get(world, SLICE_coil_kspace, slice, 1, kspace);
    support_get(world, SLICE_maps, slice, 1, maps);
    support_get(world, SLICE_image, slice, 1, image);
    support_get(world, SLICE_unit, slice, 1, &unit);
    support_get(world, SLICE_coils, slice, 1, &coils);
    assert_int_equal(coils, MANY);
    memset(sum, 0, sizeof sum);
    for (size_t c = 0; c < MANY; c++) {
      back(kspace + c * PIXELS, seen);
      for (size_t i = 0; i < PIXELS; i++) {
        assert_true(cabs(maps[c * PIXELS + i] - birdcage_at(c, i / N, i % N)) < 1e-6);
        assert_true(fabs(cabs(seen[i]) * unit - cabsf(maps[c * PIXELS + i]) * image[i]) < 1e-5);
        sum[i] += conjf(maps[c * PIXELS + i]) * seen[i] * unit;
      }
    }
    /* combined they are the image, of a phase that is not 0 and changes little from pixel to pixel */
    for (size_t i = 0; i < PIXELS; i++) assert_true(fabs(cabs(sum[i]) - image[i]) < 1e-5);
    for (size_t i = 1; i < PIXELS; i++)
      if (image[i] > 0.1F && image[i - 1] > 0.1F) step = fmax(step, fabs(carg(sum[i] * conj(sum[i - 1]))));
    assert_true(step > 1e-4 && step < 0.3);
  }
  close_bench(&bench);
}

/* What a slice's coils measure does not depend on which slices are loaded beside it; its size is that of
 * coils.noise. */
static void noise_is_the_slices_own(void **state) {
  static float complex clean[MANY * PIXELS], noisy[2][MANY * PIXELS], again[MANY * PIXELS];
  struct bench bench;
  float unit, deviation;
  double square = 0, both = 0;
  write_images();
  open_images(&bench, *state);
  support_get(bench.simulation.world, SLICE_coil_kspace, 2, 1, clean);
  support_get(bench.simulation.world, SLICE_unit, 2, 1, &unit);
  support_get(bench.simulation.world, SLICE_std, 2, 1, &deviation);
  close_bench(&bench);
  options.coils.noise = 0.25;
  open_images(&bench, *state);
  for (size_t k = 0; k < 2; k++) support_get(bench.simulation.world, SLICE_coil_kspace, 2 + k, 1, noisy[k]);
  close_bench(&bench);
  assert_int_equal(remove(support_path(&folder, "a.h5")), 0);
  open_images(&bench, *state);
  support_get(bench.simulation.world, SLICE_coil_kspace, 0, 1, again);
  close_bench(&bench);
  assert_memory_equal(noisy[0], again, sizeof again);
  for (size_t i = 0; i < MANY * PIXELS; i++) {
    double complex own = noisy[0][i] - clean[i];
    square += creal(own * conj(own));
    both += creal(own * conj((double complex)(noisy[1][i] - clean[i])));
  }
  double wanted = 2 * MANY * PIXELS * pow(0.25 * deviation / unit, 2);
  assert_true(fabs(square / wanted - 1) < 0.05);
  assert_true(fabs(both) < 0.1 * square);
}

/* ESPIRiT finds the maps that the coils were made with, up to a phase. */
static void simulated_coils_are_calibrated(void **state) {
  static float complex maps[MANY * PIXELS];
  struct bench bench;
  double worst = 0;
  write_images();
  options.coils.maps = MAPS_PRESCAN;
  open_images(&bench, *state);
  support_get(bench.simulation.world, SLICE_maps, 3, 1, maps);
  for (size_t i = 0; i < PIXELS; i++) {
    double complex sum = 0;
    if (body_at(i / N + 4, i % N + 2) == 0) continue;
    for (size_t c = 0; c < MANY; c++) sum += conj(birdcage_at(c, i / N, i % N)) * maps[c * PIXELS + i];
    worst = fmax(worst, sqrt(fmax(0, 1 - creal(sum * conj(sum)))));
  }
  assert_true(worst < 0.06);
  close_bench(&bench);
}

/* ---- refusals ----------------------------------------------------------------------------------------- */

static void refuse(struct device *device, const char *text) {
  struct bench bench;
  struct error error;
  assert_false(open_bench(&bench, device, &error));
  close_bench(&bench);
  assert_holds(error.text, text);
}

static void files_with_other_maps_are_refused(void **state) {
  options.coils.maps = MAPS_FILE;
  options.data.strict = true;
  write_file(&(struct file){"a.h5", COILS, 0, 0, .empty = false});
  refuse(*state, "a.h5 has k-space of 4 coils and no dataset sensitivity_maps, which coils.maps file takes");
  write_file(&(struct file){"a.h5", COILS, 3, WIDTH, .empty = false});
  refuse(*state,
         "a.h5 has sensitivity_maps of 2 slices, 3 coils and 40x36 pixels; they must be of 2, 4 and 40x36");
  write_file(&(struct file){"a.h5", COILS, COILS, N, .empty = false});
  refuse(*state, "4 coils and 40x32 pixels; they must be of 2, 4 and 40x36, as its k-space");
  options.data.strict = false;
  write_file(&(struct file){"a.h5", COILS, COILS, WIDTH, .broken = true});
  refuse(*state, "a.h5, slice 1: dataset sensitivity_maps holds values that are not finite");
}

/* Of a volume; a slice without a signal has such maps rightly. */
static void dark_maps_are_told(void **state) {
  struct bench bench;
  struct error error;
  options.coils.maps = MAPS_FILE;
  options.data.strict = options.given[OPTION_ROW_data_size] = options.given[OPTION_ROW_data_crop] = true;
  write_file(&(struct file){"a.h5", COILS, COILS, WIDTH, .dark = 1});
  assert_good(open_bench(&bench, *state, &error), &error);
  close_bench(&bench);
  write_file(&(struct file){"a.h5", COILS, COILS, WIDTH, .dark = 2});
  refuse(*state, "a.h5 are 0 everywhere, and images that they combine or solve would be so; write them again");
}

/* Maps of a file are of its own coils. */
static void maps_of_mixed_coils_are_refused(void **state) {
  options.coils.maps = MAPS_FILE;
  options.coils.compress = 2;
  write_file(&(struct file){"a.h5", COILS, COILS, WIDTH, .empty = false});
  refuse(*state, "coils.maps is file, whose maps are of the file's own coils, and coils.compress changes them");
  options.coils.compress = 0;
  options.coils.whiten = WHITEN_EDGE;
  refuse(*state, "and coils.whiten changes them; set it to none");
}

static void slices_without_signal_are_refused(void **state) {
  write_file(&(struct file){"a.h5", COILS, 0, 0, .empty = true});
  refuse(*state, "a.h5, slice 1: its 24x24 central samples are all zero");
  write_file(&(struct file){"a.h5", COILS, 0, 0, .empty = false});
  options.coils.crop = 1;
  refuse(*state, "a.h5, slice 0: its maps are 0 everywhere: by its 24x24 central samples no pixel has an eigenvalue of coils.crop, 1,");
}

static void keys_that_do_not_go_together_are_refused(void **state) {
  write_file(&(struct file){"a.h5", COILS, 0, 0, .empty = false});
  options.coils.maps = MAPS_NONE;
  refuse(*state, "these slices have 4 coils, and coils.maps is none; set it to prescan");
  options.coils.combine = COMBINE_MAPS;
  refuse(*state, "coils.combine is maps, and coils.maps none");
  options.coils.sets = 2;
  options.coils.maps = MAPS_ONES;
  refuse(*state, "coils.sets is 2, and coils.maps ones, which is one set; set coils.maps to prescan or acquired");
  options.coils.sets = 1;
  options.coils.maps = MAPS_ACQUIRED;
  options.coils.combine = COMBINE_RSS;
  refuse(*state,
         "coils.maps is acquired, and scans start with 4 lines; maps need 12 next to each other at least");
  options.acquisition.initial_lines = 12;
  options.acquisition.acceleration = "2";
  options.acquisition.geometry = GEOMETRY_SPOKES;
  refuse(*state, "coils.maps is acquired, which is of lines, and acquisition.geometry is spokes");
  options.acquisition.geometry = GEOMETRY_LINES;
  options.data.kspace = KSPACE_IMAGE;
  options.data.source = SOURCE_KSPACE;
  refuse(*state, "coils.maps is acquired, and data.kspace image: an image has one coil");
  options.coils.simulate = MANY;
  options.network.input = INPUT_COMPLEX;
  refuse(*state, "network.input is complex and coils.simulate 5: a network takes one complex image");
  options.network.input = INPUT_MAGNITUDE;
  options.data.kspace = KSPACE_MEASURED;
  refuse(*state, "coils.simulate is 5, and data.kspace measured: files have coils of their own");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(maps_are_made_of_the_middle),
      TEST(maps_are_made_of_acquired_lines),
      TEST(maps_of_the_file_lie_where_its_images_do),
      TEST(ones_are_ones),
      TEST(truth_and_observation_are_combined_by_maps),
      TEST(what_no_coil_sees_is_zero),
      TEST(two_sets_share_what_coils_see),
      TEST(simulated_coils_see_the_image),
      TEST(noise_is_the_slices_own),
      TEST(simulated_coils_are_calibrated),
      TEST(files_with_other_maps_are_refused),
      TEST(dark_maps_are_told),
      TEST(maps_of_mixed_coils_are_refused),
      TEST(slices_without_signal_are_refused),
      TEST(keys_that_do_not_go_together_are_refused),
  };
  return cmocka_run_group_tests_name("maps", tests, support_open_transforms, support_close_transforms);
}
