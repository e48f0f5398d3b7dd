/* Environments of a program (systems/public/l2sr.h): a simulation whose steps are taken one at a time.
 *
 * The host knows how many steps every scan has, for every step counts: so it knows which scans end with a
 * step before the device has taken it, and enqueues scores and resets only in those. */
#ifndef L2SR_SYSTEMS_ENV_H
#define L2SR_SYSTEMS_ENV_H

#include "engine/device/cuda.h"
#include "engine/device/host_memory.h"
#include "kernels/kernels.h"
#include "systems/data/dataset.h"
#include "systems/networks/policy.h"
#include "systems/networks/reconstructor.h"
#include "systems/public/callbacks.h"
#include "systems/public/config.h"
#include "systems/scan/load.h"
#include "systems/scan/simulation.h"

/* One of enum l2sr_array. */
struct env_array {
  size_t rank, extent[4];    /* rows first */
  cl_mem own;                /* its memory where it is no column; NULL: it is, or nobody has asked for it */
  cl_mem placed;             /* the program's memory that it is in; NULL: it is not */
  struct schedule *derive;   /* how it is computed from columns; NULL: it needs not be */
  struct host_memory copy;   /* that every step renews, where the program wants one */
  struct cuda_memory shared; /* with CUDA, where the program wants it; where it is one buffer, `placed` is that */
};

/* Where the next step takes its actions from. */
struct env_source {
  const uint32_t *host; /* NULL: */
  cl_mem memory;        /* NULL: ENV.action as it is */
  size_t offset;        /* bytes */
};

/* The steps of every scan, as the host counts them. Steps go up together: of a scan is kept when it began, so
 * that a step changes one number, and asking whether any has ended looks at one. */
struct env_clock {
  uint32_t now, period; /* a time is below the period, in which no two counts of steps meet */
  uint32_t *began;      /* [envs]: times */
  uint32_t *count;      /* [period]: scans that began then */
};

struct env {
  struct arena *arena; /* owns this */
  struct l2sr_config config;
  struct options options;
  struct acquisition acquisition;
  struct program_calls calls;
  struct device device;
  struct cuda *cuda; /* NULL: no array is shared with CUDA */
  bool transforms;   /* clFFT is open */
  struct dataset dataset;
  char contents[65]; /* tells data from other data (env_digest) */
  struct load_report report;
  struct simulation simulation;
  struct reconstructor reconstructor;
  struct policy policy;
  size_t envs;
  bool every;  /* all scans are scored after every step */
  bool starts; /* rewards need the quality that a scan starts from */
  bool begun, sent, decided;
  struct env_clock clock;
  uint32_t *flags;            /* [envs]: words on their way to the device, as which to reset, or from it */
  struct host_memory actions; /* [envs], likewise */
  struct host_memory refused_row; /* one word, read back with every step that may be refused */
  cl_mem reset, skip;             /* columns of kernels/env.cl: [envs] */
  cl_mem refused, before;         /* likewise, one word */
  bool skips, scored;             /* `skip` has a row that is not 0; the kept scores are not all NaN */
  bool dones, rewards;            /* L2SR_DONE, L2SR_REWARD may have a row that is not 0 */
  bool all;                       /* the running scoring is of all scans */
  struct env_source source;
  struct schedule step, next, same, begin, renew, observe, score, measure, clear, start, reconstruct, decide;
  const struct sampler *sampler; /* of `decide`; NULL: none yet */
  cl_mem taken; /* scratch of array kspace; NULL: nobody has asked for it */
  struct env_array array[L2SR_ARRAYS];
};

extern const enum l2sr_array metric_arrays[METRICS]; /* in the order of METRIC_ROWS (systems/scan/simulation.h) */

bool env_open(struct env **env, const struct l2sr_config *config, struct error *error);
void env_close(struct env *env);

/* ---- steps (env_step.c) -------------------------------------------------------------------------------- */

/* Builds the lists of systems and their kernels. */
bool env_build(struct env *env, struct error *error);
/* Sets how many steps the scan of a row has taken. */
void env_count(struct env *env, size_t row, uint32_t steps);
bool env_reset(struct env *env, const uint8_t *mask, const uint32_t *seed, struct error *error);
bool env_decide(struct env *env, const char *sampler, struct error *error);
bool env_send(struct env *env, const struct env_source *source, struct error *error);
bool env_play(struct env *env, const char *sampler, uint32_t steps, struct error *error);
bool env_wait(struct env *env, struct error *error);
bool env_checks(const struct env *env);  /* the step that is sent may be refused */
void env_clear_refused(struct env *env); /* no step has been */
void env_clear_scores(struct env *env);  /* NaN; enqueues */
bool env_reconstruct(struct env *env, bool scores, struct error *error);
/* Observations and what is derived from them anew, of the masks that there are; waits. */
bool env_renew(struct env *env, struct error *error);
/* Refuses what is no buffer of the handle's context, or has fewer than `bytes` bytes from byte `offset` on;
 * `what`: in words. */
bool env_check_memory(const struct env *env, cl_mem memory, size_t offset, size_t bytes, const char *what,
                      struct error *error);
/* Refuses, as a wrong call, what may not come before the first reset or between send and wait. */
bool env_is_idle(const struct env *env, bool begun, struct error *error);
/* The same, and waits for what CUDA reads of the arrays: they are to be written. */
bool env_is_free(const struct env *env, bool begun, struct error *error);

/* ---- arrays (env_arrays.c) ----------------------------------------------------------------------------- */

/* Refuses unknown numbers and what this handle does not have; makes the array if it is not there yet. */
bool env_array_need(struct env *env, enum l2sr_array array, struct error *error);
cl_mem env_array_memory(const struct env *env, enum l2sr_array array); /* NULL: it is not there yet */
void env_array_shape(const struct env *env, enum l2sr_array array, struct l2sr_shape *shape);
bool env_array_place(struct env *env, enum l2sr_array array, cl_mem memory, struct error *error);
/* Places it in memory that CUDA sees too, or has it copied there. */
bool env_array_share(struct env *env, enum l2sr_array array, struct error *error);
/* Copies there what is too large for one buffer, or has been placed elsewhere since; enqueues. */
void env_array_fill_shared(struct env *env, enum l2sr_array array);
/* Whether the buffer is the array's, a part of it, or of the same buffer as it. */
bool env_is_part(const struct env *env, cl_mem memory, enum l2sr_array array);
bool env_array_pin(struct env *env, enum l2sr_array array, struct error *error);
void env_array_unpin(struct env *env, enum l2sr_array array);
bool env_array_read(struct env *env, enum l2sr_array array, void *to, size_t bytes, struct error *error);
/* Metrics that the handle scores, made with it. */
bool env_arrays_open(struct env *env, struct error *error);
void env_arrays_close(struct env *env);
/* What arrays change with. */
enum env_change {
  CHANGE_STEP = 1,
  CHANGE_SCAN = 2, /* scans have begun */
  CHANGE_DONE = 4,
  CHANGE_REWARD = 8,
  CHANGE_SCORE = 16,
  CHANGE_ALL = 31, /* of the running scans */
  CHANGE_END = 32  /* what ended scans leave */
};
/* All enqueue: what is derived from the running scans, and the copies in host memory and in CUDA's, of arrays
 * that have changed; what ended scans leave. */
void env_arrays_renew(struct env *env, unsigned changes);
bool env_arrays_want_final(const struct env *env); /* the program has asked for some of these */
void env_arrays_keep_final(struct env *env);

/* ---- state (env_state.c) ------------------------------------------------------------------------------- */

/* Sets what tells the data from other data; slices in memory need not stay after it. */
void env_digest(struct env *env);
size_t env_state_bytes(const struct env *env);
bool env_save(struct env *env, void *to, struct error *error);
bool env_restore(struct env *env, const void *from, size_t bytes, struct error *error);
bool env_draw(struct env *env, enum l2sr_array array, size_t row, const char *path, struct error *error);

#endif
