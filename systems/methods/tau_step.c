/* tau-step sequential sampling (Yin et al. 2021, PROTOCOL 3.3): in each of tau steps a sampler looks at the
 * reconstruction of what is acquired and draws a part of the budget; all steps learn from the loss of the
 * last reconstruction. */
#include "systems/methods/fit.h"
#include "systems/methods/method.h"
#include "systems/scan/sequence.h"
#include "systems/scan/systems.h"

struct tau_training {
  struct fitting fitting; /* first */
  struct tau tau;
  struct tau_steps steps; /* of the running part */
};

struct tau *training_tau(const struct training *training) {
  return &OWN(tau_training, training)->tau;
}

/* ---- validation ----------------------------------------------------------------------------- */

/* Their numbers are above those of training (systems/training/minibatch.c). */
static void run_draw(struct world *world, void *context) {
  struct training *training = context;
  struct tau *tau = training_tau(training);
  const uint32_t start = 0x80000000u;
  size_t first = fitting_of(training)->validation.sample, images = world_rows(world, TABLE_ENV);
  if (tau->adaptive) world_touch(world, FORWARD_READS(RECONSTRUCTOR), FORWARD_WRITES(RECONSTRUCTOR));
  tau_encode(tau, world, world_in(world, EPOCH_slice), first, start + (uint32_t)first, images);
  tau_run(tau, images);
  kernel_run(world_kernels(world), "loupe_keep", images * tau->acquisition.shape.actions,
             ARGS(graph_arg(ARG_IN, graph_value(tau->graph, tau->net.mask[tau->steps])),
                  world_part(world, EPOCH_mask), arg_u32((uint32_t)first)));
}

static const struct system draw_validation = {
    .name = "draw_validation",
    .doc = "masks of the validation samples, each by what the sampler sees of its slice",
    .reads = SET(EPOCH_slice) | FORWARD_READS(SAMPLER),
    .writes = FORWARD_WRITES(SAMPLER),
    .parts = SET(EPOCH_mask),
    .kernels = {"loupe_keep"},
    .run = run_draw};

/* ---- lists --------------------------------------------------------------------------------------------- */

static void add_there(struct training *training, struct schedule *schedule) {
  struct tau_steps *steps = &OWN(tau_training, training)->steps;
  const struct options *options = training->options;
  bool adaptive = options->tau.adaptive;
  schedule_add(schedule, &system_encode_slices, steps)->reads |= tau_encode_reads(training->options);
  schedule_add(schedule, &system_repeat_tau, steps);
  struct system *sample = schedule_add(schedule, &system_forward_sampler, steps);
  if (options->acquisition.geometry == GEOMETRY_POINTS &&
      options->tau.steps == 1) { /* before it, nothing is drawn */
    sample->reads &= ~FORWARD_READS(SAMPLER);
    sample->writes &= ~FORWARD_WRITES(SAMPLER);
  }
  if (adaptive) schedule_add(schedule, &system_forward_reconstruction, steps);
  schedule_add(schedule, &system_end, NULL);
  schedule_add(schedule, &system_forward_last, steps);
}

static void add_back(struct training *training, struct schedule *schedule) {
  struct tau_steps *steps = &OWN(tau_training, training)->steps;
  bool adaptive = training->options->tau.adaptive;
  schedule_add(schedule, &system_repeat_back, steps);
  schedule_add(schedule, &system_backward_sampler, steps);
  struct system *seen = adaptive ? schedule_add(schedule, &system_backward_reconstruction, steps) : NULL;
  if (seen && training->options->tau.steps == 1) seen->writes &= ~SET(BATCH_input_gradient);
  schedule_add(schedule, &system_end, NULL);
}

static void fill_draw(struct training *training, struct schedule *schedule) {
  schedule_add(schedule, &fit_repeat_draws, training);
  minibatch_add_load(&fitting_of(training)->validation, schedule);
  const struct options *options = training->options;
  struct system *draw = schedule_add(schedule, &draw_validation, training);
  draw->reads |= tau_encode_reads(options) | (options->tau.adaptive ? FORWARD_READS(RECONSTRUCTOR) : 0);
  if (options->tau.adaptive) draw->writes |= FORWARD_WRITES(RECONSTRUCTOR);
  schedule_add(schedule, &system_end, NULL);
}

static const struct fit_way way = {add_there, add_back, tau_measure, tau_passes};

/* ---- networks ------------------------------------------------------------------------------------------ */

static bool open_sampler(struct training *training, struct error *error) {
  struct tau *tau = training_tau(training);
  struct masks_setup setup = fit_masks_setup(training);
  if (!tau_open(tau, &setup, &training->reconstructor, error)) return false;
  tau_watch(tau);
  fitting_of(training)->sampler =
      (struct fit_sampler){.graph = tau_parameters(tau),
                           .optimiser = &tau->optimiser,
                           .rate = training->options->tau.rate,
                           .path = tau->points ? &tau->sampler.network.path : NULL,
                           .facts = network_of_sampler(tau->points)->facts,
                           .is = tau_facts(tau),
                           .sample = &OWN(tau_training, training)->steps.sample};
  OWN(tau_training, training)->steps.tau = tau;
  return true;
}

static void close_sampler(struct training *training) {
  if (training_tau(training)->graph) tau_close(training_tau(training));
}

static const struct task_network sampler = {FIT_MASKS_NETWORK, .open = open_sampler, .close = close_sampler};

/* ---- the row ------------------------------------------------------------------------------------------- */

const struct task task_tau_step = {
    FIT_MASKS_TASK,
    .reads = KEYS(FIT_READS, "train.method", "acquisition.", "tau."),
    .facts = &way,
    .bytes = sizeof(struct tau_training),
    .networks = {&network_learned_reconstructor, &sampler},
    .lists = {FIT_LISTS, [FIT_DRAW] = {"learned masks", "after every epoch",
                                                    .validates = true, .fill = fill_draw}},
    .check = fit_check_masks};

const struct method method_tau_step = {
    .name = "tau_step",
    .doc = "actions in tau steps, each by what the reconstructor has made until then",
    .paper = "Yin et al. 2021, arXiv:2105.06460",
    .networks = "sampler, U-Net",
    .beside = {&network_tau_step},
    .systems = SYSTEMS(&system_encode_slices, &system_repeat_tau, &system_forward_sampler,
                       &system_forward_reconstruction, &system_forward_last, &system_repeat_back,
                       &system_backward_sampler, &system_backward_reconstruction, &draw_validation),
    .stages = {&task_tau_step}};
