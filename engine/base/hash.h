/* SHA-256. */
#ifndef L2SR_ENGINE_HASH_H
#define L2SR_ENGINE_HASH_H

#include <stddef.h>

/* The hash of `bytes` bytes in lower-case hexadecimal. */
void hash_hex(const void *data, size_t bytes, char hex[65]);

#endif
