/* The policy's network: how it starts, its sizes and refusals, checkpoints; files of stored results refused.
 */
#include "engine/base/orthogonal.h"
#include "kernels/kernels.h"
#include "systems/checks/verify.h"
#include "systems/networks/policy.h"
#include "tests/support.h"

#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- orthogonal starts --------------------------------------------------------------------------------- */

/* The largest distance of the products of rows (or columns, if fewer) from gain^2 times the identity. */
static double distance(const float *matrix, size_t rows, size_t columns, double gain) {
  bool wide = rows <= columns;
  size_t count = wide ? rows : columns, length = wide ? columns : rows;
  size_t vector = wide ? columns : 1, next = wide ? 1 : columns;
  double worst = 0;
  for (size_t a = 0; a < count; a++)
    for (size_t b = 0; b <= a; b++) {
      double sum = 0;
      for (size_t i = 0; i < length; i++)
        sum += (double)matrix[a * vector + i * next] * matrix[b * vector + i * next];
      worst = fmax(worst, fabs(sum - (a == b ? gain * gain : 0)));
    }
  return worst;
}

static void test_orthogonal(void **state) {
  static const size_t shapes[][2] = {{1, 64}, {64, 1}, {16, 9}, {32, 144}, {256, 256}, {7, 7}, {256, 16384}};
  (void)state;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    struct arena *arena = arena_open();
    struct random random;
    size_t rows = shapes[s][0], columns = shapes[s][1];
    float *matrix = ARENA_NEW(arena, float, rows *columns);
    double gain = s % 2 ? sqrt(2) : 1, sum = 0;
    random_start(&random, 3, STREAM_START, (uint32_t)s);
    orthogonal_fill(&random, rows, columns, gain, matrix);
    assert_true(distance(matrix, rows, columns, gain) < 2e-6);
    for (size_t i = 0; i < rows * columns; i++) sum += (double)matrix[i];
    assert_true(fabs(sum) < 6 * gain * sqrt((double)(rows < columns ? rows : columns)));
    arena_close(arena);
  }
}

/* ---- the architecture ---------------------------------------------------------------------------------- */

struct sizes {
  int size, channels, pools, hidden;
};

static struct graph *build(struct sizes sizes) {
  struct graph *graph;
  graph_open(&graph);
  tensor observation = graph_input(graph, "observation", 1, sizes.size, sizes.size);
  tensor mask = graph_input(graph, "mask", sizes.size, 1, 1);
  net_policy_heads(graph, net_policy_maps(graph, observation, sizes.channels, sizes.pools), mask,
                   sizes.hidden);
  return graph;
}

static void check_count(struct sizes sizes, size_t expected) {
  struct error error;
  struct graph *graph = build(sizes);
  assert_good(graph_good(graph, &error), &error);
  assert_int_equal(graph_parameter_count(graph), expected);
  graph_close(graph);
}

static void test_parameter_counts(void **state) {
  (void)state;
  check_count((struct sizes){128, 16, 4, 256}, 4685825);
  check_count((struct sizes){256, 16, 4, 256}, 17301889);
  check_count((struct sizes){256, 8, 4, 256}, 8618688 + 513);
}

static void check_refusal(struct sizes sizes, const char *text) {
  struct error error;
  struct graph *graph = build(sizes);
  assert_false(graph_good(graph, &error));
  assert_holds(error.text, text);
  graph_close(graph);
}

static void test_size_refusals(void **state) {
  (void)state;
  check_refusal((struct sizes){32, 0, 2, 16}, "0 channels and 2 pools; it takes 1 channel or more");
  check_refusal((struct sizes){32, 4, 13, 16}, "13 pools; it takes 1 channel or more and 1 to 12 pools");
  check_refusal((struct sizes){32, 4, 2, 0}, "0 outputs; there must be at least 1");
}

/* ---- one policy on the device -------------------------------------------------------------------------- */

struct bench {
  struct device *device;
  struct kernels *kernels;
  struct policy policy;
  struct folder folder;
};

enum { N = 20, BATCH = 3 };

static struct policy_setup setup_of(const struct bench *bench) {
  return (struct policy_setup){.device = bench->device,
                               .kernels = bench->kernels,
                               .shape = {N, N, N},
                               .channels = 3,
                               .pools = 2,
                               .hidden = 24,
                               .batch = BATCH,
                               .train = true};
}

static void open_bench(struct bench *bench, struct device *device, uint32_t seed) {
  struct error error;
  struct kernel_setup kernels = {N, N, false, ""};
  *bench = (struct bench){.device = device};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &kernels, &error), &error);
  struct policy_setup setup = setup_of(bench);
  assert_good(policy_open(&bench->policy, &setup, &error), &error);
  graph_start(bench->policy.graph, seed);
  policy_changed(&bench->policy);
  support_open_folder(&bench->folder);
}

static void close_bench(struct bench *bench) {
  policy_close(&bench->policy);
  kernels_close(bench->kernels);
  support_close_folder(&bench->folder);
}

static float *read_flat(struct bench *bench, cl_mem buffer) {
  size_t count = bench->policy.graph->elements;
  float *values = ARENA_NEW(bench->folder.arena, float, count);
  device_read(bench->device, buffer, 0, sizeof(float) * count, values);
  return values;
}

/* Gain sqrt 2 in the encoder, 1 in the critic, biases 0. */
static void test_start(void **state) {
  struct bench bench;
  open_bench(&bench, *state, 7);
  const struct graph *graph = bench.policy.graph;
  const float *values = read_flat(&bench, graph->values);
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    const float *own = values + parameter->offset;
    if (parameter->rank == 1) {
      for (size_t k = 0; k < parameter->count; k++) assert_true(own[k] == 0);
      continue;
    }
    double gain = strncmp(parameter->name, "value_net", 9) ? sqrt(2) : 1;
    assert_true(distance(own, parameter->size[0], parameter->count / parameter->size[0], gain) < 2e-6);
  }
  close_bench(&bench);
}

static void fill(struct bench *bench, cl_mem to, size_t count, uint32_t seed, bool bits) {
  struct random random;
  float *values = ARENA_NEW(bench->folder.arena, float, count);
  random_start(&random, seed, STREAM_PHANTOM, 0);
  for (size_t i = 0; i < count; i++)
    values[i] = bits ? (float)(random_u32(&random) % 2) : (float)random_normal(&random);
  device_write(bench->device, to, 0, sizeof(float) * count, values);
}

static void run_forward(struct bench *bench, float *logits, float *value) {
  fill(bench, bench->policy.input, BATCH * N * N, 1, false);
  fill(bench, bench->policy.mask, BATCH * N, 2, true);
  path_forward(&bench->policy.network.path, BATCH);
  device_read(bench->device, bench->policy.logits, 0, sizeof(float) * BATCH * N, logits);
  device_read(bench->device, bench->policy.value, 0, sizeof(float) * BATCH, value);
}

static void test_round_trip(void **state) {
  struct bench bench, other;
  struct error error;
  struct store *store;
  float logits[2][BATCH * N], value[2][BATCH];
  open_bench(&bench, *state, 1);
  open_bench(&other, *state, 2);
  const char *path = support_path(&bench.folder, "policy.h5");
  assert_good(store_create(&store, path, &error), &error);
  assert_good(policy_write(&bench.policy, store, &error), &error);
  assert_good(store_commit(store, &error), &error);
  struct policy_setup setup = setup_of(&other);
  policy_close(&other.policy);
  setup.channels = setup.pools = setup.hidden = 1; /* the file's count */
  assert_good(policy_load(&other.policy, path, &setup, &error), &error);
  run_forward(&bench, logits[0], value[0]);
  run_forward(&other, logits[1], value[1]);
  assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
  assert_memory_equal(value[0], value[1], sizeof value[0]);
  policy_close(&other.policy);
  bench.policy.setup.hidden = 60000; /* the file says so from here on, and its weights do not */
  assert_good(store_create(&store, path, &error), &error);
  assert_good(policy_write(&bench.policy, store, &error), &error);
  assert_good(store_commit(store, &error), &error);
  uint64_t allocations = bench.device->allocations;
  assert_false(policy_load(&other.policy, path, &setup, &error));
  assert_holds(error.text, "of another shape: ");
  assert_int_equal(bench.device->allocations, allocations);
  setup.shape = (struct scan_shape){.height = 40, .width = 40, .actions = 40};
  assert_false(policy_load(&other.policy, path, &setup, &error));
  assert_holds(error.text, "policy.h5: it was trained with data.size 20 (attribute network_size), and data.size is 40; set it to 20");
  close_bench(&other);
  close_bench(&bench);
}

static void test_refusals(void **state) {
  struct bench bench;
  struct error error;
  struct store *store;
  struct policy other;
  open_bench(&bench, *state, 1);
  struct policy_setup setup = setup_of(&bench);
  setup.precision = BLOCK_HALF;
  assert_false(policy_open(&other, &setup, &error));
  assert_holds(error.text, "policy.precision is half, and the portable path computes in f32 only");
  const char *path = support_path(&bench.folder, "other.h5");
  assert_good(store_create(&store, path, &error), &error);
  assert_good(store_put_text(store, "network", "unet", &error), &error);
  assert_good(store_commit(store, &error), &error);
  assert_false(policy_load(&other, path, &setup, &error));
  assert_holds(error.text, "it is no checkpoint of a policy");
  close_bench(&bench);
}

/* Micro-batches add up, and neither pass allocates. */
static void run_backward(struct bench *bench, size_t first, size_t count) {
  const struct policy *policy = &bench->policy;
  size_t image = sizeof(float) * N * N, line = sizeof(float) * N;
  fill(bench, policy->input, BATCH * N * N, 1, false);
  fill(bench, policy->mask, BATCH * N, 2, true);
  if (first) {
    device_copy(bench->device, policy->input, image * first, policy->input, 0, image * count);
    device_copy(bench->device, policy->mask, line * first, policy->mask, 0, line * count);
  }
  path_forward(&bench->policy.network.path, count);
  fill(bench, policy->logits_gradient, BATCH * N, 3, false);
  fill(bench, policy->value_gradient, BATCH, 4, false);
  if (first) {
    device_copy(bench->device, policy->logits_gradient, line * first, policy->logits_gradient, 0,
                line * count);
    device_copy(bench->device, policy->value_gradient, sizeof(float) * first, policy->value_gradient, 0,
                sizeof(float) * count);
  }
  policy_backward(&bench->policy, count);
}

static void test_micro_batches(void **state) {
  struct bench bench;
  struct error error;
  open_bench(&bench, *state, 5);
  struct graph *graph = bench.policy.graph;
  uint64_t allocations = bench.device->allocations;
  graph_zero_gradients(graph);
  run_backward(&bench, 0, BATCH);
  const float *whole = read_flat(&bench, graph->gradients);
  graph_zero_gradients(graph);
  run_backward(&bench, 0, BATCH - 1);
  run_backward(&bench, BATCH - 1, 1);
  const float *parts = read_flat(&bench, graph->gradients);
  assert_good(device_finish(bench.device, &error), &error);
  assert_int_equal(bench.device->allocations, allocations);
  float largest = 0, worst = 0;
  for (size_t i = 0; i < graph->elements; i++) {
    largest = fmaxf(largest, fabsf(whole[i]));
    worst = fmaxf(worst, fabsf(whole[i] - parts[i]));
  }
  assert_true(largest > 0 && worst <= 4e-6f * largest);
  close_bench(&bench);
}

/* ---- stored results ------------------------------------------------------------------------------------ */

static void see_nothing(const char *source, const char *quantity, double worst, double bound, void *context) {
  (void)source, (void)quantity, (void)worst, (void)bound, (void)context;
}

/* A file of this one dataset of [2][size][size] and the attribute chans. */
static void check_vectors(struct device *device, const char *dataset, size_t size, double channels,
                          const char *text) {
  struct folder folder;
  struct error error;
  struct store *store;
  struct verify verify = {device, "", see_nothing, NULL};
  float zeros[2 * N * N] = {0};
  support_open_folder(&folder);
  const char *path = support_path(&folder, "vectors.h5");
  assert_good(store_create(&store, path, &error), &error);
  assert_good(store_write(store, "encoder_output", STORE_F32, 1, (size_t[]){2}, zeros, false, &error),
              &error);
  assert_good(store_write(store, dataset, STORE_F32, 3, (size_t[]){2, size, N}, zeros, false, &error),
              &error);
  assert_good(store_put_number(store, "chans", channels, &error), &error);
  assert_good(store_commit(store, &error), &error);
  assert_false(verify_file(&verify, path, &error));
  assert_holds(error.text, "vectors.h5");
  assert_holds(error.text, text);
  support_close_folder(&folder);
}

static void test_vectors_refusals(void **state) {
  check_vectors(*state, "other", N, 2, "has no dataset observation");
  check_vectors(*state, "observation", N - 1, 2, "observation must be [count, N, N]");
  check_vectors(*state, "observation", N, 2, "the attribute num_pool_layers is missing");
  check_vectors(*state, "observation", N, 1e9, "the attribute chans is 1e+09; it must be a whole number");
  check_vectors(*state, "observation", N, NAN, "the attribute chans is nan; it must be a whole number");
  check_vectors(*state, "episode_start", N, 2, "has no dataset reward");
}

/* Attributes that contradict the parameters are refused before the device is asked for anything. */
static void test_sizes_of_vectors(void **state) {
  struct device *device = *state;
  struct verify verify = {device, "", see_nothing, NULL};
  const char *data = getenv("L2SR_TEST_DATA"), *names[] = {"policy_n32.h5", "unet_c4_p2_n32.h5"};
  for (size_t i = 0; data && i < 2; i++) {
    struct folder folder;
    struct error error;
    size_t bytes;
    double more = 1024;
    support_open_folder(&folder);
    const char *path = support_path(&folder, names[i]);
    const void *file = support_read(folder.arena, arena_text(folder.arena, "%s/%s", data, names[i]), &bytes);
    support_write(path, file, bytes);
    hid_t changed = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), chans = H5Aopen(changed, "chans", H5P_DEFAULT);
    assert_true(H5Awrite(chans, H5T_NATIVE_DOUBLE, &more) >= 0);
    H5Aclose(chans);
    H5Fclose(changed);
    uint64_t allocations = device->allocations;
    assert_false(verify_file(&verify, path, &error));
    assert_holds(error.text, "the parameters in group 'param' are not those of the network");
    assert_int_equal(device->allocations, allocations);
    support_close_folder(&folder);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orthogonal),       cmocka_unit_test(test_parameter_counts),
      cmocka_unit_test(test_size_refusals),    cmocka_unit_test(test_start),
      cmocka_unit_test(test_round_trip),       cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_micro_batches),    cmocka_unit_test(test_vectors_refusals),
      cmocka_unit_test(test_sizes_of_vectors),
  };
  return cmocka_run_group_tests_name("policy", tests, support_open_device, support_close_device);
}
