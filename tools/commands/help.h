/* Help, shell completion and the man page: all made from the rows of commands, flags and options. */
#ifndef L2SR_TOOLS_HELP_H
#define L2SR_TOOLS_HELP_H

#include "tools/commands/command.h"

/* list: the commands, ended by NULL. */
void help_program(const struct command *const *list, FILE *file);
void help_command(const struct command *command, FILE *file);

void help_bash(const struct command *const *list, FILE *file);
void help_zsh(const struct command *const *list, FILE *file);
void help_fish(const struct command *const *list, FILE *file);
void help_man(const struct command *const *list, FILE *file); /* man(7) macros */

/* "u32", "f64", ... */
const char *help_type(enum option_type type);
/* The values that the option may have: "1 to 65536", "train|val|test", or "". */
const char *help_range(const struct option *row, struct arena *arena);

#endif
