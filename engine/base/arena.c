#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/lock.h"
#include "engine/base/round.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, FIRST = 1 << 12, BLOCK = 1 << 16 /* bytes of the first block, and of the largest */ };

struct block {
  struct block *next;
  size_t used, size;
  void *start; /* the address that the allocator gave */
  unsigned char *data;
};

struct arena {
  struct allocator allocator;
  struct block *head;
};

/* ---- allocators ---------------------------------------------------------------------------------------- */

/* It has no functions where calloc and free are chosen. The process has one; LOCK_SETTINGS guards it. */
static struct allocator chosen;

void arena_allocate_with(const struct allocator *allocator) {
  HOLD(LOCK_SETTINGS);
  chosen = allocator ? *allocator : (struct allocator){0};
}

static struct allocator which_allocator(void) {
  HOLD(LOCK_SETTINGS);
  return chosen;
}

/* Zeros. calloc's are the system's where they are many: it gives pages only where they are written. */
static void *take_zeros(const struct allocator *allocator, size_t bytes) {
  if (!allocator->allocate) return calloc(1, bytes);
  void *memory = allocator->allocate(bytes, allocator->context);
  return memory ? memset(memory, 0, bytes) : NULL;
}

static void give_back(const struct allocator *allocator, void *memory) {
  if (allocator->release)
    allocator->release(memory, allocator->context);
  else
    free(memory);
}

/* ---- arenas -------------------------------------------------------------------------------------------- */

struct arena *arena_open(void) {
  struct allocator allocator = which_allocator();
  struct arena *arena = take_zeros(&allocator, sizeof *arena);
  if (!arena) fatal(ERROR_MEMORY, "out of host memory; free memory or ask for less");
  arena->allocator = allocator;
  return arena;
}

void arena_close(struct arena *arena) {
  if (!arena) return;
  struct allocator allocator = arena->allocator;
  for (struct block *block = arena->head; block;) {
    struct block *next = block->next;
    give_back(&allocator, block->start);
    give_back(&allocator, block);
    block = next;
  }
  give_back(&allocator, arena);
}

static struct block *add_block(struct arena *arena, size_t size) {
  const struct allocator *allocator = &arena->allocator;
  struct block *block = take_zeros(allocator, sizeof *block);
  if (!block) return NULL;
  block->start = take_zeros(allocator, size + ALIGNMENT);
  if (!block->start) {
    give_back(allocator, block);
    return NULL;
  }
  block->data = (unsigned char *)round_up((uintptr_t)block->start, ALIGNMENT);
  block->size = size;
  block->next = arena->head;
  arena->head = block;
  return block;
}

void *arena_try(struct arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX - 2 * ALIGNMENT) return NULL;
  size_t need = round_up(bytes, ALIGNMENT);
  if (need == 0) need = ALIGNMENT;
  struct block *block = arena->head;
  if (!block || block->size - block->used < need) {
    size_t size = !block ? FIRST : block->size < BLOCK / 2 ? 2 * block->size : BLOCK;
    block = add_block(arena, need > size ? need : size);
  }
  if (!block) return NULL;
  void *place = block->data + block->used;
  block->used += need;
  return place;
}

void *arena_try_array(struct arena *arena, size_t size, size_t count) {
  size_t bytes;
  return __builtin_mul_overflow(size, count, &bytes) ? NULL : arena_try(arena, bytes);
}

void *arena_new(struct arena *arena, size_t bytes) {
  return arena_new_array(arena, bytes, 1);
}

void *arena_new_array(struct arena *arena, size_t size, size_t count) {
  void *place = arena_try_array(arena, size, count);
  if (place) return place;
  if (count == 1) fatal(ERROR_MEMORY, "the host has no %zu bytes left; free memory or ask for less", size);
  fatal(ERROR_MEMORY, "the host has no memory left for %zu times %zu bytes; free memory or ask for less",
        count, size);
}

char *arena_text(struct arena *arena, const char *format, ...) {
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  if (!format) format = ""; /* gcc's sanitizer build wants it said */
  int length = vsnprintf(NULL, 0, format, list);
  char *text = arena_new(arena, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(list);
  return text;
}
