/* What a program asks for (struct l2sr_config) as the options of a scene. */
#ifndef L2SR_SYSTEMS_CONFIG_H
#define L2SR_SYSTEMS_CONFIG_H

#include "components/options.h"
#include "engine/device/device.h"
#include "systems/data/dataset.h"
#include "systems/public/l2sr.h"

/* Whether the caller's structure, to be filled, has its size set; then `bytes`, at most ours, are to be
 * written. */
bool config_room(const void *structure, size_t ours, size_t *bytes, const char *name, struct error *error);

/* Copies the caller's structure, whose size is set, into one of ours: an older one is shorter, a newer one
 * must ask for nothing that is not known. */
bool config_copy(void *to, const void *from, size_t ours, const char *name, struct error *error);

/* Refuses NULL, unknown numbers, and what contradicts itself. */
bool config_read(struct l2sr_config *config, const struct l2sr_config *given, struct error *error);
bool config_options(const struct l2sr_config *config, struct options *options, struct arena *arena,
                    struct error *error);
/* The slices in memory that it names, which must be there. */
bool config_slices(const struct l2sr_config *config, struct slices_in_memory *slices, struct error *error);
bool config_device(const struct l2sr_config *config, struct device *device, struct error *error);

#endif
