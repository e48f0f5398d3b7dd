#include "tools/bench/bench.h"

#include "components/components.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "systems/coils/hybrid.h"
#include "systems/coils/simulated.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/load.h"
#include "systems/scan/transform.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double seconds[BENCH_REPEATS]) {
  qsort(seconds, BENCH_REPEATS, sizeof *seconds, compare_doubles);
  return seconds[BENCH_REPEATS / 2];
}

bool bench_passes(struct device *device, void (*pass)(void *context), void *context, double *seconds,
                  struct error *error) {
  double repeat[BENCH_REPEATS], start = clock_seconds();
  pass(context);
  if (!device_finish(device, error)) return false;
  uint32_t passes = (uint32_t)fmin(200, fmax(1, ceil(0.1 / (clock_seconds() - start))));
  if (ranks_number(device->ranks)) passes = 0; /* the first rank decides */
  ranks_unite(device->ranks, &passes, sizeof passes);
  for (int r = 0; r < BENCH_REPEATS; r++) {
    start = clock_seconds();
    for (uint32_t p = 0; p < passes; p++) pass(context);
    if (!device_finish(device, error)) return false;
    repeat[r] = (clock_seconds() - start) / passes;
  }
  *seconds = bench_median(repeat);
  return true;
}

bool bench_passes_waited(struct device *device, void (*pass)(void *context), void *context, double *seconds, double *waited,
                         struct error *error) {
  const struct ranks *ranks = device->ranks;
  double start = clock_seconds(), before = ranks ? ranks->waited : 0;
  if (!bench_passes(device, pass, context, seconds, error)) return false;
  *waited = ranks ? (ranks->waited - before) / (clock_seconds() - start) : 0;
  return true;
}

bool bench_alone(struct device *device, bench_measure *measure, void *context, double *seconds, struct error *error) {
  struct ranks *ranks = device->ranks;
  *seconds = 0;
  if (ranks_count(ranks) == 1) return true;
  device->ranks = NULL;
  bool good = ranks_number(ranks) || measure(context, seconds, error);
  device->ranks = ranks;
  ranks_meet(good ? ranks : NULL);
  return good;
}

void bench_print_ranks(const struct device *device, const struct graph *graph, double alone, double seconds, double waited, bool json) {
  const struct ranks *ranks = device->ranks;
  if (ranks_count(ranks) == 1) return;
  if (json)
    printf(",\"ranks\":%u,\"alone_rank_milliseconds\":%.6g,\"efficiency\":%.4g,\"waited\":%.4g,\"gradient_bytes\":%zu", ranks->count,
           1e3 * alone, alone / seconds, waited, sizeof(float) * graph->elements);
  else
    printf("  %u ranks: %.1f %% of as many alone (%s ms with a rank's share); %.1f %% of the time waits for other ranks\n",
           ranks->count, 100 * alone / seconds, text_number(1e3 * alone, 4).text, 100 * waited);
}

bool bench_copy(struct device *device, double *bytes_per_second, struct error *error) {
  size_t bytes = (size_t)1 << 30, room = (device->facts.memory - device->bytes) / 4;
  double seconds[BENCH_REPEATS];
  while (bytes > room || bytes > device->facts.largest / 2) bytes /= 2;
  cl_mem from = device_buffer(device, bytes, "the copy test", error);
  cl_mem to = from ? device_buffer(device, bytes, "the copy test", error) : NULL;
  bool good = to != NULL;
  if (good) device_fill(device, from, 0, bytes, 1);
  for (size_t r = 0; good && r < BENCH_REPEATS; r++) {
    device_copy(device, from, 0, to, 0, bytes); /* the first of each pair warms up */
    good = device_finish(device, error);
    double start = clock_seconds();
    device_copy(device, from, 0, to, 0, bytes);
    good = good && device_finish(device, error);
    seconds[r] = clock_seconds() - start;
  }
  if (good) *bytes_per_second = 2 * (double)bytes / bench_median(seconds);
  device_release(device, from, bytes);
  device_release(device, to, bytes);
  return good;
}

bool bench_profiled(struct device *device, struct profile *profile, size_t passes, void (*pass)(void *context), void *context,
                    struct error *error) {
  struct profile *before = device->profile; /* a trace's */
  bool good = device_profile(device, profile, error);
  for (size_t p = 0; good && p < passes; p++) pass(context);
  good = good && device_profile(device, NULL, error);
  profile_collect(profile);
  device->profile = before;
  return good;
}

static bool profile_pass(struct device *device, void (*pass)(void *context), void *context,
                         void (*print)(struct profile *, FILE *), struct error *error) {
  struct arena *arena = arena_open();
  struct profile *profile = ARENA_NEW(arena, struct profile, 1);
  bool good = bench_profiled(device, profile, 1, pass, context, error);
  if (good) print(profile, stdout);
  arena_close(arena);
  return good;
}

bool bench_profile(struct device *device, void (*pass)(void *context), void *context, bool json,
                   struct error *error) {
  return profile_pass(device, pass, context, json ? profile_print_json : profile_print, error);
}

bool bench_parts(struct device *device, void (*pass)(void *context), void *context, bool json,
                 struct error *error) {
  return profile_pass(device, pass, context, json ? profile_print_parts_json : profile_print_parts, error);
}

void bench_image(float *image, const struct scan_shape *shape, size_t slice, uint32_t seed) {
  size_t height = shape->height, width = shape->width;
  struct random random;
  random_start(&random, seed, STREAM_PHANTOM, (uint32_t)slice);
  double fx = 1 + 8 * random_uniform(&random), fy = 1 + 8 * random_uniform(&random);
  for (size_t i = 0; i < height * width; i++) {
    double x = (double)(i % width) / (double)width, y = (double)(i / width) / (double)height;
    image[i] = (float)(0.5 + 0.4 * sin(6.28 * fx * x) * cos(6.28 * fy * y) + 0.1 * random_uniform(&random));
  }
}

static const struct system load_images = {.name = "load_images",
                                          .doc = "slices of a benchmark",
                                          .parts = SET(SLICE_image) | SET(SLICE_data_range),
                                          .loads = true};
static const struct system order_scans = {
    .name = "order_scans", .doc = "scans take the slices as they are", .parts = SET(SLICE_order), .loads = true};

bool bench_slices(struct world *world, size_t slices, uint32_t seed, struct error *error) {
  const struct scan_shape shape = {.height = (uint32_t)world_height(world), .width = (uint32_t)world_width(world), .actions = 0};
  struct arena *arena = arena_open();
  float *image = ARENA_NEW(arena, float, scan_shape_pixels(&shape)), range = 1;
  uint32_t *order = ARENA_NEW(arena, uint32_t, slices);
  struct system load = load_images;
  if (!world_has(world, SLICE_data_range)) load.parts = SET(SLICE_image);
  struct world_use before = world_enter(world, &load);
  for (size_t s = 0; s < slices; s++) {
    bench_image(image, &shape, s, seed);
    world_write(world, SLICE_image, s, 1, image);
    if (world_has(world, SLICE_data_range)) world_write(world, SLICE_data_range, s, 1, &range);
    order[s] = (uint32_t)s;
  }
  world_leave(world, before);
  world_put(world, &order_scans, SLICE_order, 0, slices, order);
  arena_close(arena);
  return transform_rows(world, 0, slices, error);
}

static const struct system count_coils = {
    .name = "count_coils", .doc = "how many coils slices have", .parts = SET(SLICE_coils), .loads = true};

bool bench_coils(struct world *world, const struct options *options, size_t slices, struct error *error) {
  if (!options->coils.simulate) return true;
  if (options->coils.combine == COMBINE_MAPS)
    return fail_usage(error, "coils.combine is maps, and benchmarks are checked by the root of the sum of squares; set it to rss");
  if (options->coils.maps != MAPS_NONE && options->coils.maps != MAPS_FILE)
    return fail_usage(error, "coils.maps makes maps of k-space, and benchmarks have the simulated coils' own; set it to none or "
                             "file");
  struct arena *arena = arena_open();
  struct volume volume = {.name = "bench"};
  const struct dataset dataset = {.volumes = &volume, .volume_count = 1};
  struct slice_name *names = ARENA_NEW(arena, struct slice_name, slices);
  for (size_t s = 0; s < slices; s++) {
    names[s] = (struct slice_name){0, s};
    world_put(world, &count_coils, SLICE_coils, s, 1, &options->coils.simulate);
  }
  bool good = simulated_fill(world, &dataset, options, names, slices, error) && hybrid_fill(world, slices, error);
  arena_close(arena);
  return good;
}

double bench_flops(const struct graph *graph) {
  double flops = 0;
  for (int i = 0; i < graph->nodes; i++) {
    const struct op_desc *op = graph->node[i].op;
    if (op && op->flops) flops += graph->node[i].copies * op->flops(graph, (tensor){(uint16_t)i});
  }
  return flops;
}

double bench_bytes(const struct graph *graph, size_t element) {
  double values = 0, images = 0;
  for (int i = 0; i < graph->nodes; i++) {
    const struct node *node = &graph->node[i];
    double own = (double)graph_elements(graph, (tensor){(uint16_t)i});
    if (!node->op || i == graph->nodes - 1) images += own;
    if (node->op == &op_relu) values += own;
    for (int k = 0; k < node->inputs; k++) {
      int from = node->input[k].node;
      double taken = (double)graph_elements(graph, node->input[k]);
      if (graph->node[from].op == &op_relu) values += node->op == &op_pool ? taken / 2 : taken;
    }
  }
  return values * (double)element + 4 * images;
}

double bench_gradient_distance(struct device *device, const struct graph *found, const struct graph *expected,
                               const char **worst) {
  double largest = -1;
  for (int i = 0; i < expected->parameters; i++) {
    const struct parameter *a = &found->parameter[i], *b = &expected->parameter[i];
    double off = device_distance(device, a->gradient, b->gradient, b->count);
    log_detail("gradient of %s is off by %.2e", b->name, off);
    if (off <= largest) continue; /* not so for NaN */
    largest = off;
    *worst = b->name;
  }
  return largest;
}

void bench_images(struct device *device, cl_mem to, size_t images, const struct scan_shape *shape,
                  uint32_t seed) {
  size_t pixels = scan_shape_pixels(shape), width = shape->width;
  struct arena *arena = arena_open();
  float *image = ARENA_NEW(arena, float, pixels);
  for (size_t i = 0; i < images; i++) {
    struct random random;
    random_start(&random, seed, STREAM_PHANTOM, (uint32_t)(i % 16));
    double f = 3 + (double)(i % 16);
    for (size_t p = 0; p < pixels; p++)
      image[p] = (float)(sin(f * (double)(p % width) / (double)width) + 0.5 * random_normal(&random));
    device_write(device, to, sizeof(float) * pixels * i, sizeof(float) * pixels, image);
  }
  arena_close(arena);
}

bool bench_loss_open(struct bench_loss *loss, struct device *device, struct kernels *kernels, const struct scan_shape *shape,
                     size_t batch, uint32_t seed, struct error *error) {
  struct loss_target *target = &loss->target;
  struct arena *arena = arena_open();
  uint32_t *slice = ARENA_NEW(arena, uint32_t, batch);
  float *values = ARENA_NEW(arena, float, batch);
  loss->device = device;
  loss->batch = batch;
  loss->pixels = scan_shape_pixels(shape);
  bool good = (target->slice = device_buffer(device, 4 * batch, "slices", error)) &&
              (target->image = device_buffer(device, 4 * batch * loss->pixels, "targets", error)) &&
              (target->mean = device_buffer(device, 4 * batch, "means", error)) &&
              (target->std = device_buffer(device, 4 * batch, "deviations", error)) &&
              (target->data_range = device_buffer(device, 4 * batch, "ranges", error)) &&
              loss_open(&loss->loss, device, kernels, LOSS_SSIM, shape->height, shape->width, batch, error);
  for (size_t i = 0; i < batch; i++) slice[i] = (uint32_t)i;
  if (good) {
    device_write(device, target->slice, 0, 4 * batch, slice);
    device_write(device, target->mean, 0, 4 * batch, values);
    for (size_t i = 0; i < batch; i++) values[i] = 1;
    device_write(device, target->std, 0, 4 * batch, values);
    device_write(device, target->data_range, 0, 4 * batch, values);
    bench_images(device, target->image, batch, shape, seed + 1);
  }
  arena_close(arena);
  return good;
}

void bench_loss_close(struct bench_loss *loss) {
  struct device *device = loss->device;
  if (!device) return;
  device_release(device, loss->target.slice, 4 * loss->batch);
  device_release(device, loss->target.image, 4 * loss->batch * loss->pixels);
  device_release(device, loss->target.mean, 4 * loss->batch);
  device_release(device, loss->target.std, 4 * loss->batch);
  device_release(device, loss->target.data_range, 4 * loss->batch);
  if (loss->loss.device) loss_close(&loss->loss);
}

bool bench_check_scans(const struct options *options, const char *bench, struct error *error) {
  if (options->network.input == INPUT_COMPLEX)
    return fail_usage(
        error,
        "network.input is complex, and bench %s measures scans whose magnitude is looked at; set it to "
        "magnitude, or take bench train, which measures an update with complex images",
        bench);
  if (!geometry_chosen(options)->points) return true;
  return fail_usage(
      error,
      "acquisition.geometry is points, and bench %s measures scans that choose one action after the "
      "other: it takes lines and spokes; set acquisition.geometry to one of these, or take bench "
      "train, which measures an update with points",
      bench);
}
