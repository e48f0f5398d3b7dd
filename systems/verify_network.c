#include "systems/verify_network.h"

#include "kernels/kernels.h"
#include "systems/checkpoint.h"
#include "systems/decisions.h"
#include "systems/loss.h"
#include "systems/net_unet.h"

#include <math.h>
#include <string.h>

enum { STEPS = 3, COUNT_MOST = 64 };

struct check {
  const struct verify *verify;
  const char *source;
  struct store *store;
  struct arena *arena;
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  tensor input, output;
  struct loss loss;
  struct loss_target target;
  struct optimiser optimiser;
  size_t count, n;
};

static void see(const struct check *check, const char *quantity, double worst, double bound) {
  check->verify->see(check->source, quantity, worst, bound, check->verify->context);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool read_vector(struct check *check, const char *name, enum store_type type, size_t total,
                        void **data, struct error *error) {
  size_t found;
  if (!store_read_all(check->store, name, type, check->arena, data, &found, error)) return false;
  return found == total ? true : fail(error, "%s has %zu elements; expected %zu", name, found, total);
}

static bool open_column(struct check *check, const char *name, size_t total, cl_mem *column,
                        struct error *error) {
  void *data;
  if (!read_vector(check, name, STORE_F32, total, &data, error)) return false;
  *column = device_buffer(check->device, sizeof(float) * total, name, error);
  if (!*column) return false;
  device_write(check->device, *column, 0, sizeof(float) * total, data);
  return true;
}

static bool open_target(struct check *check, struct error *error) {
  struct loss_target *t = &check->target;
  size_t rows = check->count;
  uint32_t *slice = ARENA_NEW(check->arena, uint32_t, rows);
  for (size_t i = 0; i < rows; i++) slice[i] = (uint32_t)i;
  t->slice = device_buffer(check->device, sizeof *slice * rows, "slices", error);
  if (!t->slice) return false;
  device_write(check->device, t->slice, 0, sizeof *slice * rows, slice);
  return open_column(check, "target_denormalised", rows * check->n * check->n, &t->image, error) &&
         open_column(check, "target_mean", rows, &t->mean, error) &&
         open_column(check, "target_std", rows, &t->std, error) &&
         open_column(check, "data_range", rows, &t->data_range, error);
}

static void close_target(struct check *check) {
  struct loss_target *t = &check->target;
  device_release(check->device, t->slice, sizeof(uint32_t) * check->count);
  device_release(check->device, t->image, sizeof(float) * check->count * check->n * check->n);
  device_release(check->device, t->mean, sizeof(float) * check->count);
  device_release(check->device, t->std, sizeof(float) * check->count);
  device_release(check->device, t->data_range, sizeof(float) * check->count);
}

static bool read_sizes(struct check *check, double *channels, double *pools, struct error *error) {
  struct store_shape shape;
  if (!store_shape(check->store, "input", &shape, error)) return false;
  if (shape.rank != 3 || shape.size[1] != shape.size[2] || !shape.size[0])
    return fail(error, "input must be [count, N, N]");
  check->count = shape.size[0];
  check->n = shape.size[1];
  return store_number(check->store, "chans", channels) && store_number(check->store, "num_pool_layers", pools)
             ? true
             : fail(error, "the attributes chans and num_pool_layers are missing");
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_graph(struct check *check, double channels, double pools, struct error *error) {
  struct graph_setup setup = {check->device, check->kernels, check->count, true, false, NULL};
  graph_open(&check->graph);
  check->input = graph_input(check->graph, "input", 1, (int)check->n, (int)check->n);
  check->output = net_unet(check->graph, check->input, (int)channels, (int)pools);
  return graph_plan(check->graph, &setup, error) &&
         checkpoint_read_parameters(check->store, "param", check->graph, error);
}

static bool open_check(struct check *check, struct error *error) {
  double channels, pools;
  struct optimiser_setup adam = optimise_defaults(OPTIMISER_ADAM, 1e-3);
  if (!read_sizes(check, &channels, &pools, error)) return false;
  struct kernel_setup setup = {check->n, check->n, false, check->verify->kernel_folder};
  return kernels_open(&check->kernels, check->device, &kernel_table, &setup, error) &&
         open_graph(check, channels, pools, error) && open_target(check, error) &&
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

/* Largest difference over the larger of `floor` and the largest expected magnitude. */
static double worst_error(const float *found, const double *expected, size_t count, double floor) {
  double largest = floor, worst = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(expected[i]));
  for (size_t i = 0; i < count; i++) {
    double gap = fabs(found[i] - expected[i]);
    worst = isnan(gap) ? INFINITY : fmax(worst, gap);
  }
  return largest > 0 ? worst / largest : worst;
}

static bool compare_output(struct check *check, struct error *error) {
  void *expected;
  size_t total = check->count * check->n * check->n;
  float *found = ARENA_NEW(check->arena, float, total);
  if (!read_vector(check, "output", STORE_F64, total, &expected, error)) return false;
  device_read(check->device, graph_value(check->graph, check->output), 0, sizeof(float) * total, found);
  see(check, "output", worst_error(found, expected, total, 0), 1e-5);
  return true;
}

static float *read_flat(struct check *check, cl_mem buffer) {
  float *values = ARENA_NEW(check->arena, float, check->graph->elements);
  device_read(check->device, buffer, 0, sizeof(float) * check->graph->elements, values);
  return values;
}

static double largest_of(const double *values, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(values[i]));
  return largest;
}

/* What a group of the file says of every parameter. */
static bool read_group(struct check *check, const char *group, const double **expected, struct error *error) {
  const struct graph *graph = check->graph;
  for (int i = 0; i < graph->parameters; i++) {
    void *data;
    const struct parameter *parameter = &graph->parameter[i];
    if (!read_vector(check, arena_text(check->arena, "%s/%s", group, parameter->name), STORE_F64,
                     parameter->count, &data, error))
      return false;
    expected[i] = data;
  }
  return true;
}

/* Every parameter's error relative to that tensor's largest. What is 0 but for the
 * reference's own rounding (gradients of biases before a norm) is measured against the largest of all. */
static void compare_flat(const struct check *check, const float *found, const double *const *expected,
                         double *worst) {
  const struct graph *graph = check->graph;
  double largest = 0;
  for (int i = 0; i < graph->parameters; i++)
    largest = fmax(largest, largest_of(expected[i], graph->parameter[i].count));
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    worst[i] = worst_error(found + parameter->offset, expected[i], parameter->count, 1e-10 * largest);
  }
}

static void see_flat(const struct check *check, const char *group, const double *worst, double bound) {
  for (int i = 0; i < check->graph->parameters; i++)
    see(check, arena_text(check->arena, "%s %s", group, check->graph->parameter[i].name), worst[i], bound);
}

static bool compare_values(struct check *check, struct error *error) {
  const double *expected[PARAMETERS_MOST];
  double worst[PARAMETERS_MOST];
  if (!read_group(check, "param_after_3_steps", expected, error)) return false;
  compare_flat(check, read_flat(check, check->graph->values), expected, worst);
  see_flat(check, "param_after_3_steps", worst, 1e-4);
  return true;
}

/* The norms of all parameters, in the order of the PyTorch state: that of the graph. */
static bool compare_norms(struct check *check, struct error *error) {
  const struct graph *graph = check->graph;
  const float *values = read_flat(check, graph->values);
  void *expected;
  if (!read_vector(check, "param_after_3_steps_l2", STORE_F64, (size_t)graph->parameters, &expected, error))
    return false;
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    double square = 0, wanted = ((const double *)expected)[i];
    for (size_t k = 0; k < parameter->count; k++) square += pow((double)values[parameter->offset + k], 2);
    see(check, arena_text(check->arena, "after 3 steps, norm of %s", parameter->name),
        fabs(sqrt(square) - wanted) / wanted, 1e-4);
  }
  return true;
}

/* ---- gradients ------------------------------------------------------------------------------------------
 */

/* The largest distance from its edge, of values of about 1, of a decision that single precision may take
 * otherwise than the reference: the error of a normalised value at the network's end. */
static const double undecided = 2e-5;

static void run_loss(struct check *check) {
  graph_forward(check->graph);
  loss_run(&check->loss, &check->target, graph_value(check->graph, check->output),
           graph_gradient(check->graph, check->output), check->count, 1 / (double)check->count);
}

static void run_backward(struct check *check) {
  graph_zero_gradients(check->graph);
  graph_backward(check->graph);
}

/* After run_loss; leaves the gradients on the device. */
static bool compare_gradients(struct check *check, const float *input, struct error *error) {
  struct decisions decisions;
  const double *expected[PARAMETERS_MOST];
  double worst[PARAMETERS_MOST];
  if (!read_group(check, "grad", expected, error) || !decisions_turn(check->graph, input, &decisions, error))
    return false;
  see(check, "farthest decision turned to double's side", decisions.farthest, undecided);
  run_backward(check);
  compare_flat(check, read_flat(check, check->graph->gradients), expected, worst);
  see_flat(check, "grad", worst, 1e-4);
  return true;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static bool run_step(struct check *check, int step, const float *input, double expected,
                     struct error *error) {
  double each[COUNT_MOST], loss = 0;
  size_t count = check->count;
  run_loss(check);
  if (!loss_read(&check->loss, count, each, error)) return false;
  for (size_t i = 0; i < count; i++) loss += each[i] / (double)count;
  see(check, step ? arena_text(check->arena, "loss after %d Adam steps", step) : "loss",
      fabs(loss - expected) / fabs(expected), 1e-5);
  if (step)
    run_backward(check);
  else if (!compare_output(check, error) || !compare_gradients(check, input, error))
    return false;
  optimise_step(&check->optimiser);
  return device_finish(check->device, error);
}

static bool run(struct check *check, struct error *error) {
  void *input, *losses;
  size_t total = check->count * check->n * check->n;
  if (check->count > COUNT_MOST) return fail(error, "%zu images; at most %d", check->count, COUNT_MOST);
  if (!read_vector(check, "input", STORE_F32, total, &input, error) ||
      !read_vector(check, "losses", STORE_F64, STEPS, &losses, error))
    return false;
  device_write(check->device, graph_value(check->graph, check->input), 0, sizeof(float) * total, input);
  for (int step = 0; step < STEPS; step++)
    if (!run_step(check, step, input, ((const double *)losses)[step], error)) return false;
  if (store_has(check->store, "param_after_3_steps_l2")) return compare_norms(check, error);
  return compare_values(check, error);
}

bool verify_network_file(const struct verify *verify, const char *path, struct error *error) {
  const char *slash = strrchr(path, '/');
  struct check check = {.verify = verify, .source = slash ? slash + 1 : path, .device = verify->device};
  if (!store_open(&check.store, path, error)) return false;
  check.arena = arena_open();
  bool good = open_check(&check, error) && run(&check, error);
  close_check(&check);
  store_close(check.store);
  arena_close(check.arena);
  return good ? true : fail_in(error, "%s", path);
}
