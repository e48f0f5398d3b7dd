/* Samplers by reconstructors by settings by seeds: trains and evaluates what a suite names, as processes of
 * this program, and makes one page of all. What is done stays done: the same command goes on. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/files/scene.h"
#include "engine/files/store.h"
#include "systems/methods/method.h"
#include "systems/methods/start.h"
#include "systems/scan/reconstruction.h"
#include "tools/commands/command.h"
#include "tools/commands/jobs.h"
#include "tools/commands/made.h"
#include "tools/report/csv.h"
#include "tools/report/json_line.h"
#include "tools/report/report.h"

#include <ftw.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CELLS_MOST = 2000, PROCESSES_MOST = 64, WORD_MOST = 128, ENTRY_MOST = 1024 };

/* How scans are made by what a method has trained: the sampler, the key of its file, both files in the
 * training's folder. "%u" is the best round. */
static const struct scanned {
  const char *method, *sampler, *key, *file, *reconstructor;
} scanned[] = {{"l2s", "policy", "evaluate.policy", "policy_1/best.h5", "reconstructor/best.h5"},
               {"l2sr", "policy", "evaluate.policy", "policy_%u/last.h5", "reconstructor_%u/best.h5"},
               {"pgmri", "policy", "evaluate.policy", "policy_1/last.h5", "reconstructor/best.h5"},
               {"ddqn", "policy", "evaluate.policy", "policy_1/best.h5", "reconstructor/best.h5"},
               {"evaluator", "policy", "evaluate.policy", "best.h5", "best.h5"},
               {"loupe", "fixed_mask", "sampler.mask", "best.h5", "best.h5"},
               {"tau_step", "tau_step_best", "sampler.tau_step", "best.h5", "best.h5"},
               {"lbcs", "fixed_mask", "sampler.mask", "mask_1/last.h5", "reconstructor/best.h5"},
               {"straight_through", "straight_through_best", "sampler.mask", "best.h5", "best.h5"},
               {"suno", "suno", "sampler.mask", "masks_%u/last.h5", "reconstructor_%u/best.h5"}},
  of_mask = {"ddqn", "fixed_mask", "sampler.mask", "policy_1/best.h5", "reconstructor/best.h5"};

enum cell_state { CELL_WAITS, CELL_TRAINS, CELL_SCANS, CELL_DONE, CELL_FAILED };

struct cell {
  const char *setting, *method, *reconstructor,
      *folder;                   /* method "": the reconstructor alone, which others wait for */
  const char *scene;             /* that is trained; NULL: none */
  const struct scanned *scanned; /* NULL: a sampler that is not trained */
  struct options options;        /* of the scene that is trained, else of the setting */
  struct cell *after;            /* whose reconstructor it takes; NULL: nobody's */
  uint32_t seed, sum, from;      /* of the options, and of data and lengths (made.h) */
  enum cell_state state;
  size_t slot;
  struct job job;
  double trained, evaluated; /* seconds */
  const char *failure;
};

struct suite {
  struct call *call;
  const char *folder;
  struct cell *cell;
  size_t cells;
  const char *device[PROCESSES_MOST]; /* of each slot; NULL: the call's */
  size_t slots;
  double end; /* when to stop; 0: never */
  bool ran;   /* something was started */
};

/* ---- the suite ------------------------------------------------------------------------------------------
 */

static bool is_network(const char *reconstructor) {
  return !strcmp(reconstructor, "network") || !strcmp(reconstructor, "varnet");
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Folders and names are each cell's own. */
static bool is_shared(const struct suite *suite, size_t place) {
  static const char *const own[] = {"train.output", "evaluate.output", "evaluate.name", "evaluate.samplers",
                                    "world.seed"};
  const struct option *row = &option_table.rows[place];
  const char *key = arena_text(suite->call->arena, "%s.%s", row->section, row->name);
  bool shared = suite->call->options.given[place] && strcmp(row->section, "benchmark") != 0;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) shared = shared && strcmp(own[i], key) != 0;
  return shared;
}

/* What the suite sets beside its own section, and what a reconstructor is called by. */
static bool apply_sets(const struct suite *suite, const char *reconstructor, struct options *options,
                       struct error *error) {
  struct arena *arena = suite->call->arena;
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (!is_shared(suite, i)) continue;
    const char *key = arena_text(arena, "%s.%s", row->section, row->name);
    const char *set = arena_text(arena, "%s=%s", key, option_set_text(row, &suite->call->options, arena));
    if (!scene_assign(&option_table, options, arena, set, "the suite", error)) return false;
  }
  return !strcmp(reconstructor, "network") || option_set(&option_table, options, arena, "reconstruct.method",
                                                         reconstructor, "benchmark.reconstructors", error);
}

static bool read_cell_scene(const struct suite *suite, struct cell *cell, const char *name,
                            struct error *error) {
  struct arena *arena = suite->call->arena;
  const char *folder = call_scenes(arena), *path = scene_find(arena, name, folder, error);
  option_defaults(&option_table, &cell->options, arena);
  return path && scene_read(&option_table, &cell->options, arena, path, folder, error) &&
         apply_sets(suite, cell->reconstructor, &cell->options, error);
}

static const struct scanned *scanned_of(const struct options *options) {
  const char *method = method_of(options)->name;
  if (!strcmp(method, of_mask.method) && options->ddqn.specific == DDQN_DATA_SET) return &of_mask;
  for (size_t i = 0; i < sizeof scanned / sizeof *scanned; i++)
    if (!strcmp(scanned[i].method, method)) return &scanned[i];
  return NULL;
}

/* A word of benchmark.methods is a scene, SETTING_WORD, or a sampler. */
static bool find_method(const struct suite *suite, struct cell *cell, struct error *error) {
  struct arena *arena = suite->call->arena;
  const char *name = arena_text(arena, "%s_%s", cell->setting, cell->method);
  struct error no_scene;
  if (scene_find(arena, name, call_scenes(arena), &no_scene)) {
    cell->scene = name;
    if (!read_cell_scene(suite, cell, name, error)) return fail_in(error, "%s", name);
    cell->scanned = scanned_of(&cell->options);
    return cell->scanned ||
           fail_usage(error,
                      "%s trains a reconstructor alone (train.method %s), which is no sampler; take %s "
                      "out of benchmark.methods",
                      name, method_of(&cell->options)->name, cell->method);
  }
  if (!sampler_find(cell->method, error) || !strcmp(cell->method, "policy"))
    return fail_usage(
        error,
        "benchmark.methods has '%s': there is no scene %s, and no sampler of that name; `l2sr describe "
        "samplers` lists them",
        cell->method, name);
  return read_cell_scene(suite, cell, cell->setting, error);
}

static struct cell *add_cell(struct suite *suite, const struct cell *made) {
  struct arena *arena = suite->call->arena;
  struct cell *cell = &suite->cell[suite->cells++];
  const char *with = strcmp(made->reconstructor, "network") ? made->reconstructor : "";
  *cell = *made;
  cell->folder =
      arena_text(arena, "%s/%s/%s%s%s/seed_%u", suite->folder, base_name(made->setting),
                 *made->method ? made->method : "reconstructor", *with ? "_" : "", with, made->seed);
  return cell;
}

/* Without training and chance all seeds are the same. */
static bool is_once(const struct cell *cell) {
  struct error ignored;
  const struct sampler *sampler = cell->scene ? NULL : sampler_find(cell->method, &ignored);
  return sampler && !sampler->random && !is_network(cell->reconstructor);
}

/* Copies the next word of an entry of benchmark.only, whose words have blanks between them; NULL at the end. */
static const char *next_of_entry(const char *rest, char word[WORD_MOST]) {
  rest += strspn(rest, " \t");
  size_t length = strcspn(rest, " \t");
  if (!length) return NULL;
  snprintf(word, WORD_MOST, "%.*s", (int)length, rest);
  return rest + length;
}

/* Whether `word` is behind the first word of the entry. */
static bool is_for(const char *entry, const char *first, const char *word) {
  char next[WORD_MOST];
  const char *rest = next_of_entry(entry, next);
  if (!rest || strcmp(next, first)) return true;
  while ((rest = next_of_entry(rest, next)))
    if (!strcmp(next, word)) return true;
  return false;
}

/* benchmark.only names the settings of a method, and the methods of a reconstructor. */
static bool is_asked(const struct suite *suite, const struct cell *cell) {
  const char *entries = suite->call->options.benchmark.only;
  char entry[ENTRY_MOST];
  while ((entries = option_next(entries, entry, sizeof entry)))
    if (!is_for(entry, cell->method, cell->setting) || !is_for(entry, cell->reconstructor, cell->method)) return false;
  return true;
}

static bool add_method(struct suite *suite, struct cell made, struct cell *reconstructor, bool first,
                       struct error *error) {
  if (!find_method(suite, &made, error)) return false;
  if ((made.scene && !is_network(made.reconstructor)) || (!first && is_once(&made)) || !is_asked(suite, &made)) return true;
  if (suite->cells >= CELLS_MOST)
    return fail_usage(error, "the suite has more than %d trainings and evaluations", CELLS_MOST);
  struct cell *cell = add_cell(suite, &made);
  if (!cell->scene && reconstructor) cell->after = reconstructor;
  return true;
}

static bool add_seed(struct suite *suite, struct cell made, bool first, struct error *error) {
  const char *methods = suite->call->options.benchmark.methods;
  struct cell *reconstructor = NULL, plain = made;
  char word[WORD_MOST];
  plain.method = "";
  plain.scene = made.setting;
  if (!read_cell_scene(suite, &plain, made.setting, error)) return fail_in(error, "%s", made.setting);
  if (is_network(made.reconstructor) && reconstruction_trains(&plain.options)) {
    if (suite->cells >= CELLS_MOST)
      return fail_usage(error, "the suite has more than %d trainings", CELLS_MOST);
    reconstructor = add_cell(suite, &plain);
  }
  while ((methods = option_next(methods, word, sizeof word))) {
    made.method = arena_text(suite->call->arena, "%s", word);
    if (!add_method(suite, made, reconstructor, first, error)) return false;
  }
  return true;
}

static bool add_seeds(struct suite *suite, struct cell made, struct error *error) {
  const char *seeds = suite->call->options.benchmark.seeds;
  char word[WORD_MOST];
  for (bool first = true; (seeds = option_next(seeds, word, sizeof word)); first = false) {
    if (!option_whole(word, 0, UINT32_MAX, &made.seed))
      return fail_usage(error, "benchmark.seeds has '%s'; it must be whole numbers, as 1,2,3", word);
    if (!add_seed(suite, made, first, error)) return false;
  }
  return true;
}

/* A setting's folder is called as its file. */
static bool check_folders(const char *settings, struct error *error) {
  char one[WORD_MOST], other[WORD_MOST];
  while ((settings = option_next(settings, one, sizeof one)))
    for (const char *rest = settings; (rest = option_next(rest, other, sizeof other));)
      if (!strcmp(base_name(one), base_name(other)))
        return fail_usage(error,
                          "benchmark.settings has '%s' and '%s', whose results would share the folder %s; give one of the files "
                          "another name",
                          one, other, base_name(one));
  return true;
}

static bool check_entry(const struct options *options, const char *entry, struct error *error) {
  char first[WORD_MOST], word[WORD_MOST];
  const char *rest = next_of_entry(entry, first);
  bool method = rest && option_has(options->benchmark.methods, first), any = false;
  const char *kind = method ? "settings" : "methods", *allowed = method ? options->benchmark.settings : options->benchmark.methods;
  if (!method && !option_has(options->benchmark.reconstructors, rest ? first : ""))
    return fail_usage(error, "benchmark.only has '%s', which is in neither benchmark.methods nor benchmark.reconstructors", entry);
  for (; (rest = next_of_entry(rest, word)); any = true)
    if (!option_has(allowed, word))
      return fail_usage(error, "benchmark.only has '%s' behind %s, which is not in benchmark.%s", word, first, kind);
  return any || fail_usage(error, "benchmark.only has '%s' alone; name the %s that it is for behind it, with blanks between them", first, kind);
}

static bool check_only(const struct options *options, struct error *error) {
  const char *entries = options->benchmark.only;
  char entry[ENTRY_MOST];
  while ((entries = option_next(entries, entry, sizeof entry)))
    if (!check_entry(options, entry, error)) return false;
  return true;
}

static bool check_lists(const struct options *options, struct error *error) {
  const struct {
    const char *key, *list;
  } lists[] = {{"settings", options->benchmark.settings},
               {"methods", options->benchmark.methods},
               {"reconstructors", options->benchmark.reconstructors},
               {"seeds", options->benchmark.seeds}};
  char word[WORD_MOST];
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (!option_count(lists[i].list))
      return fail_usage(error,
                        "benchmark.%s is empty; name at least one, as scenes/benchmark_flair.yaml does",
                        lists[i].key);
    if (option_repeated(lists[i].list, word, sizeof word))
      return fail_usage(error, "benchmark.%s has '%s' twice; name each once", lists[i].key, word);
  }
  return check_only(options, error) && check_folders(options->benchmark.settings, error);
}

static bool read_suite(struct suite *suite, struct error *error) {
  const struct options *options = &suite->call->options;
  const char *settings = options->benchmark.settings;
  char setting[WORD_MOST], reconstructor[WORD_MOST];
  if (!check_lists(options, error)) return false;
  while ((settings = option_next(settings, setting, sizeof setting))) {
    const char *reconstructors = options->benchmark.reconstructors;
    while ((reconstructors = option_next(reconstructors, reconstructor, sizeof reconstructor))) {
      const struct cell made = {.setting = arena_text(suite->call->arena, "%s", setting),
                                .reconstructor = arena_text(suite->call->arena, "%s", reconstructor)};
      if (!add_seeds(suite, made, error)) return false;
    }
  }
  return true;
}

/* What results are called by. */
static const char *name_of(const struct suite *suite, const struct cell *cell) {
  return strcmp(cell->reconstructor, "network") ? arena_text(suite->call->arena, "%s, %s", cell->method, cell->reconstructor) : cell->method;
}

/* Before anything runs: there is something to do, and results with which the page compares others. */
static bool check_cells(const struct suite *suite, struct error *error) {
  const char *baseline = suite->call->options.benchmark.baseline, *names = "";
  for (size_t i = 0; i < suite->cells; i++) {
    const char *name = name_of(suite, &suite->cell[i]);
    if (!*suite->cell[i].method) continue;
    if (!strcmp(name, baseline)) return true;
    const char *quoted = arena_text(suite->call->arena, "'%s'", name);
    if (!strstr(names, quoted)) names = arena_text(suite->call->arena, "%s%s%s", names, *names ? ", " : "", quoted);
  }
  if (!*names)
    return fail_usage(error, "nothing is left of the suite: its methods train, and of benchmark.reconstructors none is a network; add network, or a "
                             "sampler that needs no training");
  return !*baseline || fail_usage(error, "benchmark.baseline is '%s', and the suite's results are called %s; set it to one of them, or leave it empty",
                                  baseline, names);
}

/* benchmark.jobs at a time on each device. */
static bool read_slots(struct suite *suite, struct error *error) {
  const struct options *options = &suite->call->options;
  const char *devices = options->benchmark.devices;
  char word[WORD_MOST];
  size_t count = option_count(devices), each = options->benchmark.jobs;
  if ((count ? count : 1) * each > PROCESSES_MOST)
    return fail_usage(error, "benchmark.jobs is %u on each of %zu device%s; there may be %d in all",
                      options->benchmark.jobs, count ? count : 1, plural(count ? count : 1), PROCESSES_MOST);
  do {
    bool named = count && (devices = option_next(devices, word, sizeof word));
    if (named && !device_named(word, error)) return fail_in(error, "benchmark.devices");
    for (size_t i = 0; i < each && (named || !count); i++)
      suite->device[suite->slots++] =
          named ? arena_text(suite->call->arena, "%s", word) : call_flag(suite->call, "device");
  } while (count && devices);
  return true;
}

/* ---- commands -------------------------------------------------------------------------------------------
 */

static const char *path_in(const struct suite *suite, const struct cell *cell, const char *name) {
  return arena_text(suite->call->arena, "%s/%s", cell->folder, name);
}

static void add_set(struct suite *suite, struct job *job, const char *key, const char *value) {
  job_add(job, "--set");
  job_add(job, arena_text(suite->call->arena, "%s=%s", key, value));
}

static void begin_command(struct suite *suite, struct cell *cell, const char *command, const char *scene,
                          const char *log) {
  struct arena *arena = suite->call->arena;
  const char *device = suite->device[cell->slot], *kernels = call_flag(suite->call, "kernels");
  struct job *job = &cell->job;
  *job = (struct job){.log = path_in(suite, cell, log)};
  job_add(job, command);
  job_add(job, scene);
  if (device) job_add(job, "--device"), job_add(job, device);
  if (kernels) job_add(job, "--kernels"), job_add(job, kernels);
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (!is_shared(suite, i)) continue;
    add_set(suite, job, arena_text(arena, "%s.%s", row->section, row->name),
            option_set_text(row, &suite->call->options, arena));
  }
  if (strcmp(cell->reconstructor, "network")) add_set(suite, job, "reconstruct.method", cell->reconstructor);
  add_set(suite, job, "world.seed", arena_text(arena, "%u", cell->seed));
}

static void make_training(struct suite *suite, struct cell *cell) {
  begin_command(suite, cell, "train", cell->scene, "train.log");
  job_add(&cell->job, "--resume");
  job_add(&cell->job, "--output");
  job_add(&cell->job, path_in(suite, cell, "train"));
}

static bool see_best(const json_t *line, void *context, struct error *error) {
  double round;
  (void)error;
  if (json_number_of(line, "round", &round) && json_number_of(line, "rounds", &(double){0}))
    *(uint32_t *)context = (uint32_t)round;
  return true;
}

/* A file of the training, of its best round where it has rounds. */
static const char *trained_file(struct suite *suite, const struct cell *cell, const char *file) {
  const char *round = strstr(file, "%u"), *folder = path_in(suite, cell, "train");
  struct arena *arena = suite->call->arena;
  uint32_t best = 1;
  struct error ignored;
  if (!round) return arena_text(arena, "%s/%s", folder, file);
  json_lines(arena_text(arena, "%s/stages.jsonl", folder), false, see_best, &best, &ignored);
  return arena_text(arena, "%s/%.*s%u%s", folder, (int)(round - file), file, best, round + 2);
}

static const char *reconstructor_file(struct suite *suite, const struct cell *cell) {
  if (cell->after) return path_in(suite, cell->after, "train/best.h5");
  if (!cell->scanned || !reconstruction_trains(&cell->options)) return NULL;
  const char *named =
      strcmp(cell->scanned->reconstructor, "reconstructor/best.h5") ? NULL : start_checkpoint(&cell->options);
  return named ? named : trained_file(suite, cell, cell->scanned->reconstructor);
}

static void make_evaluation(struct suite *suite, struct cell *cell) {
  const char *reconstructor = reconstructor_file(suite, cell);
  begin_command(suite, cell, "evaluate", cell->setting, "evaluate.log");
  struct job *job = &cell->job;
  add_set(suite, job, "evaluate.curves", "true");
  add_set(suite, job, "evaluate.name", name_of(suite, cell));
  add_set(suite, job, "evaluate.samplers", cell->scanned ? cell->scanned->sampler : cell->method);
  if (cell->scanned) add_set(suite, job, cell->scanned->key, trained_file(suite, cell, cell->scanned->file));
  if (reconstructor) job_add(job, "--reconstructor"), job_add(job, reconstructor);
  job_add(job, "--overwrite");
  job_add(job, "--output");
  job_add(job, path_in(suite, cell, "results"));
}

/* ---- what is done ---------------------------------------------------------------------------------------
 */

/* Seconds stand in a file that says that the step is done, and after them the sums of the options and of the data and lengths that
 * it was done by; files of earlier versions lack one or both. made: false where these are others than the cell's; NULL: it is not asked for. */
static bool read_done(const struct suite *suite, const struct cell *cell, const char *name, double *seconds, bool *made) {
  struct error ignored;
  char line[64] = "";
  unsigned sum, from;
  FILE *file = file_read(path_in(suite, cell, name), &ignored);
  int fields = file && fgets(line, sizeof line, file) ? sscanf(line, "%lf %x %x", seconds, &sum, &from) : 0;
  if (file) fclose(file);
  if (made) *made = (fields < 2 || sum == cell->sum) && (fields < 3 || from == cell->from);
  return fields >= 1;
}

static bool write_done(const struct suite *suite, const struct cell *cell, const char *name, double seconds,
                       struct error *error) {
  struct text_file file;
  if (!file_create(&file, path_in(suite, cell, name), error)) return false;
  fprintf(file.file, "%.3f %08x %08x\n", seconds, (unsigned)cell->sum, (unsigned)cell->from);
  return file_commit(&file, error);
}

/* Of a training that was stopped before, the seconds of all its processes. */
static void note_part(const struct suite *suite, const struct cell *cell) {
  double before = 0;
  struct error ignored;
  if (cell->state != CELL_TRAINS) return;
  read_done(suite, cell, "seconds", &before, NULL);
  write_done(suite, cell, "seconds", before + cell->job.seconds, &ignored);
}

static bool find_step(const struct suite *suite, const struct cell *cell, const char *name, double *seconds, bool *done,
                      struct error *error) {
  bool made;
  *done = read_done(suite, cell, name, seconds, &made);
  return made || fail_usage(error,
                            "%s was made by other options, data or lengths of training than the suite has now; name another --output, or "
                            "remove it",
                            cell->folder);
}

/* Cells stand after those whose reconstructor they take. */
static bool find_done(struct suite *suite, struct error *error) {
  for (size_t i = 0; i < suite->cells; i++) {
    struct cell *cell = &suite->cell[i];
    double part;
    bool begun, trained, evaluated;
    cell->sum = made_by(&cell->options, cell->after ? cell->after->sum : 0);
    cell->from = made_from(&cell->options, cell->after ? cell->after->from : 0);
    if (!find_step(suite, cell, "seconds", &part, &begun, error) ||
        !find_step(suite, cell, "trained", &cell->trained, &trained, error) ||
        !find_step(suite, cell, "evaluated", &cell->evaluated, &evaluated, error))
      return false;
    if ((trained || !cell->scene) && (evaluated || !*cell->method)) cell->state = CELL_DONE;
  }
  return true;
}

/* ---- the queue ------------------------------------------------------------------------------------------
 */

static void fail_cell(struct suite *suite, struct cell *cell, const char *text) {
  cell->state = CELL_FAILED;
  cell->failure = arena_text(suite->call->arena, "%s", text);
  log_warning("%s: %s", cell->folder, text_shown(suite->call->arena, text));
}

static void start_step(struct suite *suite, struct cell *cell) {
  bool trains = cell->scene && !read_done(suite, cell, "trained", &cell->trained, NULL);
  struct error error;
  cell->state = trains ? CELL_TRAINS : CELL_SCANS;
  suite->ran = true;
  if (!folder_make(cell->folder, &error)) {
    fail_cell(suite, cell, error.text);
    return;
  }
  (trains ? make_training : make_evaluation)(suite, cell);
  log_info("%s %s", trains ? "training" : "evaluating", cell->folder);
  if (!job_start(&cell->job, &error)) fail_cell(suite, cell, error.text);
}

static int drop_checkpoint(const char *path, const struct stat *facts, int kind, struct FTW *where) {
  size_t length = strlen(path);
  (void)facts, (void)where;
  if (kind == FTW_F && length > 3 && !strcmp(path + length - 3, ".h5")) unlink(path);
  return 0;
}

/* Where only results are kept, nobody asks for a method's checkpoints any more; links are not followed. */
static void drop_training(struct suite *suite, const struct cell *cell) {
  if (suite->call->options.benchmark.keep != BENCHMARK_RESULTS || !*cell->method || !cell->scene) return;
  nftw(path_in(suite, cell, "train"), drop_checkpoint, 8, FTW_PHYS);
}

/* A step has ended: the next one, or the cell's end. */
static void follow(struct suite *suite, struct cell *cell) {
  bool trained = cell->state == CELL_TRAINS;
  struct error error;
  note_part(suite, cell);
  if (cell->job.status) {
    const char *line = job_last_line(&cell->job, suite->call->arena);
    fail_cell(suite, cell,
              *line ? line : arena_text(suite->call->arena, "it ended with status %d", cell->job.status));
    return;
  }
  double seconds = cell->job.seconds;
  if (trained) read_done(suite, cell, "seconds", &seconds, NULL);
  *(trained ? &cell->trained : &cell->evaluated) = seconds;
  if (!write_done(suite, cell, trained ? "trained" : "evaluated", seconds, &error)) {
    fail_cell(suite, cell, error.text);
    return;
  }
  cell->state = trained && *cell->method ? CELL_WAITS : CELL_DONE;
  if (cell->state == CELL_DONE) drop_training(suite, cell);
  if (cell->state == CELL_WAITS) start_step(suite, cell);
}

static bool may_start(struct suite *suite, struct cell *cell) {
  if (cell->state != CELL_WAITS) return false;
  if (cell->after && cell->after->state == CELL_FAILED)
    fail_cell(suite, cell, "its reconstructor could not be trained");
  return cell->state == CELL_WAITS && (!cell->after || cell->after->state == CELL_DONE);
}

static bool runs(const struct cell *cell) {
  return cell->state == CELL_TRAINS || cell->state == CELL_SCANS;
}

/* The slot stays the cell's for its evaluation. */
static bool is_taken(const struct suite *suite, size_t slot) {
  for (size_t i = 0; i < suite->cells; i++)
    if (runs(&suite->cell[i]) && suite->cell[i].slot == slot) return true;
  return false;
}

static void start_waiting(struct suite *suite) {
  size_t next = 0;
  for (size_t slot = 0; slot < suite->slots; slot++) {
    while (next < suite->cells && !may_start(suite, &suite->cell[next])) next++;
    if (next == suite->cells) return;
    if (is_taken(suite, slot)) continue;
    suite->cell[next].slot = slot;
    start_step(suite, &suite->cell[next]);
  }
}

static size_t count_state(const struct suite *suite, enum cell_state state) {
  size_t count = 0;
  for (size_t i = 0; i < suite->cells; i++) count += suite->cell[i].state == state;
  return count;
}

/* Runs all, or until it is time; a training that is stopped goes on from its last checkpoint. */
static void run_queue(struct suite *suite) {
  const struct timespec moment = {.tv_nsec = 10000000};
  for (bool busy = true; busy;) {
    bool late = suite->end > 0 && clock_seconds() >= suite->end;
    if (!late) start_waiting(suite);
    busy = false;
    for (size_t i = 0; i < suite->cells; i++) {
      struct cell *cell = &suite->cell[i];
      if (!runs(cell)) continue;
      if (!job_ended(&cell->job)) {
        if (late) job_stop(&cell->job);
      } else if (cell->job.asked > 0 && cell->job.status) {
        note_part(suite, cell);
        cell->state = CELL_WAITS;
      } else {
        follow(suite, cell);
      }
      busy |= runs(cell);
    }
    bool more = !late && count_state(suite, CELL_WAITS) && !busy;
    busy |= more;
    if (busy && !more) nanosleep(&moment, NULL);
  }
}

/* ---- what came of it ------------------------------------------------------------------------------------
 */

static const char *state_of(const struct cell *cell) {
  return cell->state == CELL_DONE ? "done" : cell->state == CELL_FAILED ? "failed" : "waits";
}

static bool write_table(const struct suite *suite, struct error *error) {
  struct text_file file;
  if (!file_create(&file, arena_text(suite->call->arena, "%s/benchmark.csv", suite->folder), error))
    return false;
  fprintf(file.file, "setting,method,reconstructor,seed,state,train_seconds,evaluate_seconds,failure\n");
  for (size_t i = 0; i < suite->cells; i++) {
    const struct cell *cell = &suite->cell[i];
    csv_text(file.file, cell->setting);
    fputc(',', file.file);
    csv_text(file.file, *cell->method ? cell->method : "reconstructor");
    fprintf(file.file, ",%s,%u,%s,%.3f,%.3f,", cell->reconstructor, cell->seed, state_of(cell), cell->trained,
            cell->evaluated);
    csv_text(file.file, cell->failure ? cell->failure : "");
    fputc('\n', file.file);
  }
  return file_commit(&file, error);
}

static void add_time(struct report *report, const struct cell *cell) {
  report->time[report->times++] =
      (struct report_time){.setting = base_name(cell->setting),
                           .method = *cell->method ? cell->method : "reconstructor",
                           .reconstructor = cell->reconstructor,
                           .trained = cell->trained,
                           .evaluated = cell->evaluated};
}

/* Curves of trainings stand on the page while it has room for them. */
static bool write_page(const struct suite *suite, struct error *error) {
  struct report *report = report_make(suite->call->arena);
  size_t trained = 0;
  report->time = ARENA_NEW(suite->call->arena, struct report_time, suite->cells);
  for (size_t i = 0; i < suite->cells; i++) {
    const struct cell *cell = &suite->cell[i];
    if (cell->state != CELL_DONE) continue;
    add_time(report, cell);
    if (*cell->method && !report_add(report, path_in(suite, cell, "results"), error)) return false;
    if (!cell->scene || ++trained > REPORT_TRAININGS) continue;
    if (!report_add(report, path_in(suite, cell, "train"), error)) return false;
  }
  const char *baseline = suite->call->options.benchmark.baseline;
  const struct report_config config = {.baseline = *baseline ? baseline : NULL, .figures = FIGURE_KINDS};
  return report_finish(report, error) &&
         report_write(report, &config, arena_text(suite->call->arena, "%s/page", suite->folder), error);
}

static void print_failures(const struct suite *suite) {
  for (size_t i = 0; i < suite->cells; i++) {
    const struct cell *cell = &suite->cell[i];
    if (cell->state != CELL_FAILED) continue;
    printf("failed: %s: %s\n", text_shown(suite->call->arena, cell->folder),
           text_shown(suite->call->arena, cell->failure));
    if (cell->job.log) printf("  its log: %s\n", text_shown(suite->call->arena, cell->job.log));
  }
}

/* Failures stay the command's result, and so does what is left: a script runs it until it ends well. */
static bool finish(struct suite *suite, struct error *error) {
  size_t done = count_state(suite, CELL_DONE), failed = count_state(suite, CELL_FAILED),
         left = suite->cells - done - failed;
  const char *folder = text_shown(suite->call->arena, suite->folder);
  bool any = false;
  for (size_t i = 0; i < suite->cells; i++)
    any |= suite->cell[i].state == CELL_DONE && *suite->cell[i].method;
  suite->call->status = failed || left;
  print_failures(suite);
  if (!write_table(suite, error)) return false;
  if (any && !write_page(suite, error)) return false;
  printf("%zu of %zu done, %zu failed%s\n", done, suite->cells, failed,
         left ? arena_text(suite->call->arena, ", %zu left: the same command goes on", left) : "");
  printf("written: %s/benchmark.csv%s\n", folder, any ? ", page/report.html and its tables" : "");
  return true;
}

/* ---- the command ----------------------------------------------------------------------------------------
 */

static bool run_benchmark(struct call *call, struct error *error) {
  struct suite *suite = ARENA_NEW(call->arena, struct suite, 1);
  uint32_t seconds = 0;
  int held;
  *suite = (struct suite){.call = call, .folder = call->options.train.output};
  suite->cell = ARENA_NEW(call->arena, struct cell, CELLS_MOST);
  if (!*suite->folder) return fail_usage(error, "train.output is empty; give --output DIR");
  if (!call_number(call, "seconds", 1, 100000000, &seconds, error) || !read_suite(suite, error) ||
      !check_cells(suite, error) || !read_slots(suite, error) || !folder_make(suite->folder, error) ||
      !folder_hold(suite->folder, &held, error))
    return false;
  suite->end = seconds ? clock_seconds() + seconds : 0;
  bool good = find_done(suite, error);
  if (good) run_queue(suite);
  good = good && finish(suite, error);
  if (held >= 0) close(held);
  return good;
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    {"output", "DIR", "train.output", "folder for trainings, results, benchmark.csv and page/report.html"},
    {"seconds", "N", NULL, "stops after so long; the same command goes on"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_benchmark = {
    .name = "benchmark",
    .operands = "SUITE",
    .doc = "trains and evaluates samplers by reconstructors by settings by seeds, and makes one page",
    .more = "SUITE is a scene with a section benchmark: settings are scenes, a method is a sampler, or the "
            "end of a scene's name: "
            "l2s_fast is SETTING_l2s_fast. Its other keys are set in all of them. benchmark.jobs processes "
            "run at a time on each of "
            "benchmark.devices, each with a log of its own (train.log, evaluate.log). One that fails leaves "
            "the others, and is told "
            "at the end; the exit status is then 1, and so it is where --seconds has left some.\n"
            "DIR has a folder SETTING/METHOD/seed_N for each, benchmark.csv with seconds and failures, and "
            "page/report.html.",
    .takes_scene = true,
    .operands_least = 0,
    .operands_most = 0,
    .flags = flags,
    .run = run_benchmark,
};
