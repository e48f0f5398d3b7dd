#include "tools/bench/bench.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/device/profile.h"
#include "engine/fused/block.h"
#include "engine/graph/optimise.h"
#include "kernels/kernels.h"
#include "systems/networks/net_unet.h"
#include "tools/bench/roofline.h"

#include <string.h>

enum { CHECKED = 4 };

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
  struct bench_loss loss;
  bool train;
  struct scan_shape shape;
  size_t batch;
  cl_mem in, out, gradient;
  double seconds, copy_bandwidth, output_error, gradient_error;
  const char *worst; /* the parameter whose gradient is off most */
};

static size_t pixels_of(const struct network_bench *bench) {
  return scan_shape_pixels(&bench->shape);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_network(struct network_bench *bench, struct network *network, size_t batch,
                         struct error *error) {
  const struct options *options = bench->options;
  struct graph_setup setup = {
      .device = bench->device, .kernels = bench->kernels, .batch = batch, .train = bench->train};
  if (!graph_open(&network->graph)) return fail(error, "no host memory for a graph");
  network->input = graph_input(network->graph, "image", 1, (int)bench->shape.height, (int)bench->shape.width);
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

/* ---- checking ------------------------------------------------------------------------------------------ */

static bool run_portable(struct network_bench *bench, size_t count) {
  struct network *net = &bench->portable;
  device_copy(bench->device, bench->in, 0, graph_value(net->graph, net->input), 0,
              4 * count * pixels_of(bench));
  graph_set_images(net->graph, count);
  graph_forward(net->graph);
  return true;
}

static bool check_output(struct network_bench *bench, size_t count, struct error *error) {
  run_portable(bench, count);
  blocks_forward(bench->blocks, bench->in, bench->out, count);
  bench->output_error =
      device_distance(bench->device, bench->out, graph_value(bench->portable.graph, bench->portable.output),
                      count * pixels_of(bench));
  double bound = output_bounds[bench->options->network.precision];
  if (!device_finish(bench->device, error)) return false;
  if (bench->output_error <= bound) return true;
  return fail(error, "the fused network's output is off by %.2e of its size, the bound is %.0e",
              bench->output_error, bound);
}

static bool check_gradients(struct network_bench *bench, size_t count, struct error *error) {
  struct network *net = &bench->portable;
  size_t bytes = 4 * count * pixels_of(bench);
  loss_run(&bench->loss.loss, &bench->loss.target, graph_value(net->graph, net->output), bench->gradient, count,
           1.0 / (double)count);
  device_copy(bench->device, bench->gradient, 0, graph_gradient(net->graph, net->output), 0, bytes);
  graph_backward(net->graph);
  blocks_backward(bench->blocks, bench->in, bench->gradient, count, (double)(count * pixels_of(bench)));
  bench->gradient_error =
      bench_gradient_distance(bench->device, bench->parameters.graph, net->graph, &bench->worst);
  if (!device_finish(bench->device, error)) return false;
  double bound = gradient_bounds[bench->options->network.precision];
  if (bench->gradient_error <= bound) return true;
  return fail(error, "the fused gradient of %s is off by %.2e of its size, the bound is %.0e", bench->worst,
              bench->gradient_error, bound);
}

/* ---- timing -------------------------------------------------------------------------------------------- */

/* One pass: forward, and to train also the loss, backward and a step of Adam. */
static void run_once(void *context) {
  struct network_bench *bench = context;
  struct network *net = bench->blocks ? &bench->parameters : &bench->portable;
  cl_mem out = bench->blocks ? bench->out : graph_value(net->graph, net->output);
  if (bench->blocks)
    blocks_forward(bench->blocks, bench->in, bench->out, bench->batch);
  else
    graph_forward(net->graph);
  if (!bench->train) return;
  cl_mem gradient = bench->blocks ? bench->gradient : graph_gradient(net->graph, net->output);
  graph_zero_gradients(net->graph);
  loss_run(&bench->loss.loss, &bench->loss.target, out, gradient, bench->batch, 1.0 / (double)bench->batch);
  if (bench->blocks)
    blocks_backward(bench->blocks, bench->in, gradient, bench->batch,
                    (double)(bench->batch * pixels_of(bench)));
  else
    graph_backward(net->graph);
  optimise_step(&bench->optimiser);
  if (bench->blocks) blocks_pack(bench->blocks);
}

/* ---- reporting ----------------------------------------------------------------------------------------- */

/* A training step moves two values a layer forward, four to the layer's input and three to its weights. */
static double bytes_of(const struct network_bench *bench) {
  size_t element = bench->blocks && bench->options->network.precision == BLOCK_HALF ? 2 : 4;
  return bench_bytes(bench->portable.graph, element) * (bench->train ? 4.5 : 1);
}

static bool print_json(struct network_bench *bench, double rate, double flops, struct error *error) {
  const struct options *options = bench->options;
  double bandwidth = bytes_of(bench) * rate;
  char size[SCAN_SHAPE_TEXT];
  printf("{\"bench\":\"network\",\"work\":\"%s\",\"device\":", bench->train ? "train" : "forward");
  json_text(stdout, bench->device->facts.name);
  printf(
      ",\"size\":%s,\"channels\":%u,\"pools\":%u,\"batch\":%zu,\"precision\":\"%s\",\"path\":\"%s\","
      "\"images_per_second\":%.6g,\"milliseconds\":%.6g,\"flops_per_second\":%.6g,\"bytes_per_second\":%.6g,"
      "\"copy_bytes_per_second\":%.6g,\"share\":%.4g,\"output_error\":%.3g,\"gradient_error\":%.3g,"
      "\"nodes\":",
      scan_shape_text(&bench->shape, size), options->network.channels, options->network.pools, bench->batch,
      block_precision_name(options->network.precision), bench->blocks ? "fused" : "portable", rate,
      1e3 * bench->seconds, flops, bandwidth, bench->copy_bandwidth, bandwidth / bench->copy_bandwidth,
      bench->output_error, bench->gradient_error);
  bool good = bench_profile(bench->device, run_once, bench, true, error);
  printf("}\n");
  return good;
}

static void print_text(const struct network_bench *bench, double rate, double flops) {
  const struct options *options = bench->options;
  double bandwidth = bytes_of(bench) * rate;
  printf("network: U-Net %u channels, %u pools, %ux%u, batch %zu, %s, %s path, on %s\n",
         options->network.channels, options->network.pools, bench->shape.height, bench->shape.width,
         bench->batch, block_precision_name(options->network.precision), bench->blocks ? "fused" : "portable",
         bench->device->facts.name);
  printf("  %s %s images/s, %s ms a batch, %s TFLOP/s, %s GB/s of %s GB/s copy bandwidth (%.1f %%)",
         bench->train ? "forward + loss + backward + Adam" : "forward", text_number(rate, 5).text,
         text_number(1e3 * bench->seconds, 4).text, text_number(flops / 1e12, 4).text,
         text_number(bandwidth / 1e9, 4).text, text_number(bench->copy_bandwidth / 1e9, 4).text,
         100 * bandwidth / bench->copy_bandwidth);
  if (bench->blocks) printf(", output %.1e off the portable path", bench->output_error);
  if (bench->blocks && bench->train)
    printf(", gradients at most %.1e (%s)", bench->gradient_error, bench->worst);
  printf("\n");
}

static bool print_result(struct network_bench *bench, bool json, bool profile, struct error *error) {
  double rate = (double)bench->batch / bench->seconds,
         flops = bench_flops(bench->portable.graph) * rate * (bench->train ? 3 : 1);
  if (json) return print_json(bench, rate, flops, error);
  print_text(bench, rate, flops);
  return !profile || bench_profile(bench->device, run_once, bench, false, error);
}

/* ---- the bench ----------------------------------------------------------------------------------------- */

static bool open_training(struct network_bench *bench, const struct graph *graph, struct error *error) {
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_ADAM, 1e-3);
  return bench_loss_open(&bench->loss, bench->device, bench->kernels, &bench->shape, bench->batch, bench->options->world.seed,
                         error) &&
         optimise_open(&bench->optimiser, graph, &setup, error);
}

static bool run_portable_bench(struct network_bench *bench, const char *reason, struct error *error) {
  log_info("portable path: %s", reason);
  if (bench->options->network.precision)
    return fail(error, "network.precision needs the fused path: %s; use f32", reason);
  graph_close(bench->portable.graph);
  if (!open_network(bench, &bench->portable, bench->batch, error) ||
      (bench->train && !open_training(bench, bench->portable.graph, error)))
    return false;
  bench_images(bench->device, graph_value(bench->portable.graph, bench->portable.input), bench->batch,
               &bench->shape, bench->options->world.seed);
  return bench_passes(bench->device, run_once, bench, &bench->seconds, error);
}

static bool time_network(struct network_bench *bench, struct error *error) {
  struct error reason;
  size_t count = bench->batch < CHECKED ? bench->batch : CHECKED;
  struct block_setup setup = {.batch = bench->batch,
                              .precision = (enum block_precision)bench->options->network.precision,
                              .train = bench->train};
  if (!open_network(bench, &bench->portable, count, error)) return false;
  if (!blocks_fit(bench->portable.graph, bench->device, &reason))
    return run_portable_bench(bench, reason.text, error);
  if (!open_network(bench, &bench->parameters, 1, error) || !open_buffers(bench, error) ||
      !blocks_open(&bench->blocks, bench->parameters.graph, bench->device, bench->kernels, &setup, error) ||
      (bench->train && !open_training(bench, bench->parameters.graph, error)))
    return false;
  bench_images(bench->device, bench->in, bench->batch, &bench->shape, bench->options->world.seed);
  return check_output(bench, count, error) && (!bench->train || check_gradients(bench, count, error)) &&
         bench_passes(bench->device, run_once, bench, &bench->seconds, error);
}

bool bench_network(struct call *call, struct device *device, struct error *error) {
  const struct options *options = &call->options;
  struct network_bench bench = {.options = options,
                                .device = device,
                                .shape = scan_shape_of(options),
                                .batch = options->network.batch,
                                .train = call_flag(call, "train")};
  struct kernel_setup setup = {bench.shape.height, bench.shape.width, false, call_flag(call, "kernels")};
  if (!kernels_open(&bench.kernels, device, &kernel_table, &setup, error)) return false;
  bool good = time_network(&bench, error) && bench_copy(device, &bench.copy_bandwidth, error) &&
              (call->roofline
                   ? roofline_print(call, device, options->network.precision, bench.seconds, run_once, &bench, error)
                   : print_result(&bench, call_flag(call, "json"), call_flag(call, "profile"), error));
  size_t bytes = 4 * (bench.batch + 1) * pixels_of(&bench);
  bench_loss_close(&bench.loss);
  if (bench.optimiser.device) optimise_close(&bench.optimiser);
  device_release(device, bench.in, bytes);
  device_release(device, bench.out, bytes);
  device_release(device, bench.gradient, bytes);
  blocks_close(bench.blocks);
  graph_close(bench.portable.graph);
  graph_close(bench.parameters.graph);
  kernels_close(bench.kernels);
  return good;
}
