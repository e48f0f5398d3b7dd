/* Reads what the program itself writes as JSON lines: one object a line, whose top level has texts, numbers
 * and null; what is nested is passed over. */
#ifndef L2SR_TOOLS_JSON_LINE_H
#define L2SR_TOOLS_JSON_LINE_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Calls `see` for every line of the file that is not empty. A line that is no whole object is refused with
 * its number; the last one may be cut short where the file is still written (`grows`). */
typedef bool json_see(const char *line, void *context, struct error *error);
bool json_lines(const char *path, bool grows, json_see *see, void *context, struct error *error);

/* The value of a key of the top level: false where it is not there or of another kind. null is NaN. */
bool json_number_of(const char *line, const char *key, double *value);
const char *json_text_of(const char *line, const char *key, struct arena *arena); /* NULL: not there */

#endif
