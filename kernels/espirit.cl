/* Coil sensitivities by ESPIRiT (Uecker 2014): a slice's calibration region, the Gram matrix of its patches, the lags of the
 * projector on the kernels that the host has kept, and at every pixel the matrix whose first eigenvectors are maps.
 *
 * Coil images are s_c m, so a patch a(c,p) of k-space at k is the projector's own: P a = a. Summed over frequencies that is
 * G(x) s(x) = s(x) at every pixel, where G_ab(x) = sum_l g_ab(l) exp(2 pi i l x / n) / kernel^2, and
 * g_ab(l) = sum_p P[(a,p),(b,p-l)] has lags l of less than the kernel's side. That is what transforming padded kernels and
 * interpolating their products gives, without either.
 *
 * Entries are those with a <= b, one row after the other; lags go from -(kernel-1) to kernel-1 on each axis. */

#define COILS_MOST 64
#define SETS_MOST 2
#define STEPS 30

/* exp(2 pi i at / n). */
INLINE float2 turn_of(int at, uint n) {
  float angle = 2.0f * (float)((at % (int)n + (int)n) % (int)n) / (float)n;
  return (float2)(cospi(angle), sinpi(angle));
}

/* The middle of k-space [slice][coil][side_rows][side_columns], whose centre is at the start of `coil_kspace`
 * [slice][most][height][width], of slices from `first` on. A row is a sample. */
__kernel void espirit_region(__global const float2 *restrict coil_kspace, __global float2 *restrict region, uint first,
                             uint most, uint coils, uint side_rows, uint side_columns, uint height, uint width,
                             uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint x = row % side_columns, y = row / side_columns % side_rows, plane = row / side_columns / side_rows;
  uint from_x = (x + (width - side_columns) / 2u + width - width / 2u) % width;
  uint from_y = (y + (height - side_rows) / 2u + height - height / 2u) % height;
  size_t coil = (size_t)(first + plane / coils) * most + plane % coils;
  region[row] = coil_kspace[(coil * height + from_y) * width + from_x];
}

/* Sums of products of the patches' samples, [slice][of the one][of the other]: sum a conj(a'). Samples of a patch are
 * [coil][kernel][kernel]. A row is an entry. */
__kernel void espirit_gram(__global const float2 *restrict region, __global float2 *restrict gram, uint coils,
                           uint side_rows, uint side_columns, uint kernel_side, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint samples = coils * kernel_side * kernel_side, area = side_rows * side_columns;
  uint j = row % samples, i = row / samples % samples, slice = row / samples / samples;
  __global const float2 *one = region + (size_t)(slice * coils + i / kernel_side / kernel_side) * area;
  __global const float2 *other = region + (size_t)(slice * coils + j / kernel_side / kernel_side) * area;
  one += i / kernel_side % kernel_side * side_columns + i % kernel_side;
  other += j / kernel_side % kernel_side * side_columns + j % kernel_side;
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint y = 0u; y + kernel_side <= side_rows; y++) {
    float2 line = (float2)(0.0f, 0.0f);
    for (uint x = 0u; x + kernel_side <= side_columns; x++)
      line += conj_times(other[y * side_columns + x], one[y * side_columns + x]);
    sum += line;
  }
  gram[row] = sum;
}

/* The coils of an entry: x <= y. */
INLINE uint2 pair_of_coils(uint entry, uint coils) {
  uint one = 0u;
  for (; entry >= coils - one; one++) entry -= coils - one;
  return (uint2)(one, one + entry);
}

/* Lags of the projector on `kept` vectors [slice][kept][coil][kernel][kernel], [slice][entry][lag][lag]. A row is a lag of an
 * entry. */
__kernel void espirit_lags(__global const float2 *restrict vectors, __global float2 *restrict lags, uint coils,
                           uint kernel_side, uint kept, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  int side = (int)kernel_side, count = 2 * side - 1, lag = (int)row % (count * count);
  uint entry = row / (uint)(count * count), entries = coils * (coils + 1u) / 2u;
  uint2 pair = pair_of_coils(entry % entries, coils);
  int ly = lag / count - (side - 1), lx = lag % count - (side - 1);
  size_t area = kernel_side * kernel_side, from = (size_t)(entry / entries) * kept * coils * area;
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint v = 0u; v < kept; v++) {
    __global const float2 *one = vectors + from + ((size_t)v * coils + pair.x) * area;
    __global const float2 *other = vectors + from + ((size_t)v * coils + pair.y) * area;
    for (int y = max(0, ly); y < min(side, side + ly); y++)
      for (int x = max(0, lx); x < min(side, side + lx); x++)
        sum += conj_times(other[(y - ly) * side + x - lx], one[y * side + x]);
  }
  lags[row] = sum;
}

/* Lags of rows transformed: [slice][entry][image row][lag of columns]. A row is a value. */
__kernel void espirit_rows(__global const float2 *restrict lags, __global float2 *restrict lines, uint kernel_side,
                           uint height, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint count = 2u * kernel_side - 1u, x = row % count, y = row / count % height;
  __global const float2 *from = lags + (size_t)(row / count / height) * count * count + x;
  int place = (int)y - (int)(height / 2u);
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint l = 0u; l < count; l++)
    sum += times(from[l * count], turn_of(((int)l - (int)(kernel_side - 1u)) * place, height));
  lines[row] = sum;
}

/* ---- pixels ----------------------------------------------------------------------------------------------- */

/* The matrix of a pixel, into its column of `matrix` [entry][rows]. */
INLINE void make_matrix(__global const float2 *lines, __global float2 *matrix, uint entries, uint kernel_side,
                        uint height, uint width, uint x, uint rows) {
  uint count = 2u * kernel_side - 1u;
  float scale = 1.0f / (float)(kernel_side * kernel_side);
  float2 turn[15];
  for (uint l = 0u; l < count; l++)
    turn[l] = turn_of(((int)l - (int)(kernel_side - 1u)) * ((int)x - (int)(width / 2u)), width);
  for (uint e = 0u; e < entries; e++) {
    __global const float2 *line = lines + (size_t)e * height * count;
    float2 sum = (float2)(0.0f, 0.0f);
    for (uint l = 0u; l < count; l++) sum += times(line[l], turn[l]);
    matrix[(size_t)e * rows] = sum * scale;
  }
}

/* to = matrix from. */
INLINE void apply_matrix(__global const float2 *matrix, uint coils, uint rows, const float2 *from, float2 *to) {
  for (uint c = 0u; c < coils; c++) to[c] = (float2)(0.0f, 0.0f);
  for (uint a = 0u; a < coils; a++) {
    float2 sum = to[a], own = from[a];
    for (uint b = a; b < coils; b++) {
      float2 entry = *matrix;
      matrix += rows;
      sum += times(entry, from[b]);
      if (b > a) to[b] += conj_times(entry, own);
    }
    to[a] = sum;
  }
}

/* Takes the other vector's part out. */
INLINE void part_from(float2 *vector, const float2 *other, uint coils) {
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint c = 0u; c < coils; c++) sum += conj_times(other[c], vector[c]);
  for (uint c = 0u; c < coils; c++) vector[c] -= times(sum, other[c]);
}

/* Brings it to length 1, and returns what it was. */
INLINE float normalise(float2 *vector, uint coils) {
  float square = 0.0f;
  for (uint c = 0u; c < coils; c++) square += vector[c].x * vector[c].x + vector[c].y * vector[c].y;
  float length = sqrt(square), scale = length > 0.0f ? 1.0f / length : 0.0f;
  for (uint c = 0u; c < coils; c++) vector[c] *= scale;
  return length;
}

/* The factor that takes the phase from the product with the reference. */
INLINE float2 phase_of(const float2 *vector, __global const float2 *reference, uint coils) {
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint c = 0u; c < coils; c++) sum += conj_times(vector[c], reference[c]);
  float size = sqrt(sum.x * sum.x + sum.y * sum.y);
  return size > 0.0f ? sum / size : (float2)(1.0f, 0.0f);
}

/* `sets` orthogonal vectors after 30 steps from the first unit vectors, each step normalised from the last vector back: the
 * last is the first map, as in BART. Maps are [slice][set][most][height][width], of slices from `first` on; the map of
 * an eigenvalue below `crop` is 0. A row is a pixel of pixels from `start` on, slice after slice. */
__kernel void espirit_solve(__global const float2 *restrict lines, __global const float2 *restrict reference,
                            __global float2 *restrict matrix, __global float2 *restrict maps, uint coils,
                            uint kernel_side, uint sets, uint most, uint first, uint height, uint width,
                            uint start, float crop, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint pixels = height * width, slice = (start + row) / pixels, pixel = (start + row) % pixels;
  uint entries = coils * (coils + 1u) / 2u, count = 2u * kernel_side - 1u;
  float2 vector[SETS_MOST][COILS_MOST], product[COILS_MOST];
  float value[SETS_MOST];
  make_matrix(lines + ((size_t)slice * entries * height + pixel / width) * count, matrix + row, entries, kernel_side,
              height, width, pixel % width, rows);
  for (uint s = 0u; s < sets; s++)
    for (uint c = 0u; c < coils; c++) vector[s][c] = (float2)(c == s ? 1.0f : 0.0f, 0.0f);
  for (uint step = 0u; step < STEPS; step++) {
    for (uint s = 0u; s < sets; s++) {
      apply_matrix(matrix + row, coils, rows, vector[s], product);
      for (uint c = 0u; c < coils; c++) vector[s][c] = product[c];
    }
    for (uint s = sets; s-- > 0u;) {
      for (uint t = s + 1u; t < sets; t++) part_from(vector[s], vector[t], coils);
      value[s] = normalise(vector[s], coils);
    }
  }
  for (uint s = 0u; s < sets; s++) {
    float2 turn = phase_of(vector[s], reference + (size_t)slice * coils, coils);
    if (value[s] < crop) turn = (float2)(0.0f, 0.0f);
    size_t place = ((size_t)(first + slice) * sets + sets - 1u - s) * most;
    for (uint c = 0u; c < coils; c++) maps[(place + c) * pixels + pixel] = times(vector[s][c], turn);
  }
}

/* ---- pixels of few coils ---------------------------------------------------------------------------------- */

#define GROUP 64
#define FEW 16 /* coils: the items of a pixel, a coil each */
#define TOGETHER (GROUP / FEW)

/* An entry of a pixel's matrix, whatever the order of the two coils. */
INLINE float2 entry_of(__global const float2 *lines, uint a, uint b, uint coils, uint height, uint count,
                       const float2 *turn) {
  uint low = min(a, b), entry = low * coils - low * (low + 1u) / 2u + max(a, b);
  __global const float2 *line = lines + (size_t)entry * height * count;
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint l = 0u; l < count; l++) sum += times(line[l], turn[l]);
  return a > b ? (float2)(sum.x, -sum.y) : sum;
}

/* The inner product of two vectors of a pixel, conj(one) other. */
INLINE float2 product_of(__local const float2 *one, __local const float2 *other) {
  float2 sum = (float2)(0.0f, 0.0f);
  for (uint c = 0u; c < FEW; c++) sum += conj_times(one[c], other[c]);
  return sum;
}

/* Does espirit_solve for FEW coils at most: an item has a row of its pixel's matrix in registers, and vectors pass through
 * local memory. A row is TOGETHER pixels, of `pixels` from `start` on. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
espirit_solve_few(__global const float2 *restrict lines, __global const float2 *restrict reference,
                  __global float2 *restrict maps, uint coils, uint kernel_side, uint sets, uint most,
                  uint first, uint height, uint width, uint pixels, float crop, uint rows) {
  __local float2 shared[SETS_MOST][GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), coil = item % FEW, start = item - coil;
  if (row >= rows) return;
  uint at = min(row * TOGETHER + item / FEW, pixels - 1u), area = height * width, slice = at / area, pixel = at % area;
  uint entries = coils * (coils + 1u) / 2u, count = 2u * kernel_side - 1u;
  float2 matrix[FEW], own[SETS_MOST];
  float value[SETS_MOST] = {0.0f, 0.0f};
  float2 turn[15];
  for (uint l = 0u; l < count; l++)
    turn[l] = turn_of(((int)l - (int)(kernel_side - 1u)) * ((int)(pixel % width) - (int)(width / 2u)), width) /
              (float)(kernel_side * kernel_side);
  lines += ((size_t)slice * entries * height + pixel / width) * count;
  for (uint b = 0u; b < FEW; b++)
    matrix[b] = coil < coils && b < coils ? entry_of(lines, coil, b, coils, height, count, turn) : (float2)(0.0f, 0.0f);
  for (uint s = 0u; s < SETS_MOST; s++) own[s] = (float2)(coil == s && s < sets ? 1.0f : 0.0f, 0.0f);
  for (uint step = 0u; step < STEPS; step++) {
    for (uint s = 0u; s < SETS_MOST; s++) shared[s][item] = own[s];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 0u; s < SETS_MOST; s++) {
      float2 sum = (float2)(0.0f, 0.0f);
      for (uint b = 0u; s < sets && b < FEW; b++) sum += times(matrix[b], shared[s][start + b]);
      own[s] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 0u; s < SETS_MOST; s++) shared[s][item] = own[s];
    barrier(CLK_LOCAL_MEM_FENCE);
    /* from the last set back; of two, the first without the part along the second */
    uint last = sets - 1u;
    float square = product_of(shared[last] + start, shared[last] + start).x;
    value[last] = sqrt(square);
    if (sets == 2u) {
      float2 along = product_of(shared[1] + start, shared[0] + start);
      if (square > 0.0f) own[0] -= times(along / square, own[1]);
      barrier(CLK_LOCAL_MEM_FENCE);
      shared[0][item] = own[0];
      barrier(CLK_LOCAL_MEM_FENCE);
      value[0] = sqrt(product_of(shared[0] + start, shared[0] + start).x);
    }
    for (uint s = 0u; s < SETS_MOST; s++) own[s] *= value[s] > 0.0f ? 1.0f / value[s] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint s = 0u; s < SETS_MOST; s++) shared[s][item] = own[s];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = 0u; s < sets; s++) {
    float2 sum = (float2)(0.0f, 0.0f);
    for (uint c = 0u; c < coils; c++) sum += conj_times(shared[s][start + c], reference[(size_t)slice * coils + c]);
    float size = sqrt(sum.x * sum.x + sum.y * sum.y);
    float2 phase = value[s] < crop ? (float2)(0.0f, 0.0f) : size > 0.0f ? sum / size : (float2)(1.0f, 0.0f);
    size_t place = ((size_t)(first + slice) * sets + sets - 1u - s) * most;
    if (coil < coils) maps[(place + coil) * area + pixel] = times(own[s], phase);
  }
}

/* Whether any coil has a map that is not 0, of slices from `first` on, which have room for `most` coils. A row is a slice. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
espirit_seen(__global const float2 *restrict maps, __global uint *restrict seen, uint first, uint most, uint coils,
             uint pixels, uint rows) {
  __local uint any;
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), found = 0u;
  if (row >= rows) return;
  if (item == 0u) any = 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const float2 *own = maps + (size_t)(first + row) * most * pixels;
  for (uint i = item; i < coils * pixels && !found; i += GROUP) found = own[i].x != 0.0f || own[i].y != 0.0f;
  if (found) atomic_or(&any, 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0u) seen[row] = any;
}
