/* Every operation in a tiny graph: the device's forward against the same node list in double, the device's
 * backward against central differences of that, and the adjoint identity of the linear operations. */
#include "engine/base/random.h"
#include "engine/graph/graph.h"
#include "kernels/kernels.h"
#include "systems/networks/net_loupe.h"
#include "systems/networks/net_tau.h"
#include "systems/networks/net_unet.h"
#include "systems/networks/op_coils.h"
#include "systems/networks/op_sampler.h"
#include "tests/support.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2 };

/* ---- the node list in double --------------------------------------------------------------------------- */

struct reference {
  const struct graph *graph;
  double *value[NODES_MOST];
  double *parameter[PARAMETERS_MOST];
  bool smooth; /* steps are what backward takes them for */
};

static size_t elements(const struct reference *r, int node) {
  return graph_elements(r->graph, (tensor){(uint16_t)node});
}

static double pixel(const double *plane, int height, int width, int y, int x) {
  return y < 0 || y >= height || x < 0 || x >= width ? 0 : plane[y * width + x];
}

static double conv_at(const struct reference *r, const struct node *node, const double *image, int out, int y,
                      int x) {
  const struct tensor_shape *in = &r->graph->node[node->input[0].node].shape;
  const double *weight = r->parameter[node->weight];
  int reach = node->size / 2;
  double sum = node->plain ? 0 : r->parameter[node->bias][out];
  for (int i = 0; i < in->channels; i++)
    for (int dy = -reach; dy <= reach; dy++)
      for (int dx = -reach; dx <= reach; dx++)
        sum += weight[((out * in->channels + i) * node->size + dy + reach) * node->size + dx + reach] *
               pixel(image + i * in->height * in->width, in->height, in->width, y + dy, x + dx);
  return sum;
}

static double transposed_at(const struct reference *r, const struct node *node, const double *image, int out, int y,
                            int x) {
  const struct tensor_shape *in = &r->graph->node[node->input[0].node].shape;
  const double *weight = r->parameter[node->weight];
  double sum = 0;
  for (int i = 0; i < in->channels; i++)
    sum += weight[(i * node->shape.channels + out) * 4 + y % 2 * 2 + x % 2] *
           image[(i * in->height + y / 2) * in->width + x / 2];
  return sum;
}

static double norm_at(const double *plane, int pixels, double value, int freedom, double epsilon) {
  double mean = 0, variance = 0;
  for (int i = 0; i < pixels; i++) mean += plane[i] / pixels;
  for (int i = 0; i < pixels; i++) variance += (plane[i] - mean) * (plane[i] - mean) / freedom;
  return (value - mean) / sqrt(variance + epsilon);
}

static double standard_at(const double *image, int pixels, double value) {
  double mean = 0, square = 0;
  for (int i = 0; i < pixels; i++) mean += image[i] / pixels;
  for (int i = 0; i < pixels; i++) square += (image[i] - mean) * (image[i] - mean);
  return fmin(fmax((value - mean) / (sqrt(square / (pixels - 1)) + 1e-11), -6), 6);
}

static double up_at(const double *plane, int height, int width, int y, int x) {
  double fy = fmin(fmax((y + 0.5) / 2 - 0.5, 0), height - 1),
         fx = fmin(fmax((x + 0.5) / 2 - 0.5, 0), width - 1);
  int y0 = (int)fy, x0 = (int)fx, y1 = y0 + 1 < height ? y0 + 1 : y0, x1 = x0 + 1 < width ? x0 + 1 : x0;
  double wy = fy - y0, wx = fx - x0;
  return (1 - wy) * ((1 - wx) * plane[y0 * width + x0] + wx * plane[y0 * width + x1]) +
         wy * ((1 - wx) * plane[y1 * width + x0] + wx * plane[y1 * width + x1]);
}

static double linear_at(const struct reference *r, const struct node *node, const double *image, int out) {
  size_t inputs = elements(r, node->input[0].node);
  double sum = r->parameter[node->bias][out];
  for (size_t i = 0; i < inputs; i++) sum += r->parameter[node->weight][(size_t)out * inputs + i] * image[i];
  return sum;
}

static double sigmoid_of(double value) {
  return 1 / (1 + exp(-value));
}

static double step_at(const struct reference *r, const struct node *node, double value, double threshold) {
  if (!r->smooth) return value > threshold;
  return node->slope > 0 ? sigmoid_of(node->slope * (value - threshold)) : value;
}

static double log_softmax_at(const double *logits, const double *taken, int actions, int action) {
  double top = -INFINITY, sum = 0;
  if (taken[action] > 0) return -1e10;
  for (int i = 0; i < actions; i++)
    if (!(taken[i] > 0)) top = fmax(top, logits[i]);
  for (int i = 0; i < actions; i++)
    if (!(taken[i] > 0)) sum += exp(logits[i] - top);
  return logits[action] - top - log(sum);
}

enum { SIDE_MOST = 64 };

/* cos and sin of the phases between the places of an axis; a graph asks for those of one or two sizes again
 * and again. */
static const struct turns {
  int size;
  double cosine[SIDE_MOST][SIDE_MOST], sine[SIDE_MOST][SIDE_MOST];
} * turns_of(int size) {
  static struct turns all[SIDE_MOST];
  struct turns *turns = &all[size - 1];
  assert_true(size <= SIDE_MOST);
  for (int a = 0; a < size && turns->size != size; a++)
    for (int b = 0; b < size; b++) {
      double phase = 2 * acos(-1) * (double)((a - size / 2) * (b - size / 2)) / size;
      turns->cosine[a][b] = cos(phase);
      turns->sine[a][b] = sin(phase);
    }
  turns->size = size;
  return turns;
}

/* The centred orthonormal transform from its formula; sign -1: forward. Part 0 is real, 1 imaginary. */
static double transform_at(const double *planes, const struct tensor_shape *in, double sign, int part, int y,
                           int x) {
  int height = in->height, width = in->width;
  const struct turns *rows = turns_of(height), *columns = turns_of(width);
  double sum = 0;
  for (int v = 0; v < height; v++)
    for (int u = 0; u < width; u++) {
      double c = rows->cosine[y][v] * columns->cosine[x][u] - rows->sine[y][v] * columns->sine[x][u];
      double s = sign * (rows->sine[y][v] * columns->cosine[x][u] + rows->cosine[y][v] * columns->sine[x][u]);
      double re = planes[v * width + u], im = in->channels > 1 ? planes[(height + v) * width + u] : 0;
      sum += part ? re * s + im * c : re * c - im * s;
    }
  return sum / sqrt(height * width);
}

static double rescale_at(const double *x, const double *taken, int entries, double budget, int entry) {
  double mean = 0, count = 0;
  if (taken[entry] > 0) return 0;
  for (int i = 0; i < entries; i++)
    if (!(taken[i] > 0)) mean += x[i], count++;
  mean /= count;
  return budget <= mean * count ? x[entry] * budget / (mean * count)
                                : 1 - (1 - x[entry]) * (1 - budget / count) / (1 - mean);
}

/* Restores a value by the mean and the sample deviation of another image. */
static double restored_at(const double *like, int pixels, double value) {
  double mean = 0, square = 0;
  for (int i = 0; i < pixels; i++) mean += like[i] / pixels;
  for (int i = 0; i < pixels; i++) square += (like[i] - mean) * (like[i] - mean);
  return value * sqrt(square / (pixels - 1)) + mean;
}

static double share_at(const double *x, const double *taken, int entries, int entry) {
  double top = -INFINITY;
  for (int i = 0; i < entries; i++) top = fmax(top, x[i]);
  return taken[entry] > 0 ? 0 : log1p(exp(x[entry])) / log1p(exp(top));
}

/* Predicted and acquired frequencies, and the mask, the same on every line or of points; no gradient passes
 * to the last two. */
static double planes_at(const struct reference *r, const struct node *node, size_t image, int c, int y,
                        int x) {
  const struct tensor_shape *shape = &node->shape;
  size_t entries = elements(r, node->input[2].node);
  const double *mask = r->value[node->input[2].node] + image * entries;
  size_t pixels = (size_t)(shape->height * shape->width), place = (size_t)(y * shape->width + x);
  if (r->smooth && c > 1) return r->value[node - r->graph->node][(5 * image + (size_t)c) * pixels + place];
  if (c == 4) return mask[place % entries];
  return r->value[node->input[c / 2].node][(2 * image + (size_t)c % 2) * pixels + place];
}

/* ---- operations of several coils ----------------------------------------------------------------------- */

/* A value of copy `copy` of all of the batch, of the node's input k. */
static double input_at(const struct reference *r, const struct node *node, int k, size_t copy, int c, size_t pixel) {
  const struct tensor_shape *shape = &r->graph->node[node->input[k].node].shape;
  size_t pixels = (size_t)(shape->height * shape->width);
  return r->value[node->input[k].node][(copy * (size_t)shape->channels + (size_t)c) * pixels + pixel];
}

static double spread_at(const struct reference *r, const struct node *node, size_t copy, int c, size_t pixel) {
  size_t image = copy / (size_t)node->copies;
  double re = input_at(r, node, 0, copy, 0, pixel), im = input_at(r, node, 0, copy, 1, pixel);
  return re * input_at(r, node, 1, image, c, pixel) + (c ? im : -im) * input_at(r, node, 1, image, 1 - c, pixel);
}

static double gather_at(const struct reference *r, const struct node *node, size_t image, int c, size_t pixel) {
  size_t coils = (size_t)r->graph->node[node->input[0].node].copies;
  double sum = 0;
  for (size_t copy = image * coils; copy < (image + 1) * coils; copy++) {
    double re = input_at(r, node, 0, copy, 0, pixel), im = input_at(r, node, 0, copy, 1, pixel);
    sum += re * input_at(r, node, 1, copy, c, pixel) + (c ? -im : im) * input_at(r, node, 1, copy, 1 - c, pixel);
  }
  return sum;
}

static double root_at(const struct reference *r, const struct node *node, size_t image, size_t pixel) {
  const struct node *coils = &r->graph->node[node->input[0].node];
  double sum = 0;
  for (size_t copy = image * (size_t)coils->copies; copy < (image + 1) * (size_t)coils->copies; copy++)
    for (int c = 0; c < coils->shape.channels; c++) sum += pow(input_at(r, node, 0, copy, c, pixel), 2);
  return sqrt(sum);
}

static double consistency_at(const struct reference *r, const struct node *node, size_t copy, int c, size_t pixel) {
  size_t entries = elements(r, node->input[2].node), image = copy / (size_t)node->copies;
  double value = input_at(r, node, 0, copy, c, pixel), gap = value - input_at(r, node, 1, copy, c, pixel);
  return value - *r->parameter[node->weight] * r->value[node->input[2].node][image * entries + pixel % entries] * gap;
}

/* The response to a single pixel of a row of what keeps the columns of a mask, at distance d: found once for a copy, whose
 * first value is asked for first. */
static const double complex *response_of(const struct reference *r, const struct node *node, size_t copy, bool first) {
  static double complex response[64];
  size_t width = (size_t)node->shape.width;
  const double *mask = r->value[node->input[2].node] + copy / (size_t)node->copies * width;
  for (size_t d = 0; first && d < width; d++) {
    response[d] = 0;
    for (size_t k = 0; k < width; k++)
      response[d] += mask[k] * cexp(2 * M_PI * I * (double)(d * (k + width - width / 2)) / (double)width) / (double)width;
  }
  return response;
}

static double rows_at(const struct reference *r, const struct node *node, size_t copy, int c, size_t pixel) {
  size_t width = (size_t)node->shape.width, image = copy / (size_t)node->copies, row = pixel / width * width;
  const double complex *response = response_of(r, node, copy, !c && !pixel);
  double complex kept = 0, spread = (input_at(r, node, 3, copy, 0, pixel) + I * input_at(r, node, 3, copy, 1, pixel)) *
                                    (input_at(r, node, 4, image, 0, pixel) + I * input_at(r, node, 4, image, 1, pixel));
  for (size_t j = row; j < row + width; j++) {
    double re = input_at(r, node, 0, copy, 0, j) - input_at(r, node, 1, copy, 0, j),
           im = input_at(r, node, 0, copy, 1, j) - input_at(r, node, 1, copy, 1, j);
    kept += response[(pixel + width - j) % width] * (re + I * im);
  }
  kept = *r->parameter[node->weight] * kept + spread;
  return input_at(r, node, 0, copy, c, pixel) - (c ? cimag(kept) : creal(kept));
}

static double middle_at(const double *mask, int width, int x) {
  int left = 0, right = 0, middle = width / 2;
  while (left < middle && mask[middle - 1 - left] != 0) left++;
  while (middle + right < width && mask[middle + right] != 0) right++;
  int count = 2 * (left < right ? left : right), first = (width - (count ? count : 1) + 1) / 2;
  return x >= first && x < first + (count ? count : 1);
}

static bool is_of_coils(const struct op_desc *op) {
  const struct op_desc *const *row = op_coil_table;
  while (*row && *row != op) row++;
  return *row;
}

/* One output value of one copy of all images'. */
static double coil_node_at(const struct reference *r, const struct node *node, size_t copy, int c, int y, int x) {
  size_t pixel = (size_t)(y * node->shape.width + x), image = copy / (size_t)node->copies;
  if (node->op == &op_coil_spread) return spread_at(r, node, copy, c, pixel);
  if (node->op == &op_coil_gather) return gather_at(r, node, copy, c, pixel);
  if (node->op == &op_coil_root) return root_at(r, node, copy, pixel);
  if (node->op == &op_coil_unit) return input_at(r, node, 0, copy, c, pixel) / root_at(r, node, image, pixel);
  if (node->op == &op_consistency) return consistency_at(r, node, copy, c, pixel);
  if (node->op == &op_row_consistency) return rows_at(r, node, copy, c, pixel);
  if (node->op == &op_units) {
    const double *units = r->value[node->input[1].node] + 2 * image;
    return units[1] > 0 ? (input_at(r, node, 0, copy, c, pixel) - units[0]) / units[1] : 0;
  }
  return middle_at(r->value[node->input[0].node] + copy * (size_t)node->shape.width, node->shape.width, x);
}

/* One output value of one image. */
static double node_at(const struct reference *r, const struct node *node, size_t image, int c, int y, int x) {
  if (is_of_coils(node->op)) return coil_node_at(r, node, image, c, y, x);
  if (node->op == &op_learned)
    return r->parameter[node->weight][(c * node->shape.height + y) * node->shape.width + x];
  const struct tensor_shape *in = &r->graph->node[node->input[0].node].shape;
  const double *whole = r->value[node->input[0].node] + image * elements(r, node->input[0].node);
  size_t other = node->op == &op_multiply ? image / (size_t)node->copies : image;
  const double *second =
      node->inputs > 1 ? r->value[node->input[1].node] + other * elements(r, node->input[1].node) : NULL;
  int pixels = in->height * in->width;
  if (node->op == &op_log_softmax) return log_softmax_at(whole, second, in->channels, c);
  if (node->op == &op_fourier) return transform_at(whole, in, -1, c, y, x);
  if (node->op == &op_inverse_fourier) return transform_at(whole, in, 1, c, y, x);
  if (node->op == &op_conv) return conv_at(r, node, whole, c, y, x);
  if (node->op == &op_transposed) return transposed_at(r, node, whole, c, y, x);
  if (node->op == &op_linear) return linear_at(r, node, whole, c);
  if (node->op == &op_planes) return planes_at(r, node, image, c, y, x);
  if (node->op == &op_share)
    return share_at(whole, second, in->channels * pixels,
                    (c * node->shape.height + y) * node->shape.width + x);
  if (node->op == &op_concat && c >= in->channels)
    return second[(c - in->channels) * pixels + y * in->width + x];
  const double *plane = whole + c * pixels;
  if (node->op == &op_up_sample) return up_at(plane, in->height, in->width, y, x);
  if (node->op == &op_pad || node->op == &op_crop) {
    int down = node->shape.height - in->height, right = node->shape.width - in->width;
    int top = down < 0 ? -(-down / 2) : down / 2, left = right < 0 ? -(-right / 2) : right / 2;
    return pixel(plane, in->height, in->width, y - top, x - left);
  }
  if (node->op == &op_pool) {
    const double *corner = plane + 2 * y * in->width + 2 * x;
    return fmax(fmax(corner[0], corner[1]), fmax(corner[in->width], corner[in->width + 1]));
  }
  if (node->op == &op_average) {
    const double *corner = plane + 2 * y * in->width + 2 * x;
    return (corner[0] + corner[1] + corner[in->width] + corner[in->width + 1]) / 4;
  }
  double value = plane[y * in->width + x];
  if (node->op == &op_restore) return restored_at(second, in->channels * pixels, value);
  if (node->op == &op_restore_planes) return restored_at(second + c * pixels, pixels, value);
  if (node->op == &op_norm) return norm_at(plane, pixels, value, pixels, 1e-5);
  if (node->op == &op_normalise) return norm_at(plane, pixels, value, pixels - 1, 0);
  if (node->op == &op_multiply)
    return value * second[(size_t)(y * in->width + x) % elements(r, node->input[1].node)];
  if (node->op == &op_scale) return node->slope * value;
  if (node->op == &op_add) return value + second[c * pixels + y * in->width + x];
  if (node->op == &op_rescale)
    return rescale_at(whole, second, in->channels * pixels, node->budget, c * pixels + y * in->width + x);
  if (node->op == &op_magnitude) return hypot(value, plane[pixels + y * in->width + x]);
  if (node->op == &op_standardise) return standard_at(whole, in->channels * pixels, value);
  if (node->op == &op_relu) return value > 0 ? value : node->slope * value;
  if (node->op == &op_softplus) return log1p(exp(value));
  if (node->op == &op_sigmoid) return sigmoid_of(value);
  if (node->op == &op_straight_through)
    return step_at(r, node, value, second[c * pixels + y * in->width + x]);
  return value; /* concatenation */
}

/* Draws of the device, and values that stop the gradient, stay as they are. */
static bool is_fixed(const struct reference *r, const struct node *node) {
  return !node->op || node->op == &op_exact_threshold ||
         (r->smooth && (node->op == &op_detach || node->op == &op_middle));
}

static void run_reference(struct reference *r) {
  for (int i = 0; i < r->graph->nodes; i++) {
    const struct node *node = &r->graph->node[i];
    double *to = r->value[i];
    if (is_fixed(r, node)) continue;
    for (size_t image = 0; image < BATCH * (size_t)node->copies; image++)
      for (int c = 0; c < node->shape.channels; c++)
        for (int y = 0; y < node->shape.height; y++)
          for (int x = 0; x < node->shape.width; x++) *to++ = node_at(r, node, image, c, y, x);
  }
}

/* ---- a graph on the device and in double --------------------------------------------------------------- */

struct bench {
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  struct arena *arena;
  struct reference reference;
  tensor input, output;
  double *slope; /* weights of the output: the gradient that backward starts from */
};

typedef tensor architecture(struct graph *graph, tensor x);

static void fill_random(double *values, size_t count, uint32_t seed) {
  struct random random;
  random_start(&random, seed, STREAM_PHANTOM, 0);
  for (size_t i = 0; i < count; i++)
    values[i] = (float)random_normal(&random); /* both know the same number */
}

static void write_doubles(struct bench *bench, cl_mem to, const double *values, size_t count) {
  float *floats = ARENA_NEW(bench->arena, float, count);
  for (size_t i = 0; i < count; i++) floats[i] = (float)values[i];
  device_write(bench->device, to, 0, sizeof(float) * count, floats);
}

static float *read_floats(struct bench *bench, cl_mem from, size_t count) {
  float *floats = ARENA_NEW(bench->arena, float, count);
  device_read(bench->device, from, 0, sizeof(float) * count, floats);
  return floats;
}

static size_t count_values(const struct bench *bench, tensor x) {
  return BATCH * graph_values(bench->graph, x);
}

static bool is_input(const struct bench *bench, int node) {
  return !bench->graph->node[node].op;
}

/* Random numbers; the input named 'taken' is 0 or 1. */
static void fill_inputs(struct bench *bench) {
  for (int i = 0; i < bench->graph->nodes; i++) {
    size_t count = count_values(bench, (tensor){(uint16_t)i});
    double *values = bench->reference.value[i];
    if (!is_input(bench, i)) continue;
    fill_random(values, count, 1 + 100 * (uint32_t)i);
    for (size_t k = 0; k < count && !strcmp(bench->graph->node[i].name, "taken"); k++)
      values[k] = values[k] > 0.5;
  }
}

static void open_values(struct bench *bench) {
  struct reference *r = &bench->reference;
  r->graph = bench->graph;
  for (int i = 0; i < bench->graph->nodes; i++)
    r->value[i] = ARENA_NEW(bench->arena, double, count_values(bench, (tensor){(uint16_t)i}));
  for (int i = 0; i < bench->graph->parameters; i++) {
    const struct parameter *parameter = &bench->graph->parameter[i];
    r->parameter[i] = ARENA_NEW(bench->arena, double, parameter->count);
    fill_random(r->parameter[i], parameter->count, 10 + (uint32_t)i);
    write_doubles(bench, parameter->value, r->parameter[i], parameter->count);
  }
  size_t outputs = count_values(bench, bench->output);
  bench->slope = ARENA_NEW(bench->arena, double, outputs);
  fill_random(bench->slope, outputs, 2);
  fill_inputs(bench);
}

static void open_bench(struct bench *bench, struct device *device, architecture *build, int channels,
                       int height, int width) {
  struct error error;
  struct kernel_setup setup = {32, 32, false, ""};
  *bench = (struct bench){.device = device, .arena = arena_open()};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &setup, &error), &error);
  struct graph_setup plan = {device, bench->kernels, BATCH, true, true, NULL};
  graph_open(&bench->graph);
  bench->input = graph_input(bench->graph, "input", channels, height, width);
  bench->output = build(bench->graph, bench->input);
  assert_good(graph_plan(bench->graph, &plan, &error), &error);
  open_values(bench);
}

/* A draw is no function of the probabilities: the reference takes the device's thresholds, which stay
 * where an output or backward needs them. */
static void take_draws(struct bench *bench) {
  for (int i = 0; i < bench->graph->nodes; i++) {
    tensor x = {(uint16_t)i};
    if (bench->graph->node[i].op != &op_exact_threshold) continue;
    const float *drawn = read_floats(bench, graph_value(bench->graph, x), count_values(bench, x));
    for (size_t k = 0; k < count_values(bench, x); k++) bench->reference.value[i][k] = drawn[k];
  }
}

static void run_device(struct bench *bench) {
  struct error error;
  for (int i = 0; i < bench->graph->nodes; i++)
    if (is_input(bench, i))
      write_doubles(bench, bench->graph->node[i].value, bench->reference.value[i],
                    count_values(bench, (tensor){(uint16_t)i}));
  graph_forward(bench->graph);
  take_draws(bench);
  write_doubles(bench, graph_gradient(bench->graph, bench->output), bench->slope,
                count_values(bench, bench->output));
  graph_zero_gradients(bench->graph);
  graph_backward(bench->graph);
  assert_good(device_finish(bench->device, &error), &error);
}

static void close_bench(struct bench *bench) {
  graph_close(bench->graph);
  kernels_close(bench->kernels);
  arena_close(bench->arena);
}

static void check_close(const char *what, const float *found, const double *expected, size_t count,
                        double bound) {
  double largest = 0, worst = 0;
  for (size_t i = 0; i < count; i++) {
    largest = fmax(largest, fabs(expected[i]));
    worst = fmax(worst, fabs(found[i] - expected[i]));
  }
  if (!(worst <= bound * largest + 1e-7)) fail_msg("%s is off by %.3g of %.3g", what, worst, largest);
}

/* The weighed sum of the outputs. */
static double objective(struct bench *bench) {
  double sum = 0;
  run_reference(&bench->reference);
  for (size_t i = 0; i < count_values(bench, bench->output); i++)
    sum += bench->slope[i] * bench->reference.value[bench->output.node][i];
  return sum;
}

static void check_gradient(struct bench *bench, const char *what, double *values, size_t count,
                           cl_mem gradient) {
  const double step = 1e-6;
  double *expected = ARENA_NEW(bench->arena, double, count);
  for (size_t i = 0; i < count; i++) {
    double kept = values[i];
    values[i] = kept + step;
    double above = objective(bench);
    values[i] = kept - step;
    expected[i] = (above - objective(bench)) / (2 * step);
    values[i] = kept;
  }
  check_close(what, read_floats(bench, gradient, count), expected, count, 2e-6);
}

/* Output and all gradients; an input without one is skipped, and `taken`, which is no number. */
static void check_bench(struct bench *bench) {
  struct reference *r = &bench->reference;
  run_device(bench);
  objective(bench);
  size_t outputs = count_values(bench, bench->output);
  check_close("the output", read_floats(bench, graph_value(bench->graph, bench->output), outputs),
              r->value[bench->output.node], outputs, 2e-6);
  r->smooth = true;
  for (int i = 0; i < bench->graph->nodes; i++) {
    const struct node *node = &bench->graph->node[i];
    if (is_input(bench, i) && node->gradient && strcmp(node->name, "taken") != 0)
      check_gradient(bench, node->name, r->value[i], count_values(bench, (tensor){(uint16_t)i}),
                     node->gradient);
  }
  for (int i = 0; i < bench->graph->parameters; i++)
    check_gradient(bench, bench->graph->parameter[i].name, r->parameter[i], bench->graph->parameter[i].count,
                   bench->graph->parameter[i].gradient);
}

static const struct op_desc *tried[64]; /* ended by NULL */

static bool is_tried(const struct op_desc *op) {
  const struct op_desc **place = tried;
  while (*place && *place != op) place++;
  return *place;
}

static void note_tried(const struct graph *graph) {
  size_t count = 0;
  while (tried[count]) count++;
  for (int i = 0; i < graph->nodes; i++) {
    const struct op_desc *op = graph->node[i].op;
    if (!op || is_tried(op)) continue;
    assert_true(count + 1 < sizeof tried / sizeof *tried);
    tried[count++] = op;
  }
}

static void check_graph(struct device *device, architecture *build, int channels, int height, int width) {
  struct bench bench;
  open_bench(&bench, device, build, channels, height, width);
  note_tried(bench.graph);
  assert_non_null(graph_gradient(bench.graph, bench.input));
  check_bench(&bench);
  close_bench(&bench);
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static tensor build_conv3(struct graph *graph, tensor x) {
  return conv2d(graph, x, "conv", 5, 3);
}

static tensor build_conv1(struct graph *graph, tensor x) {
  return conv2d(graph, x, "conv", 6, 1);
}

static tensor build_norm(struct graph *graph, tensor x) {
  return instance_norm(graph, x);
}

static tensor build_standardise(struct graph *graph, tensor x) {
  return standardise_image(graph, x);
}

static tensor build_standardise_shared(struct graph *graph, tensor x) {
  return concat(graph, standardise_image(graph, x), sigmoid(graph, x));
}

static tensor build_relu(struct graph *graph, tensor x) {
  return relu(graph, x);
}

static tensor build_leaky(struct graph *graph, tensor x) {
  return leaky_relu(graph, x, 0.01f);
}

static tensor build_softplus(struct graph *graph, tensor x) {
  return softplus(graph, x);
}

static tensor build_sigmoid(struct graph *graph, tensor x) {
  return sigmoid(graph, x);
}

static tensor build_pool(struct graph *graph, tensor x) {
  return max_pool(graph, x);
}

static tensor build_up_sample(struct graph *graph, tensor x) {
  return up_sample(graph, x);
}

static tensor build_concat(struct graph *graph, tensor x) {
  return concat(graph, conv2d(graph, x, "a", 2, 1), conv2d(graph, x, "b", 3, 1));
}

/* Of 5x7: odd and even differences on both sides, and an input with another consumer. */
static tensor build_pad(struct graph *graph, tensor x) {
  return pad(graph, x, 8, 9);
}

static tensor build_crop(struct graph *graph, tensor x) {
  return crop(graph, x, 4, 2);
}

static tensor build_pad_shared(struct graph *graph, tensor x) {
  return concat(graph, crop(graph, pad(graph, x, 8, 8), 5, 7), concat(graph, sigmoid(graph, x), pad(graph, x, 5, 7)));
}

/* Pads, and cuts again. */
static tensor build_padded_unet(struct graph *graph, tensor x) {
  return net_unet(graph, x, 2, 2);
}

static tensor build_linear(struct graph *graph, tensor x) {
  return linear(graph, x, "dense", 7);
}

/* An input of the shape of x beside it. */
static tensor input_like(struct graph *graph, tensor x, const char *name) {
  const struct tensor_shape *shape = &graph_node(graph, x)->shape;
  return graph_input(graph, name, shape->channels, shape->height, shape->width);
}

/* Softplus makes the taken actions' -1e10 a 0. */
static tensor build_log_softmax(struct graph *graph, tensor x) {
  return softplus(graph, log_softmax(graph, x, input_like(graph, x, "taken")));
}

static tensor build_log_softmax_shared(struct graph *graph, tensor x) {
  return concat(graph, build_log_softmax(graph, x), x);
}

static tensor build_step(struct graph *graph, tensor x) {
  return straight_through(graph, x, input_like(graph, x, "threshold"), 10);
}

static tensor build_step_passed(struct graph *graph, tensor x) {
  return straight_through(graph, x, input_like(graph, x, "threshold"), 0);
}

static tensor build_step_shared(struct graph *graph, tensor x) {
  return concat(graph, build_step(graph, x), sigmoid(graph, x));
}

static tensor build_plain(struct graph *graph, tensor x) {
  return conv2d_plain(graph, conv2d_plain(graph, x, "a", 5, 3), "b", 2, 1);
}

static tensor build_transposed(struct graph *graph, tensor x) {
  return conv_transposed(graph, x, "up", 5);
}

static tensor build_transposed_shared(struct graph *graph, tensor x) {
  return concat(graph, average_pool(graph, conv_transposed(graph, x, "up", 1)), sigmoid(graph, x));
}

static tensor build_average(struct graph *graph, tensor x) {
  return average_pool(graph, x);
}

static tensor build_normalise(struct graph *graph, tensor x) {
  return normalise_planes(graph, x);
}

static tensor build_restore_planes(struct graph *graph, tensor x) {
  return restore_planes(graph, concat(graph, normalise_planes(graph, x), sigmoid(graph, x)), concat(graph, x, x));
}

enum { COILS = 3 };

static tensor coils_like(struct graph *graph, tensor x, const char *name) {
  const struct tensor_shape *shape = &graph_node(graph, x)->shape;
  return graph_input_copies(graph, name, COILS, shape->channels, shape->height, shape->width);
}

static tensor build_spread(struct graph *graph, tensor x) {
  return coil_spread(graph, coils_like(graph, x, "maps"), x);
}

/* Maps and image have other consumers. */
static tensor build_gather(struct graph *graph, tensor x) {
  tensor maps = coils_like(graph, x, "maps"), spread = coil_spread(graph, maps, x);
  return concat(graph, coil_gather(graph, maps, add(graph, spread, coils_like(graph, x, "coils"))), x);
}

static tensor build_root(struct graph *graph, tensor x) {
  tensor coils = build_spread(graph, x);
  return concat(graph, coil_root(graph, coils), coil_root(graph, sigmoid(graph, coils)));
}

static tensor build_unit(struct graph *graph, tensor x) {
  tensor coils = build_spread(graph, x);
  return concat(graph, coil_unit(graph, coils), coils);
}

static tensor keep_to(struct graph *graph, tensor x, tensor mask) {
  tensor coils = build_spread(graph, x), acquired = coils_like(graph, x, "acquired");
  tensor twice = consistency(graph, consistency(graph, coils, acquired, mask, "step.a"), acquired, mask, "step.b");
  return add(graph, twice, multiply(graph, coils, mask));
}

static tensor build_consistency(struct graph *graph, tensor x) {
  return keep_to(graph, x, graph_input(graph, "mask", 1, 1, graph_node(graph, x)->shape.width));
}

static tensor build_consistency_of_points(struct graph *graph, tensor x) {
  const struct tensor_shape *shape = &graph_node(graph, x)->shape;
  return keep_to(graph, x, graph_input(graph, "mask", 1, shape->height, shape->width));
}

/* The first one's values are its reference too. */
static tensor build_rows(struct graph *graph, tensor x) {
  tensor maps = coils_like(graph, x, "maps"), coils = coil_spread(graph, maps, x),
         mask = graph_input(graph, "mask", 1, 1, graph_node(graph, x)->shape.width);
  assert_true(row_consistency_fits(graph, x, mask));
  tensor once = row_consistency(graph, &(struct row_inputs){coils, coils, mask, maps, x}, "step.a");
  return row_consistency(graph, &(struct row_inputs){once, coils_like(graph, x, "acquired"), mask, maps, x}, "step.b");
}

static tensor build_units(struct graph *graph, tensor x) {
  return concat(graph, in_units(graph, x, graph_input(graph, "units", 2, 1, 1)), x);
}

static tensor build_middle(struct graph *graph, tensor x) {
  return multiply(graph, x, mask_middle(graph, graph_input(graph, "taken", 1, 1, graph_node(graph, x)->shape.width)));
}

/* Convolutions of copies have the same parameters. */
static tensor build_copies(struct graph *graph, tensor x) {
  tensor coils = inverse_fourier(graph, build_spread(graph, x));
  coils = restore_planes(graph, conv2d(graph, normalise_planes(graph, coils), "a", 2, 3), coils);
  return add(graph, coils, conv_transposed(graph, average_pool(graph, coils), "b", 2));
}

static tensor build_learned(struct graph *graph, tensor x) {
  const struct tensor_shape *shape = &graph_node(graph, x)->shape;
  return add(graph, x, learned(graph, "values", shape->channels, shape->height, shape->width, 1));
}

static tensor build_scale(struct graph *graph, tensor x) {
  return scale(graph, x, -2.5f);
}

static tensor build_add(struct graph *graph, tensor x) {
  return add(graph, add(graph, x, sigmoid(graph, x)), x);
}

/* Some 22 of 2 x 35 entries are taken, and the others' mean is near a half. */
static tensor build_rescale_down(struct graph *graph, tensor x) {
  return rescale(graph, sigmoid(graph, x), input_like(graph, x, "taken"), 9);
}

static tensor build_rescale_up(struct graph *graph, tensor x) {
  return rescale(graph, sigmoid(graph, x), input_like(graph, x, "taken"), 35);
}

static tensor build_rescale_shared(struct graph *graph, tensor x) {
  tensor chance = sigmoid(graph, x);
  return concat(graph, rescale(graph, chance, input_like(graph, x, "taken"), 5), chance);
}

/* A mask as LOUPE draws it. */
static tensor build_exact(struct graph *graph, tensor x) {
  tensor taken = input_like(graph, x, "taken"), scan = graph_input(graph, "scan", 1, 1, 1);
  tensor chance = rescale(graph, sigmoid(graph, scale(graph, x, 5)), taken, 3);
  return straight_through(graph, chance, exact_threshold(graph, chance, taken, scan, 3, 7, 1), 10);
}

/* The whole of joint training, with the step replaced by the sigmoid that backward takes it for: mask, image,
 * and a network that reconstructs. */
static tensor build_smooth_mask(struct graph *graph, tensor x) {
  int width = graph_node(graph, x)->shape.width;
  tensor taken = graph_input(graph, "taken", 1, 1, width), scan = graph_input(graph, "scan", 1, 1, 1);
  tensor chance =
      rescale(graph, sigmoid(graph, scale(graph, learned(graph, "values", 1, 1, width, 0.2), 5)), taken, 3);
  tensor threshold = exact_threshold(graph, chance, taken, scan, 3, 7, 1);
  graph_output(graph, threshold); /* take_draws reads it after the forward pass */
  tensor bits = sigmoid(graph, scale(graph, add(graph, chance, scale(graph, threshold, -1)), 10));
  tensor masked =
      multiply(graph, fourier(graph, x), add(graph, bits, graph_input(graph, "given", 1, 1, width)));
  tensor image = standardise_image(graph, magnitude(graph, inverse_fourier(graph, masked)));
  return conv2d(graph, relu(graph, instance_norm(graph, conv2d(graph, image, "a", 3, 3))), "b", 1, 1);
}

static tensor build_detach(struct graph *graph, tensor x) {
  return concat(graph, sigmoid(graph, x), detach(graph, x));
}

static tensor build_restore(struct graph *graph, tensor x) {
  return restore_image(graph, x, input_like(graph, x, "like"));
}

/* The image restores itself by its own mean and deviation too. */
static tensor build_restore_itself(struct graph *graph, tensor x) {
  return concat(graph, restore_image(graph, x, x), restore_image(graph, x, sigmoid(graph, x)));
}

static tensor build_share(struct graph *graph, tensor x) {
  return softplus_share(graph, x, input_like(graph, x, "taken"));
}

static tensor build_share_shared(struct graph *graph, tensor x) {
  const struct tensor_shape *shape = &graph_node(graph, x)->shape;
  tensor taken = graph_input(graph, "taken", shape->width, shape->height, shape->channels);
  return concat(graph, softplus_share(graph, x, taken), softplus_share(graph, x, taken));
}

static tensor build_planes(struct graph *graph, tensor x) {
  tensor mask = graph_input(graph, "mask", 1, 1, graph_node(graph, x)->shape.width);
  return concat(graph, sampler_planes(graph, x, input_like(graph, x, "acquired"), mask), x);
}

static tensor build_planes_of_points(struct graph *graph, tensor x) {
  const struct tensor_shape *shape = &graph_node(graph, x)->shape;
  tensor mask = graph_input(graph, "mask", 1, shape->height, shape->width);
  return concat(graph, sampler_planes(graph, x, input_like(graph, x, "acquired"), mask), x);
}

/* Takes the same parameters twice, with others between. */
static tensor build_twice(struct graph *graph, tensor x) {
  graph_share(graph);
  x = conv2d(graph, x, "a", 3, 3);
  x = conv2d(graph, sigmoid(graph, x), "b", 3, 3);
  x = conv2d(graph, sigmoid(graph, x), "b", 3, 3);
  return linear(graph, add(graph, linear(graph, x, "c", 4), linear(graph, sigmoid(graph, x), "c", 4)), "d",
                2);
}

static tensor reconstruct_small(struct graph *graph, tensor x) {
  x = leaky_relu(graph, instance_norm(graph, conv2d(graph, x, "r.a", 3, 3)), 0.3f);
  return conv2d(graph, x, "r.b", 1, 1);
}

static tensor reconstruct_complex(struct graph *graph, tensor x) {
  return net_unet_sum(graph, reconstruct_small(graph, x), x, false);
}

static tensor build_sum(struct graph *graph, tensor x) {
  return net_unet_sum(graph, conv2d(graph, x, "r", 1, 3), x, false);
}

static tensor build_absolute_sum(struct graph *graph, tensor x) {
  return net_unet_sum(graph, conv2d(graph, x, "r", 1, 3), x, true);
}

static struct scan_shape shape_of(struct graph *graph, tensor x, enum acquisition_geometry geometry) {
  const struct tensor_shape *shape = &graph_node(graph, x)->shape;
  return scan_shape_make((size_t)shape->height, (size_t)shape->width, geometry);
}

/* All of LOUPE's training from complex images, with the step replaced by the sigmoid. */
static tensor build_loupe_complex(struct graph *graph, tensor x) {
  struct net_loupe_setup setup = {.shape = shape_of(graph, x, GEOMETRY_LINES),
                                  .budget = 3,
                                  .seed = 5,
                                  .slope = 2,
                                  .views = true,
                                  .view = VIEW_COMPLEX,
                                  .smooth = true};
  struct net_loupe net = net_loupe(graph, &setup);
  return add(graph, reconstruct_complex(graph, net.observed), x);
}

/* Builds LOUPE's graph of points. */
static tensor build_loupe_points(struct graph *graph, tensor x) {
  struct net_loupe_setup setup = {.shape = shape_of(graph, x, GEOMETRY_POINTS),
                                  .points = true,
                                  .budget = 9,
                                  .seed = 5,
                                  .slope = 2,
                                  .views = true,
                                  .view = VIEW_MAGNITUDE,
                                  .smooth = true};
  struct net_loupe net = net_loupe(graph, &setup);
  return add(graph, reconstruct_small(graph, net.observed), x);
}

static tensor reconstruct_seen(struct graph *graph, const struct net_tau *net, uint32_t pass) {
  return reconstruct_small(graph, net->observed[pass]);
}

static tensor reconstruct_seen_complex(struct graph *graph, const struct net_tau *net, uint32_t pass) {
  return reconstruct_complex(graph, net->observed[pass]);
}

/* Keeps to acquired frequencies of coils, as a variational network does. */
static tensor reconstruct_coils(struct graph *graph, const struct net_tau *net, uint32_t pass) {
  tensor own = conv2d(graph, net->observed[pass], "r.a", 2, 3);
  return coil_root(graph, inverse_fourier(graph, consistency(graph, own, net->observed[pass], net->kept[pass], "r.step")));
}

/* All of tau-step training in one graph, with the step replaced by the sigmoid that backward takes it for:
 * the reconstructor of every pass and the sampler of every step are the same. */
static tensor build_tau(struct graph *graph, tensor x, enum net_view_kind view, bool adaptive) {
  struct net_tau_setup setup = {.shape = shape_of(graph, x, GEOMETRY_LINES),
                                .coils = COILS,
                                .hidden = 4,
                                .steps = 2,
                                .budget = 3,
                                .seed = 5,
                                .slope = 2,
                                .view = view,
                                .adaptive = adaptive,
                                .smooth = true,
                                .reconstruct = view == VIEW_COILS     ? reconstruct_coils
                                               : view == VIEW_COMPLEX ? reconstruct_seen_complex
                                                                      : reconstruct_seen};
  struct net_tau net = net_tau(graph, &setup);
  return add(graph, setup.reconstruct(graph, &net, 2), x);
}

/* The sampler of points is a U-Net. */
static tensor build_tau_points(struct graph *graph, tensor x) {
  struct net_tau_setup setup = {.shape = shape_of(graph, x, GEOMETRY_POINTS),
                                .points = true,
                                .channels = 2,
                                .pools = 1,
                                .steps = 2,
                                .budget = 9,
                                .seed = 5,
                                .slope = 2,
                                .view = VIEW_MAGNITUDE,
                                .adaptive = true,
                                .smooth = true,
                                .reconstruct = reconstruct_seen};
  struct net_tau net = net_tau(graph, &setup);
  return add(graph, reconstruct_small(graph, net.observed[2]), x);
}

static tensor build_tau_adaptive(struct graph *graph, tensor x) {
  return build_tau(graph, x, VIEW_MAGNITUDE, true);
}

static tensor build_tau_fixed(struct graph *graph, tensor x) {
  return build_tau(graph, x, VIEW_MAGNITUDE, false);
}

static tensor build_tau_complex(struct graph *graph, tensor x) {
  return build_tau(graph, x, VIEW_COMPLEX, true);
}

static tensor build_tau_coils(struct graph *graph, tensor x) {
  return build_tau(graph, x, VIEW_COILS, true);
}

static tensor build_fourier(struct graph *graph, tensor x) {
  return fourier(graph, x);
}

static tensor build_inverse(struct graph *graph, tensor x) {
  return inverse_fourier(graph, x);
}

static tensor build_points(struct graph *graph, tensor x) {
  const struct tensor_shape *shape = &graph_node(graph, x)->shape;
  return multiply(graph, x, graph_input(graph, "mask", 1, shape->height, shape->width));
}

static tensor build_columns(struct graph *graph, tensor x) {
  return multiply(graph, x, graph_input(graph, "mask", 1, 1, graph_node(graph, x)->shape.width));
}

static tensor build_columns_twice(struct graph *graph, tensor x) {
  tensor mask = graph_input(graph, "mask", 1, 1, graph_node(graph, x)->shape.width);
  return multiply(graph, multiply(graph, x, mask), mask);
}

static tensor build_magnitude(struct graph *graph, tensor x) {
  return magnitude(graph, x);
}

/* Builds what learned masks do: the magnitude of the image of masked frequencies, beside the image itself. */
static tensor build_masked_image(struct graph *graph, tensor x) {
  tensor frequencies = fourier(graph, x),
         zero_filled = inverse_fourier(graph, build_columns(graph, frequencies));
  return concat(graph, standardise_image(graph, magnitude(graph, zero_filled)),
                concat(graph, frequencies, x));
}

/* Every consumer adds to the gradient of what it shares; the bias before the norm gets an exact 0. */
static tensor build_shared(struct graph *graph, tensor x) {
  tensor a = leaky_relu(graph, instance_norm(graph, conv2d(graph, x, "a", 3, 3)), 0.2f);
  tensor low = sigmoid(graph, max_pool(graph, a)), b = concat(graph, up_sample(graph, low), a);
  return concat(graph, conv2d(graph, concat(graph, b, b), "c", 2, 3), softplus(graph, a));
}

/* The rows of engine/graph, and those that stand beside a network. */
static void expect_all_tried(void) {
  assert_true(is_tried(&op_planes));
  for (const struct op_desc *const *op = op_coil_table; *op; op++)
    if (!is_tried(*op)) fail_msg("no case has operation %s", (*op)->name);
  for (const struct op_desc *const *op = op_table; *op; op++)
    if (!is_tried(*op)) fail_msg("no case has operation %s", (*op)->name);
}

/* Transforms share few sizes: PoCL takes two seconds to compile clFFT's kernels of one. */
static void test_operations(void **state) {
  static const struct {
    const char *name;
    architecture *build;
    int channels, height, width;
  } cases[] = {{"conv 3x3", build_conv3, 3, 7, 11},
               {"conv 3x3 on one line", build_conv3, 1, 1, 17},
               {"conv 1x1", build_conv1, 3, 5, 8},
               {"conv without bias", build_plain, 3, 7, 11},
               {"transposed conv", build_transposed, 3, 5, 11},
               {"transposed conv, shared input", build_transposed_shared, 5, 3, 8},
               {"norm", build_norm, 3, 5, 7},
               {"normalise", build_normalise, 3, 5, 7},
               {"restore planes", build_restore_planes, 2, 5, 7},
               {"standardise", build_standardise, 2, 5, 7},
               {"standardise two pixels", build_standardise, 1, 1, 2},
               {"standardise, shared input", build_standardise_shared, 1, 7, 9},
               {"relu", build_relu, 2, 5, 7},
               {"leaky relu", build_leaky, 2, 5, 7},
               {"softplus", build_softplus, 2, 5, 7},
               {"sigmoid", build_sigmoid, 2, 5, 7},
               {"max pool", build_pool, 2, 6, 10},
               {"max pool, odd", build_pool, 2, 7, 11},
               {"average pool", build_average, 2, 6, 20},
               {"average pool, odd", build_average, 2, 7, 11},
               {"up-sample", build_up_sample, 2, 5, 7},
               {"up-sample of one pixel", build_up_sample, 2, 1, 1},
               {"concat", build_concat, 2, 5, 7},
               {"pad", build_pad, 2, 5, 7},
               {"crop", build_crop, 2, 5, 7},
               {"pad and crop, shared input", build_pad_shared, 2, 5, 7},
               {"padded U-Net", build_padded_unet, 1, 5, 7},
               {"linear", build_linear, 2, 3, 5},
               {"log-softmax", build_log_softmax, 37, 1, 1},
               {"log-softmax of two", build_log_softmax, 2, 1, 1},
               {"log-softmax, shared input", build_log_softmax_shared, 200, 1, 1},
               {"step", build_step, 2, 5, 7},
               {"step, gradient passed", build_step_passed, 2, 5, 7},
               {"step, shared input", build_step_shared, 2, 5, 7},
               {"learned values", build_learned, 2, 5, 7},
               {"scale", build_scale, 2, 5, 7},
               {"add", build_add, 2, 5, 7},
               {"rescale down", build_rescale_down, 2, 5, 7},
               {"rescale up", build_rescale_up, 2, 5, 7},
               {"rescale, shared input", build_rescale_shared, 2, 5, 7},
               {"exact draw", build_exact, 1, 1, 15},
               {"smooth mask to reconstruction", build_smooth_mask, 2, 6, 15},
               {"no gradient", build_detach, 2, 5, 7},
               {"restore", build_restore, 2, 5, 7},
               {"restore two pixels", build_restore, 1, 1, 2},
               {"restore by itself", build_restore_itself, 1, 9, 7},
               {"share of the largest", build_share, 2, 5, 7},
               {"share of the largest, turned", build_share_shared, 9, 1, 2},
               {"sampler's planes", build_planes, 2, 5, 7},
               {"sampler's planes, of points", build_planes_of_points, 2, 5, 7},
               {"the same parameters twice", build_twice, 2, 4, 5},
               {"tau-step sampling", build_tau_adaptive, 1, 10, 8},
               {"tau-step sampling, not adaptive", build_tau_fixed, 1, 8, 10},
               {"tau-step sampling of complex images", build_tau_complex, 1, 6, 8},
               {"tau-step sampling of coils", build_tau_coils, 1, 6, 8},
               {"LOUPE's of complex images", build_loupe_complex, 1, 10, 8},
               {"LOUPE's of points", build_loupe_points, 1, 6, 8},
               {"tau-step sampling of points", build_tau_points, 1, 6, 4},
               {"sum with a magnitude", build_sum, 2, 5, 7},
               {"absolute sum with a magnitude", build_absolute_sum, 2, 5, 7},
               {"transform of a real image", build_fourier, 1, 6, 10},
               {"transform of a real image, odd", build_fourier, 1, 7, 9},
               {"transform", build_fourier, 2, 6, 10},
               {"transform, odd", build_fourier, 2, 7, 9},
               {"transform of other lengths", build_fourier, 2, 17, 6},
               {"transform of a line", build_fourier, 2, 1, 13},
               {"transform of a column", build_fourier, 2, 12, 1},
               {"inverse transform", build_inverse, 2, 7, 9},
               {"mask of columns", build_columns, 3, 5, 37},
               {"mask of columns, twice", build_columns_twice, 2, 9, 7},
               {"mask of points", build_points, 3, 5, 37},
               {"magnitude", build_magnitude, 2, 5, 7},
               {"masked image", build_masked_image, 2, 7, 9},
               {"spread over coils", build_spread, 2, 5, 7},
               {"gathered from coils", build_gather, 2, 5, 7},
               {"root of coils", build_root, 2, 5, 7},
               {"unit coils", build_unit, 2, 5, 7},
               {"consistency", build_consistency, 2, 3, 5},
               {"consistency of points", build_consistency_of_points, 2, 3, 5},
               {"consistency of rows", build_rows, 2, 1, 32},
               {"units", build_units, 1, 5, 7},
               {"middle of a mask", build_middle, 2, 3, 9},
               {"copies", build_copies, 2, 6, 10},
               {"shared inputs", build_shared, 2, 6, 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    print_message("%s\n", cases[i].name);
    check_graph(*state, cases[i].build, cases[i].channels, cases[i].height, cases[i].width);
  }
  expect_all_tried();
}

/* <A x, y> = <x, A' y>; the bias of a convolution is made zero. */
static void check_adjoint(struct device *device, architecture *build, int channels, int height, int width) {
  struct bench bench;
  double forward = 0, backward = 0, size = 0;
  open_bench(&bench, device, build, channels, height, width);
  for (int i = 0; i < bench.graph->parameters; i++)
    if (bench.graph->parameter[i].rank == 1)
      device_fill(device, bench.graph->parameter[i].value, 0, sizeof(float) * bench.graph->parameter[i].count,
                  0);
  run_device(&bench);
  size_t outputs = count_values(&bench, bench.output), inputs = count_values(&bench, bench.input);
  const float *output = read_floats(&bench, graph_value(bench.graph, bench.output), outputs);
  const float *gradient = read_floats(&bench, graph_gradient(bench.graph, bench.input), inputs);
  for (size_t i = 0; i < outputs; i++) {
    forward += output[i] * bench.slope[i];
    size += fabs(output[i] * bench.slope[i]);
  }
  for (size_t i = 0; i < inputs; i++) backward += gradient[i] * bench.reference.value[bench.input.node][i];
  if (fabs(forward - backward) > 1e-6 * size) fail_msg("<Ax, y> is %.9g, <x, A'y> %.9g", forward, backward);
  close_bench(&bench);
}

static void test_adjoints(void **state) {
  check_adjoint(*state, build_conv3, 17, 37, 41);
  check_adjoint(*state, build_conv1, 9, 33, 29);
  check_adjoint(*state, build_plain, 9, 33, 29);
  check_adjoint(*state, build_transposed, 9, 17, 29);
  check_adjoint(*state, build_average, 5, 31, 27);
  check_adjoint(*state, build_spread, 2, 31, 27);
  check_adjoint(*state, build_up_sample, 5, 31, 27);
  check_adjoint(*state, build_concat, 3, 31, 27);
  check_adjoint(*state, build_pad, 3, 7, 8);
  check_adjoint(*state, build_crop, 3, 7, 8);
  check_adjoint(*state, build_linear, 3, 31, 27);
  check_adjoint(*state, build_fourier, 2, 64, 48);
  check_adjoint(*state, build_fourier, 2, 33, 35);
  check_adjoint(*state, build_fourier, 1, 33, 35);
  check_adjoint(*state, build_inverse, 2, 33, 35);
  check_adjoint(*state, build_columns, 3, 31, 37);
  check_adjoint(*state, build_points, 3, 31, 37);
}

/* The bias before a norm changes nothing: its gradient is 0, not rounding. */
static tensor build_biased_norm(struct graph *graph, tensor x) {
  return instance_norm(graph, conv2d(graph, x, "conv", 3, 3));
}

static void test_cancelled_bias(void **state) {
  struct bench bench;
  open_bench(&bench, *state, build_biased_norm, 2, 16, 16);
  run_device(&bench);
  const float *gradient = read_floats(&bench, graph_find(bench.graph, "conv.bias")->gradient, 3);
  for (int i = 0; i < 3; i++) assert_true(gradient[i] == 0);
  close_bench(&bench);
}

/* Far from 0, and nothing free in the second image: no infinity, no NaN. */
static tensor build_actions(struct graph *graph, tensor x) {
  return log_softmax(graph, x, input_like(graph, x, "taken"));
}

static void test_actions(void **state) {
  enum { ACTIONS = 1000 };
  struct bench bench;
  open_bench(&bench, *state, build_actions, ACTIONS, 1, 1);
  double *logits = bench.reference.value[0], *taken = bench.reference.value[1], sum = 0;
  for (int i = 0; i < ACTIONS; i++) {
    logits[i] = (float)(logits[i] * 3 + 300);
    taken[ACTIONS + i] = 1;
  }
  run_device(&bench);
  objective(&bench);
  const float *found = read_floats(&bench, graph_value(bench.graph, bench.output), BATCH * ACTIONS);
  const float *gradient = read_floats(&bench, graph_gradient(bench.graph, bench.input), BATCH * ACTIONS);
  for (int i = 0; i < BATCH * ACTIONS; i++) {
    double expected = bench.reference.value[bench.output.node][i];
    if (taken[i] > 0)
      assert_true(found[i] == -1e10f && gradient[i] == 0);
    else
      assert_true(fabs(found[i] - expected) < 2e-6 * fabs(expected));
    sum += exp(found[i]);
  }
  assert_true(fabs(sum - 1) < 1e-5);
  close_bench(&bench);
}

/* Pixels that are clamped still move mean and deviation of the others. */
static void test_clamped(void **state) {
  struct bench bench;
  open_bench(&bench, *state, build_standardise, 1, 9, 11);
  double *pixels = bench.reference.value[bench.input.node];
  pixels[7] = 100; /* one of 99 pixels can be 9.8 deviations off */
  pixels[98] = -20;
  pixels[99 + 98] = -80;
  objective(&bench);
  assert_true(bench.reference.value[bench.output.node][7] == 6);
  assert_true(bench.reference.value[bench.output.node][99 + 98] == -6);
  check_bench(&bench);
  close_bench(&bench);
}

/* Images without deviation give 0 and get 0; those far from 0 keep their digits. */
static void test_constant(void **state) {
  enum { PIXELS = 33 * 37 };
  struct bench bench;
  open_bench(&bench, *state, build_standardise, 1, 33, 37);
  double *pixels = bench.reference.value[bench.input.node];
  for (int i = 0; i < PIXELS; i++) {
    pixels[i] = (float)(1000 + pixels[i] / 16);
    pixels[PIXELS + i] = 1.1f;
  }
  run_device(&bench);
  objective(&bench);
  const float *found = read_floats(&bench, graph_value(bench.graph, bench.output), 2 * PIXELS);
  check_close("the output", found, bench.reference.value[bench.output.node], PIXELS, 1e-6);
  const float *gradient = read_floats(&bench, graph_gradient(bench.graph, bench.input), 2 * PIXELS);
  for (int i = PIXELS; i < 2 * PIXELS; i++) assert_true(found[i] == 0 && gradient[i] == 0);
  close_bench(&bench);
}

/* 0 has no direction: the gradient is 0, as PyTorch's is. */
static void test_no_magnitude(void **state) {
  struct bench bench;
  open_bench(&bench, *state, build_magnitude, 2, 3, 4);
  for (int i = 0; i < 2; i++) bench.reference.value[bench.input.node][12 * i + 5] = 0;
  run_device(&bench);
  const float *gradient = read_floats(&bench, graph_gradient(bench.graph, bench.input), 24);
  assert_true(gradient[5] == 0 && gradient[17] == 0 && gradient[4] != 0);
  close_bench(&bench);
}

/* Fewer images than the plan has room for: the same bytes, and the others are left alone. Of this size clFFT
 * may want a buffer of its own: the plan has it. */
static void test_part_of_batch(void **state) {
  enum { VALUES = 2 * 15 * 14 };
  struct bench bench;
  size_t before = ((struct device *)*state)->bytes;
  open_bench(&bench, *state, build_fourier, 2, 15, 14);
  uint64_t allocations = bench.device->allocations;
  cl_mem output = graph_value(bench.graph, bench.output), gradient = graph_gradient(bench.graph, bench.input);
  run_device(&bench);
  const float *whole = read_floats(&bench, output, BATCH * VALUES);
  const float *whole_gradient = read_floats(&bench, gradient, BATCH * VALUES);
  device_fill(bench.device, output, 0, sizeof(float) * BATCH * VALUES, 0);
  device_fill(bench.device, gradient, 0, sizeof(float) * BATCH * VALUES, 0);
  graph_set_images(bench.graph, 1);
  graph_forward(bench.graph);
  const float *part = read_floats(&bench, output, BATCH * VALUES);
  write_doubles(&bench, graph_gradient(bench.graph, bench.output), bench.slope, VALUES);
  graph_backward(bench.graph);
  const float *part_gradient = read_floats(&bench, gradient, BATCH * VALUES);
  assert_memory_equal(part, whole, sizeof(float) * VALUES);
  assert_memory_equal(part_gradient, whole_gradient, sizeof(float) * VALUES);
  for (int i = VALUES; i < BATCH * VALUES; i++) assert_true(part[i] == 0 && part_gradient[i] == 0);
  assert_int_equal(bench.device->allocations, allocations);
  close_bench(&bench);
  assert_int_equal(((struct device *)*state)->bytes, before);
}

/* A node that only blocking inputs read gets no gradient, and neither does what lies behind it. */
static tensor build_blocked(struct graph *graph, tensor x) {
  return straight_through(graph, x, conv2d(graph, x, "threshold", 2, 1), 10);
}

static void test_blocked(void **state) {
  struct bench bench;
  open_bench(&bench, *state, build_blocked, 2, 5, 7);
  run_device(&bench);
  assert_null(bench.graph->node[1].gradient);
  const float *gradient = read_floats(&bench, graph_find(bench.graph, "threshold.weight")->gradient, 4);
  for (int i = 0; i < 4; i++) assert_true(gradient[i] == 0);
  close_bench(&bench);
  check_graph(*state, build_step_shared, 2, 5, 7);
}

static void local_memory_is_compared_with_the_devices(void **state) {
  struct device *device = *state;
  struct bench bench = {.device = device, .arena = arena_open()};
  const struct kernel_setup setup = {32, 32, false, ""};
  const cl_ulong declared = device->facts.declared;
  struct error error;
  assert_int_equal(rows_local(1024), 8 * (4 * (32 * 33 + 1) + 1024));
  assert_good(kernels_open(&bench.kernels, device, &kernel_table, &setup, &error), &error);
  const struct graph_setup plan = {device, bench.kernels, BATCH, true, true, NULL};
  graph_open(&bench.graph);
  build_rows(bench.graph, graph_input(bench.graph, "input", 2, 1, 32));
  device->facts.declared = 64;
  assert_false(graph_plan(bench.graph, &plan, &error));
  device->facts.declared = declared;
  assert_holds(error.text, "bytes of local memory for lines of 32 columns, and a kernel of");
  close_bench(&bench);
}

int main(void) {
  support_optimise(false);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operations),     cmocka_unit_test(test_adjoints),
      cmocka_unit_test(test_cancelled_bias), cmocka_unit_test(test_actions),
      cmocka_unit_test(test_clamped),        cmocka_unit_test(test_constant),
      cmocka_unit_test(test_no_magnitude),   cmocka_unit_test(test_part_of_batch),
      cmocka_unit_test(test_blocked),        cmocka_unit_test(local_memory_is_compared_with_the_devices),
  };
  return cmocka_run_group_tests_name("gradients", tests, support_open_transforms, support_close_transforms);
}
