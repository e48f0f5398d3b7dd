#include "engine/ecs/trace.h"

#include "engine/base/log.h"

static void print_text(const char *word, const char *text, FILE *file) {
  fprintf(file, ",\"%s\":", word);
  json_text(file, text);
}

static void print_set(const struct schema *schema, const char *word, component_set set, FILE *file) {
  const char *separator = "";
  fprintf(file, ",\"%s\":\"", word);
  for (size_t c = 0; c < schema->component_count; c++)
    if (set & SET(c)) {
      const struct component_desc *row = &schema->components[c];
      fprintf(file, "%s%s.%s", separator, schema->table_names[row->table], row->name);
      separator = " ";
    }
  fputc('"', file);
}

static void print_kernels(const struct system *system, FILE *file) {
  fprintf(file, ",\"kernels\":\"");
  for (int k = 0; k < SYSTEM_KERNELS_MOST && system->kernels[k]; k++)
    fprintf(file, "%s%s", k ? " " : "", system->kernels[k]);
  fputc('"', file);
}

static const char *kind_of(const struct system *system) {
  if (system->next) return "loop";
  if (system->list) return "list";
  if (system->calls) return "call";
  return system->run ? "system" : "host";
}

void trace_print(const struct schema *schema, const struct trace_place *place, const struct system *system,
                 component_set reads, component_set writes, FILE *file) {
  fprintf(file, "{\"stage\":");
  json_text(file, place->stage);
  print_text("list", place->list, file);
  print_text("place", place->at, file);
  fprintf(file, ",\"depth\":%d", place->depth);
  print_text("name", system->name, file);
  print_text("kind", kind_of(system), file);
  print_text("doc", system->doc, file);
  print_set(schema, "reads", reads & system->reads, file);
  print_set(schema, "writes", writes & system->writes, file);
  print_set(schema, "parts", writes & system->parts, file);
  print_kernels(system, file);
  fputs("}\n", file);
}
