#include "kernels/kernels.h"

#include "components/components.h"

#include <math.h>
#include <string.h>

/* Whether the argument at `place`, the refused row, says that nothing changes. */
static bool is_refused(const struct host_args *args, int place) {
  return ((const uint32_t *)args->in[place])[0] != NO_LINE;
}

/* ---- random arguments that mean something -------------------------------------------------------------- */

static void set_flags(struct random *random, const void *flags, size_t rows) {
  uint32_t *flag = (uint32_t *)flags;
  for (size_t row = 0; row < rows; row++) flag[row] = random_u32(random) % 2;
}

/* One call in four is refused. */
static void set_refused(struct random *random, const void *word) {
  *(uint32_t *)word = random_u32(random) % 4 ? NO_LINE : random_u32(random) % 100;
}

static void set_slices(struct random *random, const void *slices, const struct host_args *args) {
  uint32_t *slice = (uint32_t *)slices;
  for (size_t row = 0; row < args->rows; row++)
    slice[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
}

static void set_actions(struct random *random, const void *actions, const struct host_args *args) {
  uint32_t *action = (uint32_t *)actions;
  for (size_t row = 0; row < args->rows; row++)
    action[row] = random_u32(random) % 4 ? random_u32(random) % (uint32_t)args->actions : random_u32(random);
}

void env_check_prepare(struct host_args *args, struct random *random) {
  set_actions(random, args->in[0], args);
  set_flags(random, args->in[2], args->rows);
  set_refused(random, args->in[3]);
  *(uint32_t *)args->out[4] = random_u32(random) % 2 ? NO_LINE : random_u32(random) % (uint32_t)args->rows;
  args->value[5].u = random_u32(random) % 2;
}

/* One scan has no free action at all. */
void env_take_prepare(struct host_args *args, struct random *random) {
  set_flags(random, args->in[0], args->rows);
  set_refused(random, args->in[1]);
  set_actions(random, args->out[2], args);
  memset(args->out[3], 1, args->actions);
  args->value[7].u = 4;
  args->value[8].u = random_u32(random) % 2;
}

void env_begin_prepare(struct host_args *args, struct random *random) {
  uint32_t *scan = args->out[2];
  set_flags(random, args->in[0], args->rows);
  set_refused(random, args->in[1]);
  for (size_t row = 0; row < args->rows; row++)
    if (random_u32(random) % 3 == 0) scan[row] = NO_LINE;
  args->value[10].u = random_u32(random) % 1000;
  args->value[11].u = random_u32(random) % 1000;
  args->value[12].u = 1 + random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  args->value[13].u = random_u32(random) % 2;
}

void env_reward_prepare(struct host_args *args, struct random *random) {
  set_flags(random, args->in[1], args->rows);
  set_flags(random, args->in[2], args->rows);
  set_flags(random, args->in[3], args->rows);
  set_refused(random, args->in[4]);
  args->value[7].f = random_u32(random) % 2 ? 1.0f : -1.0f;
  args->value[8].f = 3;
  args->value[9].u = random_u32(random) % 3;
}

void env_quality_prepare(struct host_args *args, struct random *random) {
  set_flags(random, args->in[1], args->rows);
  set_refused(random, args->in[2]);
  args->value[4].f = random_u32(random) % 2 ? 1.0f : -1.0f;
}

void env_keep_prepare(struct host_args *args, struct random *random) {
  set_flags(random, args->in[1], args->rows);
  set_refused(random, args->in[2]);
  args->value[4].u = random_u32(random) % 2;
}

void env_keep_image_prepare(struct host_args *args, struct random *random) {
  set_flags(random, args->in[1], args->rows);
  set_refused(random, args->in[2]);
}

void env_clear_prepare(struct host_args *args, struct random *random) {
  set_refused(random, args->in[0]);
}

void env_keep_standardised_prepare(struct host_args *args, struct random *random) {
  set_slices(random, args->in[0], args);
  for (size_t row = 0; row < args->table_rows[TABLE_SLICE]; row++)
    ((float *)args->in[4])[row] = ldexpf(1, -(int)(random_u32(random) % 40));
  set_flags(random, args->in[5], args->rows);
  set_refused(random, args->in[6]);
}

void env_keep_free_prepare(struct host_args *args, struct random *random) {
  env_keep_image_prepare(args, random);
  args->value[4].u = random_u32(random) % 2;
}

static void set_slices_from(struct host_args *args, struct random *random, int first) {
  for (size_t row = 0; row < args->rows + 3; row++)
    ((uint32_t *)args->in[0])[row] = random_u32(random) % (uint32_t)args->table_rows[TABLE_SLICE];
  args->value[first].u = random_u32(random) % 4;
}

void env_target_prepare(struct host_args *args, struct random *random) {
  set_slices_from(args, random, 5);
}

void env_label_prepare(struct host_args *args, struct random *random) {
  set_slices_from(args, random, 3);
}

/* ---- references ---------------------------------------------------------------------------------------- */

void env_check_reference(const struct host_args *args) {
  const uint32_t *action = args->in[0], *skip = args->in[2];
  const uint8_t *mask = args->in[1];
  uint32_t *refused = args->out[4];
  if (is_refused(args, 3)) return;
  for (size_t row = args->rows; row-- > 0;) {
    bool good = action[row] < args->actions && !(args->value[5].u && mask[row * args->actions + action[row]]);
    if (!skip[row] && !good && row < *refused) *refused = (uint32_t)row;
  }
}

/* The free action of least distance; the first of equals is the lower one. */
static uint32_t nearest_free(const uint8_t *taken, uint32_t actions, uint32_t action) {
  uint32_t from = action < actions ? action : actions - 1, best = NO_LINE, least = NO_LINE;
  for (uint32_t a = 0; a < actions; a++) {
    uint32_t distance = a < from ? from - a : a - from;
    if (taken[a] || distance >= least) continue;
    least = distance;
    best = a;
  }
  return best;
}

void env_take_reference(const struct host_args *args) {
  const uint32_t *skip = args->in[0];
  uint32_t *action = args->out[2], *step = args->out[4], *done = args->out[5];
  uint32_t actions = (uint32_t)args->actions;
  float *reward = args->out[6];
  if (is_refused(args, 1)) return;
  for (size_t row = 0; row < args->rows; row++) {
    uint8_t *taken = (uint8_t *)args->out[3] + row * actions;
    reward[row] = 0;
    if (skip[row]) continue;
    bool good = action[row] < actions && !taken[action[row]];
    if (!good && args->value[8].u) action[row] = nearest_free(taken, actions, action[row]);
    if (action[row] < actions) taken[action[row]] = 1;
    step[row]++;
    done[row] = step[row] >= args->value[7].u;
  }
}

void env_begin_reference(const struct host_args *args) {
  const uint32_t *reset = args->in[0], *order = args->in[3];
  uint32_t *scan = args->out[2], *slice = args->out[4], *step = args->out[6], *done = args->out[7];
  if (is_refused(args, 1)) return;
  for (size_t row = 0; row < args->rows; row++) {
    if (!reset[row]) continue;
    scan[row] = scan[row] == NO_LINE ? args->value[10].u + (uint32_t)row : scan[row] + args->value[11].u;
    slice[row] = order[scan[row] % args->value[12].u];
    step[row] = 0;
    memcpy((uint8_t *)args->out[5] + row * args->actions, args->in[9], args->actions);
    if (!args->value[13].u) continue;
    done[row] = 0;
    ((float *)args->out[8])[row] = 0;
  }
}

void env_free_reference(const struct host_args *args) {
  const uint8_t *mask = args->in[0];
  for (size_t row = 0; row < args->rows; row++) ((uint8_t *)args->out[1])[row] = mask[row] ? 0 : 1;
}

/* Forms as in components/options.h: 0 sparse, 1 dense, 2 compat. */
void env_reward_reference(const struct host_args *args) {
  const float *score = args->in[0];
  const uint32_t *step = args->in[1], *done = args->in[2], *skip = args->in[3];
  float *quality = args->out[5], *reward = args->out[6];
  if (is_refused(args, 4)) return;
  for (size_t row = 0; row < args->rows; row++) {
    double now = (double)args->value[7].f * score[row], start = quality[row], end = done[row] ? now : 0;
    if (skip[row]) continue;
    switch (args->value[9].u) {
    case 0: reward[row] = (float)(args->value[8].f * end); break;
    case 1:
      reward[row] = (float)(args->value[8].f * (now - start));
      quality[row] = (float)now;
      break;
    default: reward[row] = (float)(args->value[8].f * (end - (step[row] == 1 ? start : 0)));
    }
  }
}

void env_quality_reference(const struct host_args *args) {
  const float *score = args->in[0];
  const uint32_t *reset = args->in[1];
  for (size_t row = 0; row < args->rows && !is_refused(args, 2); row++)
    if (reset[row]) ((float *)args->out[3])[row] = args->value[4].f * score[row];
}

void env_keep_reference(const struct host_args *args) {
  const float *score = args->in[0];
  const uint32_t *done = args->in[1];
  for (size_t row = 0; row < args->rows && !is_refused(args, 2); row++)
    if (args->value[4].u || done[row]) ((float *)args->out[3])[row] = score[row];
}

void env_clear_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows && !is_refused(args, 0); row++) ((float *)args->out[1])[row] = NAN;
}

void env_keep_free_reference(const struct host_args *args) {
  const uint8_t *mask = args->in[0];
  const uint32_t *done = args->in[1];
  for (size_t i = 0; i < args->rows * args->actions && !is_refused(args, 2); i++)
    if (done[i / args->actions]) ((uint8_t *)args->out[3])[i] = (mask[i] ? 1 : 0) == args->value[4].u;
}

void env_keep_standardised_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0], *done = args->in[5];
  const float *image = args->in[1], *mean = args->in[2], *std = args->in[3], *unit = args->in[4];
  size_t pixels = args->height * args->width;
  for (size_t i = 0; i < args->rows * pixels && !is_refused(args, 6); i++) {
    size_t row = i / pixels;
    double normal = ((double)image[i] - mean[row]) / (std[row] + 1e-11 / unit[slice[row]]);
    if (done[row]) ((float *)args->out[7])[i] = (float)fmin(fmax(normal, -6), 6);
  }
}

void env_keep_image_reference(const struct host_args *args) {
  const float *image = args->in[0];
  const uint32_t *done = args->in[1];
  size_t pixels = args->height * args->width;
  for (size_t row = 0; row < args->rows && !is_refused(args, 2); row++)
    if (done[row]) memcpy((float *)args->out[3] + row * pixels, image + row * pixels, sizeof(float) * pixels);
}

void env_target_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  const float *image = args->in[1], *mean = args->in[2], *std = args->in[3];
  size_t pixels = args->height * args->width;
  for (size_t i = 0; i < args->rows * pixels; i++) {
    size_t at = slice[args->value[5].u + i / pixels];
    double normal = ((double)image[at * pixels + i % pixels] - mean[at]) / (std[at] + 1e-11);
    ((float *)args->out[4])[i] = (float)(fmin(fmax(normal, -6), 6) * std[at] + mean[at]);
  }
}

void env_label_reference(const struct host_args *args) {
  const uint32_t *slice = args->in[0];
  for (size_t row = 0; row < args->rows; row++)
    ((float *)args->out[2])[row] = ((const float *)args->in[1])[slice[args->value[3].u + row]];
}
