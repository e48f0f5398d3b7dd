#include "tools/draw/picture.h"

#include "tools/draw/canvas.h"
#include "tools/draw/font.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  PANEL_LEAST = 192, /* width of a panel: what a journal prints two fingers wide */
  ZOOM = 3,          /* of the detail */
  MARGIN = 16,
  GAP = 8,
  LINE = CANVAS_LINE,
  MASK_HEIGHT = 3 * LINE, /* as high as the legend beside it */
  BAR = 14                /* width of the colour scale */
};

static const struct colour acquired = {255, 255, 255}, left_out = {0, 0, 0}, given = {255, 140, 0};
static const struct colour marker = {255, 210, 0};

/* ---- layout ------------------------------------------------------------------------------------------- */

static bool has_masks(const struct picture_sheet *sheet) {
  for (size_t i = 0; i < sheet->column_count; i++)
    if (sheet->columns[i].mask) return true;
  return false;
}

/* Length of the first line of a caption: up to the last two spaces that fit, else the last one, else all of
 * it. */
static size_t caption_line(const char *text, size_t width) {
  size_t length = strlen(text), whole = 0, part = 0;
  if (canvas_text_width(length) <= width) return length;
  for (size_t i = 1; i < length && canvas_text_width(i) <= width; i++) {
    if (text[i] == ' ' && text[i - 1] != ' ') part = i;
    if (!strncmp(text + i, "  ", 2)) whole = i;
  }
  return whole ? whole : part ? part : length;
}

static const char *next_line(const char *text, size_t length) {
  return text + length + strspn(text + length, " ");
}

static size_t count_lines(const char *text, size_t width) {
  size_t lines = 0;
  for (; text && *text; lines++) text = next_line(text, caption_line(text, width));
  return lines;
}

static size_t caption_lines(const struct picture_sheet *sheet, size_t width) {
  size_t most = 0;
  for (size_t i = 0; i < sheet->column_count; i++) {
    size_t lines = count_lines(sheet->columns[i].caption, width);
    if (lines > most) most = lines;
  }
  return most;
}

static size_t at_least_one(size_t value) {
  return value ? value : 1;
}

void picture_layout(const struct picture_sheet *sheet, struct picture_layout *layout) {
  size_t scale = (PANEL_LEAST + sheet->width - 1) / sheet->width;
  *layout = (struct picture_layout){.scale = scale,
                                    .panel_width = scale * sheet->width,
                                    .panel_height = scale * sheet->height,
                                    .detail_width = at_least_one(sheet->width / ZOOM),
                                    .detail_height = at_least_one(sheet->height / ZOOM)};
  layout->detail_left = (sheet->width - layout->detail_width) / 2;
  layout->detail_top = (sheet->height - layout->detail_height) / 2;
  layout->left = MARGIN;
  layout->step = layout->panel_width + GAP;
  layout->width = 2 * MARGIN + layout->step * sheet->column_count + layout->panel_width;
  layout->heading =
      MARGIN + (sheet->title ? count_lines(sheet->title, layout->width - 2 * MARGIN) * LINE + GAP : 0);
  layout->image = layout->heading + LINE;
  layout->detail = layout->image + layout->panel_height + GAP;
  layout->error = layout->detail + layout->panel_height + GAP;
  layout->mask = layout->error + layout->panel_height + GAP;
  layout->mask_height = !has_masks(sheet) ? 0 : sheet->cells ? layout->panel_height : MASK_HEIGHT;
  layout->caption = layout->mask + (layout->mask_height ? layout->mask_height + GAP : 0);
  layout->height = layout->caption + caption_lines(sheet, layout->panel_width) * LINE + MARGIN - GAP;
}

static size_t column_left(const struct picture_layout *layout, size_t column) {
  return layout->left + column * layout->step;
}

/* ---- drawing ------------------------------------------------------------------------------------------ */

static void put_caption(struct canvas *canvas, size_t left, size_t top, size_t width, const char *text) {
  for (size_t length; *text; text = next_line(text, length), top += LINE) {
    length = caption_line(text, width);
    canvas_centred(canvas, left, top, width, text, length);
  }
}

/* ---- the parts of a sheet ------------------------------------------------------------------------------ */

static void draw_image(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout, size_t column, const float *image) {
  size_t left = column_left(layout, column), scale = layout->scale;
  for (size_t y = 0; y < sheet->height; y++)
    for (size_t x = 0; x < sheet->width; x++)
      canvas_fill(canvas, left + scale * x, layout->image + scale * y, scale, scale,
                  colour_grey(image[y * sheet->width + x] / sheet->white));
}

/* The central region, ZOOM times larger; its panel is as large as the image's, to a few pixels. */
static void draw_detail(struct canvas *canvas, const struct picture_sheet *sheet,
                        const struct picture_layout *layout, size_t column, const float *image) {
  size_t left = column_left(layout, column);
  for (size_t y = 0; y < layout->panel_height; y++)
    for (size_t x = 0; x < layout->panel_width; x++) {
      size_t row = layout->detail_top + y * layout->detail_height / layout->panel_height;
      size_t place = layout->detail_left + x * layout->detail_width / layout->panel_width;
      canvas->pixel[(layout->detail + y) * canvas->width + left + x] =
          colour_grey(image[row * sheet->width + place] / sheet->white);
    }
}

static void draw_error(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout, size_t column, const float *image) {
  size_t left = column_left(layout, column), scale = layout->scale;
  for (size_t y = 0; y < sheet->height; y++)
    for (size_t x = 0; x < sheet->width; x++) {
      size_t i = y * sheet->width + x;
      canvas_fill(canvas, left + scale * x, layout->error + scale * y, scale, scale,
                  colour_heat(fabsf(image[i] - sheet->truth[i]) / sheet->error_white));
    }
}

static void draw_mask(struct canvas *canvas, const struct picture_sheet *sheet,
                      const struct picture_layout *layout, size_t column) {
  const struct picture_column *content = &sheet->columns[column - 1];
  size_t left = column_left(layout, column), scale = layout->scale;
  size_t rows = sheet->cells ? sheet->height : 1, high = layout->mask_height / rows;
  if (!content->mask) return;
  for (size_t i = 0; i < rows * sheet->width; i++) {
    bool is_given = content->initial && content->initial[i];
    canvas_fill(canvas, left + scale * (i % sheet->width), layout->mask + high * (i / sheet->width), scale,
                high,
                is_given           ? given
                : content->mask[i] ? acquired
                                   : left_out);
  }
  canvas_outline(canvas, left, layout->mask, layout->panel_width, layout->mask_height, 1, canvas_frame);
}

/* The scale of the error maps, beside the first of them. */
static void draw_scale(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout) {
  size_t right = layout->left + layout->panel_width, left = right - BAR, height = layout->panel_height;
  for (size_t y = 0; y < height; y++)
    canvas_fill(canvas, left, layout->error + y, BAR, 1, colour_heat(1 - (float)y / (float)(height - 1)));
  canvas_outline(canvas, left, layout->error, BAR, height, 1, canvas_frame);
  for (size_t tick = 0; tick < 3; tick++) {
    char number[32];
    size_t y = layout->error + tick * (height - 1) / 2,
           top = tick * (height - CANVAS_TEXT * (FONT_HEIGHT - 1)) / 2;
    snprintf(number, sizeof number, "%.3g", (double)sheet->error_white * (1 - 0.5 * (double)tick));
    canvas_fill(canvas, left - 5, y, 4, 1, canvas_frame);
    canvas_right(canvas, left - GAP, layout->error + top, number);
  }
  if (height >= 8 * LINE) canvas_right(canvas, left - GAP, layout->error + height / 4, "absolute error");
}

static void draw_legend(struct canvas *canvas, const struct picture_layout *layout) {
  static const char *const names[] = {"acquired", "initial", "not acquired"};
  const struct colour colours[] = {acquired, given, left_out};
  enum { BOX = CANVAS_TEXT * (FONT_HEIGHT - 2) };
  for (size_t i = 0; layout->mask_height && i < 3; i++) {
    size_t top = layout->mask + i * LINE + 3, right = layout->left + layout->panel_width;
    canvas_fill(canvas, right - BOX, top, BOX, BOX, colours[i]);
    canvas_outline(canvas, right - BOX, top, BOX, BOX, 1, canvas_frame);
    canvas_right(canvas, right - BOX - GAP, top - 1, names[i]);
  }
}

static void draw_truth(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout) {
  size_t scale = layout->scale;
  canvas_centred(canvas, layout->left, layout->heading, layout->panel_width, "truth", strlen("truth"));
  draw_image(canvas, sheet, layout, 0, sheet->truth);
  draw_detail(canvas, sheet, layout, 0, sheet->truth);
  canvas_outline(canvas, layout->left + scale * layout->detail_left,
                 layout->image + scale * layout->detail_top, scale * layout->detail_width,
                 scale * layout->detail_height, 1, marker);
  draw_scale(canvas, sheet, layout);
  draw_legend(canvas, layout);
}

static void draw_column(struct canvas *canvas, const struct picture_sheet *sheet,
                        const struct picture_layout *layout, size_t column) {
  const struct picture_column *content = &sheet->columns[column - 1];
  size_t left = column_left(layout, column);
  canvas_centred(canvas, left, layout->heading, layout->panel_width, content->title, strlen(content->title));
  draw_image(canvas, sheet, layout, column, content->image);
  draw_detail(canvas, sheet, layout, column, content->image);
  draw_error(canvas, sheet, layout, column, content->image);
  draw_mask(canvas, sheet, layout, column);
  if (content->caption) put_caption(canvas, left, layout->caption, layout->panel_width, content->caption);
}

static void draw_sheet(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout) {
  size_t width = layout->width - 2 * MARGIN;
  if (sheet->title) put_caption(canvas, layout->left, MARGIN, width, sheet->title);
  draw_truth(canvas, sheet, layout);
  for (size_t i = 1; i <= sheet->column_count; i++) draw_column(canvas, sheet, layout, i);
}

/* ---- the file ----------------------------------------------------------------------------------------- */

bool picture_write(const char *path, const struct picture_sheet *sheet, struct error *error) {
  struct picture_layout layout;
  REQUIRE(sheet->height && sheet->width, "a picture of %zux%zu pixels", sheet->height, sheet->width);
  picture_layout(sheet, &layout);
  struct canvas canvas;
  if (!canvas_open(&canvas, layout.width, layout.height, error)) return false;
  draw_sheet(&canvas, sheet, &layout);
  bool good = canvas_write(path, &canvas, error);
  canvas_close(&canvas);
  return good;
}
