/* Environment-steps per second of a policy's training: rollout, advantages, the rows once more, loss,
 * backward, clipping and a step of the optimiser; the device's time by system; the device memory it takes. */
#include "tools/bench/bench.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "systems/methods/learn.h"
#include "tools/bench/roofline.h"

#include <math.h>

static void run_once(void *context) {
  learn_step(context);
}

static const struct system save_terms = {
    .name = "save_terms", .doc = "the losses of the rollout, to be checked", .reads = SET(ROLLOUT_terms)};

/* The policy must give the same for the rows that it is shown once more as in the rollout. */
static bool check(struct training *training, struct error *error) {
  size_t rows = learning_of(training)->rollout.rows;
  double limit = log((double)scan_shape_of(training->options).actions) + 1e-3;
  bool same = training->options->learn.algorithm == LEARN_A2C; /* PPO's later updates move it */
  learn_step(training);
  world_get(training->train.simulation.world, &save_terms, ROLLOUT_terms, 0, rows, learning_of(training)->policy.terms);
  if (!device_finish(training->device, error)) return false;
  for (size_t i = 0; i < rows; i++) {
    const float *term = learning_of(training)->policy.terms + 4 * i;
    if (!(term[1] >= -1e-3f && (double)term[1] <= limit) || !isfinite(term[0]) || !isfinite(term[2]))
      return fail(error, "step %zu has a loss of %g, an entropy of %g and a critic off by %g", i,
                  (double)term[0], (double)term[1], (double)term[2]);
    if (same && !(fabsf(term[3]) <= 1e-2f))
      return fail(error, "step %zu, gathered again, has another probability: its logarithm is off by %g", i,
                  (double)term[3]);
  }
  return true;
}

static const char *algorithm_of(const struct training *training) {
  return training->options->learn.algorithm == LEARN_PPO ? "ppo" : "a2c";
}

static const char *precision_of(const struct training *training) {
  return block_precision_name((enum block_precision)training->options->policy.precision);
}

/* Of a rollout with its update. */
struct timing {
  double seconds, waited; /* the share in which it waits for other ranks */
  double share;           /* seconds of a rank's share of it, alone; 0: this is alone */
};

static bool print_json(struct training *training, const struct timing *timing, bool profile, struct error *error) {
  double seconds = timing->seconds;
  const struct rollout *rollout = &learning_of(training)->rollout;
  const struct device *device = training->device;
  const struct scan_shape shape = scan_shape_of(training->options);
  char size[SCAN_SHAPE_TEXT];
  bool good = true;
  printf("{\"bench\":\"learn\",\"device\":");
  json_text(stdout, device->facts.name);
  printf(",\"size\":%s,\"scans\":%zu,\"envs\":%zu,\"steps\":%zu,\"algorithm\":\"%s\",\"precision\":\"%s\","
         "\"policy_batch\":%zu,\"network_batch\":%zu,\"slices\":%zu,\"steps_per_second\":%.6g,"
         "\"milliseconds\":%.6g,\"device_bytes\":%llu",
         scan_shape_text(&shape, size), rollout->scans, rollout->launch, rollout->steps,
         algorithm_of(training), precision_of(training), training->policy.batch,
         training->reconstructor.batch, training->train.report.slices, (double)rollout->rows / seconds,
         1e3 * seconds, (unsigned long long)device->bytes);
  bench_print_ranks(device, training->optimiser.graph, timing->share, seconds, timing->waited, true);
  if (profile) printf(",\"parts\":");
  if (profile) good = bench_parts(training->device, run_once, training, true, error);
  printf("}\n");
  return good;
}

static bool print_text(struct training *training, const struct timing *timing, bool profile, struct error *error) {
  double seconds = timing->seconds;
  const struct rollout *rollout = &learning_of(training)->rollout;
  const struct device *device = training->device;
  const struct scan_shape shape = scan_shape_of(training->options);
  printf("learn: %s, %zu scan%s of %zu step%s, %zu at a time, %ux%u, policy %s, on %s\n",
         algorithm_of(training), rollout->scans, plural(rollout->scans), rollout->steps,
         plural(rollout->steps), rollout->launch, shape.height, shape.width,
         precision_of(training), device->facts.name);
  printf("  %s environment-steps/s, %s ms from a rollout to the next\n",
         text_number((double)rollout->rows / seconds, 5).text, text_number(1e3 * seconds, 4).text);
  printf("  %.2f GiB of device memory; %zu observation%s and %zu image%s a pass; %zu training and %zu "
         "validation slice%s\n",
         (double)device->bytes / 0x1p30, training->policy.batch, plural(training->policy.batch),
         training->reconstructor.batch, plural(training->reconstructor.batch), training->train.report.slices,
         training->validation.report.slices, plural(training->validation.report.slices));
  bench_print_ranks(device, training->optimiser.graph, timing->share, seconds, timing->waited, false);
  return !profile || bench_parts(training->device, run_once, training, false, error);
}

static bool open_training(struct training *training, struct call *call, struct device *device, const struct options *options,
                          struct error *error) {
  uint32_t slices = 1024;
  if (!call_number(call, "slices", 1, 1000000, &slices, error)) return false;
  struct training_config config = {.task = &task_policy,
                            .reconstructor =
                                *options->learn.reconstructor ? options->learn.reconstructor : NULL,
                            .steps = 1,
                            .kernel_folder = call_flag(call, "kernels"),
                            .fill = *options->data.path ? NULL : bench_slices,
                            .slices = slices};
  return training_open(training, device, options, &config, error);
}

/* With the scene's number of scans. */
struct one_rank {
  struct call *call;
  struct device *device;
};

static bool time_rank(void *context, double *seconds, struct error *error) {
  const struct one_rank *one = context;
  struct training training;
  if (!open_training(&training, one->call, one->device, &one->call->options, error)) return false;
  bool good = check(&training, error) && bench_passes(one->device, run_once, &training, seconds, error);
  training_close(&training);
  return good;
}

bool bench_learn(struct call *call, struct device *device, struct error *error) {
  struct options all = call->options; /* of every rank, which has the scene's scans */
  struct one_rank one = {call, device};
  struct timing timing = {0};
  struct training training;
  all.learn.scans *= ranks_count(device->ranks);
  if (!bench_alone(device, time_rank, &one, &timing.share, error) || !open_training(&training, call, device, &all, error))
    return false;
  bool good = check(&training, error) && bench_passes_waited(device, run_once, &training, &timing.seconds, &timing.waited, error) &&
              (call->roofline
                   ? roofline_print(call, device, call->options.policy.precision, timing.seconds, run_once, &training, error)
                   : (call_flag(call, "json") ? print_json : print_text)(&training, &timing, call_flag(call, "profile"), error));
  training_close(&training);
  return good;
}
