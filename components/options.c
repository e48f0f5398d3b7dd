#include "components/options.h"

static const struct option rows[] = {
#define X(section, type, name, standard, low, high, choices, doc)                                            \
  {#section, #name, OPTION_##type, offsetof(struct options, section.name), standard, low, high, choices, doc},
    OPTIONS(X)
#undef X
};

const struct option_table option_table = {rows, sizeof rows / sizeof rows[0],
                                          offsetof(struct options, given)};
