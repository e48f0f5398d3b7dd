/* What HDF5 itself keeps in a file, and damage to it (see damage.c). */
#ifndef L2SR_TESTS_DAMAGE_H
#define L2SR_TESTS_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANATOMY_SPOTS = 1 << 16, ANATOMY_REGIONS = 1 << 12 };

struct spot {
  uint32_t at;
  uint8_t width;
};
struct region { /* its checksum follows */
  uint32_t at, length;
};
struct anatomy {
  const uint8_t *bytes;
  size_t size, spot_count, region_count;
  struct spot spots[ANATOMY_SPOTS];
  struct region regions[ANATOMY_REGIONS];
};

/* Finds the spots of a good file; `anatomy` is zeros before. The bytes stay the caller's. */
void anatomy_find(struct anatomy *anatomy, const uint8_t *bytes, size_t size);
/* Damages a copy of the file. The four bytes say where and how. */
void anatomy_damage(const struct anatomy *anatomy, uint8_t *bytes, const uint8_t input[4]);

#endif
