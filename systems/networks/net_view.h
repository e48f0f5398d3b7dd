/* A view is the reconstructor's input from a scan, for networks that learn what is acquired
 * (systems/networks/net_loupe.h, systems/networks/net_tau.h): through this the gradient of its input reaches
 * a mask. */
#ifndef L2SR_SYSTEMS_NET_VIEW_H
#define L2SR_SYSTEMS_NET_VIEW_H

#include "engine/graph/graph.h"

enum net_view_kind {
  VIEW_MAGNITUDE, /* the zero-filled magnitude, standardised (PROTOCOL 1.5) */
  VIEW_COMPLEX,   /* the zero-filled image as it is: real, imaginary (PROTOCOL 3.2) */
  VIEW_COILS      /* the acquired frequencies of every coil themselves (PROTOCOL 3.3) */
};

struct net_view {
  tensor frequencies; /* [2][height][width]: those that are acquired, 0 elsewhere; VIEW_COILS: of every coil */
  tensor image;       /* that they leave: [1][height][width], its magnitude, or complex [2][height][width]; VIEW_COILS: none */
  tensor observed;    /* what the reconstructor takes: the image as it is or standardised, VIEW_COILS: the frequencies */
};

/* Appends the view of frequencies [2][height][width], VIEW_COILS: a copy of every coil, in any units, through a mask
 * [1][1][width], 1 where a line is acquired, or of points, [1][height][width]. */
struct net_view net_view(struct graph *graph, tensor frequencies, tensor mask, enum net_view_kind kind);

/* Puts the function that backward uses in place of a draw's step into forward too: to check the gradient. */
tensor net_view_smooth(struct graph *graph, tensor chance, tensor threshold, float slope);

#endif
