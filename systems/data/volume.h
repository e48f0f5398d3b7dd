/* A volume, of whatever format (systems/data/format.h): what it holds, and its slices as images or k-space. */
#ifndef L2SR_SYSTEMS_VOLUME_H
#define L2SR_SYSTEMS_VOLUME_H

#include "components/options.h"
#include "components/scan_shape.h"
#include "engine/base/error.h"
#include "systems/data/digest.h"

struct volume_format;

/* How an array of another program is read: what the options say, and in a volume what came of it. */
struct volume_choice {
  char axes[64], variable[64]; /* "": guessed, the only one */
  uint32_t kind;               /* enum import_kind */
  double factor;
};

struct volume {
  const struct volume_format *format;
  const char *path, *name; /* name: the file's, without folders */
  const float *memory;     /* samples in the program's memory, where the format has them there, */
  const float *memory_label; /* and their labels; NULL: they have none */
  bool guesses;            /* what the file does not tell is guessed: else it is refused, with what to do */
  struct volume_choice choice; /* what the options say of it (import.*) */

  /* Told by its format: */
  char key[32];     /* what the images come from, as its file calls it */
  bool from_kspace; /* by inverse transform; else they are images */
  size_t slices, coils, height, width; /* coils 1 where there is no coil axis */
  size_t said_height, said_width; /* what the file says an image's size from k-space is; 0: nothing */
  char acquisition[64];           /* empty where the file does not say */
  char patient[256];              /* likewise; of a patient_id without room here its SHA-256 */
  bool says_padding; /* the file says how many columns at the edges of k-space were added as zeros: */
  size_t padded_left, padded_right;
  bool turned;                    /* the file says that the readout is the last axis */
  bool has_mask;                  /* of what was sampled, beside the k-space */
  bool has_images;                /* there are, whether or not they are what is taken */
  size_t map_slices, map_coils, map_height, map_width; /* of the coil sensitivities beside k-space that coils.maps
                                                          asks for; 0: there are none, or they are not asked for */
  size_t noise_coils, noise_samples; /* of the noise scan beside k-space that coils.whiten asks for; 0: likewise */
  struct volume_choice found;        /* axes and kind of an array; empty of what is no array */
  char layout[384]; /* what the file holds, as another program has it, and how it is read; empty of files of our own */
  bool guessed;     /* it may be read otherwise: data.path does not take it */
  bool ambiguous;   /* why it was refused: somebody must say how it is read */
  bool has_max;
  double max; /* the largest pixel, as the file says */
  float *label; /* [slices], of data.label (systems/data/labels.h); NULL: it names none */

  /* By the scene: */
  size_t image_height, image_width; /* an image's sizes before padding and cropping */
  bool small;                       /* smaller than the scene's images and no padding: why it was refused */
  size_t kspace_height, kspace_width; /* what the k-space is cut to before the transform; 0: it is not */
  bool shift_rows, shift_columns;   /* k-space whose zero frequency is at index 0 of the axis */
  bool turn_rows, turn_columns;     /* and whose images have their middle there */
  size_t made_coils;                /* of its slices when coils.compress has been at them */
  size_t slice_first, slice_count;  /* the slices that data.slices takes */

  struct digest digest; /* the file's, where it is one of a data set, and that of its slices' labels */
};

/* A volume of the format that claims the path (of the one that is written where none does), not yet opened. */
struct volume volume_of(const char *path);
/* Reads everything but the samples of a volume of which format, path and name are set. Refuses files without a usable
 * dataset, of wrong rank, of no size, too small for the scene with padding off, or of undersampled k-space
 * with the mask beside it (fastMRI's test files). */
bool volume_open(struct volume *volume, const struct options *options, struct error *error);
/* The file, to read slices; NULL where the format has them in memory. */
bool volume_file_open(void **file, const struct volume *volume, struct error *error);
void volume_file_close(void *file, const struct volume *volume);
/* Refuses sizes of 0, and those that no host can hold; they are set. */
bool volume_check_sizes(const struct volume *volume, struct error *error);

/* Whose it is: its patient, or its name where it says none. */
const char *patient_of(const struct volume *volume);

#define VOLUME_MAGNITUDE_MOST 1e15 /* larger ones are a fault, and are not imported */
/* Why no slice can be made of these pixels ("values that are not finite"), or NULL; *constant: all are equal.
 */
const char *volume_fault(const float *image, size_t count, bool *constant);
/* The largest square that the images have without padding. */
size_t volume_largest_size(const struct volume *volume);
bool volume_takes_size(size_t side); /* data.size takes it: else advice to set it is none */

/* One slice's image [height][width], or its k-space [coils][height][width] as float pairs, zero frequency at
 * (height / 2, width / 2). Refuses doubles that are all too small for floats. */
bool volume_read(void *file, const struct volume *volume, size_t slice, float *to, struct error *error);
size_t volume_slice_floats(const struct volume *volume);
/* Those before the coil sensitivities [coils][map_height][map_width] and the noise scan [coils][noise_samples], float pairs,
 * that stand after them. */
size_t volume_sample_floats(const struct volume *volume);

/* Where pixel i of the n central ones lies in an axis of `size` that is padded to `pad`; -1: in the padding.
 */
long volume_place(size_t i, size_t size, size_t pad, size_t n);
/* The same in an axis of `full`, from whose middle one of `size` was cut before. */
long volume_place_in(size_t i, size_t full, size_t size, size_t pad, size_t n);
/* Zero-pads each axis to `pad` (where smaller; the extra line goes before) and takes the central pixels of
 * the shape with start floor((size - side) / 2) per axis (PROTOCOL 1.2). */
void volume_crop(const float *image, size_t height, size_t width, size_t pad, const struct scan_shape *shape,
                 float *to);

/* The same as data.fit says: cropped, or the whole, each pixel the mean of the part of the image that it covers. */
void volume_fit(const float *image, size_t height, size_t width, const struct options *options, float *to);

/* The central kspace_height x kspace_width of every coil's k-space [coils][height][width], float pairs:
 * frequency 0 from the half of the old sides to the half of the new. */
void volume_crop_kspace(const struct volume *volume, const float *kspace, float *to);

#endif
