/* PG-MRI's scans (systems/methods/trajectories.h): what its policy sees, trajectories side by side, and what a draw
 * was worth. Scans are [trajectory][slice]. */

#define GROUP 256

/* Reconstructions of scans from `first` on in normalised units: the slice's mean and deviation. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
pgmri_input(__global const uint *restrict slice, __global const float *restrict reconstruction,
              __global const float *restrict mean, __global const float *restrict std,
              __global float *restrict input, uint first, uint rows) {
  uint row = (uint)get_group_id(0), from = row + first;
  if (row >= rows) return;
  float average = mean[slice[from]], scale = 1.0f / (std[slice[from]] + 1e-11f);
  for (uint i = (uint)get_local_id(0); i < PIXELS; i += GROUP)
    input[(size_t)row * PIXELS + i] = (reconstruction[(size_t)from * PIXELS + i] - average) * scale;
}

/* Further trajectories of the slices that scans 0 to slices - 1 have begun; every scan gets a number of its
 * own, which keys its draws: slice number times trajectories, plus the trajectory. */
__kernel void pgmri_spread(__global uint *restrict scan, __global uint *restrict slice,
                           __global uchar *restrict mask, __global uint *restrict step,
                           __global float *restrict quality, uint first, uint slices, uint rows) {
  uint row = (uint)get_global_id(0), from = row % slices;
  if (row >= rows) return;
  scan[row] = (first + from) * (rows / slices) + row / slices;
  if (row == from) return;
  slice[row] = slice[from];
  step[row] = step[from];
  quality[row] = quality[from];
  for (uint line = 0u; line < ACTIONS; line++)
    mask[(size_t)row * ACTIONS + line] = mask[(size_t)from * ACTIONS + line];
}

/* Goes on from one trajectory of each slice, drawn once for a minibatch of `batch` slices by the number of
 * its first one; only the first trajectory's reconstruction is looked at again. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
pgmri_follow(__global const uint *restrict scan, __global const uint *restrict step,
             __global uchar *restrict mask, __global float *restrict quality,
             __global float *restrict reconstruction, uint slices, uint batch, uint seed, uint rows) {
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), own = row % slices;
  if (row >= rows) return;
  uint chosen =
      mul_hi(random_words(seed, STREAM_ACTION, scan[own / batch * batch], step[own]).y, rows / slices);
  size_t from = chosen * slices + own;
  if (from == row) return;
  for (uint line = item; line < ACTIONS; line += GROUP)
    mask[(size_t)row * ACTIONS + line] = mask[from * ACTIONS + line];
  if (item == 0u) quality[row] = quality[from];
  for (uint i = item; i < PIXELS && row < slices; i += GROUP)
    reconstruction[(size_t)row * PIXELS + i] = reconstruction[from * PIXELS + i];
}

/* The worth of a trajectory's draws, from the last of `steps` steps back to the first: the discounted sum of
 * its rewards from there on. The divisor holds `draws` of a slice (one less than there are, where rewards are
 * less the mean of the slice's), the slices of the minibatch, of which the last may have fewer than `batch`,
 * and `minibatches`. */
__kernel void pgmri_advantage(__global const float *restrict reward, __global float *restrict advantage,
                              uint steps, uint slices, uint batch, uint minibatches, float gamma, uint draws,
                              uint rows) {
  uint row = (uint)get_global_id(0), slice = row % slices;
  if (row >= rows) return;
  uint size = min(batch, slices - slice / batch * batch);
  float share = 1.0f / (float)(draws * size * minibatches), sum = 0.0f;
  for (uint step = steps; step > 0u; step--) {
    sum = reward[(size_t)(step - 1u) * rows + row] + gamma * sum;
    advantage[(size_t)(step - 1u) * rows + row] = share * sum;
  }
}
