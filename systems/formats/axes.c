#include "systems/formats/axes.h"

#include <stdio.h>
#include <string.h>

enum { COILS_MOST = 128 };

/* Axes of more than one entry. */
struct long_axes {
  int count, place[AXES_MOST];
  size_t size[AXES_MOST];
};

static struct long_axes long_axes_of(int rank, const size_t *size) {
  struct long_axes axes = {0};
  for (int i = 0; i < rank; i++)
    if (size[i] > 1) {
      axes.place[axes.count] = i;
      axes.size[axes.count++] = size[i];
    }
  return axes;
}

static void set(struct axes *axes, const struct long_axes *of, const char *letters) {
  for (int i = 0; letters[i]; i++) axes->letter[of->place[i]] = letters[i];
}

/* The axis that is no side of the image: the odd one beside two equal sides, else one of at most half of both
 * others; -1: sizes do not tell. */
static int odd_of_three(const size_t size[3]) {
  for (int i = 0; i < 3; i++) {
    size_t a = size[(i + 1) % 3], b = size[(i + 2) % 3];
    if (a == b && size[i] != a) return i;
  }
  for (int i = 0; i < 3; i++)
    if (2 * size[i] <= size[(i + 1) % 3] && 2 * size[i] <= size[(i + 2) % 3]) return i;
  return -1;
}

/* A stack. Few planes of complex numbers may be slices or coils. */
static void guess_three(struct axes *axes, const struct long_axes *of, bool complex, bool height_first) {
  static const char *const words[] = {"shw", "hsw", "hws"};
  int odd = odd_of_three(of->size);
  axes->sure = odd >= 0 && odd != 1 && !(complex && of->size[odd] <= COILS_MOST);
  set(axes, of, words[odd >= 0 ? odd : height_first ? 2 : 0]);
}

/* Whether each of the axes from `first` is larger than twice the two others. */
static bool are_sides(const size_t size[4], int first) {
  for (int i = 0; i < 4; i++)
    if (i != first && i != first + 1 && (2 * size[i] > size[first] || 2 * size[i] > size[first + 1]))
      return false;
  return true;
}

static void guess_four(struct axes *axes, const struct long_axes *of, bool complex, bool height_first) {
  static const char *const coils[] = {"hwcs", "shwc", "schw"}, *const frames[] = {"hwss", "shws", "sshw"};
  int sides = are_sides(of->size, 2) ? 2 : are_sides(of->size, 0) ? 0 : are_sides(of->size, 1) ? 1 : -1;
  axes->sure = sides == (height_first ? 0 : 2);
  set(axes, of, (complex ? coils : frames)[sides >= 0 ? sides : height_first ? 0 : 2]);
}

struct axes axes_guess(int rank, const size_t *size, bool complex, bool height_first) {
  struct long_axes of = long_axes_of(rank, size);
  struct axes axes = {.letter = ""};
  bool parts = !complex && of.count > 2 && of.size[of.count - 1] == 2 && !height_first;
  memset(axes.letter, '1', (size_t)rank);
  if (parts) axes.letter[of.place[--of.count]] = 'p';
  if (of.count == 2) set(&axes, &of, "hw"), axes.sure = true;
  if (of.count == 3) guess_three(&axes, &of, complex || parts, height_first);
  if (of.count == 4) guess_four(&axes, &of, complex || parts, height_first);
  if (of.count > 4) {
    memset(axes.letter, '0', (size_t)rank);
    for (int i = 0; i < 4; i++)
      axes.letter[of.place[height_first ? i : of.count - 4 + i]] = (height_first ? "hwcs" : "schw")[i];
  }
  axes.sure &= !parts;
  return axes;
}

/* ---- said ---------------------------------------------------------------------------------------------- */

size_t axes_count(const struct axes *axes, const size_t *size, char letter) {
  size_t count = 1;
  for (int i = 0; axes->letter[i]; i++)
    if (axes->letter[i] == letter) count *= size[i];
  return count;
}

void axes_text(const struct axes *axes, char text[2 * AXES_MOST + 1]) {
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; axes->letter[i]; i++)
    used += (size_t)snprintf(text + used, 2 * AXES_MOST + 1 - used, "%s%c", i ? "," : "", axes->letter[i]);
}

/* The letters without commas and blanks; false: one is none. */
static bool letters_of(const char *text, char letters[AXES_MOST + 1]) {
  size_t count = 0;
  for (const char *at = text; *at; at++) {
    if (*at == ',' || *at == ' ') continue;
    if (!strchr("schwp01", *at) || count == AXES_MOST) return false;
    letters[count++] = *at;
  }
  letters[count] = 0;
  return count > 0;
}

static size_t occurs(const char *letters, char letter) {
  size_t count = 0;
  for (; *letters; letters++) count += *letters == letter;
  return count;
}

static bool refuse(const char *text, const char *why, int rank, const size_t *size, struct error *error) {
  char shape[AXES_MOST * 22] = "";
  size_t used = 0;
  for (int i = 0; i < rank; i++)
    used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%zu", i ? ", " : "", size[i]);
  return fail_usage(
      error,
      "import.axes %s for an array [%s]: %s; give a letter for each axis of more than one entry, as "
      "s,c,h,w: s slices, c coils, h height, w width, p real and imaginary part, 0 the first entry",
      text, shape, why);
}

bool axes_parse(const char *text, int rank, const size_t *size, bool complex, struct axes *axes,
                struct error *error) {
  char letters[AXES_MOST + 1];
  struct long_axes of = long_axes_of(rank, size);
  *axes = (struct axes){.sure = true};
  if (!letters_of(text, letters))
    return refuse(text, "it holds other letters than s, c, h, w, p, 0", rank, size, error);
  bool all = (int)strlen(letters) == rank;
  if (!all && (int)strlen(letters) != of.count)
    return refuse(text, "it has another number of letters", rank, size, error);
  memset(axes->letter, '1', (size_t)rank);
  if (all)
    memcpy(axes->letter, letters, (size_t)rank);
  else
    set(axes, &of, letters);
  for (int i = 0; i < rank; i++)
    if (axes->letter[i] == '1' && size[i] > 1)
      return refuse(text, "1 stands for an axis of more entries", rank, size, error);
  if (occurs(letters, 'h') != 1 || occurs(letters, 'w') != 1 || occurs(letters, 'c') > 1 ||
      occurs(letters, 'p') > 1)
    return refuse(text, "h and w must be there once, c and p at most once", rank, size, error);
  if (occurs(letters, 'p') && (complex || axes_count(axes, size, 'p') != 2))
    return refuse(text, "p is an axis of 2 entries of real numbers", rank, size, error);
  return true;
}
