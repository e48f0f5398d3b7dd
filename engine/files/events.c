#include "engine/files/events.h"

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/files/png.h"

#include <string.h>
#include <unistd.h>

uint32_t events_checksum(const void *data, size_t bytes) {
  return hash_crc(CRC_CASTAGNOLI, 0, data, bytes);
}

uint32_t events_mask(uint32_t checksum) {
  return (checksum >> 15 | checksum << 17) + 0xa282ead8u;
}

/* ---- protobuf ------------------------------------------------------------------------------------------ */

enum { WIRE_VARINT = 0, WIRE_DOUBLE = 1, WIRE_BYTES = 2, WIRE_FLOAT = 5 };
enum { VALUE_MOST = EVENT_TAG + 16, MESSAGE_MOST = EVENT_SCALARS * VALUE_MOST + 64 };

struct message {
  unsigned char *byte; /* [room] */
  size_t used, room;
};
#define MESSAGE(most) ((struct message){(unsigned char[most]){0}, 0, most})

static void put_bytes(struct message *message, const void *data, size_t bytes) {
  REQUIRE(bytes <= message->room - message->used, "an event of more than %zu bytes", message->room);
  memcpy(message->byte + message->used, data, bytes);
  message->used += bytes;
}

static void put_varint(struct message *message, uint64_t value) {
  do {
    unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
    put_bytes(message, &byte, 1);
    value >>= 7;
  } while (value);
}

/* Numbers have the order of this machine, little-endian on every one we build for. */
static void put_number(struct message *message, unsigned field, unsigned wire, const void *number) {
  put_varint(message, field << 3 | wire);
  put_bytes(message, number, wire == WIRE_DOUBLE ? 8 : 4);
}

static void put_field(struct message *message, unsigned field, const void *data, size_t bytes) {
  put_varint(message, field << 3 | WIRE_BYTES);
  put_varint(message, bytes);
  put_bytes(message, data, bytes);
}

static void put_scalar(struct message *summary, const struct event_scalar *scalar) {
  struct message value = MESSAGE(VALUE_MOST);
  float number = (float)scalar->value;
  REQUIRE(strlen(scalar->tag) <= EVENT_TAG, "the tag %s is too long", scalar->tag);
  put_field(&value, 1, scalar->tag, strlen(scalar->tag));
  put_number(&value, 2, WIRE_FLOAT, &number);
  put_field(summary, 1, value.byte, value.used);
}

/* ---- records ------------------------------------------------------------------------------------------- */

static void write_checksum(FILE *file, const void *data, size_t bytes) {
  uint32_t sum = events_mask(events_checksum(data, bytes));
  fwrite(&sum, sizeof sum, 1, file);
}

static void write_record(FILE *file, const struct message *message) {
  uint64_t length = message->used;
  fwrite(&length, sizeof length, 1, file);
  write_checksum(file, &length, sizeof length);
  fwrite(message->byte, 1, message->used, file);
  write_checksum(file, message->byte, message->used);
}

off_t events_whole(int descriptor, off_t bytes) {
  const off_t around = 2 * sizeof(uint32_t) + sizeof(uint64_t);
  uint64_t length;
  off_t end = 0;
  while (bytes - end >= around && pread(descriptor, &length, sizeof length, end) == sizeof length &&
         length <= (uint64_t)(bytes - end - around))
    end += around + (off_t)length;
  return end;
}

void events_start(FILE *file, double wall_time) {
  static const char version[] = "brain.Event:2";
  struct message event = MESSAGE(MESSAGE_MOST);
  put_number(&event, 1, WIRE_DOUBLE, &wall_time);
  put_field(&event, 3, version, strlen(version));
  write_record(file, &event);
}

static void put_start(struct message *event, double wall_time, uint64_t step) {
  put_number(event, 1, WIRE_DOUBLE, &wall_time);
  put_varint(event, 2 << 3 | WIRE_VARINT);
  put_varint(event, step);
}

void events_add(FILE *file, double wall_time, uint64_t step, const struct event_scalar *scalars,
                size_t count) {
  struct message event = MESSAGE(MESSAGE_MOST), summary = MESSAGE(MESSAGE_MOST);
  put_start(&event, wall_time, step);
  for (size_t i = 0; i < count; i++) put_scalar(&summary, &scalars[i]);
  put_field(&event, 5, summary.byte, summary.used);
  write_record(file, &event);
}

/* ---- pictures ------------------------------------------------------------------------------------------ */

static struct message open_message(struct arena *arena, size_t room) {
  return (struct message){arena_new(arena, room), 0, room};
}

static struct message image_of(struct arena *arena, const struct event_picture *picture) {
  size_t bytes;
  const unsigned char *png = png_make(arena, picture->pixel, picture->width, picture->height, &bytes);
  struct message image = open_message(arena, bytes + 64);
  const uint64_t facts[] = {picture->height, picture->width, 1 /* grey */};
  for (unsigned field = 1; field <= 3; field++) {
    put_varint(&image, field << 3 | WIRE_VARINT);
    put_varint(&image, facts[field - 1]);
  }
  if (!png) fatal(ERROR_MEMORY, "no memory for a picture of %zux%zu", picture->width, picture->height);
  put_field(&image, 4, png, bytes);
  return image;
}

void events_add_picture(FILE *file, double wall_time, uint64_t step, const struct event_picture *picture) {
  REQUIRE(strlen(picture->tag) <= EVENT_TAG, "the tag %s is too long", picture->tag);
  struct arena *arena = arena_open();
  struct message image = image_of(arena, picture);
  struct message value = open_message(arena, image.used + VALUE_MOST);
  struct message summary = open_message(arena, value.room + 16), event = open_message(arena, value.room + 64);
  put_field(&value, 1, picture->tag, strlen(picture->tag));
  put_field(&value, 4, image.byte, image.used);
  put_field(&summary, 1, value.byte, value.used);
  put_start(&event, wall_time, step);
  put_field(&event, 5, summary.byte, summary.used);
  write_record(file, &event);
  arena_close(arena);
}
