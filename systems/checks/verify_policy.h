/* Checks the policy and generalised advantages against stored results (reference/policy_*.h5, gae_*.h5).
 * False when the file cannot be read or run; errors beyond a bound are the caller's to judge. */
#ifndef L2SR_SYSTEMS_VERIFY_POLICY_H
#define L2SR_SYSTEMS_VERIFY_POLICY_H

#include "systems/checks/verify_setup.h"

/* Outputs, the terms of A2C's loss, every gradient and their norm, parameters after two clipped steps of
 * RMSprop. */
bool verify_policy_file(const struct verify *verify, const char *path, struct error *error);
bool verify_advantage_file(const struct verify *verify, const char *path, struct error *error);

#endif
