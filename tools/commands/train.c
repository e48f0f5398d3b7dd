/* Trains what train.method names on the scene's training slices and keeps the best and the last. */
#include "engine/base/log.h"
#include "engine/files/events.h"
#include "systems/methods/methods.h"
#include "tools/commands/command.h"
#include "tools/draw/curves.h"
#include "tools/ranks/devices.h"

#include <math.h>
#include <string.h>

static void print_record(const struct training *training, const struct log_record *record, void *context) {
  (void)context;
  trainer_print(training, record, stdout);
}

static void print_summary(const struct training *training) {
  const struct task *task = training->task;
  const struct history *history = &training->validations;
  const char *unit = task->epochs ? "epoch" : task->unit;
  uint64_t per = task->epochs ? training->each : 1;
  size_t best = 0;
  if (!training->best_at) return;
  while (history->at[best] != (double)training->best_at) best++;
  printf("%llu %s%s; best is %s %llu, by %s:", (unsigned long long)(training->done / per), unit,
         plural(training->done / per), unit, (unsigned long long)(training->best_at / per),
         task->validation.values[task->selected].doc);
  for (size_t v = 0; task->validation.values[v].name; v++)
    printf("%s %s %.5g", v ? "," : "", task->validation.values[v].name, history->value[v][best]);
  printf("\nwritten: %s/best.h5, last.h5, log.jsonl, " EVENTS_NAME ", curves.png\n", training->run.folder);
}

/* What is printed, and whether its words have been explained. */
struct telling {
  const struct options *options;
  bool json, explained;
};

/* A stage of several is told by its line alone. */
static bool end_stage(struct training *training, const struct stage *stage, void *context, struct error *error) {
  const struct telling *telling = context;
  if (!curves_draw(training, error)) return false;
  if (!*stage->name && !telling->json) print_summary(training);
  return true;
}

/* Of a stage whose score is none of the scene's metrics nor of a reconstructor. */
static void explain_own(const struct task *task) {
  if (!task->scores && !task->reconstructs) printf("validation of %s: %s\n", task->name, task->validation.values[task->score].doc);
}

static void explain(struct telling *telling) {
  const struct metric *metric = &metric_list[telling->options->reward.metric];
  if (!telling->explained)
    printf("validation: mean %s of the slices in val at the end of a stage%s; best: of its best.h5\n", metric->title,
           strcmp(metric->name, "ssim") ? " (of the first reconstructor: SSIM)" : "");
  telling->explained = true;
}

static void print_stage(const struct stage *stage, void *context) {
  struct telling *telling = context;
  if (telling->json) {
    method_print_stage(stage, stdout);
  } else {
    explain(telling);
    explain_own(stage->task);
    printf(isnan(stage->best) ? "%-18s validation %.5f\n" : "%-18s validation %.5f, best %.5f\n", stage->name,
           stage->score, stage->best);
  }
  fflush(stdout);
}

static void print_best(const struct best_round *best, void *context) {
  const struct telling *telling = context;
  if (telling->json)
    method_print_best(best, stdout);
  else
    printf("best is round %u of %u: %s_%u/last.h5 with reconstructor_%u/best.h5, validation %.5f\n",
           best->round, best->rounds, best->decides, best->round, best->round, best->score);
}

/* Of which the first tells. */
static void tell_waiting(const struct ranks *ranks, double seconds) {
  log_info("rank 0 of %u waited for others %.1f s of %.1f s (%.0f %%), in sums, validation and files", ranks->count,
           ranks->waited, seconds, 100 * ranks->waited / seconds);
}

static bool train(struct call *call, struct device *device, struct error *error) {
  bool first = !ranks_number(device->ranks);
  struct telling telling = {&call->options, call_flag(call, "json"), false};
  struct method_config config = {.resume = call_flag(call, "resume"),
                                 .see = telling.json && first ? print_record : NULL,
                                 .see_stage = print_stage,
                                 .see_best = print_best,
                                 .end = end_stage,
                                 .context = &telling,
                                 .kernel_folder = call_flag(call, "kernels")};
  double start = clock_work();
  if (!method_train(device, &call->options, &config, error)) return false;
  if (device->ranks) tell_waiting(device->ranks, clock_work() - start);
  return true;
}

static bool holds_training(struct call *call, const char *folder) {
  return file_is_there(arena_text(call->arena, "%s/last.h5", folder)) ||
         file_is_there(arena_text(call->arena, "%s/stages.jsonl", folder));
}

/* Scripts of a cluster give --resume from the first start on, so it is no error; a mistyped folder would look
 * the same. */
static void say_new(struct call *call) {
  const char *folder = call->options.train.output;
  if (!call_flag(call, "resume") || holds_training(call, folder)) return;
  log_warning("%s holds no training to resume: a new one starts there", folder);
}

static bool run_train(struct call *call, struct error *error) {
  if (!*call->options.train.output)
    return fail_usage(error, "train.output is empty; give --output DIR or set it in the scene");
  struct ranks known;
  if (!devices_join(call, &known, error)) return false;
  say_new(call);
  return devices_leave(call, call_on_device(call, train, error), error);
}

static const struct flag flags[] = {
    {"data", "DIR", "data.path", NULL},
    FLAG_TRACE,
    {"output", "DIR", "train.output", NULL},
    {"resume", NULL, NULL,
     "goes on with the training in DIR, as if it had never stopped; where there is none it warns and starts "
     "one, so that a script may always give it"},
    {"epochs", "N", "train.epochs", NULL},
    {"devices", "LIST", NULL,
     "trains on several devices of this host at once, by a rank of MPI for each: all, or places in the list of `l2sr info`, "
     "as 0,1"},
    {"seed", "N", "world.seed", NULL},
    {"method", "NAME", "train.method", NULL},
    {"json", NULL, NULL, "prints one JSON object for every epoch, log line of a policy, and stage"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_train = {
    .name = "train",
    .operands = "SCENE",
    .doc = "trains a reconstructor, a policy (L2S, PG-MRI), both in turn (L2SR), a mask for a "
           "reconstructor (LBCS), or a mask (LOUPE) or a sampler of several steps (tau-step) with its own",
    .more = "It trains on the split train of data.path and validates on val. DIR gets last.h5 and "
            "best.h5, log.jsonl, an event file for TensorBoard and, at the end, curves.png.\n"
            "The methods l2s, l2sr, pgmri and lbcs have several stages, with such a folder for each: "
            "reconstructor, policy_1, reconstructor_1, ... evaluate and render take a reconstructor's "
            "best.h5 as --reconstructor and a policy's last.h5 as --policy. After the reconstructor "
            "lbcs has mask_1: evaluate with --set sampler.mask=DIR/mask_1/last.h5.\n"
            "With loupe best.h5 holds the learned mask too: evaluate with --set sampler.mask=DIR/best.h5. "
            "With tau_step it holds the sampler too: evaluate with --set sampler.tau_step=DIR/best.h5. "
            "With straight_through it holds the policy: evaluate with --samplers straight_through and --set sampler.mask=DIR/best.h5. "
            "With evaluator its network scores lines: evaluate with --policy DIR/best.h5. "
            "classifier has classifier_1: reward and score by it with --set reward.classifier=DIR/classifier_1/best.h5. "
            "suno has masks_1, masks_2, ...: evaluate with --samplers suno and --set sampler.mask=DIR/masks_1/last.h5.",
    .takes_scene = true,
    .flags = flags,
    .run = run_train,
};
