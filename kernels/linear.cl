/* Linear layers by matrix instructions (kernels/common.h), forward and backward: C[m][n] = sum over k of A[m][k] *
 * B[n][k]. WARPS_A x WARPS_B warps sum a tile of TILE_A x TILE_B over a span of k, CHUNK of them at a time, which pass
 * through local memory as the words that the instructions take, while the next two chunks are read.
 *
 *   PARTS               1: operands rounded to 11 bits   2: split into two, three products (f32-grade)
 *   TF32                0: halves, B scaled by WEIGHT_SCALE   1: TF32, of any range: gradients
 *   TURNED_A TURNED_B   the factor is stored [k][m], or [k][n] (TF32 alone); otherwise its k is a multiple of 16
 *   WARPS_A WARPS_B A_TILES B_TILES   of warps, and of an instruction's 16 x 8 in a warp's tile
 *
 * Which k are multiplied together, and in which order sums grow, depends on no size of the tile. */
#ifdef L2SR_MATRIX
#ifndef L2SR_AMD /* its instruction wants other fragments */

#ifndef PARTS /* so that the file can be read and linted alone */
#define PARTS 2
#define TF32 0
#define TURNED_A 0
#define TURNED_B 0
#define WARPS_A 4
#define WARPS_B 4
#define A_TILES 2
#define B_TILES 4
#endif

#define GROUP (32 * WARPS_A * WARPS_B)
#define TILE_A (WARPS_A * A_TILES * 16)
#define TILE_B (WARPS_B * B_TILES * 8)
#define CHUNK (TF32 ? 16 : 32)
#define STAGES (PARTS == 1 ? 2 : 1)
#define WEIGHT_SCALE 64.0f /* keeps the low parts of small weights normal numbers */

/* Where local memory holds row r of a tile at k. Halves lie in pairs, sixteen k a slab, so that a lane reads four
 * neighbours at once; words of TF32 so that 32 lanes meet 32 banks, along k or, turned, along the rows. */
#define SLAB_WORDS 8
#define PITCH (CHUNK + 4)
#define TURNED_PITCH(tile) ((tile) + 8)
#if TF32
#define TILE_WORDS(tile, turned) ((turned) ? CHUNK * TURNED_PITCH(tile) : (tile)*PITCH)
#define WORD(tile, turned, r, k) ((turned) ? (k)*TURNED_PITCH(tile) + (r) : (r)*PITCH + (k))
#else
#define TILE_WORDS(tile, turned) ((tile)*CHUNK / 2)
#define WORD(tile, turned, r, k) ((k) / 16u * ((tile)*SLAB_WORDS) + (r)*SLAB_WORDS + (k) % 16u / 2u)
#endif
#define A_WORDS TILE_WORDS(TILE_A, TURNED_A)
#define B_WORDS TILE_WORDS(TILE_B, TURNED_B)

/* Fours of a tile's chunk that an item brings, at most. */
#define FOURS(tile) (((tile)*CHUNK / 4 + GROUP - 1) / GROUP)

/* Four neighbours along k, or along the rows of a turned factor; zeros past `end`. Of rows past the last the values are
 * those of others: what becomes of them is not stored. */
INLINE float4 load_along(__global const float *from, uint row, uint rows, uint k, uint end, uint across) {
  if (k >= end) return (float4)0.0f;
  return *(__global const float4 *)&from[(size_t)min(row, rows - 1u) * across + k];
}

INLINE float4 load_turned(__global const float *from, uint row, uint rows, uint k, uint end, uint across) {
  if (k >= end) return (float4)0.0f;
  from += (size_t)k * across;
  if (across % 4u == 0u && row + 4u <= across) return *(__global const float4 *)&from[row];
  return (float4)(from[min(row, rows - 1u)], from[min(row + 1u, rows - 1u)], from[min(row + 2u, rows - 1u)],
                  from[min(row + 3u, rows - 1u)]);
}

/* The item's share of a chunk that starts at `k`; `across`: from row to row, or turned from k to k. */
INLINE void load_chunk(float4 *four, __global const float *from, uint tile, bool turned, uint first_row, uint rows,
                       uint k, uint end, uint across) {
  UNROLL for (uint i = 0u; i < FOURS(tile); i++) {
    uint place = i * GROUP + (uint)get_local_id(0);
    if (place >= tile * CHUNK / 4u) break;
    four[i] = turned ? load_turned(from, first_row + place % (tile / 4u) * 4u, rows, k + place / (tile / 4u), end, across)
                     : load_along(from, first_row + place / (CHUNK / 4u), rows, k + place % (CHUNK / 4u) * 4u, end, across);
  }
}

/* A value's words: rounded, and what rounding left. */
INLINE void store_word(__local uint *words, uint part_words, uint at, float value) {
#if TF32
  uint word = round_tf32(value);
  words[at] = word;
#if PARTS == 2
  words[at + part_words] = round_tf32(value - as_float(word));
#endif
#endif
}

INLINE void store_pair(__local uint *words, uint part_words, uint at, float even, float odd) {
  uint word = pack(even, odd);
  words[at] = word;
#if PARTS == 2
  words[at + part_words] = pack(even - even_of(word), odd - odd_of(word));
#endif
}

INLINE void store_chunk(__local uint *words, uint part_words, const float4 *four, uint tile, bool turned, float scale) {
  UNROLL for (uint i = 0u; i < FOURS(tile); i++) {
    uint place = i * GROUP + (uint)get_local_id(0);
    if (place >= tile * CHUNK / 4u) break;
    float4 value = four[i] * scale;
    uint r = turned ? place % (tile / 4u) * 4u : place / (CHUNK / 4u);
    uint k = turned ? place / (tile / 4u) : place % (CHUNK / 4u) * 4u;
#if TF32
    uint at = WORD(tile, turned, r, k); /* four neighbours either way */
    store_word(words, part_words, at, value.x);
    store_word(words, part_words, at + 1u, value.y);
    store_word(words, part_words, at + 2u, value.z);
    store_word(words, part_words, at + 3u, value.w);
#else
    uint at = WORD(tile, turned, r, k);
    store_pair(words, part_words, at, value.x, value.y);
    store_pair(words, part_words, at + 1u, value.z, value.w);
#endif
  }
}

/* Words that a lane brings of row r for sixteen k from `k` on: of TF32 every fourth, two instructions. */
#define FRAGMENT (TF32 ? 4 : 2)

INLINE void load_fragment(uint *fragment, __local const uint *words, uint tile, bool turned, uint r, uint k) {
  const uint t = (uint)get_local_id(0) & 3u;
  UNROLL for (uint j = 0u; j < FRAGMENT; j++)
    fragment[j] = words[TF32 ? WORD(tile, turned, r, k + t + 4u * j) : WORD(tile, turned, r, k + 4u * t + 2u * j)];
}

INLINE void multiply_fragments(float *acc, const uint *low, const uint *high, const uint *b LANES) {
#if TF32
  MULTIPLY_TF32(acc, low[0], high[0], low[1], high[1], b[0], b[1]);
  MULTIPLY_TF32(acc, low[2], high[2], low[3], high[3], b[2], b[3]);
#else
  MULTIPLY(acc, low[0], high[0], low[1], high[1], b[0], b[1]);
#endif
}

/* One stage's chunk into the sums of the warp's tile, whose first rows are `a_row` and `b_row`. */
INLINE void multiply_chunk(float acc[A_TILES][B_TILES][4], __local const uint *a_words, __local const uint *b_words,
                           uint a_row, uint b_row LANES) {
  const uint g = ((uint)get_local_id(0) & 31u) >> 2;
  UNROLL for (uint k = 0u; k < CHUNK; k += 16u) {
    uint a[A_TILES][2][PARTS][FRAGMENT];
    UNROLL for (uint m = 0u; m < A_TILES; m++) UNROLL for (uint e = 0u; e < 2u; e++)
        UNROLL for (uint p = 0u; p < PARTS; p++) load_fragment(a[m][e][p], a_words + p * A_WORDS, TILE_A, TURNED_A,
                                                               a_row + m * 16u + e * 8u + g, k);
    UNROLL for (uint n = 0u; n < B_TILES; n++) {
      uint b[PARTS][FRAGMENT];
      UNROLL for (uint p = 0u; p < PARTS; p++)
          load_fragment(b[p], b_words + p * B_WORDS, TILE_B, TURNED_B, b_row + n * 8u + g, k);
      UNROLL for (uint m = 0u; m < A_TILES; m++) {
#if PARTS == 2
        multiply_fragments(acc[m][n], a[m][0][1], a[m][1][1], b[0] GIVE_LANES);
        multiply_fragments(acc[m][n], a[m][0][0], a[m][1][0], b[1] GIVE_LANES);
#endif
        multiply_fragments(acc[m][n], a[m][0][0], a[m][1][0], b[0] GIVE_LANES);
      }
    }
  }
}

/* Two neighbours of a row of C; what lies past the last output is nobody's. `whole`: pairs are aligned. */
INLINE float2 load_sums(__global const float *row, uint o, uint outputs, bool whole) {
  if (whole && o + 1u < outputs) return *(__global const float2 *)&row[o];
  return (float2)(o < outputs ? row[o] : 0.0f, o + 1u < outputs ? row[o + 1u] : 0.0f);
}

INLINE void store_sums(__global float *row, uint o, uint outputs, float2 sums, bool whole) {
  if (whole && o + 1u < outputs) {
    *(__global float2 *)&row[o] = sums;
    return;
  }
  if (o < outputs) row[o] = sums.x;
  if (o + 1u < outputs) row[o + 1u] = sums.y;
}

/* Rows of a factor from `first` on; `across`: from row to row, or turned from k to k. */
struct factor {
  __global const float *values;
  uint first, rows, across;
};

/* The part of a chunk that an item brings. */
struct share {
  float4 a[FOURS(TILE_A)], b[FOURS(TILE_B)];
};

INLINE void load_share(struct share *share, const struct factor *a, const struct factor *b, uint k, uint end) {
  load_chunk(share->a, a->values, TILE_A, TURNED_A, a->first, a->rows, k, end, a->across);
  load_chunk(share->b, b->values, TILE_B, TURNED_B, b->first, b->rows, k, end, b->across);
}

INLINE void store_share(const struct share *share, __local uint *a_words, __local uint *b_words) {
  store_chunk(a_words, A_WORDS, share->a, TILE_A, TURNED_A, 1.0f);
  store_chunk(b_words, B_WORDS, share->b, TILE_B, TURNED_B, TF32 ? 1.0f : WEIGHT_SCALE);
}

/* A row is a tile over a span: tiles of A fastest, then of B, then spans, whose sums are `stride` apart from `at` of C on.
 * `across`: from row to row of C and, turned, from k to k of B. add: to what is there. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
linear_product(__global const float *restrict a_values, __global const float *restrict b_values,
               __global float *restrict c_values, uint a_rows, uint b_rows, uint across, uint length, uint span,
               uint at, uint stride, uint add, uint rows) {
  OPEN_LANES(GROUP);
  __local uint a_words[STAGES][PARTS * A_WORDS], b_words[STAGES][PARTS * B_WORDS];
  const uint row = (uint)get_group_id(0), warp = (uint)get_local_id(0) / 32u;
  const uint a_all = (a_rows + TILE_A - 1u) / TILE_A, b_all = (b_rows + TILE_B - 1u) / TILE_B;
  const uint m0 = row % a_all * TILE_A, n0 = row / a_all % b_all * TILE_B, which = row / a_all / b_all;
  const uint first = which * span, end = min(first + span, length);
  const uint a_row = warp % WARPS_A * (A_TILES * 16u), b_row = warp / WARPS_A * (B_TILES * 8u);
  const struct factor a = {a_values, m0, a_rows, TURNED_A ? a_rows : length};
  const struct factor b = {b_values, n0, b_rows, TURNED_B ? across : length};
  const uint g = ((uint)get_local_id(0) & 31u) >> 2, t = (uint)get_local_id(0) & 3u;
  const bool whole = across % 2u == 0u;
  struct share even, odd;
  float acc[A_TILES][B_TILES][4];
  /* Before any is stored: then all are on their way together. */
  UNROLL for (uint m = 0u; m < A_TILES; m++) UNROLL for (uint n = 0u; n < B_TILES; n++)
      UNROLL for (uint e = 0u; e < 2u; e++) {
    uint i = m0 + a_row + m * 16u + e * 8u + g, o = n0 + b_row + n * 8u + 2u * t;
    float2 sums = add && i < a_rows ? load_sums(&c_values[at + (size_t)which * stride + (size_t)i * across], o, b_rows, whole)
                                    : (float2)(0.0f, 0.0f);
    acc[m][n][2u * e] = sums.x;
    acc[m][n][2u * e + 1u] = sums.y;
  }
  /* Two chunks a turn, the last perhaps of zeros: PoCL 3.1 loses private values where a barrier is conditional. */
  load_share(&even, &a, &b, first, end);
  load_share(&odd, &a, &b, first + CHUNK, end);
  NO_UNROLL for (uint k = first; k < end; k += 2u * CHUNK) {
    store_share(&even, a_words[0], b_words[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    load_share(&even, &a, &b, k + 2u * CHUNK, end);
    multiply_chunk(acc, a_words[0], b_words[0], a_row, b_row GIVE_LANES);
    if (STAGES == 1) barrier(CLK_LOCAL_MEM_FENCE);
    store_share(&odd, a_words[STAGES - 1], b_words[STAGES - 1]);
    barrier(CLK_LOCAL_MEM_FENCE);
    load_share(&odd, &a, &b, k + 3u * CHUNK, end);
    multiply_chunk(acc, a_words[STAGES - 1], b_words[STAGES - 1], a_row, b_row GIVE_LANES);
    if (STAGES == 1) barrier(CLK_LOCAL_MEM_FENCE);
  }
  UNROLL for (uint m = 0u; m < A_TILES; m++) UNROLL for (uint n = 0u; n < B_TILES; n++)
      UNROLL for (uint e = 0u; e < 2u; e++) {
    uint i = m0 + a_row + m * 16u + e * 8u + g, o = n0 + b_row + n * 8u + 2u * t;
    if (i < a_rows)
      store_sums(&c_values[at + (size_t)which * stride + (size_t)i * across], o, b_rows,
                 (float2)(acc[m][n][2u * e], acc[m][n][2u * e + 1u]), whole);
  }
}

/* Adds bias and spans in their order, so that a result does not depend on the number of images; a row is an output of
 * an image. */
__kernel void linear_sum(__global const float *restrict part, __global const float *restrict bias,
                         __global float *restrict output, uint outputs, uint spans, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float total = 0.0f;
  for (uint s = 0u; s < spans; s++) total += part[(size_t)s * rows + row];
  output[row] = fma(total, 1.0f / WEIGHT_SCALE, bias[row % outputs]);
}

/* Gathers gradients, which have neither bias nor scale. */
__kernel void linear_gather(__global const float *restrict part, __global float *restrict output, uint spans, uint add,
                            uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float total = 0.0f;
  for (uint s = 0u; s < spans; s++) total += part[(size_t)s * rows + row];
  output[row] = add ? output[row] + total : total;
}
#endif
#endif
