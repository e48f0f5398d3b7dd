/* Weights of all layers of a fused U-Net as fragments of matrix instructions (kernels/unet.cl), in one launch: of each
 * chunk, pair of steps and slice of outputs a lane's four words, two of a step, which are pairs of channels of the two
 * slices of that step.
 *
 * `table` has sixteen words a layer: its first word, words, kind, slices at a time, pairs of steps of a chunk, slices of
 * outputs, where its parameter starts after `values_at`, channels of the first input, slices of that, channels of the second, channels
 * of the convolution's output, slices of that. Kinds: 0 convolution, [out][in][9]; 1 its data gradient, where inputs and outputs
 * are exchanged and taps turned around; 2 transposed convolution, [in][out][4], four outputs side by side; 3 its data
 * gradient, four inputs one after the other. */
#ifdef L2SR_MATRIX

#define FIELDS 16

/* The channel that the padded channel `place` of joined inputs is; -1: none. */
INLINE int input_of(__global const uint *facts, uint place) {
  uint own = facts[7], slices = facts[8], second = facts[9];
  if (place < 8u * slices) return place < own ? (int)place : -1;
  place -= 8u * slices;
  return place < second ? (int)(own + place) : -1;
}

/* The weight from channel k of what comes to channel n of what leaves, at a tap, both padded. */
INLINE float weight_of(__global const float *values, __global const uint *facts, uint k, uint n, uint tap) {
  uint kind = facts[2], inputs = facts[7] + facts[9], outputs = facts[10], padded = 8u * facts[11];
  bool turned = kind & 1u;
  uint sub = kind == 2u ? n / padded : k / padded;
  if (kind == 2u) n %= padded;
  if (kind == 3u) k %= padded;
  int in = input_of(facts, turned ? n : k);
  uint out = turned ? k : n;
  if (in < 0 || out >= outputs) return 0.0f;
  if (kind >= 2u) return values[((uint)in * outputs + out) * 4u + sub];
  return values[(out * inputs + (uint)in) * 9u + (turned ? 8u - tap : tap)];
}

/* The layer whose words word `at` is one of. */
INLINE uint layer_of(__global const uint *table, uint layers, uint at) {
  uint from = 0u, to = layers;
  while (to - from > 1u) {
    uint middle = (from + to) / 2u;
    if (table[middle * FIELDS] <= at)
      from = middle;
    else
      to = middle;
  }
  return from;
}

/* A row is the two words of a lane and a step. */
__kernel void unet_pack(__global const float *restrict values, __global const uint *restrict table,
                        __global uint *restrict weights, uint layers, uint values_at, uint weights_at,
                        uint rows) {
  uint at = (uint)get_global_id(0), words[2];
  if (at >= rows) return;
  __global const uint *facts = table + layer_of(table, layers, 2u * at) * FIELDS;
  uint own = at - facts[0] / 2u, slices = facts[3], pairs = facts[4], tiles = facts[5], taps = facts[2] < 2u ? 9u : 1u;
  if (2u * own >= facts[1]) return; /* padding between layers */
  uint lane = own / 2u & 31u, tile = own / 64u % tiles, place = own / 64u / tiles, chunk = place / pairs;
  uint step = 2u * (place % pairs) + own % 2u;
  uint n = tile * 8u + (lane >> 2);
  __global const float *from = values + values_at + facts[6];
  for (uint high = 0u; high < 2u; high++) {
    uint flat = 2u * step + high, k = (chunk * slices + flat % slices) * 8u + 2u * (lane & 3u);
    bool is_slice = flat < taps * slices;
    float even = is_slice ? weight_of(from, facts, k, n, flat / slices) : 0.0f;
    float odd = is_slice ? weight_of(from, facts, k + 1u, n, flat / slices) : 0.0f;
    words[high] = pack(even, odd);
  }
  *(__global uint2 *)&weights[weights_at + 2u * at] = (uint2)(words[0], words[1]);
}
#endif
