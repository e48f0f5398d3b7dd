/* Environment-steps per second of programs that hold the library (systems/public/l2sr.h), beside the same
 * steps inside of it, in one call: random free actions made on the device, actions from the host,
 * observations in pinned memory, and whole scans without waiting. */
#include "tools/bench/bench.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "systems/public/l2sr.h"
#include "systems/scan/simulation.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, TIMES = 5, ROW_INSIDE = 0 };

struct bench_env {
  struct call *call;
  struct device *device;
  struct acquisition acquisition;
  size_t envs, slices;
  struct l2sr_slices images;
  char *text; /* the scene's options */
  uint32_t *actions;
  double seconds[TIMES]; /* of one step of all: inside, device, host, pinned, played */
  double bus;            /* bytes a second of copies to pinned memory alone */
  size_t observation;    /* bytes */
};

static bool good(enum l2sr_code code, struct error *error) {
  return code == L2SR_GOOD || fail_as(error, (enum error_code)code, "%s", l2sr_last_error());
}

/* ---- inside the library -------------------------------------------------------------------------------- */

/* Rows of the first, a middle and the last environment after `steps` steps. */
struct sample {
  uint8_t *mask;   /* [ROWS][n] */
  void *magnitude; /* [ROWS][n][n] */
};

static size_t row_of(const struct bench_env *bench, size_t i) {
  return i * (bench->envs - 1) / (ROWS - 1);
}

static bool time_inside(struct bench_env *bench, struct simulation *simulation, struct error *error) {
  double seconds[BENCH_REPEATS];
  uint32_t budget = bench->acquisition.budget;
  for (int r = 0; r < BENCH_REPEATS; r++) {
    double start = clock_seconds();
    for (uint32_t t = 0; t < budget; t++) schedule_run(&simulation->step, simulation->world);
    if (!device_finish(bench->device, error)) return false;
    seconds[r] = (clock_seconds() - start) / budget;
  }
  bench->seconds[ROW_INSIDE] = bench_median(seconds);
  return true;
}

static const struct system sample_envs = {.name = "sample_envs",
                                          .doc = "environments beside those that are stepped through l2sr.h",
                                          .reads = SET(ENV_mask) | SET(ENV_magnitude)};

/* One scan to warm up, of which a sample is kept: its last step but one. */
static bool sample_inside(struct bench_env *bench, struct simulation *simulation, struct sample *sample,
                          struct error *error) {
  struct world *world = simulation->world;
  size_t n = bench->acquisition.shape.actions, bytes = world_column_bytes(world, ENV_magnitude);
  simulation_restart(simulation, 0, bench->envs);
  for (uint32_t t = 0; t + 1 < bench->acquisition.budget; t++) schedule_run(&simulation->step, world);
  struct world_use before = world_enter(world, &sample_envs);
  for (size_t i = 0; i < ROWS; i++) {
    world_read(world, ENV_mask, row_of(bench, i), 1, sample->mask + i * n);
    world_read(world, ENV_magnitude, row_of(bench, i), 1, (char *)sample->magnitude + i * bytes);
  }
  world_leave(world, before);
  schedule_run(&simulation->step, world);
  return device_finish(bench->device, error);
}

static bool run_inside(struct bench_env *bench, struct sample *sample, struct error *error) {
  struct simulation simulation;
  struct simulation_plan plan = {.slices = bench->slices,
                                 .envs = bench->envs,
                                 .observe_every_step = true,
                                 .rolling = true,
                                 .kernel_folder = call_flag(bench->call, "kernels")};
  if (!simulation_open(&simulation, bench->device, &bench->call->options, &plan, error)) return false;
  bool works = bench_slices(simulation.world, bench->slices, bench->call->options.world.seed, error) &&
               simulation_set(&simulation, &bench->acquisition, &sampler_list[0], error) &&
               sample_inside(bench, &simulation, sample, error) && time_inside(bench, &simulation, error);
  simulation_close(&simulation);
  return works;
}

/* ---- through the library's face ------------------------------------------------------------------------ */

static bool read_rows(struct bench_env *bench, l2sr_env *env, enum l2sr_array array, size_t bytes, void *to,
                      struct error *error) {
  struct _cl_mem *memory;
  if (!good(l2sr_env_memory(env, array, &memory), error)) return false;
  for (size_t i = 0; i < ROWS; i++)
    device_read(bench->device, memory, row_of(bench, i) * bytes, bytes, (char *)to + i * bytes);
  return device_finish(bench->device, error);
}

/* The same scans must have been taken, byte for byte. */
static bool compare(struct bench_env *bench, l2sr_env *env, const struct sample *inside,
                    struct error *error) {
  struct arena *arena = arena_open();
  size_t n = bench->acquisition.shape.actions, bytes = bench->observation / bench->envs;
  uint8_t *mask = arena_new(arena, ROWS * n);
  void *magnitude = arena_new(arena, ROWS * bytes);
  bool works = read_rows(bench, env, L2SR_ACQUIRED, n, mask, error) &&
               read_rows(bench, env, L2SR_OBSERVATION, bytes, magnitude, error);
  if (works && (memcmp(mask, inside->mask, ROWS * n) || memcmp(magnitude, inside->magnitude, ROWS * bytes)))
    works =
        fail(error,
             "the library's face took other scans than the library inside; `l2sr verify` tells what is wrong "
             "with the device");
  arena_close(arena);
  return works;
}

static bool step_decided(l2sr_env *env, const uint32_t *actions, struct error *error) {
  (void)actions;
  return good(l2sr_env_decide(env, "random"), error) && good(l2sr_env_step(env, NULL), error);
}

static bool step_given(l2sr_env *env, const uint32_t *actions, struct error *error) {
  return good(l2sr_env_step(env, actions), error);
}

/* Free actions in turn, another order in every environment. */
static void fill_actions(struct bench_env *bench) {
  const struct acquisition *scan = &bench->acquisition;
  uint32_t free_count = scan->shape.actions - scan->initial_lines;
  for (uint32_t t = 0; t < scan->budget; t++)
    for (size_t e = 0; e < bench->envs; e++) {
      uint32_t place = (t + (uint32_t)e) % free_count, action = 0;
      for (;; action++)
        if (!acquisition_is_initial(scan, action) && !place--) break;
      bench->actions[t * bench->envs + e] = action;
    }
}

static bool time_steps(struct bench_env *bench, l2sr_env *env,
                       bool (*step)(l2sr_env *env, const uint32_t *actions, struct error *error),
                       double *median, struct error *error) {
  double seconds[BENCH_REPEATS];
  uint32_t budget = bench->acquisition.budget;
  for (int r = -1; r < BENCH_REPEATS; r++) { /* the first is the warm-up */
    double start = clock_seconds();
    for (uint32_t t = 0; t < budget; t++)
      if (!step(env, bench->actions + t * bench->envs, error)) return false;
    if (r >= 0) seconds[r] = (clock_seconds() - start) / budget;
  }
  *median = bench_median(seconds);
  return true;
}

static bool time_played(struct bench_env *bench, l2sr_env *env, struct error *error) {
  double seconds[BENCH_REPEATS];
  uint32_t budget = bench->acquisition.budget;
  for (int r = 0; r < BENCH_REPEATS; r++) {
    double start = clock_seconds();
    if (!good(l2sr_env_play(env, "random", budget), error) || !good(l2sr_env_wait(env), error)) return false;
    seconds[r] = (clock_seconds() - start) / budget;
  }
  bench->seconds[4] = bench_median(seconds);
  return true;
}

/* The bus alone: the same copies without steps. */
static bool time_bus(struct bench_env *bench, l2sr_env *env, void *pinned, struct error *error) {
  struct _cl_mem *memory;
  double seconds[BENCH_REPEATS];
  if (!good(l2sr_env_memory(env, L2SR_OBSERVATION, &memory), error)) return false;
  for (int r = 0; r < BENCH_REPEATS; r++) {
    double start = clock_seconds();
    device_read(bench->device, memory, 0, bench->observation, pinned);
    if (!device_finish(bench->device, error)) return false;
    seconds[r] = clock_seconds() - start;
  }
  bench->bus = (double)bench->observation / bench_median(seconds);
  return true;
}

static bool run_steps(struct bench_env *bench, l2sr_env *env, const struct sample *inside,
                      struct error *error) {
  const void *pinned;
  if (!good(l2sr_env_reset(env, NULL, NULL), error)) return false;
  for (uint32_t t = 0; t + 1 < bench->acquisition.budget; t++)
    if (!step_decided(env, NULL, error)) return false;
  if (!compare(bench, env, inside, error) || !step_decided(env, NULL, error)) return false;
  return time_steps(bench, env, step_decided, &bench->seconds[1], error) &&
         time_steps(bench, env, step_given, &bench->seconds[2], error) && time_played(bench, env, error) &&
         good(l2sr_env_pin(env, L2SR_OBSERVATION, &pinned), error) &&
         time_steps(bench, env, step_decided, &bench->seconds[3], error) &&
         time_bus(bench, env, (void *)(uintptr_t)pinned, error);
}

static bool run_outside(struct bench_env *bench, const struct sample *inside, struct error *error) {
  struct l2sr_config config = {.bytes = sizeof config,
                               .text = bench->text,
                               .context = bench->device->context,
                               .queue = bench->device->queue,
                               .slices = &bench->images,
                               .envs = (uint32_t)bench->envs,
                               .autoreset = L2SR_RESET_SAME_STEP,
                               .scoring = L2SR_SCORE_NEVER};
  l2sr_env *env;
  if (!good(l2sr_env_open(&config, &env), error)) return false;
  bool works = run_steps(bench, env, inside, error);
  return good(l2sr_env_close(env), works ? error : &(struct error){0}) && works;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static void print(const struct bench_env *bench, bool json) {
  static const char *const names[] = {"inside", "device_actions", "host_actions", "pinned_observations",
                                      "played"};
  static const char *const words[] = {
      "inside the library, as bench step", "random actions made on the device", "actions from the host",
      "the first, observations in pinned memory", "the first, whole scans without waiting"};
  const struct scan_shape *shape = &bench->acquisition.shape;
  double bus = (double)bench->observation / bench->seconds[3];
  char size[SCAN_SHAPE_TEXT];
  if (!json)
    printf("env: %zu environment%s of %ux%u over %zu slice%s, on %s\n", bench->envs, plural(bench->envs),
           shape->height, shape->width, bench->slices, plural(bench->slices), bench->device->facts.name);
  if (json) {
    printf("{\"bench\":\"env\",\"device\":");
    json_text(stdout, bench->device->facts.name);
    printf(",\"size\":%s,\"envs\":%zu,\"slices\":%zu", scan_shape_text(shape, size), bench->envs,
           bench->slices);
  }
  for (int i = 0; i < TIMES; i++)
    if (json)
      printf(",\"%s_milliseconds\":%.6g", names[i], 1e3 * bench->seconds[i]);
    else
      printf("  %-42s %s environment-steps/s, %s ms a step (%.1f %%)\n", words[i],
             text_number((double)bench->envs / bench->seconds[i], 4).text,
             text_number(1e3 * bench->seconds[i], 4).text,
             100 * bench->seconds[ROW_INSIDE] / bench->seconds[i]);
  if (json)
    printf(",\"pinned_bytes_per_second\":%.6g,\"bus_bytes_per_second\":%.6g}\n", bus, bench->bus);
  else
    printf("  %s GB/s of %s GB/s to pinned memory (%.1f %%)\n", text_number(bus / 1e9, 4).text,
           text_number(bench->bus / 1e9, 4).text, 100 * bus / bench->bus);
}

static bool write_text(struct bench_env *bench, struct error *error) {
  size_t bytes;
  FILE *file = open_memstream(&bench->text, &bytes);
  if (!file) return fail_memory(error, "no host memory for the scene's text");
  option_print(&option_table, &bench->call->options, false, file);
  fclose(file);
  return true;
}

static bool make_images(struct bench_env *bench, struct arena *arena, struct error *error) {
  const struct scan_shape *shape = &bench->acquisition.shape;
  size_t pixels = scan_shape_pixels(shape);
  float *image = arena_try_array(arena, sizeof *image * pixels, bench->slices);
  if (!image)
    return fail_memory(error, "no host memory for %zu slices; give fewer (--slices)", bench->slices);
  for (size_t s = 0; s < bench->slices; s++)
    bench_image(image + s * pixels, shape, s, bench->call->options.world.seed);
  bench->images = (struct l2sr_slices){.bytes = sizeof bench->images,
                                       .values = image,
                                       .count = bench->slices,
                                       .height = shape->height,
                                       .width = shape->width};
  return true;
}

bool bench_env(struct call *call, struct device *device, struct error *error) {
  struct bench_env bench = {.call = call, .device = device, .envs = call->options.world.envs};
  struct acquisition *settings;
  size_t count;
  uint32_t slices = 1024;
  if (!call_number(call, "slices", 1, 1000000, &slices, error) ||
      !acquisition_list(&settings, &count, &call->options, call->arena, error))
    return false;
  bench.slices = slices;
  bench.acquisition = settings[0];
  bool half = call->options.world.observation == OBSERVATION_F16;
  size_t pixels = scan_shape_pixels(&bench.acquisition.shape);
  bench.observation = bench.envs * pixels * (half ? 2 : 4);
  bench.actions = ARENA_NEW(call->arena, uint32_t, bench.envs * bench.acquisition.budget);
  struct sample sample = {arena_new(call->arena, ROWS * bench.acquisition.shape.actions),
                          arena_new(call->arena, ROWS * pixels * 4)};
  fill_actions(&bench);
  bool works = write_text(&bench, error) && make_images(&bench, call->arena, error) &&
               run_inside(&bench, &sample, error) && run_outside(&bench, &sample, error);
  if (works) print(&bench, call_flag(call, "json"));
  free(bench.text);
  return works;
}
