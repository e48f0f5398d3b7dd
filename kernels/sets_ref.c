#include "kernels/kernels.h"

#include "components/components.h"
#include "kernels/complex_ref.h"

#include <math.h>

enum { SETS = 2, MOST = 3 };

/* What the values of kernels that have maps say. */
struct view {
  size_t first, most, sets, scan_step, set_step;
};

static struct view view_of(const struct host_args *args) {
  return (struct view){args->value[5].u, args->value[6].u, args->value[7].u, args->value[8].u, args->value[9].u};
}

static size_t slice_of(const struct host_args *args, size_t scan) {
  return ((const uint32_t *)args->in[0])[args->value[5].u + scan];
}

static value map_of(const struct host_args *args, const struct view *view, size_t slice, size_t set, size_t coil, size_t pixels,
                    size_t pixel) {
  return get(args->in[2], ((slice * view->sets + set) * view->most + coil) * pixels + pixel);
}

void sets_combine_reference(const struct host_args *args) {
  const struct view view = view_of(args);
  size_t height = args->value[10].u, width = args->value[11].u, pixels = height * width;
  for (size_t i = 0; i < args->rows * pixels; i++) {
    size_t scan = i / pixels / view.sets, set = i / pixels % view.sets, slice = slice_of(args, scan);
    size_t y = i % pixels / width, x = i % width, coils = ((const uint32_t *)args->in[1])[slice];
    size_t from_y = args->value[12].u ? (y + height - height / 2) % height : y,
           from_x = args->value[13].u ? (x + width - width / 2) % width : x;
    value sum = 0;
    for (size_t coil = 0; coil < coils && coil < view.most; coil++)
      sum += conj(map_of(args, &view, slice, set, coil, pixels, i % pixels)) *
             get(args->in[3], (scan * view.most + coil) * pixels + from_y * width + from_x);
    put(args->out[4], (scan * view.scan_step + set * view.set_step) * pixels + i % pixels, sum);
  }
}

void sets_spread_reference(const struct host_args *args) {
  const struct view view = view_of(args);
  size_t pixels = args->value[10].u;
  for (size_t i = 0; i < args->rows * pixels; i++) {
    size_t scan = i / pixels / view.most, coil = i / pixels % view.most, slice = slice_of(args, scan);
    value sum = 0;
    for (size_t set = 0; set < view.sets && coil < ((const uint32_t *)args->in[1])[slice]; set++)
      sum += map_of(args, &view, slice, set, coil, pixels, i % pixels) *
             get(args->in[3], (scan * view.scan_step + set * view.set_step) * pixels + i % pixels);
    put(args->out[4], i, sum);
  }
}

void sets_store_reference(const struct host_args *args) {
  size_t first = args->value[5].u, sets = args->value[6].u, pixels = args->value[9].u;
  uint32_t *refused = args->out[4];
  for (size_t i = 0; i < args->rows * pixels; i++) {
    size_t scan = i / pixels;
    double scale = ((const float *)args->in[2])[slice_of(args, scan)], square = 0;
    for (size_t set = 0; set < sets; set++)
      square += pow(cabs(get(args->in[1], (scan * args->value[7].u + set * args->value[8].u) * pixels + i % pixels)), 2);
    ((float *)args->out[3])[first * pixels + i] = (float)(scale * sqrt(square));
    if (!isfinite(square) && first + scan < *refused) *refused = (uint32_t)(first + scan);
  }
}

/* ---- sizes that fit the buffers ------------------------------------------------------------------------- */

/* Buffers have room for three coils a slice: of two sets, half of the slices have room. */
static void prepare_slices(struct host_args *args, struct random *random) {
  uint32_t *slice = (uint32_t *)args->in[0], count = (uint32_t)args->table_rows[TABLE_SLICE] / SETS;
  for (size_t row = 0; row < args->rows + 3; row++) slice[row] = random_u32(random) % count;
}

/* Images of a scan together, or those of a set. */
static void prepare_steps(struct host_args *args, struct random *random, int at, size_t scans) {
  bool together = random_u32(random) % 2;
  args->value[at].u = SETS;
  args->value[at + 1].u = together ? SETS : 1;
  args->value[at + 2].u = together ? 1 : (uint32_t)scans;
}

static void prepare(struct host_args *args, struct random *random, size_t scans) {
  prepare_slices(args, random);
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++) ((uint32_t *)args->in[1])[i] = 1 + random_u32(random) % MOST;
  args->value[5].u = 1;
  args->value[6].u = MOST;
  prepare_steps(args, random, 7, scans);
  args->value[10].u = (uint32_t)(args->height * args->width);
}

/* The last scan may have one image alone: those of a scan stand together. */
void sets_combine_prepare(struct host_args *args, struct random *random) {
  prepare(args, random, (args->rows + SETS - 1) / SETS);
  args->value[8].u = SETS;
  args->value[9].u = 1;
  args->value[10].u = (uint32_t)args->height;
  args->value[11].u = (uint32_t)args->width;
  args->value[12].u = 1;
  args->value[13].u = args->width % 2;
}

void sets_spread_prepare(struct host_args *args, struct random *random) {
  prepare(args, random, (args->rows + MOST - 1) / MOST);
}

void sets_store_prepare(struct host_args *args, struct random *random) {
  prepare_slices(args, random);
  args->value[5].u = 1;
  prepare_steps(args, random, 6, args->rows);
  args->value[9].u = (uint32_t)(args->height * args->width);
  *(uint32_t *)args->out[4] = 100;
  if (args->rows > 3) ((float *)args->in[1])[2 * (3 * args->value[9].u + 5)] = NAN;
}
