#include "systems/coils/noise.h"

#include "engine/base/arena.h"
#include "engine/base/log.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Lines are whole, so that after the transform of the readout every row is a problem of its own, whose normal matrix is
 * A[x][x'] = sum_c conj(s_c(x)) s_c(x') h(x - x'), h the transform of the mask over the width. */
struct rows {
  const struct noise_data *data;
  double complex *spread; /* [width]: h */
  double complex *matrix; /* [width][width] */
  double *own;            /* [width]: the diagonal of A */
  size_t *pixel;          /* [width]: columns that a coil sees */
  size_t pixels;
};

static double complex map_at(const struct noise_data *data, size_t coil, size_t row, size_t column) {
  return (double complex)data->maps[(coil * data->height + row) * data->width + column];
}

static void find_spread(const struct rows *rows) {
  const struct noise_data *data = rows->data;
  size_t n = data->width;
  for (size_t d = 0; d < n; d++) {
    rows->spread[d] = 0;
    for (size_t i = 0; i < n; i++)
      if (data->mask[i])
        rows->spread[d] += cexp(I * 2 * M_PI * (double)((i + n - n / 2) % n * d % n) / (double)n) / (double)n;
  }
}

/* The lower triangle, column after column. */
static void fill_matrix(struct rows *rows, size_t row) {
  const struct noise_data *data = rows->data;
  size_t n = rows->pixels;
  for (size_t b = 0; b < n; b++)
    for (size_t a = b; a < n; a++) {
      size_t x = rows->pixel[a], other = rows->pixel[b];
      double complex sum = 0;
      for (size_t c = 0; c < data->coils; c++) sum += conj(map_at(data, c, row, x)) * map_at(data, c, row, other);
      rows->matrix[b * n + a] = sum * rows->spread[x - other];
    }
  for (size_t a = 0; a < n; a++) {
    rows->own[a] = creal(rows->matrix[a * n + a]);
    rows->matrix[a * n + a] += data->weight;
  }
}

static void find_pixels(struct rows *rows, size_t row) {
  const struct noise_data *data = rows->data;
  rows->pixels = 0;
  for (size_t x = 0; x < data->width; x++) {
    bool seen = false;
    for (size_t c = 0; c < data->coils; c++) seen |= map_at(data, c, row, x) != 0;
    if (seen) rows->pixel[rows->pixels++] = x;
  }
}

/* M = (A + w)^-1; the noise of a pixel is the diagonal of M A M = M - w M M. */
static bool solve_row(struct rows *rows, size_t row, float *g, struct error *error) {
  const struct noise_data *data = rows->data;
  find_pixels(rows, row);
  size_t n = rows->pixels;
  if (!n) return true;
  fill_matrix(rows, row);
  lapack_int size = (lapack_int)n;
  double least = INFINITY, most = 0;
  int code = LAPACKE_zpotrf(LAPACK_COL_MAJOR, 'L', size, rows->matrix, size);
  for (size_t a = 0; !code && a < n; a++) {
    least = fmin(least, creal(rows->matrix[a * n + a]));
    most = fmax(most, creal(rows->matrix[a * n + a]));
  }
  if (code || least < 1e-7 * most)
    return fail_usage(error,
                      "the lines of this mask leave row %zu open to least squares of %zu coil%s: noise is without bounds; set "
                      "reconstruct.weight above 0, or acquire more",
                      row, data->coils, plural(data->coils));
  LAPACKE_zpotri(LAPACK_COL_MAJOR, 'L', size, rows->matrix, size);
  for (size_t a = 0; a < n; a++) {
    double squares = 0;
    for (size_t b = 0; b < n; b++) {
      double complex entry = rows->matrix[(a < b ? a * n + b : b * n + a)];
      squares += creal(entry) * creal(entry) + cimag(entry) * cimag(entry);
    }
    double noise = creal(rows->matrix[a * n + a]) - data->weight * squares;
    g[rows->pixel[a]] = (float)sqrt(fmax(noise * rows->own[a], 0));
  }
  return true;
}

bool noise_map(const struct noise_data *data, float *g, struct error *error) {
  struct arena *arena = arena_open();
  size_t n = data->width;
  struct rows rows = {.data = data,
                      .spread = ARENA_NEW(arena, double complex, n),
                      .matrix = ARENA_NEW(arena, double complex, n *n),
                      .own = ARENA_NEW(arena, double, n),
                      .pixel = ARENA_NEW(arena, size_t, n)};
  bool good = true;
  find_spread(&rows);
  memset(g, 0, sizeof *g * data->height * n);
  for (size_t row = 0; good && row < data->height; row++) good = solve_row(&rows, row, g + row * n, error);
  arena_close(arena);
  return good;
}
