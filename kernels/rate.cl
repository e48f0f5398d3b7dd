/* What the device multiplies and adds at most: halves by the matrix instructions that the fused networks use, else floats by
 * fused multiply-adds of vectors. Nothing but registers, and eight sums beside each other, so that none waits for itself.
 * tools/bench/rates.c counts the operations. */

#define TURNS 512
#define TIMES_8(act) act(0) act(1) act(2) act(3) act(4) act(5) act(6) act(7)

#if defined(L2SR_NVIDIA) || (defined(L2SR_CDNA) && !defined(L2SR_EMULATED))
#define OPEN_SUM(s) float sum##s[4] = {factor, factor, factor, s};
#ifdef L2SR_CDNA
#define ADD_PRODUCT(s) multiply_wave(sum##s, words, words);
#else
#define ADD_PRODUCT(s) MULTIPLY(sum##s, word, word, word, word, word, word);
#endif
#define CLOSE_SUM(s) all += sum##s[0] + sum##s[1] + sum##s[2] + sum##s[3];
#elif defined(L2SR_AMD) && !defined(L2SR_EMULATED)
#define OPEN_SUM(s) float sum##s[8] = {factor, factor, factor, factor, factor, factor, factor, s};
#define ADD_PRODUCT(s) multiply_16(sum##s, words, words);
#define CLOSE_SUM(s) all += sum##s[0] + sum##s[1] + sum##s[2] + sum##s[3] + sum##s[4] + sum##s[5] + sum##s[6] + sum##s[7];
#else
#define OPEN_SUM(s) float16 sum##s = (float16)(factor + s);
#define ADD_PRODUCT(s) sum##s = fma(sum##s, (float16)factor, (float16)factor);
#define CLOSE_SUM(s) all += dot(sum##s.s0123 + sum##s.s4567, sum##s.s89ab + sum##s.scdef);
#endif

__kernel void rate_products(__global float *restrict total, float factor, uint rows) {
  uint row = (uint)get_global_id(0);
  uint word = as_uint(factor), words[8] = {word, word, word, word, word, word, word, word};
  float all = (float)words[0];
  TIMES_8(OPEN_SUM)
  for (uint turn = 0u; turn < TURNS; turn++) { TIMES_8(ADD_PRODUCT) }
  TIMES_8(CLOSE_SUM)
  if (row < rows) total[row] = all;
}
