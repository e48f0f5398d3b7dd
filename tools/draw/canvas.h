/* Pixels to draw on and their PNG file. What goes beyond the right or lower edge is left out. */
#ifndef L2SR_TOOLS_CANVAS_H
#define L2SR_TOOLS_CANVAS_H

#include "engine/base/error.h"
#include "tools/draw/colour.h"
#include "tools/draw/font.h"

#include <stddef.h>

enum {
  CANVAS_TEXT = 2 /* scale of the font; smooth_pixel knows it */,
  CANVAS_LINE = CANVAS_TEXT * (FONT_HEIGHT + 2)
};

extern const struct colour canvas_paper, canvas_ink, canvas_frame;

struct canvas {
  struct arena *arena;
  size_t width, height;
  struct colour *pixel;
};

bool canvas_open(struct canvas *canvas, size_t width, size_t height, struct error *error); /* of paper */
void canvas_close(struct canvas *canvas);
bool canvas_write(const char *path, const struct canvas *canvas, struct error *error);

void canvas_fill(struct canvas *canvas, size_t left, size_t top, size_t width, size_t height,
                 struct colour colour);
/* A line of `thick` pixels around a rectangle, outside of it. */
void canvas_outline(struct canvas *canvas, size_t left, size_t top, size_t width, size_t height, size_t thick,
                    struct colour colour);

size_t canvas_text_width(size_t length); /* of so many characters */
void canvas_text(struct canvas *canvas, size_t left, size_t top, const char *text, size_t length);
/* Centred in a width; what is too long is cut and ends with "..". */
void canvas_centred(struct canvas *canvas, size_t left, size_t top, size_t width, const char *text,
                    size_t length);
void canvas_right(struct canvas *canvas, size_t right, size_t top, const char *text);

#endif
