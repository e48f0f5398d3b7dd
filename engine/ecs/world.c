#include "engine/ecs/world.h"

#include "engine/ecs/system.h"

#include <string.h>

static size_t row_bytes(const struct component_desc *component, const size_t *shape, bool half) {
  return element_bytes(component->element, half) * shape[component->shape];
}

size_t world_row_bytes(const struct world_setup *setup, component_set columns, uint8_t table) {
  size_t bytes = 0;
  for (size_t c = 0; c < setup->schema->component_count; c++) {
    const struct component_desc *component = &setup->schema->components[c];
    if ((columns & SET(c)) && component->table == table && component->keep != KEEP_PORT)
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
    if (!(setup->columns & SET(c)) || component->table != table || component->keep == KEEP_PORT) continue;
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

bool world_open(struct world *world, struct device *device, struct kernels *kernels,
                const struct world_setup *setup, uint8_t grow_table, struct error *error) {
  REQUIRE(setup->schema->component_count <= COLUMNS_MOST, "a set holds %d columns", COLUMNS_MOST);
  *world = (struct world){.device = device,
                          .kernels = kernels,
                          .schema = setup->schema,
                          .height = setup->height,
                          .width = setup->width,
                          .half = setup->half};
  memcpy(world->rows, setup->rows, sizeof world->rows);
  memcpy(world->capacity, setup->rows, sizeof world->capacity);
  memcpy(world->shape, setup->shape, sizeof world->shape);
  if (!check_room(setup, device, grow_table, error)) return false;
  for (unsigned c = 0; c < setup->schema->component_count; c++) {
    const struct component_desc *component = &setup->schema->components[c];
    if (!(setup->columns & SET(c)) || component->keep == KEEP_PORT) continue;
    size_t bytes = world_column_bytes(world, c) * world->capacity[component->table];
    char what[96];
    snprintf(what, sizeof what, "column %s.%s of %zu rows", setup->schema->table_names[component->table],
             component->name, world->capacity[component->table]);
    world->column[c] = device_buffer(device, bytes, what, error);
    if (!world->column[c]) {
      world_close(world);
      return false;
    }
    device_fill(device, world->column[c], 0, bytes, 0);
  }
  return true;
}

void world_close(struct world *world) {
  if (!world->schema) return;
  for (unsigned c = 0; c < world->schema->component_count; c++) {
    size_t rows = world->capacity[world->schema->components[c].table];
    if (world->column[c] && !(world->bound & SET(c)))
      device_release(world->device, world->column[c], world_column_bytes(world, c) * rows);
    world->column[c] = NULL;
  }
  world->bound = 0;
}

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
}

void world_share(struct world *world, const struct world *owner, component_set columns) {
  for (unsigned c = 0; c < world->schema->component_count; c++)
    if (columns & SET(c)) world_share_as(world, c, owner, c);
}

bool world_has(const struct world *world, unsigned component) {
  return world->column[component];
}

static struct arg column_arg(struct world *world, unsigned component, enum arg_kind kind, bool declared) {
  const struct component_desc *row = &world->schema->components[component];
  REQUIRE(world->running, "column %s is asked for outside a system", row->name);
  REQUIRE(declared, "system %s did not declare its use of column %s.%s", world->running->name,
          world->schema->table_names[row->table], row->name);
  REQUIRE(world->column[component], "column %s is not allocated in this world", row->name);
  return (struct arg){
      .kind = kind, .element = row->element, .name = row->name, .as.m = world->column[component]};
}

struct arg world_in(struct world *world, unsigned component) {
  return column_arg(world, component, ARG_IN, world->running && (world->running->reads & SET(component)));
}

struct arg world_out(struct world *world, unsigned component) {
  return column_arg(world, component, ARG_OUT, world->running && (world->running->writes & SET(component)));
}

struct arg world_inout(struct world *world, unsigned component) {
  const struct system *running = world->running;
  return column_arg(world, component, ARG_INOUT,
                    running && (running->reads & running->writes & SET(component)));
}

/* Kernels that write a part of the rows declare their output as read too. */
struct arg world_part(struct world *world, unsigned component) {
  struct arg arg = world_out(world, component);
  arg.kind = ARG_INOUT;
  return arg;
}

struct arg world_written(struct world *world, unsigned component) {
  struct arg arg = world_out(world, component);
  arg.kind = ARG_IN;
  return arg;
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
  device_write(world->device, world->column[component], row * bytes, count * bytes, from);
}

void world_read(struct world *world, unsigned component, size_t row, size_t count, void *to) {
  size_t bytes = check_rows(world, component, row, count);
  device_read(world->device, world->column[component], row * bytes, count * bytes, to);
}

cl_mem world_lend(const struct world *world, unsigned component) {
  REQUIRE(!world->running, "a system lends nothing: it has world_in and world_out");
  return world->column[component];
}

void world_fill(struct world *world, unsigned component, uint32_t word) {
  const struct component_desc *desc = &world->schema->components[component];
  size_t element = element_bytes(desc->element, world->half);
  if (element == 1) word = (word & 0xff) * 0x01010101u;
  if (element == 2) word = (word & 0xffff) * 0x00010001u;
  size_t rows = rows_of(world, component), bytes = check_rows(world, component, 0, rows);
  device_fill(world->device, world->column[component], 0, bytes * rows, word);
}

void world_copy(struct world *world, unsigned from, size_t row, unsigned to, size_t to_row, size_t count) {
  struct arg source = world_in(world, from), target = world_out(world, to);
  size_t bytes = world_column_bytes(world, to);
  device_copy(world->device, source.as.m, row * bytes, target.as.m, to_row * bytes, count * bytes);
}
