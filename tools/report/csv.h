/* Tables of cells joined by commas, after RFC 4180: a cell that holds a comma, a quote or the end of a line
 * stands in quotes, and a quote in it twice. Lines end with LF, as other tools of the system expect; CRLF is
 * read too. Characters that steer a terminal and bytes that are no UTF-8 are shown as in engine/base/text.h.
 * A text that a spreadsheet would take for a formula stands behind an apostrophe; a number does not. */
#ifndef L2SR_TOOLS_CSV_H
#define L2SR_TOOLS_CSV_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void csv_text(FILE *file, const char *text); /* one cell; commas and ends of lines are the caller's */
bool csv_is(const char *cell,
            const char *text); /* whether the cell, as it was read, is what csv_text wrote */

enum { CSV_ROW = 1 << 16, CSV_COLUMNS = 512 };

/* A file that is read row by row. */
struct csv {
  const char *path;
  FILE *file;
  size_t line;                      /* where the row starts */
  size_t next;                      /* where the one after it starts */
  char text[CSV_ROW + CSV_COLUMNS]; /* bytes, and the end of every cell */
  char *cell[CSV_COLUMNS];
  size_t cells;
};

/* Opens the file and reads the first row, of names. */
bool csv_open(struct csv *csv, const char *path, struct error *error);
void csv_close(struct csv *csv); /* also where csv_open failed, or the struct is zero */
/* Reads a row into cells; *end is set where there is none left. */
bool csv_next(struct csv *csv, bool *end, struct error *error);

#endif
