/* Throughput of the engine's hot loops, after a check of what they compute. */
#include "components/components.h"
#include "engine/base/half.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "engine/base/text.h"
#include "engine/files/scene.h"
#include "systems/networks/networks.h"
#include "systems/sampling/geometry.h"
#include "systems/scan/simulation.h"
#include "tools/bench/bench.h"
#include "tools/bench/roofline.h"
#include "tools/commands/command.h"
#include "tools/ranks/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bench_step {
  struct simulation simulation;
  struct acquisition acquisition;
  size_t envs, slices, coils; /* coils: of a slice, simulated; 0: none */
  bool half;
  double seconds[BENCH_REPEATS]; /* one step's time */
  double copy_bandwidth;         /* bytes/s, read and written counted */
};

struct sample {
  float *image, *coils; /* coils: frequencies of all of them, complex, the origin first; where they are simulated */
  uint8_t *mask, *cells;                 /* [actions], [height][width] */
  double *kspace, *phase, *column_phase; /* [height][width], [width] and [height] complex */
  void *magnitude;
};

/* Sums over index i, at `stride`, of from[i] turned by -2 pi (i - n/2)(k - n/2) / n. */
static void turn_axis(const double *phase, const double *from, size_t stride, size_t n, size_t k,
                      double *to) {
  double re = 0, im = 0;
  for (size_t i = 0; i < n; i++) {
    const double *turn = phase + 2 * ((i + n - n / 2) * (k + n - n / 2) % n), *value = from + 2 * i * stride;
    re += value[0] * turn[0] + value[1] * turn[1];
    im += value[1] * turn[0] - value[0] * turn[1];
  }
  to[0] = re;
  to[1] = im;
}

static void fill_phase(double *phase, size_t n) {
  for (size_t k = 0; k < n; k++) {
    phase[2 * k] = cos(2 * M_PI * (double)k / (double)n);
    phase[2 * k + 1] = sin(2 * M_PI * (double)k / (double)n);
  }
}

/* The masked k-space of the image, not normalised, in double. */
static void transform(const struct sample *sample, const struct scan_shape *shape, struct arena *arena) {
  size_t h = shape->height, w = shape->width, pixels = h * w;
  double *half = ARENA_NEW(arena, double, 2 * pixels), *whole = ARENA_NEW(arena, double, 2 * pixels);
  for (size_t i = 0; i < pixels; i++) whole[2 * i] = sample->image[i];
  for (size_t i = 0; i < pixels; i++)
    turn_axis(sample->phase, whole + 2 * (i / w) * w, 1, w, i % w, half + 2 * i);
  for (size_t i = 0; i < pixels; i++)
    if (sample->cells[i])
      turn_axis(sample->column_phase, half + 2 * (i % w), w, h, i / w, sample->kspace + 2 * i);
    else
      sample->kspace[2 * i] = sample->kspace[2 * i + 1] = 0;
}

/* The same of a coil's own frequencies, which are orthonormal. */
static void take_coil(const struct sample *sample, const struct scan_shape *shape, size_t coil) {
  size_t h = shape->height, w = shape->width;
  for (size_t i = 0; i < h * w; i++) {
    size_t at = (i / w + h - h / 2) % h * w + (i % w + w - w / 2) % w;
    for (size_t k = 0; k < 2; k++)
      sample->kspace[2 * i + k] = sample->cells[i] ? sqrt((double)(h * w)) * (double)sample->coils[2 * (coil * h * w + at) + k] : 0;
  }
}

/* The zero-filled magnitude at one pixel. */
static double exact_pixel(const struct sample *sample, const struct scan_shape *shape, size_t y, size_t x) {
  size_t h = shape->height, w = shape->width;
  double re = 0, im = 0;
  for (size_t i = 0; i < h * w; i++) {
    size_t row = (i / w + h - h / 2) * (y + h - h / 2), column = (i % w + w - w / 2) * (x + w - w / 2);
    const double *down = sample->column_phase + 2 * (row % h), *along = sample->phase + 2 * (column % w);
    const double turn[] = {down[0] * along[0] - down[1] * along[1], down[0] * along[1] + down[1] * along[0]};
    const double *value = sample->kspace + 2 * i;
    re += value[0] * turn[0] - value[1] * turn[1];
    im += value[0] * turn[1] + value[1] * turn[0];
  }
  return sqrt(re * re + im * im) / (double)(h * w);
}

static const struct system sample_env = {.name = "sample_env",
                                         .doc = "an environment beside a transform in double",
                                         .reads = SET(ENV_slice) | SET(ENV_step) | SET(ENV_mask) |
                                                  SET(ENV_magnitude) | SET(SLICE_image) | SET(SLICE_unit)},
                           sample_coils = {.name = "sample_coils",
                                           .doc = "the k-space of its coils",
                                           .reads = SET(SLICE_coil_kspace)};

static void read_coils(const struct bench_step *bench, const struct sample *sample, uint32_t slice) {
  struct world *world = bench->simulation.world;
  if (!bench->coils) return;
  struct world_use before = world_enter(world, &sample_coils);
  world_read(world, SLICE_coil_kspace, slice, 1, sample->coils);
  world_leave(world, before);
}

enum { PIXELS = 32 };

/* Magnitudes of some pixels: of several coils the root of the sum of their squares. */
static void exact_pixels(const struct bench_step *bench, const struct sample *sample, double exact[PIXELS], float unit,
                         struct arena *arena) {
  const struct scan_shape *shape = &bench->acquisition.shape;
  size_t coils = bench->coils;
  fill_phase(sample->phase, shape->width);
  fill_phase(sample->column_phase, shape->height);
  if (!coils) transform(sample, shape, arena);
  for (size_t c = 0; c < (coils ? coils : 1); c++) {
    if (coils) take_coil(sample, shape, c);
    for (size_t i = 0; i < PIXELS; i++) {
      size_t at = i * 2654435761u % scan_shape_pixels(shape);
      exact[i] = hypot(exact[i], (coils ? (double)unit : 1) * exact_pixel(sample, shape, at / shape->width, at % shape->width));
    }
  }
}

static bool check_env(struct bench_step *bench, const struct sample *sample, size_t env, struct arena *arena,
                      struct error *error) {
  const struct geometry *geometry = geometry_of(&bench->acquisition);
  struct world *world = bench->simulation.world;
  const struct scan_shape *shape = &bench->acquisition.shape;
  size_t lines = 0;
  uint32_t slice, step;
  float unit;
  double exact[PIXELS] = {0};
  struct world_use before = world_enter(world, &sample_env);
  world_read(world, ENV_slice, env, 1, &slice);
  world_read(world, ENV_step, env, 1, &step);
  world_read(world, ENV_mask, env, 1, sample->mask);
  world_read(world, ENV_magnitude, env, 1, sample->magnitude);
  world_read(world, SLICE_image, slice, 1, sample->image);
  world_read(world, SLICE_unit, slice, 1, &unit);
  world_leave(world, before);
  if (!device_finish(world_device(world), error)) return false;
  read_coils(bench, sample, slice);
  if (!device_finish(world_device(world), error)) return false;
  for (size_t c = 0; c < shape->actions; c++) lines += sample->mask[c];
  if (lines != bench->acquisition.initial_lines + step)
    return fail(error, "environment %zu has %zu %ss after %u steps; expected %u", env, lines, geometry->one,
                step, bench->acquisition.initial_lines + step);
  geometry_mask(geometry, shape, sample->mask, sample->cells);
  exact_pixels(bench, sample, exact, unit, arena);
  for (size_t i = 0; i < PIXELS; i++) {
    size_t at = i * 2654435761u % scan_shape_pixels(shape);
    double found = bench->half ? half_to_float(((const uint16_t *)sample->magnitude)[at])
                               : ((const float *)sample->magnitude)[at];
    double expected = exact[i];
    if (fabs(found * unit - expected) > (bench->half ? 2e-3 : 1e-5))
      return fail(error, "environment %zu, pixel %zu is %g; expected %g", env, at, found * unit, expected);
  }
  return true;
}

static bool check_result(struct bench_step *bench, struct error *error) {
  struct arena *arena = arena_open();
  const struct scan_shape *shape = &bench->acquisition.shape;
  size_t pixels = scan_shape_pixels(shape);
  struct sample sample = {.image = ARENA_NEW(arena, float, pixels),
                          .coils = bench->coils ? ARENA_NEW(arena, float, 2 * bench->coils * pixels) : NULL,
                          .mask = arena_new(arena, shape->actions),
                          .cells = arena_new(arena, pixels),
                          .kspace = ARENA_NEW(arena, double, 2 * pixels),
                          .phase = ARENA_NEW(arena, double, 2 * shape->width),
                          .column_phase = ARENA_NEW(arena, double, 2 * shape->height),
                          .magnitude = arena_new(arena, pixels * sizeof(float))};
  bool good = check_env(bench, &sample, 0, arena, error) &&
              check_env(bench, &sample, bench->envs / 2, arena, error) &&
              check_env(bench, &sample, bench->envs - 1, arena, error);
  arena_close(arena);
  return good;
}

/* One repeat is a whole scan of every environment, resets included. */
static bool time_steps(struct bench_step *bench, struct error *error) {
  struct simulation *simulation = &bench->simulation;
  uint32_t budget = bench->acquisition.budget;
  uint64_t allocations = simulation->device->allocations;
  simulation_restart(simulation, 0, bench->envs);
  for (int r = -1; r < BENCH_REPEATS; r++) { /* the first is the warm-up */
    double start = clock_seconds();
    for (uint32_t t = 0; t < budget; t++) schedule_run(&simulation->step, simulation->world);
    if (!device_finish(simulation->device, error)) return false;
    if (r >= 0) bench->seconds[r] = (clock_seconds() - start) / budget;
    if (r < 0 && !check_result(bench, error)) return false;
  }
  REQUIRE(simulation->device->allocations == allocations, "a step allocates");
  return true;
}

/* Bytes that one step of one environment must move: the data of the acquired cells, of every coil, and the observation. */
static double needed_bytes(const struct bench_step *bench) {
  double lines = bench->acquisition.initial_lines + (bench->acquisition.budget + 1) / 2.0,
         pixels = (double)scan_shape_pixels(&bench->acquisition.shape);
  double fraction =
      1 / geometry_acceleration(geometry_of(&bench->acquisition), &bench->acquisition.shape, (uint32_t)lines);
  return fraction * pixels * (lines / floor(lines)) * 8 * (bench->coils ? (double)bench->coils : 1) + pixels * (bench->half ? 2 : 4);
}

static void print_step(struct bench_step *bench, const struct device *device, bool json) {
  double seconds = bench_median(bench->seconds), rate = (double)bench->envs / seconds;
  double bytes = needed_bytes(bench), bandwidth = bytes * rate;
  const struct scan_shape *shape = &bench->acquisition.shape;
  char size[SCAN_SHAPE_TEXT];
  if (json) {
    printf("{\"bench\":\"step\",\"device\":");
    json_text(stdout, device->facts.name);
    printf(
        ",\"geometry\":\"%s\",\"size\":%s,\"envs\":%zu,\"slices\":%zu,\"coils\":%zu,\"observation\":\"%s\","
        "\"initial_lines\":%u,\"budget\":%u,"
        "\"steps_per_second\":%.6g,\"milliseconds\":%.6g,\"bytes_per_step\":%.6g,\"bytes_per_second\":%.6g,"
        "\"copy_bytes_per_second\":%.6g,\"share\":%.4g}\n",
        geometry_of(&bench->acquisition)->name, scan_shape_text(shape, size), bench->envs, bench->slices,
        bench->coils ? bench->coils : 1, bench->half ? "f16" : "f32", bench->acquisition.initial_lines, bench->acquisition.budget, rate,
        1e3 * seconds, bytes, bandwidth, bench->copy_bandwidth, bandwidth / bench->copy_bandwidth);
    return;
  }
  printf("step: %zu environment%s of %ux%u over %zu slice%s of %zu coil%s, %s observations, %u + %u %ss, on %s\n",
         bench->envs, plural(bench->envs), shape->height, shape->width, bench->slices, plural(bench->slices),
         bench->coils ? bench->coils : 1, plural(bench->coils ? bench->coils : 1),
         bench->half ? "f16" : "f32", bench->acquisition.initial_lines, bench->acquisition.budget,
         geometry_of(&bench->acquisition)->one, device->facts.name);
  printf("  %s environment-steps/s (%s ms a step of all, median of %d scans)\n", text_number(rate, 4).text,
         text_number(1e3 * seconds, 4).text, BENCH_REPEATS);
  printf("  %s kB needed a step, %s GB/s of %s GB/s copy bandwidth (%.1f %%)\n",
         text_number(bytes / 1e3, 4).text, text_number(bandwidth / 1e9, 4).text,
         text_number(bench->copy_bandwidth / 1e9, 4).text, 100 * bandwidth / bench->copy_bandwidth);
}

/* Of every environment, of a whole scan. */
static void run_scan(void *context) {
  struct bench_step *bench = context;
  for (uint32_t t = 0; t < bench->acquisition.budget; t++) schedule_run(&bench->simulation.step, bench->simulation.world);
}

static bool run_step(struct call *call, struct device *device, struct error *error) {
  struct options *options = &call->options;
  struct bench_step bench = {.half = options->world.observation == OBSERVATION_F16};
  struct acquisition *settings;
  size_t count;
  uint32_t slices = 1024;
  if (!call_number(call, "slices", 1, 1000000, &slices, error) ||
      !acquisition_list(&settings, &count, options, call->arena, error))
    return false;
  bench.acquisition = settings[0];
  bench.envs = options->world.envs;
  bench.slices = slices;
  bench.coils = options->coils.simulate;
  struct simulation_plan plan = {.slices = bench.slices,
                                 .envs = bench.envs,
                                 .observe_every_step = true,
                                 .rolling = true,
                                 .coils = bench.coils,
                                 .kernel_folder = call_flag(call, "kernels")};
  if (!simulation_open(&bench.simulation, device, options, &plan, error)) return false;
  bool good = bench_slices(bench.simulation.world, bench.slices, options->world.seed, error) &&
              bench_coils(bench.simulation.world, options, bench.slices, error) &&
              simulation_set(&bench.simulation, &bench.acquisition, &sampler_list[0], error) &&
              time_steps(&bench, error) && bench_copy(device, &bench.copy_bandwidth, error);
  if (good && call->roofline)
    good = roofline_print(call, device, BLOCK_F32, bench_median(bench.seconds) * bench.acquisition.budget, run_scan, &bench, error);
  else if (good)
    print_step(&bench, device, call_flag(call, "json"));
  simulation_close(&bench.simulation);
  return good;
}

/* --batch and --precision are those of the network that is measured: a section of the scene, or none. */
static bool take_flag(struct call *call, const char *name, const char *section, struct error *error) {
  const char *value = call_flag(call, name), *place = arena_text(call->arena, "--%s", name);
  if (!value) return true;
  if (!section)
    return fail_usage(error, "bench %s takes no --%s, which network, policy, train, learn, pgmri and ddqn do", call->operand[0],
                      name);
  const char *assignment = arena_text(call->arena, "%s.%s=%s", section, name, value);
  return scene_assign(&option_table, &call->options, call->arena, assignment, place, error);
}

static bool check_step(const struct options *options, struct error *error) {
  return bench_check_scans(options, "step", error);
}

static bool check_scans(const struct options *options, struct error *error) {
  return bench_check_scans(options, "env", error);
}

static bool check_network(const struct options *options, struct error *error) {
  return network_check(network_chosen(options), options, error);
}

static bool run_network(struct call *call, struct device *device, struct error *error) {
  bool varnet = call->options.reconstruct.method == RECONSTRUCT_VARNET;
  return (varnet ? bench_varnet : bench_network)(call, device, error);
}

static bool check_policy(const struct options *options, struct error *error) {
  return network_check(&network_policy, options, error);
}

static bool check_learn(const struct options *options, struct error *error) {
  return bench_check_scans(options, "learn", error) && check_policy(options, error) &&
         check_network(options, error);
}

static bool check_pgmri(const struct options *options, struct error *error) {
  return bench_check_scans(options, "pgmri", error) && check_network(options, error);
}

static bool check_ddqn(const struct options *options, struct error *error) {
  return bench_check_scans(options, "ddqn", error) && check_network(options, error);
}

static bool check_inference(const struct options *options, struct error *error) {
  return bench_check_scans(options, "inference", error) && check_network(options, error);
}

/* Each on the device of its place on the host; the first prints. */
static bool run_ranks(struct call *call, call_work *run, struct error *error) {
  struct ranks known;
  return devices_join(call, &known, error) && devices_leave(call, call_on_device(call, run, error), error);
}

/* What only some of them take. */
static bool check_own(const struct call *call, struct error *error) {
  static const struct {
    const char *flag, *bench;
  } own[] = {{"bytes", "sums"},      {"cards", "scaling"}, {"network", "scaling"},
             {"latency", "scaling"}, {"goal", "scaling"},  {"output", "scaling"},
             {"scans", "learn"}};
  bool roofline = !strcmp(call->operand[0], "roofline") && call->operand_count > 1;
  const char *name = call->operand[roofline ? 1 : 0];
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (call_flag(call, own[i].flag) && strcmp(name, own[i].bench))
      return fail_usage(error, "bench %s takes no --%s, which %s does", name, own[i].flag, own[i].bench);
  static const char *const taken[] = {"bytes", "cards",   "network", "latency", "goal",  "output", "json", "devices",
                                      "device", "kernels", "plugin",  "trace",   "quiet", "verbose", NULL};
  bool plain = !strcmp(call->operand[0], "sums") || !strcmp(call->operand[0], "scaling");
  for (int i = 0; plain && i < call->given_count; i++) {
    size_t t = 0;
    while (taken[t] && strcmp(taken[t], call->given[i].flag->name)) t++;
    if (!taken[t])
      return fail_usage(error, "bench %s takes no --%s: it follows from no scene", call->operand[0], call->given[i].flag->name);
  }
  return true;
}

struct bench {
  const char *name, *section;
  bool (*check)(const struct options *options, struct error *error);
  call_work *run;
  bool many;                        /* takes more than one scene */
  bool trains, profiles, rooflines; /* takes --train, --profile, the word roofline before it */
  bool ranks;                       /* under mpirun every rank takes a part */
};

static const struct bench *find_bench(const char *name) {
  static const struct bench list[] = {{"step", NULL, check_step, run_step, false, false, false, true, false},
                                      {"env", NULL, check_scans, bench_env, false, false, false, false, false},
                                      {"network", "network", check_network, run_network, false, true, true, true, false},
                                      {"policy", "policy", check_policy, bench_policy, false, true, true, true, false},
                                      {"train", "train", check_network, bench_train, false, false, true, false, true},
                                      {"learn", "policy", check_learn, bench_learn, false, false, true, true, true},
                                      {"pgmri", "policy", check_pgmri, bench_pgmri, false, false, true, false, true},
                                      {"ddqn", "policy", check_ddqn, bench_ddqn, false, false, true, false, false},
                                      {"sums", NULL, NULL, bench_sums, false, false, false, false, true},
                                      {"inference", NULL, check_inference, bench_inference, true, false, false, false, false}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (!strcmp(name, list[i].name)) return &list[i];
  return NULL;
}

/* `roofline` stands before another bench's word, or a scene of network's. */
static bool take_roofline(struct call *call, struct error *error) {
  const char *word = call->operand_count > 1 ? call->operand[1] : "";
  const struct bench *bench = find_bench(word);
  call->roofline = !strcmp(call->operand[0], "roofline");
  if (!call->roofline)
    return !call_flag(call, "figure") || fail_usage(error, "bench %s takes no --figure, which roofline does", call->operand[0]);
  if (call_flag(call, "profile")) return fail_usage(error, "bench roofline prints every kernel: it takes no --profile");
  if (bench && !bench->rooflines)
    return fail_usage(error, "bench roofline takes no bench '%s'; it takes network, policy, learn and step", word);
  call->operand[0] = "network";
  if (*word && !bench && !scene_find(call->arena, word, call_scenes(call->arena), error))
    return fail_usage(error, "bench roofline has no work '%s', and there is no such scene; works are network, policy, learn and step", word);
  if (bench) memmove(call->operand, call->operand + 1, sizeof *call->operand * (size_t)--call->operand_count);
  return roofline_check(call, error);
}

static bool check_flags(const struct call *call, const struct bench *bench, struct error *error) {
  if (call->operand_count > 2 && !bench->many)
    return fail_usage(error, "one operand too many: %s; bench %s takes one scene", call->operand[2], bench->name);
  if (call_flag(call, "train") && !bench->trains)
    return fail_usage(error, "bench %s takes no --train, which network and policy do", bench->name);
  if (call_flag(call, "profile") && !bench->profiles)
    return fail_usage(error, "bench %s takes no --profile, which network, policy, train, learn, pgmri and ddqn do", bench->name);
  return true;
}

static bool run_bench(struct call *call, struct error *error) {
  if (!check_own(call, error)) return false;
  if (!strcmp(call->operand[0], "scaling")) return bench_scaling(call, error);
  if (!take_roofline(call, error)) return false;
  const struct bench *bench = find_bench(call->operand[0]);
  if (!bench)
    return fail_usage(error, "no bench '%s'; there are: step, env, network, policy, train, learn, pgmri, ddqn, sums, scaling, roofline, inference",
                      call->operand[0]);
  return check_flags(call, bench, error) && (call->operand_count < 2 || call_scene(call, call->operand[1], error)) &&
         take_flag(call, "batch", bench->section, error) &&
         take_flag(call, "precision", bench->run == bench_train ? "network" : bench->section, error) &&
         (!bench->check || bench->check(&call->options, error)) && (bench->ranks ? run_ranks : call_on_device)(call, bench->run, error);
}

static const struct flag flags[] = {
    {"size", "N", "data.size", "image side and number of actions"},
    {"envs", "N", "world.envs", NULL},
    {"observation", "f32|f16", "world.observation", NULL},
    {"acceleration", "A", "acquisition.acceleration", "final acceleration"},
    {"horizon", "base|long", "acquisition.horizon", "initial actions: half of all (base) or an eighth (long)"},
    {"train", NULL, NULL, "network, policy: measures forward, loss, backward and a step of the optimiser"},
    {"profile", NULL, NULL,
     "prints the device's time by kernel and layer too; learn: by system (not for step, env, sums and inference)"},
    {"batch", "N", NULL,
     "images in a pass of the network (network.batch); learn, pgmri, ddqn: of the policy (policy.batch); train: in "
     "an update (train.batch)"},
    {"precision", "f32|mixed|half", NULL, "precision of the network (network.precision, policy.precision)"},
    {"devices", "LIST", NULL,
     "train, learn, pgmri, sums: on several devices of this host at once, by a rank of MPI for each, as of l2sr train; each has "
     "the batch, scans or slices given, and the efficiency beside one is printed"},
    {"figure", "FILE", NULL, "roofline: draws it too; FILE.pdf, .svg or .png"},
    FLAG_TRACE,
    {"slices", "N", NULL, "number of distinct slices to scan (default: 1024)"},
    {"scans", "N", "learn.scans", "learn: scans in a rollout (learn.scans)"},
    {"bytes", "N", NULL, "sums: of one gradient of so many bytes"},
    {"cards", "N", NULL, "scaling: of a host (default 8)"},
    {"network", "N", NULL, "scaling: gigabits a second between hosts, of a host; default: as fast as sums through host memory"},
    {"latency", "N", NULL, "scaling: microseconds of an exchange between hosts, at least"},
    {"goal", "N", NULL, "scaling: percent of efficiency below which it has ended (default 90)"},
    {"output", "DIR", NULL, "scaling: folder for scaling.csv, scaling.svg and scaling.png"},
    {"json", NULL, NULL, "prints one JSON object"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_bench = {
    .name = "bench",
    .operands = "step|env|network|policy|train|learn|pgmri|ddqn|sums|scaling|roofline|inference [SCENE...]",
    .doc = "measures environment-steps, reconstructions, decisions, learning or whole scans per second",
    .more = "The first operand is one of\n"
            "  step\n"
            "      chooses a random free action, adds it, recomputes magnitude, mean and deviation, resets "
            "finished scans\n"
            "  env\n"
            "      the same through l2sr.h, as other programs step: actions made on the device, actions from the "
            "host, observations in pinned memory, whole scans without waiting\n"
            "  network\n"
            "      the reconstructor's forward pass, of the U-Net or (reconstruct.method: varnet) the variational network of "
            "coils.simulate coils; --train: a whole update\n"
            "  policy\n"
            "      the forward pass of policy and critic; --train: a whole update\n"
            "  train\n"
            "      an update by back-propagation; for loupe and tau_step beside the reconstructor's "
            "alone\n"
            "  learn\n"
            "      L2S, from the rollout to the update, and the device memory that it takes; on the "
            "scene's data and reconstructor, else on random ones\n"
            "  pgmri\n"
            "      an update of PG-MRI, beside the passes of its networks alone\n"
            "  ddqn\n"
            "      actions of DDQN's scans and the updates after them, beside the passes of its networks alone\n"
            "  sums\n"
            "      sums of gradients over ranks, of 256 KiB to 171 MB, from card to card and through host memory\n"
            "  scaling FILE...\n"
            "      a model of efficiency over 1 to 128 cards, and where it ends, from the lines that bench sums, learn, train and pgmri print "
            "with --json under mpirun\n"
            "  roofline [network|policy|learn|step]\n"
            "      every kernel of a pass of that bench (network): its time, bytes and operations, and their shares of what the "
            "device copies and multiplies in that time\n"
            "  inference\n"
            "      operations and seconds a slice of every method at the settings of the scenes, one "
            "slice at a time and at the best number of them\n"
            "Results are checked before the clock starts.",
    .words = "step|env|network|policy|train|learn|pgmri|ddqn|sums|scaling|roofline|inference",
    .operands_least = 1,
    .operands_most = 64,
    .flags = flags,
    .run = run_bench,
};
