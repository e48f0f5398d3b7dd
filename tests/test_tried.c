/* The child does everything with a file that the program does: each function of store.h that reads a name
 * has its row in store_tried.c, and the rows make every call of libhdf5 that the store's sources make. These
 * sources are built for this test with calls that are noted (noted.sh). */
#include "engine/files/store_inside.h"
#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- functions ----------------------------------------------------------------------------------------- */

static bool has_row(const char *function) {
  for (const struct store_reading *reading = store_readings; reading->function; reading++)
    if (!strcmp(reading->function, function)) return true;
  return false;
}

/* The next function of the text that takes an open store; NULL: none. */
static const char *next_function(char **text) {
  static const char first[] = "(struct store *store,";
  char *place = strstr(*text, first), *start = place;
  if (!place) return NULL;
  while (start > *text && (start[-1] == '_' || (start[-1] >= 'a' && start[-1] <= 'z'))) start--;
  *place = 0;
  *text = place + sizeof first - 1;
  return start;
}

static void every_function_that_reads_is_tried(void **state) {
  static const char *const others[] = {"store_list", "store_list_attributes", "store_is_sound"};
  size_t bytes, found = 0;
  char *text = (char *)support_read(folder.arena, STORE_H, &bytes), *end = strstr(text, "bool store_create(");
  (void)state;
  assert_non_null(end);
  *end = 0;
  for (const char *function; (function = next_function(&text)); found++) {
    bool other = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) other |= !strcmp(others[i], function);
    if (!other && !has_row(function)) fail_msg("%s has no row in store_tried.c", function);
  }
  assert_true(found > 12);
}

/* ---- calls of libhdf5 ---------------------------------------------------------------------------------- */

static const char *const calls[] = {NOTED};
enum { CALLS = sizeof calls / sizeof *calls };
static bool called[CALLS];

void noted(const char *function) {
  for (size_t i = 0; i < CALLS; i++) called[i] |= !strcmp(calls[i], function);
}

static hid_t put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *size, hid_t list) {
  hid_t space = rank ? H5Screate_simple(rank, size, NULL) : H5Screate(H5S_SCALAR);
  hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(dataset >= 0);
  H5Sclose(space);
  return dataset;
}

static void put_empty(hid_t file, const char *name, hid_t type) {
  H5Dclose(put(file, name, type, 0, NULL, H5P_DEFAULT));
}

static void put_chunked(hid_t file) {
  static const float values[64];
  const hsize_t size[] = {8, 8}, chunk[] = {4, 8};
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 2, chunk);
  H5Pset_deflate(list, 1);
  hid_t dataset = put(file, "chunked", H5T_IEEE_F32LE, 2, size, list);
  H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(dataset);
  H5Pclose(list);
}

static void put_elsewhere(hid_t file) {
  const hsize_t size[] = {8, 8};
  const char *data = support_path(&folder, "data");
  support_write(data, (float[64]){0}, 64 * sizeof(float));
  hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, size, NULL);
  H5Pset_external(list, data, 0, 64 * sizeof(float));
  H5Dclose(put(file, "external", H5T_IEEE_F32LE, 2, size, list));
  H5Pclose(list);
  list = H5Pcreate(H5P_DATASET_CREATE);
  hid_t part = H5Scopy(space);
  H5Sselect_hyperslab(part, H5S_SELECT_SET, (hsize_t[]){0, 0}, NULL, size, NULL);
  H5Pset_virtual(list, part, ".", "chunked", part);
  H5Dclose(put(file, "virtual", H5T_IEEE_F32LE, 2, size, list));
  H5Sclose(part);
  H5Sclose(space);
  H5Pclose(list);
}

static void put_types(hid_t file) {
  hid_t fixed = H5Tcopy(H5T_C_S1), word = H5Tenum_create(H5T_STD_I8LE), pair = H5Tcreate(H5T_COMPOUND, 8);
  hid_t array = H5Tarray_create2(H5T_IEEE_F32LE, 1, (hsize_t[]){1}), text = H5Tcopy(H5T_C_S1);
  H5Tset_size(fixed, 9);
  H5Tset_size(text, H5T_VARIABLE);
  H5Tenum_insert(word, "FALSE", "\0");
  H5Tinsert(pair, "r", 0, H5T_IEEE_F32LE);
  H5Tinsert(pair, "i", 4, H5T_IEEE_F32LE);
  put_empty(file, "fixed", fixed);
  put_empty(file, "word", word);
  put_empty(file, "pair", pair);
  put_empty(file, "array", array);
  put_empty(file, "number", H5T_STD_I16BE);
  hid_t dataset = put(file, "text", text, 0, NULL, H5P_DEFAULT);
  H5Dwrite(dataset, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, &(const char *){"text"});
  H5Dclose(dataset);
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(file, "attribute", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, H5T_NATIVE_DOUBLE, &(double){1});
  H5Aclose(attribute);
  H5Sclose(space);
}

/* Of every kind that the store knows. */
static void write_kinds(const char *path) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(file >= 0);
  put_chunked(file);
  put_elsewhere(file);
  put_types(file);
  H5Lcreate_soft("chunked", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/", file, "ring", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("other.h5", "/x", file, "outside", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
}

static void every_call_of_libhdf5_is_tried(void **state) {
  /* the program looks for a signature before it asks the child; the other two touch no file */
  static const char *const before[] = {"H5Fis_hdf5", "H5Eget_auto2", "H5Eset_auto2"};
  char *data = arena_new(folder.arena, STORE_TEXT_MOST);
  const char *path = support_path(&folder, "kinds.h5");
  struct store *store;
  struct error error;
  size_t missing = 0;
  (void)state;
  store_start();
  write_kinds(path);
  memset(called, 0, sizeof called);
  assert_good(store_open_here(&store, path, &error), &error);
  assert_good(store_try(store, data, &error), &error);
  store_close(store);
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) noted(before[i]);
  for (size_t i = 0; i < CALLS; i++)
    if (!called[i]) {
      print_error("the child makes no call of %s\n", calls[i]);
      missing++;
    }
  assert_int_equal(missing, 0);
  assert_true(CALLS > 50);
}

/* What a name leads to by another name is tried too. */
static void links_are_followed(void **state) {
  char *data = arena_new(folder.arena, STORE_TEXT_MOST);
  const char *path = support_path(&folder, "links.h5");
  struct store *store;
  struct error error;
  (void)state;
  hid_t file = H5Fcreate(support_path(&folder, "other.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  put_types(group);
  H5Gclose(group);
  H5Fclose(file);
  file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("other.h5", "/group", file, "outside", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/", file, "ring", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  memset(called, 0, sizeof called);
  assert_good(store_open_here(&store, path, &error), &error);
  assert_good(store_try(store, data, &error), &error);
  store_close(store);
  for (size_t i = 0; i < CALLS; i++)
    if (!strcmp(calls[i], "H5Tenum_nameof")) assert_true(called[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(every_function_that_reads_is_tried),
      TEST(every_call_of_libhdf5_is_tried),
      TEST(links_are_followed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
