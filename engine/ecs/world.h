/* The world: tables of columns on the device, one buffer a column.
 *
 * Columns are the rows of a schema (components/components.h). Inside a system world_in, world_out and
 * world_inout are the only way to a column, and they REQUIRE that the system declared it. */
#ifndef L2SR_ENGINE_WORLD_H
#define L2SR_ENGINE_WORLD_H

#include "engine/ecs/schema.h"

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
  component_set bound;          /* columns whose memory belongs to another (world_bind) ... */
  size_t bound_rows[COLUMNS_MOST]; /* ... and the rows that it has */
  const struct system *running; /* the system whose reads and writes are in force; NULL outside a step */
};

struct world_setup {
  const struct schema *schema;
  component_set columns; /* to allocate */
  size_t rows[TABLES_MOST];
  size_t shape[SHAPES_MOST];
  size_t height, width;
  bool half;
};

/* Allocates the columns, all but ports; a refusal says what is needed, what the device has, and how many rows of
 * `grow_table` would fit. All columns start as zero bytes. */
bool world_open(struct world *world, struct device *device, struct kernels *kernels,
                const struct world_setup *setup, uint8_t grow_table, struct error *error);
void world_close(struct world *world);

/* Places the column in this memory of `rows` rows, whose owner outlives its use; NULL: takes the column
 * away. */
void world_bind(struct world *world, unsigned component, cl_mem memory, size_t rows);
/* Moves the column, with what it holds, into memory of the same rows, whose owner outlives its use. */
void world_move(struct world *world, unsigned component, cl_mem memory);
/* Binds a column to a column of another world with the same elements, or columns of a set to those of the
 * same names. */
void world_share_as(struct world *world, unsigned component, const struct world *owner, unsigned its);
void world_share(struct world *world, const struct world *owner, component_set columns);
bool world_has(const struct world *world, unsigned component);

/* Bytes of one row of a table for the columns of the set. */
size_t world_row_bytes(const struct world_setup *setup, component_set columns, uint8_t table);
/* Bytes of one row of one column. */
size_t world_column_bytes(const struct world *world, unsigned component);

struct arg world_in(struct world *world, unsigned component);    /* REQUIREs it in running->reads */
struct arg world_out(struct world *world, unsigned component);   /* REQUIREs it in running->writes */
struct arg world_inout(struct world *world, unsigned component); /* REQUIREs both */
struct arg world_part(struct world *world, unsigned component);  /* writes some rows: the others stay */
struct arg world_written(struct world *world, unsigned component); /* the running system's own write */

/* Host access between steps; waits. Rows, not bytes. */
void world_write(struct world *world, unsigned component, size_t row, size_t count, const void *from);
void world_read(struct world *world, unsigned component, size_t row, size_t count, void *to);
/* Memory of a column for a program that holds the world, NULL: it has none. Valid until the world closes, its
 * contents between steps. */
cl_mem world_lend(const struct world *world, unsigned component);
void world_fill(struct world *world, unsigned component, uint32_t word); /* every element's (low) bits */

/* Copies `count` rows of a column that the running system reads, from `row` on, to one of the same elements that it
 * writes; enqueues. */
void world_copy(struct world *world, unsigned from, size_t row, unsigned to, size_t to_row, size_t count);

#endif
