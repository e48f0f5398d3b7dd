#include "tools/bench.h"

#include "engine/block.h"
#include "engine/log.h"
#include "engine/optimise.h"
#include "engine/profile.h"
#include "engine/random.h"
#include "kernels/kernels.h"
#include "systems/loss.h"
#include "systems/net_unet.h"

#include <math.h>
#include <string.h>

enum { CHECKED = 4 };

static const char *const precision_names[] = {"f32", "mixed", "half"};
/* How far the fused path may be off the portable one, of the size of output and gradients. A pixel near zero
 * may pass ReLU on one path and not on the other; this, not rounding, is what the gradients' bounds leave
 * room for. */
static const double output_bounds[] = {2e-5, 1e-2, 2e-2}, gradient_bounds[] = {2e-2, 3e-1, 4e-1};

struct network {
  struct graph *graph;
  tensor input, output;
};

struct network_bench {
  const struct options *options;
  struct device *device;
  struct kernels *kernels;
  struct network
      portable; /* planned for the images that are checked, or for the batch where nothing is fused */
  struct network parameters; /* whose parameters the fused path uses */
  struct blocks *blocks;     /* NULL where the fused path does not fit */
  struct optimiser optimiser;
  struct loss loss;
  struct loss_target target;
  bool train;
  size_t n, batch;
  cl_mem in, out, gradient;
  double seconds, output_error, gradient_error;
  const char *worst; /* the parameter whose gradient is off most */
};

static size_t pixels_of(const struct network_bench *bench) {
  return bench->n * bench->n;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_network(struct network_bench *bench, struct network *network, size_t batch,
                         struct error *error) {
  const struct options *options = bench->options;
  struct graph_setup setup = {
      .device = bench->device, .kernels = bench->kernels, .batch = batch, .train = bench->train};
  int n = (int)bench->n;
  if (!graph_open(&network->graph)) return fail(error, "no host memory for a graph");
  network->input = graph_input(network->graph, "image", 1, n, n);
  network->output =
      net_unet(network->graph, network->input, (int)options->network.channels, (int)options->network.pools);
  if (!graph_good(network->graph, error) || !graph_plan(network->graph, &setup, error)) return false;
  graph_start(network->graph, options->world.seed);
  if (bench->train) graph_zero_gradients(network->graph);
  return true;
}

static bool open_buffers(struct network_bench *bench, struct error *error) {
  size_t bytes = 4 * (bench->batch + 1) * pixels_of(bench);
  return (bench->in = device_buffer(bench->device, bytes, "the images", error)) &&
         (bench->out = device_buffer(bench->device, bytes, "the output", error)) &&
         (bench->gradient = device_buffer(bench->device, bytes, "the gradient of the output", error));
}

/* Normalised images: smooth, with noise; targets of the loss are the same with other noise. */
static void fill_images(const struct network_bench *bench, cl_mem to, uint32_t seed) {
  struct arena *arena = arena_open();
  size_t pixels = pixels_of(bench);
  float *image = ARENA_NEW(arena, float, pixels);
  for (size_t i = 0; i < bench->batch; i++) {
    struct random random;
    random_start(&random, seed, STREAM_PHANTOM, (uint32_t)(i % 16));
    double f = 3 + (double)(i % 16);
    for (size_t p = 0; p < pixels; p++)
      image[p] = (float)(sin(f * (double)(p % bench->n) / (double)bench->n) + 0.5 * random_normal(&random));
    device_write(bench->device, to, 4 * pixels * i, 4 * pixels, image);
  }
  arena_close(arena);
}

static bool open_target(struct network_bench *bench, struct error *error) {
  struct device *device = bench->device;
  struct loss_target *target = &bench->target;
  size_t batch = bench->batch;
  struct arena *arena = arena_open();
  uint32_t *slice = ARENA_NEW(arena, uint32_t, batch);
  float *values = ARENA_NEW(arena, float, batch);
  bool good = (target->slice = device_buffer(device, 4 * batch, "slices", error)) &&
              (target->image = device_buffer(device, 4 * batch * pixels_of(bench), "targets", error)) &&
              (target->mean = device_buffer(device, 4 * batch, "means", error)) &&
              (target->std = device_buffer(device, 4 * batch, "deviations", error)) &&
              (target->data_range = device_buffer(device, 4 * batch, "ranges", error)) &&
              loss_open(&bench->loss, device, bench->kernels, LOSS_SSIM, bench->n, bench->n, batch, error);
  for (size_t i = 0; i < batch; i++) slice[i] = (uint32_t)i;
  if (good) {
    device_write(device, target->slice, 0, 4 * batch, slice);
    device_write(device, target->mean, 0, 4 * batch, values);
    for (size_t i = 0; i < batch; i++) values[i] = 1;
    device_write(device, target->std, 0, 4 * batch, values);
    device_write(device, target->data_range, 0, 4 * batch, values);
    fill_images(bench, target->image, bench->options->world.seed + 1);
  }
  arena_close(arena);
  return good;
}

/* ---- checking ------------------------------------------------------------------------------------------ */

static bool run_portable(struct network_bench *bench, size_t count) {
  struct network *net = &bench->portable;
  device_copy(bench->device, bench->in, 0, graph_value(net->graph, net->input), 0,
              4 * count * pixels_of(bench));
  graph_set_images(net->graph, count);
  graph_forward(net->graph);
  return true;
}

/* Root of the mean squared difference over the root of the mean square. */
static bool check_output(struct network_bench *bench, size_t count, struct error *error) {
  size_t floats = count * pixels_of(bench);
  struct arena *arena = arena_open();
  float *fused = ARENA_NEW(arena, float, floats), *portable = ARENA_NEW(arena, float, floats);
  double off = 0, all = 0;
  run_portable(bench, count);
  device_read(bench->device, graph_value(bench->portable.graph, bench->portable.output), 0, 4 * floats,
              portable);
  blocks_forward(bench->blocks, bench->in, bench->out, count);
  device_read(bench->device, bench->out, 0, 4 * floats, fused);
  bool good = device_finish(bench->device, error);
  for (size_t i = 0; i < floats; i++) {
    off += pow((double)fused[i] - portable[i], 2);
    all += pow((double)portable[i], 2);
  }
  arena_close(arena);
  bench->output_error = sqrt(off / all);
  double bound = output_bounds[bench->options->network.precision];
  if (good && !(bench->output_error <= bound))
    return fail(error, "the fused network's output is off by %.2e of its size, the bound is %.0e",
                bench->output_error, bound);
  return good;
}

/* The same measure of one parameter's gradient. */
static double gradient_error(struct network_bench *bench, int i, struct arena *arena) {
  const struct parameter *a = &bench->portable.graph->parameter[i],
                         *b = &bench->parameters.graph->parameter[i];
  float *portable = ARENA_NEW(arena, float, a->count), *fused = ARENA_NEW(arena, float, a->count);
  double off = 0, all = 0;
  device_read(bench->device, a->gradient, 0, 4 * a->count, portable);
  device_read(bench->device, b->gradient, 0, 4 * a->count, fused);
  for (size_t k = 0; k < a->count; k++) {
    off += pow((double)fused[k] - portable[k], 2);
    all += pow((double)portable[k], 2);
  }
  return all > 0 ? sqrt(off / all) : sqrt(off);
}

static bool check_gradients(struct network_bench *bench, size_t count, struct error *error) {
  struct network *net = &bench->portable;
  struct arena *arena = arena_open();
  size_t bytes = 4 * count * pixels_of(bench);
  loss_run(&bench->loss, &bench->target, graph_value(net->graph, net->output), bench->gradient, count,
           1.0 / (double)count);
  device_copy(bench->device, bench->gradient, 0, graph_gradient(net->graph, net->output), 0, bytes);
  graph_backward(net->graph);
  blocks_backward(bench->blocks, bench->in, bench->gradient, count,
                  (double)(count * pixels_of(bench)));
  for (int i = 0; i < net->graph->parameters; i++) {
    double off = gradient_error(bench, i, arena);
    log_detail("gradient of %s is off by %.2e", net->graph->parameter[i].name, off);
    if (!(off <= bench->gradient_error)) {
      bench->gradient_error = off;
      bench->worst = net->graph->parameter[i].name;
    }
  }
  arena_close(arena);
  if (!device_finish(bench->device, error)) return false;
  double bound = gradient_bounds[bench->options->network.precision];
  if (bench->gradient_error <= bound) return true;
  return fail(error, "the fused gradient of %s is off by %.2e of its size, the bound is %.0e", bench->worst,
              bench->gradient_error, bound);
}

/* ---- timing -------------------------------------------------------------------------------------------- */

/* One pass: forward, and to train also the loss, backward and a step of Adam. */
static void run_once(struct network_bench *bench) {
  struct network *net = bench->blocks ? &bench->parameters : &bench->portable;
  cl_mem out = bench->blocks ? bench->out : graph_value(net->graph, net->output);
  if (bench->blocks)
    blocks_forward(bench->blocks, bench->in, bench->out, bench->batch);
  else
    graph_forward(net->graph);
  if (!bench->train) return;
  cl_mem gradient = bench->blocks ? bench->gradient : graph_gradient(net->graph, net->output);
  graph_zero_gradients(net->graph);
  loss_run(&bench->loss, &bench->target, out, gradient, bench->batch, 1.0 / (double)bench->batch);
  if (bench->blocks)
    blocks_backward(bench->blocks, bench->in, gradient, bench->batch,
                    (double)(bench->batch * pixels_of(bench)));
  else
    graph_backward(net->graph);
  optimise_step(&bench->optimiser);
  if (bench->blocks) blocks_pack(bench->blocks);
}

/* Each repeat takes at least a tenth of a second where one pass is short. */
static bool time_passes(struct network_bench *bench, struct error *error) {
  double seconds[BENCH_REPEATS], start = clock_seconds();
  run_once(bench);
  if (!device_finish(bench->device, error)) return false;
  int passes = (int)fmin(200, fmax(1, ceil(0.1 / (clock_seconds() - start))));
  for (int r = 0; r < BENCH_REPEATS; r++) {
    start = clock_seconds();
    for (int p = 0; p < passes; p++) run_once(bench);
    if (!device_finish(bench->device, error)) return false;
    seconds[r] = (clock_seconds() - start) / passes;
  }
  bench->seconds = bench_median(seconds);
  return true;
}

/* The device's time of one pass by kernel and layer. */
static bool profile_pass(struct network_bench *bench, struct error *error) {
  struct arena *arena = arena_open();
  struct profile *profile = ARENA_NEW(arena, struct profile, 1);
  bench->device->profile = profile;
  run_once(bench);
  bench->device->profile = NULL;
  bool good = device_finish(bench->device, error);
  profile_collect(profile);
  if (good) profile_print(profile, stdout);
  arena_close(arena);
  return good;
}

/* ---- reporting ----------------------------------------------------------------------------------------- */

/* Multiply-adds of one image, counted as two; training takes three times as many. */
static double flops_of(const struct network_bench *bench) {
  const struct graph *graph = bench->portable.graph;
  double flops = 0;
  for (int i = 0; i < graph->nodes; i++) {
    const struct op_desc *op = graph->node[i].op;
    if (op && op->flops) flops += op->flops(graph, (tensor){(uint16_t)i});
  }
  return bench->train ? 3 * flops : flops;
}

static void print_json(const struct network_bench *bench, double rate, double flops) {
  const struct options *options = bench->options;
  printf("{\"bench\":\"network\",\"work\":\"%s\",\"device\":", bench->train ? "train" : "forward");
  json_text(stdout, bench->device->facts.name);
  printf(",\"size\":%zu,\"channels\":%u,\"pools\":%u,\"batch\":%zu,\"precision\":\"%s\",\"path\":\"%s\","
         "\"images_per_second\":%.6g,\"milliseconds\":%.6g,\"flops_per_second\":%.6g,\"output_error\":%.3g,"
         "\"gradient_error\":%.3g}\n",
         bench->n, options->network.channels, options->network.pools, bench->batch,
         precision_names[options->network.precision], bench->blocks ? "fused" : "portable", rate,
         1e3 * bench->seconds, flops, bench->output_error, bench->gradient_error);
}

static void print_result(const struct network_bench *bench, bool json) {
  const struct options *options = bench->options;
  double rate = (double)bench->batch / bench->seconds, flops = flops_of(bench) * rate;
  if (json) {
    print_json(bench, rate, flops);
    return;
  }
  printf("network: U-Net %u channels, %u pools, %zux%zu, batch %zu, %s, %s path, on %s\n",
         options->network.channels, options->network.pools, bench->n, bench->n, bench->batch,
         precision_names[options->network.precision], bench->blocks ? "fused" : "portable",
         bench->device->facts.name);
  printf("  %s %.5g images/s, %.4g ms a batch, %.4g TFLOP/s",
         bench->train ? "forward + loss + backward + Adam" : "forward", rate, 1e3 * bench->seconds,
         flops / 1e12);
  if (bench->blocks) printf(", output %.1e off the portable path", bench->output_error);
  if (bench->blocks && bench->train)
    printf(", gradients at most %.1e (%s)", bench->gradient_error, bench->worst);
  printf("\n");
}

/* ---- the bench ----------------------------------------------------------------------------------------- */

static bool open_training(struct network_bench *bench, const struct graph *graph, struct error *error) {
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_ADAM, 1e-3);
  return open_target(bench, error) && optimise_open(&bench->optimiser, graph, &setup, error);
}

static bool run_portable_bench(struct network_bench *bench, const char *reason, struct error *error) {
  log_info("portable path: %s", reason);
  if (bench->options->network.precision)
    return fail(error, "network.precision needs the fused path: %s; use f32", reason);
  graph_close(bench->portable.graph);
  if (!open_network(bench, &bench->portable, bench->batch, error) ||
      (bench->train && !open_training(bench, bench->portable.graph, error)))
    return false;
  fill_images(bench, graph_value(bench->portable.graph, bench->portable.input), bench->options->world.seed);
  return time_passes(bench, error);
}

static bool run(struct network_bench *bench, struct error *error) {
  struct error reason;
  size_t count = bench->batch < CHECKED ? bench->batch : CHECKED;
  struct block_setup setup = {bench->batch, (enum block_precision)bench->options->network.precision,
                              bench->train};
  if (!open_network(bench, &bench->portable, count, error)) return false;
  if (!blocks_fit(bench->portable.graph, bench->device, &reason))
    return run_portable_bench(bench, reason.text, error);
  if (!open_network(bench, &bench->parameters, 1, error) || !open_buffers(bench, error) ||
      !blocks_open(&bench->blocks, bench->parameters.graph, bench->device, bench->kernels, &setup, error) ||
      (bench->train && !open_training(bench, bench->parameters.graph, error)))
    return false;
  fill_images(bench, bench->in, bench->options->world.seed);
  return check_output(bench, count, error) && (!bench->train || check_gradients(bench, count, error)) &&
         time_passes(bench, error);
}

static void close_target(struct network_bench *bench) {
  size_t batch = bench->batch;
  device_release(bench->device, bench->target.slice, 4 * batch);
  device_release(bench->device, bench->target.image, 4 * batch * pixels_of(bench));
  device_release(bench->device, bench->target.mean, 4 * batch);
  device_release(bench->device, bench->target.std, 4 * batch);
  device_release(bench->device, bench->target.data_range, 4 * batch);
  if (bench->loss.device) loss_close(&bench->loss);
  if (bench->optimiser.device) optimise_close(&bench->optimiser);
}

bool bench_network(struct call *call, struct device *device, struct error *error) {
  const struct options *options = &call->options;
  struct network_bench bench = {.options = options,
                                .device = device,
                                .n = options->data.size,
                                .batch = options->network.batch,
                                .train = call_flag(call, "train")};
  struct kernel_setup setup = {bench.n, bench.n, false, call_flag(call, "kernels")};
  if (!kernels_open(&bench.kernels, device, &kernel_table, &setup, error)) return false;
  bool good = run(&bench, error);
  if (good) print_result(&bench, call_flag(call, "json"));
  if (good && call_flag(call, "profile")) good = profile_pass(&bench, error);
  size_t bytes = 4 * (bench.batch + 1) * pixels_of(&bench);
  close_target(&bench);
  device_release(device, bench.in, bytes);
  device_release(device, bench.out, bytes);
  device_release(device, bench.gradient, bytes);
  blocks_close(bench.blocks);
  graph_close(bench.portable.graph);
  graph_close(bench.parameters.graph);
  kernels_close(bench.kernels);
  return good;
}
