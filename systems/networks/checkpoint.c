#include "systems/networks/checkpoint.h"

#include "engine/base/hash.h"

#include <math.h>
#include <string.h>

static const char *const kind_names[] = {"adam", "rmsprop", "rmsprop_tf", "sgd"};

/* ---- which names agree --------------------------------------------------------------------------------- */

/* A comma list that ends in "and N more" when it grows long. */
struct name_list {
  char text[480];
  size_t used, left_out, count;
};

static void add_name(struct name_list *names, const char *name) {
  size_t need = strlen(name) + 2;
  names->count++;
  if (names->used + need + 24 > sizeof names->text) {
    names->left_out++;
    return;
  }
  names->used += (size_t)snprintf(names->text + names->used, sizeof names->text - names->used, "%s%s",
                                  names->used ? ", " : "", name);
}

static void end_names(struct name_list *names) {
  if (names->left_out)
    snprintf(names->text + names->used, sizeof names->text - names->used, " and %zu more", names->left_out);
}

struct comparison {
  struct store *store;
  const struct graph *graph;
  const char *group;
  const char **path; /* by parameter: where it stands in the file */
  struct arena *arena;
  struct name_list missing, twice, unexpected, misshaped;
};

static const char *plain_name(const char *name) {
  return strncmp(name, "module.", 7) ? name : name + 7;
}

static void see_dataset(const char *name, void *context) {
  struct comparison *comparison = context;
  size_t length = strlen(comparison->group);
  if (strncmp(name, comparison->group, length) || name[length] != '/') return;
  const struct parameter *parameter = graph_find(comparison->graph, plain_name(name + length + 1));
  const char **path = parameter ? &comparison->path[parameter - comparison->graph->parameter] : NULL;
  if (path && *path)
    add_name(&comparison->twice, parameter->name);
  else if (path)
    *path = arena_text(comparison->arena, "%s", name);
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
  struct name_list *lists[] = {&c->missing, &c->twice, &c->unexpected, &c->misshaped};
  static const char *const labels[] = {"missing", "there as NAME and as module.NAME", "unexpected",
                                       "of another shape"};
  fail_file(error, "the parameters in group '%s' are not those of the network", c->group);
  for (int i = 0; i < 4; i++) {
    char before[sizeof error->text];
    if (!lists[i]->count) continue;
    end_names(lists[i]);
    memcpy(before, error->text, sizeof before);
    fail_file(error, "%.900s; %s: %.480s", before, labels[i], lists[i]->text);
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
  bool good = !c->missing.count && !c->twice.count && !c->unexpected.count && !c->misshaped.count;
  return good ? true : refuse(c, error);
}

/* ---- flat buffers -------------------------------------------------------------------------------------- */

/* Sums of products of larger ones leave float32; second moments are squares of gradients. */
static const float MOST_PARAMETER = 1e15f, MOST_MOMENT = 1e38f;

/* A flat buffer of a checkpoint, of parameters or of moments. */
struct flat {
  const char *group;
  const struct graph *graph;
  cl_mem buffer;
  float low, high;
};

static struct flat flat_of(const char *group, const struct graph *graph, cl_mem buffer, float low,
                           float high) {
  return (struct flat){group, graph, buffer, low, high};
}

static struct flat flat_parameters(const char *group, const struct graph *graph) {
  return flat_of(group, graph, graph->values, -MOST_PARAMETER, MOST_PARAMETER);
}

static bool is_good(const struct flat *flat, float value) {
  return value >= flat->low && value <= flat->high; /* NaN is neither */
}

static bool check_values(const struct flat *flat, const char *path, const float *values, size_t count,
                         struct error *error) {
  for (size_t k = 0; k < count; k++)
    if (!is_good(flat, values[k]))
      return fail_file(
          error,
          "%s holds %g at element %zu; a checkpoint's numbers are finite, here from %g to %g: the "
          "file is damaged",
          path, values[k], k, flat->low, flat->high);
  return true;
}

static bool check_held(const struct comparison *comparison, struct error *error) {
  for (int i = 0; i < comparison->graph->parameters; i++)
    if (!store_check_held(comparison->store, comparison->path[i], error)) return false;
  return true;
}

bool checkpoint_check_parameters(struct store *store, const char *group, const struct graph *graph,
                                 struct error *error) {
  struct arena *arena = arena_open();
  struct comparison comparison = {.store = store, .graph = graph, .group = group, .arena = arena};
  comparison.path = ARENA_NEW(arena, const char *, graph->parameters + 1);
  bool good = compare(&comparison, error) && check_held(&comparison, error);
  arena_close(arena);
  return good;
}

/* Reads what the group holds for every parameter into a buffer of the parameters' layout. */
static bool read_flat(struct store *store, struct flat flat, struct error *error) {
  const struct graph *graph = flat.graph;
  struct arena *arena = arena_open();
  struct comparison comparison = {.store = store, .graph = graph, .group = flat.group, .arena = arena};
  comparison.path = ARENA_NEW(arena, const char *, graph->parameters + 1);
  float *values = ARENA_NEW(arena, float, graph->elements);
  bool good = compare(&comparison, error);
  for (int i = 0; good && i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    float *to = values + parameter->offset;
    good = store_read_known(store, comparison.path[i], STORE_F32, parameter->count, to, error) &&
           check_values(&flat, comparison.path[i], to, parameter->count, error);
  }
  if (good) device_write(graph->device, flat.buffer, 0, sizeof(float) * graph->elements, values);
  arena_close(arena);
  return good;
}

/* Refuses to write values that could not be read again. */
static bool check_written(const struct flat *flat, const float *values, struct error *error) {
  for (int i = 0; i < flat->graph->parameters; i++)
    for (size_t k = 0; k < flat->graph->parameter[i].count; k++) {
      float value = values[flat->graph->parameter[i].offset + k];
      if (!is_good(flat, value))
        return fail_as(
            error, ERROR_DIVERGED,
            "%s/%s has become %g at element %zu and is not written; lower the learning rate or set a "
            "clip and train anew",
            flat->group, flat->graph->parameter[i].name, value, k);
    }
  return true;
}

static bool write_flat(struct store *store, struct flat flat, struct error *error) {
  const struct graph *graph = flat.graph;
  struct arena *arena = arena_open();
  float *values = ARENA_NEW(arena, float, graph->elements);
  device_read(graph->device, flat.buffer, 0, sizeof(float) * graph->elements, values);
  bool good = device_finish(graph->device, error) && check_written(&flat, values, error);
  for (int i = 0; good && i < graph->parameters; i++) {
    const struct parameter *parameter = &graph->parameter[i];
    good = store_write(store, arena_text(arena, "%s/%s", flat.group, parameter->name), STORE_F32,
                       parameter->rank, parameter->size, values + parameter->offset, false, error);
  }
  arena_close(arena);
  return good;
}

bool checkpoint_read_parameters(struct store *store, const char *group, const struct graph *graph,
                                struct error *error) {
  return read_flat(store, flat_parameters(group, graph), error);
}

bool checkpoint_write_parameters(struct store *store, const char *group, const struct graph *graph,
                                 struct error *error) {
  return write_flat(store, flat_parameters(group, graph), error);
}

/* ---- what tells parameters apart ------------------------------------------------------------------------- */

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

typedef bool pass_flat(struct store *store, struct flat flat, struct error *error);

/* Only the moments that the optimiser has. */
static bool pass_moments(struct store *store, const char *group, const struct optimiser *optimiser,
                         pass_flat *pass, struct error *error) {
  const struct graph *graph = optimiser->graph;
  struct arena *arena = arena_open();
  struct flat first =
      flat_of(arena_text(arena, "%s/first", group), graph, optimiser->first, -MOST_MOMENT, MOST_MOMENT);
  struct flat second =
      flat_of(arena_text(arena, "%s/second", group), graph, optimiser->second, 0, MOST_MOMENT);
  bool good =
      (!optimiser->first || pass(store, first, error)) && (!optimiser->second || pass(store, second, error));
  arena_close(arena);
  return good;
}

bool checkpoint_read_moments(struct store *store, const char *group, const struct optimiser *optimiser,
                             struct error *error) {
  return pass_moments(store, group, optimiser, read_flat, error);
}

bool checkpoint_write_moments(struct store *store, const char *group, const struct optimiser *optimiser,
                              struct error *error) {
  return pass_moments(store, group, optimiser, write_flat, error);
}

bool checkpoint_number(struct store *store, const char *name, double low, double high, double *value,
                       struct error *error) {
  if (!store_number(store, name, value))
    return fail_file(error, "it is no checkpoint of this kind, or damaged: %s is missing or no number", name);
  if (*value >= low && *value <= high) return true;
  return fail_file(
      error,
      "it has %s %g; expected a number from %g to %g: the file is damaged, start anew in another "
      "train.output",
      name, *value, low, high);
}

bool checkpoint_whole(struct store *store, const char *name, double high, double *value,
                      struct error *error) {
  if (!checkpoint_number(store, name, 0, high, value, error)) return false;
  if (*value == floor(*value)) return true;
  return fail_file(
      error, "it has %s %g; expected a whole number: the file is damaged, start anew in another train.output",
      name, *value);
}

bool checkpoint_read_optimiser(struct store *store, struct optimiser *optimiser, struct error *error) {
  char kind[32] = "none";
  double step, rate;
  const char *expected = kind_names[optimiser->setup.kind];
  if (!store_text(store, "optimiser", kind, sizeof kind) || strcmp(kind, expected))
    return fail_file(error,
                     "the optimiser in the checkpoint is '%s', expected '%s'; set learn.optimiser (a "
                     "reconstructor's: train.optimiser) to the former",
                     kind, expected);
  if (!checkpoint_whole(store, "optimiser_step", 1e15, &step, error) ||
      !checkpoint_number(store, "optimiser_rate", 0, 1e9, &rate, error) ||
      !checkpoint_read_moments(store, "optimiser", optimiser, error))
    return false;
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
