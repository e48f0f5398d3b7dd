#include "systems/scan/observation.h"

#include "components/scan_shape.h"
#include "kernels/kernels.h"
#include "systems/coils/simulated.h"
#include "systems/networks/loss.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/systems.h"

static const struct observation of_columns = {
    .kspace = SET(SLICE_hybrid), .observe = &system_observe, .open = observe_open, .rank_one = true};
static const struct observation of_cells = {
    .kspace = SET(SLICE_kspace), .observe = &system_observe_cells, .open = observe_cells_open, .cells = true};
static const struct observation of_coils = {.kspace = SET(SLICE_coil_kspace) | SET(SLICE_coils),
                                            .observe = &system_observe_coils,
                                            .open = observe_coils_open,
                                            .cells = true};
static const struct observation of_maps = {.kspace = SET(SLICE_coil_kspace) | SET(SLICE_coils) | SET(SLICE_maps),
                                           .observe = &system_observe_maps,
                                           .open = observe_maps_open,
                                           .cells = true};
static const struct observation of_coil_lines = {.kspace = SET(SLICE_coil_hybrid) | SET(SLICE_coils),
                                                 .loaded = SET(SLICE_coil_kspace),
                                                 .observe = &system_observe_coil_lines,
                                                 .open = observe_hybrid_open};
static const struct observation of_map_lines = {
    .kspace = SET(SLICE_coil_hybrid) | SET(SLICE_coils) | SET(SLICE_maps),
    .loaded = SET(SLICE_coil_kspace),
    .observe = &system_observe_map_lines,
    .open = observe_hybrid_open};
static const struct observation of_complex = {.kspace = SET(SLICE_kspace), .open = observe_complex_open};
static const struct observation of_complex_coil = {.kspace = SET(SLICE_coil_kspace), .open = observe_complex_open};

const struct observation *observation_chosen(const struct options *options) {
  bool coils = simulated_or_measured(options);
  if (options->network.input == INPUT_COMPLEX) return coils ? &of_complex_coil : &of_complex;
  const struct scan_shape shape = scan_shape_of(options);
  /* The variational network, programs and sets of maps take k-space on both axes. */
  bool whole = options->reconstruct.method == RECONSTRUCT_VARNET || options->reconstruct.input != GIVEN_OBSERVATION;
  bool hybrid = geometry_chosen(options)->columns && !whole && options->coils.sets == 1;
  if (coils && hybrid && hybrid_fits(shape.height, shape.width))
    return options->coils.combine == COMBINE_MAPS ? &of_map_lines : &of_coil_lines;
  if (coils) return options->coils.combine == COMBINE_MAPS ? &of_maps : &of_coils;
  return hybrid ? &of_columns : &of_cells;
}

bool observation_lists(const struct options *options) {
  const struct scan_shape shape = scan_shape_of(options);
  component_set hybrid = SET(SLICE_hybrid) | SET(SLICE_coil_hybrid);
  return (observation_chosen(options)->kspace & hybrid) && hybrid_fits(shape.height, shape.width);
}

/* ---- shapes of columns ---------------------------------------------------------------------------------- */

static bool has_complex_input(const struct options *options) {
  return options->network.input == INPUT_COMPLEX;
}

void simulation_shapes(const struct options *options, size_t coils, size_t shape[SHAPES_MOST]) {
  const struct scan_shape scan = scan_shape_of(options);
  size_t pixels = scan_shape_pixels(&scan);
  shape[SHAPE_ONE] = 1;
  shape[SHAPE_H] = scan.height;
  shape[SHAPE_W] = scan.width;
  shape[SHAPE_A] = scan.actions;
  shape[SHAPE_HW] = pixels;
  shape[SHAPE_CHW] = coils * pixels;
  shape[SHAPE_MHW] = options->coils.sets * coils * pixels;
  bool varnet = options->reconstruct.method == RECONSTRUCT_VARNET;
  shape[SHAPE_IHW] = (varnet ? 2 * (coils ? coils : 1) : has_complex_input(options) ? 2 : 1) * pixels;
  shape[SHAPE_WL] = (size_t)scan.width * (scan.width + 1);
  shape[SHAPE_T] = loss_tiles(scan.height, scan.width);
  shape[SHAPE_AC] = scan.actions * geometry_cells(&scan);
}
