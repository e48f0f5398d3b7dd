/* Scores as other papers' programs compute them (evaluate.profile, PROTOCOL 1.14): of what truth, crop and
 * data range, and of slices or of whole volumes. A profile is a row; l2sr's own scores are computed by the
 * device and have none.
 *
 * A volume's score stands in the row of its first slice, the volume's other rows hold NaN: so tables by scan
 * keep their shape, and a mean over what is a number is the mean over volumes. */
#ifndef L2SR_SYSTEMS_SCORING_H
#define L2SR_SYSTEMS_SCORING_H

#include "systems/methods/measure.h"
#include "systems/scan/load.h"
#include "systems/scan/simulation.h"

enum scoring_unit { UNIT_NONE, UNIT_SLICE, UNIT_VOLUME }; /* NONE: the profile has no such metric */
enum scoring_crop { CROP_NOTHING, CROP_SAID, CROP_SQUARE };
enum scoring_padding { PADDING_FREE, PADDING_ZEROS, PADDING_ONES };

struct scoring {
  const char *name, *code;      /* what computes them */
  bool clamped;                 /* the truth is cut six deviations from its mean (PROTOCOL 1.2) */
  bool by_slice;                /* L is the slice's largest pixel; else the volume's */
  enum scoring_crop crop;       /* to the size that the file says; then to the square of the width */
  enum scoring_padding padding; /* what its masks have in columns that the scanner padded */
  bool gaussian;                /* `ssim` and `psnr` are PG-MRI's; else scikit-image's */
  enum scoring_unit unit[METRICS];
};

/* The scene's; NULL: l2sr's own scores. */
const struct scoring *scoring_chosen(const struct options *options);
/* The profile that evaluate.profile names; NULL: l2sr, or none. */
const struct scoring *scoring_named(const char *name);
enum scoring_unit scoring_unit(const struct scoring *scoring, size_t metric); /* NULL: of slices */

/* Refuses metrics that the profile does not have, a data range that is none of its own, and sides that its
 * crop does not take. */
bool scoring_check(const struct options *options, struct error *error);

/* Sets the columns of a mask [actions] that the scanner padded to what the profile's code has there: 0 (fastMRI, after
 * the mask is drawn), 1 (active-mri), or leaves them as they are. NULL: l2sr's own, which has them from the start. */
void scoring_pad_mask(const struct scoring *scoring, const struct scan_shape *shape, uint8_t *mask);

/* ---- an evaluation's ------------------------------------------------------------------------------------- */

/* Where volumes of an evaluation are scored. */
struct scoring_volume {
  size_t top, left, height, width; /* of the images, as cropped */
  size_t slices, whole;            /* that are scored, of so many in the file */
  size_t first, last;              /* rows of its slices are among these */
  double range;                    /* L where it is the volume's */
};

struct scoring_data {
  const struct scoring *scoring;
  struct scan_shape shape;
  size_t slices, volumes, partial; /* partial: volumes of which some slices are not scored */
  const struct slice_name *names;  /* [slices] */
  struct scoring_volume *volume;   /* [volumes]: by the data set's numbers; slices 0: none of it is scored */
  bool *first;                     /* [slices]: the row is its volume's first */
  double *range;                   /* [slices]: L */
};

/* Finds volumes and crops, where shape, slices and names are set; refuses crops that the profile's code would
 * not take. */
bool scoring_plan(struct scoring_data *scores, const struct options *options, const struct dataset *dataset,
                  struct arena *arena, struct error *error);
/* Makes a slice's image the truth that the profile has, and takes its largest pixel; then, after all slices,
 * the data ranges. */
void scoring_see_truth(struct scoring_data *scores, size_t slice, float *image);
void scoring_set_ranges(struct scoring_data *scores, const struct dataset *dataset,
                        const struct options *options);
/* All of these, over the slices of the simulation. */
bool scoring_open(struct scoring_data *scores, struct simulation *simulation, const struct dataset *dataset,
                  const struct load_report *report, struct arena *arena, struct error *error);
/* A slice's truth as the profile has it, not cropped, [height][width], in units of the image. */
void scoring_read_truth(const struct scoring_data *scores, struct simulation *simulation, size_t slice,
                        float *truth);

/* What a scan's image adds to its volume's scores. */
struct scoring_part {
  double ssim, square, power;
};
/* Scores an image of a slice: values[m] of metrics that are of slices and `asked`, and its part of those of
 * volumes. */
struct scoring_part scoring_score(const struct scoring_data *scores, size_t slice, const float *image,
                                  const float *truth, const bool asked[METRICS], float values[METRICS]);
/* A volume's score by the parts of its slices, part[i * stride]. */
double scoring_volume_score(const struct scoring_data *scores, size_t volume, size_t metric,
                            const struct scoring_part *part, size_t stride);

/* What means of these metrics are over: "scans", "volumes", "scans (ssim) and volumes (nmse)". */
const char *scoring_over(const struct scoring *scoring, const char *metrics, struct arena *arena);
/* How L is found, as data.range has it. */
enum data_range scoring_range(const struct scoring *scoring, const struct options *options);
/* "3 whole volumes", or of how many a part is scored and of which slices, for a line below a table. */
const char *scoring_text(const struct scoring_data *scores, const struct dataset *dataset,
                         struct arena *arena);

#endif
