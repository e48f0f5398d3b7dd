/* Sampling masks: one byte an action, a phase-encode line, a spoke or a point; one row an environment. */

/* Starts the next scan of every environment whose scan has ended. A scan's number decides its slice and its
 * random numbers, so results do not depend on the number of environments; `group` scans in a row share a slice. */
__kernel void mask_reset(__global const uint *restrict done, __global uint *restrict scan,
                         __global const uint *restrict order, __global uint *restrict slice,
                         __global uchar *restrict mask, __global uint *restrict step,
                         __global const uchar *restrict initial, uint first, uint stride, uint slices,
                         uint group, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows || !done[row]) return;
  uint number = scan[row] == 0xffffffffu ? first + row : scan[row] + stride;
  scan[row] = number;
  slice[row] = order[number / group % slices];
  step[row] = 0u;
  for (uint line = 0u; line < ACTIONS; line++) mask[(size_t)row * ACTIONS + line] = initial[line];
}

/* Adds the chosen line; a line that was acquired before changes nothing but the count of steps. */
__kernel void mask_acquire(__global const uint *restrict action, __global uchar *restrict mask,
                           __global uint *restrict step, __global uint *restrict done, uint budget, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint line = action[row], taken = step[row] + 1u;
  if (line < ACTIONS) mask[(size_t)row * ACTIONS + line] = 1;
  step[row] = taken;
  done[row] = taken >= budget;
}

/* Which of the pairs (acceleration, initial acceleration) the scan with this number takes. */
INLINE uint pair_of(uint seed, uint number, uint pairs) {
  return mul_hi(random_words(seed, STREAM_MASK, number, 0u).x, pairs);
}

/* A sample of an epoch with a mask of PROTOCOL 1.10: the initial lines, [pair][line], and every other by chance,
 * which is in units of 2^-31. */
__kernel void mask_chance(__global const uint *restrict order, __global const uchar *restrict initial,
                          __global const uint *restrict chance, __global uint *restrict slice,
                          __global uchar *restrict mask, uint first, uint slices, uint pairs, uint seed,
                          uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint number = first + row, pair = pair_of(seed, number, pairs);
  uint limit = chance[pair];
  slice[row] = order[number % slices];
  for (uint line = 0u; line < ACTIONS; line += 4u) {
    uint4 words = random_words(seed, STREAM_MASK, number, 1u + line / 4u);
    uint word[4] = {words.x, words.y, words.z, words.w};
    for (uint i = 0u; i < min(4u, ACTIONS - line); i++)
      mask[(size_t)row * ACTIONS + line + i] = initial[pair * ACTIONS + line + i] || word[i] / 2u < limit;
  }
}

/* Keeps the masks of those scans that take this pair, in their rows of the epoch. */
__kernel void mask_keep(__global const uint *restrict scan, __global const uint *restrict slice,
                        __global const uchar *restrict mask, __global uint *restrict kept_slice,
                        __global uchar *restrict kept_mask, uint first, uint pair, uint pairs, uint seed,
                        uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows || pair_of(seed, scan[row], pairs) != pair) return;
  kept_slice[first + row] = slice[row];
  for (uint line = 0u; line < ACTIONS; line++)
    kept_mask[(size_t)(first + row) * ACTIONS + line] = mask[(size_t)row * ACTIONS + line];
}
