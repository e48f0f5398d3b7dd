#include "engine/device/fft.h"

#include "engine/base/lock.h"
#include "engine/device/compile.h"
#include "engine/device/profile.h"

#include <clFFT.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

bool fft_takes(size_t length) {
  static const size_t primes[] = {2, 3, 5, 7, 11, 13};
  if (!length) return false;
  for (size_t i = 0; i < 6; i++)
    while (length % primes[i] == 0) length /= primes[i];
  return length == 1;
}

static clfftStatus bake(struct fft *fft) {
  return clfftBakePlan(fft->plan, 1, &fft->device->queue, NULL, NULL);
}

static clfftStatus bake_quietly(struct fft *fft) {
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = dup(STDERR_FILENO);
  if (null >= 0 && kept >= 0) dup2(null, STDERR_FILENO);
  clfftStatus status = bake(fft);
  if (null >= 0 && kept >= 0) dup2(kept, STDERR_FILENO);
  if (null >= 0) close(null);
  if (kept >= 0) close(kept);
  return status;
}

static clfftStatus make_plan(struct fft *fft, size_t height, size_t width, size_t batch) {
  size_t lengths[2] = {width, height};
  float scale = (float)(1 / sqrt((double)(height * width)));
  clfftStatus status =
      clfftCreateDefaultPlan(&fft->plan, fft->device->context, height > 1 ? CLFFT_2D : CLFFT_1D, lengths);
  if (status != CLFFT_SUCCESS) return status;
  fft->open = true;
  if ((status = clfftSetPlanPrecision(fft->plan, CLFFT_SINGLE)) != CLFFT_SUCCESS ||
      (status = clfftSetLayout(fft->plan, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED)) ||
      (status = clfftSetResultLocation(fft->plan, CLFFT_INPLACE)) ||
      (status = clfftSetPlanBatchSize(fft->plan, batch)) ||
      (status = clfftSetPlanScale(fft->plan, CLFFT_FORWARD, scale)) ||
      (status = clfftSetPlanScale(fft->plan, CLFFT_BACKWARD, scale)))
    return status;
  return fft_library_hushed() ? bake_quietly(fft) : bake(fft);
}

/* clFFT would allocate it itself, at the first transform. */
static bool open_spare(struct fft *fft, struct error *error) {
  if (clfftGetTmpBufSize(fft->plan, &fft->spare_bytes) != CLFFT_SUCCESS || !fft->spare_bytes) return true;
  fft->spare = device_buffer(fft->device, fft->spare_bytes, "a transform", error);
  if (!fft->spare) fft_close(fft);
  return fft->spare != NULL;
}

static bool make(struct fft *fft, size_t height, size_t width, size_t batch, struct error *error) {
  HOLD(LOCK_TRANSFORMS);
  clfftStatus status = make_plan(fft, height, width, batch);
  if (status == CLFFT_SUCCESS) return open_spare(fft, error);
  fft_close(fft);
  return fail_as(error, ERROR_DEVICE, "clFFT refuses %zu transforms of %zu x %zu: status %d", batch, height,
                 width, status);
}

/* The log, which is told of compiling, is called without the lock. */
bool fft_open(struct fft *fft, struct device *device, size_t height, size_t width, size_t batch,
              struct error *error) {
  struct compile compile;
  *fft = (struct fft){.device = device};
  if (!height || !width)
    return fail(error, "a transform of %zu x %zu; both must be at least 1", height, width);
  if (!fft_takes(height) || !fft_takes(width))
    return dft_open(&fft->dft, device, height, width, batch, error);
  compile_begin(device, &compile);
  bool good = make(fft, height, width, batch, error);
  compile_end(device, &compile, false);
  return good;
}

static void enqueue(struct fft *fft, enum fft_direction direction, cl_mem data, cl_event *event) {
  HOLD(LOCK_TRANSFORMS);
  if (fft_library_ended()) {
    CL(fft->device, CL_INVALID_OPERATION);
    return;
  }
  CL(fft->device, clfftEnqueueTransform(fft->plan, direction == FFT_FORWARD ? CLFFT_FORWARD : CLFFT_BACKWARD,
                                        1, &fft->device->queue, 0, NULL, event, &data, NULL, fft->spare));
}

void fft_run(struct fft *fft, enum fft_direction direction, cl_mem data) {
  struct compile compile;
  if (fft->dft.batch) {
    dft_run(&fft->dft, fft->device, direction == FFT_INVERSE, data);
    return;
  }
  bool waits = !fft->launched[direction] && compile_launch(fft->device, &compile);
  cl_event event = NULL, before;
  size_t size = 0;
  profile_begin(fft->device, &before);
  enqueue(fft, direction, data, waits ? &event : NULL);
  if (before) clGetMemObjectInfo(data, CL_MEM_SIZE, sizeof size, &size, NULL);
  profile_end(fft->device, "clFFT", (struct profile_work){2 * (double)size, 0}, before);
  if (waits) compile_wait(fft->device, &compile, event);
  fft->launched[direction] = true;
}

void fft_close(struct fft *fft) {
  HOLD(LOCK_TRANSFORMS);
  dft_close(&fft->dft, fft->device);
  if (fft->open && !fft_library_ended()) clfftDestroyPlan(&fft->plan);
  device_release(fft->device, fft->spare, fft->spare_bytes);
  fft->spare = NULL;
  fft->open = false;
}
