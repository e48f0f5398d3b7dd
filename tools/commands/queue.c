#include "tools/commands/queue.h"

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "tools/commands/jobs.h"

#include <time.h>

/* A place on a device; `own` is NULL while it is free. */
struct slot {
  size_t device;
  struct queue_job *own;
  struct job *process;
};

static bool start(struct slot *slot, struct queue_job *own, struct arena *arena, struct error *error) {
  struct job *process = ARENA_NEW(arena, struct job, 1);
  for (const char *const *word = own->words; *word; word++) job_add(process, *word);
  job_add(process, "--device");
  job_add(process, arena_text(arena, "%zu", slot->device));
  process->log = own->log;
  if (!job_start(process, error)) return fail_in(error, "%s", own->name);
  slot->own = own;
  slot->process = process;
  return true;
}

static void end(struct slot *slot) {
  slot->own->failed = slot->process->status != 0;
  if (slot->own->failed)
    log_warning("%s failed on device %zu; its log is %s", slot->own->name, slot->device, slot->own->log);
  else
    log_info("%s ended on device %zu after %.0f s", slot->own->name, slot->device, slot->process->seconds);
  slot->own = NULL;
}

/* Ends those that have; says whether any still runs. */
static bool any_runs(struct slot *slot, size_t slots) {
  bool runs = false;
  for (size_t i = 0; i < slots; i++) {
    if (slot[i].own && job_ended(slot[i].process)) end(&slot[i]);
    runs = runs || slot[i].own;
  }
  return runs;
}

static bool run_all(struct slot *slot, size_t slots, struct queue_job *job, size_t count, struct arena *arena,
                    struct error *error) {
  static const struct timespec nap = {.tv_nsec = 20000000};
  size_t next = 0;
  bool good = true;
  do {
    for (size_t i = 0; good && i < slots && next < count; i++)
      if (!slot[i].own) good = start(&slot[i], &job[next++], arena, error);
    nanosleep(&nap, NULL);
  } while (any_runs(slot, slots) || (good && next < count));
  return good;
}

bool queue_run(struct queue_job *job, size_t count, const size_t *devices, size_t device_count, uint32_t each,
               struct error *error) {
  struct arena *arena = arena_open();
  size_t slots = device_count * each;
  struct slot *slot = ARENA_NEW(arena, struct slot, slots);
  for (size_t i = 0; i < slots; i++) slot[i] = (struct slot){.device = devices[i % device_count]};
  bool good = run_all(slot, slots, job, count, arena, error);
  arena_close(arena);
  return good;
}
