#include "systems/scan/points.h"

enum { BATCH_MOST = 64 }; /* scans whose draws are made at a time: their trees stand in memory */

static void build(struct points *points, const struct options *options) {
  const struct scan_shape shape = scan_shape_of(options);
  int height = (int)shape.height, width = (int)shape.width;
  graph_open(&points->graph);
  struct graph *graph = points->graph;
  points->chance = graph_input(graph, "chance", 1, height, width);
  points->taken = graph_input(graph, "taken", 1, height, width);
  points->scan = graph_input(graph, "scan", 1, 1, 1);
  points->threshold =
      exact_threshold(graph, points->chance, points->taken, points->scan, 0, options->world.seed, 0);
  tensor drawn = straight_through(graph, points->chance, points->threshold, 0);
  points->mask = add(graph, drawn, points->taken);
}

bool points_open(struct points *points, struct device *device, struct kernels *kernels,
                 const struct options *options, size_t envs, struct error *error) {
  struct graph_setup plan = {
      .device = device, .kernels = kernels, .batch = envs < BATCH_MOST ? envs : BATCH_MOST};
  *points = (struct points){.device = device, .kernels = kernels};
  build(points, options);
  if (graph_plan(points->graph, &plan, error) && kernel_need(kernels, "loupe_keep", error)) return true;
  points_close(points);
  return fail_in(error, "the draws of points");
}

void points_close(struct points *points) {
  graph_close(points->graph);
  *points = (struct points){0};
}

static void write_all(struct points *points, tensor x, const float *row, size_t count) {
  for (size_t image = 0; image < points->graph->batch; image++)
    device_write(points->device, graph_value(points->graph, x), sizeof(float) * count * image,
                 sizeof(float) * count, row);
}

bool points_set(struct points *points, const struct sampler *sampler, const struct options *options,
                const struct acquisition *acquisition, const uint32_t *table, struct error *error) {
  struct arena *arena = arena_open();
  size_t count = acquisition->shape.actions;
  double *chance = ARENA_NEW(arena, double, count);
  float *single = ARENA_NEW(arena, float, count), *taken = ARENA_NEW(arena, float, count);
  bool good = sampler_chances(sampler, options, acquisition, table, chance, error);
  for (size_t i = 0; good && i < count; i++) single[i] = (float)chance[i];
  acquisition_initial_rows(acquisition, 1, taken);
  if (good) {
    graph_node(points->graph, points->threshold)->budget = acquisition->budget;
    write_all(points, points->chance, single, count);
    write_all(points, points->taken, taken, count);
  }
  arena_close(arena);
  return good && device_finish(points->device, error);
}

void points_draw(const struct points *points, cl_mem scan, struct arg mask, size_t rows) {
  size_t batch = points->graph->batch, entries = graph_elements(points->graph, points->mask);
  for (size_t first = 0; first < rows; first += batch) {
    size_t images = rows - first < batch ? rows - first : batch;
    graph_set_images(points->graph, images);
    device_copy(points->device, scan, sizeof(uint32_t) * first, graph_value(points->graph, points->scan), 0,
                sizeof(uint32_t) * images);
    graph_forward(points->graph);
    kernel_run(
        points->kernels, "loupe_keep", images * entries,
        ARGS(graph_arg(ARG_IN, graph_value(points->graph, points->mask)), mask, arg_u32((uint32_t)first)));
  }
}
