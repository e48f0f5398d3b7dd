#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "systems/data/foreign.h"
#include "systems/data/format.h"
#include "systems/data/patients.h"
#include "systems/data/probe.h"
#include "systems/data/reader.h"
#include "tests/support.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct folder folder;
static struct options options;

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  option_defaults(&option_table, &options, folder.arena);
  options.data.size = option_square(8);
  options.given[OPTION_ROW_data_size] = true;
  options.data.path = folder.path;
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

/* ---- made-up volumes ----------------------------------------------------------------------------------- */

struct made {
  const char *key; /* NULL: reconstruction_esc */
  enum store_type type;
  int rank;
  size_t size[4];
  const char *acquisition, *patient, *header;
};

/* A good volume of `slices` images of 8 x 8. */
static struct made slices(size_t count) {
  return (struct made){.type = STORE_F32, .rank = 3, .size = {count, 8, 8}};
}

static void make(const char *name, struct made made) {
  struct store *store;
  struct error error;
  size_t count = 1;
  for (int i = 0; i < made.rank; i++) count *= made.size[i];
  void *zeros = arena_new(folder.arena, count * 8 + 1);
  const char *path = support_path(&folder, name);
  const char *parent = arena_text(folder.arena, "%.*s", (int)(strrchr(path, '/') - path), path);
  assert_good(folder_make(parent, &error), &error);
  assert_good(store_create(&store, path, &error), &error);
  assert_good(store_write(store, made.key ? made.key : "reconstruction_esc", made.type, made.rank, made.size,
                          zeros, false, &error),
              &error);
  static double number; /* no volume is a copy of another */
  assert_good(store_put_number(store, "number", number++, &error), &error);
  if (made.header) assert_good(store_write_text(store, "ismrmrd_header", made.header, &error), &error);
  if (made.acquisition) assert_good(store_put_text(store, "acquisition", made.acquisition, &error), &error);
  if (made.patient) assert_good(store_put_text(store, "patient_id", made.patient, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

/* Opens the data set; it closes with the next one. The names of its volumes, joined by spaces. */
static const char *volumes_of(struct dataset *dataset) {
  struct error error;
  const char *text = "";
  assert_good(dataset_open(dataset, &options, &error), &error);
  for (size_t v = 0; v < dataset->volume_count; v++)
    text = arena_text(folder.arena, "%s%s%s", text, v ? " " : "", dataset->volumes[v].name);
  return text;
}

/* The only note holds this; NULL: there is none. */
static void expect_note(const char *part) {
  struct dataset dataset;
  volumes_of(&dataset);
  assert_int_equal(dataset.note_count, part != NULL);
  if (part) assert_holds(dataset.notes[0], part);
  dataset_close(&dataset);
}

static void expect_volumes(const char *names) {
  struct dataset dataset;
  assert_string_equal(volumes_of(&dataset), names);
  dataset_close(&dataset);
}

static void expect_refusal(const char *part) {
  struct dataset dataset;
  struct error error;
  if (dataset_open(&dataset, &options, &error)) fail_msg("accepted; expected '%s'", part);
  assert_holds(error.text, part);
}

/* ---- what the middle slices show ----------------------------------------------------------------------- */

/* Makes three slices of pixels that differ, or that are all `value`, which has no contrast. */
static void make_pixels(const char *name, bool good, float value) {
  struct store *store;
  struct error error;
  float pixels[3 * 64];
  for (int i = 0; i < 3 * 64; i++) pixels[i] = good ? (float)(i % 61) : value;
  assert_good(store_create(&store, support_path(&folder, name), &error), &error);
  assert_good(
      store_write(store, "reconstruction_esc", STORE_F32, 3, (size_t[]){3, 8, 8}, pixels, false, &error),
      &error);
  assert_good(store_put_text(store, "patient_id", name, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

static void volumes_of_nothing_are_said(void **state) {
  struct dataset dataset;
  struct error error;
  (void)state;
  make_pixels("good.h5", true, 0);
  make_pixels("nan.h5", false, NAN);
  make_pixels("zeros.h5", false, 0);
  volumes_of(&dataset);
  assert_int_equal(dataset.note_count, 0);
  assert_good(dataset_probe(&dataset, &options, &error), &error);
  assert_int_equal(dataset.broken, 1);
  assert_holds(dataset.skipped[0].reason, "nan.h5: slice 1 holds values that are not finite");
  assert_int_equal(dataset.note_count, 1);
  assert_holds(dataset.notes[0], "zeros.h5 all values are equal; write the file again");
  assert_int_equal(dataset.volume_count, 2);
  dataset_close(&dataset);
}

/* ---- selection by name --------------------------------------------------------------------------------- */

static void make_named(size_t count) {
  for (size_t i = 0; i < count; i++) {
    const char *name = i < 15 ? arena_text(folder.arena, "file%zu.h5", 1000001 + 3 * i)
                              : arena_text(folder.arena, "file_brain_AXT2_%zu_%zu.h5", 185 + i, i - 15);
    make(name, slices(1));
  }
}

/* Python 3 gave these: r = random.Random(0); r.shuffle(names); sorted(names[:round(23 * 0.5)]). */
static void the_selection_is_pythons_shuffle(void **state) {
  struct dataset dataset;
  (void)state;
  make_named(23);
  set("data.fraction=0.5");
  assert_string_equal(
      volumes_of(&dataset),
      "file1000001.h5 file1000007.h5 file1000010.h5 file1000013.h5 file1000019.h5 file1000031.h5 "
      "file1000034.h5 file1000043.h5 file_brain_AXT2_203_3.h5 file_brain_AXT2_204_4.h5 "
      "file_brain_AXT2_205_5.h5 file_brain_AXT2_206_6.h5");
  assert_string_equal(dataset.hash, "3086666adf9188c9d4769157c55ca4eeece750be4c1f7b79a884d00926fdf056");
  assert_int_equal(dataset.entries, 23);
  assert_int_equal(dataset.by_fraction, 11);
  assert_int_equal(dataset.selected, 12);
  dataset_close(&dataset);
  set("data.fraction=0.3");
  expect_volumes("file1000001.h5 file1000019.h5 file1000031.h5 file1000034.h5 file1000043.h5 "
                 "file_brain_AXT2_205_5.h5 file_brain_AXT2_206_6.h5");
}

static void halves_are_rounded_to_even(void **state) {
  struct dataset dataset;
  (void)state;
  make_named(21);
  set("data.fraction=0.5"); /* 10.5: 10; the 11.5 of the test above: 12 */
  volumes_of(&dataset);
  assert_int_equal(dataset.volume_count, 10);
  assert_string_equal(dataset.hash, "04a5317ca5cc003377a19e5ec9916cc9bc8764628a42124e756f24c39b78c1cc");
  dataset_close(&dataset);
}

static void a_fraction_may_leave_nothing(void **state) {
  (void)state;
  make_named(5);
  set("data.fraction=0.1"); /* 0.5: 0 */
  expect_refusal("no usable slice");
  expect_refusal("5 left out by data.fraction");
}

static void the_hash_is_of_the_sorted_names(void **state) {
  struct dataset dataset;
  (void)state;
  make_named(23);
  volumes_of(&dataset);
  assert_string_equal(dataset.hash, "d6bafe98645849cf62898a7ecec179146aaca88dc23f82e628b427dce0e75b76");
  dataset_close(&dataset);
}

/* Neither the folder nor what is in the files, broken ones included, changes the selection. */
static void the_hash_is_of_names_only(void **state) {
  struct dataset dataset;
  (void)state;
  make_named(22);
  support_write_text(support_path(&folder, "file_brain_AXT2_207_7.h5"), "not a volume\n");
  volumes_of(&dataset);
  assert_int_equal(dataset.broken, 1);
  assert_string_equal(dataset.hash, "d6bafe98645849cf62898a7ecec179146aaca88dc23f82e628b427dce0e75b76");
  dataset_close(&dataset);
}

static void the_limit_takes_the_first(void **state) {
  struct dataset dataset;
  (void)state;
  make_named(6);
  set("data.volumes=2");
  assert_string_equal(volumes_of(&dataset), "file1000001.h5 file1000004.h5");
  assert_int_equal(dataset.by_limit, 4);
  dataset_close(&dataset);
}

static void only_h5_files_are_taken(void **state) {
  struct dataset dataset;
  (void)state;
  make("b.h5", slices(1));
  make("a.h5", slices(2));
  support_write_text(support_path(&folder, "README.md"), "volumes\n");
  support_write_text(support_path(&folder, ".DS_Store"), "x");
  support_write_text(support_path(&folder, ".h5"), "x"); /* an ending without a name */
  make("c.h5.part", slices(1));
  assert_int_equal(mkdir(support_path(&folder, "folder.h5"), 0777), 0);
  assert_string_equal(volumes_of(&dataset), "a.h5 b.h5");
  assert_int_equal(dataset.entries, 6);
  assert_int_equal(dataset.not_h5, 2);
  assert_int_equal(dataset.hidden, 2);
  assert_int_equal(dataset.slice_count, 3);
  dataset_close(&dataset);
}

/* Files that other systems leave beside the volumes change neither the selection nor its hash. */
static void hidden_files_are_no_volumes(void **state) {
  struct dataset dataset;
  (void)state;
  make_named(23);
  make("._file1000001.h5", slices(1));
  support_write_text(support_path(&folder, "._file1000004.h5"), "no volume\n");
  set("data.fraction=0.3");
  assert_string_equal(volumes_of(&dataset),
                      "file1000001.h5 file1000019.h5 file1000031.h5 file1000034.h5 "
                      "file1000043.h5 file_brain_AXT2_205_5.h5 file_brain_AXT2_206_6.h5");
  assert_int_equal(dataset.hidden, 2);
  assert_int_equal(dataset.broken, 0);
  dataset_close(&dataset);
}

/* ---- splits -------------------------------------------------------------------------------------------- */

static void splits_are_folders_of_three_names(void **state) {
  (void)state;
  make("train/a.h5", slices(1));
  make("singlecoil_train/b.h5", slices(1));
  make("multicoil_val/c.h5", slices(1));
  make("flat.h5", slices(1)); /* beside the splits: not taken */
  set("data.split=train");
  expect_volumes("b.h5 a.h5"); /* in order of their paths */
  set("data.split=val");
  expect_volumes("c.h5");
  set("data.split=all");
  expect_volumes("c.h5 b.h5 a.h5");
  set("data.split=test"); /* no such folder: the folder itself */
  expect_volumes("flat.h5");
}

/* fastMRI names the scans of one coil and of many alike. */
static void a_scan_counts_once(void **state) {
  (void)state;
  make("singlecoil_test/a.h5", slices(1));
  make("multicoil_test/a.h5", slices(2));
  make("multicoil_test/b.h5", slices(2));
  expect_refusal("multicoil_test/a.h5 and ");
  expect_refusal("singlecoil_test/a.h5 have one name: the scan would count twice; set data.coils to");
  set("data.coils=single");
  expect_volumes("a.h5");
  set("data.coils=multi");
  expect_volumes("a.h5 b.h5");
  set("data.coils=any");
  make("singlecoil_val/c.h5", slices(1)); /* other names: other scans */
  make("multicoil_val/d.h5", slices(1));
  set("data.split=val");
  expect_volumes("d.h5 c.h5");
}

static void equal_names_of_splits_are_said(void **state) {
  (void)state;
  make("train/a.h5", slices(1));
  make("val/a.h5", slices(1));
  make("val/b.h5", slices(1));
  set("data.split=val");
  expect_volumes("a.h5 b.h5");
  set("data.split=all");
  expect_note("val/a.h5, of two splits that are taken together, have one name");
  set("data.strict=true");
  expect_refusal("data.strict: ");
}

/* fastMRI's archives unpack to a folder in a folder; those of brains to several. */
static void fastmri_folders_are_found(void **state) {
  (void)state;
  make("fast/knee_singlecoil_train/singlecoil_train/a.h5", slices(1));
  make("fast/knee_singlecoil_val/singlecoil_val/b.h5", slices(1));
  make("fast/brain_multicoil_train_batch_0/multicoil_train/c.h5", slices(1));
  make("fast/brain_multicoil_train_batch_1/multicoil_train/d.h5", slices(1));
  options.data.path = support_path(&folder, "fast");
  set("data.split=val");
  expect_volumes("b.h5");
  set("data.split=train");
  expect_volumes("c.h5 d.h5 a.h5");
  set("data.coils=single");
  expect_volumes("a.h5");
  set("data.coils=any");
  set("data.split=test");
  expect_refusal("train is of another split");
  options.data.path = support_path(&folder, "fast/knee_singlecoil_val/");
  set("data.split=val");
  expect_volumes("b.h5");
  set("data.split=train");
  expect_refusal("/fast/brain_multicoil_train_batch_0/multicoil_train is there: name /tmp/");
  options.data.path = folder.path;
  expect_refusal("; /tmp/l2sr-test-");
}

static void folders_of_volumes_below_are_hinted_at(void **state) {
  (void)state;
  make("study/images/a.h5", slices(1));
  expect_refusal("study/images holds some: name it by --data (data.path)");
}

static void copy(const char *from, const char *to) {
  size_t bytes;
  unsigned char *data = support_read(folder.arena, support_path(&folder, from), &bytes);
  support_write(support_path(&folder, to), data, bytes);
}

static void copies_are_said(void **state) {
  (void)state;
  make("a.h5", slices(1));
  make("b.h5", slices(1));
  expect_note(NULL);
  copy("a.h5", "c.h5");
  expect_note("/c.h5 hold the same bytes (1 copy in all)");
  set("data.strict=true");
  expect_refusal("data.strict: ");
}

/* The digests of long files are samples of them: what is said of them is known. */
static void files_that_differ_between_samples_are_no_copies(void **state) {
  struct dataset dataset;
  size_t bytes;
  (void)state;
  make("a.h5", slices(12000));
  copy("a.h5", "b.h5");
  volumes_of(&dataset);
  assert_int_equal(dataset.note_count, 1);
  dataset_close(&dataset);
  char *data = (char *)support_read(folder.arena, support_path(&folder, "b.h5"), &bytes);
  assert_true(bytes > 3000000);
  data[100000] ^= 1;
  support_write(support_path(&folder, "b.h5"), data, bytes);
  volumes_of(&dataset);
  assert_memory_equal(&dataset.volumes[0].digest, &dataset.volumes[1].digest, sizeof(struct digest));
  assert_int_equal(dataset.note_count, 0);
  dataset_close(&dataset);
}

static void what_cannot_be_read_has_no_digest(void **state) {
  struct digest folders = digest_file(folder.path), missing = digest_file(support_path(&folder, "none"));
  (void)state;
  assert_false(digest_is_known(&folders));
  assert_false(digest_is_known(&missing));
  assert_false(files_are_equal(folder.path, support_path(&folder, "none")));
}

/* Nobody writes into them: who waits, waits for ever. */
static void pipes_are_not_waited_for(void **state) {
  const char *pipe = support_path(&folder, "in/scan.nii");
  struct error error;
  (void)state;
  alarm(20);
  assert_good(folder_make(support_path(&folder, "in"), &error), &error);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  options.data.path = support_path(&folder, "in");
  expect_refusal("no .h5 file in ");
  options.data.path = pipe;
  expect_refusal("scan.nii is no file; give the file itself");
  alarm(0);
}

/* Blocks of long files are looked at, the first and the last among them; times do not count. */
static void digests_tell_files_apart(void **state) {
  enum { LONG = 3 << 20 };
  char *bytes = arena_new(folder.arena, LONG);
  const char *path = support_path(&folder, "a");
  static const size_t lengths[] = {1000, 1 << 20, (1 << 20) + 1, LONG};
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    const size_t changed[] = {0, lengths[i] - 1, lengths[i] / 15 * 4};
    support_write(path, bytes, lengths[i]);
    struct digest before = digest_file(path), now = digest_file(path);
    assert_memory_equal(&now, &before, sizeof now);
    for (size_t c = 0; c < 3; c++) {
      bytes[changed[c]] = 1;
      support_write(path, bytes, lengths[i]);
      bytes[changed[c]] = 0;
      now = digest_file(path);
      assert_memory_not_equal(&now, &before, sizeof now);
    }
    support_write(path, bytes, lengths[i] - 1);
    now = digest_file(path);
    assert_memory_not_equal(&now, &before, sizeof now);
  }
}

static void a_flat_folder_is_every_split(void **state) {
  static const char *const splits[] = {"data.split=train", "data.split=val", "data.split=test",
                                       "data.split=all"};
  (void)state;
  make("a.h5", slices(1));
  make("b.h5", slices(1));
  for (size_t i = 0; i < 4; i++) {
    set(splits[i]);
    expect_volumes("a.h5 b.h5");
  }
}

static void a_file_is_a_data_set(void **state) {
  (void)state;
  make("a.h5", slices(1));
  make("b.h5", slices(1));
  options.data.path = support_path(&folder, "b.h5");
  expect_volumes("b.h5");
}

/* Two files each of twelve patients over the three folders; where the hash puts them comes from Python. */
static void make_patients(void) {
  static const char *const names[] = {"alice",  "bob",  "carol",  "dave",  "erin",  "peggy",
                                      "rupert", "bert", "olivia", "wendy", "fritz", "trudy"};
  static const char *const splits[] = {"train", "val", "test"};
  for (size_t i = 0; i < 24; i++) {
    struct made made = slices(1);
    made.patient = names[i / 2];
    make(arena_text(folder.arena, "%s/%s%zu.h5", splits[i % 3], names[i / 2], i % 2), made);
  }
}

/* Of the patients of split train each validates in one fold, and trains in the others. */
static void folds_deal_the_patients_of_train(void **state) {
  static const char *const names[] = {"alice", "bob", "carol", "dave", "erin"};
  size_t validated[5] = {0};
  (void)state;
  for (size_t i = 0; i < 11; i++) {
    struct made made = slices(1);
    made.patient = names[i / 2 % 5];
    make(arena_text(folder.arena, "%s/%zu.h5", i < 10 ? "train" : "val", i), made);
  }
  set("data.folds=2");
  for (unsigned fold = 0; fold < 2; fold++)
    for (int trains = 0; trains < 2; trains++) {
      struct dataset dataset;
      set(fold ? "data.fold=1" : "data.fold=0");
      set(trains ? "data.split=train" : "data.split=val");
      volumes_of(&dataset);
      assert_int_equal(dataset.volume_count, trains == (int)fold ? 6 : 4); /* three patients validate first */
      assert_int_equal(dataset.by_patient, 10 - dataset.volume_count);
      for (size_t v = 0; !trains && v < dataset.volume_count; v++)
        for (size_t i = 0; i < 5; i++) validated[i] += !strcmp(dataset.volumes[v].patient, names[i]);
      dataset_close(&dataset);
    }
  for (size_t i = 0; i < 5; i++) assert_int_equal(validated[i], 2);
  set("data.folds=6");
  expect_refusal("data.folds is 6, and split train of");
  set("data.fold=6");
  expect_refusal("data.folds is 6 and data.fold 6; folds are 2 or more, or 0 for none, and fold is below");
  set("data.fold=0");
  set("data.patient_split=true");
  expect_refusal("which both say who validates");
}

static void resizing_wants_images(void **state) {
  (void)state;
  make("a.h5", slices(1));
  set("data.fit=resize");
  set("data.pad=64");
  expect_refusal("data.fit is resize, and data.pad is above 0");
}

static void patients_stay_together(void **state) {
  static const char *const splits[] = {"data.split=train", "data.split=val", "data.split=test"};
  size_t total = 0;
  (void)state;
  make_patients();
  set("data.patient_split=true");
  for (unsigned s = 0; s < 3; s++) {
    struct dataset dataset;
    set(splits[s]);
    volumes_of(&dataset);
    for (size_t v = 0; v < dataset.volume_count; v++)
      assert_int_equal(dataset_patient_split(dataset.volumes[v].patient), s);
    assert_int_equal(dataset.volume_count % 2, 0); /* disjoint by patient: both files or none */
    assert_int_equal(dataset.volume_count + dataset.by_patient, 24);
    total += dataset.volume_count;
    dataset_close(&dataset);
  }
  assert_int_equal(total, 24);
}

static void patients_are_placed_by_their_hash(void **state) {
  (void)state;
  make_patients();
  set("data.patient_split=true");
  set("data.split=test");
  expect_volumes("bert0.h5 peggy1.h5 bert1.h5 rupert0.h5 peggy0.h5 rupert1.h5");
  set("data.split=val");
  expect_volumes("fritz0.h5 olivia1.h5 fritz1.h5 wendy0.h5 olivia0.h5 wendy1.h5");
  set("data.split=all");
  struct dataset dataset;
  volumes_of(&dataset);
  assert_int_equal(dataset.volume_count, 24);
  dataset_close(&dataset);
}

static void a_file_without_patient_goes_by_its_name(void **state) {
  static const char *const splits[] = {"data.split=train", "data.split=val", "data.split=test"};
  (void)state;
  make("file1000001.h5", slices(1));
  set("data.patient_split=true");
  set(splits[dataset_patient_split("file1000001.h5")]);
  expect_volumes("file1000001.h5");
  set(splits[(dataset_patient_split("file1000001.h5") + 1) % 3]);
  expect_refusal("1 by data.patient_split");
}

/* Writes the attribute `name` of a volume, of any type; rank 0 or [1]. */
static void put_patient(const char *name, hid_t type, int rank, const void *value) {
  const hsize_t one = 1;
  make(name, slices(1));
  hid_t file = H5Fopen(support_path(&folder, name), H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t space = rank ? H5Screate_simple(1, &one, NULL) : H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(file, "patient_id", type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, type, value) >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
  H5Fclose(file);
}

static void expect_patient(hid_t type, int rank, const void *value, const char *want) {
  struct dataset dataset;
  put_patient("a.h5", type, rank, value);
  volumes_of(&dataset);
  assert_string_equal(dataset.volumes[0].patient, want);
  assert_int_equal(dataset.without_patient, !*want);
  dataset_close(&dataset);
}

static void patients_may_be_of_any_type(void **state) {
  const hsize_t one = 1;
  const char *text = "seven";
  hid_t variable = H5Tcopy(H5T_C_S1), fixed = H5Tcopy(H5T_FORTRAN_S1), bytes = H5Tcreate(H5T_OPAQUE, 6);
  hid_t array = H5Tarray_create2(H5T_STD_I16BE, 1, &one), word = H5Tenum_create(H5T_STD_I8LE);
  (void)state;
  H5Tset_size(variable, H5T_VARIABLE);
  H5Tset_size(fixed, 9);
  H5Tenum_insert(word, "seventh", "\7");
  for (int rank = 0; rank < 2; rank++) {
    expect_patient(H5T_NATIVE_INT64, rank, &(int64_t){-7}, "-7");
    expect_patient(H5T_NATIVE_UINT64, rank, &(uint64_t){18446744073709551615u}, "18446744073709551615");
    expect_patient(H5T_STD_U16BE, rank, "\1\2", "258");
    expect_patient(H5T_NATIVE_FLOAT, rank, &(float){7}, "7");
    expect_patient(H5T_NATIVE_DOUBLE, rank, &(double){7.1}, "7.1");
    expect_patient(variable, rank, &text, "seven");
    expect_patient(fixed, rank, " seven   ", "seven");
    expect_patient(bytes, rank, "seven", "seven");
    expect_patient(array, rank, "\0\7", "7");
    expect_patient(word, rank, "\7", "seventh");
    expect_patient(fixed, rank, "         ", "");
  }
  hid_t types[] = {variable, fixed, bytes, array, word};
  for (size_t i = 0; i < 5; i++) H5Tclose(types[i]);
}

static void missing_patients_are_said(void **state) {
  struct dataset dataset;
  (void)state;
  make_patients();
  make("val/nobody.h5", slices(1));
  set("data.split=all");
  volumes_of(&dataset);
  assert_int_equal(dataset.without_patient, 1);
  assert_int_equal(dataset.note_count, 0);
  dataset_close(&dataset);
  set("data.patient_split=true");
  expect_note("1 of 25 files in ");
  expect_note("says no patient_id");
  set("data.strict=true");
  expect_refusal("data.strict: 1 of 25 files in ");
}

/* The names of all splits are the same; what is printed must tell which was taken. */
static void put_volume(const char *name, const char *patient) {
  struct made made = slices(1);
  made.patient = patient;
  make(name, made);
}

static void files_of_a_patient_count_once(void **state) {
  struct dataset dataset;
  (void)state;
  put_volume("a.h5", "7");
  put_volume("b.h5", "7");
  put_volume("c.h5", "e");
  put_volume("d.h5", NULL);
  put_volume("e.h5", NULL);
  volumes_of(&dataset);
  assert_int_equal(patients_count(&dataset), 4);
  assert_string_equal(patient_of(&dataset.volumes[1]), "7");
  assert_string_equal(patient_of(&dataset.volumes[3]), "d.h5");
  dataset_close(&dataset);
}

/* Cut to what there is room for, these would be one patient. */
static void long_patients_are_told_apart(void **state) {
  char text[1000];
  struct dataset dataset;
  (void)state;
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = 0;
  put_volume("a.h5", text);
  put_volume("b.h5", text);
  text[sizeof text - 2] = 'y';
  put_volume("c.h5", text);
  volumes_of(&dataset);
  assert_string_equal(dataset.volumes[0].patient,
                      "3256fefc87af01a439708d7e406d306abd2333ff8ad07455f02c83adec8e777f");
  assert_int_equal(patients_count(&dataset), 2);
  dataset_close(&dataset);
}

/* Files without patient_id may have equal names in two splits: that proves nothing. */
static void a_patient_of_two_splits_is_said(void **state) {
  struct dataset train, test;
  (void)state;
  put_volume("train/a.h5", "7");
  put_volume("train/b.h5", "8");
  put_volume("train/same.h5", NULL);
  put_volume("test/c.h5", "9");
  put_volume("test/same.h5", NULL);
  put_volume("test/8.h5", "b.h5");
  set("data.split=train");
  volumes_of(&train);
  set("data.split=test");
  volumes_of(&test);
  assert_null(patients_shared(folder.arena, &train, "train", &test, "test"));
  dataset_close(&test);
  put_volume("test/d.h5", "8");
  put_volume("test/e.h5", "8");
  put_volume("test/f.h5", "7");
  volumes_of(&test);
  const char *text = patients_shared(folder.arena, &train, "train", &test, "test");
  assert_holds(text, "2 patients are in two splits, train and test (patient_id 7: ");
  assert_holds(text, "train/a.h5 and ");
  assert_holds(text, "test/f.h5): ");
  dataset_close(&test);
  dataset_close(&train);
}

static void the_hash_of_a_patient_split_is_its_own(void **state) {
  static const char *const splits[] = {"data.split=train", "data.split=val", "data.split=test",
                                       "data.split=all"};
  char hash[4][65];
  (void)state;
  make_patients();
  set("data.patient_split=true");
  for (size_t s = 0; s < 4; s++) {
    struct dataset dataset;
    set(splits[s]);
    volumes_of(&dataset);
    memcpy(hash[s], dataset.hash, sizeof hash[s]);
    for (size_t before = 0; before < s; before++) assert_string_not_equal(hash[s], hash[before]);
    dataset_close(&dataset);
  }
}

static void shares_of_the_patient_split(void **state) {
  size_t count[3] = {0};
  (void)state;
  for (size_t i = 0; i < 10000; i++)
    count[dataset_patient_split(arena_text(folder.arena, "patient %zu", i))]++;
  assert_in_range(count[0], 6800, 7200);
  assert_in_range(count[1], 1350, 1650);
  assert_in_range(count[2], 1350, 1650);
}

static void only_the_acquisition_is_kept(void **state) {
  struct dataset dataset;
  struct made plain = slices(1), fat = slices(1);
  (void)state;
  plain.acquisition = "CORPD_FBK";
  fat.acquisition = "CORPDFS_FBK";
  make("a.h5", plain);
  make("b.h5", fat);
  make("c.h5", slices(1));
  set("data.acquisition=CORPD_FBK");
  assert_string_equal(volumes_of(&dataset), "a.h5");
  assert_int_equal(dataset.by_acquisition, 2);
  dataset_close(&dataset);
  set("data.acquisition=AXT2");
  expect_refusal("no usable slice");
  expect_refusal("3 by data.acquisition");
}

/* ---- slices and sizes ---------------------------------------------------------------------------------- */

static void the_centre_is_the_middle_half(void **state) {
  static const size_t cases[][3] = {/* slices: first, count */ {2, 0, 1},
                                    {3, 0, 2},
                                    {4, 1, 2},
                                    {5, 1, 2},
                                    {7, 1, 4},
                                    {30, 7, 15},
                                    {33, 8, 16},
                                    {35, 8, 18}};
  (void)state;
  set("data.slices=centre");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct dataset dataset;
    make("a.h5", slices(cases[i][0]));
    volumes_of(&dataset);
    assert_int_equal(dataset.volumes[0].slice_first, cases[i][1]);
    assert_int_equal(dataset.volumes[0].slice_count, cases[i][2]);
    assert_int_equal(dataset.slice_count, cases[i][2]);
    dataset_close(&dataset);
  }
}

static void one_slice_has_no_central_half(void **state) {
  (void)state;
  make("a.h5", slices(1));
  set("data.slices=centre");
  expect_refusal("no usable slice");
  expect_refusal("data.slices");
}

static void reconstructions_come_before_kspace(void **state) {
  struct dataset dataset;
  struct made kspace = {.key = "kspace", .type = STORE_C64, .rank = 4, .size = {3, 2, 20, 10}};
  (void)state;
  kspace.header =
      "<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>20</x><y>10</y></matrixSize></encodedSpace>"
      "<reconSpace><matrixSize><x>10</x><y>9</y></matrixSize></reconSpace></encoding></ismrmrdHeader>";
  make("a.h5", kspace);
  kspace.header = NULL;
  make("b.h5", kspace);
  make("c.h5", (struct made){.key = "reconstruction_rss", .type = STORE_F32, .rank = 3, .size = {3, 8, 12}});
  volumes_of(&dataset);
  const struct volume *v = dataset.volumes;
  assert_string_equal(v[0].key, "kspace");
  assert_true(v[0].from_kspace && v[0].coils == 2 && v[0].height == 20 && v[0].width == 10);
  assert_true(v[0].image_height == 10 && v[0].image_width == 9);  /* the header's recon size */
  assert_true(v[1].image_height == 10 && v[1].image_width == 10); /* the smaller side */
  assert_string_equal(v[2].key, "reconstruction_rss");
  assert_true(!v[2].from_kspace && v[2].image_height == 8 && v[2].image_width == 12);
  dataset_close(&dataset);
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

static void folders_without_volumes_are_refused(void **state) {
  (void)state;
  options.data.path = "";
  expect_refusal("no data were named; --data (data.path) must name a folder of ");
  options.data.path = support_path(&folder, "nowhere");
  expect_refusal("nowhere: No such file or directory; --data (data.path) must name a folder of .h5 volumes, or a file of them");
  options.data.path = support_path(&folder, "nowhere.h5");
  expect_refusal("nowhere.h5: No such file or directory");
  options.data.path = folder.path;
  expect_refusal("no .h5 file in /tmp/l2sr-test-");
  support_write_text(support_path(&folder, "readme.txt"), "x");
  expect_refusal("(1 other file)");
  expect_refusal("subfolder test");
  options.data.path = support_path(&folder, "readme.txt");
  expect_refusal("readme.txt is neither a folder nor a volume");
}

static void make_truncated(const char *name) {
  size_t bytes;
  make(name, slices(3));
  const char *path = support_path(&folder, name);
  support_read(folder.arena, path, &bytes);
  assert_int_equal(truncate(path, (off_t)bytes / 2), 0);
}

/* The file alone is refused; beside a good one it is skipped, named and counted; data.strict refuses. */
static void expect_broken(const char *name, const char *part) {
  struct dataset dataset;
  expect_refusal("1 of 1 file broken");
  expect_refusal(part);
  make("zz.h5", slices(1));
  assert_string_equal(volumes_of(&dataset), "zz.h5");
  assert_int_equal(dataset.broken, 1);
  assert_string_equal(dataset.skipped[0].path, support_path(&folder, name));
  assert_holds(dataset.skipped[0].reason, part);
  dataset_close(&dataset);
  set("data.strict=true");
  expect_refusal("data.strict: ");
  expect_refusal(part);
  set("data.strict=false");
  unlink(support_path(&folder, "zz.h5"));
  unlink(support_path(&folder, name));
}

static void expect_broken_volume(struct made made, const char *part) {
  make("a.h5", made);
  expect_broken("a.h5", part);
}

static void files_that_are_no_hdf5_are_broken(void **state) {
  (void)state;
  support_write_text(support_path(&folder, "a.h5"), "<html>403 Forbidden</html>\n");
  expect_broken("a.h5", "a.h5 has no HDF5 signature");
  support_write_text(support_path(&folder, "a.h5"), "");
  expect_broken("a.h5", "a.h5 is empty");
  make_truncated("a.h5");
  expect_broken("a.h5", "the file may be cut short");
}

static void volumes_of_another_shape_are_broken(void **state) {
  (void)state;
  expect_broken_volume((struct made){.type = STORE_F32, .rank = 2, .size = {8, 8}},
                       "has rank 2; it must be [slices, height, width]");
  expect_broken_volume((struct made){.type = STORE_F32, .rank = 4, .size = {1, 1, 8, 8}}, "has rank 4");
  expect_broken_volume((struct made){.key = "kspace", .type = STORE_C64, .rank = 2, .size = {8, 8}},
                       "or [slices, coils, height, width]");
  expect_broken_volume(slices(0), "has size zero (0 slices of 8 x 8)");
  expect_broken_volume((struct made){.key = "kspace", .type = STORE_C64, .rank = 4, .size = {2, 0, 8, 8}},
                       "has size zero");
}

/* Never written, its 16 TB take no room in the file. */
static void expect_axes(const char *key, size_t a, size_t b, size_t c, size_t d, const char *part) {
  struct made made = {.key = key, .rank = d ? 4 : 3, .size = {a, b, c, d}};
  made.type = strcmp(key, "kspace") ? STORE_F32 : STORE_C64;
  if (part) {
    expect_broken_volume(made, part);
    return;
  }
  make("a.h5", made);
  expect_volumes("a.h5");
}

/* Sizes tell most: there are few coils, and an image is not much higher than wide. */
static void axes_of_another_order_are_named(void **state) {
  const char *key = "reconstruction_esc",
             *last = "the coils seem to come last; write it as numpy.moveaxis(x, -1, 1)";
  (void)state;
  expect_axes("kspace", 2, 32, 32, 4, last);
  expect_axes("kspace", 2, 32, 32, 4, "kspace in ");
  expect_axes("kspace", 2, 32, 32, 4,
              " is [2, 32, 32, 4]; it must be [slices, height, width] or [slices, coils, ");
  expect_axes("kspace", 2, 40, 32, 15, last);
  expect_axes("kspace", 2, 32, 32, 20, last);
  expect_axes("kspace", 2, 32, 4, 32,
              "the coils seem to be the third axis; write it as numpy.moveaxis(x, 2, 1)");
  expect_axes("kspace", 2, 20, 32, 24, NULL);
  expect_axes("kspace", 30, 4, 32, 24, NULL);
  expect_axes(key, 32, 32, 10, 0, "the slices seem to come last; write it as numpy.moveaxis(x, -1, 0)");
  expect_axes(key, 40, 32, 12, 0, "the slices seem to come last");
  expect_axes(key, 32, 32, 20, 0, NULL);
  expect_axes(key, 30, 32, 24, 0, NULL);
  struct made parts = {.key = "kspace", .type = STORE_F32, .rank = 4, .size = {2, 32, 32, 2}};
  expect_broken_volume(parts,
                       "real and imaginary parts seem to come last; write it as x[..., 0] + 1j * x[..., 1]");
}

static const char *header_of(size_t x, size_t y) {
  return arena_text(folder.arena,
                    "<encodedSpace><matrixSize><x>%zu</x><y>%zu</y></matrixSize></encodedSpace>"
                    "<reconSpace><matrixSize><x>%zu</x><y>%zu</y></matrixSize></reconSpace>",
                    x, y, x, y);
}

/* Twelve coils of 32 x 20 after the header, 32 of 20 x 12 by their sizes. */
static void headers_tell_the_axes(void **state) {
  struct made made = {.key = "kspace", .type = STORE_C64, .rank = 4, .size = {2, 32, 20, 12}};
  (void)state;
  made.header = header_of(32, 20);
  expect_broken_volume(made, "the coils seem to come last");
  made.header = NULL;
  make("a.h5", made);
  expect_volumes("a.h5");
  made.size[1] = 3;
  made.header = header_of(12, 20);
  make("a.h5", made);
  expect_note("whose last axis is the readout, by the header (/tmp/");
  made.header = header_of(20, 12);
  make("a.h5", made);
  expect_note(NULL);
}

static void volumes_of_other_programs_are_named(void **state) {
  struct store *store;
  struct error error;
  const char *path = support_path(&folder, "a.h5");
  float values[4] = {0};
  const size_t four = 4;
  (void)state;
  for (int raw = 0; raw < 2; raw++) {
    assert_good(store_create(&store, path, &error), &error);
    assert_good(store_write(store, "dataset/data", STORE_F32, 1, &four, values, false, &error), &error);
    if (raw) assert_good(store_write_text(store, "dataset/xml", "<ismrmrdHeader/>", &error), &error);
    assert_good(store_commit(store, &error), &error);
    expect_broken("a.h5", raw ? "the table of acquisitions of " : "its images cannot be found: it holds dataset/data");
  }
}

static void files_of_other_programs_are_imported(void **state) {
  static const struct magic bart = {MAGIC_BART, "", NULL}, old = {MAGIC_MATLAB_5, "", NULL},
                            new = {MAGIC_MATLAB_73, "", NULL};
  (void)state;
  static const char advice[] = "`l2sr import FILE --output FOLDER` makes a volume of it, and data.path may name it";
  assert_holds(foreign_advice(&old, folder.arena), advice);
  assert_holds(foreign_advice(&new, folder.arena), advice);
  assert_holds(foreign_advice(&bart, folder.arena), advice);
}

/* MATLAB's own header stands before HDF5's. */
static void files_of_matlab_are_named(void **state) {
  const char *path = support_path(&folder, "a.h5");
  const hsize_t four = 4;
  hid_t plist = H5Pcreate(H5P_FILE_CREATE), space = H5Screate_simple(1, &four, NULL);
  (void)state;
  H5Pset_userblock(plist, 512);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, plist, H5P_DEFAULT);
  H5Dclose(H5Dcreate2(file, "images", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(file);
  H5Sclose(space);
  H5Pclose(plist);
  FILE *head = fopen(path, "r+");
  assert_non_null(head);
  fputs("MATLAB 7.3 MAT-file", head);
  fclose(head);
  expect_broken("a.h5", "it holds images; it is a MATLAB 7.3 file: rename it to NAME.mat, and make a volume of it by `l2sr import`");
}

/* A file of another kind that was named .h5, and one in a folder without volumes. */
static void files_that_are_no_hdf5_are_named(void **state) {
  static const struct {
    size_t offset;
    const char *bytes;
    size_t length;
    const char *name, *kind;
  } cases[] = {
      {344, "n+1", 4, "x.nii", "a NIfTI image: `l2sr import FILE"},
      {128, "DICM", 4, "IM0001", "a DICOM image: the Python package makes a volume of a series"},
      {0, "MATLAB 5.0 MAT-file", 19, "x.mat", "a MATLAB 5 file: `l2sr import FILE"},
      {0, "MATLAB 7.3 MAT-file", 19, "y.mat", "a MATLAB 7.3 file: `l2sr import FILE"},
      {0, "\223NUMPY\1", 7, "x.npy", "a numpy array: `l2sr import FILE"},
      {0, "PK\003\004", 4, "x.zip", "a zip archive: unpack it"},
      {0, "PK\003\004", 4, "x.npz", "an archive of numpy arrays: write one of its arrays alone"},
      {0, "\037\213\010", 3, "x.gz", "compressed by gzip: unpack it"},
      {0, "\037\213\010", 3, "x.nii.gz", "a NIfTI image, compressed: `l2sr import FILE"},
      {0, "\037\213\010", 3, "x.tar.gz", "a tar archive, compressed by gzip: unpack it"},
      {0, "abcdefgh", 8, "x.cfl", "a BART array: `l2sr import FILE"},
      {0, "# Dimensions\n8 8 1\n", 19, "x.hdr", "the header of a BART array: `l2sr import FILE"},
      {0, "\211HDF\r\n\032\n", 8, "x.hdf5", "an HDF5 file of another name: rename it to NAME.h5"},
      {0, "version https://git-lfs.github.com/spec/v1", 42, "x.lfs", "a pointer of Git LFS: fetch"}};
  struct store *store;
  struct error error;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char bytes[600] = "";
    const char *path = support_path(&folder, cases[i].name);
    memcpy(bytes + cases[i].offset, cases[i].bytes, cases[i].length);
    support_write(path, bytes, sizeof bytes);
    expect_refusal("no .h5 file in ");
    expect_refusal(arena_text(folder.arena, "/%s is %s", cases[i].name, cases[i].kind));
    options.data.path = path;
    expect_refusal(arena_text(folder.arena, "/%s", cases[i].name));
    options.data.path = folder.path;
    unlink(path);
    if (strchr(cases[i].name, '.') && cases[i].name[1] == '.' && cases[i].bytes[0] != '\037' &&
        strcmp(cases[i].name, "x.cfl") && strcmp(cases[i].name, "x.npz") && strcmp(cases[i].name, "x.hdf5")) {
      support_write(support_path(&folder, "a.h5"), bytes, sizeof bytes);
      expect_broken("a.h5", arena_text(folder.arena, "has no HDF5 signature; it is %s", cases[i].kind));
      assert_false(store_open(&store, support_path(&folder, "a.h5"), &error)); /* which need be no volume */
      assert_null(strstr(error.text, "reconstruction_esc"));
    }
  }
}

/* Where volumes would be, too. */
static void files_of_other_programs_are_named_below(void **state) {
  char bytes[600] = "\223NUMPY\1";
  (void)state;
  const char *inner = support_path(&folder, "test");
  assert_int_equal(mkdir(inner, 0777), 0);
  const char *path = arena_text(folder.arena, "%s/x.npy", inner);
  support_write(path, bytes, sizeof bytes);
  options.data.split = SPLIT_TEST;
  expect_refusal("/test/x.npy is a numpy array: `l2sr import FILE");
  unlink(path);
  rmdir(inner);
}

static void volumes_that_hold_no_numbers_are_broken(void **state) {
  const hsize_t size[] = {2, 8, 8};
  (void)state;
  hid_t file = H5Fcreate(support_path(&folder, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(3, size, NULL);
  hid_t dataset =
      H5Dcreate2(file, "reconstruction_rss", H5T_C_S1, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Fclose(file);
  expect_broken("a.h5", "holds text; it must hold real numbers");
}

static void volumes_too_large_for_the_host_are_broken(void **state) {
  const hsize_t size[] = {1, 2000000, 2000000};
  (void)state;
  hid_t file = H5Fcreate(support_path(&folder, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(3, size, NULL);
  H5Dclose(
      H5Dcreate2(file, "reconstruction_esc", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Fclose(file);
  expect_broken("a.h5", "slices of 1 x 2000000 x 2000000 numbers, too large for a host of");
}

/* Files of 1400 bytes that claim so many slices, at no memory and in no time; one stops no data set. */
static void volumes_of_more_slices_than_the_file_holds_are_broken(void **state) {
  static const struct {
    hsize_t slices;
    const char *part;
  } known[] = {{(hsize_t)1 << 62, "a.h5 has 4611686018427387904 slices; at most 1048576 are read"},
               {(hsize_t)1 << 27, "a.h5 has 134217728 slices; at most 1048576 are read"},
               {1000, "a.h5 was never written"}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const hsize_t size[] = {known[i].slices, 8, 8};
    hid_t file = H5Fcreate(support_path(&folder, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(3, size, NULL);
    H5Dclose(
        H5Dcreate2(file, "reconstruction_esc", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(file);
    expect_broken("a.h5", known[i].part);
  }
}

/* A volume a.h5 of two slices whose dataset is made by these properties, without data. */
static void make_by(hid_t plist) {
  const hsize_t size[] = {2, 8, 8};
  hid_t file = H5Fcreate(support_path(&folder, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(3, size, NULL);
  hid_t dataset =
      H5Dcreate2(file, "reconstruction_esc", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  assert_true(dataset >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Fclose(file);
}

/* Slices [0, `slices`) of a.h5 are those of dataset "d" in source.h5. */
static void make_virtual(const char *source, hsize_t slices) {
  const hsize_t size[] = {2, 8, 8}, start[] = {0, 0, 0}, count[] = {slices, 8, 8};
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE), from = H5Screate_simple(3, size, NULL);
  hid_t to = H5Screate_simple(3, size, NULL);
  H5Sselect_hyperslab(to, H5S_SELECT_SET, start, NULL, count, NULL);
  H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL);
  assert_true(H5Pset_virtual(plist, to, source, "d", from) >= 0);
  make_by(plist);
  H5Sclose(from);
  H5Sclose(to);
  H5Pclose(plist);
}

/* The file beside the volumes that virtual ones are of. */
static void make_source(const char *key, size_t count) {
  struct made source = slices(count);
  source.key = key;
  make("other/source.h5", source);
}

static void expect_missing(const char *source, hsize_t slices_there, const char *part) {
  make_virtual(source, slices_there);
  expect_broken("a.h5", part);
}

/* libhdf5 reads zeros for all of them: they would be scored as perfect. */
static void volumes_whose_sources_are_missing_are_broken(void **state) {
  (void)state;
  expect_missing("other/source.h5", 2, "lies in another file, other/source.h5, which is not there; what is");
  make_source("d", 2);
  make_virtual("other/source.h5", 2);
  expect_volumes("a.h5");
  expect_missing("other/source.h5", 1, "of 128 entries, of which other files hold 64");
  make_source("d", 1);
  expect_missing("other/source.h5", 2, "d in it is too small");
  make_source("e", 2);
  expect_missing("other/source.h5", 2, "has no dataset d");
  expect_missing(".", 2, "has no dataset d");
  support_write_text(support_path(&folder, "other/source.h5"), "no volume\n");
  expect_missing("other/source.h5", 2, "no HDF5 signature");
}

/* Holds the writer's lock on a file, as another program does, until the descriptor is closed. */
static int hold(const char *name) {
  int file = open(support_path(&folder, name), O_RDWR);
  assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
  return file;
}

/* a.h5 beside good.h5: it is in use, and was not broken. */
static void expect_in_use(const char *part) {
  struct dataset dataset;
  struct error error;
  assert_good(dataset_open(&dataset, &options, &error), &error);
  assert_int_equal(dataset.volume_count, 1);
  assert_int_equal(dataset.written, 1);
  assert_int_equal(dataset.broken, 0);
  assert_string_equal(dataset.skipped[0].kind, "written");
  assert_holds(dataset.skipped[0].reason, part);
  assert_holds(dataset.skipped[0].reason, "source.h5 is being written: another program holds its lock");
  assert_null(strstr(dataset.skipped[0].reason, "put that file where it was"));
  dataset_close(&dataset);
}

static void volumes_that_lie_in_files_that_are_written_are_in_use(void **state) {
  (void)state;
  make("good.h5", slices(2));
  make_source("d", 2);
  make_virtual("other/source.h5", 2);
  int lock = hold("other/source.h5");
  expect_in_use("reconstruction_esc in");
  close(lock);
  expect_volumes("a.h5 good.h5");
  make_by(H5P_DEFAULT);
  hid_t file = H5Fopen(support_path(&folder, "a.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "reconstruction_esc", H5P_DEFAULT);
  assert_true(H5Lcreate_external("other/source.h5", "/d", file, "reconstruction_esc", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Fclose(file);
  lock = hold("other/source.h5");
  expect_in_use("reconstruction_esc in");
  close(lock);
  expect_volumes("a.h5 good.h5");
}

/* Images from k-space have the size that the header says: without it they would be other images. */
static void facts_that_lie_in_files_that_are_written_are_not_missing(void **state) {
  static const char *const names[] = {"ismrmrd_header", "acquisition", "patient_id", "max", "mask"};
  (void)state;
  make("good.h5", slices(2));
  make_source("d", 2);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    make("a.h5", slices(2));
    hid_t file = H5Fopen(support_path(&folder, "a.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Lcreate_external("other/source.h5", "/d", file, names[i], H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    int lock = hold("other/source.h5");
    expect_in_use(names[i]);
    close(lock);
    expect_volumes("a.h5 good.h5");
  }
}

static void volumes_whose_external_files_are_missing_are_broken(void **state) {
  const char *raw = support_path(&folder, "raw"), zeros[2 * 8 * 8 * 4 + 16] = "";
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
  (void)state;
  H5Pset_external(plist, raw, 16, 2 * 8 * 8 * 4);
  make_by(plist);
  expect_broken("a.h5", "raw, which is not there; what is missing would be read as zeros");
  support_write(raw, zeros, sizeof zeros - 1);
  make_by(plist);
  expect_broken("a.h5", "raw, which is too short");
  support_write(raw, zeros, sizeof zeros);
  make_by(plist);
  expect_volumes("a.h5");
  H5Pclose(plist);
}

static size_t pass_through(unsigned flags, size_t values, const unsigned *value, size_t bytes, size_t *size,
                           void **data) {
  (void)flags, (void)values, (void)value, (void)size, (void)data;
  return bytes;
}

/* h5py's own filter, which libhdf5 lacks. */
static void volumes_of_a_filter_that_is_not_here_are_broken(void **state) {
  const H5Z_class2_t lzf = {H5Z_CLASS_T_VERS, 32000, 1, 1, "lzf", NULL, NULL, pass_through};
  const hsize_t chunk[] = {2, 8, 8};
  const float zeros[128] = {0};
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
  (void)state;
  assert_true(H5Zregister(&lzf) >= 0);
  H5Pset_chunk(plist, 3, chunk);
  assert_true(H5Pset_filter(plist, 32000, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0);
  make_by(plist);
  const char *odd = support_path(&folder, "a'$(b)`c`\".h5");
  assert_int_equal(rename(support_path(&folder, "a.h5"), odd), 0);
  hid_t file = H5Fopen(odd, H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t dataset = H5Dopen2(file, "reconstruction_esc", H5P_DEFAULT);
  assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
  H5Dclose(dataset);
  H5Fclose(file);
  expect_volumes("a'$(b)`c`\".h5");
  H5Zunregister(32000);
  expect_refusal(
      "is compressed by lzf (filter 32000), which libhdf5 cannot undo here; write it again: python3");
  expect_refusal("/a'\\''$(b)`c`\".h5' 'reconstruction_esc'"); /* one word of a shell each */
  H5Pclose(plist);
}

static void volumes_of_another_type_are_broken(void **state) {
  (void)state;
  expect_broken_volume((struct made){.key = "kspace", .type = STORE_F32, .rank = 3, .size = {1, 8, 8}},
                       "kspace in");
  expect_broken_volume((struct made){.key = "kspace", .type = STORE_F32, .rank = 3, .size = {1, 8, 8}},
                       "holds real numbers; it must hold complex ones");
  expect_broken_volume((struct made){.type = STORE_C64, .rank = 3, .size = {1, 8, 8}},
                       "holds complex numbers; it must hold real ones");
}

/* ---- k-space with a mask beside it --------------------------------------------------------------------- */

enum { SIDE = 16, COILS = 2 };

typedef bool is_there(int row, int column);

static bool everywhere(int row, int column) {
  return row >= 0 && column >= 0;
}

static bool every_third(int row, int column) {
  return row >= 0 && column % 3 == 0;
}

static bool inside(int row, int column) {
  return row >= 0 && column >= 2 && column < SIDE - 2;
}

static bool left_part(int row, int column) {
  return row >= 0 && column < 10;
}

static bool checkered(int row, int column) {
  return (row + column) % 2 == 0;
}

/* Three slices of k-space, the middle one (that of the volume) empty or not; a mask of columns or of samples.
 */
static void make_masked(is_there *kspace, is_there *mask, int mask_rows, bool middle_empty) {
  static float samples[3][COILS][SIDE][SIDE][2];
  static float marks[SIDE][SIDE];
  struct store *store;
  struct error error;
  for (int s = 0; s < 3; s++)
    for (int i = 0; i < COILS * SIDE * SIDE; i++) {
      int row = i / SIDE % SIDE, column = i % SIDE;
      bool there = kspace(row, column) && !(middle_empty && s == 1);
      samples[s][i / (SIDE * SIDE)][row][column][0] = there ? (float)(i % 7 + 1) : 0;
      marks[row][column] = mask(row, column);
    }
  assert_good(store_create(&store, support_path(&folder, "a.h5"), &error), &error);
  assert_good(
      store_write(store, "kspace", STORE_C64, 4, (size_t[]){3, COILS, SIDE, SIDE}, samples, false, &error),
      &error);
  bool lines = mask_rows == 1;
  assert_good(store_write(store, "mask", STORE_F32, lines ? 1 : 2,
                          lines ? (size_t[]){SIDE, 0} : (size_t[]){(size_t)mask_rows, SIDE}, marks, false,
                          &error),
              &error);
  assert_good(store_commit(store, &error), &error);
}

static void full_kspace_may_have_a_mask(void **state) {
  (void)state;
  make_masked(everywhere, every_third, 1, false);
  expect_volumes("a.h5");
  make_masked(everywhere, checkered, SIDE, false);
  expect_volumes("a.h5");
  make_masked(inside, every_third, 1, false); /* padding */
  expect_volumes("a.h5");
  make_masked(inside, inside, 1, false);
  expect_volumes("a.h5");
  make_masked(left_part, every_third, 1, false); /* its mask is of a scan to come */
  expect_volumes("a.h5");
  make_masked(everywhere, every_third, 3, false); /* a mask of nobody knows what */
  expect_volumes("a.h5");
}

static void undersampled_kspace_with_a_mask_is_broken(void **state) {
  static const char columns[] =
      "is undersampled: 62 % of the columns of its kspace are empty, and it has a mask";
  (void)state;
  make_masked(every_third, every_third, 1, false);
  expect_refusal(columns);
  expect_refusal("a test file without target cannot be used");
  make_masked(every_third, every_third, 1, true); /* its middle slice tells nothing */
  expect_refusal(columns);
  make_masked(every_third, everywhere, 1, false);
  expect_refusal(columns);
  make_masked(left_part, left_part, 1, false); /* part of the Fourier plane */
  expect_refusal("is undersampled: 38 % of the columns");
  make_masked(checkered, checkered, SIDE, false);
  expect_refusal("is undersampled: 50 % of the samples");
}

static void files_without_target_are_broken(void **state) {
  (void)state;
  expect_broken_volume((struct made){.key = "other", .type = STORE_F32, .rank = 3, .size = {1, 8, 8}},
                       "has no dataset reconstruction_esc, reconstruction_rss or kspace");
  set("data.source=reconstruction_rss");
  make("a.h5", slices(1));
  expect_refusal("has no dataset reconstruction_rss");
  expect_refusal("it holds reconstruction_esc; set data.source to auto, which takes what is there");
}

static void small_images_need_padding(void **state) {
  (void)state;
  make("a.h5", (struct made){.type = STORE_F32, .rank = 3, .size = {1, 20, 7}});
  expect_refusal("has images of 20 x 7, smaller than data.size 8; set data.pad to at least 8");
  options.data.pad = 7;
  expect_refusal("smaller than data.size 8");
  expect_refusal("1 of 1 file too small; the last: ");
  support_write(support_path(&folder, "b.h5"), "no HDF5", 7);
  expect_refusal("2 of 2 files broken (1) or too small (1)");
  make("b.h5", (struct made){.type = STORE_F32, .rank = 3, .size = {1, 8, 8}});
  struct dataset dataset;
  struct error error;
  assert_good(dataset_open(&dataset, &options, &error), &error);
  assert_true(dataset.small == 1 && dataset.broken == 0 && dataset.volume_count == 1 &&
              !strcmp(dataset.skipped[0].kind, "small"));
  dataset_close(&dataset);
  remove(support_path(&folder, "b.h5"));
  options.data.pad = 8;
  expect_volumes("a.h5");
}

/* Padding fits them to any data.size. */
static void images_that_are_none_are_refused(void **state) {
  static const size_t sizes[][2] = {{1, 1}, {3, 200}, {200, 3}};
  (void)state;
  options.data.pad = 8;
  for (size_t i = 0; i < 3; i++) {
    make("a.h5", (struct made){.type = STORE_F32, .rank = 3, .size = {1, sizes[i][0], sizes[i][1]}});
    expect_refusal(arena_text(
        folder.arena, "has images of %zu x %zu, which show nothing that could be scanned; are the axes",
        sizes[i][0], sizes[i][1]));
  }
  options.data.pad = 64;
  options.data.size = option_square(64);
  make("a.h5", (struct made){.type = STORE_F32, .rank = 3, .size = {1, 15, 40}});
  expect_note("1 volume has images narrower than a quarter of data.size 64 (/tmp/");
  make("a.h5", (struct made){.type = STORE_F32, .rank = 3, .size = {1, 16, 40}});
  expect_note(NULL);
}

/* In place of the system's, which has no threads left where it is told so. */
static bool has_no_threads;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *context) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return has_no_threads ? EAGAIN : real(thread, attributes, start, context);
}

static void a_thread_that_does_not_start_is_explained(void **state) {
  struct dataset dataset;
  struct reader *reader;
  struct error error;
  (void)state;
  make("a.h5", slices(1));
  volumes_of(&dataset);
  has_no_threads = true;
  assert_false(reader_open(&reader, &dataset, &error));
  has_no_threads = false;
  assert_holds(error.text,
               "cannot start the reader's thread: Resource temporarily unavailable; `ulimit -u` says");
  dataset_close(&dataset);
}

static void a_crop_that_nobody_asked_for_is_said(void **state) {
  struct made made = slices(1);
  (void)state;
  make("a.h5", made);
  made.size[1] = made.size[2] = 12;
  make("b.h5", made);
  expect_note(NULL);
  options.given[OPTION_ROW_data_size] = false; /* 8 as if by default */
  expect_note("1 volume larger than data.size, which is 8 because nothing sets it: of 12x12");
  set("data.strict=true");
  expect_refusal("data.strict: 1 volume larger than data.size");
  set("data.size=32"); /* sets it */
  set("data.pad=32");
  expect_volumes("a.h5 b.h5");
}

static void what_was_left_out_is_printed(void **state) {
  struct dataset dataset;
  char *text;
  size_t bytes;
  (void)state;
  make_named(6);
  support_write_text(support_path(&folder, "x.txt"), "x");
  support_write_text(support_path(&folder, "file1000001.h5"), "x");
  set("data.volumes=3");
  volumes_of(&dataset);
  FILE *file = open_memstream(&text, &bytes);
  dataset_print(&dataset, file);
  fclose(file);
  assert_holds(text, "volumes: 2 of 7 files (2 slices), selection ");
  assert_holds(text, arena_text(folder.arena, "%.16s", dataset.hash));
  assert_holds(text, "1 file not .h5");
  assert_holds(text, "3 files left out by data.volumes");
  assert_holds(text, "1 file broken, skipped");
  free(text);
  dataset_close(&dataset);
}

/* ---- formats -------------------------------------------------------------------------------------------- */

enum { TOY_SIDE = 8, TOY_SLICES = 3 };

/* A format of one line of text, "COILS EMPTY": k-space of so many coils whose last columns are empty. */
struct toy {
  size_t coils, empty;
};

static bool toy_claims(const char *path) {
  return strstr(path, ".toy");
}

static bool toy_open(void **file, const struct volume *volume, struct error *error) {
  const char *path = volume->path;
  struct toy *toy = ARENA_NEW(folder.arena, struct toy, 1);
  FILE *text = fopen(path, "r");
  bool good = text && fscanf(text, "%zu %zu", &toy->coils, &toy->empty) == 2;
  if (text) fclose(text);
  *file = toy;
  return good || fail_file(error, "%s is no toy", path);
}

static bool toy_describe(void *file, struct volume *volume, const struct options *with, struct error *error) {
  const struct toy *toy = file;
  (void)with;
  strcpy(volume->key, "toy");
  strcpy(volume->acquisition, "TOY");
  volume->from_kspace = volume->has_mask = true;
  volume->slices = TOY_SLICES;
  volume->coils = toy->coils;
  volume->height = volume->width = volume->said_height = volume->said_width = TOY_SIDE;
  return volume_check_sizes(volume, error);
}

static bool toy_read(void *file, const struct volume *volume, size_t slice, float *to, struct error *error) {
  const struct toy *toy = file;
  (void)error;
  for (size_t i = 0; i < volume_slice_floats(volume); i++)
    to[i] = i / 2 % TOY_SIDE < TOY_SIDE - toy->empty ? (float)(100 * slice + i % 7 + 1) : 0;
  return true;
}

static void toy_mask(void *file, const struct volume *volume, struct arena *arena, const uint8_t **mask,
                     size_t *entries) {
  const struct toy *toy = file;
  uint8_t *columns = ARENA_NEW(arena, uint8_t, volume->width);
  for (size_t x = 0; x < volume->width; x++) columns[x] = x < volume->width - toy->empty;
  *mask = columns;
  *entries = volume->width;
}

static size_t toys_closed;

static void toy_close(void *file) {
  toys_closed += file != NULL;
}

static const struct volume_format toy_format = {.name = "toy", .ending = ".toy", .claims = toy_claims, .open = toy_open,
                                                .describe = toy_describe, .read = toy_read, .read_mask = toy_mask,
                                                .close = toy_close};

static struct volume make_toy(const char *line) {
  const char *path = support_path(&folder, "a.toy");
  support_write_text(path, line);
  struct volume volume = volume_of(path);
  assert_string_equal(volume.name, "a.toy");
  volume.format = &toy_format;
  return volume;
}

/* What its row tells is all that a volume is; whoever reads slices knows no format. */
static void a_format_is_a_row(void **state) {
  struct dataset dataset = {.volume_count = 1, .slice_count = TOY_SLICES};
  struct reader *reader;
  struct error error;
  (void)state;
  struct volume volume = make_toy("2 0");
  toys_closed = 0;
  assert_good(volume_open(&volume, &options, &error), &error);
  assert_int_equal(toys_closed, 1);
  assert_int_equal(volume.image_width, TOY_SIDE);
  assert_string_equal(patient_of(&volume), "a.toy");
  dataset.volumes = &volume;
  assert_good(reader_open(&reader, &dataset, &error), &error);
  for (size_t s = 0; s < TOY_SLICES; s++) {
    const struct reader_slice *slice = reader_next(reader);
    assert_non_null(slice);
    assert_int_equal(slice->slice, s);
    assert_true(slice->data[2] == 100 * (float)s + 3);
  }
  assert_null(reader_next(reader));
  reader_close(reader);
  assert_int_equal(toys_closed, 2);
  volume = make_toy("2 4");
  assert_false(volume_open(&volume, &options, &error));
  assert_holds(error.text, "a.toy is undersampled: 50 % of the columns of its kspace are empty, and it has a mask");
  volume = make_toy("0 0");
  assert_false(volume_open(&volume, &options, &error));
  volume = make_toy("two");
  assert_false(volume_open(&volume, &options, &error));
  assert_holds(error.text, "a.toy is no toy");
  assert_int_equal(toys_closed, 4);
}

static void the_rows_claim_their_files(void **state) {
  (void)state;
  assert_ptr_equal(format_of("a/b.h5"), &format_hdf5);
  assert_null(format_of("a/b.toy"));
  assert_null(format_of(".h5"));
  assert_ptr_equal(volume_of("a/b.toy").format, format_to_write());
  assert_string_equal(format_endings(folder.arena), ".h5");
  assert_non_null(format_to_write()->images);
}

/* ---- labels -------------------------------------------------------------------------------------------- */

static void write_labels(const char *text) {
  FILE *file = fopen(support_path(&folder, "labels.csv"), "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void expect_labels(const char *text, const float *want, size_t count) {
  struct dataset dataset;
  size_t at = 0;
  write_labels(text);
  volumes_of(&dataset);
  for (size_t v = 0; v < dataset.volume_count; v++)
    for (size_t s = 0; s < dataset.volumes[v].slices; s++, at++) assert_true(at < count && dataset.volumes[v].label[s] == want[at]);
  assert_int_equal(at, count);
  dataset_close(&dataset);
}

static struct digest digest_with(const char *text) {
  struct dataset dataset;
  write_labels(text);
  volumes_of(&dataset);
  struct digest digest = dataset.volumes[0].digest;
  dataset_close(&dataset);
  return digest;
}

static void refuse_labels(const char *text, const char *part) {
  write_labels(text);
  expect_refusal(part);
}

static void labels_are_a_column_of_a_table(void **state) {
  (void)state;
  make("train/a.h5", slices(2));
  make("train/b.h5", slices(1));
  make("val/a.h5", slices(1));
  set(arena_text(folder.arena, "data.labels=%s", support_path(&folder, "labels.csv")));
  set("data.split=train");
  refuse_labels("file,tumour\n", "data.label is empty, and data.labels ");
  set("data.label=tumour");
  expect_labels("\xef\xbb\xbf\"file\",tumour\r\ntrain/a.h5,1\r\nb,-2.5\r\n\r\n", (const float[]){1, 1, -2.5f}, 3);
  expect_labels("split,file,slice,tumour\ntrain,a.h5,1,3\nval,a.h5,0,9\ntrain,b.h5,0,4\ntrain,\"a.h5\",0,\"2\"",
                (const float[]){2, 3, 4}, 3);
  refuse_labels("", "is empty; its first line names columns");
  const char *wide = ",";
  for (int i = 0; i < 256; i++) wide = arena_text(folder.arena, "%s,", wide);
  refuse_labels(arena_text(folder.arena, "file,tumour%s\n", wide), "has 259 columns; there may be 256");
  refuse_labels(arena_text(folder.arena, "file,tumour\na.h5,1%s\n", wide), "line 2 has 259 fields; its first line names 2");
  write_labels("");
  assert_int_equal(truncate(support_path(&folder, "labels.csv"), (1 << 26) + 1), 0);
  expect_refusal("labels.csv is larger; it must be a CSV file of at most 64 MiB");
  refuse_labels("name;tumour\n", "has columns name;tumour; there must be one `file`");
  refuse_labels("file,grade\n", "has columns file, grade; set data.label to one of them");
  refuse_labels("file,tumour\na.h5,1,1\n", "line 2 has 3 fields; its first line names 2");
  refuse_labels("file,tumour\na.h5,yes\n", "line 2: tumour is 'yes'; it must be a finite number");
  refuse_labels("file,tumour\na.h5,nan\n", "line 2: tumour is 'nan'");
  refuse_labels("file,slice,tumour\nz,7,0\na.h5,2,1\n", "line 3: slice '2' of ");
  refuse_labels("file,tumour\na.h5,1\na,2\n", "a.h5 has a label already; give one row a volume");
  refuse_labels("file,slice,tumour\na.h5,0,1\nb.h5,0,1\n", "1 of 3 slices have no finite label tumour, the first is slice 1 of ");
  struct digest first = digest_with("file,tumour\na,1\nb,2\n"), same = digest_with("file,tumour\nb,3\na,1.0\n"),
                other = digest_with("file,tumour\na,1.5\nb,2\n");
  assert_memory_equal(&first, &same, sizeof first);
  assert_memory_not_equal(&first, &other, sizeof first);
  set("data.split=all");
  refuse_labels("file,tumour\na.h5,1\n", "give a column `split`, or the folders too");
  expect_labels("file,split,tumour\na,val,8\na,train,1\nb,train,2\n", (const float[]){1, 1, 2, 8}, 4);
}

static void labels_lie_beside_the_slices(void **state) {
  struct dataset dataset;
  struct store *store;
  struct error error;
  const size_t count = 2;
  const float label[] = {5, 6}, images[2 * 64] = {0};
  (void)state;
  set("data.label=grade");
  make("a.h5", slices(2));
  expect_refusal("2 of 2 slices have no finite label grade, the first is slice 0 of ");
  assert_good(store_create(&store, support_path(&folder, "a.h5"), &error), &error);
  assert_good(store_write(store, "reconstruction_esc", STORE_F32, 3, (const size_t[]){2, 8, 8}, images, false, &error), &error);
  assert_good(store_write(store, "grade", STORE_F32, 1, &count, label, false, &error), &error);
  assert_good(store_commit(store, &error), &error);
  assert_string_equal(volumes_of(&dataset), "a.h5");
  assert_true(dataset.volumes[0].label[0] == 5 && dataset.volumes[0].label[1] == 6);
  dataset_close(&dataset);
  set("data.label=number"); /* an attribute that make writes */
  make("a.h5", slices(2));
  assert_string_equal(volumes_of(&dataset), "a.h5");
  assert_true(dataset.volumes[0].label[0] == dataset.volumes[0].label[1] && dataset.volumes[0].label[0] > 0);
  dataset_close(&dataset);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(volumes_of_nothing_are_said),
      TEST(the_selection_is_pythons_shuffle),
      TEST(halves_are_rounded_to_even),
      TEST(a_fraction_may_leave_nothing),
      TEST(the_hash_is_of_the_sorted_names),
      TEST(the_hash_is_of_names_only),
      TEST(the_limit_takes_the_first),
      TEST(only_h5_files_are_taken),
      TEST(hidden_files_are_no_volumes),
      TEST(splits_are_folders_of_three_names),
      TEST(a_scan_counts_once),
      TEST(equal_names_of_splits_are_said),
      TEST(fastmri_folders_are_found),
      TEST(folders_of_volumes_below_are_hinted_at),
      TEST(copies_are_said),
      TEST(files_that_differ_between_samples_are_no_copies),
      TEST(what_cannot_be_read_has_no_digest),
      TEST(pipes_are_not_waited_for),
      TEST(digests_tell_files_apart),
      TEST(a_flat_folder_is_every_split),
      TEST(a_file_is_a_data_set),
      TEST(folds_deal_the_patients_of_train), TEST(resizing_wants_images), TEST(patients_stay_together),
      TEST(patients_are_placed_by_their_hash),
      TEST(a_file_without_patient_goes_by_its_name),
      TEST(patients_may_be_of_any_type),
      TEST(missing_patients_are_said),
      TEST(files_of_a_patient_count_once),
      TEST(long_patients_are_told_apart),
      TEST(a_patient_of_two_splits_is_said),
      TEST(the_hash_of_a_patient_split_is_its_own),
      TEST(shares_of_the_patient_split),
      TEST(only_the_acquisition_is_kept),
      TEST(the_centre_is_the_middle_half),
      TEST(one_slice_has_no_central_half),
      TEST(reconstructions_come_before_kspace),
      TEST(folders_without_volumes_are_refused),
      TEST(files_that_are_no_hdf5_are_broken),
      TEST(volumes_of_another_shape_are_broken),
      TEST(volumes_whose_sources_are_missing_are_broken),
      TEST(volumes_that_lie_in_files_that_are_written_are_in_use),
      TEST(facts_that_lie_in_files_that_are_written_are_not_missing),
      TEST(volumes_whose_external_files_are_missing_are_broken),
      TEST(volumes_of_a_filter_that_is_not_here_are_broken),
      TEST(volumes_of_another_type_are_broken),
      TEST(axes_of_another_order_are_named),
      TEST(headers_tell_the_axes),
      TEST(volumes_of_other_programs_are_named),
      TEST(files_that_are_no_hdf5_are_named),
      TEST(files_of_other_programs_are_imported),
      TEST(files_of_matlab_are_named),
      TEST(files_of_other_programs_are_named_below), TEST(volumes_that_hold_no_numbers_are_broken),
      TEST(volumes_too_large_for_the_host_are_broken),
      TEST(volumes_of_more_slices_than_the_file_holds_are_broken),
      TEST(full_kspace_may_have_a_mask),
      TEST(undersampled_kspace_with_a_mask_is_broken),
      TEST(files_without_target_are_broken),
      TEST(small_images_need_padding),
      TEST(images_that_are_none_are_refused),
      TEST(a_thread_that_does_not_start_is_explained),
      TEST(a_crop_that_nobody_asked_for_is_said),
      TEST(what_was_left_out_is_printed),
      TEST(labels_are_a_column_of_a_table),
      TEST(labels_lie_beside_the_slices),
      TEST(a_format_is_a_row),
      TEST(the_rows_claim_their_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
