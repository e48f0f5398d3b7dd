/* Sampling masks: one byte a phase-encode line, one row an environment. */

/* Starts the next scan of every environment whose scan has ended. A scan's number decides its slice and its
 * random numbers, so results do not depend on the number of environments. */
__kernel void mask_reset(__global const uint *restrict done, __global uint *restrict scan,
                         __global const uint *restrict order, __global uint *restrict slice,
                         __global uchar *restrict mask, __global uint *restrict step, uint first, uint stride,
                         uint slices, uint initial_start, uint initial_lines, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows || !done[row]) return;
  uint number = scan[row] == 0xffffffffu ? first + row : scan[row] + stride;
  scan[row] = number;
  slice[row] = order[number % slices];
  step[row] = 0u;
  for (uint line = 0u; line < WIDTH; line++)
    mask[row * WIDTH + line] = (uchar)(line - initial_start < initial_lines);
}

/* Adds the chosen line; a line that was acquired before changes nothing but the count of steps. */
__kernel void mask_acquire(__global const uint *restrict action, __global uchar *restrict mask,
                           __global uint *restrict step, __global uint *restrict done, uint budget, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint line = action[row], taken = step[row] + 1u;
  if (line < WIDTH) mask[row * WIDTH + line] = 1;
  step[row] = taken;
  done[row] = taken >= budget;
}
