/* What a slice has of every coil, as planes of real and imaginary parts [images][coils][2][height][width]: the input of
 * the variational network (kernels/view.cl). Coils that a slice lacks are 0. */
#ifndef L2SR_SYSTEMS_COIL_VIEW_H
#define L2SR_SYSTEMS_COIL_VIEW_H

#include "engine/ecs/world.h"
#include "systems/networks/net_varnet.h"

struct coil_view {
  struct arg slice; /* U32, the slices of the images, from place `first` on */
  struct arg mask;  /* U8, what is acquired of them, from place `first` on: 0 elsewhere; kind ARG_END: all of it */
  uint32_t first;
  size_t images;
  const struct net_varnet_setup *net;
};

/* Frequencies in units of the image, the origin in the middle. The running system reads SLICE.unit, and SLICE.coil_kspace
 * with SLICE.coils, or SLICE.kspace. */
void coil_view_kspace(struct world *world, const struct coil_view *view, cl_mem planes);
/* Maps, which are 1 where the running system does not read SLICE.maps. */
void coil_view_maps(struct world *world, const struct coil_view *view, cl_mem planes);

enum view_form { FORM_KSPACE, FORM_MAPS, FORM_ONES }; /* of view_coils and view_planes */
/* Coils between two slices of the world's k-space, as the running system reads it. */
size_t coil_view_stride(const struct world *world);
/* What the running system does not read is not looked at: any memory stands for it. */
struct arg coil_view_column(struct world *world, unsigned column, enum element element, struct arg other);
/* SLICE.coil_kspace, or SLICE.kspace where there is one coil. */
struct arg coil_view_values(struct world *world);

#endif
