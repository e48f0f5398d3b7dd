/* The greedy oracle (PROTOCOL 4) reconstructs the image that every free action of every scan would give, scores
 * it against the true one, and takes the best action, the first of those that tie. The average oracle takes the
 * action that is best on average over all scans.
 *
 * Candidates are the environments of a small world of its own, which shares the slices and the table CANDIDATE:
 * the systems that reconstruct and score scans do the same for candidates, network.batch of them at a time, from
 * one scan or several. What they run is a list over that world, which stands in the lists of those who ask. */
#ifndef L2SR_SYSTEMS_ORACLE_H
#define L2SR_SYSTEMS_ORACLE_H

#include "systems/scan/simulation.h"

/* The candidates' list, where the plan has an oracle. */
bool oracle_build(struct simulation *simulation, struct error *error);
/* Their world, beside the simulation's, which is open. */
bool oracle_open(struct simulation *simulation, struct error *error);
void oracle_close(struct simulation *simulation); /* also where it is not open */

/* Adds what lists, tries and compares the candidates of every scan. together: the action that is best on average. */
void oracle_add(struct simulation *simulation, struct schedule *schedule, bool together);
/* Candidates are updates of ENV.base; else they are scans with a mask of their own. */
bool oracle_rank_one(const struct simulation *simulation);
/* Within what scores tie: a part of the better one's size, and its least size. */
void oracle_tie(const struct simulation *simulation, float *tie, float *least);
/* Columns of the simulation's world that these may ask for. */
component_set oracle_columns(const struct simulation *simulation);

/* Images that the oracle scores in a scan of this acquisition, from the first action to the last. */
size_t oracle_candidates(const struct options *options, const struct acquisition *acquisition);

#endif
