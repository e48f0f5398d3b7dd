/* Subcommands as rows: from them come dispatch, --help on both levels, completion, the man page.
 * Each subcommand is one file tools/commands/NAME.c that defines `const struct command command_NAME`. */
#ifndef L2SR_TOOLS_COMMAND_H
#define L2SR_TOOLS_COMMAND_H

#include "components/options.h"
#include "engine/device/device.h"
#include "engine/device/kernel.h"

struct flag {
  const char *name;  /* without the dashes */
  const char *value; /* "DIR": takes a value, shown so in the help; NULL: a switch */
  const char *key;   /* option row that the value is put into ("data.path"); NULL: read with call_flag */
  const char *doc;
};

struct command;
struct plugin;

enum { OPERANDS_MOST = 256, GIVEN_MOST = 1024 /* a suite gives every key of its scene, of some 270 */ };

struct call {
  const struct command *command;
  const struct command *const *list; /* all commands, ended by NULL */
  struct arena *arena; /* lives until the command returns */
  struct options
      options;       /* defaults, then the scene file (when the command takes one), then flags and --set */
  const char *scene; /* path of the scene file, or NULL */
  const char *operand[OPERANDS_MOST]; /* without the scene */
  int operand_count;
  struct {
    const struct flag *flag;
    const char *value;
  } given[GIVEN_MOST];
  int given_count;
  struct plugin *plugin; /* of --plugin, while the device is open; NULL: none */
  char *const *words; /* the program's own arguments */
  struct ranks *ranks; /* of which this process is one; NULL: it is alone */
  const char *device; /* to open in place of --device's; NULL: that */
  bool roofline; /* bench: every kernel's numbers, in place of the bench's own */
  void *own;  /* the command's own values for its work on the device */
  int status; /* exit status when run returns true: 0, or 1 for "differs" */
};

struct command {
  const char *name;
  const char *operands;              /* "SCENE [FILE...]": shown in the help */
  const char *doc;                   /* one line */
  const char *more;                  /* more text for the help; NULL if none */
  const char *words;                 /* words that the first operand may be, joined by '|'; NULL: files */
  bool takes_scene;                  /* the first operand is a scene file */
  bool sweeps;                       /* --set has several values: the command applies it */
  int operands_least, operands_most; /* beside the scene */
  const struct flag *flags;          /* ended by a NULL name */
  bool (*run)(struct call *call, struct error *error);
};

extern const struct command *const command_list[]; /* commands.c; ended by NULL */
/* Whether the flag names a file or a folder. */
bool flag_names_path(const struct flag *flag);
/* Of commands that work on a device (call_on_device). */
#define FLAG_TRACE                                                                                                       \
  {"trace", "FILE", NULL,                                                                                                \
   "writes when every system ran on the host and every kernel on the device, for ui.perfetto.dev or chrome://tracing; costs time"}

extern const struct flag common_flags[]; /* flags.c: --device, --set, --kernels, --quiet, --verbose, --help */

/* Sets call->options anew: defaults, the scene (NULL: none), the flags that are option rows, then --set.
 * A name without '/' is also looked for with .yaml and in the installed scenes folder. */
bool call_scene(struct call *call, const char *path, struct error *error);

/* Where scenes are that are named without a path; beside it lies the folder of models (systems/public/models.h). */
const char *call_scenes(struct arena *arena);

/* Puts files of models in place of `zoo:NAME`. */
bool call_models(struct call *call, struct options *options, struct error *error);

/* The flag's value ("" for a switch), or NULL when it was not given. The last one given counts. */
const char *call_flag(const struct call *call, const char *name);
/* A whole number of a flag, or `standard` when it was not given. */
bool call_number(const struct call *call, const char *name, uint32_t low, uint32_t high, uint32_t *value,
                 struct error *error);

/* Opens the device of --device or L2SR_DEVICE and clFFT, prints the device's name to the log, does the work
 * and closes both again. */
typedef bool call_work(struct call *call, struct device *device, struct error *error);
bool call_on_device(struct call *call, call_work *work, struct error *error);
/* Of an interrupted program: keeps the trace up to there (engine/device/trace_file.h). Async-signal-safe. */
void call_rescue_trace(void);

#endif
