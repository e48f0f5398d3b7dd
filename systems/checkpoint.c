#include "systems/checkpoint.h"

#include "engine/program.h"

#include <math.h>
#include <string.h>

static const char *const kind_names[] = {"adam", "rmsprop", "rmsprop_tf", "sgd"};

/* ---- which names agree --------------------------------------------------------------------------------- */

/* A comma list that ends in "and N more" when it grows long. */
struct names {
  char text[480];
  size_t used, left_out, count;
};

static void add_name(struct names *names, const char *name) {
  size_t need = strlen(name) + 2;
  names->count++;
  if (names->used + need + 24 > sizeof names->text) {
    names->left_out++;
    return;
  }
  names->used += (size_t)snprintf(names->text + names->used, sizeof names->text - names->used, "%s%s",
                                  names->used ? ", " : "", name);
}

static void end_names(struct names *names) {
  if (names->left_out)
    snprintf(names->text + names->used, sizeof names->text - names->used, " and %zu more", names->left_out);
}

struct comparison {
  struct store *store;
  const struct graph *graph;
  const char *group;
  const char **path; /* by parameter: where it stands in the file */
  struct arena *arena;
  struct names missing, unexpected, misshaped;
};

static const char *plain_name(const char *name) {
  return strncmp(name, "module.", 7) ? name : name + 7;
}

static void see_dataset(const char *name, void *context) {
  struct comparison *comparison = context;
  size_t length = strlen(comparison->group);
  if (strncmp(name, comparison->group, length) || name[length] != '/') return;
  const struct parameter *parameter = graph_find(comparison->graph, plain_name(name + length + 1));
  if (parameter)
    comparison->path[parameter - comparison->graph->parameter] = arena_text(comparison->arena, "%s", name);
  else
    add_name(&comparison->unexpected, name + length + 1);
}

static void print_shape(int rank, const size_t *size, char *text, size_t room) {
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < rank && used < room; i++)
    used += (size_t)snprintf(text + used, room - used, "%s%zu", i ? "x" : "", size[i]);
}

static bool compare_shape(struct comparison *comparison, const struct parameter *parameter, const char *path,
                          struct error *error) {
  struct store_shape shape;
  char found[96], wanted[96];
  if (!store_shape(comparison->store, path, &shape, error)) return false;
  bool same = shape.rank == parameter->rank && !shape.complex;
  for (int i = 0; same && i < shape.rank; i++) same = shape.size[i] == parameter->size[i];
  if (same) return true;
  print_shape(shape.rank, shape.size, found, sizeof found);
  print_shape(parameter->rank, parameter->size, wanted, sizeof wanted);
  add_name(&comparison->misshaped,
           arena_text(comparison->arena, "%s (%s, expected %s)", parameter->name, found, wanted));
  return true;
}

static bool refuse(struct comparison *c, struct error *error) {
  struct names *lists[] = {&c->missing, &c->unexpected, &c->misshaped};
  static const char *const labels[] = {"missing", "unexpected", "of another shape"};
  fail(error, "the parameters in group '%s' are not those of the network", c->group);
  for (int i = 0; i < 3; i++) {
    char before[sizeof error->text];
    if (!lists[i]->count) continue;
    end_names(lists[i]);
    memcpy(before, error->text, sizeof before);
    fail(error, "%.900s; %s: %.480s", before, labels[i], lists[i]->text);
  }
  return false;
}

static bool compare(struct comparison *c, struct error *error) {
  if (!store_list(c->store, see_dataset, c, error)) return false;
  for (int i = 0; i < c->graph->parameters; i++) {
    const struct parameter *parameter = &c->graph->parameter[i];
    if (!c->path[i])
      add_name(&c->missing, parameter->name);
    else if (!compare_shape(c, parameter, c->path[i], error))
      return false;
  }
  return c->missing.count || c->unexpected.count || c->misshaped.count ? refuse(c, error) : true;
}

/* ---- flat buffers -------------------------------------------------------------------------------------- */

/* Reads what the group holds for every parameter into a buffer of the parameters' layout. */
static bool read_flat(struct store *store, const char *group, const struct graph *graph, cl_mem to,
                      struct error *error) {
  struct arena *arena = arena_open();
  struct comparison comparison = {.store = store, .graph = graph, .group = group, .arena = arena};
  comparison.path = ARENA_NEW(arena, const char *, graph->parameters + 1);
  float *values = ARENA_NEW(arena, float, graph->elements);
  bool good = compare(&comparison, error);
  for (int i = 0; good && i < graph->parameters; i++) {
    void *data;
    size_t total;
    good = store_read_all(store, comparison.path[i], STORE_F32, graph->parameter[i].count, arena, &data,
                          &total, error);
    for (size_t k = 0; good && k < total; k++)
      if (!isfinite(((float *)data)[k]))
        good =
            fail(error, "%s holds %g at element %zu; a checkpoint's numbers are finite: the file is damaged",
                 comparison.path[i], ((float *)data)[k], k);
    if (good) memcpy(values + graph->parameter[i].offset, data, sizeof(float) * total);
  }
  if (good) device_write(graph->device, to, 0, sizeof(float) * graph->elements, values);
  arena_close(arena);
  return good;
}

/* What could not be read again is not written. */
static bool check_finite(const char *group, const struct graph *graph, const float *values,
                         struct error *error) {
  for (int i = 0; i < graph->parameters; i++)
    for (size_t k = 0; k < graph->parameter[i].count; k++) {
      float value = values[graph->parameter[i].offset + k];
      if (!isfinite(value))
        return fail(error,
                    "%s/%s has become %g at element %zu and is not written; lower the learning rate or set a "
                    "clip and train anew",
                    group, graph->parameter[i].name, value, k);
    }
  return true;
}

static bool write_flat(struct store *store, const char *group, const struct graph *graph, cl_mem from,
                       struct error *error) {
  struct arena *arena = arena_open();
  float *values = ARENA_NEW(arena, float, graph->elements);
  device_read(graph->device, from, 0, sizeof(float) * graph->elements, values);
  bool good = device_finish(graph->device, error) && check_finite(group, graph, values, error);
  for (int i = 0; good && i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    good = store_write(store, arena_text(arena, "%s/%s", group, parameter->name), STORE_F32, parameter->rank,
                       parameter->size, values + parameter->offset, false, error);
  }
  arena_close(arena);
  return good;
}

bool checkpoint_read_parameters(struct store *store, const char *group, const struct graph *graph,
                                struct error *error) {
  return read_flat(store, group, graph, graph->values, error);
}

bool checkpoint_write_parameters(struct store *store, const char *group, const struct graph *graph,
                                 struct error *error) {
  return write_flat(store, group, graph, graph->values, error);
}

bool checkpoint_hash(const struct graph *graph, char hex[65], struct error *error) {
  struct arena *arena = arena_open();
  float *values = ARENA_NEW(arena, float, graph->elements);
  float *packed = ARENA_NEW(arena, float, graph->elements);
  size_t used = 0;
  device_read(graph->device, graph->values, 0, sizeof(float) * graph->elements, values);
  bool good = device_finish(graph->device, error);
  for (int i = 0; good && i < graph->parameters; used += graph->parameter[i++].count)
    memcpy(packed + used, values + graph->parameter[i].offset, sizeof(float) * graph->parameter[i].count);
  if (good) hash_hex(packed, sizeof(float) * used, hex);
  arena_close(arena);
  return good;
}

/* ---- the optimiser ------------------------------------------------------------------------------------- */

bool checkpoint_read_moments(struct store *store, const char *group, const struct optimiser *optimiser,
                             struct error *error) {
  struct arena *arena = arena_open();
  const char *first = arena_text(arena, "%s/first", group), *second = arena_text(arena, "%s/second", group);
  bool good = (!optimiser->first || read_flat(store, first, optimiser->graph, optimiser->first, error)) &&
              (!optimiser->second || read_flat(store, second, optimiser->graph, optimiser->second, error));
  arena_close(arena);
  return good;
}

bool checkpoint_write_moments(struct store *store, const char *group, const struct optimiser *optimiser,
                              struct error *error) {
  struct arena *arena = arena_open();
  const char *first = arena_text(arena, "%s/first", group), *second = arena_text(arena, "%s/second", group);
  bool good = (!optimiser->first || write_flat(store, first, optimiser->graph, optimiser->first, error)) &&
              (!optimiser->second || write_flat(store, second, optimiser->graph, optimiser->second, error));
  arena_close(arena);
  return good;
}

bool checkpoint_read_optimiser(struct store *store, struct optimiser *optimiser, struct error *error) {
  char kind[32] = "none";
  double step, rate;
  const char *expected = kind_names[optimiser->setup.kind];
  if (!store_text(store, "optimiser", kind, sizeof kind) || strcmp(kind, expected))
    return fail(error, "the optimiser in the checkpoint is '%s', expected '%s'", kind, expected);
  if (!store_number(store, "optimiser_step", &step) || !store_number(store, "optimiser_rate", &rate))
    return fail(error, "the checkpoint lacks optimiser_step or optimiser_rate");
  if (!checkpoint_read_moments(store, "optimiser", optimiser, error)) return false;
  optimiser->step = (uint64_t)step;
  optimiser->rate = rate;
  return true;
}

bool checkpoint_write_optimiser(struct store *store, const struct optimiser *optimiser, struct error *error) {
  return checkpoint_write_moments(store, "optimiser", optimiser, error) &&
         store_put_text(store, "optimiser", kind_names[optimiser->setup.kind], error) &&
         store_put_number(store, "optimiser_step", (double)optimiser->step, error) &&
         store_put_number(store, "optimiser_rate", optimiser->rate, error);
}
