/* The policy's decisions and what it learns from them. Lines that the mask holds have no probability at all:
 * what follows is over the free ones. A row is one scan; it is walked in the order of its lines, so that the
 * same numbers give the same decision for any number of scans. */

#define NO_LINE 0xffffffffu
#define GROUP 256

/* Masks of scans from `first` on as the numbers that the network takes. */
__kernel void policy_mask(__global const uchar *restrict mask, __global float *restrict lines, uint first,
                          uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  for (uint line = 0u; line < ACTIONS; line++)
    lines[(size_t)row * ACTIONS + line] = mask[(size_t)(first + row) * ACTIONS + line] ? 1.0f : 0.0f;
}

/* Steps of a rollout once more: row i of the update, from `first` on, is row order[i] of the rollout, which
 * is [step][scan]. Their slices, and their masks before the step: initial lines and the actions until then.
 */
__kernel void policy_gather(__global const uint *restrict order, __global const uint *restrict slice,
                            __global const uint *restrict action, __global uint *restrict slice_again,
                            __global uchar *restrict mask, __global const uchar *restrict initial, uint first,
                            uint scans, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint place = order[first + row];
  __global uchar *own = mask + (size_t)row * ACTIONS;
  slice_again[row] = slice[place];
  for (uint line = 0u; line < ACTIONS; line++) own[line] = initial[line];
  for (uint before = place % scans; before < place; before += scans)
    if (action[before] < ACTIONS) own[action[before]] = 1;
}

/* The masks before every row's step as the numbers that the network takes. */
__kernel void policy_gather_masks(__global const uint *restrict action, __global float *restrict lines,
                                 __global const uchar *restrict initial, uint scans, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  __global float *own = lines + (size_t)row * ACTIONS;
  for (uint line = 0u; line < ACTIONS; line++) own[line] = initial[line] ? 1.0f : 0.0f;
  for (uint before = row % scans; before < row; before += scans)
    if (action[before] < ACTIONS) own[action[before]] = 1.0f;
}

/* Largest logit of the free lines and the sum of the others' shares of it; a sum of 0: no line is free. */
typedef struct {
  float largest, sum;
} softmax;

INLINE softmax softmax_of(__global const float *logits, __global const float *mask) {
  softmax whole = {-INFINITY, 0.0f};
  for (uint line = 0u; line < ACTIONS; line++)
    if (mask[line] == 0.0f) whole.largest = fmax(whole.largest, logits[line]);
  for (uint line = 0u; line < ACTIONS; line++)
    if (mask[line] == 0.0f) whole.sum += exp(logits[line] - whole.largest);
  return whole;
}

/* The first line at which the shares, added up in order, pass the draw: an inverse distribution function. */
INLINE uint line_drawn(__global const float *logits, __global const float *mask, softmax whole, uint word) {
  float left = (float)(word >> 8) * 0x1p-24f * whole.sum, passed = 0.0f;
  for (uint line = 0u; line < ACTIONS; line++) {
    if (mask[line] != 0.0f) continue;
    passed += exp(logits[line] - whole.largest);
    if (passed > left) return line;
  }
  return NO_LINE;
}

INLINE uint line_best(__global const float *logits, __global const float *mask, softmax whole) {
  for (uint line = 0u; line < ACTIONS; line++)
    if (mask[line] == 0.0f && logits[line] == whole.largest) return line;
  return NO_LINE;
}

/* Chooses a free line for scans from `first` on: drawn, or the first of the most probable. */
__kernel void policy_act(__global const float *restrict logits, __global const float *restrict mask,
                         __global const uint *restrict scan, __global const uint *restrict step,
                         __global uint *restrict action, __global float *restrict log_prob, uint first,
                         uint seed, uint best, uint rows) {
  uint row = (uint)get_global_id(0), env = first + row;
  if (row >= rows) return;
  __global const float *own = logits + (size_t)row * ACTIONS, *taken = mask + (size_t)row * ACTIONS;
  softmax whole = softmax_of(own, taken);
  uint chosen =
      best ? line_best(own, taken, whole)
           : line_drawn(own, taken, whole, random_words(seed, STREAM_ACTION, scan[env], step[env]).x);
  action[env] = chosen;
  log_prob[env] = chosen == NO_LINE ? 0.0f : own[chosen] - whole.largest - log(whole.sum);
}

/* Minus the sum of p log p. */
INLINE float entropy_of(__global const float *logits, __global const float *mask, softmax whole) {
  float sum = 0.0f;
  for (uint line = 0u; line < ACTIONS; line++)
    if (mask[line] == 0.0f) sum += exp(logits[line] - whole.largest) * (logits[line] - whole.largest);
  return log(whole.sum) - sum / whole.sum;
}

/* The loss of the policy and its slope by the action's log-probability. clip 0: A2C, -advantage * log_prob.
 * Else PPO, minus the lesser of ratio * advantage and that of the ratio kept within 1 +- clip. */
INLINE float2 surrogate(float log_prob, float old_log_prob, float advantage, float clip) {
  if (clip == 0.0f) return (float2)(-advantage * log_prob, -advantage);
  float ratio = exp(log_prob - old_log_prob), gain = ratio * advantage;
  float clipped = clamp(ratio, 1.0f - clip, 1.0f + clip) * advantage;
  return (float2)(-fmin(gain, clipped), gain <= clipped ? -gain : 0.0f);
}

/* Losses of rows first, first + 1 ... of an update and their gradients by logits and value. Row i of the
 * update is row order[i] of the rollout. terms: loss of the policy, entropy, squared error of the value, and
 * the logarithm of how much more probable the action has become; the gradients are those of share * (the
 * first - entropy_weight * the second + value_weight * the third). */
__kernel void policy_loss(__global const uint *restrict order, __global const float *restrict logits,
                          __global const float *restrict mask, __global const float *restrict value,
                          __global const uint *restrict action, __global const float *restrict log_prob,
                          __global const float *restrict advantage, __global const float *restrict target,
                          __global float *restrict logits_gradient, __global float *restrict value_gradient,
                          __global float4 *restrict terms, uint first, float share, float entropy_weight,
                          float value_weight, float clip, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint place = order[first + row], taken = action[place];
  __global const float *own = logits + (size_t)row * ACTIONS, *acquired = mask + (size_t)row * ACTIONS;
  __global float *slope = logits_gradient + (size_t)row * ACTIONS;
  softmax whole = softmax_of(own, acquired);
  float base = whole.largest + log(whole.sum), entropy = entropy_of(own, acquired, whole);
  float chance = own[min(taken, ACTIONS - 1u)] - base, gap = value[row] - target[place];
  float2 loss = surrogate(chance, log_prob[place], advantage[place], clip);
  for (uint line = 0u; line < ACTIONS; line++) {
    bool is_free = acquired[line] == 0.0f;
    float part = is_free ? own[line] - base : 0.0f, p = is_free ? exp(part) : 0.0f;
    float by_chance = (line == taken ? 1.0f : 0.0f) - p;
    slope[line] = share * (loss.y * by_chance + entropy_weight * p * (part + entropy));
  }
  value_gradient[row] = share * value_weight * 2.0f * gap;
  terms[first + row] = (float4)(loss.x, entropy, gap * gap, chance - log_prob[place]);
}

/* Rewards of every step less the mean of the scans that share a slice, times `scale`: `members` scans, `stride`
 * apart. */
__kernel void group_centre(__global const float *restrict reward, __global float *restrict centred, uint steps,
                           uint members, uint stride, float scale, uint rows) {
  uint row = (uint)get_global_id(0), block = members * stride;
  if (row >= rows) return;
  uint first = row / block * block + row % stride;
  for (uint step = 0u; step < steps; step++) {
    __global const float *own = reward + (size_t)step * rows;
    float mean = 0.0f;
    for (uint member = 0u; member < members; member++) mean += own[first + member * stride] / (float)members;
    centred[(size_t)step * rows + row] = scale * (own[row] - mean);
  }
}

/* Generalised advantages (Schulman et al. 2016) of one scan after another, from the last of `steps` steps
 * back to the first; what stands at [step][row]. done: a scan ended with this step, and nothing after it
 * counts. last_value: of what follows the last step. Without a critic they are discounted sums of rewards. */
__kernel void policy_advantage(__global const float *restrict reward, __global const float *restrict value,
                               __global const uint *restrict done, __global const float *restrict last_value,
                               __global float *restrict advantage, __global float *restrict target,
                               uint steps, float gamma, float lambda, uint critic, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float next = critic ? last_value[row] : 0.0f, sum = 0.0f;
  for (uint step = steps; step > 0u; step--) {
    uint place = (step - 1u) * rows + row;
    float keep = done[place] ? 0.0f : gamma, estimate = critic ? value[place] : 0.0f;
    sum = reward[place] + keep * next - estimate + keep * lambda * sum;
    advantage[place] = sum;
    next = estimate;
    target[place] = sum + next;
  }
}

/* Advantages of an update to mean 0 and deviation 1 (divisor count - 1), as stable-baselines3 does; a single
 * one stays as it is. One update a group: `most` rows of the order, the last one what is left of `total`. The
 * same numbers give the same sums in however many passes the update is computed. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
policy_normalise(__global const uint *restrict order, __global const float *restrict advantage,
                 __global float *restrict normalised, uint total, uint most, uint rows) {
  __local float scratch[GROUP];
  uint row = (uint)get_group_id(0), item = (uint)get_local_id(0);
  if (row >= rows) return;
  uint first = row * most, count = min(most, total - first);
  float sum = 0.0f, square = 0.0f;
  for (uint i = item; i < count; i += GROUP) sum += advantage[order[first + i]];
  float mean = count > 1u ? group_sum(sum, scratch) / (float)count : 0.0f;
  for (uint i = item; i < count; i += GROUP) {
    float off = advantage[order[first + i]] - mean;
    square += off * off;
  }
  float deviation = sqrt(group_sum(square, scratch) / (float)max(count - 1u, 1u)) + 1e-8f;
  float scale = count > 1u ? 1.0f / deviation : 1.0f;
  for (uint i = item; i < count; i += GROUP) {
    uint place = order[first + i];
    normalised[place] = (advantage[place] - mean) * scale;
  }
}

/* REINFORCE (systems/methods/trajectories.h). Draws are [step][draw][slice], images those of which they are, of slices in parts of
 * `each` [part][step][draw][slice]: while the draws of a slice share its state, in every step or in the first one only, one image
 * stands for all of them. The gradient of the sum over an image's draws of minus advantage times log-probability. terms: that
 * sum, entropy. */
__kernel void policy_reinforce(__global const float *restrict logits, __global const float *restrict mask,
                               __global const uint *restrict action, __global const float *restrict advantage,
                               __global float *restrict logits_gradient, __global float2 *restrict terms,
                               uint first, uint slices, uint each, uint draws, uint steps, uint shared, uint rows) {
  uint row = (uint)get_global_id(0), image = first + row, states = shared ? steps : 1u + (steps - 1u) * draws;
  if (row >= rows) return;
  uint before = image / (each * states) * each, size = min(each, slices - before), within = image - before * states;
  bool many = shared || within < size;
  uint set = shared ? within / size * draws : many ? 0u : draws - 1u + within / size; /* of a draw of all slices */
  uint place = set * slices + before + within % size;
  uint count = many ? draws : 1u;
  __global const float *own = logits + (size_t)row * ACTIONS, *acquired = mask + (size_t)row * ACTIONS;
  __global float *slope = logits_gradient + (size_t)row * ACTIONS;
  softmax whole = softmax_of(own, acquired);
  float base = whole.largest + log(whole.sum), total = 0.0f, loss = 0.0f;
  for (uint i = 0u; i < count; i++) total += advantage[place + i * slices];
  for (uint line = 0u; line < ACTIONS; line++)
    slope[line] = acquired[line] == 0.0f ? total * exp(own[line] - base) : 0.0f;
  for (uint i = 0u; i < count; i++) {
    uint taken = min(action[place + i * slices], ACTIONS - 1u);
    slope[taken] -= advantage[place + i * slices];
    loss -= advantage[place + i * slices] * (own[taken] - base);
  }
  terms[image] = (float2)(loss, entropy_of(own, acquired, whole));
}
