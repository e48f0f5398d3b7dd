#include "tools/search/gaussian.h"

#include "engine/base/error.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { FITTED_MOST = 160 /* points whose density chooses lengths: it takes their third power */ };

static const double least_noise = 1e-6;

/* ---- covariance ---------------------------------------------------------------------------------------- */

static double covariance(const double *a, const double *b, const double *length, size_t places) {
  double square = 0;
  for (size_t p = 0; p < places; p++) square += (a[p] - b[p]) * (a[p] - b[p]) / (length[p] * length[p]);
  double distance = sqrt(5 * square);
  return (1 + distance + distance * distance / 3) * exp(-distance);
}

/* Its Cholesky factor, with the noise (LAPACK's upper one by columns is the lower one by rows); false where
 * rounding leaves none. */
static bool factorise(struct gaussian *process) {
  size_t count = process->count;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j <= i; j++)
      process->factor[i * count + j] =
          covariance(process->x + i * process->places, process->x + j * process->places, process->length,
                     process->places);
    process->factor[i * count + i] += process->noise;
  }
  return !LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)count, process->factor, (int)count);
}

/* weight = covariance^-1 standard; standard are the values less their mean, in deviations. */
static void weigh(struct gaussian *process, const double *standard) {
  size_t count = process->count;
  for (size_t i = 0; i < count; i++) {
    double sum = standard[i];
    for (size_t j = 0; j < i; j++) sum -= process->factor[i * count + j] * process->weight[j];
    process->weight[i] = sum / process->factor[i * count + i];
  }
  for (size_t i = count; i-- > 0;) {
    double sum = process->weight[i];
    for (size_t j = i + 1; j < count; j++) sum -= process->factor[j * count + i] * process->weight[j];
    process->weight[i] = sum / process->factor[i * count + i];
  }
}

/* ---- lengths and noise --------------------------------------------------------------------------------- */

/* Lengths of half a range and a noise of 1 % of the variance are the likeliest beforehand, with a factor of e
 * as deviation of the former and of e^2 of the latter: some points alone would say nothing. */
static double prior(const struct gaussian *process) {
  double sum = 0;
  for (size_t p = 0; p < process->places; p++) sum += pow(log(process->length[p] / 0.5), 2) / 2;
  return sum + pow(log(process->noise / 0.01) / 2, 2) / 2;
}

/* Minus the logarithm of the posterior density, where the process's variance is the likeliest one. */
static double surprise(struct gaussian *process, const double *standard) {
  double fit = 0, determinant = 0;
  if (!factorise(process)) return INFINITY;
  weigh(process, standard);
  for (size_t i = 0; i < process->count; i++) {
    fit += standard[i] * process->weight[i];
    determinant += log(process->factor[i * process->count + i]);
  }
  process->variance = fmax(fit / (double)process->count, 1e-12);
  return (double)process->count / 2 * log(process->variance) + determinant + prior(process);
}

/* One after the other is moved by a factor while that helps, and the factor then halved. */
static void choose_lengths(struct gaussian *process, const double *standard) {
  double best = surprise(process, standard);
  for (double step = 1; step > 0.1; step /= 2)
    for (bool better = true; better;) {
      better = false;
      for (size_t p = 0; p <= process->places; p++)
        for (int side = -1; side <= 1; side += 2) {
          double *value = p < process->places ? &process->length[p] : &process->noise, before = *value;
          *value = fmax(before * exp(side * step), least_noise);
          double now = surprise(process, standard);
          if (now < best - 1e-4)
            best = now, better = true;
          else
            *value = before;
        }
    }
}

/* ---- points -------------------------------------------------------------------------------------------- */

static double *standardise(struct gaussian *process, const double *y) {
  size_t count = process->count;
  double *standard = ARENA_NEW(process->arena, double, count), square = 0;
  process->mean = 0;
  for (size_t i = 0; i < count; i++) process->mean += y[i] / (double)count;
  for (size_t i = 0; i < count; i++)
    square += (y[i] - process->mean) * (y[i] - process->mean) / (double)count;
  process->deviation = square > 0 ? sqrt(square) : 1;
  for (size_t i = 0; i < count; i++) standard[i] = (y[i] - process->mean) / process->deviation;
  return standard;
}

static void make_room(struct gaussian *process) {
  process->weight = ARENA_NEW(process->arena, double, process->count);
  process->factor = ARENA_NEW(process->arena, double, process->count * process->count);
}

struct gaussian gaussian_given(const struct gaussian *fitted, const double *x, const double *y,
                               size_t count) {
  struct gaussian process = *fitted;
  process.x = x;
  process.count = count;
  make_room(&process);
  double *standard = ARENA_NEW(process.arena, double, count);
  for (size_t i = 0; i < count; i++) standard[i] = (y[i] - process.mean) / process.deviation;
  while (!factorise(&process)) process.noise *= 10;
  weigh(&process, standard);
  return process;
}

struct gaussian gaussian_fit(struct arena *arena, const double *x, const double *y, size_t count,
                             size_t places) {
  size_t every = (count + FITTED_MOST - 1) / FITTED_MOST, used = 0;
  double *some = ARENA_NEW(arena, double, count *places), *values = ARENA_NEW(arena, double, count);
  REQUIRE(count, "a process of no points");
  for (size_t i = 0; i < count; i += every, used++) {
    memcpy(some + used * places, x + i * places, places * sizeof *some);
    values[used] = y[i];
  }
  struct gaussian process = {.arena = arena, .count = used, .places = places, .x = some, .noise = 0.01};
  process.length = ARENA_NEW(arena, double, places);
  for (size_t p = 0; p < places; p++) process.length[p] = 0.5;
  make_room(&process);
  double *standard = standardise(&process, values);
  choose_lengths(&process, standard);
  surprise(&process, standard); /* the variance of those that were chosen */
  return gaussian_given(&process, x, y, count);
}

void gaussian_tell(const struct gaussian *process, const double *point, double *mean, double *deviation) {
  size_t count = process->count;
  struct arena *arena = arena_open();
  double *across = ARENA_NEW(arena, double, count), sum = 0, known = 0;
  for (size_t i = 0; i < count; i++) {
    double value = covariance(process->x + i * process->places, point, process->length, process->places);
    sum += value * process->weight[i];
    for (size_t j = 0; j < i; j++) value -= process->factor[i * count + j] * across[j];
    across[i] = value / process->factor[i * count + i];
    known += across[i] * across[i];
  }
  arena_close(arena);
  *mean = process->mean + process->deviation * sum;
  *deviation = process->deviation * sqrt(process->variance * fmax(1 - known, 1e-12));
}
