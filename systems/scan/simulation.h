/* A running scene: the world, what its systems need beside columns, and the lists of a method.
 *
 *   begin   starts the next scan of every environment whose scan has ended (reset is the one owner of that)
 *   step    decide, acquire, observe ... for one line, or for all points
 *   finish  what happens once, after the last line
 *   batch   deals samples of the running epoch (systems/methods/feed.h) to the environments, observes them, and
 * either writes the network's input or reconstructs and scores
 *
 * The observation of a scan's last line stays until the next begin: nothing is lost at the end. */
#ifndef L2SR_SYSTEMS_SIMULATION_H
#define L2SR_SYSTEMS_SIMULATION_H

#include "components/components.h"
#include "engine/ecs/schedule.h"
#include "systems/scan/points.h"
#include "systems/scan/samplers.h"

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
  X(mse, -1, true, score_error, "MSE", "", -3) /* as small as the images */

#define METRIC_ONE(...) +1
enum { METRICS = METRIC_ROWS(METRIC_ONE) };
struct metric {
  const char *name;
  unsigned env, rollout; /* columns */
  float sign;            /* -1: less is better */
  bool scales;           /* with reward.scale */
  const struct system *system;
  const char *title, *unit;
  int digits;
};
extern const struct metric metric_list[METRICS];
double metric_scale(const struct options *options); /* of the scene's reward */

/* What decisions by the reconstruction leave for training (systems/scan/dense.c); zero where nobody trains. */
struct dense_kept {
  size_t slices;         /* the first so many scans stand for all of them; 0: each for itself */
  cl_mem images, masks;  /* what the policy saw: one row an image; NULL: not kept */
  size_t row;            /* of the next image */
};

struct simulation {
  struct device *device;
  const struct options *options;
  struct kernels *kernels;
  bool shares_kernels; /* they are another's */
  struct world world;
  size_t slices, coils;  /* that the plan asked for */
  struct window *window; /* systems/scan/window.h; NULL: all of them are on the device */
  struct acquisition acquisition;
  const struct sampler *sampler;
  cl_mem phase;                        /* exp(2 pi i k / N) */
  cl_mem initial;                      /* bytes of the initial mask */
  cl_mem choice;                       /* the sampler's weights or ranks */
  cl_mem chances;                      /* of learned_mask (systems/scan/learned.h) */
  struct points points;                /* what system decide_points draws, opened by simulation_set */
  cl_mem cells, observe_work;          /* of observe_cells: [action][N], and an image a work-group */
  size_t observe_slots, observe_bytes; /* images, and all their bytes */
  size_t oracle_batch;                 /* candidates that the oracle observes at a time; 0: no oracle */
  struct reconstructor *reconstructor; /* the network that system reconstruct_network runs */
  struct policy *policy;               /* the network that system decide_policy runs */
  struct loupe *loupe;                 /* the masks that system draw draws */
  struct tau *tau;                     /* what system decide_sequence runs */
  bool sequence;                       /* it may: the plan said so */
  cl_mem ranks;                        /* the order that it gives every scan's lines, [env][N]; NULL: none */
  size_t ranks_bytes;
  struct oracle *oracle;               /* what system decide_oracle works with; NULL: there is none */
  bool policy_decides;                 /* it may: the plan said so */
  bool dense;                          /* it looks at the reconstruction (PG-MRI), not at the observation */
  struct dense_kept kept;
  bool best;                           /* the policy takes the most probable line; else it draws */
  bool keeps;                          /* its activations stay: those of row r of ROLLOUT at its image r */
  uint32_t first_scan;                 /* number of environment 0's first scan */
  uint32_t taken;                      /* lines acquired since the begin of the running episode */
  size_t rollout_row;                  /* of ROLLOUT that record writes */
  size_t epoch_row;                    /* of EPOCH that deal reads from */
  struct system system[32];
  struct schedule begin, step, finish, batch;
};

struct simulation_plan {
  size_t slices, envs, rollout_steps; /* rows of SLICE, ENV, and of ROLLOUT per environment */
  size_t together; /* slices needed at the same time, where not all must be; 0: all (systems/scan/window.h) */
  size_t coils;    /* most of a slice where k-space is the files' own; 0: there are no files */
  bool score_every_step;              /* evaluate: score after every line */
  const char *metrics;                /* comma list: which are computed */
  bool unscored;                      /* bench: reconstruct where scores would be computed, and no more */
  bool observe_every_step;            /* bench and policies: observe after every line */
  bool record;                        /* keep actions, rewards and metrics in ROLLOUT */
  bool rolling;                       /* the step resets finished scans itself: endless stepping */
  bool network;              /* a network reconstructs: simulation.reconstructor, set after opening */
  size_t epoch_rows;         /* of EPOCH; 0: no schedule `batch` */
  bool score_batches;        /* `batch` reconstructs and scores too */
  bool draws_masks;          /* `batch` draws them: they are learned (simulation.loupe, set after opening) */
  bool deal_only;            /* `batch` deals slices and no more: masks are learned (systems/networks/loupe.h) */
  bool sequence;             /* sampler tau_step may decide: simulation.tau, set after opening */
  bool oracle;               /* an oracle may decide; network.batch candidates are scored at a time */
  bool policy;               /* a policy decides: simulation.policy, set after opening; `batch` presents to it */
  bool dense;                /* it looks at the reconstruction: score_every_step must be set too */
  struct kernels *kernels;   /* to share, of the same sizes; NULL: own ones */
  const char *kernel_folder; /* --kernels */
};

/* Builds kernels, allocates the world and derives the schedules. */
bool simulation_open(struct simulation *simulation, struct device *device, const struct options *options,
                     const struct simulation_plan *plan, struct error *error);
void simulation_close(struct simulation *simulation);

/* Sets lines, budget and sampler for the scans that begin next. Not during a scan. */
bool simulation_set(struct simulation *simulation, const struct acquisition *acquisition,
                    const struct sampler *sampler, struct error *error);

/* Starts over: every environment begins scan first_scan + its index at the next begin. */
void simulation_restart(struct simulation *simulation, uint32_t first_scan, size_t envs);
/* One scan of every environment: begin, a step for every line (of points one for all), finish. Only enqueues.
 */
void simulation_episode(struct simulation *simulation);

/* Only the schedules, without a device: for `describe`. They point into the simulation. sampler NULL: the first
 * of evaluate.samplers. */
bool simulation_describe(struct simulation *simulation, const struct options *options,
                         const struct simulation_plan *plan, const struct sampler *sampler,
                         struct error *error);

#endif
