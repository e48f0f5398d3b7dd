#include "tests/support.h"

#include "components/components.h"
#include "engine/base/random.h"
#include "engine/device/fft.h"
#include "systems/data/phantom.h"
#include "systems/scan/load.h"
#include "systems/scan/transform.h"

#include <cairo.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Before main: L2SR_TEST=PATTERN runs only the tests of that name, where * stands for anything. */
__attribute__((constructor)) static void choose_tests(void) {
  const char *pattern = getenv("L2SR_TEST");
  if (pattern && *pattern) cmocka_set_test_filter(pattern);
}

void support_assert_holds(const char *text, const char *part, const char *file, int line) {
  if (strstr(text, part)) return;
  print_error("'%s'\nis not in\n'%s'\n", part, text);
  _fail(file, line);
}

void support_assert_good(bool good, const char *call, const struct error *error, const char *file, int line) {
  if (good) return;
  print_error("%s: %s\n", call, error->text);
  _fail(file, line);
}

void support_open_folder(struct folder *folder) {
  strcpy(folder->path, "/tmp/l2sr-test-XXXXXX");
  REQUIRE(mkdtemp(folder->path), "no folder %s", folder->path);
  folder->arena = arena_open();
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  return remove(path);
}

void support_close_folder(struct folder *folder) {
  nftw(folder->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  arena_close(folder->arena);
}

const char *support_path(struct folder *folder, const char *name) {
  return arena_text(folder->arena, "%s/%s", folder->path, name);
}

static bool is_entry(const struct dirent *entry) {
  return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

size_t support_count(const char *path) {
  DIR *stream = opendir(path);
  size_t count = 0;
  if (!stream) return 0;
  for (const struct dirent *entry; (entry = readdir(stream));) count += is_entry(entry);
  closedir(stream);
  return count;
}

const char *support_only_entry(struct folder *folder, const char *path) {
  assert_int_equal(support_count(path), 1);
  DIR *stream = opendir(path);
  const char *found = NULL;
  for (const struct dirent *entry; (entry = readdir(stream));)
    if (is_entry(entry)) found = arena_text(folder->arena, "%s/%s", path, entry->d_name);
  closedir(stream);
  return found;
}

int support_open_full(void) {
  struct stat status;
  if (stat("/dev/full", &status) || !S_ISCHR(status.st_mode)) {
    printf("did not run: writing to a full disk (/dev/full is no device)\n");
    skip();
  }
  int full = open("/dev/full", O_WRONLY);
  assert_true(full >= 0);
  return full;
}

void support_write(const char *path, const void *data, size_t bytes) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file, "cannot write %s", path);
  REQUIRE(fwrite(data, 1, bytes, file) == bytes, "cannot write %s", path);
  REQUIRE(fclose(file) == 0, "cannot write %s", path);
}

void support_write_text(const char *path, const char *text) {
  support_write(path, text, strlen(text));
}

unsigned char *support_read(struct arena *arena, const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  REQUIRE(file, "cannot read %s", path);
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  unsigned char *data = arena_new(arena, *bytes + 1);
  REQUIRE(fread(data, 1, *bytes, file) == *bytes, "cannot read %s", path);
  fclose(file);
  return data;
}

struct decoded support_read_png(struct arena *arena, const char *path) {
  cairo_surface_t *surface = cairo_image_surface_create_from_png(path);
  assert_int_equal(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
  size_t width = (size_t)cairo_image_surface_get_width(surface),
         height = (size_t)cairo_image_surface_get_height(surface),
         stride = (size_t)cairo_image_surface_get_stride(surface);
  uint32_t *pixel = ARENA_NEW(arena, uint32_t, width * height);
  for (size_t y = 0; y < height; y++)
    memcpy(pixel + y * width, cairo_image_surface_get_data(surface) + y * stride, width * sizeof *pixel);
  cairo_surface_destroy(surface);
  return (struct decoded){width, height, pixel};
}

int support_open_device(void **state) {
  static struct device device;
  struct error error;
  if (!device_open(&device, "", &error)) {
    print_error("%s\n", error.text);
    return 1;
  }
  *state = &device;
  return 0;
}

int support_open_transforms(void **state) {
  struct error error;
  return support_open_device(state) || !fft_library_open(&error);
}

int support_close_transforms(void **state) {
  fft_library_close();
  return support_close_device(state);
}

void support_optimise(bool optimised) {
  if (optimised)
    unsetenv("POCL_EXTRA_BUILD_FLAGS");
  else
    setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", true);
}

int support_open_matrix(void **state) {
  int status = support_open_device(state);
  struct device *device = *state;
  if (!status && device->facts.matrix == MATRIX_NONE) device->facts.matrix = MATRIX_EMULATED;
  return status;
}

int support_close_device(void **state) {
  device_close(*state);
  return 0;
}

static void print_log(enum log_level level, const char *text, void *context) {
  (void)level, (void)context;
  fprintf(stderr, "%s\n", text);
}

static void print_errors(enum log_level level, const char *text, void *context) {
  if (level == LEVEL_ERROR) print_log(level, text, context);
}

/* A rule that a test breaks is said before the program ends. */
__attribute__((constructor)) static void listen(void) {
  log_with(print_errors, NULL, NULL);
}

static _Noreturn void run_child(void (*call)(void *context), void *context, int errors) {
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  signal(SIGABRT, SIG_DFL);
  dup2(errors, STDERR_FILENO);
  log_with(print_log, NULL, NULL);
  call(context);
  _exit(0);
}

static struct system on(unsigned component) {
  return (struct system){.name = "test", .reads = SET(component), .writes = SET(component), .loads = true};
}

void support_put(struct world *world, unsigned component, size_t row, size_t count, const void *from) {
  struct system test = on(component);
  test.reads = 0;
  world_put(world, &test, component, row, count, from);
}

void support_get(struct world *world, unsigned component, size_t row, size_t count, void *to) {
  struct system test = on(component);
  test.writes = 0;
  world_get(world, &test, component, row, count, to);
}

void support_fill(struct world *world, unsigned component, uint32_t word) {
  struct system test = on(component);
  test.reads = 0;
  struct world_use before = world_enter(world, &test);
  world_fill(world, component, word);
  world_leave(world, before);
}

const struct system support_all = {.name = "test", .reads = ~(component_set)0, .writes = ~(component_set)0};

void support_fill_slices(struct world *world, uint32_t slices) {
  int width = (int)world_width(world), pixels = width * (int)world_height(world);
  struct arena *arena = arena_open();
  float *image = ARENA_NEW(arena, float, (size_t)pixels), range = 1;
  struct error error;
  for (uint32_t s = 0; s < slices; s++) {
    struct random random;
    random_start(&random, 1, STREAM_PHANTOM, s);
    for (int i = 0; i < pixels; i++) {
      double x = i % width - 16 + s, y = i / width - 14.0;
      image[i] =
          (float)((x * x + 2 * y * y < 150 + 10 * s) * (0.7 + 0.1 * sin(x)) + 0.05 * random_uniform(&random));
    }
    support_put(world, SLICE_image, s, 1, image);
    support_put(world, SLICE_order, s, 1, &s);
    support_put(world, SLICE_data_range, s, 1, &range);
  }
  assert_good(transform_rows(world, 0, slices, &error), &error);
  arena_close(arena);
}

void support_lines(const char *lines, const char *others) {
  for (const char *line = lines, *end; (end = strchr(line, '\n')); line = end + 1) {
    char one[1000];
    snprintf(one, sizeof one, "%.*s", (int)(end - line) + 1, line);
    if (!strstr(others, one)) fail_msg("%s is not in\n%s", one, others);
  }
}

void support_expect_abort(void (*call)(void *context), void *context, const char *part) {
  int ends[2], status;
  char text[4096];
  size_t used = 0;
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) run_child(call, context, ends[1]);
  close(ends[1]);
  for (ssize_t got; used < sizeof text - 1 && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0;)
    used += (size_t)got;
  text[used] = 0;
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_holds(text, part);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

void support_set_phantoms(struct options *options, int n, int slices) {
  options->phantom.train = 3;
  options->phantom.val = options->phantom.test = 1;
  options->phantom.slices = (uint32_t)slices;
  options->phantom.size = option_square(n);
  options->phantom.rows = 2 * (uint32_t)n;
  options->phantom.columns = (uint32_t)n + 6;
}

int support_open_training(struct folder *folder, struct device *device, int n, int slices) {
  struct error error;
  struct options options;
  support_open_folder(folder);
  option_defaults(&option_table, &options, folder->arena);
  support_set_phantoms(&options, n, slices);
  return !phantom_write(&options, support_path(folder, "data"), &error) || !device_open(device, "", &error) ||
         !fft_library_open(&error);
}

int support_close_training(struct folder *folder, struct device *device) {
  fft_library_close();
  device_close(device);
  support_close_folder(folder);
  return 0;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static herr_t forget_sum(hid_t root, const char *name, const H5O_info_t *info, void *context) {
  hid_t object = H5Oopen(root, name, H5P_DEFAULT);
  (void)info, (void)context;
  if (H5Aexists(object, "l2sr_checksum") > 0) H5Adelete(object, "l2sr_checksum");
  H5Oclose(object);
  return 0;
}

void support_forget_sums(const char *path) {
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(file >= 0 && H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, forget_sum, NULL) >= 0);
  H5Fclose(file);
}
