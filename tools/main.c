/* Finds the subcommand, reads flags and operands into struct call, runs it, prints what went wrong and picks
 * the exit status: 0 good, 1 failed or differs, 2 wrong usage (which includes a scene that is refused). */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/device/fft.h"
#include "engine/device/room.h"
#include "engine/files/probe.h"
#include "systems/data/format.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "tools/commands/command.h"
#include "tools/commands/help.h"
#include "tools/commands/terminal.h"
#include "tools/ranks/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_GOOD = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };
enum { NAMES_MOST = 128 };

/* ---- the command line --------------------------------------------------------------------------------- */

static const struct flag *find_flag(const struct command *command, const char *name, size_t length) {
  const struct flag *lists[] = {command->flags, common_flags};
  for (size_t i = 0; i < 2; i++)
    for (const struct flag *flag = lists[i]; flag && flag->name; flag++)
      if (strlen(flag->name) == length && !memcmp(flag->name, name, length)) return flag;
  return NULL;
}

static bool refuse_flag(const struct call *call, const char *word, struct error *error) {
  const char *names[NAMES_MOST], *name = word + strspn(word, "-");
  const struct flag *lists[] = {call->command->flags, common_flags};
  size_t count = 0;
  for (size_t i = 0; i < 2; i++)
    for (const struct flag *flag = lists[i]; flag && flag->name && count < NAMES_MOST; flag++)
      names[count++] = flag->name;
  const char *bare = arena_text(call->arena, "%.*s", (int)strcspn(name, "="), name);
  const char *near = nearest_name(bare, names, count);
  if (near)
    return fail_usage(error, "unknown flag %s of l2sr %s; did you mean --%s?", word, call->command->name,
                      near);
  return fail_usage(error, "unknown flag %s of l2sr %s; `l2sr %s --help` lists its flags", word,
                    call->command->name, call->command->name);
}

/* "" is a shell's variable that is not set: a folder of that name would be the root of the file system. */
static bool check_path(const struct flag *flag, const char *value, struct error *error) {
  if (!flag_names_path(flag) || *value) return true;
  return fail_usage(error, "--%s is empty; name a %s, or leave the flag out", flag->name,
                    !strcmp(flag->value, "DIR") ? "folder" : "file");
}

/* Takes the flag at argv[*place], and its value, which may be the next word. */
static bool take_flag(struct call *call, char **argv, int *place, struct error *error) {
  const char *word = argv[*place], *equals = strchr(word, '='), *value = "";
  size_t length = equals ? (size_t)(equals - word) : strlen(word);
  const struct flag *flag = word[1] == '-' ? find_flag(call->command, word + 2, length - 2) : NULL;
  if (!flag) return refuse_flag(call, word, error);
  if (!flag->value && equals)
    return fail_usage(error, "--%s is a switch and takes no value; write --%s alone", flag->name, flag->name);
  if (flag->value) {
    value = equals ? equals + 1 : argv[*place + 1];
    if (!value || (!equals && !strncmp(value, "--", 2)))
      return fail_usage(error, "--%s has no value; write --%s %s", flag->name, flag->name, flag->value);
    if (!equals) ++*place;
  }
  if (!check_path(flag, value, error)) return false;
  if (call->given_count == GIVEN_MOST)
    return fail_usage(error, "more than %d flags; put the options into a scene file", GIVEN_MOST);
  call->given[call->given_count].flag = flag;
  call->given[call->given_count++].value = value;
  return true;
}

static bool take_words(struct call *call, char **argv, struct error *error) {
  bool flags = true;
  for (int i = 2; argv[i]; i++) {
    const char *word = argv[i];
    if (flags && !strcmp(word, "--")) {
      flags = false;
    } else if (flags && word[0] == '-' && word[1]) {
      if (!take_flag(call, argv, &i, error)) return false;
    } else if (call->operand_count == OPERANDS_MOST) {
      return fail_usage(error, "more than %d operands; name a folder instead", OPERANDS_MOST);
    } else {
      call->operand[call->operand_count++] = word;
    }
  }
  return true;
}

/* Moves the scene out of the operands; NULL when the command takes none. */
static const char *take_scene(struct call *call) {
  if (!call->command->takes_scene) return NULL;
  const char *scene = call->operand[0];
  call->operand_count--;
  memmove(call->operand, call->operand + 1, sizeof call->operand[0] * (size_t)call->operand_count);
  return scene;
}

static bool check_operands(const struct call *call, struct error *error) {
  const struct command *command = call->command;
  int scene = command->takes_scene ? 1 : 0;
  const char *usage = command->operands ? command->operands : "";
  for (int i = 0; i < call->operand_count; i++)
    if (!*call->operand[i])
      return fail_usage(error, "operand %d of l2sr %s is empty; write l2sr %s %s", i + 1, command->name,
                        command->name, usage);
  if (call->operand_count < command->operands_least + scene)
    return fail_usage(error, "an operand is missing; write l2sr %s %s", command->name, usage);
  if (call->operand_count > command->operands_most + scene)
    return fail_usage(error, "one operand too many: %s; write l2sr %s%s%s",
                      call->operand[command->operands_most + scene], command->name, *usage ? " " : "", usage);
  return true;
}

/* Drops what a command prints from here on: no table, no summary. */
static void drop_output(void) {
  FILE *nowhere = fopen("/dev/null", "w");
  if (nowhere) stdout = nowhere;
}

/* Words for programs are asked for by name, so that --quiet leaves them. */
static bool set_log(const struct call *call, struct error *error) {
  bool quiet = call_flag(call, "quiet"), verbose = call_flag(call, "verbose");
  if (quiet && verbose)
    return fail_usage(error, "--quiet and --verbose contradict each other; give one of them");
  if (quiet) terminal_show(L2SR_ERROR);
  if (verbose) terminal_show(L2SR_DETAIL);
  if (quiet && !call_flag(call, "json") && !call_flag(call, "yaml")) drop_output();
  return true;
}

static bool run_call(struct call *call, char **argv, struct error *error) {
  if (!take_words(call, argv, error)) return false;
  if (call_flag(call, "help")) {
    help_command(call->command, stdout);
    return true;
  }
  if (!set_log(call, error)) return false;
  if (!check_operands(call, error) || !call_scene(call, take_scene(call), error)) return false;
  return call->command->run(call, error);
}

/* ---- the process -------------------------------------------------------------------------------------- */

static int report(const char *text, int status) {
  ranks_let_first_tell();
  terminal_line("l2sr: ", text);
  return status;
}

static int status_of(enum error_code code) {
  return code == ERROR_USAGE ? STATUS_USAGE : STATUS_FAILED;
}

/* Whether --json stands there, also where the words before it are wrong. */
static bool wants_json(const struct command *command, char **argv) {
  if (!find_flag(command, "json", 4)) return false;
  for (int i = 2; argv[i] && strcmp(argv[i], "--"); i++)
    if (!strcmp(argv[i], "--json")) return true;
  return false;
}

/* Programs read standard output: they are told there too. */
static void report_json(const char *text) {
  printf("{\"error\":");
  json_text(stdout, text);
  printf("}\n");
}

static volatile sig_atomic_t goes_on; /* what runs is a command that --resume goes on with */

static int run_command(const struct command *command, char **argv) {
  struct error error = {.code = ERROR_NONE};
  struct call call = {.command = command, .list = command_list, .arena = arena_open(), .words = argv};
  goes_on = !strcmp(command->name, "train");
  bool good = run_call(&call, argv, &error);
  if (!good && wants_json(command, argv)) report_json(error.text);
  int status = good ? call.status : report(error.text, status_of(error.code));
  arena_close(call.arena);
  return status;
}

static int refuse_command(const char *word) {
  const char *names[NAMES_MOST];
  size_t count = 0;
  struct error error;
  if (word[0] == '-') {
    names[count++] = "--help";
    names[count++] = "--version";
  }
  for (; word[0] != '-' && command_list[count] && count < NAMES_MOST; count++)
    names[count] = command_list[count]->name;
  const char *near = nearest_name(word, names, count);
  if (word[0] == '-' && near)
    fail(&error, "unknown flag %s; did you mean %s?", word, near);
  else if (word[0] == '-')
    fail(&error, "unknown flag %s before the command; the command comes first: l2sr COMMAND %s", word, word);
  else if (near)
    fail(&error, "unknown command %s; did you mean %s?", word, near);
  else
    fail(&error, "unknown command %s; `l2sr --help` lists the commands", word);
  return report(error.text, STATUS_USAGE);
}

/* Each file is looked at by a child first; the child itself has none. */
static int run_program(int argc, char **argv) {
  struct error error;
  probe_with("/proc/self/exe");
  if (!room_for_stack(&error)) {
    fprintf(stderr, "l2sr: %s\n", error.text);
    return STATUS_FAILED;
  }
  if (argc < 2) {
    help_program(command_list, stderr);
    return STATUS_USAGE;
  }
  if (!strcmp(argv[1], "--help")) {
    help_program(command_list, stdout);
    return STATUS_GOOD;
  }
  if (!strcmp(argv[1], "--version")) {
    printf("l2sr %s\n", l2sr_version());
    return STATUS_GOOD;
  }
  for (size_t i = 0; command_list[i]; i++)
    if (!strcmp(command_list[i]->name, argv[1])) return run_command(command_list[i], argv);
  return refuse_command(argv[1]);
}

/* A closed standard descriptor would be given to the next file that is opened, which printf would then write
 * into. Opened the wrong way round, its use fails as it should. */
static void hold_standard_files(void) {
  for (int i = 0; i <= STDERR_FILENO; i++)
    if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i ? O_RDONLY : O_WRONLY) != i) _exit(STATUS_FAILED);
}

static pthread_t first_thread; /* the one that writes traces */

/* Another thread, of a driver, hands the signal on, and does nothing any more. */
static void interrupted(int signal) {
  static const char plain[] = "l2sr: interrupted; unfinished files are removed\n",
                    training[] =
                        "l2sr: interrupted; unfinished files are removed; --resume goes on from the last "
                        "checkpoint\n";
  const char *text = goes_on ? training : plain;
  while (!pthread_equal(pthread_self(), first_thread)) pthread_kill(first_thread, signal), pause();
  bool handed = ranks_pass_signal(signal); /* ranks keep what they have, and this process ends when they did */
  if (!handed) {
    call_rescue_trace();
    store_abandon_all();
  }
  bool tells = handed || !ranks_tell_ended();
  if (tells && write(STDERR_FILENO, text, strlen(text)) < 0) tells = false; /* nobody is there to be told */
  if (!handed) _exit(128 + signal);
}

static void catch_signals(void) {
  struct sigaction stop = {.sa_handler = interrupted}, ignore = {.sa_handler = SIG_IGN}, before;
  first_thread = pthread_self();
  sigaction(SIGINT, &stop, NULL);
  sigaction(SIGTERM, &stop, NULL);
  if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN) /* nohup */
    sigaction(SIGHUP, &stop, NULL);
  sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); /* how a child ended is asked for */
  sigaction(SIGPIPE, &ignore, NULL); /* a reader that is gone is reported like a full disk */
  sigaction(SIGXFSZ, &ignore, NULL); /* so is a file that may not become larger */
}

/* Writes what the guard still holds before it looks whether all was written. */
static int finish_output(struct text_guard *guard, int status) {
  struct error error;
  errno = 0;
  bool good = !fflush(stdout);
  if (guard->file) good = !text_guard_finish(guard) && good;
  if (good && !ferror(stdout)) return status;
  fail(&error, "cannot write the results: %s", strerror(errno ? errno : EIO));
  return report(error.text, status ? status : STATUS_FAILED);
}

/* Results name files, data sets and words of scenes, whose bytes shall not steer the terminal that shows
 * them: all that a command prints goes through one stream that escapes them. It stays open, and its guard
 * outlives main: a driver's own streams hold it until the process ends (NVIDIA's flushes it then). */
static void guard_output(struct text_guard *guard) {
  FILE *guarded = text_guard_open(guard, stdout);
  if (!guarded) return;
  if (isatty(STDOUT_FILENO)) setvbuf(guarded, NULL, _IOLBF, BUFSIZ);
  stdout = guarded;
}

/* A host without memory is the world's fault and ends as other refusals do, at once: only this process knows. A broken rule is
 * ours, and leaves a core. */
static void end(enum l2sr_code code, const char *text, void *context) {
  (void)context;
  if (code != L2SR_NO_MEMORY) return;
  terminal_line("l2sr: ", text);
  exit(STATUS_FAILED);
}

int main(int argc, char **argv) {
  static struct text_guard guard;
  terminal_open();
  fft_hush(true);
  l2sr_on_fatal(end, NULL);
  if (argc == 2 && !strcmp(argv[1], PROBE_WORD)) return probe_serve(format_unpack);
  hold_standard_files();
  catch_signals();
  atexit(store_abandon_all); /* a driver's compiler may end the program */
  guard_output(&guard);
  return finish_output(&guard, run_program(argc, argv));
}
