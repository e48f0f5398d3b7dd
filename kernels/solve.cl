/* Least squares with a prior, for many scans at once (systems/scan/solve.h): x of min ||A x - y||^2 / 2 + prior, A = mask F
 * S. Maps S make coil images of the image, F is the orthonormal transform of every coil's plane, which stands between these
 * kernels, and the mask keeps the cells of k-space that a scan has acquired.
 *
 * Arrays are of the scans of a chunk, from scan `first` on: images [scan][row][column] in the order of pixels, planes
 * [scan][coil][row][column], differences [scan][axis][row][column]. Planes in k-space have the centre at the start; planes of
 * images need no shift between a transform and its inverse, but for the data themselves, whose centre is at the start
 * (solve_combine). `most` is the room for a slice's coils; with mapped 0 there is one coil, and its map is 1.
 *
 * values of a scan: the squared norm of its residual; that at which conjugate gradients end; the threshold of its prior; the
 * square of the tolerance. counts: steps of the running conjugate gradients; of all; rounds; 1 where it has come to its end
 * (2: and has been left alone since). Sums are taken in a fixed order, a work-group a scan. */

#define GROUP 256
#define NO_CELL 0xffffffffu
#define GROUP_OF_SCAN __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void

/* Pixels that an item takes together, [first, last): a GPU's neighbours take neighbouring pixels; a CPU's items take parts of
 * the image, and eight numbers at a time. UNDER_WAY: before a loop over memory. */
#if defined(__x86_64__) || defined(__aarch64__)
#define UNDER_WAY
#define STEP 4u
typedef float8 several;
#define SHARE(pixels) (((pixels) + STEP * GROUP - 1u) / (STEP * GROUP) * STEP)
#define FIRST(item, pixels) ((item) * SHARE(pixels))
#define LAST(item, pixels) min(FIRST((item) + 1u, pixels), pixels)
#define TAKE(from, i, pixels) load_eight((__global const float *)(from), 2u * (i), 2u * (pixels))
#define GIVE(to, i, pixels, value) store_eight((__global float *)(to), 2u * (i), 2u * (pixels), value)
#define TOTAL(sum) (((sum).s0 + (sum).s1 + (sum).s2 + (sum).s3) + ((sum).s4 + (sum).s5 + (sum).s6 + (sum).s7))
#else
#define UNDER_WAY FOUR_TURNS
#define STEP GROUP
typedef float2 several;
#define FIRST(item, pixels) (item)
#define LAST(item, pixels) (pixels)
#define TAKE(from, i, pixels) (from)[i]
#define GIVE(to, i, pixels, value) (to)[i] = (value)
#define TOTAL(sum) ((sum).x + (sum).y)
#endif

INLINE float square_of(float2 a) { return a.x * a.x + a.y * a.y; }

INLINE uint coils_of(__global const uint *coils, uint slice, uint most, uint mapped) {
  return mapped ? min(coils[slice], most) : 1u;
}

/* ---- the data -------------------------------------------------------------------------------------------------- */

/* 1 for every cell of k-space that a scan has acquired, of its `pixels`: an action has `each` entries of `cells`. */
GROUP_OF_SCAN solve_mark(__global const uchar *restrict mask, __global const uint *restrict cells,
                         __global uchar *restrict taken, uint first, uint actions, uint each, uint pixels, uint rows) {
  uint row = (uint)get_group_id(0), entries = actions * each;
  if (row >= rows) return;
  __global uchar *own = taken + (size_t)row * pixels;
  __global const uchar *chosen = mask + (size_t)(first + row) * actions;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) own[i] = 0;
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (uint i = (uint)get_local_id(0); i < entries; i += GROUP)
    if (chosen[i / each] && cells[i] != NO_CELL) own[cells[i]] = 1;
}

/* The acquired data of every coil as planes; a row is a plane. hybrid: they are [column][row], and columns are acquired. */
GROUP_OF_SCAN solve_gather(__global const uint *restrict slice, __global const uint *restrict coils,
                           __global const float2 *restrict kspace, __global const uchar *restrict taken,
                           __global float2 *restrict planes, uint first, uint most, uint mapped, uint height, uint width,
                           uint hybrid, uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width, scan = row / most, coil = row % most;
  if (row >= rows) return;
  uint at = slice[first + scan], there = coil < coils_of(coils, at, most, mapped);
  __global const float2 *data = kspace + ((size_t)at * most + coil) * pixels;
  __global const uchar *own = taken + (size_t)scan * pixels;
  __global float2 *plane = planes + (size_t)row * pixels;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint from = hybrid ? i % width * height + i / width : i;
    plane[i] = there && own[hybrid ? i % width : i] ? data[from] : (float2)(0.0f, 0.0f);
  }
}

/* Weights of acquired cells, 0 of others: the area of k-space that a cell stands for, in cells (PROTOCOL 1.15). Of points
 * (each 1) the cells over the acquired ones of a square about it, cut at the edges of k-space. Of spokes its distance from the
 * centre times the spoke's angle, half of that between the spokes beside it, times the step along the spoke; the sum over the
 * spokes that have it, and 1 at least. Spokes come one after the other: none has a cell twice. */
#define DENSITY_SIDE 5u /* cells of the square to either side */

INLINE float area_of_point(__global const uchar *taken, uint y, uint x, uint height, uint width) {
  uint top = y > DENSITY_SIDE ? y - DENSITY_SIDE : 0u, left = x > DENSITY_SIDE ? x - DENSITY_SIDE : 0u;
  uint end = min(y + DENSITY_SIDE + 1u, height), right = min(x + DENSITY_SIDE + 1u, width), count = 0u;
  for (uint v = top; v < end; v++)
    for (uint u = left; u < right; u++)
      count += taken[(v + height - height / 2u) % height * width + (u + width - width / 2u) % width];
  return (float)((end - top) * (right - left)) / (float)count;
}

INLINE float area_of_spoke(__global const uchar *chosen, uint spoke, uint spokes) {
  uint before = 1u, after = 1u;
  while (!chosen[(spoke + spokes - before) % spokes]) before++;
  while (!chosen[(spoke + after) % spokes]) after++;
  float turn = (float)spoke / (float)spokes, step = 1.0f / fmax(fabs(cospi(turn)), fabs(sinpi(turn)));
  return M_PI_F * 0.5f * (float)(before + after) / (float)spokes * step;
}

INLINE float distance_of(uint cell, uint height, uint width) {
  float y = (float)((cell / width + height / 2u) % height) - (float)(height / 2u);
  float x = (float)((cell % width + width / 2u) % width) - (float)(width / 2u);
  return sqrt(y * y + x * x);
}

GROUP_OF_SCAN solve_density(__global const uchar *restrict mask, __global const uint *restrict cells,
                            __global const uchar *restrict taken, __global float *restrict weights, uint first, uint actions,
                            uint each, uint height, uint width, uint rows) {
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), pixels = height * width;
  if (row >= rows) return;
  __global const uchar *chosen = mask + (size_t)(first + row) * actions, *own = taken + (size_t)row * pixels;
  __global float *weight = weights + (size_t)row * pixels;
  for (uint i = item; i < pixels; i += GROUP) {
    uint y = (i / width + height / 2u) % height, x = (i % width + width / 2u) % width;
    weight[i] = each == 1u && own[i] ? area_of_point(own, y, x, height, width) : 0.0f;
  }
  if (each == 1u) return;
  for (uint action = 0u; action < actions; action++) {
    uint count = chosen[action] ? each : 0u;
    float area = count ? area_of_spoke(chosen, action, actions) : 0.0f;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint i = item; i < count; i += GROUP) {
      uint cell = cells[action * each + i];
      if (cell != NO_CELL) weight[cell] += area * distance_of(cell, height, width);
    }
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (uint i = item; i < pixels; i += GROUP) weight[i] = own[i] ? fmax(weight[i], 1.0f) : 0.0f;
}

/* Planes in k-space times the weights of their scan; a row is a plane. */
GROUP_OF_SCAN solve_weigh(__global const float *restrict weights, __global float2 *restrict planes, uint most, uint pixels,
                          uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  __global const float *weight = weights + (size_t)(row / most) * pixels;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) planes[(size_t)row * pixels + i] *= weight[i];
}

/* Magnitudes of planes whose centre is at their start: the root of the sum of squares of `most` coils; mapped: of the sum of
 * conj(map) times plane, over that of the maps' squares, 0 where that is 0. */
GROUP_OF_SCAN solve_magnitude(__global const uint *restrict slice, __global const uint *restrict coils,
                              __global const float2 *restrict maps, __global const float2 *restrict planes,
                              __global float2 *restrict image, uint first, uint most, uint mapped, uint height, uint width,
                              uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width;
  if (row >= rows) return;
  uint at = slice[first + row], count = most > 1u ? min(coils[at], most) : 1u;
  __global const float2 *map = maps + (size_t)at * most * pixels, *plane = planes + (size_t)row * most * pixels;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint y = i / width, from = (y + height - height / 2u) % height * width + (i - y * width + width - width / 2u) % width;
    float2 sum = (float2)(0.0f, 0.0f);
    float squares = 0.0f;
    for (uint coil = 0u; coil < count; coil++) {
      float2 value = plane[(size_t)coil * pixels + from];
      if (mapped) sum += conj_times(map[(size_t)coil * pixels + i], value);
      squares += square_of(mapped ? map[(size_t)coil * pixels + i] : value);
    }
    float found = mapped ? sqrt(square_of(sum)) / squares : sqrt(squares);
    image[(size_t)row * pixels + i] = (float2)(mapped && squares == 0.0f ? 0.0f : found, 0.0f);
  }
}

/* Images of planes: the sum of conj(map) times plane. roll_rows, roll_columns: the plane's centre is at its start. */
GROUP_OF_SCAN solve_combine(__global const uint *restrict slice, __global const uint *restrict coils,
                            __global const float2 *restrict maps, __global const float2 *restrict planes,
                            __global float2 *restrict image, uint first, uint most, uint mapped, uint height, uint width,
                            uint roll_rows, uint roll_columns, uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width;
  if (row >= rows) return;
  uint at = slice[first + row], count = coils_of(coils, at, most, mapped);
  uint down = roll_rows ? height - height / 2u : 0u, right = roll_columns ? width - width / 2u : 0u;
  __global const float2 *map = maps + (size_t)at * most * pixels, *plane = planes + (size_t)row * most * pixels;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint y = i / width, from = (y + down) % height * width + (i - y * width + right) % width;
    float2 sum = plane[from];
    if (mapped) sum = conj_times(map[i], sum);
    for (uint coil = 1u; coil < count; coil++)
      sum += conj_times(map[(size_t)coil * pixels + i], plane[(size_t)coil * pixels + from]);
    image[(size_t)row * pixels + i] = sum;
  }
}

/* Coil images of images; a row is a plane. */
GROUP_OF_SCAN solve_spread(__global const uint *restrict slice, __global const uint *restrict coils,
                           __global const float2 *restrict maps, __global const float2 *restrict image,
                           __global float2 *restrict planes, uint first, uint most, uint pixels, uint rows) {
  uint row = (uint)get_group_id(0), scan = row / most, coil = row % most;
  if (row >= rows) return;
  uint at = slice[first + scan], there = coil < coils_of(coils, at, most, 1u);
  __global const float2 *map = maps + ((size_t)at * most + coil) * pixels, *own = image + (size_t)scan * pixels;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP)
    planes[(size_t)row * pixels + i] = there ? times(map[i], own[i]) : (float2)(0.0f, 0.0f);
}

/* Keeps what is acquired of planes in k-space; a row is a plane. */
GROUP_OF_SCAN solve_keep(__global const uchar *restrict taken, __global float2 *restrict planes, uint most, uint pixels,
                         uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  __global const uchar *own = taken + (size_t)(row / most) * pixels;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP)
    if (!own[i]) planes[(size_t)row * pixels + i] = (float2)(0.0f, 0.0f);
}

/* ---- the unit of weights ------------------------------------------------------------------------------------------ */

#define SIDE 32 /* of the central cells at most */
#define SIDES (SIDE * SIDE)
#define HEIGHT_MOST 1024 /* rows of hybrid data: data.size has no more */

/* The largest block of acquired cells about the centre: (top, left, height, width), in cells from the first row and column
 * of centred k-space. It grows by a row and a column in turn, until an axis is whole, SIDE long, or meets a cell that is not
 * acquired; an even block of an even axis begins half of it before the centre, an odd one a cell earlier. */
INLINE bool is_full(__global const uchar *taken, uint4 block, uint height, uint width) {
  for (uint y = block.x; y < block.x + block.z; y++)
    for (uint x = block.y; x < block.y + block.w; x++)
      if (!taken[(y + height - height / 2u) % height * width + (x + width - width / 2u) % width]) return false;
  return true;
}

INLINE uint4 block_of(uint tall, uint wide, uint height, uint width) {
  uint rows = min(height, (uint)SIDE), columns = min(width, (uint)SIDE);
  uint top = (height - rows) / 2u + (rows - tall) / 2u, left = (width - columns) / 2u + (columns - wide) / 2u;
  return (uint4)(top, left, tall, wide);
}

INLINE uint4 find_block(__global const uchar *taken, uint height, uint width) {
  uint tall = 1u, wide = 1u;
  bool grows = true, widens = true;
  while (grows || widens) {
    grows = grows && tall < min(height, (uint)SIDE) && is_full(taken, block_of(tall + 1u, wide, height, width), height, width);
    tall += grows;
    widens = widens && wide < min(width, (uint)SIDE) && is_full(taken, block_of(tall, wide + 1u, height, width), height, width);
    wide += widens;
  }
  return block_of(tall, wide, height, width);
}

/* turn[k] = exp(2 pi i k / length). Every item of the group must call it. */
INLINE void fill_turns(__local float2 *turn, uint length) {
  for (uint k = (uint)get_local_id(0); k < length; k += GROUP) {
    float angle = 2.0f * M_PI_F * (float)k / (float)length;
    turn[k] = (float2)(cos(angle), sin(angle));
  }
}

/* The place after `step` more, around the length; both are below it. */
INLINE uint onward(uint place, uint step, uint length) {
  place += step;
  return place >= length ? place - length : place;
}

/* A frequency's part of a turn: 0 to length - 1 of it. */
INLINE uint part_of_turn(int frequency, uint factor, uint length) {
  int place = frequency * (int)factor % (int)length;
  return (uint)(place < 0 ? place + (int)length : place);
}

/* A pixel of the inverse transform of `count` cells a stride apart, the first of frequency `first`: exp(2 pi i frequency
 * (2 pixel + count) / (2 count)), for the centre of odd blocks lies between two pixels. turn is of 2 count. */
INLINE float2 block_sum(__local const float2 *cell, uint stride, int first, uint count, uint pixel,
                        __local const float2 *turn) {
  uint length = 2u * count, step = (2u * pixel + count) % length, place = part_of_turn(first, 2u * pixel + count, length);
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint k = 0u; k < count; k++, place = onward(place, step, length)) sum += times(cell[k * stride], turn[place]);
  return sum;
}

/* A cell of the block of a coil; of hybrid data, the transform of their column. turn is of the height. */
INLINE float2 block_cell(__global const float2 *data, uint y, uint x, uint height, uint width, uint hybrid,
                         __local const float2 *turn) {
  uint row = (y + height - height / 2u) % height, column = (x + width - width / 2u) % width;
  if (!hybrid) return data[row * width + column];
  uint back = (height - row) % height, place = part_of_turn((int)row, height / 2u, height);
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint from = 0u; from < height; from++, place = onward(place, back, height))
    sum += times(data[column * height + from], turn[place]);
  return sum / sqrt((float)height);
}

/* The inverse transform of the block at its pixels, squared, is added to `power`. */
INLINE void add_power(__global const float2 *data, uint4 block, __local float2 *cell, __local float2 *half_done,
                      __local float *power, __local float2 *turn, uint height, uint width, uint hybrid) {
  uint item = (uint)get_local_id(0), count = block.z * block.w;
  if (hybrid) fill_turns(turn, min(height, (uint)HEIGHT_MOST));
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < count; i += GROUP)
    cell[i] = block_cell(data, block.x + i / block.w, block.y + i % block.w, height, width, hybrid, turn);
  barrier(CLK_LOCAL_MEM_FENCE);
  fill_turns(turn, 2u * block.w);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < count; i += GROUP)
    half_done[i] = block_sum(cell + i / block.w * block.w, 1u, (int)block.y - (int)(width / 2u), block.w, i % block.w, turn);
  barrier(CLK_LOCAL_MEM_FENCE);
  fill_turns(turn, 2u * block.z);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < count; i += GROUP)
    power[i] += square_of(block_sum(half_done + i % block.w, block.w, (int)block.x - (int)(height / 2u), block.z,
                                    i / block.w, turn)) / (float)count;
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Values of three ranks from the least on, into `found`. */
INLINE void rank_values(__local const float *power, uint count, uint3 rank, __local float *found) {
  for (uint i = (uint)get_local_id(0); i < count; i += GROUP) {
    float own = power[i];
    uint below = 0u;
    FOUR_TURNS
    for (uint k = 0u; k < count; k++) below += power[k] < own || (power[k] == own && k < i);
    if (below == rank.x) found[0] = own;
    if (below == rank.y) found[1] = own;
    if (below == rank.z) found[2] = own;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Brightness of a scan's image, of which its weight is a part: of the root-sum-of-squares of the central cells that are
 * acquired, the 90th percentile, or the largest where that is far above. A scan without any has 1. */
GROUP_OF_SCAN solve_scale(__global const uint *restrict slice, __global const uint *restrict coils,
                          __global const float2 *restrict kspace, __global const uchar *restrict taken,
                          __global float *restrict scale, uint first, uint most, uint mapped, uint height, uint width,
                          uint hybrid, uint rows) {
  __local float2 cell[SIDES], half_done[SIDES];
  __local float2 turn[HEIGHT_MOST];
  __local float power[SIDES], found[3];
  __local uint4 shared;
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), pixels = height * width;
  if (row >= rows) return;
  uint at = slice[first + row], last = coils_of(coils, at, most, mapped);
  __global const uchar *own = taken + (size_t)row * pixels;
  if (item == 0u) shared = find_block(own, height, width);
  for (uint i = item; i < SIDES; i += GROUP) power[i] = 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint4 block = shared;
  uint count = block.z * block.w;
  bool any = count > 1u || is_full(own, block, height, width);
  for (uint coil = 0u; coil < last; coil++)
    add_power(kspace + ((size_t)at * most + coil) * pixels, block, cell, half_done, power, turn, height, width,
              hybrid);
  rank_values(power, count, (uint3)(count / 2u, count * 9u / 10u, count - 1u), found);
  float median = sqrt(found[0]), high = sqrt(found[1]), top = sqrt(found[2]);
  float chosen = (top - high < 2.0f * (high - median) ? high : top) * sqrt((float)count / (float)pixels);
  if (item == 0u) scale[row] = any && chosen > 0.0f ? chosen : 1.0f;
}

/* ---- conjugate gradients -------------------------------------------------------------------------------------------- */

/* Begins from 0: the residual is the right side. inner, tolerance: relative, of conjugate gradients and of all. threshold: in
 * parts of the scan's scale. */
GROUP_OF_SCAN solve_begin(__global const float2 *restrict right, __global const float *restrict scale,
                          __global float2 *restrict solution, __global float2 *restrict residual,
                          __global float2 *restrict direction, __global float2 *restrict product,
                          __global float4 *restrict values, __global float4 *restrict counts, float inner,
                          float threshold, float tolerance, uint pixels, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  size_t start = (size_t)row * pixels;
  float sum = 0.0f;
  UNDER_WAY
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    float2 value = right[start + i];
    sum += square_of(value);
    solution[start + i] = (float2)(0.0f, 0.0f);
    residual[start + i] = value;
    direction[start + i] = value;
    product[start + i] = value;
  }
  sum = group_sum(sum, scratch);
  if (get_local_id(0) == 0) {
    values[row] = (float4)(sum, inner * inner * sum, threshold * scale[row], tolerance * tolerance);
    counts[row] = (float4)(0.0f, 0.0f, 0.0f, sum > 0.0f ? 0.0f : 1.0f);
  }
}

/* The step along the direction: residual squared over direction times product. */
INLINE float step_of(float square, float along) { return along != 0.0f ? square / along : 0.0f; }

/* <direction, (A^H A + weight G^H G) direction> of the parts of a scan's blocks (kernels/hybrid.cl), G the identity or the
 * differences. Every item of the group must call it. */
INLINE float along_of(__global const float2 *parts, uint blocks, float weight, __local float *scratch) {
  float sum = 0.0f;
  for (uint i = (uint)get_local_id(0); i < blocks; i += GROUP) sum += parts[i].x + weight * parts[i].y;
  return group_sum(sum, scratch);
}

/* A step for (A^H A + weight) x = right. product: A^H A direction. Where its blocks have parts, they are `parts`; else blocks
 * is 0, and product becomes the next direction. */
GROUP_OF_SCAN solve_conjugate(__global float2 *restrict product, __global float2 *restrict direction,
                              __global float2 *restrict solution, __global float2 *restrict residual,
                              __global const float2 *restrict parts, __global float4 *restrict values,
                              __global float4 *restrict counts, float weight, uint pixels, uint blocks, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  size_t start = (size_t)row * pixels;
  __global float2 *q = product + start, *p = direction + start, *x = solution + start, *r = residual + start;
  float4 value = values[row], count = counts[row];
  if (count.w > 0.0f) return;
  uint first = FIRST(item, pixels), last = LAST(item, pixels);
  several sum = 0.0f;
  UNDER_WAY
  for (uint i = first; i < last && !blocks; i += STEP) {
    several a = TAKE(p, i, pixels);
    sum += a * (TAKE(q, i, pixels) + weight * a);
  }
  float along = blocks ? along_of(parts + (size_t)row * blocks, blocks, weight, scratch) : group_sum(TOTAL(sum), scratch);
  float step = step_of(value.x, along);
  sum = 0.0f;
  UNDER_WAY
  for (uint i = first; i < last; i += STEP) {
    several a = TAKE(p, i, pixels), rest = TAKE(r, i, pixels) - step * (TAKE(q, i, pixels) + weight * a);
    GIVE(x, i, pixels, TAKE(x, i, pixels) + step * a);
    GIVE(r, i, pixels, rest);
    sum += rest * rest;
  }
  float square = group_sum(TOTAL(sum), scratch), turn = square / value.x;
  UNDER_WAY
  for (uint i = first; i < last; i += STEP) {
    several next = TAKE(r, i, pixels) + turn * TAKE(p, i, pixels);
    GIVE(p, i, pixels, next);
    if (!blocks) GIVE(q, i, pixels, next);
  }
  if (item == 0u) {
    values[row] = (float4)(square, value.y, value.z, value.w);
    counts[row] = (float4)(count.x + 1.0f, count.y + 1.0f, 0.0f, square <= value.y ? 2.0f : 0.0f);
  }
}

/* ---- total variation: alternating directions (S. Boyd et al. 2011, 3.4.3) ---------------------------------------------- */

#define RELAXATION 1.6f
#define INNER_STEPS 10.0f     /* of conjugate gradients in a round, at most */
#define INNER_TOLERANCE 1e-3f /* of their residual to the right side */

typedef struct {
  uint here, left, up, after, below; /* places of a pixel and its neighbours, around the edges */
} around;

/* Images of several sets of maps follow each other. */
INLINE around around_of(uint i, uint height, uint width) {
  uint line = i / width, x = i - line * width, y = line % height;
  around place = {i, x ? i - 1u : i + width - 1u, y ? i - width : i + (height - 1u) * width,
                  x + 1u < width ? i + 1u : i + 1u - width, y + 1u < height ? i + width : i - (height - 1u) * width};
  return place;
}

/* G^H G p: 4 p less its neighbours, for G the differences to the pixel before on both axes. */
INLINE float2 laplacian(__global const float2 *p, around at) {
  return 4.0f * p[at.here] - p[at.left] - p[at.up] - p[at.after] - p[at.below];
}

/* G^H of split less dual. */
INLINE float2 divergence(__global const float2 *split, __global const float2 *dual, around at, uint pixels) {
  float2 along = split[at.here] - dual[at.here] - split[at.after] + dual[at.after];
  float2 down = split[pixels + at.here] - dual[pixels + at.here] - split[pixels + at.below] + dual[pixels + at.below];
  return along + down;
}

/* split and dual of the differences of x, over-relaxed; shrinks both axes together, and every set's image for itself. */
INLINE void split_round(__global const float2 *x, __global float2 *split, __global float2 *dual, float threshold,
                        uint pixels, uint height, uint width) {
  UNDER_WAY
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    around at = around_of(i, height, width);
    float2 along = RELAXATION * (x[i] - x[at.left]) + (1.0f - RELAXATION) * split[i] + dual[i];
    float2 down =
        RELAXATION * (x[i] - x[at.up]) + (1.0f - RELAXATION) * split[pixels + i] + dual[pixels + i];
    float size = sqrt(square_of(along) + square_of(down)), part = size > threshold ? 1.0f - threshold / size : 0.0f;
    split[i] = part * along;
    split[pixels + i] = part * down;
    dual[i] = along - part * along;
    dual[pixels + i] = down - part * down;
  }
}

/* A step of conjugate gradients; returns the square of the residual. Every item of the group must call it. */
INLINE float total_step(__global const float2 *q, __global const float2 *p, __global float2 *x, __global float2 *r, float step,
                        float rho, uint pixels, uint height, uint width, __local float *scratch) {
  float sum = 0.0f;
  UNDER_WAY
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    float2 rest = r[i] - step * (q[i] + rho * laplacian(p, around_of(i, height, width)));
    x[i] += step * p[i];
    r[i] = rest;
    sum += square_of(rest);
  }
  return group_sum(sum, scratch);
}

/* <p, (A^H A + rho G^H G) p>, q = A^H A p. Every item of the group must call it. */
INLINE float total_along(__global const float2 *q, __global const float2 *p, float rho, uint pixels, uint height, uint width,
                         __local float *scratch) {
  float sum = 0.0f;
  UNDER_WAY
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    float2 a = p[i], b = q[i] + rho * laplacian(p, around_of(i, height, width));
    sum += a.x * b.x + a.y * b.y;
  }
  return group_sum(sum, scratch);
}

/* A step for (A^H A + rho G^H G) x = side, side = right + rho G^H (split - dual). A round of them ends after INNER_STEPS, or
 * where the residual is small against the side; then split and dual are those of x, and the residual, the first direction,
 * goes on with the new side. A scan ends with the round in which it has taken more than `iterations` steps. product, parts, blocks:
 * solve_conjugate. sets: images of a scan, one after the other. */
GROUP_OF_SCAN solve_total(__global const float2 *restrict right, __global float2 *restrict product,
                          __global float2 *restrict direction, __global float2 *restrict solution,
                          __global float2 *restrict residual, __global float2 *restrict side,
                          __global float2 *restrict split, __global float2 *restrict dual,
                          __global const float2 *restrict parts, __global float4 *restrict values,
                          __global float4 *restrict counts, uint sets, uint height, uint width, float rho,
                          uint iterations, uint blocks, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), pixels = sets * height * width;
  if (row >= rows) return;
  size_t start = (size_t)row * pixels;
  __global float2 *q = product + start, *p = direction + start, *x = solution + start, *r = residual + start;
  __global float2 *z = split + 2u * start, *u = dual + 2u * start, *s = side + start;
  float4 value = values[row], count = counts[row];
  if (count.w > 0.0f) return;
  float along = blocks ? along_of(parts + (size_t)row * blocks, blocks, rho, scratch)
                       : total_along(q, p, rho, pixels, height, width, scratch);
  float sum = total_step(q, p, x, r, step_of(value.x, along), rho, pixels, height, width, scratch), turn = sum / value.x;
  barrier(CLK_GLOBAL_MEM_FENCE);
  count += (float4)(1.0f, 1.0f, 0.0f, 0.0f);
  value.x = sum;
  bool ends = sum <= value.y || count.x >= INNER_STEPS;
  if (ends) {
    count.x = 0.0f;
    count.z += 1.0f;
    count.w = count.y > (float)iterations || count.z >= (float)iterations ? 2.0f : 0.0f;
  }
  if (ends && count.w == 0.0f) {
    float whole = 0.0f;
    split_round(x, z, u, value.z, pixels, height, width);
    barrier(CLK_GLOBAL_MEM_FENCE);
    sum = 0.0f;
    UNDER_WAY
    for (uint i = item; i < pixels; i += GROUP) {
      float2 next = right[start + i] + rho * divergence(z, u, around_of(i, height, width), pixels);
      float2 rest = r[i] + next - s[i];
      s[i] = next;
      r[i] = rest;
      p[i] = rest;
      if (!blocks) q[i] = rest;
      sum += square_of(rest);
      whole += square_of(next);
    }
    value.x = group_sum(sum, scratch);
    whole = group_sum(whole, scratch);
    value.y = INNER_TOLERANCE * INNER_TOLERANCE * whole;
    count.w = value.x <= value.w * whole ? 2.0f : 0.0f;
  }
  UNDER_WAY
  for (uint i = item; i < pixels && !ends; i += GROUP) {
    float2 next = r[i] + turn * p[i];
    p[i] = next;
    if (!blocks) q[i] = next;
  }
  if (item == 0u) {
    values[row] = value;
    counts[row] = count;
  }
}

/* ---- wavelets: accelerated proximal gradients (A. Beck and M. Teboulle 2009) -------------------------------------------- */

/* Daubechies' filter of four taps. */
__constant float taps[4] = {0.4829629131445341f, 0.8365163037378077f, 0.2241438680420134f, -0.1294095225512603f};

/* Place n of a length, mirrored at its edges with the edge twice. */
INLINE uint mirror(int n, uint length) {
  return (uint)(n < 0 ? -n - 1 : n >= (int)length ? 2 * (int)length - 1 - n : n);
}

#define LINE_GROUP 64
#define GROUP_OF_LINE __kernel __attribute__((reqd_work_group_size(LINE_GROUP, 1, 1))) void

/* One axis of images [height][width] into its low band, and after it its high band, of (length + 3) / 2 each. A row is a line
 * of a scan: of entry `line` of both bands where columns are split, else of the image. Value (y, x) of a scan is at
 * first + y pitch + x of its `size` values. */
GROUP_OF_LINE solve_part(__global const float2 *restrict from, __global float2 *restrict to, uint down, uint height,
                         uint width, uint from_pitch, uint from_first, uint from_size, uint to_pitch, uint to_first,
                         uint to_size, uint rows) {
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint band = ((down ? height : width) + 3u) / 2u, lines = down ? band : height, scan = row / lines;
  uint line = row - scan * lines;
  __global const float2 *own = from + (size_t)scan * from_size + from_first;
  __global float2 *out = to + (size_t)scan * to_size + to_first + line * to_pitch;
  if (down) {
    __global const float2 *at[4];
    for (int tap = 0; tap < 4; tap++) at[tap] = own + mirror(2 * (int)line - 2 + tap, height) * from_pitch;
    for (uint x = item; x < width; x += LINE_GROUP) {
      float2 a = at[0][x], b = at[1][x], c = at[2][x], d = at[3][x];
      out[x] = taps[0] * a + taps[1] * b + taps[2] * c + taps[3] * d;
      out[band * to_pitch + x] = taps[3] * a - taps[2] * b + taps[1] * c - taps[0] * d;
    }
    return;
  }
  own += line * from_pitch;
  for (uint entry = item; entry < band; entry += LINE_GROUP) {
    int n = 2 * (int)entry - 2;
    float2 a = own[mirror(n, width)], b = own[mirror(n + 1, width)], c = own[mirror(n + 2, width)],
           d = own[mirror(n + 3, width)];
    out[entry] = taps[0] * a + taps[1] * b + taps[2] * c + taps[3] * d;
    out[band + entry] = taps[3] * a - taps[2] * b + taps[1] * c - taps[0] * d;
  }
}

/* A coefficient, shrunk by the threshold; those of the next level are kept as they are. */
INLINE float2 shrunk(float2 value, float threshold, bool kept) {
  float size = sqrt(square_of(value));
  return kept ? value : size > threshold ? (1.0f - threshold / size) * value : (float2)(0.0f, 0.0f);
}

/* A value of the image from two entries of each band: `low`, `high` and those `after` them. */
INLINE float2 joined(float2 low, float2 high, float2 low_after, float2 high_after, bool odd) {
  return odd ? taps[3] * low - taps[0] * high + taps[1] * low_after - taps[2] * high_after
             : taps[2] * low + taps[1] * high + taps[0] * low_after + taps[3] * high_after;
}

/* The other way, to images [height][width]; a row is a line of a scan. factor: of the scan's threshold, by which coefficients
 * are shrunk on the way, but for those of the next level, within keep_rows and keep_columns. */
GROUP_OF_LINE solve_join(__global const float2 *restrict from, __global const float4 *restrict values,
                         __global float2 *restrict to, uint down, uint height, uint width, uint from_pitch,
                         uint from_first, uint from_size, uint to_pitch, uint to_first, uint to_size, float factor,
                         uint keep_rows, uint keep_columns, uint rows) {
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint scan = row / height, y = row - scan * height, band = ((down ? height : width) + 3u) / 2u;
  __global const float2 *own = from + (size_t)scan * from_size + from_first;
  __global float2 *out = to + (size_t)scan * to_size + to_first + y * to_pitch;
  float threshold = factor * values[scan].z;
  if (down) {
    uint entry = y / 2u;
    __global const float2 *low = own + entry * from_pitch, *high = low + band * from_pitch;
    for (uint x = item; x < width; x += LINE_GROUP) {
      bool kept = x < keep_columns;
      out[x] = joined(shrunk(low[x], threshold, kept && entry < keep_rows), shrunk(high[x], threshold, false),
                      shrunk(low[from_pitch + x], threshold, kept && entry + 1u < keep_rows),
                      shrunk(high[from_pitch + x], threshold, false), y & 1u);
    }
    return;
  }
  __global const float2 *low = own + y * from_pitch, *high = low + band;
  for (uint x = item; x < width; x += LINE_GROUP) {
    uint entry = x / 2u;
    bool kept = y < keep_rows;
    out[x] = joined(shrunk(low[entry], threshold, kept && entry < keep_columns), shrunk(high[entry], threshold, false),
                    shrunk(low[entry + 1u], threshold, kept && entry + 1u < keep_columns),
                    shrunk(high[entry + 1u], threshold, false), x & 1u);
  }
}

/* After the shrinkage: goes on past it by `factor` of the change since the last one. work is moved by down and right around
 * the edges. A scan ends where the change is within the tolerance of the image. */
GROUP_OF_SCAN solve_momentum(__global const float2 *restrict work, __global const float4 *restrict values,
                             __global float4 *restrict counts, __global float2 *restrict before,
                             __global float2 *restrict solution, __global float2 *restrict product, float factor,
                             uint height, uint width, uint down, uint right, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), pixels = height * width;
  if (row >= rows) return;
  size_t start = (size_t)row * pixels;
  float4 count = counts[row];
  if (count.w > 0.0f) return;
  float change = 0.0f, whole = 0.0f;
  UNDER_WAY
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint y = i / width, from = (y + down) % height * width + (i - y * width + right) % width;
    float2 value = work[start + from], gone = value - before[start + i], next = value + factor * gone;
    before[start + i] = value;
    solution[start + i] = next;
    product[start + i] = next;
    change += square_of(gone);
    whole += square_of(value);
  }
  change = group_sum(change, scratch);
  whole = group_sum(whole, scratch);
  if (get_local_id(0) == 0)
    counts[row] = count + (float4)(1.0f, 1.0f, 1.0f, change < values[row].w * whole ? 1.0f : 0.0f);
}

/* The step along the gradient, and its image moved by down and right for the next shrinkage. */
GROUP_OF_SCAN solve_descend(__global const float2 *restrict product, __global const float2 *restrict right,
                            __global float2 *restrict solution, __global float2 *restrict work,
                            __global float4 *restrict counts, float step, uint height, uint width, uint down,
                            uint along, uint rows) {
  uint row = (uint)get_group_id(0), pixels = height * width;
  if (row >= rows) return;
  size_t start = (size_t)row * pixels;
  float4 count = counts[row];
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (count.w > 1.0f) return;
  UNDER_WAY
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    uint y = i / width, to = (y + down) % height * width + (i - y * width + along) % width;
    float2 next = solution[start + i] + step * (right[start + i] - product[start + i]);
    solution[start + i] = next;
    work[start + to] = next;
  }
  if (get_local_id(0) == 0) counts[row] = count + (float4)(0.0f, 0.0f, 0.0f, count.w);
}

/* ---- the image ---------------------------------------------------------------------------------------------------------- */

/* The magnitude in units of the image; `refused` becomes the lowest scan with a pixel that is no number. */
GROUP_OF_SCAN solve_store(__global const uint *restrict slice, __global const float2 *restrict solution,
                          __global const float *restrict unit, __global float *restrict reconstruction,
                          __global uint *restrict refused, uint first, uint pixels, uint rows) {
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  float scale = unit[slice[first + row]];
  bool bad = false;
  for (uint i = (uint)get_local_id(0); i < pixels; i += GROUP) {
    float value = scale * sqrt(square_of(solution[(size_t)row * pixels + i]));
    bad = bad || (as_uint(value) & 0x7f800000u) == 0x7f800000u;
    reconstruction[(size_t)(first + row) * pixels + i] = value;
  }
  if (bad) atomic_min(refused, first + row);
}
