/* Helpers of tests that scan by a geometry: a scene, its simulation on slices that differ, scans by a
 * sampler. */
#ifndef L2SR_TESTS_SCANS_H
#define L2SR_TESTS_SCANS_H

#include "systems/scan/simulation.h"
#include "tests/support.h"

struct scene {
  struct arena *arena;
  struct options options;
  struct simulation simulation;
  struct acquisition acquisition;
};

/* Plans without a simulation: arena_close(scene->arena) closes it. */
void plan_scene(struct scene *scene, enum acquisition_geometry geometry, uint32_t n, uint32_t acceleration,
                const char *horizon);
void plan_sides(struct scene *scene, enum acquisition_geometry geometry, struct option_sides sides,
                uint32_t acceleration, const char *horizon);
/* After plan_scene; every step is scored by SSIM and recorded. */
void open_scene(struct scene *scene, struct device *device, size_t envs, uint32_t slices);
void close_scene(struct scene *scene);
/* Scans first, first + 1 ... of so many environments by the sampler of that name. */
void run_scans(struct scene *scene, const char *sampler, uint32_t first, size_t envs);

#endif
