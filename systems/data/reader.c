#include "systems/data/reader.h"

#include <pthread.h>
#include <string.h>

enum { RING = 4 };

struct place {
  struct reader_slice slice;
  float *data;
  struct error error;
};

struct reader {
  struct arena *arena;
  const struct dataset *dataset;
  struct place ring[RING];
  size_t made, taken; /* places filled by the thread; places given to the consumer */
  bool ended, stop;
  struct error fault; /* the error that ended the thread; code ERROR_NONE: none */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
};

/* A free place of the ring, or NULL when the consumer has gone. One place stays with the consumer. */
static struct place *wait_for_place(struct reader *reader) {
  pthread_mutex_lock(&reader->lock);
  while (reader->made - reader->taken >= RING - 1 && !reader->stop)
    pthread_cond_wait(&reader->changed, &reader->lock);
  bool stop = reader->stop;
  pthread_mutex_unlock(&reader->lock);
  return stop ? NULL : &reader->ring[reader->made % RING];
}

static void deliver(struct reader *reader, bool end) {
  pthread_mutex_lock(&reader->lock);
  if (end)
    reader->ended = true;
  else
    reader->made++;
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
}

/* Reads one volume, whose file could not be opened where there is an error of that; false when the consumer has gone. */
static bool read_volume(struct reader *reader, size_t index, void *file, const struct error *opening) {
  const struct volume *volume = &reader->dataset->volumes[index];
  for (size_t s = 0; s < volume->slice_count; s++) {
    struct place *place = wait_for_place(reader);
    if (!place) return false;
    size_t slice = volume->slice_first + s;
    place->slice = (struct reader_slice){.volume = index, .slice = slice, .data = place->data};
    bool good = !opening && volume_read(file, volume, slice, place->data, &place->error);
    if (!good) {
      if (opening) place->error = *opening;
      place->slice.data = NULL;
      place->slice.reason = place->error.text;
      place->slice.is_busy = place->error.is_busy;
      place->slice.ends = place->error.code == ERROR_FAILED;
    }
    deliver(reader, false);
    if (!good) return true;
  }
  return true;
}

static bool read_volumes(void *context, struct error *fault) {
  struct reader *reader = context;
  bool more = true;
  (void)fault;
  for (size_t v = 0; more && v < reader->dataset->volume_count; v++) {
    const struct volume *volume = &reader->dataset->volumes[v];
    struct error error;
    void *file;
    bool opened = volume_file_open(&file, volume, &error);
    more = read_volume(reader, v, file, opened ? NULL : &error);
    volume_file_close(file, volume);
  }
  return true;
}

static void *read_all(void *context) {
  struct reader *reader = context;
  rescue(read_volumes, reader, &reader->fault);
  deliver(reader, true);
  return NULL;
}

bool reader_open(struct reader **out, const struct dataset *dataset, struct error *error) {
  struct arena *arena = arena_open();
  struct reader *reader = ARENA_NEW(arena, struct reader, 1);
  size_t most = 0;
  *reader = (struct reader){.arena = arena, .dataset = dataset};
  for (size_t v = 0; v < dataset->volume_count; v++) {
    size_t floats = volume_slice_floats(&dataset->volumes[v]);
    if (floats > most) most = floats;
  }
  bool good = true;
  for (size_t i = 0; good && i < RING; i++)
    good = (reader->ring[i].data = arena_try(arena, most * sizeof(float))) != NULL;
  if (!good) fail_memory(error, "no host memory for %d slices of %zu bytes", RING, most * sizeof(float));
  pthread_mutex_init(&reader->lock, NULL);
  pthread_cond_init(&reader->changed, NULL);
  int code = good ? pthread_create(&reader->thread, NULL, read_all, reader) : 0;
  if (code)
    good = fail_memory(
        error,
        "cannot start the reader's thread: %s; `ulimit -u` says how many threads a user may have, "
        "`ulimit -v` how much memory a program: allow more",
        strerror(code));
  if (!good) {
    arena_close(arena);
    return false;
  }
  *out = reader;
  return true;
}

const struct reader_slice *reader_next(struct reader *reader) {
  pthread_mutex_lock(&reader->lock);
  while (reader->taken == reader->made && !reader->ended) pthread_cond_wait(&reader->changed, &reader->lock);
  bool some = reader->taken < reader->made;
  size_t place = reader->taken;
  if (some) reader->taken++;
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
  if (!some && reader->fault.code) fatal(reader->fault.code, "%s", reader->fault.text);
  return some ? &reader->ring[place % RING].slice : NULL;
}

void reader_close(struct reader *reader) {
  if (!reader) return;
  pthread_mutex_lock(&reader->lock);
  reader->stop = true;
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
  pthread_join(reader->thread, NULL);
  pthread_mutex_destroy(&reader->lock);
  pthread_cond_destroy(&reader->changed);
  arena_close(reader->arena);
}
