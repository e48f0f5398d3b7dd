#include "tools/report/tabular.h"

#include "engine/base/text.h"
#include "tools/report/csv.h"
#include "tools/report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 12 /* rows of a table that may go on on another sheet: a shorter one stays whole */ };

struct tabular tabular_make(struct arena *arena, size_t rows, size_t columns) {
  struct tabular table = {.arena = arena, .rows = rows, .columns = columns};
  table.head = ARENA_NEW(arena, const char *, columns);
  table.cell = ARENA_NEW(arena, struct tabular_cell, rows * columns);
  for (size_t i = 0; i < rows * columns; i++)
    table.cell[i] = (struct tabular_cell){.value = NAN, .spread = NAN};
  return table;
}

struct tabular_cell *tabular_cell(const struct tabular *table, size_t row, size_t column) {
  return &table->cell[row * table->columns + column];
}

void tabular_text(const struct tabular *table, size_t row, size_t column, const char *text) {
  tabular_cell(table, row, column)->text = arena_text(table->arena, "%s", text);
}

const char *tabular_digits(struct arena *arena, double value, int digits) {
  char *text = digits < 0 ? arena_text(arena, "%.*e", -digits - 1, fabs(value))
                          : arena_text(arena, "%.*f", digits, fabs(value));
  bool below = value < 0 && strtod(text, NULL) > 0; /* not where it is shown as zero */
  return below ? arena_text(arena, "\u2212%s", text) : text;
}

/* Rounds a value as it is shown. */
static double round_shown(struct arena *arena, double value, int digits) {
  double size = strtod(tabular_digits(arena, fabs(value), digits), NULL);
  return value < 0 ? -size : size;
}

void tabular_number(const struct tabular *table, size_t row, size_t column, double value, int digits) {
  const char *text = isnan(value) ? NULL : tabular_digits(table->arena, value, digits);
  *tabular_cell(table, row, column) = (struct tabular_cell){.text = text, .value = value, .spread = NAN};
}

void tabular_spread(const struct tabular *table, size_t row, size_t column, double mean, double spread,
                    int digits) {
  const char *text = arena_text(table->arena, "%s \u00b1 %s", tabular_digits(table->arena, mean, digits),
                                tabular_digits(table->arena, spread, digits < 0 ? -1 : digits));
  if (isnan(mean)) text = NULL;
  *tabular_cell(table, row, column) = (struct tabular_cell){.text = text, .value = mean, .spread = spread};
}

void tabular_missing(const struct tabular *table, size_t row, size_t column, size_t missing, size_t all,
                     const char *values) {
  struct tabular_cell *cell = tabular_cell(table, row, column);
  if (!missing) return;
  cell->missing = missing;
  cell->text = arena_text(table->arena, "%s%s%zu of %zu %s without a score%s", cell->text ? cell->text : "",
                          cell->text ? " (" : "", missing, all, values, cell->text ? ")" : "");
}

void tabular_mark_best(const struct tabular *table, size_t column, double sign, const bool *takes_part,
                       int digits) {
  double best = -INFINITY;
  for (int pass = 0; pass < 2; pass++)
    for (size_t r = 0; r < table->rows; r++) {
      struct tabular_cell *cell = tabular_cell(table, r, column);
      if (!cell->text || cell->missing || isnan(cell->value) || (takes_part && !takes_part[r])) continue;
      double shown = sign * round_shown(table->arena, cell->value, digits);
      if (pass)
        cell->best = shown == best;
      else
        best = fmax(best, shown);
    }
}

static bool has_heading(const struct tabular *table, size_t row) {
  return table->group && (!row || strcmp(table->group[row], table->group[row - 1]));
}

static const char *text_of(const struct tabular *table, size_t row, size_t column) {
  const char *text = tabular_cell(table, row, column)->text;
  return text ? text : "\u2013";
}

/* ---- HTML ---------------------------------------------------------------------------------------------- */

static void html_head(const struct tabular *table, FILE *file) {
  fprintf(file, "<thead><tr>");
  for (size_t c = 0; c < table->columns; c++) {
    fprintf(file, "<th scope=\"col\">");
    html_text(file, table->head[c]);
    fprintf(file, "</th>");
  }
  fprintf(file, "</tr></thead>\n");
}

static void html_row(const struct tabular *table, size_t row, FILE *file) {
  if (has_heading(table, row)) {
    fprintf(file, "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%zu\">", table->columns);
    html_text(file, table->group[row]);
    fprintf(file, "</th></tr>\n");
  }
  fprintf(file, "<tr>");
  for (size_t c = 0; c < table->columns; c++) {
    bool best = tabular_cell(table, row, c)->best;
    fprintf(file, c ? "<td>%s" : "<th scope=\"row\">%s", best ? "<strong>" : "");
    html_text(file, text_of(table, row, c));
    fprintf(file, "%s%s", best ? "</strong>" : "", c ? "</td>" : "</th>");
  }
  fprintf(file, "</tr>\n");
}

void tabular_html(const struct tabular *table, FILE *file) {
  if (table->numbers) fprintf(file, "<details><summary>the numbers of this figure</summary>\n");
  fprintf(file, "<div class=\"table%s\"><table>\n<caption>", table->rows > LONG ? " long" : "");
  html_text(file, table->title);
  fprintf(file, "</caption>\n");
  html_head(table, file);
  fprintf(file, "<tbody>\n");
  for (size_t r = 0; r < table->rows; r++) html_row(table, r, file);
  fprintf(file, "</tbody></table></div>\n");
  if (table->note) {
    fprintf(file, "<p class=\"note\">");
    html_text(file, table->note);
    fprintf(file, "</p>\n");
  }
  if (table->numbers) fprintf(file, "</details>\n");
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static size_t width_of(const struct tabular *table, size_t column) {
  size_t width = text_length(table->head[column]);
  for (size_t r = 0; r < table->rows; r++) {
    size_t length = text_length(text_of(table, r, column)) + tabular_cell(table, r, column)->best;
    if (length > width) width = length;
  }
  return width;
}

/* The first column at the left, the others at the right. */
static void plain_cell(const struct tabular *table, size_t column, const char *text, const char *star,
                       FILE *file) {
  int gap = (int)(width_of(table, column) - text_length(text) - strlen(star));
  fprintf(file, "%s%*s%s%s%*s", column ? "  " : "", column ? gap : 0, "", text_shown(table->arena, text),
          star, column ? 0 : gap, "");
}

void tabular_wrap(const char *text, FILE *file) {
  size_t column = 0;
  while (*text) {
    size_t length = strcspn(text, " ");
    if (column && column + length > 100) fputc('\n', file), column = 0;
    if (column) fputc(' ', file);
    column += length + (column > 0);
    for (const char *end = text + length; text < end;) text += text_show_character(file, text);
    text += strspn(text, " ");
  }
  fputc('\n', file);
}

void tabular_plain(const struct tabular *table, FILE *file) {
  fprintf(file, "\n%s\n", text_shown(table->arena, table->title));
  for (size_t c = 0; c < table->columns; c++) plain_cell(table, c, table->head[c], "", file);
  fputc('\n', file);
  for (size_t r = 0; r < table->rows; r++) {
    if (has_heading(table, r)) fprintf(file, "[%s]\n", text_shown(table->arena, table->group[r]));
    for (size_t c = 0; c < table->columns; c++)
      plain_cell(table, c, text_of(table, r, c), tabular_cell(table, r, c)->best ? "*" : "", file);
    fputc('\n', file);
  }
  if (table->note) tabular_wrap(table->note, file);
}

/* ---- CSV ----------------------------------------------------------------------------------------------- */

static bool has_deviation(const struct tabular *table, size_t column) {
  for (size_t r = 0; r < table->rows; r++)
    if (!isnan(tabular_cell(table, r, column)->spread)) return true;
  return false;
}

static bool has_missing(const struct tabular *table, size_t column) {
  for (size_t r = 0; r < table->rows; r++)
    if (tabular_cell(table, r, column)->missing) return true;
  return false;
}

static void csv_head(const struct tabular *table, size_t column, FILE *file) {
  const char *head = table->head[column];
  csv_text(file, head);
  if (has_deviation(table, column)) fputc(',', file), csv_text(file, arena_text(table->arena, "%s std", head));
  if (has_missing(table, column))
    fputc(',', file), csv_text(file, arena_text(table->arena, "%s without a score", head));
}

static void csv_cell(const struct tabular *table, size_t row, size_t column, FILE *file) {
  const struct tabular_cell *cell = tabular_cell(table, row, column);
  if (!isnan(cell->value))
    fprintf(file, "%.9g", cell->value);
  else if (!cell->missing) /* the text is that none has a score */
    csv_text(file, cell->text ? cell->text : "");
  if (has_deviation(table, column)) fputc(',', file);
  if (!isnan(cell->spread)) fprintf(file, "%.9g", cell->spread);
  if (has_missing(table, column)) fprintf(file, ",%zu", cell->missing);
}

void tabular_csv(const struct tabular *table, FILE *file) {
  if (table->group) fprintf(file, "group,");
  for (size_t c = 0; c < table->columns; c++) {
    if (c) fputc(',', file);
    csv_head(table, c, file);
  }
  fputc('\n', file);
  for (size_t r = 0; r < table->rows; r++) {
    if (table->group) csv_text(file, table->group[r]), fputc(',', file);
    for (size_t c = 0; c < table->columns; c++) {
      if (c) fputc(',', file);
      csv_cell(table, r, c, file);
    }
    fputc('\n', file);
  }
}

/* ---- LaTeX --------------------------------------------------------------------------------------------- */

static void latex_text(const struct tabular *table, const char *text, FILE *file) {
  static const struct {
    const char *from, *to;
  } list[] = {{"\\", "\\textbackslash{}"},
              {"&", "\\&"},
              {"%", "\\%"},
              {"$", "\\$"},
              {"#", "\\#"},
              {"_", "\\_"},
              {"{", "\\{"},
              {"}", "\\}"},
              {"~", "\\textasciitilde{}"},
              {"^", "\\textasciicircum{}"},
              {"\u00b1", "$\\pm$"},
              {"\u00d7", "$\\times$"},
              {"\u2212", "$-$"},
              {"\u2013", "--"},
              {"\u03b3", "$\\gamma$"},
              {"<", "$<$"},
              {">", "$>$"}};
  text = text_shown(table->arena, text);
  while (*text) {
    size_t i = 0, count = sizeof list / sizeof *list;
    while (i < count && strncmp(text, list[i].from, strlen(list[i].from))) i++;
    if (i < count)
      fputs(list[i].to, file);
    else
      fputc(*text, file);
    text += i < count ? strlen(list[i].from) : 1;
  }
}

static void latex_row(const struct tabular *table, size_t row, FILE *file) {
  if (has_heading(table, row)) {
    fprintf(file, "%s\\multicolumn{%zu}{l}{\\textit{", row ? "\\midrule\n" : "", table->columns);
    latex_text(table, table->group[row], file);
    fprintf(file, "}} \\\\\n");
  }
  for (size_t c = 0; c < table->columns; c++) {
    bool best = tabular_cell(table, row, c)->best;
    fprintf(file, "%s%s", c ? " & " : "", best ? "\\textbf{" : "");
    latex_text(table, text_of(table, row, c), file);
    if (best) fputc('}', file);
  }
  fprintf(file, " \\\\\n");
}

void tabular_latex(const struct tabular *table, FILE *file) {
  fprintf(file, "%% needs \\usepackage{booktabs}\n\\begin{table}\n\\caption{");
  latex_text(table, table->title, file);
  fprintf(file, "}\n\\label{tab:%s}\n\\begin{tabular}{l", table->file);
  for (size_t c = 1; c < table->columns; c++) fputc('r', file);
  fprintf(file, "}\n\\toprule\n");
  for (size_t c = 0; c < table->columns; c++) {
    if (c) fprintf(file, " & ");
    latex_text(table, table->head[c], file);
  }
  fprintf(file, " \\\\\n\\midrule\n");
  for (size_t r = 0; r < table->rows; r++) latex_row(table, r, file);
  fprintf(file, "\\bottomrule\n\\end{tabular}\n");
  if (table->note) {
    fprintf(file, "\\par\\small ");
    latex_text(table, table->note, file);
    fputc('\n', file);
  }
  fprintf(file, "\\end{table}\n");
}
