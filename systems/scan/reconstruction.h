/* How images are made of observations: a row for every reconstructor. Scoring does not know which one made them. */
#ifndef L2SR_SYSTEMS_RECONSTRUCTION_H
#define L2SR_SYSTEMS_RECONSTRUCTION_H

#include "engine/ecs/system.h"
#include "systems/networks/networks.h"

enum { RECONSTRUCTION_SYSTEMS = 8 };

struct simulation;

struct reconstruction {
  const char *name, *doc, *paper;
  const char *image; /* without a network: "the zero-filled image" */
  const struct network_desc *network; /* that must be trained; NULL: it has none */
  /* In order, from what is observed to ENV.reconstruction; a loop is ended by system_end. */
  const struct system *systems[RECONSTRUCTION_SYSTEMS + 1];
  const struct system *encode; /* which of them reads the data: the network's input; NULL: there is none */
  bool views;                  /* that one reads k-space itself (systems/scan/observation.h) */
  bool calls;                  /* the program's function makes the images (systems/scan/callback.h) */
  const struct system *solve;  /* which of them knows coils by SLICE.maps, as encode does; NULL: none */
  /* State of its own beside a network's, simulation.solver: opened once the world is, closed with the simulation. NULL:
   * it has none. */
  bool (*open)(struct simulation *simulation, struct error *error);
  void (*close)(struct simulation *simulation);
  /* Refuses images that are no finite numbers, of what has run since the last call; waits. NULL: it cannot tell. */
  bool (*check)(struct simulation *simulation, struct error *error);
};

extern const struct reconstruction reconstruction_list[]; /* ended by a NULL name */

/* By reconstruct.method; where that is auto by network.input where a network is given, else the zero-filled image. */
const struct reconstruction *reconstruction_chosen(const struct options *options, bool network);
/* Whether the scene's method has a network, which is trained where none is given. */
bool reconstruction_trains(const struct options *options);
/* Refuses methods without a network for what trains one, or is given the file of one: the key or method that wants it. */
bool reconstruction_check_network(const struct options *options, const char *wanted, struct error *error);

/* For simulations: refuses what the row does not take. coils: most of a slice where k-space is the files'; 0: none. */
bool reconstruction_check(const struct options *options, bool network, size_t coils, struct error *error);

#endif
