/* Wavelets of all scans of a chunk, and the steps between their shrinkages. */
#include "systems/scan/solve.h"

#include <math.h>

enum { LEAST = 16 }; /* values of an axis that is split */
static const double step = 0.95; /* of the gradient: A^H A has no eigenvalue above 1 */

/* ---- levels --------------------------------------------------------------------------------------------- */

static size_t band_of(size_t length) {
  return (length + 3) / 2;
}

static struct solve_level level_of(const struct solver *solver, size_t height, size_t width) {
  struct solve_level level = {.height = height,
                              .width = width,
                              .band_height = height >= LEAST ? band_of(height) : height,
                              .band_width = width >= LEAST ? band_of(width) : width,
                              .rows = height >= LEAST,
                              .columns = width >= LEAST};
  level.bands.pitch = level.columns ? 2 * level.band_width : width;
  level.bands.first = solver->band_values;
  return level;
}

void solve_find_levels(struct solver *solver) {
  size_t height = solver->height, width = solver->width;
  while (height >= LEAST || width >= LEAST) {
    struct solve_level level = level_of(solver, height, width);
    REQUIRE(solver->levels < SOLVE_LEVELS, "wavelets of %zu x %zu", solver->height, solver->width);
    solver->level[solver->levels++] = level;
    solver->band_values += level.bands.pitch * (level.rows ? 2 * level.band_height : height);
    if (height * level.bands.pitch > solver->half_values) solver->half_values = height * level.bands.pitch;
    height = level.band_height;
    width = level.band_width;
  }
  for (size_t l = 0; l < solver->levels; l++) solver->level[l].bands.size = solver->band_values;
}

/* ---- one axis ------------------------------------------------------------------------------------------- */

/* An image of a scan: memory, and where it lies in it. */
struct place {
  enum solve_buffer buffer;
  struct solve_layout layout;
};

static struct place image_of(const struct solver *solver) {
  return (struct place){SOLVE_DIRECTION, {solver->width, 0, solver->pixels}};
}

static struct place bands_of(const struct solve_level *level) {
  return (struct place){SOLVE_BANDS, level->bands};
}

static struct place half_of(const struct solver *solver, const struct solve_level *level) {
  return (struct place){SOLVE_HALF, {level->bands.pitch, 0, solver->half_values}};
}

static void part(struct world *world, const struct simulation *simulation, struct place from, struct place to, bool down,
                 size_t height, size_t width) {
  const struct solver *solver = simulation->solver;
  size_t lines = down ? band_of(height) : height;
  kernel_run(world_kernels(world), "solve_part", solve_rows(simulation) * lines,
             ARGS(solve_arg(solver, ARG_IN, ELEMENT_C64, from.buffer), solve_arg(solver, ARG_OUT, ELEMENT_C64, to.buffer),
                  arg_u32(down), arg_u32((uint32_t)height), arg_u32((uint32_t)width),
                  arg_u32((uint32_t)from.layout.pitch), arg_u32((uint32_t)from.layout.first),
                  arg_u32((uint32_t)from.layout.size), arg_u32((uint32_t)to.layout.pitch),
                  arg_u32((uint32_t)to.layout.first), arg_u32((uint32_t)to.layout.size)));
}

/* shrinks: on the way all coefficients but those within keep_rows and keep_columns. */
static void join(struct world *world, const struct simulation *simulation, struct place from, struct place to, bool down,
                 size_t height, size_t width, bool shrinks, size_t keep_rows, size_t keep_columns) {
  const struct solver *solver = simulation->solver;
  kernel_run(world_kernels(world), "solve_join", solve_rows(simulation) * height,
             ARGS(solve_arg(solver, ARG_IN, ELEMENT_C64, from.buffer),
                  solve_arg(solver, ARG_IN, ELEMENT_F128, SOLVE_VALUES),
                  solve_arg(solver, ARG_OUT, ELEMENT_C64, to.buffer), arg_u32(down), arg_u32((uint32_t)height),
                  arg_u32((uint32_t)width), arg_u32((uint32_t)from.layout.pitch), arg_u32((uint32_t)from.layout.first),
                  arg_u32((uint32_t)from.layout.size), arg_u32((uint32_t)to.layout.pitch),
                  arg_u32((uint32_t)to.layout.first), arg_u32((uint32_t)to.layout.size), arg_f32(shrinks),
                  arg_u32((uint32_t)keep_rows), arg_u32((uint32_t)keep_columns)));
}

/* ---- the shrinkage -------------------------------------------------------------------------------------- */

static void analyse(struct world *world, const struct simulation *simulation, const struct solve_level *level,
                    struct place from) {
  struct place half = half_of(simulation->solver, level), bands = bands_of(level);
  if (level->columns) part(world, simulation, from, level->rows ? half : bands, false, level->height, level->width);
  if (level->rows)
    part(world, simulation, level->columns ? half : from, bands, true, level->height, level->bands.pitch);
}

static void synthesise(struct world *world, const struct simulation *simulation, const struct solve_level *level,
                       struct place to, bool last) {
  struct place half = half_of(simulation->solver, level), bands = bands_of(level);
  size_t keep_rows = last ? 0 : level->band_height, keep_columns = last ? 0 : level->band_width;
  if (level->rows)
    join(world, simulation, bands, level->columns ? half : to, true, level->height, level->bands.pitch, true, keep_rows,
         keep_columns);
  if (level->columns)
    join(world, simulation, level->rows ? half : bands, to, false, level->height, level->width, !level->rows, keep_rows,
         keep_columns);
}

/* Shrinks the wavelet coefficients of the image that is moved, in place. */
static void shrink(struct world *world, const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  for (size_t l = 0; l < solver->levels; l++)
    analyse(world, simulation, &solver->level[l], l ? bands_of(&solver->level[l - 1]) : image_of(solver));
  for (size_t l = solver->levels; l-- > 0;)
    synthesise(world, simulation, &solver->level[l], l ? bands_of(&solver->level[l - 1]) : image_of(solver),
               l + 1 == solver->levels);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

struct shift {
  uint32_t down, right;
};

/* Wavelets of all levels come back after 2^levels pixels. The same for all scans. */
static struct shift shift_of(const struct solver *solver, uint32_t iteration) {
  struct random random;
  uint32_t period = 1u << solver->levels;
  if (!solver->options->reconstruct.shifts || !iteration || iteration >= solver->options->reconstruct.iterations)
    return (struct shift){0, 0};
  random_start(&random, solver->options->world.seed, STREAM_SHIFT, iteration);
  uint32_t down = random_u32(&random) % period, right = random_u32(&random) % period;
  return (struct shift){down % (uint32_t)solver->height, right % (uint32_t)solver->width};
}

static void run_momentum(struct world *world, const struct simulation *simulation, double factor, struct shift shift) {
  const struct solver *solver = simulation->solver;
  kernel_run(world_kernels(world), "solve_momentum", solve_rows(simulation),
             ARGS(arg_buffer(ARG_IN, ELEMENT_C64, solver->buffer[SOLVE_DIRECTION]),
                  solve_arg(solver, ARG_IN, ELEMENT_F128, SOLVE_VALUES),
                  solve_arg(solver, ARG_INOUT, ELEMENT_F128, SOLVE_COUNTS), SOLVE_INOUT(solver, RESIDUAL),
                  SOLVE_INOUT(solver, SOLUTION), SOLVE_INOUT(solver, PRODUCT), arg_f32((float)factor),
                  arg_u32((uint32_t)solver->height), arg_u32((uint32_t)solver->width), arg_u32(shift.down),
                  arg_u32(shift.right)));
}

static void run_descend(struct world *world, const struct simulation *simulation, struct shift shift) {
  const struct solver *solver = simulation->solver;
  kernel_run(world_kernels(world), "solve_descend", solve_rows(simulation),
             ARGS(SOLVE_IN(solver, PRODUCT), SOLVE_IN(solver, RIGHT), SOLVE_INOUT(solver, SOLUTION),
                  SOLVE_INOUT(solver, DIRECTION), solve_arg(solver, ARG_INOUT, ELEMENT_F128, SOLVE_COUNTS),
                  arg_f32((float)step), arg_u32((uint32_t)solver->height), arg_u32((uint32_t)solver->width),
                  arg_u32(shift.down), arg_u32(shift.right)));
}

/* From 0: the image that is shrunk, and the last one. */
static void begin(struct world *world, const struct simulation *simulation) {
  const struct solver *solver = simulation->solver;
  solve_begin(world, simulation, 0, solver->options->reconstruct.weight * step);
  device_fill(solver->device, solver->buffer[SOLVE_DIRECTION], 0, solver->bytes[SOLVE_DIRECTION], 0);
  device_fill(solver->device, solver->buffer[SOLVE_RESIDUAL], 0, solver->bytes[SOLVE_RESIDUAL], 0);
}

void solve_run_wavelet(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct solver *solver = simulation->solver;
  double t = 1;
  begin(world, simulation);
  for (uint32_t i = 0; i < solver->options->reconstruct.iterations; i++) {
    double next = (1 + sqrt(1 + 4 * t * t)) / 2;
    shrink(world, simulation);
    run_momentum(world, simulation, (t - 1) / next, shift_of(solver, i));
    solve_normal(world, simulation, SOLVE_SOLUTION);
    run_descend(world, simulation, shift_of(solver, i + 1));
    t = next;
  }
}
