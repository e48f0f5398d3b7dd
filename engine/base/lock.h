/* The locks of the process. Each guards what two worlds in two threads would otherwise damage. A thread may
 * take a lock again that it holds, and beside it only later ones of the list: so no two threads can wait for
 * each other. */
#ifndef L2SR_ENGINE_LOCK_H
#define L2SR_ENGINE_LOCK_H

#include <stdbool.h>

enum lock {
  LOCK_FILES,      /* libhdf5: its error stack, its open objects (engine/files/store_*.c) */
  LOCK_PROBE,      /* the child that looks at files first, and its verdicts (engine/files/probe.c) */
  LOCK_UNPACKED,   /* the file that was unpacked last (systems/data/kept.c) */
  LOCK_DEVICES,    /* the list of devices: drivers are loaded and started by its first use */
  LOCK_TRANSFORMS, /* clFFT: its plans, its set-up and its end (engine/device/fft.c) */
  LOCK_PRODUCTS,   /* CLBlast: the programs that it keeps (engine/device/blas*.c) */
  LOCK_MATRICES,   /* OpenBLAS: how many threads it takes (systems/coils/espirit.c) */
  LOCK_SETTINGS,   /* the program's settings: callbacks for the log and for the end (engine/base) */
  LOCK_HANDLES,    /* the handles that the program holds (systems/public/call.c) */
  LOCKS
};

enum lock lock_take(enum lock lock); /* returns the lock */
bool lock_try(enum lock lock);       /* false: another thread has it */
void lock_give(const enum lock *lock);
void lock_give_all(void); /* all that this thread holds */
bool lock_held(void);     /* this thread holds one */

/* Holds the lock to the end of the block that it stands in. */
#define HOLD(which) const enum lock held __attribute__((cleanup(lock_give), unused)) = lock_take(which)

#endif
