/* Shows on standard error what the library says: lines, and one line of progress that is rewritten on a
 * terminal (elsewhere a plain line every ten seconds). Names of files hold any bytes, which are escaped. */
#ifndef L2SR_TOOLS_TERMINAL_H
#define L2SR_TOOLS_TERMINAL_H

#include "systems/public/l2sr.h"

void terminal_open(void); /* the program's first call: from here on the library's log is shown */
/* Levels up to `most` are shown; at first that is L2SR_INFO. Progress is shown with L2SR_INFO. */
void terminal_show(enum l2sr_level most);
void terminal_line(const char *prefix, const char *text); /* at every level */

#endif
