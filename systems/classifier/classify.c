#include "systems/classifier/classify.h"

#include "systems/networks/policy.h"

#include <math.h>

/* ---- opening -------------------------------------------------------------------------------------------- */

bool classify_wanted(const struct simulation *simulation) {
  component_set columns = simulation->scan.touched | simulation->candidates.list.touched | simulation->plan.columns;
  return columns & SET(ENV_log_likelihood);
}

static const char *wanted_by(const struct options *options) {
  return options->reward.metric == METRIC_LOG_LIKELIHOOD ? "reward.metric is log_likelihood"
                                                         : "evaluate.metrics names what follows from log_likelihood";
}

bool classify_check(const struct simulation *simulation, struct error *error) {
  const struct options *options = simulation->options;
  bool trains = simulation->plan.classes;
  if (!classify_wanted(simulation)) return true;
  if (!*options->data.label)
    return fail_usage(error,
                      "%s, which needs labels of slices, and data.label is empty; set it to a column of the CSV file that "
                      "data.labels names, or to an attribute or a dataset of the volumes",
                      trains ? "train.method is classifier" : wanted_by(options));
  return trains || *options->reward.classifier ||
         fail_usage(error, "%s, and reward.classifier is empty; set it to a checkpoint of train.method classifier",
                    wanted_by(options));
}

static struct policy_setup setup_of(const struct simulation *simulation) {
  bool oracle = simulation->plan.deciders & DECIDES_ORACLE;
  struct policy_setup setup = policy_setup_of(simulation->device, simulation->kernels, simulation->options,
                                              oracle ? SIZE_MAX : simulation->plan.envs);
  setup.classifier = setup.dense = true;
  setup.precision = BLOCK_F32;
  return setup;
}

bool classify_open(struct simulation *simulation, struct error *error) {
  const struct policy_setup setup = setup_of(simulation);
  if (!classify_wanted(simulation) || simulation->plan.classes) return true;
  simulation->classifier_arena = arena_open();
  struct policy *classifier = ARENA_NEW(simulation->classifier_arena, struct policy, 1);
  if (!policy_load(classifier, simulation->options->reward.classifier, &setup, error))
    return fail_in(error, "reward.classifier");
  simulation->classifier = classifier;
  return true;
}

void classify_close(struct simulation *simulation) {
  if (simulation->classifier_arena) {
    if (simulation->classifier) policy_close(simulation->classifier);
    arena_close(simulation->classifier_arena);
  }
  simulation->classifier = NULL;
  simulation->classifier_arena = NULL;
}

bool classify_label(const struct simulation *simulation, float label, const char *path, size_t slice, struct error *error) {
  uint32_t classes = simulation->classifier ? simulation->classifier->setup.shape.actions : simulation->plan.classes;
  if (!classes || (label >= 0 && label < (float)classes && label == floorf(label))) return true;
  return fail_file(error, "slice %zu of %s has the label %.9g (data.label %s), and the classifier has %u classes; labels must be "
                          "whole numbers from 0 to %u",
                   slice, path, (double)label, simulation->options->data.label, classes, classes - 1);
}

/* ---- running -------------------------------------------------------------------------------------------- */

static void run_score(struct world *world, void *context) {
  const struct simulation *simulation = context;
  struct policy *classifier = simulation->classifier;
  struct pass pass;
  for (size_t turn = 0; pass_take(&pass, turn, world_rows(world, TABLE_ENV), classifier->batch); turn++) {
    kernel_run(world_kernels(world), "class_image", pass.images,
               ARGS(world_in(world, ENV_reconstruction), graph_arg(ARG_OUT, classifier->input), arg_u32((uint32_t)pass.first)));
    path_forward(&classifier->network.path, pass.images);
    kernel_run(world_kernels(world), "class_score", pass.images,
               ARGS(world_in(world, ENV_slice), world_in(world, SLICE_label), graph_arg(ARG_IN, classifier->logits),
                    graph_arg(ARG_INOUT, world_out(world, ENV_log_likelihood).as.m),
                    arg_u32(classifier->setup.shape.actions), arg_u32((uint32_t)pass.first)));
  }
}

const struct system system_score_classes = {
    .name = "score_classes",
    .doc = "the log-likelihood of the slice's label by a classifier",
    .reads = SET(ENV_slice) | SET(ENV_reconstruction) | SET(SLICE_label),
    .writes = SET(ENV_log_likelihood),
    .kernels = {"class_image", "class_score"},
    .run = run_score};
