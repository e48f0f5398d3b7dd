/* HDF5 files. Reading is by hyperslab into the caller's memory; libhdf5 converts byte order and precision.
 * Writing goes to a file beside, which takes its place only when whole (store_commit: flush, fsync, rename).
 *
 * A store is used by one thread at a time. Two threads may use two stores: each call holds LOCK_FILES, for
 * libhdf5 may be built for one thread. */
#ifndef L2SR_ENGINE_STORE_H
#define L2SR_ENGINE_STORE_H

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/files/part.h"

#include <stdint.h>

enum { STORE_RANK = 6 };

enum store_type { STORE_U8, STORE_U32, STORE_F32, STORE_F64, STORE_C64 /* struct of two floats */ };

struct store; /* opaque: store.c */

struct store_shape {
  int rank;
  size_t size[STORE_RANK];
  bool complex; /* a compound of two numbers */
  bool real;    /* integers or floats */
};

/* Names what is wrong with a file that cannot be opened: missing, no HDF5 signature, cut short, under the
 * lock of a writer. Until it is closed nobody who asks for HDF5's lock writes it. Here and below: what another
 * program writes, in this file or one that a name leads to, is refused by fail_busy. */
bool store_open(struct store **store, const char *path, struct error *error);
void store_close(struct store *store); /* NULL allowed; an uncommitted new file is removed */

bool store_has(struct store *store, const char *name);
bool store_shape(struct store *store, const char *name, struct store_shape *shape, struct error *error);
/* Reads count[] elements from start[] on; both of the dataset's rank. Chunks over several entries of the
 * first axis are decompressed once, not once an entry, where those of one entry take at most 1 GiB. */
bool store_read(struct store *store, const char *name, enum store_type type, const size_t *start,
                const size_t *count, void *to, struct error *error);
/* Whether the file can hold what the dataset's shape says, all of it written: for shapes that decide how much
 * is allocated or how long is looped. Also whether the filters it was written by are here, and whether the
 * files that a virtual or external dataset lies in are there and as large as it says. */
bool store_check_held(struct store *store, const char *name, struct error *error);
/* Reads a whole dataset; *total is its number of elements. Refuses, before it allocates or reads, one of more
 * than `most` and one that the file cannot hold. */
bool store_read_all(struct store *store, const char *name, enum store_type type, size_t most,
                    struct arena *arena, void **data, size_t *total, struct error *error);
/* Reads a dataset of exactly so many elements into the caller's memory. */
bool store_read_known(struct store *store, const char *name, enum store_type type, size_t total, void *to,
                      struct error *error);
/* Attribute or scalar dataset; false without a message when it is not there or of another kind. */
bool store_text(struct store *store, const char *name, char *text, size_t size);
bool store_number(struct store *store, const char *name, double *value);
bool store_has_value(struct store *store, const char *name); /* an attribute or a dataset of any kind */
/* False where the value is there, but in a file that another program writes: it would be taken for missing. */
bool store_check_free(struct store *store, const char *name, struct error *error);
/* Reads one value of whatever type (text, whole or broken numbers, an array of one) as a text without the
 * blanks around it: 7 and "7" are the same word. False where there is none or it is empty. */
bool store_word(struct store *store, const char *name, char *text, size_t size);
/* Whether libhdf5 came to an end with what was read of it; what it did not is taken for missing. */
bool store_is_sound(struct store *store, struct error *error);
/* "float32", "complex float32", "text", "compound (head, traj, data)": the type as HDF5 has it. */
void store_type_words(struct store *store, const char *name, char *text, size_t size);
/* "contiguous" or "chunked 1x128x128, shuffle, deflate 9". */
void store_layout(struct store *store, const char *name, char *text, size_t size);
/* Calls `see` for every dataset below the root, with its path. */
typedef void store_see(const char *name, void *context);
bool store_list(struct store *store, store_see *see, void *context, struct error *error);
/* Calls `see` for every attribute of the root. */
bool store_list_attributes(struct store *store, store_see *see, void *context, struct error *error);

/* Whether it was written with checksums (store_keep_sums). */
bool store_has_sums(const struct store *store);

bool store_create(struct store **store, const char *path, struct error *error);
/* Of all that is written from now on: checksums are written with it. Whoever opens the file is refused where its
 * attributes or names are others, and whoever reads a whole dataset where its numbers are. */
void store_keep_sums(struct store *store);
/* Groups in the name are made. `compress` stores chunks of the last two axes with shuffle and deflate. */
bool store_write(struct store *store, const char *name, enum store_type type, int rank, const size_t *size,
                 const void *from, bool compress, struct error *error);
/* Numbers rounded to half precision (float16 in the file): read as STORE_F32 they are the rounded ones, which checksums are
 * of. Refuses what half precision does not hold. */
bool store_write_half(struct store *store, const char *name, int rank, const size_t *size, const float *from,
                      struct error *error);
bool store_write_text(struct store *store, const char *name, const char *text, struct error *error);
bool store_put_text(struct store *store, const char *attribute, const char *text, struct error *error);
bool store_put_number(struct store *store, const char *attribute, double value, struct error *error);
/* Makes the new file take its place. Closes the store whatever the result. */
bool store_commit(struct store *store, struct error *error);

#endif
