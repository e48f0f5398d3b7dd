/* What an evaluator of reconstructions sees, and learns (systems/evaluator; PROTOCOL 4.3): the image of every column of k-space
 * alone; convolutions of 4x4 with stride 2 as gathered patches; means of planes; how far columns are from the truth. */

#define GROUP 256
#define WIDEST 1024
#define SIDE 4u

INLINE void evaluator_turns(__local float2 *turn, uint width) {
  for (uint i = (uint)get_local_id(0); i < width; i += GROUP) {
    float angle = 2.0f * (float)i / (float)width;
    turn[i] = (float2)(cospi(angle), sinpi(angle));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Turns of column `column` from a pixel to the next: frequency 0 is in the middle. */
INLINE uint evaluator_pace(uint column, uint width) { return (column + width - width / 2u) % width; }

/* A line times the cosine, and the sine, of a column. */
INLINE float2 evaluator_waves(const __local float *line, const __local float2 *turn, uint column, uint width) {
  uint pace = evaluator_pace(column, width), at = 0u;
  float2 sum = (float2)0.0f;
  for (uint x = 0u; x < width; x++) {
    sum += line[x] * turn[at];
    at += pace;
    if (at >= width) at -= width;
  }
  return sum;
}

/* Two planes for every column: the real and imaginary part of the image of which k-space has that column alone. A row is a
 * line of an image. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
spectral_forward(__global const float *restrict input, __global float *restrict output, uint height, uint width,
                 uint rows) {
  __local float2 turn[WIDEST], wave[WIDEST];
  __local float line[WIDEST];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  for (uint x = item; x < width; x += GROUP) line[x] = input[(size_t)row * width + x];
  evaluator_turns(turn, width);
  for (uint c = item; c < width; c += GROUP) wave[c] = evaluator_waves(line, turn, c, width) / (float)width;
  barrier(CLK_LOCAL_MEM_FENCE);
  size_t image = row / height, y = row % height, plane = (size_t)height * width;
  for (uint i = item; i < width * width; i += GROUP) {
    uint c = i / width, x = i % width;
    float2 at = turn[evaluator_pace(c, width) * x % width], own = wave[c];
    __global float *to = output + (image * 2u * width + 2u * c) * plane + y * width + x;
    to[0] = own.x * at.x + own.y * at.y;
    to[plane] = own.x * at.y - own.y * at.x;
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
spectral_backward(__global const float *restrict output_gradient, __global float *restrict input_gradient, uint height,
                  uint width, uint add, uint rows) {
  __local float2 turn[WIDEST], wave[WIDEST];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  size_t image = row / height, y = row % height, plane = (size_t)height * width;
  evaluator_turns(turn, width);
  for (uint c = item; c < width; c += GROUP) {
    __global const float *from = output_gradient + (image * 2u * width + 2u * c) * plane + y * width;
    uint pace = evaluator_pace(c, width);
    float2 sum = (float2)0.0f;
    for (uint x = 0u; x < width; x++) {
      float2 at = turn[pace * x % width];
      sum += (float2)(from[x] * at.x + from[plane + x] * at.y, from[x] * at.y - from[plane + x] * at.x);
    }
    wave[c] = sum / (float)width;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __global float *to = input_gradient + (size_t)row * width;
  /* all items take as many turns: PoCL 3.1 writes beyond the line where some take none */
  for (uint first = 0u; first < width; first += GROUP) {
    uint x = first + item;
    float sum = 0.0f;
    for (uint c = 0u; c < width; c++) sum += dot(wave[c], turn[evaluator_pace(c, width) * x % width]);
    if (x < width) to[x] = add ? to[x] + sum : sum;
  }
}

/* The 4x4 pixels around every second one, a line and a column of zeros around the plane: planes 16 p to 16 p + 15 of plane p,
 * in reading order. A row is such a place. */
__kernel void patches_forward(__global const float *restrict input, __global float *restrict output, uint height,
                              uint width, uint rows) {
  uint row = (uint)get_global_id(0), wide = width / 2u, high = height / 2u;
  if (row >= rows) return;
  uint x = row % wide, y = row / wide % high, plane = row / wide / high;
  __global const float *from = input + (size_t)plane * height * width;
  __global float *to = output + (size_t)plane * SIDE * SIDE * high * wide + y * wide + x;
  for (uint k = 0u; k < SIDE * SIDE; k++) {
    int v = (int)(2u * y + k / SIDE) - 1, u = (int)(2u * x + k % SIDE) - 1;
    bool inside = v >= 0 && u >= 0 && v < (int)height && u < (int)width;
    to[(size_t)k * high * wide] = inside ? from[(size_t)v * width + (uint)u] : 0.0f;
  }
}

/* A row is a pixel, of which at most four patches have a copy. */
__kernel void patches_backward(__global const float *restrict output_gradient, __global float *restrict input_gradient,
                               uint height, uint width, uint add, uint rows) {
  uint row = (uint)get_global_id(0), wide = width / 2u, high = height / 2u;
  if (row >= rows) return;
  uint x = row % width, y = row / width % height, plane = row / width / height;
  __global const float *from = output_gradient + (size_t)plane * SIDE * SIDE * high * wide;
  float sum = 0.0f;
  for (uint k = (y + 1u) % 2u; k < SIDE && k <= y + 1u; k += 2u)
    for (uint j = (x + 1u) % 2u; j < SIDE && j <= x + 1u; j += 2u) {
      uint v = (y + 1u - k) / 2u, u = (x + 1u - j) / 2u;
      if (v < high && u < wide) sum += from[((size_t)(k * SIDE + j) * high + v) * wide + u];
    }
  input_gradient[row] = add ? input_gradient[row] + sum : sum;
}

/* A row is a plane. */
__kernel void plane_mean_forward(__global const float *restrict input, __global float *restrict output, uint pixels,
                                 uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float sum = 0.0f;
  for (uint i = 0u; i < pixels; i++) sum += input[(size_t)row * pixels + i];
  output[row] = sum / (float)pixels;
}

/* A row is a pixel. */
__kernel void plane_mean_backward(__global const float *restrict output_gradient, __global float *restrict input_gradient,
                                  uint pixels, uint add, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float own = output_gradient[row / pixels] / (float)pixels;
  input_gradient[row] = add ? input_gradient[row] + own : own;
}

/* The truth in normalised units, and of every column exp(-gamma e), where e is half the mean over lines of the squared
 * error of its k-space; 1 where it is acquired. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
evaluator_target(__global const uint *restrict slice, __global const float *restrict output,
                 __global const float *restrict image, __global const float *restrict mean,
                 __global const float *restrict std, __global const uchar *restrict taken, __global float *restrict truth,
                 __global float *restrict target, uint height, uint width, float gamma, uint rows) {
  __local float2 turn[WIDEST];
  __local float line[WIDEST], energy[WIDEST];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint at = slice[row];
  float average = mean[at], factor = 1.0f / (std[at] + 1e-11f);
  size_t plane = (size_t)height * width, own = row * plane, other = at * plane;
  for (uint c = item; c < width; c += GROUP) energy[c] = 0.0f;
  evaluator_turns(turn, width);
  for (uint y = 0u; y < height; y++) {
    for (uint x = item; x < width; x += GROUP) {
      float value = (image[other + y * width + x] - average) * factor;
      truth[own + y * width + x] = value;
      line[x] = output[own + y * width + x] - value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = item; c < width; c += GROUP) {
      float2 wave = evaluator_waves(line, turn, c, width);
      energy[c] += dot(wave, wave);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint c = item; c < width; c += GROUP)
    target[(size_t)row * width + c] =
        taken[(size_t)row * width + c] ? 1.0f : exp(-gamma * energy[c] / (2.0f * (float)height * (float)width));
}

/* Scores, of which the network gives the negatives, less their target, or less 1 of the truth: the mean square is added to
 * `loss` from `first` on, or takes its place; the gradient of `share` times it, less `undo` times that of the distance from 1. */
__kernel void evaluator_loss(__global const float *restrict logits, __global const float *restrict target,
                             __global float *restrict gradient, __global float *restrict loss, uint width, uint truth,
                             uint first, float share, float undo, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  size_t start = (size_t)row * width;
  float sum = 0.0f, scale = 2.0f / (float)width;
  for (uint c = 0u; c < width; c++) {
    float score = -logits[start + c], gap = score - (truth ? 1.0f : target[start + c]);
    sum += gap * gap;
    gradient[start + c] = -scale * (share * gap - undo * (score - 1.0f));
  }
  loss[first + row] = sum / (float)width + (truth ? loss[first + row] : 0.0f);
}
