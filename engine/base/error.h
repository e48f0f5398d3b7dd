/* Three kinds of failure, three rules.
 *
 * 1. The world is wrong (file, key, device, memory): return false with a code and a text in struct error.
 * 2. The caller is wrong: REQUIRE says place and values, and ends the call by `fatal`; it is always compiled
 *    in. An arena without memory ends so too.
 * 3. An enqueue failed: the device keeps the first one (engine/device/device.h). */
#ifndef L2SR_ENGINE_ERROR_H
#define L2SR_ENGINE_ERROR_H

#include <stdbool.h>

/* The kind of an error. Programs that hold the library see these numbers: they stay, and new ones come last.
 */
enum error_code {
  ERROR_NONE,
  ERROR_FAILED,    /* none of the others */
  ERROR_USAGE,     /* an unknown word, a value out of its range, or values that contradict each other */
  ERROR_FILE,      /* a file or folder is missing, damaged, of another kind, or cannot be written */
  ERROR_NO_DEVICE, /* there is no OpenCL device, or none of that name */
  ERROR_DEVICE,    /* the device or its driver refused or failed */
  ERROR_MEMORY,    /* the host's or the device's is used up */
  ERROR_DIVERGED,  /* what is computed is no finite number any more */
  ERROR_CALL,      /* the caller broke a rule */
  ERROR_STOPPED    /* a callback of the program stopped the work */
};

struct error {
  char text[1536];
  enum error_code code;
  bool is_busy; /* another program writes what was asked for: once it has ended that, it may be good */
};

/* Writes the text and returns false, so that a refusal reads `return fail(error, "...")`. The code is
 * ERROR_FAILED; the next three say what they give. fail_busy gives ERROR_FILE and is_busy. */
bool fail(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_usage(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_file(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_busy(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_memory(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_as(struct error *error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context in front of the text that is already there ("context: text") and returns false; code
 * and is_busy stay. Context that does not fit is cut, never the text. */
bool fail_in(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the call: a `rescue` that is under way returns, else the program's handler is called (fatal_with).
 * Locks that this thread holds (engine/base/lock.h) are given back first. */
_Noreturn void fatal(enum error_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the program does at such an end, in the thread that was at work: it ends the program, or leaves by
 * longjmp. Where it returns, or none is set (NULL), the text is logged and the program is aborted. */
typedef void fatal_handler(enum error_code code, const char *text, void *context);
void fatal_with(fatal_handler *handler, void *context);
/* What this thread gives back first, as locks; NULL: nothing. No rescue begins while there is something. */
void fatal_before(void (*give)(void));
/* Who is told why the program is aborted; NULL: nobody. */
void fatal_tell(void (*tell)(const char *text));

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
