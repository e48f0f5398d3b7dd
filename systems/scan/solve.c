#include "systems/scan/solve.h"

#include "engine/base/log.h"
#include "kernels/kernels.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/observation.h"
#include "systems/scan/systems.h"

#include <math.h>
#include <stdatomic.h>

/* Bytes of all scratch memory: of a GPU a part of its memory, of a CPU little more than caches hold. */
enum { MEMORY_PART = 8, UNITS_EACH = 2 };
static const size_t cpu_bytes = (size_t)32 << 20, gpu_bytes = (size_t)8 << 30;

static const double inner_tolerance = 1e-3; /* of a round's conjugate gradients: kernels/solve.cl */
static const double least_tolerance = 1e-7; /* of a residual: what single precision tells from 0 */
enum { INNER_STEPS = 10 };                  /* and how many they are at most */

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Of hybrid data, of which products know their own energy. */
static size_t blocks_of(const struct solver *solver) {
  return solver->listed ? hybrid_blocks(solver->height, solver->width) : 0;
}

/* Bytes of a scan. */
static size_t bytes_of(const struct solver *solver, enum solve_buffer buffer, uint32_t method) {
  bool tv = method == RECONSTRUCT_TV, wavelet = method == RECONSTRUCT_WAVELET;
  size_t image = 8 * solver->pixels * solver->sets, rows = solver->apart ? solver->sets : 1;
  if (solver->compensates && (buffer == SOLVE_RIGHT || buffer == SOLVE_RESIDUAL || buffer == SOLVE_DIRECTION)) return 0;
  if (solver->whole && (buffer == SOLVE_RESIDUAL || buffer == SOLVE_DIRECTION || buffer == SOLVE_PRODUCT || buffer == SOLVE_SIDE))
    return 0;
  switch (buffer) {
  case SOLVE_TAKEN: return solver->pixels;
  case SOLVE_LINES:
  case SOLVE_STARTS:
  case SOLVE_OTHERS:
  case SOLVE_OTHER_STARTS: return solver->listed ? 4 * solver->width : 0;
  case SOLVE_PLANES: return solver->listed ? 0 : 8 * solver->pixels * solver->coils;
  case SOLVE_PRODUCT: return solver->mapped || solver->listed ? image : 0;
  case SOLVE_SIDE: return tv ? image : 0;
  case SOLVE_SPLIT:
  case SOLVE_DUAL: return tv ? 2 * image : 0;
  case SOLVE_PARTS: return 8 * blocks_of(solver);
  case SOLVE_BANDS: return wavelet ? 8 * rows * solver->band_values : 0;
  case SOLVE_HALF: return wavelet ? 8 * rows * solver->half_values : 0;
  case SOLVE_WEIGHTS: return solver->compensates ? 4 * solver->pixels : 0;
  case SOLVE_SCALE: return 4 * rows;
  case SOLVE_VALUES:
  case SOLVE_COUNTS: return 16 * rows;
  case SOLVE_REFUSED: return 0;
  default: return image;
  }
}

static size_t scan_bytes(const struct solver *solver, uint32_t method) {
  size_t sum = 0;
  for (int b = 0; b < SOLVE_BUFFERS; b++) sum += bytes_of(solver, (enum solve_buffer)b, method);
  return sum;
}

/* No allocation is above the device's largest. */
static size_t chunk_of(const struct solver *solver, size_t scans, uint32_t method) {
  const struct device_facts *facts = &solver->device->facts;
  bool gpu = facts->kind & CL_DEVICE_TYPE_GPU;
  size_t most = gpu ? gpu_bytes : cpu_bytes, each = scan_bytes(solver, method);
  if (most > facts->memory / MEMORY_PART) most = facts->memory / MEMORY_PART;
  size_t chunk = most / each, least = gpu ? 1 : UNITS_EACH * (size_t)facts->units;
  if (chunk < least) chunk = least;
  while (chunk > 1 && chunk * each > facts->memory / MEMORY_PART) chunk--;
  return chunk < scans ? chunk : scans;
}

static bool open_buffers(struct solver *solver, uint32_t method, struct error *error) {
  for (int b = 0; b < SOLVE_BUFFERS; b++) {
    size_t bytes = b == SOLVE_REFUSED ? sizeof(uint32_t)
                                      : solver->chunk * bytes_of(solver, (enum solve_buffer)b, method);
    if (!bytes) continue;
    if (!(solver->buffer[b] = device_buffer(solver->device, bytes, "images that are solved for", error))) return false;
    solver->bytes[b] = bytes;
    device_fill(solver->device, solver->buffer[b], 0, bytes, b == SOLVE_REFUSED ? UINT32_MAX : 0);
  }
  if (!solver->bytes[SOLVE_PRODUCT]) solver->buffer[SOLVE_PRODUCT] = solver->buffer[SOLVE_PLANES];
  if (!solver->bytes[SOLVE_PARTS]) solver->buffer[SOLVE_PARTS] = solver->buffer[SOLVE_COUNTS]; /* not looked at */
  return true;
}

/* Hybrid data are transformed on their other axis already. */
static bool open_transforms(struct solver *solver, struct error *error) {
  size_t planes = solver->chunk * solver->coils;
  if (solver->listed) return true;
  if (!solver->hybrid && !fft_open(&solver->data, solver->device, solver->height, solver->width, planes, error))
    return false;
  return !solver->lines ||
         fft_open(&solver->rows, solver->device, 1, solver->width, planes * solver->height, error);
}

/* That no system names. */
static bool need_kernels(const struct solver *solver, struct kernels *kernels, struct error *error) {
  if (solver->compensates) return kernel_need(kernels, "solve_magnitude", error);
  if (solver->listed)
    return kernel_need(kernels, "hybrid_list", error) && kernel_need(kernels, "hybrid_normal", error) &&
           kernel_need(kernels, "solve_begin", error);
  if (solver->sets > 1 && !(kernel_need(kernels, "sets_combine", error) && kernel_need(kernels, "sets_spread", error) &&
                            kernel_need(kernels, "sets_store", error)))
    return false;
  return kernel_need(kernels, "solve_spread", error) && kernel_need(kernels, "solve_keep", error) &&
         kernel_need(kernels, "solve_begin", error);
}

static const component_set coil_columns = SET(SLICE_coil_kspace) | SET(SLICE_coil_hybrid);

static bool maps_coils(const struct options *options) {
  return (observation_chosen(options)->kspace & coil_columns) && options->coils.maps != MAPS_NONE;
}

/* Candidates of an oracle are solved for as scans are. */
static size_t scans_of(const struct simulation *simulation) {
  size_t envs = world_capacity(simulation->world, TABLE_ENV), batch = simulation->options->network.batch;
  bool oracle = simulation->plan.deciders & DECIDES_ORACLE;
  return oracle && batch > envs ? batch : envs;
}

/* Of one coil, on GPUs whose local memory holds an image. */
static bool takes_whole(const struct solver *solver) {
  const struct device_facts *facts = &solver->device->facts;
  bool gpu = facts->kind & CL_DEVICE_TYPE_GPU || facts->matrix != MATRIX_NONE;
  bool tv = solver->options->reconstruct.method == RECONSTRUCT_TV;
  return gpu && tv && solver->listed && !solver->mapped && solver->coils == 1 &&
         total_fits(solver->height, solver->width) &&
         total_local(solver->height, solver->width) <= facts->declared && facts->group >= TOTAL_GROUP;
}

/* A device that refuses the kernel solves step by step. */
static bool solves_whole(struct solver *solver, struct kernels *kernels) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  struct error error;
  if (!takes_whole(solver)) return false;
  if (kernel_variant_open(kernels, &solver->total, "total_scan", "", TOTAL_GROUP, &error)) return true;
  if (!atomic_flag_test_and_set(&said))
    log_warning("total variation is solved step by step, which is slower: %s", error.text);
  return false;
}

static struct solver *make_solver(const struct simulation *simulation) {
  const struct options *options = simulation->options;
  struct arena *arena = arena_open();
  struct solver *solver = ARENA_NEW(arena, struct solver, 1);
  component_set kspace = observation_chosen(options)->kspace;
  uint32_t method = options->reconstruct.method;
  bool compensates = method != RECONSTRUCT_CG_SENSE && method != RECONSTRUCT_TV && method != RECONSTRUCT_WAVELET;
  bool coils = kspace & coil_columns, hybrid = kspace & (SET(SLICE_hybrid) | SET(SLICE_coil_hybrid));
  *solver = (struct solver){.arena = arena,
                            .device = simulation->device,
                            .options = options,
                            .height = world_height(simulation->world),
                            .width = world_width(simulation->world),
                            .pixels = world_shape(simulation->world, SHAPE_HW),
                            .coils = 1,
                            .hybrid = hybrid,
                            .listed = observation_lists(options),
                            .mapped = compensates ? options->coils.combine == COMBINE_MAPS : maps_coils(options),
                            .compensates = compensates,
                            .sets = 1,
                            .lines = geometry_chosen(options)->columns};
  if (coils) solver->coils = world_shape(simulation->world, SHAPE_CHW) / solver->pixels;
  if (solver->mapped) solver->sets = options->coils.sets;
  solver->apart = solver->sets > 1 && method == RECONSTRUCT_WAVELET;
  solver->whole = solves_whole(solver, simulation->kernels);
  solve_find_levels(solver);
  solver->chunk = chunk_of(solver, scans_of(simulation), options->reconstruct.method);
  return solver;
}

bool solve_open(struct simulation *simulation, struct error *error) {
  simulation->solver = make_solver(simulation);
  return need_kernels(simulation->solver, simulation->kernels, error) &&
         open_buffers(simulation->solver, simulation->options->reconstruct.method, error) &&
         open_transforms(simulation->solver, error);
}

void solve_close(struct simulation *simulation) {
  struct solver *solver = simulation->solver;
  if (!solver) return;
  if (solver->data.device) fft_close(&solver->data);
  if (solver->rows.device) fft_close(&solver->rows);
  kernel_variant_close(&solver->total);
  for (int b = 0; b < SOLVE_BUFFERS; b++)
    if (solver->bytes[b]) device_release(solver->device, solver->buffer[b], solver->bytes[b]);
  arena_close(solver->arena);
  simulation->solver = NULL;
}

bool solve_check(struct simulation *simulation, struct error *error) {
  struct solver *solver = simulation->solver;
  uint32_t refused = UINT32_MAX;
  device_read(solver->device, solver->buffer[SOLVE_REFUSED], 0, sizeof refused, &refused);
  device_fill(solver->device, solver->buffer[SOLVE_REFUSED], 0, sizeof refused, UINT32_MAX);
  if (!device_finish(solver->device, error)) return false;
  simulation->refused = refused;
  const struct option *method = option_find(&option_table, "reconstruct.method");
  return refused == UINT32_MAX ||
         fail(error,
              "reconstruct.method %s: the image of scan %u has pixels that are no finite numbers, after at most %u "
              "iterations; its steps are for coil maps whose squares sum to 1 at most, and for data below 1e18: mend "
              "these, lower reconstruct.iterations, or choose another reconstruct.method",
              option_text(method, solver->options, solver->arena), refused,
              solver->options->reconstruct.iterations);
}

/* ---- the operator --------------------------------------------------------------------------------------- */

struct arg solve_arg(const struct solver *solver, enum arg_kind kind, enum element element, enum solve_buffer buffer) {
  return arg_buffer(kind, element, solver->buffer[buffer]);
}

/* What tells coils apart; of one coil without maps any memory stands for it, which is not looked at. */
struct coils {
  struct arg slice, coils, maps;
};

static struct coils coils_of(struct world *world) {
  struct coils coils = {.slice = world_in(world, ENV_slice)};
  coils.coils = world_reads(world, SLICE_coils) ? world_in(world, SLICE_coils) : arg_unnamed(coils.slice);
  coils.maps = world_reads(world, SLICE_maps)
                   ? world_in(world, SLICE_maps)
                   : arg_buffer(ARG_IN, ELEMENT_C64, coils.slice.as.m);
  return coils;
}

size_t solve_rows(const struct simulation *simulation) {
  return simulation->pass.images * (simulation->solver->apart ? simulation->solver->sets : 1);
}

/* From one image of a set or a scan to the next, for kernels/sets.cl. */
struct steps {
  struct arg sets, scan, set;
};

static struct steps steps_of(const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  uint32_t sets = (uint32_t)solver->sets, scans = (uint32_t)simulation->pass.images;
  return (struct steps){arg_u32(sets), arg_u32(solver->apart ? 1 : sets), arg_u32(solver->apart ? scans : 1)};
}

static void combine_sets(struct world *world, const struct simulation *simulation, const struct coils *coils,
                         struct arg image, bool roll_rows, bool roll_columns) {
  const struct solver *solver = simulation->solver;
  const struct steps steps = steps_of(simulation);
  kernel_run(world_kernels(world), "sets_combine", simulation->pass.images * solver->sets,
             ARGS(coils->slice, coils->coils, coils->maps, SOLVE_IN(solver, PLANES), image,
                  arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)solver->coils), steps.sets, steps.scan, steps.set,
                  arg_u32((uint32_t)solver->height), arg_u32((uint32_t)solver->width), arg_u32(roll_rows),
                  arg_u32(roll_columns)));
}

static void combine(struct world *world, const struct simulation *simulation, const struct coils *coils,
                    struct arg image, bool roll_rows, bool roll_columns) {
  const struct solver *solver = simulation->solver;
  if (solver->sets > 1) {
    combine_sets(world, simulation, coils, image, roll_rows, roll_columns);
    return;
  }
  kernel_run(world_kernels(world), "solve_combine", simulation->pass.images,
             ARGS(coils->slice, coils->coils, coils->maps, SOLVE_IN(solver, PLANES), image,
                  arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)solver->coils), arg_u32(solver->mapped),
                  arg_u32((uint32_t)solver->height), arg_u32((uint32_t)solver->width), arg_u32(roll_rows),
                  arg_u32(roll_columns)));
}

static void spread_sets(struct world *world, const struct simulation *simulation, const struct coils *coils) {
  const struct solver *solver = simulation->solver;
  const struct steps steps = steps_of(simulation);
  kernel_run(world_kernels(world), "sets_spread", simulation->pass.images * solver->coils,
             ARGS(coils->slice, coils->coils, coils->maps, SOLVE_IN(solver, PRODUCT), SOLVE_OUT(solver, PLANES),
                  arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)solver->coils), steps.sets, steps.scan, steps.set,
                  arg_u32((uint32_t)solver->pixels)));
}

static void spread_images(struct world *world, const struct simulation *simulation, const struct coils *coils) {
  const struct solver *solver = simulation->solver;
  if (solver->sets > 1) {
    spread_sets(world, simulation, coils);
    return;
  }
  kernel_run(world_kernels(world), "solve_spread", simulation->pass.images * solver->coils,
             ARGS(coils->slice, coils->coils, coils->maps, SOLVE_IN(solver, PRODUCT), SOLVE_OUT(solver, PLANES),
                  arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)solver->coils),
                  arg_u32((uint32_t)solver->pixels)));
}

static unsigned kspace_of(const struct world *world) {
  static const unsigned columns[] = {SLICE_hybrid, SLICE_kspace, SLICE_coil_hybrid, SLICE_coil_kspace};
  for (size_t i = 0; i < 3; i++)
    if (world_reads(world, columns[i])) return columns[i];
  return columns[3];
}

static struct arg list_of(const struct solver *solver, enum arg_kind kind, enum solve_buffer buffer) {
  return solve_arg(solver, kind, ELEMENT_U32, buffer);
}

/* A^H A of `image`; of data, A^H y. */
static void run_listed(struct world *world, const struct simulation *simulation, enum solve_buffer image,
                       enum solve_buffer product, bool measured) {
  const struct solver *solver = simulation->solver;
  const struct coils coils = coils_of(world);
  bool differs = solver->options->reconstruct.method == RECONSTRUCT_TV;
  struct arg hybrid = measured ? arg_unnamed(world_in(world, kspace_of(world)))
                               : arg_buffer(ARG_IN, ELEMENT_C64, coils.slice.as.m);
  kernel_run(world_kernels(world), "hybrid_normal", simulation->pass.images * blocks_of(solver),
             ARGS(coils.slice, coils.coils, list_of(solver, ARG_IN, measured ? SOLVE_LINES : SOLVE_OTHERS),
                  list_of(solver, ARG_IN, measured ? SOLVE_STARTS : SOLVE_OTHER_STARTS), hybrid, coils.maps,
                  world_in(world, SCENE_phase), solve_arg(solver, ARG_IN, ELEMENT_C64, image),
                  solve_arg(solver, ARG_INOUT, ELEMENT_C64, product), SOLVE_INOUT(solver, PARTS),
                  solve_arg(solver, ARG_IN, ELEMENT_F128, SOLVE_COUNTS),
                  arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)solver->coils), arg_u32(solver->mapped),
                  arg_u32(measured), arg_u32(differs)));
}

static void list_lines(struct world *world, const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  const enum solve_buffer lines[] = {SOLVE_LINES, SOLVE_OTHERS}, starts[] = {SOLVE_STARTS, SOLVE_OTHER_STARTS};
  for (uint32_t lesser = 0; lesser < 2; lesser++)
    kernel_run(world_kernels(world), "hybrid_list", simulation->pass.images,
               ARGS(world_in(world, ENV_mask), list_of(solver, ARG_OUT, lines[lesser]),
                    list_of(solver, ARG_OUT, starts[lesser]), arg_u32((uint32_t)simulation->pass.first), arg_u32(lesser)));
}

void solve_normal(struct world *world, const struct simulation *simulation, enum solve_buffer image) {
  struct solver *solver = simulation->solver;
  if (solver->listed) {
    run_listed(world, simulation, image, SOLVE_PRODUCT, false);
    return;
  }
  struct fft *fft = solver->lines ? &solver->rows : &solver->data;
  cl_mem planes = solver->buffer[SOLVE_PLANES];
  struct coils coils = {0};
  if (solver->mapped) {
    coils = coils_of(world);
    spread_images(world, simulation, &coils);
  }
  fft_run(fft, FFT_FORWARD, planes);
  kernel_run(world_kernels(world), "solve_keep", simulation->pass.images * solver->coils,
             ARGS(solve_arg(solver, ARG_IN, ELEMENT_U8, SOLVE_TAKEN), SOLVE_INOUT(solver, PLANES),
                  arg_u32((uint32_t)solver->coils), arg_u32((uint32_t)solver->pixels)));
  fft_run(fft, FFT_INVERSE, planes);
  if (solver->mapped) combine(world, simulation, &coils, SOLVE_OUT(solver, PRODUCT), false, false);
}

/* ---- systems -------------------------------------------------------------------------------------------- */

static bool next_scans(struct world *world, void *context, size_t turn) {
  struct simulation *simulation = context;
  return pass_take(&simulation->pass, turn, world_rows(world, TABLE_ENV), simulation->solver->chunk);
}

const struct system system_repeat_solve = {.name = "passes",
                                           .doc = "scans that are solved for at a time",
                                           .covers = TABLE_BIT(TABLE_ENV),
                                           .next = next_scans};

static void run_scale(struct world *world, const struct simulation *simulation, const struct coils *coils,
                      struct arg kspace) {
  const struct solver *solver = simulation->solver;
  kernel_run(world_kernels(world), "solve_scale", simulation->pass.images,
             ARGS(coils->slice, coils->coils, kspace, solve_arg(solver, ARG_IN, ELEMENT_U8, SOLVE_TAKEN),
                  solve_arg(solver, ARG_OUT, ELEMENT_F32, SOLVE_SCALE), arg_u32((uint32_t)simulation->pass.first),
                  arg_u32((uint32_t)solver->coils), arg_u32(solver->mapped), arg_u32((uint32_t)solver->height),
                  arg_u32((uint32_t)solver->width), arg_u32(solver->hybrid)));
  size_t bytes = sizeof(float) * simulation->pass.images;
  for (size_t set = 1; solver->apart && set < solver->sets; set++)
    device_copy(solver->device, solver->buffer[SOLVE_SCALE], 0, solver->buffer[SOLVE_SCALE], set * bytes, bytes);
}

static void gather(struct world *world, const struct simulation *simulation, const struct coils *coils, struct arg kspace) {
  struct solver *solver = simulation->solver;
  kernel_run(world_kernels(world), "solve_gather", simulation->pass.images * solver->coils,
             ARGS(coils->slice, coils->coils, kspace, solve_arg(solver, ARG_IN, ELEMENT_U8, SOLVE_TAKEN),
                  SOLVE_OUT(solver, PLANES), arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)solver->coils),
                  arg_u32(solver->coils > 1 || solver->mapped), arg_u32((uint32_t)solver->height),
                  arg_u32((uint32_t)solver->width), arg_u32(solver->hybrid)));
}

static void mark(struct world *world, const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  size_t actions = world_shape(world, SHAPE_A);
  kernel_run(world_kernels(world), "solve_mark", simulation->pass.images,
             ARGS(world_in(world, ENV_mask), world_in(world, SCENE_cells),
                  solve_arg(solver, ARG_OUT, ELEMENT_U8, SOLVE_TAKEN), arg_u32((uint32_t)simulation->pass.first),
                  arg_u32((uint32_t)actions), arg_u32((uint32_t)(world_shape(world, SHAPE_AC) / actions)),
                  arg_u32((uint32_t)solver->pixels)));
}

static void run_data(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct solver *solver = simulation->solver;
  const struct coils coils = coils_of(world);
  const struct arg kspace = arg_unnamed(world_in(world, kspace_of(world)));
  mark(world, simulation);
  if (solver->listed) {
    list_lines(world, simulation);
    run_listed(world, simulation, SOLVE_SOLUTION, SOLVE_RIGHT, true);
  } else {
    gather(world, simulation, &coils, kspace);
    fft_run(solver->hybrid ? &solver->rows : &solver->data, FFT_INVERSE, solver->buffer[SOLVE_PLANES]);
    combine(world, simulation, &coils, SOLVE_OUT(solver, RIGHT), !solver->hybrid, true);
  }
  if (solver->options->reconstruct.method != RECONSTRUCT_CG_SENSE) run_scale(world, simulation, &coils, kspace);
  world_touch(world, 0, SET(RECONSTRUCTOR_data));
}

/* The list adds the k-space that there is, and maps (systems/scan/reconstruction_lists.c). */
const struct system system_solve_data = {
    .name = "solve_data",
    .doc = "the acquired data as an image, and its brightness",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SCENE_cells),
    .writes = SET(RECONSTRUCTOR_data),
    .kernels = {"solve_mark", "solve_gather", "solve_combine", "solve_scale"},
    .run = run_data};

static void weigh(struct world *world, const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  size_t actions = world_shape(world, SHAPE_A);
  kernel_run(world_kernels(world), "solve_density", simulation->pass.images,
             ARGS(world_in(world, ENV_mask), world_in(world, SCENE_cells),
                  solve_arg(solver, ARG_IN, ELEMENT_U8, SOLVE_TAKEN), solve_arg(solver, ARG_OUT, ELEMENT_F32, SOLVE_WEIGHTS),
                  arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)actions),
                  arg_u32((uint32_t)(world_shape(world, SHAPE_AC) / actions)), arg_u32((uint32_t)solver->height),
                  arg_u32((uint32_t)solver->width)));
  kernel_run(world_kernels(world), "solve_weigh", simulation->pass.images * solver->coils,
             ARGS(solve_arg(solver, ARG_IN, ELEMENT_F32, SOLVE_WEIGHTS), SOLVE_INOUT(solver, PLANES),
                  arg_u32((uint32_t)solver->coils), arg_u32((uint32_t)solver->pixels)));
}

static void run_compensate(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct solver *solver = simulation->solver;
  const struct coils coils = coils_of(world);
  mark(world, simulation);
  gather(world, simulation, &coils, arg_unnamed(world_in(world, kspace_of(world))));
  weigh(world, simulation);
  fft_run(&solver->data, FFT_INVERSE, solver->buffer[SOLVE_PLANES]);
  kernel_run(world_kernels(world), "solve_magnitude", simulation->pass.images,
             ARGS(coils.slice, coils.coils, coils.maps, SOLVE_IN(solver, PLANES), SOLVE_OUT(solver, SOLUTION),
                  arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)solver->coils), arg_u32(solver->mapped),
                  arg_u32((uint32_t)solver->height), arg_u32((uint32_t)solver->width)));
  world_touch(world, 0, SET(RECONSTRUCTOR_solution));
}

/* The list adds the k-space that there is, and maps where coils are combined by them. */
const struct system system_compensate = {
    .name = "compensate",
    .doc = "the zero-filled image, of cells by the area of k-space that they stand for",
    .reads = SET(ENV_slice) | SET(ENV_mask) | SET(SCENE_cells),
    .writes = SET(RECONSTRUCTOR_solution),
    .kernels = {"solve_mark", "solve_gather", "solve_density", "solve_weigh", "solve_magnitude"},
    .run = run_compensate};

/* Of a row. */
static size_t values_of(const struct solver *solver) {
  return solver->pixels * (solver->apart ? 1 : solver->sets);
}

void solve_begin(struct world *world, const struct simulation *simulation, double inner, double threshold) {
  const struct solver *solver = simulation->solver;
  world_touch(world, SET(RECONSTRUCTOR_data), SET(RECONSTRUCTOR_solution));
  kernel_run(world_kernels(world), "solve_begin", solve_rows(simulation),
             ARGS(SOLVE_IN(solver, RIGHT), solve_arg(solver, ARG_IN, ELEMENT_F32, SOLVE_SCALE),
                  SOLVE_OUT(solver, SOLUTION), SOLVE_OUT(solver, RESIDUAL), SOLVE_OUT(solver, DIRECTION),
                  SOLVE_OUT(solver, PRODUCT), solve_arg(solver, ARG_OUT, ELEMENT_F128, SOLVE_VALUES),
                  solve_arg(solver, ARG_OUT, ELEMENT_F128, SOLVE_COUNTS), arg_f32((float)inner),
                  arg_f32((float)threshold), arg_f32((float)solver->options->reconstruct.tolerance),
                  arg_u32((uint32_t)values_of(solver))));
}

#define SOLVES .reads = SET(RECONSTRUCTOR_data), .writes = SET(RECONSTRUCTOR_solution)

static void run_cg(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct solver *solver = simulation->solver;
  solve_begin(world, simulation, fmax(solver->options->reconstruct.tolerance, least_tolerance), 0);
  for (uint32_t i = 0; i < solver->options->reconstruct.iterations; i++) {
    solve_normal(world, simulation, SOLVE_DIRECTION);
    kernel_run(world_kernels(world), "solve_conjugate", simulation->pass.images,
               ARGS(SOLVE_INOUT(solver, PRODUCT), SOLVE_INOUT(solver, DIRECTION), SOLVE_INOUT(solver, SOLUTION),
                    SOLVE_INOUT(solver, RESIDUAL), SOLVE_IN(solver, PARTS),
                    solve_arg(solver, ARG_INOUT, ELEMENT_F128, SOLVE_VALUES),
                    solve_arg(solver, ARG_INOUT, ELEMENT_F128, SOLVE_COUNTS),
                    arg_f32((float)solver->options->reconstruct.weight), arg_u32((uint32_t)values_of(solver)),
                    arg_u32((uint32_t)blocks_of(solver))));
  }
}

const struct system system_solve_cg = {.name = "solve_cg",
                                       .doc = "least squares by conjugate gradients",
                                       SOLVES,
                                       .kernels = {"solve_begin", "solve_conjugate"},
                                       .run = run_cg};

static void run_total(struct world *world, const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  kernel_run(world_kernels(world), "solve_total", simulation->pass.images,
             ARGS(SOLVE_IN(solver, RIGHT), SOLVE_INOUT(solver, PRODUCT), SOLVE_INOUT(solver, DIRECTION),
                  SOLVE_INOUT(solver, SOLUTION), SOLVE_INOUT(solver, RESIDUAL), SOLVE_INOUT(solver, SIDE),
                  SOLVE_INOUT(solver, SPLIT), SOLVE_INOUT(solver, DUAL),
                  SOLVE_IN(solver, PARTS),
                  solve_arg(solver, ARG_INOUT, ELEMENT_F128, SOLVE_VALUES),
                  solve_arg(solver, ARG_INOUT, ELEMENT_F128, SOLVE_COUNTS), arg_u32((uint32_t)solver->sets),
                  arg_u32((uint32_t)solver->height), arg_u32((uint32_t)solver->width),
                  arg_f32((float)solver->options->reconstruct.rho),
                  arg_u32(solver->options->reconstruct.iterations), arg_u32((uint32_t)blocks_of(solver))));
}

/* All steps of the scans at once. */
static void run_whole(struct world *world, const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  const struct options *options = solver->options;
  world_touch(world, SET(RECONSTRUCTOR_data), SET(RECONSTRUCTOR_solution));
  kernel_variant_run(world_kernels(world), &solver->total, simulation->pass.images,
                     ARGS(solve_arg(solver, ARG_IN, ELEMENT_U8, SOLVE_TAKEN), SOLVE_IN(solver, RIGHT),
                          solve_arg(solver, ARG_IN, ELEMENT_F32, SOLVE_SCALE), SOLVE_OUT(solver, SOLUTION),
                          solve_arg(solver, ARG_INOUT, ELEMENT_F128, SOLVE_SPLIT),
                          solve_arg(solver, ARG_INOUT, ELEMENT_F128, SOLVE_DUAL),
                          arg_f32((float)(options->reconstruct.weight / options->reconstruct.rho)),
                          arg_f32((float)options->reconstruct.rho), arg_f32((float)options->reconstruct.tolerance),
                          arg_u32(options->reconstruct.iterations)));
}

/* A scan's last round begins with at most all of its iterations, and has at most INNER_STEPS more. */
static void run_tv(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct solver *solver = simulation->solver;
  struct device *device = solver->device;
  double rho = solver->options->reconstruct.rho;
  if (solver->whole) {
    run_whole(world, simulation);
    return;
  }
  solve_begin(world, simulation, inner_tolerance, solver->options->reconstruct.weight / rho);
  device_copy(device, solver->buffer[SOLVE_RIGHT], 0, solver->buffer[SOLVE_SIDE], 0, solver->bytes[SOLVE_SIDE]);
  device_fill(device, solver->buffer[SOLVE_SPLIT], 0, solver->bytes[SOLVE_SPLIT], 0);
  device_fill(device, solver->buffer[SOLVE_DUAL], 0, solver->bytes[SOLVE_DUAL], 0);
  for (uint32_t i = 0; i < solver->options->reconstruct.iterations + INNER_STEPS; i++) {
    solve_normal(world, simulation, SOLVE_DIRECTION);
    run_total(world, simulation);
  }
}

const struct system system_solve_tv = {.name = "solve_tv",
                                       .doc = "least squares with total variation, by alternating directions",
                                       SOLVES,
                                       .kernels = {"solve_begin", "solve_total"},
                                       .run = run_tv};

const struct system system_solve_wavelet = {
    .name = "solve_wavelet",
    .doc = "least squares with sparse wavelets, by accelerated proximal gradients",
    SOLVES,
    .kernels = {"solve_part", "solve_join", "solve_momentum", "solve_descend"},
    .run = solve_run_wavelet};

static void store_sets(struct world *world, const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  const struct steps steps = steps_of(simulation);
  kernel_run(world_kernels(world), "sets_store", simulation->pass.images,
             ARGS(world_in(world, ENV_slice), SOLVE_IN(solver, SOLUTION), world_in(world, SLICE_unit),
                  world_part(world, ENV_reconstruction), solve_arg(solver, ARG_INOUT, ELEMENT_U32, SOLVE_REFUSED),
                  arg_u32((uint32_t)simulation->pass.first), steps.sets, steps.scan, steps.set, arg_u32((uint32_t)solver->pixels)));
}

static void run_store(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct solver *solver = simulation->solver;
  world_touch(world, SET(RECONSTRUCTOR_solution), 0);
  if (solver->sets > 1) {
    store_sets(world, simulation);
    return;
  }
  kernel_run(world_kernels(world), "solve_store", simulation->pass.images,
             ARGS(world_in(world, ENV_slice), SOLVE_IN(solver, SOLUTION), world_in(world, SLICE_unit),
                  world_part(world, ENV_reconstruction), solve_arg(solver, ARG_INOUT, ELEMENT_U32, SOLVE_REFUSED),
                  arg_u32((uint32_t)simulation->pass.first), arg_u32((uint32_t)solver->pixels)));
}

const struct system system_solve_store = {.name = "solve_store",
                                          .doc = "the solution's magnitude in units of the image",
                                          .reads = SET(ENV_slice) | SET(SLICE_unit) |
                                                   SET(RECONSTRUCTOR_solution),
                                          .parts = SET(ENV_reconstruction),
                                          .kernels = {"solve_store"},
                                          .run = run_store};
