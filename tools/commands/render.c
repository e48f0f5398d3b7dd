/* Contact sheets: truth, reconstruction, error map and mask of every sampler, one picture a slice and
 * setting. */
#include "engine/base/text.h"
#include "engine/files/store.h"
#include "systems/coils/noise.h"
#include "systems/methods/evaluate.h"
#include "systems/sampling/geometry.h"
#include "tools/commands/command.h"
#include "tools/draw/colour.h"
#include "tools/draw/picture.h"
#include "tools/report/score_text.h"

#include <stdlib.h>
#include <string.h>

enum { SLICES_MOST = 256 };

/* What all sheets have in common. */
struct sheets {
  const struct evaluation *evaluation;
  const char *metrics, *folder;
  bool noise;    /* noise maps in place of error maps, */
  double weight; /* of least squares with this weight */
};

struct wanted {
  uint32_t row[SLICES_MOST];
  size_t count;
  bool usual; /* not asked for: those of them that there are */
};

static bool read_wanted(const struct call *call, struct wanted *wanted, struct error *error) {
  const char *list = call_flag(call, "slices");
  char word[32];
  wanted->usual = !list;
  if (!list) list = "0,1,2,3";
  while ((list = option_next(list, word, sizeof word))) {
    uint32_t row;
    if (!option_whole(word, 0, 10000000, &row))
      return fail_usage(error, "--slices has '%s'; it must be rows of the data set, as 0,5,12", word);
    if (wanted->count == SLICES_MOST)
      return fail_usage(error, "--slices names more than %d slices", SLICES_MOST);
    wanted->row[wanted->count++] = row;
  }
  return wanted->count ? true : fail_usage(error, "--slices is empty; name at least one row");
}

/* Chosen actions as the picture draws them: columns as they are, others by their cells. */
static const unsigned char *drawn_mask(const struct acquisition *setting, const uint8_t *chosen,
                                       struct arena *arena) {
  const struct geometry *geometry = geometry_of(setting);
  if (geometry->columns) return chosen;
  uint8_t *mask = ARENA_NEW(arena, uint8_t, scan_shape_pixels(&setting->shape));
  geometry_mask(geometry, &setting->shape, chosen, mask);
  return mask;
}

/* A volume's score stands with its first slice. */
static const char *caption_of(const struct evaluation *evaluation, const struct evaluate_run *run,
                              size_t metric, size_t slice, struct arena *arena) {
  size_t steps = acquisition_steps(&run->acquisition) + 1;
  if (!run->holds[metric])
    return score_caption(arena, metric, (double)run->metric[metric][slice * steps + steps - 1]);
  size_t first = evaluation->scores.volume[evaluation->report.names[slice].volume].first;
  return arena_text(arena, "%s (volume)",
                    score_caption(arena, metric, (double)run->metric[metric][first * steps + steps - 1]));
}

static void fill_column(const struct evaluation *evaluation, const struct evaluate_run *run, size_t slice,
                        const unsigned char *initial, const char *metrics, struct picture_column *column,
                        struct arena *arena) {
  size_t pixels = scan_shape_pixels(&evaluation->shape);
  column->title = run->sampler->name;
  column->image = run->images + slice * pixels;
  column->mask = drawn_mask(&run->acquisition, run->mask + slice * run->acquisition.shape.actions, arena);
  column->initial = initial;
  const char **captions = ARENA_NEW(arena, const char *, METRICS + 1); /* and the noise */
  size_t line = 0;
  for (size_t m = 0; m < METRICS; m++)
    if (option_has(metrics, metric_list[m].name))
      captions[line++] = run->metric[m] ? caption_of(evaluation, run, m, slice, arena) : "";
  column->captions = captions;
}

/* The lines that a scan has in the end, and the columns that the scanner padded: least squares take them as
 * measured, whatever a profile writes of them. [actions] */
static const uint8_t *solved_mask(const struct evaluate_run *run, size_t slice, struct arena *arena) {
  const struct scan_shape *shape = &run->acquisition.shape;
  uint8_t *mask = arena_new(arena, shape->actions);
  memcpy(mask, run->mask + slice * shape->actions, shape->actions);
  for (size_t a = 0; a < shape->actions; a++) mask[a] |= scan_shape_is_padded(shape, a);
  return mask;
}

/* Of the slice, by the final mask: g, told below the scores. White is the largest g of all columns. */
static bool add_noise(const struct sheets *sheets, const struct evaluate_run *run, size_t slice,
                      struct picture_column *column, struct picture_sheet *sheet, struct arena *arena,
                      struct error *error) {
  const struct evaluation *evaluation = sheets->evaluation;
  size_t pixels = scan_shape_pixels(&evaluation->shape), seen = 0;
  float *g = ARENA_NEW(arena, float, pixels), *ones = arena_new(arena, 2 * pixels * sizeof(float)), most = 0;
  double sum = 0;
  for (size_t i = 0; i < pixels; i++) ones[2 * i] = 1;
  const float *maps = evaluation->maps ? evaluation->maps + 2 * slice * evaluation->coils * pixels : ones;
  const struct noise_data data = {evaluation->coils,
                                  evaluation->shape.height,
                                  evaluation->shape.width,
                                  (const float complex *)(const void *)maps,
                                  solved_mask(run, slice, arena),
                                  sheets->weight};
  if (!noise_map(&data, g, error)) return fail_in(error, "the noise of sampler %s", run->sampler->name);
  for (size_t i = 0; i < pixels; i++) {
    sum += (double)g[i];
    seen += g[i] > 0;
    if (g[i] > most) most = g[i];
  }
  column->noise = g;
  if (most > sheet->noise_white) sheet->noise_white = most;
  column->captions[sheet->lines - 1] =
      arena_text(arena, "g %.2f, at most %.2f", seen ? sum / (double)seen : 0, (double)most);
  return true;
}

static size_t count_lines(const char *metrics) {
  size_t lines = 0;
  for (size_t m = 0; m < METRICS; m++) lines += option_has(metrics, metric_list[m].name);
  return lines;
}

/* The columns of a sheet, which has its sizes. */
static bool fill_columns(const struct sheets *sheets, const struct evaluate_run *runs, size_t count,
                         size_t slice, struct picture_sheet *sheet, struct arena *arena,
                         struct error *error) {
  const struct acquisition *setting = &runs->acquisition;
  uint8_t *given = arena_new(arena, setting->shape.actions);
  struct picture_column *columns = ARENA_NEW(arena, struct picture_column, count);
  acquisition_initial(setting, given);
  const unsigned char *initial = drawn_mask(setting, given, arena);
  bool good = true;
  for (size_t c = 0; good && c < count; c++) {
    fill_column(sheets->evaluation, &runs[c], slice, initial, sheets->metrics, &columns[c], arena);
    good = !sheets->noise || add_noise(sheets, &runs[c], slice, &columns[c], sheet, arena, error);
  }
  sheet->columns = columns;
  sheet->column_count = count;
  return good;
}

static bool draw(const struct sheets *sheets, const struct evaluate_run *runs, size_t count, size_t slice,
                 struct error *error) {
  const struct evaluation *evaluation = sheets->evaluation;
  struct arena *arena = arena_open();
  const struct acquisition *setting = &runs->acquisition;
  const struct slice_name *name = &evaluation->report.names[slice];
  const char *volume = evaluation->dataset.volumes[name->volume].name;
  const char *ending = strrchr(volume, '.');
  int length = (int)(ending && ending > volume ? (size_t)(ending - volume) : strlen(volume));
  const struct scan_shape *shape = &evaluation->shape;
  struct picture_sheet sheet = {
      .title = {arena_text(arena, "%s, slice %zu", volume, name->slice),
                arena_text(arena, "\u00d7%u %s: %u + %u of %u %ss", setting->acceleration, setting->horizon,
                           setting->initial_lines, setting->budget, setting->shape.actions,
                           geometry_of(setting)->one)},
      .truth = evaluation->truth + slice * scan_shape_pixels(shape),
      .height = shape->height,
      .width = shape->width,
      .cells = !geometry_of(setting)->columns,
      .lines = count_lines(sheets->metrics) + sheets->noise};
  sheet.white = colour_white(sheet.truth, scan_shape_pixels(shape));
  sheet.error_white = 0.25f * sheet.white;
  const char *path = arena_text(arena, "%s/x%u_%s_%.*s_%zu%s.png", sheets->folder, setting->acceleration,
                                setting->horizon, length, volume, name->slice, sheets->noise ? "_noise" : "");
  bool good = fill_columns(sheets, runs, count, slice, &sheet, arena, error) &&
              figure_save(path, FIGURE_PNG, 1, picture_draw, &sheet, error);
  if (good) printf("%s\n", text_shown(arena, path));
  arena_close(arena);
  return good;
}

/* All samplers of one setting stand in one picture. */
static bool draw_all(const struct sheets *sheets, struct wanted *wanted, struct error *error) {
  const struct evaluation *evaluation = sheets->evaluation;
  if (wanted->usual && wanted->count > evaluation->slices) wanted->count = evaluation->slices;
  for (size_t w = 0; w < wanted->count; w++)
    if (wanted->row[w] >= evaluation->slices)
      return fail(error, "--slices names row %u; the data set has rows 0 to %zu", wanted->row[w],
                  evaluation->slices - 1);
  for (size_t first = 0, end; first < evaluation->run_count; first = end) {
    const struct evaluate_run *runs = &evaluation->runs[first];
    for (end = first; end < evaluation->run_count && !memcmp(&evaluation->runs[end].acquisition,
                                                             &runs->acquisition, sizeof runs->acquisition);)
      end++;
    for (size_t w = 0; w < wanted->count; w++)
      if (!draw(sheets, runs, end - first, wanted->row[w], error)) return false;
  }
  return true;
}

/* Computes only what the pictures show: slices up to the last one wanted, scored at the end. */
static size_t count_rows(const struct wanted *wanted) {
  size_t rows = 0;
  for (size_t w = 0; w < wanted->count; w++)
    if (wanted->row[w] >= rows) rows = (size_t)wanted->row[w] + 1;
  return rows;
}

/* g is of least squares by one set of maps, and of whole lines. */
static bool check_noise(const struct options *options, struct error *error) {
  if (options->reconstruct.method != RECONSTRUCT_CG_SENSE)
    return fail_usage(
        error, "--noise draws how noise comes through least squares; set reconstruct.method to cg_sense");
  if (options->coils.sets > 1)
    return fail_usage(error, "--noise knows one set of maps, and coils.sets is %u; set it to 1", options->coils.sets);
  return scan_geometry(options) == GEOMETRY_LINES ||
         fail_usage(error, "--noise knows scans of lines that have an action each, and acquisition.geometry "
                           "is others; set it to lines, "
                           "and acquisition.pairs to false");
}

static bool render(struct call *call, struct device *device, struct error *error) {
  struct evaluation evaluation;
  struct wanted wanted = {0};
  const char *folder = *call->options.evaluate.output ? call->options.evaluate.output : "pictures";
  struct sheets sheets = {&evaluation, call->options.evaluate.metrics, folder, call_flag(call, "noise"),
                          call->options.reconstruct.weight};
  struct evaluate_config config = {
      .images = true, .maps = sheets.noise, .kernel_folder = call_flag(call, "kernels")};
  if ((sheets.noise && !check_noise(&call->options, error)) || !read_wanted(call, &wanted, error)) return false;
  size_t there = folder_there(folder);
  config.rows = count_rows(&wanted);
  call->options.evaluate.curves = false;
  bool good = folder_make(folder, error) && evaluate_open(&evaluation, device, &call->options, &config, error);
  if (good) {
    good = draw_all(&sheets, &wanted, error);
    evaluate_close(&evaluation);
  }
  if (!good) folder_unmake(folder, there);
  return good;
}

static bool run_render(struct call *call, struct error *error) {
  return call_on_device(call, render, error);
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    FLAG_TRACE,
    {"samplers", "A,B,...", "evaluate.samplers", NULL},
    {"policy", "FILE", "evaluate.policy", NULL},
    {"reconstructor", "FILE", "evaluate.reconstructor", NULL},
    {"output", "DIR", "evaluate.output", "folder for the pictures (default: pictures)"},
    {"slices", "I,J,...", NULL, "rows of the data set to draw (default: 0,1,2,3)"},
    {"noise", NULL, NULL, "draws noise maps (g-factor) of cg_sense in place of error maps"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_render = {
    .name = "render",
    .operands = "SCENE",
    .doc = "draws contact sheets: truth, reconstructions, error maps and masks",
    .more = "It writes one PNG for every slice and setting, with one column for every sampler and the "
            "scores of evaluate.metrics below, and prints their paths. --noise draws how noise comes through "
            "least squares with coil sensitivities: g, by the normal equations of every row.",
    .takes_scene = true,
    .flags = flags,
    .run = run_render,
};
