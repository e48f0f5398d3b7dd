/* Contact sheets: the truth on the left, then a column for every method with its reconstruction, an enlarged
 * detail, the error map and the mask. Texts and masks of columns are vectors where the file has vectors. */
#ifndef L2SR_TOOLS_PICTURE_H
#define L2SR_TOOLS_PICTURE_H

#include "tools/draw/figure.h"

enum { PICTURE_LINES = 2 /* lines of a title */ };

struct picture_column {
  const char *title;
  const float *image;           /* HxW, same units as the truth; pixels that are no number become magenta */
  const unsigned char *mask;    /* W entries, or HxW where masks are of cells, 1 acquired; NULL: none */
  const unsigned char *initial; /* such a mask, 1 where given at the start; NULL: none */
  const char **captions;        /* [sheet's lines], each on a line of its own; NULL: none */
  const float *noise;           /* HxW, a noise map that is drawn in place of the error map; NULL: none */
};

struct picture_sheet {
  const char *title[PICTURE_LINES]; /* NULL: none */
  const float *truth;
  size_t height, width;
  float white;       /* grey value 1: truth and images are shown from 0 to white */
  float error_white; /* where the scale of the error maps ends */
  const struct picture_column *columns;
  size_t column_count, lines; /* lines: below a column */
  bool cells;                 /* masks are of HxW cells, drawn as a panel; false: of W columns, as a strip */
  float noise_white;          /* where the scale of noise maps ends, which all columns have; 0: none has one */
};

/* Where things are, in pixels of a PNG that has one for a unit. Column 0 is the truth. */
struct picture_layout {
  size_t width, height;
  size_t scale;                     /* pixels of the picture for one of the image */
  size_t panel_width, panel_height; /* size of truth, reconstruction, detail and error map */
  size_t detail_left, detail_top;   /* place of the enlarged region, in pixels of the image */
  size_t detail_width, detail_height;
  size_t text, line, gap, margin;                      /* size of letters, and what goes with it */
  size_t left, step;                                   /* column 0's left end; the distance of columns */
  size_t heading, image, detail, error, mask, caption; /* tops of the rows; mask: equals caption if none */
  size_t mask_height;
};

void picture_layout(const struct picture_sheet *sheet, struct picture_layout *layout);
void picture_draw(struct figure *figure, const void *sheet);

#endif
