/* The variational network against PyTorch in double precision (tests/varnet_vectors.py), the number of its
 * parameters, the sizes that it refuses. */
#include "kernels/kernels.h"
#include "systems/checks/vectors.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/net_varnet.h"
#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

enum { IMAGES = 2, COILS = 3, HEIGHT = 24, WIDTH = 20, PIXELS = HEIGHT * WIDTH, CASCADES = 2 };

/* ---- reference vectors --------------------------------------------------------------------------------- */

static int seen, broken;

static void see(const char *source, const char *quantity, double worst, double bound, void *context) {
  (void)context;
  seen++;
  if (worst <= bound) return;
  broken++;
  print_error("%s: %s is off by %.3g, bound %.0e\n", source, quantity, worst, bound);
}

struct bench {
  struct vectors vectors;
  struct verify verify;
  struct kernels *kernels;
  struct graph *graph;
  struct net_varnet net;
};

static void fill(struct bench *bench, const char *name, tensor to, size_t count) {
  struct error error;
  void *data;
  assert_good(vectors_read(&bench->vectors, name, STORE_F32, count, &data, &error), &error);
  device_write(bench->verify.device, graph_value(bench->graph, to), 0, sizeof(float) * count, data);
}

static const char *named(struct bench *bench, const char *group, const char *name) {
  return arena_text(bench->vectors.arena, "%s/%s", group, name);
}

/* The network of the vectors, with their parameters and inputs; the plan has room for an image more. */
static void open_bench(struct bench *bench, struct device *device, bool maps) {
  struct error error;
  struct kernel_setup setup = {HEIGHT, WIDTH, false, ""};
  struct net_varnet_setup net = {HEIGHT, WIDTH, COILS, CASCADES, 4, 2, 4, 2, .maps = maps};
  *bench = (struct bench){.verify = {device, "", see, NULL}};
  const char *data = getenv("L2SR_TEST_DATA");
  REQUIRE(data, "L2SR_TEST_DATA names no folder");
  struct arena *arena = arena_open();
  assert_good(
      vectors_open(&bench->vectors, &bench->verify, arena_text(arena, "%s/varnet_24x20.h5", data), &error),
      &error);
  arena_close(arena);
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &setup, &error), &error);
  graph_open(&bench->graph);
  bench->net = net_varnet(bench->graph, &net);
  struct graph_setup plan = {device, bench->kernels, IMAGES + 1, true, true, NULL};
  assert_good(graph_plan(bench->graph, &plan, &error), &error);
  graph_set_images(bench->graph, IMAGES);
}

static void close_bench(struct bench *bench) {
  graph_close(bench->graph);
  kernels_close(bench->kernels);
  vectors_close(&bench->vectors);
}

/* Of a network with given maps the file has more parameters than it takes: those of the other. */
static void read_parameters(struct bench *bench) {
  struct error error;
  for (int i = 0; i < bench->graph->parameters; i++) {
    const struct parameter *parameter = &bench->graph->parameter[i];
    void *data;
    assert_good(vectors_read(&bench->vectors, named(bench, "param", parameter->name), STORE_F32,
                             parameter->count, &data, &error),
                &error);
    device_write(bench->verify.device, parameter->value, 0, sizeof(float) * parameter->count, data);
  }
}

static void run(struct bench *bench, const char *group) {
  const struct net_varnet *net = &bench->net;
  struct error error;
  void *slope;
  read_parameters(bench);
  fill(bench, "frequencies", net->frequencies, (size_t)IMAGES * COILS * 2 * PIXELS);
  fill(bench, "mask", net->mask, (size_t)IMAGES * WIDTH);
  if (!graph_node(bench->graph, net->maps)->op)
    fill(bench, "maps", net->maps, (size_t)IMAGES * COILS * 2 * PIXELS);
  graph_forward(bench->graph);
  assert_good(vectors_read(&bench->vectors, named(bench, group, "slope"), STORE_F32, (size_t)IMAGES * PIXELS,
                           &slope, &error),
              &error);
  device_write(bench->verify.device, graph_gradient(bench->graph, net->out), 0,
               sizeof(float) * IMAGES * PIXELS, slope);
  graph_zero_gradients(bench->graph);
  graph_backward(bench->graph);
  assert_good(device_finish(bench->verify.device, &error), &error);
}

static void compare(struct bench *bench, const char *group) {
  struct error error;
  assert_good(vectors_compare(&bench->vectors, named(bench, group, "out"),
                              graph_value(bench->graph, bench->net.out), (size_t)IMAGES * PIXELS, 1e-5,
                              &error) &&
                  vectors_compare(&bench->vectors, named(bench, group, "grad_frequencies"),
                                  graph_gradient(bench->graph, bench->net.frequencies),
                                  (size_t)IMAGES * COILS * 2 * PIXELS, 1e-4, &error),
              &error);
}

/* Image, and gradients of the frequencies and of every parameter. */
static void follows_its_reference(void **state) {
  struct bench bench;
  struct error error;
  seen = broken = 0;
  open_bench(&bench, *state, false);
  run(&bench, "network");
  compare(&bench, "network");
  assert_good(
      vectors_compare_flat(&bench.vectors, "network/grad", bench.graph, bench.graph->gradients, 1e-4, &error),
      &error);
  assert_int_equal(seen, 2 + bench.graph->parameters);
  assert_int_equal(broken, 0);
  close_bench(&bench);
}

static void follows_it_with_maps_that_are_given(void **state) {
  struct bench bench;
  struct error error;
  seen = broken = 0;
  open_bench(&bench, *state, true);
  run(&bench, "given");
  compare(&bench, "given");
  for (int i = 0; i < CASCADES; i++) {
    const char *name = arena_text(bench.vectors.arena, "cascades.%d.dc_weight", i);
    assert_good(vectors_compare(&bench.vectors, named(&bench, "given/grad", name),
                                graph_find(bench.graph, name)->gradient, 1, 1e-4, &error),
                &error);
  }
  assert_int_equal(seen, 2 + CASCADES);
  assert_int_equal(broken, 0);
  close_bench(&bench);
}

/* A coil without a signal, as slices with fewer coils than others have, leaves the others as they are; so do
 * fewer images. */
static void an_empty_coil_changes_nothing(void **state) {
  struct net_varnet_setup setup = {HEIGHT, WIDTH, COILS + 1, CASCADES, 4, 2, 4, 2, .maps = false};
  struct bench bench;
  struct error error;
  static float values[(COILS + 1) * 2 * PIXELS];
  void *acquired;
  seen = broken = 0;
  open_bench(&bench, *state, false);
  struct device *device = bench.verify.device;
  graph_close(bench.graph);
  graph_open(&bench.graph);
  bench.net = net_varnet(bench.graph, &setup);
  struct graph_setup plan = {device, bench.kernels, 1, false, false, NULL};
  assert_good(graph_plan(bench.graph, &plan, &error), &error);
  read_parameters(&bench);
  assert_good(vectors_read(&bench.vectors, "frequencies", STORE_F32, (size_t)IMAGES * COILS * 2 * PIXELS,
                           &acquired, &error),
              &error);
  memcpy(values, acquired, sizeof(float) * COILS * 2 * PIXELS);
  device_write(device, graph_value(bench.graph, bench.net.frequencies), 0, sizeof values, values);
  void *mask, *expected;
  assert_good(
      vectors_read(&bench.vectors, "mask", STORE_F32, (size_t)IMAGES * WIDTH, &mask, &error) &&
          vectors_read(&bench.vectors, "network/out", STORE_F64, (size_t)IMAGES * PIXELS, &expected, &error),
      &error);
  device_write(device, graph_value(bench.graph, bench.net.mask), 0, sizeof(float) * WIDTH, mask);
  graph_forward(bench.graph);
  static float found[PIXELS];
  device_read(device, graph_value(bench.graph, bench.net.out), 0, sizeof found, found);
  assert_good(device_finish(device, &error), &error);
  assert_true(vectors_error(found, expected, PIXELS, 0) < 1e-5);
  close_bench(&bench);
}

/* ---- the architecture ---------------------------------------------------------------------------------- */

static struct graph *build(const struct net_varnet_setup *setup) {
  struct graph *graph;
  graph_open(&graph);
  net_varnet(graph, setup);
  return graph;
}

/* The published sizes, of 320x320 and of a width that is padded; another number of coils has the same
 * parameters. */
static void has_as_many_parameters_as_the_published_one(void **state) {
  (void)state;
  struct net_varnet_setup setup = {640, 372, 15, 12, 18, 4, 8, 4, .maps = false};
  struct error error;
  struct graph *graph = build(&setup);
  assert_good(graph_good(graph, &error), &error);
  assert_int_equal(graph_parameter_count(graph), 29936966);
  assert_int_equal(graph->parameters, 324);
  graph_close(graph);
  setup.coils = 1;
  setup.maps = true;
  graph = build(&setup);
  assert_int_equal(graph_parameter_count(graph), 29936966 - 484898);
  graph_close(graph);
}

static void expect_refusal(const struct net_varnet_setup *setup, const char *text) {
  struct error error;
  struct graph *graph = build(setup);
  assert_false(graph_good(graph, &error));
  assert_holds(error.text, text);
  graph_close(graph);
}

static void refuses_other_sizes(void **state) {
  const struct net_varnet_setup good = {32, 32, 2, 2, 4, 2, 4, 2, .maps = false};
  struct net_varnet_setup setup = good;
  (void)state;
  setup.cascades = 0;
  expect_refusal(&setup, "2 coils and 0 cascades");
  setup = good;
  setup.sense_pools = 13;
  expect_refusal(
      &setup,
      "the sensitivities' U-Net with 4 channels and 13 pools; it takes 1 channel or more and 1 to 12");
  setup = good;
  setup.points = true;
  expect_refusal(&setup, "with points or spokes give it maps");
  setup = good;
  setup.cascades = 60;
  expect_refusal(&setup, "more than 2048 nodes");
}

/* What has matrix instructions takes it (tests/test_unet.c). */
static void halves_want_matrix_instructions(void **state) {
  struct device *device = *state;
  const struct net_varnet_setup setup = {32, 32, 1, 1, 4, 1, 4, 1, .maps = true, .half = true};
  struct kernel_setup kernel_setup = {32, 32, false, ""};
  struct kernels *kernels;
  struct error error;
  if (device->facts.matrix != MATRIX_NONE) skip();
  assert_good(kernels_open(&kernels, device, &kernel_table, &kernel_setup, &error), &error);
  struct graph *graph = build(&setup);
  struct graph_setup plan = {device, kernels, 1, false, false, NULL};
  assert_false(graph_plan(graph, &plan, &error));
  assert_holds(error.text, "has no matrix instructions that a U-Net in half precision knows");
  graph_close(graph);
  kernels_close(kernels);
}

static void refuses_more_channels_in_halves(void **state) {
  const struct net_varnet_setup setup = {32, 32, 2, 2, 40, 4, 4, 2, .maps = true, .half = true};
  (void)state;
  expect_refusal(&setup, "40 channels and 4 pools; in half precision it takes 1 to 6 pools, and 1 to 512 channels");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_its_reference),
      cmocka_unit_test(follows_it_with_maps_that_are_given),
      cmocka_unit_test(an_empty_coil_changes_nothing),
      cmocka_unit_test(has_as_many_parameters_as_the_published_one),
      cmocka_unit_test(refuses_other_sizes),
      cmocka_unit_test(halves_want_matrix_instructions),
      cmocka_unit_test(refuses_more_channels_in_halves),
  };
  return cmocka_run_group_tests_name("varnet", tests, support_open_transforms, support_close_transforms);
}
