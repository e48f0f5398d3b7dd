/* Sampling geometries: what one action of a scan acquires, a row each. A scan has N actions, one after the
 * other, and its mask is a byte an action, whatever the geometry: samplers, policies and roll-outs know no
 * other. Of points there are N^2, and a scan acquires all of its budget at once (systems/scan/points.h). */
#ifndef L2SR_SYSTEMS_GEOMETRY_H
#define L2SR_SYSTEMS_GEOMETRY_H

#include "systems/sampling/acquisition.h"

struct geometry {
  const char *name;      /* as in acquisition.geometry */
  const char *one, *doc; /* what an action acquires, in a word (the plural: with an s) and in a sentence */
  bool points;           /* an action is a single cell */
  /* Actions that a scan starts from when it starts from `ratio` times acceleration; at least 1. */
  uint32_t (*initial_count)(uint32_t n, uint32_t ratio);
  bool (*is_initial)(const struct acquisition *acquisition, size_t action);
  /* In which order samplers take what they have chosen; lower first, a different number for each. */
  uint32_t (*rank)(uint32_t n, size_t action);
  /* Its cells of k-space, row * n + column, the centre at n / 2 on both axes: n entries (of points one),
   * NO_CELL after the last. */
  void (*cells)(uint32_t n, size_t action, uint32_t *cell);
  bool columns; /* actions are whole columns of k-space */
};

/* By enum acquisition_geometry; ended by a NULL name. */
extern const struct geometry geometry_list[];
const struct geometry *geometry_of(const struct acquisition *acquisition);
const struct geometry *geometry_chosen(const struct options *options); /* acquisition.geometry's */

size_t geometry_actions(const struct geometry *geometry, size_t n); /* of a scan */

/* The union of the chosen actions' cells into `mask` (n x n bytes, 0 or 1); returns how many. */
size_t geometry_mask(const struct geometry *geometry, uint32_t n, const uint8_t *chosen, uint8_t *mask);

/* N^2 over the cells of `actions` evenly spaced actions (of lines: of any), the acceleration by cells; that
 * by actions is N / actions. */
double geometry_acceleration(const struct geometry *geometry, uint32_t n, uint32_t actions);

#endif
