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
  assert_false(store_is_written(path_of("a.h5")));
  struct writer writer = start_writer("a.h5", false);
  expect_refusal("a.h5", "is being written: another program holds its lock");
  assert_true(store_is_written(path_of("a.h5")));
  end_writer(writer);
  assert_false(store_is_written(path_of("a.h5")));
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
static void a_linked_file_under_a_lock_is_refused(void **state) {
  struct store_shape shape;
  struct error error;
  (void)state;
  write_file("far.h5");
  hid_t file = H5Fcreate(path_of("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Lcreate_external("far.h5", "/x", file, "link", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Fclose(file);
  struct store *store = open_store("a.h5");
  int far = open(path_of("far.h5"), O_RDWR);
  assert_int_equal(flock(far, LOCK_EX), 0);
  assert_false(store_shape(store, "link", &shape, &error));
  assert_holds(error.text, "far.h5, which another program writes: wait until it closes that file");
  assert_int_equal(flock(far, LOCK_UN), 0);
  assert_good(store_shape(store, "link", &shape, &error), &error);
  close(far);
  store_close(store);
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
      TEST(a_linked_file_under_a_lock_is_refused),
      TEST(a_file_that_took_its_place_is_read_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
