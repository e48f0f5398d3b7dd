#include "engine/ecs/schedule.h"

static const char *column_name(const struct schema *schema, component_set columns) {
  return schema->components[__builtin_ctzll(columns)].name;
}

static component_set kept_as(const struct schema *schema, enum keep keep) {
  component_set set = 0;
  for (size_t c = 0; c < schema->component_count; c++)
    if (schema->components[c].keep == keep) set |= SET(c);
  return set;
}

/* The first wave after every earlier system that this one must follow. */
static uint8_t find_wave(const struct schedule *schedule, const struct system *system) {
  uint8_t wave = 0;
  for (int i = 0; i < schedule->count; i++) {
    const struct system *before = schedule->system[i];
    bool follows = (before->writes & (system->reads | system->writes)) || (before->reads & system->writes);
    if (follows && schedule->wave[i] >= wave) wave = (uint8_t)(schedule->wave[i] + 1);
  }
  return wave;
}

bool schedule_build(struct schedule *schedule, const struct schema *schema, const struct system *const list[],
                    struct error *error) {
  component_set loaded = kept_as(schema, KEEP_SCENE), fleeting = kept_as(schema, KEEP_STEP), written = 0;
  *schedule = (struct schedule){.schema = schema};
  for (; *list; list++) {
    const struct system *system = *list;
    component_set unwritten = system->reads & fleeting & ~written;
    REQUIRE(schedule->count < SYSTEMS_MOST, "a step has at most %d systems", SYSTEMS_MOST);
    if (unwritten)
      return fail(error, "system %s reads %s, which nothing before it in the step has written", system->name,
                  column_name(schema, unwritten));
    if (system->writes & loaded)
      return fail(error, "system %s writes %s, which is loaded once and never changes in a step",
                  system->name, column_name(schema, system->writes & loaded));
    schedule->wave[schedule->count] = find_wave(schedule, system);
    schedule->system[schedule->count++] = system;
    schedule->carried |= system->reads & ~written & ~loaded;
    schedule->touched |= system->reads | system->writes;
    written |= system->writes;
  }
  return true;
}

bool schedule_prepare(const struct schedule *schedule, struct kernels *kernels, struct error *error) {
  for (int i = 0; i < schedule->count; i++)
    for (int k = 0; k < SYSTEM_KERNELS_MOST && schedule->system[i]->kernels[k]; k++)
      if (!kernel_need(kernels, schedule->system[i]->kernels[k], error))
        return fail_in(error, "system %s", schedule->system[i]->name);
  return true;
}

void schedule_run(const struct schedule *schedule, struct world *world) {
  const char *before = world->device->part;
  for (int i = 0; i < schedule->count; i++) {
    world->running = schedule->system[i];
    world->device->part = world->running->name;
    world->running->run(world, world->running->context);
  }
  world->running = NULL;
  world->device->part = before;
}

static void print_set(const struct schema *schema, component_set set, FILE *file) {
  for (size_t c = 0; c < schema->component_count; c++)
    if (set & SET(c))
      fprintf(file, " %s.%s", schema->table_names[schema->components[c].table], schema->components[c].name);
  fputc('\n', file);
}

void schedule_print(const struct schedule *schedule, FILE *file) {
  for (int i = 0; i < schedule->count; i++) {
    const struct system *system = schedule->system[i];
    fprintf(file, "%d %s: %s\n", schedule->wave[i], system->name, system->doc);
    fprintf(file, "    reads ");
    print_set(schedule->schema, system->reads, file);
    fprintf(file, "    writes");
    print_set(schedule->schema, system->writes, file);
  }
  fprintf(file, "carried from step to step:");
  print_set(schedule->schema, schedule->carried, file);
}

void schedule_print_dot(const struct schedule *schedule, FILE *file) {
  fprintf(file, "digraph step {\n  rankdir=LR;\n  node [shape=box];\n");
  for (int i = 0; i < schedule->count; i++)
    fprintf(file, "  s%d [label=\"%s\\nwave %d\"];\n", i, schedule->system[i]->name, schedule->wave[i]);
  for (int j = 0; j < schedule->count; j++)
    for (int i = 0; i < j; i++) {
      component_set passed = schedule->system[i]->writes & schedule->system[j]->reads;
      if (!passed) continue;
      fprintf(file, "  s%d -> s%d [label=\"", i, j);
      const char *separator = "";
      for (size_t c = 0; c < schedule->schema->component_count; c++)
        if (passed & SET(c)) {
          fprintf(file, "%s%s", separator, schedule->schema->components[c].name);
          separator = "\\n";
        }
      fprintf(file, "\"];\n");
    }
  fprintf(file, "}\n");
}
