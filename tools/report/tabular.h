/* A table that is written as HTML, text, CSV and LaTeX. */
#ifndef L2SR_TOOLS_TABULAR_H
#define L2SR_TOOLS_TABULAR_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct tabular_cell {
  const char *text;     /* the text that is shown; NULL: empty */
  double value, spread; /* the number that CSV has in its place; NaN: the text, and no column of spreads */
  bool best;
  size_t missing; /* values without a score, which the number leaves out: CSV has a column of them */
};

struct tabular {
  struct arena *arena;      /* the caller's; owns the cells */
  const char *file;         /* name of the CSV and LaTeX files, without the ending */
  const char *title, *note; /* note: below; NULL: none */
  bool numbers;             /* the numbers of a figure: folded away on a page */
  size_t rows, columns;
  const char **head;         /* [columns] */
  const char **group;        /* [rows]: a heading above the rows of equal ones; NULL: none */
  struct tabular_cell *cell; /* [rows][columns] */
};

struct tabular tabular_make(struct arena *arena, size_t rows, size_t columns);
struct tabular_cell *tabular_cell(const struct tabular *table, size_t row, size_t column);
void tabular_text(const struct tabular *table, size_t row, size_t column, const char *text);
/* The value with `digits` behind the point; below zero: with so many in all, and an exponent. */
const char *tabular_digits(struct arena *arena, double value, int digits);
/* Digits as in tabular_digits. */
void tabular_number(const struct tabular *table, size_t row, size_t column, double value, int digits);
/* "mean ± spread" */
void tabular_spread(const struct tabular *table, size_t row, size_t column, double mean, double spread,
                    int digits);
/* Says that the cell's number leaves out `missing` of `all` values ("slices"), which have no score. Such a
 * number is no best one: what failed may have been the hardest. */
void tabular_missing(const struct tabular *table, size_t row, size_t column, size_t missing, size_t all,
                     const char *values);
/* Marks the best of a column among rows that `takes_part` (NULL: all): the largest mean times `sign`, and all
 * that are shown with the same mean. */
void tabular_mark_best(const struct tabular *table, size_t column, double sign, const bool *takes_part,
                       int digits);

void tabular_html(const struct tabular *table, FILE *file);
void tabular_plain(const struct tabular *table, FILE *file); /* aligned text; the best with a star */
void tabular_wrap(const char *text, FILE *file);             /* a paragraph */
void tabular_csv(const struct tabular *table, FILE *file);
void tabular_latex(const struct tabular *table, FILE *file);

#endif
