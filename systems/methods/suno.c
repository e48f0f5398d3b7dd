/* SUNO (arXiv 2501.09799; PROTOCOL 4.2): every training slice has a mask of its own, of which one line after the other is
 * exchanged for what is best for the slice; a scan takes the mask of the slice whose low frequencies are nearest. In turn
 * with a reconstructor that learns on these masks. */
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "systems/methods/fit.h"
#include "systems/methods/method.h"
#include "systems/methods/search.h"
#include "systems/sampling/geometry.h"
#include "systems/planned/nearest.h"
#include "systems/scan/oracle.h"
#include "systems/planned/planned.h"
#include "systems/scan/systems.h"

#include <string.h>

/* ---- its state ----------------------------------------------------------------------------------------- */

struct suno {
  struct nearest nearest;
  struct planner planner; /* of validation scans */
  size_t slices;
  uint8_t *masks; /* [slices][actions]: room */
  float *room;    /* for a number of each slice */
};

/* Places of its lists. */
enum suno_list { SUNO_BEFORE, SUNO_LOOK, SUNO_START, SUNO_EXCHANGE, SUNO_LOG, SUNO_SAVE };

static const struct sampler sampler_exchanged = {
    .name = "suno", .doc = "the line that is best for a slice", .kind = SAMPLER_ORACLE};

/* ---- systems ------------------------------------------------------------------------------------------- */

static void run_look(struct world *world, void *context) {
  nearest_scale(world, OWN(suno, context)->nearest.image, 0, world_rows(world, TABLE_ENV));
}

static const struct system look_low = {.name = "look_low",
                                       .doc = "what the initial lines show of every slice, for the dictionary",
                                       .reads = SET(ENV_magnitude),
                                       .kernels = {"nearest_scale"},
                                       .run = run_look};

/* The place of the running unit among a mask's lines. */
static uint32_t place_of(const struct training *training) {
  return (uint32_t)(training->done % training->acquisition.budget);
}

static void run_take_away(struct world *world, void *context) {
  kernel_run(world_kernels(world), "suno_take_away", world_rows(world, TABLE_ENV),
             ARGS(world_inout(world, ENV_mask), arg_unnamed(world_inout(world, ENV_rank)), world_in(world, SCENE_initial),
                  arg_u32(place_of(context))));
}

static const struct system take_away = {.name = "take_away",
                                        .doc = "take a line of every mask away",
                                        .reads = SET(ENV_mask) | SET(ENV_rank) | SET(SCENE_initial),
                                        .writes = SET(ENV_mask) | SET(ENV_rank),
                                        .kernels = {"suno_take_away"},
                                        .run = run_take_away};

static void run_swap(struct world *world, void *context) {
  const struct training *training = context;
  float tie, least;
  oracle_tie(&training->train.simulation, &tie, &least);
  kernel_run(world_kernels(world), "suno_swap", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, CANDIDATE_quality), world_in(world, ENV_action), arg_unnamed(world_in(world, ENV_rank)),
                  world_inout(world, ENV_mask), arg_unnamed(world_inout(world, ENV_quality)),
                  arg_u32(place_of(training)), arg_f32(tie), arg_f32(least)));
}

static const struct system swap_lines = {.name = "swap_lines",
                                         .doc = "the best line instead, or the same again",
                                         .reads = SET(CANDIDATE_quality) | SET(ENV_action) | SET(ENV_rank) |
                                                  SET(ENV_mask) | SET(ENV_quality),
                                         .writes = SET(ENV_mask) | SET(ENV_quality),
                                         .kernels = {"suno_swap"},
                                         .run = run_swap};

/* ---- lists --------------------------------------------------------------------------------------------- */

static void fill_look(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  schedule_add(schedule, &system_reset, simulation);
  simulation_add_observe(simulation, schedule);
  schedule_add(schedule, &look_low, training);
}

static void fill_exchange(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &take_away, training);
  oracle_add(&training->train.simulation, schedule, false);
  schedule_add(schedule, &swap_lines, training);
}

static void add_nearest(struct simulation *simulation, struct schedule *schedule) {
  schedule_add(schedule, &system_reset, simulation);
  planner_add(simulation, &planner_nearest, schedule);
}

static const struct search_way way = {&sampler_exchanged, add_nearest};

/* What the host does between lists. */
static const struct system load_initial = {.name = "load_initial",
                                           .doc = "the initial lines",
                                           .writes = SET(SCENE_initial),
                                           .loads = true},
                           load_masks = {.name = "load_masks",
                                         .doc = "masks that exchanges start from",
                                         .writes = SET(ENV_mask)},
                           save_quality = {.name = "save_quality",
                                           .doc = "what the masks are worth, for the log",
                                           .reads = SET(ENV_quality)},
                           save_masks = {.name = "save_masks", .doc = "the masks so far", .reads = SET(ENV_mask)};

/* ---- data ---------------------------------------------------------------------------------------------- */

static void set_candidates(struct options *options) {
  options->sampler.candidates = 0;
}

/* ---- options ------------------------------------------------------------------------------------------- */

static bool check_options(const struct task_check *check, struct error *error) {
  if (!search_check(check->options, "suno", error)) return false;
  return geometry_chosen(check->options)->columns ||
         fail_usage(error, "train.method is suno, which exchanges lines, and acquisition.geometry is %s; set it to lines, or "
                           "train.method to lbcs",
                    geometry_chosen(check->options)->name);
}

/* ---- masks to start from ------------------------------------------------------------------------------- */

/* Draws a mask's lines one after the other by weight, of those that are free. */
static void draw_mask(const struct training *training, const uint32_t *weight, uint32_t slice, uint8_t *mask) {
  const struct acquisition *scan = &training->acquisition;
  acquisition_initial(scan, mask);
  for (uint32_t t = 0; t < scan->budget; t++) {
    uint64_t total = 0, before = 0;
    for (size_t i = 0; i < scan->shape.actions; i++)
      total += mask[i] || scan_shape_is_padded(&scan->shape, i) ? 0 : weight[i];
    uint64_t at = (uint64_t)random_words(training->options->world.seed, STREAM_MASK, slice, t).word[0] * total >> 32;
    for (size_t i = 0; i < scan->shape.actions; i++) {
      uint64_t own = mask[i] || scan_shape_is_padded(&scan->shape, i) ? 0 : weight[i];
      if (at >= before && at < before + own) {
        mask[i] = 1;
        break;
      }
      before += own;
    }
  }
}

static bool draw_masks(struct training *training, struct error *error) {
  struct suno *suno = OWN(suno, training);
  const struct acquisition *scan = &training->acquisition;
  struct arena *arena = arena_open();
  uint32_t *weight = ARENA_NEW(arena, uint32_t, scan->shape.actions);
  const struct sampler *sampler = sampler_find("variable_density", error);
  bool good = sampler && sampler_fill(sampler, training->options, scan, weight, error);
  for (size_t i = 0; good && i < suno->slices; i++)
    draw_mask(training, weight, (uint32_t)i, suno->masks + i * scan->shape.actions);
  arena_close(arena);
  return good;
}

static struct masks_setup masks_setup(const struct training *training) {
  struct masks_setup setup = fit_masks_setup(training);
  size_t scans = world_capacity(training->validation.simulation.world, TABLE_ENV);
  setup.batch = training->options->network.batch < scans ? training->options->network.batch : scans;
  return setup;
}

/* Those of the stage that config names: a dictionary is of the training's slices. */
static bool read_masks(struct training *training, struct nearest *nearest, uint8_t **masks, struct error *error) {
  const char *path = training->config.policy;
  struct masks_setup setup = masks_setup(training);
  size_t slices = training->train.report.slices;
  if (!nearest_load(nearest, path, &setup, training->arena, masks, error)) return fail_in(error, "%s", path);
  if (nearest->entries != slices)
    return fail(error,
                "%s: it has masks of %zu slices, and data.path %s has %zu training slices; use the data that it was made of",
                path, nearest->entries, training->options->data.path, slices);
  char hash[65];
  hash_hex(*masks, nearest->entries * nearest->actions, hash);
  training_made_from(training, "masks", hash);
  return true;
}

static bool start_masks(struct training *training, struct error *error) {
  struct suno *suno = OWN(suno, training);
  struct nearest before = {0};
  uint8_t *masks = NULL;
  if (!training->config.policy) return draw_masks(training, error);
  bool good = read_masks(training, &before, &masks, error);
  if (good) memcpy(suno->masks, masks, before.entries * before.actions);
  nearest_close(&before);
  return good;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_dictionary(struct training *training, struct error *error) {
  struct suno *suno = OWN(suno, training);
  struct masks_setup setup = masks_setup(training);
  suno->slices = training->train.report.slices;
  suno->masks = arena_try_array(training->arena, suno->slices, training->acquisition.shape.actions);
  suno->room = arena_try_array(training->arena, sizeof(float), suno->slices);
  if (!suno->masks || !suno->room) return fail_memory(error, "no host memory for masks of %zu slices", suno->slices);
  suno->planner.own = &suno->nearest;
  suno->planner.steps = 1;
  training->validation.simulation.planner = &suno->planner;
  return nearest_open(&suno->nearest, &setup, suno->slices, error) &&
         planner_open(&suno->planner, &planner_nearest, &setup, error) && start_masks(training, error);
}

/* Both worlds' scans start from the initial lines; those of training slices then have masks of their own. */
static bool put_masks(struct training *training, struct error *error) {
  struct suno *suno = OWN(suno, training);
  struct world *world = training_world(training);
  struct arena *arena = arena_open();
  uint8_t *initial = ARENA_NEW(arena, uint8_t, training->acquisition.shape.actions);
  acquisition_initial(&training->acquisition, initial);
  world_put(world, &load_initial, SCENE_initial, 0, 1, initial);
  world_put(training->validation.simulation.world, &load_initial, SCENE_initial, 0, 1, initial);
  simulation_restart(&training->train.simulation, 0, suno->slices);
  training_run_list(training, SUNO_LOOK);
  world_put(world, training_host(training, SUNO_START, 0), ENV_mask, 0, suno->slices, suno->masks);
  arena_close(arena);
  return device_finish(training->device, error);
}

static bool count_units(struct training *training, struct error *error) {
  (void)error;
  const struct acquisition *scan = &training->acquisition;
  size_t tried = scan_shape_choices(&scan->shape) - scan->initial_lines - scan->budget + 1;
  training->wanted = (uint64_t)scan->budget * training->options->suno.passes;
  training->each = training->log_every = training->save_every = training->options->suno.log_every;
  training->work = (double)OWN(suno, training)->slices * (double)tried;
  log_info("masks of %zu slices, each of %u initial and %u more lines: %.4g images for a pass", OWN(suno, training)->slices,
           scan->initial_lines, scan->budget, training->work * scan->budget);
  return true;
}

static void close_dictionary(struct training *training) {
  struct suno *suno = OWN(suno, training);
  planner_close(&suno->planner);
  nearest_close(&suno->nearest);
}

static const struct task_network dictionary = {.open = open_dictionary, .close = close_dictionary, .begin = put_masks};

/* ---- the task ------------------------------------------------------------------------------------------ */

static void step(struct training *training) {
  training->train.simulation.taken = training->acquisition.budget - 1;
  training_run_list(training, SUNO_EXCHANGE);
}

static bool log_step(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct suno *suno = OWN(suno, training);
  if (!training_look(training, SUNO_LOG, COLUMNS({ENV_quality, 0, suno->slices, suno->room}), error)) return false;
  for (size_t i = 0; i < suno->slices; i++) values[0] += (double)suno->room[i] / (double)suno->slices;
  return true;
}

static bool get_masks(const struct training *training, struct error *error) {
  struct suno *suno = OWN(suno, training);
  return training_look(training, SUNO_SAVE, COLUMNS({ENV_mask, 0, suno->slices, suno->masks}), error);
}

static bool validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct suno *suno = OWN(suno, training);
  if (!get_masks(training, error)) return false;
  device_write(training->device, suno->nearest.mask, 0, suno->slices * suno->nearest.actions, suno->masks);
  return search_validate(training, values, error);
}

static bool write_search(const struct training *training, struct store *store, struct error *error) {
  struct suno *suno = OWN(suno, training);
  return get_masks(training, error) && nearest_write(&suno->nearest, suno->masks, store, error);
}

const struct task task_suno = {
    SEARCH_TASK,
    .name = "masks",
    .network = "suno",
    .unit = "exchange",
    .reads = KEYS("data.", "import.", "acquisition.", "world.", "network.", "reconstruct.", "varnet.",
                  "reward.metric", "sampler.polynomial_power"),
    .more = "suno.passes",
    .facts = &way,
    .bytes = sizeof(struct suno),
    .networks = {&network_fixed_reconstructor, &dictionary},
    .lists = {[SUNO_BEFORE] = {"restart", "before the first exchange",
                               .in_training = offsetof(struct training, train.simulation.restart)},
              [SUNO_LOOK] = {"look", "before the first exchange", .fill = fill_look},
              [SUNO_START] = {"start", "before the first exchange", .host = true, .rows = SYSTEMS(&load_masks, &load_initial)},
              [SUNO_EXCHANGE] = {"exchange", "for every line of the masks", .unit = true, .fill = fill_exchange},
              [SUNO_LOG] = {"log", "for every line of the log", .host = true, .rows = SYSTEMS(&save_quality)},
              [SUNO_SAVE] = {"checkpoint", "for every validation and checkpoint", .host = true, .rows = SYSTEMS(&save_masks)},
              SEARCH_LISTS("one scan of every validation slice, with the nearest mask")},
    .train = {"look",
              VALUES({"score", "%s/train", "the mean of the scene's metric over the training slices, each with its mask"}), 1},
    .across = "lines that could be exchanged",
    .curves = CURVES({"%s", "training, own masks", .logged = true, .value = 0},
                     {"%s", "validation, nearest masks", .validation = true}),
    .set = set_candidates,
    .plan = search_plan,
    .check = check_options,
    .open = count_units,
    .step = step,
    .log = log_step,
    .validate = validate,
    .write = write_search};

/* ---- the reconstructor's part of a round --------------------------------------------------------------- */

struct suno_round {
  struct fitting fitting; /* first */
  struct nearest nearest;
  struct planner planner; /* of validation samples */
  uint8_t *masks, *epoch; /* [slices][actions]: by slice; by sample */
};

static bool open_round(struct training *training, struct error *error) {
  struct suno_round *own = OWN(suno_round, training);
  struct masks_setup setup = fit_masks_setup(training);
  own->planner.own = &own->nearest;
  own->planner.steps = 1;
  own->fitting.planner = training->validation.simulation.planner = &own->planner;
  if (!read_masks(training, &own->nearest, &own->masks, error) ||
      !planner_open(&own->planner, &planner_nearest, &setup, error))
    return false;
  own->epoch = arena_try_array(training->arena, own->nearest.entries, own->nearest.actions);
  return own->epoch ? true : fail_memory(error, "no host memory for masks of %zu slices", own->nearest.entries);
}

static void close_round(struct training *training) {
  struct suno_round *own = OWN(suno_round, training);
  planner_close(&own->planner);
  nearest_close(&own->nearest);
}

static const struct task_network dictionary_of_round = {.open = open_round, .close = close_round};

static const struct system load_plans = {
    .name = "load_plans", .doc = "masks of the epoch's samples, those of their slices", .writes = SET(EPOCH_mask)};
enum { ROUND_PLANS = FIT_SCORES + 1 };

static bool begin_round(struct training *training, uint64_t epoch, struct error *error) {
  struct suno_round *own = OWN(suno_round, training);
  const struct minibatches *batches = &own->fitting.train;
  size_t actions = own->nearest.actions;
  if (!fit_begin(training, epoch, error)) return false;
  for (size_t i = 0; i < batches->slices; i++)
    memcpy(own->epoch + i * actions, own->masks + batches->order.slice[i] * actions, actions);
  world_put(training_world(training), training_host(training, ROUND_PLANS, 0), EPOCH_mask, 0, batches->slices, own->epoch);
  return device_finish(training->device, error);
}

static void fill_draw(struct training *training, struct schedule *schedule) {
  fit_add_plan(training, &planner_nearest, schedule);
}

static void note_masks(struct training *training, struct lists *lists, const char *stage, struct arena *arena) {
  (void)training, (void)arena;
  lists_note(lists, stage, "masks: those of the stage before");
}

const struct task task_suno_round = {
    FIT_TASK_OF(begin_round, note_masks),
    .reads = KEYS(FIT_READS, "acquisition."),
    .onward = "learn.reconstructor",
    .more = "alternate.epochs",
    .one_setting = true,
    .bytes = sizeof(struct suno_round),
    .networks = {&network_learned_reconstructor, &dictionary_of_round},
    .lists = {FIT_LISTS,
              [FIT_DRAW] = {"nearest masks", "after every epoch", .validates = true, .fill = fill_draw},
              [ROUND_PLANS] = {"plans", "before every epoch", .host = true, .rows = SYSTEMS(&load_plans)}},
    FIT_EPOCHS,
    .check = fit_check};

/* ---- the method ---------------------------------------------------------------------------------------- */

static void set(struct options *options, const struct task *task, uint32_t round) {
  if (task == &task_suno_round) fit_set_round(options, round);
}

const struct method method_suno = {
    .name = "suno",
    .doc = "masks of training slices by exchanging their lines, which scans of similar slices take, in turn with a "
           "reconstructor",
    .paper = "SUNO, Gautam et al. 2025, arXiv:2501.09799",
    .networks = "U-Net",
    .systems = SYSTEMS(&look_low, &take_away, &swap_lines),
    .stages = {&task_reconstructor, &task_suno, &task_suno_round},
    .alternates = true,
    .set = set};
