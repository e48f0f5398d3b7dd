/* Draws of exactly so many entries against the enumeration of all, and the gradient of a learned mask against
 * its formula. */
#include "engine/base/random.h"
#include "engine/graph/graph.h"
#include "kernels/kernels.h"
#include "systems/sampling/exact_chances.h"
#include "tests/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 9, BUDGET = 4, BATCH = 4096 };

/* The graph of LOUPE's mask: learned values to the bits of a draw; every image has a scan of its own. */
struct mask {
  struct device *device;
  struct kernels *kernels;
  struct graph *graph;
  tensor taken, scan, chance, threshold, bits;
  int entries;
};

static void open_mask(struct mask *mask, struct device *device, int entries, uint32_t budget, size_t batch) {
  struct kernel_setup setup = {32, 32, false, ""};
  struct error error;
  *mask = (struct mask){.device = device, .entries = entries};
  assert_good(kernels_open(&mask->kernels, device, &kernel_table, &setup, &error), &error);
  struct graph_setup plan = {device, mask->kernels, batch, true, false, NULL};
  graph_open(&mask->graph);
  struct graph *graph = mask->graph;
  mask->taken = graph_input(graph, "taken", 1, 1, entries);
  mask->scan = graph_input(graph, "scan", 1, 1, 1);
  tensor values = learned(graph, "values", 1, 1, entries, 0.2);
  mask->chance = rescale(graph, sigmoid(graph, scale(graph, values, 5)), mask->taken, budget);
  mask->threshold = exact_threshold(graph, mask->chance, mask->taken, mask->scan, budget, 11, 2);
  mask->bits = straight_through(graph, mask->chance, mask->threshold, 10);
  graph_output(graph, mask->chance);
  graph_output(graph, mask->threshold);
  assert_good(graph_plan(graph, &plan, &error), &error);
}

static void close_mask(struct mask *mask) {
  graph_close(mask->graph);
  kernels_close(mask->kernels);
}

/* Takes the same entries of all images. */
static void run_rows(struct mask *mask, const float *values, const float *taken, uint32_t first) {
  struct arena *arena = arena_open();
  size_t batch = mask->graph->batch, entries = (size_t)mask->entries;
  uint32_t *scans = ARENA_NEW(arena, uint32_t, batch);
  float *rows = ARENA_NEW(arena, float, batch * entries);
  for (size_t b = 0; b < batch; b++) {
    scans[b] = first + (uint32_t)b;
    memcpy(rows + b * entries, taken, sizeof *rows * entries);
  }
  device_write(mask->device, graph_value(mask->graph, mask->taken), 0, sizeof *rows * batch * entries, rows);
  device_write(mask->device, graph_value(mask->graph, mask->scan), 0, sizeof(uint32_t) * batch, scans);
  device_write(mask->device, graph_find(mask->graph, "values")->value, 0, sizeof(float) * entries, values);
  graph_forward(mask->graph);
  arena_close(arena);
}

/* taken: bits of the first entries. */
static void run_mask(struct mask *mask, const float *values, uint32_t taken, uint32_t first) {
  float row[512];
  for (int i = 0; i < mask->entries; i++) row[i] = (float)(i < 32 ? taken >> i & 1 : 0);
  run_rows(mask, values, row, first);
}

static void read_rows(const struct mask *mask, tensor x, float *to) {
  struct error error;
  device_read(mask->device, graph_value(mask->graph, x), 0,
              sizeof(float) * mask->graph->batch * (size_t)mask->entries, to);
  assert_good(device_finish(mask->device, &error), &error);
}

/* ---- the distribution ---------------------------------------------------------------------------------- */

static double chance_of(const float *p, unsigned set) {
  double product = 1;
  for (int i = 0; i < ENTRIES; i++) product *= set >> i & 1 ? p[i] : 1 - (double)p[i];
  return product;
}

static int size_of(unsigned set) {
  int size = 0;
  for (int i = 0; i < ENTRIES; i++) size += set >> i & 1;
  return size;
}

/* Chi-square over the sets that are expected at least five times; the bound is its mean and 4.5 deviations.
 */
static void check_sets(const float *p, const unsigned *seen, size_t draws) {
  double all = 0, square = 0;
  int sets = 0;
  for (unsigned set = 0; set < 1u << ENTRIES; set++)
    if (size_of(set) == BUDGET) all += chance_of(p, set);
  for (unsigned set = 0; set < 1u << ENTRIES; set++) {
    double expected = size_of(set) == BUDGET ? (double)draws * chance_of(p, set) / all : 0;
    if (expected == 0) assert_int_equal(seen[set], 0);
    if (expected < 5) continue;
    square += (seen[set] - expected) * (seen[set] - expected) / expected;
    sets++;
  }
  assert_true(sets > 20);
  if (square > sets + 4.5 * sqrt(2.0 * sets)) fail_msg("chi-square is %g over %d sets", square, sets);
}

/* Line 3 is taken already. Which bit is which the sets say: a draw that were not conditional would have other
 * numbers of them, one that took the first ones more often other shares. */
static void draws_have_the_distribution_of_the_enumeration(void **state) {
  static const float values[ENTRIES] = {0.3f, -0.2f, 0.05f, 0.9f, -0.35f, 0.1f, 0, 0.25f, -0.1f};
  enum { RUNS = 20 };
  static unsigned seen[1 << ENTRIES];
  static float p[BATCH * ENTRIES], bits[BATCH * ENTRIES], threshold[BATCH * ENTRIES];
  double mean[ENTRIES][2] = {{0}};
  struct mask mask;
  open_mask(&mask, *state, ENTRIES, BUDGET, BATCH);
  for (uint32_t run = 0; run < RUNS; run++) {
    run_mask(&mask, values, 1u << 3, run * BATCH);
    read_rows(&mask, mask.chance, p);
    read_rows(&mask, mask.bits, bits);
    read_rows(&mask, mask.threshold, threshold);
    for (int b = 0; b < BATCH; b++) {
      unsigned set = 0;
      for (int i = 0; i < ENTRIES; i++) set |= (unsigned)(bits[b * ENTRIES + i] > 0) << i;
      for (int i = 0; i < ENTRIES; i++)
        mean[i][bits[b * ENTRIES + i] > 0] += threshold[b * ENTRIES + i] / (RUNS * (double)BATCH);
      seen[set]++;
    }
  }
  check_sets(p, seen, (size_t)RUNS * BATCH);
  for (int i = 0; i < ENTRIES; i++) { /* uniform below the probability, or above */
    double ones = 0;
    for (unsigned set = 0; set < 1u << ENTRIES; set++) ones += set >> i & 1 ? seen[set] : 0;
    ones /= RUNS * (double)BATCH;
    if (i == 3) continue;
    assert_true(fabs(mean[i][1] - ones * p[i] / 2) < 3e-3);
    assert_true(fabs(mean[i][0] - (1 - ones) * (1 + p[i]) / 2) < 3e-3);
  }
  close_mask(&mask);
}

/* The chances of the sampler learned_mask, line by line, give every set the same probability, to rounding. */
static void chances_line_by_line_are_those_of_the_sets(void **state) {
  static const double p[ENTRIES] = {0.9, 0.05, 0.3, 0, 1, 0.7, 0.25, 0.5, 0.3};
  const struct acquisition scan = {
      .shape = {ENTRIES, ENTRIES, ENTRIES}, .initial_start = 3, .initial_lines = 1, .budget = BUDGET};
  struct arena *arena = arena_open();
  uint32_t *table = chances_table(arena, &scan);
  float single[ENTRIES];
  double all = 0, total = 0;
  (void)state;
  chances_fill(p, &scan, table);
  for (int i = 0; i < ENTRIES; i++) single[i] = (float)p[i];
  for (unsigned set = 0; set < 1u << ENTRIES; set++)
    if (size_of(set) == BUDGET) all += chance_of(single, set);
  for (unsigned set = 0; set < 1u << ENTRIES; set++) {
    double found = 1, expected = size_of(set) == BUDGET ? chance_of(single, set) / all : 0;
    size_t left = BUDGET;
    for (int i = 0; i < ENTRIES; i++) {
      uint32_t word = table[(size_t)i * (BUDGET + 1) + left];
      double chance = word == UINT32_MAX ? 1 : word * 0x1p-32;
      found *= set >> i & 1 ? chance : 1 - chance;
      left -= left && set >> i & 1;
    }
    assert_true(fabs(found - expected) < 1e-7);
    total += found;
  }
  assert_true(fabs(total - 1) < 1e-7);
  arena_close(arena);
}

/* A draw depends on its scan, not on the batch; another step is another draw. */
static void budgets_are_exact_at_full_size(void **state) {
  enum { LINES = 256, IMAGES = 64, LINES_DRAWN = 28 };
  static float values[LINES], bits[IMAGES * LINES], chance[IMAGES * LINES], again[IMAGES * LINES];
  struct mask mask;
  struct random random;
  random_start(&random, 5, STREAM_PHANTOM, 0);
  for (int k = 0; k < 3; k++) {
    float width = k == 0 ? 0 : k == 1 ? 0.5f : 20; /* equal chances; LOUPE's start; nearly a fixed mask */
    for (int i = 0; i < LINES; i++) values[i] = width * (float)random_normal(&random);
    open_mask(&mask, *state, LINES, LINES_DRAWN, IMAGES);
    run_mask(&mask, values, 0xfu << 20, 100);
    read_rows(&mask, mask.bits, bits);
    read_rows(&mask, mask.chance, chance);
    run_mask(&mask, values, 0xfu << 20, 110);
    read_rows(&mask, mask.bits, again);
    for (int b = 0; b < IMAGES; b++) {
      double drawn = 0, sum = 0;
      for (int i = 0; i < LINES; i++) drawn += bits[b * LINES + i], sum += chance[b * LINES + i];
      assert_true(drawn == LINES_DRAWN && fabs(sum - LINES_DRAWN) < 1e-3);
      for (int i = 20; i < 24; i++) assert_true(bits[b * LINES + i] == 0);
    }
    assert_memory_equal(bits + 10 * LINES, again, sizeof(float) * (IMAGES - 10) * LINES);
    close_mask(&mask);
  }
}

/* ---- many entries: a tree of blocks (kernels/tree.cl) -------------------------------------------------- */

enum { MANY = 1024 };

/* Draws the same sets as above with their entries far apart: splits of the tree draw them. */
static void draws_by_a_tree_have_the_distribution_of_the_enumeration(void **state) {
  static const float values[ENTRIES] = {0.3f, -0.2f, 0.05f, 0.9f, -0.35f, 0.1f, 0, 0.25f, -0.1f};
  static const int place[ENTRIES] = {5, 70, 71, 200, 511, 512, 700, 1000, 1023};
  enum { IMAGES = 256, RUNS = 16 };
  static unsigned seen[1 << ENTRIES];
  static float p[IMAGES * MANY], bits[IMAGES * MANY], all_values[MANY], taken[MANY];
  float chance[ENTRIES];
  struct mask mask;
  memset(seen, 0, sizeof seen);
  for (int i = 0; i < MANY; i++) taken[i] = 1;
  for (int i = 0; i < ENTRIES; i++) taken[place[i]] = 0, all_values[place[i]] = values[i];
  open_mask(&mask, *state, MANY, BUDGET, IMAGES);
  for (uint32_t run = 0; run < RUNS; run++) {
    run_rows(&mask, all_values, taken, run * IMAGES);
    read_rows(&mask, mask.chance, p);
    read_rows(&mask, mask.bits, bits);
    for (int b = 0; b < IMAGES; b++) {
      unsigned set = 0, count = 0;
      for (int i = 0; i < ENTRIES; i++) set |= (unsigned)(bits[b * MANY + place[i]] > 0) << i;
      for (int i = 0; i < MANY; i++) count += bits[b * MANY + i] > 0;
      assert_int_equal(count, BUDGET);
      seen[set]++;
    }
  }
  for (int i = 0; i < ENTRIES; i++) chance[i] = p[place[i]];
  check_sets(chance, seen, (size_t)RUNS * IMAGES);
  close_mask(&mask);
}

/* Finds the chances of independent entries given that `budget` of them are 1: from the chances of those
 * before and after each. */
static void find_inclusion(const float *p, size_t budget, double *inclusion, struct arena *arena) {
  size_t width = budget + 1;
  double *before = ARENA_NEW(arena, double, (MANY + 1) * width),
         *after = ARENA_NEW(arena, double, (MANY + 1) * width);
  before[0] = after[MANY * width] = 1;
  for (size_t i = 0; i < MANY; i++)
    for (size_t c = 0; c < width; c++)
      before[(i + 1) * width + c] =
          (c ? p[i] * before[i * width + c - 1] : 0) + (1 - (double)p[i]) * before[i * width + c];
  for (size_t i = MANY; i-- > 0;)
    for (size_t c = 0; c < width; c++)
      after[i * width + c] =
          (c ? p[i] * after[(i + 1) * width + c - 1] : 0) + (1 - (double)p[i]) * after[(i + 1) * width + c];
  for (size_t i = 0; i < MANY; i++) {
    inclusion[i] = 0;
    for (size_t c = 0; c < budget; c++)
      inclusion[i] += p[i] * before[i * width + c] * after[(i + 1) * width + budget - 1 - c] / after[budget];
  }
}

/* The bound is the mean of the sum and 4.5 deviations. */
static void many_entries_are_drawn_as_often_as_they_should(void **state) {
  enum { IMAGES = 256, RUNS = 6, DRAWN = 200, DRAWS = IMAGES * RUNS };
  static float p[IMAGES * MANY], bits[IMAGES * MANY], values[MANY], taken[MANY];
  static double seen[MANY], inclusion[MANY];
  struct arena *arena = arena_open();
  struct mask mask;
  struct random random;
  double square = 0, count = 0;
  random_start(&random, 6, STREAM_PHANTOM, 0);
  for (int i = 0; i < MANY; i++) {
    values[i] = 0.4f * (float)random_normal(&random);
    taken[i] = i >= 500 && i < 530;
  }
  open_mask(&mask, *state, MANY, DRAWN, IMAGES);
  for (uint32_t run = 0; run < RUNS; run++) {
    run_rows(&mask, values, taken, run * IMAGES);
    read_rows(&mask, mask.bits, bits);
    for (int i = 0; i < IMAGES * MANY; i++) seen[i % MANY] += bits[i];
  }
  read_rows(&mask, mask.chance, p);
  find_inclusion(p, DRAWN, inclusion, arena);
  for (int i = 0; i < MANY; i++) {
    double spread = DRAWS * inclusion[i] * (1 - inclusion[i]), off = seen[i] - DRAWS * inclusion[i];
    if (spread < 5) continue;
    square += off * off / spread;
    count++;
  }
  assert_true(count > 900);
  if (fabs(square - count) > 4.5 * sqrt(2 * count))
    fail_msg("chi-square is %g over %g entries", square, count);
  close_mask(&mask);
  arena_close(arena);
}

/* Nearly or quite certain entries, none left to choose; a draw is of its scan. */
static void budgets_of_many_entries_are_exact(void **state) {
  enum { POINTS = 4096, IMAGES = 16, TAKEN = 96 };
  static const uint32_t budgets[] = {1, 900, POINTS - TAKEN - 1, POINTS - TAKEN};
  static float values[POINTS], taken[POINTS], bits[IMAGES * POINTS], again[IMAGES * POINTS];
  struct mask mask;
  struct random random;
  random_start(&random, 5, STREAM_PHANTOM, 0);
  for (int i = 0; i < POINTS; i++) taken[i] = i >= 2000 && i < 2000 + TAKEN;
  for (size_t k = 0; k < 4 * sizeof budgets / sizeof *budgets; k++) {
    static const float widths[] = {0, 0.5f, 4, 40}; /* at 40 probabilities are 0 and 1 */
    uint32_t budget = budgets[k / 4];
    for (int i = 0; i < POINTS; i++) values[i] = widths[k % 4] * (float)random_normal(&random);
    open_mask(&mask, *state, POINTS, budget, IMAGES);
    run_rows(&mask, values, taken, 100);
    read_rows(&mask, mask.bits, bits);
    run_rows(&mask, values, taken, 110);
    read_rows(&mask, mask.bits, again);
    for (int b = 0; b < IMAGES; b++) {
      uint32_t drawn = 0;
      for (int i = 0; i < POINTS; i++) {
        drawn += bits[b * POINTS + i] > 0;
        assert_true(!(taken[i] > 0 && bits[b * POINTS + i] > 0));
      }
      assert_int_equal(drawn, budget);
    }
    assert_memory_equal(bits + 10 * POINTS, again, sizeof(float) * (IMAGES - 10) * POINTS);
    mask.graph->best = true;
    run_rows(&mask, values, taken, 100);
    read_rows(&mask, mask.bits, bits);
    for (int b = 0; b < IMAGES; b++) {
      uint32_t drawn = 0;
      for (int i = 0; i < POINTS; i++) drawn += bits[b * POINTS + i] > 0;
      assert_int_equal(drawn, budget);
    }
    close_mask(&mask);
  }
}

/* ---- the gradient -------------------------------------------------------------------------------------- */

/* For values v: chance p = sigmoid(5 v), brought to q = p s/m or 1 - (1 - p)(1 - s)/(1 - m), and a step at
 * the threshold u whose derivative is 10 e/(1 + e)^2, e = exp(-10 (q - u)). */
static void formula(const float *values, uint32_t taken, int entries, double budget, const float *threshold,
                    const float *slope, double *gradient) {
  double p[64], dq[64], mean = 0, count = 0, shared = 0;
  for (int i = 0; i < entries; i++) {
    p[i] = 1 / (1 + exp(-5.0 * values[i]));
    if (!(taken >> i & 1)) mean += p[i], count++;
  }
  mean /= count;
  double s = budget / count, factor = s <= mean ? s / mean : (1 - s) / (1 - mean);
  for (int i = 0; i < entries; i++) {
    double q = s <= mean ? p[i] * factor : 1 - (1 - p[i]) * factor, e = exp(-10 * (q - threshold[i]));
    dq[i] = taken >> i & 1 ? 0 : slope[i] * 10 * e / ((1 + e) * (1 + e));
    shared +=
        dq[i] * (s <= mean ? p[i] * s / (mean * mean) : (1 - p[i]) * (1 - s) / ((1 - mean) * (1 - mean)));
  }
  for (int i = 0; i < entries; i++)
    gradient[i] += taken >> i & 1 ? 0 : (dq[i] * factor - shared / count) * 5 * p[i] * (1 - p[i]);
}

static void check_formula(struct device *device, const float *values, uint32_t budget) {
  enum { LINES = 20, IMAGES = 3 };
  const uint32_t taken = 0xfu << 8;
  float threshold[IMAGES * LINES], slope[IMAGES * LINES], found[LINES];
  double expected[LINES] = {0}, largest = 0;
  struct mask mask;
  struct random random;
  open_mask(&mask, device, LINES, budget, IMAGES);
  run_mask(&mask, values, taken, 3);
  read_rows(&mask, mask.threshold, threshold);
  random_start(&random, 1, STREAM_PHANTOM, 0);
  for (int i = 0; i < IMAGES * LINES; i++) slope[i] = (float)random_normal(&random);
  device_write(device, graph_gradient(mask.graph, mask.bits), 0, sizeof slope, slope);
  device_fill(device, graph_gradient(mask.graph, mask.chance), 0, sizeof slope, 0);
  graph_zero_gradients(mask.graph);
  graph_backward(mask.graph);
  device_read(device, graph_find(mask.graph, "values")->gradient, 0, sizeof found, found);
  for (int b = 0; b < IMAGES; b++)
    formula(values, taken, LINES, budget, threshold + b * LINES, slope + b * LINES, expected);
  struct error error;
  assert_good(device_finish(device, &error), &error);
  for (int i = 0; i < LINES; i++) largest = fmax(largest, fabs(expected[i]));
  for (int i = 0; i < LINES; i++)
    if (fabs(found[i] - expected[i]) > 1e-5 * largest)
      fail_msg("%d: %g, expected %g", i, found[i], expected[i]);
  close_mask(&mask);
}

static void the_straight_through_gradient_is_the_formula(void **state) {
  float values[20];
  struct random random;
  random_start(&random, 2, STREAM_PHANTOM, 0);
  for (int i = 0; i < 20; i++) values[i] = 0.4f * (float)random_normal(&random);
  check_formula(*state, values, 3);  /* lowers the probabilities */
  check_formula(*state, values, 13); /* raises them */
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

static void shapes_are_refused(void **state) {
  struct graph *graph;
  struct error error;
  (void)state;
  graph_open(&graph);
  tensor x = graph_input(graph, "chances", 1, 1, 8);
  rescale(graph, x, x, 9);
  assert_false(graph_good(graph, &error));
  assert_holds(error.text, "a budget of 9 for 8 entries");
  graph_close(graph);
  graph_open(&graph);
  x = graph_input(graph, "chances", 1, 1, 8);
  exact_threshold(graph, x, x, graph_input(graph, "scan", 1, 1, 2), 3, 0, 0);
  assert_false(graph_good(graph, &error));
  assert_holds(error.text, "the numbers 'scan' are 1x1x2; they must be 1x1x1");
  graph_close(graph);
  graph_open(&graph);
  x = graph_input(graph, "chances", 1, 1, 8);
  add(graph, x, graph_input(graph, "taken", 1, 2, 4));
  assert_false(graph_good(graph, &error));
  assert_holds(error.text, "'taken' is 1x2x4; it must be 1x1x8, as 'chances' is");
  graph_close(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draws_have_the_distribution_of_the_enumeration),
      cmocka_unit_test(chances_line_by_line_are_those_of_the_sets),
      cmocka_unit_test(budgets_are_exact_at_full_size),
      cmocka_unit_test(draws_by_a_tree_have_the_distribution_of_the_enumeration),
      cmocka_unit_test(many_entries_are_drawn_as_often_as_they_should),
      cmocka_unit_test(budgets_of_many_entries_are_exact),
      cmocka_unit_test(the_straight_through_gradient_is_the_formula),
      cmocka_unit_test(shapes_are_refused),
  };
  return cmocka_run_group_tests_name("exact", tests, support_open_device, support_close_device);
}
