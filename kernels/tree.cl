/* Thresholds of a draw of exactly so many of very many entries (PROTOCOL 3.4; kernels/exact.cl draws few): blocks of
 * entries are the leaves of a binary tree, and every node keeps the chances of how many of its entries are 1. They are
 * joined from the leaves up; then the budget is split from the root down, a node's number between its two halves at
 * random, and a block's entries are drawn one after the other given their number.
 *
 * A node keeps the chances of a window around its mean, ten of the largest deviations that so many entries can have to
 * each side: what is left out is far below rounding. The root's chances are not needed. A tree has 2^levels blocks, the
 * last of them empty where there are fewer entries, and a node is a record of HEAD numbers and its chances:
 *
 *   MEAN, START (of the window), MOST (entries that can be 1), COUNT (drawn), chance of START, START + 1 ...
 */

#define BLOCK 64
#define GROUP 128
#define MEAN 0
#define START 1
#define MOST 2
#define COUNT 3
#define HEAD 4

/* Chances that a node keeps; level 0 are the blocks. 80 and 114: ten times the root of 64 and of 128. */
INLINE uint width_of(uint level) {
  return min((uint)BLOCK << level, (level & 1u ? 114u : 80u) << level / 2u) + 1u;
}

/* Where the records of a level start; of one level more than there are: how long all are. */
INLINE uint level_start(uint levels, uint level) {
  uint start = 0u;
  for (uint below = 0u; below < level; below++) start += (1u << (levels - below)) * (HEAD + width_of(below));
  return start;
}

INLINE uint node_place(uint levels, uint level, uint node) {
  return level_start(levels, level) + node * (HEAD + width_of(level));
}

/* Numbers of a tree. */
INLINE uint tree_size(uint levels) { return level_start(levels, max(levels, 1u)); }

INLINE float chance_of(__global const float *probability, __global const float *taken, uint row, uint i,
                       uint entries) {
  uint place = row * entries + i;
  return i < entries && taken[place] == 0.0f ? probability[place] : 0.0f;
}

/* Chances of the entries from the last to the first: table[i][c] that c of those from i on are 1. */
INLINE void fill_block(__local const float *p, __local float *table) {
  uint item = (uint)get_local_id(0), width = BLOCK + 1u;
  for (uint c = item; c < width; c += BLOCK) table[BLOCK * width + c] = c == 0u ? 1.0f : 0.0f;
  for (uint i = BLOCK; i-- > 0u;) {
    barrier(CLK_LOCAL_MEM_FENCE);
    __local const float *after = table + (i + 1u) * width;
    for (uint c = item; c < width; c += BLOCK)
      table[i * width + c] = (c ? p[i] * after[c - 1u] : 0.0f) + (1.0f - p[i]) * after[c];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

/* A row is a block. */
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void
tree_leaves(__global const float *restrict probability, __global const float *restrict taken,
            __global float *restrict tree, uint entries, uint levels, uint rows) {
  __local float table[(BLOCK + 1) * (BLOCK + 1)], p[BLOCK], scratch[BLOCK];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint image = row >> levels, block = row & ((1u << levels) - 1u);
  float own = chance_of(probability, taken, image, block * BLOCK + item, entries);
  p[item] = own;
  float mean = group_sum(own, scratch);
  float most = group_sum(own > 0.0f ? 1.0f : 0.0f, scratch);
  fill_block(p, table);
  __global float *record = tree + (size_t)image * tree_size(levels) + node_place(levels, 0u, block);
  for (uint c = item; c < BLOCK + 1u; c += BLOCK) record[HEAD + c] = table[c];
  if (item == 0u) {
    record[MEAN] = mean;
    record[START] = 0.0f;
    record[MOST] = most;
    record[COUNT] = 0.0f;
  }
}

/* The nodes of a level, above the blocks and below the root, from those below. A row is a node. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
tree_join(__global float *tree, uint levels, uint level, uint rows) {
  uint row = (uint)get_group_id(0), shift = levels - level, half_width = width_of(level - 1u);
  if (row >= rows) return;
  uint node = row & ((1u << shift) - 1u), width = width_of(level);
  __global float *own = tree + (size_t)(row >> shift) * tree_size(levels);
  __global const float *left = own + node_place(levels, level - 1u, 2u * node), *right = left + HEAD + half_width;
  __global float *record = own + node_place(levels, level, node);
  float mean = left[MEAN] + right[MEAN];
  int room = (BLOCK << level) + 1 - (int)width, base = (int)(left[START] + right[START]);
  int start = clamp((int)rint(mean) - (int)width / 2, 0, room);
  for (int c = (int)get_local_id(0); c < (int)width; c += GROUP) {
    int both = start + c - base; /* how many beyond the starts of the halves */
    int low = max(0, both - (int)half_width + 1), high = min(both, (int)half_width - 1);
    float sum = 0.0f;
    for (int a = low; a <= high; a++) sum += left[HEAD + a] * right[HEAD + both - a];
    record[HEAD + c] = sum;
  }
  if (get_local_id(0) == 0u) {
    record[MEAN] = mean;
    record[START] = (float)start;
    record[MOST] = left[MOST] + right[MOST];
    record[COUNT] = 0.0f;
  }
}

/* How many of a node's `count` are of its left half, by a draw that is uniform below 1. Where all chances have
 * underflowed, what is possible and nearest to the mean. */
INLINE int split(__global const float *left, __global const float *right, int width, int count, float draw) {
  int first = (int)left[START], rest = count - (int)right[START];
  int low = max(first, rest - width + 1), high = min(first + width - 1, rest), chosen = -1;
  float total = 0.0f, sum = 0.0f;
  for (int a = low; a <= high; a++) total += left[HEAD + a - first] * right[HEAD + rest - a];
  for (int a = low; a <= high && !(chosen >= 0 && sum > draw * total); a++) {
    float chance = left[HEAD + a - first] * right[HEAD + rest - a];
    sum += chance;
    if (chance > 0.0f) chosen = a;
  }
  int least = max(0, count - (int)right[MOST]), most = min(count, (int)left[MOST]);
  return chosen >= 0 ? chosen : clamp((int)rint(left[MEAN]), least, max(least, most));
}

/* The budget over the blocks. The draw of node n of 2^k nodes of a level is number 2^k + n of the image's, behind those
 * of the entries. A row is an image. */
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void
tree_split(__global const uint *restrict scan, __global float *tree, uint budget, uint levels, uint seed,
           uint step, uint rows) {
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  __global float *own = tree + (size_t)row * tree_size(levels);
  if (levels == 0u && item == 0u) own[COUNT] = (float)budget;
  for (uint level = levels; level-- > 0u;) {
    uint nodes = 1u << (levels - level - 1u), width = width_of(level);
    for (uint node = item; node < nodes; node += BLOCK) {
      __global float *left = own + node_place(levels, level, 2u * node), *right = left + HEAD + width;
      int count = level + 1u == levels ? (int)budget : (int)own[node_place(levels, level + 1u, node) + COUNT];
      float draw = (float)(random_words(seed, STREAM_EXACT, scan[row], 0x80000000u + step + nodes + node).x >> 8) * 0x1p-24f;
      int part = split(left, right, (int)width, count, draw);
      left[COUNT] = (float)part;
      right[COUNT] = (float)(count - part);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}

/* The entries of a block given their number; where chances have underflowed they are taken as they come. A row is a
 * block. Thresholds as in exact.cl. */
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void
tree_draw(__global const float *restrict probability, __global const float *restrict taken,
          __global const uint *restrict scan, __global const float *restrict tree, __global float *restrict threshold,
          uint entries, uint levels, uint seed, uint step, uint rows) {
  __local float table[(BLOCK + 1) * (BLOCK + 1)], p[BLOCK], draw[BLOCK];
  __local uchar chosen[BLOCK];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint image = row >> levels, block = row & ((1u << levels) - 1u), i = block * BLOCK + item;
  uint4 words = random_words(seed, STREAM_EXACT, scan[image], step + i / 2u);
  uint2 word = (i & 1u ? words.zw : words.xy) >> 9;
  float own = chance_of(probability, taken, image, i, entries), place = (float)word.y * 0x1p-23f;
  p[item] = own;
  draw[item] = (float)word.x * 0x1p-23f;
  fill_block(p, table);
  if (item == 0u) {
    uint left = (uint)tree[(size_t)image * tree_size(levels) + node_place(levels, 0u, block) + COUNT];
    choose(p, draw, table, chosen, BLOCK, BLOCK + 1u, left);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < entries)
    threshold[image * entries + i] = threshold_of(taken[image * entries + i], chosen[item], own, place);
}
