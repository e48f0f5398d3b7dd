/* The networks of tau steps as they run: for scans (systems/scan/decide.c), and step by step to train them.
 */
#include "systems/scan/sequence.h"

#include "systems/networks/coil_view.h"
#include "systems/scan/observation.h"
#include "systems/scan/systems.h"

/* ---- what they see ------------------------------------------------------------------------------------- */

component_set tau_encode_reads(const struct options *options) {
  enum net_view_kind view = net_tau_view(options);
  if (view == VIEW_MAGNITUDE) return SET(SLICE_unit) | SET(SLICE_image);
  component_set kspace = SET(SLICE_unit) | observation_chosen(options)->kspace;
  if (view == VIEW_COMPLEX) return kspace;
  bool maps = (kspace & SET(SLICE_coil_kspace)) && options->varnet.sense == SENSE_MAPS && options->coils.maps != MAPS_NONE;
  return (kspace & ~SET(SLICE_maps)) | SET(SLICE_mean) | SET(SLICE_std) | (maps ? SET(SLICE_maps) : 0);
}

static void number(struct tau *tau, struct world *world, uint32_t first, size_t images) {
  kernel_run(world_kernels(world), "loupe_number", images,
             ARGS(arg_buffer(ARG_OUT, ELEMENT_U32, graph_value(tau->graph, tau->net.scan)), arg_u32(first),
                  arg_u32(1)));
}

/* What a pass of the variational network takes beside frequencies and mask, which do not change between its passes. */
static void encode_pass(struct tau *tau, struct world *world, const struct coil_view *view, cl_mem back) {
  struct reconstructor_inputs inputs = reconstructor_inputs(tau->reconstructor);
  kernel_run(world_kernels(world), "view_units", view->images,
             ARGS(view->slice, world_in(world, SLICE_mean), world_in(world, SLICE_std),
                  arg_buffer(ARG_OUT, ELEMENT_C64, inputs.units), arg_buffer(ARG_OUT, ELEMENT_C64, back)));
  if (inputs.maps) coil_view_maps(world, view, inputs.maps);
}

static void encode_coils(struct tau *tau, struct world *world, struct arg slice, size_t images) {
  struct reconstructor *reconstructor = tau->reconstructor;
  struct coil_view view = {.slice = slice, .images = images, .net = &reconstructor->setup.varnet};
  cl_mem back = graph_value(tau->graph, tau->net.units);
  coil_view_kspace(world, &view, graph_value(tau->graph, tau->net.image));
  for (size_t pass = 0; pass < reconstructor->network.path.passes; pass++) {
    reconstructor_select(reconstructor, pass);
    encode_pass(tau, world, &view, back);
  }
  reconstructor_select(reconstructor, 0);
}

void tau_encode(struct tau *tau, struct world *world, struct arg slices, size_t row, uint32_t first,
                size_t images) {
  struct arg slice = arg_buffer(ARG_IN, ELEMENT_U32, tau->slice);
  device_copy(world_device(world), slices.as.m, sizeof(uint32_t) * row, tau->slice, 0,
              sizeof(uint32_t) * images);
  if (tau->view != VIEW_MAGNITUDE) number(tau, world, first, images);
  if (tau->view == VIEW_COMPLEX)
    observe_frequencies(world, slice, NULL, 0, graph_value(tau->graph, tau->net.image), images);
  if (tau->view == VIEW_COILS) encode_coils(tau, world, slice, images);
  if (tau->view != VIEW_MAGNITUDE) return;
  kernel_run(world_kernels(world), "loupe_images", images,
             ARGS(slice, world_in(world, SLICE_image), world_in(world, SLICE_unit),
                  graph_arg(ARG_OUT, graph_value(tau->graph, tau->net.image)),
                  arg_buffer(ARG_OUT, ELEMENT_U32, graph_value(tau->graph, tau->net.scan)),
                  arg_u32((uint32_t)world_shape(world, SHAPE_HW)), arg_u32(first)));
}

/* ---- parts --------------------------------------------------------------------------------------------- */

/* Bytes of what a node has of so many images, values or gradients. */
static size_t row_bytes(const struct tau *tau, tensor node, size_t images) {
  return sizeof(float) * images * graph_values(tau->graph, node);
}

/* The end of a part becomes the input of the reconstructor's pass of that number; where nothing is trained,
 * and with one look alone, all are the first. */
static void pass_on(struct tau *tau, uint32_t part, size_t images) {
  const struct graph *graph = tau->graph;
  tensor observed = tau->net.observed[part], kept = tau->net.kept[part];
  size_t bytes = row_bytes(tau, observed, images);
  watch_touch(&tau->reconstructor->watch, 0, SET(BATCH_input));
  reconstructor_select(tau->reconstructor, tau->train && tau->adaptive ? part : 0);
  device_copy(tau->device, graph_value(graph, observed), 0, tau->reconstructor->input, 0, bytes);
  if (tau->view == VIEW_COILS)
    device_copy(tau->device, graph_value(graph, kept), 0, reconstructor_inputs(tau->reconstructor).mask, 0,
                row_bytes(tau, kept, images));
}

static void select_step(struct tau *tau, uint32_t step) {
  reconstructor_select(&tau->sampler, tau->train && tau->adaptive ? step : 0);
}

/* The U-Net of points between what it sees and what is drawn by it. */
static void forward_sampler(struct tau *tau, uint32_t step, size_t images) {
  const struct graph *graph = tau->graph;
  select_step(tau, step);
  device_copy(tau->device, graph_value(graph, tau->net.planes[step]), 0, tau->sampler.input, 0,
              5 * tau->plane * images);
  reconstructor_forward(&tau->sampler, images);
  device_copy(tau->device, tau->sampler.output, 0, graph_value(graph, tau->net.scores[step]), 0,
              tau->plane * images);
}

static void backward_sampler(struct tau *tau, uint32_t step, size_t images) {
  const struct graph *graph = tau->graph;
  select_step(tau, step);
  device_copy(tau->device, graph_gradient(graph, tau->net.scores[step]), 0, tau->sampler.output_gradient, 0,
              tau->plane * images);
  reconstructor_backward_level(&tau->sampler, images, tau->adaptive);
  if (tau->adaptive)
    device_copy(tau->device, tau->sampler.input_gradient, 0, graph_gradient(graph, tau->net.planes[step]), 0,
                5 * tau->plane * images);
}

/* A part of the graph, which of points is cut in two. */
static void forward_part(struct tau *tau, uint32_t part, size_t images) {
  int start = part ? tau->net.end[part - 1] : 0;
  if (tau->points && part) {
    int cut = tau->net.cut[part - 1];
    graph_forward_part(tau->graph, start, cut);
    forward_sampler(tau, part - 1, images);
    start = cut;
  }
  graph_forward_part(tau->graph, start, tau->net.end[part]);
}

static void backward_part(struct tau *tau, uint32_t part, size_t images) {
  int end = tau->net.end[part];
  if (tau->points && part) {
    int cut = tau->net.cut[part - 1];
    graph_backward_part(tau->graph, cut, end);
    backward_sampler(tau, part - 1, images);
    end = cut;
  }
  graph_backward_part(tau->graph, part ? tau->net.end[part - 1] : 0, end);
}

/* The reconstruction that the step after the part sees. */
static void reconstruct(struct tau *tau, uint32_t part, size_t images) {
  pass_on(tau, part, images);
  reconstructor_forward(tau->reconstructor, images);
  device_copy(tau->device, tau->reconstructor->output, 0,
              graph_value(tau->graph, tau->net.reconstruction[part]), 0, tau->plane * images);
}

/* After the last step the image of all lines is for the loss alone. */
void tau_run(struct tau *tau, size_t images) {
  tau->reconstructor->watch.quiet = true; /* its passes are within those of the sampler */
  graph_set_images(tau->graph, images);
  for (uint32_t part = 0; part <= tau->steps; part++) {
    forward_part(tau, part, images);
    if (tau->adaptive && part < tau->steps) reconstruct(tau, part, images);
  }
  reconstructor_select(tau->reconstructor, 0);
  tau->reconstructor->watch.quiet = false;
}

/* ---- systems of an update: forward --------------------------------------------------------------------- */

static void run_encode(struct world *world, void *context) {
  struct tau_steps *steps = context;
  tau_encode(steps->tau, world, world_in(world, ENV_slice), 0, steps->sample, world_rows(world, TABLE_ENV));
}

/* Whoever lists it adds the slices' images or k-space. */
const struct system system_encode_slices = {.name = "encode_slices",
                                            .doc = "the sampler's slices, and what keys its draws",
                                            .reads = SET(ENV_slice),
                                            .run = run_encode};

static bool next_step(struct world *world, void *context, size_t turn) {
  struct tau_steps *steps = context;
  (void)world;
  steps->step = (uint32_t)turn;
  return turn < steps->tau->steps;
}

const struct system system_repeat_tau = {
    .name = "steps", .doc = "tau of them, and a reconstruction before each", .next = next_step};

static void run_sample(struct world *world, void *context) {
  struct tau_steps *steps = context;
  size_t images = world_rows(world, TABLE_ENV);
  graph_set_images(steps->tau->graph, images);
  forward_part(steps->tau, steps->step, images);
}

const struct system system_forward_sampler = {
    .name = "forward_sampler",
    .doc = "the sampler's forward pass: actions of the step before, and what is observed by them",
    .reads = FORWARD_READS(SAMPLER),
    .writes = FORWARD_WRITES(SAMPLER),
    .run = run_sample};

static void run_forward_reconstruction(struct world *world, void *context) {
  struct tau_steps *steps = context;
  reconstruct(steps->tau, steps->step, world_rows(world, TABLE_ENV));
}

const struct system system_forward_reconstruction = {.name = "forward_reconstruction",
                                   .doc = "the reconstructor's forward pass, shown to the next step",
                                   .reads = FORWARD_READS(RECONSTRUCTOR),
                                   .writes = SET(BATCH_input) | SET(BATCH_output) | FORWARD_WRITES(RECONSTRUCTOR),
                                   .run = run_forward_reconstruction};

static void run_last(struct world *world, void *context) {
  struct tau_steps *steps = context;
  steps->step = steps->tau->steps;
  run_sample(world, steps);
  pass_on(steps->tau, steps->step, world_rows(world, TABLE_ENV));
}

const struct system system_forward_last = {
    .name = "forward_last",
    .doc = "the sampler's forward pass: actions of the last step, and what the reconstructor sees of all",
    .reads = FORWARD_READS(SAMPLER),
    .writes = SET(BATCH_input) | FORWARD_WRITES(SAMPLER),
    .run = run_last};

/* ---- and backward -------------------------------------------------------------------------------------- */

/* From the last step to the first; a sampler that does not look at reconstructions ends with the last. */
static bool next_back(struct world *world, void *context, size_t turn) {
  struct tau_steps *steps = context;
  const struct tau *tau = steps->tau;
  (void)world;
  if (turn >= (tau->adaptive ? tau->steps : 1)) return false;
  steps->step = tau->steps - (uint32_t)turn;
  return true;
}

const struct system system_repeat_back = {
    .name = "steps_back", .doc = "steps, the last one first", .next = next_back};

static void run_sample_back(struct world *world, void *context) {
  struct tau_steps *steps = context;
  struct tau *tau = steps->tau;
  size_t images = world_rows(world, TABLE_ENV);
  const struct graph *graph = tau->graph;
  tensor observed = tau->net.observed[steps->step], kept = tau->net.kept[steps->step];
  watch_touch(&tau->reconstructor->watch, SET(BATCH_input_gradient), 0);
  device_copy(tau->device, tau->reconstructor->input_gradient, 0, graph_gradient(graph, observed), 0,
              row_bytes(tau, observed, images));
  if (tau->view == VIEW_COILS)
    device_copy(tau->device, reconstructor_inputs(tau->reconstructor).mask_gradient, 0, graph_gradient(graph, kept), 0,
                row_bytes(tau, kept, images));
  backward_part(tau, steps->step, images);
}

const struct system system_backward_sampler = {
    .name = "backward_sampler",
    .doc = "the sampler's backward pass, to the reconstruction that it has seen",
    .reads = SET(BATCH_input_gradient) | BACKWARD_READS(SAMPLER),
    .writes = BACKWARD_WRITES(SAMPLER),
    .run = run_sample_back};

/* Nothing learns before the first reconstruction. */
static void run_backward_reconstruction(struct world *world, void *context) {
  struct tau_steps *steps = context;
  struct tau *tau = steps->tau;
  struct reconstructor *reconstructor = tau->reconstructor;
  size_t images = world_rows(world, TABLE_ENV);
  uint32_t part = steps->step - 1;
  watch_touch(&reconstructor->watch, 0, SET(BATCH_output_gradient));
  reconstructor_select(reconstructor, tau->train ? part : 0);
  device_copy(tau->device, graph_gradient(tau->graph, tau->net.reconstruction[part]), 0,
              reconstructor->output_gradient, 0, tau->plane * images);
  reconstructor_backward_level(reconstructor, images, part > 0);
}

const struct system system_backward_reconstruction = {.name = "backward_reconstruction",
                                        .doc = "the reconstructor's backward pass of that reconstruction",
                                        .reads = BACKWARD_READS(RECONSTRUCTOR),
                                        .writes = SET(BATCH_output_gradient) | SET(BATCH_input_gradient) |
                                                  BACKWARD_WRITES(RECONSTRUCTOR),
                                        .run = run_backward_reconstruction};
