/* What parts of the page are made of: headings, paragraphs, tables and figures, and the files beside the
 * page. */
#include "engine/base/text.h"
#include "tools/report/html.h"
#include "tools/report/report.h"

#include <stdlib.h>

void report_heading(struct report_page *page, int level, const char *id, const char *text) {
  fprintf(page->html, id ? "<h%d id=\"%s\">" : "<h%d>", level, id);
  html_text(page->html, text);
  fprintf(page->html, "</h%d>\n", level);
  fprintf(page->text, level < 3 ? "\n\n==== " : "\n-- ");
  text_show(page->text, text);
  fprintf(page->text, level < 3 ? " ====\n" : " --\n");
}

void report_say(struct report_page *page, const char *text) {
  fprintf(page->html, "<p>");
  html_text(page->html, text);
  fprintf(page->html, "</p>\n");
  tabular_wrap(text, page->text);
}

static bool put_picture(struct report_page *page, const struct report_figure *figure, struct error *error) {
  char *svg = NULL;
  size_t bytes = 0;
  FILE *memory = open_memstream(&svg, &bytes);
  if (!memory) return fail(error, "no host memory for a figure");
  bool good = figure_write(memory, FIGURE_SVG, 1, figure->draw, figure->what, error);
  fclose(memory);
  double wide = figure->width > 0 ? figure->width : figure_measure(figure->draw, figure->what).width;
  if (good) {
    fprintf(page->html, "<img style=\"max-width:%.0fpx\" alt=\"", wide);
    html_text(page->html, figure->title);
    fprintf(page->html, "\" src=");
    html_svg(page->html, svg, bytes);
    fprintf(page->html, ">\n");
  }
  free(svg);
  return good;
}

bool report_put_figure(struct report_page *page, const struct report_figure *figure, struct error *error) {
  enum { PIXELS = 3 /* a unit: some 300 an inch in print */ };
  enum figure_kind kind = page->config->figures;
  fprintf(page->html, "<figure>\n");
  if (!put_picture(page, figure, error)) return false;
  fprintf(page->html, "<figcaption>Figure %zu. ", ++page->figures);
  html_text(page->html, figure->caption);
  fprintf(page->html, "</figcaption>\n</figure>\n");
  if (kind == FIGURE_KINDS) return true;
  const char *path =
      arena_text(page->report->arena, "%s/%s.%s", page->folder, figure->file, figure_kinds[kind]);
  return figure_save(path, kind, PIXELS, figure->draw, figure->what, error);
}

struct report_file *report_add_file(struct report_page *page) {
  struct report_file *file = ARENA_NEW(page->report->arena, struct report_file, 1);
  *file = (struct report_file){.next = page->files};
  return page->files = file;
}

static bool write_table(struct report_page *page, const struct tabular *table, const char *ending,
                        void (*write)(const struct tabular *, FILE *), struct error *error) {
  struct report_file *file = report_add_file(page);
  const char *path = arena_text(page->report->arena, "%s/%s.%s", page->folder, table->file, ending);
  if (!file_create(&file->file, path, error)) return false;
  write(table, file->file.file);
  return true;
}

bool report_put_table(struct report_page *page, struct tabular *table, struct error *error) {
  tabular_html(table, page->html);
  tabular_plain(table, page->text);
  return write_table(page, table, "csv", tabular_csv, error) &&
         write_table(page, table, "tex", tabular_latex, error);
}
