/* Tables and columns as rows, and sets of columns. */
#ifndef L2SR_ENGINE_SCHEMA_H
#define L2SR_ENGINE_SCHEMA_H

#include "engine/device/kernel.h"

enum { COLUMNS_MOST = 128, TABLES_MOST = 16, SHAPES_MOST = 12 };

enum keep {
  KEEP_SCENE, /* loaded; no step writes it */
  KEEP_SAVED, /* a step may read what an earlier one wrote */
  KEEP_STEP,  /* dead between steps: a system that reads it comes after one that writes it */
  KEEP_PORT,  /* KEEP_STEP, in memory of a network that is bound to the world (world_bind) */
  KEEP_STATE, /* of a network, beside the world; its own checkpoint keeps it: no memory here, only what systems say */
  KEEP_MARK   /* the same, dead between steps */
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
  const char *const *table_advice; /* how to make a table smaller, for refusals; NULL: nobody knows */
};

/* A bit a column. */
__extension__ typedef unsigned __int128 component_set;
#define SET(component) ((component_set)1 << (component))
#define TABLE_BIT(table) (1u << (table))

/* Columns of the table, or kept so. */
component_set schema_table(const struct schema *schema, uint8_t table);
component_set schema_kept(const struct schema *schema, enum keep keep);
/* The name of the first column of a set that is not empty. */
const char *schema_first(const struct schema *schema, component_set columns);
/* " TABLE.column" for each of the set. */
void schema_print(const struct schema *schema, component_set columns, FILE *file);

#endif
