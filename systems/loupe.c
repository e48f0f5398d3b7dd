#include "systems/loupe.h"

#include "components/components.h"
#include "systems/checkpoint.h"
#include "systems/geometry.h"

/* ---- opening ------------------------------------------------------------------------------------------- */

static void write_taken(struct loupe *loupe, size_t batch, struct arena *arena) {
  uint8_t *taken = ARENA_NEW(arena, uint8_t, loupe->size);
  float *rows = ARENA_NEW(arena, float, batch * loupe->size);
  acquisition_initial(&loupe->acquisition, taken);
  for (size_t i = 0; i < batch * loupe->size; i++) rows[i] = taken[i % loupe->size];
  device_write(loupe->device, graph_value(loupe->graph, loupe->net.taken), 0,
               sizeof(float) * batch * loupe->size, rows);
}

static bool open_graph(struct loupe *loupe, const struct loupe_setup *setup, struct error *error) {
  const struct options *options = setup->options;
  struct net_loupe_setup net = {(int)loupe->size, loupe->acquisition.budget, options->world.seed,
                                (float)options->loupe.slope};
  struct graph_setup plan = {
      .device = setup->device, .kernels = setup->kernels, .batch = setup->batch, .train = true};
  graph_open(&loupe->graph);
  loupe->net = net_loupe(loupe->graph, &net);
  if (!graph_plan(loupe->graph, &plan, error)) return fail_in(error, "LOUPE's mask");
  graph_start(loupe->graph, options->world.seed);
  return kernel_need(setup->kernels, "loupe_present", error) &&
         kernel_need(setup->kernels, "loupe_keep", error);
}

/* The masks that it learns are of columns. */
static bool check_geometry(const struct options *options, struct error *error) {
  if (options->data.kspace == KSPACE_MEASURED)
    return fail_usage(
        error, "train.method is loupe, which transforms images, and data.kspace is measured; set it to "
               "image, or train.method to reconstructor, l2s, l2sr or pgmri");
  if (options->acquisition.geometry == GEOMETRY_LINES) return true;
  return fail_usage(
      error,
      "train.method is loupe, which learns masks of lines, and acquisition.geometry is %s; set it "
      "to lines, or train.method to reconstructor, l2s, l2sr or pgmri",
      geometry_chosen(options)->name);
}

bool loupe_open(struct loupe *loupe, const struct loupe_setup *setup, struct error *error) {
  const struct options *options = setup->options;
  struct arena *arena = arena_open();
  struct optimiser_setup optimiser =
      optimise_defaults((enum optimiser_kind)options->train.optimiser, options->train.rate);
  *loupe = (struct loupe){.device = setup->device,
                          .kernels = setup->kernels,
                          .each = options->loupe.masks == LOUPE_SAMPLE,
                          .size = options->data.size};
  optimiser.clip = options->train.clip;
  bool good =
      check_geometry(options, error) && acquisition_only(&loupe->acquisition, options, arena, error) &&
      open_graph(loupe, setup, error) && optimise_open(&loupe->optimiser, loupe->graph, &optimiser, error);
  if (good) write_taken(loupe, setup->batch, arena);
  arena_close(arena);
  if (!good) loupe_close(loupe);
  return good;
}

void loupe_close(struct loupe *loupe) {
  if (loupe->optimiser.device) optimise_close(&loupe->optimiser);
  graph_close(loupe->graph);
  *loupe = (struct loupe){0};
}

/* ---- running ------------------------------------------------------------------------------------------- */

static struct arg column(const struct world *world, enum arg_kind kind, enum element element, unsigned name) {
  return arg_buffer(kind, element, world->column[name]);
}

static void present(struct loupe *loupe, const struct world *world, unsigned slices, uint32_t first,
                    uint32_t stride, size_t images) {
  kernel_run(loupe->kernels, "loupe_present", images,
             ARGS(column(world, ARG_IN, ELEMENT_U32, slices), column(world, ARG_IN, ELEMENT_F32, SLICE_image),
                  column(world, ARG_IN, ELEMENT_F32, SLICE_unit),
                  graph_arg(ARG_OUT, graph_value(loupe->graph, loupe->net.image)),
                  arg_buffer(ARG_OUT, ELEMENT_U32, graph_value(loupe->graph, loupe->net.scan)),
                  arg_u32((uint32_t)(loupe->size * loupe->size)), arg_u32(first), arg_u32(stride)));
}

static size_t image_bytes(const struct loupe *loupe) {
  return sizeof(float) * loupe->size * loupe->size;
}

void loupe_forward(struct loupe *loupe, struct world *world, struct reconstructor *reconstructor,
                   uint32_t number, uint32_t first, size_t images) {
  graph_set_images(loupe->graph, images);
  present(loupe, world, ENV_slice, loupe->each ? first : number, loupe->each, images);
  graph_forward(loupe->graph);
  device_copy(loupe->device, graph_value(loupe->graph, loupe->net.out), 0, reconstructor->input, 0,
              images * image_bytes(loupe));
}

void loupe_backward(struct loupe *loupe, const struct reconstructor *reconstructor, size_t images) {
  device_copy(loupe->device, reconstructor->input_gradient, 0, graph_gradient(loupe->graph, loupe->net.out),
              0, images * image_bytes(loupe));
  graph_backward(loupe->graph);
}

/* Their numbers are above those of training (systems/feed.c). A mask does not depend on the image: any will
 * do. */
bool loupe_draw(struct loupe *loupe, struct world *world, size_t rows, struct error *error) {
  const uint32_t start = 0x80000000u;
  size_t batch = loupe->graph->batch;
  for (size_t first = 0; first < rows; first += batch) {
    size_t images = rows - first < batch ? rows - first : batch;
    graph_set_images(loupe->graph, images);
    present(loupe, world, EPOCH_slice, start + (uint32_t)first, 1, images);
    graph_forward(loupe->graph);
    kernel_run(loupe->kernels, "loupe_keep", images,
               ARGS(graph_arg(ARG_IN, graph_value(loupe->graph, loupe->net.mask)),
                    column(world, ARG_INOUT, ELEMENT_U8, EPOCH_mask), arg_u32((uint32_t)first)));
  }
  return device_finish(loupe->device, error);
}

/* ---- files --------------------------------------------------------------------------------------------- */

bool loupe_write(const struct loupe *loupe, struct store *store, struct error *error) {
  struct arena *arena = arena_open();
  size_t lines = loupe->size;
  uint8_t *taken = ARENA_NEW(arena, uint8_t, lines), *mask = ARENA_NEW(arena, uint8_t, lines);
  float *weight = ARENA_NEW(arena, float, lines);
  double *chance = ARENA_NEW(arena, double, lines);
  device_read(loupe->device, loupe->graph->parameter[0].value, 0, sizeof(float) * lines, weight);
  acquisition_initial(&loupe->acquisition, taken);
  net_loupe_chances(weight, taken, lines, loupe->acquisition.budget, chance);
  net_loupe_best(chance, taken, lines, loupe->acquisition.budget, mask);
  bool good = store_put_text(store, "sampler", "loupe", error) &&
              checkpoint_write_parameters(store, "sampler", loupe->graph, error) &&
              checkpoint_write_moments(store, "sampler_optimiser", &loupe->optimiser, error) &&
              store_write(store, "probability", STORE_F64, 1, &lines, chance, false, error) &&
              store_write(store, "mask", STORE_U8, 1, &lines, mask, false, error);
  arena_close(arena);
  return good;
}

bool loupe_read(struct loupe *loupe, struct store *store, struct error *error) {
  return checkpoint_read_parameters(store, "sampler", loupe->graph, error) &&
         checkpoint_read_moments(store, "sampler_optimiser", &loupe->optimiser, error);
}
