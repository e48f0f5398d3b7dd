/* Linear layers by matrix instructions (kernels/common.h): output[image][o] = bias[o] + sum of weight[o][i] *
 * input[image][i]. A warp sums a tile of 32 images x 64 outputs over a span of the inputs; the spans are added in
 * their order, so that a result does not depend on the number of images.
 *
 *   PARTS    1: half operands   2: operands split into two halves, three products (f32-grade)
 *
 * Fragments as in block_weights.cl: k = 2t, 2t + 1, 2t + 8, 2t + 9 are four neighbouring inputs. */
#ifdef L2SR_MATRIX

#ifndef PARTS /* so that the file can be read and linted alone */
#define PARTS 2
#endif

#define IMAGE_TILES 2  /* of 16 */
#define OUTPUT_TILES 8 /* of 8 */
#define WEIGHT_SCALE 64.0f /* keeps the low parts of small weights normal numbers */

/* Four values as two words; the low parts behind. */
INLINE void split4(float4 four, uint words[PARTS][2]) {
  words[0][0] = pack(four.x, four.y);
  words[0][1] = pack(four.z, four.w);
#if PARTS == 2
  words[1][0] = pack(four.x - even_of(words[0][0]), four.y - odd_of(words[0][0]));
  words[1][1] = pack(four.z - even_of(words[0][1]), four.w - odd_of(words[0][1]));
#endif
}

/* A row is a tile over a span: image tiles fastest, then output tiles, then spans. */
__kernel void linear_product(__global const float *restrict input, __global const float *restrict weight,
                             __global float *restrict part, uint inputs, uint outputs, uint images, uint span,
                             uint rows) {
  OPEN_LANES(32);
  const uint lane = (uint)get_local_id(0), g = lane >> 2, t = lane & 3u, row = (uint)get_group_id(0);
  const uint tiles = (images + 31u) / 32u, columns = (outputs + 63u) / 64u;
  const uint image = row % tiles * 32u, output = row / tiles % columns * 64u, which = row / tiles / columns;
  const uint first = which * span, end = min(first + span, inputs);
  float acc[IMAGE_TILES][OUTPUT_TILES][4];
  UNROLL for (int m = 0; m < IMAGE_TILES; m++) UNROLL for (int n = 0; n < OUTPUT_TILES; n++)
      UNROLL for (int j = 0; j < 4; j++) acc[m][n][j] = 0.0f;
  NO_UNROLL for (uint k = first; k < end; k += 16u) {
    uint a[IMAGE_TILES][2][PARTS][2];
    UNROLL for (uint m = 0u; m < IMAGE_TILES; m++) UNROLL for (uint e = 0u; e < 2u; e++) {
      uint from = image + m * 16u + e * 8u + g;
      float4 four = (float4)(0.0f);
      if (from < images) four = *(__global const float4 *)&input[(size_t)from * inputs + k + 4u * t];
      split4(four, a[m][e]);
    }
    UNROLL for (uint n = 0u; n < OUTPUT_TILES; n++) {
      uint to = output + n * 8u + g, b[PARTS][2];
      float4 four = (float4)(0.0f);
      if (to < outputs) four = *(__global const float4 *)&weight[(size_t)to * inputs + k + 4u * t] * WEIGHT_SCALE;
      split4(four, b);
      UNROLL for (uint m = 0u; m < IMAGE_TILES; m++) {
#if PARTS == 2
        MULTIPLY(acc[m][n], a[m][0][1][0], a[m][1][1][0], a[m][0][1][1], a[m][1][1][1], b[0][0], b[0][1]);
        MULTIPLY(acc[m][n], a[m][0][0][0], a[m][1][0][0], a[m][0][0][1], a[m][1][0][1], b[1][0], b[1][1]);
#endif
        MULTIPLY(acc[m][n], a[m][0][0][0], a[m][1][0][0], a[m][0][0][1], a[m][1][0][1], b[0][0], b[0][1]);
      }
    }
  }
  UNROLL for (uint m = 0u; m < IMAGE_TILES; m++) UNROLL for (uint n = 0u; n < OUTPUT_TILES; n++)
      UNROLL for (uint j = 0u; j < 4u; j++) {
    uint to = image + m * 16u + (j >> 1) * 8u + g, o = output + n * 8u + 2u * t + (j & 1u);
    if (to < images && o < outputs) part[((size_t)which * images + to) * outputs + o] = acc[m][n][j];
  }
}

/* Adds bias and spans; a row is an output of an image. */
__kernel void linear_sum(__global const float *restrict part, __global const float *restrict bias,
                         __global float *restrict output, uint outputs, uint spans, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float total = 0.0f;
  for (uint s = 0u; s < spans; s++) total += part[(size_t)s * rows + row];
  output[row] = fma(total, 1.0f / WEIGHT_SCALE, bias[row % outputs]);
}
#endif
