/* The input of networks of complex images (systems/networks/net_view.h): frequencies of slices, with the
 * origin in the middle. */

#define GROUP 256

/* Frequencies of the slices that scans [first, first + rows) are of, in units of the image: planes of real and
 * imaginary parts, the origin at (height / 2, width / 2). masked: the entries of a
 * mask, one a line or one a frequency; those that are not acquired are 0. 0: all are looked at. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_present(__global const uint *restrict slice, __global const uchar *restrict mask,
             __global const float2 *restrict kspace, __global const float *restrict unit,
             __global float *restrict planes, uint height, uint width, uint first, uint masked, uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width;
  if (row >= rows) return;
  uint at = slice[row + first];
  __global const uchar *taken = mask + (size_t)(row + first) * masked;
  size_t from = (size_t)at * pixels, to = (size_t)row * 2u * pixels;
  float factor = unit[at];
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint y = i / width, x = i % width;
    uint place = (y + height - height / 2u) % height * width + (x + width - width / 2u) % width;
    float2 value = masked && !taken[i % masked] ? (float2)(0.0f, 0.0f) : kspace[from + place] * factor;
    planes[to + i] = value.x;
    planes[to + pixels + i] = value.y;
  }
}
