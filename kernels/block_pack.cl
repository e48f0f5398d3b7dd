/* Weights of all layers of a fused network as fragments of matrix instructions (kernels/block.cl), in one launch.
 *
 * `table` has eight words a packed layer: its first word (counted in words of one part), words, input channels,
 * output channels, where its parameter starts in `values`, and the kind: 0 an image, plain floats, a channel after the other; 1 forward;
 * 2 backward, where input and output channels are exchanged and the taps turned around; then how many of the
 * input and of the output channels the parameter has: weights of the others are 0. PRECISION 0 has two parts. */
#ifdef L2SR_MATRIX

#ifndef PRECISION
#define PRECISION 1
#endif

#define FIELDS 8
#define PARTS (PRECISION == 0 ? 2 : 1)
#define WEIGHT_SCALE 64.0f /* the same as in block.cl */

/* The weight that stands at tap `tap` of input `in` for output `out`; a forward parameter is [out][in][9]. inputs,
 * outputs: those of the parameter. */
INLINE float weight_of(__global const float *values, uint kind, uint inputs, uint outputs, uint out, uint in, uint tap) {
  if (in >= inputs || out >= outputs) return 0.0f;
  if (kind == 2u) return values[(in * outputs + out) * 9u + 8u - tap];
  return values[(out * inputs + in) * 9u + tap];
}

__kernel void block_pack(__global const float *restrict values, __global const uint *restrict table,
                         __global uint *restrict weights, uint layers, uint rows) {
  uint at = (uint)get_global_id(0), layer = 0u;
  if (at >= rows) return;
  while (layer + 1u < layers && table[(layer + 1u) * FIELDS] <= at) layer++;
  __global const uint *facts = table + layer * FIELDS;
  uint word = at - facts[0], outputs = facts[3], kind = facts[5];
  __global const float *from = values + facts[4];
  __global uint *to = weights + PARTS * facts[0] + word;
  if (word >= facts[1]) return; /* padding between layers */
  if (kind == 0u) {
    uint place = word & 3u, t = word / 4u & 3u, tap = word / 16u % 9u, sixteen = word / 144u;
    uint in = sixteen / (outputs / 16u);
    uint out = sixteen % (outputs / 16u) * 16u + (place >> 1) * 8u + 2u * t + (place & 1u);
    *to = as_uint(weight_of(from, kind, facts[6], facts[7], out, in, tap));
    return;
  }
  uint h = word & 1u, k = word >> 1 & 1u, lane = word / 4u & 31u, tap = word / 128u % 9u;
  uint sixteen = word / 1152u % (outputs / 16u), chunk = word / 1152u / (outputs / 16u);
  uint out = sixteen * 16u + k * 8u + (lane >> 2), in = chunk * 16u + 2u * ((lane & 3u) + 4u * h);
  float scale = PRECISION == 0 ? WEIGHT_SCALE : 1.0f;
  float even = weight_of(from, kind, facts[6], facts[7], out, in, tap) * scale;
  float odd = weight_of(from, kind, facts[6], facts[7], out, in + 1u, tap) * scale;
  uint high = pack(even, odd);
  *to = high;
  if (PRECISION == 0) to[facts[1]] = pack(even - even_of(high), odd - odd_of(high));
}
#endif
