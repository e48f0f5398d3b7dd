#include "systems/reconstructor.h"

#include "engine/log.h"
#include "systems/checkpoint.h"
#include "systems/net_unet.h"

#include <math.h>
#include <string.h>

static size_t image_bytes(const struct reconstructor *reconstructor) {
  return sizeof(float) * reconstructor->setup.size * reconstructor->setup.size;
}

/* The fused path computes small maps two images at a time. */
static size_t fused_bytes(const struct reconstructor *reconstructor) {
  return image_bytes(reconstructor) * (reconstructor->batch + reconstructor->batch % 2);
}

static bool build(struct reconstructor *reconstructor, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  graph_open(&reconstructor->graph);
  reconstructor->in = graph_input(reconstructor->graph, "input", 1, (int)setup->size, (int)setup->size);
  reconstructor->out =
      net_unet(reconstructor->graph, reconstructor->in, (int)setup->channels, (int)setup->pools);
  return graph_good(reconstructor->graph, error);
}

static bool plan(struct reconstructor *reconstructor, size_t batch, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct graph_setup graph_setup = {.device = setup->device,
                                    .kernels = setup->kernels,
                                    .batch = batch,
                                    .train = setup->train,
                                    .input_gradient = setup->input_gradient};
  return graph_plan(reconstructor->graph, &graph_setup, error);
}

/* What training takes beside the graph: an optimiser's two moments and the loss's four images for each. */
static size_t bytes_beside(const struct reconstructor *reconstructor) {
  if (!reconstructor->setup.train) return 0;
  return 2 * sizeof(float) * reconstructor->graph->elements +
         4 * image_bytes(reconstructor) * reconstructor->batch;
}

/* As many images a pass as fit; when not even one does, the plan that follows says so. */
static void fit_batch(struct reconstructor *reconstructor) {
  const struct device *device = reconstructor->setup.device;
  size_t left = device->facts.memory - device->bytes, beside = bytes_beside(reconstructor);
  struct graph *graph = reconstructor->graph;
  graph->largest = device->facts.largest;
  size_t room = graph_batch_within(graph, left > beside ? left - beside : 0, reconstructor->setup.train,
                                   reconstructor->setup.input_gradient);
  if (room >= reconstructor->batch) return;
  reconstructor->batch = room ? room : 1;
  if (room)
    log_info("%s has room for %zu images a pass through the network, of the %zu asked for",
             device->facts.name, room, reconstructor->setup.batch);
}

static bool open_portable(struct reconstructor *reconstructor, struct error *error) {
  fit_batch(reconstructor);
  if (!plan(reconstructor, reconstructor->batch, error)) return false;
  reconstructor->input = graph_value(reconstructor->graph, reconstructor->in);
  reconstructor->output = graph_value(reconstructor->graph, reconstructor->out);
  if (reconstructor->setup.train)
    reconstructor->output_gradient = graph_gradient(reconstructor->graph, reconstructor->out);
  if (reconstructor->setup.input_gradient)
    reconstructor->input_gradient = graph_gradient(reconstructor->graph, reconstructor->in);
  return true;
}

static bool open_fused_buffers(struct reconstructor *reconstructor, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  size_t bytes = fused_bytes(reconstructor);
  reconstructor->input = device_buffer(setup->device, bytes, "the network's input", error);
  if (reconstructor->input)
    reconstructor->output = device_buffer(setup->device, bytes, "the network's output", error);
  if (reconstructor->output && setup->train)
    reconstructor->output_gradient = device_buffer(setup->device, bytes, "the output's gradient", error);
  if (!reconstructor->output || (setup->train && !reconstructor->output_gradient)) return false;
  if (setup->input_gradient &&
      !(reconstructor->input_gradient = device_buffer(setup->device, bytes, "the input's gradient", error)))
    return false;
  device_fill(setup->device, reconstructor->input, 0, bytes, 0);
  return true;
}

static void close_fused_buffers(struct reconstructor *reconstructor) {
  struct device *device = reconstructor->setup.device;
  device_release(device, reconstructor->input, fused_bytes(reconstructor));
  device_release(device, reconstructor->output, fused_bytes(reconstructor));
  device_release(device, reconstructor->output_gradient, fused_bytes(reconstructor));
  device_release(device, reconstructor->input_gradient, fused_bytes(reconstructor));
  reconstructor->input = reconstructor->output = NULL;
  reconstructor->output_gradient = reconstructor->input_gradient = NULL;
}

static bool try_fused(struct reconstructor *reconstructor, struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  struct block_setup block_setup = {reconstructor->batch, setup->precision, setup->train,
                                    setup->input_gradient};
  if (open_fused_buffers(reconstructor, error) &&
      blocks_open(&reconstructor->blocks, reconstructor->graph, setup->device, setup->kernels, &block_setup,
                  error))
    return true;
  close_fused_buffers(reconstructor);
  return false;
}

/* The graph holds the parameters; one image of activations is planned and not used. Halves the images a pass
 * until they fit. */
static bool open_fused(struct reconstructor *reconstructor, struct error *error) {
  if (!plan(reconstructor, 1, error)) return false;
  reconstructor->fused = true;
  while (!try_fused(reconstructor, error)) {
    if (reconstructor->batch == 1) return fail_in(error, "network.batch 1");
    reconstructor->batch /= 2;
  }
  if (reconstructor->batch < reconstructor->setup.batch)
    log_info("%s has room for %zu images a pass through the network, of the %zu asked for",
             reconstructor->setup.device->facts.name, reconstructor->batch, reconstructor->setup.batch);
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
  if (setup->precision == BLOCK_F32) return open_portable(reconstructor, error);
  return fail(error,
              "network.precision is %s, the portable path computes in f32 only; the fused one cannot run: "
              "%.900s",
              block_precision_name(setup->precision), reason.text);
}

bool reconstructor_open(struct reconstructor *reconstructor, const struct reconstructor_setup *setup,
                        struct error *error) {
  *reconstructor = (struct reconstructor){.setup = *setup, .batch = setup->batch};
  if (build(reconstructor, error) && open_path(reconstructor, error)) return true;
  reconstructor_close(reconstructor);
  return false;
}

void reconstructor_close(struct reconstructor *reconstructor) {
  blocks_close(reconstructor->blocks);
  if (reconstructor->fused) close_fused_buffers(reconstructor);
  graph_close(reconstructor->graph);
  *reconstructor = (struct reconstructor){0};
}

/* ---- running ------------------------------------------------------------------------------------------- */

void reconstructor_forward(struct reconstructor *reconstructor, size_t images) {
  REQUIRE(images <= reconstructor->batch, "%zu images; a pass takes %zu", images, reconstructor->batch);
  if (reconstructor->blocks) {
    blocks_forward(reconstructor->blocks, reconstructor->input, reconstructor->output, images);
    return;
  }
  graph_set_images(reconstructor->graph, images);
  graph_forward(reconstructor->graph);
}

void reconstructor_backward(struct reconstructor *reconstructor, size_t images) {
  REQUIRE(reconstructor->output_gradient, "the network was not opened to train");
  if (reconstructor->blocks) {
    blocks_backward(reconstructor->blocks, reconstructor->input, reconstructor->output_gradient, images,
                    (double)(images * reconstructor->setup.size * reconstructor->setup.size));
    if (reconstructor->input_gradient)
      blocks_input_gradient(reconstructor->blocks, reconstructor->input_gradient, images);
    return;
  }
  REQUIRE(images == reconstructor->graph->images, "%zu images; the last forward had %zu", images,
          reconstructor->graph->images);
  graph_backward(reconstructor->graph);
}

void reconstructor_changed(struct reconstructor *reconstructor) {
  if (reconstructor->blocks) blocks_pack(reconstructor->blocks);
}

/* ---- files --------------------------------------------------------------------------------------------- */

bool reconstructor_write(const struct reconstructor *reconstructor, struct store *store,
                         struct error *error) {
  const struct reconstructor_setup *setup = &reconstructor->setup;
  return store_put_text(store, "network", "unet", error) &&
         store_put_number(store, "network_channels", setup->channels, error) &&
         store_put_number(store, "network_pools", setup->pools, error) &&
         store_put_number(store, "network_size", (double)setup->size, error) &&
         checkpoint_write_parameters(store, "param", reconstructor->graph, error);
}

static bool read_sizes(struct store *store, struct reconstructor_setup *setup, struct error *error) {
  char network[32] = "";
  double channels, pools, size;
  if (!store_text(store, "network", network, sizeof network) || strcmp(network, "unet") ||
      !store_number(store, "network_channels", &channels) || !store_number(store, "network_pools", &pools))
    return fail(error,
                "it is no checkpoint of a reconstructor: the attributes network (unet), network_channels and "
                "network_pools are missing or of another kind; tools/convert_checkpoint.py writes them");
  if (!(channels >= 2 && channels <= 1024 && channels == floor(channels) && pools >= 1 && pools <= 12 &&
        pools == floor(pools)))
    return fail(
        error,
        "network_channels is %g and network_pools %g; they must be whole numbers from 2 to 1024 and 1 "
        "to 12: the file is damaged, use another checkpoint",
        channels, pools);
  if (store_number(store, "network_size", &size) && size != (double)setup->size)
    return fail(error,
                "the network was trained for %.0fx%.0f images, data.size is %zu; set data.size to %.0f or "
                "train one for %zu",
                size, size, setup->size, size, setup->size);
  setup->channels = (uint32_t)channels;
  setup->pools = (uint32_t)pools;
  return true;
}

bool reconstructor_load(struct reconstructor *reconstructor, const char *path,
                        const struct reconstructor_setup *setup, struct error *error) {
  struct reconstructor_setup own = *setup;
  struct store *store;
  *reconstructor = (struct reconstructor){0};
  if (!store_open(&store, path, error)) return false;
  bool good = read_sizes(store, &own, error) && reconstructor_open(reconstructor, &own, error);
  if (good && !checkpoint_read_parameters(store, "param", reconstructor->graph, error)) {
    reconstructor_close(reconstructor);
    good = false;
  }
  store_close(store);
  if (!good) return fail_in(error, "%s", path);
  reconstructor_changed(reconstructor);
  return true;
}
