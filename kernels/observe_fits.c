/* The sizes that kernels of observe.cl, fourier.cl and hybrid.cl are written for. */
#include "kernels/kernels.h"

bool observe_fft_fits(size_t height, size_t width) {
  (void)height;
  return width == 32 || width == 64 || width == 128 || width == 256;
}

bool observe_cells_fft_fits(size_t height, size_t width) {
  return height == width && observe_fft_fits(height, width);
}

bool hybrid_fits(size_t height, size_t width) {
  return height && width <= 820; /* 58 bytes a column, and 1,556: 48 KiB */
}

size_t hybrid_blocks(size_t height, size_t width) {
  size_t rows = width <= 448 ? 8 : 4;
  return (height + rows - 1) / rows;
}
