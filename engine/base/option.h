/* One row is the default, the file key, the flag, the help line and the attribute in every result file. */
#ifndef L2SR_ENGINE_OPTION_H
#define L2SR_ENGINE_OPTION_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <stdint.h>
#include <stdio.h>

enum option_type { OPTION_U32, OPTION_F64, OPTION_BOOL, OPTION_TEXT, OPTION_CHOICE, OPTION_LIST, OPTION_SIDES };

struct option_sides {
  uint32_t height, width;
};

/* The C type of a field in the struct of values. */
typedef uint32_t option_U32;
typedef double option_F64;
typedef bool option_BOOL;
typedef const char *option_TEXT;
typedef uint32_t option_CHOICE;  /* place in the row's choices */
typedef const char *option_LIST; /* words joined by commas */
typedef struct option_sides option_SIDES; /* one whole number, or two: height, width */

static inline struct option_sides option_square(size_t side) {
  return (struct option_sides){(uint32_t)side, (uint32_t)side};
}

struct option {
  const char *section, *name;
  enum option_type type;
  size_t offset;        /* where the field lies in the struct of values */
  const char *standard; /* the default, as text */
  double low, high;     /* the range of a number, of each of two sides; both ends allowed */
  const char *choices;  /* the words of OPTION_CHOICE, joined by '|' */
  const char *doc;
  unsigned concerns;    /* a number of the table's owner, behind `doc`; 0: nothing is said */
};

struct option_table {
  const struct option *rows;
  size_t count;
  size_t given; /* offset of a bool a row, in the struct of values: it was set; 0: not kept */
};

/* Sets every field to its row's default. */
void option_defaults(const struct option_table *table, void *values, struct arena *arena);

/* Sets section.key from text; `where` says where the text came from ("knee.yaml:7", "--set").
 * Refuses unknown keys (naming the nearest), wrong types, values out of range and unknown choices. */
bool option_set(const struct option_table *table, void *values, struct arena *arena, const char *key,
                const char *text, const char *where, struct error *error);

const struct option *option_find(const struct option_table *table, const char *key);
/* The value as text, as it could stand in a scene file (lists in brackets). */
const char *option_text(const struct option *row, const void *values, struct arena *arena);
/* As --set takes it: a text stands for itself, without a scene's quotes. */
const char *option_set_text(const struct option *row, const void *values, struct arena *arena);
/* All rows as YAML; with `help` each preceded by its meaning, range and choices. */
void option_print(const struct option_table *table, const void *values, bool help, FILE *file);

/* Copies the next word of a comma list into word and returns the rest, or NULL at the end. */
const char *option_next(const char *list, char *word, size_t size);
size_t option_count(const char *list);
bool option_has(const char *list, const char *word);
/* Whether a word stands twice in the list; copies the first that does. */
bool option_repeated(const char *list, char *word, size_t size);

/* A number of nothing but digits, from least to most; otherwise *value stays as it is. */
bool option_whole(const char *word, uint32_t least, uint32_t most, uint32_t *value);

/* Whether they are one word but for case and all that is no letter or digit: "PG-MRI" and "pgmri". */
bool same_word(const char *a, const char *b);
/* The same with one of the words that '|' joins. */
bool is_one_of_words(const char *word, const char *words);
/* The entry of `names` (count of them) that is the same word, or else nearest by edit distance, or NULL if none is near. */
const char *nearest_name(const char *word, const char *const names[], size_t count);

#endif
