/* One page of figures and tables from what evaluate, train and bench wrote. */
#include "tools/report/report.h"
#include "engine/base/text.h"
#include "tools/commands/command.h"

#include <string.h>

enum { SLICES_MOST = 64 };

static bool read_metric(const struct call *call, struct report_config *config, struct error *error) {
  const char *name = call_flag(call, "metric"), *names[METRICS];
  if (!name) return true;
  for (size_t m = 0; m < METRICS; m++) names[m] = metric_list[m].name;
  for (config->metric = 0; config->metric < METRICS; config->metric++)
    if (!strcmp(name, names[config->metric])) return true;
  const char *near = nearest_name(name, names, METRICS);
  return fail_usage(error, "--metric is '%s'; did you mean %s?", name, near ? near : names[0]);
}

static bool read_rows(struct call *call, struct report_config *config, struct error *error) {
  const char *list = call_flag(call, "slices");
  uint32_t *rows = ARENA_NEW(call->arena, uint32_t, SLICES_MOST);
  char word[32];
  config->rows = rows;
  if (!list) return true;
  while ((list = option_next(list, word, sizeof word))) {
    if (config->row_count == SLICES_MOST)
      return fail_usage(error, "--slices names more than %d slices", SLICES_MOST);
    if (!option_whole(word, 0, 10000000, &rows[config->row_count++]))
      return fail_usage(error, "--slices has '%s'; it must be rows of the data set, as 0,5,12", word);
  }
  return config->row_count ? true : fail_usage(error, "--slices is empty; name at least one row");
}

static bool read_figures(const struct call *call, struct report_config *config, struct error *error) {
  const char *name = call_flag(call, "figures");
  config->figures = FIGURE_KINDS;
  if (!name) return true;
  for (int kind = 0; kind < FIGURE_KINDS; kind++)
    if (!strcmp(name, figure_kinds[kind])) config->figures = (enum figure_kind)kind;
  return config->figures < FIGURE_KINDS
             ? true
             : fail_usage(error, "--figures is '%s'; it must be pdf, svg or png", name);
}

static bool run_report(struct call *call, struct error *error) {
  struct report *report = report_make(call->arena);
  struct report_config config = {.baseline = call_flag(call, "baseline")};
  const char *folder = call_flag(call, "output");
  if (!folder) folder = "report";
  if (!*folder) return fail_usage(error, "--output is empty; name a folder");
  if (!read_metric(call, &config, error) || !read_rows(call, &config, error) ||
      !read_figures(call, &config, error))
    return false;
  for (int i = 0; i < call->operand_count; i++)
    if (!report_add(report, call->operand[i], error)) return false;
  if (!report_finish(report, error) || !report_write(report, &config, folder, error)) return false;
  const char *kind = config.figures < FIGURE_KINDS ? figure_kinds[config.figures] : NULL;
  printf("written: %s/report.html, report.txt, %severy table as .csv and .tex%s%s\n",
         text_shown(call->arena, folder), kind ? "" : "and ", kind ? ", and every figure as ." : "",
         kind ? kind : "");
  return true;
}

static const struct flag flags[] = {
    {"output", "DIR", NULL, "folder for the page and its tables (default: report)"},
    {"metric", "M", NULL, "metric of figures and comparisons (default: ssim)"},
    {"baseline", "METHOD", NULL, "method that others are compared with, slice by slice (default: the first)"},
    {"slices", "I,J,...", NULL, "rows of the data set to show (default: the first four with images)"},
    {"figures", "KIND", NULL, "also writes each figure to a file of its own: pdf, svg or png"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_report = {
    .name = "report",
    .operands = "RESULTS...",
    .doc = "writes one page of tables and figures from results, trainings and costs",
    .more = "RESULTS are results.h5 of evaluate or their folders, folders of train, folders of such "
            "folders, and files with the output of bench inference --json. The page loads nothing from "
            "elsewhere. Results of other slices, or of data read or scored otherwise, get tables of their own, and "
            "the page says which key differs and what to do; how a method was trained keeps nothing apart. "
            "Results of another version are refused.\n"
            "A method is called by its evaluate.name, else by its sampler. Contact sheets show the rows "
            "whose images evaluate stored: --set evaluate.keep=[0,12].\n"
            "--figures pdf is for papers: text stays text. A figure has the name of its table: curve_1.pdf "
            "holds what curve_1.csv lists.",
    .operands_least = 1,
    .operands_most = 200,
    .flags = flags,
    .run = run_report,
};
