/* The fused path of a network against the portable graph: output and gradients, in every precision and every
 * kind of layer, by the kernels for NVIDIA and those for AMD. Where the device lacks the matrix instructions,
 * its lanes are emulated (engine/device/device.h). */
#include "engine/base/random.h"
#include "engine/fused/block.h"
#include "kernels/kernels.h"
#include "systems/networks/net_unet.h"
#include "systems/networks/policy.h"
#include "tests/support.h"

#include <math.h>

enum { PASSES = 2 };

typedef tensor architecture(struct graph *graph, tensor x, int channels, int pools);

struct fused_case {
  architecture *build;
  int rows, columns, channels, pools;
  size_t images;
  enum block_precision precision;
  double output_bound, gradient_bound; /* bounds of the largest relative root mean square */
  int inputs;                          /* channels of the image */
};

struct pair {
  struct device *device;
  struct kernels *kernels;
  struct graph *portable, *fused;
  tensor input, output;
  struct blocks *blocks;
  cl_mem in, out, gradient, input_gradient;
  size_t floats, bytes; /* floats of the images in use; bytes of the buffers */
  size_t outputs;       /* floats */
  double scale;         /* the scale of backward */
};

static struct graph *open_graph(struct pair *pair, const struct fused_case *test, size_t batch) {
  struct graph *graph;
  struct error error;
  struct graph_setup setup = {pair->device, pair->kernels, batch, true, true, NULL};
  graph_open(&graph);
  pair->input = graph_input(graph, "input", test->inputs, test->rows, test->columns);
  pair->output = test->build(graph, pair->input, test->channels, test->pools);
  pair->outputs = graph_elements(graph, pair->output) * test->images;
  pair->scale = (double)pair->outputs * (test->build == net_unet && test->inputs == 2 ? 4096 : 1);
  assert_good(graph_plan(graph, &setup, &error), &error);
  graph_start(graph, 7);
  graph_zero_gradients(graph);
  return graph;
}

static cl_mem open_buffer(struct pair *pair, uint32_t seed, double scale) {
  struct error error;
  struct random random;
  struct arena *arena = arena_open();
  float *values = ARENA_NEW(arena, float, pair->bytes / sizeof(float));
  cl_mem buffer = device_buffer(pair->device, pair->bytes, "a test's images", &error);
  assert_good(buffer, &error);
  random_start(&random, seed, STREAM_PHANTOM, 0);
  for (size_t i = 0; i < pair->bytes / sizeof(float); i++)
    values[i] = (float)(scale * (sin(0.07 * (double)i) + 0.3 * random_normal(&random)));
  device_write(pair->device, buffer, 0, pair->bytes, values);
  arena_close(arena);
  return buffer;
}

static void open_pair(struct pair *pair, struct device *device, const struct fused_case *test) {
  struct error error;
  size_t bytes, rows = (size_t)test->rows, columns = (size_t)test->columns;
  size_t image = (size_t)test->inputs * rows * columns, even = test->images + test->images % 2;
  struct kernel_setup kernel_setup = {rows, columns, false, ""};
  struct block_setup setup = {test->images, test->precision, true, true, PASSES};
  *pair =
      (struct pair){.device = device, .floats = image * test->images, .bytes = sizeof(float) * image * even};
  assert_good(kernels_open(&pair->kernels, device, &kernel_table, &kernel_setup, &error), &error);
  pair->fused = open_graph(pair, test, 1);
  pair->portable = open_graph(pair, test, test->images);
  if (pair->bytes < sizeof(float) * pair->outputs) pair->bytes = sizeof(float) * pair->outputs;
  pair->in = open_buffer(pair, 1, 1);
  pair->out = open_buffer(pair, 2, 0);
  pair->gradient = open_buffer(pair, 3, 1 / (double)pair->outputs);
  pair->input_gradient = open_buffer(pair, 4, 1);
  assert_good(blocks_fit(pair->fused, device, &error), &error);
  assert_good(blocks_measure(pair->fused, device, &setup, &bytes, &error), &error);
  uint64_t before = device->bytes;
  assert_good(blocks_open(&pair->blocks, pair->fused, device, pair->kernels, &setup, &error), &error);
  assert_in_range(device->bytes - before, bytes, bytes + 4096); /* and tables */
}

static void close_pair(struct pair *pair) {
  blocks_close(pair->blocks);
  device_release(pair->device, pair->in, pair->bytes);
  device_release(pair->device, pair->out, pair->bytes);
  device_release(pair->device, pair->gradient, pair->bytes);
  device_release(pair->device, pair->input_gradient, pair->bytes);
  graph_close(pair->portable);
  graph_close(pair->fused);
  kernels_close(pair->kernels);
}

static void run_both(struct pair *pair, size_t images) {
  struct graph *graph = pair->portable;
  size_t bytes = sizeof(float) * pair->outputs;
  device_copy(pair->device, pair->in, 0, graph_value(graph, pair->input), 0, sizeof(float) * pair->floats);
  graph_forward(graph);
  device_copy(pair->device, pair->gradient, 0, graph_gradient(graph, pair->output), 0, bytes);
  graph_backward(graph);
  blocks_select(pair->blocks, 1);
  blocks_forward(pair->blocks, pair->in, pair->out, images);
  blocks_select(pair->blocks, 0); /* another pass between: of other images, forward alone */
  blocks_forward(pair->blocks, pair->gradient, pair->input_gradient, images);
  blocks_select(pair->blocks, 1);
  blocks_backward(pair->blocks, pair->in, pair->gradient, images, pair->scale);
  blocks_input_gradient(pair->blocks, pair->input_gradient, images);
}

static void check_gradients(const struct pair *pair, double bound) {
  for (int i = 0; i < pair->portable->parameters; i++) {
    const struct parameter *expected = &pair->portable->parameter[i], *found = &pair->fused->parameter[i];
    double off = device_distance(pair->device, found->gradient, expected->gradient, expected->count);
    if (!(off <= bound)) fail_msg("gradient of %s is off by %.2e, bound %.0e", expected->name, off, bound);
  }
}

static void check_input_gradient(const struct pair *pair, double bound) {
  double off = device_distance(pair->device, pair->input_gradient,
                               graph_gradient(pair->portable, pair->input), pair->floats);
  if (!(off <= bound)) fail_msg("gradient of the input is off by %.2e, bound %.0e", off, bound);
}

static void check_case(struct device *device, const struct fused_case *test) {
  struct pair pair;
  struct error error;
  open_pair(&pair, device, test);
  run_both(&pair, test->images);
  double off = device_distance(device, pair.out, graph_value(pair.portable, pair.output), pair.outputs);
  assert_good(device_finish(device, &error), &error);
  if (!(off <= test->output_bound))
    fail_msg("the output is off by %.2e, bound %.0e", off, test->output_bound);
  check_gradients(&pair, test->gradient_bound);
  check_input_gradient(&pair, test->gradient_bound);
  close_pair(&pair);
}

/* 32, 16 and 8 pixels a side: the tiles of small maps. MIXED stores as F32 does: fewer layers, for PoCL takes
 * half a second to compile each; lines of 38 pixels end within four that are read at once. */
static void test_small_maps(void **state) {
  check_case(*state, &(struct fused_case){net_unet, 32, 32, 16, 2, 1, BLOCK_F32, 1e-5, 1e-3, 1});
  check_case(*state, &(struct fused_case){net_unet, 24, 38, 16, 1, 1, BLOCK_MIXED, 5e-3, 1e-1, 1});
  check_case(*state, &(struct fused_case){net_unet, 32, 32, 16, 2, 3, BLOCK_HALF, 1e-2, 1e-1, 1});
}

/* Wide maps, whose tiles are other ones; with halves they come by staged copies. Few rows: emulated lanes are
 * slow. */
static void test_wide_maps(void **state) {
  check_case(*state, &(struct fused_case){net_unet, 32, 128, 16, 1, 1, BLOCK_F32, 1e-5, 1e-3, 1});
  check_case(*state, &(struct fused_case){net_unet, 32, 128, 16, 1, 1, BLOCK_HALF, 1e-2, 1e-1, 1});
}

/* Real and imaginary part: the U-Net, whose last weight is near 0 there, and wide maps of many channels, few
 * layers of them. The smallest maps are computed two images at a time: an odd number of them, of a size that is padded to 36x28. */
static void test_complex_images(void **state) {
  check_case(*state, &(struct fused_case){net_unet, 32, 32, 16, 2, 1, BLOCK_F32, 1e-5, 1e-3, 2});
  check_case(*state, &(struct fused_case){net_unet, 35, 26, 16, 2, 3, BLOCK_HALF, 1e-2, 2e-1, 2});
  check_case(*state, &(struct fused_case){net_policy_maps, 16, 128, 64, 1, 1, BLOCK_HALF, 1e-2, 1e-1, 2});
}

/* Five channels, as a sampler of points sees: the network's small maps, and wide ones, which but for the first layer
 * are those above. */
static void test_five_channels(void **state) {
  check_case(*state, &(struct fused_case){net_unet, 33, 27, 16, 2, 1, BLOCK_F32, 1e-5, 1e-3, 5});
  check_case(*state, &(struct fused_case){net_unet, 32, 32, 16, 2, 1, BLOCK_HALF, 1e-2, 2e-1, 5});
  check_case(*state, &(struct fused_case){net_policy_maps, 16, 128, 64, 1, 1, BLOCK_HALF, 1e-2, 1e-1, 5});
}

/* An encoder: every map but the first is pooled, and the last is the output; an odd number of images. */
static void test_encoder(void **state) {
  check_case(*state, &(struct fused_case){net_policy_maps, 32, 32, 16, 2, 3, BLOCK_F32, 1e-5, 1e-3, 1});
  check_case(*state, &(struct fused_case){net_policy_maps, 20, 12, 16, 1, 3, BLOCK_MIXED, 5e-3, 1e-1, 1});
  check_case(*state, &(struct fused_case){net_policy_maps, 16, 16, 16, 1, 3, BLOCK_HALF, 1e-2, 1e-1, 1});
}

/* Fewer channels than a matrix instruction takes: the others stay 0. */
static void test_narrow_encoder(void **state) {
  check_case(*state, &(struct fused_case){net_policy_maps, 32, 32, 8, 1, 1, BLOCK_F32, 1e-5, 1e-3, 1});
  check_case(*state, &(struct fused_case){net_policy_maps, 32, 32, 8, 1, 1, BLOCK_HALF, 1e-2, 1e-1, 1});
  check_case(*state, &(struct fused_case){net_policy_maps, 32, 32, 12, 2, 1, BLOCK_MIXED, 5e-3, 1e-1, 1});
}

/* The last block's maps are the output; joined blocks cannot be told apart from what stays 0. Rows of an
 * encoder's image are read four pixels at a time. */
static void test_refused_sizes(void **state) {
  struct device *device = *state;
  struct error error;
  struct graph *graph;
  graph_open(&graph);
  net_policy_maps(graph, graph_input(graph, "input", 1, 32, 32), 6, 1);
  assert_false(blocks_fit(graph, device, &error));
  assert_holds(error.text, "12 channels");
  graph_close(graph);
  graph_open(&graph);
  net_unet(graph, graph_input(graph, "input", 1, 32, 32), 8, 2);
  assert_false(blocks_fit(graph, device, &error));
  assert_holds(error.text, "takes multiples of 16");
  graph_close(graph);
  graph_open(&graph);
  net_policy_maps(graph, graph_input(graph, "input", 9, 32, 32), 16, 1);
  assert_false(blocks_fit(graph, device, &error));
  assert_holds(error.text, "has 9 channels; the fused path takes one to 8");
  graph_close(graph);
  graph_open(&graph);
  net_policy_maps(graph, graph_input(graph, "input", 1, 32, 46), 16, 1);
  assert_false(blocks_fit(graph, device, &error));
  assert_holds(error.text, "images of 32x46 pixels, for which the fused path has to pad them");
  graph_close(graph);
  graph_open(&graph);
  tensor odd = conv2d(graph, graph_input(graph, "input", 1, 9, 12), "odd", 16, 3);
  max_pool(graph, relu(graph, instance_norm(graph, odd)));
  assert_false(blocks_fit(graph, device, &error));
  assert_holds(error.text, "is pooled from 9x12 pixels; the fused path pools even numbers");
  graph_close(graph);
}

/* ---- a whole policy ------------------------------------------------------------------------------------ */

enum { POLICY_N = 16, POLICY_BATCH = 4 };

static void open_policy(struct policy *policy, struct pair *pair, bool portable, bool dense) {
  struct error error;
  struct policy_setup setup = {.device = pair->device,
                               .kernels = pair->kernels,
                               .shape = {POLICY_N, POLICY_N, POLICY_N},
                               .channels = 16,
                               .pools = 1,
                               .hidden = 24,
                               .batch = POLICY_BATCH,
                               .train = true,
                               .portable = portable,
                               .dense = dense};
  assert_good(policy_open(policy, &setup, &error), &error);
  assert_int_equal(policy->blocks == NULL, portable);
  graph_start(policy->graph, 11);
  policy_changed(policy);
}

static void run_forward(struct policy *policy, bool in_parts) {
  if (in_parts) {
    policy_forward_part(policy, 0, 2);
    policy_forward_part(policy, 2, 2);
    policy_forward_kept(policy, 4);
  } else {
    path_forward(&policy->network.path, POLICY_BATCH);
  }
}

/* Forward and backward of the same observations; gradients of rows as of a mean loss of some units. */
static void run_policy(struct policy *policy, const struct pair *pair, bool in_parts) {
  const double share = 1.0 / POLICY_BATCH;
  struct device *device = pair->device;
  graph_zero_gradients(policy->graph);
  device_copy(device, pair->in, 0, policy->input, 0, sizeof(float) * POLICY_N * POLICY_N * POLICY_BATCH);
  device_fill(device, policy->mask, 0, sizeof(float) * POLICY_N * POLICY_BATCH, 0);
  run_forward(policy, in_parts);
  policy->scale = (policy->setup.dense ? 1024 : 64) / share;
  device_copy(device, pair->gradient, 0, policy->logits_gradient, 0, sizeof(float) * POLICY_N * POLICY_BATCH);
  if (policy->value_gradient) device_fill(device, policy->value_gradient, 0, sizeof(float) * POLICY_BATCH, 0);
  policy_backward(policy, POLICY_BATCH);
}

static void read_results(struct policy *policy, float *values) {
  const struct graph *graph = policy->graph;
  device_read(policy->setup.device, policy->logits, 0, sizeof(float) * POLICY_N * POLICY_BATCH, values);
  device_read(policy->setup.device, graph->gradients, 0, sizeof(float) * graph->elements,
              values + POLICY_N * POLICY_BATCH);
}

/* Activations that parts of a forward pass have left are those of the whole, to the bit. */
static void check_parts(struct policy *policy, const struct pair *pair) {
  struct arena *arena = arena_open();
  struct error error;
  size_t count = POLICY_N * POLICY_BATCH + policy->graph->elements;
  float *whole = ARENA_NEW(arena, float, count), *parts = ARENA_NEW(arena, float, count);
  read_results(policy, whole);
  run_policy(policy, pair, true);
  read_results(policy, parts);
  assert_good(device_finish(policy->setup.device, &error), &error);
  assert_memory_equal(whole, parts, sizeof(float) * count);
  arena_close(arena);
}

static void check_policy_paths(struct device *device, bool dense) {
  struct pair pair = {.device = device};
  struct policy fused, portable;
  struct error error;
  struct kernel_setup setup = {POLICY_N, POLICY_N, false, ""};
  pair.bytes = sizeof(float) * POLICY_N * POLICY_N * POLICY_BATCH;
  assert_good(kernels_open(&pair.kernels, pair.device, &kernel_table, &setup, &error), &error);
  pair.in = open_buffer(&pair, 1, 1);
  pair.gradient = open_buffer(&pair, 2, 0.5);
  open_policy(&fused, &pair, false, dense);
  open_policy(&portable, &pair, true, dense);
  run_policy(&fused, &pair, false);
  run_policy(&portable, &pair, false);
  assert_true(device_distance(pair.device, fused.logits, portable.logits, POLICY_N * POLICY_BATCH) < 1e-5);
  if (!dense) assert_true(device_distance(pair.device, fused.value, portable.value, POLICY_BATCH) < 1e-5);
  pair.portable = portable.graph;
  pair.fused = fused.graph;
  check_gradients(&pair, 1e-3);
  check_parts(&fused, &pair);
  policy_close(&fused);
  policy_close(&portable);
  device_release(pair.device, pair.in, pair.bytes);
  device_release(pair.device, pair.gradient, pair.bytes);
  kernels_close(pair.kernels);
}

/* L2S's with its critic, and PG-MRI's. */
static void test_policy_paths(void **state) {
  check_policy_paths(*state, false);
  check_policy_paths(*state, true);
}

/* AMD's kernels: the smallest maps, wide ones whose tiles have neighbours, every precision; few layers, for
 * PoCL takes seconds to compile each. */
static void check_amd(struct device *device, enum device_matrix own, enum device_matrix emulated) {
  enum device_matrix matrix = device->facts.matrix;
  if (matrix != own) device->facts.matrix = emulated;
  check_case(device, &(struct fused_case){net_unet, 32, 64, 16, 1, 1, BLOCK_F32, 1e-5, 1e-3, 1});
  check_case(device, &(struct fused_case){net_unet, 32, 32, 16, 1, 1, BLOCK_MIXED, 5e-3, 1e-1, 1});
  check_case(device, &(struct fused_case){net_unet, 32, 32, 16, 2, 3, BLOCK_HALF, 1e-2, 1e-1, 1});
  device->facts.matrix = matrix;
}

static void test_amd(void **state) {
  check_amd(*state, MATRIX_AMD, MATRIX_AMD_EMULATED);
}

/* Those of its data-centre cards, with a group of one warp, which is half a wave, too. */
static void test_cdna(void **state) {
  struct device *device = *state;
  enum device_matrix matrix = device->facts.matrix;
  check_amd(device, MATRIX_CDNA, MATRIX_CDNA_EMULATED);
  if (matrix != MATRIX_CDNA) device->facts.matrix = MATRIX_CDNA_EMULATED;
  check_case(device, &(struct fused_case){net_unet, 16, 16, 16, 1, 1, BLOCK_MIXED, 5e-3, 1e-1, 1});
  device->facts.matrix = matrix;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_maps),
                                     cmocka_unit_test(test_wide_maps),
                                     cmocka_unit_test(test_complex_images),
                                     cmocka_unit_test(test_five_channels),
                                     cmocka_unit_test(test_encoder),
                                     cmocka_unit_test(test_narrow_encoder),
                                     cmocka_unit_test(test_refused_sizes),
                                     cmocka_unit_test(test_policy_paths),
                                     cmocka_unit_test(test_amd),
                                     cmocka_unit_test(test_cdna)};
  return cmocka_run_group_tests(tests, support_open_matrix, support_close_device);
}
