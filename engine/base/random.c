#include "engine/base/random.h"

#include <math.h>

struct philox philox_draw(struct philox counter, uint32_t key0, uint32_t key1) {
  uint32_t *c = counter.word;
  for (int round = 0; round < 10; round++) {
    uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ key1,
                        (uint32_t)a};
    for (int i = 0; i < 4; i++) c[i] = next[i];
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

struct philox random_words(uint32_t seed, uint32_t stream, uint32_t number, uint32_t step) {
  return philox_draw((struct philox){{number, step, 0, 0}}, seed, stream);
}

void random_start(struct random *random, uint32_t seed, uint32_t stream, uint32_t number) {
  *random = (struct random){.seed = seed, .stream = stream, .number = number, .used = 4};
}

uint32_t random_u32(struct random *random) {
  if (random->used == 4) {
    random->words = random_words(random->seed, random->stream, random->number, random->step++);
    random->used = 0;
  }
  return random->words.word[random->used++];
}

double random_uniform(struct random *random) {
  return random_u32(random) * 0x1p-32;
}

void random_order(struct random *random, uint32_t *order, size_t count) {
  for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
  for (size_t i = count; i-- > 1;) {
    size_t j = (size_t)((uint64_t)random_u32(random) * (i + 1) >> 32);
    uint32_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
}

double random_normal(struct random *random) {
  double radius = sqrt(-2 * log(1 - random_uniform(random)));
  return radius * cos(6.283185307179586 * random_uniform(random));
}

void mersenne_start(struct mersenne *mersenne, uint32_t seed) {
  uint32_t *s = mersenne->state;
  s[0] = seed;
  for (uint32_t i = 1; i < 624; i++) s[i] = 1812433253u * (s[i - 1] ^ (s[i - 1] >> 30)) + i;
  mersenne->used = 624;
}

void mersenne_start_array(struct mersenne *mersenne, const uint32_t *key, size_t count) {
  uint32_t *s = mersenne->state;
  mersenne_start(mersenne, 19650218u);
  size_t i = 1, j = 0;
  for (size_t k = count > 624 ? count : 624; k; k--) {
    s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1664525u)) + key[j] + (uint32_t)j;
    if (++i == 624) s[0] = s[623], i = 1;
    if (++j == count) j = 0;
  }
  for (size_t k = 623; k; k--) {
    s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1566083941u)) - (uint32_t)i;
    if (++i == 624) s[0] = s[623], i = 1;
  }
  s[0] = 0x80000000u;
}

static void refill(struct mersenne *mersenne) {
  uint32_t *s = mersenne->state;
  for (unsigned i = 0; i < 624; i++) {
    uint32_t mixed = (s[i] & 0x80000000u) | (s[(i + 1) % 624] & 0x7fffffffu);
    s[i] = s[(i + 397) % 624] ^ (mixed >> 1) ^ (mixed & 1 ? 0x9908b0dfu : 0);
  }
  mersenne->used = 0;
}

uint32_t mersenne_u32(struct mersenne *mersenne) {
  if (mersenne->used == 624) refill(mersenne);
  uint32_t y = mersenne->state[mersenne->used++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

static void swap(uint32_t *items, size_t i, size_t j) {
  uint32_t kept = items[i];
  items[i] = items[j];
  items[j] = kept;
}

void shuffle_python(uint32_t *items, size_t count, uint32_t seed) {
  struct mersenne mersenne;
  mersenne_start_array(&mersenne, &seed, 1);
  for (size_t i = count; i-- > 1;) {
    uint32_t limit = (uint32_t)i + 1, drawn;
    int bits = 32 - __builtin_clz(limit);
    do drawn = mersenne_u32(&mersenne) >> (32 - bits);
    while (drawn >= limit);
    swap(items, i, drawn);
  }
}

void permutation_numpy(uint32_t *items, size_t count, uint32_t seed) {
  struct mersenne mersenne;
  mersenne_start(&mersenne, seed);
  for (size_t i = 0; i < count; i++) items[i] = (uint32_t)i;
  for (size_t i = count; i-- > 1;) {
    uint32_t limit = (uint32_t)i, mask = 0xffffffffu >> __builtin_clz(limit), drawn;
    do drawn = mersenne_u32(&mersenne) & mask;
    while (drawn > limit);
    swap(items, i, drawn);
  }
}
