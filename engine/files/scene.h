/* Scene files: YAML read as libyaml events into typed option rows (engine/base/option.h).
 *
 *   extends: other.yaml        applied first, found beside the file or in `folder`; .yaml may be left out; of a list
 *                              [one, other] each is applied over those before it
 *   section:
 *     key: value               every scalar is text until its row types it
 *     key: [a, b]              becomes the list a,b
 *
 * Refused with file and line: unknown keys, duplicates, anchors, aliases, tags, anything nested deeper. A file
 * is read anew wherever it is extended: more than 64 readings are refused, and so are a file of a MiB and what is
 * no file, but for what the program was given open (/dev/stdin). */
#ifndef L2SR_ENGINE_SCENE_H
#define L2SR_ENGINE_SCENE_H

#include "engine/base/option.h"

/* Applies the file over `values`. `folder` holds scenes that any file may extend by name; NULL: none. */
bool scene_read(const struct option_table *table, void *values, struct arena *arena, const char *path,
                const char *folder, struct error *error);

/* The same from a text; what it extends is found in the working folder or in `folder`. */
bool scene_read_text(const struct option_table *table, void *values, struct arena *arena, const char *text,
                     const char *folder, struct error *error);

/* The file that a name means: itself, with .yaml, or either in `folder`; a name with '/' is a path. NULL: refused. */
const char *scene_find(struct arena *arena, const char *name, const char *folder, struct error *error);

/* Applies one "section.key=value"; a list may stand in brackets, "section.key=[a,b]". */
bool scene_assign(const struct option_table *table, void *values, struct arena *arena,
                  const char *assignment, const char *where, struct error *error);

/* The value of section.name in the text that option_print made of a scene, or NULL. */
const char *scene_value(const char *text, const char *section, const char *name, struct arena *arena);

#endif
