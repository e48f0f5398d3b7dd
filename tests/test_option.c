#include "components/options.h"
#include "engine/files/scene.h"
#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

static struct arena *arena;

static int open_arena(void **state) {
  (void)state;
  arena = arena_open();
  return 0;
}

static int close_arena(void **state) {
  (void)state;
  arena_close(arena);
  return 0;
}

static struct options defaults(void) {
  struct options options;
  memset(&options, 0, sizeof options);
  option_defaults(&option_table, &options, arena);
  return options;
}

static bool set(struct options *options, const char *key, const char *text, struct error *error) {
  return option_set(&option_table, options, arena, key, text, "knee.yaml:7", error);
}

static void expect_set(struct options *options, const char *key, const char *text) {
  struct error error;
  assert_good(set(options, key, text, &error), &error);
}

/* A refusal leaves the value as it was. */
static void expect_refusal(const char *key, const char *text, const char *part) {
  struct options options = defaults(), before = options;
  struct error error;
  assert_false(set(&options, key, text, &error));
  assert_holds(error.text, part);
  assert_holds(error.text, "knee.yaml:7");
  assert_memory_equal(&options, &before, sizeof options);
}

static void defaults_are_those_of_the_rows(void **state) {
  struct options options = defaults();
  (void)state;
  assert_string_equal(options.data.path, "");
  assert_int_equal(options.data.split, SPLIT_TEST);
  assert_int_equal(options.data.source, SOURCE_AUTO);
  assert_int_equal(options.data.size.width, 128);
  assert_true(options.data.fraction == 1);
  assert_int_equal(options.data.slices, SLICES_ALL);
  assert_int_equal(options.data.range, RANGE_VOLUME);
  assert_int_equal(options.data.order, ORDER_SEQUENTIAL);
  assert_false(options.data.strict);
  assert_string_equal(options.acquisition.acceleration, "4");
  assert_int_equal(options.world.envs, 256);
  assert_int_equal(options.world.seed, 42);
  assert_int_equal(options.reward.form, REWARD_SPARSE);
  assert_true(options.sampler.gaussian_width == 0.15);
  assert_string_equal(options.evaluate.metrics, "ssim,psnr,nmse");
  assert_true(options.evaluate.curves);
}

static void rows_are_sound(void **state) {
  (void)state;
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    const char *key = arena_text(arena, "%s.%s", row->section, row->name);
    assert_ptr_equal(option_find(&option_table, key), row); /* so no key stands twice */
    assert_true(row->offset < sizeof(struct options));
    assert_true(row->low <= row->high);
    assert_true(strlen(row->doc) > 4);
    assert_int_equal(row->type == OPTION_CHOICE, row->choices != NULL);
    for (size_t j = 0; j < i; j++) assert_int_not_equal(row->offset, option_table.rows[j].offset);
  }
}

static void every_type_is_set(void **state) {
  struct options options = defaults();
  (void)state;
  expect_set(&options, "data.size", "64");
  assert_int_equal(options.data.size.width, 64);
  expect_set(&options, "data.fraction", "0.25");
  assert_true(options.data.fraction == 0.25);
  expect_set(&options, "data.strict", "true");
  assert_true(options.data.strict);
  expect_set(&options, "data.strict", "false");
  assert_false(options.data.strict);
  expect_set(&options, "data.path", "/a b/\"c\"");
  assert_string_equal(options.data.path, "/a b/\"c\"");
  expect_set(&options, "evaluate.samplers", "random,lowest_index");
  assert_string_equal(options.evaluate.samplers, "random,lowest_index");
}

static void text_is_copied(void **state) {
  struct options options = defaults();
  char path[] = "/first";
  (void)state;
  expect_set(&options, "data.path", path);
  path[1] = 'x';
  assert_string_equal(options.data.path, "/first");
}

static void every_choice_is_set(void **state) {
  static const char *const words[] = {"train", "val", "test", "all"};
  struct options options = defaults();
  (void)state;
  for (uint32_t i = 0; i < 4; i++) {
    expect_set(&options, "data.split", words[i]);
    assert_int_equal(options.data.split, i);
  }
  expect_refusal("data.split", "tes", "data.split is 'tes'");
  expect_refusal("data.split", "", "it must be one of train|val|test|all");
  expect_refusal("data.split", "test|all", "it must be one of");
  expect_refusal("data.split", "Test", "it must be one of");
}

static void bounds_are_allowed_and_no_more(void **state) {
  struct options options = defaults();
  (void)state;
  expect_set(&options, "data.size", "32");
  expect_set(&options, "data.size", "1024");
  expect_refusal("data.size", "31", "data.size is '31' at knee.yaml:7; it must be a whole number from 32 to 1024, or two of them");
  expect_refusal("data.size", "1025", "from 32 to 1024, or two of them, [height, width]");
  expect_refusal("data.size", "-64", "from 32 to 1024");
  expect_refusal("data.fraction", "1.0000001", "it must be 0 to 1");
  expect_refusal("world.envs", "0", "world.envs is 0 at knee.yaml:7; it must be 1 to 65536");
  expect_set(&options, "world.seed", "4294967295");
  assert_true(options.world.seed == UINT32_MAX);
  expect_refusal("world.seed", "4294967296", "it must be 0 to 4294967295");
}

static void numbers_are_numbers(void **state) {
  static const char *const wrong[] = {"",    " 64", "64 ",  "6 4",   "abc", "64,5",
                                      "nan", "inf", "-inf", "1e400", "64k"};
  struct options options = defaults();
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    expect_refusal("data.size", wrong[i], "it must be a whole number from 32 to 1024");
    expect_refusal("data.fraction", wrong[i], "it must be a number from 0 to 1");
  }
  expect_refusal("data.size", "64.5", "data.size is '64.5'");
  expect_refusal("world.seed", "x", "it must be a whole number from 0 to 4294967295");
  expect_set(&options, "data.size", "1e2");
  assert_int_equal(options.data.size.width, 100);
}

static void expect_sides(const char *text, uint32_t height, uint32_t width, const char *again) {
  struct options options = defaults();
  expect_set(&options, "data.size", text);
  assert_int_equal(options.data.size.height, height);
  assert_int_equal(options.data.size.width, width);
  const struct option *row = option_find(&option_table, "data.size");
  assert_string_equal(option_text(row, &options, arena), again);
}

static void sides_are_one_number_or_two(void **state) {
  static const char *const wrong[] = {"64,", ",64", "64,64,64", "[64,65", "64,31", "1025,64", "[]", "64 ,65", "[64;65]"};
  (void)state;
  expect_sides("64", 64, 64, "64");
  expect_sides("[64]", 64, 64, "64");
  expect_sides("64,64", 64, 64, "64");
  expect_sides("640,368", 640, 368, "[640,368]");
  expect_sides("[640,368]", 640, 368, "[640,368]");
  expect_sides("[45, 1024]", 45, 1024, "[45,1024]");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    expect_refusal("data.size", wrong[i], "or two of them, [height, width]");
}

static void truth_is_true_or_false(void **state) {
  static const char *const wrong[] = {"", "yes", "1", "True", "true ", "truefalse"};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    expect_refusal("data.strict", wrong[i], "it must be true or false");
}

static void unknown_keys_are_refused_with_the_nearest(void **state) {
  (void)state;
  expect_refusal("data.siez", "64", "unknown key data.siez at knee.yaml:7; did you mean data.size?");
  expect_refusal("word.envs", "1", "did you mean world.envs?");
  expect_refusal("world.environment_count_of_all", "1", "`l2sr describe options` lists all keys");
  expect_refusal("q", "1", "unknown key q");
  expect_refusal("", "1", "unknown key ");
  expect_refusal("size", "64", "unknown key size");
  expect_refusal("data.", "64", "unknown key data.");
  expect_refusal("data.sizes", "64", "unknown key data.sizes");
}

/* Case, blanks and hyphens do not make another word; a letter does, and so does the end. */
static void words_are_the_same_but_for_case_and_signs(void **state) {
  (void)state;
  assert_true(same_word("PG-MRI", "pgmri") && same_word("Poisson disc", "poisson_disc") && same_word("", "-"));
  assert_false(same_word("l2s", "l2sr") || same_word("l2sr", "l2s") || same_word("random", "randm"));
  assert_true(is_one_of_words("Low-Pass", "centre|low_pass|x") && is_one_of_words("X", "centre|low_pass|x"));
  assert_false(is_one_of_words("low", "centre|low_pass") || is_one_of_words("centrelow", "centre|low_pass"));
  assert_false(is_one_of_words("centre", ""));
}

static void the_nearest_name_is_found(void **state) {
  static const char *const names[] = {"train", "evaluate", "bench"};
  char word[200];
  (void)state;
  assert_string_equal(nearest_name("trian", names, 3), "train");
  assert_string_equal(nearest_name("evaluat", names, 3), "evaluate");
  assert_string_equal(nearest_name("TRAIN", names, 3), "train"); /* as many letters differ as it has */
  assert_null(nearest_name("zzzzz", names, 3));
  assert_null(nearest_name("train", names, 0));
  memset(word, 'a', sizeof word - 1);
  word[sizeof word - 1] = 0;
  assert_null(nearest_name(word, names, 3));
}

static void lists_are_walked(void **state) {
  char word[8];
  const char *list = " random, , low bias ,x";
  (void)state;
  assert_int_equal(option_count(list), 3);
  assert_non_null(list = option_next(list, word, sizeof word));
  assert_string_equal(word, "random");
  assert_non_null(list = option_next(list, word, sizeof word));
  assert_string_equal(word, "low bia"); /* cut to the caller's room */
  assert_non_null(list = option_next(list, word, sizeof word));
  assert_string_equal(word, "x");
  assert_null(option_next(list, word, sizeof word));
  assert_int_equal(option_count(""), 0);
  assert_int_equal(option_count(" ,, "), 0);
}

static void values_are_written_as_they_are_read(void **state) {
  struct options options = defaults();
  (void)state;
  expect_set(&options, "evaluate.samplers", "random,low_bias");
  expect_set(&options, "data.path", "a\"b\\c");
  assert_string_equal(option_text(option_find(&option_table, "data.size"), &options, arena), "128");
  assert_string_equal(option_text(option_find(&option_table, "data.fraction"), &options, arena), "1");
  assert_string_equal(option_text(option_find(&option_table, "data.strict"), &options, arena), "false");
  assert_string_equal(option_text(option_find(&option_table, "data.split"), &options, arena), "test");
  assert_string_equal(option_text(option_find(&option_table, "data.path"), &options, arena),
                      "\"a\\\"b\\\\c\"");
  assert_string_equal(option_text(option_find(&option_table, "evaluate.samplers"), &options, arena),
                      "[random,low_bias]");
}

static void print_and_read_again(const struct options *options, bool help) {
  struct folder folder;
  struct error error;
  struct options again = defaults();
  support_open_folder(&folder);
  const char *path = support_path(&folder, "dump.yaml");
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  option_print(&option_table, options, help, file);
  fclose(file);
  bool good = scene_read(&option_table, &again, arena, path, NULL, &error);
  support_close_folder(&folder);
  assert_good(good, &error);
  for (size_t i = 0; i < option_table.count; i++) {
    const struct option *row = &option_table.rows[i];
    assert_string_equal(option_text(row, options, arena), option_text(row, &again, arena));
  }
}

static void printed_options_are_a_scene(void **state) {
  static const char *const texts[] = {
      "",     "plain",      "a: b # c", "\"quoted\"", "back\\slash", "two\nlines\tand more", "- x", "*star",
      "it's", "  spaces  ", "größe",    "null",       "\x01"};
  struct options options = defaults();
  (void)state;
  print_and_read_again(&options, false);
  print_and_read_again(&options, true);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_set(&options, "data.path", texts[i]);
    print_and_read_again(&options, i % 2);
  }
}

static void printed_numbers_and_lists_come_back(void **state) {
  static const char *const lists[] = {"",          "a",       "a,b,c", "a: b,#c", "*d,&e,!f",
                                      "\"g\",'h'", "[i],{j}", "k l",   "-,?"};
  struct options options = defaults(), again = defaults();
  (void)state;
  expect_set(&options, "data.fraction", "0.12345678901234567");
  expect_set(&options, "sampler.gaussian_width", "0.1");
  expect_set(&again, "data.fraction",
             option_text(option_find(&option_table, "data.fraction"), &options, arena));
  assert_true(again.data.fraction == options.data.fraction);
  assert_string_equal(option_text(option_find(&option_table, "sampler.gaussian_width"), &options, arena),
                      "0.1");
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    expect_set(&options, "evaluate.samplers", lists[i]);
    print_and_read_again(&options, i % 2);
  }
}

static void help_says_meaning_range_and_choices(void **state) {
  struct options options = defaults();
  char *text = NULL;
  size_t bytes = 0;
  (void)state;
  FILE *file = open_memstream(&text, &bytes);
  option_print(&option_table, &options, true, file);
  fclose(file);
  assert_holds(text, "  # environments (scans) stepped side by side; results do not change (1 to 65536)\n  envs: 256\n");
  assert_holds(text, "(0 to 4294967295)");
  assert_holds(text, "(train|val|test|all)\n  split: test\n");
  assert_holds(text, "\nworld:\n");
  free(text);
}

static void a_repeated_word_is_found(void **state) {
  char word[16];
  (void)state;
  assert_false(option_repeated("", word, sizeof word));
  assert_false(option_repeated("a,b,ab", word, sizeof word));
  assert_true(option_repeated("a, b,c ,b", word, sizeof word));
  assert_string_equal(word, "b");
}

/* Where the text would not fit beside its context, the context is cut. */
static void context_is_cut_and_not_the_reason(void **state) {
  struct error error;
  char path[sizeof error.text + 8];
  (void)state;
  memset(path, 'x', sizeof path);
  path[sizeof path - 1] = 0;
  fail_usage(&error, "the reason");
  assert_false(fail_in(&error, "short"));
  assert_string_equal(error.text, "short: the reason");
  assert_false(fail_in(&error, "%s", path));
  assert_int_equal(strlen(error.text), sizeof error.text - 1);
  assert_string_equal(error.text + sizeof error.text - 26, "xxx...: short: the reason");
  assert_int_equal(error.code, ERROR_USAGE);
  fail_usage(&error, "%s", path);
  assert_false(fail_in(&error, "context"));
  assert_true(error.text[0] == 'x');
}

static void whole_numbers_are_digits_within_bounds(void **state) {
  static const char *const refused[] = {"",   "0",  "11",  "-1",  "+2",
                                        " 2", "2 ", "2.0", "0x2", "99999999999999999999"};
  uint32_t value = 77;
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    assert_false(option_whole(refused[i], 1, 10, &value));
  assert_int_equal(value, 77);
  assert_true(option_whole("10", 1, 10, &value));
  assert_int_equal(value, 10);
  assert_true(option_whole("4294967295", 0, UINT32_MAX, &value));
  assert_int_equal(value, UINT32_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_those_of_the_rows),
      cmocka_unit_test(rows_are_sound),
      cmocka_unit_test(every_type_is_set),
      cmocka_unit_test(text_is_copied),
      cmocka_unit_test(every_choice_is_set),
      cmocka_unit_test(bounds_are_allowed_and_no_more),
      cmocka_unit_test(numbers_are_numbers),
      cmocka_unit_test(sides_are_one_number_or_two), cmocka_unit_test(truth_is_true_or_false),
      cmocka_unit_test(unknown_keys_are_refused_with_the_nearest),
      cmocka_unit_test(words_are_the_same_but_for_case_and_signs),
      cmocka_unit_test(the_nearest_name_is_found),
      cmocka_unit_test(lists_are_walked),
      cmocka_unit_test(whole_numbers_are_digits_within_bounds),
      cmocka_unit_test(values_are_written_as_they_are_read),
      cmocka_unit_test(printed_options_are_a_scene),
      cmocka_unit_test(printed_numbers_and_lists_come_back),
      cmocka_unit_test(help_says_meaning_range_and_choices),
      cmocka_unit_test(a_repeated_word_is_found),
      cmocka_unit_test(context_is_cut_and_not_the_reason),
  };
  return cmocka_run_group_tests(tests, open_arena, close_arena);
}
