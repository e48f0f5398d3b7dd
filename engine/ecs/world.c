#include "engine/ecs/world.h"

#include "engine/base/arena.h"
#include "engine/ecs/trace.h"

#include <stdlib.h>
#include <string.h>

struct world {
  struct arena *arena; /* owns this */
  struct device *device;
  struct kernels *kernels;
  const struct schema *schema;
  size_t rows[TABLES_MOST];     /* in use */
  size_t capacity[TABLES_MOST]; /* allocated */
  size_t shape[SHAPES_MOST];    /* elements a row */
  size_t height, width;
  bool half; /* ELEMENT_REAL is F16 */
  cl_mem column[COLUMNS_MOST];
  component_set bound;             /* columns whose memory belongs to another (world_bind) ... */
  size_t bound_rows[COLUMNS_MOST]; /* ... and the rows that it has */
  const struct world *owner[COLUMNS_MOST]; /* whose column it is (world_share_as); NULL: nobody's */
  uint8_t its[COLUMNS_MOST];               /* which of them */
  bool strict;                     /* what was declared is compared with what was asked for */
  const char *without;             /* "SYSTEM USE COLUMN", a declaration that does not count; NULL: all do */
  const char *trace;               /* the file that notes what runs; NULL: none does */
  struct world_use use;            /* whose reads and writes are in force */
};

/* Columns with memory of the world's own. */
static bool has_memory(enum keep keep) {
  return keep != KEEP_PORT && keep != KEEP_STATE && keep != KEEP_MARK;
}

static size_t row_bytes(const struct component_desc *component, const size_t *shape, bool half) {
  return element_bytes(component->element, half) * shape[component->shape];
}

size_t world_row_bytes(const struct world_setup *setup, component_set columns, uint8_t table) {
  size_t bytes = 0;
  for (size_t c = 0; c < setup->schema->component_count; c++) {
    const struct component_desc *component = &setup->schema->components[c];
    if ((columns & SET(c)) && component->table == table && has_memory(component->keep))
      bytes += row_bytes(component, setup->shape, setup->half);
  }
  return bytes;
}

size_t world_column_bytes(const struct world *world, unsigned component) {
  return row_bytes(&world->schema->components[component], world->shape, world->half);
}

/* The most rows of `table` for which every column fits into one allocation. */
static size_t rows_in_one_buffer(const struct world_setup *setup, const struct device *device,
                                 uint8_t table) {
  size_t widest = 1;
  for (size_t c = 0; c < setup->schema->component_count; c++) {
    const struct component_desc *component = &setup->schema->components[c];
    if (!(setup->columns & SET(c)) || component->table != table || !has_memory(component->keep)) continue;
    size_t bytes = row_bytes(component, setup->shape, setup->half);
    if (bytes > widest) widest = bytes;
  }
  return device->facts.largest / widest;
}

/* Rows of `table` that fit beside the other tables, at most what one allocation may hold. */
static size_t rows_that_fit(const struct world_setup *setup, const struct device *device, uint8_t table,
                            size_t others) {
  size_t row = world_row_bytes(setup, setup->columns, table);
  size_t room = device->facts.memory - device->bytes;
  room = room > others ? room - others : 0;
  size_t fit = row ? room / row : 0, most = rows_in_one_buffer(setup, device, table);
  return fit < most ? fit : most;
}

static const char *advice(const struct schema *schema, uint8_t table) {
  return schema->table_advice ? schema->table_advice[table] : "ask for fewer rows";
}

static bool check_room(const struct world_setup *setup, const struct device *device, uint8_t grow_table,
                       struct error *error) {
  size_t total = 0, others = 0, most_bytes = 0;
  uint8_t largest = grow_table;
  for (uint8_t t = 0; t < setup->schema->table_count; t++) {
    size_t bytes = world_row_bytes(setup, setup->columns, t) * setup->rows[t];
    total += bytes;
    if (t != grow_table) others += bytes;
    if (bytes > most_bytes) most_bytes = bytes, largest = t;
  }
  if (total <= device->facts.memory - device->bytes && !device_has_room(device, total, "the scene's columns", error))
    return false;
  if (total <= device->facts.memory - device->bytes &&
      setup->rows[grow_table] <= rows_in_one_buffer(setup, device, grow_table))
    return true;
  for (uint8_t t = 0; t < setup->schema->table_count; t++) { /* fewer rows of grow_table would not help */
    size_t most = rows_in_one_buffer(setup, device, t);
    if (t != grow_table && setup->rows[t] > most)
      return fail_memory(
          error,
          "%zu rows of %s do not fit into one allocation of %.1f MiB a column on %s; at most %zu "
          "rows fit; %s",
          setup->rows[t], setup->schema->table_names[t], (double)device->facts.largest / 0x1p20,
          device->facts.name, most, advice(setup->schema, t));
  }
  size_t fit = rows_that_fit(setup, device, grow_table, others);
  return fail_memory(
      error,
      "the scene needs %.1f MiB of device memory for %zu rows of %s, %s has %.1f MiB free, %.1f MiB in one "
      "column; at most %zu rows fit; %s",
      (double)total / 0x1p20, setup->rows[grow_table], setup->schema->table_names[grow_table],
      device->facts.name, (double)(device->facts.memory - device->bytes) / 0x1p20,
      (double)device->facts.largest / 0x1p20, fit, advice(setup->schema, fit ? grow_table : largest));
}

/* Guards are tried by taking a declaration away (tests/cli/undeclared.sh). */
static const char *find_without(bool strict) {
  return strict ? getenv("L2SR_UNDECLARED") : NULL;
}

/* What ran is compared with what was described (tests/cli/trace.sh). */
static const char *find_trace(bool strict) {
  return strict ? getenv("L2SR_TRACE") : NULL;
}

static bool is_strict(void) {
#ifdef __OPTIMIZE__
  return getenv("L2SR_STRICT");
#else
  return true;
#endif
}

static struct world *make(struct device *device, struct kernels *kernels, const struct world_setup *setup) {
  struct arena *arena = arena_open();
  struct world *world = ARENA_NEW(arena, struct world, 1);
  *world = (struct world){.arena = arena,
                          .device = device,
                          .kernels = kernels,
                          .schema = setup->schema,
                          .height = setup->height,
                          .width = setup->width,
                          .half = setup->half,
                          .strict = is_strict()};
  world->without = find_without(world->strict);
  world->trace = find_trace(world->strict);
  memcpy(world->rows, setup->rows, sizeof world->rows);
  memcpy(world->capacity, setup->rows, sizeof world->capacity);
  memcpy(world->shape, setup->shape, sizeof world->shape);
  return world;
}

static bool allocate(struct world *world, unsigned component, struct error *error) {
  const struct component_desc *row = &world->schema->components[component];
  size_t bytes = world_column_bytes(world, component) * world->capacity[row->table];
  char what[96];
  snprintf(what, sizeof what, "column %s.%s of %zu rows", world->schema->table_names[row->table], row->name,
           world->capacity[row->table]);
  world->column[component] = device_buffer(world->device, bytes, what, error);
  if (!world->column[component]) return false;
  device_fill(world->device, world->column[component], 0, bytes, 0);
  return true;
}

bool world_open(struct world **opened, struct device *device, struct kernels *kernels,
                const struct world_setup *setup, uint8_t grow_table, struct error *error) {
  REQUIRE(setup->schema->component_count <= COLUMNS_MOST, "a set holds %d columns", COLUMNS_MOST);
  *opened = NULL;
  if (!check_room(setup, device, grow_table, error)) return false;
  struct world *world = make(device, kernels, setup);
  for (unsigned c = 0; c < setup->schema->component_count; c++) {
    if (!(setup->columns & SET(c)) || !has_memory(setup->schema->components[c].keep)) continue;
    if (!allocate(world, c, error)) {
      world_close(world);
      return false;
    }
  }
  *opened = world;
  return true;
}

void world_close(struct world *world) {
  if (!world) return;
  for (unsigned c = 0; c < world->schema->component_count; c++) {
    size_t rows = world->capacity[world->schema->components[c].table];
    if (world->column[c] && !(world->bound & SET(c)))
      device_release(world->device, world->column[c], world_column_bytes(world, c) * rows);
  }
  arena_close(world->arena);
}

/* ---- what it is ---------------------------------------------------------------------------------------- */

struct device *world_device(const struct world *world) {
  return world->device;
}

struct kernels *world_kernels(const struct world *world) {
  return world->kernels;
}

const struct schema *world_schema(const struct world *world) {
  return world->schema;
}

size_t world_rows(const struct world *world, unsigned table) {
  return world->rows[table];
}

void world_set_rows(struct world *world, unsigned table, size_t rows) {
  REQUIRE(rows <= world->capacity[table], "%zu rows of %s; it has %zu", rows, world->schema->table_names[table],
          world->capacity[table]);
  world->rows[table] = rows;
}

size_t world_capacity(const struct world *world, unsigned table) {
  return world->capacity[table];
}

size_t world_shape(const struct world *world, unsigned shape) {
  return world->shape[shape];
}

size_t world_height(const struct world *world) {
  return world->height;
}

size_t world_width(const struct world *world) {
  return world->width;
}

bool world_half(const struct world *world) {
  return world->half;
}

bool world_has(const struct world *world, unsigned component) {
  return world->column[component];
}

component_set world_columns(const struct world *world) {
  component_set columns = 0;
  for (unsigned c = 0; c < world->schema->component_count; c++)
    if (world->column[c]) columns |= SET(c);
  return columns;
}

/* ---- memory of others ---------------------------------------------------------------------------------- */

/* Rows that the column has room for. */
static size_t rows_of(const struct world *world, unsigned component) {
  if (world->bound & SET(component)) return world->bound_rows[component];
  return world->capacity[world->schema->components[component].table];
}

void world_bind(struct world *world, unsigned component, cl_mem memory, size_t rows) {
  const struct component_desc *row = &world->schema->components[component];
  REQUIRE(!world->column[component] || (world->bound & SET(component)), "column %s is the world's own",
          row->name);
  world->column[component] = memory;
  world->owner[component] = NULL;
  world->bound |= SET(component);
  world->bound_rows[component] = memory ? rows : 0;
}

void world_move(struct world *world, unsigned component, cl_mem memory) {
  cl_mem before = world->column[component];
  size_t rows = rows_of(world, component), bytes = world_column_bytes(world, component) * rows;
  bool own = !(world->bound & SET(component));
  device_copy(world->device, before, 0, memory, 0, bytes);
  world->column[component] = NULL;
  world_bind(world, component, memory, rows);
  if (own) device_release(world->device, before, bytes); /* the driver keeps it until the copy is done */
}

void world_share_as(struct world *world, unsigned component, const struct world *owner, unsigned its) {
  world_bind(world, component, owner->column[its], rows_of(owner, its));
  world->owner[component] = owner;
  world->its[component] = (uint8_t)its;
}

void world_share(struct world *world, const struct world *owner, component_set columns) {
  for (unsigned c = 0; c < world->schema->component_count; c++)
    if (columns & SET(c)) world_share_as(world, c, owner, c);
}

cl_mem world_memory(const struct world *world, unsigned component) {
  REQUIRE(!world->use.system, "system %s asks for the memory of a column: it has world_in and world_out",
          world->use.system->name);
  return world->column[component];
}

/* ---- who runs ------------------------------------------------------------------------------------------ */

struct world_use world_enter(struct world *world, const struct system *system) {
  struct world_use before = world->use;
  world->use = (struct world_use){.system = system, .outer = thread_at};
  thread_at = world;
  return before;
}

struct world_use world_suspend(struct world *world, struct world_use before) {
  struct world_use use = world->use;
  world->use = before;
  thread_at = use.outer;
  return use;
}

void world_compare(const struct world *world, const struct world_use *use) {
  const struct system *system = use->system;
  if (!world->strict) return;
  component_set reads = system->reads & ~use->reads, writes = (system->writes | system->parts) & ~use->writes;
  REQUIRE(!reads, "system %s declares that it reads %s, and did not ask for it", system->name,
          schema_first(world->schema, reads));
  REQUIRE(!writes, "system %s declares that it writes %s, and did not ask for it", system->name,
          schema_first(world->schema, writes));
}

/* What the host does inside of a system is that system's. */
static void trace_host(const struct world *world, const struct world_use *use) {
  const struct system *system = use->system;
  FILE *file = use->outer || system->run ? NULL : fopen(world->trace, "a");
  const char *stage = world->device->stage;
  if (!file) return;
  trace_print(world->schema, &(struct trace_place){stage ? stage : "", TRACE_HOST, "", 0}, system, use->reads,
              use->writes, file);
  fclose(file);
}

void world_leave(struct world *world, struct world_use before) {
  struct world_use use = world_suspend(world, before);
  world_compare(world, &use);
  if (world->trace) trace_host(world, &use);
}

void world_idle(struct world *world) {
  world->use.reads = world->use.writes = ~(component_set)0;
}

struct world *world_running(void) {
  return thread_at;
}

bool world_is_bound(const struct world *world, unsigned component, cl_mem memory) {
  return world->column[component] == memory;
}

const char *world_trace(const struct world *world) {
  return world->trace;
}

bool world_runs(const struct world *world) {
  return world->use.system;
}

bool world_reads(const struct world *world, unsigned component) {
  return world->use.system && (world->use.system->reads & SET(component));
}

bool world_writes(const struct world *world, unsigned component) {
  return world->use.system && (world->use.system->writes & SET(component));
}

/* ---- for systems --------------------------------------------------------------------------------------- */

static void refuse(const struct world *world, unsigned component, const char *what) {
  const struct component_desc *row = &world->schema->components[component];
  const char *table = world->schema->table_names[row->table];
  REQUIRE(world->use.system, "column %s.%s is asked for outside a system", table, row->name);
  REQUIRE(false, "system %s did not declare its %s of column %s.%s", world->use.system->name, what, table, row->name);
}

static bool is_without(const struct world *world, unsigned component, const char *use) {
  const struct component_desc *row = &world->schema->components[component];
  char text[160];
  snprintf(text, sizeof text, "%s %s %s.%s", world->use.system->name, use, world->schema->table_names[row->table],
           row->name);
  return !strcmp(text, world->without);
}

/* What a system has written whole itself it may read. */
static bool is_own(const struct world *world, unsigned component) {
  return world_writes(world, component) && !world_reads(world, component) && (world->use.writes & SET(component));
}

static void ask_read(struct world *world, unsigned component) {
  if (is_own(world, component)) return;
  if (!world_reads(world, component) || (world->without && is_without(world, component, "reads")))
    refuse(world, component, "read");
  world->use.reads |= SET(component);
}

/* part: it writes some rows. */
static void ask_write(struct world *world, unsigned component, bool part) {
  const struct system *system = world->use.system;
  if (!system || !((system->writes | (part ? system->parts : 0)) & SET(component)) ||
      (world->without && is_without(world, component, "writes")))
    refuse(world, component, "write");
  world->use.writes |= SET(component);
}

static struct arg column_arg(const struct world *world, unsigned component, enum arg_kind kind) {
  const struct component_desc *row = &world->schema->components[component];
  REQUIRE(world->column[component], "column %s is not allocated in this world", row->name);
  return (struct arg){
      .kind = kind, .element = row->element, .name = row->name, .bytes = world_column_bytes(world, component), .as.m = world->column[component]};
}

struct arg world_in(struct world *world, unsigned component) {
  ask_read(world, component);
  return column_arg(world, component, ARG_IN);
}

struct arg world_out(struct world *world, unsigned component) {
  ask_write(world, component, false);
  return column_arg(world, component, ARG_OUT);
}

struct arg world_inout(struct world *world, unsigned component) {
  ask_read(world, component);
  ask_write(world, component, true);
  return column_arg(world, component, ARG_INOUT);
}

/* Kernels that write a part of the rows declare their output as read too. */
struct arg world_part(struct world *world, unsigned component) {
  ask_write(world, component, true);
  return column_arg(world, component, ARG_INOUT);
}

struct arg world_written(struct world *world, unsigned component) {
  ask_write(world, component, true);
  return column_arg(world, component, ARG_IN);
}

/* Whether a column of inner is one of outer's, or a network's, which knows no worlds; *its: which. */
static bool is_outside(const struct world *inner, const struct world *outer, unsigned component, unsigned *its) {
  enum keep keep = inner->schema->components[component].keep;
  bool shared = inner->owner[component] == outer;
  *its = shared ? inner->its[component] : component;
  return shared || keep == KEEP_STATE || keep == KEEP_MARK;
}

void world_pass(const struct world *inner, struct world *outer, component_set reads, component_set writes) {
  unsigned its;
  for (unsigned c = 0; c < inner->schema->component_count; c++) {
    if (!((reads | writes) & SET(c)) || !is_outside(inner, outer, c, &its)) continue;
    if (reads & SET(c)) ask_read(outer, its);
    if (writes & SET(c)) ask_write(outer, its, true);
  }
}

void world_touch(struct world *world, component_set reads, component_set writes) {
  for (unsigned c = 0; c < world->schema->component_count; c++) {
    if (reads & SET(c)) ask_read(world, c);
    if (writes & SET(c)) ask_write(world, c, true);
  }
}

static size_t check_rows(const struct world *world, unsigned component, size_t row, size_t count) {
  const struct component_desc *desc = &world->schema->components[component];
  REQUIRE(world->column[component], "column %s is not allocated in this world", desc->name);
  REQUIRE(row + count <= rows_of(world, component), "rows %zu to %zu of %s; it has %zu", row, row + count,
          desc->name, rows_of(world, component));
  return world_column_bytes(world, component);
}

void world_write(struct world *world, unsigned component, size_t row, size_t count, const void *from) {
  size_t bytes = check_rows(world, component, row, count);
  ask_write(world, component, true);
  device_write(world->device, world->column[component], row * bytes, count * bytes, from);
}

void world_read(struct world *world, unsigned component, size_t row, size_t count, void *to) {
  size_t bytes = check_rows(world, component, row, count);
  ask_read(world, component);
  device_read(world->device, world->column[component], row * bytes, count * bytes, to);
}

void world_put(struct world *world, const struct system *load, unsigned component, size_t row, size_t count,
               const void *from) {
  struct world_use before = world_enter(world, load);
  world_write(world, component, row, count, from);
  world_leave(world, before);
}

void world_get(struct world *world, const struct system *save, unsigned component, size_t row, size_t count, void *to) {
  struct world_use before = world_enter(world, save);
  world_read(world, component, row, count, to);
  world_leave(world, before);
}

void world_fill(struct world *world, unsigned component, uint32_t word) {
  const struct component_desc *desc = &world->schema->components[component];
  size_t element = element_bytes(desc->element, world->half);
  if (element == 1) word = (word & 0xff) * 0x01010101u;
  if (element == 2) word = (word & 0xffff) * 0x00010001u;
  size_t rows = rows_of(world, component), bytes = check_rows(world, component, 0, rows);
  ask_write(world, component, false);
  device_fill(world->device, world->column[component], 0, bytes * rows, word);
}

void world_copy(struct world *world, unsigned from, size_t row, unsigned to, size_t to_row, size_t count) {
  struct arg source = world_in(world, from), target = world_part(world, to);
  size_t bytes = world_column_bytes(world, to);
  device_copy(world->device, source.as.m, row * bytes, target.as.m, to_row * bytes, count * bytes);
}
