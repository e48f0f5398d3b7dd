/* A bitmap font for pictures: ASCII 32 to 126, 5 columns of 8 pixels. */
#ifndef L2SR_TOOLS_FONT_H
#define L2SR_TOOLS_FONT_H

#include <stdbool.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 8, FONT_ADVANCE = 6 };

/* Whether the pixel of the character is set; other characters are drawn as '?', outside nothing is set. */
bool font_pixel(char character, int x, int y);

#endif
