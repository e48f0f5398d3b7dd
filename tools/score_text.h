/* A score is called and rounded in one way, in tables, captions and legends. */
#ifndef L2SR_TOOLS_SCORE_TEXT_H
#define L2SR_TOOLS_SCORE_TEXT_H

#include "engine/arena.h"

#include <stddef.h>

const char *score_name(struct arena *arena, size_t metric);                  /* "PSNR (dB)" */
const char *score_caption(struct arena *arena, size_t metric, double value); /* "PSNR 31.27 dB" */
/* The name for readers of what a file or a log calls by its name in scenes, or that name. */
const char *score_title(const char *name);

#endif
