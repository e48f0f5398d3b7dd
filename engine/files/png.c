#include "engine/files/png.h"

#include <cairo.h>
#include <string.h>

struct bytes {
  struct arena *arena;
  unsigned char *byte;
  size_t used, room;
};

/* A call of cairo must not be jumped over: the arena is tried. */
static cairo_status_t add_bytes(void *context, const unsigned char *data, unsigned length) {
  struct bytes *bytes = context;
  if (bytes->used + length > bytes->room) {
    size_t room = 2 * (bytes->used + length);
    unsigned char *byte = arena_try(bytes->arena, room);
    if (!byte) return CAIRO_STATUS_NO_MEMORY;
    memcpy(byte, bytes->byte, bytes->used);
    bytes->byte = byte;
    bytes->room = room;
  }
  memcpy(bytes->byte + bytes->used, data, length);
  bytes->used += length;
  return CAIRO_STATUS_SUCCESS;
}

static void fill(cairo_surface_t *surface, const unsigned char *pixel, size_t width, size_t height) {
  unsigned char *to = cairo_image_surface_get_data(surface);
  size_t stride = (size_t)cairo_image_surface_get_stride(surface);
  cairo_surface_flush(surface);
  for (size_t y = 0; y < height; y++) memcpy(to + y * stride, pixel + y * width, width);
  cairo_surface_mark_dirty(surface);
}

const unsigned char *png_make(struct arena *arena, const unsigned char *pixel, size_t width, size_t height,
                              size_t *bytes) {
  struct bytes made = {.arena = arena, .room = 4096};
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_A8, (int)width, (int)height);
  cairo_status_t status = cairo_surface_status(surface);
  made.byte = arena_try(arena, made.room);
  if (!status && made.byte) {
    fill(surface, pixel, width, height);
    status = cairo_surface_write_to_png_stream(surface, add_bytes, &made);
  }
  cairo_surface_destroy(surface);
  *bytes = made.used;
  return status || !made.byte ? NULL : made.byte;
}
