/* What results, checkpoints and volumes hold, as files of other programs. */
#include "engine/base/text.h"
#include "engine/files/part.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "kernels/kernels.h"
#include "systems/data/dataset.h"
#include "systems/data/format.h"
#include "systems/formats/fourier.h"
#include "systems/sampling/geometry.h"
#include "systems/sampling/mask_file.h"
#include "tools/commands/command.h"
#include "tools/exports/exports.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCENE_MOST = 1 << 16, LINES_MOST = 1 << 20, COLUMNS_MOST = 4096, GROUP = 256 };

struct export {
  struct call *call;
  struct arena *arena;
  const char *path, *to;  /* from where, to where */
  struct store *store;    /* of results and checkpoints */
  struct options options; /* of the scene that they hold */
  struct acquisition acquisition;
  char group[GROUP]; /* "x4_long/random" of results; "": a checkpoint */
  uint32_t row;      /* of the scans */
};

/* ---- what is asked for --------------------------------------------------------------------------------- */

static const char *what_of(const struct export *of) {
  const char *what = call_flag(of->call, "what");
  return what ? what : "";
}

enum { FLAG_MOST = 1000000 };

/* A flag's number, in its unit, times `unit`. */
static bool number_of(const struct call *call, const char *name, double standard, double least, double unit,
                      double *value, struct error *error) {
  const char *text = call_flag(call, name);
  char *end;
  *value = standard * unit;
  if (!text) return true;
  double number = strtod(text, &end);
  *value = number * unit;
  if (*text && !*end && number >= least && number <= FLAG_MOST) return true;
  return fail_usage(error, "--%s is '%s'; it must be a number from %g to %d", name, text, least, FLAG_MOST);
}

static bool read_plan(const struct call *call, struct pulseq_plan *plan, struct error *error) {
  return number_of(call, "tr", 20, 1e-3, 1e-3, &plan->repetition, error) &&
         number_of(call, "te", 8, 1e-3, 1e-3, &plan->echo, error) &&
         number_of(call, "flip", 15, 1e-3, 1, &plan->flip, error) &&
         number_of(call, "fov", 256, 1e-3, 1e-3, &plan->view, error) &&
         number_of(call, "thickness", 5, 1e-3, 1e-3, &plan->slice, error) &&
         number_of(call, "dwell", 25, 1e-3, 1e-6, &plan->dwell, error) &&
         number_of(call, "max-gradient", 30, 1e-3, 1e-3, &plan->gradient, error) &&
         number_of(call, "max-slew", 120, 1e-3, 1, &plan->slew, error) &&
         number_of(call, "rf-dead", 100, 0, 1e-6, &plan->rf_dead, error) &&
         number_of(call, "rf-ringdown", 30, 0, 1e-6, &plan->rf_ringdown, error) &&
         number_of(call, "adc-dead", 10, 0, 1e-6, &plan->adc_dead, error);
}

static bool export_as(const struct export *of, const struct exported *array, struct error *error) {
  if (!export_array(of->to, array, error)) return false;
  printf("%s: %s of %s, [", text_shown(of->arena, of->to), array->name, text_shown(of->arena, of->path));
  for (size_t i = 0; array->letters[i]; i++) printf(i ? ", %zu" : "%zu", array->size[i]);
  printf("] %s\n", array->complex ? "complex64" : "float32");
  return true;
}

/* ---- a volume ------------------------------------------------------------------------------------------ */

/* k-space as its image: the root-sum-of-squares, cut to the size that the file says. */
static bool image_of(const struct volume *volume, float *kspace, float *image, struct error *error) {
  size_t height = volume->height, width = volume->width, top = (height - volume->image_height) / 2,
         left = (width - volume->image_width) / 2;
  for (size_t c = 0; c < volume->coils; c++)
    if (!fourier_plane(kspace + 2 * c * height * width, height, width, true, error)) return false;
  for (size_t i = 0; i < volume->image_height * volume->image_width; i++) {
    size_t place = (top + i / volume->image_width) * width + left + i % volume->image_width;
    double sum = 0;
    for (size_t c = 0; c < volume->coils; c++) {
      const float *pair = kspace + 2 * (c * height * width + place);
      sum += (double)pair[0] * pair[0] + (double)pair[1] * pair[1];
    }
    image[i] = (float)sqrt(sum);
  }
  return true;
}

static bool read_volume(const struct export *of, struct volume *volume, void *file, bool images, float *to,
                        struct error *error) {
  size_t count = volume_sample_floats(volume), pixels = volume->image_height * volume->image_width;
  float *slice = arena_try_array(of->arena, sizeof *slice, volume_slice_floats(volume));
  if (!slice) return fail_memory(error, "no host memory for a slice of %s", volume->path);
  for (size_t s = 0; s < volume->slices; s++) {
    if (!volume_read(file, volume, s, slice, error)) return fail_in(error, "slice %zu", s);
    if (images && volume->from_kspace) {
      if (!image_of(volume, slice, to + s * pixels, error)) return false;
    } else {
      memcpy(to + s * count, slice, count * sizeof *slice);
    }
  }
  return true;
}

/* Of coil sensitivities and noise as they lie in a volume of fastMRI's format. */
static bool export_stored(const struct export *of, const char *name, const char *letters, int rank,
                          struct error *error) {
  struct store *store;
  struct store_shape shape;
  struct exported array = {.name = name, .letters = letters, .complex = true};
  const size_t start[4] = {0};
  if (!store_open(&store, of->path, error)) return false;
  bool good = store_has(store, name) || fail_file(error, "%s has no dataset %s", of->path, name);
  good = good && store_shape(store, name, &shape, error) && store_check_held(store, name, error);
  if (good && !(shape.rank == rank && shape.complex))
    good = fail_file(error, "%s of %s is no array of %d axes of complex numbers", name, of->path, rank);
  size_t count = 1;
  for (int i = 0; good && i < rank; i++) count *= array.size[i] = shape.size[i];
  float *data = good ? arena_try_array(of->arena, 2 * sizeof *data, count) : NULL;
  if (good && !data) good = fail_memory(error, "no host memory for %zu numbers", count);
  good = good && store_read(store, name, STORE_C64, start, array.size, data, error);
  store_close(store);
  array.data = data;
  return good && export_as(of, &array, error);
}

static bool export_samples(const struct export *of, struct volume *volume, void *file, struct error *error) {
  const char *what = what_of(of);
  bool images = !volume->from_kspace || !strcmp(what, "image"), coils = !images && volume->coils > 1;
  struct exported array = {
      .name = images ? "image" : "kspace", .letters = coils ? "schw" : "shw", .complex = !images};
  size_t height = images ? volume->image_height : volume->height,
         width = images ? volume->image_width : volume->width, numbers;
  if (!strcmp(what, "kspace") && images)
    return fail_usage(error, "%s holds images, and --what kspace asks for k-space; leave it out", of->path);
  const size_t size[2][4] = {{volume->slices, height, width}, {volume->slices, volume->coils, height, width}};
  memcpy(array.size, size[coils], sizeof array.size);
  numbers = volume->slices * (images ? 1 : 2 * volume->coils) * height * width;
  float *data = arena_try_array(of->arena, sizeof *data, numbers);
  array.data = data;
  if (!data) return fail_memory(error, "no host memory for %zu slices of %s", volume->slices, of->path);
  return read_volume(of, volume, file, images, data, error) && export_as(of, &array, error);
}

static bool export_volume(struct export *of, struct error *error) {
  const char *what = what_of(of);
  struct volume volume = volume_of(of->path);
  struct options options = of->call->options;
  void *file;
  if (!strcmp(what, "maps")) return export_stored(of, "sensitivity_maps", "schw", 4, error);
  if (!strcmp(what, "noise")) return export_stored(of, "noise", "hw", 2, error);
  if (*what && strcmp(what, "kspace") != 0 && strcmp(what, "image") != 0)
    return fail_usage(
        error, "--what %s of a volume; it has image, kspace, maps (dataset sensitivity_maps) or noise", what);
  options.data.size = option_square(4);
  options.data.pad = 4;
  if (!strcmp(what, "kspace") && volume.format->is_hdf5) options.data.source = SOURCE_KSPACE;
  if (!volume_open(&volume, &options, error) || !volume_file_open(&file, &volume, error)) return false;
  bool good = export_samples(of, &volume, file, error);
  volume_file_close(file, &volume);
  return good;
}

/* ---- masks --------------------------------------------------------------------------------------------- */

/* Actions in the order in which they are acquired: first those that are given, then the scan's own as they
 * were chosen. */
static size_t sort_actions(const struct export *of, const uint8_t *value, const uint32_t *action,
                           size_t actions, uint32_t *order) {
  size_t all = of->acquisition.shape.actions, count = 0;
  uint8_t *chosen = ARENA_NEW(of->arena, uint8_t, all);
  for (size_t i = 0; i < actions; i++)
    if (action[i] < all) chosen[action[i]] = 1;
  for (uint32_t a = 0; a < all; a++)
    if (value[a] && !chosen[a]) order[count++] = a;
  for (size_t i = 0; i < actions && count < all; i++)
    if (action[i] < all && value[action[i]]) order[count++] = action[i];
  return count;
}

static bool is_of_columns(const struct exported_mask *mask) {
  for (size_t y = 1; y < mask->height; y++)
    if (memcmp(mask->value, mask->value + y * mask->width, mask->width) != 0) return false;
  return true;
}

/* Where the cells are whole columns, these in the order of their actions: of pairs one after the other. */
static void order_columns(const struct export *of, struct exported_mask *mask, const uint32_t *sorted,
                          size_t count) {
  const struct geometry *geometry = geometry_of(&of->acquisition);
  const struct scan_shape *shape = &of->acquisition.shape;
  size_t entries = geometry_cells(shape);
  uint32_t *cell = ARENA_NEW(of->arena, uint32_t, entries),
           *order = ARENA_NEW(of->arena, uint32_t, mask->width);
  mask->columns = true;
  mask->order = order;
  for (size_t a = 0; a < count; a++) {
    geometry->cells(shape, sorted[a], cell);
    for (size_t i = 0; i < entries && cell[i] != NO_CELL; i++)
      if (cell[i] < mask->width && mask->count < mask->width) order[mask->count++] = cell[i];
  }
}

/* The name of the volume of a row, and the slice's number in it. */
static bool read_place(struct export *of, size_t row, const char **name, size_t *number, struct error *error) {
  char *names = ARENA_NEW(of->arena, char, LINES_MOST);
  void *volumes, *numbers;
  size_t count, total;
  if (!store_text(of->store, "volume_names", names, LINES_MOST))
    return fail_file(error, "%s does not say which volumes it is of", of->path);
  if (!store_read_all(of->store, "slice/volume", STORE_U32, LINES_MOST, of->arena, &volumes, &count, error) ||
      !store_read_all(of->store, "slice/number", STORE_U32, LINES_MOST, of->arena, &numbers, &total, error))
    return false;
  if (!count || total != count) return fail_file(error, "%s holds no slices", of->path);
  row %= count; /* of several scans of a slice each has its row */
  const char *line = names;
  for (uint32_t v = 0; v < ((uint32_t *)volumes)[row] && line; v++)
    line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
  *number = ((uint32_t *)numbers)[row];
  *name = arena_text(of->arena, "%.*s", line ? (int)strcspn(line, "\n") : 0, line ? line : "");
  return true;
}

/* Where a mask comes from: of results the sampler, the row and its slice. */
static const char *mask_source(struct export *of) {
  struct error ignored; /* a result without names of volumes */
  const char *volume, *path = text_shown(of->arena, of->path);
  size_t number;
  if (!of->group[0]) return path;
  const char *row = arena_text(of->arena, "%s, %s, row %u", path, text_shown(of->arena, of->group), of->row);
  if (!read_place(of, of->row, &volume, &number, &ignored)) return row;
  return arena_text(of->arena, "%s (slice %zu of %s)", row, number, text_shown(of->arena, volume));
}

/* Writes the mask of actions by their cells; what acquires whole columns, as columns. */
static bool write_mask(struct export *of, const uint8_t *value, const uint32_t *action, size_t actions,
                       struct error *error) {
  const struct geometry *geometry = geometry_of(&of->acquisition);
  const struct scan_shape *shape = &of->acquisition.shape;
  uint8_t *cells = ARENA_NEW(of->arena, uint8_t, scan_shape_pixels(shape));
  uint32_t *sorted = ARENA_NEW(of->arena, uint32_t, shape->actions);
  struct exported_mask mask = {
      .of = mask_source(of), .height = shape->height, .width = shape->width, .value = cells};
  struct pulseq_plan plan;
  size_t count = sort_actions(of, value, action, actions, sorted);
  geometry_mask(geometry, shape, value, cells);
  if (is_of_columns(&mask)) order_columns(of, &mask, sorted, count);
  if (!read_plan(of->call, &plan, error) || !export_mask(of->to, &mask, &plan, error)) return false;
  printf("%s: mask of %s, %zu of %u %ss\n", text_shown(of->arena, of->to), mask.of, count, shape->actions,
         geometry->one);
  return true;
}

/* A text of numbers, whose count is that of columns. */
static bool export_text(struct export *of, struct error *error) {
  uint32_t rows = 0;
  size_t count;
  uint8_t *value = ARENA_NEW(of->arena, uint8_t, COLUMNS_MOST);
  if (!mask_file_count(of->path, value, COLUMNS_MOST, &count, error)) return false;
  rows = (uint32_t)count;
  if (!call_number(of->call, "height", 1, COLUMNS_MOST, &rows, error)) return false;
  of->acquisition.shape =
      (struct scan_shape){.height = rows, .width = (uint32_t)count, .actions = (uint32_t)count};
  of->acquisition.geometry = GEOMETRY_LINES;
  return write_mask(of, value, NULL, 0, error);
}

/* ---- results and checkpoints --------------------------------------------------------------------------- */

static bool read_scene(struct export *of, struct error *error) {
  char *text = ARENA_NEW(of->arena, char, SCENE_MOST);
  option_defaults(&option_table, &of->options, of->arena);
  if (!store_text(of->store, "scene", text, SCENE_MOST))
    return fail_file(error, "%s holds no scene: it is no result or checkpoint of this program", of->path);
  if (!scene_read_text(&option_table, &of->options, of->arena, text, NULL, error))
    return fail_in(error, "the scene in %s", of->path);
  of->acquisition = acquisition_of(&of->options, 1, "");
  return true;
}

struct search {
  char first[GROUP], *all;
  size_t used, count;
};

static void see_mask(const char *name, void *context) {
  struct search *search = context;
  size_t length = strlen(name);
  if (length < 6 || strcmp(name + length - 5, "/mask") != 0 || length - 5 >= GROUP) return;
  if (!search->count++) snprintf(search->first, GROUP, "%.*s", (int)(length - 5), name);
  if (search->used < 600)
    search->used += (size_t)snprintf(search->all + search->used, 900 - search->used, "%s%.200s",
                                     search->used ? ", " : "", name);
}

/* The SETTING/SAMPLER that is asked for, or the only one. */
static bool choose_group(struct export *of, struct error *error) {
  struct search search = {.all = ARENA_NEW(of->arena, char, 1000)};
  const char *wanted = call_flag(of->call, "result");
  if (!store_list(of->store, see_mask, &search, error)) return false;
  if (!wanted && store_has(of->store, "mask")) return true;
  if (!wanted && !search.count)
    return fail_file(error, "%s holds no mask: it is no result, and no checkpoint of what learns a mask",
                     of->path);
  if (!wanted && search.count > 1)
    return fail_usage(error, "%s holds several results; choose one by --result: %s (without /mask)", of->path,
                      search.all);
  snprintf(of->group, sizeof of->group, "%s", wanted ? wanted : search.first);
  if (store_has(of->store, arena_text(of->arena, "%s/mask", of->group))) return true;
  return fail_usage(error, "%s has no result %s; it has %s (without /mask)", of->path, of->group, search.all);
}

/* One row of a dataset [rows][entries]. */
static bool read_row(const struct export *of, const char *name, enum store_type type, size_t row, void **data,
                     size_t *entries, struct error *error) {
  struct store_shape shape;
  if (!store_shape(of->store, name, &shape, error) || !store_check_held(of->store, name, error)) return false;
  if (shape.rank != 2 || shape.size[1] > LINES_MOST)
    return fail_file(error, "%s of %s is no table of rows", name, of->path);
  if (row >= shape.size[0])
    return fail_usage(error, "--row is %zu; %s of %s has rows 0 to %zu", row, name, of->path,
                      shape.size[0] - 1);
  const size_t start[2] = {row, 0}, count[2] = {1, shape.size[1]};
  *data = arena_new_array(of->arena, type == STORE_U32 ? 4 : 1, *entries = shape.size[1]);
  return store_read(of->store, name, type, start, count, *data, error);
}

static bool read_chosen(struct export *of, uint8_t **value, uint32_t **action, size_t *actions,
                        struct error *error) {
  size_t entries, total;
  void *data;
  *actions = 0;
  *action = NULL;
  if (!of->group[0]) {
    bool good = store_read_all(of->store, "mask", STORE_U8, LINES_MOST, of->arena, &data, &total, error);
    entries = total;
    *value = data;
    if (!good) return false;
  } else {
    const char *name = arena_text(of->arena, "%s/action", of->group);
    if (!read_row(of, arena_text(of->arena, "%s/mask", of->group), STORE_U8, of->row, &data, &entries, error))
      return false;
    *value = data;
    if (store_has(of->store, name)) {
      if (!read_row(of, name, STORE_U32, of->row, &data, actions, error)) return false;
      *action = data;
    }
  }
  return entries == of->acquisition.shape.actions ||
         fail_file(error, "the mask of %s has %zu entries, and its scene %u actions; the file is damaged",
                   of->path, entries, of->acquisition.shape.actions);
}

/* Images that results hold: all of a sampler's, or the truth. */
static bool export_images(struct export *of, bool truth, struct error *error) {
  bool kept = store_has(of->store, "kept/image");
  const char *name = truth ? kept ? "kept/image" : "slice/image"
                           : arena_text(of->arena, "%s/%s", of->group, kept ? "kept" : "reconstruction");
  struct exported array = {.name = truth ? "image" : "reconstruction", .letters = "shw"};
  const size_t start[3] = {0};
  struct store_shape shape;
  if (call_flag(of->call, "row"))
    return fail_usage(error, "--row is of masks, zero_filled, kspace and maps; the %s of all rows that %s keeps is written: "
                             "leave --row out, and take the row from that",
                      array.name, of->path);
  if (!store_has(of->store, name))
    return fail_file(error,
                     "%s holds no images; evaluate with --set evaluate.images=true, or --set "
                     "evaluate.keep=[0,12] for two rows",
                     of->path);
  if (!store_shape(of->store, name, &shape, error) || !store_check_held(of->store, name, error)) return false;
  if (shape.rank != 3) return fail_file(error, "%s of %s is no stack of images", name, of->path);
  memcpy(array.size, shape.size, sizeof array.size);
  float *data = arena_try_array(of->arena, sizeof *data * shape.size[0], shape.size[1] * shape.size[2]);
  array.data = data;
  if (!data) return fail_memory(error, "no host memory for the images of %s", of->path);
  return store_read(of->store, name, STORE_F32, start, shape.size, data, error) &&
         export_as(of, &array, error);
}

/* ---- k-space of results -------------------------------------------------------------------------------- */

/* The data set that was evaluated, or where it is now. */
static bool open_data(struct export *of, struct dataset *dataset, struct error *error) {
  const char *data = call_flag(of->call, "data");
  const struct options *options = &of->options;
  if (data) of->options.data.path = data;
  if (options->coils.simulate || options->coils.compress || options->coils.whiten != WHITEN_NONE)
    return fail_usage(error,
                      "the coils of %s were simulated, compressed or whitened, which is done on the device; "
                      "export the k-space of the volumes instead "
                      "(`l2sr export VOLUME.h5 --what kspace`)",
                      of->path);
  return dataset_open(dataset, &of->options, error) ||
         fail_in(error, "the data of %s (--data says where they are now)", of->path);
}

/* Which slice of the data set stands in the row: by the name of its volume and its number. */
static bool find_slice(struct export *of, const struct dataset *dataset, size_t row,
                       const struct volume **volume, size_t *number, struct error *error) {
  const char *wanted;
  if (!read_place(of, row, &wanted, number, error)) return false;
  for (size_t v = 0; v < dataset->volume_count; v++) {
    *volume = &dataset->volumes[v];
    if (!strcmp(text_shown(of->arena, (*volume)->name), wanted) && *number < (*volume)->slices) return true;
  }
  return fail_file(error,
                   "the volume %s of %s is not in the data set; give the folder of its data by --data",
                   wanted, of->path);
}

/* Padded and cropped as the scene has it, real and imaginary parts each. */
static bool crop_coil(const struct export *of, const float *pairs, size_t height, size_t width, float *to,
                      struct error *error) {
  const struct scan_shape *shape = &of->acquisition.shape;
  size_t pixels = scan_shape_pixels(shape);
  struct arena *arena = arena_open();
  float *part = arena_try_array(arena, sizeof *part, height * width),
        *cut = arena_try_array(arena, sizeof *part, pixels);
  bool good = (part && cut) || fail_memory(error, "no host memory for a slice");
  for (int p = 0; good && p < 2; p++) {
    for (size_t i = 0; i < height * width; i++) part[i] = pairs[2 * i + (size_t)p];
    volume_crop(part, height, width, of->options.data.pad, shape, cut);
    for (size_t i = 0; i < pixels; i++) to[2 * i + (size_t)p] = (float)(cut[i] / of->options.data.scale);
  }
  arena_close(arena);
  return good;
}

/* The middle of an image of pairs. */
static void cut_image(const float *from, size_t width, const struct volume *volume, float *to) {
  size_t height = volume->kspace_height ? volume->kspace_height : volume->height,
         top = (height - volume->image_height) / 2, left = (width - volume->image_width) / 2;
  for (size_t y = 0; y < volume->image_height; y++)
    memcpy(to + 2 * y * volume->image_width, from + 2 * ((top + y) * width + left),
           2 * sizeof *to * volume->image_width);
}

/* PROTOCOL 1.2: images of a slice's coils (of a magnitude image the one), cropped, and their k-space. */
static bool make_kspace(const struct export *of, const struct volume *volume, const float *slice, float *to,
                        struct error *error) {
  size_t plane = volume->height * volume->width, pixels = scan_shape_pixels(&of->acquisition.shape),
         inner = volume->image_height * volume->image_width;
  size_t height = volume->kspace_height ? volume->kspace_height : volume->height,
         width = volume->kspace_height ? volume->kspace_width : volume->width;
  bool measured = of->options.data.kspace == KSPACE_MEASURED;
  float *cut = ARENA_NEW(of->arena, float, 2 * volume->coils * (plane > inner ? plane : inner)),
        *image = ARENA_NEW(of->arena, float, 2 * inner), *middle = ARENA_NEW(of->arena, float, 2 * inner);
  if (volume->from_kspace && volume->kspace_height)
    volume_crop_kspace(volume, slice, cut);
  else if (volume->from_kspace)
    memcpy(cut, slice, 2 * sizeof *cut * volume->coils * plane);
  for (size_t c = 0; c < volume->coils; c++) {
    float *coil = cut + 2 * c * height * width;
    if (volume->from_kspace && !fourier_plane(coil, height, width, true, error)) return false;
    if (volume->from_kspace) cut_image(coil, width, volume, middle);
    for (size_t i = 0; i < inner; i++) {
      const double real = volume->from_kspace ? middle[2 * i] : slice[i],
                   imaginary = volume->from_kspace ? middle[2 * i + 1] : 0;
      if (measured) {
        image[2 * i] = (float)real;
        image[2 * i + 1] = (float)imaginary;
      } else {
        image[2 * i] = volume->from_kspace ? (float)sqrt((c ? (double)image[2 * i] * image[2 * i] : 0) +
                                                         real * real + imaginary * imaginary)
                                           : (float)real;
      }
    }
    if (measured || c + 1 == volume->coils) {
      float *own = to + (measured ? 2 * c * pixels : 0);
      if (!crop_coil(of, image, volume->image_height, volume->image_width, own, error) ||
          !fourier_plane(own, of->acquisition.shape.height, of->acquisition.shape.width, false, error))
        return false;
    }
  }
  return true;
}

/* Cells that the scan's mask leaves out become 0. */
static void apply_mask(const struct export *of, const uint8_t *value, size_t coils, float *kspace) {
  const struct geometry *geometry = geometry_of(&of->acquisition);
  const struct scan_shape *shape = &of->acquisition.shape;
  size_t pixels = scan_shape_pixels(shape);
  uint8_t *cells = ARENA_NEW(of->arena, uint8_t, pixels);
  if (geometry->columns)
    for (size_t i = 0; i < pixels; i++) cells[i] = value[i % shape->width];
  else
    geometry_mask(geometry, shape, value, cells);
  for (size_t i = 0; i < coils * pixels; i++)
    if (!cells[i % pixels]) kspace[2 * i] = kspace[2 * i + 1] = 0;
}

static bool write_kspace(struct export *of, const struct volume *volume, float *kspace, size_t coils,
                         bool filled, struct error *error) {
  const struct scan_shape *shape = &of->acquisition.shape;
  struct volume image = *volume;
  image.coils = coils;
  image.height = image.image_height = shape->height;
  image.width = image.image_width = shape->width;
  float *zero_filled = ARENA_NEW(of->arena, float, scan_shape_pixels(shape));
  if (filled && !image_of(&image, kspace, zero_filled, error)) return false;
  const struct exported plain = {"zero_filled", "hw", {shape->height, shape->width}, false, zero_filled},
                        one = {"kspace", "hw", {shape->height, shape->width}, true, kspace},
                        many = {"kspace", "chw", {coils, shape->height, shape->width}, true, kspace};
  return export_as(of, filled ? &plain : coils > 1 ? &many : &one, error);
}

static bool export_kspace(struct export *of, const uint8_t *value, bool filled, struct error *error) {
  const struct volume *volume = NULL;
  struct dataset dataset;
  size_t number = 0;
  void *file;
  if (!open_data(of, &dataset, error)) return false;
  bool good =
      find_slice(of, &dataset, of->row, &volume, &number, error) && volume_file_open(&file, volume, error);
  if (good) {
    size_t coils = of->options.data.kspace == KSPACE_MEASURED ? volume->coils : 1;
    float *slice = arena_try_array(of->arena, sizeof *slice, volume_slice_floats(volume)),
          *kspace = arena_try_array(of->arena, 2 * sizeof *slice * coils,
                                    scan_shape_pixels(&of->acquisition.shape));
    good = (slice && kspace) || fail_memory(error, "no host memory for a slice of %s", volume->path);
    good = good && volume_read(file, volume, number, slice, error) &&
           make_kspace(of, volume, slice, kspace, error);
    volume_file_close(file, volume);
    if (good) apply_mask(of, value, coils, kspace);
    good = good && write_kspace(of, volume, kspace, coils, filled, error);
  }
  dataset_close(&dataset);
  return good;
}

static bool export_maps_on(struct call *call, struct device *device, struct error *error) {
  const struct export *of = call->own;
  struct exported array;
  return export_maps(device, &of->options, of->row, of->arena, &array, error) && export_as(of, &array, error);
}

static bool export_made_maps(struct export *of, struct error *error) {
  const char *data = call_flag(of->call, "data");
  const struct options *options = &of->options;
  if (data) of->options.data.path = data;
  if (options->coils.maps == MAPS_NONE ||
      (options->data.kspace != KSPACE_MEASURED && !options->coils.simulate))
    return fail_usage(error,
                      "the scene of %s has no coil sensitivities: coils.maps is none, or its k-space that of "
                      "magnitude images",
                      of->path);
  of->call->own = of;
  return call_on_device(of->call, export_maps_on, error);
}

static bool export_result(struct export *of, struct error *error) {
  const char *what = what_of(of);
  uint8_t *value;
  uint32_t *action;
  size_t actions;
  if (!read_scene(of, error)) return false;
  if (!strcmp(what, "maps")) return export_made_maps(of, error);
  if (!choose_group(of, error)) return false;
  if (!strcmp(what, "reconstruction") || !strcmp(what, "image"))
    return export_images(of, !strcmp(what, "image"), error);
  if (!read_chosen(of, &value, &action, &actions, error)) return false;
  if (!*what || !strcmp(what, "mask")) return write_mask(of, value, action, actions, error);
  bool filled = !strcmp(what, "zero_filled");
  if (of->group[0] && (filled || !strcmp(what, "kspace"))) return export_kspace(of, value, filled, error);
  return fail_usage(
      error,
      of->group[0]
          ? "--what %s of results; they have mask, reconstruction, image, zero_filled, kspace and maps"
          : "--what %s of a checkpoint; it has a mask",
      what);
}

/* ---- the command --------------------------------------------------------------------------------------- */

/* Results and checkpoints hold a scene; what else is HDF5 is a volume. */
static bool export_file(struct export *of, struct error *error) {
  char word[8];
  if (export_ends_in(of->path, ".txt")) return export_text(of, error);
  if (!export_ends_in(of->path, ".h5")) return export_volume(of, error);
  if (!store_open(&of->store, of->path, error)) return false;
  bool ours = store_has_value(of->store, "scene") && store_word(of->store, "version", word, sizeof word);
  bool good = !ours || export_result(of, error);
  store_close(of->store);
  return ours ? good : export_volume(of, error);
}

static bool run_export(struct call *call, struct error *error) {
  struct export *of = ARENA_NEW(call->arena, struct export, 1);
  const char *path = call->operand[0];
  *of = (struct export){.call = call, .arena = call->arena, .path = path, .to = call_flag(call, "output")};
  if (!of->to)
    return fail_usage(error, "no file to write; give --output FILE, whose end says its kind: .npy, .cfl, "
                             ".nii, .nii.gz, .mat, of a mask also .txt, .png, .py, .seq");
  if (folder_is_there(path)) of->path = arena_text(call->arena, "%s/results.h5", path);
  return call_number(call, "row", 0, 100000000, &of->row, error) && export_file(of, error);
}

static const struct flag flags[] = {
    {"output", "FILE", NULL, "file to write; its end says its kind"},
    {"what", "W", NULL,
     "of results mask (the default), zero_filled, kspace or maps of a row, reconstruction or image (the truth) of "
     "all rows that are kept; of a volume image, kspace, maps or noise"},
    {"result", "GROUP", NULL, "which result of several, as x4_long/random"},
    {"row", "I", NULL, "scan whose mask, zero-filled image, k-space or maps are written (default: 0)"},
    {"data", "DIR", NULL, "where the data of results are, if no longer where they were"},
    {"height", "N", NULL, "readout samples of a mask that is a text (default: its columns)"},
    {"tr", "MS", NULL, "Pulseq: repetition time (default: 20)"},
    {"te", "MS", NULL, "Pulseq: echo time (default: 8)"},
    {"flip", "DEG", NULL, "Pulseq: flip angle (default: 15)"},
    {"fov", "MM", NULL, "Pulseq: field of view (default: 256)"},
    {"thickness", "MM", NULL, "Pulseq: thickness of the slice (default: 5)"},
    {"dwell", "US", NULL, "Pulseq: time of a readout sample (default: 25)"},
    {"max-gradient", "MT/M", NULL, "Pulseq: largest gradient of the system (default: 30)"},
    {"max-slew", "T/M/S", NULL, "Pulseq: largest slew rate of the system (default: 120)"},
    {"rf-dead", "US", NULL, "Pulseq: time before a pulse (default: 100)"},
    {"rf-ringdown", "US", NULL, "Pulseq: time after a pulse (default: 30)"},
    {"adc-dead", "US", NULL, "Pulseq: time before and after a readout (default: 10)"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_export = {
    .name = "export",
    .operands = "FILE",
    .doc = "writes masks, images and k-space for BART, numpy, NIfTI, MATLAB, fastMRI and Pulseq",
    .more = "FILE is results.h5 (or its folder), a checkpoint with a mask, a mask as text, or a volume of "
            "any format that is read. A mask "
            "becomes text (.txt), a picture (.png), an array (.npy, .mat, .nii), BART's pattern (.cfl), a "
            "mask function of fastMRI (.py) or a "
            "2-D gradient-echo sequence of Pulseq 1.4 (.seq), which acquires the lines in the order in which "
            "the scan did.",
    .operands_least = 1,
    .operands_most = 1,
    .flags = flags,
    .run = run_export,
};
