#include "components/components.h"
#include "kernels/divisor.h"
#include "kernels/kernels.h"

#include <math.h>

/* Frequency (y - height / 2, x - width / 2), which the column has at that place modulo height and width. */
void view_frequencies_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  const uint8_t *mask = args->in[1];
  long height = args->value[5].u, width = args->value[6].u;
  size_t first = args->value[7].u, entries = args->value[8].u, pixels = (size_t)(height * width);
  for (size_t row = 0; row < args->rows; row++) {
    size_t at = slice[row + first];
    const float *kspace = (const float *)args->in[2] + 2 * at * pixels;
    float unit = ((const float *)args->in[3])[at], *planes = (float *)args->out[4] + 2 * row * pixels;
    for (long y = 0; y < height; y++)
      for (long x = 0; x < width; x++) {
        long v = y - height / 2, u = x - width / 2;
        long place = (v < 0 ? v + height : v) * width + (u < 0 ? u + width : u);
        bool left_out = entries && !mask[(row + first) * entries + (size_t)(y * width + x) % entries];
        for (long part = 0; part < 2; part++)
          planes[(part * height + y) * width + x] = left_out ? 0 : kspace[2 * place + part] * unit;
      }
  }
}

/* Rows of ENV hold one image where the planes of one are two. */
void view_frequencies_prepare(struct host_args *args, struct random *random) {
  uint32_t height = 1 + random_u32(random) % ((uint32_t)args->height / 2);
  for (size_t row = 0; row < args->rows + 3; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t row = 0; row < args->table_rows[TABLE_SLICE]; row++)
    ((float *)args->in[3])[row] = random_u32(random) % 2 ? 0.125f : 4;
  for (size_t i = 0; i < (args->rows + 3) * args->actions; i++)
    ((uint8_t *)args->in[1])[i] = random_u32(random) % 2;
  args->value[5].u = height;
  args->value[6].u = 1 + random_u32(random) % (uint32_t)args->width;
  args->value[7].u = random_u32(random) % 4;
  args->value[8].u = random_u32(random) % 2 * args->value[6].u;
  if (args->actions == args->height * args->width) args->value[8].u *= height;
}

/* One pixel of a coil of a slice; the place of a frequency is the column's modulo height and width. */
static void take_pixel(const struct host_args *args, size_t from, long y, long x, float factor, float value[2]) {
  long height = args->value[6].u, width = args->value[7].u, v = y, u = x;
  if (args->value[12].u == 0) {
    v = (y - height / 2 + height) % height;
    u = (x - width / 2 + width) % width;
  }
  for (size_t part = 0; part < 2; part++)
    value[part] = args->value[12].u == 2 ? part == 0
                                         : factor * ((const float *)args->in[3])[2 * (from + (size_t)(v * width + u)) + part];
}

void view_coils_reference(const struct host_args *args) {
  size_t height = args->value[6].u, width = args->value[7].u, first = args->value[8].u, entries = args->value[9].u,
         stride = args->value[10].u, most = args->value[11].u, pixels = height * width;
  for (size_t row = 0; row < args->rows; row++) {
    size_t scan = row / most, coil = row % most, at = ((const uint32_t *)args->in[0])[scan + first];
    size_t coils = stride > 1 ? ((const uint32_t *)args->in[2])[at] : 1;
    float *planes = (float *)args->out[5] + 2 * row * pixels, factor = 1;
    if (args->value[12].u == 0) factor = ((const float *)args->in[4])[at];
    for (size_t i = 0; i < pixels; i++) {
      float value[2] = {0, 0};
      bool left_out = entries && args->value[12].u != 2 &&
                      !((const uint8_t *)args->in[1])[(scan + first) * entries + i % entries];
      if (coil < coils && coil < (stride > 1 ? stride : 1) && !left_out)
        take_pixel(args, (at * stride + coil) * pixels, (long)(i / width), (long)(i % width), factor, value);
      planes[i] = value[0];
      planes[pixels + i] = value[1];
    }
  }
}

static void prepare_slices(struct host_args *args, struct random *random) {
  for (size_t row = 0; row < args->rows + 3; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t i = 0; i < (args->rows + 3) * args->actions; i++)
    ((uint8_t *)args->in[1])[i] = random_u32(random) % 2;
}

void view_coils_prepare(struct host_args *args, struct random *random) {
  uint32_t most = some_divisor(args->rows, random), scans = (uint32_t)args->rows / most;
  prepare_slices(args, random);
  for (size_t row = 0; row < args->table_rows[TABLE_SLICE]; row++) {
    ((uint32_t *)args->in[2])[row] = 1 + random_u32(random) % 3;
    ((float *)args->in[4])[row] = random_u32(random) % 2 ? 0.125f : 4;
  }
  args->value[6].u = 1 + random_u32(random) % (uint32_t)args->height;
  args->value[7].u = 1 + random_u32(random) % (uint32_t)args->width;
  args->value[8].u = random_u32(random) % ((uint32_t)args->rows - scans + 4);
  args->value[9].u = random_u32(random) % 2 * args->value[7].u;
  if (args->actions == args->height * args->width) args->value[9].u *= args->value[6].u;
  args->value[10].u = 1 + random_u32(random) % 3;
  args->value[11].u = most;
  args->value[12].u = random_u32(random) % 3;
}

void view_planes_reference(const struct host_args *args) {
  size_t height = args->value[6].u, width = args->value[7].u, first = args->value[8].u, stride = args->value[9].u,
         most = args->value[10].u, pixels = height * width;
  for (size_t row = 0; row < args->rows; row++) {
    size_t scan = row / most, coil = row % most, at = ((const uint32_t *)args->in[0])[scan + first];
    size_t coils = stride > 1 ? ((const uint32_t *)args->in[2])[at] : 1, form = args->value[11].u;
    const float *values = (const float *)args->in[3] + 2 * (at * stride + coil) * pixels;
    bool there = coil < coils && coil < (stride > 1 ? stride : 1);
    for (size_t i = 0; i < pixels; i++) {
      float *plane = (float *)args->out[5] + 2 * (row * pixels + i);
      size_t v = (i / width + height - height / 2) % height, u = (i % width + width - width / 2) % width;
      size_t corner = v * width + u, from = form ? i : corner;
      float factor = form ? 1 : ((const float *)args->in[4])[at];
      if (!form && !((const uint8_t *)args->in[1])[scan * pixels + corner]) factor = 0;
      for (size_t part = 0; part < 2; part++)
        plane[part] = !there ? 0 : form == 2 ? part == 0 : factor != 0 ? factor * values[2 * from + part] : 0;
    }
  }
}

/* Rows of ENV hold three images at most, where each is of a coil. */
void view_planes_prepare(struct host_args *args, struct random *random) {
  uint32_t most = some_divisor(args->rows, random), scans = (uint32_t)args->rows / most;
  for (size_t row = 0; row < args->rows + 3; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t i = 0; i < args->rows * args->height * args->width; i++) ((uint8_t *)args->in[1])[i] = random_u32(random) % 2;
  for (size_t row = 0; row < args->table_rows[TABLE_SLICE]; row++) {
    ((uint32_t *)args->in[2])[row] = 1 + random_u32(random) % 3;
    ((float *)args->in[4])[row] = random_u32(random) % 2 ? 0.125f : 4;
  }
  args->value[6].u = 1 + random_u32(random) % (uint32_t)args->height;
  args->value[7].u = 1 + random_u32(random) % (uint32_t)args->width;
  args->value[8].u = random_u32(random) % ((uint32_t)args->rows - scans + 4);
  args->value[9].u = 1 + random_u32(random) % 3;
  args->value[10].u = most;
  args->value[11].u = random_u32(random) % 3;
}

void view_check_reference(const struct host_args *args) {
  size_t pixels = args->value[2].u;
  uint32_t *refused = args->out[1];
  for (size_t i = 0; i < args->rows * pixels; i++)
    if (!isfinite(((const float *)args->in[0])[i]) && i / pixels < *refused) *refused = (uint32_t)(i / pixels);
}

void view_check_prepare(struct host_args *args, struct random *random) {
  size_t pixels = args->height * args->width;
  args->value[2].u = (uint32_t)pixels;
  *(uint32_t *)args->out[1] = UINT32_MAX;
  for (size_t row = 0; row < args->rows; row++)
    if (random_u32(random) % 4 == 0) ((float *)args->in[0])[row * pixels + random_u32(random) % pixels] = row % 2 ? NAN : INFINITY;
}

void view_masks_reference(const struct host_args *args) {
  size_t entries = args->value[6].u, first = args->value[7].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t at = ((const uint32_t *)args->in[0])[row + first];
    const uint8_t *mask = (const uint8_t *)args->in[1] + (row + first) * entries;
    for (size_t i = 0; i < entries; i++)
      ((float *)args->out[4])[row * entries + i] = mask[i] && i >= args->value[8].u && i < args->value[9].u;
    ((float *)args->out[5])[2 * row] = ((const float *)args->in[2])[at];
    ((float *)args->out[5])[2 * row + 1] = ((const float *)args->in[3])[at];
  }
}

void view_masks_prepare(struct host_args *args, struct random *random) {
  prepare_slices(args, random);
  args->value[6].u = (uint32_t)args->actions;
  args->value[7].u = random_u32(random) % 4;
  args->value[8].u = random_u32(random) % 3;
  args->value[9].u = (uint32_t)args->actions - random_u32(random) % 3;
}

void view_coils_back_reference(const struct host_args *args) {
  size_t height = args->value[7].u, width = args->value[8].u, entries = args->value[9].u, stride = args->value[10].u,
         most = args->value[11].u, pixels = height * width;
  for (size_t row = 0; row < args->rows; row++) {
    size_t at = ((const uint32_t *)args->in[0])[row], coils = stride > 1 ? ((const uint32_t *)args->in[1])[at] : 1;
    double unit = (double)((const float *)args->in[3])[at];
    for (size_t e = 0; e < entries; e++)
      ((float *)args->out[6])[row * entries + e] = ((const float *)args->in[5])[row * entries + e];
    for (size_t coil = 0; coil < most && coil < coils && coil < (stride > 1 ? stride : 1); coil++)
      for (size_t e = 0; e < entries; e++) {
        const float *planes = (const float *)args->in[4] + 2 * (row * most + coil) * pixels;
        double sum = 0;
        for (size_t i = e; i < pixels; i += entries) {
          size_t v = (i / width + height - height / 2) % height, u = (i % width + width - width / 2) % width;
          const float *value = (const float *)args->in[2] + 2 * ((at * stride + coil) * pixels + v * width + u);
          sum += (double)planes[i] * (double)value[0] + (double)planes[pixels + i] * (double)value[1];
        }
        ((float *)args->out[6])[row * entries + e] += (float)(sum * unit);
      }
  }
}

/* Rows of ENV hold three images where the planes of three coils are six. */
void view_coils_back_prepare(struct host_args *args, struct random *random) {
  for (size_t row = 0; row < args->rows; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  for (size_t row = 0; row < args->table_rows[TABLE_SLICE]; row++) {
    ((uint32_t *)args->in[1])[row] = 1 + random_u32(random) % 3;
    ((float *)args->in[3])[row] = random_u32(random) % 2 ? 0.125f : 4;
  }
  args->value[7].u = 1 + random_u32(random) % ((uint32_t)args->height / 2);
  args->value[8].u = 1 + random_u32(random) % (uint32_t)args->width;
  args->value[9].u = args->value[8].u;
  if (args->actions == args->height * args->width) args->value[9].u *= args->value[7].u;
  args->value[10].u = args->value[11].u = 1 + random_u32(random) % 3;
}
