/* Files that another program writes while they are read. */
#include "engine/files/store.h"
#include "tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
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

static void write_file(const char *name) {
  static const uint8_t values[] = {1, 2, 3};
  struct store *store;
  struct error error;
  assert_good(store_create(&store, path_of(name), &error), &error);
  assert_good(store_write(store, "x", STORE_U8, 1, (size_t[]){3}, values, false, &error), &error);
  assert_good(store_commit(store, &error), &error);
}

static struct store *open_store(const char *name) {
  struct store *store;
  struct error error;
  assert_good(store_open(&store, path_of(name), &error), &error);
  return store;
}

static void expect_refusal(const char *name, const char *part) {
  struct store *store;
  struct error error;
  assert_false(store_open(&store, path_of(name), &error));
  assert_null(store);
  assert_int_equal(error.code, ERROR_FILE);
  assert_int_equal(error.is_busy, strstr(part, "being written") != NULL);
  assert_holds(error.text, part);
  assert_holds(error.text, path_of(name));
}

/* ---- writers ------------------------------------------------------------------------------------------- */

/* Another process that has the file open to write, by HDF5. */
struct writer {
  pid_t pid;
  int end; /* it stays until this pipe is closed */
};

/* What h5py calls libver "earliest" and "latest"; only the latter marks files that are being written. */
static void write_on(const char *path, bool latest) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  hid_t file =
      latest ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDWR, access);
  if (file < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) _exit(1);
}

static struct writer start_writer(const char *name, bool latest) {
  int ready[2], end[2];
  char byte = 0;
  assert_int_equal(pipe(ready) | pipe(end), 0);
  struct writer writer = {fork(), end[1]};
  if (writer.pid == 0) {
    close(end[1]);
    write_on(path_of(name), latest);
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    _exit(read(end[0], &byte, 1) != 0); /* without closing the file */
  }
  close(ready[1]);
  close(end[0]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  return writer;
}

static void end_writer(struct writer writer) {
  int status;
  close(writer.end);
  assert_int_equal(waitpid(writer.pid, &status, 0), writer.pid);
  assert_int_equal(status, 0);
}

static void a_file_under_a_lock_is_refused(void **state) {
  (void)state;
  write_file("a.h5");
  struct writer writer = start_writer("a.h5", false);
  expect_refusal("a.h5", "is being written: another program holds its lock");
  end_writer(writer);
  store_close(open_store("a.h5"));
}

/* What has just been begun has no bytes or no signature: it is not broken. */
static void an_empty_file_under_a_lock_is_refused_for_it(void **state) {
  (void)state;
  for (int begun = 0; begun < 2; begun++) {
    support_write(path_of("a.h5"), "abcd", begun ? 4 : 0);
    int file = open(path_of("a.h5"), O_RDWR);
    assert_int_equal(flock(file, LOCK_EX), 0);
    expect_refusal("a.h5", "is being written: another program holds its lock");
    close(file);
    expect_refusal("a.h5", begun ? "has no HDF5 signature" : "is empty");
  }
}

static void readers_share(void **state) {
  (void)state;
  write_file("a.h5");
  int file = open(path_of("a.h5"), O_RDWR);
  assert_int_equal(flock(file, LOCK_SH), 0); /* h5py's, of a file that is open to read */
  struct store *first = open_store("a.h5"), *second = open_store("a.h5");
  store_close(first);
  assert_int_equal(flock(file, LOCK_EX | LOCK_NB), -1); /* nobody writes what is being read */
  assert_int_equal(errno, EWOULDBLOCK);
  store_close(second);
  assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
  close(file);
}

static void locks_may_be_turned_off(void **state) {
  static const char variable[] = "HDF5_USE_FILE_LOCKING";
  (void)state;
  write_file("a.h5");
  int file = open(path_of("a.h5"), O_RDWR);
  assert_int_equal(flock(file, LOCK_EX), 0);
  setenv(variable, "FALSE", 1);
  store_close(open_store("a.h5"));
  setenv(variable, "TRUE", 1);
  expect_refusal("a.h5", "is being written");
  unsetenv(variable);
  close(file);
}

/* A writer that died, and one by SWMR, which needs no lock, leave a mark that libhdf5 refuses. */
static void a_marked_file_is_refused(void **state) {
  (void)state;
  struct writer writer = start_writer("a.h5", true);
  expect_refusal("a.h5", "is being written: another program holds its lock");
  end_writer(writer);
  expect_refusal("a.h5",
                 "is marked as being written: wait until its writer closes it; where that has ended without");
}

/* libhdf5 alone opens what a link leads to. */
static void link_outside(hid_t file) {
  assert_true(H5Lcreate_external("far.h5", "/x", file, "far", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void link_to_a_link(hid_t file) {
  hid_t near = H5Fcreate(path_of("near.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Lcreate_external("far.h5", "/x", near, "y", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Fclose(near);
  assert_true(H5Lcreate_external("near.h5", "/y", file, "far", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void map_outside(hid_t file) {
  hid_t space = H5Screate_simple(1, (hsize_t[]){3}, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_virtual(list, space, "far.h5", "x", space) >= 0);
  hid_t dataset = H5Dcreate2(file, "far", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(dataset >= 0);
  H5Dclose(dataset);
  H5Pclose(list);
  H5Sclose(space);
}

static void make_linked(void (*link)(hid_t file)) {
  hid_t file = H5Fcreate(path_of("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(file >= 0);
  link(file);
  H5Fclose(file);
}

static bool read_far(struct error *error) {
  struct store *store = open_store("a.h5");
  uint8_t values[3] = {0};
  *error = (struct error){0};
  bool good = store_check_held(store, "far", error) && store_read_known(store, "far", STORE_U8, 3, values, error);
  if (good) assert_memory_equal(values, "\1\2\3", 3);
  store_close(store);
  return good;
}

static void expect_far_refusal(const char *part) {
  struct error error;
  assert_false(read_far(&error));
  assert_true(error.is_busy);
  assert_int_equal(error.code, ERROR_FILE);
  assert_holds(error.text, "far in ");
  assert_holds(error.text, "a.h5 lies in another file: ");
  assert_holds(error.text, "far.h5 is ");
  assert_holds(error.text, part);
  assert_null(strstr(error.text, "put that file where it was"));
}

static void what_lies_in_a_file_that_is_written_is_refused(void **state) {
  static void (*const links[])(hid_t file) = {link_outside, link_to_a_link, map_outside};
  struct error error;
  (void)state;
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    write_file("far.h5");
    make_linked(links[i]);
    struct writer writer = start_writer("far.h5", false);
    expect_far_refusal("being written: another program holds its lock");
    end_writer(writer);
    assert_good(read_far(&error), &error);
    end_writer(start_writer("far.h5", true));
    expect_far_refusal("marked as being written: wait until its writer closes it");
    unlink(path_of("far.h5"));
    assert_false(read_far(&error)); /* gone, and nobody writes it */
    assert_false(error.is_busy);
  }
}

/* What is told beside the samples is not missing while its file is written. */
static void a_value_in_a_file_that_is_written_is_not_missing(void **state) {
  struct error error = {0};
  (void)state;
  write_file("far.h5");
  make_linked(link_outside);
  struct store *store = open_store("a.h5");
  struct writer writer = start_writer("far.h5", false);
  assert_false(store_check_free(store, "far", &error));
  assert_true(error.is_busy);
  assert_good(store_check_free(store, "other", &error), &error);
  end_writer(writer);
  assert_good(store_check_free(store, "far", &error), &error);
  unlink(path_of("far.h5"));
  assert_good(store_check_free(store, "far", &error), &error);
  store_close(store);
}

/* ---- files that cannot be opened ------------------------------------------------------------------------ */

enum { FAR = 40 };

/* far 0.h5 to far 39.h5, of which a virtual dataset takes one entry each. */
static void map_many(void) {
  const hsize_t size[] = {FAR}, one[] = {1};
  hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, size, NULL);
  hid_t part = H5Screate_simple(1, size, NULL), from = H5Screate_simple(1, (hsize_t[]){3}, NULL);
  for (hsize_t i = 0; i < FAR; i++) {
    const char *name = arena_text(folder.arena, "far%d.h5", (int)i);
    write_file(name);
    H5Sselect_hyperslab(part, H5S_SELECT_SET, &i, NULL, one, NULL);
    H5Sselect_hyperslab(from, H5S_SELECT_SET, (hsize_t[]){2}, NULL, one, NULL);
    assert_true(H5Pset_virtual(list, part, name, "x", from) >= 0);
  }
  hid_t file = H5Fcreate(path_of("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Dclose(H5Dcreate2(file, "many", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
  H5Fclose(file);
  H5Sclose(from), H5Sclose(part), H5Sclose(space), H5Pclose(list);
}

/* libhdf5 takes zeros for the files of a virtual dataset that it cannot open. */
static void more_files_than_may_be_open_are_refused(void **state) {
  struct rlimit before, limited;
  uint8_t values[FAR] = {0};
  struct error error;
  (void)state;
  map_many();
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (int few = 0; few < 2; few++) {
    struct store *store = open_store("a.h5");
    limited = (struct rlimit){few ? 32 : 128, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limited), 0);
    bool good = store_read_known(store, "many", STORE_U8, FAR, values, &error);
    store_close(store);
    assert_int_equal(good, !few);
    for (int i = 0; good && i < FAR; i++) assert_int_equal(values[i], 3);
  }
  assert_holds(error.text, "files more must be open at once for the files that many in ");
  assert_holds(error.text, "and may have 32 (ulimit -n, RLIMIT_NOFILE); raise the limit to 256");
  assert_int_equal(error.code, ERROR_FAILED);
  limited.rlim_cur = 4;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limited), 0);
  struct store *store;
  assert_false(store_open(&store, path_of("a.h5"), &error));
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_holds(error.text, "may have 4 (ulimit -n, RLIMIT_NOFILE)");
}

/* ---- this program's own files -------------------------------------------------------------------------- */

enum { TIMES = 100 };

/* A file takes its place whole: who opens it at that moment may read it. */
static void a_file_that_took_its_place_is_read_at_once(void **state) {
  int status = 0;
  size_t opened = 0;
  (void)state;
  write_file("a.h5");
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < TIMES; i++) write_file("a.h5");
    _exit(0);
  }
  for (; waitpid(child, &status, WNOHANG) == 0; opened++) store_close(open_store("a.h5"));
  assert_int_equal(status, 0);
  assert_true(opened > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_file_under_a_lock_is_refused),
      TEST(an_empty_file_under_a_lock_is_refused_for_it),
      TEST(readers_share),
      TEST(locks_may_be_turned_off),
      TEST(a_marked_file_is_refused),
      TEST(what_lies_in_a_file_that_is_written_is_refused),
      TEST(a_value_in_a_file_that_is_written_is_not_missing),
      TEST(more_files_than_may_be_open_are_refused),
      TEST(a_file_that_took_its_place_is_read_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
