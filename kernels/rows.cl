/* Data consistency of images whose acquired frequencies are whole columns. Along the columns the transform there and back
 * is none, so that rows alone are transformed: in local memory, by two factors, there and back in one pass. Images are
 * planes, [image][coil][2][height][WIDTH]; a line is a row of a coil. */

/* WIDTH = SMALL * LARGE with SMALL <= LARGE, as near to each other as these sizes allow; kernels/observe_fits.c finds
 * the same. */
#define IS_SIZE(n)                                                                                                   \
  ((n) == 2 || (n) == 3 || (n) == 4 || (n) == 5 || (n) == 6 || (n) == 8 || (n) == 9 || (n) == 10 || (n) == 12 || \
   (n) == 15 || (n) == 16 || (n) == 18 || (n) == 20 || (n) == 24 || (n) == 25 || (n) == 32)
#define IS_LARGE(n) (WIDTH % (n) == 0 && WIDTH / (n) <= (n) && IS_SIZE(WIDTH / (n)))
#if IS_LARGE(3)
#define LARGE 3
#elif IS_LARGE(4)
#define LARGE 4
#elif IS_LARGE(5)
#define LARGE 5
#elif IS_LARGE(6)
#define LARGE 6
#elif IS_LARGE(8)
#define LARGE 8
#elif IS_LARGE(9)
#define LARGE 9
#elif IS_LARGE(10)
#define LARGE 10
#elif IS_LARGE(12)
#define LARGE 12
#elif IS_LARGE(15)
#define LARGE 15
#elif IS_LARGE(16)
#define LARGE 16
#elif IS_LARGE(18)
#define LARGE 18
#elif IS_LARGE(20)
#define LARGE 20
#elif IS_LARGE(24)
#define LARGE 24
#elif IS_LARGE(25)
#define LARGE 25
#elif IS_LARGE(32)
#define LARGE 32
#endif

#ifdef LARGE
#if WIDTH == 2 * LARGE
#define SMALL 2
#elif WIDTH == 3 * LARGE
#define SMALL 3
#elif WIDTH == 4 * LARGE
#define SMALL 4
#elif WIDTH == 5 * LARGE
#define SMALL 5
#elif WIDTH == 6 * LARGE
#define SMALL 6
#elif WIDTH == 8 * LARGE
#define SMALL 8
#elif WIDTH == 9 * LARGE
#define SMALL 9
#elif WIDTH == 10 * LARGE
#define SMALL 10
#elif WIDTH == 12 * LARGE
#define SMALL 12
#elif WIDTH == 15 * LARGE
#define SMALL 15
#elif WIDTH == 16 * LARGE
#define SMALL 16
#elif WIDTH == 18 * LARGE
#define SMALL 18
#elif WIDTH == 20 * LARGE
#define SMALL 20
#elif WIDTH == 24 * LARGE
#define SMALL 24
#elif WIDTH == 25 * LARGE
#define SMALL 25
#elif WIDTH == 32 * LARGE
#define SMALL 32
#endif
#define GROUP (WIDTH > 512 ? 128 : 256)
#define LINES (GROUP / LARGE) /* of a work-group at a time */
#define GAP (SMALL + 1) /* keeps banks apart */
#define PITCH (LARGE * GAP + 1)
#define STRETCH _Pragma("unroll")

/* ---- transforms of a few values, in place and in order, by the positive exponent ---------------------------------- */
/* phase: exp(2 pi i k / WIDTH). */

INLINE void row_of_2(float2 *v) {
  float2 other = v[0] - v[1];
  v[0] += v[1];
  v[1] = other;
}

INLINE void row_of_3(float2 *v) {
  float2 sum = v[1] + v[2], turned = 0.86602540378443865f * quarter_turn(v[1] - v[2]), middle = v[0] - 0.5f * sum;
  v[0] += sum;
  v[1] = middle + turned;
  v[2] = middle - turned;
}

INLINE void row_of_5(float2 *v) {
  const float c1 = 0.30901699437494742f, c2 = -0.80901699437494742f, s1 = 0.95105651629515357f, s2 = 0.58778525229247313f;
  float2 a = v[1] + v[4], b = v[2] + v[3], c = v[1] - v[4], d = v[2] - v[3], first = v[0];
  float2 one = first + c1 * a + c2 * b, two = first + c2 * a + c1 * b;
  float2 turn_one = quarter_turn(s1 * c + s2 * d), turn_two = quarter_turn(s2 * c - s1 * d);
  v[0] = first + a + b;
  v[1] = one + turn_one;
  v[2] = two + turn_two;
  v[3] = two - turn_two;
  v[4] = one - turn_one;
}

#define small2(v, phase) ((void)(phase), row_of_2(v))
#define small3(v, phase) ((void)(phase), row_of_3(v))
#define small4(v, phase) ((void)(phase), transform4(v))
#define small5(v, phase) ((void)(phase), row_of_5(v))
#define small8(v, phase) ((void)(phase), transform8(v))
#define small16(v, phase) ((void)(phase), transform16(v))

#define OF_TWO(n, p, q)                                                                                              \
  INLINE void small##n(float2 *v, __local const float2 *phase) {                                                     \
    float2 between[n];                                                                                               \
    STRETCH for (uint s = 0u; s < (q); s++) {                                                                        \
      float2 u[p];                                                                                                   \
      STRETCH for (uint f = 0u; f < (p); f++) u[f] = v[f * (q) + s];                                                 \
      small##p(u, phase);                                                                                            \
      STRETCH for (uint k = 0u; k < (p); k++)                                                                        \
        between[k * (q) + s] = s * k ? times(u[k], phase[s * k * (WIDTH / (n))]) : u[k];                             \
    }                                                                                                                \
    STRETCH for (uint k = 0u; k < (p); k++) {                                                                        \
      small##q(between + k * (q), phase);                                                                            \
      STRETCH for (uint s = 0u; s < (q); s++) v[k + (p)*s] = between[k * (q) + s];                                   \
    }                                                                                                                \
  }
OF_TWO(6, 2, 3)
OF_TWO(9, 3, 3)
OF_TWO(10, 2, 5)
OF_TWO(12, 3, 4)
OF_TWO(15, 3, 5)
OF_TWO(18, 2, 9)
OF_TWO(20, 4, 5)
OF_TWO(24, 3, 8)
OF_TWO(25, 5, 5)
OF_TWO(32, 4, 8)

/* A size's function has its number in its name. */
#define OF_SIZE_(n, v) small##n(v, phase)
#define OF_SIZE(n, v) OF_SIZE_(n, v)

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

INLINE void fill_row_turns(__local float2 *phase) {
  for (uint k = (uint)get_local_id(0); k < WIDTH; k += GROUP) {
    float part = 2.0f * (float)k / (float)WIDTH;
    phase[k] = (float2)(cospi(part), sinpi(part));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Where the real part of a line lies; the imaginary one lies height * WIDTH after it. */
INLINE uint row_place(uint line, uint height) { return (line / height * 2u * height + line % height) * WIDTH; }

/* Value f * LARGE + second of a line is one of those of an item, entry k + SMALL * s one of its transform's. Centred, this
 * entry is of this column; values need not be moved, for the columns' factors are the same wherever a row starts. */
INLINE uint row_column(uint k, uint s) { return (k + SMALL * s + WIDTH / 2u) % WIDTH; }

/* Real and imaginary part change places, which makes the transform by the positive exponent one by the negative. */
INLINE void row_take(float2 *v, __global const float *values, __global const float *less, uint place, uint plane) {
  STRETCH for (uint f = 0u; f < SMALL; f++) {
    uint at = place + f * LARGE;
    v[f] = (float2)(values[at + plane], values[at]);
    if (less) v[f] -= (float2)(less[at + plane], less[at]);
  }
}

INLINE void row_first(float2 *v, __local const float2 *phase, uint second, __local float *re, __local float *im) {
  OF_SIZE(SMALL, v);
  STRETCH for (uint k = 0u; k < SMALL; k++) {
    float2 turned = k ? times(v[k], phase[second * k]) : v[0];
    re[second * GAP + k] = turned.x;
    im[second * GAP + k] = turned.y;
  }
}

INLINE void row_second(float2 *v, __local const float2 *phase, uint k, __local const float *re, __local const float *im) {
  STRETCH for (uint s = 0u; s < LARGE; s++) v[s] = (float2)(re[s * GAP + k], im[s * GAP + k]);
  OF_SIZE(LARGE, v);
}

/* Entries times the mask, and the inverse transform's first factor, which lies where that of the transform lay. */
INLINE void row_return(float2 *v, __local const float2 *phase, __global const float *mask, float weight, uint k,
                          __local float *re, __local float *im) {
  STRETCH for (uint s = 0u; s < LARGE; s++) v[s] = weight * mask[row_column(k, s)] * v[s].yx;
  OF_SIZE(LARGE, v);
  STRETCH for (uint s = 0u; s < LARGE; s++) {
    float2 turned = s ? times(v[s], phase[s * k]) : v[0];
    re[s * GAP + k] = turned.x;
    im[s * GAP + k] = turned.y;
  }
}

INLINE void row_last(float2 *v, __local const float2 *phase, uint second, __local const float *re, __local const float *im) {
  STRETCH for (uint k = 0u; k < SMALL; k++) v[k] = (float2)(re[second * GAP + k], im[second * GAP + k]);
  OF_SIZE(SMALL, v);
}

/* What is made of x: P keeps `step` times the frequencies where the mask is. */
#define FORM_FORWARD 0u   /* x - P(x - reference) - maps image */
#define FORM_VALUES 1u    /* x - P x, the gradient of the values from that of these; maps and image are not looked at */
#define FORM_REFERENCE 2u /* P x, that of the reference */

/* A work-group takes LINES lines. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rows_consistency(__global const float *restrict values, __global const float *restrict reference,
                 __global const float *restrict mask, __global const float *restrict step,
                 __global const float *restrict maps, __global const float *restrict image, __global float *restrict output,
                 uint coils, uint height, uint lines, uint form, uint add, uint rows) {
  __local float re[LINES * PITCH], im[LINES * PITCH];
  __local float2 phase[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), plane = height * WIDTH;
  uint own = item / LARGE, second = item % LARGE, line = row * LINES + own;
  bool takes = own < LINES && line < lines;
  if (row >= rows) return;
  fill_row_turns(phase);
  if (takes) {
    float2 v[SMALL];
    row_take(v, values, form == FORM_FORWARD ? reference : 0, row_place(line, height) + second, plane);
    row_first(v, phase, second, re + own * PITCH, im + own * PITCH);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint other = item / SMALL, k = item % SMALL;
  if (other < LINES && row * LINES + other < lines) {
    float2 v[LARGE];
    uint scan = (row * LINES + other) / height / coils;
    row_second(v, phase, k, re + other * PITCH, im + other * PITCH);
    row_return(v, phase, mask + scan * WIDTH, step[0] / (float)WIDTH, k, re + other * PITCH, im + other * PITCH);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!takes) return;
  float2 v[SMALL];
  uint from = row_place(line / height / coils * height + line % height, height) + second;
  row_last(v, phase, second, re + own * PITCH, im + own * PITCH);
  STRETCH for (uint f = 0u; f < SMALL; f++) {
    uint place = row_place(line, height) + second + f * LARGE, pixel = from + f * LARGE;
    float2 value = v[f];
    if (form != FORM_REFERENCE) value = (float2)(values[place], values[place + plane]) - value;
    if (form == FORM_FORWARD)
      value -= times((float2)(maps[place], maps[place + plane]), (float2)(image[pixel], image[pixel + plane]));
    output[place] = add ? output[place] + value.x : value.x;
    output[place + plane] = add ? output[place + plane] + value.y : value.y;
  }
}

/* Of every column the sum over lines of Re(conj(frequency of the gradient) frequency of values - reference), in parts: of an
 * image's `lines` lines a work-group takes those of every parts-th LINES. They lie in `part` from `first` on. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rows_products(__global const float *restrict values, __global const float *restrict reference,
              __global const float *restrict gradient, __global float *restrict part, uint height, uint lines, uint parts,
              uint first, uint rows) {
  __local float re[LINES * PITCH], im[LINES * PITCH];
  __local float2 phase[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0), plane = height * WIDTH;
  uint own = item / LARGE, second = item % LARGE, other = item / SMALL, k = item % SMALL;
  float sum[LARGE];
  if (row >= rows) return;
  STRETCH for (uint s = 0u; s < LARGE; s++) sum[s] = 0.0f;
  fill_row_turns(phase);
  for (uint start = row % parts * LINES; start < lines; start += parts * LINES) {
    float2 gap[LARGE], v[LARGE];
    bool takes = own < LINES && start + own < lines, has = other < LINES && start + other < lines;
    uint place = row_place(row / parts * lines + start + own, height) + second;
    if (takes) {
      row_take(v, values, reference, place, plane);
      row_first(v, phase, second, re + own * PITCH, im + own * PITCH);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (has) row_second(gap, phase, k, re + other * PITCH, im + other * PITCH);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (takes) {
      row_take(v, gradient, 0, place, plane);
      row_first(v, phase, second, re + own * PITCH, im + own * PITCH);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (has) {
      row_second(v, phase, k, re + other * PITCH, im + other * PITCH);
      STRETCH for (uint s = 0u; s < LARGE; s++) sum[s] += gap[s].x * v[s].x + gap[s].y * v[s].y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (other < LINES)
    STRETCH for (uint s = 0u; s < LARGE; s++) re[other * WIDTH + row_column(k, s)] = sum[s];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint x = item; x < WIDTH; x += GROUP) {
    float all = 0.0f;
    for (uint line = 0u; line < LINES; line++) all += re[line * WIDTH + x];
    part[first + row * WIDTH + x] = all / (float)WIDTH;
  }
}
#endif
