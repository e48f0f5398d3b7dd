/* Least squares of several sets of coil maps (coils.sets; Uecker et al. 2014): a scan has an image of each set, and coils see
 * the sum of them through their maps, [slice][set][coil][row][column]. What is not here is in kernels/solve.cl, whose planes
 * these are. Image `set` of a scan is at scan * scan_step + set * set_step. */

#define GROUP 256
#define GROUP_OF_SCAN __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void

/* Images of planes: the sum of conj(map) times plane. roll_rows, roll_columns: the plane's centre is at its start. A row is a
 * set of a scan. */
GROUP_OF_SCAN sets_combine(__global const uint *restrict slice, __global const uint *restrict coils,
                           __global const float2 *restrict maps, __global const float2 *restrict planes,
                           __global float2 *restrict image, uint first, uint most, uint sets, uint scan_step, uint set_step,
                           uint height, uint width, uint roll_rows, uint roll_columns, uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width, scan = row / sets, set = row % sets;
  if (row >= rows) return;
  uint at = slice[first + scan], count = min(coils[at], most);
  uint down = roll_rows ? height - height / 2u : 0u, right = roll_columns ? width - width / 2u : 0u;
  __global const float2 *map = maps + ((size_t)at * sets + set) * most * pixels;
  __global const float2 *plane = planes + (size_t)scan * most * pixels;
  __global float2 *own = image + ((size_t)scan * scan_step + set * set_step) * pixels;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint y = i / width, from = (y + down) % height * width + (i - y * width + right) % width;
    float2 sum = (float2)(0.0f, 0.0f);
    for (uint coil = 0u; coil < count; coil++)
      sum += conj_times(map[(size_t)coil * pixels + i], plane[(size_t)coil * pixels + from]);
    own[i] = sum;
  }
}

/* Coil images of images; a row is a plane. */
GROUP_OF_SCAN sets_spread(__global const uint *restrict slice, __global const uint *restrict coils,
                          __global const float2 *restrict maps, __global const float2 *restrict image,
                          __global float2 *restrict planes, uint first, uint most, uint sets, uint scan_step, uint set_step,
                          uint pixels, uint rows) {
  uint row = (uint)get_group_id(0), scan = row / most, coil = row % most;
  if (row >= rows) return;
  uint at = slice[first + scan], there = coil < coils[at];
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    float2 sum = (float2)(0.0f, 0.0f);
    for (uint set = 0u; there && set < sets; set++)
      sum += times(maps[(((size_t)at * sets + set) * most + coil) * pixels + i],
                   image[((size_t)scan * scan_step + set * set_step) * pixels + i]);
    planes[(size_t)row * pixels + i] = sum;
  }
}

/* The root of the sum of squares of a scan's images, in units of the image; `refused` becomes the lowest scan with a pixel that
 * is no number. */
GROUP_OF_SCAN sets_store(__global const uint *restrict slice, __global const float2 *restrict solution,
                         __global const float *restrict unit, __global float *restrict reconstruction,
                         __global uint *restrict refused, uint first, uint sets, uint scan_step, uint set_step, uint pixels,
                         uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  float scale = unit[slice[first + row]];
  bool bad = false;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    float square = 0.0f;
    for (uint set = 0u; set < sets; set++) {
      float2 own = solution[((size_t)row * scan_step + set * set_step) * pixels + i];
      square += own.x * own.x + own.y * own.y;
    }
    float value = scale * sqrt(square);
    bad = bad || (as_uint(value) & 0x7f800000u) == 0x7f800000u;
    reconstruction[(size_t)(first + row) * pixels + i] = value;
  }
  if (bad) atomic_min(refused, first + row);
}
