#include "systems/checks/vectors.h"

#include "systems/networks/checkpoint.h"

#include <math.h>
#include <string.h>

bool vectors_open(struct vectors *vectors, const struct verify *verify, const char *path,
                  struct error *error) {
  const char *slash = strrchr(path, '/');
  *vectors = (struct vectors){.verify = verify, .source = slash ? slash + 1 : path};
  if (!store_open(&vectors->store, path, error)) return false;
  vectors->arena = arena_open();
  return true;
}

void vectors_close(struct vectors *vectors) {
  store_close(vectors->store);
  arena_close(vectors->arena);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

bool vectors_check_images(const struct store_shape *shape) {
  if (shape->rank != 3 || shape->size[1] != shape->size[2] || !shape->size[0] || !shape->size[1])
    return false;
  size_t n = shape->size[1];
  return n <= VECTORS_SIDE && shape->size[0] <= VECTORS_MOST / (n * n);
}

bool vectors_sizes(struct vectors *vectors, const char *name, size_t *count, size_t *n, struct error *error) {
  struct store_shape shape;
  if (!store_shape(vectors->store, name, &shape, error)) return false;
  if (!vectors_check_images(&shape))
    return fail_file(error, "%s must be [count, N, N], of N at most %d and 2^28 numbers together", name,
                     VECTORS_SIDE);
  *count = shape.size[0];
  *n = shape.size[1];
  return true;
}

bool vectors_number(struct vectors *vectors, const char *name, double *value, struct error *error) {
  return store_number(vectors->store, name, value) ? true
                                                   : fail_file(error, "the attribute %s is missing", name);
}

bool vectors_whole(struct vectors *vectors, const char *name, uint32_t most, uint32_t *value,
                   struct error *error) {
  double number;
  if (!vectors_number(vectors, name, &number, error)) return false;
  if (!(number >= 1 && number <= most && number == floor(number)))
    return fail_file(error, "the attribute %s is %g; it must be a whole number from 1 to %u", name, number,
                     most);
  *value = (uint32_t)number;
  return true;
}

bool vectors_check(struct vectors *vectors, const struct vectors_dataset *datasets, struct error *error) {
  void *ignored;
  for (; datasets->name; datasets++)
    if (!vectors_read(vectors, datasets->name, datasets->type, datasets->total, &ignored, error))
      return false;
  return true;
}

bool vectors_check_groups(struct vectors *vectors, const char *const *groups, const struct graph *graph,
                          struct error *error) {
  for (; *groups; groups++)
    if (!checkpoint_check_parameters(vectors->store, *groups, graph, error)) return false;
  return true;
}

bool vectors_read(struct vectors *vectors, const char *name, enum store_type type, size_t total, void **data,
                  struct error *error) {
  size_t found;
  if (!store_read_all(vectors->store, name, type, total, vectors->arena, data, &found, error)) return false;
  return found == total ? true : fail_file(error, "%s has %zu elements; expected %zu", name, found, total);
}

bool vectors_column(struct vectors *vectors, const char *name, size_t total, cl_mem *column,
                    struct error *error) {
  struct device *device = vectors->verify->device;
  void *data;
  if (!vectors_read(vectors, name, STORE_F32, total, &data, error)) return false;
  *column = device_buffer(device, sizeof(float) * total, name, error);
  if (!*column) return false;
  device_write(device, *column, 0, sizeof(float) * total, data);
  return true;
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

static double largest_of(const double *values, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(values[i]));
  return largest;
}

double vectors_error(const float *found, const double *expected, size_t count, double floor) {
  double largest = fmax(floor, largest_of(expected, count)), worst = 0;
  for (size_t i = 0; i < count; i++) {
    double gap = fabs(found[i] - expected[i]);
    worst = isnan(gap) ? INFINITY : fmax(worst, gap);
  }
  return largest > 0 ? worst / largest : worst;
}

void vectors_see(const struct vectors *vectors, const char *quantity, double worst, double bound) {
  vectors->verify->see(vectors->source, quantity, worst, bound, vectors->verify->context);
}

bool vectors_compare(struct vectors *vectors, const char *name, cl_mem buffer, size_t total, double bound,
                     struct error *error) {
  void *expected;
  float *found = ARENA_NEW(vectors->arena, float, total);
  if (!vectors_read(vectors, name, STORE_F64, total, &expected, error)) return false;
  device_read(vectors->verify->device, buffer, 0, sizeof(float) * total, found);
  vectors_see(vectors, name, vectors_error(found, expected, total, 0), bound);
  return true;
}

float *vectors_flat(struct vectors *vectors, const struct graph *graph, cl_mem buffer) {
  float *values = ARENA_NEW(vectors->arena, float, graph->elements);
  device_read(graph->device, buffer, 0, sizeof(float) * graph->elements, values);
  return values;
}

double *vectors_group(struct vectors *vectors, const char *group, const struct graph *graph,
                      struct error *error) {
  double *values = ARENA_NEW(vectors->arena, double, graph->elements);
  memset(values, 0, sizeof *values * graph->elements);
  for (int i = 0; i < graph->parameters; i++) {
    void *data;
    const struct parameter *parameter = &graph->parameter[i];
    if (!vectors_read(vectors, arena_text(vectors->arena, "%s/%s", group, parameter->name), STORE_F64,
                      parameter->count, &data, error))
      return NULL;
    memcpy(values + parameter->offset, data, sizeof *values * parameter->count);
  }
  return values;
}

static void see_parameter(const struct vectors *vectors, const char *group, const struct parameter *parameter,
                          double worst, double bound) {
  vectors_see(vectors, arena_text(vectors->arena, "%s %s", group, parameter->name), worst, bound);
}

bool vectors_compare_flat(struct vectors *vectors, const char *group, const struct graph *graph,
                          cl_mem buffer, double bound, struct error *error) {
  const float *found = vectors_flat(vectors, graph, buffer);
  const double *expected = vectors_group(vectors, group, graph, error);
  if (!expected) return false;
  double floor = 1e-10 * largest_of(expected, graph->elements);
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    size_t at = parameter->offset;
    see_parameter(vectors, group, parameter,
                  vectors_error(found + at, expected + at, parameter->count, floor), bound);
  }
  return true;
}

/* ---- after steps --------------------------------------------------------------------------------------- */

/* A hundredth of the tensor's largest is a hundred times what gradients may be off. Where a whole tensor is
 * but rounding, none is far. */
bool *vectors_far(struct vectors *vectors, const double *gradients, const struct graph *graph) {
  bool *far = ARENA_NEW(vectors->arena, bool, graph->elements);
  double floor = 1e-6 * largest_of(gradients, graph->elements);
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    const double *of = gradients + parameter->offset;
    double least = 1e-2 * fmax(floor, largest_of(of, parameter->count));
    for (size_t k = 0; k < parameter->count; k++) far[parameter->offset + k] = fabs(of[k]) > least;
  }
  return far;
}

bool vectors_compare_steps(struct vectors *vectors, const char *group, const struct graph *graph,
                           double bound, struct error *error) {
  float *found = vectors_flat(vectors, graph, graph->values);
  const double *expected = vectors_group(vectors, group, graph, error);
  const double *gradients = expected ? vectors_group(vectors, "grad", graph, error) : NULL;
  if (!gradients) return false;
  const bool *far = vectors_far(vectors, gradients, graph);
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    size_t at = parameter->offset;
    for (size_t k = at; k < at + parameter->count; k++)
      if (!far[k] && isfinite(found[k])) found[k] = (float)expected[k];
    see_parameter(vectors, group, parameter, vectors_error(found + at, expected + at, parameter->count, 0),
                  bound);
  }
  return true;
}
