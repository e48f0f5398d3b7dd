/* Networks as static graphs.
 *
 * An architecture is a C function that appends nodes, one operation each, in the order of the forward pass;
 * backward is the same list walked in reverse. A refused shape is sticky: the first text is kept, what is
 * appended later does nothing, and graph_good or graph_plan hands it over.
 *
 * The plan puts all parameters in one flat buffer (gradients and an optimiser's moments share its layout) and
 * lets activations and their gradients that are never needed together share a buffer. Sub-buffers that overlap
 * would take less, but NVIDIA's driver 580.159 crashes when some of them are released. Values are
 * [image][channel][height][width] in float. */
#ifndef L2SR_ENGINE_GRAPH_H
#define L2SR_ENGINE_GRAPH_H

#include "engine/device/fft.h"
#include "engine/device/kernel.h"

enum {
  NODE_INPUTS = 5,
  NODES_MOST = 2048,
  PARAMETERS_MOST = 1024,
  SLOTS_MOST = 4 * NODES_MOST,
  OP_KERNELS = 8
};
/* Parameters start on multiples of this many bytes: sub-buffers are legal there on every device. */
enum { GRAPH_ALIGNMENT = 512 };

typedef struct {
  uint16_t node;
} tensor; /* an index: survives copying and saving */

struct tensor_shape {
  int channels, height, width; /* of one image */
};

/* Whether the graph computes a node itself (graph_give). */
enum node_part { NODE_RUNS, NODE_GIVEN, NODE_LEFT_OUT };

/* How a parameter starts: U(+-1/sqrt(fan_in)) (PyTorch's default for convolutions and linear layers), 0, gain
 * times an orthogonal matrix of [size 0][the others], gain times the logit of U(0.01, 0.99) (the logistic
 * distribution without its tails: a sigmoid makes uniform probabilities of it), N(0, gain^2), or the gain. */
enum parameter_start { START_FAN_IN, START_ZERO, START_ORTHOGONAL, START_LOGISTIC, START_NORMAL, START_VALUE };

struct parameter {
  const char *name; /* dotted, as in the public implementations */
  int rank;
  size_t size[4];
  size_t count, fan_in;
  enum parameter_start start;
  double gain;   /* of START_ORTHOGONAL, START_LOGISTIC, START_NORMAL and START_VALUE */
  size_t offset; /* elements from the start of the flat buffers */
  cl_mem value, gradient;
};

/* How linear layers multiply: CLBlast's single precision, or matrix instructions (engine/device/device.h) on operands rounded
 * to 11 bits, or split into two. */
enum graph_products { PRODUCTS_LIBRARY, PRODUCTS_ROUNDED, PRODUCTS_SPLIT };
enum graph_product { PRODUCT_FORWARD, PRODUCT_INPUT, PRODUCT_WEIGHT, GRAPH_PRODUCTS };
enum graph_tile { TILE_FEW, TILE_MANY, GRAPH_TILES }; /* a product's tiles: for few rows, for many */

struct op_desc;

struct node {
  const struct op_desc *op; /* NULL for an input of the graph */
  const char *name;
  tensor input[NODE_INPUTS];
  int inputs;
  struct tensor_shape shape;
  int copies; /* of the shape, one after the other, that an image of the batch has: what one node does to an image,
                 another does to each of several that belong together, with the same parameters */
  int weight, bias; /* places in the graph's parameters; -1: none */
  int size;         /* a convolution's side, 1 or 3 */
  bool plain;       /* a convolution without bias */
  float slope;      /* a leaky ReLU's or a straight-through step's slope; a scaling's factor */
  uint32_t budget;  /* the sum of a rescaling or an exact draw */
  uint32_t seed;    /* an exact draw's seed */
  uint32_t step;    /* number of this draw among an image's exact draws */
  int useful;       /* how many first elements an image has of its gradient that its backward reads; 0: all */
  enum node_part part;
  bool output;      /* the caller reads its value and writes its gradient, whoever else uses it */
  bool wanted;      /* an input whose gradient the caller reads */
  /* From the plan: */
  bool needs_gradient;
  bool adds[NODE_INPUTS]; /* another consumer has written that input's gradient before: add to it */
  bool bias_cancels;      /* an instance norm follows: the bias changes nothing, its gradient is exactly 0 */
  cl_mem value, gradient; /* [image][channel][height][width] */
  cl_mem kept;            /* forward keeps this for backward */
  cl_mem work, scratch;   /* memory that forward works in; that backward works in */
  struct fft fft;         /* a transform's plan */
  void *opened;           /* what the row's open has made, for its close */
};

/* A buffer holds this from moment `first` to `last`. The forward of node i is moment i; its backward is
 * moment 2 * nodes - 1 - i. */
struct slot {
  cl_mem *place;
  const char *what;
  uint16_t node;
  int first, last;
  size_t bytes;
  int buffer;
};

/* A buffer of slots that are never in use together, as large as the largest of them. */
struct graph_buffer {
  cl_mem memory;
  size_t bytes;
};

/* What happens to a network; the last two: a whole pass from its input to its output, and back. */
enum graph_effect { GRAPH_CLEARED, GRAPH_FORWARD, GRAPH_BACKWARD, GRAPH_LEARNED, GRAPH_PASSED, GRAPH_RETURNED };

/* Sums of a batch are kept apart: images are of shards, one after the other, and every shard has a gradient of its own
 * until graph_gather. */
struct graph_shards {
  uint32_t all;       /* shards of a whole batch, over all ranks */
  uint32_t held;      /* that this graph has gradients for */
  size_t first, each; /* of the next backward: its first image's shard, among those held, and images of a shard */
};

/* Gradients that are complete before the pass back is (engine/graph/early.h). */
struct graph_early {
  int node;    /* once its backward is enqueued, nothing is added any more ... */
  size_t from; /* ... to the gradients of the parameters from here on, at least half of all */
  cl_event ready; /* the last pass back is past that node; NULL: none has run since the last sum */
};

struct graph {
  struct arena *arena;
  struct node node[NODES_MOST];
  int nodes;
  struct parameter parameter[PARAMETERS_MOST];
  int parameters;
  size_t elements; /* the length of the flat parameter buffers, gaps included */
  struct error first;
  bool failed;
  bool shares;                  /* nodes may take parameters that others have (graph_share) */
  bool best;                    /* exact draws take the most probable entries; may change between runs */
  void (*watch)(void *context, enum graph_effect effect); /* NULL: nobody watches */
  void *watch_context;
  enum graph_products products; /* set before the plan */
  /* From the plan: */
  struct device *device;
  struct kernels *kernels;
  const struct graph *shared; /* the graph that owns the parameter buffers; NULL: this one */
  size_t batch, images;       /* room for; in use */
  size_t copies;              /* of each that the running node has */
  bool train, input_gradient;
  cl_mem values, gradients; /* the flat buffers; gradients: one for every shard that is held, each of `elements` */
  struct graph_shards shards; /* of the owner of the parameters */
  struct graph_early *early;  /* engine/graph/early.h; NULL: nothing is summed before the whole pass back */
  /* kernels/linear.cl, where products says so: */
  struct kernel_variant product[GRAPH_PRODUCTS][GRAPH_TILES], product_sum, product_gather;
  struct slot slot[SLOTS_MOST];
  int slots;
  struct graph_buffer buffer[SLOTS_MOST];
  int buffers;
  size_t arena_bytes, largest; /* bytes of all buffers together; the most that one may have */
};

/* ---- one row an operation ------------------------------------------------------------------------------ */

struct op_desc {
  const char *name;
  bool (*shape)(struct graph *graph, tensor out, struct error *error); /* finds the shape from the inputs' */
  bool (*open)(struct graph *graph, tensor out, struct error *error);  /* for a plan; NULL: nothing */
  void (*close)(struct graph *graph, tensor out);                      /* also where open has not been */
  void (*forward)(struct graph *graph, tensor out);                    /* enqueues */
  void (*backward)(struct graph *graph, tensor out);      /* enqueues; adds into the parameters' gradients */
  double (*flops)(const struct graph *graph, tensor out); /* operations of one image, forward; NULL: few */
  size_t (*kept)(const struct graph *graph, tensor out, size_t images);    /* bytes; NULL: none */
  size_t (*work)(const struct graph *graph, tensor out, size_t images);    /* bytes; NULL: none */
  size_t (*scratch)(const struct graph *graph, tensor out, size_t images); /* bytes; NULL: none */
  bool keeps_input, keeps_output;                                          /* values that backward reads */
  /* Inputs may have other copies than the node: shape says how many that has, and graph->images counts images of the
   * batch. Else all have as many, and it counts copies. */
  bool mixes;
  bool blocks[NODE_INPUTS]; /* inputs that get no gradient through it */
  const char *kernels[OP_KERNELS];
};

extern const struct op_desc op_conv, op_transposed, op_norm, op_normalise, op_average, op_relu, op_softplus, op_sigmoid, op_pool, op_up_sample,
    op_concat, op_pad, op_crop, op_linear, op_log_softmax, op_straight_through, op_standardise, op_fourier, op_inverse_fourier,
    op_multiply, op_magnitude, op_learned, op_scale, op_add, op_rescale, op_exact_threshold, op_detach,
    op_restore, op_restore_planes, op_share;
extern const struct op_desc *const op_table[]; /* all of these, ended by NULL */

/* Appends a node and lets its row find the shape; on refusal nothing stays. The row may stand anywhere: an
 * operation that only some networks have stands beside them (systems/networks/op_sampler.c). */
tensor graph_append(struct graph *graph, const struct node *node);
/* The same of an operation on one or two inputs that has nothing else to say: the node is called
 * OPERATION.PLACE. */
tensor graph_append_op(struct graph *graph, const struct op_desc *op, tensor x);
tensor graph_append_pair(struct graph *graph, const struct op_desc *op, tensor a, tensor b);

/* ---- building ------------------------------------------------------------------------------------------ */

bool graph_open(struct graph **graph);
void graph_close(struct graph *graph);                           /* NULL allowed */
bool graph_good(const struct graph *graph, struct error *error); /* returns the first refusal */
const char *graph_name(struct graph *graph, const char *format, ...) __attribute__((format(printf, 2, 3)));

tensor graph_input(struct graph *graph, const char *name, int channels, int height, int width);
/* So many of that shape an image: [image][copy][channel][height][width]. */
tensor graph_input_copies(struct graph *graph, const char *name, int copies, int channels, int height, int width);
/* Parameters NAME.weight and NAME.bias. Padding keeps the size: zeros outside, stride 1. size: 1 or 3. */
tensor conv2d(struct graph *graph, tensor x, const char *name, int channels, int size);
tensor conv2d_plain(struct graph *graph, tensor x, const char *name, int channels, int size); /* without bias */
/* Transposed convolution of 2x2, stride 2, without bias: twice the height and width. Its parameter NAME.weight is
 * [channels of x][channels][2][2], and starts as PyTorch's. */
tensor conv_transposed(struct graph *graph, tensor x, const char *name, int channels);
tensor instance_norm(struct graph *graph, tensor x); /* no affine, eps 1e-5, biased variance */
/* Every image, all channels together, by its mean and sample deviation: (x - mean) / (deviation + 1e-11),
 * clamped to -6 to 6. A constant image gives 0 and gets no gradient. */
tensor standardise_image(struct graph *graph, tensor x);
tensor relu(struct graph *graph, tensor x);
tensor leaky_relu(struct graph *graph, tensor x, float slope);
tensor softplus(struct graph *graph, tensor x);
tensor sigmoid(struct graph *graph, tensor x);
tensor average_pool(struct graph *graph, tensor x); /* 2x2; an odd last line or column is left out */
tensor max_pool(struct graph *graph, tensor x);  /* 2x2; an odd last line or column is left out */
tensor up_sample(struct graph *graph, tensor x); /* bilinear x2, half-pixel centres */
tensor concat(struct graph *graph, tensor a, tensor b);
/* Zeros around every plane, or what lies in its middle: of the lines that are too many or too few half, rounded
 * down, stand above, and so for columns (as fastMRI pads for its U-Net). */
tensor pad(struct graph *graph, tensor x, int height, int width);
tensor crop(struct graph *graph, tensor x, int height, int width);
tensor pad_to_multiple(struct graph *graph, tensor x, int multiple); /* x where its sides are multiples */
tensor crop_to(struct graph *graph, tensor x, tensor like); /* x where it is as high and wide as `like` */
/* Flattens [channels][height][width]; parameters NAME.weight and NAME.bias. */
tensor linear(struct graph *graph, tensor x, const char *name, int outputs);
/* Logarithms of the probabilities of the entries that are free, x and taken [entries][1][1]. `taken`, 1 where
 * an entry is not free, gets no gradient; the output there is -1e10. */
tensor log_softmax(struct graph *graph, tensor x, tensor taken);
/* 1 where x is above the threshold, else 0. Backward takes the derivative of sigmoid(slope * (x - threshold))
 * for that of the step; slope 0 passes the gradient through as it is (the straight-through estimator of
 * Bengio et al. 2013). The threshold, of x's shape, gets none. */
tensor straight_through(struct graph *graph, tensor x, tensor threshold, float slope);

/* The parameter NAME, the same for all images; it starts at gain times the logit of U(0.01, 0.99). */
tensor learned(struct graph *graph, const char *name, int channels, int height, int width, double gain);
tensor scale(struct graph *graph, tensor x, float factor);
tensor add(struct graph *graph, tensor a, tensor b); /* both have one shape */
/* Probabilities x of the entries that are free, brought to the sum `budget`: x s/m where that lowers them,
 * else 1 - (1 - x)(1 - s)/(1 - m), from their mean m to s = budget/free. 0 where `taken`, of x's shape, is
 * not 0; it gets no gradient. Every image needs `budget` free entries. */
tensor rescale(struct graph *graph, tensor x, tensor taken, uint32_t budget);
/* Thresholds at which a step of the probabilities x draws exactly `budget` of the free entries: independent
 * entries given their number. `number`, 1x1x1, holds an unsigned word an image, which with seed and step
 * decides the draw; an image has a draw for every step. Nothing gets a gradient. */
tensor exact_threshold(struct graph *graph, tensor x, tensor taken, tensor number, uint32_t budget,
                       uint32_t seed, uint32_t step);

/* Passes the values and stops the gradient. */
tensor detach(struct graph *graph, tensor x);
/* x times the sample deviation plus the mean of `like`, an image of x's shape, all channels together: undoes
 * standardise_image. */
tensor restore_image(struct graph *graph, tensor x, tensor like);
/* Every plane by its mean and sample deviation, without epsilon; a constant plane gives 0 and gets no gradient. The
 * other undoes it, by those of planes of `like`'s shape. */
tensor normalise_planes(struct graph *graph, tensor x);
tensor restore_planes(struct graph *graph, tensor x, tensor like);
/* softplus(x) over its largest value, in the shape of `taken`; 0 where that is not 0. It gets no gradient. */
tensor softplus_share(struct graph *graph, tensor x, tensor taken);

/* From here on a node takes the parameter of an earlier node of the same name: they must have one shape, and
 * their gradients add up. */
void graph_share(struct graph *graph);
/* Before the plan: marks an input whose gradient the caller reads, where the plan does not ask for all. */
void graph_want(struct graph *graph, tensor x);

/* The node's weight starts orthogonal with this gain, its bias at 0. Returns x. */
tensor graph_orthogonal(struct graph *graph, tensor x, double gain);
/* The node's weight starts as N(0, deviation^2), its bias at 0. Returns x. */
tensor graph_normal(struct graph *graph, tensor x, double deviation);
/* An output that other nodes of the graph use as well. Those that nobody uses are outputs by themselves. */
void graph_output(struct graph *graph, tensor x);

/* Before the plan: gradients are kept apart by shards, of which a batch has `all`, and this graph has `held`; both are 1
 * otherwise. A graph that takes another's parameters has as many as that. */
void graph_keep_apart(struct graph *graph, uint32_t all, uint32_t held);
/* Before the plan: another path computes x. The caller writes its value and reads its gradient, as those of an
 * input; the nodes before it that serve only it are neither placed nor run, their parameters stay. */
void graph_give(struct graph *graph, tensor x);
/* Centred orthonormal transforms of complex images [2][height][width], real and imaginary: frequency 0 and
 * the origin lie at (height / 2, width / 2). */
tensor fourier(struct graph *graph, tensor x); /* also of a real image, [1][height][width] */
tensor inverse_fourier(struct graph *graph, tensor x);
/* x times a factor [1][1][width], which every row of every channel has, or [1][height][width], which every
 * channel has. */
tensor multiply(struct graph *graph, tensor x, tensor factor);
tensor magnitude(struct graph *graph, tensor x);                 /* x is complex; gradient 0 at 0 */

/* The node's weight starts at this value. Returns x. */
tensor graph_start_at(struct graph *graph, tensor x, double value);

/* For the rows: adds a parameter to the node and returns its place. */
int graph_parameter(struct graph *graph, const char *name, size_t fan_in, int rank, const size_t *size);

size_t graph_elements(const struct graph *graph, tensor x);                      /* of one copy of an image */
size_t graph_values(const struct graph *graph, tensor x);                        /* of one image, all copies */
size_t graph_parameter_count(const struct graph *graph);                         /* gaps left out */
const struct parameter *graph_find(const struct graph *graph, const char *name); /* NULL: no such parameter */

/* ---- the plan ------------------------------------------------------------------------------------------ */

struct graph_setup {
  struct device *device;
  struct kernels *kernels;
  size_t batch;
  bool train;                     /* keep what backward needs */
  bool input_gradient;            /* also the gradients of the graph's inputs */
  const struct graph *parameters; /* use this planned graph's parameters; NULL: make own */
};

/* Places and allocates everything and builds the kernels. What does not fit is refused with the number of
 * images that would. */
bool graph_plan(struct graph *graph, const struct graph_setup *setup, struct error *error);
/* Places alone, without a device: finds the bytes of all buffers and fills graph->slot. */
size_t graph_measure(struct graph *graph, size_t batch, bool train, bool input_gradient);
/* The largest batch whose arena and parameters take at most `bytes`; 0: not one image. */
size_t graph_batch_within(struct graph *graph, size_t bytes, bool train, bool input_gradient);
void graph_print(const struct graph *graph, FILE *file); /* node, shape, parameters, bytes, flops; totals */
void graph_print_json(const struct graph *graph, FILE *file); /* prints one JSON object a line */

/* The stream of random numbers (engine/base/random.h) that parameters start from. */
enum { GRAPH_STREAM = 4 };
/* Parameters that start as their rows say; parameter i has the draws of number i. */
void graph_start(struct graph *graph, uint32_t seed);

/* ---- running: all enqueue ------------------------------------------------------------------------------ */

void graph_set_images(struct graph *graph, size_t images); /* images of the batch in use from now on */
void graph_forward(struct graph *graph);
/* Runs from the gradient of `out`, which the caller has written, back to the parameters, and adds to their
 * gradients: micro-batches accumulate. */
void graph_backward(struct graph *graph);
/* Runs nodes [first, end) alone; backward runs from the last such part to the first. */
void graph_forward_part(struct graph *graph, int first, int end);
void graph_backward_part(struct graph *graph, int first, int end);
void graph_zero_gradients(struct graph *graph); /* of all shards */
/* The images of the next backward passes are of shards from `first` on, `each` of them, the last perhaps fewer. */
void graph_set_shards(struct graph *graph, size_t first, size_t each);
/* Sums the gradients of all shards that are held, in the order of a binary tree, into the first: what an optimiser takes. Of
 * `count` elements of the flat buffer from `from` on, multiples of 4. */
void graph_gather(const struct graph *graph, size_t from, size_t count);
void graph_early_forget(const struct graph *graph); /* passes back so far: they are summed, or count no more */
/* Tells whoever watches that this has been done to what the graph owns; who computes the same otherwise tells it too
 * (engine/fused). */
void graph_tell(const struct graph *graph, enum graph_effect effect);
cl_mem graph_value(const struct graph *graph, tensor x);
cl_mem graph_gradient(const struct graph *graph, tensor x);

bool graph_runs(const struct node *node); /* an operation that the graph computes itself */

/* Rows of operations call these. */
struct node *graph_node(struct graph *graph, tensor x);
struct node *graph_source(struct graph *graph, const struct node *node, int k); /* the node's input k */
/* Refuses b where its shape is not a's. */
bool graph_same_shape(const struct node *a, const struct node *b, struct error *error);
struct arg graph_arg(enum arg_kind kind, cl_mem buffer); /* F32 */

/* How the images of a pass are cut into shards, for kernels that add to parameters' gradients. */
struct graph_cut {
  size_t shards, each; /* shards that have images; images of a shard */
  cl_mem gradients;    /* of all shards: a parameter's starts `at` its offset and those of the shards before */
  size_t before, stride;
};
struct graph_cut graph_cut(const struct graph *graph, size_t images);
size_t graph_at(const struct graph_cut *cut, const struct parameter *parameter);
/* The gradients as an argument, of which a launch takes so many numbers of every shard. */
struct arg graph_shards(const struct graph_cut *cut, size_t count);
/* Pieces of a shard's work, of `each` images, where `wanted` of them fill a device; of `most` at most, 1 at least. */
size_t graph_parts(const struct graph *graph, size_t wanted, size_t each, size_t most);
/* The most that a pass of so many images has of them; `most`: of what is cut. */
size_t graph_parts_most(const struct graph *graph, size_t wanted, size_t most, size_t images);
#define SHARD_ARGS(cut, parameter)                                                                           \
  arg_u32((uint32_t)graph_at(&(cut), parameter)), arg_u32((uint32_t)(cut).stride)

#endif
