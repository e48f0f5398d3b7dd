/* The public face of libl2sr, for programs that hold the engine.
 *
 *   struct l2sr_config config = {.bytes = sizeof config, .scene = "knee_x4_long", .data = "DATA", .envs = 8};
 *   l2sr_env *env;
 *   if (l2sr_env_open(&config, &env)) fprintf(stderr, "%s\n", l2sr_last_error());
 *
 * Calls: a function that returns enum l2sr_code gives L2SR_GOOD, or says why not; l2sr_last_error() has the
 * text. NULL, closed and foreign handles, wrong sizes and a wrong order of calls are such errors, never a
 * crash. What a refused call was to write stays as it was; a handle that it was to give is NULL. A process
 * that is forked after such a call gets L2SR_WRONG_CALL of every one: OpenCL's drivers do not come along.
 *
 * Threads: every function may be called by any thread at any time. A handle does the work of one thread at a
 * time: a second call meanwhile, also one from a callback, is refused with L2SR_WRONG_CALL. Two handles work
 * side by side. The library reads and writes numbers in the C locale, whatever the program has set.
 *
 * Growing: a structure begins with `bytes`: set it to the sizeof that you compile with, and the rest to 0. New
 * members come at its end, so an older program and a newer library understand each other, and a newer program
 * and an older library where it asks for nothing new. No member is an array of which a later version may want
 * more: such arrays are pointers with their count. Enumerations grow at their end too, and their numbers stay. */
#ifndef L2SR_H
#define L2SR_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; l2sr_version tells the library's. A number grows with the version:
 * #if L2SR_VERSION_NUMBER >= 10200 is "1.2.0 or later". */
#define L2SR_VERSION_MAJOR 0
#define L2SR_VERSION_MINOR 1
#define L2SR_VERSION_PATCH 0
#define L2SR_VERSION_NUMBER (10000 * L2SR_VERSION_MAJOR + 100 * L2SR_VERSION_MINOR + L2SR_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of an error. A text beside it says what was found, what was expected and what to do. */
enum l2sr_code {
  L2SR_GOOD,
  L2SR_FAILED,        /* none of the others */
  L2SR_WRONG_USAGE,   /* an unknown word, a value out of its range, or values that contradict each other */
  L2SR_BAD_FILE,      /* a file or folder is missing, damaged, of another kind, or cannot be written */
  L2SR_NO_DEVICE,     /* there is no OpenCL device, or none of that name */
  L2SR_DEVICE_FAILED, /* the device or its driver refused or failed */
  L2SR_NO_MEMORY,     /* the host's or the device's is used up */
  L2SR_DIVERGED,      /* a loss, a reward or a parameter is no finite number any more */
  L2SR_WRONG_CALL,    /* the program broke a rule of the library: a mistake in the program */
  L2SR_STOPPED        /* a callback of the program stopped the work */
};

const char *l2sr_version(void); /* "0.1.0" */
int l2sr_version_number(void);  /* as L2SR_VERSION_NUMBER */
/* The text of the last call in this thread that was refused: "" before the first. It stays until the next
 * refusal in this thread. It may hold any bytes of names of files. */
const char *l2sr_last_error(void);

/* ---- the process: what a program sets once ------------------------------------------------------------- */

/* The library cannot go on: a small piece of host memory could not be had (L2SR_NO_MEMORY), or the program
 * called it wrongly (L2SR_WRONG_CALL). The handler runs in the thread that was at work, which holds no lock
 * of the library by then. It may end the program. It may also leave by longjmp to a place of the same thread:
 * then nobody uses or closes what the interrupted call worked on (its memory is lost until the program ends),
 * and everything else goes on. If it returns, or none is set (NULL), the text is logged and
 * the program is aborted. */
typedef void l2sr_fatal(enum l2sr_code code, const char *text, void *context);
void l2sr_on_fatal(l2sr_fatal *handler, void *context);
/* Functions that return enum l2sr_code need no handler: such an end is their code, and their handle can
 * only be closed then. */

/* libhdf5 crashes or hangs on some files that are damaged. With the path of an l2sr program, as
 * "/usr/bin/l2sr", a child process of it looks at every file first, and what happens to it is an error
 * like others. NULL: none, as at the start; then a warning says so (l2sr_on_log) at the first such file, as it
 * does where that program cannot be started. The text stays the caller's. */
void l2sr_look_with(const char *program);

/* The library says by callbacks what it does. It writes nothing on standard output or standard error by
 * itself: without a callback nobody reads it. A line has no end of line, and may hold any bytes (names of
 * files). Long work often reports how far it is. `noted` belongs to the program and is 0 at the start: a
 * program may keep there the time at which it last showed something. The callbacks run in the thread that
 * works, so two may run at once. They neither wait for another thread that is in the library nor leave by
 * longjmp. */
enum l2sr_level { L2SR_ERROR, L2SR_WARNING, L2SR_INFO, L2SR_DETAIL };
typedef void l2sr_line(enum l2sr_level level, const char *text, void *context);

struct l2sr_progress {
  size_t bytes;            /* of the library's structure: members behind them are not there */
  const char *what, *unit; /* "training", "images" */
  size_t done, total;      /* total 0: not known */
  double seconds;          /* since it began, less those in which kernels compiled */
  int ended;               /* it is over: nothing more is reported of it */
  double noted;
};
typedef void l2sr_advance(struct l2sr_progress *progress, void *context);

void l2sr_on_log(l2sr_line *line, l2sr_advance *advance, void *context); /* NULL: none */

/* Where the library takes its own host memory from; NULL: the C library's calloc and free, as at the start.
 * What is open when this is called, and what it takes later, stays with the functions that it was opened with,
 * which are called until it is closed. So an allocator that is set before all else, and outlives all handles,
 * sees every byte, and gets every byte back once all handles are closed and l2sr_look_with(NULL) has dropped
 * what was found out about files; but for calls that were broken off (L2SR_NO_MEMORY, L2SR_WRONG_CALL by a
 * broken rule): what these had opened is lost, and release is not called for it.
 *
 * allocate gives memory for any type, as malloc does, or NULL: then the call ends with L2SR_NO_MEMORY. Both
 * functions may run in any thread, several at once, and under locks of the library: they call nothing of
 * it, wait for nobody who is in it, and do not leave by longjmp. No step of l2sr_env_step calls them.
 *
 * Not by this allocator: what the C library takes for streams, threads, locales and folders' lists, the lines
 * that l2sr_train hands over, and what other libraries take: HDF5, libyaml, cairo, clFFT, CLBlast, and OpenCL's
 * drivers, which hold the memory of the device (PoCL's device is the host) and pinned memory (l2sr_env_pin). */
struct l2sr_allocator {
  size_t bytes; /* sizeof(struct l2sr_allocator) */
  void *(*allocate)(size_t bytes, void *context);
  void (*release)(void *memory, void *context); /* never NULL */
  void *context;
};
enum l2sr_code l2sr_allocate_with(const struct l2sr_allocator *allocator);

/* ---- what to open -------------------------------------------------------------------------------------- */

/* OpenCL's handles under their own names: cl_context, cl_command_queue and cl_mem are pointers to these. */
struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;

/* What a step does with an action that is acquired already. One that is no action, as 128 of 128 lines, is an
 * error always. */
enum l2sr_invalid {
  L2SR_INVALID_ERROR,  /* nothing is stepped: l2sr_env_wait refuses, and names environment and action. Arrays
                          stay, but for L2SR_ACTION and L2SR_RECONSTRUCTION */
  L2SR_INVALID_IGNORE, /* the step counts and acquires nothing */
  L2SR_INVALID_MASK    /* the nearest free action is taken, the lower one of two; L2SR_ACTION shows it */
};

/* Who begins the next scan of an environment whose scan has ended. */
enum l2sr_autoreset {
  L2SR_RESET_DISABLED, /* the program, by l2sr_env_reset; a step of an ended scan is refused */
  /* The step that ends it: observations are the next scan's, L2SR_DONE, L2SR_REWARD and the metrics the ended
   * one's, and L2SR_FINAL_... hold what was observed at its end. */
  L2SR_RESET_SAME_STEP,
  L2SR_RESET_NEXT_STEP /* the step after, which takes no action there: its reward is 0 */
};

/* When reconstructions are scored. Rewards need it: without, they are 0. */
enum l2sr_scoring {
  L2SR_SCORE_END,        /* in steps that end a scan, of the ended ones; and where reward.form needs more */
  L2SR_SCORE_EVERY_STEP, /* after every step, of all */
  L2SR_SCORE_NEVER
};

/* Slices in the program's memory, in place of files. They are copied. values: images
 * [count][height][width]; or k-space [count][coils][height][width][2], real and imaginary parts, the zero
 * frequency at [height / 2][width / 2]. Images are cropped to data.size, as those of files are. */
struct l2sr_slices {
  size_t bytes; /* sizeof(struct l2sr_slices); 0: it ends with volume */
  const float *values;
  size_t count, coils; /* coils 0: images */
  size_t height, width;
  const uint32_t *volume; /* [count]: neighbours of one number are a volume (data.range); NULL: each is */
  const float *label;     /* [count]: finite; data.label calls them "label" then, unless it has a name. NULL: none */
};

/* ---- functions of the program's own --------------------------------------------------------------------- */

/* Where a callback wants its arrays. */
enum l2sr_place {
  L2SR_PLACE_HOST,   /* pinned host memory */
  L2SR_PLACE_OPENCL, /* buffers (cl_mem) of the handle's context; commands go to `queue` */
  L2SR_PLACE_CUDA    /* addresses in the primary context of CUDA's device number `device` (as l2sr_env_cuda) */
};

enum { L2SR_FAULT = 1024 }; /* bytes of a callback's text */

/* A batch of scans, network.batch of them at most, for a callback. Arrays lie where `place` says: pointers are host
 * memory, cl_mem, or CUDA's addresses. Rows are scans, without gaps. NULL: the callback does not get it. What is to be
 * read is there when the callback is called; what it has started on `queue` or on CUDA's device is waited for. Nothing but
 * `result` is written. It lasts as long as the call. */
struct l2sr_batch {
  size_t bytes; /* of the library's structure: members behind them are not there */
  enum l2sr_place place;
  int device;
  struct _cl_context *context;
  struct _cl_command_queue *queue;
  size_t scans, height, width, actions;
  size_t coils;            /* of kspace and maps; 0: there are none */
  const void *observation; /* reconstruct: [scans][height][width] f32, the zero-filled magnitude, in units of the image */
  const void *acquired;    /* reconstruct: [scans][actions] u8: 1 where it is acquired */
  /* reconstruct, where reconstruct.input is kspace or maps: [scans][coils][height][width] of two f32, real and imaginary
   * part. K-space is orthonormal, in units of the image, its zero frequency at [height / 2][width / 2], 0 where nothing is
   * acquired; coils that a slice lacks are 0. */
  const void *kspace;
  const void *maps;            /* reconstruct, where reconstruct.input is maps: likewise, coil sensitivities */
  const void *image, *target;  /* metric: [scans][height][width] f32 each: what is scored, and against what */
  void *result;                /* reconstruct: [scans][height][width] f32, in units of the image. metric: [scans] f32 */
  /* Of every scan, in host memory: the slice of the data, the path of its volume and its number there. */
  const uint32_t *slice;
  const char *const *path;
  const size_t *number;
  char *fault; /* [L2SR_FAULT]: a callback that fails may write why, ended by a 0 */
  const void *label; /* metric, of scenes with data.label: [scans] f32, the labels of the scans' slices */
};

/* Runs in the thread that works; not 0: it has failed, and the call that is at work ends with L2SR_STOPPED and a text that
 * names it. Results that are no finite numbers end it with L2SR_DIVERGED. After either a handle can only be closed. It calls
 * no function on the handle, and does not leave by longjmp. */
typedef int l2sr_callback(const struct l2sr_batch *batch, void *context);

struct l2sr_callbacks {
  size_t bytes;       /* sizeof(struct l2sr_callbacks) */
  const char *name;   /* whose they are, for texts: "network.py"; NULL: "the program" */
  enum l2sr_place place;
  l2sr_callback *reconstruct; /* of scenes whose reconstruct.method is callback; NULL: there is none */
  l2sr_callback *metric;      /* the metric `callback`, more is better: of reward.metric and evaluate.metrics; NULL: none */
  void *context;
};

/* The function l2sr_plugin_open of a file FILE.so, for `l2sr COMMAND --plugin FILE.so`: it fills the structure, whose `bytes` are set, and may keep
 * memory until the program ends. Not 0: it refuses, and `fault`, [L2SR_FAULT], may say why. */
typedef int l2sr_plugin(struct l2sr_callbacks *callbacks, char *fault);

struct l2sr_config {
  size_t bytes;      /* sizeof(struct l2sr_config) */
  const char *scene; /* file, or name of an installed scene; NULL: the defaults */
  const char *text;  /* YAML of a scene, applied over `scene`; NULL: none */
  const char *const *overrides; /* "section.key=value", applied last */
  size_t override_count;
  /* A name, a kind or a place, as --device; NULL or "": L2SR_DEVICE, else the first GPU. Or the program's own
   * OpenCL context and in-order queue, which are retained; queue NULL: one is made on the context's first
   * device. */
  const char *device;
  struct _cl_context *context;
  struct _cl_command_queue *queue;
  const char *data;                 /* folder, as data.path; NULL: the scene's */
  const struct l2sr_slices *slices; /* or these; NULL: files */
  /* Checkpoints. NULL: evaluate.reconstructor and evaluate.policy of the scene. Where neither names one,
   * reconstructions are zero-filled images, and l2sr_env_decide knows no policy. */
  const char *reconstructor;
  const char *policy;
  const char *metrics; /* comma list; NULL: evaluate.metrics. That of reward.metric is always there */
  uint32_t envs;       /* environments, side by side; 0: world.envs */
  enum l2sr_autoreset autoreset;
  enum l2sr_invalid invalid;
  enum l2sr_scoring scoring;
  /* l2sr_evaluate asks it before every batch of world.envs scans: not 0 ends it with L2SR_STOPPED. NULL: none.
   * l2sr_train asks its record. */
  int (*stop)(void *context);
  void *stop_context;
  const struct l2sr_callbacks *callbacks; /* copied, but for its context; NULL: none */
};

/* ---- environments: scans side by side ------------------------------------------------------------------ */

/* A number of scans. Each starts with the initial actions acquired, and each step acquires one more, until
 * the budget is used up. Scans have numbers: environment i begins with scan i, then takes i + envs, i + 2
 * envs ... A scan's number and the seed decide its slice (data.order) and what is drawn in it. Geometries
 * are lines, also in pairs, and spokes. All slices are on the device (data.window means nothing here). */
typedef struct l2sr_env l2sr_env;

/* Opens the device, reads and prepares all slices, opens the networks. On L2SR_GOOD *env is the caller's
 * to close. */
enum l2sr_code l2sr_env_open(const struct l2sr_config *config, l2sr_env **env);
/* Waits for what is under way and gives everything back: memory objects and mappings of the handle are
 * gone. */
enum l2sr_code l2sr_env_close(l2sr_env *env);

struct l2sr_facts {
  size_t bytes;           /* sizeof(struct l2sr_facts), set by the caller */
  uint32_t envs, actions; /* environments; actions that a scan chooses among */
  uint32_t size;          /* N where images are N x N, else 0 */
  uint32_t initial;       /* actions that a scan starts from */
  uint32_t budget;        /* steps of a scan */
  uint32_t slices;        /* usable ones of the data */
  uint32_t seed;          /* in force */
  char device[128], geometry[16]; /* "lines" */
  uint32_t height, width; /* of images, in pixels */
};
enum l2sr_code l2sr_env_facts(l2sr_env *env, struct l2sr_facts *facts);
/* Where a slice, 0 to slices - 1, is from: the path of its volume, which belongs to the handle, and its number
 * there. NULL: not asked for. */
enum l2sr_code l2sr_env_slice(l2sr_env *env, size_t slice, const char **path, size_t *number);
/* The context and the queue of the handle: commands that the program enqueues there come after those of
 * the handle. Both belong to the handle. */
enum l2sr_code l2sr_env_queue(l2sr_env *env, struct _cl_context **context, struct _cl_command_queue **queue);

/* Begins the next scan of all environments (mask NULL), or of those i where mask[i], [envs] bytes, is not
 * 0. The first reset must be of all. seed not NULL: of all too; *seed takes the place of world.seed, and
 * every environment begins anew with the scan of its own number. The same seed gives the same scans.
 * Waits. */
enum l2sr_code l2sr_env_reset(l2sr_env *env, const uint8_t *mask, const uint32_t *seed);

/* Chooses a free action for every environment on the device: "random", another heuristic of `l2sr describe
 * samplers`, or "policy", the network of config.policy (by evaluate.actions). They are put into
 * L2SR_ACTION, and the next step takes them if it is given none. Does not wait. */
enum l2sr_code l2sr_env_decide(l2sr_env *env, const char *sampler);

/* Starts one step of all environments, and returns. actions: [envs], copied before it returns; NULL: those
 * that l2sr_env_decide has left. l2sr_env_wait must follow before any other call but close. */
enum l2sr_code l2sr_env_send(l2sr_env *env, const uint32_t *actions);
/* The same with actions in a buffer of the handle's context, uint32_t from byte `offset` on; they are read
 * before l2sr_env_wait returns. */
enum l2sr_code l2sr_env_send_memory(l2sr_env *env, struct _cl_mem *actions, size_t offset);
/* Starts `steps` steps, 1 or more, of all environments, one after the other, with actions that l2sr_env_decide would
 * choose before each, and returns, of more than a thousand when about as many are left: the device waits for nobody
 * between them. l2sr_env_wait must follow before any other call but close. Arrays are those after the last step,
 * rewards and metrics those of the last step. With L2SR_RESET_DISABLED, no scan may end before the last step. */
enum l2sr_code l2sr_env_play(l2sr_env *env, const char *sampler, uint32_t steps);
/* Waits for the step, or the steps of l2sr_env_play. An error leaves the environments as they were before the step
 * that is refused where it is L2SR_WRONG_USAGE; after any other the handle can only be closed. */
enum l2sr_code l2sr_env_wait(l2sr_env *env);
enum l2sr_code l2sr_env_step(l2sr_env *env, const uint32_t *actions); /* l2sr_env_send and l2sr_env_wait */

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* Each has a row an environment. Those marked + exist from the first time that they are asked for, by any
 * function below, and are kept up to date from then on, in resets and steps. Metrics that config does not
 * name are refused. */
enum l2sr_array {
  /* [envs][height][width], f32 or f16 (world.observation): the zero-filled magnitude, in units of a power of two near
   * the deviation of its slice. */
  L2SR_OBSERVATION,
  L2SR_OBSERVATION_MEAN, /* [envs] f32: its mean, in the same units */
  L2SR_OBSERVATION_STD,  /* [envs] f32: its sample deviation */
  /* + [envs][height][width] f32: (observation - mean) / deviation, clamped to [-6, 6], as policies see it. */
  L2SR_STANDARDISED,
  L2SR_FREE,     /* + [envs][actions] u8: 1 where the action is free */
  L2SR_ACQUIRED, /* [envs][actions] u8: 1 where it is acquired */
  L2SR_REWARD,   /* [envs] f32: of the last step; 0 after a reset by the program */
  L2SR_DONE,     /* [envs] u32: 1 where the last step ended the scan */
  L2SR_STEP,     /* [envs] u32: steps of the running scan */
  L2SR_SLICE,    /* [envs] u32: its slice, 0 to slices - 1 */
  L2SR_SCAN,     /* [envs] u32: its number */
  L2SR_ACTION,   /* [envs] u32: what the last step took, or l2sr_env_decide has left */
  /* [envs][height][width] f32, in units of the image: what the last scoring or l2sr_env_reconstruct has made. */
  L2SR_RECONSTRUCTION,
  L2SR_TARGET, /* + [envs][height][width] f32: the image that the running scan is scored against */
  /* [envs] f32 each: of the last step where it was scored, else NaN. */
  L2SR_SSIM,
  L2SR_SSIM_UNIFORM,
  L2SR_PSNR,
  L2SR_PSNR_UNCLAMPED,
  L2SR_NMSE,
  L2SR_MSE,
  /* With L2SR_RESET_SAME_STEP alone: of scans that the last step has ended (L2SR_DONE). Other rows mean
   * nothing. */
  L2SR_FINAL_OBSERVATION,  /* + as L2SR_OBSERVATION */
  L2SR_FINAL_STANDARDISED, /* + as L2SR_STANDARDISED */
  L2SR_FINAL_FREE,         /* + as L2SR_FREE */
  L2SR_CALLBACK, /* [envs] f32, a metric: what config.callbacks->metric has given, as the other metrics */
  /* Where reconstruct.input is kspace or maps: + [envs][coils][height][width] c64, as struct l2sr_batch has them; of
   * MAPS where it is maps. */
  L2SR_KSPACE,
  L2SR_MAPS,
  L2SR_FINAL_TARGET,         /* + as L2SR_TARGET, and as the other L2SR_FINAL_... the next two */
  L2SR_FINAL_ACQUIRED,       /* + as L2SR_ACQUIRED */
  L2SR_FINAL_RECONSTRUCTION, /* + as L2SR_RECONSTRUCTION; not with L2SR_SCORE_NEVER */
  L2SR_LABEL,                /* + [envs] f32, of scenes with data.label: the label of the running scan's slice */
  L2SR_FINAL_LABEL,          /* + as L2SR_LABEL, of ended scans as the other L2SR_FINAL_... */
  /* [envs] f32, a metric, of scenes with reward.classifier and data.label: the natural logarithm of the probability that the
   * classifier gives the label, 0 at most (PROTOCOL 1.9). */
  L2SR_LOG_LIKELIHOOD,
  /* Metrics of l2sr_evaluate that follow from it, a number of every slice in nats, 0 or 1, and 0 to 1, which no environment has as
   * an array. Of AUC each slice has what it adds: their mean is the area. */
  L2SR_CROSS_ENTROPY,
  L2SR_ACCURACY,
  L2SR_AUC,
  L2SR_ARRAYS              /* how many this version has; later ones, metrics too, come before it */
};

enum l2sr_element { L2SR_U8, L2SR_U32, L2SR_F16, L2SR_F32, L2SR_C64 }; /* c64: two f32, real and imaginary part */

struct l2sr_shape {
  size_t bytes;              /* sizeof(struct l2sr_shape), set by the caller */
  const char *name;          /* "observation"; it lives as long as the library */
  enum l2sr_element element;
  size_t total;              /* bytes of the whole array */
  size_t rank;
  const size_t *extent;      /* [rank], rows first; no gaps. It belongs to the handle, and stays until close */
};
enum l2sr_code l2sr_env_shape(l2sr_env *env, enum l2sr_array array, struct l2sr_shape *shape);

/* The array itself, without a copy: a buffer of the handle's context. It is the same until the handle is
 * closed or l2sr_env_place, belongs to the handle, and is not to be written. Its values are of the last
 * reset or l2sr_env_wait, and are being changed between l2sr_env_send and l2sr_env_wait. */
enum l2sr_code l2sr_env_memory(l2sr_env *env, enum l2sr_array array, struct _cl_mem **memory);
/* Moves the array, with what it holds, into a buffer of the program's, of the handle's context and at
 * least the array's bytes, as one that another interface shares. It is retained until close, and
 * l2sr_env_memory gives it from now on. */
enum l2sr_code l2sr_env_place(l2sr_env *env, enum l2sr_array array, struct _cl_mem *memory);
/* Places the array in memory that CUDA sees too, on a device of NVIDIA's: *address in the primary context of
 * CUDA's device number *device, the same until close. As l2sr_env_memory says; resets and steps wait first
 * for what that context has under way, so that nothing is overwritten while it is read. An array of more than
 * 510 MiB keeps its memory, and so does one that l2sr_env_place moves later: what CUDA sees is a copy then,
 * renewed with every change. The handle's OpenCL context then stays until the process ends, and later handles
 * take it. Other devices: L2SR_NO_DEVICE. */
enum l2sr_code l2sr_env_cuda(l2sr_env *env, enum l2sr_array array, uint64_t *address, int *device);
/* A copy in pinned host memory, which every reset and l2sr_env_wait renews from now on; the address is the
 * same until l2sr_env_unpin or close. Not to be written. */
enum l2sr_code l2sr_env_pin(l2sr_env *env, enum l2sr_array array, const void **values);
enum l2sr_code l2sr_env_unpin(l2sr_env *env, enum l2sr_array array);
/* Copies it to memory of the caller, of exactly `bytes` bytes, the array's. Waits. */
enum l2sr_code l2sr_env_read(l2sr_env *env, enum l2sr_array array, void *to, size_t bytes);

/* ---- what is made of the running scans ----------------------------------------------------------------- */

/* Makes L2SR_RECONSTRUCTION of what is acquired now, by config.reconstructor. Waits. */
enum l2sr_code l2sr_env_reconstruct(l2sr_env *env);
/* The same, and scores all of them: all metrics of config. Waits. */
enum l2sr_code l2sr_env_score(l2sr_env *env);

/* Writes the state of all environments, *bytes bytes, to `to`, of `room` bytes. to NULL: says *bytes
 * alone. */
enum l2sr_code l2sr_env_save(l2sr_env *env, void *to, size_t room, size_t *bytes);
/* Goes on from it: the same scans follow, here, in another process, or on another device. The handle must
 * have the same sections data, acquisition, world, sampler and reward of the scene (paths, data.window and
 * world.seed may differ), the same data, number of environments and autoreset, and the library the same
 * version. A state of another handle, and one of which any byte has changed, is refused and changes nothing. */
enum l2sr_code l2sr_env_restore(l2sr_env *env, const void *from, size_t bytes);

/* Draws a row of an array of images or of masks (which become the cells of k-space that they acquire) as a
 * PNG file of height x width grey pixels. Images are shown from 0, or from -6 where they are standardised, to their
 * largest value. */
enum l2sr_code l2sr_env_draw(l2sr_env *env, enum l2sr_array array, size_t row, const char *path);

/* ---- training and evaluating --------------------------------------------------------------------------- */

/* Called by l2sr_train. json: a line of log.jsonl or stages.jsonl, without its end; it lives as long as
 * the call. NULL: nothing is to be told, between two updates or rollouts. Not 0: the training stops. */
typedef int l2sr_record(const char *json, void *context);

/* Trains what train.method of the scene names, as `l2sr train`: on the splits train and val of
 * config.data, into the folder `output` (NULL: train.output). resume not 0: goes on with what is there.
 * record NULL: nobody is told. Where it stops the training, L2SR_STOPPED is returned, and l2sr_train goes
 * on with `resume`: a policy from that moment, a reconstructor from its last whole epoch. Members of
 * config for environments mean nothing here. */
enum l2sr_code l2sr_train(const struct l2sr_config *config, const char *output, int resume,
                          l2sr_record *record, void *context);

/* What l2sr_evaluate has found. */
typedef struct l2sr_table l2sr_table;

/* Scans every slice by every sampler of evaluate.samplers (a policy of config.policy beside them) at every
 * setting, and scores it, as `l2sr evaluate`; no files are written. On L2SR_GOOD *table is the caller's to
 * close. */
enum l2sr_code l2sr_evaluate(const struct l2sr_config *config, l2sr_table **table);
enum l2sr_code l2sr_table_close(l2sr_table *table);

/* Numbers of runs (a sampler at a setting) and of slices. NULL: not asked for. */
enum l2sr_code l2sr_table_size(l2sr_table *table, size_t *runs, size_t *slices);

/* One run. Texts and arrays belong to the table, and stay until it is closed. Scans are one or more of every
 * slice: [trajectory][slice]. */
struct l2sr_run {
  size_t bytes; /* sizeof(struct l2sr_run), set by the caller */
  const char *sampler, *geometry, *horizon;
  uint32_t acceleration, initial, budget, actions; /* of a scan */
  size_t scans, steps;                             /* steps of a scan; all points are one */
  size_t size;                                     /* N where images are N x N, else 0 */
  double seconds;
  const float *returns;   /* [scans]: sums of rewards */
  const uint8_t *mask;    /* [scans][actions]: 1 where acquired at the end */
  const uint32_t *action; /* [scans][steps] in their order; of points nothing */
  const float *images;    /* [scans][height][width] reconstructions at the end; NULL without evaluate.images */
  size_t height, width;
  size_t metrics;                 /* those that this version knows; the next four are [metrics] */
  const enum l2sr_array *metric;  /* L2SR_SSIM, ...: ask by these which is which */
  const double *mean, *deviation; /* at the end, over scans (population); NaN: none */
  /* Each [scans][steps + 1], after 0, 1, ... steps; NULL: not scored. Without evaluate.curves only the last
   * column is, and the others are NaN. Where evaluate.profile scores volumes, a volume's is in the row of its
   * first slice and the others are NaN; means and deviations are then over volumes. */
  const float *const *scores;
};
enum l2sr_code l2sr_table_run(l2sr_table *table, size_t run, struct l2sr_run *values);

/* Where a slice is from: the path of its volume, and its number there. NULL: not asked for. */
enum l2sr_code l2sr_table_slice(l2sr_table *table, size_t slice, const char **path, size_t *number);

#ifdef __cplusplus
}
#endif
#endif
