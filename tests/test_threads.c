/* Two worlds at once: two threads, each with a device (and so an OpenCL context) of its own, give the same
 * bytes as one after the other. Under ThreadSanitizer: CONTRIBUTING.md, Tests. */
#include "engine/device/fft.h"
#include "engine/files/probe.h"
#include "systems/data/phantom.h"
#include "systems/methods/fit.h"
#include "systems/methods/method.h"
#include "systems/networks/tau.h"
#include "tests/scans.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 32, SLICES = 4, ENVS = 24, THREADS = 2, RESULTS_MOST = 16 };

static struct folder folder;

/* Memory that must be the same in every run. */
struct result {
  const char *what;
  const void *data;
  size_t bytes;
};

/* The work of one thread, and its results. */
struct job {
  uint32_t seed;
  const char *name; /* of the run */
  struct arena *arena;
  struct device device;
  struct result result[RESULTS_MOST];
  size_t results;
  pthread_t thread;
};

static void keep(struct job *job, const char *what, const void *data, size_t bytes) {
  REQUIRE(job->results < RESULTS_MOST, "more than %d results", RESULTS_MOST);
  job->result[job->results++] = (struct result){what, data, bytes};
}

static void keep_parameters(struct job *job, const struct graph *graph) {
  size_t bytes = sizeof(float) * graph->elements;
  void *data = arena_new(job->arena, bytes);
  device_read(&job->device, graph->values, 0, bytes, data);
  keep(job, "parameters", data, bytes);
}

static void keep_column(struct job *job, struct world *world, unsigned column) {
  size_t rows = world_rows(world, TABLE_ROLLOUT), bytes = rows * world_column_bytes(world, column);
  void *data = arena_new(job->arena, bytes);
  support_get(world, column, 0, rows, data);
  keep(job, world_schema(world)->components[column].name, data, bytes);
}

/* ---- work ---------------------------------------------------------------------------------------------- */

static void set_options(struct job *job, struct options *options, enum train_method method) {
  option_defaults(&option_table, options, job->arena);
  options->world.seed = job->seed;
  options->data.path = arena_text(job->arena, "%s/data", folder.path);
  options->data.size = option_square(N);
  options->network.channels = 4;
  options->network.pools = 2;
  options->tau.hidden = 8;
  options->train.method = method;
  options->train.batch = 5;
  options->train.epochs = 2;
  options->train.output = arena_text(job->arena, "%s/%u-%d", folder.path, job->seed, (int)method);
}

/* Reads volumes, trains for two epochs and writes checkpoints. These hold the length of a log with times in
 * it: what is compared are the parameters. They name their folder, too: a run's is moved away, for the next
 * one has the same. */
static void train(struct job *job, enum train_method method) {
  struct options options;
  struct training training;
  struct training_config config = {.kernel_folder = ""};
  struct error error;
  set_options(job, &options, method);
  config.task = method_of(&options)->stages[0];
  config.folder = options.train.output;
  assert_good(training_open(&training, &job->device, &options, &config, &error), &error);
  assert_good(trainer_run(&training, &error), &error);
  const struct history *history = &training.validations;
  size_t bytes = sizeof(double) * history->count;
  double *values = arena_new(job->arena, EPOCH_VALUES * bytes);
  for (size_t v = 0; v < EPOCH_VALUES; v++) memcpy(values + v * history->count, history->value[v], bytes);
  keep(job, "validations", values, EPOCH_VALUES * bytes);
  keep_parameters(job, training.reconstructor.graph);
  if (training.task == &task_tau_step) keep_parameters(job, training_tau(&training)->graph);
  training_close(&training);
  const char *place = arena_text(job->arena, "%s-%s", options.train.output, job->name);
  assert_int_equal(rename(options.train.output, place), 0);
}

static void scan(struct job *job, enum acquisition_geometry geometry, const char *sampler) {
  struct scene scene;
  plan_scene(&scene, geometry, N, 4, "base");
  open_scene(&scene, &job->device, ENVS, SLICES);
  run_scans(&scene, sampler, job->seed, ENVS);
  keep_column(job, scene.simulation.world, ROLLOUT_action);
  keep_column(job, scene.simulation.world, ROLLOUT_ssim);
  close_scene(&scene);
}

static void *work(void *context) {
  struct job *job = context;
  struct error error;
  job->arena = arena_open();
  assert_good(device_open(&job->device, "", &error), &error);
  assert_good(fft_library_open(&error), &error);
  scan(job, GEOMETRY_SPOKES, "random");
  train(job, METHOD_RECONSTRUCTOR);
  scan(job, GEOMETRY_LINES, "variable_density");
  train(job, METHOD_TAU_STEP);
  fft_library_close();
  device_close(&job->device);
  return NULL;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void set_jobs(struct job job[THREADS], const char *name) {
  for (uint32_t t = 0; t < THREADS; t++) job[t] = (struct job){.seed = 3 + t, .name = name};
}

static void compare_jobs(const struct job *a, const struct job *b) {
  assert_int_equal(a->results, b->results);
  for (size_t r = 0; r < a->results; r++) {
    assert_int_equal(a->result[r].bytes, b->result[r].bytes);
    if (memcmp(a->result[r].data, b->result[r].data, a->result[r].bytes))
      fail_msg("%s differs from %s", a->result[r].what, b->result[r].what);
  }
}

/* Runs both at once first: then both make what libraries and the child keep of a first use. */
static void two_worlds_at_once_give_what_each_gives_alone(void **state) {
  struct job alone[THREADS], together[THREADS];
  (void)state;
  set_jobs(alone, "alone");
  set_jobs(together, "together");
  for (int t = 0; t < THREADS; t++)
    assert_int_equal(pthread_create(&together[t].thread, NULL, work, &together[t]), 0);
  for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(together[t].thread, NULL), 0);
  for (int t = 0; t < THREADS; t++) work(&alone[t]);
  for (int t = 0; t < THREADS; t++) {
    compare_jobs(&alone[t], &together[t]);
    arena_close(alone[t].arena);
    arena_close(together[t].arena);
  }
}

static int open_folder(void **state) {
  struct options options;
  struct error error;
  (void)state;
  support_open_folder(&folder);
  option_defaults(&option_table, &options, folder.arena);
  support_set_phantoms(&options, N, SLICES);
  probe_with(getenv("L2SR_PROGRAM"));
  return !phantom_write(&options, support_path(&folder, "data"), &error);
}

static int close_folder(void **state) {
  (void)state;
  probe_with(NULL);
  support_close_folder(&folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_worlds_at_once_give_what_each_gives_alone),
  };
  return cmocka_run_group_tests(tests, open_folder, close_folder);
}
