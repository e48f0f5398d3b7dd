/* Learned masks: probabilities rescaled to a budget, and thresholds that make a step at them an exact-count
 * draw (PROTOCOL 3.2, 3.4). A work-group takes an image; `taken` is not 0 where an entry is acquired already:
 * it has no part in the budget. */

#define GROUP 64

/* Sums over the free entries: their number, and their values. */
INLINE float2 free_sums(__global const float *x, __global const float *taken, uint entries,
                        __local float *scratch) {
  float sum = 0.0f, count = 0.0f;
  for (uint i = (uint)get_local_id(0); i < entries; i += GROUP) {
    float free_one = taken[i] == 0.0f ? 1.0f : 0.0f;
    count += free_one;
    sum += free_one * x[i];
  }
  count = group_sum(count, scratch);
  sum = group_sum(sum, scratch);
  return (float2)(count, sum);
}

/* To the mean s from the mean m: x s / m where that lowers them, else 1 - (1 - x) (1 - s) / (1 - m). */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rescale_forward(__global const float *restrict input, __global const float *restrict taken,
                __global float *restrict output, uint entries, uint budget, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  float2 sums = free_sums(input + row * entries, taken + row * entries, entries, scratch);
  float mean = sums.y / sums.x, wanted = (float)budget / sums.x;
  float factor = wanted <= mean ? wanted / mean : (1.0f - wanted) / (1.0f - mean);
  float shift = wanted <= mean ? 0.0f : 1.0f;
  for (uint i = item; i < entries; i += GROUP) {
    uint place = row * entries + i;
    output[place] = taken[place] == 0.0f ? shift + (input[place] - shift) * factor : 0.0f;
  }
}

/* Through the entry itself and through the mean m. By eights: one by one, PoCL 3.1 adds beyond the last
 * entry. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rescale_backward(__global const float *restrict input, __global const float *restrict taken,
                 __global const float *restrict output_gradient, __global float *restrict input_gradient,
                 uint entries, uint budget, uint add, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  float2 sums = free_sums(input + row * entries, taken + row * entries, entries, scratch);
  float mean = sums.y / sums.x, wanted = (float)budget / sums.x;
  float shift = wanted <= mean ? 0.0f : 1.0f, side = fabs(shift - mean), factor = fabs(shift - wanted) / side;
  float sum = 0.0f;
  for (uint i = item; i < entries; i += GROUP) {
    uint place = row * entries + i;
    if (taken[place] == 0.0f) sum += output_gradient[place] * fabs(shift - input[place]);
  }
  float shared = factor * group_sum(sum, scratch) / (side * sums.x);
  __global float *to = input_gradient + row * entries;
  for (uint i = 8u * item; i < entries; i += 8u * GROUP) {
    float8 dy = load_eight(output_gradient + row * entries, i, entries);
    float8 mask = load_eight(taken + row * entries, i, entries);
    add_eight(to, i, entries, select((float8)0.0f, factor * dy - shared, mask == 0.0f), add);
  }
}

/* Entries of a draw that are decided between two barriers: local memory holds the chances of these and the next. */
#define NEAR 6144

/* Chances of the entries from the last to the first; those of the entries after the one at hand stand in local
 * memory too: what a barrier waits for is near. */
INLINE void fill_table(__global const float *x, __global const float *mask, __global float *table,
                       __local float *after, uint entries, uint width) {
  uint item = (uint)get_local_id(0);
  for (uint c = item; c < width; c += GROUP) after[(entries & 1u) * width + c] = c == 0u ? 1.0f : 0.0f;
  for (uint i = entries; i-- > 0u;) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float p = mask[i] == 0.0f ? x[i] : 0.0f;
    __local const float *from = after + ((i + 1u) & 1u) * width;
    for (uint c = item; c < width; c += GROUP) {
      float chance = (c ? p * from[c - 1u] : 0.0f) + (1.0f - p) * from[c];
      table[i * width + c] = after[(i & 1u) * width + c] = chance;
    }
  }
  barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
exact_draw(__global const float *restrict probability, __global const float *restrict taken,
           __global const uint *restrict scan, __global float *restrict threshold,
           __global float *restrict table, uint entries, uint budget, uint seed, uint step, uint rows) {
  __local float chance[NEAR], probable[GROUP], draw[GROUP];
  __local uchar chosen[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), width = budget + 1u, left = budget;
  if (row >= rows) return;
  __global const float *x = probability + row * entries, *mask = taken + row * entries;
  __global float *own = table + row * entries * width;
  fill_table(x, mask, own, chance, entries, width);
  uint most = min(NEAR / width - 1u, (uint)GROUP);
  for (uint first = 0u; first < entries; first += most) {
    uint count = min(most, entries - first), i = first + item;
    for (uint k = item; k < (count + 1u) * width; k += GROUP)
      chance[k] = first * width + k < entries * width ? own[first * width + k] : k % width == 0u;
    float p = 0.0f, place = 0.0f;
    if (item < count) {
      uint4 words = random_words(seed, STREAM_EXACT, scan[row], step + i / 2u);
      uint2 word = (i & 1u ? words.zw : words.xy) >> 9;
      probable[item] = p = mask[i] == 0.0f ? x[i] : 0.0f;
      draw[item] = (float)word.x * 0x1p-23f;
      place = (float)word.y * 0x1p-23f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0u) left = choose(probable, draw, chance, chosen, count, width, left);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < count) threshold[row * entries + i] = threshold_of(mask[i], chosen[item], p, place);
  }
}

/* Words in whose order entries are taken: the larger probability first, what is taken already last. */
INLINE uint order_of(float probability, float taken) {
  return taken == 0.0f ? 0x7fffffffu - as_uint(fmax(probability, 0.0f)) : 0xffffffffu;
}

/* How many of the words are below `limit`; every item of the group must call it. */
INLINE uint count_below(__global const float *x, __global const float *taken, uint entries, uint limit,
                        __local float *scratch) {
  float count = 0.0f;
  for (uint i = (uint)get_local_id(0); i < entries; i += GROUP) count += order_of(x[i], taken[i]) < limit ? 1.0f : 0.0f;
  return (uint)group_sum(count, scratch);
}

/* Thresholds at which a step of the probabilities takes the `budget` most probable of the free entries; of
 * equal ones the first. The word of the last one taken is found bit by bit. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
exact_best(__global const float *restrict probability, __global const float *restrict taken,
           __global float *restrict threshold, uint entries, uint budget, uint rows) {
  __local float scratch[GROUP];
  __local uint equal[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), from = row * entries;
  uint limit = 0u, strip = (entries + 8u * GROUP - 1u) / (8u * GROUP) * 8u;
  uint start = min(item * strip, entries), end = min(start + strip, entries);
  if (row >= rows) return;
  for (uint bit = 0x40000000u; bit > 0u; bit /= 2u) {
    uint below = count_below(probability + from, taken + from, entries, limit | bit, scratch);
    if (below < budget) limit |= bit;
  }
  uint left = budget - min(budget, count_below(probability + from, taken + from, entries, limit, scratch));
  uint own = 0u;
  for (uint i = start; i < end; i++)
    own += order_of(probability[from + i], taken[from + i]) == limit;
  equal[item] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint before = 0u;
  for (uint k = 0u; k < item; k++) before += equal[k];
  for (uint i = start; i < end; i += 8u) { /* eight at a time, as above */
    float value[8];
    for (uint k = 0u; k < 8u; k++) {
      uint place = from + min(i + k, entries - 1u), word = order_of(probability[place], taken[place]);
      bool one = word < limit || (word == limit && before < left);
      before += word == limit && i + k < entries ? 1u : 0u;
      value[k] = one && taken[place] == 0.0f ? -1.0f : 2.0f;
    }
    store_eight(threshold + from, i, entries, vload8(0, value));
  }
}
