#include "engine/base/option.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *option_next(const char *list, char *word, size_t size) {
  while (*list == ',' || isspace((unsigned char)*list)) list++;
  if (!*list) return NULL;
  size_t length = strcspn(list, ",");
  size_t kept = length;
  while (kept && isspace((unsigned char)list[kept - 1])) kept--;
  if (kept >= size) kept = size - 1;
  memcpy(word, list, kept);
  word[kept] = 0;
  return list + length;
}

bool option_has(const char *list, const char *word) {
  char next[64];
  while ((list = option_next(list, next, sizeof next)))
    if (!strcmp(next, word)) return true;
  return false;
}

size_t option_count(const char *list) {
  char word[128];
  size_t count = 0;
  while ((list = option_next(list, word, sizeof word))) count++;
  return count;
}

bool option_whole(const char *word, uint32_t least, uint32_t most, uint32_t *value) {
  size_t digits = strspn(word, "0123456789");
  if (!digits || word[digits] || digits > 15) return false;
  unsigned long long number = strtoull(word, NULL, 10);
  if (number < least || number > most) return false;
  *value = (uint32_t)number;
  return true;
}

bool option_repeated(const char *list, char *word, size_t size) {
  char other[128];
  REQUIRE(size <= sizeof other, "words of %zu bytes; at most %zu are compared", size, sizeof other);
  while ((list = option_next(list, word, size)))
    for (const char *rest = list; (rest = option_next(rest, other, size));)
      if (!strcmp(word, other)) return true;
  return false;
}

/* The next letter or digit, lower; 0 at the end. */
static int next_letter(const char **at, const char *end) {
  while (*at < end && !isalnum((unsigned char)**at)) ++*at;
  return *at < end ? tolower((unsigned char)*(*at)++) : 0;
}

static bool same_span(const char *a, const char *a_end, const char *b, const char *b_end) {
  int letter;
  while ((letter = next_letter(&a, a_end)))
    if (letter != next_letter(&b, b_end)) return false;
  return !next_letter(&b, b_end);
}

bool same_word(const char *a, const char *b) {
  return same_span(a, a + strlen(a), b, b + strlen(b));
}

bool is_one_of_words(const char *word, const char *words) {
  for (const char *end; *words; words = end + (*end == '|')) {
    end = words + strcspn(words, "|");
    if (same_span(word, word + strlen(word), words, end)) return true;
  }
  return false;
}

static size_t edit_distance(const char *a, const char *b) {
  enum { LONGEST = 64 };
  size_t m = strlen(a), n = strlen(b), row[LONGEST + 1];
  if (m > LONGEST || n > LONGEST) return SIZE_MAX;
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 1; i <= m; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[n];
}

const char *nearest_name(const char *word, const char *const names[], size_t count) {
  const char *best = NULL;
  size_t least = strlen(word) / 2 + 2;
  for (size_t i = 0; i < count; i++)
    if (same_word(word, names[i])) return names[i];
  for (size_t i = 0; i < count; i++) {
    size_t distance = edit_distance(word, names[i]);
    if (distance < least) least = distance, best = names[i];
  }
  return best;
}

const struct option *option_find(const struct option_table *table, const char *key) {
  for (size_t i = 0; i < table->count; i++) {
    const struct option *row = &table->rows[i];
    size_t length = strlen(row->section);
    if (!strncmp(key, row->section, length) && key[length] == '.' && !strcmp(key + length + 1, row->name))
      return row;
  }
  return NULL;
}

static bool refuse_key(const struct option_table *table, const char *key, const char *where,
                       struct error *error) {
  struct arena *arena = arena_open();
  const char **names = ARENA_NEW(arena, const char *, table->count);
  for (size_t i = 0; i < table->count; i++)
    names[i] = arena_text(arena, "%s.%s", table->rows[i].section, table->rows[i].name);
  const char *near = nearest_name(key, names, table->count);
  if (near)
    fail_usage(error, "unknown key %s at %s; did you mean %s?", key, where, near);
  else
    fail_usage(error, "unknown key %s at %s; `l2sr describe options` lists all keys", key, where);
  arena_close(arena);
  return false;
}

static bool parse_number(const char *text, double *value) {
  char *end;
  errno = 0;
  *value = strtod(text, &end);
  return *text && !isspace((unsigned char)*text) && !*end && !errno && isfinite(*value);
}

static bool set_number(const struct option *row, void *field, const char *text, const char *where,
                       struct error *error) {
  double value;
  bool whole = row->type == OPTION_U32;
  const char *kind = whole ? "a whole number" : "a number";
  if (!parse_number(text, &value) || (whole && value != floor(value)))
    return fail_usage(error, "%s.%s is '%s' at %s; it must be %s from %.10g to %.10g", row->section,
                      row->name, text, where, kind, row->low, row->high);
  if (value < row->low || value > row->high)
    return fail_usage(error, "%s.%s is %s at %s; it must be %.10g to %.10g", row->section, row->name, text,
                      where, row->low, row->high);
  if (whole)
    *(option_U32 *)field = (uint32_t)value;
  else
    *(option_F64 *)field = value;
  return true;
}

static bool read_side(const struct option *row, const char *word, uint32_t *side) {
  double value;
  if (!parse_number(word, &value) || value != floor(value) || value < row->low || value > row->high)
    return false;
  *side = (uint32_t)value;
  return true;
}

/* "128", "640,368" as a scene's list comes, or "[640, 368]" as one writes it. */
static bool read_sides(const struct option *row, struct arena *arena, const char *text, option_SIDES *sides) {
  size_t length = strlen(text);
  bool brackets = length >= 2 && text[0] == '[' && text[length - 1] == ']';
  const char *first = brackets ? arena_text(arena, "%.*s", (int)length - 2, text + 1) : text, *second = first;
  const char *comma = strchr(first, ',');
  if (comma) {
    second = comma + 1 + strspn(comma + 1, " ");
    first = arena_text(arena, "%.*s", (int)(comma - first), first);
  }
  return read_side(row, first, &sides->height) && read_side(row, second, &sides->width);
}

static bool set_sides(const struct option *row, option_SIDES *field, struct arena *arena, const char *text,
                      const char *where, struct error *error) {
  option_SIDES sides;
  if (!read_sides(row, arena, text, &sides))
    return fail_usage(error,
                      "%s.%s is '%s' at %s; it must be a whole number from %.10g to %.10g, or two of them, "
                      "[height, width]",
                      row->section, row->name, text, where, row->low, row->high);
  *field = sides;
  return true;
}

static bool set_bool(const struct option *row, void *field, const char *text, const char *where,
                     struct error *error) {
  if (strcmp(text, "true") && strcmp(text, "false"))
    return fail_usage(error, "%s.%s is '%s' at %s; it must be true or false", row->section, row->name, text,
                      where);
  *(option_BOOL *)field = text[0] == 't';
  return true;
}

static bool set_choice(const struct option *row, void *field, const char *text, const char *where,
                       struct error *error) {
  size_t length = strlen(text);
  uint32_t place = 0;
  char near[96] = "";
  for (const char *choice = row->choices; choice; place++) {
    size_t span = strcspn(choice, "|");
    if (span == length && !memcmp(choice, text, span)) {
      *(option_CHOICE *)field = place;
      return true;
    }
    if (same_span(text, text + length, choice, choice + span))
      snprintf(near, sizeof near, "did you mean %.*s? ", (int)span, choice);
    choice = choice[span] ? choice + span + 1 : NULL;
  }
  bool number = *text >= '0' && *text <= '9'; /* taken for another key: what this one is */
  return fail_usage(error, "%s.%s is '%s' at %s; %sit must be one of %s%s%s", row->section, row->name, text, where,
                    near, row->choices, number ? ": " : "", number ? row->doc : "");
}

static bool set_field(const struct option *row, void *field, struct arena *arena, const char *text,
                      const char *where, struct error *error) {
  switch (row->type) {
  case OPTION_U32:
  case OPTION_F64: return set_number(row, field, text, where, error);
  case OPTION_BOOL: return set_bool(row, field, text, where, error);
  case OPTION_CHOICE: return set_choice(row, field, text, where, error);
  case OPTION_SIDES: return set_sides(row, field, arena, text, where, error);
  case OPTION_TEXT:
  case OPTION_LIST: break;
  }
  *(const char **)field = arena_text(arena, "%s", text);
  return true;
}

bool option_set(const struct option_table *table, void *values, struct arena *arena, const char *key,
                const char *text, const char *where, struct error *error) {
  const struct option *row = option_find(table, key);
  if (!row) return refuse_key(table, key, where, error);
  if (!set_field(row, (char *)values + row->offset, arena, text, where, error)) return false;
  if (table->given) ((bool *)((char *)values + table->given))[row - table->rows] = true;
  return true;
}

void option_defaults(const struct option_table *table, void *values, struct arena *arena) {
  for (size_t i = 0; i < table->count; i++) {
    const struct option *row = &table->rows[i];
    char key[128];
    struct error error;
    snprintf(key, sizeof key, "%s.%s", row->section, row->name);
    REQUIRE(option_set(table, values, arena, key, row->standard, "the option table", &error), "%s",
            error.text);
  }
  if (table->given) memset((char *)values + table->given, 0, table->count * sizeof(bool));
}

static const char *choice_text(const struct option *row, uint32_t place, struct arena *arena) {
  const char *choice = row->choices;
  while (place--) choice += strcspn(choice, "|") + 1;
  return arena_text(arena, "%.*s", (int)strcspn(choice, "|"), choice);
}

/* A double-quoted YAML scalar. */
static const char *quote(const char *text, struct arena *arena) {
  char *quoted = arena_new(arena, 4 * strlen(text) + 3), *end = quoted;
  *end++ = '"';
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      *end++ = '\\', *end++ = *text;
    else if ((unsigned char)*text < 0x20 || *text == 0x7f)
      end += snprintf(end, 5, "\\x%02x", (unsigned)*text);
    else
      *end++ = *text;
  *end = '"';
  return quoted;
}

static bool is_plain(const char *word) {
  bool plain = isalnum((unsigned char)*word);
  for (; *word; word++) plain = plain && (isalnum((unsigned char)*word) || strchr("_.+-/", *word));
  return plain;
}

static const char *list_text(const char *list, struct arena *arena) {
  size_t size = strlen(list) + 1;
  char *word = arena_new(arena, size);
  const char *text = "";
  while ((list = option_next(list, word, size)))
    text = arena_text(arena, "%s%s%s", text, *text ? "," : "", is_plain(word) ? word : quote(word, arena));
  return arena_text(arena, "[%s]", text);
}

static const char *number_text(double value, struct arena *arena) {
  const char *text = arena_text(arena, "%.10g", value);
  return strtod(text, NULL) == value ? text : arena_text(arena, "%.17g", value);
}

static const char *sides_text(const option_SIDES *sides, struct arena *arena) {
  if (sides->height == sides->width) return arena_text(arena, "%u", sides->width);
  return arena_text(arena, "[%u,%u]", sides->height, sides->width);
}

const char *option_text(const struct option *row, const void *values, struct arena *arena) {
  const void *field = (const char *)values + row->offset;
  switch (row->type) {
  case OPTION_U32: return arena_text(arena, "%u", *(const option_U32 *)field);
  case OPTION_F64: return number_text(*(const option_F64 *)field, arena);
  case OPTION_BOOL: return *(const option_BOOL *)field ? "true" : "false";
  case OPTION_CHOICE: return choice_text(row, *(const option_CHOICE *)field, arena);
  case OPTION_LIST: return list_text(*(const option_LIST *)field, arena);
  case OPTION_SIDES: return sides_text(field, arena);
  case OPTION_TEXT: break;
  }
  return quote(*(const option_TEXT *)field, arena);
}

const char *option_set_text(const struct option *row, const void *values, struct arena *arena) {
  return row->type == OPTION_TEXT ? *(const option_TEXT *)((const char *)values + row->offset)
                                  : option_text(row, values, arena);
}

static void print_help(const struct option *row, FILE *file) {
  fprintf(file, "  # %s", row->doc);
  if (row->type == OPTION_U32 || row->type == OPTION_F64)
    fprintf(file, " (%.10g to %.10g)", row->low, row->high);
  if (row->type == OPTION_SIDES) fprintf(file, " (%.10g to %.10g a side)", row->low, row->high);
  if (row->type == OPTION_CHOICE) fprintf(file, " (%s)", row->choices);
  fputc('\n', file);
}

void option_print(const struct option_table *table, const void *values, bool help, FILE *file) {
  struct arena *arena = arena_open();
  const char *section = "";
  for (size_t i = 0; i < table->count; i++) {
    const struct option *row = &table->rows[i];
    if (strcmp(section, row->section)) fprintf(file, "%s%s:\n", i && help ? "\n" : "", row->section);
    section = row->section;
    if (help) print_help(row, file);
    fprintf(file, "  %s: %s\n", row->name, option_text(row, values, arena));
  }
  arena_close(arena);
}
