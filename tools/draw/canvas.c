#include "tools/draw/canvas.h"

#include "engine/base/arena.h"
#include "engine/files/store.h"
#include "tools/draw/font.h"

#include <png.h>
#include <string.h>

const struct colour canvas_paper = {255, 255, 255}, canvas_ink = {32, 32, 32}, canvas_frame = {128, 128, 128};

bool canvas_open(struct canvas *canvas, size_t width, size_t height, struct error *error) {
  *canvas = (struct canvas){arena_open(), width, height, NULL};
  canvas->pixel = arena_try(canvas->arena, width * height * sizeof *canvas->pixel);
  if (canvas->pixel) {
    canvas_fill(canvas, 0, 0, width, height, canvas_paper);
    return true;
  }
  canvas_close(canvas);
  return fail(error, "a picture of %zux%zu pixels does not fit in memory; ask for a smaller one", width,
              height);
}

void canvas_close(struct canvas *canvas) {
  arena_close(canvas->arena);
  *canvas = (struct canvas){0};
}

void canvas_fill(struct canvas *canvas, size_t left, size_t top, size_t width, size_t height,
                 struct colour colour) {
  for (size_t y = top; y < top + height && y < canvas->height; y++)
    for (size_t x = left; x < left + width && x < canvas->width; x++)
      canvas->pixel[y * canvas->width + x] = colour;
}

void canvas_outline(struct canvas *canvas, size_t left, size_t top, size_t width, size_t height, size_t thick,
                    struct colour colour) {
  size_t wide = width + 2 * thick, x = left - thick, y = top - thick;
  canvas_fill(canvas, x, y, wide, thick, colour);
  canvas_fill(canvas, x, top + height, wide, thick, colour);
  canvas_fill(canvas, x, top, thick, height, colour);
  canvas_fill(canvas, left + width, top, thick, height, colour);
}

size_t canvas_text_width(size_t length) {
  return length ? CANVAS_TEXT * (length * FONT_ADVANCE - (FONT_ADVANCE - FONT_WIDTH)) : 0;
}

/* A pixel of the font drawn twice as large. The corner of an empty pixel where two set ones meet is set too,
 * which smooths diagonal strokes (half of the rule known as Scale2x: the other half would make D an O). */
static bool smooth_pixel(char character, int x, int y) {
  int across = x % 2 ? 1 : -1, down = y % 2 ? 1 : -1;
  x /= 2, y /= 2;
  bool side = font_pixel(character, x + across, y), above = font_pixel(character, x, y + down);
  bool other_side = font_pixel(character, x - across, y), below = font_pixel(character, x, y - down);
  return font_pixel(character, x, y) || (side && above && !below && !other_side);
}

void canvas_text(struct canvas *canvas, size_t left, size_t top, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    for (int y = 0; y < CANVAS_TEXT * FONT_HEIGHT; y++)
      for (int x = 0; x < CANVAS_TEXT * FONT_WIDTH; x++)
        if (smooth_pixel(text[i], x, y))
          canvas_fill(canvas, left + CANVAS_TEXT * i * FONT_ADVANCE + (size_t)x, top + (size_t)y, 1, 1,
                      canvas_ink);
}

void canvas_centred(struct canvas *canvas, size_t left, size_t top, size_t width, const char *text,
                    size_t length) {
  char cut[256];
  size_t room = (width + CANVAS_TEXT) / (CANVAS_TEXT * FONT_ADVANCE);
  if (room >= sizeof cut) room = sizeof cut - 1;
  if (length > room) {
    memcpy(cut, text, room);
    memcpy(cut + room - 2, "..", 2);
    text = cut;
    length = room;
  }
  canvas_text(canvas, left + (width - canvas_text_width(length)) / 2, top, text, length);
}

void canvas_right(struct canvas *canvas, size_t right, size_t top, const char *text) {
  canvas_text(canvas, right - canvas_text_width(strlen(text)), top, text, strlen(text));
}

/* ---- the file ----------------------------------------------------------------------------------------- */

bool canvas_write(const char *path, const struct canvas *canvas, struct error *error) {
  struct text_file file;
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)canvas->width,
                     .height = (png_uint_32)canvas->height,
                     .format = PNG_FORMAT_RGB};
  if (!file_create(&file, path, error)) return false;
  if (png_image_write_to_stdio(&image, file.file, 0, canvas->pixel, 0, NULL))
    return file_commit(&file, error);
  file_abandon(&file);
  return fail(error, "cannot write picture %s: %s", path, image.message);
}
