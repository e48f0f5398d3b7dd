#include "systems/methods/evaluate.h"

#include "engine/base/log.h"
#include "engine/base/round.h"
#include "systems/coils/maps.h"
#include "systems/classifier/classes.h"
#include "systems/methods/method.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/policy.h"
#include "systems/networks/reconstructor.h"
#include "systems/networks/tau.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/callback.h"
#include "systems/planned/planned.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/systems.h"
#include "systems/scan/slice_cache.h"
#include "systems/training/rank_card.h"

#include <math.h>
#include <string.h>

struct work {
  struct evaluation *evaluation;
  struct simulation simulation;
  struct reconstructor reconstructor; /* open where evaluate.reconstructor names one */
  struct policy policy;               /* likewise evaluate.policy */
  struct tau tau;                     /* open where a sampler of tau steps runs, likewise sampler.tau_step */
  struct planner planner;             /* open where a sampler plans its scans, likewise sampler.mask */
  const struct options *options;
  const struct evaluate_config *config;
  bool dense;    /* the policy looks at the reconstruction after every line */
  float *values; /* a column of ROLLOUT */
  uint32_t *scan, *action; /* where the running scans stand in the results; one column of ROLLOUT */
  float *pixels; /* one image */
  float *handed, *truth;     /* of a profile: images of a batch that it scores, and one slice's truth */
  struct scoring_part *part; /* [scan][steps + 1] of the run: for scores of volumes */
  struct progress progress;
  size_t done; /* scans */
  float *label;   /* [slice], where a classifier scores; NULL: none does */
  bool two;       /* slices have labels 0 and 1, and no other: auc is defined */
  uint8_t *own; /* [scan] of the run: this rank has made it */
};

/* ---- how a scene is evaluated --------------------------------------------------------------------------- */

static bool is_sequence(const struct sampler *sampler) {
  return sampler->kind == SAMPLER_SEQUENCE;
}

static bool is_planned(const struct sampler *sampler) {
  return sampler->kind == SAMPLER_PLANNED;
}

/* A sampler of the list is of the kind. */
static bool is_named(const struct options *options, bool (*is_kind)(const struct sampler *sampler)) {
  for (const struct sampler *sampler = sampler_list; sampler->name; sampler++)
    if (is_kind(sampler) && option_has(options->evaluate.samplers, sampler->name)) return true;
  return false;
}

static bool is_average(const struct sampler *sampler) {
  return sampler->kind == SAMPLER_AVERAGE_ORACLE;
}

/* dense: the policy looks at the reconstruction after every action. */
static unsigned deciders_of(const struct options *options, bool dense) {
  unsigned deciders = 0;
  if (*options->evaluate.policy) deciders |= DECIDES_POLICY;
  if (dense) deciders |= DECIDES_DENSE;
  if (is_named(options, sampler_is_oracle)) deciders |= DECIDES_ORACLE;
  if (is_named(options, is_sequence)) deciders |= DECIDES_SEQUENCE;
  if (is_named(options, is_planned)) deciders |= DECIDES_PLANNED;
  return deciders;
}

/* The plan for so many slices. An average oracle takes the line that is best for all slices: it scans them side by side. */
static struct simulation_plan plan_of(const struct options *options, bool dense, size_t slices) {
  bool every = options->evaluate.curves || dense;
  bool apart = options->world.envs < slices && !is_named(options, is_average);
  size_t envs = apart ? options->world.envs : slices;
  return (struct simulation_plan){.slices = slices,
                                  .envs = envs,
                                  .together = envs,
                                  .deciders = deciders_of(options, dense),
                                  .images = every ? IMAGES_EVERY_STEP : IMAGES_SCORED,
                                  .metrics = scoring_chosen(options) ? "" : options->evaluate.metrics,
                                  .hands_over = scoring_chosen(options),
                                  .network = *options->evaluate.reconstructor,
                                  .observe_every_step = *options->evaluate.policy,
                                  .record = true};
}

/* ---- described ------------------------------------------------------------------------------------------ */

/* A file that is not there yet is taken for one of the scene's method. */
static bool find_dense(const struct options *options, bool *dense, bool *assumed, struct error *error) {
  const char *path = options->evaluate.policy;
  const struct network_desc *network = method_of(options)->beside[0];
  *assumed = *path && !file_is_there(path);
  *dense = *assumed && network && network->dense;
  return !*path || *assumed || policy_is_dense(path, dense, error) || fail_in(error, "evaluate.policy");
}

static bool describe_scans(struct simulation *simulation, const struct options *options, bool dense,
                           const struct sampler *sampler, struct error *error) {
  struct simulation_plan plan = plan_of(options, dense, lists_slices(options));
  plan.window = slice_cache_planned(options, plan.slices, plan.together);
  return simulation_describe(simulation, options, &plan, sampler, error);
}

/* What the host reads of a batch of scans: with its scores, where the device has them. */
static struct system results_of(const struct simulation *simulation) {
  struct system row = {.name = "save_results",
                       .doc = "slices, masks, actions, rewards and scores of a batch of scans",
                       .reads = SET(ENV_slice) | SET(ENV_mask) | SET(ROLLOUT_action) | SET(ROLLOUT_reward)};
  for (size_t m = 0; m < METRICS && !scoring_chosen(simulation->options); m++)
    row.reads |= simulation->scan.touched & SET(metric_list[m].rollout);
  return row;
}

static const struct system save_image = {
    .name = "save_image", .doc = "the reconstruction of a scan", .reads = SET(ENV_reconstruction)};

/* What is scored against, where the host does, and what is kept. */
static void add_truths(struct schedule *list, const struct simulation *simulation) {
  bool scores = scoring_chosen(simulation->options), keeps = option_count(simulation->options->evaluate.keep);
  if (scores && !simulation->plan.window) schedule_add(list, &system_read_image, NULL);
  if (keeps && !scores) schedule_add(list, &system_read_target, NULL);
  if (keeps) schedule_add(list, &save_image, NULL);
}

static bool put_results(struct lists *lists, const struct simulation *simulation, struct arena *arena,
                        struct error *error) {
  struct schedule *list = ARENA_NEW(arena, struct schedule, 1);
  const struct system save = results_of(simulation);
  schedule_open(list, &component_schema);
  schedule_name(list, "results");
  schedule_add(list, &save, NULL);
  add_truths(list, simulation);
  lists_put(lists, "evaluate", "after as many scans as there are environments", list);
  return schedule_close(list, error);
}

/* The scans of one sampler; those of others that are decided alike are the same list. */
static bool put_scans(struct lists *lists, const struct options *options, bool dense, const char *name,
                      struct arena *arena, struct error *error) {
  struct simulation *simulation = ARENA_NEW(arena, struct simulation, 1);
  const struct sampler *sampler = sampler_find(name, error);
  if (!sampler || !describe_scans(simulation, options, dense, sampler, error)) return false;
  struct list *same = lists_find(lists, "evaluate", simulation->scan.name);
  if (same)
    same->when = arena_text(arena, "%s, %s", same->when, name);
  else if (!lists_find(lists, "evaluate", simulation->restart.name) &&
           !lists_put_data(lists, "evaluate", simulation, arena, error))
    return false;
  lists_put(lists, "evaluate", "before as many scans as there are environments", &simulation->restart);
  if (same) return true;
  lists_note_scans(lists, "evaluate", simulation, arena);
  lists_put_set(lists, "evaluate", simulation, arena);
  lists_put(lists, "evaluate", arena_text(arena, "all scans of %s", name), &simulation->scan);
  return put_results(lists, simulation, arena, error);
}

static void note_files(struct lists *lists, const struct options *options, bool assumed, struct arena *arena) {
  bool pairs = *options->evaluate.policies || *options->evaluate.masks || *options->evaluate.reconstructors;
  if (assumed)
    lists_note(lists, "evaluate",
               arena_text(arena, "%s is not there yet: it is taken for a policy of train.method %s",
                          options->evaluate.policy, method_of(options)->name));
  if (pairs)
    lists_note(lists, "evaluate",
               "every pair of a table is an evaluation of its own; these lists are of evaluate.policy, sampler.mask and "
               "evaluate.reconstructor, not of the files in evaluate.policies, masks and reconstructors");
}

static bool put_samplers(struct lists *lists, const struct options *options, bool dense, struct arena *arena,
                         struct error *error) {
  const char *samplers = options->evaluate.samplers, *own = sampler_policy.name;
  bool add = *options->evaluate.policy && !option_has(samplers, own);
  char name[64];
  if (!option_count(samplers))
    return fail_usage(error, "evaluate.samplers is an empty list; name at least one sampler");
  while ((samplers = option_next(samplers, name, sizeof name)))
    if (!put_scans(lists, options, dense, arena_text(arena, "%s", name), arena, error)) return false;
  return !add || put_scans(lists, options, dense, own, arena, error);
}

bool evaluate_list(struct lists *lists, const struct options *options, struct arena *arena, struct error *error) {
  bool dense, assumed;
  if (!find_dense(options, &dense, &assumed, error)) return false;
  note_files(lists, options, assumed, arena);
  return put_samplers(lists, options, dense, arena, error);
}

bool evaluate_columns(const struct options *options, struct arena *arena, component_set *columns, struct error *error) {
  struct simulation *simulation = ARENA_NEW(arena, struct simulation, 1);
  const struct sampler *sampler;
  bool dense, assumed;
  char first[64];
  if (!option_next(options->evaluate.samplers, first, sizeof first))
    return fail_usage(error, "evaluate.samplers is an empty list; name at least one sampler");
  if (!(sampler = sampler_find(first, error)) || !find_dense(options, &dense, &assumed, error) ||
      !describe_scans(simulation, options, dense, sampler, error))
    return false;
  *columns = load_columns(options) | simulation->scan.touched;
  return true;
}

/* ---- what is refused ------------------------------------------------------------------------------------ */

static bool refuse_metric(const char *word, const char *const names[METRICS], struct error *error) {
  const char *near = nearest_name(word, names, METRICS);
  if (near)
    return fail_usage(error, "evaluate.metrics has an unknown metric '%s'; did you mean %s?", word, near);
  fail_usage(error, "evaluate.metrics has an unknown metric '%s'; there are", word);
  for (size_t m = 0; m < METRICS; m++) {
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, "%s %s", m ? "," : "", names[m]);
  }
  return false;
}

static bool check_metrics(const struct options *options, struct error *error) {
  const char *words = options->evaluate.metrics, *names[METRICS];
  char word[64];
  for (size_t m = 0; m < METRICS; m++) names[m] = metric_list[m].name;
  while ((words = option_next(words, word, sizeof word))) {
    bool known = false;
    for (size_t m = 0; m < METRICS; m++) known |= !strcmp(word, names[m]);
    if (!known) return refuse_metric(word, names, error);
  }
  if (option_count(options->evaluate.metrics)) return true;
  return fail_usage(error, "evaluate.metrics is an empty list; name at least one metric");
}

static bool check_samplers(const struct options *options, struct error *error) {
  char word[64];
  if (option_repeated(options->evaluate.samplers, word, sizeof word))
    return fail_usage(error, "evaluate.samplers names %s twice; name each sampler once", word);
  if (option_has(options->evaluate.samplers, sampler_policy.name) && !*options->evaluate.policy)
    return fail_usage(error,
                      "evaluate.samplers names policy and evaluate.policy no file; set evaluate.policy (--policy FILE)");
  if (option_count(options->evaluate.samplers)) return true;
  return fail_usage(error, "evaluate.samplers is an empty list; name at least one sampler");
}

/* Lists of files are for the table of all pairs, each of which is an evaluation by single ones. */
static bool check_single(const struct options *options, struct error *error) {
  const char *key = *options->evaluate.policies         ? "evaluate.policies"
                    : *options->evaluate.masks          ? "evaluate.masks"
                    : *options->evaluate.reconstructors ? "evaluate.reconstructors"
                                                        : NULL;
  return !key || fail_usage(error,
                            "%s is for the table that l2sr evaluate makes of one scene; here name single files "
                            "in evaluate.policy, sampler.mask and evaluate.reconstructor",
                            key);
}

bool evaluate_check(const struct options *options, struct error *error) {
  if (*options->evaluate.reconstructor && !reconstruction_check_network(options, "evaluate.reconstructor names", error)) return false;
  return check_single(options, error) && check_metrics(options, error) && check_samplers(options, error) &&
         scoring_check(options, error);
}

/* evaluate.keep is of no account where all images are kept. */
static bool read_kept(struct evaluation *evaluation, const struct options *options, bool all,
                      struct error *error) {
  const char *words = options->evaluate.keep;
  char word[32];
  if (all) return true;
  if (option_repeated(words, word, sizeof word))
    return fail_usage(error, "evaluate.keep names %s twice; name each slice once", word);
  evaluation->kept = ARENA_NEW(evaluation->arena, uint32_t, option_count(words) + 1);
  while ((words = option_next(words, word, sizeof word)))
    if (!option_whole(word, 0, 10000000, &evaluation->kept[evaluation->kept_count++]))
      return fail_usage(error, "evaluate.keep has '%s'; it must be rows of the data set, as [0,5,12]", word);
  return true;
}

static bool check_kept(const struct evaluation *evaluation, struct error *error) {
  for (size_t k = 0; k < evaluation->kept_count; k++)
    if (evaluation->kept[k] >= evaluation->slices)
      return fail(error, "evaluate.keep names row %u; the data set has rows 0 to %zu", evaluation->kept[k],
                  evaluation->slices - 1);
  return true;
}

static bool plan_run(struct evaluation *evaluation, const struct options *options,
                     const struct acquisition *setting, const char *sampler, struct error *error) {
  struct evaluate_run *run = &evaluation->runs[evaluation->run_count++];
  run->acquisition = *setting;
  struct arena *arena = arena_open();
  uint32_t *table = ARENA_NEW(arena, uint32_t, setting->shape.actions);
  bool good = (run->sampler = sampler_find(sampler, error)) &&
              sampler_fill(run->sampler, options, &run->acquisition, table, error); /* before any work */
  arena_close(arena);
  return good;
}

/* One run for every setting and sampler; a policy that the list does not name comes last. */
static bool plan_runs(struct evaluation *evaluation, const struct options *options, struct error *error) {
  struct acquisition *settings;
  size_t setting_count, sampler_count = option_count(options->evaluate.samplers) + 1;
  bool add = *options->evaluate.policy && !option_has(options->evaluate.samplers, sampler_policy.name);
  char name[64];
  if (!evaluate_check(options, error) ||
      !acquisition_list(&settings, &setting_count, options, evaluation->arena, error))
    return false;
  evaluation->runs = ARENA_NEW(evaluation->arena, struct evaluate_run, setting_count * sampler_count);
  for (size_t s = 0; s < setting_count; s++) {
    const char *samplers = options->evaluate.samplers;
    while ((samplers = option_next(samplers, name, sizeof name)))
      if (!plan_run(evaluation, options, &settings[s], name, error)) return false;
    if (add && !plan_run(evaluation, options, &settings[s], sampler_policy.name, error)) return false;
  }
  return true;
}

static uint32_t most_steps(const struct evaluation *evaluation) {
  uint32_t most = 0;
  for (size_t r = 0; r < evaluation->run_count; r++) {
    uint32_t steps = acquisition_steps(&evaluation->runs[r].acquisition);
    if (steps > most) most = steps;
  }
  return most;
}

/* A profile's images of all steps wait in host memory: so many scans at a time as have room, if not all must
 * be scanned side by side. */
static void limit_envs(const struct work *work, struct simulation_plan *plan) {
  const size_t room = (size_t)256 << 20;
  size_t scan = sizeof(float) * scan_shape_pixels(&work->evaluation->shape) * plan->rollout_steps,
         most = room / scan;
  if (!work->evaluation->scoring || is_named(work->options, is_average)) return;
  if (plan->envs > most) plan->envs = most ? most : 1;
}

static bool make_profile_room(struct work *work, const struct simulation_plan *plan, struct error *error) {
  struct evaluation *evaluation = work->evaluation;
  size_t pixels = scan_shape_pixels(&evaluation->shape);
  if (!evaluation->scoring) return true;
  size_t images = plan->envs * (evaluation->curves ? plan->rollout_steps : 1);
  work->truth = ARENA_NEW(evaluation->arena, float, pixels);
  work->handed = arena_try(evaluation->arena, images * pixels * sizeof(float));
  return work->handed
             ? true
             : fail_memory(
                   error,
                   "no host memory for %zu images that evaluate.profile %s scores; set evaluate.curves "
                   "to false, or world.envs lower",
                   images, evaluation->scoring->name);
}

static bool open_simulation(struct work *work, struct device *device, const struct evaluate_config *config,
                            struct error *error) {
  struct evaluation *evaluation = work->evaluation;
  size_t slices = evaluation->dataset.slice_count, most = work->options->data.most;
  if (most && most < slices) slices = most;
  if (config->rows && config->rows < slices) slices = config->rows;
  struct simulation_plan plan = plan_of(work->options, work->dense, slices);
  plan.rollout_steps = most_steps(evaluation) + 1;
  plan.coils = dataset_coils(&evaluation->dataset);
  plan.kernel_folder = config->kernel_folder;
  limit_envs(work, &plan);
  if (!make_profile_room(work, &plan, error) ||
      !simulation_open(&work->simulation, device, work->options, &plan, error))
    return false;
  size_t rows = plan.envs * plan.rollout_steps;
  work->values = ARENA_NEW(evaluation->arena, float, rows);
  work->action = ARENA_NEW(evaluation->arena, uint32_t, rows);
  work->scan = ARENA_NEW(evaluation->arena, uint32_t, plan.envs);
  work->pixels = ARENA_NEW(evaluation->arena, float, scan_shape_pixels(&evaluation->shape));
  return true;
}

/* A sampler that draws nothing scans once. */
static size_t trajectories_of(const struct work *work, const struct evaluate_run *run) {
  bool best = run->sampler == &sampler_policy && work->options->evaluate.actions == ACTIONS_BEST;
  return run->sampler->random && !best ? work->options->evaluate.trajectories : 1;
}

/* Whether the scans have the metric: the device's, or the profile's. */
static bool is_scored(const struct work *work, size_t metric) {
  const char *metrics = work->options->evaluate.metrics;
  if (metric == METRIC_AUC && !work->two) return false;
  return work->evaluation->scoring ? option_has(metrics, metric_list[metric].name)
                                   : work->simulation.scan.touched & SET(metric_list[metric].rollout);
}

/* Nothing is scored yet, and not all scans will be. */
static bool make_parts(struct work *work, struct evaluate_run *run, size_t values) {
  const struct evaluation *evaluation = work->evaluation;
  if (!evaluation->scoring) return true;
  for (size_t m = 0; m < METRICS; m++) {
    for (size_t i = 0; run->metric[m] && i < values; i++) run->metric[m][i] = NAN;
    if (evaluation->scoring->unit[m] == UNIT_VOLUME) run->holds[m] = evaluation->scores.first;
  }
  return (work->part = arena_try(evaluation->arena, values * sizeof *work->part)) != NULL;
}

static bool make_room(struct work *work, struct evaluate_run *run, struct error *error) {
  struct arena *arena = work->evaluation->arena;
  size_t slices = run->scans, pixels = scan_shape_pixels(&work->evaluation->shape),
         steps = acquisition_steps(&run->acquisition) + 1;
  bool good = true;
  for (size_t m = 0; m < METRICS; m++)
    if (is_scored(work, m))
      good &= (run->metric[m] = arena_try(arena, slices * steps * sizeof(float))) != NULL;
  good = good && make_parts(work, run, slices * steps) &&
         (run->returns = arena_try(arena, slices * sizeof(float))) &&
         (run->mask = arena_try(arena, round_up(slices * run->acquisition.shape.actions, 4))) && (work->own = arena_try(arena, slices)) &&
         (run->action = arena_try(arena, slices * steps * sizeof(uint32_t)));
  size_t images = work->config->images ? slices : work->evaluation->kept_count;
  if (images) good = good && (run->images = arena_try(arena, images * pixels * sizeof(float)));
  return good ? true
              : fail_memory(error, "no host memory for the results of %zu scans; evaluate fewer (data.most)",
                            slices);
}

/* Puts one column of ROLLOUT, [step][env], into [scan][step]; what is not scored becomes NaN. */
static void gather(struct work *work, const struct evaluate_run *run, unsigned column, float *to) {
  size_t envs = world_rows(work->simulation.world, TABLE_ENV), steps = acquisition_steps(&run->acquisition) + 1;
  size_t first = work->evaluation->curves ? 0 : steps - 1;
  world_read(work->simulation.world, column, 0, envs * steps, work->values);
  for (size_t t = 0; t < steps; t++)
    for (size_t e = 0; e < envs; e++)
      to[work->scan[e] * steps + t] = t < first ? NAN : work->values[t * envs + e];
}

static void gather_returns(struct work *work, struct evaluate_run *run) {
  size_t envs = world_rows(work->simulation.world, TABLE_ENV), steps = acquisition_steps(&run->acquisition) + 1;
  size_t first = work->evaluation->curves ? 1 : steps - 1; /* without curves only the end has a reward */
  world_read(work->simulation.world, ROLLOUT_reward, 0, envs * steps, work->values);
  for (size_t e = 0; e < envs; e++) {
    double sum = 0;
    for (size_t t = first; t < steps; t++) sum += work->values[t * envs + e];
    run->returns[work->scan[e]] = (float)sum;
  }
}

/* Results keep the first trajectory of a slice. */
static void gather_image(struct work *work, struct evaluate_run *run, size_t env) {
  const struct evaluation *evaluation = work->evaluation;
  size_t place = 0, scan = work->scan[env], pixels = scan_shape_pixels(&evaluation->shape);
  while (!work->config->images && place < evaluation->kept_count && evaluation->kept[place] != scan) place++;
  if (!work->config->images && place == evaluation->kept_count) return;
  if (work->config->images) place = scan;
  world_get(work->simulation.world, &save_image, ENV_reconstruction, env, 1, run->images + place * pixels);
}

static void gather_scans(struct work *work, struct evaluate_run *run) {
  struct world *world = work->simulation.world;
  size_t envs = world_rows(world, TABLE_ENV), n = run->acquisition.shape.actions,
         steps = acquisition_steps(&run->acquisition);
  world_read(world, ROLLOUT_action, 0, envs * (steps + 1), work->action);
  for (size_t e = 0; e < envs; e++) {
    size_t scan = work->scan[e];
    world_read(world, ENV_mask, e, 1, run->mask + scan * n);
    scoring_pad_mask(scoring_chosen(work->simulation.options), &run->acquisition.shape, run->mask + scan * n);
    for (size_t t = 0; t < steps; t++) run->action[scan * steps + t] = work->action[(t + 1) * envs + e];
  }
}

/* ---- scores of a profile -------------------------------------------------------------------------------- */

/* The first step of a scan that is scored. */
static size_t first_scored(const struct work *work, const struct evaluate_run *run) {
  return work->evaluation->curves ? 0 : acquisition_steps(&run->acquisition);
}

/* Where images of the next scans go. */
static void hand_images(struct work *work, const struct evaluate_run *run, size_t envs) {
  work->simulation.handed = (struct handed_images){work->handed, first_scored(work, run) * envs};
}

/* Scores the images of a scan, [step][env] from the first scored on. */
static void score_scan(struct work *work, struct evaluate_run *run, size_t env, const bool asked[METRICS]) {
  const struct evaluation *evaluation = work->evaluation;
  size_t envs = world_rows(work->simulation.world, TABLE_ENV), pixels = scan_shape_pixels(&evaluation->shape),
         steps = acquisition_steps(&run->acquisition) + 1, first = first_scored(work, run),
         scan = work->scan[env], slice = scan % evaluation->slices;
  scoring_read_truth(&evaluation->scores, &work->simulation, slice, work->truth);
  for (size_t t = first; t < steps; t++) {
    const float *image = work->handed + ((t - first) * envs + env) * pixels;
    float value[METRICS];
    work->part[scan * steps + t] =
        scoring_score(&evaluation->scores, slice, image, work->truth, asked, value);
    for (size_t m = 0; m < METRICS; m++)
      if (asked[m] && evaluation->scoring->unit[m] == UNIT_SLICE) run->metric[m][scan * steps + t] = value[m];
  }
}

static void score_batch(struct work *work, struct evaluate_run *run) {
  bool asked[METRICS];
  for (size_t m = 0; m < METRICS; m++) asked[m] = run->metric[m];
  for (size_t e = 0; e < world_rows(work->simulation.world, TABLE_ENV); e++) score_scan(work, run, e, asked);
}

static void score_volume(struct work *work, struct evaluate_run *run, size_t metric, size_t volume) {
  const struct evaluation *evaluation = work->evaluation;
  const struct scoring_data *scores = &evaluation->scores;
  size_t steps = acquisition_steps(&run->acquisition) + 1;
  if (!scores->volume[volume].slices) return;
  for (size_t from = 0; from < run->scans; from += evaluation->slices)
    for (size_t t = first_scored(work, run); t < steps; t++)
      run->metric[metric][(from + scores->volume[volume].first) * steps + t] =
          (float)scoring_volume_score(scores, volume, metric, work->part + from * steps + t, steps);
}

/* All scans of the run are there. */
static void score_volumes(struct work *work, struct evaluate_run *run) {
  for (size_t m = 0; m < METRICS; m++)
    for (size_t v = 0; run->metric[m] && run->holds[m] && v < work->evaluation->dataset.volume_count; v++)
      score_volume(work, run, m, v);
}

/* The device's scores of a batch, or the profile's. */
static void gather_scores(struct work *work, struct evaluate_run *run) {
  if (work->evaluation->scoring) {
    score_batch(work, run);
    return;
  }
  for (size_t m = 0; m < METRICS; m++)
    if (run->metric[m]) gather(work, run, metric_list[m].rollout, run->metric[m]);
}

/* ---- scores by a classifier ------------------------------------------------------------------------------ */

/* Labels of the slices, and whether they are of two classes. */
static bool find_labels(struct work *work, struct error *error) {
  struct evaluation *evaluation = work->evaluation;
  const struct policy *classifier = work->simulation.classifier;
  bool seen[2] = {false, false};
  if (!classifier || !is_scored(work, METRIC_CROSS_ENTROPY)) return true; /* a profile has no scores by it */
  work->label = ARENA_NEW(evaluation->arena, float, evaluation->slices);
  for (size_t i = 0; i < evaluation->slices; i++) {
    const struct slice_name *name = &evaluation->report.names[i];
    work->label[i] = evaluation->dataset.volumes[name->volume].label[name->slice];
    seen[work->label[i] > 0] = true;
  }
  bool binary = classifier->setup.shape.actions == 2;
  work->two = binary && seen[0] && seen[1];
  if (!checkpoint_hash(classifier->graph, evaluation->classifier, error)) return false;
  if (work->two || !option_has(work->options->evaluate.metrics, "auc")) return true;
  if (!binary)
    return fail_usage(error, "evaluate.metrics has auc, which is of two classes, and reward.classifier has %u; leave it out",
                      classifier->setup.shape.actions);
  return fail(error, "evaluate.metrics has auc, and none of %zu slice%s has the label %d: it is not defined; leave it out, or test on "
                     "slices of both classes",
              evaluation->slices, plural(evaluation->slices), !seen[1]);
}

/* They all hold log-likelihoods so far. */
static void derive_scores(const struct work *work, struct evaluate_run *run) {
  size_t slices = work->evaluation->slices, steps = acquisition_steps(&run->acquisition) + 1;
  float *entropy = run->metric[METRIC_CROSS_ENTROPY], *accuracy = run->metric[METRIC_ACCURACY], *auc = run->metric[METRIC_AUC];
  if (!entropy) return;
  for (size_t i = 0; i < run->scans * steps; i++) {
    if (isnan(entropy[i])) continue;
    accuracy[i] = entropy[i] > logf(0.5f);
    entropy[i] = -entropy[i];
  }
  for (size_t from = 0; auc && from < run->scans; from += slices)
    for (size_t t = work->evaluation->curves ? 0 : steps - 1; t < steps; t++)
      classes_auc(auc + from * steps + t, work->label, slices, steps, auc + from * steps + t);
}

/* Numbers of lines say nothing to one that chooses among spokes. */
static bool compare_geometry(const struct options *options, const char *trained, struct error *error) {
  const char *wanted = geometry_chosen(options)->name;
  if (!*trained || !strcmp(trained, wanted)) return true;
  return fail(
      error,
      "evaluate.policy %s was trained to choose %s and acquisition.geometry is %s; set it to %s or train "
      "a policy for %s",
      options->evaluate.policy, trained, wanted, trained, wanted);
}

/* A policy knows only scans like those that it was trained for. */
static void compare_scans(const struct work *work, const struct evaluate_run *run) {
  const struct policy *policy = &work->policy;
  const struct acquisition *scan = &run->acquisition;
  if (run->sampler != &sampler_policy || !policy->budget ||
      (policy->initial_lines == scan->initial_lines && policy->budget == scan->budget))
    return;
  log_warning("%s was trained for scans of %u initial and %u acquired actions; x%u %s has %u and %u",
              work->options->evaluate.policy, policy->initial_lines, policy->budget, scan->acceleration,
              scan->horizon, scan->initial_lines, scan->budget);
}

/* Scan number i is of trajectory i / slices, of the slice that the order gives it. */
static void place_scans(struct work *work, size_t first, size_t envs) {
  size_t slices = work->evaluation->slices;
  world_read(work->simulation.world, ENV_slice, 0, envs, work->scan);
  slice_cache_slices(&work->simulation, work->scan, envs);
  for (size_t e = 0; e < envs; e++) work->own[work->scan[e] += (uint32_t)((first + e) / slices * slices)] = 1;
}

/* Whatever decided, every scan has acquired its lines: a decision that was none would be scored as one. */
static bool check_masks(const struct evaluate_run *run, struct error *error) {
  size_t n = run->acquisition.shape.actions,
         wanted = run->acquisition.initial_lines + run->acquisition.budget;
  const struct scan_shape *shape = &run->acquisition.shape;
  for (size_t scan = 0; scan < run->scans; scan++) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) found += run->mask[scan * n + i] && !scan_shape_is_padded(shape, i);
    if (found != wanted)
      return fail(error,
                  "sampler %s acquired %zu of %zu %ss in scan %zu; its checkpoint is damaged, or l2sr verify "
                  "tells what is wrong with the device",
                  run->sampler->name, found, wanted, geometry_of(&run->acquisition)->one, scan);
  }
  return true;
}

static bool goes_on(const struct work *work, struct error *error) {
  const struct evaluate_config *config = work->config;
  return !config->stop || !config->stop(config->context) ||
         fail_as(error, ERROR_STOPPED, "stopped by the program after %zu scans", work->done);
}

/* Names the slice whose image is none. */
static bool check_images(struct work *work, const struct evaluate_run *run, struct error *error) {
  const struct evaluation *evaluation = work->evaluation;
  if (simulation_check(&work->simulation, error)) return true;
  uint32_t row = work->simulation.refused;
  if (row >= world_rows(work->simulation.world, TABLE_ENV)) return false;
  const struct slice_name *name = &evaluation->report.names[work->scan[row] % run->slices];
  return fail_in(error, "%s, slice %zu", evaluation->dataset.volumes[name->volume].path, name->slice);
}

/* What the host reads of a batch of scans. */
static bool gather_batch(struct work *work, struct evaluate_run *run, size_t first, size_t envs, struct error *error) {
  struct world *world = work->simulation.world;
  const struct system save = results_of(&work->simulation);
  struct world_use before = world_enter(world, &save);
  place_scans(work, first, envs);
  bool good = device_finish(world_device(world), error) && check_images(work, run, error);
  if (good) {
    gather_scores(work, run);
    gather_returns(work, run);
    gather_scans(work, run);
  } else {
    world_idle(world);
  }
  world_leave(world, before);
  for (size_t e = 0; good && e < envs; e++) gather_image(work, run, e);
  return good || fail_in(error, "sampler %s", run->sampler->name);
}

/* ---- ranks --------------------------------------------------------------------------------------------- */

/* Numbers of every scan, [scan]: each rank has those of its own. `bytes` of a scan; all of them are a multiple of 4. */
static void unite_rows(const struct work *work, size_t scans, void *rows, size_t bytes) {
  for (size_t i = 0; rows && i < scans; i++)
    if (!work->own[i]) memset((char *)rows + i * bytes, 0, bytes);
  if (rows) ranks_unite(work->simulation.device->ranks, rows, round_up(scans * bytes, 4));
}

/* What all ranks have made, on every rank. */
static void unite_scans(struct work *work, struct evaluate_run *run) {
  size_t steps = acquisition_steps(&run->acquisition), pixels = scan_shape_pixels(&work->evaluation->shape),
         images = work->config->images ? run->scans : work->evaluation->kept_count;
  for (size_t m = 0; m < METRICS; m++) unite_rows(work, run->scans, run->metric[m], (steps + 1) * sizeof(float));
  unite_rows(work, run->scans, work->part, (steps + 1) * sizeof *work->part);
  unite_rows(work, run->scans, run->returns, sizeof *run->returns);
  unite_rows(work, run->scans, run->mask, run->acquisition.shape.actions);
  unite_rows(work, run->scans, run->action, steps * sizeof *run->action);
  if (run->images) ranks_unite(work->simulation.device->ranks, run->images, images * pixels * sizeof *run->images);
}

/* Among whom scans are shared out; where one decides for all of them, candidates are. */
static struct ranks *sharers(const struct work *work, const struct evaluate_run *run) {
  return is_average(run->sampler) ? NULL : work->simulation.device->ranks;
}

/* Scans all slices with one sampler at one setting, as many at a time as there are environments. Every rank takes a part of the
 * scans, or where one decides for all of them a part of the candidates. */
static bool run_one(struct work *work, struct evaluate_run *run, struct error *error) {
  struct world *world = work->simulation.world;
  size_t most = world_capacity(world, TABLE_ENV);
  double start = clock_work();
  compare_scans(work, run);
  run->slices = work->evaluation->slices;
  run->scans = run->slices * trajectories_of(work, run);
  work->simulation.alike = is_average(run->sampler);
  if (!make_room(work, run, error) ||
      !simulation_set(&work->simulation, &run->acquisition, run->sampler, error))
    return false;
  struct ranks *ranks = sharers(work, run);
  size_t first, end = ranks_rows(ranks, run->scans, &first);
  for (; first < end; first += most) {
    size_t envs = end - first < most ? end - first : most;
    if (!goes_on(work, error)) return false;
    hand_images(work, run, envs);
    simulation_restart(&work->simulation, (uint32_t)first, envs);
    simulation_episode(&work->simulation);
    if (!gather_batch(work, run, first, envs, error)) return false;
    progress_move(&work->progress, work->done += envs);
  }
  if (ranks_count(ranks) > 1) unite_scans(work, run);
  score_volumes(work, run);
  derive_scores(work, run);
  run->seconds = clock_work() - start;
  return device_finish(world_device(world), error) && check_masks(run, error);
}

static bool run_all(struct work *work, struct error *error) {
  struct evaluation *evaluation = work->evaluation;
  bool good = true;
  size_t scans = 0, first;
  for (size_t r = 0; r < evaluation->run_count; r++) {
    const struct evaluate_run *run = &evaluation->runs[r];
    scans += ranks_rows(sharers(work, run), evaluation->slices * trajectories_of(work, run), &first) - first;
  }
  progress_open(&work->progress, "evaluating", "scans", scans);
  for (size_t r = 0; good && r < evaluation->run_count; r++)
    good = run_one(work, &evaluation->runs[r], error);
  progress_close(&work->progress);
  return good;
}

/* What the scans of a slice were scored against. */
static void read_scored(struct work *work, size_t slice, float *truth) {
  if (work->evaluation->scoring)
    scoring_read_truth(&work->evaluation->scores, &work->simulation, slice, truth);
  else
    slice_cache_read_target(&work->simulation, slice, truth);
}

static bool read_truth(struct work *work, struct error *error) {
  struct evaluation *evaluation = work->evaluation;
  size_t pixels = scan_shape_pixels(&evaluation->shape);
  size_t images = work->config->images ? evaluation->slices : evaluation->kept_count;
  if (!images) return true;
  evaluation->truth = arena_try(evaluation->arena, images * pixels * sizeof(float));
  if (!evaluation->truth)
    return fail_memory(error, "no host memory for %zu images; set data.most, or evaluate.images to false",
                       images);
  for (size_t i = 0; i < images; i++)
    read_scored(work, work->config->images ? i : evaluation->kept[i], evaluation->truth + i * pixels);
  return device_finish(work->simulation.device, error);
}

static bool read_maps(struct work *work, struct error *error) {
  struct evaluation *evaluation = work->evaluation;
  struct world *world = work->simulation.world;
  evaluation->coils = 1;
  if (!work->config->maps || !world_has(world, SLICE_maps)) return true;
  evaluation->coils = maps_coils(world);
  evaluation->maps = maps_read(world, 0, evaluation->slices, evaluation->arena, error);
  return evaluation->maps != NULL;
}

static const char *describe_solver(struct evaluation *evaluation, const struct device *device,
                                   const struct options *options) {
  const struct reconstruction *row = reconstruction_chosen(options, false);
  if (row->calls) return arena_text(evaluation->arena, "reconstruction by %s", callback_name(device));
  if (!row->solve) return row->open ? "zero-filled reconstruction, compensated for density" : "zero-filled reconstruction";
  return arena_text(evaluation->arena, "reconstruction by %s (weight %.9g, %u iterations)", row->name,
                    options->reconstruct.weight, options->reconstruct.iterations);
}

static const char *describe_network(struct evaluation *evaluation, const struct reconstructor_setup *setup,
                                    const char *path) {
  const struct net_varnet_setup *varnet = &setup->varnet;
  if (!varnet->cascades)
    return arena_text(evaluation->arena, "reconstruction by %s (U-Net, %u channels, %u pool%s)", path,
                      setup->channels, setup->pools, plural(setup->pools));
  return arena_text(evaluation->arena,
                    "reconstruction by %s (variational network, %d cascade%s, %d channel%s, %d pool%s)", path,
                    varnet->cascades, plural((size_t)varnet->cascades), varnet->channels,
                    plural((size_t)varnet->channels), varnet->pools, plural((size_t)varnet->pools));
}

/* The network of evaluate.reconstructor, where there is one. */
static bool open_network(struct work *work, struct error *error) {
  struct simulation *simulation = &work->simulation;
  const struct options *options = work->options;
  const char *path = options->evaluate.reconstructor;
  struct evaluation *evaluation = work->evaluation;
  size_t most = simulation->plan.deciders & DECIDES_ORACLE ? SIZE_MAX : world_capacity(simulation->world, TABLE_ENV);
  struct reconstructor_setup setup =
      reconstructor_setup_of(simulation->device, simulation->kernels, options, most);
  reconstructor_set_coils(&setup, simulation->plan.coils);
  if (!*path) {
    evaluation->reconstructor = describe_solver(evaluation, simulation->device, options);
    return true;
  }
  if (!reconstructor_load(&work->reconstructor, path, &setup, error))
    return fail_in(error, "evaluate.reconstructor");
  simulation->reconstructor = &work->reconstructor;
  evaluation->reconstructor = describe_network(evaluation, &work->reconstructor.setup, path);
  return true;
}

/* PG-MRI's policy looks at reconstructions: those of its training, by drawn lines (PROTOCOL 2). */
static bool compare_reconstructor(const struct work *work, struct error *error) {
  const struct options *options = work->options;
  const struct policy *policy = &work->policy;
  char hash[65];
  if (!policy->setup.dense) return true;
  if (!work->reconstructor.graph) {
    if (*policy->reconstructor)
      log_warning("%s looks at reconstructions, and there is no evaluate.reconstructor: it sees %s",
                  options->evaluate.policy, reconstruction_chosen(options, false)->image);
  } else {
    if (!checkpoint_hash(work->reconstructor.graph, hash, error)) return false;
    if (*policy->reconstructor && strcmp(policy->reconstructor, hash))
      log_warning("%s looks at reconstructions, and was trained with those of another reconstructor than %s",
                  options->evaluate.policy, options->evaluate.reconstructor);
  }
  if (options->evaluate.actions == ACTIONS_BEST && !policy->setup.evaluator)
    log_warning("PG-MRI draws its actions, 8 trajectories a slice; here it takes the most probable ones: set "
                "evaluate.actions to drawn and evaluate.trajectories to 8 for its protocol");
  return true;
}

static bool open_policy(struct work *work, struct error *error) {
  struct simulation *simulation = &work->simulation;
  const struct options *options = work->options;
  struct policy_setup setup = policy_setup_of(simulation->device, simulation->kernels, options,
                                              world_capacity(simulation->world, TABLE_ENV));
  if (!*options->evaluate.policy) return true;
  if (!policy_load(&work->policy, options->evaluate.policy, &setup, error))
    return fail_in(error, "evaluate.policy");
  simulation->policy = &work->policy;
  simulation->best = options->evaluate.actions == ACTIONS_BEST;
  return callback_compare(simulation, options->evaluate.policy, work->dense, error) &&
         compare_geometry(options, work->policy.geometry, error) && compare_reconstructor(work, error);
}

static bool check_policy_file(struct device *device, const struct options *options, struct error *error) {
  const char *path = options->evaluate.policy;
  struct policy_setup setup = policy_setup_of(device, NULL, options, SIZE_MAX);
  struct network_need need;
  struct store *store;
  char trained[32] = "";
  if (!policy_measure(&setup, path, &need, error) || !store_open(&store, path, error))
    return fail_in(error, "evaluate.policy");
  store_text(store, "scan_geometry", trained, sizeof trained);
  store_close(store);
  return compare_geometry(options, trained, error);
}

bool evaluate_check_files(struct device *device, const struct options *options, struct error *error) {
  struct reconstructor_setup setup = reconstructor_setup_of(device, NULL, options, SIZE_MAX);
  struct network_need need;
  if (*options->evaluate.policy && !check_policy_file(device, options, error)) return false;
  return !*options->evaluate.reconstructor ||
         reconstructor_measure(&setup, options->evaluate.reconstructor, &need, error) ||
         fail_in(error, "evaluate.reconstructor");
}

/* Such a sampler is for the scans that it was trained for: all settings must be theirs. */
static const struct evaluate_run *find_run(const struct work *work, bool (*is_kind)(const struct sampler *sampler),
                                           struct error *error) {
  const struct evaluation *evaluation = work->evaluation;
  const struct evaluate_run *found = NULL;
  for (size_t r = 0; r < evaluation->run_count; r++) {
    const struct evaluate_run *run = &evaluation->runs[r];
    if (!is_kind(run->sampler)) continue;
    if (found && memcmp(&found->acquisition, &run->acquisition, sizeof run->acquisition) != 0) {
      fail_usage(error,
                 "sampler %s is for the one setting that it was trained for and the scene has several; set "
                 "acquisition.acceleration and acquisition.horizon to one each",
                 run->sampler->name);
      return NULL;
    }
    found = run;
  }
  return found;
}

static struct masks_setup masks_setup(const struct work *work, const struct evaluate_run *run) {
  const struct simulation *simulation = &work->simulation;
  size_t envs = world_capacity(simulation->world, TABLE_ENV), most = work->options->network.batch;
  return (struct masks_setup){.device = simulation->device,
                              .kernels = simulation->kernels,
                              .options = work->options,
                              .acquisition = run->acquisition,
                              .batch = most < envs ? most : envs,
                              .coils = simulation->plan.coils};
}

/* Its images are best scored by the reconstructor that it was trained with. */
static bool compare_joint(const struct work *work, struct error *error) {
  const struct options *options = work->options;
  char own[65], other[65] = "";
  if (!checkpoint_hash(work->tau.own.graph, own, error) ||
      (work->reconstructor.graph && !checkpoint_hash(work->reconstructor.graph, other, error)))
    return false;
  if (strcmp(own, other) != 0)
    log_warning(
        "%s was trained together with its reconstructor, and %s scores its scans; give --reconstructor %s",
        options->sampler.tau_step, *other ? "another one" : reconstruction_chosen(options, false)->image,
        options->sampler.tau_step);
  return true;
}

static bool open_sequence(struct work *work, struct error *error) {
  struct simulation *simulation = &work->simulation;
  if (!(simulation->plan.deciders & DECIDES_SEQUENCE)) return true;
  const struct evaluate_run *run = find_run(work, is_sequence, error);
  if (!run) return false;
  struct masks_setup setup = masks_setup(work, run);
  if (!tau_load(&work->tau, work->options->sampler.tau_step, &setup, error))
    return fail_in(error, "sampler.tau_step");
  simulation->tau = &work->tau;
  return compare_joint(work, error);
}

static bool open_planner(struct work *work, struct error *error) {
  struct simulation *simulation = &work->simulation;
  if (!(simulation->plan.deciders & DECIDES_PLANNED)) return true;
  const struct evaluate_run *run = find_run(work, is_planned, error);
  if (!run) return false;
  for (size_t r = 0; r < work->evaluation->run_count; r++) {
    const struct sampler *other = work->evaluation->runs[r].sampler;
    if (is_planned(other) && planner_of(other) != planner_of(run->sampler))
      return fail_usage(error,
                        "evaluate.samplers names %s and %s, which take different files, and sampler.mask is one; evaluate "
                        "them one after the other",
                        other->name, run->sampler->name);
  }
  struct masks_setup setup = masks_setup(work, run);
  simulation->planner = &work->planner;
  return planner_load(&work->planner, run->sampler, &setup, work->evaluation->arena, error);
}

/* The table's data ranges are the profile's. */
static bool open_profile(struct work *work, struct error *error) {
  struct evaluation *evaluation = work->evaluation;
  if (!evaluation->scoring) return true;
  if (!scoring_open(&evaluation->scores, &work->simulation, &evaluation->dataset, &evaluation->report,
                    evaluation->arena, error))
    return false;
  memcpy(evaluation->report.data_range, evaluation->scores.range, evaluation->slices * sizeof(double));
  return true;
}

enum { CLAMPED = 10 }; /* kernels/score.cl: what the published PSNR cuts reconstructions to */

/* Of images in the thousands that number is of next to nothing. */
static void warn_of_clamp(const struct work *work) {
  const struct evaluation *evaluation = work->evaluation;
  double most = 0;
  for (size_t i = 0; i < evaluation->slices; i++) most = fmax(most, evaluation->report.data_range[i]);
  if (evaluation->scoring || most <= CLAMPED || !option_has(work->options->evaluate.metrics, "psnr")) return;
  log_warning("psnr cuts reconstructions to 0 ... %d, as the published code does, and these images reach %.4g: read "
              "psnr_unclamped (evaluate.metrics), or set data.scale to bring images near 1",
              CLAMPED, most);
}

static bool compare_ranks(const struct work *work, struct error *error) {
  const struct evaluation *evaluation = work->evaluation;
  struct options *scene = ARENA_NEW(evaluation->arena, struct options, 1);
  *scene = *work->options;
  scene->evaluate.output = ""; /* the first rank's */
  const struct run_files run = {.device = work->simulation.device,
                                .options = scene,
                                .train = {evaluation->dataset.hash, evaluation->slices, &evaluation->dataset}};
  return rank_card_compare(&run, 0, error);
}

static bool run_opened(struct work *work, struct error *error) {
  struct evaluation *evaluation = work->evaluation;
  bool good = open_network(work, error) && open_policy(work, error) && open_sequence(work, error) &&
              open_planner(work, error) &&
              load_simulation(&work->simulation, &evaluation->dataset, work->options, evaluation->arena,
                              &evaluation->report, error);
  evaluation->slices = evaluation->report.slices;
  good = good && compare_ranks(work, error);
  if (good) warn_of_clamp(work);
  good = good && find_labels(work, error);
  good = good && check_kept(evaluation, error) && open_profile(work, error) && run_all(work, error) &&
         read_truth(work, error) && read_maps(work, error);
  if (work->tau.graph) tau_close(&work->tau);
  planner_close(&work->planner);
  policy_close(&work->policy);
  reconstructor_close(&work->reconstructor);
  return good;
}

/* Whether it decides by the reconstruction: the simulation is planned by that. */
static bool read_policy_kind(struct work *work, struct error *error) {
  const char *path = work->options->evaluate.policy;
  return !*path || policy_is_dense(path, &work->dense, error) || fail_in(error, "evaluate.policy");
}

static bool open_data(struct evaluation *evaluation, const struct options *options,
                      const struct evaluate_config *config, struct error *error) {
  if (config->slices) return dataset_of_slices(&evaluation->dataset, config->slices, options, error);
  return dataset_open(&evaluation->dataset, options, error);
}

bool evaluate_open(struct evaluation *evaluation, struct device *device, const struct options *options,
                   const struct evaluate_config *config, struct error *error) {
  struct work work = {.evaluation = evaluation, .options = options, .config = config};
  *evaluation = (struct evaluation){.arena = arena_open(),
                                    .shape = scan_shape_of(options),
                                    .scoring = scoring_chosen(options),
                                    .curves = options->evaluate.curves};
  bool good = plan_runs(evaluation, options, error) &&
              read_kept(evaluation, options, config->images, error) && read_policy_kind(&work, error) &&
              open_data(evaluation, options, config, error);
  evaluation->curves |= work.dense;
  device->stage = "evaluate";
  if (good && open_simulation(&work, device, config, error)) {
    good = run_opened(&work, error);
    simulation_close(&work.simulation);
  } else {
    good = false;
  }
  device->stage = NULL;
  if (!good) evaluate_close(evaluation);
  return good;
}

void evaluate_close(struct evaluation *evaluation) {
  if (evaluation->dataset.arena) dataset_close(&evaluation->dataset);
  arena_close(evaluation->arena);
  *evaluation = (struct evaluation){0};
}

double evaluate_cells(const struct evaluate_run *run) {
  const struct acquisition *scan = &run->acquisition;
  struct arena *arena = arena_open();
  uint8_t *mask = ARENA_NEW(arena, uint8_t, scan_shape_pixels(&scan->shape));
  double sum = 0;
  for (size_t i = 0; i < run->scans; i++)
    sum += (double)geometry_mask(geometry_of(scan), &scan->shape, run->mask + i * scan->shape.actions, mask);
  arena_close(arena);
  return sum / (double)run->scans;
}

/* The scan has a score of its own. */
static bool holds(const struct evaluate_run *run, size_t metric, size_t scan) {
  return !run->holds[metric] || run->holds[metric][scan % run->slices];
}

void evaluate_mean(const struct evaluate_run *run, size_t metric, size_t steps, double *mean, double *std) {
  const float *values = run->metric[metric] + steps;
  size_t stride = acquisition_steps(&run->acquisition) + 1, count = 0;
  double sum = 0, square = 0;
  for (size_t i = 0; i < run->scans; i++)
    if (holds(run, metric, i)) sum += values[i * stride], count++;
  *mean = sum / (double)count;
  for (size_t i = 0; i < run->scans; i++)
    if (holds(run, metric, i)) square += (values[i * stride] - *mean) * (values[i * stride] - *mean);
  *std = sqrt(square / (double)count);
}
