/* Writes what `l2sr evaluate` puts into a folder: results.h5, slices.csv and curves.csv. They are opened
 * before the work, so that it does not end at a disk that takes no files, and take their places when all are
 * whole. */
#ifndef L2SR_TOOLS_RESULTS_H
#define L2SR_TOOLS_RESULTS_H

#include "components/options.h"
#include "engine/device/device.h"
#include "engine/files/store.h"
#include "systems/methods/evaluate.h"

struct results {
  const char *folder; /* "": nothing is written */
  bool overwrite;
  const char *row, *column; /* of a cross table; NULL: of none */
  struct store *store;
  struct text_file slices, curves;
  int held; /* the folder, from the start: two that write there would know of each other at the end only */
};

/* Refuses a folder that holds results, unless they may be replaced. */
bool results_check(const char *folder, bool overwrite, struct error *error);
bool results_open(struct results *results, const char *folder, bool overwrite, struct error *error);
bool results_write(struct results *results, const struct options *options,
                   const struct evaluation *evaluation, const struct device *device, struct error *error);
void results_close(struct results *results); /* removes what results_write did not finish */

#endif
