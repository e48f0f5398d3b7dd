#include "systems/networks/coil_view.h"

#include "components/components.h"

struct arg coil_view_column(struct world *world, unsigned column, enum element element, struct arg other) {
  return world_reads(world, column) ? arg_unnamed(world_in(world, column)) : arg_buffer(ARG_IN, element, other.as.m);
}

size_t coil_view_stride(const struct world *world) {
  bool coils = world_reads(world, SLICE_coil_kspace);
  return coils ? world_shape(world, SHAPE_CHW) / world_shape(world, SHAPE_HW) : 1;
}

struct arg coil_view_values(struct world *world) {
  return arg_unnamed(world_in(world, world_reads(world, SLICE_coil_kspace) ? SLICE_coil_kspace : SLICE_kspace));
}

static void view_coils(struct world *world, const struct coil_view *view, struct arg values, cl_mem planes,
                       enum view_form form) {
  const struct net_varnet_setup *net = view->net;
  bool masked = form == FORM_KSPACE && view->mask.kind != ARG_END;
  kernel_run(world_kernels(world), "view_coils", view->images * (size_t)net->coils,
             ARGS(view->slice, masked ? view->mask : arg_buffer(ARG_IN, ELEMENT_U8, view->slice.as.m),
                  coil_view_column(world, SLICE_coils, ELEMENT_U32, view->slice), values, world_in(world, SLICE_unit),
                  arg_buffer(ARG_OUT, ELEMENT_F32, planes), arg_u32((uint32_t)net->height),
                  arg_u32((uint32_t)net->width), arg_u32(view->first),
                  arg_u32(masked ? (uint32_t)world_shape(world, SHAPE_A) : 0),
                  arg_u32((uint32_t)coil_view_stride(world)), arg_u32((uint32_t)net->coils), arg_u32(form)));
}

void coil_view_kspace(struct world *world, const struct coil_view *view, cl_mem planes) {
  view_coils(world, view, coil_view_values(world), planes, FORM_KSPACE);
}

void coil_view_maps(struct world *world, const struct coil_view *view, cl_mem planes) {
  bool maps = world_reads(world, SLICE_maps);
  view_coils(world, view, coil_view_column(world, SLICE_maps, ELEMENT_C64, view->slice), planes,
             maps ? FORM_MAPS : FORM_ONES);
}
