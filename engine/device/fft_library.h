/* clFFT as a whole: what it keeps beside the plans (engine/device/fft.h). */
#ifndef L2SR_ENGINE_FFT_LIBRARY_H
#define L2SR_ENGINE_FFT_LIBRARY_H

#include "engine/base/error.h"

#include <stdbool.h>

/* Around all plans of whoever makes some, while a device is open. */
bool fft_library_open(struct error *error);
void fft_library_close(void);
void fft_library_clear(void); /* releases the programs that it keeps; for when no device is open */
/* A driver's compiler counts its warnings about clFFT's kernels on standard error (PoCL's does, once a
 * kernel). Hushed, the process's standard error leads nowhere meanwhile: for the program to decide, not for a
 * library. */
void fft_hush(bool hushed);
bool fft_library_hushed(void);
bool fft_library_ended(void); /* the process's end has come, and it was torn down */

#endif
