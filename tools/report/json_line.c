#include "tools/report/json_line.h"

#include "engine/files/part.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- values -------------------------------------------------------------------------------------------- */

bool json_number_of(const json_t *line, const char *key, double *value) {
  const json_t *found = json_object_get(line, key);
  *value = json_is_null(found) ? NAN : json_number_value(found);
  return json_is_null(found) || json_is_number(found);
}

const char *json_text_of(const json_t *line, const char *key, struct arena *arena) {
  const char *text = json_string_value(json_object_get(line, key));
  return text ? arena_text(arena, "%s", text) : NULL;
}

/* ---- files --------------------------------------------------------------------------------------------- */

struct text {
  char *data;
  size_t room;
  struct arena *arena;
};

static void grow(struct text *line) {
  size_t room = line->room ? 2 * line->room : 1 << 12;
  char *data = arena_new(line->arena, room);
  if (line->room) memcpy(data, line->data, line->room);
  line->data = data;
  line->room = room;
}

/* Returns how many bytes the next line has, its end included. What is longer is cut. */
static size_t read_line(FILE *file, struct text *line) {
  size_t length = 0;
  for (int c = 0; length < JSON_LINE_MOST && c != '\n' && (c = getc(file)) != EOF;) {
    if (length == line->room) grow(line);
    line->data[length++] = (char)c;
  }
  return length;
}

static bool is_empty(const char *line, size_t length) {
  size_t i = 0;
  while (i < length && strchr(" \t\r\n", line[i]) && line[i]) i++;
  return i == length;
}

static bool is_cut(const char *line, size_t length) {
  return line[length - 1] != '\n';
}

/* NULL: it is no object, and `why` says what was found. */
static json_t *parse(const char *line, size_t length, const char **why, json_error_t *problem) {
  /* a counter may have more digits than an integer of jansson takes */
  json_t *value = json_loadb(line, length, JSON_DECODE_INT_AS_REAL, problem);
  *why = value ? "it is a list" : problem->text;
  if (json_is_object(value)) return value;
  if (length == JSON_LINE_MOST && is_cut(line, length)) *why = "it is longer than 1 MiB";
  json_decref(value);
  return NULL;
}

bool json_lines(const char *path, bool grows, json_see *see, void *context, struct error *error) {
  FILE *file = file_read(path, error);
  if (!file) return false;
  struct text line = {.arena = arena_open()};
  bool good = true;
  for (size_t length, number = 1; good && (length = read_line(file, &line)); number++) {
    const char *why;
    json_error_t problem;
    if (is_empty(line.data, length)) continue;
    json_t *object = parse(line.data, length, &why, &problem);
    if (!object && grows && is_cut(line.data, length) && feof(file)) break;
    good = object ? see(object, context, error)
                  : fail(error,
                         "%s:%zu is no JSON object on one line (%s); it is damaged or another kind of file",
                         path, number, why);
    json_decref(object);
  }
  if (good && ferror(file)) good = fail(error, "cannot read %s: %s", path, strerror(errno));
  arena_close(line.arena);
  fclose(file);
  return good;
}
