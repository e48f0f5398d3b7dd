/* Heuristic samplers: each chooses one free phase-encode line for every environment. All arithmetic that
 * decides is on integers: every device chooses the same lines. */

#define NO_LINE 0xffffffffu

/* A number below `limit` from one 32-bit word; the bias is below limit / 2^32. */
INLINE uint below(uint word, uint limit) { return mul_hi(word, limit); }

/* Draws a free line with probability proportional to its weight. */
__kernel void line_draw(__global const uchar *restrict mask, __global const uint *restrict scan,
                        __global const uint *restrict step, __global const uint *restrict weight,
                        __global uint *restrict action, __global float *restrict log_prob, uint seed,
                        uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  __global const uchar *taken = mask + (size_t)row * ACTIONS;
  uint total = 0u;
  for (uint line = 0u; line < ACTIONS; line++) total += taken[line] ? 0u : weight[line];
  uint left = below(random_words(seed, STREAM_ACTION, scan[row], step[row]).x, total);
  uint chosen = NO_LINE;
  for (uint line = 0u; line < ACTIONS && chosen == NO_LINE; line++) {
    uint share = taken[line] ? 0u : weight[line];
    if (left < share) chosen = line;
    left -= share;
  }
  action[row] = chosen;
  log_prob[row] = chosen == NO_LINE ? 0.0f : log((float)weight[chosen] / (float)total);
}

/* Takes the free line of the lowest rank; lines of rank NO_LINE are never taken. */
__kernel void line_next(__global const uchar *restrict mask, __global const uint *restrict rank,
                        __global uint *restrict action, __global float *restrict log_prob, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint chosen = NO_LINE, best = NO_LINE;
  for (uint line = 0u; line < ACTIONS; line++)
    if (!mask[(size_t)row * ACTIONS + line] && rank[line] < best) {
      best = rank[line];
      chosen = line;
    }
  action[row] = chosen;
  log_prob[row] = 0.0f;
}

/* The next line of a draw of exactly `budget` lines, which goes by their order: those up to the last acquired one are
 * decided. `chance`, [line][lines left], is systems/sampling/exact_chances.h's. */
__kernel void line_exact(__global const uchar *restrict mask, __global const uint *restrict scan,
                         __global const uint *restrict step, __global const uint *restrict chance,
                         __global uint *restrict action, __global float *restrict log_prob, uint seed, uint budget,
                         uint initial_start, uint initial_lines, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint chosen = NO_LINE, next = 0u, left = budget - min(step[row], budget);
  for (uint line = 0u; line < WIDTH; line++)
    if (mask[(size_t)row * WIDTH + line] && line - initial_start >= initial_lines) next = line + 1u;
  for (uint line = next; line < WIDTH && chosen == NO_LINE; line++) {
    uint4 words = random_words(seed, STREAM_EXACT, scan[row], line / 4u);
    uint word = line & 2u ? (line & 1u ? words.w : words.z) : (line & 1u ? words.y : words.x);
    uint limit = chance[line * (budget + 1u) + left];
    if (limit == 0xffffffffu || word < limit) chosen = line;
  }
  action[row] = chosen;
  log_prob[row] = 0.0f;
}

/* The lines of the gap that ends before acquired line `end` (WIDTH: the edge) and starts after acquired line
 * `start` (-1: the edge) which are at least `distance` away from both; returns how many, *first the lowest. */
INLINE uint eligible(int start, int end, int distance, int *first) {
  int low = start < 0 ? 0 : start + distance;
  int high = end >= WIDTH ? WIDTH - 1 : end - distance;
  *first = low;
  return high >= low ? (uint)(high - low + 1) : 0u;
}

/* The largest distance that some line of the gap keeps from both ends. */
INLINE int widest(int start, int end) {
  if (start < 0) return end >= WIDTH ? WIDTH : end;
  return end >= WIDTH ? WIDTH - 1 - start : (end - start) / 2;
}

/* One-dimensional Poisson disc by dart throwing: a uniform draw among the lines at least `distance` away from
 * every acquired one; where there is none the distance shrinks to the largest that is left. */
__kernel void line_disc(__global const uchar *restrict mask, __global const uint *restrict scan,
                        __global const uint *restrict step, __global uint *restrict action,
                        __global float *restrict log_prob, uint seed, uint distance, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  __global const uchar *taken = mask + (size_t)row * WIDTH;
  int best = 0, start = -1, first;
  for (int line = 0; line <= WIDTH; line++)
    if (line == WIDTH || taken[line]) {
      best = max(best, widest(start, line));
      start = line;
    }
  int keep = min((int)distance, best);
  uint count = 0u;
  start = -1;
  for (int line = 0; line <= WIDTH; line++)
    if (line == WIDTH || taken[line]) {
      count += eligible(start, line, keep, &first);
      start = line;
    }
  uint left = below(random_words(seed, STREAM_ACTION, scan[row], step[row]).x, count);
  uint chosen = NO_LINE;
  start = -1;
  for (int line = 0; line <= WIDTH && keep > 0; line++)
    if (line == WIDTH || taken[line]) {
      uint here = eligible(start, line, keep, &first);
      if (chosen == NO_LINE && left < here) chosen = (uint)first + left;
      left -= here;
      start = line;
    }
  action[row] = keep > 0 ? chosen : NO_LINE;
  log_prob[row] = keep > 0 ? -log((float)count) : 0.0f;
}
