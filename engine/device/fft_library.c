#include "engine/device/fft_library.h"

#include "engine/base/lock.h"

#include <clFFT.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
  unsigned users;
  bool ready; /* it is set up; its programs stay as long as the context that stays warm (device.c) */
  bool hushed;
  bool watched, ended; /* an end of the process is waited for; it has come */
  pid_t owner;         /* the process that set it up */
} library; /* the process has one; LOCK_TRANSFORMS guards it */

void fft_hush(bool hushed) {
  HOLD(LOCK_TRANSFORMS);
  library.hushed = hushed;
}

/* A program that ends with handles open leaves clFFT set up, which warns of it in the process's last moments.
 * OpenCL is still there: it was loaded before this was registered. Not in a child that was forked, where the
 * drivers' locks may be held by threads that are not there, nor while another thread is in clFFT. */
static void end_with_process(void) {
  if (library.owner != getpid() || !lock_try(LOCK_TRANSFORMS)) return;
  if (library.ready) clfftTeardown();
  library.ended = true;
  lock_give(&(const enum lock){LOCK_TRANSFORMS});
}

static void watch_end(void) {
  library.owner = getpid();
  if (!library.watched) library.watched = !atexit(end_with_process);
}

bool fft_library_open(struct error *error) {
  HOLD(LOCK_TRANSFORMS);
  if (library.users++ || library.ready) return true;
  /* clfftInitSetupData is an inline function without an external definition: it does not link at -O0. */
  clfftSetupData setup = {.major = clfftVersionMajor, .minor = clfftVersionMinor, .patch = clfftVersionPatch};
  clfftStatus status = clfftSetup(&setup);
  if (status == CLFFT_SUCCESS) {
    library.ready = true;
    watch_end();
    return true;
  }
  library.users--;
  return fail_as(error, ERROR_DEVICE, "clFFT does not start: status %d", status);
}

void fft_library_close(void) {
  HOLD(LOCK_TRANSFORMS);
  library.users--;
}

void fft_library_clear(void) {
  HOLD(LOCK_TRANSFORMS);
  if (library.users || !library.ready || library.ended) return;
  clfftTeardown();
  library.ready = false;
}

bool fft_library_hushed(void) {
  return library.hushed;
}

bool fft_library_ended(void) {
  return library.ended;
}
