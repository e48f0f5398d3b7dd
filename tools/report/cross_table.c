#include "tools/report/cross_table.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "systems/sampling/geometry.h"
#include "systems/sampling/samplers.h"
#include "tools/report/csv.h"
#include "tools/report/score_text.h"
#include "tools/report/tabular.h"

#include <string.h>

enum { PATH_LONGEST = 4096 };
static const char no_reconstructor[] = "none";

/* ---- names --------------------------------------------------------------------------------------------- */

static size_t common_start(const struct cross_side *list, size_t count) {
  size_t length = 0, folders = 0;
  for (char byte; (byte = list[0].path[length]); length++) {
    for (size_t i = 1; i < count; i++)
      if (list[i].path[length] != byte) return folders;
    if (byte == '/') folders = length + 1;
  }
  return folders;
}

static char from_end(const char *text, size_t place) {
  size_t length = strlen(text);
  return place < length ? text[length - 1 - place] : 0;
}

static size_t common_end(const struct cross_side *list, size_t count) {
  size_t length = 0, folders = 0;
  for (char byte; (byte = from_end(list[0].path, length)); length++) {
    for (size_t i = 1; i < count; i++)
      if (from_end(list[i].path, length) != byte) return folders;
    if (byte == '/') folders = length + 1;
  }
  return folders;
}

/* The file and its folder. */
static const char *last_two(const char *path) {
  size_t slashes = 0;
  for (const char *at = path + strlen(path); at > path; at--)
    if (at[-1] == '/' && ++slashes == 2) return at;
  return path;
}

/* Files are called by what tells their paths apart. */
static void name_sides(struct arena *arena, struct cross_side *list, size_t count) {
  size_t start = count > 1 ? common_start(list, count) : 0, end = count > 1 ? common_end(list, count) : 0;
  for (size_t i = 0; i < count; i++)
    if (strlen(list[i].path) <= start + end) end = 0;
  for (size_t i = 0; i < count; i++) {
    const char *path = list[i].path, *name = count > 1 ? path + start : last_two(path);
    size_t length = strlen(name) - end;
    list[i].name = list[i].sampler ? arena_text(arena, "%.*s (%s)", (int)length, name, list[i].sampler)
                                   : arena_text(arena, "%.*s", (int)length, name);
  }
}

/* ---- rows and columns ---------------------------------------------------------------------------------- */

bool cross_is_asked(const struct options *options) {
  return *options->evaluate.policies || *options->evaluate.masks || *options->evaluate.reconstructors;
}

static bool add_side(struct cross_side *list, size_t *count, size_t most, struct cross_side side,
                     struct error *error) {
  if (*count == most) return fail_usage(error, "a cross table has at most %zu rows or columns here", most);
  list[(*count)++] = side;
  return true;
}

/* The files of a key that takes several, or else that of the key that takes one. */
static bool list_files(struct arena *arena, const char *key, const char *many, const char *single_key,
                       const char *single, const char ***files, size_t *count, struct error *error) {
  char *word = arena_new(arena, PATH_LONGEST);
  *count = 0;
  *files = ARENA_NEW(arena, const char *, option_count(many) + 1);
  if (*many && *single)
    return fail_usage(error, "%s is %s and %s names files too; name all of them in %s", single_key, single,
                      key, key);
  while ((many = option_next(many, word, PATH_LONGEST))) {
    for (size_t i = 0; i < *count; i++)
      if (!strcmp((*files)[i], word))
        return fail_usage(error, "%s names %s twice; name each file once", key, word);
    (*files)[(*count)++] = arena_text(arena, "%s", word);
  }
  if (*single) (*files)[(*count)++] = single;
  return true;
}

static bool check_there(const char *key, const char *path, struct error *error) {
  return file_is_there(path) || fail(error, "%s names %s, and there is no such file", key, path);
}

static bool check_masks_named(const char *sampler, size_t masks, struct error *error) {
  return masks || fail_usage(error, "evaluate.samplers names %s and evaluate.masks no file; give --masks A,B,...",
                             sampler);
}

static bool add_files(struct cross_table *table, const char *sampler, const char *const *files, size_t count,
                      struct error *error) {
  size_t first = table->rows;
  for (size_t i = 0; i < count; i++)
    if (!check_there(sampler_takes_mask(sampler) ? "evaluate.masks" : "evaluate.policies", files[i], error) ||
        !add_side(table->row, &table->rows, CROSS_ROWS, (struct cross_side){"", files[i], sampler}, error))
      return false;
  name_sides(table->arena, table->row + first, count);
  return true;
}

/* Samplers in the order of the list, those of masks once for every mask; then masks that no sampler takes;
 * then policies. */
static bool plan_rows(struct cross_table *table, const struct options *options, struct error *error) {
  const char **masks, **policies, *samplers = options->evaluate.samplers, *name;
  size_t mask_count, policy_count;
  char word[64];
  bool good = true, taken = false;
  if (!list_files(table->arena, "evaluate.masks", options->evaluate.masks, "sampler.mask",
                  options->sampler.mask, &masks, &mask_count, error) ||
      !list_files(table->arena, "evaluate.policies", options->evaluate.policies, "evaluate.policy",
                  options->evaluate.policy, &policies, &policy_count, error))
    return false;
  while (good && (samplers = option_next(samplers, word, sizeof word))) {
    if (!strcmp(word, sampler_policy.name)) continue;
    name = arena_text(table->arena, "%s", word);
    taken |= sampler_takes_mask(name);
    good = sampler_takes_mask(name)
               ? check_masks_named(name, mask_count, error) && add_files(table, name, masks, mask_count, error)
               : add_side(table->row, &table->rows, CROSS_ROWS, (struct cross_side){name, "", name}, error);
  }
  return good &&
         (taken || !*options->evaluate.masks || add_files(table, "fixed_mask", masks, mask_count, error)) &&
         add_files(table, sampler_policy.name, policies, policy_count, error);
}

static bool plan_columns(struct cross_table *table, const struct options *options, struct error *error) {
  const char **files;
  size_t count, named = 0;
  if (!list_files(table->arena, "evaluate.reconstructors", options->evaluate.reconstructors,
                  "evaluate.reconstructor", options->evaluate.reconstructor, &files, &count, error))
    return false;
  for (size_t i = 0; i < count; i++)
    if (strcmp(files[i], no_reconstructor) && (!check_there("evaluate.reconstructors", files[i], error) ||
                                               !add_side(table->reconstructor, &table->columns, CROSS_COLUMNS - 1,
                                                         (struct cross_side){"", files[i], NULL}, error)))
      return false;
  named = table->columns;
  if (named) name_sides(table->arena, table->reconstructor, named);
  if (named == count && count) return true;
  return add_side(table->reconstructor, &table->columns, CROSS_COLUMNS, (struct cross_side){"zero-filled", "", NULL},
                  error);
}

/* A mask of another size, or of too many lines, would end the table after minutes of work. */
static bool check_mask(struct arena *arena, const struct options *options, const struct cross_side *row,
                       struct error *error) {
  struct options own = *options;
  struct acquisition *setting;
  size_t count;
  own.sampler.mask = row->path;
  const struct sampler *sampler = sampler_find(row->sampler, error);
  bool good = sampler && acquisition_list(&setting, &count, &own, arena, error);
  for (size_t s = 0; good && s < count; s++)
    good =
        sampler_fill(sampler, &own, &setting[s], ARENA_NEW(arena, uint32_t, setting[s].shape.actions), error);
  return good;
}

static bool check_masks(const struct cross_table *table, const struct options *options, struct error *error) {
  for (size_t r = 0; r < table->rows; r++)
    if (sampler_takes_mask(table->row[r].sampler) && !check_mask(table->arena, options, &table->row[r], error))
      return false;
  return true;
}

bool cross_plan(struct cross_table *table, struct arena *arena, const struct options *options,
                struct error *error) {
  struct options first = *options;
  *table = (struct cross_table){.arena = arena, .folder = options->evaluate.output};
  if (!plan_rows(table, options, error) || !plan_columns(table, options, error)) return false;
  if (*options->evaluate.policies) first.evaluate.policy = table->row[table->rows - 1].path;
  first.evaluate.policies = first.evaluate.masks = first.evaluate.reconstructors = "";
  for (size_t m = 0; m < METRICS; m++)
    table->shown[m] = option_has(options->evaluate.metrics, metric_list[m].name);
  return evaluate_check(&first, error) && check_masks(table, options, error);
}

void cross_choose(const struct cross_table *table, size_t row, size_t column, struct options *options) {
  const struct cross_side *chooser = &table->row[row], *reconstructor = &table->reconstructor[column];
  bool policy = !strcmp(chooser->sampler, sampler_policy.name);
  options->evaluate.policies = options->evaluate.masks = options->evaluate.reconstructors = "";
  options->evaluate.samplers = chooser->sampler;
  options->evaluate.policy = policy ? chooser->path : "";
  if (sampler_takes_mask(chooser->sampler)) options->sampler.mask = chooser->path;
  options->evaluate.reconstructor = reconstructor->path;
  options->evaluate.name = arena_text(table->arena, "%s with %s", chooser->name, reconstructor->name);
  if (*table->folder)
    options->evaluate.output = arena_text(table->arena, "%s/%zu_%zu", table->folder, row + 1, column + 1);
}

/* ---- cells --------------------------------------------------------------------------------------------- */

static struct cross_setting *setting_of(struct cross_table *table, const struct evaluation *evaluation,
                                        size_t place, struct error *error) {
  const struct acquisition *scan = &evaluation->runs[place].acquisition;
  if (place >= CROSS_SETTINGS) {
    fail_usage(error, "a cross table has at most %d settings", CROSS_SETTINGS);
    return NULL;
  }
  struct cross_setting *setting = &table->setting[place];
  if (place < table->settings) return setting;
  table->settings = place + 1;
  *setting = (struct cross_setting){
      .acceleration = scan->acceleration,
      .horizon = arena_text(table->arena, "%s", scan->horizon),
      .label = arena_text(table->arena, "x%u %s: %u initial + %u acquired of %u %ss, %zu slice%s%s%s",
                          scan->acceleration, scan->horizon, scan->initial_lines, scan->budget,
                          scan->shape.actions, geometry_of(scan)->one, evaluation->slices,
                          plural(evaluation->slices), evaluation->scoring ? ", scores of " : "",
                          evaluation->scoring ? evaluation->scoring->name : ""),
      .cell = ARENA_NEW(table->arena, struct cross_cell, table->rows * table->columns)};
  return setting;
}

bool cross_add(struct cross_table *table, size_t row, size_t column, const struct evaluation *evaluation,
               struct error *error) {
  for (size_t r = 0; r < evaluation->run_count; r++) {
    const struct evaluate_run *run = &evaluation->runs[r];
    struct cross_setting *setting = setting_of(table, evaluation, r, error);
    if (!setting) return false;
    struct cross_cell *cell = &setting->cell[row * table->columns + column];
    cell->scans = run->scans;
    for (size_t m = 0; m < METRICS; m++) {
      if (!run->metric[m]) continue;
      table->computed[m] = true;
      evaluate_mean(run, m, acquisition_steps(&run->acquisition), &cell->mean[m], &cell->std[m]);
    }
  }
  return true;
}

/* "0.8431 / 29.68" */
static const char *cell_text(const struct cross_table *table, const struct cross_cell *cell) {
  const char *text = "";
  for (size_t m = 0; m < METRICS; m++)
    if (table->shown[m])
      text = arena_text(table->arena, "%s%s%s", text, *text ? " / " : "",
                        tabular_digits(table->arena, cell->mean[m], metric_list[m].digits));
  return text;
}

static const char *names_of_metrics(const struct cross_table *table) {
  const char *text = "";
  for (size_t m = 0; m < METRICS; m++)
    if (table->shown[m])
      text = arena_text(table->arena, "%s%s%s", text, *text ? " / " : "", score_name(table->arena, m));
  return text;
}

void cross_print(const struct cross_table *table, FILE *file) {
  for (size_t s = 0; s < table->settings; s++) {
    struct tabular text = tabular_make(table->arena, table->rows, table->columns + 1);
    text.title = arena_text(table->arena, "%s, mean %s", table->setting[s].label, names_of_metrics(table));
    text.head[0] = "chosen by";
    for (size_t c = 0; c < table->columns; c++) text.head[c + 1] = table->reconstructor[c].name;
    for (size_t r = 0; r < table->rows; r++) {
      tabular_text(&text, r, 0, table->row[r].name);
      for (size_t c = 0; c < table->columns; c++)
        tabular_text(&text, r, c + 1, cell_text(table, &table->setting[s].cell[r * table->columns + c]));
    }
    tabular_plain(&text, file);
  }
}

/* ---- cross.csv ----------------------------------------------------------------------------------------- */

bool cross_open(struct cross_table *table, bool overwrite, struct error *error) {
  const char *path = arena_text(table->arena, "%s/cross.csv", table->folder);
  if (!*table->folder) return true;
  if (!overwrite && file_is_there(path))
    return fail(error,
                "%s holds results (cross.csv); replace them with --overwrite, or choose another --output",
                table->folder);
  return folder_make(table->folder, error) && file_create(&table->csv, path, error);
}

void cross_close(struct cross_table *table) {
  file_abandon(&table->csv);
}

static void write_cell(const struct cross_table *table, const struct cross_setting *setting, size_t row,
                       size_t column) {
  FILE *file = table->csv.file;
  const struct cross_side *chooser = &table->row[row], *reconstructor = &table->reconstructor[column];
  const struct cross_cell *cell = &setting->cell[row * table->columns + column];
  const char *words[] = {setting->horizon, chooser->name, reconstructor->name,
                         chooser->sampler, chooser->path, reconstructor->path};
  fprintf(file, "%u", setting->acceleration);
  for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
    fputc(',', file);
    csv_text(file, words[w]);
  }
  fprintf(file, ",%zu", cell->scans);
  for (size_t m = 0; m < METRICS; m++)
    if (table->computed[m]) fprintf(file, ",%.9g,%.9g", cell->mean[m], cell->std[m]);
  fprintf(file, ",%zu_%zu\n", row + 1, column + 1);
}

bool cross_write(struct cross_table *table, struct error *error) {
  if (!*table->folder) return true;
  fprintf(table->csv.file, "acceleration,horizon,row,column,sampler,file,reconstructor,scans");
  for (size_t m = 0; m < METRICS; m++)
    if (table->computed[m])
      fprintf(table->csv.file, ",%s_mean,%s_std", metric_list[m].name, metric_list[m].name);
  fprintf(table->csv.file, ",results\n");
  for (size_t s = 0; s < table->settings; s++)
    for (size_t r = 0; r < table->rows; r++)
      for (size_t c = 0; c < table->columns; c++) write_cell(table, &table->setting[s], r, c);
  return file_commit(&table->csv, error);
}
