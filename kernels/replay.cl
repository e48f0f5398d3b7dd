/* A replay and what is learned from it (systems/replay/ddqn.h). It is a table of steps of scans, [step][column]:
 * a column is a scan, blocks of columns are scans that ran side by side. Rows are drawn from it, in any order. */

/* With probability epsilon the action becomes one of the free ones, all alike. together: one draw, that of the first scan,
 * decides for all scans. */
__kernel void replay_explore(__global const uint *restrict scan, __global const uint *restrict step,
                             __global const uchar *restrict mask, __global uint *restrict action, float epsilon,
                             uint seed, uint together, uint rows) {
  uint row = (uint)get_global_id(0), from = together ? 0u : row, count = 0u;
  if (row >= rows) return;
  uint drawn = random_words(seed, STREAM_ACTION, scan[from], step[from]).y;
  if ((float)(drawn >> 8) * 0x1p-24f >= epsilon) return;
  __global const uchar *own = mask + (size_t)row * ACTIONS;
  for (uint line = 0u; line < ACTIONS; line++) count += own[line] ? 0u : 1u;
  uint left = mul_hi(random_words(seed, STREAM_ACTION, scan[row], step[row]).z, count);
  for (uint line = 0u; line < ACTIONS; line++)
    if (!own[line] && left-- == 0u) action[row] = line;
}

/* The input of a data-set-specific network: 1 at the number of actions so far, which is place / divisor. */
__kernel void replay_steps(__global const uint *restrict place, __global float *restrict steps, uint first,
                           uint divisor, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint taken = place[first + row] / divisor;
  for (uint i = 0u; i < ACTIONS; i++) steps[(size_t)row * ACTIONS + i] = i == taken ? 1.0f : 0.0f;
}

/* Draws rows uniformly: of `whole` columns all `steps` steps, those of the block of `scans` columns from `running` on left
 * out, and of that block the first `running_steps`. after: the row `ahead` steps later, at most the scan's last. Numbers
 * of (seed, stream of replays, update, row). */
__kernel void replay_draw(__global uint *restrict drawn, __global uint *restrict after, uint seed, uint update,
                          uint columns, uint steps, uint whole, uint running, uint scans, uint running_steps,
                          uint ahead, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint valid = whole * steps + scans * running_steps;
  uint number = mul_hi(random_words(seed, STREAM_REPLAY, update, row).x, valid), step, column;
  if (number < whole * steps) {
    step = number / whole;
    column = number % whole;
    column += column >= running ? scans : 0u;
  } else {
    step = (number - whole * steps) / scans;
    column = running + (number - whole * steps) % scans;
  }
  drawn[row] = step * columns + column;
  after[row] = min(step + ahead, steps - 1u) * columns + column;
}

/* Of every `chunk` rows, the last of which may be fewer: the sum of priorities, how many were not looked at yet (0), the
 * largest and the smallest of the others, 0 where there are none. Rows below 0 hold nothing. */
__kernel void replay_sums(__global const float *restrict priority, __global float4 *restrict sums, uint chunk,
                          uint total, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  float4 all = (float4)(0.0f);
  for (uint i = row * chunk; i < min(total, (row + 1u) * chunk); i++) {
    float own = priority[i];
    if (own == 0.0f) all.y += 1.0f;
    if (own <= 0.0f) continue;
    all = (float4)(all.x + own, all.y, fmax(all.z, own), all.w == 0.0f ? own : fmin(all.w, own));
  }
  sums[row] = all;
}

/* Draws rows by their priorities, one of each of `rows` equal parts of their sum; rows that were not looked at yet count
 * as the largest. weight: (smallest / own)^exponent, so that the largest is 1 (Schaul et al. 2016). */
__kernel void replay_pick(__global const float4 *restrict sums, __global const float *restrict priority,
                          __global uint *restrict drawn, __global uint *restrict after,
                          __global float *restrict weight, uint seed, uint update, uint chunk, uint chunks,
                          uint total, uint columns, uint steps, uint ahead, float exponent, uint rows) {
  uint row = (uint)get_global_id(0), place = 0u, at = 0u;
  if (row >= rows) return;
  float most = 0.0f, least = INFINITY, sum = 0.0f, passed = 0.0f, chosen = 1.0f;
  for (uint i = 0u; i < chunks; i++) most = fmax(most, sums[i].z);
  for (uint i = 0u; i < chunks; i++) least = sums[i].w > 0.0f ? fmin(least, sums[i].w) : least;
  if (most == 0.0f) most = least = 1.0f;
  for (uint i = 0u; i < chunks; i++) sum += sums[i].x + sums[i].y * most;
  float part = (float)(random_words(seed, STREAM_REPLAY, update, row).x >> 8) * 0x1p-24f;
  float left = ((float)row + part) / (float)rows * sum;
  for (; at + 1u < chunks; at++) {
    float own = sums[at].x + sums[at].y * most;
    if (passed + own > left) break;
    passed += own;
  }
  for (uint i = at * chunk; i < min(total, (at + 1u) * chunk); i++) {
    float own = priority[i] == 0.0f ? most : priority[i];
    if (own < 0.0f) continue;
    place = i;
    chosen = own;
    passed += own;
    if (passed > left) break;
  }
  drawn[row] = place;
  after[row] = min(place / columns + ahead, steps - 1u) * columns + place % columns;
  weight[row] = pow(least / chosen, exponent);
}

/* What rows first, first + 1 ... of an update should be worth: the discounted rewards of `ahead` steps, and where the scan
 * goes on after them what the target network says of the action that was chosen there. */
__kernel void replay_target(__global const uint *restrict drawn, __global const float *restrict reward,
                            __global const float *restrict logits, __global const uint *restrict action,
                            __global float *restrict target, uint first, uint columns, uint steps, uint ahead,
                            float gamma, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint place = drawn[first + row], left = steps - place / columns;
  float sum = 0.0f, factor = 1.0f;
  for (uint i = 0u; i < min(ahead, left); i++, factor *= gamma) sum += factor * reward[place + i * columns];
  if (ahead < left) sum += factor * logits[(size_t)row * ACTIONS + min(action[row], ACTIONS - 1u)];
  target[first + row] = sum;
}

/* Huber's loss (1964) of the value of the action that was taken, and its gradient by the values of all actions, times
 * share. weighted: by `weight`. terms: loss, absolute error, value, target. The row's priority becomes
 * (absolute error + 1e-6)^exponent. */
__kernel void replay_loss(__global const uint *restrict drawn, __global const float *restrict logits,
                          __global const uint *restrict action, __global const float *restrict target,
                          __global const float *restrict weight, __global float *restrict logits_gradient,
                          __global float4 *restrict terms, __global float *restrict priority, uint first, float share,
                          float width, uint weighted, float exponent, uint rows) {
  uint row = (uint)get_global_id(0);
  if (row >= rows) return;
  uint place = drawn[first + row], taken = min(action[place], ACTIONS - 1u);
  float value = logits[(size_t)row * ACTIONS + taken], error = value - target[first + row], size = fabs(error);
  float factor = weighted ? weight[first + row] : 1.0f, loss = size < width ? 0.5f * error * error : width * (size - 0.5f * width);
  __global float *slope = logits_gradient + (size_t)row * ACTIONS;
  for (uint line = 0u; line < ACTIONS; line++)
    slope[line] = line == taken ? share * factor * clamp(error, -width, width) : 0.0f;
  terms[first + row] = (float4)(factor * loss, size, value, target[first + row]);
  priority[place] = pow(size + 1e-6f, exponent);
}
