#include "systems/networks/network.h"

#include "engine/base/log.h"
#include "systems/networks/checkpoint.h"

#include <string.h>

_Static_assert((int)STREAM_START == (int)GRAPH_STREAM, "parameters start from their stream");

void network_keep_apart(struct graph *graph, const struct device *device) {
  if (!device) return;
  const struct shards shards = device_shards(device);
  graph_keep_apart(graph, shards.all, shards_held(&shards));
}

static bool build_graph(struct network *network, struct graph **graph, struct error *error) {
  graph_open(graph);
  network_keep_apart(*graph, network->setup.device);
  network->out = network->setup.append(network->setup.owner, *graph, &network->in);
  network->path.heads = network->out.node + 1 < (*graph)->nodes;
  return graph_good(*graph, error);
}

static bool build(struct network *network, struct error *error) {
  return build_graph(network, &network->path.graph, error);
}

static bool plan(struct network *network, struct graph *graph, size_t batch, struct error *error) {
  const struct network_setup *setup = &network->setup;
  struct graph_setup graph_setup = {.device = setup->device,
                                    .kernels = setup->kernels,
                                    .batch = batch,
                                    .train = setup->train,
                                    .input_gradient = setup->input_gradient,
                                    .parameters = graph == network->path.graph ? NULL : network->path.graph};
  return graph_plan(graph, &graph_setup, error);
}

static size_t input_bytes(const struct network *network) {
  return sizeof(float) * graph_elements(network->path.graph, network->in) * network_room(network);
}

static size_t output_bytes(const struct network *network) {
  return sizeof(float) * graph_elements(network->path.graph, network->out) * network_room(network);
}

size_t network_room(const struct network *network) {
  return network->path.batch + (network->fused ? network->path.batch % 2 : 0);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Bytes of what needs a larger allocation than the device makes. */
static const size_t NO_ALLOCATION = SIZE_MAX / 2;

static size_t memory_left(const struct network *network) {
  return network->setup.device->facts.memory - network->setup.device->bytes;
}

static size_t bytes_of(const struct network_need *need, size_t images) {
  return need->bytes + need->image * (need->batch ? need->batch : images);
}

/* Bytes of what is opened after it: its optimiser's two moments, the loss, and the networks beside. */
static size_t bytes_beside(const struct network *network, size_t images) {
  const struct network_setup *setup = &network->setup;
  size_t bytes = setup->train ? 2 * sizeof(float) * network->path.graph->elements + setup->loss_image * images : 0;
  for (const struct network_need *need = setup->beside; need->desc; need++) bytes += bytes_of(need, images);
  return bytes;
}

size_t network_spare(const struct network *network) {
  size_t wanted = bytes_beside(network, network->path.batch), left = memory_left(network);
  return left > wanted ? left - wanted : 0;
}

/* Of parameters, and of the gradients of every shard that is held. */
static size_t parameter_bytes(const struct network *network) {
  const struct graph *graph = network->path.graph;
  return sizeof(float) * graph->elements * (network->setup.train ? 1 + graph->shards.held : 1);
}

static size_t portable_bytes(const struct network *network, size_t images) {
  const struct network_setup *setup = &network->setup;
  size_t activations = graph_measure(network->path.graph, images, setup->train, setup->input_gradient);
  if (activations > SIZE_MAX / 64) return NO_ALLOCATION;
  return network->path.passes * activations + parameter_bytes(network) +
         (setup->bytes ? setup->bytes(setup->owner, images) : 0) + bytes_beside(network, images);
}

/* The largest batch of which all fits; 0: not one image. */
static size_t find_room(const struct network *network) {
  size_t low = 0, high = network->path.batch, left = memory_left(network);
  while (low < high) {
    size_t middle = (low + high + 1) / 2;
    if (portable_bytes(network, middle) <= left)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Counts what two images take and, for each, half of what two more do: buffers that grow less with the batch
 * make it too much, never too little. */
static bool measure_fused(const struct network *network, size_t *bytes, size_t *image, struct error *error) {
  const struct network_setup *setup = &network->setup;
  size_t in = graph_elements(network->path.graph, network->in), out = graph_elements(network->path.graph, network->out);
  size_t values = network->path.passes * (in + out) + out + (setup->input_gradient ? in : 0);
  size_t two, four;
  struct block_setup blocks = {2, setup->precision, setup->train, setup->input_gradient, network->path.passes};
  if (!blocks_measure(network->path.graph, setup->device, &blocks, &two, error)) return false;
  blocks.batch = 4;
  if (!blocks_measure(network->path.graph, setup->device, &blocks, &four, error)) return false;
  *bytes += two + graph_measure(network->path.graph, 1, setup->train, setup->input_gradient);
  *image = (four - two) / 2 + values * sizeof(float);
  return true;
}

static bool measure(const struct network *network, size_t *bytes, size_t *image, struct error *error) {
  const struct network_setup *setup = &network->setup;
  struct error reason;
  *bytes = parameter_bytes(network) + (setup->train ? 2 : 0) * sizeof(float) * network->path.graph->elements;
  *image = network->path.passes * graph_measure(network->path.graph, 1, setup->train, setup->input_gradient);
  return setup->portable || !blocks_fit(network->path.graph, setup->device, &reason) ||
         measure_fused(network, bytes, image, error);
}

static struct network described(const struct network_setup *setup) {
  struct network network = {.setup = *setup, .path = {.batch = setup->batch, .passes = setup->passes ? setup->passes : 1}};
  if (!setup->desc->precision_key) network.setup.precision = BLOCK_F32;
  return network;
}

/* What it would take. */
static bool measure_setup(const struct network_setup *setup, struct network_need *need, struct error *error) {
  struct network network = described(setup);
  *need = (struct network_need){.desc = setup->desc, .batch = setup->batch};
  bool good = build(&network, error) && measure(&network, &need->bytes, &need->image, error);
  graph_close(network.path.graph);
  return good;
}

bool network_measure_stored(const struct network_setup *setup, const char *path, network_take *take,
                            struct network_need *need, struct error *error) {
  struct network_setup own = *setup;
  struct store *store;
  if (!path) return measure_setup(setup, need, error);
  if (!store_open(&store, path, error)) return false;
  bool good = take(&own, store, error) && measure_setup(&own, need, error);
  store_close(store);
  return good || fail_in(error, "%s", path);
}

static double mebi(size_t bytes) {
  return (double)bytes / 0x1p20;
}

/* Measures a graph of its own, for measuring places the buffers anew: "unet 1.5 MiB, tau_step 0.3 MiB ..., in all" */
static const char *list_needs(const struct network *network, size_t images, struct arena *arena) {
  const struct network_setup *setup = &network->setup;
  struct network_need own = {0};
  struct error error;
  measure_setup(setup, &own, &error);
  size_t loss = setup->train ? setup->loss_image * images : 0, all = own.bytes + own.image * images + loss;
  const char *text = arena_text(arena, "%s %.1f MiB", setup->desc->name, mebi(all - loss));
  if (network->path.passes > 1) text = arena_text(arena, "%s (%zu passes)", text, network->path.passes);
  for (const struct network_need *need = setup->beside; need->desc; need++) {
    size_t more = bytes_of(need, images);
    text = arena_text(arena, "%s, %s %.1f MiB", text, need->desc->name, mebi(more));
    if (need->batch) text = arena_text(arena, "%s (%zu a pass)", text, need->batch);
    all += more;
  }
  if (loss) text = arena_text(arena, "%s, the loss %.1f MiB", text, mebi(loss));
  return arena_text(arena, "%.1f MiB with %zu image%s a pass: %s", mebi(all), images, plural(images), text);
}

static const char *add_key(const char *text, const char *key, struct arena *arena) {
  return strstr(text, key) ? text : arena_text(arena, "%s%s%s", text, *text ? ", " : "", key);
}

/* The images a pass of the network itself are lowered without being asked. */
static const char *batch_key(const struct network_desc *desc, struct arena *arena) {
  const struct option *row = option_table.rows;
  while (row->offset != desc->batch) row++;
  return arena_text(arena, "%s.%s", row->section, row->name);
}

/* The options that size the networks, each once. */
static const char *list_keys(const struct network *network, struct arena *arena) {
  const struct network_need *need = network->setup.beside;
  const char *text = "";
  for (const struct network_desc *desc = network->setup.desc; desc; desc = need++->desc)
    for (const char *const *key = desc->keys; *key; key++) text = add_key(text, *key, arena);
  for (need = network->setup.beside; need->desc; need++)
    if (need->batch) text = add_key(text, batch_key(need->desc, arena), arena);
  return arena_text(arena, "%s or data.most", text);
}

static bool refuse(const struct network *network, const char *reason, struct error *error) {
  const struct device *device = network->setup.device;
  struct arena *arena = arena_open();
  fail(error, "%s needs %s; %s has %.1f MiB left%s%.600s: lower %s",
       network->setup.train ? "training" : "the network", list_needs(network, network->path.batch, arena),
       device->facts.name, mebi(memory_left(network)), *reason ? ": " : "", reason, list_keys(network, arena));
  arena_close(arena);
  return false;
}

/* Whether what the caller still opens has room beside the network. */
static bool check_room(const struct network *network, struct error *error) {
  size_t need = bytes_beside(network, network->path.batch), left = memory_left(network);
  if (!network->setup.train || need <= left) return true;
  return fail(error, "no room for %.1f MiB beside it", mebi(need));
}

static void tell_room(const struct network *network) {
  const struct device *device = network->setup.device;
  struct arena *arena = arena_open();
  if (network->path.batch < network->setup.batch)
    log_info("%s has room for %zu image%s a pass through %s, of the %zu asked for", device->facts.name,
             network->path.batch, plural(network->path.batch), network->setup.desc->name, network->setup.batch);
  if (!network->setup.planned)
    log_detail("%s needs %s; %s has %.1f MiB left", network->setup.train ? "training" : "the network",
             list_needs(network, network->path.batch, arena), device->facts.name, mebi(memory_left(network)));
  arena_close(arena);
}

/* ---- the portable path --------------------------------------------------------------------------------- */

static bool open_parts(struct network *network, struct error *error) {
  const struct network_setup *setup = &network->setup;
  return !setup->open || setup->open(setup->owner, network_room(network), error);
}

static void find_ends(const struct network *network, struct path_pass *pass) {
  pass->ends.input = graph_value(pass->graph, network->in);
  pass->ends.output = graph_value(pass->graph, network->out);
  if (network->setup.train) pass->ends.output_gradient = graph_gradient(pass->graph, network->out);
  if (network->setup.input_gradient) pass->ends.input_gradient = graph_gradient(pass->graph, network->in);
}

static bool open_pass(struct network *network, struct path_pass *pass, struct error *error) {
  pass->graph = network->path.graph;
  if ((pass != network->path.pass && !build_graph(network, &pass->graph, error)) ||
      !plan(network, pass->graph, network->path.batch, error))
    return false;
  find_ends(network, pass);
  return true;
}

/* As many images a pass as fit; what needs one allocation that is too large is refused by the plan that follows. */
static bool fit_batch(struct network *network, struct error *error) {
  network->path.graph->largest = network->setup.device->facts.largest;
  size_t room = find_room(network);
  if (room < network->path.batch) network->path.batch = room ? room : 1;
  return room || portable_bytes(network, 1) == NO_ALLOCATION || refuse(network, "", error);
}

static bool open_portable(struct network *network, struct error *error) {
  if (!fit_batch(network, error)) return false;
  for (size_t p = 0; p < network->path.passes; p++)
    if (!open_pass(network, &network->path.pass[p], error)) return false;
  if (!open_parts(network, error)) return false;
  struct error reason;
  return check_room(network, &reason) || refuse(network, reason.text, error);
}

/* ---- the fused path ------------------------------------------------------------------------------------ */

static bool need_buffer(struct network *network, cl_mem *used, cl_mem *own, size_t bytes, const char *what,
                        struct error *error) {
  if (*used) return true;
  *used = *own = device_buffer(network->setup.device, bytes, what, error);
  return *own;
}

/* Gradients of the network's input and output are those of the pass that is run backward: all passes share them. */
static bool open_gradients(struct network *network, struct error *error) {
  struct path_ends *shared = &network->shared, used = {0};
  return (!network->setup.train || network->path.heads ||
          need_buffer(network, &used.output_gradient, &shared->output_gradient, output_bytes(network),
                      "the output's gradient", error)) &&
         (!network->setup.input_gradient ||
          need_buffer(network, &used.input_gradient, &shared->input_gradient, input_bytes(network),
                      "the input's gradient", error));
}

static bool open_buffers(struct network *network, struct error *error) {
  if (!open_gradients(network, error)) return false;
  for (size_t p = 0; p < network->path.passes; p++) {
    struct path_ends *ends = &network->path.pass[p].ends, *own = &network->path.pass[p].own;
    if (network->path.heads) {
      ends->output = graph_value(network->path.graph, network->out);
      if (network->setup.train) ends->output_gradient = graph_gradient(network->path.graph, network->out);
    } else {
      ends->output_gradient = network->shared.output_gradient;
      ends->input_gradient = network->shared.input_gradient;
    }
    if (!need_buffer(network, &ends->input, &own->input, input_bytes(network), "the network's input", error) ||
        !need_buffer(network, &ends->output, &own->output, output_bytes(network), "the network's output", error))
      return false;
    device_fill(network->setup.device, ends->input, 0, input_bytes(network), 0);
  }
  return true;
}

static void close_buffers(struct network *network) {
  struct device *device = network->setup.device;
  device_release(device, network->shared.output_gradient, output_bytes(network));
  device_release(device, network->shared.input_gradient, input_bytes(network));
  for (size_t p = 0; p < network->path.passes; p++) {
    device_release(device, network->path.pass[p].own.input, input_bytes(network));
    device_release(device, network->path.pass[p].own.output, output_bytes(network));
  }
}

/* All but the choice of the path and of the batch. */
static void close_all(struct network *network) {
  if (network->setup.close) network->setup.close(network->setup.owner);
  blocks_close(network->path.blocks);
  if (network->path.graph && network->fused) close_buffers(network);
  for (size_t p = 1; p < network->path.passes; p++) graph_close(network->path.pass[p].graph);
  graph_close(network->path.graph);
  memset(network->path.pass, 0, sizeof network->path.pass);
  network->shared = (struct path_ends){0};
  network->path.blocks = NULL;
  network->path.graph = NULL;
}

/* Without heads the graph holds the parameters only; one image of activations is planned and not used. */
static bool plan_fused(struct network *network, struct error *error) {
  enum device_matrix matrix = network->setup.device->facts.matrix;
  network->path.pass[0].graph = network->path.graph;
  if (!network->path.heads) return plan(network, network->path.graph, 1, error);
  graph_give(network->path.graph, network->out);
  if (matrix == MATRIX_NVIDIA || matrix == MATRIX_EMULATED)
    network->path.graph->products = network->setup.precision == BLOCK_F32 ? PRODUCTS_SPLIT : PRODUCTS_ROUNDED;
  return plan(network, network->path.graph, network->path.batch, error);
}

static bool try_fused(struct network *network, struct error *error) {
  const struct network_setup *setup = &network->setup;
  struct block_setup block_setup = {network->path.batch, setup->precision, setup->train, setup->input_gradient,
                                    network->path.passes};
  return plan_fused(network, error) && open_parts(network, error) && open_buffers(network, error) &&
         blocks_open(&network->path.blocks, network->path.graph, setup->device, setup->kernels, &block_setup, error) &&
         check_room(network, error);
}

/* Halves the images a pass until they fit. */
static bool open_fused(struct network *network, struct error *error) {
  network->fused = true;
  while (!try_fused(network, error)) {
    struct error reason = *error;
    close_all(network);
    if (!build(network, error)) return false;
    if (network->setup.whole || network->path.batch == 1) return refuse(network, reason.text, error);
    network->path.batch /= 2;
  }
  return true;
}

/* AMD's kernels have not met every driver: where they do not open, the portable path computes the same. */
static bool open_fused_or_portable(struct network *network, struct error *error) {
  const struct network_setup *setup = &network->setup;
  if (open_fused(network, error)) return true;
  enum device_matrix matrix = setup->device->facts.matrix;
  if ((matrix != MATRIX_AMD && matrix != MATRIX_CDNA) || setup->precision != BLOCK_F32 || setup->whole) return false;
  log_warning("the fused network does not open, the portable path is taken: %s", error->text);
  network->fused = false;
  network->path.batch = setup->batch;
  return open_portable(network, error);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Whether the fused path runs; refused where the precision needs it and it does not. */
static bool choose_path(const struct network *network, bool *fused, struct error *error) {
  const struct network_setup *setup = &network->setup;
  struct error reason = {.text = "it was not wanted"};
  *fused = !setup->portable && blocks_fit(network->path.graph, setup->device, &reason);
  if (*fused || setup->precision == BLOCK_F32 || setup->any_path) return true;
  return fail(error,
              "%s is %s, and the portable path computes in f32 only; set it to f32; the fused one cannot run: "
              "%.900s",
              setup->desc->precision_key, block_precision_name(setup->precision), reason.text);
}

bool network_check_path(const struct network_setup *setup, struct error *error) {
  struct network network = described(setup);
  bool fused, good = build(&network, error) && choose_path(&network, &fused, error);
  graph_close(network.path.graph);
  return good;
}

static bool open_path(struct network *network, struct error *error) {
  bool fused;
  if (!choose_path(network, &fused, error)) return false;
  return (fused ? open_fused_or_portable : open_portable)(network, error);
}

bool network_open(struct network *network, const struct network_setup *setup, struct error *error) {
  *network = described(setup);
  REQUIRE(network->path.passes <= PATH_PASSES, "%zu passes; there are at most %d", network->path.passes,
          PATH_PASSES);
  if (build(network, error) && open_path(network, error)) {
    tell_room(network);
    return true;
  }
  network_close(network);
  return false;
}

void network_close(struct network *network) {
  close_all(network);
  *network = (struct network){0};
}

static void replace(struct network *network, cl_mem *own, cl_mem *used, cl_mem lent, size_t bytes) {
  if (!lent) return;
  device_release(network->setup.device, *own, bytes);
  *own = NULL;
  *used = lent;
}

void network_share(struct network *network, size_t number, const struct path_ends *ends) {
  struct path_pass *pass = &network->path.pass[number];
  REQUIRE(network->fused && number < network->path.passes, "pass %zu; there are %zu", number, network->path.passes);
  replace(network, &pass->own.input, &pass->ends.input, ends->input, input_bytes(network));
  replace(network, &pass->own.output, &pass->ends.output, ends->output, output_bytes(network));
  if (ends->output_gradient) pass->ends.output_gradient = ends->output_gradient;
  if (ends->input_gradient) pass->ends.input_gradient = ends->input_gradient;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const char *group_of(const struct network_setup *setup) {
  return setup->desc->group ? setup->desc->group : "param";
}

bool network_write(const struct network *network, const struct network_facts *facts, struct store *store,
                   struct error *error) {
  return facts_write(network->setup.desc->facts, facts, store, error) &&
         checkpoint_write_parameters(store, group_of(&network->setup), network->path.graph, error);
}

bool network_stored(const struct network_setup *setup, struct store *store, const char *group,
                    struct error *error) {
  struct network network = described(setup);
  bool good = build(&network, error) && checkpoint_check_parameters(store, group, network.path.graph, error);
  graph_close(network.path.graph);
  return good;
}

static bool open_stored(struct network *network, const struct network_setup *setup, struct store *store,
                        network_take *take, struct error *error) {
  struct network_setup own = *setup;
  if (!take(&own, store, error) || !network_stored(&own, store, group_of(&own), error) ||
      !network_open(network, &own, error))
    return false;
  if (checkpoint_read_parameters(store, group_of(&own), network->path.graph, error)) return true;
  network_close(network);
  return false;
}

bool network_load(struct network *network, const struct network_setup *setup, const char *path, network_take *take,
                  struct error *error) {
  struct store *store;
  *network = (struct network){0};
  if (!store_open(&store, path, error)) return false;
  bool good = open_stored(network, setup, store, take, error), sums = store_has_sums(store);
  store_close(store);
  if (!good) return fail_in(error, "%s", path);
  if (!sums)
    log_info("%s has no checksums, as what is older or converted: a damaged number in it would not be seen", path);
  path_changed(&network->path);
  return true;
}
