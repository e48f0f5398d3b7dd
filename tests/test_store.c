#include "engine/base/half.h"
#include "engine/base/log.h"
#include "engine/files/probe.h"
#include "engine/files/probe_message.h"
#include "engine/files/store.h"
#include "tests/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static const char *path_of(const char *name) {
  return support_path(&folder, name);
}

static bool exists(const char *name) {
  return access(path_of(name), F_OK) == 0;
}

/* Whether the folder has so many files that are being written: NAME.SIXTEEN_DIGITS.part. */
static bool has_parts(const char *name, size_t count) {
  size_t length = strlen(name), found = 0;
  DIR *list = opendir(folder.path);
  for (struct dirent *entry; (entry = readdir(list));)
    found += !strncmp(entry->d_name, name, length) && strlen(entry->d_name) == length + 22 &&
             !strcmp(entry->d_name + length + 17, ".part");
  closedir(list);
  return found == count;
}

static struct store *create(const char *name) {
  struct store *store;
  struct error error;
  assert_good(store_create(&store, path_of(name), &error), &error);
  return store;
}

static struct store *open_store(const char *name) {
  struct store *store;
  struct error error;
  assert_good(store_open(&store, path_of(name), &error), &error);
  return store;
}

static void commit(struct store *store) {
  struct error error;
  assert_good(store_commit(store, &error), &error);
}

static void write_all(struct store *store, const char *name, enum store_type type, int rank,
                      const size_t *size, const void *from, bool compress) {
  struct error error;
  assert_good(store_write(store, name, type, rank, size, from, compress, &error), &error);
}

static void expect_data(struct store *store, const char *name, enum store_type type, const void *want,
                        size_t bytes) {
  struct error error;
  void *data;
  size_t total;
  assert_good(store_read_all(store, name, type, 1 << 28, folder.arena, &data, &total, &error), &error);
  assert_memory_equal(data, want, bytes);
}

static void expect_open_refusal(const char *path, const char *part) {
  struct store *store;
  struct error error;
  assert_false(store_open(&store, path, &error));
  assert_null(store);
  assert_int_equal(error.code, ERROR_FILE);
  assert_holds(error.text, part);
  assert_holds(error.text, path);
}

/* ---- what this program writes -------------------------------------------------------------------------- */

static const uint8_t bytes_in[] = {0, 1, 255, 7, 8, 9};
static const uint32_t words_in[] = {0, 1, UINT32_MAX, 7, 8, 9};
static const float floats_in[] = {0, -1.5f, 1e-38f, 3e38f, 8, 9};
static const double doubles_in[] = {0, -1.5, 1e-300, 3e300, 0.1, 9};
static const float complex_in[] = {1, 2, -3, 4, 5, -6, 7, 8, 9, 10, 11, 12};

static void write_types(struct store *store, bool compress) {
  static const size_t size[] = {2, 3};
  write_all(store, "u8", STORE_U8, 2, size, bytes_in, compress);
  write_all(store, "u32", STORE_U32, 2, size, words_in, compress);
  write_all(store, "group/f32", STORE_F32, 2, size, floats_in, compress);
  write_all(store, "group/deeper/f64", STORE_F64, 2, size, doubles_in, compress);
  write_all(store, "c64", STORE_C64, 2, size, complex_in, compress);
}

static void expect_types(struct store *store) {
  expect_data(store, "u8", STORE_U8, bytes_in, sizeof bytes_in);
  expect_data(store, "u32", STORE_U32, words_in, sizeof words_in);
  expect_data(store, "group/f32", STORE_F32, floats_in, sizeof floats_in);
  expect_data(store, "/group/deeper/f64", STORE_F64, doubles_in, sizeof doubles_in);
  expect_data(store, "c64", STORE_C64, complex_in, sizeof complex_in);
}

static void all_types_come_back(void **state) {
  (void)state;
  for (int compress = 0; compress < 2; compress++) {
    struct store *store = create("a.h5");
    write_types(store, compress);
    commit(store);
    store = open_store("a.h5");
    expect_types(store);
    store_close(store);
  }
}

static void shapes_are_told(void **state) {
  struct store_shape shape;
  struct error error;
  struct store *store = create("a.h5");
  (void)state;
  write_types(store, false);
  write_all(store, "scalar", STORE_F32, 0, NULL, floats_in + 1, true);
  write_all(store, "six", STORE_U8, 6, (size_t[]){1, 1, 2, 1, 3, 1}, bytes_in, true);
  write_all(store, "none", STORE_F32, 2, (size_t[]){0, 3}, floats_in, true);
  commit(store);
  store = open_store("a.h5");
  assert_good(store_shape(store, "c64", &shape, &error), &error);
  assert_true(shape.complex && shape.rank == 2 && shape.size[0] == 2 && shape.size[1] == 3);
  assert_good(store_shape(store, "six", &shape, &error), &error);
  assert_true(!shape.complex && shape.rank == 6 && shape.size[2] == 2 && shape.size[4] == 3);
  assert_good(store_shape(store, "scalar", &shape, &error), &error);
  assert_int_equal(shape.rank, 0);
  expect_data(store, "scalar", STORE_F32, floats_in + 1, sizeof(float));
  assert_good(store_shape(store, "none", &shape, &error), &error);
  assert_int_equal(shape.size[0], 0);
  expect_data(store, "none", STORE_F32, "", 0);
  assert_false(store_shape(store, "absent", &shape, &error));
  assert_holds(error.text, "a.h5 has no dataset absent");
  store_close(store);
}

static void hyperslabs_are_read(void **state) {
  uint32_t cube[4][5][6], part[2][3];
  struct error error;
  struct store *store = create("a.h5");
  (void)state;
  for (uint32_t i = 0; i < 120; i++) (&cube[0][0][0])[i] = i;
  write_all(store, "cube", STORE_U32, 3, (size_t[]){4, 5, 6}, cube, true);
  commit(store);
  store = open_store("a.h5");
  assert_good(store_read(store, "cube", STORE_U32, (size_t[]){2, 1, 3}, (size_t[]){1, 2, 3}, part, &error),
              &error);
  for (int y = 0; y < 2; y++)
    for (int x = 0; x < 3; x++) assert_int_equal(part[y][x], cube[2][1 + y][3 + x]);
  assert_false(store_read(store, "cube", STORE_U32, (size_t[]){3, 4, 4}, (size_t[]){1, 1, 3}, part, &error));
  assert_holds(error.text, "cannot read cube in");
  store_close(store);
}

static void numbers_are_converted(void **state) {
  static const double want[] = {0, 1, 255, 7, 8, 9};
  static const float narrow[] = {0, -1.5f, 0, 0, 0.1f, 9};
  float got[6];
  struct error error;
  struct store *store = create("a.h5");
  (void)state;
  write_types(store, false);
  commit(store);
  store = open_store("a.h5");
  expect_data(store, "u8", STORE_F64, want, sizeof want);
  assert_good(store_read(store, "group/deeper/f64", STORE_F32, NULL, (size_t[]){2, 3}, got, &error), &error);
  assert_true(got[1] == narrow[1] && got[2] == 0 && got[4] == narrow[4] && got[5] == 9);
  store_close(store);
}

static void halves_are_rounded_once(void **state) {
  (void)state;
  const float numbers[] = {0, 1, -2.0009766f, 65504, 6.1e-5f, 6e-8f, -3e-8f, 1e-9f, 0.1f, 3.14159265f}, large = 65520;
  enum { COUNT = sizeof numbers / sizeof *numbers };
  float back[COUNT];
  struct store *store;
  struct error error;
  const char *path = support_path(&folder, "halves.h5");
  assert_good(store_create(&store, path, &error), &error);
  store_keep_sums(store);
  assert_good(store_write_half(store, "group/numbers", 1, (const size_t[]){COUNT}, numbers, &error), &error);
  assert_false(store_write_half(store, "large", 1, (const size_t[]){1}, &large, &error));
  assert_holds(error.text, "large holds 65520 at element 0; half precision holds numbers from -65504 to 65504");
  commit(store);
  assert_good(store_open(&store, path, &error), &error);
  char words[64];
  store_type_words(store, "group/numbers", words, sizeof words);
  assert_string_equal(words, "float16");
  assert_good(store_read_known(store, "group/numbers", STORE_F32, COUNT, back, &error), &error);
  for (size_t i = 0; i < COUNT; i++) assert_true(back[i] == half_to_float(half_from_float(numbers[i])));
  store_close(store);
}

static void names_are_looked_up_group_by_group(void **state) {
  struct store *store = create("a.h5");
  (void)state;
  write_types(store, false);
  assert_true(store_has(store, "group/f32"));
  assert_true(store_has(store, "/group/f32"));
  assert_true(store_has(store, "group"));
  assert_false(store_has(store, "group/none"));
  assert_false(store_has(store, "none/f32"));
  assert_false(store_has(store, "u8/f32")); /* a dataset is no group */
  store_close(store);
}

static void see_name(const char *name, void *context) {
  char *names = context;
  strcat(strcat(names, name), " ");
}

static void datasets_are_listed(void **state) {
  char names[256] = "";
  struct error error;
  struct store *store = create("a.h5");
  (void)state;
  write_types(store, false);
  assert_true(store_list(store, see_name, names, &error));
  assert_holds(names, "u8 ");
  assert_holds(names, "group/deeper/f64 ");
  assert_null(strstr(names, ". "));
  assert_null(strstr(names, "group "));
  store_close(store);
}

static void attributes_and_texts_come_back(void **state) {
  char text[64] = "untouched";
  double value = 5;
  struct error error;
  struct store *store = create("a.h5");
  (void)state;
  assert_good(store_put_text(store, "acquisition", "CORPD_FBK", &error), &error);
  assert_good(store_put_text(store, "empty", "", &error), &error);
  assert_good(store_put_number(store, "max", 4.776e-4, &error), &error);
  assert_good(store_write_text(store, "ismrmrd_header", "<?xml größe?>", &error), &error);
  assert_false(store_put_number(store, "max", 1, &error));
  assert_holds(error.text, "cannot write attribute max in");
  commit(store);
  store = open_store("a.h5");
  assert_false(store_text(store, "absent", text, sizeof text));
  assert_false(store_text(store, "max", text, sizeof text));
  assert_string_equal(text, "untouched");
  assert_true(store_text(store, "acquisition", text, sizeof text));
  assert_string_equal(text, "CORPD_FBK");
  assert_true(store_text(store, "acquisition", text, 4));
  assert_string_equal(text, "COR");
  assert_true(store_text(store, "empty", text, sizeof text));
  assert_string_equal(text, "");
  assert_true(store_text(store, "ismrmrd_header", text, sizeof text));
  assert_string_equal(text, "<?xml größe?>");
  assert_true(store_number(store, "max", &value));
  assert_true(value == 4.776e-4);
  assert_false(store_number(store, "acquisition", &value));
  assert_false(store_number(store, "absent", &value));
  assert_true(value == 4.776e-4);
  store_close(store);
}

static unsigned char *write_file(const char *name, size_t *bytes) {
  struct error error;
  struct store *store = create(name);
  write_types(store, true);
  write_all(store, "plain", STORE_U8, 1, (size_t[]){6}, bytes_in, false);
  assert_good(store_write_text(store, "text", "header", &error), &error);
  assert_good(store_put_text(store, "scene", "data: {}", &error), &error);
  assert_good(store_put_number(store, "max", 4, &error), &error);
  commit(store);
  return support_read(folder.arena, path_of(name), bytes);
}

/* The bytes stay when the clock has moved on; HDF5 keeps whole seconds. */
static void the_same_data_make_the_same_bytes(void **state) {
  size_t bytes, again;
  (void)state;
  const unsigned char *first = write_file("a.h5", &bytes);
  sleep(1);
  const unsigned char *second = write_file("b.h5", &again);
  assert_int_equal(bytes, again);
  assert_memory_equal(first, second, bytes);
}

static void layouts_are_told(void **state) {
  char text[128];
  struct store *store = create("a.h5");
  (void)state;
  write_all(store, "plain", STORE_U8, 1, (size_t[]){6}, bytes_in, false);
  write_all(store, "packed", STORE_U8, 3, (size_t[]){1, 2, 3}, bytes_in, true);
  store_layout(store, "plain", text, sizeof text);
  assert_string_equal(text, "contiguous");
  store_layout(store, "packed", text, sizeof text);
  assert_string_equal(text, "chunked 1x2x3, shuffle, deflate 4");
  store_layout(store, "packed", text, 12);
  assert_string_equal(text, "chunked 1x2");
  store_layout(store, "absent", text, sizeof text);
  assert_string_equal(text, "unreadable");
  store_close(store);
}

static void a_name_is_written_once(void **state) {
  struct error error;
  struct store *store = create("a.h5");
  (void)state;
  write_all(store, "x", STORE_U8, 1, (size_t[]){6}, bytes_in, false);
  assert_false(store_write(store, "x", STORE_U8, 1, (size_t[]){6}, bytes_in, false, &error));
  assert_holds(error.text, "cannot write x in");
  assert_false(store_write(store, "x/y", STORE_U8, 1, (size_t[]){6}, bytes_in, false, &error));
  assert_false(store_write_text(store, "x", "text", &error));
  assert_holds(error.text, "cannot write x in");
  store_close(store);
}

/* ---- what others write: made with the HDF5 library itself ---------------------------------------------- */

static hid_t start_foreign(const char *name, H5F_libver_t low, hsize_t user_block) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_libver_bounds(access, low, H5F_LIBVER_LATEST);
  if (user_block) H5Pset_userblock(creation, user_block);
  hid_t file = H5Fcreate(path_of(name), H5F_ACC_TRUNC, creation, access);
  H5Pclose(creation);
  H5Pclose(access);
  assert_true(file >= 0);
  return file;
}

static void put_dataset(hid_t file, const char *name, hid_t stored, hid_t memory, hsize_t count,
                        const void *from) {
  hid_t space = H5Screate_simple(1, &count, NULL);
  hid_t dataset = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(dataset >= 0);
  assert_true(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, from) >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

static hid_t pair_type(const char *first, const char *second, hid_t member) {
  hid_t type = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(member));
  H5Tinsert(type, first, 0, member);
  H5Tinsert(type, second, H5Tget_size(member), member);
  return type;
}

static void put_pairs(hid_t file, const char *name, const char *first, const char *second, hid_t member,
                      hid_t native, const void *from) {
  hid_t stored = pair_type(first, second, member), memory = pair_type(first, second, native);
  put_dataset(file, name, stored, memory, 2, from);
  H5Tclose(memory);
  H5Tclose(stored);
}

static void complex_numbers_of_all_kinds_are_read(void **state) {
  static const float pairs[] = {1, 2, 3, 4}, swapped[] = {2, 1, 4, 3};
  static const double wide[] = {1, 2, 3, 4};
  struct store_shape shape;
  struct error error;
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 0);
  put_pairs(file, "h5py", "r", "i", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, pairs);
  put_pairs(file, "named", "real", "imag", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, pairs);
  put_pairs(file, "swapped", "i", "r", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, swapped);
  put_pairs(file, "named_swapped", "imag", "real", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, swapped);
  put_pairs(file, "double", "r", "i", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, wide);
  put_pairs(file, "big", "real", "imag", H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, wide);
  H5Fclose(file);
  static const char *const names[] = {"h5py", "named", "swapped", "named_swapped", "double", "big"};
  struct store *store = open_store("a.h5");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    expect_data(store, names[i], STORE_C64, pairs, sizeof pairs);
    assert_good(store_shape(store, names[i], &shape, &error), &error);
    assert_true(shape.complex);
  }
  store_close(store);
}

static void expect_read_refusal(struct store *store, const char *name, enum store_type type,
                                const char *part) {
  struct error error;
  void *data;
  size_t total;
  assert_false(store_read_all(store, name, type, 1 << 28, folder.arena, &data, &total, &error));
  assert_holds(error.text, part);
  assert_holds(error.text, name);
  assert_holds(error.text, "a.h5");
}

static hid_t triple_type(void) {
  hid_t type = H5Tcreate(H5T_COMPOUND, 12);
  H5Tinsert(type, "r", 0, H5T_NATIVE_FLOAT);
  H5Tinsert(type, "i", 4, H5T_NATIVE_FLOAT);
  H5Tinsert(type, "w", 8, H5T_NATIVE_FLOAT);
  return type;
}

static void data_of_another_kind_are_refused(void **state) {
  static const float numbers[6] = {1, 2, 3, 4, 5, 6};
  struct store_shape shape;
  struct error error;
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 0), triple = triple_type(),
        word = H5Tcopy(H5T_C_S1);
  H5Tset_size(word, 4);
  put_dataset(file, "triple", triple, triple, 2, numbers);
  put_dataset(file, "plain", H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, 6, numbers);
  put_dataset(file, "words", word, word, 2, "abcdefg");
  put_pairs(file, "pairs_of_words", "r", "i", word, word, "abcdefghijklmno");
  put_pairs(file, "pairs", "r", "i", H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, numbers);
  H5Gclose(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Lcreate_soft("/nowhere", file, "dangling", H5P_DEFAULT, H5P_DEFAULT);
  H5Tclose(word);
  H5Tclose(triple);
  H5Fclose(file);
  struct store *store = open_store("a.h5");
  expect_read_refusal(store, "triple", STORE_C64, "is not a compound of two numbers");
  expect_read_refusal(store, "plain", STORE_C64, "is not a compound of two numbers");
  expect_read_refusal(store, "pairs_of_words", STORE_C64, "is not a compound of two numbers");
  expect_read_refusal(store, "pairs", STORE_F32, "holds no numbers but complex float32");
  expect_read_refusal(store, "words", STORE_F32, "holds no numbers but text");
  expect_read_refusal(store, "absent", STORE_F32, "has no dataset");
  expect_read_refusal(store, "group", STORE_F32, "cannot open");
  expect_read_refusal(store, "dangling", STORE_F32, "cannot open");
  assert_good(store_shape(store, "triple", &shape, &error), &error);
  assert_false(shape.complex);
  store_close(store);
}

/* ---- what a file claims -------------------------------------------------------------------------------- */

/* Writes a dataset of `rows` x 16 bytes, but only its first `written` rows; rows of a chunk, 0:
 * contiguous. */
static void put_claim(hid_t file, const char *name, hsize_t rows, hsize_t chunk, hsize_t written,
                      bool deflate) {
  static const uint8_t zeros[64 * 16];
  hsize_t size[] = {rows, 16}, chunks[] = {chunk, 16}, from[] = {0, 0}, count[] = {written, 16};
  hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, size, NULL);
  hid_t memory = H5Screate_simple(2, written ? count : size, NULL);
  if (chunk) H5Pset_chunk(list, 2, chunks);
  if (deflate) H5Pset_deflate(list, 9);
  hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_UINT8, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(dataset >= 0);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL);
  if (written) assert_true(H5Dwrite(dataset, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, zeros) >= 0);
  H5Dclose(dataset);
  H5Sclose(memory);
  H5Sclose(space);
  H5Pclose(list);
}

static void expect_held(struct store *store, const char *name, const char *part) {
  struct error error = {.text = ""};
  if (store_check_held(store, name, &error) == (part == NULL)) {
    if (part) assert_holds(error.text, part);
    return;
  }
  fail_msg("%s: %s", name, error.text);
}

static void what_a_file_cannot_hold_is_refused(void **state) {
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 0);
  put_claim(file, "whole", 64, 0, 64, false);
  put_claim(file, "chunked", 64, 8, 64, false);
  put_claim(file, "packed", 64, 64, 64, true);
  put_claim(file, "wider", 10, 8, 10, false); /* the last chunk goes beyond the end */
  put_claim(file, "unwritten", 64, 0, 0, false);
  put_claim(file, "no_chunk", 64, 8, 0, true);
  put_claim(file, "partly", 64, 8, 56, true);
  put_claim(file, "endless", (hsize_t)1 << 40, 8, 64, true);
  put_claim(file, "nothing", 0, 0, 0, false);
  H5Fclose(file);
  struct store *store = open_store("a.h5");
  static const char *const good[] = {"whole", "chunked", "packed", "wider", "nothing"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) expect_held(store, good[i], NULL);
  expect_held(store, "unwritten", "unwritten in");
  expect_held(store, "unwritten", "was never written");
  expect_held(store, "no_chunk", "or only in part (0 of 8 chunks)");
  expect_held(store, "partly", "or only in part (7 of 8 chunks)");
  expect_held(store, "endless", "endless in");
  expect_held(store, "endless", "claims 1.759e+13 bytes, of which the file of ");
  expect_read_refusal(store, "partly", STORE_U8, "only in part");
  store_close(store);
}

/* Compares as l2sr compare would, 2^44 bytes that nobody wrote. */
static void endless_datasets_are_not_compared(void **state) {
  (void)state;
  if (!getenv("L2SR_PROGRAM")) skip();
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 0);
  put_claim(file, "endless", (hsize_t)1 << 40, 8, 64, true);
  H5Fclose(file);
  const char *path = path_of("a.h5");
  int status = system(arena_text(folder.arena, "timeout 30 %s compare %s %s >%s 2>&1", getenv("L2SR_PROGRAM"),
                                 path, path, path_of("said")));
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  size_t bytes;
  assert_holds((const char *)support_read(folder.arena, path_of("said"), &bytes), "endless in ");
}

/* A slot for every chunk would take gigabytes. */
static void a_table_of_chunks_is_bounded(void **state) {
  hsize_t size[] = {4, (hsize_t)1 << 40}, chunk[] = {2, 1};
  size_t start[] = {0, 0}, count[] = {1, 2};
  struct error error;
  uint8_t bytes[2];
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 0), list = H5Pcreate(H5P_DATASET_CREATE);
  hid_t space = H5Screate_simple(2, size, NULL);
  H5Pset_chunk(list, 2, chunk);
  H5Dclose(H5Dcreate2(file, "wide", H5T_NATIVE_UINT8, space, H5P_DEFAULT, list, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(list);
  H5Fclose(file);
  struct store *store = open_store("a.h5");
  assert_good(store_read(store, "wide", STORE_U8, start, count, bytes, &error), &error);
  store_close(store);
}

static void exactly_so_many_are_read(void **state) {
  struct error error;
  uint8_t to[8];
  struct store *store = create("a.h5");
  (void)state;
  write_all(store, "six", STORE_U8, 2, (size_t[]){2, 3}, "abcdef", false);
  commit(store);
  store = open_store("a.h5");
  assert_good(store_read_known(store, "six", STORE_U8, 6, to, &error), &error);
  assert_memory_equal(to, "abcdef", 6);
  assert_false(store_read_known(store, "six", STORE_U8, 5, to, &error));
  assert_holds(error.text, "has 6 entries; at most 5 are expected");
  assert_false(store_read_known(store, "six", STORE_U8, 7, to, &error));
  assert_holds(error.text, "has 6 entries; expected 7");
  store_close(store);
}

static void odd_ranks_and_sizes_are_refused(void **state) {
  hsize_t seven[] = {1, 1, 1, 1, 1, 1, 1}, huge[] = {(hsize_t)1 << 31, (hsize_t)1 << 30}, chunk[] = {16, 16};
  struct error error;
  uint8_t byte;
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_LATEST, 0), list = H5Pcreate(H5P_DATASET_CREATE);
  hid_t deep = H5Screate_simple(7, seven, NULL), wide = H5Screate_simple(2, huge, NULL),
        null = H5Screate(H5S_NULL);
  H5Pset_chunk(list, 2, chunk);
  H5Dclose(H5Dcreate2(file, "seven", H5T_NATIVE_UINT8, deep, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Dclose(H5Dcreate2(file, "huge", H5T_NATIVE_DOUBLE, wide, H5P_DEFAULT, list, H5P_DEFAULT));
  H5Dclose(H5Dcreate2(file, "null", H5T_NATIVE_UINT8, null, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(null);
  H5Sclose(wide);
  H5Sclose(deep);
  H5Pclose(list);
  H5Fclose(file);
  struct store *store = open_store("a.h5");
  expect_read_refusal(store, "seven", STORE_U8, "has rank 7; at most 6 is understood");
  assert_false(store_read(store, "seven", STORE_U8, NULL, (size_t[]){1, 1, 1, 1, 1, 1, 1}, &byte, &error));
  assert_holds(error.text, "has rank 7; at most 6 is understood");
  expect_read_refusal(store, "huge", STORE_F64,
                      "has 2305843009213693952 entries; at most 268435456 are expected");
  expect_read_refusal(store, "null", STORE_U8, "cannot read");
  store_close(store);
}

static hid_t truth_type(void) {
  int8_t no = 0, yes = 1;
  hid_t type = H5Tenum_create(H5T_STD_I8LE);
  H5Tenum_insert(type, "FALSE", &no);
  H5Tenum_insert(type, "TRUE", &yes);
  return type;
}

static void masks_of_all_kinds_are_read(void **state) {
  static const uint8_t mask[] = {1, 0, 0, 1};
  static const float floats[] = {1, 0, 0, 1};
  static const int64_t wholes[] = {1, 0, 0, 1};
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 0), truth = truth_type();
  put_dataset(file, "bool", truth, truth, 4, mask);
  put_dataset(file, "u8", H5T_STD_U8LE, H5T_NATIVE_UINT8, 4, mask);
  put_dataset(file, "f32", H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, 4, floats);
  put_dataset(file, "i64", H5T_STD_I64BE, H5T_NATIVE_INT64, 4, wholes);
  H5Tclose(truth);
  H5Fclose(file);
  struct store *store = open_store("a.h5");
  expect_data(store, "bool", STORE_U8, mask, sizeof mask);
  expect_data(store, "u8", STORE_U8, mask, sizeof mask);
  expect_data(store, "f32", STORE_U8, mask, sizeof mask);
  expect_data(store, "i64", STORE_U8, mask, sizeof mask);
  expect_data(store, "f32", STORE_F32, floats, sizeof floats);
  store_close(store);
}

static void put_string(hid_t file, const char *name, size_t size, bool attribute, const void *from) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, size);
  if (size != H5T_VARIABLE) H5Tset_strpad(type, H5T_STR_NULLPAD);
  hid_t object = attribute ? H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT)
                           : H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(object >= 0);
  if (attribute)
    H5Awrite(object, type, from), H5Aclose(object);
  else
    H5Dwrite(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, from), H5Dclose(object);
  H5Sclose(space);
  H5Tclose(type);
}

static void strings_of_all_kinds_are_read(void **state) {
  const char *header = "<header/>";
  char text[64];
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 0);
  put_string(file, "variable", H5T_VARIABLE, false, &header);
  put_string(file, "fixed", 9, false, header); /* no room for a NUL */
  put_string(file, "variable_attribute", H5T_VARIABLE, true, &header);
  put_string(file, "fixed_attribute", 9, true, header);
  put_dataset(file, "two", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, 2, doubles_in);
  put_dataset(file, "one", H5T_IEEE_F32BE, H5T_NATIVE_DOUBLE, 1, doubles_in + 1);
  H5Fclose(file);
  static const char *const names[] = {"variable", "fixed", "variable_attribute", "fixed_attribute"};
  struct store *store = open_store("a.h5");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assert_true(store_text(store, names[i], text, sizeof text));
    assert_string_equal(text, header);
  }
  double value = 0;
  assert_false(store_text(store, "two", text, sizeof text));
  assert_false(store_number(store, "two", &value));
  assert_true(store_number(store, "one", &value));
  assert_true(value == -1.5);
  store_close(store);
}

/* Byte 8 is the version of the superblock; a user block lies before it. */
static void expect_superblock(const char *name, size_t start, bool oldest) {
  size_t bytes;
  const unsigned char *data = support_read(folder.arena, path_of(name), &bytes);
  assert_memory_equal(data + start, "\x89HDF\r\n\x1a\n", 8);
  assert_true(oldest ? data[start + 8] == 0 : data[start + 8] >= 2);
}

static void formats_of_all_ages_are_read(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    hid_t file = start_foreign("a.h5", i ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST, i == 2 ? 1024 : 0);
    put_dataset(file, "x", H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, 6, floats_in);
    H5Fclose(file);
    expect_superblock("a.h5", i == 2 ? 1024 : 0, i == 0);
    struct store *store = open_store("a.h5");
    expect_data(store, "x", STORE_F32, floats_in, sizeof floats_in);
    store_close(store);
  }
}

static void a_filled_user_block_is_passed_over(void **state) {
  size_t bytes;
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 512);
  put_dataset(file, "x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, 6, floats_in);
  H5Fclose(file);
  unsigned char *data = support_read(folder.arena, path_of("a.h5"), &bytes);
  memset(data, 'u', 512);
  support_write(path_of("a.h5"), data, bytes);
  struct store *store = open_store("a.h5");
  expect_data(store, "x", STORE_F32, floats_in, sizeof floats_in);
  store_close(store);
}

static void a_compact_dataset_says_so(void **state) {
  hsize_t count = 6;
  char text[64];
  (void)state;
  hid_t file = start_foreign("a.h5", H5F_LIBVER_EARLIEST, 0), list = H5Pcreate(H5P_DATASET_CREATE);
  hid_t space = H5Screate_simple(1, &count, NULL);
  H5Pset_layout(list, H5D_COMPACT);
  H5Dclose(H5Dcreate2(file, "x", H5T_NATIVE_UINT8, space, H5P_DEFAULT, list, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(list);
  H5Fclose(file);
  struct store *store = open_store("a.h5");
  store_layout(store, "x", text, sizeof text);
  assert_string_equal(text, "compact");
  store_close(store);
}

/* ---- files that are not what they should be ------------------------------------------------------------ */

static void wrong_files_are_named(void **state) {
  (void)state;
  expect_open_refusal(path_of("none.h5"), "No such file or directory");
  support_write_text(path_of("empty.h5"), "");
  expect_open_refusal(path_of("empty.h5"), "is empty; download or write it again");
  support_write_text(path_of("text.h5"), "<html>404</html>\n");
  expect_open_refusal(path_of("text.h5"), "has no HDF5 signature");
  expect_open_refusal(folder.path, "is not a file");
  support_write(path_of("signature.h5"), "\x89HDF\r\n\x1a\n", 8);
  expect_open_refusal(path_of("signature.h5"), "cannot read");
}

static void write_large(const char *name) {
  static float image[64 * 64];
  struct error error;
  struct store *store = create(name);
  for (int i = 0; i < 64 * 64; i++) image[i] = (float)i;
  write_all(store, "image", STORE_F32, 2, (size_t[]){64, 64}, image, true);
  assert_good(store_write_text(store, "header", "<xml/>", &error), &error);
  commit(store);
}

static void cut_files_are_refused(void **state) {
  struct store *store;
  struct error error;
  size_t bytes;
  (void)state;
  write_large("a.h5");
  const unsigned char *data = support_read(folder.arena, path_of("a.h5"), &bytes);
  for (size_t part = 1; part < 20; part++) {
    support_write(path_of("cut.h5"), data, bytes * part / 20);
    assert_false(store_open(&store, path_of("cut.h5"), &error));
    assert_holds(error.text, "the file may be cut short, fetch it again");
    assert_null(strstr(error.text, "no reason given"));
  }
  support_write(path_of("cut.h5"), data, bytes - 1);
  expect_open_refusal(path_of("cut.h5"), "the file may be cut short");
}

/* Byte 8 is the superblock's version. */
static void newer_files_say_so(void **state) {
  size_t bytes;
  (void)state;
  write_large("a.h5");
  unsigned char *data = support_read(folder.arena, path_of("a.h5"), &bytes);
  data[8] = 9;
  support_write(path_of("a.h5"), data, bytes);
  expect_open_refusal(path_of("a.h5"), "written by a newer HDF5 than this one");
  expect_open_refusal(path_of("a.h5"), "h5repack may help");
}

static double seconds_to_read(const char *name, size_t slices) {
  struct error error;
  struct store *store = open_store(name);
  size_t start[3] = {0}, count[] = {256 / slices, 64, 256};
  float *data = ARENA_NEW(folder.arena, float, count[0] * 64 * 256);
  double began = clock_seconds();
  for (; start[0] < 256; start[0] += count[0])
    assert_good(store_read(store, "image", STORE_F32, start, count, data, &error), &error);
  assert_true(data[count[0] * 64 * 256 - 1] == 256 * 64 * 256 - 1);
  store_close(store);
  return clock_seconds() - began;
}

/* 16 MiB in one chunk: decompressing it for every slice takes 256 times as long as once. */
static void a_chunk_is_decompressed_once(void **state) {
  const hsize_t size[] = {256, 64, 256};
  float *values = ARENA_NEW(folder.arena, float, 256 * 64 * 256);
  (void)state;
  for (size_t i = 0; i < 256 * 64 * 256; i++) values[i] = (float)i;
  hid_t file = H5Fcreate(path_of("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(3, size, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(plist, 3, size);
  H5Pset_deflate(plist, 1);
  hid_t data = H5Dcreate2(file, "image", H5T_IEEE_F32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  assert_true(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Dclose(data);
  H5Pclose(plist);
  H5Sclose(space);
  H5Fclose(file);
  double whole = seconds_to_read("a.h5", 1), slices = seconds_to_read("a.h5", 256);
  if (slices > 10 * whole + 0.1) fail_msg("%.3f s by slices, %.3f s as a whole", slices, whole);
}

static size_t chunk_place(const char *name) {
  haddr_t place;
  hsize_t size;
  hid_t file = H5Fopen(path_of(name), H5F_ACC_RDONLY, H5P_DEFAULT),
        data = H5Dopen2(file, "image", H5P_DEFAULT);
  assert_true(H5Dget_chunk_info_by_coord(data, (hsize_t[]){0, 0}, NULL, &place, &size) >= 0);
  H5Dclose(data);
  H5Fclose(file);
  return (size_t)place;
}

/* Damages the data only: libhdf5 itself reads beyond its buffers on damaged metadata. */
static void damaged_chunks_are_refused(void **state) {
  size_t bytes;
  (void)state;
  write_large("a.h5");
  unsigned char *data = support_read(folder.arena, path_of("a.h5"), &bytes);
  memset(data + chunk_place("a.h5"), 0xff, 32);
  support_write(path_of("a.h5"), data, bytes);
  struct store *store = open_store("a.h5");
  expect_read_refusal(store, "image", STORE_F32, "cannot read");
  store_close(store);
}

/* Makes dataset NAME of one value, never written, in an open file. */
static void put_type(hid_t file, const char *name, hid_t type) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(dataset >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const bool sanitized = true; /* then the child has no limit of memory */
#else
static const bool sanitized = false;
#endif

/* The size of a chunk stands in the tree that finds it, before its place: "TREE", 20 bytes, then 4 of a size.
 */
static void a_chunk_larger_than_the_file_is_refused(void **state) {
  const uint32_t size = 0x7ffffff0;
  struct error error;
  size_t bytes;
  (void)state;
  write_large("a.h5");
  unsigned char *data = support_read(folder.arena, path_of("a.h5"), &bytes), *tree = data;
  while ((tree = memmem(tree, bytes - (size_t)(tree - data), "TREE", 4)) && tree[4] != 1) tree += 4;
  assert_non_null(tree); /* node type 1: of chunks */
  memcpy(tree + 24, &size, sizeof size);
  support_write(path_of("a.h5"), data, bytes);
  struct store *store = open_store("a.h5");
  assert_false(store_check_held(store, "image", &error));
  assert_holds(error.text, "image in ");
  assert_holds(error.text, "it is damaged, fetch or write it again");
  store_close(store);
}

/* ---- a child looks first ------------------------------------------------------------------------------- */

/* A text of variable length lies in a heap: "GCOL", its size, then of each text two bytes of a number, six
 * others and eight bytes of a size, which libhdf5 1.10 takes as they are. */
static void write_damaged(const char *name, uint16_t number, uint64_t size) {
  struct error error;
  size_t bytes, at = 0;
  struct store *store = create(name);
  write_all(store, "x", STORE_U8, 1, (size_t[]){6}, "abcdef", false);
  assert_good(store_put_text(store, "text", "some text", &error), &error);
  commit(store);
  unsigned char *data = support_read(folder.arena, path_of(name), &bytes);
  while (at < bytes - 32 && memcmp(data + at, "GCOL", 4) != 0) at++;
  assert_true(at < bytes - 32);
  memcpy(data + at + 16, &number, sizeof number);
  memcpy(data + at + 24, &size, sizeof size);
  support_write(path_of(name), data, bytes);
}

/* Another libhdf5 may see the damage itself: then the text is missing. */
static void expect_contained(const char *name) {
  struct store *store;
  struct error error;
  char text[64];
  double began = clock_seconds();
  if (store_open(&store, path_of(name), &error)) {
    assert_false(store_text(store, "text", text, sizeof text));
    store_close(store);
  } else {
    assert_holds(error.text, name);
    assert_holds(error.text, "it is damaged, libhdf5 ");
    double again = clock_seconds();
    assert_false(store_open(&store, path_of(name), &error)); /* what was found is kept */
    assert_true(clock_seconds() - again < 0.5);
  }
  assert_true(clock_seconds() - began < 300); /* an endless one: 20 s on an idle machine */
}

static void a_damaged_file_ends_a_child_only(void **state) {
  struct store *store;
  struct error error;
  char text[4];
  (void)state;
  if (!getenv("L2SR_PROGRAM")) skip();
  probe_with(getenv("L2SR_PROGRAM"));
  write_damaged("crash.h5", 1, 1 << 28);
  write_damaged("memory.h5", 1, UINT64_C(1) << 40);
  write_damaged("endless.h5", 0, 0);
  write_damaged("good.h5", 1, sizeof "some text");
  expect_contained("crash.h5");
  expect_contained("memory.h5");
  expect_contained("endless.h5");
  for (int i = 0; i < 2; i++) { /* also after it has changed */
    assert_good(store_open(&store, path_of("good.h5"), &error), &error);
    assert_true(store_text(store, "text", text, sizeof text));
    assert_string_equal(text, "som");
    assert_false(store_text(store, "none", text, sizeof text));
    store_close(store);
    write_damaged("crash.h5", 1, sizeof "some text");
    write_damaged("good.h5", 1, sizeof "some text");
  }
  assert_good(store_open(&store, path_of("crash.h5"), &error), &error);
  store_close(store);
  probe_with(NULL);
}

/* Changes some bytes of a file, and expects it to be refused: by a child of this program, and in little
 * memory. */
static void expect_damage(const char *name, const unsigned char *good, size_t bytes, size_t at,
                          const void *damage, size_t length, const char *words) {
  struct rusage before, after;
  unsigned char *data = arena_new(folder.arena, bytes);
  memcpy(data, good, bytes);
  memcpy(data + at, damage, length);
  support_write(path_of(name), data, bytes);
  getrusage(RUSAGE_SELF, &before);
  expect_open_refusal(path_of(name), words);
  getrusage(RUSAGE_SELF, &after);
  assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10);
}

/* Where the bytes stand that the file holds once. */
static size_t place_of(const unsigned char *data, size_t bytes, const void *part, size_t length) {
  const unsigned char *place = memmem(data, bytes, part, length);
  assert_non_null(place);
  return (size_t)(place - data);
}

/* libhdf5 1.10.8 meets the error and then uses a table that it has not filled: whether that ends the program
 * hangs on what lay in memory before. */
static void a_damaged_name_of_an_attribute_is_refused(void **state) {
  static const unsigned char lengths[][2] = {{0, 0}, {18, 0}, {254, 255}};
  struct error error;
  size_t bytes;
  (void)state;
  if (!getenv("L2SR_PROGRAM")) skip();
  struct store *store = create("good.h5");
  for (int i = 0; i < 7; i++)
    assert_good(store_put_number(store, arena_text(folder.arena, "constant%d", i), i, &error), &error);
  commit(store);
  const unsigned char *data = support_read(folder.arena, path_of("good.h5"), &bytes);
  size_t name = place_of(data, bytes, "constant4", 9); /* after its message's version and three lengths */
  probe_with(getenv("L2SR_PROGRAM"));
  for (size_t i = 0; i < 3; i++)
    expect_damage(arena_text(folder.arena, "name%zu.h5", i), data, bytes, name - 6, lengths[i], 2,
                  "it is damaged, libhdf5 c");
  expect_damage("type.h5", data, bytes, name - 4, lengths[2], 2, "it is damaged, libhdf5 c");
  probe_with(NULL);
}

/* A text of variable length says itself how long it is. */
static void a_text_is_not_read_beyond_a_limit(void **state) {
  static const uint32_t lengths[] = {0xc0000000, 0x51bd88e1, 0x7fffffff, 0xffffffff, 0x30000000};
  static const unsigned char first[] = {10, 0, 0, 0};
  struct error error;
  size_t bytes;
  (void)state;
  if (!getenv("L2SR_PROGRAM") || sanitized) skip();
  struct store *store = create("good.h5");
  assert_good(store_put_text(store, "acquisition", "ten letter", &error), &error);
  commit(store);
  const unsigned char *data = support_read(folder.arena, path_of("good.h5"), &bytes);
  size_t name = place_of(data, bytes, "acquisition", 11);
  size_t length = name + place_of(data + name, bytes - name, first, sizeof first);
  probe_with(getenv("L2SR_PROGRAM"));
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    expect_damage(arena_text(folder.arena, "text%zu.h5", i), data, bytes, length, &lengths[i], 4,
                  "it is damaged, libhdf5 takes more memory for it than any file needs");
  probe_with(NULL);
}

/* No value whose size the file names is read as a word or a number: texts and sequences in arrays and
 * compounds, and references. */
static void words_lie_in_one_piece(void **state) {
  hid_t text = H5Tcopy(H5T_C_S1), pair = H5Tcreate(H5T_COMPOUND, 24);
  H5Tset_size(text, H5T_VARIABLE);
  hid_t sequence = H5Tvlen_create(H5T_STD_I32LE);
  H5Tinsert(pair, "a", 0, sequence);
  H5Tinsert(pair, "b", 16, text);
  const hid_t types[] = {H5Tarray_create2(text, 1, (hsize_t[]){1}), sequence, pair, H5T_STD_REF_OBJ,
                         H5Tarray_create2(sequence, 1, (hsize_t[]){1})};
  char word[64], name[8];
  double number;
  (void)state;
  hid_t file = H5Fcreate(path_of("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    snprintf(name, sizeof name, "%zu", i);
    put_type(file, name, types[i]);
  }
  H5Fclose(file);
  struct store *store = open_store("a.h5");
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    snprintf(name, sizeof name, "%zu", i);
    assert_false(store_word(store, name, word, sizeof word));
    assert_false(store_number(store, name, &number));
  }
  store_close(store);
}

/* The child stays in the folder that it was started in. */
static void a_child_finds_files_after_the_program_has_moved(void **state) {
  struct store *store;
  struct error error;
  char text[64], before[4096];
  (void)state;
  if (!getenv("L2SR_PROGRAM")) skip();
  assert_non_null(getcwd(before, sizeof before));
  probe_with(getenv("L2SR_PROGRAM"));
  write_damaged("good.h5", 1, sizeof "some text");
  write_damaged("moved.h5", 1, sizeof "some text");
  assert_good(store_open(&store, path_of("good.h5"), &error), &error);
  store_close(store);
  assert_int_equal(chdir(path_of(".")), 0);
  bool good = store_open(&store, "moved.h5", &error);
  assert_int_equal(chdir(before), 0);
  assert_good(good, &error);
  assert_true(store_text(store, "text", text, sizeof text));
  store_close(store);
  probe_with(NULL);
}

/* Files are opened as they are where there is no child, or it ends for other reasons. */
static void no_child_is_no_fault(void **state) {
  static const char *const programs[] = {"/nonexistent/l2sr", "/bin/false"};
  struct store *store;
  struct error error;
  char text[64];
  (void)state;
  write_damaged("good.h5", 1, sizeof "some text");
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    probe_with(programs[i]);
    assert_good(store_open(&store, path_of("good.h5"), &error), &error);
    assert_true(store_text(store, "text", text, sizeof text));
    assert_string_equal(text, "some text");
    store_close(store);
  }
  probe_with(NULL);
}

static void hear(enum log_level level, const char *text, void *context) {
  (void)level;
  strncat(context, text, 1023 - strlen(context));
  strncat(context, "\n", 1023 - strlen(context));
}

/* Once, however many files are opened. */
static void what_is_not_looked_at_is_said(void **state) {
  static const struct {
    const char *program, *words;
  } cases[] = {{NULL, "no program was named for it (l2sr_look_with)"},
               {"/nonexistent/l2sr", "/nonexistent/l2sr cannot be started, No such file or directory"},
               {"/bin/false", "the program that was started for it is another, or too old"}};
  (void)state;
  write_damaged("good.h5", 1, sizeof "some text");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024] = "";
    log_with(hear, NULL, text);
    probe_with(cases[i].program);
    store_close(open_store("good.h5"));
    store_close(open_store("good.h5"));
    log_with(NULL, NULL, NULL);
    assert_holds(text, "no child process looks at HDF5 files first: ");
    assert_holds(text, cases[i].words);
    assert_string_equal(strstr(text, "; a damaged"), "; a damaged file may end this program\n");
  }
  probe_with(NULL);
}

/* A child that says a word first, and does something on the first question. */
static void write_child(const char *name, uint32_t ready, const char *then) {
  const unsigned char *bytes = (const unsigned char *)&ready;
  FILE *file = fopen(path_of(name), "w");
  assert_non_null(file);
  fprintf(file, "#!/bin/sh\nprintf '\\%03o\\%03o\\%03o\\%03o' >&0\nhead -c 1 >/dev/null\n%s\n", bytes[0],
          bytes[1], bytes[2], bytes[3], then);
  fclose(file);
  assert_int_equal(chmod(path_of(name), 0700), 0);
}

/* Texts come with the verdict: a child that answers one question is not asked another. */
static void texts_come_with_the_verdict(void **state) {
  static const char then[] = "head -c 12 >/dev/null; printf '\\0\\0\\0\\0\\12\\0\\0\\0text\\0told\\0' >&0; exec sleep 30";
  struct error error;
  struct store *store;
  char text[16] = "";
  (void)state;
  write_damaged("good.h5", 1, sizeof "some text");
  char *child = arena_text(folder.arena, "%s", path_of("child.sh"));
  write_child("child.sh", PROBE_READY, then);
  probe_with(child);
  assert_good(store_open(&store, path_of("good.h5"), &error), &error);
  assert_true(store_text(store, "text", text, sizeof text));
  assert_string_equal(text, "told");
  store_close(store);
  probe_with(NULL);
}

static void expect_of_child(uint32_t ready, const char *then, const char *words) {
  struct store *store;
  struct error error;
  char *child = arena_text(folder.arena, "%s", path_of("child.sh"));
  write_child("child.sh", ready, then);
  probe_with(child);
  bool good = store_open(&store, path_of("good.h5"), &error);
  probe_with(NULL);
  if (words) {
    assert_false(good);
    assert_holds(error.text, words);
  } else {
    assert_good(good, &error);
    store_close(store);
  }
  write_damaged("good.h5", 1, sizeof "some text"); /* the verdict is kept until the file changes */
}

/* How a child ends says what is wrong with the file, also where the system does not tell it. */
static void what_a_child_does_is_told(void **state) {
  static const char memory[] = "printf '\\2\\0\\0\\0\\0\\0\\0\\0' >&0";
  /* good where a BLAS starts no threads, which would take the memory that the child allows itself */
  static const char threads[] =
      "[ \"$(env | grep -c -E '^(OPENBLAS|BLIS|MKL|OMP)_NUM_THREADS=1$')$OPENBLAS_NUM_THREADS\" = 41 ] || kill -SEGV $$\n"
      "head -c 12 >/dev/null; printf '\\0\\0\\0\\0\\0\\0\\0\\0' >&0; exec sleep 30";
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
  (void)state;
  write_damaged("good.h5", 1, sizeof "some text");
  expect_of_child(PROBE_READY, "kill -SEGV $$", "good.h5: it is damaged, libhdf5 crashes on it; fetch or");
  expect_of_child(PROBE_READY, "kill -XCPU $$", "good.h5: it is damaged, libhdf5 comes to no end with it");
  expect_of_child(PROBE_READY, memory, "libhdf5 takes more memory for it than any file needs; fetch or");
  expect_of_child(PROBE_READY, "exit 1", "it is damaged, libhdf5 ends a program that reads it; fetch or");
  expect_of_child(PROBE_READY, "kill -KILL $$", "libhdf5 ends a program that reads it");
  expect_of_child(0, "kill -SEGV $$", NULL);
  setenv("OPENBLAS_NUM_THREADS", "16", 1);
  expect_of_child(PROBE_READY, threads, NULL);
  unsetenv("OPENBLAS_NUM_THREADS");
  expect_of_child(PROBE_READY, threads, NULL);
  double began = clock_seconds();
  expect_of_child(0, "exec sleep 10", NULL); /* another program altogether: it is not waited for */
  assert_true(clock_seconds() - began < 10);
  sigaction(SIGCHLD, &ignore, &before);
  expect_of_child(PROBE_READY, "kill -SEGV $$", "libhdf5 ends a program that reads it");
  sigaction(SIGCHLD, &before, NULL);
}

/* Else a pipe of this program would stay open as long as its child. */
static void a_child_holds_no_files(void **state) {
  enum { HIGH = 1500 };
  struct store *store;
  struct error error;
  struct rlimit limit;
  int ends[2];
  (void)state;
  if (!getenv("L2SR_PROGRAM")) skip();
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur <= HIGH) limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
  if (limit.rlim_cur <= HIGH) skip();
  setrlimit(RLIMIT_NOFILE, &limit);
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(dup2(ends[1], HIGH), HIGH);
  write_damaged("good.h5", 1, sizeof "some text");
  probe_with(getenv("L2SR_PROGRAM"));
  assert_good(store_open(&store, path_of("good.h5"), &error), &error);
  store_close(store);
  close(ends[1]);
  close(HIGH);
  assert_int_equal(poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 10000), 1);
  close(ends[0]);
  probe_with(NULL);
}

/* ---- whole files or none ------------------------------------------------------------------------------- */

static hid_t compound(hid_t first, hid_t second) {
  hid_t type = H5Tcreate(H5T_COMPOUND, H5Tget_size(first) + H5Tget_size(second));
  H5Tinsert(type, "r", 0, first);
  H5Tinsert(type, "i", H5Tget_size(first), second);
  return type;
}

static void types_are_told_as_they_are(void **state) {
  const hsize_t size[] = {2, 3};
  hid_t fixed = H5Tcopy(H5T_C_S1), word = H5Tenum_create(H5T_STD_I8LE);
  H5Tset_size(fixed, 9);
  H5Tenum_insert(word, "FALSE", "\0");
  H5Tenum_insert(word, "TRUE", "\1");
  const struct {
    hid_t type;
    const char *words;
    bool complex, real;
  } cases[] = {{H5T_STD_I16BE, "int16", false, true},
               {H5T_STD_U8LE, "uint8", false, true},
               {H5T_IEEE_F64BE, "float64", false, true},
               {fixed, "text", false, false},
               {word, "enum (FALSE, TRUE)", false, false},
               {H5T_STD_REF_OBJ, "reference", false, false},
               {H5Tcreate(H5T_OPAQUE, 3), "opaque 3", false, false},
               {H5Tarray_create2(H5T_IEEE_F32LE, 2, size), "array 2x3 of float32", false, false},
               {H5Tvlen_create(H5T_STD_I32LE), "variable-length int32", false, false},
               {compound(H5T_IEEE_F32LE, H5T_IEEE_F32LE), "complex float32", true, false},
               {compound(H5T_STD_I16LE, H5T_STD_I16LE), "complex int16", true, false},
               {compound(fixed, H5T_STD_I16LE), "compound (r, i)", false, false}};
  enum { COUNT = sizeof cases / sizeof *cases };
  struct store *store;
  struct error error;
  char text[64], name[8];
  (void)state;
  hid_t file = H5Fcreate(path_of("types.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  for (size_t i = 0; i < COUNT; i++) {
    snprintf(name, sizeof name, "%zu", i);
    put_type(file, name, cases[i].type);
  }
  H5Fclose(file);
  assert_good(store_open(&store, path_of("types.h5"), &error), &error);
  for (size_t i = 0; i < COUNT; i++) {
    struct store_shape shape;
    snprintf(name, sizeof name, "%zu", i);
    store_type_words(store, name, text, sizeof text);
    assert_string_equal(text, cases[i].words);
    store_type_words(store, name, text, 4); /* cut, not beyond */
    assert_int_equal(strlen(text), 3);
    assert_good(store_shape(store, name, &shape, &error), &error);
    assert_int_equal(shape.complex, cases[i].complex);
    assert_int_equal(shape.real, cases[i].real);
  }
  store_close(store);
  H5Tclose(fixed);
  H5Tclose(word);
  for (size_t i = 6; i < COUNT; i++) H5Tclose(cases[i].type);
}

static void an_uncommitted_file_leaves_nothing(void **state) {
  struct store *store = create("a.h5");
  (void)state;
  write_types(store, false);
  assert_false(exists("a.h5"));
  assert_true(has_parts("a.h5", 1));
  store_close(store);
  assert_int_equal(support_count(folder.path), 0);
  store_close(NULL);
}

static void a_commit_replaces_the_old_file(void **state) {
  (void)state;
  write_large("a.h5");
  struct store *store = create("a.h5");
  write_types(store, false);
  struct store *old = open_store("a.h5"); /* a reader of the old file goes on reading it */
  commit(store);
  assert_true(store_has(old, "image"));
  store_close(old);
  store = open_store("a.h5");
  expect_types(store);
  assert_false(store_has(store, "image"));
  store_close(store);
  assert_int_equal(support_count(folder.path), 1);
}

static void an_abandoned_file_is_removed(void **state) {
  struct text_file text;
  struct error error;
  struct store *one = create("a.h5"), *two = create("b.h5");
  (void)state;
  assert_good(file_create(&text, path_of("c.csv"), &error), &error);
  store_abandon_all();
  assert_int_equal(support_count(folder.path), 0);
  store_close(one);
  store_close(two);
  file_abandon(&text);
  write_large("kept.h5");
  store_abandon_all(); /* a finished file is no longer to be removed */
  assert_true(exists("kept.h5"));
}

static void places_that_cannot_be_written_are_refused(void **state) {
  struct store *store;
  struct error error;
  (void)state;
  assert_false(store_create(&store, "/nonexistent/x.h5", &error));
  assert_null(store);
  assert_holds(error.text, "cannot write /nonexistent/x.h5: No such file or directory");
  assert_int_equal(mkdir(path_of("folder"), 0777), 0);
  assert_false(store_create(&store, path_of("folder"), &error));
  assert_holds(error.text, "/folder: it is a folder; name a file");
  assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
  assert_int_equal(symlink("pipe", path_of("link")), 0);
  assert_false(store_create(&store, path_of("link"), &error));
  assert_holds(error.text, "/pipe: it is a pipe or a device, into which this kind of file");
  assert_false(store_create(&store, "/dev/null", &error));
  assert_holds(error.text, "cannot write /dev/null: it is a pipe or a device");
  assert_int_equal(support_count(folder.path), 3);
}

static void links_are_followed(void **state) {
  struct text_file text;
  struct error error;
  size_t bytes;
  (void)state;
  assert_int_equal(mkdir(path_of("far"), 0777), 0);
  assert_int_equal(symlink("far/other", path_of("link")), 0);
  assert_int_equal(symlink(path_of("far/made.h5"), path_of("far/other")), 0); /* which is not there yet */
  struct store *store = create("link");
  write_types(store, false);
  assert_good(store_commit(store, &error), &error);
  store = open_store("far/made.h5");
  expect_types(store);
  store_close(store);
  for (int i = 0; i < 2; i++) {
    assert_good(file_create(&text, path_of("link"), &error), &error);
    fprintf(text.file, "%d", i);
    assert_good(file_commit(&text, &error), &error);
    assert_string_equal(support_read(folder.arena, path_of("far/made.h5"), &bytes), i ? "1" : "0");
  }
  struct stat status;
  assert_true(lstat(path_of("link"), &status) == 0 && S_ISLNK(status.st_mode));
  assert_int_equal(support_count(path_of("far")), 2);
  assert_int_equal(symlink("loop", path_of("loop")), 0);
  assert_false(file_create(&text, path_of("loop"), &error));
  assert_holds(error.text, "it is a link that leads to itself; remove it, or name another place");
  assert_int_equal(symlink("nowhere/x", path_of("lost")), 0);
  assert_false(file_try(path_of("lost"), &error));
  assert_holds(error.text, "/nowhere/x: No such file or directory");
  assert_holds(error.text, "/lost, a link to /");
}

/* What stands there stays: nothing takes its place. */
static void pipes_and_devices_are_written_into(void **state) {
  struct text_file text;
  struct stat status;
  struct error error;
  char read_back[8] = "";
  (void)state;
  assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
  assert_false(file_create(&text, path_of("pipe"), &error));
  assert_holds(error.text, "/pipe: nobody reads what is written into it; start its reader first");
  int reader = open(path_of("pipe"), O_RDONLY | O_NONBLOCK);
  assert_good(file_try(path_of("pipe"), &error), &error);
  assert_good(file_create(&text, path_of("pipe"), &error), &error);
  fputs("text", text.file);
  assert_good(file_commit(&text, &error), &error);
  assert_int_equal(read(reader, read_back, sizeof read_back), 4);
  assert_string_equal(read_back, "text");
  assert_good(file_create(&text, arena_text(folder.arena, "/dev/fd/%d", open(path_of("file"), O_WRONLY | O_CREAT | O_APPEND, 0600)), &error), &error);
  fputs("x", text.file);
  file_abandon(&text);
  assert_true(stat(path_of("file"), &status) == 0 && status.st_size == 1);
  assert_false(file_create(&text, arena_text(folder.arena, "/dev/fd/%d", reader), &error));
  assert_holds(error.text, strerror(EBADF));
  close(reader);
  close(support_open_full());
  assert_good(file_create(&text, "/dev/full", &error), &error);
  fputs("lost", text.file);
  assert_false(file_commit(&text, &error));
  assert_holds(error.text, "cannot finish /dev/full: No space left on device");
  assert_true(stat("/dev/full", &status) == 0 && S_ISCHR(status.st_mode));
  assert_true(stat(path_of("pipe"), &status) == 0 && S_ISFIFO(status.st_mode));
  assert_int_equal(support_count(folder.path), 2);
}

static void refused_places_hold_no_slot(void **state) {
  struct store *store;
  struct text_file text;
  struct error error;
  (void)state;
  for (int i = 0; i < 40; i++) {
    assert_false(store_create(&store, "/nonexistent/x.h5", &error));
    assert_false(file_create(&text, "/nonexistent/x.csv", &error));
  }
  store = create("a.h5");
  store_abandon_all(); /* finds it only if there was a slot left to note it */
  assert_true(has_parts("a.h5", 0));
  store_close(store);
}

/* ---- text files and folders ---------------------------------------------------------------------------- */

static void text_files_are_whole_or_none(void **state) {
  struct text_file text;
  struct error error;
  size_t bytes;
  (void)state;
  assert_good(file_create(&text, path_of("a.csv"), &error), &error);
  fputs("slice,ssim\n", text.file);
  assert_false(exists("a.csv"));
  assert_good(file_commit(&text, &error), &error);
  assert_string_equal(support_read(folder.arena, path_of("a.csv"), &bytes), "slice,ssim\n");
  assert_good(file_create(&text, path_of("a.csv"), &error), &error);
  fputs("half", text.file);
  file_abandon(&text);
  assert_string_equal(support_read(folder.arena, path_of("a.csv"), &bytes), "slice,ssim\n");
  assert_int_equal(support_count(folder.path), 1);
}

static void text_files_are_refused_with_the_reason(void **state) {
  struct text_file text;
  struct error error;
  (void)state;
  assert_false(file_create(&text, "/nonexistent/x.csv", &error));
  assert_holds(error.text, "cannot write /nonexistent/x.csv: No such file or directory");
  assert_int_equal(mkdir(path_of("folder"), 0777), 0);
  assert_false(file_create(&text, path_of("folder"), &error));
  assert_holds(error.text, "/folder: it is a folder; name a file");
  assert_int_equal(support_count(folder.path), 1);
}

static void a_full_disk_is_reported(void **state) {
  struct text_file text;
  struct error error;
  int full = support_open_full();
  (void)state;
  assert_good(file_create(&text, path_of("a.csv"), &error), &error);
  assert_true(dup2(full, fileno(text.file)) >= 0);
  close(full);
  fputs("lost", text.file);
  assert_false(file_commit(&text, &error));
  assert_holds(error.text, "No space left on device");
  assert_int_equal(support_count(folder.path), 0);
}

/* libhdf5 would wait for whoever writes into the pipe. */
static void a_link_to_a_pipe_is_not_followed(void **state) {
  const char *path = support_path(&folder, "linked.h5"), *pipe_path = support_path(&folder, "pipe");
  struct store_shape shape;
  struct store *store;
  struct error error;
  (void)state;
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Lcreate_external("pipe", "/x", file, "beside", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  assert_true(H5Lcreate_external(pipe_path, "/x", file, "whole", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Fclose(file);
  assert_good(store_open(&store, path, &error), &error);
  assert_false(store_has(store, "beside"));
  assert_false(store_shape(store, "whole", &shape, &error));
  assert_holds(error.text, "/pipe, which is not a file");
  assert_false(store_shape(store, "beside/in", &shape, &error));
  assert_holds(error.text, "/pipe, which is not a file");
  store_close(store);
}

/* The store measures where the data lie what the file can hold. */
static void a_link_to_another_file_is_read(void **state) {
  enum { COUNT = 1 << 16 };
  static float values[COUNT], found[COUNT];
  const char *path = support_path(&folder, "linking.h5"), *far = support_path(&folder, "far.h5");
  struct store *store;
  struct error error;
  (void)state;
  for (int i = 0; i < COUNT; i++) values[i] = (float)i;
  assert_good(store_create(&store, far, &error), &error);
  assert_good(store_write(store, "x", STORE_F32, 1, (size_t[]){COUNT}, values, false, &error), &error);
  assert_good(store_commit(store, &error), &error);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Lcreate_external("far.h5", "/x", file, "there", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Fclose(file);
  assert_good(store_open(&store, path, &error), &error);
  assert_good(store_check_held(store, "there", &error), &error);
  assert_good(store_read_known(store, "there", STORE_F32, COUNT, found, &error), &error);
  assert_memory_equal(found, values, sizeof values);
  store_close(store);
}

/* The refusal is in our words: libhdf5's are of its source. */
static void what_holds_no_numbers_is_refused(void **state) {
  const char *path = support_path(&folder, "kinds.h5");
  const hsize_t four = 4;
  struct store *store;
  struct error error;
  double numbers[4];
  (void)state;
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t types[] = {H5Tcopy(H5T_C_S1), H5Tcreate(H5T_COMPOUND, 12)}, space = H5Screate_simple(1, &four, NULL);
  H5Tset_size(types[0], 3);
  for (unsigned i = 0; i < 3; i++)
    H5Tinsert(types[1], (const char *[]){"a", "b", "c"}[i], 4 * i, H5T_STD_U32LE);
  for (int i = 0; i < 2; i++) {
    hid_t dataset =
        H5Dcreate2(file, i ? "compound" : "text", types[i], space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, types[i], H5S_ALL, H5S_ALL, H5P_DEFAULT, (char[48]){0});
    H5Dclose(dataset);
    H5Tclose(types[i]);
  }
  H5Sclose(space);
  H5Fclose(file);
  assert_good(store_open(&store, path, &error), &error);
  assert_false(store_read_known(store, "text", STORE_F64, 4, numbers, &error));
  assert_holds(error.text, "text in ");
  assert_holds(error.text, "kinds.h5 holds no numbers but text; write it as numbers");
  assert_false(store_read_known(store, "compound", STORE_F64, 4, numbers, &error));
  assert_holds(error.text, "holds no numbers but compound (a, b, c); write it as numbers");
  store_close(store);
}

/* ---- parts that are left ------------------------------------------------------------------------------- */

static void make_parts(void) {
  struct text_file text;
  struct error error;
  struct store *store;
  if (!store_create(&store, path_of("b.h5"), &error) || !file_create(&text, path_of("b.png"), &error))
    _exit(1);
}

static pid_t start_writer(void) {
  int ready[2], byte = 0;
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    make_parts();
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return child;
}

/* Removes parts of every kind of file, but no parts that somebody writes, nor other files of such names. */
static void parts_that_were_left_are_cleared(void **state) {
  static const char *const kept[] = {"a.part",
                                     "1234.part",
                                     "x.12a.part",
                                     "x.0123456789abcdef.parts",
                                     "x.0123456789abcde.part",
                                     "setup-1.2.part",
                                     "film.01.part",
                                     "film.h5.01.part",
                                     "png.99999.part",
                                     ".0123456789abcdef.part"};
  struct error error;
  (void)state;
  pid_t child = start_writer();
  assert_good(folder_make(folder.path, &error), &error);
  assert_true(has_parts("b.h5", 1) && has_parts("b.png", 1));
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
  support_write_text(path_of("curves.png.99999.part"), "earlier versions wrote the process");
  support_write_text(path_of("results.h5.1.part"), "x");
  support_write_text(path_of("precious"), "x");
  const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}}; /* a link of today may be anybody's */
  assert_int_equal(symlink("precious", path_of("x.0123456789abcdef.part")), 0);
  assert_int_equal(utimensat(AT_FDCWD, path_of("x.0123456789abcdef.part"), old, AT_SYMLINK_NOFOLLOW), 0);
  assert_int_equal(symlink("precious", path_of("y.0123456789abcdef.part")), 0);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) support_write_text(path_of(kept[i]), "x");
  assert_good(folder_make(folder.path, &error), &error);
  assert_true(exists("precious"));
  assert_int_equal(unlink(path_of("y.0123456789abcdef.part")), 0);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) assert_true(exists(kept[i]));
  assert_int_equal(support_count(folder.path), 1 + sizeof kept / sizeof *kept);
}

static int make_taken(const char *path, void *context) {
  int *times = context;
  if (++*times > 3) return open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
  errno = EEXIST;
  return -1;
}

/* The store never opens what stands there, a link too: it tries another name. */
static void a_part_is_made_anew(void **state) {
  struct part_file part;
  int times = 0;
  (void)state;
  int descriptor = part_make(&part, path_of("a"), make_taken, &times);
  assert_true(descriptor >= 0);
  assert_int_equal(times, 4);
  assert_true(has_parts("a", 1));
  assert_true(fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
  close(descriptor);
  part_drop(&part);
  assert_true(has_parts("a", 0));
}

static int make_removed(const char *path, void *context) {
  int *made = context;
  if (*made >= 0) close(*made);
  bool first = *made < 0;
  *made = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (first) unlink(path);
  return *made;
}

/* Another program takes the part for one that was left before it is locked: what is written would go
 * nowhere. */
static void a_removed_part_is_made_again(void **state) {
  struct part_file part;
  int made = -1;
  (void)state;
  int descriptor = part_make(&part, path_of("a"), make_removed, &made);
  assert_true(descriptor >= 0 && has_parts("a", 1));
  close(made);
  part_drop(&part);
}

/* The reason is that of the file, not of a call between. */
static void an_error_of_before_is_reported(void **state) {
  struct text_file text;
  struct error error;
  int full = support_open_full();
  (void)state;
  assert_good(file_create(&text, path_of("a.csv"), &error), &error);
  int kept = dup(fileno(text.file));
  assert_true(kept >= 0 && dup2(full, fileno(text.file)) >= 0);
  fputs("lost", text.file);
  assert_int_not_equal(fflush(text.file), 0);
  assert_true(dup2(kept, fileno(text.file)) >= 0); /* there is room again */
  close(kept);
  close(full);
  assert_false(file_is_there("/nonexistent"));
  assert_int_equal(errno, ENOENT);
  assert_false(file_commit(&text, &error));
  assert_holds(error.text, strerror(EIO));
  assert_int_equal(support_count(folder.path), 0);
}

static void logs_are_no_links(void **state) {
  struct error error;
  FILE *file;
  (void)state;
  support_write_text(path_of("precious"), "x");
  assert_int_equal(symlink("precious", path_of("log.jsonl")), 0);
  assert_false(file_append(&file, path_of("log.jsonl"), &error));
  assert_holds(error.text, "log.jsonl: it is a link to another file; remove it, or name another place");
  assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
  assert_false(file_append(&file, path_of("pipe"), &error));
  assert_holds(error.text, "it is no file");
  assert_good(file_append(&file, path_of("precious"), &error), &error);
  fputs("y", file);
  fclose(file);
  size_t bytes;
  assert_string_equal(support_read(folder.arena, path_of("precious"), &bytes), "xy");
}

static void folders_are_made(void **state) {
  struct error error;
  (void)state;
  assert_good(folder_make(path_of("a/b/c"), &error), &error);
  assert_good(folder_make(path_of("a/b/c"), &error), &error);
  assert_good(folder_make(path_of("a/d/"), &error), &error);
  assert_true(exists("a/b/c") && exists("a/d"));
  support_write_text(path_of("file"), "x");
  assert_false(folder_make(path_of("file"), &error));
  assert_holds(error.text, "file is not a folder; name another place for the output");
  assert_false(folder_make(path_of("file/below"), &error));
  assert_holds(error.text, "cannot make folder");
  assert_holds(error.text, "Not a directory");
  assert_false(folder_make("", &error));
  assert_holds(error.text, "cannot make folder");
}

/* ---- checksums ----------------------------------------------------------------------------------------- */

enum { SUMMED = 37 };

struct summed {
  float parameter[SUMMED], moment[SUMMED];
  double history[3];
  uint8_t mask[5];
  double epoch, rate;
  char scene[64], kind[16];
};

static struct summed summed_good(void) {
  struct summed summed = {.history = {1, 0.5, 0.25}, .mask = {1, 0, 1, 1, 0}, .epoch = 3, .rate = 1e-3};
  for (int i = 0; i < SUMMED; i++) summed.parameter[i] = (float)(i - 7) / 3, summed.moment[i] = (float)i / 64;
  strcpy(summed.scene, "data: {size: 32}\n");
  strcpy(summed.kind, "adam");
  return summed;
}

/* As trainings write their checkpoints. */
static void write_summed(const char *name, bool keep) {
  const struct summed good = summed_good();
  struct store *store = create(name);
  struct error error;
  if (keep) store_keep_sums(store);
  write_all(store, "param/conv.weight", STORE_F32, 1, (size_t[]){SUMMED}, good.parameter, false);
  write_all(store, "optimiser/first/conv.weight", STORE_F32, 1, (size_t[]){SUMMED}, good.moment, false);
  write_all(store, "log/epoch/loss", STORE_F64, 1, (size_t[]){3}, good.history, false);
  write_all(store, "mask", STORE_U8, 1, (size_t[]){5}, good.mask, true);
  assert_good(store_put_number(store, "epoch", good.epoch, &error), &error);
  assert_good(store_put_number(store, "optimiser_rate", good.rate, &error), &error);
  assert_good(store_put_text(store, "scene", good.scene, &error), &error);
  assert_good(store_write_text(store, "kind", good.kind, &error), &error);
  commit(store);
}

/* False: refused, by an error that names the file. */
static bool read_summed(const char *path, struct summed *to, struct error *error) {
  struct store *store;
  memset(to, 0, sizeof *to);
  *error = (struct error){0};
  if (!store_open(&store, path, error)) return false;
  bool good = store_read_known(store, "param/conv.weight", STORE_F32, SUMMED, to->parameter, error) &&
              store_read_known(store, "optimiser/first/conv.weight", STORE_F32, SUMMED, to->moment, error) &&
              store_read_known(store, "log/epoch/loss", STORE_F64, 3, to->history, error) &&
              store_read_known(store, "mask", STORE_U8, 5, to->mask, error);
  good = good && (store_number(store, "epoch", &to->epoch) || fail_file(error, "%s has no epoch", path)) &&
         (store_number(store, "optimiser_rate", &to->rate) || fail_file(error, "%s has no rate", path)) &&
         (store_text(store, "scene", to->scene, sizeof to->scene) || fail_file(error, "%s has no scene", path)) &&
         (store_text(store, "kind", to->kind, sizeof to->kind) || fail_file(error, "%s has no kind", path));
  store_close(store);
  return good;
}

/* Whichever bit changes, it is refused or changes nothing that is read. */
static void no_changed_bit_is_taken(void **state) {
  const struct summed good = summed_good();
  struct summed found;
  struct error error;
  size_t bytes, refused = 0, sums = 0;
  (void)state;
  probe_with(getenv("L2SR_PROGRAM"));
  write_summed("a.h5", true);
  unsigned char *file = support_read(folder.arena, path_of("a.h5"), &bytes);
  assert_good(read_summed(path_of("a.h5"), &found, &error), &error);
  assert_memory_equal(&found, &good, sizeof good);
  for (size_t at = 0; at < bytes; at += 7) {
    if (!file[at] && at + 8 < bytes && at >= 8 && !memcmp(file + at - 8, (char[16]){0}, 16)) continue;
    file[at] ^= (unsigned char)(1 << at % 8);
    support_write(path_of("b.h5"), file, bytes);
    file[at] ^= (unsigned char)(1 << at % 8);
    if (read_summed(path_of("b.h5"), &found, &error)) {
      if (memcmp(&found, &good, sizeof good)) fail_msg("byte %zu: another content is read", at);
      continue;
    }
    refused++;
    sums += strstr(error.text, "checksum") != NULL;
    assert_holds(error.text, "b.h5");
  }
  probe_with(NULL);
  assert_true(refused > 100 && sums > 50);
}

static size_t find_part(const unsigned char *file, size_t bytes, const void *part, size_t length) {
  const unsigned char *place = memmem(file, bytes, part, length);
  assert_non_null(place);
  return (size_t)(place - file);
}

/* Each names the file and the dataset, what was found, what was expected, and what to do. */
static void a_changed_bit_is_refused_by_name(void **state) {
  const struct summed good = summed_good();
  struct summed found;
  struct error error;
  size_t bytes;
  (void)state;
  write_summed("a.h5", true);
  unsigned char *file = support_read(folder.arena, path_of("a.h5"), &bytes);
  const struct {
    const void *part;
    size_t length;
    const char *named;
  } known[] = {{good.parameter, sizeof good.parameter, "param/conv.weight in "},
               {good.moment, sizeof good.moment, "optimiser/first/conv.weight in "},
               {good.history, sizeof good.history, "log/epoch/loss in "},
               {&good.rate, sizeof good.rate, "the checksum of its attributes and of the names in it is "},
               {good.scene, strlen(good.scene), "the checksum of its attributes and of the names in it is "},
               {good.kind, strlen(good.kind), "the checksum of its attributes and of the names in it is "}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t at = find_part(file, bytes, known[i].part, known[i].length) + known[i].length / 2;
    file[at] ^= 1;
    support_write(path_of("b.h5"), file, bytes);
    file[at] ^= 1;
    assert_false(read_summed(path_of("b.h5"), &found, &error));
    assert_int_equal(error.code, ERROR_FILE);
    assert_holds(error.text, known[i].named);
    assert_holds(error.text, "b.h5");
    assert_holds(error.text, "and it was written with ");
    assert_holds(error.text, "take another file, or make it anew");
  }
}

/* Earlier versions wrote none, and other programs change what they like and delete them. */
static void files_without_checksums_are_read(void **state) {
  const struct summed good = summed_good();
  struct summed found;
  struct error error;
  struct stat with, without;
  (void)state;
  write_summed("a.h5", true);
  write_summed("b.h5", false);
  assert_good(read_summed(path_of("b.h5"), &found, &error), &error);
  assert_memory_equal(&found, &good, sizeof good);
  assert_int_equal(stat(path_of("a.h5"), &with) | stat(path_of("b.h5"), &without), 0);
  assert_true(with.st_size < without.st_size + 2048); /* a file of four datasets */
  support_forget_sums(path_of("a.h5"));
  hid_t changed = H5Fopen(path_of("a.h5"), H5F_ACC_RDWR, H5P_DEFAULT), mask = H5Dopen2(changed, "mask", H5P_DEFAULT);
  H5Dwrite(mask, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, (uint8_t[5]){0});
  H5Dclose(mask);
  H5Fclose(changed);
  assert_good(read_summed(path_of("a.h5"), &found, &error), &error);
  assert_int_equal(found.mask[0], 0);
}

/* Numbers may be read as others than were written. */
static void a_checksum_is_of_what_was_written(void **state) {
  double wide[SUMMED];
  uint32_t words[5];
  struct error error;
  (void)state;
  write_summed("a.h5", true);
  struct store *store = open_store("a.h5");
  assert_good(store_read_known(store, "param/conv.weight", STORE_F64, SUMMED, wide, &error), &error);
  assert_true((float)wide[3] == summed_good().parameter[3]);
  assert_good(store_read_known(store, "mask", STORE_U32, 5, words, &error), &error);
  assert_int_equal(words[3], 1);
  store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  const struct CMUnitTest tests[] = {
      TEST(all_types_come_back),
      TEST(shapes_are_told),
      TEST(hyperslabs_are_read),
      TEST(numbers_are_converted),
      TEST(halves_are_rounded_once),
      TEST(names_are_looked_up_group_by_group),
      TEST(a_link_to_a_pipe_is_not_followed),
      TEST(a_link_to_another_file_is_read),
      TEST(what_holds_no_numbers_is_refused),
      TEST(datasets_are_listed),
      TEST(attributes_and_texts_come_back),
      TEST(the_same_data_make_the_same_bytes),
      TEST(layouts_are_told),
      TEST(a_name_is_written_once),
      TEST(complex_numbers_of_all_kinds_are_read),
      TEST(data_of_another_kind_are_refused),
      TEST(odd_ranks_and_sizes_are_refused),
      TEST(what_a_file_cannot_hold_is_refused),
      TEST(endless_datasets_are_not_compared),
      TEST(a_table_of_chunks_is_bounded),
      TEST(exactly_so_many_are_read),
      TEST(masks_of_all_kinds_are_read),
      TEST(strings_of_all_kinds_are_read),
      TEST(formats_of_all_ages_are_read),
      TEST(a_filled_user_block_is_passed_over),
      TEST(a_compact_dataset_says_so),
      TEST(wrong_files_are_named),
      TEST(cut_files_are_refused),
      TEST(newer_files_say_so),
      TEST(a_chunk_is_decompressed_once),
      TEST(damaged_chunks_are_refused),
      TEST(a_chunk_larger_than_the_file_is_refused),
      TEST(a_damaged_file_ends_a_child_only),
      TEST(a_damaged_name_of_an_attribute_is_refused),
      TEST(a_text_is_not_read_beyond_a_limit),
      TEST(words_lie_in_one_piece),
      TEST(what_is_not_looked_at_is_said),
      TEST(a_child_finds_files_after_the_program_has_moved),
      TEST(no_child_is_no_fault),
      TEST(what_a_child_does_is_told),
      TEST(texts_come_with_the_verdict),
      TEST(a_child_holds_no_files),
      TEST(types_are_told_as_they_are),
      TEST(an_uncommitted_file_leaves_nothing),
      TEST(a_commit_replaces_the_old_file),
      TEST(an_abandoned_file_is_removed),
      TEST(places_that_cannot_be_written_are_refused),
      TEST(links_are_followed),
      TEST(pipes_and_devices_are_written_into),
      TEST(refused_places_hold_no_slot),
      TEST(text_files_are_whole_or_none),
      TEST(text_files_are_refused_with_the_reason),
      TEST(a_full_disk_is_reported),
      TEST(parts_that_were_left_are_cleared),
      TEST(a_part_is_made_anew),
      TEST(a_removed_part_is_made_again),
      TEST(an_error_of_before_is_reported),
      TEST(logs_are_no_links),
      TEST(folders_are_made),
      TEST(no_changed_bit_is_taken),
      TEST(a_changed_bit_is_refused_by_name),
      TEST(files_without_checksums_are_read),
      TEST(a_checksum_is_of_what_was_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
