/* The engine as a program that holds it sees it: kinds of errors, the end of a call, the log, locks. */
#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "tests/support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void an_error_has_a_code_and_a_text(void **state) {
  struct error error;
  (void)state;
  assert_false((fail)(&error, "%d apples", 3)); /* not cmocka's macro */
  assert_string_equal(error.text, "3 apples");
  assert_int_equal(error.code, ERROR_FAILED);
  assert_false(fail_usage(&error, "a word"));
  assert_int_equal(error.code, ERROR_USAGE);
  assert_false(fail_file(&error, "a file"));
  assert_int_equal(error.code, ERROR_FILE);
  assert_false(fail_memory(&error, "no room"));
  assert_int_equal(error.code, ERROR_MEMORY);
  assert_false(fail_as(&error, ERROR_DIVERGED, "nan"));
  assert_false(fail_in(&error, "epoch %d", 4));
  assert_string_equal(error.text, "epoch 4: nan");
  assert_int_equal(error.code, ERROR_DIVERGED);
}

/* ---- the end of a call --------------------------------------------------------------------------------- */

struct end {
  jmp_buf back;
  enum error_code code;
  char text[256];
  bool held;
};

static void leave(enum error_code code, const char *text, void *context) {
  struct end *end = context;
  end->code = code;
  end->held = lock_held();
  snprintf(end->text, sizeof end->text, "%s", text);
  longjmp(end->back, 1);
}

static void ask_for_all_memory(void) {
  struct arena *arena = arena_open();
  lock_take(LOCK_FILES);
  lock_take(LOCK_PROBE);
  arena_new_array(arena, SIZE_MAX / 2, 3); /* a size that no allocator is asked for */
}

static void break_a_rule(void) {
  REQUIRE(1 + 1 == 3, "it is %d", 2);
}

static void end_by(struct end *end, void (*call)(void)) {
  *end = (struct end){.held = true};
  fatal_with(leave, end);
  if (!setjmp(end->back)) call();
  fatal_with(NULL, NULL);
}

static void a_handler_may_leave(void **state) {
  struct end end;
  (void)state;
  end_by(&end, ask_for_all_memory);
  assert_int_equal(end.code, ERROR_MEMORY);
  assert_holds(end.text, "the host has no memory left for 3 times");
  assert_false(end.held);
  end_by(&end, break_a_rule);
  assert_int_equal(end.code, ERROR_CALL);
  assert_holds(end.text, "required 1 + 1 == 3: it is 2");
  assert_holds(end.text, "test_library.c:");
}

static void *give_nothing(size_t bytes, void *context) {
  (void)bytes, (void)context;
  return NULL;
}

static void forget(void *memory, void *context) {
  (void)memory, (void)context;
}

struct room {
  int pieces; /* that are left */
  _Alignas(64) unsigned char bytes[256];
};

static void *give_one(size_t bytes, void *context) {
  struct room *room = context;
  return bytes <= sizeof room->bytes && room->pieces-- > 0 ? room->bytes : NULL;
}

static struct arena *arena; /* was opened before memory ran out */

static void open_an_arena(void) {
  arena_close(arena_open());
}

static void ask_for_a_little(void) {
  arena_new(arena, 8);
}

/* Where memory is asked for and may be refused, it is; else the handler is called. */
static void an_allocator_may_give_nothing(void **state) {
  static const struct allocator none = {give_nothing, forget, NULL};
  struct end end;
  (void)state;
  arena_allocate_with(&none);
  end_by(&end, open_an_arena);
  assert_int_equal(end.code, ERROR_MEMORY);
  arena_allocate_with(NULL);
  struct room room = {.pieces = 1};
  arena_allocate_with(&(struct allocator){give_one, forget, &room});
  arena = arena_open();
  arena_allocate_with(NULL);
  assert_null(arena_try(arena, 8));
  end_by(&end, ask_for_a_little);
  assert_int_equal(end.code, ERROR_MEMORY);
  assert_holds(end.text, "the host has no 8 bytes left");
  arena_close(arena);
}

static void come_back(enum error_code code, const char *text, void *context) {
  (void)code, (void)text, (void)context;
}

static void call_and_come_back(void *context) {
  fatal_with(context ? come_back : NULL, NULL);
  break_a_rule();
}

static void without_a_handler_that_leaves_it_aborts(void **state) {
  (void)state;
  support_expect_abort(call_and_come_back, NULL, "it is 2");
  support_expect_abort(call_and_come_back, (void *)"", "it is 2");
}

static bool work_of(void *context, struct error *error) {
  void (*call)(void) = *(void (**)(void))context;
  if (call) call();
  return fail_file(error, "its own");
}

static bool work_twice(void *context, struct error *error) {
  void (*inner)(void) = break_a_rule;
  assert_false(rescue(work_of, &inner, error));
  return work_of(context, error);
}

static void a_rescue_makes_it_an_error(void **state) {
  void (*memory)(void) = ask_for_all_memory, (*none)(void) = NULL;
  struct error error;
  (void)state;
  assert_false(rescue(work_of, &memory, &error));
  assert_int_equal(error.code, ERROR_MEMORY);
  assert_false(lock_held());
  assert_false(rescue(work_of, &none, &error));
  assert_int_equal(error.code, ERROR_FILE);
  assert_false(rescue(work_twice, &memory, &error)); /* the outer one is in force again */
  assert_int_equal(error.code, ERROR_MEMORY);
}

/* ---- the log ------------------------------------------------------------------------------------------- */

struct heard {
  enum log_level level;
  char text[64];
  struct progress_report progress;
  int lines, moves;
};

static void hear(enum log_level level, const char *text, void *context) {
  struct heard *heard = context;
  heard->level = level;
  heard->lines++;
  snprintf(heard->text, sizeof heard->text, "%s", text);
}

static void watch(struct progress_report *progress, void *context) {
  struct heard *heard = context;
  assert_true(progress->noted == heard->moves);
  progress->noted = ++heard->moves;
  heard->progress = *progress;
}

static void the_log_goes_to_the_program(void **state) {
  struct heard heard = {0};
  (void)state;
  log_warning("nobody hears it");
  log_with(hear, watch, &heard);
  log_warning("%d of %s", 2, "them");
  assert_string_equal(heard.text, "2 of them");
  assert_int_equal(heard.level, LEVEL_WARNING);
  log_lines("one\n\ntwo");
  assert_int_equal(heard.lines, 4);
  assert_string_equal(heard.text, "  two");
  assert_int_equal(heard.level, LEVEL_ERROR);
  log_with(NULL, NULL, NULL);
  log_info("nobody hears it");
  assert_int_equal(heard.lines, 4);
}

static void progress_is_told(void **state) {
  struct heard heard = {0};
  struct progress progress;
  (void)state;
  log_with(NULL, watch, &heard);
  progress_open(&progress, "reading", "files", 7);
  progress_move(&progress, 3);
  assert_string_equal(heard.progress.what, "reading");
  assert_string_equal(heard.progress.unit, "files");
  assert_int_equal(heard.progress.done, 3);
  assert_int_equal(heard.progress.total, 7);
  assert_false(heard.progress.ended);
  progress_close(&progress);
  assert_true(heard.progress.ended);
  assert_int_equal(heard.moves, 2);
  log_with(NULL, NULL, NULL);
}

/* Kernels that compile meanwhile take nothing from the speed; the progress of compiling is told in all
 * seconds. */
static void pauses_are_not_counted(void **state) {
  struct heard work = {0}, aside = {0};
  struct progress progress, other;
  double start = clock_seconds();
  (void)state;
  progress_open(&progress, "loading", "slices", 7);
  progress_open_aside(&other, "compiling", "kernels");
  nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
  double seconds = clock_seconds() - start;
  clock_pause(seconds);
  log_with(NULL, watch, &work);
  progress_move(&progress, 3);
  log_with(NULL, watch, &aside);
  progress_move(&other, 5);
  log_with(NULL, NULL, NULL);
  assert_true(seconds >= 0.4);
  assert_true(work.progress.seconds < 0.3);
  assert_true(aside.progress.seconds >= 0.39);
  assert_int_equal(aside.progress.total, 0); /* nobody knows */
}

/* ---- locks --------------------------------------------------------------------------------------------- */

enum { TURNS = 20000 };

static void *count_up(void *context) {
  for (int i = 0; i < TURNS; i++) {
    HOLD(LOCK_PRODUCTS);
    ++*(int *)context;
  }
  return NULL;
}

static void a_lock_keeps_others_out(void **state) {
  pthread_t threads[2];
  int count = 0;
  (void)state;
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, count_up, &count), 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert_int_equal(count, 2 * TURNS);
}

static void take_in_disorder(void *context) {
  (void)context;
  HOLD(LOCK_SETTINGS);
  lock_take(LOCK_FILES);
}

static void locks_have_an_order(void **state) {
  (void)state;
  char text[64];
  snprintf(text, sizeof text, "lock %d is taken by a thread that holds lock %d", LOCK_FILES, LOCK_SETTINGS);
  support_expect_abort(take_in_disorder, NULL, text);
}

static void a_lock_is_taken_again(void **state) {
  (void)state;
  enum lock first = lock_take(LOCK_FILES), second = lock_take(LOCK_PROBE), third = lock_take(LOCK_FILES);
  lock_give(&third);
  lock_give(&second);
  assert_true(lock_held());
  lock_give(&first);
  assert_false(lock_held());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_error_has_a_code_and_a_text),
      cmocka_unit_test(a_handler_may_leave),
      cmocka_unit_test(an_allocator_may_give_nothing),
      cmocka_unit_test(without_a_handler_that_leaves_it_aborts),
      cmocka_unit_test(a_rescue_makes_it_an_error),
      cmocka_unit_test(the_log_goes_to_the_program),
      cmocka_unit_test(progress_is_told),
      cmocka_unit_test(pauses_are_not_counted),
      cmocka_unit_test(a_lock_keeps_others_out),
      cmocka_unit_test(locks_have_an_order),
      cmocka_unit_test(a_lock_is_taken_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
