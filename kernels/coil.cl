/* Images from fully sampled k-space: centred inverse transform, root-sum-of-squares over coils, crop. */

/* Moves the centre of every coil's k-space to the start, ready for an uncentred transform. A row is a sample;
 * `kspace` and `work` hold [coil][height][width]. */
__kernel void coil_centre(__global const float2 *restrict kspace, __global float2 *restrict work, uint height,
                          uint width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint x = row % width, y = row / width % height, coil = row / width / height;
  uint to_x = (x + width - width / 2u) % width, to_y = (y + height - height / 2u) % height;
  work[(coil * height + to_y) * width + to_x] = kspace[row];
}

/* Root-sum-of-squares of the coil images, whose centre is at the start, cropped to the middle. A row is a
 * pixel of `pixels` [out_height][out_width]. */
__kernel void coil_combine(__global const float2 *restrict work, __global float *restrict pixels, uint coils,
                           uint height, uint width, uint out_height, uint out_width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint x = row % out_width + (width - out_width) / 2u, y = row / out_width + (height - out_height) / 2u;
  uint from_x = (x + width - width / 2u) % width, from_y = (y + height - height / 2u) % height;
  float sum = 0.0f;
  for (uint coil = 0u; coil < coils; coil++) {
    float2 value = work[(coil * height + from_y) * width + from_x];
    sum += value.x * value.x + value.y * value.y;
  }
  pixels[row] = sqrt(sum);
}
