/* ISMRMRD's raw data. */
#include "tests/fuzz/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  foreign_need_child();
  foreign_read(fuzz_text("a.h5", data, size));
  return 0;
}
