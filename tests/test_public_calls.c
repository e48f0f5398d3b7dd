/* Random sequences of public calls, with good and bad arguments, by two threads on the same handles: every
 * call comes back, with a code and a text. L2SR_CALLS: how many; L2SR_SEED: which. */
#include <l2sr.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 32, SLICES = 3, ENVS = 3, HANDLES = 4, THREADS = 2, ROOM = ENVS * N * N * 4 };

/* cmocka's failures are of the main thread. */
#define WRONG(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), abort())

static float images[SLICES][N][N];
static const struct l2sr_slices slices = {
    .bytes = sizeof slices, .values = &images[0][0][0], .count = SLICES, .height = N, .width = N};
static const char *const overrides[] = {"data.size=32", "acquisition.initial_lines=2",
                                        "acquisition.budget=3"};
static _Atomic(l2sr_env *) handles[HANDLES]; /* open, closed, or never opened */
static char picture[] = "/tmp/l2sr_calls_XXXXXX";

struct caller {
  pthread_t thread;
  uint64_t state;
  size_t calls, good;
  unsigned char state_bytes[1 << 14], room[ROOM];
  size_t state_count;
};

static uint32_t draw(struct caller *caller, uint32_t below) {
  caller->state = caller->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((caller->state >> 33) % below);
}

static bool chance(struct caller *caller, uint32_t of) {
  return !draw(caller, of);
}

static l2sr_env *any_handle(struct caller *caller) {
  if (chance(caller, 40)) return NULL;
  if (chance(caller, 40)) return (l2sr_env *)(void *)images;
  if (chance(caller, 40)) return (l2sr_env *)(uintptr_t)(draw(caller, 1 << 20) + 1);
  return atomic_load(&handles[draw(caller, HANDLES)]);
}

static enum l2sr_array any_array(struct caller *caller) {
  if (chance(caller, 20)) return (enum l2sr_array)((int)draw(caller, 100) - 50);
  return (enum l2sr_array)draw(caller, L2SR_ARRAYS);
}

static const char *any_text(struct caller *caller) {
  static const char *const texts[] = {NULL,       "",
                                      "random",   "variable_density",
                                      "policy",   "oracle",
                                      "rand",     "equispaced_one_sided",
                                      "a=b",      "data.size=",
                                      "%s%n",     "\xff\xfe",
                                      "low_bias", "poisson_disc"};
  return texts[draw(caller, sizeof texts / sizeof *texts)];
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static enum l2sr_code open_good(struct caller *caller) {
  struct l2sr_config config = {.bytes = sizeof config,
                               .overrides = overrides,
                               .override_count = 3,
                               .slices = &slices,
                               .envs = ENVS,
                               .autoreset = (enum l2sr_autoreset)draw(caller, 3),
                               .invalid = (enum l2sr_invalid)draw(caller, 3),
                               .scoring = (enum l2sr_scoring)draw(caller, 3)};
  l2sr_env *env;
  enum l2sr_code code = l2sr_env_open(&config, &env);
  if (code == L2SR_GOOD) {
    uint32_t place = draw(caller, HANDLES);
    l2sr_env *before = atomic_exchange(&handles[place], env);
    if (before) l2sr_env_close(before); /* closed already, or now */
  }
  return code;
}

/* Refused before a device is opened. The room is as large as the largest size that is told. */
static enum l2sr_code open_bad(struct caller *caller) {
  const char *wrong[] = {any_text(caller), "data.sise=3"};
  union {
    struct l2sr_config config;
    unsigned char bytes[2000];
  } given = {.bytes = {0}};
  l2sr_env *env = NULL;
  given.config =
      (struct l2sr_config){.bytes = chance(caller, 3) ? draw(caller, sizeof given) : sizeof given.config,
                           .overrides = chance(caller, 3) ? NULL : wrong,
                           .override_count = 2,
                           .envs = draw(caller, 100000),
                           .text = any_text(caller),
                           .autoreset = (enum l2sr_autoreset)draw(caller, 5)};
  given.bytes[draw(caller, sizeof given - sizeof given.config) + sizeof given.config] =
      (unsigned char)draw(caller, 2);
  enum l2sr_code code =
      l2sr_env_open(chance(caller, 9) ? NULL : &given.config, chance(caller, 9) ? NULL : &env);
  if (code == L2SR_GOOD) WRONG("a config of wrong words is opened");
  return code;
}

/* As rare as closing is, or a long run would end with no handle open. */
static enum l2sr_code call_open(struct caller *caller) {
  return chance(caller, 500) ? open_good(caller) : open_bad(caller);
}

static enum l2sr_code call_close(struct caller *caller) {
  return chance(caller, 500) ? l2sr_env_close(any_handle(caller)) : l2sr_env_close(NULL);
}

static enum l2sr_code call_facts(struct caller *caller) {
  struct l2sr_facts facts = {.bytes = chance(caller, 4) ? draw(caller, 300) : sizeof facts};
  if (facts.bytes > sizeof facts) facts.bytes = sizeof facts;
  return l2sr_env_facts(any_handle(caller), chance(caller, 9) ? NULL : &facts);
}

static enum l2sr_code call_reset(struct caller *caller) {
  uint8_t mask[ENVS];
  uint32_t seed = draw(caller, 5);
  for (int i = 0; i < ENVS; i++) mask[i] = (uint8_t)draw(caller, 2);
  return l2sr_env_reset(any_handle(caller), chance(caller, 2) ? mask : NULL,
                        chance(caller, 3) ? &seed : NULL);
}

static enum l2sr_code call_play(struct caller *caller) {
  return l2sr_env_play(any_handle(caller), chance(caller, 2) ? "random" : any_text(caller), draw(caller, 5));
}

static enum l2sr_code call_decide(struct caller *caller) {
  return l2sr_env_decide(any_handle(caller), chance(caller, 2) ? "random" : any_text(caller));
}

static void any_actions(struct caller *caller, uint32_t actions[ENVS]) {
  for (int i = 0; i < ENVS; i++) actions[i] = chance(caller, 20) ? draw(caller, 1u << 31) : draw(caller, N);
}

static enum l2sr_code call_send(struct caller *caller) {
  uint32_t actions[ENVS];
  any_actions(caller, actions);
  return l2sr_env_send(any_handle(caller), chance(caller, 2) ? actions : NULL);
}

static enum l2sr_code call_step(struct caller *caller) {
  uint32_t actions[ENVS];
  any_actions(caller, actions);
  return l2sr_env_step(any_handle(caller), chance(caller, 4) ? NULL : actions);
}

static enum l2sr_code call_send_memory(struct caller *caller) {
  l2sr_env *env = any_handle(caller);
  struct _cl_mem *memory = NULL;
  if (chance(caller, 2)) l2sr_env_memory(env, L2SR_STEP, &memory);
  return l2sr_env_send_memory(env, memory, chance(caller, 3) ? draw(caller, 100) : 0);
}

static enum l2sr_code call_wait(struct caller *caller) {
  return l2sr_env_wait(any_handle(caller));
}

static enum l2sr_code call_shape(struct caller *caller) {
  struct l2sr_shape shape = {.bytes = chance(caller, 9) ? draw(caller, sizeof shape) : sizeof shape};
  return l2sr_env_shape(any_handle(caller), any_array(caller), chance(caller, 9) ? NULL : &shape);
}

static enum l2sr_code call_memory(struct caller *caller) {
  struct _cl_mem *memory;
  return l2sr_env_memory(any_handle(caller), any_array(caller), chance(caller, 9) ? NULL : &memory);
}

static enum l2sr_code call_pin(struct caller *caller) {
  const void *values;
  return l2sr_env_pin(any_handle(caller), any_array(caller), chance(caller, 9) ? NULL : &values);
}

static enum l2sr_code call_place(struct caller *caller) {
  l2sr_env *env = any_handle(caller);
  struct _cl_mem *memory = NULL;
  if (chance(caller, 2)) l2sr_env_memory(env, L2SR_FINAL_STANDARDISED, &memory);
  return l2sr_env_place(env, chance(caller, 2) ? L2SR_ARRAYS : L2SR_SSIM_UNIFORM, memory);
}

static enum l2sr_code call_cuda(struct caller *caller) {
  uint64_t address;
  int device;
  return l2sr_env_cuda(any_handle(caller), any_array(caller), chance(caller, 9) ? NULL : &address, &device);
}

static enum l2sr_code call_unpin(struct caller *caller) {
  return l2sr_env_unpin(any_handle(caller), any_array(caller));
}

static enum l2sr_code call_read(struct caller *caller) {
  static const size_t sizes[] = {ROOM, ROOM / 2, ENVS * N, ENVS * 4, 0, 1};
  return l2sr_env_read(any_handle(caller), any_array(caller), chance(caller, 9) ? NULL : caller->room,
                       sizes[draw(caller, sizeof sizes / sizeof *sizes)]);
}

static enum l2sr_code call_reconstruct(struct caller *caller) {
  return chance(caller, 2) ? l2sr_env_reconstruct(any_handle(caller)) : l2sr_env_score(any_handle(caller));
}

static enum l2sr_code call_save(struct caller *caller) {
  size_t room = chance(caller, 5) ? draw(caller, 300) : sizeof caller->state_bytes, count = 0;
  enum l2sr_code code = l2sr_env_save(any_handle(caller), chance(caller, 5) ? NULL : caller->state_bytes,
                                      room, chance(caller, 9) ? NULL : &count);
  if (code == L2SR_GOOD) caller->state_count = count;
  return code;
}

static enum l2sr_code call_restore(struct caller *caller) {
  size_t count = caller->state_count;
  if (chance(caller, 3)) caller->state_bytes[draw(caller, sizeof caller->state_bytes)] ^= 1;
  if (chance(caller, 5)) count = draw(caller, 1000);
  return l2sr_env_restore(any_handle(caller), chance(caller, 9) ? NULL : caller->state_bytes, count);
}

static enum l2sr_code call_draw(struct caller *caller) {
  return l2sr_env_draw(any_handle(caller), any_array(caller), draw(caller, ENVS + 1),
                       chance(caller, 50)  ? picture
                       : chance(caller, 2) ? NULL
                                           : "/no/such/folder/a.png");
}

static enum l2sr_code call_table(struct caller *caller) {
  l2sr_table *table = (l2sr_table *)any_handle(caller);
  struct l2sr_run run = {.bytes = sizeof run};
  size_t number;
  switch (draw(caller, 4)) {
  case 0: return l2sr_table_close(table);
  case 1: return l2sr_table_size(table, &number, NULL);
  case 2: return l2sr_table_run(table, draw(caller, 3), &run);
  default: return l2sr_table_slice(table, draw(caller, 3), NULL, &number);
  }
}

static enum l2sr_code call_queue(struct caller *caller) {
  struct _cl_context *context;
  return l2sr_env_queue(any_handle(caller), chance(caller, 2) ? &context : NULL, NULL);
}

static enum l2sr_code call_train(struct caller *caller) {
  struct l2sr_config config = {.bytes = draw(caller, 3), .text = any_text(caller)};
  l2sr_table *table;
  if (chance(caller, 2)) return l2sr_train(chance(caller, 2) ? NULL : &config, NULL, 0, NULL, NULL);
  return l2sr_evaluate(&config, chance(caller, 2) ? NULL : &table);
}

/* More often what makes scans go on. */
static enum l2sr_code (*const calls[])(struct caller *caller) = {
    call_open,   call_close, call_facts,       call_reset,  call_decide,  call_play,
    call_decide, call_send,  call_send_memory, call_wait,   call_wait,    call_step,
    call_step,   call_step,  call_shape,       call_memory, call_pin,     call_unpin,
    call_read,   call_read,  call_draw,        call_save,   call_restore, call_table,
    call_queue,  call_train, call_reconstruct, call_place,  call_cuda};

static void call_one(struct caller *caller) {
  enum l2sr_code code = calls[draw(caller, sizeof calls / sizeof *calls)](caller);
  caller->good += code == L2SR_GOOD;
  if ((int)code < 0 || code > L2SR_STOPPED) WRONG("code %d", (int)code);
  if (code != L2SR_GOOD && !*l2sr_last_error()) WRONG("code %d has no text", (int)code);
  if (code == L2SR_DEVICE_FAILED) WRONG("%s", l2sr_last_error());
}

static void *call_many(void *context) {
  struct caller *caller = context;
  for (size_t i = 0; i < caller->calls; i++) call_one(caller);
  return NULL;
}

static size_t number(const char *name, size_t standard) {
  const char *text = getenv(name);
  return text ? strtoul(text, NULL, 10) : standard;
}

static void every_call_comes_back(void **state) {
  struct caller *callers = calloc(THREADS, sizeof *callers);
  size_t all = number("L2SR_CALLS", 100000), seed = number("L2SR_SEED", 1), good = 0;
  (void)state;
  close(mkstemp(picture));
  callers[0].state = seed;
  for (int i = 0; i < 2; i++) assert_int_equal(open_good(&callers[0]), L2SR_GOOD);
  for (int t = 0; t < THREADS; t++) {
    callers[t].state = seed * 1000 + (size_t)t;
    callers[t].calls = all / THREADS;
    assert_int_equal(pthread_create(&callers[t].thread, NULL, call_many, &callers[t]), 0);
  }
  for (int t = 0; t < THREADS; t++) {
    pthread_join(callers[t].thread, NULL);
    good += callers[t].good;
  }
  for (int i = 0; i < HANDLES; i++) l2sr_env_close(atomic_load(&handles[i]));
  printf("%zu calls, %zu of them good\n", all, good);
  assert_true(good > all / 50);
  unlink(picture);
  free(callers);
}

int main(void) {
  for (int s = 0; s < SLICES; s++)
    for (int i = 0; i < N * N; i++)
      images[s][i / N][i % N] = (float)((i * 7 + s * 13) % 31) + (float)(i % N > 12);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_comes_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
