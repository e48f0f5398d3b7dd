/* One fastMRI-format HDF5 file (PROTOCOL 8): what it holds, and its slices as images or k-space. */
#ifndef L2SR_SYSTEMS_VOLUME_H
#define L2SR_SYSTEMS_VOLUME_H

#include "components/scan_shape.h"
#include "engine/files/store.h"
#include "systems/data/digest.h"

struct volume {
  const char *path, *name; /* name: the file's, without folders */
  char key[32];            /* dataset the images come from; "kspace": by inverse transform */
  bool from_kspace;
  size_t slices, coils, height, width; /* sizes of that dataset; coils 1 where there is no coil axis */
  size_t image_height, image_width;    /* an image's sizes before padding and cropping */
  bool small; /* smaller than the scene's images and no padding: why it was refused */
  bool written;                        /* under the lock of a writer: likewise */
  size_t kspace_height, kspace_width;  /* what the k-space is cut to before the transform; 0: it is not */
  char acquisition[64];                /* empty where the file does not say */
  char patient[256];                   /* likewise; of a patient_id without room here its SHA-256 */
  bool shift_rows, shift_columns;      /* k-space whose zero frequency is at index 0 of the axis */
  bool turn_rows, turn_columns;        /* and whose images have their middle there */
  struct digest digest;                /* the file's digest, where it is one of a data set */
  bool turned;                         /* the header says that the readout is the last axis */
  bool has_max;
  double max;                      /* attribute max */
  size_t slice_first, slice_count; /* the slices that data.slices takes */
  const float *memory;             /* its samples in the program's memory, as volume_read gives them; NULL: a file's */
};

/* Opens the file and reads everything but the samples. Refuses files without a usable dataset, of wrong rank,
 * of no size, too small for the scene with padding off, or of undersampled k-space with the mask beside it
 * (fastMRI's test files). */
bool volume_open(struct store **store, struct volume *volume, const char *path, const struct options *options,
                 struct error *error);

/* Completes a volume in memory, of which path, name, memory, from_kspace and the sizes are set. Refuses as volume_open. */
bool volume_of_memory(struct volume *volume, const struct options *options, struct error *error);

/* Why no slice can be made of these pixels ("values that are not finite"), or NULL; *constant: all are equal.
 */
const char *volume_fault(const float *image, size_t count, bool *constant);
/* The largest square that the images have without padding. */
size_t volume_largest_size(const struct volume *volume);
bool volume_takes_size(size_t side); /* data.size takes it: else advice to set it is none */

/* One slice's image [image_height][image_width], or its k-space [coils][height][width] as float pairs, zero
 * frequency at (height / 2, width / 2). Refuses doubles that are all too small for floats. In memory: no store. */
bool volume_read(struct store *store, const struct volume *volume, size_t slice, float *to,
                 struct error *error);
size_t volume_slice_floats(const struct volume *volume);

/* Where pixel i of the n central ones lies in an axis of `size` that is padded to `pad`; -1: in the padding.
 */
long volume_place(size_t i, size_t size, size_t pad, size_t n);
/* Zero-pads each axis to `pad` (where smaller; the extra line goes before) and takes the central pixels of
 * the shape with start floor((size - side) / 2) per axis (PROTOCOL 1.2). */
void volume_crop(const float *image, size_t height, size_t width, size_t pad, const struct scan_shape *shape,
                 float *to);

/* The central kspace_height x kspace_width of every coil's k-space [coils][height][width], float pairs:
 * frequency 0 from the half of the old sides to the half of the new. */
void volume_crop_kspace(const struct volume *volume, const float *kspace, float *to);

#endif
