/* Text from outside (names of files and data sets, words of scenes) holds any bytes, and could steer a
 * terminal or a viewer. Some bytes are no UTF-8; some characters steer instead of showing: controls of ASCII
 * and of Latin-1, ends of lines, changes of direction. All of these are shown as \xNN, byte by byte. All
 * escapes stand on this. */
#ifndef L2SR_ENGINE_TEXT_H
#define L2SR_ENGINE_TEXT_H

#include "engine/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of the character that the text starts with; 0: it starts with no UTF-8. */
size_t text_character(const char *text);
/* The same where the character is shown as it is; 0: it is escaped. */
size_t text_plain(const char *text);

/* Shows the character that the text starts with, and returns how many bytes it has. */
size_t text_show_character(FILE *file, const char *text);
/* The text on one line. */
void text_show(FILE *file, const char *text);
const char *text_shown(struct arena *arena, const char *text);
size_t text_length(const char *text); /* characters that it is shown as */
/* The texts one after the other: a format copies long ones byte by byte, twice. */
char *text_join(struct arena *arena, const char *const *texts, size_t count);

/* A number for readers: so many digits, no zeros behind the point, and no exponent from 1e-6 to 1e15. */
struct text_number {
  char text[32];
};
struct text_number text_number(double value, int digits);

/* A stream that escapes what is written to it, writes it to another one, and keeps ends of lines and
 * tabulators. */
struct text_guard {
  FILE *file;   /* the other one */
  char left[5]; /* the bytes of a character whose rest is not written yet, and a zero */
  size_t count;
};
FILE *text_guard_open(struct text_guard *guard, FILE *file); /* NULL: no memory */
int text_guard_finish(struct text_guard *guard); /* writes what is left without closing; 0: good */

#endif
