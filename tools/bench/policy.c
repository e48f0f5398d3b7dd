/* Observations per second through the policy and its critic: forward, and to train the loss of A2C, backward,
 * clipping and a step of RMSprop. */
#include "tools/bench/bench.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/graph/optimise.h"
#include "kernels/kernels.h"
#include "systems/networks/policy.h"
#include "tools/bench/roofline.h"

#include <math.h>

enum { CHECKED = 4 };

/* The bounds are those of network.c; logits pass three more layers. */
static const double output_bounds[] = {2e-5, 1e-2, 2e-2}, gradient_bounds[] = {2e-2, 3e-1, 4e-1};

struct policy_bench {
  const struct options *options;
  struct device *device;
  struct kernels *kernels;
  struct policy policy, portable; /* portable: of the images that are checked */
  struct policy_update update;
  struct optimiser optimiser;
  bool train;
  struct scan_shape shape;
  size_t batch;
  double seconds, output_error, gradient_error; /* NaN where there is only the portable path */
  const char *worst;                            /* the parameter whose gradient is off most */
};

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_policy(struct policy_bench *bench, struct policy *policy, bool portable,
                        struct error *error) {
  const struct options *options = bench->options;
  size_t checked = bench->batch < CHECKED ? bench->batch : CHECKED;
  struct policy_setup setup = policy_setup_of(bench->device, bench->kernels, options, bench->batch);
  setup.batch = portable ? checked : bench->batch;
  setup.train = bench->train;
  setup.portable = portable;
  if (portable) setup.precision = BLOCK_F32;
  if (!policy_open(policy, &setup, error)) return false;
  graph_start(policy->graph, options->world.seed);
  policy_changed(policy);
  bench_images(bench->device, policy->input, policy->batch, &bench->shape, options->world.seed);
  device_fill(bench->device, policy->mask, 0, sizeof(float) * bench->shape.actions * policy->batch, 0);
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
    action[i] = (uint32_t)(i * 7 % bench->shape.actions);
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
  path_forward(&policy->network.path, count);
  policy_loss(policy, &bench->update, 0, count, 1.0 / (double)count);
  policy_backward(policy, count);
}

/* Compares the fused path with the portable one. */
static bool check(struct policy_bench *bench, struct error *error) {
  struct policy *policy = &bench->policy, *portable = &bench->portable;
  size_t count = portable->batch, precision = bench->options->policy.precision;
  if (bench->train) {
    run_gradients(bench, policy, count);
    run_gradients(bench, portable, count);
    bench->gradient_error =
        bench_gradient_distance(bench->device, policy->graph, portable->graph, &bench->worst);
  } else {
    path_forward(&policy->network.path, count);
    path_forward(&portable->network.path, count);
  }
  bench->output_error =
      device_distance(bench->device, policy->logits, portable->logits, count * bench->shape.actions);
  if (!device_finish(bench->device, error)) return false;
  if (!(bench->output_error <= output_bounds[precision]))
    return fail(error, "the fused policy's logits are off by %.2e of their size, the bound is %.0e",
                bench->output_error, output_bounds[precision]);
  if (bench->train && !(bench->gradient_error <= gradient_bounds[precision]))
    return fail(error, "the fused gradient of %s is off by %.2e of its size, the bound is %.0e", bench->worst,
                bench->gradient_error, gradient_bounds[precision]);
  return true;
}

/* ---- the bench ----------------------------------------------------------------------------------------- */

static void run_once(void *context) {
  struct policy_bench *bench = context;
  if (!bench->train) {
    path_forward(&bench->policy.network.path, bench->batch);
    return;
  }
  run_gradients(bench, &bench->policy, bench->batch);
  optimise_step(&bench->optimiser);
  policy_changed(&bench->policy);
}

static const char *precision_of(const struct policy_bench *bench) {
  return block_precision_name((enum block_precision)bench->options->policy.precision);
}

static double rate_of(const struct policy_bench *bench) {
  return (double)bench->batch / bench->seconds;
}

static double flops_of(const struct policy_bench *bench) {
  return bench_flops(bench->policy.graph) * rate_of(bench) * (bench->train ? 3 : 1);
}

static bool print_json(struct policy_bench *bench, bool profile, struct error *error) {
  const struct options *options = bench->options;
  char size[SCAN_SHAPE_TEXT];
  bool good = true;
  printf("{\"bench\":\"policy\",\"work\":\"%s\",\"device\":", bench->train ? "train" : "forward");
  json_text(stdout, bench->device->facts.name);
  printf(",\"size\":%s,\"channels\":%u,\"pools\":%u,\"hidden\":%u,\"batch\":%zu,\"precision\":\"%s\","
         "\"path\":\"%s\",\"observations_per_second\":%.6g,\"milliseconds\":%.6g,\"flops_per_second\":%.6g,"
         "\"output_error\":",
         scan_shape_text(&bench->shape, size), options->policy.channels, options->policy.pools,
         options->policy.hidden, bench->batch, precision_of(bench),
         bench->policy.blocks ? "fused" : "portable", rate_of(bench), 1e3 * bench->seconds, flops_of(bench));
  json_number(stdout, bench->output_error);
  printf(",\"gradient_error\":");
  json_number(stdout, bench->train ? bench->gradient_error : NAN);
  if (profile) printf(",\"nodes\":");
  if (profile) good = bench_profile(bench->device, run_once, bench, true, error);
  printf("}\n");
  return good;
}

static bool print_text(struct policy_bench *bench, bool profile, struct error *error) {
  const struct options *options = bench->options;
  struct error reason;
  printf("policy: %u channels, %u pools, hidden %u, %ux%u, batch %zu, %s, %s path, on %s\n",
         options->policy.channels, options->policy.pools, options->policy.hidden, bench->shape.height,
         bench->shape.width, bench->batch, precision_of(bench), bench->policy.blocks ? "fused" : "portable",
         bench->device->facts.name);
  printf("  %s %s observations/s, %s ms a batch, %s TFLOP/s",
         bench->train ? "forward + loss + backward + RMSprop" : "forward",
         text_number(rate_of(bench), 5).text, text_number(1e3 * bench->seconds, 4).text,
         text_number(flops_of(bench) / 1e12, 4).text);
  if (bench->policy.blocks) {
    printf(", logits %.1e off the portable path", bench->output_error);
    if (bench->train) printf(", gradients at most %.1e (%s)", bench->gradient_error, bench->worst);
  } else if (!blocks_fit(bench->policy.graph, bench->device, &reason)) {
    printf("\n  not compared: there is no fused path: %s", reason.text);
  }
  printf("\n");
  return !profile || bench_profile(bench->device, run_once, bench, false, error);
}

static bool check_fused(struct policy_bench *bench, struct error *error) {
  if (!bench->policy.blocks) return true;
  return open_policy(bench, &bench->portable, true, error) && check(bench, error);
}

bool bench_policy(struct call *call, struct device *device, struct error *error) {
  const struct options *options = &call->options;
  struct policy_bench bench = {.options = options,
                               .device = device,
                               .shape = scan_shape_of(options),
                               .batch = options->policy.batch,
                               .train = call_flag(call, "train"),
                               .output_error = NAN,
                               .gradient_error = NAN,
                               .worst = ""};
  struct kernel_setup setup = {bench.shape.height, bench.shape.width, false, call_flag(call, "kernels")};
  if (!kernels_open(&bench.kernels, device, &kernel_table, &setup, error)) return false;
  bool good = open_policy(&bench, &bench.policy, false, error);
  bench.batch = good ? bench.policy.batch : bench.batch;
  good = good && (!bench.train || (open_update(&bench, error) && open_optimiser(&bench, error))) &&
         check_fused(&bench, error) && bench_passes(device, run_once, &bench, &bench.seconds, error) &&
         (call->roofline
              ? roofline_print(call, device, options->policy.precision, bench.seconds, run_once, &bench, error)
              : (call_flag(call, "json") ? print_json : print_text)(&bench, call_flag(call, "profile"), error));
  close_bench(&bench);
  kernels_close(bench.kernels);
  return good;
}
