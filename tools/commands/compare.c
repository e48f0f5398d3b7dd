/* Compares two result files number by number, a slab or a line at a time, so that size does not matter. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/part.h"
#include "engine/files/store.h"
#include "tools/commands/command.h"
#include "tools/report/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The differences of one dataset or column. They are relative to the largest magnitude in A. */
struct finding {
  double scale; /* largest finite magnitude in A */
  double worst; /* largest absolute difference; infinite where only one is a number */
  double a, b;  /* where it is */
  size_t place;
  bool text; /* the worst is a pair of words */
  char word_a[64], word_b[64];
};

struct report {
  const struct call *call;
  bool json;
  double tolerance;
  size_t compared, differing;
};

static double relative(const struct finding *finding) {
  if (finding->worst == 0) return 0;
  return finding->scale > 0 ? finding->worst / finding->scale : INFINITY;
}

static double difference(double a, double b) {
  if (a == b || (isnan(a) && isnan(b))) return 0;
  double distance = fabs(a - b);
  return isnan(distance) ? INFINITY : distance;
}

static void see_pair(struct finding *finding, double a, double b, size_t place) {
  double distance = difference(a, b);
  if (isfinite(a) && fabs(a) > finding->scale) finding->scale = fabs(a);
  if (distance <= finding->worst) return;
  finding->worst = distance;
  finding->place = place;
  finding->a = a;
  finding->b = b;
}

/* ---- what is printed ---------------------------------------------------------------------------------- */

/* Says that something is on one side only, or of another shape or kind. */
static void report_other(struct report *report, const char *name, const char *result, const char *text) {
  report->compared++;
  report->differing++;
  if (report->json) {
    printf("{\"name\":");
    json_text(stdout, name);
    printf(",\"result\":\"%s\",\"text\":", result);
    json_text(stdout, text);
    printf("}\n");
  } else {
    printf("differs  %-32s %s\n", text_shown(report->call->arena, name), text);
  }
}

static void print_json(const struct finding *finding, const char *name, bool same, const char *where) {
  printf("{\"name\":");
  json_text(stdout, name);
  printf(",\"result\":\"%s\",\"relative\":", same ? "same" : "differs");
  json_number(stdout, relative(finding));
  printf(",\"difference\":");
  json_number(stdout, finding->worst);
  if (finding->worst > 0) {
    printf(",\"at\":");
    json_text(stdout, where);
    printf(",\"a\":");
    if (finding->text)
      json_text(stdout, finding->word_a);
    else
      json_number(stdout, finding->a);
    printf(",\"b\":");
    if (finding->text)
      json_text(stdout, finding->word_b);
    else
      json_number(stdout, finding->b);
  }
  printf("}\n");
}

static void print_text(struct arena *arena, const struct finding *finding, const char *name, bool same,
                       const char *where) {
  printf("%-8s %-32s ", same ? "same" : "differs", text_shown(arena, name));
  if (finding->worst == 0)
    printf("0\n");
  else if (finding->text)
    printf("text at %s: '%s' and '%s'\n", where, text_shown(arena, finding->word_a),
           text_shown(arena, finding->word_b));
  else
    printf("%.3g at %s: %.9g and %.9g\n", relative(finding), where, finding->a, finding->b);
}

static void report_finding(struct report *report, const char *name, const struct finding *finding,
                           const char *where) {
  bool same = !finding->text && relative(finding) <= report->tolerance;
  report->compared++;
  report->differing += !same;
  if (report->json)
    print_json(finding, name, same, where);
  else
    print_text(report->call->arena, finding, name, same, where);
}

/* ---- HDF5 --------------------------------------------------------------------------------------------- */

enum { SLAB = 1 << 20 }; /* elements read at a time, if one row of the first axis is not more */

struct name_list {
  struct arena *arena;
  const char **names;
  size_t count, room;
};

struct pair {
  struct store *a, *b;
  struct arena *arena;
  void *data_a, *data_b;
  size_t room; /* bytes of each */
};

static void add_name(const char *name, void *context) {
  struct name_list *list = context;
  if (list->count == list->room) {
    size_t room = list->room ? 2 * list->room : 64;
    const char **longer = ARENA_NEW(list->arena, const char *, room);
    if (list->count) memcpy(longer, list->names, list->count * sizeof *longer);
    list->names = longer;
    list->room = room;
  }
  list->names[list->count++] = arena_text(list->arena, "%s", name);
}

/* The type to read a dataset as. Reading no elements fails only where the kind cannot be converted, so text
 * is told from numbers without its being read. */
static bool read_type(struct store *store, const char *name, const struct store_shape *shape,
                      enum store_type *type) {
  static const size_t none[STORE_RANK];
  static const enum store_type plain[] = {STORE_F64, STORE_U8};
  struct error ignored;
  double scalar;
  *type = STORE_C64;
  if (shape->complex)
    return store_read(store, name, STORE_C64, NULL, shape->rank ? none : NULL, &scalar, &ignored);
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    *type = plain[i];
    if (store_read(store, name, *type, NULL, none, &scalar, &ignored)) return true;
  }
  return false;
}

static double element(const void *data, enum store_type type, size_t place) {
  switch (type) {
  case STORE_U8: return ((const uint8_t *)data)[place];
  case STORE_U32: return ((const uint32_t *)data)[place];
  case STORE_F32:
  case STORE_C64: return (double)((const float *)data)[place];
  case STORE_F64: break;
  }
  return ((const double *)data)[place];
}

/* |a - b| as complex numbers; see_pair keeps the parts' magnitudes, this one the numbers'. */
static void see_complex(struct finding *finding, const float *a, const float *b, size_t place) {
  double re = difference((double)a[0], (double)b[0]), im = difference((double)a[1], (double)b[1]);
  double size = hypot((double)a[0], (double)a[1]), distance = hypot(re, im);
  if (isfinite(size) && size > finding->scale) finding->scale = size;
  if (distance <= finding->worst) return;
  finding->worst = distance;
  finding->place = place;
  finding->a = (double)a[im > re];
  finding->b = (double)b[im > re];
}

static bool reserve(struct pair *pair, size_t bytes) {
  if (bytes <= pair->room) return true;
  arena_close(pair->arena);
  pair->arena = arena_open();
  pair->data_a = arena_try(pair->arena, bytes);
  pair->data_b = arena_try(pair->arena, bytes);
  pair->room = pair->data_a && pair->data_b ? bytes : 0;
  return pair->room;
}

static bool compare_slab(struct pair *pair, const char *name, const enum store_type type[2],
                         const size_t *start, const size_t *count, size_t first, size_t total,
                         struct finding *finding, struct error *error) {
  if (!store_read(pair->a, name, type[0], start, count, pair->data_a, error) ||
      !store_read(pair->b, name, type[1], start, count, pair->data_b, error))
    return false;
  for (size_t i = 0; i < total; i++)
    if (type[0] == STORE_C64)
      see_complex(finding, (const float *)pair->data_a + 2 * i, (const float *)pair->data_b + 2 * i,
                  first + i);
    else
      see_pair(finding, element(pair->data_a, type[0], i), element(pair->data_b, type[1], i), first + i);
  return true;
}

static bool compare_numbers(struct pair *pair, const char *name, const struct store_shape *shape,
                            const enum store_type type[2], struct finding *finding, struct error *error) {
  size_t start[STORE_RANK] = {0}, count[STORE_RANK] = {0}, row = 1;
  for (int i = 1; i < shape->rank; i++) row *= count[i] = shape->size[i];
  size_t rows = shape->rank ? shape->size[0] : 1, step = row && row < SLAB ? SLAB / row : 1;
  if (step > rows) step = rows;
  if (!row || !rows) return true;
  if (!reserve(pair, step * row * sizeof(double)))
    return fail(error, "%s: one row of %zu elements is too large for this host", name, row);
  for (; start[0] < rows; start[0] += step) {
    count[0] = rows - start[0] < step ? rows - start[0] : step;
    if (!compare_slab(pair, name, type, start, count, start[0] * row, count[0] * row, finding, error))
      return false;
  }
  return true;
}

static bool same_shape(const struct store_shape *a, const struct store_shape *b) {
  if (a->rank != b->rank || a->complex != b->complex) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->size[i] != b->size[i]) return false;
  return true;
}

static const char *shape_text(const struct store_shape *shape, struct arena *arena) {
  const char *text = shape->rank ? "" : "single";
  for (int i = 0; i < shape->rank; i++)
    text = arena_text(arena, "%s%s%zu", text, i ? "x" : "", shape->size[i]);
  return arena_text(arena, "%s%s", shape->complex ? "complex " : "", text);
}

static const char *place_text(const struct store_shape *shape, size_t place, struct arena *arena) {
  const char *text = "";
  for (int i = shape->rank - 1; i >= 0; i--) {
    size_t size = shape->size[i] ? shape->size[i] : 1;
    text = arena_text(arena, "%zu%s%s", place % size, *text ? "," : "", text);
    place /= size;
  }
  return arena_text(arena, "[%s]", text);
}

static bool compare_dataset(struct report *report, struct pair *pair, const char *name, struct error *error) {
  struct arena *arena = report->call->arena;
  struct store_shape a, b;
  struct finding finding = {0};
  enum store_type type[2];
  if (!store_shape(pair->a, name, &a, error) || !store_shape(pair->b, name, &b, error)) return false;
  bool number_a = read_type(pair->a, name, &a, &type[0]), number_b = read_type(pair->b, name, &b, &type[1]);
  if (!number_a && !number_b) {
    log_detail("%s holds no numbers and is not compared", name);
    return true;
  }
  if (number_a != number_b) {
    report_other(report, name, "kind", number_a ? "numbers in A, not in B" : "numbers in B, not in A");
    return true;
  }
  if (!same_shape(&a, &b)) {
    report_other(report, name, "shape",
                 arena_text(arena, "shape %s and %s", shape_text(&a, arena), shape_text(&b, arena)));
    return true;
  }
  if (!store_check_held(pair->a, name, error) || !store_check_held(pair->b, name, error) ||
      !compare_numbers(pair, name, &a, type, &finding, error))
    return false;
  report_finding(report, name, &finding, place_text(&a, finding.place, arena));
  return true;
}

/* A dataset that the other file lacks counts as a difference if it holds numbers. */
static bool report_missing(struct report *report, struct store *store, const char *name, const char *text,
                           struct error *error) {
  struct store_shape shape;
  enum store_type type;
  if (!store_shape(store, name, &shape, error)) return false;
  if (read_type(store, name, &shape, &type)) report_other(report, name, "missing", text);
  return true;
}

static bool compare_stores(struct report *report, struct pair *pair, struct error *error) {
  struct name_list a = {.arena = report->call->arena}, b = a;
  if (!store_list(pair->a, add_name, &a, error) || !store_list(pair->b, add_name, &b, error)) return false;
  for (size_t i = 0; i < a.count; i++)
    if (!(store_has(pair->b, a.names[i]) ? compare_dataset(report, pair, a.names[i], error)
                                         : report_missing(report, pair->a, a.names[i], "only in A", error)))
      return false;
  for (size_t i = 0; i < b.count; i++)
    if (!store_has(pair->a, b.names[i]) && !report_missing(report, pair->b, b.names[i], "only in B", error))
      return false;
  return true;
}

/* ---- attributes --------------------------------------------------------------------------------------- */

enum { WORDS = 1 << 16 };

/* They say what wrote a file, how and when, not what it holds. */
static bool is_of_writing(const char *name) {
  static const char *const names[] = {"version", "device", "driver", "device_bytes", "scene", "log_bytes", "events_bytes",
                                      "l2sr_checksum"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

struct attribute {
  bool number, word;
  double value;
  char *text; /* [WORDS] */
};

static struct attribute read_attribute(struct store *store, const char *name, struct arena *arena) {
  struct attribute attribute = {.text = arena_new(arena, WORDS)};
  attribute.number = store_number(store, name, &attribute.value);
  attribute.word = !attribute.number && store_word(store, name, attribute.text, WORDS);
  return attribute;
}

/* Moves both to the first line that differs, and returns its number. */
static size_t differing_line(const char **a, const char **b) {
  size_t line = 1;
  for (size_t length; **a && (length = strcspn(*a, "\n")) == strcspn(*b, "\n") && !memcmp(*a, *b, length + 1);
       line++) {
    *a += length + 1;
    *b += length + 1;
  }
  return line;
}

static void see_words(struct finding *finding, const char *a, const char *b) {
  if (!strcmp(a, b)) return;
  finding->text = true;
  finding->worst = INFINITY;
  finding->place = differing_line(&a, &b);
  snprintf(finding->word_a, sizeof finding->word_a, "%.*s", (int)strcspn(a, "\n"), a);
  snprintf(finding->word_b, sizeof finding->word_b, "%.*s", (int)strcspn(b, "\n"), b);
}

/* Told, and not counted as a difference. */
static void note_other(const struct report *report, const char *name, const char *text) {
  if (report->json) {
    printf("{\"name\":");
    json_text(stdout, name);
    printf(",\"result\":\"noted\",\"text\":");
    json_text(stdout, text);
    printf("}\n");
  } else {
    printf("noted    %-32s %s\n", text_shown(report->call->arena, name), text);
  }
}

static void compare_attribute(struct report *report, const struct pair *pair, const char *name) {
  struct arena *arena = report->call->arena, *own = arena_open();
  struct attribute a = read_attribute(pair->a, name, own), b = read_attribute(pair->b, name, own);
  struct finding finding = {0};
  const char *shown = arena_text(arena, "attribute %s", name);
  if (a.number && b.number)
    see_pair(&finding, a.value, b.value, 0);
  else if (a.word && b.word)
    see_words(&finding, a.text, b.text);
  const char *where = arena_text(arena, "line %zu", finding.place);
  bool same_kind = a.number == b.number && a.word == b.word;
  if (same_kind && !a.number && !a.word)
    log_detail("%s holds no number or text and is not compared", shown);
  else if (!same_kind)
    report_other(report, shown, "kind", "a number, a text or neither in A, another of them in B");
  else if (finding.worst > 0 && is_of_writing(name))
    note_other(report, shown,
               a.word ? arena_text(arena, "%s: '%s' and '%s'; it says what wrote the file", where,
                                   text_shown(arena, finding.word_a), text_shown(arena, finding.word_b))
                      : "it says what wrote the file");
  else
    report_finding(report, shown, &finding, a.word ? where : "the root");
  arena_close(own);
}

static bool is_among(const struct name_list *list, const char *name) {
  for (size_t i = 0; i < list->count; i++)
    if (!strcmp(list->names[i], name)) return true;
  return false;
}

static void report_only(struct report *report, const char *name, const char *text) {
  const char *shown = arena_text(report->call->arena, "attribute %s", name);
  if (is_of_writing(name))
    note_other(report, shown, text);
  else
    report_other(report, shown, "missing", text);
}

/* What results of a profile alone have; those of l2sr's own scores do not name it. */
static bool is_of_profile(const char *name) {
  return !strcmp(name, "profile") || !strcmp(name, "units") || !strcmp(name, "partial_volumes");
}

/* Scores of one name are other measures there. */
static void compare_profiles(struct report *report, const struct pair *pair) {
  char a[64] = "l2sr", b[64] = "l2sr";
  store_text(pair->a, "profile", a, sizeof a);
  store_text(pair->b, "profile", b, sizeof b);
  if (strcmp(a, b))
    report_other(
        report, "scores", "profile",
        arena_text(
            report->call->arena,
            "of evaluate.profile %s and of %s, which are other measures: run l2sr evaluate for B again with "
            "--set evaluate.profile=%s",
            a, b, a));
}

static bool compare_attributes(struct report *report, const struct pair *pair, struct error *error) {
  struct name_list a = {.arena = report->call->arena}, b = a;
  if (!store_list_attributes(pair->a, add_name, &a, error) ||
      !store_list_attributes(pair->b, add_name, &b, error))
    return false;
  for (size_t i = 0; i < a.count; i++)
    if (is_among(&b, a.names[i]))
      compare_attribute(report, pair, a.names[i]);
    else if (!is_of_profile(a.names[i]))
      report_only(report, a.names[i], "only in A");
  for (size_t i = 0; i < b.count; i++)
    if (!is_among(&a, b.names[i]) && !is_of_profile(b.names[i])) report_only(report, b.names[i], "only in B");
  compare_profiles(report, pair);
  return true;
}

static bool compare_hdf5(struct report *report, const char *path_a, const char *path_b, struct error *error) {
  struct pair pair = {.arena = NULL};
  bool good = store_open(&pair.a, path_a, error) && store_open(&pair.b, path_b, error) &&
              compare_stores(report, &pair, error) && compare_attributes(report, &pair, error);
  arena_close(pair.arena);
  store_close(pair.b);
  store_close(pair.a);
  return good;
}

/* ---- CSV ---------------------------------------------------------------------------------------------- */

static bool is_number(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return *text && !*end;
}

static void see_cells(struct finding *finding, const char *a, const char *b, size_t line) {
  double x, y;
  if (is_number(a, &x) && is_number(b, &y)) {
    if (finding->text) return;
    see_pair(finding, x, y, line);
  } else if (!finding->text && strcmp(a, b)) {
    finding->text = true;
    finding->worst = INFINITY;
    finding->place = line;
    snprintf(finding->word_a, sizeof finding->word_a, "%s", a);
    snprintf(finding->word_b, sizeof finding->word_b, "%s", b);
  }
}

struct columns {
  size_t count;
  const char *name[CSV_COLUMNS];
  size_t in_a[CSV_COLUMNS], in_b[CSV_COLUMNS]; /* places of the column */
  struct finding finding[CSV_COLUMNS];
  size_t cells_a, cells_b;
};

static size_t find_cell(const struct csv *csv, const char *name) {
  for (size_t i = 0; i < csv->cells; i++)
    if (!strcmp(csv->cell[i], name)) return i;
  return csv->cells;
}

static bool check_header(const struct csv *csv, struct error *error) {
  for (size_t i = 0; i < csv->cells; i++)
    if (find_cell(csv, csv->cell[i]) != i)
      return fail(error, "column %s stands twice in %s; rename one", csv->cell[i], csv->path);
  return true;
}

static bool match_columns(struct report *report, struct columns *columns, const struct csv *a,
                          const struct csv *b, struct error *error) {
  if (!check_header(a, error) || !check_header(b, error)) return false;
  columns->cells_a = a->cells;
  columns->cells_b = b->cells;
  for (size_t i = 0; i < a->cells; i++) {
    size_t other = find_cell(b, a->cell[i]);
    if (other == b->cells) {
      report_other(report, a->cell[i], "missing", "only in A");
      continue;
    }
    columns->name[columns->count] = arena_text(report->call->arena, "%s", a->cell[i]);
    columns->in_a[columns->count] = i;
    columns->in_b[columns->count++] = other;
  }
  for (size_t i = 0; i < b->cells; i++)
    if (find_cell(a, b->cell[i]) == a->cells) report_other(report, b->cell[i], "missing", "only in B");
  return true;
}

static bool check_cells(const struct csv *csv, size_t cells, struct error *error) {
  if (csv->cells == cells) return true;
  return fail(error, "%s:%zu: %zu cells, the first line has %zu; is the file cut short?", csv->path,
              csv->line, csv->cells, cells);
}

static bool compare_lines(struct report *report, struct columns *columns, struct csv *a, struct csv *b,
                          struct error *error) {
  for (bool end_a = false, end_b = false;;) {
    if (!csv_next(a, &end_a, error) || !csv_next(b, &end_b, error)) return false;
    if (end_a && end_b) return true;
    if (end_a || end_b) {
      report_other(report, "lines", "shape",
                   arena_text(report->call->arena, "%s ends after line %zu, %s goes on",
                              end_a ? a->path : b->path, a->line - 1, end_a ? b->path : a->path));
      return true;
    }
    if (!check_cells(a, columns->cells_a, error) || !check_cells(b, columns->cells_b, error)) return false;
    for (size_t i = 0; i < columns->count; i++)
      see_cells(&columns->finding[i], a->cell[columns->in_a[i]], b->cell[columns->in_b[i]], a->line);
  }
}

static bool compare_csv(struct report *report, const char *path_a, const char *path_b, struct error *error) {
  struct arena *arena = report->call->arena;
  struct csv *a = ARENA_NEW(arena, struct csv, 1), *b = ARENA_NEW(arena, struct csv, 1);
  struct columns *columns = ARENA_NEW(arena, struct columns, 1);
  bool good = csv_open(a, path_a, error) && csv_open(b, path_b, error) &&
              match_columns(report, columns, a, b, error) && compare_lines(report, columns, a, b, error);
  for (size_t i = 0; good && i < columns->count; i++)
    report_finding(report, columns->name[i], &columns->finding[i],
                   arena_text(arena, "line %zu", columns->finding[i].place));
  csv_close(b);
  csv_close(a);
  return good;
}

/* ---- the command -------------------------------------------------------------------------------------- */

static bool is_csv(const char *path) {
  size_t length = strlen(path);
  return length > 4 && !strcmp(path + length - 4, ".csv");
}

static bool read_tolerance(const struct call *call, double *tolerance, struct error *error) {
  const char *text = call_flag(call, "tolerance");
  if (!text || (is_number(text, tolerance) && *tolerance >= 0 && isfinite(*tolerance))) return true;
  return fail_usage(error, "--tolerance is '%s'; it must be a number, 0 or more", text);
}

static bool finish_report(struct call *call, const struct report *report, struct error *error) {
  if (!report->compared)
    return fail(error, "%s and %s hold no numbers to compare; name two result files", call->operand[0],
                call->operand[1]);
  if (report->json)
    printf("{\"compared\":%zu,\"differing\":%zu,\"tolerance\":%.9g}\n", report->compared, report->differing,
           report->tolerance);
  else
    printf("%zu of %zu differ by more than %.9g\n", report->differing, report->compared, report->tolerance);
  call->status = report->differing > 0;
  return true;
}

/* Of a folder, what evaluate or train writes there. */
static bool file_of(struct call *call, const char **path, struct error *error) {
  static const char *const names[] = {"results.h5", "last.h5", "best.h5"};
  const char *folder = *path;
  if (!folder_is_there(folder)) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    *path = arena_text(call->arena, "%s/%s", folder, names[i]);
    if (file_is_there(*path)) return true;
  }
  return fail_file(error, "%s is a folder without results.h5, last.h5 or best.h5; name a file, or a folder that evaluate or a stage "
                          "of train wrote", folder);
}

static bool run_compare(struct call *call, struct error *error) {
  struct report report = {.call = call, .json = call_flag(call, "json")};
  const char *a = call->operand[0], *b = call->operand[1];
  if (!read_tolerance(call, &report.tolerance, error) || !file_of(call, &a, error) || !file_of(call, &b, error)) return false;
  if (is_csv(a) != is_csv(b))
    return fail_usage(error, "%s and %s are of two kinds; compare CSV with CSV, HDF5 with HDF5", a, b);
  return (is_csv(a) ? compare_csv : compare_hdf5)(&report, a, b, error) &&
         finish_report(call, &report, error);
}

static const struct flag flags[] = {
    {"tolerance", "T", NULL,
     "largest difference that counts as equal, relative to the largest magnitude in A"},
    {"json", NULL, NULL, "prints one JSON object a line"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_compare = {
    .name = "compare",
    .operands = "A B",
    .doc = "compares the numbers of two result files, HDF5 or CSV",
    .more = "Of a folder it compares results.h5, else last.h5, else best.h5. In HDF5 files it compares every dataset of numbers and every attribute of the root. In CSV files "
            "(by the ending .csv) it compares every column, matched by the name in the first line. Words must "
            "be equal. Attributes that say what wrote a file (version, device, driver, device_bytes, scene, log_bytes, "
            "events_bytes) are printed where they differ, and do not count. NaN equals NaN. The tolerance is "
            "0 unless given. The exit status is 1 if something differs.",
    .operands_least = 2,
    .operands_most = 2,
    .flags = flags,
    .run = run_compare,
};
