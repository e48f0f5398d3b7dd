/* Functions that several benchmarks use. */
#ifndef L2SR_TOOLS_BENCH_H
#define L2SR_TOOLS_BENCH_H

#include "components/scan_shape.h"
#include "engine/base/random.h"
#include "engine/device/profile.h"
#include "engine/ecs/world.h"
#include "engine/graph/graph.h"
#include "systems/networks/loss.h"
#include "tools/commands/command.h"

enum { BENCH_REPEATS = 7 };

/* Sorts the seconds of the repeats. */
double bench_median(double seconds[BENCH_REPEATS]);
/* Median seconds of a pass, which only enqueues, after one to warm up; each repeat takes at least a tenth of
 * a second where one pass is short. */
bool bench_passes(struct device *device, void (*pass)(void *context), void *context, double *seconds,
                  struct error *error);
/* As bench_passes; *waited: the share of its time in which this rank stood in what ranks do together, 0 alone. */
bool bench_passes_waited(struct device *device, void (*pass)(void *context), void *context, double *seconds, double *waited,
                         struct error *error);
/* Under several ranks: seconds of what the first measures with one rank's share while the others wait; alone 0. */
typedef bool bench_measure(void *context, double *seconds, struct error *error);
bool bench_alone(struct device *device, bench_measure *measure, void *context, double *seconds, struct error *error);
/* Efficiency beside that, the share of time in which this rank waited, and the bytes of the graph's gradient; nothing alone. json:
 * members of an object. */
void bench_print_ranks(const struct device *device, const struct graph *graph, double alone, double seconds, double waited, bool json);
/* Runs so many passes with the profile, which is new, on the device; a trace goes on after it. */
bool bench_profiled(struct device *device, struct profile *profile, size_t passes, void (*pass)(void *context), void *context,
                    struct error *error);
/* The device's time of one pass by kernel and layer: as a table, or as the JSON list of an object's last
 * member. */
bool bench_profile(struct device *device, void (*pass)(void *context), void *context, bool json,
                   struct error *error);
/* Simulated coils (coils.simulate) of the images that bench_slices has written, and all that is made of their k-space. Refuses
 * maps that are made of it: coils.maps is none or file. */
bool bench_coils(struct world *world, const struct options *options, size_t slices, struct error *error);
/* Bytes a second that a copy reads and writes, of buffers as large as the device comfortably has. */
bool bench_copy(struct device *device, double *bytes_per_second, struct error *error);
/* Operations of one image forward, multiply-adds counted as two. */
double bench_flops(const struct graph *graph);
/* Bytes that one image must move forward where nothing normalised is stored: every block's output of
 * `element` bytes a value is written once and read once by each block that takes it, pooled copies likewise;
 * images in and out are floats. */
double bench_bytes(const struct graph *graph, size_t element);

/* Times a training by phase and system. */
bool bench_parts(struct device *device, void (*pass)(void *context), void *context, bool json,
                 struct error *error);

/* The largest device_distance over the gradients of all parameters; *worst: whose. NaN counts as largest. */
double bench_gradient_distance(struct device *device, const struct graph *found, const struct graph *expected,
                               const char **worst);

/* Normalised images: smooth, with noise; sixteen different ones. */
void bench_images(struct device *device, cl_mem to, size_t images, const struct scan_shape *shape, uint32_t seed);

struct bench_loss { /* SSIM beside random images, in their own units; close it where it was never opened, too */
  struct device *device; /* NULL: never opened */
  struct loss loss;
  struct loss_target target;
  size_t batch, pixels;
};
bool bench_loss_open(struct bench_loss *loss, struct device *device, struct kernels *kernels, const struct scan_shape *shape,
                     size_t batch, uint32_t seed, struct error *error);
void bench_loss_close(struct bench_loss *loss);

/* Makes an image; its content decides nothing but a check. */
void bench_image(float *image, const struct scan_shape *shape, size_t slice, uint32_t seed);
/* Slices of random smooth images, with a data range where the world has one, in their order. */
bool bench_slices(struct world *world, size_t slices, uint32_t seed, struct error *error);

/* Refuses, as wrong usage, a scene of points or of complex images: this bench times scans whose actions are
 * chosen one after the other, by what is looked at as a magnitude. */
bool bench_check_scans(const struct options *options, const char *bench, struct error *error);

/* `l2sr bench env`: environment-steps per second of programs that hold the library, beside bench step's. */
bool bench_env(struct call *call, struct device *device, struct error *error);
/* `l2sr bench network`: images per second of the reconstructor, after its output was checked. */
bool bench_network(struct call *call, struct device *device, struct error *error);
/* The same of a variational network: slices of varnet.cascades, coils.simulate. */
bool bench_varnet(struct call *call, struct device *device, struct error *error);
/* `l2sr bench policy`: observations per second of the policy and its critic, checked likewise. */
bool bench_policy(struct call *call, struct device *device, struct error *error);
/* `l2sr bench learn`: environment-steps per second of a policy's training, from rollout to update. */
bool bench_learn(struct call *call, struct device *device, struct error *error);

/* `l2sr bench train`: images per second of the scene's training by back-propagation, beside its reconstructor's. */
bool bench_train(struct call *call, struct device *device, struct error *error);
/* `l2sr bench inference`: what a slice costs every method. */
bool bench_inference(struct call *call, struct device *device, struct error *error);
/* `l2sr bench scaling`: reads what other benches have measured; takes no device. */
bool bench_scaling(struct call *call, struct error *error);
/* `l2sr bench sums`: what sums of gradients over ranks cost, by every way that there is. */
bool bench_sums(struct call *call, struct device *device, struct error *error);
/* `l2sr bench pgmri`: reconstructions per second of PG-MRI's training. */
bool bench_pgmri(struct call *call, struct device *device, struct error *error);
/* `l2sr bench ddqn`: environment-steps per second of DDQN's training, beside its networks' passes alone. */
bool bench_ddqn(struct call *call, struct device *device, struct error *error);

#endif
