#include "engine/graph/rank_sum.h"

#include "engine/base/log.h"

static size_t gradient_bytes(const struct rank_sum *sum) {
  return sizeof(float) * sum->elements;
}

static size_t others_bytes(const struct rank_sum *sum) {
  return gradient_bytes(sum) / 2;
}

static size_t pinned_bytes(const struct rank_sum *sum) {
  return gradient_bytes(sum) + others_bytes(sum);
}

static bool open_pinned(struct rank_sum *sum, struct error *error) {
  if (!host_memory_open(&sum->pinned, sum->device, pinned_bytes(sum), "gradients that ranks exchange",
                        "start fewer ranks on this host", error))
    return false;
  sum->gradient = sum->pinned.data;
  sum->taken = sum->gradient + sum->elements;
  return true;
}

static bool open_host(struct rank_sum *sum, struct error *error) {
  sum->others = device_buffer(sum->device, others_bytes(sum), "another rank's gradients", error);
  return sum->others && open_pinned(sum, error);
}

static bool open_way(struct rank_sum *sum, struct error *error) {
  struct device *device = sum->device;
  struct ranks *ranks = device->ranks;
  struct error reason;
  bool tell = !ranks->told && !ranks->rank;
  ranks->told = true;
  if (peers_open(&sum->peers, device, gradient_bytes(sum), others_bytes(sum), ranks->way != RANKS_BY_HOST, &reason)) {
    if (tell) log_info("gradients of %u ranks are summed from card to card (CUDA)", ranks->count);
    return true;
  }
  if (ranks->way == RANKS_BY_PEERS)
    return fail_usage(error, "train.exchange is peer, and ranks do not read each other's memory (%s); set it to auto or host",
                      reason.text);
  if (tell) log_info("gradients of %u ranks are summed through host memory (%s)", ranks->count, reason.text);
  return open_host(sum, error);
}

bool rank_sum_open(struct rank_sum *sum, struct device *device, struct kernels *kernels, cl_mem gradients, size_t elements,
                   struct error *error) {
  *sum = (struct rank_sum){.device = device, .kernels = kernels, .gradients = gradients, .elements = elements};
  if (ranks_count(device->ranks) == 1) return true;
  if (kernel_need(kernels, "gradient_add", error) && open_way(sum, error)) return true;
  rank_sum_close(sum);
  return false;
}

void rank_sum_close(struct rank_sum *sum) {
  struct device *device = sum->device;
  if (!device) return;
  peers_close(sum->peers);
  if (sum->aside) clReleaseCommandQueue(sum->aside);
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

static size_t bytes_of(size_t floats) {
  return sizeof(float) * floats;
}

/* What the rank whose number differs in `bit` has of this part, into `others`; it is given that one's. */
static void take(struct rank_sum *sum, uint32_t bit, struct part give, struct part own) {
  struct device *device = sum->device;
  size_t bytes = bytes_of(own.count);
  if (sum->peers) {
    device_copy(device, sum->gradients, bytes_of(give.first), peers_mail(sum->peers), bytes_of(give.first), bytes);
    peers_meet(sum->peers, bit);
    peers_take(sum->peers, bit, bytes_of(own.first), bytes);
  } else {
    device_read(device, sum->gradients, bytes_of(give.first), bytes, sum->gradient);
    ranks_exchange(device->ranks, device->ranks->rank ^ bit, sum->gradient, sum->taken, bytes);
    device_write(device, sum->others, 0, bytes, sum->taken);
  }
}

/* Leaves this rank's part summed over all ranks. */
static struct part reduce_scatter(struct rank_sum *sum, struct part own) {
  struct ranks *ranks = sum->device->ranks;
  cl_mem others = sum->peers ? peers_taken(sum->peers) : sum->others;
  for (uint32_t bit = 1; bit < ranks->count; bit *= 2) {
    struct part give = half_of(own, ranks->rank, bit, true);
    own = half_of(own, ranks->rank, bit, false);
    take(sum, bit, give, own);
    kernel_run(sum->kernels, "gradient_add", own.count,
               ARGS(arg_buffer(ARG_INOUT, ELEMENT_F32, sum->gradients), arg_buffer(ARG_IN, ELEMENT_F32, others),
                    arg_u32((uint32_t)own.first)));
  }
  return own;
}

/* Of all ranks, in mail or host memory. A part of the mail is written again only after a meeting with the one rank that reads
 * it: what is given in the exchange of a bit is read in it, and is what that rank's sums go to in its gather. */
static void gather_parts(struct rank_sum *sum, struct part own) {
  struct ranks *ranks = sum->device->ranks;
  for (uint32_t bit = ranks->count / 2; bit; bit /= 2) {
    size_t beside = ranks->rank & bit ? own.first - own.count : own.first + own.count;
    if (sum->peers) {
      peers_meet(sum->peers, bit);
      peers_collect(sum->peers, bit, bytes_of(beside), bytes_of(own.count));
    } else
      ranks_exchange(ranks, ranks->rank ^ bit, sum->gradient + own.first, sum->gradient + beside, bytes_of(own.count));
    own = (struct part){beside < own.first ? beside : own.first, 2 * own.count};
  }
}

/* Every rank's part goes to all. */
static void gather(struct rank_sum *sum, struct part own, struct part all) {
  struct device *device = sum->device;
  cl_mem mail = sum->peers ? peers_mail(sum->peers) : NULL;
  size_t at = bytes_of(all.first), bytes = bytes_of(all.count);
  if (mail)
    device_copy(device, sum->gradients, bytes_of(own.first), mail, bytes_of(own.first), bytes_of(own.count));
  else
    device_read(device, sum->gradients, bytes_of(own.first), bytes_of(own.count), sum->gradient + own.first);
  gather_parts(sum, own);
  if (mail)
    device_copy(device, mail, at, sum->gradients, at, bytes);
  else
    device_write(device, sum->gradients, at, bytes, sum->gradient + all.first);
}

void rank_sum_run(struct rank_sum *sum, size_t first, size_t count) {
  struct part all = {first, count};
  if (ranks_count(sum->device->ranks) > 1) gather(sum, reduce_scatter(sum, all), all);
}

/* ---- beside other work --------------------------------------------------------------------------------- */

void rank_sum_aside(struct rank_sum *sum, cl_event ready) {
  struct device *device = sum->device;
  cl_int code = CL_SUCCESS;
  cl_event all = NULL;
  if (device->profile || device->failed) return;
  if (!sum->aside) sum->aside = clCreateCommandQueue(device->context, device->id, 0, &code);
  CL(device, code);
  if (!ready) CL(device, clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &all));
  CL(device, clFlush(device->queue));
  CL(device, clEnqueueBarrierWithWaitList(sum->aside, 1, ready ? &ready : &all, NULL));
  if (all) clReleaseEvent(all);
  sum->main = device->queue;
  device->queue = sum->aside;
}

void rank_sum_back(struct rank_sum *sum) {
  struct device *device = sum->device;
  if (!sum->main) return;
  CL(device, clFinish(device->queue));
  device->queue = sum->main;
  sum->main = NULL;
}
