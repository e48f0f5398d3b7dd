/* Formats of volumes, a row each. All that is asked of a volume is a fact that its row fills in (systems/data/volume.h)
 * or a function of the row: whoever lists, selects, loads, scores or looks for doubts does not know which one it is.
 *
 * To add a format: systems/formats/format_NAME.c with its functions and, at its end, the row `format_NAME`; its name in
 * VOLUME_FORMATS. The page (systems/data/README.md) says what a row has to see to. */
#ifndef L2SR_SYSTEMS_FORMAT_H
#define L2SR_SYSTEMS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/files/probe.h"

struct options;
struct volume;

/* In the order in which they are asked for a file; new files are written as the first one has them. */
#define VOLUME_FORMATS(X) X(hdf5) X(cfl) X(npy) X(nifti) X(matlab) X(ismrmrd) X(memory)

struct volume_format {
  const char *name;
  const char *ending; /* of its files' names, with the point, for texts: those in folders are volumes. NULL: only those that are named */
  /* What other programs' data are written as, in words; NULL: nothing is told to write this format. */
  const char *images, *kspace;
  bool is_hdf5;   /* files that are HDF5, of which `l2sr inspect` lists what they hold */
  bool in_memory; /* volumes have no file: `open` is not called, and nobody is sent to look at one */
  /* Other people's parsers are not let near this program: they write what is there to a file that it reads itself
   * (systems/formats/unpacked.h), in the child that looks at files first. NULL: the row reads its files itself. */
  probe_unpacker *unpack;
  const char *library; /* that does it, for texts */
  /* By the name alone: folders of thousands of files are listed. */
  bool (*claims)(const char *path);
  /* Of a file that is_hdf5 and open: whether it is of this row instead. NULL: names tell. */
  bool (*holds)(void *store);
  /* Opens the file; names what is wrong with one that is none of this format, and where another program writes it
   * refuses by fail_busy. *file is the row's own. Of the volume path, name and choice are set. */
  bool (*open)(void **file, const struct volume *volume, struct error *error);
  /* Fills in the facts of a volume, of which path and name are set: all of the part "told by its format". Refuses what
   * cannot be read as images or k-space, before samples are read, and calls volume_check_sizes before it allocates by
   * sizes that the file tells. */
  bool (*describe)(void *file, struct volume *volume, const struct options *options, struct error *error);
  /* Samples of a slice: an image [height][width], or k-space [coils][height][width] as float pairs. */
  bool (*read)(void *file, const struct volume *volume, size_t slice, float *to, struct error *error);
  /* The mask beside k-space: of columns [width] or of samples [height][width]; *mask stays NULL where it is none of these.
   * NULL: the format has none. */
  void (*read_mask)(void *file, const struct volume *volume, struct arena *arena, const uint8_t **mask, size_t *entries);
  /* The attribute or dataset of this name, a number of the volume or numbers of its slices, to [slices]; what it leaves stays as
   * it is. NULL: the format has none. */
  bool (*read_label)(void *file, const struct volume *volume, const char *name, float *to, struct error *error);
  /* Whether what was read up to now can be relied upon. NULL: always. */
  bool (*is_sound)(void *file, struct error *error);
  void (*close)(void *file); /* NULL allowed */
};

#define DECLARE_FORMAT(row) extern const struct volume_format format_##row;
VOLUME_FORMATS(DECLARE_FORMAT)
#undef DECLARE_FORMAT

/* The first row that claims the path; NULL: none does. */
const struct volume_format *format_of(const char *path);
/* The same of files in folders, where many things lie. */
const struct volume_format *format_listed(const char *path);
/* "an .h5 file": what such rows claim, for texts. */
const char *format_endings(struct arena *arena);
/* The row whose file this HDF5 file is, whatever it is called; NULL: none. */
const struct volume_format *format_inside(void *store);
/* The child's work: `how` is the name of a row, a colon, and what the row wants to know. */
bool format_unpack(const struct probe_unpacking *unpacking, struct error *error);
/* The row that data of other programs are to be written as. */
const struct volume_format *format_to_write(void);

#endif
