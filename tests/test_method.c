/* A method that the program does not have, made of rows alone: a network of one convolution, systems of its own beside
 * the program's, and a task for the trainer. It learns, is told, validated, kept, and gone on with as every other;
 * what its systems carry from one update to the next is in its checkpoints, and what its log tells is drawn. */
#include "systems/methods/methods.h"
#include "systems/methods/fit.h"
#include "systems/networks/checkpoint.h"
#include "systems/scan/systems.h"
#include "tests/training.h"
#include "tools/draw/curves.h"

#include <hdf5.h>
#include <string.h>

struct toy {
  struct minibatches train, validation;
  struct graph *graph;
  tensor in, out;
  struct loss loss;
  double last; /* loss */
  uint32_t replayed;
};

static struct toy *toy_of(const struct training *training) {
  return training_own(training, sizeof(struct toy));
}

/* ---- its systems ---------------------------------------------------------------------------------------- */

static void run_forward(struct world *world, void *context) {
  struct toy *toy = toy_of(context);
  world_touch(world, SET(BATCH_input), SET(BATCH_output));
  graph_set_images(toy->graph, world_rows(world, TABLE_ENV));
  graph_forward(toy->graph);
}

static const struct system forward_toy = {.name = "forward_toy",
                                          .doc = "one convolution",
                                          .reads = SET(BATCH_input),
                                          .writes = SET(BATCH_output),
                                          .run = run_forward};

static void run_learn(struct world *world, void *context) {
  struct toy *toy = toy_of(context);
  size_t images = world_rows(world, TABLE_ENV);
  const struct loss_target target = {world_in(world, ENV_slice).as.m, world_in(world, SLICE_image).as.m,
                                     world_in(world, SLICE_mean).as.m, world_in(world, SLICE_std).as.m,
                                     world_in(world, SLICE_data_range).as.m};
  graph_zero_gradients(toy->graph);
  loss_run(&toy->loss, &target, world_in(world, BATCH_output).as.m, world_out(world, BATCH_output_gradient).as.m,
           images, 1.0 / (double)images);
  graph_backward(toy->graph);
  optimise_step(&((struct training *)context)->optimiser);
}

static const struct system learn_toy = {.name = "learn_toy",
                                        .doc = "loss, backward pass and a step of it",
                                        .reads = SET(ENV_slice) | SET(BATCH_output) | SET(SLICE_image) |
                                                 SET(SLICE_mean) | SET(SLICE_std) | SET(SLICE_data_range),
                                        .writes = SET(BATCH_output_gradient),
                                        .run = run_learn};

/* Reads what the update before has left. */
static void run_count(struct world *world, void *context) {
  (void)context;
  kernel_run(world_kernels(world), "scale_into", 1,
             ARGS(arg_unnamed(world_in(world, SLICE_unit)), arg_unnamed(world_inout(world, ENV_quality)),
                  arg_f32(0.5f), arg_u32(BATCH), arg_u32(true)));
}

static const struct system count_toy = {.name = "count_toy",
                                        .doc = "adds to what it had",
                                        .reads = SET(ENV_quality) | SET(SLICE_unit),
                                        .writes = SET(ENV_quality),
                                        .kernels = {"scale_into"},
                                        .run = run_count};

/* A replay: play fills a row of it, an update reads them all. */
static void run_store(struct world *world, void *context) {
  const struct training *training = context;
  uint32_t row[N];
  for (size_t i = 0; i < N; i++) row[i] = (uint32_t)training->done + 1;
  world_write(world, ENV_rank, training->done % BATCH, 1, row);
}

static const struct system store_toy = {.name = "store_toy",
                                        .doc = "the number of the update into the oldest row of a replay",
                                        .parts = SET(ENV_rank),
                                        .run = run_store};

/* From the fourth update on, before which one of the runs is cut. */
static void run_replay(struct world *world, void *context) {
  const struct training *training = context;
  uint32_t rows[BATCH][N];
  world_read(world, ENV_rank, 0, BATCH, rows);
  for (size_t i = 0; i < BATCH && training->done >= 4; i++) toy_of(training)->replayed += rows[i][N - 1];
}

static const struct system replay_toy = {
    .name = "replay_toy", .doc = "all that the replay holds", .reads = SET(ENV_rank), .run = run_replay};

static void fill_update(struct training *training, struct schedule *schedule) {
  minibatch_add(&toy_of(training)->train, schedule);
  schedule_add(schedule, &forward_toy, training);
  schedule_add(schedule, &learn_toy, training);
  schedule_add(schedule, &count_toy, training);
  schedule_add(schedule, &store_toy, training);
  schedule_add(schedule, &replay_toy, training);
}

static void fill_masks(struct training *training, struct schedule *schedule) {
  minibatch_add_masks(&toy_of(training)->train, schedule);
}

/* ---- its network ---------------------------------------------------------------------------------------- */

static bool open_network(struct training *training, struct error *error) {
  struct toy *toy = toy_of(training);
  struct world *world = training_world(training);
  struct graph_setup plan = {
      .device = training->device, .kernels = training->train.simulation.kernels, .batch = BATCH, .train = true};
  graph_open(&toy->graph);
  toy->in = graph_input(toy->graph, "input", 1, N, N);
  toy->out = conv2d(toy->graph, toy->in, "only", 1, 3);
  if (!graph_plan(toy->graph, &plan, error)) return false;
  graph_start(toy->graph, training->options->world.seed);
  world_bind(world, BATCH_input, graph_value(toy->graph, toy->in), BATCH);
  world_bind(world, BATCH_output, graph_value(toy->graph, toy->out), BATCH);
  world_bind(world, BATCH_output_gradient, graph_gradient(toy->graph, toy->out), BATCH);
  return true;
}

static void close_network(struct training *training) {
  graph_close(toy_of(training)->graph);
}

static struct graph *graph_of(const struct training *training) {
  return toy_of(training)->graph;
}

static struct optimiser_setup optimiser(const struct options *options) {
  (void)options;
  return optimise_defaults(OPTIMISER_ADAM, 0.02);
}

static bool write_network(const struct training *training, struct store *store, struct error *error) {
  return store_put_text(store, "network", "toy", error) &&
         checkpoint_write_parameters(store, "param", toy_of(training)->graph, error);
}

static const struct task_network network_toy = {
    .open = open_network, .close = close_network, .graph = graph_of, .optimiser = optimiser, .write = write_network};

/* ---- its task ------------------------------------------------------------------------------------------- */

static struct minibatches *minibatches_of(const struct training *training, const struct split *split) {
  return split == &training->validation ? &toy_of(training)->validation : &toy_of(training)->train;
}

static bool describe(struct training *training, struct error *error) {
  struct toy *toy = toy_of(training);
  struct minibatch_setup setup = {.batch = BATCH}, other = {.batch = BATCH, .validate = true};
  return minibatch_describe(&toy->train, &training->train, &setup, training->arena, error) &&
         minibatch_describe(&toy->validation, &training->validation, &other, training->arena, error);
}

static struct simulation_plan plan(const struct training *training, const struct split *split, size_t slices) {
  return minibatch_plan(minibatches_of(training, split), slices);
}

static bool load(struct training *training, struct split *split, struct error *error) {
  return minibatch_open(minibatches_of(training, split), error);
}

/* Of the two whole minibatches of every epoch. */
static bool open_task(struct training *training, struct error *error) {
  training->each = training->save_every = 2;
  training->wanted = 2 * training->config.steps;
  training->log_every = 1;
  training->work = BATCH;
  return loss_open(&toy_of(training)->loss, training->device, training->train.simulation.kernels, LOSS_MSE, N, N,
                   BATCH, error);
}

static void close_task(struct training *training) {
  struct toy *toy = toy_of(training);
  if (toy->loss.device) loss_close(&toy->loss);
  minibatch_close(&toy->validation);
  minibatch_close(&toy->train);
}

static bool begin(struct training *training, uint64_t epoch, struct error *error) {
  return minibatch_epoch(&toy_of(training)->train, (uint32_t)epoch, error);
}

static void step(struct training *training) {
  minibatch_select(&toy_of(training)->train, training->done % training->each * BATCH, BATCH);
  training_run_list(training, 1);
}

static bool log_update(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  struct toy *toy = toy_of(training);
  double each[BATCH];
  if (!loss_read(&toy->loss, BATCH, each, error)) return false;
  for (int i = 0; i < BATCH; i++) values[0] += each[i] / BATCH;
  toy->last = values[0];
  return true;
}

static bool validate(struct training *training, double values[TRAINING_VALUES], struct error *error) {
  (void)error;
  values[0] = toy_of(training)->last;
  return true;
}

static const char *const reads[] = {"data.", "world.", NULL};

static const struct log_value values[] = {{"loss", "loss/train", "the loss"}, {NULL, NULL, NULL}};
static const struct task task_toy = {
    .name = "toy",
    .network = "toy",
    .unit = "update",
    .worked = "images",
    .reads = reads,
    .more = "epochs of the toy",
    .advice = "do nothing",
    .bytes = sizeof(struct toy),
    .networks = {&network_toy},
    .lists = {{"masks", "before every epoch", .unit = true, .fill = fill_masks,
               .in_own = offsetof(struct toy, train.masks)},
              {"update", "for every minibatch", .unit = true, .fill = fill_update}},
    .train = {"look", values, 1},
    .validation = {"validation", values, 1},
    .select = SELECT_LOWEST,
    .epochs = true,
    .plan = plan,
    .describe = describe,
    .load = load,
    .open = open_task,
    .close = close_task,
    .begin = begin,
    .step = step,
    .log = log_update,
    .validate = validate};

static bool try_toy(struct training *training, const struct options *options, const char *folder_of_toy,
                    uint64_t epochs, bool resume, struct error *error) {
  struct training_config config = {
      .task = &task_toy, .folder = folder_of_toy, .resume = resume, .steps = epochs, .kernel_folder = ""};
  return training_open(training, &device, options, &config, error);
}

static void open_toy(struct training *training, const struct options *options, const char *folder_of_toy,
                     uint64_t epochs, bool resume) {
  struct error error;
  assert_good(try_toy(training, options, folder_of_toy, epochs, resume, &error), &error);
}

static void run_toy(struct training *training) {
  struct error error;
  assert_good(trainer_run(training, &error), &error);
}

static void set_options(struct options *options, struct arena *arena) {
  option_defaults(&option_table, options, arena);
  options->data.path = support_path(&folder, "data");
  options->data.size = option_square(N);
}

/* ---- tests ---------------------------------------------------------------------------------------------- */

static void read_toy(const struct training *toy, struct arena *arena, float **parameters, float quality[BATCH]) {
  *parameters = read_floats(arena, graph_of(toy)->values, graph_of(toy)->elements);
  support_get(training_world(toy), ENV_quality, 0, BATCH, quality);
}

/* Six epochs at once against two and then four: parameters, the log, and the column that is carried. */
static void it_learns_and_goes_on(void **state) {
  struct arena *arena = arena_open();
  struct options options;
  struct training whole, half, rest;
  float *parameters[2], quality[2][BATCH];
  (void)state;
  set_options(&options, arena);
  open_toy(&whole, &options, support_path(&folder, "toy"), 6, false);
  run_toy(&whole);
  const struct history *logged = &whole.logged;
  assert_int_equal(logged->count, 12);
  assert_true(logged->value[0][11] < 0.8 * logged->value[0][0]);
  open_toy(&half, &options, support_path(&folder, "toy_halves"), 2, false);
  run_toy(&half);
  training_close(&half);
  open_toy(&rest, &options, support_path(&folder, "toy_halves"), 6, true);
  assert_int_equal(rest.done, 4);
  run_toy(&rest);
  read_toy(&whole, arena, &parameters[0], quality[0]);
  read_toy(&rest, arena, &parameters[1], quality[1]);
  assert_memory_equal(parameters[0], parameters[1], sizeof(float) * graph_of(&whole)->elements);
  assert_memory_equal(quality[0], quality[1], sizeof quality[0]);
  assert_true(quality[0][0] > 0);
  assert_int_equal(toy_of(&whole)->replayed, 5 * (3 + 4 + 5 + 6 + 7 + 8 + 9 + 10));
  assert_int_equal(toy_of(&rest)->replayed, toy_of(&whole)->replayed);
  assert_memory_equal(logged->value[0], rest.logged.value[0], sizeof(double) * 12);
  training_close(&whole);
  training_close(&rest);
  arena_close(arena);
}

static void has_line(const struct chart_line *line, const char *name, size_t points, double first_x, const double *y) {
  assert_string_equal(line->name, name);
  assert_int_equal(line->points, points);
  assert_true(line->x[0] == first_x);
  assert_memory_equal(line->y, y, sizeof(double) * points);
}

/* The program does not know its task, which says no curves: all values of its log are drawn. */
static void its_log_is_drawn(void **state) {
  struct arena *arena = arena_open();
  struct options options;
  struct training toy;
  struct error error;
  (void)state;
  set_options(&options, arena);
  open_toy(&toy, &options, support_path(&folder, "toy_drawn"), 3, false);
  assert_good(curves_draw(&toy, &error), &error);
  assert_false(file_is_there(support_path(&folder, "toy_drawn/curves.png"))); /* nothing is told yet */
  run_toy(&toy);
  struct chart_panels panels = curves_panels(&toy);
  assert_int_equal(panels.count, 1);
  assert_string_equal(panels.chart[0].across, "epoch");
  assert_string_equal(panels.chart[0].up, "loss");
  assert_int_equal(panels.chart[0].line_count, 2);
  has_line(&panels.chart[0].lines[0], "training", 6, 0.5, toy.logged.value[0]);
  has_line(&panels.chart[0].lines[1], "validation", 3, 1, toy.validations.value[0]);
  assert_true(panels.chart[0].from == 0 && panels.chart[0].to == 3);
  assert_good(curves_draw(&toy, &error), &error);
  assert_true(file_is_there(support_path(&folder, "toy_drawn/curves.png")));
  training_close(&toy);
  arena_close(arena);
}

static bool is_uniform(const struct options *options) {
  return options->train.loss == LOSS_SSIM_UNIFORM;
}

/* A task that says its curves gets these, by its options, and one that counts no epochs its own axis. */
static void a_task_says_its_curves(void **state) {
  static const struct log_curve curves[] = {{"%s", "logged", .logged = true, .minus = true},
                                                {"%s", "hidden", .shown = is_uniform},
                                                {"loss", "validation", .validation = true},
                                                {.up = NULL}};
  struct arena *arena = arena_open();
  struct options options;
  struct training toy;
  (void)state;
  set_options(&options, arena);
  open_toy(&toy, &options, support_path(&folder, "toy_said"), 2, false);
  run_toy(&toy);
  struct task said = task_toy;
  said.curves = curves;
  said.epochs = false;
  toy.task = &said;
  struct chart_panels panels = curves_panels(&toy);
  assert_int_equal(panels.count, 2);
  assert_string_equal(panels.chart[0].up, "SSIM");
  assert_string_equal(panels.chart[0].across, "updates of 5 images");
  assert_int_equal(panels.chart[0].line_count, 1);
  assert_true(panels.chart[0].lines[0].y[3] == -toy.logged.value[0][3]);
  assert_true(panels.chart[0].lines[0].x[3] == 4 && panels.chart[0].to == 4);
  assert_string_equal(panels.chart[1].lines[0].name, "validation");
  toy.task = &task_toy;
  training_close(&toy);
  arena_close(arena);
}

static herr_t delete_dataset(hid_t file, const char *name) {
  return H5Ldelete(file, name, H5P_DEFAULT);
}

/* Takes it out of the checkpoint, which is then refused by its name. */
static void refuse_without(const struct options *options, const char *name,
                           herr_t (*delete)(hid_t file, const char *name)) {
  const char *path = support_path(&folder, "toy_carried/last.h5");
  struct training toy;
  struct error error;
  support_forget_sums(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(file >= 0 && delete(file, name) >= 0 && H5Fclose(file) >= 0);
  assert_false(try_toy(&toy, options, support_path(&folder, "toy_carried"), 2, true, &error));
  assert_non_null(strstr(error.text, name));
}

/* Carried columns are there by their names; without one the checkpoint is refused, as without its updates. */
static void what_it_carries_is_kept(void **state) {
  struct arena *arena = arena_open();
  struct options options;
  struct training toy;
  struct store *store;
  struct error error;
  float quality[BATCH];
  uint8_t bytes[BATCH * sizeof(float)];
  (void)state;
  set_options(&options, arena);
  open_toy(&toy, &options, support_path(&folder, "toy_carried"), 1, false);
  run_toy(&toy);
  support_get(training_world(&toy), ENV_quality, 0, BATCH, quality);
  assert_good(store_open(&store, support_path(&folder, "toy_carried/last.h5"), &error), &error);
  assert_good(store_read_known(store, "carried/ENV.quality", STORE_U8, sizeof bytes, bytes, &error), &error);
  store_close(store);
  assert_memory_equal(bytes, quality, sizeof bytes);
  training_close(&toy);
  refuse_without(&options, "carried/ENV.quality", delete_dataset);
  refuse_without(&options, "updates", H5Adelete);
  arena_close(arena);
}

static bool is_policy(const struct method *method) {
  return method->stages[1] && method->stages[1]->gamma;
}

/* What is written once, before anything is carried. */
static bool is_opening(const char *name) {
  return !strcmp(name, "opened") || strstr(name, "loaded") || !strcmp(name, "sampler") || !strcmp(name, "chances");
}

static bool begins_unit(uint32_t method, const char *list) {
  return !strcmp(list, "masks") || !strcmp(list, method == METHOD_DDQN ? "go on" : "play");
}

/* What a method leaves for the next unit beside parameters and optimisers: lbcs its mask, suno masks and how far the
 * pass over them is, ddqn its replay and where its scans are. */
static component_set left_by(uint32_t method) {
  if (method == METHOD_LBCS) return SET(SCENE_grown);
  if (method == METHOD_SUNO)
    return SET(ENV_mask) | SET(ENV_rank) | SET(ENV_quality) | SET(ENV_scan) | SET(ENV_slice) | SET(ENV_step);
  if (method != METHOD_DDQN) return 0;
  return SET(ROLLOUT_slice) | SET(ROLLOUT_action) | SET(ROLLOUT_reward) | SET(ENV_scan) | SET(ENV_step) | SET(ENV_quality);
}

static void methods_carry_what_they_say(void **state) {
  (void)state;
  for (uint32_t method = 0; method < METHOD_COUNT; method++)
    for (uint32_t geometry = GEOMETRY_LINES; geometry <= GEOMETRY_POINTS; geometry++) {
      struct arena *arena = arena_open();
      struct options options;
      struct lists lists;
      struct error error;
      component_set written = 0, carried = 0;
      set_options(&options, arena);
      options.train.method = method;
      options.acquisition.geometry = geometry;
      bool good = method_lists(&lists, &options, arena, &error);
      bool lines = method == METHOD_EVALUATOR && geometry != GEOMETRY_LINES; /* it tells columns apart */
      assert_true(good || lines || (is_policy(method_list[method]) && geometry == GEOMETRY_POINTS)); /* chosen at once */
      for (int i = 0; i < lists.count; i++) {
        const struct schedule *schedule = lists.list[i].schedule;
        if (begins_unit(method, schedule->name)) written = 0;
        if (!strcmp(lists.list[i].stage, "evaluate") || strstr(schedule->name, "valid") || is_opening(schedule->name))
          continue;
        carried |= schedule->carried & ~written;
        written |= schedule->written;
      }
      if (good && left_by(method) && !(carried & left_by(method)))
        fail_msg("%s of geometry %u carries nothing", method_list[method]->name, geometry);
      carried &= ~left_by(method);
      if (carried) fail_msg("%s carries %s", method_list[method]->name, schema_first(&component_schema, carried));
      arena_close(arena);
    }
}

static bool closes_without(const struct schedule *whole, int place) {
  static struct schedule less;
  struct error error;
  schedule_open(&less, whole->schema);
  for (int i = 0; i < whole->count; i++)
    if (i != place) schedule_add(&less, &whole->system[i], whole->system[i].context);
  return schedule_close(&less, &error);
}

static bool starts_with_one_of(const char *name, const char *const *words) {
  while (*words && strncmp(name, *words, strlen(*words))) words++;
  return *words;
}

/* A tau step writes what the steps before it wrote, and what they see of one another is read in the loop's next turn,
 * while a loop counts as one: without a forward pass of it there is one step less. */
static bool is_a_step(uint32_t method, const char *name) {
  return method == METHOD_TAU_STEP && (!strncmp(name, "forward_", 8) || !strcmp(name, "backward_reconstruction"));
}

/* What an update needs follows from what its systems declare: gradients at 0, a forward pass, a loss, a way back. */
static void an_update_closes_as_a_whole(void **state) {
  static const char *const needed[] = {"zero_",       "forward_", "loss", "policy_loss", "reinforce_loss",
                                       "backward_", "observe_back", NULL};
  size_t tried = 0;
  (void)state;
  for (uint32_t method = 0; method < METHOD_COUNT; method++) {
    struct arena *arena = arena_open();
    struct options options;
    struct lists lists;
    struct error error;
    set_options(&options, arena);
    options.train.method = method;
    assert_good(method_lists(&lists, &options, arena, &error), &error);
    for (int l = 0; l < lists.count; l++) {
      const struct schedule *list = lists.list[l].schedule;
      if (strcmp(list->name, "update")) continue;
      for (int i = 0; i < list->count; i++) {
        const char *name = list->system[i].name;
        if (!starts_with_one_of(name, needed) || is_a_step(method, name)) continue;
        if (closes_without(list, i))
          fail_msg("%s: the update closes without %s", method_list[method]->name, name);
        tried++;
      }
    }
    arena_close(arena);
  }
  assert_true(tried >= 30);
}

/* Every row says what it is and where it is from; its name is a choice of train.method, in the same order. */
static void rows_are_whole(void **state) {
  const char *choices = option_find(&option_table, "train.method")->choices;
  (void)state;
  for (const struct method *const *row = method_list; *row; row++) {
    const struct method *method = *row;
    size_t length = strlen(method->name);
    assert_true(*method->doc && *method->paper && *method->networks);
    assert_memory_equal(choices, method->name, length);
    choices += length + (choices[length] == '|');
  }
  assert_int_equal(*choices, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_learns_and_goes_on),
      cmocka_unit_test(its_log_is_drawn),
      cmocka_unit_test(a_task_says_its_curves),
      cmocka_unit_test(what_it_carries_is_kept),
      cmocka_unit_test(methods_carry_what_they_say),
      cmocka_unit_test(an_update_closes_as_a_whole),
      cmocka_unit_test(rows_are_whole),
  };
  return cmocka_run_group_tests_name("method", tests, open_trainings, close_trainings);
}
