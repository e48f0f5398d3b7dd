#include "components/options.h"

/* Behind the help stands what the key concerns, or nothing. */
static const struct option rows[] = {
#define X(in, kind, key, text, least, most, words, ...)                                                      \
  {.section = #in,                                                                                           \
   .name = #key,                                                                                             \
   .type = OPTION_##kind,                                                                                    \
   .offset = offsetof(struct options, in.key),                                                               \
   .standard = text,                                                                                         \
   .low = least,                                                                                             \
   .high = most,                                                                                             \
   .choices = words,                                                                                         \
   .doc = __VA_ARGS__},
    OPTIONS(X)
#undef X
};

const struct option_table option_table = {rows, sizeof rows / sizeof rows[0],
                                          offsetof(struct options, given)};
