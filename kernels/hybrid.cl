/* Transforms along the phase encodes of masks of whole lines, of many coils. Along the readout data are transformed once, at
 * load: `hybrid` [slice][coil][frequency][row], orthonormal, 0 the centre. A work-group takes BLOCK rows of a scan, coil after
 * coil, and nothing complex of a coil leaves local memory.
 *
 * WIDTH = SPLIT * PART. Over the frequencies of each class modulo SPLIT, only those that a scan has acquired are summed, for
 * each of the PART residues of pixels; then SPLIT values are transformed in registers:
 * v(place + PART j) = sum_class exp(2 pi i class j / SPLIT) sum_n d(n) exp(2 pi i n place / WIDTH). The way back turns both
 * around. `phase` holds exp(2 pi i k / WIDTH). Place x of a transform is pixel (x + WIDTH/2) mod WIDTH.
 *
 * Lines of a scan: `lines` [scan][WIDTH], class after class, and `starts` [scan][WIDTH]: where each of the SPLIT classes
 * begins, where the last one ends, and whether they are those that are not acquired. */

#define GROUP (WIDTH < 256 ? 128 : 192)
#define GROUP_OF_BLOCK __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void

#if WIDTH % 16 == 0 && WIDTH >= 256
#define SPLIT 16
#elif WIDTH % 8 == 0
#define SPLIT 8
#elif WIDTH % 4 == 0
#define SPLIT 4
#elif WIDTH % 2 == 0
#define SPLIT 2
#else
#define SPLIT 1
#endif
#define PART (WIDTH / SPLIT)

/* Rows of a block: all fits into 48 KiB of local memory. A strip of them is PIECES vectors. A GPU's neighbours take
 * neighbouring places of a row, and strips are so far apart that these meet no bank of local memory twice; a CPU's take the
 * rows of a place. */
#define BLOCK (WIDTH <= 400 ? 8 : 4)
#if defined(__x86_64__) || defined(__aarch64__)
#if WIDTH <= 400
typedef float8 piece;
#else
typedef float4 piece;
#endif
#define PIECE BLOCK
#define PAD 0
#define NEIGHBOURS 1
#define UNROLLED
#else
typedef float4 piece;
#define PIECE 4
#define PAD (WIDTH <= 640)
#define NEIGHBOURS 8
#define UNROLLED _Pragma("unroll")
#endif
#define PIECES (BLOCK / PIECE)
#define PITCH (2 * PIECES + PAD) /* pieces from sum to sum, of a strip of real parts and one of imaginary parts */
#define BLOCKS ((HEIGHT + BLOCK - 1) / BLOCK)
#define LINES_MOST ((WIDTH + 1) / 2) /* that local memory has room for */
/* Lines of a coil; in the end, what the group adds up. */
#define LINE_ROOM (2 * LINES_MOST * BLOCK > 3 * GROUP ? 2 * LINES_MOST * PIECES : 3 * GROUP / PIECE)
/* Pairs of a place and a row that an item has; rows past the last are that one. */
#define OWN (((PART + NEIGHBOURS - 1) / NEIGHBOURS * NEIGHBOURS * BLOCK + GROUP - 1) / GROUP)
#define PAIR(o) ((uint)get_local_id(0) + (o)*GROUP)
#define PLACE(o) (PAIR(o) / (NEIGHBOURS * BLOCK) * NEIGHBOURS + PAIR(o) % NEIGHBOURS)
#define ROW(o) (PAIR(o) % (NEIGHBOURS * BLOCK) / NEIGHBOURS)
#define NEAR(row) min((uint)(row), HEIGHT - 1u)

INLINE void transform1(float2 *v) { (void)v; }
INLINE void transform2(float2 *v) {
  float2 sum = v[0] + v[1];
  v[1] = v[0] - v[1];
  v[0] = sum;
}

/* What the lists of a scan say. */
typedef struct {
  ushort line[WIDTH];
  ushort start[SPLIT + 2];
} lists;

/* Frequencies that a scan has acquired, or where `lesser` says so and they are fewer, the others. A row is a scan. */
__kernel void hybrid_list(__global const uchar *restrict mask, __global uint *restrict lines,
                          __global uint *restrict starts, uint first, uint lesser, uint rows) {
  uint row = (uint)get_global_id(0), count = 0u, found = 0u;
  if (row >= rows) return;
  __global const uchar *own = mask + (size_t)(first + row) * WIDTH;
  __global uint *line = lines + (size_t)row * WIDTH, *start = starts + (size_t)row * WIDTH;
  for (uint n = 0u; n < WIDTH; n++) count += own[n] != 0;
  bool others = lesser && 2u * count > WIDTH;
  for (uint class = 0u; class < SPLIT; class++) {
    start[class] = found;
    for (uint n = class; n < WIDTH; n += SPLIT)
      if ((own[(n + WIDTH / 2u) % WIDTH] != 0) != others) line[found++] = n;
  }
  start[SPLIT] = found;
  start[SPLIT + 1] = others;
  for (uint i = SPLIT + 2u; i < WIDTH; i++) start[i] = 0u;
  while (found < WIDTH) line[found++] = 0u;
}

/* Every item of the group must call it. */
INLINE void take_lists(__global const uint *lines, __global const uint *starts, __global const float2 *phase,
                       __local lists *list, __local float2 *turn) {
  for (uint i = (uint)get_local_id(0); i < WIDTH; i += GROUP) {
    list->line[i] = (ushort)lines[i];
    turn[i] = phase[i];
    if (i < SPLIT + 2u) list->start[i] = (ushort)starts[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* Rows from `top` on of lines [from, to) of the list: a strip of real parts and one of imaginary parts a line. */
INLINE void load_lines(__global const float2 *data, __local const lists *list, uint from, uint to, uint top,
                       __local piece *line) {
  __local float *parts = (__local float *)line;
  for (uint i = (uint)get_local_id(0); i < (to - from) * BLOCK; i += GROUP) {
    uint y = i % BLOCK, own = i / BLOCK;
    float2 value = top + y < HEIGHT ? data[list->line[from + own] * HEIGHT + top + y] : (float2)(0.0f, 0.0f);
    parts[2u * own * BLOCK + y] = value.x;
    parts[(2u * own + 1u) * BLOCK + y] = value.y;
  }
}

/* Sums of every class at every place, [class][place], over lines [from, to) of the list; `add`: to what is there. */
INLINE void sum_lines(__local const piece *line, __local const lists *list, uint from, uint to, bool add,
                      __local const float2 *turn, __local piece *sums) {
  for (uint i = (uint)get_local_id(0); i < WIDTH; i += GROUP) {
    uint class = i / PART, place = i % PART;
    __local piece *own = sums + i * PITCH;
    piece re[PIECES], im[PIECES];
    UNROLLED for (uint h = 0u; h < PIECES; h++) {
      re[h] = add ? own[h] : (piece)(0.0f);
      im[h] = add ? own[PIECES + h] : (piece)(0.0f);
    }
    uint end = min(to, (uint)list->start[class + 1u]);
    for (uint at = max(from, (uint)list->start[class]); at < end; at++) {
      float2 t = turn[list->line[at] * place % WIDTH];
      __local const piece *a = line + 2u * (at - from) * PIECES, *b = a + PIECES;
      UNROLLED for (uint h = 0u; h < PIECES; h++) {
        re[h] += a[h] * t.x - b[h] * t.y;
        im[h] += a[h] * t.y + b[h] * t.x;
      }
    }
    UNROLLED for (uint h = 0u; h < PIECES; h++) {
      own[h] = re[h];
      own[PIECES + h] = im[h];
    }
  }
}

/* Where the real part of a class's sum at a place and a row is; the imaginary one is BLOCK on. */
INLINE uint sum_at(uint class, uint place, uint y) { return (class * PART + place) * (PITCH * PIECE) + y; }

/* The pixels of a place and a row, from the sums of its classes. */
INLINE void to_pixels(__local const piece *sums, uint place, uint y, float2 *v) {
  __local const float *parts = (__local const float *)sums;
  UNROLLED for (uint class = 0u; class < SPLIT; class++) {
    uint at = sum_at(class, place, y);
    v[class] = (float2)(parts[at], parts[at + BLOCK]);
  }
  TRANSFORM(SPLIT, v);
}

/* The sums over pixels of each class at a place, in the room of the other way. */
INLINE void from_pixels(float2 *v, uint place, uint y, __local piece *sums) {
  __local float *parts = (__local float *)sums;
  UNROLLED for (uint j = 0u; j < SPLIT; j++) v[j] = v[j].yx;
  TRANSFORM(SPLIT, v);
  UNROLLED for (uint class = 0u; class < SPLIT; class++) {
    uint at = sum_at(class, place, y);
    parts[at] = v[class].y;
    parts[at + BLOCK] = v[class].x;
  }
}

/* The lines of the list from the sums over pixels, over WIDTH. */
INLINE void make_lines(__local const piece *sums, __local const lists *list, __local const float2 *turn,
                       __local piece *line) {
  for (uint i = (uint)get_local_id(0); i < list->start[SPLIT] * PIECES; i += GROUP) {
    uint n = list->line[i / PIECES], h = i % PIECES, at = 0u;
    __local const piece *own = sums + n % SPLIT * PART * PITCH + h;
    piece re = 0.0f, im = 0.0f;
    for (uint place = 0u; place < PART; place++) {
      float2 t = turn[at];
      piece a = own[place * PITCH], b = own[place * PITCH + PIECES];
      re += a * t.x + b * t.y;
      im += b * t.x - a * t.y;
      at += n;
      if (at >= WIDTH) at -= WIDTH;
    }
    line[2u * (i / PIECES) * PIECES + h] = re / (float)WIDTH;
    line[(2u * (i / PIECES) + 1u) * PIECES + h] = im / (float)WIDTH;
  }
}

/* The sums over all lines of a coil's data. Every item of the group must call it. */
INLINE void sum_data(__global const float2 *data, __local const lists *list, uint top, __local const float2 *turn,
                     __local piece *line, __local piece *sums) {
  for (uint from = 0u; from < WIDTH; from += LINES_MOST) {
    uint to = min(from + LINES_MOST, (uint)list->start[SPLIT]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (from < to) load_lines(data, list, from, to, top, line);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (from < to || from == 0u) sum_lines(line, list, from, to, from > 0u, turn, sums);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

INLINE uint pixel_of(uint row, uint place) { return row * WIDTH + (place + WIDTH / 2u) % WIDTH; }

/* ---- observations ------------------------------------------------------------------------------------------ */

INLINE float observed_of(float2 sum, float square, uint mapped) {
  float size = mapped ? sqrt(sum.x * sum.x + sum.y * sum.y) : sqrt(sum.x);
  return (square > 0.0f ? size / square : 0.0f) / sqrt((float)WIDTH);
}

/* Joins over the group in a fixed order; item 0 gets the whole. Every item of the group must call it. */
INLINE moments block_moments(moments mine, __local moments *scratch) {
  uint item = (uint)get_local_id(0);
  scratch[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint left = GROUP; left > 1u; left = (left + 1u) / 2u) {
    uint other = item + (left + 1u) / 2u;
    if (other < left) scratch[item] = moments_join(scratch[item], scratch[other]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[0];
}

/* The zero-filled magnitude of all coils: root of their sum of squares, or where `mapped` says so, the sum of conj(map) times
 * coil image, over the sum of the maps' squared magnitudes, 0 where that is 0. `parts`: count, mean and sum of squared
 * deviations of every block. A row is a block of a scan. */
GROUP_OF_BLOCK hybrid_observe(__global const uint *restrict slice, __global const uint *restrict coils,
                              __global const uint *restrict lines, __global const uint *restrict starts,
                              __global const float2 *restrict hybrid, __global const float2 *restrict maps,
                              __global const float2 *restrict phase, __global real *restrict magnitude,
                              __global float4 *restrict parts, uint most, uint mapped, uint rows) {
  __local piece sums[PITCH * WIDTH], line[LINE_ROOM];
  __local float2 turn[WIDTH];
  __local lists list;
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint scan = row / BLOCKS, top = row % BLOCKS * BLOCK, at = slice[scan], count = min(coils[at], most);
  float2 sum[OWN][SPLIT];
  float square[OWN][SPLIT];
  UNROLLED for (uint o = 0u; o < OWN; o++)
    UNROLLED for (uint j = 0u; j < SPLIT; j++) sum[o][j] = (float2)(0.0f, 0.0f), square[o][j] = mapped ? 0.0f : 1.0f;
  take_lists(lines + (size_t)scan * WIDTH, starts + (size_t)scan * WIDTH, phase, &list, turn);
  for (uint coil = 0u; coil < count; coil++) {
    size_t plane = ((size_t)at * most + coil) * PIXELS;
    sum_data(hybrid + plane, &list, top, turn, line, sums);
    UNROLLED for (uint o = 0u; o < OWN; o++) {
      uint y = ROW(o), place = PLACE(o);
      float2 v[SPLIT];
      if (place >= PART) continue;
      to_pixels(sums, place, y, v);
      UNROLLED for (uint j = 0u; j < SPLIT; j++) {
        float2 map = mapped ? maps[plane + pixel_of(NEAR(top + y), place + PART * j)] : v[j];
        if (mapped) square[o][j] += map.x * map.x + map.y * map.y;
        sum[o][j] += conj_times(map, v[j]);
      }
    }
  }
  moments seen = {0.0f, 0.0f, 0.0f};
  UNROLLED for (uint o = 0u; o < OWN; o++) {
    uint y = ROW(o), place = PLACE(o);
    if (place >= PART || top + y >= HEIGHT) continue;
    UNROLLED for (uint j = 0u; j < SPLIT; j++) {
      float value = observed_of(sum[o][j], square[o][j], mapped);
      moments one = {1.0f, value, 0.0f};
      REAL_STORE(magnitude + (size_t)scan * PIXELS, pixel_of(top + y, place + PART * j), value);
      seen = moments_join(seen, one);
    }
  }
  moments all = block_moments(seen, (__local moments *)line);
  if (item == 0u) parts[row] = (float4)(all.count, all.mean, all.square, 0.0f);
}

/* Mean and deviation of an image from those of its blocks. A row is a scan. */
__kernel void hybrid_join(__global const float4 *restrict parts, __global float *restrict magnitude_mean,
                          __global float *restrict magnitude_std, uint blocks, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  moments all = {0.0f, 0.0f, 0.0f};
  for (uint block = 0u; block < blocks; block++) {
    float4 part = parts[(size_t)row * blocks + block];
    moments more = {part.x, part.y, part.z};
    all = moments_join(all, more);
  }
  magnitude_mean[row] = all.mean;
  magnitude_std[row] = sqrt(all.square / (all.count - 1.0f));
}

/* ---- least squares ----------------------------------------------------------------------------------------- */

/* A pixel's conj(p) q, its real part, and |p|^2 or where `differs` says so, |p - p before|^2 on both axes, around the edges. */
INLINE float2 energy_of(__global const float2 *image, uint row, uint pixel, float2 q, uint differs) {
  float2 p = image[pixel], gap = p, down = (float2)(0.0f, 0.0f);
  if (differs) {
    gap = p - image[pixel - row * WIDTH ? pixel - 1u : pixel + WIDTH - 1u];
    down = p - image[row ? pixel - WIDTH : pixel + (HEIGHT - 1u) * WIDTH];
  }
  return (float2)(p.x * q.x + p.y * q.y, gap.x * gap.x + gap.y * gap.y + down.x * down.x + down.y * down.y);
}

/* The sum over the group, in two turns: a CPU pays for every barrier. Every item of the group must call it. */
#define TURN 16
INLINE float2 group_total(float2 value, __local float2 *scratch) {
  uint item = (uint)get_local_id(0);
  scratch[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  float2 sum = (float2)(0.0f, 0.0f);
  if (item < GROUP / TURN)
    for (uint i = 0u; i < TURN; i++) sum += scratch[item + i * (GROUP / TURN)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < GROUP / TURN) scratch[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = (float2)(0.0f, 0.0f);
  for (uint i = 0u; item == 0u && i < GROUP / TURN; i++) sum += scratch[i];
  return sum; /* of item 0 */
}

/* `product` = A^H A of an image, or of the data A^H y where `measured` says so: A is maps of coils, the transform and the
 * scan's lines (kernels/solve.cl). From lines that are not acquired, what they add to the sum of squared maps is taken off.
 * With mapped 0 there is one coil, and its map is 1. `parts`: energy_of of every block; of data, 0. Scans
 * that have come to their end (counts, kernels/solve.cl) are left alone. A row is a block of a scan
 * of the chunk from `first` on. */
GROUP_OF_BLOCK hybrid_normal(__global const uint *restrict slice, __global const uint *restrict coils,
                             __global const uint *restrict lines, __global const uint *restrict starts,
                             __global const float2 *restrict hybrid, __global const float2 *restrict maps,
                             __global const float2 *restrict phase, __global const float2 *restrict image,
                             __global float2 *restrict product, __global float2 *restrict parts,
                             __global const float4 *restrict counts, uint first, uint most, uint mapped, uint measured, uint differs,
                             uint rows) {
  __local piece sums[PITCH * WIDTH], line[LINE_ROOM];
  __local float2 turn[WIDTH];
  __local lists list;
  uint row = (uint)get_group_id(0);
  if (row >= rows) return;
  uint scan = row / BLOCKS, top = row % BLOCKS * BLOCK, at = slice[first + scan];
  uint count = mapped ? min(coils[at], most) : 1u;
  if (!measured && counts[scan].w > 1.0f) return;
  __global const float2 *own = image + (size_t)scan * PIXELS;
  __global float2 *to = product + (size_t)scan * PIXELS;
  float scale = measured ? 1.0f / sqrt((float)WIDTH) : 1.0f;
  float2 sum[OWN][SPLIT], held[OWN][SPLIT]; /* of the product, and the image's */
  UNROLLED for (uint o = 0u; o < OWN; o++)
    UNROLLED for (uint j = 0u; j < SPLIT; j++) {
      bool there = !measured && PLACE(o) < PART;
      sum[o][j] = (float2)(0.0f, 0.0f);
      held[o][j] = there ? own[pixel_of(NEAR(top + ROW(o)), PLACE(o) + PART * j)] : (float2)(0.0f, 0.0f);
    }
  take_lists(lines + (size_t)scan * WIDTH, starts + (size_t)scan * WIDTH, phase, &list, turn);
  for (uint coil = 0u; coil < count; coil++) {
    size_t plane = ((size_t)at * most + coil) * PIXELS;
    if (measured) {
      sum_data(hybrid + plane, &list, top, turn, line, sums);
    } else {
      UNROLLED for (uint o = 0u; o < OWN; o++) {
        uint y = ROW(o), place = PLACE(o);
        float2 v[SPLIT];
        if (place >= PART) continue;
        UNROLLED for (uint j = 0u; j < SPLIT; j++) {
          uint pixel = pixel_of(NEAR(top + y), place + PART * j);
          v[j] = mapped ? times(maps[plane + pixel], held[o][j]) : held[o][j];
        }
        from_pixels(v, place, y, sums);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      make_lines(sums, &list, turn, line);
      barrier(CLK_LOCAL_MEM_FENCE);
      sum_lines(line, &list, 0u, list.start[SPLIT], false, turn, sums);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED for (uint o = 0u; o < OWN; o++) {
      uint y = ROW(o), place = PLACE(o);
      float2 v[SPLIT];
      if (place >= PART) continue;
      to_pixels(sums, place, y, v);
      UNROLLED for (uint j = 0u; j < SPLIT; j++) {
        uint pixel = pixel_of(NEAR(top + y), place + PART * j);
        float2 map = mapped ? maps[plane + pixel] : (float2)(1.0f, 0.0f);
        sum[o][j] += conj_times(map, list.start[SPLIT + 1] ? times(map, held[o][j]) - v[j] : v[j]);
      }
    }
  }
  float2 energy = (float2)(0.0f, 0.0f);
  UNROLLED for (uint o = 0u; o < OWN; o++) {
    uint y = ROW(o), place = PLACE(o);
    if (place >= PART || top + y >= HEIGHT) continue;
    UNROLLED for (uint j = 0u; j < SPLIT; j++) {
      uint pixel = pixel_of(top + y, place + PART * j);
      to[pixel] = scale * sum[o][j];
      if (!measured) energy += energy_of(own, top + y, pixel, sum[o][j], differs);
    }
  }
  energy = group_total(energy, (__local float2 *)line);
  if (get_local_id(0) == 0) parts[row] = energy;
}
