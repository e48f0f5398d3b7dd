#include "engine/device/kernel_check.h"

#include "engine/base/half.h"
#include "engine/device/profile.h"

#include <math.h>
#include <string.h>

enum { CHECK_STREAM = 5 }; /* of random numbers (engine/base/random.h) */
enum { GUARD = 4096, GUARD_BYTE = 0xA5, GARBAGE_BYTE = 0x7B };

struct operand {
  size_t count, bytes; /* elements; bytes on the device without the guards */
  void *host;          /* the reference's own copy; REAL as float */
  unsigned char *device_bytes;
  cl_mem whole, data; /* guards and data; the data alone */
};

struct check {
  struct device *device;
  const struct kernel_desc *row;
  const struct check_sizes *sizes;
  struct arena *arena;
  struct operand operand[ARGS_MOST];
  struct host_args args;
};

static size_t host_bytes(enum element element) {
  return element == ELEMENT_REAL || element == ELEMENT_F16 ? 4 : element_bytes(element, false);
}

/* Numbers that the host compares in an element. */
static size_t numbers_in(enum element element) {
  return element == ELEMENT_C64 ? 2 : element == ELEMENT_F128 ? 4 : 1;
}

static void fill_random(struct operand *operand, enum element element, struct random *random) {
  float *floats = operand->host;
  uint32_t *words = operand->host;
  uint8_t *bytes = operand->host;
  size_t numbers = numbers_in(element) * operand->count;
  for (size_t i = 0; i < numbers; i++) switch (element) {
    case ELEMENT_U8: bytes[i] = random_u32(random) & 1; break;
    case ELEMENT_U32: words[i] = random_u32(random) % 8; break;
    case ELEMENT_C64: floats[i] = (float)(2 * random_uniform(random) - 1); break;
    default: floats[i] = (float)random_uniform(random); break;
    }
}

static void make_operand(struct check *check, int place, struct random *random) {
  const struct arg_desc *arg = &check->row->args[place];
  const struct check_sizes *sizes = check->sizes;
  struct operand *operand = &check->operand[place];
  size_t rows = arg->table == sizes->shared_table ? 1 : sizes->rows + 3;
  operand->count = rows * sizes->shape[arg->shape];
  operand->bytes = operand->count * element_bytes(arg->element, sizes->half);
  operand->host = arena_new(check->arena, operand->count * host_bytes(arg->element));
  operand->device_bytes = arena_new(check->arena, operand->bytes + 2 * GUARD);
  fill_random(operand, arg->element, random);
  if (arg->kind == ARG_OUT) memset(operand->host, GARBAGE_BYTE, operand->count * host_bytes(arg->element));
  if (arg->kind == ARG_IN)
    check->args.in[place] = operand->host;
  else
    check->args.out[place] = operand->host;
}

static bool is_half(const struct check *check, int place) {
  enum element element = check->row->args[place].element;
  return element == ELEMENT_F16 || (element == ELEMENT_REAL && check->sizes->half);
}

/* Host values to device bytes; halves round, and the host keeps the rounded value. */
static void encode(struct check *check, int place) {
  struct operand *operand = &check->operand[place];
  unsigned char *to = operand->device_bytes + GUARD;
  memset(operand->device_bytes, GUARD_BYTE, operand->bytes + 2 * GUARD);
  if (!is_half(check, place)) {
    memcpy(to, operand->host, operand->bytes);
    return;
  }
  float *values = operand->host;
  for (size_t i = 0; i < operand->count; i++) {
    uint16_t half = half_from_float(values[i]);
    values[i] = half_to_float(half);
    memcpy(to + 2 * i, &half, 2);
  }
}

static bool upload(struct check *check, int place, struct error *error) {
  struct operand *operand = &check->operand[place];
  encode(check, place);
  operand->whole = device_buffer(check->device, operand->bytes + 2 * GUARD, "a kernel check", error);
  if (!operand->whole) return false;
  device_write(check->device, operand->whole, 0, operand->bytes + 2 * GUARD, operand->device_bytes);
  cl_buffer_region region = {GUARD, operand->bytes};
  cl_int code;
  operand->data =
      clCreateSubBuffer(operand->whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  return code == CL_SUCCESS
             ? true
             : fail_as(error, ERROR_DEVICE, "no sub-buffer: %s (%d)", device_code_name(code), code);
}

static bool check_guards(const struct check *check, int place, struct error *error) {
  const struct operand *operand = &check->operand[place];
  for (size_t i = 0; i < GUARD; i++)
    if (operand->device_bytes[i] != GUARD_BYTE ||
        operand->device_bytes[GUARD + operand->bytes + i] != GUARD_BYTE)
      return fail(error, "kernel %s writes outside of %s", check->row->name, check->row->args[place].name);
  return true;
}

static double device_value(const struct check *check, int place, size_t i) {
  const unsigned char *from = check->operand[place].device_bytes + GUARD;
  uint16_t half;
  uint32_t word;
  float number;
  switch (is_half(check, place) ? ELEMENT_F16 : check->row->args[place].element) {
  case ELEMENT_U8: return from[i];
  case ELEMENT_F16: memcpy(&half, from + 2 * i, 2); return half_to_float(half);
  case ELEMENT_U32: memcpy(&word, from + 4 * i, 4); return word;
  default: memcpy(&number, from + 4 * i, 4); return number;
  }
}

static double host_value(const struct check *check, int place, size_t i) {
  const void *host = check->operand[place].host;
  switch (check->row->args[place].element) {
  case ELEMENT_U8: return ((const uint8_t *)host)[i];
  case ELEMENT_U32: return ((const uint32_t *)host)[i];
  default: return ((const float *)host)[i];
  }
}

static bool is_whole(enum element element) {
  return element == ELEMENT_U8 || element == ELEMENT_U32;
}

/* Whether the device's bytes are the host's: most arguments are inputs, which stay. */
static bool is_same(const struct check *check, int place) {
  const struct operand *operand = &check->operand[place];
  return !is_half(check, place) && !memcmp(operand->device_bytes + GUARD, operand->host, operand->bytes);
}

/* Garbage that both left alone reads as the same number. */
static void compare(const struct check *check, int place, struct check_result *result) {
  const struct arg_desc *arg = &check->row->args[place];
  size_t count = is_same(check, place) ? 1 : check->operand[place].count * numbers_in(arg->element);
  double largest = 0, bound = check->row->tolerance + (is_half(check, place) ? 1e-3 : 0);
  for (size_t i = 0; i < count; i++) {
    double value = fabs(host_value(check, place, i));
    if (isfinite(value) && value < 1e30 && value > largest) largest = value; /* garbage is about 1e36 */
  }
  for (size_t i = 0; i < count; i++) {
    double found = device_value(check, place, i), expected = host_value(check, place, i);
    double off = found == expected || (isnan(found) && isnan(expected)) ? 0 : fabs(found - expected);
    double relative = is_whole(arg->element) ? (off > 0) : off / (largest > 0 ? largest : 1);
    if (isnan(relative)) relative = INFINITY;
    if (relative - bound > result->worst - result->bound || !result->argument)
      *result = (struct check_result){relative, bound,    arg->name,       i,
                                      found,    expected, result->seconds, result->bytes};
  }
}

static bool time_launches(struct check *check, struct kernels *kernels, const struct arg *call,
                          struct check_result *result, struct error *error) {
  struct profile *profile = ARENA_NEW(check->arena, struct profile, 1);
  if (!device_profile(check->device, profile, error)) return false;
  for (size_t i = 0; i < check->sizes->launches; i++)
    kernel_run(kernels, check->row->name, check->sizes->rows, call);
  bool good = device_profile(check->device, NULL, error);
  profile_collect(profile);
  result->seconds = profile->row[0].seconds / (double)check->sizes->launches; /* nothing else was enqueued */
  return good;
}

static bool launch(struct check *check, struct kernels *kernels, struct check_result *result,
                   struct error *error) {
  struct arg call[ARGS_MOST + 1];
  int count = 0;
  for (const struct arg_desc *arg = check->row->args; count < ARGS_MOST && arg->kind != ARG_END;
       arg++, count++) {
    call[count] = (struct arg){.kind = arg->kind, .element = arg->element};
    if (arg->kind == ARG_VALUE)
      call[count].as.u = check->args.value[count].u;
    else
      call[count].as.m = check->operand[count].data;
  }
  call[count] = (struct arg){.kind = ARG_END};
  if (!kernel_need(kernels, check->row->name, error)) return false;
  kernel_run(kernels, check->row->name, check->sizes->rows, call);
  if (check->sizes->launches && !time_launches(check, kernels, call, result, error)) return false;
  for (int place = 0; place < count; place++) {
    struct operand *operand = &check->operand[place];
    if (!operand->whole) continue;
    device_read(check->device, operand->whole, 0, operand->bytes + 2 * GUARD, operand->device_bytes);
    result->bytes += (double)operand->bytes;
  }
  return device_finish(check->device, error);
}

static bool check_row(struct check *check, struct kernels *kernels, struct check_result *result,
                      struct error *error) {
  struct random random;
  random_start(&random, check->sizes->seed, CHECK_STREAM, 0);
  const struct arg_desc *args = check->row->args;
  check->args.rows = check->sizes->rows;
  check->args.height = check->sizes->height;
  check->args.width = check->sizes->width;
  check->args.actions = check->sizes->actions ? check->sizes->actions : check->sizes->width;
  for (int t = 0; t < 12; t++)
    check->args.table_rows[t] = t == check->sizes->shared_table ? 1 : check->sizes->rows + 3;
  for (int place = 0; place < ARGS_MOST && args[place].kind != ARG_END; place++) {
    if (args[place].kind == ARG_VALUE)
      check->args.value[place].u = 1;
    else
      make_operand(check, place, &random);
  }
  if (check->row->prepare) check->row->prepare(&check->args, &random);
  for (int place = 0; place < ARGS_MOST && args[place].kind != ARG_END; place++)
    if (args[place].kind != ARG_VALUE && !upload(check, place, error)) return false;
  if (!launch(check, kernels, result, error)) return false;
  if (check->sizes->launches) return true;
  check->row->reference(&check->args);
  for (int place = 0; place < ARGS_MOST && args[place].kind != ARG_END; place++) {
    if (args[place].kind == ARG_VALUE) continue;
    if (!check_guards(check, place, error)) return false;
    compare(check, place, result); /* inputs too: a kernel must leave them alone */
  }
  return true;
}

bool kernel_check(struct device *device, const struct kernel_table *table, const struct kernel_desc *row,
                  const struct check_sizes *sizes, const char *folder, struct check_result *result,
                  struct error *error) {
  struct kernel_setup setup = {sizes->height, sizes->width, sizes->half, folder};
  struct check check = {.device = device, .row = row, .sizes = sizes, .arena = arena_open()};
  struct kernels *kernels;
  *result = (struct check_result){0};
  bool good = kernels_open(&kernels, device, table, &setup, error);
  if (good) {
    if (sizes->macro) kernels_define(kernels, sizes->macro);
    good = check_row(&check, kernels, result, error);
    kernels_close(kernels);
  }
  for (int place = 0; place < ARGS_MOST; place++) {
    struct operand *operand = &check.operand[place];
    if (operand->data) clReleaseMemObject(operand->data);
    if (operand->whole) device_release(device, operand->whole, operand->bytes + 2 * GUARD);
  }
  arena_close(check.arena);
  return good;
}
