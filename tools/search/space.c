#include "tools/search/space.h"

#include "engine/base/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512 };

static const char *const kinds[RANGE_KINDS] = {"linear", "log", "integer", "choice"};
static const double numbers_apart =
    0.7; /* words of a choice, of a range's length: half of its square is 0.5^2 */

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Trials are compared by their score: what is scored stays, and so does where files are. */
static bool check_concern(const struct option *row, const char *where, const char *key, struct error *error) {
  static const char *const fixed[] = {"acquisition", "coils",     "world",   "reward", "evaluate",
                                      "search",      "benchmark", "phantom", "import"};
  bool scored = row->concerns == CONCERNS_TEST || row->concerns == CONCERNS_SLICES;
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    scored = scored || !strcmp(row->section, fixed[i]);
  if (scored)
    return fail_usage(error,
                      "%s has %s, which says what is scored, and trials are compared by their score; take it "
                      "out of the space",
                      where, key);
  return row->type != OPTION_TEXT ||
         fail_usage(error, "%s has %s, which is a text (%s); take it out of the space", where, key, row->doc);
}

static bool check_value(const struct space *space, const struct options *options, const char *key,
                        const char *text, const char *where, struct error *error) {
  struct options *tried = ARENA_NEW(space->arena, struct options, 1);
  *tried = *options;
  return option_set(&option_table, tried, space->arena, key, text, where, error);
}

static bool read_number(const char *word, double *value) {
  char *end;
  errno = 0;
  *value = strtod(word, &end);
  return *word && !*end && !errno && isfinite(*value);
}

static bool read_numbers(struct range *range, size_t words, const struct option *row, const char *where,
                         struct error *error) {
  bool whole = row->type == OPTION_U32;
  const char *key = range->key;
  if (!whole && row->type != OPTION_F64)
    return fail_usage(error, "%s has %s, which is no number; name its words by search.choice", where, key);
  if (words != 2 || !read_number(range->word[0], &range->low) || !read_number(range->word[1], &range->high))
    return fail_usage(
        error, "%s has '%s' with %zu word%s; write the key, the lowest and the highest number, as [%s 1 10]",
        where, key, words, plural(words), key);
  if (!(range->low < range->high))
    return fail_usage(error,
                      "%s: the range of %s from %s to %s is empty; the second number must be above the first",
                      where, key, range->word[0], range->word[1]);
  if (range->kind == RANGE_LOG && range->low <= 0)
    return fail_usage(error,
                      "%s: the range of %s begins at %s, which has no logarithm; begin above 0, or name it "
                      "in search.linear",
                      where, key, range->word[0]);
  if (range->kind == RANGE_INTEGER && !whole)
    return fail_usage(
        error, "%s has %s, which takes more than whole numbers; name it in search.linear or search.log",
        where, key);
  range->whole = whole;
  return true;
}

static bool read_words(const struct range *range, size_t words, const char *where, struct error *error) {
  if (words < 2)
    return fail_usage(error, "%s: %s has %zu value%s to choose from; name two at least", where, range->key,
                      words, plural(words));
  for (size_t i = 0; i < words; i++)
    for (size_t j = 0; j < i; j++)
      if (!strcmp(range->word[i], range->word[j]))
        return fail_usage(error, "%s gives %s the value '%s' twice; write each value once", where, range->key,
                          range->word[i]);
  return true;
}

/* Words of the line, parted by blanks. */
static bool part_words(struct space *space, struct range *range, const char *line, const char *where,
                       size_t *count, struct error *error) {
  char *rest = arena_text(space->arena, "%s", line), *at = NULL;
  range->key = strtok_r(rest, " ", &at);
  for (char *word; (word = strtok_r(NULL, " ", &at)); range->word[(*count)++] = word)
    if (*count == RANGE_WORDS)
      return fail_usage(error, "%s gives %s more than %d values; search in parts", where, range->key,
                        RANGE_WORDS);
  return true;
}

static bool read_range(struct space *space, const struct options *options, enum range_kind kind,
                       const char *line, struct error *error) {
  const char *where = arena_text(space->arena, "search.%s", kinds[kind]);
  if (space->ranges == RANGES_MOST)
    return fail_usage(error, "the space has more than %d keys; search in parts", RANGES_MOST);
  struct range *range = &space->range[space->ranges++];
  size_t words = 0;
  *range = (struct range){.kind = kind};
  if (!part_words(space, range, line, where, &words, error)) return false;
  for (size_t i = 0; i + 1 < space->ranges; i++)
    if (!strcmp(space->range[i].key, range->key))
      return fail_usage(error, "the space has %s twice; name it once", range->key);
  const struct option *row = option_find(&option_table, range->key);
  if (!row) return check_value(space, options, range->key, "", where, error);
  if (!check_concern(row, where, range->key, error)) return false;
  for (size_t i = 0; i < words; i++)
    if (!check_value(space, options, range->key, range->word[i], where, error)) return false;
  range->words = kind == RANGE_CHOICE ? words : 0;
  space->features += kind == RANGE_CHOICE ? words : 1;
  return kind == RANGE_CHOICE ? read_words(range, words, where, error)
                              : read_numbers(range, words, row, where, error);
}

bool space_read(struct space *space, const struct options *options, struct arena *arena,
                struct error *error) {
  const char *lists[RANGE_KINDS] = {[RANGE_LINEAR] = options->search.linear,
                                    [RANGE_LOG] = options->search.log,
                                    [RANGE_INTEGER] = options->search.integer,
                                    [RANGE_CHOICE] = options->search.choice};
  char line[LINE];
  *space = (struct space){.arena = arena};
  for (int kind = 0; kind < RANGE_KINDS; kind++)
    for (const char *list = lists[kind]; (list = option_next(list, line, sizeof line));)
      if (!read_range(space, options, kind, line, error)) return false;
  return space->ranges ||
         fail_usage(
             error,
             "the space is empty; name keys and their ranges in search.linear, log, integer or choice, as "
             "scenes/search_l2s.yaml does");
}

/* ---- dials --------------------------------------------------------------------------------------------- */

static double number_at(const struct range *range, double dial) {
  double value = range->kind == RANGE_LOG ? range->low * pow(range->high / range->low, dial)
                                          : range->low + dial * (range->high - range->low);
  return range->whole ? round(value) : value;
}

static size_t word_at(const struct range *range, double dial) {
  size_t place = dial > 0 ? (size_t)(dial * (double)range->words) : 0;
  return place < range->words ? place : range->words - 1;
}

const char *space_text(const struct space *space, size_t place, double dial) {
  const struct range *range = &space->range[place];
  if (range->kind == RANGE_CHOICE) return range->word[word_at(range, dial)];
  return arena_text(space->arena, range->whole ? "%.0f" : "%.4g", number_at(range, dial));
}

static double dial_of(const struct range *range, double value) {
  if (range->kind != RANGE_LOG) return (value - range->low) / (range->high - range->low);
  return log(fmax(value, range->low * 1e-3) / range->low) / log(range->high / range->low);
}

double space_dial(const struct space *space, size_t place, const char *text) {
  const struct range *range = &space->range[place];
  double value;
  for (size_t i = 0; i < range->words; i++)
    if (!strcmp(range->word[i], text)) return ((double)i + 0.5) / (double)range->words;
  return !range->words && read_number(text, &value) ? dial_of(range, value) : NAN;
}

void space_own(const struct space *space, const struct options *options, double *dial) {
  for (size_t r = 0; r < space->ranges; r++)
    dial[r] = space_dial(space, r,
                         option_text(option_find(&option_table, space->range[r].key), options, space->arena));
}

void space_see(const struct space *space, const double *dial, double *feature) {
  for (size_t r = 0; r < space->ranges; r++) {
    const struct range *range = &space->range[r];
    if (range->kind != RANGE_CHOICE) *feature++ = dial_of(range, number_at(range, dial[r]));
    for (size_t w = 0; w < range->words; w++)
      *feature++ = !isnan(dial[r]) && word_at(range, dial[r]) == w ? numbers_apart : 0;
  }
}
