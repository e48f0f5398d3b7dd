/* Parts of SVG pictures that stand inside an HTML page: shapes, texts, and images as PNG in a data: address.
 * Lines differ by colour, dashes and markers, so that they are told apart in grey print and by colour-blind
 * eyes. */
#ifndef L2SR_TOOLS_SVG_H
#define L2SR_TOOLS_SVG_H

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "tools/draw/colour.h"

#include <stdio.h>

/* Text for HTML and SVG: markup is escaped; what no page may hold (control characters, broken UTF-8) becomes
 * U+FFFD. */
void svg_escape(FILE *file, const char *text);
/* Characters of UTF-8. */
size_t svg_length(const char *text);
/* The text, or, where it has more characters than there is room for, its start and an ellipsis. */
const char *svg_cut(struct arena *arena, const char *text, size_t room);

/* A picture that is as wide as the page at most; `title` is what a screen reader says. */
void svg_open(FILE *file, double width, double height, const char *title);
void svg_close(FILE *file);

/* `class` names a rule of the page's style sheet. */
void svg_text(FILE *file, double x, double y, const char *class, const char *text);
void svg_rect(FILE *file, double x, double y, double width, double height, const char *class);
void svg_line(FILE *file, double x0, double y0, double x1, double y1, const char *class);
/* Rows of pixels, drawn into a rectangle; `sharp`: every pixel a rectangle. */
bool svg_image(FILE *file, double x, double y, double side, const struct colour *pixel, size_t width,
               size_t height, bool sharp, struct error *error);

/* Style number i, of the colours of Okabe and Ito (grey for yellow, which is too light): the ninth has the
 * first colour with other dashes and markers. */
const char *svg_colour(size_t style);
/* Points joined; where one is no number the line is broken. */
void svg_path(FILE *file, const double *x, const double *y, size_t points, size_t style);
void svg_marker(FILE *file, double x, double y, size_t style);

#endif
