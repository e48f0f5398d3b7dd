/* Event files read back record by record: checksums against known answers, fields of the protobuf messages.
 */
#include "engine/files/events.h"
#include "tests/support.h"

#include <string.h>

static void checksums_are_the_known_ones(void **state) {
  unsigned char zeros[32] = {0}, ones[32];
  (void)state;
  memset(ones, 0xff, sizeof ones);
  assert_int_equal(events_checksum("123456789", 9), 0xE3069283);
  assert_int_equal(events_checksum("", 0), 0);
  assert_int_equal(events_checksum(zeros, sizeof zeros), 0x8A9136AA); /* RFC 3720 B.4 */
  assert_int_equal(events_checksum(ones, sizeof ones), 0x62A8AB43);
}

/* The start of every event file there is: a record of 24 bytes. */
static void a_file_starts_as_all_do(void **state) {
  static const unsigned char start[] = {24, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22, 0x09};
  struct folder folder;
  size_t bytes;
  (void)state;
  support_open_folder(&folder);
  FILE *file = fopen(support_path(&folder, "events"), "wb");
  events_start(file, 1.5);
  fclose(file);
  const unsigned char *data = support_read(folder.arena, support_path(&folder, "events"), &bytes);
  assert_int_equal(bytes, 8 + 4 + 24 + 4);
  assert_memory_equal(data, start, sizeof start);
  assert_memory_equal(data + 21,
                      "\x1a\x0d"
                      "brain.Event:2",
                      15);
  support_close_folder(&folder);
}

/* The message of the next record; checks its lengths and checksums. */
static const unsigned char *next_record(const unsigned char *data, size_t bytes, size_t *place,
                                        size_t *length) {
  uint64_t size;
  uint32_t sum;
  assert_true(bytes - *place >= 16);
  memcpy(&size, data + *place, 8);
  memcpy(&sum, data + *place + 8, 4);
  assert_int_equal(sum, events_mask(events_checksum(data + *place, 8)));
  const unsigned char *message = data + *place + 12;
  assert_true(size <= bytes - *place - 16);
  memcpy(&sum, message + size, 4);
  assert_int_equal(sum, events_mask(events_checksum(message, size)));
  *place += size + 16;
  *length = size;
  return message;
}

static uint64_t take_varint(const unsigned char **at) {
  uint64_t value = 0;
  int shift = 0;
  do value |= (uint64_t)(**at & 127) << shift, shift += 7;
  while (*(*at)++ & 128);
  return value;
}

static void expect_scalar(const unsigned char **at, const char *tag, float expected) {
  float value;
  assert_int_equal(*(*at)++, 0x0a);
  const unsigned char *end = *at + 1 + **at;
  take_varint(at);
  assert_int_equal(*(*at)++, 0x0a);
  size_t length = take_varint(at);
  assert_int_equal(length, strlen(tag));
  assert_memory_equal(*at, tag, length);
  *at += length;
  assert_int_equal(*(*at)++, 0x15);
  memcpy(&value, *at, 4);
  assert_true(value == expected);
  *at += 4;
  assert_ptr_equal(*at, end);
}

static void numbers_come_back(void **state) {
  static const struct event_scalar scalars[] = {{"loss/train", -0.5}, {"rate", 1e-3}};
  struct folder folder;
  size_t bytes, place = 0, length;
  double time;
  (void)state;
  support_open_folder(&folder);
  FILE *file = fopen(support_path(&folder, "events"), "wb");
  events_start(file, 1);
  events_add(file, 1.7e9, 300, scalars, 2);
  events_add(file, 2, UINT64_C(1) << 40, scalars, 0);
  fclose(file);
  const unsigned char *data = support_read(folder.arena, support_path(&folder, "events"), &bytes);
  next_record(data, bytes, &place, &length);
  const unsigned char *at = next_record(data, bytes, &place, &length), *end = at + length;
  assert_int_equal(*at++, 0x09);
  memcpy(&time, at, 8);
  assert_true(time == 1.7e9);
  at += 8;
  assert_int_equal(*at++, 0x10);
  assert_int_equal(take_varint(&at), 300);
  assert_int_equal(*at++, 0x2a);
  length = take_varint(&at);
  assert_int_equal(length, end - at);
  expect_scalar(&at, "loss/train", -0.5f);
  expect_scalar(&at, "rate", 1e-3f);
  assert_ptr_equal(at, end);
  at = next_record(data, bytes, &place, &length) + 10;
  assert_int_equal(take_varint(&at), UINT64_C(1) << 40);
  assert_int_equal(place, bytes);
  support_close_folder(&folder);
}

/* The picture's pixels stand in the PNG. */
static void expect_png(const unsigned char *at, size_t bytes, const struct event_picture *picture,
                       struct folder *folder) {
  const char *path = support_path(folder, "picture.png");
  support_write(path, at, bytes);
  struct decoded decoded = support_read_png(folder->arena, path);
  assert_int_equal(decoded.width, picture->width);
  assert_int_equal(decoded.height, picture->height);
  for (size_t i = 0; i < picture->width * picture->height; i++)
    assert_int_equal(decoded.pixel[i] & 0xffffff, picture->pixel[i] * 0x010101);
}

/* A field of bytes; returns its data and leaves `at` behind it. */
static const unsigned char *take_field(const unsigned char **at, int key, size_t *length) {
  assert_int_equal(*(*at)++, key);
  *length = take_varint(at);
  const unsigned char *data = *at;
  *at += *length;
  return data;
}

static void expect_picture(const unsigned char *at, const struct event_picture *picture, struct folder *folder) {
  size_t length;
  const unsigned char *summary = take_field(&at, 0x2a, &length), *value = take_field(&summary, 0x0a, &length);
  const unsigned char *tag = take_field(&value, 0x0a, &length);
  assert_int_equal(length, strlen(picture->tag));
  assert_memory_equal(tag, picture->tag, length);
  const unsigned char *image = take_field(&value, 0x22, &length);
  assert_int_equal(*image++, 0x08);
  assert_int_equal(take_varint(&image), picture->height);
  assert_int_equal(*image++, 0x10);
  assert_int_equal(take_varint(&image), picture->width);
  assert_memory_equal(image, "\x18\x01", 2); /* grey */
  image += 2;
  const unsigned char *png = take_field(&image, 0x22, &length);
  expect_png(png, length, picture, folder);
}

static void pictures_come_back(void **state) {
  static const size_t sides[][2] = {{5, 3}, {32, 7}, {400, 401}, {32767, 1}, {1, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
    struct folder folder;
    size_t width = sides[i][0], height = sides[i][1], bytes, place = 0, length;
    support_open_folder(&folder);
    unsigned char *pixel = arena_new(folder.arena, width * height);
    for (size_t k = 0; k < width * height; k++) pixel[k] = (unsigned char)(k * 37 + k / 251);
    struct event_picture picture = {"policy/choices", pixel, width, height};
    FILE *file = fopen(support_path(&folder, "events"), "wb");
    events_add_picture(file, 2, 300, &picture);
    fclose(file);
    const unsigned char *data = support_read(folder.arena, support_path(&folder, "events"), &bytes);
    const unsigned char *at = next_record(data, bytes, &place, &length) + 10;
    assert_int_equal(place, bytes);
    assert_int_equal(take_varint(&at), 300);
    expect_picture(at, &picture, &folder);
    support_close_folder(&folder);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(checksums_are_the_known_ones),
      cmocka_unit_test(a_file_starts_as_all_do),
      cmocka_unit_test(numbers_come_back),
      cmocka_unit_test(pictures_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
