/* Trains a classifier of reconstructions (PROTOCOL 4.4), by which scans are rewarded and scored for their task: epochs of
 * shuffled slices, each with a mask of a heuristic, whose images are the scene's reconstructor's. */
#include "systems/classifier/classifier.h"

#include "engine/base/round.h"
#include "systems/classifier/classes.h"
#include "systems/methods/fit.h"
#include "systems/methods/method.h"
#include "systems/networks/checkpoint.h"
#include "systems/classifier/classify.h"

#include <math.h>

/* Lists. */
enum { OPENED, VALIDATION_ORDER, VALIDATION_MASKS, ORDER, MASKS, UPDATE, VALIDATE, SCORES };

struct classifying *classifying_of(const struct training *training) {
  return training_own(training, sizeof(struct classifying));
}

/* ---- data ---------------------------------------------------------------------------------------------- */

static size_t batch_of(const struct options *options) {
  return options->train.batch < options->policy.batch ? options->train.batch : options->policy.batch;
}

static bool describe(struct training *training, struct error *error) {
  struct classifying *own = classifying_of(training);
  struct minibatch_setup setup = {.batch = batch_of(training->options),
                                  .images = true,
                                  .made = training->config.fill,
                                  .opens = training->device,
                                  .columns = training_columns(training, &training->train)},
                         other = setup;
  other.validate = true;
  other.columns = training_columns(training, &training->validation);
  return minibatch_describe(&own->train, &training->train, &setup, training->arena, error) &&
         minibatch_describe(&own->validation, &training->validation, &other, training->arena, error);
}

static void note(struct training *training, struct lists *lists, const char *stage, struct arena *arena) {
  minibatch_note(&classifying_of(training)->train, lists, stage, arena);
  minibatch_note(&classifying_of(training)->validation, lists, stage, arena);
}

static struct minibatches *minibatches_of(const struct training *training, const struct split *split) {
  struct classifying *own = classifying_of(training);
  return split == &training->validation ? &own->validation : &own->train;
}

static struct simulation_plan plan(const struct training *training, const struct split *split, size_t slices) {
  struct simulation_plan plan = minibatch_plan(minibatches_of(training, split), slices);
  plan.classes = training->options->classifier.classes;
  return plan;
}

static bool load(struct training *training, struct split *split, struct error *error) {
  return minibatch_open(minibatches_of(training, split), error);
}

/* ---- the network --------------------------------------------------------------------------------------- */

static bool open_network(struct training *training, struct error *error) {
  const struct options *options = training->options;
  struct policy_setup setup =
      policy_setup_of(training->device, training->train.simulation.kernels, options, batch_of(options));
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

static struct optimiser_setup optimiser(const struct options *options) {
  struct optimiser_setup setup =
      optimise_defaults((enum optimiser_kind)options->train.optimiser, options->train.rate);
  setup.clip = options->train.clip;
  setup.decay = options->train.weight_decay;
  return setup;
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
                                            .optimiser = optimiser,
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
  struct classifying *own = classifying_of(training);
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
  const struct classifying *own = classifying_of(training);
  struct policy *policy = &training->policy;
  size_t images = world_rows(world, TABLE_ENV);
  policy->scale = 1024.0 * (double)own->count;
  kernel_run(world_kernels(world), "class_gradient", images,
             ARGS(world_in(world, ENV_slice), world_in(world, SLICE_label), graph_arg(ARG_IN, policy->logits),
                  graph_arg(ARG_OUT, policy->logits_gradient), arg_u32(policy->setup.shape.actions),
                  arg_f32((float)(1.0 / (double)own->count))));
  policy_backward(policy, images);
  device_copy(training->device, world_in(world, ENV_log_likelihood).as.m, 0, own->losses,
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

static void fill_masks(struct training *training, struct schedule *schedule) {
  minibatch_add_masks(&classifying_of(training)->train, schedule);
}

static void fill_update(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &zero, training);
  schedule_add(schedule, &repeat_parts, training);
  minibatch_add(&classifying_of(training)->train, schedule);
  add_scores(&training->train.simulation, schedule);
  schedule_add(schedule, &learn_classes, training);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &optimise, training);
}

static void fill_validate(struct training *training, struct schedule *schedule) {
  minibatch_add(&classifying_of(training)->validation, schedule);
  add_scores(&training->validation.simulation, schedule);
}

static const struct system save_scores = {
    .name = "save_scores", .doc = "log-likelihoods of a part of the validation data", .reads = SET(ENV_log_likelihood)};

static const struct system *const score_rows[] = {&save_scores, NULL};
static const struct system *const systems[] = {&zero, &repeat_parts, &learn_classes, &optimise, NULL};

/* ---- opening ------------------------------------------------------------------------------------------- */

static size_t losses_bytes(const struct training *training) {
  return sizeof(float) * training->options->train.log_every * training->options->train.batch;
}

static void count_updates(struct training *training) {
  const struct options *options = training->options;
  size_t slices = classifying_of(training)->train.slices;
  training->each = training->save_every = divide_up(slices, options->train.batch);
  training->wanted = training->each * options->train.epochs;
  training->log_every = options->train.log_every;
  training->patience = options->train.early_stopping;
  training->work = (double)slices / (double)training->each;
  training->event_per = training->each;
}

static bool open_state(struct training *training, struct error *error) {
  struct classifying *own = classifying_of(training);
  size_t bytes = losses_bytes(training);
  count_updates(training);
  if (!minibatch_epoch(&own->validation, 0, error) ||
      !(own->losses = device_buffer(training->device, bytes, "the losses", error)))
    return false;
  device_fill(training->device, own->losses, 0, bytes, 0);
  return (own->room = arena_try(training->arena, bytes)) ||
         fail_memory(error, "no host memory for the losses; lower train.log_every");
}

static void close_state(struct training *training) {
  struct classifying *own = classifying_of(training);
  device_release(training->device, own->losses, own->losses ? losses_bytes(training) : 0);
  minibatch_close(&own->validation);
  minibatch_close(&own->train);
}

/* ---- epochs -------------------------------------------------------------------------------------------- */

static bool begin(struct training *training, uint64_t epoch, struct error *error) {
  classifying_of(training)->epoch_sum = 0;
  return minibatch_epoch(&classifying_of(training)->train, (uint32_t)epoch, error);
}

static size_t samples_of(const struct training *training, uint64_t update, size_t *first) {
  size_t batch = training->options->train.batch;
  *first = update % training->each * batch;
  size_t left = classifying_of(training)->train.slices - *first;
  return left < batch ? left : batch;
}

static void step(struct training *training) {
  struct classifying *own = classifying_of(training);
  own->count = samples_of(training, training->done, &own->first);
  training_run_list(training, UPDATE);
  own->pending++;
}

/* Each rank has those of its own samples, and 0 in place of the others'. */
static bool log_updates(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct classifying *own = classifying_of(training);
  size_t pending = own->pending, batch = training->options->train.batch, first, bytes = sizeof(float) * pending * batch;
  device_read(training->device, own->losses, 0, bytes, own->room);
  if (!device_finish(training->device, error)) return false;
  if (ranks_count(training->device->ranks) > 1) device_fill(training->device, own->losses, 0, bytes, 0);
  ranks_unite(training->device->ranks, own->room, bytes);
  for (size_t i = 0; i < pending; i++) {
    size_t count = samples_of(training, training->done - pending + i, &first);
    for (size_t k = 0; k < count; k++) {
      values[0] -= (double)own->room[i * batch + k] / (double)(count * pending);
      own->epoch_sum -= (double)own->room[i * batch + k];
    }
  }
  own->pending = 0;
  values[2] = training->optimiser.rate;
  return optimise_norm(&training->optimiser, &values[1], error);
}

/* ---- validation ---------------------------------------------------------------------------------------- */

enum { EPOCH_VAL_ACCURACY = EPOCH_VAL_LOSS + 1, EPOCH_VAL_AUC };

static bool read_scores(struct training *training, float *likely, struct error *error) {
  struct classifying *own = classifying_of(training);
  size_t most = training->policy.batch, first, end = ranks_rows(training->device->ranks, own->validation.slices, &first);
  for (; first < end; first += most) {
    size_t count = end - first < most ? end - first : most;
    minibatch_select(&own->validation, first, count);
    training_run_list(training, VALIDATE);
    world_get(training->validation.simulation.world, training_host(training, SCORES, 0), ENV_log_likelihood, 0, count,
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
  const struct classifying *own = classifying_of(training);
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

static bool check(struct device *device, const struct options *options, const struct acquisition *acquisition,
                  uint32_t rounds, struct error *error) {
  const struct rate_schedule rates = fit_rates(options);
  (void)device, (void)acquisition, (void)rounds;
  return rate_check(&rates, "train.milestones", error) && network_check(&network_classifier, options, error);
}

static const struct log_value epoch_values[] = {
    [EPOCH_LOSS] = {"loss", "loss/train", "the mean cross-entropy of the epoch's images"},
    [EPOCH_RATE] = {"rate", "rate", "the learning rate"},
    [EPOCH_VAL_LOSS] = {"val_loss", "loss/validation", "the cross-entropy of the validation images"},
    [EPOCH_VAL_ACCURACY] = {"val_accuracy", "accuracy/validation", "the share of them whose class has a probability above one half"},
    [EPOCH_VAL_AUC] = {"val_auc", "auc/validation", "the area under their ROC curve, of two classes"},
    [EPOCH_VAL_AUC + 1] = {NULL, NULL, NULL}};

static const struct log_curve curves[] = {
    {"cross-entropy", "training", .value = EPOCH_LOSS},
    {"cross-entropy", "validation", .validation = true, .value = EPOCH_VAL_LOSS},
    {"accuracy", "validation", .validation = true, .value = EPOCH_VAL_ACCURACY},
    {.up = NULL}};

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
    .bytes = sizeof(struct classifying),
    .networks = {&network, &network_fixed_reconstructor},
    .lists = {[OPENED] = {"opened", "when the training is opened", .host = true, .rows = fit_opened_rows},
              [VALIDATION_ORDER] = {"validation order", "before the first epoch",
                                    .in_own = offsetof(struct classifying, validation.ordering)},
              [VALIDATION_MASKS] = {"validation masks", "before the first epoch",
                                    .in_own = offsetof(struct classifying, validation.masks)},
              [ORDER] = {"order", "before every epoch", .in_own = offsetof(struct classifying, train.ordering)},
              [MASKS] = {"masks", "before every epoch", .unit = true, .fill = fill_masks,
                         .in_own = offsetof(struct classifying, train.masks)},
              [UPDATE] = {"update", "for every minibatch", .unit = true, .fill = fill_update},
              [VALIDATE] = {"validate", "for every part of the validation data", .validates = true, .fill = fill_validate},
              [SCORES] = {"scores", "after every part of the validation data", .validates = true, .host = true,
                          .rows = score_rows}},
    .train = {"update", fit_update_values, 1},
    .validation = {"epoch", epoch_values, 1 << EPOCH_VAL_LOSS, 1 << EPOCH_VAL_AUC},
    .select = SELECT_LOWEST,
    .selected = EPOCH_VAL_LOSS,
    .score = EPOCH_VAL_LOSS,
    .epochs = true,
    .curves = curves,
    .plan = plan,
    .check = check,
    .describe = describe,
    .note = note,
    .load = load,
    .open = open_state,
    .close = close_state,
    .begin = begin,
    .step = step,
    .log = log_updates,
    .validate = validate,
    .read = fit_read};

const struct method method_classifier = {.name = "classifier",
                                         .doc = "a network that tells the classes of slices from their reconstructions, by which "
                                                "scans are rewarded and scored (reward.classifier)",
                                         .paper = "as the task networks of Yen et al. 2024, arXiv:2406.04318",
                                         .networks = "classifier; a U-Net first",
                                         .beside = {&network_classifier},
                                         .systems = systems,
                                         .stages = {&task_reconstructor, &task_classifier}};
