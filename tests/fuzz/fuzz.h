/* Readers of files, tried with files that are damaged. A harness, fuzz_READER.c, is one
 * LLVMFuzzerTestOneInput; linked with run.c it is a test, with libFuzzer (-Dfuzz=true, clang) a search
 * without end.
 *
 * An input is no HDF5 file, but says how a good one is changed, four bytes a change. Most say which object,
 * which change, and two numbers: what libhdf5 then reads is a whole file, of any shape, type, layout and
 * value. Where the second byte of one is 128 or more, those damage the file instead, where libhdf5 keeps its
 * own lengths, types and addresses (damage.h), in the oldest or the newest format. libhdf5 crashes on some,
 * wherever it is called: the child of L2SR_PROGRAM looks first, as in the program, so that a reader that ends
 * did what the child had not tried (engine/files/store_tried.c). Without L2SR_PROGRAM nothing is damaged. */
#ifndef L2SR_TESTS_FUZZ_H
#define L2SR_TESTS_FUZZ_H

#include "engine/base/arena.h"
#include "engine/files/store.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* "FOLDER/name" in a folder of this process that goes with it, in memory where there is /dev/shm. */
const char *fuzz_path(const char *name);
/* Writes a file of these bytes there; returns its path. */
const char *fuzz_text(const char *name, const uint8_t *data, size_t size);

/* Takes the file, made by the harness at fuzz_path("good.h5"), as one that is changed. Of several the first
 * byte of an input says which. */
void fuzz_take(void);
/* Writes it with the changes of the input; returns the path. */
const char *fuzz_change(const uint8_t *data, size_t size);
size_t fuzz_kind(void); /* which of them the last one was, from 0 */

/* For harnesses: what must succeed. */
#define FUZZ_MUST(call) ((call) ? (void)0 : fuzz_failed(#call, &error))
_Noreturn void fuzz_failed(const char *call, const struct error *error);

#endif
