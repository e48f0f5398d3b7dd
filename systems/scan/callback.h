/* Functions of the program's own in a scan: images of what is acquired (reconstruct.method callback), and numbers of images
 * (metric callback). A device's `calls` are struct callback_functions, for all that is opened on it.
 *
 * A function gets a batch of scans, network.batch of them at most, whose arrays lie where it wants them; the device has ended
 * what it has to do by then, and waits for the function. A batch costs two waits for the device: before the function, and for
 * whether what it gave is good; with CUDA's memory one more, for what the function has started there. What fails there is noted as a failure of the device is: nothing
 * that comes after it runs. */
#ifndef L2SR_SYSTEMS_CALLBACK_H
#define L2SR_SYSTEMS_CALLBACK_H

#include "systems/scan/simulation.h"

enum callback_place {
  CALLBACK_HOST,   /* pinned memory */
  CALLBACK_OPENCL, /* cl_mem of the device's context */
  CALLBACK_CUDA    /* addresses in the primary context of CUDA's device */
};

/* Rows are scans; without gaps. */
enum callback_array {
  CALLBACK_OBSERVATION, /* [height][width] F32: zero-filled magnitude, in units of the image */
  CALLBACK_MASK,        /* [actions] U8 */
  CALLBACK_KSPACE,      /* [coils][height][width] C64: systems/scan/planes.h; there where reconstruct.input says so */
  CALLBACK_MAPS,        /* likewise */
  CALLBACK_IMAGE,       /* [height][width] F32: what is scored */
  CALLBACK_TARGET,      /* [height][width] F32: what it is scored against */
  CALLBACK_LABEL,       /* F32: the slice's; there where data.label says so */
  CALLBACK_RESULT,      /* [height][width] F32, or a number F32: what the function writes */
  CALLBACK_ARRAYS
};

enum { CALLBACK_NAME = 256, CALLBACK_FAULT = 1024 };

struct callback_batch {
  enum callback_place place;
  size_t scans, height, width, actions, coils; /* coils 0: there are no planes */
  struct device *device;
  int cuda;                          /* CUDA's number of the device, where the place is CUDA's */
  void *array[CALLBACK_ARRAYS];      /* by `place`; NULL: the function does not get it */
  const uint32_t *slice;             /* [scans], of the data; in host memory, as the next two */
  const char *const *path;           /* [scans]: of the slice's volume */
  const size_t *number;              /* [scans]: the slice's number there */
};

/* false: it could not, and `fault` may say why. */
typedef bool callback_function(const struct callback_batch *batch, char fault[CALLBACK_FAULT], void *context);

struct callback_functions {
  callback_function *reconstruct, *metric; /* NULL: there is none */
  enum callback_place place;
  void *context;
  char name[CALLBACK_NAME]; /* whose they are, in words: "network.py" */
};

/* Whether the scene names a function: the first key that does, and which function. */
bool callback_wanted(const struct options *options, const char **key, const char **function);
const char *callback_name(const struct device *device); /* whose functions they are; "": there are none */
/* Of a policy's checkpoint: refuses one that looks at images where those of its training were a function's and these are not;
 * of others it warns. */
bool callback_compare(const struct simulation *simulation, const char *path, bool sees_images, struct error *error);
/* Refuses what names a function that is not there, once the lists are built. */
bool callback_check(const struct simulation *simulation, struct error *error);

/* simulation->caller, where its world has a use for one; once the world is open. */
bool callback_open(struct simulation *simulation, struct error *error);
void callback_close(struct simulation *simulation); /* one that was never opened is allowed */

extern const struct system system_repeat_callback, system_call_data, system_call_reconstruct, system_score_callback;

#endif
