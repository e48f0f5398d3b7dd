#include "systems/training/minibatch.h"

#include "engine/base/log.h"
#include "systems/coils/maps.h"
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

bool minibatch_pairs(struct minibatches *batches, struct error *error) {
  const char *accelerations = batches->split->options.train.accelerations,
             *initials = batches->split->options.train.initial_accelerations;
  size_t count = option_count(accelerations), others = option_count(initials);
  char word[32];
  uint32_t n = scan_shape_of(&batches->split->options).width, acceleration, initial;
  if (!count || count != others || count > PAIRS_MOST)
    return fail_usage(
        error,
        "train.accelerations has %zu entries and train.initial_accelerations %zu; they are pairs, "
        "1 to %d of them",
        count, others, PAIRS_MOST);
  for (batches->pairs = 0; batches->pairs < count; batches->pairs++) {
    accelerations = option_next(accelerations, word, sizeof word);
    if (!read_number("accelerations", word, n, &acceleration, error)) return false;
    initials = option_next(initials, word, sizeof word);
    if (!read_number("initial_accelerations", word, n, &initial, error) ||
        !make_pair(&batches->pair[batches->pairs], &batches->split->options, acceleration, initial, error))
      return false;
  }
  return true;
}

double minibatch_chance(const struct acquisition *pair) {
  double wanted = (double)scan_shape_choices(&pair->shape) / pair->acceleration - pair->initial_lines;
  uint32_t free_lines = scan_shape_choices(&pair->shape) - pair->initial_lines;
  return free_lines && wanted > 0 ? wanted / free_lines : 0;
}

/* ---- its masks ----------------------------------------------------------------------------------------- */

static size_t actions_of(const struct minibatches *batches) {
  return scan_shape_of(&batches->split->options).actions;
}

const struct system system_load_pairs = {.name = "load_pairs",
                                         .doc = "what masks of every pair of accelerations start with, and their chances",
                                         .parts = SET(PAIR_initial) | SET(PAIR_chance),
                                         .loads = true};

static void write_pairs(struct minibatches *batches) {
  size_t n = actions_of(batches);
  uint8_t *initial = ARENA_NEW(batches->arena, uint8_t, PAIRS_MOST * n);
  uint32_t chance[PAIRS_MOST] = {0};
  for (size_t p = 0; p < batches->pairs; p++) {
    acquisition_initial(&batches->pair[p], initial + p * n);
    chance[p] = (uint32_t)nearbyint(0x1p31 * minibatch_chance(&batches->pair[p]));
  }
  struct world *world = batches->split->simulation.world;
  struct world_use before = world_enter(world, &system_load_pairs);
  world_write(world, PAIR_initial, 0, batches->pairs, initial);
  world_write(world, PAIR_chance, 0, batches->pairs, chance);
  world_leave(world, before);
}

/* Masks by scanning, with exact budgets. */
static bool is_exact(const struct minibatches *batches) {
  return batches->setup.policy || (!batches->setup.learns && batches->split->options.train.masks == MASKS_EXACT);
}

/* Fills a sampler's table for every pair, before any work. */
static bool check_sampler(const struct minibatches *batches, struct error *error) {
  struct arena *arena = arena_open();
  uint32_t *table = ARENA_NEW(arena, uint32_t, actions_of(batches));
  bool good = true;
  for (size_t p = 0; good && p < batches->pairs; p++)
    good = sampler_fill(batches->sampler, &batches->split->options, &batches->pair[p], table, error);
  arena_close(arena);
  return good;
}

/* Slices have one set of maps for all pairs: of the lines that each of them starts with. */
static bool limit_maps(struct minibatches *batches, struct error *error) {
  struct options *options = &batches->split->options;
  for (size_t p = 0; options->coils.maps == MAPS_ACQUIRED && p < batches->pairs; p++) {
    uint32_t lines = batches->pair[p].initial_lines;
    if (lines < MAPS_LINES_LEAST)
      return fail_usage(error,
                        "coils.maps is acquired, and entry %zu of train.initial_accelerations starts with %u line%s; maps need "
                        "%d next to each other at least: lower it, or set coils.maps to prescan",
                        p + 1, lines, plural(lines), MAPS_LINES_LEAST);
    if (lines / 2 * 2 < options->coils.lines) options->coils.lines = lines / 2 * 2;
  }
  return true;
}

/* A policy's scans are those that it was trained for, as those that masks are learned for. */
static bool find_masks(struct minibatches *batches, struct error *error) {
  if (batches->setup.policy || batches->setup.learns) {
    batches->pairs = 1;
    batches->sampler = &sampler_policy;
    return acquisition_only(&batches->pair[0], &batches->split->options, batches->arena, error);
  }
  if (!minibatch_pairs(batches, error) || !limit_maps(batches, error) ||
      !(batches->sampler = sampler_find(batches->split->options.train.sampler, error)))
    return false;
  if (!sampler_is_heuristic(batches->sampler))
    return fail_usage(error,
                      "train.sampler is %s; exact masks are of a heuristic, as random; train.method l2sr "
                      "trains on a policy's",
                      batches->sampler->name);
  return !is_exact(batches) || check_sampler(batches, error);
}

/* ---- describing ---------------------------------------------------------------------------------------- */

/* The plan for data with so many slices: with a network where the scene's method is one of those that have one, which is what
 * is trained. */
static struct simulation_plan plan_of(const struct minibatches *batches, size_t slices) {
  const struct minibatch_setup *setup = &batches->setup;
  const struct options *options = &batches->split->options;
  size_t most = options->data.most, envs = setup->batch;
  if (most && most < slices) slices = most;
  if (is_exact(batches) && options->world.envs > envs) envs = options->world.envs;
  if (envs > slices && slices >= setup->batch) envs = slices;
  return (struct simulation_plan){.slices = slices,
                                  .envs = envs,
                                  .together = setup->made ? 0 : envs < slices ? envs : slices,
                                  .deciders = setup->policy ? DECIDES_POLICY : 0,
                                  .observe_every_step = setup->policy,
                                  .network = setup->images || (options->reconstruct.method != RECONSTRUCT_AUTO &&
                                                               reconstruction_trains(options)),
                                  .epoch_rows = slices,
                                  .pairs = PAIRS_MOST,
                                  .columns = (batches->augment.kinds ? AUGMENT_COLUMNS : 0) | setup->columns |
                                             SET(EPOCH_slice) | SET(EPOCH_mask) | SET(PAIR_initial) |
                                             SET(PAIR_chance),
                                  .prefix = setup->validate ? "validation " : NULL};
}

static void open_list(const struct minibatches *batches, struct schedule *list, const char *name) {
  schedule_open(list, &component_schema);
  schedule_name(list, "%s%s", batches->setup.validate ? "validation " : "", name);
}

static bool build_lists(struct minibatches *batches, struct error *error) {
  open_list(batches, &batches->ordering, "order");
  slice_order_add(&batches->order, &batches->ordering);
  open_list(batches, &batches->masks, "masks");
  minibatch_add_masks(batches, &batches->masks);
  return schedule_close(&batches->ordering, error) && schedule_close(&batches->masks, error);
}

/* Where the data are opened later, only the columns of the lists are asked for. */
static bool describe_lists(struct minibatches *batches, struct error *error) {
  const struct options *options = &batches->split->options;
  const struct sampler *sampler = is_exact(batches) ? batches->sampler : &sampler_list[0];
  struct simulation_plan plan = plan_of(batches, batches->setup.opens ? UINT32_MAX : lists_slices(options));
  plan.window = !batches->setup.opens && slice_cache_planned(options, plan.slices, plan.together);
  return simulation_describe(&batches->split->simulation, options, &plan, sampler, error) && build_lists(batches, error);
}

bool minibatch_describe(struct minibatches *batches, struct split *split, const struct minibatch_setup *setup,
                        struct arena *arena, struct error *error) {
  *batches = (struct minibatches){.setup = *setup, .split = split, .arena = arena};
  batches->order = (struct slice_order){.simulation = &split->simulation, .kept = setup->validate};
  bool good = augment_read(&batches->augment, &split->options, error);
  if (setup->validate || setup->made) batches->augment.kinds = 0; /* training slices alone are moved, and no benchmark's */
  return (good && find_masks(batches, error) && describe_lists(batches, error)) ||
         fail_in(error, "%s data", setup->validate ? "validation" : "training");
}

void minibatch_note(const struct minibatches *batches, struct lists *lists, const char *stage, struct arena *arena) {
  const char *masks = batches->setup.learns ? "masks: learned" : "masks: every action by chance";
  if (is_exact(batches)) {
    lists_note_scans(lists, stage, &batches->split->simulation, arena);
    lists_put_set(lists, stage, &batches->split->simulation, arena);
  } else if (!batches->setup.validate)
    lists_note(lists, stage, masks);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

struct simulation_plan minibatch_plan(const struct minibatches *batches, size_t slices) {
  struct simulation_plan plan = plan_of(batches, slices);
  plan.columns |= batches->masks.touched;
  return plan;
}

bool minibatch_open(struct minibatches *batches, struct error *error) {
  struct simulation *simulation = &batches->split->simulation;
  batches->slices = batches->split->report.slices;
  batches->order.count = batches->slices;
  batches->order.slice = ARENA_NEW(batches->arena, uint32_t, batches->slices);
  batches->rows = ARENA_NEW(batches->arena, uint32_t, world_capacity(simulation->world, TABLE_SLICE));
  for (size_t i = 0; i < batches->slices; i++) batches->order.slice[i] = (uint32_t)i;
  write_pairs(batches);
  return build_lists(batches, error) && schedule_prepare(&batches->masks, simulation->kernels, error) &&
         (!batches->augment.kinds || simulation->cache ||
          transform_open(&batches->moves, simulation->world, batches->slices, error));
}

void minibatch_close(struct minibatches *batches) {
  transform_close(&batches->moves);
}

/* ---- an epoch ------------------------------------------------------------------------------------------ */

/* A multiple of the slices, so that sample i takes entry i of the order. Training numbers its scans below
 * 2^31, validation above. */
static uint32_t first_scan(const struct minibatches *batches, uint32_t epoch) {
  uint32_t slices = (uint32_t)batches->slices, epochs = 0x80000000u / slices;
  return slices * (batches->setup.validate ? epochs : epoch % epochs);
}

static void run_chance(struct world *world, void *context) {
  const struct minibatches *batches = context;
  kernel_run(world_kernels(world), "mask_chance", batches->slices,
             ARGS(world_in(world, SLICE_order), world_in(world, PAIR_initial), world_in(world, PAIR_chance),
                  world_out(world, EPOCH_slice), world_out(world, EPOCH_mask), arg_u32(batches->scan),
                  arg_u32((uint32_t)world_rows(world, TABLE_SLICE)), arg_u32((uint32_t)batches->pairs),
                  arg_u32(batches->split->options.world.seed)));
}

static const struct system chance_masks = {.name = "chance_masks",
                                           .doc = "a slice and a mask for every sample, actions by chance",
                                           .reads = SET(SLICE_order) | SET(PAIR_initial) | SET(PAIR_chance),
                                           .writes = SET(EPOCH_slice) | SET(EPOCH_mask),
                                           .kernels = {"mask_chance"},
                                           .run = run_chance};

/* The masks of the environments' scans into their rows of EPOCH, where the scan takes this pair. */
static void run_keep(struct world *world, void *context) {
  const struct minibatches *batches = context;
  kernel_run(world_kernels(world), "mask_keep", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_scan), world_in(world, ENV_slice), world_in(world, ENV_mask),
                  arg_unnamed(world_part(world, EPOCH_slice)), arg_unnamed(world_part(world, EPOCH_mask)),
                  arg_u32((uint32_t)batches->row), arg_u32((uint32_t)batches->pair_at),
                  arg_u32((uint32_t)batches->pairs), arg_u32(batches->split->options.world.seed)));
}

static const struct system keep_masks = {.name = "keep_masks",
                                         .doc = "slice and mask of every scan as a sample of the epoch",
                                         .reads = SET(ENV_scan) | SET(ENV_slice) | SET(ENV_mask),
                                         .parts = SET(EPOCH_slice) | SET(EPOCH_mask),
                                         .kernels = {"mask_keep"},
                                         .run = run_keep};

/* Scans of as many samples as there are environments. */
static bool next_scans(struct world *world, void *context, size_t turn) {
  struct minibatches *batches = context;
  struct pass pass;
  if (!pass_take(&pass, turn, batches->slices, world_capacity(world, TABLE_ENV))) return false;
  batches->row = pass.first;
  simulation_number(&batches->split->simulation, batches->scan + (uint32_t)pass.first, pass.images);
  batches->split->simulation.rows = (struct rollout_rows){.stride = world_rows(world, TABLE_ENV), .before = true};
  return true;
}

static const struct system repeat_scans = {
    .name = "scans", .doc = "as many samples of the epoch as there are environments",
    .covers = TABLE_BIT(TABLE_EPOCH), .next = next_scans};

void minibatch_add_masks(struct minibatches *batches, struct schedule *schedule) {
  if (!is_exact(batches)) {
    schedule_add(schedule, &chance_masks, batches);
    return;
  }
  schedule_add(schedule, &repeat_scans, batches);
  slice_cache_add_bring(&batches->split->simulation, schedule);
  simulation_add_restart(&batches->split->simulation, schedule);
  simulation_add_scan(&batches->split->simulation, schedule, NULL);
  schedule_add(schedule, &keep_masks, batches);
  schedule_add(schedule, &system_end, NULL);
}

/* Every scan is run for every pair of the mixture; which one it takes decides what is kept. */
static bool draw_exactly(struct minibatches *batches, struct error *error) {
  for (batches->pair_at = 0; batches->pair_at < batches->pairs; batches->pair_at++) {
    if (!simulation_set(&batches->split->simulation, &batches->pair[batches->pair_at], batches->sampler, error) ||
        !build_lists(batches, error) || !schedule_prepare(&batches->masks, batches->split->simulation.kernels, error))
      return false;
    schedule_run(&batches->masks, batches->split->simulation.world);
  }
  return true;
}

/* Rounds and epochs have 10 and 20 bits. */
static void move_slices(struct minibatches *batches, uint32_t epoch) {
  struct simulation *simulation = &batches->split->simulation;
  if (!batches->augment.kinds) return;
  batches->augment.epoch = batches->setup.round << 20 | epoch;
  batches->moves.augment = batches->augment;
  if (simulation->cache)
    slice_cache_augment(simulation->cache, &batches->augment);
  else
    transform_run(&batches->moves, 0, batches->slices);
}

bool minibatch_epoch(struct minibatches *batches, uint32_t epoch, struct error *error) {
  batches->order.key = epoch;
  schedule_run(&batches->ordering, batches->split->simulation.world);
  move_slices(batches, epoch);
  batches->scan = first_scan(batches, epoch);
  if (is_exact(batches) && !draw_exactly(batches, error)) return false;
  if (!is_exact(batches)) schedule_run(&batches->masks, batches->split->simulation.world);
  return device_finish(batches->split->simulation.device, error);
}

/* ---- a batch ------------------------------------------------------------------------------------------- */

/* With a cache the samples' rows of SLICE are known only now. */
static void run_bring(struct world *world, void *context) {
  const struct minibatches *batches = context;
  size_t count = world_rows(world, TABLE_ENV);
  slice_cache_take(batches->split->simulation.cache, batches->order.slice + batches->sample, count, batches->rows);
  world_write(world, EPOCH_slice, batches->sample, count, batches->rows);
}

/* minibatch_add_load adds what the window holds. */
static const struct system bring_samples = {.name = "bring_samples",
                                            .doc = "slices of these samples into the device's window (data.window)",
                                            .parts = SET(EPOCH_slice),
                                            .loads = true,
                                            .run = run_bring};

void minibatch_add_load(struct minibatches *batches, struct schedule *schedule) {
  if (!batches->split->simulation.plan.window) return;
  schedule_add(schedule, &bring_samples, batches)->parts |= slice_cache_parts(&batches->split->simulation);
  slice_cache_add_transform(&batches->split->simulation, schedule);
}

static void run_gather(struct world *world, void *context) {
  const struct minibatches *batches = context;
  size_t rows = world_rows(world, TABLE_ENV);
  world_copy(world, EPOCH_slice, batches->sample, ENV_slice, 0, rows);
  world_copy(world, EPOCH_mask, batches->sample, ENV_mask, 0, rows);
}

static const struct system gather_samples = {.name = "gather_samples",
                                   .doc = "give each environment its sample of the running epoch",
                                   .reads = SET(EPOCH_slice) | SET(EPOCH_mask),
                                   .writes = SET(ENV_slice) | SET(ENV_mask),
                                   .run = run_gather};

void minibatch_add(struct minibatches *batches, struct schedule *schedule) {
  struct simulation *simulation = &batches->split->simulation;
  minibatch_add_load(batches, schedule);
  schedule_add(schedule, &gather_samples, batches);
  if (batches->setup.learns && !batches->setup.validate) return;
  if (batches->setup.policy || batches->setup.validate || !reconstruction_chosen(&batches->split->options, true)->views)
    simulation_add_observe(simulation, schedule);
  if (batches->setup.images) {
    simulation_add_reconstruct(simulation, schedule);
    return;
  }
  if (!batches->setup.validate) {
    simulation_add_encode(simulation, schedule);
    return;
  }
  const struct metric *metric = &metric_list[batches->split->options.reward.metric];
  simulation_add_network(simulation, schedule);
  schedule_add(schedule, &system_score_ssim, simulation);
  schedule_add(schedule, &system_score_error, simulation);
  if (batches->setup.policy && metric->system != &system_score_ssim && metric->system != &system_score_error)
    simulation_add_score(simulation, schedule, metric);
}

void minibatch_select(struct minibatches *batches, size_t first, size_t count) {
  struct simulation *simulation = &batches->split->simulation;
  REQUIRE(first + count <= batches->slices, "samples %zu to %zu of an epoch of %zu", first, first + count,
          batches->slices);
  world_set_rows(simulation->world, TABLE_ENV, count);
  simulation->pass = (struct pass){.images = count};
  batches->sample = first;
}

const struct system *const minibatch_systems[] = {&chance_masks, &repeat_scans, &keep_masks, &bring_samples, &gather_samples, NULL};
