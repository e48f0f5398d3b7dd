#include "kernels/kernels.h"

#include <math.h>

/* One row's logits over the lines that its mask leaves free. */
struct choice {
  const float *logits, *mask;
  size_t width;
};

static struct choice choice_of(const struct host_args *args, int logits, size_t row) {
  return (struct choice){(const float *)args->in[logits] + row * args->actions,
                         (const float *)args->in[logits + 1] + row * args->actions, args->actions};
}

static double largest_of(const struct choice *choice) {
  double largest = -INFINITY;
  for (size_t line = 0; line < choice->width; line++)
    if (choice->mask[line] == 0) largest = fmax(largest, choice->logits[line]);
  return largest;
}

/* The logarithm of a line's probability; of a line that is not free minus infinity. */
static double log_chance(const struct choice *choice, size_t line) {
  double largest = largest_of(choice), sum = 0;
  for (size_t i = 0; i < choice->width; i++)
    if (choice->mask[i] == 0) sum += exp(choice->logits[i] - largest);
  return choice->mask[line] == 0 ? choice->logits[line] - largest - log(sum) : -INFINITY;
}

/* ---- masks --------------------------------------------------------------------------------------------- */

void policy_mask_reference(const struct host_args *args) {
  const uint8_t *mask = (const uint8_t *)args->in[0] + args->value[2].u * args->actions;
  for (size_t i = 0; i < args->rows * args->actions; i++) ((float *)args->out[1])[i] = mask[i] != 0;
}

static bool is_taken_before(const uint8_t *initial, const uint32_t *action, size_t scans, size_t place,
                            size_t line) {
  bool taken = initial[line];
  for (size_t before = place; before >= scans;) taken |= action[before -= scans] == line;
  return taken;
}

void policy_gather_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++) {
    size_t place = ((const uint32_t *)args->in[0])[args->value[6].u + row];
    ((uint32_t *)args->out[3])[row] = ((const uint32_t *)args->in[1])[place];
    for (size_t line = 0; line < args->actions; line++)
      ((uint8_t *)args->out[4])[row * args->actions + line] =
          is_taken_before(args->in[5], args->in[2], args->value[7].u, place, line);
  }
}

void policy_gather_masks_reference(const struct host_args *args) {
  for (size_t i = 0; i < args->rows * args->actions; i++)
    ((float *)args->out[1])[i] =
        is_taken_before(args->in[2], args->in[0], args->value[3].u, i / args->actions, i % args->actions);
}

/* ---- decisions ----------------------------------------------------------------------------------------- */

/* The first line at which the distribution function passes `drawn`; *edge: how near it comes to it. */
static uint32_t draw_line(const struct choice *choice, double drawn, double *edge) {
  double passed = 0;
  uint32_t chosen = NO_LINE;
  *edge = 1;
  for (uint32_t line = 0; line < choice->width; line++) {
    if (choice->mask[line] != 0) continue;
    passed += exp(log_chance(choice, line));
    if (passed > drawn && chosen == NO_LINE) chosen = line;
    *edge = fmin(*edge, fabs(passed - drawn));
  }
  return chosen;
}

static uint32_t best_line(const struct choice *choice) {
  for (uint32_t line = 0; line < choice->width; line++)
    if (choice->mask[line] == 0 && choice->logits[line] == largest_of(choice)) return line;
  return NO_LINE;
}

static double drawn_by(const struct host_args *args, size_t env) {
  const uint32_t *scan = args->in[2], *step = args->in[3];
  struct philox words = random_words(args->value[7].u, STREAM_ACTION, scan[env], step[env]);
  return (words.word[0] >> 8) * 0x1p-24;
}

void policy_act_reference(const struct host_args *args) {
  uint32_t *action = args->out[4];
  for (size_t row = 0; row < args->rows; row++) {
    struct choice choice = choice_of(args, 0, row);
    size_t env = args->value[6].u + row;
    double edge;
    action[env] = args->value[8].u ? best_line(&choice) : draw_line(&choice, drawn_by(args, env), &edge);
    ((float *)args->out[5])[env] = action[env] == NO_LINE ? 0 : (float)log_chance(&choice, action[env]);
  }
}

/* ---- learning ------------------------------------------------------------------------------------------ */

/* The loss and its slope by the action's log-probability. */
static void surrogate(double log_prob, double old, double advantage, double clip, double loss[2]) {
  double ratio = exp(log_prob - old), kept = fmin(fmax(ratio, 1 - clip), 1 + clip);
  bool ppo = clip > 0, held = ppo && kept * advantage < ratio * advantage;
  loss[0] = ppo ? -fmin(ratio * advantage, kept * advantage) : -advantage * log_prob;
  loss[1] = held ? 0 : ppo ? -ratio * advantage : -advantage;
}

static double entropy_of(const struct choice *choice) {
  double entropy = 0;
  for (size_t line = 0; line < choice->width; line++)
    if (choice->mask[line] == 0) entropy -= exp(log_chance(choice, line)) * log_chance(choice, line);
  return entropy;
}

static void loss_of_row(const struct host_args *args, size_t row) {
  const union host_value *v = args->value;
  size_t at = v[11].u + row, place = ((const uint32_t *)args->in[0])[at];
  struct choice choice = choice_of(args, 1, row);
  uint32_t action = ((const uint32_t *)args->in[4])[place];
  double entropy = entropy_of(&choice), loss[2], chance = log_chance(&choice, action);
  double old = ((const float *)args->in[5])[place], advantage = ((const float *)args->in[6])[place];
  double gap = (double)((const float *)args->in[3])[row] - ((const float *)args->in[7])[place];
  float *slope = (float *)args->out[8] + row * args->actions, *terms = (float *)args->out[10] + 4 * at;
  surrogate(chance, old, advantage, v[15].f, loss);
  for (size_t line = 0; line < args->actions; line++) {
    double log_p = log_chance(&choice, line), p = exp(log_p);
    double by_entropy = p > 0 ? -p * (log_p + entropy) : 0;
    slope[line] = (float)(v[12].f * (loss[1] * ((line == action) - p) - v[13].f * by_entropy));
  }
  ((float *)args->out[9])[row] = (float)(2 * v[12].f * v[14].f * gap);
  terms[0] = (float)loss[0];
  terms[1] = (float)entropy;
  terms[2] = (float)(gap * gap);
  terms[3] = (float)(chance - old);
}

void policy_loss_reference(const struct host_args *args) {
  for (size_t row = 0; row < args->rows; row++) loss_of_row(args, row);
}

void group_centre_reference(const struct host_args *args) {
  size_t members = args->value[3].u, stride = args->value[4].u, block = members * stride;
  for (size_t i = 0; i < args->value[2].u * args->rows; i++) {
    const float *step = (const float *)args->in[0] + i / args->rows * args->rows;
    size_t row = i % args->rows, first = row / block * block + row % stride;
    double mean = 0;
    for (size_t other = first; other < first + block; other += stride) mean += step[other] / (double)members;
    ((float *)args->out[1])[i] = (float)(args->value[5].f * (step[row] - mean));
  }
}

/* The critic's estimate of a step's state; without one it is 0. */
static double estimate_at(const struct host_args *args, size_t at) {
  size_t rows = args->rows, steps = args->value[6].u;
  if (!args->value[9].u) return 0;
  return at < steps * rows ? ((const float *)args->in[1])[at] : ((const float *)args->in[3])[at % rows];
}

/* The sum over what follows of (gamma lambda)^k times the temporal differences, up to the scan's end. */
void policy_advantage_reference(const struct host_args *args) {
  const float *reward = args->in[0];
  const uint32_t *done = args->in[2];
  size_t steps = args->value[6].u, rows = args->rows;
  double gamma = args->value[7].f, lambda = args->value[8].f;
  for (size_t i = 0; i < steps * rows; i++) {
    double sum = 0, weight = 1;
    for (size_t at = i; at < steps * rows; at += rows) {
      double next = estimate_at(args, at + rows);
      sum += weight * (reward[at] + (done[at] ? 0 : gamma * next) - estimate_at(args, at));
      weight *= done[at] ? 0 : gamma * lambda;
    }
    ((float *)args->out[4])[i] = (float)sum;
    ((float *)args->out[5])[i] = (float)(sum + estimate_at(args, i));
  }
}

static void normalise_update(const struct host_args *args, size_t first, size_t end) {
  const uint32_t *order = args->in[0];
  const float *advantage = args->in[1];
  double mean = 0, square = 0, count = (double)(end - first);
  for (size_t i = first; i < end; i++) mean += advantage[order[i]] / count;
  for (size_t i = first; i < end; i++) square += pow(advantage[order[i]] - mean, 2);
  for (size_t i = first; i < end; i++)
    ((float *)args->out[2])[order[i]] =
        count > 1 ? (float)((advantage[order[i]] - mean) / (sqrt(square / (count - 1)) + 1e-8))
                  : advantage[order[i]];
}

void policy_normalise_reference(const struct host_args *args) {
  size_t total = args->value[3].u, most = args->value[4].u;
  for (size_t first = 0; first < total; first += most)
    normalise_update(args, first, total - first < most ? total : first + most);
}

/* Where the draws of an image stand, by counting through parts, steps and draws; *count of them, `slices` apart. */
static size_t draws_of(const struct host_args *args, size_t image, size_t *count) {
  size_t slices = args->value[7].u, each = args->value[8].u, draws = args->value[9].u, steps = args->value[10].u;
  for (size_t part = 0; part < slices; part += each)
    for (size_t step = 0; step < steps; step++) {
      bool shared = args->value[11].u || !step;
      *count = shared ? draws : 1;
      for (size_t draw = 0; draw < (shared ? 1 : draws); draw++)
        for (size_t slice = part; slice < slices && slice < part + each; slice++)
          if (!image--) return (step * draws + draw) * slices + slice;
    }
  REQUIRE(false, "the image is none of the states");
  return 0;
}

void policy_reinforce_reference(const struct host_args *args) {
  const uint32_t *action = args->in[2];
  const float *advantage = args->in[3];
  for (size_t row = 0; row < args->rows; row++) {
    size_t count, image = args->value[6].u + row, place = draws_of(args, image, &count);
    struct choice choice = choice_of(args, 0, row);
    float *slope = (float *)args->out[4] + row * args->actions, *terms = (float *)args->out[5] + 2 * image;
    double loss = 0;
    size_t slices = args->value[7].u, end = place + count * slices;
    for (size_t i = place; i < end; i += slices) loss -= advantage[i] * log_chance(&choice, action[i]);
    for (size_t line = 0; line < args->actions; line++) {
      double sum = 0, p = exp(log_chance(&choice, line));
      for (size_t i = place; i < end; i += slices) sum -= advantage[i] * ((action[i] == line) - p);
      slope[line] = (float)sum;
    }
    terms[0] = (float)loss;
    terms[1] = (float)entropy_of(&choice);
  }
}

/* ---- arguments that mean something --------------------------------------------------------------------- */

void policy_mask_prepare(struct host_args *args, struct random *random) {
  args->value[2].u = random_u32(random) % 4;
}

void policy_gather_prepare(struct host_args *args, struct random *random) {
  uint32_t rows = (uint32_t)args->rows + 3, width = (uint32_t)args->actions;
  for (uint32_t i = 0; i < rows; i++) {
    ((uint32_t *)args->in[0])[i] = random_u32(random) % rows;
    ((uint32_t *)args->in[2])[i] = random_u32(random) % 8 ? random_u32(random) % width : NO_LINE;
  }
  args->value[6].u = random_u32(random) % 4;
  args->value[7].u = rows / (1 + random_u32(random) % 16) + 1;
}

void policy_gather_masks_prepare(struct host_args *args, struct random *random) {
  uint32_t rows = (uint32_t)args->rows, width = (uint32_t)args->actions;
  for (uint32_t i = 0; i < rows; i++)
    ((uint32_t *)args->in[0])[i] = random_u32(random) % 8 ? random_u32(random) % width : NO_LINE;
  args->value[3].u = rows / (1 + random_u32(random) % 16) + 1;
}

/* Logits of which some are equal; masks from empty to full, or with a free line at least. */
static void prepare_choices(struct host_args *args, struct random *random, int logits, bool any_free) {
  for (size_t row = 0; row < args->rows; row++) {
    uint32_t density = random_u32(random) % 11;
    for (size_t line = 0; line < args->actions; line++) {
      size_t i = row * args->actions + line;
      ((float *)args->in[logits])[i] = (float)(random_u32(random) % 64) / 8 - 4;
      ((float *)args->in[logits + 1])[i] = random_u32(random) % 10 < density ? 1 : 0;
    }
    if (any_free) ((float *)args->in[logits + 1])[row * args->actions + random_u32(random) % args->actions] = 0;
  }
}

/* Draws keep away from the edges of the distribution function, where rounding decides. */
void policy_act_prepare(struct host_args *args, struct random *random) {
  double edge = 0;
  prepare_choices(args, random, 0, false);
  args->value[6].u = random_u32(random) % 4;
  args->value[7].u = random_u32(random);
  args->value[8].u = random_u32(random) % 2;
  for (size_t row = 0; row < args->rows; row++, edge = 0) {
    struct choice choice = choice_of(args, 0, row);
    size_t env = args->value[6].u + row;
    for (uint32_t *scan = (uint32_t *)args->in[2]; edge < 1e-4; scan[env]++)
      draw_line(&choice, drawn_by(args, env), &edge);
    ((uint32_t *)args->in[2])[env]--;
  }
}

/* Actions are free; ratios lie well inside or outside of what PPO keeps. */
void policy_loss_prepare(struct host_args *args, struct random *random) {
  static const float values[] = {0.25f, 0.03f, 0.5f};
  uint32_t *order = (uint32_t *)args->in[0], first = args->value[11].u = random_u32(random) % 4;
  prepare_choices(args, random, 1, true);
  for (uint32_t i = 0; i < args->rows + 3; i++) order[i] = (uint32_t)args->rows + 2 - i;
  for (size_t row = 0; row < args->rows; row++) {
    struct choice choice = choice_of(args, 1, row);
    uint32_t place = order[first + row], line = random_u32(random) % (uint32_t)args->actions;
    while (choice.mask[line] != 0) line = (line + 1) % (uint32_t)args->actions;
    ((uint32_t *)args->in[4])[place] = line;
    ((float *)args->in[5])[place] =
        (float)(log_chance(&choice, line) + 0.1 * ((double)(random_u32(random) % 9) - 4));
    ((float *)args->in[6])[place] = (float)random_normal(random);
  }
  for (int i = 0; i < 3; i++) args->value[12 + i].f = values[i];
  args->value[15].f = random_u32(random) % 2 ? 0.25f : 0;
}

/* Actions are free in the masks of their images; the last images have draws beyond what there is room for. */
void policy_reinforce_prepare(struct host_args *args, struct random *random) {
  uint32_t slices = 1 + random_u32(random) % 5, draws = 1 + random_u32(random) % 4;
  prepare_choices(args, random, 0, true);
  args->value[6].u = random_u32(random) % 4;
  uint32_t shared = random_u32(random) % 2, states = ((uint32_t)args->rows + 3) / slices + 1; /* of a slice, at least */
  args->value[7].u = slices;
  args->value[8].u = 1 + random_u32(random) % slices;
  args->value[9].u = draws;
  args->value[10].u = shared ? states : states / draws + 2;
  args->value[11].u = shared;
  for (size_t row = 0; row < args->rows; row++) {
    size_t count, place = draws_of(args, args->value[6].u + row, &count);
    struct choice choice = choice_of(args, 0, row);
    for (size_t i = 0; i < count; i++, place += slices) {
      uint32_t line = random_u32(random) % (uint32_t)args->actions;
      while (choice.mask[line] != 0) line = (line + 1) % (uint32_t)args->actions;
      ((uint32_t *)args->in[2])[place] = line;
      ((float *)args->in[3])[place] -= 0.5f;
    }
  }
}

void policy_advantage_prepare(struct host_args *args, struct random *random) {
  size_t steps = 1 + random_u32(random) % (args->actions < 28 ? args->actions : 28);
  for (size_t i = 0; i < steps * args->rows; i++) {
    ((float *)args->in[1])[i] -= 0.5f;
    ((uint32_t *)args->in[2])[i] = ((uint32_t *)args->in[2])[i] == 0;
  }
  args->value[6].u = (uint32_t)steps;
  args->value[7].f = 0.9f;
  args->value[8].f = 0.95f;
  args->value[9].u = random_u32(random) % 2;
}

/* Members and their distance divide the rows. */
void group_centre_prepare(struct host_args *args, struct random *random) {
  uint32_t block = (uint32_t)args->rows, members = 1 + random_u32(random) % 8;
  while (block % members) members--;
  args->value[2].u = 1 + random_u32(random) % (args->actions < 28 ? (uint32_t)args->actions : 28);
  args->value[3].u = members;
  args->value[4].u = random_u32(random) % 2 ? 1 : block / members;
  args->value[5].f = 1.25f;
}

void policy_normalise_prepare(struct host_args *args, struct random *random) {
  uint32_t most = 1 + random_u32(random) % (uint32_t)args->actions;
  uint32_t total = ((uint32_t)args->rows - 1) * most + 1 + random_u32(random) % most;
  random_order(random, (uint32_t *)args->in[0], total);
  args->value[3].u = total;
  args->value[4].u = most;
}
