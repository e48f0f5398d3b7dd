#include "systems/sampling/samplers.h"

#include "engine/base/log.h"
#include "kernels/kernels.h"
#include "systems/sampling/exact_chances.h"
#include "systems/sampling/geometry.h"
#include "systems/sampling/mask_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distance of an action from the centre of k-space, in columns. Rows count so that the edge is as far on both
 * axes. */
static double frequency(const struct acquisition *acquisition, size_t action) {
  const struct scan_shape *shape = &acquisition->shape;
  double middle = shape->height / 2, half = shape->width / 2, scale = (double)shape->width / shape->height;
  if (acquisition->geometry == GEOMETRY_PAIRS) return (double)action;
  if (!geometry_of(acquisition)->points) return fabs((double)action - half);
  return hypot(scale * ((double)(action / shape->width) - middle), (double)(action % shape->width) - half);
}

/* Real weights as whole ones: draws are then the same on every device. No action gets none. The weight at a
 * distance from the centre is largest at none. */
static void set_weights(double (*weigh)(const struct options *options, const struct acquisition *acquisition,
                                        double distance),
                        const struct options *options, const struct acquisition *acquisition,
                        uint32_t *table) {
  double most = weigh(options, acquisition, 0);
  for (size_t i = 0; i < acquisition->shape.actions; i++) {
    double weight = weigh(options, acquisition, frequency(acquisition, i));
    table[i] = (uint32_t)fmax(1, nearbyint(weight / most * (1 << 20)));
  }
}

static bool fill_random(const struct options *options, const struct acquisition *acquisition, uint32_t *table,
                        struct error *error) {
  (void)options, (void)error;
  for (size_t i = 0; i < acquisition->shape.actions; i++) table[i] = 1;
  return true;
}

/* active-mri's RandomLowBias: exp(-((i - W/2) / (W/10))^2 / 2) + 1 / (2 acceleration). */
static double weigh_low_bias(const struct options *options, const struct acquisition *acquisition,
                             double distance) {
  double d = distance / (acquisition->shape.width / 10.0);
  (void)options;
  return exp(-0.5 * d * d) + 1 / (2.0 * acquisition->acceleration);
}

static bool fill_low_bias(const struct options *options, const struct acquisition *acquisition,
                          uint32_t *table, struct error *error) {
  (void)error;
  set_weights(weigh_low_bias, options, acquisition, table);
  return true;
}

static double weigh_polynomial(const struct options *options, const struct acquisition *acquisition,
                               double distance) {
  return pow(fmax(0, 1 - distance / (acquisition->shape.width / 2.0)), options->sampler.polynomial_power);
}

static bool fill_polynomial(const struct options *options, const struct acquisition *acquisition,
                            uint32_t *table, struct error *error) {
  (void)error;
  set_weights(weigh_polynomial, options, acquisition, table);
  return true;
}

static double weigh_gaussian(const struct options *options, const struct acquisition *acquisition,
                             double distance) {
  double d = distance / (options->sampler.gaussian_width * acquisition->shape.width);
  return exp(-0.5 * d * d);
}

static bool fill_gaussian(const struct options *options, const struct acquisition *acquisition,
                          uint32_t *table, struct error *error) {
  (void)error;
  set_weights(weigh_gaussian, options, acquisition, table);
  return true;
}

static uint32_t rank_of(const struct acquisition *acquisition, size_t line) {
  return geometry_of(acquisition)->rank(&acquisition->shape, line);
}

static bool fill_lowest(const struct options *options, const struct acquisition *acquisition, uint32_t *table,
                        struct error *error) {
  (void)options, (void)error;
  for (size_t i = 0; i < acquisition->shape.actions; i++) table[i] = rank_of(acquisition, i);
  return true;
}

/* Takes `wanted` of the free lines in [low, high) at equal spacing, number floor((j + 1/2) free / wanted). */
static void take_equispaced(const struct acquisition *acquisition, size_t low, size_t high, size_t wanted,
                            uint32_t *table) {
  struct arena *arena = arena_open();
  size_t *lines = ARENA_NEW(arena, size_t, high), count = 0;
  for (size_t i = low; i < high; i++)
    if (!acquisition_is_initial(acquisition, i)) lines[count++] = i;
  for (size_t j = 0; j < wanted && j < count; j++) {
    size_t line = wanted >= count ? lines[j] : lines[(2 * j + 1) * count / (2 * wanted)];
    table[line] = rank_of(acquisition, line);
  }
  arena_close(arena);
}

static void clear_ranks(const struct acquisition *acquisition, uint32_t *table) {
  for (size_t i = 0; i < acquisition->shape.actions; i++) table[i] = NO_LINE;
}

static bool fill_two_sided(const struct options *options, const struct acquisition *acquisition,
                           uint32_t *table, struct error *error) {
  (void)options, (void)error;
  clear_ranks(acquisition, table);
  take_equispaced(acquisition, 0, acquisition->shape.actions, acquisition->budget, table);
  return true;
}

/* The side after the centre; what does not fit there goes to the other side. */
static bool fill_one_sided(const struct options *options, const struct acquisition *acquisition,
                           uint32_t *table, struct error *error) {
  size_t centre = acquisition->shape.actions / 2,
         end = acquisition->initial_start + acquisition->initial_lines;
  size_t start = end > centre ? end : centre,
         side = acquisition->shape.actions - acquisition->shape.padded_right - start,
         budget = acquisition->budget;
  (void)options, (void)error;
  clear_ranks(acquisition, table);
  take_equispaced(acquisition, start, acquisition->shape.actions, budget < side ? budget : side, table);
  if (budget > side) take_equispaced(acquisition, 0, start, budget - side, table);
  return true;
}

/* All of the scan's spokes evenly spaced where the initial ones are among those, else all angles; by
 * bisection. */
static bool fill_uniform(const struct options *options, const struct acquisition *acquisition,
                         uint32_t *table, struct error *error) {
  size_t n = acquisition->shape.actions, total = acquisition->initial_lines + acquisition->budget;
  bool even = true;
  (void)options, (void)error;
  clear_ranks(acquisition, table);
  for (size_t i = 0; i < total; i++) table[i * n / total] = rank_of(acquisition, i * n / total);
  for (size_t a = 0; a < n; a++) even &= !acquisition_is_initial(acquisition, a) || table[a] != NO_LINE;
  for (size_t a = 0; !even && a < n; a++) table[a] = rank_of(acquisition, a);
  return true;
}

static bool fill_none(const struct options *options, const struct acquisition *acquisition, uint32_t *table,
                      struct error *error) {
  (void)options, (void)error;
  clear_ranks(acquisition, table);
  return true;
}

static bool check_mask(const uint8_t *mask, const struct acquisition *acquisition, const char *path,
                       struct error *error) {
  const struct geometry *geometry = geometry_of(acquisition);
  size_t count = 0, missing = 0;
  for (size_t i = 0; i < acquisition->shape.actions; i++) {
    count += mask[i] && !scan_shape_is_padded(&acquisition->shape, i);
    missing += geometry->is_initial(acquisition, i) && !mask[i];
  }
  uint32_t total = acquisition->initial_lines + acquisition->budget;
  if (count == total && !missing) return true;
  return fail_file(
      error,
      "sampler.mask %s has %zu %s%s and misses %zu of the %u initial one%s; the budget is exactly "
      "%u %s%s with the initial ones; change the mask, acquisition.%s or acquisition.budget",
      path, count, geometry->one, plural(count), missing, acquisition->initial_lines,
      plural(acquisition->initial_lines), total, geometry->one, plural(total),
      geometry->points ? "initial_side" : "initial_lines");
}

static bool fill_fixed(const struct options *options, const struct acquisition *acquisition, uint32_t *table,
                       struct error *error) {
  const char *path = options->sampler.mask;
  size_t lines = acquisition->shape.actions;
  if (!*path) return fail_usage(error, "sampler.mask is empty; name a file of %zu values 0 or 1", lines);
  struct arena *arena = arena_open();
  uint8_t *mask = ARENA_NEW(arena, uint8_t, lines);
  bool good = mask_file_read(path, acquisition, mask, error) && check_mask(mask, acquisition, path, error);
  for (size_t i = 0; good && i < lines; i++) table[i] = mask[i] ? rank_of(acquisition, i) : NO_LINE;
  arena_close(arena);
  return good;
}

/* Checks the file only: draws take another table (systems/sampling/exact_chances.h). */
static bool fill_learned(const struct options *options, const struct acquisition *acquisition,
                         uint32_t *table, struct error *error) {
  struct arena *arena = arena_open();
  bool good =
      chances_learned(options, acquisition, ARENA_NEW(arena, double, acquisition->shape.actions), error);
  arena_close(arena);
  clear_ranks(acquisition, table);
  return good;
}

#define LINES (1u << GEOMETRY_LINES)
#define SPOKES (1u << GEOMETRY_SPOKES)
#define POINTS (1u << GEOMETRY_POINTS)
#define PAIRS (1u << GEOMETRY_PAIRS)

/* The network is read when it is run. */
static bool fill_sequence(const struct options *options, const struct acquisition *acquisition,
                          uint32_t *table, struct error *error) {
  if (*options->sampler.tau_step) return fill_none(options, acquisition, table, error);
  return fail_usage(error, "sampler.tau_step is empty; name a checkpoint of train.method tau_step");
}

/* The checkpoint is read when it is run (systems/planned/planned.h). */
static bool fill_planned(const struct options *options, const struct acquisition *acquisition, uint32_t *table,
                         struct error *error) {
  if (*options->sampler.mask) return fill_none(options, acquisition, table, error);
  return fail_usage(error, "sampler.mask is empty; name a checkpoint of the train.method of that name");
}

const struct sampler sampler_list[] = {
    {"random", "draws a free action, all with the same probability", SAMPLER_DRAW, true,
     LINES | SPOKES | POINTS | PAIRS, fill_random, "random_lines|uniform_random"},
    {"low_bias", "draws a free line, low frequencies more often (active-mri's RandomLowBias)", SAMPLER_DRAW,
     true, LINES | PAIRS, fill_low_bias, "low_bias_random|RandomLowBias"},
    {"variable_density", "draws by the density (1 - |k|/kmax)^p", SAMPLER_DRAW, true, LINES | POINTS | PAIRS,
     fill_polynomial, "polynomial|variable_density_polynomial|density"},
    {"variable_density_gaussian", "draws by a Gaussian density", SAMPLER_DRAW, true, LINES | POINTS | PAIRS,
     fill_gaussian, "gaussian|normal"},
    {"poisson_disc",
     "draws lines at a least distance from acquired ones, which shrinks where no such line is left",
     SAMPLER_DISC, true, LINES, fill_none, "poisson|poisson_disk|disc"},
    {"equispaced_one_sided", "takes free lines of one side at equal spacing, low frequencies first",
     SAMPLER_NEXT, false, LINES, fill_one_sided, "equispaced|equidistant|regular|uniform_lines"},
    {"equispaced_two_sided", "takes free lines of both sides at equal spacing, low frequencies first",
     SAMPLER_NEXT, false, LINES | PAIRS, fill_two_sided, "equispaced|equidistant|regular|uniform_lines"},
    {"lowest_index", "takes the lowest free frequency, alternating sides", SAMPLER_NEXT, false, LINES | PAIRS,
     fill_lowest,
     "lowest|lowest_frequency|lowest_frequency_first|low_frequency|low_pass|centre|center"},
    {"uniform", "takes evenly spaced spokes, bisecting the widest gaps first where N is a power of two",
     SAMPLER_NEXT, false, SPOKES, fill_uniform, "spokes|uniform_spokes|evenly_spaced|bisection"},
    {"fixed_mask", "takes the actions of the file sampler.mask: low frequencies first, spokes by bisection",
     SAMPLER_NEXT, false, LINES | SPOKES | POINTS | PAIRS, fill_fixed, "mask|loupe|lbcs|slbcs"},
    {"learned_mask", "draws exactly the budget by the probabilities in the file sampler.mask (LOUPE)",
     SAMPLER_EXACT, true, LINES | POINTS, fill_learned, "learned|loupe|probabilities"},
    {"tau_step",
     "draws in steps by the network sampler.tau_step, which sees the reconstruction before each step",
     SAMPLER_SEQUENCE, true, LINES | POINTS, fill_sequence, "tau|seqmri|sequential"},
    {"tau_step_best", "as tau_step, but takes the most probable actions of every step", SAMPLER_SEQUENCE, false,
     LINES | POINTS, fill_sequence, NULL},
    {"straight_through",
     "draws in steps by the policy sampler.mask, which sees the zero-filled image before each step", SAMPLER_PLANNED,
     true, LINES, fill_planned, "straight-through|adaptive_varnet|e2e_ads"},
    {"straight_through_best", "as straight_through, but takes the most probable lines of every step", SAMPLER_PLANNED,
     false, LINES, fill_planned, NULL},
    {"suno", "takes the mask of the training slice in sampler.mask whose low frequencies are nearest", SAMPLER_PLANNED,
     false, LINES, fill_planned, "nearest|nearest_neighbour|dictionary"},
    {"oracle",
     "takes the free action whose reconstruction scores best against the truth (greedy oracle, by "
     "reward.metric)",
     SAMPLER_ORACLE, false, LINES | SPOKES | PAIRS, fill_none, "greedy|greedy_oracle"},
    {"average_oracle",
     "takes the action that scores best on average over all slices, the same for each slice",
     SAMPLER_AVERAGE_ORACLE, false, LINES | SPOKES | PAIRS, fill_none, "average|average_greedy"},
    {NULL, NULL, SAMPLER_DRAW, false, 0, NULL, NULL},
};

const struct sampler sampler_policy = {
    "policy", "chooses by the network evaluate.policy", SAMPLER_POLICY, true, LINES | SPOKES | PAIRS, fill_none,
    "l2s|l2sr|pgmri|ddqn|dqn|evaluator|zhang|agent"};

/* Every row, and at last what a scene's policy decides by; NULL after it. */
static const struct sampler *sampler_at(size_t place) {
  size_t count = 0;
  while (sampler_list[count].name) count++;
  return place < count ? &sampler_list[place] : place == count ? &sampler_policy : NULL;
}

/* "a", or "a or b", of those that are called so elsewhere; the nearest name where there are none; else NULL. */
static const char *meant(const char *name, struct arena *arena) {
  const char *names[64], *called = NULL;
  size_t count = 0;
  for (const struct sampler *sampler; count < 64 && (sampler = sampler_at(count));) {
    if (same_word(name, sampler->name)) return sampler->name;
    if (sampler->also && is_one_of_words(name, sampler->also))
      called = called ? arena_text(arena, "%s or %s", called, sampler->name) : sampler->name;
    names[count++] = sampler->name;
  }
  return called ? called : nearest_name(name, names, count);
}

const struct sampler *sampler_find(const char *name, struct error *error) {
  const struct sampler *sampler;
  for (size_t i = 0; (sampler = sampler_at(i)); i++)
    if (!strcmp(sampler->name, name)) return sampler;
  struct arena *arena = arena_open();
  const char *near = meant(name, arena);
  if (near)
    fail_usage(error, "unknown sampler '%s'; did you mean %s?", name, near);
  else
    fail_usage(error, "unknown sampler '%s'; `l2sr describe samplers` lists them", name);
  arena_close(arena);
  return NULL;
}

bool sampler_is_oracle(const struct sampler *sampler) {
  return sampler->kind == SAMPLER_ORACLE || sampler->kind == SAMPLER_AVERAGE_ORACLE;
}

bool sampler_takes_mask(const char *name) {
  for (const struct sampler *row = sampler_list; row->name; row++)
    if (!strcmp(row->name, name)) return row->fill == fill_fixed || row->fill == fill_learned || row->fill == fill_planned;
  return false;
}

bool sampler_is_heuristic(const struct sampler *sampler) {
  return sampler->kind != SAMPLER_POLICY && sampler->kind != SAMPLER_SEQUENCE && !sampler_is_oracle(sampler);
}

static bool check_geometry(const struct sampler *sampler, const struct acquisition *acquisition,
                           struct error *error) {
  const char *geometry = geometry_of(acquisition)->name;
  if (sampler->geometries & 1u << acquisition->geometry) return true;
  fail_usage(error, "it does not choose among %s (acquisition.geometry); these do:", geometry);
  for (const struct sampler *other = sampler_list; other->name; other++) {
    size_t used = strlen(error->text);
    if (other->geometries & 1u << acquisition->geometry)
      snprintf(error->text + used, sizeof error->text - used, " %s", other->name);
  }
  return false;
}

bool sampler_fill(const struct sampler *sampler, const struct options *options,
                  const struct acquisition *acquisition, uint32_t *table, struct error *error) {
  return check_geometry(sampler, acquisition, error) && sampler->fill(options, acquisition, table, error)
             ? true
             : fail_in(error, "sampler %s", sampler->name);
}

/* c by which the chances min(1, c weight) of the free points add up to the budget; at 1 all of them are 1. */
static double find_factor(const struct acquisition *acquisition, const uint32_t *weight) {
  double low = 0, high = 1;
  for (int i = 0; i < 80; i++) {
    double sum = 0, middle = (low + high) / 2;
    for (size_t point = 0; point < acquisition->shape.actions; point++)
      if (!acquisition_is_initial(acquisition, point)) sum += fmin(1, middle * weight[point]);
    if (sum > acquisition->budget)
      high = middle;
    else
      low = middle;
  }
  return high;
}

bool sampler_chances(const struct sampler *sampler, const struct options *options,
                     const struct acquisition *acquisition, const uint32_t *table, double *chance,
                     struct error *error) {
  if (sampler->kind == SAMPLER_EXACT) return chances_learned(options, acquisition, chance, error);
  double factor = sampler->kind == SAMPLER_DRAW ? find_factor(acquisition, table) : 0;
  for (size_t i = 0; i < acquisition->shape.actions; i++)
    chance[i] = acquisition_is_initial(acquisition, i) ? 0
                : sampler->kind == SAMPLER_DRAW        ? fmin(1, factor * table[i])
                                                       : table[i] != NO_LINE;
  return true;
}

uint32_t sampler_distance(const struct acquisition *acquisition) {
  double free_lines = scan_shape_choices(&acquisition->shape) - acquisition->initial_lines;
  double distance = floor(0.7476 * free_lines / acquisition->budget);
  return distance < 1 ? 1 : (uint32_t)distance;
}
