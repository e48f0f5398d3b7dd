/* ISMRMRD's raw data. Acquisitions are sorted by their encoding counters into k-space
 * [slices][coils][readout][phase encoding]; what is no line of an image is left out, noise scans stay beside
 * it (dataset noise). */
#include "engine/base/log.h"
#include "engine/files/store.h"
#include "systems/data/layout.h"
#include "systems/formats/acquisitions.h"
#include "systems/formats/fourier.h"
#include "systems/formats/unpacked.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char library[] = "libhdf5";

/* ---- what is there ------------------------------------------------------------------------------------- */

struct raw {
  struct acquisitions all;
  struct layout_header header;
  size_t *lines, line_count;         /* acquisitions that are lines of images, sorted by place and average */
  size_t noise, calibration, others; /* acquisitions */
  size_t slices, partitions, coils, encoded, rows,
      columns;                  /* rows: of the readout without its oversampling */
  size_t shift;                 /* column of step 0 */
  bool shift_back;              /* it lies so far to the left */
  float *kspace;                /* [slices][partitions][coils][rows][columns] pairs */
  uint16_t *counts;             /* [slices][partitions][columns]: averages */
  size_t measured, first, last; /* columns of the first slice that are measured */
};

static bool is_left_out(const struct acquisition *head) {
  static const enum acquisition_flag flags[] = {FLAG_NAVIGATION, FLAG_PHASE_CORRECTION, FLAG_FEEDBACK_HP,
                                                FLAG_DUMMY,      FLAG_FEEDBACK_RT,      FLAG_SURFACE_COIL};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (acquisition_is(head, flags[i])) return true;
  return head->space != 0;
}

static bool is_calibration(const struct acquisition *head) {
  return acquisition_is(head, FLAG_CALIBRATION) && !acquisition_is(head, FLAG_CALIBRATION_AND_IMAGING);
}

static void sort_out(struct raw *raw) {
  raw->lines = ARENA_NEW(raw->all.arena, size_t, raw->all.count);
  for (size_t i = 0; i < raw->all.count; i++) {
    const struct acquisition *head = &raw->all.head[i];
    if (acquisition_is(head, FLAG_NOISE))
      raw->noise++;
    else if (is_left_out(head))
      raw->others++;
    else if (is_calibration(head))
      raw->calibration++;
    else
      raw->lines[raw->line_count++] = i;
  }
}

/* ---- sorting ------------------------------------------------------------------------------------------- */

/* Counters of which each value is a slice of its own, the slowest first. */
static int compare_images(const struct encoding *a, const struct encoding *b) {
  const int steps[] = {a->repetition - b->repetition, a->set - b->set, a->phase - b->phase,
                       a->contrast - b->contrast, a->slice - b->slice};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    if (steps[i]) return steps[i];
  return 0;
}

static int compare_lines(const void *x, const void *y, void *context) {
  const struct acquisition *head = context;
  size_t i = *(const size_t *)x, j = *(const size_t *)y;
  const struct encoding *a = &head[i].at, *b = &head[j].at;
  const int steps[] = {compare_images(a, b), a->partition - b->partition, a->step - b->step,
                       a->average - b->average};
  for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
    if (steps[k]) return steps[k];
  return (i > j) - (i < j);
}

static void sort_lines(struct raw *raw) {
  const struct acquisition *head = raw->all.head;
  qsort_r(raw->lines, raw->line_count, sizeof *raw->lines, compare_lines, raw->all.head);
  for (size_t i = 0; i < raw->line_count; i++)
    raw->slices += !i || compare_images(&head[raw->lines[i - 1]].at, &head[raw->lines[i]].at) != 0;
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

/* A readout of more samples than the image has rows is oversampled where its field of view is as many times
 * as wide; else the image was made coarser, or nobody knows. */
static size_t rows_of(const struct layout_header *header, size_t encoded) {
  if (header->recon_x < 4 || header->recon_x >= encoded || header->recon_view <= 0) return encoded;
  double sizes = (double)encoded / (double)header->recon_x, views = header->encoded_view / header->recon_view;
  return fabs(views - sizes) <= 0.01 * sizes ? header->recon_x : encoded;
}

static size_t column_of(const struct raw *raw, size_t step) {
  return raw->shift_back ? step - raw->shift : step + raw->shift;
}

/* The header's middle stands in that of the columns, to which every line is moved along. */
static bool check_columns(struct raw *raw, size_t last, struct error *error) {
  size_t middle = raw->columns / 2, centre = raw->header.limits ? raw->header.centre : middle;
  raw->shift_back = centre > middle;
  raw->shift = raw->shift_back ? centre - middle : middle - centre;
  size_t outside = column_of(raw, last) < raw->columns ? SIZE_MAX : last;
  for (size_t i = 0; i < raw->line_count && raw->shift_back; i++) {
    size_t step = raw->all.head[raw->lines[i]].at.step;
    if (step < raw->shift) outside = step;
  }
  if (outside == SIZE_MAX) return true;
  return fail_file(error,
                   "%s has a line %zu of phase encoding, and its header says %zu lines with the middle at "
                   "%zu; the header or the counters are wrong",
                   raw->all.path, outside, raw->columns, centre);
}

static bool check_lines(struct raw *raw, struct error *error) {
  const struct acquisition *head = raw->all.head;
  size_t last = 0, partition = 0, samples = 0;
  for (size_t i = 0; i < raw->line_count; i++) {
    const struct acquisition *line = &head[raw->lines[i]];
    size_t kept = line->discard_before + line->discard_after < line->samples
                      ? (size_t)(line->samples - line->discard_before - line->discard_after)
                      : 0;
    if (!kept || !line->channels || line->channels != head[raw->lines[0]].channels)
      return fail_file(error,
                       "acquisition %zu of %s has %zu samples of %u channels, and the first line has %u "
                       "channels; such data are not sorted",
                       raw->lines[i], raw->all.path, kept, line->channels, head[raw->lines[0]].channels);
    last = line->at.step > last ? line->at.step : last;
    partition = line->at.partition > partition ? line->at.partition : partition;
    samples = kept > samples ? kept : samples;
  }
  raw->coils = head[raw->lines[0]].channels;
  raw->encoded = raw->header.encoded_x > samples ? raw->header.encoded_x : samples;
  raw->columns = raw->header.encoded_y ? raw->header.encoded_y : last + 1;
  raw->partitions = raw->header.encoded_z > partition ? raw->header.encoded_z : partition + 1;
  raw->rows = rows_of(&raw->header, raw->encoded);
  return check_columns(raw, last, error);
}

static bool take_memory(struct raw *raw, struct error *error) {
  double host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  double numbers = (double)raw->slices * (double)raw->partitions * (double)raw->coils * (double)raw->rows *
                   (double)raw->columns;
  if (numbers * 8 > host / 3)
    return fail_file(
        error,
        "%s makes k-space of %.3g GiB, too much for a host of %.0f GiB; cut the file, or repair its header",
        raw->all.path, numbers * 8 / 0x1p30, host / 0x1p30);
  raw->kspace = arena_try_array(raw->all.arena, 2 * sizeof *raw->kspace, (size_t)numbers);
  raw->counts =
      arena_try_array(raw->all.arena, sizeof *raw->counts, raw->slices * raw->partitions * raw->columns);
  return (raw->kspace && raw->counts) ||
         fail_memory(error, "no host memory for k-space of %.3g GiB", numbers * 8 / 0x1p30);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

struct readout {
  float *samples;            /* [coils][samples] of an acquisition */
  struct fourier whole, cut; /* of the encoded length, and of that without oversampling */
};

/* The line of a coil, in its place of the encoded readout: half echoes begin late, reversed ones run
 * backwards. Of these, too, center_sample is the index among the samples as they were acquired (ISMRMRD's
 * documentation: "Index of the readout sample corresponding to k-space center"). */
static void place_line(const struct raw *raw, const struct acquisition *head, const float *samples,
                       double complex *line) {
  size_t kept = (size_t)(head->samples - head->discard_before - head->discard_after);
  bool reverse = acquisition_is(head, FLAG_REVERSE);
  long acquired = (long)head->centre - head->discard_before,
       centre = reverse ? (long)kept - 1 - acquired : acquired;
  long start = kept < raw->encoded ? (long)(raw->encoded / 2) - centre : 0;
  if (start < 0 || start + (long)kept > (long)raw->encoded) start = (long)(raw->encoded - kept) / 2;
  memset(line, 0, raw->encoded * sizeof *line);
  for (size_t i = 0; i < kept; i++) {
    const float *pair = samples + 2 * (head->discard_before + i);
    line[(size_t)start + (reverse ? kept - 1 - i : i)] = CMPLX((double)pair[0], (double)pair[1]);
  }
}

/* To an image of the whole field, of which the middle becomes k-space again. */
static void remove_oversampling(const struct raw *raw, struct readout *readout) {
  if (raw->rows == raw->encoded) {
    memcpy(readout->cut.line, readout->whole.line, raw->rows * sizeof *readout->cut.line);
    return;
  }
  fourier_line(&readout->whole, true);
  memcpy(readout->cut.line, readout->whole.line + (raw->encoded / 2 - raw->rows / 2),
         raw->rows * sizeof *readout->cut.line);
  fourier_line(&readout->cut, false);
}

/* Averages of a line are added; a line that comes twice with one average counts as it came last. */
static bool add_line(struct raw *raw, size_t index, size_t slice, bool again, struct readout *readout,
                     struct error *error) {
  const struct acquisition *head = &raw->all.head[index];
  size_t place = slice * raw->partitions + head->at.partition, plane = raw->rows * raw->columns,
         column = column_of(raw, head->at.step);
  uint16_t *count = &raw->counts[place * raw->columns + column];
  if (!acquisitions_read(&raw->all, index, readout->samples, error)) return false;
  for (size_t c = 0; c < raw->coils; c++) {
    float *to = raw->kspace + 2 * ((place * raw->coils + c) * plane + column);
    place_line(raw, head, readout->samples + 2 * c * head->samples, readout->whole.line);
    remove_oversampling(raw, readout);
    for (size_t y = 0; y < raw->rows; y++, to += 2 * raw->columns) {
      to[0] = (again ? 0 : to[0]) + (float)creal(readout->cut.line[y]);
      to[1] = (again ? 0 : to[1]) + (float)cimag(readout->cut.line[y]);
    }
  }
  if (!again) (*count)++;
  return true;
}

static bool add_lines(struct raw *raw, struct error *error) {
  const struct acquisition *head = raw->all.head;
  struct readout readout = {.samples =
                                arena_try_array(raw->all.arena, 2 * sizeof(float) * UINT16_MAX, raw->coils)};
  size_t slice = 0;
  bool good = readout.samples && fourier_open(&readout.whole, raw->encoded, raw->all.arena) &&
              fourier_open(&readout.cut, raw->rows, raw->all.arena);
  if (!good) return fail_memory(error, "no host memory for lines of %zu samples", raw->encoded);
  for (size_t i = 0; i < raw->line_count; i++) {
    size_t index = raw->lines[i], before = raw->lines[i ? i - 1 : 0];
    const struct encoding *at = &head[index].at, *last = &head[before].at;
    bool other = i && compare_images(last, at) != 0;
    bool again = i && !other && last->partition == at->partition && last->step == at->step &&
                 last->average == at->average;
    slice += other;
    if (again &&
        raw->counts[(slice * raw->partitions + at->partition) * raw->columns + column_of(raw, at->step)] > 1)
      again = false; /* of several averages one that came twice counts twice */
    if (!add_line(raw, index, slice, again, &readout, error)) return false;
  }
  return true;
}

static void divide_averages(struct raw *raw) {
  for (size_t place = 0; place < raw->slices * raw->partitions; place++)
    for (size_t x = 0; x < raw->columns; x++) {
      uint16_t count = raw->counts[place * raw->columns + x];
      for (size_t line = 0; count > 1 && line < raw->coils * raw->rows; line++) {
        float *pair = raw->kspace + 2 * ((place * raw->coils * raw->rows + line) * raw->columns + x);
        pair[0] /= count;
        pair[1] /= count;
      }
    }
}

/* A volume that was encoded in three dimensions becomes slices by the transform of its second phase encoding.
 */
static bool part_slabs(struct raw *raw, struct error *error) {
  struct fourier fourier;
  size_t block = raw->coils * raw->rows * raw->columns;
  if (raw->partitions < 2) return true;
  if (!fourier_open(&fourier, raw->partitions, raw->all.arena))
    return fail_memory(error, "no host memory for %zu partitions", raw->partitions);
  for (size_t s = 0; s < raw->slices; s++)
    for (size_t i = 0; i < block; i++) {
      float *first = raw->kspace + 2 * (s * raw->partitions * block + i);
      for (size_t z = 0; z < raw->partitions; z++)
        fourier.line[z] = CMPLX((double)first[2 * z * block], (double)first[2 * z * block + 1]);
      fourier_line(&fourier, true);
      for (size_t z = 0; z < raw->partitions; z++) {
        first[2 * z * block] = (float)creal(fourier.line[z]);
        first[2 * z * block + 1] = (float)cimag(fourier.line[z]);
      }
    }
  return true;
}

static void count_measured(struct raw *raw) {
  raw->first = raw->columns;
  for (size_t x = 0; x < raw->columns; x++) {
    bool any = false;
    for (size_t z = 0; z < raw->partitions; z++) any |= raw->counts[z * raw->columns + x] > 0;
    if (!any) continue;
    raw->measured++;
    raw->first = raw->first < x ? raw->first : x;
    raw->last = x;
  }
}

/* ---- writing ------------------------------------------------------------------------------------------- */

enum { NOISE_MOST = 1 << 16 /* samples of a coil */, TOLD = 240 };

static bool write_noise(struct raw *raw, struct store *store, struct error *error) {
  size_t count = 0, used = 0;
  const struct acquisition *head = raw->all.head;
  for (size_t i = 0; i < raw->all.count; i++)
    if (acquisition_is(&head[i], FLAG_NOISE) && head[i].channels == raw->coils &&
        count + head[i].samples <= NOISE_MOST)
      count += head[i].samples;
  if (!count || raw->coils == 1) return true;
  float *noise = arena_try_array(raw->all.arena, 2 * sizeof *noise, count * raw->coils),
        *samples = arena_try_array(raw->all.arena, 2 * sizeof *samples * UINT16_MAX, raw->coils);
  if (!noise || !samples) return fail_memory(error, "no host memory for a noise scan of %zu samples", count);
  for (size_t i = 0; i < raw->all.count; i++) {
    if (!acquisition_is(&head[i], FLAG_NOISE) || head[i].channels != raw->coils ||
        used + head[i].samples > count)
      continue;
    if (!acquisitions_read(&raw->all, i, samples, error)) return false;
    for (size_t c = 0; c < raw->coils; c++)
      memcpy(noise + 2 * (c * count + used), samples + 2 * c * head[i].samples,
             2 * sizeof *noise * head[i].samples);
    used += head[i].samples;
  }
  return store_write(store, "noise", STORE_C64, 2, (size_t[]){raw->coils, count}, noise, false, error);
}

static bool write_facts(const struct raw *raw, struct store *store, struct error *error) {
  const struct layout_header *header = &raw->header;
  char word[256], patient[256];
  struct layout_sizes sizes = {
      .rows = raw->rows,
      .columns = raw->columns,
      .image_rows = raw->rows,
      .image_columns = header->recon_y && header->recon_y < raw->columns ? header->recon_y : raw->columns,
      .coils = raw->coils};
  sizes.limits = header->limits;
  sizes.centre = header->centre;
  sizes.last = raw->last - (raw->shift_back ? 0 : raw->shift) + (raw->shift_back ? raw->shift : 0);
  if (!store_write_text(store, "ismrmrd_header", layout_header_text(raw->all.arena, &sizes), error))
    return false;
  if (layout_word(raw->all.header, "<protocolName>", word, sizeof word) &&
      !store_put_text(store, "acquisition", word, error))
    return false;
  return !layout_word(raw->all.header, "<patientID>", patient, sizeof patient) ||
         store_put_text(store, "patient_id", patient, error);
}

static bool write_volume(struct raw *raw, const char *path, struct error *error) {
  size_t slices = raw->slices * raw->partitions, many[] = {slices, raw->coils, raw->rows, raw->columns},
         one[] = {slices, raw->rows, raw->columns};
  bool single = raw->coils == 1;
  struct store *store;
  if (!store_create(&store, path, error)) return false;
  if (store_write(store, "kspace", STORE_C64, single ? 3 : 4, single ? one : many, raw->kspace, false,
                  error) &&
      write_noise(raw, store, error) && write_facts(raw, store, error))
    return store_commit(store, error);
  store_close(store);
  return false;
}

/* ", 3 navigators and others left out": what is to be known of it, in a line. */
static void tell(const struct raw *raw, char *told, size_t size) {
  char noise[80] = "", others[96] = "", calibration[80] = "", readout[96] = "", missing[128] = "";
  size_t range = raw->last - raw->first + 1;
  if (raw->noise)
    snprintf(noise, sizeof noise, ", %zu of noise (dataset noise: coils.whiten noise)", raw->noise);
  if (raw->others)
    snprintf(others, sizeof others, ", %zu other%s (navigators, phase corrections and the like) left out",
             raw->others, plural(raw->others));
  if (raw->calibration)
    snprintf(calibration, sizeof calibration, ", %zu of calibration left out", raw->calibration);
  if (raw->rows < raw->encoded)
    snprintf(readout, sizeof readout, ", readout oversampling removed (%zu to %zu)", raw->encoded, raw->rows);
  if (raw->measured < range)
    snprintf(missing, sizeof missing, "; undersampled: %zu of %zu columns are measured", raw->measured,
             raw->columns);
  else if (raw->measured < raw->columns)
    snprintf(missing, sizeof missing, "; partial Fourier: columns %zu to %zu of %zu are measured", raw->first,
             raw->last, raw->columns);
  snprintf(told, size < TOLD ? size : TOLD, "%zu acquisitions of raw data: %zu lines%s%s%s%s%s",
           raw->all.count, raw->line_count, noise, calibration, others, readout, missing);
}

static bool sort_raw(struct raw *raw, const struct probe_unpacking *of, struct error *error) {
  char path[64];
  raw->header = layout_header_of(raw->all.header);
  if (layout_word(raw->all.header, "<trajectory>", path, sizeof path) && strcmp(path, "cartesian") != 0 &&
      strcmp(path, "epi") != 0)
    return fail_file(
        error,
        "%s was scanned along the trajectory %s; only cartesian lines are sorted: grid it first (BART nufft)",
        of->path, path);
  sort_out(raw);
  if (!raw->line_count)
    return fail_file(error, "%s holds %zu acquisitions, and none is a line of an image", of->path,
                     raw->all.count);
  sort_lines(raw);
  if (!check_lines(raw, error) || !take_memory(raw, error) || !add_lines(raw, error)) return false;
  divide_averages(raw);
  count_measured(raw);
  if (!part_slabs(raw, error) || !write_volume(raw, of->to, error)) return false;
  tell(raw, of->told, of->size);
  return true;
}

static bool unpack(const struct probe_unpacking *of, struct error *error) {
  struct raw raw = {.lines = NULL};
  if (!acquisitions_open(&raw.all, of->path, error)) return false;
  bool good = sort_raw(&raw, of, error);
  acquisitions_close(&raw.all);
  return good;
}

/* ---- the row ------------------------------------------------------------------------------------------- */

struct raw_file {
  struct arena *arena;
  void *store; /* of the volume that it was made to */
  char told[TOLD + 1];
};

static bool claims(const char *path) {
  (void)path; /* its files are called .h5, as others */
  return false;
}

static bool holds(void *store) {
  char group[256];
  return !store_has(store, "kspace") && !store_has(store, "reconstruction_esc") &&
         !store_has(store, "reconstruction_rss") && acquisitions_are_in(store, group, sizeof group);
}

static void close_file(void *file) {
  struct raw_file *raw = file;
  if (raw->store) store_close(raw->store);
  arena_close(raw->arena);
}

static bool open_file(void **file, const struct volume *volume, struct error *error) {
  struct arena *arena = arena_open();
  struct raw_file *raw = ARENA_NEW(arena, struct raw_file, 1);
  struct store *store = NULL;
  struct part_file part;
  raw->arena = arena;
  bool made = unpacked_make(&part, volume, "", raw->told, sizeof raw->told, error),
       good = made && store_open(&store, part.path, error);
  if (made) unpacked_drop(&part);
  raw->store = store;
  if (good) *file = raw;
  if (!good) close_file(raw);
  return good;
}

static bool describe(void *file, struct volume *volume, const struct options *options, struct error *error) {
  const struct raw_file *raw = file;
  snprintf(volume->layout, sizeof volume->layout, "%s", raw->told);
  return format_hdf5.describe(raw->store, volume, options, error);
}

static bool read_slice(void *file, const struct volume *volume, size_t slice, float *to,
                       struct error *error) {
  const struct raw_file *raw = file;
  if (!format_hdf5.read(raw->store, volume, slice, to, error)) return false;
  for (size_t i = 0; i < volume_sample_floats(volume); i++) to[i] = (float)(to[i] * volume->choice.factor);
  return true;
}

const struct volume_format format_ismrmrd = {
    .name = "ISMRMRD",
    .claims = claims,
    .unpack = unpack,
    .library = library,
    .holds = holds,
    .open = open_file,
    .describe = describe,
    .read = read_slice,
    .close = close_file,
};
