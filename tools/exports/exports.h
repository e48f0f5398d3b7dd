/* Files for other programs: arrays as numpy, BART, NIfTI and MATLAB have them, masks also as what plays or
 * draws them. The end of a file's name says its kind. Each is written beside, and takes its place when it is
 * whole. */
#ifndef L2SR_TOOLS_EXPORTS_H
#define L2SR_TOOLS_EXPORTS_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An array [slices][coils][height][width], slices and coils left out where `letters` has none. */
struct exported {
  const char *name;    /* "kspace": what it is called where names are */
  const char *letters; /* "schw", "shw", "chw" or "hw" */
  size_t size[4];      /* of each letter */
  bool complex;        /* pairs of floats; else floats */
  const float *data;
};
size_t exported_size(const struct exported *array, char letter); /* 1: it has no such axis */
/* Refuses an end that is none of .npy, .cfl, .nii, .nii.gz and .mat. */
bool export_array(const char *path, const struct exported *array, struct error *error);

/* Coil sensitivities [coils][height][width] of a slice, by the row in which a scene takes its slices: made on the device, as
 * coils.maps says. The numbers are the arena's. */
struct device;
struct options;
bool export_maps(struct device *device, const struct options *options, size_t row, struct arena *arena, struct exported *array,
                 struct error *error);

struct exported_mask {
  const char *of;        /* where it comes from, for texts */
  size_t height, width;  /* of k-space */
  bool columns;          /* `value` is of columns [width]; else of cells [height][width] */
  const uint8_t *value;  /* 0 or 1 */
  const uint32_t *order; /* [count]: columns in the order in which they are acquired */
  size_t count;
};

/* What a sequence is played with: SI units but for gamma (Hz/T) and the flip angle (degrees). */
struct pulseq_plan {
  double repetition, echo;               /* TR, TE, s */
  double flip;                           /* degrees */
  double view, slice;                    /* field of view of both axes, thickness, m */
  double dwell;                          /* of a readout sample, s */
  double gradient, slew;                 /* the system's limits: T/m, T/m/s */
  double rf_dead, rf_ringdown, adc_dead; /* s */
};

/* As an array (a pattern [height][width]; for .npy and .mat of columns [width]), as .txt, .png, .py or, by
 * the plan, .seq. */
bool export_mask(const char *path, const struct exported_mask *mask, const struct pulseq_plan *plan,
                 struct error *error);
/* A 2-D gradient-echo sequence (Pulseq 1.4) that acquires the columns in their order. */
bool export_pulseq(const char *path, const struct exported_mask *mask, const struct pulseq_plan *plan,
                   struct error *error);

bool export_ends_in(const char *path, const char *ending);

#endif
