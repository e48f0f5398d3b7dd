/* From what is acquired to an image, as parts of lists: of scans (simulation_lists.c), of oracles, and of others'. */
#include "systems/scan/observation.h"
#include "systems/scan/planes.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/solve.h"
#include "systems/scan/systems.h"

static component_set kspace_of(const struct simulation *simulation) {
  return observation_chosen(simulation->options)->kspace;
}

void simulation_add_observe(struct simulation *simulation, struct schedule *schedule) {
  const struct system *observe = observation_chosen(simulation->options)->observe;
  if (observe) schedule_add(schedule, observe, simulation);
}

/* What tells coils apart in a sum of them by their maps. */
static component_set maps_of(const struct simulation *simulation) {
  bool coils = kspace_of(simulation) & (SET(SLICE_coil_kspace) | SET(SLICE_coil_hybrid));
  return coils && simulation->options->coils.maps != MAPS_NONE ? SET(ENV_slice) | SET(SLICE_coils) | SET(SLICE_maps) : 0;
}

/* Least squares of listed lines look into the transform's table. */
static component_set lines_of(const struct simulation *simulation) {
  return observation_lists(simulation->options) ? SET(ENV_slice) | SET(SCENE_phase) : 0;
}

/* What a solver's steps look into beside the data that they are given: whole scans, into nothing. */
static component_set steps_of(const struct simulation *simulation) {
  bool whole = simulation->solver && simulation->solver->whole;
  return whole ? 0 : maps_of(simulation) | lines_of(simulation);
}

/* An encode that views k-space reads what an observation would read. */
static void add_encode(struct simulation *simulation, struct schedule *schedule,
                       const struct reconstruction *reconstruction) {
  struct system *encode = schedule_add(schedule, reconstruction->encode, simulation);
  if (reconstruction->calls) encode->reads |= planes_reads(simulation->options);
  if (reconstruction->views) encode->reads |= kspace_of(simulation);
  bool maps = reconstruction->network == &network_varnet && simulation->options->varnet.sense == SENSE_MAPS;
  if (reconstruction->solve || maps) encode->reads |= maps_of(simulation);
  if (reconstruction->solve) encode->reads |= lines_of(simulation);
}

static void add_reconstruction(struct simulation *simulation, struct schedule *schedule,
                               const struct reconstruction *reconstruction) {
  for (const struct system *const *system = reconstruction->systems; *system; system++)
    if (*system == reconstruction->encode)
      add_encode(simulation, schedule, reconstruction);
    else
      schedule_add(schedule, *system, simulation)->reads |=
          *system == reconstruction->solve ? steps_of(simulation) : 0;
}

void simulation_add_encode(struct simulation *simulation, struct schedule *schedule) {
  add_encode(simulation, schedule, reconstruction_chosen(simulation->options, true));
}

void simulation_add_encode_back(struct simulation *simulation, struct schedule *schedule) {
  schedule_add(schedule, &system_encode_varnet_back, simulation)->reads |= kspace_of(simulation) & ~SET(SLICE_maps);
}

void simulation_add_network(struct simulation *simulation, struct schedule *schedule) {
  add_reconstruction(simulation, schedule, reconstruction_chosen(simulation->options, true));
}

void simulation_add_reconstruct(struct simulation *simulation, struct schedule *schedule) {
  add_reconstruction(simulation, schedule, simulation->reconstruction);
}
