/* A scan whose best policy is known in closed form, learnt by A2C, by PPO and by DDQN through the kernels that
 * train the real one.
 *
 * Line 0 says of which class the scan is and is worth nothing else; each class has two good lines. With three
 * lines to acquire, a scan is worth 1 when both good ones are among them, else 0, paid with the last line.
 * Whoever does not look at the class first is right once in three; the best policy looks, then takes the two:
 * it is worth 1 for every scan.
 *
 * Small enough to enumerate: what the gradient of an update is in the mean is compared with the exact one, for
 * each of what advantages are measured against (learn.baseline). There, several scans in a row are of one class,
 * as of one slice, and classes differ in worth, as slices do. */
#include "engine/graph/optimise.h"
#include "kernels/kernels.h"
#include "systems/methods/baseline.h"
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
  cl_mem centred;
  uint32_t actions[ROWS], first_scan;
  uint32_t members; /* scans in a row that are of one class */
  float gap;        /* what a class is worth more than the one before, whatever is acquired */
  enum learn_baseline baseline;
  float epsilon; /* chance of an action that is drawn evenly in place of the policy's */
  float lambda, critic; /* critic: the weight of its error, whose gradient passes through the logits */
};

/* ---- the scans, on the host ---------------------------------------------------------------------------- */

static uint32_t class_of(const struct bench *bench, size_t env) {
  uint32_t scan = bench->first_scan + (uint32_t)env;
  return random_words(5, STREAM_PHANTOM, scan / bench->members, 0).word[0] % CLASSES;
}

static bool is_good(uint32_t class, uint32_t line) {
  return line > 0 && line <= 2 * CLASSES && (line - 1) / 2 == class;
}

static float worth(const struct bench *bench, size_t env) {
  uint32_t class = class_of(bench, env);
  int good = 0;
  for (size_t t = 0; t < STEPS; t++) good += is_good(class, bench->actions[t * SCANS + env]);
  return (float)(good == 2) + bench->gap * (float)class;
}

/* The policy's view of a scan after `step` of its lines: the mask, and the class if line 0 is in it. */
static void observe(const struct bench *bench, size_t env, size_t step, float *features, float *mask) {
  memset(features, 0, sizeof(float) * FEATURES);
  memset(mask, 0, sizeof(float) * LINES);
  features[0] = 1;
  for (size_t t = 0; t < step; t++) mask[bench->actions[t * SCANS + env]] = 1;
  if (mask[0] > 0) features[1 + class_of(bench, env)] = 1;
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
                    &bench->reward, &bench->done,   &bench->advantage, &bench->target,
                    &bench->centred};
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
  *bench = (struct bench){.device = device, .members = 1, .lambda = 0.95f, .critic = 0.5f};
  assert_good(kernels_open(&bench->kernels, device, &kernel_table, &kernels, &error), &error);
  assert_good(kernel_need(bench->kernels, "policy_act", &error), &error);
  assert_good(kernel_need(bench->kernels, "policy_loss", &error), &error);
  assert_good(kernel_need(bench->kernels, "policy_advantage", &error), &error);
  assert_good(kernel_need(bench->kernels, "group_centre", &error), &error);
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
                   bench->reward, bench->done,   bench->advantage, bench->target,
                   bench->centred};
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

/* A free line for every scan that explores. */
static void explore(struct bench *bench, size_t t) {
  uint32_t *chosen = bench->actions + t * SCANS;
  float features[FEATURES], mask[LINES];
  for (size_t env = 0; env < SCANS; env++) {
    const struct philox words = random_words(7, STREAM_REPLAY, bench->first_scan + (uint32_t)env, (uint32_t)t);
    if ((double)words.word[0] * 0x1p-32 >= (double)bench->epsilon) continue;
    observe(bench, env, t, features, mask);
    uint32_t left = words.word[1] % (uint32_t)(LINES - t), line = 0;
    while (mask[line] > 0 || left--) line++;
    chosen[env] = line;
  }
  device_write(bench->device, bench->action, t * SCANS * sizeof *chosen, SCANS * sizeof *chosen, chosen);
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
  if (bench->epsilon > 0) explore(bench, t);
}

static void find_advantages(struct bench *bench) {
  bool critic = bench->baseline != BASELINE_GROUP, centres = bench->baseline != BASELINE_CRITIC;
  if (centres)
    kernel_run(bench->kernels, "group_centre", SCANS,
               ARGS(graph_arg(ARG_IN, bench->reward), graph_arg(ARG_OUT, bench->centred), arg_u32(STEPS),
                    arg_u32(bench->members), arg_u32(1), arg_f32(leave_one_out(bench->members))));
  kernel_run(bench->kernels, "policy_advantage", SCANS,
             ARGS(graph_arg(ARG_IN, centres ? bench->centred : bench->reward), graph_arg(ARG_IN, bench->values),
                  arg_buffer(ARG_IN, ELEMENT_U32, bench->done), graph_arg(ARG_IN, bench->last),
                  graph_arg(ARG_OUT, bench->advantage), graph_arg(ARG_OUT, bench->target), arg_u32(STEPS),
                  arg_f32(1), arg_f32(bench->lambda), arg_u32(critic)));
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
  find_advantages(bench);
  return sum / SCANS;
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static void find_gradient(struct bench *bench, const uint32_t *order, size_t first, size_t count, float clip,
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
                  arg_f32(1 / (float)count), arg_f32(entropy), arg_f32(bench->critic), arg_f32(clip)));
  graph_zero_gradients(graph);
  graph_backward(graph);
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
    for (size_t first = 0; first < ROWS; first += count) {
      find_gradient(bench, order, first, count, learner->clip, entropy);
      optimise_step(&bench->optimiser);
    }
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

/* ---- values -------------------------------------------------------------------------------------------- */

/* What the actions of step t should be worth: the reward, or what the best action of the state after is. */
static void find_targets(struct bench *bench, const uint32_t *order, size_t t) {
  struct graph *graph = bench->graph;
  if (t + 1 < STEPS) {
    forward(bench, order + (t + 1) * SCANS, SCANS);
    kernel_run(bench->kernels, "policy_act", SCANS,
               ARGS(graph_arg(ARG_IN, graph_value(graph, bench->logits)), graph_arg(ARG_IN, graph_value(graph, bench->mask)),
                    arg_buffer(ARG_IN, ELEMENT_U32, bench->scan), arg_buffer(ARG_IN, ELEMENT_U32, bench->step),
                    arg_buffer(ARG_INOUT, ELEMENT_U32, bench->chosen), graph_arg(ARG_INOUT, bench->chance), arg_u32(0),
                    arg_u32(9), arg_u32(1)));
  }
  kernel_run(bench->kernels, "replay_target", SCANS,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, bench->order), graph_arg(ARG_IN, bench->reward),
                  graph_arg(ARG_IN, graph_value(graph, bench->logits)), arg_buffer(ARG_IN, ELEMENT_U32, bench->chosen),
                  graph_arg(ARG_INOUT, bench->target), arg_u32((uint32_t)(t * SCANS)), arg_u32(SCANS), arg_u32(STEPS),
                  arg_u32(1), arg_f32(1)));
}

static void learn_values(struct bench *bench) {
  struct graph *graph = bench->graph;
  uint32_t order[ROWS];
  for (uint32_t i = 0; i < ROWS; i++) order[i] = i;
  device_write(bench->device, bench->order, 0, sizeof order, order);
  for (size_t t = 0; t < STEPS; t++) find_targets(bench, order, t);
  forward(bench, order, ROWS);
  kernel_run(bench->kernels, "replay_loss", ROWS,
             ARGS(arg_buffer(ARG_IN, ELEMENT_U32, bench->order), graph_arg(ARG_IN, graph_value(graph, bench->logits)),
                  arg_buffer(ARG_IN, ELEMENT_U32, bench->action), graph_arg(ARG_IN, bench->target),
                  graph_arg(ARG_IN, bench->advantage), graph_arg(ARG_OUT, graph_gradient(graph, bench->logits)),
                  arg_buffer(ARG_INOUT, ELEMENT_F128, bench->terms), graph_arg(ARG_INOUT, bench->log_prob), arg_u32(0),
                  arg_f32(1.0f / ROWS), arg_f32(1), arg_u32(0), arg_f32(1)));
  device_fill(bench->device, graph_gradient(graph, bench->value), 0, sizeof(float) * ROWS, 0);
  graph_zero_gradients(graph);
  graph_backward(graph);
  optimise_step(&bench->optimiser);
}

/* The best policy is known, and worth 1 for every scan; no fixed choice of lines is worth more than one in three. */
static void test_ddqn(void **state) {
  enum { ROUNDS = 60, UPDATES = 5 };
  struct bench bench;
  struct error error;
  open_bench(&bench, *state, 0.03);
  assert_good(kernel_need(bench.kernels, "replay_target", &error), &error);
  assert_good(kernel_need(bench.kernels, "replay_loss", &error), &error);
  for (int round = 0; round < ROUNDS; round++, bench.first_scan += SCANS) {
    double left = 1 - (double)round / ROUNDS;
    bench.epsilon = (float)left;
    bench.optimiser.rate = 0.03 * left;
    double mean = roll_out(&bench, true);
    if (round % 20 == 0) print_message("%d rounds: %.3f\n", round, mean);
    for (int i = 0; i < UPDATES; i++) learn_values(&bench);
  }
  bench.epsilon = 0;
  double best = roll_out(&bench, true);
  print_message("by the most valuable lines %.3f\n", best);
  assert_true(best == 1);
  for (size_t env = 0; env < SCANS; env++) assert_int_equal(bench.actions[env], 0);
  close_bench(&bench);
}

/* ---- gradients in the mean ----------------------------------------------------------------------------- */

enum { WEIGHTS = LINES * FEATURES, ACTOR = WEIGHTS + LINES, ROLLOUTS = 150 };

struct actor {
  float weight[WEIGHTS], bias[LINES];
};

static void read_actor(struct bench *bench, bool gradient, struct actor *actor) {
  struct error error;
  const struct parameter *weight = graph_find(bench->graph, "actor.weight");
  const struct parameter *bias = graph_find(bench->graph, "actor.bias");
  device_read(bench->device, gradient ? weight->gradient : weight->value, 0, sizeof actor->weight, actor->weight);
  device_read(bench->device, gradient ? bias->gradient : bias->value, 0, sizeof actor->bias, actor->bias);
  assert_good(device_finish(bench->device, &error), &error);
}

/* Probabilities of the lines that are free, after those of `taken` (a bit a line). */
static void chances_of(const struct actor *actor, uint32_t taken, uint32_t class, double chance[LINES]) {
  double sum = 0;
  for (size_t line = 0; line < LINES; line++) {
    double logit = actor->bias[line] + actor->weight[line * FEATURES];
    if (taken & 1) logit += actor->weight[line * FEATURES + 1 + class];
    sum += chance[line] = taken >> line & 1 ? 0 : exp(logit);
  }
  for (size_t line = 0; line < LINES; line++) chance[line] /= sum;
}

static int good_lines(uint32_t taken, uint32_t class) {
  return (int)(taken >> (1 + 2 * class) & 1) + (int)(taken >> (2 + 2 * class) & 1);
}

/* Adds to `gradient` that of what follows the state, which has the probability `reached`; returns its worth. */
static double enumerate(const struct actor *actor, uint32_t taken, uint32_t class, size_t step, double reached,
                        double gradient[ACTOR]) {
  double chance[LINES], worth_of[LINES] = {0}, mean = 0;
  if (step == STEPS) return good_lines(taken, class) == 2;
  chances_of(actor, taken, class, chance);
  for (uint32_t line = 0; line < LINES; line++) {
    if (taken >> line & 1) continue;
    worth_of[line] = enumerate(actor, taken | 1u << line, class, step + 1, reached * chance[line], gradient);
    mean += chance[line] * worth_of[line];
  }
  for (size_t line = 0; line < LINES; line++) {
    double slope = reached * chance[line] * (worth_of[line] - mean);
    gradient[line * FEATURES] += slope;
    if (taken & 1) gradient[line * FEATURES + 1 + class] += slope;
    gradient[WEIGHTS + line] += slope;
  }
  return mean;
}

/* Of the loss in the mean over scans of these classes, which is minus the worth over the steps of a scan. */
static void add_exact(const struct bench *bench, const struct actor *actor, double gradient[ACTOR]) {
  double own[CLASSES][ACTOR] = {{0}};
  for (uint32_t class = 0; class < CLASSES; class++) enumerate(actor, 0, class, 0, 1, own[class]);
  for (size_t env = 0; env < SCANS; env++)
    for (size_t i = 0; i < ACTOR; i++) gradient[i] -= own[class_of(bench, env)][i] / (double)ROWS;
}

struct moments {
  double mean[ACTOR], square[ACTOR], exact[ACTOR], variance; /* of the mean, over all entries */
};

static void add_rollout(struct bench *bench, const struct actor *actor, struct moments *moments) {
  struct actor found;
  uint32_t order[ROWS];
  for (uint32_t i = 0; i < ROWS; i++) order[i] = i;
  device_write(bench->device, bench->order, 0, sizeof order, order);
  roll_out(bench, false);
  find_gradient(bench, order, 0, ROWS, 0, 0);
  read_actor(bench, true, &found);
  for (size_t i = 0; i < ACTOR; i++) {
    double value = i < WEIGHTS ? found.weight[i] : found.bias[i - WEIGHTS];
    moments->mean[i] += value / ROLLOUTS;
    moments->square[i] += value * value / ROLLOUTS;
  }
  add_exact(bench, actor, moments->exact);
}

static void measure(struct device *device, enum learn_baseline baseline, float lambda, struct moments *moments) {
  struct bench bench;
  struct actor actor;
  open_bench(&bench, device, 0.03);
  bench.members = 8;
  bench.gap = 2;
  bench.baseline = baseline;
  bench.lambda = lambda;
  bench.critic = 0;
  *moments = (struct moments){0};
  read_actor(&bench, false, &actor);
  for (int i = 0; i < ROLLOUTS; i++, bench.first_scan += SCANS) add_rollout(&bench, &actor, moments);
  for (size_t i = 0; i < ACTOR; i++) {
    moments->exact[i] /= ROLLOUTS;
    moments->variance += (moments->square[i] - pow(moments->mean[i], 2)) / ROLLOUTS;
  }
  close_bench(&bench);
}

/* Within four and a half standard errors at each parameter, and not at 0. */
static void check_mean(const struct moments *moments) {
  double worst = 0, away = 0;
  for (size_t i = 0; i < ACTOR; i++) {
    double error = sqrt((moments->square[i] - pow(moments->mean[i], 2)) / ROLLOUTS) + 1e-9;
    worst = fmax(worst, fabs(moments->mean[i] - moments->exact[i]) / error);
    away = fmax(away, fabs(moments->exact[i]) / error);
  }
  print_message("off by %.2f standard errors, %.1f from 0; variance %.3g\n", worst, away, moments->variance);
  assert_true(worst < 4.5);
  assert_true(away > 10);
}

/* Unbiased against the others of the slice, with a critic or without; and what slices are worth is not in it,
 * which a critic that has not learnt leaves in. */
static void test_group(void **state) {
  struct moments group, both, critic;
  measure(*state, BASELINE_GROUP, 0.95f, &group);
  measure(*state, BASELINE_GROUP_CRITIC, 1, &both);
  measure(*state, BASELINE_CRITIC, 1, &critic);
  check_mean(&group);
  check_mean(&both);
  print_message("variance with the critic alone %.3g\n", critic.variance);
  assert_true(group.variance < critic.variance / 4);
  assert_true(both.variance < critic.variance / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a2c), cmocka_unit_test(test_ppo), cmocka_unit_test(test_ddqn),
                                     cmocka_unit_test(test_group)};
  return cmocka_run_group_tests_name("pomdp", tests, support_open_device, support_close_device);
}
