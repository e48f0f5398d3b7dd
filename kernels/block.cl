/* Fused blocks of a network for matrix instructions of NVIDIA and AMD: 3x3 convolution with zero padding, where instance
 * norm and ReLU of the previous block happen on the load of its raw output and the sums for this block's
 * instance norm leave with the store. One kernel a layer, specialised by macros (engine/fused/block_run.c sets them);
 * nothing normalised is ever stored. The convolution's bias is left out: the instance norm cancels it.
 *
 *   CIN COUT ROWS COLUMNS     channels and size of the layer in memory, a multiple of the tile
 *   OWN_ROWS OWN_COLUMNS      the layer's own size; raw outputs hold BEYOND outside it, defined where the two differ: a
 *                             value that norm and ReLU make 0 and whose gradient is 0
 *   HALF_ROWS HALF_COLUMNS    size in memory of a map of half the rows and columns
 *   TILE_X TILE_Y STRIP       a group's output tile; rows of a warp's strip of 16 pixels
 *   WARPS_OUT IMAGES          warps side by side over output channels, 16 each; images in a tile (2: 8x8 maps)
 *   SOURCE                    0 image of a few channels, 1 previous block, 2 up-sampled block joined with another,
 *                             3 backward: the gradient of a block's activation (CIN and COUT exchanged)
 *   TARGET_SUMS               SOURCE 3: the gradient is that of a block's only consumer; leave its sums
 *   NORMED                    SOURCE 3: the gradient is that of the raw output already (block_unpool)
 *   KEEP_RAW                  SOURCE 3: that of the raw output is stored, for block_weights_half
 *   UP_CHANNELS               SOURCE 2: how many of CIN come from the up-sampled one
 *   SUM_PIXELS UP_PIXELS      pixels over which the sources' sums were taken (a pooled map has a quarter)
 *   STORE_FULL STORE_POOLED   which maps are written
 *   PRECISION                 0 f32 storage, operands split into two halves, three products (f32-grade)
 *                             1 f32 storage, half operands   2 half storage (channel pairs in a word)
 *   PITCH PLANE               words from row to row and from plane to plane of the tile in local memory
 *   STAGED STAGES TILES       1: raw tiles come by asynchronous copies in stages (backward: two, and NORMED), normalised
 *                             on use; tiles of a vertical strip that a group walks
 *
 * Fragments (mma.m16n8k16): row g of A is pixel 2g of a strip of 16, row g + 8 is pixel 2g + 1; so two 8-byte
 * reads of a plane serve the three taps along x, and a row's fragments the three taps along y. Weights come as
 * a packed image of fragments (block_pack): [part][chunk][16 outputs][tap][lane]. Maxima commute with norm and
 * ReLU, so the pooled map is raw too.
 *
 * On AMD (wmma 16x16x16) a strip's row is one tile: A is read from the same planes, B gathered from the same
 * packed weights, and acc is brought into the order above once, at the end of the layer. STAGED is NVIDIA's alone.
 * On AMD's data-centre cards (mfma 16x16x16) the same happens for two warps at a time, whose lanes are a wave's.
 *
 * A launch works on images from `image` on.
 *
 * Sums are 64-bit integers in units of 2^-20: their order does not matter, the result is the same on every
 * run. */
#ifdef L2SR_MATRIX

#ifndef CIN /* a layer, so that the file can be read and linted alone */
#define CIN 16
#define COUT 16
#define ROWS 128
#define COLUMNS 128
#define OWN_ROWS 128
#define OWN_COLUMNS 128
#define HALF_ROWS 64
#define HALF_COLUMNS 64
#define TILE_X 32
#define TILE_Y 16
#define STRIP 8
#define WARPS_OUT 1
#define IMAGES 1
#define SOURCE 1
#define UP_CHANNELS 0
#define SUM_PIXELS 16384
#define UP_PIXELS 4096
#define STORE_FULL 1
#define STORE_POOLED 0
#define TARGET_SUMS 1
#define NORMED 0
#define KEEP_RAW 0
#define PRECISION 1
#define PITCH 34
#define PLANE 616
#define STAGED 0
#define STAGES 1
#define TILES 1
#endif

#define MAP (ROWS * COLUMNS)
#define OWN_MAP (OWN_ROWS * OWN_COLUMNS)
#define IMAGE_COLUMNS ((OWN_COLUMNS + 3) / 4 * 4) /* of images in and out: zeros beyond the layer's own */
#define IMAGE_MAP (OWN_ROWS * IMAGE_COLUMNS)
#define HALF_MAP (HALF_ROWS * HALF_COLUMNS)
#define WARPS_X (TILE_X / 16)
#define WARPS_Y (TILE_Y / STRIP)
#define WARPS (WARPS_X * WARPS_Y * WARPS_OUT)
#define GROUP (WARPS * 32)
#define GROUP_OUT (16 * WARPS_OUT)
#define OUT_GROUPS (COUT / GROUP_OUT)
#if IMAGES == 2
#define TILES_X 1
#define TILES_ALL 1
#else
#define TILES_X (COLUMNS / TILE_X)
#define TILES_ALL (TILES_X * (ROWS / TILE_Y) / TILES)
#endif
#define HALF_STORAGE (PRECISION == 2)
#define CHUNK 16 /* channels of one matrix product: 8 planes of channel pairs */
#if SOURCE == 0
#define PLANES 1
#define CHUNKS CIN /* a channel each */
#define SOURCE_ROWS OWN_ROWS
#define SOURCE_COLUMNS IMAGE_COLUMNS
#else
#define SOURCE_ROWS ROWS
#define SOURCE_COLUMNS COLUMNS
#define PLANES 8
#define CHUNKS (CIN / CHUNK)
#endif
#define PARTS (PRECISION == 0 ? 2 : 1) /* parts of an operand */
#define LOADS (HALF_STORAGE || SOURCE == 0 ? 1 : 2) /* vectors that make four pixels of a plane */
#define WEIGHT_SCALE 64.0f /* keeps the low parts of small weights normal numbers */

/* ---- normalisation --------------------------------------------------------------------------------------- */

/* Norm of channel c of the layer's input, image n. */
INLINE float2 source_norm(__global const long *first, __global const long *second, uint n, uint c) {
#if SOURCE == 2
  if (c < UP_CHANNELS) return norm_of(first + 2 * (n * UP_CHANNELS + c), UP_PIXELS);
  return norm_of(second + 2 * (n * (CIN - UP_CHANNELS) + c - UP_CHANNELS), SUM_PIXELS);
#else
  return norm_of(first + 2 * (n * CIN + c), SUM_PIXELS);
#endif
}

/* ---- loading a tile: global memory, registers, normalised, local memory ---------------------------------- */

#define LANES_X (TILE_X / 4)          /* lanes of a warp along a row: four pixels each */
#define LANE_ROWS (32 / LANES_X)      /* rows that a warp loads at once */
#define ROW_STEPS ((TILE_Y + 2 + LANE_ROWS - 1) / LANE_ROWS)
#define UNITS (PLANES * ROW_STEPS)
#define WARP_UNITS ((UNITS + WARPS - 1) / WARPS)
#define BATCH 5 /* loads in flight a work-item */

/* Stores a pair of channels, its low part behind the planes of the high ones. */
INLINE void put(__local uint *tile, uint place, float even, float odd) {
#if SOURCE == 0
  tile[place] = as_uint(even);
#else
  uint high = pack(even, odd);
  tile[place] = high;
#if PRECISION == 0
  tile[place + PLANES * PLANE] = pack(even - even_of(high), odd - odd_of(high));
#endif
#endif
}

/* One raw value of a map of `channels` channels and `map` pixels. */
INLINE float raw(__global const uint *source, uint channels, uint n, uint c, uint map, uint at) {
#if HALF_STORAGE && SOURCE != 0
  uint word = source[(n * (channels / 2) + (c >> 1)) * map + at];
  return (c & 1) ? odd_of(word) : even_of(word);
#else
  return as_float(source[(n * channels + c) * map + at]);
#endif
}

/* Four pixels of the plane: one vector of pairs, or one vector of each channel. */
INLINE void unpack4(const uint4 *loaded, float even[4], float odd[4]) {
#if HALF_STORAGE && SOURCE != 0
  uint words[4] = {loaded[0].x, loaded[0].y, loaded[0].z, loaded[0].w};
  UNROLL for (int j = 0; j < 4; j++) {
    even[j] = even_of(words[j]);
    odd[j] = odd_of(words[j]);
  }
#else
  float4 a = as_float4(loaded[0]), b = as_float4(loaded[LOADS - 1]);
  even[0] = a.x, even[1] = a.y, even[2] = a.z, even[3] = a.w;
  odd[0] = b.x, odd[1] = b.y, odd[2] = b.z, odd[3] = b.w;
#endif
}

/* Where a map starts that holds `channels` channels of image n, at channel c. */
INLINE uint map_start(uint channels, uint n, uint c, uint map) {
  return HALF_STORAGE && SOURCE != 0 ? (n * (channels / 2) + c / 2) * map : (n * channels + c) * map;
}

/* Rows of four pixels of a chunk, from a source of `channels` channels whose first is `first`. */
INLINE void load_rows(__global const uint *source, uint channels, uint first, __local const float2 *norms,
                      __local uint *tile, uint chunk, uint n, int left, int top) {
  const uint lane = (uint)get_local_id(0) & 31u, warp = (uint)get_local_id(0) >> 5;
  const uint q = lane % LANES_X, lane_row = lane / LANES_X;
#if IMAGES == 2
  const uint image = n + (q >> 1);
  const int x = 4 * (int)(q & 1u);
  const uint shift = 2u * (q >> 1), norm_first = (q >> 1) * CIN;
#else
  const uint image = n, shift = 0u, norm_first = 0u;
  const int x = left + 4 * (int)q;
#endif
  NO_UNROLL for (uint start = 0u; start < WARP_UNITS; start += BATCH) {
    uint4 loaded[BATCH][2];
    UNROLL for (uint i = 0u; i < BATCH; i++) {
      uint unit = warp + (start + i) * WARPS, plane = unit / ROW_STEPS;
      uint row = unit % ROW_STEPS * LANE_ROWS + lane_row;
      int y = top + (int)row - 1;
      bool inside = start + i < WARP_UNITS && unit < UNITS && row < TILE_Y + 2 && y >= 0 && y < SOURCE_ROWS;
      if (SOURCE == 0) inside = inside && x < SOURCE_COLUMNS;
      UNROLL for (uint k = 0u; k < LOADS; k++) {
        loaded[i][k] = (uint4)(0u, 0u, 0u, 0u);
        uint channel = SOURCE == 0 ? chunk : chunk * CHUNK - first + 2u * plane + k;
        if (inside)
          loaded[i][k] =
              *(__global const uint4 *)&source[map_start(channels, image, channel, SOURCE_ROWS * SOURCE_COLUMNS) +
                                               (uint)y * SOURCE_COLUMNS + (uint)x];
      }
    }
    UNROLL for (uint i = 0u; i < BATCH; i++) {
      uint unit = warp + (start + i) * WARPS, plane = unit / ROW_STEPS;
      uint row = unit % ROW_STEPS * LANE_ROWS + lane_row;
      int y = top + (int)row - 1;
      if (start + i >= WARP_UNITS || unit >= UNITS || row >= TILE_Y + 2) continue;
      float even[4], odd[4];
      unpack4(loaded[i], even, odd);
#if SOURCE != 0
      float2 norm_even = norms[norm_first + chunk * CHUNK + 2u * plane];
      float2 norm_odd = norms[norm_first + chunk * CHUNK + 2u * plane + 1u];
      bool inside = y >= 0 && y < ROWS;
      UNROLL for (int j = 0; j < 4; j++) {
        even[j] = inside ? norm_relu(even[j], norm_even) : 0.0f;
        odd[j] = inside ? norm_relu(odd[j], norm_odd) : 0.0f;
      }
#endif
      uint place = plane * PLANE + row * PITCH + 1u + 4u * q + shift;
      UNROLL for (int j = 0; j < 4; j++) put(tile, place + j, even[j], odd[j]);
    }
  }
}

/* The columns left and right of the tile, where it does not span the map. */
INLINE void load_columns(__global const uint *source, uint channels, uint first, __local const float2 *norms,
                         __local uint *tile, uint chunk, uint n, int left, int top) {
  for (uint i = (uint)get_local_id(0); i < PLANES * (TILE_Y + 2) * 2; i += GROUP) {
    uint side = i & 1u, row = (i >> 1) % (TILE_Y + 2), plane = (i >> 1) / (TILE_Y + 2);
    int y = top + (int)row - 1, x = side ? left + TILE_X : left - 1;
    float even = 0.0f, odd = 0.0f;
    if (y >= 0 && y < SOURCE_ROWS && x >= 0 && x < SOURCE_COLUMNS) {
      uint at = (uint)y * SOURCE_COLUMNS + (uint)x;
#if SOURCE == 0
      even = raw(source, CIN, n, chunk, IMAGE_MAP, at);
#else
      uint c = chunk * CHUNK + 2u * plane;
      even = norm_relu(raw(source, channels, n, c - first, MAP, at), norms[c]);
      odd = norm_relu(raw(source, channels, n, c + 1u - first, MAP, at), norms[c + 1u]);
#endif
    }
    put(tile, plane * PLANE + row * PITCH + (side ? TILE_X + 1u : 0u), even, odd);
  }
}

/* Zeros in the columns beyond the map, once, where the tile spans it. */
INLINE void clear_columns(__local uint *tile) {
#if IMAGES == 2
  for (uint i = (uint)get_local_id(0); i < PLANES * PARTS * (TILE_Y + 2) * 4; i += GROUP) {
    uint s = i & 3u, j = i >> 2, column = s == 0u ? 0u : s == 1u ? 9u : s == 2u ? 10u : 19u;
    tile[(j / (TILE_Y + 2)) * PLANE + (j % (TILE_Y + 2)) * PITCH + column] = 0u;
  }
#else
  if (COLUMNS == TILE_X)
    for (uint i = (uint)get_local_id(0); i < PLANES * PARTS * (TILE_Y + 2) * 2; i += GROUP) {
      uint j = i >> 1;
      tile[(j / (TILE_Y + 2)) * PLANE + (j % (TILE_Y + 2)) * PITCH + ((i & 1u) ? TILE_X + 1u : 0u)] = 0u;
    }
#endif
}

#if SOURCE == 3
#define BACK_BATCH (LOADS == 1 ? 4 : 2)

/* Four pixels of a plane from the activation's gradient and the raw output. */
INLINE void back4(const uint4 *gradient, const uint4 *raw_output, float4 norm_even, float4 norm_odd, bool inside,
                  float even[4], float odd[4]) {
  float raw_even[4], raw_odd[4];
  unpack4(gradient, even, odd);
  unpack4(raw_output, raw_even, raw_odd);
  UNROLL for (int j = 0; j < 4; j++) {
    if (!NORMED) even[j] = back_norm(even[j], raw_even[j], norm_even);
    if (!NORMED) odd[j] = back_norm(odd[j], raw_odd[j], norm_odd);
    if (!inside) even[j] = odd[j] = 0.0f;
  }
}

/* Loads rows as load_rows, through the norm and ReLU backwards, and leaves what that makes of the tile's own rows in
 * `kept`, where it is given. */
INLINE void load_back_rows(__global const uint *gradient, __global const uint *raw_output,
                           __local const float4 *norms, __local uint *tile, __global uint *kept, uint chunk, uint n,
                           int left, int top) {
  const uint lane = (uint)get_local_id(0) & 31u, warp = (uint)get_local_id(0) >> 5;
  const uint q = lane % LANES_X, lane_row = lane / LANES_X;
#if IMAGES == 2
  const uint image = n + (q >> 1), shift = 2u * (q >> 1), norm_first = (q >> 1) * CIN;
  const uint x = 4u * (q & 1u);
#else
  const uint image = n, shift = 0u, norm_first = 0u, x = (uint)left + 4u * q;
#endif
  NO_UNROLL for (uint start = 0u; start < WARP_UNITS; start += BACK_BATCH) {
    uint4 loaded[BACK_BATCH][2], outputs[BACK_BATCH][2];
    UNROLL for (uint i = 0u; i < BACK_BATCH; i++) {
      uint unit = warp + (start + i) * WARPS, plane = unit / ROW_STEPS;
      uint row = unit % ROW_STEPS * LANE_ROWS + lane_row;
      int y = top + (int)row - 1;
      bool inside = start + i < WARP_UNITS && unit < UNITS && row < TILE_Y + 2 && y >= 0 && y < ROWS;
      UNROLL for (uint k = 0u; k < LOADS; k++) {
        uint at = map_start(CIN, image, chunk * CHUNK + 2u * plane + k, MAP) + (uint)y * COLUMNS + x;
        loaded[i][k] = outputs[i][k] = (uint4)(0u, 0u, 0u, 0u);
        if (inside) loaded[i][k] = *(__global const uint4 *)&gradient[at];
        if (inside && !NORMED) outputs[i][k] = *(__global const uint4 *)&raw_output[at];
      }
    }
    UNROLL for (uint i = 0u; i < BACK_BATCH; i++) {
      uint unit = warp + (start + i) * WARPS, plane = unit / ROW_STEPS;
      uint row = unit % ROW_STEPS * LANE_ROWS + lane_row, c = norm_first + chunk * CHUNK + 2u * plane;
      int y = top + (int)row - 1;
      float even[4], odd[4];
      if (start + i >= WARP_UNITS || unit >= UNITS || row >= TILE_Y + 2) continue;
      back4(loaded[i], outputs[i], norms[c], norms[c + 1u], y >= 0 && y < ROWS, even, odd);
      uint place = plane * PLANE + row * PITCH + 1u + 4u * q + shift;
      UNROLL for (int j = 0; j < 4; j++) put(tile, place + j, even[j], odd[j]);
      if (!KEEP_RAW || !kept || row == 0u || row > TILE_Y) continue;
      uint at = map_start(CIN, image, chunk * CHUNK + 2u * plane, MAP) + (uint)y * COLUMNS + x;
      *(__global uint4 *)&kept[at] = (uint4)(pack(even[0], odd[0]), pack(even[1], odd[1]), pack(even[2], odd[2]),
                                             pack(even[3], odd[3]));
    }
  }
}

INLINE void load_back_columns(__global const uint *gradient, __global const uint *raw_output,
                              __local const float4 *norms, __local uint *tile, uint chunk, uint n, int left,
                              int top) {
  for (uint i = (uint)get_local_id(0); i < PLANES * (TILE_Y + 2) * 2; i += GROUP) {
    uint side = i & 1u, row = (i >> 1) % (TILE_Y + 2), plane = (i >> 1) / (TILE_Y + 2);
    uint c = chunk * CHUNK + 2u * plane;
    int y = top + (int)row - 1, x = side ? left + TILE_X : left - 1;
    float even = 0.0f, odd = 0.0f;
    if (y >= 0 && y < ROWS && x >= 0 && x < COLUMNS) {
      uint at = (uint)y * COLUMNS + (uint)x;
      even = raw(gradient, CIN, n, c, MAP, at);
      odd = raw(gradient, CIN, n, c + 1u, MAP, at);
      if (!NORMED) even = back_norm(even, raw(raw_output, CIN, n, c, MAP, at), norms[c]);
      if (!NORMED) odd = back_norm(odd, raw(raw_output, CIN, n, c + 1u, MAP, at), norms[c + 1u]);
    }
    put(tile, plane * PLANE + row * PITCH + (side ? TILE_X + 1u : 0u), even, odd);
  }
}
#endif

#define COARSE_Y (TILE_Y / 2 + 2)
#define COARSE_X (TILE_X / 2 + 2)

/* A 2x2 block of fine pixels (2i-1, 2i) x (2j-1, 2j) of the bilinear up-sampling depends on the coarse block
 * (i-1, i) x (j-1, j); halves of pixels at the edge repeat the edge. */
INLINE void blend(const float c[4], float fine[4]) {
  float l0 = 0.75f * c[0] + 0.25f * c[1], r0 = 0.25f * c[0] + 0.75f * c[1];
  float l1 = 0.75f * c[2] + 0.25f * c[3], r1 = 0.25f * c[2] + 0.75f * c[3];
  fine[0] = 0.75f * l0 + 0.25f * l1;
  fine[1] = 0.75f * r0 + 0.25f * r1;
  fine[2] = 0.25f * l0 + 0.75f * l1;
  fine[3] = 0.25f * r0 + 0.75f * r1;
}

/* The chunk's tile of the up-sampled source: coarse tile with its halo to local memory, normalised, blended. */
INLINE void load_up(__global const uint *source, __local const float2 *norms, __local float *coarse,
                    __local uint *tile, uint chunk, uint n, int left, int top) {
  for (uint i = (uint)get_local_id(0); i < CHUNK * COARSE_Y * COARSE_X; i += GROUP) {
    uint x = i % COARSE_X, y = i / COARSE_X % COARSE_Y, c = chunk * CHUNK + i / COARSE_X / COARSE_Y;
    int from_y = clamp(top / 2 - 1 + (int)y, 0, OWN_ROWS / 2 - 1);
    int from_x = clamp(left / 2 - 1 + (int)x, 0, OWN_COLUMNS / 2 - 1);
    float value = raw(source, UP_CHANNELS, n, c, HALF_MAP, (uint)(from_y * HALF_COLUMNS + from_x));
    coarse[i] = norm_relu(value, norms[c]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = (uint)get_local_id(0); i < PLANES * (TILE_Y / 2 + 1) * (TILE_X / 2 + 1); i += GROUP) {
    uint j = i % (TILE_X / 2 + 1), k = i / (TILE_X / 2 + 1) % (TILE_Y / 2 + 1);
    uint plane = i / (TILE_X / 2 + 1) / (TILE_Y / 2 + 1);
    uint y = (uint)top + 2u * k, x = (uint)left + 2u * j; /* the own sizes are even here */
    bool above = y > 0u && y <= OWN_ROWS, below = y < OWN_ROWS;
    bool before = x > 0u && x <= OWN_COLUMNS, after = x < OWN_COLUMNS;
    bool inside[4] = {above && before, above && after, below && before, below && after};
    float fine[2][4];
    UNROLL for (uint z = 0u; z < 2u; z++) {
      __local const float *from = &coarse[((plane * 2u + z) * COARSE_Y + k) * COARSE_X + j];
      float corners[4] = {from[0], from[1], from[COARSE_X], from[COARSE_X + 1]};
      blend(corners, fine[z]);
    }
    uint place = plane * PLANE + 2u * k * PITCH + 2u * j;
    UNROLL for (uint e = 0u; e < 4u; e++)
      put(tile, place + (e >> 1) * PITCH + (e & 1u), inside[e] ? fine[0][e] : 0.0f, inside[e] ? fine[1][e] : 0.0f);
  }
}

/* ---- products -------------------------------------------------------------------------------------------- */

/* The first layer has one channel or two, one at a time: plain multiply-adds. */
INLINE void multiply_image(__local const uint *tile, __global const float4 *weights, uint outputs, uint t,
                           float acc[STRIP][2][4]) {
  float w[9][4];
  UNROLL for (int tap = 0; tap < 9; tap++) {
    float4 four = weights[(outputs * 9 + tap) * 4 + t];
    w[tap][0] = four.x, w[tap][1] = four.y, w[tap][2] = four.z, w[tap][3] = four.w;
  }
  UNROLL for (int r = 0; r < STRIP + 2; r++) {
    float2 a = *(__local const float2 *)(tile + r * PITCH), b = *(__local const float2 *)(tile + r * PITCH + 2);
    UNROLL for (int dy = 0; dy < 3; dy++)
      if (r - dy >= 0 && r - dy < STRIP) UNROLL for (int k = 0; k < 2; k++) UNROLL for (int e = 0; e < 2; e++) {
        float w0 = w[dy * 3][2 * k + e], w1 = w[dy * 3 + 1][2 * k + e], w2 = w[dy * 3 + 2][2 * k + e];
        float *d = acc[r - dy][k];
        d[e] = fma(a.x, w0, fma(a.y, w1, fma(b.x, w2, d[e])));
        d[2 + e] = fma(a.y, w0, fma(b.x, w1, fma(b.y, w2, d[2 + e])));
      }
  }
}

#ifdef L2SR_AMD
#ifdef L2SR_CDNA
/* A wave multiplies for both of its warps: acc[r][w] is of warp w, and lane 16 p + l has its rows 4 p to 4 p + 3. turn_strip
 * gives each warp its own, which makes the order the one below, for other rows. */
INLINE uint strip_pixel(uint m) { return 8u * (m >> 2 & 1u) + 4u * (m >> 3 & 1u) + 2u * (m & 1u) + (m >> 1 & 1u); }
#else
/* Row m of A is pixel strip_pixel(m), column n of B output channel 8 (n >> 3) + 2 (n & 3) + (n >> 2 & 1). So acc of
 * lane (h, k, e, t) holds pixels (h, i2, i0, i1), i being the place, and turn_strip has two bits to exchange. */
INLINE uint strip_pixel(uint m) { return 8u * (m & 1u) + 4u * (m >> 3 & 1u) + 2u * (m >> 1 & 1u) + (m >> 2 & 1u); }
#endif

/* Where the weights of a lane's output begin among those of a tap, in pairs of words. */
INLINE uint weights_place(uint lane) { return (2u * (lane & 3u) + (lane >> 2 & 1u)) * 8u + (lane >> 3 & 1u); }

#ifdef L2SR_CDNA
/* The weights of column dx of the taps: pairs p and p + 4 of input channels, of the lane's output. */
INLINE void load_weights(__global const uint4 *weights, uint lane, int dx, uint b[3][2]) {
  const uint place = weights_place(lane) + 2u * (lane >> 4);
  UNROLL for (int dy = 0; dy < 3; dy++) {
    uint2 w = ((__global const uint2 *)weights)[(uint)(dy * 3 + dx) * 64u + place];
    b[dy][0] = w.x, b[dy][1] = w.y;
  }
}

/* Where a warp's strips begin in the tile. */
INLINE uint strips_start(uint warp) {
  return warp / WARPS_OUT / WARPS_X * STRIP * PITCH + warp / WARPS_OUT % WARPS_X * 16u;
}

/* The products of parts as below, of both warps of the wave; lane: of its 64. */
INLINE void multiply_chunk(__local const uint *tile, __global const uint4 *weights, uint lane,
                           float acc[STRIP][2][4] LANES) {
  const uint warp = (uint)get_local_id(0) >> 6 << 1, column = strip_pixel(lane & 15u);
  NO_UNROLL for (int product = 0; product < 2 * PARTS - 1; product++) NO_UNROLL for (int dx = 0; dx < 3; dx++)
      UNROLL for (uint w = 0u; w < 2u; w++) {
    __local const uint *from = tile + (product % 2 * 8 + (lane >> 4)) * PLANE + strips_start(warp + w) + column +
                               (IMAGES == 2 ? 2u * (column >> 3) : 0u) + dx;
    uint b[3][2];
    load_weights(weights + product / 2 * (CHUNKS * (COUT / 16) * 288) + (warp + w) % WARPS_OUT * 288, lane, dx, b);
    UNROLL for (int r = 0; r < STRIP + 2; r++) {
      uint a[2] = {from[r * PITCH], from[r * PITCH + 4 * PLANE]};
      UNROLL for (int dy = 0; dy < 3; dy++)
        if (r - dy >= 0 && r - dy < STRIP) multiply_wave(acc[r - dy][w], a, b[dy] GIVE_LANES);
    }
  }
}
#else
/* The weights of column dx of the taps: pairs t and t + 4 of input channels, t = 0 to 3, of the lane's output. */
INLINE void load_weights(__global const uint4 *weights, uint lane, int dx, uint b[3][8]) {
  const uint place = weights_place(lane);
  UNROLL for (int dy = 0; dy < 3; dy++) UNROLL for (int t = 0; t < 4; t++) {
    uint2 w = ((__global const uint2 *)weights)[(uint)(dy * 3 + dx) * 64u + place + 2u * (uint)t];
    b[dy][2 * t] = w.x, b[dy][2 * t + 1] = w.y;
  }
}

/* Row r of the tile times the taps of a column. */
INLINE void multiply_row(int r, __local const uint *from, const uint b[3][8], float acc[STRIP][2][4] LANES) {
  uint a[8];
  UNROLL for (int w = 0; w < 8; w++) a[w] = from[((w >> 1) + 4 * (w & 1)) * PLANE];
  UNROLL for (int dy = 0; dy < 3; dy++)
    if (r - dy >= 0 && r - dy < STRIP) multiply_16(&acc[r - dy][0][0], a, b[dy] GIVE_LANES);
}

/* The products of parts as below, a column of taps after the other: the registers hold the weights of one. */
INLINE void multiply_chunk(__local const uint *tile, __global const uint4 *weights, uint lane,
                           float acc[STRIP][2][4] LANES) {
  NO_UNROLL for (int product = 0; product < 2 * PARTS - 1; product++) NO_UNROLL for (int dx = 0; dx < 3; dx++) {
    uint b[3][8];
    load_weights(weights + product / 2 * (CHUNKS * (COUT / 16) * 288), lane, dx, b);
    UNROLL for (int r = 0; r < STRIP + 2; r++)
      multiply_row(r, tile + product % 2 * (8 * PLANE) + r * PITCH + dx, b, acc GIVE_LANES);
  }
}
#endif

/* Exchanges bit `place_mask` of the place with bit `lane_mask` of the lane. */
INLINE void turn_bit(float *c, uint lane, int place_mask, int lane_mask LANES) {
  const bool upper = lane & (uint)lane_mask;
  UNROLL for (int j = 0; j < 4; j++) {
    const int i = j % place_mask + j / place_mask * 2 * place_mask; /* the places whose bit is not set */
    float low = c[i], high = c[i + place_mask], got = shuffle(upper ? low : high, lane_mask GIVE_LANES);
    c[i] = upper ? got : low;
    c[i + place_mask] = upper ? high : got;
  }
}

/* Turns AMD's order into NVIDIA's: lane (g, t) holds pixels 2g, 2g + 1 of channels 2t, 2t + 1, 2t + 8, 2t +
 * 9. */
INLINE void turn_strip(float acc[STRIP][2][4], uint lane LANES) {
  UNROLL for (int r = 0; r < STRIP; r++) {
#ifdef L2SR_CDNA
    turn_bit(&acc[r][0][0], (uint)get_local_id(0), 4, 32 GIVE_LANES);
#endif
    turn_bit(&acc[r][0][0], lane, 4, 8 GIVE_LANES);
    turn_bit(&acc[r][0][0], lane, 1, 4 GIVE_LANES);
  }
}

#else
INLINE void load_weights(__global const uint4 *weights, uint lane, uint b[9][2][2]) {
  UNROLL for (int tap = 0; tap < 9; tap++) {
    uint4 w = weights[tap * 32 + lane];
    b[tap][0][0] = w.x, b[tap][0][1] = w.y, b[tap][1][0] = w.z, b[tap][1][1] = w.w;
  }
}

/* Of a row of the tile a lane's pixels 2g-1 to 2g+2 of a channel pair; 2g and 2g+1 once more: a fragment is four registers
 * side by side, and what stands in two of them would be moved from one to the other. */
enum { ROW_WORDS = 6 };

INLINE void read_pixels(__local const uint *from, uint words[ROW_WORDS]) {
  uint2 a = *(__local const uint2 *)from, b = *(__local const uint2 *)(from + 2);
  words[0] = a.x, words[1] = a.y, words[2] = b.x, words[3] = b.y;
  words[4] = *(volatile __local const uint *)(from + 1), words[5] = *(volatile __local const uint *)(from + 2);
}

/* Row r of the tile times the nine taps: low holds pixels of channels 2t, 2t+1; high of 2t+8. */
INLINE void multiply_row(int r, const uint low[ROW_WORDS], const uint high[ROW_WORDS], const uint b[9][2][2],
                         float acc[STRIP][2][4] LANES) {
  UNROLL for (int dx = 0; dx < 3; dx++) {
    const int at = dx == 1 ? 4 : dx;
    UNROLL for (int dy = 0; dy < 3; dy++)
      if (r - dy >= 0 && r - dy < STRIP)
        UNROLL for (int k = 0; k < 2; k++) MULTIPLY(acc[r - dy][k], low[at], low[at + 1], high[at], high[at + 1],
                                                    b[dy * 3 + dx][k][0], b[dy * 3 + dx][k][1]);
  }
}

/* One chunk: high parts times high parts, and for split operands low x high and high x low. */
INLINE void multiply_chunk(__local const uint *tile, __global const uint4 *weights, uint lane,
                           float acc[STRIP][2][4] LANES) {
  NO_UNROLL for (int part = 0; part < PARTS; part++) {
    uint b[9][2][2];
    load_weights(weights + part * (CHUNKS * (COUT / 16) * 288), lane, b);
    UNROLL for (int r = 0; r < STRIP + 2; r++) {
      uint low[ROW_WORDS], high[ROW_WORDS];
      read_pixels(tile + r * PITCH, low);
      read_pixels(tile + 4 * PLANE + r * PITCH, high);
      multiply_row(r, low, high, b, acc GIVE_LANES);
      if (PARTS == 2 && part == 0) {
        uint low_rest[ROW_WORDS], high_rest[ROW_WORDS];
        read_pixels(tile + 8 * PLANE + r * PITCH, low_rest);
        read_pixels(tile + 12 * PLANE + r * PITCH, high_rest);
        multiply_row(r, low_rest, high_rest, b, acc GIVE_LANES);
      }
    }
  }
}
#endif

/* ---- storing --------------------------------------------------------------------------------------------- */

INLINE void store_pair(__global uint *full, uint n, uint channel, uint y, uint x, const float c[4]) {
#if HALF_STORAGE
  uint at = ((n * (COUT / 2) + channel / 2) * ROWS + y) * COLUMNS + x;
  *(__global uint2 *)&full[at] = (uint2)(pack(c[0], c[1]), pack(c[2], c[3]));
#else
  uint at = ((n * COUT + channel) * ROWS + y) * COLUMNS + x;
  *(__global float2 *)&full[at] = (float2)(c[0], c[2]);
  *(__global float2 *)&full[at + MAP] = (float2)(c[1], c[3]);
#endif
}

INLINE void store_pooled(__global uint *pooled, uint n, uint channel, uint y, uint x, const float c[4],
                         const float d[4]) {
  float even = fmax(fmax(c[0], c[2]), fmax(d[0], d[2])), odd = fmax(fmax(c[1], c[3]), fmax(d[1], d[3]));
#if HALF_STORAGE
  pooled[((n * (COUT / 2) + channel / 2) * HALF_ROWS + (y >> 1)) * HALF_COLUMNS + (x >> 1)] = pack(even, odd);
#else
  uint at = ((n * COUT + channel) * HALF_ROWS + (y >> 1)) * HALF_COLUMNS + (x >> 1);
  pooled[at] = as_uint(even);
  pooled[at + HALF_MAP] = as_uint(odd);
#endif
}

/* Adds pixels (x, x + 1) to the sums; outside the map's own size they become BEYOND instead. */
INLINE void add_to_sums(float c[4], uint y, uint x, float sum[2], float square[2]) {
#ifdef BEYOND
  UNROLL for (int j = 0; j < 4; j++) {
    bool inside = y < OWN_ROWS && x + (uint)(j >> 1) < OWN_COLUMNS;
    float own = inside ? c[j] : 0.0f;
    sum[j & 1] += own;
    square[j & 1] = fma(own, own, square[j & 1]);
    if (!inside) c[j] = BEYOND;
  }
#else
  sum[0] += c[0] + c[2];
  sum[1] += c[1] + c[3];
  square[0] = fma(c[0], c[0], fma(c[2], c[2], square[0]));
  square[1] = fma(c[1], c[1], fma(c[3], c[3], square[1]));
#endif
}

/* The strip's pixels (x, x + 1) of channels (first, first + 1) and (first + 8, first + 9); adds to the sums. */
INLINE void store_strip(float acc[STRIP][2][4], __global uint *full, __global uint *pooled, uint n, uint first,
                        uint y, uint x, float sum[2][2], float square[2][2]) {
  UNROLL for (int r = 0; r < STRIP; r++) UNROLL for (int k = 0; k < 2; k++) {
    float *c = acc[r][k];
    if (PRECISION == 0 && SOURCE != 0) UNROLL for (int j = 0; j < 4; j++) c[j] *= 1.0f / WEIGHT_SCALE;
    add_to_sums(c, y + r, x, sum[k], square[k]);
    if (STORE_FULL) store_pair(full, n, first + 8 * k, y + r, x, c);
  }
  if (STORE_POOLED)
    UNROLL for (int r = 0; r < STRIP; r += 2)
      UNROLL for (int k = 0; k < 2; k++) store_pooled(pooled, n, first + 8 * k, y + r, x, acc[r][k], acc[r + 1][k]);
}

/* Sums over the group's pixels of every channel, in a fixed order within the group. */
INLINE void store_sums(float sum[2][2], float square[2][2], __local float2 *reduced, __global long *sums, uint n,
                       uint out_group LANES) {
  const uint item = (uint)get_local_id(0), lane = item & 31u, warp = item >> 5, g = lane >> 2, t = lane & 3u;
  const uint warp_out = warp % WARPS_OUT, place = warp / WARPS_OUT;
  UNROLL for (int k = 0; k < 2; k++) UNROLL for (int e = 0; e < 2; e++) {
    float a = sum[k][e], b = square[k][e];
    a += shuffle(a, 4 GIVE_LANES), b += shuffle(b, 4 GIVE_LANES);
    a += shuffle(a, 8 GIVE_LANES), b += shuffle(b, 8 GIVE_LANES);
    if (IMAGES == 1) a += shuffle(a, 16 GIVE_LANES), b += shuffle(b, 16 GIVE_LANES);
    uint channel = warp_out * 16 + k * 8 + 2 * t + e;
    if (IMAGES == 1 ? g == 0u : (g & 3u) == 0u)
      reduced[(place * IMAGES + (IMAGES == 1 ? 0u : g >> 2)) * GROUP_OUT + channel] = (float2)(a, b);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < GROUP_OUT * IMAGES) {
    uint image = item / GROUP_OUT, channel = item % GROUP_OUT;
    float2 total = reduced[image * GROUP_OUT + channel];
    for (uint w = 1u; w < WARPS_X * WARPS_Y; w++) total += reduced[(w * IMAGES + image) * GROUP_OUT + channel];
    uint at = 2u * ((n + image) * COUT + out_group * GROUP_OUT + channel);
    add_sum(sums, at, total.x);
    add_sum(sums, at + 1u, total.y);
  }
}

#if SOURCE == 3
/* Stores the gradient of the input and, with TARGET_SUMS, sums what its block's norm needs on the way back. */
INLINE void store_gradient(float acc[STRIP][2][4], __global uint *full, __global const uint *target,
                           __global const long *target_sums, uint n, uint first, uint y, uint x, float sum[2][2],
                           float square[2][2]) {
  UNROLL for (int k = 0; k < 2; k++) {
    uint channel = first + 8 * k;
    float2 norms[2];
    if (TARGET_SUMS)
      UNROLL for (uint e = 0u; e < 2u; e++) norms[e] = norm_of(target_sums + 2 * (n * COUT + channel + e), OWN_MAP);
    UNROLL for (int r = 0; r < STRIP; r++) {
      float *c = acc[r][k];
      if (PRECISION == 0) UNROLL for (int j = 0; j < 4; j++) c[j] *= 1.0f / WEIGHT_SCALE;
      store_pair(full, n, channel, y + r, x, c);
      if (TARGET_SUMS) UNROLL for (uint j = 0u; j < 4u; j++) {
        uint e = j & 1u, at = (y + r) * COLUMNS + x + (j >> 1);
        float normal = fma(raw(target, COUT, n, channel + e, MAP, at), norms[e].x, norms[e].y);
        float passed = normal > 0.0f ? c[j] : 0.0f;
        sum[k][e] += passed;
        square[k][e] = fma(passed, normal, square[k][e]);
      }
    }
  }
}
#endif

/* Where a lane's fragments of a strip start: plane, column. */
#if defined(L2SR_AMD) && SOURCE != 0
#define LANE_PLANE 0u
#define LANE_COLUMN strip_pixel(lane & 15u)
#define LANE_COLUMN_PAIRED LANE_COLUMN + 2 * (LANE_COLUMN >> 3)
#else
#define LANE_PLANE t
#define LANE_COLUMN 2 * g
#define LANE_COLUMN_PAIRED 2 * g + 2 * (g >> 2)
#endif

#ifdef L2SR_CDNA
#define MULTIPLY_CHUNK(chunk)                                                                                \
  multiply_chunk(tile, weights + ((chunk) * (COUT / 16) + out_group * WARPS_OUT) * 288, item & 63u, acc GIVE_LANES)
#else
#define MULTIPLY_CHUNK(chunk)                                                                                \
  multiply_chunk(mine, weights + ((chunk) * (COUT / 16) + outputs) * 288, lane, acc GIVE_LANES)
#endif

/* ---- one layer ------------------------------------------------------------------------------------------- */

#if SOURCE == 3 && !STAGED
/* Backward: the gradient of a layer's input from that of its activation; weights turned around and exchanged. */
__kernel GROUP_OF(GROUP)
void block_gradient(__global const uint *restrict gradient, __global const uint *restrict raw_output,
                             __global const long *restrict sums, __global const long *restrict back,
                             __global const uint4 *restrict weights, __global uint *restrict full,
                             __global const uint *restrict target, __global const long *restrict target_sums,
                             __global long *restrict target_back, __global uint *restrict kept, uint rows) {
  OPEN_LANES(GROUP);
  __local uint tile[PLANES * PARTS * PLANE] __attribute__((aligned(16)));
  __local float4 norms[IMAGES * CIN];
  __local float2 reduced[WARPS_X * WARPS_Y * IMAGES * GROUP_OUT];
  const uint item = (uint)get_local_id(0), lane = item & 31u, warp = item >> 5, g = lane >> 2, t = lane & 3u;
  const uint out_group = (uint)get_group_id(0) % OUT_GROUPS, rest = (uint)get_group_id(0) / OUT_GROUPS;
  const uint n = rest / TILES_ALL * IMAGES;
  const int left = (int)(rest % TILES_ALL % TILES_X) * TILE_X, top = (int)(rest % TILES_ALL / TILES_X) * TILE_Y;
  const uint warp_out = warp % WARPS_OUT, warp_x = warp / WARPS_OUT % WARPS_X, warp_y = warp / WARPS_OUT / WARPS_X;
  const uint outputs = out_group * WARPS_OUT + warp_out;
  float acc[STRIP][2][4], sum[2][2] = {{0}}, square[2][2] = {{0}};
  UNROLL for (int r = 0; r < STRIP; r++) UNROLL for (int k = 0; k < 2; k++)
      UNROLL for (int j = 0; j < 4; j++) acc[r][k][j] = 0.0f;
  for (uint i = item; i < IMAGES * CIN && !NORMED; i += GROUP)
    norms[i] = back_norm_of(sums + 2 * (n * CIN + i), back + 2 * (n * CIN + i), OWN_MAP);
  clear_columns(tile);
#if defined(L2SR_CDNA) /* a wave finds its warps' */
#elif IMAGES == 2
  __local const uint *mine = tile + LANE_PLANE * PLANE + warp_y * STRIP * PITCH + LANE_COLUMN_PAIRED;
#else
  __local const uint *mine = tile + LANE_PLANE * PLANE + warp_y * STRIP * PITCH + warp_x * 16 + LANE_COLUMN;
#endif
  NO_UNROLL for (uint chunk = 0u; chunk < CHUNKS; chunk++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    load_back_rows(gradient, raw_output, norms, tile, out_group ? 0 : kept, chunk, n, left, top);
    if (IMAGES == 1 && COLUMNS > TILE_X) load_back_columns(gradient, raw_output, norms, tile, chunk, n, left, top);
    barrier(CLK_LOCAL_MEM_FENCE);
    MULTIPLY_CHUNK(chunk);
  }
#ifdef L2SR_AMD
  turn_strip(acc, lane GIVE_LANES);
#endif
  const uint image = IMAGES == 2 ? n + (g >> 2) : n;
  const uint x = IMAGES == 2 ? 2 * (g & 3u) : (uint)left + warp_x * 16 + 2 * g;
  store_gradient(acc, full, target, target_sums, image, outputs * 16 + 2 * t, (uint)top + warp_y * STRIP, x, sum,
                 square);
  if (TARGET_SUMS) store_sums(sum, square, reduced, target_back, n, out_group GIVE_LANES);
}

#elif !STAGED
__kernel GROUP_OF(GROUP)
void block_forward(__global const uint *restrict first, __global const long *restrict first_sums,
                            __global const uint *restrict second, __global const long *restrict second_sums,
                            __global const uint4 *restrict weights, __global uint *restrict full,
                            __global uint *restrict pooled, __global long *restrict sums, uint image, uint rows) {
  OPEN_LANES(GROUP);
  __local uint tile[PLANES * PARTS * PLANE] __attribute__((aligned(16)));
  __local float2 norms[IMAGES * CIN], reduced[WARPS_X * WARPS_Y * IMAGES * GROUP_OUT];
#if SOURCE == 2
  __local float coarse[CHUNK * COARSE_Y * COARSE_X];
#endif
  const uint item = (uint)get_local_id(0), lane = item & 31u, warp = item >> 5, g = lane >> 2, t = lane & 3u;
  const uint out_group = (uint)get_group_id(0) % OUT_GROUPS, rest = (uint)get_group_id(0) / OUT_GROUPS;
  const uint n = rest / TILES_ALL * IMAGES + image;
  const int left = (int)(rest % TILES_ALL % TILES_X) * TILE_X, top = (int)(rest % TILES_ALL / TILES_X) * TILE_Y;
  const uint warp_out = warp % WARPS_OUT, warp_x = warp / WARPS_OUT % WARPS_X, warp_y = warp / WARPS_OUT / WARPS_X;
  const uint outputs = out_group * WARPS_OUT + warp_out; /* sixteens of output channels */
  float acc[STRIP][2][4], sum[2][2] = {{0}}, square[2][2] = {{0}};
  UNROLL for (int r = 0; r < STRIP; r++) UNROLL for (int k = 0; k < 2; k++)
      UNROLL for (int j = 0; j < 4; j++) acc[r][k][j] = 0.0f;
#if SOURCE != 0
  for (uint i = item; i < IMAGES * CIN; i += GROUP)
    norms[i] = source_norm(first_sums, second_sums, n + i / CIN, i % CIN);
#endif
  clear_columns(tile);
#if defined(L2SR_CDNA) && SOURCE != 0 /* a wave finds its warps' */
#elif IMAGES == 2
  __local const uint *mine = tile + LANE_PLANE * PLANE + warp_y * STRIP * PITCH + LANE_COLUMN_PAIRED;
#else
  __local const uint *mine =
      tile + (SOURCE == 0 ? 0u : LANE_PLANE) * PLANE + warp_y * STRIP * PITCH + warp_x * 16 + LANE_COLUMN;
#endif
  NO_UNROLL for (uint chunk = 0u; chunk < CHUNKS; chunk++) {
    barrier(CLK_LOCAL_MEM_FENCE);
#if SOURCE == 2
    if (chunk * CHUNK < UP_CHANNELS) {
      load_up(first, norms, coarse, tile, chunk, n, left, top);
    } else {
      load_rows(second, CIN - UP_CHANNELS, UP_CHANNELS, norms, tile, chunk, n, left, top);
      if (COLUMNS > TILE_X)
        load_columns(second, CIN - UP_CHANNELS, UP_CHANNELS, norms, tile, chunk, n, left, top);
    }
#else
    load_rows(first, CIN, 0u, norms, tile, chunk, n, left, top);
    if (IMAGES == 1 && COLUMNS > TILE_X) load_columns(first, CIN, 0u, norms, tile, chunk, n, left, top);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
#if SOURCE == 0
    multiply_image(mine, (__global const float4 *)weights + chunk * (COUT / 16) * 36, outputs, t, acc);
#else
    MULTIPLY_CHUNK(chunk);
#endif
  }
#if defined(L2SR_AMD) && SOURCE != 0
  turn_strip(acc, lane GIVE_LANES);
#endif
  const uint own = IMAGES == 2 ? n + (g >> 2) : n;
  const uint x = IMAGES == 2 ? 2 * (g & 3u) : (uint)left + warp_x * 16 + 2 * g;
  store_strip(acc, full, pooled, own, outputs * 16 + 2 * t, (uint)top + warp_y * STRIP, x, sum, square);
  store_sums(sum, square, reduced, sums, n, out_group GIVE_LANES);
}

#else /* STAGED: half storage; the whole tile is in flight at once, raw, normalised as it is used */

#define COLUMN0 4                /* where the tile starts: copies of 16 bytes start on a multiple of 4 words */
#if SOURCE == 3
#define OUTSIDE 0u
#else
#define OUTSIDE 0xFBFFFBFFu      /* the most negative halves: ReLU makes zeros of them after the norm */
#endif
#define ONE_PAIR 0x3C003C00u
#define THREE_QUARTERS 0x3A003A00u
#define ONE_QUARTER 0x34003400u

/* Starts the copies of a chunk of planes from a source of `channels` channels whose first is `begin`. */
INLINE void stage_rows(__global const uint *source, uint channels, uint begin, __local uint *tile, uint chunk,
                       uint n, int left, int top) {
  const uint item = (uint)get_local_id(0), lane = item & 31u, warp = item >> 5;
  const uint q = lane % LANES_X, lane_row = lane / LANES_X;
  const uint plane0 = n * (channels / 2) + (chunk * CHUNK - begin) / 2;
  NO_UNROLL for (uint i = 0u; i < WARP_UNITS; i++) {
    uint unit = warp + i * WARPS, plane = unit / ROW_STEPS, row = unit % ROW_STEPS * LANE_ROWS + lane_row;
    int y = top + (int)row - 1;
    if (unit >= UNITS || row >= TILE_Y + 2) continue;
    __local uint *to = tile + plane * PLANE + row * PITCH + COLUMN0 + 4 * q;
    if (y >= 0 && y < ROWS)
      COPY16(to, &source[((plane0 + plane) * ROWS + (uint)y) * COLUMNS + (uint)left + 4 * q]);
    else
      *(__local uint4 *)to = (uint4)(OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE);
  }
  NO_UNROLL for (uint i = item; i < PLANES * (TILE_Y + 2) * 2; i += GROUP) {
    uint side = i & 1u, row = (i >> 1) % (TILE_Y + 2), plane = (i >> 1) / (TILE_Y + 2);
    int y = top + (int)row - 1, x = side ? left + TILE_X : left - 1;
    __local uint *to = tile + plane * PLANE + row * PITCH + (side ? COLUMN0 + TILE_X : COLUMN0 - 1);
    if (y >= 0 && y < ROWS && x >= 0 && x < COLUMNS)
      COPY4(to, &source[((plane0 + plane) * ROWS + (uint)y) * COLUMNS + (uint)x]);
    else
      *to = OUTSIDE;
  }
}

#if SOURCE == 2
INLINE void stage_coarse(__global const uint *source, __local uint *coarse, uint chunk, uint n, int left, int top) {
  NO_UNROLL for (uint i = (uint)get_local_id(0); i < PLANES * COARSE_Y * COARSE_X; i += GROUP) {
    uint x = i % COARSE_X, y = i / COARSE_X % COARSE_Y, plane = i / COARSE_X / COARSE_Y;
    int from_y = clamp(top / 2 - 1 + (int)y, 0, OWN_ROWS / 2 - 1);
    int from_x = clamp(left / 2 - 1 + (int)x, 0, OWN_COLUMNS / 2 - 1);
    COPY4(&coarse[i], &source[((n * (UP_CHANNELS / 2) + chunk * PLANES + plane) * HALF_ROWS + (uint)from_y) *
                                  HALF_COLUMNS + (uint)from_x]);
  }
}

/* Two neighbours of a coarse row, normalised and blended to the fine columns between them. */
INLINE uint2 blend_columns(__local const uint *from, uint2 norm) {
  uint left = fma_relu_pair(from[0], norm.x, norm.y), right = fma_relu_pair(from[1], norm.x, norm.y);
  return (uint2)(fma_pair(left, THREE_QUARTERS, mul_pair(right, ONE_QUARTER)),
                 fma_pair(right, THREE_QUARTERS, mul_pair(left, ONE_QUARTER)));
}

#define COARSE_ROWS (TILE_Y / 2 + 1)                         /* pairs of rows that are blended */
#define BAND (COARSE_ROWS % 3 == 0 ? 3 : COARSE_ROWS)        /* of them that a work-item takes, one after the other */

/* Blends the coarse tile into the fine one; normalised, so its fragments need no norm. */
INLINE void blend_coarse(__local const uint *coarse, __local const uint2 *norms, __local uint *tile, uint chunk,
                         int left, int top) {
  for (uint i = (uint)get_local_id(0); i < PLANES * (COARSE_ROWS / BAND) * (TILE_X / 2 + 1); i += GROUP) {
    uint j = i % (TILE_X / 2 + 1), first = i / (TILE_X / 2 + 1) % (COARSE_ROWS / BAND) * BAND;
    uint plane = i / (TILE_X / 2 + 1) / (COARSE_ROWS / BAND);
    uint x = (uint)left + 2u * j; /* the own sizes are even here */
    bool before = x > 0u && x <= OWN_COLUMNS, after = x < OWN_COLUMNS;
    __local const uint *from = &coarse[(plane * COARSE_Y + first) * COARSE_X + j];
    __local uint *to = tile + plane * PLANE + 2u * first * PITCH + 2u * j + COLUMN0 - 1;
    uint2 norm = norms[chunk * PLANES + plane], upper = blend_columns(from, norm);
    UNROLL for (uint k = 0u; k < BAND; k++, to += 2 * PITCH) {
      uint y = (uint)top + 2u * (first + k);
      bool above = y > 0u && y <= OWN_ROWS, below = y < OWN_ROWS;
      uint2 lower = blend_columns(from + (k + 1u) * COARSE_X, norm);
      to[0] = above && before ? fma_pair(upper.x, THREE_QUARTERS, mul_pair(lower.x, ONE_QUARTER)) : 0u;
      to[1] = above && after ? fma_pair(upper.y, THREE_QUARTERS, mul_pair(lower.y, ONE_QUARTER)) : 0u;
      to[PITCH] = below && before ? fma_pair(lower.x, THREE_QUARTERS, mul_pair(upper.x, ONE_QUARTER)) : 0u;
      to[PITCH + 1] = below && after ? fma_pair(lower.y, THREE_QUARTERS, mul_pair(upper.y, ONE_QUARTER)) : 0u;
      upper = lower;
    }
  }
}
#endif

/* The norms of a lane's channel pairs, twice for what is needed twice (read_pixels): the compiler must not see that they
 * are the same. */
typedef struct {
  uint2 low, high, low_again, high_again;
} lane_norms;

INLINE void normalise(uint words[ROW_WORDS], uint2 norm, uint2 again) {
  words[4] = fma_relu_pair(words[1], again.x, again.y);
  words[5] = fma_relu_pair(words[2], again.x, again.y);
  UNROLL for (int j = 0; j < 4; j++) words[j] = fma_relu_pair(words[j], norm.x, norm.y);
}

INLINE void multiply_staged(__local const uint *tile, const uint b[9][2][2], const lane_norms *norms,
                            float acc[STRIP][2][4] LANES) {
  UNROLL for (int r = 0; r < STRIP + 2; r++) {
    __local const uint *from = tile + r * PITCH;
    uint2 l0 = *(__local const uint2 *)from, l1 = *(__local const uint2 *)(from + 2);
    uint2 l2 = *(__local const uint2 *)(from + 4), h0 = *(__local const uint2 *)(from + 4 * PLANE);
    uint2 h1 = *(__local const uint2 *)(from + 4 * PLANE + 2), h2 = *(__local const uint2 *)(from + 4 * PLANE + 4);
    uint low[ROW_WORDS] = {l0.y, l1.x, l1.y, l2.x}, high[ROW_WORDS] = {h0.y, h1.x, h1.y, h2.x};
#if SOURCE == 3
    UNROLL for (int j = 0; j < 2; j++) {
      low[4 + j] = *(volatile __local const uint *)(from + 2 + j);
      high[4 + j] = *(volatile __local const uint *)(from + 4 * PLANE + 2 + j);
    }
#else
    normalise(low, norms->low, norms->low_again);
    normalise(high, norms->high, norms->high_again);
#endif
    multiply_row(r, low, high, b, acc GIVE_LANES);
  }
}

#if SOURCE == 3
/* Does the same where NORMED: gradients are multiplied as they come. */
__kernel void block_gradient(__global const uint *restrict gradient, __global const uint *restrict raw_output,
                             __global const long *restrict sums, __global const long *restrict back,
                             __global const uint4 *restrict weights, __global uint *restrict full,
                             __global const uint *restrict target, __global const long *restrict target_sums,
                             __global long *restrict target_back, __global uint *restrict kept, uint rows) {
  OPEN_LANES(GROUP);
  __local uint tiles[STAGES * PLANES * PLANE] __attribute__((aligned(16)));
  __local float2 reduced[WARPS_X * WARPS_Y * GROUP_OUT];
  const uint item = (uint)get_local_id(0), lane = item & 31u, warp = item >> 5, g = lane >> 2, t = lane & 3u;
  const uint out_group = (uint)get_group_id(0) % OUT_GROUPS, rest = (uint)get_group_id(0) / OUT_GROUPS;
  const uint n = rest / TILES_ALL;
  const int left = (int)(rest % TILES_ALL % TILES_X) * TILE_X;
  const int strip_top = (int)(rest % TILES_ALL / TILES_X) * TILE_Y * TILES;
  const uint warp_out = warp % WARPS_OUT, warp_x = warp / WARPS_OUT % WARPS_X, warp_y = warp / WARPS_OUT / WARPS_X;
  const uint outputs = out_group * WARPS_OUT + warp_out;
  float acc[STRIP][2][4], sum[2][2] = {{0}}, square[2][2] = {{0}};
  UNROLL for (int r = 0; r < STRIP; r++) UNROLL for (int k = 0; k < 2; k++)
      UNROLL for (int j = 0; j < 4; j++) acc[r][k][j] = 0.0f;
#define STAGE(step)                                                                                          \
  stage_rows(gradient, CIN, 0u, tiles + (step) % STAGES * PLANES * PLANE, (step) % CHUNKS, n, left,          \
             strip_top + (int)((step) / CHUNKS) * TILE_Y)
  STAGE(0u);
  COPY_COMMIT();
  uint b[9][2][2];
  NO_UNROLL for (uint step = 0u; step < CHUNKS * TILES; step++) {
    const uint chunk = step % CHUNKS;
    load_weights(weights + (chunk * (COUT / 16) + outputs) * 288, lane, b);
    COPY_WAIT();
    barrier(CLK_LOCAL_MEM_FENCE);
    if (step + 1u < CHUNKS * TILES) STAGE(step + 1u);
    COPY_COMMIT();
    multiply_staged(tiles + step % STAGES * PLANES * PLANE + t * PLANE + warp_y * STRIP * PITCH + warp_x * 16 + 2 * g +
                        COLUMN0 - 2,
                    b, 0, acc GIVE_LANES);
    if (chunk == CHUNKS - 1u) {
      store_gradient(acc, full, target, target_sums, n, outputs * 16 + 2 * t,
                     (uint)strip_top + step / CHUNKS * TILE_Y + warp_y * STRIP, (uint)left + warp_x * 16 + 2 * g, sum,
                     square);
      UNROLL for (int r = 0; r < STRIP; r++) UNROLL for (int k = 0; k < 2; k++)
          UNROLL for (int j = 0; j < 4; j++) acc[r][k][j] = 0.0f;
    }
  }
  if (TARGET_SUMS) store_sums(sum, square, reduced, target_back, n, out_group GIVE_LANES);
}

#else
__kernel void block_forward(__global const uint *restrict first, __global const long *restrict first_sums,
                            __global const uint *restrict second, __global const long *restrict second_sums,
                            __global const uint4 *restrict weights, __global uint *restrict full,
                            __global uint *restrict pooled, __global long *restrict sums, uint image, uint rows) {
  OPEN_LANES(GROUP);
  __local uint tiles[STAGES * PLANES * PLANE] __attribute__((aligned(16)));
  __local uint2 norms[CIN]; /* of CIN / 2 pairs, twice */
  __local float2 reduced[WARPS_X * WARPS_Y * GROUP_OUT];
#if SOURCE == 2
  __local uint coarse[PLANES * COARSE_Y * COARSE_X];
#endif
  const uint item = (uint)get_local_id(0), lane = item & 31u, warp = item >> 5, g = lane >> 2, t = lane & 3u;
  const uint out_group = (uint)get_group_id(0) % OUT_GROUPS, rest = (uint)get_group_id(0) / OUT_GROUPS;
  const uint n = rest / TILES_ALL + image;
  const int left = (int)(rest % TILES_ALL % TILES_X) * TILE_X;
  const int strip_top = (int)(rest % TILES_ALL / TILES_X) * TILE_Y * TILES;
  const uint warp_out = warp % WARPS_OUT, warp_x = warp / WARPS_OUT % WARPS_X, warp_y = warp / WARPS_OUT / WARPS_X;
  const uint outputs = out_group * WARPS_OUT + warp_out;
  float acc[STRIP][2][4], sum[2][2] = {{0}}, square[2][2] = {{0}};
  UNROLL for (int r = 0; r < STRIP; r++) UNROLL for (int k = 0; k < 2; k++)
      UNROLL for (int j = 0; j < 4; j++) acc[r][k][j] = 0.0f;
  for (uint i = item; i < CIN / 2; i += GROUP) {
    float2 even = source_norm(first_sums, second_sums, n, 2 * i);
    float2 odd = source_norm(first_sums, second_sums, n, 2 * i + 1);
    norms[i] = norms[CIN / 2 + i] = (uint2)(pack(even.x, odd.x), pack(even.y, odd.y));
  }
#if SOURCE == 2
#define STAGE(step)                                                                                          \
  do {                                                                                                       \
    uint chunk_ = (step) % CHUNKS;                                                                           \
    int top_ = strip_top + (int)((step) / CHUNKS) * TILE_Y;                                                  \
    __local uint *to_ = tiles + (step) % STAGES * PLANES * PLANE;                                            \
    if (chunk_ * CHUNK < UP_CHANNELS)                                                                        \
      stage_coarse(first, coarse, chunk_, n, left, top_);                                                    \
    else                                                                                                     \
      stage_rows(second, CIN - UP_CHANNELS, UP_CHANNELS, to_, chunk_, n, left, top_);                        \
  } while (0)
#else
#define STAGE(step)                                                                                          \
  stage_rows(first, CIN, 0u, tiles + (step) % STAGES * PLANES * PLANE, (step) % CHUNKS, n, left,             \
             strip_top + (int)((step) / CHUNKS) * TILE_Y)
#endif
  if (STAGES == 2) {
    STAGE(0u);
    COPY_COMMIT();
  }
  uint b[9][2][2];
  if (CHUNKS == 1) load_weights(weights + outputs * 288, lane, b);
  NO_UNROLL for (uint step = 0u; step < CHUNKS * TILES; step++) {
    const uint chunk = step % CHUNKS;
    const int top = strip_top + (int)(step / CHUNKS) * TILE_Y;
    __local uint *tile = tiles + step % STAGES * PLANES * PLANE;
    if (STAGES == 1) {
      if (step) barrier(CLK_LOCAL_MEM_FENCE);
      STAGE(step);
      COPY_COMMIT();
    }
    if (CHUNKS > 1) load_weights(weights + (chunk * (COUT / 16) + outputs) * 288, lane, b);
    COPY_WAIT();
    barrier(CLK_LOCAL_MEM_FENCE);
    __local const uint2 *mine = norms + chunk * PLANES + t;
    lane_norms lane_norm = {mine[0], mine[4], mine[CIN / 2], mine[CIN / 2 + 4]};
#if SOURCE == 2
    if (chunk * CHUNK < UP_CHANNELS) {
      blend_coarse(coarse, norms, tile, chunk, left, top);
      lane_norm.low = lane_norm.high = lane_norm.low_again = lane_norm.high_again = (uint2)(ONE_PAIR, 0u);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
    if (STAGES == 2 && step + 1u < CHUNKS * TILES) STAGE(step + 1u);
    COPY_COMMIT();
    multiply_staged(tile + t * PLANE + warp_y * STRIP * PITCH + warp_x * 16 + 2 * g + COLUMN0 - 2, b, &lane_norm,
                    acc GIVE_LANES);
    if (chunk == CHUNKS - 1u) {
      store_strip(acc, full, pooled, n, outputs * 16 + 2 * t, (uint)top + warp_y * STRIP,
                  (uint)left + warp_x * 16 + 2 * g, sum, square);
      UNROLL for (int r = 0; r < STRIP; r++) UNROLL for (int k = 0; k < 2; k++)
          UNROLL for (int j = 0; j < 4; j++) acc[r][k][j] = 0.0f;
    }
  }
  store_sums(sum, square, reduced, sums, n, out_group GIVE_LANES);
}
#endif
#endif

/* ---- around the layers ----------------------------------------------------------------------------------- */

/* Three 1x1 convolutions without activations between them are one: COUT weights and a bias. One work-item. */
__kernel void block_fold(__global const float *restrict weight0, __global const float *restrict bias0,
                         __global const float *restrict weight1, __global const float *restrict bias1,
                         __global const float *restrict weight2, __global const float *restrict bias2,
                         __global float *restrict folded, uint middle, uint rows) {
  if (get_global_id(0) >= rows) return;
  float bias = bias2[0] + weight2[0] * bias1[0];
  for (uint j = 0u; j < middle; j++) bias += weight2[0] * weight1[j] * bias0[j];
  for (uint c = 0u; c < COUT; c++) {
    float sum = 0.0f;
    for (uint j = 0u; j < middle; j++) sum += weight1[j] * weight0[j * COUT + c];
    folded[c] = weight2[0] * sum;
  }
  folded[COUT] = bias;
}

/* The folded 1x1 convolution of the last block's normalised output: four pixels a work-item. A row is a group
 * of 256 of them, of one image. */
#define HEAD_GROUPS ((IMAGE_MAP / 4 + 255) / 256)
#define HEAD_COLUMNS (IMAGE_COLUMNS / 4)

__kernel void block_head(__global const uint *restrict full, __global const long *restrict sums,
                         __global const float *restrict folded, __global float4 *restrict output, uint rows) {
  __local float2 norms[COUT];
  const uint item = (uint)get_local_id(0), n = (uint)get_group_id(0) / HEAD_GROUPS;
  const uint own = (uint)get_group_id(0) % HEAD_GROUPS * 256 + item;
  const uint pixel = own / HEAD_COLUMNS * (COLUMNS / 4) + own % HEAD_COLUMNS;
  if (item < COUT) norms[item] = norm_of(sums + 2 * (n * COUT + item), OWN_MAP);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (own >= IMAGE_MAP / 4) return;
  float4 total = (float4)(folded[COUT]);
  UNROLL for (uint c = 0u; c < COUT; c += 2) {
    float4 even, odd;
#if HALF_STORAGE
    uint4 w = ((__global const uint4 *)full)[(n * (COUT / 2) + c / 2) * (MAP / 4) + pixel];
    even = (float4)(even_of(w.x), even_of(w.y), even_of(w.z), even_of(w.w));
    odd = (float4)(odd_of(w.x), odd_of(w.y), odd_of(w.z), odd_of(w.w));
#else
    even = ((__global const float4 *)full)[(n * COUT + c) * (MAP / 4) + pixel];
    odd = ((__global const float4 *)full)[(n * COUT + c + 1) * (MAP / 4) + pixel];
#endif
    total += folded[c] * fmax(even * norms[c].x + norms[c].y, 0.0f);
    total += folded[c + 1] * fmax(odd * norms[c + 1].x + norms[c + 1].y, 0.0f);
  }
  output[n * (IMAGE_MAP / 4) + own] = total;
}
#endif
