/* The ends of a fused U-Net of complex images (kernels/unet.cl), which are planes of floats: normalised by mean and sample
 * deviation on the way in, made of the last map by a 1x1 convolution and given their units on the way out, and all of that
 * back; and the sums of weights' gradients.
 *
 *   ROWS COLUMNS              of the first and the last map
 *   SLICES                    of the last map
 *   OWN_ROWS OWN_COLUMNS TOP LEFT  the planes, and where they stand in the maps, which are padded by zeros
 *   SHARES                    groups that an image or plane is parted among */
#ifdef L2SR_MATRIX

#ifndef SLICES /* so that the file can be read and linted alone */
#define ROWS 320
#define COLUMNS 320
#define SLICES 3
#define OWN_ROWS 320
#define OWN_COLUMNS 320
#define TOP 0
#define LEFT 0
#define SHARES 64
#endif

#define GROUP 256
#define MAP_SIZE (ROWS * COLUMNS)
#define OWN_SIZE (OWN_ROWS * OWN_COLUMNS)
#define ACROSS (GROUP / SLICES) /* pixels that a group's work-items take side by side */
#define CHANNELS (8 * SLICES)

/* Where a share of `count` things starts. */
INLINE uint share_start(uint count, uint share) { return (count + SHARES - 1u) / SHARES * share; }
INLINE uint share_end(uint count, uint share) { return min(share_start(count, share + 1u), count); }

INLINE void take_norms(__global const long *sums, __local float *scale, __local float *shift) {
  for (uint c = (uint)get_local_id(0); c < CHANNELS; c += GROUP) {
    float2 norm = norm_of(sums + 2u * c, MAP_SIZE);
    scale[c] = norm.x;
    shift[c] = norm.y;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Where pixel i of the planes stands in the map. */
INLINE uint map_pixel(uint i) { return (i / OWN_COLUMNS + TOP) * COLUMNS + i % OWN_COLUMNS + LEFT; }

/* Count, mean and sum of squared deviations of a share of a plane: a row. `count` sums of the maps, which layers add to, are
 * made 0 on the way. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
unet_moments(__global const float *restrict planes, __global float *restrict part, __global long *restrict sums, uint part_at,
             uint sums_at, uint count, uint rows) {
  __local moments scratch[GROUP];
  for (uint i = (uint)get_group_id(0) * GROUP + (uint)get_local_id(0); i < count; i += rows * GROUP) sums[sums_at + i] = 0;
  const uint plane = (uint)get_group_id(0) / SHARES, share = (uint)get_group_id(0) % SHARES;
  __global const float *from = planes + plane * OWN_SIZE;
  const uint start = share_start(OWN_SIZE, share), end = share_end(OWN_SIZE, share);
  float origin = start < end ? from[start] : 0.0f, seen = 0.0f, sum = 0.0f, square = 0.0f;
  for (uint i = start + (uint)get_local_id(0); i < end; i += GROUP) {
    float gap = from[i] - origin;
    seen += 1.0f;
    sum += gap;
    square = fma(gap, gap, square);
  }
  float mean = seen > 0.0f ? sum / seen : 0.0f;
  moments mine = {seen, origin + mean, fmax(square - sum * mean, 0.0f)};
  moments all = group_moments(mine, scratch);
  __global float *to = part + part_at + 4u * get_group_id(0);
  if (get_local_id(0) == 0) to[0] = all.count, to[1] = all.mean, to[2] = all.square;
}

/* Mean, sample deviation and one over it (0 where that is 0) of a plane from its shares: a row. */
__kernel __attribute__((reqd_work_group_size(SHARES, 1, 1))) void
unet_statistics(__global const float *restrict part, __global float *restrict statistics, uint part_at,
                uint statistics_at, uint rows) {
  __local moments scratch[SHARES];
  __global const float *from = part + part_at + 4u * (get_group_id(0) * SHARES + get_local_id(0));
  moments mine = {from[0], from[1], from[2]};
  moments all = group_moments(mine, scratch);
  __global float *to = statistics + statistics_at + 4u * get_group_id(0);
  float deviation = sqrt(all.square / (float)(OWN_SIZE - 1));
  if (get_local_id(0) == 0) to[0] = all.mean, to[1] = deviation, to[2] = deviation > 0.0f ? 1.0f / deviation : 0.0f;
}

/* The normalised planes as the first map, of one slice. A row is GROUP pixels of that. */
__kernel void unet_enter(__global const float *restrict planes, __global const float *restrict statistics,
                         __global uint4 *restrict output, uint statistics_at, uint output_at, uint rows) {
  const uint groups = (MAP_SIZE + GROUP - 1) / GROUP, n = (uint)get_group_id(0) / groups;
  const uint i = (uint)get_group_id(0) % groups * GROUP + (uint)get_local_id(0);
  const uint y = i / COLUMNS - TOP, x = i % COLUMNS - LEFT; /* before the planes they wrap around */
  __global const float *by = statistics + statistics_at + 8u * n;
  uint word = 0u;
  if (i >= MAP_SIZE) return;
  if (y < OWN_ROWS && x < OWN_COLUMNS) {
    uint at = 2u * n * OWN_SIZE + y * OWN_COLUMNS + x;
    word = pack((planes[at] - by[0]) * by[2], (planes[at + OWN_SIZE] - by[4]) * by[6]);
  }
  output[output_at + n * MAP_SIZE + i] = (uint4)(word, 0u, 0u, 0u);
}

/* The 1x1 convolution to two planes, in the units of the planes that entered. A row is GROUP pixels of these. */
__kernel void unet_leave(__global const uint4 *restrict maps, __global const long *restrict sums,
                         __global const float *restrict statistics, __global const float *restrict weight,
                         __global const float *restrict bias, __global float *restrict planes, uint raw, uint raw_sums,
                         uint statistics_at, uint channels, uint rows) {
  __local float scale[CHANNELS] __attribute__((aligned(32))), shift[CHANNELS] __attribute__((aligned(32)));
  const uint groups = (OWN_SIZE + GROUP - 1) / GROUP, n = (uint)get_group_id(0) / groups;
  const uint i = (uint)get_group_id(0) % groups * GROUP + (uint)get_local_id(0);
  __global const float *by = statistics + statistics_at + 8u * n;
  take_norms(sums + raw_sums + 2u * n * CHANNELS, scale, shift);
  if (i >= OWN_SIZE) return;
  float re = bias[0], im = bias[1];
  for (uint slice = 0u; slice < SLICES; slice++) {
    float8 value = leak(fma(unpack_eight(maps[raw + (n * MAP_SIZE + map_pixel(i)) * SLICES + slice]),
                            vload8(slice, scale), vload8(slice, shift)));
    re += strip_sum(value * load_eight(weight, 8u * slice, channels));
    im += strip_sum(value * load_eight(weight + channels, 8u * slice, channels));
  }
  planes[2u * n * OWN_SIZE + i] = fma(re, by[1], by[0]);
  planes[(2u * n + 1u) * OWN_SIZE + i] = fma(im, by[5], by[4]);
}

/* Of a share of a plane the sums of the output's gradient and of its product with the output before it got its units; and
 * the bits of the largest gradient that the U-Net gets. A row is a share. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
unet_leave_sums(__global const float *restrict planes, __global const float *restrict gradient,
                __global const float *restrict statistics, __global float *restrict part, __global uint *restrict level,
                uint statistics_at, uint part_at, uint level_at, uint rows) {
  __local float scratch[GROUP];
  const uint plane = (uint)get_group_id(0) / SHARES, share = (uint)get_group_id(0) % SHARES;
  __global const float *by = statistics + statistics_at + 4u * plane;
  float sum = 0.0f, product = 0.0f, most = 0.0f;
  for (uint i = share_start(OWN_SIZE, share) + (uint)get_local_id(0); i < share_end(OWN_SIZE, share); i += GROUP) {
    float given = gradient[plane * OWN_SIZE + i];
    sum += given;
    product += given * (planes[plane * OWN_SIZE + i] - by[0]) * by[2];
    most = fmax(most, fabs(given));
  }
  sum = group_sum(sum, scratch);
  product = group_sum(product, scratch);
  most = group_max(most, scratch);
  __global float *to = part + part_at + 2u * get_group_id(0);
  if (get_local_id(0) != 0) return;
  to[0] = sum, to[1] = product;
  atomic_max(&level[level_at], as_uint(most * by[1]));
}

/* Two sums of a plane from those of its shares: a row. */
__kernel __attribute__((reqd_work_group_size(SHARES, 1, 1))) void
unet_totals(__global const float *restrict part, __global float *restrict totals, uint part_at, uint totals_at,
            uint rows) {
  __local float scratch[SHARES];
  __global const float *from = part + part_at + 2u * (get_group_id(0) * SHARES + get_local_id(0));
  float sum = group_sum(from[0], scratch), product = group_sum(from[1], scratch);
  __global float *to = totals + totals_at + 2u * get_group_id(0);
  if (get_local_id(0) == 0) to[0] = sum, to[1] = product;
}

/* The gradient of the last activation from that of the output; and of a share of an image, which a row is, the gradients of
 * the 1x1 convolution: part[share][2][CHANNELS], then the two of its bias. */
__kernel void unet_leave_back(__global const uint4 *restrict maps, __global const long *restrict sums,
                              __global const float *restrict statistics, __global const float *restrict weight,
                              __global const float *restrict output_gradient, __global const uint *restrict level,
                              __global uint4 *restrict gradient, __global float *restrict part, uint raw, uint raw_sums,
                              uint statistics_at, uint level_at, uint gradient_at, uint part_at, uint channels, uint rows) {
  __local float scratch[2 * ACROSS * CHANNELS] __attribute__((aligned(32)));
  __local float scale[CHANNELS] __attribute__((aligned(32))), shift[CHANNELS] __attribute__((aligned(32)));
  __local float2 biases[ACROSS];
  const uint n = (uint)get_group_id(0) / SHARES, share = (uint)get_group_id(0) % SHARES, item = (uint)get_local_id(0);
  const uint lane = item / SLICES, slice = item % SLICES;
  const float factor = level_scale(level[level_at]);
  __global const float *by = statistics + statistics_at + 8u * n;
  float8 re = (float8)0.0f, im = (float8)0.0f;
  float2 both = (float2)(0.0f, 0.0f);
  take_norms(sums + raw_sums + 2u * n * CHANNELS, scale, shift);
  if (lane < ACROSS) {
    float8 weight_re = load_eight(weight, 8u * slice, channels);
    float8 weight_im = load_eight(weight + channels, 8u * slice, channels);
    for (uint i = share_start(MAP_SIZE, share) + lane; i < share_end(MAP_SIZE, share); i += ACROSS) {
      uint y = i / COLUMNS - TOP, x = i % COLUMNS - LEFT, at = (n * MAP_SIZE + i) * SLICES + slice;
      bool inside = y < OWN_ROWS && x < OWN_COLUMNS;
      uint place = 2u * n * OWN_SIZE + y * OWN_COLUMNS + x;
      float2 given = inside ? (float2)(output_gradient[place] * by[1], output_gradient[place + OWN_SIZE] * by[5])
                            : (float2)(0.0f, 0.0f);
      float8 value = leak(fma(unpack_eight(maps[raw + at]), vload8(slice, scale), vload8(slice, shift)));
      gradient[gradient_at + at] = pack_eight(factor * (given.x * weight_re + given.y * weight_im));
      re += given.x * value;
      im += given.y * value;
      both += given;
    }
    vstore8(re, lane * SLICES + slice, scratch);
    vstore8(im, (ACROSS + lane) * SLICES + slice, scratch);
    if (slice == 0u) biases[lane] = both;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __global float *to = part + part_at + get_group_id(0) * (2u * CHANNELS + 2u);
  for (uint c = item; c < 2u * CHANNELS; c += GROUP) {
    float total = 0.0f;
    __local const float *from = scratch + (c < CHANNELS ? c : ACROSS * CHANNELS + c - CHANNELS);
    for (uint k = 0u; k < ACROSS; k++) total += from[k * CHANNELS];
    to[c] = total;
  }
  if (item >= 2u) return;
  float total = 0.0f;
  for (uint k = 0u; k < ACROSS; k++) total += item ? biases[k].y : biases[k].x;
  to[2u * CHANNELS + item] = total;
}

/* Adds the gradients of the 1x1 convolution from those of all shares, in order. A row is one of 2 channels + 2 numbers. */
__kernel __attribute__((reqd_work_group_size(SHARES, 1, 1))) void
unet_leave_add(__global const float *restrict part, __global float *restrict weight_gradient,
               __global float *restrict bias_gradient, uint part_at, uint shares, uint channels, uint rows) {
  __local float scratch[SHARES];
  const uint row = (uint)get_group_id(0);
  const uint place = row < 2u * channels ? row / channels * CHANNELS + row % channels : 2u * CHANNELS + row - 2u * channels;
  float sum = 0.0f;
  for (uint s = (uint)get_local_id(0); s < shares; s += SHARES) sum += part[part_at + s * (2u * CHANNELS + 2u) + place];
  sum = group_sum(sum, scratch);
  if (get_local_id(0) != 0) return;
  if (row < 2u * channels)
    weight_gradient[row] += sum;
  else
    bias_gradient[row - 2u * channels] += sum;
}

/* The gradient of plane `plane` before it was normalised, at pixel i of it. */
INLINE float entered(__global const uint4 *gradient, uint plane, uint i) {
  uint word = ((__global const uint *)gradient)[4u * (plane / 2u * MAP_SIZE + map_pixel(i))];
  return plane & 1u ? odd_of(word) : even_of(word);
}

/* Of a share of a plane, which a row is, the sums of the normalised planes' gradient and of its product with these. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
unet_enter_sums(__global const float *restrict planes, __global const float *restrict statistics,
                __global const uint4 *restrict gradient, __global float *restrict part, uint statistics_at,
                uint gradient_at, uint part_at, uint rows) {
  __local float scratch[GROUP];
  const uint plane = (uint)get_group_id(0) / SHARES, share = (uint)get_group_id(0) % SHARES;
  __global const float *by = statistics + statistics_at + 4u * plane;
  float sum = 0.0f, product = 0.0f;
  for (uint i = share_start(OWN_SIZE, share) + (uint)get_local_id(0); i < share_end(OWN_SIZE, share); i += GROUP) {
    float given = entered(gradient + gradient_at, plane, i);
    sum += given;
    product += given * (planes[plane * OWN_SIZE + i] - by[0]) * by[2];
  }
  sum = group_sum(sum, scratch);
  product = group_sum(product, scratch);
  __global float *to = part + part_at + 2u * get_group_id(0);
  if (get_local_id(0) == 0) to[0] = sum, to[1] = product;
}

/* The gradient of the planes that entered: through the normalisation, and through the mean and deviation that the output
 * got its units by. totals: two of the output's gradient a plane; totals_in: of the normalised planes'. A row is GROUP
 * values of a plane. */
__kernel void unet_enter_back(__global const float *restrict planes, __global const float *restrict statistics,
                              __global const uint4 *restrict gradient, __global const float *restrict totals,
                              __global const uint *restrict level, __global float *restrict planes_gradient,
                              uint statistics_at, uint gradient_at, uint totals_at, uint totals_in, uint level_at,
                              uint add, uint rows) {
  const uint groups = (OWN_SIZE + GROUP - 1) / GROUP, plane = (uint)get_group_id(0) / groups;
  const uint i = (uint)get_group_id(0) % groups * GROUP + (uint)get_local_id(0);
  __global const float *by = statistics + statistics_at + 4u * plane, *out = totals + totals_at + 2u * plane;
  __global const float *in = totals + totals_in + 2u * plane;
  if (i >= OWN_SIZE) return;
  const float factor = level_factor(level[level_at]), less = 1.0f / (float)(OWN_SIZE - 1), all = 1.0f / (float)OWN_SIZE;
  uint at = plane * OWN_SIZE + i;
  float normal = (planes[at] - by[0]) * by[2], given = entered(gradient + gradient_at, plane, i);
  float slope = by[2] * factor * (given - in[0] * all - normal * in[1] * less) + out[0] * all + out[1] * normal * less;
  planes_gradient[at] = add ? planes_gradient[at] + slope : slope;
}

/* Adds the shares of the gradients of weights to the parameter's, whose own channels are fewer than the padded ones. taps
 * 9: [out][in][9] of part[share][out][in][9]; 4: [in][out][4] of part[share][4][out][in]. `ways` items take every ways-th
 * share of a weight; a group has the weights from its own on. A row is one of them. */
__kernel void unet_reduce(__global const float *restrict part, __global const uint *restrict level,
                          __global float *restrict weight_gradient, uint level_at, uint shares, uint ways, uint taps, uint first,
                          uint first_padded, uint inputs, uint inputs_padded, uint outputs, uint outputs_padded,
                          uint rows) {
  __local float sums[GROUP];
  const uint item = (uint)get_local_id(0), own = GROUP / ways, count = inputs_padded * outputs_padded * taps;
  const uint row = (uint)get_group_id(0) * own + item % own, weights = rows / ways;
  uint tap = row % taps, in = taps == 9u ? row / 9u % inputs : row / 4u / outputs;
  uint out = taps == 9u ? row / 9u / inputs : row / 4u % outputs;
  uint place = in < first ? in : first_padded + in - first;
  uint at = taps == 9u ? (out * inputs_padded + place) * 9u + tap : (tap * outputs_padded + out) * inputs_padded + place;
  float sum = 0.0f;
  FOUR_TURNS for (uint s = item / own; s < shares && row < weights; s += ways) sum += part[s * count + at];
  sums[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item >= own || row >= weights) return;
  for (uint way = 1u; way < ways; way++) sum += sums[item + way * own];
  weight_gradient[row] += sum * level_factor(level[level_at]);
}
#endif
