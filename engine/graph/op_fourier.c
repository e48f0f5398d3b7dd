/* Complex images as two channels, real and imaginary: centred transforms, magnitude. */
#include "engine/base/round.h"
#include "engine/graph/graph.h"

static bool is_complex(const struct tensor_shape *shape, struct error *error) {
  if (shape->channels == 2) return true;
  return fail(error, "%d channels; a complex image has 2, real and imaginary", shape->channels);
}

static size_t pixels(const struct node *node) {
  return (size_t)node->shape.height * (size_t)node->shape.width;
}

/* ---- transforms ---------------------------------------------------------------------------------------- */

static bool is_real(struct graph *graph, const struct node *node) {
  return graph_node(graph, node->input[0])->shape.channels == 1;
}

/* The forward transform takes a real image too. */
static bool shape_fourier(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = graph_node(graph, node->input[0])->shape;
  if (node->op == &op_fourier && in.channels == 1) in.channels = 2;
  node->shape = in;
  return is_complex(&in, error);
}

/* Square images of the size that the kernels were opened for take kernels of our own, which pass over an
 * image twice; others (engine/device/fft.h) take every size, and two passes more for their order of values. */
static bool takes_own(const struct graph *graph, const struct node *node) {
  size_t height = (size_t)node->shape.height, width = (size_t)node->shape.width;
  return height == width && kernel_fits(graph->kernels, "fourier_rows", height, width);
}

static bool open_fourier(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  if (takes_own(graph, node))
    return kernel_need(graph->kernels, "fourier_rows", error) &&
           kernel_need(graph->kernels, "fourier_columns", error);
  return kernel_need(graph->kernels, "fourier_pack", error) &&
         kernel_need(graph->kernels, "fourier_unpack", error) &&
         kernel_need(graph->kernels, "fourier_pack_real", error) &&
         kernel_need(graph->kernels, "fourier_unpack_real", error) &&
         fft_open(&node->fft, graph->device, (size_t)node->shape.height, (size_t)node->shape.width,
                  graph->batch * (size_t)node->copies, error);
}

static void close_fourier(struct graph *graph, tensor out) {
  fft_close(&graph_node(graph, out)->fft);
}

static size_t pairs(const struct graph *graph, tensor out, size_t images) {
  return sizeof(float) * images * graph_elements(graph, out);
}

/* One transform of a node's images, of the planes `from` to the planes `to`. */
struct way {
  enum fft_direction direction;
  cl_mem from, work, to;
  bool from_real, to_real; /* one plane */
  bool add;
};

enum { TOGETHER = 4 }; /* images of a row of fourier_pack and fourier_unpack: kernels/fourier.cl */

/* Lines that a work-group of kernels/fourier.cl takes. */
static size_t lines_of(size_t width) {
  return width == 256 ? 16 : 32;
}

static void transform_own(struct graph *graph, const struct node *node, const struct way *way) {
  size_t width = (size_t)node->shape.width, lines = graph->images * width,
         groups = divide_up(lines, lines_of(width));
  struct arg size = arg_u32((uint32_t)width), all = arg_u32((uint32_t)lines),
             forward = arg_u32(way->direction == FFT_FORWARD);
  kernel_run(graph->kernels, "fourier_rows", groups,
             ARGS(graph_arg(ARG_IN, way->from), arg_buffer(ARG_OUT, ELEMENT_C64, way->work),
                  arg_u32(way->from_real ? 1 : 2), size, all, forward));
  kernel_run(graph->kernels, "fourier_columns", groups,
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, way->work), graph_arg(ARG_INOUT, way->to),
                  arg_u32(way->to_real ? 1 : 2), size, all, forward, arg_u32(way->add)));
}

/* A transform is of the whole batch: of the images that are not in use it transforms what lies there, which
 * nobody reads. */
static void transform(struct graph *graph, struct node *node, const struct way *way) {
  size_t rows = graph->images * pixels(node);
  struct arg height = arg_u32((uint32_t)node->shape.height), width = arg_u32((uint32_t)node->shape.width);
  if (!node->fft.device) { /* no transform of engine/device/fft.h was opened: by clFFT or by matrices */
    transform_own(graph, node, way);
    return;
  }
  struct arg from = graph_arg(ARG_IN, way->from), to = graph_arg(ARG_INOUT, way->to), images = arg_u32((uint32_t)graph->images),
             add = arg_u32(way->add);
  size_t shared = divide_up(graph->images, TOGETHER) * pixels(node);
  if (way->from_real)
    kernel_run(graph->kernels, "fourier_pack_real", rows, ARGS(from, arg_buffer(ARG_OUT, ELEMENT_C64, way->work), height, width));
  else
    kernel_run(graph->kernels, "fourier_pack", shared, ARGS(from, arg_buffer(ARG_OUT, ELEMENT_C64, way->work), height, width, images));
  fft_run(&node->fft, way->direction, way->work);
  if (way->to_real)
    kernel_run(graph->kernels, "fourier_unpack_real", rows, ARGS(arg_buffer(ARG_IN, ELEMENT_C64, way->work), to, height, width, add));
  else
    kernel_run(graph->kernels, "fourier_unpack", shared,
               ARGS(arg_buffer(ARG_IN, ELEMENT_C64, way->work), to, height, width, images, add));
}

static void forward_as(struct graph *graph, tensor out, enum fft_direction direction) {
  struct node *node = graph_node(graph, out);
  transform(graph, node,
            &(struct way){.direction = direction,
                          .from = graph_node(graph, node->input[0])->value,
                          .work = node->work,
                          .to = node->value,
                          .from_real = is_real(graph, node)});
}

/* The transforms are unitary: the adjoint is the inverse. */
static void backward_as(struct graph *graph, tensor out, enum fft_direction direction) {
  struct node *node = graph_node(graph, out);
  transform(graph, node,
            &(struct way){.direction = direction,
                          .from = node->gradient,
                          .work = node->scratch,
                          .to = graph_node(graph, node->input[0])->gradient,
                          .to_real = is_real(graph, node),
                          .add = node->adds[0]});
}

static void forward_fourier(struct graph *graph, tensor out) {
  forward_as(graph, out, FFT_FORWARD);
}

static void backward_fourier(struct graph *graph, tensor out) {
  backward_as(graph, out, FFT_INVERSE);
}

static void forward_inverse(struct graph *graph, tensor out) {
  forward_as(graph, out, FFT_INVERSE);
}

static void backward_inverse(struct graph *graph, tensor out) {
  backward_as(graph, out, FFT_FORWARD);
}

/* ---- magnitude ----------------------------------------------------------------------------------------- */

static bool shape_magnitude(struct graph *graph, tensor out, struct error *error) {
  struct node *node = graph_node(graph, out);
  struct tensor_shape in = graph_node(graph, node->input[0])->shape;
  node->shape = (struct tensor_shape){1, in.height, in.width};
  return is_complex(&in, error);
}

static void forward_magnitude(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out);
  kernel_run(graph->kernels, "magnitude_forward", graph->images * divide_up(pixels(node), 8),
             ARGS(graph_arg(ARG_IN, graph_node(graph, node->input[0])->value),
                  graph_arg(ARG_OUT, node->value), arg_u32((uint32_t)pixels(node))));
}

static void backward_magnitude(struct graph *graph, tensor out) {
  const struct node *node = graph_node(graph, out), *x = graph_node(graph, node->input[0]);
  kernel_run(graph->kernels, "magnitude_backward", graph->images * divide_up(pixels(node), 8),
             ARGS(graph_arg(ARG_IN, x->value), graph_arg(ARG_IN, node->gradient),
                  graph_arg(ARG_INOUT, x->gradient), arg_u32((uint32_t)pixels(node)),
                  arg_u32(node->adds[0])));
}

const struct op_desc op_fourier = {.name = "fourier",
                                   .shape = shape_fourier,
                                   .open = open_fourier,
                                   .close = close_fourier,
                                   .forward = forward_fourier,
                                   .backward = backward_fourier,
                                   .work = pairs,
                                   .scratch = pairs};

const struct op_desc op_inverse_fourier = {.name = "inverse_fourier",
                                           .shape = shape_fourier,
                                           .open = open_fourier,
                                           .close = close_fourier,
                                           .forward = forward_inverse,
                                           .backward = backward_inverse,
                                           .work = pairs,
                                           .scratch = pairs};

const struct op_desc op_magnitude = {.name = "magnitude",
                                     .shape = shape_magnitude,
                                     .forward = forward_magnitude,
                                     .backward = backward_magnitude,
                                     .keeps_input = true,
                                     .kernels = {"magnitude_forward", "magnitude_backward"}};

/* ---- building ------------------------------------------------------------------------------------------ */

tensor fourier(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_fourier, x);
}

tensor inverse_fourier(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_inverse_fourier, x);
}

tensor magnitude(struct graph *graph, tensor x) {
  return graph_append_op(graph, &op_magnitude, x);
}
