#include "systems/scan/observation.h"

#include "components/scan_shape.h"
#include "kernels/kernels.h"
#include "systems/coils/simulated.h"
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
  /* The variational network and programs take k-space on both axes. */
  bool whole = options->reconstruct.method == RECONSTRUCT_VARNET || options->reconstruct.input != GIVEN_OBSERVATION;
  bool hybrid = geometry_chosen(options)->columns && !whole;
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
