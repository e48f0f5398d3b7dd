/* numpy's and BART's arrays: .npy as they are, else headers of a .cfl of some KB. */
#include "tests/fuzz/foreign.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t numbers[1 << 14];
  if (size > 5 && !memcmp(data, "\223NUMPY", 6)) {
    foreign_read(fuzz_text("a.npy", data, size));
    return 0;
  }
  fuzz_text("a.hdr", data, size);
  foreign_read(fuzz_text("a.cfl", numbers, sizeof numbers));
  return 0;
}
