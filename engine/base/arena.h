/* Host memory by lifetime: one arena each for process, scene and call. Nothing is freed alone. */
#ifndef L2SR_ENGINE_ARENA_H
#define L2SR_ENGINE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

/* Where arenas take their memory from. */
struct allocator {
  void *(*allocate)(size_t bytes, void *context); /* for any type, as malloc; NULL: there is none */
  void (*release)(void *memory, void *context);
  void *context;
};
/* For arenas that are opened from now on; NULL: calloc and free. An arena stays with the allocator that it
 * was opened with. */
void arena_allocate_with(const struct allocator *allocator);

struct arena; /* opaque: arena.c */

struct arena *arena_open(void);
void arena_close(struct arena *arena); /* frees everything made in it; NULL is allowed */

/* The memory is zeroed and aligned to 64 bytes. `fatal` (error.h) ends the call when the host has no memory
 * left. */
void *arena_new(struct arena *arena, size_t bytes);
/* Returns NULL instead: for sizes that come from a file or an option. */
void *arena_try(struct arena *arena, size_t bytes);

/* The size of an array in bytes is checked: a count out of a file may wrap it. */
void *arena_new_array(struct arena *arena, size_t size, size_t count);
void *arena_try_array(struct arena *arena, size_t size, size_t count);

#define ARENA_NEW(arena, type, count) ((type *)arena_new_array(arena, sizeof(type), (size_t)(count)))
#define ARENA_TRY(arena, type, count) ((type *)arena_try_array(arena, sizeof(type), (size_t)(count)))

char *arena_text(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
