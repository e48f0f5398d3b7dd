/* The greedy oracle (PROTOCOL 4) reconstructs the image that every free action of every scan would give, scores
 * it against the true one, and takes the best action, the first of those that tie. The average oracle takes the
 * action that is best on average over all scans.
 *
 * Candidates are the environments of a small world of its own, which shares the slices and the table CANDIDATE:
 * the systems that reconstruct and score scans do the same for candidates, network.batch of them at a time, from
 * one scan or several. */
#ifndef L2SR_SYSTEMS_ORACLE_H
#define L2SR_SYSTEMS_ORACLE_H

#include "systems/scan/simulation.h"

/* For a simulation whose world is open. */
bool oracle_open(struct oracle **oracle, struct simulation *simulation, struct error *error);
void oracle_close(struct oracle *oracle); /* NULL allowed */

/* Adds the columns that system decide_oracle reads and writes beside its row's; ORACLE_COLUMNS: those of any
 * oracle. */
void oracle_adapt(const struct simulation *simulation, struct system *system);
#define ORACLE_COLUMNS                                                                                       \
  (SET(ENV_base) | SET(CANDIDATE_action) | SET(CANDIDATE_quality) | SET(SCENE_mean_quality))

/* Images that the oracle scores in a scan of this acquisition, from the first action to the last. */
size_t oracle_candidates(const struct options *options, const struct acquisition *acquisition);

#endif
