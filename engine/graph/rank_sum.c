#include "engine/graph/rank_sum.h"

static size_t gradient_bytes(const struct rank_sum *sum) {
  return sizeof(float) * sum->graph->elements;
}

static size_t others_bytes(const struct rank_sum *sum) {
  return gradient_bytes(sum) / 2;
}

static size_t pinned_bytes(const struct rank_sum *sum) {
  return gradient_bytes(sum) + others_bytes(sum);
}

static bool open_pinned(struct rank_sum *sum, struct error *error) {
  if (!host_memory_open(&sum->pinned, sum->graph->device, pinned_bytes(sum), "gradients that ranks exchange",
                        "start fewer ranks on this host", error))
    return false;
  sum->gradient = sum->pinned.data;
  sum->taken = sum->gradient + sum->graph->elements;
  return true;
}

bool rank_sum_open(struct rank_sum *sum, const struct graph *graph, struct error *error) {
  *sum = (struct rank_sum){.graph = graph};
  if (graph->shards.held > 1 && !kernel_need(graph->kernels, "gradient_tree", error)) return false;
  if (ranks_count(graph->device->ranks) == 1) return true;
  sum->others = device_buffer(graph->device, others_bytes(sum), "another rank's gradients", error);
  if (sum->others && open_pinned(sum, error) && kernel_need(graph->kernels, "gradient_add", error)) return true;
  rank_sum_close(sum);
  return false;
}

void rank_sum_close(struct rank_sum *sum) {
  if (!sum->graph) return;
  struct device *device = sum->graph->device;
  host_memory_close(&sum->pinned, device);
  device_release(device, sum->others, sum->others ? others_bytes(sum) : 0);
  *sum = (struct rank_sum){0};
}

/* A part of the gradient. */
struct part {
  size_t first, count;
};

/* Its half that the rank keeps in the exchange with the one whose number differs in `bit`, or gives. */
static struct part half_of(struct part part, uint32_t rank, uint32_t bit, bool given) {
  size_t half = part.count / 2;
  return (struct part){part.first + (((rank & bit) != 0) != given ? half : 0), half};
}

/* Leaves this rank's part summed over all ranks. */
static struct part reduce_scatter(struct rank_sum *sum) {
  struct device *device = sum->graph->device;
  struct ranks *ranks = device->ranks;
  struct part own = {0, sum->graph->elements};
  for (uint32_t bit = 1; bit < ranks->count; bit *= 2) {
    struct part give = half_of(own, ranks->rank, bit, true);
    own = half_of(own, ranks->rank, bit, false);
    size_t bytes = sizeof(float) * own.count;
    device_read(device, sum->graph->gradients, sizeof(float) * give.first, bytes, sum->gradient);
    ranks_exchange(ranks, ranks->rank ^ bit, sum->gradient, sum->taken, bytes);
    device_write(device, sum->others, 0, bytes, sum->taken);
    kernel_run(sum->graph->kernels, "gradient_add", own.count,
               ARGS(graph_arg(ARG_INOUT, sum->graph->gradients), graph_arg(ARG_IN, sum->others),
                    arg_u32((uint32_t)own.first)));
  }
  return own;
}

/* Every rank's part goes to all. */
static void gather(struct rank_sum *sum, struct part own) {
  struct device *device = sum->graph->device;
  struct ranks *ranks = device->ranks;
  device_read(device, sum->graph->gradients, sizeof(float) * own.first, sizeof(float) * own.count,
              sum->gradient + own.first);
  for (uint32_t bit = ranks->count / 2; bit; bit /= 2) {
    size_t beside = ranks->rank & bit ? own.first - own.count : own.first + own.count;
    ranks_exchange(ranks, ranks->rank ^ bit, sum->gradient + own.first, sum->gradient + beside, sizeof(float) * own.count);
    own = (struct part){beside < own.first ? beside : own.first, 2 * own.count};
  }
  device_write(device, sum->graph->gradients, 0, gradient_bytes(sum), sum->gradient);
}

void rank_sum_run(struct rank_sum *sum) {
  graph_gather(sum->graph);
  if (ranks_count(sum->graph->device->ranks) > 1) gather(sum, reduce_scatter(sum));
}
