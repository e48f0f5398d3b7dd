/* Reconstructions per second of PG-MRI's training: an update plays the trajectories of its slices, then
 * learns from every state. Beside it stand the passes through the two networks alone, in the same batches:
 * those that are made, and the fewest possible, without the second forward pass of the policy when it
 * learns. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "kernels/kernels.h"
#include "systems/methods/pgmri.h"
#include "systems/methods/trajectories.h"
#include "tools/bench/bench.h"

enum { CHECKED = 16 }; /* images a pass of the portable policy that the gradient is compared with */

/* The bounds are those of policy.c. */
static const double gradient_bounds[] = {2e-2, 3e-1, 4e-1};

struct pgmri_bench {
  struct options options;
  struct device *device;
  struct simulation simulation;
  struct acquisition acquisition;
  struct reconstructor reconstructor;
  struct policy policy, portable;
  struct trajectories trajectories;
  struct optimiser optimiser;
  size_t group, scans; /* slices of an update; trajectories */
  double seconds, made_seconds, least_seconds, gradient_error;
  const char *kernel_folder;
  const char *worst; /* the parameter whose gradient is off most */
};

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_simulation(struct pgmri_bench *bench, struct error *error) {
  const struct options *options = &bench->options;
  struct simulation_plan plan = trajectories_plan(options, bench->group, bench->group,
                                                  options->pgmri.trajectories, bench->acquisition.budget);
  plan.network = true;
  plan.kernel_folder = bench->kernel_folder;
  return simulation_open(&bench->simulation, bench->device, options, &plan, error) &&
         bench_slices(bench->simulation.world, bench->group, options->world.seed, error) &&
         simulation_set(&bench->simulation, &bench->acquisition, &sampler_policy, error);
}

static bool open_reconstructor(struct pgmri_bench *bench, struct error *error) {
  const struct options *options = &bench->options;
  struct reconstructor_setup setup =
      reconstructor_setup_of(bench->device, bench->simulation.kernels, options, bench->scans);
  if (!reconstructor_begin(&bench->reconstructor, NULL, &setup, options->world.seed, error)) return false;
  bench->simulation.reconstructor = &bench->reconstructor;
  return true;
}

static bool open_policy(struct pgmri_bench *bench, struct policy *policy, bool portable,
                        struct error *error) {
  const struct options *options = &bench->options;
  struct policy_setup setup =
      policy_setup_of(bench->device, bench->simulation.kernels, options, bench->scans * bench->acquisition.budget);
  setup.train = setup.dense = true;
  setup.portable = portable;
  if (portable) setup.precision = BLOCK_F32;
  if (portable) setup.batch = CHECKED;
  if (!policy_open(policy, &setup, error)) return false;
  graph_start(policy->graph, options->world.seed);
  policy_changed(policy);
  return true;
}

static bool open_training(struct pgmri_bench *bench, struct error *error) {
  const struct options *options = &bench->options;
  struct trajectories_setup setup = {.simulation = &bench->simulation,
                                     .batch = options->pgmri.batch,
                                     .minibatches = options->pgmri.accumulation,
                                     .draws = options->pgmri.trajectories,
                                     .greedy = options->pgmri.estimator == PGMRI_GREEDY,
                                     .baseline = options->pgmri.baseline,
                                     .gamma = options->pgmri.gamma};
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, options->pgmri.rate);
  bench->simulation.policy = &bench->policy;
  return trajectories_open(&bench->trajectories, &setup, error) &&
         optimise_open(&bench->optimiser, bench->policy.graph, &adam, error);
}

static void close_bench(struct pgmri_bench *bench) {
  if (bench->optimiser.device) optimise_close(&bench->optimiser);
  policy_close(&bench->portable);
  policy_close(&bench->policy);
  reconstructor_close(&bench->reconstructor);
  if (bench->simulation.kernels) simulation_close(&bench->simulation);
}

/* ---- checking ------------------------------------------------------------------------------------------ */

static void run_gradient(struct pgmri_bench *bench, struct policy *policy) {
  bench->simulation.policy = policy;
  trajectories_gradient(&bench->trajectories);
  bench->simulation.policy = &bench->policy;
}

/* The gradient of one play, by the portable path as well. */
static bool check(struct pgmri_bench *bench, struct error *error) {
  double bound = gradient_bounds[bench->options.policy.precision];
  if (!bench->policy.blocks) return true;
  if (!open_policy(bench, &bench->portable, true, error)) return false;
  trajectories_play(&bench->trajectories, 0, bench->group);
  run_gradient(bench, &bench->policy);
  run_gradient(bench, &bench->portable);
  bench->gradient_error =
      bench_gradient_distance(bench->device, bench->policy.graph, bench->portable.graph, &bench->worst);
  if (!device_finish(bench->device, error)) return false;
  policy_close(&bench->portable);
  if (bench->gradient_error <= bound) return true;
  return fail(error, "the fused gradient of %s is off by %.2e of its size, the bound is %.0e", bench->worst,
              bench->gradient_error, bound);
}

/* ---- the bench ----------------------------------------------------------------------------------------- */

static void update_once(void *context) {
  struct pgmri_bench *bench = context;
  trajectories_play(&bench->trajectories, 0, bench->group);
  trajectories_gradient(&bench->trajectories);
  optimise_step(&bench->optimiser);
  policy_changed(&bench->policy);
}

static void pass_reconstructor(struct pgmri_bench *bench, size_t images) {
  size_t most = bench->reconstructor.batch;
  for (size_t first = 0; first < images; first += most)
    reconstructor_forward(&bench->reconstructor, images - first < most ? images - first : most);
}

static void pass_policy(struct pgmri_bench *bench, size_t images, bool backward) {
  size_t most = bench->policy.batch;
  for (size_t first = 0; first < images; first += most) {
    size_t count = images - first < most ? images - first : most;
    policy_forward(&bench->policy, count);
    if (backward) policy_backward(&bench->policy, count);
  }
}

static void pass_networks(struct pgmri_bench *bench, bool decide) {
  bool greedy = bench->trajectories.setup.greedy;
  pass_reconstructor(bench, bench->group);
  for (size_t step = 0; step < bench->trajectories.steps; step++) {
    if (decide) pass_policy(bench, greedy || step == 0 ? bench->group : bench->scans, false);
    pass_reconstructor(bench, bench->scans);
  }
  pass_policy(bench, trajectories_images(&bench->trajectories), true);
}

static void pass_made(void *context) {
  pass_networks(context, true);
}

static void pass_least(void *context) {
  pass_networks(context, false);
}

static void print_result(const struct pgmri_bench *bench, bool json) {
  const struct options *options = &bench->options;
  size_t images = bench->group + bench->scans * bench->trajectories.steps;
  double rate = (double)images / bench->seconds, made = (double)images / bench->made_seconds;
  double least = (double)images / bench->least_seconds;
  const char *estimator = bench->trajectories.setup.greedy ? "greedy" : "nongreedy";
  const char *network = block_precision_name((enum block_precision)options->network.precision);
  const char *policy = block_precision_name((enum block_precision)options->policy.precision);
  const struct scan_shape shape = scan_shape_of(options);
  char size[SCAN_SHAPE_TEXT];
  if (json) {
    printf("{\"bench\":\"pgmri\",\"device\":");
    json_text(stdout, bench->device->facts.name);
    printf(",\"size\":%s,\"estimator\":\"%s\",\"slices\":%zu,\"trajectories\":%u,\"budget\":%zu,"
           "\"network_precision\":\"%s\",\"policy_precision\":\"%s\",\"path\":\"%s\",",
           scan_shape_text(&shape, size), estimator, bench->group, options->pgmri.trajectories,
           bench->trajectories.steps, network, policy, bench->policy.blocks ? "fused" : "portable");
    printf("\"images_per_second\":%.6g,\"passes_images_per_second\":%.6g,\"share\":%.4g,"
           "\"least_images_per_second\":%.6g,\"share_of_least\":%.4g,\"milliseconds\":%.6g,"
           "\"gradient_error\":%.3g}\n",
           rate, made, rate / made, least, rate / least, 1e3 * bench->seconds, bench->gradient_error);
    return;
  }
  printf("PG-MRI, %s: %zu slice%s x q = %u, T = %zu, %ux%u, reconstructor %s, policy %s, %s path, on %s\n",
         estimator, bench->group, plural(bench->group), options->pgmri.trajectories,
         bench->trajectories.steps, shape.height, shape.width, network, policy,
         bench->policy.blocks ? "fused" : "portable", bench->device->facts.name);
  printf("  update %s reconstructions/s, %s ms: %.1f %% of the networks' passes alone (%s/s), %.1f %% of "
         "the least of them (%s/s)",
         text_number(rate, 5).text, text_number(1e3 * bench->seconds, 4).text, 100 * rate / made,
         text_number(made, 5).text, 100 * rate / least, text_number(least, 5).text);
  if (bench->policy.blocks)
    printf("; gradients at most %.1e off the portable path (%s)", bench->gradient_error, bench->worst);
  printf("\n");
}

bool bench_pgmri(struct call *call, struct device *device, struct error *error) {
  struct pgmri_bench bench = {.options = call->options, .device = device,
                              .kernel_folder = call_flag(call, "kernels"),
                              .worst = ""};
  const struct options *options = &bench.options;
  bench.options.reward.form = REWARD_DENSE;
  bench.group = (size_t)options->pgmri.batch * options->pgmri.accumulation;
  bench.scans = bench.group * options->pgmri.trajectories;
  bool good = policy_training_check(&policy_trainer_pgmri, device, options, 1, error) &&
              acquisition_only(&bench.acquisition, options, call->arena, error) &&
              open_simulation(&bench, error) && open_reconstructor(&bench, error) &&
              open_policy(&bench, &bench.policy, false, error) && open_training(&bench, error) &&
              check(&bench, error) && bench_passes(device, update_once, &bench, &bench.seconds, error) &&
              bench_passes(device, pass_made, &bench, &bench.made_seconds, error) &&
              bench_passes(device, pass_least, &bench, &bench.least_seconds, error);
  if (good) print_result(&bench, call_flag(call, "json"));
  if (good && call_flag(call, "profile")) good = bench_profile(device, update_once, &bench, false, error);
  close_bench(&bench);
  return good;
}
