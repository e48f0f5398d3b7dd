#include "systems/scan/callback.h"

#include "engine/device/cuda.h"
#include "engine/device/host_memory.h"
#include "engine/files/store.h"
#include "kernels/kernels.h"
#include "systems/data/dataset.h"
#include "systems/scan/planes.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/slice_cache.h"
#include "systems/scan/systems.h"

#include <math.h>

/* An array of a batch: the device's memory, and where the function sees it. */
struct memory {
  size_t each;   /* bytes of a scan; 0: there is no such array */
  cl_mem buffer; /* of the device */
  struct host_memory host;
  struct cuda_memory shared; /* whose only piece is `buffer` */
};

struct caller {
  struct arena *arena;
  struct device *device;
  const struct callback_functions *callbacks;
  struct cuda *cuda;
  size_t chunk; /* scans at a time */
  struct memory memory[CALLBACK_ARRAYS];
  cl_mem taken, refused; /* scratch of planes; the first image that is none */
  size_t taken_bytes;
  struct callback_batch batch;
  uint32_t *slice;
  const char **path;
  size_t *number;
  float *values; /* numbers that the function gave */
};

/* ---- what is refused ------------------------------------------------------------------------------------ */

static bool refuse(const char *key, const char *function, const char *instead, struct error *error) {
  return fail_usage(error,
                    "%s names callback, a function of your own, and there is no function %s; name the file that has it by "
                    "--plugin FILE.py (or FILE.so), or set %s to %s",
                    key, function, key, instead);
}

static bool is_rewarded(const struct options *options) {
  return options->reward.metric == METRIC_CALLBACK;
}

bool callback_wanted(const struct options *options, const char **key, const char **function) {
  bool images = options->reconstruct.method == RECONSTRUCT_CALLBACK;
  *function = images ? "reconstruct" : "metric";
  *key = images ? "reconstruct.method" : is_rewarded(options) ? "reward.metric" : "evaluate.metrics";
  return images || is_rewarded(options) || option_has(options->evaluate.metrics, "callback");
}

bool callback_check(const struct simulation *simulation, struct error *error) {
  const struct callback_functions *callbacks = simulation->device->calls;
  component_set columns = simulation->scan.touched | simulation->candidates.list.touched | simulation->plan.columns;
  if (simulation->reconstruction->calls && !(callbacks && callbacks->reconstruct))
    return refuse("reconstruct.method", "reconstruct", "another method", error);
  if (!(columns & SET(ENV_callback)) || (callbacks && callbacks->metric)) return true;
  return refuse(is_rewarded(simulation->options) ? "reward.metric" : "evaluate.metrics", "metric", "other metrics", error);
}

const char *callback_name(const struct device *device) {
  const struct callback_functions *functions = device->calls;
  return functions ? functions->name : "";
}

bool callback_compare(const struct simulation *simulation, const char *path, bool sees_images, struct error *error) {
  struct store *store;
  char name[CALLBACK_NAME];
  if (simulation->reconstruction->calls) return true;
  if (!store_open(&store, path, error)) return false;
  bool called = store_text(store, "callback_reconstruct", name, sizeof name);
  store_close(store);
  if (called && sees_images)
    return fail_usage(error,
                      "%s looks at images, those of its training were made by reconstruct of %s, and here is no such function; "
                      "set reconstruct.method to callback, and name the file that has it by --plugin FILE.py (or FILE.so)",
                      path, name);
  if (called)
    log_warning("%s was trained with images by reconstruct of %s, and images here are by %s", path, name,
                simulation->reconstruction->name);
  return true;
}

/* ---- opening -------------------------------------------------------------------------------------------- */

/* Of the device's memory, what arrays of a batch take at most; CUDA's memory is one buffer of 510 MiB at most. */
enum { MEMORY_PART = 8 };
static const size_t shared_most = (size_t)510 << 20;

static bool reconstructs(const struct simulation *simulation) {
  return simulation->reconstruction->calls;
}

static bool scores(const struct simulation *simulation) {
  return world_has(simulation->world, ENV_callback) || (simulation->candidates.list.touched & SET(ENV_callback));
}

static void find_sizes(struct caller *caller, const struct simulation *simulation) {
  size_t pixels = world_shape(simulation->world, SHAPE_HW), image = sizeof(float) * pixels, coils = planes_coils(simulation);
  struct memory *memory = caller->memory;
  if (reconstructs(simulation)) {
    memory[CALLBACK_OBSERVATION].each = image;
    memory[CALLBACK_MASK].each = world_shape(simulation->world, SHAPE_A);
    memory[CALLBACK_KSPACE].each = 2 * coils * image;
    if (simulation->options->reconstruct.input == GIVEN_MAPS) memory[CALLBACK_MAPS].each = 2 * coils * image;
  }
  if (scores(simulation)) memory[CALLBACK_IMAGE].each = memory[CALLBACK_TARGET].each = image;
  if (scores(simulation) && *simulation->options->data.label) memory[CALLBACK_LABEL].each = sizeof(float);
  memory[CALLBACK_RESULT].each = image;
  caller->batch = (struct callback_batch){.place = caller->callbacks->place,
                                          .height = world_height(simulation->world),
                                          .width = world_width(simulation->world),
                                          .actions = world_shape(simulation->world, SHAPE_A),
                                          .coils = reconstructs(simulation) ? coils : 0,
                                          .device = caller->device};
}

/* Candidates of an oracle are taken as scans are. */
static void find_chunk(struct caller *caller, const struct simulation *simulation) {
  size_t envs = world_capacity(simulation->world, TABLE_ENV), most = simulation->options->network.batch, all = 0, largest = 1;
  for (int a = 0; a < CALLBACK_ARRAYS; a++) {
    all += caller->memory[a].each;
    if (caller->memory[a].each > largest) largest = caller->memory[a].each;
  }
  size_t room = caller->device->facts.memory / MEMORY_PART / all;
  if (caller->callbacks->place == CALLBACK_CUDA && room > shared_most / largest) room = shared_most / largest;
  caller->chunk = most < envs || (simulation->plan.deciders & DECIDES_ORACLE) ? most : envs;
  if (caller->chunk > room) caller->chunk = room ? room : 1;
}

static bool open_memory(struct caller *caller, enum callback_array array, struct error *error) {
  struct memory *memory = &caller->memory[array];
  struct device *device = caller->device;
  size_t bytes = caller->chunk * memory->each;
  const char *what = "the arrays of a callback";
  if (!bytes) return true;
  if (caller->callbacks->place == CALLBACK_CUDA) {
    if (!cuda_memory_open(caller->cuda, &memory->shared, bytes, what, caller->arena, error)) return false;
    memory->buffer = cuda_memory_buffer(&memory->shared);
    caller->batch.array[array] = (void *)(uintptr_t)memory->shared.address;
    return memory->buffer || fail_memory(error, "%s of a scan have %zu bytes, and CUDA's memory is shared in pieces of %zu "
                                                "at most; let the callback take host memory",
                                         what, memory->each, shared_most);
  }
  if (!(memory->buffer = device_buffer(device, bytes, what, error))) return false;
  caller->batch.array[array] = memory->buffer;
  if (caller->callbacks->place == CALLBACK_OPENCL) return true;
  if (!host_memory_open(&memory->host, device, bytes, what, "lower network.batch", error)) return false;
  caller->batch.array[array] = memory->host.data;
  return true;
}

static bool open_scratch(struct caller *caller, const struct simulation *simulation, struct error *error) {
  struct device *device = caller->device;
  caller->slice = ARENA_NEW(caller->arena, uint32_t, caller->chunk);
  caller->path = ARENA_NEW(caller->arena, const char *, caller->chunk);
  caller->number = ARENA_NEW(caller->arena, size_t, caller->chunk);
  caller->values = ARENA_NEW(caller->arena, float, caller->chunk);
  if (!(caller->refused = device_buffer(device, sizeof(uint32_t), "the arrays of a callback", error))) return false;
  if (!caller->batch.coils) return true;
  caller->taken_bytes = caller->chunk * world_shape(simulation->world, SHAPE_HW);
  caller->taken = device_buffer(device, caller->taken_bytes, "the arrays of a callback", error);
  return caller->taken && planes_need(simulation->kernels, error);
}

bool callback_open(struct simulation *simulation, struct error *error) {
  if (!reconstructs(simulation) && !scores(simulation)) return true;
  struct arena *arena = arena_open();
  struct caller *caller = simulation->caller = ARENA_NEW(arena, struct caller, 1);
  *caller = (struct caller){.arena = arena, .device = simulation->device, .callbacks = simulation->device->calls};
  find_sizes(caller, simulation);
  find_chunk(caller, simulation);
  if (caller->callbacks->place == CALLBACK_CUDA) {
    if (!cuda_open(&caller->cuda, caller->device, arena, error)) return false;
    caller->batch.cuda = cuda_number(caller->cuda);
  }
  for (int a = 0; a < CALLBACK_ARRAYS; a++)
    if (!open_memory(caller, (enum callback_array)a, error)) return false;
  return open_scratch(caller, simulation, error);
}

/* At any stage of opening. */
void callback_close(struct simulation *simulation) {
  struct caller *caller = simulation->caller;
  if (!caller) return;
  for (int a = 0; a < CALLBACK_ARRAYS; a++) {
    struct memory *memory = &caller->memory[a];
    host_memory_close(&memory->host, caller->device);
    if (caller->callbacks->place != CALLBACK_CUDA)
      device_release(caller->device, memory->buffer, caller->chunk * memory->each);
    else if (memory->shared.count)
      cuda_memory_close(caller->cuda, &memory->shared);
  }
  device_release(caller->device, caller->refused, sizeof(uint32_t));
  device_release(caller->device, caller->taken, caller->taken_bytes);
  cuda_close(caller->cuda);
  arena_close(caller->arena);
  simulation->caller = NULL;
}

/* ---- calling -------------------------------------------------------------------------------------------- */

/* Where the slices of the scans are from, once their numbers are there. */
static void find_slices(const struct simulation *simulation, size_t scans) {
  struct caller *caller = simulation->caller;
  slice_cache_slices(simulation, caller->slice, scans);
  for (size_t i = 0; i < scans; i++) {
    const struct slice_name *name = simulation->names ? &simulation->names[caller->slice[i]] : NULL;
    caller->path[i] = name ? simulation->volumes[name->volume].path : "";
    caller->number[i] = name ? name->slice : caller->slice[i];
  }
}

/* Copies between the device and the host; what is read is there after device_finish. */
static void move(struct caller *caller, enum callback_array array, bool to_host, size_t bytes) {
  struct device *device = caller->device;
  struct memory *memory = &caller->memory[array];
  if (!memory->host.buffer) return;
  if (to_host)
    device_fetch(device, memory->buffer, 0, bytes, memory->host.data);
  else
    CL(device, clEnqueueWriteBuffer(device->queue, memory->buffer, CL_FALSE, 0, bytes, memory->host.data, 0, NULL, NULL));
}

struct calling {
  const char *name;
  callback_function *function;
  const enum callback_array *arrays; /* that it gets, ended by CALLBACK_RESULT */
  size_t each;                       /* bytes of a scan's result */
};

/* The slice of a scan of the batch, for what is said of it. */
static void fail_at(struct caller *caller, const struct calling *calling, size_t scan, const char *what) {
  device_fail(caller->device, ERROR_DIVERGED, "%s of %s gave %s for slice %zu of %s; give finite numbers", calling->name,
              caller->callbacks->name, what, caller->number[scan], *caller->path[scan] ? caller->path[scan] : "the data");
}

static void call(struct world *world, const struct simulation *simulation, const struct calling *calling, size_t first,
                 size_t scans) {
  struct caller *caller = simulation->caller;
  struct device *device = caller->device;
  struct callback_batch batch = caller->batch;
  char fault[CALLBACK_FAULT] = "";
  struct error error;
  device_fetch(device, world_in(world, ENV_slice).as.m, sizeof *caller->slice * first, sizeof *caller->slice * scans, caller->slice);
  for (int a = 0; a < CALLBACK_RESULT; a++) batch.array[a] = NULL;
  for (const enum callback_array *array = calling->arrays; *array != CALLBACK_RESULT; array++) {
    if (!caller->memory[*array].each) continue;
    batch.array[*array] = caller->batch.array[*array];
    move(caller, *array, true, scans * caller->memory[*array].each);
  }
  if (!device_finish(device, &error)) return; /* waits once, for all that the function gets */
  find_slices(simulation, scans);
  batch.scans = scans;
  batch.slice = caller->slice;
  batch.path = caller->path;
  batch.number = caller->number;
  bool good = calling->function(&batch, fault, caller->callbacks->context);
  if (caller->cuda && !cuda_wait(caller->cuda, &error)) device_fail(device, error.code, "%s", error.text);
  if (!good)
    device_fail(device, ERROR_STOPPED, "%s of %s failed%s%s", calling->name, caller->callbacks->name, *fault ? ": " : "", fault);
  move(caller, CALLBACK_RESULT, false, scans * calling->each);
}

/* ---- images --------------------------------------------------------------------------------------------- */

static bool next_pass(struct world *world, void *context, size_t turn) {
  struct simulation *simulation = context;
  return pass_take(&simulation->pass, turn, world_rows(world, TABLE_ENV), simulation->caller->chunk);
}

const struct system system_repeat_callback = {.name = "passes",
                                              .doc = "scans that the program's function takes at a time",
                                              .covers = TABLE_BIT(TABLE_ENV),
                                              .next = next_pass};

/* Rows of a column become an array of the batch. */
static void take_rows(const struct caller *caller, struct arg column, enum callback_array array, size_t first, size_t scans) {
  size_t each = caller->memory[array].each;
  device_copy(caller->device, column.as.m, first * each, caller->memory[array].buffer, 0, scans * each);
}

static void run_data(struct world *world, void *context) {
  const struct simulation *simulation = context;
  const struct pass *pass = &simulation->pass;
  const struct caller *caller = simulation->caller;
  const struct memory *memory = caller->memory;
  take_rows(caller, world_in(world, ENV_reconstruction), CALLBACK_OBSERVATION, pass->first, pass->images);
  take_rows(caller, world_in(world, ENV_mask), CALLBACK_MASK, pass->first, pass->images);
  if (memory[CALLBACK_KSPACE].each)
    planes_kspace(world, simulation, caller->taken, memory[CALLBACK_KSPACE].buffer, pass->first, pass->images);
  if (memory[CALLBACK_MAPS].each) planes_maps(world, simulation, memory[CALLBACK_MAPS].buffer, pass->first, pass->images);
  world_touch(world, 0, SET(RECONSTRUCTOR_data));
}

/* The list adds the k-space and the maps that are asked for (systems/scan/reconstruction_lists.c). */
const struct system system_call_data = {
    .name = "call_data",
    .doc = "what the program's function gets: zero-filled images, masks, and what reconstruct.input says",
    .reads = SET(ENV_reconstruction) | SET(ENV_mask),
    .writes = SET(RECONSTRUCTOR_data),
    .run = run_data};

/* Takes the images, and waits to hear whether they all are some. */
static void take_images(struct world *world, struct caller *caller, const struct calling *calling, size_t first, size_t scans) {
  uint32_t refused = UINT32_MAX;
  device_fill(caller->device, caller->refused, 0, sizeof refused, UINT32_MAX);
  kernel_run(world_kernels(world), "view_check", scans,
             ARGS(arg_buffer(ARG_IN, ELEMENT_F32, caller->memory[CALLBACK_RESULT].buffer),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, caller->refused), arg_u32((uint32_t)world_shape(world, SHAPE_HW))));
  device_copy(caller->device, caller->memory[CALLBACK_RESULT].buffer, 0, world_part(world, ENV_reconstruction).as.m,
              first * calling->each, scans * calling->each);
  device_read(caller->device, caller->refused, 0, sizeof refused, &refused);
  if (refused < scans) fail_at(caller, calling, refused, "an image with pixels that are no finite numbers");
}

static void run_reconstruct(struct world *world, void *context) {
  static const enum callback_array arrays[] = {CALLBACK_OBSERVATION, CALLBACK_MASK, CALLBACK_KSPACE, CALLBACK_MAPS,
                                               CALLBACK_RESULT};
  const struct simulation *simulation = context;
  const struct pass *pass = &simulation->pass;
  struct caller *caller = simulation->caller;
  const struct calling calling = {"reconstruct", caller->callbacks->reconstruct, arrays, caller->memory[CALLBACK_RESULT].each};
  world_touch(world, SET(RECONSTRUCTOR_data), 0);
  call(world, simulation, &calling, pass->first, pass->images);
  take_images(world, caller, &calling, pass->first, pass->images);
}

const struct system system_call_reconstruct = {.name = "call_reconstruct",
                                               .doc = "the images that the program's function makes",
                                               .reads = SET(RECONSTRUCTOR_data) | SET(ENV_slice),
                                               .parts = SET(ENV_reconstruction),
                                               .calls = true,
                                               .kernels = {"view_check"},
                                               .run = run_reconstruct};

/* ---- numbers -------------------------------------------------------------------------------------------- */

static void take_pairs(struct world *world, const struct caller *caller, size_t first, size_t scans) {
  take_rows(caller, world_in(world, ENV_reconstruction), CALLBACK_IMAGE, first, scans);
  kernel_run(world_kernels(world), "env_target", scans,
             ARGS(world_in(world, ENV_slice), world_in(world, SLICE_image), world_in(world, SLICE_mean),
                  world_in(world, SLICE_std), arg_buffer(ARG_OUT, ELEMENT_F32, caller->memory[CALLBACK_TARGET].buffer),
                  arg_u32((uint32_t)first)));
  if (!caller->memory[CALLBACK_LABEL].each) return;
  kernel_run(world_kernels(world), "env_label", scans,
             ARGS(world_in(world, ENV_slice), world_in(world, SLICE_label),
                  arg_buffer(ARG_OUT, ELEMENT_F32, caller->memory[CALLBACK_LABEL].buffer), arg_u32((uint32_t)first)));
}

static void take_numbers(struct world *world, struct caller *caller, const struct calling *calling, size_t first,
                         size_t scans) {
  cl_mem numbers = caller->memory[CALLBACK_RESULT].buffer, to = world_out(world, ENV_callback).as.m;
  size_t bad = 0;
  device_copy(caller->device, numbers, 0, to, sizeof(float) * first, sizeof(float) * scans);
  device_read(caller->device, numbers, 0, sizeof(float) * scans, caller->values);
  while (bad < scans && isfinite(caller->values[bad])) bad++;
  if (bad < scans && !caller->device->failed) fail_at(caller, calling, bad, "a number that is not finite");
}

static void run_score(struct world *world, void *context) {
  static const enum callback_array arrays[] = {CALLBACK_IMAGE, CALLBACK_TARGET, CALLBACK_LABEL, CALLBACK_RESULT};
  const struct simulation *simulation = context;
  struct caller *caller = simulation->caller;
  const struct calling calling = {"metric", caller->callbacks->metric, arrays, sizeof(float)};
  struct pass pass;
  for (size_t turn = 0; pass_take(&pass, turn, world_rows(world, TABLE_ENV), caller->chunk); turn++) {
    take_pairs(world, caller, pass.first, pass.images);
    call(world, simulation, &calling, pass.first, pass.images);
    take_numbers(world, caller, &calling, pass.first, pass.images);
  }
}

/* simulation_add_score adds labels. */
const struct system system_score_callback = {
    .name = "score_callback",
    .doc = "the numbers that the program's function gives images",
    .reads = SET(ENV_slice) | SET(ENV_reconstruction) | SET(SLICE_image) | SET(SLICE_mean) | SET(SLICE_std),
    .writes = SET(ENV_callback),
    .calls = true,
    .kernels = {"env_target", "env_label"},
    .run = run_score};
