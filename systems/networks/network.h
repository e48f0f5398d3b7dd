/* A network on a device, to infer or to train: on the fused path (engine/fused/block.h) where the device and the sizes
 * allow, else on the portable graph; with as many images a pass as there is room for, beside what else is trained.
 *
 * Its owner (systems/networks/reconstructor.h, policy.h) appends it to a graph and may open more beside it. Where the
 * graph goes on after what the fused path computes, the graph runs those heads on either path. */
#ifndef L2SR_SYSTEMS_NETWORK_H
#define L2SR_SYSTEMS_NETWORK_H

#include "engine/fused/path.h"
#include "engine/graph/watch.h"
#include "systems/networks/networks.h"
#include "systems/sampling/acquisition.h"

enum { NETWORK_NEEDS = 2 };

/* Memory that a network takes, with its optimiser where it is trained. */
struct network_need {
  const struct network_desc *desc; /* NULL: there is none, and none after it */
  size_t bytes, image;             /* in all, and for an image a pass */
  size_t batch;                    /* images a pass; 0: as many as the network that it stands beside */
};

struct network_setup {
  const struct network_desc *desc;
  struct device *device;
  struct kernels *kernels;
  enum block_precision precision;
  size_t batch;        /* images a pass at most */
  size_t passes;       /* forward passes side by side, of which each may be run backward; 0: one */
  bool train;
  bool input_gradient; /* also the gradient of the input, to train what made it */
  bool portable;       /* the whole on the graph, wherever it runs */
  bool any_path;       /* the portable path in f32 where the fused one does not run, whatever the precision */
  bool whole;          /* refuses where the fused path has no room for `batch` images, instead of taking fewer */
  size_t loss_image;   /* bytes of the loss, for an image a pass */
  bool planned;        /* it stood beside another, which has told its memory */
  struct network_need beside[NETWORK_NEEDS + 1]; /* what is opened after it */
  void *owner;
  tensor (*append)(void *owner, struct graph *graph, tensor *in); /* returns what the fused path computes */
  /* Buffers that the owner opens beside it for so many images a pass, before its own: NULL, or all three. */
  bool (*open)(void *owner, size_t images, struct error *error);
  void (*close)(void *owner); /* also where open has failed */
  size_t (*bytes)(const void *owner, size_t images);
};

struct network {
  struct network_setup setup;
  struct path path;       /* batch: the setup's, or what fits the device */
  tensor in, out;
  bool fused;
  struct path_ends shared; /* fused: the gradients of all passes that have no others */
};

/* What these do to the columns of a network (NETWORK_COLUMNS), for the systems that run them: */
#define FORWARD_READS(network) SET(network##_parameters)
#define FORWARD_WRITES(network) SET(network##_activations)
#define BACKWARD_READS(network) (SET(network##_parameters) | SET(network##_activations) | SET(network##_cleared))
#define BACKWARD_WRITES(network) SET(network##_gradients)
#define LEARN_READS(network) (SET(network##_parameters) | SET(network##_moments) | SET(network##_gradients))
#define LEARN_WRITES(network) (SET(network##_parameters) | SET(network##_moments))
/* What makes masks, trained beside a reconstructor (systems/networks/loupe.h, tau.h) or to scan with. */
struct masks_setup {
  struct device *device;
  struct kernels *kernels;
  const struct options *options;
  struct acquisition acquisition; /* the only setting of the scene */
  size_t batch;
  size_t coils; /* most of a slice where k-space is the files'; 0: there are no files */
  bool train;
};

/* Refuses what leaves no room for one image, with the memory of all networks and the options to lower; and a precision
 * other than f32 where the fused path does not run, with the reason. Where AMD's kernels do not build, f32 takes the
 * portable path with a warning. The parameters are not set: graph_start or network_load follows, then path_changed.
 * Must not move, nor its owner, while it is open. */
bool network_open(struct network *network, const struct network_setup *setup, struct error *error);
void network_close(struct network *network);
/* Before the graph is planned: its gradients are of as many shards as the device's batches; NULL: of one. */
void network_keep_apart(struct graph *graph, const struct device *device);
bool network_check_path(const struct network_setup *setup, struct error *error); /* whether it could; takes no memory */
/* Reads what a checkpoint says of a network into its setup. */
typedef bool network_take(struct network_setup *setup, struct store *store, struct error *error);
/* What the network of a checkpoint would take; path NULL: that of the setup. */
bool network_measure_stored(const struct network_setup *setup, const char *path, network_take *take,
                            struct network_need *need, struct error *error);
/* Bytes that are left when all that is opened after it is open, too; 0: less than none. */
size_t network_spare(const struct network *network);

/* Images that buffers of a pass have room for: the fused path computes small maps two images at a time. */
size_t network_room(const struct network *network);
/* The pass works on buffers of the caller's, of that room, in place of its own; NULL: on that of before. */
void network_share(struct network *network, size_t pass, const struct path_ends *ends);
/* Facts as attributes and parameters in the group of its row (systems/networks/networks.h). */
bool network_write(const struct network *network, const struct network_facts *facts, struct store *store,
                   struct error *error);
/* Whether the group holds the parameters of such a network; nothing is opened on the device. */
bool network_stored(const struct network_setup *setup, struct store *store, const char *group,
                    struct error *error);
/* Opens the network of a checkpoint. */
bool network_load(struct network *network, const struct network_setup *setup, const char *path, network_take *take,
                  struct error *error);

#endif
