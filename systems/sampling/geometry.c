#include "systems/sampling/geometry.h"

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* ---- lines --------------------------------------------------------------------------------------------- */

/* The published masks are even (PROTOCOL 1.4). */
static uint32_t count_lines(uint32_t n, uint32_t ratio) {
  uint32_t even = n / (2 * ratio) * 2;
  return even ? even : 1;
}

static bool is_initial_line(const struct acquisition *acquisition, size_t line) {
  return line - acquisition->initial_start < acquisition->initial_lines;
}

/* Ranks lines by their distance from the centre, the lower line first: alternates between the sides. */
static uint32_t rank_line(uint32_t n, size_t line) {
  uint32_t centre = n / 2;
  return line < centre ? 2 * (centre - (uint32_t)line) - 1 : 2 * ((uint32_t)line - centre);
}

static void find_line(uint32_t n, size_t line, uint32_t *cell) {
  for (uint32_t row = 0; row < n; row++) cell[row] = row * n + (uint32_t)line;
}

/* ---- spokes (PROTOCOL 5) ------------------------------------------------------------------------------- */

static uint32_t count_spokes(uint32_t n, uint32_t ratio) {
  return n / ratio ? n / ratio : 1;
}

/* Evenly spaced: spoke floor(i N / count) for every i. */
static bool is_initial_spoke(const struct acquisition *acquisition, size_t spoke) {
  size_t n = acquisition->size, count = acquisition->initial_lines, i = (spoke * count + n - 1) / n;
  return i < count && i * n / count == spoke;
}

/* Bisection of the angles: the bits of the spoke's number in reverse, so that 0, 90, 45, 135 ... degrees come
 * first. */
static uint32_t rank_spoke(uint32_t n, size_t spoke) {
  uint32_t rank = 0;
  for (uint32_t bit = 1, low = (uint32_t)spoke; bit < n; bit *= 2, low /= 2) rank = 2 * rank + low % 2;
  return rank;
}

/* Angle pi spoke / N through the centre: a cell for every step along the axis that the spoke is nearer to,
 * the nearest to it on the other axis. */
static void find_spoke(uint32_t n, size_t spoke, uint32_t *cell) {
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

/* The side of the square is the even number nearest to N over the root of the ratio: the published 22, 16 and
 * 12 of 128 at 8 times 4, 8 and 16. */
static uint32_t count_points(uint32_t n, uint32_t ratio) {
  uint32_t side = 2 * (uint32_t)lround(n / (2 * sqrt(ratio)));
  return side ? side * side : 4;
}

static bool is_initial_point(const struct acquisition *acquisition, size_t point) {
  size_t n = acquisition->size, start = acquisition->initial_start, side = acquisition->initial_side;
  return point / n - start < side && point % n - start < side;
}

static uint32_t rank_point(uint32_t n, size_t point) {
  (void)n;
  return (uint32_t)point;
}

static void find_point(uint32_t n, size_t point, uint32_t *cell) {
  (void)n;
  *cell = (uint32_t)point;
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
     .cells = find_spoke},
    {.name = "points",
     .one = "point",
     .doc = "single points of k-space, the centred square of them at the start (2-D)",
     .points = true,
     .initial_count = count_points,
     .is_initial = is_initial_point,
     .rank = rank_point,
     .cells = find_point},
    {.name = NULL},
};

enum { SIDE_MOST = 512 }; /* data.size */

size_t geometry_actions(const struct geometry *geometry, size_t n) {
  return geometry->points ? n * n : n;
}

const struct geometry *geometry_of(const struct acquisition *acquisition) {
  return &geometry_list[acquisition->geometry];
}

const struct geometry *geometry_chosen(const struct options *options) {
  return &geometry_list[options->acquisition.geometry];
}

size_t geometry_mask(const struct geometry *geometry, uint32_t n, const uint8_t *chosen, uint8_t *mask) {
  uint32_t cell[SIDE_MOST], each = geometry->points ? 1 : n;
  size_t count = 0;
  REQUIRE(n <= SIDE_MOST, "masks of %ux%u", n, n);
  memset(mask, 0, (size_t)n * n);
  for (size_t action = 0; action < geometry_actions(geometry, n); action++) {
    if (!chosen[action]) continue;
    geometry->cells(n, action, cell);
    for (uint32_t i = 0; i < each && cell[i] != NO_CELL; i++) {
      count += !mask[cell[i]];
      mask[cell[i]] = 1;
    }
  }
  return count;
}

double geometry_acceleration(const struct geometry *geometry, uint32_t n, uint32_t actions) {
  uint8_t chosen[SIDE_MOST] = {0};
  if (geometry->points) return (double)n * n / actions;
  REQUIRE(actions <= n && n <= SIDE_MOST, "%u of %u actions", actions, n);
  struct arena *arena = arena_open();
  for (uint32_t i = 0; i < actions; i++) chosen[(size_t)i * n / actions] = 1;
  size_t cells = geometry_mask(geometry, n, chosen, ARENA_NEW(arena, uint8_t, (size_t)n * n));
  arena_close(arena);
  return (double)n * n / (double)cells;
}
