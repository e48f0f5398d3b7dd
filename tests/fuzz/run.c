/* Runs a harness without libFuzzer: run SECONDS FOLDER [SEED], or run --files COUNT FOLDER [SEED]. Every file
 * of the folder once, then changes of them until the time is over or so many are tried; the same in every run
 * of a seed. An input that ends the program, comes to no end, or takes gigabytes, is printed. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { INPUTS = 64, BYTES = 1 << 15 };

static struct input {
  size_t size;
  uint8_t data[BYTES];
} inputs[INPUTS], changed;
static size_t input_count, runs;
static const struct input *tried;
enum { SECONDS_MOST = 180 /* a child may take 31 s of the processor */, SECONDS_FIRST = 600 /* which builds kernels */, KILOBYTES_MOST = 2 << 20 };
static uint64_t state = 1;

static uint32_t draw(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(state >> 33) % below;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_inputs(const char *folder) {
  struct dirent **list;
  char path[4096];
  int count = scandir(folder, &list, NULL, by_name);
  if (count < 0) abort();
  for (int i = 0; i < count && input_count < INPUTS; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
    FILE *file = list[i]->d_name[0] == '.' ? NULL : fopen(path, "rb");
    if (file) inputs[input_count].size = fread(inputs[input_count].data, 1, BYTES, file);
    if (file) input_count++;
    if (file) fclose(file);
    free(list[i]);
  }
  free(list);
}

/* Bytes replaced, put in or taken out, or the end of another input. */
static void change_once(struct input *input) {
  const struct input *other = &inputs[draw((uint32_t)input_count)];
  size_t at = input->size ? draw((uint32_t)input->size) : 0, room = BYTES - input->size;
  switch (draw(4)) {
  case 0:
    if (input->size) input->data[at] = (uint8_t)draw(256);
    break;
  case 1:
    if (room < 4) break;
    memmove(input->data + at + 4, input->data + at, input->size - at);
    for (int i = 0; i < 4; i++) input->data[at + (size_t)i] = (uint8_t)draw(256);
    input->size += 4;
    break;
  case 2: input->size = at; break;
  default:
    if (other->size > room) break;
    memcpy(input->data + input->size, other->data, other->size);
    input->size += other->size;
  }
}

/* Sanitizers end by SIGABRT. */
static void tell(int signal) {
  dprintf(STDOUT_FILENO, "%zu inputs\ninput ", runs);
  for (size_t i = 0; tried && i < tried->size; i++) dprintf(STDOUT_FILENO, "%02x", tried->data[i]);
  dprintf(STDOUT_FILENO, signal == SIGALRM ? " takes too long\n" : "\n");
  _exit(1);
}

static void try_input(const struct input *input) {
  struct rusage used;
  tried = input;
  alarm(runs ? SECONDS_MOST : SECONDS_FIRST);
  LLVMFuzzerTestOneInput(input->data, input->size);
  runs++;
  getrusage(RUSAGE_SELF, &used);
  if (used.ru_maxrss > KILOBYTES_MOST) abort();
}

/* Changes of the inputs until the time is over, or so many are tried. */
static void try_changes(double end, size_t most) {
  while (seconds() < end && runs < most) {
    changed = inputs[draw((uint32_t)input_count)];
    for (uint32_t i = draw(4); i < 4; i++) change_once(&changed);
    try_input(&changed);
  }
}

int main(int count, char **words) {
  static const int ends[] = {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  bool files = count > 1 && !strcmp(words[1], "--files");
  if (files) count--, words++;
  if (count != 3 && count != 4) return 2;
  if (count == 4) state = strtoull(words[3], NULL, 10);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) signal(ends[i], tell);
  read_inputs(words[2]);
  if (!input_count) return 2;
  for (size_t i = 0; i < input_count; i++) try_input(&inputs[i]);
  try_changes(files ? INFINITY : seconds() + atof(words[1]), files ? strtoull(words[1], NULL, 10) : SIZE_MAX);
  printf("%zu inputs\n", runs);
  return 0;
}
