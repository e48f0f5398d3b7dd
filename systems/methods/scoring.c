#include "systems/methods/scoring.h"

#include "engine/base/log.h"
#include "systems/scan/slice_cache.h"

#include <math.h>
#include <string.h>

#define PLACE(name, ...) AT_##name,
enum { METRIC_ROWS(PLACE) };
#undef PLACE

/* ---- the rows ------------------------------------------------------------------------------------------- */

#define UNITS_OF_SKIMAGE(of)                                                                                 \
  { [AT_ssim] = of, [AT_psnr] = of, [AT_nmse] = of, [AT_mse] = of }

/* The mean of the slices' SSIM is the volume's in all of them, and its errors are over all of its pixels. */
static const struct scoring rows[] = {
    [PROFILE_FASTMRI] = {.name = "fastmri",
                         .code = "fastMRI's evaluate.py",
                         .crop = CROP_SQUARE,
                         .padding = PADDING_ZEROS,
                         .unit = UNITS_OF_SKIMAGE(UNIT_VOLUME)},
    [PROFILE_PGMRI] = {.name = "pgmri",
                       .code = "PG-MRI's torch_metrics and reconstruction_model_utils",
                       .clamped = true,
                       .gaussian = true,
                       .unit = {[AT_ssim] = UNIT_SLICE,
                                [AT_psnr] = UNIT_SLICE,
                                [AT_ssim_uniform] = UNIT_VOLUME,
                                [AT_psnr_unclamped] = UNIT_VOLUME,
                                [AT_nmse] = UNIT_VOLUME,
                                [AT_mse] = UNIT_VOLUME}},
    [PROFILE_PINEDA] = {.name = "pineda",
                        .code = "active-mri's envs/util.py",
                        .by_slice = true,
                        .crop = CROP_SAID,
                        .padding = PADDING_ONES,
                        .unit = UNITS_OF_SKIMAGE(UNIT_SLICE)},
};

const struct scoring *scoring_chosen(const struct options *options) {
  return options->evaluate.profile == PROFILE_L2SR ? NULL : &rows[options->evaluate.profile];
}

const struct scoring *scoring_named(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].name && !strcmp(rows[i].name, name)) return &rows[i];
  return NULL;
}

enum scoring_unit scoring_unit(const struct scoring *scoring, size_t metric) {
  return scoring ? scoring->unit[metric] : UNIT_SLICE;
}

void scoring_pad_mask(const struct scoring *scoring, const struct scan_shape *shape, uint8_t *mask) {
  if (!scoring || scoring->padding == PADDING_FREE) return;
  for (size_t action = 0; action < shape->actions; action++)
    if (scan_shape_is_padded(shape, action)) mask[action] = scoring->padding == PADDING_ONES;
}

/* ---- what is refused ------------------------------------------------------------------------------------ */

static bool refuse_metric(const struct scoring *scoring, size_t metric, struct error *error) {
  fail_usage(error, "evaluate.metrics names %s, which evaluate.profile %s does not have; name some of",
             metric_list[metric].name, scoring->name);
  const char *separator = " ";
  for (size_t m = 0; m < METRICS; m++) {
    size_t used = strlen(error->text);
    if (!scoring->unit[m]) continue;
    snprintf(error->text + used, sizeof error->text - used, "%s%s", separator, metric_list[m].name);
    separator = ", ";
  }
  return false;
}

bool scoring_check(const struct options *options, struct error *error) {
  const struct scoring *scoring = scoring_chosen(options);
  if (!scoring) return true;
  for (size_t m = 0; m < METRICS; m++)
    if (option_has(options->evaluate.metrics, metric_list[m].name) && !scoring->unit[m])
      return refuse_metric(scoring, m, error);
  if (scoring->crop == CROP_SQUARE && options->data.range == RANGE_SLICE)
    return fail_usage(
        error,
        "evaluate.profile %s scores volumes and data.range is slice; set it to volume (evaluate.py) or "
        "attribute (fastMRI's training modules)",
        scoring->name);
  return true;
}

static bool check_crop(const struct scoring_data *scores, const struct volume *volume,
                       const struct scoring_volume *crop, struct error *error) {
  if (crop->height < crop->width && scores->scoring->crop == CROP_SQUARE)
    return fail_file(
        error,
        "%s: its images of %zux%zu are wider than high, and evaluate.profile %s crops them to the square "
        "of their width; score it with another profile",
        volume->path, crop->height, crop->width, scores->scoring->name);
  if (crop->height >= MEASURE_UNIFORM_SIDE && crop->width >= MEASURE_UNIFORM_SIDE) return true;
  return fail_file(
      error,
      "%s: its images of %zux%zu are smaller than the 7x7 window of evaluate.profile %s; leave it out, or "
      "score it with another profile",
      volume->path, crop->height, crop->width, scores->scoring->name);
}

/* ---- crops ---------------------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b) {
  return b && b < a ? b : a;
}

/* What lies in the images beyond the size that the file says is padding, or field of view that its truth does
 * not have. */
static bool find_crop(const struct scoring_data *scores, const struct volume *volume,
                      struct scoring_volume *crop, struct error *error) {
  size_t height = scores->shape.height, width = scores->shape.width;
  if (scores->scoring->crop != CROP_NOTHING) {
    height = least(least(height, volume->image_height), volume->said_height);
    width = least(least(width, volume->image_width), volume->said_width);
  }
  crop->height = height;
  crop->width = width;
  if (!check_crop(scores, volume, crop, error)) return false;
  if (scores->scoring->crop == CROP_SQUARE) crop->height = width;
  crop->top = (scores->shape.height - crop->height) / 2;
  crop->left = (scores->shape.width - crop->width) / 2;
  return true;
}

static struct measure_images images_of(const struct scoring_data *scores, size_t slice, const float *image,
                                       const float *truth) {
  const struct scoring_volume *crop = &scores->volume[scores->names[slice].volume];
  size_t start = crop->top * scores->shape.width + crop->left;
  return (struct measure_images){image + start, truth + start, crop->height, crop->width,
                                 scores->shape.width};
}

/* ---- truths --------------------------------------------------------------------------------------------- */

/* Cuts as the published loader does, by mean and sample deviation. */
static void clamp_image(float *image, size_t pixels) {
  double mean = 0, square = 0;
  for (size_t i = 0; i < pixels; i++) mean += (double)image[i] / (double)pixels;
  for (size_t i = 0; i < pixels; i++) square += ((double)image[i] - mean) * ((double)image[i] - mean);
  double deviation = sqrt(square / ((double)pixels - 1)), low = mean - 6 * deviation,
         high = mean + 6 * deviation;
  for (size_t i = 0; i < pixels; i++)
    if ((double)image[i] < low || (double)image[i] > high)
      image[i] = (float)((double)image[i] < low ? low : high);
}

void scoring_read_truth(const struct scoring_data *scores, struct simulation *simulation, size_t slice,
                        float *truth) {
  slice_cache_read_image(simulation, slice, truth);
  if (scores->scoring->clamped) clamp_image(truth, scan_shape_pixels(&scores->shape));
}

void scoring_see_truth(struct scoring_data *scores, size_t slice, float *image) {
  struct scoring_volume *volume = &scores->volume[scores->names[slice].volume];
  if (scores->scoring->clamped) clamp_image(image, scan_shape_pixels(&scores->shape));
  const struct measure_images images = images_of(scores, slice, image, image);
  scores->range[slice] = measure_peak(&images);
  volume->range = fmax(volume->range, scores->range[slice]);
}

/* fastMRI's training modules take the file's maximum in place of that of the images. */
enum data_range scoring_range(const struct scoring *scoring, const struct options *options) {
  if (scoring->by_slice) return RANGE_SLICE;
  return scoring->crop == CROP_SQUARE && options->data.range == RANGE_ATTRIBUTE ? RANGE_ATTRIBUTE
                                                                                : RANGE_VOLUME;
}

void scoring_set_ranges(struct scoring_data *scores, const struct dataset *dataset,
                        const struct options *options) {
  bool said = scoring_range(scores->scoring, options) == RANGE_ATTRIBUTE;
  for (size_t i = 0; i < scores->slices && !scores->scoring->by_slice; i++) {
    size_t volume = scores->names[i].volume;
    scores->range[i] =
        said ? dataset->volumes[volume].max / options->data.scale : scores->volume[volume].range;
  }
}

/* ---- volumes -------------------------------------------------------------------------------------------- */

static bool find_volumes(struct scoring_data *scores, const struct dataset *dataset, struct error *error) {
  for (size_t i = 0; i < scores->slices; i++) {
    size_t number = scores->names[i].volume;
    struct scoring_volume *volume = &scores->volume[number];
    volume->last = i;
    if (volume->slices++) continue;
    volume->first = i;
    volume->whole = dataset->volumes[number].slices;
    volume->range = -INFINITY;
    scores->first[i] = true;
    scores->volumes++;
    if (!find_crop(scores, &dataset->volumes[number], volume, error)) return false;
  }
  return true;
}

static bool has_volumes(const struct scoring_data *scores, const struct options *options) {
  for (size_t m = 0; m < METRICS; m++)
    if (option_has(options->evaluate.metrics, metric_list[m].name) && scores->scoring->unit[m] == UNIT_VOLUME)
      return true;
  return false;
}

static void tell_partial(struct scoring_data *scores, const struct dataset *dataset, struct arena *arena) {
  for (size_t v = 0; v < dataset->volume_count; v++)
    scores->partial += scores->volume[v].slices && scores->volume[v].slices < scores->volume[v].whole;
  if (scores->partial)
    log_warning("evaluate.profile %s scores volumes, %s; for numbers beside those of %s set data.slices to "
                "all, data.most to 0 "
                "and data.exclude_constant to false",
                scores->scoring->name, scoring_text(scores, dataset, arena), scores->scoring->code);
}

bool scoring_plan(struct scoring_data *scores, const struct options *options, const struct dataset *dataset,
                  struct arena *arena, struct error *error) {
  scores->scoring = scoring_chosen(options);
  scores->volume = ARENA_NEW(arena, struct scoring_volume, dataset->volume_count + 1);
  scores->first = ARENA_NEW(arena, bool, scores->slices + 1);
  scores->range = ARENA_NEW(arena, double, scores->slices + 1);
  if (!find_volumes(scores, dataset, error)) return false;
  if (has_volumes(scores, options)) tell_partial(scores, dataset, arena);
  return true;
}

bool scoring_open(struct scoring_data *scores, struct simulation *simulation, const struct dataset *dataset,
                  const struct load_report *report, struct arena *arena, struct error *error) {
  const struct options *options = simulation->options;
  float *truth = ARENA_NEW(arena, float, world_height(simulation->world) * world_width(simulation->world));
  *scores = (struct scoring_data){
      .shape = scan_shape_of(options), .slices = report->slices, .names = report->names};
  if (!scoring_plan(scores, options, dataset, arena, error)) return false;
  for (size_t i = 0; i < report->slices; i++) {
    slice_cache_read_image(simulation, i, truth);
    scoring_see_truth(scores, i, truth);
  }
  scoring_set_ranges(scores, dataset, options);
  return true;
}

static const char *names_of(const struct scoring *scoring, const char *metrics, enum scoring_unit unit,
                            struct arena *arena) {
  const char *text = "";
  for (size_t m = 0; m < METRICS; m++)
    if (scoring->unit[m] == unit && option_has(metrics, metric_list[m].name))
      text = arena_text(arena, "%s%s%s", text, *text ? ", " : "", metric_list[m].name);
  return text;
}

const char *scoring_over(const struct scoring *scoring, const char *metrics, struct arena *arena) {
  const char *slices = names_of(scoring, metrics, UNIT_SLICE, arena),
             *volumes = names_of(scoring, metrics, UNIT_VOLUME, arena);
  if (!*volumes) return "scans";
  return *slices ? arena_text(arena, "scans (%s) and volumes (%s)", slices, volumes) : "volumes";
}

const char *scoring_text(const struct scoring_data *scores, const struct dataset *dataset,
                         struct arena *arena) {
  size_t v = 0;
  if (!scores->partial)
    return arena_text(arena, "%zu whole volume%s", scores->volumes, plural(scores->volumes));
  while (!scores->volume[v].slices || scores->volume[v].slices == scores->volume[v].whole) v++;
  const struct scoring_volume *volume = &scores->volume[v];
  return arena_text(arena,
                    "%zu of %zu by a part of their slices, first %s by %zu of its %zu, number %zu to %zu",
                    scores->partial, scores->volumes, dataset->volumes[v].name, volume->slices, volume->whole,
                    scores->names[volume->first].slice, scores->names[volume->last].slice);
}

/* ---- scores --------------------------------------------------------------------------------------------- */

static bool asks_volumes(const struct scoring *scoring, const bool asked[METRICS], size_t metric) {
  return asked[metric] && scoring->unit[metric] == UNIT_VOLUME;
}

static double score_errors(const struct scoring *scoring, size_t metric, const struct measure_sums *sums,
                           double pixels, double L) {
  if (metric == AT_nmse) return sums->square / sums->power;
  if (metric == AT_mse) return sums->square / pixels;
  return scoring->gaussian && metric == AT_psnr ? measure_psnr_limited(sums->clamped / pixels, L)
                                                : measure_psnr(sums->square / pixels, L);
}

static double score_ssim(const struct scoring *scoring, size_t metric, const struct measure_images *images,
                         double L) {
  return scoring->gaussian && metric == AT_ssim ? measure_ssim_gaussian(images, L)
                                                : measure_ssim_uniform(images, L);
}

struct scoring_part scoring_score(const struct scoring_data *scores, size_t slice, const float *image,
                                  const float *truth, const bool asked[METRICS], float values[METRICS]) {
  const struct scoring *scoring = scores->scoring;
  const struct measure_images images = images_of(scores, slice, image, truth);
  struct measure_sums sums = measure_errors(&images);
  double L = scores->range[slice], pixels = (double)(images.height * images.width);
  struct scoring_part part = {.square = sums.square, .power = sums.power};
  for (size_t m = 0; m < METRICS; m++) {
    bool is_ssim = m == AT_ssim || m == AT_ssim_uniform;
    if (asks_volumes(scoring, asked, m) && is_ssim) part.ssim = measure_ssim_uniform(&images, L);
    if (!asked[m] || scoring->unit[m] != UNIT_SLICE) continue;
    values[m] =
        (float)(is_ssim ? score_ssim(scoring, m, &images, L) : score_errors(scoring, m, &sums, pixels, L));
  }
  return part;
}

double scoring_volume_score(const struct scoring_data *scores, size_t volume, size_t metric,
                            const struct scoring_part *part, size_t stride) {
  const struct scoring_volume *of = &scores->volume[volume];
  struct measure_sums sums = {0};
  double ssim = 0, slices = (double)of->slices, pixels = slices * (double)(of->height * of->width);
  for (size_t i = of->first; i <= of->last; i++) {
    if (scores->names[i].volume != volume) continue;
    ssim += part[i * stride].ssim / slices;
    sums.square += part[i * stride].square;
    sums.power += part[i * stride].power;
  }
  if (metric == AT_ssim || metric == AT_ssim_uniform) return ssim;
  return metric == AT_nmse  ? sums.square / sums.power
         : metric == AT_mse ? sums.square / pixels
                            : measure_psnr(sums.square / pixels, scores->range[of->first]);
}
