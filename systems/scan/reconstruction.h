/* How images are made of observations: a row for every reconstructor. Scoring does not know which one made them. */
#ifndef L2SR_SYSTEMS_RECONSTRUCTION_H
#define L2SR_SYSTEMS_RECONSTRUCTION_H

#include "engine/ecs/system.h"
#include "systems/networks/networks.h"

enum { RECONSTRUCTION_SYSTEMS = 8 };

struct reconstruction {
  const char *name, *doc;
  const struct network_desc *network; /* NULL: it has none */
  /* In order, from what is observed to ENV.reconstruction; a loop is ended by system_end. */
  const struct system *systems[RECONSTRUCTION_SYSTEMS + 1];
  const struct system *encode; /* which of them makes the network's input; NULL: there is none */
  bool views;                  /* that one reads k-space itself (systems/scan/observation.h) */
};

extern const struct reconstruction reconstruction_list[]; /* ended by a NULL name */

/* By network.input where a network reconstructs, else the zero-filled image. */
const struct reconstruction *reconstruction_chosen(const struct options *options, bool network);

#endif
