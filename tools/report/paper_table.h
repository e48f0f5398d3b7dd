/* The table of the paper over several evaluations: a setting a row, a method a column, in each cell mean and
 * deviation of every metric that is shown. */
#ifndef L2SR_TOOLS_PAPER_TABLE_H
#define L2SR_TOOLS_PAPER_TABLE_H

#include "systems/methods/evaluate.h"

enum { PAPER_ROWS = 64, PAPER_COLUMNS = 32 };

struct paper_table {
  struct arena *arena; /* the caller's; owns the texts */
  const char *row[PAPER_ROWS];
  struct paper_tested {
    const char *data;  /* a hash of the slices and of how each is scored */
    const char **keys; /* values of the keys of CONCERNS_TEST, by their place among all options; others NULL */
  } tested[PAPER_ROWS]; /* what parts rows of one text */
  const char *heading[PAPER_COLUMNS], *cell[PAPER_ROWS][PAPER_COLUMNS];
  size_t rows, columns;
};

/* Adds every run of an evaluation. Refused when there is no row or column left. */
bool paper_table_add(struct paper_table *table, const struct evaluation *evaluation,
                     const struct options *options, struct error *error);
void paper_table_print(const struct paper_table *table, const struct options *options, FILE *file);

#endif
