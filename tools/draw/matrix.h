/* A table as a figure: cells are coloured by their number, which stands in them. */
#ifndef L2SR_TOOLS_MATRIX_H
#define L2SR_TOOLS_MATRIX_H

#include "tools/draw/figure.h"

struct matrix_cell {
  double value;             /* NaN: there is none, and the cell stays empty */
  const char *text, *below; /* its number, and another one in smaller letters; NULL: none */
};

struct matrix {
  const char *title, *across; /* across: what the columns are */
  const char *const *row, *const *head;
  const struct matrix_cell *cell; /* [rows][columns] */
  size_t rows, columns;
  double sign; /* 1: the largest value is the darkest; -1: the smallest */
};
void matrix_draw(struct figure *figure, const void *matrix);

#endif
