/* LOUPE's mask (PROTOCOL 3.2): probabilities of lines or points that are learned, a draw of exactly the
 * budget from them; and, where another path does not observe with it, what the reconstructor sees through it.
 */
#ifndef L2SR_SYSTEMS_NET_LOUPE_H
#define L2SR_SYSTEMS_NET_LOUPE_H

#include "components/scan_shape.h"
#include "systems/networks/net_view.h"

struct net_loupe_setup {
  struct scan_shape shape;
  bool points; /* of points: masks are [1][height][width], and the graph goes on */
  uint32_t budget, seed;
  float slope; /* of the sigmoid that backward takes for the step */
  bool views;  /* the graph goes on to what the reconstructor sees */
  enum net_view_kind view;
  bool smooth; /* there acquired lines count as that sigmoid: what backward differentiates, to check it */
};

struct net_loupe_setup net_loupe_setup(const struct options *options, uint32_t budget);
/* Whether the mask's graph observes the scans of this scene. */
bool loupe_views(const struct options *options);
/* Whether the reconstructor takes masks beside k-space: the variational network, which gives both gradients. */
bool loupe_encodes(const struct options *options);

struct net_loupe {
  tensor taken; /* input, [1][1][width]: 1 where a line is initial */
  tensor scan;  /* input, [1][1][1]: an unsigned word, the number that keys the draw */
  tensor mask;  /* [1][1][width]: 1 where a line is acquired */
  int drawn;    /* nodes [0, drawn) draw it */
  /* Where the setup asks for them: */
  tensor frequencies; /* input, [2][height][width]: of the image, in its units */
  tensor observed;    /* what the reconstructor sees (systems/networks/net_view.h) */
};

/* Appends to an empty graph. The only parameter is probability.weight: probabilities are sigmoid(5 weight),
 * brought to the budget. */
struct net_loupe net_loupe(struct graph *graph, const struct net_loupe_setup *setup);

/* The probabilities that the weights stand for; 0 where `taken` is not 0. In place allowed. */
void net_loupe_chances(const float *weight, const uint8_t *taken, size_t lines, uint32_t budget,
                       double *chance);
/* The taken lines and the `budget` most probable others; of equal ones the first. */
void net_loupe_best(const double *chance, const uint8_t *taken, size_t lines, uint32_t budget, uint8_t *mask);

#endif
