/* Actions, initial mask and budget of a scan (PROTOCOL 1.1, 1.4, 5). An action is a line, a spoke or a
 * point. */
#ifndef L2SR_SYSTEMS_ACQUISITION_H
#define L2SR_SYSTEMS_ACQUISITION_H

#include "components/scan_shape.h"

struct acquisition {
  struct scan_shape shape;
  uint32_t acceleration; /* final */
  char horizon[32];      /* base, long or custom */
  uint32_t initial_start,
      initial_lines; /* actions given at the reset; lines lie around the centre, from initial_start on */
  uint32_t initial_top,
      initial_side;      /* the square of given points: from row initial_top and column initial_start on */
  uint32_t budget;       /* T: actions after the reset */
  enum acquisition_geometry geometry;
};

/* The scene's shape and geometry; nothing is given or acquired yet. */
struct acquisition acquisition_of(const struct options *options, uint32_t acceleration, const char *horizon);
/* Gives so many actions at the reset; the number of points is a square. */
void acquisition_give(struct acquisition *acquisition, uint32_t initial_lines);

/* Decisions of a scan: one for every action, and one for all points. */
uint32_t acquisition_steps(const struct acquisition *acquisition);
/* Actions acquired after so many decisions. */
uint32_t acquisition_after(const struct acquisition *acquisition, size_t steps);

/* Whether a scan starts with this action, as its geometry says; it does with padded columns, which
 * initial_lines does not count. */
bool acquisition_is_initial(const struct acquisition *acquisition, size_t action);
/* The initial mask: a byte an action, 0 or 1. */
void acquisition_initial(const struct acquisition *acquisition, uint8_t *mask);
/* The initial mask as floats, for so many images: [rows][actions]. */
void acquisition_initial_rows(const struct acquisition *acquisition, size_t rows, float *mask);

/* Base starts from 2, long from 8 times the acceleration; acquisition.initial_lines and .budget override. The
 * total is exact: a part 1 / acceleration of the actions. Refuses budgets larger than the number of free
 * actions, and sides that the geometry does not take. */
bool acquisition_plan(struct acquisition *acquisition, const struct options *options, uint32_t acceleration,
                      const char *horizon, struct error *error);

/* All pairs of the scene's accelerations and horizons; *count of them in the arena. Where initial_lines is
 * set there is one horizon, custom. Refuses a pair that stands twice. */
bool acquisition_list(struct acquisition **list, size_t *count, const struct options *options,
                      struct arena *arena, struct error *error);

/* The only pair of a scene for a policy, which is trained at one; refuses more. */
bool acquisition_only(struct acquisition *acquisition, const struct options *options, struct arena *arena,
                      struct error *error);

#endif
