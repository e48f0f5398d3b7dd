#include "systems/data/doubts.h"

#include "engine/base/log.h"
#include "systems/data/sampled.h"

#include <math.h>
#include <string.h>

enum { COLUMNS, ROWS, AXES };

struct axis {
  double *energy; /* one for every column or row of a slice */
  size_t room;
  double whole, centre; /* energy of the volume, and of the central half of the axis */
  double next; /* samples times their neighbours': the image's energy times the cosine of its place */
};

struct doubt {
  size_t volumes;
  const char *text; /* about the first of them: what was found in which file, and what to do */
};

struct doubts {
  struct arena *arena;
  struct doubt found[DOUBT_KINDS];
  /* the volume that is being read: */
  size_t slices, constant, dark; /* constant, dark: slices of one value, and whose maps are 0 */
  double least, largest, sum, square, count; /* statistics of an image's pixels */
  struct axis axis[AXES];
  double signal, kept; /* energy of what images show, and of that inside data.size */
  struct scan_shape shape;
  double empty; /* the largest fraction of a slice that is empty */
  const char *what;
};

struct doubts *doubts_open(struct arena *arena) {
  struct doubts *doubts = ARENA_NEW(arena, struct doubts, 1);
  doubts->arena = arena;
  doubts_drop(doubts);
  return doubts;
}

void doubts_drop(struct doubts *doubts) {
  doubts->slices = doubts->constant = doubts->dark = 0;
  doubts->least = INFINITY;
  doubts->largest = -INFINITY;
  doubts->sum = doubts->square = doubts->count = doubts->empty = 0;
  doubts->signal = doubts->kept = 0;
  for (int a = 0; a < AXES; a++) doubts->axis[a].whole = doubts->axis[a].centre = doubts->axis[a].next = 0;
}

/* ---- images -------------------------------------------------------------------------------------------- */

static void see_image(struct doubts *doubts, const float *image, size_t count) {
  double least = image[0], largest = image[0], sum = 0, square = 0;
  for (size_t i = 0; i < count; i++) {
    double value = image[i];
    least = value < least ? value : least;
    largest = value > largest ? value : largest;
    sum += value;
    square += value * value;
  }
  doubts->constant += least == largest;
  doubts->least = least < doubts->least ? least : doubts->least;
  doubts->largest = largest > doubts->largest ? largest : doubts->largest;
  doubts->sum += sum;
  doubts->square += square;
  doubts->count += (double)count;
}

/* The pixels of an axis that the crop takes. */
static bool is_kept(size_t place, size_t size, size_t pad, size_t wanted) {
  long first = volume_place(0, size, pad, wanted), last = volume_place(wanted - 1, size, pad, wanted);
  return (first < 0 || (long)place >= first) && (last < 0 || (long)place <= last);
}

/* Noise is below a tenth of the brightest pixel: an image shows what is above. */
void doubts_see_crop(struct doubts *doubts, const struct volume *volume, const float *image,
                     const struct options *options) {
  size_t height = volume->image_height, width = volume->image_width, pad = options->data.pad;
  const struct scan_shape *shape = &doubts->shape;
  doubts->shape = scan_shape_of(options);
  if ((height <= shape->height && width <= shape->width) || options->data.fit == FIT_RESIZE) return;
  float most = 0;
  for (size_t i = 0; i < height * width; i++) most = image[i] > most ? image[i] : most;
  for (size_t y = 0; y < height; y++) {
    bool row = is_kept(y, height, pad, shape->height);
    for (size_t x = 0; x < width; x++) {
      double value = image[y * width + x];
      if (!(value > 0.1 * most)) continue;
      doubts->signal += value * value;
      if (row && is_kept(x, width, pad, shape->width)) doubts->kept += value * value;
    }
  }
}

/* ---- k-space ------------------------------------------------------------------------------------------- */

static double *line_energy(struct doubts *doubts, int axis, size_t count) {
  struct axis *of = &doubts->axis[axis];
  if (of->room < count) {
    of->energy = ARENA_NEW(doubts->arena, double, count);
    of->room = count;
  }
  return of->energy;
}

static void add_axis(struct axis *axis, size_t count) {
  for (size_t i = 0; i < count; i++) {
    axis->whole += axis->energy[i];
    if (i >= count / 4 && i < count - count / 4) axis->centre += axis->energy[i];
  }
}

/* The real part of the sum of samples times the conjugates of those after them. */
static double neighbours(const float *samples, const float *after, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < 2 * count; i++) sum += (double)samples[i] * after[i];
  return sum;
}

static void see_neighbours(struct doubts *doubts, const struct volume *volume, const float *kspace) {
  size_t height = volume->height, width = volume->width;
  for (size_t line = 0; line < volume->coils * height; line++) {
    const float *from = kspace + 2 * line * width;
    doubts->axis[COLUMNS].next += neighbours(from, from + 2, width - 1);
    if (line % height + 1 < height) doubts->axis[ROWS].next += neighbours(from, from + 2 * width, width);
  }
}

static void see_kspace(struct doubts *doubts, const struct volume *volume, const float *kspace) {
  struct sampled sampled = {.coils = volume->coils,
                            .height = volume->height,
                            .width = volume->width,
                            .kspace = kspace,
                            .column_energy = line_energy(doubts, COLUMNS, volume->width),
                            .row_energy = line_energy(doubts, ROWS, volume->height)};
  const char *what;
  sampled_sum(&sampled);
  see_neighbours(doubts, volume, kspace);
  add_axis(&doubts->axis[COLUMNS], volume->width);
  add_axis(&doubts->axis[ROWS], volume->height);
  doubts->constant += sampled.zeros == volume->coils * volume->height * volume->width;
  double missing = sampled_missing(&sampled, &what);
  if (missing <= doubts->empty) return;
  doubts->empty = missing;
  doubts->what = what;
}

static bool are_dark(const struct volume *volume, const float *maps) {
  size_t count = 2 * volume->map_coils * volume->map_height * volume->map_width, zeros = 0;
  while (zeros < count && maps[zeros] == 0) zeros++;
  return zeros == count;
}

void doubts_see(struct doubts *doubts, const struct volume *volume, const float *slice) {
  doubts->slices++;
  doubts->dark += volume->map_coils && are_dark(volume, slice + volume_sample_floats(volume));
  if (volume->from_kspace)
    see_kspace(doubts, volume, slice);
  else
    see_image(doubts, slice, volume->height * volume->width);
}

/* ---- what is in doubt ---------------------------------------------------------------------------------- */

static const char *tell_empty(const struct doubts *doubts, const struct volume *volume) {
  if (!doubts->empty) return NULL;
  return arena_text(doubts->arena,
                    "%.0f %% of the %s of the k-space in %s are empty: it is undersampled, and its "
                    "images would be taken for the truth; leave it out, or take fully sampled files",
                    100 * doubts->empty, doubts->what, volume->path);
}

/* The value to set data.kspace_shift or data.image_shift to; a shift that is set already is undone by it. */
static const char *shift_word(const bool found[AXES], bool set_columns, bool set_rows) {
  static const char *const words[] = {"none", "columns", "rows", "both"};
  return words[(found[COLUMNS] ^ set_columns) | (found[ROWS] ^ set_rows) << 1];
}

static const char *tell_corner(const struct doubts *doubts, const struct volume *volume) {
  bool corner[AXES];
  for (int a = 0; a < AXES; a++)
    corner[a] = doubts->axis[a].whole > 0 && doubts->axis[a].centre < 0.25 * doubts->axis[a].whole;
  if (!corner[COLUMNS] && !corner[ROWS]) return NULL;
  const struct axis *axis = &doubts->axis[corner[COLUMNS] ? COLUMNS : ROWS];
  return arena_text(
      doubts->arena,
      "the zero frequency of the k-space in %s is in the corner: the central half of its %s holds %.0f "
      "%% of the energy; set data.kspace_shift to %s",
      volume->path, corner[COLUMNS] ? "columns" : "rows", 100 * axis->centre / axis->whole,
      shift_word(corner, volume->shift_columns, volume->shift_rows));
}

/* Neighbours are alike where the object lies in the middle, and opposite where it lies around the edges. */
static const char *tell_edges(const struct doubts *doubts, const struct volume *volume) {
  bool edges[AXES];
  if (tell_corner(doubts, volume)) return NULL; /* neighbours are others once that is mended */
  for (int a = 0; a < AXES; a++) edges[a] = doubts->axis[a].next < -0.2 * doubts->axis[a].whole;
  if (!edges[COLUMNS] && !edges[ROWS]) return NULL;
  return arena_text(
      doubts->arena,
      "the object of the k-space in %s lies around the edges of its images, as if a corner were their "
      "middle; set data.image_shift to %s",
      volume->path, shift_word(edges, volume->turn_columns, volume->turn_rows));
}

static const char *tell_negative(const struct doubts *doubts, const struct volume *volume) {
  if (volume->from_kspace || !(doubts->least < 0)) return NULL;
  double mean = doubts->sum / doubts->count, deviation = sqrt(doubts->square / doubts->count - mean * mean);
  bool scored = fabs(mean) < 0.1 && fabs(deviation - 1) < 0.1;
  const char *how = scored ? " (they are z-scored: mean 0, deviation 1)" : "";
  return arena_text(
      doubts->arena,
      "the images in %s go down to %.4g%s; magnitudes are never below 0: store magnitudes, before any "
      "normalisation",
      volume->path, doubts->least, how);
}

static const char *tell_constant(const struct doubts *doubts, const struct volume *volume) {
  if (doubts->constant < doubts->slices || doubts->slices < volume->slice_count) return NULL;
  return arena_text(
      doubts->arena,
      "in each slice of %s all values are equal; write the file again, or set data.exclude_constant to "
      "true",
      volume->path);
}

/* Slices that are not read may hold a larger pixel. */
static const char *tell_max(const struct doubts *doubts, const struct volume *volume) {
  bool whole = doubts->slices == volume->slices;
  if (volume->from_kspace || !volume->has_max) return NULL;
  if (whole ? fabs(volume->max - doubts->largest) <= 0.01 * fabs(doubts->largest)
            : volume->max >= 0.99 * doubts->largest)
    return NULL;
  return arena_text(
      doubts->arena,
      "attribute max of %s is %.6g, its largest pixel is %.6g; mend the attribute, or leave data.range "
      "at volume or slice",
      volume->path, volume->max, doubts->largest);
}

/* Where the shorter side is no longer than data.size, more of the longer one is to be had by padding alone.
 */
static const char *advise_crop(const struct doubts *doubts, const struct volume *volume) {
  size_t most = volume_largest_size(volume);
  const char *more = most > doubts->shape.height && most > doubts->shape.width
                         ? arena_text(doubts->arena, "set data.size to more, at most %zu", most)
                         : "set data.size and data.pad to more";
  return volume->from_kspace
             ? arena_text(doubts->arena,
                          "%s, or data.crop to kspace for the whole field of view in fewer pixels", more)
             : more;
}

static const char *tell_crop(const struct doubts *doubts, const struct volume *volume) {
  double lost = doubts->signal - doubts->kept;
  const struct scan_shape *shape = &doubts->shape;
  char size[SCAN_SHAPE_TEXT];
  if (!(lost > 0.02 * doubts->signal)) return NULL;
  return arena_text(
      doubts->arena,
      "data.size %s cuts away %.0f %% of the signal of %s: of %zux%zu pixels the central %ux%u are "
      "taken; %s; where the cut is meant, say so by data.crop image",
      scan_shape_text(shape, size), 100 * lost / doubts->signal, volume->path, volume->image_height,
      volume->image_width, shape->height, shape->width, advise_crop(doubts, volume));
}

/* ESPIRiT leaves slices without a signal dark; a volume that is dark is another's, or was never written. */
static const char *tell_maps(const struct doubts *doubts, const struct volume *volume) {
  if (!doubts->dark || doubts->dark < doubts->slices) return NULL;
  return arena_text(doubts->arena,
                    "the sensitivity_maps in %s are 0 everywhere, and images that they combine or solve would be so; write them again, "
                    "or set coils.maps to prescan",
                    volume->path);
}

/* What the scene says in words is no doubt. */
static bool is_meant(enum doubt_kind kind, const struct options *options) {
  return (kind == DOUBT_CONSTANT && options->data.exclude_constant) ||
         (kind == DOUBT_CROP && options->given[OPTION_ROW_data_crop]);
}

bool doubts_end(struct doubts *doubts, const struct volume *volume, const struct options *options,
                struct error *error) {
  static const char *(*const tell[DOUBT_KINDS])(const struct doubts *, const struct volume *) = {
      [DOUBT_EMPTY] = tell_empty,       [DOUBT_CORNER] = tell_corner,     [DOUBT_EDGES] = tell_edges,
      [DOUBT_NEGATIVE] = tell_negative, [DOUBT_CONSTANT] = tell_constant, [DOUBT_MAX] = tell_max,
      [DOUBT_CROP] = tell_crop,         [DOUBT_MAPS] = tell_maps};
  bool good = true;
  for (int kind = 0; good && doubts->slices && kind < DOUBT_KINDS; kind++) {
    struct doubt *doubt = &doubts->found[kind];
    const char *text = tell[kind](doubts, volume);
    if (!text || is_meant(kind, options)) continue;
    if (!doubt->volumes++) doubt->text = text;
    if (options->data.strict) good = fail_file(error, "data.strict: %s", text);
  }
  doubts_drop(doubts);
  return good;
}

const char *doubts_text(const struct doubts *doubts, enum doubt_kind kind, struct arena *arena) {
  const struct doubt *doubt = &doubts->found[kind];
  if (doubt->volumes < 2) return doubt->text;
  return arena_text(arena, "%s (and %zu other volume%s like it)", doubt->text, doubt->volumes - 1,
                    plural(doubt->volumes - 1));
}
