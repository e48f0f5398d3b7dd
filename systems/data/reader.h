/* Reads the slices of a dataset one after the other on a thread of its own, a few ahead of the consumer, so
 * that the next volume is read while the last is uploaded. Memory is bounded by the ring. */
#ifndef L2SR_SYSTEMS_READER_H
#define L2SR_SYSTEMS_READER_H

#include "systems/data/dataset.h"

struct reader; /* opaque: reader.c */

struct reader_slice {
  size_t volume, slice; /* which */
  const float *data;    /* volume_read's numbers; NULL: the volume cannot be read, `reason` says why */
  const char *reason;
  bool is_busy; /* another program writes the volume's file */
  bool ends; /* the reason is not the volume's fault: others would fail so, too */
};

bool reader_open(struct reader **reader, const struct dataset *dataset, struct error *error);
/* The next slice, or NULL after the last; valid until the next call. A volume that fails has no more slices.
 * What ends the thread by `fatal` ends this call so, in the thread that asks. */
const struct reader_slice *reader_next(struct reader *reader);
void reader_close(struct reader *reader); /* at any time */

#endif
