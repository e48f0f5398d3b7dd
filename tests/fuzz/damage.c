/* Damage to what HDF5 itself keeps in a file: superblock, object headers of both versions and their messages
 * (dataspaces, datatypes, attributes, layouts, filters, links, continuations), symbol tables, trees and
 * heaps. A spot is a number of one of these; what is not found by its signature or its version is reached by
 * bytes. Checksums are made anew, so that libhdf5 goes on to read what is damaged. */
#include "tests/fuzz/damage.h"

#include <stdlib.h>
#include <string.h>

enum { REGION_MOST = 1 << 12, BODY_MOST = 96, STRUCTURE_MOST = 64 };

/* ---- checksums ----------------------------------------------------------------------------------------- */

static uint32_t turn(uint32_t x, int bits) {
  return x << bits | x >> (32 - bits);
}

static void mix(uint32_t word[3]) {
  static const int bits[] = {4, 6, 8, 16, 19, 4};
  for (int i = 0; i < 6; i++) {
    uint32_t *x = &word[i % 3], *y = &word[(i + 1) % 3], *z = &word[(i + 2) % 3];
    *x -= *z;
    *x ^= turn(*z, bits[i]);
    *z += *y;
  }
}

static uint32_t end_mix(uint32_t a, uint32_t b, uint32_t c) {
  c = (c ^ b) - turn(b, 14);
  a = (a ^ c) - turn(c, 11);
  b = (b ^ a) - turn(a, 25);
  c = (c ^ b) - turn(b, 16);
  a = (a ^ c) - turn(c, 4);
  b = (b ^ a) - turn(a, 14);
  return (c ^ b) - turn(b, 24);
}

/* lookup3 by Bob Jenkins, which is in the public domain. */
static uint32_t checksum(const uint8_t *bytes, size_t size) {
  uint32_t word[3] = {0xdeadbeef + (uint32_t)size, 0xdeadbeef + (uint32_t)size, 0xdeadbeef + (uint32_t)size};
  if (!size) return word[2];
  for (; size > 12; size -= 12, bytes += 12) {
    for (size_t i = 0; i < 12; i++) word[i / 4] += (uint32_t)bytes[i] << 8 * (i % 4);
    mix(word);
  }
  for (size_t i = 0; i < size; i++) word[i / 4] += (uint32_t)bytes[i] << 8 * (i % 4);
  return end_mix(word[0], word[1], word[2]);
}

static uint64_t number_at(const uint8_t *bytes, size_t width) {
  uint64_t number = 0;
  for (size_t i = 0; i < width; i++) number |= (uint64_t)bytes[i] << 8 * i;
  return number;
}

static void put_number(uint8_t *bytes, size_t width, uint64_t number) {
  for (size_t i = 0; i < width; i++) bytes[i] = (uint8_t)(number >> 8 * i);
}

/* ---- what there is ------------------------------------------------------------------------------------- */

static void add_spot(struct anatomy *anatomy, size_t at, size_t width) {
  if (at + width > anatomy->size || anatomy->spot_count == ANATOMY_SPOTS) return;
  anatomy->spots[anatomy->spot_count++] = (struct spot){(uint32_t)at, (uint8_t)width};
}

/* Every byte, and every number that may begin there. */
static void add_body(struct anatomy *anatomy, size_t at, size_t length) {
  for (size_t i = 0; i < length; i++)
    for (size_t width = 1; width <= 8; width *= 2)
      if (i % width == 0) add_spot(anatomy, at + i, width);
}

/* Messages of a header of either version; `head` bytes stand before each: its type, size and flags. */
static void add_messages(struct anatomy *anatomy, size_t at, size_t end, size_t head) {
  size_t wide = head == 8 ? 2 : 1; /* the bytes of a type */
  while (at + head <= end && end <= anatomy->size) {
    size_t length = (size_t)number_at(anatomy->bytes + at + wide, 2);
    add_spot(anatomy, at, wide);
    add_spot(anatomy, at + wide, 2);
    add_spot(anatomy, at + wide + 2, 1);
    at += head;
    if (length > end - at) return;
    add_body(anatomy, at, length < BODY_MOST ? length : BODY_MOST);
    at += length;
  }
}

/* Version 1: no signature, but a version, a zero, and whole numbers that fit each other. */
static bool is_old_header(const struct anatomy *anatomy, size_t at) {
  const uint8_t *bytes = anatomy->bytes + at;
  if (at + 24 > anatomy->size || bytes[0] != 1 || bytes[1]) return false;
  uint64_t messages = number_at(bytes + 2, 2), users = number_at(bytes + 4, 4),
           size = number_at(bytes + 8, 4);
  return messages && messages < 1000 && users && users < 100 && size >= 8 && size % 8 == 0 &&
         at + 16 + size <= anatomy->size && !number_at(bytes + 12, 4) && number_at(bytes + 16, 2) < 0x19 &&
         number_at(bytes + 18, 2) % 8 == 0;
}

static void add_old_header(struct anatomy *anatomy, size_t at) {
  add_spot(anatomy, at, 1);
  add_spot(anatomy, at + 2, 2);
  add_spot(anatomy, at + 4, 4);
  add_spot(anatomy, at + 8, 4);
  add_messages(anatomy, at + 16, at + 16 + (size_t)number_at(anatomy->bytes + at + 8, 4), 8);
}

/* Where a header continues: a message of type 16 holds an address and a length. */
static void add_old_continuations(struct anatomy *anatomy, size_t at) {
  size_t end = at + 16 + (size_t)number_at(anatomy->bytes + at + 8, 4);
  for (at += 16; at + 24 <= end;) {
    const uint8_t *message = anatomy->bytes + at;
    size_t length = (size_t)number_at(message + 2, 2);
    uint64_t place = number_at(message + 8, 8), bytes = number_at(message + 16, 8);
    if (number_at(message, 2) == 16 && place < anatomy->size && bytes <= anatomy->size - place)
      add_messages(anatomy, (size_t)place, (size_t)(place + bytes), 8);
    at += 8 + length;
  }
}

static void add_new_header(struct anatomy *anatomy, size_t at) {
  if (at + 32 > anatomy->size) return;
  unsigned flags = anatomy->bytes[at + 5];
  size_t wide = (size_t)1 << (flags & 3), start = at + 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
  add_body(anatomy, at + 4, start + wide - at - 4);
  if (start + wide > anatomy->size) return;
  add_messages(anatomy, start + wide, start + wide + (size_t)number_at(anatomy->bytes + start, wide),
               flags & 4 ? 6 : 4);
}

/* The region that begins here and ends in its checksum, if there is one. */
static void add_region(struct anatomy *anatomy, size_t at) {
  size_t end = at + REGION_MOST < anatomy->size ? at + REGION_MOST : anatomy->size;
  for (size_t length = 8; at + length + 4 <= end && anatomy->region_count < ANATOMY_REGIONS; length++)
    if (checksum(anatomy->bytes + at, length) == number_at(anatomy->bytes + at + length, 4)) {
      anatomy->regions[anatomy->region_count++] = (struct region){(uint32_t)at, (uint32_t)length};
      return;
    }
}

static bool is_one_of(const uint8_t *bytes, const char *const *signatures) {
  for (; *signatures; signatures++)
    if (!memcmp(bytes, *signatures, 4)) return true;
  return false;
}

/* Of the newest format, and with a checksum. */
static bool has_checksum(const uint8_t *bytes) {
  static const char *const signatures[] = {"OHDR", "OCHK", "FRHP", "FHIB", "BTHD", "BTLF",
                                           "BTIN", "FAHD", "FADB", "EAHD", "EAIB", "EASB",
                                           "EADB", "SMTB", "SMLI", "FSHD", "FSSE", NULL};
  return is_one_of(bytes, signatures) || (!memcmp(bytes, "\211HDF", 4) && bytes[8] >= 2);
}

static bool has_signature(const uint8_t *bytes) {
  static const char *const others[] = {"TREE", "SNOD", "HEAP", "GCOL", "FHDB", "\211HDF", NULL};
  return has_checksum(bytes) || is_one_of(bytes, others);
}

void anatomy_find(struct anatomy *anatomy, const uint8_t *bytes, size_t size) {
  anatomy->bytes = bytes;
  anatomy->size = size;
  for (size_t at = 0; at + 9 <= size; at++) {
    if (at % 8 == 0 && is_old_header(anatomy, at)) {
      add_old_header(anatomy, at);
      add_old_continuations(anatomy, at);
    }
    if (!has_signature(bytes + at)) continue;
    if (!memcmp(bytes + at, "OHDR", 4))
      add_new_header(anatomy, at);
    else if (!memcmp(bytes + at, "OCHK", 4))
      add_body(anatomy, at + 4, BODY_MOST);
    else
      add_body(anatomy, at + 4, STRUCTURE_MOST);
    if (has_checksum(bytes + at)) add_region(anatomy, at);
  }
}

/* ---- damage -------------------------------------------------------------------------------------------- */

/* At the ends of numbers of all widths, and sizes near the file's own. */
static uint64_t odd_number(const struct anatomy *anatomy, unsigned which) {
  const uint64_t numbers[] = {0,
                              1,
                              2,
                              3,
                              7,
                              8,
                              16,
                              0x7f,
                              0x80,
                              0xff,
                              0x100,
                              0x7fff,
                              0x8000,
                              0xfffe,
                              0xffff,
                              0x10000,
                              0x7fffffff,
                              0x80000000,
                              0xc0000000,
                              0xffffffff,
                              (uint64_t)1 << 32,
                              (uint64_t)1 << 40,
                              (uint64_t)1 << 62,
                              (uint64_t)1 << 63,
                              UINT64_MAX - 1,
                              UINT64_MAX,
                              anatomy->size,
                              anatomy->size - 1,
                              anatomy->size - 8,
                              anatomy->size / 2};
  return numbers[which % (sizeof numbers / sizeof *numbers)];
}

static uint64_t damaged(const struct anatomy *anatomy, const uint8_t *bytes, uint64_t before, unsigned how,
                        unsigned by) {
  const struct spot *other = &anatomy->spots[(by * 2654435761u + how) % anatomy->spot_count];
  switch (how % 6) {
  case 0:
  case 1: return odd_number(anatomy, by);
  case 2: return before ^ (uint64_t)1 << by % 64;
  case 3: return before + by - 128;
  case 4: return number_at(bytes + other->at, other->width);
  default: return by;
  }
}

static void mend(const struct anatomy *anatomy, uint8_t *bytes, size_t at) {
  for (size_t i = 0; i < anatomy->region_count; i++) {
    size_t start = anatomy->regions[i].at, end = start + anatomy->regions[i].length;
    if (at >= start && at < end) put_number(bytes + end, 4, checksum(bytes + start, end - start));
  }
}

void anatomy_damage(const struct anatomy *anatomy, uint8_t *bytes, const uint8_t input[4]) {
  unsigned place = input[0] * 256u + input[2], how = input[1], by = input[3];
  if (!anatomy->spot_count || how % 8 == 7) { /* any byte */
    size_t at = (size_t)(place * 2654435761u % anatomy->size);
    bytes[at] = (uint8_t)(how & 8 ? by : bytes[at] ^ 1u << by % 8);
    mend(anatomy, bytes, at);
    return;
  }
  const struct spot *spot = &anatomy->spots[place * 2654435761u % anatomy->spot_count];
  uint64_t before = number_at(bytes + spot->at, spot->width);
  put_number(bytes + spot->at, spot->width, damaged(anatomy, bytes, before, how, by));
  mend(anatomy, bytes, spot->at);
}
