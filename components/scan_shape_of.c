#include "components/scan_shape.h"

/* Apart from what else there is of shapes, so that a test may put its own in its place
 * (tests/test_rectangle.c). */
struct scan_shape scan_shape_of(const struct options *options) {
  return scan_shape_make(options->data.size.height, options->data.size.width,
                         (enum acquisition_geometry)options->acquisition.geometry);
}
