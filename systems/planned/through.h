/* A policy that is trained through the reconstructor by straight-through draws of exact budget (PROTOCOL 3.5): a network
 * looks at the zero-filled image and gives a probability to every line, of which the step's are drawn. Steps share the
 * network. Masks and their way back stand here; systems/planned/plan_through.c shows it what is acquired. */
#ifndef L2SR_SYSTEMS_THROUGH_H
#define L2SR_SYSTEMS_THROUGH_H

#include "engine/files/store.h"
#include "engine/graph/optimise.h"
#include "systems/networks/policy.h"

enum { THROUGH_MOST = 8 };

/* The graph of masks, a part a step: from the network's output to the lines that are acquired after the step. */
struct net_through {
  tensor initial;                 /* input, [1][1][width]: 1 where a line is initial */
  tensor scan;                    /* input, [1][1][1]: an unsigned word, the number that keys the draws */
  tensor scores[THROUGH_MOST];    /* inputs, [1][1][width]: the network's output in a step */
  tensor mask[THROUGH_MOST + 1];  /* [1][1][width] after so many steps: 1 where a line is acquired; 0: `initial` */
  int end[THROUGH_MOST + 1];      /* step i is nodes [end[i], end[i + 1]) */
};
struct net_through_setup {
  int width;
  uint32_t steps, budget, seed;
  float slope;   /* of the sigmoid that backward takes for the step */
  bool softplus; /* probabilities are softplus of the scores over its largest value; else sigmoid(10 score) */
};
struct net_through_setup net_through_setup(const struct options *options, uint32_t budget);
struct net_through net_through(struct graph *graph, const struct net_through_setup *setup);
/* The lines of step i, from 0: as many in each, the rest in the last. */
uint32_t net_through_lines(uint32_t budget, uint32_t steps, uint32_t step);

struct through {
  struct device *device;
  struct kernels *kernels;
  struct acquisition acquisition; /* the only setting of the scene */
  struct net_through_setup setup;
  struct policy policy; /* the network: its input is written by the caller */
  struct graph *graph;  /* of masks; NULL: not open */
  struct net_through net;
  struct optimiser optimiser; /* of the network, to train */
};

extern const struct network_desc network_straight_through;

/* The parameters are those of a new training. Refuses fewer lines than steps. */
bool through_open(struct through *through, const struct masks_setup *setup, struct error *error);
/* The network of the checkpoint setup->options->sampler.mask, to scan with. Refuses one of another kind, other sides, or
 * trained for other scans. */
bool through_load(struct through *through, const struct masks_setup *setup, struct error *error);
void through_close(struct through *through); /* also where it is not open */
/* Bytes that training takes beside the reconstructor: in all, and for an image a pass. */
bool through_measure(const struct masks_setup *setup, struct network_need *need, struct error *error);

/* Enqueues the network on its input and the step's draws, keyed by `number`, `number` + 1 ... after the masks before it
 * are written to net.mask[step]. Returns the masks with the step's lines. */
cl_mem through_forward(struct through *through, uint32_t step, uint32_t number, size_t images);
/* Only the network, for a backward of that step's input. */
void through_look(struct through *through, size_t images);
/* From the gradient of net.mask after the step to the network's parameters, to which it adds. size: about that of the
 * gradient. The network's last forward was of this step. */
void through_backward(struct through *through, uint32_t step, size_t images, double size);

/* What checkpoints say of the network and its scans (network_straight_through.facts). */
struct network_facts through_facts(const struct through *through);

#endif
