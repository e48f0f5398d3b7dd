/* A score is called and rounded in one way, in tables, captions and legends. */
#ifndef L2SR_TOOLS_SCORE_TEXT_H
#define L2SR_TOOLS_SCORE_TEXT_H

#include "engine/base/arena.h"

#include <stddef.h>

const char *score_name(struct arena *arena, size_t metric);                  /* "PSNR (dB)" */
const char *score_caption(struct arena *arena, size_t metric, double value); /* "PSNR 31.27 dB" */
/* The score's name for a metric that a file or a log calls by its name in scenes; that name where there is no
 * such metric. */
const char *score_of(struct arena *arena, const char *name);

#endif
