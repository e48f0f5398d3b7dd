/* Images per second of a training by back-propagation: the observation, the network forward, the loss,
 * backward and a step of the optimiser. Where the scene's method learns its masks too, beside the training of
 * the reconstructor alone, which is what the network costs, in the same call. */
#include "tools/bench/bench.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "systems/methods/fit.h"
#include "systems/methods/method.h"

#include <math.h>

struct work {
  struct training training;
  size_t batch;
  double seconds, waited; /* of an update; the share in which it waits for other ranks */
  double share;           /* seconds of a rank's share of it, alone; 0: this is alone */
  double passes;          /* seconds of the networks' passes alone; 0: what learns beside is no such network */
};

static void update(void *context) {
  struct work *work = context;
  fitting_of(&work->training)->pending = 0; /* nobody reads the losses */
  fit_step(&work->training, 0, work->batch);
}

/* Every sample has a loss that a number of SSIM or a mean over pixels can be. */
static bool check(struct work *work, struct error *error) {
  struct training *training = &work->training;
  const struct fitting *fitting = fitting_of(training);
  size_t parts = work->batch * fitting->loss.tiles;
  update(work);
  device_read(training->device, fitting->parts, 0, sizeof(float) * parts, fitting->part);
  if (!device_finish(training->device, error)) return false;
  for (size_t i = 0; i < parts; i++)
    if (!isfinite(fitting->part[i])) return fail(error, "part %zu of the loss is %g", i, (double)fitting->part[i]);
  return true;
}

static bool open_work(struct work *work, struct call *call, struct device *device, const struct options *options,
                      const struct task *task, struct error *error) {
  uint32_t slices = 1024;
  if (!call_number(call, "slices", 1, 1000000, &slices, error)) return false;
  work->batch = options->train.batch < slices ? options->train.batch : slices;
  struct training_config config = {.task = task,
                                   .kernel_folder = call_flag(call, "kernels"),
                               .fill = *options->data.path ? NULL : bench_slices,
                               .slices = slices};
  if (!training_open(&work->training, device, options, &config, error)) return false;
  struct minibatches *batches = &fitting_of(&work->training)->train;
  if (work->batch > batches->slices) work->batch = batches->slices;
  if (minibatch_epoch(batches, 0, error)) return true;
  training_close(&work->training);
  return false;
}

static bool time_work(struct work *work, struct error *error) {
  return check(work, error) &&
         bench_passes_waited(work->training.device, update, work, &work->seconds, &work->waited, error);
}

/* The networks forward and back, once each, in the same parts; what learns masks in every step of straight_through.steps. */
static void pass_networks(void *context) {
  struct work *work = context;
  struct reconstructor *reconstructor = &work->training.reconstructor;
  struct path *path = fitting_of(&work->training)->sampler.path;
  struct pass pass;
  for (size_t turn = 0; pass_take(&pass, turn, work->batch, reconstructor->batch); turn++) {
    reconstructor_forward(reconstructor, pass.images);
    graph_set_shards(reconstructor->graph, 0, pass.images);
    reconstructor_backward(reconstructor, pass.images, pass.images);
    for (uint32_t step = 0; step < work->training.options->straight_through.steps; step++) {
      path_forward(path, pass.images);
      graph_set_shards(path->graph, 0, pass.images);
      path_backward(path, pass.images, 1, false);
    }
  }
}

static bool time_passes(struct work *work, struct error *error) {
  return !fitting_of(&work->training)->sampler.path ||
         bench_passes(work->training.device, pass_networks, work, &work->passes, error);
}

/* An update of the scene's batch. */
struct one_rank {
  struct call *call;
  struct device *device;
  const struct task *task;
};

static bool time_rank(void *context, double *seconds, struct error *error) {
  const struct one_rank *one = context;
  struct work work = {0};
  if (!open_work(&work, one->call, one->device, &one->call->options, one->task, error)) return false;
  bool good = time_work(&work, error);
  *seconds = work.seconds;
  training_close(&work.training);
  return good;
}

/* Times the same scene with masks from heuristics. */
static bool time_alone(struct call *call, struct device *device, double *seconds, struct error *error) {
  return time_rank(&(struct one_rank){call, device, &task_reconstructor}, seconds, error);
}

static bool print_json(struct work *work, const char *method, double alone, bool profile, struct error *error) {
  const struct training *training = &work->training;
  const struct options *options = training->options;
  const struct scan_shape shape = scan_shape_of(options);
  char size[SCAN_SHAPE_TEXT];
  bool good = true;
  printf("{\"bench\":\"train\",\"device\":");
  json_text(stdout, training->device->facts.name);
  printf(",\"method\":\"%s\",\"size\":%s,\"batch\":%zu,\"pass\":%zu,\"precision\":\"%s\",\"fused\":%s,"
         "\"images_per_second\":%.6g,\"milliseconds\":%.6g",
         method, scan_shape_text(&shape, size), work->batch, training->reconstructor.batch,
         block_precision_name((enum block_precision)options->network.precision),
         reconstructor_fused(&training->reconstructor) ? "true" : "false", (double)work->batch / work->seconds,
         1e3 * work->seconds);
  bench_print_ranks(training->device, training->optimiser.graph, work->share, work->seconds, work->waited, true);
  if (alone > 0) printf(",\"alone_milliseconds\":%.6g,\"ratio\":%.4g", 1e3 * alone, work->seconds / alone);
  if (work->passes > 0)
    printf(",\"passes_milliseconds\":%.6g,\"passes_ratio\":%.4g", 1e3 * work->passes, work->seconds / work->passes);
  if (profile) printf(",\"profile\":");
  if (profile) good = bench_profile(training->device, update, work, true, error);
  printf("}\n");
  return good;
}

static bool print_text(struct work *work, const char *method, double alone, bool profile, struct error *error) {
  const struct training *training = &work->training;
  const struct options *options = training->options;
  const struct scan_shape shape = scan_shape_of(options);
  printf("train: %s, %ux%u, batch %zu, %zu a pass, %s, %s path, on %s\n", method, shape.height,
         shape.width, work->batch, training->reconstructor.batch,
         block_precision_name((enum block_precision)options->network.precision),
         reconstructor_fused(&training->reconstructor) ? "fused" : "portable", training->device->facts.name);
  printf("  %s images/s, %s ms an update", text_number((double)work->batch / work->seconds, 5).text,
         text_number(1e3 * work->seconds, 4).text);
  if (alone > 0)
    printf(": %.3f times the %s ms of the reconstructor alone", work->seconds / alone,
           text_number(1e3 * alone, 4).text);
  if (work->passes > 0)
    printf(", %.3f times the %s ms of its networks' passes alone", work->seconds / work->passes,
           text_number(1e3 * work->passes, 4).text);
  printf("\n");
  bench_print_ranks(training->device, training->optimiser.graph, work->share, work->seconds, work->waited, false);
  return !profile || bench_profile(training->device, update, work, false, error);
}

bool bench_train(struct call *call, struct device *device, struct error *error) {
  const struct options *options = &call->options;
  const struct method *method = method_of(options);
  struct work work = {0};
  struct options all = *options; /* of every rank, which has the scene's batch */
  struct one_rank one = {call, device, method->stages[0]};
  double alone = 0, share; /* the scene's method is the reconstructor's */
  all.train.batch *= ranks_count(device->ranks);
  if (method->stages[1])
    return fail_usage(error,
                      "train.method is %s; bench train measures those of one stage (`l2sr describe methods`), "
                      "bench learn and bench pgmri measure policies",
                      method->name);
  if (method->stages[0]->step != training_step)
    return fail_usage(error,
                      "train.method is %s, whose updates are its own; bench train measures those that fit a reconstructor "
                      "by back-propagation, as loupe, tau_step and reconstructor do",
                      method->name);
  if ((method->stages[0] != &task_reconstructor && !time_alone(call, device, &alone, error)) ||
      !bench_alone(device, time_rank, &one, &share, error) ||
      !open_work(&work, call, device, &all, method->stages[0], error))
    return false;
  work.share = share;
  bool good = time_work(&work, error) && time_passes(&work, error) &&
              (call_flag(call, "json") ? print_json : print_text)(&work, method->name, alone,
                                                                  call_flag(call, "profile"), error);
  training_close(&work.training);
  return good;
}
