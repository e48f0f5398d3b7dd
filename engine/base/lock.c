#include "engine/base/lock.h"

#include "engine/base/error.h"

#include <pthread.h>

#define MUTEX PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
static pthread_mutex_t mutexes[LOCKS] = {MUTEX, MUTEX, MUTEX, MUTEX, MUTEX, MUTEX, MUTEX, MUTEX};
static _Thread_local unsigned depth[LOCKS]; /* how often this thread has taken each */

/* An end of the call gives it back. */
static void note_taken(enum lock lock) {
  depth[lock]++;
  fatal_before(lock_give_all);
}

enum lock lock_take(enum lock lock) {
  for (int later = (int)lock + 1; later < LOCKS && !depth[lock]; later++)
    REQUIRE(!depth[later], "lock %d is taken by a thread that holds lock %d", (int)lock, later);
  pthread_mutex_lock(&mutexes[lock]);
  note_taken(lock);
  return lock;
}

bool lock_try(enum lock lock) {
  if (pthread_mutex_trylock(&mutexes[lock])) return false;
  note_taken(lock);
  return true;
}

void lock_give(const enum lock *lock) {
  depth[*lock]--;
  if (!lock_held()) fatal_before(NULL);
  pthread_mutex_unlock(&mutexes[*lock]);
}

void lock_give_all(void) {
  for (enum lock lock = 0; lock < LOCKS; lock++)
    while (depth[lock]) lock_give(&lock);
}

bool lock_held(void) {
  unsigned held = 0;
  for (int lock = 0; lock < LOCKS; lock++) held |= depth[lock];
  return held;
}
