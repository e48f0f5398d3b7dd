/* Contact sheets as PNG: the truth on the left, then a column for every sampler with its reconstruction, an
 * enlarged detail, the error map and the mask. The same sheet gives the same bytes. */
#ifndef L2SR_TOOLS_PICTURE_H
#define L2SR_TOOLS_PICTURE_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct picture_column {
  const char *title;
  const float *image;           /* HxW, same units as the truth; pixels that are no number become magenta */
  const unsigned char *mask;    /* W entries, or HxW where masks are of cells, 1 acquired; NULL: none */
  const unsigned char *initial; /* the same, 1 given at the start; NULL: none */
  const char *caption;          /* "SSIM 0.8123  PSNR 28.1 dB": broken at two spaces if need be; NULL: none */
};

struct picture_sheet {
  const char *title; /* NULL: none */
  const float *truth;
  size_t height, width;
  float white;       /* grey value 1: truth and images are shown from 0 to white */
  float error_white; /* where the scale of the error maps ends */
  const struct picture_column *columns;
  size_t column_count;
  bool cells; /* masks are of HxW cells, drawn as a panel; false: of W columns, as a strip */
};

/* Where things are, in pixels of the picture. Column 0 is the truth. */
struct picture_layout {
  size_t width, height;
  size_t scale;                     /* pixels of the picture for one of the image */
  size_t panel_width, panel_height; /* of truth, reconstruction, detail and error map */
  size_t detail_left, detail_top;   /* of the enlarged region, in pixels of the image */
  size_t detail_width, detail_height;
  size_t left, step;                                   /* of column 0; from a column to the next */
  size_t heading, image, detail, error, mask, caption; /* tops of the rows; mask: equals caption if none */
  size_t mask_height;
};

void picture_layout(const struct picture_sheet *sheet, struct picture_layout *layout);

bool picture_write(const char *path, const struct picture_sheet *sheet, struct error *error);

#endif
