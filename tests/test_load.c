#include "engine/base/random.h"
#include "engine/files/scene.h"
#include "kernels/kernels.h"
#include "engine/files/store.h"
#include "systems/scan/load.h"
#include "systems/scan/transform.h"
#include "systems/scan/slice_cache.h"
#include "tests/support.h"

#include <complex.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static struct folder folder;
static struct options options;
static struct random noise;

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  option_defaults(&option_table, &options, folder.arena);
  options.data.size = option_square(8);
  options.given[OPTION_ROW_data_size] = options.given[OPTION_ROW_data_crop] = true;
  options.data.path = folder.path;
  random_start(&noise, 1, STREAM_PHANTOM, 0);
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  support_close_folder(&folder);
  return 0;
}

static void set(const char *assignment) {
  struct error error;
  assert_good(scene_assign(&option_table, &options, folder.arena, assignment, "test", &error), &error);
}

/* ---- volumes and worlds -------------------------------------------------------------------------------- */

static float *draw(size_t count) {
  float *values = ARENA_NEW(folder.arena, float, count);
  for (size_t i = 0; i < count; i++) values[i] = (float)random_normal(&noise);
  return values;
}

/* Images of noise on an offset: [slices][size][size]. */
static float *draw_images(size_t slices, size_t size, float offset) {
  float *values = draw(slices * size * size);
  for (size_t i = 0; i < slices * size * size; i++) values[i] = 0.1f * values[i] + offset;
  return values;
}

static void write_file(const char *name, const char *key, enum store_type type, int rank, const size_t *size,
                       const void *data, const double *max, const char *header) {
  struct store *store;
  struct error error;
  assert_good(store_create(&store, support_path(&folder, name), &error), &error);
  assert_good(store_write(store, key, type, rank, size, data, false, &error), &error);
  if (max) assert_good(store_put_number(store, "max", *max, &error), &error);
  if (header) assert_good(store_write_text(store, "ismrmrd_header", header, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

static void write_images(const char *name, const float *images, size_t slices, size_t size) {
  const size_t shape[] = {slices, size, size};
  write_file(name, "reconstruction_esc", STORE_F32, 3, shape, images, NULL, NULL);
}

struct loaded {
  struct dataset dataset;
  struct kernels *kernels;
  struct world *world;
  struct load_report report;
  bool good; /* load_slices' answer */
};

static void open_world(struct loaded *loaded, struct device *device) {
  size_t n = options.data.size.width, slices = loaded->dataset.slice_count, most = options.data.most;
  struct kernel_setup kernels = {.height = n, .width = n, .folder = ""};
  struct world_setup setup = {
      .schema = &component_schema, .columns = load_columns(&options), .height = n, .width = n};
  struct error error;
  setup.rows[TABLE_SLICE] = most && most < slices ? most : slices;
  setup.shape[SHAPE_ONE] = 1;
  setup.shape[SHAPE_W] = n;
  setup.shape[SHAPE_HW] = n * n;
  assert_good(kernels_open(&loaded->kernels, device, &kernel_table, &kernels, &error), &error);
  if (options.network.input == INPUT_COMPLEX) kernels_define(loaded->kernels, "TARGET_PLAIN");
  assert_good(world_open(&loaded->world, device, loaded->kernels, &setup, TABLE_SLICE, &error), &error);
}

static void load(struct loaded *loaded, struct device *device, struct error *error) {
  *loaded = (struct loaded){.good = false};
  assert_good(dataset_open(&loaded->dataset, &options, error), error);
  open_world(loaded, device);
  loaded->good =
      load_slices(loaded->world, &loaded->dataset, &options, folder.arena, &loaded->report, error);
}

static void unload(struct loaded *loaded) {
  world_close(loaded->world);
  kernels_close(loaded->kernels);
  dataset_close(&loaded->dataset);
}

static struct loaded load_good(struct device *device) {
  struct loaded loaded;
  struct error error;
  load(&loaded, device, &error);
  assert_good(loaded.good, &error);
  return loaded;
}

static void expect_refusal(struct device *device, const char *part) {
  struct loaded loaded;
  struct error error;
  load(&loaded, device, &error);
  if (loaded.good) fail_msg("loaded; expected '%s'", part);
  assert_holds(error.text, part);
  unload(&loaded);
}

/* The rows of a column in use. */
static void *column(struct loaded *loaded, unsigned component) {
  size_t rows = world_rows(loaded->world, TABLE_SLICE);
  void *data = arena_new(folder.arena, rows * world_column_bytes(loaded->world, component));
  support_get(loaded->world, component, 0, rows, data);
  return data;
}

static void expect_near(double got, double want, double tolerance) {
  if (fabs(got - want) <= tolerance) return;
  fail_msg("%.9g; expected %.9g +- %.3g", got, want, tolerance);
}

/* ---- padding and cropping ------------------------------------------------------------------------------ */

/* The rule as PROTOCOL 1.2 writes it: pads, then crops, one whole image after the other. */
static const float *pad_and_crop(const float *image, size_t height, size_t width, size_t pad,
                                 const struct scan_shape *shape) {
  size_t rows = shape->height, columns = shape->width;
  size_t h = height < pad ? pad : height, w = width < pad ? pad : width;
  size_t top = (h - height + 1) / 2, left = (w - width + 1) / 2; /* ceiling: the extra line goes before */
  float *padded = ARENA_NEW(folder.arena, float, h *w), *crop = ARENA_NEW(folder.arena, float, rows *columns);
  for (size_t y = 0; y < height; y++)
    memcpy(padded + (top + y) * w + left, image + y * width, width * sizeof *image);
  for (size_t y = 0; y < rows; y++)
    memcpy(crop + y * columns, padded + ((h - rows) / 2 + y) * w + (w - columns) / 2,
           columns * sizeof *image);
  return crop;
}

static void expect_crop(size_t height, size_t width, size_t pad, size_t rows, size_t columns) {
  const struct scan_shape shape = {.height = (uint32_t)rows, .width = (uint32_t)columns, .actions = 0};
  const float *image = draw(height * width), *want = pad_and_crop(image, height, width, pad, &shape);
  float *got = ARENA_NEW(folder.arena, float, rows *columns);
  volume_crop(image, height, width, pad, &shape, got);
  if (memcmp(got, want, rows * columns * sizeof *got))
    fail_msg("%zu x %zu padded to %zu, cropped to %zu x %zu", height, width, pad, rows, columns);
}

static void crops_follow_the_protocol(void **state) {
  static const size_t cases[][4] = {{320, 320, 0, 128},   {384, 384, 384, 256}, {213, 213, 384, 256},
                                    {276, 276, 384, 256}, {213, 320, 384, 256}, {320, 213, 384, 256},
                                    {640, 372, 0, 128},   {400, 213, 384, 256}, {213, 213, 256, 256},
                                    {9, 12, 0, 8},        {8, 8, 0, 8},         {1, 1, 8, 8},
                                    {33, 34, 35, 33}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_crop(cases[i][0], cases[i][1], cases[i][2], cases[i][3], cases[i][3]);
  expect_crop(640, 372, 0, 320, 128);
  expect_crop(213, 320, 384, 200, 333);
  for (size_t height = 1; height < 14; height++)
    for (size_t width = 1; width < 14; width++)
      for (size_t pad = 7; pad < 13; pad++) {
        expect_crop(height, width, pad, 7, 7);
        expect_crop(height, width, pad, 5, 6);
      }
}

/* 213 -> 384: 86 before, 85 after; -> 256 from 64: the image starts at 22. 320 -> 128: from 96. */
static void crops_start_where_the_protocol_says(void **state) {
  float *small = ARENA_NEW(folder.arena, float, 213 * 213),
        *large = ARENA_NEW(folder.arena, float, 320 * 320);
  float *crop = ARENA_NEW(folder.arena, float, 256 * 256);
  (void)state;
  for (size_t i = 0; i < 213 * 213; i++) small[i] = 1 + (float)i;
  for (size_t i = 0; i < 320 * 320; i++) large[i] = 1 + (float)i;
  volume_crop(small, 213, 213, 384, &(struct scan_shape){.height = 256, .width = 256, .actions = 0}, crop);
  assert_true(crop[22 * 256 + 22] == 1);
  assert_true(crop[21 * 256 + 22] == 0 && crop[22 * 256 + 21] == 0);
  assert_true(crop[234 * 256 + 234] == 213 * 213);
  assert_true(crop[235 * 256 + 234] == 0 && crop[234 * 256 + 235] == 0);
  volume_crop(large, 320, 320, 0, &(struct scan_shape){.height = 128, .width = 128, .actions = 0}, crop);
  assert_true(crop[0] == 1 + 96 * 320 + 96);
  assert_true(crop[128 * 128 - 1] == 1 + 223 * 320 + 223);
}

/* 5 x 3 in 2 x 3: a row is of two and a half, of which one has half the weight. */
static void resizing_takes_means(void **state) {
  struct options fit;
  struct arena *arena = arena_open();
  float image[5 * 3], small[2 * 3], same[5 * 3];
  (void)state;
  option_defaults(&option_table, &fit, arena);
  fit.data.fit = FIT_RESIZE;
  fit.data.size.height = 2;
  fit.data.size.width = 3;
  for (size_t i = 0; i < 15; i++) image[i] = (float)(i * i);
  volume_fit(image, 5, 3, &fit, small);
  for (size_t x = 0; x < 3; x++) {
    assert_true(fabsf(small[x] - (image[x] + image[3 + x] + image[6 + x] / 2) / 2.5f) < 1e-4f);
    assert_true(fabsf(small[3 + x] - (image[6 + x] / 2 + image[9 + x] + image[12 + x]) / 2.5f) < 1e-4f);
  }
  fit.data.size.height = 5;
  volume_fit(image, 5, 3, &fit, same);
  assert_memory_equal(same, image, sizeof image);
  arena_close(arena);
}

/* ---- images from k-space ------------------------------------------------------------------------------- */

struct kspace {
  size_t slices, coils, height, width, image_height, image_width;
  const float complex *data;
};

/* exp(2 pi i (a - n/2)(b - n/2) / n) / sqrt(n) for all a and b. */
static const double complex *transform_matrix(size_t n) {
  double complex *matrix = ARENA_NEW(folder.arena, double complex, n *n);
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < n; b++) {
      double place = ((double)a - (double)(n / 2)) * ((double)b - (double)(n / 2));
      matrix[a * n + b] = cexp(2 * M_PI * I * place / (double)n) / sqrt((double)n);
    }
  return matrix;
}

/* The centred orthonormal inverse transform of one coil, by its definition. */
static void add_power(const struct kspace *k, const float complex *coil, double *power) {
  const double complex *rows = transform_matrix(k->height), *columns = transform_matrix(k->width);
  double complex *half = ARENA_NEW(folder.arena, double complex, k->height * k->width);
  for (size_t u = 0; u < k->height; u++)
    for (size_t x = 0; x < k->width; x++)
      for (size_t v = 0; v < k->width; v++)
        half[u * k->width + x] += coil[u * k->width + v] * columns[v * k->width + x];
  for (size_t y = 0; y < k->height; y++)
    for (size_t x = 0; x < k->width; x++) {
      double complex sum = 0;
      for (size_t u = 0; u < k->height; u++) sum += rows[u * k->height + y] * half[u * k->width + x];
      power[y * k->width + x] += creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
    }
}

/* Root-sum-of-squares of a slice, cropped to the image and then to N. */
static const float *reconstruct(const struct kspace *k, size_t slice, size_t n) {
  double *power = ARENA_NEW(folder.arena, double, k->height * k->width);
  float *image = ARENA_NEW(folder.arena, float, k->image_height * k->image_width),
        *crop = ARENA_NEW(folder.arena, float, n *n);
  size_t top = (k->height - k->image_height) / 2, left = (k->width - k->image_width) / 2;
  for (size_t c = 0; c < k->coils; c++)
    add_power(k, k->data + (slice * k->coils + c) * k->height * k->width, power);
  for (size_t y = 0; y < k->image_height; y++)
    for (size_t x = 0; x < k->image_width; x++)
      image[y * k->image_width + x] = (float)sqrt(power[(y + top) * k->width + x + left]);
  volume_crop(image, k->image_height, k->image_width, 0, &(struct scan_shape){.height = (uint32_t)n, .width = (uint32_t)n, .actions = 0},
              crop);
  return crop;
}

static void write_kspace(const char *name, struct kspace *k, bool header) {
  const size_t single[] = {k->slices, k->height, k->width};
  const size_t multi[] = {k->slices, k->coils, k->height, k->width};
  const char *text = arena_text(folder.arena,
                                "<encodedSpace><matrixSize><x>1</x><y>1</y></matrixSize></encodedSpace>"
                                "<reconSpace><matrixSize><x>%zu</x><y>%zu</y><z>1</z></matrixSize>",
                                k->image_height, k->image_width);
  k->data = (const float complex *)draw(2 * k->slices * k->coils * k->height * k->width);
  write_file(name, "kspace", STORE_C64, k->coils > 1 ? 4 : 3, k->coils > 1 ? multi : single, k->data, NULL,
             header ? text : NULL);
}

static void expect_images(struct loaded *loaded, const struct kspace *list, size_t count, size_t n) {
  const float *images = column(loaded, SLICE_image);
  for (size_t v = 0; v < count; v++)
    for (size_t s = 0; s < list[v].slices; s++, images += n * n) {
      const float *want = reconstruct(&list[v], s, n);
      for (size_t i = 0; i < n * n; i++) expect_near(images[i], want[i], 2e-5);
    }
}

/* Volumes of sizes that clFFT takes and of sizes that it does not, one after the other, with and without a
 * header, so that the plan is opened anew in between. */
static void images_come_from_kspace(void **state) {
  struct kspace list[] = {{2, 1, 40, 36, 36, 36, NULL}, {2, 3, 34, 37, 34, 34, NULL},
                          {1, 2, 66, 39, 33, 38, NULL}, {1, 4, 40, 36, 33, 32, NULL},
                          {1, 1, 37, 40, 37, 37, NULL}, {1, 2, 62, 41, 32, 35, NULL}};
  const bool header[] = {false, false, true, true, false, true};
  enum { COUNT = sizeof list / sizeof *list };
  options.data.size = option_square(32);
  for (size_t v = 0; v < COUNT; v++) write_kspace(arena_text(folder.arena, "%zu.h5", v), &list[v], header[v]);
  struct loaded loaded = load_good(*state);
  assert_int_equal(loaded.report.slices, 8);
  expect_images(&loaded, list, COUNT, 32);
  unload(&loaded);
}

/* The central n x n of every coil: an image of the whole field of view in fewer pixels. */
static struct kspace cut_to(const struct kspace *k, size_t n) {
  struct kspace cut = {k->slices, k->coils, n, n, n, n, NULL};
  float complex *data = ARENA_NEW(folder.arena, float complex, k->slices * k->coils * n * n);
  for (size_t plane = 0; plane < k->slices * k->coils; plane++)
    for (size_t y = 0; y < n; y++)
      for (size_t x = 0; x < n; x++)
        data[(plane * n + y) * n + x] =
            k->data[(plane * k->height + y + k->height / 2 - n / 2) * k->width + x + k->width / 2 - n / 2];
  cut.data = data;
  return cut;
}

static void kspace_is_cut_before_the_transform(void **state) {
  struct kspace list[] = {{2, 1, 40, 36, 36, 36, NULL}, {1, 3, 33, 37, 33, 33, NULL}};
  options.data.size = option_square(32);
  options.data.crop = CROP_KSPACE;
  options.data.source = SOURCE_KSPACE;
  for (size_t v = 0; v < 2; v++) write_kspace(arena_text(folder.arena, "%zu.h5", v), &list[v], v);
  struct loaded loaded = load_good(*state);
  const struct kspace cut[] = {cut_to(&list[0], 32), cut_to(&list[1], 32)};
  expect_images(&loaded, cut, 2, 32);
  unload(&loaded);
}

static void images_from_kspace_are_padded(void **state) {
  struct kspace kspace = {1, 2, 40, 36, 21, 27, NULL};
  options.data.size = option_square(32);
  options.data.pad = 32;
  write_kspace("a.h5", &kspace, true);
  struct loaded loaded = load_good(*state);
  const float *got = column(&loaded, SLICE_image);
  kspace.image_height = kspace.image_width = 15; /* the middle, which no padding touches */
  const float *image = reconstruct(&kspace, 0, 15);
  for (size_t y = 0; y < 15; y++) /* 21 -> 32: 6 before; the middle 15 of 21 start at 3; 27: 3 and 6 */
    for (size_t x = 0; x < 15; x++) expect_near(got[(y + 9) * 32 + x + 9], image[y * 15 + x], 2e-5);
  for (size_t i = 0; i < 6 * 32; i++) assert_true(got[i] == 0);
  unload(&loaded);
}

/* ---- what is computed of a slice ----------------------------------------------------------------------- */

static void moments(const float *image, size_t count, double *mean, double *std, double *peak) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < count; i++) sum += image[i];
  *mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) square += (image[i] - *mean) * (image[i] - *mean);
  *std = sqrt(square / (double)(count - 1));
  *peak = -INFINITY;
  for (size_t i = 0; i < count; i++)
    *peak = fmax(*peak, fmin(fmax((image[i] - *mean) / (*std + 1e-11), -6), 6) * *std + *mean);
}

static void statistics_agree(void **state) {
  enum { N = 36, SLICES = 5 };
  float *images = draw_images(SLICES, N, 1);
  for (size_t i = 0; i < N * N; i++) images[2 * N * N + i] *= 1e-5f; /* fastMRI's knees are as small */
  images[3 * N * N + 17] = 100;                                      /* beyond six deviations: cut */
  options.data.size = option_square(N);
  write_images("a.h5", images, SLICES, N);
  struct loaded loaded = load_good(*state);
  const float *got[] = {column(&loaded, SLICE_mean), column(&loaded, SLICE_std), column(&loaded, SLICE_peak)};
  const float *unit = column(&loaded, SLICE_unit);
  for (size_t s = 0; s < SLICES; s++) {
    double mean, std, peak;
    int exponent;
    moments(images + s * N * N, N * N, &mean, &std, &peak);
    expect_near(got[0][s], mean, 1e-6 * fabs(mean));
    expect_near(got[1][s], std, 1e-5 * std);
    expect_near(got[2][s], peak, 1e-5 * peak);
    assert_true(frexp(unit[s], &exponent) == 0.5); /* a power of two, at most the deviation */
    assert_true(unit[s] <= got[1][s] && got[1][s] < 2 * unit[s]);
  }
  assert_true(got[2][3] < 50);
  assert_memory_equal(column(&loaded, SLICE_image), images, sizeof *images * SLICES * N * N);
  unload(&loaded);
}

/* hybrid[frequency][row] against the transform along the rows, by its definition; frequency 0 is line n/2. */
static void expect_hybrid(struct loaded *loaded, const float *image, size_t slice, size_t n) {
  const float complex *hybrid = (const float complex *)column(loaded, SLICE_hybrid) + slice * n * n;
  const float *unit = column(loaded, SLICE_unit);
  const double complex *inverse = transform_matrix(n);
  for (size_t frequency = 0; frequency < n; frequency++)
    for (size_t y = 0; y < n; y++) {
      double complex sum = 0;
      size_t line = (frequency + n / 2) % n, place = frequency * n + y;
      for (size_t x = 0; x < n; x++) sum += (double)image[y * n + x] * conj(inverse[x * n + line]);
      sum /= (double)unit[slice];
      expect_near(crealf(hybrid[place]), creal(sum), 2e-4);
      expect_near(cimagf(hybrid[place]), cimag(sum), 2e-4);
    }
}

/* Each size compiles kernels of its own; test_fft has other lengths. */
static void hybrid_data_agree(void **state) {
  static const size_t sizes[] = {32, 35, 36};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t n = sizes[i];
    float *images = draw_images(2, n, 1);
    options.data.size = option_square(n);
    write_images("a.h5", images, 2, n);
    struct loaded loaded = load_good(*state);
    for (size_t s = 0; s < 2; s++) expect_hybrid(&loaded, images + s * n * n, s, n);
    unload(&loaded);
  }
}

/* More slices than are transformed at a time, and not a multiple of them. */
static void hybrid_data_agree_over_chunks(void **state) {
  enum { N = 8, SLICES = 141 };
  float *images = draw_images(SLICES, N, 0.5f);
  options.data.size = option_square(N);
  write_images("a.h5", images, SLICES, N);
  struct loaded loaded = load_good(*state);
  for (size_t s = 0; s<SLICES; s += s % 64> 61 || s % 64 < 2 ? 1 : 12)
    expect_hybrid(&loaded, images + s * N * N, s, N);
  expect_hybrid(&loaded, images + (SLICES - 1) * N * N, SLICES - 1, N);
  unload(&loaded);
}

static void rows_outside_the_range_stay(void **state) {
  enum { N = 8, SLICES = 6 };
  struct error error;
  float *images = draw_images(SLICES, N, 1), marks[] = {-1, -1, -1, -1, -1, -1};
  write_images("a.h5", images, SLICES, N);
  struct loaded loaded = load_good(*state);
  const float *before = column(&loaded, SLICE_mean);
  support_put(loaded.world, SLICE_mean, 0, SLICES, marks);
  assert_good(transform_rows(loaded.world, 2, 3, &error), &error);
  const float *after = column(&loaded, SLICE_mean);
  for (size_t s = 0; s < SLICES; s++) assert_true(after[s] == (s >= 2 && s < 5 ? before[s] : -1));
  unload(&loaded);
}

/* ---- data ranges --------------------------------------------------------------------------------------- */

/* Two volumes of two slices; in each the second slice is brighter. */
static void make_ranges(void) {
  const size_t shape[] = {2, 8, 8};
  const double max[] = {7, 9};
  for (size_t v = 0; v < 2; v++) {
    float *images = draw_images(2, 8, v ? 5 : 1);
    for (size_t i = 64; i < 128; i++) images[i] += 2;
    write_file(v ? "b.h5" : "a.h5", "reconstruction_esc", STORE_F32, 3, shape, images, &max[v], NULL);
  }
}

static void expect_ranges(struct loaded *loaded, const double want[4]) {
  const float *range = column(loaded, SLICE_data_range);
  for (size_t s = 0; s < 4; s++) {
    expect_near(range[s], want[s], 1e-6 * want[s]);
    expect_near(loaded->report.data_range[s], want[s], 1e-6 * want[s]);
  }
}

static void ranges_are_by_volume(void **state) {
  make_ranges();
  struct loaded loaded = load_good(*state);
  const float *peak = column(&loaded, SLICE_peak);
  expect_ranges(&loaded, (const double[]){peak[1], peak[1], peak[3], peak[3]});
  unload(&loaded);
}

static void ranges_are_by_slice(void **state) {
  make_ranges();
  set("data.range=slice");
  struct loaded loaded = load_good(*state);
  const float *peak = column(&loaded, SLICE_peak);
  expect_ranges(&loaded, (const double[]){peak[0], peak[1], peak[2], peak[3]});
  unload(&loaded);
}

/* Images and what ranges come from, before anything is found of them. */
static void images_are_divided_by_the_scale(void **state) {
  make_ranges();
  struct loaded plain = load_good(*state);
  const float *image = column(&plain, SLICE_image), *mean = column(&plain, SLICE_mean);
  set("data.scale=0.25");
  set("data.range=attribute");
  struct loaded loaded = load_good(*state);
  const float *scaled = column(&loaded, SLICE_image), *scaled_mean = column(&loaded, SLICE_mean);
  for (size_t i = 0; i < 4 * 64; i++) assert_true(scaled[i] == 4 * image[i]);
  for (size_t s = 0; s < 4; s++) assert_true(scaled_mean[s] == 4 * mean[s]);
  expect_ranges(&loaded, (const double[]){28, 28, 36, 36});
  unload(&loaded);
  unload(&plain);
}

/* Targets of networks of complex images: bright pixels are not cut. */
static void images_are_targets_as_they_are(void **state) {
  const size_t shape[] = {1, 8, 8};
  float *image = draw_images(1, 8, 3);
  image[20] = 100;
  write_file("a.h5", "reconstruction_esc", STORE_F32, 3, shape, image, NULL, NULL);
  struct loaded cut = load_good(*state);
  assert_true(*(const float *)column(&cut, SLICE_peak) < 80);
  set("network.input=complex");
  struct loaded loaded = load_good(*state);
  assert_true(*(const float *)column(&loaded, SLICE_mean) == 0);
  assert_true(*(const float *)column(&loaded, SLICE_std) == 1);
  assert_true(*(const float *)column(&loaded, SLICE_peak) == 100);
  assert_true(*(const float *)column(&loaded, SLICE_unit) == *(const float *)column(&cut, SLICE_unit));
  unload(&loaded);
  unload(&cut);
}

static void ranges_are_by_attribute(void **state) {
  make_ranges();
  set("data.range=attribute");
  struct loaded loaded = load_good(*state);
  expect_ranges(&loaded, (const double[]){7, 7, 9, 9});
  unload(&loaded);
  write_images("c.h5", draw_images(1, 8, 1), 1, 8);
  expect_refusal(*state, "c.h5 has no attribute max; set data.range to volume or slice");
  const double bad[] = {0, -1, NAN};
  for (size_t i = 0; i < 3; i++) {
    write_file("c.h5", "reconstruction_esc", STORE_F32, 3, (const size_t[]){1, 8, 8}, draw_images(1, 8, 1),
               &bad[i], NULL);
    expect_refusal(*state, "it must be above 0; set data.range to volume or slice");
  }
}

/* The range is of the loaded slices, not of all of the volume. */
static void ranges_are_of_loaded_slices(void **state) {
  float *images = draw_images(4, 8, 1);
  for (size_t i = 0; i < 64; i++) images[i] += 10;
  write_images("a.h5", images, 4, 8);
  set("data.slices=centre");
  struct loaded loaded = load_good(*state);
  assert_int_equal(loaded.report.slices, 2);
  assert_int_equal(loaded.report.names[0].slice, 1);
  assert_true(loaded.report.data_range[0] < 5);
  unload(&loaded);
}

/* ---- broken and constant ------------------------------------------------------------------------------- */

/* Volumes 0, 1 and 2 of four slices each; slice 1 of volume `broken` has one such pixel. */
static void make_broken(size_t broken, float value) {
  for (size_t v = 0; v < 3; v++) {
    float *images = draw_images(4, 12, 1);
    if (v == broken) images[144 + 65] = value;
    write_images(arena_text(folder.arena, "%zu.h5", v), images, 4, 12);
  }
}

static void expect_without(struct device *device, size_t broken) {
  struct loaded loaded = load_good(device);
  const uint32_t *volume = column(&loaded, SLICE_volume);
  assert_int_equal(loaded.report.slices, 8);
  assert_int_equal(world_rows(loaded.world, TABLE_SLICE), 8);
  assert_int_equal(loaded.report.broken_volumes, 1);
  for (size_t row = 0; row < 8; row++) {
    size_t want = row / 4 + (row / 4 >= broken);
    assert_int_equal(loaded.report.names[row].volume, want);
    assert_int_equal(loaded.report.names[row].slice, row % 4);
    assert_int_equal(volume[row], want);
  }
  unload(&loaded);
}

static void a_volume_is_dropped_as_a_whole(void **state) {
  for (size_t broken = 0; broken < 3; broken++) {
    make_broken(broken, NAN);
    expect_without(*state, broken);
    make_broken(broken, -INFINITY);
    expect_without(*state, broken);
  }
}

static void strict_refuses_what_is_not_finite(void **state) {
  make_broken(1, NAN);
  set("data.strict=true");
  expect_refusal(*state, "data.strict: ");
  expect_refusal(*state, "1.h5: slice 1 holds values that are not finite");
}

static void set_scale(double scale) {
  float *images = draw_images(2, 12, 1);
  for (size_t i = 0; i < 2 * 144; i++) images[i] *= (float)scale;
  write_images("b.h5", images, 2, 12);
}

/* Numbers beyond what 32-bit sums of squares and the normalisation's 1e-11 hold would mean nothing. */
static void volumes_of_absurd_scale_are_dropped(void **state) {
  static const struct {
    double scale;
    const char *reason; /* NULL: good */
  } cases[] = {
      {1e30, "magnitudes above 1e15"}, {1e-30, "deviation is below 1e-9"}, {1e14, NULL}, {1e-7, NULL}};
  write_images("a.h5", draw_images(2, 12, 1), 2, 12);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    set_scale(cases[i].scale);
    struct loaded loaded = load_good(*state);
    assert_int_equal(loaded.report.broken_volumes, cases[i].reason != NULL);
    assert_int_equal(loaded.report.slices, cases[i].reason ? 2 : 4);
    unload(&loaded);
    if (!cases[i].reason) continue;
    set("data.strict=true");
    expect_refusal(*state, cases[i].reason);
    set("data.strict=false");
  }
}

static void only_the_crop_must_be_finite(void **state) {
  float *images = draw_images(1, 12, 1);
  images[0] = NAN;
  write_images("a.h5", images, 1, 12);
  struct loaded loaded = load_good(*state);
  assert_int_equal(loaded.report.broken_volumes, 0);
  unload(&loaded);
}

/* Nobody wrote the file when the data set was opened. */
static void a_file_that_is_written_later_is_in_use(void **state) {
  struct loaded loaded = {.good = false};
  struct error error;
  make_broken(3, 0);
  assert_good(dataset_open(&loaded.dataset, &options, &error), &error);
  int file = open(support_path(&folder, "0.h5"), O_RDWR);
  assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
  open_world(&loaded, *state);
  assert_good(load_slices(loaded.world, &loaded.dataset, &options, folder.arena, &loaded.report, &error), &error);
  assert_int_equal(loaded.report.slices, 8);
  assert_int_equal(loaded.report.broken_volumes, 0);
  assert_int_equal(loaded.report.written_volumes, 1);
  close(file);
  unload(&loaded);
}

/* The file was whole when the data set was opened. */
static void a_file_cut_short_later_is_dropped(void **state) {
  struct loaded loaded = {.good = false};
  struct error error;
  make_broken(3, 0);
  assert_good(dataset_open(&loaded.dataset, &options, &error), &error);
  assert_int_equal(truncate(support_path(&folder, "0.h5"), 1000), 0);
  open_world(&loaded, *state);
  assert_good(load_slices(loaded.world, &loaded.dataset, &options, folder.arena, &loaded.report, &error),
              &error);
  assert_int_equal(loaded.report.slices, 8);
  assert_int_equal(loaded.report.broken_volumes, 1);
  assert_int_equal(loaded.report.names[0].volume, 1);
  options.data.strict = true;
  assert_false(load_slices(loaded.world, &loaded.dataset, &options, folder.arena, &loaded.report, &error));
  assert_holds(error.text, "cut short");
  unload(&loaded);
}

/* Slices 0 and 2 of four are constant. */
static void make_constant(const char *name) {
  float *images = draw_images(4, 8, 1);
  for (size_t i = 0; i < 64; i++) images[i] = 0, images[128 + i] = 0.3f;
  write_images(name, images, 4, 8);
}

static void constant_slices_are_counted(void **state) {
  make_constant("a.h5");
  struct loaded loaded = load_good(*state);
  assert_int_equal(loaded.report.slices, 4);
  assert_int_equal(loaded.report.constant, 2);
  assert_int_equal(loaded.report.excluded, 0);
  unload(&loaded);
}

static void constant_slices_are_left_out(void **state) {
  make_constant("a.h5");
  make_constant("b.h5");
  set("data.exclude_constant=true");
  struct loaded loaded = load_good(*state);
  assert_int_equal(loaded.report.slices, 4);
  assert_int_equal(loaded.report.constant, 4);
  assert_int_equal(loaded.report.excluded, 4);
  for (size_t row = 0; row < 4; row++) {
    assert_int_equal(loaded.report.names[row].volume, row / 2);
    assert_int_equal(loaded.report.names[row].slice, row % 2 ? 3 : 1);
  }
  unload(&loaded);
}

/* Slices of a volume that turned out to be broken later do not count. */
static void constant_slices_of_a_dropped_volume_do_not_count(void **state) {
  static const char *const settings[] = {"data.exclude_constant=false", "data.exclude_constant=true"};
  float *images = draw_images(4, 8, 1);
  for (size_t i = 0; i < 64; i++) images[i] = 1;
  images[3 * 64 + 5] = NAN;
  write_images("a.h5", images, 4, 8);
  write_images("b.h5", draw_images(2, 8, 1), 2, 8);
  for (size_t i = 0; i < 2; i++) {
    set(settings[i]);
    struct loaded loaded = load_good(*state);
    assert_int_equal(loaded.report.slices, 2);
    assert_int_equal(loaded.report.constant, 0);
    assert_int_equal(loaded.report.excluded, 0);
    unload(&loaded);
  }
}

/* ---- data that are not what they seem ------------------------------------------------------------------ */

/* Read all the same, but for data.strict. NULL: no doubt. */
static void expect_doubt(struct device *device, const char *part) {
  struct loaded loaded = load_good(device);
  unload(&loaded);
  set("data.strict=true");
  if (part) {
    expect_refusal(device, "data.strict: ");
    expect_refusal(device, part);
  } else {
    loaded = load_good(device);
    unload(&loaded);
  }
  set("data.strict=false");
}

enum { SIDE = 32 };

/* One slice of k-space that falls off from its centre. */
static float complex *draw_spectrum(size_t coils) {
  float complex *data = (float complex *)draw(2 * coils * SIDE * SIDE);
  for (size_t i = 0; i < coils * SIDE * SIDE; i++) {
    double y = (double)(i / SIDE % SIDE) - SIDE / 2, x = (double)(i % SIDE) - SIDE / 2;
    data[i] *= (float)exp(-(x * x + y * y) / 40);
  }
  return data;
}

static void write_spectrum(const float complex *data, size_t coils) {
  const size_t single[] = {1, SIDE, SIDE}, multi[] = {1, coils, SIDE, SIDE};
  write_file("a.h5", "kspace", STORE_C64, coils > 1 ? 4 : 3, coils > 1 ? multi : single, data, NULL, NULL);
}

/* Leaves the samples where (coordinate - first) % every is 0, inside [first, last). */
static void expect_undersampled(struct device *device, bool rows, size_t first, size_t last, size_t every,
                                const char *part) {
  float complex *data = draw_spectrum(2);
  for (size_t i = 0; i < 2 * SIDE * SIDE; i++) {
    size_t line = rows ? i / SIDE % SIDE : i % SIDE;
    if (line < first || line >= last || (line - first) % every) data[i] = 0;
  }
  write_spectrum(data, 2);
  expect_doubt(device, part);
}

static void undersampled_truth_is_said(void **state) {
  expect_undersampled(*state, false, 0, SIDE, 1, NULL);
  expect_undersampled(*state, false, 0, SIDE, 4, "75 % of the columns of the k-space in ");
  expect_undersampled(*state, true, 0, SIDE, 2, "50 % of the rows of the k-space in ");
  expect_undersampled(*state, false, 12, 20, 1, "75 % of the columns of the k-space in ");
  expect_undersampled(*state, false, 3, 29, 1, NULL); /* padding, as fastMRI's has */
}

static void undersampled_points_are_said(void **state) {
  float complex *data = draw_spectrum(1);
  for (size_t i = 0; i < SIDE * SIDE; i++)
    if (i % SIDE != i / SIDE && random_normal(&noise) > -0.5) data[i] = 0;
  write_spectrum(data, 1);
  expect_doubt(*state, " % of the samples of the k-space in ");
}

/* An object of so many pixels, amid noise of a twentieth of its brightness. */
static void write_object(size_t height, size_t width, size_t side) {
  float *image = draw(height * width);
  for (size_t i = 0; i < height * width; i++) {
    size_t y = i / width, x = i % width;
    bool inside =
        2 * y + side >= height && 2 * y < height + side && 2 * x + side >= width && 2 * x < width + side;
    image[i] = fabsf(0.02f * image[i]) + (inside ? 1 : 0);
  }
  write_file("a.h5", "reconstruction_esc", STORE_F32, 3, (size_t[]){1, height, width}, image, NULL, NULL);
}

/* Background may be cut away, however much there is; nobody is told what the scene says itself. */
static void a_crop_of_what_is_shown_is_said(void **state) {
  options.given[OPTION_ROW_data_crop] = false;
  write_object(SIDE, SIDE, 8);
  expect_doubt(*state, NULL);
  write_object(SIDE, SIDE, 16);
  expect_doubt(*state, "data.size 8 cuts away 75 % of the signal of ");
  expect_doubt(*state,
               "of 32x32 pixels the central 8x8 are taken; set data.size to more, at most 32; where the cut");
  write_object(SIDE, 8, 16);
  expect_doubt(
      *state,
      "are taken; set data.size and data.pad to more; where the cut is meant, say so by data.crop image");
  set("data.pad=16");
  write_object(SIDE, 8, 8);
  expect_doubt(*state, NULL);
  write_object(SIDE, 8, 16);
  set("data.crop=image");
  expect_doubt(*state, NULL);
}

static void a_crop_of_images_from_kspace_is_said(void **state) {
  float complex *data = draw_spectrum(2); /* of noise that fills the image */
  options.given[OPTION_ROW_data_crop] = false;
  write_spectrum(data, 2);
  expect_doubt(*state, "or data.crop to kspace for the whole field of view in fewer pixels");
}

/* The volume is the centred one moved by half, on one axis or both. */
static void a_zero_frequency_in_the_corner_is_said(void **state) {
  static const char *const words[] = {"none", "columns", "rows", "both"};
  const float complex *centred = draw_spectrum(3);
  float want[64];
  for (size_t how = 0; how < 4; how++) {
    float complex *moved = ARENA_NEW(folder.arena, float complex, 3 * SIDE * SIDE);
    for (size_t i = 0; i < 3 * SIDE * SIDE; i++) {
      size_t x = (i + (how & 1 ? SIDE / 2 : 0)) % SIDE, y = (i / SIDE + (how & 2 ? SIDE / 2 : 0)) % SIDE;
      moved[i] = centred[i / (SIDE * SIDE) * SIDE * SIDE + y * SIDE + x];
    }
    write_spectrum(moved, 3);
    const char *key = arena_text(folder.arena, "set data.kspace_shift to %s", words[how]);
    expect_doubt(*state, how ? key : NULL);
    set(arena_text(folder.arena, "data.kspace_shift=%s", words[how]));
    expect_doubt(*state, NULL);
    struct loaded loaded = load_good(*state);
    if (!how) memcpy(want, column(&loaded, SLICE_image), sizeof want);
    assert_memory_equal(column(&loaded, SLICE_image), want, sizeof want);
    unload(&loaded);
    set(arena_text(folder.arena, "data.kspace_shift=%s", words[3 - how]));
    expect_doubt(*state, key); /* undoes what was set */
    set("data.kspace_shift=none");
  }
}

/* k-space of a bright spot at a place of every image, by the centred transform's definition. */
static void write_spot(double y, double x, size_t height, size_t width) {
  const size_t shape[] = {1, height, width};
  float complex *data = ARENA_NEW(folder.arena, float complex, height *width);
  for (size_t i = 0; i < height * width; i++) {
    double v = (double)(i / width) - (double)(height / 2), u = (double)(i % width) - (double)(width / 2);
    data[i] = (float complex)(exp(-(u * u + v * v) / 60) *
                              cexp(-2 * M_PI * I * (v * y / (double)height + u * x / (double)width)));
  }
  write_file("a.h5", "kspace", STORE_C64, 3, shape, data, NULL, NULL);
}

static void an_image_around_its_edges_is_said(void **state) {
  static const char *const words[] = {"none", "columns", "rows", "both"};
  float want[64];
  for (size_t how = 0; how < 4; how++) {
    write_spot(how & 2 ? SIDE / 2 : 0, how & 1 ? SIDE / 2 : 0, SIDE, SIDE);
    const char *key = arena_text(folder.arena, "set data.image_shift to %s", words[how]);
    expect_doubt(*state, how ? key : NULL);
    set(arena_text(folder.arena, "data.image_shift=%s", words[how]));
    expect_doubt(*state, NULL);
    struct loaded loaded = load_good(*state);
    const float *image = column(&loaded, SLICE_image);
    if (!how) memcpy(want, image, sizeof want);
    for (size_t i = 0; i < 64; i++) expect_near(image[i], want[i], 1e-5);
    unload(&loaded);
    set(arena_text(folder.arena, "data.image_shift=%s", words[3 - how]));
    expect_doubt(*state, key);
    set("data.image_shift=none");
  }
}

/* numpy.fft.fft2 of an image takes its index 0 for the middle: its centre is half its size beyond. */
static void odd_images_are_shifted_to_their_centre(void **state) {
  write_spot(16, 17, 33, 35);
  set("data.image_shift=both");
  struct loaded loaded = load_good(*state);
  float *moved = column(&loaded, SLICE_image);
  unload(&loaded);
  write_spot(0, 0, 33, 35);
  set("data.image_shift=none");
  loaded = load_good(*state);
  const float *image = column(&loaded, SLICE_image);
  for (size_t i = 0; i < 64; i++) expect_near(moved[i], image[i], 1e-5);
  unload(&loaded);
}

/* Zero frequency at index 0 of 5 lines goes to 2, of 4 columns to 2. */
static void odd_axes_are_shifted_to_their_centre(void **state) {
  const size_t shape[] = {1, 5, 4};
  float data[40], got[40];
  struct volume volume = volume_of(support_path(&folder, "a.h5"));
  struct error error;
  void *file;
  (void)state;
  for (size_t i = 0; i < 40; i++) data[i] = (float)i;
  write_file("a.h5", "kspace", STORE_C64, 3, shape, data, NULL, NULL);
  set("data.kspace_shift=both");
  options.data.pad = 8;
  assert_good(volume_open(&volume, &options, &error), &error);
  assert_good(volume_file_open(&file, &volume, &error), &error);
  assert_good(volume_read(file, &volume, 0, got, &error), &error);
  for (size_t y = 0; y < 5; y++)
    for (size_t x = 0; x < 4; x++)
      assert_true(got[2 * ((y + 2) % 5 * 4 + (x + 2) % 4)] == data[2 * (y * 4 + x)]);
  volume_file_close(file, &volume);
}

static void values_of_no_magnitude_are_said(void **state) {
  float *images = draw_images(2, 8, 1);
  write_images("a.h5", images, 2, 8);
  expect_doubt(*state, NULL);
  images[70] = -0.25f;
  write_images("a.h5", images, 2, 8);
  expect_doubt(*state, "go down to -0.25; magnitudes are never below 0");
  write_images("a.h5", draw(20 * 64), 20, 8);
  expect_doubt(*state, "(they are z-scored: mean 0, deviation 1)");
}

static void constant_volumes_are_said(void **state) {
  const float *zeros = ARENA_NEW(folder.arena, float, 128);
  write_images("a.h5", draw_images(2, 8, 1), 2, 8);
  write_images("b.h5", zeros, 2, 8);
  expect_doubt(*state, "b.h5 all values are equal");
  set("data.exclude_constant=true");
  expect_doubt(*state, NULL);
}

static void a_max_that_is_not_the_largest_pixel_is_said(void **state) {
  const size_t shape[] = {2, 8, 8};
  float *images = draw_images(2, 8, 1);
  static const struct {
    double max;
    bool good;
  } cases[] = {{2, true}, {2.01, true}, {2.1, false}, {1.9, false}, {NAN, false}, {2000, false}};
  images[100] = 2;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_file("a.h5", "reconstruction_esc", STORE_F32, 3, shape, images, &cases[i].max, NULL);
    expect_doubt(*state, cases[i].good ? NULL : "its largest pixel is 2;");
  }
}

/* Read as floats they are zeros. */
static void doubles_that_vanish_are_broken(void **state) {
  const size_t shape[] = {1, 8, 8};
  double values[64];
  for (size_t i = 0; i < 64; i++) values[i] = 1e-60 * (double)(i + 1);
  write_images("a.h5", draw_images(1, 8, 1), 1, 8);
  write_file("b.h5", "reconstruction_esc", STORE_F64, 3, shape, values, NULL, NULL);
  struct loaded loaded = load_good(*state);
  assert_int_equal(loaded.report.broken_volumes, 1);
  unload(&loaded);
  set("data.strict=true");
  expect_refusal(*state, "holds numbers of at most 6.4e-59 in a slice, which vanish in single precision");
}

static void nothing_usable_is_refused(void **state) {
  float *images = ARENA_NEW(folder.arena, float, 3 * 64);
  write_images("a.h5", images, 3, 8);
  set("data.exclude_constant=true");
  expect_refusal(*state, ": 0 broken volumes, 3 constant slices (data.exclude_constant); `l2sr inspect");
  set("data.exclude_constant=false"); /* SSIM would be 1 */
  expect_refusal(*state, "are all equal (3 slices): there is nothing to reconstruct");
  images[0] = NAN;
  write_images("a.h5", images, 3, 8);
  expect_refusal(*state, ": 1 broken volume, 0 constant slices;");
}

/* ---- number and order ---------------------------------------------------------------------------------- */

static void most_is_a_limit(void **state) {
  make_broken(0, NAN);
  set("data.most=6");
  struct loaded loaded = load_good(*state);
  assert_int_equal(loaded.report.slices, 6);
  assert_int_equal(loaded.report.names[5].volume, 2);
  assert_int_equal(loaded.report.names[5].slice, 1);
  unload(&loaded);
  set("data.most=100");
  loaded = load_good(*state);
  assert_int_equal(loaded.report.slices, 8);
  unload(&loaded);
}

/* A volume whose last slices have no room has the range of all that data.most takes. */
static void ranges_do_not_depend_on_room(void **state) {
  for (int limited = 0; limited < 2; limited++) {
    float *images = draw_images(4, 8, 1);
    for (size_t i = 3 * 64; i < 4 * 64; i++) images[i] *= 5;
    images[2 * 64] = 40; /* above its mean by more than six deviations */
    write_images("a.h5", images, 4, 8);
    set(limited ? "data.most=3" : "data.most=0");
    struct loaded all = load_good(*state), some;
    set("data.most=2");
    struct error error;
    some = (struct loaded){.good = false};
    assert_good(dataset_open(&some.dataset, &options, &error), &error);
    open_world(&some, *state);
    set(limited ? "data.most=3" : "data.most=0");
    assert_good(load_slices(some.world, &some.dataset, &options, folder.arena, &some.report, &error),
                &error);
    assert_int_equal(some.report.slices, 2);
    assert_true(fabs(some.report.data_range[0] / all.report.data_range[0] - 1) < 1e-5);
    assert_true(limited ? all.report.data_range[0] < 40 : all.report.data_range[0] > 4);
    unload(&some);
    unload(&all);
  }
}

/* Nor on a volume that turned out to be broken when there was no more room for its slices. */
static void ranges_forget_a_dropped_volume(void **state) {
  float *images = draw_images(4, 8, 1);
  struct error error;
  for (size_t i = 2 * 64; i < 3 * 64; i++) images[i] *= 50;
  images[3 * 64 + 5] = NAN;
  write_images("a.h5", images, 4, 8);
  write_images("b.h5", draw_images(2, 8, 1), 2, 8);
  set("data.most=2");
  struct loaded some = {.good = false};
  assert_good(dataset_open(&some.dataset, &options, &error), &error);
  open_world(&some, *state);
  set("data.most=0");
  assert_good(load_slices(some.world, &some.dataset, &options, folder.arena, &some.report, &error), &error);
  const float *peak = column(&some, SLICE_peak);
  assert_int_equal(some.report.broken_volumes, 1);
  assert_int_equal(some.report.names[0].volume, 1);
  for (size_t s = 0; s < 2; s++) expect_near(some.report.data_range[s], fmax(peak[0], peak[1]), 1e-5);
  unload(&some);
}

static void the_order_is_sequential(void **state) {
  write_images("a.h5", draw_images(5, 8, 1), 5, 8);
  struct loaded loaded = load_good(*state);
  assert_memory_equal(column(&loaded, SLICE_order), ((const uint32_t[]){0, 1, 2, 3, 4}), 20);
  unload(&loaded);
}

static void the_permuted_order_is_numpys(void **state) {
  static const uint32_t numpy[] = {8, 1, 5, 0, 7, 2, 9, 4, 3, 6}; /* RandomState(42).permutation(10) */
  uint32_t other[10];
  write_images("a.h5", draw_images(10, 8, 1), 10, 8);
  set("data.order=permuted");
  struct loaded loaded = load_good(*state);
  assert_memory_equal(column(&loaded, SLICE_order), numpy, sizeof numpy);
  unload(&loaded);
  set("world.seed=7");
  permutation_numpy(other, 10, 7);
  loaded = load_good(*state);
  assert_memory_equal(column(&loaded, SLICE_order), other, sizeof other);
  unload(&loaded);
}

/* All slices where they fit into three quarters of what is free; else half of it is for them, or what
 * data.window says, but never fewer than are needed together. */
static void windows_are_as_large_as_fits(void **state) {
  struct device device = *(const struct device *)*state;
  options.data.size = option_square(64);
  options.data.window = 0;
  struct world_setup setup = {.schema = &component_schema,
                              .columns = load_columns(&options),
                              .rows = {[TABLE_SLICE] = 1000},
                              .shape = {[SHAPE_ONE] = 1, [SHAPE_W] = 64, [SHAPE_HW] = 64 * 64},
                              .height = 64,
                              .width = 64};
  size_t row = world_row_bytes(&setup, setup.columns, TABLE_SLICE);
  device.bytes = 12345;
  device.facts.largest = device.facts.memory = device.bytes + 4 * (1000 * row / 3 + 1);
  assert_int_equal(slice_cache_rows(&setup, &device, &options, 16), 1000);
  device.facts.memory -= row;
  assert_int_equal(slice_cache_rows(&setup, &device, &options, 16),
                   (device.facts.memory - device.bytes) / 2 / row);
  assert_int_equal(slice_cache_rows(&setup, &device, &options, 900), 900);
  assert_int_equal(slice_cache_rows(&setup, &device, &options, 0), 1000); /* all are needed together */
  device.facts.largest = (size_t)8 * 64 * 64 * 50;
  assert_int_equal(slice_cache_rows(&setup, &device, &options, 16), 50);
  options.data.window = 20;
  assert_int_equal(slice_cache_rows(&setup, &device, &options, 16), 20);
  assert_int_equal(slice_cache_rows(&setup, &device, &options, 30), 30);
  options.data.window = 2000;
  assert_int_equal(slice_cache_rows(&setup, &device, &options, 16), 1000);
  options.data.window = 0;
}

/* Loading leaves nothing on the device but the world. */
static void scratch_memory_is_given_back(void **state) {
  struct device *device = *state;
  struct kspace kspace = {1, 2, 34, 37, 34, 34, NULL};
  uint64_t before = device->bytes;
  options.data.size = option_square(32);
  write_kspace("a.h5", &kspace, false);
  struct loaded loaded = load_good(device);
  size_t row = 0;
  for (unsigned c = 0; c < COMPONENT_COUNT; c++)
    if (load_columns(&options) & SET(c)) row += world_column_bytes(loaded.world, c);
  assert_int_equal(device->bytes - before, row);
  unload(&loaded);
  assert_int_equal(device->bytes, before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  support_optimise(false);
  const struct CMUnitTest tests[] = {
      TEST(crops_follow_the_protocol),
      TEST(crops_start_where_the_protocol_says), TEST(resizing_takes_means),
      TEST(images_come_from_kspace),
      TEST(kspace_is_cut_before_the_transform),
      TEST(images_from_kspace_are_padded),
      TEST(statistics_agree),
      TEST(hybrid_data_agree),
      TEST(hybrid_data_agree_over_chunks),
      TEST(rows_outside_the_range_stay),
      TEST(ranges_are_by_volume),
      TEST(ranges_are_by_slice),
      TEST(images_are_divided_by_the_scale),
      TEST(images_are_targets_as_they_are),
      TEST(ranges_are_by_attribute),
      TEST(ranges_are_of_loaded_slices),
      TEST(a_volume_is_dropped_as_a_whole),
      TEST(strict_refuses_what_is_not_finite),
      TEST(volumes_of_absurd_scale_are_dropped),
      TEST(only_the_crop_must_be_finite),
      TEST(a_file_that_is_written_later_is_in_use),
      TEST(a_file_cut_short_later_is_dropped),
      TEST(constant_slices_are_counted),
      TEST(constant_slices_are_left_out),
      TEST(constant_slices_of_a_dropped_volume_do_not_count),
      TEST(undersampled_truth_is_said),
      TEST(undersampled_points_are_said),
      TEST(a_crop_of_what_is_shown_is_said),
      TEST(a_crop_of_images_from_kspace_is_said),
      TEST(a_zero_frequency_in_the_corner_is_said),
      TEST(an_image_around_its_edges_is_said),
      TEST(odd_images_are_shifted_to_their_centre),
      TEST(odd_axes_are_shifted_to_their_centre),
      TEST(values_of_no_magnitude_are_said),
      TEST(constant_volumes_are_said),
      TEST(a_max_that_is_not_the_largest_pixel_is_said),
      TEST(doubles_that_vanish_are_broken),
      TEST(nothing_usable_is_refused),
      TEST(most_is_a_limit),
      TEST(ranges_do_not_depend_on_room),
      TEST(ranges_forget_a_dropped_volume),
      TEST(the_order_is_sequential),
      TEST(the_permuted_order_is_numpys),
      TEST(windows_are_as_large_as_fits),
      TEST(scratch_memory_is_given_back),
  };
  return cmocka_run_group_tests(tests, support_open_transforms, support_close_transforms);
}
