#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* The draw of one environment at one step, below `limit`. */
static uint32_t draw_below(uint32_t seed, uint32_t scan, uint32_t step, uint32_t limit) {
  struct philox words = random_words(seed, STREAM_ACTION, scan, step);
  return (uint32_t)(((uint64_t)words.word[0] * limit) >> 32);
}

void line_draw_reference(const struct host_args *args) {
  const uint8_t *mask = args->in[0];
  const uint32_t *scan = args->in[1], *step = args->in[2], *weight = args->in[3];
  uint32_t *action = args->out[4];
  float *log_prob = args->out[5];
  for (size_t row = 0; row < args->rows; row++, mask += args->actions) {
    uint32_t total = 0, passed = 0;
    for (size_t line = 0; line < args->actions; line++)
      if (!mask[line]) total += weight[line];
    uint32_t drawn = draw_below(args->value[6].u, scan[row], step[row], total);
    action[row] = NO_LINE;
    log_prob[row] = 0;
    for (size_t line = 0; line < args->actions; line++) {
      if (mask[line]) continue;
      passed += weight[line];
      if (drawn >= passed) continue;
      action[row] = (uint32_t)line;
      log_prob[row] = (float)log((double)weight[line] / total);
      break;
    }
  }
}

void line_next_reference(const struct host_args *args) {
  const uint8_t *mask = args->in[0];
  const uint32_t *rank = args->in[1];
  uint32_t *action = args->out[2];
  for (size_t row = 0; row < args->rows; row++, mask += args->actions) {
    action[row] = NO_LINE;
    for (uint32_t line = 0; line < args->actions; line++)
      if (!mask[line] && rank[line] != NO_LINE && (action[row] == NO_LINE || rank[line] < rank[action[row]]))
        action[row] = line;
    ((float *)args->out[3])[row] = 0;
  }
}

/* Distance from a line to the nearest acquired one; the width where none is acquired. */
static uint32_t distance_to_acquired(const uint8_t *mask, size_t width, size_t line) {
  uint32_t nearest = (uint32_t)width;
  for (size_t other = 0; other < width; other++) {
    uint32_t distance = (uint32_t)(other > line ? other - line : line - other);
    if (mask[other] && distance < nearest) nearest = distance;
  }
  return nearest;
}

static void draw_disc(const struct host_args *args, size_t row, uint32_t *distances) {
  const uint8_t *mask = (const uint8_t *)args->in[0] + row * args->actions;
  const uint32_t *scan = args->in[1], *step = args->in[2];
  uint32_t *action = args->out[3], farthest = 0, count = 0;
  float *log_prob = args->out[4];
  for (size_t line = 0; line < args->actions; line++) {
    distances[line] = distance_to_acquired(mask, args->actions, line);
    if (distances[line] > farthest) farthest = distances[line];
  }
  uint32_t keep = args->value[6].u < farthest ? args->value[6].u : farthest;
  for (size_t line = 0; keep && line < args->actions; line++) count += distances[line] >= keep;
  action[row] = NO_LINE;
  log_prob[row] = 0;
  if (!count) return;
  uint32_t drawn = draw_below(args->value[5].u, scan[row], step[row], count);
  for (size_t line = 0; line < args->actions; line++)
    if (distances[line] >= keep && drawn-- == 0) {
      action[row] = (uint32_t)line;
      break;
    }
  log_prob[row] = (float)-log((double)count);
}

void line_disc_reference(const struct host_args *args) {
  struct arena *arena = arena_open();
  uint32_t *distances = ARENA_NEW(arena, uint32_t, args->actions);
  for (size_t row = 0; row < args->rows; row++) draw_disc(args, row, distances);
  arena_close(arena);
}

void line_exact_reference(const struct host_args *args) {
  const uint32_t *chance = args->in[3];
  uint32_t budget = args->value[7].u, start = args->value[8].u, end = start + args->value[9].u;
  for (size_t row = 0; row < args->rows; row++) {
    const uint8_t *mask = (const uint8_t *)args->in[0] + row * args->actions;
    uint32_t step = ((const uint32_t *)args->in[2])[row], *action = (uint32_t *)args->out[4] + row;
    uint32_t left = step < budget ? budget - step : 0, line = (uint32_t)args->actions;
    ((float *)args->out[5])[row] = 0;
    *action = NO_LINE;
    while (line > 0 && (!mask[line - 1] || (line - 1 >= start && line - 1 < end))) line--;
    for (; line < args->actions && *action == NO_LINE; line++) {
      struct philox words = random_words(args->value[6].u, STREAM_EXACT, ((const uint32_t *)args->in[1])[row],
                                         line / 4);
      uint32_t limit = chance[line * (budget + 1) + left];
      if (limit == UINT32_MAX || words.word[line % 4] < limit) *action = line;
    }
  }
}

/* Masks from empty to full; ranks with ties to none; some lines that are never taken. */
void line_prepare(struct host_args *args, struct random *random) {
  uint8_t *mask = (uint8_t *)args->in[0];
  uint32_t width = (uint32_t)args->actions, *shared = (uint32_t *)args->in[args->in[3] ? 3 : 1];
  for (size_t row = 0; row < args->rows; row++) {
    uint32_t density = random_u32(random) % 11;
    for (size_t line = 0; line < width; line++) mask[row * width + line] = random_u32(random) % 10 < density;
  }
  bool weights = args->in[3] != NULL, ranks = !args->in[2];
  for (size_t line = 0; (weights || ranks) && line < width; line++)
    shared[line] = weights ? random_u32(random) % 1000 + 1 : (uint32_t)((line * 37 + 11) % width);
  if (ranks)
    for (size_t line = 0; line < width; line += 5) shared[line] = NO_LINE;
  args->value[5].u = random_u32(random);
  args->value[6].u = weights ? random_u32(random) : 1 + random_u32(random) % 6;
}

/* Chances over all of their range, some certain; budgets that leave room for the table. */
void line_exact_prepare(struct host_args *args, struct random *random) {
  uint8_t *mask = (uint8_t *)args->in[0];
  uint32_t *chance = (uint32_t *)args->in[3];
  for (size_t row = 0; row < args->rows; row++)
    for (size_t line = 0; line < args->actions; line++)
      mask[row * args->actions + line] = line < args->actions / (1 + row % 4) && random_u32(random) % 3 == 0;
  for (size_t i = 0; i < args->height * args->width; i++)
    chance[i] = random_u32(random) % 40 ? random_u32(random) / 16 : UINT32_MAX;
  args->value[6].u = random_u32(random);
  args->value[7].u = random_u32(random) % (uint32_t)args->height;
  args->value[8].u = random_u32(random) % (uint32_t)args->actions;
  args->value[9].u = random_u32(random) % 5;
}
