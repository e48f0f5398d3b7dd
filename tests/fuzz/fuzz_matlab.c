/* MATLAB's files of version 5 and 7.3. */
#include "tests/fuzz/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  foreign_need_child();
  foreign_read(fuzz_text("a.mat", data, size));
  return 0;
}
