/* What a search has found: a table of all trials, the Pareto front of score over seconds as table and figure,
 * and its best beside the scene's own values. */
#ifndef L2SR_TOOLS_SEARCH_SHOW_H
#define L2SR_TOOLS_SEARCH_SHOW_H

#include "tools/search/trials.h"

/* FOLDER/search.csv, front.csv, front.svg and front.png; `up`: what the score is. */
bool show_write(const struct trials *trials, const char *folder, const char *up, struct error *error);
/* The front and the best, as text or one JSON object a trial. */
void show_print(const struct trials *trials, bool json);

#endif
