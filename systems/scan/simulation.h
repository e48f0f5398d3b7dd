/* A running scene: the world, what its systems need beside columns, and what runs in a scan.
 *
 *   begin   starts the next scan of every environment whose scan has ended (reset is the one owner of that)
 *   step    decide, acquire, observe ... for one action, or for all points
 *   finish  what happens once, after the last action
 *   scan    all of these: begin, step for every action, finish
 *
 * The observation of a scan's last action stays until the next begin: nothing is lost at the end. What trains
 * builds schedules of its own over the same world (systems/methods). */
#ifndef L2SR_SYSTEMS_SIMULATION_H
#define L2SR_SYSTEMS_SIMULATION_H

#include "components/components.h"
#include "engine/ecs/schedule.h"
#include "systems/sampling/samplers.h"
#include "systems/scan/points.h"

/* X(name, also of its columns in ENV and ROLLOUT; sign; whether reward.scale is a factor of it, which
 * decibels need not; system that computes it; what readers call it; its unit; digits behind the point, or
 * minus how many there are at all), in the order of the choices of reward.metric. A system's metrics stand
 * together. */
#define METRIC_ROWS(X)                                                                                       \
  X(ssim, 1, true, score_ssim, "SSIM", "", 4)                                                                \
  X(ssim_uniform, 1, true, score_ssim_uniform, "SSIM uniform", "", 4)                                        \
  X(psnr, 1, false, score_error, "PSNR", "dB", 2)                                                            \
  X(psnr_unclamped, 1, false, score_error, "PSNR unclamped", "dB", 2)                                        \
  X(nmse, -1, true, score_error, "NMSE", "", 4)                                                              \
  X(mse, -1, true, score_error, "MSE", "", -3) /* errors are as small as the images */                        \
  X(callback, 1, true, score_callback, "Callback", "", 4)                                                    \
  X(log_likelihood, 1, true, score_classes, "Log-likelihood", "", 4)

#define METRIC_ONE(...) +1
/* Metrics of the device, and of all; those between follow from log_likelihood when all scans are there (systems/classifier/classes.h),
 * and have its columns: nothing is rewarded by them. */
enum { METRICS_SCORED = METRIC_ROWS(METRIC_ONE), METRIC_CROSS_ENTROPY = METRICS_SCORED, METRIC_ACCURACY, METRIC_AUC, METRICS };
struct metric {
  const char *name;
  unsigned env, rollout; /* columns */
  float sign;            /* -1: less is better */
  bool scales;           /* with reward.scale */
  const struct system *system;
  const char *title, *unit;
  int digits;
  double most; /* of a difference, which is -most at least; 0: without end */
};
extern const struct metric metric_list[METRICS];
double metric_scale(const struct options *options); /* the scale of the scene's reward */

/* What may decide beside heuristics, a bit each. */
enum scan_decider {
  DECIDES_POLICY = 1,   /* simulation.policy, set after opening */
  DECIDES_DENSE = 2,    /* which looks at the reconstruction: IMAGES_EVERY_STEP */
  DECIDES_ORACLE = 4,   /* network.batch candidates are scored at a time */
  DECIDES_SEQUENCE = 8, /* simulation.tau, set after opening */
  DECIDES_PLANNED = 16, /* simulation.planner, likewise */
};

/* When images are reconstructed; they are scored where metrics are named. */
enum scan_images {
  IMAGES_SCORED,    /* at the end, only to be scored */
  IMAGES_AT_END,    /* in any case */
  IMAGES_EVERY_STEP /* after every action, and before the first */
};

/* How a simulation is used: it follows which systems a scan runs and which columns there are. */
struct simulation_plan {
  size_t slices, envs, rollout_steps; /* rows of SLICE, ENV, and of ROLLOUT per environment */
  size_t together; /* slices needed at the same time, where not all must be; 0: all (systems/scan/slice_cache.h) */
  size_t coils;    /* most of a slice where k-space is the files' own; 0: there are no files */
  unsigned deciders;         /* bits of enum scan_decider */
  enum scan_images images;
  const char *metrics;       /* comma list: which are computed; NULL: none */
  bool observe_every_step;   /* observe after every action, as for IMAGES_EVERY_STEP; else where images are made */
  bool record;               /* keep actions, rewards and metrics in ROLLOUT */
  bool hands_over;           /* images that are scored go to host memory too: simulation.handed */
  bool rolling;              /* the step resets finished scans itself: endless stepping */
  bool network;              /* a network reconstructs: simulation.reconstructor, set after opening */
  uint32_t classes;          /* a classifier of so many is trained: simulation.classifier, likewise; 0: reward.classifier's */
  size_t draws;              /* of a dense policy, to train: trajectories of a slice, side by side; 0: it does not train */
  bool greedy;               /* all trajectories go on from one of them */
  component_set columns;     /* columns that the caller's schedules use */
  bool window;               /* slices are brought to the device as they are needed; found by simulation_open */
  const char *prefix;        /* of the names of its lists, as "validation "; NULL: none */
  size_t epoch_rows, pairs, states; /* rows of EPOCH, PAIR and STATE for them */
  struct kernels *kernels;   /* to share, of the same sizes; NULL: own ones */
  const char *kernel_folder; /* --kernels */
};

/* Where record puts what stands after t actions: row first + t * stride of ROLLOUT; where what stands before the
 * first action is not kept, row first + (t - 1) * stride. */
struct rollout_rows {
  size_t first, stride;
  bool before;
};

/* Trajectories that PG-MRI's policy is trained on. */
struct trajectory_plan {
  size_t slices; /* scans [0, slices) are one of each slice, and while all draws share a state stand for all */
  size_t before, all; /* slices of the update that earlier ranks have; that all have */
  size_t each;   /* slices of a shard: STATE is [shard][step][draw][slice] */
  size_t minibatch; /* slices that go on from the same one of their trajectories (greedy) */
};

/* Scans with one action more, which an oracle tries (systems/scan/oracle.h). */
struct candidates {
  struct schedule list;
  struct world *world; /* that it runs over: ENV is of candidates, the rest the simulation's; NULL: not open */
  struct arena *arena;
  uint32_t *word;      /* [scans][A], scores that ranks unite; NULL: there is one rank */
  size_t first;        /* candidate of the running pass */
  uint32_t count;      /* candidates of a scan */
};

/* Host memory of images that are scored: the image of row r of ROLLOUT at image r - first, of earlier rows
 * nowhere. It stays until the device has finished. */
struct handed_images {
  float *images;
  size_t first;
};

struct simulation {
  struct device *device;
  const struct options *options;
  struct simulation_plan plan;
  struct kernels *kernels;
  bool shares_kernels; /* they are another's */
  struct world *world;
  struct slice_cache *cache; /* NULL: all slices are on the device */
  struct acquisition acquisition;
  uint32_t steps; /* of its scans */
  const struct sampler *sampler;
  struct points points;                /* the draws of system decide_points, opened by simulation_set */
  cl_mem observe_work;                 /* scratch of observe_cells: an image a work-group; of observe_coil_lines: of blocks */
  size_t observe_slots, observe_bytes; /* images, and all their bytes */
  cl_mem observe_lines, observe_starts; /* of observe_coil_lines: lists (kernels/hybrid.cl) */
  size_t observe_list_bytes;            /* of each */
  const char *observe_kernel;          /* of system observe */
  const struct reconstruction *reconstruction; /* the plan's (systems/scan/reconstruction.h) */
  struct solver *solver; /* of a reconstructor without network (systems/scan/solve.h) */
  struct policy *classifier; /* of metric log_likelihood (systems/classifier/classify.h); NULL: nothing asks for it */
  struct arena *classifier_arena; /* where it is the simulation's own */
  struct caller *caller; /* of functions of the program's own (systems/scan/callback.h); NULL: none is called */
  const struct slice_name *names; /* where its slices are from, once they are loaded; NULL: from no data set */
  const struct volume *volumes;
  struct reconstructor *reconstructor; /* networks that systems run */
  struct policy *policy;
  struct tau *tau;
  struct planner *planner;
  struct candidates candidates; /* where the plan has an oracle */
  bool alike;            /* every rank has the same scans: each tries a part of their candidates */
  bool best;             /* the policy takes the most probable action; else it draws */
  bool keeps;            /* its activations stay: those of row r of ROLLOUT at its image r */
  uint32_t first_scan;   /* number of environment 0's first scan */
  uint32_t group;        /* scans with numbers in a row that share a slice; 1 unless a rollout sets it */
  uint32_t taken;        /* actions since the begin of the running scans */
  struct rollout_rows rows;
  size_t rollout_row;    /* the row of ROLLOUT that record writes */
  uint32_t refused; /* row of ENV whose image simulation_check refused last */
  struct handed_images handed; /* where the plan hands images over, set before its scans */
  struct pass pass;
  struct trajectory_plan trajectories;
  struct schedule begin, step, finish, scan, restart;
};

/* Builds kernels, allocates the world and derives the schedules. Must not move once it is open. */
bool simulation_open(struct simulation *simulation, struct device *device, const struct options *options,
                     const struct simulation_plan *plan, struct error *error);
void simulation_close(struct simulation *simulation);
/* Refuses reconstructions of what has run since the last call that are no finite numbers; waits. */
bool simulation_check(struct simulation *simulation, struct error *error);

/* Sets actions, budget and sampler for the scans that begin next. Not during a scan. */
bool simulation_set(struct simulation *simulation, const struct acquisition *acquisition,
                    const struct sampler *sampler, struct error *error);

/* Sets the rows in use and the number of environment 0's next scan: for loops over scans, which restart them. */
void simulation_number(struct simulation *simulation, uint32_t first_scan, size_t envs);
/* Starts over: every environment begins scan first_scan + its index at the next begin. */
void simulation_restart(struct simulation *simulation, uint32_t first_scan, size_t envs);
/* One scan of every environment, kept in rows [actions][environments] of ROLLOUT from before the first action
 * on. Only enqueues. */
void simulation_episode(struct simulation *simulation);

/* Builds only the schedules, without a device: for `describe`. They point into the simulation. */
bool simulation_describe(struct simulation *simulation, const struct options *options,
                         const struct simulation_plan *plan, const struct sampler *sampler,
                         struct error *error);
/* Columns of its world. */
component_set simulation_columns(const struct simulation *simulation);
/* The lists of what the host writes: when a described one is opened and its slices are loaded, and when it is set. */
bool simulation_describe_loads(struct schedule *schedule, const struct simulation *simulation, struct error *error);
void simulation_describe_set(struct schedule *schedule, const struct simulation *simulation);
/* Of what it writes itself. */
extern const struct system system_load_phase, system_load_column_phase, system_load_cells;
extern const struct system system_load_initial, system_load_weights, system_load_chances;
/* What its scans are composed of, in words. */
const char *simulation_text(const struct simulation *simulation, struct arena *arena);

/* ---- for schedules of others over its world -------------------------------------------------------- */

/* The systems of a scan, begin to finish, as the simulation's plan and sampler want them. teacher: decides in the policy's
 * place, which sees what it would; NULL: the sampler decides itself. */
void simulation_add_scan(struct simulation *simulation, struct schedule *schedule, const struct sampler *teacher);
/* Before a scan, where every environment begins anew. */
void simulation_add_restart(struct simulation *simulation, struct schedule *schedule);
/* The sampler's choice of an action for every environment. */
void simulation_add_decide(struct simulation *simulation, struct schedule *schedule);
/* The system of the metric, with what the scene lets it read beside; its row. */
const struct system *simulation_add_score(struct simulation *simulation, struct schedule *schedule, const struct metric *metric);
/* The geometry's observation, if the reconstructor does not view k-space itself. */
void simulation_add_observe(struct simulation *simulation, struct schedule *schedule);
/* The reconstructor's input of the running pass. */
void simulation_add_encode(struct simulation *simulation, struct schedule *schedule);
/* Of the variational network: from the gradient of its input to that of the masks, BATCH.drawn_gradient. */
void simulation_add_encode_back(struct simulation *simulation, struct schedule *schedule);
/* ENV.reconstruction by the plan's reconstructor (systems/scan/reconstruction.h), or by the network in any case. */
void simulation_add_reconstruct(struct simulation *simulation, struct schedule *schedule);
void simulation_add_network(struct simulation *simulation, struct schedule *schedule);

#endif
