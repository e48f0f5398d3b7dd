#include "kernels/kernels.h"

#include "components/components.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* The pixel of a masked slice, straight from the definition of the inverse transform (PROTOCOL 1.2): hybrid
 * frequency n is line c = n + W/2 (mod W), with the centre c = W/2 of k-space at frequency 0. Mask NULL: all.
 */
static double complex complex_pixel(const struct host_args *args, const uint8_t *mask, const float *hybrid, size_t y,
                                    size_t x) {
  size_t width = args->width, half = width / 2;
  double re = 0, im = 0;
  for (size_t line = 0; line < width; line++) {
    if (mask && !mask[line]) continue;
    size_t n = (line + width - half) % width;
    const float *value = hybrid + 2 * (n * args->height + y);
    double turn = 2 * M_PI * fmod(((double)line - (double)half) * ((double)x - (double)half), (double)width) /
                  (double)width;
    re += value[0] * cos(turn) - value[1] * sin(turn);
    im += value[0] * sin(turn) + value[1] * cos(turn);
  }
  return (re + I * im) / sqrt((double)width);
}

static double pixel(const struct host_args *args, const uint8_t *mask, const float *hybrid, size_t y, size_t x) {
  return cabs(complex_pixel(args, mask, hybrid, y, x));
}

/* The scan's magnitude, mean and deviation into the arguments from `place` on. */
static void fill_scan(const struct host_args *args, const uint8_t *mask, const float *hybrid, int place,
                      size_t row) {
  size_t pixels = args->height * args->width;
  float *magnitude = (float *)args->out[place] + row * pixels;
  double sum = 0, square = 0;
  for (size_t i = 0; i < pixels; i++) {
    double value = pixel(args, mask, hybrid, i / args->width, i % args->width);
    magnitude[i] = (float)value;
    sum += value;
    square += value * value;
  }
  double mean = sum / (double)pixels;
  ((float *)args->out[place + 1])[row] = (float)mean;
  ((float *)args->out[place + 2])[row] = (float)sqrt(fmax(square - sum * mean, 0) / (double)(pixels - 1));
}

void observe_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  size_t pixels = args->height * args->width;
  for (size_t row = 0; row < args->rows; row++)
    fill_scan(args, (const uint8_t *)args->in[1] + row * args->width,
              (const float *)args->in[2] + 2 * slice[row] * pixels, 4, row);
}

/* The union of the chosen actions' cells. */
static void find_taken(const struct host_args *args, const uint32_t *cells, size_t scan, uint8_t *taken) {
  size_t pixels = args->height * args->width, each = pixels / args->actions;
  const uint8_t *mask = (const uint8_t *)args->in[1] + scan * args->actions;
  memset(taken, 0, pixels);
  for (size_t i = 0; i < pixels; i++)
    if (mask[i / each] && cells[i] != NO_CELL) taken[cells[i]] = 1;
}

/* Adds a cell of k-space to its column, transformed along the rows. */
static void add_cell(const struct host_args *args, const float *value, size_t cell, float *hybrid) {
  size_t height = args->height, m = cell / args->width, n = cell % args->width, half = height / 2;
  double scale = 1 / sqrt((double)height), row = (double)((m + half) % height) - (double)half;
  for (size_t y = 0; y < height; y++) {
    double turn = 2 * M_PI * fmod(row * ((double)y - (double)half), (double)height) / (double)height;
    float *to = hybrid + 2 * (n * height + y);
    to[0] += (float)(scale * (value[0] * cos(turn) - value[1] * sin(turn)));
    to[1] += (float)(scale * (value[0] * sin(turn) + value[1] * cos(turn)));
  }
}

void observe_cells_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  size_t pixels = args->height * args->width;
  struct arena *arena = arena_open();
  uint8_t *taken = ARENA_NEW(arena, uint8_t, pixels);
  for (size_t scan = 0; scan < args->value[10].u; scan++) {
    const float *kspace = (const float *)args->in[2] + 2 * slice[scan] * pixels;
    float *hybrid = (float *)args->out[6] + 2 * (scan % args->rows) * pixels;
    find_taken(args, args->in[3], scan, taken);
    memset(hybrid, 0, 2 * pixels * sizeof *hybrid);
    for (size_t cell = 0; cell < pixels; cell++)
      if (taken[cell]) add_cell(args, kspace + 2 * cell, cell, hybrid);
    fill_scan(args, NULL, hybrid, 7, scan);
  }
  arena_close(arena);
}

/* The root of the sum of the coils' squared magnitudes. */
static void fill_coils(const struct host_args *args, const float *hybrid, size_t coils, size_t scan) {
  size_t pixels = args->height * args->width;
  float *magnitude = (float *)args->out[8] + scan * pixels;
  double sum = 0, square = 0;
  for (size_t i = 0; i < pixels; i++) {
    double all = 0;
    for (size_t coil = 0; coil < coils; coil++) {
      double value = pixel(args, NULL, hybrid + 2 * coil * pixels, i / args->width, i % args->width);
      all += value * value;
    }
    magnitude[i] = (float)sqrt(all);
    sum += sqrt(all);
    square += all;
  }
  double mean = sum / (double)pixels;
  ((float *)args->out[9])[scan] = (float)mean;
  ((float *)args->out[10])[scan] = (float)sqrt(fmax(square - sum * mean, 0) / (double)(pixels - 1));
}

void observe_coils_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  size_t pixels = args->height * args->width, most = args->value[11].u;
  struct arena *arena = arena_open();
  uint8_t *taken = ARENA_NEW(arena, uint8_t, pixels);
  for (size_t scan = 0; scan < args->value[12].u; scan++) {
    size_t coils = ((const uint32_t *)args->in[2])[slice[scan]];
    float *hybrid = (float *)args->out[7] + 2 * (scan % args->rows) * most * pixels;
    find_taken(args, args->in[4], scan, taken);
    memset(hybrid, 0, 2 * coils * pixels * sizeof *hybrid);
    for (size_t coil = 0; coil < coils; coil++)
      for (size_t cell = 0; cell < pixels; cell++)
        if (taken[cell])
          add_cell(args, (const float *)args->in[3] + 2 * ((slice[scan] * most + coil) * pixels + cell), cell,
                   hybrid + 2 * coil * pixels);
    fill_coils(args, hybrid, coils, scan);
  }
  arena_close(arena);
}

/* What the coils see of a pixel through a set of maps. */
static double joined(const struct host_args *args, const float *hybrid, const float *maps, size_t coils, size_t i) {
  size_t pixels = args->height * args->width;
  double complex all = 0;
  double size = 0;
  for (size_t coil = 0; coil < coils; coil++) {
    const float *map = maps + 2 * (coil * pixels + i);
    double complex own = (double)map[0] + I * (double)map[1];
    all += conj(own) * complex_pixel(args, NULL, hybrid + 2 * coil * pixels, i / args->width, i % args->width);
    size += creal(own * conj(own));
  }
  return size > 0 ? cabs(all) / size : 0;
}

/* Magnitudes of the slice's maps' combination of what the coils see. */
static void fill_maps(const struct host_args *args, const float *hybrid, const float *maps, size_t coils, size_t sets, size_t scan) {
  size_t pixels = args->height * args->width, most = args->value[12].u;
  float *magnitude = (float *)args->out[9] + scan * pixels;
  double sum = 0, square = 0;
  for (size_t i = 0; i < pixels; i++) {
    double value = 0;
    for (size_t set = 0; set < sets; set++)
      value = hypot(value, joined(args, hybrid, maps + 2 * set * most * pixels, coils, i));
    magnitude[i] = (float)value;
    sum += value;
    square += value * value;
  }
  double mean = sum / (double)pixels;
  ((float *)args->out[10])[scan] = (float)mean;
  ((float *)args->out[11])[scan] = (float)sqrt(fmax(square - sum * mean, 0) / (double)(pixels - 1));
}

static void observe_by_maps(const struct host_args *args, size_t sets) {
  const uint32_t *slice = args->in[0];
  size_t pixels = args->height * args->width, most = args->value[12].u;
  struct arena *arena = arena_open();
  uint8_t *taken = ARENA_NEW(arena, uint8_t, pixels);
  for (size_t scan = 0; scan < args->value[13].u; scan++) {
    size_t coils = ((const uint32_t *)args->in[2])[slice[scan]], first = slice[scan] * most * pixels;
    float *hybrid = (float *)args->out[8] + 2 * (scan % args->rows) * most * pixels;
    find_taken(args, args->in[5], scan, taken);
    memset(hybrid, 0, 2 * coils * pixels * sizeof *hybrid);
    for (size_t i = 0; i < coils * pixels; i++)
      if (taken[i % pixels])
        add_cell(args, (const float *)args->in[3] + 2 * (first + i), i % pixels, hybrid + 2 * (i / pixels) * pixels);
    fill_maps(args, hybrid, (const float *)args->in[4] + 2 * sets * first, coils, sets, scan);
  }
  arena_close(arena);
}

void observe_maps_reference(const struct host_args *args) {
  observe_by_maps(args, 1);
}

void observe_sets_reference(const struct host_args *args) {
  observe_by_maps(args, args->value[14].u);
}

static void fill_phase(struct host_args *args, int place, size_t length) {
  float *phase = (float *)args->in[place];
  for (size_t k = 0; k < length; k++) {
    phase[2 * k] = (float)cos(2 * M_PI * (double)k / (double)length);
    phase[2 * k + 1] = (float)sin(2 * M_PI * (double)k / (double)length);
  }
}

void observe_prepare(struct host_args *args, struct random *random) {
  uint32_t *slice = (uint32_t *)args->in[0];
  uint8_t *mask = (uint8_t *)args->in[1];
  for (size_t row = 0; row < args->rows; row++) {
    slice[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
    uint32_t density = row % 8; /* the first row acquires nothing */
    for (size_t line = 0; line < args->width; line++)
      mask[row * args->width + line] = random_u32(random) % 8 < density;
  }
  fill_phase(args, 3, args->width);
}

/* More scans than work-groups; actions of up to a dozen cells, some of none; points of one, in any order. */
static void prepare_cells(struct host_args *args, struct random *random, int cells_at, int scans) {
  uint32_t *slice = (uint32_t *)args->in[0], *cells = (uint32_t *)args->in[cells_at];
  uint32_t pixels = (uint32_t)(args->width * args->height), each = pixels / (uint32_t)args->actions;
  uint8_t *mask = (uint8_t *)args->in[1];
  args->value[scans].u = (uint32_t)args->rows + 2;
  for (size_t row = 0; row < args->value[scans].u; row++) {
    slice[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
    for (size_t i = 0; i < args->actions; i++)
      mask[row * args->actions + i] = random_u32(random) % 8 < row % 8;
  }
  for (size_t i = 0; i < pixels; i++)
    cells[i] = args->actions == pixels    ? (uint32_t)(7 * i + 3) % pixels
               : i % each < i / each % 12 ? random_u32(random) % pixels
                                          : NO_CELL;
  fill_phase(args, cells_at + 1, args->width);
  fill_phase(args, cells_at + 2, args->height);
}

void observe_cells_prepare(struct host_args *args, struct random *random) {
  prepare_cells(args, random, 3, 10);
}

/* One to three coils a slice. */
void observe_coils_prepare(struct host_args *args, struct random *random) {
  prepare_cells(args, random, 4, 12);
  args->value[11].u = 3;
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++)
    ((uint32_t *)args->in[2])[i] = 1 + random_u32(random) % 3;
}

void observe_maps_prepare(struct host_args *args, struct random *random) {
  prepare_cells(args, random, 5, 13);
  args->value[12].u = 3;
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++)
    ((uint32_t *)args->in[2])[i] = 1 + random_u32(random) % 3;
  float *maps = (float *)args->in[4];
  for (size_t i = 0; i < 6 * args->table_rows[TABLE_SLICE] * args->height * args->width; i++)
    maps[i] = random_u32(random) % 4 ? (maps[i] < 0 ? -0.2f : 0.2f) + maps[i] : 0;
}

/* Of two sets, half of the slices have room. */
void observe_sets_prepare(struct host_args *args, struct random *random) {
  observe_maps_prepare(args, random);
  args->value[14].u = 1 + random_u32(random) % 2;
  uint32_t slices = (uint32_t)args->table_rows[TABLE_SLICE] / args->value[14].u;
  for (size_t scan = 0; scan < args->value[13].u; scan++) ((uint32_t *)args->in[0])[scan] %= slices;
}

/* ---- back to the mask -------------------------------------------------------------------------------- */

/* exp(2 pi i (line - W/2) (x - W/2) / W). */
static double complex turn_of(size_t width, size_t line, size_t x) {
  double half = (double)(width / 2);
  return cexp(2 * M_PI * I * fmod(((double)line - half) * ((double)x - half), (double)width) / (double)width);
}

static double complex value_of(const struct host_args *args, const float *hybrid, size_t line, size_t y) {
  const float *value = hybrid + 2 * ((line + args->width - args->width / 2) % args->width * args->height + y);
  return value[0] + I * value[1];
}

/* The gradient of every magnitude, through its clamp, mean and deviation. */
static void magnitude_gradient(const struct host_args *args, size_t row, double *gradient) {
  size_t pixels = args->height * args->width;
  const float *magnitude = (const float *)args->in[4] + row * pixels,
              *above = (const float *)args->in[8] + row * pixels;
  double mean = ((const float *)args->in[5])[row], deviation = ((const float *)args->in[6])[row];
  double unit = ((const float *)args->in[7])[((const uint32_t *)args->in[0])[row]];
  double scale = deviation > 0 ? 1 / (deviation + 1e-11 / unit) : 0, sum = 0, product = 0;
  for (size_t i = 0; i < pixels; i++) {
    double z = (magnitude[i] - mean) * scale;
    gradient[i] = fabs(z) <= 6 ? above[i] : 0;
    sum += gradient[i];
    product += gradient[i] * z;
  }
  for (size_t i = 0; i < pixels; i++) {
    double z = (magnitude[i] - mean) * scale;
    gradient[i] = scale * (gradient[i] - sum / (double)pixels);
    if (deviation > 0) gradient[i] -= z * product / (double)(pixels - 1) / deviation;
  }
}

/* d|s| / dm = Re(conj(s) / |s| ds/dm), with s the sum over lines of mask, value and turn, over sqrt(W). */
static void add_row(const struct host_args *args, size_t row, size_t y, const double *gradient,
                    double *total) {
  const uint8_t *mask = (const uint8_t *)args->in[1] + row * args->width;
  const float *hybrid =
      (const float *)args->in[2] + 2 * ((const uint32_t *)args->in[0])[row] * args->height * args->width;
  for (size_t x = 0; x < args->width; x++) {
    double complex sum = 0;
    for (size_t line = 0; line < args->width; line++)
      if (mask[line]) sum += value_of(args, hybrid, line, y) * turn_of(args->width, line, x);
    if (cabs(sum) == 0) continue;
    double complex along = gradient[y * args->width + x] * conj(sum) / cabs(sum) / sqrt((double)args->width);
    for (size_t line = 0; line < args->width; line++)
      total[line] += creal(along * value_of(args, hybrid, line, y) * turn_of(args->width, line, x));
  }
}

void observe_back_reference(const struct host_args *args) {
  struct arena *arena = arena_open();
  double *gradient = ARENA_NEW(arena, double, args->height * args->width);
  double *total = ARENA_NEW(arena, double, args->width);
  for (size_t row = 0; row < args->rows; row++) {
    memset(total, 0, sizeof(double) * args->width);
    magnitude_gradient(args, row, gradient);
    for (size_t y = 0; y < args->height; y++) add_row(args, row, y, gradient, total);
    for (size_t line = 0; line < args->width; line++)
      ((float *)args->out[9])[row * args->width + line] = (float)total[line];
  }
  arena_close(arena);
}

/* Deviations from none to enough, so that some pixels are clamped. */
void observe_back_prepare(struct host_args *args, struct random *random) {
  observe_prepare(args, random);
  for (size_t row = 0; row < args->rows; row++)
    ((float *)args->in[6])[row] = row % 5 == 1 ? 0 : 0.05f + (float)random_uniform(random);
  for (size_t row = 0; row < args->table_rows[TABLE_SLICE]; row++)
    ((float *)args->in[7])[row] = ldexpf(1, -(int)(random_u32(random) % 40));
}
