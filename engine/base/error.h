/* Three kinds of failure, three rules.
 *
 * 1. The world is wrong (file, key, device, memory): return false with a text in struct error.
 * 2. The caller is wrong: REQUIRE prints place and values and aborts; it is always compiled in.
 * 3. An enqueue failed: the device keeps the first one (engine/device/device.h). */
#ifndef L2SR_ENGINE_ERROR_H
#define L2SR_ENGINE_ERROR_H

#include <stdbool.h>

struct error {
  char text[1536];
  bool usage; /* what the user wrote is wrong, not what the program found */
};

/* Writes the text and returns false, so that a refusal reads `return fail(error, "...")`. */
bool fail(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for unknown words and values that cannot go together: the exit status is 2. */
bool fail_usage(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts context in front of the text that is already there ("context: text") and returns false. Context that
 * does not fit is cut, never the text. */
bool fail_in(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

_Noreturn void require_failed(const char *condition, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define REQUIRE(condition, ...)                                                                              \
  ((condition) ? (void)0 : require_failed(#condition, __FILE__, __LINE__, __VA_ARGS__))

#endif
