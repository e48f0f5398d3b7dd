#include "engine/ecs/schema.h"

component_set schema_table(const struct schema *schema, uint8_t table) {
  component_set set = 0;
  for (size_t c = 0; c < schema->component_count; c++)
    if (schema->components[c].table == table) set |= SET(c);
  return set;
}

component_set schema_kept(const struct schema *schema, enum keep keep) {
  component_set set = 0;
  for (size_t c = 0; c < schema->component_count; c++)
    if (schema->components[c].keep == keep) set |= SET(c);
  return set;
}

const char *schema_first(const struct schema *schema, component_set columns) {
  size_t c = 0;
  while (!(columns & SET(c))) c++;
  return schema->components[c].name;
}

void schema_print(const struct schema *schema, component_set columns, FILE *file) {
  for (size_t c = 0; c < schema->component_count; c++)
    if (columns & SET(c))
      fprintf(file, " %s.%s", schema->table_names[schema->components[c].table], schema->components[c].name);
}
