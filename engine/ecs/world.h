/* The world: tables of columns on the device, one buffer a column.
 *
 * Columns are the rows of a schema (components/components.h). The world is opaque, and every access to a column, by a
 * kernel or by the host, is one of a system that is running (engine/ecs/schedule.h, or world_enter for what loads and
 * saves): it REQUIREs that the system declared it. Where the guard is strict, what a system asked for is compared with
 * what it declared when it ends: nothing is declared in vain. */
#ifndef L2SR_ENGINE_WORLD_H
#define L2SR_ENGINE_WORLD_H

#include "engine/ecs/schema.h"

struct system;
struct world;

struct world_setup {
  const struct schema *schema;
  component_set columns; /* to allocate */
  size_t rows[TABLES_MOST];
  size_t shape[SHAPES_MOST];
  size_t height, width;
  bool half; /* ELEMENT_REAL is F16 */
};

/* Allocates the columns, all but ports and marks; a refusal says what is needed, what the device has, and how many rows
 * of `grow_table` would fit, and leaves *world NULL. All columns start as zero bytes. */
bool world_open(struct world **world, struct device *device, struct kernels *kernels,
                const struct world_setup *setup, uint8_t grow_table, struct error *error);
void world_close(struct world *world); /* NULL: nothing */

/* ---- what it is ---------------------------------------------------------------------------------------- */

struct device *world_device(const struct world *world);
struct kernels *world_kernels(const struct world *world);
const struct schema *world_schema(const struct world *world);
size_t world_rows(const struct world *world, unsigned table); /* in use */
void world_set_rows(struct world *world, unsigned table, size_t rows);
size_t world_capacity(const struct world *world, unsigned table); /* rows allocated */
size_t world_shape(const struct world *world, unsigned shape);    /* elements a row */
size_t world_height(const struct world *world);
size_t world_width(const struct world *world);
bool world_half(const struct world *world);
bool world_has(const struct world *world, unsigned component);
component_set world_columns(const struct world *world); /* that it has */

/* Bytes of one row of a table for the columns of the set. */
size_t world_row_bytes(const struct world_setup *setup, component_set columns, uint8_t table);
/* Bytes of one row of one column. */
size_t world_column_bytes(const struct world *world, unsigned component);

/* ---- memory of others ---------------------------------------------------------------------------------- */

/* Places the column in this memory of `rows` rows, whose owner outlives its use; NULL: takes the column
 * away. */
void world_bind(struct world *world, unsigned component, cl_mem memory, size_t rows);
bool world_is_bound(const struct world *world, unsigned component, cl_mem memory); /* to that memory */
/* Moves the column, with what it holds, into memory of the same rows, whose owner outlives its use. */
void world_move(struct world *world, unsigned component, cl_mem memory);
/* Binds a column to a column of another world with the same elements, or columns of a set to those of the
 * same names. */
void world_share_as(struct world *world, unsigned component, const struct world *owner, unsigned its);
void world_share(struct world *world, const struct world *owner, component_set columns);
/* Memory of a column for a program that holds the world, NULL: it has none. Valid until the world closes, its
 * contents between steps; not for systems. */
cl_mem world_memory(const struct world *world, unsigned component);

/* ---- who runs ------------------------------------------------------------------------------------------ */

/* A system, with the columns that it has asked for so far. */
struct world_use {
  const struct system *system; /* NULL: none runs */
  component_set reads, writes;
  struct world *outer; /* whose system runs this one; NULL: none */
};

/* From here to world_leave the accesses are this system's. What the host does between steps, such as loading and saving,
 * is declared by such a row without `run`. Returns the use to go back to. */
struct world_use world_enter(struct world *world, const struct system *system);
/* Ends the running system, and compares where the guard is strict. */
void world_leave(struct world *world, struct world_use before);
/* The same without the comparison; returns what was asked for. */
struct world_use world_suspend(struct world *world, struct world_use before);
/* Where the guard is strict (L2SR_STRICT is set, or a build without optimisation): REQUIREs that all that was declared
 * was asked for. */
void world_compare(const struct world *world, const struct world_use *use);
/* What a list over `inner` has asked for is asked for by the system that runs over `outer`: of columns that are outer's
 * (world_share_as), and of networks, which stand beside the worlds. */
void world_pass(const struct world *inner, struct world *outer, component_set reads, component_set writes);
/* Where the guard is strict and L2SR_TRACE names a file: that file, which notes what runs. NULL: none does. */
const char *world_trace(const struct world *world);
/* The running system has nothing to do this time: what it declared is not compared. */
void world_idle(struct world *world);
bool world_runs(const struct world *world); /* whether a system runs */
struct world *world_running(void); /* whose system runs on this thread; NULL: none */
/* Whether the running system declares it: what a list adds to a row, its run function finds so. */
bool world_reads(const struct world *world, unsigned component);
bool world_writes(const struct world *world, unsigned component);

/* ---- for systems --------------------------------------------------------------------------------------- */

struct arg world_in(struct world *world, unsigned component);    /* REQUIREs it in reads */
struct arg world_out(struct world *world, unsigned component);   /* REQUIREs it in writes */
struct arg world_inout(struct world *world, unsigned component); /* REQUIREs both */
struct arg world_part(struct world *world, unsigned component);  /* in writes or parts: the kernel writes some rows */
struct arg world_written(struct world *world, unsigned component); /* the running system's own write */
/* For what works on columns, and marks, by handles of its own, as a network on its ports: REQUIREs them declared. */
void world_touch(struct world *world, component_set reads, component_set writes);

/* Host access; waits. Rows, not bytes. A write of fewer rows than the column has wants no whole write declared: parts
 * will do. */
void world_write(struct world *world, unsigned component, size_t row, size_t count, const void *from);
void world_read(struct world *world, unsigned component, size_t row, size_t count, void *to);
void world_fill(struct world *world, unsigned component, uint32_t word); /* every element's (low) bits */

/* The same between steps, of the only column that this row declares. */
void world_put(struct world *world, const struct system *load, unsigned component, size_t row, size_t count,
               const void *from);
void world_get(struct world *world, const struct system *save, unsigned component, size_t row, size_t count, void *to);

/* Copies `count` rows of a column that the running system reads, from `row` on, to one of the same elements that it
 * writes; enqueues. */
void world_copy(struct world *world, unsigned from, size_t row, unsigned to, size_t to_row, size_t count);

#endif
