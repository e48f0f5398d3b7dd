/* Why results stand in tables of their own: which key or which slices keep them from being compared. */
#include "components/options.h"
#include "engine/base/log.h"
#include "tools/report/report.h"

#include <string.h>

const char *report_file_name(struct arena *arena, const struct report_set *set, size_t file) {
  const char *name = set->names;
  for (size_t i = 0; name && i < file; i++) name = (name = strchr(name, '\n')) ? name + 1 : NULL;
  return name ? arena_text(arena, "%.*s", (int)strcspn(name, "\n"), name) : "?";
}

static const char *value_text(const char *value) {
  return *value ? value : "empty";
}

/* "data.size is 64 here and 128 there", of all keys of one concern that differ; "": none does. */
static const char *keys_text(struct arena *arena, const struct report_set *own,
                             const struct report_set *first, unsigned concern) {
  const char *text = "";
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (row->concerns != concern || !strcmp(own->key[i], first->key[i])) continue;
    text = arena_text(arena, "%s%s%s.%s is %s here and %s there", text, *text ? ", " : "", row->section,
                      row->name, value_text(own->key[i]), value_text(first->key[i]));
  }
  return text;
}

/* " --set data.size=128": what gives the first set's values. */
static const char *flags_text(struct arena *arena, const struct report_set *own,
                              const struct report_set *first, unsigned concern) {
  const char *text = "";
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    if (row->concerns == concern && strcmp(own->key[i], first->key[i]))
      text = arena_text(arena, "%s --set %s.%s=%s", text, row->section, row->name, first->key[i]);
  }
  return text;
}

static bool has_line(const char *lines, const char *line, size_t length) {
  for (; lines; lines = (lines = strchr(lines, '\n')) ? lines + 1 : NULL)
    if (strcspn(lines, "\n") == length && !memcmp(lines, line, length)) return true;
  return false;
}

/* A file that one of two sets has alone; NULL: they are of the same ones. */
static const char *other_file(struct arena *arena, const struct report_set *set,
                              const struct report_set *other) {
  for (const char *name = set->names; name; name = (name = strchr(name, '\n')) ? name + 1 : NULL) {
    size_t length = strcspn(name, "\n");
    if (!has_line(other->names, name, length)) return arena_text(arena, "%.*s", (int)length, name);
  }
  return NULL;
}

/* The first slice whose place or whose range differs. */
static const char *slice_text(struct arena *arena, const struct report_set *own,
                              const struct report_set *first) {
  size_t i = 0, count = own->slices < first->slices ? own->slices : first->slices;
  while (i < count && own->volume[i] == first->volume[i] && own->number[i] == first->number[i] &&
         own->range[i] == first->range[i])
    i++;
  if (i == count) return "the files were selected otherwise";
  const char *name = report_file_name(arena, own, own->volume[i]);
  if (own->volume[i] == first->volume[i] && own->number[i] == first->number[i])
    return arena_text(
        arena,
        "the data range of slice %u of %s is %.9g here and %.9g there, so that files of one name "
        "hold other images",
        own->number[i], name, own->range[i], first->range[i]);
  return arena_text(arena, "row %zu is slice %u of %s here and slice %u of %s there", i, own->number[i], name,
                    first->number[i], report_file_name(arena, first, first->volume[i]));
}

static const char *slices_text(struct arena *arena, const struct report_set *own,
                               const struct report_set *first) {
  const char *keys = keys_text(arena, own, first, CONCERNS_SLICES);
  if (*keys) keys = arena_text(arena, "; %s", keys);
  char here_size[SCAN_SHAPE_TEXT], there_size[SCAN_SHAPE_TEXT];
  if (!scan_shape_same_sides(&own->shape, &first->shape))
    return arena_text(arena, "N is %s here and %s there%s", scan_shape_text(&own->shape, here_size),
                      scan_shape_text(&first->shape, there_size), keys);
  const char *here = other_file(arena, own, first), *there = other_file(arena, first, own);
  if (here || there)
    return arena_text(arena, "%zu slice%s of %zu file%s here and %zu of %zu there, of which only %s %s %s%s",
                      own->slices, plural(own->slices), own->volumes, plural(own->volumes), first->slices,
                      first->volumes, here ? "these" : "those", "have", here ? here : there, keys);
  if (own->slices != first->slices)
    return arena_text(arena, "%zu slice%s here and %zu there%s", own->slices, plural(own->slices),
                      first->slices, keys);
  return arena_text(arena, "%s%s", slice_text(arena, own, first), keys);
}

const char *report_part_text(const struct report *report, size_t set) {
  struct arena *arena = report->arena;
  const struct report_set *own = &report->set[set], *first = &report->set[0];
  if (!set) return "";
  const char *keys = keys_text(arena, own, first, CONCERNS_TEST);
  if (*keys)
    return arena_text(
        arena,
        "Not compared with data set 1, for the slices are read or scored otherwise: %s. To compare "
        "the methods, run l2sr evaluate for these results again with%s. How a method was trained "
        "keeps no results apart.",
        keys, flags_text(arena, own, first, CONCERNS_TEST));
  if (*own->classifier && *first->classifier && strcmp(own->classifier, first->classifier))
    return "Not compared with data set 1, for another classifier has scored it (reward.classifier). To compare the methods, run "
           "l2sr evaluate for all of them with one.";
  return arena_text(
      arena,
      "Not compared with data set 1, for it is of other slices: %s. To compare the methods, run "
      "l2sr evaluate for these results again on the files of %s%s%s. How a method was trained keeps "
      "no results apart.",
      slices_text(arena, own, first), first->path,
      *flags_text(arena, own, first, CONCERNS_SLICES) ? ", with" : "",
      flags_text(arena, own, first, CONCERNS_SLICES));
}
