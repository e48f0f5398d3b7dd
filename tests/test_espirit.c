/* Coil sensitivities (systems/coils/espirit.h): against ESPIRiT in double as its paper has it, by singular
 * vectors of the patches and transforms of padded kernels, and against BART where it is installed. */
#include "components/components.h"
#include "engine/files/store.h"
#include "kernels/kernels.h"
#include "systems/coils/espirit.h"
#include "tests/support.h"

#include <complex.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 30, COILS = 8 };

static struct folder folder;
static struct kernels *kernels;

static int open_folder(void **state) {
  struct error error;
  const struct kernel_setup setup = {32, 32, false, ""};
  support_open_folder(&folder);
  assert_good(kernels_open(&kernels, *state, &kernel_table, &setup, &error), &error);
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  kernels_close(kernels);
  support_close_folder(&folder);
  return 0;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- k-space ------------------------------------------------------------------------------------------ */

/* Slices of coils around a disc, with its k-space as files have it: [slices][coils][height][width], the
 * centre in the middle. */
struct scan {
  size_t slices, coils, height, width;
  float complex *kspace;
  double reach; /* how far the body goes up and down; beyond 1 it is folded in from the other side */
};

static size_t plane_of(const struct scan *scan) {
  return scan->height * scan->width;
}

static double complex turn(double place, size_t n) {
  return cexp(2 * M_PI * I * place / (double)n);
}

static void transform(double complex *line, size_t stride, size_t n, int sign) {
  double complex out[512];
  for (size_t k = 0; k < n; k++) {
    out[k] = 0;
    for (size_t i = 0; i < n; i++)
      out[k] += line[i * stride] *
                turn(sign * ((double)i - (double)(n / 2)) * ((double)k - (double)(n / 2)), n) /
                sqrt((double)n);
  }
  for (size_t k = 0; k < n; k++) line[k * stride] = out[k];
}

/* A coil's view of a pixel at (y, x) of -1 to 1. */
static double complex see(const struct scan *scan, size_t slice, size_t coil, double y, double x) {
  double around = 2 * M_PI * ((double)coil + 0.2 * (double)slice) / (double)scan->coils,
         top = 1.4 * sin(around), left = 1.4 * cos(around), r = x * x * 2 + y * y / scan->reach / scan->reach;
  double body = r < 1 ? 1 + 0.5 * cos(9 * x + (double)slice) * sin(7 * y) : 0;
  return body * cexp(I * (x + 2 * y + around)) / (0.4 + (x - left) * (x - left) + (y - top) * (y - top));
}

static struct scan make_scan(size_t slices, size_t coils, size_t height, size_t width, double reach) {
  struct scan scan = {slices, coils, height, width, NULL, reach};
  struct random random;
  double complex *plane = arena_new(folder.arena, plane_of(&scan) * sizeof *plane);
  scan.kspace = arena_new(folder.arena, slices * coils * plane_of(&scan) * sizeof *scan.kspace);
  random_start(&random, 5, STREAM_PHANTOM, 0);
  for (size_t p = 0; p < slices * coils; p++) {
    for (size_t i = 0; i < height * width; i++) {
      double y = 2 * (double)(i / width) / (double)height - 1,
             x = 2 * (double)(i % width) / (double)width - 1;
      plane[i] = see(&scan, p / coils, p % coils, y, x);
      plane[i] += see(&scan, p / coils, p % coils, y - 2, x) + see(&scan, p / coils, p % coils, y + 2, x);
    }
    for (size_t y = 0; y < height; y++) transform(plane + y * width, 1, width, -1);
    for (size_t x = 0; x < width; x++) transform(plane + x, width, height, -1);
    for (size_t i = 0; i < height * width; i++)
      scan.kspace[p * height * width + i] =
          (float complex)(plane[i] + 0.02 * (random_normal(&random) + I * random_normal(&random)));
  }
  return scan;
}

/* ---- on the device ------------------------------------------------------------------------------------ */

static void move_centre(const struct scan *scan, size_t most, float complex *to) {
  size_t h = scan->height, w = scan->width;
  for (size_t p = 0; p < scan->slices * scan->coils; p++)
    for (size_t i = 0; i < h * w; i++) {
      size_t y = (i / w + h - h / 2) % h, x = (i % w + w - w / 2) % w;
      size_t plane = p / scan->coils * most + p % scan->coils;
      to[(plane * h + y) * w + x] = scan->kspace[p * h * w + i];
    }
}

static double spent; /* seconds of the last run on data that are on the device */

/* Maps [slices][sets][most][height][width]. */
static float complex *run(struct device *device, struct espirit *espirit, const struct scan *scan, bool *good,
                          struct error *error) {
  size_t count = scan->slices * espirit->most * plane_of(scan), broken;
  float complex *host = arena_new(folder.arena, espirit->sets * count * sizeof *host);
  memset(host, 0, espirit->sets * count * sizeof *host);
  move_centre(scan, espirit->most, host);
  espirit->kspace = device_buffer(device, 8 * count, "k-space", error);
  espirit->maps = device_buffer(device, 8 * espirit->sets * count, "maps", error);
  assert_true(espirit->kspace && espirit->maps);
  device_write(device, espirit->kspace, 0, 8 * count, host);
  device_fill(device, espirit->maps, 0, 8 * espirit->sets * count, 0);
  assert_good(device_finish(device, error), error);
  double start = seconds();
  *good = espirit_run(espirit, device, kernels, &broken, error);
  spent = seconds() - start;
  device_read(device, espirit->maps, 0, 8 * espirit->sets * count, host);
  if (*good) assert_good(device_finish(device, error), error);
  device_release(device, espirit->kspace, 8 * count);
  device_release(device, espirit->maps, 8 * espirit->sets * count);
  return host;
}

static struct espirit settings_of(const struct scan *scan, size_t lines, size_t sets) {
  return (struct espirit){.most = scan->coils,
                          .height = scan->height,
                          .width = scan->width,
                          .count = scan->slices,
                          .coils = scan->coils,
                          .side_rows = lines,
                          .side_columns = lines,
                          .kernel = 6,
                          .sets = sets,
                          .threshold = 0.001,
                          .crop = 0.8};
}

/* ---- in double ---------------------------------------------------------------------------------------- */

/* Singular vectors of the patches above the threshold, [kept][coils][kernel][kernel]; returns how many. */
static size_t find_kernels(const struct scan *scan, const struct espirit *own, size_t slice,
                           double complex **vectors) {
  size_t k = own->kernel, high = own->side_rows + 1 - k, wide = own->side_columns + 1 - k,
         n = scan->coils * k * k, columns = high * wide, kept = 0, least = n < columns ? n : columns;
  double complex *patch = arena_new(folder.arena, n * columns * sizeof *patch);
  double *value = arena_new(folder.arena, least * sizeof *value),
         *rest = arena_new(folder.arena, least * sizeof *rest);
  size_t top = (scan->height - own->side_rows) / 2, left = (scan->width - own->side_columns) / 2;
  *vectors = arena_new(folder.arena, n * n * sizeof **vectors);
  for (size_t i = 0; i < n * columns; i++) {
    size_t sample = i % n, place = i / n, coil = sample / (k * k);
    size_t y = top + place / wide + sample / k % k, x = left + place % wide + sample % k;
    patch[i] = scan->kspace[((slice * scan->coils + coil) * scan->height + y) * scan->width + x];
  }
  int code = LAPACKE_zgesvd(LAPACK_COL_MAJOR, 'S', 'N', (lapack_int)n, (lapack_int)columns, patch,
                            (lapack_int)n, value, *vectors, (lapack_int)n, NULL, 1, rest);
  assert_int_equal(code, 0);
  while (kept < least && value[kept] > sqrt(own->threshold) * value[0]) kept++;
  return kept;
}

/* Sums of products of the kernels' transforms at a pixel. */
static void make_matrix(const double complex *vectors, size_t kept, const struct espirit *own, double y,
                        double x, double complex matrix[COILS][COILS]) {
  size_t k = own->kernel, coils = own->coils;
  memset(matrix, 0, sizeof(double complex[COILS][COILS]));
  for (size_t v = 0; v < kept; v++) {
    double complex seen[COILS] = {0};
    for (size_t i = 0; i < coils * k * k; i++)
      seen[i / (k * k)] += vectors[v * coils * k * k + i] * turn((double)(i / k % k) * y, own->height) *
                           turn((double)(i % k) * x, own->width);
    for (size_t a = 0; a < coils; a++)
      for (size_t b = 0; b < coils; b++) matrix[a][b] += seen[a] * conj(seen[b]) / (double)(k * k);
  }
}

static double complex product(const double complex *a, const double complex *b, size_t n) {
  double complex sum = 0;
  for (size_t i = 0; i < n; i++) sum += conj(a[i]) * b[i];
  return sum;
}

static void iterate(double complex matrix[COILS][COILS], size_t coils, size_t sets,
                    double complex vector[][COILS], double *value) {
  for (size_t s = 0; s < sets; s++)
    for (size_t c = 0; c < coils; c++) vector[s][c] = c == s;
  for (int step = 0; step < STEPS; step++)
    for (size_t s = sets; s-- > 0;) {
      double complex next[COILS] = {0};
      for (size_t a = 0; a < coils; a++)
        for (size_t b = 0; b < coils; b++) next[a] += matrix[a][b] * vector[s][b];
      for (size_t t = s + 1; t < sets; t++) {
        double complex part = product(vector[t], next, coils);
        for (size_t c = 0; c < coils; c++) next[c] -= part * vector[t][c];
      }
      value[s] = sqrt(creal(product(next, next, coils)));
      for (size_t c = 0; c < coils; c++) vector[s][c] = next[c] / value[s];
    }
}

/* ---- comparing ---------------------------------------------------------------------------------------- */

/* Single precision leaves vectors of length 1 so far from it that angles would be 5e-4. */
static void stretch(double complex *vector, size_t n) {
  double size = sqrt(creal(product(vector, vector, n)));
  for (size_t c = 0; c < n && size > 0; c++) vector[c] /= size;
}

/* Of a map as the device has it. */
static void gather(const float complex *maps, const struct espirit *own, size_t set, size_t slice,
                   size_t pixel, double complex *to) {
  size_t plane = own->height * own->width;
  for (size_t c = 0; c < own->coils; c++)
    to[c] = maps[((slice * own->sets + set) * own->most + c) * plane + pixel];
}

static double angle(const double complex *a, const double complex *b, size_t n) {
  double size = creal(product(a, a, n)) * creal(product(b, b, n));
  double cosine = cabs(product(a, b, n)) / sqrt(size);
  return sqrt(fmax(0, 1 - cosine * cosine));
}

/* Between the spaces of two pairs of orthonormal vectors: the root of 1 less the square of the least singular
 * value of their products. */
static double angle_of_pairs(double complex a[2][COILS], double complex b[2][COILS], size_t n) {
  double complex m[2][2];
  for (size_t i = 0; i < 2; i++)
    for (size_t j = 0; j < 2; j++) m[i][j] = product(a[i], b[j], n);
  double all = 0, size = cabs(m[0][0] * m[1][1] - m[0][1] * m[1][0]);
  for (size_t i = 0; i < 4; i++) all += pow(cabs(m[i / 2][i % 2]), 2);
  double largest = (all + sqrt(fmax(0, all * all - 4 * size * size))) / 2;
  return sqrt(fmax(0, 1 - size * size / largest));
}

static bool is_cropped(const double complex *map, size_t n) {
  return creal(product(map, map, n)) == 0;
}

/* Every pixel of a slice. Eigenvalues near the crop may fall on either side. */
static void check_slice(const struct scan *scan, const struct espirit *own, const float complex *maps,
                        size_t slice) {
  double complex *vectors, matrix[COILS][COILS], vector[2][COILS], found[2][COILS];
  double value[2], worst = 0;
  size_t kept = find_kernels(scan, own, slice, &vectors), seen = 0;
  for (size_t i = 0; i < plane_of(scan); i++) {
    make_matrix(vectors, kept, own, (double)(i / scan->width) - (double)(scan->height / 2),
                (double)(i % scan->width) - (double)(scan->width / 2), matrix);
    iterate(matrix, scan->coils, own->sets, vector, value);
    for (size_t s = 0; s < own->sets; s++) {
      double complex *expected = vector[own->sets - 1 - s];
      gather(maps, own, s, slice, i, found[s]);
      if (fabs(value[own->sets - 1 - s] - own->crop) < 1e-4) continue;
      assert_int_equal(is_cropped(found[s], scan->coils), value[own->sets - 1 - s] < own->crop);
      if (is_cropped(found[s], scan->coils)) continue;
      seen++;
      assert_true(fabs(creal(product(found[s], found[s], scan->coils)) - 1) < 1e-5);
      worst = fmax(worst, angle(found[s], expected, scan->coils));
    }
  }
  printf("  slice %zu: %zu kernels, %zu pixels of maps, %.2g off\n", slice, kept, seen, worst);
  assert_true(seen > plane_of(scan) / 4);
  assert_true(worst < 1e-3);
}

static void maps_are_those_of_the_formula(void **state) {
  static const struct {
    size_t coils, height, width, lines, kernel, sets;
  } cases[] = {{4, 32, 28, 16, 4, 1}, {3, 25, 30, 14, 5, 2}, {5, 24, 24, 13, 3, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct error error;
    struct scan scan = make_scan(3, cases[i].coils, cases[i].height, cases[i].width, 0.7);
    struct espirit espirit = settings_of(&scan, cases[i].lines, cases[i].sets);
    bool good;
    espirit.kernel = cases[i].kernel;
    espirit.most = cases[i].coils + 1;
    espirit.side_rows = cases[i].lines + 2;
    espirit.first = 1;
    espirit.count = 2;
    const float complex *maps = run(*state, &espirit, &scan, &good, &error);
    assert_good(good, &error);
    for (size_t k = 0; k < espirit.sets * espirit.most * plane_of(&scan); k++) assert_true(maps[k] == 0);
    for (size_t slice = 1; slice < 3; slice++) check_slice(&scan, &espirit, maps, slice);
  }
}

/* The phase is relative to one vector of the slice: with it the image of the combined coils is the same
 * everywhere up to the coils' own phase, and the scanner's units do not matter. */
static void units_do_not_matter(void **state) {
  struct error error;
  struct scan scan = make_scan(1, 3, 24, 24, 0.7);
  struct espirit espirit = settings_of(&scan, 14, 1);
  bool good;
  espirit.kernel = 4;
  const float complex *maps = run(*state, &espirit, &scan, &good, &error);
  assert_good(good, &error);
  for (size_t i = 0; i < 3 * plane_of(&scan); i++) scan.kspace[i] *= 1e-20f;
  const float complex *small = run(*state, &espirit, &scan, &good, &error);
  assert_good(good, &error);
  for (size_t i = 0; i < 3 * plane_of(&scan); i++) assert_true(cabsf(maps[i] - small[i]) < 1e-4f);
}

/* ---- refusals ----------------------------------------------------------------------------------------- */

static void refuse(struct device *device, struct espirit *espirit, const struct scan *scan,
                   const char *text) {
  struct error error;
  bool good;
  run(device, espirit, scan, &good, &error);
  assert_false(good);
  assert_holds(error.text, text);
}

static void regions_without_signal_are_refused(void **state) {
  struct scan scan = make_scan(1, 3, 24, 24, 0.7);
  struct espirit espirit = settings_of(&scan, 12, 1);
  espirit.side_columns = 5;
  refuse(*state, &espirit, &scan, "need 6 fully sampled lines at least");
  espirit.side_columns = 12;
  scan.kspace[12 * 24 + 12] = NAN;
  refuse(*state, &espirit, &scan, "its 12x12 central samples hold values that are not finite");
  memset(scan.kspace, 0, 3 * plane_of(&scan) * sizeof *scan.kspace);
  refuse(*state, &espirit, &scan, "its 12x12 central samples are all zero");
}

/* ---- BART --------------------------------------------------------------------------------------------- */

static bool has_bart(void) {
  bool there = !system("command -v bart >/dev/null");
  if (!there) puts("  did not run: there is no program bart (Debian: bart)");
  return there;
}

/* BART's axes, the first of which is the fastest: 1, width, height, coils. */
static void write_cfl(const struct scan *scan, size_t slice) {
  size_t count = scan->coils * plane_of(scan);
  support_write_text(support_path(&folder, "k.hdr"),
                     arena_text(folder.arena, "# Dimensions\n1 %zu %zu %zu 1 1 1 1 1 1 1 1 1 1 1 1\n",
                                scan->width, scan->height, scan->coils));
  support_write(support_path(&folder, "k.cfl"), scan->kspace + slice * count, count * sizeof *scan->kspace);
}

static const float complex *run_bart(const struct scan *scan, size_t slice, const char *options) {
  size_t bytes;
  write_cfl(scan, slice);
  const char *command =
      arena_text(folder.arena, "cd %s && bart ecalib -k 6 -r 24 %s k maps >/dev/null", folder.path, options);
  assert_int_equal(system(command), 0);
  return (const float complex *)(void *)support_read(folder.arena, support_path(&folder, "maps.cfl"), &bytes);
}

/* What is compared: pixels in which every map of both is above the crop. */
static void compare_bart(struct device *device, const struct scan *scan, size_t sets, const char *name) {
  struct espirit espirit = settings_of(scan, 24, sets);
  struct error error;
  double worst = 0;
  size_t seen = 0, apart = 0;
  bool good;
  const float complex *maps = run(device, &espirit, scan, &good, &error);
  assert_good(good, &error);
  for (size_t slice = 0; slice < scan->slices; slice++) {
    const float complex *theirs = run_bart(scan, slice, sets == 2 ? "-m2" : "-m1");
    for (size_t i = 0; i < plane_of(scan); i++) {
      double complex a[2][COILS], b[2][COILS];
      bool own = true, other = true;
      for (size_t s = 0; s < sets; s++) {
        gather(maps, &espirit, s, slice, i, a[s]);
        for (size_t c = 0; c < scan->coils; c++) b[s][c] = theirs[(s * scan->coils + c) * plane_of(scan) + i];
        stretch(a[s], scan->coils);
        stretch(b[s], scan->coils);
        own &= !is_cropped(a[s], scan->coils);
        other &= !is_cropped(b[s], scan->coils);
      }
      apart += own != other;
      if (!own || !other) continue;
      seen++;
      worst = fmax(worst, sets == 2 ? angle_of_pairs(a, b, scan->coils) : angle(a[0], b[0], scan->coils));
    }
  }
  printf("  %s, %zu map%s: %zu pixels, %.2g off, %zu cropped by one alone\n", name, sets, sets > 1 ? "s" : "",
         seen, worst, apart);
  assert_true(seen > 0 && worst < 1e-3);
  assert_true(apart <= plane_of(scan) / 1000 + 1);
}

static void maps_are_those_of_bart(void **state) {
  if (!has_bart()) return;
  struct scan disc = make_scan(2, 5, 48, 64, 0.7), folded = make_scan(2, 6, 64, 48, 1.4);
  compare_bart(*state, &disc, 1, "a disc");
  compare_bart(*state, &folded, 1, "a folded ellipse");
  compare_bart(*state, &folded, 2, "a folded ellipse");
}

/* The first slice of a file of 4 or 8 coils. */
static struct scan read_scan(const char *path) {
  struct store *store;
  struct store_shape shape;
  struct error error;
  assert_good(store_open(&store, path, &error), &error);
  assert_good(store_shape(store, "kspace", &shape, &error), &error);
  struct scan scan = {1, shape.size[1], shape.size[2], shape.size[3], NULL, 0};
  const size_t start[4] = {0}, count[4] = {1, scan.coils, scan.height, scan.width};
  scan.kspace = arena_new(folder.arena, scan.coils * plane_of(&scan) * sizeof *scan.kspace);
  assert_good(store_read(store, "kspace", STORE_C64, start, count, scan.kspace, &error), &error);
  store_close(store);
  return scan;
}

static void maps_of_measured_data_are_those_of_bart(void **state) {
  static const char *const files[] = {"test/head_8ch.h5", "val/brain_ge_4ch.h5"};
  const char *data = getenv("L2SR_DATA");
  for (size_t f = 0; f < 2; f++) {
    const char *path = arena_text(folder.arena, "%s/kspace/multicoil/%s", data ? data : "", files[f]);
    if (access(path, R_OK)) {
      printf("  did not run: L2SR_DATA names no folder with kspace/multicoil/%s\n", files[f]);
      continue;
    }
    if (!has_bart()) return;
    struct scan scan = read_scan(path);
    for (size_t sets = 1; sets <= 2; sets++) compare_bart(*state, &scan, sets, files[f]);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

/* Knees of fastMRI's size, of coils that see noise below a Gaussian: seconds of `slices` of them. */
static void maps_take_time(void **state) {
  enum { SLICES = 36, KNEE_COILS = 15, KNEE_HEIGHT = 640, KNEE_WIDTH = 368 };
  struct scan scan = {SLICES, KNEE_COILS, KNEE_HEIGHT, KNEE_WIDTH, NULL, 0};
  struct espirit espirit = settings_of(&scan, 24, 1);
  size_t count = SLICES * KNEE_COILS * plane_of(&scan);
  struct random random;
  struct error error;
  bool good;
  random_start(&random, 5, STREAM_PHANTOM, 0);
  scan.kspace = arena_new(folder.arena, count * sizeof *scan.kspace);
  for (size_t i = 0; i < count; i++) {
    double y = (double)(i / KNEE_WIDTH % KNEE_HEIGHT) - KNEE_HEIGHT / 2,
           x = (double)(i % KNEE_WIDTH) - KNEE_WIDTH / 2;
    scan.kspace[i] =
        (float complex)(exp(-(y * y + x * x) / 50) * (random_normal(&random) + I * random_normal(&random)));
  }
  for (int k = 0; k < 2; k++) { /* the first builds kernels */
    run(*state, &espirit, &scan, &good, &error);
    assert_good(good, &error);
    printf("  %d slices of %dx%dx%d: %.3f s\n", SLICES, KNEE_COILS, KNEE_HEIGHT, KNEE_WIDTH, spent);
  }
}

/* test_espirit time: only that. */
int main(int argc, char **argv) {
  const struct CMUnitTest timed[] = {TEST(maps_take_time)};
  if (argc > 1 && !strcmp(argv[1], "time"))
    return cmocka_run_group_tests_name("espirit", timed, support_open_device, support_close_device);
  const struct CMUnitTest tests[] = {
      TEST(maps_are_those_of_the_formula),           TEST(units_do_not_matter),
      TEST(regions_without_signal_are_refused),      TEST(maps_are_those_of_bart),
      TEST(maps_of_measured_data_are_those_of_bart),
  };
  return cmocka_run_group_tests_name("espirit", tests, support_open_device, support_close_device);
}
