/* Colours of pictures: grey for images, a scale for errors. */
#ifndef L2SR_TOOLS_COLOUR_H
#define L2SR_TOOLS_COLOUR_H

#include <stddef.h>

struct colour {
  unsigned char red, green, blue;
};

/* Black to white for 0 to 1; magenta for what is no number. */
struct colour colour_grey(float fraction);
/* Black over purple and orange to light yellow: brightness grows evenly, so it reads in grey and for
 * colour-blind eyes. */
struct colour colour_heat(float fraction);
/* Grey value 1 of an image: what 99.8 % of the pixels stay below, so that a few bright ones do not darken the
 * rest. */
float colour_white(const float *image, size_t pixels);

#endif
