/* Total variation of scans of whole lines and one coil, from the first step to the last in one work-group a scan: the steps of
 * solve_total (kernels/solve.cl), which says what they are. Local memory holds the direction of conjugate gradients, registers
 * the residual; of memory a step reads and writes the image alone, a round the right side and, of every pixel, the sum of
 * split and dual of both axes, from which both follow: split is that sum, shrunk, and dual is what is left.
 *
 * FFT_SECOND items take a row of WIDTH = FFT_FIRST FFT_SECOND pixels, x = lane + FFT_SECOND j, and transform it by two
 * factors: frequency k + FFT_FIRST m. `slot` is where they exchange what lies between. Where the centre of a row is does not
 * matter: the mask multiplies frequencies. */

#ifdef FFT_FIRST /* else its kernels are not called */

#define GROUP 512
#define OWN_MOST 32 /* pixels of an item: total_fits */
#define TALL (GROUP / FFT_SECOND)
#define TURNS ((HEIGHT + TALL - 1) / TALL)
#define PITCH (WIDTH + 8) /* rows that neighbours take lie in other banks */
#define SLOT(k, t) ((k) * (FFT_SECOND + 1u) + (t))
#define SLOTS (FFT_FIRST * (FFT_SECOND + 1) + 8)
#define LANE ((uint)get_local_id(0) % FFT_SECOND)
#define ROW(turn) ((uint)get_local_id(0) / FFT_SECOND + (turn)*TALL)
#if defined(__x86_64__) || defined(__aarch64__)
#define UNROLLED /* a CPU's private memory takes any index */
#else
#define UNROLLED _Pragma("unroll")
#endif

#define RELAXATION 1.6f
#define INNER_STEPS 10u       /* of conjugate gradients in a round, at most */
#define INNER_TOLERANCE 1e-3f /* of their residual to the right side */

typedef struct {
  __local float2 *image;      /* [HEIGHT][PITCH] */
  __local float2 *slot;       /* [SLOTS], of the item's row */
  __local const float2 *turn; /* exp(2 pi i k / WIDTH) */
  __local const uchar *kept;  /* 1: the frequency is acquired */
  __local float *scratch;
} places;

INLINE float square_of(float2 a) { return a.x * a.x + a.y * a.y; }
INLINE uint before(uint i, uint length) { return i ? i - 1u : length - 1u; }
INLINE uint after(uint i, uint length) { return i + 1u < length ? i + 1u : 0u; }
INLINE float2 pixel(places own, uint y, uint x) { return own.image[y * PITCH + x]; }

/* A row over its pixels j, with real and imaginary parts exchanged: the way there is then the way back. */
INLINE void to_slots(places own, uint y) {
  float2 v[FFT_FIRST];
  uint lane = LANE, from = min(y, HEIGHT - 1u) * PITCH + lane;
  UNROLLED for (uint j = 0u; j < FFT_FIRST; j++) v[j] = own.image[from + j * FFT_SECOND].yx;
  TRANSFORM(FFT_FIRST, v);
  UNROLLED for (uint k = 0u; k < FFT_FIRST; k++) own.slot[SLOT(k, lane)] = times(v[k], own.turn[k * lane]);
}

/* Frequencies k + FFT_FIRST m of the row. */
INLINE void from_slots(places own, uint k, float2 *f) {
  UNROLLED for (uint t = 0u; t < FFT_SECOND; t++) f[t] = own.slot[SLOT(k, t)];
  TRANSFORM(FFT_SECOND, f);
}

/* <p, (A^H A + rho G^H G) p> of the direction p, by what is acquired of its rows and by its differences. Every item of the
 * group must call it. */
INLINE float along(places own, float rho) {
  float data = 0.0f, gaps = 0.0f;
  for (uint turn = 0u; turn < TURNS; turn++) {
    uint y = ROW(turn), up = before(y, HEIGHT);
    to_slots(own, y);
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLLED for (uint c = 0u; c < FFT_FIRST / FFT_SECOND; c++) {
      float2 f[FFT_SECOND];
      uint k = LANE + c * FFT_SECOND;
      from_slots(own, k, f);
      UNROLLED for (uint m = 0u; m < FFT_SECOND; m++)
        data += y < HEIGHT && own.kept[k + m * FFT_FIRST] ? square_of(f[m]) : 0.0f;
    }
    for (uint j = 0u; j < FFT_FIRST && y < HEIGHT; j++) {
      uint x = LANE + j * FFT_SECOND;
      float2 p = pixel(own, y, x);
      gaps += square_of(p - pixel(own, y, before(x, WIDTH))) + square_of(p - pixel(own, up, x));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return group_sum(data / (float)WIDTH + rho * gaps, own.scratch);
}

/* G^H G p: 4 p less its neighbours. */
INLINE float2 laplacian(places own, uint y, uint x) {
  return 4.0f * pixel(own, y, x) - pixel(own, y, before(x, WIDTH)) - pixel(own, before(y, HEIGHT), x) -
         pixel(own, y, after(x, WIDTH)) - pixel(own, after(y, HEIGHT), x);
}

/* Takes step (A^H A + rho G^H G) p from the residual `rest`; returns its square. Every item of the group must call it. */
INLINE float descend(places own, float step, float rho, float2 *rest) {
  float sum = 0.0f;
  UNROLLED for (uint turn = 0u; turn < TURNS; turn++) {
    float2 v[FFT_FIRST];
    uint y = ROW(turn);
    to_slots(own, y);
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLLED for (uint c = 0u; c < FFT_FIRST / FFT_SECOND; c++) {
      float2 f[FFT_SECOND];
      uint k = LANE + c * FFT_SECOND;
      from_slots(own, k, f);
      UNROLLED for (uint m = 0u; m < FFT_SECOND; m++)
        f[m] = own.kept[k + m * FFT_FIRST] ? f[m].yx : (float2)(0.0f, 0.0f);
      TRANSFORM(FFT_SECOND, f);
      UNROLLED for (uint t = 0u; t < FFT_SECOND; t++) own.slot[SLOT(k, t)] = times(f[t], own.turn[k * t]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLLED for (uint k = 0u; k < FFT_FIRST; k++) v[k] = own.slot[SLOT(k, LANE)];
    TRANSFORM(FFT_FIRST, v);
    UNROLLED for (uint j = 0u; j < FFT_FIRST; j++)
      if (y < HEIGHT) {
        float2 q = v[j] / (float)WIDTH + rho * laplacian(own, y, LANE + j * FFT_SECOND);
        rest[turn * FFT_FIRST + j] -= step * q;
        sum += square_of(rest[turn * FFT_FIRST + j]);
      }
  }
  return group_sum(sum, own.scratch);
}

/* The image takes the step, and the next direction the direction's place; where a round ends, the image does. */
INLINE void move(places own, __global float2 *image, float step, float turned, bool begins, bool ends, const float2 *rest) {
  UNROLLED for (uint turn = 0u; turn < TURNS; turn++) {
    uint y = ROW(turn);
    UNROLLED for (uint j = 0u; j < FFT_FIRST; j++)
      if (y < HEIGHT) {
        uint x = LANE + j * FFT_SECOND;
        float2 p = pixel(own, y, x), value = (begins ? (float2)(0.0f, 0.0f) : image[y * WIDTH + x]) + step * p;
        image[y * WIDTH + x] = value;
        own.image[y * PITCH + x] = ends ? value : rest[turn * FFT_FIRST + j] + turned * p;
      }
  }
}

/* The part of a pixel's sum of split and dual that is split. */
INLINE float part_of(float4 sum, float threshold) {
  float size = sqrt(square_of(sum.xy) + square_of(sum.zw));
  return size > threshold ? 1.0f - threshold / size : 0.0f;
}

/* A pixel's sum of split and dual of both axes after a round, split less dual of it, and by how much that has changed. */
typedef struct {
  float4 sum, gap, change;
} relaxed;

/* Of the differences of the image, which is in local memory, over-relaxed. begins: split and dual are 0. */
INLINE relaxed relax(places own, __global const float4 *sums, uint y, uint x, float threshold, bool begins) {
  float4 sum = begins ? (float4)(0.0f) : sums[y * WIDTH + x];
  float2 value = pixel(own, y, x);
  float4 difference = (float4)(value - pixel(own, y, before(x, WIDTH)), value - pixel(own, before(y, HEIGHT), x));
  float part = part_of(sum, threshold);
  relaxed next;
  next.sum = RELAXATION * (difference - part * sum) + sum;
  next.gap = (2.0f * part_of(next.sum, threshold) - 1.0f) * next.sum;
  next.change = next.gap - (2.0f * part - 1.0f) * sum;
  return next;
}

/* Split and dual of the image, from `sums` into `next`; the residual of the side that follows, and its square and the
 * side's. Every item of the group must call it. */
INLINE float2 relax_round(places own, __global const float2 *right, __global const float4 *sums, __global float4 *next,
                          float rho, float threshold, bool begins, float2 *rest) {
  float square = 0.0f, whole = 0.0f;
  UNROLLED for (uint turn = 0u; turn < TURNS; turn++) {
    uint y = ROW(turn);
    if (y >= HEIGHT) continue;
    for (uint x = LANE; x < WIDTH; x += FFT_SECOND) {
      relaxed here = relax(own, sums, y, x, threshold, begins), beside = relax(own, sums, y, after(x, WIDTH), threshold, begins),
              below = relax(own, sums, after(y, HEIGHT), x, threshold, begins);
      float2 side = right[y * WIDTH + x] + rho * (here.gap.xy - beside.gap.xy + here.gap.zw - below.gap.zw);
      next[y * WIDTH + x] = here.sum;
      own.slot[x] = rho * (here.change.xy - beside.change.xy + here.change.zw - below.change.zw);
      whole += square_of(side);
    }
    UNROLLED for (uint j = 0u; j < FFT_FIRST; j++) {
      rest[turn * FFT_FIRST + j] += own.slot[LANE + j * FFT_SECOND];
      square += square_of(rest[turn * FFT_FIRST + j]);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  square = group_sum(square, own.scratch);
  return (float2)(square, group_sum(whole, own.scratch));
}

/* The residual becomes the direction. */
INLINE void turn_to(places own, const float2 *rest) {
  UNROLLED for (uint turn = 0u; turn < TURNS; turn++) {
    uint y = ROW(turn);
    UNROLLED for (uint j = 0u; j < FFT_FIRST; j++)
      if (y < HEIGHT) own.image[y * PITCH + LANE + j * FFT_SECOND] = rest[turn * FFT_FIRST + j];
  }
}

/* The residual of the image 0, and its square. Every item of the group must call it. */
INLINE float begin(places own, __global const float2 *right, __global float2 *image, float2 *rest) {
  float square = 0.0f;
  UNROLLED for (uint turn = 0u; turn < TURNS; turn++) {
    uint y = ROW(turn);
    UNROLLED for (uint j = 0u; j < FFT_FIRST; j++) {
      uint at = y * WIDTH + LANE + j * FFT_SECOND;
      float2 value = y < HEIGHT ? right[at] : (float2)(0.0f, 0.0f);
      rest[turn * FFT_FIRST + j] = value;
      square += square_of(value);
      if (y < HEIGHT) image[at] = (float2)(0.0f, 0.0f);
    }
  }
  turn_to(own, rest);
  return group_sum(square, own.scratch);
}

/* taken: acquired cells, of which the first WIDTH are the frequencies. threshold: in parts of the scan's scale; tolerance:
 * solve_begin. sums, other_sums: room, by turns. A row is a scan. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void total_scan(
    __global const uchar *restrict taken, __global const float2 *restrict right, __global const float *restrict scale,
    __global float2 *restrict solution, __global float4 *restrict sums, __global float4 *restrict other_sums, float threshold,
    float rho, float tolerance, uint iterations, uint rows) {
  __local float2 image[HEIGHT * PITCH], slot[TALL * SLOTS], turn[WIDTH];
  __local float scratch[GROUP];
  __local uchar kept[WIDTH];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  size_t start = (size_t)row * PIXELS;
  for (uint k = item; k < WIDTH; k += GROUP) {
    turn[k] = (float2)(cospi(2.0f * (float)k / (float)WIDTH), sinpi(2.0f * (float)k / (float)WIDTH));
    kept[k] = taken[start + k];
  }
  places own = {image, slot + ROW(0u) * SLOTS, turn, kept, scratch};
  float2 rest[OWN_MOST];
  float limit = threshold * scale[row], square = begin(own, right + start, solution + start, rest);
  float least = INNER_TOLERANCE * INNER_TOLERANCE * square;
  uint steps = 0u, all = 0u, rounds = 0u;
  bool goes_on = square > 0.0f;
  while (goes_on) {
    float product = along(own, rho), step = product != 0.0f ? square / product : 0.0f;
    float left = descend(own, step, rho, rest);
    bool ends = left <= least || ++steps >= INNER_STEPS;
    move(own, solution + start, step, left / square, !all++, ends, rest);
    barrier(CLK_LOCAL_MEM_FENCE);
    square = left;
    if (ends) {
      steps = 0u;
      goes_on = all <= iterations && ++rounds < iterations;
    }
    if (ends && goes_on) {
      float2 squares = relax_round(own, right + start, (rounds % 2u ? sums : other_sums) + start,
                                   (rounds % 2u ? other_sums : sums) + start, rho, limit, rounds == 1u, rest);
      turn_to(own, rest);
      barrier(CLK_LOCAL_MEM_FENCE);
      square = squares.x;
      least = INNER_TOLERANCE * INNER_TOLERANCE * squares.y;
      goes_on = squares.x > tolerance * tolerance * squares.y;
    }
  }
}

#endif
