#include "systems/data/sampled.h"

#include <string.h>

/* Rounding leaves less than this fraction of a slice's strongest line in one that is empty. */
static const double EMPTY = 1e-13;

void sampled_sum(struct sampled *sampled) {
  size_t height = sampled->height, width = sampled->width;
  memset(sampled->column_energy, 0, sizeof *sampled->column_energy * width);
  memset(sampled->row_energy, 0, sizeof *sampled->row_energy * height);
  sampled->zeros = 0;
  for (size_t line = 0; line < sampled->coils * height; line++) {
    const float *from = sampled->kspace + 2 * line * width;
    double sum = 0;
    for (size_t x = 0; x < width; x++) {
      double energy = (double)from[2 * x] * from[2 * x] + (double)from[2 * x + 1] * from[2 * x + 1];
      sampled->column_energy[x] += energy;
      sum += energy;
      sampled->zeros += energy == 0;
    }
    sampled->row_energy[line % height] += sum;
  }
}

struct filled {
  size_t first, last, count; /* lines that are not empty */
  double limit;              /* energy of an empty line at most */
};

static struct filled find_filled(const double *energy, size_t count) {
  struct filled filled = {.first = count};
  double most = 0;
  for (size_t i = 0; i < count; i++) most = energy[i] > most ? energy[i] : most;
  filled.limit = most * EMPTY;
  for (size_t i = 0; i < count; i++)
    if (energy[i] > filled.limit) {
      if (filled.first == count) filled.first = i;
      filled.last = i;
      filled.count++;
    }
  return filled;
}

/* The fraction of an axis whose lines are empty, where that is no padding: some lie between others, or they
 * are more than half. */
static double empty_fraction(const double *energy, size_t count) {
  struct filled filled = find_filled(energy, count);
  bool padded = filled.count == filled.last + 1 - filled.first && 2 * filled.count >= count;
  return !filled.count || padded ? 0 : (double)(count - filled.count) / (double)count;
}

/* Padding lies at both edges. Columns of one edge alone that the mask leaves out were not measured: a part of
 * the Fourier plane. */
static double masked_edge(const struct sampled *sampled) {
  size_t width = sampled->width, left_out = 0;
  if (!sampled->mask || sampled->mask_entries != width) return 0;
  struct filled filled = find_filled(sampled->column_energy, width);
  for (size_t x = 0; x < width; x++) {
    bool empty = sampled->column_energy[x] <= filled.limit;
    if (!sampled->mask[x] && !empty) return 0;
    left_out += !sampled->mask[x];
  }
  bool one = filled.count && (filled.first == 0) != (filled.last + 1 == width);
  return one ? (double)left_out / (double)width : 0;
}

/* Corners of an ellipse are 0.22 of a square. A mask that leaves out more, all of it empty, has done so. */
static double masked_samples(const struct sampled *sampled) {
  size_t plane = sampled->height * sampled->width, left_out = 0;
  if (!sampled->mask || sampled->mask_entries != plane) return 0;
  for (size_t i = 0; i < sampled->coils * plane; i++) {
    if (sampled->mask[i % plane]) continue;
    if (sampled->kspace[2 * i] != 0 || sampled->kspace[2 * i + 1] != 0) return 0;
    left_out++;
  }
  double fraction = (double)left_out / (double)(sampled->coils * plane);
  return fraction > 0.25 ? fraction : 0;
}

double sampled_missing(const struct sampled *sampled, const char **what) {
  size_t samples = sampled->coils * sampled->height * sampled->width;
  if (sampled->zeros == samples) return 0;
  double columns = empty_fraction(sampled->column_energy, sampled->width),
         rows = empty_fraction(sampled->row_energy, sampled->height), edge = columns ? 0 : masked_edge(sampled),
         points = (double)sampled->zeros / (double)samples, masked = masked_samples(sampled);
  *what = rows > columns ? "rows" : "columns";
  if (columns || rows) return rows > columns ? rows : columns;
  if (edge) return edge;
  *what = "samples";
  return points > 0.5 ? points : masked;
}
