#include "tools/ranks/devices.h"

#include "tools/commands/terminal.h"
#include "tools/ranks/ranks.h"

#include <string.h>

struct found {
  size_t all, gpus, gpu[DEVICES_MOST];
};

static void see(size_t index, const struct device_facts *facts, void *context) {
  struct found *found = context;
  found->all = index + 1;
  if (facts->kind & CL_DEVICE_TYPE_GPU && found->gpus < DEVICES_MOST) found->gpu[found->gpus++] = index;
}

/* Places in the list of devices: GPUs, where there are some. */
static size_t find_all(size_t place[DEVICES_MOST]) {
  struct found found = {0};
  device_list(see, &found);
  for (size_t i = 0; i < found.all && i < DEVICES_MOST; i++) place[i] = found.gpus ? found.gpu[i % found.gpus] : i;
  return found.gpus ? found.gpus : found.all;
}

bool devices_read(const char *text, size_t place[DEVICES_MOST], size_t *count, struct error *error) {
  char word[32];
  uint32_t number;
  if (!text || !strcmp(text, "all")) {
    *count = find_all(place);
    return *count || device_none(error);
  }
  for (*count = 0; (text = option_next(text, word, sizeof word)) && *count < DEVICES_MOST; place[(*count)++] = number)
    if (!option_whole(word, 0, DEVICES_MOST, &number))
      return fail_usage(error, "--devices has '%s'; it must be all, or places in the list of `l2sr info`, as 0,1", word);
    else if (!device_named(word, error))
      return fail_in(error, "--devices");
  return *count || fail_usage(error, "--devices is empty; it must be all, or places in the list of `l2sr info`, as 0,1");
}

/* A rank that is not the first says nothing but what ends it. */
static void be_silent(void) {
  FILE *nowhere = fopen("/dev/null", "w");
  terminal_show(L2SR_ERROR);
  if (nowhere) stdout = nowhere;
}

bool devices_join(struct call *call, struct ranks *known, struct error *error) {
  const char *devices = call_flag(call, "devices"), *device = call_flag(call, "device");
  size_t place[DEVICES_MOST], count;
  if (devices && device) return fail_usage(error, "--devices and --device contradict each other; give one of them");
  if (!ranks_join(known, &call->ranks, error)) return false;
  if (!call->ranks && !devices) return true;
  if (ranks_number(call->ranks)) be_silent();
  if (device) return true; /* the same word on every rank */
  if (!devices_read(devices, place, &count, error)) return false;
  if (!call->ranks && count > 1) return ranks_start((uint32_t)count, call->words, error);
  call->device = arena_text(call->arena, "%zu", place[ranks_count(call->ranks) > 1 ? call->ranks->place % count : 0]);
  return true;
}

bool devices_leave(struct call *call, bool good, struct error *error) {
  if (!good) return ranks_name(call->ranks, call->device ? call->device : call_flag(call, "device"), error);
  ranks_leave(call->ranks);
  return true;
}
