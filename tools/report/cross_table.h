/* All pairs of what chooses actions (heuristics, masks, policies: the rows) and of what reconstructs (the
 * columns): which evaluation a pair is, and the table of them all. */
#ifndef L2SR_TOOLS_CROSS_TABLE_H
#define L2SR_TOOLS_CROSS_TABLE_H

#include "engine/files/part.h"
#include "systems/methods/evaluate.h"

enum { CROSS_ROWS = 64, CROSS_COLUMNS = 32, CROSS_SETTINGS = 64 };

struct cross_side {
  const char *name, *path; /* path: ""; no file */
  const char *sampler;     /* of a row */
};

struct cross_cell {
  size_t scans;
  double mean[METRICS], std[METRICS]; /* of metrics that were computed */
};

struct cross_setting {
  uint32_t acceleration;
  const char *horizon, *label;
  struct cross_cell *cell; /* [rows][columns] */
};

struct cross_table {
  struct arena *arena;
  const char *folder; /* "": nothing is written */
  struct cross_side row[CROSS_ROWS], reconstructor[CROSS_COLUMNS];
  size_t rows, columns, settings;
  struct cross_setting setting[CROSS_SETTINGS];
  bool computed[METRICS], shown[METRICS];
  struct text_file csv;
};

/* Whether the scene asks for pairs. */
bool cross_is_asked(const struct options *options);
/* Finds rows and columns; refuses files that are not there. `options` are of the whole table here, of one
 * pair below. */
bool cross_plan(struct cross_table *table, struct arena *arena, const struct options *options,
                struct error *error);
/* Opens cross.csv, unless the folder has one that may not be replaced. */
bool cross_open(struct cross_table *table, bool overwrite, struct error *error);
void cross_close(struct cross_table *table); /* removes what cross_write did not finish */

/* The options that evaluate the pair as any other evaluation, into a folder of its own. */
void cross_choose(const struct cross_table *table, size_t row, size_t column, struct options *options);
bool cross_add(struct cross_table *table, size_t row, size_t column, const struct evaluation *evaluation,
               struct error *error);
void cross_print(const struct cross_table *table, FILE *file);
bool cross_write(struct cross_table *table, struct error *error);

#endif
