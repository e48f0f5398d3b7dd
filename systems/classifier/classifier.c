/* Trains a classifier of reconstructions (PROTOCOL 4.4), by which scans are rewarded and scored for their task: epochs of
 * shuffled slices, each with a mask of a heuristic, whose images are the scene's reconstructor's. */
#include "systems/classifier/classifier.h"

#include "systems/classifier/classes.h"
#include "systems/methods/fit.h"
#include "systems/methods/method.h"
#include "systems/classifier/classify.h"

#include <math.h>

/* ---- data ---------------------------------------------------------------------------------------------- */

static struct simulation_plan plan(const struct training *training, const struct split *split, size_t slices) {
  struct simulation_plan plan = fit_plan(training, split, slices);
  plan.classes = training->options->classifier.classes;
  return plan;
}

/* ---- the network --------------------------------------------------------------------------------------- */

static bool open_network(struct training *training, struct error *error) {
  const struct options *options = training->options;
  struct policy_setup setup =
      policy_setup_of(training->device, training->train.simulation.kernels, options, fit_images_batch(options));
  setup.channels = options->classifier.channels;
  setup.pools = options->classifier.pools;
  setup.hidden = options->classifier.hidden;
  setup.shape.actions = options->classifier.classes;
  setup.classifier = setup.dense = setup.train = true;
  setup.beside = training->beside[0];
  if (!policy_open(&training->policy, &setup, error)) return fail_in(error, "the classifier");
  training->train.simulation.classifier = training->validation.simulation.classifier = &training->policy;
  graph_start(training->policy.graph, options->world.seed);
  watch_graph(&training->policy.watch, training->policy.graph, POLICY_parameters);
  policy_changed(&training->policy);
  return true;
}

static bool write_network(const struct training *training, struct store *store, struct error *error) {
  return policy_write(&training->policy, store, error);
}

static bool read_network(struct training *training, struct store *store, struct error *error) {
  if (!policy_same(&training->policy, store, error)) return false;
  policy_changed(&training->policy);
  return true;
}

static const struct task_network network = {.open = open_network,
                                            .close = training_close_policy,
                                            .graph = training_policy_graph,
                                            .optimiser = fit_optimiser,
                                            .write = write_network,
                                            .read = read_network};

/* ---- an update ----------------------------------------------------------------------------------------- */

static void run_zero(struct world *world, void *context) {
  const struct training *training = context;
  (void)world;
  graph_zero_gradients(training->policy.graph);
}

static const struct system zero = {.name = "zero_gradients",
                                   .doc = "gradients of the classifier start at 0",
                                   .writes = SET(POLICY_cleared),
                                   .run = run_zero};

static bool next_part(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  struct fitting *own = fitting_of(training);
  struct shard_pass pass;
  const struct shards shards = device_shards(training->device);
  (void)world;
  if (!shards_take(&shards, &pass, turn, own->count, training->policy.batch)) return false;
  own->done = pass.first;
  graph_set_shards(training->policy.graph, pass.shard, pass.each);
  minibatch_select(&own->train, own->first + pass.first, pass.rows);
  return true;
}

static const struct system repeat_parts = {
    .name = "passes", .doc = "samples of the minibatch that the classifier takes at a time", .next = next_part};

/* Rows of the losses that have not been read; the gradients within the network are about a thousandth of what the logits'
 * are (systems/networks/policy.c). */
static void run_learn(struct world *world, void *context) {
  struct training *training = context;
  const struct fitting *own = fitting_of(training);
  struct policy *policy = &training->policy;
  size_t images = world_rows(world, TABLE_ENV);
  policy->scale = 1024.0 * (double)own->count;
  kernel_run(world_kernels(world), "class_gradient", images,
             ARGS(world_in(world, ENV_slice), world_in(world, SLICE_label), graph_arg(ARG_IN, policy->logits),
                  graph_arg(ARG_OUT, policy->logits_gradient), arg_u32(policy->setup.shape.actions),
                  arg_f32((float)(1.0 / (double)own->count))));
  policy_backward(policy, images);
  device_copy(training->device, world_in(world, ENV_log_likelihood).as.m, 0, own->parts,
              sizeof(float) * (own->pending * training->options->train.batch + own->done), sizeof(float) * images);
}

static const struct system learn_classes = {
    .name = "learn_classes",
    .doc = "the classifier's backward pass from the cross-entropy to the labels",
    .reads = SET(ENV_slice) | SET(SLICE_label) | SET(ENV_log_likelihood) | BACKWARD_READS(POLICY),
    .writes = BACKWARD_WRITES(POLICY),
    .kernels = {"class_gradient"},
    .run = run_learn};

static void run_optimise(struct world *world, void *context) {
  struct training *training = context;
  const struct rate_schedule rates = fit_rates(training->options);
  (void)world;
  training->optimiser.rate = rate_at(&rates, training->options->train.rate, fit_epoch(training));
  optimise_step(&training->optimiser);
  policy_changed(&training->policy);
}

static const struct system optimise = {.name = "optimise_classifier",
                                       .doc = "a step of the classifier's parameters",
                                       .reads = LEARN_READS(POLICY),
                                       .writes = LEARN_WRITES(POLICY),
                                       .run = run_optimise};

/* ---- lists --------------------------------------------------------------------------------------------- */

static void add_scores(struct simulation *simulation, struct schedule *schedule) {
  struct system *score = schedule_add(schedule, &system_score_classes, simulation);
  score->reads |= FORWARD_READS(POLICY);
  score->writes |= FORWARD_WRITES(POLICY);
}

static void fill_update(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &zero, training);
  schedule_add(schedule, &repeat_parts, training);
  minibatch_add(&fitting_of(training)->train, schedule);
  add_scores(&training->train.simulation, schedule);
  schedule_add(schedule, &learn_classes, training);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &optimise, training);
}

static void fill_validate(struct training *training, struct schedule *schedule) {
  minibatch_add(&fitting_of(training)->validation, schedule);
  add_scores(&training->validation.simulation, schedule);
}

static const struct system save_scores = {
    .name = "save_scores", .doc = "log-likelihoods of a part of the validation data", .reads = SET(ENV_log_likelihood)};

/* ---- opening ------------------------------------------------------------------------------------------- */

/* A loss is one number of a sample. */
static bool open_state(struct training *training, struct error *error) {
  fitting_of(training)->loss.tiles = 1;
  return fit_open_epochs(training, error);
}

/* ---- looking ------------------------------------------------------------------------------------------- */

static bool log_updates(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct fitting *fitting = fitting_of(training);
  size_t pending, first, batch = training->options->train.batch;
  if (!fit_read_losses(training, &pending, error)) return false;
  uint64_t start = (training->done - 1) % training->each + 1 - pending;
  for (size_t i = 0; i < pending; i++) {
    size_t count = fit_samples(training, start + i, &first);
    for (size_t k = 0; k < count; k++) {
      values[0] -= (double)fitting->part[i * batch + k] / (double)(count * pending);
      fitting->epoch_sum -= (double)fitting->part[i * batch + k];
    }
  }
  values[2] = training->optimiser.rate;
  return optimise_norm(&training->optimiser, &values[1], error);
}

/* ---- validation ---------------------------------------------------------------------------------------- */

enum { EPOCH_VAL_ACCURACY = EPOCH_VAL_LOSS + 1, EPOCH_VAL_AUC };

static bool read_scores(struct training *training, float *likely, struct error *error) {
  struct fitting *own = fitting_of(training);
  size_t most = training->policy.batch, first, end = ranks_rows(training->device->ranks, own->validation.slices, &first);
  for (; first < end; first += most) {
    size_t count = end - first < most ? end - first : most;
    minibatch_select(&own->validation, first, count);
    training_run_list(training, FIT_VALIDATE);
    world_get(training->validation.simulation.world, training_host(training, FIT_SCORES, 0), ENV_log_likelihood, 0, count,
              likely + first);
    if (!device_finish(training->device, error)) return false;
  }
  ranks_unite(training->device->ranks, likely, own->validation.slices * sizeof *likely);
  return true;
}

/* Its samples are the slices in their order. */
static void tell_scores(const struct training *training, const float *likely, float *label, double values[TRAINING_VALUES]) {
  const struct split *split = &training->validation;
  size_t slices = split->report.slices;
  for (size_t i = 0; i < slices; i++) {
    const struct slice_name *name = &split->report.names[i];
    label[i] = split->dataset.volumes[name->volume].label[name->slice];
    values[EPOCH_VAL_LOSS] -= (double)likely[i] / (double)slices;
    values[EPOCH_VAL_ACCURACY] += (likely[i] > logf(0.5f)) / (double)slices;
  }
  values[EPOCH_VAL_AUC] = classes_auc(likely, label, slices, 1, NULL);
}

static bool validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  const struct fitting *own = fitting_of(training);
  struct arena *arena = arena_open();
  float *likely = ARENA_NEW(arena, float, own->validation.slices), *label = ARENA_NEW(arena, float, own->validation.slices);
  bool good = read_scores(training, likely, error);
  if (good) tell_scores(training, likely, label, values);
  values[EPOCH_LOSS] = own->epoch_sum / (double)own->train.slices;
  values[EPOCH_RATE] = training->optimiser.rate;
  arena_close(arena);
  return good;
}

/* ---- the row ------------------------------------------------------------------------------------------- */

static bool check_options(const struct task_check *check, struct error *error) {
  const struct rate_schedule rates = fit_rates(check->options);
  return rate_check(&rates, "train.milestones", error) && network_check(&network_classifier, check->options, error);
}

static const struct log_value epoch_values[] = {
    [EPOCH_LOSS] = {"loss", "loss/train", "the mean cross-entropy of the epoch's images"},
    [EPOCH_RATE] = {"rate", "rate", "the learning rate"},
    [EPOCH_VAL_LOSS] = {"val_loss", "loss/validation", "the cross-entropy of the validation images"},
    [EPOCH_VAL_ACCURACY] = {"val_accuracy", "accuracy/validation", "the share of them whose class has a probability above one half"},
    [EPOCH_VAL_AUC] = {"val_auc", "auc/validation", "the area under their ROC curve, of two classes"},
    [EPOCH_VAL_AUC + 1] = {NULL, NULL, NULL}};

static const char *const reads[] = {"data.", "import.", "data.augment", "acquisition.", "world.", "network.", "reconstruct.",
                                    "varnet.", "sampler.polynomial_power", "sampler.gaussian_width", "sampler.mask", "train.method",
                                    "train.masks", "train.sampler", "train.accelerations", "train.initial_accelerations",
                                    "train.batch", "train.optimiser", "train.rate", "train.schedule", "train.rate_factor",
                                    "train.rate_every", "train.milestones", "train.clip", "train.weight_decay", "train.reduce",
                                    "classifier.", NULL};

const struct task task_classifier = {
    .name = "classifier",
    .network = "classifier",
    .unit = "update",
    .worked = "images",
    .reads = reads,
    .more = "train.epochs",
    .advice = "lower train.rate or set train.clip",
    .bytes = sizeof(struct fitting),
    .networks = {&network, &network_fixed_reconstructor},
    .lists = {FIT_EPOCH_LISTS,
              [FIT_UPDATE] = {FIT_UPDATES, .fill = fill_update},
              [FIT_VALIDATE] = {FIT_VALIDATES, .fill = fill_validate},
              [FIT_SCORES] = {FIT_SCORED, .rows = SYSTEMS(&save_scores)}},
    .train = {"update", fit_update_values, 1},
    .validation = {"epoch", epoch_values, 1 << EPOCH_VAL_LOSS, 1 << EPOCH_VAL_AUC},
    .select = SELECT_LOWEST,
    .selected = EPOCH_VAL_LOSS,
    .score = EPOCH_VAL_LOSS,
    .epochs = true,
    .curves = CURVES({"cross-entropy", "training", .value = EPOCH_LOSS},
                     {"cross-entropy", "validation", .validation = true, .value = EPOCH_VAL_LOSS},
                     {"accuracy", "validation", .validation = true, .value = EPOCH_VAL_ACCURACY}),
    .plan = plan,
    .check = check_options,
    .describe = fit_describe,
    .note = fit_note,
    .load = fit_load,
    .open = open_state,
    .close = fit_close,
    .begin = fit_begin,
    .step = training_step,
    .log = log_updates,
    .validate = validate,
    .read = fit_read};

const struct method method_classifier = {.name = "classifier",
                                         .doc = "a network that tells the classes of slices from their reconstructions, by which "
                                                "scans are rewarded and scored (reward.classifier)",
                                         .paper = "as the task networks of Yen et al. 2024, arXiv:2406.04318",
                                         .networks = "classifier; a U-Net first",
                                         .beside = {&network_classifier},
                                         .systems = SYSTEMS(&zero, &repeat_parts, &learn_classes, &optimise),
                                         .stages = {&task_reconstructor, &task_classifier}};
