/* Checkpoints: parameters and optimiser of a small network, and what stands beside them. */
#include "kernels/kernels.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/networks.h"
#include "tests/fuzz/fuzz.h"

static struct device device;
static struct kernels *kernels;
static struct graph *graph;
static struct optimiser optimiser;

enum { N = 8 };

/* The network has as few parameters as have all shapes: each is looked at once a group, and there are three
 * groups. */
static void open_network(void) {
  struct kernel_setup setup = {N, N, false, ""};
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, 1e-3);
  struct error error;
  FUZZ_MUST(device_open(&device, "", &error));
  FUZZ_MUST(kernels_open(&kernels, &device, &kernel_table, &setup, &error));
  struct graph_setup plan = {.device = &device, .kernels = kernels, .batch = 1, .train = true};
  graph_open(&graph);
  linear(graph, conv2d(graph, graph_input(graph, "input", 1, N, N), "conv", 2, 3), "fc", 3);
  FUZZ_MUST(graph_plan(graph, &plan, &error));
  graph_start(graph, 1);
  FUZZ_MUST(optimise_open(&optimiser, graph, &adam, &error));
}

static const struct network_facts said = {
    .channels = 2, .pools = 1, .shape = {N, N, N}, .input = "magnitude"};

static void write_good(void) {
  struct store *store;
  struct error error;
  open_network();
  FUZZ_MUST(store_create(&store, fuzz_path("good.h5"), &error));
  FUZZ_MUST(facts_write(network_unet.facts, &said, store, &error) &&
            checkpoint_write_parameters(store, "param", graph, &error) &&
            checkpoint_write_optimiser(store, &optimiser, &error) &&
            store_put_number(store, "epoch", 3, &error));
  FUZZ_MUST(store_commit(store, &error));
  fuzz_take();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool ready;
  struct store *store;
  struct error error;
  double epoch;
  if (!ready) write_good();
  ready = true;
  if (!store_open(&store, fuzz_change(data, size), &error)) return 0;
  facts_same(network_unet.facts, &said, store, &error);
  if (checkpoint_check_parameters(store, "param", graph, &error))
    checkpoint_read_parameters(store, "param", graph, &error);
  checkpoint_read_optimiser(store, &optimiser, &error);
  checkpoint_whole(store, "epoch", 1e9, &epoch, &error);
  store_close(store);
  FUZZ_MUST(device_finish(&device, &error));
  return 0;
}
