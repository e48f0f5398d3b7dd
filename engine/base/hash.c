#include "engine/base/hash.h"

#include <nettle/sha2.h>
#include <stdio.h>

void hash_hex(const void *data, size_t bytes, char hex[65]) {
  struct sha256_ctx context;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&context);
  sha256_update(&context, bytes, data);
  sha256_digest(&context, sizeof digest, digest);
  for (size_t i = 0; i < sizeof digest; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
