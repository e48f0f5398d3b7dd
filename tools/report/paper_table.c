#include "tools/report/paper_table.h"

#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/device/program.h"
#include "systems/coils/maps.h"
#include "systems/sampling/geometry.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Results stand in one row where the report would compare them (tools/report/read.c): the slices are the same, and
 * so are the keys that say what a tested slice is and how it is scored. */
static struct paper_tested tested_of(struct arena *arena, const struct evaluation *evaluation,
                                     const struct options *options) {
  char *hex = arena_new(arena, 65), *text = NULL;
  size_t bytes = 0;
  FILE *slices = open_memstream(&text, &bytes);
  REQUIRE(slices, "no memory for the names of %zu slices", evaluation->slices);
  for (size_t s = 0; s < evaluation->slices; s++) {
    struct slice_name name = evaluation->report.names[s];
    fprintf(slices, "%s %zu %a\n", evaluation->dataset.volumes[name.volume].name, name.slice,
            evaluation->report.data_range[s]);
  }
  fclose(slices);
  hash_hex(text, bytes, hex);
  free(text);
  struct paper_tested tested = {hex, ARENA_NEW(arena, const char *, option_table.count)};
  for (size_t i = 0; i < option_table.count; i++)
    if (option_table.rows[i].concerns == CONCERNS_TEST)
      tested.keys[i] = option_text(&option_table.rows[i], options, arena);
  return tested;
}

static bool differs(const struct paper_tested *a, const struct paper_tested *b, size_t key) {
  return a->keys[key] && strcmp(a->keys[key], b->keys[key]);
}

static bool is_same(const struct paper_tested *a, const struct paper_tested *b) {
  for (size_t i = 0; i < option_table.count; i++)
    if (differs(a, b, i)) return false;
  return !strcmp(a->data, b->data);
}

static const char *row_of(struct arena *arena, const struct evaluation *evaluation,
                          const struct evaluate_run *run, const struct options *options) {
  static const char *const ranges[] = {"", ", range of the slice", ", range of the attribute"};
  const char *scores = evaluation->scoring ? arena_text(arena, ", scores of %s", evaluation->scoring->name)
                                           : ranges[options->data.range];
  const struct acquisition *setting = &run->acquisition;
  char size[SCAN_SHAPE_TEXT];
  const char *coils = maps_text(options, arena);
  return arena_text(arena, "N=%s x%u %s, %u + %u %ss, %zu slice%s (%.8s)%s%s%s%s",
                    scan_shape_text(&setting->shape, size), setting->acceleration, setting->horizon,
                    setting->initial_lines, setting->budget, geometry_of(setting)->one, evaluation->slices,
                     plural(evaluation->slices), evaluation->dataset.hash, scores,
                     options->data.kspace == KSPACE_MEASURED ? ", measured k-space" : "", *coils ? ", " : "", coils);
}

static size_t find_row(const struct paper_table *table, const char *text, const struct paper_tested *tested) {
  size_t i = 0;
  while (i < table->rows && (strcmp(table->row[i], text) || !is_same(&table->tested[i], tested))) i++;
  return i;
}

/* The row's text, and in which keys rows of the same text differ; where it is in none, their slices do. */
static const char *shown_row(const struct paper_table *table, size_t row) {
  const char *text = table->row[row];
  size_t named = 0, alike = 0;
  bool *shown = ARENA_NEW(table->arena, bool, option_table.count);
  for (size_t r = 0; r < table->rows; r++) {
    if (strcmp(table->row[r], table->row[row])) continue;
    alike += r != row;
    for (size_t i = 0; i < option_table.count; i++) shown[i] |= differs(&table->tested[r], &table->tested[row], i);
  }
  for (size_t i = 0; i < option_table.count; i++)
    if (shown[i]) {
      text = arena_text(table->arena, "%s, %s %s", text, option_table.rows[i].name,
                        text_shown(table->arena, table->tested[row].keys[i]));
      named++;
    }
  return alike && !named ? arena_text(table->arena, "%s, slices %.8s", text, table->tested[row].data) : text;
}

/* ---- columns and cells ---------------------------------------------------------------------------------- */

/* evaluate.name is of the policy, or of the sampler where there is one only. */
static const char *column_of(struct arena *arena, const struct evaluate_run *run,
                             const struct options *options) {
  bool policy = run->sampler == &sampler_policy;
  bool only = !*options->evaluate.policy && option_count(options->evaluate.samplers) == 1;
  const char *name =
      *options->evaluate.name && (policy || only) ? options->evaluate.name : run->sampler->name;
  return arena_text(arena, "%s", name);
}

static const char *cell_of(struct arena *arena, const struct evaluate_run *run,
                           const struct options *options) {
  const char *text = "";
  for (size_t m = 0; m < METRICS; m++) {
    double mean, std;
    if (!run->metric[m] || !option_has(options->evaluate.metrics, metric_list[m].name)) continue;
    evaluate_mean(run, m, acquisition_steps(&run->acquisition), &mean, &std);
    const char *form = strstr(metric_list[m].name, "psnr")  ? "%s%s%.2f+-%.2f"
                       : strcmp(metric_list[m].name, "mse") ? "%s%s%.4f+-%.4f"
                                                            : "%s%s%.2e+-%.0e";
    text = arena_text(arena, form, text, *text ? " / " : "", mean, std);
  }
  return text;
}

/* The column of that name whose cell in the row is free; a second evaluation of the same takes another. */
static size_t find_column(const struct paper_table *table, size_t row, const char *name) {
  size_t c = 0;
  while (c < table->columns && (strcmp(table->heading[c], name) || table->cell[row][c])) c++;
  return c;
}

bool paper_table_add(struct paper_table *table, const struct evaluation *evaluation,
                     const struct options *options, struct error *error) {
  const struct paper_tested tested = tested_of(table->arena, evaluation, options);
  for (size_t r = 0; r < evaluation->run_count; r++) {
    const struct evaluate_run *run = &evaluation->runs[r];
    const char *setting = row_of(table->arena, evaluation, run, options);
    const char *name = text_shown(table->arena, column_of(table->arena, run, options));
    size_t row = find_row(table, setting, &tested);
    if (row == PAPER_ROWS) return fail(error, "the table has more than %d settings", PAPER_ROWS);
    size_t column = find_column(table, row, name);
    if (column == PAPER_COLUMNS) return fail(error, "the table has more than %d methods", PAPER_COLUMNS);
    table->row[row] = setting;
    table->tested[row] = tested;
    table->heading[column] = name;
    table->rows += row == table->rows;
    table->columns += column == table->columns;
    table->cell[row][column] = cell_of(table->arena, run, options);
  }
  return true;
}

static int width_of(const struct paper_table *table, size_t column) {
  size_t width = strlen(table->heading[column]);
  for (size_t r = 0; r < table->rows; r++)
    if (table->cell[r][column] && strlen(table->cell[r][column]) > width)
      width = strlen(table->cell[r][column]);
  return (int)width;
}

void paper_table_print(const struct paper_table *table, const struct options *options, FILE *file) {
  const char *shown[PAPER_ROWS];
  int first = 0;
  for (size_t r = 0; r < table->rows; r++) {
    shown[r] = shown_row(table, r);
    if ((int)strlen(shown[r]) > first) first = (int)strlen(shown[r]);
  }
  fprintf(file, "\n%s, mean and deviation\n%-*s", options->evaluate.metrics, first, "");
  for (size_t c = 0; c < table->columns; c++) fprintf(file, "  %*s", width_of(table, c), table->heading[c]);
  for (size_t r = 0; r < table->rows; r++) {
    fprintf(file, "\n%-*s", first, shown[r]);
    for (size_t c = 0; c < table->columns; c++)
      fprintf(file, "  %*s", width_of(table, c), table->cell[r][c] ? table->cell[r][c] : "-");
  }
  fprintf(file, "\n");
}
