/* Checkpoints that name a network and hold it: a reconstructor, policies, and samplers of lines and of points
 * with their reconstructor. Their attributes say how large the network is. */
#include "kernels/kernels.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/policy.h"
#include "systems/networks/tau.h"
#include "tests/fuzz/fuzz.h"

enum { N = 32, BUDGET = 6 };
enum kind { RECONSTRUCTOR, POLICY, PGMRI, LINES, POINTS, KINDS };

static struct device device;
static struct kernels *kernels;
static struct options options[KINDS]; /* one for each kind of sampler */
static struct acquisition acquisition[KINDS];

static void open_device(void) {
  struct kernel_setup setup = {N, N, false, ""};
  struct error error;
  FUZZ_MUST(device_open(&device, "", &error));
  FUZZ_MUST(kernels_open(&kernels, &device, &kernel_table, &setup, &error));
  for (int kind = LINES; kind < KINDS; kind++) {
    struct options *own = &options[kind];
    option_defaults(&option_table, own, arena_open());
    own->data.size = option_square(N);
    own->acquisition.geometry = kind == POINTS ? GEOMETRY_POINTS : GEOMETRY_LINES;
    own->tau.adaptive = false;
    own->tau.steps = 2;
    own->tau.hidden = 4;
    own->tau.channels = 2;
    own->tau.pools = 1;
    FUZZ_MUST(acquisition_plan(&acquisition[kind], own, 4, "base", &error));
  }
}

static struct reconstructor_setup reconstructor_setup(void) {
  return (struct reconstructor_setup){
      .device = &device, .kernels = kernels, .shape = {N, N, N}, .channels = 2, .pools = 1, .batch = 1};
}

static struct policy_setup policy_setup(enum kind kind) {
  return (struct policy_setup){.device = &device,
                               .kernels = kernels,
                               .shape = {N, N, N},
                               .channels = 2,
                               .pools = 1,
                               .hidden = 4,
                               .batch = 1,
                               .dense = kind == PGMRI};
}

static struct masks_setup tau_setup(enum kind kind) {
  return (struct masks_setup){.device = &device,
                            .kernels = kernels,
                            .options = &options[kind],
                            .acquisition = acquisition[kind],
                            .batch = 1};
}

/* ---- good files ---------------------------------------------------------------------------------------- */

static void write_policy(enum kind kind, struct store *store) {
  struct policy_setup setup = policy_setup(kind);
  struct policy policy;
  struct error error;
  FUZZ_MUST(policy_open(&policy, &setup, &error));
  graph_start(policy.graph, 1);
  policy.initial_lines = 2;
  policy.budget = BUDGET;
  FUZZ_MUST(policy_write(&policy, store, &error));
  policy_close(&policy);
}

static void write_reconstructor(enum kind kind, struct store *store) {
  struct reconstructor_setup setup = reconstructor_setup();
  struct masks_setup sampler = tau_setup(kind);
  struct reconstructor reconstructor;
  struct tau tau;
  struct error error;
  setup.train = setup.input_gradient = sampler.train = true;
  FUZZ_MUST(reconstructor_open(&reconstructor, &setup, &error));
  graph_start(reconstructor.graph, 1);
  FUZZ_MUST(reconstructor_write(&reconstructor, store, &error));
  if (kind != RECONSTRUCTOR) {
    FUZZ_MUST(tau_open(&tau, &sampler, &reconstructor, &error));
    const struct network_facts facts = tau_facts(&tau);
    FUZZ_MUST(facts_write(network_of_sampler(tau.points)->facts, &facts, store, &error));
    FUZZ_MUST(checkpoint_write_parameters(store, "sampler", tau_parameters(&tau), &error));
    tau_close(&tau);
  }
  reconstructor_close(&reconstructor);
}

static void write_good(enum kind kind) {
  struct store *store;
  struct error error;
  FUZZ_MUST(store_create(&store, fuzz_path("good.h5"), &error));
  (kind == POLICY || kind == PGMRI ? write_policy : write_reconstructor)(kind, store);
  FUZZ_MUST(store_commit(store, &error));
  fuzz_take();
}

/* ---- trying -------------------------------------------------------------------------------------------- */

static void load_policy(enum kind kind, const char *path) {
  struct policy_setup setup = policy_setup(kind);
  struct policy policy;
  struct error error;
  if (policy_load(&policy, path, &setup, &error)) policy_close(&policy);
}

static void load_reconstructor(enum kind kind, const char *path) {
  struct reconstructor_setup setup = reconstructor_setup();
  struct reconstructor reconstructor;
  struct error error;
  (void)kind;
  if (reconstructor_load(&reconstructor, path, &setup, &error)) reconstructor_close(&reconstructor);
}

static void load_sampler(enum kind kind, const char *path) {
  struct masks_setup setup = tau_setup(kind);
  struct tau tau;
  struct error error;
  if (tau_load(&tau, path, &setup, &error)) tau_close(&tau);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const load[KINDS])(enum kind kind, const char *path) = {
      load_reconstructor, load_policy, load_policy, load_sampler, load_sampler};
  struct error error;
  if (!kernels) {
    open_device();
    for (enum kind kind = 0; kind < KINDS; kind++) write_good(kind);
  }
  const char *path = fuzz_change(data, size);
  load[fuzz_kind()]((enum kind)fuzz_kind(), path);
  FUZZ_MUST(device_finish(&device, &error));
  return 0;
}
