/* The public functions that train and evaluate (systems/public/l2sr.h): what the tool's commands do, without
 * files and words for people. */
#include "engine/device/fft.h"
#include "systems/methods/evaluate.h"
#include "systems/methods/methods.h"
#include "systems/public/call.h"
#include "systems/public/env.h"
#include "systems/sampling/geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opens the device and clFFT for the work, which has one more argument. */
struct job {
  struct l2sr_config config;
  struct options options;
  struct arena *arena;
  bool (*work)(struct job *job, struct device *device, struct error *error);
  void *own;
  struct program_calls calls;
};

static bool on_device(struct job *job, struct error *error) {
  struct device device;
  if (!callbacks_device(&job->config, &job->calls, &device, error)) return false;
  bool good = fft_library_open(error);
  if (good) {
    good = job->work(job, &device, error);
    fft_library_close();
  }
  device_close(&device);
  return good;
}

static bool run_job(struct job *job, const struct l2sr_config *config, struct error *error) {
  job->arena = arena_open();
  bool good = config_read(&job->config, config, error) &&
              config_options(&job->config, &job->options, job->arena, error) && on_device(job, error);
  arena_close(job->arena);
  return good;
}

/* ---- training ------------------------------------------------------------------------------------------ */

struct train {
  const struct l2sr_config *config;
  const char *output;
  int resume;
  l2sr_record *record;
  void *context;
  bool stops;
};

/* Hands the line over that `print` writes. */
static void tell(struct train *train, void (*print)(FILE *file, const void *what, const void *more),
                 const void *what, const void *more) {
  char *line = NULL;
  size_t bytes = 0;
  FILE *text = train->record && !train->stops ? open_memstream(&line, &bytes) : NULL;
  if (!text) return;
  print(text, what, more);
  fclose(text);
  if (bytes && line[bytes - 1] == '\n') line[bytes - 1] = 0;
  if (line && train->record(line, train->context)) train->stops = true;
  free(line);
}

static void print_record(FILE *file, const void *training, const void *record) {
  trainer_print(training, record, file);
}

static void print_stage(FILE *file, const void *stage, const void *none) {
  (void)none;
  method_print_stage(stage, file);
}

static void print_best(FILE *file, const void *best, const void *none) {
  (void)none;
  method_print_best(best, file);
}

static void see(const struct training *training, const struct log_record *record, void *context) {
  tell(context, print_record, training, record);
}

static void see_stage(const struct stage *stage, void *context) {
  tell(context, print_stage, stage, NULL);
}

static void see_best(const struct best_round *best, void *context) {
  tell(context, print_best, best, NULL);
}

static bool is_stopped(void *context) {
  struct train *train = context;
  if (!train->stops && train->record) train->stops = train->record(NULL, train->context);
  return train->stops;
}

static bool train_on(struct job *job, struct device *device, struct error *error) {
  struct train *train = job->own;
  struct options *options = &job->options;
  struct method_config config = {.resume = train->resume,
                                 .see = see,
                                 .see_stage = see_stage,
                                 .see_best = see_best,
                                 .stop = is_stopped,
                                 .context = train,
                                 .kernel_folder = ""};
  if (train->output &&
      !option_set(&option_table, options, job->arena, "train.output", train->output, "output", error))
    return false;
  if (job->config.slices)
    return fail_usage(
        error, "training reads the splits train and val of a folder; give data in place of slices in memory");
  if (!*options->train.output)
    return fail_usage(error, "there is no folder for the training; give output, or train.output");
  return method_train(device, options, &config, error);
}

static bool do_train(void *none, void *arguments, struct error *error) {
  struct train *train = arguments;
  struct job job = {.work = train_on, .own = train};
  (void)none;
  return run_job(&job, train->config, error);
}

enum l2sr_code l2sr_train(const struct l2sr_config *config, const char *output, int resume,
                          l2sr_record *record, void *context) {
  struct train train = {
      .config = config, .output = output, .resume = resume, .record = record, .context = context};
  return call_plain(do_train, &train);
}

/* ---- evaluating ---------------------------------------------------------------------------------------- */

/* What struct l2sr_run points to of one run. */
struct run_scores {
  double mean[METRICS], deviation[METRICS];
  const float *scores[METRICS];
};

/* What a handle of HANDLE_TABLE stands for. It lies in the evaluation's arena. */
struct evaluated {
  struct evaluation evaluation;
  struct run_scores *scores; /* one for each run */
};

struct evaluate {
  const struct l2sr_config *config;
  l2sr_table **table;
  struct evaluation *evaluation;
};

static bool evaluate_on(struct job *job, struct device *device, struct error *error) {
  struct evaluate *evaluate = job->own;
  struct slices_in_memory slices;
  if (job->config.slices && !config_slices(&job->config, &slices, error)) return false;
  struct evaluate_config config = {.images = job->options.evaluate.images,
                                   .kernel_folder = "",
                                   .slices = job->config.slices ? &slices : NULL,
                                   .stop = job->config.stop,
                                   .context = job->config.stop_context};
  return evaluate_open(evaluate->evaluation, device, &job->options, &config, error);
}

static void fill_scores(const struct evaluate_run *run, struct run_scores *scores) {
  for (size_t m = 0; m < METRICS; m++) {
    scores->scores[m] = run->metric[m];
    scores->mean[m] = scores->deviation[m] = NAN;
    if (run->metric[m])
      evaluate_mean(run, m, acquisition_steps(&run->acquisition), &scores->mean[m], &scores->deviation[m]);
  }
}

static struct evaluated *keep_evaluation(const struct evaluation *evaluation) {
  struct evaluated *table = ARENA_NEW(evaluation->arena, struct evaluated, 1);
  *table =
      (struct evaluated){*evaluation, ARENA_NEW(evaluation->arena, struct run_scores, evaluation->run_count)};
  for (size_t r = 0; r < evaluation->run_count; r++) fill_scores(&evaluation->runs[r], &table->scores[r]);
  return table;
}

static bool do_evaluate(void *none, void *arguments, struct error *error) {
  struct evaluate *evaluate = arguments;
  struct evaluation evaluation;
  struct job job = {.work = evaluate_on, .own = evaluate};
  (void)none;
  if (!evaluate->table) return fail_as(error, ERROR_CALL, "there is no place for the table: NULL");
  evaluate->evaluation = &evaluation;
  if (!run_job(&job, evaluate->config, error)) return false;
  *evaluate->table = handle_give(HANDLE_TABLE, keep_evaluation(&evaluation), error);
  if (!*evaluate->table) evaluate_close(&evaluation);
  return *evaluate->table;
}

enum l2sr_code l2sr_evaluate(const struct l2sr_config *config, l2sr_table **table) {
  struct evaluate evaluate = {.config = config, .table = table};
  if (table) *table = NULL;
  return call_plain(do_evaluate, &evaluate);
}

static bool close_table(void *object, void *none, struct error *error) {
  struct evaluation evaluation = ((struct evaluated *)object)->evaluation; /* its arena is what it lies in */
  (void)none, (void)error;
  evaluate_close(&evaluation);
  return true;
}

enum l2sr_code l2sr_table_close(l2sr_table *table) {
  return call_close(table, HANDLE_TABLE, close_table);
}

struct table_call {
  size_t index;
  size_t *runs, *slices, *number;
  const char **path;
  struct l2sr_run *run;
};

static bool tell_size(void *object, void *arguments, struct error *error) {
  const struct evaluation *evaluation = &((const struct evaluated *)object)->evaluation;
  const struct table_call *call = arguments;
  (void)error;
  if (call->runs) *call->runs = evaluation->run_count;
  if (call->slices) *call->slices = evaluation->slices;
  return true;
}

enum l2sr_code l2sr_table_size(l2sr_table *table, size_t *runs, size_t *slices) {
  struct table_call call = {.runs = runs, .slices = slices};
  return call_on(table, HANDLE_TABLE, tell_size, &call);
}

static struct l2sr_run values_of(const struct evaluated *table, size_t index) {
  const struct evaluation *evaluation = &table->evaluation;
  const struct evaluate_run *run = &evaluation->runs[index];
  const struct run_scores *scores = &table->scores[index];
  const struct acquisition *scan = &run->acquisition;
  return (struct l2sr_run){.sampler = run->sampler->name,
                           .geometry = geometry_of(scan)->name,
                           .horizon = scan->horizon,
                           .acceleration = scan->acceleration,
                           .initial = scan->initial_lines,
                           .budget = scan->budget,
                           .actions = scan->shape.actions,
                           .scans = run->scans,
                           .steps = acquisition_steps(scan),
                           .size = scan->shape.height == scan->shape.width ? scan->shape.width : 0,
                           .height = scan->shape.height,
                           .width = scan->shape.width,
                           .seconds = run->seconds,
                           .returns = run->returns,
                           .mask = run->mask,
                           .action = run->action,
                           .images = evaluation->kept_count ? NULL : run->images,
                           .metrics = METRICS,
                           .metric = metric_arrays,
                           .mean = scores->mean,
                           .deviation = scores->deviation,
                           .scores = scores->scores};
}

static bool tell_result(void *object, void *arguments, struct error *error) {
  const struct evaluated *table = object;
  const struct table_call *call = arguments;
  size_t runs = table->evaluation.run_count;
  struct l2sr_run values = {0};
  size_t bytes;
  if (!config_room(call->run, sizeof values, &bytes, "l2sr_run", error)) return false;
  if (call->index >= runs)
    return fail_usage(error, "there is no run %zu; the table has %zu", call->index, runs);
  values = values_of(table, call->index);
  values.bytes = call->run->bytes;
  memcpy(call->run, &values, bytes);
  return true;
}

enum l2sr_code l2sr_table_run(l2sr_table *table, size_t run, struct l2sr_run *values) {
  struct table_call call = {.index = run, .run = values};
  return call_on(table, HANDLE_TABLE, tell_result, &call);
}

static bool tell_slice(void *object, void *arguments, struct error *error) {
  const struct evaluation *evaluation = &((const struct evaluated *)object)->evaluation;
  const struct table_call *call = arguments;
  if (call->index >= evaluation->slices)
    return fail_usage(error, "there is no slice %zu; the table has %zu", call->index, evaluation->slices);
  const struct slice_name *name = &evaluation->report.names[call->index];
  if (call->path) *call->path = evaluation->dataset.volumes[name->volume].path;
  if (call->number) *call->number = name->slice;
  return true;
}

enum l2sr_code l2sr_table_slice(l2sr_table *table, size_t slice, const char **path, size_t *number) {
  struct table_call call = {.index = slice, .path = path, .number = number};
  return call_on(table, HANDLE_TABLE, tell_slice, &call);
}
