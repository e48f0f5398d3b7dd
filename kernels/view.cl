/* The input of networks of complex images (systems/networks/net_view.h): frequencies of slices, with the
 * origin in the middle. */

#define GROUP 256

/* Frequencies of the slices that scans [first, first + rows) are of, in units of the image: planes of real and
 * imaginary parts, the origin at (height / 2, width / 2). masked: the entries of a
 * mask, one a line or one a frequency; those that are not acquired are 0. 0: all are looked at. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_frequencies(__global const uint *restrict slice, __global const uchar *restrict mask,
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

/* What is of every coil of a slice, as planes of real and imaginary parts of `most` coils, [scan][coil][2][height][width]:
 * form 0, k-space in units of the image, the origin in the middle, 0 where the mask (as above) says so; 1, maps; 2, 1.
 * `stride` coils lie between slices; those that a slice lacks are 0. A work-group takes a coil of a scan. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_coils(__global const uint *restrict slice, __global const uchar *restrict mask,
           __global const uint *restrict coils, __global const float2 *restrict values,
           __global const float *restrict unit, __global float *restrict planes, uint height, uint width, uint first,
           uint masked, uint stride, uint most, uint form, uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width;
  if (row >= rows) return;
  uint scan = row / most, coil = row % most, at = slice[scan + first];
  bool there = coil < (stride > 1u ? min(coils[at], stride) : 1u);
  __global const uchar *taken = mask + (size_t)(scan + first) * masked;
  size_t from = ((size_t)at * stride + (there ? coil : 0u)) * pixels, to = (size_t)row * 2u * pixels;
  float factor = form == 0u ? unit[at] : 1.0f;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint y = i / width, x = i % width;
    uint corner = (y + height - height / 2u) % height * width + (x + width - width / 2u) % width;
    float2 value = (float2)(0.0f, 0.0f);
    if (there && form == 2u) value.x = 1.0f;
    if (there && form != 2u && (!masked || taken[i % masked])) value = factor * values[from + (form ? i : corner)];
    planes[to + i] = value.x;
    planes[to + pixels + i] = value.y;
  }
}

/* What is of every coil of a slice, as complex planes [scan][coil][height][width], by `form` as above; `taken` has the cells
 * of k-space that each of the scans [first, first + rows / most) has acquired, from the centre on, [scan][height][width]. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_planes(__global const uint *restrict slice, __global const uchar *restrict taken,
            __global const uint *restrict coils, __global const float2 *restrict values,
            __global const float *restrict unit, __global float2 *restrict planes, uint height, uint width, uint first,
            uint stride, uint most, uint form, uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width;
  if (row >= rows) return;
  uint scan = row / most, coil = row % most, at = slice[scan + first];
  bool there = coil < (stride > 1u ? min(coils[at], stride) : 1u);
  size_t from = ((size_t)at * stride + (there ? coil : 0u)) * pixels;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint y = i / width, x = i % width;
    uint corner = (y + height - height / 2u) % height * width + (x + width - width / 2u) % width;
    float2 value = (float2)(there && form == 2u ? 1.0f : 0.0f, 0.0f);
    if (there && form == 1u) value = values[from + i];
    if (there && form == 0u && taken[(size_t)scan * pixels + corner]) value = unit[at] * values[from + corner];
    planes[(size_t)row * pixels + i] = value;
  }
}

/* `refused` becomes the lowest image with a pixel that is no finite number. A work-group takes an image. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_check(__global const float *restrict image, __global uint *restrict refused, uint pixels, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  bool bad = false;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP)
    bad = bad || (as_uint(image[(size_t)row * pixels + i]) & 0x7f800000u) == 0x7f800000u;
  if (bad) atomic_min(refused, row);
}

/* The masks of scans as numbers, 0 in the columns before `left` and from `right` on, which the scanner padded (as the published
 * network is given them), and mean and deviation of their slices. A work-group takes a scan. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_masks(__global const uint *restrict slice, __global const uchar *restrict mask, __global const float *restrict mean,
           __global const float *restrict std, __global float *restrict taken, __global float2 *restrict units,
           uint entries, uint first, uint left, uint right, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  for (uint i = (uint)get_local_id(0); i < entries; i += GROUP)
    taken[(size_t)row * entries + i] = i >= left && i < right && mask[(size_t)(row + first) * entries + i] ? 1.0f : 0.0f;
  if (get_local_id(0) == 0u) units[row] = (float2)(mean[slice[row + first]], std[slice[row + first]]);
}

/* The gradient of the masks of scans, by which view_coils and view_masks make the input of a network: that of the mask
 * itself, and of the planes of every coil times the k-space that they hold where it is acquired, whether it is or not. A
 * work-group takes a scan. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_coils_back(__global const uint *restrict slice, __global const uint *restrict coils,
                __global const float2 *restrict values, __global const float *restrict unit,
                __global const float *restrict planes, __global const float *restrict taken,
                __global float *restrict gradient, uint height, uint width, uint entries, uint stride, uint most, uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width;
  if (row >= rows) return;
  uint at = slice[row], count = min(most, stride > 1u ? min(coils[at], stride) : 1u);
  for (uint entry = (uint)get_local_id(0); entry < entries; entry += GROUP) {
    float sum = 0.0f;
    for (uint coil = 0u; coil < count; coil++) {
      __global const float *plane = planes + ((size_t)row * most + coil) * 2u * pixels;
      __global const float2 *own = values + ((size_t)at * stride + coil) * pixels;
      for (uint i = entry; i < pixels; i += entries) {
        uint y = i / width, x = i % width;
        float2 value = own[(y + height - height / 2u) % height * width + (x + width - width / 2u) % width];
        sum += plane[i] * value.x + plane[pixels + i] * value.y;
      }
    }
    gradient[(size_t)row * entries + entry] = taken[(size_t)row * entries + entry] + sum * unit[at];
  }
}
