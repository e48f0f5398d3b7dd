/* Opening a training by its row. */
#include "systems/training/training.h"

#include "engine/base/log.h"
#include "systems/networks/checkpoint.h"
#include "systems/training/rank_card.h"
#include "systems/scan/slice_cache.h"

#include <string.h>

/* ---- what is refused ----------------------------------------------------------------------------------- */

static bool find_setting(struct acquisition *setting, const struct task *task, const struct options *options,
                         struct arena *arena, struct error *error) {
  return !task->one_setting || acquisition_only(setting, options, arena, error);
}

bool training_check(const struct task *task, struct device *device, const struct options *options,
                    uint32_t rounds, struct error *error) {
  struct task_check check = {.device = device, .options = options, .rounds = rounds, .arena = arena_open()};
  bool good = find_setting(&check.acquisition, task, options, check.arena, error) &&
              (!task->check || task->check(&check, error));
  arena_close(check.arena);
  return good;
}

/* ---- its own state ------------------------------------------------------------------------------------- */

void *training_own(const struct training *training, size_t bytes) {
  REQUIRE(training->task->bytes >= bytes, "task %s keeps %zu bytes of its own, not %zu", training->task->name,
          training->task->bytes, bytes);
  return training->own;
}

static bool make(struct training *training, const struct task *task, const struct options *options,
                 struct arena *arena) {
  *training = (struct training){.task = task, .arena = arena, .options = options, .event_each = 1, .event_per = 1};
  return (!task->bytes || (training->own = arena_try(arena, task->bytes))) &&
         (training->list = ARENA_TRY(arena, struct schedule, TASK_LISTS));
}

static void set_split(const struct training *training, struct split *split, enum data_split which) {
  split->options = *training->options;
  split->options.data.split = which;
  if (training->task->set) training->task->set(&split->options);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static bool is_elsewhere(const struct task_list *row) {
  return row->in_training || row->in_own;
}

static const struct schedule *list_at(const struct training *training, size_t place) {
  const struct task_list *row = &training->task->lists[place];
  if (row->in_training) return (const struct schedule *)((const char *)training + row->in_training);
  if (row->in_own) return (const struct schedule *)((const char *)training->own + row->in_own);
  return &training->list[place];
}

static void fill(struct training *training, const struct task_list *row, struct schedule *schedule) {
  for (size_t i = 0; row->rows && row->rows[i]; i++) schedule_add(schedule, row->rows[i], training);
  if (row->fill) row->fill(training, schedule);
}

static bool build_lists(struct training *training, struct error *error) {
  const struct task_list *row = training->task->lists;
  for (size_t i = 0; i < TASK_LISTS; i++) {
    if (!row[i].name || is_elsewhere(&row[i])) continue;
    schedule_open(&training->list[i], &component_schema);
    schedule_name(&training->list[i], "%s", row[i].name);
    fill(training, &row[i], &training->list[i]);
    if (!schedule_close(&training->list[i], error)) return false;
  }
  return true;
}

/* Networks have told what they need. */
static bool open_lists(struct training *training, struct error *error) {
  bool good = build_lists(training, error);
  for (size_t i = 0; good && i < TASK_LISTS; i++)
    if (!training->task->lists[i].host)
      good = schedule_prepare(&training->list[i], training->train.simulation.kernels, error);
  return good;
}

const struct system *training_host(const struct training *training, size_t place, int row) {
  return &training->list[place].system[row];
}

static struct world *world_at(const struct training *training, size_t place) {
  return (training->task->lists[place].validates ? &training->validation : &training->train)->simulation.world;
}

void training_run_list(struct training *training, size_t place) {
  schedule_run(&training->list[place], world_at(training, place));
}

bool training_look(const struct training *training, size_t place, const struct training_column *columns,
                   struct error *error) {
  struct world *world = world_at(training, place);
  struct world_use before = world_enter(world, training_host(training, place, 0));
  for (; columns->to; columns++) world_read(world, columns->component, columns->row, columns->count, columns->to);
  world_leave(world, before);
  return device_finish(training->device, error);
}

/* What is brought into a window follows from what lists look at, so they are built before it is known. */
static bool describe(struct training *training, struct error *error) {
  bool (*task)(struct training *training, struct error *error) = training->task->describe;
  set_split(training, &training->train, SPLIT_TRAIN);
  set_split(training, &training->validation, SPLIT_VAL);
  return task(training, error) && build_lists(training, error) &&
         (training->device || (task(training, error) && build_lists(training, error)));
}

static bool describe_split(struct training *training, struct split *split, const struct sampler *sampler,
                           struct error *error) {
  size_t slices = training->device ? 1 : lists_slices(&split->options);
  struct simulation_plan plan = training->task->plan(training, split, slices);
  if (split == &training->validation) plan.prefix = "validation ";
  plan.window = !training->device && slice_cache_planned(&split->options, plan.slices, plan.together);
  return simulation_describe(&split->simulation, &split->options, &plan, sampler, error);
}

bool training_describe_splits(struct training *training, const struct sampler *sampler, struct error *error) {
  return describe_split(training, &training->train, sampler, error) &&
         describe_split(training, &training->validation, sampler, error);
}

void training_note_scans(struct training *training, struct lists *lists, const char *stage, struct arena *arena) {
  lists_note_scans(lists, stage, &training->train.simulation, arena);
  lists_note_scans(lists, stage, &training->validation.simulation, arena);
  if (training->task->unset) return;
  lists_put_set(lists, stage, &training->train.simulation, arena);
  lists_put_set(lists, stage, &training->validation.simulation, arena);
}

/* A unit carries a column that it reads before it writes it: an earlier unit has left it. */
static bool find_carried(struct training *training, struct error *error) {
  struct arena *arena = arena_open();
  struct schedule *unit = ARENA_NEW(arena, struct schedule, 1);
  const struct task_list *row = training->task->lists;
  schedule_open(unit, &component_schema);
  for (; row < training->task->lists + TASK_LISTS; row++)
    if (row->unit) fill(training, row, unit);
  bool good = schedule_close(unit, error);
  training->carried = unit->carried;
  arena_close(arena);
  return good;
}

static bool put_carried(struct training *training, struct lists *lists, const char *stage, struct arena *arena,
                        struct error *error) {
  struct schedule *list = ARENA_NEW(arena, struct schedule, 1);
  if (!find_carried(training, error)) return false;
  const struct system save = trainer_carried(training->carried);
  schedule_open(list, &component_schema);
  schedule_name(list, "carried");
  if (training->carried) schedule_add(list, &save, NULL);
  lists_put(lists, stage, "for every checkpoint", list);
  return schedule_close(list, error);
}

bool training_describe(const struct task *task, const char *stage, struct lists *lists,
                       const struct options *options, struct arena *arena, struct error *error) {
  struct training *training = ARENA_NEW(arena, struct training, 1);
  const struct task_list *row = task->lists;
  if (!make(training, task, options, arena)) return fail_memory(error, "no host memory for a training");
  training->acquisition.budget = 1; /* lists do not depend on it */
  if (!describe(training, error) || !lists_put_data(lists, stage, &training->train.simulation, arena, error) ||
      !lists_put_data(lists, stage, &training->validation.simulation, arena, error))
    return false;
  (task->note ? task->note : training_note_scans)(training, lists, stage, arena);
  for (size_t i = 0; i < TASK_LISTS; i++)
    if (row[i].name) lists_put(lists, stage, row[i].when, list_at(training, i));
  return put_carried(training, lists, stage, arena, error);
}

/* ---- data ---------------------------------------------------------------------------------------------- */

component_set training_columns(const struct training *training, const struct split *split) {
  bool validates = split == &training->validation;
  const struct task_list *row = training->task->lists;
  component_set columns = 0;
  for (size_t i = 0; i < TASK_LISTS; i++)
    if (row[i].validates == validates && !is_elsewhere(&row[i])) columns |= training->list[i].touched;
  return columns;
}

static bool load_split(struct training *training, struct split *split, struct error *error) {
  bool validates = split == &training->validation;
  size_t slices;
  if (!split_find(split, &training->config, &slices, error)) return false;
  struct simulation_plan plan = training->task->plan(training, split, slices);
  plan.columns |= training_columns(training, split) & ~(validates ? training->task->shares : 0);
  if (validates) plan.prefix = "validation ";
  if (validates) plan.kernels = training->train.simulation.kernels;
  return split_load(split, training->device, plan, &training->config, training->arena, error) &&
         (!training->task->load || training->task->load(training, split, error));
}

static bool open_split(struct training *training, struct split *split, const char *name,
                       struct error *error) {
  return load_split(training, split, error) || fail_in(error, "%s data", name);
}

static bool open_data(struct training *training, struct error *error) {
  if (!find_setting(&training->acquisition, training->task, training->options, training->arena, error) ||
      !describe(training, error) || !open_split(training, &training->train, "training", error) ||
      !open_split(training, &training->validation, "validation", error))
    return false;
  world_share(training->validation.simulation.world, training->train.simulation.world,
              training->task->shares);
  return true;
}

/* ---- networks ------------------------------------------------------------------------------------------ */

static bool open_network(struct training *training, const struct task_network *network, struct error *error) {
  if (!network->open(training, error)) return false;
  if (!network->optimiser) return true;
  struct optimiser_setup setup = network->optimiser(training->options);
  return optimise_open(&training->optimiser, network->graph(training), &setup, error);
}

/* The first is opened with room for the others. */
static bool open_networks(struct training *training, struct error *error) {
  const struct task_network *const *network = training->task->networks;
  bool good = true;
  for (size_t i = 1; good && *network && network[i]; i++)
    good = !network[i]->measure || network[i]->measure(training, &training->beside[i - 1], error);
  for (size_t i = 0; good && network[i]; i++) good = open_network(training, network[i], error);
  return good;
}

static bool begin_networks(struct training *training, struct error *error) {
  for (const struct task_network *const *network = training->task->networks; *network; network++)
    if ((*network)->begin && !(*network)->begin(training, error)) return false;
  return true;
}

/* ---- files --------------------------------------------------------------------------------------------- */

void training_made_from(struct training *training, const char *name, const char *value) {
  struct run_origin *origin = training->run.origin;
  while (origin->name) origin++;
  REQUIRE(origin < training->run.origin + RUN_ORIGINS, "a training has at most %d origins", RUN_ORIGINS);
  origin->name = name;
  snprintf(origin->value, sizeof origin->value, "%s", value);
}

static bool name_origins(struct training *training, struct error *error) {
  char hash[65];
  for (const struct task_network *const *network = training->task->networks; *network; network++) {
    const char *name = (*network)->origin ? (*network)->origin(training) : "";
    if (!*name) continue;
    if (!checkpoint_hash((*network)->graph(training), hash, error)) return false;
    training_made_from(training, name, hash);
  }
  const struct simulation *scored = &training->train.simulation;
  if (!scored->classifier || scored->plan.classes) return true;
  if (!checkpoint_hash(scored->classifier->graph, hash, error)) return false;
  training_made_from(training, "classifier", hash);
  return true;
}

/* What is known before data and networks are opened, which takes long: a training of another scene ends here. */
static bool name_files(struct training *training, struct error *error) {
  const struct task *task = training->task;
  struct run_files *run = &training->run;
  run->folder = training->config.folder;
  run->arena = training->arena;
  run->options = training->options;
  run->device = training->device;
  run->start = task->onward;
  run->network = task->reconstructs ? network_chosen(run->options)->facts->text
                 : task->network_by ? task->network_by(run->options)
                                    : task->network;
  run->selects = task->select != SELECT_NOTHING;
  run->reads = task->reads;
  run->reads_beside = task->reads_beside ? task->reads_beside(training->options) : NULL;
  return !run->folder || !training->config.resume || run_check_scene(run, error);
}

static bool open_files(struct training *training, struct error *error) {
  struct run_files *run = &training->run;
  run->optimiser = training->optimiser.device ? &training->optimiser : NULL;
  run->train = split_data(&training->train);
  run->validation = split_data(&training->validation);
  return name_origins(training, error) && find_carried(training, error) && trainer_open_files(training, error);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* How its updates are cut; where nobody counts on the order of sums, into as many parts as there are ranks. Checkpoints keep
 * the number. */
static bool set_shards(struct training *training, struct error *error) {
  const struct training_config *config = &training->config;
  struct options *own = ARENA_NEW(training->arena, struct options, 1);
  struct device *device = training->device;
  *own = *training->options;
  if (!rank_card_shards(own, device->ranks, config->folder, config->resume, &own->train.shards, error)) return false;
  device->shards = own->train.reduce == REDUCE_FREE ? ranks_count(device->ranks) : own->train.shards;
  if (device->ranks) device->ranks->way = (enum ranks_way)own->train.exchange;
  training->options = own;
  return true;
}

static bool open_all(struct training *training, struct error *error) {
  const struct task *task = training->task;
  return set_shards(training, error) &&
         training_check(task, training->device, training->options, training->config.round + 1, error) &&
         name_files(training, error) && open_data(training, error) && open_networks(training, error) && task->open(training, error) &&
         open_lists(training, error) && trainer_open_history(training, error) &&
         begin_networks(training, error) && open_files(training, error) &&
         device_finish(training->device, error) && rank_card_compare(&training->run, training->done, error);
}

bool training_open(struct training *training, struct device *device, const struct options *options,
                   const struct training_config *config, struct error *error) {
  struct arena *arena = arena_open();
  bool made = make(training, config->task, options, arena);
  training->config = *config;
  training->device = device;
  if (made ? open_all(training, error) : fail_memory(error, "no host memory for a training")) return true;
  training_close(training);
  return false;
}

void training_close(struct training *training) {
  const struct task *task = training->task;
  run_close(&training->run);
  if (training->optimiser.device) optimise_close(&training->optimiser);
  if (task->close && training->own) task->close(training);
  for (size_t i = TASK_NETWORKS; training->own && i-- > 0;)
    if (task->networks[i]) task->networks[i]->close(training);
  split_close(&training->validation);
  split_close(&training->train);
  arena_close(training->arena);
  *training = (struct training){0};
}

bool training_stage(struct device *device, const struct options *options,
                    const struct training_config *config, struct error *error) {
  struct arena *arena = arena_open();
  struct training *training = ARENA_NEW(arena, struct training, 1);
  bool good = training_open(training, device, options, config, error);
  if (good) {
    good = (!config->opened || config->opened(training, config->stage, error)) &&
           trainer_run(training, error) &&
           (!config->ended || config->ended(training, config->stage, error));
    ranks_meet(good ? device->ranks : NULL); /* the next stage reads what the first rank has written */
    training_close(training);
  }
  arena_close(arena);
  return good;
}
