/* Put before every kernel file: element types, random numbers, work-group sums. HEIGHT and WIDTH are given
 * by the program; so is REAL_HALF when observations are stored as half. */
#ifndef WIDTH /* so that a file can be read and linted alone */
#define HEIGHT 128
#define WIDTH 128
#endif
#define PIXELS (HEIGHT * WIDTH)

#define INLINE static inline __attribute__((always_inline))

#ifdef REAL_HALF
typedef half real;
#define REAL_LOAD(from, i) vload_half((i), (from))
#define REAL_STORE(to, i, value) vstore_half((value), (i), (to))
#else
typedef float real;
#define REAL_LOAD(from, i) ((from)[i])
#define REAL_STORE(to, i, value) ((to)[i] = (value))
#endif

/* Random streams of engine/random.h. */
#define STREAM_ACTION 3u

/* Philox 4x32-10: the words of (seed, stream, scan, step); the same function as in engine/random.c. */
INLINE uint4 random_words(uint seed, uint stream, uint scan, uint step) {
  uint4 c = (uint4)(scan, step, 0u, 0u);
  uint key0 = seed, key1 = stream;
  for (int round = 0; round < 10; round++) {
    uint high0 = mul_hi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    uint high1 = mul_hi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = (uint4)(high1 ^ c.y ^ key0, low1, high0 ^ c.w ^ key1, low0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

/* Sums `value` over the work-group; every work-item gets the sum. The order is fixed: the same bytes on
 * every run. `scratch` holds one float a work-item, whose number must be a power of two. */
INLINE float group_sum(float value, __local float *scratch) {
  uint item = (uint)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = (uint)get_local_size(0) / 2u; half_size > 0u; half_size /= 2u) {
    if (item < half_size) scratch[item] += scratch[item + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

INLINE float group_max(float value, __local float *scratch) {
  uint item = (uint)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = (uint)get_local_size(0) / 2u; half_size > 0u; half_size /= 2u) {
    if (item < half_size) scratch[item] = fmax(scratch[item], scratch[item + half_size]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

/* Count, mean and sum of squared deviations of a set of values; sets are joined by Chan's formula, which
 * does not cancel as a plain sum of squares would. */
typedef struct {
  float count, mean, square;
} moments;

INLINE moments moments_join(moments a, moments b) {
  float count = a.count + b.count;
  if (count == 0.0f) return a;
  float share = b.count / count, gap = b.mean - a.mean;
  moments joined = {count, a.mean + gap * share, a.square + b.square + gap * gap * a.count * share};
  return joined;
}

/* Joins over the work-group in a fixed order; work-item 0 gets the whole. */
INLINE moments group_moments(moments mine, __local moments *scratch) {
  uint item = (uint)get_local_id(0);
  scratch[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = (uint)get_local_size(0) / 2u; half_size > 0u; half_size /= 2u) {
    if (item < half_size) scratch[item] = moments_join(scratch[item], scratch[item + half_size]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

/* The target of all metrics: the reference image normalised, clamped and un-normalised again (PROTOCOL 1.2). */
INLINE float target_pixel(float pixel, float mean, float deviation) {
  return clamp((pixel - mean) / (deviation + 1e-11f), -6.0f, 6.0f) * deviation + mean;
}
