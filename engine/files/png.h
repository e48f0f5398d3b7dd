/* Grey pictures as PNG, for files that hold pictures inside: not packed, so that nothing but this is needed. */
#ifndef L2SR_ENGINE_PNG_H
#define L2SR_ENGINE_PNG_H

#include <stddef.h>

/* The bytes that the picture takes. */
size_t png_bytes(size_t width, size_t height);
/* Writes them; pixel: [height][width], 0 is black. */
void png_write(unsigned char *to, const unsigned char *pixel, size_t width, size_t height);

#endif
