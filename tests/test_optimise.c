/* Optimisers against scalar double references over several steps, clipping, schedules. */
#include "engine/base/random.h"
#include "engine/graph/optimise.h"
#include "kernels/kernels.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { STEPS = 6, COUNT = 3 * 5 };

struct bench {
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  struct optimiser optimiser;
  const struct parameter *weight;
};

static void open_bench(struct bench *bench, struct device *device, const struct optimiser_setup *setup) {
  struct error error;
  struct kernel_setup kernel_setup = {32, 32, false, ""};
  *bench = (struct bench){.device = device};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &kernel_setup, &error), &error);
  struct graph_setup plan = {device, bench->kernels, 1, true, false, NULL};
  graph_open(&bench->graph);
  linear(bench->graph, graph_input(bench->graph, "input", 5, 1, 1), "dense", 3);
  assert_good(graph_plan(bench->graph, &plan, &error), &error);
  graph_start(bench->graph, 5);
  assert_good(optimise_open(&bench->optimiser, bench->graph, setup, &error), &error);
  bench->weight = graph_find(bench->graph, "dense.weight");
  assert_int_equal(bench->weight->count, COUNT);
}

static void close_bench(struct bench *bench) {
  optimise_close(&bench->optimiser);
  graph_close(bench->graph);
  kernels_close(bench->kernels);
}

/* ---- references ---------------------------------------------------------------------------------------- */

struct scalar {
  double value, first, second;
};

static void step_adam(const struct optimiser_setup *s, struct scalar *p, double slope, double rate,
                      int step) {
  p->first = s->beta1 * p->first + (1 - s->beta1) * slope;
  p->second = s->beta2 * p->second + (1 - s->beta2) * slope * slope;
  double mean = p->first / (1 - pow(s->beta1, step)), square = p->second / (1 - pow(s->beta2, step));
  p->value -= rate * mean / (sqrt(square) + s->epsilon);
}

static void step_rmsprop(const struct optimiser_setup *s, struct scalar *p, double slope, double rate,
                         int step) {
  if (step == 1 && s->kind == OPTIMISER_RMSPROP_TF) p->second = 1;
  p->second = s->beta2 * p->second + (1 - s->beta2) * slope * slope;
  p->value -= rate * slope /
              (s->kind == OPTIMISER_RMSPROP_TF ? sqrt(p->second + s->epsilon) : sqrt(p->second) + s->epsilon);
}

static void step_sgd(const struct optimiser_setup *s, struct scalar *p, double slope, double rate, int step) {
  p->first = step == 1 ? slope : s->beta1 * p->first + slope;
  p->value -= rate * p->first;
}

static void step_scalars(const struct optimiser_setup *s, struct scalar *p, const float *gradient,
                         double rate, int step) {
  static void (*const by_kind[])(const struct optimiser_setup *, struct scalar *, double, double,
                                 int) = {step_adam, step_rmsprop, step_rmsprop, step_sgd};
  double square = 0, scale = 1;
  for (int i = 0; i < COUNT; i++) square += (double)gradient[i] * gradient[i];
  if (s->clip > 0) scale = fmin(1, s->clip / (sqrt(square) + 1e-6));
  for (int i = 0; i < COUNT; i++)
    by_kind[s->kind](s, &p[i], scale * gradient[i] + s->decay * p[i].value, rate, step);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static void check_values(const struct bench *bench, const struct scalar *expected, int step) {
  float found[COUNT];
  device_read(bench->device, bench->weight->value, 0, sizeof found, found);
  for (int i = 0; i < COUNT; i++)
    if (fabs(found[i] - expected[i].value) > 1e-6 * (1 + fabs(expected[i].value)))
      fail_msg("value %d is %.9g after step %d, expected %.9g", i, (double)found[i], step, expected[i].value);
}

static void check_steps(struct device *device, const struct optimiser_setup *setup) {
  struct bench bench;
  struct scalar expected[COUNT] = {{0}};
  struct random random;
  float values[COUNT], gradient[COUNT];
  open_bench(&bench, device, setup);
  random_start(&random, 9, STREAM_PHANTOM, 0);
  device_read(device, bench.weight->value, 0, sizeof values, values);
  for (int i = 0; i < COUNT; i++) expected[i].value = values[i];
  for (int step = 1; step <= STEPS; step++) {
    for (int i = 0; i < COUNT; i++) gradient[i] = (float)(random_normal(&random) * pow(10, step - 4));
    device_write(device, bench.weight->gradient, 0, sizeof gradient, gradient);
    bench.optimiser.rate = rate_at(&(struct rate_schedule){.factor = 0.5, .every = 2}, setup->rate, (uint64_t)step - 1);
    step_scalars(setup, expected, gradient, bench.optimiser.rate, step);
    optimise_step(&bench.optimiser);
    check_values(&bench, expected, step);
  }
  assert_int_equal(bench.optimiser.step, STEPS);
  close_bench(&bench);
}

static void test_steps(void **state) {
  for (int kind = OPTIMISER_ADAM; kind <= OPTIMISER_SGD; kind++) {
    struct optimiser_setup setup = optimise_defaults((enum optimiser_kind)kind, 1e-2);
    check_steps(*state, &setup);
    setup.decay = 0.1;
    setup.clip = 0.5;
    setup.epsilon = 1e-5;
    if (kind == OPTIMISER_SGD) setup.beta1 = 0.9;
    check_steps(*state, &setup);
  }
}

static void test_norm(void **state) {
  struct bench bench;
  struct error error;
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_SGD, 1);
  float gradient[COUNT] = {0}, before[COUNT], after[COUNT];
  double norm;
  setup.clip = 2;
  gradient[3] = 3;
  gradient[7] = -4;
  open_bench(&bench, *state, &setup);
  device_read(bench.device, bench.weight->value, 0, sizeof before, before);
  device_write(bench.device, bench.weight->gradient, 0, sizeof gradient, gradient);
  optimise_step(&bench.optimiser);
  assert_good(optimise_norm(&bench.optimiser, &norm, &error), &error);
  device_read(bench.device, bench.weight->value, 0, sizeof after, after);
  assert_true(fabs(norm - 5) < 1e-6);
  assert_true(fabsf(before[3] - after[3] - 1.2f) < 1e-6f); /* 3 * 2/5 */
  assert_true(fabsf(before[7] - after[7] + 1.6f) < 1e-6f);
  assert_true(before[0] == after[0]);
  close_bench(&bench);
}

/* The norm is computed when asked for where nothing clips, and the next step is as if it had not been. */
static void test_norm_without_clip(void **state) {
  struct bench bench;
  struct error error;
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_SGD, 1);
  float gradient[COUNT] = {[3] = 3, [7] = -4}, before[COUNT], after[COUNT];
  double norm;
  open_bench(&bench, *state, &setup);
  device_read(bench.device, bench.weight->value, 0, sizeof before, before);
  device_write(bench.device, bench.weight->gradient, 0, sizeof gradient, gradient);
  for (int step = 0; step < 2; step++) {
    optimise_step(&bench.optimiser);
    assert_good(optimise_norm(&bench.optimiser, &norm, &error), &error);
    assert_true(fabs(norm - 5) < 1e-6);
  }
  device_read(bench.device, bench.weight->value, 0, sizeof after, after);
  assert_true(fabsf(before[3] - after[3] - 6) < 1e-5f);
  close_bench(&bench);
}

/* The gaps between tensors of the flat buffers stay zero, so norms and checkpoints do not see them. */
static void test_gaps(void **state) {
  struct bench bench;
  struct optimiser_setup setup = optimise_defaults(OPTIMISER_ADAM, 1e-2);
  float flat[1024], gradient[COUNT] = {1};
  open_bench(&bench, *state, &setup);
  assert_true(bench.graph->elements <= 1024);
  device_write(bench.device, bench.weight->gradient, 0, sizeof gradient, gradient);
  optimise_step(&bench.optimiser);
  device_read(bench.device, bench.graph->values, 0, sizeof(float) * bench.graph->elements, flat);
  for (size_t i = bench.weight->offset + COUNT; i < graph_find(bench.graph, "dense.bias")->offset; i++)
    assert_true(flat[i] == 0);
  close_bench(&bench);
}

static void test_schedules(void **state) {
  const struct rate_schedule steps = {.factor = 0.1, .every = 40}, milestones = {.factor = 0.5, .milestones = "10,20,30"};
  (void)state;
  assert_true(fabs(rate_at(&steps, 1e-3, 39) - 1e-3) < 1e-15);
  assert_true(fabs(rate_at(&steps, 1e-3, 40) - 1e-4) < 1e-15);
  assert_true(fabs(rate_at(&steps, 1e-3, 80) - 1e-5) < 1e-15);
  assert_true(fabs(rate_at(&milestones, 1, 9) - 1) < 1e-15);
  assert_true(fabs(rate_at(&milestones, 1, 10) - 0.5) < 1e-15);
  assert_true(fabs(rate_at(&milestones, 1, 99) - 0.125) < 1e-15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_norm),
      cmocka_unit_test(test_norm_without_clip),
      cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_schedules),
  };
  return cmocka_run_group_tests_name("optimise", tests, support_open_device, support_close_device);
}
