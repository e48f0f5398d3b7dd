#include "tools/draw/colour.h"

#include "engine/base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct colour no_number = {255, 0, 255};

struct colour colour_grey(float fraction) {
  if (isnan(fraction)) return no_number;
  unsigned char value = (unsigned char)(255 * fminf(fmaxf(fraction, 0), 1) + 0.5f);
  return (struct colour){value, value, value};
}

static unsigned char between(unsigned char a, unsigned char b, float fraction) {
  return (unsigned char)(a + fraction * ((float)b - (float)a) + 0.5f);
}

struct colour colour_heat(float fraction) {
  static const struct colour stops[] = {{0, 0, 4},      {31, 12, 72},   {85, 15, 109},
                                        {136, 34, 106}, {186, 54, 85},  {227, 89, 51},
                                        {249, 140, 10}, {249, 201, 50}, {252, 255, 164}};
  enum { LAST = sizeof stops / sizeof *stops - 1 };
  if (isnan(fraction)) return no_number;
  float place = fminf(fmaxf(fraction, 0), 1) * LAST;
  size_t below = place >= LAST ? LAST - 1 : (size_t)place;
  const struct colour *a = &stops[below], *b = a + 1;
  place -= (float)below;
  return (struct colour){between(a->red, b->red, place), between(a->green, b->green, place),
                         between(a->blue, b->blue, place)};
}

static int compare_floats(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

float colour_white(const float *image, size_t pixels) {
  struct arena *arena = arena_open();
  float *sorted = ARENA_NEW(arena, float, pixels);
  memcpy(sorted, image, pixels * sizeof *sorted);
  qsort(sorted, pixels, sizeof *sorted, compare_floats);
  float white = sorted[pixels - 1 - pixels / 500];
  arena_close(arena);
  return white > 0 ? white : 1;
}
