#include "kernels/kernels.h"

#include "components/components.h"
#include "kernels/complex_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t classes_of(size_t width) {
  return width % 16 == 0 && width >= 256 ? 16 : width % 8 == 0 ? 8 : width % 4 == 0 ? 4 : width % 2 == 0 ? 2 : 1;
}

/* ---- lists --------------------------------------------------------------------------------------------- */

/* kept [frequency]: 1 where it is in the list. */
static void write_lists(uint32_t *lines, uint32_t *starts, const uint8_t *kept, size_t width, bool others) {
  size_t classes = classes_of(width), found = 0;
  memset(lines, 0, sizeof *lines * width);
  memset(starts, 0, sizeof *starts * width);
  for (size_t class = 0; class < classes; class++) {
    starts[class] = (uint32_t)found;
    for (size_t n = class; n < width; n += classes)
      if (kept[n]) lines[found++] = (uint32_t)n;
  }
  starts[classes] = (uint32_t)found;
  starts[classes + 1] = others;
}

void hybrid_list_reference(const struct host_args *args) {
  size_t width = args->width, first = args->value[3].u;
  uint8_t kept[1024];
  for (size_t row = 0; row < args->rows; row++) {
    const uint8_t *mask = (const uint8_t *)args->in[0] + (first + row) * width;
    size_t count = 0;
    for (size_t n = 0; n < width; n++) count += mask[n] != 0;
    bool others = args->value[4].u && 2 * count > width;
    for (size_t n = 0; n < width; n++) kept[n] = (mask[(n + width / 2) % width] != 0) != others;
    write_lists((uint32_t *)args->out[1] + row * width, (uint32_t *)args->out[2] + row * width, kept, width, others);
  }
}

void hybrid_list_prepare(struct host_args *args, struct random *random) {
  uint8_t *mask = (uint8_t *)args->in[0];
  args->value[3].u = 2;
  args->value[4].u = args->rows % 2;
  for (size_t i = 0; i < (args->rows + 2) * args->width; i++) mask[i] = random_u32(random) % 8 < i / args->width % 9;
}

/* ---- observations -------------------------------------------------------------------------------------- */

/* 1 for every frequency that the scan's list names. */
static void read_list(const struct host_args *args, size_t scan, uint8_t *kept) {
  const uint32_t *lines = (const uint32_t *)args->in[2] + scan * args->width,
                 *starts = (const uint32_t *)args->in[3] + scan * args->width;
  memset(kept, 0, args->width);
  for (size_t i = 0; i < starts[classes_of(args->width)]; i++) kept[lines[i]] = 1;
}

/* exp(2 pi i n (x - W/2) / W). */
static value turn_of(size_t width, size_t n, size_t x) {
  return cexp(2 * M_PI * I * (double)(n * (x + width - width / 2) % width) / (double)width);
}

/* Row y of the image of the listed frequencies of a coil, `row` [width]. */
static void image_row(const struct host_args *args, const uint8_t *kept, size_t plane, size_t y, value *row) {
  for (size_t x = 0; x < args->width; x++) {
    row[x] = 0;
    for (size_t n = 0; n < args->width; n++)
      if (kept[n])
        row[x] += get(args->in[4], (plane * args->width + n) * args->height + y) * turn_of(args->width, n, x) /
                  sqrt((double)args->width);
  }
}

struct observed {
  value sum[1024], row[1024];
  double squares[1024], maps[1024];
  uint8_t kept[1024];
};

static void observe_row(const struct host_args *args, struct observed *own, size_t scan, size_t y) {
  uint32_t most = args->value[9].u, mapped = args->value[10].u;
  size_t slice = ((const uint32_t *)args->in[0])[scan], width = args->width, pixels = width * args->height;
  uint32_t coils = ((const uint32_t *)args->in[1])[slice];
  *own = (struct observed){0};
  read_list(args, scan, own->kept);
  for (uint32_t coil = 0; coil < coils && coil < most; coil++) {
    image_row(args, own->kept, slice * most + coil, y, own->row);
    for (size_t x = 0; x < width; x++) {
      value map = get(args->in[5], (slice * most + coil) * pixels + y * width + x);
      own->sum[x] += conj(map) * own->row[x];
      own->maps[x] += pow(cabs(map), 2);
      own->squares[x] += pow(cabs(own->row[x]), 2);
    }
  }
  for (size_t x = 0; x < width; x++) {
    double combined = own->maps[x] > 0 ? cabs(own->sum[x]) / own->maps[x] : 0;
    ((float *)args->out[7])[scan * pixels + y * width + x] = (float)(mapped ? combined : sqrt(own->squares[x]));
  }
}

void hybrid_observe_reference(const struct host_args *args) {
  size_t blocks = hybrid_blocks(args->height, args->width), rows = args->width <= 400 ? 8 : 4;
  struct observed *own = malloc(sizeof *own);
  for (size_t row = 0; own && row < args->rows; row++) {
    size_t scan = row / blocks, top = row % blocks * rows, end = top + rows < args->height ? top + rows : args->height;
    const float *image = (const float *)args->out[7] + scan * args->height * args->width;
    double count = (double)((end - top) * args->width), mean = 0, square = 0;
    for (size_t y = top; y < end; y++) observe_row(args, own, scan, y);
    for (size_t i = top * args->width; i < end * args->width; i++) mean += image[i] / count;
    for (size_t i = top * args->width; i < end * args->width; i++) square += pow(image[i] - mean, 2);
    const float part[4] = {(float)count, (float)mean, (float)square, 0};
    memcpy((float *)args->out[8] + 4 * row, part, sizeof part);
  }
  free(own);
}

/* Lists of some lines, of up to three coils. */
static void prepare_lists(struct host_args *args, struct random *random, bool lesser) {
  uint8_t kept[1024];
  for (size_t row = 0; row < args->rows + 3; row++) {
    uint32_t density = (uint32_t)(row % 5) + 3 * !lesser, count = 0;
    for (size_t n = 0; n < args->width; n++) {
      kept[n] = random_u32(random) % 8 < density && (!lesser || 2 * count < args->width);
      count += kept[n];
    }
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
    write_lists((uint32_t *)args->in[2] + row * args->width, (uint32_t *)args->in[3] + row * args->width, kept,
                args->width, lesser && row % 2);
  }
  for (size_t i = 0; i < args->table_rows[TABLE_SLICE]; i++)
    ((uint32_t *)args->in[1])[i] = 1 + random_u32(random) % 3;
  for (size_t k = 0; k < args->width; k++) {
    ((float *)args->in[6])[2 * k] = (float)cos(2 * M_PI * (double)k / (double)args->width);
    ((float *)args->in[6])[2 * k + 1] = (float)sin(2 * M_PI * (double)k / (double)args->width);
  }
}

/* Maps that are 0, or far from it. */
void hybrid_observe_prepare(struct host_args *args, struct random *random) {
  float *maps = (float *)args->in[5];
  prepare_lists(args, random, false);
  for (size_t i = 0; i < 6 * args->table_rows[TABLE_SLICE] * args->height * args->width; i++)
    maps[i] = random_u32(random) % 4 ? (maps[i] < 0 ? -0.2f : 0.2f) + maps[i] : 0;
  args->value[9].u = 3;
  args->value[10].u = args->rows % 7 == 0;
}

void hybrid_join_reference(const struct host_args *args) {
  size_t blocks = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *part = (const float *)args->in[0] + 4 * row * blocks;
    double count = 0, mean = 0, square = 0;
    for (size_t b = 0; b < blocks; b++) count += part[4 * b];
    for (size_t b = 0; b < blocks; b++) mean += part[4 * b] * part[4 * b + 1] / count;
    for (size_t b = 0; b < blocks; b++) square += part[4 * b + 2] + part[4 * b] * pow(part[4 * b + 1] - mean, 2);
    ((float *)args->out[1])[row] = (float)mean;
    ((float *)args->out[2])[row] = (float)sqrt(square / (count - 1));
  }
}

void hybrid_join_prepare(struct host_args *args, struct random *random) {
  size_t blocks = args->value[3].u = 5;
  for (size_t i = 0; i < args->rows * blocks; i++) ((float *)args->in[0])[4 * i] = (float)(1 + random_u32(random) % 9);
}

/* ---- least squares ------------------------------------------------------------------------------------- */

/* Of a coil: the row through its map to k-space and back, listed frequencies alone. */
static void there_and_back(size_t width, const uint8_t *kept, const value *from, value *to) {
  memset(to, 0, sizeof *to * width);
  for (size_t n = 0; n < width; n++) {
    value sum = 0;
    for (size_t x = 0; kept[n] && x < width; x++) sum += from[x] * conj(turn_of(width, n, x));
    for (size_t x = 0; kept[n] && x < width; x++) to[x] += sum * turn_of(width, n, x) / (double)width;
  }
}

/* |p|^2, or of the differences to the pixels before. */
static double gap_of(const struct host_args *args, const float *image, size_t y, size_t x) {
  size_t height = args->height, width = args->width;
  value p = get(image, y * width + x), along = p - get(image, y * width + (x + width - 1) % width),
        down = p - get(image, (y + height - 1) % height * width + x);
  return args->value[15].u ? pow(cabs(along), 2) + pow(cabs(down), 2) : pow(cabs(p), 2);
}

static void normal_row(const struct host_args *args, struct observed *own, size_t scan, size_t y, double *energy) {
  uint32_t first = args->value[11].u, most = args->value[12].u, mapped = args->value[13].u, measured = args->value[14].u;
  size_t slice = ((const uint32_t *)args->in[0])[first + scan], width = args->width, pixels = width * args->height;
  const uint32_t *starts = (const uint32_t *)args->in[3] + scan * width;
  uint32_t coils = mapped ? ((const uint32_t *)args->in[1])[slice] : 1, others = starts[classes_of(width) + 1];
  const float *image = (const float *)args->in[7] + 2 * scan * pixels;
  value spread[1024];
  *own = (struct observed){0};
  read_list(args, scan, own->kept);
  for (uint32_t coil = 0; coil < coils && coil < most; coil++) {
    const float *maps = (const float *)args->in[5] + 2 * ((slice * most + coil) * pixels + y * width);
    for (size_t x = 0; x < width; x++) spread[x] = (mapped ? get(maps, x) : 1) * get(image, y * width + x);
    if (measured)
      image_row(args, own->kept, slice * most + coil, y, own->row);
    else
      there_and_back(width, own->kept, spread, own->row);
    for (size_t x = 0; x < width; x++)
      own->sum[x] += (mapped ? conj(get(maps, x)) : 1) * (others ? spread[x] - own->row[x] : own->row[x]);
  }
  for (size_t x = 0; x < width; x++) {
    float *to = (float *)args->out[8] + 2 * (scan * pixels + y * width + x);
    to[0] = (float)creal(own->sum[x]);
    to[1] = (float)cimag(own->sum[x]);
    energy[0] += measured ? 0 : creal(conj(get(image, y * width + x)) * own->sum[x]);
    energy[1] += measured ? 0 : gap_of(args, image, y, x);
  }
}

void hybrid_normal_reference(const struct host_args *args) {
  size_t blocks = hybrid_blocks(args->height, args->width), rows = args->width <= 400 ? 8 : 4;
  struct observed *own = malloc(sizeof *own);
  for (size_t row = 0; own && row < args->rows; row++) {
    double energy[2] = {0, 0};
    if (!args->value[14].u && ((const float *)args->in[10])[4 * (row / blocks) + 3] > 1) continue;
    for (size_t y = row % blocks * rows; y < (row % blocks + 1) * rows && y < args->height; y++)
      normal_row(args, own, row / blocks, y, energy);
    for (int k = 0; k < 2; k++) ((float *)args->out[9])[2 * row + (size_t)k] = (float)energy[k];
  }
  free(own);
}

/* Lists of the lines that are not acquired are of images alone. */
void hybrid_normal_prepare(struct host_args *args, struct random *random) {
  bool measured = args->rows % 7 == 0;
  prepare_lists(args, random, !measured);
  for (size_t row = 0; row < args->rows; row++) ((float *)args->in[10])[4 * row + 3] = row % 3 == 1 ? 2 : 1;
  args->value[11].u = 1;
  args->value[12].u = 3;
  args->value[13].u = args->width % 3 > 0;
  args->value[14].u = measured;
  args->value[15].u = args->width % 4 > 0;
}
