/* Random numbers.
 *
 * Philox 4x32-10 (Salmon et al. 2011), counter-based: a draw is a pure function of (seed, stream, number,
 * step), so results depend neither on how many rows a launch has nor on the device. The same function stands
 * in kernels/common.h. A stream is a purpose, the number says whose draw it is, and the step which of its
 * draws.
 *
 * MT19937, only where published results depend on it: Python's shuffle and numpy's legacy permutation. */
#ifndef L2SR_ENGINE_RANDOM_H
#define L2SR_ENGINE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct philox {
  uint32_t word[4];
};

struct philox philox_draw(struct philox counter, uint32_t key0, uint32_t key1);
/* The four words of (seed, stream, number, step). */
struct philox random_words(uint32_t seed, uint32_t stream, uint32_t number, uint32_t step);

/* A sequence of draws from one (seed, stream, number): for host code that needs many. */
struct random {
  uint32_t seed, stream, number, step;
  struct philox words;
  unsigned used;
};
void random_start(struct random *random, uint32_t seed, uint32_t stream, uint32_t number);
uint32_t random_u32(struct random *random);
double random_uniform(struct random *random); /* in [0, 1), 32 bits */
double random_normal(struct random *random);  /* mean 0, deviation 1 (Box-Muller) */

/* 0 to count - 1 in an order from these draws (Fisher and Yates). */
void random_order(struct random *random, uint32_t *order, size_t count);

struct mersenne {
  uint32_t state[624];
  unsigned used;
};
void mersenne_start(struct mersenne *mersenne, uint32_t seed);                 /* init_genrand */
void mersenne_start_array(struct mersenne *mersenne, const uint32_t *key, size_t count); /* init_by_array */
uint32_t mersenne_u32(struct mersenne *mersenne);

/* Shuffles in place as Python 3's random.seed(seed); random.shuffle(items). */
void shuffle_python(uint32_t *items, size_t count, uint32_t seed);
/* numpy.random.RandomState(seed).permutation(count). */
void permutation_numpy(uint32_t *items, size_t count, uint32_t seed);

#endif
