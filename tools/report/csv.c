#include "tools/report/csv.h"

#include "engine/base/text.h"
#include "engine/files/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char lines[] = "\n\r\t"; /* controls that stay, in quotes */

static bool is_number(const char *text) {
  char *end;
  strtod(text, &end);
  return end > text && !*end && !text[strspn(text, "+-.0123456789eE")];
}

/* Spreadsheets take a text that begins so for a formula, which may run programs; the wide forms are those of
 * East Asian keyboards. */
static bool is_formula(const char *text) {
  static const char *const starts[] = {"=",  "+",      "-",      "@",      "\t",    "\r",
                                       "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (!strncmp(text, starts[i], strlen(starts[i]))) return !is_number(text);
  return false;
}

static void put_cell(FILE *file, const char *text, bool quoted) {
  if (is_formula(text)) fputc('\'', file);
  while (*text)
    if (strchr(lines, *text))
      fputc(*text++, file);
    else if (*text == '"' && quoted)
      fputs("\"\"", file), text++;
    else
      text += text_show_character(file, text);
}

void csv_text(FILE *file, const char *text) {
  bool quoted = strpbrk(text, ",\"\n\r\t");
  if (quoted) fputc('"', file);
  put_cell(file, text, quoted);
  if (quoted) fputc('"', file);
}

bool csv_is(const char *cell, const char *text) {
  char *shown = NULL;
  size_t bytes = 0;
  FILE *memory = open_memstream(&shown, &bytes);
  if (!memory) return false;
  put_cell(memory, text, false);
  bool same = !fclose(memory) && !strcmp(cell, shown);
  free(shown);
  return same;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static int read_byte(struct csv *csv) {
  int byte = getc(csv->file);
  csv->next += byte == '\n';
  return byte;
}

static int peek_byte(struct csv *csv) {
  int byte = getc(csv->file);
  if (byte != EOF) ungetc(byte, csv->file);
  return byte;
}

static bool put_byte(struct csv *csv, size_t *used, int byte, struct error *error) {
  if (!byte) return fail(error, "%s:%zu holds a zero byte; is it a CSV file?", csv->path, csv->next);
  if (*used >= CSV_ROW)
    return fail(error, "%s:%zu: the line is longer than %d bytes; is it a CSV file, or does a quote not end?",
                csv->path, csv->line, CSV_ROW);
  csv->text[(*used)++] = (char)byte;
  return true;
}

static bool ends_line(int byte) {
  return byte == '\n' || byte == EOF;
}

static bool ends_cell(int byte) {
  return byte == ',' || ends_line(byte);
}

/* Reads from behind the first quote to behind the last one. */
static bool read_quoted(struct csv *csv, size_t *used, struct error *error) {
  for (int byte; (byte = read_byte(csv)) != EOF;) {
    if (byte == '"' && peek_byte(csv) != '"') {
      int after = peek_byte(csv);
      if (ends_cell(after) || after == '\r') return true;
      return fail(error, "%s:%zu: text follows a closing quote; a quote within a cell must stand twice",
                  csv->path, csv->next);
    }
    if (byte == '"') read_byte(csv);
    if (!put_byte(csv, used, byte, error)) return false;
  }
  return fail(error, "%s:%zu: a quote does not end; is the file cut short?", csv->path, csv->line);
}

/* *last is what ended the cell: a comma, the end of the line or that of the file. */
static bool read_cell(struct csv *csv, size_t *used, int *last, struct error *error) {
  if (csv->cells == CSV_COLUMNS)
    return fail(error, "%s:%zu: more than %d cells in a line", csv->path, csv->line, CSV_COLUMNS);
  csv->cell[csv->cells++] = csv->text + *used;
  if (peek_byte(csv) == '"') {
    read_byte(csv);
    if (!read_quoted(csv, used, error)) return false;
  }
  while (!ends_cell(*last = read_byte(csv))) {
    bool return_before = *last == '\r' && ends_line(peek_byte(csv));
    if (!return_before && !put_byte(csv, used, *last, error)) return false;
  }
  csv->text[(*used)++] = 0;
  return true;
}

bool csv_next(struct csv *csv, bool *end, struct error *error) {
  size_t used = 0;
  csv->cells = 0;
  csv->line = csv->next;
  *end = peek_byte(csv) == EOF;
  for (int last = *end ? EOF : ','; last == ',';)
    if (!read_cell(csv, &used, &last, error)) return false;
  return ferror(csv->file) ? fail(error, "cannot read %s: %s", csv->path, strerror(errno)) : true;
}

bool csv_open(struct csv *csv, const char *path, struct error *error) {
  bool end;
  csv->path = path;
  csv->next = 1;
  csv->file = file_read_given(path, error);
  if (!csv->file || !csv_next(csv, &end, error)) return false;
  return end ? fail(error, "%s is empty; it must start with a line of column names", path) : true;
}

void csv_close(struct csv *csv) {
  if (csv->file) fclose(csv->file);
  csv->file = NULL;
}
