#include "systems/verify_network.h"

#include "kernels/kernels.h"
#include "systems/checkpoint.h"
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

/* Every parameter's error relative to that tensor's largest; returns their sum. What is 0 but for the
 * reference's own rounding (gradients of biases before a norm) is measured against the largest of all. */
static double compare_flat(const struct check *check, const float *found, const double *const *expected,
                           double *worst) {
  const struct graph *graph = check->graph;
  double largest = 0, sum = 0;
  for (int i = 0; i < graph->parameters; i++)
    largest = fmax(largest, largest_of(expected[i], graph->parameter[i].count));
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    worst[i] = worst_error(found + parameter->offset, expected[i], parameter->count, 1e-10 * largest);
    sum += worst[i];
  }
  return sum;
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

/* ---- decisions within rounding ------------------------------------------------------------------------- */

/* The slope of a ReLU jumps at 0, that of a maximum where two pixels are equal. Where single precision cannot
 * say on which side an input lies, the reference, in double, may stand on the other, and one such pixel moves
 * whole gradients by half a percent (in PyTorch's single precision as well). Those few are tried on either
 * side; what is left is the error. */
enum { DECISIONS_MOST = 64 };
static const float undecided = 2e-5f; /* the largest error of a normalised value at the network's end */

struct decision {
  tensor place; /* the value that decides, and what turns the decision */
  size_t element;
  float turned;
  float distance;
};

struct decisions {
  struct decision list[DECISIONS_MOST]; /* nearest first */
  int count;
};

/* Keeps the list sorted; the farthest falls off the end. */
static void note_decision(struct decisions *decisions, struct decision decision) {
  int place = decisions->count;
  if (decision.distance > undecided) return;
  while (place > 0 && decisions->list[place - 1].distance > decision.distance) place--;
  if (place == DECISIONS_MOST) return;
  if (decisions->count < DECISIONS_MOST) decisions->count++;
  for (int i = decisions->count - 1; i > place; i--) decisions->list[i] = decisions->list[i - 1];
  decisions->list[place] = decision;
}

/* Backward looks at the ReLU's output: a tiny one lets the gradient through. */
static void note_relu(struct decisions *decisions, tensor out, const float *input, size_t total) {
  for (size_t k = 0; k < total; k++)
    note_decision(decisions, (struct decision){out, k, input[k] > 0 ? 0 : 1e-30f, fabsf(input[k])});
}

/* Of every 2x2 pixels the second largest, unless a ReLU has made them zero. */
static void note_pool(struct decisions *decisions, tensor in, const float *input, size_t planes,
                      size_t height, size_t width) {
  for (size_t i = 0; i < planes * (height / 2) * (width / 2); i++) {
    size_t plane = i / (width / 2) / (height / 2), y = i / (width / 2) % (height / 2), x = i % (width / 2);
    size_t corner = (plane * height + 2 * y) * width + 2 * x, best = corner, second = corner + 1;
    const size_t places[] = {corner + 1, corner + width, corner + width + 1};
    for (int k = 0; k < 3; k++) {
      if (input[places[k]] > input[best])
        second = best, best = places[k];
      else if (second == best || input[places[k]] > input[second])
        second = places[k];
    }
    if (input[best] > 0)
      note_decision(decisions, (struct decision){in, second, nextafterf(input[best], INFINITY),
                                                 input[best] - input[second]});
  }
}

static void find_decisions(struct check *check, struct decisions *decisions) {
  const struct graph *graph = check->graph;
  *decisions = (struct decisions){.count = 0};
  graph_forward(check->graph); /* backward has used the room of what is read here */
  for (int i = 0; i < graph->nodes; i++) {
    const struct node *node = &graph->node[i];
    if (node->op != &op_relu && node->op != &op_pool) continue;
    struct arena *arena = arena_open();
    const struct tensor_shape *in = &graph->node[node->input[0].node].shape;
    size_t total = check->count * graph_elements(graph, node->input[0]);
    float *input = ARENA_NEW(arena, float, total);
    device_read(check->device, graph_value(graph, node->input[0]), 0, sizeof(float) * total, input);
    if (node->op == &op_relu)
      note_relu(decisions, (tensor){(uint16_t)i}, input, total);
    else
      note_pool(decisions, node->input[0], input, check->count * (size_t)in->channels, (size_t)in->height,
                (size_t)in->width);
    arena_close(arena);
  }
}

/* Forward and backward with the chosen decisions turned. */
static const float *run_gradient(struct check *check, const struct decisions *decisions, uint64_t turned) {
  graph_forward(check->graph);
  loss_run(&check->loss, &check->target, graph_value(check->graph, check->output),
           graph_gradient(check->graph, check->output), check->count, 1 / (double)check->count);
  for (int i = 0; i < decisions->count; i++) {
    const struct decision *decision = &decisions->list[i];
    if (turned >> i & 1)
      device_write(check->device, graph_value(check->graph, decision->place),
                   sizeof(float) * decision->element, sizeof(float), &decision->turned);
  }
  graph_zero_gradients(check->graph);
  graph_backward(check->graph);
  return read_flat(check, check->graph->gradients);
}

/* Leaves the gradients of the best choice on the device. */
static bool compare_gradients(struct check *check, struct error *error) {
  struct decisions decisions;
  const double *expected[PARAMETERS_MOST];
  double worst[PARAMETERS_MOST];
  uint64_t turned = 0;
  if (!read_group(check, "grad", expected, error)) return false;
  find_decisions(check, &decisions);
  double best = compare_flat(check, run_gradient(check, &decisions, 0), expected, worst);
  for (int i = 0; i < decisions.count; i++) {
    uint64_t tried = turned | (uint64_t)1 << i;
    double sum = compare_flat(check, run_gradient(check, &decisions, tried), expected, worst);
    if (sum < best) best = sum, turned = tried;
  }
  compare_flat(check, run_gradient(check, &decisions, turned), expected, worst);
  see(check, "pixels turned to the reference's side", __builtin_popcountll(turned), 4);
  see_flat(check, "grad", worst, 1e-4);
  return device_finish(check->device, error);
}

/* ---- running ------------------------------------------------------------------------------------------- */

static bool run_step(struct check *check, int step, double expected, struct error *error) {
  double each[COUNT_MOST], loss = 0;
  const struct decisions none = {.count = 0};
  size_t count = check->count;
  run_gradient(check, &none, 0);
  if (!loss_read(&check->loss, count, each, error)) return false;
  for (size_t i = 0; i < count; i++) loss += each[i] / (double)count;
  see(check, step ? arena_text(check->arena, "loss after %d Adam steps", step) : "loss",
      fabs(loss - expected) / fabs(expected), 1e-5);
  if (step == 0 && (!compare_output(check, error) || !compare_gradients(check, error))) return false;
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
    if (!run_step(check, step, ((const double *)losses)[step], error)) return false;
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
