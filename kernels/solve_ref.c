#include "kernels/kernels.h"

#include "components/components.h"
#include "kernels/complex_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double square(value a) {
  return creal(a) * creal(a) + cimag(a) * cimag(a);
}

static size_t coils_of(const struct host_args *args, int coils, size_t slice, uint32_t most,
                       uint32_t mapped) {
  uint32_t there = ((const uint32_t *)args->in[coils])[slice];
  return !mapped ? 1 : there < most ? there : most;
}

/* ---- the data ------------------------------------------------------------------------------------------ */

void solve_mark_reference(const struct host_args *args) {
  const uint8_t *mask = args->in[0];
  const uint32_t *cells = args->in[1];
  size_t first = args->value[3].u, actions = args->value[4].u, each = args->value[5].u, pixels = args->value[6].u;
  for (size_t row = 0; row < args->rows; row++) {
    uint8_t *taken = (uint8_t *)args->out[2] + row * pixels;
    memset(taken, 0, pixels);
    for (size_t i = 0; i < actions * each; i++)
      if (mask[(first + row) * actions + i / each] && cells[i] != NO_CELL) taken[cells[i]] = 1;
  }
}

void solve_mark_prepare(struct host_args *args, struct random *random) {
  uint32_t pixels = (uint32_t)(args->height * args->width), *cells = (uint32_t *)args->in[1];
  args->value[3].u = 2;
  args->value[4].u = (uint32_t)args->actions;
  args->value[5].u = pixels / (uint32_t)args->actions;
  args->value[6].u = pixels;
  for (uint32_t i = 0; i < pixels; i++)
    cells[i] = random_u32(random) % 8 ? random_u32(random) % pixels : NO_CELL;
}

/* ---- density -------------------------------------------------------------------------------------------- */

/* Centred coordinates of a cell. */
static long centred(size_t place, size_t length) {
  return (long)((place + length / 2) % length) - (long)(length / 2);
}

static double point_area(const uint8_t *taken, size_t cell, size_t height, size_t width) {
  long top = -(long)(height / 2), left = -(long)(width / 2), y = centred(cell / width, height),
       x = centred(cell % width, width), all = 0, count = 0;
  for (long v = y - 5; v <= y + 5; v++)
    for (long u = x - 5; u <= x + 5; u++) {
      if (v < top || u < left || v >= top + (long)height || u >= left + (long)width) continue;
      size_t row = (size_t)(v < 0 ? v + (long)height : v), column = (size_t)(u < 0 ? u + (long)width : u);
      all++;
      count += taken[row * width + column];
    }
  return (double)all / (double)count;
}

/* Half the angle between the spokes beside it, times the step along it. */
static double spoke_area(const uint8_t *chosen, size_t spoke, size_t spokes) {
  size_t before = spoke + spokes - 1, after = spoke + 1;
  while (!chosen[before % spokes]) before--;
  while (!chosen[after % spokes]) after++;
  double angle = M_PI * (double)spoke / (double)spokes, along = fmax(fabs(cos(angle)), fabs(sin(angle)));
  return M_PI * (double)(after + spokes - before) / (2 * (double)spokes) / along;
}

void solve_density_reference(const struct host_args *args) {
  const uint32_t *cells = args->in[1];
  size_t first = args->value[4].u, actions = args->value[5].u, each = args->value[6].u, height = args->value[7].u,
         width = args->value[8].u, pixels = height * width;
  for (size_t row = 0; row < args->rows; row++) {
    const uint8_t *chosen = (const uint8_t *)args->in[0] + (first + row) * actions,
                  *taken = (const uint8_t *)args->in[2] + row * pixels;
    float *weights = (float *)args->out[3] + row * pixels;
    for (size_t cell = 0; cell < pixels; cell++) {
      double sum = 0, distance = hypot((double)centred(cell / width, height), (double)centred(cell % width, width));
      for (size_t i = 0; each > 1 && i < actions * each; i++)
        if (chosen[i / each] && cells[i] == cell) sum += distance * spoke_area(chosen, i / each, actions);
      double area = each > 1 ? fmax(sum, 1) : taken[cell] ? point_area(taken, cell, height, width) : 0;
      weights[cell] = taken[cell] ? (float)area : 0;
    }
  }
}

/* No action has a cell twice, and some have cells of others. */
void solve_density_prepare(struct host_args *args, struct random *random) {
  uint32_t pixels = (uint32_t)(args->height * args->width), each = pixels / (uint32_t)args->actions, *cells = (uint32_t *)args->in[1];
  uint8_t *mask = (uint8_t *)args->in[0], *taken = (uint8_t *)args->in[2];
  args->value[4].u = 2;
  args->value[5].u = (uint32_t)args->actions;
  args->value[6].u = each;
  args->value[7].u = (uint32_t)args->height;
  args->value[8].u = (uint32_t)args->width;
  for (uint32_t i = 0; i < pixels; i++)
    cells[i] = random_u32(random) % 8 ? (i / each * (each / 2 + 1) + i % each) % pixels : NO_CELL;
  for (size_t i = 0; i < (args->rows + 2) * args->actions; i++) mask[i] = random_u32(random) % 4 == 0;
  for (size_t i = 0; i < args->rows * pixels; i++) taken[i] = random_u32(random) % 4 == 0;
}

void solve_weigh_reference(const struct host_args *args) {
  size_t most = args->value[2].u, pixels = args->value[3].u;
  for (size_t i = 0; i < args->rows * pixels; i++)
    put(args->out[1], i, get(args->out[1], i) * (double)((const float *)args->in[0])[i / pixels / most * pixels + i % pixels]);
}

void solve_weigh_prepare(struct host_args *args, struct random *random) {
  (void)random;
  args->value[2].u = 2;
  args->value[3].u = (uint32_t)(args->height * args->width);
}

/* Indices in range, and up to three coils. */
static void prepare_slices(struct host_args *args, struct random *random, bool coils) {
  uint32_t *slice = (uint32_t *)args->in[0], count = (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t row = 0; row < args->rows + 3; row++) slice[row] = random_u32(random) % count;
  for (size_t i = 0; coils && i < count; i++) ((uint32_t *)args->in[1])[i] = 1 + random_u32(random) % 3;
}

void solve_gather_reference(const struct host_args *args) {
  size_t first = args->value[5].u, most = args->value[6].u, mapped = args->value[7].u,
         height = args->value[8].u, width = args->value[9].u, hybrid = args->value[10].u,
         pixels = height * width;
  for (size_t row = 0; row < args->rows; row++) {
    size_t slice = ((const uint32_t *)args->in[0])[first + row / most];
    const uint8_t *taken = (const uint8_t *)args->in[3] + row / most * pixels;
    bool there = row % most < coils_of(args, 1, slice, (uint32_t)most, (uint32_t)mapped);
    for (size_t y = 0; y < height; y++)
      for (size_t x = 0; x < width; x++) {
        size_t from = hybrid ? x * height + y : y * width + x;
        bool kept = there && taken[hybrid ? x : y * width + x];
        put(args->out[4], row * pixels + y * width + x,
            kept ? get(args->in[2], (slice * most + row % most) * pixels + from) : 0);
      }
  }
}

void solve_gather_prepare(struct host_args *args, struct random *random) {
  prepare_slices(args, random, true);
  args->value[5].u = 1;
  args->value[6].u = args->rows % 2 ? 3 : 1;
  args->value[7].u = args->rows % 2;
  args->value[8].u = (uint32_t)args->height;
  args->value[9].u = (uint32_t)args->width;
  args->value[10].u = args->width % 2;
}

void solve_combine_reference(const struct host_args *args) {
  size_t first = args->value[5].u, most = args->value[6].u, mapped = args->value[7].u,
         height = args->value[8].u, width = args->value[9].u, pixels = height * width;
  for (size_t i = 0; i < args->rows * pixels; i++) {
    size_t row = i / pixels, y = i % pixels / width, x = i % width,
           slice = ((const uint32_t *)args->in[0])[first + row];
    size_t from_y = args->value[10].u ? (y + height - height / 2) % height : y,
           from_x = args->value[11].u ? (x + width - width / 2) % width : x;
    value sum = 0;
    for (size_t coil = 0; coil < coils_of(args, 1, slice, (uint32_t)most, (uint32_t)mapped); coil++) {
      value map = mapped ? get(args->in[2], (slice * most + coil) * pixels + i % pixels) : 1;
      sum += conj(map) * get(args->in[3], (row * most + coil) * pixels + from_y * width + from_x);
    }
    put(args->out[4], i, sum);
  }
}

void solve_combine_prepare(struct host_args *args, struct random *random) {
  solve_gather_prepare(args, random);
  args->value[10].u = 1;
  args->value[11].u = args->width % 2;
}

void solve_magnitude_reference(const struct host_args *args) {
  size_t first = args->value[5].u, most = args->value[6].u, mapped = args->value[7].u, height = args->value[8].u,
         width = args->value[9].u, pixels = height * width;
  for (size_t i = 0; i < args->rows * pixels; i++) {
    size_t row = i / pixels, slice = ((const uint32_t *)args->in[0])[first + row];
    size_t from = (i % pixels / width + height - height / 2) % height * width + (i % width + width - width / 2) % width;
    value sum = 0;
    double squares = 0;
    for (size_t coil = 0; coil < (most > 1 ? coils_of(args, 1, slice, (uint32_t)most, 1) : 1); coil++) {
      value map = get(args->in[2], (slice * most + coil) * pixels + i % pixels),
            plane = get(args->in[3], (row * most + coil) * pixels + from);
      sum += conj(map) * plane;
      squares += pow(cabs(mapped ? map : plane), 2);
    }
    put(args->out[4], i, !mapped ? sqrt(squares) : squares > 0 ? cabs(sum) / squares : 0);
  }
}

void solve_magnitude_prepare(struct host_args *args, struct random *random) {
  solve_gather_prepare(args, random);
}

void solve_spread_reference(const struct host_args *args) {
  size_t first = args->value[5].u, most = args->value[6].u, pixels = args->value[7].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t slice = ((const uint32_t *)args->in[0])[first + row / most];
    bool there = row % most < coils_of(args, 1, slice, (uint32_t)most, 1);
    for (size_t i = 0; i < pixels; i++)
      put(args->out[4], row * pixels + i,
          there ? get(args->in[2], (slice * most + row % most) * pixels + i) *
                      get(args->in[3], row / most * pixels + i)
                : 0);
  }
}

void solve_spread_prepare(struct host_args *args, struct random *random) {
  prepare_slices(args, random, true);
  args->value[5].u = 1;
  args->value[6].u = 3;
  args->value[7].u = (uint32_t)(args->height * args->width);
}

void solve_keep_reference(const struct host_args *args) {
  size_t most = args->value[2].u, pixels = args->value[3].u;
  for (size_t i = 0; i < args->rows * pixels; i++)
    if (!((const uint8_t *)args->in[0])[i / (most * pixels) * pixels + i % pixels]) put(args->out[1], i, 0);
}

void solve_keep_prepare(struct host_args *args, struct random *random) {
  (void)random;
  args->value[2].u = 2;
  args->value[3].u = (uint32_t)(args->height * args->width);
}

/* ---- the unit of weights ------------------------------------------------------------------------------- */

enum { SIDE = 32 };

struct block {
  size_t top, left, height, width;
};

static size_t shorter(size_t a, size_t b) {
  return a < b ? a : b;
}

static struct block block_of(const struct host_args *args, size_t tall, size_t wide) {
  size_t h = args->height, w = args->width, rows = shorter(h, SIDE), columns = shorter(w, SIDE);
  return (struct block){(h - rows) / 2 + (rows - tall) / 2, (w - columns) / 2 + (columns - wide) / 2, tall,
                        wide};
}

static size_t cell_of(const struct host_args *args, size_t y, size_t x) {
  size_t h = args->height, w = args->width;
  return (y + h - h / 2) % h * w + (x + w - w / 2) % w;
}

static bool is_full(const struct host_args *args, const uint8_t *taken, struct block block) {
  for (size_t i = 0; i < block.height * block.width; i++)
    if (!taken[cell_of(args, block.top + i / block.width, block.left + i % block.width)]) return false;
  return true;
}

static struct block find_block(const struct host_args *args, const uint8_t *taken) {
  size_t tall = 1, wide = 1;
  for (bool rows = true, columns = true; rows || columns;) {
    rows = rows && tall < shorter(args->height, SIDE) && is_full(args, taken, block_of(args, tall + 1, wide));
    tall += rows;
    columns =
        columns && wide < shorter(args->width, SIDE) && is_full(args, taken, block_of(args, tall, wide + 1));
    wide += columns;
  }
  return block_of(args, tall, wide);
}

/* The k-space of a cell, of hybrid data by the definition of the transform. */
static value cell_value(const struct host_args *args, size_t plane, size_t cell) {
  size_t h = args->height, w = args->width, row = cell / w, column = cell % w;
  value sum = 0;
  if (!args->value[10].u) return get(args->in[2], plane * h * w + cell);
  for (size_t y = 0; y < h; y++)
    sum += get(args->in[2], plane * h * w + column * h + y) *
           cexp(-2 * M_PI * I * (double)row * ((double)y - (double)(h / 2)) / (double)h);
  return sum / sqrt((double)h);
}

/* The value at a pixel of the block's own inverse transform. */
static value block_pixel(const struct host_args *args, const value *cells, struct block block, size_t pixel) {
  double y = (double)(pixel / block.width) / (double)block.height + 0.5,
         x = (double)(pixel % block.width) / (double)block.width + 0.5;
  value sum = 0;
  for (size_t i = 0; i < block.height * block.width; i++) {
    double row = (double)(block.top + i / block.width) - (double)(args->height / 2),
           column = (double)(block.left + i % block.width) - (double)(args->width / 2);
    sum += cells[i] * cexp(2 * M_PI * I * (row * y + column * x));
  }
  return sum / sqrt((double)(block.height * block.width));
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double scale_of(const struct host_args *args, size_t row, struct block block, double *power) {
  size_t slice = ((const uint32_t *)args->in[0])[args->value[5].u + row], most = args->value[6].u;
  size_t count = block.height * block.width,
         coils = coils_of(args, 1, slice, (uint32_t)most, args->value[7].u);
  value *cells = malloc(count * sizeof *cells);
  memset(power, 0, count * sizeof *power);
  for (size_t coil = 0; coil < coils; coil++) {
    for (size_t i = 0; i < count; i++)
      cells[i] = cell_value(args, slice * most + coil,
                            cell_of(args, block.top + i / block.width, block.left + i % block.width));
    for (size_t i = 0; i < count; i++) power[i] += square(block_pixel(args, cells, block, i));
  }
  free(cells);
  qsort(power, count, sizeof *power, by_size);
  double median = sqrt(power[count / 2]), high = sqrt(power[count * 9 / 10]), top = sqrt(power[count - 1]);
  double chosen = top - high < 2 * (high - median) ? high : top;
  return chosen * sqrt((double)count / (double)(args->height * args->width));
}

void solve_scale_reference(const struct host_args *args) {
  size_t pixels = args->height * args->width;
  double *power = malloc(SIDE * SIDE * sizeof *power);
  for (size_t row = 0; row < args->rows; row++) {
    const uint8_t *taken = (const uint8_t *)args->in[3] + row * pixels;
    struct block block = find_block(args, taken);
    double scale = is_full(args, taken, block) ? scale_of(args, row, block, power) : 0;
    ((float *)args->out[4])[row] = (float)(scale > 0 ? scale : 1);
  }
  free(power);
}

/* Blocks of a few cells, whose references are slow; the last scan has none. */
void solve_scale_prepare(struct host_args *args, struct random *random) {
  uint8_t *taken = (uint8_t *)args->in[3];
  size_t h = args->height, w = args->width, pixels = h * w;
  prepare_slices(args, random, true);
  memset(taken, 0, args->rows * pixels);
  for (size_t row = 0; row + 1 < args->rows || !row; row++)
    for (size_t y = 0; y < 3 + row % 4; y++)
      for (size_t x = 0; x < 4 + row % 3; x++)
        taken[row * pixels + (y + h - 2) % h * w + (x + w - 2) % w] = 1;
  args->value[5].u = 1;
  args->value[6].u = 3;
  args->value[7].u = 1;
  args->value[8].u = (uint32_t)h;
  args->value[9].u = (uint32_t)w;
  args->value[10].u = (uint32_t)(h % 2);
}

/* ---- conjugate gradients ------------------------------------------------------------------------------- */

static void put_four(void *values, size_t row, double x, double y, double z, double w) {
  float *four = (float *)values + 4 * row;
  four[0] = (float)x, four[1] = (float)y, four[2] = (float)z, four[3] = (float)w;
}

void solve_begin_reference(const struct host_args *args) {
  double inner = args->value[8].f, tolerance = args->value[10].f;
  size_t pixels = args->value[11].u;
  for (size_t row = 0; row < args->rows; row++) {
    double sum = 0;
    for (size_t i = row * pixels; i < (row + 1) * pixels; i++) {
      value right = get(args->in[0], i);
      sum += square(right);
      put(args->out[2], i, 0);
      for (int k = 3; k < 6; k++) put(args->out[k], i, right);
    }
    put_four(args->out[6], row, sum, inner * inner * sum,
             args->value[9].f * ((const float *)args->in[1])[row], tolerance * tolerance);
    put_four(args->out[7], row, 0, 0, 0, sum > 0 ? 0 : 1);
  }
}

void solve_begin_prepare(struct host_args *args, struct random *random) {
  (void)random;
  args->value[8].f = 0.25f;
  args->value[9].f = 0.5f;
  args->value[10].f = 0.125f;
  args->value[11].u = (uint32_t)(args->height * args->width);
  if (args->rows > 1) memset((void *)args->in[0], 0, args->value[11].u * sizeof(float[2]));
}

/* The operator's product, of which the kernel adds the prior's part. */
struct step {
  const struct host_args *args;
  void *product, *direction, *solution, *residual;
  size_t start, pixels, height, width;
  double weight; /* of the identity, or of the differences */
  bool differs;
  const void *parts; /* of the scan's blocks */
  size_t blocks;     /* 0: there are none */
};

static value product_at(const struct step *step, const value *direction, size_t i) {
  size_t w = step->width, h = step->height;
  value p = direction[i], q = get(step->product, step->start + i);
  if (!step->differs) return q + step->weight * p;
  size_t set = i / (w * h) * w * h, y = i / w % h, x = i % w;
  const value *own = direction + set;
  return q + step->weight * (4 * p - own[y * w + (x + w - 1) % w] - own[y * w + (x + 1) % w] - own[(y + h - 1) % h * w + x] -
                             own[(y + 1) % h * w + x]);
}

/* Returns the new square of the residual. */
static double take_step(const struct step *step, double before) {
  value *direction = malloc(step->pixels * sizeof *direction);
  double along = 0, after = 0;
  for (size_t i = 0; i < step->pixels; i++) direction[i] = get(step->direction, step->start + i);
  for (size_t i = 0; i < step->pixels; i++)
    along += step->blocks ? 0 : creal(conj(direction[i]) * product_at(step, direction, i));
  for (size_t b = 0; b < step->blocks; b++)
    along += creal(get(step->parts, b)) + step->weight * cimag(get(step->parts, b));
  double length = along != 0 ? before / along : 0;
  for (size_t i = 0; i < step->pixels; i++) {
    size_t at = step->start + i;
    put(step->solution, at, get(step->solution, at) + length * direction[i]);
    put(step->residual, at, get(step->residual, at) - length * product_at(step, direction, i));
    after += square(get(step->residual, at));
  }
  free(direction);
  return after;
}

static void turn(const struct step *step, double part) {
  for (size_t i = step->start; i < step->start + step->pixels; i++) {
    value next = get(step->residual, i) + part * get(step->direction, i);
    put(step->direction, i, next);
    if (!step->blocks) put(step->product, i, next);
  }
}

void solve_conjugate_reference(const struct host_args *args) {
  size_t pixels = args->value[8].u, blocks = args->value[9].u;
  for (size_t row = 0; row < args->rows; row++) {
    float *values = (float *)args->out[5] + 4 * row, *counts = (float *)args->out[6] + 4 * row;
    struct step step = {.args = args,
                        .product = args->out[0],
                        .direction = args->out[1],
                        .solution = args->out[2],
                        .residual = args->out[3],
                        .start = row * pixels,
                        .pixels = pixels,
                        .weight = args->value[7].f,
                        .parts = (const float *)args->in[4] + 2 * row * blocks,
                        .blocks = blocks};
    if (counts[3] > 0) continue;
    double sum = take_step(&step, values[0]);
    turn(&step, sum / values[0]);
    put_four(values, 0, sum, values[1], values[2], values[3]);
    put_four(counts, 0, counts[0] + 1, counts[1] + 1, 0, sum <= values[1] ? 2 : 0);
  }
}

/* The product near the direction, so that the step is a plain number; one scan at its end, one that comes to
 * it. */
static void prepare_step(struct host_args *args, int product, int values, size_t pixels,
                         struct random *random) {
  float *parts = (float *)args->in[values - 1];
  for (size_t i = 0; i < 2 * args->rows * args->width; i++) parts[i] = (float)pixels * (0.01f + fabsf(parts[i]) / 8);
  for (size_t i = 0; i < 2 * args->rows * pixels; i++)
    ((float *)args->out[product])[i] =
        ((float *)args->out[product + 1])[i] * 0.5f + 0.1f * (float)random_uniform(random);
  for (size_t row = 0; row < args->rows; row++) {
    bool ends = row % 3 == 1;
    put_four(args->out[values], row, 0.4 * (double)pixels, ends ? 1e6 * (double)pixels : 1e-6, 0.3, 1e-8);
    put_four(args->out[values + 1], row, row % 5 == 4 ? 9 : 3, 20, row % 7 == 6 ? 39 : 7, row % 4 == 3);
  }
}

void solve_conjugate_prepare(struct host_args *args, struct random *random) {
  args->value[7].f = 0.25f;
  args->value[8].u = (uint32_t)(args->height * args->width);
  args->value[9].u = args->rows % 2 ? 5 : 0;
  prepare_step(args, 0, 5, args->value[8].u, random);
}

/* ---- total variation ----------------------------------------------------------------------------------- */

/* Shrinks the over-relaxed differences of x together: split, and dual that is left. */
static void split_round(const struct step *step, void *split, void *dual, double threshold) {
  size_t w = step->width, h = step->height, n = step->pixels;
  for (size_t i = 0; i < n; i++) {
    size_t set = i / (w * h) * w * h, y = i / w % h, x = i % w;
    size_t before[] = {set + y * w + (x + w - 1) % w, set + (y + h - 1) % h * w + x};
    value relaxed[2];
    for (size_t k = 0; k < 2; k++) {
      size_t at = 2 * step->start + k * n + i;
      value difference = get(step->solution, step->start + i) - get(step->solution, step->start + before[k]);
      relaxed[k] = 1.6 * difference - 0.6 * get(split, at) + get(dual, at);
    }
    double size = sqrt(square(relaxed[0]) + square(relaxed[1])),
           part = size > threshold ? 1 - threshold / size : 0;
    for (size_t k = 0; k < 2; k++) {
      put(split, 2 * step->start + k * n + i, part * relaxed[k]);
      put(dual, 2 * step->start + k * n + i, relaxed[k] - part * relaxed[k]);
    }
  }
}

static value divergence(const struct step *step, const void *split, const void *dual, size_t i) {
  size_t w = step->width, h = step->height, n = step->pixels, set = i / (w * h) * w * h, y = i / w % h, x = i % w;
  size_t after[] = {set + y * w + (x + 1) % w, set + (y + 1) % h * w + x};
  value sum = 0;
  for (size_t k = 0; k < 2; k++) {
    size_t from = 2 * step->start + k * n;
    sum +=
        get(split, from + i) - get(dual, from + i) - get(split, from + after[k]) + get(dual, from + after[k]);
  }
  return sum;
}

/* The next round's residual and side; returns the square of the side. */
static double next_round(const struct step *step, double rho, double *square_of_rest) {
  void *const *out = step->args->out;
  double whole = 0;
  *square_of_rest = 0;
  for (size_t i = 0; i < step->pixels; i++) {
    size_t at = step->start + i;
    value next = get(step->args->in[0], at) + rho * divergence(step, out[6], out[7], i);
    value rest = get(step->residual, at) + next - get(out[5], at);
    put(out[5], at, next);
    put(step->residual, at, rest);
    whole += square(next);
    *square_of_rest += square(rest);
  }
  return whole;
}

/* The last round's direction does not matter any more, and stays. */
static void total_scan(const struct step *step, float *values, float *counts, double rho,
                       uint32_t iterations) {
  double sum = take_step(step, values[0]), part = sum / values[0], limit = values[1], end = 0;
  double inner = counts[0] + 1, all = counts[1] + 1, rounds = counts[2];
  bool ends = sum <= limit || inner >= 10;
  if (ends) {
    inner = part = 0;
    rounds++;
    end = all > iterations || rounds >= iterations;
  }
  bool goes_on = !end;
  if (ends && goes_on) {
    split_round(step, step->args->out[6], step->args->out[7], values[2]);
    double whole = next_round(step, rho, &sum);
    limit = 1e-6 * whole;
    end = sum <= values[3] * whole;
  }
  if (goes_on) turn(step, part);
  put_four(values, 0, sum, limit, values[2], values[3]);
  put_four(counts, 0, inner, all, rounds, end > 0 ? 2 : 0);
}

void solve_total_reference(const struct host_args *args) {
  size_t height = args->value[12].u, width = args->value[13].u, pixels = args->value[11].u * height * width,
         blocks = args->value[16].u;
  for (size_t row = 0; row < args->rows; row++) {
    float *values = (float *)args->out[9] + 4 * row, *counts = (float *)args->out[10] + 4 * row;
    struct step step = {.args = args,
                        .product = args->out[1],
                        .direction = args->out[2],
                        .solution = args->out[3],
                        .residual = args->out[4],
                        .start = row * pixels,
                        .pixels = pixels,
                        .height = height,
                        .width = width,
                        .weight = args->value[14].f,
                        .differs = true,
                        .parts = (const float *)args->in[8] + 2 * row * blocks,
                        .blocks = blocks};
    if (counts[3] == 0) total_scan(&step, values, counts, args->value[14].f, args->value[15].u);
  }
}

void solve_total_prepare(struct host_args *args, struct random *random) {
  bool sets = args->height % 2 == 0 && args->rows % 2;
  args->value[11].u = sets ? 2 : 1;
  args->value[12].u = (uint32_t)args->height / (sets ? 2 : 1);
  args->value[13].u = (uint32_t)args->width;
  args->value[14].f = 0.5f;
  args->value[15].u = 40;
  args->value[16].u = args->rows % 7 ? 5 : 0;
  prepare_step(args, 1, 9, args->height * args->width, random);
}

/* ---- wavelets ------------------------------------------------------------------------------------------ */

static const double low[] = {0.4829629131445341, 0.8365163037378077, 0.2241438680420134, -0.1294095225512603};

static double high(size_t tap) {
  return tap % 2 ? -low[3 - tap] : low[3 - tap];
}

static size_t mirror(long n, size_t length) {
  return (size_t)(n < 0 ? -n - 1 : n >= (long)length ? 2 * (long)length - 1 - n : n);
}

struct layout {
  size_t pitch, first, size;
};

static size_t place_of(struct layout layout, size_t scan, size_t y, size_t x) {
  return scan * layout.size + layout.first + y * layout.pitch + x;
}

static struct layout layout_of(const struct host_args *args, int from) {
  return (struct layout){args->value[from].u, args->value[from + 1].u, args->value[from + 2].u};
}

void solve_part_reference(const struct host_args *args) {
  size_t down = args->value[2].u, height = args->value[3].u, width = args->value[4].u;
  struct layout from = layout_of(args, 5), to = layout_of(args, 8);
  size_t length = down ? height : width, band = (length + 3) / 2, lines = down ? band : height;
  for (size_t i = 0; i < args->rows * (down ? width : band); i++) {
    size_t row = i / (down ? width : band), place = i % (down ? width : band), scan = row / lines;
    size_t line = down ? place : row % lines, entry = down ? row % lines : place;
    value sum[2] = {0, 0};
    for (size_t tap = 0; tap < 4; tap++) {
      size_t n = mirror(2 * (long)entry - 2 + (long)tap, length);
      value v = get(args->in[0], place_of(from, scan, down ? n : line, down ? line : n));
      sum[0] += low[tap] * v;
      sum[1] += high(tap) * v;
    }
    for (size_t k = 0; k < 2; k++) {
      size_t at = k * band + entry;
      put(args->out[1], place_of(to, scan, down ? at : line, down ? line : at), sum[k]);
    }
  }
}

/* Short axes, so that the rows are several scans; the axis by whether there are many of them. */
static void prepare_axis(struct host_args *args, int down) {
  args->value[down].u = args->rows % 2;
  args->value[down + 1].u = 9;
  args->value[down + 2].u = 6;
}

static void put_layout(struct host_args *args, int from, uint32_t pitch, uint32_t first, uint32_t size) {
  args->value[from].u = pitch;
  args->value[from + 1].u = first;
  args->value[from + 2].u = size;
}

void solve_part_prepare(struct host_args *args, struct random *random) {
  (void)random;
  prepare_axis(args, 2);
  put_layout(args, 5, 7, 2, 70);
  put_layout(args, 8, 8, 1, 99);
}

static value shrunk(value v, double threshold, bool kept) {
  double size = sqrt(square(v));
  return kept ? v : size > threshold ? (1 - threshold / size) * v : 0;
}

void solve_join_reference(const struct host_args *args) {
  size_t down = args->value[3].u, height = args->value[4].u, width = args->value[5].u,
         pixels = height * width;
  struct layout from = layout_of(args, 6), to = layout_of(args, 9);
  size_t length = down ? height : width, band = (length + 3) / 2;
  for (size_t i = 0; i < args->rows * width; i++) {
    size_t scan = i / pixels, y = i % pixels / width, x = i % width, place = down ? y : x;
    double threshold = (double)args->value[12].f * ((const float *)args->in[1])[4 * scan + 2];
    value sum = 0;
    for (size_t k = 0; k < 2 * band; k++) {
      long tap = (long)place - 2 * (long)(k % band) + 2;
      if (tap < 0 || tap > 3) continue;
      size_t at_y = down ? k : y, at_x = down ? x : k;
      value v = get(args->in[0], place_of(from, scan, at_y, at_x));
      sum += (k < band ? low[tap] : high((size_t)tap)) *
             shrunk(v, threshold, at_y < args->value[13].u && at_x < args->value[14].u);
    }
    put(args->out[2], place_of(to, scan, y, x), sum);
  }
}

void solve_join_prepare(struct host_args *args, struct random *random) {
  (void)random;
  prepare_axis(args, 3);
  put_layout(args, 6, 10, 2, 130);
  put_layout(args, 9, 7, 1, 66);
  args->value[12].f = 0.5f;
  args->value[13].u = 4;
  args->value[14].u = 3;
}

void solve_momentum_reference(const struct host_args *args) {
  size_t height = args->value[7].u, width = args->value[8].u, pixels = height * width;
  for (size_t row = 0; row < args->rows; row++) {
    float *counts = (float *)args->out[2] + 4 * row;
    double change = 0, whole = 0;
    for (size_t i = 0; counts[3] == 0 && i < pixels; i++) {
      size_t y = (i / width + args->value[9].u) % height, x = (i % width + args->value[10].u) % width;
      value v = get(args->in[0], row * pixels + y * width + x),
            gone = v - get(args->out[3], row * pixels + i);
      put(args->out[3], row * pixels + i, v);
      put(args->out[4], row * pixels + i, v + (double)args->value[6].f * gone);
      put(args->out[5], row * pixels + i, v + (double)args->value[6].f * gone);
      change += square(gone);
      whole += square(v);
    }
    bool ends = change < ((const float *)args->in[1])[4 * row + 3] * whole;
    if (counts[3] == 0) put_four(counts, 0, counts[0] + 1, counts[1] + 1, counts[2] + 1, ends);
  }
}

static void prepare_counts(struct host_args *args, int counts) {
  for (size_t row = 0; row < args->rows; row++) put_four(args->out[counts], row, 1, 2, 3, (double)(row % 3));
}

void solve_momentum_prepare(struct host_args *args, struct random *random) {
  (void)random;
  prepare_counts(args, 2);
  for (size_t row = 0; row < args->rows; row++) ((float *)args->in[1])[4 * row + 3] = row % 2 ? 9.0f : 0.01f;
  args->value[6].f = 0.5f;
  args->value[7].u = (uint32_t)args->height;
  args->value[8].u = (uint32_t)args->width;
  args->value[9].u = 3;
  args->value[10].u = 5;
}

void solve_descend_reference(const struct host_args *args) {
  size_t height = args->value[6].u, width = args->value[7].u, pixels = height * width;
  for (size_t row = 0; row < args->rows; row++) {
    float *counts = (float *)args->out[4] + 4 * row;
    for (size_t i = 0; counts[3] < 2 && i < pixels; i++) {
      size_t at = row * pixels + i, y = (i / width + args->value[8].u) % height,
             x = (i % width + args->value[9].u) % width;
      value next =
          get(args->out[2], at) + (double)args->value[5].f * (get(args->in[1], at) - get(args->in[0], at));
      put(args->out[2], at, next);
      put(args->out[3], row * pixels + y * width + x, next);
    }
    if (counts[3] < 2) counts[3] *= 2;
  }
}

void solve_descend_prepare(struct host_args *args, struct random *random) {
  (void)random;
  prepare_counts(args, 4);
  args->value[5].f = 0.75f;
  args->value[6].u = (uint32_t)args->height;
  args->value[7].u = (uint32_t)args->width;
  args->value[8].u = 3;
  args->value[9].u = 5;
}

/* ---- the image ----------------------------------------------------------------------------------------- */

void solve_store_reference(const struct host_args *args) {
  size_t first = args->value[5].u, pixels = args->value[6].u;
  uint32_t *refused = args->out[4];
  for (size_t i = 0; i < args->rows * pixels; i++) {
    uint32_t row = (uint32_t)(first + i / pixels);
    double scale = ((const float *)args->in[2])[((const uint32_t *)args->in[0])[row]];
    double size = scale * sqrt(square(get(args->in[1], i)));
    ((float *)args->out[3])[first * pixels + i] = (float)size;
    if (!isfinite(size) && row < *refused) *refused = row;
  }
}

void solve_store_prepare(struct host_args *args, struct random *random) {
  size_t pixels = args->height * args->width;
  prepare_slices(args, random, false);
  args->value[5].u = 1;
  args->value[6].u = (uint32_t)pixels;
  *(uint32_t *)args->out[4] = 100;
  if (args->rows > 3) ((float *)args->in[1])[2 * (3 * pixels + 5)] = NAN;
}
