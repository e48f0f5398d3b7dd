/* LBCS against brute force: in every step each candidate's mask is observed, reconstructed and scored the slow way, on the
 * slices and among the candidates that the seed says; what is stored; going on; what is refused. */
#include "kernels/kernels.h"
#include "systems/methods/method.h"
#include "systems/training/split.h"
#include "systems/sampling/geometry.h"
#include "tests/training.h"

#include <hdf5.h>
#include <math.h>
#include <string.h>

enum { BUDGET = 4, ACTIONS_MOST = N * N };

/* What a mask's training told, and its file holds. */
struct grown {
  size_t logged, first; /* steps told, and the number of the first one */
  double score[BUDGET], action[BUDGET];
  const char *cut; /* a folder that gets the files as they are in the midst of step 3; NULL: none */
  const char *folder;
};

static void copy_file(const struct grown *grown, const char *name) {
  struct arena *arena = arena_open();
  size_t bytes;
  const char *from = arena_text(arena, "%s/%s", grown->folder, name);
  const unsigned char *data = support_read(arena, from, &bytes);
  support_write(arena_text(arena, "%s/%s", grown->cut, name), data, bytes);
  arena_close(arena);
}

static void see(const struct training *trainer, const struct log_record *record, void *context) {
  struct grown *grown = context;
  struct error error;
  if (strcmp(record->kind, "look")) return;
  if (!grown->logged++) grown->first = trainer->done;
  grown->score[trainer->done - 1] = trainer->logged.value[0][trainer->logged.count - 1];
  grown->action[trainer->done - 1] = trainer->logged.value[1][trainer->logged.count - 1];
  if (!grown->cut || trainer->done != 3) return;
  assert_good(folder_make(grown->cut, &error), &error);
  copy_file(grown, "last.h5");
  copy_file(grown, "log.jsonl");
}

static void set_scene(struct run *run, uint32_t geometry) {
  set_training(run, METHOD_LBCS, NULL);
  run->options.acquisition.geometry = geometry;
  run->options.acquisition.budget = BUDGET;
  if (geometry == GEOMETRY_POINTS)
    run->options.acquisition.initial_side = 4;
  else
    run->options.acquisition.initial_lines = 3;
  if (geometry == GEOMETRY_POINTS) run->options.lbcs.candidates = 6;
}

static const char *reconstructor(void) {
  const char *path = support_path(&folder, "dense/last.h5");
  struct run run;
  if (file_is_there(path)) return path;
  set_training(&run, METHOD_RECONSTRUCTOR, "dense");
  run.options.train.epochs = 1;
  open_run(&run, false);
  run_epochs(&run);
  close_run(&run);
  return path;
}

static bool try_grow(struct run *run, struct grown *grown, const char *output, bool resume, struct error *error) {
  struct training_config config = {.task = method_of(&run->options)->stages[1],
                                  .folder = support_path(&folder, output),
                                  .resume = resume,
                                  .reconstructor = reconstructor(),
                                  .see = see,
                                  .context = grown,
                                  .kernel_folder = ""};
  grown->folder = config.folder;
  return training_stage(&device, &run->options, &config, error);
}

static struct grown grow(struct run *run, const char *output, bool resume) {
  struct grown grown = {0};
  struct error error;
  assert_good(try_grow(run, &grown, output, resume, &error), &error);
  return grown;
}

/* ---- brute force --------------------------------------------------------------------------------------- */

struct brute {
  struct run *run;
  struct split split;
  struct reconstructor reconstructor;
  struct acquisition acquisition;
  uint8_t mask[ACTIONS_MOST];
};

static struct simulation_plan plan_brute(const struct split *split, size_t slices) {
  return (struct simulation_plan){.slices = slices,
                                  .envs = slices,
                                  .metrics = metric_list[split->options.reward.metric].name,
                                  .network = true};
}

static void open_brute(struct brute *brute, struct run *run) {
  struct training_config config = {.kernel_folder = ""};
  struct error error;
  size_t slices;
  *brute = (struct brute){.run = run, .split = {.options = run->options}};
  brute->split.options.data.split = SPLIT_TRAIN;
  assert_good(acquisition_only(&brute->acquisition, &run->options, run->arena, &error) &&
                  split_find(&brute->split, &config, &slices, &error) &&
                  split_load(&brute->split, &device, plan_brute(&brute->split, slices), &config, run->arena, &error),
              &error);
  struct reconstructor_setup setup = {
      .device = &device, .kernels = brute->split.simulation.kernels, .shape = {N, N, N}, .batch = 16};
  assert_good(reconstructor_load(&brute->reconstructor, reconstructor(), &setup, &error), &error);
  brute->split.simulation.reconstructor = &brute->reconstructor;
  world_set_rows(brute->split.simulation.world, TABLE_ENV, SLICES);
  acquisition_initial(&brute->acquisition, brute->mask);
}

static void close_brute(struct brute *brute) {
  reconstructor_close(&brute->reconstructor);
  split_close(&brute->split);
}

/* Mean quality over `count` of the slices with one action more. */
static double score(struct brute *brute, uint32_t action, const uint32_t *slices, size_t count) {
  struct world *world = brute->split.simulation.world;
  size_t actions = brute->acquisition.shape.actions;
  float quality[SLICES];
  uint32_t all[SLICES];
  double sum = 0;
  uint8_t before = brute->mask[action];
  brute->mask[action] = 1;
  for (uint32_t s = 0; s < SLICES; s++) {
    all[s] = s;
    support_put(world, ENV_mask, s, 1, brute->mask);
  }
  brute->mask[action] = before;
  support_put(world, ENV_slice, 0, SLICES, all);
  schedule_run(&brute->split.simulation.finish, world);
  support_get(world, ENV_quality, 0, SLICES, quality);
  for (size_t i = 0; i < count; i++) sum += (double)quality[slices[i]] / (double)count;
  assert_true(actions <= ACTIONS_MOST);
  return sum;
}

/* Slices of a step: all in their order, or the first of a shuffled order. */
static size_t slices_of(const struct options *options, uint32_t step, uint32_t slices[SLICES]) {
  struct random random;
  for (uint32_t s = 0; s < SLICES; s++) slices[s] = s;
  if (!options->lbcs.slices) return SLICES;
  random_start(&random, options->world.seed, STREAM_ORDER, step);
  random_order(&random, slices, SLICES);
  return options->lbcs.slices;
}

/* Knuth's selection sampling, keyed by seed and step. */
static size_t candidates_of(const struct brute *brute, uint32_t step, uint32_t *candidates) {
  const struct options *options = &brute->run->options;
  uint32_t actions = brute->acquisition.shape.actions, left = 0, found = 0, wanted = options->lbcs.candidates;
  for (uint32_t i = 0; i < actions; i++) left += !brute->mask[i];
  if (!wanted || wanted > left) wanted = left;
  for (uint32_t i = 0; i < actions; i++) {
    if (brute->mask[i]) continue;
    uint32_t word = random_words(options->world.seed, STREAM_ACTION, 0, step + actions * (1 + i)).word[0];
    if ((uint64_t)word * left >> 32 < wanted - found) candidates[found++] = i;
    left--;
  }
  assert_int_equal(found, wanted);
  return found;
}

/* The action is as good as the best candidate, up to rounding, and its score is what was told. */
static void check_step(struct brute *brute, uint32_t step, uint32_t taken, double told) {
  static uint32_t candidates[ACTIONS_MOST];
  uint32_t slices[SLICES];
  size_t count = slices_of(&brute->run->options, step, slices), tried = candidates_of(brute, step, candidates);
  double best = -INFINITY, own = NAN;
  for (size_t c = 0; c < tried; c++) {
    double quality = score(brute, candidates[c], slices, count);
    if (quality > best) best = quality;
    if (candidates[c] == taken) own = quality;
  }
  if (!(own >= best - 1e-5 * fabs(best)))
    fail_msg("step %u: action %u with %.9g is taken, the best has %.9g", step, taken, own, best);
  if (!(fabs(own - told) <= 1e-5 * fabs(own))) fail_msg("step %u: %.9g is told, it is %.9g", step, told, own);
  brute->mask[taken] = 1;
}

static void *read_stored(struct run *run, const char *file, const char *name, enum store_type type, size_t count) {
  struct store *store;
  struct error error;
  void *data;
  size_t found;
  assert_good(store_open(&store, support_path(&folder, file), &error), &error);
  assert_good(store_read_all(store, name, type, 1 << 20, run->arena, &data, &found, &error), &error);
  store_close(store);
  assert_int_equal(found, count);
  return data;
}

/* Mask and order in the file are those told, and sampler fixed_mask takes the mask. */
static void check_file(struct run *run, const struct brute *brute, const struct grown *grown, const char *output) {
  size_t actions = brute->acquisition.shape.actions;
  const char *file = arena_text(run->arena, "%s/last.h5", output);
  const double *mask = read_stored(run, file, "mask", STORE_F64, actions);
  const double *order = read_stored(run, file, "order", STORE_F64, BUDGET);
  uint32_t *table = ARENA_NEW(run->arena, uint32_t, actions);
  struct error error;
  run->options.sampler.mask = support_path(&folder, file);
  assert_good(sampler_fill(sampler_find("fixed_mask", &error), &run->options, &brute->acquisition, table, &error),
              &error);
  for (size_t i = 0; i < actions; i++) {
    assert_int_equal((int)mask[i], brute->mask[i]);
    assert_int_equal(table[i] != NO_LINE, brute->mask[i]);
  }
  for (size_t t = 0; t < BUDGET; t++) assert_true(order[t] == grown->action[t]);
}

static void check(struct run *run, const char *output) {
  struct brute brute;
  struct grown grown = grow(run, output, false);
  assert_int_equal(grown.logged, BUDGET);
  open_brute(&brute, run);
  for (uint32_t t = 0; t < BUDGET; t++) check_step(&brute, t, (uint32_t)grown.action[t], grown.score[t]);
  check_file(run, &brute, &grown, output);
  close_brute(&brute);
  arena_close(run->arena);
}

static void takes_the_best_of_all(void **state) {
  (void)state;
  for (uint32_t geometry = GEOMETRY_LINES; geometry <= GEOMETRY_SPOKES; geometry++) {
    struct run run;
    set_scene(&run, geometry);
    check(&run, arena_text(run.arena, "all_%u", geometry));
  }
}

/* Squared errors count negative. */
static void takes_the_best_of_some(void **state) {
  (void)state;
  for (uint32_t geometry = GEOMETRY_LINES; geometry <= GEOMETRY_POINTS; geometry++) {
    struct run run;
    set_scene(&run, geometry);
    run.options.lbcs.candidates = 6;
    run.options.lbcs.slices = 5;
    run.options.reward.metric = geometry == GEOMETRY_LINES ? 4 : 0;
    check(&run, arena_text(run.arena, "some_%u", geometry));
  }
}

/* Three central lines mirror themselves, and so do those that images are the same with: the lower one is
 * taken. */
static void takes_the_lower_of_mirrored_lines(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 8; seed++) {
    struct run run;
    set_scene(&run, GEOMETRY_LINES);
    run.options.world.seed = seed;
    run.options.acquisition.budget = 1;
    run.options.lbcs.slices = 2;
    struct grown grown = grow(&run, arena_text(run.arena, "mirrored_%u", seed), false);
    if (grown.action[0] >= N / 2.0)
      fail_msg("seed %u: line %g is taken, and %g is as good", seed, grown.action[0], N - grown.action[0]);
    arena_close(run.arena);
  }
}

/* Results do not depend on how many images a pass takes, nor on slices that wait in host memory. */
static void runs_do_not_matter(void **state) {
  static const struct {
    uint32_t batch, envs, window;
  } ways[] = {{256, 256, 0}, {7, 2, 5}};
  struct grown grown[2];
  (void)state;
  for (int k = 0; k < 2; k++) {
    struct run run;
    set_scene(&run, GEOMETRY_LINES);
    run.options.lbcs.slices = 5;
    run.options.network.batch = ways[k].batch;
    run.options.world.envs = ways[k].envs;
    run.options.data.window = ways[k].window;
    grown[k] = grow(&run, k ? "few" : "many", false);
    arena_close(run.arena);
  }
  assert_memory_equal(grown[0].action, grown[1].action, sizeof grown[0].action);
  for (int t = 0; t < BUDGET; t++) assert_true(fabs(grown[0].score[t] - grown[1].score[t]) < 1e-6);
}

/* ---- going on ------------------------------------------------------------------------------------------ */

static void assert_same(struct run *run, const char *name, size_t count) {
  assert_memory_equal(read_stored(run, "whole/last.h5", name, STORE_F64, count),
                      read_stored(run, "cut/last.h5", name, STORE_F64, count), sizeof(double) * count);
}

/* From a checkpoint of two steps, though the log has three. */
static void goes_on(void **state) {
  struct run run;
  struct grown whole = {.cut = support_path(&folder, "cut")};
  struct error error;
  (void)state;
  set_scene(&run, GEOMETRY_LINES);
  run.options.lbcs.slices = 5;
  run.options.lbcs.candidates = 9;
  assert_good(try_grow(&run, &whole, "whole", false, &error), &error);
  struct grown rest = grow(&run, "cut", true);
  assert_int_equal(rest.first, 3);
  assert_int_equal(rest.logged, 2);
  assert_same(&run, "mask", N);
  assert_same(&run, "order", BUDGET);
  assert_same(&run, "log/look/score", BUDGET);
  assert_same(&run, "log/validation/score", BUDGET);
  assert_same(&run, "carried/SCENE.grown", N);
  arena_close(run.arena);
}

static void refuse_grow(struct run *run, const char *output, bool resume, const char *part) {
  struct grown grown = {0};
  struct error error;
  assert_false(try_grow(run, &grown, output, resume, &error));
  assert_holds(error.text, part);
}

static void what_does_not_fit_is_refused(void **state) {
  struct run run;
  (void)state;
  set_scene(&run, GEOMETRY_LINES);
  run.options.lbcs.candidates = 30;
  refuse_grow(&run, "none", false,
              "lbcs.candidates is 30; 29 of 32 lines are free after the initial ones (acquisition.initial_lines)");
  run.options.lbcs.candidates = 0;
  run.options.lbcs.slices = 13;
  refuse_grow(&run, "none", false, "lbcs.slices is 13; data.path");
  run.options.lbcs.slices = 0;
  run.options.network.input = INPUT_COMPLEX;
  refuse_grow(&run, "none", false, "train.method is lbcs, which looks at magnitudes, and network.input is complex");
  arena_close(run.arena);
  set_scene(&run, GEOMETRY_POINTS);
  run.options.lbcs.candidates = 0;
  refuse_grow(&run, "none", false, "lbcs.candidates is 0 and acquisition.geometry points: every step would try all of 1008");
  arena_close(run.arena);
}

/* Another scene; a file whose order is not that of its mask. */
static void what_is_of_other_work_is_refused(void **state) {
  struct run run;
  const uint32_t order[BUDGET] = {0, 1, 2, 3};
  (void)state;
  set_scene(&run, GEOMETRY_LINES);
  grow(&run, "damaged", false);
  run.options.lbcs.candidates = 3;
  refuse_grow(&run, "damaged", true, "lbcs.candidates was 0 and is 3 now");
  run.options.lbcs.candidates = 0;
  support_forget_sums(support_path(&folder, "damaged/last.h5"));
  hid_t file = H5Fopen(support_path(&folder, "damaged/last.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t set = H5Dopen2(file, "order", H5P_DEFAULT);
  assert_true(H5Dwrite(set, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, order) >= 0);
  assert_true(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
  refuse_grow(&run, "damaged", true, "its mask is not the initial one with the 4 actions of its order");
  arena_close(run.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_the_best_of_all),        cmocka_unit_test(takes_the_best_of_some),
      cmocka_unit_test(runs_do_not_matter), cmocka_unit_test(takes_the_lower_of_mirrored_lines),          cmocka_unit_test(goes_on),
      cmocka_unit_test(what_does_not_fit_is_refused), cmocka_unit_test(what_is_of_other_work_is_refused),
  };
  return cmocka_run_group_tests_name("lbcs", tests, open_trainings, close_trainings);
}
