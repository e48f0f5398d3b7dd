/* tau-step sequential sampling (Yin et al. 2021, PROTOCOL 3.3): in each of tau steps a sampler looks at the
 * reconstruction of what is acquired and draws a part of the budget; all steps learn from the loss of the last
 * reconstruction. */
#include "systems/methods/fit.h"
#include "systems/methods/method.h"
#include "systems/networks/tau.h"
#include "systems/scan/systems.h"

struct tau_training {
  struct fitting fitting; /* first */
  struct tau tau;
  uint32_t step; /* the running one */
};

static struct tau_training *own_of(const struct training *training) {
  return training_own(training, sizeof(struct tau_training));
}

struct tau *training_tau(const struct training *training) {
  return &own_of(training)->tau;
}

/* ---- forward ------------------------------------------------------------------------------------------- */

static void run_encode(struct world *world, void *context) {
  struct training *training = context;
  tau_encode(training_tau(training), world, world_in(world, ENV_slice), 0, fit_sample(training),
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
  own_of(training)->step = (uint32_t)turn;
  return turn < training_tau(training)->steps;
}

static const struct system repeat_steps = {
    .name = "steps", .doc = "tau of them, and a reconstruction before each", .next = next_step};

static void run_sample(struct world *world, void *context) {
  struct training *training = context;
  tau_forward(training_tau(training), own_of(training)->step, world_rows(world, TABLE_ENV));
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
  struct tau *tau = training_tau(training);
  reconstructor_forward(&training->reconstructor, world_rows(world, TABLE_ENV));
  tau_look(tau, own_of(training)->step, world_rows(world, TABLE_ENV));
}

static const struct system look = {.name = "forward_reconstruction",
                                   .doc = "the reconstructor's forward pass, shown to the next step",
                                   .reads = SET(BATCH_input) | FORWARD_READS(RECONSTRUCTOR),
                                   .writes = SET(BATCH_output) | FORWARD_WRITES(RECONSTRUCTOR),
                                   .run = run_look};

static void run_last(struct world *world, void *context) {
  struct training *training = context;
  own_of(training)->step = training_tau(training)->steps;
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
  const struct tau *tau = training_tau(training);
  (void)world;
  if (turn >= (tau->adaptive ? tau->steps : 1)) return false;
  own_of(training)->step = tau->steps - (uint32_t)turn;
  return true;
}

static const struct system repeat_back = {
    .name = "steps_back", .doc = "steps, the last one first", .next = next_back};

static void run_sample_back(struct world *world, void *context) {
  struct training *training = context;
  tau_backward(training_tau(training), own_of(training)->step, world_rows(world, TABLE_ENV));
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
  reconstructor_backward_level(&training->reconstructor, world_rows(world, TABLE_ENV), own_of(training)->step > 1);
}

static const struct system look_back = {.name = "backward_reconstruction",
                                        .doc = "the reconstructor's backward pass of that reconstruction",
                                        .reads = SET(BATCH_output_gradient) | BACKWARD_READS(RECONSTRUCTOR),
                                        .writes = SET(BATCH_input_gradient) | BACKWARD_WRITES(RECONSTRUCTOR),
                                        .run = run_look_back};

/* ---- validation ----------------------------------------------------------------------------- */

static bool next_draws(struct world *world, void *context, size_t turn) {
  struct training *training = context;
  struct feed *feed = &fitting_of(training)->validation;
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

/* Their numbers are above those of training (systems/training/feed.c). */
static void run_draw(struct world *world, void *context) {
  struct training *training = context;
  struct tau *tau = training_tau(training);
  const uint32_t start = 0x80000000u;
  size_t first = fitting_of(training)->validation.sample, images = world_rows(world, TABLE_ENV);
  if (tau->adaptive) world_touch(world, FORWARD_READS(RECONSTRUCTOR), FORWARD_WRITES(RECONSTRUCTOR));
  tau_encode(tau, world, world_in(world, EPOCH_slice), first, start + (uint32_t)first, images);
  tau_run(tau, images);
  kernel_run(world_kernels(world), "loupe_keep", images * tau->acquisition.lines,
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

/* ---- lists ---------------------------------------------------------------------------------------------- */

static void add_there(struct training *training, struct schedule *schedule) {
  const struct options *options = training->options;
  bool adaptive = options->tau.adaptive;
  schedule_add(schedule, &encode_slices, training)->reads |= tau_encode_reads(training->options);
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

static void add_back(struct training *training, struct schedule *schedule) {
  bool adaptive = training->options->tau.adaptive;
  schedule_add(schedule, &repeat_back, training);
  struct system *back = schedule_add(schedule, &backward_sampler, training);
  if (adaptive) back->writes |= SET(BATCH_output_gradient);
  struct system *seen = adaptive ? schedule_add(schedule, &look_back, training) : NULL;
  if (seen && training->options->tau.steps == 1) seen->writes &= ~SET(BATCH_input_gradient);
  schedule_add(schedule, &system_end, NULL);
}

static void fill_draw(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &repeat_draws, training);
  feed_add_bring(&fitting_of(training)->validation, schedule);
  const struct options *options = training->options;
  struct system *draw = schedule_add(schedule, &draw_validation, training);
  draw->reads |= tau_encode_reads(options) | (options->tau.adaptive ? FORWARD_READS(RECONSTRUCTOR) : 0);
  if (options->tau.adaptive) draw->writes |= FORWARD_WRITES(RECONSTRUCTOR);
  schedule_add(schedule, &system_end, NULL);
}

static const struct fit_way way = {add_there, add_back};

static void fill_update(struct training *training, struct schedule *schedule) {
  fit_fill_update(training, schedule, &way);
}

/* ---- networks ------------------------------------------------------------------------------------------- */

static bool open_reconstructor(struct training *training, struct error *error) {
  return fit_open_reconstructor(
      training, &(struct fit_network){.input_gradient = true, .passes = tau_passes(training->options)}, error);
}

static void change_sampler(struct training *training) {
  tau_changed(training_tau(training));
}

static bool measure_sampler(struct training *training, struct network_need *need, struct error *error) {
  struct masks_setup setup = fit_masks_setup(training);
  return tau_measure(&setup, need, error);
}

static bool open_sampler(struct training *training, struct error *error) {
  struct tau *tau = training_tau(training);
  struct masks_setup setup = fit_masks_setup(training);
  if (!tau_open(tau, &setup, &training->reconstructor, error)) return false;
  tau_watch(tau);
  fitting_of(training)->sampler = (struct fit_sampler){.graph = tau_parameters(tau),
                                                       .optimiser = &tau->optimiser,
                                                       .rate = training->options->tau.rate,
                                                       .changed = change_sampler};
  return true;
}

static void close_sampler(struct training *training) {
  if (training_tau(training)->graph) tau_close(training_tau(training));
}

static struct graph *sampler_graph(const struct training *training) {
  return tau_parameters(training_tau(training));
}

static bool write_sampler(const struct training *training, struct store *store, struct error *error) {
  return tau_write(training_tau(training), store, error);
}

static bool read_sampler(struct training *training, struct store *store, struct error *error) {
  return fit_read_sampler(training, "tau_step", store, error) && tau_read(training_tau(training), store, error);
}

static const struct task_network reconstructor = {.open = open_reconstructor, FIT_RECONSTRUCTOR},
                                 sampler = {.measure = measure_sampler,
                                            .open = open_sampler,
                                            .close = close_sampler,
                                            .graph = sampler_graph,
                                            .write = write_sampler,
                                            .read = read_sampler};

/* ---- the row -------------------------------------------------------------------------------------------- */

static const char *const *reads(const struct options *options) {
  static const char *const keys[] = {FIT_READS, "train.method", "acquisition.", "tau.", NULL};
  (void)options;
  return keys;
}

static bool check(struct device *device, const struct options *options, const struct acquisition *acquisition,
                  uint32_t rounds, struct error *error) {
  if (!fit_check_masks(options, "tau_step", error) || !fit_check(device, options, acquisition, rounds, error))
    return false;
  if (options->acquisition.geometry != GEOMETRY_POINTS || options->data.size % (1u << options->tau.pools) == 0)
    return true;
  return fail_usage(
      error,
      "train.method is tau_step and acquisition.geometry points: its sampler halves images of "
      "data.size %u %u times (tau.pools); set it to a multiple of %u, or tau.pools lower",
      options->data.size, options->tau.pools, 1u << options->tau.pools);
}

static bool describe(struct training *training, struct error *error) {
  return fit_describe(training, true, false, error);
}

const struct task task_tau_step = {
    FIT_TASK,
    .name = "reconstructor",
    .reads = reads,
    .more = "train.epochs",
    .one_setting = true,
    .bytes = sizeof(struct tau_training),
    .networks = {&reconstructor, &sampler},
    .lists = {FIT_LISTS(fill_update),
              [FIT_DRAW] = {"validation masks", "after every epoch", .validates = true, .fill = fill_draw}},
    .validation = {"epoch", fit_epoch_values, 1 << EPOCH_VAL_LOSS},
    .score = EPOCH_VAL_SSIM,
    .check = check,
    .describe = describe,
    .open = fit_open};

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
    .beside = {&network_tau_step},
    .systems = tau_systems,
    .stages = {&task_tau_step}};
