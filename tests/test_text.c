/* Bytes of any kind: how they are shown, and what JSON and a guarded stream make of them. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "tests/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sample {
  const char *from, *shown, *json; /* json: without the quotes */
};

static const struct sample samples[] = {
    {"", "", ""},
    {"a \u00d7 \u03b3 \U0001f600 \\", "a \u00d7 \u03b3 \U0001f600 \\", "a \u00d7 \u03b3 \U0001f600 \\\\"},
    {"\"", "\"", "\\\""},
    {"\x1b[31m\x07\x7f", "\\x1b[31m\\x07\\x7f", "\\u001b[31m\\u0007\\u007f"},
    {"a\nb\tc\r", "a\\x0ab\\x09c\\x0d", "a\\u000ab\\u0009c\\u000d"},
    {"\xc2\x9b"
     "1m",
     "\\xc2\\x9b1m", "\\u009b1m"}, /* the control that ESC [ stands for */
    {"\u202e\u2066\ufeff", "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xef\\xbb\\xbf", "\\u202e\\u2066\\ufeff"},
    {"bad\xff.h5", "bad\\xff.h5", "bad\\\\xff.h5"}, /* in no character */
    {"\xc0\xaf\xe0\x80\x80", "\\xc0\\xaf\\xe0\\x80\\x80",
     "\\\\xc0\\\\xaf\\\\xe0\\\\x80\\\\x80"},                                      /* overlong */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\\\xed\\\\xa0\\\\x80"},                 /* a surrogate */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\\\xf4\\\\x90\\\\x80\\\\x80"}, /* beyond U+10FFFF */
    {"\xc3(\xe2\x80", "\\xc3(\\xe2\\x80", "\\\\xc3(\\\\xe2\\\\x80"},              /* cut */
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void bytes_are_shown(void **state) {
  struct arena *arena = arena_open();
  (void)state;
  for (size_t i = 0; i < SAMPLES; i++)
    assert_string_equal(text_shown(arena, samples[i].from), samples[i].shown);
  arena_close(arena);
}

static void json_is_text(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES; i++) {
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    json_text(file, samples[i].from);
    fclose(file);
    assert_int_equal(size, strlen(samples[i].json) + 2);
    assert_memory_equal(text + 1, samples[i].json, size - 2);
    free(text);
  }
}

static void numbers_have_no_exponent(void **state) {
  static const struct {
    double value;
    int digits;
    const char *text;
  } known[] = {{12680.4, 4, "12680"},        {0.5, 4, "0.5"},    {1234, 4, "1234"},    {100, 4, "100"},
               {0.00012346, 4, "0.0001235"}, {-2.5, 2, "-2.5"},  {0, 4, "0"},          {9.99996, 4, "10"},
               {1e20, 4, "1e+20"},           {1e-9, 4, "1e-09"}, {INFINITY, 4, "inf"}, {123456, 5, "123456"}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_string_equal(text_number(known[i].value, known[i].digits).text, known[i].text);
}

/* A guarded stream keeps ends of lines and tabulators, and a character may come in pieces. */
static void a_stream_is_guarded(void **state) {
  static const char from[] = "\u00d7\t\x1b[2J\n\xff\n\xe2\x80\n\U0001f600\xe2\x80";
  static const char shown[] = "\u00d7\t\\x1b[2J\n\\xff\n\\xe2\\x80\n\U0001f600\\xe2\\x80";
  (void)state;
  for (int piece = 1; piece <= (int)sizeof from; piece++) {
    char *text;
    size_t size;
    struct text_guard guard;
    FILE *inner = open_memstream(&text, &size), *file = text_guard_open(&guard, inner);
    assert_non_null(file);
    for (size_t at = 0; at < sizeof from - 1; at += (size_t)piece) {
      fprintf(file, "%.*s", piece, from + at);
      fflush(file);
    }
    fclose(file);
    fclose(inner);
    assert_string_equal(text, shown);
    free(text);
  }
}

static void a_guarded_stream_fails_as_the_other(void **state) {
  struct text_guard guard;
  FILE *full = fdopen(support_open_full(), "w"), *file = text_guard_open(&guard, full);
  (void)state;
  assert_non_null(full);
  fputs("lost\n", file);
  assert_int_not_equal(fflush(file), 0);
  assert_int_not_equal(ferror(file), 0);
  fclose(file);
  fclose(full);
}

/* A character whose rest never came is lost at the end only, also where nothing is buffered. */
static void what_a_guard_held_back_may_be_lost(void **state) {
  (void)state;
  for (int buffered = 0; buffered < 2; buffered++) {
    struct text_guard guard;
    FILE *full = fdopen(support_open_full(), "w"), *file = text_guard_open(&guard, full);
    assert_non_null(full);
    if (!buffered) setvbuf(full, NULL, _IONBF, 0);
    fputs("\xe2", file);
    assert_int_equal(fflush(file), 0);
    assert_int_not_equal(text_guard_finish(&guard), 0);
    fclose(file);
    fclose(full);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_shown),
                                            cmocka_unit_test(json_is_text),
                                            cmocka_unit_test(numbers_have_no_exponent),
                                            cmocka_unit_test(a_stream_is_guarded),
                                            cmocka_unit_test(a_guarded_stream_fails_as_the_other),
                                            cmocka_unit_test(what_a_guard_held_back_may_be_lost)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
