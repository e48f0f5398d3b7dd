/* The cost of a slice for every method (PROTOCOL 1.1): operations, from the graphs of the policy (C_pi)
 * and of the reconstructor (C_R), and seconds of whole scans. These decide, acquire, observe and
 * reconstruct but score nothing (oracles do: they decide by it). Parameters are random: the operations do
 * not depend on them. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "kernels/kernels.h"
#include "systems/networks/policy.h"
#include "systems/networks/reconstructor.h"
#include "systems/networks/tau.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/oracle.h"
#include "tools/bench/bench.h"

#include <math.h>
#include <string.h>

enum { SETTINGS_MOST = 32, LONG = 1 /* second: a pass of that is not repeated, nor done for more slices */ };

struct method {
  const char *name, *formula, *sampler;
  bool policy, dense, oracle, sequence;
};

static const struct method methods[] = {
    {"Random", "C_R", "random", false, false, false, false}, /* and LOUPE: its mask is there */
    {"PG-MRI", "T C_pi + (T+1) C_R", "policy", true, true, false, false},
    {"Oracle", "(sum of free lines + 1) C_R", "oracle", false, false, true, false},
    {"L2S, L2SR", "T C_pi + C_R", "policy", true, false, false, false},
    {"tau-step", "tau C_pi + (tau+1) C_R", "tau_step", false, false, false, true}, /* C_pi: its sampler's */
};
enum { ORACLE = 2, METHODS = sizeof methods / sizeof *methods };

struct cost {
  double flops, seconds, best_seconds; /* seconds of a slice: one at a time; at the best number of them */
  size_t best_batch;
};

struct setting {
  const char *scene;
  struct acquisition acquisition;
  double policy, reconstructor; /* C_pi, C_R: flops */
  struct cost cost[METHODS];
};

struct run {
  const struct options *options;
  struct device *device;
  struct kernels *kernels;
  const struct method *method;
  struct setting *setting;
  size_t batch; /* slices side by side */
  struct simulation simulation;
  struct reconstructor reconstructor;
  struct policy policy;
  struct tau tau;
};

/* ---- one method at one number of slices ---------------------------------------------------------------- */

static unsigned deciders_of(const struct method *method) {
  return (method->policy ? DECIDES_POLICY : 0) | (method->dense ? DECIDES_DENSE : 0) |
         (method->oracle ? DECIDES_ORACLE : 0) | (method->sequence ? DECIDES_SEQUENCE : 0);
}

static bool open_simulation(struct run *run, struct error *error) {
  const struct method *method = run->method;
  struct simulation_plan plan = {.slices = run->batch,
                                 .envs = run->batch,
                                 .deciders = deciders_of(method),
                                 .images = method->dense ? IMAGES_EVERY_STEP : IMAGES_AT_END,
                                 .observe_every_step = method->policy,
                                 .network = true,
                                 .rollout_steps = 1,
                                 .kernels = run->kernels};
  const struct sampler *sampler = sampler_find(method->sampler, error);
  if (!sampler || !simulation_open(&run->simulation, run->device, run->options, &plan, error)) return false;
  run->simulation.tau = method->sequence ? &run->tau : NULL; /* opened with the reconstructor */
  return bench_slices(run->simulation.world, run->batch, run->options->world.seed, error) &&
         simulation_set(&run->simulation, &run->setting->acquisition, sampler, error);
}

static bool open_reconstructor(struct run *run, struct error *error) {
  const struct options *options = run->options;
  size_t most = run->method->oracle ? options->network.batch : run->batch;
  struct reconstructor_setup setup = reconstructor_setup_of(run->device, run->kernels, options, most);
  if (!reconstructor_begin(&run->reconstructor, NULL, &setup, options->world.seed, error)) return false;
  run->simulation.reconstructor = &run->reconstructor;
  return true;
}

static bool open_policy(struct run *run, struct error *error) {
  const struct options *options = run->options;
  struct policy_setup setup = policy_setup_of(run->device, run->kernels, options, run->batch);
  setup.dense = run->method->dense;
  if (!run->method->policy) return true;
  if (!policy_open(&run->policy, &setup, error)) return false;
  graph_start(run->policy.graph, options->world.seed);
  policy_changed(&run->policy);
  run->simulation.policy = &run->policy;
  run->simulation.best = true;
  return true;
}

static bool open_sequence(struct run *run, struct error *error) {
  struct masks_setup setup = {.device = run->device,
                            .kernels = run->kernels,
                            .options = run->options,
                            .acquisition = run->setting->acquisition,
                            .batch = run->reconstructor.batch};
  if (!run->method->sequence) return true;
  return tau_open(&run->tau, &setup, &run->reconstructor, error);
}

static void close_bench(struct run *run) {
  if (run->tau.graph) tau_close(&run->tau);
  policy_close(&run->policy);
  reconstructor_close(&run->reconstructor);
  if (run->simulation.kernels) simulation_close(&run->simulation);
}

static void scan_once(void *context) {
  struct run *run = context;
  simulation_restart(&run->simulation, 0, run->batch);
  simulation_episode(&run->simulation);
}

/* The first scans show how long it takes, and warm up; what is short is repeated. */
static bool time_scans(struct run *run, double *seconds, struct error *error) {
  double start = clock_seconds();
  scan_once(run);
  if (!device_finish(run->device, error)) return false;
  *seconds = clock_seconds() - start;
  return *seconds > LONG || bench_passes(run->device, scan_once, run, seconds, error);
}

/* C_pi is that of this method's policy. */
static void count_flops(struct run *run) {
  struct setting *setting = run->setting;
  double steps = setting->acquisition.budget, reconstructions = run->method->dense ? steps + 1 : 1;
  if (run->method->oracle) reconstructions += (double)oracle_candidates(run->options, &setting->acquisition);
  setting->reconstructor = bench_flops(run->reconstructor.graph);
  double policy = run->method->policy ? bench_flops(run->policy.graph) : 0;
  if (run->method->policy) setting->policy = policy;
  double sampler = run->method->sequence ? bench_flops(run->tau.graph) : steps * policy;
  if (run->method->sequence) reconstructions += (double)tau_passes(run->options) - 1;
  setting->cost[run->method - methods].flops = sampler + reconstructions * setting->reconstructor;
}

/* *seconds: of one slice. */
static bool measure(struct run *run, double *seconds, struct error *error) {
  bool good = open_simulation(run, error) && open_reconstructor(run, error) && open_policy(run, error) &&
              open_sequence(run, error) && time_scans(run, seconds, error);
  if (good) {
    count_flops(run);
    *seconds /= (double)run->batch;
  }
  close_bench(run);
  return good;
}

/* ---- all --------------------------------------------------------------------------------------------- */

/* Whether the setting's scans are of the method's kind: else its costs are no numbers. */
static bool takes(const struct method *method, const struct options *options,
                  const struct acquisition *acquisition) {
  return !method->sequence ||
         (acquisition->geometry == GEOMETRY_LINES && acquisition->budget >= options->tau.steps);
}

/* One slice, then ever more side by side while that takes at most LONG; what has no room ends it too. */
static bool measure_method(struct run *run, struct error *error) {
  struct cost *cost = &run->setting->cost[run->method - methods];
  double seconds;
  struct error reason;
  for (run->batch = 1; run->batch <= run->options->world.envs; run->batch *= 4) {
    if (!measure(run, &seconds, &reason)) {
      if (run->batch > 1 && !run->device->failed) return true;
      *error = reason;
      return fail_in(error, "%s", run->method->name);
    }
    if (run->batch == 1) cost->seconds = seconds;
    if (run->batch == 1 || seconds < cost->best_seconds) {
      cost->best_seconds = seconds;
      cost->best_batch = run->batch;
    }
    log_info("%s, %s x%u %s, %zu at a time: %.4g s a slice", run->setting->scene, run->method->name,
             run->setting->acquisition.acceleration, run->setting->acquisition.horizon, run->batch, seconds);
    if (seconds * (double)run->batch > LONG) return true;
  }
  return true;
}

/* All settings of the scene that call->options hold. */
static bool measure_scene(struct call *call, struct device *device, const char *scene,
                          struct setting settings[], size_t *count, struct error *error) {
  const struct options *options = &call->options;
  const struct scan_shape shape = scan_shape_of(options);
  struct kernel_setup setup = {shape.height, shape.width, options->world.observation == OBSERVATION_F16,
                               call_flag(call, "kernels")};
  struct acquisition *list;
  struct kernels *kernels;
  size_t found;
  struct options named = *options; /* no checkpoint is read: parameters are random */
  if (!*named.sampler.tau_step) named.sampler.tau_step = "random parameters";
  if (!acquisition_list(&list, &found, options, call->arena, error)) return false;
  if (*count + found > SETTINGS_MOST)
    return fail_usage(error, "the scenes have more than %d settings; give fewer", SETTINGS_MOST);
  if (!kernels_open(&kernels, device, &kernel_table, &setup, error)) return false;
  bool good = true;
  for (size_t s = 0; good && s < found; s++) {
    struct setting *setting = &settings[(*count)++];
    *setting = (struct setting){.scene = scene, .acquisition = list[s]};
    for (size_t m = 0; good && m < METHODS; m++) {
      struct run run = {&named, device, kernels, &methods[m], setting, .batch = 1};
      if (takes(&methods[m], options, &list[s]))
        good = measure_method(&run, error);
      else
        setting->cost[m] = (struct cost){NAN, NAN, NAN, 0};
    }
  }
  kernels_close(kernels);
  return good;
}

/* ---- the tables ---------------------------------------------------------------------------------------- */

static double flops_of(const struct cost *cost) {
  return cost->flops / 1e9;
}

static double seconds_of(const struct cost *cost) {
  return cost->seconds;
}

/* Candidates that the oracle scores in a second, at the best number of slices. */
static double candidate_rate(const struct setting *setting) {
  const struct cost *cost = &setting->cost[ORACLE];
  return (cost->flops / setting->reconstructor - 1) / cost->best_seconds;
}

static double best_seconds_of(const struct cost *cost) {
  return cost->best_seconds;
}

/* Prints a table like the paper's: a method a row, a setting a column. */
static void print_table(const struct setting settings[], size_t count, const char *title,
                        double (*value)(const struct cost *cost)) {
  printf("\n%s\n%-42s", title, "");
  for (size_t s = 0; s < count; s++) {
    char label[64], size[SCAN_SHAPE_TEXT];
    snprintf(label, sizeof label, "N=%s x%u %s", scan_shape_text(&settings[s].acquisition.shape, size),
             settings[s].acquisition.acceleration, settings[s].acquisition.horizon);
    printf(" %16s", label);
  }
  printf("\n");
  for (size_t m = 0; m < METHODS; m++) {
    printf("  %-10s%-30s", methods[m].name, methods[m].formula);
    for (size_t s = 0; s < count; s++)
      if (isnan(settings[s].cost[m].seconds))
        printf(" %16s", "-");
      else
        printf(" %16.5g", value(&settings[s].cost[m]));
    printf("\n");
  }
}

static void print_json(const struct setting settings[], size_t count, const struct device *device) {
  for (size_t s = 0; s < count; s++)
    for (size_t m = 0; m < METHODS; m++) {
      const struct setting *setting = &settings[s];
      const struct cost *cost = &setting->cost[m];
      char size[SCAN_SHAPE_TEXT];
      if (isnan(cost->seconds)) continue;
      printf("{\"bench\":\"inference\",\"method\":\"%s\",\"scene\":", methods[m].name);
      json_text(stdout, setting->scene);
      printf(",\"device\":");
      json_text(stdout, device->facts.name);
      printf(",\"size\":%s,\"acceleration\":%u,\"horizon\":\"%s\",\"initial_lines\":%u,\"budget\":%u,"
             "\"policy_flops\":%.6g,\"reconstructor_flops\":%.6g,\"flops\":%.6g,\"seconds\":%.6g,"
             "\"best_seconds\":%.6g,\"best_batch\":%zu",
             scan_shape_text(&setting->acquisition.shape, size), setting->acquisition.acceleration,
             setting->acquisition.horizon, setting->acquisition.initial_lines, setting->acquisition.budget,
             setting->policy, setting->reconstructor, cost->flops, cost->seconds, cost->best_seconds,
             cost->best_batch);
      if (m == ORACLE) printf(",\"candidates_per_second\":%.6g", candidate_rate(setting));
      printf("}\n");
    }
}

static void print_tables(const struct setting settings[], size_t count, const struct call *call,
                         const struct device *device) {
  printf("inference on %s, reconstructor %s, policy %s\n", device->facts.name,
         block_precision_name((enum block_precision)call->options.network.precision),
         block_precision_name((enum block_precision)call->options.policy.precision));
  char size[SCAN_SHAPE_TEXT];
  for (size_t s = 0; s < count; s++)
    printf("  %s: N = %s, x%u %s, %u + T = %u %ss, C_R = %s GFLOP, C_pi = %s GFLOP\n", settings[s].scene,
           scan_shape_text(&settings[s].acquisition.shape, size), settings[s].acquisition.acceleration,
           settings[s].acquisition.horizon, settings[s].acquisition.initial_lines,
           settings[s].acquisition.budget, geometry_of(&settings[s].acquisition)->one,
           text_number(settings[s].reconstructor / 1e9, 4).text,
           text_number(settings[s].policy / 1e9, 4).text);
  print_table(settings, count, "GFLOP a slice", flops_of);
  print_table(settings, count, "seconds a slice, one at a time", seconds_of);
  print_table(settings, count, "seconds a slice, best number of slices", best_seconds_of);
  printf("\n%-42s", "candidates a second of the oracle");
  for (size_t s = 0; s < count; s++) printf(" %16.5g", candidate_rate(&settings[s]));
  printf("\n");
}

/* All of them, before the first is measured. */
static bool check_scenes(struct call *call, struct error *error) {
  bool good = true;
  for (int i = 1; good && i < call->operand_count; i++)
    good = call_scene(call, call->operand[i], error) && bench_check_scans(&call->options, "inference", error);
  return good;
}

bool bench_inference(struct call *call, struct device *device, struct error *error) {
  struct setting *settings = ARENA_NEW(call->arena, struct setting, SETTINGS_MOST);
  size_t count = 0;
  if (!check_scenes(call, error)) return false;
  bool good = call->operand_count > 1 || measure_scene(call, device, "defaults", settings, &count, error);
  for (int i = 1; good && i < call->operand_count; i++)
    good = call_scene(call, call->operand[i], error) &&
           measure_scene(call, device, call->operand[i], settings, &count, error);
  if (!good) return false;
  if (call_flag(call, "json"))
    print_json(settings, count, device);
  else
    print_tables(settings, count, call, device);
  return true;
}
