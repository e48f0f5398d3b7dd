#include "engine/graph/optimise.h"

#include "engine/base/option.h"
#include "engine/base/round.h"
#include "engine/graph/early.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 4096 };                       /* kernels/optimise.cl has the same */
static const uint32_t one_bits = 0x3f800000; /* 1.0f */

struct optimiser_setup optimise_defaults(enum optimiser_kind kind, double rate) {
  struct optimiser_setup setup = {.kind = kind, .rate = rate, .epsilon = 1e-8};
  if (kind == OPTIMISER_ADAM) setup.beta1 = 0.9, setup.beta2 = 0.999;
  if (kind == OPTIMISER_RMSPROP || kind == OPTIMISER_RMSPROP_TF) setup.beta2 = 0.99;
  return setup;
}

static size_t moment_bytes(const struct optimiser *optimiser) {
  return sizeof(float) * optimiser->graph->elements;
}

static size_t parts(const struct optimiser *optimiser) {
  return divide_up(optimiser->graph->elements, CHUNK);
}

static bool need_kernels(const struct optimiser *optimiser, struct error *error) {
  static const char *const names[] = {"optimise_adam", "optimise_rmsprop", "optimise_rmsprop",
                                      "optimise_sgd"};
  if (optimiser->graph->shards.held > 1 && !kernel_need(optimiser->kernels, "gradient_tree", error)) return false;
  return kernel_need(optimiser->kernels, names[optimiser->setup.kind], error) &&
         kernel_need(optimiser->kernels, "optimise_square", error) &&
         kernel_need(optimiser->kernels, "optimise_clip", error);
}

static bool open_buffers(struct optimiser *optimiser, struct error *error) {
  struct device *device = optimiser->device;
  enum optimiser_kind kind = optimiser->setup.kind;
  bool first = kind == OPTIMISER_ADAM || kind == OPTIMISER_SGD, second = kind != OPTIMISER_SGD;
  size_t bytes = moment_bytes(optimiser);
  if (first && !(optimiser->first = device_buffer(device, bytes, "the optimiser's moments", error)))
    return false;
  if (second && !(optimiser->second = device_buffer(device, bytes, "the optimiser's moments", error)))
    return false;
  optimiser->part = device_buffer(device, sizeof(float) * parts(optimiser), "the gradient's norm", error);
  optimiser->scale =
      optimiser->part ? device_buffer(device, 2 * sizeof(float), "the gradient's norm", error) : NULL;
  if (!optimiser->scale) return false;
  if (first) device_fill(device, optimiser->first, 0, bytes, 0);
  if (second) device_fill(device, optimiser->second, 0, bytes, kind == OPTIMISER_RMSPROP_TF ? one_bits : 0);
  device_fill(device, optimiser->scale, 0, 2 * sizeof(float), one_bits);
  return true;
}

bool optimise_open(struct optimiser *optimiser, const struct graph *graph,
                   const struct optimiser_setup *setup, struct error *error) {
  REQUIRE(graph->gradients && !graph->shared, "the graph has no gradients of its own");
  *optimiser = (struct optimiser){.device = graph->device,
                                  .kernels = graph->kernels,
                                  .graph = graph,
                                  .setup = *setup,
                                  .rate = setup->rate};
  if (open_buffers(optimiser, error) && need_kernels(optimiser, error) &&
      rank_sum_open(&optimiser->sum, graph->device, graph->kernels, graph->gradients, graph->elements, error))
    return true;
  optimise_close(optimiser);
  return false;
}

void optimise_close(struct optimiser *optimiser) {
  rank_sum_close(&optimiser->sum);
  device_release(optimiser->device, optimiser->first, moment_bytes(optimiser));
  device_release(optimiser->device, optimiser->second, moment_bytes(optimiser));
  device_release(optimiser->device, optimiser->part, sizeof(float) * parts(optimiser));
  device_release(optimiser->device, optimiser->scale, 2 * sizeof(float));
  optimiser->first = optimiser->second = optimiser->part = optimiser->scale = NULL;
}

static void run_clip(struct optimiser *optimiser, double limit) {
  uint32_t count = (uint32_t)optimiser->graph->elements;
  kernel_run(optimiser->kernels, "optimise_square", parts(optimiser),
             ARGS(graph_arg(ARG_IN, optimiser->graph->gradients), graph_arg(ARG_OUT, optimiser->part),
                  arg_u32(count)));
  kernel_run(optimiser->kernels, "optimise_clip", 1,
             ARGS(graph_arg(ARG_IN, optimiser->part), graph_arg(ARG_OUT, optimiser->scale),
                  arg_u32((uint32_t)parts(optimiser)), arg_f32((float)limit)));
}

static void run_adam(struct optimiser *optimiser) {
  const struct optimiser_setup *s = &optimiser->setup;
  const struct graph *graph = optimiser->graph;
  double step = (double)optimiser->step;
  double rate = optimiser->rate / (1 - pow(s->beta1, step)), root = 1 / sqrt(1 - pow(s->beta2, step));
  kernel_run(optimiser->kernels, "optimise_adam", graph->elements / 4,
             ARGS(graph_arg(ARG_INOUT, graph->values), graph_arg(ARG_IN, graph->gradients),
                  graph_arg(ARG_INOUT, optimiser->first), graph_arg(ARG_INOUT, optimiser->second),
                  graph_arg(ARG_IN, optimiser->scale), arg_f32((float)rate), arg_f32((float)root),
                  arg_f32((float)s->beta1), arg_f32((float)(1 - s->beta1)), arg_f32((float)s->beta2),
                  arg_f32((float)(1 - s->beta2)), arg_f32((float)s->epsilon), arg_f32((float)s->decay)));
}

static void run_rmsprop(struct optimiser *optimiser) {
  const struct optimiser_setup *s = &optimiser->setup;
  const struct graph *graph = optimiser->graph;
  kernel_run(optimiser->kernels, "optimise_rmsprop", graph->elements / 4,
             ARGS(graph_arg(ARG_INOUT, graph->values), graph_arg(ARG_IN, graph->gradients),
                  graph_arg(ARG_INOUT, optimiser->second), graph_arg(ARG_IN, optimiser->scale),
                  arg_f32((float)optimiser->rate), arg_f32((float)s->beta2), arg_f32((float)(1 - s->beta2)),
                  arg_f32((float)s->epsilon), arg_f32((float)s->decay),
                  arg_u32(s->kind == OPTIMISER_RMSPROP_TF)));
}

static void run_sgd(struct optimiser *optimiser) {
  const struct optimiser_setup *s = &optimiser->setup;
  const struct graph *graph = optimiser->graph;
  kernel_run(optimiser->kernels, "optimise_sgd", graph->elements / 4,
             ARGS(graph_arg(ARG_INOUT, graph->values), graph_arg(ARG_IN, graph->gradients),
                  graph_arg(ARG_INOUT, optimiser->first), graph_arg(ARG_IN, optimiser->scale),
                  arg_f32((float)optimiser->rate), arg_f32((float)s->beta1), arg_f32((float)s->decay)));
}

/* Over all shards and ranks: what is complete first, while the pass back is still at work, on every rank alike. */
static void sum_gradients(struct optimiser *optimiser) {
  const struct graph *graph = optimiser->graph;
  struct rank_sum *sum = &optimiser->sum;
  size_t from = graph->early ? graph->early->from : graph->elements;
  if (graph->early) {
    rank_sum_aside(sum, graph->early->ready);
    graph_gather(graph, from, graph->elements - from);
    rank_sum_run(sum, from, graph->elements - from);
    rank_sum_back(sum);
    graph_early_forget(graph);
  }
  graph_gather(graph, 0, from);
  rank_sum_run(sum, 0, from);
}

void optimise_step(struct optimiser *optimiser) {
  static void (*const run[])(struct optimiser *) = {run_adam, run_rmsprop, run_rmsprop, run_sgd};
  optimiser->step++;
  sum_gradients(optimiser);
  if (optimiser->setup.clip > 0) run_clip(optimiser, optimiser->setup.clip);
  run[optimiser->setup.kind](optimiser);
  graph_tell(optimiser->graph, GRAPH_LEARNED);
}

bool optimise_norm(struct optimiser *optimiser, double *norm, struct error *error) {
  float scale[2];
  bool clips = optimiser->setup.clip > 0;
  if (!clips) run_clip(optimiser, 1);
  device_read(optimiser->device, optimiser->scale, 0, sizeof scale, scale);
  if (!clips) device_fill(optimiser->device, optimiser->scale, 0, sizeof scale, one_bits);
  *norm = scale[1];
  return device_finish(optimiser->device, error);
}

double rate_at(const struct rate_schedule *schedule, double rate, uint64_t epoch) {
  const char *list = schedule->milestones;
  uint32_t milestone;
  char word[32];
  if (schedule->every) return rate * pow(schedule->factor, (double)(epoch / schedule->every));
  while ((list = option_next(list, word, sizeof word)))
    if (option_whole(word, 0, UINT32_MAX, &milestone) && epoch >= milestone) rate *= schedule->factor;
  return rate;
}

bool rate_check(const struct rate_schedule *schedule, const char *key, struct error *error) {
  const char *list = schedule->milestones;
  uint32_t milestone;
  char word[32];
  while ((list = option_next(list, word, sizeof word)))
    if (!option_whole(word, 0, UINT32_MAX, &milestone))
      return fail_usage(error, "%s has '%s'; it must be epochs, as 30,40", key, word);
  return true;
}
