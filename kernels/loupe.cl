/* Masks that LOUPE draws (systems/loupe.h). */

__kernel void loupe_number(__global uint *restrict scan, uint first, uint stride, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows) scan[row] = first + stride * row;
}

/* From row `first` on. */
__kernel void loupe_keep(__global const float *restrict drawn, __global uchar *restrict mask, uint first,
                         uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  for (uint line = 0u; line < WIDTH; line++)
    mask[(size_t)(first + row) * WIDTH + line] = drawn[row * WIDTH + line] > 0.5f;
}
