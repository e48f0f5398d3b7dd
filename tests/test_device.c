#include "engine/base/hash.h"
#include "engine/device/kernel.h"
#include "engine/device/profile.h"
#include "tests/support.h"

#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char prelude_text[] = "#define ONE 1u\n";
static const char sums_text[] =
    "__kernel void sums_add(__global const uint *from, __global float *to, uint shift, uint rows) {\n"
    "  uint row = (uint)get_global_id(0);\n"
    "  if (row < rows) to[row] = (float)(from[row] + shift * ONE);\n"
    "}\n"
    "__kernel void sums_group(__global uint *to, float scale, uint rows) {\n"
    "  uint row = (uint)get_group_id(0);\n"
    "  if (row < rows && get_local_id(0) == 0) to[row] += (uint)(scale * (float)get_local_size(0));\n"
    "}\n"
    "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sums_required(__global float *to, uint rows) {\n"
    "  if (get_global_id(0) < rows) to[get_global_id(0)] = 0.0f;\n"
    "}\n";
static const char broken_text[] = "__kernel void broken(__global uint *to, uint rows) {\n"
                                  "  if (rows)\n"
                                  "    to[0] = undeclared_name;\n"
                                  "}\n";
static const struct source sources[] = {
    {"common.cl", prelude_text}, {"sums.cl", sums_text}, {"broken.cl", broken_text}, {NULL, NULL}};

static const struct kernel_desc rows_all[] = {
    {.name = "sums_add",
     .file = "sums.cl",
     .launch = LAUNCH_ITEM,
     .group = 64,
     .args = {{ARG_IN, ELEMENT_U32, "from", 0, 0},
              {ARG_OUT, ELEMENT_F32, "to", 0, 0},
              {ARG_VALUE, ELEMENT_U32, "shift", 0, 0}}},
    {.name = "sums_group",
     .file = "sums.cl",
     .launch = LAUNCH_GROUP,
     .group = 32,
     .args = {{ARG_INOUT, ELEMENT_U32, "to", 0, 0}, {ARG_VALUE, ELEMENT_F32, "scale", 0, 0}}}};
static const struct kernel_table table_all = {rows_all, 2, sources, NULL, NULL};
static const struct kernel_setup setup = {.height = 8, .width = 8, .folder = ""};

static struct folder folder;

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  setenv("L2SR_CACHE", "off", 1);
  support_close_folder(&folder);
  return 0;
}

static bool build(struct device *device, const char *options, struct error *error) {
  cl_program program;
  if (!program_build(&program, device, &sources[0], &sources[1], options, error)) return false;
  clReleaseProgram(program);
  return true;
}

/* ---- four processes at once: they must start before this one uses OpenCL ------------------------------- */

static _Noreturn void build_in_child(int gate) {
  struct device device;
  struct error error;
  char byte;
  if (read(gate, &byte, 1) != 0 || !device_open(&device, "", &error)) _exit(2);
  bool good = build(&device, "", &error);
  device_close(&device);
  _exit(good ? 0 : 1);
}

static void processes_share_one_cache(void **state) {
  enum { CHILDREN = 4 };
  pid_t child[CHILDREN];
  int gate[2], status;
  const char *cache = support_path(&folder, "cache");
  (void)state;
  setenv("L2SR_CACHE", cache, 1);
  assert_int_equal(pipe(gate), 0);
  for (int i = 0; i < CHILDREN; i++)
    if ((child[i] = fork()) == 0) {
      close(gate[1]);
      build_in_child(gate[0]);
    }
  close(gate[0]);
  close(gate[1]); /* all start now */
  for (int i = 0; i < CHILDREN; i++) {
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  assert_holds(support_only_entry(&folder, cache), ".clbin");
}

/* ---- choosing a device --------------------------------------------------------------------------------- */

static void expect_opens(const char *select) {
  struct device device;
  struct error error;
  assert_good(device_open(&device, select, &error), &error);
  assert_true(device.facts.memory >= device.facts.largest && device.facts.largest > 0);
  assert_true(device.facts.group > 0 && device.facts.alignment > 0);
  device_close(&device);
  device_close(&device); /* closing twice is closing once */
}

static void expect_no_device(const char *select, const char *name) {
  struct device device;
  struct error error;
  assert_false(device_open(&device, select, &error));
  assert_holds(error.text, "no OpenCL device matches");
  assert_int_equal(error.code, ERROR_NO_DEVICE);
  assert_holds(error.text, "there are: 0: ");
  assert_holds(error.text, name);
  device_close(&device);
}

static void devices_are_chosen(void **state) {
  const struct device *device = *state;
  char part[8];
  snprintf(part, sizeof part, "%.7s", device->facts.name);
  expect_opens("0");
  expect_opens(device->facts.name);
  expect_opens(part);
  expect_opens(device->facts.platform);
  if (device->facts.kind & CL_DEVICE_TYPE_CPU) expect_opens("CPU");
  expect_no_device("999", device->facts.name);
  expect_no_device("no such device", "'no such device'");
  expect_no_device("-1", device->facts.name);
}

static void the_environment_chooses(void **state) {
  const struct device *device = *state;
  setenv("L2SR_DEVICE", "no such device", 1);
  expect_no_device("", "'no such device'");
  expect_opens("0"); /* the device that is asked for comes first */
  setenv("L2SR_DEVICE", device->facts.name, 1);
  expect_opens("");
  setenv("L2SR_DEVICE", "", 1);
  expect_opens("");
  unsetenv("L2SR_DEVICE");
}

static void count_device(size_t index, const struct device_facts *facts, void *context) {
  size_t *count = context;
  assert_int_equal(index, (*count)++);
  assert_true(facts->name[0] && facts->version[0]);
}

static void devices_are_listed(void **state) {
  size_t seen = 0;
  (void)state;
  size_t count = device_list(count_device, &seen);
  assert_int_equal(count, seen);
  assert_true(count >= 1);
}

static void a_cpu_has_no_gpu_fast_path(void **state) {
  const struct device *device = *state;
  if (!(device->facts.kind & CL_DEVICE_TYPE_GPU)) assert_int_equal(device->facts.maker, MAKER_OTHER);
}

/* ---- buffers and failures ------------------------------------------------------------------------------ */

static cl_mem make_buffer(struct device *device, size_t bytes) {
  struct error error;
  cl_mem buffer = device_buffer(device, bytes, "a test", &error);
  assert_non_null(buffer);
  return buffer;
}

static void buffers_are_written_copied_and_filled(void **state) {
  static const uint8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  static const uint8_t want[16] = {0xbb, 0xbb, 0xbb, 0xbb, 0,    1,    2,  0xcc,
                                   0xcc, 0xcc, 6,    7,    0xee, 0xdd, 10, 11};
  struct device *device = *state;
  struct error error;
  uint8_t got[16];
  uint64_t before = device->bytes;
  cl_mem from = make_buffer(device, 16), to = make_buffer(device, 16);
  assert_int_equal(device->bytes, before + 32);
  device_write(device, from, 0, 16, bytes);
  device_copy(device, from, 0, to, 4, 12);
  device_fill(device, to, 0, 4, 0xbbbbbbbb);
  device_fill(device, to, 7, 3, 0xcc);
  device_fill(device, to, 12, 2, 0xddee);
  device_fill(device, to, 0, 0, 1);
  device_read(device, to, 0, 16, got);
  assert_good(device_finish(device, &error), &error);
  assert_memory_equal(got, want, 16);
  device_release(device, from, 16);
  device_release(device, to, 16);
  device_release(device, NULL, 16);
  assert_int_equal(device->bytes, before);
}

static void too_much_memory_is_refused(void **state) {
  struct device *device = *state;
  struct error error;
  uint64_t bytes = device->bytes, allocations = device->allocations;
  assert_null(device_buffer(device, device->facts.memory + 1, "column ENV.mask", &error));
  assert_holds(error.text, "no room for column ENV.mask");
  assert_holds(error.text, "ask for fewer rows");
  assert_int_equal(device->bytes, bytes);
  assert_int_equal(device->allocations, allocations);
}

static void the_first_failure_sticks(void **state) {
  struct device device;
  struct error error;
  static struct profile profile;
  uint8_t data[32] = {0}, got[16] = {9, 9};
  (void)state;
  assert_good(device_open(&device, "", &error), &error);
  assert_good(device_profile(&device, &profile, &error), &error);
  cl_mem buffer = make_buffer(&device, 16);
  device_write(&device, buffer, 0, 16, data);
  assert_good(device_finish(&device, &error), &error);
  device_write(&device, buffer, 0, 32, data); /* beyond the end */
  assert_true(device.failed);
  memset(data, 5, sizeof data);
  device_write(&device, buffer, 0, 16, data); /* these do nothing */
  device_read(&device, buffer, 0, 16, got);
  device_copy(&device, buffer, 8, buffer, 12, 16);
  assert_int_equal(got[0], 9);
  assert_false(device_profile(&device, NULL, &error));
  assert_null(device.profile);
  assert_false(device_finish(&device, &error));
  assert_holds(error.text, "clEnqueueWriteBuffer(");
  assert_holds(error.text, "CL_INVALID_VALUE (-30) at ");
  assert_holds(error.text, "engine/device/transfer.c:");
  assert_holds(error.text, device.facts.name);
  assert_int_equal(clEnqueueReadBuffer(device.queue, buffer, CL_TRUE, 0, 16, got, 0, NULL, NULL), CL_SUCCESS);
  assert_int_equal(got[0], 0);
  device_release(&device, buffer, 16);
  device_close(&device);
}

static void contexts_that_stay_are_taken_again(void **state) {
  (void)state;
  struct device first, second;
  struct error error;
  assert_good(device_open(&first, "", &error), &error);
  cl_context context = first.context;
  first.stays = true;
  device_close(&first);
  assert_good(device_open(&first, "", &error), &error);
  assert_ptr_equal(first.context, context);
  assert_true(first.stays);
  assert_good(device_open(&second, "", &error), &error);
  assert_ptr_not_equal(second.context, context);
  assert_false(second.stays);
  device_close(&second);
  first.stays = false;
  device_close(&first);
}

static void codes_have_names(void **state) {
  (void)state;
  assert_string_equal(device_code_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
  assert_holds(device_code_name(CL_MEM_OBJECT_ALLOCATION_FAILURE), "device memory is full");
  assert_string_equal(device_code_name(-12345), "an OpenCL error");
}

/* ---- programs ------------------------------------------------------------------------------------------ */

static void hashes_are_sha256(void **state) {
  char hex[65];
  (void)state;
  hash_hex("abc", 3, hex);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void a_build_error_names_file_and_line(void **state) {
  static const struct source wrong_prelude = {"wrong.cl", "\n\nint wrong = other_name;\n"};
  cl_program program;
  struct error error;
  assert_false(program_build(&program, *state, &sources[0], &sources[2], "", &error));
  assert_holds(error.text, "kernel file broken.cl does not build on");
  assert_holds(error.text, "broken.cl:3");
  assert_holds(error.text, "undeclared_name");
  assert_null(program);
  assert_false(program_build(&program, *state, &wrong_prelude, &sources[1], "", &error));
  assert_holds(error.text, "wrong.cl:3");
}

static ino_t number_of(const char *path) {
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return status.st_ino;
}

/* Builds on a device of its own, which keeps no program yet. */
static void expect_build_where(bool driver_keeps, const char *options) {
  struct device device;
  struct error error;
  assert_good(device_open(&device, "", &error), &error);
  device.facts.keeps_programs = driver_keeps;
  assert_good(build(&device, options, &error), &error);
  device_close(&device);
}

static void expect_build(const char *options) {
  expect_build_where(false, options);
}

static cl_program program_of(struct device *device, const char *options) {
  cl_program program;
  struct error error;
  assert_good(program_build(&program, device, &sources[0], &sources[1], options, &error), &error);
  assert_int_equal(clReleaseProgram(program), CL_SUCCESS);
  return program;
}

/* Where the driver keeps programs, the device does, after the caller has released them. */
static void a_device_builds_a_program_once(void **state) {
  struct device device;
  struct error error;
  (void)state;
  assert_good(device_open(&device, "", &error), &error);
  device.facts.keeps_programs = true;
  cl_program first = program_of(&device, "");
  assert_ptr_equal(program_of(&device, ""), first);
  assert_ptr_not_equal(program_of(&device, "-DOTHER"), first);
  assert_ptr_equal(program_of(&device, ""), first);
  device_close(&device);
}

static void a_second_build_finds_the_entry(void **state) {
  const char *cache = support_path(&folder, "deep/cache");
  (void)state;
  setenv("L2SR_CACHE", cache, 1);
  expect_build("");
  const char *entry = support_only_entry(&folder, cache);
  ino_t number = number_of(entry);
  expect_build("");
  assert_string_equal(support_only_entry(&folder, cache), entry);
  assert_int_equal(number_of(entry), number); /* not written again */
  expect_build("-DOTHER");
  assert_int_equal(support_count(cache), 2);
}

/* The entry is taken for damaged: written again, and the new one is good. */
static void expect_rebuilt(const char *entry, const void *data, size_t bytes) {
  support_write(entry, data, bytes);
  assert_int_equal(link(entry, support_path(&folder, "held")), 0); /* so that the new file is another one */
  ino_t number = number_of(entry);
  expect_build("");
  assert_int_not_equal(number_of(entry), number);
  number = number_of(entry);
  expect_build("");
  assert_int_equal(number_of(entry), number);
  assert_int_equal(unlink(support_path(&folder, "held")), 0);
}

/* Of a driver that keeps what it compiled: the device that is opened next has the program already. */
static void a_program_stays_for_the_next_device(void **state) {
  struct device first, second;
  struct error error;
  cl_program program, again;
  (void)state;
  assert_good(device_open(&first, "", &error), &error);
  bool keeps = first.facts.keeps_programs;
  assert_good(program_build(&program, &first, &sources[0], &sources[1], "", &error), &error);
  device_close(&first);
  assert_good(device_open(&first, "", &error), &error);
  assert_good(device_open(&second, "", &error), &error);
  assert_ptr_not_equal(first.context, second.context);
  assert_good(program_build(&again, &first, &sources[0], &sources[1], "", &error), &error);
  assert_true((again == program) == keeps);
  clReleaseProgram(again);
  assert_good(program_build(&again, &second, &sources[0], &sources[1], "", &error), &error);
  assert_ptr_not_equal(again, program);
  clReleaseProgram(again);
  clReleaseProgram(program);
  device_close(&second);
  device_close(&first);
}

static void damaged_entries_are_built_again(void **state) {
  static const size_t places[] = {0, 8, 15, 16, 47, 48, 100};
  const char *cache = support_path(&folder, "cache");
  size_t bytes;
  (void)state;
  setenv("L2SR_CACHE", cache, 1);
  assert_int_equal(mkdir(cache, 0777), 0);
  support_write_text(support_path(&folder, "cache/x.clbin.0123456789abcdef.part"), "of a killed program");
  expect_build("");
  const char *entry = support_only_entry(&folder, cache);
  unsigned char *data = support_read(folder.arena, entry, &bytes);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    data[places[i]] ^= 0x40;
    expect_rebuilt(entry, data, bytes);
    data[places[i]] ^= 0x40;
  }
  expect_rebuilt(entry, data, bytes - 1);
  expect_rebuilt(entry, data, 48);
  expect_rebuilt(entry, data, 20);
  expect_rebuilt(entry, data, 0);
  support_only_entry(&folder, cache); /* and nothing else lies there */
}

/* A whole entry that the driver does not take: another driver's under the same name. */
static void an_entry_the_driver_refuses_is_built_again(void **state) {
  const char *cache = support_path(&folder, "cache");
  unsigned char data[48 + 64] = "l2srcl1";
  struct sha256_ctx context;
  uint64_t payload = 64;
  (void)state;
  setenv("L2SR_CACHE", cache, 1);
  expect_build("");
  memcpy(data + 8, &payload, sizeof payload);
  memset(data + 48, 'x', payload);
  sha256_init(&context);
  sha256_update(&context, payload, data + 48);
  sha256_digest(&context, 32, data + 16);
  expect_rebuilt(support_only_entry(&folder, cache), data, sizeof data);
}

static void the_cache_can_be_switched_off(void **state) {
  (void)state;
  setenv("L2SR_CACHE", "off", 1);
  setenv("XDG_CACHE_HOME", folder.path, 1);
  expect_build("");
  assert_int_equal(support_count(folder.path), 0);
  unsetenv("L2SR_CACHE");
  expect_build_where(true, "");
  assert_int_equal(support_count(folder.path), 0);
  expect_build("");
  assert_int_equal(support_count(support_path(&folder, "l2sr")), 1);
  unsetenv("XDG_CACHE_HOME");
}

static void a_cache_that_cannot_be_written_is_done_without(void **state) {
  support_write_text(support_path(&folder, "file"), "x");
  (void)state;
  setenv("L2SR_CACHE", support_path(&folder, "file/cache"), 1);
  expect_build("");
  setenv("L2SR_CACHE", support_path(&folder, "file"), 1);
  expect_build("");
  assert_int_equal(support_count(folder.path), 1);
}

/* ---- rows against kernels ------------------------------------------------------------------------------ */

static struct kernels *open_kernels(struct device *device, const struct kernel_table *table) {
  struct kernels *kernels;
  struct error error;
  assert_good(kernels_open(&kernels, device, table, &setup, &error), &error);
  return kernels;
}

static void expect_row_refusal(struct device *device, struct kernel_desc row, const char *part) {
  struct kernel_table table = {&row, 1, sources, NULL, NULL};
  struct kernels *kernels = open_kernels(device, &table);
  struct error error;
  for (int again = 0; again < 2; again++) { /* a refused row stays refused */
    assert_false(kernel_need(kernels, row.name, &error));
    assert_holds(error.text, part);
    assert_holds(error.text, row.name);
  }
  kernels_close(kernels);
}

static struct kernel_desc add_with(size_t place, struct arg_desc arg) {
  struct kernel_desc row = rows_all[0];
  row.args[place] = arg;
  return row;
}

static void rows_are_compared_with_the_kernel(void **state) {
  const struct arg_desc none = {.kind = ARG_END};
  expect_row_refusal(*state, add_with(0, (struct arg_desc){ARG_IN, ELEMENT_U32, "source", 0, 0}),
                     "argument 0 is 'const uint* from', its row says 'const u32 source'");
  expect_row_refusal(*state, add_with(0, (struct arg_desc){ARG_IN, ELEMENT_F32, "from", 0, 0}),
                     "argument 0 is 'const uint* from', its row says 'const f32 from'");
  expect_row_refusal(*state, add_with(0, (struct arg_desc){ARG_INOUT, ELEMENT_U32, "from", 0, 0}),
                     "argument 0 is 'const uint* from', its row says 'u32 from'");
  expect_row_refusal(*state, add_with(1, (struct arg_desc){ARG_IN, ELEMENT_F32, "to", 0, 0}),
                     "argument 1 is 'float* to', its row says 'const f32 to'");
  expect_row_refusal(*state, add_with(2, (struct arg_desc){ARG_VALUE, ELEMENT_F32, "shift", 0, 0}),
                     "argument 2 is 'uint shift', its row says 'f32 shift'");
  expect_row_refusal(*state, add_with(2, (struct arg_desc){ARG_OUT, ELEMENT_U32, "shift", 0, 0}),
                     "argument 2 is 'uint shift'");
  expect_row_refusal(*state, add_with(2, none), "has 4 arguments, its row has 2 and then rows");
  expect_row_refusal(*state, add_with(3, (struct arg_desc){ARG_VALUE, ELEMENT_U32, "more", 0, 0}),
                     "has 4 arguments, its row has 4 and then rows");
}

static void rows_of_what_is_not_there_are_refused(void **state) {
  struct kernel_desc absent = rows_all[0], no_file = absent, broken = absent, large = rows_all[1];
  absent.name = "sums_absent";
  no_file.file = "sums_add.cl";
  broken.file = "broken.cl", broken.name = "broken";
  large.group = 1u << 30;
  expect_row_refusal(*state, absent, "kernel sums_absent is not in sums.cl: CL_INVALID_KERNEL_NAME");
  expect_row_refusal(*state, no_file, "no kernel file sums_add.cl is built in");
  expect_row_refusal(*state, broken, "broken.cl:3");
  expect_row_refusal(*state, large, "needs work-groups of 1073741824");
}

static void kernels_are_read_from_a_folder(void **state) {
  struct kernel_setup own = setup;
  struct kernels *kernels;
  struct error error;
  own.folder = folder.path;
  assert_good(kernels_open(&kernels, *state, &table_all, &own, &error), &error);
  assert_false(kernel_need(kernels, "sums_add", &error));
  assert_holds(error.text, "common.cl: No such file or directory");
  support_write_text(support_path(&folder, "common.cl"), prelude_text);
  support_write_text(support_path(&folder, "sums.cl"), "\n\nwrong\n");
  assert_false(kernel_need(kernels, "sums_add", &error));
  assert_holds(error.text, "sums.cl:3");
  support_write_text(support_path(&folder, "sums.cl"), sums_text);
  assert_good(kernel_need(kernels, "sums_add", &error), &error);
  kernels_close(kernels);
}

/* Builds sums.cl, whose only macro of the prelude is ONE, for two heights, by this row of a macro. */
static void build_for_heights(const struct kernel_macro *macros) {
  const struct kernel_table table = {rows_all, 2, sources, macros, NULL};
  struct device device;
  struct error error;
  assert_good(device_open(&device, "", &error), &error);
  device.facts.keeps_programs = false;
  for (size_t height = 8; height < 10; height++) {
    struct kernel_setup own = {height, 8, false, ""};
    struct kernels *kernels;
    assert_good(kernels_open(&kernels, &device, &table, &own, &error), &error);
    assert_good(kernel_need(kernels, "sums_add", &error), &error);
    kernels_close(kernels);
  }
  device_close(&device);
}

static void files_are_built_anew_for_macros_that_they_hold(void **state) {
  static const struct {
    const char *words;
    size_t built;
  } cases[] = {{"HEIGHT TWO", 1}, {"HEIGHT", 1}, {"TWO ONE", 2}, {"ONE HEIGHT", 2}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *cache = support_path(&folder, arena_text(folder.arena, "macros_%zu", i));
    setenv("L2SR_CACHE", cache, 1);
    build_for_heights((struct kernel_macro[]){{"HEIGHT", cases[i].words, NULL}, {NULL, NULL, NULL}});
    assert_int_equal(support_count(cache), cases[i].built);
  }
  setenv("L2SR_CACHE", support_path(&folder, "macros_all"), 1);
  build_for_heights(NULL);
  assert_int_equal(support_count(support_path(&folder, "macros_all")), 2);
}

/* What the prelude hides: a file that uses a macro without holding a word for it. */
static void a_macro_that_was_not_given_is_no_number(void **state) {
  const struct source own[] = {{"common.cl", "#define ONE (HEIGHT / HEIGHT)\n"}, sources[1], {NULL, NULL}};
  const struct kernel_macro macros[] = {{"HEIGHT", "HEIGHT", "HEIGHT=not_given"}, {NULL, NULL, NULL}};
  const struct kernel_table table = {rows_all, 2, own, macros, NULL};
  struct kernels *kernels = open_kernels(*state, &table);
  struct error error;
  setenv("L2SR_CACHE", "off", 1);
  assert_false(kernel_need(kernels, "sums_add", &error));
  assert_holds(error.text, "not_given");
  kernels_close(kernels);
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static void expect_every_row(struct device *device) {
  enum { ROWS = 65 };
  struct kernels *kernels = open_kernels(device, &table_all);
  struct error error;
  uint32_t from[ROWS + 1], again[ROWS + 1];
  float to[ROWS + 1];
  cl_mem in = make_buffer(device, sizeof from), out = make_buffer(device, sizeof to);
  for (uint32_t i = 0; i <= ROWS; i++) from[i] = i, to[i] = -1;
  device_write(device, in, 0, sizeof from, from);
  device_write(device, out, 0, sizeof to, to);
  assert_good(kernel_need(kernels, "sums_add", &error) && kernel_need(kernels, "sums_group", &error), &error);
  kernel_run(kernels, "sums_add", ROWS,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, in), arg_buffer(ARG_OUT, ELEMENT_F32, out), arg_u32(7)));
  kernel_run(kernels, "sums_group", ROWS, ARGS(arg_buffer(ARG_INOUT, ELEMENT_U32, in), arg_f32(0.5f)));
  kernel_run(kernels, "sums_group", 0, ARGS(arg_buffer(ARG_INOUT, ELEMENT_U32, in), arg_f32(0.5f)));
  device_read(device, out, 0, sizeof to, to);
  device_read(device, in, 0, sizeof again, again);
  assert_good(device_finish(device, &error), &error);
  for (uint32_t i = 0; i < ROWS; i++) assert_true(to[i] == (float)(i + 7) && again[i] == i + 16);
  assert_true(to[ROWS] == -1 && again[ROWS] == ROWS);
  device_release(device, in, sizeof from);
  device_release(device, out, sizeof to);
  kernels_close(kernels);
}

static void launches_cover_every_row(void **state) {
  expect_every_row(*state);
}

/* A device that allows 32 work-items a group: what wants 64 and has one a row takes 32, what requires 64 is refused. */
static void small_groups_cover_every_row(void **state) {
  static const struct kernel_desc required = {
      .name = "sums_required",
      .file = "sums.cl",
      .launch = LAUNCH_ITEM,
      .group = 32,
      .args = {{ARG_OUT, ELEMENT_F32, "to", 0, 0}}};
  struct device *device = *state;
  size_t group = device->facts.group;
  device->facts.group = 32;
  expect_every_row(device);
  expect_row_refusal(device, required, "kernel sums_required needs work-groups of 64");
  device->facts.group = group;
}

/* A wrong call is seen before OpenCL is: a child of this process may find it. */
struct wrong_call {
  struct kernels *kernels;
  const char *name;
  const struct arg *args;
};

static void call_wrongly(void *context) {
  const struct wrong_call *call = context;
  kernel_run(call->kernels, call->name, 8, call->args);
}

static void expect_call_abort(struct kernels *kernels, const char *name, const struct arg *args,
                              const char *part) {
  support_expect_abort(call_wrongly, &(struct wrong_call){kernels, name, args}, part);
}

static void wrong_calls_abort(void **state) {
  struct kernels *kernels = open_kernels(*state, &table_all);
  struct error error;
  cl_mem buffer = make_buffer(*state, 64);
  struct arg from = arg_buffer(ARG_IN, ELEMENT_U32, buffer), to = arg_buffer(ARG_OUT, ELEMENT_F32, buffer);
  struct arg column = to;
  column.name = "from";
  assert_good(kernel_need(kernels, "sums_add", &error), &error);
  expect_call_abort(kernels, "sums_add", ARGS(to, from, arg_u32(1)),
                    "argument 0 (from) is of the wrong kind");
  expect_call_abort(kernels, "sums_add", ARGS(from, column, arg_u32(1)),
                    "argument 1 is to, the column given is from");
  expect_call_abort(kernels, "sums_add", ARGS(from, to), "sums_add takes 3 arguments, 2 were given");
  expect_call_abort(kernels, "sums_add", ARGS(from, to, arg_u32(1), arg_u32(1)),
                    "sums_add takes 3 arguments");
  expect_call_abort(kernels, "sums_add", ARGS(from, arg_u32(1), arg_u32(1)),
                    "argument 1 (to) is of the wrong kind");
  expect_call_abort(kernels, "sums_add", ARGS(from, to, arg_f32(1)),
                    "argument 2 (shift) is of the wrong kind");
  expect_call_abort(kernels, "sums_group", ARGS(to, arg_f32(1)),
                    "kernel sums_group was not built before the launch");
  expect_call_abort(kernels, "sums_none", ARGS(to), "there is no kernel row 'sums_none'");
  device_release(*state, buffer, 64);
  kernels_close(kernels);
}

/* What fails may have compiled, clFFT's kernels for one, in a process that may write little. */
static void a_failure_names_the_limit(void **state) {
  struct device device;
  struct error error;
  struct rlimit limit;
  uint8_t data[32] = {0};
  (void)state;
  assert_good(device_open(&device, "", &error), &error);
  cl_mem buffer = make_buffer(&device, 16);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, limit.rlim_max});
  device_write(&device, buffer, 0, 32, data); /* beyond the end */
  setrlimit(RLIMIT_FSIZE, &limit);
  assert_false(device_finish(&device, &error));
  assert_holds(error.text, "; the cause may be a limit: files of at most 1 MiB (ulimit -f, RLIMIT_FSIZE)");
  device_release(&device, buffer, 16);
  device_close(&device);
}

static void a_failed_device_launches_nothing(void **state) {
  struct device device;
  struct error error;
  uint32_t words[8] = {0}, got[8] = {1};
  (void)state;
  assert_good(device_open(&device, "", &error), &error);
  struct kernels *kernels = open_kernels(&device, &table_all);
  cl_mem buffer = make_buffer(&device, sizeof words);
  assert_good(kernel_need(kernels, "sums_group", &error), &error);
  device_write(&device, buffer, 0, sizeof words, words);
  device_copy(&device, buffer, 0, buffer, 16, 1024);
  kernel_run(kernels, "sums_group", 8, ARGS(arg_buffer(ARG_INOUT, ELEMENT_U32, buffer), arg_f32(1)));
  assert_false(device_finish(&device, &error));
  assert_holds(error.text, "clEnqueueCopyBuffer(");
  clEnqueueReadBuffer(device.queue, buffer, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL);
  assert_memory_equal(got, words, sizeof got);
  device_release(&device, buffer, sizeof words);
  kernels_close(kernels);
  device_close(&device);
}

static void elements_have_sizes_and_names(void **state) {
  (void)state;
  assert_int_equal(element_bytes(ELEMENT_U8, false), 1);
  assert_int_equal(element_bytes(ELEMENT_F16, false), 2);
  assert_int_equal(element_bytes(ELEMENT_REAL, false), 4);
  assert_int_equal(element_bytes(ELEMENT_REAL, true), 2);
  assert_int_equal(element_bytes(ELEMENT_C64, true), 8);
  assert_string_equal(element_name(ELEMENT_REAL), "real");
  assert_ptr_equal(kernel_row(&table_all, "sums_group"), &rows_all[1]);
  assert_null(kernel_row(&table_all, "sums"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  const struct CMUnitTest first[] = {TEST(processes_share_one_cache)};
  const struct CMUnitTest tests[] = {
      TEST(devices_are_chosen),
      TEST(the_environment_chooses),
      TEST(devices_are_listed),
      TEST(a_cpu_has_no_gpu_fast_path),
      TEST(buffers_are_written_copied_and_filled),
      TEST(too_much_memory_is_refused),
      TEST(the_first_failure_sticks),
      TEST(contexts_that_stay_are_taken_again),
      TEST(codes_have_names),
      TEST(hashes_are_sha256),
      TEST(a_build_error_names_file_and_line),
      TEST(a_device_builds_a_program_once),
      TEST(a_second_build_finds_the_entry),
      TEST(a_program_stays_for_the_next_device),
      TEST(damaged_entries_are_built_again),
      TEST(an_entry_the_driver_refuses_is_built_again),
      TEST(the_cache_can_be_switched_off),
      TEST(a_cache_that_cannot_be_written_is_done_without),
      TEST(rows_are_compared_with_the_kernel),
      TEST(rows_of_what_is_not_there_are_refused),
      TEST(kernels_are_read_from_a_folder),
      TEST(files_are_built_anew_for_macros_that_they_hold),
      TEST(a_macro_that_was_not_given_is_no_number),
      TEST(launches_cover_every_row),
      TEST(small_groups_cover_every_row),
      TEST(wrong_calls_abort),
      TEST(a_failed_device_launches_nothing),
      TEST(a_failure_names_the_limit),
      TEST(elements_have_sizes_and_names),
  };
  int failed = cmocka_run_group_tests(first, NULL, NULL);
  return failed + cmocka_run_group_tests(tests, support_open_device, support_close_device);
}
