/* Contact sheets: the truth, then a column for every method with its reconstruction, an enlarged detail, the
 * error map and the mask. Texts and masks are vectors, images are PNG. */
#include "engine/files/store.h"
#include "tools/draw/svg.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"

#include <math.h>
#include <string.h>

enum {
  METHODS_MOST = 5, /* methods beside the truth; more go into further pictures */
  ROWS_MOST = 4,    /* slices, where none are chosen */
  ZOOM = 3,
  SIDE = 150, /* of a panel */
  GAP = 8,
  HEAD = 24,
  MASK = 26,
  LINE = 17,
  LETTER = 6,      /* width */
  SHARP_BELOW = 96 /* pixels a side that are shown as rectangles, not smoothed */
};
static const float error_share = 0.25f; /* of the largest grey value: where error maps end */

struct sheet {
  struct report_page *page;
  const struct report_set *set;
  const struct report_setting *setting;
  const struct report_run *run[REPORT_RUNS];
  const float *image[REPORT_RUNS], *truth;
  size_t runs;
  uint32_t row;
  float white;
};

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Where the row's images are in the file: among those kept, or among all. */
static bool find_image(struct store *store, struct arena *arena, uint32_t row, bool *kept, size_t *place) {
  struct error error;
  uint32_t *rows;
  size_t count;
  *kept = store_has(store, "kept/row");
  *place = row;
  if (!*kept) return store_has(store, "slice/image");
  if (!store_read_all(store, "kept/row", STORE_U32, REPORT_SLICES, arena, (void **)&rows, &count, &error))
    return false;
  for (*place = 0; *place < count; ++*place)
    if (rows[*place] == row) return true;
  return false;
}

static bool read_image(struct store *store, struct arena *arena, const char *name, size_t place, size_t size,
                       const float **image, struct error *error) {
  size_t start[] = {place, 0, 0}, count[] = {1, size, size};
  struct store_shape shape;
  float *pixel = ARENA_NEW(arena, float, size *size);
  if (!store_shape(store, name, &shape, error)) return false;
  if (shape.rank != 3 || place >= shape.size[0] || shape.size[1] != size || shape.size[2] != size)
    return fail(error, "%s has no image %zu of %zux%zu pixels; the file is damaged", name, place, size, size);
  *image = pixel;
  return store_read(store, name, STORE_F32, start, count, pixel, error);
}

/* Takes the run into the sheet where its file has images of the row. */
static bool add_run(struct sheet *sheet, const struct report_run *run, struct error *error) {
  struct arena *arena = sheet->page->report->arena;
  struct store *store;
  size_t place;
  bool kept, good = true;
  if (!store_open(&store, run->path, error)) return false;
  const char *name;
  if (find_image(store, arena, sheet->row, &kept, &place) &&
      store_has(store, name = arena_text(arena, "%s/%s", run->folder, kept ? "kept" : "reconstruction"))) {
    good = (sheet->truth || read_image(store, arena, kept ? "kept/image" : "slice/image", place,
                                       sheet->set->size, &sheet->truth, error)) &&
           read_image(store, arena, name, place, sheet->set->size, &sheet->image[sheet->runs], error);
    sheet->run[sheet->runs] = run;
    sheet->runs += good;
  }
  store_close(store);
  return good ? true : fail_in(error, "%s", run->path);
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static double left_of(size_t column) {
  return (double)column * (SIDE + GAP);
}

enum panel { IMAGE, DETAIL, ERROR };

static double top_of(enum panel panel) {
  return HEAD + (double)panel * (SIDE + GAP);
}

static bool draw_panel(const struct sheet *sheet, size_t column, const float *image, enum panel panel,
                       struct error *error) {
  size_t n = sheet->set->size, detail = n / ZOOM ? n / ZOOM : 1, side = panel == DETAIL ? detail : n;
  size_t first = (n - side) / 2;
  struct arena *arena = arena_open();
  struct colour *pixel = ARENA_NEW(arena, struct colour, side * side);
  for (size_t y = 0; y < side; y++)
    for (size_t x = 0; x < side; x++) {
      size_t i = (first + y) * n + first + x;
      pixel[y * side + x] =
          panel == ERROR ? colour_heat(fabsf(image[i] - sheet->truth[i]) / (error_share * sheet->white))
                         : colour_grey(image[i] / sheet->white);
    }
  bool good = svg_image(sheet->page->html, left_of(column), top_of(panel), SIDE, pixel, side, side,
                        side < SHARP_BELOW, error);
  arena_close(arena);
  return good;
}

static const char *line_class(const struct sheet *sheet, const struct report_run *run, size_t x) {
  return !run->mask[sheet->row * sheet->set->size + x] ? "unsampled"
         : run->initial[x]                             ? "initial"
                                                       : "acquired";
}

/* A strip, or a panel of the cells of k-space where actions are not columns. */
static double mask_height(const struct sheet *sheet) {
  return sheet->setting->geometry->columns ? MASK : SIDE;
}

/* The cells of what was acquired and, over them, of what was given. */
static bool draw_cells(const struct sheet *sheet, size_t column, const struct report_run *run,
                       struct error *error) {
  static const struct colour none = {0, 0, 0}, acquired = {0xff, 0xff, 0xff}, given = {0xe6, 0x9f, 0x00};
  size_t n = sheet->set->size, pixels = n * n;
  double left = left_of(column), top = top_of(ERROR) + SIDE + GAP;
  struct arena *arena = arena_open();
  struct colour *pixel = ARENA_NEW(arena, struct colour, pixels);
  uint8_t *all = ARENA_NEW(arena, uint8_t, pixels), *first = ARENA_NEW(arena, uint8_t, pixels);
  geometry_mask(sheet->setting->geometry, (uint32_t)n,
                run->mask + sheet->row * geometry_actions(sheet->setting->geometry, n), all);
  geometry_mask(sheet->setting->geometry, (uint32_t)n, run->initial, first);
  for (size_t i = 0; i < pixels; i++) pixel[i] = first[i] ? given : all[i] ? acquired : none;
  bool good = svg_image(sheet->page->html, left, top, SIDE, pixel, n, n, n < SHARP_BELOW, error);
  svg_rect(sheet->page->html, left, top, SIDE, SIDE, "frame");
  arena_close(arena);
  return good;
}

/* Neighbours of one kind are one rectangle: no seams. */
static void draw_columns(const struct sheet *sheet, size_t column, const struct report_run *run) {
  size_t n = sheet->set->size;
  double left = left_of(column), top = top_of(ERROR) + SIDE + GAP, wide = (double)SIDE / (double)n;
  for (size_t x = 0, end; x < n; x = end) {
    const char *class = line_class(sheet, run, x);
    for (end = x + 1; end < n && !strcmp(class, line_class(sheet, run, end));) end++;
    svg_rect(sheet->page->html, left + wide * (double)x, top, wide * (double)(end - x), MASK, class);
  }
  svg_rect(sheet->page->html, left, top, SIDE, MASK, "frame");
}

/* Lines below the images: the metrics of the page's tables, by the same rules and names. */
static size_t count_lines(const struct sheet *sheet) {
  size_t lines = 0;
  for (size_t m = 0; m < METRICS; m++) lines += report_shows(sheet->page->report, sheet->page->wish, m);
  return lines;
}

static bool draw_column(const struct sheet *sheet, size_t column, size_t place, struct error *error) {
  const struct report_run *run = sheet->run[place];
  struct arena *arena = sheet->page->report->arena;
  FILE *file = sheet->page->html;
  double middle = left_of(column) + SIDE / 2.0, below = top_of(ERROR) + SIDE + GAP + mask_height(sheet);
  size_t last = (size_t)sheet->row * run->steps + run->steps - 1;
  svg_text(file, middle, 16, "middle", svg_cut(arena, run->method, SIDE / LETTER));
  for (int panel = IMAGE; panel <= ERROR; panel++)
    if (!draw_panel(sheet, column, sheet->image[place], (enum panel)panel, error)) return false;
  if (sheet->setting->geometry->columns)
    draw_columns(sheet, column, run);
  else if (!draw_cells(sheet, column, run, error))
    return false;
  for (size_t m = 0, line = 1; m < METRICS; m++)
    if (report_shows(sheet->page->report, sheet->page->wish, m)) {
      if (run->metric[m])
        svg_text(file, middle, below + LINE * (double)line, "middle",
                 score_caption(arena, m, (double)run->metric[m][last]));
      line++;
    }
  return true;
}

/* The scale of the error maps, in the place of the truth's own. */
static bool draw_scale(const struct sheet *sheet, struct error *error) {
  enum { STEPS = 64 };
  struct colour pixel[STEPS];
  FILE *file = sheet->page->html;
  double top = top_of(ERROR), share = 100 * (double)error_share;
  for (size_t i = 0; i < STEPS; i++) pixel[i] = colour_heat(1 - (float)i / (STEPS - 1));
  fprintf(file, "<g transform=\"translate(%.1f 0) scale(.1 1)\">", SIDE * 0.9);
  bool good = svg_image(file, 0, top, SIDE, pixel, 1, STEPS, false, error);
  fprintf(file, "</g>\n");
  for (int i = 0; i < 3; i++) {
    double value = share * (1 - 0.5 * i);
    svg_text(file, SIDE * 0.9 - 6,
             top + (i == 0   ? 11
                    : i == 1 ? SIDE / 2.0 + 4
                             : SIDE - 2),
             "end", arena_text(sheet->page->report->arena, "%.3g %%", value));
  }
  svg_text(file, 0, top + 11, "start", "absolute error");
  svg_text(file, 0, top + 11 + LINE, "start", "in % of white");
  return good;
}

static bool draw_truth(const struct sheet *sheet, struct error *error) {
  static const char *const words[] = {"given at the start", "acquired", "not acquired"}, *const classes[] = {
                                                                                             "initial",
                                                                                             "acquired",
                                                                                             "unsampled"};
  FILE *file = sheet->page->html;
  double detail = (double)(sheet->set->size / ZOOM) * SIDE / (double)sheet->set->size,
         from = (double)((sheet->set->size - sheet->set->size / ZOOM) / 2) * SIDE / (double)sheet->set->size;
  svg_text(file, SIDE / 2.0, 16, "middle", "truth");
  if (!draw_panel(sheet, 0, sheet->truth, IMAGE, error) ||
      !draw_panel(sheet, 0, sheet->truth, DETAIL, error) || !draw_scale(sheet, error))
    return false;
  svg_rect(file, from, top_of(IMAGE) + from, detail, detail, "detail");
  for (int i = 0; i < 3; i++) {
    double top = top_of(ERROR) + SIDE + GAP + LINE * (double)i;
    svg_rect(file, SIDE - 12, top, 11, 11, classes[i]);
    svg_rect(file, SIDE - 12, top, 11, 11, "frame");
    svg_text(file, SIDE - 18, top + 10, "end", words[i]);
  }
  return true;
}

static bool draw_sheet(struct sheet *sheet, struct error *error) {
  struct report_page *page = sheet->page;
  struct arena *arena = page->report->arena;
  const char *names = sheet->set->names;
  for (size_t i = 0; names && i < sheet->set->volume[sheet->row]; i++)
    names = (names = strchr(names, '\n')) ? names + 1 : NULL;
  const char *caption =
      arena_text(arena, "Row %u (%.*s, slice %u) at %s: image, its central third, error map, mask.",
                 sheet->row, (int)strcspn(names ? names : "?", "\n"), names ? names : "?",
                 sheet->set->number[sheet->row], sheet->setting->label);
  sheet->white = colour_white(sheet->truth, sheet->set->size * sheet->set->size);
  for (size_t first = 0; first < sheet->runs; first += METHODS_MOST) {
    size_t count = sheet->runs - first < METHODS_MOST ? sheet->runs - first : METHODS_MOST;
    report_open_figure(page);
    svg_open(page->html, left_of(count + 1) - GAP,
             top_of(ERROR) + SIDE + GAP + mask_height(sheet) + LINE * (double)count_lines(sheet) + 8,
             caption);
    bool good = draw_truth(sheet, error);
    for (size_t c = 0; good && c < count; c++) good = draw_column(sheet, c + 1, first + c, error);
    svg_close(page->html);
    report_close_figure(page, caption);
    if (!good) return false;
  }
  return true;
}

/* ---- which --------------------------------------------------------------------------------------------- */

static bool put_sheet(struct report_page *page, size_t setting, uint32_t row, struct error *error) {
  struct report *report = page->report;
  const struct report_run *list[REPORT_RUNS];
  struct sheet *sheet = ARENA_NEW(report->arena, struct sheet, 1);
  sheet->page = page;
  sheet->setting = &report->setting[setting];
  sheet->set = &report->set[sheet->setting->set];
  sheet->row = row;
  size_t count = report_select(report, setting, page->wish->metric, list);
  for (size_t i = 0; i < count; i++)
    if (!add_run(sheet, list[i], error)) return false;
  return !sheet->runs || draw_sheet(sheet, error);
}

/* Rows that some results of the data set have images of. */
static bool list_rows(struct report *report, size_t set, uint32_t *rows, size_t *count, struct error *error) {
  *count = 0;
  for (size_t r = 0; r < report->runs; r++) {
    struct store *store;
    uint32_t *kept, all[ROWS_MOST] = {0, 1, 2, 3};
    size_t number = report->set[set].slices < ROWS_MOST ? report->set[set].slices : ROWS_MOST;
    if (report->setting[report->run[r].setting].set != set) continue;
    if (!store_open(&store, report->run[r].path, error)) return false;
    bool good =
        !store_has(store, "kept/row") || store_read_all(store, "kept/row", STORE_U32, REPORT_SLICES,
                                                        report->arena, (void **)&kept, &number, error);
    if (good && !store_has(store, "kept/row")) kept = all;
    if (good && !store_has(store, "kept/row") && !store_has(store, "slice/image")) number = 0;
    store_close(store);
    if (!good) return false;
    for (size_t i = 0; i < number; i++) {
      size_t at = 0;
      while (at < *count && rows[at] != kept[i]) at++;
      if (at == *count && at < ROWS_MOST && kept[i] < report->set[set].slices) rows[(*count)++] = kept[i];
    }
  }
  return true;
}

static bool put_row(struct report_page *page, size_t set, uint32_t row, struct error *error) {
  const struct report *report = page->report;
  if (row >= report->set[set].slices) return true;
  for (size_t s = 0; s < report->settings; s++)
    if (report->setting[s].set == set && !put_sheet(page, s, row, error)) return false;
  return true;
}

static bool has_row(const struct report *report, uint32_t row, bool *found, struct error *error) {
  *found = false;
  for (size_t r = 0; !*found && r < report->runs; r++) {
    const struct report_run *run = &report->run[r];
    struct store *store;
    size_t place;
    bool kept;
    if (row >= report->set[report->setting[run->setting].set].slices) continue;
    if (!store_open(&store, run->path, error)) return false;
    *found = find_image(store, report->arena, row, &kept, &place);
    store_close(store);
  }
  return true;
}

bool report_check_rows(const struct report *report, const struct report_wish *wish, struct error *error) {
  size_t most = 0;
  bool found;
  for (size_t s = 0; s < report->sets; s++)
    if (report->set[s].slices > most) most = report->set[s].slices;
  for (size_t i = 0; i < wish->row_count; i++) {
    uint32_t row = wish->rows[i];
    if (row >= most)
      return fail(error, "--slices names row %u; the results have %zu rows, from 0 on", row, most);
    if (!has_row(report, row, &found, error)) return false;
    if (!found)
      return fail(error,
                  "--slices names row %u, of which no results hold images; evaluate again with --set "
                  "evaluate.keep=[%u]",
                  row, row);
  }
  return true;
}

bool report_put_sheets(struct report_page *page, size_t set, struct error *error) {
  const struct report_wish *wish = page->wish;
  uint32_t rows[ROWS_MOST];
  size_t count = 0;
  report_heading(page, 3, NULL, "Slices");
  if (!wish->row_count && !list_rows(page->report, set, rows, &count, error)) return false;
  for (size_t i = 0; i < wish->row_count; i++)
    if (!put_row(page, set, wish->rows[i], error)) return false;
  for (size_t i = 0; i < count; i++)
    if (!put_row(page, set, rows[i], error)) return false;
  if (!wish->row_count && !count)
    report_say(
        page,
        "These results hold no images. `l2sr evaluate --set evaluate.keep=[0,1]` stores those of the rows "
        "named, and the report then shows them.");
  return true;
}
