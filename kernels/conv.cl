/* Convolutions of 3x3 and 1x1 with zeros outside, stride 1. Values are [image][channel][height][width],
 * weights [output][input][3][3] or [output][input].
 *
 * A work-item computes a tile of OUTPUTS channels, LINES lines and a strip of STRIP pixels in registers; of a
 * line it needs the strip itself and the strips one pixel to either side. Every sum runs in a fixed order. */

#define STRIP 8
#define LINES 2
#define OUTPUTS 4

/* The strip and its two neighbours shifted by one pixel. */
INLINE void load_window(__global const float *line, uint x, uint width, float8 *window) {
  float8 middle = load_eight(line, x, width);
  float before = x > 0u ? line[x - 1u] : 0.0f, after = x + STRIP < width ? line[x + STRIP] : 0.0f;
  window[0] = (float8)(before, middle.s0123, middle.s456);
  window[1] = middle;
  window[2] = (float8)(middle.s123, middle.s4567, after);
}

/* Where a work-item's tile lies. */
typedef struct {
  uint image, output, y, x;
} tile;

INLINE tile find_tile(uint row, uint outputs, uint height, uint width) {
  uint strips = (width + STRIP - 1u) / STRIP, pairs = (height + LINES - 1u) / LINES;
  uint blocks = (outputs + OUTPUTS - 1u) / OUTPUTS;
  tile at;
  at.x = row % strips * STRIP;
  row /= strips;
  at.y = row % pairs * LINES;
  row /= pairs;
  at.output = row % blocks * OUTPUTS;
  at.image = row / blocks;
  return at;
}

/* How weights lie: those of output o and input i start at o * output + i * input; backward takes the taps
 * from the last to the first. */
typedef struct {
  uint output, input;
  bool reversed;
} weight_order;

/* Adds one input plane by 3x3 weights. taps[o]: the nine weights of output o. */
INLINE void add_plane(__global const float *plane, __global const float *const *taps, bool reversed, tile at,
                      uint height, uint width, float8 sum[OUTPUTS][LINES]) {
#pragma unroll
  for (int dy = 0; dy < LINES + 2; dy++) {
    uint y = at.y + (uint)dy - 1u; /* wraps above the image */
    if (y >= height) continue;
    float8 window[3];
    load_window(plane + y * width, at.x, width, window);
#pragma unroll
    for (int o = 0; o < OUTPUTS; o++)
#pragma unroll
      for (int l = 0; l < LINES; l++) {
        int tap = dy - l;
        if (tap < 0 || tap > 2) continue;
#pragma unroll
        for (int dx = 0; dx < 3; dx++)
          sum[o][l] = fma((float8)taps[o][reversed ? 8 - 3 * tap - dx : 3 * tap + dx], window[dx], sum[o][l]);
      }
  }
}

/* The sums of a tile over all input channels. */
INLINE void convolve(__global const float *input, __global const float *weight, weight_order order, tile at,
                     uint inputs, uint outputs, uint height, uint width, uint size,
                     float8 sum[OUTPUTS][LINES]) {
  __global const float *taps[OUTPUTS];
#pragma unroll
  for (uint o = 0u; o < OUTPUTS; o++) taps[o] = weight + min(at.output + o, outputs - 1u) * order.output;
  __global const float *plane = input + at.image * inputs * height * width;
  for (uint i = 0u; i < inputs; i++) {
    if (size == 3u) {
      add_plane(plane, taps, order.reversed, at, height, width, sum);
    } else {
#pragma unroll
      for (uint l = 0u; l < LINES; l++) {
        if (at.y + l >= height) continue;
        float8 pixels = load_eight(plane + (at.y + l) * width, at.x, width);
#pragma unroll
        for (uint o = 0u; o < OUTPUTS; o++) sum[o][l] = fma((float8)taps[o][0], pixels, sum[o][l]);
      }
    }
    plane += height * width;
#pragma unroll
    for (uint o = 0u; o < OUTPUTS; o++) taps[o] += order.input;
  }
}

/* A row is a tile: strips fastest, then line pairs, blocks of output channels, images. Where it is not biased, `bias` is
 * not read. */
__kernel void conv_forward(__global const float *restrict input, __global const float *restrict weight,
                           __global const float *restrict bias, __global float *restrict output, uint inputs,
                           uint outputs, uint height, uint width, uint size, uint biased, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  tile at = find_tile(row, outputs, height, width);
  weight_order order = {inputs * size * size, size * size, false};
  float8 sum[OUTPUTS][LINES];
#pragma unroll
  for (uint o = 0u; o < OUTPUTS; o++)
#pragma unroll
    for (uint l = 0u; l < LINES; l++) sum[o][l] = (float8)(biased ? bias[min(at.output + o, outputs - 1u)] : 0.0f);
  convolve(input, weight, order, at, inputs, outputs, height, width, size, sum);
#pragma unroll
  for (uint o = 0u; o < OUTPUTS; o++)
#pragma unroll
    for (uint l = 0u; l < LINES; l++)
      if (at.output + o < outputs && at.y + l < height)
        store_eight(output + ((at.image * outputs + at.output + o) * height + at.y + l) * width, at.x, width,
                    sum[o][l]);
}

/* The gradient of the input: the same convolution with the weights of the other direction. `inputs` and
 * `outputs` are those of the forward pass; a row is a tile of the input. */
__kernel void conv_backward(__global const float *restrict output_gradient,
                            __global const float *restrict weight, __global float *restrict input_gradient,
                            uint inputs, uint outputs, uint height, uint width, uint size, uint add,
                            uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  tile at = find_tile(row, inputs, height, width);
  weight_order order = {size * size, inputs * size * size, true};
  float8 sum[OUTPUTS][LINES];
#pragma unroll
  for (uint o = 0u; o < OUTPUTS; o++)
#pragma unroll
    for (uint l = 0u; l < LINES; l++) sum[o][l] = (float8)0.0f;
  convolve(output_gradient, weight, order, at, outputs, inputs, height, width, size, sum);
#pragma unroll
  for (uint o = 0u; o < OUTPUTS; o++)
#pragma unroll
    for (uint l = 0u; l < LINES; l++) {
      if (at.output + o >= inputs || at.y + l >= height) continue;
      __global float *line =
          input_gradient + ((at.image * inputs + at.output + o) * height + at.y + l) * width;
      if (add) sum[o][l] += load_eight(line, at.x, width);
      store_eight(line, at.x, width, sum[o][l]);
    }
}

#define PAIR 2 /* output channels of a work-item in conv_weight */

/* Adds one line of the input times the output gradient's: lines y-1, y, y+1 of the input (3x3) or y (1x1)
 * meet line y of the gradient, which is what is shifted: input pixel p + dx - 1 meets p, so p meets p + 1 -
 * dx. */
INLINE void add_line(__global const float *plane, __global const float *const *slope, uint y, uint height,
                     uint width, bool wide, float8 sum[PAIR][9]) {
  for (uint x = 0u; x < width; x += STRIP) {
    float8 window[PAIR][3];
#pragma unroll
    for (int o = 0; o < PAIR; o++) load_window(slope[o] + y * width, x, width, window[o]);
    if (!wide) {
      float8 pixels = load_eight(plane + y * width, x, width);
#pragma unroll
      for (int o = 0; o < PAIR; o++) sum[o][0] = fma(window[o][1], pixels, sum[o][0]);
      continue;
    }
#pragma unroll
    for (int dy = 0; dy < 3; dy++) {
      uint line = y + (uint)dy - 1u; /* wraps above the image */
      if (line >= height) continue;
      float8 pixels = load_eight(plane + line * width, x, width);
#pragma unroll
      for (int o = 0; o < PAIR; o++)
#pragma unroll
        for (int dx = 0; dx < 3; dx++)
          sum[o][3 * dy + dx] = fma(window[o][2 - dx], pixels, sum[o][3 * dy + dx]);
    }
  }
}

/* Partial sums of the weights' gradients. The lines of all images, in order, are those of shards of `each` lines, the
 * last of what is left; a shard's are cut into `parts` pieces. A row is one input channel and PAIR output channels of a
 * piece: input channels fastest, then pairs, pieces. partial: [shard][piece][output][input][taps]. */
__kernel void conv_weight(__global const float *restrict input,
                          __global const float *restrict output_gradient, __global float *restrict partial,
                          uint inputs, uint outputs, uint height, uint width, uint size, uint lines,
                          uint each, uint parts, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint pairs = (outputs + PAIR - 1u) / PAIR, taps = size * size;
  uint i = row % inputs, output = row / inputs % pairs * PAIR, piece = row / inputs / pairs;
  uint shard = piece / parts * each, count = min(each, lines - shard), part = piece % parts;
  uint start = shard + (uint)((ulong)part * count / parts), last = shard + (uint)((ulong)(part + 1u) * count / parts);
  float8 sum[PAIR][9];
#pragma unroll
  for (int o = 0; o < PAIR; o++)
#pragma unroll
    for (int t = 0; t < 9; t++) sum[o][t] = (float8)0.0f;
  for (uint line = start; line < last; line++) {
    uint image = line / height, y = line % height;
    __global const float *plane = input + (image * inputs + i) * height * width;
    __global const float *slope[PAIR];
#pragma unroll
    for (uint o = 0u; o < PAIR; o++)
      slope[o] = output_gradient + (image * outputs + min(output + o, outputs - 1u)) * height * width;
    add_line(plane, slope, y, height, width, size == 3u, sum);
  }
#pragma unroll
  for (uint o = 0u; o < PAIR; o++)
#pragma unroll
    for (uint t = 0u; t < 9u; t++)
      if (output + o < outputs && t < taps)
        partial[((piece * outputs + output + o) * inputs + i) * taps + t] = strip_sum(sum[o][t]);
}

/* Adds the sums of a shard's `parts` pieces to its gradient, which is `stride` after that of the shard before; the first
 * starts at `at`. A row is one of `count` weights of a shard. */
__kernel void conv_weight_sum(__global const float *restrict partial, __global float *restrict gradient,
                              uint parts, uint count, uint at, uint stride, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint shard = row / count, weight = row % count;
  float sum = 0.0f;
  for (uint piece = 0u; piece < parts; piece++) sum += partial[(shard * parts + piece) * count + weight];
  gradient[at + shard * stride + weight] += sum;
}

#define GROUP 64

/* Adds the sums of the output gradient over pixels and the images of a shard, `each` of them, to the bias's gradient
 * (conv_weight_sum). A row is a channel of a shard. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
conv_bias(__global const float *restrict output_gradient, __global float *restrict gradient, uint images,
          uint each, uint channels, uint pixels, uint at, uint stride, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint shard = row / channels, channel = row % channels, last = min((shard + 1u) * each, images);
  float8 sum = (float8)0.0f;
  for (uint image = shard * each; image < last; image++) {
    __global const float *plane = output_gradient + (image * channels + channel) * pixels;
    for (uint i = item * STRIP; i < pixels; i += GROUP * STRIP) sum += load_eight(plane, i, pixels);
  }
  float total = group_sum(strip_sum(sum), scratch);
  if (item == 0u) gradient[at + shard * stride + channel] += total;
}
