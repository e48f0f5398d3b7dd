/* Between the layers of a fused U-Net of complex images (kernels/unet.cl): sums of instance norms on the way back, and
 * average pooling.
 *
 *   ROWS COLUMNS SLICES       of the map
 *   JOINS                     unet_sums: the gradient is made of a part of a joined one and of the pooled map's
 *   STRIDE OFFSET             slices of a pixel of that gradient, and the first that is meant
 *   SHARES                    groups that an image is parted among */
#ifdef L2SR_MATRIX

#ifndef SLICES /* a map, so that the file can be read and linted alone */
#define ROWS 320
#define COLUMNS 320
#define SLICES 3
#define JOINS 1
#define STRIDE 3
#define OFFSET 0
#define SHARES 64
#endif

#define GROUP 256
#define MAP_SIZE (ROWS * COLUMNS)
#define ACROSS (GROUP / SLICES) /* pixels that a group's work-items take side by side */
#define CHANNELS (8 * SLICES)

/* Where a share of `count` things starts. */
INLINE uint share_start(uint count, uint share) { return (count + SHARES - 1u) / SHARES * share; }
INLINE uint share_end(uint count, uint share) { return min(share_start(count, share + 1u), count); }

INLINE void take_norms(__global const long *sums, __local float *scale, __local float *shift) {
  for (uint c = (uint)get_local_id(0); c < CHANNELS; c += GROUP) {
    float2 norm = norm_of(sums + 2u * c, MAP_SIZE);
    scale[c] = norm.x;
    shift[c] = norm.y;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* The mean of every four pixels of an activation. ROWS and COLUMNS are those of the map that is pooled. A row is a share of
 * an image. */
__kernel void unet_pool(__global const uint4 *restrict source, __global const long *restrict sums,
                        __global uint4 *restrict output, uint first, uint first_sums, uint output_at, uint rows) {
  __local float scale[CHANNELS] __attribute__((aligned(32))), shift[CHANNELS] __attribute__((aligned(32)));
  const uint n = (uint)get_group_id(0) / SHARES, share = (uint)get_group_id(0) % SHARES;
  const uint units = MAP_SIZE / 4 * SLICES;
  take_norms(sums + first_sums + 2u * n * CHANNELS, scale, shift);
  for (uint i = share_start(units, share) + (uint)get_local_id(0); i < share_end(units, share); i += GROUP) {
    uint pixel = i / SLICES, slice = i % SLICES, y = pixel / (COLUMNS / 2) * 2u, x = pixel % (COLUMNS / 2) * 2u;
    __global const uint4 *from = source + first + ((n * ROWS + y) * COLUMNS + x) * SLICES + slice;
    float8 a = vload8(slice, scale), b = vload8(slice, shift);
    float8 sum = leak(fma(unpack_eight(from[0]), a, b)) + leak(fma(unpack_eight(from[SLICES]), a, b)) +
                 leak(fma(unpack_eight(from[COLUMNS * SLICES]), a, b)) +
                 leak(fma(unpack_eight(from[(COLUMNS + 1) * SLICES]), a, b));
    output[output_at + n * units + i] = pack_eight(0.25f * sum);
  }
}

/* Adds up what the group's work-items have of their slices, and adds it to the sums of image n. */
INLINE void add_sums(float8 sum, float8 product, __local float *scratch, __global long *to) {
  const uint item = (uint)get_local_id(0), lane = item / SLICES, slice = item % SLICES;
  if (lane < ACROSS) {
    vstore8(sum, lane * SLICES + slice, scratch);
    vstore8(product, (ACROSS + lane) * SLICES + slice, scratch);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint c = item; c < 2u * CHANNELS; c += GROUP) {
    float total = 0.0f;
    __local const float *from = scratch + (c < CHANNELS ? c : ACROSS * CHANNELS + c - CHANNELS);
    for (uint k = 0u; k < ACROSS; k++) total += from[k * CHANNELS];
    add_sum(to, 2u * (c % CHANNELS) + c / CHANNELS, total);
  }
}

/* Sums of the gradient of a map's activation, through the leaky ReLU, and of its product with the normalised value. A row
 * is a share of an image. */
__kernel void unet_sums(__global const uint4 *restrict maps, __global const long *restrict map_sums,
                        __global const uint4 *restrict gradients, __global uint4 *restrict joined,
                        __global long *restrict sums, uint raw, uint raw_sums, uint gradient, uint pooled,
                        uint joined_at, uint sums_at, uint rows) {
  __local float scratch[2 * ACROSS * CHANNELS] __attribute__((aligned(32)));
  __local float scale[CHANNELS] __attribute__((aligned(32))), shift[CHANNELS] __attribute__((aligned(32)));
  const uint n = (uint)get_group_id(0) / SHARES, share = (uint)get_group_id(0) % SHARES;
  const uint lane = (uint)get_local_id(0) / SLICES, slice = (uint)get_local_id(0) % SLICES;
  float8 sum = (float8)0.0f, product = (float8)0.0f;
  take_norms(map_sums + raw_sums + 2u * n * CHANNELS, scale, shift);
  if (lane < ACROSS)
    FOUR_TURNS for (uint i = share_start(MAP_SIZE, share) + lane; i < share_end(MAP_SIZE, share); i += ACROSS) {
      uint pixel = n * MAP_SIZE + i;
      uint4 words = gradients[gradient + pixel * STRIDE + OFFSET + slice];
      float8 normal = fma(unpack_eight(maps[raw + pixel * SLICES + slice]), vload8(slice, scale), vload8(slice, shift));
#if JOINS
      uint coarse = (n * (ROWS / 2) + i / COLUMNS / 2u) * (COLUMNS / 2) + i % COLUMNS / 2u;
      words = pack_eight(unpack_eight(words) + 0.25f * unpack_eight(gradients[pooled + coarse * SLICES + slice]));
      joined[joined_at + pixel * SLICES + slice] = words;
#endif
      float8 passed = leak_back(unpack_eight(words), normal);
      sum += passed;
      product += passed * normal;
    }
  add_sums(sum, product, scratch, sums + sums_at + 2u * n * CHANNELS);
}
#endif
