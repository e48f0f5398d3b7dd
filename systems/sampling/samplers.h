/* Samplers: one row each. A heuristic is one of four kernels and a table over the actions (weights or ranks)
 * that its function fills for an acquisition; oracles look at the true image, tau_step at reconstructions.
 * Points are drawn all at once, by probabilities that come from the same tables (systems/scan/points.h). */
#ifndef L2SR_SYSTEMS_SAMPLERS_H
#define L2SR_SYSTEMS_SAMPLERS_H

#include "engine/base/arena.h"
#include "systems/sampling/acquisition.h"

enum sampler_kind {
  SAMPLER_DRAW,  /* line_draw by weights */
  SAMPLER_NEXT,  /* line_next by ranks */
  SAMPLER_DISC,  /* line_disc */
  SAMPLER_EXACT, /* line_exact by learned chances: systems/sampling/exact_chances.h */
  SAMPLER_SEQUENCE,       /* systems/networks/tau.h: actions in an order of the scan's own */
  SAMPLER_ORACLE,         /* systems/scan/oracle.h: a scan's best action */
  SAMPLER_AVERAGE_ORACLE, /* the best action of all scans */
  SAMPLER_PLANNED,        /* systems/scan/planned.h: likewise, by what the initial actions show */
  SAMPLER_POLICY /* policy_act: no list has it, a scene names its network */
};

struct sampler {
  const char *name, *doc;
  enum sampler_kind kind;
  bool random; /* whether world.seed changes it */
  uint8_t geometries; /* the geometries that it knows: bits by enum acquisition_geometry */
  /* Fills `table` (an entry an action): weights of at least 1, or ranks (NO_LINE: never). */
  bool (*fill)(const struct options *options, const struct acquisition *acquisition, uint32_t *table,
               struct error *error);
  const char *also; /* what it, or what it is taken for, is called elsewhere, joined by '|'; NULL: nothing else */
};

extern const struct sampler sampler_list[]; /* ended by a NULL name */

/* The sampler of simulation_set where a policy decides; sampler_find knows it by its name. */
extern const struct sampler sampler_policy;

/* Refuses an unknown name with those that are also called so, or the nearest one. */
const struct sampler *sampler_find(const char *name, struct error *error);

bool sampler_is_oracle(const struct sampler *sampler);
bool sampler_takes_mask(const char *name); /* whether it looks into sampler.mask */
bool sampler_is_heuristic(const struct sampler *sampler); /* it needs neither network nor truth */

/* Calls the row's fill; a refusal (of the geometry, of sampler.mask) names the sampler. */
bool sampler_fill(const struct sampler *sampler, const struct options *options,
                  const struct acquisition *acquisition, uint32_t *table, struct error *error);

/* Finds the probabilities by which the points of a scan are drawn; their sum is exactly the budget.
 * Weights become probabilities of at most 1, ranked points get 1, learned probabilities stay; initial
 * points get 0. */
bool sampler_chances(const struct sampler *sampler, const struct options *options,
                     const struct acquisition *acquisition, const uint32_t *table, double *chance,
                     struct error *error);

/* Distance that line_disc starts from: 0.7476 (Renyi's parking constant: how densely one-dimensional darts
 * pack) of the free lines over the budget. */
uint32_t sampler_distance(const struct acquisition *acquisition);

#endif
