/* Three kinds of failure, three rules.
 *
 * 1. The world is wrong (file, key, device, memory): return false with a code and a text in struct error.
 * 2. The caller is wrong: REQUIRE says place and values, and ends the call by `fatal`; it is always compiled
 *    in. An arena without memory ends so too.
 * 3. An enqueue failed: the device keeps the first one (engine/device/device.h). */
#ifndef L2SR_ENGINE_ERROR_H
#define L2SR_ENGINE_ERROR_H

#include "engine/base/l2sr.h"

#include <stdbool.h>

struct error {
  char text[1536];
  enum l2sr_code code;
};

/* Writes the text and returns false, so that a refusal reads `return fail(error, "...")`. The code is
 * L2SR_FAILED; the next three say what they give. */
bool fail(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_usage(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_file(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_memory(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_as(struct error *error, enum l2sr_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context in front of the text that is already there ("context: text") and returns false; the code
 * stays. Context that does not fit is cut, never the text. */
bool fail_in(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the call: a `rescue` that is under way returns, else the program's handler is called (l2sr_on_fatal).
 * Locks that this thread holds (engine/base/lock.h) are given back first. */
_Noreturn void fatal(enum l2sr_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs the work. Where the work ends by `fatal`, returns false with that code and text. Threads of the
 * library use it, for the handler does not decide their end, and so does a caller who wants an error instead.
 * Nobody uses or closes what the work had open. No frame of another library may lie between: callbacks that
 * HDF5 or OpenCL calls take their memory by arena_try. */
/* What the thread is at, for the one who keeps it (engine/ecs/world.c): a rescue puts back what it found. */
extern _Thread_local void *thread_at;

typedef bool rescue_work(void *context, struct error *error);
bool rescue(rescue_work *work, void *context, struct error *error);

_Noreturn void require_failed(const char *condition, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define REQUIRE(condition, ...)                                                                              \
  ((condition) ? (void)0 : require_failed(#condition, __FILE__, __LINE__, __VA_ARGS__))

#endif
