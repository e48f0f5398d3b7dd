#include "tools/commands/help.h"

#include "systems/scan/simulation.h"

#include <string.h>

enum { INDENT = 24, WIDTH = 100 };

static const char exit_text[] = "Exit status: 0 good, 1 failed or differs, 2 wrong usage or a refused scene.";

const char *help_type(enum option_type type) {
  static const char *const names[] = {"u32", "f64", "bool", "text", "choice", "list", "sides"};
  return names[type];
}

const char *help_range(const struct option *row, struct arena *arena) {
  if (row->type == OPTION_U32 || row->type == OPTION_F64)
    return arena_text(arena, "%.10g to %.10g", row->low, row->high);
  if (row->type == OPTION_SIDES) return arena_text(arena, "%.10g to %.10g a side", row->low, row->high);
  if (row->type == OPTION_BOOL) return "true|false";
  return row->type == OPTION_CHOICE ? row->choices : "";
}

static const char *sampler_words(struct arena *arena) {
  const char *words = "";
  for (const struct sampler *sampler = sampler_list; sampler->name; sampler++)
    words = arena_text(arena, "%s%s%s", words, *words ? "|" : "", sampler->name);
  return words;
}

static const char *metric_words(struct arena *arena) {
  const char *words = "";
  for (size_t m = 0; m < METRICS; m++)
    words = arena_text(arena, "%s%s%s", words, m ? "|" : "", metric_list[m].name);
  return words;
}

/* The words that an option may be, joined by '|'; NULL when the rows do not say. */
static const char *option_words(const struct option *row, struct arena *arena) {
  if (row->type == OPTION_CHOICE) return row->choices;
  if (row->type == OPTION_BOOL) return "true|false";
  if (row->type == OPTION_LIST && !strcmp(row->name, "samplers")) return sampler_words(arena);
  return row->type == OPTION_LIST && !strcmp(row->name, "metrics") ? metric_words(arena) : NULL;
}

static const char *flag_words(const struct flag *flag, struct arena *arena) {
  const struct option *row = flag->key ? option_find(&option_table, flag->key) : NULL;
  return row ? option_words(row, arena) : NULL;
}

/* ---- --help ------------------------------------------------------------------------------------------- */

/* Fills lines up to WIDTH; the first starts at `column`, the others at `indent`. */
static void print_wrapped(const char *text, size_t column, size_t indent, FILE *file) {
  size_t start = column;
  while (*text) {
    size_t length = strcspn(text, " ");
    if (column > start && column + length > WIDTH) {
      fprintf(file, "\n%*s", (int)indent, "");
      column = start = indent;
    }
    fprintf(file, "%s%.*s", column > start ? " " : "", (int)length, text);
    column += length + (column > start);
    text += length;
    text += strspn(text, " ");
  }
  fputc('\n', file);
}

static void print_entry(const char *name, const char *doc, FILE *file) {
  size_t length = strlen(name) + 2;
  fprintf(file, "  %s", name);
  if (length + 2 > INDENT)
    fprintf(file, "\n%*s", INDENT, "");
  else
    fprintf(file, "%*s", (int)(INDENT - length), "");
  print_wrapped(doc, INDENT, INDENT, file);
}

/* A key may be empty, a flag that names a file or a folder may not: it is left out. */
static const char *flag_doc(const struct flag *flag, struct arena *arena) {
  static const char empty[] = "; empty: ";
  const char *doc = flag->doc ? flag->doc : option_find(&option_table, flag->key)->doc;
  const char *end = flag_names_path(flag) ? strstr(doc, empty) : NULL;
  if (!end) return doc;
  return arena_text(arena, "%.*s; else %s", (int)(end - doc), doc, end + sizeof empty - 1);
}

static void print_flags(const struct flag *flags, FILE *file) {
  struct arena *arena = arena_open();
  for (const struct flag *flag = flags; flag && flag->name; flag++) {
    const struct option *row = flag->key ? option_find(&option_table, flag->key) : NULL;
    const char *name =
        arena_text(arena, "--%s%s%s", flag->name, flag->value ? " " : "", flag->value ? flag->value : "");
    const char *range = row ? help_range(row, arena) : "";
    const char *doc = flag_doc(flag, arena);
    if (row) doc = arena_text(arena, "%s (%s%s%s)", doc, flag->key, *range ? ": " : "", range);
    print_entry(name, doc, file);
  }
  arena_close(arena);
}

void help_program(const struct command *const *list, FILE *file) {
  fprintf(file, "usage: l2sr COMMAND [operands] [flags]\n\ncommands:\n");
  for (size_t i = 0; list[i]; i++) print_entry(list[i]->name, list[i]->doc, file);
  fprintf(file, "\nflags of every command:\n");
  print_flags(common_flags, file);
  fprintf(file, "\nflags without a command:\n");
  print_entry("--help", "prints this help", file);
  print_entry("--version", "prints the version", file);
  fprintf(file,
          "\n`l2sr COMMAND --help` tells more of a command, `l2sr describe options` lists the options of a "
          "scene.\n%s\n",
          exit_text);
}

/* Calls `print` for every line of the text: how far it is indented, and the rest of it. */
static void each_line(const char *text, void (*print)(const char *line, size_t indent, FILE *file),
                      FILE *file) {
  struct arena *arena = arena_open();
  for (const char *end; *text; text = *end ? end + 1 : end) {
    size_t indent = strspn(text, " ");
    end = text + strcspn(text, "\n");
    print(arena_text(arena, "%.*s", (int)(end - text - (ptrdiff_t)indent), text + indent), indent, file);
  }
  arena_close(arena);
}

static void print_more(const char *line, size_t indent, FILE *file) {
  fprintf(file, "%*s", (int)indent, "");
  print_wrapped(line, indent, indent, file);
}

void help_command(const struct command *command, FILE *file) {
  const char *operands = command->operands ? command->operands : "";
  fprintf(file, "usage: l2sr %s %s%s[flags]\n\n", command->name, operands, *operands ? " " : "");
  print_wrapped(command->doc, 0, 0, file);
  if (command->more) {
    fputc('\n', file);
    each_line(command->more, print_more, file);
  }
  if (command->flags && command->flags->name) {
    fprintf(file, "\nflags:\n");
    print_flags(command->flags, file);
  }
  fprintf(file, "\nflags of every command:\n");
  print_flags(common_flags, file);
  fprintf(file, "\n%s\n", exit_text);
}

/* ---- shell completion --------------------------------------------------------------------------------- */

/* Prints the words of a list joined by '|', each after a space. */
static void print_words(const char *words, FILE *file) {
  while (*words) {
    size_t length = strcspn(words, "|");
    fprintf(file, " %.*s", (int)length, words);
    words += length + (words[length] == '|');
  }
}

/* Prints text, each character of `special` after a backslash, and ' as the shell's single quotes take it. */
static void print_quoted(const char *text, const char *special, const char *quote, FILE *file) {
  for (; *text; text++)
    if (*text == '\'')
      fputs(quote, file);
    else
      fprintf(file, "%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static void print_bash_value(const char *command, const struct flag *flag, FILE *file) {
  struct arena *arena = arena_open();
  const char *words = flag_words(flag, arena);
  if (flag->value) fprintf(file, "  %s/--%s) ", command, flag->name);
  if (flag->value && words) {
    fprintf(file, "mapfile -t COMPREPLY < <(compgen -W '");
    print_words(words, file);
    fprintf(file, "' -- \"$word\");;\n");
  } else if (flag->value) {
    fprintf(file, "mapfile -t COMPREPLY < <(compgen %s -- \"$word\");;\n",
            strcmp(flag->value, "DIR") ? "-f" : "-d");
  }
  arena_close(arena);
}

/* Bash splits words at '=': what is completed after it is the value alone. */
static void print_bash_keys(FILE *file) {
  struct arena *arena = arena_open();
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    const char *words = option_words(row, arena);
    if (!words) continue;
    fprintf(file, "  */%s.%s) mapfile -t COMPREPLY < <(compgen -W '", row->section, row->name);
    print_words(words, file);
    fprintf(file, "' -- \"$word\");;\n");
  }
  fprintf(file, "  */--set)\n    compopt -o nospace\n    mapfile -t COMPREPLY < <(compgen -W '");
  for (size_t i = 0; i < option_table.count; i++)
    fprintf(file, " %s.%s=", option_table.rows[i].section, option_table.rows[i].name);
  fprintf(file, "' -- \"$word\");;\n");
  arena_close(arena);
}

static void print_bash_flags(const struct flag *flags, FILE *file) {
  for (const struct flag *flag = flags; flag && flag->name; flag++) fprintf(file, " --%s", flag->name);
}

static void print_bash_command(const struct command *command, FILE *file) {
  fprintf(file, "  %s/-*) mapfile -t COMPREPLY < <(compgen -W '", command->name);
  print_bash_flags(command->flags, file);
  print_bash_flags(common_flags, file);
  fprintf(file, "' -- \"$word\");;\n");
  if (!command->words) return;
  fprintf(file,
          "  %s/*)\n    if [ \"$COMP_CWORD\" -eq 2 ]; then\n      mapfile -t COMPREPLY < <(compgen -W '",
          command->name);
  print_words(command->words, file);
  fprintf(file,
          "' -- \"$word\")\n    else\n      mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    fi;;\n");
}

void help_bash(const struct command *const *list, FILE *file) {
  fprintf(file, "# bash completion of l2sr, printed by `l2sr describe completion-bash`\n_l2sr() {\n"
                "  local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
                "  local command=\"${COMP_WORDS[1]}\"\n  COMPREPLY=()\n"
                "  if [ \"$word\" = = ]; then\n    word=\n  elif [ \"$previous\" = = ]; then\n"
                "    previous=\"${COMP_WORDS[COMP_CWORD - 2]}\"\n  fi\n"
                "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    mapfile -t COMPREPLY < <(compgen -W '");
  for (size_t i = 0; list[i]; i++) fprintf(file, " %s", list[i]->name);
  fprintf(file, " --help --version' -- \"$word\")\n    return\n  fi\n  case \"$command/$previous\" in\n");
  for (size_t i = 0; list[i]; i++)
    for (const struct flag *flag = list[i]->flags; flag && flag->name; flag++)
      print_bash_value(list[i]->name, flag, file);
  print_bash_keys(file);
  for (const struct flag *flag = common_flags; flag->name; flag++)
    if (strcmp(flag->name, "set")) print_bash_value("*", flag, file);
  fprintf(file, "  *)\n  case \"$command/$word\" in\n");
  for (size_t i = 0; list[i]; i++) print_bash_command(list[i], file);
  fprintf(file, "  *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\");;\n  esac;;\n  esac\n}\n"
                "complete -o filenames -F _l2sr l2sr\n");
}

static void print_zsh_flag(const struct flag *flag, FILE *file) {
  struct arena *arena = arena_open();
  const char *words = flag_words(flag, arena);
  bool set = !strcmp(flag->name, "set");
  fprintf(file, "      '%s--%s%s[", set ? "*" : "", flag->name, flag->value ? "=" : "");
  print_quoted(flag_doc(flag, arena), "[]:\\", "'\\''", file);
  fputc(']', file);
  if (flag->value) fprintf(file, ":%s:", flag->value);
  if (words) {
    fputc('(', file);
    print_words(words, file);
    fputc(')', file);
  } else if (flag->value && !set) {
    fputs(strcmp(flag->value, "DIR") ? "_files" : "_files -/", file);
  } else if (set) {
    fputs("_l2sr_keys", file);
  }
  fputs("' \\\n", file);
  arena_close(arena);
}

static void print_zsh_command(const struct command *command, FILE *file) {
  fprintf(file, "  %s)\n    _arguments \\\n", command->name);
  for (const struct flag *flag = command->flags; flag && flag->name; flag++) print_zsh_flag(flag, file);
  for (const struct flag *flag = common_flags; flag->name; flag++) print_zsh_flag(flag, file);
  if (command->words) {
    fputs("      '1:what:(", file);
    print_words(command->words, file);
    fputs(")' \\\n", file);
  }
  fprintf(file, "      '*:file:_files';;\n");
}

void help_zsh(const struct command *const *list, FILE *file) {
  fprintf(file, "#compdef l2sr\n# zsh completion of l2sr, printed by `l2sr describe completion-zsh`\n"
                "_l2sr_keys() {\n  compadd -S '' --");
  for (size_t i = 0; i < option_table.count; i++)
    fprintf(file, " %s.%s=", option_table.rows[i].section, option_table.rows[i].name);
  fprintf(file, "\n}\n_l2sr() {\n  local -a commands\n  commands=(\n");
  for (size_t i = 0; list[i]; i++) {
    fprintf(file, "    '%s:", list[i]->name);
    print_quoted(list[i]->doc, ":\\", "'\\''", file);
    fprintf(file, "'\n");
  }
  fprintf(file, "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n"
                "    compadd -- --help --version\n    return\n  fi\n"
                "  shift words\n  (( CURRENT-- ))\n  case $words[1] in\n");
  for (size_t i = 0; list[i]; i++) print_zsh_command(list[i], file);
  fprintf(file, "  esac\n}\n"
                "if [[ $funcstack[1] == _l2sr ]]; then _l2sr \"$@\"; else compdef _l2sr l2sr; fi\n");
}

/* `condition` is the command line's state as fish asks for it. */
static void print_fish_flag(const char *condition, const struct flag *flag, FILE *file) {
  struct arena *arena = arena_open();
  const char *words = flag_words(flag, arena);
  fprintf(file, "complete -c l2sr -n '%s' -l %s", condition, flag->name);
  if (words) {
    fputs(" -x -a '", file);
    print_words(words, file);
    fputc('\'', file);
  } else if (!strcmp(flag->name, "set")) {
    fputs(" -x -a '", file);
    for (size_t i = 0; i < option_table.count; i++)
      fprintf(file, " %s.%s=", option_table.rows[i].section, option_table.rows[i].name);
    fputc('\'', file);
  } else if (flag->value) {
    fputs(" -r", file);
  }
  fputs(" -d '", file);
  print_quoted(flag_doc(flag, arena), "\\", "\\'", file);
  fputs("'\n", file);
  arena_close(arena);
}

static void print_fish_command(const struct command *command, FILE *file) {
  char condition[128];
  snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s", command->name);
  fprintf(file, "complete -c l2sr -n __fish_use_subcommand -f -a %s -d '", command->name);
  print_quoted(command->doc, "\\", "\\'", file);
  fputs("'\n", file);
  for (const struct flag *flag = command->flags; flag && flag->name; flag++)
    print_fish_flag(condition, flag, file);
  if (!command->words) return;
  fprintf(file, "complete -c l2sr -n '%s; and test (count (commandline -poc)) -eq 2' -f -a '", condition);
  print_words(command->words, file);
  fputs("'\n", file);
}

void help_fish(const struct command *const *list, FILE *file) {
  fprintf(file, "# fish completion of l2sr, printed by `l2sr describe completion-fish`\n");
  for (size_t i = 0; list[i]; i++) print_fish_command(list[i], file);
  for (const struct flag *flag = common_flags; flag->name; flag++)
    print_fish_flag("not __fish_use_subcommand", flag, file);
  fprintf(file, "complete -c l2sr -n __fish_use_subcommand -l help -d 'prints the help'\n"
                "complete -c l2sr -n __fish_use_subcommand -l version -d 'prints the version'\n");
}

/* ---- man page ----------------------------------------------------------------------------------------- */

/* Prints text so that roff takes every character as itself. */
static void print_roff(const char *text, FILE *file) {
  static const struct {
    char plain;
    const char *roff;
  } escapes[] = {{'\\', "\\e"},   {'-', "\\-"},   {'`', "\\(ga"},
                 {'\'', "\\(aq"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  for (bool start = true; *text; start = *text == '\n', text++) {
    const char *roff = NULL;
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
      if (*text == escapes[i].plain) roff = escapes[i].roff;
    if (start && *text == '.') fputs("\\&", file);
    if (roff)
      fputs(roff, file);
    else
      fputc(*text, file);
  }
}

static void print_man_flags(const struct flag *flags, FILE *file) {
  struct arena *arena = arena_open();
  for (const struct flag *flag = flags; flag && flag->name; flag++) {
    const struct option *row = flag->key ? option_find(&option_table, flag->key) : NULL;
    fprintf(file, ".TP\n\\fB\\-\\-");
    print_roff(flag->name, file);
    fprintf(file, "\\fR");
    if (flag->value) fprintf(file, " \\fI");
    if (flag->value) print_roff(flag->value, file);
    fprintf(file, "\\fR\n");
    print_roff(flag_doc(flag, arena), file);
    if (row) fprintf(file, " (%s)", flag->key);
    fputc('\n', file);
  }
  arena_close(arena);
}

/* Lines that are indented by two are words, those indented by more explain them. */
static void print_man_more(const char *line, size_t indent, FILE *file) {
  if (indent <= 2) fprintf(file, "%s\n", indent ? ".TP" : ".PP");
  print_roff(line, file);
  fputc('\n', file);
}

static void print_man_command(const struct command *command, FILE *file) {
  fprintf(file, ".SS \"l2sr %s ", command->name);
  if (command->operands) print_roff(command->operands, file);
  fprintf(file, "\"\n");
  print_roff(command->doc, file);
  fprintf(file, ".\n");
  if (command->more) each_line(command->more, print_man_more, file);
  print_man_flags(command->flags, file);
}

static void print_man_options(FILE *file) {
  struct arena *arena = arena_open();
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    const char *range = help_range(row, arena);
    fprintf(file, ".TP\n\\fB%s.%s\\fR (%s", row->section, row->name, help_type(row->type));
    if (*range) fprintf(file, ", ");
    print_roff(range, file);
    fprintf(file, ")\n");
    print_roff(row->doc, file);
    fprintf(file, ".\nDefault: ");
    print_roff(*row->standard ? row->standard : "empty", file);
    fprintf(file, ".\n");
  }
  arena_close(arena);
}

static void print_man_surroundings(FILE *file) {
  fprintf(file, ".SH ENVIRONMENT\n"
                ".TP\n\\fBL2SR_DEVICE\\fR\nThe OpenCL device where \\fB\\-\\-device\\fR is not given.\n"
                ".TP\n\\fBL2SR_CACHE\\fR\nThe folder of built kernels; off switches the cache off.\n"
                "Else \\fBXDG_CACHE_HOME\\fR/l2sr, else ~/.cache/l2sr; PoCL keeps kernels in a cache of its own.\n"
                ".SH FILES\n.TP\n\\fB");
  print_roff(L2SR_SCENES, file);
  fprintf(file, "\\fR\nThe installed scenes; they are found by their names.\n.SH \"EXIT STATUS\"\n"
                ".TP\n0\nGood.\n.TP\n1\nSomething failed, or what was compared differs.\n"
                ".TP\n2\nWrong usage, or a scene that is refused.\n"
                ".TP\n129, 130, 143\nHung up, interrupted or terminated; unfinished files are removed.\n");
}

void help_man(const struct command *const *list, FILE *file) {
  fprintf(file,
          ".TH L2SR 1 \"\" \"l2sr %s\" \"User Commands\"\n.SH NAME\n"
          "l2sr \\- learning to sample and reconstruct accelerated MRI\n"
          ".SH SYNOPSIS\n.B l2sr\n.I command\n[\\fIoperands\\fR] [\\fIflags\\fR]\n"
          ".br\n.B l2sr \\-\\-help\n.br\n.B l2sr \\-\\-version\n"
          ".SH DESCRIPTION\nThousands of MRI scans run side by side as rows of columns on an OpenCL\n"
          "device; samplers choose their phase\\-encode lines and are compared by the published\n"
          "protocol. Results go to the standard output, the log to the standard error.\n"
          ".SH COMMANDS\n",
          L2SR_VERSION);
  for (size_t i = 0; list[i]; i++) print_man_command(list[i], file);
  fprintf(file, ".SH \"FLAGS OF EVERY COMMAND\"\n"
                "\\fB\\-\\-\\fIname value\\fR and \\fB\\-\\-\\fIname\\fB=\\fIvalue\\fR mean the same;\n"
                "\\fB\\-\\-\\fR ends the flags.\n");
  print_man_flags(common_flags, file);
  fprintf(file, ".SH SCENES\nA scene is a YAML file of sections with these keys, each of which\n"
                "\\fB\\-\\-set\\fR \\fIsection.key=value\\fR sets too. The key\n"
                "\\fBextends\\fR: \\fIfile\\fR, first in the file, applies another file before.\n");
  print_man_options(file);
  print_man_surroundings(file);
}
