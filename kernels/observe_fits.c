/* The sizes that kernels of observe.cl, fourier.cl, hybrid.cl, rows.cl and total.cl are written for. */
#include "kernels/kernels.h"

bool observe_fft_fits(size_t height, size_t width) {
  (void)height;
  return width == 32 || width == 64 || width == 128 || width == 256;
}

bool observe_cells_fft_fits(size_t height, size_t width) {
  return height == width && observe_fft_fits(height, width);
}

bool hybrid_fits(size_t height, size_t width) {
  return height && width <= 820; /* at most 58 bytes a column there, and 36: 48 KiB */
}

size_t hybrid_blocks(size_t height, size_t width) {
  size_t rows = width <= 400 ? 8 : 4;
  return (height + rows - 1) / rows;
}

static bool is_rows_size(size_t n) {
  static const uint8_t sizes[] = {2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 32};
  for (size_t i = 0; i < sizeof sizes; i++)
    if (sizes[i] == n) return true;
  return false;
}

/* LARGE of kernels/rows.cl; 0: there is none. */
static size_t rows_large(size_t width) {
  for (size_t n = 3; n <= 32; n++)
    if (is_rows_size(n) && width % n == 0 && width / n <= n && is_rows_size(width / n)) return n;
  return 0;
}

bool rows_fit(size_t height, size_t width) {
  return height && rows_large(width);
}

/* Two planes of LINES lines of PITCH floats, and a phase a column, as kernels/rows.cl declares them. */
size_t rows_local(size_t width) {
  size_t large = rows_large(width);
  return large ? 8 * (rows_lines(width) * (large * (width / large + 1) + 1) + width) : 0;
}

size_t rows_lines(size_t width) {
  return (width > 512 ? 128 : 256) / rows_large(width);
}

/* Two factors of a row: the items that take it, and the pixels of each. */
static size_t items_of(size_t width) {
  return width == 32 ? 4 : width == 256 ? 16 : 8;
}

bool total_fits(size_t height, size_t width) {
  size_t own = width / items_of(width), tall = TOTAL_GROUP / items_of(width);
  return observe_fft_fits(height, width) && (height + tall - 1) / tall * own <= 32;
}

size_t total_local(size_t height, size_t width) {
  size_t items = items_of(width), slots = width / items * (items + 1) + 8;
  return 8 * (height * (width + 8) + TOTAL_GROUP / items * slots + width) + 4 * TOTAL_GROUP + width;
}
