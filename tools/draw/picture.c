#include "tools/draw/picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  PANEL_LEAST = 192, /* width of a panel: what a journal prints two fingers wide */
  ZOOM = 3,          /* factor of the detail */
  LETTERS = 14       /* sizes of a letter in the width of a panel, so that all sheets look the same */
};

static const struct colour acquired = {255, 255, 255}, left_out = {0, 0, 0}, given = {230, 159, 0};
static const struct colour marker = {255, 210, 0};

/* ---- layout ------------------------------------------------------------------------------------------- */

static bool has_masks(const struct picture_sheet *sheet) {
  for (size_t i = 0; i < sheet->column_count; i++)
    if (sheet->columns[i].mask) return true;
  return false;
}

static size_t at_least_one(size_t value) {
  return value ? value : 1;
}

static void find_sizes(const struct picture_sheet *sheet, struct picture_layout *layout) {
  size_t scale = (PANEL_LEAST + sheet->width - 1) / sheet->width;
  *layout = (struct picture_layout){.scale = scale,
                                    .panel_width = scale * sheet->width,
                                    .panel_height = scale * sheet->height,
                                    .detail_width = at_least_one(sheet->width / ZOOM),
                                    .detail_height = at_least_one(sheet->height / ZOOM)};
  layout->detail_left = (sheet->width - layout->detail_width) / 2;
  layout->detail_top = (sheet->height - layout->detail_height) / 2;
  layout->text = layout->panel_width / LETTERS;
  layout->line = layout->text * 3 / 2;
  layout->gap = layout->text / 2;
  layout->margin = layout->text;
}

void picture_layout(const struct picture_sheet *sheet, struct picture_layout *layout) {
  find_sizes(sheet, layout);
  size_t titles = 0, gap = layout->gap, line = layout->line;
  while (titles < PICTURE_LINES && sheet->title[titles]) titles++;
  layout->left = layout->margin;
  layout->step = layout->panel_width + gap;
  layout->width = 2 * layout->margin + layout->step * sheet->column_count + layout->panel_width;
  layout->heading = (titles ? layout->margin + gap : gap) + titles * line;
  layout->image = layout->heading + line;
  layout->detail = layout->image + layout->panel_height + gap;
  layout->error = layout->detail + layout->panel_height + gap;
  layout->mask = layout->error + layout->panel_height + gap;
  layout->mask_height = !has_masks(sheet) ? 0 : sheet->cells ? layout->panel_height : 3 * line;
  layout->caption = layout->mask + (layout->mask_height ? layout->mask_height + gap : 0);
  layout->height = layout->caption + sheet->lines * line + gap;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

/* One drawing: the figure, the sheet and the place; column: its left end. */
struct drawing {
  struct figure *figure;
  const struct picture_sheet *sheet;
  struct picture_layout layout;
};

/* A line in the middle of a width. */
static void put_line(const struct drawing *drawing, size_t left, size_t top, size_t width, const char *text) {
  double base = (double)top + 1.1 * (double)drawing->layout.text;
  figure_text(drawing->figure, (double)left + (double)width / 2, base, FIGURE_MIDDLE,
              figure_cut(drawing->figure, text, (double)width));
}

static void put_at_end(const struct drawing *drawing, size_t right, size_t top, const char *text) {
  figure_text(drawing->figure, (double)right, (double)top + 0.9 * (double)drawing->layout.text, FIGURE_END,
              text);
}

static void put_frame(const struct drawing *drawing, size_t left, size_t top, size_t width, size_t height) {
  figure_outline(drawing->figure, (double)left, (double)top, (double)width, (double)height, 1, figure_line);
}

/* ---- panels -------------------------------------------------------------------------------------------- */

static void put_panel(const struct drawing *drawing, size_t left, size_t top, const struct colour *pixel,
                      size_t columns, size_t rows) {
  figure_image(drawing->figure, (double)left, (double)top, (double)drawing->layout.panel_width,
               (double)drawing->layout.panel_height, pixel, columns, rows);
}

static struct colour *new_pixels(const struct drawing *drawing) {
  return ARENA_NEW(drawing->figure->arena, struct colour, drawing->sheet->height * drawing->sheet->width);
}

static void draw_image(const struct drawing *drawing, size_t left, const float *image) {
  const struct picture_sheet *sheet = drawing->sheet;
  struct colour *pixel = new_pixels(drawing);
  for (size_t i = 0; i < sheet->height * sheet->width; i++) pixel[i] = colour_grey(image[i] / sheet->white);
  put_panel(drawing, left, drawing->layout.image, pixel, sheet->width, sheet->height);
}

/* The central region, ZOOM times larger; its panel is as large as the image's. */
static void draw_detail(const struct drawing *drawing, size_t left, const float *image) {
  const struct picture_sheet *sheet = drawing->sheet;
  const struct picture_layout *layout = &drawing->layout;
  struct colour *pixel = new_pixels(drawing);
  for (size_t y = 0; y < layout->detail_height; y++)
    for (size_t x = 0; x < layout->detail_width; x++)
      pixel[y * layout->detail_width + x] = colour_grey(
          image[(layout->detail_top + y) * sheet->width + layout->detail_left + x] / sheet->white);
  put_panel(drawing, left, layout->detail, pixel, layout->detail_width, layout->detail_height);
}

static void draw_error(const struct drawing *drawing, size_t left, const struct picture_column *column) {
  const struct picture_sheet *sheet = drawing->sheet;
  struct colour *pixel = new_pixels(drawing);
  for (size_t i = 0; i < sheet->height * sheet->width; i++)
    pixel[i] = colour_heat(column->noise ? column->noise[i] / sheet->noise_white
                                         : fabsf(column->image[i] - sheet->truth[i]) / sheet->error_white);
  put_panel(drawing, left, drawing->layout.error, pixel, sheet->width, sheet->height);
}

/* ---- masks --------------------------------------------------------------------------------------------- */

static struct colour mask_colour(const struct picture_column *column, size_t i) {
  return column->initial && column->initial[i] ? given : column->mask[i] ? acquired : left_out;
}

static void draw_cells(const struct drawing *drawing, size_t left, const struct picture_column *column) {
  const struct picture_sheet *sheet = drawing->sheet;
  struct colour *pixel = new_pixels(drawing);
  for (size_t i = 0; i < sheet->height * sheet->width; i++) pixel[i] = mask_colour(column, i);
  put_panel(drawing, left, drawing->layout.mask, pixel, sheet->width, sheet->height);
}

/* Neighbours of one colour are one rectangle: no seams. */
static void draw_strip(const struct drawing *drawing, size_t left, const struct picture_column *column) {
  const struct picture_layout *layout = &drawing->layout;
  for (size_t x = 0, end; x < drawing->sheet->width; x = end) {
    struct colour colour = mask_colour(column, x), next = colour;
    for (end = x + 1; end < drawing->sheet->width; end++) {
      next = mask_colour(column, end);
      if (memcmp(&next, &colour, sizeof next)) break;
    }
    figure_fill(drawing->figure, (double)(left + layout->scale * x), (double)layout->mask,
                (double)(layout->scale * (end - x)), (double)layout->mask_height, colour);
  }
}

static void draw_mask(const struct drawing *drawing, size_t left, const struct picture_column *column) {
  const struct picture_layout *layout = &drawing->layout;
  if (!column->mask) return;
  if (drawing->sheet->cells)
    draw_cells(drawing, left, column);
  else
    draw_strip(drawing, left, column);
  put_frame(drawing, left, layout->mask, layout->panel_width, layout->mask_height);
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* The scale of the error maps, in the place of the truth's own, in parts of the brightest grey; or of the noise maps. */
static void draw_scale(const struct drawing *drawing) {
  enum { STEPS = 64 };
  const struct picture_layout *layout = &drawing->layout;
  size_t bar = layout->text, height = layout->panel_height, right = layout->left + layout->panel_width,
         left = right - bar, top = layout->error, letters = layout->text;
  double noise = (double)drawing->sheet->noise_white;
  struct colour pixel[STEPS];
  for (size_t i = 0; i < STEPS; i++) pixel[i] = colour_heat(1 - (float)i / (STEPS - 1));
  figure_image(drawing->figure, (double)left, (double)top, (double)bar, (double)height, pixel, 1, STEPS);
  put_frame(drawing, left, top, bar, height);
  for (size_t tick = 0; tick < 3; tick++) {
    double whole = noise > 0 ? noise : 100 * (double)(drawing->sheet->error_white / drawing->sheet->white);
    const char *number = arena_text(drawing->figure->arena, noise > 0 ? "%.3g" : "%.3g %%", whole * (1 - 0.5 * (double)tick));
    size_t below = height > letters ? tick * (height - letters) / 2 : 0;
    put_at_end(drawing, left - layout->gap, top + below, number);
  }
  if (height < 8 * layout->line) return;
  put_at_end(drawing, left - layout->gap, top + height / 2 - 3 * layout->line, noise > 0 ? "noise," : "absolute error,");
  put_at_end(drawing, left - layout->gap, top + height / 2 - 2 * layout->line, noise > 0 ? "g-factor" : "% of white");
}

static void draw_legend(const struct drawing *drawing) {
  static const char *const names[] = {"acquired", "given at the start", "not acquired"};
  const struct colour colours[] = {acquired, given, left_out};
  const struct picture_layout *layout = &drawing->layout;
  size_t box = layout->text * 4 / 5, left = layout->left + layout->panel_width - box;
  for (size_t i = 0; layout->mask_height && i < 3; i++) {
    size_t top = layout->mask + i * layout->line + layout->gap / 2;
    figure_fill(drawing->figure, (double)left, (double)top, (double)box, (double)box, colours[i]);
    put_frame(drawing, left, top, box, box);
    put_at_end(drawing, left - layout->gap, top, names[i]);
  }
}

static void draw_truth(const struct drawing *drawing) {
  const struct picture_layout *layout = &drawing->layout;
  double scale = (double)layout->scale, left = (double)layout->left, top = (double)layout->image;
  put_line(drawing, layout->left, layout->heading, layout->panel_width, "truth");
  draw_image(drawing, layout->left, drawing->sheet->truth);
  draw_detail(drawing, layout->left, drawing->sheet->truth);
  figure_outline(drawing->figure, left + scale * (double)layout->detail_left,
                 top + scale * (double)layout->detail_top, scale * (double)layout->detail_width,
                 scale * (double)layout->detail_height, fmax(1, (double)layout->text / LETTERS), marker);
  draw_scale(drawing);
  draw_legend(drawing);
}

static void draw_column(const struct drawing *drawing, size_t place) {
  const struct picture_column *column = &drawing->sheet->columns[place];
  const struct picture_layout *layout = &drawing->layout;
  size_t left = layout->left + (place + 1) * layout->step;
  put_line(drawing, left, layout->heading, layout->panel_width, column->title);
  draw_image(drawing, left, column->image);
  draw_detail(drawing, left, column->image);
  draw_error(drawing, left, column);
  draw_mask(drawing, left, column);
  for (size_t i = 0; column->captions && i < drawing->sheet->lines; i++)
    put_line(drawing, left, layout->caption + i * layout->line, layout->panel_width, column->captions[i]);
}

void picture_draw(struct figure *figure, const void *what) {
  struct drawing drawing = {.figure = figure, .sheet = what};
  struct picture_layout *layout = &drawing.layout;
  const struct picture_sheet *sheet = what;
  REQUIRE(sheet->height && sheet->width, "a picture of %zux%zu pixels", sheet->height, sheet->width);
  picture_layout(sheet, layout);
  figure_font(figure, (double)layout->text, false);
  for (size_t i = 0; i < PICTURE_LINES && sheet->title[i]; i++)
    put_line(&drawing, layout->left, layout->margin + i * layout->line, layout->width - 2 * layout->margin,
             sheet->title[i]);
  draw_truth(&drawing);
  for (size_t i = 0; i < sheet->column_count; i++) draw_column(&drawing, i);
  figure->width = (double)layout->width;
  figure->height = (double)layout->height;
}
