/* Grey pictures as PNG files in memory, by cairo. */
#ifndef L2SR_ENGINE_PNG_H
#define L2SR_ENGINE_PNG_H

#include "engine/base/arena.h"

/* pixel: [height][width], 0 is black. The file is in the arena. NULL: cairo has no room for it. */
const unsigned char *png_make(struct arena *arena, const unsigned char *pixel, size_t width, size_t height,
                              size_t *bytes);

#endif
