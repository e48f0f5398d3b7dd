/* The page: one HTML file that loads nothing, its tables as text, and each as CSV and LaTeX (pieces.c). */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/store.h"
#include "tools/report/html.h"
#include "tools/report/report.h"

#include <stdlib.h>
#include <string.h>

static const char style[] =
    "body{font:15px/1.5 'Liberation Sans',Arial,Helvetica,sans-serif;color:#1a1a1a;background:#fff;"
    "max-width:960px;margin:0 auto;padding:24px}\n"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:20px;margin:40px 0 8px;border-bottom:2px solid #1a1a1a;"
    "padding-bottom:4px}h3{font-size:16px;margin:28px 0 8px}\n"
    "p{max-width:46em;margin:8px 0}.note,figcaption,.facts{font-size:13px;color:#444}nav{font-size:14px}"
    "nav a{margin-right:16px}a{color:#005a8f}code{font-size:13px}\n"
    ".table{overflow-x:auto}table{border-collapse:collapse;margin:12px 0 4px;border-top:2px solid #1a1a1a;"
    "border-bottom:2px solid #1a1a1a;font-variant-numeric:tabular-nums;font-size:14px}\n"
    "caption{text-align:left;font-weight:bold;padding:4px 0;white-space:nowrap}"
    "th,td{padding:3px 12px;text-align:right;white-space:nowrap}"
    "th:first-child{text-align:left;padding-left:2px}\n"
    "thead th{border-bottom:1px solid #1a1a1a}tbody th{font-weight:normal}"
    ".group th{font-style:italic;padding-top:8px;color:#333}\n"
    ".wide td,.wide th{white-space:normal;text-align:left;vertical-align:top;"
    "overflow-wrap:break-word}details{margin:4px 0 12px;font-size:13px}"
    "summary{cursor:pointer;color:#444}\n"
    "figure{margin:20px 0;break-inside:avoid}figcaption{margin-top:4px;max-width:52em}"
    "img{width:100%;height:auto;display:block}\n"
    "@media print{@page{margin:16mm}body{max-width:none;padding:0;font-size:10pt}nav,summary{display:none}"
    "h2{margin-top:8mm}h2,h3,caption{break-after:avoid}.note{break-before:avoid}.table{overflow:visible}"
    "table{font-size:8.5pt;break-inside:avoid}.long table,.wide table{break-inside:auto}"
    "thead{display:table-header-group}"
    "tr{break-inside:avoid}.group{break-after:avoid}th,td{padding:2px 6px}"
    "figure{margin:3mm 0}img{width:auto;max-height:104mm}" /* two stand on a sheet of A4 or Letter */
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n";

/* ---- parts --------------------------------------------------------------------------------------------- */

static const char *set_title(const struct report *report, size_t set) {
  const struct report_set *data = &report->set[set];
  char size[SCAN_SHAPE_TEXT];
  return arena_text(report->arena, "Results%s: N = %s, %zu slice%s of %s (%.8s)",
                    report->sets > 1 ? arena_text(report->arena, " on data set %zu", set + 1) : "",
                    scan_shape_text(&data->shape, size), data->slices, plural(data->slices),
                    clusters_text(report->arena, &data->clusters), data->selection);
}

static bool put_set(struct report_page *page, size_t set, struct error *error) {
  struct report *report = page->report;
  report_heading(page, 2, arena_text(report->arena, "set%zu", set + 1), set_title(report, set));
  if (set) report_say(page, report_part_text(report, set));
  if (!report_put_scores(page, set, error) || !report_put_crosses(page, set, error) ||
      !report_put_ablations(page, set, error))
    return false;
  if (!report_put_pairs(page, set, error) || !report_put_seeds(page, set, error)) return false;
  report_heading(page, 3, NULL, "Ranks, and which lines are taken");
  for (size_t s = 0; s < report->settings; s++)
    if (report->setting[s].set == set && !report_put_summary(page, s, error)) return false;
  report_heading(page, 3, NULL, "Slices as a distribution, and scores after every action");
  for (size_t s = 0; s < report->settings; s++)
    if (report->setting[s].set == set &&
        (!report_put_histograms(page, s, error) || !report_put_curves(page, s, error)))
      return false;
  return report_put_sheets(page, set, error);
}

static const char no_chooser[] = "none";

/* Adds the word to those that the cell lists, unless it is one of them. */
static void add_word(struct arena *arena, struct tabular_cell *cell, const char *word) {
  size_t length = strlen(word);
  if (!length) return;
  if (!strcmp(cell->text, no_chooser)) {
    cell->text = word;
    return;
  }
  for (const char *at = cell->text; at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL)
    if (!strncmp(at, word, length) && (!at[length] || at[length] == ',')) return;
  cell->text = arena_text(arena, "%s, %s", cell->text, word);
}

bool report_put_origins(struct report_page *page, struct error *error) {
  struct report *report = page->report;
  static const char *const heads[] = {"results", "methods",       "device",
                                      "seed",    "reconstructor", "policy, mask or sampler"};
  size_t rows = 0;
  if (!report->runs) return true;
  struct tabular table = tabular_make(report->arena, report->runs, 6);
  memcpy(table.head, heads, sizeof heads);
  table.file = "origins";
  table.title = arena_text(report->arena, "Where the results are from (l2sr %s)", report->version);
  for (size_t r = 0; r < report->runs; r++) {
    const struct report_run *run = &report->run[r];
    bool again = rows && !strcmp(tabular_cell(&table, rows - 1, 0)->text, run->path);
    if (again) {
      add_word(report->arena, tabular_cell(&table, rows - 1, 1), run->method);
      add_word(report->arena, tabular_cell(&table, rows - 1, 3), run->seeds);
      add_word(report->arena, tabular_cell(&table, rows - 1, 5), run->chooser);
      continue;
    }
    const char *cells[] = {run->path,
                           run->method,
                           run->device,
                           run->seeds,
                           *run->reconstructor ? run->reconstructor : "none: zero-filled",
                           *run->chooser ? run->chooser : no_chooser};
    for (size_t c = 0; c < 6; c++) tabular_text(&table, rows, c, cells[c]);
    rows++;
  }
  table.rows = rows;
  report_heading(page, 2, "origins", "Origins");
  fprintf(page->html, "<div class=\"wide\">\n");
  bool good = report_put_table(page, &table, error);
  fprintf(page->html, "</div>\n");
  return good;
}

static void put_links(struct report_page *page) {
  struct report *report = page->report;
  fprintf(page->html, "<nav>");
  for (size_t s = 0; s < report->sets; s++)
    fprintf(page->html, "<a href=\"#set%zu\">Results%s</a>", s + 1,
            report->sets > 1 ? arena_text(report->arena, " %zu", s + 1) : "");
  if (report->trainings) fprintf(page->html, "<a href=\"#trainings\">Trainings</a>");
  if (report->costs) fprintf(page->html, "<a href=\"#costs\">Costs</a>");
  if (report->runs) fprintf(page->html, "<a href=\"#origins\">Origins</a>");
  fprintf(page->html, "</nav>\n");
}

static bool put_page(struct report_page *page, struct error *error) {
  struct report *report = page->report;
  const char *facts = arena_text(report->arena,
                                 "Of %zu result%s, training%s or measurement%s, by l2sr " L2SR_VERSION
                                 ". \u00b1 is the population standard deviation over scans.",
                                 report->files, report->files > 1 ? "s" : "", report->files > 1 ? "s" : "",
                                 report->files > 1 ? "s" : "");
  fprintf(page->html,
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; img-src data:\">\n<title>l2sr report</title>\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n%s</style></head><body>\n"
          "<h1>Accelerated MRI: samplers and reconstructors</h1>\n<p class=\"facts\">",
          style);
  html_text(page->html, facts);
  fprintf(page->html, "</p>\n");
  fprintf(page->text, "Accelerated MRI: samplers and reconstructors\n%s\n", facts);
  put_links(page);
  for (size_t s = 0; s < report->sets; s++)
    if (!put_set(page, s, error)) return false;
  if (!report_put_trainings(page, error) || !report_put_costs(page, error) || !report_put_times(page, error) ||
      !report_put_origins(page, error))
    return false;
  fprintf(page->html, "</body></html>\n");
  return true;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static bool check_baseline(const struct report *report, const struct report_config *config,
                           struct error *error) {
  const char *names[REPORT_RUNS];
  if (config->baseline && report_has_seeds(report, config->baseline)) return true;
  for (size_t r = 0; r < report->runs; r++) {
    names[r] = report->run[r].method;
    if (!config->baseline || !strcmp(config->baseline, names[r])) return true;
  }
  const char *near = config->baseline ? nearest_name(config->baseline, names, report->runs) : NULL;
  if (!config->baseline || !report->runs) return true;
  return near ? fail_usage(error, "--baseline is %s, which no results have; did you mean %s?",
                           config->baseline, near)
              : fail_usage(error, "--baseline is %s, which no results have; they have %s%s", config->baseline,
                           names[0], report->runs > 1 ? " and others" : "");
}

/* The page's own two are the first that are made, and the last to take their places. */
static bool create_page(struct report_page *page, struct error *error) {
  static const char *const names[] = {"report.html", "report.txt"};
  FILE **streams[] = {&page->html, &page->text};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct report_file *file = report_add_file(page);
    if (!file_create(&file->file, arena_text(page->report->arena, "%s/%s", page->folder, names[i]), error))
      return false;
    *streams[i] = file->file.file;
  }
  return true;
}

/* All of them or, where the disk is full, none. */
static bool commit(const struct report_page *page, struct error *error) {
  bool good = true;
  for (struct report_file *file = page->files; good && file; file = file->next)
    good = file_finish(&file->file, error);
  for (struct report_file *file = page->files; good && file; file = file->next)
    good = file_take_place(&file->file, error);
  return good;
}

bool report_write(struct report *report, const struct report_config *config, const char *folder,
                  struct error *error) {
  struct report_page page = {.report = report, .config = config, .folder = folder};
  if (!check_baseline(report, config, error) || !report_check_rows(report, config, error) ||
      !folder_make(folder, error))
    return false;
  bool good = create_page(&page, error) && put_page(&page, error) && commit(&page, error);
  for (struct report_file *file = page.files; file; file = file->next) file_abandon(&file->file);
  return good;
}
