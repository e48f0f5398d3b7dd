#include "engine/ecs/schedule.h"
#include "tests/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLICE, ENV, TABLES };
enum { ONE, W, HW, SHAPES };
enum { IMAGE, MASK, SCAN, ACTION, MAGNITUDE, REWARD, COLUMNS };

static const struct component_desc columns[COLUMNS] = {
    [IMAGE] = {"image", SLICE, ELEMENT_F32, HW, KEEP_SCENE, "reference image"},
    [MASK] = {"mask", ENV, ELEMENT_U8, W, KEEP_SAVED, "acquired lines"},
    [SCAN] = {"scan", ENV, ELEMENT_U32, ONE, KEEP_SAVED, "number of the scan"},
    [ACTION] = {"action", ENV, ELEMENT_U32, ONE, KEEP_STEP, "line to acquire"},
    [MAGNITUDE] = {"magnitude", ENV, ELEMENT_REAL, HW, KEEP_SAVED, "zero-filled image"},
    [REWARD] = {"reward", ENV, ELEMENT_F32, ONE, KEEP_STEP, "gain of the step"}};
static const char *const table_names[] = {"SLICE", "ENV"};
static const char *const shape_names[] = {"1", "W", "HxW"};
static const struct schema schema = {columns, COLUMNS, table_names, TABLES, shape_names, SHAPES, NULL};
static const component_set all = SET(COLUMNS) - 1;

static const struct source sources[] = {
    {"common.cl", "#define LINES 5u\n"},
    {"lines.cl",
     "__kernel void lines_choose(__global const uint *scan, __global uint *action, uint rows) {\n"
     "  uint row = (uint)get_global_id(0);\n"
     "  if (row < rows) action[row] = (scan[row] + 1u) % LINES;\n"
     "}\n"
     "__kernel void lines_acquire(__global const uint *action, __global uchar *mask, uint rows) {\n"
     "  uint row = (uint)get_global_id(0);\n"
     "  if (row < rows) mask[row * LINES + action[row]] = 1;\n"
     "}\n"},
    {NULL, NULL}};
static const struct kernel_desc rows[] = {
    {.name = "lines_choose",
     .file = "lines.cl",
     .launch = LAUNCH_ITEM,
     .group = 64,
     .args = {{ARG_IN, ELEMENT_U32, "scan", ONE, ENV}, {ARG_OUT, ELEMENT_U32, "action", ONE, ENV}}},
    {.name = "lines_acquire",
     .file = "lines.cl",
     .launch = LAUNCH_ITEM,
     .group = 64,
     .args = {{ARG_IN, ELEMENT_U32, "action", ONE, ENV}, {ARG_INOUT, ELEMENT_U8, "mask", W, ENV}}},
    {.name = "lines_wrong",
     .file = "lines.cl",
     .launch = LAUNCH_ITEM,
     .group = 64,
     .args = {{.kind = ARG_END}}}};
static const struct kernel_table kernel_table = {rows, 3, sources, NULL, NULL};
static const struct kernel_setup kernel_setup = {.height = 3, .width = 5, .folder = ""};

static void choose_run(struct world *world, void *calls) {
  ++*(int *)calls;
  kernel_run(world_kernels(world), "lines_choose", world_rows(world, ENV),
             ARGS(world_in(world, SCAN), world_out(world, ACTION)));
}

static void acquire_run(struct world *world, void *calls) {
  ++*(int *)calls;
  kernel_run(world_kernels(world), "lines_acquire", world_rows(world, ENV),
             ARGS(world_in(world, ACTION), world_inout(world, MASK)));
}

static void nothing_run(struct world *world, void *calls) {
  (void)calls;
  world_idle(world);
}

static int calls;
static const struct system choose = {.name = "choose",
                                     .doc = "pick a line",
                                     .reads = SET(SCAN),
                                     .writes = SET(ACTION),
                                     .kernels = {"lines_choose"},
                                     .run = choose_run,
                                     .context = &calls};
static const struct system acquire = {.name = "acquire",
                                      .doc = "add the line",
                                      .reads = SET(ACTION) | SET(MASK),
                                      .writes = SET(MASK),
                                      .kernels = {"lines_acquire"},
                                      .run = acquire_run,
                                      .context = &calls};
static const struct system observe = {.name = "observe",
                                      .doc = "make the image",
                                      .reads = SET(IMAGE) | SET(MASK),
                                      .writes = SET(MAGNITUDE),
                                      .run = nothing_run};
static const struct system score = {.name = "score",
                                    .doc = "compare",
                                    .reads = SET(IMAGE) | SET(MAGNITUDE),
                                    .writes = SET(REWARD),
                                    .run = nothing_run};
static const struct system count = {
    .name = "count", .doc = "move the number", .reads = SET(SCAN), .writes = SET(SCAN), .run = nothing_run};
static const struct system *const step[] = {&choose, &acquire, &count, &observe, &score, NULL};

/* From a list that ends with NULL, with the contexts of its rows. */
static bool schedule_build(struct schedule *schedule, const struct schema *of, const struct system *const list[],
                           struct error *error) {
  schedule_open(schedule, of);
  for (; *list; list++) schedule_add(schedule, *list, (*list)->context);
  return schedule_close(schedule, error);
}

static struct schedule build(const struct system *const list[]) {
  struct schedule schedule;
  struct error error;
  assert_good(schedule_build(&schedule, &schema, list, &error), &error);
  return schedule;
}

static const struct world_setup setup = {.schema = &schema,
                                         .columns = SET(COLUMNS) - 1,
                                         .rows = {[SLICE] = 4, [ENV] = 7},
                                         .shape = {1, 5, 15},
                                         .height = 3,
                                         .width = 5};

struct scene {
  struct device *device;
  struct kernels *kernels;
  struct world *world;
};

static void open_scene(struct scene *scene, struct device *device, const struct world_setup *own) {
  struct error error;
  scene->device = device;
  assert_good(kernels_open(&scene->kernels, device, &kernel_table, &kernel_setup, &error), &error);
  assert_good(world_open(&scene->world, device, scene->kernels, own, ENV, &error), &error);
}

static void close_scene(struct scene *scene) {
  struct error error;
  assert_good(device_finish(scene->device, &error), &error);
  world_close(scene->world);
  kernels_close(scene->kernels);
}

/* ---- what follows from the declarations ---------------------------------------------------------------- */

static void carried_columns_are_read_before_written(void **state) {
  const struct system *const whole[] = {&observe, &score, NULL}, *const none[] = {NULL};
  struct schedule schedule = build(step);
  (void)state;
  assert_int_equal(schedule.carried, SET(SCAN) | SET(MASK));
  assert_int_equal(schedule.touched, all);
  schedule = build(whole);
  assert_int_equal(schedule.carried, SET(MASK)); /* magnitude is made in the step; image is loaded */
  assert_int_equal(schedule.touched, SET(IMAGE) | SET(MASK) | SET(MAGNITUDE) | SET(REWARD));
  schedule = build(none);
  assert_int_equal(schedule.count, 0);
  assert_int_equal(schedule.carried, 0);
}

static void impossible_orders_are_refused(void **state) {
  static const struct system loader = {.name = "loader", .doc = "", .writes = SET(IMAGE), .run = nothing_run};
  const struct system *const early[] = {&acquire, &choose, NULL}, *const loading[] = {&choose, &loader, NULL};
  struct schedule schedule;
  struct error error;
  (void)state;
  assert_false(schedule_build(&schedule, &schema, early, &error));
  assert_holds(error.text, "system acquire reads action, which nothing before it in the step has written");
  assert_false(schedule_build(&schedule, &schema, loading, &error));
  assert_holds(error.text, "system loader writes image, which is loaded once and never changes in a step");
}

static void build_too_many(void *context) {
  const struct system *list[SYSTEMS_MOST + 2] = {NULL};
  struct schedule schedule;
  for (int i = 0; i <= SYSTEMS_MOST; i++) list[i] = &observe;
  schedule_build(&schedule, &schema, list, context);
}

static void too_many_systems_abort(void **state) {
  struct error error;
  (void)state;
  support_expect_abort(build_too_many, &error, "a step has at most 64 systems");
}

static void expect_printed(void (*print)(const struct schedule *, FILE *), const char *want) {
  struct schedule schedule = build(step);
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  print(&schedule, file);
  fclose(file);
  assert_string_equal(text, want);
  free(text);
}

static void schedules_are_printed(void **state) {
  (void)state;
  expect_printed(schedule_print, "choose: pick a line\n"
                                 "    reads  ENV.scan\n"
                                 "    writes ENV.action\n"
                                 "acquire: add the line\n"
                                 "    reads  ENV.mask ENV.action\n"
                                 "    writes ENV.mask\n"
                                 "count: move the number\n"
                                 "    reads  ENV.scan\n"
                                 "    writes ENV.scan\n"
                                 "observe: make the image\n"
                                 "    reads  SLICE.image ENV.mask\n"
                                 "    writes ENV.magnitude\n"
                                 "score: compare\n"
                                 "    reads  SLICE.image ENV.magnitude\n"
                                 "    writes ENV.reward\n"
                                 "carried to the next: ENV.mask ENV.scan\n");
}

static void schedules_are_drawn(void **state) {
  (void)state;
  expect_printed(schedule_print_dot, "digraph step {\n"
                                     "  rankdir=LR;\n"
                                     "  node [shape=box];\n"
                                     "  s0 [label=\"choose\"];\n"
                                     "  s1 [label=\"acquire\"];\n"
                                     "  s2 [label=\"count\"];\n"
                                     "  s3 [label=\"observe\"];\n"
                                     "  s4 [label=\"score\"];\n"
                                     "  s0 -> s1 [label=\"action\"];\n"
                                     "  s1 -> s3 [label=\"mask\"];\n"
                                     "  s3 -> s4 [label=\"magnitude\"];\n"
                                     "}\n");
}

/* ---- loops --------------------------------------------------------------------------------------------- */

static char order[32];

static bool next_turn(struct world *world, void *turns, size_t turn) {
  (void)world;
  if (turn < *(size_t *)turns) strcat(order, "(");
  return turn < *(size_t *)turns;
}

static void note_run(struct world *world, void *letter) {
  (void)world;
  strcat(order, letter);
}

/* Twice a, then three times b; then c. */
static void add_loops(struct schedule *schedule, size_t *outer, size_t *inner) {
  static const struct system loop = {.name = "turns", .doc = "of the test", .next = next_turn};
  static const struct system note = {.name = "note", .doc = "its letter", .run = note_run};
  static char a[] = "a", b[] = "b", c[] = "c";
  schedule_open(schedule, &schema);
  schedule_add(schedule, &loop, outer);
  schedule_add(schedule, &note, a);
  schedule_add(schedule, &loop, inner);
  schedule_add(schedule, &note, b);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &note, c);
}

static void loops_are_repeated(void **state) {
  struct scene scene;
  struct schedule schedule;
  struct error error;
  size_t outer = 2, inner = 3;
  add_loops(&schedule, &outer, &inner);
  open_scene(&scene, *state, &setup);
  assert_good(schedule_close(&schedule, &error), &error);
  schedule_run(&schedule, scene.world);
  assert_string_equal(order, "(a(b(b(b(a(b(b(bc");
  *order = 0;
  outer = 1;
  inner = 0;
  schedule_run(&schedule, scene.world);
  assert_string_equal(order, "(ac");
  close_scene(&scene);
}

static void close_without_end(void *context) {
  struct schedule *schedule = context;
  schedule->count -= 2; /* without the outer loop's end and what follows it */
  struct error error;
  schedule_close(schedule, &error);
}

static void loops_without_an_end_abort(void **state) {
  struct schedule schedule;
  size_t turns = 1;
  (void)state;
  add_loops(&schedule, &turns, &turns);
  support_expect_abort(close_without_end, &schedule, "loop turns has no end");
}

static void loops_are_printed_with_what_they_repeat(void **state) {
  struct schedule schedule;
  struct error error;
  size_t turns = 1, bytes;
  char *text = NULL;
  (void)state;
  add_loops(&schedule, &turns, &turns);
  assert_good(schedule_close(&schedule, &error), &error);
  FILE *file = open_memstream(&text, &bytes);
  schedule_print(&schedule, file);
  fclose(file);
  assert_string_equal(text, "repeat turns: of the test\n"
                            "  note: its letter\n"
                            "  repeat turns: of the test\n"
                            "    note: its letter\n"
                            "note: its letter\n"
                            "carried to the next: nothing\n");
  free(text);
}

/* ---- lists over another world ---------------------------------------------------------------------------- */

/* The inner world's scan is the outer one's action, and both have one mask. */
static component_set outside(component_set inside) {
  return (inside & SET(MASK)) | (inside & SET(SCAN) ? SET(ACTION) : 0);
}

struct nested {
  struct scene outer, inner;
  struct schedule list, whole;
  struct system *row;
  size_t turns;
};

/* They ask for what they declare, and launch nothing: the child of a test has no driver. */
static void touch_run(struct world *world, void *row) {
  const struct system *system = row;
  world_touch(world, system->reads, system->writes);
}

static struct system touch(const struct system *row) {
  struct system system = *row;
  system.run = touch_run;
  system.context = (void *)row;
  return system;
}

/* launches: their kernels; else they only ask for columns. */
static void open_nested(struct nested *nested, struct device *device, size_t turns, bool launches) {
  static const struct system inner = {
      .name = "inner", .doc = "over another world", .covers = TABLE_BIT(ENV), .next = next_turn};
  const struct system first = launches ? choose : touch(&choose), second = launches ? acquire : touch(&acquire);
  const struct system *const own[] = {&first, &second, NULL};
  struct world_setup setup_of_inner = setup;
  struct error error;
  setup_of_inner.columns = SET(ACTION);
  *nested = (struct nested){.turns = turns};
  open_scene(&nested->outer, device, &setup);
  open_scene(&nested->inner, device, &setup_of_inner);
  world_share_as(nested->inner.world, SCAN, nested->outer.world, ACTION);
  world_share(nested->inner.world, nested->outer.world, SET(MASK));
  nested->list = build(own);
  schedule_open(&nested->whole, &schema);
  schedule_name(&nested->whole, "whole");
  schedule_add(&nested->whole, &first, first.context);
  nested->row = schedule_add_list(&nested->whole, &inner, &nested->turns, &nested->list, &nested->inner.world, outside);
  assert_good(schedule_close(&nested->whole, &error), &error);
  assert_good(schedule_prepare(&nested->whole, nested->outer.kernels, &error), &error);
  assert_good(schedule_prepare(&nested->whole, nested->inner.kernels, &error), &error);
  *order = 0;
}

static void close_nested(struct nested *nested) {
  close_scene(&nested->inner);
  close_scene(&nested->outer);
}

/* Its row declares what the list takes from the world around it and gives to it; what the list writes for itself is its
 * own. */
static void lists_run_over_other_worlds(void **state) {
  struct nested nested;
  uint32_t scan[7] = {0, 1, 2, 3, 4, 0, 1};
  uint8_t mask[7][5];
  open_nested(&nested, *state, 2, true);
  assert_true(nested.row->reads == (SET(ACTION) | SET(MASK)) && nested.row->parts == SET(MASK));
  assert_true(nested.whole.carried == (SET(SCAN) | SET(MASK)));
  assert_true(nested.whole.written == (SET(ACTION) | SET(MASK)));
  support_put(nested.outer.world, SCAN, 0, 7, scan);
  schedule_run(&nested.whole, nested.outer.world);
  assert_string_equal(order, "((");
  support_get(nested.outer.world, MASK, 0, 7, mask);
  for (size_t i = 0; i < 7; i++)
    for (size_t line = 0; line < 5; line++) assert_int_equal(mask[i][line], line == (scan[i] + 2) % 5);
  close_nested(&nested);
}

static void run_nested(void *context) {
  struct nested *nested = context;
  schedule_run(&nested->whole, nested->outer.world);
}

static void lists_ask_for_what_their_rows_declare(void **state) {
  struct nested nested;
  open_nested(&nested, *state, 1, false);
  nested.row->reads &= ~SET(MASK);
  support_expect_abort(run_nested, &nested, "system inner did not declare its read of column ENV.mask");
  nested.row->reads |= SET(MASK);
  nested.row->parts = 0;
  support_expect_abort(run_nested, &nested, "system inner did not declare its write of column ENV.mask");
  nested.row->parts = SET(MASK);
  nested.row->reads |= SET(IMAGE);
  support_expect_abort(run_nested, &nested, "system inner declares that it reads image, and did not ask for it");
  close_nested(&nested);
}

static char *printed(const struct schedule *schedule) {
  char *text = NULL;
  size_t bytes;
  FILE *file = open_memstream(&text, &bytes);
  schedule_print_json(schedule, "stage", file);
  fclose(file);
  return text;
}

/* The trace of a run is what is printed of its list without running it. */
static void runs_are_traced(void **state) {
  char path[] = "/tmp/l2sr_trace_XXXXXX", ran[4000] = "";
  struct nested nested;
  int handle = mkstemp(path);
  assert_true(handle >= 0);
  setenv("L2SR_STRICT", "1", 1);
  setenv("L2SR_TRACE", path, 1);
  open_nested(&nested, *state, 2, true);
  unsetenv("L2SR_TRACE");
  nested.outer.device->stage = "stage";
  schedule_run(&nested.whole, nested.outer.world);
  nested.outer.device->stage = NULL;
  assert_true(read(handle, ran, sizeof ran - 1) > 0);
  char *told = printed(&nested.whole);
  assert_non_null(strstr(told, "\"list\":\"whole\",\"place\":\"1.0\",\"depth\":1,\"name\":\"choose\""));
  support_lines(ran, told);
  support_lines(told, ran);
  free(told);
  close_nested(&nested);
  close(handle);
  unlink(path);
}

static void lists_are_printed_inside(void **state) {
  struct nested nested;
  char *text = NULL;
  size_t bytes;
  open_nested(&nested, *state, 1, true);
  FILE *file = open_memstream(&text, &bytes);
  schedule_print(&nested.whole, file);
  schedule_print_dot(&nested.whole, file);
  fclose(file);
  assert_non_null(strstr(text, "repeat inner: over another world\n"
                               "    reads  ENV.mask ENV.action\n"
                               "    parts  ENV.mask\n"
                               "  choose: pick a line\n"
                               "      reads  ENV.scan\n"
                               "      writes ENV.action\n"));
  assert_non_null(strstr(text, "  s1 [label=\"repeat inner\"];\n  s1_0 [label=\"choose\"];\n"));
  assert_non_null(strstr(text, "  s1_0 -> s1_1 [label=\"action\"];\n"));
  free(text);
  close_nested(&nested);
}

/* Loaded columns are written by what loads, and by nothing else. */
static void loads_write_loaded_columns(void **state) {
  static const struct system loader = {
      .name = "loader", .doc = "", .writes = SET(IMAGE), .loads = true, .run = nothing_run};
  struct schedule schedule;
  struct error error;
  (void)state;
  schedule_open(&schedule, &schema);
  struct system *row = schedule_add(&schedule, &loader, NULL);
  assert_good(schedule_close(&schedule, &error), &error);
  row->loads = false;
  assert_false(schedule_close(&schedule, &error));
}

/* ---- parts ------------------------------------------------------------------------------------------------ */

static bool no_turn(struct world *world, void *context, size_t turn) {
  (void)world, (void)context, (void)turn;
  return false;
}

/* A part is not the whole: what reads the rest reads what an earlier run has left. */
static void what_is_filled_in_part_is_carried(void **state) {
  static const struct system store = {.name = "store", .doc = "", .parts = SET(MASK), .run = nothing_run};
  static const struct system learn = {.name = "learn", .doc = "", .reads = SET(MASK), .run = nothing_run};
  static const struct system rounds = {
      .name = "rounds", .doc = "", .covers = TABLE_BIT(ENV), .next = no_turn};
  static const struct system others = {
      .name = "others", .doc = "", .covers = TABLE_BIT(SLICE), .next = no_turn};
  const struct system *const alone[] = {&store, &learn, NULL};
  const struct system *const covered[] = {&rounds, &store, &system_end, &learn, NULL};
  const struct system *const inner[] = {&rounds, &others, &store, &system_end, &system_end, &learn, NULL};
  const struct system *const other[] = {&others, &store, &system_end, &learn, NULL};
  (void)state;
  assert_int_equal(build(alone).carried, SET(MASK));
  assert_int_equal(build(covered).carried, 0);
  assert_int_equal(build(inner).carried, 0);
  assert_int_equal(build(other).carried, SET(MASK));
}

static void parts_are_printed(void **state) {
  static const struct system store = {.name = "store", .doc = "a row", .parts = SET(MASK), .run = nothing_run};
  struct schedule schedule = build((const struct system *const[]){&store, NULL});
  char *text = NULL;
  size_t bytes;
  (void)state;
  FILE *file = open_memstream(&text, &bytes);
  schedule_print(&schedule, file);
  fclose(file);
  assert_string_equal(text, "store: a row\n    parts  ENV.mask\ncarried to the next: nothing\n");
  free(text);
}

/* ---- worlds -------------------------------------------------------------------------------------------- */

static void worlds_give_back_what_they_take(void **state) {
  struct device *device = *state;
  struct scene scene;
  uint64_t before = device->bytes;
  size_t slice = 15 * 4, env = 5 + 4 + 4 + 15 * 4 + 4;
  assert_int_equal(world_row_bytes(&setup, all, SLICE), slice);
  assert_int_equal(world_row_bytes(&setup, all, ENV), env);
  assert_int_equal(world_row_bytes(&setup, SET(MASK), ENV), 5);
  open_scene(&scene, device, &setup);
  assert_int_equal(device->bytes - before, 4 * slice + 7 * env);
  assert_int_equal(world_column_bytes(scene.world, MAGNITUDE), 60);
  close_scene(&scene);
  assert_int_equal(device->bytes, before);
  world_close(NULL); /* what was never opened */
  assert_int_equal(device->bytes, before);
}

/* A shared column is the owner's memory, is read and written as its own, and stays when the borrower goes. */
static void columns_are_lent(void **state) {
  struct world_setup own = setup;
  struct scene owner, borrower;
  uint32_t scan[7] = {3, 1, 4, 1, 5, 9, 2}, got[7];
  own.columns = all & ~SET(SCAN);
  own.rows[ENV] = 2;
  open_scene(&owner, *state, &setup);
  open_scene(&borrower, *state, &own);
  assert_false(world_has(borrower.world, SCAN));
  world_share(borrower.world, owner.world, SET(SCAN));
  assert_true(world_has(borrower.world, SCAN));
  support_put(borrower.world, SCAN, 0, 7, scan); /* the owner has as many rows */
  support_get(owner.world, SCAN, 0, 7, got);
  assert_memory_equal(got, scan, sizeof scan);
  close_scene(&borrower);
  support_get(owner.world, SCAN, 0, 7, got);
  assert_memory_equal(got, scan, sizeof scan);
  close_scene(&owner);
}

static void half_worlds_take_half(void **state) {
  struct world_setup half = setup;
  struct device *device = *state;
  struct scene scene;
  uint64_t before = device->bytes;
  half.half = true;
  open_scene(&scene, device, &half);
  assert_int_equal(world_column_bytes(scene.world, MAGNITUDE), 30);
  assert_int_equal(world_column_bytes(scene.world, IMAGE), 60);
  close_scene(&scene);
  assert_int_equal(device->bytes, before);
}

static void columns_start_as_zero_and_are_written_and_read(void **state) {
  static const uint8_t zero[35], mask[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  uint8_t got[35];
  struct scene scene;
  open_scene(&scene, *state, &setup);
  support_get(scene.world, MASK, 0, 7, got);
  assert_memory_equal(got, zero, 35);
  support_put(scene.world, MASK, 5, 2, mask);
  support_get(scene.world, MASK, 4, 3, got);
  assert_memory_equal(got, zero, 5);
  assert_memory_equal(got + 5, mask, 10);
  support_get(scene.world, MASK, 7, 0, got); /* no rows at the end */
  close_scene(&scene);
}

static void expect_filled(struct device *device, const struct world_setup *own) {
  uint8_t mask[4 * 5];
  uint32_t scan[4];
  uint16_t magnitude[4 * 15];
  size_t envs = own->rows[ENV];
  struct scene scene;
  open_scene(&scene, device, own);
  support_fill(scene.world, MASK, 1);
  support_fill(scene.world, SCAN, 0x01020304);
  support_fill(scene.world, MAGNITUDE, 0x3c00); /* a half of 1 */
  support_get(scene.world, MASK, 0, envs, mask);
  support_get(scene.world, SCAN, 0, envs, scan);
  support_get(scene.world, MAGNITUDE, 0, envs, magnitude);
  for (size_t i = 0; i < 5 * envs; i++) assert_int_equal(mask[i], 1);
  for (size_t i = 0; i < envs; i++) assert_int_equal(scan[i], 0x01020304);
  for (size_t i = 0; i < 15 * envs; i++) assert_int_equal(magnitude[i], 0x3c00);
  close_scene(&scene);
}

/* Three and four rows: bytes that are and are not a multiple of a word. */
static void filling_sets_every_element(void **state) {
  struct world_setup own = setup;
  own.half = true;
  for (size_t envs = 1; envs <= 4; envs++) {
    own.rows[ENV] = envs;
    expect_filled(*state, &own);
  }
}

static void a_world_too_large_says_how_many_rows_fit(void **state) {
  struct world_setup large = setup;
  struct device *device = *state;
  struct world *world;
  struct error error;
  char fit[64];
  uint64_t before = device->bytes;
  size_t free_bytes = device->facts.memory - device->bytes, row = world_row_bytes(&setup, all, ENV);
  size_t most = device->facts.largest / 60, rows_fit = (free_bytes - 4 * 60) / row;
  large.rows[ENV] = (size_t)1 << 40;
  snprintf(fit, sizeof fit, "at most %zu rows fit", rows_fit < most ? rows_fit : most);
  assert_false(world_open(&world, device, NULL, &large, ENV, &error));
  assert_int_equal(error.code, ERROR_MEMORY);
  assert_holds(error.text, "the scene needs 80740352.0 MiB of device memory for 1099511627776 rows of ENV");
  assert_holds(error.text, fit);
  assert_int_equal(device->bytes, before);
}

/* The device has the memory, but not in one piece. */
static void a_column_too_large_says_how_many_rows_fit(void **state) {
  struct world_setup large = setup;
  struct device *device = *state;
  struct world *world;
  struct error error;
  char fit[64];
  uint64_t before = device->bytes;
  if (device->facts.largest + 60 > device->facts.memory - device->bytes) return;
  large.columns = SET(MAGNITUDE);
  large.rows[ENV] = device->facts.largest / 60 + 1;
  snprintf(fit, sizeof fit, "at most %zu rows fit", (size_t)device->facts.largest / 60);
  assert_false(world_open(&world, device, NULL, &large, ENV, &error));
  assert_holds(error.text, fit);
  large.columns = SET(IMAGE);
  large.rows[SLICE] = device->facts.largest / 60 + 1;
  large.rows[ENV] = 1;
  assert_false(world_open(&world, device, NULL, &large, ENV, &error)); /* the table that does not grow */
  assert_holds(error.text, "no room for column SLICE.image of");
  assert_int_equal(device->bytes, before);
}

/* ---- running a step ------------------------------------------------------------------------------------ */

static void a_step_runs_and_allocates_nothing(void **state) {
  static const uint32_t scans[7] = {0, 1, 2, 3, 4, 5, 6};
  struct device *device = *state;
  struct schedule schedule = build(step);
  struct scene scene;
  struct error error;
  uint8_t mask[7][5];
  open_scene(&scene, device, &setup);
  assert_good(schedule_prepare(&schedule, scene.kernels, &error), &error);
  support_put(scene.world, SCAN, 0, 7, scans);
  uint64_t allocations = device->allocations, bytes = device->bytes, launches = device->launches;
  calls = 0;
  schedule_run(&schedule, scene.world);
  assert_int_equal(calls, 2);
  assert_int_equal(device->launches - launches, 2);
  assert_true(device->allocations == allocations && device->bytes == bytes);
  assert_false(world_runs(scene.world));
  support_get(scene.world, MASK, 0, 7, mask);
  for (uint32_t i = 0; i < 7; i++)
    for (uint32_t x = 0; x < 5; x++) assert_int_equal(mask[i][x], x == (scans[i] + 1) % 5);
  close_scene(&scene);
}

static void kernels_of_a_step_are_checked_before_it(void **state) {
  static const struct system wrong = {
      .name = "wrong", .doc = "", .reads = SET(MASK), .writes = SET(MASK), .kernels = {"lines_wrong"}, .run = nothing_run};
  const struct system *const list[] = {&choose, &wrong, NULL};
  struct schedule schedule = build(list);
  struct scene scene;
  struct error error;
  open_scene(&scene, *state, &setup);
  assert_false(schedule_prepare(&schedule, scene.kernels, &error));
  assert_holds(error.text, "system wrong: kernel lines_wrong is not in lines.cl");
  close_scene(&scene);
}

/* ---- the guards: seen before OpenCL is, so that a child of this process may find them ------------------ */

struct access {
  struct world *world;
  struct arg (*ask)(struct world *world, unsigned component);
  unsigned component;
};

static void ask(void *context) {
  const struct access *access = context;
  access->ask(access->world, access->component);
}

static void expect_guard(struct world *world, const struct system *running,
                         struct arg (*how)(struct world *world, unsigned component), unsigned component,
                         const char *part) {
  struct world_use before = world_enter(world, running);
  support_expect_abort(ask, &(struct access){world, how, component}, part);
  world_suspend(world, before);
}

static void undeclared_columns_abort(void **state) {
  struct world_setup own = setup;
  struct scene scene;
  own.columns = all & ~SET(MAGNITUDE);
  open_scene(&scene, *state, &own);
  struct world *world = scene.world;
  expect_guard(world, NULL, world_in, MASK, "column ENV.mask is asked for outside a system");
  expect_guard(world, &choose, world_in, MASK, "system choose did not declare its read of column ENV.mask");
  expect_guard(world, &choose, world_in, ACTION,
               "system choose did not declare its read of column ENV.action");
  expect_guard(world, &choose, world_out, SCAN, "system choose did not declare its write of column ENV.scan");
  expect_guard(world, &choose, world_part, SCAN, "system choose did not declare its write of column ENV.scan");
  expect_guard(world, &choose, world_inout, ACTION, "did not declare its read of column ENV.action");
  expect_guard(world, &choose, world_inout, SCAN, "did not declare its write of column ENV.scan");
  expect_guard(world, &observe, world_out, MAGNITUDE, "column magnitude is not allocated in this world");
  struct world_use before = world_enter(world, &acquire);
  struct arg mask = world_inout(world, MASK), action = world_in(world, ACTION);
  assert_true(mask.kind == ARG_INOUT && mask.element == ELEMENT_U8 && mask.as.m);
  assert_string_equal(mask.name, "mask");
  assert_true(action.kind == ARG_IN && world_out(world, MASK).kind == ARG_OUT);
  world_leave(world, before);
  assert_ptr_equal(mask.as.m, world_memory(world, MASK));
  close_scene(&scene);
}

static void exchange_columns(void *context) {
  struct world *world = context;
  static const struct system both = {.name = "both",
                                     .doc = "",
                                     .reads = SET(SCAN) | SET(ACTION),
                                     .writes = SET(SCAN) | SET(ACTION),
                                     .run = nothing_run};
  world_enter(world, &both);
  kernel_run(world_kernels(world), "lines_choose", 1, ARGS(world_in(world, ACTION), world_out(world, SCAN)));
}

static void exchanged_columns_abort(void **state) {
  struct scene scene;
  struct error error;
  open_scene(&scene, *state, &setup);
  assert_good(kernel_need(scene.kernels, "lines_choose", &error), &error);
  support_expect_abort(exchange_columns, scene.world,
                       "lines_choose argument 0 is scan, the column given is action");
  close_scene(&scene);
}

static void read_beyond(void *context) {
  uint8_t mask[5];
  support_get(context, MASK, 7, 1, mask);
}

static void write_unallocated(void *context) {
  uint32_t word = 0;
  support_put(context, ACTION, 0, 1, &word);
}

static void rows_beyond_the_table_abort(void **state) {
  struct world_setup own = setup;
  struct scene scene;
  own.columns = SET(MASK);
  open_scene(&scene, *state, &own);
  support_expect_abort(read_beyond, scene.world, "rows 7 to 8 of mask; it has 7");
  support_expect_abort(write_unallocated, scene.world, "column action is not allocated in this world");
  close_scene(&scene);
}

/* ---- the host is guarded too, and nothing is declared in vain ------------------------------------------------ */

struct host {
  struct world *world;
  const struct system *system;
};

static void write_mask(void *context) {
  const struct host *host = context;
  uint8_t mask[5] = {0};
  if (host->system) world_enter(host->world, host->system);
  world_write(host->world, MASK, 0, 1, mask);
}

static void read_mask(void *context) {
  const struct host *host = context;
  uint8_t mask[5];
  if (host->system) world_enter(host->world, host->system);
  world_read(host->world, MASK, 0, 1, mask);
}

static void fill_mask(void *context) {
  const struct host *host = context;
  if (host->system) world_enter(host->world, host->system);
  world_fill(host->world, MASK, 0);
}

static void ask_nothing(void *context) {
  const struct host *host = context;
  setenv("L2SR_STRICT", "1", 1);
  world_leave(host->world, world_enter(host->world, host->system));
}

static void lend_mask(void *context) {
  const struct host *host = context;
  world_enter(host->world, host->system);
  world_memory(host->world, MASK);
}

static void hosts_declare_as_systems_do(void **state) {
  static const struct system writes = {.name = "writes", .parts = SET(MASK)}, reads = {.name = "reads", .reads = SET(MASK)};
  struct scene scene;
  setenv("L2SR_STRICT", "1", 1);
  open_scene(&scene, *state, &setup);
  struct host none = {scene.world, NULL}, writer = {scene.world, &writes}, reader = {scene.world, &reads};
  support_expect_abort(write_mask, &none, "column ENV.mask is asked for outside a system");
  support_expect_abort(read_mask, &none, "column ENV.mask is asked for outside a system");
  support_expect_abort(fill_mask, &none, "column ENV.mask is asked for outside a system");
  support_expect_abort(write_mask, &reader, "system reads did not declare its write of column ENV.mask");
  support_expect_abort(read_mask, &writer, "system writes did not declare its read of column ENV.mask");
  support_expect_abort(fill_mask, &writer, "system writes did not declare its write of column ENV.mask");
  support_expect_abort(lend_mask, &reader, "system reads asks for the memory of a column");
  support_expect_abort(ask_nothing, &reader, "system reads declares that it reads mask, and did not ask for it");
  support_expect_abort(ask_nothing, &writer, "system writes declares that it writes mask, and did not ask for it");
  close_scene(&scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(carried_columns_are_read_before_written),
      cmocka_unit_test(loops_are_repeated),
      cmocka_unit_test(what_is_filled_in_part_is_carried),
      cmocka_unit_test(parts_are_printed),
      cmocka_unit_test(hosts_declare_as_systems_do),
      cmocka_unit_test(loops_without_an_end_abort),
      cmocka_unit_test(loops_are_printed_with_what_they_repeat),
      cmocka_unit_test(loads_write_loaded_columns),
      cmocka_unit_test(lists_run_over_other_worlds),
      cmocka_unit_test(lists_ask_for_what_their_rows_declare),
      cmocka_unit_test(runs_are_traced),
      cmocka_unit_test(lists_are_printed_inside),
      cmocka_unit_test(columns_are_lent),
      cmocka_unit_test(impossible_orders_are_refused),
      cmocka_unit_test(too_many_systems_abort),
      cmocka_unit_test(schedules_are_printed),
      cmocka_unit_test(schedules_are_drawn),
      cmocka_unit_test(worlds_give_back_what_they_take),
      cmocka_unit_test(half_worlds_take_half),
      cmocka_unit_test(columns_start_as_zero_and_are_written_and_read),
      cmocka_unit_test(filling_sets_every_element),
      cmocka_unit_test(a_world_too_large_says_how_many_rows_fit),
      cmocka_unit_test(a_column_too_large_says_how_many_rows_fit),
      cmocka_unit_test(a_step_runs_and_allocates_nothing),
      cmocka_unit_test(kernels_of_a_step_are_checked_before_it),
      cmocka_unit_test(undeclared_columns_abort),
      cmocka_unit_test(exchanged_columns_abort),
      cmocka_unit_test(rows_beyond_the_table_abort),
  };
  return cmocka_run_group_tests(tests, support_open_device, support_close_device);
}
