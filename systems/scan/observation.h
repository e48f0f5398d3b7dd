/* How masks are observed, and from which data of a slice: a row for every kind of k-space and of geometry. */
#ifndef L2SR_SYSTEMS_OBSERVATION_H
#define L2SR_SYSTEMS_OBSERVATION_H

#include "components/components.h"
#include "components/options.h"
#include "engine/ecs/system.h"

struct simulation;

struct observation {
  component_set kspace; /* columns of SLICE that observe, a view and an oracle read: load fills them */
  component_set loaded; /* and what load needs to fill these */
  const struct system *observe; /* NULL: the reconstructor views k-space itself */
  /* Opens the scratch memory and kernels of observe; simulation_close closes them. */
  bool (*open)(struct simulation *simulation, struct error *error);
  bool rank_one; /* an action adds a matrix of rank one to the image: systems/scan/oracle.h */
  bool cells;    /* it looks actions up in SCENE.cells */
};

/* Chooses by the scene's geometry, data.kspace and network.input. */
const struct observation *observation_chosen(const struct options *options);
/* Whether its lines are looked up in hybrid data (kernels/hybrid.cl), which needs no planes of k-space. */
bool observation_lists(const struct options *options);

#endif
