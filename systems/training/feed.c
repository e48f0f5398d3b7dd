#include "systems/training/feed.h"

#include "systems/sampling/geometry.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/systems.h"

#include <math.h>
#include <string.h>

/* ---- the mixture --------------------------------------------------------------------------------------- */

static bool read_number(const char *key, const char *word, uint32_t n, uint32_t *value, struct error *error) {
  if (option_whole(word, 1, n, value)) return true;
  return fail_usage(error, "train.%s has '%s'; it must be whole numbers from 1 to %u (data.size)", key, word,
                    n);
}

/* All over `initial` to start from, rounded half to even, or the square of so many points, and all over the
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
  uint32_t all = scan_shape_choices(&pair->shape), total = all / acceleration,
           start = (uint32_t)nearbyint((double)all / initial);
  if (geometry->points)
    start = geometry->initial_count(&pair->shape, initial);
  else
    start = start < 1 ? 1 : start < total ? start : total;
  acquisition_give(pair, start);
  pair->budget = total > start ? total - start : 0;
  return true;
}

bool feed_pairs(struct feed *feed, struct error *error) {
  const char *accelerations = feed->split->options.train.accelerations,
             *initials = feed->split->options.train.initial_accelerations;
  size_t count = option_count(accelerations), others = option_count(initials);
  char word[32];
  uint32_t n = scan_shape_of(&feed->split->options).width, acceleration, initial;
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
        !make_pair(&feed->pair[feed->pairs], &feed->split->options, acceleration, initial, error))
      return false;
  }
  return true;
}

double feed_chance(const struct acquisition *pair) {
  double wanted = (double)scan_shape_choices(&pair->shape) / pair->acceleration - pair->initial_lines;
  uint32_t free_lines = scan_shape_choices(&pair->shape) - pair->initial_lines;
  return free_lines && wanted > 0 ? wanted / free_lines : 0;
}

/* ---- its masks ----------------------------------------------------------------------------------------- */

static size_t actions_of(const struct feed *feed) {
  return scan_shape_of(&feed->split->options).actions;
}

static const struct system load_pairs = {.name = "load_pairs",
                                         .doc = "what masks of every pair of accelerations start with, and their chances",
                                         .parts = SET(PAIR_initial) | SET(PAIR_chance),
                                         .loads = true};

static void write_pairs(struct feed *feed) {
  size_t n = actions_of(feed);
  uint8_t *initial = ARENA_NEW(feed->arena, uint8_t, PAIRS_MOST * n);
  uint32_t chance[PAIRS_MOST] = {0};
  for (size_t p = 0; p < feed->pairs; p++) {
    acquisition_initial(&feed->pair[p], initial + p * n);
    chance[p] = (uint32_t)nearbyint(0x1p31 * feed_chance(&feed->pair[p]));
  }
  struct world *world = feed->split->simulation.world;
  struct world_use before = world_enter(world, &load_pairs);
  world_write(world, PAIR_initial, 0, feed->pairs, initial);
  world_write(world, PAIR_chance, 0, feed->pairs, chance);
  world_leave(world, before);
}

/* Masks by scanning, with exact budgets. */
static bool is_exact(const struct feed *feed) {
  return feed->setup.policy || (!feed->setup.learns && feed->split->options.train.masks == MASKS_EXACT);
}

/* The scans that the policy was trained for, or that masks are learned for. */
static bool find_scans(struct feed *feed, struct error *error) {
  feed->pairs = 1;
  feed->sampler = &sampler_policy;
  return acquisition_only(&feed->pair[0], &feed->split->options, feed->arena, error);
}

/* Before any work: a sampler's table, of every pair. */
static bool check_sampler(const struct feed *feed, struct error *error) {
  struct arena *arena = arena_open();
  uint32_t *table = ARENA_NEW(arena, uint32_t, actions_of(feed));
  bool good = true;
  for (size_t p = 0; good && p < feed->pairs; p++)
    good = sampler_fill(feed->sampler, &feed->split->options, &feed->pair[p], table, error);
  arena_close(arena);
  return good;
}

static bool find_masks(struct feed *feed, struct error *error) {
  if (feed->setup.policy || feed->setup.learns) return find_scans(feed, error);
  if (!feed_pairs(feed, error) || !(feed->sampler = sampler_find(feed->split->options.train.sampler, error)))
    return false;
  if (!sampler_is_heuristic(feed->sampler))
    return fail_usage(error,
                      "train.sampler is %s; exact masks are of a heuristic, as random; train.method l2sr "
                      "trains on a policy's",
                      feed->sampler->name);
  return !is_exact(feed) || check_sampler(feed, error);
}

/* ---- describing ---------------------------------------------------------------------------------------- */

/* Whether the scene's method is one of those that have a network, which is what is trained. */
static bool trains_method(const struct options *options) {
  return options->reconstruct.method != RECONSTRUCT_AUTO && reconstruction_trains(options);
}

/* Of data with so many slices. */
static struct simulation_plan plan_of(const struct feed *feed, size_t slices) {
  const struct feed_setup *setup = &feed->setup;
  const struct options *options = &feed->split->options;
  size_t most = options->data.most, envs = setup->batch;
  if (most && most < slices) slices = most;
  if (is_exact(feed) && options->world.envs > envs) envs = options->world.envs;
  if (envs > slices && slices >= setup->batch) envs = slices;
  return (struct simulation_plan){.slices = slices,
                                  .envs = envs,
                                  .together = setup->made ? 0 : envs < slices ? envs : slices,
                                  .coils = setup->made ? 0 : 1,
                                  .deciders = setup->policy ? DECIDES_POLICY : 0,
                                  .observe_every_step = setup->policy,
                                  .network = trains_method(options),
                                  .epoch_rows = slices,
                                  .pairs = PAIRS_MOST,
                                  .columns = (feed->augment.kinds ? AUGMENT_COLUMNS : 0) | setup->columns |
                                             SET(EPOCH_slice) | SET(EPOCH_mask) | SET(PAIR_initial) |
                                             SET(PAIR_chance),
                                  .prefix = setup->validate ? "validation " : NULL};
}

static bool describe_simulation(struct feed *feed, const struct simulation_plan *plan, struct error *error) {
  const struct sampler *sampler = is_exact(feed) ? feed->sampler : &sampler_list[0];
  return simulation_describe(&feed->split->simulation, &feed->split->options, plan, sampler, error);
}

static bool build_masks(struct feed *feed, struct error *error) {
  schedule_open(&feed->masks, &component_schema);
  schedule_name(&feed->masks, "%smasks", feed->setup.validate ? "validation " : "");
  feed_add_masks(feed, &feed->masks);
  return schedule_close(&feed->masks, error);
}

/* Training slices alone, and no benchmark's. */
static bool find_moves(struct feed *feed, struct error *error) {
  if (!augment_read(&feed->augment, &feed->split->options, error)) return false;
  if (feed->setup.validate || feed->setup.made) feed->augment.kinds = 0;
  return true;
}

/* Where the data are opened later, only the columns of the lists are asked for. */
static bool describe_lists(struct feed *feed, struct error *error) {
  const struct options *options = &feed->split->options;
  struct simulation_plan plan = plan_of(feed, feed->setup.opens ? UINT32_MAX : lists_slices(options));
  plan.window = !feed->setup.opens && slice_cache_planned(options, plan.slices, plan.together);
  return describe_simulation(feed, &plan, error) && build_masks(feed, error);
}

bool feed_describe(struct feed *feed, struct split *split, const struct feed_setup *setup, struct arena *arena,
                   struct error *error) {
  *feed = (struct feed){.setup = *setup, .split = split, .arena = arena};
  return (find_moves(feed, error) && find_masks(feed, error) && describe_lists(feed, error)) ||
         fail_in(error, "%s data", setup->validate ? "validation" : "training");
}

void feed_note(const struct feed *feed, struct lists *lists, const char *stage, struct arena *arena) {
  const char *masks = feed->setup.learns ? "masks: learned" : "masks: every action by chance";
  if (is_exact(feed))
    lists_note_scans(lists, stage, &feed->split->simulation, arena);
  else if (!feed->setup.validate)
    lists_note(lists, stage, masks);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

struct simulation_plan feed_plan(const struct feed *feed, size_t slices) {
  struct simulation_plan plan = plan_of(feed, slices);
  plan.columns |= feed->masks.touched;
  return plan;
}

static bool open_moves(struct feed *feed, struct error *error) {
  struct simulation *simulation = &feed->split->simulation;
  return !feed->augment.kinds || simulation->cache ||
         transform_open(&feed->moves, simulation->world, feed->slices, error);
}

bool feed_open(struct feed *feed, struct error *error) {
  struct simulation *simulation = &feed->split->simulation;
  feed->slices = feed->split->report.slices;
  feed->order = ARENA_NEW(feed->arena, uint32_t, feed->slices);
  feed->rows = ARENA_NEW(feed->arena, uint32_t, world_capacity(simulation->world, TABLE_SLICE));
  for (size_t i = 0; i < feed->slices; i++) feed->order[i] = (uint32_t)i;
  write_pairs(feed);
  return build_masks(feed, error) && schedule_prepare(&feed->masks, simulation->kernels, error) &&
         open_moves(feed, error);
}

void feed_close(struct feed *feed) {
  transform_close(&feed->moves);
}

/* ---- an epoch ------------------------------------------------------------------------------------------ */

static void shuffle(struct feed *feed, uint32_t epoch) {
  struct random random;
  random_start(&random, feed->split->options.world.seed, STREAM_ORDER, epoch);
  random_order(&random, feed->order, feed->slices);
}

/* A multiple of the slices, so that sample i takes entry i of the order. Training numbers its scans below
 * 2^31, validation above. */
static uint32_t first_scan(const struct feed *feed, uint32_t epoch) {
  uint32_t slices = (uint32_t)feed->slices, epochs = 0x80000000u / slices;
  return slices * (feed->setup.validate ? epochs : epoch % epochs);
}

static void run_chance(struct world *world, void *context) {
  const struct feed *feed = context;
  kernel_run(world_kernels(world), "mask_chance", feed->slices,
             ARGS(world_in(world, SLICE_order), world_in(world, PAIR_initial), world_in(world, PAIR_chance),
                  world_out(world, EPOCH_slice), world_out(world, EPOCH_mask), arg_u32(feed->scan),
                  arg_u32((uint32_t)world_rows(world, TABLE_SLICE)), arg_u32((uint32_t)feed->pairs),
                  arg_u32(feed->split->options.world.seed)));
}

static const struct system chance_masks = {.name = "chance_masks",
                                           .doc = "a slice and a mask for every sample, actions by chance",
                                           .reads = SET(SLICE_order) | SET(PAIR_initial) | SET(PAIR_chance),
                                           .writes = SET(EPOCH_slice) | SET(EPOCH_mask),
                                           .kernels = {"mask_chance"},
                                           .run = run_chance};

/* The masks of the environments' scans into their rows of EPOCH, where the scan takes this pair. */
static void run_keep(struct world *world, void *context) {
  const struct feed *feed = context;
  kernel_run(world_kernels(world), "mask_keep", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_scan), world_in(world, ENV_slice), world_in(world, ENV_mask),
                  arg_unnamed(world_part(world, EPOCH_slice)), arg_unnamed(world_part(world, EPOCH_mask)),
                  arg_u32((uint32_t)feed->row), arg_u32((uint32_t)feed->pair_at),
                  arg_u32((uint32_t)feed->pairs), arg_u32(feed->split->options.world.seed)));
}

static const struct system keep_masks = {.name = "keep_masks",
                                         .doc = "slice and mask of every scan as a sample of the epoch",
                                         .reads = SET(ENV_scan) | SET(ENV_slice) | SET(ENV_mask),
                                         .parts = SET(EPOCH_slice) | SET(EPOCH_mask),
                                         .kernels = {"mask_keep"},
                                         .run = run_keep};

/* Scans of as many samples as there are environments. */
static bool next_scans(struct world *world, void *context, size_t turn) {
  struct feed *feed = context;
  struct pass pass;
  if (!pass_take(&pass, turn, feed->slices, world_capacity(world, TABLE_ENV))) return false;
  feed->row = pass.first;
  simulation_number(&feed->split->simulation, feed->scan + (uint32_t)pass.first, pass.images);
  feed->split->simulation.rows = (struct rollout_rows){.stride = world_rows(world, TABLE_ENV), .before = true};
  return true;
}

static const struct system repeat_scans = {
    .name = "scans", .doc = "as many samples of the epoch as there are environments",
    .covers = TABLE_BIT(TABLE_EPOCH), .next = next_scans};

void feed_add_masks(struct feed *feed, struct schedule *schedule) {
  if (!is_exact(feed)) {
    schedule_add(schedule, &chance_masks, feed);
    return;
  }
  schedule_add(schedule, &repeat_scans, feed);
  slice_cache_add_bring(&feed->split->simulation, schedule);
  simulation_add_restart(&feed->split->simulation, schedule);
  simulation_add_scan(&feed->split->simulation, schedule, NULL);
  schedule_add(schedule, &keep_masks, feed);
  schedule_add(schedule, &system_end, NULL);
}

/* Every scan is run for every pair of the mixture; which one it takes decides what is kept. */
static bool draw_exactly(struct feed *feed, struct error *error) {
  for (feed->pair_at = 0; feed->pair_at < feed->pairs; feed->pair_at++) {
    if (!simulation_set(&feed->split->simulation, &feed->pair[feed->pair_at], feed->sampler, error) ||
        !build_masks(feed, error) || !schedule_prepare(&feed->masks, feed->split->simulation.kernels, error))
      return false;
    schedule_run(&feed->masks, feed->split->simulation.world);
  }
  return true;
}

/* Rounds and epochs have 10 and 20 bits. */
static void move_slices(struct feed *feed, uint32_t epoch) {
  struct simulation *simulation = &feed->split->simulation;
  if (!feed->augment.kinds) return;
  feed->augment.epoch = feed->setup.round << 20 | epoch;
  feed->moves.augment = feed->augment;
  if (simulation->cache)
    slice_cache_augment(simulation->cache, &feed->augment);
  else
    transform_run(&feed->moves, 0, feed->slices);
}

bool feed_epoch(struct feed *feed, uint32_t epoch, struct error *error) {
  if (!feed->setup.validate) shuffle(feed, epoch);
  slice_cache_order(&feed->split->simulation, feed->order, feed->slices);
  move_slices(feed, epoch);
  feed->scan = first_scan(feed, epoch);
  if (is_exact(feed) && !draw_exactly(feed, error)) return false;
  if (!is_exact(feed)) schedule_run(&feed->masks, feed->split->simulation.world);
  return device_finish(feed->split->simulation.device, error);
}

/* ---- a batch ------------------------------------------------------------------------------------------- */

/* With a cache the samples' rows of SLICE are known only now. */
static void run_bring(struct world *world, void *context) {
  const struct feed *feed = context;
  size_t count = world_rows(world, TABLE_ENV);
  slice_cache_take(feed->split->simulation.cache, feed->order + feed->sample, count, feed->rows);
  world_write(world, EPOCH_slice, feed->sample, count, feed->rows);
}

/* feed_add_bring adds what the window holds. */
static const struct system bring_samples = {.name = "bring_samples",
                                            .doc = "slices of these samples into the device's window (data.window)",
                                            .parts = SET(EPOCH_slice),
                                            .loads = true,
                                            .run = run_bring};

void feed_add_bring(struct feed *feed, struct schedule *schedule) {
  if (!feed->split->simulation.plan.window) return;
  schedule_add(schedule, &bring_samples, feed)->parts |= slice_cache_parts(&feed->split->simulation);
  slice_cache_add_transform(&feed->split->simulation, schedule);
}

static void run_deal(struct world *world, void *context) {
  const struct feed *feed = context;
  size_t rows = world_rows(world, TABLE_ENV);
  world_copy(world, EPOCH_slice, feed->sample, ENV_slice, 0, rows);
  world_copy(world, EPOCH_mask, feed->sample, ENV_mask, 0, rows);
}

static const struct system deal = {.name = "deal",
                                   .doc = "give each environment its sample of the running epoch",
                                   .reads = SET(EPOCH_slice) | SET(EPOCH_mask),
                                   .writes = SET(ENV_slice) | SET(ENV_mask),
                                   .run = run_deal};

static void add_scores(struct feed *feed, struct schedule *schedule) {
  const struct system *metric = metric_list[feed->split->options.reward.metric].system;
  schedule_add(schedule, &system_score_ssim, &feed->split->simulation);
  schedule_add(schedule, &system_score_error, &feed->split->simulation);
  if (feed->setup.policy && metric != &system_score_ssim && metric != &system_score_error)
    schedule_add(schedule, metric, &feed->split->simulation);
}

void feed_add_batch(struct feed *feed, struct schedule *schedule) {
  struct simulation *simulation = &feed->split->simulation;
  feed_add_bring(feed, schedule);
  schedule_add(schedule, &deal, feed);
  if (feed->setup.learns && !feed->setup.validate) return;
  simulation_add_observe(simulation, schedule);
  if (!feed->setup.validate) {
    simulation_add_encode(simulation, schedule);
    return;
  }
  simulation_add_network(simulation, schedule);
  add_scores(feed, schedule);
}

void feed_deal(struct feed *feed, size_t first, size_t count) {
  struct simulation *simulation = &feed->split->simulation;
  REQUIRE(first + count <= feed->slices, "samples %zu to %zu of an epoch of %zu", first, first + count,
          feed->slices);
  world_set_rows(simulation->world, TABLE_ENV, count);
  simulation->pass = (struct pass){.images = count};
  feed->sample = first;
}

const struct system *const feed_systems[] = {&chance_masks, &repeat_scans, &keep_masks, &bring_samples, &deal, NULL};
