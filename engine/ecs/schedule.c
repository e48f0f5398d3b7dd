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

/* What a walk over the list has seen. */
struct walk {
  component_set whole;                /* written in all rows */
  component_set some[SYSTEMS_MOST + 1]; /* written in some, by depth of the loop that runs */
};

static component_set written_at_all(const struct walk *walk, int depth) {
  component_set written = walk->whole;
  for (int d = 0; d <= depth; d++) written |= walk->some[d];
  return written;
}

static bool check_use(const struct schedule *schedule, const struct system *system, component_set written,
                      struct error *error) {
  const struct schema *schema = schedule->schema;
  component_set dead =
      schema_kept(schema, KEEP_STEP) | schema_kept(schema, KEEP_PORT) | schema_kept(schema, KEEP_MARK);
  component_set unwritten = system->reads & dead & ~written;
  component_set loaded = (system->writes | system->parts) & schema_kept(schema, KEEP_SCENE);
  REQUIRE(!(system->writes & system->parts), "system %s writes %s, in part or as a whole", system->name,
          schema_first(schema, system->writes & system->parts));
  if (unwritten)
    return fail(error, "system %s reads %s, which nothing before it in the step has written", system->name,
                schema_first(schema, unwritten));
  if (loaded && !system->loads)
    return fail(error, "system %s writes %s, which is loaded once and never changes in a step", system->name,
                schema_first(schema, loaded));
  return true;
}

/* A loop has ended: parts of the tables that it covers are whole. */
static void end_loop(struct walk *walk, const struct schema *schema, const struct system *loop, int depth) {
  component_set covered = 0, some = walk->some[depth + 1];
  for (uint8_t t = 0; t < schema->table_count; t++)
    if (loop->covers & TABLE_BIT(t)) covered |= schema_table(schema, t);
  walk->whole |= some & covered;
  walk->some[depth] |= some & ~covered;
  walk->some[depth + 1] = 0;
}

bool schedule_close(struct schedule *schedule, struct error *error) {
  const struct schema *schema = schedule->schema;
  const component_set elsewhere = schema_kept(schema, KEEP_SCENE) | schema_kept(schema, KEEP_STATE);
  const struct system *open[SYSTEMS_MOST];
  struct walk walk = {0};
  find_loops(schedule);
  for (int i = 0; i < schedule->count; i++) {
    const struct system *system = &schedule->system[i];
    int depth = schedule->depth[i];
    if (is_end(system)) end_loop(&walk, schema, open[depth], depth);
    if (system->next) open[depth] = system;
    if (!check_use(schedule, system, written_at_all(&walk, depth), error)) return false;
    schedule->carried |= system->reads & ~walk.whole & ~elsewhere;
    schedule->touched |= system->reads | system->writes | system->parts;
    walk.whole |= system->writes;
    walk.some[depth] |= system->parts;
  }
  schedule->written = walk.whole;
  return true;
}

bool schedule_prepare(const struct schedule *schedule, struct kernels *kernels, struct error *error) {
  for (int i = 0; i < schedule->count; i++)
    for (int k = 0; k < SYSTEM_KERNELS_MOST && schedule->system[i].kernels[k]; k++)
      if (!kernel_need(kernels, schedule->system[i].kernels[k], error))
        return fail_in(error, "system %s", schedule->system[i].name);
  return true;
}

bool pass_take(struct pass *pass, size_t turn, size_t rows, size_t most) {
  size_t first = turn * most;
  if (first >= rows) return false;
  *pass = (struct pass){.first = first, .images = rows - first < most ? rows - first : most};
  return true;
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* A run of a list: what its systems have asked for, in all their turns. */
struct run {
  const struct schedule *schedule;
  struct world *world;
  struct world_use use[SYSTEMS_MOST];
};

static bool run_system(struct run *run, int place, size_t turn) {
  const struct system *system = &run->schedule->system[place];
  struct world_use before = world_enter(run->world, system), *all = &run->use[place];
  bool more = true;
  world_device(run->world)->part = system->name;
  if (system->next)
    more = system->next(run->world, system->context, turn);
  else
    system->run(run->world, system->context);
  struct world_use use = world_suspend(run->world, before);
  *all = (struct world_use){.system = more ? system : all->system,
                            .reads = all->reads | use.reads,
                            .writes = all->writes | use.writes};
  return more;
}

static void run_range(struct run *run, int first, int end) {
  const struct schedule *schedule = run->schedule;
  for (int i = first; i < end; i++) {
    if (schedule->system[i].next) {
      for (size_t turn = 0; run_system(run, i, turn); turn++) run_range(run, i + 1, schedule->end[i]);
      i = schedule->end[i];
    } else {
      run_system(run, i, 0);
    }
  }
}

void schedule_run(const struct schedule *schedule, struct world *world) {
  struct run run = {.schedule = schedule, .world = world};
  const char *before = world_device(world)->part;
  run_range(&run, 0, schedule->count);
  for (int i = 0; i < schedule->count; i++)
    if (run.use[i].system) world_compare(world, &run.use[i]);
  world_device(world)->part = before;
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
  print_set(schedule, place, "parts", system->parts, file);
}

void schedule_print(const struct schedule *schedule, FILE *file) {
  for (int i = 0; i < schedule->count; i++) print_row(schedule, i, file);
  fprintf(file, "carried to the next:");
  if (!schedule->carried) fprintf(file, " nothing");
  schema_print(schedule->schema, schedule->carried, file);
  fputc('\n', file);
}

static void print_arrow(const struct schedule *schedule, int from, int to, FILE *file) {
  const struct system *source = &schedule->system[from];
  component_set passed = (source->writes | source->parts) & schedule->system[to].reads;
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
