/* Transposed convolutions of 2x2, stride 2, no bias: every pixel of an input plane becomes 2x2 pixels of each output
 * plane. Values are [image][channel][height][width], weights [input][output][2][2]; height and width are those of the
 * input. A strip is eight pixels of a line of the input, of which the last may be short. Every sum runs in a fixed order. */

#define STRIP 8
#define OUTPUTS 2 /* output channels of a work-item in transposed_forward */
#define INPUTS 4  /* input channels of a work-item in transposed_backward */

/* Stores a strip's pixels of one line of the output, `even` and `odd` in turn. */
INLINE void store_transposed(__global float *line, uint x, uint width, float8 even, float8 odd) {
  float8 low = (float8)(even.s0, odd.s0, even.s1, odd.s1, even.s2, odd.s2, even.s3, odd.s3);
  float8 high = (float8)(even.s4, odd.s4, even.s5, odd.s5, even.s6, odd.s6, even.s7, odd.s7);
  store_eight(line, 2u * x, 2u * width, low);
  store_eight(line, 2u * x + STRIP, 2u * width, high);
}

/* The other way: the strip's even and odd pixels of a line. */
INLINE void load_pairs(__global const float *line, uint x, uint width, float8 *even, float8 *odd) {
  float8 low = load_eight(line, 2u * x, 2u * width), high = load_eight(line, 2u * x + STRIP, 2u * width);
  *even = (float8)(low.even, high.even);
  *odd = (float8)(low.odd, high.odd);
}

/* A row is a strip of OUTPUTS output channels: strips fastest, then lines, blocks of channels, images. */
__kernel void transposed_forward(__global const float *restrict input, __global const float *restrict weight,
                                 __global float *restrict output, uint inputs, uint outputs, uint height,
                                 uint width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint strips = (width + STRIP - 1u) / STRIP, blocks = (outputs + OUTPUTS - 1u) / OUTPUTS;
  uint x = row % strips * STRIP, line = row / strips, y = line % height;
  uint first = line / height % blocks * OUTPUTS, image = line / height / blocks;
  float8 sum[OUTPUTS][4];
#pragma unroll
  for (uint o = 0u; o < OUTPUTS; o++)
#pragma unroll
    for (uint tap = 0u; tap < 4u; tap++) sum[o][tap] = (float8)0.0f;
  for (uint i = 0u; i < inputs; i++) {
    float8 pixels = load_eight(input + ((image * inputs + i) * height + y) * width, x, width);
#pragma unroll
    for (uint o = 0u; o < OUTPUTS; o++) {
      __global const float *taps = weight + (i * outputs + min(first + o, outputs - 1u)) * 4u;
#pragma unroll
      for (uint tap = 0u; tap < 4u; tap++) sum[o][tap] = fma((float8)taps[tap], pixels, sum[o][tap]);
    }
  }
#pragma unroll
  for (uint o = 0u; o < OUTPUTS; o++) {
    if (first + o >= outputs) continue;
    __global float *to = output + ((image * outputs + first + o) * height + y) * 4u * width;
    store_transposed(to, x, width, sum[o][0], sum[o][1]);
    store_transposed(to + 2u * width, x, width, sum[o][2], sum[o][3]);
  }
}

/* The gradient of the input. A row is a strip of INPUTS input channels, in the same order. */
__kernel void transposed_backward(__global const float *restrict output_gradient,
                                  __global const float *restrict weight, __global float *restrict input_gradient,
                                  uint inputs, uint outputs, uint height, uint width, uint add, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint strips = (width + STRIP - 1u) / STRIP, blocks = (inputs + INPUTS - 1u) / INPUTS;
  uint x = row % strips * STRIP, line = row / strips, y = line % height;
  uint first = line / height % blocks * INPUTS, image = line / height / blocks;
  float8 sum[INPUTS];
#pragma unroll
  for (uint i = 0u; i < INPUTS; i++) sum[i] = (float8)0.0f;
  for (uint o = 0u; o < outputs; o++) {
    __global const float *from = output_gradient + ((image * outputs + o) * height + y) * 4u * width;
    float8 slope[4];
    load_pairs(from, x, width, &slope[0], &slope[1]);
    load_pairs(from + 2u * width, x, width, &slope[2], &slope[3]);
#pragma unroll
    for (uint i = 0u; i < INPUTS; i++) {
      __global const float *taps = weight + (min(first + i, inputs - 1u) * outputs + o) * 4u;
#pragma unroll
      for (uint tap = 0u; tap < 4u; tap++) sum[i] = fma((float8)taps[tap], slope[tap], sum[i]);
    }
  }
#pragma unroll
  for (uint i = 0u; i < INPUTS; i++)
    if (first + i < inputs)
      add_eight(input_gradient + ((image * inputs + first + i) * height + y) * width, x, width, sum[i], add);
}

/* Partial sums of the weights' gradients over pieces of the input's lines of all images, as conv_weight. A row is an
 * input and an output channel of a piece: outputs fastest, then inputs, pieces. partial: [shard][piece][input][output][4].
 */
__kernel void transposed_weight(__global const float *restrict input, __global const float *restrict output_gradient,
                                __global float *restrict partial, uint inputs, uint outputs, uint height, uint width,
                                uint lines, uint each, uint parts, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint o = row % outputs, i = row / outputs % inputs, piece = row / outputs / inputs;
  uint shard = piece / parts * each, count = min(each, lines - shard), part = piece % parts;
  uint start = shard + (uint)((ulong)part * count / parts), last = shard + (uint)((ulong)(part + 1u) * count / parts);
  float8 sum[4];
#pragma unroll
  for (uint tap = 0u; tap < 4u; tap++) sum[tap] = (float8)0.0f;
  for (uint line = start; line < last; line++) {
    uint image = line / height, y = line % height;
    __global const float *from = input + ((image * inputs + i) * height + y) * width;
    __global const float *slopes = output_gradient + ((image * outputs + o) * height + y) * 4u * width;
    for (uint x = 0u; x < width; x += STRIP) {
      float8 pixels = load_eight(from, x, width), slope[4];
      load_pairs(slopes, x, width, &slope[0], &slope[1]);
      load_pairs(slopes + 2u * width, x, width, &slope[2], &slope[3]);
#pragma unroll
      for (uint tap = 0u; tap < 4u; tap++) sum[tap] = fma(pixels, slope[tap], sum[tap]);
    }
  }
#pragma unroll
  for (uint tap = 0u; tap < 4u; tap++) partial[row * 4u + tap] = strip_sum(sum[tap]);
}
