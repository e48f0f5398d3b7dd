#include "kernels/kernels.h"

#include "components/components.h"

#include <math.h>
#include <string.h>

/* ---- candidates ---------------------------------------------------------------------------------------- */

/* Knuth's selection sampling: each free line by the chance that is left for it. */
void oracle_list_reference(const struct host_args *args) {
  const uint8_t *mask = args->in[0];
  const uint32_t *scan = args->in[1], *step = args->in[2];
  const uint32_t count = args->value[4].u, actions = (uint32_t)args->actions;
  for (size_t row = 0; row < args->rows; row++) {
    uint32_t *own = (uint32_t *)args->out[3] + row * count, left = 0, found = 0;
    uint32_t key = args->value[6].u ? 0 : scan[row];
    for (uint32_t i = 0; i < actions; i++) left += !mask[row * actions + i];
    for (uint32_t i = 0; i < actions; i++) {
      if (mask[row * actions + i]) continue;
      struct philox words = random_words(args->value[5].u, STREAM_ACTION, key, step[row] + actions * (1 + i));
      bool take = found < count && (uint64_t)words.word[0] * left >> 32 < count - found;
      if (take) own[found++] = i;
      left--;
    }
    while (found < count) own[found++] = NO_LINE;
  }
}

/* The line's share of the pixel, from the definition of the inverse transform (kernels/observe_ref.c). */
static void add_line(const struct host_args *args, const float *hybrid, size_t line, size_t pixel,
                     double sum[2]) {
  size_t width = args->width, half = width / 2, n = (line + width - half) % width;
  double x = (double)(pixel % width) - (double)half;
  double turn = 2 * M_PI * fmod(((double)line - (double)half) * x, (double)width) / (double)width;
  const float *value = hybrid + 2 * (n * args->height + pixel / width);
  sum[0] += value[0] * cos(turn) - value[1] * sin(turn);
  sum[1] += value[0] * sin(turn) + value[1] * cos(turn);
}

void oracle_base_reference(const struct host_args *args) {
  size_t pixels = args->height * args->width;
  for (size_t row = 0; row < args->rows; row++) {
    const uint8_t *mask = (const uint8_t *)args->in[1] + row * args->width;
    const float *hybrid = (const float *)args->in[2] + 2 * ((const uint32_t *)args->in[0])[row] * pixels;
    float *base = (float *)args->out[4] + 2 * row * pixels;
    for (size_t i = 0; i < pixels; i++) {
      double sum[2] = {0};
      for (size_t line = 0; line < args->width; line++)
        if (mask[line]) add_line(args, hybrid, line, i, sum);
      base[2 * i] = (float)sum[0];
      base[2 * i + 1] = (float)sum[1];
    }
  }
}

void oracle_observe_reference(const struct host_args *args) {
  size_t pixels = args->height * args->width;
  for (size_t row = 0; row < args->rows; row++) {
    size_t place = args->value[9].u + row, scan = place / args->value[10].u;
    uint32_t at = ((const uint32_t *)args->in[0])[scan], line = ((const uint32_t *)args->in[1])[place];
    const float *base = (const float *)args->in[2] + 2 * scan * pixels;
    const float *hybrid = (const float *)args->in[3] + 2 * at * pixels;
    float *magnitude = (float *)args->out[6] + row * pixels;
    double total = 0, square = 0;
    for (size_t i = 0; i < pixels; i++) {
      double sum[2] = {base[2 * i], base[2 * i + 1]};
      if (line < args->width) add_line(args, hybrid, line, i, sum);
      double value = sqrt((sum[0] * sum[0] + sum[1] * sum[1]) / (double)args->width);
      magnitude[i] = (float)value;
      total += value;
      square += value * value;
    }
    double mean = total / (double)pixels;
    ((uint32_t *)args->out[5])[row] = at;
    ((float *)args->out[7])[row] = (float)mean;
    ((float *)args->out[8])[row] = (float)sqrt(fmax(square - total * mean, 0) / (double)(pixels - 1));
  }
}

void oracle_extend_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++) {
    size_t place = args->value[5].u + row, scan = place / args->value[6].u;
    uint32_t line = ((const uint32_t *)args->in[2])[place];
    uint8_t *mask = (uint8_t *)args->out[4] + row * args->actions;
    ((uint32_t *)args->out[3])[row] = ((const uint32_t *)args->in[0])[scan];
    memcpy(mask, (const uint8_t *)args->in[1] + scan * args->actions, args->actions);
    if (line != NO_LINE) mask[line] = 1;
  }
}

/* ---- choices ------------------------------------------------------------------------------------------- */

void oracle_keep_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++) {
    size_t place = args->value[3].u + row, scan = place / args->value[4].u;
    uint32_t line = ((const uint32_t *)args->in[0])[place];
    if (line == NO_LINE) continue;
    ((float *)args->out[2])[scan * args->actions + line] =
        args->value[5].f * ((const float *)args->in[1])[row];
  }
}

void oracle_mean_reference(const struct host_args *args) {
  for (size_t line = 0; line < args->rows; line++) {
    double sum = 0;
    for (size_t scan = 0; scan < args->value[2].u; scan++)
      sum += ((const float *)args->in[0])[scan * args->actions + line];
    ((float *)args->out[1])[line] = (float)(sum / args->value[2].u);
  }
}

/* Whether the line is free, and none that is free beats it by more than rounding. */
static bool is_best(const struct host_args *args, const float *quality, const uint8_t *mask, uint32_t line) {
  double tie = args->value[5].f, least = args->value[6].f;
  for (uint32_t other = 0; other < args->actions; other++) {
    double size = fmax(fabs((double)quality[other]), least);
    bool close = !isinf(quality[other]) && quality[line] >= (float)(quality[other] - tie * size);
    if (!mask[other] && quality[other] > quality[line] && !close) return false;
  }
  return !mask[line];
}

void oracle_choose_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++) {
    const float *quality = (const float *)args->in[0] + row * args->value[4].u;
    const uint8_t *mask = (const uint8_t *)args->in[1] + row * args->actions;
    uint32_t line = 0;
    while (line < args->actions && !is_best(args, quality, mask, line)) line++;
    ((uint32_t *)args->out[2])[row] = line < args->actions ? line : NO_LINE;
    ((float *)args->out[3])[row] = 0;
  }
}

/* ---- arguments that mean something --------------------------------------------------------------------- */

void oracle_list_prepare(struct host_args *args, struct random *random) {
  uint8_t *mask = (uint8_t *)args->in[0];
  for (size_t row = 0; row < args->rows; row++) {
    uint32_t density = random_u32(random) % 9;
    for (size_t line = 0; line < args->actions; line++)
      mask[row * args->actions + line] = random_u32(random) % 8 < density;
  }
  args->value[4].u = 1 + random_u32(random) % (uint32_t)args->actions;
  args->value[5].u = random_u32(random);
  args->value[6].u = random_u32(random) % 2;
}

static void fill_phase(struct host_args *args, int place) {
  float *phase = (float *)args->in[place];
  for (size_t k = 0; k < args->width; k++) {
    phase[2 * k] = (float)cos(2 * M_PI * (double)k / (double)args->width);
    phase[2 * k + 1] = (float)sin(2 * M_PI * (double)k / (double)args->width);
  }
}

void oracle_base_prepare(struct host_args *args, struct random *random) {
  observe_prepare(args, random);
}

/* Two candidates a scan and more; some without a line. */
static void prepare_candidates(struct host_args *args, struct random *random, int line, int first,
                               size_t actions) {
  for (size_t i = 0; i < args->rows + 3; i++)
    ((uint32_t *)args->in[line])[i] =
        random_u32(random) % 8 ? random_u32(random) % (uint32_t)actions : NO_LINE;
  args->value[first].u = random_u32(random) % 4;
  args->value[first + 1].u = 2 + random_u32(random) % 4;
}

void oracle_observe_prepare(struct host_args *args, struct random *random) {
  for (size_t row = 0; row < args->rows + 3; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  fill_phase(args, 4);
  prepare_candidates(args, random, 1, 9, args->width);
}

void oracle_extend_prepare(struct host_args *args, struct random *random) {
  prepare_candidates(args, random, 2, 5, args->actions);
}

/* Each line of a scan once, that the order of the writes does not matter. */
void oracle_keep_prepare(struct host_args *args, struct random *random) {
  prepare_candidates(args, random, 0, 3, args->actions);
  for (uint32_t i = 0; i < args->rows + 3; i++)
    if (((uint32_t *)args->in[0])[i] != NO_LINE) ((uint32_t *)args->in[0])[i] = i % (uint32_t)args->actions;
  args->value[5].f = random_u32(random) % 2 ? -1 : 1;
}

void oracle_mean_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = 1 + random_u32(random) % (uint32_t)(args->rows + 3);
}

/* Some qualities are equal or tie, some are next to a tie, some scans have no free line, some lines were no
 * candidates. */
void oracle_choose_prepare(struct host_args *args, struct random *random) {
  const float tie = 0x1p-18f;
  for (size_t row = 0; row < args->rows; row++) {
    uint32_t density = random_u32(random) % 9;
    for (size_t line = 0; line < args->actions; line++) {
      size_t i = row * args->actions + line;
      float value = (float)(random_u32(random) % 8) - 3, near = 1 - (float)(random_u32(random) % 6) * tie / 2;
      ((float *)args->in[0])[i] = random_u32(random) % 4 ? value * near : -INFINITY;
      ((uint8_t *)args->in[1])[i] = random_u32(random) % 8 < density;
    }
  }
  args->value[4].u = random_u32(random) % 2 ? (uint32_t)args->actions : 0;
  args->value[5].f = tie;
  args->value[6].f = (float)(random_u32(random) % 2);
}
