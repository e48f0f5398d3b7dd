/* The oracles: the image of a scan with one line more, for every line that may be acquired next, and the line
 * whose image is best. A line more changes the complex zero-filled image by a matrix of rank one, the line's
 * hybrid data times its wave (kernels/observe.cl), so that a candidate costs one pass over the image. What is no
 * line, as a spoke, makes the candidate a scan of its own (oracle_extend), which is observed as any.
 *
 * Candidates of a scan stand together, `count` of them: candidate i is of scan i / count. */

#define NO_LINE 0xffffffffu
#define GROUP 256

/* Lists `count` of the free actions, all where there are no more, else drawn evenly. `together`: the same for
 * all scans, which then must have the same masks. */
__kernel void oracle_list(__global const uchar *restrict mask, __global const uint *restrict scan,
                          __global const uint *restrict step, __global uint *restrict line, uint count,
                          uint seed, uint together, uint rows) {
  uint row = (uint)get_global_id(0), left = 0u, found = 0u;
  if (row >= rows) return;
  __global const uchar *taken = mask + (size_t)row * ACTIONS;
  __global uint *own = line + (size_t)row * count;
  uint key = together ? 0u : scan[row];
  for (uint i = 0u; i < ACTIONS; i++) left += taken[i] == 0;
  for (uint i = 0u; i < ACTIONS && found < count; i++) {
    if (taken[i]) continue;
    uint word = random_words(seed, STREAM_ACTION, key, step[row] + ACTIONS * (1u + i)).x;
    if (mul_hi(word, left) < count - found) own[found++] = i;
    left--;
  }
  for (; found < count; found++) own[found] = NO_LINE;
}

INLINE float2 wave(__global const float2 *phase, uint frequency, uint x) {
  return phase[frequency * ((x + WIDTH - WIDTH / 2u) % WIDTH) % WIDTH];
}

/* The complex zero-filled image of a mask, in units of SLICE.unit, without the factor 1 / sqrt(WIDTH). */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
oracle_base(__global const uint *restrict slice, __global const uchar *restrict mask,
            __global const float2 *restrict hybrid, __global const float2 *restrict phase,
            __global float2 *restrict base, uint rows) {
  __local uint acquired[WIDTH];
  __local uint count;
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  __global const float2 *lines = hybrid + (size_t)slice[row] * PIXELS;
  if (get_local_id(0) == 0) {
    count = 0u;
    for (uint n = 0u; n < WIDTH; n++)
      if (mask[(size_t)row * WIDTH + (n + WIDTH / 2u) % WIDTH]) acquired[count++] = n;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP) {
    uint y = i / WIDTH, x = i % WIDTH;
    float2 sum = (float2)(0.0f, 0.0f);
    for (uint k = 0u; k < count; k++)
      sum += times(lines[acquired[k] * HEIGHT + y], wave(phase, acquired[k], x));
    base[(size_t)row * PIXELS + i] = sum;
  }
}

/* Gives what system observe would give after the candidate's line: magnitude, mean and deviation. Candidates
 * from `first` on become rows from 0 on; those without a line are the scan as it is. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
oracle_observe(__global const uint *restrict slice, __global const uint *restrict line,
               __global const float2 *restrict base, __global const float2 *restrict hybrid,
               __global const float2 *restrict phase, __global uint *restrict own_slice,
               __global real *restrict magnitude, __global float *restrict magnitude_mean,
               __global float *restrict magnitude_std, uint first, uint count, uint rows) {
  __local moments scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint scan = (first + row) / count, added = line[first + row], at = slice[scan];
  uint frequency = (added + WIDTH - WIDTH / 2u) % WIDTH;
  __global const float2 *column = hybrid + (size_t)at * PIXELS + (size_t)frequency * HEIGHT;
  float scale = 1.0f / sqrt((float)WIDTH);
  moments seen = {0.0f, 0.0f, 0.0f};
  for (uint i = item; i < PIXELS; i += GROUP) {
    float2 value = base[(size_t)scan * PIXELS + i];
    if (added < WIDTH) value += times(column[i / WIDTH], wave(phase, frequency, i % WIDTH));
    float size = scale * sqrt(value.x * value.x + value.y * value.y);
    moments more = {1.0f, size, 0.0f};
    REAL_STORE(magnitude, (size_t)row * PIXELS + i, size);
    seen = moments_join(seen, more);
  }
  moments all = group_moments(seen, scratch);
  if (item) return;
  own_slice[row] = at;
  magnitude_mean[row] = all.mean;
  magnitude_std[row] = sqrt(all.square / (float)(PIXELS - 1));
}

/* Candidates from `first` on as scans, from row 0 on: the slice, and the mask with the candidate's action. */
__kernel void oracle_extend(__global const uint *restrict slice, __global const uchar *restrict mask,
                            __global const uint *restrict line, __global uint *restrict own_slice,
                            __global uchar *restrict own_mask, uint first, uint count, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint scan = (first + row) / count, added = line[first + row];
  own_slice[row] = slice[scan];
  for (uint i = 0u; i < ACTIONS; i++)
    own_mask[(size_t)row * ACTIONS + i] = i == added ? 1 : mask[(size_t)scan * ACTIONS + i];
}

/* Scores of candidates from `first` on into the row of their scan, more is better. */
__kernel void oracle_keep(__global const uint *restrict line, __global const float *restrict score,
                          __global float *restrict quality, uint first, uint count, float sign, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint place = first + row, added = line[place];
  if (added < ACTIONS) quality[(size_t)(place / count) * ACTIONS + added] = sign * score[row];
}

/* A row is a line: the mean of its quality over all scans. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
oracle_mean(__global const float *restrict quality, __global float *restrict mean, uint scans, uint rows) {
  __local float scratch[64];
  uint line = (uint)get_group_id(0);
  float sum = 0.0f;
  if (line >= rows) return;
  for (uint scan = (uint)get_local_id(0); scan < scans; scan += 64u)
    sum += quality[(size_t)scan * ACTIONS + line];
  sum = group_sum(sum, scratch);
  if (get_local_id(0) == 0) mean[line] = sum / (float)scans;
}

/* The best of the free lines' qualities; NaN is none. */
INLINE float best_quality(__global const float *own, __global const uchar *taken) {
  float best = -INFINITY;
  for (uint line = 0u; line < ACTIONS; line++)
    if (!taken[line] && own[line] > best) best = own[line];
  return best;
}

/* The first free line whose quality is within rounding of the best: `tie`, a power of two so that every device
 * has the same bound, times the best one's size, or times `least` where that is more. Lines that were no
 * candidates have minus infinity. stride: ACTIONS for a row of each scan, 0 for one of all. */
__kernel void oracle_choose(__global const float *restrict quality, __global const uchar *restrict mask,
                            __global uint *restrict action, __global float *restrict log_prob, uint stride,
                            float tie, float least, uint rows) {
  uint row = (uint)get_global_id(0), chosen = NO_LINE, first = NO_LINE;
  if (row >= rows) return;
  __global const float *own = quality + (size_t)row * stride;
  __global const uchar *taken = mask + (size_t)row * ACTIONS;
  float best = best_quality(own, taken), bound = best - tie * fmax(fabs(best), least);
  for (uint line = ACTIONS; line-- > 0u;) {
    if (taken[line]) continue;
    first = line;
    if (own[line] == best || own[line] >= bound) chosen = line;
  }
  action[row] = chosen == NO_LINE ? first : chosen;
  log_prob[row] = 0.0f;
}
