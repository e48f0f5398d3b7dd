/* Images from fully sampled k-space: centred inverse transform, root-sum-of-squares over coils, crop. */

/* Moves the centre of every coil's k-space to the start, ready for an uncentred transform. A row is a sample;
 * `kspace` and `work` hold [coil][height][width]. */
__kernel void coil_centre(__global const float2 *restrict kspace, __global float2 *restrict work, uint height,
                          uint width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint x = row % width, y = row / width % height, coil = row / width / height;
  uint to_x = (x + width - width / 2u) % width, to_y = (y + height - height / 2u) % height;
  work[(coil * height + to_y) * width + to_x] = kspace[row];
}

/* Root-sum-of-squares of the coil images, whose centre is at the start, cropped to the middle. A row is a
 * pixel of `pixels` [out_height][out_width]. */
__kernel void coil_combine(__global const float2 *restrict work, __global float *restrict pixels, uint coils,
                           uint height, uint width, uint out_height, uint out_width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint x = row % out_width + (width - out_width) / 2u, y = row / out_width + (height - out_height) / 2u;
  uint from_x = (x + width - width / 2u) % width, from_y = (y + height - height / 2u) % height;
  float sum = 0.0f;
  for (uint coil = 0u; coil < coils; coil++) {
    float2 value = work[(coil * height + from_y) * width + from_x];
    sum += value.x * value.x + value.y * value.y;
  }
  pixels[row] = sqrt(sum);
}

/* Coil images, whose centre is at the start, cropped and padded, the centre at the start again: ready for the transform. A
 * row is a pixel of `planes` [coil][out_height][out_width]; `row_from` and `column_from` say where its lines and columns
 * lie in `work`, from its centre out; NO_CELL: outside. */
#define NO_CELL 0xffffffffu

__kernel void coil_crop(__global const float2 *restrict work, __global const uint *restrict row_from,
                        __global const uint *restrict column_from, __global float2 *restrict planes, uint height,
                        uint width, uint out_height, uint out_width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint x = row % out_width, y = row / out_width % out_height, coil = row / out_width / out_height;
  uint from_x = column_from[x], from_y = row_from[y];
  uint to_x = (x + out_width - out_width / 2u) % out_width, to_y = (y + out_height - out_height / 2u) % out_height;
  bool inside = from_x != NO_CELL && from_y != NO_CELL;
  planes[(coil * out_height + to_y) * out_width + to_x] =
      inside ? work[(coil * height + from_y) * width + from_x] : (float2)(0.0f, 0.0f);
}

/* Columns of k-space as lines, ready for an uncentred transform after which place y is row y: `lines` [coil][column][row] of
 * `kspace` [coil][row][column], whose centre is at the start. A row is a sample of `lines`. */
__kernel void coil_columns(__global const float2 *restrict kspace, __global float2 *restrict lines, uint height,
                           uint width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint m = row % height, column = row / height;
  float turn = -2.0f * (float)(m * (height / 2u) % height) / (float)height;
  lines[row] = times(kspace[(column / width * height + m) * width + column % width], (float2)(cospi(turn), sinpi(turn)));
}

/* The k-space of all coils of a slice times `factor`, in units of the slice. */
#define GROUP 256

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
coil_scale(__global float2 *restrict coil_kspace, __global const float *restrict unit, uint most, float factor,
           uint rows) {
  uint row = (uint)get_group_id(0), count = most * PIXELS;
  if (row >= rows) return;
  float scale = factor / unit[row];
  for (uint i = (uint)get_local_id(0); i < count; i += GROUP) coil_kspace[(size_t)row * count + i] *= scale;
}

/* What coils see of a pixel through a set of maps. */
INLINE float joined_coils(__global const float2 *planes, __global const float2 *maps, uint coils, uint pixels) {
  float2 sum = (float2)(0.0f, 0.0f);
  float square = 0.0f;
  for (uint coil = 0u; coil < coils; coil++) {
    float2 map = maps[(size_t)coil * pixels], value = planes[(size_t)coil * pixels];
    sum += (float2)(map.x * value.x + map.y * value.y, map.x * value.y - map.y * value.x);
    square += map.x * map.x + map.y * map.y;
  }
  return square > 0.0f ? sqrt(sum.x * sum.x + sum.y * sum.y) / square : 0.0f;
}

/* The magnitude of the sum of conj(map) times coil image over the sum of squared maps, `factor` times, for a slice's image;
 * 0 where no coil sees anything; of several sets of maps the root of the sum of squares. Coil images [coil][height][width] have the centre at the start. A row is a pixel. */
__kernel void coil_join(__global const float2 *restrict planes, __global const float2 *restrict maps,
                        __global float *restrict image, uint slice, uint most, uint coils, uint height, uint width,
                        float factor, uint sets, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint x = (row % width + width - width / 2u) % width, y = (row / width + height - height / 2u) % height;
  float all = 0.0f;
  for (uint set = 0u; set < sets; set++) {
    float one = joined_coils(planes + y * width + x, maps + ((size_t)slice * sets + set) * most * rows + row, coils, rows);
    all = set ? sqrt(all * all + one * one) : one;
  }
  image[(size_t)slice * rows + row] = factor * all;
}

/* ---- simulated coils -------------------------------------------------------------------------------------- */

#define STREAM_COILS 8u
#define PHASE_STEPS 2u /* draws of a slice for its phase; noise is those after them */

/* Uniform in [-1, 1]. */
INLINE float even(uint word) { return (float)word * 0x1p-31f - 1.0f; }

/* A smooth phase at (u, v) of [-1, 1], over pi: a polynomial of second degree that the slice has drawn. */
INLINE float phase_at(float u, float v, uint seed, uint number) {
  uint4 one = random_words(seed, STREAM_COILS, number, 0u), two = random_words(seed, STREAM_COILS, number, 1u);
  return even(one.x) + 0.5f * (even(one.y) * u + even(one.z) * v) +
         0.25f * (even(one.w) * u * u + even(two.x) * v * v + even(two.y) * u * v);
}

/* Images of coils that see a slice's image, of smooth phase, through `maps` [coil][height][width]; in units of the slice, the
 * centre at the start. A row is a pixel of `planes` [coil][height][width]. */
__kernel void coil_simulate(__global const float *restrict image, __global const float *restrict unit,
                            __global const float2 *restrict maps, __global float2 *restrict planes, uint slice,
                            uint seed, uint number, uint height, uint width, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint x = row % width, y = row / width % height, coil = row / width / height;
  uint to_x = (x + width - width / 2u) % width, to_y = (y + height - height / 2u) % height;
  float phase = phase_at(2.0f * (float)y / (float)height - 1.0f, 2.0f * (float)x / (float)width - 1.0f, seed, number);
  float value = image[((size_t)slice * height + y) * width + x] / unit[slice];
  float2 turn = (float2)(cospi(phase), sinpi(phase)) * value, map = maps[row];
  planes[(coil * height + to_y) * width + to_x] =
      (float2)(turn.x * map.x - turn.y * map.y, turn.x * map.y + turn.y * map.x);
}

/* Adds noise to the k-space of a slice's coils: each part has `factor` times the image's deviation (Box and Muller). A row is
 * a sample. */
__kernel void coil_noise(__global float2 *restrict planes, __global const float *restrict std,
                         __global const float *restrict unit, uint slice, float factor, uint seed, uint number,
                         uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint4 words = random_words(seed, STREAM_COILS, number, PHASE_STEPS + row);
  float size = sqrt(-2.0f * log(((float)words.x + 0.5f) * 0x1p-32f)), angle = (float)words.y * 0x1p-31f;
  planes[row] += factor * std[slice] / unit[slice] * size * (float2)(cospi(angle), sinpi(angle));
}

/* Coils mixed by a matrix [of the one][of the other]: `mixed` [out][samples] of `kspace` [coils][samples]. A row is a sample of
 * `mixed`. */
__kernel void coil_mix(__global const float2 *restrict kspace, __global const float2 *restrict matrix,
                       __global float2 *restrict mixed, uint coils, uint samples, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  __global const float2 *own = matrix + row / samples * coils;
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint coil = 0u; coil < coils; coil++) {
    float2 a = own[coil], b = kspace[(size_t)coil * samples + row % samples];
    sum += (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
  }
  mixed[row] = sum;
}
