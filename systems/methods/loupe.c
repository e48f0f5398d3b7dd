/* LOUPE (Bahadir et al. 2019, 2020; the exact budget as in Yin et al. 2021, PROTOCOL 3.2): the mask is drawn by
 * learned probabilities, and the loss of the reconstructor goes back through the observation to them. */
#include "kernels/kernels.h"
#include "systems/methods/fit.h"
#include "systems/methods/method.h"
#include "systems/networks/loupe.h"
#include "systems/scan/observation.h"
#include "systems/scan/systems.h"

struct loupe_training {
  struct fitting fitting; /* first */
  struct loupe loupe;
};

struct loupe *training_loupe(const struct training *training) {
  return &OWN(loupe_training, training)->loupe;
}

/* ---- where its graph observes: complex images, points ---------------------------------------------------- */

static void run_views(struct world *world, void *context) {
  struct training *training = context;
  struct loupe *loupe = training_loupe(training);
  size_t images = world_rows(world, TABLE_ENV);
  loupe_number(loupe, fit_update(training), fit_sample(training));
  observe_frequencies(world, world_in(world, ENV_slice), NULL, 0, loupe_frequencies(loupe), images);
  loupe_forward_views(loupe, images);
  device_copy(loupe->device, loupe_observed(loupe), 0, world_out(world, BATCH_input).as.m, 0,
              loupe_observed_bytes(loupe, images));
}

static const struct system forward_loupe = {
    .name = "forward_loupe",
    .doc = "LOUPE's forward pass: masks, and what the reconstructor sees of the slices by them",
    .reads = SET(ENV_slice) | SET(SLICE_unit) | FORWARD_READS(SAMPLER),
    .writes = SET(BATCH_input) | FORWARD_WRITES(SAMPLER),
    .kernels = {"view_frequencies", "loupe_number"},
    .run = run_views};

static void run_views_back(struct world *world, void *context) {
  struct training *training = context;
  struct loupe *loupe = training_loupe(training);
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
  struct loupe *loupe = training_loupe(training);
  size_t images = world_rows(world, TABLE_ENV);
  loupe_number(loupe, fit_update(training), fit_sample(training));
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

static void run_backward(struct world *world, void *context) {
  struct training *training = context;
  (void)world;
  loupe_backward(training_loupe(training));
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
  struct loupe *loupe = training_loupe(training);
  size_t rows = fitting_of(training)->validation.slices, most = loupe->graph->batch;
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

/* ---- lists ---------------------------------------------------------------------------------------------- */

static void add_there(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  if (loupe_views(training->options)) {
    schedule_add(schedule, &forward_loupe, training)->reads |= observation_chosen(training->options)->kspace;
    return;
  }
  schedule_add(schedule, &draw_masks, training);
  if (!loupe_encodes(training->options)) simulation_add_observe(simulation, schedule);
  simulation_add_encode(simulation, schedule);
}

static void add_back(struct training *training, struct schedule *schedule) {
  if (loupe_views(training->options)) {
    schedule_add(schedule, &backward_views, training);
    return;
  }
  if (loupe_encodes(training->options))
    simulation_add_encode_back(&training->train.simulation, schedule);
  else
    schedule_add(schedule, &system_observe_back, training);
  schedule_add(schedule, &backward_loupe, training);
}

static const struct fit_way way = {add_there, add_back, loupe_measure, NULL};

/* ---- networks ------------------------------------------------------------------------------------------- */

static bool open_mask(struct training *training, struct error *error) {
  struct loupe *loupe = training_loupe(training);
  struct masks_setup setup = fit_masks_setup(training);
  if (!loupe_open(loupe, &setup, error)) return false;
  loupe_bind(loupe, training->train.simulation.world);
  loupe_bind(loupe, training->validation.simulation.world);
  fitting_of(training)->sampler = (struct fit_sampler){
      .graph = loupe->graph, .optimiser = &loupe->optimiser, .rate = training->options->loupe.rate,
      .facts = network_loupe.facts, .is = loupe_facts(loupe)};
  return true;
}

static void close_mask(struct training *training) {
  if (training_loupe(training)->graph) loupe_close(training_loupe(training));
}

static bool write_mask(const struct training *training, struct store *store, struct error *error) {
  return loupe_write(training_loupe(training), store, error);
}

static const struct task_network mask = {FIT_MASKS_NETWORK, .open = open_mask, .close = close_mask};

/* ---- the row -------------------------------------------------------------------------------------------- */

const struct task task_loupe = {
    FIT_MASKS_TASK,
    .reads = KEYS(FIT_READS, "train.method", "acquisition.", "loupe."),
    .facts = &way,
    .bytes = sizeof(struct loupe_training),
    .networks = {&network_learned_reconstructor, &mask},
    .lists = {FIT_LISTS,
              [FIT_DRAW] = {"learned masks", "after every epoch", .validates = true, .rows = SYSTEMS(&draw_validation)}},
    .check = fit_check_masks,
    .write = write_mask};

const struct method method_loupe = {
    .name = "loupe",
    .doc = "one mask for all scans, learned with the reconstructor from its loss",
    .paper = "Bahadir et al. 2019, arXiv:1901.01960; with an exact budget as in Yin et al. "
             "2021, arXiv:2105.06460",
    .networks = "probabilities of actions, U-Net",
    .beside = {&network_loupe},
    .systems = SYSTEMS(&forward_loupe, &backward_views, &draw_masks, &backward_loupe, &draw_validation,
                       &system_encode_varnet_back),
    .stages = {&task_loupe}};
