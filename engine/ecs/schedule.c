#include "engine/ecs/schedule.h"

const struct system system_end = {.name = "end", .doc = "of what is repeated"};

static bool is_end(const struct system *system) {
  return !system->run && !system->next;
}

/* ---- building ----------------------------------------------------------------------------------------- */

void schedule_open(struct schedule *schedule, const struct schema *schema) {
  *schedule = (struct schedule){.schema = schema};
}

struct system *schedule_add(struct schedule *schedule, const struct system *row, void *context) {
  REQUIRE(schedule->count < SYSTEMS_MOST, "a step has at most %d systems", SYSTEMS_MOST);
  struct system *system = &schedule->system[schedule->count++];
  *system = *row;
  system->context = context;
  return system;
}

static void find_loops(struct schedule *schedule) {
  int open[SYSTEMS_MOST];
  uint8_t depth = 0;
  for (int i = 0; i < schedule->count; i++) {
    if (is_end(&schedule->system[i])) {
      REQUIRE(depth, "there is no loop to end");
      schedule->end[open[--depth]] = (uint8_t)i;
    }
    schedule->depth[i] = depth;
    if (schedule->system[i].next) open[depth++] = i;
  }
  REQUIRE(!depth, "loop %s has no end", schedule->system[open[depth - 1]].name);
}

static bool check_use(const struct schedule *schedule, const struct system *system, component_set written,
                      bool loads, struct error *error) {
  const struct schema *schema = schedule->schema;
  component_set dead = schema_kept(schema, KEEP_STEP) | schema_kept(schema, KEEP_PORT);
  component_set unwritten = system->reads & dead & ~written;
  component_set loaded = system->writes & schema_kept(schema, KEEP_SCENE);
  if (unwritten)
    return fail(error, "system %s reads %s, which nothing before it in the step has written", system->name,
                schema_first(schema, unwritten));
  if (loaded && !loads)
    return fail(error, "system %s writes %s, which is loaded once and never changes in a step", system->name,
                schema_first(schema, loaded));
  return true;
}

bool schedule_close(struct schedule *schedule, bool loads, struct error *error) {
  component_set written = 0, loaded = schema_kept(schedule->schema, KEEP_SCENE);
  find_loops(schedule);
  for (int i = 0; i < schedule->count; i++) {
    const struct system *system = &schedule->system[i];
    if (!check_use(schedule, system, written, loads, error)) return false;
    schedule->carried |= system->reads & ~written & ~loaded;
    schedule->touched |= system->reads | system->writes;
    written |= system->writes;
  }
  return true;
}

bool schedule_prepare(const struct schedule *schedule, struct kernels *kernels, struct error *error) {
  for (int i = 0; i < schedule->count; i++)
    for (int k = 0; k < SYSTEM_KERNELS_MOST && schedule->system[i].kernels[k]; k++)
      if (!kernel_need(kernels, schedule->system[i].kernels[k], error))
        return fail_in(error, "system %s", schedule->system[i].name);
  return true;
}

/* ---- running ------------------------------------------------------------------------------------------ */

static void enter(struct world *world, const struct system *system) {
  world->running = system;
  world->device->part = system->name;
}

static void run_range(const struct schedule *schedule, struct world *world, int first, int end);

static void repeat(const struct schedule *schedule, struct world *world, int place) {
  const struct system *loop = &schedule->system[place];
  for (size_t turn = 0; enter(world, loop), loop->next(world, loop->context, turn); turn++)
    run_range(schedule, world, place + 1, schedule->end[place]);
}

static void run_range(const struct schedule *schedule, struct world *world, int first, int end) {
  for (int i = first; i < end; i++) {
    const struct system *system = &schedule->system[i];
    if (system->next) {
      repeat(schedule, world, i);
      i = schedule->end[i];
    } else {
      enter(world, system);
      system->run(world, system->context);
    }
  }
}

void schedule_run(const struct schedule *schedule, struct world *world) {
  const struct system *running = world->running;
  const char *before = world->device->part;
  run_range(schedule, world, 0, schedule->count);
  world->running = running;
  world->device->part = before;
}

/* ---- printing ----------------------------------------------------------------------------------------- */

static void print_set(const struct schedule *schedule, int place, const char *word, component_set set,
                      FILE *file) {
  if (!set) return;
  fprintf(file, "%*s%-6s", 2 * schedule->depth[place] + 4, "", word);
  schema_print(schedule->schema, set, file);
  fputc('\n', file);
}

static void print_row(const struct schedule *schedule, int place, FILE *file) {
  const struct system *system = &schedule->system[place];
  if (is_end(system)) return;
  fprintf(file, "%*s%s%s: %s\n", 2 * schedule->depth[place], "", system->next ? "repeat " : "", system->name,
          system->doc);
  print_set(schedule, place, "reads", system->reads, file);
  print_set(schedule, place, "writes", system->writes, file);
}

void schedule_print(const struct schedule *schedule, FILE *file) {
  for (int i = 0; i < schedule->count; i++) print_row(schedule, i, file);
  fprintf(file, "carried to the next:");
  if (!schedule->carried) fprintf(file, " nothing");
  schema_print(schedule->schema, schedule->carried, file);
  fputc('\n', file);
}

static void print_arrow(const struct schedule *schedule, int from, int to, FILE *file) {
  component_set passed = schedule->system[from].writes & schedule->system[to].reads;
  const char *separator = "";
  if (!passed) return;
  fprintf(file, "  s%d -> s%d [label=\"", from, to);
  for (size_t c = 0; c < schedule->schema->component_count; c++)
    if (passed & SET(c)) {
      fprintf(file, "%s%s", separator, schedule->schema->components[c].name);
      separator = "\\n";
    }
  fprintf(file, "\"];\n");
}

void schedule_print_dot(const struct schedule *schedule, FILE *file) {
  fprintf(file, "digraph step {\n  rankdir=LR;\n  node [shape=box];\n");
  for (int i = 0; i < schedule->count; i++)
    if (!is_end(&schedule->system[i]))
      fprintf(file, "  s%d [label=\"%s%s\"];\n", i, schedule->system[i].next ? "repeat " : "",
              schedule->system[i].name);
  for (int to = 0; to < schedule->count; to++)
    for (int from = 0; from < to; from++) print_arrow(schedule, from, to, file);
  fprintf(file, "}\n");
}
