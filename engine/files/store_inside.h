/* The inside of the store: for store_*.c and probe_serve.c only. */
#ifndef L2SR_ENGINE_STORE_INSIDE_H
#define L2SR_ENGINE_STORE_INSIDE_H

#include "engine/base/lock.h"
#include "engine/files/store.h"

#include <hdf5.h>

enum { SUM_TEXT = 32 }; /* characters of a checksum */
#define SUM_NAME "l2sr_checksum"

struct store {
  struct arena *arena;
  hid_t file;
  int lock; /* a descriptor that holds the lock of a file that is read; -1: none */
  const char *path;
  bool unfinished; /* a new file until it is committed: */
  struct part_file part;
  hid_t dataset; /* asked for last: it stays open, for its shape and parts are read one after the other */
  char dataset_name[128];
  bool is_guarded; /* it may be read from */
  bool has_cache;  /* for its chunks, where a read needs them more than once */
  bool has_sums;   /* an opened file's root has a checksum */
  bool keeps_sums; /* of a new file: checksums are written, */
  uint64_t sum;    /* and this is what the root's is up to now */
  char sum_text[SUM_TEXT]; /* the kept dataset's checksum; "": it has none */
  int depth;       /* depth of virtual datasets of virtual datasets: they may form a ring */
};

enum {
  REASON = 256,
  STORE_FILES = 6, /* that are open at once beside the file: its lock, the child's socket, libhdf5's own */
  STORE_TEXT_MOST = 1 << 20,  /* bytes of a text that are read */
  STORE_CHUNK_MOST = 16 << 20 /* bytes of a chunk that is read before it is asked whether the file holds it */
};

struct store *store_new(const char *path);
void store_start(void); /* before the first call of HDF5 */
/* store_open without a child that looks first. */
bool store_open_here(struct store **store, const char *path, struct error *error);
/* A handler of libhdf5's errors (H5Eset_auto2): sets the bool `lacking` where memory was refused. */
herr_t store_watch_memory(hid_t stack, void *lacking);
void store_without_locks(hid_t access); /* where this HDF5 can do without */
/* Opens it and takes the reader's lock, where its file system has locks; closing it gives the lock back.
 * Refuses a file that a writer holds, without waiting. *file is -1 then. (store_lock.c) */
bool store_lock(const char *path, int *file, struct error *error);
hid_t store_open_locked(const char *path, hid_t access); /* by HDF5; negative: its error stack says why */
/* The innermost reason on HDF5's error stack, of one line. */
const char *store_reason(char text[REASON]);
bool store_refuse(const struct store *store, const char *doing, const char *name, struct error *error);
hid_t store_dataset(struct store *store, const char *name, struct error *error); /* the caller closes it */
bool store_shape_of(const struct store *store, hid_t dataset, const char *name, struct store_shape *shape,
                    struct error *error);
/* Bytes of a chunk of the dataset; 0: it has none. */
double store_chunk_bytes(hid_t dataset);
/* Does once, to all that the file holds, what the functions of store.h do (store_tried.c). data:
 * [STORE_TEXT_MOST] bytes. False: libhdf5 cannot list what is there. */
bool store_try(struct store *store, void *data, struct error *error);
struct store_reading {
  const char *function; /* of store.h */
  void (*run)(struct store *store, const char *name, void *data);
};
extern const struct store_reading store_readings[]; /* ends with a row of NULL */
size_t store_type_bytes(enum store_type type);

/* Checksums (store_sums.c). An entry of the root's: an attribute, or a dataset. */
enum store_entry { ENTRY_TEXT = 't', ENTRY_NUMBER = 'n', ENTRY_DATA = 'd', ENTRY_TEXT_DATA = 'w' };
uint64_t store_entry_sum(enum store_entry kind, const char *name, const void *value, size_t bytes);
size_t store_text_bytes(const char *text); /* those of a text that are read again */
void store_data_sum(enum store_type type, const struct store_shape *shape, const void *data, size_t total,
                    char text[SUM_TEXT]);
void store_read_sum(hid_t object, char text[SUM_TEXT]); /* that stands beside it; "": none */
/* Refuses other numbers than were written, of the kept dataset, and other names and attributes. */
bool store_check_data(struct store *store, const char *name, enum store_type type, const struct store_shape *shape,
                      const void *data, size_t total, struct error *error);
bool store_check_names(struct store *store, struct error *error);

/* Opens it as store->dataset, if it is not open. */
bool store_keep_dataset(struct store *store, const char *name, struct error *error);
void store_forget_dataset(struct store *store);
/* Refuses a virtual or external dataset with parts that would be read as zeros (store_source.c). */
bool store_check_sources(struct store *store, hid_t dataset, hid_t plist, const char *name,
                         struct error *error);
/* Whether the link is there. astray: what an external one leads to, where that is a pipe or another thing
 * that libhdf5 would wait for; NULL: nothing of the kind. */
bool store_link(struct store *store, const char *part, const char **astray);
/* Of a name that cannot be opened: says so where it leads, by external links, to a file that another program
 * writes; else it leaves the error as it is. */
void store_refuse_written(struct store *store, const char *name, struct error *error);
bool store_is_complex(hid_t type); /* a compound of two numbers */
bool store_check_filters(struct store *store, hid_t plist, const char *name, struct error *error);

#endif
