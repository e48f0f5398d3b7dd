/* Lines (or what else a geometry acquires), initial mask and budget of a scan (PROTOCOL 1.1, 1.4, 5). */
#ifndef L2SR_SYSTEMS_ACQUISITION_H
#define L2SR_SYSTEMS_ACQUISITION_H

#include "components/options.h"

struct acquisition {
  uint32_t size;         /* N */
  uint32_t lines;        /* that there are: N; of points N^2 */
  uint32_t acceleration; /* final */
  char horizon[32];      /* base, long or custom */
  uint32_t initial_start,
      initial_lines;     /* given at the reset; lines: from initial_start on, around the centre */
  uint32_t initial_side; /* of points, on both axes from initial_start on: the side of their square */
  uint32_t budget;       /* T: lines acquired after the reset */
  enum acquisition_geometry geometry; /* whose spokes, evenly spaced, and points are called lines here too */
};

/* The scene's N and geometry, from which nothing is given or acquired yet. */
struct acquisition acquisition_of(const struct options *options, uint32_t acceleration, const char *horizon);
/* Gives so many lines at the reset; of points a square number. */
void acquisition_give(struct acquisition *acquisition, uint32_t initial_lines);

/* Decisions of a scan: every line is one; all points are. */
uint32_t acquisition_steps(const struct acquisition *acquisition);
/* Lines that are acquired after so many decisions. */
uint32_t acquisition_after(const struct acquisition *acquisition, size_t steps);

/* Whether a scan starts with this line, as its geometry says. */
bool acquisition_is_initial(const struct acquisition *acquisition, size_t line);
/* The initial mask: a byte a line, 0 or 1. */
void acquisition_initial(const struct acquisition *acquisition, uint8_t *mask);
/* The same as floats, for so many images: [rows][lines]. */
void acquisition_initial_rows(const struct acquisition *acquisition, size_t rows, float *mask);

/* Base starts from 2, long from 8 times the acceleration; acquisition.initial_lines and .budget override. The
 * total is exact: N / acceleration lines, N^2 / acceleration points. Refuses budgets larger than the free
 * lines. */
bool acquisition_plan(struct acquisition *acquisition, const struct options *options, uint32_t acceleration,
                      const char *horizon, struct error *error);

/* All pairs of the scene's accelerations and horizons; *count of them in the arena. With given initial lines
 * the horizons are one, custom. Refuses a pair that stands twice. */
bool acquisition_list(struct acquisition **list, size_t *count, const struct options *options,
                      struct arena *arena, struct error *error);

/* The only pair of a scene for a policy, which is trained at one; refuses more. */
bool acquisition_only(struct acquisition *acquisition, const struct options *options, struct arena *arena,
                      struct error *error);

#endif
