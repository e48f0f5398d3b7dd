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

/* How weights lie: those of output o and input i start at o * output + i * input; backward takes the taps
 * from the last to the first. */
typedef struct {
  uint output, input;
  bool reversed;
} weight_order;

#ifdef __AVX512F__
/* ---- a CPU with vectors of sixteen floats ---------------------------------------------------------------------------- */

#define WIDE 16u    /* pixels of a vector */
#define TALL 4u     /* lines of a block of sums in registers, of OUTPUTS channels */
#define SPAN 64u    /* pixels of a line at a time */
#define STRIPS (SPAN / WIDE)
#define BLOCKS 4u   /* of outputs that an item takes */
#define STAGED 16u  /* inputs at a time */
#define PITCH (SPAN + WIDE)

/* Lanes from `first` on that are below `end`. */
INLINE ushort lanes_between(int first, int end) {
  uint below_end = (1u << clamp(end, 0, 16)) - 1u, below_first = (1u << clamp(first, 0, 16)) - 1u;
  return (ushort)(below_end & ~below_first);
}

/* What other lanes stand for is not touched. */
INLINE float16 load_lanes(__global const float *from, ushort lanes) {
  return __builtin_ia32_loadups512_mask((const float *)(size_t)from, (float16)0.0f, lanes);
}
INLINE void store_lanes(__global float *to, ushort lanes, float16 value) {
  __builtin_ia32_storeups512_mask((float *)(size_t)to, value, lanes);
}

/* Copies lines of a plane from pixel x on, with zeros outside: [line][pitch], the first pixel that before x, the first line
 * that before y. */
INLINE void stage_lines(__global const float *plane, uint y, uint lines, uint x, uint height, uint width, uint pitch,
                        float16 *staged) {
  uint span = min(pitch, (width - x + 2u + WIDE - 1u) / WIDE * WIDE);
  for (uint k = 0u; k < span; k += WIDE) {
    int first = 1 - (int)(x + k);
    ushort inside = lanes_between(first, first + (int)width);
    __global const float *from = plane + (int)(y * width + x + k) - (int)width - 1;
    for (uint l = 0u; l < lines; l++, from += width) { /* the line before the first wraps */
      __builtin_prefetch((const float *)(size_t)(from + TALL * width)); /* the next block's */
      staged[(l * pitch + k) / WIDE] = load_lanes(from, y + l - 1u < height ? inside : 0);
    }
  }
}

/* Sixteen staged pixels; where `apart` is not 0, eight and eight of the line so much further down. */
INLINE float16 staged_wide(const float *from, uint apart) {
  return apart ? (float16)(vload8(0, from), vload8(0, from + apart)) : vload16(0, from);
}

/* An item takes BLOCKS * OUTPUTS channels of TALL lines. Where a line has at most half a vector's pixels, it takes twice the
 * lines: the upper half of a vector is the line `below` the lower half's. `below` is 0 elsewhere. */
typedef struct {
  uint image, output, y, below;
} wide_block;

/* The block of an item; false: there are no more. `rows` is the number of tiles. */
INLINE bool find_block(uint item, uint outputs, uint height, uint width, uint rows, wide_block *at) {
  uint tiles = (outputs + OUTPUTS - 1u) / OUTPUTS, blocks = (tiles + BLOCKS - 1u) / BLOCKS;
  uint images = rows / (tiles * ((height + LINES - 1u) / LINES) * ((width + STRIP - 1u) / STRIP));
  at->below = width <= STRIP ? TALL : 0u;
  uint tall = TALL + at->below, groups = (height + tall - 1u) / tall;
  at->y = item % groups * tall;
  item /= groups;
  at->output = item % blocks * BLOCKS * OUTPUTS;
  at->image = item / blocks;
  return at->image < images;
}

/* Adds staged inputs to the sums of OUTPUTS channels: sum[output][line]. */
INLINE void add_staged(const float *staged, __global const float *weight, weight_order order, uint last, uint count,
                       uint size, bool halves, float16 sum[OUTPUTS][TALL]) {
  const uint pitch = halves ? WIDE : PITCH, apart = halves ? TALL * WIDE : 0u;
  for (uint i = 0u; i < count; i++, staged += (TALL + 2u) * PITCH, weight += order.input) {
    if (size != 3u) {
#pragma unroll
      for (uint l = 0u; l < TALL; l++)
#pragma unroll
        for (uint o = 0u; o < OUTPUTS; o++)
          sum[o][l] = fma((float16)weight[min(o, last) * order.output], staged_wide(staged + (l + 1u) * pitch + 1u, apart),
                          sum[o][l]);
      continue;
    }
#pragma unroll
    for (uint t = 0u; t < 9u; t++) {
      float16 line[TALL];
#pragma unroll
      for (uint l = 0u; l < TALL; l++) line[l] = staged_wide(staged + (l + t / 3u) * pitch + t % 3u, apart);
#pragma unroll
      for (uint o = 0u; o < OUTPUTS; o++) {
        float16 tap = (float16)weight[min(o, last) * order.output + (order.reversed ? 8u - t : t)];
#pragma unroll
        for (uint l = 0u; l < TALL; l++) sum[o][l] = fma(tap, line[l], sum[o][l]);
      }
    }
  }
}

/* The sums of a span of a block: [block of channels][strip][channel][line]. `bias` NULL: they start from 0. */
INLINE void convolve_wide(__global const float *input, __global const float *weight, __global const float *bias,
                          weight_order order, wide_block at, uint x, uint inputs, uint outputs, uint height, uint width,
                          uint size, float16 *sums) {
  float16 staged[STAGED * (TALL + 2u) * PITCH / WIDE];
  uint blocks = min(BLOCKS, (outputs - at.output + OUTPUTS - 1u) / OUTPUTS);
  uint strips = min(STRIPS, (width - x + WIDE - 1u) / WIDE);
  for (uint i = 0u; i < inputs; i += STAGED) {
    uint count = min(STAGED, inputs - i);
    for (uint k = 0u; k < count; k++)
      stage_lines(input + (at.image * inputs + i + k) * height * width, at.y, TALL + 2u + at.below, x, height, width,
                  at.below ? WIDE : PITCH, staged + k * (TALL + 2u) * PITCH / WIDE);
    for (uint b = 0u; b < blocks; b++)
      for (uint s = 0u; s < strips; s++) {
        uint output = at.output + b * OUTPUTS, last = outputs - 1u - output;
        __global const float *taps = weight + output * order.output + i * order.input;
        float16 *kept = sums + (b * STRIPS + s) * OUTPUTS * TALL, sum[OUTPUTS][TALL];
#pragma unroll
        for (uint o = 0u; o < OUTPUTS; o++)
#pragma unroll
          for (uint l = 0u; l < TALL; l++)
            sum[o][l] = i ? kept[o * TALL + l] : (float16)(bias ? bias[output + min(o, last)] : 0.0f);
        if (at.below)
          add_staged((const float *)staged, taps, order, last, count, size, true, sum);
        else
          add_staged((const float *)(staged + s), taps, order, last, count, size, false, sum);
#pragma unroll
        for (uint o = 0u; o < OUTPUTS; o++)
#pragma unroll
          for (uint l = 0u; l < TALL; l++) kept[o * TALL + l] = sum[o][l];
      }
  }
}

INLINE void store_strip(__global float *to, ushort lanes, float16 value, uint add) {
  store_lanes(to, lanes, add ? load_lanes(to, lanes) + value : value);
}

/* Stores the sums of a span of a block, or adds them to what is there. */
INLINE void store_block(__global float *planes, wide_block at, uint x, uint outputs, uint height, uint width, uint add,
                        const float16 *sums) {
  for (uint o = 0u; o < min(BLOCKS * OUTPUTS, outputs - at.output); o++)
    for (uint l = 0u; l < min(TALL, height - at.y); l++) {
      __global float *line = planes + (o * height + at.y + l) * width;
      const float16 *from = sums + o / OUTPUTS * STRIPS * OUTPUTS * TALL + o % OUTPUTS * TALL + l;
      for (uint to = x; to < min(x + SPAN, width); to += WIDE, from += OUTPUTS * TALL) {
        ushort lanes = lanes_between(0, (int)(width - to));
        store_strip(line + to, lanes, *from, add);
        if (at.below && at.y + l + at.below < height)
          store_strip(line + at.below * width, lanes, (float16)(from->hi, from->hi), add);
      }
    }
}

__kernel void conv_forward(__global const float *restrict input, __global const float *restrict weight,
                           __global const float *restrict bias, __global float *restrict output, uint inputs,
                           uint outputs, uint height, uint width, uint size, uint biased, uint rows) {
  wide_block at;
  float16 sums[BLOCKS * STRIPS * OUTPUTS * TALL];
  if (!find_block((uint)get_global_id(0), outputs, height, width, rows, &at)) return;
  weight_order order = {inputs * size * size, size * size, false};
  __global float *planes = output + (at.image * outputs + at.output) * height * width;
  for (uint x = 0u; x < width; x += SPAN) {
    convolve_wide(input, weight, biased ? bias : NULL, order, at, x, inputs, outputs, height, width, size, sums);
    store_block(planes, at, x, outputs, height, width, 0u, sums);
  }
}

__kernel void conv_backward(__global const float *restrict output_gradient, __global const float *restrict weight,
                            __global float *restrict input_gradient, uint inputs, uint outputs, uint height, uint width,
                            uint size, uint add, uint rows) {
  wide_block at;
  float16 sums[BLOCKS * STRIPS * OUTPUTS * TALL];
  if (!find_block((uint)get_global_id(0), inputs, height, width, rows, &at)) return;
  weight_order order = {size * size, inputs * size * size, true};
  __global float *planes = input_gradient + (at.image * inputs + at.output) * height * width;
  for (uint x = 0u; x < width; x += SPAN) {
    convolve_wide(output_gradient, weight, NULL, order, at, x, outputs, inputs, height, width, size, sums);
    store_block(planes, at, x, inputs, height, width, add, sums);
  }
}

#else
/* ---- any other device ------------------------------------------------------------------------------------------------ */

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

#endif

#define PAIR 2 /* output channels of a work-item in conv_weight */

#ifdef __AVX512F__

#define PAIRS 8u  /* of output channels that an item takes */
#define LINES_MOST 16u

/* Lines of an input, [line][shift][strip]: vectors of sixteen pixels from one before `x` on, from x on, from one after; the
 * first line is that before y. Zeros outside. Where `apart` is not 0, the upper half of a vector is the line so much further
 * down. */
INLINE void stage_shifted(__global const float *plane, uint y, uint lines, uint apart, uint x, uint height, uint width,
                          float16 *staged) {
  for (uint k = 0u; k < 3u * STRIPS; k++) {
    if (x + k % STRIPS * WIDE >= width) continue;
    int first = 1 - (int)(x + k % STRIPS * WIDE + k / STRIPS);
    ushort inside = lanes_between(first, first + (int)width);
    __global const float *from = plane + (int)(y * width) - (int)width - first;
    for (uint l = 0u; l < lines; l++, from += width) { /* the line before the first wraps */
      float16 pixels = load_lanes(from, y + l - 1u < height ? inside : 0);
      if (apart) pixels.hi = load_lanes(from + apart * width, y + l - 1u + apart < height ? inside : 0).lo;
      staged[l * 3u * STRIPS + k] = pixels;
    }
  }
}

/* What an item of conv_weight adds up: staged lines of an input, and those of output gradients from line y of an image on. */
typedef struct {
  const float16 *staged;
  uint y, lines, x, width, apart;
} weight_span;

/* Adds a span: staged inputs times the output gradients of PAIR channels, by nine taps or by the one of 1x1. */
INLINE void add_weights(weight_span at, __global const float *const *slope, const uint taps, float16 sum[PAIR][9]) {
  for (uint s = 0u; s < STRIPS && at.x + s * WIDE < at.width; s++) {
    const uint start = at.y * at.width + at.x + s * WIDE;
    const ushort lanes = lanes_between(0, (int)(at.width - at.x - s * WIDE));
    for (uint l = 0u; l < (at.apart ? at.apart : at.lines); l++) {
      const float16 *from = at.staged + l * 3u * STRIPS + s;
      float16 change[PAIR];
#pragma unroll
      for (uint o = 0u; o < PAIR; o++) {
        __global const float *line = slope[o] + start + l * at.width;
        change[o] = load_lanes(line, lanes);
        if (at.apart) change[o].hi = load_lanes(line + at.apart * at.width, l + at.apart < at.lines ? lanes : 0).lo;
      }
#pragma unroll
      for (uint t = 0u; t < taps; t++)
#pragma unroll
        for (uint o = 0u; o < PAIR; o++)
          sum[o][t] = fma(change[o], from[(taps == 1u ? 4u : t) * STRIPS], sum[o][t]);
    }
  }
}

/* The same of PAIRS pairs of outputs from `output` on: sums[pair][output][tap]. */
INLINE void add_pairs(weight_span at, __global const float *slopes, uint output, uint outputs, uint pixels, const uint taps,
                      float16 *sums) {
  for (uint p = 0u; p < PAIRS && output + p * PAIR < outputs; p++) {
    float16 sum[PAIR][9];
    __global const float *slope[PAIR];
#pragma unroll
    for (uint o = 0u; o < PAIR; o++) {
      slope[o] = slopes + min(output + p * PAIR + o, outputs - 1u) * pixels;
#pragma unroll
      for (uint t = 0u; t < taps; t++) sum[o][t] = sums[(p * PAIR + o) * taps + t];
    }
    add_weights(at, slope, taps, sum);
#pragma unroll
    for (uint o = 0u; o < PAIR; o++)
#pragma unroll
      for (uint t = 0u; t < taps; t++) sums[(p * PAIR + o) * taps + t] = sum[o][t];
  }
}

/* Adds lines of an image from y on. */
INLINE void add_lines(__global const float *plane, __global const float *slopes, uint y, uint lines, uint output, uint outputs,
                      uint height, uint width, uint size, float16 *sums) {
  float16 staged[(LINES_MOST + 2u) * 3u * STRIPS];
  weight_span at = {staged, y, lines, 0u, width, width <= STRIP ? (lines + 1u) / 2u : 0u};
  for (; at.x < width; at.x += SPAN) {
    stage_shifted(plane, y, (at.apart ? at.apart : lines) + 2u, at.apart, at.x, height, width, staged);
    if (size == 3u)
      add_pairs(at, slopes, output, outputs, height * width, 9u, sums);
    else
      add_pairs(at, slopes, output, outputs, height * width, 1u, sums);
  }
}

/* Partial sums of the weights' gradients. The lines of all images, in order, are those of shards of `each` lines, the
 * last of what is left; a shard's are cut into `parts` pieces. A row is one input channel and PAIR output channels of a
 * piece: input channels fastest, then pairs, pieces. partial: [shard][piece][output][input][taps]. Here an item
 * takes PAIRS pairs, and there are fewer. */
__kernel void conv_weight(__global const float *restrict input, __global const float *restrict output_gradient,
                          __global float *restrict partial, uint inputs, uint outputs, uint height, uint width, uint size,
                          uint lines, uint each, uint parts, uint rows) {
  uint pairs = (outputs + PAIR - 1u) / PAIR, groups = (pairs + PAIRS - 1u) / PAIRS, taps = size * size;
  uint item = (uint)get_global_id(0), i = item % inputs, output = item / inputs % groups * PAIRS * PAIR;
  uint piece = item / inputs / groups;
  if (piece >= rows / inputs / pairs) return;
  uint shard = piece / parts * each, count = min(each, lines - shard), part = piece % parts;
  uint start = shard + (uint)((ulong)part * count / parts), last = shard + (uint)((ulong)(part + 1u) * count / parts);
  float16 sums[PAIRS * PAIR * 9u];
  for (uint k = 0u; k < PAIRS * PAIR * taps; k++) sums[k] = (float16)0.0f;
  for (uint line = start, some; line < last; line += some) {
    uint image = line / height, y = line % height;
    some = min(min(height - y, last - line), LINES_MOST);
    add_lines(input + (image * inputs + i) * height * width, output_gradient + image * outputs * height * width, y, some,
              output, outputs, height, width, size, sums);
  }
  for (uint o = 0u; o < min(PAIRS * PAIR, outputs - output); o++)
    for (uint t = 0u; t < taps; t++)
      partial[((piece * outputs + output + o) * inputs + i) * taps + t] =
          strip_sum(sums[o * taps + t].lo + sums[o * taps + t].hi);
}

#else

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

#endif

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
