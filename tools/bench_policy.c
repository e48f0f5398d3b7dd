/* Observations per second through the policy and its critic: forward, and to train the loss of A2C, backward,
 * clipping and a step of RMSprop. */
#include "tools/bench.h"

#include "engine/log.h"
#include "engine/optimise.h"
#include "kernels/kernels.h"
#include "systems/policy.h"

enum { CHECKED = 4 };

/* As in bench_network.c; logits pass three more layers. */
static const double output_bounds[] = {2e-5, 1e-2, 2e-2}, gradient_bounds[] = {2e-2, 3e-1, 4e-1};

struct policy_bench {
  const struct options *options;
  struct device *device;
  struct kernels *kernels;
  struct policy policy, portable; /* portable: of the images that are checked */
  struct policy_update update;
  struct optimiser optimiser;
  bool train;
  size_t n, batch;
  double seconds, output_error, gradient_error;
  const char *worst; /* the parameter whose gradient is off most */
};

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_policy(struct policy_bench *bench, struct policy *policy, bool portable,
                        struct error *error) {
  const struct options *options = bench->options;
  size_t checked = bench->batch < CHECKED ? bench->batch : CHECKED;
  struct policy_setup setup = {.device = bench->device,
                               .kernels = bench->kernels,
                               .size = bench->n,
                               .channels = options->policy.channels,
                               .pools = options->policy.pools,
                               .hidden = options->policy.hidden,
                               .precision =
                                   portable ? BLOCK_F32 : (enum block_precision)options->policy.precision,
                               .batch = portable ? checked : bench->batch,
                               .train = bench->train,
                               .portable = portable};
  if (!policy_open(policy, &setup, error)) return false;
  graph_start(policy->graph, options->world.seed);
  policy_changed(policy);
  bench_images(bench->device, policy->input, policy->batch, bench->n, options->world.seed);
  device_fill(bench->device, policy->mask, 0, sizeof(float) * bench->n * policy->batch, 0);
  return true;
}

static cl_mem column(struct policy_bench *bench, const float *values, size_t words, struct error *error) {
  size_t bytes = sizeof(float) * words * bench->batch;
  cl_mem buffer = device_buffer(bench->device, bytes, "a column of the update", error);
  if (buffer && values) device_write(bench->device, buffer, 0, bytes, values);
  return buffer;
}

/* Rows in order, actions spread over the lines, random advantages and targets. */
static bool open_update(struct policy_bench *bench, struct error *error) {
  struct arena *arena = arena_open();
  struct policy_update *update = &bench->update;
  struct random random;
  uint32_t *order = ARENA_NEW(arena, uint32_t, bench->batch),
           *action = ARENA_NEW(arena, uint32_t, bench->batch);
  float *value = ARENA_NEW(arena, float, bench->batch);
  random_start(&random, bench->options->world.seed, STREAM_PHANTOM, 99);
  for (size_t i = 0; i < bench->batch; i++) {
    order[i] = (uint32_t)i;
    action[i] = (uint32_t)(i * 7 % bench->n);
    value[i] = (float)random_normal(&random);
  }
  *update = (struct policy_update){.entropy_weight = 0.03f, .value_weight = 0.5f};
  bool good = (update->order = column(bench, (const float *)order, 1, error)) &&
              (update->action = column(bench, (const float *)action, 1, error)) &&
              (update->log_prob = column(bench, value, 1, error)) &&
              (update->advantage = column(bench, value, 1, error)) &&
              (update->target = column(bench, value, 1, error)) &&
              (update->terms = column(bench, NULL, 4, error));
  arena_close(arena);
  return good;
}

static bool open_optimiser(struct policy_bench *bench, struct error *error) {
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_RMSPROP, 3e-4);
  setup.epsilon = 1e-5;
  setup.clip = 0.5;
  return optimise_open(&bench->optimiser, bench->policy.graph, &setup, error);
}

static void close_bench(struct policy_bench *bench) {
  struct policy_update *update = &bench->update;
  cl_mem columns[] = {update->order, update->action, update->log_prob, update->advantage, update->target};
  if (bench->optimiser.device) optimise_close(&bench->optimiser);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    device_release(bench->device, columns[i], sizeof(float) * bench->batch);
  device_release(bench->device, update->terms, 4 * sizeof(float) * bench->batch);
  policy_close(&bench->portable);
  policy_close(&bench->policy);
}

/* ---- checking ------------------------------------------------------------------------------------------ */

static void run_gradients(struct policy_bench *bench, struct policy *policy, size_t count) {
  graph_zero_gradients(policy->graph);
  policy_forward(policy, count);
  policy_loss(policy, &bench->update, 0, count, 1.0 / (double)count);
  policy_backward(policy, count);
}

static bool check(struct policy_bench *bench, struct error *error) {
  struct policy *policy = &bench->policy, *portable = &bench->portable;
  size_t count = portable->batch, precision = bench->options->policy.precision;
  if (bench->train) {
    run_gradients(bench, policy, count);
    run_gradients(bench, portable, count);
    bench->gradient_error =
        bench_gradient_distance(bench->device, policy->graph, portable->graph, &bench->worst);
  } else {
    policy_forward(policy, count);
    policy_forward(portable, count);
  }
  bench->output_error = device_distance(bench->device, policy->logits, portable->logits, count * bench->n);
  if (!device_finish(bench->device, error)) return false;
  if (!(bench->output_error <= output_bounds[precision]))
    return fail(error, "the fused policy's logits are off by %.2e of their size, the bound is %.0e",
                bench->output_error, output_bounds[precision]);
  if (!(bench->gradient_error <= gradient_bounds[precision]))
    return fail(error, "the fused gradient of %s is off by %.2e of its size, the bound is %.0e", bench->worst,
                bench->gradient_error, gradient_bounds[precision]);
  return true;
}

/* ---- the bench ----------------------------------------------------------------------------------------- */

static void run_once(void *context) {
  struct policy_bench *bench = context;
  if (!bench->train) {
    policy_forward(&bench->policy, bench->batch);
    return;
  }
  run_gradients(bench, &bench->policy, bench->batch);
  optimise_step(&bench->optimiser);
  policy_changed(&bench->policy);
}

static void print_result(const struct policy_bench *bench, bool json) {
  const struct options *options = bench->options;
  const char *precision = block_precision_name((enum block_precision)options->policy.precision);
  const char *path = bench->policy.blocks ? "fused" : "portable";
  double rate = (double)bench->batch / bench->seconds;
  double flops = bench_flops(bench->policy.graph) * rate * (bench->train ? 3 : 1);
  if (json) {
    printf("{\"bench\":\"policy\",\"work\":\"%s\",\"device\":", bench->train ? "train" : "forward");
    json_text(stdout, bench->device->facts.name);
    printf(",\"size\":%zu,\"channels\":%u,\"pools\":%u,\"hidden\":%u,\"batch\":%zu,\"precision\":\"%s\","
           "\"path\":\"%s\",\"observations_per_second\":%.6g,\"milliseconds\":%.6g,\"flops_per_second\":%.6g,"
           "\"output_error\":%.3g,\"gradient_error\":%.3g}\n",
           bench->n, options->policy.channels, options->policy.pools, options->policy.hidden, bench->batch,
           precision, path, rate, 1e3 * bench->seconds, flops, bench->output_error, bench->gradient_error);
    return;
  }
  printf("policy: %u channels, %u pools, hidden %u, %zux%zu, batch %zu, %s, %s path, on %s\n",
         options->policy.channels, options->policy.pools, options->policy.hidden, bench->n, bench->n,
         bench->batch, precision, path, bench->device->facts.name);
  printf("  %s %.5g observations/s, %.4g ms a batch, %.4g TFLOP/s, logits %.1e off the portable path",
         bench->train ? "forward + loss + backward + RMSprop" : "forward", rate, 1e3 * bench->seconds,
         flops / 1e12, bench->output_error);
  if (bench->train) printf(", gradients at most %.1e (%s)", bench->gradient_error, bench->worst);
  printf("\n");
}

bool bench_policy(struct call *call, struct device *device, struct error *error) {
  const struct options *options = &call->options;
  struct policy_bench bench = {.options = options,
                               .device = device,
                               .n = options->data.size,
                               .batch = options->policy.batch,
                               .train = call_flag(call, "train"),
                               .worst = ""};
  struct kernel_setup setup = {bench.n, bench.n, false, call_flag(call, "kernels")};
  if (!kernels_open(&bench.kernels, device, &kernel_table, &setup, error)) return false;
  bool good = open_policy(&bench, &bench.policy, false, error);
  bench.batch = good ? bench.policy.batch : bench.batch;
  good = good && open_policy(&bench, &bench.portable, true, error) &&
         (!bench.train || (open_update(&bench, error) && open_optimiser(&bench, error))) &&
         check(&bench, error) && bench_passes(device, run_once, &bench, &bench.seconds, error);
  if (good) print_result(&bench, call_flag(call, "json"));
  if (good && call_flag(call, "profile")) good = bench_profile(device, run_once, &bench, false, error);
  close_bench(&bench);
  kernels_close(bench.kernels);
  return good;
}
