/* Gradients of the fused blocks' weights from maps of halves, for NVIDIA's matrix instructions (kernels/block.cl).
 *
 *   dW[out][in][dy][dx] = sum over images and pixels p of activation[in][p + (dy - 1, dx - 1)] * gradient[out][p]
 *
 * where the gradient is that of the raw output (block_gradient leaves it). M is input channels, N output channels, K
 * sixteen pixels: of a row, or of two rows of a map of 8 columns. A warp has 16 x 16 channels and their nine taps, and
 * walks down its strip of columns; of the activation it keeps three rows in registers, which meet one of the gradient.
 * Both maps come raw, by asynchronous copies in stages, a word holding two channels of a pixel: with k = 2t, 2t + 1,
 * 2t + 8, 2t + 9 as pixels 4t to 4t + 3 a lane reads four neighbouring words and takes its channel's halves of them. A
 * group sums its share of a shard's tiles, the shares are added in a fixed order by block_reduce.
 *
 *   IN OUT ROWS COLUMNS       channels and size of the layer in memory; OWN_ROWS OWN_COLUMNS its own (block.cl)
 *   UP                        how many of IN come from `activation`, up-sampled and normalised (block_up); the rest
 *                             from `second`. 0: all from `activation`, raw
 *   TILE_X TILE_Y             a group's tile; IN_BLOCK OUT_BLOCK channels of a group
 *   STEP_ROWS                 of a stage; maps of 8 columns come whole
 *   STAGES FLYING             stages; how many are on their way when one is needed (STAGES - 2, for the assembler)
 *   SUM_PIXELS                pixels over which the activation's sums were taken */
#if defined(L2SR_MATRIX) && !defined(L2SR_AMD)

#ifndef IN /* a layer, so that the file can be read and linted alone */
#define IN 16
#define OUT 16
#define ROWS 128
#define COLUMNS 128
#define TILE_X 64
#define TILE_Y 16
#define IN_BLOCK 16
#define OUT_BLOCK 16
#define STEP_ROWS 4
#define STAGES 2
#define FLYING 0
#define UP 0
#define SUM_PIXELS 16384
#endif

#define MAP (ROWS * COLUMNS)
#define WHOLE (TILE_X == 8)              /* a stage holds the whole tile */
#define ROWS_K (WHOLE ? 2 : 1)           /* rows of pixels in a product */
#define STRIPS (TILE_X * ROWS_K / 16)    /* warps for the same channels */
#define WARPS_IN (IN_BLOCK / 16)
#define WARPS_OUT (OUT_BLOCK / 16)
#define GROUP (32 * STRIPS * WARPS_IN * WARPS_OUT)
#define IN_PLANES (IN_BLOCK / 2)
#define OUT_PLANES (OUT_BLOCK / 2)
#define TILES_X (COLUMNS / TILE_X)
#define TILES_IMAGE (TILES_X * (ROWS / TILE_Y))
/* Rows of a step, which a stage holds. The first of a tile has the rows of the activation above it and at its top, and no
 * gradient. */
#define IN_ROWS (WHOLE ? TILE_Y + 2 : STEP_ROWS)
#define OUT_ROWS (WHOLE ? TILE_Y : STEP_ROWS)
#define STEPS (WHOLE ? 1 : TILE_Y / STEP_ROWS + 1)
#define QUADS (TILE_X / 4)
#define SLOTS (WHOLE ? 16 : STEP_ROWS) /* rows that work-items are dealt out over */
#define PASS (GROUP / (QUADS * SLOTS)) /* planes that they take at a time */
#define IN_TURNS (IN_PLANES / PASS)
#define OUT_TURNS (OUT_PLANES / PASS)
/* Words from row to row and from plane to plane: 16 beyond a multiple of 32, so that lanes meet no bank twice. */
#define PITCH (TILE_X + 8)
#define PLANE_OF(words) (((words) + 15) / 32 * 32 + 16)
#define IN_PLANE PLANE_OF(IN_ROWS * TILE_X)
#define OUT_PLANE PLANE_OF(OUT_ROWS * PITCH)
#define STAGE (IN_PLANES * IN_PLANE + OUT_PLANES * OUT_PLANE)
#define LOWEST 0xFBFFFBFFu /* the most negative halves: ReLU makes zeros of them after the norm */

/* Where plane `c` (pairs of channels) of the layer's input starts, image n. */
INLINE __global const uint *in_plane(__global const uint *activation, __global const uint *second, uint n, uint c) {
#if UP
  if (c < UP / 2) return activation + (n * (UP / 2) + c) * MAP;
  return second + (n * ((IN - UP) / 2) + c - UP / 2) * MAP;
#else
  return activation + (n * (IN / 2) + c) * MAP;
#endif
}

/* The input's norm; up-sampled values are normalised already, and ReLU leaves them alone. */
INLINE float2 in_norm(__global const long *in_sums, uint n, uint c) {
#if UP
  if (c < UP) return (float2)(1.0f, 0.0f);
#endif
  return norm_of(in_sums + 2 * (n * (IN - UP) + c - UP), SUM_PIXELS);
}

/* The same of channels c and c + 1, as pairs of halves. */
INLINE uint2 in_norm_pair(__global const long *in_sums, uint n, uint c) {
  float2 even = in_norm(in_sums, n, c), odd = in_norm(in_sums, n, c + 1u);
  return (uint2)(pack(even.x, odd.x), pack(even.y, odd.y));
}

/* A column beside the tile is copied by a work-item for each of its words. */
#define BESIDE (TILES_X > 1 ? OUT_PLANES * OUT_ROWS * 2u : 0u)

/* Where a work-item copies from: its vectors of the step that comes next, `y` their row of the activation, and its word
 * beside the tile, if that is inside the map. */
typedef struct {
  __global const uint *in[IN_TURNS], *out, *beside;
  uint tile, step;
  int y;
  bool inside;
} walk;

INLINE void start_tile(walk *from, __global const uint *activation, __global const uint *second,
                       __global const uint *gradient, uint in_block, uint out_block) {
  const uint item = (uint)get_local_id(0), row = item / QUADS % SLOTS, first = item / QUADS / SLOTS;
  const uint n = from->tile / TILES_IMAGE, place = from->tile % TILES_IMAGE;
  const uint left = place % TILES_X * TILE_X, x = left + item % QUADS * 4u, top = place / TILES_X * TILE_Y;
  __global const uint *map = gradient + (n * (OUT / 2) + out_block * OUT_PLANES) * MAP;
  from->y = (int)(top + row) - (WHOLE ? 1 : STEP_ROWS - 1);
  UNROLL for (uint k = 0u; k < IN_TURNS; k++)
    from->in[k] = in_plane(activation, second, n, in_block * IN_PLANES + first + k * PASS) + from->y * COLUMNS + x;
  from->out = map + first * MAP + (from->y + (WHOLE ? 1 : -1)) * COLUMNS + x;
  const uint side = item & 1u, beside_row = (item >> 1) % OUT_ROWS, plane = (item >> 1) / OUT_ROWS;
  from->beside = map + plane * MAP + ((int)(top + beside_row) - STEP_ROWS) * COLUMNS + (int)left + (side ? TILE_X : -1);
  from->inside = side ? left + TILE_X < COLUMNS : left > 0u;
}

/* Starts the copies of a step of the activation and, with a column left and right of the tile, of the gradient. */
INLINE void copy_step(walk *from, __local uint *stage) {
  const uint item = (uint)get_local_id(0), q = item % QUADS, row = item / QUADS % SLOTS, first = item / QUADS / SLOTS;
  __local uint *in = stage + first * IN_PLANE + row * TILE_X + 4u * q;
  __local uint *out = stage + IN_PLANES * IN_PLANE + first * OUT_PLANE + row * PITCH + 4u + 4u * q;
  const bool inside = from->y >= 0 && from->y < ROWS;
  if (row < IN_ROWS) UNROLL for (uint k = 0u; k < IN_TURNS; k++) {
    if (inside)
      COPY16(in + k * PASS * IN_PLANE, from->in[k]);
    else
      *(__local uint4 *)(in + k * PASS * IN_PLANE) = (uint4)(LOWEST, LOWEST, LOWEST, LOWEST);
  }
  if (row < OUT_ROWS && (WHOLE || from->step))
    UNROLL for (uint k = 0u; k < OUT_TURNS; k++) COPY16(out + k * PASS * OUT_PLANE, from->out + k * PASS * MAP);
  if (item < BESIDE && from->step) {
    __local uint *to = stage + IN_PLANES * IN_PLANE + (item >> 1) / OUT_ROWS * OUT_PLANE + (item >> 1) % OUT_ROWS * PITCH +
                       ((item & 1u) ? 4u + TILE_X : 3u);
    if (from->inside)
      COPY4(to, from->beside);
    else
      *to = 0u;
  }
}

/* Goes on to the next step. */
INLINE void walk_on(walk *from) {
  from->y += STEP_ROWS;
  from->out += STEP_ROWS * COLUMNS;
  from->beside += STEP_ROWS * COLUMNS;
  UNROLL for (uint k = 0u; k < IN_TURNS; k++) from->in[k] += STEP_ROWS * COLUMNS;
  if (++from->step < STEPS) return;
  from->step = 0u;
  from->tile++;
}

/* Zeros left and right of the tile, once, where it spans the map. */
INLINE void clear_columns(__local uint *stages) {
  for (uint i = (uint)get_local_id(0); i < STAGES * OUT_PLANES * OUT_ROWS * 2u; i += GROUP) {
    uint row = (i >> 1) % OUT_ROWS, c = (i >> 1) / OUT_ROWS % OUT_PLANES, stage = (i >> 1) / OUT_ROWS / OUT_PLANES;
    stages[stage * STAGE + IN_PLANES * IN_PLANE + c * OUT_PLANE + row * PITCH + ((i & 1u) ? 4u + TILE_X : 3u)] = 0u;
  }
}

/* A lane's pixels of a row of the activation, normalised: of channel g and of g + 8, whose halves are the `odd` ones. */
INLINE void read_row(__local const uint *from, uint2 norm_low, uint2 norm_high, uint odd, uint a[4]) {
  uint4 low = *(__local const uint4 *)from, high = *(__local const uint4 *)(from + 4 * IN_PLANE);
  uint l[4] = {low.x, low.y, low.z, low.w}, h[4] = {high.x, high.y, high.z, high.w};
  UNROLL for (int j = 0; j < 4; j++) {
    l[j] = fma_relu_pair(l[j], norm_low.x, norm_low.y);
    h[j] = fma_relu_pair(h[j], norm_high.x, norm_high.y);
  }
  a[0] = take_halves(l[0], l[1], odd), a[1] = take_halves(h[0], h[1], odd);
  a[2] = take_halves(l[2], l[3], odd), a[3] = take_halves(h[2], h[3], odd);
}

/* A row of the gradient times the three of the activation about it; it is moved along x instead of these. */
INLINE void multiply_rows(__local const uint *from, const uint window[3][4], uint odd, float acc[9][2][4] LANES) {
  UNROLL for (int k = 0; k < 2; k++) {
    __local const uint *here = from + k * 4 * OUT_PLANE;
    uint4 four = *(__local const uint4 *)here;
    uint words[6] = {here[-1], four.x, four.y, four.z, four.w, here[4]}, b[5];
    UNROLL for (int j = 0; j < 5; j++) b[j] = take_halves(words[j], words[j + 1], odd);
    UNROLL for (int tap = 0; tap < 9; tap++)
      MULTIPLY(acc[tap][k], window[tap / 3][0], window[tap / 3][1], window[tap / 3][2], window[tap / 3][3],
               b[2 - tap % 3], b[4 - tap % 3]);
  }
}

/* What a stage holds: `in` and `out` are a lane's places in it. */
INLINE void multiply_stage(__local const uint *in, __local const uint *out, uint step, uint2 norm_low, uint2 norm_high,
                           uint odd, uint window[3][4], float acc[9][2][4] LANES) {
#if WHOLE
  NO_UNROLL for (uint r = 0u; r < TILE_Y; r += 2u) {
    UNROLL for (uint j = 0u; j < 3u; j++) read_row(in + (r + j) * TILE_X, norm_low, norm_high, odd, window[j]);
    multiply_rows(out + r * PITCH, window, odd, acc GIVE_LANES);
  }
#else
  UNROLL for (uint r = 0u; r < STEP_ROWS; r++) {
    UNROLL for (int j = 0; j < 4; j++) window[0][j] = window[1][j], window[1][j] = window[2][j];
    read_row(in + r * TILE_X, norm_low, norm_high, odd, window[2]);
    if (step) multiply_rows(out + r * PITCH, window, odd, acc GIVE_LANES);
  }
#endif
}

/* Adds up the strips' sums in their order and stores them. */
INLINE void store_part(float acc[9][2][4], __local float *sums, __global float *part, uint strip, uint in, uint out,
                       uint which, uint in_block, uint out_block) {
  for (uint s = 0u; s < STRIPS; s++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (strip == s) UNROLL for (uint tap = 0u; tap < 9u; tap++) UNROLL for (uint k = 0u; k < 2u; k++) UNROLL for (uint j = 0u; j < 4u; j++) {
      __local float *to = &sums[((out + 8u * k + (j & 1u)) * IN_BLOCK + in + 8u * (j >> 1)) * 9u + tap];
      *to = s ? *to + acc[tap][k][j] : acc[tap][k][j];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = (uint)get_local_id(0); i < OUT_BLOCK * IN_BLOCK * 9u; i += GROUP) {
    uint o = out_block * OUT_BLOCK + i / (IN_BLOCK * 9u);
    part[((which * OUT + o) * IN + in_block * IN_BLOCK) * 9u + i % (IN_BLOCK * 9u)] = sums[i];
  }
}

__kernel void block_weights_half(__global const uint *restrict activation, __global const uint *restrict second,
                                 __global const long *restrict in_sums, __global const uint *restrict gradient,
                                 __global float *restrict part, uint tiles, uint shard_tiles, uint parts, uint rows) {
  OPEN_LANES(GROUP);
  __local uint stages[STAGES * STAGE] __attribute__((aligned(16)));
  const uint item = (uint)get_local_id(0), lane = item & 31u, warp = item >> 5, g = lane >> 2, t = lane & 3u;
  const uint in_block = (uint)get_group_id(0) % (IN / IN_BLOCK), rest = (uint)get_group_id(0) / (IN / IN_BLOCK);
  const uint out_block = rest % (OUT / OUT_BLOCK), which = rest / (OUT / OUT_BLOCK);
  const uint strip = warp % STRIPS, warp_in = warp / STRIPS % WARPS_IN, warp_out = warp / STRIPS / WARPS_IN;
  const uint start = which / parts * shard_tiles, count = min(shard_tiles, tiles - start); /* its shard's tiles */
  const uint each = (count + parts - 1u) / parts, first = start + min(which % parts * each, count);
  const uint steps = (min(first + each, start + count) - first) * STEPS, odd = halves_of(g & 1u);
  const uint lane_row = WHOLE ? t >> 1 : 0u, lane_x = 16u * strip + 4u * (WHOLE ? t & 1u : t);
  const uint in_place = (warp_in * 8u + (g >> 1)) * IN_PLANE + lane_row * TILE_X + lane_x;
  const uint out_place = IN_PLANES * IN_PLANE + (warp_out * 8u + (g >> 1)) * OUT_PLANE + lane_row * PITCH + 4u + lane_x;
  float acc[9][2][4];
  uint window[3][4] = {{0u}};
  uint2 norm_low = (uint2)(0u, 0u), norm_high = norm_low;
  UNROLL for (int i = 0; i < 9; i++) UNROLL for (int k = 0; k < 2; k++) UNROLL for (int j = 0; j < 4; j++)
      acc[i][k][j] = 0.0f;
  if (TILES_X == 1) clear_columns(stages);
  walk from = {.tile = first};
  NO_UNROLL for (uint ahead = 0u; ahead < steps + STAGES - 1u; ahead++) {
    const uint at = ahead - (STAGES - 1u), tile = first + at / STEPS, step = at % STEPS;
    const bool filled = ahead >= STAGES - 1u;
    if (filled) {
      COPY_WAIT_BUT(FLYING);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (ahead < steps) {
      if (from.step == 0u) start_tile(&from, activation, second, gradient, in_block, out_block);
      copy_step(&from, stages + ahead % STAGES * STAGE);
      walk_on(&from);
    }
    COPY_COMMIT();
    if (filled) {
      if (at == 0u || (step == 0u && tile % TILES_IMAGE == 0u)) {
        const uint n = tile / TILES_IMAGE, c = in_block * IN_BLOCK + warp_in * 16u + (g & ~1u);
        norm_low = in_norm_pair(in_sums, n, c);
        norm_high = in_norm_pair(in_sums, n, c + 8u);
      }
      __local const uint *stage = stages + at % STAGES * STAGE;
      multiply_stage(stage + in_place, stage + out_place, step, norm_low, norm_high, odd, window, acc GIVE_LANES);
    }
  }
  store_part(acc, (__local float *)stages, part, strip, warp_in * 16u + g, warp_out * 16u + 2u * t, which, in_block,
             out_block);
}
#endif
