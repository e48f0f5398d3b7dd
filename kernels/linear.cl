/* Linear layers by matrix instructions (kernels/common.h), forward and backward: C[m][n] = sum over k of A[m][k] *
 * B[n][k]. A warp sums a tile of 32 x 64 over a span of k.
 *
 *   PARTS               1: operands rounded to 11 bits   2: split into two, three products (f32-grade)
 *   TF32                0: halves, B scaled by WEIGHT_SCALE   1: TF32, of any range: gradients
 *   TURNED_A TURNED_B   the factor is stored [k][m], or [k][n]; otherwise its k must be a multiple of 16
 *
 * Fragments as in block_weights.cl: the k of a product are four neighbours of every lane, whatever their places there. */
#ifdef L2SR_MATRIX
#ifndef L2SR_AMD /* its instruction wants other fragments */

#ifndef PARTS /* so that the file can be read and linted alone */
#define PARTS 2
#define TF32 0
#define TURNED_A 0
#define TURNED_B 0
#endif

#define A_TILES 2          /* of 16 */
#define B_TILES 8          /* of 8 */
#define WEIGHT_SCALE 64.0f /* keeps the low parts of small weights normal numbers */
#define WORDS (TF32 ? 4 : 2)

/* Four values as words; the low parts behind. */
INLINE void split4(float4 four, uint words[PARTS][WORDS]) {
#if TF32
  float value[4] = {four.x, four.y, four.z, four.w};
  UNROLL for (int j = 0; j < 4; j++) {
    words[0][j] = round_tf32(value[j]);
#if PARTS == 2
    words[1][j] = round_tf32(value[j] - as_float(words[0][j]));
#endif
  }
#else
  words[0][0] = pack(four.x, four.y);
  words[0][1] = pack(four.z, four.w);
#if PARTS == 2
  words[1][0] = pack(four.x - even_of(words[0][0]), four.y - odd_of(words[0][0]));
  words[1][1] = pack(four.z - even_of(words[0][1]), four.w - odd_of(words[0][1]));
#endif
#endif
}

/* Values k to k + 3 of a row, zeros from `end` on; of the last row, where there are fewer: what becomes of it is not
 * stored. `across`: from row to row, or turned from k to k. */
INLINE float4 load4(__global const float *from, uint row, uint rows, uint k, uint end, uint across, bool turned) {
  row = min(row, rows - 1u);
  if (!turned) return *(__global const float4 *)&from[(size_t)row * across + k];
  float value[4];
  UNROLL for (uint j = 0u; j < 4u; j++) value[j] = from[(size_t)min(k + j, end - 1u) * across + row];
  UNROLL for (uint j = 0u; j < 4u; j++) value[j] = k + j < end ? value[j] : 0.0f;
  return (float4)(value[0], value[1], value[2], value[3]);
}

INLINE void multiply_words(float acc[4], const uint low[WORDS], const uint high[WORDS], const uint b[WORDS] LANES) {
#if TF32
  MULTIPLY_TF32(acc, low[0], high[0], low[1], high[1], b[0], b[1]);
  MULTIPLY_TF32(acc, low[2], high[2], low[3], high[3], b[2], b[3]);
#else
  MULTIPLY(acc, low[0], high[0], low[1], high[1], b[0], b[1]);
#endif
}

/* A row is a tile over a span: tiles of A fastest, then of B, then spans; C has room for every span. `across`: from
 * row to row of C and, turned, from k to k of B. add: to what is there. */
__kernel void linear_product(__global const float *restrict a_values, __global const float *restrict b_values,
                             __global float *restrict c_values, uint a_rows, uint b_rows, uint across, uint length,
                             uint span, uint add, uint rows) {
  OPEN_LANES(32);
  const uint lane = (uint)get_local_id(0), g = lane >> 2, t = lane & 3u, row = (uint)get_group_id(0);
  const uint a_all = (a_rows + 31u) / 32u, b_all = (b_rows + 63u) / 64u;
  const uint m0 = row % a_all * 32u, n0 = row / a_all % b_all * 64u, which = row / a_all / b_all;
  const uint first = which * span, end = min(first + span, length);
  float acc[A_TILES][B_TILES][4];
  UNROLL for (int m = 0; m < A_TILES; m++) UNROLL for (int n = 0; n < B_TILES; n++)
      UNROLL for (int j = 0; j < 4; j++) acc[m][n][j] = 0.0f;
  NO_UNROLL for (uint k = first; k < end; k += 16u) {
    uint a[A_TILES][2][PARTS][WORDS];
    UNROLL for (uint m = 0u; m < A_TILES; m++) UNROLL for (uint e = 0u; e < 2u; e++)
        split4(load4(a_values, m0 + m * 16u + e * 8u + g, a_rows, k + 4u * t, end, TURNED_A ? a_rows : length, TURNED_A),
               a[m][e]);
    UNROLL for (uint n = 0u; n < B_TILES; n++) {
      uint b[PARTS][WORDS];
      split4(load4(b_values, n0 + n * 8u + g, b_rows, k + 4u * t, end, TURNED_B ? across : length, TURNED_B) *
                 (TF32 ? 1.0f : WEIGHT_SCALE),
             b);
      UNROLL for (uint m = 0u; m < A_TILES; m++) {
#if PARTS == 2
        multiply_words(acc[m][n], a[m][0][1], a[m][1][1], b[0] GIVE_LANES);
        multiply_words(acc[m][n], a[m][0][0], a[m][1][0], b[1] GIVE_LANES);
#endif
        multiply_words(acc[m][n], a[m][0][0], a[m][1][0], b[0] GIVE_LANES);
      }
    }
  }
  UNROLL for (uint m = 0u; m < A_TILES; m++) UNROLL for (uint n = 0u; n < B_TILES; n++)
      UNROLL for (uint j = 0u; j < 4u; j++) {
    uint i = m0 + m * 16u + (j >> 1) * 8u + g, o = n0 + n * 8u + 2u * t + (j & 1u);
    if (i >= a_rows || o >= b_rows) continue;
    __global float *to = &c_values[((size_t)which * a_rows + i) * across + o];
    *to = add ? *to + acc[m][n][j] : acc[m][n][j];
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

/* The same of gradients, which have neither bias nor scale. */
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
