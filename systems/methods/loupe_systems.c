/* LOUPE (Bahadir et al. 2019, 2020; the exact budget as in Yin et al. 2021, PROTOCOL 3.2): the mask is drawn by
 * learned probabilities, and the loss of the reconstructor goes back through the observation to them. */
#include "kernels/kernels.h"
#include "systems/methods/method.h"
#include "systems/methods/train.h"
#include "systems/scan/observation.h"
#include "systems/scan/systems.h"

/* ---- where its graph observes: complex images, points ---------------------------------------------------- */

static void run_views(struct world *world, void *context) {
  struct training *training = context;
  struct loupe *loupe = &training->loupe;
  size_t images = world_rows(world, TABLE_ENV);
  loupe_number(loupe, training_update(training), training_sample(training));
  observe_present(world, world_in(world, ENV_slice), NULL, 0, loupe_frequencies(loupe), images);
  loupe_forward_views(loupe, images);
  device_copy(loupe->device, loupe_observed(loupe), 0, world_out(world, BATCH_input).as.m, 0,
              loupe_observed_bytes(loupe, images));
}

static const struct system forward_loupe = {
    .name = "forward_loupe",
    .doc = "LOUPE's forward pass: masks, and what the reconstructor sees of the slices by them",
    .reads = SET(ENV_slice) | SET(SLICE_unit) | FORWARD_READS(SAMPLER),
    .writes = SET(BATCH_input) | FORWARD_WRITES(SAMPLER),
    .kernels = {"view_present", "loupe_number"},
    .run = run_views};

static void run_views_back(struct world *world, void *context) {
  struct training *training = context;
  struct loupe *loupe = &training->loupe;
  device_copy(loupe->device, world_in(world, BATCH_input_gradient).as.m, 0, loupe_observed_gradient(loupe), 0,
              loupe_observed_bytes(loupe, world_rows(world, TABLE_ENV)));
  loupe_backward(loupe);
}

static const struct system backward_views = {.name = "backward_loupe",
                                             .doc = "LOUPE's backward pass, from the reconstructor's input",
                                             .reads = SET(BATCH_input_gradient) | BACKWARD_READS(SAMPLER),
                                             .writes = BACKWARD_WRITES(SAMPLER),
                                             .run = run_views_back};

/* ---- where scans are observed as any ------------------------------------------------------------------- */

static void run_draw_masks(struct world *world, void *context) {
  struct training *training = context;
  struct loupe *loupe = &training->loupe;
  size_t images = world_rows(world, TABLE_ENV);
  loupe_number(loupe, training_update(training), training_sample(training));
  loupe_bind(loupe, world);
  loupe_forward(loupe, images);
  kernel_run(world_kernels(world), "loupe_keep", images * world_shape(world, SHAPE_A),
             ARGS(world_written(world, BATCH_drawn), world_part(world, ENV_mask), arg_u32(0)));
}

static const struct system draw_masks = {
    .name = "forward_loupe",
    .doc = "LOUPE's forward pass: a mask of exactly the budget, the same for a minibatch or each sample's own",
    .reads = FORWARD_READS(SAMPLER),
    .writes = SET(BATCH_drawn) | SET(ENV_mask) | FORWARD_WRITES(SAMPLER),
    .kernels = {"loupe_number", "loupe_keep"},
    .run = run_draw_masks};

static void run_observe_back(struct world *world, void *context) {
  struct training *training = context;
  bool fast = observe_fft_fits(world_height(world), world_width(world));
  loupe_bind(&training->loupe, world);
  kernel_run(world_kernels(world), fast ? "observe_back_fft" : "observe_back_direct", world_rows(world, TABLE_ENV),
             ARGS(world_in(world, ENV_slice), world_in(world, ENV_mask), world_in(world, SLICE_hybrid),
                  world_in(world, SCENE_phase), world_in(world, ENV_magnitude),
                  world_in(world, ENV_magnitude_mean), world_in(world, ENV_magnitude_std),
                  world_in(world, SLICE_unit), world_in(world, BATCH_input_gradient),
                  arg_unnamed(world_out(world, BATCH_drawn_gradient))));
}

static const struct system observe_back = {
    .name = "observe_back",
    .doc = "the gradient of the masks, through standardisation, magnitude and transform",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SLICE_hybrid) | SET(SCENE_phase) | SET(ENV_magnitude) |
             SET(ENV_magnitude_mean) | SET(ENV_magnitude_std) | SET(SLICE_unit) | SET(BATCH_input_gradient),
    .writes = SET(BATCH_drawn_gradient),
    .run = run_observe_back};

static void run_backward(struct world *world, void *context) {
  struct training *training = context;
  (void)world;
  loupe_backward(&training->loupe);
}

static const struct system backward_loupe = {.name = "backward_loupe",
                                             .doc = "LOUPE's backward pass, from its masks",
                                             .reads = SET(BATCH_drawn_gradient) | BACKWARD_READS(SAMPLER),
                                             .writes = BACKWARD_WRITES(SAMPLER),
                                             .run = run_backward};

/* ---- validation ----------------------------------------------------------------------------- */

/* A mask does not depend on the image: any will do. */
static void run_draw(struct world *world, void *context) {
  struct training *training = context;
  struct loupe *loupe = &training->loupe;
  size_t rows = training->validation.slices, most = loupe->graph->batch;
  loupe_bind(loupe, world);
  for (size_t first = 0; first < rows; first += most) {
    size_t images = rows - first < most ? rows - first : most;
    loupe_forward_validation(loupe, first, images);
    kernel_run(world_kernels(world), "loupe_keep", images * world_shape(world, SHAPE_A),
               ARGS(world_written(world, BATCH_drawn), world_part(world, EPOCH_mask),
                    arg_u32((uint32_t)first)));
  }
}

static const struct system draw_validation = {.name = "draw_validation",
                                              .doc = "masks of the validation samples, each its own",
                                              .reads = FORWARD_READS(SAMPLER),
                                              .writes = SET(BATCH_drawn) | SET(EPOCH_mask) | FORWARD_WRITES(SAMPLER),
                                              .kernels = {"loupe_number", "loupe_keep"},
                                              .run = run_draw};

/* ---- the row -------------------------------------------------------------------------------------------- */

static void add_forward(struct training *training, struct schedule *schedule) {
  const struct options *options = training->trainer.options;
  struct simulation *simulation = &training->train.simulation;
  if (loupe_views(options)) {
    schedule_add(schedule, &forward_loupe, training)->reads |= observation_chosen(options)->kspace;
    return;
  }
  schedule_add(schedule, &draw_masks, training);
  simulation_add_observe(simulation, schedule);
  simulation_add_encode(simulation, schedule);
}

static void add_backward(struct training *training, struct schedule *schedule) {
  if (loupe_views(training->trainer.options)) {
    schedule_add(schedule, &backward_views, training);
    return;
  }
  schedule_add(schedule, &observe_back, training);
  schedule_add(schedule, &backward_loupe, training);
}

static void add_draw(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &draw_validation, training);
}

static uint32_t one_pass(const struct options *options) {
  (void)options;
  return 1;
}

static bool check(const struct options *options, struct error *error) {
  return masks_check(options, "loupe", error);
}

static bool open(struct training *training, const struct masks_setup *setup, struct error *error) {
  if (!loupe_open(&training->loupe, setup, error)) return false;
  training->learner = (struct learner){training->loupe.graph, &training->loupe.optimiser};
  return true;
}

static void bind(struct training *training, struct world *world) {
  loupe_bind(&training->loupe, world);
}

static void close(struct training *training) {
  if (training->loupe.graph) loupe_close(&training->loupe);
}

static bool write(const struct training *training, struct store *store, struct error *error) {
  return loupe_write(&training->loupe, store, error);
}

static bool read(struct training *training, struct store *store, struct error *error) {
  return loupe_read(&training->loupe, store, error);
}

static const struct masks masks_loupe = {.name = "loupe",
                                         .rate = offsetof(struct options, loupe.rate),
                                         .absolute = true,
                                         .passes = one_pass,
                                         .check = check,
                                         .measure = loupe_measure,
                                         .open = open,
                                         .close = close,
                                         .bind = bind,
                                         .add_forward = add_forward,
                                         .add_backward = add_backward,
                                         .add_draw = add_draw,
                                         .write = write,
                                         .read = read};

static const struct system *const loupe_systems[] = {
    &forward_loupe,  &backward_views, &draw_masks,      &observe_back,
    &backward_loupe, &draw_validation, NULL};

const struct method method_loupe = {
    .name = "loupe",
    .doc = "one mask for all scans, learned with the reconstructor from its loss",
    .paper = "Bahadir et al. 2019, arXiv:1901.01960; with an exact budget as in Yin et al. "
             "2021, arXiv:2105.06460",
    .networks = "probabilities of actions, U-Net",
    .network = &network_loupe,
    .systems = loupe_systems,
    .masks = &masks_loupe};
