/* The volumes that a scene uses (PROTOCOL 1.2, 8.5): listed and selected by name first, opened after. */
#ifndef L2SR_SYSTEMS_DATASET_H
#define L2SR_SYSTEMS_DATASET_H

#include "systems/data/volume.h"

enum { DATASET_NOTES = 24 };

struct dataset {
  struct arena *arena;
  struct volume *volumes; /* the usable ones, in order of their paths */
  size_t volume_count, slice_count;
  char hash[65]; /* SHA-256 of the selected names, sorted, joined by newlines; data.patient_split: of its
                    split */
  /* volumes that each filter removed */
  size_t entries, hidden, not_h5, by_fraction, by_limit, by_patient, by_acquisition, small, written, ambiguous, broken;
  size_t selected;                  /* names after fraction and limit */
  size_t without_patient;           /* files that were opened and do not say whose they are */
  const char *notes[DATASET_NOTES]; /* warnings of data that may not be what they seem */
  size_t note_count;
  struct {
    const char *path, *reason;
    const char
        *kind; /* "small" (than data.size, and not padded), "written" (by another program), "ambiguous" (of several readings) or "broken" */
  } * skipped; /* [dataset_skipped] */
};

/* A slice of them. */
struct slice_name {
  size_t volume, slice; /* index into volumes; slice number in the file */
};

/* Refuses a missing or empty folder, no volume left, and with data.strict the first broken file. */
bool dataset_open(struct dataset *dataset, const struct options *options, struct error *error);
/* Slices of the program's in place of files; their values stay until the dataset is closed. Images [count][height][width]; or
 * k-space [count][coils][height][width][2], real and imaginary parts. */
struct slices_in_memory {
  const float *values;
  size_t count, coils; /* coils 0: images */
  size_t height, width;
  const uint32_t *volume; /* [count]: neighbours of one number are a volume; NULL: each is */
  const float *label;     /* [count]; NULL: they have none */
};
bool dataset_of_slices(struct dataset *dataset, const struct slices_in_memory *slices, const struct options *options,
                       struct error *error);
void dataset_close(struct dataset *dataset);
size_t dataset_skipped(const struct dataset *dataset); /* volumes that were left out for what they are */
/* Notes a volume that is left out, and why (the error); refuses it with data.strict, and where it is not the file's
 * fault (ERROR_FAILED: no more files can be opened). */
bool dataset_skip(struct dataset *dataset, const struct volume *volume, bool strict, struct error *error);
/* Says and keeps what may be wrong with data that can be read; with data.strict refuses it. */
bool dataset_note(struct dataset *dataset, const struct options *options, struct error *error,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The most coils of a volume. */
size_t dataset_coils(const struct dataset *dataset);
/* One line a filter that removed something, the hash, and the skipped files. */
void dataset_print(const struct dataset *dataset, FILE *file);

/* 0 train, 1 val, 2 test: 70, 15 and 15 % of the patients by the hash of their id. */
unsigned dataset_patient_split(const char *patient);

#endif
