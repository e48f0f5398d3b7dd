#include "systems/data/dataset.h"

#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "systems/data/folds.h"
#include "systems/data/format.h"
#include "systems/data/labels.h"
#include "systems/data/listing.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Python: shuffle of the sorted list seeded 0, the first round(n * fraction) of it, sorted again. */
static void select_fraction(struct dataset *dataset, struct names *names, double fraction) {
  qsort(names->path, names->count, sizeof *names->path, names_compare);
  if (fraction >= 1) return;
  uint32_t *place = ARENA_NEW(dataset->arena, uint32_t, names->count);
  for (size_t i = 0; i < names->count; i++) place[i] = (uint32_t)i;
  shuffle_python(place, names->count, 0);
  size_t kept = (size_t)nearbyint((double)names->count * fraction);
  const char **chosen = ARENA_NEW(dataset->arena, const char *, kept);
  for (size_t i = 0; i < kept; i++) chosen[i] = names->path[place[i]];
  dataset->by_fraction = names->count - kept;
  *names = (struct names){chosen, kept, kept};
  qsort(names->path, names->count, sizeof *names->path, names_compare);
}

static void hash_names(struct dataset *dataset, const struct names *names) {
  struct arena *arena = arena_open();
  size_t bytes = 0, used = 0;
  const char **sorted = ARENA_NEW(arena, const char *, names->count + 1);
  for (size_t i = 0; i < names->count; i++) {
    sorted[i] = names_file(names->path[i]);
    bytes += strlen(sorted[i]) + 1;
  }
  qsort(sorted, names->count, sizeof *sorted, names_compare);
  char *joined = arena_new(arena, bytes + 1);
  for (size_t i = 0; i < names->count; i++)
    used += (size_t)sprintf(joined + used, "%s%s", i ? "\n" : "", sorted[i]);
  hash_hex(joined, used, dataset->hash);
  arena_close(arena);
}

unsigned dataset_patient_split(const char *patient) {
  char hex[65], start[9];
  hash_hex(patient, strlen(patient), hex);
  snprintf(start, sizeof start, "%.8s", hex);
  unsigned long bucket = strtoul(start, NULL, 16) % 100;
  return bucket < 70 ? 0 : bucket < 85 ? 1 : 2;
}

/* Whether the volume passes the filters that need the file open. */
static bool passes(struct dataset *dataset, const struct volume *volume, const struct options *options) {
  const char *wanted = options->data.acquisition;
  if (*wanted && strcmp(wanted, volume->acquisition)) {
    dataset->by_acquisition++;
    return false;
  }
  if (options->data.patient_split && options->data.split != SPLIT_ALL) {
    if (dataset_patient_split(patient_of(volume)) != options->data.split) {
      dataset->by_patient++;
      return false;
    }
  }
  return true;
}

size_t dataset_skipped(const struct dataset *dataset) {
  return dataset->small + dataset->written + dataset->ambiguous + dataset->broken;
}

bool dataset_skip(struct dataset *dataset, const struct volume *volume, bool strict, struct error *error) {
  size_t place = dataset_skipped(dataset);
  if (error->code == ERROR_FAILED) return false; /* the next file would end so, too */
  if (strict) return fail_in(error, "data.strict");
  dataset->skipped[place].path = volume->path;
  dataset->skipped[place].reason = arena_text(dataset->arena, "%s", error->text);
  size_t *count = volume->small       ? &dataset->small
                  : error->is_busy    ? &dataset->written
                  : volume->ambiguous ? &dataset->ambiguous
                                      : &dataset->broken;
  dataset->skipped[place].kind = volume->small       ? "small"
                                 : error->is_busy    ? "written"
                                 : volume->ambiguous ? "ambiguous"
                                                     : "broken";
  ++*count;
  return true;
}

/* "broken (1) or too small (2)"; the number is left out where there is one kind. */
static const char *skipped_words(const struct dataset *dataset) {
  const struct {
    size_t count;
    const char *word;
  } kinds[] = {
      {dataset->broken, "broken"},
      {dataset->small, "too small"},
      {dataset->written, "being written"},
      {dataset->ambiguous, "of several readings"}};
  const char *text = "";
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (!kinds[k].count) continue;
    if (kinds[k].count == dataset_skipped(dataset)) return kinds[k].word;
    text =
        arena_text(dataset->arena, "%s%s%s (%zu)", text, *text ? " or " : "", kinds[k].word, kinds[k].count);
  }
  return text;
}

static bool refuse_skipped(const struct dataset *dataset, const char *folder, size_t files,
                           struct error *error) {
  const struct error last = *error;
  return fail_file(error, "no usable slice in %s: %zu of %zu file%s %s; the last: %s", folder,
                   dataset_skipped(dataset), files, plural(files), skipped_words(dataset), last.text);
}

static bool note_patients(struct dataset *dataset, const struct options *options, struct error *error) {
  size_t missing = dataset->without_patient;
  if (!missing || (!options->data.patient_split && !listing_has_folds(options))) return true;
  return dataset_note(
      dataset, options, error,
      "%zu of %zu file%s in %s say%s no patient_id, so that data.%s takes each for a "
      "patient of its own; write the attribute into them, or split by folders",
      missing, dataset->selected, plural(dataset->selected), options->data.path, missing == 1 ? "s" : "",
      options->data.patient_split ? "patient_split" : "folds");
}

static bool note_turned(struct dataset *dataset, const struct options *options, struct error *error) {
  size_t count = 0, first = 0;
  for (size_t v = dataset->volume_count; v-- > 0;)
    if (dataset->volumes[v].turned) count++, first = v;
  const struct volume *volume = &dataset->volumes[first];
  if (!count) return true;
  return dataset_note(
      dataset, options, error,
      "%zu volume%s of k-space whose last axis is the readout, by the header (%s: %zux%zu); it must be "
      "the phase encoding: write it as numpy.swapaxes(x, -1, -2)",
      count, plural(count), volume->path, volume->height, volume->width);
}

static int compare_digests(const void *a, const void *b) {
  const struct volume *first = *(const struct volume *const *)a, *second = *(const struct volume *const *)b;
  int order = memcmp(&first->digest, &second->digest, sizeof first->digest);
  return order ? order : strcmp(first->path, second->path);
}

/* An earlier one of the sorted volumes that holds the same bytes, or NULL. */
static const struct volume *original_of(const struct volume **sorted, size_t v) {
  const struct volume *volume = sorted[v];
  if (!digest_is_known(&volume->digest)) return NULL;
  while (v-- > 0 && !memcmp(&sorted[v]->digest, &volume->digest, sizeof volume->digest))
    if (files_are_equal(sorted[v]->path, volume->path)) return sorted[v];
  return NULL;
}

/* A copy under another name. */
static bool note_copies(struct dataset *dataset, const struct options *options, struct error *error) {
  size_t copies = 0;
  const struct volume *copy = NULL, *original = NULL;
  const struct volume **sorted = ARENA_NEW(dataset->arena, const struct volume *, dataset->volume_count + 1);
  for (size_t v = 0; v < dataset->volume_count; v++) sorted[v] = &dataset->volumes[v];
  qsort(sorted, dataset->volume_count, sizeof *sorted, compare_digests);
  for (size_t v = 1; v < dataset->volume_count; v++) {
    const struct volume *earlier = original_of(sorted, v);
    if (!earlier) continue;
    original = earlier;
    copy = sorted[v];
    copies++;
  }
  if (!copies) return true;
  return dataset_note(
      dataset, options, error,
      "%s and %s hold the same bytes (%zu cop%s in all): a scan that counts twice; remove one",
      original->path, copy->path, copies, copies == 1 ? "y" : "ies");
}

/* The part that is cut out decides all scores: a size that nobody chose is said. */
static bool note_crop(struct dataset *dataset, const struct options *options, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  const struct volume *first = NULL;
  size_t count = 0;
  char size[SCAN_SHAPE_TEXT];
  for (size_t v = dataset->volume_count; v-- > 0;) {
    const struct volume *volume = &dataset->volumes[v];
    if (volume->image_height <= shape.height && volume->image_width <= shape.width) continue;
    first = volume;
    count++;
  }
  if (!count || options->given[OPTION_ROW_data_size] || options->data.fit == FIT_RESIZE) return true;
  return dataset_note(
      dataset, options, error,
      "%zu volume%s larger than data.size, which is %s because nothing sets it: of %zux%zu pixels of "
      "%s the central %ux%u are taken; set data.size to what is meant",
      count, plural(count), scan_shape_text(&shape, size), first->image_height, first->image_width,
      first->path, shape.height, shape.width);
}

/* Padded to several times its side, an image is mostly zeros, which every method reconstructs well. */
static bool note_narrow(struct dataset *dataset, const struct options *options, struct error *error) {
  const struct scan_shape shape = scan_shape_of(options);
  const struct volume *first = NULL;
  size_t count = 0;
  char size[SCAN_SHAPE_TEXT];
  for (size_t v = dataset->volume_count; v-- > 0;) {
    const struct volume *volume = &dataset->volumes[v];
    if (4 * volume->image_height >= shape.height && 4 * volume->image_width >= shape.width) continue;
    first = volume;
    count++;
  }
  if (!count) return true;
  return dataset_note(
      dataset, options, error,
      "%zu volume%s images narrower than a quarter of data.size %s (%s: %zux%zu), and zeros fill the "
      "rest; look at the order of its axes, or set data.size to what the images have",
      count, count == 1 ? " has" : "s have", scan_shape_text(&shape, size), first->path, first->image_height,
      first->image_width);
}

/* Scans of several protocols in one set: their columns are not of one resolution, and coils take memory for the most. */
static bool note_grids(struct dataset *dataset, const struct options *options, struct error *error) {
  const struct volume *first = dataset->volumes, *other = NULL;
  size_t count = 0;
  if (options->data.kspace != KSPACE_MEASURED) return true;
  for (size_t v = dataset->volume_count; v-- > 1;) {
    const struct volume *volume = &dataset->volumes[v];
    if (volume->width == first->width && volume->height == first->height && volume->coils == first->coils) continue;
    other = volume;
    count++;
  }
  if (!count) return true;
  return dataset_note(dataset, options, error,
                      "%zu of %zu volumes have k-space of another size or other coils than %s (%zu coils, %zux%zu), first %s "
                      "(%zu coils, %zux%zu): of each what data.size asks for is taken, and memory for the most coils; for "
                      "scans of one kind move them away",
                      count, dataset->volume_count, first->path, first->coils, first->height, first->width, other->path,
                      other->coils, other->height, other->width);
}

/* Names do not tell the patients of a split: its files are known when all were opened. */
static void hash_split(struct dataset *dataset, const struct options *options) {
  struct names names = {0};
  bool folds = listing_has_folds(options), split = options->data.patient_split && options->data.split != SPLIT_ALL;
  if (!split && !folds) return;
  for (size_t v = 0; v < dataset->volume_count; v++)
    names_add(dataset->arena, &names, dataset->volumes[v].path);
  hash_names(dataset, &names);
}

static void keep_volumes(struct dataset *dataset, const bool *kept) {
  size_t count = 0;
  dataset->slice_count = 0;
  for (size_t v = 0; v < dataset->volume_count; v++) {
    if (!kept[v]) continue;
    dataset->slice_count += dataset->volumes[v].slice_count;
    dataset->volumes[count++] = dataset->volumes[v];
  }
  dataset->by_patient += dataset->volume_count - count;
  dataset->volume_count = count;
}

static bool take_fold(struct dataset *dataset, const struct options *options, struct error *error) {
  struct arena *arena = arena_open();
  bool *kept = ARENA_NEW(arena, bool, dataset->volume_count + 1);
  bool good = folds_choose(dataset->volumes, dataset->volume_count, options, kept, error);
  if (good) keep_volumes(dataset, kept);
  arena_close(arena);
  return good;
}

static bool open_volumes(struct dataset *dataset, const struct names *names, const struct options *options,
                         struct error *error) {
  dataset->volumes = ARENA_NEW(dataset->arena, struct volume, names->count);
  dataset->skipped = arena_new(dataset->arena, names->count * sizeof *dataset->skipped);
  for (size_t i = 0; i < names->count; i++) {
    struct volume *volume = &dataset->volumes[dataset->volume_count];
    *volume = volume_of(names->path[i]);
    if (!volume_open(volume, options, error)) {
      if (!dataset_skip(dataset, volume, options->data.strict, error)) return false;
      log_warning("skipped: %s", error->text);
      continue;
    }
    dataset->without_patient += !volume->patient[0];
    if (!passes(dataset, volume, options)) continue;
    volume->digest = digest_file(volume->path);
    dataset->volume_count++;
    dataset->slice_count += volume->slice_count;
  }
  if (!note_patients(dataset, options, error) || !note_crop(dataset, options, error) ||
      !note_narrow(dataset, options, error) || !note_turned(dataset, options, error) ||
      !note_copies(dataset, options, error) || !note_grids(dataset, options, error))
    return false;
  if (listing_has_folds(options) && !take_fold(dataset, options, error)) return false;
  hash_split(dataset, options);
  if (dataset->slice_count) return true;
  if (dataset->volume_count)
    return fail(error,
                "no usable slice in %s: data.slices takes the central half of a volume, and %zu volume%s "
                "one slice each; set data.slices to all",
                options->data.path, dataset->volume_count, dataset->volume_count == 1 ? " has" : "s have");
  if (dataset_skipped(dataset)) return refuse_skipped(dataset, options->data.path, names->count, error);
  return fail(error,
              "no usable slice in %s: %zu file%s, %zu left out by data.fraction, %zu by "
              "data.acquisition, %zu by data.patient_split; loosen what leaves them out",
              options->data.path, dataset->entries, plural(dataset->entries), dataset->by_fraction,
              dataset->by_acquisition, dataset->by_patient);
}

size_t dataset_coils(const struct dataset *dataset) {
  size_t most = 1;
  for (size_t v = 0; v < dataset->volume_count; v++)
    if (dataset->volumes[v].made_coils > most) most = dataset->volumes[v].made_coils;
  return most;
}

/* The files' own k-space is that of their dataset kspace; images are those of its coils. */
static bool check_source(const struct options *options, struct error *error) {
  bool other = options->data.source != SOURCE_AUTO && options->data.source != SOURCE_KSPACE;
  const char *key = options->data.kspace == KSPACE_MEASURED ? "data.kspace is measured"
                    : options->data.crop == CROP_KSPACE     ? "data.crop is kspace"
                    : options->data.crop == CROP_READOUT    ? "data.crop is readout"
                                                            : NULL;
  if (!key || !other) return true;
  return fail_usage(error, "%s, and data.source names reconstructions; set data.source to kspace", key);
}

/* Resized are images, which a k-space of their own belongs to. */
static bool check_fit(const struct options *options, struct error *error) {
  const char *key = options->data.kspace == KSPACE_MEASURED ? "data.kspace is measured"
                    : options->data.crop != CROP_IMAGE      ? "data.crop is not image"
                    : options->data.pad                     ? "data.pad is above 0"
                                                            : NULL;
  if (options->data.fit == FIT_CROP || !key) return true;
  return fail_usage(error, "data.fit is resize, and %s; set data.fit to crop, or leave the other at its default", key);
}

static bool check_folds(const struct options *options, struct error *error) {
  uint32_t folds = options->data.folds, fold = options->data.fold;
  if (folds ? folds >= 2 && fold < folds && !options->data.patient_split : !fold) return true;
  if (folds && options->data.patient_split)
    return fail_usage(error, "data.folds is %u and data.patient_split true, which both say who validates; leave one out", folds);
  return fail_usage(error, "data.folds is %u and data.fold %u; folds are 2 or more, or 0 for none, and fold is below", folds, fold);
}

bool dataset_note(struct dataset *dataset, const struct options *options, struct error *error,
                  const char *format, ...) {
  char text[sizeof error->text];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (options->data.strict) return fail_file(error, "data.strict: %s", text);
  REQUIRE(dataset->note_count < DATASET_NOTES, "more than %d kinds of notes", DATASET_NOTES);
  dataset->notes[dataset->note_count++] = arena_text(dataset->arena, "%s", text);
  log_warning("%s", text);
  return true;
}

/* Over splits equal names may be other scans, numbered anew. */
static bool note_twice(struct dataset *dataset, const char *const pair[2], const struct options *options,
                       struct error *error) {
  if (!pair[0]) return true;
  return dataset_note(
      dataset, options, error,
      "%s and %s, of two splits that are taken together, have one name; if they are one scan, it "
      "counts twice: move one away",
      pair[0], pair[1]);
}

static bool list_files(struct dataset *dataset, struct names *names, const struct options *options,
                       struct error *error) {
  struct listing listing = {.arena = dataset->arena};
  if (!listing_make(&listing, options, error)) return false;
  *names = listing.names;
  dataset->entries = listing.entries;
  dataset->hidden = listing.hidden;
  dataset->not_h5 = listing.not_h5;
  return note_twice(dataset, listing.twice, options, error);
}

/* What else coils.sets wants is known when there are scans (systems/coils/maps.c). */
static bool check_sets(const struct options *options, struct error *error) {
  return options->coils.sets == 1 || options->coils.maps != MAPS_FILE ||
         fail_usage(error, "coils.sets is %u, and coils.maps file, whose dataset sensitivity_maps is one set; set coils.maps to "
                           "prescan or acquired, which make two sets, or coils.sets to 1",
                    options->coils.sets);
}

bool dataset_open(struct dataset *dataset, const struct options *options, struct error *error) {
  struct names names = {0};
  *dataset = (struct dataset){.arena = arena_open()};
  if (check_source(options, error) && check_fit(options, error) && check_folds(options, error) && check_sets(options, error) &&
      list_files(dataset, &names, options, error)) {
    select_fraction(dataset, &names, options->data.fraction);
    size_t limit = options->data.volumes;
    if (limit && names.count > limit) {
      dataset->by_limit = names.count - limit;
      names.count = limit;
    }
    dataset->selected = names.count;
    hash_names(dataset, &names);
    if (open_volumes(dataset, &names, options, error) &&
        labels_read(dataset->volumes, dataset->volume_count, options, dataset->arena, error)) return true;
  }
  dataset_close(dataset);
  return false;
}

void dataset_close(struct dataset *dataset) {
  arena_close(dataset->arena);
  *dataset = (struct dataset){0};
}

void dataset_print(const struct dataset *dataset, FILE *file) {
  fprintf(file, "volumes: %zu of %zu file%s (%zu slice%s), selection %.16s\n", dataset->volume_count,
          dataset->entries, plural(dataset->entries), dataset->slice_count, plural(dataset->slice_count),
          dataset->hash);
  const struct {
    size_t count;
    const char *text;
  } filters[] = {{dataset->hidden, "hidden"},
                 {dataset->not_h5, arena_text(dataset->arena, "not %s", format_endings(dataset->arena))},
                 {dataset->by_fraction, "left out by data.fraction"},
                 {dataset->by_limit, "left out by data.volumes"},
                 {dataset->by_acquisition, "of another acquisition"},
                 {dataset->by_patient, "of patients of another split"},
                 {dataset->small, "smaller than data.size, skipped"},
                 {dataset->written, "being written by another program, skipped"},
                 {dataset->ambiguous, "of several readings, skipped: import them"},
                 {dataset->broken, "broken, skipped"}};
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
    if (filters[i].count)
      fprintf(file, "  %zu file%s %s\n", filters[i].count, plural(filters[i].count), filters[i].text);
}
