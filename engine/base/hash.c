#include "engine/base/hash.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <zlib.h>

void hash_hex(const void *data, size_t bytes, char hex[65]) {
  struct sha256_ctx context;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&context);
  sha256_update(&context, bytes, data);
  sha256_digest(&context, sizeof digest, digest);
  for (size_t i = 0; i < sizeof digest; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static uint32_t castagnoli(uint32_t sum, const void *data, size_t bytes) {
  const unsigned char *byte = data;
  uint32_t table[256];
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int bit = 0; bit < 8; bit++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78 : 0);
  }
  sum = ~sum;
  for (size_t i = 0; i < bytes; i++) sum = table[(sum ^ byte[i]) & 255] ^ sum >> 8;
  return ~sum;
}

uint32_t hash_crc(enum crc_polynomial polynomial, uint32_t sum, const void *data, size_t bytes) {
  if (polynomial == CRC_CASTAGNOLI) return castagnoli(sum, data, bytes);
  return bytes ? (uint32_t)crc32_z(sum, data, bytes) : sum; /* zlib begins anew where there are no data */
}
