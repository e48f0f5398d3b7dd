/* Learned masks: probabilities rescaled to a budget, and thresholds that make a step at them an exact-count
 * draw (PROTOCOL 3.2, 3.4). A work-group takes an image; `taken` is not 0 where an entry is acquired already:
 * it has no part in the budget. */

#define GROUP 64
#define BUDGET_MOST 512 /* of an exact draw: engine/op_exact.c */

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

/* The chance of `count` of the entries after the last: none are left. */
INLINE float chance_after(__global const float *table, uint entry, uint entries, uint width, uint count) {
  if (entry == entries) return count == 0u ? 1.0f : 0.0f;
  return table[entry * width + count];
}

/* The uniform numbers of an entry: which side of its probability, and where there its threshold lies. */
INLINE float2 entry_numbers(uint seed, uint scan, uint step, uint entry) {
  uint4 words = random_words(seed, STREAM_EXACT, scan, step + entry / 2u);
  uint2 word = (entry & 1u ? words.zw : words.xy) >> 9;
  return (float2)((float)word.x * 0x1p-23f, (float)word.y * 0x1p-23f);
}

/* A draw of independent entries given that exactly `budget` of them are 1, from the chances that c of the
 * entries from i on are: table[i][c]. An entry of probability p is one where `left` are still to draw, `with` being p
 * times the chance of one fewer after it and `all` that of so many from it on. Where the table has underflowed,
 * entries are taken as they come. */
INLINE bool is_one(float p, float draw, float with, float all, uint left) {
  return left && p > 0.0f && (draw * all < with || all == 0.0f);
}

/* Uniform below the probability where the entry is 1, else above. */
INLINE float threshold_of(float p, float place, bool one, bool taken) {
  float below = place * p;
  return taken ? 1.0f : !one ? p + place * (1.0f - p) : below < p ? below : 0.0f;
}

INLINE void walk(__global const float *x, __global const float *mask, __global const float *table,
                 __global float *threshold, uint entries, uint budget, uint seed, uint scan, uint step) {
  uint left = budget, width = budget + 1u;
  for (uint i = 0u; i < entries; i++) {
    float2 number = entry_numbers(seed, scan, step, i);
    float p = mask[i] == 0.0f ? x[i] : 0.0f;
    float with = left ? p * chance_after(table, i + 1u, entries, width, left - 1u) : 0.0f;
    bool one = is_one(p, number.x, with, table[i * width + left], left);
    threshold[i] = threshold_of(p, number.y, one, mask[i] != 0.0f);
    left -= one;
  }
}

/* The same where table and probabilities stand in local memory: leaves in `side` 1 where an entry is one. */
INLINE void walk_near(__local const float *p, __local const float *table, __local float *side, uint entries,
                      uint budget) {
  uint left = budget, width = budget + 1u;
  for (uint i = 0u; i < entries; i++) {
    float after = i + 1u == entries ? (left == 1u ? 1.0f : 0.0f) : left ? table[(i + 1u) * width + left - 1u] : 0.0f;
    bool one = is_one(p[i], side[i], p[i] * after, table[i * width + left], left);
    side[i] = one ? 1.0f : 0.0f;
    left -= one;
  }
}

/* What one item goes through in order is near where it fits: probabilities, the chances of the entries after the one
 * at hand, the table. */
#define NEAR_ENTRIES 512
#define NEAR_TABLE 4096

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
exact_draw(__global const float *restrict probability, __global const float *restrict taken,
           __global const uint *restrict scan, __global float *restrict threshold,
           __global float *restrict table, uint entries, uint budget, uint seed, uint step, uint rows) {
  __local float after[2][BUDGET_MOST + 1], near[NEAR_TABLE], kept[NEAR_ENTRIES], side[NEAR_ENTRIES];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), width = budget + 1u;
  if (row >= rows) return;
  bool fits = entries <= NEAR_ENTRIES && entries * width <= NEAR_TABLE;
  __global const float *x = probability + row * entries, *mask = taken + row * entries;
  __global float *own = table + row * entries * width;
  for (uint i = item; fits && i < entries; i += GROUP) {
    kept[i] = mask[i] == 0.0f ? x[i] : 0.0f;
    side[i] = entry_numbers(seed, scan[row], step, i).x;
  }
  for (uint c = item; c < width; c += GROUP) after[entries & 1u][c] = c == 0u ? 1.0f : 0.0f;
  for (uint i = entries; i-- > 0u;) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float p = fits ? kept[i] : mask[i] == 0.0f ? x[i] : 0.0f;
    __local const float *from = after[(i + 1u) & 1u];
    for (uint c = item; c < width; c += GROUP) {
      float chance = (c ? p * from[c - 1u] : 0.0f) + (1.0f - p) * from[c];
      own[i * width + c] = after[i & 1u][c] = chance;
      if (fits) near[i * width + c] = chance;
    }
  }
  barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
  if (item == 0u && fits) walk_near(kept, near, side, entries, budget);
  if (item == 0u && !fits)
    walk(x, mask, own, threshold + row * entries, entries, budget, seed, scan[row], step);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; fits && i < entries; i += GROUP)
    threshold[row * entries + i] = threshold_of(kept[i], entry_numbers(seed, scan[row], step, i).y,
                                                side[i] != 0.0f, mask[i] != 0.0f);
}

/* Thresholds at which a step of the probabilities takes the `budget` most probable of the free entries; of
 * equal ones the first. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
exact_best(__global const float *restrict probability, __global const float *restrict taken,
           __global float *restrict threshold, uint entries, uint budget, uint rows) {
  uint row = (uint)get_group_id(0), from = row * entries;
  if (row >= rows) return;
  for (uint i = (uint)get_local_id(0); i < entries; i += GROUP) {
    float own = probability[from + i];
    uint before = 0u;
    for (uint j = 0u; j < entries; j++) {
      float other = probability[from + j];
      before += taken[from + j] == 0.0f && (other > own || (other == own && j < i)) ? 1u : 0u;
    }
    threshold[from + i] = taken[from + i] == 0.0f && before < budget ? -1.0f : 2.0f;
  }
}
