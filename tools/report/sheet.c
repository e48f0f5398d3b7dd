/* Contact sheets of the page: which images there are, and a picture for each row and setting. */
#include "engine/files/store.h"
#include "tools/draw/picture.h"
#include "tools/report/report.h"
#include "tools/report/score_text.h"

#include <string.h>

enum {
  METHODS_MOST = 5, /* methods beside the truth; more go into further pictures */
  ROWS_MOST = 4,    /* slices, where none are chosen */
  COLUMN = 160      /* pixels of the page */
};
static const float error_fraction = 0.25f; /* fraction of the largest grey value where error maps end */

struct sheet {
  struct report_page *page;
  const struct report_set *set;
  const struct report_setting *setting;
  const struct report_run *run[REPORT_RUNS];
  const float *image[REPORT_RUNS], *truth;
  size_t runs;
  uint32_t row;
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

static bool read_image(struct store *store, struct arena *arena, const char *name, size_t place,
                       const struct scan_shape *scan, const float **image, struct error *error) {
  size_t start[] = {place, 0, 0}, count[] = {1, scan->height, scan->width};
  struct store_shape shape;
  float *pixel = ARENA_NEW(arena, float, scan_shape_pixels(scan));
  if (!store_shape(store, name, &shape, error)) return false;
  if (shape.rank != 3 || place >= shape.size[0] || shape.size[1] != scan->height ||
      shape.size[2] != scan->width)
    return fail(error, "%s has no image %zu of %ux%u pixels; the file is damaged", name, place, scan->height,
                scan->width);
  *image = pixel;
  return store_read(store, name, STORE_F32, start, count, pixel, error);
}

/* Takes the run into the sheet where its file has images of the row. */
static bool add_result(struct sheet *sheet, const struct report_run *run, struct error *error) {
  struct arena *arena = sheet->page->report->arena;
  struct store *store;
  size_t place;
  bool kept, good = true;
  if (!store_open(&store, run->path, error)) return false;
  const char *name;
  if (find_image(store, arena, sheet->row, &kept, &place) &&
      store_has(store, name = arena_text(arena, "%s/%s", run->folder, kept ? "kept" : "reconstruction"))) {
    good = (sheet->truth || read_image(store, arena, kept ? "kept/image" : "slice/image", place,
                                       &sheet->set->shape, &sheet->truth, error)) &&
           read_image(store, arena, name, place, &sheet->set->shape, &sheet->image[sheet->runs], error);
    sheet->run[sheet->runs] = run;
    sheet->runs += good;
  }
  store_close(store);
  return good ? true : fail_in(error, "%s", run->path);
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static size_t count_lines(const struct sheet *sheet) {
  size_t lines = 0;
  for (size_t m = 0; m < METRICS; m++) lines += report_shows(sheet->page->report, sheet->page->config, m);
  return lines;
}

/* A volume's score stands with its first slice. */
static const char *score_of_row(const struct sheet *sheet, const struct report_run *run, size_t metric) {
  const struct report_set *set = sheet->set;
  struct arena *arena = sheet->page->report->arena;
  bool of_volume = scoring_unit(set->scoring, metric) == UNIT_VOLUME;
  size_t row = sheet->row;
  for (size_t u = 0; of_volume && u < set->by_volume.count; u++)
    if (set->volume[set->by_volume.row[u]] == set->volume[sheet->row]) row = set->by_volume.row[u];
  const char *text =
      score_caption(arena, metric, (double)run->metric[metric][row * run->steps + run->steps - 1]);
  return of_volume ? arena_text(arena, "%s (volume)", text) : text;
}

/* Below the images stand the metrics of the page's tables, by the same rules and names. */
static const char **captions_of(const struct sheet *sheet, const struct report_run *run, size_t lines) {
  struct arena *arena = sheet->page->report->arena;
  const char **captions = ARENA_NEW(arena, const char *, lines + 1);
  size_t line = 0;
  for (size_t m = 0; m < METRICS; m++)
    if (report_shows(sheet->page->report, sheet->page->config, m))
      captions[line++] = run->metric[m] ? score_of_row(sheet, run, m) : "";
  return captions;
}

static struct scan_shape shape_of(const struct sheet *sheet) {
  return geometry_shape(sheet->setting->geometry, sheet->set->shape.height, sheet->set->shape.width);
}

/* Chosen actions as the picture draws them: columns as they are, others by their cells. */
static const uint8_t *drawn_mask(const struct sheet *sheet, const uint8_t *chosen) {
  const struct geometry *geometry = sheet->setting->geometry;
  const struct scan_shape shape = shape_of(sheet);
  if (geometry->columns) return chosen;
  uint8_t *mask = ARENA_NEW(sheet->page->report->arena, uint8_t, scan_shape_pixels(&shape));
  geometry_mask(geometry, &shape, chosen, mask);
  return mask;
}

static struct picture_column column_of(const struct sheet *sheet, size_t place, size_t lines) {
  const struct report_run *run = sheet->run[place];
  size_t actions = shape_of(sheet).actions;
  return (struct picture_column){run->method, sheet->image[place],
                                 drawn_mask(sheet, run->mask + sheet->row * actions),
                                 drawn_mask(sheet, run->initial), captions_of(sheet, run, lines), NULL};
}

static const char *caption_of(const struct sheet *sheet) {
  struct arena *arena = sheet->page->report->arena;
  return arena_text(arena, "Row %u (%s, slice %u) at %s: image, its central third, error map, mask.",
                    sheet->row, report_file_name(arena, sheet->set, sheet->set->volume[sheet->row]),
                    sheet->set->number[sheet->row], sheet->setting->label);
}

/* Puts some of the methods beside the truth, as number `part` of the row's pictures. */
static bool put_part(const struct sheet *sheet, const struct picture_sheet *picture, size_t part,
                     struct error *error) {
  struct arena *arena = sheet->page->report->arena;
  size_t setting = (size_t)(sheet->setting - sheet->page->report->setting);
  const char *file = arena_text(arena, "images_%zu_row%u", setting + 1, sheet->row);
  struct report_figure figure = {.file = part ? arena_text(arena, "%s_%zu", file, part + 1) : file,
                                 .title = caption_of(sheet),
                                 .caption = caption_of(sheet),
                                 .width = COLUMN * (double)(picture->column_count + 1),
                                 .draw = picture_draw,
                                 .what = picture};
  return report_put_figure(sheet->page, &figure, error);
}

static bool put_parts(const struct sheet *sheet, struct error *error) {
  struct picture_column column[METHODS_MOST];
  const struct scan_shape *shape = &sheet->set->shape;
  float white = colour_white(sheet->truth, scan_shape_pixels(shape));
  struct picture_sheet picture = {.truth = sheet->truth,
                                  .height = shape->height,
                                  .width = shape->width,
                                  .white = white,
                                  .error_white = error_fraction * white,
                                  .columns = column,
                                  .lines = count_lines(sheet),
                                  .cells = !sheet->setting->geometry->columns};
  for (size_t first = 0; first < sheet->runs; first += METHODS_MOST) {
    picture.column_count = sheet->runs - first < METHODS_MOST ? sheet->runs - first : METHODS_MOST;
    for (size_t c = 0; c < picture.column_count; c++) column[c] = column_of(sheet, first + c, picture.lines);
    if (!put_part(sheet, &picture, first / METHODS_MOST, error)) return false;
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
  size_t count = report_select(report, setting, page->config->metric, list);
  for (size_t i = 0; i < count; i++)
    if (!add_result(sheet, list[i], error)) return false;
  return !sheet->runs || put_parts(sheet, error);
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

bool report_check_rows(const struct report *report, const struct report_config *config, struct error *error) {
  size_t most = 0;
  bool found;
  for (size_t s = 0; s < report->sets; s++)
    if (report->set[s].slices > most) most = report->set[s].slices;
  for (size_t i = 0; i < config->row_count; i++) {
    uint32_t row = config->rows[i];
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
  const struct report_config *config = page->config;
  uint32_t rows[ROWS_MOST];
  size_t count = 0;
  report_heading(page, 3, NULL, "Slices");
  if (!config->row_count && !list_rows(page->report, set, rows, &count, error)) return false;
  for (size_t i = 0; i < config->row_count; i++)
    if (!put_row(page, set, config->rows[i], error)) return false;
  for (size_t i = 0; i < count; i++)
    if (!put_row(page, set, rows[i], error)) return false;
  if (!config->row_count && !count)
    report_say(
        page,
        "These results hold no images. `l2sr evaluate --set evaluate.keep=[0,1]` stores those of the rows "
        "named, and the report then shows them.");
  return true;
}
