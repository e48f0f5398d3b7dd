#include "kernels/kernels.h"

#include <math.h>

/* ---- playing ------------------------------------------------------------------------------------------- */

static double share_of(uint32_t word) {
  return (word >> 8) * 0x1p-24;
}

void replay_explore_reference(const struct host_args *args) {
  const uint32_t *scan = args->in[0], *step = args->in[1];
  for (size_t row = 0; row < args->rows; row++) {
    size_t from = args->value[6].u ? 0 : row;
    struct philox decides = random_words(args->value[5].u, STREAM_ACTION, scan[from], step[from]);
    struct philox chooses = random_words(args->value[5].u, STREAM_ACTION, scan[row], step[row]);
    const uint8_t *mask = (const uint8_t *)args->in[2] + row * args->actions;
    uint64_t count = 0, wanted;
    if (share_of(decides.word[1]) >= args->value[4].f) continue;
    for (size_t line = 0; line < args->actions; line++) count += !mask[line];
    wanted = count * chooses.word[2] >> 32;
    for (uint32_t line = 0; line < args->actions; line++)
      if (!mask[line] && wanted-- == 0) ((uint32_t *)args->out[3])[row] = line;
  }
}

void replay_steps_reference(const struct host_args *args) {
  for (size_t i = 0; i < args->rows * args->actions; i++) {
    uint32_t place = ((const uint32_t *)args->in[0])[args->value[2].u + i / args->actions];
    ((float *)args->out[1])[i] = i % args->actions == place / args->value[3].u;
  }
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

/* The row `ahead` steps later, at most the scan's last. */
static uint32_t row_after(uint32_t place, uint32_t columns, uint32_t steps, uint32_t ahead) {
  uint64_t step = (uint64_t)place / columns + ahead;
  return (uint32_t)(step < steps ? step : steps - 1) * columns + place % columns;
}

/* Counts the rows that may be drawn one by one. */
static uint32_t row_number(const union host_value *v, uint64_t number) {
  for (uint32_t step = 0; step < v[5].u; step++)
    for (uint32_t column = 0; column < v[6].u; column++)
      if (number-- == 0) return step * v[4].u + column + (column >= v[7].u ? v[8].u : 0);
  for (uint32_t step = 0; step < v[9].u; step++)
    for (uint32_t column = 0; column < v[8].u; column++)
      if (number-- == 0) return step * v[4].u + v[7].u + column;
  return 0;
}

void replay_draw_reference(const struct host_args *args) {
  const union host_value *v = args->value;
  uint64_t valid = v[6].u * v[5].u + v[8].u * v[9].u;
  for (uint32_t row = 0; row < args->rows; row++) {
    uint32_t place = row_number(v, valid * random_words(v[2].u, STREAM_REPLAY, v[3].u, row).word[0] >> 32);
    ((uint32_t *)args->out[0])[row] = place;
    ((uint32_t *)args->out[1])[row] = row_after(place, v[4].u, v[5].u, v[10].u);
  }
}

void replay_sums_reference(const struct host_args *args) {
  const float *priority = args->in[0];
  for (size_t row = 0; row < args->rows; row++) {
    double all[4] = {0};
    for (size_t i = row * args->value[2].u; i < (row + 1) * args->value[2].u && i < args->value[3].u; i++) {
      all[0] += priority[i] > 0 ? priority[i] : 0;
      all[1] += priority[i] == 0;
      if (priority[i] > all[2]) all[2] = priority[i];
      if (priority[i] > 0 && (all[3] == 0 || priority[i] < all[3])) all[3] = priority[i];
    }
    for (int k = 0; k < 4; k++) ((float *)args->out[1])[4 * row + (size_t)k] = (float)all[k];
  }
}

/* The row at which the sum of priorities passes the draw; *edge: how near it comes to one. */
static uint32_t pick(const struct host_args *args, size_t row, double *own, double *edge) {
  const float *priority = args->in[1];
  const union host_value *v = args->value;
  double most = 0, least = INFINITY, sum = 0, passed = 0;
  uint32_t chosen = NO_LINE;
  for (size_t i = 0; i < v[9].u; i++) most = fmax(most, priority[i]);
  for (size_t i = 0; i < v[9].u; i++) least = priority[i] > 0 ? fmin(least, priority[i]) : least;
  if (most == 0) most = least = 1;
  for (size_t i = 0; i < v[9].u; i++) sum += priority[i] == 0 ? most : fmax(priority[i], 0);
  double drawn =
      ((double)row + share_of(random_words(v[5].u, STREAM_REPLAY, v[6].u, (uint32_t)row).word[0])) /
      (double)args->rows * sum;
  for (uint32_t i = 0; i < v[9].u; i++) {
    double here = priority[i] == 0 ? most : fmax(priority[i], 0);
    passed += here;
    *edge = fmin(*edge, here > 0 ? fabs(passed - drawn) : 1);
    if (chosen == NO_LINE && passed > drawn) chosen = i, *own = least / here;
  }
  return chosen;
}

void replay_pick_reference(const struct host_args *args) {
  const union host_value *v = args->value;
  for (size_t row = 0; row < args->rows; row++) {
    double edge = 1, own = 1;
    uint32_t place = pick(args, row, &own, &edge);
    ((uint32_t *)args->out[2])[row] = place;
    ((uint32_t *)args->out[3])[row] = row_after(place, v[10].u, v[11].u, v[12].u);
    ((float *)args->out[4])[row] = (float)pow(own, v[13].f);
  }
}

/* ---- learning ------------------------------------------------------------------------------------------ */

void replay_target_reference(const struct host_args *args) {
  const union host_value *v = args->value;
  for (size_t row = 0; row < args->rows; row++) {
    uint32_t place = ((const uint32_t *)args->in[0])[v[5].u + row], step = place / v[6].u;
    double sum = 0;
    for (uint32_t i = 0; i < v[8].u && step + i < v[7].u; i++)
      sum += pow(v[9].f, i) * ((const float *)args->in[1])[place + i * v[6].u];
    if (step + v[8].u < v[7].u)
      sum += pow(v[9].f, v[8].u) *
             ((const float *)args->in[2])[row * args->actions + ((const uint32_t *)args->in[3])[row]];
    ((float *)args->out[4])[v[5].u + row] = (float)sum;
  }
}

void replay_loss_reference(const struct host_args *args) {
  const union host_value *v = args->value;
  double width = v[10].f;
  for (size_t row = 0; row < args->rows; row++) {
    size_t at = v[8].u + row, place = ((const uint32_t *)args->in[0])[at];
    uint32_t taken = ((const uint32_t *)args->in[2])[place];
    double value = ((const float *)args->in[1])[row * args->actions + taken],
           target = ((const float *)args->in[3])[at];
    double error = value - target, factor = v[11].u ? ((const float *)args->in[4])[at] : 1;
    double loss = fabs(error) < width ? error * error / 2 : width * (fabs(error) - width / 2);
    float *slope = (float *)args->out[5] + row * args->actions, *terms = (float *)args->out[6] + 4 * at;
    for (size_t line = 0; line < args->actions; line++)
      slope[line] = line == taken ? (float)(v[9].f * factor * fmax(-width, fmin(width, error))) : 0;
    terms[0] = (float)(factor * loss);
    terms[1] = (float)fabs(error);
    terms[2] = (float)value;
    terms[3] = (float)target;
    ((float *)args->out[7])[place] = (float)pow(fabs(error) + 1e-6, v[12].f);
  }
}

/* ---- arguments that mean something --------------------------------------------------------------------- */

void replay_explore_prepare(struct host_args *args, struct random *random) {
  for (size_t i = 0; i < args->rows * args->actions; i++)
    ((uint8_t *)args->in[2])[i] = random_u32(random) % 3 > 0;
  args->value[4].f = 0.25f * (float)(random_u32(random) % 5);
  args->value[5].u = random_u32(random);
  args->value[6].u = random_u32(random) % 2;
}

void replay_steps_prepare(struct host_args *args, struct random *random) {
  uint32_t divisor = 1 + random_u32(random) % 5, first = random_u32(random) % 4;
  for (size_t i = 0; i < args->rows + first; i++)
    ((uint32_t *)args->in[0])[i] = random_u32(random) % (divisor * (uint32_t)args->actions);
  args->value[2].u = first;
  args->value[3].u = divisor;
}

void replay_draw_prepare(struct host_args *args, struct random *random) {
  uint32_t scans = 1 + random_u32(random) % 4, blocks = 1 + random_u32(random) % 4,
           steps = 1 + random_u32(random) % 6;
  args->value[2].u = random_u32(random);
  args->value[3].u = random_u32(random);
  args->value[4].u = scans * (blocks + 1);
  args->value[5].u = steps;
  args->value[6].u = scans * blocks;
  args->value[7].u = scans * (random_u32(random) % (blocks + 1));
  args->value[8].u = scans;
  args->value[9].u = random_u32(random) % (steps + 1);
  args->value[10].u = 1 + random_u32(random) % 3;
}

/* Small whole numbers, whose sums are exact. */
static void prepare_priorities(float *priority, size_t count, struct random *random) {
  for (size_t i = 0; i < count; i++) priority[i] = (float)(random_u32(random) % 6) - 1;
}

void replay_sums_prepare(struct host_args *args, struct random *random) {
  uint32_t chunk = 1 + random_u32(random) % (uint32_t)args->actions;
  args->value[2].u = chunk;
  args->value[3].u = ((uint32_t)args->rows - 1) * chunk + 1 + random_u32(random) % chunk;
  prepare_priorities((float *)args->in[0], args->value[3].u, random);
}

/* Draws keep away from the edges of the sums, where rounding decides. */
void replay_pick_prepare(struct host_args *args, struct random *random) {
  union host_value *v = args->value;
  uint32_t chunk = 1 + random_u32(random) % 8, chunks = 1 + random_u32(random) % 4, total = chunk * chunks;
  double edge = 0, own;
  struct host_args sums = *args;
  prepare_priorities((float *)args->in[1], total, random);
  ((float *)args->in[1])[random_u32(random) % total] = 1;
  v[5].u = random_u32(random);
  v[7].u = chunk;
  v[8].u = chunks;
  v[9].u = total;
  v[10].u = 1 + random_u32(random) % total;
  v[11].u = (total + v[10].u - 1) / v[10].u;
  v[12].u = 1 + random_u32(random) % 3;
  v[13].f = 0.5f;
  for (v[6].u = random_u32(random); edge < 1e-4; v[6].u++) {
    edge = 1;
    for (size_t row = 0; row < args->rows; row++) pick(args, row, &own, &edge);
  }
  v[6].u--;
  sums.in[0] = args->in[1];
  sums.out[1] = (void *)args->in[0];
  sums.rows = chunks;
  sums.value[2].u = chunk;
  sums.value[3].u = total;
  replay_sums_reference(&sums);
}

/* Rows of a table of so many columns and steps. */
static void prepare_rows(struct host_args *args, struct random *random, uint32_t first, uint32_t count) {
  for (size_t i = 0; i < args->rows + first; i++) ((uint32_t *)args->in[0])[i] = random_u32(random) % count;
}

void replay_target_prepare(struct host_args *args, struct random *random) {
  uint32_t first = random_u32(random) % 4, columns = 1 + random_u32(random) % 4,
           steps = 1 + random_u32(random) % 6;
  uint32_t room = (uint32_t)args->rows;
  if (columns * steps > room) columns = room, steps = 1;
  prepare_rows(args, random, first, columns * steps);
  for (size_t i = 0; i < args->rows; i++)
    ((uint32_t *)args->in[3])[i] = random_u32(random) % (uint32_t)args->actions;
  args->value[5].u = first;
  args->value[6].u = columns;
  args->value[7].u = steps;
  args->value[8].u = 1 + random_u32(random) % 3;
  args->value[9].f = 0.5f;
}

/* No row is drawn twice: which of two priorities stays is left open. */
void replay_loss_prepare(struct host_args *args, struct random *random) {
  uint32_t first = random_u32(random) % 4, count = (uint32_t)args->rows + first;
  random_order(random, (uint32_t *)args->in[0], count);
  for (size_t i = 0; i < count; i++)
    ((uint32_t *)args->in[2])[i] = random_u32(random) % (uint32_t)args->actions;
  args->value[8].u = first;
  args->value[9].f = 0.25f;
  args->value[10].f = 0.5f;
  args->value[11].u = random_u32(random) % 2;
  args->value[12].f = 0.6f;
}
