/* Graphs: refused shapes, the plan (nothing that lives at the same time overlaps), its printing, the refusal
 * for want of memory, shared parameters, micro-batches, and that running allocates nothing. */
#include "engine/base/random.h"
#include "engine/base/round.h"
#include "engine/graph/graph.h"
#include "kernels/kernels.h"
#include "tests/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two levels with a skip: every kind of lifetime. */
static tensor small_net(struct graph *graph, tensor x) {
  tensor skip = relu(graph, instance_norm(graph, conv2d(graph, x, "first", 6, 3)));
  tensor low = relu(graph, instance_norm(graph, conv2d(graph, max_pool(graph, skip), "second", 10, 3)));
  tensor wide = concat(graph, up_sample(graph, low), skip);
  return conv2d(graph, leaky_relu(graph, conv2d(graph, wide, "third", 5, 3), 0.1f), "last", 1, 1);
}

/* ---- shapes -------------------------------------------------------------------------------------------- */

typedef tensor architecture(struct graph *graph, tensor x);

static tensor build_size(struct graph *graph, tensor x) {
  return conv2d(graph, x, "five", 8, 5);
}

static tensor build_channels(struct graph *graph, tensor x) {
  return conv2d(graph, x, "none", 0, 3);
}

static tensor build_pool(struct graph *graph, tensor x) {
  for (int i = 0; i < 4; i++) x = max_pool(graph, x);
  return x;
}

static tensor build_concat(struct graph *graph, tensor x) {
  return concat(graph, up_sample(graph, max_pool(graph, x)), x);
}

static tensor build_slope(struct graph *graph, tensor x) {
  return leaky_relu(graph, x, 2);
}

static tensor build_norm(struct graph *graph, tensor x) {
  return instance_norm(graph, linear(graph, x, "dense", 4));
}

static tensor build_linear(struct graph *graph, tensor x) {
  return linear(graph, x, "dense", 0);
}

static tensor build_fourier(struct graph *graph, tensor x) {
  return fourier(graph, concat(graph, x, x));
}

static tensor build_columns(struct graph *graph, tensor x) {
  return multiply(graph, x, graph_input(graph, "mask", 1, 8, 13));
}

static tensor build_magnitude(struct graph *graph, tensor x) {
  return magnitude(graph, conv2d(graph, x, "one", 1, 1));
}

static tensor build_standardise(struct graph *graph, tensor x) {
  return standardise_image(graph, linear(graph, x, "dense", 1));
}

static tensor build_logits(struct graph *graph, tensor x) {
  return log_softmax(graph, x, x);
}

static tensor build_taken(struct graph *graph, tensor x) {
  return log_softmax(graph, linear(graph, x, "dense", 4), graph_input(graph, "taken", 5, 1, 1));
}

static tensor build_step(struct graph *graph, tensor x) {
  return straight_through(graph, x, x, -1);
}

static tensor build_threshold(struct graph *graph, tensor x) {
  return straight_through(graph, x, graph_input(graph, "limit", 1, 9, 13), 10);
}

static void test_refusals(void **state) {
  static const struct {
    architecture *build;
    const char *text;
  } cases[] = {
      {build_size, "conv2d 'five' on 'input': the size is 5; it must be 1 or 3"},
      {build_channels, "conv2d 'none' on 'input': 0 output channels"},
      {build_pool, "1x1 cannot be halved; height and width must be at least 2"},
      {build_concat, "8x12 does not match the 9x13 of 'input'; height and width must agree"},
      {build_slope, "the slope is 2; it must be 0 to 1"},
      {build_norm, "a plane has one pixel"},
      {build_linear, "0 outputs; there must be at least 1"},
      {build_fourier, "4 channels; a complex image has 2, real and imaginary"},
      {build_columns, "the factor 'mask' is 1x8x13; it must be 1x1x13, as wide as the image, or 1x9x13"},
      {build_magnitude, "1 channels; a complex image has 2, real and imaginary"},
      {build_standardise, "an image has one pixel; standardising needs at least 2"},
      {build_logits, "logits of 2x9x13; their height and width must be 1"},
      {build_taken, "'taken' is 5x1x1; it must be 4x1x1, as the logits are"},
      {build_step, "the slope is -1; it must be 0 or more"},
      {build_threshold, "the threshold 'limit' is 1x9x13; it must be 2x9x13, as the input is"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct graph *graph;
    struct error error;
    graph_open(&graph);
    tensor x = cases[i].build(graph, graph_input(graph, "input", 2, 9, 13));
    x = relu(graph, x); /* later nodes keep the first text */
    assert_false(graph_good(graph, &error));
    assert_holds(error.text, cases[i].text);
    graph_close(graph);
  }
}

static void test_shapes(void **state) {
  struct graph *graph;
  struct error error;
  (void)state;
  graph_open(&graph);
  tensor x = graph_input(graph, "input", 2, 9, 13);
  assert_int_equal(graph_elements(graph, max_pool(graph, x)), 2 * 4 * 6);
  assert_int_equal(graph_elements(graph, up_sample(graph, x)), 2 * 18 * 26);
  assert_int_equal(graph_elements(graph, concat(graph, x, conv2d(graph, x, "a", 3, 1))), 5 * 9 * 13);
  assert_int_equal(graph_elements(graph, linear(graph, x, "b", 7)), 7);
  assert_good(graph_good(graph, &error), &error);
  assert_int_equal(graph_find(graph, "b.weight")->count, 7 * 2 * 9 * 13);
  assert_int_equal(graph_find(graph, "a.weight")->fan_in, 2);
  assert_null(graph_find(graph, "c.weight"));
  assert_int_equal(graph_parameter_count(graph), 3 * 2 + 3 + 7 * 2 * 9 * 13 + 7);
  graph_close(graph);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static void check_slots(const struct graph *graph) {
  for (int i = 0; i < graph->slots; i++) {
    const struct slot *a = &graph->slot[i];
    assert_true(a->first <= a->last);
    assert_in_range(a->buffer, 0, graph->buffers - 1);
    assert_true(a->bytes <= graph->buffer[a->buffer].bytes);
    for (int k = 0; k < i; k++) {
      const struct slot *b = &graph->slot[k];
      bool together = a->first <= b->last && b->first <= a->last;
      if (together && a->buffer == b->buffer)
        fail_msg("%s of node %u and %s of node %u share a buffer", a->what, a->node, b->what, b->node);
    }
  }
  size_t total = 0;
  for (int i = 0; i < graph->buffers; i++) total += graph->buffer[i].bytes;
  assert_int_equal(total, graph->arena_bytes);
}

static const struct slot *find_slot(const struct graph *graph, int node, const char *what) {
  for (int i = 0; i < graph->slots; i++)
    if (graph->slot[i].node == node && !strcmp(graph->slot[i].what, what)) return &graph->slot[i];
  return NULL;
}

static void test_lifetimes(void **state) {
  struct graph *graph;
  (void)state;
  graph_open(&graph);
  tensor out = small_net(graph, graph_input(graph, "input", 1, 20, 24));
  int end = 2 * graph->nodes - 1;
  size_t infer = graph_measure(graph, 3, false, false);
  check_slots(graph);
  assert_null(find_slot(graph, out.node, "gradient"));
  assert_int_equal(find_slot(graph, 1, "value")->last, 2); /* the first convolution: its norm is done */
  assert_int_equal(find_slot(graph, out.node, "value")->last, end);
  size_t train = graph_measure(graph, 3, true, false);
  check_slots(graph);
  assert_true(train > infer);
  assert_int_equal(find_slot(graph, 2, "value")->last, end - 2); /* the norm keeps its output */
  assert_int_equal(find_slot(graph, out.node, "gradient")->first, graph->nodes);
  assert_null(find_slot(graph, 0, "gradient"));
  graph_measure(graph, 3, true, true);
  assert_non_null(find_slot(graph, 0, "gradient"));
  graph->largest = 64 * 1024; /* a device with small allocations has that */
  assert_true(graph_measure(graph, 1, true, false) < SIZE_MAX / 2);
  assert_true(graph->arena_bytes > graph->largest);
  check_slots(graph);
  graph->largest = 4096;
  assert_true(graph_measure(graph, 1, true, false) == SIZE_MAX);
  graph_close(graph);
}

static void test_print(void **state) {
  struct graph *graph;
  char *text = NULL;
  size_t size = 0;
  (void)state;
  graph_open(&graph);
  small_net(graph, graph_input(graph, "input", 1, 20, 24));
  graph_measure(graph, 3, true, false);
  FILE *file = open_memstream(&text, &size);
  graph_print(graph, file);
  fclose(file);
  assert_holds(text,
               "   1  conv2d            first                                    6x20x24          60       "
               "11520       0.052\n");
  assert_holds(text, "8 parameters of 1341 values");
  assert_holds(text, "a batch of 3 to train:");
  free(text);
  graph_close(graph);
}

/* ---- on the device ------------------------------------------------------------------------------------- */

struct bench {
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  tensor input, output;
};

enum { HEIGHT = 20, WIDTH = 24, PIXELS = HEIGHT * WIDTH, BATCH = 4 };

static void open_graph(struct bench *bench, const struct graph *parameters, size_t batch, bool train) {
  struct error error;
  struct graph_setup plan = {bench->device, bench->kernels, batch, train, false, parameters};
  graph_open(&bench->graph);
  bench->input = graph_input(bench->graph, "input", 1, HEIGHT, WIDTH);
  bench->output = small_net(bench->graph, bench->input);
  assert_good(graph_plan(bench->graph, &plan, &error), &error);
}

static void open_bench(struct bench *bench, struct device *device, bool train) {
  struct error error;
  struct kernel_setup setup = {HEIGHT, WIDTH, false, ""};
  *bench = (struct bench){.device = device};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &setup, &error), &error);
  open_graph(bench, NULL, BATCH, train);
  graph_start(bench->graph, 3);
}

static void close_bench(struct bench *bench) {
  graph_close(bench->graph);
  kernels_close(bench->kernels);
}

static void write_random(struct bench *bench, cl_mem to, size_t count, uint32_t seed) {
  struct arena *arena = arena_open();
  float *values = ARENA_NEW(arena, float, count);
  struct random random;
  random_start(&random, seed, STREAM_PHANTOM, 0);
  for (size_t i = 0; i < count; i++) values[i] = (float)random_normal(&random);
  device_write(bench->device, to, 0, sizeof(float) * count, values);
  arena_close(arena);
}

/* Forward and backward of `count` images that start at image `first` of the random batch. */
static void run_part(struct bench *bench, size_t first, size_t count) {
  float input[BATCH * PIXELS], slope[BATCH * PIXELS];
  graph_set_images(bench->graph, BATCH);
  write_random(bench, graph_value(bench->graph, bench->input), BATCH * PIXELS, 1);
  write_random(bench, graph_gradient(bench->graph, bench->output), BATCH * PIXELS, 2);
  device_read(bench->device, graph_value(bench->graph, bench->input), 0, sizeof input, input);
  device_read(bench->device, graph_gradient(bench->graph, bench->output), 0, sizeof slope, slope);
  graph_set_images(bench->graph, count);
  size_t bytes = sizeof(float) * count * PIXELS;
  device_write(bench->device, graph_value(bench->graph, bench->input), 0, bytes, input + first * PIXELS);
  graph_forward(bench->graph);
  device_write(bench->device, graph_gradient(bench->graph, bench->output), 0, bytes, slope + first * PIXELS);
  graph_backward(bench->graph);
}

static void read_gradients(struct bench *bench, float *values) {
  device_read(bench->device, bench->graph->gradients, 0, sizeof(float) * bench->graph->elements, values);
}

static void test_micro_batches(void **state) {
  struct bench bench;
  struct arena *arena = arena_open();
  open_bench(&bench, *state, true);
  size_t count = bench.graph->elements;
  float *whole = ARENA_NEW(arena, float, count), *parts = ARENA_NEW(arena, float, count), largest = 0,
        worst = 0;
  run_part(&bench, 0, BATCH);
  read_gradients(&bench, whole);
  graph_zero_gradients(bench.graph);
  run_part(&bench, 0, 3);
  run_part(&bench, 3, 1);
  read_gradients(&bench, parts);
  for (size_t i = 0; i < count; i++) {
    largest = fmaxf(largest, fabsf(whole[i]));
    worst = fmaxf(worst, fabsf(whole[i] - parts[i]));
  }
  assert_true(largest > 0 && worst <= 2e-6f * largest);
  close_bench(&bench);
  arena_close(arena);
}

/* ---- shards -------------------------------------------------------------------------------------------- */

/* Whatever fits at once and however many ranks there are, every row is taken once, in order, and a pass holds whole
 * shards or a part of one. */
static void check_cover(size_t rows, size_t most, uint32_t ranks) {
  struct ranks known = {.count = ranks};
  const struct shards shards = {8, &known};
  size_t each = divide_up(rows, 8), next = 0;
  for (known.rank = 0; known.rank < ranks; known.rank++) {
    struct shard_pass pass;
    for (size_t turn = 0; shards_take(&shards, &pass, turn, rows, most); turn++) {
      size_t shard = known.rank * shards_held(&shards) + pass.shard;
      assert_int_equal(pass.first, next);
      assert_int_equal(pass.first / each, shard);
      assert_true(pass.rows <= most && (pass.each == each ? pass.first % each == 0 : pass.rows == pass.each));
      assert_true(pass.each == each || (pass.first + pass.rows - 1) / each == shard);
      next += pass.rows;
    }
  }
  assert_int_equal(next, rows);
}

static void test_shards_cover(void **state) {
  (void)state;
  for (size_t rows = 1; rows < 40; rows++)
    for (size_t most = 1; most < 12; most++)
      for (uint32_t ranks = 1; ranks <= 8; ranks *= 2) check_cover(rows, most, ranks);
}

/* The gradient of images from `first` on as a rank has it that holds so many of 4 shards, an image each. */
static void run_rank(struct bench *bench, struct device *device, uint32_t held, size_t first, size_t count, float *to) {
  struct error error;
  struct kernel_setup setup = {HEIGHT, WIDTH, false, ""};
  struct graph_setup plan = {device, NULL, BATCH, true, false, NULL};
  *bench = (struct bench){.device = device};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &setup, &error), &error);
  assert_true(kernel_need(bench->kernels, "gradient_tree", &error));
  plan.kernels = bench->kernels;
  graph_open(&bench->graph);
  graph_keep_apart(bench->graph, 4, held);
  bench->input = graph_input(bench->graph, "input", 1, HEIGHT, WIDTH);
  bench->output = small_net(bench->graph, bench->input);
  assert_good(graph_plan(bench->graph, &plan, &error), &error);
  graph_start(bench->graph, 3);
  graph_set_shards(bench->graph, 0, 1);
  run_part(bench, first, count);
  size_t cut = bench->graph->parameter[2].offset; /* ranks may sum the last ones first */
  graph_gather(bench->graph, cut, bench->graph->elements - cut);
  graph_gather(bench->graph, 0, cut);
  read_gradients(bench, to);
}

/* Two ranks' sums are one's halves, to the bit; a batch of 3 leaves the last shard empty. */
static void test_ranks_sum_alike(void **state) {
  struct bench whole, half;
  struct arena *arena = arena_open();
  for (size_t batch = 3; batch <= BATCH; batch++) {
    float *sum[3];
    for (int k = 0; k < 3; k++) sum[k] = ARENA_NEW(arena, float, 1 << 16);
    run_rank(&whole, *state, 4, 0, batch, sum[0]);
    size_t count = whole.graph->elements;
    for (size_t rank = 0; rank < 2; rank++) {
      run_rank(&half, *state, 2, 2 * rank, batch - 2 * rank < 2 ? 1 : 2, sum[1 + rank]);
      close_bench(&half);
    }
    for (size_t i = 0; i < count; i++) sum[1][i] += sum[2][i];
    assert_memory_equal(sum[0], sum[1], sizeof(float) * count);
    close_bench(&whole);
  }
  arena_close(arena);
}

static void test_step_allocates_nothing(void **state) {
  struct bench bench;
  struct error error;
  struct arena *arena = arena_open();
  open_bench(&bench, *state, true);
  float *first = ARENA_NEW(arena, float, bench.graph->elements);
  float *second = ARENA_NEW(arena, float, bench.graph->elements);
  uint64_t allocations = bench.device->allocations, bytes = bench.device->bytes;
  run_part(&bench, 0, BATCH);
  read_gradients(&bench, first);
  graph_zero_gradients(bench.graph);
  run_part(&bench, 0, BATCH);
  read_gradients(&bench, second);
  assert_good(device_finish(bench.device, &error), &error);
  assert_int_equal(bench.device->allocations, allocations);
  assert_int_equal(bench.device->bytes, bytes);
  assert_memory_equal(first, second, sizeof(float) * bench.graph->elements); /* every run: the same bytes */
  close_bench(&bench);
  assert_int_equal(bench.device->bytes, 0);
  arena_close(arena);
}

/* An inference plan of another batch with the parameters of the first gives the same images. */
static void test_shared_parameters(void **state) {
  struct bench train, infer;
  float expected[BATCH * PIXELS], found[PIXELS];
  open_bench(&train, *state, true);
  infer = train;
  open_graph(&infer, train.graph, 1, false);
  write_random(&train, graph_value(train.graph, train.input), BATCH * PIXELS, 1);
  graph_forward(train.graph);
  device_read(train.device, graph_value(train.graph, train.output), 0, sizeof expected, expected);
  for (size_t i = 0; i < BATCH; i++) {
    device_copy(train.device, graph_value(train.graph, train.input), sizeof found * i,
                graph_value(infer.graph, infer.input), 0, sizeof found);
    graph_forward(infer.graph);
    device_read(train.device, graph_value(infer.graph, infer.output), 0, sizeof found, found);
    assert_memory_equal(found, expected + i * PIXELS, sizeof found);
  }
  graph_close(infer.graph);
  close_bench(&train);
}

/* Two dense outputs on a pooled block, which the graph computes itself or is given. */
static tensor open_given(struct bench *bench, bool given) {
  struct error error;
  struct graph_setup setup = {bench->device, bench->kernels, BATCH, true, false, NULL};
  graph_open(&bench->graph);
  bench->input = graph_input(bench->graph, "input", 1, HEIGHT, WIDTH);
  tensor maps = max_pool(bench->graph, relu(bench->graph, conv2d(bench->graph, bench->input, "conv", 3, 3)));
  bench->output = linear(bench->graph, maps, "dense", 2);
  if (given) graph_give(bench->graph, maps);
  assert_good(graph_plan(bench->graph, &setup, &error), &error);
  graph_start(bench->graph, 5);
  return maps;
}

static void run_given(struct bench *bench, float *output, float *gradients) {
  graph_forward(bench->graph);
  device_read(bench->device, graph_value(bench->graph, bench->output), 0, 2 * BATCH * sizeof(float), output);
  write_random(bench, graph_gradient(bench->graph, bench->output), 2 * BATCH, 2);
  graph_backward(bench->graph);
  read_gradients(bench, gradients);
}

static void test_given_node(void **state) {
  struct bench whole = {.device = *state}, rest;
  struct error error;
  struct arena *arena = arena_open();
  struct kernel_setup setup = {HEIGHT, WIDTH, false, ""};
  float output[2][2 * BATCH];
  assert_good(kernels_open(&whole.kernels, whole.device, &kernel_table, &setup, &error), &error);
  rest = whole;
  tensor maps = open_given(&whole, false), given = open_given(&rest, true);
  size_t count = whole.graph->elements, bytes = sizeof(float) * graph_elements(rest.graph, given) * BATCH;
  float *expected = ARENA_NEW(arena, float, count), *found = ARENA_NEW(arena, float, count);
  write_random(&whole, graph_value(whole.graph, whole.input), BATCH * PIXELS, 1);
  run_given(&whole, output[0], expected);
  graph_forward(whole.graph);
  device_copy(whole.device, graph_value(whole.graph, maps), 0, graph_value(rest.graph, given), 0, bytes);
  run_given(&rest, output[1], found);
  assert_memory_equal(output[0], output[1], sizeof output[0]);
  size_t dense = graph_find(whole.graph, "dense.weight")->offset;
  assert_memory_equal(expected + dense, found + dense, sizeof(float) * (count - dense));
  assert_true(expected[0] != 0 && found[0] == 0); /* the convolution was not run */
  assert_null(graph_node(rest.graph, rest.input)->value);
  assert_non_null(graph_gradient(rest.graph, given));
  graph_close(rest.graph);
  close_bench(&whole);
  arena_close(arena);
}

static void test_memory_refusal(void **state) {
  struct device small = *(struct device *)*state;
  struct bench bench = {.device = &small};
  struct error error;
  struct kernel_setup setup = {HEIGHT, WIDTH, false, ""};
  small.facts.memory = 8 << 20;
  assert_good(kernels_open(&bench.kernels, &small, &kernel_table, &setup, &error), &error);
  struct graph_setup plan = {&small, bench.kernels, 500, true, false, NULL};
  graph_open(&bench.graph);
  small_net(bench.graph, graph_input(bench.graph, "input", 1, HEIGHT, WIDTH));
  assert_false(graph_plan(bench.graph, &plan, &error));
  size_t fits = graph_batch_within(bench.graph, 8 << 20, true, false);
  char text[64];
  snprintf(text, sizeof text, "has 8.0 MiB left; %zu images would fit: ask for a smaller batch", fits);
  assert_holds(error.text, "MiB to train on 500 images");
  assert_holds(error.text, text);
  graph_close(bench.graph);
  small.facts.memory = 1;
  graph_open(&bench.graph);
  small_net(bench.graph, graph_input(bench.graph, "input", 1, HEIGHT, WIDTH));
  assert_false(graph_plan(bench.graph, &plan, &error));
  assert_holds(error.text, "not one would fit: make the network or its images smaller");
  graph_close(bench.graph);
  small.facts.memory = 8 << 20;
  open_graph(&bench, NULL, fits, true);
  close_bench(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refusals),          cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_lifetimes),         cmocka_unit_test(test_print),
      cmocka_unit_test(test_micro_batches),     cmocka_unit_test(test_step_allocates_nothing),
      cmocka_unit_test(test_shared_parameters), cmocka_unit_test(test_memory_refusal),
      cmocka_unit_test(test_given_node),        cmocka_unit_test(test_shards_cover),
      cmocka_unit_test(test_ranks_sum_alike),
  };
  return cmocka_run_group_tests_name("graph", tests, support_open_device, support_close_device);
}
