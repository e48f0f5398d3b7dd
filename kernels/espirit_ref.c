#include "kernels/kernels.h"

#include "components/components.h"

#include <complex.h>
#include <math.h>

enum { COILS_MOST = 64, SETS_MOST = 2, STEPS = 30 };

static double complex at(const float *from, size_t i) {
  return (double)from[2 * i] + I * (double)from[2 * i + 1];
}

static void put(float *to, size_t i, double complex value) {
  to[2 * i] = (float)creal(value);
  to[2 * i + 1] = (float)cimag(value);
}

static double complex turn(long place, size_t n) {
  return cexp(2 * M_PI * I * (double)place / (double)n);
}

void espirit_region_reference(const struct host_args *args) {
  size_t first = args->value[2].u, most = args->value[3].u, coils = args->value[4].u, high = args->value[5].u,
         wide = args->value[6].u, height = args->value[7].u, width = args->value[8].u;
  for (size_t i = 0; i < args->rows; i++) {
    size_t plane = i / wide / high, coil = (first + plane / coils) * most + plane % coils;
    /* Frequencies, of which 0 is in the middle of both. */
    long fx = (long)(i % wide) + (long)((width - wide) / 2) - (long)(width / 2);
    long fy = (long)(i / wide % high) + (long)((height - high) / 2) - (long)(height / 2);
    size_t x = (size_t)(fx < 0 ? fx + (long)width : fx), y = (size_t)(fy < 0 ? fy + (long)height : fy);
    put(args->out[1], i, at(args->in[0], (coil * height + y) * width + x));
  }
}

/* A sample of a patch: of (coil, y, x) at place (y, x) of the region. */
static double complex patch(const struct host_args *args, size_t slice, size_t sample, size_t y, size_t x) {
  size_t coils = args->value[2].u, high = args->value[3].u, wide = args->value[4].u, side = args->value[5].u;
  size_t coil = sample / (side * side), py = sample / side % side, px = sample % side;
  return at(args->in[0], ((slice * coils + coil) * high + y + py) * wide + x + px);
}

void espirit_gram_reference(const struct host_args *args) {
  size_t side = args->value[5].u, samples = args->value[2].u * side * side;
  for (size_t i = 0; i < args->rows; i++) {
    double complex sum = 0;
    for (size_t y = 0; y + side <= args->value[3].u; y++)
      for (size_t x = 0; x + side <= args->value[4].u; x++)
        sum += patch(args, i / samples / samples, i / samples % samples, y, x) *
               conj(patch(args, i / samples / samples, i % samples, y, x));
    put(args->out[1], i, sum);
  }
}

static size_t find_entry(size_t entry, size_t coils, size_t *other) {
  size_t number = 0;
  for (size_t a = 0; a < coils; a++)
    for (size_t b = a; b < coils; b++)
      if (number++ == entry) {
        *other = b;
        return a;
      }
  return 0;
}

/* All pairs of places in a kernel that are so far apart. */
static double complex lag_of(const struct host_args *args, size_t entry, long ly, long lx) {
  size_t coils = args->value[2].u, side = args->value[3].u, kept = args->value[4].u,
         entries = coils * (coils + 1) / 2, b = 0;
  size_t slice = entry / entries, a = find_entry(entry % entries, coils, &b);
  double complex sum = 0;
  for (size_t v = 0; v < kept; v++)
    for (size_t p = 0; p < side * side; p++)
      for (size_t q = 0; q < side * side; q++) {
        if ((long)(p / side) - (long)(q / side) != ly || (long)(p % side) - (long)(q % side) != lx) continue;
        size_t vector = slice * kept + v;
        sum += at(args->in[0], (vector * coils + a) * side * side + p) *
               conj(at(args->in[0], (vector * coils + b) * side * side + q));
      }
  return sum;
}

void espirit_lags_reference(const struct host_args *args) {
  size_t reach = args->value[3].u - 1, count = 2 * reach + 1;
  for (size_t i = 0; i < args->rows; i++)
    put(args->out[1], i,
        lag_of(args, i / (count * count), (long)(i / count % count) - (long)reach,
               (long)(i % count) - (long)reach));
}

void espirit_rows_reference(const struct host_args *args) {
  size_t reach = args->value[2].u - 1, count = 2 * reach + 1, height = args->value[3].u;
  for (size_t i = 0; i < args->rows; i++) {
    long y = (long)(i / count % height) - (long)(height / 2);
    double complex sum = 0;
    for (size_t l = 0; l < count; l++)
      sum += at(args->in[0], (i / count / height * count + l) * count + i % count) *
             turn(((long)l - (long)reach) * y, height);
    put(args->out[1], i, sum);
  }
}

/* ---- pixels ------------------------------------------------------------------------------------------- */

struct pixel {
  size_t coils, sets;
  double complex entry[COILS_MOST][COILS_MOST], vector[SETS_MOST][COILS_MOST];
  double value[SETS_MOST];
};

static void fill_pixel(const struct host_args *args, size_t row, struct pixel *pixel) {
  size_t coils = args->value[4].u, side = args->value[5].u, height = args->value[9].u,
         width = args->value[10].u;
  size_t entries = coils * (coils + 1) / 2, count = 2 * side - 1, place = args->value[11].u + row;
  size_t slice = place / (height * width), y = place / width % height;
  long x = (long)(place % width) - (long)(width / 2);
  *pixel = (struct pixel){.coils = coils, .sets = args->value[6].u};
  for (size_t e = 0; e < entries; e++) {
    size_t b = 0, a = find_entry(e, coils, &b);
    double complex sum = 0;
    for (size_t l = 0; l < count; l++)
      sum += at(args->in[0], ((slice * entries + e) * height + y) * count + l) *
             turn(((long)l - (long)(side - 1)) * x, width);
    pixel->entry[b][a] = conj(sum) / (double)(side * side);
    pixel->entry[a][b] = sum / (double)(side * side);
    put(args->out[2], e * args->rows + row, pixel->entry[a][b]);
  }
}

static void step(struct pixel *pixel) {
  size_t coils = pixel->coils, sets = pixel->sets;
  for (size_t s = 0; s < sets; s++) {
    double complex from[COILS_MOST];
    for (size_t c = 0; c < coils; c++) from[c] = pixel->vector[s][c];
    for (size_t a = 0; a < coils; a++) {
      pixel->vector[s][a] = 0;
      for (size_t b = 0; b < coils; b++) pixel->vector[s][a] += pixel->entry[a][b] * from[b];
    }
  }
  for (size_t s = sets; s-- > 0;) {
    double square = 0;
    for (size_t t = s + 1; t < sets; t++) {
      double complex part = 0;
      for (size_t c = 0; c < coils; c++) part += conj(pixel->vector[t][c]) * pixel->vector[s][c];
      for (size_t c = 0; c < coils; c++) pixel->vector[s][c] -= part * pixel->vector[t][c];
    }
    for (size_t c = 0; c < coils; c++) square += creal(pixel->vector[s][c] * conj(pixel->vector[s][c]));
    pixel->value[s] = sqrt(square);
    for (size_t c = 0; c < coils && square > 0; c++) pixel->vector[s][c] /= pixel->value[s];
  }
}

void espirit_solve_reference(const struct host_args *args) {
  size_t coils = args->value[4].u, most = args->value[7].u, first = args->value[8].u,
         pixels = (size_t)args->value[9].u * args->value[10].u;
  struct pixel pixel = {0};
  for (size_t i = 0; i < args->rows; i++) {
    size_t place = args->value[11].u + i, slice = place / pixels;
    fill_pixel(args, i, &pixel);
    for (size_t s = 0; s < pixel.sets; s++) pixel.vector[s][s] = 1;
    for (int k = 0; k < STEPS; k++) step(&pixel);
    for (size_t s = 0; s < pixel.sets; s++) {
      double complex sum = 0;
      for (size_t c = 0; c < coils; c++) sum += conj(pixel.vector[s][c]) * at(args->in[1], slice * coils + c);
      double complex factor = cabs(sum) > 0 ? sum / cabs(sum) : 1;
      if (pixel.value[s] < (double)args->value[12].f) factor = 0;
      size_t plane = ((first + slice) * pixel.sets + pixel.sets - 1 - s) * most;
      for (size_t c = 0; c < coils; c++)
        put(args->out[3], (plane + c) * pixels + place % pixels, factor * pixel.vector[s][c]);
    }
  }
}

enum { PIXELS_A_GROUP = 4 };

/* As espirit_solve; matrices are not kept. */
void espirit_solve_few_reference(const struct host_args *args) {
  size_t pixels = args->value[10].u, rows = args->rows * PIXELS_A_GROUP, coils = args->value[3].u;
  struct host_args whole = {.in = {args->in[0], args->in[1]}, .rows = rows < pixels ? rows : pixels};
  whole.out[2] = calloc(coils * (coils + 1) * whole.rows, 2 * sizeof(float));
  whole.out[3] = args->out[2];
  for (int v = 0; v < 7; v++) whole.value[4 + v] = args->value[3 + v];
  whole.value[12] = args->value[11];
  if (whole.out[2]) espirit_solve_reference(&whole);
  free(whole.out[2]);
}

/* ---- sizes that fit the buffers ----------------------------------------------------------------------- */

void espirit_region_prepare(struct host_args *args, struct random *random) {
  uint32_t rows = (uint32_t)args->rows, coils = 1 + random_u32(random) % 3, wide = 1 + random_u32(random) % 7,
           high = 1 + random_u32(random) % 5;
  while (rows % (coils * high * wide)) coils = high = rows % wide ? (wide = 1) : 1;
  args->value[2].u = rows / (coils * high * wide) < args->table_rows[TABLE_SLICE] - 2 ? 2 : 0;
  args->value[3].u = 3;
  args->value[4].u = coils;
  args->value[5].u = high;
  args->value[6].u = wide;
  args->value[7].u = high + random_u32(random) % 6;
  args->value[8].u = wide + random_u32(random) % 6;
}

void espirit_gram_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % 3;
  args->value[3].u = 3 + random_u32(random) % 5;
  args->value[4].u = 3 + random_u32(random) % 5;
  args->value[5].u = 1 + random_u32(random) % 3;
}

void espirit_lags_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % 4;
  args->value[3].u = 1 + random_u32(random) % 4;
  args->value[4].u = 1 + random_u32(random) % 5;
}

void espirit_rows_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % 4;
  args->value[3].u = 1 + random_u32(random) % 9;
}

void espirit_solve_prepare(struct host_args *args, struct random *random) {
  uint32_t coils = 1 + random_u32(random) % 3;
  args->value[4].u = coils;
  args->value[5].u = 1 + random_u32(random) % 3;
  args->value[6].u = coils > 1 ? 1 + random_u32(random) % 2 : 1;
  args->value[7].u = 3;
  args->value[8].u = random_u32(random) % 2;
  args->value[9].u = 4 + random_u32(random) % 3;
  args->value[10].u = 5 + random_u32(random) % 3;
  args->value[11].u = random_u32(random) % 5;
  args->value[12].f = random_u32(random) % 3 ? 0.0f : 1e9f;
}

/* The last group has a pixel less than others. */
void espirit_solve_few_prepare(struct host_args *args, struct random *random) {
  uint32_t coils = 1 + random_u32(random) % 3;
  args->value[3].u = coils;
  args->value[4].u = 1 + random_u32(random) % 3;
  args->value[5].u = coils > 1 ? 1 + random_u32(random) % 2 : 1;
  args->value[6].u = 3;
  args->value[7].u = random_u32(random) % 2;
  args->value[8].u = 4 + random_u32(random) % 3;
  args->value[9].u = 5 + random_u32(random) % 3;
  args->value[10].u = (uint32_t)args->rows * PIXELS_A_GROUP - 1;
  args->value[11].f = random_u32(random) % 3 ? 0.0f : 1e9f;
}

void espirit_seen_reference(const struct host_args *args) {
  size_t first = args->value[2].u, most = args->value[3].u, coils = args->value[4].u, pixels = args->value[5].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *own = (const float *)args->in[0] + 2 * (first + row) * most * pixels;
    uint32_t seen = 0;
    for (size_t i = 0; i < 2 * coils * pixels; i++) seen |= own[i] != 0;
    ((uint32_t *)args->out[1])[row] = seen;
  }
}

/* Every other slice sees nothing, or one value of the last coil alone. */
void espirit_seen_prepare(struct host_args *args, struct random *random) {
  uint32_t pixels = 1 + random_u32(random) % (uint32_t)(args->height * args->width), most = 1 + random_u32(random) % 3;
  float *maps = (float *)args->in[0];
  args->value[2].u = random_u32(random) % 3;
  args->value[3].u = most;
  args->value[4].u = 1 + random_u32(random) % most;
  args->value[5].u = pixels;
  size_t slice = 2 * (size_t)most * pixels, end = 2 * (size_t)args->value[4].u * pixels;
  for (size_t row = 0; row < args->rows; row += 2) {
    float *own = maps + (args->value[2].u + row) * slice;
    for (size_t i = 0; i < end; i++) own[i] = 0;
    if (random_u32(random) % 2) own[end - 1] = 1e-30f;
  }
}
