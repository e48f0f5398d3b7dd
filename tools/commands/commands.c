/* The subcommands in the order of the help. */
#include "tools/commands/command.h"

#define COMMANDS(X)                                                                                          \
  X(info)                                                                                                    \
  X(describe)                                                                                                \
  X(inspect)                                                                                                 \
  X(phantom)                                                                                                 \
  X(import)                                                                                                  \
  X(export)                                                                                                  \
  X(models)                                                                                                  \
  X(train)                                                                                                   \
  X(sweep)                                                                                                   \
  X(search)                                                                                                  \
  X(replay)                                                                                                  \
  X(evaluate)                                                                                                \
  X(benchmark)                                                                                               \
  X(render)                                                                                                  \
  X(report)                                                                                                  \
  X(bench)                                                                                                   \
  X(compare)                                                                                                 \
  X(verify)

#define X(name) extern const struct command command_##name;
COMMANDS(X)
#undef X

const struct command *const command_list[] = {
#define X(name) &command_##name,
    COMMANDS(X)
#undef X
        NULL};
