#include "tests/scans.h"

void plan_scene(struct scene *scene, enum acquisition_geometry geometry, uint32_t n, uint32_t acceleration,
                const char *horizon) {
  plan_sides(scene, geometry, option_square(n), acceleration, horizon);
}

void plan_sides(struct scene *scene, enum acquisition_geometry geometry, struct option_sides sides,
                uint32_t acceleration, const char *horizon) {
  struct error error;
  *scene = (struct scene){.arena = arena_open()};
  option_defaults(&option_table, &scene->options, scene->arena);
  scene->options.data.size = sides;
  scene->options.acquisition.geometry = geometry;
  assert_good(acquisition_plan(&scene->acquisition, &scene->options, acceleration, horizon, &error), &error);
}

void open_scene(struct scene *scene, struct device *device, size_t envs, uint32_t slices) {
  struct error error;
  struct simulation_plan plan = {.slices = slices,
                                 .envs = envs,
                                 .rollout_steps = acquisition_steps(&scene->acquisition) + 1,
                                 .images = IMAGES_EVERY_STEP,
                                 .metrics = "ssim",
                                 .record = true};
  assert_good(simulation_open(&scene->simulation, device, &scene->options, &plan, &error), &error);
  support_fill_slices(scene->simulation.world, slices);
}

void close_scene(struct scene *scene) {
  simulation_close(&scene->simulation);
  arena_close(scene->arena);
}

void run_scans(struct scene *scene, const char *sampler, uint32_t first, size_t envs) {
  struct error error;
  const struct sampler *row = sampler_find(sampler, &error);
  assert_good(row && simulation_set(&scene->simulation, &scene->acquisition, row, &error), &error);
  simulation_restart(&scene->simulation, first, envs);
  simulation_episode(&scene->simulation);
  assert_good(device_finish(scene->simulation.device, &error), &error);
}
