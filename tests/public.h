/* For tests that hold the library by l2sr.h; included behind it and cmocka. */
#ifndef L2SR_TESTS_PUBLIC_H
#define L2SR_TESTS_PUBLIC_H

static void expect_good(enum l2sr_code code, const char *call, int line) {
  if (code != L2SR_GOOD) fail_msg("line %d: %s: %d, %s", line, call, (int)code, l2sr_last_error());
}
#define GOOD(call) expect_good(call, #call, __LINE__)

#endif
