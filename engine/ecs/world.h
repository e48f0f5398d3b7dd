/* The world: tables of columns on the device, one buffer a column.
 *
 * Columns are the rows of a schema (components/components.h). Inside a system world_in, world_out and
 * world_inout are the only way to a column, and they REQUIRE that the system declared it. */
#ifndef L2SR_ENGINE_WORLD_H
#define L2SR_ENGINE_WORLD_H

#include "engine/device/kernel.h"

enum { COLUMNS_MOST = 64, TABLES_MOST = 8, SHAPES_MOST = 8 };

enum keep {
  KEEP_SCENE, /* loaded once, never written by a step */
  KEEP_SAVED, /* carried from step to step: checkpointed */
  KEEP_STEP   /* dead between steps */
};

struct component_desc {
  const char *name;
  uint8_t table;
  enum element element;
  shape_id shape;
  enum keep keep;
  const char *doc;
};

struct schema {
  const struct component_desc *components;
  size_t component_count;
  const char *const *table_names;
  size_t table_count;
  const char *const *shape_names; /* "one", "W", "HW" ... */
  size_t shape_count;
  const char *const *table_advice; /* what makes a table smaller, for refusals; NULL: nobody knows */
};

typedef uint64_t component_set;
#define SET(component) ((component_set)1 << (component))

struct system;

struct world {
  struct device *device;
  struct kernels *kernels;
  const struct schema *schema;
  size_t rows[TABLES_MOST];     /* in use */
  size_t capacity[TABLES_MOST]; /* allocated */
  size_t shape[SHAPES_MOST];    /* elements a row */
  size_t height, width;
  bool half; /* ELEMENT_REAL is F16 */
  cl_mem column[COLUMNS_MOST];
  const struct system *running; /* whose reads and writes are in force; NULL outside a step */
};

struct world_setup {
  const struct schema *schema;
  component_set columns; /* to allocate */
  size_t rows[TABLES_MOST];
  size_t shape[SHAPES_MOST];
  size_t height, width;
  bool half;
};

/* Allocates the columns; a refusal says what is needed, what the device has, and how many rows of
 * `grow_table` would fit. All columns start as zero bytes. */
bool world_open(struct world *world, struct device *device, struct kernels *kernels,
                const struct world_setup *setup, uint8_t grow_table, struct error *error);
void world_close(struct world *world);

/* Bytes of one row of a table for the columns of the set. */
size_t world_row_bytes(const struct world_setup *setup, component_set columns, uint8_t table);
/* Bytes of one row of one column. */
size_t world_column_bytes(const struct world *world, unsigned component);

struct arg world_in(struct world *world, unsigned component);    /* REQUIREs it in running->reads */
struct arg world_out(struct world *world, unsigned component);   /* REQUIREs it in running->writes */
struct arg world_inout(struct world *world, unsigned component); /* REQUIREs both */

/* Host access between steps; waits. Rows, not bytes. */
void world_write(struct world *world, unsigned component, size_t row, size_t count, const void *from);
void world_read(struct world *world, unsigned component, size_t row, size_t count, void *to);
void world_fill(struct world *world, unsigned component, uint32_t word); /* every element's (low) bits */

#endif
