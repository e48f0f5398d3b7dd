/* The shape of a scan follows from the options here and nowhere else: the sides of its image and of its
 * k-space, and how many actions there are. */
#ifndef L2SR_SCAN_SHAPE_H
#define L2SR_SCAN_SHAPE_H

#include "components/options.h"

struct scan_shape {
  uint32_t height, width; /* rows and columns of the image, and of k-space */
  uint32_t actions;       /* columns, pairs of them, spokes or points that a scan chooses among */
  uint32_t padded_left, padded_right; /* first and last ones that are no choice: columns at the edges of k-space */
};

/* acquisition.geometry, or GEOMETRY_PAIRS. */
enum acquisition_geometry scan_geometry(const struct options *options);
struct scan_shape scan_shape_of(const struct options *options);
struct scan_shape scan_shape_make(size_t height, size_t width, enum acquisition_geometry geometry);

size_t scan_shape_pixels(const struct scan_shape *shape);
/* The actions but for padded columns: what accelerations and budgets are parts of. */
uint32_t scan_shape_choices(const struct scan_shape *shape);
bool scan_shape_is_padded(const struct scan_shape *shape, size_t action);
bool scan_shape_same_sides(const struct scan_shape *one, const struct scan_shape *other);
size_t scan_shape_shorter(const struct scan_shape *shape);

enum { SCAN_SHAPE_TEXT = 32 };
/* The sides as data.size says them: 128, or [640, 368]. */
const char *scan_shape_text(const struct scan_shape *shape, char text[SCAN_SHAPE_TEXT]);
/* The other way, its sides alone; false, and no sides, where the text says none. */
bool scan_shape_read(const char *text, struct scan_shape *shape);

#endif
