#include "systems/checks/verify_policy.h"

#include "kernels/kernels.h"
#include "systems/checks/vectors.h"
#include "systems/networks/checkpoint.h"
#include "systems/networks/decisions.h"
#include "systems/networks/policy.h"

#include <math.h>

enum { STEPS = 2, COUNT_MOST = 64 };

struct check {
  struct vectors vectors;
  struct device *device;
  struct kernels *kernels;
  struct policy_setup setup;
  struct policy policy;
  struct policy_update update;
  struct optimiser optimiser;
  const float *inputs[2]; /* observations, masks */
  size_t count, n;
};

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool read_setup(struct check *check, struct error *error) {
  struct vectors *vectors = &check->vectors;
  double entropy, value;
  uint32_t channels, pools, hidden;
  if (!vectors_sizes(vectors, "observation", &check->count, &check->n, error) ||
      !vectors_whole(vectors, "chans", 1024, &channels, error) ||
      !vectors_whole(vectors, "num_pool_layers", 12, &pools, error) ||
      !vectors_whole(vectors, "fc_size", 65536, &hidden, error) ||
      !vectors_number(vectors, "ent_coef", &entropy, error) ||
      !vectors_number(vectors, "vf_coef", &value, error))
    return false;
  if (check->count > COUNT_MOST)
    return fail_file(error, "%zu observations; at most %d are expected", check->count, COUNT_MOST);
  check->update.entropy_weight = (float)entropy;
  check->update.value_weight = (float)value;
  check->setup = (struct policy_setup){.device = check->device,
                                       .shape = scan_shape_make(check->n, check->n, GEOMETRY_LINES),
                                       .channels = channels,
                                       .pools = pools,
                                       .hidden = hidden,
                                       .batch = check->count,
                                       .train = true,
                                       .portable = true};
  return true;
}

static bool check_groups(struct check *check, struct error *error) {
  const char *const groups[] = {"param", "grad", "param_after_2_steps"};
  struct store *store = check->vectors.store;
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    if ((i < 2 || store_has(store, groups[i])) && !policy_stored(&check->setup, store, groups[i], error))
      return false;
  return true;
}

/* All but what needs the device. */
static bool read_file(struct check *check, struct error *error) {
  if (!read_setup(check, error) || !check_groups(check, error)) return false;
  size_t count = check->count, lines = count * check->n;
  const struct vectors_dataset datasets[] = {{"observation", STORE_F32, lines * check->n},
                                             {"mask", STORE_F32, lines},
                                             {"action", STORE_U32, count},
                                             {"advantage", STORE_F32, count},
                                             {"return", STORE_F32, count},
                                             {"encoder_output", STORE_F64, lines},
                                             {"value", STORE_F64, count},
                                             {"loss", STORE_F64, 1},
                                             {"entropy", STORE_F64, count},
                                             {"log_prob", STORE_F64, count},
                                             {"grad_norm", STORE_F64, 1},
                                             {NULL, STORE_F64, 0}};
  return vectors_check(&check->vectors, datasets, error);
}

static bool open_policy(struct check *check, struct error *error) {
  struct kernel_setup kernels = {check->n, check->n, false, check->vectors.verify->kernel_folder};
  if (!kernels_open(&check->kernels, check->device, &kernel_table, &kernels, error)) return false;
  check->setup.kernels = check->kernels;
  if (!policy_open(&check->policy, &check->setup, error) ||
      !checkpoint_read_parameters(check->vectors.store, "param", check->policy.graph, error))
    return false;
  policy_changed(&check->policy);
  return check->policy.batch == check->count ||
         fail(error, "%s has no room for %zu observations", check->device->facts.name, check->count);
}

static bool open_inputs(struct check *check, struct error *error) {
  size_t lines = check->count * check->n, pixels = lines * check->n;
  void *observation, *mask;
  if (!vectors_read(&check->vectors, "observation", STORE_F32, pixels, &observation, error) ||
      !vectors_read(&check->vectors, "mask", STORE_F32, lines, &mask, error))
    return false;
  device_write(check->device, check->policy.input, 0, sizeof(float) * pixels, observation);
  device_write(check->device, check->policy.mask, 0, sizeof(float) * lines, mask);
  check->inputs[0] = observation;
  check->inputs[1] = mask;
  return true;
}

static bool open_words(struct check *check, const uint32_t *from, cl_mem *column, struct error *error) {
  *column = device_buffer(check->device, sizeof *from * check->count, "a column", error);
  if (*column) device_write(check->device, *column, 0, sizeof *from * check->count, from);
  return *column;
}

/* Row i of the update is row i of the file; against an old log-probability of 0 the last of the terms is the
 * new one itself. */
static bool open_update(struct check *check, struct error *error) {
  struct policy_update *update = &check->update;
  size_t count = check->count;
  uint32_t order[COUNT_MOST], zeros[COUNT_MOST] = {0};
  void *action;
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  if (!vectors_read(&check->vectors, "action", STORE_U32, count, &action, error) ||
      !open_words(check, order, &update->order, error) ||
      !open_words(check, action, &update->action, error) ||
      !open_words(check, zeros, &update->log_prob, error) ||
      !vectors_column(&check->vectors, "advantage", count, &update->advantage, error) ||
      !vectors_column(&check->vectors, "return", count, &update->target, error))
    return false;
  update->terms = device_buffer(check->device, 4 * sizeof(float) * count, "the loss", error);
  return update->terms;
}

static void close_check(struct check *check) {
  struct policy_update *u = &check->update;
  size_t bytes = sizeof(float) * check->count;
  cl_mem columns[] = {u->order, u->action, u->log_prob, u->advantage, u->target};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    device_release(check->device, columns[i], bytes);
  device_release(check->device, u->terms, 4 * bytes);
  if (check->optimiser.device) optimise_close(&check->optimiser);
  policy_close(&check->policy);
  kernels_close(check->kernels);
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

static bool compare_outputs(struct check *check, struct error *error) {
  const struct policy *policy = &check->policy;
  return vectors_compare(&check->vectors, "encoder_output", policy->logits, check->count * check->n, 1e-5,
                         error) &&
         vectors_compare(&check->vectors, "value", policy->value, check->count, 1e-5, error);
}

static bool read_scalar(struct check *check, const char *name, double *value, struct error *error) {
  void *data;
  if (!vectors_read(&check->vectors, name, STORE_F64, 1, &data, error)) return false;
  *value = *(double *)data;
  return true;
}

/* One of the four terms of every row. */
static bool compare_term(struct check *check, const float *terms, int place, const char *name,
                         struct error *error) {
  float found[COUNT_MOST];
  void *expected;
  if (!vectors_read(&check->vectors, name, STORE_F64, check->count, &expected, error)) return false;
  for (size_t i = 0; i < check->count; i++) found[i] = terms[4 * i + (size_t)place];
  vectors_see(&check->vectors, name, vectors_error(found, expected, check->count, 0), 1e-5);
  return true;
}

static bool compare_loss(struct check *check, struct error *error) {
  const struct policy_update *update = &check->update;
  float terms[4 * COUNT_MOST];
  double expected, loss = 0;
  device_read(check->device, update->terms, 0, 4 * sizeof(float) * check->count, terms);
  if (!read_scalar(check, "loss", &expected, error)) return false;
  for (size_t i = 0; i < check->count; i++)
    loss += ((double)terms[4 * i] - (double)update->entropy_weight * terms[4 * i + 1] +
             (double)update->value_weight * terms[4 * i + 2]) /
            (double)check->count;
  vectors_see(&check->vectors, "loss", fabs(loss - expected) / fabs(expected), 1e-5);
  return compare_term(check, terms, 1, "entropy", error) && compare_term(check, terms, 3, "log_prob", error);
}

static bool compare_gradients(struct check *check, struct error *error) {
  struct graph *graph = check->policy.graph;
  struct decisions decisions;
  if (!decisions_turn(graph, check->inputs, &decisions, error)) return false;
  vectors_see(&check->vectors, "farthest decision turned to double's side", decisions.farthest,
              decisions_undecided);
  policy_backward(&check->policy, check->count);
  return vectors_compare_flat(&check->vectors, "grad", graph, graph->gradients, 1e-4, error);
}

static bool compare_norm(struct check *check, struct error *error) {
  double norm, expected;
  if (!read_scalar(check, "grad_norm", &expected, error) || !optimise_norm(&check->optimiser, &norm, error))
    return false;
  vectors_see(&check->vectors, "grad_norm", fabs(norm - expected) / expected, 1e-5);
  return true;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void run_loss(struct check *check) {
  path_forward(&check->policy.network.path, check->count);
  policy_loss(&check->policy, &check->update, 0, check->count, 1 / (double)check->count);
  graph_zero_gradients(check->policy.graph);
}

static bool compare_update(struct check *check, struct error *error) {
  struct graph *graph = check->policy.graph;
  run_loss(check);
  if (!compare_outputs(check, error) || !compare_loss(check, error) || !compare_gradients(check, error))
    return false;
  optimise_step(&check->optimiser);
  if (!compare_norm(check, error)) return false;
  if (!store_has(check->vectors.store, "param_after_2_steps")) return true;
  policy_changed(&check->policy);
  run_loss(check);
  policy_backward(&check->policy, check->count);
  optimise_step(&check->optimiser);
  return vectors_compare_steps(&check->vectors, "param_after_2_steps", graph, 1e-4, error);
}

bool verify_policy_file(const struct verify *verify, const char *path, struct error *error) {
  struct check check = {.device = verify->device};
  struct optimiser_setup rmsprop = optimise_defaults(OPTIMISER_RMSPROP, 3e-4);
  rmsprop.epsilon = 1e-5;
  rmsprop.clip = 0.5;
  if (!vectors_open(&check.vectors, verify, path, error)) return false;
  bool good = read_file(&check, error) &&
              (!verify->device ||
               (open_policy(&check, error) && open_inputs(&check, error) && open_update(&check, error) &&
                optimise_open(&check.optimiser, check.policy.graph, &rmsprop, error) && compare_update(&check, error)));
  close_check(&check);
  vectors_close(&check.vectors);
  return good ? true : fail_in(error, "%s", path);
}

/* ---- advantages ---------------------------------------------------------------------------------------- */

struct advantages {
  struct vectors vectors;
  struct device *device;
  struct kernels *kernels;
  size_t steps, scans;
  double gamma, lambda;
  cl_mem reward, value, done, last_value, advantage, target;
};

/* A scan has ended with a step when the next one starts with it. */
static bool open_done(struct advantages *a, struct error *error) {
  size_t total = a->steps * a->scans, bytes = sizeof(uint32_t) * total;
  void *start, *last;
  uint32_t *done = ARENA_NEW(a->vectors.arena, uint32_t, total);
  if (!vectors_read(&a->vectors, "episode_start", STORE_U32, total, &start, error) ||
      !vectors_read(&a->vectors, "last_done", STORE_U32, a->scans, &last, error))
    return false;
  for (size_t i = 0; i < total; i++)
    done[i] = i + a->scans < total ? ((uint32_t *)start)[i + a->scans] : ((uint32_t *)last)[i % a->scans];
  a->done = device_buffer(a->device, bytes, "the ends of scans", error);
  if (a->done) device_write(a->device, a->done, 0, bytes, done);
  return a->done;
}

static bool read_advantages(struct advantages *a, struct error *error) {
  struct store_shape shape;
  if (!store_shape(a->vectors.store, "reward", &shape, error)) return false;
  if (shape.rank != 2 || !shape.size[0] || !shape.size[1] || shape.size[0] > VECTORS_MOST ||
      shape.size[1] > VECTORS_MOST / shape.size[0])
    return fail_file(error, "reward must be [steps, scans], of 1 to 2^28 numbers together");
  a->steps = shape.size[0];
  a->scans = shape.size[1];
  size_t total = a->steps * a->scans;
  const struct vectors_dataset datasets[] = {
      {"reward", STORE_F32, total},        {"value", STORE_F32, total},
      {"last_value", STORE_F32, a->scans}, {"episode_start", STORE_U32, total},
      {"last_done", STORE_U32, a->scans},  {"advantage", STORE_F64, total},
      {"return", STORE_F64, total},        {NULL, STORE_F64, 0}};
  return vectors_number(&a->vectors, "gamma", &a->gamma, error) &&
         vectors_number(&a->vectors, "lambda", &a->lambda, error) &&
         vectors_check(&a->vectors, datasets, error);
}

static bool open_advantages(struct advantages *a, struct error *error) {
  struct kernel_setup setup = {32, 32, false, a->vectors.verify->kernel_folder};
  size_t total = a->steps * a->scans, bytes = sizeof(float) * total;
  return kernels_open(&a->kernels, a->device, &kernel_table, &setup, error) &&
         kernel_need(a->kernels, "policy_advantage", error) && open_done(a, error) &&
         vectors_column(&a->vectors, "reward", total, &a->reward, error) &&
         vectors_column(&a->vectors, "value", total, &a->value, error) &&
         vectors_column(&a->vectors, "last_value", a->scans, &a->last_value, error) &&
         (a->advantage = device_buffer(a->device, bytes, "advantages", error)) &&
         (a->target = device_buffer(a->device, bytes, "returns", error));
}

static void close_advantages(struct advantages *a) {
  cl_mem columns[] = {a->reward, a->value, a->done, a->advantage, a->target};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    device_release(a->device, columns[i], sizeof(float) * a->steps * a->scans);
  device_release(a->device, a->last_value, sizeof(float) * a->scans);
  kernels_close(a->kernels);
}

static bool run_advantages(struct advantages *a, struct error *error) {
  size_t total = a->steps * a->scans;
  kernel_run(a->kernels, "policy_advantage", a->scans,
             ARGS(graph_arg(ARG_IN, a->reward), graph_arg(ARG_IN, a->value),
                  arg_buffer(ARG_IN, ELEMENT_U32, a->done), graph_arg(ARG_IN, a->last_value),
                  graph_arg(ARG_OUT, a->advantage), graph_arg(ARG_OUT, a->target),
                  arg_u32((uint32_t)a->steps), arg_f32((float)a->gamma), arg_f32((float)a->lambda),
                  arg_u32(1)));
  return vectors_compare(&a->vectors, "advantage", a->advantage, total, 1e-5, error) &&
         vectors_compare(&a->vectors, "return", a->target, total, 1e-5, error) &&
         device_finish(a->device, error);
}

bool verify_advantage_file(const struct verify *verify, const char *path, struct error *error) {
  struct advantages advantages = {.device = verify->device};
  if (!vectors_open(&advantages.vectors, verify, path, error)) return false;
  bool good =
      read_advantages(&advantages, error) &&
      (!verify->device || (open_advantages(&advantages, error) && run_advantages(&advantages, error)));
  close_advantages(&advantages);
  vectors_close(&advantages.vectors);
  return good ? true : fail_in(error, "%s", path);
}
