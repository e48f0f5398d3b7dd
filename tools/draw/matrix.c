#include "tools/draw/matrix.h"

#include <math.h>

enum {
  WIDTH = 720,
  TEXT = 11,
  SMALL = 9,
  TITLE = 12,
  PAD = 8,
  HEAD = 54, /* room for the title and the names of columns */
  HIGH = 38, /* of a cell */
  NAME_MOST = 260,
  CELL_LEAST = 56,
  CELL_MOST = 150
};

/* Dark is good; black letters are read on it. */
static struct colour colour_of(const struct matrix *matrix, double value, double low, double high) {
  static const struct colour light = {247, 251, 255}, dark = {107, 174, 214};
  double place = high > low ? (value - low) / (high - low) : 0.5;
  if (matrix->sign < 0) place = 1 - place;
  place = fmin(fmax(place, 0), 1);
  return (struct colour){(unsigned char)lround(light.red + place * (dark.red - light.red)),
                         (unsigned char)lround(light.green + place * (dark.green - light.green)),
                         (unsigned char)lround(light.blue + place * (dark.blue - light.blue))};
}

static void find_range(const struct matrix *matrix, double *low, double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t i = 0; i < matrix->rows * matrix->columns; i++) {
    double value = matrix->cell[i].value;
    if (!isfinite(value)) continue;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
  }
}

static void draw_cell(struct figure *figure, const struct matrix_cell *cell, struct colour ground, double x,
                      double y, double wide) {
  double middle = x + wide / 2;
  figure_fill(figure, x + 1, y + 1, wide - 2, HIGH - 2, ground);
  figure_font(figure, TEXT, true);
  figure_text(figure, middle, y + (cell->below ? 17 : 23), FIGURE_MIDDLE,
              figure_cut(figure, cell->text, wide - 4));
  figure_font(figure, SMALL, false);
  if (cell->below)
    figure_text(figure, middle, y + 30, FIGURE_MIDDLE, figure_cut(figure, cell->below, wide - 4));
  figure_font(figure, TEXT, false);
}

static void draw_cells(struct figure *figure, const struct matrix *matrix, double left, double wide) {
  double low, high;
  find_range(matrix, &low, &high);
  for (size_t r = 0; r < matrix->rows; r++)
    for (size_t c = 0; c < matrix->columns; c++) {
      const struct matrix_cell *cell = &matrix->cell[r * matrix->columns + c];
      if (isfinite(cell->value))
        draw_cell(figure, cell, colour_of(matrix, cell->value, low, high), left + wide * (double)c,
                  HEAD + HIGH * (double)r, wide);
    }
}

static double widest(struct figure *figure, const char *const *text, size_t count) {
  double wide = 0;
  for (size_t i = 0; i < count; i++) wide = fmax(wide, figure_text_width(figure, text[i]));
  return wide;
}

/* Wide enough for the names of columns, as long as all have room. */
static double cell_width(struct figure *figure, const struct matrix *matrix, double left) {
  double wanted = widest(figure, matrix->head, matrix->columns) + 2 * PAD;
  double room = (WIDTH - left) / (double)matrix->columns;
  return fmax(CELL_LEAST, fmin(fmin(wanted, room), CELL_MOST));
}

void matrix_draw(struct figure *figure, const void *what) {
  const struct matrix *matrix = what;
  figure_font(figure, TEXT, false);
  double left = fmin(widest(figure, matrix->row, matrix->rows), NAME_MOST) + PAD,
         wide = cell_width(figure, matrix, left), bottom = HEAD + HIGH * (double)matrix->rows;
  figure->width = fmax(WIDTH, left + wide * (double)matrix->columns);
  figure->height = bottom + 26;
  figure_font(figure, TITLE, true);
  figure_text(figure, 0, 16, FIGURE_START, figure_cut(figure, matrix->title, figure->width));
  figure_font(figure, TEXT, false);
  for (size_t r = 0; r < matrix->rows; r++)
    figure_text(figure, left - PAD, HEAD + HIGH * ((double)r + 0.5) + 4, FIGURE_END,
                figure_cut(figure, matrix->row[r], NAME_MOST));
  for (size_t c = 0; c < matrix->columns; c++)
    figure_text(figure, left + wide * ((double)c + 0.5), HEAD - PAD, FIGURE_MIDDLE,
                figure_cut(figure, matrix->head[c], wide - 4));
  figure_text(figure, left, bottom + 18, FIGURE_START,
              figure_cut(figure, matrix->across, figure->width - left));
  draw_cells(figure, matrix, left, wide);
}
