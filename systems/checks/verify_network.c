#include "systems/checks/verify_network.h"

#include "engine/base/log.h"
#include "kernels/kernels.h"
#include "systems/checks/vectors.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/decisions.h"
#include "systems/networks/loss.h"
#include "systems/networks/net_unet.h"

#include <math.h>

enum { STEPS = 3, COUNT_MOST = 64 };

struct check {
  struct vectors vectors;
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  tensor input, output;
  struct loss loss;
  struct loss_target target;
  struct optimiser optimiser;
  size_t count, n;
};

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool open_target(struct check *check, struct error *error) {
  struct loss_target *t = &check->target;
  size_t rows = check->count;
  uint32_t *slice = ARENA_NEW(check->vectors.arena, uint32_t, rows);
  for (size_t i = 0; i < rows; i++) slice[i] = (uint32_t)i;
  t->slice = device_buffer(check->device, sizeof *slice * rows, "slices", error);
  if (!t->slice) return false;
  device_write(check->device, t->slice, 0, sizeof *slice * rows, slice);
  return vectors_column(&check->vectors, "target_denormalised", rows * check->n * check->n, &t->image,
                        error) &&
         vectors_column(&check->vectors, "target_mean", rows, &t->mean, error) &&
         vectors_column(&check->vectors, "target_std", rows, &t->std, error) &&
         vectors_column(&check->vectors, "data_range", rows, &t->data_range, error);
}

static void close_target(struct check *check) {
  struct loss_target *t = &check->target;
  device_release(check->device, t->slice, sizeof(uint32_t) * check->count);
  device_release(check->device, t->image, sizeof(float) * check->count * check->n * check->n);
  device_release(check->device, t->mean, sizeof(float) * check->count);
  device_release(check->device, t->std, sizeof(float) * check->count);
  device_release(check->device, t->data_range, sizeof(float) * check->count);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static void build_graph(struct check *check, uint32_t channels, uint32_t pools) {
  graph_open(&check->graph);
  check->input = graph_input(check->graph, "input", 1, (int)check->n, (int)check->n);
  check->output = net_unet(check->graph, check->input, (int)channels, (int)pools);
}

static bool check_file(struct check *check, struct error *error) {
  struct vectors *vectors = &check->vectors;
  size_t count = check->count, total = count * check->n * check->n;
  bool norms = store_has(vectors->store, "param_after_3_steps_l2");
  const char *const groups[] = {"param", "grad", norms ? NULL : "param_after_3_steps", NULL};
  const struct vectors_dataset datasets[] = {
      {"input", STORE_F32, total},
      {"losses", STORE_F64, STEPS},
      {"output", STORE_F64, total},
      {"target_denormalised", STORE_F32, total},
      {"target_mean", STORE_F32, count},
      {"target_std", STORE_F32, count},
      {"data_range", STORE_F32, count},
      {norms ? "param_after_3_steps_l2" : NULL, STORE_F64, (size_t)check->graph->parameters},
      {NULL, STORE_F64, 0}};
  return vectors_check_groups(vectors, groups, check->graph, error) &&
         vectors_check(vectors, datasets, error);
}

/* All but what needs the device. */
static bool read_file(struct check *check, struct error *error) {
  uint32_t channels, pools;
  if (!vectors_sizes(&check->vectors, "input", &check->count, &check->n, error) ||
      !vectors_whole(&check->vectors, "chans", 1024, &channels, error) ||
      !vectors_whole(&check->vectors, "num_pool_layers", 12, &pools, error))
    return false;
  if (check->count > COUNT_MOST)
    return fail_file(error, "%zu images; at most %d are expected", check->count, COUNT_MOST);
  build_graph(check, channels, pools);
  return graph_good(check->graph, error) && check_file(check, error);
}

static bool open_graph(struct check *check, struct error *error) {
  struct graph_setup setup = {check->device, check->kernels, check->count, true, false, NULL};
  return graph_plan(check->graph, &setup, error) &&
         checkpoint_read_parameters(check->vectors.store, "param", check->graph, error);
}

static bool open_check(struct check *check, struct error *error) {
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, 1e-3);
  struct kernel_setup setup = {check->n, check->n, false, check->vectors.verify->kernel_folder};
  return kernels_open(&check->kernels, check->device, &kernel_table, &setup, error) &&
         open_graph(check, error) && open_target(check, error) &&
         loss_open(&check->loss, check->device, check->kernels, LOSS_SSIM, check->n, check->n, check->count,
                   error) &&
         optimise_open(&check->optimiser, check->graph, &adam, error);
}

static void close_check(struct check *check) {
  if (check->optimiser.device) optimise_close(&check->optimiser);
  if (check->loss.device) loss_close(&check->loss);
  close_target(check);
  graph_close(check->graph);
  kernels_close(check->kernels);
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

/* How far a norm may be off because of elements whose steps single precision cannot tell: each may have gone
 * the other way. */
static double slack_of(const struct check *check, const struct parameter *parameter, const bool *far) {
  size_t near = 0;
  for (size_t k = 0; k < parameter->count; k++) near += !far[parameter->offset + k];
  return 2 * STEPS * check->optimiser.rate * sqrt((double)near);
}

/* The norms of all parameters, in the order of the PyTorch state: that of the graph. */
static bool compare_norms(struct check *check, struct error *error) {
  const struct graph *graph = check->graph;
  const float *values = vectors_flat(&check->vectors, graph, graph->values);
  const double *gradients = vectors_group(&check->vectors, "grad", graph, error);
  void *expected;
  if (!gradients || !vectors_read(&check->vectors, "param_after_3_steps_l2", STORE_F64,
                                  (size_t)graph->parameters, &expected, error))
    return false;
  const bool *far = vectors_far(&check->vectors, gradients, graph);
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    double square = 0, wanted = ((const double *)expected)[i];
    for (size_t k = 0; k < parameter->count; k++) square += pow((double)values[parameter->offset + k], 2);
    vectors_see(&check->vectors,
                arena_text(check->vectors.arena, "after 3 steps, norm of %s", parameter->name),
                fabs(sqrt(square) - wanted) / wanted, 1e-4 + slack_of(check, parameter, far) / wanted);
  }
  return true;
}

/* The first step of Adam, by double's gradient: our own may have another sign near zero, and Adam goes by it.
 * Its moments are g and g^2 then, so that it is rate g / (|g| + epsilon). */
static bool compare_step(struct check *check, struct error *error) {
  struct vectors *vectors = &check->vectors;
  const struct graph *graph = check->graph;
  const double *before = vectors_group(vectors, "param", graph, error);
  const double *gradients = before ? vectors_group(vectors, "grad", graph, error) : NULL;
  if (!gradients) return false;
  double *after = ARENA_NEW(vectors->arena, double, graph->elements);
  float *given = ARENA_NEW(vectors->arena, float, graph->elements);
  for (size_t k = 0; k < graph->elements; k++) {
    given[k] = (float)gradients[k];
    double step = gradients[k] / (fabs(gradients[k]) + check->optimiser.setup.epsilon);
    after[k] = before[k] - check->optimiser.rate * step;
  }
  device_write(check->device, graph->gradients, 0, sizeof *given * graph->elements, given);
  optimise_step(&check->optimiser);
  vectors_see(vectors, "a step of Adam by double's gradient",
              vectors_error(vectors_flat(vectors, graph, graph->values), after, graph->elements, 0), 1e-6);
  return true;
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

static void run_loss(struct check *check) {
  graph_forward(check->graph);
  loss_run(&check->loss, &check->target, graph_value(check->graph, check->output),
           graph_gradient(check->graph, check->output), check->count, 1 / (double)check->count);
}

static void run_backward(struct check *check) {
  graph_zero_gradients(check->graph);
  graph_backward(check->graph);
}

static const char *after_steps(struct check *check, const char *what, int step) {
  return step ? arena_text(check->vectors.arena, "%s after %d Adam step%s", what, step, plural((size_t)step)) : what;
}

/* After run_loss; leaves the gradients on the device. One pixel on the other side of an edge is told in what any later step
 * gives, too. */
static bool find_gradients(struct check *check, int step, const float *input, struct error *error) {
  struct decisions decisions;
  if (!decisions_turn(check->graph, &input, &decisions, error)) return false;
  vectors_see(&check->vectors, after_steps(check, "farthest decision turned to double's side", step), decisions.farthest,
              decisions_undecided);
  run_backward(check);
  return true;
}

static bool compare_gradients(struct check *check, struct error *error) {
  return vectors_compare_flat(&check->vectors, "grad", check->graph, check->graph->gradients, 1e-4, error);
}

/* ---- running ------------------------------------------------------------------------------------------- */

static bool run_step(struct check *check, int step, const float *input, double expected,
                     struct error *error) {
  double each[COUNT_MOST], loss = 0;
  size_t count = check->count;
  run_loss(check);
  if (!loss_read(&check->loss, count, each, error)) return false;
  for (size_t i = 0; i < count; i++) loss += each[i] / (double)count;
  vectors_see(&check->vectors, after_steps(check, "loss", step), fabs(loss - expected) / fabs(expected), 1e-5);
  if (!step && !vectors_compare(&check->vectors, "output", graph_value(check->graph, check->output),
                                count * check->n * check->n, 1e-5, error))
    return false;
  if (!find_gradients(check, step, input, error)) return false;
  if (!step) return compare_gradients(check, error) && compare_step(check, error) && device_finish(check->device, error);
  optimise_step(&check->optimiser);
  return device_finish(check->device, error);
}

static bool compare_steps(struct check *check, struct error *error) {
  void *input, *losses;
  size_t total = check->count * check->n * check->n;
  if (!vectors_read(&check->vectors, "input", STORE_F32, total, &input, error) ||
      !vectors_read(&check->vectors, "losses", STORE_F64, STEPS, &losses, error))
    return false;
  device_write(check->device, graph_value(check->graph, check->input), 0, sizeof(float) * total, input);
  for (int step = 0; step < STEPS; step++)
    if (!run_step(check, step, input, ((const double *)losses)[step], error)) return false;
  if (store_has(check->vectors.store, "param_after_3_steps_l2")) return compare_norms(check, error);
  return vectors_compare_steps(&check->vectors, "param_after_3_steps", check->graph, 1e-4, error);
}

bool verify_network_file(const struct verify *verify, const char *path, struct error *error) {
  struct check check = {.device = verify->device};
  if (!vectors_open(&check.vectors, verify, path, error)) return false;
  bool good =
      read_file(&check, error) && (!verify->device || (open_check(&check, error) && compare_steps(&check, error)));
  close_check(&check);
  vectors_close(&check.vectors);
  return good ? true : fail_in(error, "%s", path);
}
