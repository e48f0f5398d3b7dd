/* The counter-based generator against the library of its authors. Built where that is installed. */
#include "engine/base/random.h"
#include "tests/support.h"

#include <Random123/philox.h>
#include <string.h>

static void philox_agrees_with_random123(void **state) {
  struct mersenne source;
  (void)state;
  mersenne_start(&source, 1);
  for (int i = 0; i < 100000; i++) {
    struct philox counter;
    philox4x32_ctr_t theirs;
    philox4x32_key_t key;
    for (int j = 0; j < 4; j++) theirs.v[j] = counter.word[j] = mersenne_u32(&source);
    for (int j = 0; j < 2; j++) key.v[j] = i % 3 ? mersenne_u32(&source) : (uint32_t)i;
    theirs = philox4x32(theirs, key);
    struct philox ours = philox_draw(counter, key.v[0], key.v[1]);
    assert_memory_equal(ours.word, theirs.v, sizeof ours);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(philox_agrees_with_random123)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
