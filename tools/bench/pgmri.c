/* Reconstructions per second of PG-MRI's training: an update plays the trajectories of its slices, then
 * learns from every state. Beside it stand the passes through the two networks alone, in the same batches:
 * those that are made, and the fewest possible, without the second forward pass of the policy when it
 * learns. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "systems/methods/pgmri.h"
#include "tools/bench/bench.h"

enum { CHECKED = 16 }; /* images a pass of the portable policy that the gradient is compared with */

/* The bounds are those of policy.c. */
static const double gradient_bounds[] = {2e-2, 3e-1, 4e-1};

struct pgmri_bench {
  struct device *device;
  struct training training;
  struct policy portable;
  size_t group, scans; /* slices of an update; trajectories */
  double seconds, made_seconds, least_seconds, gradient_error;
  double waited, share; /* of that time for other ranks; seconds of a rank's share of it, alone */
  const char *worst; /* the parameter whose gradient is off most */
};

static struct trajectories *trajectories_of(struct pgmri_bench *bench) {
  return &pgmri_of(&bench->training)->trajectories;
}

/* ---- checking ------------------------------------------------------------------------------------------ */

static bool open_portable(struct pgmri_bench *bench, struct error *error) {
  const struct training *training = &bench->training;
  struct policy_setup setup = training->policy.setup;
  setup.portable = true;
  setup.precision = BLOCK_F32;
  setup.batch = CHECKED;
  if (!policy_open(&bench->portable, &setup, error)) return false;
  graph_start(bench->portable.graph, training->options->world.seed);
  policy_changed(&bench->portable);
  return true;
}

static bool run_gradient(struct pgmri_bench *bench, struct policy *policy, struct error *error) {
  struct simulation *simulation = &bench->training.train.simulation;
  struct arena *arena = arena_open();
  struct schedule *gradient = ARENA_NEW(arena, struct schedule, 1);
  schedule_open(gradient, &component_schema);
  trajectories_add_gradient(trajectories_of(bench), gradient);
  bool good = schedule_close(gradient, error) && schedule_prepare(gradient, simulation->kernels, error);
  simulation->policy = policy;
  if (good) schedule_run(gradient, simulation->world);
  simulation->policy = &bench->training.policy;
  arena_close(arena);
  return good;
}

/* The gradient of one play, by the portable path as well. */
static bool check(struct pgmri_bench *bench, struct error *error) {
  struct training *training = &bench->training;
  double bound = gradient_bounds[training->options->policy.precision];
  if (!training->policy.blocks) return true;
  if (!open_portable(bench, error)) return false;
  trajectories_play(trajectories_of(bench), &training->list[PGMRI_PLAY], 0, bench->group);
  if (!run_gradient(bench, &training->policy, error) || !run_gradient(bench, &bench->portable, error)) return false;
  bench->gradient_error =
      bench_gradient_distance(bench->device, training->policy.graph, bench->portable.graph, &bench->worst);
  if (!device_finish(bench->device, error)) return false;
  policy_close(&bench->portable);
  if (bench->gradient_error <= bound) return true;
  return fail(error, "the fused gradient of %s is off by %.2e of its size, the bound is %.0e", bench->worst,
              bench->gradient_error, bound);
}

/* ---- the bench ----------------------------------------------------------------------------------------- */

static void update_once(void *context) {
  struct pgmri_bench *bench = context;
  pgmri_step(&bench->training, 0, bench->group);
}

static void pass_reconstructor(struct pgmri_bench *bench, size_t images) {
  struct reconstructor *reconstructor = &bench->training.reconstructor;
  size_t most = reconstructor->batch;
  for (size_t first = 0; first < images; first += most)
    reconstructor_forward(reconstructor, images - first < most ? images - first : most);
}

static void pass_policy(struct pgmri_bench *bench, size_t images, bool backward) {
  struct policy *policy = &bench->training.policy;
  size_t most = policy->batch;
  for (size_t first = 0; first < images; first += most) {
    size_t count = images - first < most ? images - first : most;
    path_forward(&policy->network.path, count);
    if (backward) graph_set_shards(policy->graph, 0, count);
    if (backward) policy_backward(policy, count);
  }
}

static void pass_networks(struct pgmri_bench *bench, bool decide) {
  const struct trajectories *trajectories = trajectories_of(bench); /* of this rank */
  size_t slices = trajectories->slices, scans = slices * trajectories->simulation->plan.draws;
  pass_reconstructor(bench, slices);
  for (size_t step = 0; step < trajectories->steps; step++) {
    if (decide) pass_policy(bench, trajectories->simulation->plan.greedy || step == 0 ? slices : scans, false);
    pass_reconstructor(bench, scans);
  }
  pass_policy(bench, trajectories_images(trajectories_of(bench)), true);
}

static void pass_made(void *context) {
  pass_networks(context, true);
}

static void pass_least(void *context) {
  pass_networks(context, false);
}

static void print_result(struct pgmri_bench *bench, bool json) {
  const struct options *options = bench->training.options;
  size_t images = bench->group + bench->scans * trajectories_of(bench)->steps;
  double rate = (double)images / bench->seconds, made = (double)images / bench->made_seconds;
  double least = (double)images / bench->least_seconds;
  const char *estimator = trajectories_of(bench)->simulation->plan.greedy ? "greedy" : "nongreedy";
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
           trajectories_of(bench)->steps, network, policy, bench->training.policy.blocks ? "fused" : "portable");
    printf("\"images_per_second\":%.6g,\"passes_images_per_second\":%.6g,\"share\":%.4g,"
           "\"least_images_per_second\":%.6g,\"share_of_least\":%.4g,\"milliseconds\":%.6g,"
           "\"gradient_error\":%.3g",
           rate, made, rate / made, least, rate / least, 1e3 * bench->seconds, bench->gradient_error);
    bench_print_ranks(bench->device, bench->training.optimiser.graph, bench->share, bench->seconds, bench->waited, true);
    printf("}\n");
    return;
  }
  printf("PG-MRI, %s: %zu slice%s x q = %u, T = %zu, %ux%u, reconstructor %s, policy %s, %s path, on %s\n",
         estimator, bench->group, plural(bench->group), options->pgmri.trajectories,
         trajectories_of(bench)->steps, shape.height, shape.width, network, policy,
         bench->training.policy.blocks ? "fused" : "portable", bench->device->facts.name);
  printf("  update %s reconstructions/s, %s ms: %.1f %% of the networks' passes alone (%s/s), %.1f %% of "
         "the least of them (%s/s)",
         text_number(rate, 5).text, text_number(1e3 * bench->seconds, 4).text, 100 * rate / made,
         text_number(made, 5).text, 100 * rate / least, text_number(least, 5).text);
  if (bench->training.policy.blocks)
    printf("; gradients at most %.1e off the portable path (%s)", bench->gradient_error, bench->worst);
  printf("\n");
  bench_print_ranks(bench->device, bench->training.optimiser.graph, bench->share, bench->seconds, bench->waited, false);
}

static bool open_training(struct pgmri_bench *bench, struct call *call, const struct options *options, struct error *error) {
  bench->group = (size_t)options->pgmri.batch * options->pgmri.accumulation;
  bench->scans = bench->group * options->pgmri.trajectories;
  struct training_config config = {.task = &task_pgmri,
                                   .kernel_folder = call_flag(call, "kernels"),
                                   .fill = bench_slices,
                                   .slices = bench->group};
  return training_open(&bench->training, bench->device, options, &config, error);
}

/* With the scene's slices of an update. */
static bool time_rank(void *context, double *seconds, struct error *error) {
  struct call *call = context;
  struct pgmri_bench bench = *(const struct pgmri_bench *)call->own;
  if (!open_training(&bench, call, &call->options, error)) return false;
  bool good = bench_passes(bench.device, update_once, &bench, seconds, error);
  training_close(&bench.training);
  return good;
}

bool bench_pgmri(struct call *call, struct device *device, struct error *error) {
  struct options all = call->options; /* of every rank, which has the scene's slices */
  struct pgmri_bench bench = {.device = device, .worst = ""};
  call->own = &bench;
  all.pgmri.batch *= ranks_count(device->ranks);
  if (!bench_alone(device, time_rank, call, &bench.share, error) || !open_training(&bench, call, &all, error)) return false;
  bool good = check(&bench, error) && bench_passes_waited(device, update_once, &bench, &bench.seconds, &bench.waited, error) &&
              bench_passes(device, pass_made, &bench, &bench.made_seconds, error) &&
              bench_passes(device, pass_least, &bench, &bench.least_seconds, error);
  if (good) print_result(&bench, call_flag(call, "json"));
  if (good && call_flag(call, "profile")) good = bench_profile(device, update_once, &bench, false, error);
  policy_close(&bench.portable);
  training_close(&bench.training);
  return good;
}
