/* Sequential sampling (PROTOCOL 3.3): what stands between a reconstruction and the lines that it leads to, and
 * the order in which those lines are acquired. */

#define GROUP 256
#define SHARE_GROUP 64
#define STRIP 8
#define NO_LINE 0xffffffffu

INLINE float total_of(float8 v) {
  float4 half_sum = v.lo + v.hi;
  float2 quarter = half_sum.lo + half_sum.hi;
  return quarter.x + quarter.y;
}

/* The strip from `start` on, 0 beyond the last pixel. */
INLINE float8 inside(float8 v, uint start, uint pixels) {
  uint8 place = start + (uint8)(0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u);
  return select((float8)0.0f, v, place < pixels);
}

/* x * deviation + mean, those of the image `like`. The mean is taken from its first pixel on: gaps from it do
 * not cancel. `statistics` keeps mean - first pixel and deviation. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
restore_forward(__global const float *restrict input, __global const float *restrict like,
                __global float *restrict output, __global float2 *restrict statistics, uint pixels, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), from = row * pixels;
  if (row >= rows) return;
  float first = like[from];
  float8 sum = (float8)0.0f, square = (float8)0.0f;
  FOUR_TURNS for (uint i = item * STRIP; i < pixels; i += GROUP * STRIP)
    sum += inside(load_eight(like + from, i, pixels) - first, i, pixels);
  float mean = group_sum(total_of(sum), scratch) / (float)pixels;
  FOUR_TURNS for (uint i = item * STRIP; i < pixels; i += GROUP * STRIP) {
    float8 gap = inside(load_eight(like + from, i, pixels) - first - mean, i, pixels);
    square += gap * gap;
  }
  float deviation = sqrt(group_sum(total_of(square), scratch) / (float)(pixels - 1u));
  FOUR_TURNS for (uint i = item * STRIP; i < pixels; i += GROUP * STRIP)
    store_eight(output + from, i, pixels, load_eight(input + from, i, pixels) * deviation + (first + mean));
  if (item == 0u) statistics[row] = (float2)(mean, deviation);
}

/* dx = dy * deviation. A row is an image. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
restore_backward(__global const float *restrict output_gradient, __global const float2 *restrict statistics,
                 __global float *restrict input_gradient, uint pixels, uint add, uint rows) {
  uint row = (uint)get_group_id(0), from = row * pixels;
  if (row >= rows) return;
  float deviation = statistics[row].y;
  FOUR_TURNS for (uint i = (uint)get_local_id(0) * STRIP; i < pixels; i += GROUP * STRIP)
    add_eight(input_gradient + from, i, pixels, deviation * load_eight(output_gradient + from, i, pixels), add);
}

/* Through mean and deviation, u the output's gradient and x the input: mean(u) + sum(u x) (like - mean) /
 * ((pixels - 1) deviation); of a constant image only the first. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
restore_backward_like(__global const float *restrict input, __global const float *restrict like,
                      __global const float *restrict output_gradient, __global const float2 *restrict statistics,
                      __global float *restrict like_gradient, uint pixels, uint add, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), from = row * pixels;
  if (row >= rows) return;
  float8 sum = (float8)0.0f, product = (float8)0.0f;
  FOUR_TURNS for (uint i = item * STRIP; i < pixels; i += GROUP * STRIP) {
    float8 slope = load_eight(output_gradient + from, i, pixels);
    sum += inside(slope, i, pixels);
    product += inside(slope * load_eight(input + from, i, pixels), i, pixels);
  }
  float average = group_sum(total_of(sum), scratch) / (float)pixels;
  float share = group_sum(total_of(product), scratch), deviation = statistics[row].y;
  float middle = like[from] + statistics[row].x;
  share = deviation > 0.0f ? share / (float)(pixels - 1u) / deviation : 0.0f;
  FOUR_TURNS for (uint i = item * STRIP; i < pixels; i += GROUP * STRIP)
    add_eight(like_gradient + from, i, pixels, average + share * (load_eight(like + from, i, pixels) - middle),
              add);
}

/* The sampler's input: five planes an image, the predicted frequencies, the acquired ones and the mask on every
 * line (of points: with one line of all pixels). A row is a strip of eight pixels of a line, of which the last may be short. */
__kernel void planes_forward(__global const float *restrict predicted, __global const float *restrict acquired,
                             __global const float *restrict mask, __global float *restrict output, uint height,
                             uint width, uint rows) {
  uint row = (uint)get_global_id(0), strips = (width + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint start = row % strips * STRIP, line = row / strips, image = line / height, pixels = height * width;
  uint place = line % height * width, pair = 2u * image * pixels + place, to = 5u * image * pixels + place;
  for (uint plane = 0u; plane < 2u; plane++) {
    uint more = plane * pixels;
    store_eight(output + to + more, start, width, load_eight(predicted + pair + more, start, width));
    store_eight(output + to + more + 2u * pixels, start, width, load_eight(acquired + pair + more, start, width));
  }
  store_eight(output + to + 4u * pixels, start, width, load_eight(mask + image * width, start, width));
}

/* Passes the gradient to the predicted frequencies alone: the first two of five planes. A row is a strip of
 * an image's two. */
__kernel void planes_backward(__global const float *restrict output_gradient,
                              __global float *restrict predicted_gradient, uint pixels, uint add, uint rows) {
  uint row = (uint)get_global_id(0), count = 2u * pixels, strips = (count + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint image = row / strips, start = row % strips * STRIP;
  add_eight(predicted_gradient + image * count, start, count,
            load_eight(output_gradient + image * 5u * pixels, start, count), add);
}

INLINE float softplus_of(float x) { return fmax(x, 0.0f) + log1p(exp(-fabs(x))); }

/* Below this softplus is an exponential: shares are those of exponentials, which do not all vanish. */
#define SMALL -15.0f

/* softplus over the largest one of the image, 0 where `taken` is not 0. */
__kernel __attribute__((reqd_work_group_size(SHARE_GROUP, 1, 1))) void
share_forward(__global const float *restrict input, __global const float *restrict taken,
              __global float *restrict output, uint entries, uint rows) {
  __local float scratch[SHARE_GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), from = row * entries;
  if (row >= rows) return;
  float top = -INFINITY;
  for (uint i = item; i < entries; i += SHARE_GROUP) top = fmax(top, input[from + i]);
  top = group_max(top, scratch);
  float largest = softplus_of(top);
  for (uint i = STRIP * item; i < entries; i += STRIP * SHARE_GROUP) { /* eight at a time, as in exact.cl */
    float8 x = load_eight(input + from, i, entries), mask = load_eight(taken + from, i, entries);
    float8 share = top < SMALL ? exp(x - top) : (fmax(x, (float8)0.0f) + log1p(exp(-fabs(x)))) / largest;
    store_eight(output + from, i, entries, select((float8)0.0f, share, mask == 0.0f));
  }
}

/* With s the softplus, t its largest value, of the first entry m that has it, y = s / t and u the output's gradient
 * where free: dx = u slope, and of m also -sum(u y) slope, where slope is the sigmoid of x over t; of exponentials it is
 * y. */
__kernel __attribute__((reqd_work_group_size(SHARE_GROUP, 1, 1))) void
share_backward(__global const float *restrict input, __global const float *restrict taken,
               __global const float *restrict output_gradient, __global float *restrict input_gradient,
               uint entries, uint add, uint rows) {
  __local float scratch[SHARE_GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), from = row * entries;
  if (row >= rows) return;
  float top = -INFINITY, sum = 0.0f, place = 0.0f;
  for (uint i = item; i < entries; i += SHARE_GROUP) top = fmax(top, input[from + i]);
  top = group_max(top, scratch);
  for (uint i = item; i < entries; i += SHARE_GROUP) {
    float x = input[from + i], share = top < SMALL ? exp(x - top) : softplus_of(x) / softplus_of(top);
    if (taken[from + i] == 0.0f) sum += output_gradient[from + i] * share;
    if (input[from + i] == top) place = fmax(place, (float)(entries - i));
  }
  sum = group_sum(sum, scratch);
  uint most = entries - (uint)group_max(place, scratch);
  float largest = softplus_of(top);
  for (uint i = STRIP * item; i < entries; i += STRIP * SHARE_GROUP) {
    float8 x = load_eight(input + from, i, entries), mask = load_eight(taken + from, i, entries);
    float8 given = select((float8)0.0f, load_eight(output_gradient + from, i, entries), mask == 0.0f);
    uint8 here = i + (uint8)(0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u);
    given -= select((float8)0.0f, (float8)sum, here == most);
    float8 slope = top < SMALL ? exp(x - top) : 1.0f / (largest * (1.0f + exp(-x)));
    add_eight(input_gradient + from, i, entries, given * slope, add);
  }
}

/* The order in which a scan's lines are acquired: those of an earlier step first, of one step the lower ones.
 * Step 0 starts it with the initial lines. */
__kernel void sequence_rank(__global const float *restrict drawn, __global uint *restrict rank, uint first,
                            uint step, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  for (uint line = 0u; line < WIDTH; line++) {
    uint place = (first + row) * WIDTH + line;
    uint before = step == 0u ? NO_LINE : rank[place];
    rank[place] = before == NO_LINE && drawn[row * WIDTH + line] > 0.5f ? step * WIDTH + line : before;
  }
}

/* Takes the free line of the scan's own lowest rank; lines of rank NO_LINE are never taken. */
__kernel void sequence_next(__global const uchar *restrict mask, __global const uint *restrict rank,
                            __global uint *restrict action, __global float *restrict log_prob, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint chosen = NO_LINE, best = NO_LINE;
  for (uint line = 0u; line < WIDTH; line++)
    if (!mask[(size_t)row * WIDTH + line] && rank[row * WIDTH + line] < best) {
      best = rank[row * WIDTH + line];
      chosen = line;
    }
  action[row] = chosen;
  log_prob[row] = 0.0f;
}

/* The largest magnitude of the values of every shard, its bits, where `largest` has been 0: those of numbers above 0 are in
 * their order. A shard has `each` values, the last one fewer; a work-group takes its share of the strips of one. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
level_find(__global const float *restrict value, __global uint *restrict largest, uint count, uint each, uint shares,
           uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  float8 top = (float8)0.0f;
  if (row >= rows) return;
  uint shard = row / shares, start = shard * each, end = min(start + each, count);
  for (uint i = start + (row % shares * GROUP + item) * STRIP; i < end; i += shares * GROUP * STRIP)
    top = fmax(top, fabs(load_eight(value, i, end)));
  float4 quarter = fmax(top.lo, top.hi);
  float2 pair = fmax(quarter.lo, quarter.hi);
  float most = group_max(fmax(pair.x, pair.y), scratch);
  if (item == 0u) atomic_max(&largest[shard], as_uint(most));
}

/* Multiplies every magnitude by the largest one of the factors, where that is not 0: for values that are
 * multiplied by them. A row is a magnitude. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
level_widen(__global const float *restrict factor, __global uint *restrict largest, uint count, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  float8 top = (float8)0.0f;
  if (row >= rows) return;
  for (uint i = item * STRIP; i < count; i += GROUP * STRIP) top = fmax(top, fabs(load_eight(factor, i, count)));
  float4 quarter = fmax(top.lo, top.hi);
  float2 pair = fmax(quarter.lo, quarter.hi);
  float most = group_max(fmax(pair.x, pair.y), scratch);
  if (item == 0u && most > 0.0f) largest[row] = as_uint(as_float(largest[row]) * most);
}

/* Values of shards times the power of two that brings the largest of each to between 1 and 2, or over it; 1 where all are 0.
 * They start at `at`; a row is a strip of eight of a shard. */
__kernel void level_apply(__global const uint *restrict largest, __global float *restrict value, uint at, uint count,
                          uint each, uint undo, uint rows) {
  uint row = (uint)get_global_id(0), strips = (each + STRIP - 1u) / STRIP;
  if (row >= rows) return;
  uint shard = row / strips, start = shard * each + row % strips * STRIP, end = min((shard + 1u) * each, count);
  float most = as_float(largest[shard]);
  int power = most > 0.0f && most < INFINITY ? clamp(-ilogb(most), -60, 60) : 0;
  value += at;
  if (start < end) store_eight(value, start, end, ldexp(1.0f, undo ? -power : power) * load_eight(value, start, end));
}
