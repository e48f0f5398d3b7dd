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

/* What a pass of the policy sees of scans from `first` on, `words` numbers each, where the update takes it from
 * (systems/methods/trajectories.h): slices in parts of `each`, of every part all states, [step][draw][slice]. While draws
 * share a state, in every step or in the first one only, it is kept once. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
pgmri_keep(__global const float *restrict seen, __global float *restrict kept, uint words, uint first, uint slices, uint each,
           uint draws, uint steps, uint step, uint shared, uint rows) {
  uint row = (uint)get_group_id(0), scan = first + row, slice = scan % slices;
  if (row >= rows) return;
  uint before = slice / each * each, count = min(each, slices - before);
  size_t place = (size_t)before * (shared ? steps : 1u + (steps - 1u) * draws) + slice - before;
  if (shared) place += step * count;
  else if (step > 0u) place += (1u + (step - 1u) * draws + scan / slices) * count;
  for (uint i = (uint)get_local_id(0); i < words; i += GROUP) kept[place * words + i] = seen[(size_t)row * words + i];
}

/* Goes on from one trajectory of each slice, drawn once for a minibatch of `batch` slices by the number of its first
 * one, which another rank may have: slices of the update are counted from `before` on. Only the first trajectory's
 * reconstruction is looked at again. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
pgmri_follow(__global const uint *restrict scan, __global const uint *restrict step,
             __global uchar *restrict mask, __global float *restrict quality,
             __global float *restrict reconstruction, uint slices, uint before, uint batch, uint seed, uint rows) {
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), own = row % slices, draws = rows / slices;
  if (row >= rows) return;
  uint number = scan[own] - (before + own) % batch * draws;
  uint chosen = mul_hi(random_words(seed, STREAM_ACTION, number, step[own]).y, draws);
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
 * less the mean of the slice's), the slices of the minibatch, of which the last of all slices of the update may have fewer than
 * `batch`, and `minibatches`. These scans' slices are those from `before` on. */
__kernel void pgmri_advantage(__global const float *restrict reward, __global float *restrict advantage,
                              uint steps, uint slices, uint before, uint all, uint batch, uint minibatches, float gamma,
                              uint draws, uint rows) {
  uint row = (uint)get_global_id(0), slice = before + row % slices;
  if (row >= rows) return;
  uint size = min(batch, all - slice / batch * batch);
  float share = 1.0f / (float)(draws * size * minibatches), sum = 0.0f;
  for (uint step = steps; step > 0u; step--) {
    sum = reward[(size_t)(step - 1u) * rows + row] + gamma * sum;
    advantage[(size_t)(step - 1u) * rows + row] = share * sum;
  }
}
