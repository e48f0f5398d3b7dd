/* Volumes of fastMRI's format from files of other programs. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/store.h"
#include "systems/data/doubts.h"
#include "systems/data/foreign.h"
#include "systems/data/format.h"
#include "systems/data/layout.h"
#include "systems/formats/fourier.h"
#include "tools/commands/command.h"

#include <math.h>
#include <string.h>

struct import {
  struct call *call;
  struct options options;
  struct arena *arena; /* of the file */
  const char *folder, *path;
  struct volume volume;
  float *samples;     /* of all slices */
  const float *noise; /* [coils][samples] pairs; NULL: none */
};

/* The name of the volume: the file's without its ending. */
static const char *stem_of(struct arena *arena, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *point = strrchr(name, '.');
  size_t length = strlen(name);
  bool packed = length > 7 && !strcasecmp(name + length - 7, ".nii.gz");
  size_t stem = packed ? length - 7 : point && point > name ? (size_t)(point - name) : length;
  return arena_text(arena, "%.*s", (int)stem, name);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* What a scene would ask for does not count here. */
static void take_all(struct options *options) {
  options->data.size = option_square(4);
  options->data.pad = 4;
  options->data.kspace = KSPACE_IMAGE;
  options->data.crop = CROP_IMAGE;
  options->data.source = SOURCE_AUTO;
  options->data.slices = SLICES_ALL;
  options->coils.whiten = WHITEN_NONE;
  options->coils.maps = MAPS_NONE;
  options->coils.compress = 0;
}

static bool open_volume(struct import *import, const char *path, struct error *error) {
  const struct volume_format *format = format_of(path);
  import->volume = volume_of(path);
  import->volume.guesses = true;
  const struct magic *magic = format ? NULL : magic_of(path);
  if (magic) return fail_file(error, "%s is %s; %s", path, magic->name, foreign_advice(magic, import->arena));
  if (!format && folder_is_there(path)) return fail_file(error, "%s is a folder; name the files in it", path);
  if (!format && file_is_there(path))
    return fail_file(
        error,
        "%s is of no format that is read: give .cfl, .npy, .nii, .nii.gz or .mat files, or ISMRMRD's .h5",
        path);
  if (!volume_open(&import->volume, &import->options, error)) return false;
  if (!import->volume.format->is_hdf5) return true;
  return fail_file(error, "%s is a volume of fastMRI's format already; put it into the folder as it is",
                   path);
}

/* Slices one after the other; the noise scan stands behind each. */
static bool read_slices(struct import *import, void *file, struct doubts *doubts, struct error *error) {
  const struct volume *volume = &import->volume;
  size_t count = volume_sample_floats(volume);
  float *slice = arena_try_array(import->arena, sizeof *slice, volume_slice_floats(volume));
  import->samples = arena_try_array(import->arena, count * sizeof *slice, volume->slices);
  if (!slice || !import->samples)
    return fail_memory(error, "no host memory for the %zu slices of %s", volume->slices, volume->path);
  for (size_t s = 0; s < volume->slices; s++) {
    if (!volume_read(file, volume, s, slice, error)) return fail_in(error, "slice %zu", s);
    for (size_t i = 0; i < count; i++)
      if (!isfinite(slice[i]))
        return fail_file(error, "%s: slice %zu holds values that are not finite; mend the file", volume->path,
                         s);
    memcpy(import->samples + s * count, slice, count * sizeof *slice);
    doubts_see(doubts, volume, slice);
  }
  if (volume->noise_coils) import->noise = slice + count;
  return true;
}

static bool read_volume(struct import *import, const char *path, struct error *error) {
  struct doubts *doubts = doubts_open(import->arena);
  void *file;
  if (!open_volume(import, path, error)) return false;
  struct volume with_noise = import->volume;
  struct options options = import->options;
  struct error ignored;
  options.coils.whiten = WHITEN_NOISE;
  if (import->volume.coils > 1 && import->volume.format->holds &&
      volume_open(&with_noise, &options, &ignored))
    import->volume = with_noise;
  if (!volume_file_open(&file, &import->volume, error)) return false;
  bool good = read_slices(import, file, doubts, error) &&
              doubts_end(doubts, &import->volume, &import->options, error);
  volume_file_close(file, &import->volume);
  for (int kind = 0; good && kind < DOUBT_KINDS; kind++) {
    const char *text = doubts_text(doubts, kind, import->arena);
    if (text && kind != DOUBT_CROP) log_warning("%s", text);
  }
  return good;
}

/* ---- scale ------------------------------------------------------------------------------------------------
 */

/* The brightest pixel: of k-space, that of the middle slice's image. */
static bool find_peak(const struct import *import, double *peak, struct error *error) {
  const struct volume *volume = &import->volume;
  size_t count = volume_sample_floats(volume), pixels = volume->height * volume->width;
  *peak = 0;
  for (size_t i = 0; !volume->from_kspace && i < volume->slices * count; i++)
    *peak = fmax(*peak, import->samples[i]);
  if (!volume->from_kspace) return true;
  float *coils = arena_try_array(import->arena, sizeof *coils, count);
  if (!coils) return fail_memory(error, "no host memory for a slice of %s", volume->path);
  memcpy(coils, import->samples + volume->slices / 2 * count, count * sizeof *coils);
  for (size_t c = 0; c < volume->coils; c++)
    if (!fourier_plane(coils + 2 * c * pixels, volume->height, volume->width, true, error)) return false;
  for (size_t i = 0; i < pixels; i++) {
    double sum = 0;
    for (size_t c = 0; c < volume->coils; c++)
      sum += pow(coils[2 * (c * pixels + i)], 2) + pow(coils[2 * (c * pixels + i) + 1], 2);
    *peak = fmax(*peak, sqrt(sum));
  }
  return true;
}

enum { CLAMPED = 10 /* PSNR clamps reconstructions to it (PROTOCOL 1.9) */ };

static bool say_scale(const struct import *import, struct error *error) {
  double peak;
  if (!find_peak(import, &peak, error)) return false;
  double fits = import->options.import.factor / peak;
  if (peak > VOLUME_MAGNITUDE_MOST)
    return fail_file(error, "the images of %s go up to %.4g, and volumes hold magnitudes of up to %g; import with --factor %.3g for a peak of 1",
                     import->volume.path, peak, VOLUME_MAGNITUDE_MOST, fits);
  if (peak > CLAMPED)
    log_warning("the images of %s go up to %.4g, and PSNR clamps reconstructions to %d, as published; import "
                "with --factor %.3g for a peak of 1, or score by "
                "psnr_unclamped",
                import->volume.path, peak, CLAMPED, fits);
  return true;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static bool write_attributes(const struct import *import, struct store *store, struct error *error) {
  const struct volume *volume = &import->volume;
  const char *given = import->call->options.import.patient;
  const char *patient = *given               ? given
                        : volume->patient[0] ? volume->patient
                                             : stem_of(import->arena, volume->path);
  double most = 0, square = 0;
  for (size_t i = 0; i < volume->slices * volume_sample_floats(volume); i++) {
    most = fmax(most, import->samples[i]);
    square += (double)import->samples[i] * import->samples[i];
  }
  if (!volume->from_kspace &&
      !(store_put_number(store, "max", most, error) && store_put_number(store, "norm", sqrt(square), error)))
    return false;
  return store_put_text(store, "patient_id", patient, error) &&
         (!volume->acquisition[0] || store_put_text(store, "acquisition", volume->acquisition, error));
}

static bool write_header(const struct import *import, struct store *store, struct error *error) {
  const struct volume *volume = &import->volume;
  size_t middle = volume->width / 2, last = volume->width - volume->padded_right - volume->padded_left - 1;
  const struct layout_sizes sizes = {volume->coils,
                                     volume->height,
                                     volume->width,
                                     volume->image_height,
                                     volume->image_width,
                                     volume->says_padding,
                                     middle - volume->padded_left,
                                     last};
  return store_write_text(store, "ismrmrd_header", layout_header_text(import->arena, &sizes), error);
}

static bool write_samples(const struct import *import, struct store *store, struct error *error) {
  const struct volume *volume = &import->volume;
  bool coils = volume->coils > 1;
  const size_t many[] = {volume->slices, volume->coils, volume->height, volume->width},
               one[] = {volume->slices, volume->height, volume->width},
               noise[] = {volume->noise_coils, volume->noise_samples};
  if (!volume->from_kspace)
    return store_write(store, "reconstruction_esc", STORE_F32, 3, one, import->samples, false, error);
  return store_write(store, "kspace", STORE_C64, coils ? 4 : 3, coils ? many : one, import->samples, false,
                     error) &&
         write_header(import, store, error) &&
         (!import->noise || store_write(store, "noise", STORE_C64, 2, noise, import->noise, false, error));
}

static bool write_volume(struct import *import, struct error *error) {
  struct store *store;
  if (!store_create(&store, import->path, error)) return false;
  if (write_samples(import, store, error) && write_attributes(import, store, error))
    return store_commit(store, error);
  store_close(store);
  return false;
}

static void tell(const struct import *import) {
  const struct volume *volume = &import->volume;
  printf("%s: %s\n  %s: %s of %zu slice%s", text_shown(import->arena, volume->path),
         text_shown(import->arena, volume->layout), text_shown(import->arena, import->path),
         volume->from_kspace ? "kspace" : "images", volume->slices, plural(volume->slices));
  if (volume->coils > 1) printf(", %zu coils", volume->coils);
  printf(", %zux%zu\n", volume->height, volume->width);
}

/* ---- the command --------------------------------------------------------------------------------------- */

static bool import_file(struct import *import, const char *path, struct error *error) {
  import->arena = arena_open();
  import->noise = NULL;
  import->path = arena_text(import->arena, "%s/%s.h5", import->folder, stem_of(import->arena, path));
  bool good = read_volume(import, path, error) && say_scale(import, error) && write_volume(import, error);
  if (good) tell(import);
  arena_close(import->arena);
  return good;
}

/* Two files of one name would be one volume. */
static bool check_names(const struct call *call, struct error *error) {
  for (int i = 0; i < call->operand_count; i++)
    for (int j = 0; j < i; j++)
      if (!strcmp(stem_of(call->arena, call->operand[i]), stem_of(call->arena, call->operand[j])))
        return fail_usage(error,
                          "%s and %s would both become %s.h5; import them into two folders, or rename one",
                          call->operand[j], call->operand[i], stem_of(call->arena, call->operand[i]));
  return true;
}

static bool run_import(struct call *call, struct error *error) {
  struct import *import = ARENA_NEW(call->arena, struct import, 1);
  *import = (struct import){.call = call, .options = call->options, .folder = call_flag(call, "output")};
  if (!import->folder) return fail_usage(error, "no folder for the volumes; give --output FOLDER");
  take_all(&import->options);
  size_t there = folder_there(import->folder);
  bool good = check_names(call, error) && folder_make(import->folder, error);
  for (int i = 0; good && i < call->operand_count; i++) good = import_file(import, call->operand[i], error);
  if (!good) folder_unmake(import->folder, there);
  return good;
}

static const struct flag flags[] = {
    {"output", "DIR", NULL,
     "folder for the volumes, NAME.h5 for NAME.*; files of the same names are replaced"},
    {"axes", "LETTERS", "import.axes",
     "what the array's axes are, as s,c,h,w; guessed and printed without it"},
    {"kind", "K", "import.kind", "image, kspace or complex_image; guessed and printed without it"},
    {"variable", "NAME", "import.variable", "variable of a MATLAB file"},
    {"factor", "X", "import.factor", "multiplies all samples"},
    {"patient", "ID", "import.patient",
     "patient_id of the volumes; by default the file's own, else its name"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_import = {
    .name = "import",
    .operands = "FILES...",
    .doc = "makes volumes from BART, numpy, NIfTI, MATLAB and ISMRMRD files",
    .more = "BART's NAME.cfl (with NAME.hdr), numpy's NAME.npy, NIfTI's NAME.nii and NAME.nii.gz, MATLAB's "
            "NAME.mat and "
            "ISMRMRD's raw NAME.h5 become volumes of fastMRI's format, one a file. What the axes are is "
            "printed, and guessed "
            "where --axes does not say it: s slices, c coils, h height (readout), w width (phase encoding), "
            "p real and "
            "imaginary part, 0 only the first entry.",
    .operands_least = 1,
    .operands_most = OPERANDS_MOST,
    .flags = flags,
    .run = run_import,
};
