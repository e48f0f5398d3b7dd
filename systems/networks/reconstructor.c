#include "systems/networks/reconstructor.h"

#include "components/components.h"
#include "engine/base/round.h"
#include "engine/fused/unet.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/net_unet.h"
#include "systems/networks/op_coils.h"

#include <string.h>

static size_t pixels_of(const struct reconstructor *reconstructor) {
  return scan_shape_pixels(&reconstructor->setup.shape);
}

static size_t image_bytes(const struct reconstructor *reconstructor) {
  return sizeof(float) * pixels_of(reconstructor);
}

static size_t channels_in(const struct reconstructor *reconstructor) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  return setup->inputs ? setup->inputs : setup->complex ? 2 : 1;
}

static tensor plane(const struct reconstructor *reconstructor, struct graph *graph, const char *name,
                    size_t channels) {
  const struct scan_shape *shape = &reconstructor->setup.shape;
  return graph_input(graph, name, (int)channels, (int)shape->height, (int)shape->width);
}

static bool is_varnet(const struct reconstructor *reconstructor) {
  return reconstructor->setup.varnet.cascades;
}

static tensor append_varnet(struct reconstructor *reconstructor, struct graph *graph, tensor *in) {
  struct net_varnet *net = &reconstructor->varnet;
  *net = net_varnet(graph, &reconstructor->setup.varnet);
  *in = net->frequencies;
  reconstructor->units = graph_input(graph, "units", 2, 1, 1);
  return in_units(graph, net->out, reconstructor->units);
}

/* Every graph of the network has its nodes in the same places. */
static tensor append(void *owner, struct graph *graph, tensor *in) {
  struct reconstructor *reconstructor = owner;
  const struct reconstructor_setup *setup = &reconstructor->setup;
  if (is_varnet(reconstructor)) return append_varnet(reconstructor, graph, in);
  *in = plane(reconstructor, graph, "input", channels_in(reconstructor));
  return net_unet_named(graph, *in, setup->before ? setup->before : "", (int)setup->channels,
                        (int)setup->pools);
}

/* ---- complex images ------------------------------------------------------------------------------------ */

static void build_sum(const struct reconstructor *reconstructor, struct reconstructor_sum *sum) {
  graph_open(&sum->graph);
  sum->image = plane(reconstructor, sum->graph, "image", 2);
  sum->residual = plane(reconstructor, sum->graph, "residual", 1);
  sum->out = net_unet_sum(sum->graph, sum->residual, sum->image, reconstructor->setup.absolute);
  if (reconstructor->setup.train) graph_want(sum->graph, sum->residual);
  if (reconstructor->setup.input_gradient) graph_want(sum->graph, sum->image);
}

static void build_view(struct reconstructor *reconstructor) {
  graph_open(&reconstructor->view);
  reconstructor->frequencies = plane(reconstructor, reconstructor->view, "frequencies", 2);
  reconstructor->viewed = inverse_fourier(reconstructor->view, reconstructor->frequencies);
}

/* Bytes of the sums of all passes and of the view. */
static size_t bytes_of_parts(const void *owner, size_t images) {
  const struct reconstructor *reconstructor = owner;
  struct reconstructor measured = {.setup = reconstructor->setup};
  if (!reconstructor->setup.complex) return 0;
  build_sum(&measured, measured.sum);
  build_view(&measured);
  size_t bytes = reconstructor->network.path.passes *
                     graph_measure(measured.sum->graph, images, measured.setup.train, false) +
                 graph_measure(measured.view, images, false, false);
  graph_close(measured.sum->graph);
  graph_close(measured.view);
  return bytes;
}

/* On the fused path the network works on the sum's buffers; on the portable one values are copied. */
static bool open_sum(struct reconstructor *reconstructor, size_t pass, size_t images, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct reconstructor_sum *sum = &reconstructor->sum[pass];
  struct path_ends *ends = &reconstructor->network.path.pass[pass].ends;
  struct graph_setup plan = {
      .device = setup->device, .kernels = setup->kernels, .batch = images, .train = setup->train};
  build_sum(reconstructor, sum);
  if (!graph_plan(sum->graph, &plan, error)) return false;
  if (!reconstructor->network.fused) return true;
  ends->input = graph_value(sum->graph, sum->image);
  ends->output = graph_value(sum->graph, sum->residual);
  return true;
}

static bool open_view(struct reconstructor *reconstructor, struct error *error) {
  struct graph_setup view = {.device = reconstructor->setup.device,
                             .kernels = reconstructor->setup.kernels,
                             .batch = reconstructor->network.path.batch};
  build_view(reconstructor);
  return kernel_need(view.kernels, "view_frequencies", error) && graph_plan(reconstructor->view, &view, error);
}

/* One for every shard. */
static size_t level_bytes(const struct reconstructor *reconstructor) {
  return sizeof(float) * reconstructor->network.path.graph->shards.held;
}

static bool open_level(struct reconstructor *reconstructor, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  if (!setup->train || !reconstructor->network.fused) return true;
  reconstructor->level = device_buffer(setup->device, level_bytes(reconstructor), "the gradients' levels", error);
  return reconstructor->level && kernel_need(setup->kernels, "level_find", error) &&
         kernel_need(setup->kernels, "level_widen", error) &&
         kernel_need(setup->kernels, "level_apply", error);
}

static bool open_parts(void *owner, size_t images, struct error *error) {
  struct reconstructor *reconstructor = owner;
  if (!open_level(reconstructor, error)) return false;
  if (!reconstructor->setup.complex) return true;
  for (size_t p = 0; p < reconstructor->network.path.passes; p++)
    if (!open_sum(reconstructor, p, images, error)) return false;
  return open_view(reconstructor, error);
}

static void close_parts(void *owner) {
  struct reconstructor *reconstructor = owner;
  device_release(reconstructor->setup.device, reconstructor->level, reconstructor->level ? level_bytes(reconstructor) : 0);
  for (size_t p = 0; p < PATH_PASSES; p++) graph_close(reconstructor->sum[p].graph);
  graph_close(reconstructor->view);
  memset(reconstructor->sum, 0, sizeof reconstructor->sum);
  reconstructor->view = NULL;
  reconstructor->level = NULL;
}

struct reconstructor_setup reconstructor_setup_of(struct device *device, struct kernels *kernels,
                                                  const struct options *options, size_t most) {
  bool varnet = options->reconstruct.method == RECONSTRUCT_VARNET;
  enum block_precision precision = (enum block_precision)options->network.precision;
  struct reconstructor_setup setup = {.device = device,
                                      .kernels = kernels,
                                      .shape = scan_shape_of(options),
                                      .channels = options->network.channels,
                                      .pools = options->network.pools,
                                      .complex = options->network.input == INPUT_COMPLEX && !varnet,
                                      .scale = options->data.scale,
                                      .precision = varnet ? BLOCK_F32 : precision,
                                      .batch = options->network.batch < most ? options->network.batch : most};
  if (varnet) setup.varnet = net_varnet_setup(options, 1);
  return setup;
}

void reconstructor_set_coils(struct reconstructor_setup *setup, size_t coils) {
  setup->varnet.coils = coils ? (int)coils : 1;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* The loss of an image works in four more. */
static struct network_setup network_setup(struct reconstructor *reconstructor) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct network_setup network = {.desc = is_varnet(reconstructor) ? &network_varnet
                                          : setup->complex         ? &network_complex_unet
                                                                   : &network_unet,
                                  .device = setup->device,
                                  .kernels = setup->kernels,
                                  .precision = setup->precision,
                                  .batch = setup->batch,
                                  .passes = setup->passes,
                                  .train = setup->train,
                                  .input_gradient = setup->input_gradient,
                                  .planned = setup->planned,
                                  .any_path = setup->any_path,
                                  .loss_image = 4 * image_bytes(reconstructor),
                                  .owner = reconstructor,
                                  .append = append,
                                  .open = open_parts,
                                  .close = close_parts,
                                  .bytes = bytes_of_parts};
  memcpy(network.beside, setup->beside, sizeof network.beside);
  return network;
}

static bool check_half(const struct reconstructor_setup *setup, struct error *error) {
  struct error reason;
  if (!setup->varnet.cascades || !setup->varnet.half || fused_unet_fits(setup->device, &reason)) return true;
  return fail(error, "network.precision is half: %.900s; set it to f32", reason.text);
}

static void offer(struct reconstructor *reconstructor) {
  reconstructor->batch = reconstructor->network.path.batch;
  reconstructor->pixels = pixels_of(reconstructor);
  reconstructor->graph = reconstructor->network.path.graph;
  reconstructor->blocks = reconstructor->network.path.blocks;
  reconstructor_select(reconstructor, 0);
}

bool reconstructor_open(struct reconstructor *reconstructor, const struct reconstructor_setup *setup,
                        struct error *error) {
  *reconstructor = (struct reconstructor){.setup = *setup};
  struct network_setup network = network_setup(reconstructor);
  if (!check_half(setup, error) || !network_open(&reconstructor->network, &network, error)) {
    *reconstructor = (struct reconstructor){0};
    return false;
  }
  offer(reconstructor);
  return true;
}

bool reconstructor_fused(const struct reconstructor *reconstructor) {
  return reconstructor->blocks || (is_varnet(reconstructor) && reconstructor->setup.varnet.half);
}

void reconstructor_close(struct reconstructor *reconstructor) {
  network_close(&reconstructor->network);
  *reconstructor = (struct reconstructor){0};
}

/* The fused path computes one image more than an odd number, for which others' buffers have no room. */
void reconstructor_share(struct reconstructor *reconstructor, size_t number,
                         const struct path_ends *ends) {
  if (!reconstructor->blocks || reconstructor->setup.complex || reconstructor->batch % 2) return;
  network_share(&reconstructor->network, number, ends);
}

void reconstructor_bind(struct reconstructor *reconstructor, struct world *world) {
  size_t rows = reconstructor->batch;
  world_bind(world, BATCH_input, reconstructor->input, rows);
  world_bind(world, BATCH_output, reconstructor->output, rows);
  world_bind(world, BATCH_output_gradient, reconstructor->output_gradient, rows);
  world_bind(world, BATCH_input_gradient, reconstructor->input_gradient, rows);
  watch_graph(&reconstructor->watch, reconstructor->graph, RECONSTRUCTOR_parameters);
}

/* The ports of a world whose system selects are those of the pass from here on. */
void reconstructor_select(struct reconstructor *reconstructor, size_t number) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  const struct reconstructor_sum *sum = &reconstructor->sum[number];
  path_select(&reconstructor->network.path, number);
  struct path_ends whole = reconstructor->network.path.pass[number].ends;
  if (setup->complex)
    whole = (struct path_ends){
        .input = graph_value(sum->graph, sum->image),
        .output = graph_value(sum->graph, sum->out),
        .output_gradient = setup->train ? graph_gradient(sum->graph, sum->out) : NULL,
        .input_gradient = setup->input_gradient ? graph_gradient(sum->graph, sum->image) : NULL};
  reconstructor->input = whole.input;
  reconstructor->output = whole.output;
  reconstructor->output_gradient = whole.output_gradient;
  reconstructor->input_gradient = whole.input_gradient;
  if (world_running() && reconstructor->watch.columns && !reconstructor->watch.quiet)
    reconstructor_bind(reconstructor, world_running());
}

struct reconstructor_inputs reconstructor_inputs(const struct reconstructor *reconstructor) {
  const struct path *path = &reconstructor->network.path;
  const struct graph *graph = path->pass[path->selected].graph;
  const struct net_varnet *net = &reconstructor->varnet;
  return (struct reconstructor_inputs){
      graph_value(graph, net->mask), graph_value(graph, reconstructor->units),
      reconstructor->setup.varnet.maps ? graph_value(graph, net->maps) : NULL,
      reconstructor->setup.input_gradient ? graph_gradient(graph, net->mask) : NULL};
}

cl_mem reconstructor_frequencies(const struct reconstructor *reconstructor) {
  return graph_value(reconstructor->view, reconstructor->frequencies);
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void copy_images(const struct reconstructor *reconstructor, cl_mem from, cl_mem to, size_t channels,
                        size_t images) {
  if (from != to)
    device_copy(reconstructor->setup.device, from, 0, to, 0, sizeof(float) * reconstructor->pixels * channels * images);
}

void reconstructor_view(struct reconstructor *reconstructor, size_t images) {
  watch_touch(&reconstructor->watch, 0, SET(BATCH_input));
  graph_set_images(reconstructor->view, images);
  graph_forward(reconstructor->view);
  copy_images(reconstructor, graph_value(reconstructor->view, reconstructor->viewed), reconstructor->input, 2,
              images);
}

void reconstructor_forward(struct reconstructor *reconstructor, size_t images) {
  struct path *path = &reconstructor->network.path;
  const struct path_ends *ends = &path->pass[path->selected].ends;
  struct reconstructor_sum *sum = &reconstructor->sum[path->selected];
  watch_touch(&reconstructor->watch, SET(BATCH_input), SET(BATCH_output));
  if (sum->graph) copy_images(reconstructor, reconstructor->input, ends->input, 2, images);
  path_forward(path, images);
  if (!sum->graph) return;
  copy_images(reconstructor, ends->output, graph_value(sum->graph, sum->residual), 1, images);
  graph_set_images(sum->graph, images);
  graph_forward(sum->graph);
}

enum { LEVEL_SHARE = 16384 }; /* values that a work-group looks through */

/* Values of so many shards, `each` of one and `count` in all. */
struct levelled {
  cl_mem values;
  size_t at, shards, each, count;
};

static void find_level(struct reconstructor *reconstructor, const struct levelled *of) {
  size_t shares = divide_up(of->each, LEVEL_SHARE);
  device_fill(reconstructor->setup.device, reconstructor->level, 0, sizeof(uint32_t) * of->shards, 0);
  kernel_run(reconstructor->setup.kernels, "level_find", of->shards * shares,
             ARGS(arg_buffer(ARG_IN, ELEMENT_F32, of->values), arg_buffer(ARG_INOUT, ELEMENT_U32, reconstructor->level),
                  arg_u32((uint32_t)of->count), arg_u32((uint32_t)of->each), arg_u32((uint32_t)shares)));
}

static void apply_level(struct reconstructor *reconstructor, const struct levelled *to, bool undo) {
  kernel_run(reconstructor->setup.kernels, "level_apply", to->shards * divide_up(to->each, 8),
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, reconstructor->level), arg_buffer(ARG_INOUT, ELEMENT_F32, to->values),
                  arg_u32((uint32_t)to->at), arg_u32((uint32_t)to->count), arg_u32((uint32_t)to->each), arg_u32(undo)));
}

/* The last weight of a network of complex images starts near 0: what the level is of is what comes out of the
 * 1x1 convolutions. */
static void widen_level(struct reconstructor *reconstructor, size_t shards) {
  size_t channels;
  cl_mem tail = blocks_tail(reconstructor->blocks, &channels);
  kernel_run(reconstructor->setup.kernels, "level_widen", shards,
             ARGS(arg_buffer(ARG_IN, ELEMENT_F32, tail),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, reconstructor->level), arg_u32((uint32_t)channels)));
}

/* The fused path wants gradients near 1. Backward is linear: with the gradient of the output that of the
 * parameters, to which it adds, is multiplied by a power of two and divided again, which is exact. What that is follows from
 * the shard's images alone: halves round what is small by it, on any number of ranks alike. */
static void run_backward_level(struct reconstructor *reconstructor, size_t images, bool input) {
  const struct path *path = &reconstructor->network.path;
  const struct path_ends *network = &path->pass[path->selected].ends;
  if (!reconstructor->blocks) {
    path_backward(&reconstructor->network.path, images, 1, input);
    return;
  }
  const struct graph_cut cut = graph_cut(reconstructor->graph, images);
  size_t pixels = reconstructor->pixels, values = pixels * channels_in(reconstructor);
  const struct levelled given = {network->output_gradient, 0, cut.shards, cut.each * pixels, images * pixels},
                        gradients = {cut.gradients, cut.before, cut.shards, cut.stride, cut.shards * cut.stride},
                        taken = {network->input_gradient, 0, cut.shards, cut.each * values, images * values};
  find_level(reconstructor, &given);
  if (reconstructor->setup.complex) widen_level(reconstructor, cut.shards);
  apply_level(reconstructor, &given, false);
  apply_level(reconstructor, &gradients, false);
  path_backward(&reconstructor->network.path, images, 1, input);
  apply_level(reconstructor, &gradients, true);
  if (input) apply_level(reconstructor, &taken, true);
}

/* Complex: through the sum into the network's output, and what the network gives its input to what the sum
 * does. The units are the image's: gradients are of any size. */
static void run_backward_sum(struct reconstructor *reconstructor, size_t images, bool input) {
  const struct path *path = &reconstructor->network.path;
  const struct path_ends *network = &path->pass[path->selected].ends;
  struct reconstructor_sum *sum = &reconstructor->sum[path->selected];
  size_t values = 2 * images * reconstructor->pixels;
  graph_backward(sum->graph);
  copy_images(reconstructor, graph_gradient(sum->graph, sum->residual), network->output_gradient, 1,
              images);
  run_backward_level(reconstructor, images, input);
  if (input)
    kernel_run(reconstructor->setup.kernels, "scale_into", divide_up(values, 8),
               ARGS(arg_buffer(ARG_IN, ELEMENT_F32, network->input_gradient),
                    arg_buffer(ARG_INOUT, ELEMENT_F32, reconstructor->input_gradient), arg_f32(1),
                    arg_u32((uint32_t)values), arg_u32(true)));
}

static const char *const NOT_TO_TRAIN = "the network was not opened to train";

void reconstructor_backward(struct reconstructor *reconstructor, size_t images, size_t of) {
  cl_mem input = reconstructor->input_gradient;
  REQUIRE(reconstructor->output_gradient, "%s", NOT_TO_TRAIN);
  watch_touch(&reconstructor->watch, SET(BATCH_output_gradient), input ? SET(BATCH_input_gradient) : 0);
  if (reconstructor->setup.complex)
    run_backward_sum(reconstructor, images, input);
  else
    path_backward(&reconstructor->network.path, images, (double)(of * reconstructor->pixels), input);
}

void reconstructor_backward_level(struct reconstructor *reconstructor, size_t images, bool input) {
  REQUIRE(reconstructor->output_gradient, "%s", NOT_TO_TRAIN);
  watch_touch(&reconstructor->watch, SET(BATCH_output_gradient), input ? SET(BATCH_input_gradient) : 0);
  (reconstructor->setup.complex ? run_backward_sum : run_backward_level)(reconstructor, images, input);
}

void reconstructor_changed(struct reconstructor *reconstructor) {
  path_changed(&reconstructor->network.path);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static struct network_facts facts_of(const struct reconstructor_setup *setup) {
  struct network_facts facts = {.channels = setup->channels,
                                .pools = setup->pools,
                                .shape = setup->shape,
                                .absolute = setup->absolute,
                                .scale = setup->scale};
  strcpy(facts.input, setup->complex ? "complex" : "magnitude");
  const struct net_varnet_setup *varnet = &setup->varnet;
  if (!varnet->cascades) return facts;
  facts.channels = varnet->channels;
  facts.pools = varnet->pools;
  facts.cascades = varnet->cascades;
  facts.sense_channels = varnet->sense_channels;
  facts.sense_pools = varnet->sense_pools;
  facts.maps = varnet->maps;
  return facts;
}

bool reconstructor_write(const struct reconstructor *reconstructor, struct store *store,
                         struct error *error) {
  struct network_facts facts = facts_of(&reconstructor->setup);
  return network_write(&reconstructor->network, &facts, store, error);
}

bool reconstructor_same(const struct reconstructor *reconstructor, struct store *store, struct error *error) {
  struct network_facts facts = facts_of(&reconstructor->setup);
  return facts_same(reconstructor->network.setup.desc->facts, &facts, store, error);
}

bool reconstructor_stored(const struct reconstructor_setup *setup, struct store *store, const char *group,
                          struct error *error) {
  struct reconstructor described = {.setup = *setup};
  struct network_setup network = network_setup(&described);
  return network_stored(&network, store, group, error);
}

/* The scene says whether there are maps; the file, whether it has a network for them. */
static bool take_varnet(struct net_varnet_setup *setup, const struct network_facts *facts, struct error *error) {
  bool maps = facts->maps != 0;
  if (maps != setup->maps)
    return fail_usage(error, "it was trained with varnet.sense %s, and the scene says %s; set it to that, or use another "
                             "checkpoint",
                      maps ? "maps" : "network", setup->maps ? "maps" : "network");
  setup->cascades = (int)facts->cascades;
  setup->channels = (int)facts->channels;
  setup->pools = (int)facts->pools;
  setup->sense_channels = (int)facts->sense_channels;
  setup->sense_pools = (int)facts->sense_pools;
  return true;
}

static bool take(struct network_setup *network, struct store *store, struct error *error) {
  struct reconstructor_setup *setup = &((struct reconstructor *)network->owner)->setup;
  struct network_facts facts = facts_of(setup);
  if (!facts_read(network->desc->facts, &facts, store, error)) return false;
  if (setup->varnet.cascades) return take_varnet(&setup->varnet, &facts, error);
  setup->channels = (uint32_t)facts.channels;
  setup->pools = (uint32_t)facts.pools;
  setup->absolute = setup->complex && facts.absolute != 0;
  return true;
}

bool reconstructor_measure(const struct reconstructor_setup *setup, const char *path, struct network_need *need,
                           struct error *error) {
  struct reconstructor described = {.setup = *setup};
  struct network_setup network = network_setup(&described);
  return network_measure_stored(&network, path, take, need, error);
}

bool reconstructor_load(struct reconstructor *reconstructor, const char *path,
                        const struct reconstructor_setup *setup, struct error *error) {
  *reconstructor = (struct reconstructor){.setup = *setup};
  struct network_setup network = network_setup(reconstructor);
  if (!check_half(setup, error) || !network_load(&reconstructor->network, &network, path, take, error)) {
    *reconstructor = (struct reconstructor){0};
    return false;
  }
  offer(reconstructor);
  return true;
}

static bool same_varnet(const struct net_varnet_setup *own, const struct net_varnet_setup *other, struct error *error) {
  bool sense = own->maps || (own->sense_channels == other->sense_channels && own->sense_pools == other->sense_pools);
  if (sense && own->cascades == other->cascades && own->channels == other->channels && own->pools == other->pools)
    return true;
  return fail_usage(error,
                    "its network has varnet.cascades %d, varnet.channels %d, varnet.pools %d, varnet.sense_channels %d and "
                    "varnet.sense_pools %d, the scene says %d, %d, %d, %d and %d; set them to the file's, or start from "
                    "another one",
                    other->cascades, other->channels, other->pools, other->sense_channels, other->sense_pools,
                    own->cascades, own->channels, own->pools, own->sense_channels, own->sense_pools);
}

static bool same_sizes(const struct reconstructor_setup *own, const struct reconstructor_setup *other,
                       struct error *error) {
  if (own->varnet.cascades) return same_varnet(&own->varnet, &other->varnet, error);
  if (own->channels != other->channels || own->pools != other->pools)
    return fail_usage(
        error,
        "its network has network.channels %u and network.pools %u, the scene says %u and %u; set them to "
        "the file's, or start from another one",
        other->channels, other->pools, own->channels, own->pools);
  return !own->complex || own->absolute == other->absolute ||
         fail_usage(
             error,
             "its network %s the magnitude of the complex image, and this training's %s; start from another "
             "file",
             other->absolute ? "takes" : "does not take", own->absolute ? "does" : "does not");
}

bool reconstructor_fits(const struct reconstructor_setup *setup, const char *path, struct error *error) {
  struct reconstructor described = {.setup = *setup};
  struct network_setup network = network_setup(&described);
  struct store *store;
  if (!store_open(&store, path, error)) return false;
  bool good = take(&network, store, error) && same_sizes(setup, &described.setup, error) &&
              network_stored(&network, store, "param", error);
  store_close(store);
  return good || fail_in(error, "%s", path);
}

bool reconstructor_begin(struct reconstructor *reconstructor, const char *path,
                         const struct reconstructor_setup *setup, uint32_t seed, struct error *error) {
  if (path) return reconstructor_load(reconstructor, path, setup, error);
  if (!reconstructor_open(reconstructor, setup, error)) return false;
  graph_start(reconstructor->graph, seed);
  reconstructor_changed(reconstructor);
  return true;
}
