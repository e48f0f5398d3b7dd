#include "systems/methods/feed.h"

#include "systems/scan/geometry.h"
#include "systems/scan/window.h"

#include <math.h>
#include <string.h>

/* ---- the mixture --------------------------------------------------------------------------------------- */

static bool read_number(const char *key, const char *word, uint32_t n, uint32_t *value, struct error *error) {
  if (option_whole(word, 1, n, value)) return true;
  return fail_usage(error, "train.%s has '%s'; it must be whole numbers from 1 to %u (data.size)", key, word,
                    n);
}

/* N / initial lines to start from, rounded half to even, or the square of so many points, and N /
 * acceleration in all. */
static bool make_pair(struct acquisition *pair, const struct options *options, uint32_t acceleration,
                      uint32_t initial, struct error *error) {
  *pair = acquisition_of(options, acceleration, "custom");
  if (initial < acceleration)
    return fail_usage(
        error,
        "train.initial_accelerations has %u for the acceleration %u: more initial lines than lines in "
        "all; it must be %u or more",
        initial, acceleration, acceleration);
  const struct geometry *geometry = geometry_of(pair);
  uint32_t total = pair->lines / acceleration, start = (uint32_t)nearbyint((double)pair->size / initial);
  if (geometry->points)
    start = geometry->initial_count(pair->size, initial);
  else
    start = start < 1 ? 1 : start < total ? start : total;
  acquisition_give(pair, start);
  pair->budget = total > start ? total - start : 0;
  return true;
}

bool feed_pairs(struct feed *feed, struct error *error) {
  const char *accelerations = feed->options.train.accelerations,
             *initials = feed->options.train.initial_accelerations;
  size_t count = option_count(accelerations), others = option_count(initials);
  char word[32];
  uint32_t n = feed->options.data.size, acceleration, initial;
  if (!count || count != others || count > PAIRS_MOST)
    return fail_usage(
        error,
        "train.accelerations has %zu entries and train.initial_accelerations %zu; they are pairs, "
        "1 to %d of them",
        count, others, PAIRS_MOST);
  for (feed->pairs = 0; feed->pairs < count; feed->pairs++) {
    accelerations = option_next(accelerations, word, sizeof word);
    if (!read_number("accelerations", word, n, &acceleration, error)) return false;
    initials = option_next(initials, word, sizeof word);
    if (!read_number("initial_accelerations", word, n, &initial, error) ||
        !make_pair(&feed->pair[feed->pairs], &feed->options, acceleration, initial, error))
      return false;
  }
  return true;
}

double feed_chance(const struct acquisition *pair) {
  double wanted = (double)pair->lines / pair->acceleration - pair->initial_lines;
  uint32_t free_lines = pair->lines - pair->initial_lines;
  return free_lines && wanted > 0 ? wanted / free_lines : 0;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static size_t actions_of(const struct feed *feed) {
  return geometry_actions(geometry_chosen(&feed->options), feed->options.data.size);
}

static bool open_pairs(struct feed *feed, struct error *error) {
  size_t n = actions_of(feed);
  uint8_t *initial = ARENA_NEW(feed->arena, uint8_t, PAIRS_MOST * n);
  uint32_t chance[PAIRS_MOST] = {0};
  feed->initial = device_buffer(feed->device, PAIRS_MOST * n, "the mixture", error);
  feed->chance = feed->initial ? device_buffer(feed->device, sizeof chance, "the mixture", error) : NULL;
  if (!feed->chance) return false;
  for (size_t p = 0; p < feed->pairs; p++) {
    acquisition_initial(&feed->pair[p], initial + p * n);
    chance[p] = (uint32_t)nearbyint(0x1p31 * feed_chance(&feed->pair[p]));
  }
  device_write(feed->device, feed->initial, 0, PAIRS_MOST * n, initial);
  device_write(feed->device, feed->chance, 0, sizeof chance, chance);
  return kernel_need(feed->simulation.kernels, "mask_chance", error) &&
         kernel_need(feed->simulation.kernels, "mask_keep", error);
}

/* Masks by scanning, with exact budgets. */
static bool is_exact(const struct feed *feed) {
  return feed->policy || (!feed->learned && feed->options.train.masks == MASKS_EXACT);
}

/* The scans that the policy was trained for, or that masks are learned for. */
static bool find_scans(struct feed *feed, struct error *error) {
  feed->pairs = 1;
  feed->sampler = &sampler_policy;
  return acquisition_only(&feed->pair[0], &feed->options, feed->arena, error);
}

static bool find_masks(struct feed *feed, struct error *error) {
  if (feed->policy || feed->learned) return find_scans(feed, error);
  if (!feed_pairs(feed, error) || !(feed->sampler = sampler_find(feed->options.train.sampler, error)))
    return false;
  return sampler_is_heuristic(feed->sampler) ||
         fail_usage(error,
                    "train.sampler is %s; exact masks are of a heuristic, as random; train.method l2sr "
                    "trains on a policy's",
                    feed->sampler->name);
}

static bool open_simulation(struct feed *feed, const struct feed_setup *setup, struct error *error) {
  size_t slices = setup->fill ? setup->slices : feed->dataset.slice_count, most = feed->options.data.most;
  size_t envs = setup->batch;
  if (most && most < slices) slices = most;
  if (is_exact(feed) && feed->options.world.envs > envs) envs = feed->options.world.envs;
  struct simulation_plan plan = {.slices = slices,
                                 .envs = envs,
                                 .together = setup->fill ? 0 : envs,
                                 .coils = setup->fill ? 0 : dataset_coils(&feed->dataset),
                                 .epoch_rows = slices,
                                 .score_batches = setup->validate,
                                 .draws_masks = setup->draws_masks && !setup->validate,
                                 .deal_only = setup->deal_only && !setup->validate,
                                 .policy = setup->policy,
                                 .observe_every_step = setup->policy,
                                 .kernels = setup->kernels,
                                 .kernel_folder = setup->kernel_folder};
  if (envs > slices && slices >= setup->batch) plan.envs = slices;
  if (plan.together > slices) plan.together = slices;
  return simulation_open(&feed->simulation, feed->device, &feed->options, &plan, error);
}

static bool load(struct feed *feed, const struct feed_setup *setup, struct error *error) {
  struct simulation *simulation = &feed->simulation;
  feed->report.slices = setup->slices;
  return setup->fill
             ? setup->fill(&simulation->world, setup->slices, feed->options.world.seed, error)
             : load_simulation(simulation, &feed->dataset, &feed->options, feed->arena, &feed->report, error);
}

static bool open_parts(struct feed *feed, const struct feed_setup *setup, struct error *error) {
  if (!find_masks(feed, error) || (!setup->fill && !dataset_open(&feed->dataset, &feed->options, error)) ||
      !open_simulation(feed, setup, error) || !open_pairs(feed, error) || !load(feed, setup, error))
    return false;
  feed->slices = feed->report.slices;
  feed->order = ARENA_NEW(feed->arena, uint32_t, feed->slices);
  feed->rows = ARENA_NEW(feed->arena, uint32_t, feed->simulation.world.capacity[TABLE_SLICE]);
  for (size_t i = 0; i < feed->slices; i++) feed->order[i] = (uint32_t)i;
  return true;
}

bool feed_open(struct feed *feed, const struct feed_setup *setup, struct error *error) {
  static const char *const names[] = {"training", "validation", "test", "all"};
  *feed = (struct feed){.arena = arena_open(),
                        .device = setup->device,
                        .options = *setup->options,
                        .validate = setup->validate,
                        .policy = setup->policy,
                        .learned = setup->draws_masks || setup->deal_only};
  feed->options.data.split = setup->split;
  if (open_parts(feed, setup, error)) return true;
  feed_close(feed);
  return fail_in(error, "%s data", names[setup->split]);
}

void feed_close(struct feed *feed) {
  device_release(feed->device, feed->initial, PAIRS_MOST * actions_of(feed));
  device_release(feed->device, feed->chance, sizeof(uint32_t) * PAIRS_MOST);
  if (feed->simulation.kernels) simulation_close(&feed->simulation);
  if (feed->dataset.arena) dataset_close(&feed->dataset);
  arena_close(feed->arena);
  *feed = (struct feed){0};
}

/* ---- an epoch ------------------------------------------------------------------------------------------ */

static void shuffle(struct feed *feed, uint32_t epoch) {
  struct random random;
  random_start(&random, feed->options.world.seed, STREAM_ORDER, epoch);
  random_order(&random, feed->order, feed->slices);
}

/* A multiple of the slices, so that sample i takes entry i of the order. Training numbers its scans below
 * 2^31, validation above. */
static uint32_t first_scan(const struct feed *feed, uint32_t epoch) {
  uint32_t slices = (uint32_t)feed->slices, epochs = 0x80000000u / slices;
  return slices * (feed->validate ? epochs : epoch % epochs);
}

static void draw_by_chance(struct feed *feed, uint32_t first) {
  struct world *world = &feed->simulation.world;
  kernel_run(world->kernels, "mask_chance", feed->slices,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, world->column[SLICE_order]),
                  arg_buffer(ARG_IN, ELEMENT_U8, feed->initial),
                  arg_buffer(ARG_IN, ELEMENT_U32, feed->chance),
                  arg_buffer(ARG_OUT, ELEMENT_U32, world->column[EPOCH_slice]),
                  arg_buffer(ARG_OUT, ELEMENT_U8, world->column[EPOCH_mask]), arg_u32(first),
                  arg_u32((uint32_t)world->rows[TABLE_SLICE]), arg_u32((uint32_t)feed->pairs),
                  arg_u32(feed->options.world.seed)));
}

/* The masks of the environments' scans into their rows of EPOCH, where the scan takes this pair. */
static void keep_masks(struct feed *feed, size_t first_row, size_t rows, size_t pair) {
  struct world *world = &feed->simulation.world;
  kernel_run(world->kernels, "mask_keep", rows,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, world->column[ENV_scan]),
                  arg_buffer(ARG_IN, ELEMENT_U32, world->column[ENV_slice]),
                  arg_buffer(ARG_IN, ELEMENT_U8, world->column[ENV_mask]),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, world->column[EPOCH_slice]),
                  arg_buffer(ARG_INOUT, ELEMENT_U8, world->column[EPOCH_mask]), arg_u32((uint32_t)first_row),
                  arg_u32((uint32_t)pair), arg_u32((uint32_t)feed->pairs),
                  arg_u32(feed->options.world.seed)));
}

/* Every scan is run for every pair of the mixture; which one it takes decides what is kept. */
static bool draw_exactly(struct feed *feed, uint32_t first, struct error *error) {
  size_t most = feed->simulation.world.capacity[TABLE_ENV];
  for (size_t pair = 0; pair < feed->pairs; pair++) {
    if (!simulation_set(&feed->simulation, &feed->pair[pair], feed->sampler, error)) return false;
    for (size_t row = 0; row < feed->slices; row += most) {
      size_t envs = feed->slices - row < most ? feed->slices - row : most;
      simulation_restart(&feed->simulation, first + (uint32_t)row, envs);
      simulation_episode(&feed->simulation);
      keep_masks(feed, row, envs, pair);
    }
  }
  return true;
}

bool feed_epoch(struct feed *feed, uint32_t epoch, struct error *error) {
  if (!feed->validate) shuffle(feed, epoch);
  window_order(&feed->simulation, feed->order, feed->slices);
  uint32_t first = first_scan(feed, epoch);
  if (is_exact(feed) && !draw_exactly(feed, first, error)) return false;
  if (!is_exact(feed)) draw_by_chance(feed, first);
  return device_finish(feed->device, error);
}

/* With a window the samples' rows of SLICE are known only now. */
void feed_bring(struct feed *feed, size_t first, size_t count) {
  struct simulation *simulation = &feed->simulation;
  if (!simulation->window) return;
  window_bring(simulation->window, feed->order + first, count, feed->rows);
  world_write(&simulation->world, EPOCH_slice, first, count, feed->rows);
}

void feed_batch(struct feed *feed, size_t first, size_t count) {
  struct world *world = &feed->simulation.world;
  REQUIRE(first + count <= feed->slices, "samples %zu to %zu of an epoch of %zu", first, first + count,
          feed->slices);
  feed_bring(feed, first, count);
  world->rows[TABLE_ENV] = count;
  feed->simulation.epoch_row = first;
  schedule_run(&feed->simulation.batch, world);
}
