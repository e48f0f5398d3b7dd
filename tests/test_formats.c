/* Files of other programs (tests/data/formats, by tests/make_formats.py): axes, numbers, damage. */
#include "engine/files/probe.h"
#include "engine/files/scene.h"
#include "systems/data/format.h"
#include "systems/formats/axes.h"
#include "systems/formats/unpacked.h"
#include "tests/support.h"

#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { S = 3, C = 2, H = 6, W = 5 };

static struct folder folder;
static struct options options;

static int open_folder(void **state) {
  (void)state;
  support_open_folder(&folder);
  option_defaults(&option_table, &options, folder.arena);
  options.data.size = option_square(4);
  options.data.pad = 4;
  probe_with(getenv("L2SR_PROGRAM"));
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  probe_with(NULL);
  support_close_folder(&folder);
  return 0;
}

static void set(const char *assignment) {
  struct error error;
  assert_good(scene_assign(&option_table, &options, folder.arena, assignment, "test", &error), &error);
}

static const char *data_of(const char *name) {
  return arena_text(folder.arena, "%s/formats/%s", getenv("L2SR_TEST_DATA"), name);
}

/* ---- axes ---------------------------------------------------------------------------------------------- */

static void axes_are_guessed(void **state) {
  static const struct {
    int rank;
    size_t size[6];
    bool complex, height_first;
    const char *letters;
    bool sure;
  } cases[] = {{2, {640, 368}, true, false, "hw", true},
               {3, {30, 640, 368}, false, false, "shw", true},
               {3, {30, 640, 368}, true, false, "shw", false}, /* or coils */
               {3, {256, 256, 30}, false, false, "hws", true},
               {3, {256, 30, 256}, false, false, "hsw", false},
               {3, {200, 220, 240}, false, false, "shw", false},
               {3, {200, 220, 240}, false, true, "hws", false},
               {3, {128, 128, 300}, false, false, "hws", true},
               {4, {30, 15, 640, 368}, true, false, "schw", true},
               {4, {640, 368, 15, 30}, true, true, "hwcs", true},
               {4, {640, 368, 15, 30}, true, false, "hwcs", false},
               {4, {30, 640, 368, 15}, true, false, "shwc", false},
               {4, {2, 20, 96, 128}, false, false, "sshw", true},
               {4, {1, 256, 256, 1}, false, false, "1hw1", true},
               {4, {30, 640, 368, 2}, false, false, "shwp", false},
               {5, {3, 30, 15, 640, 368}, true, false, "0schw", false},
               {3, {1, 1, 9}, false, false, "111", false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct axes axes = axes_guess(cases[i].rank, cases[i].size, cases[i].complex, cases[i].height_first);
    assert_string_equal(axes.letter, cases[i].letters);
    assert_int_equal(axes.sure, cases[i].sure);
  }
}

static void axes_that_are_said_fit(void **state) {
  static const struct {
    const char *text, *letters, *refusal;
  } cases[] = {{"s,c,h,w", "sch1w", NULL},
               {"schw", "sch1w", NULL},
               {"s c h 1 w", "sch1w", NULL},
               {"s,s,w,h", "ssw1h", NULL},
               {"h,w", NULL, "another number of letters"},
               {"s,c,h,h", NULL, "h and w must be there once"},
               {"s,c,h,x", NULL, "other letters than"},
               {"s,p,h,w", NULL, "p is an axis of 2 entries of real numbers"},
               {"1,s,c,h,w", NULL, "1 stands for an axis of more"}};
  const size_t size[5] = {3, 4, 6, 1, 5};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct axes axes;
    struct error error;
    bool good = axes_parse(cases[i].text, 5, size, true, &axes, &error);
    assert_int_equal(good, cases[i].letters != NULL);
    if (good) assert_string_equal(axes.letter, cases[i].letters);
    if (!good) assert_holds(error.text, cases[i].refusal);
    if (!good) assert_holds(error.text, "for an array [3, 4, 6, 1, 5]");
  }
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static double number(size_t s, size_t c, size_t h, size_t w) {
  return (double)(1000 * s + 100 * c + 10 * h + w);
}

/* Reads all slices; coils: of k-space; parts: imaginary ones are negative. */
static void expect_numbers(const char *path, size_t coils, bool parts, double slope, double offset) {
  struct volume volume = volume_of(path);
  struct error error;
  void *file;
  assert_good(volume_open(&volume, &options, &error), &error);
  assert_int_equal(volume.slices, S);
  assert_int_equal(volume.coils, coils);
  assert_int_equal(volume.height, H);
  assert_int_equal(volume.width, W);
  assert_int_equal(volume.from_kspace, parts);
  assert_good(volume_file_open(&file, &volume, &error), &error);
  float *slice = ARENA_NEW(folder.arena, float, volume_slice_floats(&volume));
  for (size_t s = 0; s < S; s++) {
    assert_good(volume_read(file, &volume, s, slice, &error), &error);
    for (size_t i = 0; i < coils * H * W; i++) {
      double wanted = slope * number(s, i / (H * W), i / W % H, i % W) + offset;
      assert_true(fabs(slice[parts ? 2 * i : i] - wanted) < 1e-3);
      if (parts) assert_true(fabs(slice[2 * i + 1] + wanted) < 1e-3);
    }
  }
  volume_file_close(file, &volume);
}

static const struct {
  const char *name, *variable, *library;
  size_t coils;
  bool parts;
  double slope, offset;
} files[] = {
    {"kspace.npy", "", NULL, C, true, 1, 0},          {"kspace5.mat", "", "libmatio", C, true, 1, 0},
    {"kspace73.mat", "k", "libmatio", C, true, 1, 0}, {"raw.h5", "", NULL, C, true, 1, 0},
    {"kspace2.nii", "", "libnifti2", 1, true, 1, 0},  {"image.nii.gz", "", "libnifti2", 1, false, 2, 1}};
enum { FILES = sizeof files / sizeof *files };

static bool is_there(const char *library) {
#ifndef L2SR_NIFTI
  if (library && !strcmp(library, "libnifti2")) return false;
#endif
#ifndef L2SR_MATIO
  if (library && !strcmp(library, "libmatio")) return false;
#endif
  (void)library;
  return true;
}

static void choose(size_t i) {
  set(files[i].parts ? "import.kind=kspace" : "import.kind=auto");
  options.import.variable = files[i].variable;
  options.import.axes = !strcmp(files[i].name, "kspace.npy") ? "s,c,h,w"
                        : strstr(files[i].name, ".mat")      ? "h,w,c,s"
                                                             : "";
}

/* Once by the child, once where there is none. */
static void files_of_other_programs_are_read(void **state) {
  struct error error;
  (void)state;
  for (size_t i = 0; i < 2 * FILES; i++) {
    if (i == FILES) probe_with(NULL);
    choose(i % FILES);
    const char *path = data_of(files[i % FILES].name);
    struct volume volume = volume_of(path);
    if (is_there(files[i % FILES].library)) {
      expect_numbers(path, files[i % FILES].coils, files[i % FILES].parts, files[i % FILES].slope,
                     files[i % FILES].offset);
    } else {
      assert_false(volume_open(&volume, &options, &error));
      assert_holds(error.text,
                   arena_text(folder.arena, "this program was built without %s; install the package",
                              files[i % FILES].library));
    }
  }
}

/* Numbers of every type that numpy writes, in both orders of bytes and both of axes. */
static void numpy_has_types_and_orders(void **state) {
  static const struct {
    const char *type;
    size_t bytes;
    unsigned char one[8]; /* the number 3 */
  } types[] = {{"|i1", 1, {3}},         {"|u1", 1, {3}},
               {"<i2", 2, {3}},         {">u2", 2, {0, 3}},
               {"<i4", 4, {3}},         {">i8", 8, {0, 0, 0, 0, 0, 0, 0, 3}},
               {"<f2", 2, {0, 0x42}},   {"<f4", 4, {0, 0, 0x40, 0x40}},
               {">f8", 8, {0x40, 0x08}}};
  (void)state;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    for (int version = 1; version <= 3; version++) {
      unsigned char bytes[256 + 64 * 8] = "\223NUMPY";
      int place = version == 1 ? 10 : 12;
      bytes[6] = (unsigned char)version;
      int length = sprintf((char *)bytes + place, "{'descr': '%s', 'fortran_order': %s, 'shape': (8, 8), }\n",
                           types[i].type, version == 2 ? "True" : "False");
      bytes[8] = (unsigned char)length;
      memcpy(bytes + place + length + (size_t)(8 * 2 + 1) * types[i].bytes, types[i].one, types[i].bytes);
      const char *path = support_path(&folder, "a.npy");
      support_write(path, bytes, (size_t)(place + length) + 64 * types[i].bytes);
      struct volume volume = volume_of(path);
      struct error error;
      void *file;
      float image[64];
      assert_good(volume_open(&volume, &options, &error), &error);
      assert_good(volume_file_open(&file, &volume, &error) && volume_read(file, &volume, 0, image, &error),
                  &error);
      volume_file_close(file, &volume);
      for (size_t k = 0; k < 64; k++) assert_true(image[k] == (k == (version == 2 ? 10 : 17) ? 3 : 0));
    }
}

/* BART's first axis is the fastest: rows are the readout. */
static void bart_has_its_axes(void **state) {
  static float numbers[S * C * W * H][2];
  (void)state;
  for (size_t i = 0; i < S * C * W * H; i++) {
    numbers[i][0] = (float)number(i / (H * W * C), i / (H * W) % C, i % H, i / H % W);
    numbers[i][1] = -numbers[i][0];
  }
  support_write(support_path(&folder, "a.cfl"), numbers, sizeof numbers);
  support_write_text(support_path(&folder, "a.hdr"),
                     "# Dimensions\n6 5 1 2 1 1 1 1 1 1 1 1 1 3 1 1 \n# Command\nphantom\n");
  set("import.kind=kspace");
  expect_numbers(support_path(&folder, "a.cfl"), C, true, 1, 0);
}

/* An image's parts in an axis of their own, its magnitude, and k-space made of it. */
static void complex_images_become_either(void **state) {
  float numbers[2][8][8] = {{{0}}}, image[64], kspace[64][2];
  const size_t size[3] = {2, 8, 8};
  const char *path = support_path(&folder, "a.npy");
  struct error error;
  void *file;
  (void)state;
  numbers[0][4][4] = 3;
  numbers[1][4][4] = 4;
  FILE *out = fopen(path, "w");
  assert_true(array_begin_npy(out, ARRAY_F32, false, 3, size) &&
              fwrite(numbers, sizeof numbers, 1, out) == 1 && !fclose(out));
  set("import.axes=p,h,w");
  set("import.kind=image");
  struct volume volume = volume_of(path);
  assert_good(volume_open(&volume, &options, &error) && volume_file_open(&file, &volume, &error) &&
                  volume_read(file, &volume, 0, image, &error),
              &error);
  volume_file_close(file, &volume);
  assert_true(image[36] == 5 && image[0] == 0);
  set("import.kind=complex_image");
  set("import.factor=8");
  volume = volume_of(path);
  assert_good(volume_open(&volume, &options, &error) && volume_file_open(&file, &volume, &error) &&
                  volume_read(file, &volume, 0, &kspace[0][0], &error),
              &error);
  volume_file_close(file, &volume);
  for (size_t i = 0; i < 64; i++)
    assert_true(fabsf(kspace[i][0] - 3) < 1e-5f && fabsf(kspace[i][1] - 4) < 1e-5f);
}

static void expect_refused(const char *path, const char *part) {
  struct volume volume = volume_of(path);
  struct error error;
  if (volume_open(&volume, &options, &error)) fail_msg("%s is read; expected '%s'", path, part);
  assert_holds(error.text, part);
  assert_holds(error.text, path);
}

/* ---- raw data ------------------------------------------------------------------------------------------ */

/* What a test changes in the head of an acquisition. */
struct head {
  uint64_t flags;
  uint16_t samples, before, after, centre, step;
};

/* The members of a row [head] of the table that a test changes. */
static hid_t head_row(void) {
  hid_t index = H5Tcreate(H5T_COMPOUND, sizeof(uint16_t)),
        head = H5Tcreate(H5T_COMPOUND, sizeof(struct head)),
        row = H5Tcreate(H5T_COMPOUND, sizeof(struct head));
  H5Tinsert(index, "kspace_encode_step_1", 0, H5T_NATIVE_UINT16);
  H5Tinsert(head, "flags", offsetof(struct head, flags), H5T_NATIVE_UINT64);
  H5Tinsert(head, "number_of_samples", offsetof(struct head, samples), H5T_NATIVE_UINT16);
  H5Tinsert(head, "discard_pre", offsetof(struct head, before), H5T_NATIVE_UINT16);
  H5Tinsert(head, "discard_post", offsetof(struct head, after), H5T_NATIVE_UINT16);
  H5Tinsert(head, "center_sample", offsetof(struct head, centre), H5T_NATIVE_UINT16);
  H5Tinsert(head, "idx", offsetof(struct head, step), index);
  H5Tinsert(row, "head", 0, head);
  H5Tclose(index);
  H5Tclose(head);
  return row;
}

enum { RAW_MOST = 64 };

/* Copies raw.h5 with a text of its header replaced by one of the same length, and its heads changed. */
static const char *change_raw(const char *from, const char *to, void (*change)(struct head *head)) {
  struct head heads[RAW_MOST];
  size_t bytes;
  char *text = (char *)support_read(folder.arena, data_of("raw.h5"), &bytes);
  const char *path = support_path(&folder, "raw.h5");
  char *place = memmem(text, bytes, from, strlen(from));
  assert_non_null(place);
  memcpy(place, to, strlen(to));
  support_write(path, text, bytes);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), table = H5Dopen2(file, "dataset/data", H5P_DEFAULT),
        space = H5Dget_space(table), row = head_row();
  hssize_t count = H5Sget_simple_extent_npoints(space);
  assert_true(count > 0 && count <= RAW_MOST);
  assert_true(H5Dread(table, row, H5S_ALL, H5S_ALL, H5P_DEFAULT, heads) >= 0);
  for (hssize_t i = 0; change && i < count; i++) change(&heads[i]);
  assert_true(H5Dwrite(table, row, H5S_ALL, H5S_ALL, H5P_DEFAULT, heads) >= 0);
  H5Tclose(row), H5Sclose(space), H5Dclose(table), H5Fclose(file);
  return path;
}

static void step_two_more(struct head *head) {
  head->step = (uint16_t)(head->step + 2);
}

/* A middle behind that of the columns: lines move to the left, and none beyond the first column. */
static void raw_lines_have_their_columns(void **state) {
  (void)state;
  set("import.kind=kspace");
  expect_numbers(change_raw("<center>2<", "<center>4<", step_two_more), C, true, 1, 0);
  expect_refused(change_raw("<center>2<", "<center>4<", NULL),
                 "has a line 1 of phase encoding, and its header says 5 lines with the middle at 4");
  expect_refused(change_raw("<center>2<", "<center>1<", NULL), "has a line 4 of phase encoding");
}

/* Parts that are an axis behind k-space are found where the kind alone is said. */
static void kspace_of_parts_is_guessed(void **state) {
  static const float numbers[8 * 9 * 2];
  const size_t size[3] = {8, 9, 2};
  const char *path = support_path(&folder, "a.npy");
  struct volume volume = volume_of(path);
  struct error error;
  FILE *out = fopen(path, "w");
  (void)state;
  assert_true(array_begin_npy(out, ARRAY_F32, false, 3, size) &&
              fwrite(numbers, sizeof numbers, 1, out) == 1 && !fclose(out));
  set("import.kind=kspace");
  volume = volume_of(path);
  volume.guesses = true;
  assert_good(volume_open(&volume, &options, &error), &error);
  assert_string_equal(volume.found.axes, "hwp");
  assert_true(volume.from_kspace && volume.height == 8 && volume.width == 9);
}

/* A finer readout of the image's own field of view is not oversampled. */
static void fields_of_view_tell_oversampling(void **state) {
  struct volume volume = volume_of(change_raw("<x>240<", "<x>480<", NULL));
  struct error error;
  (void)state;
  set("import.kind=kspace");
  assert_good(volume_open(&volume, &options, &error), &error);
  assert_int_equal(volume.height, 2 * H);
  assert_int_equal(volume.image_height, 2 * H);
}

/* Its first samples are not of the echo, which comes early; of a reversed line they are its last ones, and
 * the middle is counted in the order of the acquisition. */
static void cut_echo(struct head *head) {
  bool reverse = head->flags >> 21 & 1;
  if (head->samples != 2 * H) return;
  head->centre = reverse ? H - 1 : H;
  *(reverse ? &head->after : &head->before) = 2;
}

/* All lines are cut alike, so that what is left of them does not depend on the direction: two columns of one
 * phase encoding, of which one was reversed in an average, differ by the numbers of the file alone. */
static void reversed_half_echoes_have_their_place(void **state) {
  const char *path;
  struct error error;
  void *file;
  (void)state;
  set("import.kind=kspace");
  path = change_raw("<center>2<", "<center>2<", cut_echo);
  struct volume volume = volume_of(path);
  assert_good(volume_open(&volume, &options, &error) && volume_file_open(&file, &volume, &error), &error);
  float *slice = ARENA_NEW(folder.arena, float, volume_slice_floats(&volume));
  assert_good(volume_read(file, &volume, 0, slice, &error), &error);
  for (size_t i = 0; i < C * H; i++) {
    const float *row = slice + 2 * i * W;
    for (size_t p = 0; p < 2; p++) assert_true(fabsf(row[6 + p] - (row[4 + p] + row[8 + p]) / 2) < 1e-3f);
  }
  volume_file_close(file, &volume);
}

/* ---- what is not read ---------------------------------------------------------------------------------- */

/* What may be meant in two ways says the line that decides it. */
static void doubts_say_what_to_do(void **state) {
  const char *path = support_path(&folder, "a.npy");
  const size_t size[3] = {8, 9, 10};
  static float numbers[720];
  (void)state;
  for (size_t i = 0; i < 720; i++) numbers[i] = (float)(i % 7);
  FILE *out = fopen(path, "w");
  assert_true(array_begin_npy(out, ARRAY_F32, false, 3, size) &&
              fwrite(numbers, sizeof numbers, 1, out) == 1 && !fclose(out));
  expect_refused(
      path, arena_text(folder.arena, "`l2sr import %s --axes s,h,w --kind image --output FOLDER`", path));
  set("import.axes=h,w,s");
  struct volume volume = volume_of(path);
  struct error error;
  assert_good(volume_open(&volume, &options, &error), &error);
  assert_int_equal(volume.slices, 10);
}

static void write_zeros(const char *path, size_t rows) {
  static const float numbers[64];
  const size_t size[2] = {rows, 8};
  FILE *out = fopen(path, "w");
  assert_true(array_begin_npy(out, ARRAY_F32, false, 2, size) &&
              fwrite(numbers, sizeof *numbers, 8 * rows, out) == 8 * rows && !fclose(out));
}

/* Memory is taken by what a file held when it was looked at. */
static void files_that_grow_are_refused(void **state) {
  const char *path = support_path(&folder, "a.npy");
  struct volume volume = volume_of(path);
  struct error error;
  void *file;
  float image[4 * 8];
  (void)state;
  write_zeros(path, 4);
  assert_good(volume_open(&volume, &options, &error), &error);
  write_zeros(path, 8);
  assert_good(volume_file_open(&file, &volume, &error), &error);
  assert_false(volume_read(file, &volume, 0, image, &error));
  assert_holds(error.text, "changed since it was looked at");
  volume_file_close(file, &volume);
}

static void broken_headers_are_named(void **state) {
  static const struct {
    const char *name, *text, *refusal;
  } cases[] = {{"a.npy", "\223NUMPY\1\1\100\1{'descr'", "was cut in its header"},
               {"b.npy", "NUMPY of old", "is no numpy array"},
               {"c.npy", "\223NUMPY\4\1\100\1{'descr'", "is of version 4"}};
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    support_write(support_path(&folder, cases[i].name), cases[i].text, strlen(cases[i].text));
    expect_refused(support_path(&folder, cases[i].name), cases[i].refusal);
  }
  support_write_text(support_path(&folder, "d.cfl"), "12345678");
  expect_refused(support_path(&folder, "d.cfl"), "needs its header");
  support_write_text(support_path(&folder, "d.hdr"), "# Dimensions\n8 8 x\n");
  struct volume volume = volume_of(support_path(&folder, "d.cfl"));
  struct error error;
  assert_false(volume_open(&volume, &options, &error));
  assert_holds(error.text, "is no header of a BART array");
  support_write_text(support_path(&folder, "d.hdr"), "# Dimensions\n8 8\n");
  expect_refused(support_path(&folder, "d.cfl"), "is shorter than its header says");
}

static void broken_dictionaries_of_numpy_are_named(void **state) {
  static const struct {
    const char *dictionary, *refusal;
  } cases[] = {
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (99999999, 99999999, 99999999, 99999999), }",
       "is shorter than its header says"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (0, 8, 8), }", "holds an array of no numbers"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (8, 8), }", "holds entries of type objects of Python"},
      {"{'fortran_order': False, 'shape': (8, 8), 'descr': '", "holds entries of type ;"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (8, 8), }", "holds entries of type records (several fields);"},
      {"{'descr': '<f4', 'shape': (8, 8), }", "has a header that is no array's"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (8, -8), }", "has a header that is no array's"},
      {"{'descr': '<f4', 'fortran_order': Frue, 'shape': (8, 8), }", "has a header that is no array's"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }", "it is no image"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char bytes[400] = "\223NUMPY\1";
    bytes[8] = (char)strlen(cases[i].dictionary);
    strcpy(bytes + 10, cases[i].dictionary);
    support_write(support_path(&folder, "a.npy"), bytes, sizeof bytes);
    expect_refused(support_path(&folder, "a.npy"), cases[i].refusal);
  }
}

/* The child unpacks into the folder that this program means, though it was started in another. */
static void files_are_unpacked_where_it_is_said(void **state) {
  const char *kept = getenv("TMPDIR"), *before = kept ? arena_text(folder.arena, "%s", kept) : NULL;
  char here[4096];
  (void)state;
  set("import.kind=kspace");
  expect_numbers(data_of("raw.h5"), C, true, 1, 0); /* the child is there */
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(folder.path), 0);
  assert_int_equal(mkdir("a[b]*", 0777), 0);
  setenv("TMPDIR", "a[b]*", 1);
  expect_numbers(data_of("raw.h5"), C, true, 1, 0);
  assert_int_equal(rmdir("a[b]*"), 0); /* nothing is left */
  if (before) setenv("TMPDIR", before, 1);
  if (!before) unsetenv("TMPDIR");
  assert_int_equal(chdir(here), 0);
}

/* From the look at a volume to its reading it is unpacked once, and anew where it changed. */
static void files_are_unpacked_once(void **state) {
  const char *kept = getenv("TMPDIR"), *before = kept ? arena_text(folder.arena, "%s", kept) : NULL;
  const char *path = change_raw("<center>2<", "<center>2<", NULL), *nowhere = support_path(&folder, "none");
  struct volume volume = volume_of(path);
  struct error error;
  void *file;
  (void)state;
  assert_good(volume_open(&volume, &options, &error), &error);
  setenv("TMPDIR", nowhere, 1);
  assert_good(volume_open(&volume, &options, &error), &error);
  assert_good(volume_file_open(&file, &volume, &error), &error);
  volume_file_close(file, &volume);
  assert_false(volume_file_open(&file, &volume, &error));
  assert_holds(error.text, nowhere);
  unsetenv("TMPDIR");
  assert_good(volume_open(&volume, &options, &error), &error);
  setenv("TMPDIR", nowhere, 1);
  assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){{1, 0}, {1, 0}}, 0), 0);
  assert_false(volume_file_open(&file, &volume, &error));
  if (before) setenv("TMPDIR", before, 1);
  if (!before) unsetenv("TMPDIR");
}

/* What is half written beside a part goes with it, and nothing of a folder that its name is a pattern of. */
static void names_are_no_patterns(void **state) {
  struct part_file part;
  (void)state;
  assert_int_equal(mkdir(support_path(&folder, "a[b]*"), 0777), 0);
  assert_int_equal(mkdir(support_path(&folder, "ab"), 0777), 0);
  int file = part_make(&part, support_path(&folder, "a[b]*/x"), NULL, NULL);
  assert_true(file >= 0 && !close(file));
  const char *own = arena_text(folder.arena, "%s.1.part", part.path),
             *other = support_path(&folder, arena_text(folder.arena, "ab%s.1.part", strrchr(part.path, '/')));
  support_write_text(own, "1");
  support_write_text(other, "1");
  unpacked_drop(&part);
  assert_false(file_is_there(own));
  assert_true(file_is_there(other));
  assert_int_equal(rmdir(support_path(&folder, "a[b]*")), 0);
}

/* Cut at any place and changed at any, a file is read or refused by its name: what crashes is the child. */
static void damaged_files_are_refused(void **state) {
  struct error error;
  size_t refused = 0;
  (void)state;
  for (size_t i = 0; i < FILES; i++) {
    size_t bytes;
    unsigned char *good = support_read(folder.arena, data_of(files[i].name), &bytes);
    const char *path = support_path(&folder, files[i].name);
    choose(i);
    for (size_t k = 0; k < 24; k++) {
      unsigned char kept = good[k * bytes / 24];
      if (k % 2) good[k * bytes / 24] ^= 0xff;
      support_write(path, good, k % 2 ? bytes : k * bytes / 24);
      good[k * bytes / 24] = kept;
      struct volume volume = volume_of(path);
      if (volume_open(&volume, &options, &error)) continue;
      assert_holds(error.text, files[i].name);
      refused++;
    }
  }
  assert_true(refused > 12 * FILES);
  assert_int_equal(support_count(folder.path), FILES); /* nothing is left beside them */
}

/* A compressed file of some KB whose header promises more than it can hold, and one that does not end. */
static void bombs_do_not_go_off(void **state) {
  unsigned char head[352];
  gzFile from = gzopen(data_of("image.nii.gz"), "rb");
  (void)state;
  if (!is_there("libnifti2")) skip();
  assert_int_equal(gzread(from, head, sizeof head), sizeof head);
  gzclose(from);
  for (size_t i = 42; i < 48; i += 2) head[i] = 0x7f; /* big-endian sizes */
  const char *path = support_path(&folder, "bomb.nii.gz");
  gzFile to = gzopen(path, "wb9");
  assert_int_equal(gzwrite(to, head, sizeof head), sizeof head);
  for (int i = 0; i < 64; i++)
    assert_int_equal(gzwrite(to, arena_new(folder.arena, 1 << 16), 1 << 16), 1 << 16);
  gzclose(to);
  expect_refused(path, "is shorter than its header says");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(axes_are_guessed),
                                     TEST(axes_that_are_said_fit),
                                     TEST(files_of_other_programs_are_read),
                                     TEST(numpy_has_types_and_orders),
                                     TEST(bart_has_its_axes),
                                     TEST(complex_images_become_either),
                                     TEST(fields_of_view_tell_oversampling),
                                     TEST(reversed_half_echoes_have_their_place),
                                     TEST(kspace_of_parts_is_guessed),
                                     TEST(raw_lines_have_their_columns),
                                     TEST(doubts_say_what_to_do),
                                     TEST(files_that_grow_are_refused),
                                     TEST(broken_headers_are_named),
                                     TEST(broken_dictionaries_of_numpy_are_named),
                                     TEST(files_are_unpacked_where_it_is_said),
                                     TEST(files_are_unpacked_once),
                                     TEST(names_are_no_patterns),
                                     TEST(damaged_files_are_refused),
                                     TEST(bombs_do_not_go_off)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
