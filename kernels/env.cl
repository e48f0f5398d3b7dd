/* Environments that another program steps (systems/public). `refused` is one word: NO_LINE, or the lowest row whose
 * action is refused. While it is a row, nothing of the environments changes. */

#define NO_LINE 0xffffffffu
#define GROUP 256

/* Finds the lowest row whose action is out of range, or taken where `taken` asks for that too. Rows of `skip` take none.
 * `before`: what the steps before this one had refused; then there is no step. */
__kernel void env_check(__global const uint *restrict action, __global const uchar *restrict mask,
                        __global const uint *restrict skip, __global const uint *restrict before,
                        __global uint *restrict refused, uint taken, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows || skip[row] || before[0] != NO_LINE) return;
  uint line = action[row];
  if (line >= ACTIONS || (taken && mask[(size_t)row * ACTIONS + line])) atomic_min(refused, row);
}

/* The free action that is nearest to this one, the lower one of two; NO_LINE: none is free. */
INLINE uint nearest_free(__global const uchar *taken, uint line) {
  uint from = min(line, (uint)ACTIONS - 1u);
  for (uint distance = 0u; distance < ACTIONS; distance++) {
    if (from >= distance && !taken[from - distance]) return from - distance;
    if (from + distance < ACTIONS && !taken[from + distance]) return from + distance;
  }
  return NO_LINE;
}

/* One step: adds the action, counts it and ends the scan that has its budget. An action that cannot be taken changes
 * only the count; `repair` takes the nearest free one for it. Rows of `skip` have begun in place of a step. */
__kernel void env_take(__global const uint *restrict skip, __global const uint *restrict refused,
                       __global uint *restrict action, __global uchar *restrict mask, __global uint *restrict step,
                       __global uint *restrict done, __global float *restrict reward, uint budget, uint repair,
                       uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows || refused[0] != NO_LINE) return;
  __global uchar *taken = mask + (size_t)row * ACTIONS;
  reward[row] = 0.0f;
  if (skip[row]) return;
  uint line = action[row];
  if (repair && (line >= ACTIONS || taken[line])) action[row] = line = nearest_free(taken, line);
  if (line < ACTIONS) taken[line] = 1;
  uint count = step[row] + 1u;
  step[row] = count;
  done[row] = count >= budget;
}

/* Starts the next scan in the rows of `reset`, as mask_reset. `clear`: what the last step left is cleared too. */
__kernel void env_begin(__global const uint *restrict reset, __global const uint *restrict refused,
                        __global uint *restrict scan, __global const uint *restrict order,
                        __global uint *restrict slice, __global uchar *restrict mask, __global uint *restrict step,
                        __global uint *restrict done, __global float *restrict reward,
                        __global const uchar *restrict initial, uint first, uint stride, uint slices, uint clear,
                        uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows || refused[0] != NO_LINE || !reset[row]) return;
  uint number = scan[row] == NO_LINE ? first + row : scan[row] + stride;
  scan[row] = number;
  slice[row] = order[number % slices];
  step[row] = 0u;
  for (uint line = 0u; line < ACTIONS; line++) mask[(size_t)row * ACTIONS + line] = initial[line];
  if (!clear) return;
  done[row] = 0u;
  reward[row] = 0.0f;
}

/* 1 where an action is free. A row is one action. */
__kernel void env_free(__global const uchar *restrict mask, __global uchar *restrict free, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows) free[row] = !mask[row];
}

/* The reward of a step, as score_reward gives it over a scan; compat's initial quality counts in the first step. */
__kernel void env_reward(__global const float *restrict score, __global const uint *restrict step,
                         __global const uint *restrict done, __global const uint *restrict skip,
                         __global const uint *restrict refused, __global float *restrict quality,
                         __global float *restrict reward, float sign, float scale, uint form, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows || refused[0] != NO_LINE || skip[row]) return;
  float now = sign * score[row], gain = done[row] ? now : 0.0f;
  if (form == REWARD_DENSE) gain = now - quality[row];
  if (form == REWARD_COMPAT && step[row] == 1u) gain = gain - quality[row];
  if (form == REWARD_DENSE) quality[row] = now;
  reward[row] = scale * gain;
}

/* The quality that a scan starts from. */
__kernel void env_quality(__global const float *restrict score, __global const uint *restrict reset,
                          __global const uint *restrict refused, __global float *restrict quality, float sign,
                          uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows && refused[0] == NO_LINE && reset[row]) quality[row] = sign * score[row];
}

/* Keeps a score of scans that have ended, or of all. */
__kernel void env_keep(__global const float *restrict score, __global const uint *restrict done,
                       __global const uint *restrict refused, __global float *restrict kept, uint all, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows && refused[0] == NO_LINE && (all || done[row])) kept[row] = score[row];
}

/* What the step before has kept is of no scan any more. */
__kernel void env_clear(__global const uint *restrict refused, __global float *restrict kept, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows && refused[0] == NO_LINE) kept[row] = as_float(0x7fc00000u);
}

/* Keeps the free actions of scans that have ended, or those that they have acquired. */
__kernel void env_keep_free(__global const uchar *restrict mask, __global const uint *restrict done,
                            __global const uint *restrict refused, __global uchar *restrict kept, uint acquired,
                            uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows || refused[0] != NO_LINE || !done[row]) return;
  for (size_t i = (size_t)row * ACTIONS; i < (size_t)(row + 1u) * ACTIONS; i++) kept[i] = (mask[i] ? 1u : 0u) == acquired;
}

/* Keeps the standardised observations of scans that have ended. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
env_keep_standardised(__global const uint *restrict slice, __global const real *restrict magnitude,
                      __global const float *restrict magnitude_mean, __global const float *restrict magnitude_std,
                      __global const float *restrict unit, __global const uint *restrict done,
                      __global const uint *restrict refused, __global float *restrict kept, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows || refused[0] != NO_LINE || !done[row]) return;
  float mean = magnitude_mean[row], scale = observed_scale(magnitude_std[row], unit[slice[row]]);
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    kept[(size_t)row * PIXELS + i] = observed_normal(REAL_LOAD(magnitude, (size_t)row * PIXELS + i), mean, scale);
}

/* Keeps the observations of scans that have ended. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
env_keep_image(__global const real *restrict magnitude, __global const uint *restrict done,
               __global const uint *restrict refused, __global real *restrict kept, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows || refused[0] != NO_LINE || !done[row]) return;
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    REAL_STORE(kept, (size_t)row * PIXELS + i, REAL_LOAD(magnitude, (size_t)row * PIXELS + i));
}

/* Keeps images, in units of the image, of scans that have ended. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
env_keep_pixels(__global const float *restrict image, __global const uint *restrict done,
                __global const uint *restrict refused, __global float *restrict kept, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows || refused[0] != NO_LINE || !done[row]) return;
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    kept[(size_t)row * PIXELS + i] = image[(size_t)row * PIXELS + i];
}

/* The labels of the slices of scans [first, first + rows). */
__kernel void env_label(__global const uint *restrict slice, __global const float *restrict label,
                        __global float *restrict labels, uint first, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows) labels[row] = label[slice[first + row]];
}

/* The images that scans [first, first + rows) are scored against. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
env_target(__global const uint *restrict slice, __global const float *restrict image,
           __global const float *restrict mean, __global const float *restrict std, __global float *restrict target,
           uint first, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  uint at = slice[first + row];
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    target[(size_t)row * PIXELS + i] = target_pixel(image[(size_t)at * PIXELS + i], mean[at], std[at]);
}
