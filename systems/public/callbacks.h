/* The program's functions (struct l2sr_callbacks) as the systems call them. */
#ifndef L2SR_SYSTEMS_CALLBACKS_H
#define L2SR_SYSTEMS_CALLBACKS_H

#include "systems/public/l2sr.h"
#include "systems/scan/callback.h"

/* Must not move while a device has `own` as its `calls`. */
struct program_calls {
  struct callback_functions own;
  struct l2sr_callbacks given;
};

/* Copies the caller's structure, whose size is set; NULL: there are none, and *calls is of none. */
bool callbacks_take(struct program_calls *calls, const struct l2sr_callbacks *given, struct error *error);
/* Opens the device of the config, with its functions. */
bool callbacks_device(const struct l2sr_config *config, struct program_calls *calls, struct device *device,
                      struct error *error);
const void *callbacks_of(const struct program_calls *calls); /* for struct device; NULL: there are none */

#endif
