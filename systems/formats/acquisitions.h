/* ISMRMRD's raw data: HDF5 files with a group that holds `xml`, the header, and `data`, a table of
 * acquisitions (heads and samples of variable length). By libhdf5 itself, which ends on damaged ones: for the
 * child that unpacks files. */
#ifndef L2SR_SYSTEMS_ACQUISITIONS_H
#define L2SR_SYSTEMS_ACQUISITIONS_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <hdf5.h>
#include <stdint.h>

struct acquisition {
  uint64_t flags; /* bit N - 1 of ISMRMRD's flag N */
  uint16_t samples, channels, discard_before, discard_after, centre, space;
  struct encoding {
    uint16_t step, partition; /* kspace_encode_step_1 and _2 */
    uint16_t average, slice, contrast, phase, repetition, set;
  } at;
};

enum acquisition_flag {
  FLAG_NOISE = 19,
  FLAG_CALIBRATION = 20,
  FLAG_CALIBRATION_AND_IMAGING = 21,
  FLAG_REVERSE = 22,
  FLAG_NAVIGATION = 23,
  FLAG_PHASE_CORRECTION = 24,
  FLAG_FEEDBACK_HP = 26,
  FLAG_DUMMY = 27,
  FLAG_FEEDBACK_RT = 28,
  FLAG_SURFACE_COIL = 29
};
bool acquisition_is(const struct acquisition *acquisition, enum acquisition_flag flag);

struct acquisitions {
  struct arena *arena;
  const char *path;
  hid_t file, table;
  size_t count;
  struct acquisition *head; /* [count] */
  const char *header;       /* the XML */
};

/* Reads all heads. */
bool acquisitions_open(struct acquisitions *all, const char *path, struct error *error);
/* Samples of one, [channels][samples] float pairs. */
bool acquisitions_read(const struct acquisitions *all, size_t index, float *to, struct error *error);
void acquisitions_close(struct acquisitions *all);

/* Whether a file holds such a group; its name to `group`. */
struct store;
bool acquisitions_are_in(struct store *store, char *group, size_t size);

#endif
