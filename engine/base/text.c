#include "engine/base/text.h"

#include <math.h>
#include <string.h>

/* ---- characters ---------------------------------------------------------------------------------------- */

/* Bytes of a character that begins so; 0: none does. */
static size_t bytes_from(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t text_character(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  size_t bytes = bytes_from(*c);
  for (size_t i = 1; i < bytes; i++)
    if ((c[i] & 0xc0) != 0x80) return 0;
  bool overlong = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90);
  bool beyond = (*c == 0xed && c[1] > 0x9f) || (*c == 0xf4 && c[1] > 0x8f); /* surrogates, above U+10FFFF */
  return overlong || beyond ? 0 : bytes;
}

/* Characters that steer beside the controls: marks of direction, separators of lines and paragraphs, the mark
 * of byte order. */
static const char *const steering[] = {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029",
                                       "\u202a", "\u202b", "\u202c", "\u202d", "\u202e",
                                       "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff"};

size_t text_plain(const char *text) {
  size_t bytes = text_character(text);
  unsigned char first = (unsigned char)*text;
  if (bytes == 1) return first >= 0x20 && first != 0x7f;
  if (bytes == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0) return 0; /* U+0080 to U+009F */
  for (size_t i = 0; bytes && i < sizeof steering / sizeof *steering; i++)
    if (!strncmp(text, steering[i], strlen(steering[i]))) return 0;
  return bytes;
}

enum { SHOWN = 16 }; /* characters that show four bytes */

/* Shows the character at the start, and returns how many bytes it takes; controls of `kept` stay. */
static size_t show_character(const char *text, const char *kept, char shown[SHOWN + 1]) {
  size_t plain = text_plain(text), bytes = text_character(text);
  if (!plain && *text && strchr(kept, *text)) plain = 1;
  if (!bytes) bytes = 1;
  memcpy(shown, text, plain);
  shown[plain] = 0;
  for (size_t i = 0; !plain && i < bytes; i++) sprintf(shown + 4 * i, "\\x%02x", (unsigned char)text[i]);
  return bytes;
}

size_t text_show_character(FILE *file, const char *text) {
  char shown[SHOWN + 1];
  size_t bytes = show_character(text, "", shown);
  fputs(shown, file);
  return bytes;
}

void text_show(FILE *file, const char *text) {
  while (*text) text += text_show_character(file, text);
}

const char *text_shown(struct arena *arena, const char *text) {
  char *whole = arena_new(arena, 4 * strlen(text) + SHOWN + 1), *to = whole;
  while (*text) {
    text += show_character(text, "", to);
    to += strlen(to);
  }
  return whole;
}

size_t text_length(const char *text) {
  char shown[SHOWN + 1];
  size_t length = 0;
  while (*text) {
    bool plain = text_plain(text);
    text += show_character(text, "", shown);
    length += plain ? 1 : strlen(shown);
  }
  return length;
}

char *text_join(struct arena *arena, const char *const *texts, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += strlen(texts[i]);
  char *joined = arena_new(arena, bytes + 1), *at = joined;
  for (size_t i = 0; i < count; i++) at = stpcpy(at, texts[i]);
  return joined;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

struct text_number text_number(double value, int digits) {
  struct text_number number;
  double size = fabs(value);
  int before = size > 0 ? (int)floor(log10(size)) + 1 : 1, after = digits > before ? digits - before : 0;
  if (!isfinite(value) || size >= 1e15 || (size > 0 && size < 1e-6)) {
    snprintf(number.text, sizeof number.text, "%.*g", digits, value);
    return number;
  }
  snprintf(number.text, sizeof number.text, "%.*f", after, value);
  for (char *end = number.text + strlen(number.text) - 1; after && (*end == '0' || *end == '.'); *end-- = 0)
    if (*end == '.') after = 0; /* digits before the point stay */
  return number;
}

/* ---- a stream that guards another ---------------------------------------------------------------------- */

/* More bytes of its character may come. */
static bool is_cut(const struct text_guard *guard) {
  if (bytes_from((unsigned char)guard->left[0]) <= guard->count) return false;
  for (size_t i = 1; i < guard->count; i++)
    if (((unsigned char)guard->left[i] & 0xc0) != 0x80) return false;
  return true;
}

static void show_left(struct text_guard *guard, bool last) {
  char shown[SHOWN + 1];
  while (guard->count && (last || !is_cut(guard))) {
    size_t taken = show_character(guard->left, "\n\t", shown);
    guard->count -= taken;
    memmove(guard->left, guard->left + taken, guard->count + 1);
    fputs(shown, guard->file);
  }
}

static ssize_t write_guarded(void *cookie, const char *data, size_t size) {
  struct text_guard *guard = cookie;
  for (size_t i = 0; i < size; i++) {
    guard->left[guard->count++] = data[i];
    guard->left[guard->count] = 0;
    show_left(guard, false);
  }
  return fflush(guard->file) || ferror(guard->file) ? 0 : (ssize_t)size;
}

int text_guard_finish(struct text_guard *guard) {
  show_left(guard, true);
  return fflush(guard->file) || ferror(guard->file);
}

static int close_guarded(void *cookie) {
  return text_guard_finish(cookie);
}

FILE *text_guard_open(struct text_guard *guard, FILE *file) {
  *guard = (struct text_guard){.file = file};
  return fopencookie(guard, "w", (cookie_io_functions_t){.write = write_guarded, .close = close_guarded});
}
