/* The variational network's U-Net as one operation in halves against the same operations one by one in
 * floats: output, gradients of parameters and of the input. Where the device lacks the matrix instructions,
 * its lanes are emulated (engine/device/device.h). */
#include "engine/base/random.h"
#include "engine/fused/unet.h"
#include "kernels/kernels.h"
#include "systems/networks/net_varnet.h"
#include "tests/support.h"

#include <math.h>

struct unet_case {
  int rows, columns, channels, pools, copies;
  double gradient_bound; /* halves turn the sign of a value near 0, whose gradient then has another slope:
                            more by layers */
};

struct unet_side {
  struct graph *graph;
  tensor input, output;
};

static void open_side(struct unet_side *side, struct device *device, struct kernels *kernels,
                      const struct unet_case *test, bool half) {
  struct graph_setup setup = {device, kernels, 2, true, true, NULL};
  struct error error;
  graph_open(&side->graph);
  side->input = graph_input_copies(side->graph, "input", test->copies, 2, test->rows, test->columns);
  side->output = net_norm_unet(side->graph, side->input, "unet", test->channels, test->pools, half);
  assert_good(graph_plan(side->graph, &setup, &error), &error);
  graph_start(side->graph, 7);
  graph_zero_gradients(side->graph);
  graph_set_images(side->graph, 1); /* of two that there is room for */
}

/* Images of an offset and a size that are far from 0 and 1. */
static void run_side(struct unet_side *side, struct device *device, size_t count) {
  struct arena *arena = arena_open();
  float *values = ARENA_NEW(arena, float, 2 * count);
  struct random random;
  random_start(&random, 3, STREAM_PHANTOM, 0);
  for (size_t i = 0; i < count; i++)
    values[i] = (float)(40 + 9 * sin(0.07 * (double)i) + 3 * random_normal(&random));
  for (size_t i = count; i < 2 * count; i++) values[i] = (float)(1e-6 * random_normal(&random));
  device_write(device, graph_value(side->graph, side->input), 0, sizeof(float) * count, values);
  graph_forward(side->graph);
  device_write(device, graph_gradient(side->graph, side->output), 0, sizeof(float) * count, values + count);
  graph_backward(side->graph);
  arena_close(arena);
}

static void expect_close(struct device *device, cl_mem found, cl_mem expected, size_t count, double bound,
                         const char *name) {
  double off = device_distance(device, found, expected, count);
  if (!(off <= bound)) fail_msg("%s is off by %.2e, bound %.0e", name, off, bound);
}

static void check_unet(struct device *device, const struct unet_case *test) {
  struct unet_side half, portable;
  struct kernels *kernels;
  struct kernel_setup setup = {32, 32, false, ""};
  struct error error;
  size_t count = (size_t)(2 * test->copies * test->rows * test->columns);
  assert_good(kernels_open(&kernels, device, &kernel_table, &setup, &error), &error);
  open_side(&half, device, kernels, test, true);
  open_side(&portable, device, kernels, test, false);
  assert_int_equal(half.graph->parameters, portable.graph->parameters);
  run_side(&half, device, count);
  run_side(&portable, device, count);
  assert_good(device_finish(device, &error), &error);
  expect_close(device, graph_value(half.graph, half.output), graph_value(portable.graph, portable.output),
               count, 1e-3, "the output");
  for (int i = 0; i < portable.graph->parameters; i++) {
    const struct parameter *expected = &portable.graph->parameter[i], *found = &half.graph->parameter[i];
    assert_string_equal(found->name, expected->name);
    assert_int_equal(found->offset, expected->offset);
    expect_close(device, found->gradient, expected->gradient, expected->count, test->gradient_bound,
                 expected->name);
  }
  expect_close(device, graph_gradient(half.graph, half.input), graph_gradient(portable.graph, portable.input),
               count, test->gradient_bound, "the gradient of the input");
  graph_close(half.graph);
  graph_close(portable.graph);
  kernels_close(kernels);
}

static void test_unet_in_halves(void **state) {
  struct device *device = *state;
  check_unet(device, &(struct unet_case){20, 18, 9, 1, 2, 1e-1});
  if (device->facts.matrix != MATRIX_NVIDIA) return; /* emulated lanes are slow */
  check_unet(device, &(struct unet_case){80, 60, 18, 4, 2, 2e-1});
  check_unet(device, &(struct unet_case){30, 328, 18, 2, 1, 2e-1});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unet_in_halves)};
  return cmocka_run_group_tests_name("unet", tests, support_open_matrix, support_close_device);
}
