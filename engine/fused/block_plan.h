/* The fused blocks' plan, shared by block_find.c (recognising), block_size.c (memory), block.c (forward) and
 * block_back.c (backward). */
#ifndef L2SR_ENGINE_BLOCK_PLAN_H
#define L2SR_ENGINE_BLOCK_PLAN_H

#include "engine/fused/block.h"

enum { LAYERS_MOST = 64, INPUTS_MOST = 8 /* channels of the image */ };
enum block_source {
  SOURCE_IMAGE,
  SOURCE_BLOCK,
  SOURCE_UP,
  SOURCE_GRADIENT /* kernels/block.cl on the way back */
};

/* The end of the network, after the last block: 1x1 convolutions to an image, or the pooled map as the
 * output. */
enum block_end { END_IMAGE, END_MAPS };

/* How a layer is cut into work-groups: measured choices. */
struct block_tile {
  int x, y, strip, warps_out, images, staged, stages, tiles, registers;
};

/* How the weights' gradient is cut: tiles, channels of a group, groups that share the tiles. */
struct block_weights {
  int tile_x, tile_y, in_block, out_block, warps, stages;
  size_t parts;
  struct kernel_variant run;
};

struct block_layer {
  int conv, relu; /* nodes of the graph */
  enum block_source source;
  int first, second; /* layers; -1: the graph's input, or none */
  bool first_pooled; /* takes the pooled map of `first` */
  bool store_full, store_pooled;
  int in, out, rows, columns, up_channels; /* channels as computed: multiples of 16; sizes in memory */
  int own_rows, own_columns;               /* of the network's maps: what memory holds more of norms to 0 */
  int own_in, own_out;                     /* the convolution's own channels; those above stay 0 */
  struct block_tile tile;
  struct kernel_variant forward;
  cl_mem weights, full, pooled, sums; /* weights: a piece of blocks->packed; the others of the pass at hand */
  size_t weight_words, full_bytes, pooled_bytes;

  /* For training: */
  int plain, pool, join, up; /* layers that consume the map so; -1: none; pool LAYERS_MOST: the output */
  bool normed;               /* its pooled map alone is used: `gradient` is that of its raw output */
  struct block_tile back_tile;
  struct kernel_variant gradient_run, collect, up_run; /* collect: head_back, down, join or unpool */
  struct block_weights weights_run;
  struct kernel_variant image_run; /* weights of the first layer */
  cl_mem gradient;                 /* the activation's gradient; normed: the raw output's */
  cl_mem given;                    /* the input's gradient, where no block's activation is it */
  cl_mem back_weights, back;
  size_t gradient_bytes, given_bytes;
};

/* One forward pass leaves this for its backward: full[l], pooled[l] and, in `sums`, piece[l] of layer l. */
struct block_pass {
  cl_mem sums, full[LAYERS_MOST], pooled[LAYERS_MOST], piece[LAYERS_MOST];
};

/* Images whose rows are no multiple of 4 long, or which the network pads: copies with zeros around them, of the rows and
 * columns that the kernels read and write. */
struct block_frame {
  bool used;
  int rows, columns, own_rows, own_columns, top, left; /* of the copy, of the caller's image, where that stands in it */
  cl_mem input, output, gradient, input_gradient;      /* the last two to train */
};

struct blocks {
  struct arena *arena;
  struct graph *graph;
  struct device *device;
  struct kernels *kernels;
  enum block_precision precision;
  bool train, input_gradient;
  size_t batch;
  struct block_layer layer[LAYERS_MOST];
  int layers;
  struct block_pass *pass;
  size_t passes;
  struct block_frame frame;
  enum block_end end;
  int tail[3]; /* END_IMAGE: the 1x1 convolutions */
  struct kernel_variant fold, head /* or block_maps */, pack;
  cl_mem sums /* the present pass's sums */, folded, nothing;
  cl_mem packed, table; /* all weights as fragments; what block_pack knows of them */
  size_t sums_bytes, packed_bytes, packed_words /* words of one part */, table_bytes;

  /* For training: */
  struct kernel_variant fold_back /* or block_maps_back */, reduce, image_gradient;
  float factor; /* one over the scale of the last backward */
  cl_mem backs, part, up, raw /* the gradient of a layer's raw output */, totals, maps_gradient;
  size_t part_bytes, up_bytes, raw_bytes, totals_bytes, maps_bytes;
};

/* block_find.c */
const struct node *block_node(const struct graph *graph, int i);
/* Fills the layers and the end from the graph; refuses what is not of the kind. */
bool block_find(struct blocks *blocks, struct error *error);

/* block_frame.c */
bool block_frame_find(struct blocks *blocks, struct error *error);
size_t block_frame_bytes(const struct blocks *blocks);
bool block_frame_open(struct blocks *blocks, struct error *error);
void block_frame_close(struct blocks *blocks);
/* The caller's image, or its copy `into` the frame; and where the kernels write an image, which then comes back. */
cl_mem block_frame_in(struct blocks *blocks, cl_mem image, cl_mem into, int channels, size_t images);
cl_mem block_frame_to(const struct blocks *blocks, cl_mem image, cl_mem from);
void block_frame_out(struct blocks *blocks, cl_mem image, cl_mem from, int channels, size_t images);

/* block_size.c */
struct block_extent {
  int rows, columns;
};
/* The size in memory of a map: 8x8 as it is, else multiples of 16 rows and of 16 or 32 columns. */
struct block_extent block_extent(int rows, int columns);
bool block_is_padded(const struct block_layer *layer);
/* Macros of the layer's own size, of its value beyond that, and of the maps of half its size. */
const char *block_own_macros(const struct blocks *blocks, const struct block_layer *layer);
struct blocks *block_describe(struct arena *arena, const struct graph *graph, const struct device *device,
                              const struct block_setup *setup);
/* Finds the layers, chooses their tiles and sets the bytes of every buffer. */
bool block_size(struct blocks *blocks, struct error *error);
size_t block_map_bytes(const struct blocks *blocks, int channels, int rows, int columns);
size_t block_sums_bytes(const struct blocks *blocks, const struct block_layer *layer);
size_t block_weight_parts(const struct blocks *blocks); /* parts of an operand: high and low, or one */
/* Bytes of one part, padded to where a sub-buffer may start. */
size_t block_packed_words(const struct block_layer *layer);

/* block.c, for block_back.c */
/* Whether the layers run AMD's kernels, which have other tiles. */
bool block_on_amd(const struct blocks *blocks);
/* The tile, in strips half as high where its one warp would be half a wave of CDNA's. */
struct block_tile block_in_waves(const struct blocks *blocks, struct block_tile tile);
/* The compiler's option for at most that many registers a work-item, where it knows one; 0: as it likes. */
const char *block_cap(const struct blocks *blocks, int registers);
struct block_tile block_choose_tile(const struct block_layer *layer, enum block_precision precision,
                                    bool amd);
/* Macros of kernels/block.cl for the layer; `tile` and, for SOURCE_GRADIENT, exchanged channels. */
const char *block_macros(const struct blocks *blocks, const struct block_layer *layer,
                         const struct block_tile *tile, enum block_source source, bool target_sums);
/* The layer at hand, for profiles; NULL: none any more. */
void block_tell(struct blocks *blocks, const struct block_layer *layer, size_t images);
size_t block_group(const struct block_tile *tile);
size_t block_groups(const struct block_tile *tile, int outs, int rows, int columns, size_t images);
/* A piece of `whole` for every layer, sums_bytes in all. */
bool block_pieces(struct blocks *blocks, cl_mem whole, cl_mem *piece, struct error *error);
struct arg block_parameter(const struct blocks *blocks, int node, bool bias);

/* block_back.c */
size_t block_planes(const struct blocks *blocks, int channels, size_t images); /* words that a map is deep */
/* Whether the layer's data gradient leaves that of its raw output in blocks->raw, for the weights' gradient. */
bool block_keeps_raw(const struct blocks *blocks, const struct block_layer *layer);
/* A kernel of kernels/block_merge.cl on the last layer's map. */
bool block_maps_open(struct blocks *blocks, struct kernel_variant *run, const char *name,
                     struct error *error);
bool block_back_size(struct blocks *blocks, struct error *error);
bool block_back_open(struct blocks *blocks, struct error *error);
void block_back_close(struct blocks *blocks);

#endif
