#include "engine/files/scene.h"

#include "engine/files/part.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

enum { DEPTH = 8, READINGS = 64, BYTES = 1 << 20, KEY = 128, TEXT = 4096 };

struct walk {
  const struct walk *outer; /* whose file extends this one; NULL: none */
  const struct option_table *table;
  void *values;
  struct arena *arena;
  const char *path, *folder;
  struct stat status; /* identifies the file: it may be read already */
  int depth;
  size_t *readings; /* of files, so far */
  bool *seen; /* a flag for each row: this file has set it */
  yaml_parser_t parser;
  yaml_event_t event;
};

static bool read_file(const struct walk *outer, const char *path, struct error *error);

static size_t line_of(const struct walk *walk) {
  return walk->event.start_mark.line + 1;
}

static bool next_event(struct walk *walk, struct error *error) {
  yaml_event_delete(&walk->event);
  if (!yaml_parser_parse(&walk->parser, &walk->event))
    return fail_usage(error, "%s:%zu: %s; the file must be YAML of the form section: {key: value}",
                      walk->path, walk->parser.problem_mark.line + 1,
                      walk->parser.problem ? walk->parser.problem : "cannot be parsed");
  const yaml_event_t *event = &walk->event;
  if (event->type == YAML_ALIAS_EVENT || (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor) ||
      (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.anchor) ||
      (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.anchor))
    return fail_usage(error, "%s:%zu: anchors and aliases are not allowed in a scene; write the value out",
                      walk->path, line_of(walk));
  if ((event->type == YAML_SCALAR_EVENT && event->data.scalar.tag) ||
      (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.tag) ||
      (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.tag))
    return fail_usage(error, "%s:%zu: tags are not allowed in a scene; remove the tag", walk->path,
                      line_of(walk));
  return true;
}

static bool copy_scalar(const struct walk *walk, char *text, size_t size, struct error *error) {
  if (walk->event.type != YAML_SCALAR_EVENT)
    return fail_usage(error, "%s:%zu: expected a single value here", walk->path, line_of(walk));
  size_t length = walk->event.data.scalar.length;
  if (length >= size)
    return fail_usage(error, "%s:%zu: a value of %zu bytes; at most %zu fit", walk->path, line_of(walk),
                      length, size - 1);
  if (memchr(walk->event.data.scalar.value, 0, length))
    return fail_usage(error, "%s:%zu: a value holds a NUL byte; remove it", walk->path, line_of(walk));
  memcpy(text, walk->event.data.scalar.value, length);
  text[length] = 0;
  return true;
}

/* Reads a scalar or a sequence of scalars, joined by commas; the event is on the value's start. */
static bool read_value(struct walk *walk, char *text, struct error *error) {
  if (walk->event.type != YAML_SEQUENCE_START_EVENT) return copy_scalar(walk, text, TEXT, error);
  size_t used = 0;
  for (text[0] = 0;;) {
    if (!next_event(walk, error)) return false;
    if (walk->event.type == YAML_SEQUENCE_END_EVENT) return true;
    if (used) text[used++] = ',';
    if (!copy_scalar(walk, text + used, TEXT - used, error)) return false;
    used += strlen(text + used);
    if (used + 2 >= TEXT) return fail_usage(error, "%s:%zu: the list is too long", walk->path, line_of(walk));
  }
}

static bool set_key(struct walk *walk, const char *section, struct error *error) {
  char name[KEY], text[TEXT];
  if (!copy_scalar(walk, name, sizeof name, error)) return false;
  const char *key = arena_text(walk->arena, "%s.%s", section, name);
  const char *where = arena_text(walk->arena, "%s:%zu", walk->path, line_of(walk));
  if (!next_event(walk, error) || !read_value(walk, text, error)) return false;
  const struct option *row = option_find(walk->table, key);
  if (row && walk->seen[row - walk->table->rows])
    return fail_usage(error, "%s stands twice in %s, the second time at line %zu; keep one", key, walk->path,
                      line_of(walk));
  if (row) walk->seen[row - walk->table->rows] = true;
  return option_set(walk->table, walk->values, walk->arena, key, text, where, error);
}

/* One without keys has none that would be refused. */
static bool check_section(const struct option_table *table, const char *section, const char *where,
                          struct error *error) {
  for (size_t i = 0; i < table->count; i++)
    if (!strcmp(table->rows[i].section, section)) return true;
  return fail_usage(error, "unknown section %s at %s; `l2sr describe options` lists all keys", section, where);
}

static bool read_section(struct walk *walk, const char *section, struct error *error) {
  if (walk->event.type != YAML_MAPPING_START_EVENT)
    return fail_usage(error, "%s:%zu: section %s must hold key: value lines", walk->path, line_of(walk),
                      section);
  const char *where = arena_text(walk->arena, "%s:%zu", walk->path, line_of(walk));
  for (bool empty = true;; empty = false) {
    if (!next_event(walk, error)) return false;
    if (walk->event.type == YAML_MAPPING_END_EVENT)
      return !empty || check_section(walk->table, section, where, error);
    if (!set_key(walk, section, error)) return false;
  }
}

/* The file of that name beside the one being read, else in the folder where it is there. */
static const char *find_extended(const struct walk *walk, const char *name) {
  struct stat status;
  const char *slash = strrchr(walk->path, '/');
  const char *end = strlen(name) > 5 && !strcmp(name + strlen(name) - 5, ".yaml") ? "" : ".yaml";
  const char *path = name[0] == '/' || !slash ? arena_text(walk->arena, "%s%s", name, end)
                                              : arena_text(walk->arena, "%.*s/%s%s",
                                                           (int)(slash - walk->path), walk->path, name, end);
  if (!walk->folder || strchr(name, '/') || !stat(path, &status)) return path;
  const char *other = arena_text(walk->arena, "%s/%s%s", walk->folder, name, end);
  return stat(other, &status) ? path : other;
}

static bool read_extended(struct walk *walk, struct error *error) {
  char name[TEXT];
  if (!copy_scalar(walk, name, sizeof name, error)) return false;
  return read_file(walk, find_extended(walk, name), error)
             ? true
             : fail_in(error, "%s:%zu extends", walk->path, line_of(walk));
}

/* One name, or a list of them; each is applied over those before it. */
static bool read_extends(struct walk *walk, struct error *error) {
  if (walk->event.type != YAML_SEQUENCE_START_EVENT) return read_extended(walk, error);
  for (;;) {
    if (!next_event(walk, error)) return false;
    if (walk->event.type == YAML_SEQUENCE_END_EVENT) return true;
    if (!read_extended(walk, error)) return false;
  }
}

static bool read_root(struct walk *walk, struct error *error) {
  char sections[32][KEY];
  size_t count = 0;
  if (walk->event.type != YAML_MAPPING_START_EVENT)
    return fail_usage(error, "%s:%zu: a scene must be a mapping of sections", walk->path, line_of(walk));
  for (;;) {
    if (!next_event(walk, error)) return false;
    if (walk->event.type == YAML_MAPPING_END_EVENT) return true;
    REQUIRE(count < 32, "a table of options has at most 32 sections");
    char *section = sections[count];
    if (!copy_scalar(walk, section, KEY, error)) return false;
    for (size_t i = 0; i < count; i++)
      if (!strcmp(sections[i], section))
        return fail_usage(error, "%s:%zu: section %s stands twice; join the two", walk->path, line_of(walk),
                          section);
    bool extends = !strcmp(section, "extends");
    if (extends && count)
      return fail_usage(error, "%s:%zu: extends must be the first key, for it is applied first", walk->path,
                        line_of(walk));
    count++;
    if (!next_event(walk, error)) return false;
    if (!(extends ? read_extends(walk, error) : read_section(walk, section, error))) return false;
  }
}

/* Reads to the end of the file, so that nothing after the scene is passed over; an empty file changes
 * nothing. */
static bool read_document(struct walk *walk, struct error *error) {
  for (bool started = false;;) {
    if (!next_event(walk, error)) return false;
    switch (walk->event.type) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT: continue;
    case YAML_STREAM_END_EVENT: return true;
    case YAML_DOCUMENT_START_EVENT:
      if (started)
        return fail_usage(error, "%s:%zu: a second document; a scene is one document", walk->path,
                          line_of(walk));
      started = true;
      continue;
    case YAML_SCALAR_EVENT:
      if (!walk->event.data.scalar.length) continue;
      break;
    default: break;
    }
    if (!read_root(walk, error)) return false;
  }
}

static bool check_depth(const struct walk *walk, struct error *error) {
  for (const struct walk *outer = walk->outer; outer; outer = outer->outer)
    if (outer->path && outer->status.st_dev == walk->status.st_dev &&
        outer->status.st_ino == walk->status.st_ino)
      return fail_usage(error, "scene %s extends itself; break the circle", walk->path);
  if (walk->depth <= DEPTH) return true;
  return fail_usage(error, "scenes extend each other more than %d deep at %s; join some of them", DEPTH,
                    walk->path);
}

/* A few files that each extend the next one often are read for ever. */
static bool check_readings(const struct walk *walk, struct error *error) {
  if (++*walk->readings <= READINGS) return true;
  return fail_usage(error,
                    "%s would be the %dth file that is read for one scene, for a file is read anew wherever it is "
                    "extended; name each once, or join some of them",
                    walk->path, READINGS + 1);
}

/* Reads the whole file into the arena. */
static const char *read_bytes(const struct walk *walk, FILE *file, size_t *length, struct error *error) {
  char *bytes = arena_try(walk->arena, BYTES);
  if (!bytes) return fail_memory(error, "cannot read scene %s: no memory", walk->path), NULL;
  *length = fread(bytes, 1, BYTES, file);
  if (ferror(file)) return fail_file(error, "cannot read scene %s: %s", walk->path, strerror(errno)), NULL;
  if (*length < BYTES) return bytes;
  return fail_file(error, "%s has more than %d bytes; is it a scene?", walk->path, BYTES - 1), NULL;
}

static bool parse(struct walk *walk, const char *text, size_t length, struct error *error) {
  if (!yaml_parser_initialize(&walk->parser))
    return fail_memory(error, "cannot start the YAML parser for %s", walk->path);
  yaml_parser_set_input_string(&walk->parser, (const unsigned char *)text, length);
  bool good = read_document(walk, error);
  yaml_event_delete(&walk->event);
  yaml_parser_delete(&walk->parser);
  return good;
}

static bool read_file(const struct walk *outer, const char *path, struct error *error) {
  FILE *file = file_read_given(path, error);
  if (!file) return fail_in(error, "scene");
  struct walk walk = {.outer = outer, .table = outer->table, .values = outer->values, .arena = outer->arena,
                      .path = path, .folder = outer->folder, .depth = outer->depth + 1, .readings = outer->readings,
                      .seen = ARENA_NEW(outer->arena, bool, outer->table->count)};
  size_t length = 0;
  bool good = !fstat(fileno(file), &walk.status) && check_depth(&walk, error) && check_readings(&walk, error);
  const char *text = good ? read_bytes(&walk, file, &length, error) : NULL;
  fclose(file);
  return text && parse(&walk, text, length, error);
}

bool scene_read(const struct option_table *table, void *values, struct arena *arena, const char *path,
                const char *folder, struct error *error) {
  size_t readings = 0;
  struct walk outer = {.table = table, .values = values, .arena = arena, .folder = folder, .readings = &readings};
  return read_file(&outer, path, error);
}

bool scene_read_text(const struct option_table *table, void *values, struct arena *arena, const char *text,
                     const char *folder, struct error *error) {
  size_t readings = 0;
  struct walk walk = {.table = table, .values = values, .arena = arena, .path = "the scene's text", .folder = folder,
                      .depth = 1, .readings = &readings, .seen = ARENA_NEW(arena, bool, table->count)};
  return parse(&walk, text, strlen(text), error);
}

static bool is_file(const char *path) {
  struct stat status;
  return !stat(path, &status) && !S_ISDIR(status.st_mode);
}

const char *scene_find(struct arena *arena, const char *name, const char *folder, struct error *error) {
  const char *candidates[] = {name, arena_text(arena, "%s.yaml", name),
                              arena_text(arena, "%s/%s", folder, name),
                              arena_text(arena, "%s/%s.yaml", folder, name)};
  size_t length = strlen(name), count = strchr(name, '/') ? 1 : sizeof candidates / sizeof *candidates;
  for (size_t i = 0; i < count; i++)
    if (is_file(candidates[i])) return candidates[i];
  if (strchr(name, '/'))
    fail(error, "there is no scene file %s; check the path", name);
  else if (length > 5 && !strcmp(name + length - 5, ".yaml"))
    fail(error, "there is no scene %s: it is neither here nor in %s; write the path of a file", name, folder);
  else
    fail(error, "there is no scene %s: neither %s nor %s.yaml is here or in %s; write the path of a file", name, name,
         name, folder);
  return NULL;
}

bool scene_assign(const struct option_table *table, void *values, struct arena *arena,
                  const char *assignment, const char *where, struct error *error) {
  const char *equals = strchr(assignment, '=');
  if (!equals) return fail_usage(error, "%s '%s' has no '='; write section.key=value", where, assignment);
  const char *key = arena_text(arena, "%.*s", (int)(equals - assignment), assignment), *value = equals + 1;
  const struct option *row = option_find(table, key);
  size_t length = strlen(value);
  if (!strcmp(value, "{}") && !strchr(key, '.')) return check_section(table, key, where, error);
  if (row && row->type == OPTION_LIST && length >= 2 && value[0] == '[' && value[length - 1] == ']')
    value = arena_text(arena, "%.*s", (int)length - 2, value + 1);
  return option_set(table, values, arena, key, value, where, error);
}

const char *scene_value(const char *text, const char *section, const char *name, struct arena *arena) {
  const char *header = arena_text(arena, "%s:\n", section), *at = text;
  const char *label = arena_text(arena, "  %s: ", name);
  while (at && strncmp(at, header, strlen(header))) at = (at = strchr(at, '\n')) ? at + 1 : NULL;
  if (at) at = strchr(at, '\n') + 1;
  for (; at && *at == ' '; at = (at = strchr(at, '\n')) ? at + 1 : NULL)
    if (!strncmp(at, label, strlen(label)))
      return arena_text(arena, "%.*s", (int)strcspn(at + strlen(label), "\n"), at + strlen(label));
  return NULL;
}
