/* Shows what a file or a folder of volumes holds, and what a scene would take of it. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "systems/data/doubts.h"
#include "engine/files/store.h"
#include "systems/data/foreign.h"
#include "systems/data/format.h"
#include "systems/data/layout.h"
#include "systems/data/listing.h"
#include "systems/data/patients.h"
#include "systems/data/probe.h"
#include "tools/commands/command.h"
#include "tools/commands/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void json_member(const char *name, const char *text) {
  printf(",\"%s\":", name);
  json_text(stdout, text);
}

/* An image that is smaller than the scene's where padding does not help. */
static bool is_small(const struct volume *volume, const struct options *options) {
  const struct scan_shape shape = scan_shape_of(options);
  size_t pad = options->data.pad;
  return (volume->image_height < shape.height && pad < shape.height) ||
         (volume->image_width < shape.width && pad < shape.width);
}

static uint32_t longer_side(const struct options *options) {
  const struct scan_shape shape = scan_shape_of(options);
  return shape.height > shape.width ? shape.height : shape.width;
}

static const char *size_text(const struct options *options, char text[SCAN_SHAPE_TEXT]) {
  const struct scan_shape shape = scan_shape_of(options);
  return scan_shape_text(&shape, text);
}

/* The options with enough padding that no volume is refused for its size: that is reported, not refused. */
static struct options with_padding(const struct options *options) {
  struct options padded = *options;
  if (padded.data.pad < longer_side(options)) padded.data.pad = longer_side(options);
  return padded;
}

static const char *shape_text(struct arena *arena, const struct store_shape *shape) {
  const char *text = shape->rank ? "" : "scalar";
  for (int i = 0; i < shape->rank; i++)
    text = arena_text(arena, "%s%s%zu", text, i ? "x" : "", shape->size[i]);
  return text;
}

/* ---- one file: what is stored -------------------------------------------------------------------------- */

struct view {
  struct arena *arena;
  struct store *store;
  bool json;
};

static void see_dataset(const char *name, void *context) {
  const struct view *view = context;
  struct store_shape shape;
  struct error error = {.text = ""};
  char layout[256], type[256];
  const char *size = "";
  if (store_shape(view->store, name, &shape, &error)) size = shape_text(view->arena, &shape);
  store_type_words(view->store, name, type, sizeof type);
  store_layout(view->store, name, layout, sizeof layout);
  if (!view->json) {
    printf("  %-20s %-16s %-18s %s%s%s\n", text_shown(view->arena, name), text_shown(view->arena, type), size,
           layout, error.text[0] ? ": " : "", text_shown(view->arena, error.text));
    return;
  }
  printf("{\"type\":\"dataset\"");
  json_member("name", name);
  json_member("element", type);
  json_member("shape", size);
  json_member("layout", layout);
  printf("}\n");
}

static void show_texts(const struct view *view) {
  static const char *const names[] = {"acquisition", "patient_id"};
  char text[256];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bool there = store_word(view->store, names[i], text, sizeof text);
    if (!view->json)
      printf("  %-20s %s\n", names[i], there ? text_shown(view->arena, text) : "-");
    else if (there)
      json_member(names[i], text);
  }
}

static void show_numbers(const struct view *view) {
  static const char *const names[] = {"max", "norm"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    double value;
    bool there = store_number(view->store, names[i], &value);
    if (!view->json) {
      printf(there ? "  %-20s %.9g\n" : "  %-20s -\n", names[i], value);
    } else if (there) {
      printf(",\"%s\":", names[i]);
      json_number(stdout, value);
    }
  }
}

static void show_header(const struct view *view) {
  struct layout_header header = layout_header(view->store);
  size_t x = header.recon_x, y = header.recon_y;
  bool there = x || y || store_has(view->store, "ismrmrd_header");
  if (view->json) {
    if (there) printf(",\"recon_x\":%zu,\"recon_y\":%zu", x, y);
  } else if (x && y) {
    printf("  %-20s %zux%zu\n", "header recon size", x, y);
  } else {
    printf("  %-20s %s\n", "header recon size", there ? "not in the header" : "no header");
  }
}

static void show_stored(const struct view *view) {
  if (!view->json) printf("datasets\n");
  struct error error;
  if (!store_list(view->store, see_dataset, (void *)view, &error)) log_warning("%s", error.text);
  printf(view->json ? "{\"type\":\"attributes\"" : "attributes\n");
  show_texts(view);
  show_numbers(view);
  show_header(view);
  if (view->json) printf("}\n");
}

/* ---- one file: what its images are --------------------------------------------------------------------- */

struct pixels {
  double largest;
  size_t constant, not_finite; /* slices */
  const char *fault;           /* the fault of the last slice that has one; NULL: none has */
};

static void inspect_slice(const struct volume *volume, const float *image, size_t count,
                          struct pixels *pixels) {
  bool finite = true, equal = true;
  for (size_t i = 0; i < count; i++) {
    finite &= isfinite(image[i]) != 0;
    if (image[i] > pixels->largest) pixels->largest = image[i];
  }
  const char *fault = volume_fault(image, count, &equal);
  pixels->constant += equal;
  pixels->not_finite += !finite;
  if (fault && (!finite || !volume->from_kspace))
    pixels->fault = fault; /* k-space may be as small as it likes */
}

/* Reads every slice once, so that a file that is broken further back is found out. */
static bool inspect_pixels(void *file, const struct volume *volume, const struct call *call,
                           struct pixels *pixels, struct doubts *doubts, struct error *error) {
  size_t count = volume_slice_floats(volume);
  float *slice = arena_try(call->arena, count * sizeof *slice);
  if (!slice) return fail(error, "no host memory for a slice of %s", volume->path);
  *pixels = (struct pixels){.largest = -INFINITY};
  for (size_t s = 0; s < volume->slices; s++) {
    if (!volume_read(file, volume, s, slice, error)) return fail_in(error, "slice %zu", s);
    inspect_slice(volume, slice, count, pixels);
    doubts_see(doubts, volume, slice);
    if (!volume->from_kspace) doubts_see_crop(doubts, volume, slice, &call->options);
  }
  return true;
}

/* Where the crop starts on an axis after zero-padding. */
static size_t crop_start(size_t size, size_t pad, size_t wanted) {
  size_t padded = size < pad ? pad : size;
  return (padded - wanted) / 2;
}

static void print_crop(const struct volume *volume, const struct options *options) {
  size_t h = volume->image_height, w = volume->image_width, pad = options->data.pad;
  const struct scan_shape shape = scan_shape_of(options);
  char size[SCAN_SHAPE_TEXT];
  printf("  crop to data.size    ");
  if (is_small(volume, options)) {
    size_t side = volume_largest_size(volume);
    printf("not possible: smaller than %s; set data.pad to at least %u", scan_shape_text(&shape, size),
           longer_side(options));
    if (volume_takes_size(side)) printf(" or data.size to at most %zu", side);
    putchar('\n');
    return;
  }
  if (h < pad || w < pad) printf("zero-padded to %zux%zu, ", h < pad ? pad : h, w < pad ? pad : w);
  printf("%ux%u from row %zu, column %zu\n", shape.height, shape.width, crop_start(h, pad, shape.height),
         crop_start(w, pad, shape.width));
}

static void print_pixels(const struct volume *volume, const struct pixels *pixels) {
  if (volume->from_kspace)
    printf("  largest pixel        not computed for images from k-space\n");
  else
    printf("  largest pixel        %.9g\n", pixels->largest);
  if (pixels->constant) printf("  constant slices      %zu\n", pixels->constant);
  if (pixels->not_finite) printf("  slices not finite    %zu; the volume is left out\n", pixels->not_finite);
}

static void print_images(const struct volume *volume, const struct options *options,
                         const struct pixels *pixels) {
  char size[SCAN_SHAPE_TEXT];
  printf("images\n  usable               ");
  if (pixels->fault)
    printf("no: it holds %s\n", pixels->fault);
  else
    printf(is_small(volume, options) ? "no: smaller than data.size %s\n" : "yes, with data.size %s\n",
           size_text(options, size));
  if (volume->layout[0]) printf("  file holds           %s\n", volume->layout);
  printf("  come from            %s%s\n", volume->key, volume->from_kspace ? " by inverse transform" : "");
  if (volume->coils > 1) printf("  coils                %zu\n", volume->coils);
  printf("  size                 %zux%zu\n", volume->image_height, volume->image_width);
  printf("  slices               %zu of %zu\n", volume->slice_count, volume->slices);
  print_crop(volume, options);
  print_pixels(volume, pixels);
}

static void print_images_json(const struct volume *volume, const struct options *options,
                              const struct pixels *pixels) {
  const struct scan_shape shape = scan_shape_of(options);
  bool small = is_small(volume, options);
  printf("{\"type\":\"images\",\"usable\":%s,\"from\":\"%s\",\"coils\":%zu,\"height\":%zu,\"width\":%zu,"
         "\"slices\":%zu,\"slices_taken\":%zu,\"small\":%s",
         small || pixels->fault ? "false" : "true", volume->key, volume->coils, volume->image_height,
         volume->image_width, volume->slices, volume->slice_count, small ? "true" : "false");
  if (!small)
    printf(",\"crop_row\":%zu,\"crop_column\":%zu",
           crop_start(volume->image_height, options->data.pad, shape.height),
           crop_start(volume->image_width, options->data.pad, shape.width));
  printf(",\"largest\":");
  json_number(stdout, volume->from_kspace ? NAN : pixels->largest);
  printf(",\"constant\":%zu,\"not_finite\":%zu", pixels->constant, pixels->not_finite);
  if (volume->layout[0]) json_member("layout", volume->layout);
  printf(",\"guessed\":%s}\n", volume->guessed ? "true" : "false");
}

static void print_note(const struct call *call, const char *text) {
  if (!call_flag(call, "json")) {
    printf("  note: %s\n", text_shown(call->arena, text));
    return;
  }
  printf("{\"type\":\"note\"");
  json_member("text", text);
  printf("}\n");
}

static void print_doubts(const struct call *call, const struct doubts *doubts) {
  for (int kind = 0; kind < DOUBT_KINDS; kind++) {
    const char *text = doubts_text(doubts, kind, call->arena);
    if (text) print_note(call, text);
  }
}

/* What a scene would say of a file that was read by a guess. */
static void print_guess(const struct call *call, const struct volume *of, const struct options *options) {
  struct volume volume = volume_of(of->path);
  struct error error;
  if (of->guessed && !volume_open(&volume, options, &error)) print_note(call, error.text);
}

static bool show_images(const struct call *call, const struct volume *of, struct error *error) {
  struct options padded = with_padding(&call->options);
  struct volume volume = *of;
  volume.guesses = true;
  struct pixels pixels;
  struct doubts *doubts = doubts_open(call->arena);
  void *file;
  if (!volume_open(&volume, &padded, error) || !volume_file_open(&file, &volume, error)) return false;
  bool good = inspect_pixels(file, &volume, call, &pixels, doubts, error) &&
              doubts_end(doubts, &volume, &call->options, error);
  volume_file_close(file, &volume);
  if (!good) return false;
  (call_flag(call, "json") ? print_images_json : print_images)(&volume, &call->options, &pixels);
  print_guess(call, &volume, &padded);
  print_doubts(call, doubts);
  return true;
}

static bool inspect_file(struct call *call, const char *path, struct error *error) {
  struct view view = {.arena = call->arena, .json = call_flag(call, "json")};
  const struct volume volume = volume_of(path);
  bool stored = volume.format->is_hdf5;
  bool good = !stored || store_open(&view.store, path, error) || foreign_advise(path, error);
  if (good) {
    if (!view.json) printf("%s\n", text_shown(call->arena, path));
    if (stored) show_stored(&view);
    if (stored) store_close(view.store);
    good = show_images(call, &volume, error);
  }
  if (!good && view.json) {
    printf("{\"type\":\"images\",\"usable\":false");
    json_member("reason", error->text);
    printf("}\n");
  }
  return good;
}

/* ---- a folder ------------------------------------------------------------------------------------------ */

/* One split, or a folder without splits. */
struct part {
  const char *name;
  bool usable;
  struct dataset dataset;
  char complete[65];  /* hash of all names; dataset.hash is of the selected ones */
  struct error error; /* where it is not usable */
};

enum { PARTS = 3 };

struct folder {
  const struct options *options;
  struct arena *arena;
  struct part part[PARTS];
  size_t part_count, volumes; /* volumes of all parts */
  size_t overlap;             /* patients in more than one part */
  const char *example[3];
  bool json;
};

/* A patient of an earlier part. */
static bool note_shared(struct folder *folder, struct part *part) {
  bool good = true;
  for (struct part *other = folder->part; good && other < part; other++) {
    const char *text = other->usable ? patients_shared(folder->arena, &other->dataset, other->name,
                                                       &part->dataset, part->name)
                                     : NULL;
    good = !text || dataset_note(&part->dataset, folder->options, &part->error, "%s", text);
  }
  return good;
}

static void open_part(struct folder *folder, const char *name, uint32_t split) {
  struct part *part = &folder->part[folder->part_count++];
  struct options options = with_padding(folder->options);
  *part = (struct part){.name = name};
  options.data.split = split;
  part->usable = dataset_open(&part->dataset, &options, &part->error);
  if (part->usable && !(dataset_probe(&part->dataset, &options, &part->error) && note_shared(folder, part))) {
    dataset_close(&part->dataset);
    part->usable = false;
  }
  if (!part->usable) return;
  folder->volumes += part->dataset.volume_count;
  memcpy(part->complete, part->dataset.hash, sizeof part->complete);
  if (!part->dataset.by_fraction && !part->dataset.by_limit) return;
  struct dataset complete;
  struct error ignored; /* a file that is open can be opened again */
  options.data.fraction = 1;
  options.data.volumes = 0;
  if (!dataset_open(&complete, &options, &ignored)) return;
  memcpy(part->complete, complete.hash, sizeof part->complete);
  dataset_close(&complete);
}

/* Every split that is there; the folder itself where there is none. */
static void open_parts(struct folder *folder) {
  static const char *const names[] = {"train", "val", "test"};
  const struct options *options = folder->options;
  for (uint32_t s = 0; s < PARTS; s++)
    if ((options->data.split == SPLIT_ALL || options->data.split == s) &&
        (options->data.patient_split || listing_has_split(options, s)))
      open_part(folder, names[s], s);
  if (!folder->part_count) open_part(folder, "folder", options->data.split);
}

struct patient {
  const char *id;
  unsigned parts; /* a bit each */
};

static int compare_patients(const void *a, const void *b) {
  return strcmp(((const struct patient *)a)->id, ((const struct patient *)b)->id);
}

static void count_patient(struct folder *folder, const struct patient *patient) {
  const size_t examples = sizeof folder->example / sizeof *folder->example;
  if (__builtin_popcount(patient->parts) < 2) return;
  if (folder->overlap < examples) folder->example[folder->overlap] = patient->id;
  folder->overlap++;
}

static void count_patients(struct folder *folder) {
  struct patient *list = ARENA_NEW(folder->arena, struct patient, folder->volumes);
  size_t count = 0;
  for (size_t p = 0; p < folder->part_count; p++)
    for (size_t v = 0; v < folder->part[p].dataset.volume_count; v++) {
      const char *id = folder->part[p].dataset.volumes[v].patient;
      if (*id) list[count++] = (struct patient){id, 1u << p};
    }
  qsort(list, count, sizeof *list, compare_patients);
  for (size_t i = 0; i < count; i++)
    if (i + 1 < count && !compare_patients(&list[i], &list[i + 1]))
      list[i + 1].parts |= list[i].parts;
    else
      count_patient(folder, &list[i]);
}

static size_t count_small(const struct folder *folder, const struct dataset *dataset) {
  size_t count = 0;
  for (size_t v = 0; v < dataset->volume_count; v++) count += is_small(&dataset->volumes[v], folder->options);
  return count;
}

/* ---- a folder: the parts ------------------------------------------------------------------------------- */

static void print_volume(struct arena *arena, const struct volume *volume) {
  printf("  %-32s %-18s %4zu of %zu slice%s, %zux%zu  %s\n", text_shown(arena, volume->name), volume->key,
         volume->slice_count, volume->slices, plural(volume->slices), volume->image_height,
         volume->image_width, text_shown(arena, volume->acquisition));
}

/* How many there are, and of how many files where these are others. */
static void print_patients(const struct dataset *dataset) {
  size_t patients = patients_count(dataset), files = dataset->volume_count, missing = 0;
  for (size_t v = 0; v < files; v++) missing += !dataset->volumes[v].patient[0];
  printf("  patients       %zu", patients);
  if (patients != files) printf(" in %zu files", files);
  if (missing)
    printf("; %zu file%s no patient_id, and each counts for a patient", missing,
           missing == 1 ? " says" : "s say");
  putchar('\n');
}

static void print_part(const struct folder *folder, const struct part *part) {
  const struct dataset *dataset = &part->dataset;
  char size[SCAN_SHAPE_TEXT];
  printf("%s\n", part->name);
  if (!part->usable) {
    printf("  cannot be used: %s\n", text_shown(folder->arena, part->error.text));
    return;
  }
  for (size_t v = 0; v < dataset->volume_count; v++) print_volume(folder->arena, &dataset->volumes[v]);
  dataset_print(dataset, stdout);
  size_t small = count_small(folder, dataset);
  if (small)
    printf("  %zu volume%s smaller than data.size %s, refused unless data.pad is at least as large\n", small,
           plural(small), size_text(folder->options, size));
  print_patients(dataset);
  printf("  selection      %s\n", dataset->hash);
  printf("  complete list  %s\n", part->complete);
  for (size_t i = 0; i < dataset->note_count; i++)
    printf("  note: %s\n", text_shown(folder->arena, dataset->notes[i]));
  for (size_t i = 0; i < dataset_skipped(dataset); i++) {
    const char *kind = dataset->skipped[i].kind;
    printf("  %s: %s\n",
           !strcmp(kind, "small")     ? "too small"
           : !strcmp(kind, "written") ? "in use"
           : !strcmp(kind, "ambiguous") ? "several readings"
                                        : kind,
           text_shown(folder->arena, dataset->skipped[i].reason));
  }
}

static void print_volume_json(const struct folder *folder, const struct part *part,
                              const struct volume *volume) {
  printf("{\"type\":\"volume\",\"split\":\"%s\"", part->name);
  json_member("path", volume->path);
  printf(",\"from\":\"%s\",\"slices\":%zu,\"slices_taken\":%zu,\"coils\":%zu,\"height\":%zu,\"width\":%zu,"
         "\"small\":%s",
         volume->key, volume->slices, volume->slice_count, volume->coils, volume->image_height,
         volume->image_width, is_small(volume, folder->options) ? "true" : "false");
  json_member("acquisition", volume->acquisition);
  json_member("patient", volume->patient);
  printf("}\n");
}

static void print_counts_json(const struct folder *folder, const struct part *part) {
  const struct dataset *d = &part->dataset;
  printf(",\"files\":%zu,\"selected\":%zu,\"volumes\":%zu,\"slices\":%zu,\"patients\":%zu,\"small\":%zu,"
         "\"hidden\":%zu,\"not_h5\":%zu,\"by_fraction\":%zu,\"by_limit\":%zu,\"by_acquisition\":%zu,\"by_"
         "patient\":%zu,"
         "\"written\":%zu,\"ambiguous\":%zu,\"broken\":%zu,\"selection\":\"%s\",\"complete\":\"%s\"}\n",
         d->entries, d->selected, d->volume_count, d->slice_count, patients_count(d),
         count_small(folder, d) + d->small, d->hidden, d->not_h5, d->by_fraction, d->by_limit,
         d->by_acquisition, d->by_patient, d->written, d->ambiguous, d->broken, d->hash, part->complete);
}

static void print_part_json(const struct folder *folder, const struct part *part) {
  const struct dataset *dataset = &part->dataset;
  for (size_t v = 0; v < dataset->volume_count; v++) print_volume_json(folder, part, &dataset->volumes[v]);
  for (size_t i = 0; i < dataset->note_count; i++) {
    printf("{\"type\":\"note\",\"split\":\"%s\"", part->name);
    json_member("text", dataset->notes[i]);
    printf("}\n");
  }
  for (size_t i = 0; i < dataset_skipped(dataset); i++) {
    printf("{\"type\":\"%s\",\"split\":\"%s\"", dataset->skipped[i].kind, part->name);
    json_member("path", dataset->skipped[i].path);
    json_member("reason", dataset->skipped[i].reason);
    printf("}\n");
  }
  printf("{\"type\":\"split\",\"name\":\"%s\",\"usable\":%s", part->name, part->usable ? "true" : "false");
  if (part->usable) {
    print_counts_json(folder, part);
  } else {
    json_member("reason", part->error.text);
    printf("}\n");
  }
}

/* ---- a folder: the census ------------------------------------------------------------------------------ */

struct kind {
  const struct volume *like; /* the first of them */
  size_t volumes, slices;
};

static bool same_kind(const struct volume *a, const struct volume *b) {
  return !strcmp(a->acquisition, b->acquisition) && !strcmp(a->key, b->key) && a->coils == b->coils &&
         a->height == b->height && a->width == b->width && a->image_height == b->image_height &&
         a->image_width == b->image_width;
}

static int compare_kinds(const void *a, const void *b) {
  const struct volume *first = ((const struct kind *)a)->like, *second = ((const struct kind *)b)->like;
  int order = strcmp(first->acquisition, second->acquisition);
  size_t pixels[] = {first->height * first->width, second->height * second->width};
  return order ? order : (pixels[0] > pixels[1]) - (pixels[0] < pixels[1]);
}

static size_t take_census(const struct folder *folder, struct kind *list) {
  size_t count = 0;
  for (size_t p = 0; p < folder->part_count; p++)
    for (size_t v = 0; v < folder->part[p].dataset.volume_count; v++) {
      const struct volume *volume = &folder->part[p].dataset.volumes[v];
      struct kind *kind = list;
      while (kind < list + count && !same_kind(kind->like, volume)) kind++;
      if (kind == list + count) list[count++] = (struct kind){.like = volume};
      kind->volumes++;
      kind->slices += volume->slice_count;
    }
  qsort(list, count, sizeof *list, compare_kinds);
  return count;
}

static void print_kind(const struct folder *folder, const struct kind *kind) {
  const struct volume *like = kind->like;
  if (!folder->json) {
    const char *matrix = arena_text(folder->arena, "%zux%zux%zu", like->coils, like->height, like->width);
    const char *image = arena_text(folder->arena, "%zux%zu", like->image_height, like->image_width);
    printf("  %-24s %-18s %-14s %-10s %8zu %8zu\n",
           like->acquisition[0] ? text_shown(folder->arena, like->acquisition) : "-", like->key,
           like->coils > 1 ? matrix : strchr(matrix, 'x') + 1, image, kind->volumes, kind->slices);
    return;
  }
  printf("{\"type\":\"census\"");
  json_member("acquisition", like->acquisition);
  printf(
      ",\"from\":\"%s\",\"coils\":%zu,\"height\":%zu,\"width\":%zu,\"image_height\":%zu,\"image_width\":%zu,"
      "\"volumes\":%zu,\"slices\":%zu}\n",
      like->key, like->coils, like->height, like->width, like->image_height, like->image_width, kind->volumes,
      kind->slices);
}

static void print_census(const struct folder *folder) {
  struct kind *list = ARENA_NEW(folder->arena, struct kind, folder->volumes);
  size_t count = take_census(folder, list);
  if (!folder->json)
    printf("census\n  %-24s %-18s %-14s %-10s %8s %8s\n", "acquisition", "dataset", "matrix", "image",
           "volumes", "slices");
  for (size_t i = 0; i < count; i++) print_kind(folder, &list[i]);
}

static void print_overlap(const struct folder *folder) {
  size_t shown = sizeof folder->example / sizeof *folder->example;
  if (shown > folder->overlap) shown = folder->overlap;
  printf(folder->json ? "{\"type\":\"overlap\",\"patients\":%zu,\"first\":["
                      : "patients in more than one split: %zu",
         folder->overlap);
  for (size_t i = 0; i < shown; i++) {
    printf("%s", folder->json ? i ? "," : "" : i ? ", " : "; the first: ");
    if (folder->json)
      json_text(stdout, folder->example[i]);
    else
      printf("%s", text_shown(folder->arena, folder->example[i]));
  }
  printf(folder->json ? "]}\n" : "\n");
}

static void print_folder(const struct folder *folder) {
  for (size_t p = 0; p < folder->part_count; p++)
    (folder->json ? print_part_json : print_part)(folder, &folder->part[p]);
  print_census(folder);
  if (folder->part_count > 1) print_overlap(folder);
}

static bool inspect_folder(struct call *call, struct error *error) {
  struct folder *folder = ARENA_NEW(call->arena, struct folder, 1);
  *folder = (struct folder){.options = &call->options, .arena = call->arena, .json = call_flag(call, "json")};
  terminal_show(L2SR_ERROR); /* the report names the broken files itself */
  open_parts(folder);
  if (folder->volumes) {
    count_patients(folder);
    print_folder(folder);
  } else {
    *error = folder->part[0].error;
  }
  for (size_t p = 0; p < folder->part_count; p++)
    if (folder->part[p].usable) dataset_close(&folder->part[p].dataset);
  return folder->volumes;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static bool is_split_given(const struct call *call) {
  bool given = call_flag(call, "split");
  for (int i = 0; i < call->given_count; i++)
    given |= !strcmp(call->given[i].flag->name, "set") && !strncmp(call->given[i].value, "data.split=", 11);
  return given;
}

static bool run_inspect(struct call *call, struct error *error) {
  const char *path = call->operand[0];
  call->options.data.path = path;
  call->options.data.patient_split |= call_flag(call, "patient-split") != NULL;
  if (!is_split_given(call)) call->options.data.split = SPLIT_ALL;
  return folder_is_there(path) ? inspect_folder(call, error) : inspect_file(call, path, error);
}

static const struct flag flags[] = {
    {"json", NULL, NULL, "prints one JSON object a line"},
    {"split", "S", "data.split", "split to look at: train, val, test or all (the default here)"},
    {"fraction", "F", "data.fraction", NULL},
    {"acquisition", "A", "data.acquisition", NULL},
    {"size", "N", "data.size", NULL},
    {"slices", "R", "data.slices", NULL},
    {"patient-split", NULL, NULL, "splits by the patient_id attribute instead of by folder"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_inspect = {
    .name = "inspect",
    .operands = "PATH",
    .doc = "says what a volume, a file of another program or a folder of volumes holds, and what a scene would use",
    .more = "Of a file it prints datasets, attributes, and how its images are made. Of a folder it prints "
            "the volumes of every split, what each filter leaves out, the SHA-256 of the selected names, "
            "sizes, and the number of patients in more than one split.\n"
            "The exit status is 1 if nothing in it can be used.",
    .operands_least = 1,
    .operands_most = 1,
    .flags = flags,
    .run = run_inspect,
};
