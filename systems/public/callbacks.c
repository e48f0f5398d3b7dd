#include "systems/public/callbacks.h"

#include "systems/public/config.h"

#include <string.h>

_Static_assert((int)L2SR_PLACE_CUDA == (int)CALLBACK_CUDA && (int)L2SR_PLACE_HOST == (int)CALLBACK_HOST &&
                   (int)L2SR_FAULT == (int)CALLBACK_FAULT,
               "l2sr.h has the numbers of systems/scan/callback.h");

static bool call(const struct program_calls *calls, l2sr_callback *function, const struct callback_batch *batch, char *fault) {
  struct l2sr_batch given = {.bytes = sizeof given,
                             .place = (enum l2sr_place)batch->place,
                             .device = batch->cuda,
                             .context = batch->device->context,
                             .queue = batch->device->queue,
                             .scans = batch->scans,
                             .height = batch->height,
                             .width = batch->width,
                             .actions = batch->actions,
                             .coils = batch->array[CALLBACK_KSPACE] ? batch->coils : 0,
                             .observation = batch->array[CALLBACK_OBSERVATION],
                             .acquired = batch->array[CALLBACK_MASK],
                             .kspace = batch->array[CALLBACK_KSPACE],
                             .maps = batch->array[CALLBACK_MAPS],
                             .image = batch->array[CALLBACK_IMAGE],
                             .target = batch->array[CALLBACK_TARGET],
                             .result = batch->array[CALLBACK_RESULT],
                             .slice = batch->slice,
                             .path = batch->path,
                             .number = batch->number,
                             .fault = fault,
                             .label = batch->array[CALLBACK_LABEL]};
  bool good = !function(&given, calls->given.context);
  fault[CALLBACK_FAULT - 1] = 0;
  return good;
}

static bool reconstruct(const struct callback_batch *batch, char *fault, void *context) {
  const struct program_calls *calls = context;
  return call(calls, calls->given.reconstruct, batch, fault);
}

static bool metric(const struct callback_batch *batch, char *fault, void *context) {
  const struct program_calls *calls = context;
  return call(calls, calls->given.metric, batch, fault);
}

bool callbacks_take(struct program_calls *calls, const struct l2sr_callbacks *given, struct error *error) {
  *calls = (struct program_calls){0};
  if (!given) return true;
  if (!config_copy(&calls->given, given, sizeof calls->given, "l2sr_callbacks", error)) return false;
  int place = (int)calls->given.place;
  if (place < L2SR_PLACE_HOST || place > L2SR_PLACE_CUDA)
    return fail_usage(error, "struct l2sr_callbacks has place %d; it must be from 0 to %d", place, L2SR_PLACE_CUDA);
  calls->own = (struct callback_functions){.reconstruct = calls->given.reconstruct ? reconstruct : NULL,
                                  .metric = calls->given.metric ? metric : NULL,
                                  .place = (enum callback_place)place,
                                  .context = calls};
  snprintf(calls->own.name, sizeof calls->own.name, "%s", calls->given.name ? calls->given.name : "the program");
  return true;
}

const void *callbacks_of(const struct program_calls *calls) {
  return calls->own.context ? &calls->own : NULL;
}

bool callbacks_device(const struct l2sr_config *config, struct program_calls *calls, struct device *device,
                      struct error *error) {
  if (!callbacks_take(calls, config->callbacks, error) || !config_device(config, device, error)) return false;
  device->calls = callbacks_of(calls);
  return true;
}
