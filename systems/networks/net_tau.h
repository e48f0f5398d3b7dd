/* tau-step sequential sampling (PROTOCOL 3.3): the budget in tau steps, in each of which a network looks at
 * the frequencies of the last reconstruction and at those that are acquired, and gives probabilities of
 * lines (or points), of which exactly the step's are drawn.
 *
 * The reconstructions are the caller's: the graph is run in parts, and what part i ends in is the input of
 * pass i of the reconstructor. One graph holds all steps, so its plan is that of the whole; the steps share
 * the sampler's parameters, whose gradients add up. */
#ifndef L2SR_SYSTEMS_NET_TAU_H
#define L2SR_SYSTEMS_NET_TAU_H

#include "components/scan_shape.h"
#include "systems/networks/net_view.h"

enum { TAU_MOST = 8, TAU_LAYERS = 5 };

struct net_tau;

struct net_tau_setup {
  struct scan_shape shape;
  int hidden;          /* values of each hidden layer */
  bool points;         /* masks are of points, [1][height][width], and the sampler is a U-Net */
  int channels, pools; /* of that: channels after its first block */
  bool apart;          /* of that: another path computes it */
  uint32_t steps, budget, seed;
  float slope;   /* of the sigmoid that backward takes for the step */
  enum net_view_kind view; /* what the reconstructor takes; complex: it gives images in their own units */
  int coils;               /* VIEW_COILS: of a slice, at most */
  bool adaptive; /* false: the sampler's input is the same numbers always (the published control) */
  bool smooth;   /* acquired lines count as that sigmoid: what backward differentiates, to check it */
  /* The reconstruction of pass i from its input; NULL: an input of the graph, from another path. */
  tensor (*reconstruct)(struct graph *graph, const struct net_tau *net, uint32_t pass);
};

/* As the scene has it, of one coil. */
struct net_tau_setup net_tau_setup(const struct options *options, uint32_t budget);
enum net_view_kind net_tau_view(const struct options *options);

struct net_tau {
  tensor image; /* input, [2][height][width]: real, imaginary; VIEW_COMPLEX: its frequencies; VIEW_COILS: those of every
                   coil */
  tensor taken; /* input, [1][1][width] (points: [1][height][width]): 1 where a line is initial */
  tensor scan;                     /* input, [1][1][1]: an unsigned word, the number that keys the draws */
  tensor noise;                    /* input, [5][height][width], not adaptive: the sampler's input */
  tensor reconstruction[TAU_MOST]; /* [1][height][width] of the passes before the last, as it gives them;
                                      adaptive */
  tensor planes[TAU_MOST];         /* [5][height][width], apart: what the U-Net of a step takes */
  tensor scores[TAU_MOST];         /* [1][height][width], apart: what it gives, an input */
  int cut[TAU_MOST];               /* apart: of step i, nodes before it serve its planes */
  tensor observed[TAU_MOST + 1];   /* what the reconstructor takes; not adaptive: the last alone */
  tensor kept[TAU_MOST + 1];       /* VIEW_COILS, and the mask by which it keeps to that, 0 where columns are padded */
  tensor inside;                   /* VIEW_COILS: input, as a mask, 0 where columns are padded */
  tensor units; /* VIEW_COILS: input, [2][1][1], in which a reconstruction is one in the units of the image */
  tensor mask[TAU_MOST + 1];       /* [1][1][width] after so many steps: 1 where a line is acquired */
  int end[TAU_MOST + 1];           /* of part i: nodes [end[i - 1], end[i]) */
};

/* Appends to an empty graph. The parameters are layers.0.weight to layers.8.bias, the sampler's: 5 values
 * a pixel, four hidden layers with ReLU, a value an action; of points those of a U-Net from 5 channels to
 * one, as systems/networks/net_unet.h names them, after "unet."; apart: none. */
struct net_tau net_tau(struct graph *graph, const struct net_tau_setup *setup);

/* The lines of step i, from 0: whole numbers that add up to the budget, the first ones larger, as 4, 3, 4, 3
 * of 14. */
uint32_t net_tau_lines(uint32_t budget, uint32_t steps, uint32_t step);

#endif
