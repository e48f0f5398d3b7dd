#include "components/components.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* Records of a node, as kernels/tree.cl says. */
enum { BLOCK = 64, MEAN = 0, START = 1, MOST = 2, COUNT = 3, HEAD = 4 };

static size_t width_of(uint32_t level) {
  size_t entries = (size_t)BLOCK << level, window = (level % 2 ? 114u : 80u) << level / 2;
  return (entries < window ? entries : window) + 1;
}

static size_t level_start(uint32_t levels, uint32_t level) {
  size_t start = 0;
  for (uint32_t below = 0; below < level; below++)
    start += ((size_t)1 << (levels - below)) * (HEAD + width_of(below));
  return start;
}

static size_t tree_size(uint32_t levels) {
  return level_start(levels, levels ? levels : 1);
}

static float *record_of(float *tree, uint32_t levels, uint32_t level, size_t image, size_t node) {
  return tree + image * tree_size(levels) + level_start(levels, level) + node * (HEAD + width_of(level));
}

/* Finds the chances of the entries of a block, 0 where there are none. */
static void find_chances(const struct host_args *args, size_t image, size_t block, size_t entries,
                         double *p) {
  const float *x = (const float *)args->in[0] + image * entries,
              *taken = (const float *)args->in[1] + image * entries;
  for (size_t k = 0; k < BLOCK; k++) {
    size_t i = block * BLOCK + k;
    p[k] = i < entries && !(taken[i] > 0) ? x[i] : 0;
  }
}

/* P(c of the entries from i on are 1). */
static void fill_block(const double *p, double table[BLOCK + 1][BLOCK + 1]) {
  memset(table, 0, sizeof(double) * (BLOCK + 1) * (BLOCK + 1));
  table[BLOCK][0] = 1;
  for (size_t i = BLOCK; i-- > 0;)
    for (size_t c = 0; c <= BLOCK; c++)
      table[i][c] = (c ? p[i] * table[i + 1][c - 1] : 0) + (1 - p[i]) * table[i + 1][c];
}

static void fill_leaf(const double *p, float *record) {
  double table[BLOCK + 1][BLOCK + 1], mean = 0, most = 0;
  fill_block(p, table);
  for (size_t k = 0; k < BLOCK; k++) {
    mean += p[k];
    most += p[k] > 0;
  }
  record[MEAN] = (float)mean;
  record[START] = record[COUNT] = 0;
  record[MOST] = (float)most;
  for (size_t c = 0; c <= BLOCK; c++) record[HEAD + c] = (float)table[0][c];
}

void tree_leaves_reference(const struct host_args *args) {
  uint32_t levels = args->value[4].u;
  double p[BLOCK];
  for (size_t row = 0; row < args->rows; row++) {
    size_t image = row >> levels, block = row % ((size_t)1 << levels);
    find_chances(args, image, block, args->value[3].u, p);
    fill_leaf(p, record_of(args->out[2], levels, 0, image, block));
  }
}

static double chance_at(const float *record, size_t width, long count) {
  long place = count - (long)record[START];
  return place >= 0 && place < (long)width ? record[HEAD + place] : 0;
}

static void join(float *tree, uint32_t levels, uint32_t level, size_t image, size_t node) {
  const float *left = record_of(tree, levels, level - 1, image, 2 * node),
              *right = record_of(tree, levels, level - 1, image, 2 * node + 1);
  float *record = record_of(tree, levels, level, image, node);
  long width = (long)width_of(level), half = (long)width_of(level - 1), room = (BLOCK << level) + 1 - width;
  long start = (long)rintf(left[MEAN] + right[MEAN]) - width / 2;
  start = start < 0 ? 0 : start > room ? room : start;
  for (long c = start; c < start + width; c++) {
    double sum = 0;
    for (long a = (long)left[START]; a < (long)left[START] + half; a++)
      sum += chance_at(left, (size_t)half, a) * chance_at(right, (size_t)half, c - a);
    record[HEAD + c - start] = (float)sum;
  }
  record[MEAN] = left[MEAN] + right[MEAN];
  record[START] = (float)start;
  record[MOST] = left[MOST] + right[MOST];
  record[COUNT] = 0;
}

void tree_join_reference(const struct host_args *args) {
  uint32_t levels = args->value[1].u, level = args->value[2].u;
  for (size_t row = 0; row < args->rows; row++)
    join(args->out[0], levels, level, row >> (levels - level), row % ((size_t)1 << (levels - level)));
}

/* P(a of the left half | count of both), by inversion. */
static long split(const float *left, const float *right, size_t width, long count, double draw) {
  double total = 0, sum = 0;
  long chosen = 0;
  for (long a = 0; a <= count; a++) total += chance_at(left, width, a) * chance_at(right, width, count - a);
  for (long a = 0; a <= count && sum <= draw * total; a++) {
    double chance = chance_at(left, width, a) * chance_at(right, width, count - a);
    sum += chance;
    if (chance > 0) chosen = a;
  }
  return chosen;
}

void tree_split_reference(const struct host_args *args) {
  uint32_t levels = args->value[3].u;
  for (size_t row = 0; row < args->rows; row++)
    for (uint32_t level = levels; level-- > 0;)
      for (size_t node = 0; node < (size_t)1 << (levels - level - 1); node++) {
        float *tree = args->out[1], *left = record_of(tree, levels, level, row, 2 * node),
              *right = record_of(tree, levels, level, row, 2 * node + 1);
        uint32_t number = 0x80000000u + args->value[5].u + (1u << (levels - level - 1)) + (uint32_t)node;
        struct philox words =
            random_words(args->value[4].u, STREAM_EXACT, ((const uint32_t *)args->in[0])[row], number);
        float count = level + 1 == levels ? (float)args->value[2].u
                                          : record_of(tree, levels, level + 1, row, node)[COUNT];
        left[COUNT] = (float)split(left, right, width_of(level), (long)count, (words.word[0] >> 8) * 0x1p-24);
        right[COUNT] = count - left[COUNT];
      }
}

static void draw_block(const struct host_args *args, size_t image, size_t block, size_t left) {
  size_t entries = args->value[5].u;
  const float *taken = (const float *)args->in[1] + image * entries;
  float *threshold = (float *)args->out[4] + image * entries;
  double p[BLOCK], table[BLOCK + 1][BLOCK + 1];
  find_chances(args, image, block, entries, p);
  fill_block(p, table);
  for (size_t k = 0; k < BLOCK && block * BLOCK + k < entries; k++) {
    size_t i = block * BLOCK + k;
    struct philox words = random_words(args->value[7].u, STREAM_EXACT, ((const uint32_t *)args->in[2])[image],
                                       args->value[8].u + (uint32_t)i / 2);
    double draw = (words.word[2 * (i % 2)] >> 9) * 0x1p-23,
           place = (words.word[2 * (i % 2) + 1] >> 9) * 0x1p-23;
    double with = left ? p[k] * table[k + 1][left - 1] : 0;
    bool one = with > 0 && draw < with / table[k][left];
    threshold[i] = taken[i] > 0 ? 1 : (float)(one ? place * p[k] : p[k] + place * (1 - p[k]));
    left -= one;
  }
}

void tree_draw_reference(const struct host_args *args) {
  uint32_t levels = args->value[6].u;
  for (size_t row = 0; row < args->rows; row++) {
    size_t image = row >> levels, block = row % ((size_t)1 << levels);
    draw_block(args, image, block, (size_t)record_of((float *)args->in[3], levels, 0, image, block)[COUNT]);
  }
}

/* ---- trees that there are ------------------------------------------------------------------------------ */

enum { LEVELS_MOST = 3 };

/* Every eighth entry is taken; an eighth of the probabilities is 0, one 1. */
static void some_entries(struct host_args *args, struct random *random, size_t count) {
  float *x = (float *)args->in[0], *taken = (float *)args->in[1];
  for (size_t i = 0; i < count; i++) {
    taken[i] = random_u32(random) % 8 ? 0 : 1;
    if (random_u32(random) % 8 == 0) x[i] = (float)(random_u32(random) % 2);
  }
}

static uint32_t entries_of(uint32_t levels, struct random *random) {
  return ((uint32_t)BLOCK << levels) - random_u32(random) % BLOCK;
}

void tree_leaves_prepare(struct host_args *args, struct random *random) {
  args->value[4].u = random_u32(random) % (LEVELS_MOST + 1);
  args->value[3].u = entries_of(args->value[4].u, random);
  some_entries(args, random, ((args->rows >> args->value[4].u) + 1) * args->value[3].u);
}

/* Fills the trees of the images that so many rows belong to: blocks of random probabilities, joined up to the
 * level. */
static void grow(float *tree, size_t images, uint32_t levels, uint32_t top, struct random *random) {
  double p[BLOCK];
  for (size_t image = 0; image < images; image++)
    for (uint32_t level = 0; level <= top; level++)
      for (size_t node = 0; node < (size_t)1 << (levels - level); node++) {
        for (size_t k = 0; k < BLOCK; k++) p[k] = random_uniform(random);
        if (level)
          join(tree, levels, level, image, node);
        else
          fill_leaf(p, record_of(tree, levels, 0, image, node));
      }
}

void tree_join_prepare(struct host_args *args, struct random *random) {
  uint32_t levels = 2 + random_u32(random) % (LEVELS_MOST - 1), level = 1 + random_u32(random) % (levels - 1);
  size_t images = (args->rows >> (levels - level)) + 1;
  args->value[1].u = levels;
  args->value[2].u = level;
  grow(args->out[0], images, levels, level - 1, random);
}

void tree_split_prepare(struct host_args *args, struct random *random) {
  uint32_t levels = 1 + random_u32(random) % LEVELS_MOST, entries = (uint32_t)BLOCK << levels;
  grow(args->out[1], args->rows, levels, levels - 1, random);
  args->value[2].u = entries / 2 - 8 + random_u32(random) % 16;
  args->value[3].u = levels;
  args->value[4].u = random_u32(random);
  args->value[5].u = random_u32(random) % 1000;
}

/* Blocks have all of their certain entries to draw, and few beside them. */
void tree_draw_prepare(struct host_args *args, struct random *random) {
  uint32_t levels = random_u32(random) % (LEVELS_MOST + 1), entries = entries_of(levels, random);
  double p[BLOCK];
  some_entries(args, random, ((args->rows >> levels) + 1) * entries);
  for (size_t row = 0; row < args->rows; row++) {
    size_t image = row >> levels, block = row % ((size_t)1 << levels), certain = 0, possible = 0;
    find_chances(args, image, block, entries, p);
    for (size_t k = 0; k < BLOCK; k++) {
      certain += p[k] == 1;
      possible += p[k] > 0;
    }
    size_t count = certain + random_u32(random) % (uint32_t)(possible - certain + 1);
    record_of((float *)args->in[3], levels, 0, image, block)[COUNT] = (float)count;
  }
  args->value[5].u = entries;
  args->value[6].u = levels;
  args->value[7].u = random_u32(random);
  args->value[8].u = random_u32(random) % 1000;
}
