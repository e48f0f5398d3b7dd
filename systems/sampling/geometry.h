/* Sampling geometries: a row says what one action of a scan acquires. A scan chooses among N actions, one
 * after the other, and its mask is a byte an action, whatever the geometry: samplers, policies and rollouts
 * know no other. There are N^2 points, and a scan acquires all of its budget of them at once
 * (systems/scan/points.h). */
#ifndef L2SR_SYSTEMS_GEOMETRY_H
#define L2SR_SYSTEMS_GEOMETRY_H

#include "systems/sampling/acquisition.h"

struct geometry {
  const char *name;      /* the choice of acquisition.geometry */
  const char *one, *doc; /* an action in a word (the plural: with an s), and what it acquires in a sentence */
  bool points;           /* an action is a single cell */
  /* Actions that a scan starts from when it starts from `ratio` times acceleration; at least 1. */
  uint32_t (*initial_count)(uint32_t n, uint32_t ratio);
  bool (*is_initial)(const struct acquisition *acquisition, size_t action);
  /* The order in which samplers take what they have chosen; lower first, a different number for each
   * action. */
  uint32_t (*rank)(uint32_t n, size_t action);
  /* The action's cells of k-space, row * n + column, the centre at n / 2 on both axes: n entries (one for a
   * point), NO_CELL after the last. */
  void (*cells)(uint32_t n, size_t action, uint32_t *cell);
  bool columns; /* actions are whole columns of k-space */
};

/* In the order of enum acquisition_geometry; ended by a NULL name. */
extern const struct geometry geometry_list[];
const struct geometry *geometry_of(const struct acquisition *acquisition);
const struct geometry *geometry_chosen(const struct options *options); /* acquisition.geometry's */

size_t geometry_actions(const struct geometry *geometry, size_t n); /* how many a scan chooses among */

/* Writes the union of the chosen actions' cells into `mask` (n x n bytes, 0 or 1) and returns how many they
 * are. */
size_t geometry_mask(const struct geometry *geometry, uint32_t n, const uint8_t *chosen, uint8_t *mask);

/* The acceleration by cells: N^2 over the cells of `actions` evenly spaced spokes, or of any lines. The
 * acceleration by actions is N / actions. */
double geometry_acceleration(const struct geometry *geometry, uint32_t n, uint32_t actions);

#endif
