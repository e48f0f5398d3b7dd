#include "kernels/kernels.h"

#include <math.h>

static const float *row_of(const struct host_args *args, int place, size_t row, size_t entries) {
  return (const float *)args->in[place] + row * entries;
}

struct means {
  double free, found, wanted;
};

static struct means find_means(const float *x, const float *taken, size_t entries, uint32_t budget) {
  struct means means = {0};
  for (size_t i = 0; i < entries; i++)
    if (!(taken[i] > 0)) {
      means.free++;
      means.found += x[i];
    }
  means.found /= means.free;
  means.wanted = budget / means.free;
  return means;
}

void rescale_forward_reference(const struct host_args *args) {
  size_t entries = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = row_of(args, 0, row, entries), *taken = row_of(args, 1, row, entries);
    float *y = (float *)args->out[2] + row * entries;
    struct means means = find_means(x, taken, entries, args->value[4].u);
    double ratio = means.wanted / means.found;
    for (size_t i = 0; i < entries; i++)
      y[i] = taken[i] > 0 ? 0
             : ratio <= 1 ? (float)(ratio * x[i])
                          : (float)(1 - (1 - x[i]) * (1 - means.wanted) / (1 - means.found));
  }
}

/* dy/dx of each pair of entries. */
static double slope_of(const struct means *means, const float *x, size_t of, size_t by) {
  if (means->wanted <= means->found)
    return (of == by ? means->wanted / means->found : 0) -
           x[of] * means->wanted / (means->found * means->found * means->free);
  double rest = 1 - means->found;
  return (of == by ? (1 - means->wanted) / rest : 0) -
         (1 - x[of]) * (1 - means->wanted) / (rest * rest * means->free);
}

void rescale_backward_reference(const struct host_args *args) {
  size_t entries = args->value[4].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = row_of(args, 0, row, entries), *taken = row_of(args, 1, row, entries);
    const float *dy = row_of(args, 2, row, entries);
    float *dx = (float *)args->out[3] + row * entries;
    struct means means = find_means(x, taken, entries, args->value[5].u);
    for (size_t by = 0; by < entries; by++) {
      double sum = args->value[6].u ? dx[by] : 0;
      for (size_t of = 0; of < entries; of++)
        if (!(taken[of] > 0) && !(taken[by] > 0)) sum += dy[of] * slope_of(&means, x, of, by);
      dx[by] = (float)sum;
    }
  }
}

/* P(c of the entries from i on are 1). */
static void fill_table(const float *x, const float *taken, size_t entries, size_t budget, float *table) {
  double after[512] = {1}, now[512];
  for (size_t i = entries; i-- > 0;) {
    double p = taken[i] > 0 ? 0 : x[i];
    for (size_t c = 0; c <= budget; c++) now[c] = (c ? p * after[c - 1] : 0) + (1 - p) * after[c];
    for (size_t c = 0; c <= budget; c++) table[i * (budget + 1) + c] = (float)(after[c] = now[c]);
  }
}

static double chance(const float *table, size_t entries, size_t budget, size_t i, size_t c) {
  return i == entries ? c == 0 : table[i * (budget + 1) + c];
}

void exact_draw_reference(const struct host_args *args) {
  size_t entries = args->value[5].u, budget = args->value[6].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = row_of(args, 0, row, entries), *taken = row_of(args, 1, row, entries);
    float *threshold = (float *)args->out[3] + row * entries;
    float *table = (float *)args->out[4] + row * entries * (budget + 1);
    size_t left = budget;
    fill_table(x, taken, entries, budget, table);
    for (size_t i = 0; i < entries; i++) {
      struct philox words = random_words(args->value[7].u, STREAM_EXACT, ((const uint32_t *)args->in[2])[row],
                                         args->value[8].u + (uint32_t)i / 2);
      double draw = (words.word[2 * (i % 2)] >> 9) * 0x1p-23,
             place = (words.word[2 * (i % 2) + 1] >> 9) * 0x1p-23;
      double p = taken[i] > 0 ? 0 : x[i],
             with = left ? p * chance(table, entries, budget, i + 1, left - 1) : 0;
      bool one = with > 0 && draw < with / chance(table, entries, budget, i, left);
      threshold[i] = taken[i] > 0 ? 1 : (float)(one ? place * p : p + place * (1 - p));
      left -= one;
    }
  }
}

void exact_best_reference(const struct host_args *args) {
  size_t entries = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++) {
    const float *x = row_of(args, 0, row, entries), *taken = row_of(args, 1, row, entries);
    float *threshold = (float *)args->out[2] + row * entries;
    for (size_t i = 0; i < entries; i++) threshold[i] = 2;
    for (uint32_t t = 0; t < args->value[4].u; t++) {
      size_t best = entries;
      for (size_t i = 0; i < entries; i++)
        if (!(taken[i] > 0) && threshold[i] > 0 && (best == entries || x[i] > x[best])) best = i;
      if (best < entries) threshold[best] = -1;
    }
  }
}

/* Every row has the same number of free entries, at least one. */
static uint32_t some_entries(struct host_args *args, struct random *random, uint32_t most,
                             uint32_t *free_entries) {
  uint32_t entries = 1 + random_u32(random) % most, taken = random_u32(random) % entries;
  float *mask = (float *)args->in[1];
  for (size_t row = 0; row < args->rows; row++)
    for (uint32_t i = 0; i < entries; i++)
      mask[row * entries + i] = (i + (uint32_t)row * 7) % entries < taken;
  *free_entries = entries - taken;
  return entries;
}

/* Half of the budgets lower the probabilities, half raise them. */
void rescale_forward_prepare(struct host_args *args, struct random *random) {
  uint32_t free_entries;
  args->value[3].u = some_entries(args, random, (uint32_t)(args->height * args->width), &free_entries);
  args->value[4].u = random_u32(random) % (free_entries + 1);
}

void rescale_backward_prepare(struct host_args *args, struct random *random) {
  uint32_t free_entries;
  args->value[4].u = some_entries(args, random, 300, &free_entries);
  args->value[5].u = random_u32(random) % (free_entries + 1);
  args->value[6].u = random_u32(random) % 2;
}

/* The budgets leave room for the table, which with some sizes is larger than local memory; a zero and a one
 * among the probabilities. */
void exact_draw_prepare(struct host_args *args, struct random *random) {
  uint32_t room = (uint32_t)(args->height * args->width), free_entries;
  uint32_t entries = some_entries(args, random, room / 20, &free_entries), most = room / entries - 1;
  float *x = (float *)args->in[0];
  for (size_t row = 0; row < args->rows && entries > 4; row++) {
    x[row * entries + entries / 2] = 0;
    x[row * entries + entries / 3] = 1;
  }
  args->value[5].u = entries;
  if (free_entries / 2 < most) most = free_entries / 2;
  args->value[6].u = entries > 100 ? most : random_u32(random) % (1 + most);
  args->value[7].u = random_u32(random);
  args->value[8].u = random_u32(random) % 1000;
}

/* Some probabilities are equal. */
void exact_best_prepare(struct host_args *args, struct random *random) {
  uint32_t free_entries, entries = some_entries(args, random, 300, &free_entries);
  float *x = (float *)args->in[0];
  for (size_t i = 0; i < args->rows * entries; i++) x[i] = rintf(20 * x[i]) / 20;
  args->value[3].u = entries;
  args->value[4].u = random_u32(random) % (free_entries + 1);
}
