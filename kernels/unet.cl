/* The products of a fused U-Net of complex images (engine/fused/unet.h) by matrix instructions: convolutions of 3x3 and
 * transposed ones of 2x2, their data gradients, and their weights' gradients. One kernel a layer, specialised by macros
 * (engine/fused/unet_open.c sets them).
 *
 * Maps are halves, [image][row][column][channel], channels padded to slices of eight: a slice is a vector of 16 bytes. A
 * map is a convolution's raw output; its instance norm and leaky ReLU happen on the load, from its sums
 * (kernels/unet_sums.cl). Channels that are padded have weights 0, and so are 0 themselves.
 *
 *   ROWS COLUMNS              pixels of the product: of a transposed convolution those of its input
 *   TAPS                      9: 3x3 with zeros outside; 1: the pixel alone
 *   SLICES CHUNKS             slices that come at a time; how many times
 *   FIRST_SLICES SECOND_SLICES  of the joined maps (SECOND_SLICES 0: there is one), or of the map whose gradient comes
 *   IN_FIRST IN_SECOND        BACKWARD 2: slices of the joined maps, while FIRST_SLICES are those of the gradient's map
 *   PLAIN                     the map is an activation already
 *   BACKWARD                  0 unet_conv forward; 1 the gradient of a map's activation comes, and goes through ReLU and
 *                             norm; 2 unet_weights
 *   GRADIENT_STRIDE GRADIENT_OFFSET  slices of a pixel of the gradient, and the first that is meant
 *   FOLD                      a pixel's gradient is that of its four fine pixels, one after the other
 *   OUT_SLICES                slices of the output
 *   SPREAD                    the output goes to four fine pixels, one after the other
 *   TARGET_SLICES             BACKWARD 1: of the map whose sums are taken on the way; 0: none
 *   TILE_X TILE_Y             pixels of a group's tile
 *   TILES_OUT WARPS_OUT       slices of the output that a warp makes; warps side by side over them
 *
 * Products are mma.m16n8k16: rows are 8x2 pixels, and the 16 values of k are two slices of eight channels, each of any
 * tap, so that no channel count wastes a product. The weights' gradient has rows of taps and channels and k of pixels. */
#if defined(L2SR_MATRIX) && !defined(L2SR_AMD)

#ifndef TAPS /* a layer, so that the file can be read and linted alone */
#define ROWS 320
#define COLUMNS 320
#define TAPS 9
#define SLICES 3
#define CHUNKS 1
#define FIRST_SLICES 3
#define SECOND_SLICES 0
#define IN_FIRST 3
#define IN_SECOND 0
#define PLAIN 0
#define BACKWARD 0
#define GRADIENT_STRIDE 3
#define GRADIENT_OFFSET 0
#define FOLD 0
#define OUT_SLICES 3
#define SPREAD 0
#define TARGET_SLICES 0
#define TILE_X 32
#define TILE_Y 8
#define TILES_OUT 3
#define WARPS_OUT 1
#endif

#define GROUP 256
#define WARPS 8
#define HALO (TAPS == 9 ? 1 : 0)
#define TILE_COLUMNS (TILE_X + 2 * HALO)
#define TILE_ROWS (TILE_Y + 2 * HALO)
#define TILES_X ((COLUMNS + TILE_X - 1) / TILE_X)
#define TILES_Y ((ROWS + TILE_Y - 1) / TILE_Y)
/* Words from pixel to pixel: an odd number of slices, so that fragment reads meet no bank twice. */
#define PITCH_OF(slices) ((slices) % 2 ? 4 * (slices) : 4 * (slices) + 4)
#define PITCH PITCH_OF(SLICES)
#define STEPS ((TAPS * SLICES + 1) / 2)
#define STEP_PAIRS ((STEPS + 1) / 2) /* whose weights lie side by side */
#define IN_SLICES (FIRST_SLICES + SECOND_SLICES)
#define BATCH 4 /* loads in flight a work-item */

/* A pixel of the gradient's map; with FOLD the fine pixel `part` of four. */
INLINE uint gradient_pixel(uint n, int y, int x, uint part) {
#if FOLD
  return (n * 2u * ROWS + 2u * (uint)y + part / 2u) * (2u * COLUMNS) + 2u * (uint)x + part % 2u;
#else
  return (n * ROWS + (uint)y) * COLUMNS + (uint)x;
#endif
}

INLINE bool is_inside(int y, int x) { return y >= 0 && y < ROWS && x >= 0 && x < COLUMNS; }

/* Vectors of a tile that a work-item loads. */
#define UNITS_OF(halo, slices) ((TILE_X + 2 * (halo)) * (TILE_Y + 2 * (halo)) * (slices))
#define TURNS_OF(halo, slices) ((UNITS_OF(halo, slices) + GROUP - 1) / GROUP)

#define LEAK_PAIR 0x32663266u /* two halves of LEAK */

/* The leaky ReLU of eight halves. */
INLINE uint leak_pair(uint word) { return max_pair(word, mul_pair(word, LEAK_PAIR)); }
INLINE uint4 leak_eight(uint4 words) {
  return (uint4)(leak_pair(words.x), leak_pair(words.y), leak_pair(words.z), leak_pair(words.w));
}

/* Of an activation's tile a work-item has one vector of every TURN_ROWS-th line: always the same slice. */
#define LINE_UNITS (TILE_COLUMNS * SLICES)
#define TURN_ROWS (GROUP / LINE_UNITS)
#define TURNS_IN ((TILE_ROWS + TURN_ROWS - 1) / TURN_ROWS)

typedef struct {
  uint line, slice, column; /* of the first vector; a line of TILE_ROWS or more: none */
} load_place;

INLINE load_place place_load(void) {
  const uint item = (uint)get_local_id(0), unit = item % LINE_UNITS;
  load_place place = {item / LINE_UNITS < TURN_ROWS ? item / LINE_UNITS : (uint)TILE_ROWS, unit % SLICES, unit / SLICES};
  return place;
}

/* Loads `count` vectors from turn `turn` on. */
INLINE void fetch_activation(__global const uint4 *source, uint stride, uint4 *loaded, uint turn, uint count, uint n,
                             int left, int top) {
  const load_place own = place_load();
  const int x = left + (int)own.column - HALO, y = top + (int)(own.line + turn * TURN_ROWS) - HALO;
  const bool inside = x >= 0 && x < COLUMNS && own.line < TILE_ROWS;
  const int from = ((int)(n * ROWS) + y) * COLUMNS + x;
  UNROLL for (uint k = 0u; k < count; k++) {
    int row = y + (int)(k * TURN_ROWS);
    loaded[k] = (uint4)(0u, 0u, 0u, 0u);
    if (inside && row >= 0 && row < ROWS && row < top + TILE_ROWS - HALO)
      loaded[k] = source[(uint)(from + (int)(k * TURN_ROWS * COLUMNS)) * stride + own.slice];
  }
}

/* Puts them into local memory, normalised. */
INLINE void put_activation(const uint4 *loaded, __local const float *scale, __local const float *shift,
                           __local uint *tile, uint turn, uint count, int left, int top) {
  const load_place own = place_load();
  const int x = left + (int)own.column - HALO, y = top - HALO;
#if !PLAIN
  const bool inside = x >= 0 && x < COLUMNS;
  const float8 a = vload8(own.slice, scale), b = vload8(own.slice, shift);
#endif
  UNROLL for (uint k = 0u; k < count; k++) {
    uint line = own.line + (turn + k) * TURN_ROWS;
    uint4 words = loaded[k];
    if (line >= TILE_ROWS) continue;
#if !PLAIN
    if (inside && y + (int)line >= 0 && y + (int)line < ROWS) words = leak_eight(pack_eight(fma(unpack_eight(words), a, b)));
#endif
    *(__local uint4 *)&tile[(line * TILE_COLUMNS + own.column) * PITCH + 4u * own.slice] = words;
  }
}

INLINE void load_activation(__global const uint4 *source, uint stride, __local const float *scale,
                            __local const float *shift, __local uint *tile, uint n, int left, int top) {
  NO_UNROLL for (uint turn = 0u; turn < TURNS_IN; turn += BATCH) {
    uint4 loaded[BATCH];
    fetch_activation(source, stride, loaded, turn, BATCH, n, left, top);
    put_activation(loaded, scale, shift, tile, turn, BATCH, left, top);
  }
}

/* The same of a gradient and of the raw map that it goes back through, `slices` at a time, on a tile with a halo or
 * without. */
INLINE void fetch_gradient(__global const uint4 *gradient, __global const uint4 *raw, uint4 *loaded, uint4 *outputs,
                           uint slices, uint halo, uint turn, uint count, uint n, uint part, int left, int top) {
  const uint width = TILE_X + 2u * halo;
  UNROLL for (uint k = 0u; k < count; k++) {
    uint unit = (turn + k) * GROUP + (uint)get_local_id(0), pixel = unit / slices;
    int y = top + (int)(pixel / width) - (int)halo, x = left + (int)(pixel % width) - (int)halo;
    loaded[k] = outputs[k] = (uint4)(0u, 0u, 0u, 0u);
    if (unit < UNITS_OF(halo, slices) && is_inside(y, x)) {
      uint at = gradient_pixel(n, y, x, part);
      loaded[k] = gradient[at * GRADIENT_STRIDE + unit % slices];
      outputs[k] = raw[at * FIRST_SLICES + unit % slices];
    }
  }
}

/* norms: scale, shift, and the means of back_norm_of, each `every` channels after the one before. */
INLINE void put_gradient(const uint4 *loaded, const uint4 *outputs, __local const float *norms, uint every,
                         __local uint *tile, uint slices, uint halo, uint turn, uint count, int left, int top) {
  const uint width = TILE_X + 2u * halo, pitch = PITCH_OF(slices);
  UNROLL for (uint k = 0u; k < count; k++) {
    uint unit = (turn + k) * GROUP + (uint)get_local_id(0), pixel = unit / slices, slice = unit % slices;
    int y = top + (int)(pixel / width) - (int)halo, x = left + (int)(pixel % width) - (int)halo;
    uint4 words = loaded[k];
    if (unit >= UNITS_OF(halo, slices)) continue;
    if (is_inside(y, x)) {
      float8 scale = vload8(slice, norms), normal = fma(unpack_eight(outputs[k]), scale, vload8(slice, norms + every));
      float8 passed = leak_back(unpack_eight(words), normal);
      words = pack_eight(scale * (passed - vload8(slice, norms + 2u * every) - normal * vload8(slice, norms + 3u * every)));
    }
    *(__local uint4 *)&tile[pixel * pitch + 4u * slice] = words;
  }
}

INLINE void load_gradient(__global const uint4 *gradient, __global const uint4 *raw, __local const float *norms,
                          uint every, __local uint *tile, uint slices, uint halo, uint n, uint part, int left, int top) {
  NO_UNROLL for (uint turn = 0u; turn < TURNS_OF(halo, slices); turn += BATCH) {
    uint4 loaded[BATCH], outputs[BATCH];
    fetch_gradient(gradient, raw, loaded, outputs, slices, halo, turn, BATCH, n, part, left, top);
    put_gradient(loaded, outputs, norms, every, tile, slices, halo, turn, BATCH, left, top);
  }
}

/* Scale and shift of `slices` slices. */
INLINE void take_norms(__global const long *sums, float pixels, uint slices, __local float *scale, __local float *shift) {
  for (uint c = (uint)get_local_id(0); c < 8u * slices; c += GROUP) {
    float2 norm = norm_of(sums + 2u * c, pixels);
    scale[c] = norm.x;
    shift[c] = norm.y;
  }
}

INLINE void take_back_norms(__global const long *sums, __global const long *back, float pixels, uint slices,
                            __local float *norms) {
  for (uint c = (uint)get_local_id(0); c < 8u * slices; c += GROUP) {
    float4 norm = back_norm_of(sums + 2u * c, back + 2u * c, pixels);
    norms[c] = norm.x;
    norms[8u * slices + c] = norm.y;
    norms[16u * slices + c] = norm.z;
    norms[24u * slices + c] = norm.w;
  }
}

/* Where slice `flat` of the taps' slices lies in the tile. */
INLINE uint flat_place(uint flat) {
  uint tap = flat / SLICES;
  if (flat >= TAPS * SLICES) return 0u; /* the last of an odd number has a partner of weight 0 */
  return TAPS == 9 ? (tap / 3u * TILE_COLUMNS + tap % 3u) * PITCH + 4u * (flat % SLICES) : 4u * flat;
}

#if BACKWARD < 2
#define ROW_TILES (TILE_X / 8 * (TILE_Y / 2))        /* 8x2 pixels each */
#define WARP_ROWS (ROW_TILES / (WARPS / WARPS_OUT)) /* of a warp */
#define ALL_TILES (OUT_SLICES * (SPREAD ? 4 : 1))
#define OUT_GROUPS (ALL_TILES / (TILES_OUT * WARPS_OUT))
#define GROUP_CHANNELS (8 * TILES_OUT * WARPS_OUT)

/* The four words a lane gives a product of a row of 8x2 pixels: those of the slice that lies `low` words after the row's
 * start, of both lines, and those of the slice `high`. */
#ifdef L2SR_EMULATED
INLINE void take_row(uint a[4], __local const uint *row, uint low, uint high) {
  const uint lane = (uint)get_local_id(0) & 31u;
  __local const uint *from = row + (lane >> 2) * PITCH + (lane & 3u);
  a[0] = from[low];
  a[1] = from[TILE_COLUMNS * PITCH + low];
  a[2] = from[high];
  a[3] = from[TILE_COLUMNS * PITCH + high];
}
#else
INLINE void take_row(uint a[4], __local const uint *row, uint low, uint high) {
  const uint lane = (uint)get_local_id(0) & 31u;
  __local const uint *from =
      row + (lane & 7u) * PITCH + (lane & 8u ? TILE_COLUMNS * PITCH : 0u) + (lane & 16u ? high : low);
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                   : "r"((uint)(size_t)from)
                   : "memory");
}
#endif

/* A warp's products of one chunk. */
INLINE void multiply_chunk(__local const uint *tile, __global const uint *weights, uint warp_rows, uint tiles,
                           float acc[WARP_ROWS][TILES_OUT][4] LANES) {
  const uint lane = (uint)get_local_id(0) & 31u;
  uint4 b[TILES_OUT];
  UNROLL for (uint step = 0u; step < STEPS; step++) {
    uint a[4];
    const uint low = flat_place(2u * step), high = flat_place(2u * step + 1u);
    if (step % 2u == 0u)
      UNROLL for (uint k = 0u; k < TILES_OUT; k++)
        b[k] = *(__global const uint4 *)&weights[((step / 2u * ALL_TILES + tiles + k) * 32u + lane) * 4u];
    UNROLL for (uint r = 0u; r < WARP_ROWS; r++) {
      uint row = warp_rows * WARP_ROWS + r;
      take_row(a, tile + (row / (TILE_X / 8) * 2u * TILE_COLUMNS + row % (TILE_X / 8) * 8u) * PITCH, low, high);
      UNROLL for (uint k = 0u; k < TILES_OUT; k++) {
        if (step % 2u == 0u)
          MULTIPLY(acc[r][k], a[0], a[1], a[2], a[3], b[k].x, b[k].y);
        else
          MULTIPLY(acc[r][k], a[0], a[1], a[2], a[3], b[k].z, b[k].w);
      }
    }
  }
}

/* What leaves with the store, of a lane's channels: sums of values and squares; or, of a gradient that goes back through a
 * map's ReLU and norm, of what passes and of its product with the normalised value. */
typedef struct {
  float value[TILES_OUT][2], product[TILES_OUT][2];
} lane_sums;

#if BACKWARD
/* The map `target` whose activation's gradient is stored, where it is that of the first TARGET_SLICES. */
INLINE void add_lane(lane_sums *sums, uint k, uint word, __global const uint *target, uint at, __local const float *norms,
                     uint channel) {
  if (channel >= 8u * TARGET_SLICES) return;
  uint raw = target[at];
  float given[2] = {even_of(word), odd_of(word)}, seen[2] = {even_of(raw), odd_of(raw)};
  UNROLL for (uint j = 0u; j < 2u; j++) {
    float normal = fma(seen[j], norms[channel + j], norms[8u * TARGET_SLICES + channel + j]);
    float passed = normal > 0.0f ? given[j] : LEAK * given[j];
    sums->value[k][j] += passed;
    sums->product[k][j] += passed * normal;
  }
}
#else
INLINE void add_lane(lane_sums *sums, uint k, float2 values) {
  float given[2] = {values.x, values.y};
  UNROLL for (uint j = 0u; j < 2u; j++) {
    sums->value[k][j] += given[j];
    sums->product[k][j] += given[j] * given[j];
  }
}
#endif

#if BACKWARD
INLINE void store_products(float acc[WARP_ROWS][TILES_OUT][4], __global uint *output, __global const uint *target,
                           __local const float *norms, lane_sums *sums, uint n, uint warp_rows, uint tiles, int left,
                           int top) {
  const uint lane = (uint)get_local_id(0) & 31u, g = lane >> 2, t = lane & 3u;
  UNROLL for (uint r = 0u; r < WARP_ROWS; r++) UNROLL for (uint half_row = 0u; half_row < 2u; half_row++) {
    uint row = warp_rows * WARP_ROWS + r;
    uint y = (uint)top + row / (TILE_X / 8) * 2u + half_row, x = (uint)left + row % (TILE_X / 8) * 8u + g;
    if (y >= ROWS || x >= COLUMNS) continue;
    uint pixel = (n * ROWS + y) * COLUMNS + x;
    UNROLL for (uint k = 0u; k < TILES_OUT; k++) {
      uint slice = tiles + k, word = pack(acc[r][k][2u * half_row], acc[r][k][2u * half_row + 1u]);
      output[(pixel * OUT_SLICES + slice) * 4u + t] = word;
      add_lane(sums, k, word, target, (pixel * TARGET_SLICES + slice) * 4u + t, norms, 8u * slice + 2u * t);
    }
  }
}
#else
#define GROUP_TILES (TILES_OUT * WARPS_OUT)
#define STAGE_PITCH PITCH_OF(GROUP_TILES)

/* A warp's products as words of `stage`, which has the pixels of the tile one after the other, and their sums. */
INLINE void stage_products(float acc[WARP_ROWS][TILES_OUT][4], __local uint *stage, lane_sums *sums, uint warp_rows,
                           uint warp_out, int left, int top) {
  const uint lane = (uint)get_local_id(0) & 31u, g = lane >> 2, t = lane & 3u;
  UNROLL for (uint r = 0u; r < WARP_ROWS; r++) UNROLL for (uint half_row = 0u; half_row < 2u; half_row++) {
    uint row = warp_rows * WARP_ROWS + r;
    uint y = row / (TILE_X / 8) * 2u + half_row, x = row % (TILE_X / 8) * 8u + g;
    bool inside = (ROWS % TILE_Y == 0 || (uint)top + y < ROWS) && (COLUMNS % TILE_X == 0 || (uint)left + x < COLUMNS);
    UNROLL for (uint k = 0u; k < TILES_OUT; k++) {
      float2 values = (float2)(acc[r][k][2u * half_row], acc[r][k][2u * half_row + 1u]);
      stage[(y * TILE_X + x) * STAGE_PITCH + (warp_out * TILES_OUT + k) * 4u + t] = pack(values.x, values.y);
      if (inside) add_lane(sums, k, values);
    }
  }
}

/* The tile's words to the output, vectors of 16 bytes. */
INLINE void store_stage(__local const uint *stage, __global uint4 *output, uint n, uint out_group, int left, int top) {
  UNROLL for (uint turn = 0u; turn < (TILE_X * TILE_Y * GROUP_TILES + GROUP - 1u) / GROUP; turn++) {
    uint unit = turn * GROUP + (uint)get_local_id(0), place = unit / GROUP_TILES, k = unit % GROUP_TILES;
    uint y = (uint)top + place / TILE_X, x = (uint)left + place % TILE_X, tile = out_group * GROUP_TILES + k;
    if (unit >= TILE_X * TILE_Y * GROUP_TILES || y >= ROWS || x >= COLUMNS) continue;
#if SPREAD
    uint part = tile / OUT_SLICES, slice = tile % OUT_SLICES;
    uint pixel = (n * 2u * ROWS + 2u * y + part / 2u) * (2u * COLUMNS) + 2u * x + part % 2u;
#else
    uint slice = tile, pixel = (n * ROWS + y) * COLUMNS + x;
#endif
    output[pixel * OUT_SLICES + slice] = *(__local const uint4 *)&stage[place * STAGE_PITCH + 4u * k];
  }
}
#endif

/* Adds the lanes' sums to those of image n, by way of the group's. Of each slice the upper half of a warp adds up the
 * products, the lower the values, and every other eight lanes the odd channels. */
INLINE void store_sums(const lane_sums *sums, __local float2 *scratch, __global long *to, uint warp_rows, uint warp_out,
                       uint out_group LANES) {
  const uint item = (uint)get_local_id(0), lane = item & 31u;
  const bool upper = lane & 16u, odd = lane & 8u;
  UNROLL for (uint k = 0u; k < TILES_OUT; k++) {
    float2 value = (float2)(sums->value[k][0], sums->value[k][1]), product = (float2)(sums->product[k][0], sums->product[k][1]);
    float2 own = upper ? product : value, other = upper ? value : product;
    own.x += shuffle(other.x, 16 GIVE_LANES);
    own.y += shuffle(other.y, 16 GIVE_LANES);
    float all = (odd ? own.y : own.x) + shuffle(odd ? own.x : own.y, 8 GIVE_LANES);
    all += shuffle(all, 4 GIVE_LANES);
    uint channel = (warp_out * TILES_OUT + k) * 8u + 2u * (lane & 3u) + (odd ? 1u : 0u);
    if (!(lane & 4u)) ((__local float *)scratch)[2u * (warp_rows * GROUP_CHANNELS + channel) + (upper ? 1u : 0u)] = all;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint c = item; c < GROUP_CHANNELS; c += GROUP) {
    uint channel = out_group * GROUP_CHANNELS + c;
    if (SPREAD) channel %= 8u * OUT_SLICES;
    float2 total = (float2)(0.0f, 0.0f);
    for (uint w = 0u; w < WARPS / WARPS_OUT; w++) total += scratch[w * GROUP_CHANNELS + c];
    if (BACKWARD && channel >= 8u * TARGET_SLICES) continue;
    add_sum(to, 2u * channel, total.x);
    add_sum(to, 2u * channel + 1u, total.y);
  }
}

/* The next chunk is on its way while one is multiplied, where registers suffice. */
#define TURNS (BACKWARD ? TURNS_OF(HALO, SLICES) : TURNS_IN)
#define AHEAD (BACKWARD ? CHUNKS > 1 && TURNS <= 4 : TURNS <= 7)

/* Where a chunk comes from: of joined maps one or the other; backward the gradient and the raw map. */
typedef struct {
  __global const uint4 *source, *raw;
  uint stride, begin, part;
} chunk_place;

INLINE chunk_place place_chunk(__global const uint4 *source, __global const uint4 *raw, uint first, uint second,
                               uint chunk) {
#if BACKWARD
  const uint begin = chunk % (FIRST_SLICES / SLICES) * SLICES;
  chunk_place place = {source + first + GRADIENT_OFFSET + begin, raw + second + begin, 0u, begin,
                       chunk / (FIRST_SLICES / SLICES)};
#else
  const uint begin = chunk * SLICES;
  const bool own = begin < FIRST_SLICES;
  chunk_place place = {source + (own ? first + begin : second + begin - FIRST_SLICES), raw,
                       own ? FIRST_SLICES : SECOND_SLICES, begin, 0u};
#endif
  return place;
}

/* Local memory of a tile of what comes, and forward of the products, which take its place. */
#define IN_WORDS (TILE_COLUMNS * TILE_ROWS * PITCH)
#if BACKWARD
#define TILE_WORDS IN_WORDS
#else
#define OUT_WORDS (TILE_X * TILE_Y * STAGE_PITCH)
#define TILE_WORDS (IN_WORDS > OUT_WORDS ? IN_WORDS : OUT_WORDS)
#endif

/* A row is a tile of an image and a group of output slices. Offsets are in elements of their arguments. Forward: maps
 * first and second of `source`, and their sums; the output's sums go to `added`. BACKWARD: the gradient `first` of `source`,
 * the map `second` of `raw`, its sums, and those of `back`; the map `target` of `raw` is the one whose activation's
 * gradient is made, and the sums for that go to `added`. */
__kernel void unet_conv(__global const uint4 *restrict source, __global const uint4 *restrict raw,
                        __global const long *restrict sums, __global const long *restrict back,
                        __global const uint *restrict weights, __global uint *restrict output,
                        __global long *restrict added, uint first, uint second, uint first_sums, uint second_sums,
                        uint weights_at, uint output_at, uint target, uint sums_of_target, uint added_at, uint rows) {
  OPEN_LANES(GROUP);
  __local uint tile[TILE_WORDS] __attribute__((aligned(16)));
  __local float norms[(BACKWARD ? 4 : 2) * IN_SLICES * 8] __attribute__((aligned(32)));
#if BACKWARD
  __local float norms_of_target[16 * TARGET_SLICES + 1];
#endif
  __local float2 scratch[WARPS / WARPS_OUT * GROUP_CHANNELS];
  lane_sums lane_sum = {{{0.0f}}, {{0.0f}}};
  const uint warp = (uint)get_local_id(0) >> 5, warp_out = warp % WARPS_OUT, warp_rows = warp / WARPS_OUT;
  const uint out_group = (uint)get_group_id(0) % OUT_GROUPS, at = (uint)get_group_id(0) / OUT_GROUPS;
  const uint n = at / (TILES_X * TILES_Y), tiles = (out_group * WARPS_OUT + warp_out) * TILES_OUT;
  const int left = (int)(at % TILES_X) * TILE_X, top = (int)(at / TILES_X % TILES_Y) * TILE_Y;
  float acc[WARP_ROWS][TILES_OUT][4];
  UNROLL for (uint r = 0u; r < WARP_ROWS; r++) UNROLL for (uint k = 0u; k < TILES_OUT; k++)
      UNROLL for (uint j = 0u; j < 4u; j++) acc[r][k][j] = 0.0f;
  chunk_place place = place_chunk(source, raw, first, second, 0u);
#if AHEAD
  uint4 loaded[TURNS];
#if BACKWARD
  uint4 outputs[TURNS];
  fetch_gradient(place.source, place.raw, loaded, outputs, SLICES, HALO, 0u, TURNS, n, place.part, left, top);
#else
  fetch_activation(place.source, place.stride, loaded, 0u, TURNS, n, left, top);
#endif
#endif
#if BACKWARD
  const uint of = 16u * n * FIRST_SLICES;
  take_back_norms(sums + first_sums + of, back + second_sums + of, ROWS * COLUMNS * (FOLD ? 4 : 1), FIRST_SLICES, norms);
  if (TARGET_SLICES)
    take_norms(sums + sums_of_target + 16u * n * TARGET_SLICES, ROWS * COLUMNS, TARGET_SLICES, norms_of_target,
               norms_of_target + 8 * TARGET_SLICES);
#elif !PLAIN
  take_norms(sums + first_sums + 16u * n * FIRST_SLICES, ROWS * COLUMNS, FIRST_SLICES, norms, norms + 8 * IN_SLICES);
  if (SECOND_SLICES)
    take_norms(sums + second_sums + 16u * n * SECOND_SLICES, ROWS * COLUMNS, SECOND_SLICES, norms + 8 * FIRST_SLICES,
               norms + 8 * (IN_SLICES + FIRST_SLICES));
#endif
  NO_UNROLL for (uint chunk = 0u; chunk < CHUNKS; chunk++) {
    __local const float *own_norms = norms + 8u * place.begin;
    barrier(CLK_LOCAL_MEM_FENCE);
#if AHEAD && BACKWARD
    put_gradient(loaded, outputs, own_norms, 8u * FIRST_SLICES, tile, SLICES, HALO, 0u, TURNS, left, top);
#elif AHEAD
    put_activation(loaded, own_norms, own_norms + 8 * IN_SLICES, tile, 0u, TURNS, left, top);
#elif BACKWARD
    load_gradient(place.source, place.raw, own_norms, 8u * FIRST_SLICES, tile, SLICES, HALO, n, place.part, left, top);
#else
    load_activation(place.source, place.stride, own_norms, own_norms + 8 * IN_SLICES, tile, n, left, top);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    place = place_chunk(source, raw, first, second, chunk + 1u < CHUNKS ? chunk + 1u : chunk);
#if AHEAD && BACKWARD
    fetch_gradient(place.source, place.raw, loaded, outputs, SLICES, HALO, 0u, TURNS, n, place.part, left, top);
#elif AHEAD
    fetch_activation(place.source, place.stride, loaded, 0u, TURNS, n, left, top);
#endif
    multiply_chunk(tile, weights + weights_at + chunk * (STEP_PAIRS * ALL_TILES * 128u), warp_rows, tiles, acc GIVE_LANES);
  }
#if BACKWARD
  store_products(acc, output + output_at, (__global const uint *)(raw + target), norms_of_target, &lane_sum, n, warp_rows,
                 tiles, left, top);
#else
  barrier(CLK_LOCAL_MEM_FENCE);
  stage_products(acc, tile, &lane_sum, warp_rows, warp_out, left, top);
  barrier(CLK_LOCAL_MEM_FENCE);
  store_stage(tile, (__global uint4 *)(output + output_at), n, out_group, left, top);
#endif
  if (!BACKWARD || TARGET_SLICES)
    store_sums(&lane_sum, scratch, added + added_at + 16u * n * (BACKWARD ? TARGET_SLICES : OUT_SLICES), warp_rows, warp_out,
               out_group GIVE_LANES);
}
#else

/* ---- gradients of weights ------------------------------------------------------------------------------- */

#define OUT_PITCH PITCH_OF(TILES_OUT)
#define OUT_GROUPS (OUT_SLICES / TILES_OUT * (FOLD ? 4 : 1))
#define ROW_TILES STEPS /* two slices of taps and channels each */
#define WARP_ROWS ((ROW_TILES + WARPS - 1) / WARPS)
#define PIXEL_STEPS (TILE_X * TILE_Y / 16)
#define IN_TURNS TURNS_IN
#define OUT_TURNS TURNS_OF(0, TILES_OUT)
/* The next tile is on its way while one is multiplied, where registers suffice. */
#define AHEAD (IN_TURNS + 2 * OUT_TURNS + WARP_ROWS * TILES_OUT <= 26)

#ifdef L2SR_EMULATED
/* Of a matrix of eight pixels and eight channels, a pixel after `pitch` words, the pair of pixels 2t, 2t + 1 of channel
 * g. */
INLINE uint turned(__local const uint *from, uint pitch) {
  const uint lane = (uint)get_local_id(0) & 31u, g = lane >> 2, t = lane & 3u;
  uint even = from[2u * t * pitch + (g >> 1)], odd = from[(2u * t + 1u) * pitch + (g >> 1)];
  return g & 1u ? even >> 16 | (odd & 0xffff0000u) : (even & 0xffffu) | odd << 16;
}

/* Such pairs of matrices low and high at pixels `near` and `far`. */
INLINE void take_four(uint a[4], __local const uint *tile, uint pitch, uint low, uint high, uint near, uint far) {
  a[0] = turned(tile + low + near, pitch);
  a[1] = turned(tile + high + near, pitch);
  a[2] = turned(tile + low + far, pitch);
  a[3] = turned(tile + high + far, pitch);
}

INLINE void take_two(uint b[2], __local const uint *tile, uint pitch, uint near, uint far) {
  b[0] = turned(tile + near, pitch);
  b[1] = turned(tile + far, pitch);
}
#else
INLINE void take_four(uint a[4], __local const uint *tile, uint pitch, uint low, uint high, uint near, uint far) {
  const uint lane = (uint)get_local_id(0) & 31u;
  __local const uint *row = tile + (lane & 8u ? high : low) + (lane & 16u ? far : near) + (lane & 7u) * pitch;
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                   : "r"((uint)(size_t)row)
                   : "memory");
}

INLINE void take_two(uint b[2], __local const uint *tile, uint pitch, uint near, uint far) {
  const uint lane = (uint)get_local_id(0) & 31u;
  __local const uint *row = tile + (lane & 8u ? far : near) + (lane & 7u) * pitch;
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                   : "=r"(b[0]), "=r"(b[1])
                   : "r"((uint)(size_t)row)
                   : "memory");
}
#endif

/* Where the eight pixels `run` of the tile start, in words; `width` pixels a row. */
INLINE uint run_place(uint run, uint width, uint pitch) {
  return (run / (TILE_X / 8) * width + run % (TILE_X / 8) * 8u) * pitch;
}

/* Gradients of the weights between a chunk of input slices and a group of output slices, over a share of all tiles: a row.
 * part[share][output][input][tap]. Its arguments are those of unet_conv both ways. */
__kernel void unet_weights(__global const uint4 *restrict maps, __global const long *restrict sums,
                           __global const uint4 *restrict gradients, __global const long *restrict back,
                           __global float *restrict part, uint first, uint second, uint first_sums, uint second_sums,
                           uint gradient, uint raw, uint own_sums, uint own_back, uint images, uint shares, uint rows) {
  OPEN_LANES(GROUP);
  __local uint tile[TILE_COLUMNS * TILE_ROWS * PITCH] __attribute__((aligned(16)));
  __local uint out_tile[TILE_X * TILE_Y * OUT_PITCH] __attribute__((aligned(16)));
  __local float norms[SLICES * 16] __attribute__((aligned(32))), out_norms[TILES_OUT * 32] __attribute__((aligned(32)));
  const uint lane = (uint)get_local_id(0) & 31u, warp = (uint)get_local_id(0) >> 5, g = lane >> 2, t = lane & 3u;
  const uint chunk = (uint)get_group_id(0) % CHUNKS, rest = (uint)get_group_id(0) / CHUNKS;
  const uint out_group = rest % OUT_GROUPS, which = rest / OUT_GROUPS;
  const uint fine = FOLD ? out_group / (OUT_SLICES / TILES_OUT) : 0u;
  const uint begin = chunk * SLICES, out_begin = out_group % (OUT_SLICES / TILES_OUT) * TILES_OUT;
  const bool own = begin < IN_FIRST;
  const uint stride = own ? IN_FIRST : IN_SECOND, from = own ? begin : begin - IN_FIRST;
  const uint tiles = images * TILES_X * TILES_Y, each = (tiles + shares - 1u) / shares;
  const uint end = min((which + 1u) * each, tiles);
  uint low[WARP_ROWS], high[WARP_ROWS], image = 0xffffffffu;
  float acc[WARP_ROWS][TILES_OUT][4];
  UNROLL for (uint r = 0u; r < WARP_ROWS; r++) {
    low[r] = flat_place(2u * (warp * WARP_ROWS + r));
    high[r] = flat_place(2u * (warp * WARP_ROWS + r) + 1u);
    UNROLL for (uint k = 0u; k < TILES_OUT; k++) UNROLL for (uint j = 0u; j < 4u; j++) acc[r][k][j] = 0.0f;
  }
  __global const uint4 *in_map = maps + (own ? first : second) + from, *raw_map = maps + raw + out_begin;
  __global const uint4 *out_map = gradients + gradient + GRADIENT_OFFSET + out_begin;
#define TILE_N(place) ((place) / (TILES_X * TILES_Y))
#define TILE_LEFT(place) ((int)((place) % TILES_X) * TILE_X)
#define TILE_TOP(place) ((int)((place) / TILES_X % TILES_Y) * TILE_Y)
#define FETCH(place)                                                                                          \
  fetch_activation(in_map, stride, loaded, 0u, IN_TURNS, TILE_N(place), TILE_LEFT(place), TILE_TOP(place));    \
  fetch_gradient(out_map, raw_map, given, outputs, TILES_OUT, 0u, 0u, OUT_TURNS, TILE_N(place), fine,          \
                 TILE_LEFT(place), TILE_TOP(place))
#if AHEAD
  uint4 loaded[IN_TURNS], given[OUT_TURNS], outputs[OUT_TURNS];
  if (which * each < end) { FETCH(which * each); }
#endif
  NO_UNROLL for (uint place = which * each; place < end; place++) {
    const uint n = TILE_N(place);
    const int left = TILE_LEFT(place), top = TILE_TOP(place);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (n != image) {
      const uint of = 16u * (n * FIRST_SLICES + out_begin);
      image = n;
#if !PLAIN
      take_norms(sums + (own ? first_sums : second_sums) + 16u * (n * stride + from), ROWS * COLUMNS, SLICES, norms,
                 norms + 8 * SLICES);
#endif
      take_back_norms(sums + own_sums + of, back + own_back + of, ROWS * COLUMNS * (FOLD ? 4 : 1), TILES_OUT, out_norms);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#if AHEAD
    put_activation(loaded, norms, norms + 8 * SLICES, tile, 0u, IN_TURNS, left, top);
    put_gradient(given, outputs, out_norms, 8u * TILES_OUT, out_tile, TILES_OUT, 0u, 0u, OUT_TURNS, left, top);
    if (place + 1u < end) { FETCH(place + 1u); }
#else
    load_activation(in_map, stride, norms, norms + 8 * SLICES, tile, n, left, top);
    load_gradient(out_map, raw_map, out_norms, 8u * TILES_OUT, out_tile, TILES_OUT, 0u, n, fine, left, top);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    NO_UNROLL for (uint step = 0u; step < PIXEL_STEPS; step++) {
      uint b[TILES_OUT][2], a[4];
      const uint near = run_place(2u * step, TILE_COLUMNS, PITCH), far = run_place(2u * step + 1u, TILE_COLUMNS, PITCH);
      const uint out_near = run_place(2u * step, TILE_X, OUT_PITCH), out_far = run_place(2u * step + 1u, TILE_X, OUT_PITCH);
      UNROLL for (uint k = 0u; k < TILES_OUT; k++) take_two(b[k], out_tile + 4u * k, OUT_PITCH, out_near, out_far);
      UNROLL for (uint r = 0u; r < WARP_ROWS; r++) {
        take_four(a, tile, PITCH, low[r], high[r], near, far);
        UNROLL for (uint k = 0u; k < TILES_OUT; k++) MULTIPLY(acc[r][k], a[0], a[1], a[2], a[3], b[k][0], b[k][1]);
      }
    }
  }
  UNROLL for (uint r = 0u; r < WARP_ROWS; r++) UNROLL for (uint j = 0u; j < 4u; j++) {
    uint flat = 2u * (warp * WARP_ROWS + r) + (j >> 1), tap = flat / SLICES;
    uint in = (begin + flat % SLICES) * 8u + g;
    if (flat >= TAPS * SLICES) continue;
    UNROLL for (uint k = 0u; k < TILES_OUT; k++) {
      uint out = (fine * OUT_SLICES + out_begin + k) * 8u + 2u * t + (j & 1u), outs = OUT_SLICES * 8u * (FOLD ? 4u : 1u);
      part[((which * outs + out) * ((IN_FIRST + IN_SECOND) * 8u) + in) * TAPS + tap] = acc[r][k][j];
    }
  }
}
#endif
#endif
