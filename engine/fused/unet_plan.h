/* The layers and maps of a fused U-Net, and where they lie: unet_plan.c makes it of a graph's node,
 * unet_open.c builds its kernels, unet_run.c runs them. */
#ifndef L2SR_ENGINE_UNET_PLAN_H
#define L2SR_ENGINE_UNET_PLAN_H

#include "engine/graph/graph.h"

enum { UNET_POOLS_MOST = 6, UNET_SIDE = 16 /* sides are multiples of this, or of what poolings need */ };
enum { UNET_CHANNELS = 512 /* of the widest map: local memory holds their norms */ };
enum {
  UNET_MAPS = 6 * UNET_POOLS_MOST + 3,
  UNET_LAYERS = 5 * UNET_POOLS_MOST + 2,
  UNET_SHARES = 64, /* groups that an image or plane is parted among where sums are taken */
  UNET_GROUP = 256
};

/* An activation: the raw output of a layer with its sums, or what is pooled or enters, which is plain. */
struct unet_map {
  int level, own, slices; /* channels, and slices of eight that they are padded to */
  bool plain;
  int maker, pool;   /* the layer whose output it is; the map that is pooled of it; -1: none */
  size_t at, sums;   /* of one image: vectors of 16 bytes and pairs of sums before it */
  int taker, offset; /* the layer that takes it, and the slices that stand before it in what that takes */
  size_t joined;     /* where it is pooled too: vectors of one image before its gradient */
};

/* How a product is cut into work-groups. */
struct unet_tile {
  int slices, chunks; /* that come at a time; how many times */
  int x, y;           /* pixels of a tile */
  int tiles_out, warps_out, groups_out;
  bool alone; /* a group has a unit's registers to itself */
};

struct unet_layer {
  bool rises;             /* a transposed convolution of 2x2 */
  int first, second, out; /* maps; second -1: none */
  int parameter;          /* after the node's first */
  struct unet_tile forward, back, weights;
  size_t words, back_words; /* packed */
  size_t given;             /* vectors of one image before the gradient of what it takes */
};

struct unet_plan {
  int pools, channels, rows, columns; /* padded */
  int own_rows, own_columns, top, left;
  struct unet_map map[UNET_MAPS];
  struct unet_layer layer[UNET_LAYERS];
  int maps, layers;
  size_t vectors, sums;            /* of all maps of one image */
  size_t gradients, last_gradient; /* vectors of one image: all gradients; those before the last map's */
  size_t words, back_words,
      part; /* packed weights; floats of partial gradients, which do not depend on the images */
};

/* Bytes of a node's memory for so many images, and where in it things start, in elements of their own. */
struct unet_places {
  size_t kept, work, scratch; /* bytes */
  uint32_t sums, statistics;  /* kept: after the maps */
  uint32_t moments;           /* work: after the packed weights */
  uint32_t gradients, back, packed, leaving, sharing, totals, totals_in,
      level; /* scratch: after partial gradients */
};

void unet_plan_of(const struct graph *graph, const struct node *node, struct unet_plan *plan);
struct unet_places unet_places_of(const struct unet_plan *plan, size_t images);
/* Slices of all that the layer takes, and their pixels. */
int unet_in_slices(const struct unet_plan *plan, const struct unet_layer *layer);
size_t unet_pixels(const struct unet_plan *plan, int level);
/* Groups that share the tiles of the weights' gradient for so many images. */
size_t unet_shares(const struct unet_plan *plan, const struct unet_layer *layer, size_t images);
/* The level whose pixels the layer's products are of: a transposed convolution's are those of its input. */
int unet_level(const struct unet_plan *plan, const struct unet_layer *layer);

/* What is opened for a node, and shared by all nodes of its sizes. */
struct unet {
  int users;
  struct unet_plan plan;
  struct arena *arena;
  cl_mem table[2]; /* what unet_pack knows of the layers, forward and backward */
  size_t table_bytes;
  struct kernel_variant pack, moments, statistics, enter, leave, leave_sums, totals, leave_back, leave_add,
      enter_sums, enter_back, reduce;
  struct kernel_variant forward[UNET_LAYERS], back[UNET_LAYERS], weights[UNET_LAYERS];
  struct kernel_variant back_sums[UNET_MAPS], pool[UNET_MAPS];
};

enum { UNET_TABLE = 16 }; /* words of the table a layer (kernels/unet_pack.cl) */

bool unet_open(struct graph *graph, tensor out, struct error *error);
void unet_close(struct graph *graph, tensor out);
void unet_forward(struct graph *graph, tensor out);
void unet_backward(struct graph *graph, tensor out);

#endif
