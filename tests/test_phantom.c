#include "components/options.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "systems/data/phantom.h"
#include "tests/support.h"

#include <complex.h>
#include <hdf5.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static struct folder folder;

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  support_close_folder(&folder);
  return 0;
}

/* Small volumes whose sides have prime factors; then the settings, "key=value" ended by NULL. */
static struct options small_options(const char *const settings[]) {
  static const char *const small[] = {"phantom.train=1",  "phantom.val=0",      "phantom.test=0",
                                      "phantom.slices=2", "phantom.rows=74",    "phantom.columns=43",
                                      "phantom.size=37",  "phantom.noise=0.02", NULL};
  struct options options;
  struct error error;
  option_defaults(&option_table, &options, folder.arena);
  for (const char *const *s = small; *s; s++)
    assert_good(scene_assign(&option_table, &options, folder.arena, *s, "test", &error), &error);
  for (const char *const *s = settings; *s; s++)
    assert_good(scene_assign(&option_table, &options, folder.arena, *s, "test", &error), &error);
  return options;
}

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void write_phantom(const char *name, const char *const settings[]) {
  struct options options = small_options(settings);
  struct error error;
  assert_good(phantom_write(&options, support_path(&folder, name), &error), &error);
}

static void refuse_phantom(const char *path, const char *const settings[], const char *part) {
  struct options options = small_options(settings);
  struct error error;
  assert_false(phantom_write(&options, path, &error));
  assert_holds(error.text, part);
}

struct volume {
  size_t slices, coils, rows, columns, size;
  float complex *kspace;
  float *target;
  double max, norm;
  char acquisition[32], patient[80], header[4096], layout[64];
};

static void *read_dataset(struct store *store, const char *name, enum store_type type, int rank,
                          struct store_shape *shape) {
  struct error error;
  void *data;
  size_t total;
  assert_good(store_shape(store, name, shape, &error), &error);
  assert_int_equal(shape->rank, rank);
  assert_good(store_read_all(store, name, type, 1 << 28, folder.arena, &data, &total, &error), &error);
  return data;
}

static struct volume read_volume(const char *name, bool single) {
  struct volume volume = {0};
  struct store *store;
  struct store_shape kspace, target;
  struct error error;
  assert_good(store_open(&store, support_path(&folder, name), &error), &error);
  volume.kspace = read_dataset(store, "kspace", STORE_C64, single ? 3 : 4, &kspace);
  volume.target =
      read_dataset(store, single ? "reconstruction_esc" : "reconstruction_rss", STORE_F32, 3, &target);
  assert_false(store_has(store, single ? "reconstruction_rss" : "reconstruction_esc"));
  volume.slices = kspace.size[0];
  volume.coils = single ? 1 : kspace.size[1];
  volume.rows = kspace.size[kspace.rank - 2];
  volume.columns = kspace.size[kspace.rank - 1];
  volume.size = target.size[1];
  assert_int_equal(target.size[0], volume.slices);
  assert_int_equal(target.size[2], volume.size);
  assert_true(store_number(store, "max", &volume.max) && store_number(store, "norm", &volume.norm));
  assert_true(store_text(store, "acquisition", volume.acquisition, sizeof volume.acquisition));
  assert_true(store_text(store, "patient_id", volume.patient, sizeof volume.patient));
  assert_true(store_text(store, "ismrmrd_header", volume.header, sizeof volume.header));
  store_layout(store, "kspace", volume.layout, sizeof volume.layout);
  store_close(store);
  return volume;
}

static size_t target_count(const struct volume *volume) {
  return volume->slices * volume->size * volume->size;
}

/* One pixel of the centred orthonormal inverse transform, by its definition: `rows` and `columns` hold the
 * exponentials of the pixel's row and column. */
static double complex inverse_pixel(const struct volume *volume, const float complex *plane,
                                    const double complex *rows, const double complex *columns) {
  double complex sum = 0;
  for (size_t i = 0; i < volume->rows; i++) {
    double complex line = 0;
    for (size_t j = 0; j < volume->columns; j++) line += columns[j] * plane[i * volume->columns + j];
    sum += rows[i] * line;
  }
  return sum / sqrt((double)(volume->rows * volume->columns));
}

static void fill_exponentials(double complex *to, size_t count, size_t place) {
  for (size_t i = 0; i < count; i++) {
    double turns = ((double)i - (double)(count / 2)) * ((double)place - (double)(count / 2)) / (double)count;
    to[i] = cexp(2 * M_PI * I * turns);
  }
}

/* The image of a slice from its k-space: cropped from floor((n - size) / 2) on, root sum of squares. */
static void reconstruct(const struct volume *volume, size_t slice, double *image) {
  size_t plane = volume->rows * volume->columns, size = volume->size;
  double complex rows[128], columns[128];
  for (size_t i = 0; i < size; i++)
    for (size_t j = 0; j < size; j++) {
      double sum = 0;
      fill_exponentials(rows, volume->rows, (volume->rows - size) / 2 + i);
      fill_exponentials(columns, volume->columns, (volume->columns - size) / 2 + j);
      for (size_t c = 0; c < volume->coils; c++) {
        const float complex *coil = volume->kspace + (slice * volume->coils + c) * plane;
        sum += pow(cabs(inverse_pixel(volume, coil, rows, columns)), 2);
      }
      image[i * size + j] = sqrt(sum);
    }
}

static void assert_consistent(const struct volume *volume) {
  size_t pixels = volume->size * volume->size;
  double *image = ARENA_NEW(folder.arena, double, pixels), most = 0, square = 0, worst = 0;
  for (size_t s = 0; s < volume->slices; s++) {
    reconstruct(volume, s, image);
    for (size_t i = 0; i < pixels; i++)
      worst = fmax(worst, fabs(image[i] - (double)volume->target[s * pixels + i]));
  }
  for (size_t i = 0; i < target_count(volume); i++) {
    most = fmax(most, volume->target[i]);
    square += (double)volume->target[i] * volume->target[i];
  }
  assert_true(worst < 1e-6 * most);
  assert_true(volume->max == most);
  assert_true(fabs(volume->norm - sqrt(square)) < 1e-12 * volume->norm);
}

static void test_single_coil_layout(void **state) {
  (void)state;
  write_phantom("single", SETTINGS("phantom.train=2"));
  struct volume volume = read_volume("single/train/file1000001.h5", true);
  assert_int_equal(volume.slices, 2);
  assert_int_equal(volume.rows, 74);
  assert_int_equal(volume.columns, 43);
  assert_int_equal(volume.size, 37);
  assert_string_equal(volume.acquisition, "CORPD_FBK");
  assert_string_equal(volume.layout, "contiguous");
  assert_int_equal(strlen(volume.patient), 64);
  assert_int_equal(strspn(volume.patient, "0123456789abcdef"), 64);
  assert_true(volume.max > 4e-4 && volume.max < 7e-4);
  assert_consistent(&volume);
  volume = read_volume("single/train/file1000004.h5", true);
  assert_string_equal(volume.acquisition, "CORPDFS_FBK");
  assert_true(volume.max > 2.4e-4 && volume.max < 4.5e-4);
}

static void test_multi_coil_layout(void **state) {
  (void)state;
  write_phantom("multi", SETTINGS("phantom.coils=3"));
  struct volume volume = read_volume("multi/train/file1000001.h5", false);
  assert_int_equal(volume.coils, 3);
  assert_holds(volume.header, "<receiverChannels>3</receiverChannels>");
  assert_consistent(&volume);
}

/* The root sum of squares of all coils of one patient is what a single coil sees. */
static void test_coils_keep_the_image(void **state) {
  (void)state;
  write_phantom("one", SETTINGS("phantom.noise=0"));
  write_phantom("eight", SETTINGS("phantom.noise=0", "phantom.coils=8"));
  struct volume one = read_volume("one/train/file1000001.h5", true);
  struct volume eight = read_volume("eight/train/file1000001.h5", false);
  for (size_t i = 0; i < target_count(&one); i++)
    assert_true(fabsf(one.target[i] - eight.target[i]) < 1e-5f * (float)one.max);
}

static void test_header(void **state) {
  (void)state;
  write_phantom("header", SETTINGS("phantom.train=1"));
  struct volume volume = read_volume("header/train/file1000001.h5", true);
  assert_holds(volume.header, "<encodedSpace><matrixSize><x>74</x><y>43</y><z>1</z></matrixSize>");
  assert_holds(volume.header, "<reconSpace><matrixSize><x>37</x><y>37</y><z>1</z></matrixSize>");
  assert_holds(volume.header, "<minimum>0</minimum><maximum>42</maximum><center>21</center>");
}

/* The types as h5py writes them: little-endian compound r, i; floats; variable-length text; f64 numbers. */
static void test_stored_types(void **state) {
  (void)state;
  write_phantom("types", SETTINGS("phantom.train=1"));
  hid_t file = H5Fopen(support_path(&folder, "types/train/file1000001.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t kspace = H5Dopen2(file, "kspace", H5P_DEFAULT), type = H5Dget_type(kspace);
  char *name = H5Tget_member_name(type, 0);
  assert_string_equal(name, "r");
  assert_int_equal(H5Tget_size(type), 8);
  H5free_memory(name);
  H5Tclose(type);
  H5Dclose(kspace);
  hid_t header = H5Dopen2(file, "ismrmrd_header", H5P_DEFAULT);
  type = H5Dget_type(header);
  assert_true(H5Tis_variable_str(type) > 0);
  H5Tclose(type);
  H5Dclose(header);
  hid_t norm = H5Aopen(file, "norm", H5P_DEFAULT);
  type = H5Aget_type(norm);
  assert_true(H5Tequal(type, H5T_IEEE_F64LE) > 0);
  H5Tclose(type);
  H5Aclose(norm);
  H5Fclose(file);
}

static bool same_data(const struct volume *a, const struct volume *b) {
  size_t samples = a->slices * a->coils * a->rows * a->columns;
  return !memcmp(a->kspace, b->kspace, samples * sizeof *a->kspace) &&
         !memcmp(a->target, b->target, target_count(a) * sizeof *a->target);
}

static void test_volumes_depend_on_seed_and_name_only(void **state) {
  (void)state;
  write_phantom("few", SETTINGS("phantom.train=2", "phantom.test=1"));
  write_phantom("many", SETTINGS("phantom.train=3", "phantom.val=2", "phantom.test=2"));
  write_phantom("other", SETTINGS("phantom.train=2", "world.seed=43"));
  struct volume few = read_volume("few/train/file1000004.h5", true);
  struct volume many = read_volume("many/train/file1000004.h5", true);
  struct volume other = read_volume("other/train/file1000004.h5", true);
  struct volume first = read_volume("many/train/file1000001.h5", true);
  assert_true(same_data(&few, &many));
  assert_false(same_data(&few, &other));
  assert_false(same_data(&few, &first));
  assert_string_equal(few.patient, many.patient);
  assert_string_not_equal(few.patient, other.patient);
  few = read_volume("few/test/file1000003.h5", true);
  many = read_volume("many/test/file1000003.h5", true);
  assert_true(same_data(&few, &many));
  assert_int_equal(access(support_path(&folder, "few/val"), F_OK), -1);
}

/* Fraction of the one volume's variation that the other explains. */
static double correlation(const float *a, const float *b, size_t count) {
  double mean_a = 0, mean_b = 0, ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < count; i++) mean_a += a[i], mean_b += b[i];
  mean_a /= (double)count, mean_b /= (double)count;
  for (size_t i = 0; i < count; i++) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / sqrt(aa * bb);
}

static void test_neighbouring_slices_resemble_each_other(void **state) {
  (void)state;
  write_phantom("slices", SETTINGS("phantom.slices=12", "phantom.train=2"));
  struct volume a = read_volume("slices/train/file1000001.h5", true);
  struct volume b = read_volume("slices/train/file1000004.h5", true);
  size_t pixels = a.size * a.size;
  for (size_t s = 0; s + 1 < a.slices; s++)
    assert_true(correlation(a.target + s * pixels, a.target + (s + 1) * pixels, pixels) > 0.8);
  assert_true(correlation(a.target, b.target, target_count(&a)) < 0.8);
}

static void test_patients(void **state) {
  (void)state;
  write_phantom("patients", SETTINGS("phantom.train=4", "phantom.val=4"));
  struct volume train[4], val;
  for (int i = 0; i < 4; i++) {
    train[i] = read_volume(arena_text(folder.arena, "patients/train/file%d.h5", 1000001 + 3 * i), true);
    val = read_volume(arena_text(folder.arena, "patients/val/file%d.h5", 1000002 + 3 * i), true);
    for (int k = 0; k < 4; k++)
      if (k <= i) assert_string_not_equal(val.patient, train[k].patient);
  }
  assert_string_not_equal(train[0].patient, train[1].patient);
  assert_string_not_equal(train[1].patient, train[2].patient);
  assert_string_equal(train[2].patient, train[3].patient);
  assert_string_not_equal(train[2].acquisition, train[3].acquisition);
}

/* The margin around the body holds noise alone: its deviation is the one that was asked for. */
static void test_noise(void **state) {
  (void)state;
  write_phantom("noisy", SETTINGS("phantom.noise=0.05"));
  write_phantom("clean", SETTINGS("phantom.noise=0"));
  struct volume noisy = read_volume("noisy/train/file1000001.h5", true);
  struct volume clean = read_volume("clean/train/file1000001.h5", true);
  size_t samples = noisy.slices * noisy.rows * noisy.columns;
  double square = 0;
  for (size_t i = 0; i < samples; i++)
    square += pow(cabs((double complex)(noisy.kspace[i] - clean.kspace[i])), 2);
  double deviation = sqrt(square / (2 * (double)samples));
  assert_true(fabs(deviation / (0.05 * 5e-4) - 1) < 0.03);
  assert_true(fabs(clean.max / 5e-4 - 1) < 1e-5);
}

static void test_files_are_replaced_and_others_left(void **state) {
  (void)state;
  write_phantom("again", SETTINGS("phantom.train=2"));
  support_write_text(support_path(&folder, "again/train/notes.txt"), "mine");
  support_write_text(support_path(&folder, "again/train/file1000001.h5"), "broken");
  write_phantom("again", SETTINGS("phantom.train=1"));
  read_volume("again/train/file1000001.h5", true);
  read_volume("again/train/file1000004.h5", true);
  assert_int_equal(support_count(support_path(&folder, "again/train")), 3);
}

static void test_sizes_are_refused(void **state) {
  (void)state;
  const char *path = support_path(&folder, "refused");
  refuse_phantom(path, SETTINGS("phantom.columns=36"),
                 "phantom.columns is 36; it must be at least phantom.size, which is 37");
  refuse_phantom(path, SETTINGS("phantom.size=80", "phantom.columns=90"),
                 "phantom.rows is 74; it must be at least phantom.size, which is 80");
  refuse_phantom(path, SETTINGS("phantom.train=0"), "are all 0; ask for at least one volume");
  assert_int_equal(access(path, F_OK), -1);
}

static void test_places_are_refused(void **state) {
  (void)state;
  support_write_text(support_path(&folder, "plain"), "a file");
  refuse_phantom(support_path(&folder, "plain"), SETTINGS("phantom.train=1"), "plain/train");
  assert_int_equal(access(support_path(&folder, "plain"), F_OK), 0);
  struct error error;
  assert_good(folder_make(support_path(&folder, "taken"), &error), &error);
  support_write_text(support_path(&folder, "taken/train"), "a file");
  refuse_phantom(support_path(&folder, "taken"), SETTINGS("phantom.train=1"),
                 "taken/train is not a folder; name another place for the output");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_single_coil_layout),
      cmocka_unit_test(test_multi_coil_layout),
      cmocka_unit_test(test_coils_keep_the_image),
      cmocka_unit_test(test_header),
      cmocka_unit_test(test_stored_types),
      cmocka_unit_test(test_volumes_depend_on_seed_and_name_only),
      cmocka_unit_test(test_neighbouring_slices_resemble_each_other),
      cmocka_unit_test(test_patients),
      cmocka_unit_test(test_noise),
      cmocka_unit_test(test_files_are_replaced_and_others_left),
      cmocka_unit_test(test_sizes_are_refused),
      cmocka_unit_test(test_places_are_refused),
  };
  return cmocka_run_group_tests(tests, open_folder, close_folder);
}
