/* The U-Net against its reference vectors, its parameter count and names, checkpoints and their refusals. */
#include "kernels/kernels.h"
#include "systems/checks/verify_network.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/net_unet.h"
#include "systems/methods/method.h"
#include "systems/networks/policy.h"
#include "systems/networks/reconstructor.h"
#include "tests/support.h"

#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reference vectors --------------------------------------------------------------------------------- */

struct tally {
  int seen, broken;
};

static void see(const char *source, const char *quantity, double worst, double bound, void *context) {
  struct tally *tally = context;
  tally->seen++;
  if (worst <= bound) return;
  tally->broken++;
  print_error("%s: %s is off by %.3g, bound %.0e\n", source, quantity, worst, bound);
}

/* A copy of the small vectors whose `name` after three steps is moved by two steps, at its largest or its
 * smallest gradient. */
static void move_step(struct folder *folder, const char *path, const char *name, bool largest) {
  size_t bytes;
  unsigned char *data = support_read(
      folder->arena, arena_text(folder->arena, "%s/unet_c4_p2_n32.h5", getenv("L2SR_TEST_DATA")), &bytes);
  support_write(path, data, bytes);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t grad = H5Dopen2(file, arena_text(folder->arena, "grad/%s", name), H5P_DEFAULT);
  hid_t after = H5Dopen2(file, arena_text(folder->arena, "param_after_3_steps/%s", name), H5P_DEFAULT);
  double gradient[2048], value[2048];
  assert_true(H5Dread(grad, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, gradient) >= 0 &&
              H5Dread(after, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
  hid_t space = H5Dget_space(grad);
  size_t count = (size_t)H5Sget_simple_extent_npoints(space), at = 0;
  assert_true(count <= 2048);
  for (size_t i = 1; i < count; i++)
    if ((fabs(gradient[i]) > fabs(gradient[at])) == largest) at = i;
  value[at] += 2e-3;
  assert_true(H5Dwrite(after, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
  H5Sclose(space);
  H5Dclose(after);
  H5Dclose(grad);
  H5Fclose(file);
}

/* Adam steps by the sign of a gradient near zero, which single precision cannot tell: no fault of a device.
 * Elsewhere it is one. */
static void steps_are_judged_where_the_sign_is_known(void **state) {
  struct folder folder;
  struct error error;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "moved.h5");
  for (int largest = 0; largest < 2; largest++) {
    struct tally tally = {0, 0};
    struct verify verify = {*state, "", see, &tally};
    move_step(&folder, path, "conv.layers.0.weight", largest);
    assert_good(verify_network_file(&verify, path, &error), &error);
    assert_int_equal(tally.broken, largest);
  }
  support_close_folder(&folder);
}

static void check_file(struct device *device, const char *path, int quantities) {
  struct tally tally = {0, 0};
  struct verify verify = {device, "", see, &tally};
  struct error error;
  assert_good(verify_network_file(&verify, path, &error), &error);
  assert_int_equal(tally.broken, 0);
  assert_int_equal(tally.seen, quantities);
}

static void test_small_reference(void **state) {
  struct folder folder;
  const char *data = getenv("L2SR_TEST_DATA");
  REQUIRE(data, "L2SR_TEST_DATA names no folder");
  support_open_folder(&folder);
  check_file(*state, arena_text(folder.arena, "%s/unet_c4_p2_n32.h5", data), 2 + 6 + 2 * 26);
  support_close_folder(&folder);
}

static void test_large_reference(void **state) {
  struct folder folder;
  const char *place = getenv("L2SR_REFERENCE");
  support_open_folder(&folder);
  const char *path = arena_text(folder.arena, "%s/unet_c16_p4_n128.h5", place ? place : ".");
  if (place && access(path, R_OK) == 0)
    check_file(*state, path, 2 + 6 + 2 * 42);
  else
    printf("NOT RUN: unet_c16_p4_n128.h5; set L2SR_REFERENCE to the folder that holds it\n");
  support_close_folder(&folder);
}

/* ---- the architecture ---------------------------------------------------------------------------------- */

static size_t count_parameters(int inputs, int channels, int pools, int size) {
  struct graph *graph;
  struct error error;
  graph_open(&graph);
  net_unet(graph, graph_input(graph, "input", inputs, size, size), channels, pools);
  assert_good(graph_good(graph, &error), &error);
  size_t count = graph_parameter_count(graph);
  graph_close(graph);
  return count;
}

static void test_parameter_counts(void **state) {
  (void)state;
  assert_int_equal(count_parameters(1, 16, 4, 128), 837635);
  assert_int_equal(count_parameters(1, 16, 4, 256), 837635);
  assert_int_equal(count_parameters(1, 8, 4, 128), 209699);
  assert_int_equal(count_parameters(2, 16, 4, 128), 837779); /* a network of complex images (PROTOCOL 3.2) */
  assert_int_equal(count_parameters(2, 64, 4, 128), 13388867);
}

/* fastMRI's knees; sides that halve as often as is wanted are left as they are. */
static void test_sizes_are_padded(void **state) {
  static const struct {
    int height, width, high, wide; /* of the image, and of the first block */
  } rows[] = {{640, 368, 640, 368}, {640, 372, 640, 384}, {45, 38, 48, 48}, {128, 128, 128, 128}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct graph *graph;
    struct error error;
    graph_open(&graph);
    tensor x = graph_input(graph, "input", 1, rows[i].height, rows[i].width);
    struct tensor_shape out = graph_node(graph, net_unet(graph, x, 2, 4))->shape;
    assert_good(graph_good(graph, &error), &error);
    assert_true(out.channels == 1 && out.height == rows[i].height && out.width == rows[i].width);
    bool padded = rows[i].high != rows[i].height || rows[i].wide != rows[i].width;
    assert_true((graph->node[1].op == &op_pad) == padded);
    assert_true(graph->node[1].shape.height == rows[i].high && graph->node[1].shape.width == rows[i].wide);
    graph_close(graph);
  }
}

static void test_size_refusal(void **state) {
  struct graph *graph;
  struct error error;
  (void)state;
  graph_open(&graph);
  net_unet(graph, graph_input(graph, "input", 1, 128, 128), 1, 4);
  assert_false(graph_good(graph, &error));
  assert_holds(error.text, "it takes 2 channels or more");
  graph_close(graph);
}

/* ---- initial parameters and checkpoints ---------------------------------------------------------------- */

struct bench {
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  tensor input, output;
  struct optimiser optimiser;
  struct folder folder;
};

enum { N = 16, BATCH = 2 };

static void open_bench(struct bench *bench, struct device *device, int channels, uint32_t seed) {
  struct error error;
  struct kernel_setup setup = {N, N, false, ""};
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, 1e-3);
  *bench = (struct bench){.device = device};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &setup, &error), &error);
  struct graph_setup plan = {device, bench->kernels, BATCH, true, false, NULL};
  graph_open(&bench->graph);
  bench->input = graph_input(bench->graph, "input", 1, N, N);
  bench->output = net_unet(bench->graph, bench->input, channels, 2);
  assert_good(graph_plan(bench->graph, &plan, &error), &error);
  graph_start(bench->graph, seed);
  assert_good(optimise_open(&bench->optimiser, bench->graph, &adam, &error), &error);
  support_open_folder(&bench->folder);
}

static void close_bench(struct bench *bench) {
  optimise_close(&bench->optimiser);
  graph_close(bench->graph);
  kernels_close(bench->kernels);
  support_close_folder(&bench->folder);
}

static float *read_flat(struct bench *bench, cl_mem buffer) {
  float *values = ARENA_NEW(bench->folder.arena, float, bench->graph->elements);
  device_read(bench->device, buffer, 0, sizeof(float) * bench->graph->elements, values);
  return values;
}

/* One step towards smaller outputs. */
static void train_step(struct bench *bench) {
  size_t bytes = sizeof(float) * BATCH * N * N;
  device_fill(bench->device, graph_value(bench->graph, bench->input), 0, bytes, 0x3f000000);
  device_fill(bench->device, graph_value(bench->graph, bench->input), 0, bytes / 4, 0xbe000000);
  graph_forward(bench->graph);
  device_copy(bench->device, graph_value(bench->graph, bench->output), 0,
              graph_gradient(bench->graph, bench->output), 0, bytes);
  graph_zero_gradients(bench->graph);
  graph_backward(bench->graph);
  optimise_step(&bench->optimiser);
}

static void test_initial_parameters(void **state) {
  struct bench bench, other;
  open_bench(&bench, *state, 4, 7);
  open_bench(&other, *state, 4, 7);
  const float *values = read_flat(&bench, bench.graph->values),
              *same = read_flat(&other, other.graph->values);
  assert_memory_equal(values, same, sizeof(float) * bench.graph->elements);
  graph_start(other.graph, 8);
  assert_memory_not_equal(values, read_flat(&other, other.graph->values),
                          sizeof(float) * bench.graph->elements);
  for (int i = 0; i < bench.graph->parameters; i++) {
    const struct parameter *parameter = &bench.graph->parameter[i];
    double bound = 1 / sqrt((double)parameter->fan_in), largest = 0;
    for (size_t k = 0; k < parameter->count; k++)
      largest = fmax(largest, fabs(values[parameter->offset + k]));
    assert_true(largest <= bound * (1 + 1e-6));
    assert_true(parameter->count < 30 || largest > 0.8 * bound);
  }
  close_bench(&other);
  close_bench(&bench);
}

/* A whole file: parameters in group "param" and, unless NULL, the optimiser. */
static bool load(const char *path, struct graph *graph, struct optimiser *optimiser, struct error *error) {
  struct store *store;
  if (!store_open(&store, path, error)) return false;
  bool good = checkpoint_read_parameters(store, "param", graph, error) &&
              (!optimiser || checkpoint_read_optimiser(store, optimiser, error));
  store_close(store);
  return good ? true : fail_in(error, "%s", path);
}

static bool save(const char *path, const struct graph *graph, const struct optimiser *optimiser,
                 struct error *error) {
  struct store *store;
  if (!store_create(&store, path, error)) return false;
  if (checkpoint_write_parameters(store, "param", graph, error) &&
      (!optimiser || checkpoint_write_optimiser(store, optimiser, error)))
    return store_commit(store, error);
  store_close(store);
  return false;
}

/* Saved after two steps and continued elsewhere gives the same bytes as three steps in one go. */
static void test_round_trip(void **state) {
  struct bench bench, other;
  struct error error;
  open_bench(&bench, *state, 4, 1);
  open_bench(&other, *state, 4, 2);
  const char *path = support_path(&bench.folder, "net.h5");
  train_step(&bench);
  train_step(&bench);
  assert_good(save(path, bench.graph, &bench.optimiser, &error), &error);
  assert_int_equal(support_count(bench.folder.path), 1);
  assert_good(load(path, other.graph, &other.optimiser, &error), &error);
  assert_int_equal(other.optimiser.step, 2);
  train_step(&bench);
  train_step(&other);
  size_t bytes = sizeof(float) * bench.graph->elements;
  assert_memory_equal(read_flat(&bench, bench.graph->values), read_flat(&other, other.graph->values), bytes);
  assert_memory_equal(read_flat(&bench, bench.optimiser.second), read_flat(&other, other.optimiser.second),
                      bytes);
  close_bench(&other);
  close_bench(&bench);
}

/* A file of foreign names: one prefixed and not, one unknown, one of another shape, the others missing. */
static void test_foreign_names(void **state) {
  struct bench bench;
  struct error error;
  struct store *store;
  const float zeros[64] = {0};
  open_bench(&bench, *state, 4, 1);
  const float *before = read_flat(&bench, bench.graph->values);
  const char *path = support_path(&bench.folder, "foreign.h5");
  assert_good(store_create(&store, path, &error), &error);
  assert_good(
      store_write(store, "param/module.conv2.1.bias", STORE_F32, 1, (size_t[]){1}, zeros, false, &error),
      &error);
  assert_good(store_write(store, "param/conv2.1.bias", STORE_F32, 1, (size_t[]){1}, zeros, false, &error),
              &error);
  assert_good(store_write(store, "param/head.bias", STORE_F32, 1, (size_t[]){3}, zeros, false, &error),
              &error);
  assert_good(store_write(store, "param/conv2.0.bias", STORE_F32, 1, (size_t[]){5}, zeros, false, &error),
              &error);
  assert_good(store_commit(store, &error), &error);
  assert_false(load(path, bench.graph, NULL, &error));
  assert_holds(error.text, "foreign.h5");
  assert_holds(error.text, "missing: down_sample_layers.0.layers.0.weight");
  assert_holds(error.text, "unexpected: head.bias");
  assert_holds(error.text, "of another shape: conv2.0.bias (5, expected 2)");
  assert_holds(error.text, "there as NAME and as module.NAME: conv2.1.bias;");
  assert_memory_equal(before, read_flat(&bench, bench.graph->values), sizeof(float) * bench.graph->elements);
  close_bench(&bench);
}

static void test_other_optimiser(void **state) {
  struct bench bench;
  struct error error;
  struct optimiser sgd;
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_SGD, 1e-3);
  open_bench(&bench, *state, 4, 1);
  const char *path = support_path(&bench.folder, "net.h5");
  assert_good(save(path, bench.graph, &bench.optimiser, &error), &error);
  assert_good(optimise_open(&sgd, bench.graph, &setup, &error), &error);
  assert_false(load(path, bench.graph, &sgd, &error));
  assert_holds(error.text, "the optimiser in the checkpoint is 'adam', expected 'sgd'");
  optimise_close(&sgd);
  close_bench(&bench);
}

/* AMD's kernels on a device whose compiler does not know them: f32 takes the portable path, the others say
 * why they cannot run. */
static void check_does_not_build(struct device *device, enum device_matrix unknown) {
  enum device_matrix matrix = device->facts.matrix;
  struct kernels *kernels;
  struct error error;
  struct reconstructor reconstructor;
  struct kernel_setup kernel_setup = {32, 32, false, ""};
  struct reconstructor_setup setup = {.device = device,
                                      .shape = {32, 32, 32},
                                      .channels = 16,
                                      .pools = 2,
                                      .precision = BLOCK_F32,
                                      .batch = 2,
                                      .train = true};
  if (matrix == unknown) return;
  device->facts.matrix = unknown;
  assert_good(kernels_open(&kernels, device, &kernel_table, &kernel_setup, &error), &error);
  setup.kernels = kernels;
  assert_good(reconstructor_open(&reconstructor, &setup, &error), &error);
  assert_null(reconstructor.blocks);
  assert_int_equal(reconstructor.batch, 2);
  graph_start(reconstructor.graph, 1);
  reconstructor_forward(&reconstructor, 2);
  reconstructor_backward(&reconstructor, 2, 2);
  assert_good(device_finish(device, &error), &error);
  reconstructor_close(&reconstructor);
  setup.precision = BLOCK_MIXED;
  assert_false(reconstructor_open(&reconstructor, &setup, &error));
  assert_holds(error.text, "does not build");
  kernels_close(kernels);
  device->facts.matrix = matrix;
}

static void test_fused_does_not_build(void **state) {
  check_does_not_build(*state, MATRIX_AMD);
  check_does_not_build(*state, MATRIX_CDNA);
}

/* ---- what checkpoints say ------------------------------------------------------------------------------ */

enum damage { GOOD, MISSING, OTHER_TYPE, NO_NUMBER, NEGATIVE, TOO_LARGE, DAMAGES };

static bool is_word(const struct fact *fact) {
  return fact->kind == FACT_NAME || fact->kind == FACT_TEXT;
}

static const struct network_facts values = {.channels = 6,
                                            .pools = 3,
                                            .hidden = 40,
                                            .shape = {32, 32, 32},
                                            .absolute = 1,
                                            .scale = 1e-4,
                                            .steps = 2,
                                            .adaptive = 1,
                                            .noise_seed = 7,
                                            .initial_lines = 2,
                                            .classes = 5,
                                            .cascades = 3,
                                            .sense_channels = 5,
                                            .sense_pools = 2,
                                            .maps = 1,
                                            .budget = 6,
                                            .input = "complex",
                                            .geometry = "spokes"};

static bool put_damaged(const struct fact *fact, enum damage damage, struct store *store, struct error *error) {
  static const double numbers[DAMAGES] = {[NO_NUMBER] = NAN, [NEGATIVE] = -4};
  if (damage == MISSING) return true;
  if (is_word(fact) != (damage == OTHER_TYPE))
    return store_put_text(store, fact->name, "a word that is longer than any of the others", error);
  return store_put_number(store, fact->name, damage == TOO_LARGE ? 2 * fact->high + 2 : numbers[damage], error);
}

/* All facts of the network, of which one is damaged. */
static void write_facts(const char *path, const struct fact *facts, const struct fact *damaged,
                        enum damage damage) {
  struct store *store;
  struct error error;
  assert_good(store_create(&store, path, &error), &error);
  for (const struct fact *fact = facts; fact->name; fact++) {
    struct fact one[2] = {*fact, {.name = NULL}};
    assert_good(fact == damaged && damage != GOOD ? put_damaged(fact, damage, store, &error)
                                                  : facts_write(one, &values, store, &error),
                &error);
  }
  assert_good(store_commit(store, &error), &error);
}

/* What the scene must say is expected; everything else comes from the file. */
static bool read_facts(const char *path, const struct fact *facts, struct network_facts *read,
                       struct error *error) {
  struct store *store;
  *read = (struct network_facts){.shape = values.shape, .scale = values.scale};
  strcpy(read->input, facts == network_unet.facts ? "magnitude" : values.input);
  strcpy(read->geometry, values.geometry);
  assert_good(store_open(&store, path, error), error);
  bool good = facts_read(facts, read, store, error);
  store_close(store);
  return good;
}

static void facts_survive(void **state) {
  struct folder folder;
  struct network_facts read;
  struct store *store;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "facts.h5");
  for (size_t n = 0; network_at(n); n++) {
    const struct fact *facts = network_at(n)->facts;
    write_facts(path, facts, NULL, GOOD);
    assert_good(read_facts(path, facts, &read, &error), &error);
    assert_good(store_open(&store, path, &error), &error);
    assert_good(facts_same(facts, &read, store, &error), &error);
    store_close(store);
    for (const struct fact *fact = facts; fact->name; fact++)
      if (fact->kind != FACT_NAME && !fact->unwritten)
        assert_memory_equal((char *)&read + fact->place, (const char *)&values + fact->place,
                            is_word(fact) ? strlen(values.geometry) : sizeof(double));
  }
  support_close_folder(&folder);
}

static void try_damage(const char *path, const struct fact *facts, const struct fact *fact,
                       enum damage damage) {
  struct network_facts read;
  struct error error;
  char part[64];
  if (is_word(fact) && damage > OTHER_TYPE) return;
  write_facts(path, facts, fact, damage);
  bool good = read_facts(path, facts, &read, &error);
  if (damage == MISSING && fact->may_lack && (!fact->key || !fact->text || fact->unwritten)) {
    assert_good(good, &error);
    return;
  }
  assert_false(good);
  snprintf(part, sizeof part, "ttribute %s", fact->name);
  assert_holds(error.text, part);
}

/* A fact that good files may lack is what the reader expects, or what files meant before there was a choice: that is
 * refused here, where the scene says otherwise. */
static void damaged_facts_are_refused(void **state) {
  struct folder folder;
  (void)state;
  support_open_folder(&folder);
  const char *path = support_path(&folder, "facts.h5");
  for (size_t n = 0; network_at(n); n++)
    for (const struct fact *fact = network_at(n)->facts; fact->name; fact++)
      for (enum damage damage = MISSING; damage < DAMAGES; damage++)
        try_damage(path, network_at(n)->facts, fact, damage);
  support_close_folder(&folder);
}

static void expect_ports(struct world *world, const struct network_desc *network) {
  component_set there = 0;
  for (unsigned c = 0; c < COMPONENT_COUNT; c++)
    if (world_has(world, c)) there |= SET(c);
  assert_true(there == (network->in | network->out));
  world_close(world);
}

static struct world *open_nothing(struct device *device, struct kernels *kernels) {
  struct world *world;
  struct error error;
  assert_good(world_open(&world, device, kernels, &(struct world_setup){.schema = &component_schema}, TABLE_ENV,
                         &error), &error);
  return world;
}

/* A network binds the columns that its row names. */
static void ports_are_those_of_the_rows(void **state) {
  struct kernel_setup kernel_setup = {32, 32, false, ""};
  struct reconstructor_setup setup = {.device = *state,
                                      .shape = {32, 32, 32},
                                      .channels = 4,
                                      .pools = 2,
                                      .batch = 2,
                                      .train = true,
                                      .input_gradient = true};
  struct reconstructor reconstructor;
  struct error error;
  assert_good(kernels_open(&setup.kernels, *state, &kernel_table, &kernel_setup, &error), &error);
  for (int dense = 0; dense < 2; dense++) {
    const struct network_desc *network = dense ? &network_pgmri : &network_policy;
    struct policy_setup policy_setup = {.device = *state,
                                        .kernels = setup.kernels,
                                        .shape = {32, 32, 32},
                                        .channels = 2,
                                        .pools = 2,
                                        .hidden = 8,
                                        .batch = 2,
                                        .train = true,
                                        .dense = dense};
    struct policy policy;
    assert_good(policy_open(&policy, &policy_setup, &error), &error);
    struct world *world = open_nothing(*state, setup.kernels);
    policy_bind(&policy, world);
    expect_ports(world, network);
    policy_close(&policy);
  }
  assert_good(reconstructor_open(&reconstructor, &setup, &error), &error);
  struct world *world = open_nothing(*state, setup.kernels);
  reconstructor_bind(&reconstructor, world);
  expect_ports(world, &network_unet);
  reconstructor_close(&reconstructor);
  kernels_close(setup.kernels);
}

/* One text for all that is open or will be, with the options of all of them. */
static void memory_is_refused_in_one_text(void **state) {
  struct device *device = *state;
  cl_ulong memory = device->facts.memory;
  struct kernels *kernels;
  struct kernel_setup kernel_setup = {32, 32, false, ""};
  struct reconstructor reconstructor;
  struct policy policy;
  struct error error;
  assert_good(kernels_open(&kernels, device, &kernel_table, &kernel_setup, &error), &error);
  struct reconstructor_setup setup = {.device = device,
                                      .kernels = kernels,
                                      .shape = {32, 32, 32},
                                      .channels = 4,
                                      .pools = 2,
                                      .batch = 2,
                                      .train = true,
                                      .beside = {{&network_tau_step, (size_t)1 << 50, 1, 0}}};
  struct policy_setup policy_setup = {.device = device,
                                      .kernels = kernels,
                                      .shape = {32, 32, 32},
                                      .channels = 2,
                                      .pools = 2,
                                      .hidden = 8,
                                      .batch = 2,
                                      .beside = {&network_unet, (size_t)1 << 20, (size_t)1 << 20, 2}};
  cl_ulong before = device->bytes;
  assert_false(reconstructor_open(&reconstructor, &setup, &error));
  assert_holds(error.text, "MiB with 1 image a pass: unet ");
  assert_holds(error.text, ", tau_step 1073741824.0 MiB, the loss ");
  assert_holds(error.text, "lower network.channels, network.pools, data.size, tau.steps, tau.hidden or data.most");
  device->facts.memory = device->bytes + 1000;
  assert_false(policy_open(&policy, &policy_setup, &error));
  device->facts.memory = memory;
  assert_holds(error.text, ", unet 3.0 MiB (2 a pass)");
  assert_holds(error.text, "lower policy.channels, policy.pools, policy.hidden, data.size, network.channels");
  assert_int_equal(device->bytes, before);
  kernels_close(kernels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parameter_counts),   cmocka_unit_test(test_sizes_are_padded), cmocka_unit_test(test_size_refusal),
      cmocka_unit_test(test_initial_parameters), cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_foreign_names),      cmocka_unit_test(test_other_optimiser),
      cmocka_unit_test(test_small_reference),    cmocka_unit_test(test_large_reference),
      cmocka_unit_test(steps_are_judged_where_the_sign_is_known),
      cmocka_unit_test(test_fused_does_not_build),
      cmocka_unit_test(facts_survive),
      cmocka_unit_test(damaged_facts_are_refused),
      cmocka_unit_test(ports_are_those_of_the_rows),
      cmocka_unit_test(memory_is_refused_in_one_text),
  };
  return cmocka_run_group_tests_name("network", tests, support_open_device, support_close_device);
}
