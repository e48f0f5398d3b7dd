/* Put before every kernel file: element types, random numbers, work-group sums. HEIGHT and WIDTH are given
 * by the program; so is REAL_HALF when observations are stored as half. */
#ifndef WIDTH /* so that a file can be read and linted alone */
#define HEIGHT 128
#define WIDTH 128
#endif
#define PIXELS (HEIGHT * WIDTH)
#ifndef ACTIONS /* actions of a scan, bytes of its mask: lines or spokes, or the points of k-space (PIXELS) */
#define ACTIONS WIDTH
#endif

#ifdef DECLARES_BUILTINS /* in place of the driver's own header, which has 18,000 (engine/device/kernel.c); tests/cli/lint.sh compares both */
#define OVER __attribute__((overloadable))
#define FIXED OVER __attribute__((const))
#define LOADS OVER __attribute__((pure))
size_t FIXED get_global_id(uint);
size_t FIXED get_global_size(uint);
size_t FIXED get_group_id(uint);
size_t FIXED get_local_id(uint);
size_t FIXED get_local_size(uint);
size_t FIXED get_num_groups(uint);
void OVER __attribute__((convergent)) barrier(cl_mem_fence_flags);
void OVER mem_fence(cl_mem_fence_flags);
#define OF_NUMBERS(T) T FIXED min(T, T); T FIXED max(T, T); T FIXED clamp(T, T, T);
#define OF_INTEGERS(T) OF_NUMBERS(T) T FIXED mul_hi(T, T);
#define OF_FLOATS(T, I, U)                                                                                   \
  OF_NUMBERS(T)                                                                                              \
  T FIXED cos(T); T FIXED cospi(T); T FIXED exp(T); T FIXED fabs(T); T FIXED log(T); T FIXED log10(T); T FIXED log1p(T); \
  T FIXED rint(T); T FIXED sign(T); T FIXED sin(T); T FIXED sinpi(T); T FIXED sqrt(T);                       \
  T FIXED fmax(T, T); T FIXED fmin(T, T); T FIXED hypot(T, T); T FIXED pow(T, T); T FIXED fma(T, T, T);      \
  T FIXED ldexp(T, I); I FIXED ilogb(T);                                                                     \
  T FIXED select(T, T, I); T FIXED select(T, T, U);
#define OF_WIDTHS(N)                                                                                         \
  OF_FLOATS(float##N, int##N, uint##N) OF_INTEGERS(int##N) OF_INTEGERS(uint##N)                              \
  uint##N FIXED abs(int##N); int##N FIXED select(int##N, int##N, int##N); uint##N FIXED select(uint##N, uint##N, uint##N);
OF_WIDTHS()
OF_WIDTHS(2)
OF_WIDTHS(4)
OF_WIDTHS(8)
OF_WIDTHS(16)
OF_INTEGERS(long)
OF_INTEGERS(ulong)
#define OF_VECTORS(N)                                                                                        \
  float##N FIXED fmax(float##N, float); float##N FIXED fmin(float##N, float); float##N FIXED clamp(float##N, float, float);
OF_VECTORS(2)
OF_VECTORS(4)
OF_VECTORS(8)
OF_VECTORS(16)
#define IN_MEMORY(T, N, SPACE)                                                                               \
  T##N LOADS vload##N(size_t, const SPACE T *); void OVER vstore##N(T##N, size_t, SPACE T *);
#define IN_SPACE(SPACE)                                                                                      \
  IN_MEMORY(float, 2, SPACE) IN_MEMORY(float, 4, SPACE) IN_MEMORY(float, 8, SPACE) IN_MEMORY(float, 16, SPACE) \
  float LOADS vload_half(size_t, const SPACE half *); void OVER vstore_half(float, size_t, SPACE half *);    \
  void OVER vstore_half_rte(float, size_t, SPACE half *);
IN_SPACE(__global)
IN_SPACE(__local)
IN_SPACE(__private)
float FIXED dot(float2, float2);
float FIXED dot(float4, float4);
long FIXED convert_long_rte(float);
#define ATOMIC(T, SPACE)                                                                                     \
  T OVER atomic_inc(volatile SPACE T *); T OVER atomic_max(volatile SPACE T *, T);                           \
  T OVER atomic_min(volatile SPACE T *, T); T OVER atomic_or(volatile SPACE T *, T);
ATOMIC(uint, __global)
ATOMIC(uint, __local)
ATOMIC(int, __global)
ATOMIC(int, __local)
long OVER atom_add(volatile __global long *, long);
#undef OVER
#undef FIXED
#undef LOADS
#undef OF_NUMBERS
#undef OF_INTEGERS
#undef OF_FLOATS
#undef OF_WIDTHS
#undef OF_VECTORS
#undef IN_MEMORY
#undef IN_SPACE
#undef ATOMIC
#endif

#define INLINE static inline __attribute__((always_inline))

#ifdef REAL_HALF
typedef half real;
#define REAL_LOAD(from, i) vload_half((i), (from))
#define REAL_STORE(to, i, value) vstore_half((value), (i), (to))
#else
typedef float real;
#define REAL_LOAD(from, i) ((from)[i])
#define REAL_STORE(to, i, value) ((to)[i] = (value))
#endif

/* Random streams of engine/base/random.h. */
#define STREAM_MASK 2u
#define STREAM_ACTION 3u
#define STREAM_EXACT 6u
#define STREAM_MOVE 7u
#define STREAM_REPLAY 14u

/* Philox 4x32-10: the words of (seed, stream, scan, step); the same function as in engine/base/random.c. */
INLINE uint4 random_words(uint seed, uint stream, uint scan, uint step) {
  uint4 c = (uint4)(scan, step, 0u, 0u);
  uint key0 = seed, key1 = stream;
  for (int round = 0; round < 10; round++) {
    uint high0 = mul_hi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    uint high1 = mul_hi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = (uint4)(high1 ^ c.y ^ key0, low1, high0 ^ c.w ^ key1, low0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

/* Before a loop over memory: what four turns load is on its way together. */
#define FOUR_TURNS _Pragma("unroll 4")
#define SIXTEEN_TURNS _Pragma("unroll 16")

/* Whether a GPU takes eight values as two vectors. */
#if defined(__x86_64__) || defined(__aarch64__)
#define IN_FOURS(from) false
#else
#define IN_FOURS(from) (((size_t)(from)&15u) == 0u)
#endif

/* Eight values from `start` on; zeros from `count` on. */
INLINE float8 load_eight(__global const float *from, uint start, uint count) {
  if (start + 8u <= count && IN_FOURS(from + start)) {
    __global const float4 *fours = (__global const float4 *)(from + start);
    return (float8)(fours[0], fours[1]);
  }
  if (start + 8u <= count) return vload8(0, from + start);
  return (float8)(start < count ? from[start] : 0.0f, start + 1u < count ? from[start + 1u] : 0.0f,
                  start + 2u < count ? from[start + 2u] : 0.0f, start + 3u < count ? from[start + 3u] : 0.0f,
                  start + 4u < count ? from[start + 4u] : 0.0f, start + 5u < count ? from[start + 5u] : 0.0f,
                  start + 6u < count ? from[start + 6u] : 0.0f, 0.0f);
}

/* The sum of a strip of eight, in a fixed order. */
INLINE float strip_sum(float8 v) {
  float4 half_sum = v.lo + v.hi;
  float2 quarter = half_sum.lo + half_sum.hi;
  return quarter.x + quarter.y;
}

INLINE void store_eight(__global float *to, uint start, uint count, float8 value) {
  if (start + 8u <= count && IN_FOURS(to + start)) {
    __global float4 *fours = (__global float4 *)(to + start);
    fours[0] = value.lo;
    fours[1] = value.hi;
    return;
  }
  if (start + 8u <= count) {
    vstore8(value, 0, to + start);
    return;
  }
  float part[8];
  vstore8(value, 0, part);
  for (uint k = 0u; start + k < count; k++) to[start + k] = part[k];
}

/* Stores eight values, or adds them to those there. */
INLINE void add_eight(__global float *to, uint start, uint count, float8 value, uint add) {
  if (add) value += load_eight(to, start, count);
  store_eight(to, start, count, value);
}

/* Sums `value` over the work-group; every work-item gets the sum. The order is fixed: the same bytes on
 * every run. `scratch` holds one float a work-item, whose number must be a power of two. */
INLINE float group_sum(float value, __local float *scratch) {
  uint item = (uint)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = (uint)get_local_size(0) / 2u; half_size > 0u; half_size /= 2u) {
    if (item < half_size) scratch[item] += scratch[item + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

INLINE float group_max(float value, __local float *scratch) {
  uint item = (uint)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = (uint)get_local_size(0) / 2u; half_size > 0u; half_size /= 2u) {
    if (item < half_size) scratch[item] = fmax(scratch[item], scratch[item + half_size]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

/* Count, mean and sum of squared deviations of a set of values; sets are joined by Chan's formula, which
 * does not cancel as a plain sum of squares would. */
typedef struct {
  float count, mean, square;
} moments;

INLINE moments moments_join(moments a, moments b) {
  float count = a.count + b.count;
  if (count == 0.0f) return a;
  float share = b.count / count, gap = b.mean - a.mean;
  moments joined = {count, a.mean + gap * share, a.square + b.square + gap * gap * a.count * share};
  return joined;
}

/* Joins over the work-group in a fixed order; work-item 0 gets the whole. */
INLINE moments group_moments(moments mine, __local moments *scratch) {
  uint item = (uint)get_local_id(0);
  scratch[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = (uint)get_local_size(0) / 2u; half_size > 0u; half_size /= 2u) {
    if (item < half_size) scratch[item] = moments_join(scratch[item], scratch[item + half_size]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

/* A pixel of the reference image normalised and clamped; with TARGET_PLAIN, where mean and deviation are 0 and 1, as
 * it is (PROTOCOL 3.1). */
INLINE float target_normal(float pixel, float mean, float deviation) {
#ifdef TARGET_PLAIN
  return pixel;
#else
  return clamp((pixel - mean) / (deviation + 1e-11f), -6.0f, 6.0f);
#endif
}

/* A pixel of an observation, standardised and clamped, by the scale of its image. */
INLINE float observed_scale(float deviation, float unit) {
  return 1.0f / (deviation + 1e-11f / unit);
}
INLINE float observed_normal(float pixel, float mean, float scale) {
  return clamp((pixel - mean) * scale, -6.0f, 6.0f);
}

/* The target of all metrics: that un-normalised again (PROTOCOL 1.2). */
INLINE float target_pixel(float pixel, float mean, float deviation) {
  return target_normal(pixel, mean, deviation) * deviation + mean;
}

/* Forms of a scan's reward (PROTOCOL 1.9, 1.12). */
enum reward_form { REWARD_SPARSE, REWARD_DENSE, REWARD_COMPAT };

/* SSIM's window: exp(-d^2 / (2 1.5^2)) / sum, d = -5 to 5. */
#define GAUSSIAN_RADIUS 5
__constant float gaussian[2 * GAUSSIAN_RADIUS + 1] = {0.001028380f, 0.007598758f, 0.036000772f, 0.109360690f,
                                                      0.213005538f, 0.266011725f, 0.213005538f, 0.109360690f,
                                                      0.036000772f, 0.007598758f, 0.001028380f};

#define MOMENTS 5 /* sums of x, y, xx, yy, xy */

INLINE void add_products(float *m, float w, float x, float y) {
  m[0] += w * x;
  m[1] += w * y;
  m[2] += w * x * x;
  m[3] += w * y * y;
  m[4] += w * x * y;
}

INLINE float inverse_range(float range) { return range > 0.0f ? 1.0f / range : 1.0f; }

/* ---- draws of exactly so many entries (kernels/exact.cl, kernels/tree.cl) ------------------------------------ */

/* A draw of independent entries given how many of them are 1, `left`, from the chances that c of the entries from i on
 * are: chance[i][c]. Where these have underflowed, entries are taken as they come. Returns how many are left. */
INLINE uint choose(__local const float *p, __local const float *draw, __local const float *chance,
                   __local uchar *chosen, uint entries, uint width, uint left) {
  for (uint i = 0u; i < entries; i++) {
    float all = chance[i * width + left];
    float with = left ? p[i] * chance[(i + 1u) * width + left - 1u] : 0.0f;
    bool one = left && p[i] > 0.0f && (draw[i] * all < with || with >= all);
    chosen[i] = one;
    left -= one;
  }
  return left;
}

/* Uniform below the probability where the draw has the entry 1, else above; `place` is uniform below 1. */
INLINE float threshold_of(float taken, uchar chosen, float p, float place) {
  float below = place * p;
  return taken != 0.0f ? 1.0f : !chosen ? p + place * (1.0f - p) : below < p ? below : 0.0f;
}

/* ---- complex numbers; transforms of WIDTH = FFT_FIRST * FFT_SECOND values by two factors --------------------------- */

INLINE float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
INLINE float2 conj_times(float2 a, float2 b) { return (float2)(a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x); }

#if WIDTH == 32
#define FFT_FIRST 8
#define FFT_SECOND 4
#elif WIDTH == 64
#define FFT_FIRST 8
#define FFT_SECOND 8
#elif WIDTH == 128
#define FFT_FIRST 16
#define FFT_SECOND 8
#elif WIDTH == 256
#define FFT_FIRST 16
#define FFT_SECOND 16
#endif

INLINE float2 quarter_turn(float2 a) { return (float2)(-a.y, a.x); }

/* Inverse transforms (positive exponent) of 4, 8 and 16 values, in place and in order. */
INLINE void transform4(float2 *v) {
  float2 s = v[0] + v[2], d = v[0] - v[2], t = v[1] + v[3], u = quarter_turn(v[1] - v[3]);
  v[0] = s + t;
  v[1] = d + u;
  v[2] = s - t;
  v[3] = d - u;
}

INLINE void transform8(float2 *v) {
  const float c = 0.70710678118654752f;
  float2 a[4] = {v[0], v[2], v[4], v[6]}, b[4] = {v[1], v[3], v[5], v[7]};
  transform4(a);
  transform4(b);
  b[1] = c * (float2)(b[1].x - b[1].y, b[1].x + b[1].y);
  b[2] = quarter_turn(b[2]);
  b[3] = c * (float2)(-b[3].x - b[3].y, b[3].x - b[3].y);
  for (int k = 0; k < 4; k++) {
    v[k] = a[k] + b[k];
    v[k + 4] = a[k] - b[k];
  }
}

INLINE void transform16(float2 *v) {
  const float c1 = 0.92387953251128676f, s1 = 0.38268343236508977f, c2 = 0.70710678118654752f;
  float2 a[8] = {v[0], v[2], v[4], v[6], v[8], v[10], v[12], v[14]};
  float2 b[8] = {v[1], v[3], v[5], v[7], v[9], v[11], v[13], v[15]};
  transform8(a);
  transform8(b);
  b[1] = times(b[1], (float2)(c1, s1));
  b[2] = c2 * (float2)(b[2].x - b[2].y, b[2].x + b[2].y);
  b[3] = times(b[3], (float2)(s1, c1));
  b[4] = quarter_turn(b[4]);
  b[5] = times(b[5], (float2)(-s1, c1));
  b[6] = c2 * (float2)(-b[6].x - b[6].y, b[6].x - b[6].y);
  b[7] = times(b[7], (float2)(-c1, s1));
  for (int k = 0; k < 8; k++) {
    v[k] = a[k] + b[k];
    v[k + 8] = a[k] - b[k];
  }
}

#define TRANSFORM_(n, v) transform##n(v)
#define TRANSFORM(n, v) TRANSFORM_(n, v)

#ifdef L2SR_NVIDIA
#define L2SR_MATRIX
/* ---- NVIDIA's instructions: pairs of halves in a word, matrix products, shuffles -------------------------- */

#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
/* Lanes exchange words by themselves: no local memory is handed down for it. */
#define OPEN_LANES(group)
#define LANES
#define GIVE_LANES

INLINE uint pack(float even, float odd) {
  uint word;
  __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(odd), "f"(even));
  return word;
}

INLINE float even_of(uint word) {
  float value;
  __asm__("{.reg .f16 l,h;\n mov.b32 {l,h}, %1;\n cvt.f32.f16 %0, l;}" : "=f"(value) : "r"(word));
  return value;
}

INLINE float odd_of(uint word) {
  float value;
  __asm__("{.reg .f16 l,h;\n mov.b32 {l,h}, %1;\n cvt.f32.f16 %0, h;}" : "=f"(value) : "r"(word));
  return value;
}

INLINE uint fma_relu_pair(uint a, uint b, uint c) {
  uint word;
  __asm__("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(word) : "r"(a), "r"(b), "r"(c));
  return word;
}

INLINE uint fma_pair(uint a, uint b, uint c) {
  uint word;
  __asm__("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(word) : "r"(a), "r"(b), "r"(c));
  return word;
}

INLINE uint max_pair(uint a, uint b) {
  uint word;
  __asm__("max.f16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
  return word;
}

INLINE uint mul_pair(uint a, uint b) {
  uint word;
  __asm__("mul.rn.f16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
  return word;
}

/* Which halves of two words take_halves joins to one: the even ones or the odd. */
INLINE uint halves_of(uint odd) { return odd ? 0x7632u : 0x5410u; }

INLINE uint take_halves(uint first, uint second, uint which) {
  uint word;
  __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(first), "r"(second), "r"(which));
  return word;
}

INLINE float shuffle(float value, int lane_mask) {
  float other;
  __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(other) : "f"(value), "r"(lane_mask));
  return other;
}

#define MULTIPLY(d, a0, a1, a2, a3, b0, b1)                                                                  \
  __asm__("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "            \
      "{%0,%1,%2,%3};"                                                                                       \
      : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3])                                               \
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))

/* C += A B with A of 16x8 and B of 8x8 in TF32 (the low 13 bits of a float are not looked at). */
#define MULTIPLY_TF32(d, a0, a1, a2, a3, b0, b1)                                                             \
  __asm__("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "       \
          "{%0,%1,%2,%3};"                                                                                   \
          : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3])                                           \
          : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))

INLINE void red_add(__global long *place, long value) {
  __asm__ volatile("red.global.add.u64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
}

/* Rounds to TF32. */
INLINE uint round_tf32(float value) {
  uint word;
  __asm__("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
  return word;
}

/* Asynchronous copies from global to local memory. */
#define COPY16(to, from)                                                                                     \
  __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint)(size_t)(to)), "l"(from) : "memory")
#define COPY4(to, from)                                                                                      \
  __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((uint)(size_t)(to)), "l"(from) : "memory")
#define COPY_COMMIT() __asm__ volatile("cp.async.commit_group;" ::: "memory")
#define COPY_WAIT_BUT_(groups) __asm__ volatile("cp.async.wait_group " #groups ";" ::: "memory")
#define COPY_WAIT_BUT(groups) COPY_WAIT_BUT_(groups) /* a number for the assembler, no expression */
#define COPY_WAIT() COPY_WAIT_BUT(0)

#elif defined(L2SR_AMD) && !defined(L2SR_EMULATED)
#define L2SR_MATRIX
/* ---- AMD's builtins of gfx11 (RDNA 3), waves of 32 lanes --------------------------------------------------- */
/* Written from AMD's and LLVM's documentation and compiled for gfx1100, but never run on a card: what tests have
 * run are the same kernels with these few functions replaced by the emulated ones below. */

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#define OPEN_LANES(group)
#define LANES
#define GIVE_LANES

INLINE uint pack(float even, float odd) { return as_uint((half2)((half)even, (half)odd)); } /* to nearest */

INLINE float even_of(uint word) { return (float)as_half2(word).x; }

INLINE float odd_of(uint word) { return (float)as_half2(word).y; }

INLINE float shuffle(float value, int lane_mask) {
  int lane = ((int)get_local_id(0) & 31) ^ lane_mask;
  return as_float(__builtin_amdgcn_ds_bpermute(4 * lane, as_int(value)));
}

/* d += A B, halves in, floats out, all of 16x16. Lane l brings row l % 16 of A and column l % 16 of B, each as
 * eight words of two halves along k (lanes 16 to 31 the same as 0 to 15); its d[i] is row 2i + l / 16, column
 * l % 16. */
INLINE void multiply_16(float *d, const uint *a, const uint *b) {
  half16 rows = as_half16(vload8(0, a)), columns = as_half16(vload8(0, b));
  vstore8(__builtin_amdgcn_wmma_f32_16x16x16_f16_w32(rows, columns, vload8(0, d)), 0, d);
}

INLINE void red_add(__global long *place, long value) { atom_add((volatile __global long *)place, value); }

#elif defined(L2SR_EMULATED)
#define L2SR_MATRIX
/* ---- the same for any device, where tests run the fused path: lanes exchange words through local memory ------ */
/* NVIDIA's kernels, or AMD's where L2SR_AMD is defined too. */

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define UNROLL _Pragma("unroll 1")
#define NO_UNROLL _Pragma("unroll 1")
/* Lanes hand on floats: every word is unpacked once, where it is given, not by each lane that takes it. Products of
 * halves are exact in them, and of TF32. */
#ifdef L2SR_AMD
#define LANE_FLOATS 16
#else
#define LANE_FLOATS 12
#endif
#define OPEN_LANES(group) __local float lanes[(group)*LANE_FLOATS]
#define LANES , __local float *lanes
#define GIVE_LANES , lanes

INLINE uint pack(float even, float odd) {
  ushort halves[2];
  vstore_half_rte(even, 0, (half *)halves);
  vstore_half_rte(odd, 1, (half *)halves);
  return halves[0] | (uint)halves[1] << 16;
}

INLINE float even_of(uint word) {
  ushort bits = (ushort)word;
  return vload_half(0, (const half *)&bits);
}

INLINE float odd_of(uint word) { return even_of(word >> 16); }

INLINE uint fma_pair(uint a, uint b, uint c) {
  return pack(fma(even_of(a), even_of(b), even_of(c)), fma(odd_of(a), odd_of(b), odd_of(c)));
}

INLINE uint max_pair(uint a, uint b) {
  return pack(fmax(even_of(a), even_of(b)), fmax(odd_of(a), odd_of(b)));
}

INLINE uint mul_pair(uint a, uint b) { return pack(even_of(a) * even_of(b), odd_of(a) * odd_of(b)); }

INLINE uint fma_relu_pair(uint a, uint b, uint c) {
  return pack(fmax(fma(even_of(a), even_of(b), even_of(c)), 0.0f), fmax(fma(odd_of(a), odd_of(b), odd_of(c)), 0.0f));
}

/* Where the lane `lane` of this work-item's warp leaves its floats. */
INLINE __local float *lane_floats(__local float *lanes, uint lane) {
  return lanes + (((uint)get_local_id(0) & ~31u) + lane) * LANE_FLOATS;
}

INLINE float shuffle(float value, uint lane_mask LANES) {
  const uint lane = (uint)get_local_id(0) & 31u;
  barrier(CLK_LOCAL_MEM_FENCE);
  lane_floats(lanes, lane)[0] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  return lane_floats(lanes, lane ^ lane_mask)[0];
}

#ifdef L2SR_AMD
/* Does what the instruction does: every half of the wave takes its own copy of A, and a lane's column of B is
 * its own. */
INLINE void multiply_16(float *d, const uint *a, const uint *b LANES) {
  const uint lane = (uint)get_local_id(0) & 31u, half_wave = lane & 16u;
  __local float *mine = lane_floats(lanes, lane);
  float column[16];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint w = 0u; w < 8u; w++) {
    mine[2u * w] = even_of(a[w]), mine[2u * w + 1u] = odd_of(a[w]);
    column[2u * w] = even_of(b[w]), column[2u * w + 1u] = odd_of(b[w]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0u; i < 8u; i++) {
    __local const float *row = lane_floats(lanes, half_wave + 2u * i + lane / 16u);
    float sum = d[i];
    for (uint w = 0u; w < 16u; w += 2u) sum += row[w + 1u] * column[w + 1u], sum += row[w] * column[w];
    d[i] = sum;
  }
}
#else
/* Of each half of words of A the numbers of row g and of row g + 8, and those of a word of B. */
INLINE void give_halves(__local float *to_a, __local float *to_b, uint a, uint below, uint b) {
  to_a[0] = odd_of(a), to_a[1] = odd_of(below);
  to_a[2] = even_of(a), to_a[3] = even_of(below);
  to_b[0] = odd_of(b), to_b[1] = even_of(b);
}

INLINE float tf32_of(uint word) { return as_float(word & 0xffffe000u); }

INLINE void give_tf32(__local float *to_a, __local float *to_b, uint a, uint below, uint b) {
  to_a[0] = tf32_of(a), to_a[1] = tf32_of(below);
  to_b[0] = tf32_of(b);
}

/* d[j] is row g + 8 (j / 2), column 2t + j % 2 of the product. Word w of row r (and of column c of B) lies with lane
 * 4 (r % 8) + w % 4, and holds `numbers`. The four sums are one vector: the compiler improves nothing here. */
INLINE void multiply(float *d, uint numbers LANES) {
  const uint lane = (uint)get_local_id(0) & 31u;
  __local const float *a = lane_floats(lanes, lane & ~3u), *b = lane_floats(lanes, 8u * (lane & 3u)) + 8;
  float4 sum = vload4(0, d);
  for (uint w = 0u; w < 8u; w++) {
    for (uint k = 0u; k < numbers; k++)
      sum += vload2(k, a).xxyy * (float2)(b[k], b[4 * LANE_FLOATS + k]).xyxy;
    a += w == 3u ? 4 - 3 * LANE_FLOATS : LANE_FLOATS;
    b += w == 3u ? 2 - 3 * LANE_FLOATS : LANE_FLOATS;
  }
  vstore4(sum, 0, d);
}

#define MULTIPLY_BY(give, numbers, d, a0, a1, a2, a3, b0, b1)                                                \
  do {                                                                                                       \
    __local float *given = lane_floats(lanes, (uint)get_local_id(0) & 31u);                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                            \
    give(given, given + 8, a0, a1, b0);                                                                      \
    give(given + 4, given + 10, a2, a3, b1);                                                                 \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                            \
    multiply(d, numbers GIVE_LANES);                                                                         \
  } while (0)
#define MULTIPLY(d, a0, a1, a2, a3, b0, b1) MULTIPLY_BY(give_halves, 2u, d, a0, a1, a2, a3, b0, b1)
#define MULTIPLY_TF32(d, a0, a1, a2, a3, b0, b1) MULTIPLY_BY(give_tf32, 1u, d, a0, a1, a2, a3, b0, b1)
#endif

INLINE void red_add(__global long *place, long value) { atom_add((volatile __global long *)place, value); }

#ifndef L2SR_AMD
/* Rounds to TF32. */
INLINE uint round_tf32(float value) {
  uint word = as_uint(value);
  return (word + 0xfffu + ((word >> 13) & 1u)) & 0xffffe000u;
}

#define COPY16(to, from) (*(__local uint4 *)(to) = *(__global const uint4 *)(from))
#define COPY4(to, from) (*(to) = *(from))
#define COPY_COMMIT()
#define COPY_WAIT_BUT(groups)
#define COPY_WAIT()

INLINE uint halves_of(uint odd) { return odd; }

INLINE uint take_halves(uint first, uint second, uint which) {
  return which ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
}
#endif
#endif

#ifdef L2SR_MATRIX
/* AMD's compiler takes a group for at most 256 work-items unless the kernel says otherwise. */
#ifdef L2SR_AMD
#define GROUP_OF(size) __attribute__((reqd_work_group_size(size, 1, 1)))
#else
#define GROUP_OF(size)
#endif

/* ---- instance norms whose sums travel as 64-bit integers in units of 2^-20 (kernels/block.cl) -------------- */

#define SUM_UNIT 1048576.0f
#define EPSILON 1e-5f

INLINE void add_sum(__global long *sums, uint place, float value) {
  red_add(sums + place, convert_long_rte(value * SUM_UNIT));
}

/* Scale and shift of a channel from its sums over `pixels` pixels. */
INLINE float2 norm_of(__global const long *sums, float pixels) {
  float unit = 1.0f / (SUM_UNIT * pixels), mean = (float)sums[0] * unit;
  float variance = fmax((float)sums[1] * unit - mean * mean, 0.0f), scale = 1.0f / sqrt(variance + EPSILON);
  return (float2)(scale, -mean * scale);
}

INLINE float norm_relu(float value, float2 norm) { return fmax(fma(value, norm.x, norm.y), 0.0f); }

/* For backward: scale, shift, mean of the gradient before the norm and of its product with the normalised value.
 * `back` holds the two sums over the map. */
INLINE float4 back_norm_of(__global const long *sums, __global const long *back, float pixels) {
  float2 norm = norm_of(sums, pixels);
  float unit = 1.0f / (SUM_UNIT * pixels);
  return (float4)(norm.x, norm.y, (float)back[0] * unit, (float)back[1] * unit);
}

/* Through ReLU and instance norm: the gradient of a raw output from that of its activation. */
INLINE float back_norm(float gradient, float raw, float4 norm) {
#ifdef BEYOND /* what raw outputs hold beyond the map's own pixels */
  if (raw <= BEYOND) return 0.0f;
#endif
  float normal = fma(raw, norm.x, norm.y), passed = normal > 0.0f ? gradient : 0.0f;
  return norm.x * (passed - norm.z - normal * norm.w);
}
/* ---- slices of eight channels, and leaky ReLU (kernels/unet.cl) ------------------------------------------------------ */

#define LEAK 0.2f

INLINE float8 unpack_eight(uint4 words) {
  return (float8)(even_of(words.x), odd_of(words.x), even_of(words.y), odd_of(words.y), even_of(words.z), odd_of(words.z),
                  even_of(words.w), odd_of(words.w));
}

INLINE uint4 pack_eight(float8 v) {
  return (uint4)(pack(v.s0, v.s1), pack(v.s2, v.s3), pack(v.s4, v.s5), pack(v.s6, v.s7));
}

INLINE float8 leak(float8 v) { return fmax(v, LEAK * v); }

/* The gradient of the values from that of the leaky ReLU's. */
INLINE float8 leak_back(float8 gradient, float8 values) {
  return select(LEAK * gradient, gradient, values > 0.0f);
}

/* Gradients in halves are multiplied by a power of two that brings the largest one, whose bits these are, to 64 or over,
 * and divided by it again. */
INLINE uint level_exponent(uint bits) { return max(bits >> 23 & 255u, 10u); }
INLINE float level_scale(uint bits) { return as_float((260u - level_exponent(bits)) << 23); }
INLINE float level_factor(uint bits) { return as_float((level_exponent(bits) - 6u) << 23); }
#endif
