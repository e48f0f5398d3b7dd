/* Files of stored results of networks (reference/README.md): functions that the checks of several of them
 * use. */
#ifndef L2SR_SYSTEMS_VECTORS_H
#define L2SR_SYSTEMS_VECTORS_H

#include "engine/files/store.h"
#include "engine/graph/graph.h"
#include "systems/checks/verify_setup.h"

struct vectors {
  const struct verify *verify;
  const char *source; /* the file's name without its folder */
  struct store *store;
  struct arena *arena; /* holds what is read */
};

bool vectors_open(struct vectors *vectors, const struct verify *verify, const char *path,
                  struct error *error);
void vectors_close(struct vectors *vectors);

/* The largest N, and the most numbers of a dataset of images: those of a reference's are far fewer. */
enum { VECTORS_SIDE = 4096, VECTORS_MOST = 1 << 28 };
/* Whether the shape is [count][N][N] within these. */
bool vectors_check_images(const struct store_shape *shape);
/* [count][N][N] of the dataset; refused when it has another shape. */
bool vectors_sizes(struct vectors *vectors, const char *name, size_t *count, size_t *n, struct error *error);
/* A number among the attributes. */
bool vectors_number(struct vectors *vectors, const char *name, double *value, struct error *error);
/* A whole number from 1 to `most` among the attributes. */
bool vectors_whole(struct vectors *vectors, const char *name, uint32_t most, uint32_t *value,
                   struct error *error);
/* A dataset that must have `total` elements. */
bool vectors_read(struct vectors *vectors, const char *name, enum store_type type, size_t total, void **data,
                  struct error *error);
/* Reads such a dataset as floats into a new buffer on the device; the caller releases it. */
bool vectors_column(struct vectors *vectors, const char *name, size_t total, cl_mem *column,
                    struct error *error);

/* A dataset that a file holds beside its parameters; lists end by a name of NULL. All of them are read before
 * the device is asked for anything, for sizes out of a file decide how much. */
struct vectors_dataset {
  const char *name;
  enum store_type type;
  size_t total;
};
bool vectors_check(struct vectors *vectors, const struct vectors_dataset *datasets, struct error *error);
/* Whether each group of the list (to NULL) holds what the graph, which need not be planned, has parameters.
 */
bool vectors_check_groups(struct vectors *vectors, const char *const *groups, const struct graph *graph,
                          struct error *error);

/* Largest difference over the larger of `floor` and the largest expected magnitude. */
double vectors_error(const float *found, const double *expected, size_t count, double floor);
/* Reports the error of a quantity. */
void vectors_see(const struct vectors *vectors, const char *quantity, double worst, double bound);
/* Reads `total` floats of a buffer and the dataset, and reports their error. */
bool vectors_compare(struct vectors *vectors, const char *name, cl_mem buffer, size_t total, double bound,
                     struct error *error);
/* A flat buffer of the graph's parameters. */
float *vectors_flat(struct vectors *vectors, const struct graph *graph, cl_mem buffer);
/* Compares every parameter with GROUP/NAME: errors are relative to that tensor's largest. Some gradients (of
 * biases before a norm) are 0 but for the reference's own rounding: they are measured against the largest of
 * all. */
bool vectors_compare_flat(struct vectors *vectors, const char *group, const struct graph *graph,
                          cl_mem buffer, double bound, struct error *error);
/* Compares the parameters after steps of Adam or RMSprop, as above, where the first gradient, which GRAD/NAME
 * holds, is far from zero. Elsewhere those steps go by its sign, and single precision cannot tell it:
 * PyTorch's own is off by 1.4e-2 there. */
bool vectors_compare_steps(struct vectors *vectors, const char *group, const struct graph *graph,
                           double bound, struct error *error);
/* Reads a group of the file, every parameter in the graph's layout, 0 between them. NULL: an error. */
double *vectors_group(struct vectors *vectors, const char *group, const struct graph *graph,
                      struct error *error);
/* Whether each of the elements of GRAD is far from zero, in the graph's layout. */
bool *vectors_far(struct vectors *vectors, const double *gradients, const struct graph *graph);

#endif
