/* Checkpoints: parameters and optimiser of a small U-Net, and the numbers that stand beside them. */
#include "kernels/kernels.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/reconstructor.h"
#include "tests/fuzz/fuzz.h"

static struct device device;
static struct kernels *kernels;
static struct reconstructor reconstructor;
static struct optimiser optimiser;

enum { N = 32 };

static void open_network(void) {
  struct kernel_setup setup = {N, N, false, ""};
  struct error error;
  FUZZ_MUST(device_open(&device, "", &error));
  FUZZ_MUST(kernels_open(&kernels, &device, &kernel_table, &setup, &error));
  struct reconstructor_setup own = {
      .device = &device, .kernels = kernels, .size = N, .channels = 2, .pools = 1, .batch = 1, .train = true};
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, 1e-3);
  FUZZ_MUST(reconstructor_open(&reconstructor, &own, &error));
  FUZZ_MUST(optimise_open(&optimiser, reconstructor.graph, &adam, &error));
}

static void write_good(void) {
  struct store *store;
  struct error error;
  open_network();
  FUZZ_MUST(store_create(&store, fuzz_path("good.h5"), &error));
  FUZZ_MUST(reconstructor_write(&reconstructor, store, &error) &&
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
  checkpoint_read_parameters(store, "param", reconstructor.graph, &error);
  checkpoint_read_optimiser(store, &optimiser, &error);
  checkpoint_whole(store, "epoch", 1e9, &epoch, &error);
  store_close(store);
  FUZZ_MUST(device_finish(&device, &error));
  return 0;
}
