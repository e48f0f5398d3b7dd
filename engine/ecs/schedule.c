#include "engine/ecs/schedule.h"

#include "engine/device/profile.h"
#include "engine/ecs/trace.h"

#include <stdarg.h>

const struct system system_end = {.name = "end", .doc = "of what is repeated"};

static bool is_end(const struct system *system) {
  return system->doc == system_end.doc;
}

/* What the host does between lists: it is told, not run. */
static bool is_host(const struct system *system) {
  return !system->run && !system->next && !system->list && !is_end(system);
}

/* A loop over the rows that follow it; that over a list of another world is one row. */
static bool is_loop(const struct system *system) {
  return system->next && !system->list;
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

struct system *schedule_add_list(struct schedule *schedule, const struct system *row, void *context,
                                 const struct schedule *list, struct world *const *world,
                                 component_set (*outside)(component_set inside)) {
  struct system *system = schedule_add(schedule, row, context);
  system->list = list;
  system->over = world;
  system->reads |= outside(list->takes);
  system->parts |= outside(list->gives);
  return system;
}

void schedule_name(struct schedule *schedule, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int length = vsnprintf(schedule->name, SCHEDULE_NAME, format, values);
  va_end(values);
  REQUIRE(length < SCHEDULE_NAME, "the name of a list has at most %d bytes", SCHEDULE_NAME - 1);
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
    if (is_loop(&schedule->system[i])) open[depth++] = i;
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
  if (unwritten && !is_host(system))
    return fail(error, "system %s reads %s, which nothing before it in the step has written", system->name,
                schema_first(schema, unwritten));
  if (loaded && !system->loads)
    return fail(error, "system %s writes %s, which is loaded once and never changes in a step", system->name,
                schema_first(schema, loaded));
  return true;
}

/* Of what is written in parts, that of the tables which the loop covers is whole after it. */
static void write_parts(struct walk *walk, const struct schema *schema, const struct system *loop, component_set some,
                        int depth) {
  component_set covered = 0;
  for (uint8_t t = 0; t < schema->table_count; t++)
    if (loop->covers & TABLE_BIT(t)) covered |= schema_table(schema, t);
  walk->whole |= some & covered;
  walk->some[depth] |= some & ~covered;
}

static void end_loop(struct walk *walk, const struct schema *schema, const struct system *loop, int depth) {
  write_parts(walk, schema, loop, walk->some[depth + 1], depth);
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
    if (is_loop(system)) open[depth] = system;
    if (!check_use(schedule, system, written_at_all(&walk, depth), error)) return false;
    if (!is_host(system)) schedule->carried |= system->reads & ~walk.whole & ~elsewhere;
    schedule->takes |= system->reads & ~walk.whole;
    schedule->gives |= system->writes | system->parts;
    schedule->touched |= system->reads | system->writes | system->parts;
    walk.whole |= system->writes;
    write_parts(&walk, schema, system, system->parts, depth);
  }
  schedule->written = walk.whole;
  return true;
}

static bool prepare(const struct system *system, struct kernels *kernels, struct error *error) {
  for (int k = 0; k < SYSTEM_KERNELS_MOST && system->kernels[k]; k++)
    if (!kernel_need(kernels, system->kernels[k], error)) return fail_in(error, "system %s", system->name);
  return !system->list || schedule_prepare(system->list, kernels, error);
}

bool schedule_prepare(const struct schedule *schedule, struct kernels *kernels, struct error *error) {
  for (int i = 0; i < schedule->count; i++)
    if (!prepare(&schedule->system[i], kernels, error)) return false;
  return true;
}

bool pass_take(struct pass *pass, size_t turn, size_t rows, size_t most) {
  size_t first = turn * most;
  if (first >= rows) return false;
  *pass = (struct pass){.first = first, .images = rows - first < most ? rows - first : most};
  return true;
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* The row that a list stands in, where it is a row of another list. */
struct place {
  const struct place *around; /* of that list; NULL: it stands in none */
  int at, depth;              /* the row, and how deep its list is: loops and lists around it */
};

/* A run of a list: what its systems have asked for, in all their turns. */
struct run {
  const struct schedule *schedule;
  struct world *world;
  struct world_use use[SYSTEMS_MOST];
  const char *name;           /* of the outermost list */
  const struct place *inside; /* NULL: it is that one */
};

static struct place place_of(const struct schedule *schedule, int at, const struct place *inside) {
  return (struct place){inside, at, (inside ? inside->depth + 1 : 0) + schedule->depth[at]};
}

static void run_list(struct run *run);

/* A list over another world; the row that it is has asked for what the list has of this world. */
static void run_inner(const struct run *run, int place) {
  const struct system *row = &run->schedule->system[place];
  const struct place inside = place_of(run->schedule, place, run->inside);
  struct run inner = {.schedule = row->list, .world = *row->over, .name = run->name, .inside = &inside};
  component_set reads = 0, writes = 0;
  run_list(&inner);
  for (int i = 0; i < row->list->count; i++) {
    reads |= inner.use[i].reads;
    writes |= inner.use[i].writes;
  }
  world_pass(inner.world, run->world, reads & row->list->takes, writes & row->list->gives);
}

static bool run_row(struct run *run, int place, size_t turn) {
  const struct system *system = &run->schedule->system[place];
  REQUIRE(!is_host(system), "list %s tells of %s, which the host does", run->name, system->name);
  if (system->next && !system->next(run->world, system->context, turn)) return false;
  if (system->run) system->run(run->world, system->context);
  if (system->list) run_inner(run, place);
  return true;
}

static bool run_system(struct run *run, int place, size_t turn) {
  const struct system *system = &run->schedule->system[place];
  struct world_use before = world_enter(run->world, system), *all = &run->use[place];
  struct device *device = world_device(run->world);
  double start = profile_clock(device);
  device->part = system->name;
  bool more = run_row(run, place, turn);
  profile_host(device, system->name, start);
  struct world_use use = world_suspend(run->world, before);
  *all = (struct world_use){.system = more ? system : all->system,
                            .reads = all->reads | use.reads,
                            .writes = all->writes | use.writes};
  return more;
}

static void run_range(struct run *run, int first, int end) {
  const struct schedule *schedule = run->schedule;
  for (int i = first; i < end; i++) {
    const struct system *system = &schedule->system[i];
    if (is_loop(system)) {
      for (size_t turn = 0; run_system(run, i, turn); turn++) run_range(run, i + 1, schedule->end[i]);
      i = schedule->end[i];
    } else {
      for (size_t turn = 0; run_system(run, i, turn) && system->next; turn++) continue;
    }
  }
}

static void trace(const struct run *run);

static void run_list(struct run *run) {
  const char *before = world_device(run->world)->part;
  run_range(run, 0, run->schedule->count);
  for (int i = 0; i < run->schedule->count; i++)
    if (run->use[i].system) world_compare(run->world, &run->use[i]);
  if (world_trace(run->world)) trace(run);
  world_device(run->world)->part = before;
}

void schedule_run(const struct schedule *schedule, struct world *world) {
  struct run run = {.schedule = schedule, .world = world, .name = schedule->name};
  run_list(&run);
}

/* ---- printing ----------------------------------------------------------------------------------------- */

static void print_set(const struct schedule *schedule, int depth, const char *word, component_set set, FILE *file) {
  if (!set) return;
  fprintf(file, "%*s%-6s", 2 * depth + 4, "", word);
  schema_print(schedule->schema, set, file);
  fputc('\n', file);
}

static const char *word_of(const struct system *system) {
  if (system->next) return "repeat ";
  if (system->calls) return "call ";
  return is_host(system) ? "host " : "";
}

/* `around`: loops and lists that the schedule stands in. */
static void print_rows(const struct schedule *schedule, int around, FILE *file) {
  for (int i = 0; i < schedule->count; i++) {
    const struct system *system = &schedule->system[i];
    int depth = around + schedule->depth[i];
    if (is_end(system)) continue;
    fprintf(file, "%*s%s%s: %s\n", 2 * depth, "", word_of(system), system->name, system->doc);
    print_set(schedule, depth, "reads", system->reads, file);
    print_set(schedule, depth, "writes", system->writes, file);
    print_set(schedule, depth, "parts", system->parts, file);
    if (system->list) print_rows(system->list, depth + 1, file);
  }
}

void schedule_print(const struct schedule *schedule, FILE *file) {
  print_rows(schedule, 0, file);
  fprintf(file, "carried to the next:");
  if (!schedule->carried) fprintf(file, " nothing");
  schema_print(schedule->schema, schedule->carried, file);
  fputc('\n', file);
}

/* ---- as JSON -------------------------------------------------------------------------------------------- */

enum { PLACE_TEXT = 64 };

/* "3", or "3.1" of a list that is row 3 of another. */
static int write_place(const struct place *place, char text[PLACE_TEXT], char separator) {
  int used = place->around ? write_place(place->around, text, separator) : 0;
  if (used) text[used++] = separator;
  return used + snprintf(text + used, (size_t)(PLACE_TEXT - used), "%d", place->at);
}

/* With the columns of this use: what it declared, or has asked for. */
static void print_use(const struct schema *schema, const char *stage, const char *list, const struct place *place,
                      const struct world_use *use, FILE *file) {
  char at[PLACE_TEXT];
  write_place(place, at, '.');
  trace_print(schema, &(struct trace_place){stage, list, at, place->depth}, use->system, use->reads, use->writes, file);
}

static void print_host(const struct schema *schema, const char *stage, const struct system *system, FILE *file) {
  trace_print(schema, &(struct trace_place){stage, TRACE_HOST, "", 0}, system, system->reads,
              system->writes | system->parts, file);
}

static void print_rows_json(const struct schedule *schedule, const char *stage, const char *list,
                            const struct place *inside, FILE *file) {
  for (int i = 0; i < schedule->count; i++) {
    const struct system *system = &schedule->system[i];
    const struct place place = place_of(schedule, i, inside);
    const struct world_use use = {
        .system = system, .reads = system->reads, .writes = system->writes | system->parts};
    if (is_host(system))
      print_host(schedule->schema, stage, system, file);
    else if (!is_end(system))
      print_use(schedule->schema, stage, list, &place, &use, file);
    if (system->list) print_rows_json(system->list, stage, list, &place, file);
  }
}

void schedule_print_json(const struct schedule *schedule, const char *stage, FILE *file) {
  print_rows_json(schedule, stage, schedule->name, NULL, file);
}

/* Lines are added whole: several worlds may write to the file. */
static void trace(const struct run *run) {
  const char *stage = world_device(run->world)->stage;
  FILE *file = fopen(world_trace(run->world), "a");
  if (!file) return;
  for (int i = 0; i < run->schedule->count; i++) {
    const struct place place = place_of(run->schedule, i, run->inside);
    if (run->use[i].system)
      print_use(run->schedule->schema, stage ? stage : "", run->name, &place, &run->use[i], file);
  }
  fclose(file);
}

/* ---- as a graph ----------------------------------------------------------------------------------------- */

static void print_node(const struct place *place, FILE *file) {
  char at[PLACE_TEXT];
  write_place(place, at, '_');
  fprintf(file, "s%s", at);
}

static void print_arrow(const struct schedule *schedule, int from, int to, const struct place *inside, FILE *file) {
  const struct system *source = &schedule->system[from];
  const struct place places[] = {place_of(schedule, from, inside), place_of(schedule, to, inside)};
  component_set passed = (source->writes | source->parts) & schedule->system[to].reads;
  const char *separator = "";
  if (!passed) return;
  fputs("  ", file);
  print_node(&places[0], file);
  fputs(" -> ", file);
  print_node(&places[1], file);
  fputs(" [label=\"", file);
  for (size_t c = 0; c < schedule->schema->component_count; c++)
    if (passed & SET(c)) {
      fprintf(file, "%s%s", separator, schedule->schema->components[c].name);
      separator = "\\n";
    }
  fprintf(file, "\"];\n");
}

/* A list over another world has columns of its own: no arrow leads into it or out, its row has them. */
static void print_nodes(const struct schedule *schedule, const struct place *inside, FILE *file) {
  for (int i = 0; i < schedule->count; i++) {
    const struct system *system = &schedule->system[i];
    const struct place place = place_of(schedule, i, inside);
    if (is_end(system)) continue;
    fputs("  ", file);
    print_node(&place, file);
    fprintf(file, " [label=\"%s%s\"];\n", word_of(system), system->name);
    if (system->list) print_nodes(system->list, &place, file);
  }
  for (int to = 0; to < schedule->count; to++)
    for (int from = 0; from < to; from++) print_arrow(schedule, from, to, inside, file);
}

void schedule_print_dot(const struct schedule *schedule, FILE *file) {
  fprintf(file, "digraph step {\n  rankdir=LR;\n  node [shape=box];\n");
  print_nodes(schedule, NULL, file);
  fprintf(file, "}\n");
}
