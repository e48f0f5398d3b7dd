#include "systems/data/labels.h"

#include "engine/files/magic.h"
#include "engine/files/part.h"
#include "systems/data/format.h"
#include "systems/data/listing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CSV_MOST = 1 << 26, FIELDS_MOST = 256, MISSING = -1 };

/* ---- a line of the CSV file ----------------------------------------------------------------------------- */

struct table {
  struct volume *volumes;
  size_t count;
  struct arena *arena;
  const char *path, *label; /* data.labels and data.label */
  char *rest;               /* of the file's text */
  size_t line;              /* the one that was cut last, from 1 */
  char *field[FIELDS_MOST];
  size_t fields, columns; /* of the line, which may have more than `field` has room for; of the header */
  int file, slice, split, value; /* which columns they are; MISSING: there is none */
  const char *last_file, *last_split; /* of the row before, whose volume is: */
  struct volume *last;                /* NULL: none of the data */
};

/* A field in quotes ends at one that is not doubled, and may hold commas. */
static char *cut_field(char **rest) {
  char *from = *rest, *to = from, *start = from;
  bool quoted = *from == '"';
  if (quoted) from++;
  while (*from && (quoted || (*from != ',' && *from != '\n'))) {
    if (quoted && *from == '"' && *++from != '"') {
      quoted = false;
      continue;
    }
    *to++ = *from++;
  }
  *rest = from;
  return start == to ? start : (to[-1] == '\r' && *from != ',' ? to - 1 : to);
}

/* Cuts the next line that is not empty into its fields; false: there is none. */
static bool next_line(struct table *table) {
  while (*table->rest) {
    table->fields = 0;
    table->line++;
    for (bool more = true; more; table->fields++) {
      char *start = table->rest, *end = cut_field(&table->rest);
      more = *table->rest == ',';
      if (*table->rest) table->rest++;
      *end = 0;
      if (table->fields < FIELDS_MOST) table->field[table->fields] = start;
    }
    if (table->fields > 1 || *table->field[0]) return true;
  }
  return false;
}

/* ---- its columns ---------------------------------------------------------------------------------------- */

static int column_of(const struct table *table, const char *name) {
  for (size_t i = 0; i < table->fields; i++)
    if (!strcmp(table->field[i], name)) return (int)i;
  return MISSING;
}

static const char *columns_text(const struct table *table) {
  const char *text = "";
  for (size_t i = 0; i < table->fields && i < 16; i++)
    text = arena_text(table->arena, "%s%s%s", text, i ? ", " : "", table->field[i]);
  return text;
}

static bool read_header(struct table *table, struct error *error) {
  if (!next_line(table)) return fail_file(error, "data.labels %s is empty; its first line names columns", table->path);
  if (table->fields > FIELDS_MOST)
    return fail_file(error, "data.labels %s has %zu columns; there may be %d", table->path, table->fields, FIELDS_MOST);
  table->file = column_of(table, "file");
  table->slice = column_of(table, "slice");
  table->split = column_of(table, "split");
  table->value = column_of(table, table->label);
  table->columns = table->fields;
  if (table->file == MISSING)
    return fail_file(error, "data.labels %s has columns %s; there must be one `file`, the names of volumes, separated by commas",
                     table->path, columns_text(table));
  if (table->value != MISSING) return true;
  return fail_usage(error, "data.label is %s, and data.labels %s has columns %s; set data.label to one of them",
                    *table->label ? table->label : "empty", table->path, columns_text(table));
}

/* ---- its rows ------------------------------------------------------------------------------------------- */

/* Whether the path ends in this, a name or more of its folders, with or without the file's ending. */
static bool ends_in(const char *path, const char *ending, const char *name) {
  size_t length = strlen(path), end = strlen(name);
  const char *dot = ending && length > strlen(ending) ? path + length - strlen(ending) : NULL;
  for (int whole = 1; whole >= 0; whole--) {
    size_t all = whole || !dot ? length : (size_t)(dot - path);
    if (end && all >= end && !memcmp(path + all - end, name, end) && (all == end || path[all - end - 1] == '/')) return true;
  }
  return false;
}

/* Whether the volume lies in the folder of another split: val, or singlecoil_val. */
static bool is_of_other(const char *path, const char *split) {
  static const char *const splits[] = {"train", "val", "test"};
  const char *slash = strrchr(path, '/'), *start = slash;
  if (!slash) return false;
  while (start > path && start[-1] != '/' && start[-1] != '_') start--;
  for (size_t s = 0; s < sizeof splits / sizeof *splits; s++) {
    size_t length = strlen(splits[s]);
    if ((size_t)(slash - start) == length && !memcmp(start, splits[s], length)) return strcmp(splits[s], split) != 0;
  }
  return false;
}

/* *found is NULL where the row is of none of the data's volumes. */
static bool find_volume(struct table *table, const char *file, const char *split, struct volume **found, struct error *error) {
  *found = NULL;
  for (size_t v = 0; v < table->count; v++) {
    struct volume *volume = &table->volumes[v];
    if (!ends_in(volume->path, volume->format->ending, file) || (split && is_of_other(volume->path, split))) continue;
    if (*found)
      return fail_file(error, "data.labels %s, line %zu: file %s is %s and %s; give a column `split`, or the folders too",
                       table->path, table->line, file, (*found)->path, volume->path);
    *found = volume;
  }
  return true;
}

static bool read_number(const char *text, double *number) {
  char *end;
  *number = strtod(text, &end);
  return *text && !*end && isfinite(*number);
}

static bool take_row(struct table *table, struct error *error) {
  double number, slice = 0;
  const char *text = table->field[table->value], *file = table->field[table->file],
             *split = table->split == MISSING ? NULL : table->field[table->split];
  if (!table->last_file || strcmp(file, table->last_file) || (split && strcmp(split, table->last_split))) {
    if (!find_volume(table, file, split, &table->last, error)) return false;
    table->last_file = file, table->last_split = split;
  }
  struct volume *volume = table->last;
  if (!volume) return true;
  if (!read_number(text, &number))
    return fail_file(error, "data.labels %s, line %zu: %s is '%s'; it must be a finite number", table->path, table->line,
                     table->label, text);
  if (table->slice != MISSING && (!read_number(table->field[table->slice], &slice) || slice < 0 ||
                                  slice >= (double)volume->slices || slice != floor(slice)))
    return fail_file(error, "data.labels %s, line %zu: slice '%s' of %s; it must be a whole number from 0 to %zu", table->path,
                     table->line, table->field[table->slice], volume->path, volume->slices - 1);
  size_t first = (size_t)slice, end = table->slice == MISSING ? volume->slices : first + 1;
  float *labels = volume->label;
  if (!isnan(labels[first]))
    return fail_file(error, "data.labels %s, line %zu: slice %zu of %s has a label already; give one row %s", table->path,
                     table->line, first, volume->path, table->slice == MISSING ? "a volume" : "a slice");
  for (size_t s = first; s < end; s++) labels[s] = (float)number;
  return true;
}

static bool read_rows(struct table *table, struct error *error) {
  bool good = read_header(table, error);
  while (good && next_line(table)) {
    good = table->fields == table->columns ||
           fail_file(error, "data.labels %s, line %zu has %zu fields; its first line names %zu", table->path, table->line,
                     table->fields, table->columns);
    good = good && take_row(table, error);
  }
  return good;
}

/* The text, ended by a 0, without the mark that editors put before UTF-8; NULL: refused. */
static char *read_text(const char *path, struct arena *arena, struct error *error) {
  static const char mark[] = "\xef\xbb\xbf";
  const struct magic *magic = magic_of(path);
  FILE *file = file_read_given(path, error);
  if (!file) {
    fail_in(error, "data.labels");
    return NULL;
  }
  struct stat facts;
  bool known = !fstat(fileno(file), &facts) && S_ISREG(facts.st_mode) && facts.st_size > 0 && facts.st_size < CSV_MOST;
  size_t most = known ? (size_t)facts.st_size : CSV_MOST;
  char *text = arena_try(arena, most + 1);
  size_t bytes = text ? fread(text, 1, most + 1, file) : 0;
  bool good = text || fail_memory(error, "no host memory for data.labels %s", path);
  if (good && ferror(file)) good = fail_file(error, "cannot read data.labels %s: %s", path, strerror(errno));
  if (good && (magic || bytes > most || memchr(text, 0, bytes)))
    good = fail_file(error, "data.labels %s is %s; it must be a CSV file of at most %d MiB", path,
                     magic ? magic->name : bytes > most ? "larger" : "no text", CSV_MOST >> 20);
  fclose(file);
  if (!good) return NULL;
  text[bytes] = 0;
  return !strncmp(text, mark, 3) ? text + 3 : text;
}

static bool read_file(struct volume *volumes, size_t count, const struct options *options, struct error *error) {
  struct arena *arena = arena_open();
  struct table table = {
      .volumes = volumes, .count = count, .arena = arena, .path = options->data.labels, .label = options->data.label};
  table.rest = read_text(table.path, arena, error);
  bool good = table.rest && read_rows(&table, error);
  arena_close(arena);
  return good;
}

/* ---- what volumes say themselves ------------------------------------------------------------------------ */

static bool read_volume(struct volume *volume, const struct options *options, struct error *error) {
  const struct volume_format *format = volume->format;
  const char *name = options->data.label;
  void *file;
  if (!format->read_label)
    return fail_usage(error, "data.label is %s, and %s can hold no labels; name a CSV file of them by data.labels", name,
                      volume->path);
  if (!volume_file_open(&file, volume, error)) return false;
  bool good = format->read_label(file, volume, name, volume->label, error);
  volume_file_close(file, volume);
  return good;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

static bool check_all(const struct volume *volumes, size_t count, const struct options *options, struct error *error) {
  const struct volume *first = NULL;
  size_t missing = 0, all = 0, slice = 0;
  for (size_t v = count; v-- > 0;) {
    const struct volume *volume = &volumes[v];
    all += volume->slice_count;
    for (size_t s = volume->slice_first + volume->slice_count; s-- > volume->slice_first;)
      if (!isfinite(volume->label[s])) missing++, first = volume, slice = s;
  }
  if (!missing) return true;
  return fail_file(error, "%zu of %zu slices have no finite label %s, the first is slice %zu of %s; give every slice one in %s", missing,
                   all, options->data.label, slice, first->path, *options->data.labels ? options->data.labels : "its file");
}

/* Rewards may follow from them: other labels are other data. */
static void add_digests(struct volume *volumes, size_t count) {
  for (size_t v = 0; v < count; v++)
    digest_add(&volumes[v].digest, volumes[v].label + volumes[v].slice_first,
               volumes[v].slice_count * sizeof *volumes[v].label);
}

bool labels_read(struct volume *volumes, size_t count, const struct options *options, struct arena *arena, struct error *error) {
  bool good = true, from_file = *options->data.labels;
  if (!*options->data.label && !from_file) return true;
  for (size_t v = 0; good && v < count; v++) {
    struct volume *volume = &volumes[v];
    if (!(volume->label = arena_try_array(arena, sizeof *volume->label, volume->slices)))
      return fail_memory(error, "no host memory for the labels of %s", volume->path);
    for (size_t s = 0; s < volume->slices; s++) volume->label[s] = NAN;
    good = from_file || read_volume(volume, options, error);
  }
  if (!good || (from_file && !read_file(volumes, count, options, error)) || !check_all(volumes, count, options, error))
    return false;
  add_digests(volumes, count);
  return true;
}
