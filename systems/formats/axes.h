/* What the axes of an array are: a letter each (import.axes). s slices, c coils, h height, w width and phase
 * encoding, p real and imaginary part, 0 only the first entry, 1 an axis of one entry. */
#ifndef L2SR_SYSTEMS_AXES_H
#define L2SR_SYSTEMS_AXES_H

#include "engine/base/error.h"

#include <stddef.h>

enum { AXES_MOST = 16 };

struct axes {
  char letter[AXES_MOST + 1];
  bool sure; /* there is no other reading that is as likely */
};

/* By the sizes alone. `complex`: the numbers are, so that coils may be there; `height_first`: height and
 * width come first, as MATLAB has them. */
struct axes axes_guess(int rank, const size_t *size, bool complex, bool height_first);
/* "s,c,h,w" for an array of that rank; axes of one entry may be left out. Refuses what is no reading of it.
 */
bool axes_parse(const char *text, int rank, const size_t *size, bool complex, struct axes *axes,
                struct error *error);
/* "s,c,h,w" */
void axes_text(const struct axes *axes, char text[2 * AXES_MOST + 1]);
/* The number of entries of all axes with the letter; 1: there is none. */
size_t axes_count(const struct axes *axes, const size_t *size, char letter);

#endif
