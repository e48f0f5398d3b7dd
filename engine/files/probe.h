/* A child process that looks at HDF5 files before this one does. libhdf5 hangs, crashes or takes gigabytes on
 * some that are damaged, most of all on texts of variable length (its 1.10.8 does): what happens to the child
 * is an error like others, and the work goes on with the next file.
 *
 * The child is this program or another that calls probe_serve, started with the one word PROBE_WORD when the
 * first file is opened, and again after it has ended by a file. It has limits of memory and time, but none of
 * memory where there is no /proc. Without probe_with there is none, nor where the program cannot be started,
 * as /proc/self/exe without /proc: a warning says so once, files are opened as they are, and libhdf5 may end
 * this program. */
#ifndef L2SR_ENGINE_PROBE_H
#define L2SR_ENGINE_PROBE_H

#include "engine/base/error.h"

#include <stddef.h>

#define PROBE_WORD "--look-at-files"

/* The program to start ("/proc/self/exe": this one); a child of the same one stays. NULL: no child any more, and what it has
 * said is forgotten. The text stays the caller's. */
void probe_with(const char *program);
/* Has the child do to the file what this program does to files (store_tried.c). Refused: it did not survive,
 * or cannot list what is there. What it says of a file is kept until the file changes. */
bool probe_file(const char *path, struct error *error);
/* A text of the file: an attribute of the root, or a dataset. Missing: it is not there, is no text, or the
 * child did not survive it. Unasked: there is no child. */
enum probe_found { PROBE_FOUND, PROBE_MISSING, PROBE_UNASKED };
enum probe_found probe_text(const char *path, const char *name, char *text, size_t size);

/* Writes what a file of another program holds to a file that this one reads: `how` says what is wanted of it, `told`
 * (size bytes) is for what is to be said of it. */
struct probe_unpacking {
  const char *path, *how, *to;
  const char *library; /* that reads it, for texts */
  char *told;
  size_t size;
};
typedef bool probe_unpacker(const struct probe_unpacking *unpacking, struct error *error);
/* Has the child do it, by the unpacker that probe_serve was given: the parsers of other people's formats crash, hang or
 * take gigabytes on damaged files, too. Missing: it is refused, with the error. Unasked: there is no child. */
enum probe_found probe_unpack(const struct probe_unpacking *unpacking, struct error *error);

/* The child's work, over the socket at descriptor 0, until it is closed. */
int probe_serve(probe_unpacker *unpack);

#endif
