/* Figures: one drawing on cairo gives PDF, SVG and PNG. Lengths are counted from the upper left corner; what
 * a unit is becomes of the kind of file. Texts may hold any bytes, and are drawn as text_show shows them. The
 * same calls give the same bytes. */
#ifndef L2SR_TOOLS_FIGURE_H
#define L2SR_TOOLS_FIGURE_H

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "tools/draw/colour.h"

#include <cairo.h>
#include <stdio.h>

enum figure_kind { FIGURE_PDF, FIGURE_SVG, FIGURE_PNG, FIGURE_KINDS };
extern const char *const figure_kinds[FIGURE_KINDS]; /* their words; endings of files too */

struct figure {
  cairo_t *cairo;
  struct arena *arena;  /* holds texts while the figure is drawn */
  double width, height; /* the drawing sets them */
};

/* Draws `what`, and sets the size. It is called twice, for sizes follow from the widths of texts: the first
 * time nothing is kept. */
typedef void figure_draw(struct figure *figure, const void *what);

struct figure_size {
  double width, height;
  double left, top, right, bottom; /* the box of the ink */
};
struct figure_size figure_measure(figure_draw *draw, const void *what);

/* `pixels`: of a PNG, a unit; fewer where it would be too large. A unit of SVG is a pixel of a page; PDF has
 * the width of a printed page at most. What the file does not take is told by file_commit. */
bool figure_write(FILE *file, enum figure_kind kind, unsigned pixels, figure_draw *draw, const void *what,
                  struct error *error);
bool figure_save(const char *path, enum figure_kind kind, unsigned pixels, figure_draw *draw,
                 const void *what, struct error *error);

/* ---- for drawings -------------------------------------------------------------------------------------- */

extern const struct colour figure_ink, figure_line, figure_grid;

enum figure_anchor { FIGURE_START, FIGURE_MIDDLE, FIGURE_END }; /* which point is at x; y: the base line */

void figure_font(struct figure *figure, double size, bool bold);
double figure_text_width(struct figure *figure, const char *text);
/* The text, or where it is wider than the room its start and an ellipsis. */
const char *figure_cut(struct figure *figure, const char *text, double room);
void figure_text(struct figure *figure, double x, double y, enum figure_anchor anchor, const char *text);
void figure_text_up(struct figure *figure, double x, double middle,
                    const char *text); /* read from the right */

void figure_colour(struct figure *figure, struct colour colour);
void figure_segment(struct figure *figure, double x0, double y0, double x1, double y1, double thick,
                    struct colour colour);
void figure_fill(struct figure *figure, double x, double y, double width, double height,
                 struct colour colour);
/* Around the rectangle, outside of it. */
void figure_outline(struct figure *figure, double x, double y, double width, double height, double thick,
                    struct colour colour);
/* Pixels as rectangles that fill the given one. */
void figure_image(struct figure *figure, double x, double y, double width, double height,
                  const struct colour *pixel, size_t columns, size_t rows);

#endif
