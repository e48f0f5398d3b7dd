#include "tools/picture.h"

#include "engine/store.h"
#include "tools/font.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <string.h>

enum {
  PANEL_LEAST = 192, /* width of a panel: what a journal prints two fingers wide */
  ZOOM = 3,          /* of the detail */
  MARGIN = 16,
  GAP = 8,
  TEXT = 2, /* scale of the font; smooth_pixel knows it */
  LINE = TEXT * (FONT_HEIGHT + 2),
  CAPTION_LINES = 2,
  MASK_HEIGHT = 3 * LINE, /* as high as the legend beside it */
  BAR = 14                /* width of the colour scale */
};

struct colour {
  unsigned char red, green, blue;
};

static const struct colour paper = {255, 255, 255}, ink = {32, 32, 32}, frame = {128, 128, 128};
static const struct colour acquired = {255, 255, 255}, left_out = {0, 0, 0}, given = {255, 140, 0};
static const struct colour marker = {255, 210, 0}, no_number = {255, 0, 255};

struct canvas {
  size_t width, height;
  struct colour *pixel;
};

/* ---- layout ------------------------------------------------------------------------------------------- */

static bool has_masks(const struct picture_sheet *sheet) {
  for (size_t i = 0; i < sheet->column_count; i++)
    if (sheet->columns[i].mask) return true;
  return false;
}

static bool has_captions(const struct picture_sheet *sheet) {
  for (size_t i = 0; i < sheet->column_count; i++)
    if (sheet->columns[i].caption) return true;
  return false;
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
  layout->heading = MARGIN + (sheet->title ? LINE + GAP : 0);
  layout->image = layout->heading + LINE;
  layout->detail = layout->image + layout->panel_height + GAP;
  layout->error = layout->detail + layout->panel_height + GAP;
  layout->mask = layout->error + layout->panel_height + GAP;
  layout->mask_height = has_masks(sheet) ? MASK_HEIGHT : 0;
  layout->caption = layout->mask + (layout->mask_height ? layout->mask_height + GAP : 0);
  layout->height = layout->caption + (has_captions(sheet) ? CAPTION_LINES * LINE : 0) + MARGIN - GAP;
  layout->width = 2 * MARGIN + layout->step * sheet->column_count + layout->panel_width;
}

static size_t column_left(const struct picture_layout *layout, size_t column) {
  return layout->left + column * layout->step;
}

/* ---- drawing ------------------------------------------------------------------------------------------ */

static void fill(struct canvas *canvas, size_t left, size_t top, size_t width, size_t height,
                 struct colour colour) {
  for (size_t y = top; y < top + height && y < canvas->height; y++)
    for (size_t x = left; x < left + width && x < canvas->width; x++)
      canvas->pixel[y * canvas->width + x] = colour;
}

/* A line of `thick` pixels around a rectangle, outside of it. */
static void outline(struct canvas *canvas, size_t left, size_t top, size_t width, size_t height, size_t thick,
                    struct colour colour) {
  size_t wide = width + 2 * thick, x = left - thick, y = top - thick;
  fill(canvas, x, y, wide, thick, colour);
  fill(canvas, x, top + height, wide, thick, colour);
  fill(canvas, x, top, thick, height, colour);
  fill(canvas, left + width, top, thick, height, colour);
}

static size_t text_width(size_t length) {
  return length ? TEXT * (length * FONT_ADVANCE - (FONT_ADVANCE - FONT_WIDTH)) : 0;
}

/* A pixel of the font drawn twice as large. The corner of an empty pixel where two set ones meet is set too,
 * which smooths diagonal strokes (half of the rule known as Scale2x: the other half would make D an O). */
static bool smooth_pixel(char character, int x, int y) {
  int across = x % 2 ? 1 : -1, down = y % 2 ? 1 : -1;
  x /= 2, y /= 2;
  bool side = font_pixel(character, x + across, y), above = font_pixel(character, x, y + down);
  bool other_side = font_pixel(character, x - across, y), below = font_pixel(character, x, y - down);
  return font_pixel(character, x, y) || (side && above && !below && !other_side);
}

static void put_text(struct canvas *canvas, size_t left, size_t top, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    for (int y = 0; y < TEXT * FONT_HEIGHT; y++)
      for (int x = 0; x < TEXT * FONT_WIDTH; x++)
        if (smooth_pixel(text[i], x, y))
          fill(canvas, left + TEXT * i * FONT_ADVANCE + (size_t)x, top + (size_t)y, 1, 1, ink);
}

/* Centred in a width; what is too long is cut and ends with "..". */
static void put_centred(struct canvas *canvas, size_t left, size_t top, size_t width, const char *text,
                        size_t length) {
  char cut[256];
  size_t room = (width + TEXT) / (TEXT * FONT_ADVANCE);
  if (room >= sizeof cut) room = sizeof cut - 1;
  if (length > room) {
    memcpy(cut, text, room);
    memcpy(cut + room - 2, "..", 2);
    text = cut;
    length = room;
  }
  put_text(canvas, left + (width - text_width(length)) / 2, top, text, length);
}

static void put_right(struct canvas *canvas, size_t right, size_t top, const char *text) {
  put_text(canvas, right - text_width(strlen(text)), top, text, strlen(text));
}

/* Two lines when one is too narrow, broken at the last two spaces that leave the first one fitting. */
static void put_caption(struct canvas *canvas, size_t left, size_t top, size_t width, const char *text) {
  size_t length = strlen(text), first = length;
  const char *gap = text_width(length) > width ? strstr(text, "  ") : NULL;
  for (; gap && text_width((size_t)(gap - text)) <= width; gap = strstr(gap + 2, "  "))
    first = (size_t)(gap - text);
  put_centred(canvas, left, top, width, text, first);
  if (first == length) return;
  const char *rest = text + first + strspn(text + first, " ");
  put_centred(canvas, left, top + LINE, width, rest, strlen(rest));
}

static struct colour grey_colour(float share) {
  if (isnan(share)) return no_number;
  unsigned char value = (unsigned char)(255 * fminf(fmaxf(share, 0), 1) + 0.5f);
  return (struct colour){value, value, value};
}

static unsigned char between(unsigned char a, unsigned char b, float share) {
  return (unsigned char)(a + share * ((float)b - (float)a) + 0.5f);
}

/* Black over purple and orange to light yellow: brightness grows evenly, so it reads in grey and for
 * colour-blind eyes. */
static struct colour heat_colour(float share) {
  static const struct colour stops[] = {{0, 0, 4},      {31, 12, 72},   {85, 15, 109},
                                        {136, 34, 106}, {186, 54, 85},  {227, 89, 51},
                                        {249, 140, 10}, {249, 201, 50}, {252, 255, 164}};
  enum { LAST = sizeof stops / sizeof *stops - 1 };
  if (isnan(share)) return no_number;
  float place = fminf(fmaxf(share, 0), 1) * LAST;
  size_t below = place >= LAST ? LAST - 1 : (size_t)place;
  const struct colour *a = &stops[below], *b = a + 1;
  place -= (float)below;
  return (struct colour){between(a->red, b->red, place), between(a->green, b->green, place),
                         between(a->blue, b->blue, place)};
}

/* ---- the parts of a sheet ------------------------------------------------------------------------------ */

static void draw_image(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout, size_t column, const float *image) {
  size_t left = column_left(layout, column), scale = layout->scale;
  for (size_t y = 0; y < sheet->height; y++)
    for (size_t x = 0; x < sheet->width; x++)
      fill(canvas, left + scale * x, layout->image + scale * y, scale, scale,
           grey_colour(image[y * sheet->width + x] / sheet->white));
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
          grey_colour(image[row * sheet->width + place] / sheet->white);
    }
}

static void draw_error(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout, size_t column, const float *image) {
  size_t left = column_left(layout, column), scale = layout->scale;
  for (size_t y = 0; y < sheet->height; y++)
    for (size_t x = 0; x < sheet->width; x++) {
      size_t i = y * sheet->width + x;
      fill(canvas, left + scale * x, layout->error + scale * y, scale, scale,
           heat_colour(fabsf(image[i] - sheet->truth[i]) / sheet->error_white));
    }
}

static void draw_mask(struct canvas *canvas, const struct picture_sheet *sheet,
                      const struct picture_layout *layout, size_t column) {
  const struct picture_column *content = &sheet->columns[column - 1];
  size_t left = column_left(layout, column), scale = layout->scale;
  if (!content->mask) return;
  for (size_t x = 0; x < sheet->width; x++) {
    bool is_given = content->initial && content->initial[x];
    fill(canvas, left + scale * x, layout->mask, scale, layout->mask_height,
         is_given           ? given
         : content->mask[x] ? acquired
                            : left_out);
  }
  outline(canvas, left, layout->mask, layout->panel_width, layout->mask_height, 1, frame);
}

/* The scale of the error maps, beside the first of them. */
static void draw_scale(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout) {
  size_t right = layout->left + layout->panel_width, left = right - BAR, height = layout->panel_height;
  for (size_t y = 0; y < height; y++)
    fill(canvas, left, layout->error + y, BAR, 1, heat_colour(1 - (float)y / (float)(height - 1)));
  outline(canvas, left, layout->error, BAR, height, 1, frame);
  for (size_t tick = 0; tick < 3; tick++) {
    char number[32];
    size_t y = layout->error + tick * (height - 1) / 2, top = tick * (height - TEXT * (FONT_HEIGHT - 1)) / 2;
    snprintf(number, sizeof number, "%.3g", (double)sheet->error_white * (1 - 0.5 * (double)tick));
    fill(canvas, left - 5, y, 4, 1, frame);
    put_right(canvas, left - GAP, layout->error + top, number);
  }
  if (height >= 8 * LINE) put_right(canvas, left - GAP, layout->error + height / 4, "absolute error");
}

static void draw_legend(struct canvas *canvas, const struct picture_layout *layout) {
  static const char *const names[] = {"acquired", "initial", "not acquired"};
  const struct colour colours[] = {acquired, given, left_out};
  enum { BOX = TEXT * (FONT_HEIGHT - 2) };
  for (size_t i = 0; layout->mask_height && i < 3; i++) {
    size_t top = layout->mask + i * LINE + 3, right = layout->left + layout->panel_width;
    fill(canvas, right - BOX, top, BOX, BOX, colours[i]);
    outline(canvas, right - BOX, top, BOX, BOX, 1, frame);
    put_right(canvas, right - BOX - GAP, top - 1, names[i]);
  }
}

static void draw_truth(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout) {
  size_t scale = layout->scale;
  put_centred(canvas, layout->left, layout->heading, layout->panel_width, "truth", strlen("truth"));
  draw_image(canvas, sheet, layout, 0, sheet->truth);
  draw_detail(canvas, sheet, layout, 0, sheet->truth);
  outline(canvas, layout->left + scale * layout->detail_left, layout->image + scale * layout->detail_top,
          scale * layout->detail_width, scale * layout->detail_height, 1, marker);
  draw_scale(canvas, sheet, layout);
  draw_legend(canvas, layout);
}

static void draw_column(struct canvas *canvas, const struct picture_sheet *sheet,
                        const struct picture_layout *layout, size_t column) {
  const struct picture_column *content = &sheet->columns[column - 1];
  size_t left = column_left(layout, column);
  put_centred(canvas, left, layout->heading, layout->panel_width, content->title, strlen(content->title));
  draw_image(canvas, sheet, layout, column, content->image);
  draw_detail(canvas, sheet, layout, column, content->image);
  draw_error(canvas, sheet, layout, column, content->image);
  draw_mask(canvas, sheet, layout, column);
  if (content->caption) put_caption(canvas, left, layout->caption, layout->panel_width, content->caption);
}

static void draw_sheet(struct canvas *canvas, const struct picture_sheet *sheet,
                       const struct picture_layout *layout) {
  size_t width = layout->width - 2 * MARGIN;
  fill(canvas, 0, 0, canvas->width, canvas->height, paper);
  if (sheet->title) put_centred(canvas, layout->left, MARGIN, width, sheet->title, strlen(sheet->title));
  draw_truth(canvas, sheet, layout);
  for (size_t i = 1; i <= sheet->column_count; i++) draw_column(canvas, sheet, layout, i);
}

/* ---- the file ----------------------------------------------------------------------------------------- */

static bool write_png(const char *path, const struct canvas *canvas, struct error *error) {
  struct text_file file;
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)canvas->width,
                     .height = (png_uint_32)canvas->height,
                     .format = PNG_FORMAT_RGB};
  if (!file_create(&file, path, error)) return false;
  if (png_image_write_to_stdio(&image, file.file, 0, canvas->pixel, 0, NULL))
    return file_commit(&file, error);
  file_abandon(&file);
  return fail(error, "cannot write picture %s: %s", path, image.message);
}

bool picture_write(const char *path, const struct picture_sheet *sheet, struct error *error) {
  struct picture_layout layout;
  REQUIRE(sheet->height && sheet->width, "a picture of %zux%zu pixels", sheet->height, sheet->width);
  picture_layout(sheet, &layout);
  struct arena *arena = arena_open();
  struct canvas canvas = {layout.width, layout.height, NULL};
  canvas.pixel = arena_try(arena, canvas.width * canvas.height * sizeof *canvas.pixel);
  bool good = canvas.pixel
                  ? true
                  : fail(error, "a picture of %zux%zu pixels does not fit in memory; show fewer columns",
                         canvas.width, canvas.height);
  if (good) {
    draw_sheet(&canvas, sheet, &layout);
    good = write_png(path, &canvas, error);
  }
  arena_close(arena);
  return good;
}
