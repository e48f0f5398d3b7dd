/* Reads what the program itself writes as JSON lines, one object a line: jansson parses them. */
#ifndef L2SR_TOOLS_JSON_LINE_H
#define L2SR_TOOLS_JSON_LINE_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <jansson.h>
#include <stdbool.h>

enum { JSON_LINE_MOST = 1 << 20 /* bytes of a line; the longest that is written has some thousands */ };

/* Calls `see` for every line of the file that is not empty. A line that is no whole object is refused with
 * its number; the last one may be cut short where the file is still written (`grows`). */
typedef bool json_see(const json_t *line, void *context, struct error *error);
bool json_lines(const char *path, bool grows, json_see *see, void *context, struct error *error);

/* The value of a key of the top level: false where it is not there or of another kind. null is NaN. */
bool json_number_of(const json_t *line, const char *key, double *value);
const char *json_text_of(const json_t *line, const char *key, struct arena *arena); /* NULL: not there */

#endif
