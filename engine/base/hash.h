/* SHA-256, and CRC-32 of two polynomials. */
#ifndef L2SR_ENGINE_HASH_H
#define L2SR_ENGINE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of `bytes` bytes in lower-case hexadecimal. */
void hash_hex(const void *data, size_t bytes, char hex[65]);

/* Polynomials, lowest power in the highest bit: that of zlib and gzip, and Castagnoli's (RFC 3720). */
enum crc_polynomial { CRC_ZLIB, CRC_CASTAGNOLI };
/* The CRC-32 going on from `sum`, that of what comes before; 0 begins. */
uint32_t hash_crc(enum crc_polynomial polynomial, uint32_t sum, const void *data, size_t bytes);

#endif
