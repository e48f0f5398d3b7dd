#include "systems/scan/planes.h"

#include "kernels/kernels.h"
#include "systems/networks/coil_view.h"
#include "systems/scan/observation.h"
#include "systems/scan/systems.h"

static bool given_kspace(const struct options *options) {
  return options->reconstruct.input != GIVEN_OBSERVATION;
}

static component_set kspace_of(const struct options *options) {
  return observation_chosen(options)->kspace & ~SET(SLICE_maps);
}

/* Maps are of coils that are told apart. */
static bool has_maps(const struct options *options) {
  return (kspace_of(options) & SET(SLICE_coil_kspace)) && options->coils.maps != MAPS_NONE;
}

size_t planes_coils(const struct simulation *simulation) {
  size_t shape[SHAPES_MOST];
  if (!given_kspace(simulation->options)) return 0;
  if (!(kspace_of(simulation->options) & SET(SLICE_coil_kspace))) return 1;
  simulation_shapes(simulation->options, simulation->plan.coils, shape);
  return shape[SHAPE_CHW] / shape[SHAPE_HW];
}

component_set planes_kspace_reads(const struct options *options) {
  return SET(ENV_slice) | SET(ENV_mask) | SET(SCENE_cells) | SET(SLICE_unit) | kspace_of(options);
}

component_set planes_maps_reads(const struct options *options) {
  component_set coils = kspace_of(options) & SET(SLICE_coils);
  return SET(ENV_slice) | SET(SLICE_unit) | coils | (has_maps(options) ? SET(SLICE_maps) : 0);
}

component_set planes_reads(const struct options *options) {
  component_set reads = given_kspace(options) ? planes_kspace_reads(options) : 0;
  return reads | (options->reconstruct.input == GIVEN_MAPS ? planes_maps_reads(options) : 0);
}

bool planes_need(struct kernels *kernels, struct error *error) {
  return kernel_need(kernels, "solve_mark", error) && kernel_need(kernels, "view_planes", error);
}

static void view(struct world *world, const struct simulation *simulation, cl_mem taken, struct arg values, cl_mem planes,
                 size_t first, size_t scans, enum view_form form) {
  struct arg slice = world_in(world, ENV_slice);
  size_t coils = planes_coils(simulation);
  struct arg count = coil_view_column(world, SLICE_coils, ELEMENT_U32, slice);
  kernel_run(world_kernels(world), "view_planes", scans * coils,
             ARGS(slice, arg_buffer(ARG_IN, ELEMENT_U8, taken), count, values, world_in(world, SLICE_unit),
                  arg_buffer(ARG_OUT, ELEMENT_C64, planes), arg_u32((uint32_t)world_height(world)),
                  arg_u32((uint32_t)world_width(world)), arg_u32((uint32_t)first), arg_u32((uint32_t)coils),
                  arg_u32((uint32_t)coils), arg_u32(form)));
}

void planes_kspace(struct world *world, const struct simulation *simulation, cl_mem taken, cl_mem planes, size_t first,
                   size_t scans) {
  size_t actions = world_shape(world, SHAPE_A), entries = world_shape(world, SHAPE_AC) / actions;
  kernel_run(world_kernels(world), "solve_mark", scans,
             ARGS(world_in(world, ENV_mask), world_in(world, SCENE_cells), arg_buffer(ARG_OUT, ELEMENT_U8, taken),
                  arg_u32((uint32_t)first), arg_u32((uint32_t)actions), arg_u32((uint32_t)entries),
                  arg_u32((uint32_t)world_shape(world, SHAPE_HW))));
  view(world, simulation, taken, coil_view_values(world), planes, first, scans, FORM_KSPACE);
}

void planes_maps(struct world *world, const struct simulation *simulation, cl_mem planes, size_t first, size_t scans) {
  struct arg slice = world_in(world, ENV_slice);
  bool maps = world_reads(world, SLICE_maps);
  view(world, simulation, slice.as.m, coil_view_column(world, SLICE_maps, ELEMENT_C64, slice), planes, first, scans,
       maps ? FORM_MAPS : FORM_ONES);
}
