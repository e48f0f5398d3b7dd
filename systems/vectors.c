#include "systems/vectors.h"

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
    return fail(error, "%s must be [count, N, N], of N at most %d and 2^28 numbers together", name,
                VECTORS_SIDE);
  *count = shape.size[0];
  *n = shape.size[1];
  return true;
}

bool vectors_number(struct vectors *vectors, const char *name, double *value, struct error *error) {
  return store_number(vectors->store, name, value) ? true : fail(error, "the attribute %s is missing", name);
}

bool vectors_read(struct vectors *vectors, const char *name, enum store_type type, size_t total, void **data,
                  struct error *error) {
  size_t found;
  if (!store_read_all(vectors->store, name, type, total, vectors->arena, data, &found, error)) return false;
  return found == total ? true : fail(error, "%s has %zu elements; expected %zu", name, found, total);
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

/* What a group of the file says of every parameter. */
static bool read_group(struct vectors *vectors, const char *group, const struct graph *graph,
                       const double **expected, struct error *error) {
  for (int i = 0; i < graph->parameters; i++) {
    void *data;
    const struct parameter *parameter = &graph->parameter[i];
    if (!vectors_read(vectors, arena_text(vectors->arena, "%s/%s", group, parameter->name), STORE_F64,
                      parameter->count, &data, error))
      return false;
    expected[i] = data;
  }
  return true;
}

bool vectors_compare_flat(struct vectors *vectors, const char *group, const struct graph *graph,
                          cl_mem buffer, double bound, struct error *error) {
  const double *expected[PARAMETERS_MOST];
  const float *found = vectors_flat(vectors, graph, buffer);
  double largest = 0;
  if (!read_group(vectors, group, graph, expected, error)) return false;
  for (int i = 0; i < graph->parameters; i++)
    largest = fmax(largest, largest_of(expected[i], graph->parameter[i].count));
  for (int i = 0; i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    double worst = vectors_error(found + parameter->offset, expected[i], parameter->count, 1e-10 * largest);
    vectors_see(vectors, arena_text(vectors->arena, "%s %s", group, parameter->name), worst, bound);
  }
  return true;
}
