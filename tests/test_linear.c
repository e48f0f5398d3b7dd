/* Linear layers by matrix instructions, emulated where the device has none: against scalar double sums, with
 * sizes that leave tiles, chunks and spans unfilled; the same to the bit for any number of images. */
#include "engine/base/random.h"
#include "engine/graph/graph.h"
#include "kernels/kernels.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

struct sizes {
  size_t images, inputs;
  int outputs;
  enum graph_products products;
  double tolerance; /* relative to the largest value */
};

struct bench {
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  struct arena *arena;
  struct sizes sizes;
  tensor input, output;
  const float *x, *slope, *weight,
      *bias; /* [images][inputs], [images][outputs], [outputs][inputs], [outputs] */
};

static const float *write_random(struct bench *bench, cl_mem buffer, size_t count, uint32_t seed) {
  float *values = ARENA_NEW(bench->arena, float, count);
  struct random random;
  random_start(&random, seed, STREAM_START, 0);
  for (size_t i = 0; i < count; i++) values[i] = (float)random_normal(&random);
  device_write(bench->device, buffer, 0, sizeof(float) * count, values);
  return values;
}

static float *read_values(struct bench *bench, cl_mem buffer, size_t count) {
  float *values = ARENA_NEW(bench->arena, float, count);
  device_read(bench->device, buffer, 0, sizeof(float) * count, values);
  return values;
}

static void open_bench(struct bench *bench, struct device *device, const struct sizes *sizes) {
  struct error error;
  struct kernel_setup kernel_setup = {32, 32, false, ""};
  *bench = (struct bench){.device = device, .arena = arena_open(), .sizes = *sizes};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &kernel_setup, &error), &error);
  struct graph_setup plan = {.device = device,
                             .kernels = bench->kernels,
                             .batch = sizes->images,
                             .train = true,
                             .input_gradient = true};
  graph_open(&bench->graph);
  bench->graph->products = sizes->products;
  bench->input = graph_input(bench->graph, "input", (int)sizes->inputs, 1, 1);
  bench->output = linear(bench->graph, bench->input, "dense", sizes->outputs);
  assert_good(graph_plan(bench->graph, &plan, &error), &error);
  const struct parameter *weight = graph_find(bench->graph, "dense.weight"),
                         *bias = graph_find(bench->graph, "dense.bias");
  size_t outputs = (size_t)sizes->outputs;
  bench->x = write_random(bench, graph_value(bench->graph, bench->input), sizes->images * sizes->inputs, 1);
  bench->weight = write_random(bench, weight->value, outputs * sizes->inputs, 2);
  bench->bias = write_random(bench, bias->value, outputs, 3);
}

static void close_bench(struct bench *bench) {
  graph_close(bench->graph);
  kernels_close(bench->kernels);
  arena_close(bench->arena);
}

/* A sum of products of two rows, `a_step` and `b_step` from one to the next. */
static double sum_of(const float *a, size_t a_step, const float *b, size_t b_step, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (double)a[i * a_step] * b[i * b_step];
  return sum;
}

/* Differences are of the usual size of a sum of so many products of normal numbers. */
static void assert_close(float found, double expected, size_t count, double tolerance, const char *what) {
  if (fabs(found - expected) <= tolerance * sqrt((double)count)) return;
  fail_msg("%s: found %.9g, expected %.9g", what, (double)found, expected);
}

static void check_forward(struct bench *bench) {
  const struct sizes *s = &bench->sizes;
  size_t outputs = (size_t)s->outputs;
  const float *found = read_values(bench, graph_value(bench->graph, bench->output), s->images * outputs);
  for (size_t i = 0; i < s->images; i++)
    for (size_t o = 0; o < outputs; o++)
      assert_close(found[i * outputs + o],
                   bench->bias[o] +
                       sum_of(bench->x + i * s->inputs, 1, bench->weight + o * s->inputs, 1, s->inputs),
                   s->inputs, s->tolerance, "forward");
}

static void check_backward(struct bench *bench) {
  const struct sizes *s = &bench->sizes;
  size_t outputs = (size_t)s->outputs;
  const float *input = read_values(bench, graph_gradient(bench->graph, bench->input), s->images * s->inputs),
              *weight =
                  read_values(bench, graph_find(bench->graph, "dense.weight")->gradient, outputs * s->inputs),
              *bias = read_values(bench, graph_find(bench->graph, "dense.bias")->gradient, outputs);
  for (size_t i = 0; i < s->images; i++)
    for (size_t k = 0; k < s->inputs; k++)
      assert_close(input[i * s->inputs + k],
                   sum_of(bench->slope + i * outputs, 1, bench->weight + k, s->inputs, outputs), outputs,
                   s->tolerance, "the input's gradient");
  for (size_t o = 0; o < outputs; o++) {
    const float one = 1;
    assert_close(bias[o], sum_of(bench->slope + o, outputs, &one, 0, s->images), s->images, 1e-5,
                 "the bias's gradient");
    for (size_t k = 0; k < s->inputs; k++)
      assert_close(weight[o * s->inputs + k],
                   sum_of(bench->slope + o, outputs, bench->x + k, s->inputs, s->images), s->images,
                   s->tolerance, "the weight's gradient");
  }
}

static void check_sizes(struct device *device, const struct sizes *sizes) {
  struct bench bench;
  open_bench(&bench, device, sizes);
  graph_zero_gradients(bench.graph);
  graph_forward(bench.graph);
  bench.slope = write_random(&bench, graph_gradient(bench.graph, bench.output),
                             sizes->images * (size_t)sizes->outputs, 4);
  graph_backward(bench.graph);
  check_forward(&bench);
  check_backward(&bench);
  close_bench(&bench);
}

/* Few rows and many, short sums and long ones; the smallest too. */
static void test_rounded(void **state) {
  const double tolerance = 3e-3;
  check_sizes(*state, &(struct sizes){1, 16, 1, PRODUCTS_ROUNDED, tolerance});
  check_sizes(*state, &(struct sizes){5, 16, 32, PRODUCTS_ROUNDED, tolerance});
  check_sizes(*state, &(struct sizes){5, 48, 7, PRODUCTS_ROUNDED, tolerance});
  check_sizes(*state, &(struct sizes){70, 176, 144, PRODUCTS_ROUNDED, tolerance});
  check_sizes(*state, &(struct sizes){3, 4112, 2, PRODUCTS_ROUNDED, tolerance});
}

static void test_split(void **state) {
  const double tolerance = 1e-5;
  check_sizes(*state, &(struct sizes){5, 16, 32, PRODUCTS_SPLIT, tolerance});
  check_sizes(*state, &(struct sizes){5, 48, 7, PRODUCTS_SPLIT, tolerance});
  check_sizes(*state, &(struct sizes){70, 80, 144, PRODUCTS_SPLIT, tolerance});
}

/* A second backward pass adds to the parameters' gradients. */
static void test_adds(void **state) {
  const struct sizes sizes = {5, 48, 16, PRODUCTS_ROUNDED, 3e-3};
  struct bench bench;
  size_t count = 48 * 16;
  open_bench(&bench, *state, &sizes);
  cl_mem gradient = graph_find(bench.graph, "dense.weight")->gradient;
  bench.slope = write_random(&bench, graph_gradient(bench.graph, bench.output), 5 * 16, 4);
  graph_zero_gradients(bench.graph);
  graph_forward(bench.graph);
  graph_backward(bench.graph);
  const float *once = read_values(&bench, gradient, count);
  graph_backward(bench.graph);
  const float *twice = read_values(&bench, gradient, count);
  for (size_t i = 0; i < count; i++) assert_close(twice[i], 2 * once[i], 5, 1e-6, "twice the gradient");
  close_bench(&bench);
}

/* Small tiles and large ones. */
static void test_images_alone(void **state) {
  enum { IMAGES = 66, INPUTS = 144, OUTPUTS = 9 };
  const struct sizes sizes = {IMAGES, INPUTS, OUTPUTS, PRODUCTS_ROUNDED, 0};
  struct bench bench;
  open_bench(&bench, *state, &sizes);
  cl_mem output = graph_value(bench.graph, bench.output);
  graph_forward(bench.graph);
  const float *all = read_values(&bench, output, IMAGES * OUTPUTS);
  for (size_t i = 0; i < IMAGES; i += 13) {
    device_write(bench.device, graph_value(bench.graph, bench.input), 0, sizeof(float) * INPUTS,
                 bench.x + i * INPUTS);
    graph_set_images(bench.graph, 1);
    graph_forward(bench.graph);
    assert_memory_equal(read_values(&bench, output, OUTPUTS), all + i * OUTPUTS, sizeof(float) * OUTPUTS);
  }
  close_bench(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounded), cmocka_unit_test(test_split),
                                     cmocka_unit_test(test_adds), cmocka_unit_test(test_images_alone)};
  return cmocka_run_group_tests_name("linear", tests, support_open_matrix, support_close_device);
}
