/* `l2sr report`: escaping, tables, and what is refused or kept apart. */
#include "components/options.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/store.h"
#include "systems/methods/method.h"
#include "tests/support.h"
#include "tools/report/csv.h"
#include "tools/report/html.h"
#include "tools/report/json_line.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"

#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_near(double found, double expected, double tolerance) {
  if (fabs(found - expected) <= tolerance) return;
  print_error("%.12g is not %.12g within %g\n", found, expected, tolerance);
  _fail(__FILE__, __LINE__);
}

/* ---- texts --------------------------------------------------------------------------------------------- */

struct text {
  char *data;
  size_t size;
  FILE *file;
};

static FILE *open_text(struct text *text) {
  *text = (struct text){NULL, 0, NULL};
  return text->file = open_memstream(&text->data, &text->size);
}

static const char *close_text(struct text *text, struct arena *arena) {
  fclose(text->file);
  const char *copy = arena_text(arena, "%s", text->data);
  free(text->data);
  return copy;
}

static void markup_is_escaped(void **state) {
  static const struct {
    const char *from, *to;
  } known[] = {{"<b a='1' c=\"2\">&", "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;"},
               {"\u00d74 \u03b3", "\u00d74 \u03b3"},
               {"a\x01\x7f\n\t", "a\\x01\\x7f\n\t"},
               {"cut \xe2\x80", "cut \\xe2\\x80"}};
  struct arena *arena = arena_open();
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct text text;
    html_text(open_text(&text), known[i].from);
    assert_string_equal(close_text(&text, arena), known[i].to);
  }
  arena_close(arena);
}

/* All of the picture comes back from its address, and nothing in it ends or leaves that. */
static void pictures_are_part_of_a_page(void **state) {
  struct arena *arena = arena_open();
  struct text text;
  (void)state;
  html_svg(open_text(&text), "<a href=\"http://x#1\">%\n\xe2</a>", 28);
  assert_string_equal(close_text(&text, arena),
                      "\"data:image/svg+xml,%3Ca href=%22http%3A//x%231%22%3E%25%0A%E2%3C/a%3E\"");
  arena_close(arena);
}

static const char *written(struct tabular *table, void (*write)(const struct tabular *, FILE *)) {
  struct text text;
  write(table, open_text(&text));
  return close_text(&text, table->arena);
}

static struct tabular some_table(struct arena *arena) {
  struct tabular table = tabular_make(arena, 3, 2);
  static const char *group[] = {"A & B", "A & B", "oracles"};
  table.file = "t", table.title = "100 % of <x>", table.note = "a_b";
  table.head[0] = "method", table.head[1] = "\u00d74, Base";
  table.group = group;
  tabular_text(&table, 0, 0, "low_bias");
  tabular_text(&table, 1, 0, "<script>");
  tabular_text(&table, 2, 0, "say \"hi\", you");
  tabular_spread(&table, 0, 1, 0.71236, 0.1, 4);
  tabular_spread(&table, 1, 1, 0.71244, 0.2, 4);
  tabular_spread(&table, 2, 1, 0.9, 0.3, 4);
  return table;
}

static void tables_are_written_in_four_ways(void **state) {
  struct arena *arena = arena_open();
  static const bool competes[] = {true, true, false};
  struct tabular table = some_table(arena);
  (void)state;
  tabular_mark_best(&table, 1, 1, competes, 4);
  assert_true(tabular_cell(&table, 0, 1)->best && tabular_cell(&table, 1, 1)->best); /* shown with one mean */
  assert_false(tabular_cell(&table, 2, 1)->best);
  assert_holds(written(&table, tabular_html),
               "<th scope=\"row\">&lt;script&gt;</th><td><strong>0.7124 \u00b1 0.2000");
  assert_holds(written(&table, tabular_plain), "low_bias       0.7124 \u00b1 0.1000*");
  assert_string_equal(written(&table, tabular_csv), "group,method,\"\u00d74, Base\",\"\u00d74, Base std\"\n"
                                                    "A & B,low_bias,0.71236,0.1\n"
                                                    "A & B,<script>,0.71244,0.2\n"
                                                    "oracles,\"say \"\"hi\"\", you\",0.9,0.3\n");
  const char *latex = written(&table, tabular_latex);
  assert_holds(latex, "\\caption{100 \\% of $<$x$>$}");
  assert_holds(latex, "low\\_bias & \\textbf{0.7124 $\\pm$ 0.1000} \\\\");
  assert_holds(latex, "\\multicolumn{2}{l}{\\textit{A \\& B}}");
  assert_int_equal(text_length("\u03b3\x1b"), 5);
  arena_close(arena);
}

/* Names of files stand in tables. */
static void tables_show_any_bytes(void **state) {
  struct arena *arena = arena_open();
  struct tabular table = tabular_make(arena, 1, 1);
  (void)state;
  table.file = "t", table.title = "a\x1b\n", table.head[0] = "method";
  tabular_text(&table, 0, 0, "b\nc\xff");
  assert_holds(written(&table, tabular_plain), "a\\x1b\\x0a\nmethod    \nb\\x0ac\\xff\n");
  assert_holds(written(&table, tabular_html), "<caption>a\\x1b\n</caption>");
  assert_holds(written(&table, tabular_latex), "b\\textbackslash{}x0ac\\textbackslash{}xff");
  assert_string_equal(written(&table, tabular_csv), "method\n\"b\nc\\xff\"\n");
  arena_close(arena);
}

/* Neither a terminal nor a spreadsheet does what a text says; numbers stay numbers. */
static void cells_of_csv_do_nothing(void **state) {
  static const struct {
    const char *text, *cell;
  } known[] = {{"=1+1", "'=1+1"},
               {"=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""},
               {"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
               {"-2+3", "'-2+3"},
               {"-", "'-"},
               {"-inf", "'-inf"},
               {"-0x10", "'-0x10"},
               {"@SUM(1)", "'@SUM(1)"},
               {"\t=1", "\"'\t=1\""},
               {"\r=1", "\"'\r=1\""},
               {"\uff1d1", "'\uff1d1"},
               {"-0.5", "-0.5"},
               {"+1e-3", "+1e-3"},
               {"-1", "-1"},
               {"a=b", "a=b"},
               {"a\x1b[31m", "a\\x1b[31m"},
               {"\x1b=1", "\\x1b=1"},
               {"\xc2\x9b"
                "31m",
                "\\xc2\\x9b31m"},
               {"\u202e", "\\xe2\\x80\\xae"},
               {"\u00e9\u00d7", "\u00e9\u00d7"},
               {"", ""}};
  struct arena *arena = arena_open();
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct text text;
    csv_text(open_text(&text), known[i].text);
    assert_string_equal(close_text(&text, arena), known[i].cell);
  }
  assert_true(csv_is("'=a\\x1b\"", "=a\x1b\"") && csv_is("-1", "-1") && !csv_is("=a", "=a"));
  arena_close(arena);
}

static void less_may_be_best(void **state) {
  struct arena *arena = arena_open();
  struct tabular table = tabular_make(arena, 3, 1);
  (void)state;
  tabular_number(&table, 0, 0, 0.5, 2);
  tabular_number(&table, 1, 0, 0.1, 2);
  tabular_number(&table, 2, 0, NAN, 2);
  tabular_mark_best(&table, 0, -1, NULL, 2);
  assert_true(tabular_cell(&table, 1, 0)->best && !tabular_cell(&table, 0, 0)->best);
  tabular_number(&table, 0, 0, -0.001, 2);
  assert_string_equal(tabular_cell(&table, 0, 0)->text, "0.00");
  arena_close(arena);
}

/* MSE is as small as the images: digits are counted from the first one. */
static void small_numbers_keep_their_digits(void **state) {
  struct arena *arena = arena_open();
  struct tabular table = tabular_make(arena, 3, 1);
  (void)state;
  tabular_spread(&table, 0, 0, 1.2345e-9, 4.4e-10, -3);
  tabular_spread(&table, 1, 0, 1.2301e-9, 4e-10, -3);
  tabular_spread(&table, 2, 0, 1.24e-9, 4e-10, -3);
  tabular_mark_best(&table, 0, -1, NULL, -3);
  assert_string_equal(tabular_cell(&table, 0, 0)->text, "1.23e-09 \u00b1 4e-10");
  assert_true(tabular_cell(&table, 0, 0)->best && tabular_cell(&table, 1, 0)->best);
  assert_false(tabular_cell(&table, 2, 0)->best);
  tabular_number(&table, 0, 0, -1.2346e-9, -4);
  assert_string_equal(tabular_cell(&table, 0, 0)->text, "\u22121.235e-09");
  arena_close(arena);
}

static void scores_have_one_name(void **state) {
  struct arena *arena = arena_open();
  (void)state;
  assert_string_equal(score_name(arena, 0), "SSIM");
  assert_string_equal(score_name(arena, 3), "PSNR unclamped (dB)");
  assert_string_equal(score_caption(arena, 3, 21.206), "PSNR unclamped 21.21 dB");
  assert_string_equal(score_caption(arena, 5, 2.19e-9), "MSE 2.19e-09");
  assert_string_equal(score_of(arena, "psnr"), "PSNR (dB)");
  assert_string_equal(score_of(arena, "other"), "other");
  arena_close(arena);
}

static bool see_values(const json_t *line, void *context, struct error *error) {
  struct folder *folder = context;
  double value;
  (void)error;
  assert_true(json_number_of(line, "b", &value));
  assert_near(value, 2.5, 0);
  assert_string_equal(json_text_of(line, "text", folder->arena), "x\"y\\A");
  assert_string_equal(json_text_of(line, "t", folder->arena), "\u00e9\u202e\U0001f600\n/");
  assert_true(json_number_of(line, "none", &value) && isnan(value));
  assert_true(json_number_of(line, "many", &value));
  assert_near(value, 123456789012345678901.0, 1e5);
  assert_false(json_number_of(line, "text", &value));
  assert_false(json_number_of(line, "absent", &value));
  assert_null(json_text_of(line, "b", folder->arena));
  return true;
}

static void lines_of_json_are_read(void **state) {
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "lines.jsonl");
  support_write_text(path,
                     "\n{\"a\":{\"b\":[1,\"}\"]},\"b\":2.5,\"text\":\"x\\\"y\\\\\\u0041\", \"none\":null,"
                     "\"many\":123456789012345678901,\"t\":\"\\u00e9\\u202e\\ud83d\\ude00\\n\\/\"}\r\n \n");
  assert_good(json_lines(path, false, see_values, &folder, &error), &error);
  support_close_folder(&folder);
}

static bool see_text(const json_t *line, void *context, struct error *error) {
  struct folder *folder = context;
  (void)error;
  assert_string_equal(json_text_of(line, "t", folder->arena), "a\\xff\u20ac\"");
  return true;
}

/* Texts that are written for names of any bytes are read back: bytes that are no UTF-8 as shown. */
static void written_texts_are_read(void **state) {
  struct folder folder;
  struct error error;
  struct text text;
  (void)state;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "lines.jsonl");
  FILE *file = open_text(&text);
  fputs("{\"t\":", file);
  json_text(file, "a\xff\u20ac\"");
  fputs("}\n", file);
  support_write_text(path, close_text(&text, folder.arena));
  assert_good(json_lines(path, false, see_text, &folder, &error), &error);
  support_close_folder(&folder);
}

/* A caller sees no byte of these. */
static void damaged_lines_are_refused(void **state) {
  static const char *const lines[] = {"{\"t\":\"\xff\"}", "{\"t\":\"\\ud83d\"}", "{\"t\":\"\\u0000\"}",
                                      "{\"t\":1e999}",    "{\"t\":1}}",          "[{\"t\":1}]"};
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "lines.jsonl");
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    support_write_text(path, arena_text(folder.arena, "\n%s\n", lines[i]));
    assert_false(json_lines(path, true, see_text, &folder, &error));
    assert_holds(error.text, "lines.jsonl:2 is no JSON object on one line (");
  }
  char *deep = arena_new(folder.arena, JSON_LINE_MOST + 16);
  memset(deep, '[', JSON_LINE_MOST + 8);
  memcpy(deep, "{\"a\":", 5);
  support_write_text(path, deep);
  assert_false(json_lines(path, true, see_text, &folder, &error));
  assert_holds(error.text, "(it is longer than 1 MiB)");
  deep[JSON_LINE_MOST / 2] = '\n';
  support_write_text(path, deep);
  assert_false(json_lines(path, true, see_text, &folder, &error));
  assert_holds(error.text, "maximum parsing depth reached");
  support_close_folder(&folder);
}

/* ---- results that are refused or kept apart ------------------------------------------------------------ */

struct results {
  const char *version, *selection, *name, *range;
  size_t scans;
  const char *image;    /* a dataset of one image of SIZE x SIZE, beside kept/row of one row; NULL: neither */
  uint32_t more;        /* added to the volume of the last slice */
  const char *lines;    /* lines of section data, beside the usual ones; NULL: none */
  const char *patients; /* a line a file; NULL: none */
  size_t unscored;      /* the scores of so many slices are NaN */
  const char *profile; /* evaluate.profile, of whose volumes the first slices alone have scores; NULL: l2sr */
  const char *size;     /* data.size; NULL: SIZE */
  size_t height; /* of images of height x SIZE, truth and own, where `image` is NULL; 0: there are none */
};

enum { SLICES = 3, SIZE = 4, LINES = 2 };

static void write_images(struct store *store, size_t height) {
  static const float pixels[8 * SIZE];
  static const uint32_t row;
  size_t one[] = {1, height, SIZE};
  struct error error;
  assert_good(store_write(store, "kept/row", STORE_U32, 1, one, &row, false, &error), &error);
  assert_good(store_write(store, "kept/image", STORE_F32, 3, one, pixels, false, &error), &error);
  assert_good(store_write(store, "x2_long/random/kept", STORE_F32, 3, one, pixels, false, &error), &error);
}

static void write_results(const char *path, const struct results *results) {
  const uint32_t volume[SLICES] = {0, 0, 1 + results->more};
  static const uint32_t number[SLICES] = {0, 1, 0};
  static const double range[SLICES] = {1, 1, 1};
  static const uint8_t mask[SLICES * SIZE] = {0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1};
  static const uint32_t action[SLICES * LINES] = {1, 3, 0, 1, 3, 1};
  float ssim[SLICES * (LINES + 1)] = {0.5f, 0.6f, 0.7f, 0.4f, 0.5f, 0.6f, 0.3f, 0.4f, 0.8f};
  struct error error;
  struct store *store;
  char scene[8192];
  for (size_t i = 0; i < results->unscored; i++) ssim[i * (LINES + 1) + LINES] = NAN;
  for (size_t t = 0; results->profile && t <= LINES; t++) ssim[LINES + 1 + t] = NAN;
  size_t slices[] = {SLICES}, masks[] = {results->scans, SIZE}, actions[] = {results->scans, LINES},
         curve[] = {results->scans, LINES + 1};
  snprintf(
      scene, sizeof scene,
      "data:\n  path: \"x\"\n  size: %s\n%s  range: %s\nevaluate:\n  name: \"%s\"\n  samplers: [random]\n"
      "  metrics: [ssim]\n  policy: \"\"\n  reconstructor: \"r.h5\"\n  profile: %s\n",
      results->size ? results->size : "4", results->lines ? results->lines : "", results->range,
      results->name, results->profile ? results->profile : "l2sr");
  assert_good(store_create(&store, path, &error), &error);
  assert_good(store_put_text(store, "version", results->version, &error), &error);
  assert_good(store_put_text(store, "selection", results->selection, &error), &error);
  assert_good(store_put_text(store, "scene", scene, &error), &error);
  assert_good(store_write(store, "slice/volume", STORE_U32, 1, slices, volume, false, &error), &error);
  assert_good(store_write(store, "slice/number", STORE_U32, 1, slices, number, false, &error), &error);
  assert_good(store_write(store, "slice/data_range", STORE_F64, 1, slices, range, false, &error), &error);
  assert_good(store_write_text(store, "volume_names", "a.h5\nb.h5", &error), &error);
  if (results->patients) assert_good(store_write_text(store, "patient", results->patients, &error), &error);
  assert_good(store_write(store, "x2_long/random/mask", STORE_U8, 2, masks, mask, false, &error), &error);
  assert_good(store_write(store, "x2_long/random/action", STORE_U32, 2, actions, action, false, &error),
              &error);
  assert_good(store_write(store, "x2_long/random/ssim", STORE_F32, 2, curve, ssim, false, &error), &error);
  if (results->height) write_images(store, results->height);
  if (results->image) {
    static const float pixels[SIZE * SIZE];
    static const uint32_t row;
    size_t one[] = {1, SIZE, SIZE};
    assert_good(store_write(store, "kept/row", STORE_U32, 1, one, &row, false, &error), &error);
    assert_good(store_write(store, results->image, STORE_F32, 3, one, pixels, false, &error), &error);
  }
  assert_good(store_commit(store, &error), &error);
}

static const struct results standard = {
    .version = "1.0", .selection = "0123", .name = "A", .range = "volume", .scans = SLICES};

/* Two results, the second one as given; returns the path of the second. */
static struct report *two_results(struct folder *folder, const struct results *second, const char **path) {
  struct error error;
  struct report *report = report_make(folder->arena);
  const char *first = support_path(folder, "one/results.h5");
  assert_good(folder_make(support_path(folder, "one"), &error), &error);
  assert_good(folder_make(support_path(folder, "two"), &error), &error);
  *path = support_path(folder, "two/results.h5");
  write_results(first, &standard);
  write_results(*path, second);
  assert_good(report_add(report, support_path(folder, "one"), &error), &error);
  return report;
}

/* Added after the standard ones they are refused in these words. */
static void refuse_second(const struct results *second, const char *part, const char *other) {
  struct folder folder;
  struct error error;
  const char *path;
  support_open_folder(&folder);
  struct report *report = two_results(&folder, second, &path);
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, part);
  assert_holds(error.text, other);
  support_close_folder(&folder);
}

/* The scene says the sides where they differ; masks of lines tell the width alone. */
static void results_of_rectangles_are_read(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  struct results second = standard;
  (void)state;
  support_open_folder(&folder);
  second.size = "[6, 4]";
  second.height = 6;
  struct report *report = two_results(&folder, &second, &path);
  assert_good(report_add(report, path, &error), &error);
  assert_good(report_finish(report, &error), &error);
  assert_int_equal(report->sets, 2);
  assert_true(report->set[0].shape.height == 4 && report->set[0].shape.width == 4);
  assert_true(report->set[1].shape.height == 6 && report->set[1].shape.width == 4);
  assert_holds(report_part_text(report, 1), "data.size is [6, 4] here and 4 there");
  support_close_folder(&folder);
  second.height = 4;
  refuse_second(&second, "is damaged: kept/image does not hold 1 images of 6x4 pixels", "");
  second.size = "[6, 5]";
  refuse_second(&second, "masks of x2_long/random are of 4 lines, which no image of up to 1024x1024 has", "");
}

static void results_are_read(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  struct results second = standard;
  (void)state;
  support_open_folder(&folder);
  second.name = "B";
  struct report *report = two_results(&folder, &second, &path);
  assert_good(report_add(report, path, &error), &error);
  assert_good(report_finish(report, &error), &error);
  assert_int_equal(report->runs, 2);
  assert_int_equal(report->sets, 1);
  assert_int_equal(report->settings, 1);
  assert_string_equal(report->run[1].method, "B");
  assert_int_equal(report->setting[0].initial_lines, 1);
  assert_int_equal(report->setting[0].budget, LINES);
  assert_int_equal(report->run[0].group, REPORT_FIXED);
  assert_true(report->run[0].initial[2] && !report->run[0].initial[1] && !report->run[0].initial[3]);
  double *end = report_values(report, &report->run[0], 0, LINES);
  assert_near(end[2], 0.8, 1e-6);
  support_close_folder(&folder);
}

/* By the nearest folder that differs, as that of a suite's seed. */
static void methods_of_one_name_are_told_apart(void **state) {
  static const struct {
    const char *folder[2], *name[2];
  } cases[] = {
      {{"one", "two"}, {"A (one)", "A (two)"}},
      {{"A/seed_1/results", "A/seed_2/results"}, {"A (seed_1)", "A (seed_2)"}},
      {{"A/seed_1/results", "A/results"}, {"A (seed_1)", "A (A)"}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct folder folder;
    struct error error;
    support_open_folder(&folder);
    struct report *report = report_make(folder.arena);
    for (size_t k = 0; k < 2; k++) {
      const char *parts[] = {"A", "A/seed_1", "A/seed_2", cases[i].folder[k]};
      for (size_t f = 0; f < 4; f++) folder_make(support_path(&folder, parts[f]), &error);
      const char *path = support_path(&folder, arena_text(folder.arena, "%s/results.h5", cases[i].folder[k]));
      write_results(path, &standard);
      assert_good(report_add(report, path, &error), &error);
    }
    assert_good(report_finish(report, &error), &error);
    for (size_t k = 0; k < 2; k++) assert_string_equal(report->run[k].method, cases[i].name[k]);
    support_close_folder(&folder);
  }
}

static void another_version_is_refused(void **state) {
  struct results second = standard;
  (void)state;
  second.version = "2.0";
  refuse_second(&second, "one/results.h5 is of version 1.0 and ",
                "two/results.h5 of version 2.0; their numbers do not go into one table");
}

/* The volume's number and 1 wrap to 0, and few names cannot have so many numbers. */
static void volumes_without_a_name_are_refused(void **state) {
  static const uint32_t more[] = {UINT32_MAX - 1, 1};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    struct results second = standard;
    second.more = more[i];
    refuse_second(&second, "two/results.h5 is damaged: slice/volume names volume ",
                  "at slice 2; there are names of 2");
  }
}

static void many_lines_of_a_source_are_read(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  struct results second = standard;
  (void)state;
  support_open_folder(&folder);
  char *lines = arena_new(folder.arena, 4096);
  for (size_t i = 0; i < 200; i++) strcat(lines, "  source: x\n");
  second.lines = lines;
  struct report *report = two_results(&folder, &second, &path);
  assert_good(report_add(report, path, &error), &error);
  assert_int_equal(report->sets, 2);
  assert_holds(report_part_text(report, 1), "data.source is x here and auto there.");
  support_close_folder(&folder);
}

/* 2^31 slices in a file of a few kB. */
static void more_slices_than_the_file_holds_are_refused(void **state) {
  const hsize_t size = (hsize_t)1 << 31, few = 1000;
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    struct folder folder;
    struct error error;
    const char *path;
    support_open_folder(&folder);
    struct report *report = two_results(&folder, &standard, &path);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
          space = H5Screate_simple(1, i ? &few : &size, NULL);
    H5Ldelete(file, "slice/volume", H5P_DEFAULT);
    H5Dclose(H5Dcreate2(file, "slice/volume", H5T_STD_U32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(file);
    assert_false(report_add(report, path, &error));
    assert_holds(error.text, i ? "slice/volume in" : "has 2147483648 entries; at most 4194304 are expected");
    if (i) assert_holds(error.text, "was never written");
    support_close_folder(&folder);
  }
}

/* Adds results whose section data has these lines to the standard ones. */
static struct report *report_with(struct folder *folder, const char *lines, const char *range) {
  struct error error;
  const char *path;
  struct results second = standard;
  second.lines = lines;
  second.range = range;
  second.name = "B";
  struct report *report = two_results(folder, &second, &path);
  assert_good(report_add(report, path, &error), &error);
  assert_good(report_finish(report, &error), &error);
  return report;
}

/* How slices were moved in a training, which memory they took, or how the files were chosen that the same
 * slices are of: nothing of it changes a score. */
static void keys_of_training_keep_nothing_apart(void **state) {
  static const char *const lines[] = {"  augment: [flips, shifts]\n",
                                      "  window: 100\n",
                                      "  path: \"elsewhere\"\n  split: all\n",
                                      "  strict: true\n",
                                      "  fraction: 0.5\n  volumes: 2\n  most: 3\n",
                                      "  exclude_constant: true\n",
                                      "  kspace: image\n  crop: image\n  scale: 1\n"};
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    struct folder folder;
    support_open_folder(&folder);
    struct report *report = report_with(&folder, lines[i], "volume");
    assert_int_equal(report->sets, 1);
    assert_int_equal(report->run[0].setting, report->run[1].setting);
    assert_string_equal(report_part_text(report, 0), "");
    support_close_folder(&folder);
  }
}

static void keys_of_tests_keep_apart_in_words(void **state) {
  static const struct {
    const char *lines, *range, *why, *flags;
  } known[] = {
      {"  pad: 8\n", "volume", "data.pad is 8 here and 0 there.", "again with --set data.pad=0."},
      {"  kspace: measured\n  augment: [flips]\n", "volume", "data.kspace is measured here and image there.",
       "--set data.kspace=image"},
      {"  crop: kspace\n  source: kspace\n", "slice",
       "data.source is kspace here and auto there, data.crop is kspace here and image there, data.range is "
       "slice "
       "here and volume there.",
       "--set data.source=auto --set data.crop=image --set data.range=volume"},
      {"  scale: 0.5\n", "volume", "data.scale is 0.5 here and 1 there", "--set data.scale=1"},
      {"  coils: single\n", "volume", "data.coils is single here and any there", "--set data.coils=any"},
      {"  image_shift: both\n", "volume", "data.image_shift is both here", "--set data.image_shift=none"}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct folder folder;
    support_open_folder(&folder);
    struct report *report = report_with(&folder, known[i].lines, known[i].range);
    assert_int_equal(report->sets, 2);
    assert_holds(report_part_text(report, 1), "the slices are read or scored otherwise: ");
    assert_holds(report_part_text(report, 1), known[i].why);
    assert_holds(report_part_text(report, 1), known[i].flags);
    support_close_folder(&folder);
  }
}

/* A key that does not say it would keep nothing apart. */
static void every_key_of_the_data_says_what_it_concerns(void **state) {
  (void)state;
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    bool data = !strcmp(row->section, "data");
    if (data ? row->concerns != CONCERNS_NONE
             : row->concerns == CONCERNS_NONE || row->concerns == CONCERNS_PLACE ||
                   row->concerns == CONCERNS_TEST)
      continue;
    print_error("%s.%s: a key of data says what it concerns, another at most how slices are scored, or that "
                "numbers do not change by it\n",
                row->section, row->name);
    _fail(__FILE__, __LINE__);
  }
}

/* ---- patients, and slices without a score -------------------------------------------------------------- */

/* The page's file as one line of words. */
static const char *page_text(struct folder *folder, struct report *report, const char *name) {
  struct error error;
  struct report_config config = {.figures = FIGURE_KINDS};
  const char *page = support_path(folder, "page");
  assert_good(report_write(report, &config, page, &error), &error);
  FILE *file = fopen(arena_text(folder->arena, "%s/%s", page, name), "rb");
  assert_non_null(file);
  char *text = arena_new(folder->arena, 1 << 20);
  text[fread(text, 1, (1 << 20) - 1, file)] = 0;
  fclose(file);
  for (char *c = text; *c; c++) *c = *c == '\n' ? ' ' : *c;
  return text;
}

/* Two files of two slices and of one: a score each, which stands with their first slices. */
static void scores_of_volumes_are_of_volumes(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  struct results second = standard;
  (void)state;
  support_open_folder(&folder);
  second.profile = "fastmri";
  second.name = "B";
  struct report *report = two_results(&folder, &second, &path);
  assert_good(report_add(report, path, &error), &error);
  assert_good(report_finish(report, &error), &error);
  assert_int_equal(report->sets, 2);
  assert_holds(report_part_text(report, 1), "evaluate.profile is fastmri here and l2sr there");
  assert_holds(report_part_text(report, 1), " --set evaluate.profile=l2sr");
  const struct report_units *units = report_units(report, 1, 0), *slices = report_units(report, 0, 0);
  assert_true(units->count == 2 && units->row[0] == 0 && units->row[1] == 2 && units->cluster[1] == 1);
  assert_true(slices->count == SLICES && slices->row[1] == 1);
  const double *value = report_values(report, &report->run[1], 0, LINES);
  assert_true(value[0] == (double)0.7f && value[1] == (double)0.8f);
  assert_int_equal(report_count_scores(report, &report->run[1], 0), 2);
  const char *text = page_text(&folder, report, "report.txt");
  assert_holds(text, "SSIM, mean \u00b1 standard deviation, 2 volumes");
  assert_holds(text, "0.7500 \u00b1 0.0500");
  assert_null(strstr(text, "without a score"));
  support_close_folder(&folder);
}

/* The standard results do not say whose their files are; those beside them do. */
static void results_say_whose_slices_are(void **state) {
  static const struct {
    const char *patients, *text;
    size_t count;
  } known[] = {{"p\nq", "the second over 2 patients.", 2},
               {"p\np", "the second over 1 patient of 2 files.", 1},
               {"a.h5\nb.h5", "the second over 2 files (no patient_id).", 2},
               {NULL, "the second over 2 files (no patient_id).", 2},
               {"p\n", "the second over 2 patients (1 file without patient_id counts as one each).", 2}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct folder folder;
    struct error error;
    const char *path;
    struct results second = standard;
    support_open_folder(&folder);
    second.name = "B";
    second.patients = known[i].patients;
    struct report *report = two_results(&folder, &second, &path);
    assert_good(report_add(report, path, &error), &error);
    assert_good(report_finish(report, &error), &error);
    assert_int_equal(report->sets, 1);
    assert_int_equal(report->set[0].clusters.count, known[i].count);
    assert_holds(page_text(&folder, report, "report.txt"), known[i].text);
    support_close_folder(&folder);
  }
  struct results cut = standard;
  cut.patients = "p";
  refuse_second(&cut, "two/results.h5 is damaged: patient has 1 lines, volume_names 2", "");
}

/* Results beside the standard ones, of which so many slices have no score. */
static struct report *report_unscored(struct folder *folder, size_t unscored) {
  struct error error;
  const char *path;
  struct results second = standard;
  second.name = "B";
  second.unscored = unscored;
  struct report *report = two_results(folder, &second, &path);
  assert_good(report_add(report, path, &error), &error);
  assert_good(report_finish(report, &error), &error);
  return report;
}

/* They are no ties: of the three slices the pairs are two, and means are of the others. */
static void slices_without_a_score_are_told(void **state) {
  struct folder folder;
  (void)state;
  support_open_folder(&folder);
  struct report *report = report_unscored(&folder, 1);
  const char *text = page_text(&folder, report, "report.txt");
  assert_holds(text, "0.7000 \u00b1 0.1000 (1 of 3 scans without a score)");
  assert_holds(text, "0.00000 (1 of 3 slices without a score)");
  const char *scores = page_text(&folder, report, "ssim.csv");
  assert_holds(scores, "\u00d72 Long,\u00d72 Long std,\u00d72 Long without a score ");
  assert_holds(scores, ",B,0.700000018,0.099999994,1 ");
  assert_holds(page_text(&folder, report, "pairs_1.csv"),
               " B,0,1,0,0,"); /* the mean, one without, its interval */
  support_close_folder(&folder);
}

static void methods_without_any_score_are_told(void **state) {
  static const char *const files[] = {"report.txt", "report.html", "pairs_1.csv", "ssim.csv", "ssim.tex"};
  struct folder folder;
  (void)state;
  support_open_folder(&folder);
  struct report *report = report_unscored(&folder, SLICES);
  assert_holds(page_text(&folder, report, "report.txt"), "3 of 3 slices without a score");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    assert_null(strstr(page_text(&folder, report, files[i]), "nan"));
  support_close_folder(&folder);
}

static void other_data_stand_apart(void **state) {
  struct results others[] = {standard, standard};
  (void)state;
  others[0].selection = "4567";
  others[1].range = "slice";
  for (size_t i = 0; i < 2; i++) {
    struct folder folder;
    struct error error;
    const char *path;
    support_open_folder(&folder);
    struct report *report = two_results(&folder, &others[i], &path);
    assert_good(report_add(report, path, &error), &error);
    assert_int_equal(report->sets, 2);
    assert_int_equal(report->settings, 2);
    assert_true(report->run[0].setting != report->run[1].setting);
    support_close_folder(&folder);
  }
}

static void equal_names_are_told_apart(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  (void)state;
  support_open_folder(&folder);
  struct report *report = two_results(&folder, &standard, &path);
  assert_good(report_add(report, path, &error), &error);
  assert_good(report_finish(report, &error), &error);
  assert_string_equal(report->run[0].method, "A (one)");
  assert_string_equal(report->run[1].method, "A (two)");
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, "is given twice");
  support_close_folder(&folder);
}

static void what_is_no_result_is_refused(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  struct results second = standard;
  (void)state;
  support_open_folder(&folder);
  second.scans = 0;
  struct report *report = two_results(&folder, &second, &path);
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, "x2_long/random holds no scans");
  second.scans = 2;
  write_results(path, &second);
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, "has 2 scans of 3 slices; the file is damaged");
  struct store *store;
  assert_good(store_create(&store, path, &error), &error);
  assert_good(store_commit(store, &error), &error);
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, "holds no results of l2sr evaluate");
  const char *text = support_path(&folder, "text.json");
  support_write_text(text, "");
  assert_false(report_add(report, text, &error));
  assert_holds(error.text, "is empty; write it by l2sr bench inference --json");
  support_write_text(text, "{\"bench\":\"step\"}\n");
  assert_false(report_add(report, text, &error));
  assert_holds(error.text, "is of bench step");
  support_write_text(text, "{\"bench\":\"inference\"}\n{\"cut\":\n");
  assert_false(report_add(report, text, &error));
  assert_holds(error.text, "lacks one of method");
  support_write_text(text, "one\n");
  assert_false(report_add(report, text, &error));
  assert_holds(error.text, "text.json:1 is no JSON object");
  assert_good(folder_make(support_path(&folder, "empty"), &error), &error);
  assert_false(report_add(report, support_path(&folder, "empty"), &error));
  assert_holds(error.text, "neither ");
  support_close_folder(&folder);
}

/* A second setting whose masks are of another number of lines. */
static void add_setting(const char *path, hsize_t lines) {
  const hsize_t mask[] = {SLICES, lines}, action[] = {SLICES, LINES};
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), links = H5Pcreate(H5P_LINK_CREATE);
  hid_t spaces[] = {H5Screate_simple(2, mask, NULL), H5Screate_simple(2, action, NULL)};
  assert_true(file >= 0);
  H5Pset_create_intermediate_group(links, 1);
  H5Dclose(
      H5Dcreate2(file, "x4_long/random/mask", H5T_NATIVE_UINT8, spaces[0], links, H5P_DEFAULT, H5P_DEFAULT));
  H5Dclose(H5Dcreate2(file, "x4_long/random/action", H5T_NATIVE_UINT32, spaces[1], links, H5P_DEFAULT,
                      H5P_DEFAULT));
  for (int i = 0; i < 2; i++) H5Sclose(spaces[i]);
  H5Pclose(links);
  H5Fclose(file);
}

static void masks_of_two_sizes_are_refused(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  (void)state;
  support_open_folder(&folder);
  struct report *report = two_results(&folder, &standard, &path);
  add_setting(path, SIZE + 1);
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, "two/results.h5 is damaged: masks of 5 and of 4 actions");
  support_close_folder(&folder);
}

/* Points are as many as the cells of a square image, and images have at most 1,024 a side: whoever draws masks
 * relies on it. */
static void masks_of_no_image_are_refused(void **state) {
  static const struct {
    const char *geometry;
    hsize_t actions;
    const char *words;
  } cases[] = {{"points", 40201, "are of 40201 points, which no image of up to 1024x1024 has"},
               {"points", 5, "are of 5 points"},
               {"points", 262145, "are of 262145 points"},
               {"spokes", 1025, "are of 1025 spokes"},
               {"lines", 1 << 18, "are of 262144 lines"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct folder folder;
    struct error error;
    const char *path;
    support_open_folder(&folder);
    struct results second = standard;
    second.lines = arena_text(folder.arena, "acquisition:\n  geometry: %s\n", cases[i].geometry);
    struct report *report = two_results(&folder, &second, &path);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, "x2_long/random/mask", H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, (hsize_t[]){SLICES, cases[i].actions}, NULL);
    H5Dclose(H5Dcreate2(file, "x2_long/random/mask", H5T_NATIVE_UINT8, space, H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(file);
    assert_false(report_add(report, path, &error));
    assert_holds(error.text, cases[i].words);
    support_close_folder(&folder);
  }
}

/* Actions are of those that a mask has, and no more than these. */
static void actions_of_no_mask_are_refused(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  uint32_t action[SLICES * LINES] = {0};
  (void)state;
  support_open_folder(&folder);
  struct report *report = two_results(&folder, &standard, &path);
  action[SLICES * LINES - 1] = SIZE;
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t actions = H5Dopen2(file, "x2_long/random/action", H5P_DEFAULT);
  assert_true(H5Dwrite(actions, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, action) >= 0);
  H5Dclose(actions);
  H5Fclose(file);
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, "x2_long/random/action names line 4 of 4; the file is damaged");
  write_results(path, &standard);
  add_setting(path, 1);
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, "x4_long/random has 2 actions a scan and masks of 1; the file is damaged");
  support_close_folder(&folder);
}

static void images_of_rows_that_are_not_there_are_refused(void **state) {
  struct folder folder;
  struct error error;
  const char *path;
  struct results second = standard;
  uint32_t row = SLICES;
  (void)state;
  support_open_folder(&folder);
  second.image = "kept/image";
  struct report *report = two_results(&folder, &second, &path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), rows = H5Dopen2(file, "kept/row", H5P_DEFAULT);
  assert_true(H5Dwrite(rows, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, &row) >= 0);
  H5Dclose(rows);
  H5Fclose(file);
  assert_false(report_add(report, path, &error));
  assert_holds(error.text, "kept/row names row 3 of 3 slices");
  support_close_folder(&folder);
}

static void too_many_data_sets_are_refused(void **state) {
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  struct report *report = report_make(folder.arena);
  for (int i = 0; i <= REPORT_SETS; i++) {
    const char *path = support_path(&folder, arena_text(folder.arena, "%d.h5", i));
    struct results results = standard;
    results.selection = arena_text(folder.arena, "%d", i);
    write_results(path, &results);
    if (i < REPORT_SETS)
      assert_good(report_add(report, path, &error), &error);
    else
      assert_false(report_add(report, path, &error));
  }
  assert_holds(error.text, "the results are of more than 16 data sets; write several reports");
  support_close_folder(&folder);
}

/* Before anything is written. */
static void missing_images_are_refused(void **state) {
  static const char *const images[] = {"kept/image", "x2_long/random/kept"};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    struct results second = standard;
    second.image = images[i];
    refuse_second(&second, "two/results.h5 is damaged: it has kept/row and lacks ", images[1 - i]);
  }
}

/* The last line of a log that is still written may be cut. */
static void logs_are_read(void **state) {
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  struct report *report = report_make(folder.arena);
  const char *log = support_path(&folder, "log.jsonl");
  support_write_text(log, "{\"kind\":\"update\",\"epoch\":1,\"loss\":1}\n");
  assert_false(report_add(report, folder.path, &error));
  assert_holds(error.text, "holds no epoch, look or validation yet");
  support_write_text(
      log,
      "{\"kind\":\"epoch\",\"epoch\":1,\"val_ssim\":0.5}\n{\"kind\":\"epoch\",\"epoch\":2,\"val_ssim\":0.6}\n"
      "{\"kind\":\"epoch\",\"ep");
  report = report_make(folder.arena);
  assert_good(report_add(report, folder.path, &error), &error);
  assert_int_equal(report->training[0].stage[0].validation.count, 2);
  assert_near(report->training[0].stage[0].validation.y[1], 0.6, 1e-12);
  support_write_text(log, "{\"kind\":\"epoch\",\"ep\n{\"kind\":\"epoch\",\"epoch\":2,\"val_ssim\":0.6}\n");
  assert_false(report_add(report_make(folder.arena), folder.path, &error));
  assert_holds(error.text, "log.jsonl:1 is no JSON object");
  support_close_folder(&folder);
}

static void expect_no_training(struct folder *all, const char *const parts[]) {
  struct error error;
  assert_false(report_add(report_make(all->arena), all->path, &error));
  for (; *parts; parts++) assert_holds(error.text, *parts);
}

/* Files of other programs by these names: what was found and what a training has is said. */
static void files_that_are_no_logs_are_refused(void **state) {
  static const char log[] = "{\"kind\":\"epoch\",\"epoch\":1,\"val_ssim\":0.5}\n", binary[] = "\0\1\2\3\xff\n\0";
  struct folder folder;
  (void)state;
  support_open_folder(&folder);
  const char *logs = support_path(&folder, "log.jsonl"), *stages = support_path(&folder, "stages.jsonl");
  support_write_text(logs, "{\"a\":1}\n{\"b\":2}\n");
  expect_no_training(&folder, (const char *[]){"log.jsonl holds 2 whole lines of JSON, and none has \"kind\"", NULL});
  support_write_text(logs, "no log");
  expect_no_training(&folder, (const char *[]){"log.jsonl holds 0 whole lines of JSON", "it is no log of a training", NULL});
  support_write(logs, binary, sizeof binary - 1);
  expect_no_training(&folder, (const char *[]){"log.jsonl:1 is no JSON object on one line", NULL});
  support_write_text(logs, log);
  support_write_text(stages, "");
  expect_no_training(&folder, (const char *[]){"has a log.jsonl, as a training of one stage, and a stages.jsonl that is empty",
                                               "remove the one that is not of this training", NULL});
  support_write_text(stages, "{\"a\":1}\n");
  expect_no_training(&folder, (const char *[]){"stages.jsonl holds 1 whole line of JSON, and none has \"stage\"",
                                               "it is no list of a training's stages", NULL});
  support_write(stages, binary, sizeof binary - 1);
  expect_no_training(&folder, (const char *[]){"stages.jsonl:1 is no JSON object on one line", NULL});
  support_write_text(stages, "no list");
  expect_no_training(&folder, (const char *[]){"stages.jsonl holds 0 whole lines", NULL});
  unlink(logs);
  support_write_text(stages, "");
  expect_no_training(&folder, (const char *[]){"has a stages.jsonl, and no folder of a stage with a log.jsonl in it", NULL});
  support_close_folder(&folder);
}

static void write_log(struct folder *all, const char *name, const char *text) {
  const char *path = support_path(all, name);
  assert_int_equal(mkdir(path, 0755), 0);
  support_write_text(support_path(all, arena_text(all->arena, "%s/log.jsonl", name)), text);
}

static void has_stage(const struct report_stage *stage, const char *name, const char *unit, const char *metric,
                      double last, double y) {
  assert_string_equal(stage->name, name);
  assert_string_equal(stage->unit, unit);
  assert_string_equal(stage->metric, metric);
  assert_true(stage->validation.count > 0);
  assert_near(stage->validation.x[stage->validation.count - 1], last, 0);
  assert_near(stage->validation.y[stage->validation.count - 1], y, 1e-12);
}

/* Stages by whatever names, in the order in which they are trained, of tasks that the program does not know: what they
 * tell first is shown by its name. What is no stage is left alone. */
static void logs_of_other_methods_are_read(void **state) {
  struct folder folder;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  support_write_text(support_path(&folder, "stages.jsonl"), "");
  write_log(&folder, "reconstructor", "{\"kind\":\"epoch\",\"epoch\":1,\"updates\":3,\"val_ssim\":0.5}\n");
  write_log(&folder, "mask_1", "{\"kind\":\"look\",\"steps\":1,\"images\":9,\"score\":0.3,\"action\":4}\n"
                               "{\"kind\":\"validation\",\"steps\":2,\"images\":18,\"metric\":\"psnr\",\"score\":21,"
                               "\"images_per_second\":7}\n");
  write_log(&folder, "reconstructor_1", "{\"kind\":\"epoch\",\"epoch\":1,\"updates\":3,\"val_ssim\":0.6}\n");
  write_log(&folder, "distilled_2",
            "{\"kind\":\"validation\",\"epoch\":1,\"updates\":4,\"error\":3,\"other\":1,\"best_epoch\":1}\n"
            "{\"kind\":\"validation\",\"epoch\":2,\"updates\":8,\"error\":5,\"other\":1,\"best_epoch\":1}\n");
  write_log(&folder, "student_10", "{\"kind\":\"validation\",\"rounds\":4,\"images\":40,\"gap\":0.25,"
                                   "\"best_round\":4,\"images_per_second\":3}\n{\"kind\":\"validation\"}\n{\"kind\":3}\n");
  write_log(&folder, "old_policy_1", "no log\n");
  struct report *report = report_make(folder.arena);
  assert_good(report_add(report, folder.path, &error), &error);
  const struct report_training *training = &report->training[0];
  assert_int_equal(training->stages, 5);
  has_stage(&training->stage[0], "reconstructor", "epochs", "ssim", 1, 0.5);
  has_stage(&training->stage[1], "mask_1", "steps", "psnr", 2, 21);
  has_stage(&training->stage[2], "reconstructor_1", "epochs", "ssim", 1, 0.6);
  has_stage(&training->stage[3], "distilled_2", "epochs", "error", 2, 5);
  assert_near(training->stage[3].selected, 3, 0);
  has_stage(&training->stage[4], "student_10", "rounds", "gap", 4, 0.25);
  assert_near(training->stage[4].selected, 0.25, 0);
  assert_true(isnan(training->stage[1].selected) && isnan(training->stage[1].gamma));
  struct report_config config = {.metric = 0};
  assert_good(report_write(report, &config, support_path(&folder, "page"), &error), &error);
  support_close_folder(&folder);
}

/* The discount of policies that have one; of methods of other programs nothing is known. */
static void discounts_are_the_methods(void **state) {
  (void)state;
  assert_near(method_gamma("train:\n  method: pgmri\nlearn:\n  gamma: 1\npgmri:\n  gamma: 0.9\n"), 0.9, 0);
  assert_near(method_gamma("train:\n  method: l2sr\nlearn:\n  gamma: 0.5\npgmri:\n  gamma: 0.9\n"), 0.5, 0);
  assert_true(isnan(method_gamma("train:\n  method: loupe\nlearn:\n  gamma: 1\n")));
  assert_true(isnan(method_gamma("train:\n  method: another\nlearn:\n  gamma: 1\n")));
  assert_true(isnan(method_gamma("")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(markup_is_escaped),
      cmocka_unit_test(pictures_are_part_of_a_page),
      cmocka_unit_test(tables_are_written_in_four_ways),
      cmocka_unit_test(tables_show_any_bytes),
      cmocka_unit_test(cells_of_csv_do_nothing),
      cmocka_unit_test(less_may_be_best),
      cmocka_unit_test(small_numbers_keep_their_digits),
      cmocka_unit_test(scores_have_one_name),
      cmocka_unit_test(lines_of_json_are_read),
      cmocka_unit_test(written_texts_are_read),
      cmocka_unit_test(damaged_lines_are_refused),
      cmocka_unit_test(results_are_read),
      cmocka_unit_test(methods_of_one_name_are_told_apart),
      cmocka_unit_test(results_of_rectangles_are_read),
      cmocka_unit_test(another_version_is_refused),
      cmocka_unit_test(missing_images_are_refused),
      cmocka_unit_test(volumes_without_a_name_are_refused),
      cmocka_unit_test(many_lines_of_a_source_are_read),
      cmocka_unit_test(more_slices_than_the_file_holds_are_refused),
      cmocka_unit_test(keys_of_training_keep_nothing_apart),
      cmocka_unit_test(keys_of_tests_keep_apart_in_words),
      cmocka_unit_test(every_key_of_the_data_says_what_it_concerns),
      cmocka_unit_test(scores_of_volumes_are_of_volumes),
      cmocka_unit_test(results_say_whose_slices_are),
      cmocka_unit_test(slices_without_a_score_are_told),
      cmocka_unit_test(methods_without_any_score_are_told),
      cmocka_unit_test(other_data_stand_apart),
      cmocka_unit_test(equal_names_are_told_apart),
      cmocka_unit_test(what_is_no_result_is_refused),
      cmocka_unit_test(masks_of_two_sizes_are_refused),
      cmocka_unit_test(masks_of_no_image_are_refused),
      cmocka_unit_test(actions_of_no_mask_are_refused),
      cmocka_unit_test(images_of_rows_that_are_not_there_are_refused),
      cmocka_unit_test(too_many_data_sets_are_refused),
      cmocka_unit_test(logs_are_read),
      cmocka_unit_test(files_that_are_no_logs_are_refused),
      cmocka_unit_test(logs_of_other_methods_are_read),
      cmocka_unit_test(discounts_are_the_methods),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
