/* Put between common.h and a kernel file for the matrix instruction of AMD's data-centre cards (CDNA: gfx90a, gfx942). Their
 * waves have 64 lanes, which are two warps of 32: what is written for AMD's other cards (L2SR_AMD) is theirs too, but for the
 * instruction, which a wave does for one of its warps after the other, and for shuffles. Compiled for both (tests/cli/cdna.sh)
 * and tested by emulation, but never run on a card. */
#ifdef L2SR_CDNA
#define shuffle(value, lane_mask) wave_shuffle(value, lane_mask)

#ifdef L2SR_EMULATED
INLINE float wave_shuffle(float value, uint lane_mask LANES) {
  const uint item = (uint)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  lanes[item * LANE_FLOATS] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  return lanes[(item ^ lane_mask) * LANE_FLOATS];
}

INLINE void give_four(__local float *to, const uint *words) {
  for (uint w = 0u; w < 2u; w++) to[2u * w] = even_of(words[w]), to[2u * w + 1u] = odd_of(words[w]);
}

INLINE void multiply_wave(float *d, const uint *a, const uint *b LANES) {
  const uint item = (uint)get_local_id(0), column = item & 15u, part = item >> 4 & 3u;
  __local float *wave = lanes + (item & ~63u) * LANE_FLOATS, *mine = lanes + item * LANE_FLOATS;
  barrier(CLK_LOCAL_MEM_FENCE);
  give_four(mine, a);
  give_four(mine + 4, b);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0u; i < 4u; i++)
    for (uint k = 0u; k < 16u; k++)
      d[i] += wave[(k / 4u * 16u + 4u * part + i) * LANE_FLOATS + k % 4u] *
              wave[(k / 4u * 16u + column) * LANE_FLOATS + 4u + k % 4u];
}

#else
INLINE float wave_shuffle(float value, int lane_mask) {
  int lane = ((int)get_local_id(0) & 63) ^ lane_mask;
  return as_float(__builtin_amdgcn_ds_bpermute(4 * lane, as_int(value)));
}

/* d += A B, halves in, floats out, all of 16x16. Lane l of 64 brings of row l % 16 of A and of column l % 16 of B the two
 * words of halves from k = 4 (l / 16) on; its d[i] is row 4 (l / 16) + i, column l % 16. */
INLINE void multiply_wave(float *d, const uint *a, const uint *b) {
  half4 row = as_half4(vload2(0, a)), column = as_half4(vload2(0, b));
  vstore4(__builtin_amdgcn_mfma_f32_16x16x16f16(row, column, vload4(0, d), 0, 0, 0), 0, d);
}
#endif
#endif
