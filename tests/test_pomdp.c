/* A scan whose best policy is known in closed form, learnt by A2C and by PPO through the kernels that train
 * the real one.
 *
 * Line 0 says of which class the scan is and is worth nothing else; each class has two good lines. With three
 * lines to acquire, a scan is worth 1 when both good ones are among them, else 0, paid with the last line.
 * Whoever does not look at the class first is right once in three; the best policy looks, then takes the two:
 * it is worth 1 for every scan. */
#include "engine/graph/optimise.h"
#include "kernels/kernels.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { LINES = 8, CLASSES = 3, FEATURES = 1 + CLASSES, STEPS = 3, SCANS = 192, ROWS = STEPS * SCANS };

struct learner {
  float clip; /* 0: A2C */
  int updates, epochs, parts;
  double rate;
};

struct bench {
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  struct optimiser optimiser;
  tensor features, mask, logits, value;
  cl_mem scan, step, chosen, chance;                          /* one for each running scan */
  cl_mem order, action, log_prob, values, reward, done, last; /* columns of the rollout */
  cl_mem advantage, target, terms;
  uint32_t actions[ROWS], first_scan;
};

/* ---- the scans, on the host ---------------------------------------------------------------------------- */

static uint32_t class_of(uint32_t scan) {
  return random_words(5, STREAM_PHANTOM, scan, 0).word[0] % CLASSES;
}

static bool is_good(uint32_t scan, uint32_t line) {
  return line > 0 && line <= 2 * CLASSES && (line - 1) / 2 == class_of(scan);
}

static float worth(const struct bench *bench, size_t env) {
  int good = 0;
  for (size_t t = 0; t < STEPS; t++)
    good += is_good(bench->first_scan + (uint32_t)env, bench->actions[t * SCANS + env]);
  return good == 2;
}

/* The policy's view of a scan after `step` of its lines: the mask, and the class if line 0 is in it. */
static void observe(const struct bench *bench, size_t env, size_t step, float *features, float *mask) {
  memset(features, 0, sizeof(float) * FEATURES);
  memset(mask, 0, sizeof(float) * LINES);
  features[0] = 1;
  for (size_t t = 0; t < step; t++) mask[bench->actions[t * SCANS + env]] = 1;
  if (mask[0] > 0) features[1 + class_of(bench->first_scan + (uint32_t)env)] = 1;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static void build(struct bench *bench) {
  struct graph *graph;
  graph_open(&graph);
  bench->graph = graph;
  bench->features = graph_input(graph, "features", FEATURES, 1, 1);
  bench->mask = graph_input(graph, "mask", LINES, 1, 1);
  bench->logits = graph_orthogonal(graph, linear(graph, bench->features, "actor", LINES), 0.1);
  graph_output(graph, bench->logits);
  tensor all = concat(graph, bench->mask, bench->logits);
  bench->value = graph_orthogonal(graph, linear(graph, all, "critic", 1), 1);
}

static cl_mem column(struct bench *bench, size_t rows) {
  struct error error;
  cl_mem made = device_buffer(bench->device, sizeof(uint32_t) * rows, "a column", &error);
  assert_good(made, &error);
  device_fill(bench->device, made, 0, sizeof(uint32_t) * rows, 0);
  return made;
}

static void open_columns(struct bench *bench) {
  cl_mem *running[] = {&bench->scan, &bench->step, &bench->chosen, &bench->chance, &bench->last};
  cl_mem *kept[] = {&bench->order,  &bench->action, &bench->log_prob,  &bench->values,
                    &bench->reward, &bench->done,   &bench->advantage, &bench->target};
  for (size_t i = 0; i < sizeof running / sizeof *running; i++) *running[i] = column(bench, SCANS);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) *kept[i] = column(bench, ROWS);
  bench->terms = column(bench, 4 * ROWS);
}

static void open_bench(struct bench *bench, struct device *device, double rate) {
  struct error error;
  struct kernel_setup kernels = {LINES, LINES, false, ""};
  struct optimiser_setup rmsprop = optimise_defaults(OPTIMISER_RMSPROP, rate);
  rmsprop.epsilon = 1e-5;
  rmsprop.clip = 0.5;
  *bench = (struct bench){.device = device};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &kernels, &error), &error);
  assert_good(kernel_need(bench->kernels, "policy_act", &error), &error);
  assert_good(kernel_need(bench->kernels, "policy_loss", &error), &error);
  assert_good(kernel_need(bench->kernels, "policy_advantage", &error), &error);
  build(bench);
  struct graph_setup plan = {device, bench->kernels, ROWS, true, false, NULL};
  assert_good(graph_plan(bench->graph, &plan, &error), &error);
  graph_start(bench->graph, 1);
  assert_good(optimise_open(&bench->optimiser, bench->graph, &rmsprop, &error), &error);
  open_columns(bench);
}

static void close_bench(struct bench *bench) {
  cl_mem running[] = {bench->scan, bench->step, bench->chosen, bench->chance, bench->last};
  cl_mem kept[] = {bench->order,  bench->action, bench->log_prob,  bench->values,
                   bench->reward, bench->done,   bench->advantage, bench->target};
  for (size_t i = 0; i < sizeof running / sizeof *running; i++)
    device_release(bench->device, running[i], sizeof(uint32_t) * SCANS);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    device_release(bench->device, kept[i], sizeof(uint32_t) * ROWS);
  device_release(bench->device, bench->terms, sizeof(uint32_t) * 4 * ROWS);
  optimise_close(&bench->optimiser);
  graph_close(bench->graph);
  kernels_close(bench->kernels);
}

/* ---- a rollout ----------------------------------------------------------------------------------------- */

/* Forward of the rollout's rows order[0] ... order[count - 1]. */
static void forward(struct bench *bench, const uint32_t *order, size_t count) {
  static float features[ROWS * FEATURES], mask[ROWS * LINES];
  for (size_t i = 0; i < count; i++)
    observe(bench, order[i] % SCANS, order[i] / SCANS, features + i * FEATURES, mask + i * LINES);
  graph_set_images(bench->graph, count);
  device_write(bench->device, graph_value(bench->graph, bench->features), 0, sizeof(float) * count * FEATURES,
               features);
  device_write(bench->device, graph_value(bench->graph, bench->mask), 0, sizeof(float) * count * LINES, mask);
  graph_forward(bench->graph);
}

static void take_step(struct bench *bench, size_t t, bool best) {
  uint32_t order[SCANS];
  size_t bytes = sizeof *order * SCANS;
  for (size_t env = 0; env < SCANS; env++) order[env] = (uint32_t)(t * SCANS + env);
  forward(bench, order, SCANS);
  device_fill(bench->device, bench->step, 0, bytes, (uint32_t)t);
  kernel_run(bench->kernels, "policy_act", SCANS,
             ARGS(graph_arg(ARG_IN, graph_value(bench->graph, bench->logits)),
                  graph_arg(ARG_IN, graph_value(bench->graph, bench->mask)),
                  arg_buffer(ARG_IN, ELEMENT_U32, bench->scan), arg_buffer(ARG_IN, ELEMENT_U32, bench->step),
                  arg_buffer(ARG_INOUT, ELEMENT_U32, bench->chosen), graph_arg(ARG_INOUT, bench->chance),
                  arg_u32(0), arg_u32(9), arg_u32(best)));
  device_copy(bench->device, graph_value(bench->graph, bench->value), 0, bench->values, t * bytes, bytes);
  device_copy(bench->device, bench->chosen, 0, bench->action, t * bytes, bytes);
  device_copy(bench->device, bench->chance, 0, bench->log_prob, t * bytes, bytes);
  device_read(bench->device, bench->chosen, 0, bytes, bench->actions + t * SCANS);
}

/* Returns the mean worth of the scans. */
static double roll_out(struct bench *bench, bool best) {
  float reward[SCANS];
  uint32_t scan[SCANS];
  double sum = 0;
  for (uint32_t env = 0; env < SCANS; env++) scan[env] = bench->first_scan + env;
  device_write(bench->device, bench->scan, 0, sizeof scan, scan);
  for (size_t t = 0; t < STEPS; t++) take_step(bench, t, best);
  for (size_t env = 0; env < SCANS; env++) sum += reward[env] = worth(bench, env);
  device_write(bench->device, bench->reward, (STEPS - 1) * sizeof reward, sizeof reward, reward);
  device_fill(bench->device, bench->done, (STEPS - 1) * sizeof reward, sizeof reward, 1);
  kernel_run(bench->kernels, "policy_advantage", SCANS,
             ARGS(graph_arg(ARG_IN, bench->reward), graph_arg(ARG_IN, bench->values),
                  arg_buffer(ARG_IN, ELEMENT_U32, bench->done), graph_arg(ARG_IN, bench->last),
                  graph_arg(ARG_OUT, bench->advantage), graph_arg(ARG_OUT, bench->target), arg_u32(STEPS),
                  arg_f32(1), arg_f32(0.95f)));
  return sum / SCANS;
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static void learn_part(struct bench *bench, const uint32_t *order, size_t first, size_t count, float clip,
                       float entropy) {
  struct graph *graph = bench->graph;
  forward(bench, order + first, count);
  kernel_run(bench->kernels, "policy_loss", count,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, bench->order),
                  graph_arg(ARG_IN, graph_value(graph, bench->logits)),
                  graph_arg(ARG_IN, graph_value(graph, bench->mask)),
                  graph_arg(ARG_IN, graph_value(graph, bench->value)),
                  arg_buffer(ARG_IN, ELEMENT_U32, bench->action), graph_arg(ARG_IN, bench->log_prob),
                  graph_arg(ARG_IN, bench->advantage), graph_arg(ARG_IN, bench->target),
                  graph_arg(ARG_OUT, graph_gradient(graph, bench->logits)),
                  graph_arg(ARG_OUT, graph_gradient(graph, bench->value)),
                  arg_buffer(ARG_INOUT, ELEMENT_F128, bench->terms), arg_u32((uint32_t)first),
                  arg_f32(1 / (float)count), arg_f32(entropy), arg_f32(0.5f), arg_f32(clip)));
  graph_zero_gradients(graph);
  graph_backward(graph);
  optimise_step(&bench->optimiser);
}

/* Rate and entropy fade out: a policy that is sure too early guesses the class for good. */
static void update(struct bench *bench, const struct learner *learner, int round) {
  uint32_t order[ROWS];
  size_t count = ROWS / (size_t)learner->parts;
  double left = 1 - (double)round / learner->updates;
  float entropy = (float)(0.05 * left);
  bench->optimiser.rate = learner->rate * left;
  for (uint32_t i = 0; i < ROWS; i++) order[i] = i;
  for (int epoch = 0; epoch < learner->epochs; epoch++) {
    if (learner->parts > 1) shuffle_python(order, ROWS, (uint32_t)(round * 16 + epoch));
    device_write(bench->device, bench->order, 0, sizeof order, order);
    for (size_t first = 0; first < ROWS; first += count)
      learn_part(bench, order, first, count, learner->clip, entropy);
  }
}

/* Every scan starts with line 0 and is worth 1, and the critic knows it; by chance as well but for what the
 * entropy keeps. */
static void check_optimal(struct bench *bench) {
  struct error error;
  float value[SCANS];
  bench->first_scan += SCANS;
  double sampled = roll_out(bench, false), best = roll_out(bench, true);
  device_read(bench->device, bench->values, 0, sizeof value, value);
  print_message("sampled %.3f, best %.3f, value %.3f\n", sampled, best, (double)value[0]);
  assert_good(device_finish(bench->device, &error), &error);
  assert_true(best == 1);
  assert_true(sampled > 0.9);
  assert_true(fabsf(value[0] - 1) < 0.1f);
  for (size_t env = 0; env < SCANS; env++) assert_int_equal(bench->actions[env], 0);
}

static void learn(struct device *device, const struct learner *learner) {
  struct bench bench;
  open_bench(&bench, device, learner->rate);
  for (int i = 0; i < learner->updates; i++, bench.first_scan += SCANS) {
    double mean = roll_out(&bench, false);
    if (i % 50 == 0) print_message("%d updates: %.3f\n", i, mean);
    update(&bench, learner, i);
  }
  check_optimal(&bench);
  close_bench(&bench);
}

static void test_a2c(void **state) {
  learn(*state, &(struct learner){0, 300, 1, 1, 0.03});
}

static void test_ppo(void **state) {
  learn(*state, &(struct learner){0.2f, 80, 4, 2, 0.03});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a2c), cmocka_unit_test(test_ppo)};
  return cmocka_run_group_tests_name("pomdp", tests, support_open_device, support_close_device);
}
