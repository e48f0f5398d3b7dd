#include "systems/networks/reconstructor.h"

#include "components/components.h"
#include "engine/base/round.h"

#include "engine/base/log.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/net_unet.h"
#include "systems/networks/networks.h"

#include <string.h>

static size_t image_bytes(const struct reconstructor *reconstructor) {
  return sizeof(float) * reconstructor->setup.size * reconstructor->setup.size;
}

static size_t channels_in(const struct reconstructor *reconstructor) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  return setup->inputs ? setup->inputs : setup->complex ? 2 : 1;
}

/* The fused path computes small maps two images at a time. */
static size_t fused_batch(const struct reconstructor *reconstructor) {
  return reconstructor->batch + reconstructor->batch % 2;
}

static size_t fused_bytes(const struct reconstructor *reconstructor) {
  return image_bytes(reconstructor) * fused_batch(reconstructor);
}

/* Every graph of the network has its nodes in the same places. */
static bool build_graph(struct reconstructor *reconstructor, struct graph **graph, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  graph_open(graph);
  reconstructor->in =
      graph_input(*graph, "input", (int)channels_in(reconstructor), (int)setup->size, (int)setup->size);
  reconstructor->out = net_unet_named(*graph, reconstructor->in, setup->before ? setup->before : "",
                                      (int)setup->channels, (int)setup->pools);
  return graph_good(*graph, error);
}

static bool build(struct reconstructor *reconstructor, struct error *error) {
  return build_graph(reconstructor, &reconstructor->graph, error);
}

static bool plan(struct reconstructor *reconstructor, struct graph *graph, size_t batch,
                 struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct graph_setup graph_setup = {.device = setup->device,
                                    .kernels = setup->kernels,
                                    .batch = batch,
                                    .train = setup->train,
                                    .input_gradient = setup->input_gradient,
                                    .parameters =
                                        graph == reconstructor->graph ? NULL : reconstructor->graph};
  return graph_plan(graph, &graph_setup, error);
}

/* ---- complex images ------------------------------------------------------------------------------------ */

static void build_sum(const struct reconstructor *reconstructor, struct reconstructor_pass *pass) {
  int n = (int)reconstructor->setup.size;
  graph_open(&pass->sum);
  pass->image = graph_input(pass->sum, "image", 2, n, n);
  pass->residual = graph_input(pass->sum, "residual", 1, n, n);
  pass->out = net_unet_sum(pass->sum, pass->residual, pass->image, reconstructor->setup.absolute);
  if (reconstructor->setup.train) graph_want(pass->sum, pass->residual);
  if (reconstructor->setup.input_gradient) graph_want(pass->sum, pass->image);
}

static void build_view(struct reconstructor *reconstructor) {
  int n = (int)reconstructor->setup.size;
  graph_open(&reconstructor->view);
  reconstructor->frequencies = graph_input(reconstructor->view, "frequencies", 2, n, n);
  reconstructor->viewed = inverse_fourier(reconstructor->view, reconstructor->frequencies);
}

/* Bytes of the sums of all passes and of the view. */
static size_t complex_bytes(const struct reconstructor *reconstructor, size_t batch) {
  struct reconstructor measured = {.setup = reconstructor->setup};
  if (!reconstructor->setup.complex) return 0;
  build_sum(&measured, measured.pass);
  build_view(&measured);
  size_t bytes =
      reconstructor->passes * graph_measure(measured.pass->sum, batch, measured.setup.train, false) +
      graph_measure(measured.view, batch, false, false);
  graph_close(measured.pass->sum);
  graph_close(measured.view);
  return bytes;
}

static bool open_sum(struct reconstructor *reconstructor, struct reconstructor_pass *pass, size_t batch,
                     struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct graph_setup sum = {
      .device = setup->device, .kernels = setup->kernels, .batch = batch, .train = setup->train};
  build_sum(reconstructor, pass);
  if (!graph_plan(pass->sum, &sum, error)) return false;
  pass->whole.input = graph_value(pass->sum, pass->image);
  pass->whole.output = graph_value(pass->sum, pass->out);
  if (setup->train) pass->whole.output_gradient = graph_gradient(pass->sum, pass->out);
  if (setup->input_gradient) pass->whole.input_gradient = graph_gradient(pass->sum, pass->image);
  return true;
}

static bool open_view(struct reconstructor *reconstructor, struct error *error) {
  struct graph_setup view = {.device = reconstructor->setup.device,
                             .kernels = reconstructor->setup.kernels,
                             .batch = reconstructor->batch};
  if (!reconstructor->setup.complex) return true;
  build_view(reconstructor);
  return kernel_need(view.kernels, "view_present", error) && graph_plan(reconstructor->view, &view, error);
}

static void copy_images(const struct reconstructor *reconstructor, cl_mem from, cl_mem to, size_t channels,
                        size_t images) {
  device_copy(reconstructor->setup.device, from, 0, to, 0, image_bytes(reconstructor) * channels * images);
}

/* ---- room ---------------------------------------------------------------------------------------------- */

/* What training takes beside the graph: an optimiser's two moments, the loss's four images for each, and what
 * the caller says. */
static size_t bytes_beside(const struct reconstructor *reconstructor, size_t batch) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  if (!setup->train) return 0;
  return 2 * sizeof(float) * reconstructor->graph->elements + setup->beside +
         (4 * image_bytes(reconstructor) + setup->beside_image) * batch;
}

/* Bytes of what needs a larger allocation than the device makes. */
static const size_t NO_ALLOCATION = SIZE_MAX / 2;

/* Of the portable path with so many images a pass, and of all beside it. */
static size_t portable_bytes(struct reconstructor *reconstructor, size_t batch, size_t passes) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  size_t activations = graph_measure(reconstructor->graph, batch, setup->train, setup->input_gradient);
  if (activations > SIZE_MAX / 64) return NO_ALLOCATION;
  return passes * activations + sizeof(float) * reconstructor->graph->elements * (setup->train ? 2 : 1) +
         complex_bytes(reconstructor, batch) + bytes_beside(reconstructor, batch);
}

/* The largest batch of which all fits; 0: not one image. */
static size_t find_room(struct reconstructor *reconstructor, size_t left) {
  size_t low = 0, high = reconstructor->batch;
  while (low < high) {
    size_t middle = (low + high + 1) / 2;
    if (portable_bytes(reconstructor, middle, reconstructor->passes) <= left)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static bool refuse_one(struct reconstructor *reconstructor, size_t left, struct error *error) {
  size_t need = portable_bytes(reconstructor, 1, reconstructor->passes),
         beside = bytes_beside(reconstructor, 1);
  double mebi = 0x1p-20;
  return fail(
      error,
      "training on one image a pass needs %.1f MiB, of which %.1f for the network (passes: %zu) and %.1f "
      "for optimisers, the loss and what draws masks; %s has %.1f MiB left, 0 images would fit: lower "
      "data.size, data.most, network.channels, tau.steps or tau.hidden (points: tau.channels)",
      (double)need * mebi, (double)(need - beside) * mebi, reconstructor->passes, (double)beside * mebi,
      reconstructor->setup.device->facts.name, (double)left * mebi);
}

/* As many images a pass as fit; when not even one does to infer, or for one allocation, the plan that follows
 * says so. */
static bool fit_batch(struct reconstructor *reconstructor, struct error *error) {
  const struct device *device = reconstructor->setup.device;
  size_t left = device->facts.memory - device->bytes;
  reconstructor->graph->largest = device->facts.largest;
  size_t room = find_room(reconstructor, left);
  if (room >= reconstructor->batch) return true;
  if (!room && reconstructor->setup.train &&
      portable_bytes(reconstructor, 1, reconstructor->passes) != NO_ALLOCATION)
    return refuse_one(reconstructor, left, error);
  reconstructor->batch = room ? room : 1;
  if (room)
    log_info("%s has room for %zu image%s a pass through the network, of the %zu asked for",
             device->facts.name, room, plural(room), reconstructor->setup.batch);
  return true;
}

/* ---- the two paths ------------------------------------------------------------------------------------- */

/* Whether what the caller still opens has room beside the network. */
static bool check_room(const struct reconstructor *reconstructor, struct error *error) {
  const struct device *device = reconstructor->setup.device;
  size_t need = bytes_beside(reconstructor, reconstructor->batch),
         left = device->facts.memory - device->bytes;
  if (need <= left) return true;
  return fail(
      error,
      "training with %zu image%s a pass needs %.1f MiB beside the network (passes: %zu), %s has %.1f MiB of "
      "%.1f MiB left",
      reconstructor->batch, plural(reconstructor->batch), (double)need / 0x1p20, reconstructor->passes,
      device->facts.name, (double)left / 0x1p20, (double)device->facts.memory / 0x1p20);
}

static bool open_portable_pass(struct reconstructor *reconstructor, struct reconstructor_pass *pass,
                               struct error *error) {
  bool first = pass == reconstructor->pass;
  pass->graph = reconstructor->graph;
  if ((!first && !build_graph(reconstructor, &pass->graph, error)) ||
      !plan(reconstructor, pass->graph, reconstructor->batch, error))
    return false;
  pass->network.input = graph_value(pass->graph, reconstructor->in);
  pass->network.output = graph_value(pass->graph, reconstructor->out);
  if (reconstructor->setup.train)
    pass->network.output_gradient = graph_gradient(pass->graph, reconstructor->out);
  if (reconstructor->setup.input_gradient)
    pass->network.input_gradient = graph_gradient(pass->graph, reconstructor->in);
  pass->whole = pass->network;
  return !reconstructor->setup.complex || open_sum(reconstructor, pass, reconstructor->batch, error);
}

static bool open_portable(struct reconstructor *reconstructor, struct error *error) {
  if (!fit_batch(reconstructor, error)) return false;
  for (size_t p = 0; p < reconstructor->passes; p++)
    if (!open_portable_pass(reconstructor, &reconstructor->pass[p], error)) return false;
  return open_view(reconstructor, error) && check_room(reconstructor, error);
}

/* Of complex images input and output are the sum's, else own buffers. */
static bool open_fused_pass(struct reconstructor *reconstructor, struct reconstructor_pass *pass,
                            struct error *error) {
  struct device *device = reconstructor->setup.device;
  size_t bytes = fused_bytes(reconstructor);
  if (reconstructor->setup.complex) {
    if (!open_sum(reconstructor, pass, fused_batch(reconstructor), error)) return false;
    pass->network.input = pass->whole.input;
    pass->network.output = graph_value(pass->sum, pass->residual);
  } else {
    if (!(pass->own.input =
              device_buffer(device, bytes * channels_in(reconstructor), "the network's input", error)) ||
        !(pass->own.output = device_buffer(device, bytes, "the network's output", error)))
      return false;
    pass->network = pass->own;
  }
  device_fill(device, pass->network.input, 0, bytes * channels_in(reconstructor), 0);
  return true;
}

/* Gradients of the network's input and output are those of the pass that is run backward: all passes share
 * them. */
static bool open_fused_gradients(struct reconstructor *reconstructor, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct reconstructor_ends *own = &reconstructor->shared;
  size_t bytes = fused_bytes(reconstructor);
  if (setup->train &&
      !(own->output_gradient = device_buffer(setup->device, bytes, "the output's gradient", error)))
    return false;
  if (setup->input_gradient &&
      !(own->input_gradient =
            device_buffer(setup->device, bytes * channels_in(reconstructor), "the input's gradient", error)))
    return false;
  return !setup->train ||
         (reconstructor->level = device_buffer(setup->device, sizeof(float), "the gradient's level", error));
}

static bool open_fused_buffers(struct reconstructor *reconstructor, struct error *error) {
  struct reconstructor_pass *pass = reconstructor->pass;
  for (size_t p = 0; p < reconstructor->passes; p++)
    if (!open_fused_pass(reconstructor, &pass[p], error)) return false;
  if (!open_fused_gradients(reconstructor, error)) return false;
  for (size_t p = 0; p < reconstructor->passes; p++) {
    pass[p].network.output_gradient = reconstructor->shared.output_gradient;
    pass[p].network.input_gradient = reconstructor->shared.input_gradient;
    if (!reconstructor->setup.complex) pass[p].whole = pass[p].network;
  }
  return true;
}

static void close_fused_buffers(struct reconstructor *reconstructor) {
  struct device *device = reconstructor->setup.device;
  size_t bytes = fused_bytes(reconstructor);
  device_release(device, reconstructor->shared.output_gradient, bytes);
  device_release(device, reconstructor->shared.input_gradient, bytes * channels_in(reconstructor));
  device_release(device, reconstructor->level, sizeof(float));
  for (size_t p = 0; p < reconstructor->passes; p++) {
    struct reconstructor_pass *pass = &reconstructor->pass[p];
    device_release(device, pass->own.input, bytes * channels_in(reconstructor));
    device_release(device, pass->own.output, bytes);
    graph_close(pass->sum);
    *pass = (struct reconstructor_pass){0};
  }
  reconstructor->shared = (struct reconstructor_ends){0};
  reconstructor->level = NULL;
}

static bool try_fused(struct reconstructor *reconstructor, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct block_setup block_setup = {reconstructor->batch, setup->precision, setup->train,
                                    setup->input_gradient, reconstructor->passes};
  if (open_fused_buffers(reconstructor, error) &&
      blocks_open(&reconstructor->blocks, reconstructor->graph, setup->device, setup->kernels, &block_setup,
                  error) &&
      open_view(reconstructor, error) && check_room(reconstructor, error))
    return true;
  graph_close(reconstructor->view);
  reconstructor->view = NULL;
  blocks_close(reconstructor->blocks);
  reconstructor->blocks = NULL;
  close_fused_buffers(reconstructor);
  return false;
}

/* Why not even one image fits, and what to do. */
static bool refuse_fused(const struct reconstructor *reconstructor, struct error *error) {
  struct error reason = *error;
  if (!reconstructor->setup.train) return fail_in(error, "network.batch 1");
  return fail(
      error,
      "training on one image a pass does not fit: %.1000s; lower data.size, data.most, network.channels, "
      "tau.steps or tau.hidden (points: tau.channels)",
      reason.text);
}

/* The graph holds the parameters; one image of activations is planned and not used. Halves the images a pass
 * until they fit. */
static bool open_fused(struct reconstructor *reconstructor, struct error *error) {
  if (!plan(reconstructor, reconstructor->graph, 1, error) ||
      !kernel_need(reconstructor->setup.kernels, "level_find", error) ||
      !kernel_need(reconstructor->setup.kernels, "level_widen", error) ||
      !kernel_need(reconstructor->setup.kernels, "level_apply", error))
    return false;
  reconstructor->fused = true;
  while (!try_fused(reconstructor, error)) {
    if (reconstructor->batch == 1) return refuse_fused(reconstructor, error);
    reconstructor->batch /= 2;
  }
  if (reconstructor->batch < reconstructor->setup.batch)
    log_info("%s has room for %zu image%s a pass through the network, of the %zu asked for",
             reconstructor->setup.device->facts.name, reconstructor->batch, plural(reconstructor->batch),
             reconstructor->setup.batch);
  return true;
}

/* AMD's kernels have not met every driver: where they do not open, the portable path computes the same. */
static bool open_fused_or_portable(struct reconstructor *reconstructor, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  if (open_fused(reconstructor, error)) return true;
  if (setup->device->facts.matrix != MATRIX_AMD || setup->precision != BLOCK_F32) return false;
  log_warning("the fused network does not open, the portable path is taken: %s", error->text);
  graph_close(reconstructor->graph);
  reconstructor->fused = false;
  reconstructor->batch = setup->batch;
  return build(reconstructor, error) && open_portable(reconstructor, error);
}

static bool open_path(struct reconstructor *reconstructor, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct error reason;
  if (blocks_fit(reconstructor->graph, setup->device, &reason))
    return open_fused_or_portable(reconstructor, error);
  if (setup->precision == BLOCK_F32 || setup->any_path) return open_portable(reconstructor, error);
  return fail(error,
              "network.precision is %s, the portable path computes in f32 only; set it to f32; the fused one "
              "cannot run: %.900s",
              block_precision_name(setup->precision), reason.text);
}

bool reconstructor_open(struct reconstructor *reconstructor, const struct reconstructor_setup *setup,
                        struct error *error) {
  *reconstructor = (struct reconstructor){
      .setup = *setup, .batch = setup->batch, .passes = setup->passes ? setup->passes : 1};
  REQUIRE(reconstructor->passes <= RECONSTRUCTOR_PASSES, "%zu passes; there are at most %d",
          reconstructor->passes, RECONSTRUCTOR_PASSES);
  if (build(reconstructor, error) && open_path(reconstructor, error)) {
    reconstructor_select(reconstructor, 0);
    return true;
  }
  reconstructor_close(reconstructor);
  return false;
}

void reconstructor_close(struct reconstructor *reconstructor) {
  blocks_close(reconstructor->blocks);
  if (reconstructor->fused) close_fused_buffers(reconstructor);
  for (size_t p = 0; p < reconstructor->passes; p++) {
    if (p) graph_close(reconstructor->pass[p].graph);
    graph_close(reconstructor->pass[p].sum);
  }
  graph_close(reconstructor->view);
  graph_close(reconstructor->graph);
  *reconstructor = (struct reconstructor){0};
}

static void replace(struct reconstructor *reconstructor, cl_mem *own, cl_mem *used, cl_mem lent) {
  if (!lent) return;
  device_release(reconstructor->setup.device, *own, fused_bytes(reconstructor));
  *own = NULL;
  *used = lent;
}

/* Of an odd number of images the fused path computes one more, for which others' buffers have no room. */
void reconstructor_lend(struct reconstructor *reconstructor, size_t number,
                        const struct reconstructor_ends *ends) {
  struct reconstructor_pass *pass = &reconstructor->pass[number];
  REQUIRE(number < reconstructor->passes, "pass %zu; there are %zu", number, reconstructor->passes);
  if (!reconstructor->fused || reconstructor->setup.complex || reconstructor->batch % 2) return;
  replace(reconstructor, &pass->own.input, &pass->network.input, ends->input);
  replace(reconstructor, &pass->own.output, &pass->network.output, ends->output);
  if (ends->output_gradient) pass->network.output_gradient = ends->output_gradient;
  if (ends->input_gradient) pass->network.input_gradient = ends->input_gradient;
  pass->whole = pass->network;
}

void reconstructor_select(struct reconstructor *reconstructor, size_t number) {
  REQUIRE(number < reconstructor->passes, "pass %zu; there are %zu", number, reconstructor->passes);
  const struct reconstructor_pass *pass = &reconstructor->pass[number];
  reconstructor->selected = number;
  reconstructor->input = pass->whole.input;
  reconstructor->output = pass->whole.output;
  reconstructor->output_gradient = pass->whole.output_gradient;
  reconstructor->input_gradient = pass->whole.input_gradient;
  if (reconstructor->blocks) blocks_select(reconstructor->blocks, number);
}

void reconstructor_bind(const struct reconstructor *reconstructor, struct world *world) {
  size_t rows = reconstructor->batch;
  world_bind(world, BATCH_input, reconstructor->input, rows);
  world_bind(world, BATCH_output, reconstructor->output, rows);
  world_bind(world, BATCH_output_gradient, reconstructor->output_gradient, rows);
  world_bind(world, BATCH_input_gradient, reconstructor->input_gradient, rows);
}

cl_mem reconstructor_frequencies(const struct reconstructor *reconstructor) {
  return graph_value(reconstructor->view, reconstructor->frequencies);
}

/* What two images take and, for each, half of what two more do: buffers that grow less with the batch make it
 * too much, never too little. */
static bool measure_fused(const struct reconstructor *reconstructor, size_t *bytes, size_t *image,
                          struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  size_t values = reconstructor->passes * (channels_in(reconstructor) + 1) + 1 +
                  (setup->input_gradient ? channels_in(reconstructor) : 0);
  size_t two, four;
  struct block_setup blocks = {2, setup->precision, setup->train, setup->input_gradient,
                               reconstructor->passes};
  if (!blocks_measure(reconstructor->graph, setup->device, &blocks, &two, error)) return false;
  blocks.batch = 4;
  if (!blocks_measure(reconstructor->graph, setup->device, &blocks, &four, error)) return false;
  *bytes += two + graph_measure(reconstructor->graph, 1, setup->train, setup->input_gradient);
  *image = (four - two) / 2 + values * image_bytes(reconstructor);
  return true;
}

bool reconstructor_measure(const struct reconstructor_setup *setup, size_t *bytes, size_t *image,
                           struct error *error) {
  struct reconstructor measured = {.setup = *setup, .passes = setup->passes ? setup->passes : 1};
  struct error reason;
  bool good = build(&measured, error);
  if (good) {
    *bytes = 4 * sizeof(float) * measured.graph->elements;
    if (blocks_fit(measured.graph, setup->device, &reason))
      good = measure_fused(&measured, bytes, image, error);
    else
      *image = measured.passes * graph_measure(measured.graph, 1, setup->train, setup->input_gradient);
  }
  graph_close(measured.graph);
  return good;
}

/* ---- running ------------------------------------------------------------------------------------------- */

void reconstructor_view(struct reconstructor *reconstructor, size_t images) {
  graph_set_images(reconstructor->view, images);
  graph_forward(reconstructor->view);
  copy_images(reconstructor, graph_value(reconstructor->view, reconstructor->viewed), reconstructor->input, 2,
              images);
}

static void run_network(struct reconstructor *reconstructor, const struct reconstructor_pass *pass,
                        size_t images) {
  if (reconstructor->blocks) {
    blocks_forward(reconstructor->blocks, pass->network.input, pass->network.output, images);
    return;
  }
  graph_set_images(pass->graph, images);
  if (pass->sum) copy_images(reconstructor, pass->whole.input, pass->network.input, 2, images);
  graph_forward(pass->graph);
  if (pass->sum)
    copy_images(reconstructor, pass->network.output, graph_value(pass->sum, pass->residual), 1, images);
}

void reconstructor_forward(struct reconstructor *reconstructor, size_t images) {
  const struct reconstructor_pass *pass = &reconstructor->pass[reconstructor->selected];
  REQUIRE(images <= reconstructor->batch, "%zu images; a pass takes %zu", images, reconstructor->batch);
  run_network(reconstructor, pass, images);
  if (!pass->sum) return;
  graph_set_images(pass->sum, images);
  graph_forward(pass->sum);
}

/* The network's own. scale: one over the usual size of its output's gradient. input: that of the input too,
 * where it does not come anyway. */
static void run_backward(struct reconstructor *reconstructor, size_t images, double scale, bool input) {
  const struct reconstructor_pass *pass = &reconstructor->pass[reconstructor->selected];
  if (reconstructor->blocks) {
    blocks_backward(reconstructor->blocks, pass->network.input, pass->network.output_gradient, images, scale);
    if (input) blocks_input_gradient(reconstructor->blocks, pass->network.input_gradient, images);
    return;
  }
  REQUIRE(images == pass->graph->images, "%zu images; the last forward had %zu", images, pass->graph->images);
  graph_backward(pass->graph);
}

enum { LEVEL_SHARE = 16384 }; /* values that a work-group looks through */

static void apply_level(struct reconstructor *reconstructor, cl_mem values, size_t count, bool undo) {
  kernel_run(reconstructor->setup.kernels, "level_apply", (count + 7) / 8,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, reconstructor->level),
                  arg_buffer(ARG_INOUT, ELEMENT_F32, values), arg_u32((uint32_t)count), arg_u32(undo)));
}

/* The last weight of a network of complex images starts near 0: what the level is of is what comes out of the
 * 1x1 convolutions. */
static void widen_level(struct reconstructor *reconstructor) {
  size_t channels;
  cl_mem tail = blocks_tail(reconstructor->blocks, &channels);
  kernel_run(reconstructor->setup.kernels, "level_widen", 1,
             ARGS(arg_buffer(ARG_IN, ELEMENT_F32, tail),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, reconstructor->level), arg_u32((uint32_t)channels)));
}

/* The fused path wants gradients near 1. Backward is linear: with the gradient of the output that of the
 * parameters, to which it adds, is multiplied by a power of two and divided again, which is exact. */
static void run_backward_level(struct reconstructor *reconstructor, size_t images, bool input) {
  size_t count = images * reconstructor->setup.size * reconstructor->setup.size;
  struct graph *graph = reconstructor->graph;
  const struct reconstructor_ends *network = &reconstructor->pass[reconstructor->selected].network;
  if (!reconstructor->blocks) {
    run_backward(reconstructor, images, 1, input);
    return;
  }
  device_fill(reconstructor->setup.device, reconstructor->level, 0, sizeof(uint32_t), 0);
  kernel_run(reconstructor->setup.kernels, "level_find", divide_up(count, LEVEL_SHARE),
             ARGS(arg_buffer(ARG_IN, ELEMENT_F32, network->output_gradient),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, reconstructor->level), arg_u32((uint32_t)count)));
  if (reconstructor->setup.complex) widen_level(reconstructor);
  apply_level(reconstructor, network->output_gradient, count, false);
  apply_level(reconstructor, graph->gradients, graph->elements, false);
  run_backward(reconstructor, images, 1, input);
  apply_level(reconstructor, graph->gradients, graph->elements, true);
  if (input) apply_level(reconstructor, network->input_gradient, count * channels_in(reconstructor), true);
}

/* Complex: through the sum into the network's output, and what the network gives its input to what the sum
 * does. The units are the image's: gradients are of any size. */
static void run_backward_sum(struct reconstructor *reconstructor, size_t images, bool input) {
  const struct reconstructor_pass *pass = &reconstructor->pass[reconstructor->selected];
  size_t values = 2 * images * reconstructor->setup.size * reconstructor->setup.size;
  graph_backward(pass->sum);
  copy_images(reconstructor, graph_gradient(pass->sum, pass->residual), pass->network.output_gradient, 1,
              images);
  run_backward_level(reconstructor, images, input);
  if (input)
    kernel_run(reconstructor->setup.kernels, "scale_into", divide_up(values, 8),
               ARGS(arg_buffer(ARG_IN, ELEMENT_F32, pass->network.input_gradient),
                    arg_buffer(ARG_INOUT, ELEMENT_F32, pass->whole.input_gradient), arg_f32(1),
                    arg_u32((uint32_t)values), arg_u32(true)));
}

void reconstructor_backward(struct reconstructor *reconstructor, size_t images) {
  REQUIRE(reconstructor->output_gradient, "the network was not opened to train");
  if (reconstructor->setup.complex)
    run_backward_sum(reconstructor, images, reconstructor->input_gradient);
  else
    run_backward(reconstructor, images,
                 (double)(images * reconstructor->setup.size * reconstructor->setup.size),
                 reconstructor->input_gradient);
}

void reconstructor_backward_level(struct reconstructor *reconstructor, size_t images, bool input) {
  REQUIRE(reconstructor->output_gradient, "the network was not opened to train");
  if (reconstructor->setup.complex)
    run_backward_sum(reconstructor, images, input);
  else
    run_backward_level(reconstructor, images, input);
}

void reconstructor_changed(struct reconstructor *reconstructor) {
  if (reconstructor->blocks) blocks_pack(reconstructor->blocks);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const struct fact *facts_of(const struct reconstructor_setup *setup, struct network_facts *facts) {
  *facts = (struct network_facts){.channels = setup->channels,
                                  .pools = setup->pools,
                                  .size = (double)setup->size,
                                  .absolute = setup->absolute,
                                  .scale = setup->scale};
  strcpy(facts->input, setup->complex ? "complex" : "magnitude");
  return network_of_reconstructor(setup->complex)->facts;
}

bool reconstructor_write(const struct reconstructor *reconstructor, struct store *store,
                         struct error *error) {
  struct network_facts values;
  const struct fact *facts = facts_of(&reconstructor->setup, &values);
  return facts_write(facts, &values, store, error) &&
         checkpoint_write_parameters(store, "param", reconstructor->graph, error);
}

bool reconstructor_same(const struct reconstructor *reconstructor, struct store *store, struct error *error) {
  struct network_facts values;
  const struct fact *facts = facts_of(&reconstructor->setup, &values);
  return facts_same(facts, &values, store, error);
}

static bool read_facts(struct store *store, struct reconstructor_setup *setup, struct error *error) {
  struct network_facts values;
  const struct fact *facts = facts_of(setup, &values);
  if (!facts_read(facts, &values, store, error)) return false;
  setup->channels = (uint32_t)values.channels;
  setup->pools = (uint32_t)values.pools;
  setup->absolute = setup->complex && values.absolute != 0;
  return true;
}

bool reconstructor_stored(const struct reconstructor_setup *setup, struct store *store, const char *group,
                          struct error *error) {
  struct reconstructor described = {.setup = *setup};
  bool good = build(&described, error) && checkpoint_check_parameters(store, group, described.graph, error);
  graph_close(described.graph);
  return good;
}

bool reconstructor_load(struct reconstructor *reconstructor, const char *path,
                        const struct reconstructor_setup *setup, struct error *error) {
  struct reconstructor_setup own = *setup;
  struct store *store;
  *reconstructor = (struct reconstructor){0};
  if (!store_open(&store, path, error)) return false;
  bool good = read_facts(store, &own, error) &&
              reconstructor_stored(&own, store, "param", error) &&
              reconstructor_open(reconstructor, &own, error);
  if (good && !checkpoint_read_parameters(store, "param", reconstructor->graph, error)) {
    reconstructor_close(reconstructor);
    good = false;
  }
  store_close(store);
  if (!good) return fail_in(error, "%s", path);
  reconstructor_changed(reconstructor);
  return true;
}
