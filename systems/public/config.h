/* What a program asks for (struct l2sr_config) as the options of a scene. */
#ifndef L2SR_SYSTEMS_CONFIG_H
#define L2SR_SYSTEMS_CONFIG_H

#include "components/options.h"
#include "engine/device/device.h"

/* Whether the caller's structure, to be filled, has its size set; then `bytes`, at most ours, are to be
 * written. */
bool config_room(const void *structure, size_t ours, size_t *bytes, const char *name, struct error *error);

/* Refuses NULL, unknown numbers, and what contradicts itself. */
bool config_read(struct l2sr_config *config, const struct l2sr_config *given, struct error *error);
bool config_options(const struct l2sr_config *config, struct options *options, struct arena *arena,
                    struct error *error);
bool config_device(const struct l2sr_config *config, struct device *device, struct error *error);

#endif
