/* NIfTI images, plain and compressed by gzip. */
#include "tests/fuzz/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  foreign_need_child();
  foreign_read(fuzz_text(size && data[0] == 0x1f ? "a.nii.gz" : "a.nii", data, size));
  return 0;
}
