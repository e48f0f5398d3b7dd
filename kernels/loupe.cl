/* Masks that are learned (systems/networks/loupe.h, systems/networks/tau.h): what they are drawn for, and where they go. */

#define GROUP 256

/* Images of the slices in units of their power of two, imaginary part 0; the number that keys the draw of a
 * sample's mask. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
loupe_images(__global const uint *restrict slice, __global const float *restrict image,
              __global const float *restrict unit, __global float *restrict planes,
              __global uint *restrict scan, uint pixels, uint first, uint rows) {
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  float factor = 1.0f / unit[slice[row]];
  size_t from = (size_t)slice[row] * pixels, to = (size_t)row * 2u * pixels;
  for (uint i = item; i < pixels; i += GROUP) {
    planes[to + i] = image[from + i] * factor;
    planes[to + pixels + i] = 0.0f;
  }
  if (item == 0u) scan[row] = first + row;
}

__kernel void loupe_number(__global uint *restrict scan, uint first, uint stride, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows) scan[row] = first + stride * row;
}

/* Writes masks from mask `first` on. A row is an entry of a mask. */
__kernel void loupe_keep(__global const float *restrict drawn, __global uchar *restrict mask, uint first,
                         uint rows) {
  uint row = (uint)get_global_id(0);
  if (row < rows) mask[(size_t)first * ACTIONS + row] = drawn[row] > 0.5f;
}
