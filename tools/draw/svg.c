#include "tools/draw/svg.h"

#include "engine/base/text.h"

#include <math.h>
#include <png.h>
#include <string.h>

enum { STYLES = 8 };
static const char *const colours[STYLES] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                            "#e69f00", "#000000", "#56b4e9", "#7a7a7a"};
static const char *const dashes[] = {"none", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2", "8 2 2 2 2 2"};

/* ---- text ---------------------------------------------------------------------------------------------- */

void svg_escape(FILE *file, const char *text) {
  static const char special[] = "&<>\"'\n\t";
  static const char *const instead[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "\n", "\t"};
  while (*text) {
    const char *found = strchr(special, *text);
    if (found)
      fputs(instead[found - special], file), text++;
    else
      text += text_show_character(file, text);
  }
}

size_t svg_length(const char *text) {
  size_t length = 0;
  for (size_t bytes; *text; text += bytes) {
    bytes = text_character(text);
    if (!bytes) bytes = 1;
    length += text_plain(text) ? 1 : 4 * bytes; /* shown as \xNN */
  }
  return length;
}

const char *svg_cut(struct arena *arena, const char *text, size_t room) {
  size_t bytes = 0, length = 0;
  if (svg_length(text) <= room) return text;
  for (; text[bytes] && length + 1 < room; length++) /* whole characters */
    do bytes++;
    while (((unsigned char)text[bytes] & 0xc0) == 0x80);
  return arena_text(arena, "%.*s\u2026", (int)bytes, text);
}

/* ---- shapes -------------------------------------------------------------------------------------------- */

void svg_open(FILE *file, double width, double height, const char *title) {
  fprintf(file, "<svg viewBox=\"0 0 %g %g\" style=\"max-width:%gpx\" role=\"img\">\n<title>", width, height,
          width);
  svg_escape(file, title);
  fprintf(file, "</title>\n");
}

void svg_close(FILE *file) {
  fprintf(file, "</svg>\n");
}

void svg_text(FILE *file, double x, double y, const char *class, const char *text) {
  fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
  svg_escape(file, text);
  fprintf(file, "</text>\n");
}

void svg_rect(FILE *file, double x, double y, double width, double height, const char *class) {
  fprintf(file, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"%s\"/>\n", x, y, width,
          height, class);
}

void svg_line(FILE *file, double x0, double y0, double x1, double y1, const char *class) {
  fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x0, y0, x1, y1,
          class);
}

const char *svg_colour(size_t style) {
  return colours[style % STYLES];
}

void svg_path(FILE *file, const double *x, const double *y, size_t points, size_t style) {
  bool broken = true;
  fprintf(file, "<path class=\"curve\" stroke=\"%s\" stroke-dasharray=\"%s\" d=\"", colours[style % STYLES],
          dashes[(style + style / STYLES) % STYLES]);
  for (size_t i = 0; i < points; i++) {
    if (isfinite(x[i]) && isfinite(y[i])) fprintf(file, "%c%.2f %.2f", broken ? 'M' : 'L', x[i], y[i]);
    broken = !isfinite(x[i]) || !isfinite(y[i]);
  }
  fprintf(file, "\"/>\n");
}

/* Circle, square, triangles, diamond, cross, plus, bar: after the styles' order. */
void svg_marker(FILE *file, double x, double y, size_t style) {
  static const char *const shapes[STYLES] = {"a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                                             "m.5 -3h6v6h-6z",
                                             "m3.5 -4l4 7h-8z",
                                             "m3.5 -4.5l4 4.5l-4 4.5l-4 -4.5z",
                                             "m3.5 4l4 -7h-8z",
                                             "m.5 -3l6 6m0 -6l-6 6",
                                             "m0 0h7m-3.5 -3.5v7",
                                             "m0 -1.5h7v3h-7z"};
  size_t shape = (style + 3 * (style / STYLES)) % STYLES;
  bool open = shape == 5 || shape == 6;
  fprintf(file, "<path d=\"M%.2f %.2f%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"/>\n", x - 3.5, y,
          shapes[shape], open ? "none" : svg_colour(style), svg_colour(style), open ? "1.6" : ".5");
}

/* ---- images -------------------------------------------------------------------------------------------- */

static void write_base64(FILE *file, const unsigned char *data, size_t bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes; i += 3) {
    size_t left = bytes - i;
    unsigned word =
        (unsigned)data[i] << 16 | (left > 1 ? data[i + 1] : 0u) << 8 | (left > 2 ? data[i + 2] : 0u);
    fputc(digits[word >> 18], file);
    fputc(digits[word >> 12 & 63], file);
    fputc(left > 1 ? digits[word >> 6 & 63] : '=', file);
    fputc(left > 2 ? digits[word & 63] : '=', file);
  }
}

bool svg_image(FILE *file, double x, double y, double side, const struct colour *pixel, size_t width,
               size_t height, bool sharp, struct error *error) {
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)width,
                     .height = (png_uint_32)height,
                     .format = PNG_FORMAT_RGB};
  struct arena *arena = arena_open();
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  unsigned char *data = arena_new(arena, bytes);
  bool good = png_image_write_to_memory(&image, data, &bytes, 0, pixel, 0, NULL);
  if (good) {
    fprintf(file,
            "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" preserveAspectRatio=\"none\"%s "
            "href=\"data:image/png;base64,",
            x, y, side, side, sharp ? " class=\"sharp\"" : "");
    write_base64(file, data, bytes);
    fprintf(file, "\"/>\n");
  } else {
    fail(error, "cannot make a picture of %zux%zu pixels: %s", width, height, image.message);
  }
  arena_close(arena);
  return good;
}
