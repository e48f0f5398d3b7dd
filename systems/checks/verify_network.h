/* Checks a network of known parameters against stored results (reference/unet_*.h5). */
#ifndef L2SR_SYSTEMS_VERIFY_NETWORK_H
#define L2SR_SYSTEMS_VERIFY_NETWORK_H

#include "systems/checks/verify_setup.h"

/* Output, loss, every gradient, a step of Adam by the file's own gradient, the losses of two more and the
 * parameters after them where single precision can tell them. False when the file cannot be read or run; errors
 * beyond a bound are the caller's to judge. */
bool verify_network_file(const struct verify *verify, const char *path, struct error *error);

#endif
