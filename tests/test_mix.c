/* Coils whitened and compressed before everything else (systems/coils/mix.h): against covariances, and BART
 * where it is installed; and slices of files whose coils are mixed. */
#include "systems/coils/mix.h"

#include "engine/files/store.h"
#include "kernels/kernels.h"
#include "systems/scan/load.h"
#include "systems/scan/systems.h"
#include "tests/support.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 32, PLANE = N * N, COILS = 5, OWN = 3, NOISE = 3000 };

static struct folder folder;
static struct options options;
static struct random noise;
static float complex kspace[COILS * PLANE], mixed[COILS * PLANE], scan[COILS * NOISE];

/* Coils of which two are sums of the others, so that three see all that there is; noise that they share. */
static void fill(void) {
  double complex weight[COILS][OWN];
  for (size_t c = 0; c < COILS; c++)
    for (size_t o = 0; o < OWN; o++)
      weight[c][o] = c < OWN ? (double)(c == o) : random_normal(&noise) + I * random_normal(&noise);
  for (size_t i = 0; i < PLANE; i++) {
    double y = (double)(i / N) - N / 2, x = (double)(i % N) - N / 2;
    double complex own[OWN];
    for (size_t o = 0; o < OWN; o++)
      own[o] = exp(-(x * x + y * y) / 90) * (random_normal(&noise) + I * random_normal(&noise));
    for (size_t c = 0; c < COILS; c++) {
      double complex sum = 0;
      for (size_t o = 0; o < OWN; o++) sum += weight[c][o] * own[o];
      kspace[c * PLANE + i] = (float complex)sum;
    }
  }
  for (size_t i = 0; i < NOISE; i++) {
    double complex shared = random_normal(&noise) + I * random_normal(&noise);
    for (size_t c = 0; c < COILS; c++)
      scan[c * NOISE + i] =
          (float complex)(1e-3 * ((1 + (double)c) * (random_normal(&noise) + I * random_normal(&noise)) +
                                  (1 - 2 * I * (double)c) * shared));
  }
}

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  option_defaults(&option_table, &options, folder.arena);
  random_start(&noise, 9, STREAM_PHANTOM, 0);
  options.data.path = folder.path;
  options.data.size = option_square(N);
  options.data.kspace = KSPACE_MEASURED;
  fill();
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  support_close_folder(&folder);
  return 0;
}

/* Of kspace and scan, into mixed. */
static bool mix(struct device *device, size_t made, struct error *error) {
  const struct kernel_setup setup = {N, N, false, ""};
  const struct volume volume = {.path = "a file",
                                .from_kspace = true,
                                .coils = COILS,
                                .made_coils = made,
                                .height = N,
                                .width = N,
                                .noise_coils = COILS,
                                .noise_samples = NOISE};
  struct kernels *kernels;
  struct mix own = {0};
  assert_good(kernels_open(&kernels, device, &kernel_table, &setup, error), error);
  assert_true(mix_wanted(&volume, &options));
  bool good = mix_run(&own, device, kernels, &volume, &options, (const float *)(const void *)kspace,
                      (const float *)(const void *)scan, (float *)(void *)mixed, error);
  mix_close(&own);
  kernels_close(kernels);
  return good;
}

/* How far the covariance of samples [COILS][stride], of boxes of `step`, is from the identity. */
static double off_identity(const float complex *samples, size_t stride, size_t count, const size_t *place) {
  double worst = 0;
  for (size_t a = 0; a < COILS; a++)
    for (size_t b = 0; b < COILS; b++) {
      double complex sum = 0;
      for (size_t i = 0; i < count; i++) {
        size_t at = place ? place[i] : i;
        sum += (double complex)samples[a * stride + at] * conj((double complex)samples[b * stride + at]);
      }
      worst = fmax(worst, cabs(sum / ((double)count - 1) - (a == b)));
    }
  return worst;
}

static void noise_is_whitened_by_its_scan(void **state) {
  struct error error;
  options.coils.whiten = WHITEN_NOISE;
  for (size_t c = 0; c < COILS; c++) memcpy(kspace + c * PLANE, scan + c * NOISE, PLANE * sizeof *kspace);
  assert_true(off_identity(scan, NOISE, NOISE, NULL) > 0.5);
  assert_good(mix(*state, COILS, &error), &error);
  double first = off_identity(mixed, PLANE, PLANE, NULL);
  for (size_t c = 0; c < COILS; c++)
    memcpy(kspace + c * PLANE, scan + c * NOISE + PLANE, PLANE * sizeof *kspace);
  assert_good(mix(*state, COILS, &error), &error);
  assert_true(first < 0.15 && off_identity(mixed, PLANE, PLANE, NULL) < 0.15);
}

/* The corners' own covariance is exactly 1 then. */
static void noise_is_whitened_by_the_edge(void **state) {
  struct error error;
  size_t place[4 * 25], count = 0;
  options.coils.whiten = WHITEN_EDGE;
  for (size_t i = 0; i < COILS * PLANE; i++) kspace[i] += scan[i / PLANE * NOISE + i % PLANE];
  for (size_t i = 0; i < PLANE; i++)
    if ((i / N < 5 || i / N >= N - 5) && (i % N < 5 || i % N >= N - 5)) place[count++] = i;
  assert_int_equal(count, 100);
  assert_good(mix(*state, COILS, &error), &error);
  assert_true(off_identity(mixed, PLANE, count, place) < 1e-4);
}

static void an_empty_edge_is_left(void **state) {
  struct error error;
  options.coils.whiten = WHITEN_EDGE;
  for (size_t i = 0; i < COILS * PLANE; i++)
    if (i % N < 6 || i % N >= N - 6) kspace[i] = 0;
  assert_good(mix(*state, COILS, &error), &error);
  assert_memory_equal(mixed, kspace, sizeof kspace);
}

/* Where fewer coils see all, what they see together is the same. */
static void compressed_coils_see_the_same(void **state) {
  struct error error;
  double worst = 0, most = 0, energy[OWN] = {0};
  assert_good(mix(*state, OWN, &error), &error);
  for (size_t i = 0; i < PLANE; i++) {
    double all = 0, made = 0;
    for (size_t c = 0; c < COILS; c++) all += pow(cabsf(kspace[c * PLANE + i]), 2);
    for (size_t c = 0; c < OWN; c++) made += pow(cabsf(mixed[c * PLANE + i]), 2);
    for (size_t c = 0; c < OWN; c++) energy[c] += pow(cabsf(mixed[c * PLANE + i]), 2);
    worst = fmax(worst, fabs(sqrt(all) - sqrt(made)));
    most = fmax(most, sqrt(all));
  }
  assert_true(worst < 1e-5 * most);
  for (size_t c = 1; c < OWN; c++) assert_true(energy[c] < energy[c - 1]);
}

static void noise_of_no_full_rank_is_refused(void **state) {
  struct error error;
  options.coils.whiten = WHITEN_NOISE;
  memcpy(scan + NOISE, scan, NOISE * sizeof *scan);
  assert_false(mix(*state, COILS, &error));
  assert_holds(error.text,
               "a file: the 3000 samples of dataset noise have no covariance of full rank for 5 coils");
  scan[7] = NAN;
  assert_false(mix(*state, COILS, &error));
  assert_holds(error.text, "a file: dataset noise holds values that are not finite");
}

/* ---- BART --------------------------------------------------------------------------------------------- */

static void write_cfl(const char *name, const float complex *data, const char *dimensions, size_t count) {
  support_write_text(support_path(&folder, arena_text(folder.arena, "%s.hdr", name)),
                     arena_text(folder.arena, "# Dimensions\n%s 1 1 1 1 1 1 1 1 1 1 1 1\n", dimensions));
  support_write(support_path(&folder, arena_text(folder.arena, "%s.cfl", name)), data, count * sizeof *data);
}

static const float complex *run_bart(const char *command) {
  size_t bytes;
  write_cfl("k", kspace, "1 32 32 5", COILS * PLANE);
  write_cfl("n", scan, "3000 1 1 5", COILS * NOISE);
  assert_int_equal(system(arena_text(folder.arena, "cd %s && bart %s >/dev/null", folder.path, command)), 0);
  return (const float complex *)(void *)support_read(folder.arena, support_path(&folder, "out.cfl"), &bytes);
}

/* Of whitened coils the numbers, of principal vectors, which have no phase of their own, the sizes. */
static void bart_does_the_same(void **state) {
  struct error error;
  double worst[2] = {0}, most[2] = {0};
  if (system("command -v bart >/dev/null")) {
    puts("  did not run: there is no program bart (Debian: bart)");
    return;
  }
  const float complex *fewer = run_bart("cc -p 2 -r 24 -S k out"), *white = run_bart("whiten k n out");
  assert_good(mix(*state, 2, &error), &error);
  for (size_t i = 0; i < 2 * PLANE; i++) {
    worst[0] = fmax(worst[0], fabs(cabsf(mixed[i]) - cabsf(fewer[i])));
    most[0] = fmax(most[0], cabsf(fewer[i]));
  }
  options.coils.whiten = WHITEN_NOISE;
  assert_good(mix(*state, COILS, &error), &error);
  for (size_t i = 0; i < COILS * PLANE; i++) {
    worst[1] = fmax(worst[1], cabsf(mixed[i] - white[i]));
    most[1] = fmax(most[1], cabsf(white[i]));
  }
  printf("  compressed %.2g, whitened %.2g off\n", worst[0] / most[0], worst[1] / most[1]);
  assert_true(worst[0] < 1e-4 * most[0] && worst[1] < 1e-4 * most[1]);
}

/* ---- files -------------------------------------------------------------------------------------------- */

static void write_file(size_t noise_coils) {
  const size_t shape[] = {1, COILS, N, N}, noise_shape[] = {noise_coils, NOISE};
  struct store *store;
  struct error error;
  assert_good(store_create(&store, support_path(&folder, "a.h5"), &error), &error);
  assert_good(store_write(store, "kspace", STORE_C64, 4, shape, kspace, false, &error), &error);
  if (noise_coils)
    assert_good(store_write(store, "noise", STORE_C64, 2, noise_shape, scan, false, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

static bool load(struct device *device, float *image, uint32_t *coils, struct error *error) {
  struct dataset dataset;
  struct simulation simulation = {0};
  struct load_report report;
  if (!dataset_open(&dataset, &options, error)) return false;
  struct simulation_plan plan = {.slices = 1, .envs = 1, .coils = dataset_coils(&dataset)};
  bool good = simulation_open(&simulation, device, &options, &plan, error);
  if (good) {
    good = load_simulation(&simulation, &dataset, &options, folder.arena, &report, error);
    if (good) support_get(simulation.world, SLICE_image, 0, 1, image);
    if (good) support_get(simulation.world, SLICE_coils, 0, 1, coils);
    simulation_close(&simulation);
  }
  dataset_close(&dataset);
  return good;
}

static void slices_of_files_are_mixed(void **state) {
  static float plain[PLANE], fewer[PLANE], white[PLANE];
  struct error error;
  uint32_t coils;
  float most = 0;
  write_file(COILS);
  assert_good(load(*state, plain, &coils, &error), &error);
  assert_int_equal(coils, COILS);
  options.coils.compress = OWN;
  assert_good(load(*state, fewer, &coils, &error), &error);
  assert_int_equal(coils, OWN);
  for (size_t i = 0; i < PLANE; i++) most = fmaxf(most, plain[i]);
  for (size_t i = 0; i < PLANE; i++) assert_true(fabsf(plain[i] - fewer[i]) < 1e-5F * most);
  options.coils.whiten = WHITEN_NOISE;
  options.coils.compress = COILS;
  assert_good(load(*state, white, &coils, &error), &error);
  assert_int_equal(coils, COILS);
  assert_true(white[PLANE / 2 + N / 2] >
              50 * plain[PLANE / 2 + N / 2]); /* in deviations of the noise, of 1e-3 and more */
}

static void refuse(struct device *device, const char *text) {
  static float image[PLANE];
  struct error error;
  uint32_t coils;
  assert_false(load(device, image, &coils, &error));
  assert_holds(error.text, text);
}

static void noise_of_other_coils_is_refused(void **state) {
  options.coils.whiten = WHITEN_NOISE;
  options.data.strict = true;
  write_file(0);
  refuse(*state, "a.h5 has k-space of 5 coils and no dataset noise, which coils.whiten noise takes");
  write_file(COILS - 1);
  refuse(*state, "a.h5 has a dataset noise of 4 coils and k-space of 5; give the noise of the same coils");
  write_file(COILS);
  options.data.range = RANGE_ATTRIBUTE;
  refuse(*state, "coils.whiten is not none, which makes the noise 1, and data.range attribute");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(noise_is_whitened_by_its_scan),
      TEST(noise_is_whitened_by_the_edge),
      TEST(an_empty_edge_is_left),
      TEST(compressed_coils_see_the_same),
      TEST(noise_of_no_full_rank_is_refused),
      TEST(bart_does_the_same),
      TEST(slices_of_files_are_mixed),
      TEST(noise_of_other_coils_is_refused),
  };
  return cmocka_run_group_tests_name("mix", tests, support_open_transforms, support_close_transforms);
}
