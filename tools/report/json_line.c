#include "tools/report/json_line.h"

#include "engine/files/part.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scanning: each returns what follows, NULL where it is not what was expected ----------------------- */

static const char *skip_space(const char *at) {
  return at + strspn(at, " \t\r\n");
}

static const char *skip_text(const char *at) {
  if (*at != '"') return NULL;
  for (at++; *at && *at != '"'; at++)
    if (*at == '\\' && at[1]) at++;
  return *at ? at + 1 : NULL;
}

/* A text, a nested list or object, or a word (number, true, false, null). */
static const char *skip_value(const char *at) {
  if (*at == '"') return skip_text(at);
  size_t depth = 0;
  const char *start = at;
  while (*at && (depth || !strchr(",}]", *at))) {
    if (*at == '"') {
      if (!(at = skip_text(at))) return NULL;
      continue;
    }
    depth += *at == '{' || *at == '[';
    depth -= *at == '}' || *at == ']';
    at++;
  }
  return *at && at > start ? at : NULL;
}

/* The value of the key, or NULL; *whole says whether the line is an object to its end, where `key` is NULL.
 */
static const char *find_value(const char *line, const char *key, bool *whole) {
  const char *at = skip_space(line), *name;
  *whole = false;
  if (*at++ != '{') return NULL;
  for (at = skip_space(at); *at == '"'; at = skip_space(at + 1)) {
    name = at + 1;
    if (!(at = skip_text(at))) return NULL;
    size_t length = (size_t)(at - 1 - name);
    at = skip_space(at);
    if (*at++ != ':') return NULL;
    at = skip_space(at);
    if (key && strlen(key) == length && !memcmp(key, name, length)) return at;
    if (!(at = skip_value(at))) return NULL;
    at = skip_space(at);
    if (*at != ',') break;
  }
  *whole = *at == '}' && !*skip_space(at + 1);
  return NULL;
}

/* ---- values -------------------------------------------------------------------------------------------- */

bool json_number_of(const char *line, const char *key, double *value) {
  bool whole;
  const char *at = find_value(line, key, &whole);
  char *end;
  if (!at) return false;
  if (!strncmp(at, "null", 4)) {
    *value = NAN;
    return true;
  }
  *value = strtod(at, &end);
  return end > at;
}

/* Four hexadecimal digits; -1: there are not four. */
static long unit_of(const char *at) {
  for (int i = 0; i < 4; i++)
    if (!isxdigit((unsigned char)at[i])) return -1;
  char digits[5] = {at[0], at[1], at[2], at[3], 0};
  return strtol(digits, NULL, 16);
}

static char *put_utf8(char *to, long code) {
  int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
  *to++ = (char)(first[more] | code >> 6 * more);
  while (more-- > 0) *to++ = (char)(0x80 | (code >> 6 * more & 0x3f));
  return to;
}

/* From behind the backslash on; a pair of surrogates is one character, half of one and zero are U+FFFD. */
static const char *put_escape(const char *at, char **to) {
  static const char letters[] = "bfnrt", controls[] = "\b\f\n\r\t";
  const char *letter = *at ? strchr(letters, *at) : NULL;
  long code = *at == 'u' ? unit_of(at + 1) : -1, low;
  if (code < 0) {
    *(*to)++ = letter ? controls[letter - letters] : *at;
    return at + 1;
  }
  at += 5;
  if (code >= 0xd800 && code < 0xdc00 && at[0] == '\\' && at[1] == 'u' && (low = unit_of(at + 2)) >= 0xdc00 &&
      low < 0xe000) {
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    at += 6;
  }
  bool half = code >= 0xd800 && code < 0xe000;
  *to = put_utf8(*to, half || !code ? 0xfffd : code);
  return at;
}

const char *json_text_of(const char *line, const char *key, struct arena *arena) {
  bool whole;
  const char *at = find_value(line, key, &whole), *end = at ? skip_text(at) : NULL;
  if (!end) return NULL;
  char *text = arena_new(arena, (size_t)(end - at)), *to = text; /* no escape is shorter than what it means */
  for (at++; at < end - 1;) {
    if (*at == '\\')
      at = put_escape(at + 1, &to);
    else
      *to++ = *at++;
  }
  return text;
}

/* ---- files --------------------------------------------------------------------------------------------- */

bool json_lines(const char *path, bool grows, json_see *see, void *context, struct error *error) {
  FILE *file = file_read(path, error);
  if (!file) return false;
  char *line = NULL;
  size_t room = 0, number = 0;
  bool good = true, whole;
  for (ssize_t length; good && (length = getline(&line, &room, file)) > 0;) {
    number++;
    if (!*skip_space(line)) continue;
    find_value(line, NULL, &whole);
    if (!whole && grows && line[length - 1] != '\n') break;
    good = whole ? see(line, context, error)
                 : fail(error, "%s:%zu is no JSON object on one line; it is damaged or another kind of file",
                        path, number);
  }
  if (good && ferror(file)) good = fail(error, "cannot read %s: %s", path, strerror(errno));
  free(line);
  fclose(file);
  return good;
}
