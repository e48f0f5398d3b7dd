/* Helpers of tests that train by back-propagation: a small scene on phantoms, its training, and going on with
 * it. */
#ifndef L2SR_TESTS_TRAINING_H
#define L2SR_TESTS_TRAINING_H

#include "systems/methods/fit.h"
#include "systems/networks/loupe.h"
#include "systems/networks/tau.h"
#include "tests/support.h"

enum { N = 32, SLICES = 12, BATCH = 5 };

/* The program's device: open from open_trainings to close_trainings. */
extern struct device device;
extern struct folder folder;

struct run {
  struct arena *arena;
  struct options options;
  const struct task *task; /* NULL: the first of the method */
  struct training training;
};

/* Group setup and teardown. */
int open_trainings(void **state);
int close_trainings(void **state);

/* Plain gradient descent, so that parameters show gradients. output: a folder's name; NULL: nothing is
 * written. */
void set_training(struct run *run, enum train_method method, const char *output);
/* Trains from complex images, which are brought near 1. */
void set_complex(struct run *run);
void open_run(struct run *run, bool resume);
/* Starts the run and draws its first epoch. */
void start_run(struct run *run);
void close_run(struct run *run);
void run_epochs(struct run *run);
/* Opening fails with `part` in the text; the run's options stay. */
void refuse_open(struct run *run, bool resume, const char *part);
/* Refuses to go on, after which the run is gone. */
void refuse(struct run *run, const char *part);

/* Columns that a loss compares with, of what the training's environments hold. */
struct loss_target target_of(struct run *run);
/* Shows the first `images` slices that were dealt to a sampler of tau steps; all of its steps, with the
 * reconstructor between, to the input of the last pass. */
void show_slices(struct run *run, struct tau *tau, uint32_t first, size_t images);
void run_steps(struct run *run, uint32_t first, size_t images);

float *read_floats(struct arena *arena, cl_mem from, size_t count);
double largest_difference(const float *a, const float *b, size_t count);

/* Three epochs at once against one and then two, into the folders `whole` and `halves`, with Adam: the
 * parameters of the graph that `graph` gives, losses, validations and the optimiser's steps. */
void check_going_on(void (*set)(struct run *run, const char *output),
                    const struct graph *(*graph)(const struct training *training));
/* The options of `halves`. */
void set_halves(struct run *run, void (*set)(struct run *run, const char *output));
/* `halves`, which the method has trained, does not go on as a reconstructor's training. */
void refuse_other_method(void (*set)(struct run *run, const char *output), const char *method);

/* A file of tests/data with four images of N x N, and an update on them in double. */
enum { VECTOR = 4 };
struct store *vector_open(struct run *run, const char *name);
/* Its images as the volumes of the run's data set. */
void vector_write_volumes(struct run *run, struct store *vector);
void vector_read_parameters(struct run *run, struct store *vector, const char *group, const struct graph *graph);
/* The samples of the first epoch are in its order. */
void vector_check_order(struct run *run, struct store *vector);
/* Of every parameter; what a norm takes away has none. */
void vector_compare_gradients(struct run *run, struct store *vector, const char *group, const struct graph *graph);

#endif
