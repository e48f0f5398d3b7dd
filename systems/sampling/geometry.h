/* Sampling geometries: a row says what one action of a scan acquires. A scan chooses among its actions, one
 * after the other, and its mask is a byte an action, whatever the geometry: samplers, policies and rollouts
 * know no other. There are as many points as pixels, and a scan acquires all of its budget of them at once
 * (systems/scan/points.h). How many actions a geometry has is said by components/scan_shape.h. */
#ifndef L2SR_SYSTEMS_GEOMETRY_H
#define L2SR_SYSTEMS_GEOMETRY_H

#include "systems/sampling/acquisition.h"

struct geometry {
  const char *name;      /* the choice of acquisition.geometry */
  const char *one, *doc; /* an action in a word (the plural: with an s), and what it acquires in a sentence */
  bool points;           /* an action is a single cell */
  /* Actions that a scan starts from when it starts from `ratio` times acceleration; at least 1. */
  uint32_t (*initial_count)(const struct scan_shape *shape, uint32_t ratio);
  bool (*is_initial)(const struct acquisition *acquisition, size_t action);
  /* The order in which samplers take what they have chosen; lower first, a different number for each
   * action. */
  uint32_t (*rank)(const struct scan_shape *shape, size_t action);
  /* The action's cells of k-space, row * width + column, the centre at the half of both sides: geometry_cells
   * entries, NO_CELL after the last. */
  void (*cells)(const struct scan_shape *shape, size_t action, uint32_t *cell);
  const char *macro; /* how many actions there are, as kernels are told (kernels/common.h); NULL: WIDTH */
  bool columns; /* actions are whole columns of k-space, one each */
  bool square;  /* angles mean something on equal sides only */
};

/* In the order of enum acquisition_geometry; ended by a NULL name. */
extern const struct geometry geometry_list[];
const struct geometry *geometry_of(const struct acquisition *acquisition);
const struct geometry *geometry_chosen(const struct options *options); /* acquisition.geometry's */

struct scan_shape geometry_shape(const struct geometry *geometry, size_t height, size_t width);
/* The one check of what wants a square. */
bool geometry_takes(const struct geometry *geometry, const struct scan_shape *shape, struct error *error);
size_t geometry_cells(const struct scan_shape *shape); /* entries for the cells of an action */

/* Writes the union of the chosen actions' cells into `mask` (height x width bytes, 0 or 1) and returns how
 * many they are. */
size_t geometry_mask(const struct geometry *geometry, const struct scan_shape *shape, const uint8_t *chosen,
                     uint8_t *mask);

/* The acceleration by cells: all cells over those of `actions` evenly spaced spokes, or of any lines or
 * points. The acceleration by actions is the number of all over `actions`. */
double geometry_acceleration(const struct geometry *geometry, const struct scan_shape *shape,
                             uint32_t actions);

#endif
