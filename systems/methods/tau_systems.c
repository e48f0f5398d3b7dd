/* tau-step sequential sampling (Yin et al. 2021, PROTOCOL 3.3): in each of tau steps a sampler looks at the
 * reconstruction of what is acquired and draws a part of the budget; all steps learn from the loss of the last
 * reconstruction. */
#include "systems/methods/method.h"
#include "systems/methods/train.h"
#include "systems/scan/systems.h"

/* ---- forward ------------------------------------------------------------------------------------------- */

static void run_encode(struct world *world, void *context) {
  struct training *training = context;
  tau_encode(&training->tau, world, world_in(world, ENV_slice), 0, training_sample(training),
             world_rows(world, TABLE_ENV));
}

/* tau_add_forward adds the slices' images or k-space. */
static const struct system encode_slices = {.name = "encode_slices",
                                            .doc = "the sampler's slices, and what keys its draws",
                                            .reads = SET(ENV_slice),
                                            .run = run_encode};

static bool next_step(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  (void)world;
  training->step = (uint32_t)turn;
  return turn < training->tau.steps;
}

static const struct system repeat_steps = {
    .name = "steps", .doc = "tau of them, and a reconstruction before each", .next = next_step};

static void run_sample(struct world *world, void *context) {
  struct training *training = context;
  tau_forward(&training->tau, training->step, world_rows(world, TABLE_ENV));
  reconstructor_bind(&training->reconstructor, world);
}

static const struct system forward_sampler = {
    .name = "forward_sampler",
    .doc = "the sampler's forward pass: actions of the step before, and what the reconstructor sees of them",
    .reads = FORWARD_READS(SAMPLER),
    .writes = FORWARD_WRITES(SAMPLER),
    .run = run_sample};

static void run_look(struct world *world, void *context) {
  struct training *training = context;
  struct tau *tau = &training->tau;
  reconstructor_forward(&training->reconstructor, world_rows(world, TABLE_ENV));
  tau_look(tau, training->step, world_rows(world, TABLE_ENV));
}

static const struct system look = {.name = "forward_reconstruction",
                                   .doc = "the reconstructor's forward pass, shown to the next step",
                                   .reads = SET(BATCH_input) | FORWARD_READS(RECONSTRUCTOR),
                                   .writes = SET(BATCH_output) | FORWARD_WRITES(RECONSTRUCTOR),
                                   .run = run_look};

static void run_last(struct world *world, void *context) {
  struct training *training = context;
  training->step = training->tau.steps;
  run_sample(world, training);
}

static const struct system forward_last = {
    .name = "forward_last",
    .doc = "the sampler's forward pass: actions of the last step, and what the reconstructor sees of all",
    .reads = FORWARD_READS(SAMPLER),
    .writes = SET(BATCH_input) | FORWARD_WRITES(SAMPLER),
    .run = run_last};

/* ---- backward ------------------------------------------------------------------------------------------ */

/* From the last step to the first; a sampler that does not look at reconstructions ends with the last. */
static bool next_back(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  const struct tau *tau = &training->tau;
  (void)world;
  if (turn >= (tau->adaptive ? tau->steps : 1)) return false;
  training->step = tau->steps - (uint32_t)turn;
  return true;
}

static const struct system repeat_back = {
    .name = "steps_back", .doc = "steps, the last one first", .next = next_back};

static void run_sample_back(struct world *world, void *context) {
  struct training *training = context;
  tau_backward(&training->tau, training->step, world_rows(world, TABLE_ENV));
  reconstructor_bind(&training->reconstructor, world);
}

static const struct system backward_sampler = {
    .name = "backward_sampler",
    .doc = "the sampler's backward pass, to the reconstruction that it has looked at",
    .reads = SET(BATCH_input_gradient) | BACKWARD_READS(SAMPLER),
    .writes = BACKWARD_WRITES(SAMPLER),
    .run = run_sample_back};

/* Nothing learns before the first reconstruction. */
static void run_look_back(struct world *world, void *context) {
  struct training *training = context;
  reconstructor_backward_level(&training->reconstructor, world_rows(world, TABLE_ENV), training->step > 1);
}

static const struct system look_back = {.name = "backward_reconstruction",
                                        .doc = "the reconstructor's backward pass of that reconstruction",
                                        .reads = SET(BATCH_output_gradient) | BACKWARD_READS(RECONSTRUCTOR),
                                        .writes = SET(BATCH_input_gradient) | BACKWARD_WRITES(RECONSTRUCTOR),
                                        .run = run_look_back};

/* ---- validation ----------------------------------------------------------------------------- */

static bool next_draws(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  struct feed *feed = &training->validation;
  size_t batch = training->reconstructor.batch, first = turn * batch;
  (void)world;
  if (first >= feed->slices) return false;
  feed_deal(feed, first, feed->slices - first < batch ? feed->slices - first : batch);
  return true;
}

static const struct system repeat_draws = {.name = "passes",
                                           .doc = "samples of the validation data that the sampler takes at a time",
                                           .covers = TABLE_BIT(TABLE_EPOCH),
                                           .next = next_draws};

/* Their numbers are above those of training (systems/methods/feed.c). */
static void run_draw(struct world *world, void *context) {
  struct training *training = context;
  struct tau *tau = &training->tau;
  const uint32_t start = 0x80000000u;
  size_t first = training->validation.sample, images = world_rows(world, TABLE_ENV);
  tau_watch(tau, world);
  if (tau->adaptive) world_touch(world, FORWARD_READS(RECONSTRUCTOR), FORWARD_WRITES(RECONSTRUCTOR));
  tau_encode(tau, world, world_in(world, EPOCH_slice), first, start + (uint32_t)first, images);
  tau_run(tau, images);
  kernel_run(world_kernels(world), "loupe_keep", images * tau->acquisition.shape.actions,
             ARGS(graph_arg(ARG_IN, tau_mask(tau, tau->steps)), world_part(world, EPOCH_mask),
                  arg_u32((uint32_t)first)));
}

static const struct system draw_validation = {
    .name = "draw_validation",
    .doc = "masks of the validation samples, each by what the sampler sees of its slice",
    .reads = SET(EPOCH_slice) | FORWARD_READS(SAMPLER),
    .writes = FORWARD_WRITES(SAMPLER),
    .parts = SET(EPOCH_mask),
    .kernels = {"loupe_keep"},
    .run = run_draw};

/* ---- the row -------------------------------------------------------------------------------------------- */

static void add_forward(struct training *training, struct schedule *schedule) {
  const struct options *options = training->trainer.options;
  bool adaptive = options->tau.adaptive;
  schedule_add(schedule, &encode_slices, training)->reads |= tau_encode_reads(training->trainer.options);
  schedule_add(schedule, &repeat_steps, training);
  struct system *sample = schedule_add(schedule, &forward_sampler, training);
  if (adaptive) sample->writes |= SET(BATCH_input);
  if (options->acquisition.geometry == GEOMETRY_POINTS && options->tau.steps == 1) { /* before it, nothing is drawn */
    sample->reads &= ~FORWARD_READS(SAMPLER);
    sample->writes &= ~FORWARD_WRITES(SAMPLER);
  }
  if (adaptive) schedule_add(schedule, &look, training);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &forward_last, training);
}

static void add_backward(struct training *training, struct schedule *schedule) {
  bool adaptive = training->trainer.options->tau.adaptive;
  schedule_add(schedule, &repeat_back, training);
  struct system *back = schedule_add(schedule, &backward_sampler, training);
  if (adaptive) back->writes |= SET(BATCH_output_gradient);
  struct system *seen = adaptive ? schedule_add(schedule, &look_back, training) : NULL;
  if (seen && training->trainer.options->tau.steps == 1) seen->writes &= ~SET(BATCH_input_gradient);
  schedule_add(schedule, &system_end, NULL);
}

static void add_draw(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &repeat_draws, training);
  feed_add_bring(&training->validation, schedule);
  const struct options *options = training->trainer.options;
  struct system *draw = schedule_add(schedule, &draw_validation, training);
  draw->reads |= tau_encode_reads(options) | (options->tau.adaptive ? FORWARD_READS(RECONSTRUCTOR) : 0);
  if (options->tau.adaptive) draw->writes |= FORWARD_WRITES(RECONSTRUCTOR);
  schedule_add(schedule, &system_end, NULL);
}

static bool check(const struct options *options, struct error *error) {
  if (!masks_check(options, "tau_step", error)) return false;
  const struct scan_shape shape = scan_shape_of(options);
  uint32_t multiple = 1u << options->tau.pools;
  char size[SCAN_SHAPE_TEXT];
  if (options->acquisition.geometry != GEOMETRY_POINTS ||
      (shape.height % multiple == 0 && shape.width % multiple == 0))
    return true;
  return fail_usage(error,
                    "train.method is tau_step and acquisition.geometry points: its sampler halves images of "
                    "data.size %s %u times (tau.pools); set it to a multiple of %u, or tau.pools lower",
                    scan_shape_text(&shape, size), options->tau.pools, multiple);
}

static uint32_t passes(const struct options *options) {
  return (uint32_t)tau_passes(options);
}

static bool open(struct training *training, const struct masks_setup *setup, struct error *error) {
  if (!tau_open(&training->tau, setup, &training->reconstructor, error)) return false;
  training->learner = (struct learner){tau_parameters(&training->tau), &training->tau.optimiser};
  return true;
}

static void bind(struct training *training, struct world *world) {
  tau_watch(&training->tau, world);
}

static void close(struct training *training) {
  if (training->tau.graph) tau_close(&training->tau);
}

static void changed(struct training *training) {
  tau_changed(&training->tau);
}

static bool write(const struct training *training, struct store *store, struct error *error) {
  return tau_write(&training->tau, store, error);
}

static bool read(struct training *training, struct store *store, struct error *error) {
  return tau_read(&training->tau, store, error);
}

static const struct masks masks_tau = {.name = "tau_step",
                                       .rate = offsetof(struct options, tau.rate),
                                       .passes = passes,
                                       .check = check,
                                       .measure = tau_measure,
                                       .open = open,
                                       .close = close,
                                       .bind = bind,
                                       .changed = changed,
                                       .add_forward = add_forward,
                                       .add_backward = add_backward,
                                       .add_draw = add_draw,
                                       .write = write,
                                       .read = read};

static const struct system *const tau_systems[] = {&encode_slices,
                                                   &repeat_steps,
                                                   &forward_sampler,
                                                   &look,
                                                   &forward_last,
                                                   &repeat_back,
                                                   &backward_sampler,
                                                   &look_back,
                                                   &repeat_draws,
                                                   &draw_validation,
                                                   NULL};

const struct method method_tau_step = {
    .name = "tau_step",
    .doc = "actions in tau steps, each by what the reconstructor has made until then",
    .paper = "Yin et al. 2021, arXiv:2105.06460",
    .networks = "sampler, U-Net",
    .network = &network_tau_step,
    .network_of_points = &network_tau_step_points,
    .systems = tau_systems,
    .masks = &masks_tau};
