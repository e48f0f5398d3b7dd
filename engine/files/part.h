/* Files that are being written: each beside the file whose place it takes when it is whole, as
 * NAME.0123456789abcdef.part. The number is random and the file is made anew, never opened: nobody can lay a
 * link there beforehand that leads to another file. Whoever writes a part holds a lock on it, so that those
 * that a killed program left are told from others. */
#ifndef L2SR_ENGINE_PART_H
#define L2SR_ENGINE_PART_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <stdio.h>

enum { PART_PLACE = 4096, PART_PATH = PART_PLACE + 64 };

struct part_file {
  char path[PART_PATH];   /* "": none, what is written goes straight to its place */
  char place[PART_PLACE]; /* that it takes */
  int slot;               /* among the unfinished; -1: none */
};

/* Where a file at `path` is to be: there, or where the link that stands there leads, also where that is not yet
 * made. Refuses links that lead to themselves, folders, sockets and disks: nothing takes their place. *straight: it is
 * a pipe, a character device or an open file of the program's own (/dev/stdout, /dev/fd/3), into which is written as
 * it comes. straight NULL, for what is not written from front to back: these are refused too. */
bool part_place(char place[PART_PLACE], const char *path, bool *straight, struct error *error);
/* Opens such a place. -1: errno says why; a pipe that nobody reads is not waited for (ENXIO). */
int part_straight(struct part_file *part, const char *place);

/* Makes an empty file at a new path beside `path`; returns its descriptor, or -1 with errno set. It may be
 * called again: then somebody removed the file that it made before, which it closes. */
typedef int part_maker(const char *path, void *context);
/* Makes the file by the maker (NULL: open) at names until one is free, and locks it. -1: errno says why. */
int part_make(struct part_file *part, const char *path, part_maker *make, void *context);
/* Takes its place, after it was synced. The folder is synced too: else a file that was whole may be
 * gone when the power fails. False: errno says why; the part, if it did not take the place, is the caller's.
 */
bool part_take_place(struct part_file *part);
void part_drop(struct part_file *part); /* removes it */

/* Advice where a file cannot be written, to follow the system's words for why; "": nothing known. */
void part_help(const char *path, const char *reason, char *text, size_t size);
bool part_lacks_lock(const char *reason);
/* "cannot DOING PATH: ..." with errno and what helps on the disk; `beside`: where it was written (NULL: on none).
 * Returns false. */
bool part_refuse(const char *doing, const char *path, const char *beside, struct error *error);
/* The same of a place that cannot be written at all, and where the path leads. */
bool part_refuse_place(const char *path, const char *place, struct error *error);

/* Removes the parts of a folder that nobody writes any more. */
void parts_clear(const char *folder);
/* Removes the files that are being written; for an interrupted program. Async-signal-safe. */
void store_abandon_all(void);

/* A text file: written beside, and takes its place by file_commit; or straight into a pipe or a device (part_place). */
struct text_file {
  FILE *file;
  char path[4096];
  struct part_file part;
  bool unfinished; /* it neither took its place nor was abandoned */
};
bool file_create(struct text_file *file, const char *path, struct error *error);
bool file_commit(struct text_file *file, struct error *error);
/* Refuses early what file_create would refuse after hours of work. */
bool file_try(const char *path, struct error *error);
/* The two steps of it, where several files take their places together: all that a disk may refuse is in the
 * first. A step that fails removes what was written. */
bool file_finish(struct text_file *file, struct error *error);
bool file_take_place(struct text_file *file, struct error *error);
/* For whoever sees a write fail: errno is still the reason of it, which a later step would not know. Removes what was
 * written, and returns false. */
bool file_refuse(struct text_file *file, struct error *error);
void file_abandon(struct text_file *file); /* removes what was written; nothing, where it is not unfinished */
/* Opens a file to read. NULL: refused; a pipe or a device, which may have no end, is refused too. */
FILE *file_read(const char *path, struct error *error);
/* The same, but what the program was given open (/dev/stdin, /dev/fd/3: `<(command)` of a shell) is read whatever
 * it is, and so is /dev/null: of those nobody waits for a writer who never comes. */
FILE *file_read_given(const char *path, struct error *error);
/* A log: opened, or made, to append. A link, or what is no file, is refused. */
bool file_append(FILE **file, const char *path, struct error *error);

bool file_is_there(const char *path);   /* or a folder */
bool folder_is_there(const char *path); /* and is no file */
/* The first of the paths, ended by NULL, that is a folder seen from the file's own; NULL: none is. */
const char *folder_beside(struct arena *arena, const char *file, const char *const *paths);
/* Makes the folder and those above it, also where it is there; refuses one that takes no files. Removes what
 * killed programs left half written there. */
bool folder_make(const char *path, struct error *error);
/* How much of the path is there: for folder_unmake, which removes the empty folders that folder_make has made below that. */
size_t folder_there(const char *path);
void folder_unmake(const char *path, size_t there);
/* Holds a folder against others that hold it, until the descriptor is closed; the program's end closes it
 * too. -1: folders cannot be locked there. */
bool folder_hold(const char *path, int *descriptor, struct error *error);

#endif
