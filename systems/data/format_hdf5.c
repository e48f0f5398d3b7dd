/* fastMRI's files (PROTOCOL 8): HDF5 with images or k-space in a dataset, and facts beside it. */
#include "engine/base/hash.h"
#include "engine/device/program.h"
#include "engine/files/store.h"
#include "systems/data/format.h"
#include "systems/data/layout.h"
#include "systems/data/volume.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char ending[] = ".h5";

static bool claims(const char *path) {
  size_t length = strlen(path), end = sizeof ending - 1;
  return length > end && !strcmp(path + length - end, ending);
}

static bool open_file(void **file, const struct volume *volume, struct error *error) {
  struct store *store;
  bool good = store_open(&store, volume->path, error);
  *file = store;
  return good;
}

static void close_file(void *file) {
  store_close(file);
}

static bool is_sound(void *file, struct error *error) {
  return store_is_sound(file, error);
}

/* ---- which dataset, and its shape ----------------------------------------------------------------------- */

static bool choose_key(struct store *store, struct volume *volume, uint32_t source, struct error *error) {
  static const char *const keys[] = {"reconstruction_esc", "reconstruction_rss", "kspace"};
  for (uint32_t k = 0; k < 3; k++)
    if ((source == SOURCE_AUTO || source == k + 1) && store_has(store, keys[k])) {
      snprintf(volume->key, sizeof volume->key, "%s", keys[k]);
      volume->from_kspace = k == 2;
      break;
    }
  if (!volume->key[0])
    return layout_refuse(
        store, volume->path,
        source == SOURCE_AUTO ? "reconstruction_esc, reconstruction_rss or kspace" : keys[source - 1], error);
  return true;
}

static bool read_shape(struct store *store, struct volume *volume, const struct layout_header *header,
                       struct error *error) {
  struct store_shape shape;
  if (!store_shape(store, volume->key, &shape, error)) return false;
  bool coils = volume->from_kspace && shape.rank == 4;
  if (!layout_check(header, volume->path, volume->key, volume->from_kspace, &shape, error)) return false;
  if (!shape.complex && !shape.real) {
    char type[256];
    store_type_words(store, volume->key, type, sizeof type);
    return fail_file(error, "%s in %s holds %s; it must hold %s numbers", volume->key, volume->path, type,
                     volume->from_kspace ? "complex" : "real");
  }
  if (shape.complex != volume->from_kspace)
    return fail_file(error, "%s in %s holds %s numbers; it must hold %s ones", volume->key, volume->path,
                     shape.complex ? "complex" : "real", volume->from_kspace ? "complex" : "real");
  volume->slices = shape.size[0];
  volume->coils = coils ? shape.size[1] : 1;
  volume->height = shape.size[shape.rank - 2];
  volume->width = shape.size[shape.rank - 1];
  return true;
}

/* ---- facts ---------------------------------------------------------------------------------------------- */

enum { PATIENT_MOST = 1 << 16 };

/* Some programs write numbers as text. */
static void read_max(struct store *store, struct volume *volume) {
  char text[64], *end = text;
  volume->has_max = store_number(store, "max", &volume->max);
  if (volume->has_max || !store_word(store, "max", text, sizeof text)) return;
  volume->max = strtod(text, &end);
  volume->has_max = !*end;
}

/* Two long ids may begin alike: what is cut would make one patient of them. */
static void read_patient(struct store *store, struct volume *volume) {
  struct arena *arena = arena_open();
  char *text = arena_new(arena, PATIENT_MOST);
  if (store_word(store, "patient_id", text, PATIENT_MOST)) {
    if (strlen(text) < sizeof volume->patient)
      strcpy(volume->patient, text);
    else
      hash_hex(text, strlen(text), volume->patient);
  }
  arena_close(arena);
}

/* What is told beside the samples may lie in another file, which somebody writes: it is not missing. */
static bool check_facts(struct store *store, struct error *error) {
  static const char *const names[] = {"ismrmrd_header", "acquisition", "patient_id", "max", "mask", "sensitivity_maps", "noise"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!store_check_free(store, names[i], error)) return false;
  return true;
}

/* Coil sensitivities, [slices, coils, height, width]; volume.c compares sizes. */
static bool read_maps(struct store *store, struct volume *volume, const struct options *options, struct error *error) {
  static const char key[] = "sensitivity_maps";
  struct store_shape shape;
  bool asked = options->coils.maps == MAPS_FILE && options->data.kspace == KSPACE_MEASURED;
  if (!asked || volume->coils == 1 || !store_has(store, key)) return true;
  if (!store_shape(store, key, &shape, error) || !store_check_held(store, key, error)) return false;
  if (shape.rank != 4 || !shape.complex)
    return fail_file(error, "%s in %s has %zu axes of %s numbers; it must hold complex ones [slices, coils, height, width]",
                     key, volume->path, (size_t)shape.rank, shape.complex ? "complex" : "real");
  volume->map_slices = shape.size[0];
  volume->map_coils = shape.size[1];
  volume->map_height = shape.size[2];
  volume->map_width = shape.size[3];
  return true;
}

enum { NOISE_MOST = 1 << 14 }; /* samples that tell a covariance well enough: they are read with every slice */

/* A scan of noise, [coils, samples]. */
static bool read_noise(struct store *store, struct volume *volume, const struct options *options, struct error *error) {
  struct store_shape shape;
  bool asked = options->coils.whiten == WHITEN_NOISE && volume->from_kspace && volume->coils > 1;
  if (!asked || !store_has(store, "noise")) return true;
  if (!store_shape(store, "noise", &shape, error) || !store_check_held(store, "noise", error)) return false;
  if (shape.rank != 2 || !shape.complex)
    return fail_file(error, "noise in %s has %zu axes of %s numbers; it must hold complex ones [coils, samples]",
                     volume->path, (size_t)shape.rank, shape.complex ? "complex" : "real");
  volume->noise_coils = shape.size[0];
  volume->noise_samples = shape.size[1] < NOISE_MOST ? shape.size[1] : NOISE_MOST;
  return true;
}

static bool describe(void *file, struct volume *volume, const struct options *options, struct error *error) {
  struct store *store = file;
  bool kspace = options->data.kspace == KSPACE_MEASURED || options->data.crop != CROP_IMAGE;
  uint32_t source = kspace ? SOURCE_KSPACE : options->data.source;
  if (!choose_key(store, volume, source, error) || !check_facts(store, error)) return false;
  struct layout_header header = {0};
  if (volume->from_kspace) header = layout_header(store);
  if (!read_shape(store, volume, &header, error)) return false;
  if (!volume_check_sizes(volume, error) || !store_check_held(store, volume->key, error)) return false;
  if (!read_maps(store, volume, options, error) || !read_noise(store, volume, options, error)) return false;
  volume->said_height = header.recon_x;
  volume->said_width = header.recon_y;
  store_word(store, "acquisition", volume->acquisition, sizeof volume->acquisition);
  read_patient(store, volume);
  read_max(store, volume);
  volume->turned = volume->from_kspace && layout_is_turned(&header, volume->height, volume->width);
  volume->says_padding = layout_padding(&header, volume->width, &volume->padded_left, &volume->padded_right);
  volume->has_mask = store_has(store, "mask");
  volume->has_images = store_has(store, "reconstruction_esc") || store_has(store, "reconstruction_rss");
  return true;
}

static void read_mask(void *file, const struct volume *volume, struct arena *arena, const uint8_t **mask,
                      size_t *entries) {
  struct error ignored;
  void *data;
  if (store_read_all(file, "mask", STORE_U8, volume->height * volume->width, arena, &data, entries, &ignored))
    *mask = data;
}

/* A volume without one is found where slices without label are counted. */
static bool read_label(void *file, const struct volume *volume, const char *name, float *to, struct error *error) {
  struct store_shape shape;
  double number;
  if (!store_check_free(file, name, error)) return false;
  if (store_has(file, name) && store_shape(file, name, &shape, error) && shape.rank)
    return store_read_known(file, name, STORE_F32, volume->slices, to, error);
  if (store_number(file, name, &number))
    for (size_t s = 0; s < volume->slices; s++) to[s] = (float)number;
  return true;
}

/* ---- samples -------------------------------------------------------------------------------------------- */

/* Doubles below the least float are read as zeros. */
static bool check_vanished(struct store *store, const struct volume *volume, const size_t start[],
                           const size_t count[], const float *data, struct error *error) {
  size_t total = volume->height * volume->width;
  double largest = 0;
  for (size_t i = 0; i < total; i++)
    if (fabsf(data[i]) >= FLT_MIN) return true;
  struct arena *arena = arena_open();
  double *wide = arena_try_array(arena, sizeof *wide, total);
  bool good = wide ? store_read(store, volume->key, STORE_F64, start, count, wide, error)
                   : fail_memory(error, "no host memory for a slice of %s", volume->path);
  for (size_t i = 0; good && i < total; i++) largest = fabs(wide[i]) > largest ? fabs(wide[i]) : largest;
  arena_close(arena);
  if (!good || largest == 0) return good;
  return fail_file(
      error,
      "%s in %s holds numbers of at most %.4g in a slice, which vanish in single precision; rescale the file",
      volume->key, volume->path, largest);
}

/* The slice's maps, and the noise of all. */
static bool read_beside(struct store *store, const struct volume *volume, size_t slice, float *to, struct error *error) {
  const size_t start[4] = {slice, 0, 0, 0}, count[4] = {1, volume->map_coils, volume->map_height, volume->map_width},
               first[2] = {0, 0}, noise[2] = {volume->noise_coils, volume->noise_samples},
               maps = 2 * count[1] * count[2] * count[3];
  return (!maps || store_read(store, "sensitivity_maps", STORE_C64, start, count, to, error)) &&
         (!noise[0] || store_read(store, "noise", STORE_C64, first, noise, to + maps, error));
}

static bool read_slice(void *file, const struct volume *volume, size_t slice, float *to, struct error *error) {
  struct store *store = file;
  size_t start[4] = {slice, 0, 0, 0}, count[4] = {1, volume->height, volume->width, 0};
  struct store_shape shape;
  if (!store_shape(store, volume->key, &shape, error)) return false;
  if (shape.rank == 4) {
    count[1] = volume->coils;
    count[2] = volume->height;
    count[3] = volume->width;
  }
  if (!store_read(store, volume->key, volume->from_kspace ? STORE_C64 : STORE_F32, start, count, to, error))
    return false;
  if (!read_beside(store, volume, slice, to + volume_sample_floats(volume), error)) return false;
  return volume->from_kspace || check_vanished(store, volume, start, count, to, error);
}

const struct volume_format format_hdf5 = {
    .name = "HDF5",
    .ending = ending,
    .images = "as dataset reconstruction_esc [slices, height, width] of an .h5 file",
    .kspace = "as dataset kspace [slices, (coils,) height, width] of an .h5 file",
    .is_hdf5 = true,
    .claims = claims,
    .open = open_file,
    .describe = describe,
    .read = read_slice,
    .read_mask = read_mask,
    .read_label = read_label,
    .is_sound = is_sound,
    .close = close_file,
};
