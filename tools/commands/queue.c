#include "tools/commands/queue.h"

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "tools/commands/command.h"
#include "tools/commands/jobs.h"

#include <string.h>
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

static void end(const struct queue_feed *feed, struct slot *slot) {
  struct queue_job *own = slot->own;
  own->failed = slot->process->status != 0 && !own->stopped;
  if (feed->ended) feed->ended(own, slot->process->seconds, feed->context);
  else if (own->failed) log_warning("%s failed on device %zu; its log is %s", own->name, slot->device, own->log);
  else log_info("%s ended on device %zu after %.0f s", own->name, slot->device, slot->process->seconds);
  slot->own = NULL;
}

/* Ends those that have, or that are to be stopped. */
static void look(const struct queue_feed *feed, struct slot *slot, size_t slots) {
  for (size_t i = 0; i < slots; i++) {
    struct slot *one = &slot[i];
    if (!one->own) continue;
    bool ended = job_ended(one->process);
    if (ended)
      end(feed, one);
    else if (one->own->stopped ||
             (feed->watch && !feed->watch(one->own, clock_seconds() - one->process->began, feed->context))) {
      one->own->stopped = true;
      job_stop(one->process);
    }
  }
}

static bool fill(const struct queue_feed *feed, struct slot *slot, size_t slots, struct arena *arena, struct error *error) {
  struct queue_job *job;
  for (size_t i = 0; i < slots; i++)
    if (!slot[i].own && (job = feed->next(feed->context)) && !start(&slot[i], job, arena, error)) return false;
  return true;
}

bool queue_serve(const struct queue_feed *feed, const size_t *devices, size_t device_count, uint32_t each, struct error *error) {
  static const struct timespec nap = {.tv_nsec = 20000000};
  struct arena *arena = arena_open();
  size_t slots = device_count * each;
  struct slot *slot = ARENA_NEW(arena, struct slot, slots);
  bool good = true, runs;
  for (size_t i = 0; i < slots; i++) slot[i] = (struct slot){.device = devices[i % device_count]};
  do {
    good = good && fill(feed, slot, slots, arena, error);
    runs = false;
    for (size_t i = 0; i < slots; i++) runs = runs || slot[i].own;
    if (runs) nanosleep(&nap, NULL);
    look(feed, slot, slots);
  } while (runs);
  arena_close(arena);
  return good;
}

struct given {
  struct queue_job *job;
  size_t count, next;
};

static struct queue_job *next_given(void *context) {
  struct given *given = context;
  return given->next < given->count ? &given->job[given->next++] : NULL;
}

bool queue_run(struct queue_job *job, size_t count, const size_t *devices, size_t device_count, uint32_t each,
               struct error *error) {
  struct given given = {job, count, 0};
  return queue_serve(&(struct queue_feed){.next = next_given, .context = &given}, devices, device_count, each, error);
}

static bool is_among(const char *name, const char *const *names) {
  while (*names && strcmp(*names, name)) names++;
  return *names;
}

size_t queue_flags(const struct call *call, const char *const *but, const char **word) {
  size_t used = 0;
  for (int i = 0; i < call->given_count; i++) {
    const struct flag *flag = call->given[i].flag;
    if (is_among(flag->name, but)) continue;
    word[used++] = arena_text(call->arena, "--%s", flag->name);
    if (flag->value) word[used++] = call->given[i].value;
  }
  return used;
}
