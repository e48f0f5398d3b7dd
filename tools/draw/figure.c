#include "tools/draw/figure.h"

#include "engine/base/text.h"
#include "engine/files/part.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
  PRINTED = 468,     /* points: the width of text on a page of paper */
  SIDE_MOST = 32767, /* pixels of a side that cairo takes */
  SHARP_BELOW = 96,  /* columns of an image that browsers would blur */
  SHARP = 2 * SHARP_BELOW
};
static const double print_scale = 0.65; /* letters of 11 units are of 7 points */
static const char family[] = "DejaVu Sans";

const char *const figure_kinds[FIGURE_KINDS] = {"pdf", "svg", "png"};
const struct colour figure_ink = {26, 26, 26}, figure_line = {119, 119, 119}, figure_grid = {227, 227, 227};

/* ---- surfaces ------------------------------------------------------------------------------------------ */

/* A stream keeps its error until the file is committed, which says more of it than cairo. */
static cairo_status_t write_bytes(void *file, const unsigned char *data, unsigned bytes) {
  fwrite(data, 1, bytes, file);
  return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *open_surface(FILE *file, enum figure_kind kind, double width, double height) {
  cairo_surface_t *surface;
  if (kind == FIGURE_PNG)
    return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width), (int)ceil(height));
  if (kind == FIGURE_SVG) {
    surface = cairo_svg_surface_create_for_stream(write_bytes, file, width, height);
    cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
    return surface;
  }
  surface = cairo_pdf_surface_create_for_stream(write_bytes, file, width, height);
  cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, NULL); /* it differs every time */
  return surface;
}

/* Widths of texts are to be the same on every surface: no rounding to its pixels. */
static void set_font_options(cairo_t *cairo) {
  cairo_font_options_t *options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_set_font_options(cairo, options);
  cairo_font_options_destroy(options);
}

static struct figure draw_on(cairo_surface_t *surface, double scale, bool paper, figure_draw *draw,
                             const void *what) {
  struct figure figure = {cairo_create(surface), arena_open(), 0, 0};
  set_font_options(figure.cairo);
  cairo_scale(figure.cairo, scale, scale);
  cairo_set_source_rgb(figure.cairo, 1, 1, 1);
  if (paper) cairo_paint(figure.cairo);
  draw(&figure, what);
  cairo_surface_flush(surface);
  arena_close(figure.arena);
  figure.arena = NULL;
  return figure;
}

struct figure_size figure_measure(figure_draw *draw, const void *what) {
  double left, top, width, height;
  cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
  struct figure figure = draw_on(surface, 1, false, draw, what);
  cairo_destroy(figure.cairo);
  cairo_recording_surface_ink_extents(surface, &left, &top, &width, &height);
  cairo_surface_destroy(surface);
  return (struct figure_size){figure.width, figure.height, left, top, left + width, top + height};
}

/* ---- files --------------------------------------------------------------------------------------------- */

static double scale_of(enum figure_kind kind, unsigned pixels, const struct figure_size *size) {
  if (kind == FIGURE_SVG) return 1;
  if (kind == FIGURE_PDF) return fmin(print_scale, PRINTED / size->width);
  while (pixels > 1 && pixels * fmax(size->width, size->height) > SIDE_MOST) pixels--;
  return pixels;
}

bool figure_write(FILE *file, enum figure_kind kind, unsigned pixels, figure_draw *draw, const void *what,
                  struct error *error) {
  struct figure_size size = figure_measure(draw, what);
  double scale = scale_of(kind, pixels, &size), width = scale * size.width, height = scale * size.height;
  if (kind == FIGURE_PNG && fmax(width, height) > SIDE_MOST)
    return fail(error, "a picture of %.0fx%.0f pixels has more than %d a side; ask for a smaller one", width,
                height, SIDE_MOST);
  cairo_surface_t *surface = open_surface(file, kind, width, height);
  struct figure figure = draw_on(surface, scale, kind == FIGURE_PNG, draw, what);
  cairo_status_t status = cairo_status(figure.cairo);
  cairo_destroy(figure.cairo);
  if (!status && kind == FIGURE_PNG) status = cairo_surface_write_to_png_stream(surface, write_bytes, file);
  cairo_surface_finish(surface);
  if (!status) status = cairo_surface_status(surface);
  cairo_surface_destroy(surface);
  return !status ? true
                 : fail(error, "cannot draw a picture of %.0fx%.0f: %s; ask for a smaller one", width, height,
                        cairo_status_to_string(status));
}

bool figure_save(const char *path, enum figure_kind kind, unsigned pixels, figure_draw *draw,
                 const void *what, struct error *error) {
  struct text_file file;
  if (!file_create(&file, path, error)) return false;
  if (figure_write(file.file, kind, pixels, draw, what, error)) return file_commit(&file, error);
  file_abandon(&file);
  return fail_in(error, "%s", path);
}

/* ---- texts --------------------------------------------------------------------------------------------- */

void figure_font(struct figure *figure, double size, bool bold) {
  cairo_select_font_face(figure->cairo, family, CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(figure->cairo, size);
}

static double width_of(struct figure *figure, const char *shown) {
  cairo_text_extents_t extents;
  cairo_text_extents(figure->cairo, shown, &extents);
  return extents.x_advance;
}

double figure_text_width(struct figure *figure, const char *text) {
  return width_of(figure, text_shown(figure->arena, text));
}

/* The first so many bytes, or fewer: whole characters. */
static const char *head_of(struct arena *arena, const char *shown, size_t bytes) {
  while (bytes && ((unsigned char)shown[bytes] & 0xc0) == 0x80) bytes--;
  return arena_text(arena, "%.*s\u2026", (int)bytes, shown);
}

const char *figure_cut(struct figure *figure, const char *text, double room) {
  const char *shown = text_shown(figure->arena, text);
  size_t fits = 0, wide = strlen(shown); /* bytes */
  if (width_of(figure, shown) <= room) return shown;
  while (wide - fits > 1) {
    size_t middle = fits + (wide - fits) / 2;
    if (width_of(figure, head_of(figure->arena, shown, middle)) <= room)
      fits = middle;
    else
      wide = middle;
  }
  return head_of(figure->arena, shown, fits);
}

void figure_text(struct figure *figure, double x, double y, enum figure_anchor anchor, const char *text) {
  const char *shown = text_shown(figure->arena, text);
  figure_colour(figure, figure_ink);
  cairo_move_to(figure->cairo, x - 0.5 * (double)anchor * width_of(figure, shown), y);
  cairo_show_text(figure->cairo, shown);
}

void figure_text_up(struct figure *figure, double x, double middle, const char *text) {
  cairo_save(figure->cairo);
  cairo_translate(figure->cairo, x, middle);
  cairo_rotate(figure->cairo, -acos(0));
  figure_text(figure, 0, 0, FIGURE_MIDDLE, text);
  cairo_restore(figure->cairo);
}

/* ---- shapes -------------------------------------------------------------------------------------------- */

void figure_colour(struct figure *figure, struct colour colour) {
  cairo_set_source_rgb(figure->cairo, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
}

void figure_segment(struct figure *figure, double x0, double y0, double x1, double y1, double thick,
                    struct colour colour) {
  figure_colour(figure, colour);
  cairo_set_line_width(figure->cairo, thick);
  cairo_move_to(figure->cairo, x0, y0);
  cairo_line_to(figure->cairo, x1, y1);
  cairo_stroke(figure->cairo);
}

void figure_fill(struct figure *figure, double x, double y, double width, double height,
                 struct colour colour) {
  figure_colour(figure, colour);
  cairo_rectangle(figure->cairo, x, y, width, height);
  cairo_fill(figure->cairo);
}

void figure_outline(struct figure *figure, double x, double y, double width, double height, double thick,
                    struct colour colour) {
  figure_colour(figure, colour);
  cairo_set_line_width(figure->cairo, thick);
  cairo_rectangle(figure->cairo, x - thick / 2, y - thick / 2, width + thick, height + thick);
  cairo_stroke(figure->cairo);
}

/* ---- images -------------------------------------------------------------------------------------------- */

/* Every pixel `times` as wide and high. */
static void put_pixels(cairo_surface_t *surface, const struct colour *pixel, size_t columns, size_t rows,
                       size_t times) {
  unsigned char *data = cairo_image_surface_get_data(surface);
  size_t stride = (size_t)cairo_image_surface_get_stride(surface);
  for (size_t y = 0; y < rows * times; y++)
    for (size_t x = 0; x < columns * times; x++) {
      struct colour colour = pixel[y / times * columns + x / times];
      uint32_t word = (uint32_t)colour.red << 16 | (uint32_t)colour.green << 8 | colour.blue;
      memcpy(data + y * stride + x * sizeof word, &word, sizeof word);
    }
}

/* SVG has no word for sharp pixels that cairo 1.16 writes: few of them are enlarged here. */
void figure_image(struct figure *figure, double x, double y, double width, double height,
                  const struct colour *pixel, size_t columns, size_t rows) {
  size_t times = columns < SHARP_BELOW ? (SHARP + columns - 1) / columns : 1;
  int wide = (int)(columns * times), high = (int)(rows * times);
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, wide, high);
  if (!cairo_surface_status(surface)) put_pixels(surface, pixel, columns, rows, times);
  cairo_surface_mark_dirty(surface);
  cairo_save(figure->cairo);
  cairo_translate(figure->cairo, x, y);
  cairo_scale(figure->cairo, width / wide, height / high);
  cairo_set_source_surface(figure->cairo, surface, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(figure->cairo), CAIRO_FILTER_NEAREST);
  cairo_paint(figure->cairo);
  cairo_restore(figure->cairo);
  cairo_surface_destroy(surface);
}
