/* Shared by the test programs: refusals, a temporary folder, files, the device, calls that must abort. */
#ifndef L2SR_TESTS_SUPPORT_H
#define L2SR_TESTS_SUPPORT_H

#include "engine/base/arena.h"
#include "engine/device/device.h"
#include "engine/ecs/system.h"
#include "engine/ecs/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Fails the test, showing the text, unless `part` stands in it. */
#define assert_holds(text, part) support_assert_holds(text, part, __FILE__, __LINE__)
void support_assert_holds(const char *text, const char *part, const char *file, int line);

/* Fails the test, showing the error, unless the call is true. */
#define assert_good(call, error) support_assert_good(call, #call, error, __FILE__, __LINE__)
void support_assert_good(bool good, const char *call, const struct error *error, const char *file, int line);

/* A folder under /tmp that goes with everything in it. */
struct folder {
  struct arena *arena;
  char path[32];
};
void support_open_folder(struct folder *folder);
void support_close_folder(struct folder *folder);
/* "FOLDER/name"; lives as long as the folder. */
const char *support_path(struct folder *folder, const char *name);
size_t support_count(const char *path); /* entries of a folder; 0 where there is none */
/* The only entry of a folder, "FOLDER/entry". */
const char *support_only_entry(struct folder *folder, const char *path);

/* Opens /dev/full to write; where it is no device, as in some containers, the test says so and is skipped. */
int support_open_full(void);

void support_write(const char *path, const void *data, size_t bytes);
void support_write_text(const char *path, const char *text);
unsigned char *support_read(struct arena *arena, const char *path, size_t *bytes);
/* Takes the checksums of an HDF5 file away, as files of earlier versions have none: for tests that change one. */
void support_forget_sums(const char *path);
/* A PNG; pixels are 0xRRGGBB below a byte that says nothing. */
struct decoded {
  size_t width, height;
  const uint32_t *pixel; /* [height][width] */
};
struct decoded support_read_png(struct arena *arena, const char *path);

/* Group setup and teardown: one device a program, *state points to it. Kernels come from the user's cache. */
int support_open_device(void **state);
int support_close_device(void **state);
/* The device and clFFT. */
int support_open_transforms(void **state);
int support_close_transforms(void **state);
/* false: what PoCL compiles from here on it does not optimise, which takes a third of the time: for sizes that no
 * other test has, and on which little is computed. */
void support_optimise(bool optimised);
/* Opens the same device, with the matrix instructions emulated where it has none. */
int support_open_matrix(void **state);

/* Three volumes to train, one each to validate and test, of so many slices; images n x n. */
struct options;
void support_set_phantoms(struct options *options, int n, int slices);
/* For trainings: the folder with these phantoms in `data`; the device. 0: good. */
struct device;
int support_open_training(struct folder *folder, struct device *device, int n, int slices);
int support_close_training(struct folder *folder, struct device *device);

/* Slices that differ, with edges and texture, in their order, ready to be scanned. */
struct world;
void support_fill_slices(struct world *world, uint32_t slices);

/* Columns of a world, written and read by the test. */
void support_put(struct world *world, unsigned component, size_t row, size_t count, const void *from);
void support_get(struct world *world, unsigned component, size_t row, size_t count, void *to);
void support_fill(struct world *world, unsigned component, uint32_t word);
/* A system that may do all and must do nothing: for a test that takes columns in a system's place. */
extern const struct system support_all;

/* Every line of `lines` is one of `others`. */
void support_lines(const char *lines, const char *others);

/* Runs the call in a child, which must abort with `part` on its stderr. */
void support_expect_abort(void (*call)(void *context), void *context, const char *part);

#endif
