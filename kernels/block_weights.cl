/* Gradients of the fused blocks' weights for the matrix instructions of NVIDIA and AMD (kernels/block.cl).
 *
 *   dW[out][in][tap] = sum over images and pixels of activation[in][p] * back_norm(gradient)[out][p - tap]
 *
 * M is input channels, N output channels, K pixels: pixels of a row of the activation meet the three taps along x
 * by taking the gradient's one pixel apart, and the three along y by keeping three rows. A group sums its share of
 * a shard's tiles, the shares are added in a fixed order by block_reduce.
 *
 * PRECISION 1 takes TF32, eight pixels in a product (with f32 storage pairs were 13 % slower); 0 splits operands in two,
 * three products; of 2, halves, NVIDIA has a kernel of its own (kernels/block_weights_half.cl).
 *
 * AMD has no TF32. There K is sixteen pixels, two rows of eight, and tiles are rounded to halves as they are read:
 * activations are normalised and gradients scaled (engine/fused/block.h), so halves hold them. Plain multiply-adds would
 * need no rounding, but the same exchange of operands, and have an eighth of the rate.
 *
 *   IN OUT ROWS COLUMNS       channels and size of the layer in memory; OWN_ROWS OWN_COLUMNS its own (block.cl)
 *   UP                        how many of IN come from `activation`, up-sampled and normalised (block_up); the rest
 *                             from `second`. 0: all from `activation`, raw
 *   TILE_X TILE_Y             a group's tile; IN_BLOCK OUT_BLOCK channels of a group
 *   SUM_PIXELS                pixels over which the activation's sums were taken
 *   IN_PLANE OUT_PLANE PITCH  words from plane to plane of the two tiles and from row to row of the gradient's
 *   NORMED                    the gradient is that of the raw output already (block_unpool)
 *   PRECISION                 as in block.cl */
#ifdef L2SR_MATRIX

#ifndef IN /* a layer, so that the file can be read and linted alone */
#define IN 16
#define OUT 16
#define ROWS 128
#define COLUMNS 128
#define OWN_ROWS 128
#define OWN_COLUMNS 128
#define TILE_X 32
#define TILE_Y 8
#define IN_BLOCK 16
#define OUT_BLOCK 16
#define UP 0
#define SUM_PIXELS 16384
#define IN_PLANE 264
#define OUT_PLANE 360
#define PITCH 34
#define NORMED 0
#define PRECISION 1
#endif

#define MAP (ROWS * COLUMNS)
#define GROUP 256
#ifdef L2SR_CDNA
#define WARP 64 /* lanes */
#else
#define WARP 32
#endif
#define PRODUCT 8 /* pixels of a row in a product */
#ifdef L2SR_AMD
#define WARP_OUT 16 /* output channels of a warp */
#define LANE_CHANNEL (lane & 15u) /* channel in a fragment; LANE_PART: place among its lanes */
#define LANE_PART (lane >> 4)
#define AHEAD false /* the next tile is in registers while one is multiplied; they do not suffice for it here */
#else
#define WARP_OUT 8
#define LANE_CHANNEL (lane >> 2)
#define LANE_PART (lane & 3u)
#define AHEAD true
#endif
#define STRIPS_X (TILE_X / PRODUCT)
#define SHARES (GROUP / WARP / ((IN_BLOCK / 16) * (OUT_BLOCK / WARP_OUT))) /* warps for the same channels */
#define SHARES_X (SHARES < STRIPS_X ? SHARES : STRIPS_X) /* warps side by side along x; the others idle */
#ifdef L2SR_AMD /* where there are more, they are one above the other too, two rows at least each */
#define SHARES_Y (SHARES / SHARES_X < TILE_Y / 2 ? SHARES / SHARES_X : TILE_Y / 2)
#else
#define SHARES_Y 1
#endif
#define SHARE_ROWS (TILE_Y / SHARES_Y)
#define STEPS_X (STRIPS_X / SHARES_X)
#define TILES_X (COLUMNS / TILE_X)
#define TILES_IMAGE (TILES_X * (ROWS / TILE_Y))
#define WORD_CHANNELS (PRECISION == 2 ? 2 : 1)
#define QUADS (TILE_X / 4)
#define HALO (COLUMNS == TILE_X ? 0 : 1) /* vectors left and right that hold the halo columns */
#define OUT_QUADS (QUADS + 2 * HALO)
#define IN_VECTORS (IN_BLOCK / WORD_CHANNELS * TILE_Y * QUADS)
#define OUT_VECTORS (OUT_BLOCK / WORD_CHANNELS * (TILE_Y + 2) * OUT_QUADS)
#define IN_LOADS ((IN_VECTORS + GROUP - 1) / GROUP)
#define OUT_LOADS ((OUT_VECTORS + GROUP - 1) / GROUP)

#ifndef L2SR_AMD
INLINE uint high_part(uint word) { return word & 0xffffe000u; }
INLINE uint low_part(uint word) { return as_uint(as_float(word) - as_float(word & 0xffffe000u)); }

INLINE void multiply_tap(float acc[4], uint2 low, uint2 high, uint b0, uint b1 LANES) {
#if PRECISION == 1
  MULTIPLY_TF32(acc, low.x, high.x, low.y, high.y, b0, b1);
#else
  uint2 low_high = (uint2)(high_part(low.x), high_part(low.y)), high_high = (uint2)(high_part(high.x), high_part(high.y));
  uint2 low_low = (uint2)(low_part(low.x), low_part(low.y)), high_low = (uint2)(low_part(high.x), low_part(high.y));
  MULTIPLY_TF32(acc, low_low.x, high_low.x, low_low.y, high_low.y, high_part(b0), high_part(b1));
  MULTIPLY_TF32(acc, low_high.x, high_high.x, low_high.y, high_high.y, low_part(b0), low_part(b1));
  MULTIPLY_TF32(acc, low_high.x, high_high.x, low_high.y, high_high.y, high_part(b0), high_part(b1));
#endif
}
#endif

/* Where plane `c` (words of channels) of the layer's input starts, image n. */
INLINE __global const uint *in_plane(__global const uint *activation, __global const uint *second, uint n, uint c) {
#if UP
  if (c < UP / WORD_CHANNELS) return activation + (n * (UP / WORD_CHANNELS) + c) * MAP;
  return second + (n * ((IN - UP) / WORD_CHANNELS) + c - UP / WORD_CHANNELS) * MAP;
#else
  return activation + (n * (IN / WORD_CHANNELS) + c) * MAP;
#endif
}

/* The input's norm; up-sampled values are normalised already, and ReLU leaves them alone. */
INLINE float2 in_norm(__global const long *in_sums, uint n, uint c) {
#if UP
  if (c < UP) return (float2)(1.0f, 0.0f);
#endif
  return norm_of(in_sums + 2 * (n * (IN - UP) + c - UP), SUM_PIXELS);
}

/* The tile's vectors of the activation, and of the gradient and raw output with their halo, into registers. */
INLINE void fetch(__global const uint *activation, __global const uint *second, __global const uint *gradient, __global const uint *raw_output,
                  uint tile, uint in_block, uint out_block, uint4 a[IN_LOADS], uint4 d[OUT_LOADS],
                  uint4 y[OUT_LOADS]) {
  const uint item = (uint)get_local_id(0), n = tile / TILES_IMAGE, place = tile % TILES_IMAGE;
  const int left = (int)(place % TILES_X) * TILE_X, top = (int)(place / TILES_X) * TILE_Y;
  UNROLL for (uint u = 0u; u < IN_LOADS; u++) {
    uint i = item + u * GROUP, q = i % QUADS, row = i / QUADS % TILE_Y, c = i / QUADS / TILE_Y;
    if (i < IN_VECTORS)
      a[u] = *(__global const uint4 *)(in_plane(activation, second, n, in_block * (IN_BLOCK / WORD_CHANNELS) + c) +
                                       ((uint)top + row) * COLUMNS + (uint)left + 4 * q);
  }
  UNROLL for (uint u = 0u; u < OUT_LOADS; u++) {
    uint i = item + u * GROUP, q = i % OUT_QUADS, row = i / OUT_QUADS % (TILE_Y + 2), c = i / OUT_QUADS / (TILE_Y + 2);
    int gy = top + (int)row - 1, gx = left + 4 * ((int)q - HALO);
    if (i < OUT_VECTORS && gy >= 0 && gy < ROWS && gx >= 0 && gx < COLUMNS) {
      uint at = ((n * (OUT / WORD_CHANNELS) + out_block * (OUT_BLOCK / WORD_CHANNELS) + c) * ROWS + (uint)gy) * COLUMNS + (uint)gx;
      d[u] = *(__global const uint4 *)&gradient[at];
      if (!NORMED) y[u] = *(__global const uint4 *)&raw_output[at];
    }
  }
}

#if PRECISION == 1 && !defined(L2SR_AMD)
#define KEEP(value) round_tf32(value)
#else
#define KEEP(value) as_uint(value) /* split where it is used */
#endif

/* Four pixels of a row. */
INLINE void put4(__local uint *to, const float four[4]) {
  *(__local uint4 *)to = (uint4)(KEEP(four[0]), KEEP(four[1]), KEEP(four[2]), KEEP(four[3]));
}

INLINE void put_activation(__local uint *tile, const uint4 a[IN_LOADS], __local const float2 *norms) {
  UNROLL for (uint u = 0u; u < IN_LOADS; u++) {
    uint i = (uint)get_local_id(0) + u * GROUP, q = i % QUADS, row = i / QUADS % TILE_Y, c = i / QUADS / TILE_Y;
    if (i >= IN_VECTORS) continue;
    uint words[4] = {a[u].x, a[u].y, a[u].z, a[u].w};
    __local uint *to = tile + WORD_CHANNELS * c * IN_PLANE + row * TILE_X + 4 * q;
    float even[4], odd[4];
    UNROLL for (int j = 0; j < 4; j++) {
#if PRECISION == 2
      even[j] = norm_relu(even_of(words[j]), norms[2 * c]);
      odd[j] = norm_relu(odd_of(words[j]), norms[2 * c + 1]);
#else
      even[j] = odd[j] = norm_relu(as_float(words[j]), norms[c]);
#endif
    }
    put4(to, even);
    if (WORD_CHANNELS == 2) put4(to + IN_PLANE, odd);
  }
}

/* Four pixels of the gradient's row from column `x` of the tile on; left and right of the tile lies one pixel. */
INLINE void put_row(__local uint *row, int x, const float four[4]) {
  UNROLL for (int j = 0; j < 4; j++)
    if (x + j >= -1 && x + j <= TILE_X) row[x + j + 1] = KEEP(four[j]);
}

INLINE float through_norm(float gradient, float raw_value, __local const float4 *norm) {
  return NORMED ? gradient : back_norm(gradient, raw_value, *norm);
}

INLINE void put_gradient(__local uint *tile, const uint4 d[OUT_LOADS], const uint4 y[OUT_LOADS],
                         __local const float4 *norms, int left, int top) {
  UNROLL for (uint u = 0u; u < OUT_LOADS; u++) {
    uint i = (uint)get_local_id(0) + u * GROUP, q = i % OUT_QUADS, row = i / OUT_QUADS % (TILE_Y + 2);
    uint c = i / OUT_QUADS / (TILE_Y + 2);
    int gy = top + (int)row - 1, x = 4 * ((int)q - HALO), gx = left + x;
    if (i >= OUT_VECTORS) continue;
    bool inside = gy >= 0 && gy < ROWS && gx >= 0 && gx < COLUMNS;
    uint dw[4] = {d[u].x, d[u].y, d[u].z, d[u].w}, yw[4] = {y[u].x, y[u].y, y[u].z, y[u].w};
    __local uint *to = tile + WORD_CHANNELS * c * OUT_PLANE + row * PITCH;
    float even[4], odd[4];
    UNROLL for (int j = 0; j < 4; j++) {
#if PRECISION == 2
      even[j] = inside ? through_norm(even_of(dw[j]), even_of(yw[j]), &norms[2 * c]) : 0.0f;
      odd[j] = inside ? through_norm(odd_of(dw[j]), odd_of(yw[j]), &norms[2 * c + 1]) : 0.0f;
#else
      even[j] = odd[j] = inside ? through_norm(as_float(dw[j]), as_float(yw[j]), &norms[c]) : 0.0f;
#endif
    }
    put_row(to, x, even);
    if (WORD_CHANNELS == 2) put_row(to + OUT_PLANE, x, odd);
  }
}

/* Zeros left and right of the tile, once, where it spans the map. */
INLINE void clear_columns(__local uint *tile) {
  for (uint i = (uint)get_local_id(0); i < OUT_BLOCK * (TILE_Y + 2) * 2; i += GROUP)
    tile[(i >> 1) / (TILE_Y + 2) * OUT_PLANE + (i >> 1) % (TILE_Y + 2) * PITCH + ((i & 1u) ? TILE_X + 1u : 0u)] = 0u;
}

#ifdef L2SR_AMD
#define PRODUCTS (PRECISION == 0 ? 3 : 1) /* of high and low parts, one after the other, for want of registers */
/* Sums of a tap with a work-item; the row of number j of a lane's part t. */
#ifdef L2SR_CDNA
#define ACC 4u
#define SUM_ROW(j, t) (4u * (t) + (j))
#else
#define ACC 8u
#define SUM_ROW(j, t) (2u * (j) + (t))
#endif

/* Two floats side by side as a pair of halves, or what that rounding leaves. */
INLINE uint read_pair(__local const uint *from, bool rest) {
  float even = as_float(from[0]), odd = as_float(from[1]);
  uint high = pack(even, odd);
  return rest ? pack(even - even_of(high), odd - odd_of(high)) : high;
}

#ifdef L2SR_CDNA
/* As below, of which a lane has four pixels: of row p / 2 the ones from 4 (p % 2) on. They meet three gradient rows. */
INLINE void multiply_rows(__local const uint *a, __local const uint *d, bool rest_a, bool rest_d,
                          float acc[9][ACC] LANES) {
  const uint p = (uint)get_local_id(0) % WARP / 16u, x = p % 2u * 4u;
  uint in[2], row[3][5];
  UNROLL for (int w = 0; w < 2; w++) in[w] = read_pair(a + p / 2u * TILE_X + x + 2 * w, rest_a);
  UNROLL for (int i = 0; i < 15; i++) row[i / 5][i % 5] = read_pair(d + (p / 2u + i / 5) * PITCH + x + i % 5, rest_d);
  UNROLL for (int tap = 0; tap < 9; tap++) {
    uint out[2] = {row[2 - tap / 3][2 - tap % 3], row[2 - tap / 3][4 - tap % 3]};
    multiply_wave(acc[tap], in, out GIVE_LANES);
  }
}
#else
/* Two activation rows meet the four gradient rows about them; tap (dy, dx) meets rows 2 - dy and 3 - dy, 2 - dx pixels
 * into their ten. */
INLINE void multiply_rows(__local const uint *a, __local const uint *d, bool rest_a, bool rest_d,
                          float acc[9][ACC] LANES) {
  uint in[8], row[4][9], out[8];
  UNROLL for (int w = 0; w < 8; w++) in[w] = read_pair(a + w / 4 * TILE_X + w % 4 * 2, rest_a);
  UNROLL for (int i = 0; i < 36; i++) row[i / 9][i % 9] = read_pair(d + i / 9 * PITCH + i % 9, rest_d);
  UNROLL for (int tap = 0; tap < 9; tap++) {
    UNROLL for (int w = 0; w < 8; w++) out[w] = row[2 - tap / 3 + w / 4][2 - tap % 3 + w % 4 * 2];
    multiply_16(acc[tap], in, out GIVE_LANES);
  }
}
#endif

INLINE void multiply_tile(__local const uint *a, __local const uint *d, float acc[9][ACC] LANES) {
  NO_UNROLL for (int product = PRODUCTS - 1; product >= 0; product--) {
    if (PRODUCTS > 1) mem_fence(CLK_LOCAL_MEM_FENCE); /* or what the products share would be kept, and spilled */
    NO_UNROLL for (int y = 0; y < SHARE_ROWS; y += 2)
      multiply_rows(a + y * TILE_X, d + y * PITCH, product == 2, product == 1, acc GIVE_LANES);
  }
}

#else
#define ACC 4u

/* Gradient row r of the tile meets activation rows r - 2, r - 1 and r, of which three are kept. */
INLINE void multiply_tile(__local const uint *a, __local const uint *d, float acc[9][4] LANES) {
  uint2 low[3], high[3];
  UNROLL for (int j = 0; j < 3; j++) low[j] = high[j] = (uint2)(0u, 0u);
  UNROLL for (int r = 0; r < TILE_Y + 2; r++) {
    if (r < TILE_Y) {
      low[r % 3] = *(__local const uint2 *)(a + r * TILE_X);
      high[r % 3] = *(__local const uint2 *)(a + 8 * IN_PLANE + r * TILE_X);
    }
    __local const uint *from = d + r * PITCH;
    uint2 d0 = *(__local const uint2 *)from, d1 = *(__local const uint2 *)(from + 2);
    uint b[3][2] = {{d1.x, d1.y}, {d0.y, d1.x}, {d0.x, d0.y}};
    UNROLL for (int dy = 0; dy < 3; dy++) {
      int row = r - 2 + dy;
      if (row < 0 || row >= TILE_Y) continue;
      uint2 u = low[row % 3], v = high[row % 3];
      UNROLL for (int dx = 0; dx < 3; dx++)
        multiply_tap(acc[dy * 3 + dx], u, v, b[dx][0], b[dx][1] GIVE_LANES);
    }
  }
}
#endif

__kernel GROUP_OF(GROUP)
void block_weights(__global const uint *restrict activation, __global const uint *restrict second,
                            __global const long *restrict in_sums,
                            __global const uint *restrict gradient, __global const uint *restrict raw_output,
                            __global const long *restrict sums, __global const long *restrict back,
                            __global float *restrict part, uint tiles, uint shard_tiles, uint parts, uint rows) {
  OPEN_LANES(GROUP);
  __local uint in_tile[IN_BLOCK * IN_PLANE] __attribute__((aligned(16)));
  __local uint out_tile[OUT_BLOCK * OUT_PLANE] __attribute__((aligned(16)));
  __local float2 in_norms[IN_BLOCK];
  __local float4 out_norms[OUT_BLOCK];
  const uint item = (uint)get_local_id(0), lane = item % WARP, warp = item / WARP;
  const uint g = LANE_CHANNEL, t = LANE_PART;
  const uint in_block = (uint)get_group_id(0) % (IN / IN_BLOCK), rest = (uint)get_group_id(0) / (IN / IN_BLOCK);
  const uint out_block = rest % (OUT / OUT_BLOCK), which = rest / (OUT / OUT_BLOCK);
  const uint share = warp % SHARES, warp_in = warp / SHARES % (IN_BLOCK / 16);
  const uint warp_out = warp / SHARES / (IN_BLOCK / 16);
  const uint start = which / parts * shard_tiles, count = min(shard_tiles, tiles - start); /* its shard's tiles */
  const uint each = (count + parts - 1u) / parts, first = start + which % parts * each;
  const uint end = min(first + each, start + count);
  float acc[9][ACC];
  UNROLL for (int i = 0; i < 9; i++) UNROLL for (int j = 0; j < ACC; j++) acc[i][j] = 0.0f;
  if (COLUMNS == TILE_X) clear_columns(out_tile);
  uint4 a[IN_LOADS], d[OUT_LOADS], y[OUT_LOADS];
  uint image = 0xffffffffu;
  if (AHEAD && first < end) fetch(activation, second, gradient, raw_output, first, in_block, out_block, a, d, y);
  NO_UNROLL for (uint tile = first; tile < end; tile++) {
    const uint n = tile / TILES_IMAGE, place = tile % TILES_IMAGE;
    const int left = (int)(place % TILES_X) * TILE_X, top = (int)(place / TILES_X) * TILE_Y;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!AHEAD) fetch(activation, second, gradient, raw_output, tile, in_block, out_block, a, d, y);
    if (n != image) {
      uint c = in_block * IN_BLOCK + item, o = out_block * OUT_BLOCK + item;
      image = n;
      if (item < IN_BLOCK) in_norms[item] = in_norm(in_sums, n, c);
      if (!NORMED && item < OUT_BLOCK)
        out_norms[item] = back_norm_of(sums + 2 * (n * OUT + o), back + 2 * (n * OUT + o), OWN_ROWS * OWN_COLUMNS);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    put_activation(in_tile, a, in_norms);
    put_gradient(out_tile, d, y, out_norms, left, top);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (AHEAD && tile + 1u < end)
      fetch(activation, second, gradient, raw_output, tile + 1u, in_block, out_block, a, d, y);
    NO_UNROLL for (uint step = 0u; step < STEPS_X; step++) {
      uint strip = share % SHARES_X * STEPS_X + step; /* strip of the row's pixels that a product takes */
#ifdef L2SR_AMD
      uint x = 8 * strip, y = share / SHARES_X % SHARES_Y * SHARE_ROWS;
#else
      uint x = 8 * strip + 2 * t, y = 0u;
#endif
      multiply_tile(in_tile + (warp_in * 16 + g) * IN_PLANE + y * TILE_X + x,
                    out_tile + (warp_out * WARP_OUT + g) * OUT_PLANE + y * PITCH + x, acc GIVE_LANES);
    }
  }
  for (uint w = 0u; w < SHARES_X * SHARES_Y; w++) { /* the warps that share channels, one after the other */
    if (share == w) UNROLL for (uint tap = 0u; tap < 9u; tap++) UNROLL for (uint j = 0u; j < ACC; j++) {
#ifdef L2SR_AMD
      uint in = in_block * IN_BLOCK + warp_in * 16 + SUM_ROW(j, t);
      uint out = out_block * OUT_BLOCK + warp_out * 16 + g;
#else
      uint in = in_block * IN_BLOCK + warp_in * 16 + g + 8 * (j >> 1);
      uint out = out_block * OUT_BLOCK + warp_out * 8 + 2 * t + (j & 1u);
#endif
      __global float *to = &part[((which * OUT + out) * IN + in) * 9 + tap];
      *to = w ? *to + acc[tap][j] : acc[tap][j];
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}
#endif
