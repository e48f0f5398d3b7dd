/* Whether the lengths in a MATLAB file of version 5 are those of its numbers. libmatio takes what is cut, or what a shape
 * promises beyond them, for zeros; and it writes a matrix's own length last and as far as it came, so that of what a full disk
 * cut only the lengths inside tell. */
#include "systems/formats/unpacked.h"

#ifdef L2SR_MATIO
#include <string.h>
#include <zlib.h>

enum {
  HEADER = 128, /* bytes, whose last four say the version and the order of bytes */
  MATRIX = 14,  /* types of elements */
  COMPRESSED = 15,
  NUMERIC = 6, /* the first and the last class of numbers */
  NUMERIC_LAST = 15,
  PART = 16384
};

/* What is taken from one byte after the other: an element of the file, or what is compressed in it. */
struct source {
  FILE *file;
  size_t left; /* bytes of it in the file that are not taken */
  bool packed, ended, swapped;
  z_stream stream;
  unsigned char from[PART];
};

static bool refill(struct source *source) {
  size_t part = source->left < PART ? source->left : PART;
  if (source->stream.avail_in) return true;
  if (!part || fread(source->from, 1, part, source->file) != part) return false;
  source->stream.next_in = source->from;
  source->stream.avail_in = (uInt)part;
  source->left -= part;
  return true;
}

static bool inflate_on(struct source *source) {
  if (source->ended || !refill(source)) return false;
  int code = inflate(&source->stream, Z_NO_FLUSH);
  source->ended = code == Z_STREAM_END;
  return source->ended || code == Z_OK;
}

/* The next bytes, to nowhere where `to` is NULL. */
static bool take(struct source *source, void *to, size_t bytes) {
  unsigned char none[PART];
  if (!source->packed) {
    if (bytes > source->left) return false;
    source->left -= bytes;
    return to ? fread(to, 1, bytes, source->file) == bytes : fseek(source->file, (long)bytes, SEEK_CUR) == 0;
  }
  for (size_t part; bytes; bytes -= part) {
    part = bytes < PART ? bytes : PART;
    source->stream.next_out = to ? to : none;
    source->stream.avail_out = (uInt)part;
    while (source->stream.avail_out)
      if (!inflate_on(source)) return false;
  }
  return true;
}

static uint32_t word_of(const struct source *source, const unsigned char *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return source->swapped ? __builtin_bswap32(word) : word;
}

/* A part of a matrix: a type, how many bytes, these, and up to 7 that fill eights; or all of it in eight bytes. */
struct part {
  uint32_t type;
  size_t bytes;
  unsigned char first[PART]; /* its bytes, where these hold them */
};

static bool take_part(struct source *source, struct part *part, size_t *left) {
  unsigned char tag[8];
  if (*left < sizeof tag || !take(source, tag, sizeof tag)) return false;
  *left -= sizeof tag;
  uint32_t word = word_of(source, tag);
  *part = (struct part){.type = word & 0xffff, .bytes = word >> 16};
  if (part->bytes) return part->bytes <= 4 && memcpy(part->first, tag + 4, 4);
  part->bytes = word_of(source, tag + 4);
  if (part->bytes > *left) return false;
  size_t filled = part->bytes + (8 - part->bytes % 8) % 8;
  filled = filled < *left ? filled : *left;
  *left -= filled;
  return take(source, filled <= PART ? part->first : NULL, filled);
}

static size_t width_of(uint32_t type) {
  static const unsigned char widths[] = {[1] = 1, [2] = 1, [3] = 2,  [4] = 2,  [5] = 4,
                                         [6] = 4, [7] = 4, [9] = 8, [12] = 8, [13] = 8};
  return type < sizeof widths ? widths[type] : 0;
}

/* Flags, lengths of axes, name, numbers and, of complex ones, imaginary parts. Of cells, texts and the like nothing is asked. */
static bool is_matrix_whole(struct source *source, size_t left) {
  struct part part;
  size_t count = 1;
  if (!left) return true;
  if (!take_part(source, &part, &left) || part.bytes != 8) return false;
  uint32_t flags = word_of(source, part.first);
  if ((flags & 0xff) < NUMERIC || (flags & 0xff) > NUMERIC_LAST) return take(source, NULL, left);
  if (!take_part(source, &part, &left) || part.bytes > PART) return false;
  for (size_t i = 0; i + 4 <= part.bytes; i += 4)
    if (__builtin_mul_overflow(count, word_of(source, part.first + i), &count)) return false;
  if (!take_part(source, &part, &left)) return false;
  for (int parts = flags >> 11 & 1 ? 2 : 1; count && parts; parts--) {
    size_t bytes;
    if (!take_part(source, &part, &left) || !width_of(part.type)) return false;
    if (__builtin_mul_overflow(count, width_of(part.type), &bytes) || part.bytes != bytes) return false;
  }
  return take(source, NULL, left);
}

/* A matrix, and nothing behind it. */
static bool is_packed_whole(struct source *source) {
  unsigned char tag[8], more;
  source->packed = true;
  if (inflateInit(&source->stream) != Z_OK) return false;
  bool good = take(source, tag, sizeof tag) && word_of(source, tag) == MATRIX &&
              is_matrix_whole(source, word_of(source, tag + 4));
  source->stream.next_out = &more;
  source->stream.avail_out = 1;
  while (good && !source->ended) good = inflate_on(source) && source->stream.avail_out;
  inflateEnd(&source->stream);
  return good && fseek(source->file, (long)source->left, SEEK_CUR) == 0;
}

/* The elements of a file one after the other: a type, how many bytes, these. */
static bool has_all(FILE *file, size_t left, bool swapped) {
  struct source source = {.file = file, .swapped = swapped};
  unsigned char tag[8];
  while (left) {
    if (left < sizeof tag || fread(tag, sizeof tag, 1, file) != 1) return false;
    uint32_t type = word_of(&source, tag);
    struct source element = {.file = file, .left = word_of(&source, tag + 4), .swapped = swapped};
    left -= sizeof tag;
    if (element.left > left) return false;
    left -= element.left;
    if (type == COMPRESSED ? !is_packed_whole(&element)
        : type == MATRIX   ? !is_matrix_whole(&element, element.left)
                           : !take(&element, NULL, element.left))
      return false;
  }
  return true;
}

bool matlab_is_whole(const char *path) {
  unsigned char header[HEADER];
  FILE *file = fopen(path, "rb");
  if (!file || fread(header, HEADER, 1, file) != 1) {
    if (file) fclose(file);
    return true; /* libmatio says what it is */
  }
  uint16_t version, order;
  memcpy(&version, header + 124, sizeof version);
  memcpy(&order, header + 126, sizeof order);
  bool swapped = order != 0x4d49, five = version == 0x0100 || version == 0x0001;
  long end = five && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
  bool whole = end < HEADER || (!fseek(file, HEADER, SEEK_SET) && has_all(file, (size_t)end - HEADER, swapped));
  fclose(file);
  return whole;
}
#endif
