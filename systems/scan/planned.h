/* Samplers that choose all actions of a scan before the first, by what its initial actions show (SAMPLER_PLANNED): a row
 * each. A plan has steps, each of which sees what the actions of those before have added; scans then acquire the lines in
 * the order of the steps, low frequencies first. Trainings make their masks by the same systems. */
#ifndef L2SR_SYSTEMS_PLANNED_H
#define L2SR_SYSTEMS_PLANNED_H

#include "systems/networks/network.h"
#include "systems/scan/simulation.h"

struct planner;

struct planner_desc {
  const char *names[3]; /* in sampler_list, ended by NULL */
  component_set reads, writes; /* of a step, beside the masks */
  const char *kernels[2];      /* that it launches, beside those of the masks */
  size_t bytes;                /* of its own state */
  /* Enqueues the step for scans [first, first + images), whose draws are keyed by `number`, `number` + 1 ... Returns their
   * masks with the lines so far, F32 [images][actions]. */
  cl_mem (*plan)(struct planner *planner, struct world *world, size_t first, uint32_t number, size_t images);
  /* Opens what sampler.mask names, to scan with; close follows, also where it fails. */
  bool (*load)(struct planner *planner, const struct masks_setup *setup, struct error *error);
  void (*close)(struct planner *planner);
};

struct planner {
  const struct planner_desc *desc; /* NULL: not open */
  struct device *device;
  struct acquisition acquisition;
  void *own;       /* the row's */
  cl_mem initial;  /* F32 [batch][actions]: 1 where every scan starts with the action */
  size_t batch;    /* scans a pass */
  uint32_t steps;  /* of a plan */
  uint32_t step;   /* the running one */
  uint32_t number; /* of a training's first scan, which keys its draws */
  bool best;       /* takes the most probable actions where the row draws */
};

/* The row of a sampler of this kind. */
const struct planner_desc *planner_of(const struct sampler *sampler);

/* Its own state is open: so many scans a pass, for this acquisition. */
bool planner_open(struct planner *planner, const struct planner_desc *desc, const struct masks_setup *setup,
                  struct error *error);
/* Of sampler.mask, to scan with; the arena keeps its own state. Refuses a file of another sampler or acquisition. */
bool planner_load(struct planner *planner, const struct sampler *sampler, const struct masks_setup *setup,
                  struct arena *arena, struct error *error);
void planner_close(struct planner *planner); /* also where it is not open */

/* Adds to a list over the simulation's world: masks from the initial actions on, step by step into ENV.mask. Scans keep the
 * order too (ENV.rank), and start from the initial masks again. */
void planner_add(struct simulation *simulation, const struct planner_desc *desc, struct schedule *schedule);
void planner_add_order(struct simulation *simulation, const struct planner_desc *desc, struct schedule *schedule);
/* What a scan by any such sampler may ask of the world. */
component_set planner_columns(const struct simulation *simulation);
/* Copies masks of so many scans from image 0 of `drawn`, F32, to ENV.mask; the system has that as a part. Kernel loupe_keep. */
void planner_keep(struct world *world, cl_mem drawn, unsigned column, size_t first, size_t images);

/* Shows the network of straight-through draws what scans [first, first + images) have acquired: its system reads
 * OBSERVE_STANDARDISE_READS. Kernel image_standardise. */
struct through;
void through_see(struct through *through, struct world *world, size_t first, size_t images);

extern const struct planner_desc planner_through, planner_nearest;
extern const struct system system_start_plan, system_repeat_plan, system_plan;

#endif
