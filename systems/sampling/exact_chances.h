/* Actions drawn by learned probabilities, so that their number is exactly the budget (PROTOCOL 3.4): the
 * chances that kernel line_exact goes by. */
#ifndef L2SR_SYSTEMS_EXACT_CHANCES_H
#define L2SR_SYSTEMS_EXACT_CHANCES_H

#include "engine/base/arena.h"
#include "systems/sampling/acquisition.h"

/* Room for the chances of an acquisition: [action][actions that are left to draw, 0 to the budget]. */
uint32_t *chances_table(struct arena *arena, const struct acquisition *acquisition);

/* The chance, in units of 2^-32, that an action is one of those that are left when those before it are
 * decided: p R(c - 1, after) / R(c, from it on), with R(c, ...) the probability that c of the actions are
 * drawn independently. UINT32_MAX: certain. */
void chances_fill(const double *probability, const struct acquisition *acquisition, uint32_t *table);

/* Reads dataset `probability` of the file sampler.mask: an entry an action, 0 for initial ones. Refuses one
 * that was not learned for this acquisition. */
bool chances_learned(const struct options *options, const struct acquisition *acquisition,
                           double *probability, struct error *error);

#endif
