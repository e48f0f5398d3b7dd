/* Functions of a program's own in its scans: images, numbers, and the arrays that they are made of (l2sr.h). */
#include <CL/cl.h>
#include <l2sr.h>

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "public.h"

/* ---- waits for the device, which the library makes through these ------------------------------------------ */

static size_t waits;

static void find_next(const char *symbol, void *pointer) {
  void *found = dlsym(RTLD_NEXT, symbol);
  memcpy(pointer, &found, sizeof found);
}

cl_int clFinish(cl_command_queue queue) {
  cl_int (*next)(cl_command_queue queue);
  find_next("clFinish", &next);
  waits++;
  return next(queue);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes, void *to,
                           cl_uint count, const cl_event *events, cl_event *event) {
  cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *);
  find_next("clEnqueueReadBuffer", &next);
  waits += blocks == CL_TRUE;
  return next(queue, buffer, blocks, offset, bytes, to, count, events, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes, const void *from,
                            cl_uint count, const cl_event *events, cl_event *event) {
  cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *);
  find_next("clEnqueueWriteBuffer", &next);
  waits += blocks == CL_TRUE;
  return next(queue, buffer, blocks, offset, bytes, from, count, events, event);
}

enum { N = 32, SLICES = 3, ENVS = 4, COILS = 2, INITIAL = 2, BUDGET = 6, BATCH = 3, BATCHES = 2 };

static void expect_refused(enum l2sr_code code, enum l2sr_code wanted, const char *part, int line) {
  if (code != wanted || !strstr(l2sr_last_error(), part))
    fail_msg("line %d: %d, %s; expected %d and %s", line, (int)code, l2sr_last_error(), (int)wanted, part);
}
#define REFUSED(code, part, call) expect_refused(call, code, part, __LINE__)

static float kspace[SLICES][COILS][N][N][2];

/* Orthonormal, the middle of both spaces at [N / 2][N / 2]; sign -1: to k-space. */
static void transform(const float (*from)[N][2], double sign, double to[N][N][2]) {
  static double half[N][N][2];
  memset(half, 0, sizeof half);
  memset(to, 0, sizeof half);
  for (int y = 0; y < N; y++)
    for (int u = 0; u < N; u++)
      for (int x = 0; x < N; x++) {
        double turn = sign * 2 * M_PI * (x - N / 2) * (u - N / 2) / N, c = cos(turn), s = sin(turn);
        half[y][u][0] += (from[y][x][0] * c - from[y][x][1] * s) / sqrt(N);
        half[y][u][1] += (from[y][x][0] * s + from[y][x][1] * c) / sqrt(N);
      }
  for (int v = 0; v < N; v++)
    for (int u = 0; u < N; u++)
      for (int y = 0; y < N; y++) {
        double turn = sign * 2 * M_PI * (y - N / 2) * (v - N / 2) / N, c = cos(turn), s = sin(turn);
        to[v][u][0] += (half[y][u][0] * c - half[y][u][1] * s) / sqrt(N);
        to[v][u][1] += (half[y][u][0] * s + half[y][u][1] * c) / sqrt(N);
      }
}

/* Discs that two coils see from their sides. */
static void make_kspace(void) {
  static float image[N][N][2];
  static double transformed[N][N][2];
  for (int s = 0; s < SLICES; s++)
    for (int c = 0; c < COILS; c++) {
      for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
          double dx = x - 12 - 2 * s, dy = y - 15, disc = dx * dx + dy * dy < 60 ? 1 : 0.1 + 0.01 * ((3 * x + y) % 7);
          image[y][x][0] = (float)(disc * (c ? 0.3 + 0.02 * x : 1.1 - 0.02 * x));
          image[y][x][1] = (float)(disc * 0.2 * c);
        }
      transform((const float(*)[N][2])image, -1, transformed);
      for (int i = 0; i < N * N * 2; i++) (&kspace[s][c][0][0][0])[i] = (float)(&transformed[0][0][0])[i];
    }
}

static const float labels[SLICES] = {0.5f, 1, -3};
static const struct l2sr_slices slices = {.bytes = sizeof slices, .values = &kspace[0][0][0][0][0], .count = SLICES,
                                          .coils = COILS, .height = N, .width = N, .label = labels};
static const char *const overrides[] = {
    "data.size=32",          "data.kspace=measured",    "acquisition.acceleration=4", "acquisition.horizon=long",
    "acquisition.initial_lines=2", "network.batch=3", "reconstruct.method=callback", "reconstruct.input=maps",
    "coils.maps=ones",       "reward.metric=callback",  "evaluate.metrics=[ssim,callback]"};
enum { METHOD = 6, METRIC = 9 }; /* of these */

/* What the functions have seen, and what they are to do. */
struct seen {
  size_t images, numbers, most;
  double error;
  enum { DO_WELL, DO_FAIL, DO_NAN, DO_NO_NUMBER } does;
};

static double rss_error(const struct l2sr_batch *batch, size_t scan) {
  static double coil[COILS][N][N][2];
  const float *planes = batch->kspace, *seen = (const float *)batch->observation + scan * N * N;
  double worst = 0;
  for (size_t c = 0; c < COILS; c++)
    transform((const float(*)[N][2])(planes + (scan * COILS + c) * N * N * 2), 1, coil[c]);
  for (int i = 0; i < N * N; i++) {
    double sum = 0;
    for (int c = 0; c < COILS; c++) {
      const double *value = &coil[c][0][0][0] + 2 * i;
      sum += value[0] * value[0] + value[1] * value[1];
    }
    worst = fmax(worst, fabs(sqrt(sum) - (double)seen[i]));
  }
  return worst;
}

/* Half of the zero-filled image, which is that of the planes; what is not acquired is 0 there. */
static int reconstruct(const struct l2sr_batch *batch, void *context) {
  struct seen *seen = context;
  const float *observation = batch->observation, *planes = batch->kspace, *maps = batch->maps;
  if (seen->does == DO_FAIL) return snprintf(batch->fault, L2SR_FAULT, "no weights here");
  if (batch->coils != COILS || batch->image || batch->label || !batch->path[0] || batch->bytes < sizeof *batch) return 1;
  for (size_t scan = 0; scan < batch->scans; scan++) {
    seen->error = fmax(seen->error, rss_error(batch, scan));
    for (size_t i = 0; i < COILS * N * N; i++) {
      size_t at = scan * COILS * N * N + i;
      bool taken = ((const uint8_t *)batch->acquired)[scan * N + i % N];
      if ((!taken && (planes[2 * at] != 0 || planes[2 * at + 1] != 0)) || maps[2 * at] != 1 || maps[2 * at + 1] != 0) return 1;
    }
    if (strcmp(batch->path[scan], "memory") && batch->slice[scan] >= SLICES) return 1;
  }
  for (size_t i = 0; i < batch->scans * N * N; i++) ((float *)batch->result)[i] = observation[i] / 2;
  if (seen->does == DO_NAN) ((float *)batch->result)[N * N + 5] = NAN;
  seen->images += batch->scans;
  if (batch->scans > seen->most) seen->most = batch->scans;
  return 0;
}

/* Minus the mean absolute difference. */
static int score(const struct l2sr_batch *batch, void *context) {
  struct seen *seen = context;
  const float *image = batch->image, *target = batch->target, *label = batch->label;
  if (batch->observation || batch->kspace || !label) return 1;
  for (size_t scan = 0; scan < batch->scans; scan++) {
    if (label[scan] != labels[batch->slice[scan]]) return 1;
    double sum = 0;
    for (size_t i = scan * N * N; i < (scan + 1) * N * N; i++) sum += fabs((double)image[i] - (double)target[i]);
    ((float *)batch->result)[scan] = seen->does == DO_NO_NUMBER ? NAN : (float)(-sum / (N * N));
  }
  seen->numbers += batch->scans;
  return 0;
}

static struct l2sr_callbacks callbacks_of(struct seen *seen) {
  return (struct l2sr_callbacks){
      .bytes = sizeof(struct l2sr_callbacks), .name = "my network", .reconstruct = reconstruct, .metric = score, .context = seen};
}

static struct l2sr_config config_of(const struct l2sr_callbacks *callbacks) {
  return (struct l2sr_config){.bytes = sizeof(struct l2sr_config),
                              .overrides = overrides,
                              .override_count = sizeof overrides / sizeof *overrides,
                              .slices = &slices,
                              .envs = ENVS,
                              .autoreset = L2SR_RESET_SAME_STEP,
                              .callbacks = callbacks};
}

static void step_by(l2sr_env *env, uint32_t action) {
  const uint32_t actions[ENVS] = {action, action, action, action};
  GOOD(l2sr_env_step(env, actions));
}

static double difference(const float *image, const float *target) {
  double sum = 0;
  for (size_t i = 0; i < N * N; i++) sum += fabs((double)image[i] - (double)target[i]);
  return -sum / (N * N);
}

/* At their end, all of what the functions have made of the scans is there. */
static void expect_end(l2sr_env *env) {
  static float image[ENVS][N * N], target[ENVS][N * N];
  float reward[ENVS], number[ENVS];
  uint8_t acquired[ENVS][N];
  GOOD(l2sr_env_read(env, L2SR_FINAL_RECONSTRUCTION, image, sizeof image));
  GOOD(l2sr_env_read(env, L2SR_FINAL_TARGET, target, sizeof target));
  GOOD(l2sr_env_read(env, L2SR_FINAL_ACQUIRED, acquired, sizeof acquired));
  GOOD(l2sr_env_read(env, L2SR_REWARD, reward, sizeof reward));
  GOOD(l2sr_env_read(env, L2SR_CALLBACK, number, sizeof number));
  for (int i = 0; i < ENVS; i++) {
    int count = 0;
    assert_true(fabs(difference(image[i], target[i]) - (double)number[i]) < 1e-5);
    assert_true(fabsf(number[i] - reward[i]) < 1e-6f && number[i] < -0.05f);
    for (int a = 0; a < N; a++) count += acquired[i][a];
    assert_int_equal(count, INITIAL + BUDGET);
  }
}

/* Scans of environment i are 0 + i, then ENVS + i, of the slices in turn. */
static void expect_labels(l2sr_env *env) {
  float now[ENVS], last[ENVS];
  GOOD(l2sr_env_read(env, L2SR_LABEL, now, sizeof now));
  GOOD(l2sr_env_read(env, L2SR_FINAL_LABEL, last, sizeof last));
  for (int i = 0; i < ENVS; i++) assert_true(last[i] == labels[i % SLICES] && now[i] == labels[(ENVS + i) % SLICES]);
}

static void images_and_rewards_are_the_programs(void **state) {
  static float planes[ENVS][COILS][N][N][2], maps[ENVS][COILS][N][N][2];
  struct l2sr_shape shape = {.bytes = sizeof shape};
  struct seen seen = {0};
  struct l2sr_callbacks callbacks = callbacks_of(&seen);
  struct l2sr_config config = config_of(&callbacks);
  l2sr_env *env;
  (void)state;
  GOOD(l2sr_env_open(&config, &env));
  GOOD(l2sr_env_shape(env, L2SR_KSPACE, &shape));
  assert_int_equal(shape.element, L2SR_C64);
  assert_int_equal(shape.rank, 4);
  assert_int_equal(shape.total, sizeof planes);
  GOOD(l2sr_env_shape(env, L2SR_FINAL_TARGET, &shape));
  GOOD(l2sr_env_shape(env, L2SR_FINAL_ACQUIRED, &shape));
  GOOD(l2sr_env_shape(env, L2SR_FINAL_RECONSTRUCTION, &shape));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  GOOD(l2sr_env_shape(env, L2SR_FINAL_LABEL, &shape));
  for (uint32_t t = 0; t < BUDGET; t++) {
    GOOD(l2sr_env_read(env, L2SR_KSPACE, planes, sizeof planes));
    for (int i = 0; i < N * N; i++) { /* of slice 0, lines that are acquired */
      bool taken = i % N < (int)t || i % N == N / 2 || i % N == N / 2 - 1;
      float expected = taken ? (&kspace[0][1][0][0][0])[2 * i] : 0;
      assert_true(fabsf((&planes[0][1][0][0][0])[2 * i] - expected) < 1e-4f);
    }
    step_by(env, t);
  }
  expect_end(env);
  expect_labels(env);
  GOOD(l2sr_env_read(env, L2SR_MAPS, maps, sizeof maps));
  assert_true(maps[ENVS - 1][1][3][4][0] == 1 && maps[0][0][3][4][1] == 0);
  assert_int_equal(seen.images, ENVS);
  assert_int_equal(seen.numbers, ENVS);
  assert_int_equal(seen.most, BATCH);
  assert_true(seen.error < 1e-4);
  waits = 0;
  GOOD(l2sr_env_reconstruct(env));
  assert_int_equal(waits, 2 * BATCHES + 1); /* before a function and after it; and of the call */
  GOOD(l2sr_env_close(env));
}

/* What fails in a function is told by its name, and the handle goes no further. */
static void faults_are_told(void **state) {
  static const struct {
    int does;
    enum l2sr_code code;
    const char *text;
  } faults[] = {{DO_FAIL, L2SR_STOPPED, "reconstruct of my network failed: no weights here"},
                {DO_NAN, L2SR_DIVERGED, "reconstruct of my network gave an image with pixels that are no finite numbers for slice"},
                {DO_NO_NUMBER, L2SR_DIVERGED, "metric of my network gave a number that is not finite for slice"}};
  struct seen seen = {0};
  struct l2sr_callbacks callbacks = callbacks_of(&seen);
  struct l2sr_config config = config_of(&callbacks);
  l2sr_table *table;
  l2sr_env *env;
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    seen.does = DO_WELL;
    GOOD(l2sr_env_open(&config, &env));
    GOOD(l2sr_env_reset(env, NULL, NULL));
    GOOD(l2sr_env_score(env));
    seen.does = faults[i].does;
    REFUSED(faults[i].code, faults[i].text, l2sr_env_score(env));
    REFUSED(L2SR_DEVICE_FAILED, "can only be closed: ", l2sr_env_reset(env, NULL, NULL));
    GOOD(l2sr_env_close(env));
    REFUSED(faults[i].code, faults[i].text, l2sr_evaluate(&config, &table));
    assert_null(table);
  }
}

static void what_is_not_there_is_refused(void **state) {
  const char *all[sizeof overrides / sizeof *overrides];
  struct seen seen = {0};
  struct l2sr_callbacks callbacks = callbacks_of(&seen);
  struct l2sr_config config = config_of(NULL);
  struct l2sr_shape shape = {.bytes = sizeof shape};
  struct l2sr_slices bare = slices;
  l2sr_env *env;
  (void)state;
  bare.label = NULL;
  REFUSED(L2SR_WRONG_USAGE, "reconstruct.method names callback", l2sr_env_open(&config, &env));
  config.callbacks = &callbacks;
  callbacks.metric = NULL;
  REFUSED(L2SR_WRONG_USAGE, "reward.metric names callback", l2sr_env_open(&config, &env));
  callbacks.place = (enum l2sr_place)7;
  REFUSED(L2SR_WRONG_USAGE, "place 7", l2sr_env_open(&config, &env));
  callbacks = callbacks_of(&seen);
  callbacks.bytes = 0;
  REFUSED(L2SR_WRONG_CALL, "struct l2sr_callbacks has bytes 0", l2sr_env_open(&config, &env));
  memcpy(all, overrides, sizeof all);
  all[METHOD] = "reconstruct.method=auto";
  all[METHOD + 1] = "reconstruct.input=kspace";
  all[METRIC] = "reward.metric=ssim";
  all[METRIC + 1] = "evaluate.metrics=[ssim]";
  config.callbacks = NULL;
  config.overrides = all;
  config.slices = &bare;
  GOOD(l2sr_env_open(&config, &env));
  GOOD(l2sr_env_shape(env, L2SR_KSPACE, &shape)); /* without a function, too */
  REFUSED(L2SR_WRONG_USAGE, "reconstruct.input is kspace; set it to maps", l2sr_env_shape(env, L2SR_MAPS, &shape));
  REFUSED(L2SR_WRONG_USAGE, "there is no array label: data.label is empty", l2sr_env_shape(env, L2SR_LABEL, &shape));
  GOOD(l2sr_env_reset(env, NULL, NULL));
  REFUSED(L2SR_WRONG_USAGE, "planes of coils", l2sr_env_draw(env, L2SR_KSPACE, 0, "none.png"));
  GOOD(l2sr_env_close(env));
}

/* Buffers of the device go through its queue. */
static int copy_buffers(const struct l2sr_batch *batch, void *context) {
  size_t bytes = sizeof(float) * batch->scans * batch->height * batch->width;
  (void)context;
  return clEnqueueCopyBuffer(batch->queue, (cl_mem)batch->observation, batch->result, 0, 0, bytes, 0, NULL, NULL);
}

static void an_oracle_tries_what_functions_make(void **state) {
  const char *all[sizeof overrides / sizeof *overrides + 2];
  struct l2sr_run run = {.bytes = sizeof run}, own = {.bytes = sizeof own};
  struct seen seen = {0};
  struct l2sr_callbacks callbacks = callbacks_of(&seen);
  struct l2sr_config config = config_of(&callbacks);
  l2sr_table *table, *others;
  (void)state;
  callbacks.place = L2SR_PLACE_OPENCL;
  callbacks.reconstruct = copy_buffers;
  memcpy(all, overrides, sizeof overrides);
  all[METRIC] = "reward.metric=ssim";
  all[METRIC + 1] = "evaluate.metrics=[ssim]";
  all[config.override_count++] = "evaluate.samplers=[oracle]";
  all[config.override_count++] = "evaluate.images=true";
  config.overrides = all;
  GOOD(l2sr_evaluate(&config, &table));
  all[METHOD] = "reconstruct.method=auto"; /* the same image */
  GOOD(l2sr_evaluate(&config, &others));
  GOOD(l2sr_table_run(table, 0, &own));
  GOOD(l2sr_table_run(others, 0, &run));
  assert_memory_equal(own.action, run.action, sizeof(uint32_t) * SLICES * BUDGET);
  assert_memory_equal(own.images, run.images, sizeof(float) * SLICES * N * N);
  for (size_t m = 0; m < run.metrics; m++) assert_true(run.metric[m] != L2SR_CALLBACK || !run.scores[m]);
  GOOD(l2sr_table_close(table));
  GOOD(l2sr_table_close(others));
}

int main(void) {
  make_kspace();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(images_and_rewards_are_the_programs), cmocka_unit_test(faults_are_told),
      cmocka_unit_test(what_is_not_there_is_refused), cmocka_unit_test(an_oracle_tries_what_functions_make)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
