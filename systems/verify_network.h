/* Checks a network of known parameters against stored results (reference/unet_*.h5). */
#ifndef L2SR_SYSTEMS_VERIFY_NETWORK_H
#define L2SR_SYSTEMS_VERIFY_NETWORK_H

#include "systems/verify.h"

/* Output, loss, every gradient, the losses of three Adam steps and the parameters after them. False when the
 * file cannot be read or run; errors beyond a bound are the caller's to judge. */
bool verify_network_file(const struct verify *verify, const char *path, struct error *error);

#endif
