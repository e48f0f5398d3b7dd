/* What stands between the fused blocks on the way back (kernels/block.cl): gradients through pooling, up-sampling,
 * concatenation and the 1x1 convolutions, and sums of the partial gradients of weights. Gradients are scaled by a
 * power of two, so that halves and fixed-point sums keep their digits; block_reduce and block_fold_back take it
 * out again.
 *
 *   CHANNELS ROWS COLUMNS     of the map in memory; OWN_ROWS OWN_COLUMNS its own size, BEYOND what lies outside it (block.cl)
 *   HALF_... FINE_...         rows and columns in memory of maps of half and of twice its own size
 *   JOINED FIRST              channels of the concatenated gradient, and where this map's stand in it
 *   HAS_POOLED                block_join: is the map pooled too
 *   NORMED                    block_weights_image, block_image_gradient: the gradient is that of the raw output already (block_unpool)
 *   OWN INPUTS                block_image_gradient: channels that the first layer has; both: those of the image
 *   PRECISION GROUP           2: half storage, channel pairs in a word; work-items a group */
#ifdef L2SR_MATRIX

#ifndef CHANNELS /* a map, so that the file can be read and linted alone */
#define CHANNELS 16
#define ROWS 128
#define COLUMNS 128
#define OWN_ROWS 128
#define OWN_COLUMNS 128
#define HALF_ROWS 64
#define HALF_COLUMNS 64
#define FINE_ROWS 256
#define FINE_COLUMNS 256
#define JOINED 32
#define FIRST 16
#define HAS_POOLED 1
#define PRECISION 1
#define GROUP 256
#endif

#ifndef NORMED
#define NORMED 0
#endif

#ifndef OWN
#define OWN CHANNELS
#define INPUTS 1
#endif

#define MAP (ROWS * COLUMNS)
#define OWN_MAP (OWN_ROWS * OWN_COLUMNS)
#define IMAGE_COLUMNS ((OWN_COLUMNS + 3) / 4 * 4) /* as in block.cl */
#define IMAGE_MAP (OWN_ROWS * IMAGE_COLUMNS)
#define HALF_MAP (HALF_ROWS * HALF_COLUMNS)
#define PLANE_CHANNELS (PRECISION == 2 ? 2 : 1)
#define ALL_PLANES (CHANNELS / PLANE_CHANNELS)

/* A word of a map as one or two channels. */
INLINE float2 read_word(uint word) {
  return PRECISION == 2 ? (float2)(even_of(word), odd_of(word)) : (float2)(as_float(word), 0.0f);
}

INLINE uint make_word(float2 value) { return PRECISION == 2 ? pack(value.x, value.y) : as_uint(value.x); }

/* Four neighbours of a row. */
typedef struct {
  uint word[4];
} four_words;

INLINE four_words load_four(__global const uint *from) {
  uint4 four = *(__global const uint4 *)from;
  return (four_words){{four.x, four.y, four.z, four.w}};
}

INLINE void store_four(__global uint *to, four_words four) {
  *(__global uint4 *)to = (uint4)(four.word[0], four.word[1], four.word[2], four.word[3]);
}

/* Where pixel i of a map of half the size stands in memory, i counted over half of this map's own size. */
INLINE uint own_half_place(uint i) {
  const uint columns = (OWN_COLUMNS + 1) / 2; /* of an odd number no half is used */
  return i / columns * HALF_COLUMNS + i % columns;
}

/* Sums of what passes ReLU and of its product with the normalised value, of one plane of one image. */
typedef struct {
  float2 norm[2];
  float2 sum, product;
} back_sums;

INLINE back_sums back_start(__global const long *sums, uint n, uint plane) {
  back_sums state;
  uint at = 2 * (n * CHANNELS + plane * PLANE_CHANNELS);
  state.norm[0] = norm_of(sums + at, OWN_MAP);
  state.norm[1] = PLANE_CHANNELS == 2 ? norm_of(sums + at + 2, OWN_MAP) : state.norm[0];
  state.sum = state.product = (float2)(0.0f, 0.0f);
  return state;
}

INLINE void back_add(back_sums *state, float2 gradient, float2 raw_value) {
  float2 normal = (float2)(fma(raw_value.x, state->norm[0].x, state->norm[0].y),
                           fma(raw_value.y, state->norm[1].x, state->norm[1].y));
  float2 passed = (float2)(normal.x > 0.0f ? gradient.x : 0.0f, normal.y > 0.0f ? gradient.y : 0.0f);
  state->sum += passed;
  state->product += passed * normal;
}

INLINE void back_store(back_sums state, __global long *back, uint n, uint plane, __local float *scratch) {
  float totals[4] = {state.sum.x, state.product.x, state.sum.y, state.product.y};
  for (uint k = 0u; k < 2u * PLANE_CHANNELS; k++) {
    float total = group_sum(totals[k], scratch);
    if (get_local_id(0) == 0) add_sum(back, 2 * (n * CHANNELS + plane * PLANE_CHANNELS) + k, total);
  }
}

/* The up-sampled activation of a coarse block (ROWS/2 x COLUMNS/2), normalised: what the weights' gradient meets. A
 * work-item blends the coarse block (i-1, i) x (j-1, j) into the fine one (2i-1, 2i) x (2j-1, 2j); halves at the edge
 * repeat it. A row is a plane. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_up(__global const uint *restrict coarse, __global const long *restrict sums, __global uint *restrict fine,
         uint rows) {
  uint plane = (uint)get_group_id(0) % ALL_PLANES, n = (uint)get_group_id(0) / ALL_PLANES;
  __global const uint *map = coarse + (n * ALL_PLANES + plane) * HALF_MAP;
  __global uint *to = fine + (n * ALL_PLANES + plane) * MAP;
  uint first = 2 * (n * CHANNELS + plane * PLANE_CHANNELS);
  float2 even = norm_of(sums + first, OWN_MAP / 4), odd = norm_of(sums + first + 2 * (PLANE_CHANNELS - 1), OWN_MAP / 4);
#ifdef BEYOND
  for (uint i = (uint)get_local_id(0); i < MAP; i += GROUP)
    if (i / COLUMNS >= OWN_ROWS || i % COLUMNS >= OWN_COLUMNS) to[i] = 0u;
#endif
  for (uint b = (uint)get_local_id(0); b < (OWN_ROWS / 2 + 1) * (OWN_COLUMNS / 2 + 1); b += GROUP) {
    int i = (int)(b / (OWN_COLUMNS / 2 + 1)), j = (int)(b % (OWN_COLUMNS / 2 + 1));
    int y0 = max(i - 1, 0), y1 = min(i, OWN_ROWS / 2 - 1), x0 = max(j - 1, 0), x1 = min(j, OWN_COLUMNS / 2 - 1);
    int places[4] = {y0 * HALF_COLUMNS + x0, y0 * HALF_COLUMNS + x1, y1 * HALF_COLUMNS + x0, y1 * HALF_COLUMNS + x1};
    float2 c[4];
    UNROLL for (int k = 0; k < 4; k++) {
      c[k] = read_word(map[places[k]]);
      c[k] = (float2)(norm_relu(c[k].x, even), norm_relu(c[k].y, odd));
    }
    float2 l0 = 0.75f * c[0] + 0.25f * c[1], r0 = 0.25f * c[0] + 0.75f * c[1];
    float2 l1 = 0.75f * c[2] + 0.25f * c[3], r1 = 0.25f * c[2] + 0.75f * c[3];
    bool above = i > 0, below = i < OWN_ROWS / 2, before = j > 0, after = j < OWN_COLUMNS / 2;
    int at = (2 * i - 1) * COLUMNS + 2 * j - 1;
    if (above && before) to[at] = make_word(0.75f * l0 + 0.25f * l1);
    if (above && after) to[at + 1] = make_word(0.75f * r0 + 0.25f * r1);
    if (below && before) to[at + COLUMNS] = make_word(0.25f * l0 + 0.75f * l1);
    if (below && after) to[at + COLUMNS + 1] = make_word(0.25f * r0 + 0.75f * r1);
  }
}

/* The adjoint: the gradient of a coarse activation (ROWS x COLUMNS here) from its part of the concatenated one, with
 * the sums for its norm. A row is a plane of an image. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_down(__global const uint *restrict joined, __global const uint *restrict raw_output,
           __global const long *restrict sums, __global uint *restrict gradient, __global long *restrict back,
           uint rows) {
  __local float scratch[GROUP];
  uint plane = (uint)get_group_id(0) % ALL_PLANES, n = (uint)get_group_id(0) / ALL_PLANES;
  __global const uint *from = joined + (n * (JOINED / PLANE_CHANNELS) + FIRST / PLANE_CHANNELS + plane) * (FINE_ROWS * FINE_COLUMNS);
  uint start = (n * ALL_PLANES + plane) * MAP;
  back_sums state = back_start(sums, n, plane);
  for (uint i = 2u * (uint)get_local_id(0); i < MAP; i += 2u * GROUP) {
    const int y = (int)(i / COLUMNS), first = 2 * (int)(i % COLUMNS), last = 2 * OWN_COLUMNS - 1;
    const float weight[4] = {0.25f, 0.75f, 0.75f, 0.25f};
    float2 total[2] = {(float2)(0.0f, 0.0f), (float2)(0.0f, 0.0f)};
    UNROLL for (int dy = 0; dy < 4; dy++) {
      __global const uint *row = from + clamp(2 * y - 1 + dy, 0, 2 * OWN_ROWS - 1) * FINE_COLUMNS;
      four_words four = load_four(&row[min(first, FINE_COLUMNS - 4)]);
      uint before = row[clamp(first - 1, 0, last)], after = row[clamp(first + 4, 0, last)];
      if (first + 2 > last) four.word[2] = four.word[3] = four.word[1];
      float2 line[6] = {read_word(before), read_word(four.word[0]), read_word(four.word[1]), read_word(four.word[2]),
                        read_word(four.word[3]), read_word(after)};
      UNROLL for (int j = 0; j < 2; j++) UNROLL for (int dx = 0; dx < 4; dx++)
          total[j] += weight[dy] * weight[dx] * line[2 * j + dx];
    }
    UNROLL for (uint j = 0u; j < 2u; j++) {
      uint word = make_word(total[j]);
      gradient[start + i + j] = word;
      back_add(&state, read_word(word), read_word(raw_output[start + i + j]));
    }
  }
  back_store(state, back, n, plane, scratch);
}

/* The gradient of a block's activation that is concatenated: its part of the concatenated gradient, and that of the
 * pooled map, if there is one, at the largest of every four pixels. With the sums for its norm. A row is a plane. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_join(__global const uint *restrict joined, __global const uint *restrict pooled,
           __global const uint *restrict raw_output, __global const long *restrict sums,
           __global uint *restrict gradient, __global long *restrict back, uint rows) {
  __local float scratch[GROUP];
  uint plane = (uint)get_group_id(0) % ALL_PLANES, n = (uint)get_group_id(0) / ALL_PLANES;
  __global const uint *from = joined + (n * (JOINED / PLANE_CHANNELS) + FIRST / PLANE_CHANNELS + plane) * MAP;
  __global const uint *quarter = pooled + (n * ALL_PLANES + plane) * HALF_MAP;
  uint start = (n * ALL_PLANES + plane) * MAP;
  back_sums state = back_start(sums, n, plane);
  for (uint i = (uint)get_local_id(0); i < MAP / 8; i += GROUP) {
    uint at = i / (COLUMNS / 4) * 2 * COLUMNS + i % (COLUMNS / 4) * 4;
    four_words raw_value[2], value[2];
    uint whole[2] = {0u, 0u};
    UNROLL for (int row = 0; row < 2; row++) {
      raw_value[row] = load_four(&raw_output[start + at + row * COLUMNS]);
      value[row] = load_four(&from[at + row * COLUMNS]);
    }
    if (HAS_POOLED) UNROLL for (uint j = 0u; j < 2u; j++)
        whole[j] = quarter[i / (COLUMNS / 4) * HALF_COLUMNS + i % (COLUMNS / 4) * 2 + j];
    UNROLL for (int j = 0; j < 2; j++) {
      float2 seen[4], added = read_word(whole[j]);
      UNROLL for (int k = 0; k < 4; k++) seen[k] = read_word(raw_value[k / 2].word[2 * j + k % 2]);
      float2 top = fmax(fmax(seen[0], seen[1]), fmax(seen[2], seen[3]));
      bool even_left = true, odd_left = true; /* the first of equals takes it */
      UNROLL for (int k = 0; k < 4; k++) {
        float2 given = read_word(value[k / 2].word[2 * j + k % 2]);
        if (even_left && seen[k].x == top.x) given.x += added.x, even_left = false;
        if (odd_left && seen[k].y == top.y) given.y += added.y, odd_left = false;
        uint word = make_word(given);
        value[k / 2].word[2 * j + k % 2] = word;
        back_add(&state, read_word(word), seen[k]);
      }
    }
    UNROLL for (int row = 0; row < 2; row++) store_four(&gradient[start + at + row * COLUMNS], value[row]);
  }
  back_store(state, back, n, plane, scratch);
}

/* The gradient of a block's raw output where its pooled map is all that is used: the largest of every four pixels
 * takes the pooled gradient, and all of them what the norm passes back. The sums for it need the pooled maps alone.
 * A row is a plane. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_unpool(__global const uint *restrict pooled_gradient, __global const uint *restrict pooled,
             __global const uint *restrict raw_output, __global const long *restrict sums,
             __global uint *restrict gradient, __global long *back, uint rows) {
  __local float scratch[GROUP];
  uint plane = (uint)get_group_id(0) % ALL_PLANES, n = (uint)get_group_id(0) / ALL_PLANES;
  uint start = (n * ALL_PLANES + plane) * MAP, at = 2 * (n * CHANNELS + plane * PLANE_CHANNELS);
  uint half_start = (n * ALL_PLANES + plane) * HALF_MAP;
  __global const uint *given = pooled_gradient + half_start, *top = pooled + half_start;
  back_sums state = back_start(sums, n, plane);
  for (uint i = (uint)get_local_id(0); i < MAP / 16; i += GROUP) {
    uint from = i / (COLUMNS / 8) * HALF_COLUMNS + i % (COLUMNS / 8) * 4;
    four_words whole = load_four(&given[from]), largest = load_four(&top[from]);
    UNROLL for (int j = 0; j < 4; j++) back_add(&state, read_word(whole.word[j]), read_word(largest.word[j]));
  }
  back_store(state, back, n, plane, scratch);
  barrier(CLK_GLOBAL_MEM_FENCE);
  float4 even = back_norm_of(sums + at, back + at, OWN_MAP), odd = even;
  if (PLANE_CHANNELS == 2) odd = back_norm_of(sums + at + 2, back + at + 2, OWN_MAP);
  for (uint i = (uint)get_local_id(0); i < MAP / 8; i += GROUP) {
    uint place = start + i / (COLUMNS / 4) * 2 * COLUMNS + i % (COLUMNS / 4) * 4;
    uint from = i / (COLUMNS / 4) * HALF_COLUMNS + i % (COLUMNS / 4) * 2;
    four_words seen[2] = {load_four(&raw_output[place]), load_four(&raw_output[place + COLUMNS])}, made[2];
    UNROLL for (uint j = 0u; j < 2u; j++) {
      float2 whole = read_word(given[from + j]), largest = read_word(top[from + j]);
      bool even_left = true, odd_left = true; /* the first of equals takes it */
      UNROLL for (int k = 0; k < 4; k++) {
        float2 raw_value = read_word(seen[k / 2].word[2 * j + k % 2]);
        bool even_takes = even_left && raw_value.x == largest.x, odd_takes = odd_left && raw_value.y == largest.y;
        even_left &= !even_takes, odd_left &= !odd_takes;
        made[k / 2].word[2 * j + k % 2] = make_word((float2)(back_norm(even_takes ? whole.x : 0.0f, raw_value.x, even),
                                                             back_norm(odd_takes ? whole.y : 0.0f, raw_value.y, odd)));
      }
    }
    store_four(&gradient[place], made[0]);
    store_four(&gradient[place + COLUMNS], made[1]);
  }
}

/* The last block's pooled map of images from `image` on, normalised, as floats [image][CHANNELS][ROWS/2][COLUMNS/2]. A
 * row is a plane. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_maps(__global const uint *restrict pooled, __global const long *restrict sums, __global float *restrict maps,
           uint image, uint rows) {
  uint plane = (uint)get_group_id(0) % ALL_PLANES, to = (uint)get_group_id(0) / ALL_PLANES, n = to + image;
  uint first = n * CHANNELS + plane * PLANE_CHANNELS, place = to * CHANNELS + plane * PLANE_CHANNELS;
  float2 even = norm_of(sums + 2 * first, OWN_MAP), odd = norm_of(sums + 2 * (first + PLANE_CHANNELS - 1), OWN_MAP);
  for (uint i = (uint)get_local_id(0); i < OWN_MAP / 4; i += GROUP) {
    float2 value = read_word(pooled[(n * ALL_PLANES + plane) * HALF_MAP + own_half_place(i)]);
    maps[place * (OWN_MAP / 4) + i] = norm_relu(value.x, even);
    if (PLANE_CHANNELS == 2) maps[(place + 1) * (OWN_MAP / 4) + i] = norm_relu(value.y, odd);
  }
}

/* The gradient of those maps, times `scale`, as the blocks store theirs. A row is a plane. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_maps_back(__global const float *restrict maps_gradient, __global uint *restrict gradient, float scale, uint rows) {
  uint plane = (uint)get_group_id(0), first = plane * PLANE_CHANNELS;
  for (uint i = (uint)get_local_id(0); i < OWN_MAP / 4; i += GROUP) {
    float even = maps_gradient[first * (OWN_MAP / 4) + i];
    float odd = PLANE_CHANNELS == 2 ? maps_gradient[(first + 1) * (OWN_MAP / 4) + i] : 0.0f;
    gradient[plane * HALF_MAP + own_half_place(i)] = make_word(scale * (float2)(even, odd));
  }
}

/* The gradient of the last block's activation from that of the network's output, times `scale`; with the sums for
 * its norm, and per image the output gradient's sum (totals[n][CHANNELS]) and its products with the activations
 * (totals[n][c]). A row is a plane. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_head_back(__global const float *restrict output_gradient, __global const float *restrict folded,
                __global const uint *restrict raw_output, __global const long *restrict sums,
                __global uint *restrict gradient, __global long *restrict back, __global float *restrict totals,
                float scale, uint rows) {
  __local float scratch[GROUP];
  uint plane = (uint)get_group_id(0) % ALL_PLANES, n = (uint)get_group_id(0) / ALL_PLANES;
  uint start = (n * ALL_PLANES + plane) * MAP, channel = plane * PLANE_CHANNELS;
  float2 weight = (float2)(folded[channel], PLANE_CHANNELS == 2 ? folded[channel + 1] : 0.0f);
  back_sums state = back_start(sums, n, plane);
  float all = 0.0f;
  float2 product = (float2)(0.0f, 0.0f);
  for (uint i = 4u * (uint)get_local_id(0); i < MAP; i += 4u * GROUP) {
    uint y = i / COLUMNS, x = i % COLUMNS;
    __global const float4 *from = (__global const float4 *)&output_gradient[n * IMAGE_MAP + y * IMAGE_COLUMNS + x];
    float4 four = y < OWN_ROWS && x < IMAGE_COLUMNS ? scale * *from : (float4)(0.0f);
    float values[4] = {four.x, four.y, four.z, four.w};
    four_words raw_words = load_four(&raw_output[start + i]), made;
    UNROLL for (int j = 0; j < 4; j++) {
      float given = x + (uint)j < OWN_COLUMNS ? values[j] : 0.0f;
      float2 raw_value = read_word(raw_words.word[j]);
      made.word[j] = make_word(given * weight);
      back_add(&state, read_word(made.word[j]), raw_value);
      all += given;
      product += given * (float2)(norm_relu(raw_value.x, state.norm[0]), norm_relu(raw_value.y, state.norm[1]));
    }
    store_four(&gradient[start + i], made);
  }
  back_store(state, back, n, plane, scratch);
  float values[3] = {product.x, product.y, all};
  for (uint k = 0u; k < 3u; k++) {
    float total = group_sum(values[k], scratch);
    bool wanted = k == 2u ? plane == 0u : k < PLANE_CHANNELS;
    if (get_local_id(0) == 0 && wanted) totals[n * (CHANNELS + 1) + (k == 2u ? CHANNELS : channel + k)] = total;
  }
}

/* Gradients of the three 1x1 convolutions (middle, 1 and 1 outputs) from the totals of all images, added. One
 * work-group; `factor` takes the scale out. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_fold_back(__global const float *restrict totals, __global const float *restrict weight0,
                __global const float *restrict bias0, __global const float *restrict weight1,
                __global const float *restrict bias1, __global const float *restrict weight2,
                __global float *restrict gradients, uint at_weight0, uint at_bias0, uint at_weight1, uint at_bias1,
                uint at_weight2, uint at_bias2, uint stride, uint images, uint each, uint middle, float factor,
                uint rows) {
  __local float sum[CHANNELS + 1], meets[CHANNELS]; /* meets[j]: output gradient times output j of the first */
  uint item = (uint)get_local_id(0), shard = (uint)get_group_id(0), last = min((shard + 1u) * each, images);
  gradients += (size_t)shard * stride;
  for (uint c = item; c <= CHANNELS; c += GROUP) {
    float total = 0.0f;
    for (uint n = shard * each; n < last; n++) total += totals[n * (CHANNELS + 1) + c];
    sum[c] = total * factor;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float all = sum[CHANNELS];
  for (uint j = item; j < middle; j += GROUP) {
    float total = bias0[j] * all, through = weight2[0] * weight1[j];
    for (uint c = 0u; c < CHANNELS; c++) {
      total += weight0[j * CHANNELS + c] * sum[c];
      gradients[at_weight0 + j * CHANNELS + c] += through * sum[c];
    }
    meets[j] = total;
    gradients[at_bias0 + j] += through * all;
    gradients[at_weight1 + j] += weight2[0] * total;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item) return;
  float total = bias1[0] * all;
  for (uint j = 0u; j < middle; j++) total += weight1[j] * meets[j];
  gradients[at_bias1] += weight2[0] * all;
  gradients[at_weight2] += total;
  gradients[at_bias2] += all;
}

/* Rows y-1, y, y+1 of the image, columns x-1 to x+4; zeros outside. */
INLINE void load_window(__global const float *image, int y, int x, float window[3][6]) {
  UNROLL for (int r = 0; r < 3; r++) {
    int row = y + r - 1;
    bool inside = row >= 0 && row < OWN_ROWS && x < OWN_COLUMNS;
    __global const float *from = image + row * IMAGE_COLUMNS + x;
    float4 four = inside ? *(__global const float4 *)from : (float4)(0.0f);
    window[r][0] = inside && x > 0 ? from[-1] : 0.0f;
    window[r][1] = four.x, window[r][2] = four.y, window[r][3] = four.z, window[r][4] = four.w;
    window[r][5] = inside && x + 4 < OWN_COLUMNS ? from[4] : 0.0f;
  }
}

/* The first layer's weights: per image and plane the nine sums of every channel of the image,
 * part[n][CHANNELS][INPUTS][9]. Four pixels at a time. A row is a plane; registers hold the sums of two channels of the
 * image: of more, a row takes a plane and one of them (engine/fused/block_back.c). */
#define TAKEN (INPUTS <= 2 ? INPUTS : 1)
#define SUMS (18 * TAKEN)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_weights_image(__global const float *restrict image, __global const uint *restrict gradient,
                    __global const uint *restrict raw_output, __global const long *restrict sums,
                    __global const long *restrict back, __global float *restrict part, uint rows) {
  OPEN_LANES(GROUP);
  __local float reduced[GROUP / 32 * SUMS];
  const uint first = TAKEN == INPUTS ? 0u : (uint)get_group_id(0) % INPUTS; /* first of the taken channels */
  const uint place = (uint)get_group_id(0) / (TAKEN == INPUTS ? 1u : INPUTS);
  uint plane = place % ALL_PLANES, n = place / ALL_PLANES;
  uint item = (uint)get_local_id(0), start = (n * ALL_PLANES + plane) * MAP;
  uint at = 2 * (n * CHANNELS + plane * PLANE_CHANNELS);
  float4 even = back_norm_of(sums + at, back + at, OWN_MAP), odd = even;
  if (PLANE_CHANNELS == 2) odd = back_norm_of(sums + at + 2, back + at + 2, OWN_MAP);
  float acc[9 * TAKEN][2];
  UNROLL for (int k = 0; k < 9 * TAKEN; k++) acc[k][0] = acc[k][1] = 0.0f;
  for (uint i = item; i < MAP / 4; i += GROUP) {
    uint4 given4 = *(__global const uint4 *)&gradient[start + 4 * i], raw4 = *(__global const uint4 *)&raw_output[start + 4 * i];
    uint given_words[4] = {given4.x, given4.y, given4.z, given4.w}, raw_words[4] = {raw4.x, raw4.y, raw4.z, raw4.w};
    float window[TAKEN][3][6];
    UNROLL for (int in = 0; in < TAKEN; in++)
      load_window(image + (n * INPUTS + first + in) * IMAGE_MAP, (int)(4 * i / COLUMNS), (int)(4 * i % COLUMNS), window[in]);
    UNROLL for (int j = 0; j < 4; j++) {
      float2 given = read_word(given_words[j]), raw_value = read_word(raw_words[j]);
      if (!NORMED) given.x = back_norm(given.x, raw_value.x, even);
      if (!NORMED && PLANE_CHANNELS == 2) given.y = back_norm(given.y, raw_value.y, odd);
      UNROLL for (int tap = 0; tap < 9 * TAKEN; tap++) {
        float pixel = window[tap / 9][tap / 3 % 3][j + tap % 3];
        acc[tap][0] = fma(given.x, pixel, acc[tap][0]);
        if (PLANE_CHANNELS == 2) acc[tap][1] = fma(given.y, pixel, acc[tap][1]);
      }
    }
  }
  UNROLL for (int k = 0; k < SUMS; k++) {
    float value = acc[k >> 1][k & 1];
    UNROLL for (int mask = 16; mask; mask >>= 1) value += shuffle(value, mask GIVE_LANES);
    if ((item & 31u) == 0u) reduced[(item >> 5) * SUMS + k] = value;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < 9u * TAKEN * PLANE_CHANNELS) {
    uint tap = item / PLANE_CHANNELS, which = item % PLANE_CHANNELS;
    float total = 0.0f;
    for (uint w = 0u; w < GROUP / 32; w++) total += reduced[w * SUMS + tap * 2 + which];
    part[(n * CHANNELS + plane * PLANE_CHANNELS + which) * 9 * INPUTS + 9 * first + tap] = total;
  }
}

/* Four words from `at` on and their neighbours, which beyond the line's ends are any words of it. */
INLINE void load_six(__global const uint *restrict map, uint at, int left, uint words[6]) {
  uint4 four = *(__global const uint4 *)&map[at];
  words[0] = map[at - (left >= 0 ? 1u : 0u)];
  words[1] = four.x, words[2] = four.y, words[3] = four.z, words[4] = four.w;
  words[5] = map[at + (left + 5 < COLUMNS ? 4u : 0u)];
}

/* The gradient of the network's input: the first layer's raw gradients through its weights, turned. A row is four
 * pixels of a line, in every channel of the image. */
__kernel void block_image_gradient(__global const uint *restrict gradient, __global const uint *restrict raw_output,
                                   __global const long *restrict sums, __global const long *restrict back,
                                   __global const float *restrict weight, __global float *restrict image_gradient,
                                   float factor, uint rows) {
  uint row = (uint)get_global_id(0), n = row / (IMAGE_MAP / 4), place = row % (IMAGE_MAP / 4) * 4;
  if (row >= rows) return;
  int top = (int)(place / IMAGE_COLUMNS) - 1, left = (int)(place % IMAGE_COLUMNS) - 1;
  float4 sum[INPUTS];
  UNROLL for (int in = 0; in < INPUTS; in++) sum[in] = (float4)(0.0f);
  for (uint plane = 0u; plane < ALL_PLANES && plane * PLANE_CHANNELS < OWN; plane++) {
    uint start = (n * ALL_PLANES + plane) * MAP, channel = plane * PLANE_CHANNELS;
    uint at = 2 * (n * CHANNELS + channel);
    float4 even = back_norm_of(sums + at, back + at, OWN_MAP), odd = even;
    if (PLANE_CHANNELS == 2) odd = back_norm_of(sums + at + 2, back + at + 2, OWN_MAP);
    for (int y = 0; y < 3; y++) {
      float line[2][6];
      bool row_inside = top + y >= 0 && top + y < OWN_ROWS;
      uint from = start + (uint)((row_inside ? top + y : 0) * COLUMNS + left + 1), given6[6], raw6[6];
      load_six(gradient, from, left, given6);
      if (!NORMED) load_six(raw_output, from, left, raw6);
      UNROLL for (int x = 0; x < 6; x++) {
        bool inside = row_inside && left + x >= 0 && left + x < OWN_COLUMNS;
        float2 given = read_word(given6[x]), raw_value = NORMED ? given : read_word(raw6[x]);
        if (!NORMED) given.x = back_norm(given.x, raw_value.x, even);
        if (!NORMED && PLANE_CHANNELS == 2) given.y = back_norm(given.y, raw_value.y, odd);
        line[0][x] = inside ? given.x : 0.0f;
        line[1][x] = inside ? given.y : 0.0f;
      }
      UNROLL for (int which = 0; which < PLANE_CHANNELS; which++) {
        if (channel + (uint)which >= OWN) continue;
        __global const float *taps = weight + 9u * INPUTS * (channel + (uint)which) + 3 * (2 - y);
        UNROLL for (int in = 0; in < INPUTS; in++) UNROLL for (int tap = 0; tap < 3; tap++) {
          const float *from = line[which] + tap;
          sum[in] += taps[9 * in + 2 - tap] * (float4)(from[0], from[1], from[2], from[3]);
        }
      }
    }
  }
  UNROLL for (int in = 0; in < INPUTS; in++)
    vstore4(factor * sum[in], (n * INPUTS + in) * (IMAGE_MAP / 4) + place / 4, image_gradient);
}

/* Adds the parts of a weights' gradient in their order, `each` of `parts` for a shard, whose gradient is `stride` after
 * that of the shard before; a row is one of a shard's `count` weights of the `inputs` channels that are computed. The
 * parameter has own_inputs and own_outputs of them, and starts at `at`. */
__kernel void block_reduce(__global const float *restrict part, __global float *restrict gradients, uint parts,
                           uint each, float factor, uint count, uint inputs, uint own_inputs, uint own_outputs, uint at,
                           uint stride, uint rows) {
  uint row = (uint)get_global_id(0), shard = row / count, weight = row % count;
  uint in = weight / 9u % inputs, out = weight / 9u / inputs, last = min((shard + 1u) * each, parts);
  if (row >= rows || in >= own_inputs || out >= own_outputs) return;
  float total = 0.0f;
  SIXTEEN_TURNS for (uint p = shard * each; p < last; p++) total += part[(size_t)p * count + weight];
  gradients[at + (size_t)shard * stride + (out * own_inputs + in) * 9u + weight % 9u] += total * factor;
}
#endif
