#include "systems/sampling/geometry.h"

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* ---- lines --------------------------------------------------------------------------------------------- */

/* The published masks are even (PROTOCOL 1.4). */
static uint32_t count_lines(const struct scan_shape *shape, uint32_t ratio) {
  uint32_t even = scan_shape_choices(shape) / (2 * ratio) * 2;
  return even ? even : 1;
}

static bool is_initial_line(const struct acquisition *acquisition, size_t line) {
  return line - acquisition->initial_start < acquisition->initial_lines;
}

/* Ranks lines by their distance from the centre, the lower line first: alternates between the sides. */
static uint32_t rank_line(const struct scan_shape *shape, size_t line) {
  uint32_t centre = shape->width / 2;
  return line < centre ? 2 * (centre - (uint32_t)line) - 1 : 2 * ((uint32_t)line - centre);
}

static void find_line(const struct scan_shape *shape, size_t line, uint32_t *cell) {
  for (uint32_t row = 0; row < shape->height; row++) cell[row] = row * shape->width + (uint32_t)line;
}

/* ---- spokes (PROTOCOL 5) ------------------------------------------------------------------------------- */

static uint32_t count_spokes(const struct scan_shape *shape, uint32_t ratio) {
  return shape->actions / ratio ? shape->actions / ratio : 1;
}

/* Evenly spaced: spoke floor(i N / count) for every i. */
static bool is_initial_spoke(const struct acquisition *acquisition, size_t spoke) {
  size_t n = acquisition->shape.actions, count = acquisition->initial_lines, i = (spoke * count + n - 1) / n;
  return i < count && i * n / count == spoke;
}

/* Bisection of the angles: the bits of the spoke's number in reverse, so that 0, 90, 45, 135 ... degrees come
 * first. */
static uint32_t rank_spoke(const struct scan_shape *shape, size_t spoke) {
  uint32_t rank = 0;
  for (uint32_t bit = 1, low = (uint32_t)spoke; bit < shape->actions; bit *= 2, low /= 2)
    rank = 2 * rank + low % 2;
  return rank;
}

/* Angle pi spoke / N through the centre of N x N cells: a cell for every step along the axis that the spoke
 * is nearer to, the nearest to it on the other axis. */
static void find_spoke(const struct scan_shape *shape, size_t spoke, uint32_t *cell) {
  uint32_t n = shape->width; /* geometry_takes: and the height */
  double angle = M_PI * (double)spoke / n, c = cos(angle), s = sin(angle);
  bool flat = fabs(c) >= fabs(s);
  int half = (int)n / 2, size = (int)n;
  uint32_t found = 0;
  for (int r = -half; r < size - half; r++) {
    int along = half + r, across = half + (int)floor(r * (flat ? s / c : c / s) + 0.5);
    if (across < 0 || across >= size) continue;
    cell[found++] = (uint32_t)(flat ? across * size + along : along * size + across);
  }
  while (found < n) cell[found++] = NO_CELL;
}

/* ---- points (PROTOCOL 3.2) ----------------------------------------------------------------------------- */

/* The side of the square is the even number nearest to the root of all points over the ratio, and no longer
 * than k-space: the published 22, 16 and 12 of 128 at 8 times 4, 8 and 16. */
static uint32_t count_points(const struct scan_shape *shape, uint32_t ratio) {
  uint32_t most = (uint32_t)scan_shape_shorter(shape) / 2 * 2;
  uint32_t side = 2 * (uint32_t)lround(sqrt((double)scan_shape_pixels(shape)) / (2 * sqrt(ratio)));
  side = side < 2 ? 2 : side < most ? side : most;
  return side * side;
}

static bool is_initial_point(const struct acquisition *acquisition, size_t point) {
  size_t width = acquisition->shape.width, side = acquisition->initial_side;
  return point / width - acquisition->initial_top < side && point % width - acquisition->initial_start < side;
}

static uint32_t rank_point(const struct scan_shape *shape, size_t point) {
  (void)shape;
  return (uint32_t)point;
}

static void find_point(const struct scan_shape *shape, size_t point, uint32_t *cell) {
  (void)shape;
  *cell = (uint32_t)point;
}

/* ---- pairs of lines ------------------------------------------------------------------------------------ */

/* Pair d is the two lines at distance d from the centre, of frequencies d and -d. */
static uint32_t count_pairs(const struct scan_shape *shape, uint32_t ratio) {
  uint32_t count = scan_shape_choices(shape) / ratio;
  return count ? count : 1;
}

static bool is_initial_pair(const struct acquisition *acquisition, size_t pair) {
  return pair < acquisition->initial_lines;
}

static uint32_t rank_pair(const struct scan_shape *shape, size_t pair) {
  (void)shape;
  return (uint32_t)pair;
}

/* The centre is its own mirror, and so is the first line of an even number of them. */
static void find_pair(const struct scan_shape *shape, size_t pair, uint32_t *cell) {
  uint32_t centre = shape->width / 2, low = centre - (uint32_t)pair, high = centre + (uint32_t)pair;
  bool one = low == high || high >= shape->width;
  for (uint32_t row = 0; row < shape->height; row++) {
    cell[row] = row * shape->width + low;
    cell[shape->height + row] = one ? NO_CELL : row * shape->width + high;
  }
}

/* ---- the rows ------------------------------------------------------------------------------------------ */

const struct geometry geometry_list[] = {
    {.name = "lines",
     .one = "line",
     .doc = "phase-encode lines: whole columns of k-space (Cartesian)",
     .initial_count = count_lines,
     .is_initial = is_initial_line,
     .rank = rank_line,
     .cells = find_line,
     .columns = true},
    {.name = "spokes",
     .one = "spoke",
     .doc = "spokes through the centre at N angles, on the grid, without gaps (radial)",
     .initial_count = count_spokes,
     .is_initial = is_initial_spoke,
     .rank = rank_spoke,
     .cells = find_spoke,
     .square = true},
    {.name = "points",
     .one = "point",
     .doc = "single points of k-space, the centred square of them at the start (2-D)",
     .points = true,
     .macro = "ACTIONS=PIXELS",
     .initial_count = count_points,
     .is_initial = is_initial_point,
     .rank = rank_point,
     .cells = find_point},
    {.name = "lines in pairs",
     .one = "pair",
     .doc = "phase-encode lines, each with its mirror about the centre (acquisition.pairs)",
     .macro = "ACTIONS=(WIDTH/2+1)",
     .initial_count = count_pairs,
     .is_initial = is_initial_pair,
     .rank = rank_pair,
     .cells = find_pair},
    {.name = NULL},
};

const struct geometry *geometry_of(const struct acquisition *acquisition) {
  return &geometry_list[acquisition->geometry];
}

const struct geometry *geometry_chosen(const struct options *options) {
  return &geometry_list[scan_geometry(options)];
}

struct scan_shape geometry_shape(const struct geometry *geometry, size_t height, size_t width) {
  return scan_shape_make(height, width, (enum acquisition_geometry)(geometry - geometry_list));
}

bool geometry_takes(const struct geometry *geometry, const struct scan_shape *shape, struct error *error) {
  if (!geometry->square || shape->height == shape->width) return true;
  return fail_usage(
      error,
      "acquisition.geometry is %s, which are of a square, and data.size is [%u, %u]; set data.size to one "
      "number, or acquisition.geometry to lines or points",
      geometry->name, shape->height, shape->width);
}

size_t geometry_cells(const struct scan_shape *shape) {
  if (shape->actions == shape->width / 2 + 1) return 2 * (size_t)shape->height; /* pairs of lines */
  return scan_shape_pixels(shape) / shape->actions;
}

static size_t mark(const uint32_t *cell, size_t count, uint8_t *mask) {
  size_t fresh = 0;
  for (size_t i = 0; i < count && cell[i] != NO_CELL; i++) {
    fresh += !mask[cell[i]];
    mask[cell[i]] = 1;
  }
  return fresh;
}

size_t geometry_mask(const struct geometry *geometry, const struct scan_shape *shape, const uint8_t *chosen,
                     uint8_t *mask) {
  struct arena *arena = arena_open();
  size_t count = 0, each = geometry_cells(shape);
  uint32_t *cell = ARENA_NEW(arena, uint32_t, each);
  memset(mask, 0, scan_shape_pixels(shape));
  for (size_t action = 0; action < shape->actions; action++) {
    if (!chosen[action]) continue;
    geometry->cells(shape, action, cell);
    count += mark(cell, each, mask);
  }
  arena_close(arena);
  return count;
}

double geometry_acceleration(const struct geometry *geometry, const struct scan_shape *shape,
                             uint32_t actions) {
  double pixels = (double)scan_shape_pixels(shape);
  if (geometry->points) return pixels / actions;
  REQUIRE(actions <= shape->actions, "%u of %u actions", actions, shape->actions);
  struct arena *arena = arena_open();
  uint8_t *chosen = ARENA_NEW(arena, uint8_t, shape->actions);
  for (uint32_t i = 0; i < actions; i++) chosen[(size_t)i * shape->actions / actions] = 1;
  size_t cells = geometry_mask(geometry, shape, chosen, ARENA_NEW(arena, uint8_t, scan_shape_pixels(shape)));
  arena_close(arena);
  return pixels / (double)cells;
}
