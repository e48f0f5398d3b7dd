/* Prints any table of the program: what is described is a row in `topics`. Needs no OpenCL device. */
#include "components/components.h"
#include "engine/base/log.h"
#include "engine/ecs/schedule.h"
#include "kernels/kernels.h"
#include "systems/coils/simulated.h"
#include "systems/methods/evaluate.h"
#include "systems/public/groups.h"
#include "systems/methods/methods.h"
#include "systems/sampling/geometry.h"
#include "systems/sampling/samplers.h"
#include "systems/scan/reconstruction.h"
#include "systems/scan/systems.h"
#include "tools/commands/command.h"
#include "tools/commands/help.h"

#include <string.h>

/* X(name, function, operands after the name, flags that go with it, help) */
#define TOPICS(X)                                                                                            \
  X("components", components, 0, "json", "every column of every table")                                      \
  X("kernels", kernels, 0, "json", "every OpenCL kernel and its arguments")                                  \
  X("systems", systems, 0, "json", "every system, what it reads, writes and launches")                       \
  X("methods", methods, 0, "json", "every method of training, its paper and its networks")                   \
  X("networks", networks, 0, "json", "every network: its paper, columns, options and what checkpoints say of it")                  \
  X("reconstructors", reconstructors, 0, "json", "every reconstructor, its network and its systems")        \
  X("samplers", samplers, 0, "json", "every sampler")                                                        \
  X("options", options, 0, "json yaml", "every key of a scene; --yaml: as a scene file")                     \
  X("commands", commands, 0, "json", "every command")                                                        \
  X("flags", flags, 0, "json", "every flag of every command")                                                \
  X("schedule", schedule, 1, "json dot", "SCENE: the systems that its training and scanning run, in order; --dot: as graphs") \
  X("network", network, 1, "json", "SCENE: nodes, shapes, bytes and operations of its networks") \
  X("scene", scene, 1, "json",                                                                               \
    "SCENE: the scene with all it extends, its scans, and the memory of its tables")                         \
  X("completion-bash", bash, 0, "",                                                                          \
    "completion for bash: source it, or put it into the folder of bash-completion")                          \
  X("completion-zsh", zsh, 0, "", "completion for zsh: save it as _l2sr in a folder of fpath")               \
  X("completion-fish", fish, 0, "",                                                                          \
    "completion for fish: save it as l2sr.fish in its folder of completions")                                \
  X("man", man, 0, "", "the manual page: l2sr describe man | man -l -")

/* ---- rows as text or JSON ----------------------------------------------------------------------------- */

struct column {
  const char *name;
  int width;   /* in text */
  bool number; /* JSON takes it without quotes */
};

static bool wants_json(const struct call *call) {
  return call_flag(call, "json");
}

static void print_json_row(const struct column *columns, const char *const cells[]) {
  for (size_t i = 0; columns[i].name; i++) {
    printf("%s\"%s\":", i ? "," : "{", columns[i].name);
    if (columns[i].number)
      fputs(cells[i], stdout);
    else
      json_text(stdout, cells[i]);
  }
  puts("}");
}

static void print_text_row(const struct column *columns, const char *const cells[]) {
  for (size_t i = 0; columns[i].name; i++)
    if (columns[i + 1].name)
      printf("%-*s  ", columns[i].width, cells[i]);
    else
      puts(cells[i]);
}

static void print_row(const struct call *call, const struct column *columns, const char *const cells[]) {
  (wants_json(call) ? print_json_row : print_text_row)(columns, cells);
}

static void print_header(const struct call *call, const struct column *columns) {
  const char *cells[16];
  for (size_t i = 0; columns[i].name; i++) cells[i] = columns[i].name;
  if (!wants_json(call)) print_text_row(columns, cells);
}

/* ---- the tables --------------------------------------------------------------------------------------- */

static bool print_components(struct call *call, struct error *error) {
  static const struct column columns[] = {{"table", 7, false}, {"name", 15, false}, {"element", 7, false},
                                          {"shape", 5, false}, {"keep", 5, false},  {"doc", 0, false},
                                          {NULL, 0, false}};
  static const char *const keeps[] = {[KEEP_SCENE] = "scene", [KEEP_SAVED] = "saved", [KEEP_STEP] = "step",
                                      [KEEP_PORT] = "port",   [KEEP_STATE] = "state", [KEEP_MARK] = "mark"};
  const struct schema *schema = &component_schema;
  (void)error;
  print_header(call, columns);
  for (size_t i = 0; i < schema->component_count; i++) {
    const struct component_desc *row = &schema->components[i];
    print_row(call, columns,
              (const char *const[]){schema->table_names[row->table], row->name, element_name(row->element),
                                    schema->shape_names[row->shape], keeps[row->keep], row->doc});
  }
  return true;
}

static const char *args_text(const struct kernel_desc *row, struct arena *arena) {
  static const char *const kinds[] = {"", "in", "out", "inout", "value"};
  const char *text = "";
  for (size_t i = 0; i < ARGS_MOST && row->args[i].kind != ARG_END; i++)
    text = arena_text(arena, "%s%s%s %s %s", text, i ? ", " : "", kinds[row->args[i].kind],
                      element_name(row->args[i].element), row->args[i].name);
  return text;
}

static bool print_kernels(struct call *call, struct error *error) {
  static const struct column columns[] = {{"name", 24, false}, {"file", 12, false},    {"row", 5, false},
                                          {"group", 5, true},  {"tolerance", 9, true}, {"doc", 60, false},
                                          {"args", 0, false},  {NULL, 0, false}};
  (void)error;
  print_header(call, columns);
  for (size_t i = 0; i < kernel_table.count; i++) {
    const struct kernel_desc *row = &kernel_table.rows[i];
    print_row(call, columns,
              (const char *const[]){row->name, row->file, row->launch == LAUNCH_GROUP ? "group" : "item",
                                    arena_text(call->arena, "%u", row->group),
                                    arena_text(call->arena, "%.9g", row->tolerance), row->doc,
                                    args_text(row, call->arena)});
  }
  return true;
}

static const char *set_text(component_set set, struct arena *arena) {
  const struct schema *schema = &component_schema;
  const char *text = "";
  for (size_t c = 0; c < schema->component_count; c++)
    if (set & SET(c))
      text = arena_text(arena, "%s%s%s.%s", text, *text ? " " : "",
                        schema->table_names[schema->components[c].table], schema->components[c].name);
  return text;
}

static const char *launches_text(const struct system *system, struct arena *arena) {
  const char *text = "";
  for (size_t i = 0; i < SYSTEM_KERNELS_MOST && system->kernels[i]; i++)
    text = arena_text(arena, "%s%s%s", text, i ? " " : "", system->kernels[i]);
  return text;
}

static void print_system_json(const struct call *call, const struct system *system) {
  static const struct column columns[] = {{"name", 0, false},   {"kind", 0, false},  {"doc", 0, false},
                                          {"reads", 0, false},  {"writes", 0, false}, {"parts", 0, false},
                                          {"kernels", 0, false}, {NULL, 0, false}};
  print_json_row(columns, (const char *const[]){system->name, system->next ? "loop" : "system", system->doc,
                                                set_text(system->reads, call->arena),
                                                set_text(system->writes, call->arena),
                                                set_text(system->parts, call->arena),
                                                launches_text(system, call->arena)});
}

static void print_system(const struct call *call, const struct system *system) {
  if (wants_json(call))
    print_system_json(call, system);
  else
    printf("%s%s: %s\n    reads   %s\n    writes  %s\n    parts   %s\n    kernels %s\n", system->next ? "repeat " : "",
           system->name, system->doc, set_text(system->reads, call->arena), set_text(system->writes, call->arena),
           set_text(system->parts, call->arena), launches_text(system, call->arena));
}

static bool print_systems(struct call *call, struct error *error) {
  (void)error;
  const struct system *system;
  for (size_t i = 0; (system = system_at(i)); i++) print_system(call, system);
  return true;
}

static bool print_methods(struct call *call, struct error *error) {
  static const struct column columns[] = {{"name", 14, false},  {"stages", 46, false}, {"networks", 34, false},
                                          {"doc", 72, false},   {"paper", 0, false},   {NULL, 0, false}};
  (void)error;
  print_header(call, columns);
  for (const struct method *const *row = method_list; *row; row++)
    print_row(call, columns,
              (const char *const[]){(*row)->name, method_stages(*row, call->arena), (*row)->networks, (*row)->doc, (*row)->paper});
  return true;
}

static const char *keys_text(const struct network_desc *network, struct arena *arena) {
  const char *text = "";
  for (size_t k = 0; network->keys[k]; k++)
    text = arena_text(arena, "%s%s%s", text, k ? " " : "", network->keys[k]);
  return text;
}

static const char *fact_text(const struct fact *fact, struct arena *arena) {
  if (fact->kind == FACT_NAME) return arena_text(arena, "%s=%s", fact->name, fact->text);
  if (fact->kind == FACT_TEXT) return fact->name;
  return arena_text(arena, "%s=%.10g..%.10g", fact->name, fact->low, fact->high);
}

static const char *facts_text(const struct network_desc *network, struct arena *arena) {
  const char *text = "";
  for (const struct fact *fact = network->facts; fact->name; fact++)
    if (!fact->unwritten) text = arena_text(arena, "%s%s%s", text, *text ? " " : "", fact_text(fact, arena));
  return text;
}

static void print_network_row(const struct call *call, const struct network_desc *network) {
  static const struct column columns[] = {{"name", 0, false},   {"doc", 0, false},     {"paper", 0, false},
                                          {"reads", 0, false},  {"writes", 0, false},  {"options", 0, false},
                                          {"attributes", 0, false}, {NULL, 0, false}};
  const char *const cells[] = {network->name,
                               network->doc,
                               network->paper,
                               set_text(network->in, call->arena),
                               set_text(network->out, call->arena),
                               keys_text(network, call->arena),
                               facts_text(network, call->arena)};
  if (wants_json(call)) {
    print_json_row(columns, cells);
    return;
  }
  printf("%s: %s\n", cells[0], cells[1]);
  for (size_t i = 2; columns[i].name; i++) printf("    %-10s %s\n", columns[i].name, cells[i]);
}

static bool print_networks(struct call *call, struct error *error) {
  (void)error;
  const struct network_desc *network;
  for (size_t i = 0; (network = network_at(i)); i++) print_network_row(call, network);
  return true;
}

static const char *systems_text(const struct reconstruction *row, struct arena *arena) {
  const char *text = "";
  for (size_t i = 0; row->systems[i]; i++)
    if (row->systems[i] != &system_end) text = arena_text(arena, "%s%s%s", text, i ? " " : "", row->systems[i]->name);
  return text;
}

static bool print_reconstructors(struct call *call, struct error *error) {
  static const struct column columns[] = {
      {"name", 12, false}, {"network", 12, false}, {"systems", 54, false}, {"doc", 0, false}, {NULL, 0, false}};
  (void)error;
  print_header(call, columns);
  for (const struct reconstruction *row = reconstruction_list; row->name; row++)
    print_row(call, columns,
              (const char *const[]){row->name, row->network ? row->network->name : "",
                                    systems_text(row, call->arena), row->doc});
  return true;
}

static bool print_samplers(struct call *call, struct error *error) {
  static const struct column columns[] = {{"name", 26, false}, {"doc", 0, false}, {NULL, 0, false}};
  (void)error;
  print_header(call, columns);
  for (const struct sampler *sampler = sampler_list; sampler->name; sampler++)
    print_row(call, columns, (const char *const[]){sampler->name, sampler->doc});
  return true;
}

static void print_options_yaml(struct arena *arena) {
  struct options options;
  option_defaults(&option_table, &options, arena);
  puts("# Generated by `l2sr describe options --yaml`; every key with its default.");
  option_print(&option_table, &options, true, stdout);
}

static bool print_options(struct call *call, struct error *error) {
  static const struct column columns[] = {{"key", 26, false},   {"type", 6, false}, {"default", 14, false},
                                          {"range", 24, false}, {"doc", 0, false},  {NULL, 0, false}};
  (void)error;
  if (call_flag(call, "yaml")) {
    print_options_yaml(call->arena);
    return true;
  }
  print_header(call, columns);
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    print_row(call, columns,
              (const char *const[]){arena_text(call->arena, "%s.%s", row->section, row->name),
                                    help_type(row->type), row->standard, help_range(row, call->arena),
                                    row->doc});
  }
  return true;
}

static bool print_commands(struct call *call, struct error *error) {
  static const struct column columns[] = {
      {"name", 10, false}, {"operands", 18, false}, {"doc", 0, false}, {NULL, 0, false}};
  (void)error;
  print_header(call, columns);
  for (size_t i = 0; call->list[i]; i++) {
    const struct command *row = call->list[i];
    print_row(call, columns, (const char *const[]){row->name, row->operands ? row->operands : "", row->doc});
  }
  return true;
}

static void print_flags_of(const struct call *call, const char *command, const struct flag *flag) {
  static const struct column columns[] = {{"command", 10, false}, {"flag", 12, false}, {"value", 10, false},
                                          {"key", 20, false},     {"doc", 0, false},   {NULL, 0, false}};
  if (!command) {
    print_header(call, columns);
    return;
  }
  for (; flag && flag->name; flag++) {
    const struct option *row = flag->key ? option_find(&option_table, flag->key) : NULL;
    const char *doc = flag->doc ? flag->doc : row ? row->doc : "";
    print_row(call, columns,
              (const char *const[]){command, flag->name, flag->value ? flag->value : "",
                                    flag->key ? flag->key : "", doc});
  }
}

static bool print_flags(struct call *call, struct error *error) {
  (void)error;
  print_flags_of(call, NULL, NULL);
  for (size_t i = 0; call->list[i]; i++)
    print_flags_of(call, call->list[i]->name, call->list[i]->flags);
  print_flags_of(call, "*", common_flags);
  return true;
}

/* ---- a scene ------------------------------------------------------------------------------------------ */

static void print_note(const struct call *call, const struct note *note) {
  static const struct column columns[] = {{"stage", 0, false}, {"note", 0, false}, {NULL, 0, false}};
  if (wants_json(call))
    print_json_row(columns, (const char *const[]){note->stage, note->text});
  else
    printf("%s %s: %s\n", call_flag(call, "dot") ? "//" : "#", note->stage, note->text);
}

static void print_list(const struct call *call, const struct list *list) {
  const struct schedule *schedule = list->schedule;
  if (wants_json(call)) {
    schedule_print_json(schedule, list->stage, stdout);
    return;
  }
  printf("%s: %s (%s)\n", list->stage, schedule->name, list->when);
  (call_flag(call, "dot") ? schedule_print_dot : schedule_print)(schedule, stdout);
}

static bool print_schedule(struct call *call, struct error *error) {
  struct lists lists;
  if (!call_scene(call, call->operand[1], error) ||
      !method_lists(&lists, &call->options, call->arena, error))
    return false;
  for (int i = 0; i < lists.notes; i++) print_note(call, &lists.note[i]);
  for (int i = 0; i < lists.count; i++) print_list(call, &lists.list[i]);
  return true;
}

static void print_keys_json(const struct call *call) {
  static const struct column columns[] = {{"key", 0, false}, {"value", 0, false}, {NULL, 0, false}};
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    const char *key = arena_text(call->arena, "%s.%s", row->section, row->name);
    print_json_row(columns, (const char *const[]){key, option_text(row, &call->options, call->arena)});
  }
}

/* Says what a row of a table is, and whether there is one for each environment. The rows of SLICE, and its
 * coils, are counted when the data are read. */
static const char *row_of(const struct options *options, uint8_t table, bool *each) {
  bool coils = simulated_or_measured(options);
  *each = table != TABLE_SLICE && table != TABLE_SCENE;
  return table == TABLE_SCENE     ? "scene"
         : table == TABLE_SLICE   ? coils ? "slice of one coil" : "slice"
         : table == TABLE_ROLLOUT ? "environment and step"
         : table == TABLE_ENV     ? "environment"
                                  : "environment and action";
}

/* Bytes of the columns that evaluating the scene allocates. */
static void print_memory(const struct call *call, component_set columns) {
  const struct options *options = &call->options;
  struct world_setup setup = {.schema = &component_schema,
                              .half = options->world.observation == OBSERVATION_F16};
  simulation_shapes(options, 1, setup.shape);
  for (uint8_t t = 0; t < TABLE_COUNT; t++) {
    bool each;
    const char *row = row_of(options, t, &each), *name = component_schema.table_names[t];
    size_t bytes = world_row_bytes(&setup, columns, t), rows = each ? options->world.envs : 1;
    if (!bytes) continue;
    if (wants_json(call))
      printf("{\"table\":\"%s\",\"row\":\"%s\",\"row_bytes\":%zu,\"rows\":%zu,\"bytes\":%zu}\n", name, row,
             bytes, rows, bytes * rows);
    else if (each)
      printf("# %-9s %10zu bytes per %s, %.1f MiB for %zu environments\n", name, bytes, row,
             (double)(bytes * rows) / 0x1p20, rows);
    else
      printf("# %-9s %10zu bytes per %s\n", name, bytes, row);
  }
}

static void print_activations(const struct call *call, struct graph *graph, uint32_t batch) {
  for (int train = 0; train < 2; train++) {
    size_t bytes = graph_measure(graph, batch, train, false);
    const char *purpose = train ? "train" : "infer";
    if (wants_json(call))
      printf("{\"kind\":\"activations\",\"to\":\"%s\",\"images\":%u,\"bytes\":%zu}\n", purpose, batch, bytes);
    else
      printf("%u image%s to %s: %.1f MiB of activations on the portable path\n", batch, plural(batch),
             purpose, (double)bytes / 0x1p20);
  }
}

static void print_graph(const struct call *call, const char *name, struct graph *graph, uint32_t batch) {
  printf(wants_json(call) ? "{\"kind\":\"network\",\"name\":\"%s\"}\n" : "%s:\n", name);
  (wants_json(call) ? graph_print_json : graph_print)(graph, stdout);
  print_activations(call, graph, batch);
}

static bool print_desc(struct call *call, const struct network_desc *network, struct error *error) {
  struct graph *graph;
  uint32_t batch;
  memcpy(&batch, (const char *)&call->options + network->batch, sizeof batch);
  if (!graph_open(&graph)) return fail(error, "no host memory for a graph");
  bool good = network->append(graph, &call->options, error) && graph_good(graph, error);
  if (good) print_graph(call, network->name, graph, batch);
  graph_close(graph);
  return good;
}

static bool print_network(struct call *call, struct error *error) {
  const struct network_desc *networks[NETWORKS_MOST + 1];
  if (!call_scene(call, call->operand[1], error) || !method_check_networks(&call->options, error)) return false;
  method_networks(&call->options, networks);
  for (size_t i = 0; networks[i]; i++)
    if (!print_desc(call, networks[i], error)) return false;
  return true;
}

static void print_scans(const struct call *call, const struct acquisition *scan) {
  const struct geometry *geometry = geometry_of(scan);
  uint32_t total = scan->initial_lines + scan->budget;
  if (wants_json(call))
    printf(
        "{\"acceleration\":%u,\"horizon\":\"%s\",\"initial_lines\":%u,\"initial_start\":%u,\"budget\":%u}\n",
        scan->acceleration, scan->horizon, scan->initial_lines, scan->initial_start, scan->budget);
  else if (geometry->points)
    printf("# x%u %s: the %u points of the centred square of side %u are given, then %u are acquired at "
           "once: %u of %u\n",
           scan->acceleration, scan->horizon, scan->initial_lines, scan->initial_side, scan->budget, total,
           scan->shape.actions);
  else if (!geometry->columns)
    printf("# x%u %s: %u %s%s given, evenly spaced, then %u are chosen: %u of %u, acceleration %.4g by "
           "%ss, %.4g by "
           "cells\n",
           scan->acceleration, scan->horizon, scan->initial_lines, geometry->one,
           scan->initial_lines == 1 ? " is" : "s are", scan->budget, total, scan->shape.actions,
           (double)scan->shape.actions / total, geometry->one,
           geometry_acceleration(geometry, &scan->shape, total));
  else
    printf("# x%u %s: lines %u to %u are given, then %u are chosen: %u of %u\n", scan->acceleration,
           scan->horizon, scan->initial_start, scan->initial_start + scan->initial_lines - 1, scan->budget,
           total, scan->shape.actions);
}

static bool print_scene(struct call *call, struct error *error) {
  struct acquisition *list;
  component_set columns;
  size_t count;
  if (!call_scene(call, call->operand[1], error) ||
      !acquisition_list(&list, &count, &call->options, call->arena, error))
    return false;
  if (!evaluate_columns(&call->options, call->arena, &columns, error)) return false;
  if (wants_json(call))
    print_keys_json(call);
  else
    option_print(&option_table, &call->options, false, stdout);
  for (size_t i = 0; i < count; i++) print_scans(call, &list[i]);
  print_memory(call, columns);
  return true;
}

/* ---- help.c's texts ----------------------------------------------------------------------------------- */

#define DEFINE_PRINT(name)                                                                                   \
  static bool print_##name(struct call *call, struct error *error) {                                         \
    (void)error;                                                                                             \
    help_##name(call->list, stdout);                                                                         \
    return true;                                                                                             \
  }
DEFINE_PRINT(bash)
DEFINE_PRINT(zsh)
DEFINE_PRINT(fish)
DEFINE_PRINT(man)

/* ---- the command -------------------------------------------------------------------------------------- */

struct topic {
  const char *name;
  bool (*print)(struct call *call, struct error *error);
  int operands;
  const char *flags;
};

static const struct topic topics[] = {
#define X(name, print, operands, flags, doc) {name, print_##print, operands, flags},
    TOPICS(X)
#undef X
};
enum { TOPIC_COUNT = sizeof topics / sizeof *topics };

static const struct topic *find_topic(const struct call *call, struct error *error) {
  const char *names[TOPIC_COUNT], *word = call->operand[0];
  for (size_t i = 0; i < TOPIC_COUNT; i++) {
    names[i] = topics[i].name;
    if (!strcmp(names[i], word)) return &topics[i];
  }
  const char *near = nearest_name(word, names, TOPIC_COUNT);
  if (near)
    fail_usage(error, "there is no '%s' to describe; did you mean %s?", word, near);
  else
    fail_usage(error, "there is no '%s' to describe; `l2sr describe --help` lists what there is", word);
  return NULL;
}

static bool check_topic(const struct call *call, const struct topic *topic, struct error *error) {
  static const char *const own[] = {"json", "yaml", "dot"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (call_flag(call, own[i]) && !strstr(topic->flags, own[i]))
      return fail_usage(error, "describe %s has no --%s; leave the flag out", topic->name, own[i]);
  if (call->operand_count <= topic->operands)
    return fail_usage(error, "describe %s needs a scene; write l2sr describe %s SCENE", topic->name,
                      topic->name);
  if (call->operand_count > topic->operands + 1)
    return fail_usage(error, "one operand too many for describe %s: %s; leave it out", topic->name,
                      call->operand[topic->operands + 1]);
  return true;
}

static bool run_describe(struct call *call, struct error *error) {
  const struct topic *topic = find_topic(call, error);
  return topic && check_topic(call, topic, error) && topic->print(call, error);
}

static const struct flag flags[] = {
    {"json", NULL, NULL, "prints one JSON object a line"},
    {"yaml", NULL, NULL, "prints options as a scene file that explains every key"},
    {"dot", NULL, NULL, "prints the schedule as a graph for Graphviz"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_describe = {
    .name = "describe",
    .operands = "WHAT [SCENE]",
    .doc = "prints a table of the program, a schedule or a resolved scene",
#define X(name, print, operands, flags, doc) "\n  " name "\n      " doc
    .more = "WHAT is one of" TOPICS(X),
#undef X
#define X(name, ...) "|" name
    .words = &TOPICS(X)[1],
#undef X
    .operands_least = 1,
    .operands_most = 2,
    .flags = flags,
    .run = run_describe,
};
