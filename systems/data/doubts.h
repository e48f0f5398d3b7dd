/* Data that can be read and are not what they seem: undersampled k-space, a zero frequency in the corner,
 * values that no magnitude image has. Slices are looked at as they are read; each kind is said
 * once. */
#ifndef L2SR_SYSTEMS_DOUBTS_H
#define L2SR_SYSTEMS_DOUBTS_H

#include "systems/data/volume.h"

enum doubt_kind {
  DOUBT_EMPTY,    /* k-space with parts that were never measured */
  DOUBT_CORNER,   /* k-space whose zero frequency is not at the centre */
  DOUBT_EDGES,    /* k-space of an image whose middle is in the corner */
  DOUBT_NEGATIVE, /* images with pixels below 0, z-scored ones among them */
  DOUBT_CONSTANT, /* volumes whose slices have no contrast */
  DOUBT_MAX,      /* attribute max is not the largest pixel */
  DOUBT_CROP,     /* images of which data.size cuts away what they show */
  DOUBT_MAPS,     /* coil sensitivities that are 0 in all slices */
  DOUBT_KINDS
};

struct doubts; /* opaque: doubts.c */

struct doubts *doubts_open(struct arena *arena);
/* One slice as volume_read gives it; all of a volume's, then doubts_end. */
void doubts_see(struct doubts *doubts, const struct volume *volume, const float *slice);
/* The same slice as an image, before it is cut to data.size. */
void doubts_see_crop(struct doubts *doubts, const struct volume *volume, const float *image,
                     const struct options *options);
void doubts_drop(struct doubts *doubts); /* forgets the slices of a volume that is left out */
/* Ends a volume; with data.strict refuses one that is in doubt. */
bool doubts_end(struct doubts *doubts, const struct volume *volume, const struct options *options,
                struct error *error);
/* The warning about the kind, or NULL. */
const char *doubts_text(const struct doubts *doubts, enum doubt_kind kind, struct arena *arena);

#endif
