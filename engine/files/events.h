/* Event files of TensorBoard: records of a length, its checksum, a protobuf message Event and its checksum.
 * Numbers are written as Event{wall_time, step, summary{value{tag, simple_value}...}}, a picture with
 * image{height, width, colorspace, encoded_image_string} in place of simple_value. */
#ifndef L2SR_ENGINE_EVENTS_H
#define L2SR_ENGINE_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { EVENT_SCALARS = 16, EVENT_TAG = 64 /* bytes at most */ };

struct event_scalar {
  const char *tag; /* "loss/train": TensorBoard groups by what stands before the slash */
  double value;
};

void events_start(FILE *file, double wall_time); /* the first record of a file */
void events_add(FILE *file, double wall_time, uint64_t step, const struct event_scalar *scalars,
                size_t count);

struct event_picture {
  const char *tag;
  const unsigned char *pixel; /* [height][width], 0 is black */
  size_t width, height;
};
void events_add_picture(FILE *file, double wall_time, uint64_t step, const struct event_picture *picture);

/* Where the last whole record of the first `bytes` of a file ends. */
off_t events_whole(int descriptor, off_t bytes);

uint32_t events_checksum(const void *data, size_t bytes); /* CRC-32C (Castagnoli) */
uint32_t events_mask(uint32_t checksum);                  /* the form that the file holds */

#endif
