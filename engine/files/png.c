#include "engine/files/png.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 65535 /* most bytes of a block of deflate that is not packed */ };
static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
enum { HEADER = 13, AROUND = 12 /* of a chunk: length, type, checksum */ };

/* Every row has a byte before it that says how it is filtered: not. */
static size_t row_bytes(size_t width, size_t height) {
  return (width + 1) * height;
}

static size_t stream_bytes(size_t bytes) {
  size_t blocks = bytes ? (bytes + BLOCK - 1) / BLOCK : 1;
  return 2 + 5 * blocks + bytes + 4;
}

size_t png_bytes(size_t width, size_t height) {
  return sizeof signature + AROUND + HEADER + AROUND + stream_bytes(row_bytes(width, height)) + AROUND;
}

static unsigned char *put_word(unsigned char *to, uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) *to++ = (unsigned char)(word >> shift);
  return to;
}

static uint32_t checksum(const unsigned char *data, size_t bytes) {
  uint32_t sum = UINT32_MAX;
  for (size_t i = 0; i < bytes; i++) {
    sum ^= data[i];
    for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
  }
  return ~sum;
}

static unsigned char *start_chunk(unsigned char *to, const char *type, size_t bytes) {
  to = put_word(to, (uint32_t)bytes);
  memcpy(to, type, 4);
  return to + 4;
}

/* Checks type and data. */
static unsigned char *end_chunk(unsigned char *end, size_t bytes) {
  return put_word(end, checksum(end - bytes - 4, bytes + 4));
}

static unsigned char *put_header(unsigned char *to, size_t width, size_t height) {
  static const unsigned char kind[] = {8 /* bits */, 0 /* grey */, 0, 0, 0};
  to = start_chunk(to, "IHDR", HEADER);
  to = put_word(to, (uint32_t)width);
  to = put_word(to, (uint32_t)height);
  memcpy(to, kind, sizeof kind);
  return end_chunk(to + sizeof kind, HEADER);
}

/* Adler-32 (RFC 1950). */
struct sums {
  uint32_t low, high;
};

static void add_byte(struct sums *sums, unsigned char byte) {
  sums->low = (sums->low + byte) % 65521;
  sums->high = (sums->high + sums->low) % 65521;
}

static unsigned char byte_at(const unsigned char *pixel, size_t width, size_t place) {
  size_t column = place % (width + 1);
  return column ? pixel[place / (width + 1) * width + column - 1] : 0;
}

/* Blocks as they are (RFC 1951, 3.2.4): whether it is the last, its length, and that inverted. */
static unsigned char *put_stream(unsigned char *to, const unsigned char *pixel, size_t width, size_t bytes) {
  struct sums sums = {1, 0};
  *to++ = 0x78;
  *to++ = 0x01;
  for (size_t first = 0; first < bytes; first += BLOCK) {
    size_t count = bytes - first < BLOCK ? bytes - first : BLOCK;
    *to++ = first + count == bytes;
    for (int inverted = 0; inverted < 2; inverted++) {
      *to++ = (unsigned char)((inverted ? ~count : count) & 255);
      *to++ = (unsigned char)((inverted ? ~count : count) >> 8 & 255);
    }
    for (size_t i = first; i < first + count; i++) add_byte(&sums, *to++ = byte_at(pixel, width, i));
  }
  return put_word(to, sums.high << 16 | sums.low);
}

void png_write(unsigned char *to, const unsigned char *pixel, size_t width, size_t height) {
  size_t bytes = row_bytes(width, height), stream = stream_bytes(bytes);
  memcpy(to, signature, sizeof signature);
  to = put_header(to + sizeof signature, width, height);
  to = put_stream(start_chunk(to, "IDAT", stream), pixel, width, bytes);
  to = end_chunk(to, stream);
  end_chunk(start_chunk(to, "IEND", 0), 0);
}
