#include "components/scan_shape.h"

#include <stdio.h>
#include <string.h>

enum acquisition_geometry scan_geometry(const struct options *options) {
  bool pairs = options->acquisition.pairs && options->acquisition.geometry == GEOMETRY_LINES;
  return pairs ? GEOMETRY_PAIRS : (enum acquisition_geometry)options->acquisition.geometry;
}

/* Pairs of which both lines are padded are the last ones. */
static void pad_pairs(struct scan_shape *shape, uint32_t left, uint32_t right) {
  uint32_t half = shape->width / 2, low = half + 1 - left, high = shape->width - half - right;
  shape->padded_right = shape->actions - (low > high ? low : high);
}

struct scan_shape scan_shape_of(const struct options *options) {
  uint32_t left = options->acquisition.padded_left, right = options->acquisition.padded_right;
  struct scan_shape shape =
      scan_shape_make(options->data.size.height, options->data.size.width, scan_geometry(options));
  if (scan_geometry(options) == GEOMETRY_PAIRS && left <= shape.width / 2 && right <= shape.width / 2) {
    pad_pairs(&shape, left, right);
    return shape;
  }
  shape.padded_left = left;
  shape.padded_right = right;
  return shape;
}

struct scan_shape scan_shape_make(size_t height, size_t width, enum acquisition_geometry geometry) {
  size_t actions = geometry == GEOMETRY_POINTS  ? height * width
                   : geometry == GEOMETRY_PAIRS ? width / 2 + 1
                                                : width;
  return (struct scan_shape){
      .height = (uint32_t)height, .width = (uint32_t)width, .actions = (uint32_t)actions};
}

size_t scan_shape_pixels(const struct scan_shape *shape) {
  return (size_t)shape->height * shape->width;
}

uint32_t scan_shape_choices(const struct scan_shape *shape) {
  return shape->actions - shape->padded_left - shape->padded_right;
}

bool scan_shape_is_padded(const struct scan_shape *shape, size_t action) {
  return action < shape->padded_left || action >= shape->actions - shape->padded_right;
}

bool scan_shape_same_sides(const struct scan_shape *one, const struct scan_shape *other) {
  return one->height == other->height && one->width == other->width;
}

size_t scan_shape_shorter(const struct scan_shape *shape) {
  return shape->height < shape->width ? shape->height : shape->width;
}

const char *scan_shape_text(const struct scan_shape *shape, char text[SCAN_SHAPE_TEXT]) {
  if (shape->height == shape->width)
    snprintf(text, SCAN_SHAPE_TEXT, "%u", shape->width);
  else
    snprintf(text, SCAN_SHAPE_TEXT, "[%u, %u]", shape->height, shape->width);
  return text;
}

bool scan_shape_read(const char *text, struct scan_shape *shape) {
  char again[SCAN_SHAPE_TEXT], scene[SCAN_SHAPE_TEXT]; /* a scene leaves out the space */
  *shape = (struct scan_shape){0};
  int sides = sscanf(text, *text == '[' ? "[%u, %u]" : "%u", &shape->height, &shape->width);
  if (*text != '[') shape->width = shape->height;
  snprintf(scene, sizeof scene, "[%u,%u]", shape->height, shape->width);
  bool same = !strcmp(scan_shape_text(shape, again), text) ||
              (shape->height != shape->width && !strcmp(scene, text));
  bool good = sides > 0 && shape->height && shape->width && same;
  if (!good) *shape = (struct scan_shape){0};
  return good;
}
