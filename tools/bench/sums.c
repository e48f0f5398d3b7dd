/* Seconds of a sum of gradients over ranks, which are checked first, and the bytes a second that a device takes and gives. */
#include "tools/bench/bench.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/graph/rank_sum.h"
#include "kernels/kernels.h"

/* Floats; the third and the last are the gradients of the U-Net of the scenes and of tau steps. */
static const size_t sizes[] = {1 << 16, 1 << 18, 837632, 1 << 20, 1 << 22, 1 << 24, 42800128};
enum { SIZES = sizeof sizes / sizeof *sizes, PATTERN = 1021 };

struct sums {
  struct device *device;
  struct kernels *kernels;
  struct rank_sum sum;
  cl_mem gradients;
  size_t count;
};

/* A rank's numbers, of which sums are exact. */
static void fill(const struct sums *sums, float *values) {
  float own = (float)(1 + sums->device->ranks->rank);
  for (size_t i = 0; i < sums->count; i++) values[i] = own * (float)(1 + i % PATTERN);
}

static bool check(struct sums *sums, struct error *error) {
  uint32_t ranks = sums->device->ranks->count;
  float all = (float)(ranks * (ranks + 1) / 2);
  size_t bytes = sizeof(float) * sums->count, wrong = 0;
  struct arena *arena = arena_open();
  float *values = ARENA_NEW(arena, float, sums->count);
  fill(sums, values);
  device_write(sums->device, sums->gradients, 0, bytes, values);
  rank_sum_run(&sums->sum, 0, sums->count);
  device_read(sums->device, sums->gradients, 0, bytes, values);
  bool good = device_finish(sums->device, error);
  while (good && wrong < sums->count && values[wrong] == all * (float)(1 + wrong % PATTERN)) wrong++;
  if (good && wrong < sums->count)
    good = fail(error, "element %zu of %zu of a sum over %u ranks is %g; expected %g", wrong, sums->count, ranks,
                (double)values[wrong], (double)(all * (float)(1 + wrong % PATTERN)));
  device_fill(sums->device, sums->gradients, 0, bytes, 0);
  arena_close(arena);
  return good;
}

static void run_once(void *context) {
  struct sums *sums = context;
  rank_sum_run(&sums->sum, 0, sums->count);
}

static void print(const struct sums *sums, double seconds, const char *way, bool json) {
  const struct ranks *ranks = sums->device->ranks;
  double bytes = sizeof(float) * (double)sums->count, moved = 2 * bytes * (ranks->count - 1) / ranks->count;
  if (json)
    printf("{\"bench\":\"sums\",\"way\":\"%s\",\"ranks\":%u,\"bytes\":%.0f,\"microseconds\":%.6g,\"bytes_per_second\":%.6g}\n", way,
           ranks->count, bytes, 1e6 * seconds, moved / seconds);
  else
    printf("  %-5s %9.3f MB %10s us, %8s GB/s taken\n", way, bytes / 1e6, text_number(1e6 * seconds, 4).text,
           text_number(moved / seconds / 1e9, 4).text);
}

/* true with *there false: there is no such way. */
static bool time_size(struct sums *sums, bool json, bool *there, struct error *error) {
  size_t bytes = sizeof(float) * sums->count;
  enum ranks_way way = sums->device->ranks->way;
  double seconds;
  sums->gradients = device_buffer(sums->device, bytes, "gradients", error);
  if (!sums->gradients) return false;
  bool good = rank_sum_open(&sums->sum, sums->device, sums->kernels, sums->gradients, sums->count, error);
  *there = good && (way == RANKS_BY_HOST) == !sums->sum.peers;
  if (*there) {
    good = check(sums, error) && bench_passes(sums->device, run_once, sums, &seconds, error);
    if (good) print(sums, seconds, way == RANKS_BY_HOST ? "host" : "peer", json);
  }
  rank_sum_close(&sums->sum);
  device_release(sums->device, sums->gradients, bytes);
  return good;
}

bool bench_sums(struct call *call, struct device *device, struct error *error) {
  struct sums sums = {.device = device};
  uint32_t bytes = 0;
  struct kernel_setup setup = {16, 16, false, call_flag(call, "kernels")};
  bool json = call_flag(call, "json"), good = true, there = true;
  if (ranks_count(device->ranks) == 1)
    return fail_usage(error, "bench sums measures several ranks, and there is one; give --devices all, or start it by mpirun -n 2");
  if (!call_number(call, "bytes", 256, 1u << 31, &bytes, error)) return false;
  if (!kernels_open(&sums.kernels, device, &kernel_table, &setup, error)) return false;
  if (!json) printf("sums over %u ranks, each on its device, as rank 0 on %s\n", device->ranks->count, device->facts.name);
  for (int way = RANKS_BY_ANY; good && way <= RANKS_BY_HOST; way++) {
    device->ranks->way = (enum ranks_way)way;
    there = true;
    for (size_t s = 0; good && there && s < (bytes ? 1 : SIZES); s++) {
      sums.count = bytes ? bytes / 256 * 64 : sizes[s]; /* parts of all ranks are equal */
      good = time_size(&sums, json, &there, error);
    }
  }
  kernels_close(sums.kernels);
  return good;
}
