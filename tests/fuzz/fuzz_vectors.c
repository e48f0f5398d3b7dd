/* What `l2sr verify` reads of files of reference vectors, short of the device. */
#include "systems/checks/vectors.h"
#include "tests/fuzz/fuzz.h"

enum { COUNT = 2, N = 8 };

static void write_good(void) {
  static float image[COUNT * N * N];
  struct store *store;
  struct error error;
  FUZZ_MUST(store_create(&store, fuzz_path("good.h5"), &error));
  FUZZ_MUST(store_write(store, "image", STORE_F32, 3, (size_t[]){COUNT, N, N}, image, false, &error) &&
            store_write(store, "target", STORE_F64, 3, (size_t[]){COUNT, N, N},
                        ARENA_NEW(arena_open(), double, COUNT *N *N), false, &error) &&
            store_write(store, "mask", STORE_U8, 2, (size_t[]){COUNT, N}, image, false, &error) &&
            store_put_number(store, "gamma", 0.9, &error));
  FUZZ_MUST(store_commit(store, &error));
  fuzz_take();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool ready;
  struct vectors vectors;
  struct error error;
  size_t count, n;
  double gamma;
  void *read;
  if (!ready) write_good();
  ready = true;
  if (!vectors_open(&vectors, NULL, fuzz_change(data, size), &error)) return 0;
  vectors_number(&vectors, "gamma", &gamma, &error);
  if (vectors_sizes(&vectors, "image", &count, &n, &error)) {
    vectors_read(&vectors, "image", STORE_F32, count * n * n, &read, &error);
    vectors_read(&vectors, "target", STORE_F64, count * n * n, &read, &error);
    vectors_read(&vectors, "mask", STORE_U8, count * n, &read, &error);
  }
  vectors_close(&vectors);
  return 0;
}
