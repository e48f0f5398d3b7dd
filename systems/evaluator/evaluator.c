#include "systems/evaluator/evaluator.h"

#include "engine/base/round.h"
#include "systems/evaluator/net_evaluator.h"
#include "systems/methods/method.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/systems.h"

#include <string.h>

struct evaluator *evaluator_of(const struct training *training) {
  return training_own(training, sizeof(struct evaluator));
}

/* ---- systems ------------------------------------------------------------------------------------------- */

static void run_target(struct world *world, void *context) {
  const struct training *training = context;
  const struct evaluator *evaluator = evaluator_of(training);
  const struct scan_shape shape = scan_shape_of(training->options);
  kernel_run(world_kernels(world), "evaluator_target", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_slice), world_in(world, BATCH_output), world_in(world, SLICE_image),
                  world_in(world, SLICE_mean), world_in(world, SLICE_std),
                  arg_unnamed(world_in(world, ENV_mask)), graph_arg(ARG_OUT, evaluator->truth),
                  graph_arg(ARG_OUT, evaluator->target), arg_u32(shape.height), arg_u32(shape.width),
                  arg_f32((float)training->options->evaluator.gamma)));
}

static const struct system score_columns = {.name = "score_columns",
                                            .doc = "how near every column of the outputs is to the truth",
                                            .reads = SET(ENV_slice) | SET(BATCH_output) | SET(SLICE_image) |
                                                     SET(SLICE_mean) | SET(SLICE_std) | SET(ENV_mask),
                                            .kernels = {"evaluator_target"},
                                            .run = run_target};

static void forward(struct training *training, cl_mem images, size_t count) {
  struct policy *policy = &training->policy;
  size_t pixels = scan_shape_pixels(&policy->setup.shape);
  device_copy(training->device, images, 0, policy->input, 0, sizeof(float) * pixels * count);
  path_forward(&policy->network.path, count);
}

static void run_forward(struct world *world, void *context) {
  forward(context, world_in(world, BATCH_output).as.m, world_rows(world, TABLE_ENV));
}

static const struct system see_outputs = {.name = "see_outputs",
                                          .doc = "the evaluator's forward pass on the outputs",
                                          .reads = SET(BATCH_output) | FORWARD_READS(SAMPLER),
                                          .writes = FORWARD_WRITES(SAMPLER),
                                          .run = run_forward};

static void run_forward_truth(struct world *world, void *context) {
  forward(context, evaluator_of(context)->truth, world_rows(world, TABLE_ENV));
}

static const struct system see_truth = {.name = "see_truth",
                                        .doc = "the evaluator's forward pass on the true images",
                                        .reads = FORWARD_READS(SAMPLER),
                                        .writes = FORWARD_WRITES(SAMPLER),
                                        .run = run_forward_truth};

/* What the scores' gradient is made of: of true images, or of reconstructions. */
struct judged {
  bool truth;
  size_t first; /* of the losses */
  double share, undo;
};

static void score(const struct training *training, size_t images, const struct judged *judged) {
  const struct evaluator *evaluator = evaluator_of(training);
  const struct policy *policy = &training->policy;
  kernel_run(policy->setup.kernels, "evaluator_loss", images,
             ARGS(graph_arg(ARG_IN, policy->logits), graph_arg(ARG_IN, evaluator->target),
                  graph_arg(ARG_OUT, policy->logits_gradient), graph_arg(ARG_INOUT, evaluator->loss),
                  arg_u32(policy->setup.shape.width), arg_u32(judged->truth),
                  arg_u32((uint32_t)judged->first), arg_f32((float)judged->share),
                  arg_f32((float)judged->undo)));
}

static double share_of(const struct training *training) {
  return 1.0 / (double)evaluator_of(training)->fitting.count;
}

/* The reconstructor is to make images whose columns the evaluator takes for true. */
static void run_pull(struct world *world, void *context) {
  struct training *training = context;
  struct policy *policy = &training->policy;
  size_t images = world_rows(world, TABLE_ENV), count = images * scan_shape_pixels(&policy->setup.shape);
  const size_t strip = 8; /* of kernels/pointwise.cl */
  score(training, images,
        &(struct judged){.truth = true, .share = training->options->evaluator.weight * share_of(training)});
  policy_backward(policy, images);
  kernel_run(world_kernels(world), "scale_into", divide_up(count, strip),
             ARGS(graph_arg(ARG_IN, policy->network.path.pass[0].ends.input_gradient),
                  arg_unnamed(world_inout(world, BATCH_output_gradient)), arg_f32(1),
                  arg_u32((uint32_t)count), arg_u32(1)));
}

static const struct system pull_outputs = {
    .name = "pull_outputs",
    .doc = "the gradient of the outputs, towards what the evaluator takes for true",
    .reads = SET(BATCH_output_gradient) | BACKWARD_READS(SAMPLER),
    .writes = SET(BATCH_output_gradient) | BACKWARD_WRITES(SAMPLER),
    .kernels = {"evaluator_loss", "scale_into"},
    .run = run_pull};

/* What pull_outputs has added to the evaluator's own gradient is taken back: backward is linear in what it
 * starts from. */
static void run_learn(struct world *world, void *context) {
  struct training *training = context;
  size_t images = world_rows(world, TABLE_ENV);
  double share = share_of(training);
  score(training, images,
        &(struct judged){.share = share, .undo = training->options->evaluator.weight * share});
  policy_backward(&training->policy, images);
}

static void run_learn_truth(struct world *world, void *context) {
  struct training *training = context;
  size_t images = world_rows(world, TABLE_ENV);
  score(training, images, &(struct judged){.truth = true, .share = share_of(training)});
  policy_backward(&training->policy, images);
}

#define LEARN(what, about, runs)                                                                             \
  {                                                                                                          \
    .name = what, .doc = about, .reads = BACKWARD_READS(SAMPLER), .writes = BACKWARD_WRITES(SAMPLER),        \
    .kernels = {"evaluator_loss"}, .run = runs                                                               \
  }

static const struct system learn_scores =
                               LEARN("learn_scores", "the evaluator's backward pass from the outputs' scores",
                                     run_learn),
                           learn_truth = LEARN("learn_truth",
                                               "the evaluator's backward pass from the true images' scores",
                                               run_learn_truth);

/* The losses of validation samples, in their places. */
static void run_measure(struct world *world, void *context) {
  const struct training *training = context;
  world_touch(world, SET(SAMPLER_activations), 0);
  score(training, world_rows(world, TABLE_ENV),
        &(struct judged){.first = evaluator_of(training)->fitting.validation.sample});
}

static void run_measure_truth(struct world *world, void *context) {
  const struct training *training = context;
  world_touch(world, SET(SAMPLER_activations), 0);
  score(training, world_rows(world, TABLE_ENV),
        &(struct judged){.truth = true, .first = evaluator_of(training)->fitting.validation.sample});
}

#define MEASURE(what, about, runs)                                                                           \
  {                                                                                                          \
    .name = what, .doc = about, .reads = SET(SAMPLER_activations), .kernels = {"evaluator_loss"},            \
    .run = runs                                                                                              \
  }

static const struct system measure_scores =
                               MEASURE("measure_scores", "the evaluator's loss on the outputs", run_measure),
                           measure_truth = MEASURE("measure_truth", "the evaluator's loss on the true images",
                                                   run_measure_truth);

static const struct system *const systems[] = {&score_columns,  &see_outputs,   &see_truth,
                                               &pull_outputs,   &learn_scores,  &learn_truth,
                                               &measure_scores, &measure_truth, NULL};

/* ---- lists --------------------------------------------------------------------------------------------- */

/* A backward pass leaves nothing of its forward pass. */
static void add_judge(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &score_columns, training);
  if (training->options->evaluator.weight > 0) {
    schedule_add(schedule, &see_outputs, training);
    schedule_add(schedule, &pull_outputs, training);
  }
  schedule_add(schedule, &see_outputs, training);
  schedule_add(schedule, &learn_scores, training);
  schedule_add(schedule, &see_truth, training);
  schedule_add(schedule, &learn_truth, training);
}

static bool describe(struct training *training, struct error *error) {
  evaluator_of(training)->fitting.add_beside = add_judge;
  return fit_describe(training, error);
}

static void fill_validate(struct training *training, struct schedule *schedule) {
  fit_fill_validate(training, schedule);
  schedule_add(schedule, &score_columns, training);
  schedule_add(schedule, &see_outputs, training);
  schedule_add(schedule, &measure_scores, training);
  schedule_add(schedule, &see_truth, training);
  schedule_add(schedule, &measure_truth, training);
}

/* ---- the network --------------------------------------------------------------------------------------- */

static struct policy_setup policy_setup(const struct training *training) {
  const struct masks_setup masks = fit_masks_setup(training);
  struct policy_setup setup = policy_setup_of(masks.device, masks.kernels, masks.options, masks.batch);
  setup.batch = masks.batch;
  setup.channels = masks.options->evaluator.channels;
  setup.evaluator = setup.dense = setup.whole = setup.train = setup.planned = true;
  return setup;
}

static size_t image_bytes(const struct policy_setup *setup) {
  return sizeof(float) * (scan_shape_pixels(&setup->shape) + setup->shape.width);
}

static bool measure(struct training *training, struct network_need *need, struct error *error) {
  struct policy_setup setup = policy_setup(training);
  if (!policy_measure(&setup, NULL, need, error)) return false;
  need->batch = 0;
  need->image += image_bytes(&setup);
  return true;
}

static size_t target_bytes(const struct training *training) {
  return sizeof(float) * training->policy.setup.batch * training->policy.setup.shape.width;
}

static size_t truth_bytes(const struct training *training) {
  return image_bytes(&training->policy.setup) * training->policy.setup.batch - target_bytes(training);
}

static bool open_buffers(struct training *training, struct error *error) {
  struct evaluator *evaluator = evaluator_of(training);
  struct device *device = training->device;
  size_t slices = training->validation.report.slices, batch = training->policy.setup.batch;
  evaluator->rows = slices > batch ? slices : batch;
  if (!(evaluator->room = arena_try_array(training->arena, sizeof(float), evaluator->rows)))
    return fail_memory(error, "no host memory for the evaluator's losses");
  evaluator->truth = device_buffer(device, truth_bytes(training), "true images", error);
  evaluator->target = device_buffer(device, target_bytes(training), "what columns are worth", error);
  evaluator->loss = device_buffer(device, sizeof(float) * evaluator->rows, "the evaluator's losses", error);
  if (evaluator->loss) device_fill(device, evaluator->loss, 0, sizeof(float) * evaluator->rows, 0);
  return evaluator->truth && evaluator->target && evaluator->loss;
}

static bool open_evaluator(struct training *training, struct error *error) {
  struct evaluator *evaluator = evaluator_of(training);
  struct policy *policy = &training->policy;
  struct policy_setup setup = policy_setup(training);
  struct optimiser_setup optimiser = optimise_defaults(
      (enum optimiser_kind)training->options->train.optimiser, training->options->train.rate);
  optimiser.clip = training->options->train.clip;
  if (!policy_open(policy, &setup, error)) return fail_in(error, "the evaluator");
  strcpy(policy->geometry, geometry_chosen(training->options)->name);
  if (!open_buffers(training, error) || !kernel_need(setup.kernels, "evaluator_target", error) ||
      !kernel_need(setup.kernels, "evaluator_loss", error) ||
      !optimise_open(&evaluator->optimiser, policy->graph, &optimiser, error))
    return false;
  graph_start(policy->graph, training->options->world.seed);
  policy_changed(policy);
  watch_graph(&policy->watch, policy->graph, SAMPLER_parameters);
  evaluator->fitting.sampler = (struct fit_sampler){.graph = policy->graph,
                                                    .optimiser = &evaluator->optimiser,
                                                    .rate = training->options->evaluator.rate,
                                                    .path = &policy->network.path,
                                                    .facts = network_evaluator.facts,
                                                    .is = policy_facts(policy)};
  return true;
}

static void close_evaluator(struct training *training) {
  struct evaluator *evaluator = evaluator_of(training);
  struct device *device = training->device;
  device_release(device, evaluator->truth, evaluator->truth ? truth_bytes(training) : 0);
  device_release(device, evaluator->target, evaluator->target ? target_bytes(training) : 0);
  device_release(device, evaluator->loss, evaluator->loss ? sizeof(float) * evaluator->rows : 0);
  if (evaluator->optimiser.device) optimise_close(&evaluator->optimiser);
  training_close_policy(training);
}

static const struct task_network network = {.measure = measure,
                                            .open = open_evaluator,
                                            .close = close_evaluator,
                                            .graph = fit_masks_graph,
                                            .write = fit_write_masks,
                                            .read = fit_read_masks};

/* ---- the row ------------------------------------------------------------------------------------------- */

enum { EPOCH_VAL_EVALUATOR = EPOCH_VALUES };

static bool validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  const struct evaluator *evaluator = evaluator_of(training);
  size_t slices = evaluator->fitting.validation.slices, bytes = sizeof(float) * slices;
  device_fill(training->device, evaluator->loss, 0, bytes, 0);
  if (!fit_validate(training, values, error)) return false;
  device_read(training->device, evaluator->loss, 0, bytes, evaluator->room);
  if (!device_finish(training->device, error)) return false;
  ranks_unite(training->device->ranks, evaluator->room, bytes);
  values[EPOCH_VAL_EVALUATOR] = 0;
  for (size_t i = 0; i < slices; i++) values[EPOCH_VAL_EVALUATOR] += evaluator->room[i] / (double)slices;
  return true;
}

static const struct log_value epoch_values[] = {
    FIT_EPOCH_ROWS,
    [EPOCH_VAL_EVALUATOR] =
        {"val_evaluator", "evaluator/validation",
         "the squared error of the evaluator's scores, of images and of the truth, mean over columns"},
    [EPOCH_VAL_EVALUATOR + 1] = {NULL, NULL, NULL}};

static bool check_options(const struct task_check *check, struct error *error) {
  return network_check(&network_evaluator, check->options, error) && fit_check(check, error);
}

const struct task task_evaluator = {
    FIT_TASK_BY(fit_begin, fit_note, describe, validate,
                CURVES({"loss", "training", .value = EPOCH_LOSS},
                       {"loss", "validation", .validation = true, .value = EPOCH_VAL_LOSS},
                       {"SSIM", "validation", .validation = true, .value = EPOCH_VAL_SSIM},
                       {"squared error of scores", "validation", .validation = true, .value = EPOCH_VAL_EVALUATOR})),
    .reads = KEYS(FIT_READS, "train.method", "acquisition.geometry", "acquisition.padded_left",
                  "acquisition.padded_right", "acquisition.initial_side", "sampler.polynomial_power",
                  "sampler.gaussian_width", "sampler.mask", "train.masks", "train.sampler", "train.accelerations",
                  "train.initial_accelerations", "evaluator."),
    .start = "train.start",
    .more = "train.epochs",
    .bytes = sizeof(struct evaluator),
    .networks = {&network_learned_reconstructor, &network},
    .lists = {FIT_LISTS_WITH(fill_validate)},
    .validation = {"epoch", epoch_values, 1 << EPOCH_VAL_LOSS | 1 << EPOCH_VAL_EVALUATOR},
    .score = EPOCH_VAL_SSIM,
    .check = check_options,
    .fits = fit_fits};

const struct method method_evaluator = {.name = "evaluator",
                                        .doc = "a network that says how near each line of a reconstruction "
                                               "is to the truth; scans acquire the farthest",
                                        .paper = "Zhang et al. 2019, arXiv:1902.03051",
                                        .networks = "evaluator, U-Net or variational network",
                                        .beside = {&network_evaluator},
                                        .systems = systems,
                                        .stages = {&task_evaluator}};
