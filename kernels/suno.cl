/* Masks of training slices that similar slices take (systems/methods/suno.c): a line of every mask after the other is taken
 * away and comes back, or another in its place; the slice whose low frequencies are nearest. */

#define NO_LINE 0xffffffffu
#define GROUP 256
#define STRIP 8

/* Takes a line away that is not initial, the one at `place` of those of every mask, lowest first. Place 0 lists them. */
__kernel void suno_take_away(__global uchar *restrict mask, __global uint *restrict listed,
                             __global const uchar *restrict initial, uint place, uint rows) {
  uint row = (uint)get_global_id(0), found = 0u;
  if (row >= rows) return;
  __global uchar *own = mask + (size_t)row * ACTIONS;
  __global uint *list = listed + (size_t)row * ACTIONS;
  if (place == 0u) {
    for (uint line = 0u; line < ACTIONS; line++)
      if (own[line] && !initial[line]) list[found++] = line;
    for (; found < ACTIONS; found++) list[found] = NO_LINE;
  }
  if (list[place] < ACTIONS) own[list[place]] = 0;
}

/* The chosen line joins the mask if it is better than the one that was taken away by more than rounding (oracle.cl), else
 * that comes back; what the mask is worth then. */
__kernel void suno_swap(__global const float *restrict quality, __global const uint *restrict action,
                        __global const uint *restrict listed, __global uchar *restrict mask,
                        __global float *restrict worth, uint place, float tie, float least, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  __global const float *own = quality + (size_t)row * ACTIONS;
  uint line = listed[(size_t)row * ACTIONS + place], other = action[row];
  if (line >= ACTIONS) return;
  bool better = other < ACTIONS && own[other] > own[line] + tie * fmax(fabs(own[line]), least);
  uint taken = better ? other : line;
  mask[(size_t)row * ACTIONS + taken] = 1;
  worth[row] = own[taken];
}

/* Images from `first` on over their largest pixel. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
nearest_scale(__global const real *restrict magnitude, __global float *restrict scaled, uint first, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  size_t from = (size_t)(first + row) * PIXELS, to = (size_t)row * PIXELS;
  float largest = 0.0f;
  for (uint i = item; i < PIXELS; i += GROUP) largest = fmax(largest, REAL_LOAD(magnitude, from + i));
  largest = group_max(largest, scratch);
  float factor = largest > 0.0f ? 1.0f / largest : 0.0f;
  for (uint i = item; i < PIXELS; i += GROUP) scaled[to + i] = factor * REAL_LOAD(magnitude, from + i);
}

/* The mask of the entry with the least squared distance, of equal ones the first. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
nearest_find(__global const float *restrict query, __global const float *restrict image,
             __global const uchar *restrict mask, __global float *restrict found, uint entries, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), nearest = 0u;
  if (row >= rows) return;
  __global const float *own = query + (size_t)row * PIXELS;
  float least = INFINITY;
  for (uint entry = 0u; entry < entries; entry++) {
    __global const float *other = image + (size_t)entry * PIXELS;
    float8 sum = (float8)0.0f;
    for (uint i = item * STRIP; i < PIXELS; i += GROUP * STRIP) {
      float8 gap = load_eight(own, i, PIXELS) - load_eight(other, i, PIXELS);
      sum += gap * gap;
    }
    float distance = group_sum(strip_sum(sum), scratch);
    if (distance < least) nearest = entry;
    least = fmin(least, distance);
  }
  for (uint line = item; line < ACTIONS; line += GROUP)
    found[(size_t)row * ACTIONS + line] = mask[(size_t)nearest * ACTIONS + line] ? 1.0f : 0.0f;
}
