/* Straight-through policies (Bakker et al. 2022; E2E-ADS in DIRECT; PROTOCOL 3.5): a network looks at the zero-filled image
 * and gives a probability to every line; of these exactly the budget is drawn, in one step or several, and the loss of the
 * reconstruction goes back through the draws. */
#include "systems/methods/fit.h"
#include "systems/methods/method.h"
#include "systems/planned/through.h"
#include "systems/planned/planned.h"
#include "systems/scan/systems.h"

struct through_training {
  struct fitting fitting; /* first */
  struct through through;
  struct planner planner;
  uint32_t step; /* the running one of a backward pass */
};

struct through *training_through(const struct training *training) {
  return &OWN(through_training, training)->through;
}

static bool is_varnet(const struct training *training) {
  return training->options->reconstruct.method == RECONSTRUCT_VARNET;
}

/* ---- there and back ------------------------------------------------------------------------------------ */

static void add_there(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  planner_add(simulation, &planner_through, schedule);
  if (!is_varnet(training)) simulation_add_observe(simulation, schedule);
  simulation_add_encode(simulation, schedule);
}

/* From the last step to the first. */
static bool next_back(struct world *world, void *context, size_t turn) {
  struct through_training *own = OWN(through_training, context);
  (void)world;
  if (turn == own->planner.steps) return false;
  own->step = own->planner.steps - 1 - (uint32_t)turn;
  return true;
}

static const struct system repeat_back = {
    .name = "plan_steps_back", .doc = "steps of the policy, the last one first", .next = next_back};

static void run_wear(struct world *world, void *context) {
  struct through_training *own = OWN(through_training, context);
  planner_keep(world, graph_value(own->through.graph, own->through.net.mask[own->step]), ENV_mask, 0,
               world_rows(world, TABLE_ENV));
}

static const struct system wear_step = {.name = "wear_step",
                                        .doc = "the masks that a step has seen",
                                        .reads = 0,
                                        .writes = SET(ENV_mask),
                                        .kernels = {"loupe_keep"},
                                        .run = run_wear};

static void run_look(struct world *world, void *context) {
  struct through *through = training_through(context);
  size_t images = world_rows(world, TABLE_ENV);
  through_see(through, world, 0, images);
  through_look(through, images);
}

static const struct system look_again = {.name = "look_again",
                                         .doc = "the policy's forward pass of a step once more",
                                         .reads = OBSERVE_STANDARDISE_READS | FORWARD_READS(SAMPLER),
                                         .writes = FORWARD_WRITES(SAMPLER),
                                         .kernels = {"image_standardise"},
                                         .run = run_look};

static void run_back(struct world *world, void *context) {
  struct through_training *own = OWN(through_training, context);
  world_touch(world, SET(BATCH_drawn_gradient), 0);
  through_backward(&own->through, own->step, world_rows(world, TABLE_ENV), 1.0 / (double)own->fitting.count);
}

static const struct system backward_policy = {.name = "backward_straight_through",
                                              .doc = "the policy's backward pass, from the masks after a step",
                                              .reads = SET(BATCH_drawn_gradient) | BACKWARD_READS(SAMPLER),
                                              .writes = BACKWARD_WRITES(SAMPLER),
                                              .run = run_back};

/* Of several steps only the last one's activations are there. */
static void add_back(struct training *training, struct schedule *schedule) {
  struct simulation *simulation = &training->train.simulation;
  if (is_varnet(training))
    simulation_add_encode_back(simulation, schedule);
  else
    schedule_add(schedule, &system_observe_back, NULL);
  schedule_add(schedule, &repeat_back, training);
  if (training->options->straight_through.steps > 1) {
    schedule_add(schedule, &wear_step, training);
    simulation_add_observe(simulation, schedule);
    schedule_add(schedule, &look_again, training);
  }
  schedule_add(schedule, &backward_policy, training);
  schedule_add(schedule, &system_end, NULL);
}

static const struct fit_way way = {add_there, add_back, through_measure, NULL};

static void fill_draw(struct training *training, struct schedule *schedule) {
  fit_add_plan(training, &planner_through, schedule);
}

/* ---- networks ------------------------------------------------------------------------------------------ */

/* Both splits' scans are planned by it. */
static bool open_policy(struct training *training, struct error *error) {
  struct through_training *own = OWN(through_training, training);
  struct through *through = &own->through;
  struct masks_setup setup = fit_masks_setup(training);
  own->fitting.fixed = !training->options->straight_through.joint;
  own->planner.own = through;
  training->train.simulation.planner = training->validation.simulation.planner = &own->planner;
  if (!planner_open(&own->planner, &planner_through, &setup, error) || !through_open(through, &setup, error)) return false;
  own->planner.steps = through->setup.steps;
  world_bind(training_world(training), BATCH_drawn_gradient,
             graph_gradient(through->graph, through->net.mask[through->setup.steps]), through->graph->batch);
  own->fitting.planner = &own->planner;
  own->fitting.sampler = (struct fit_sampler){.graph = through->policy.graph,
                                              .optimiser = &through->optimiser,
                                              .rate = training->options->straight_through.rate,
                                              .path = &through->policy.network.path,
                                              .facts = network_straight_through.facts,
                                              .is = through_facts(through),
                                              .sample = &own->planner.number};
  return true;
}

static void close_policy(struct training *training) {
  planner_close(&OWN(through_training, training)->planner);
}

static const struct task_network policy = {FIT_MASKS_NETWORK, .open = open_policy, .close = close_policy};

/* ---- the row ------------------------------------------------------------------------------------------- */

static bool check_options(const struct task_check *check, struct error *error) {
  const struct options *options = check->options;
  if (!options->straight_through.joint && !*options->train.start)
    return fail_usage(error, "straight_through.joint is false and train.start is empty; name the checkpoint of the "
                             "reconstructor that stays");
  if (options->network.input != INPUT_MAGNITUDE)
    return fail_usage(error, "train.method is straight_through, whose policy sees magnitudes, and network.input is complex; "
                             "set it to magnitude, or train.method to loupe or tau_step");
  if (options->acquisition.geometry == GEOMETRY_POINTS)
    return fail_usage(error, "train.method is straight_through, whose policy chooses lines, and acquisition.geometry is points; "
                             "set it to lines, or train.method to loupe or tau_step");
  return fit_check_masks(check, error);
}

const struct task task_straight_through = {
    FIT_MASKS_TASK,
    .reads = KEYS(FIT_READS, "train.method", "acquisition.", "policy.", "straight_through."),
    .start = "train.start",
    .facts = &way,
    .bytes = sizeof(struct through_training),
    .networks = {&network_learned_reconstructor, &policy},
    .lists = {FIT_LISTS,
              [FIT_DRAW] = {"learned masks", "after every epoch", .validates = true, .fill = fill_draw}},
    .check = check_options,
    .fits = fit_fits};

const struct method method_straight_through = {
    .name = "straight_through",
    .doc = "a policy trained through the reconstructor by straight-through draws of exactly the budget",
    .paper = "Bakker et al. 2022, arXiv:2203.16392; E2E-ADS, Yiasemis et al. 2024, arXiv:2403.10346",
    .networks = "policy, U-Net or variational network",
    .beside = {&network_straight_through},
    .systems = SYSTEMS(&repeat_back, &wear_step, &look_again, &backward_policy),
    .stages = {&task_straight_through}};
