#include "systems/networks/facts.h"

#include <math.h>
#include <string.h>

/* A value, and in words: itself, or that there is none. */
struct told {
  bool there;
  double number; /* sides that differ: 0 */
  struct scan_shape shape;
  char text[64], words[80];
};

static bool is_text(const struct fact *fact) {
  return fact->kind == FACT_NAME || fact->kind == FACT_TEXT;
}

static struct told put_in_words(const struct fact *fact, struct told told) {
  if (!told.there)
    snprintf(told.words, sizeof told.words, "missing or no %s", is_text(fact) ? "text" : "number");
  else if (is_text(fact))
    snprintf(told.words, sizeof told.words, "'%s'", told.text);
  else if (fact->kind == FACT_SIDES && !told.number)
    snprintf(told.words, sizeof told.words, "%s", told.text);
  else
    snprintf(told.words, sizeof told.words, "%.9g", told.number);
  return told;
}

static struct told tell_text(const struct fact *fact, const char *text) {
  struct told told = {.there = true};
  snprintf(told.text, sizeof told.text, "%s", text);
  return put_in_words(fact, told);
}

static struct told tell_number(const struct fact *fact, double number) {
  return put_in_words(fact, (struct told){.there = true, .number = number});
}

static struct told tell_sides(const struct fact *fact, const struct scan_shape *shape) {
  struct told told = {.there = true, .shape = *shape};
  if (shape->height == shape->width) told.number = shape->width;
  scan_shape_text(shape, told.text);
  return put_in_words(fact, told);
}

/* The program's value. */
static struct told tell(const struct fact *fact, const struct network_facts *values) {
  const char *place = (const char *)values + fact->place;
  if (fact->kind == FACT_NAME) return tell_text(fact, fact->text);
  if (fact->kind == FACT_TEXT) return tell_text(fact, place);
  if (fact->kind == FACT_SIDES) return tell_sides(fact, (const struct scan_shape *)(const void *)place);
  return tell_number(fact, *(const double *)(const void *)place);
}

/* What is no whole number of pixels leaves the shape empty. */
static struct told find_sides(const struct fact *fact, struct store *store) {
  struct told told = {0};
  told.there = store_number(store, fact->name, &told.number);
  if (told.there && told.number >= fact->low && told.number <= fact->high)
    told.shape.height = told.shape.width = (uint32_t)told.number;
  if (!told.there)
    told.there =
        store_text(store, fact->name, told.text, sizeof told.text) && scan_shape_read(told.text, &told.shape);
  return put_in_words(fact, told);
}

/* The file's value. */
static struct told find(const struct fact *fact, struct store *store) {
  if (fact->kind == FACT_SIDES) return find_sides(fact, store);
  struct told told = {0};
  told.there = is_text(fact) ? store_text(store, fact->name, told.text, sizeof told.text)
                             : store_number(store, fact->name, &told.number);
  return put_in_words(fact, told);
}

static void take(const struct fact *fact, const struct told *told, struct network_facts *values) {
  char *place = (char *)values + fact->place;
  if (fact->kind == FACT_TEXT)
    strcpy(place, told->text);
  else if (fact->kind == FACT_SIDES)
    *(struct scan_shape *)(void *)place = told->shape;
  else if (fact->kind != FACT_NAME)
    *(double *)(void *)place = told->number;
}

static bool refuse(const struct fact *fact, const struct told *found, const char *expected, const char *advice,
                   struct error *error) {
  return fail_file(error, "its attribute %s is %s; expected %s: the file is damaged, %s", fact->name,
                   found->words, expected, advice);
}

/* ---- writing and going on ------------------------------------------------------------------------------ */

static bool put(const struct fact *fact, const struct told *own, struct store *store, struct error *error) {
  bool text = is_text(fact) || (fact->kind == FACT_SIDES && !own->number);
  return text ? store_put_text(store, fact->name, own->text, error)
              : store_put_number(store, fact->name, own->number, error);
}

bool facts_write(const struct fact *facts, const struct network_facts *values, struct store *store,
                 struct error *error) {
  for (; facts->name; facts++) {
    struct told own = tell(facts, values);
    if (!facts->unwritten && !put(facts, &own, store, error)) return false;
  }
  return true;
}

bool facts_same(const struct fact *facts, const struct network_facts *values, struct store *store,
                struct error *error) {
  for (; facts->name; facts++) {
    struct told own = tell(facts, values), found = find(facts, store);
    bool same = is_text(facts)
                    ? !strcmp(found.text, own.text)
                    : found.number == own.number && scan_shape_same_sides(&found.shape, &own.shape);
    if (!facts->unwritten && !(found.there && same))
      return refuse(facts, &found, own.words, "start anew in another train.output", error);
  }
  return true;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void expect(const struct fact *fact, char *text, size_t size) {
  if (is_text(fact))
    snprintf(text, size, "a word");
  else
    snprintf(text, size, "a %snumber from %.10g to %.10g", fact->kind == FACT_NUMBER ? "" : "whole ",
             fact->low, fact->high);
}

/* NaN lies between no two numbers. */
static bool is_good(const struct fact *fact, const struct told *found) {
  if (!found->there) return false;
  if (is_text(fact)) return strlen(found->text) < sizeof(((struct network_facts *)NULL)->input);
  if (fact->kind == FACT_SIDES && !found->number)
    return fmin(found->shape.height, found->shape.width) >= fact->low &&
           fmax(found->shape.height, found->shape.width) <= fact->high;
  return found->number >= fact->low && found->number <= fact->high &&
         (fact->kind == FACT_NUMBER || found->number == floor(found->number));
}

/* Other programs may have computed a number that is not whole. */
static bool agrees(const struct fact *fact, const struct told *found, const struct told *own) {
  if (is_text(fact)) return !strcmp(found->text, own->text);
  if (fact->kind == FACT_SIDES) return scan_shape_same_sides(&found->shape, &own->shape);
  return fabs(found->number - own->number) <= (fact->kind == FACT_NUMBER ? 1e-6 * fabs(found->number) : 0);
}

/* The value that a good file without it means. */
static struct told lacking(const struct fact *fact, const struct told *own) {
  if (fact->text) return tell_text(fact, fact->text);
  return fact->number != 0 ? tell_number(fact, fact->number) : *own;
}

static bool refuse_key(const struct fact *fact, const struct told *found, const struct told *own,
                       struct error *error) {
  return fail(error,
              "it was trained with %s %s (attribute %s), and %s is %s; set it to %s or use another checkpoint",
              fact->key, found->words, fact->name, fact->key, own->words, found->words);
}

static bool read_fact(const struct fact *fact, struct network_facts *values, struct store *store,
                      struct error *error) {
  char expected[64];
  struct told own = tell(fact, values), found = find(fact, store);
  bool lacks = !found.there && fact->may_lack && !store_has_value(store, fact->name);
  if (lacks) found = lacking(fact, &own);
  expect(fact, expected, sizeof expected);
  if (!lacks && !is_good(fact, &found)) return refuse(fact, &found, expected, "use another checkpoint", error);
  if (fact->key && !agrees(fact, &found, &own)) return refuse_key(fact, &found, &own, error);
  take(fact, &found, values);
  return true;
}

bool facts_are(const struct fact *facts, struct store *store) {
  struct told found = find(facts, store);
  return found.there && !strcmp(found.text, facts->text);
}

bool facts_kind(const struct fact *facts, struct store *store, struct error *error) {
  struct told found = find(facts, store);
  return facts_are(facts, store) ||
         fail_file(error, "it is no checkpoint of %s: its attribute %s is %s; expected '%s': %s", facts->what,
                   facts->name, found.words, facts->text, facts->make);
}

bool facts_read(const struct fact *facts, struct network_facts *values, struct store *store,
                struct error *error) {
  if (!facts_kind(facts, store, error)) return false;
  for (facts++; facts->name; facts++)
    if (!read_fact(facts, values, store, error)) return false;
  return true;
}
