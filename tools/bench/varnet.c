/* Slices per second of the variational network: forward, and to train also the loss, backward and a step of Adam. In half
 * precision image and gradients of one cascade are first compared with single precision's: through twelve of them on random
 * numbers a gradient is another one after any rounding. */
#include "tools/bench/bench.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/fused/block.h"
#include "engine/graph/optimise.h"
#include "kernels/kernels.h"
#include "systems/networks/reconstructor.h"
#include "tools/bench/roofline.h"

#include <math.h>

enum { CENTRE = 24 }; /* columns that are acquired in any case */

/* Of the sizes of the image and of all gradients together. */
static const double output_bound = 1e-2, gradient_bound = 5e-1;

struct varnet_bench {
  const struct options *options;
  struct device *device;
  struct kernels *kernels;
  struct reconstructor network;
  struct bench_loss loss;
  struct optimiser optimiser;
  struct scan_shape shape;
  size_t coils, batch;
  bool train;
  double seconds, output_error, gradient_error;
};

/* ---- what a slice is ----------------------------------------------------------------------------------- */

static size_t entries_of(const struct varnet_bench *bench) {
  return bench->network.setup.varnet.points ? scan_shape_pixels(&bench->shape) : bench->shape.width;
}

static void fill_mask(const struct varnet_bench *bench, float *mask, struct random *random) {
  size_t entries = entries_of(bench), width = bench->shape.width, centre = CENTRE < width ? CENTRE : width / 2;
  for (size_t i = 0; i < entries; i++) {
    size_t from_centre = i % width + centre / 2 - width / 2; /* wraps before it */
    mask[i] = from_centre < centre || random_uniform(random) < 0.25;
  }
}

/* Noise of every coil where the mask is 1, and maps of the same size everywhere. */
static void fill_slice(const struct varnet_bench *bench, float *frequencies, float *mask, float *maps, struct random *random) {
  size_t pixels = scan_shape_pixels(&bench->shape), planes = 2 * bench->coils, entries = entries_of(bench);
  fill_mask(bench, mask, random);
  for (size_t i = 0; i < planes * pixels; i++) {
    frequencies[i] = mask[i % pixels % entries] * (float)random_normal(random);
    maps[i] = (float)sqrt(0.5 / (double)bench->coils);
  }
}

static void write_slice(const struct varnet_bench *bench, const struct reconstructor *to, size_t place) {
  static const float units[] = {0, 1};
  struct device *device = bench->device;
  struct arena *arena = arena_open();
  size_t values = 2 * bench->coils * scan_shape_pixels(&bench->shape), entries = entries_of(bench);
  float *frequencies = ARENA_NEW(arena, float, values), *maps = ARENA_NEW(arena, float, values),
        *mask = ARENA_NEW(arena, float, entries);
  struct reconstructor_inputs inputs = reconstructor_inputs(to);
  struct random random;
  random_start(&random, bench->options->world.seed, STREAM_PHANTOM, (uint32_t)place);
  fill_slice(bench, frequencies, mask, maps, &random);
  device_write(device, to->input, 4 * values * place, 4 * values, frequencies);
  device_write(device, inputs.mask, 4 * entries * place, 4 * entries, mask);
  device_write(device, inputs.units, sizeof units * place, sizeof units, units);
  if (inputs.maps) device_write(device, inputs.maps, 4 * values * place, 4 * values, maps);
  arena_close(arena);
}

/* ---- checking ------------------------------------------------------------------------------------------ */

/* The first slice forward and back. */
static void run_first(struct varnet_bench *bench, struct reconstructor *network) {
  write_slice(bench, network, 0);
  reconstructor_forward(network, 1);
  if (!bench->train) return;
  graph_zero_gradients(network->graph);
  loss_run(&bench->loss.loss, &bench->loss.target, network->output, network->output_gradient, 1, 1);
  graph_set_shards(network->graph, 0, 1);
  reconstructor_backward(network, 1, 1);
}

/* Of equal parameters: they follow from the seed. */
static bool compare(struct varnet_bench *bench, struct reconstructor *half, struct reconstructor *single, struct error *error) {
  run_first(bench, half);
  run_first(bench, single);
  bench->output_error = device_distance(bench->device, half->output, single->output, half->pixels);
  if (bench->train)
    bench->gradient_error = device_distance(bench->device, half->graph->gradients, single->graph->gradients, half->graph->elements);
  if (!device_finish(bench->device, error)) return false;
  if (!(bench->output_error <= output_bound))
    return fail(error, "the image of a cascade in half precision is off by %.2e of its size, the bound is %.0e",
                bench->output_error, output_bound);
  return bench->gradient_error <= gradient_bound ||
         fail(error, "gradients of a cascade in half precision are off by %.2e of their size, the bound is %.0e",
              bench->gradient_error, gradient_bound);
}

static bool check(struct varnet_bench *bench, struct reconstructor_setup setup, struct error *error) {
  uint32_t seed = bench->options->world.seed;
  struct reconstructor half, single;
  if (!setup.varnet.half) return true;
  setup.varnet.cascades = 1;
  setup.batch = 1;
  if (!reconstructor_begin(&half, NULL, &setup, seed, error)) return false;
  setup.varnet.half = false;
  bool good = reconstructor_begin(&single, NULL, &setup, seed, error);
  if (good) {
    good = compare(bench, &half, &single, error);
    reconstructor_close(&single);
  }
  reconstructor_close(&half);
  return good;
}

/* ---- timing -------------------------------------------------------------------------------------------- */

static void run_once(void *context) {
  struct varnet_bench *bench = context;
  struct reconstructor *network = &bench->network;
  reconstructor_forward(network, bench->batch);
  if (!bench->train) return;
  graph_zero_gradients(network->graph);
  loss_run(&bench->loss.loss, &bench->loss.target, network->output, network->output_gradient, bench->batch,
           1.0 / (double)bench->batch);
  graph_set_shards(network->graph, 0, bench->batch);
  reconstructor_backward(network, bench->batch, bench->batch);
  optimise_step(&bench->optimiser);
  reconstructor_changed(network);
}

static bool open_training(struct varnet_bench *bench, struct error *error) {
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_ADAM, 3e-4);
  return !bench->train || (bench_loss_open(&bench->loss, bench->device, bench->kernels, &bench->shape, bench->batch,
                                           bench->options->world.seed, error) &&
                           optimise_open(&bench->optimiser, bench->network.graph, &setup, error));
}

static bool time_network(struct varnet_bench *bench, struct error *error) {
  const struct options *options = bench->options;
  struct reconstructor_setup setup = reconstructor_setup_of(bench->device, bench->kernels, options, options->network.batch);
  setup.train = bench->train;
  reconstructor_set_coils(&setup, bench->coils);
  if (!reconstructor_begin(&bench->network, NULL, &setup, options->world.seed, error)) return false;
  bench->batch = bench->network.batch;
  for (size_t i = 0; i < bench->batch; i++) write_slice(bench, &bench->network, i);
  return open_training(bench, error) && check(bench, setup, error) &&
         bench_passes(bench->device, run_once, bench, &bench->seconds, error);
}

/* ---- reporting ----------------------------------------------------------------------------------------- */

static bool print_json(struct varnet_bench *bench, double rate, double flops, struct error *error) {
  const struct net_varnet_setup *net = &bench->network.setup.varnet;
  char size[SCAN_SHAPE_TEXT];
  printf("{\"bench\":\"network\",\"network\":\"varnet\",\"work\":\"%s\",\"device\":", bench->train ? "train" : "forward");
  json_text(stdout, bench->device->facts.name);
  printf(",\"size\":%s,\"coils\":%zu,\"cascades\":%d,\"channels\":%d,\"pools\":%d,\"batch\":%zu,\"precision\":\"%s\","
         "\"slices_per_second\":%.6g,\"milliseconds\":%.6g,\"flops_per_second\":%.6g,\"output_error\":%.3g,"
         "\"gradient_error\":%.3g,\"nodes\":",
         scan_shape_text(&bench->shape, size), bench->coils, net->cascades, net->channels, net->pools, bench->batch,
         net->half ? "half" : "f32", rate, 1e3 * bench->seconds, flops, bench->output_error, bench->gradient_error);
  bool good = bench_profile(bench->device, run_once, bench, true, error);
  printf("}\n");
  return good;
}

static void print_text(const struct varnet_bench *bench, double rate, double flops) {
  const struct net_varnet_setup *net = &bench->network.setup.varnet;
  printf("network: variational network of %d cascade%s, %d channels, %d pools, %zu coil%s, %ux%u, batch %zu, %s, on %s\n",
         net->cascades, plural((uint64_t)net->cascades), net->channels, net->pools, bench->coils, plural(bench->coils),
         bench->shape.height, bench->shape.width, bench->batch, net->half ? "half" : "f32", bench->device->facts.name);
  printf("  %s %s slices/s, %s ms a batch, %s TFLOP/s", bench->train ? "forward + loss + backward + Adam" : "forward",
         text_number(rate, 4).text, text_number(1e3 * bench->seconds, 4).text, text_number(flops / 1e12, 4).text);
  if (net->half) printf(", a cascade's image %.1e off single precision", bench->output_error);
  if (net->half && bench->train) printf(", gradients %.1e", bench->gradient_error);
  printf("\n");
}

static bool print_result(struct varnet_bench *bench, bool json, bool profile, struct error *error) {
  double rate = (double)bench->batch / bench->seconds, flops = bench_flops(bench->network.graph) * rate * (bench->train ? 3 : 1);
  if (json) return print_json(bench, rate, flops, error);
  print_text(bench, rate, flops);
  return !profile || bench_profile(bench->device, run_once, bench, false, error);
}

bool bench_varnet(struct call *call, struct device *device, struct error *error) {
  const struct options *options = &call->options;
  struct varnet_bench bench = {.options = options,
                               .device = device,
                               .shape = scan_shape_of(options),
                               .coils = options->coils.simulate ? options->coils.simulate : 1,
                               .train = call_flag(call, "train")};
  struct kernel_setup setup = {bench.shape.height, bench.shape.width, false, call_flag(call, "kernels")};
  if (!kernels_open(&bench.kernels, device, &kernel_table, &setup, error)) return false;
  bool good = time_network(&bench, error) &&
              (call->roofline
                   ? roofline_print(call, device, options->network.precision, bench.seconds, run_once, &bench, error)
                   : print_result(&bench, call_flag(call, "json"), call_flag(call, "profile"), error));
  if (bench.optimiser.device) optimise_close(&bench.optimiser);
  bench_loss_close(&bench.loss);
  if (bench.network.graph) reconstructor_close(&bench.network);
  kernels_close(bench.kernels);
  return good;
}
