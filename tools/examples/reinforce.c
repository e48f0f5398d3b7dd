/* REINFORCE (Williams 1992) against the library: a policy that is linear in the acquired lines learns which
 * lines to acquire next, on slices that the program makes, with one reward at the end of each scan.
 *
 *   cc reinforce.c -o reinforce $(pkg-config --cflags --libs l2sr) -lm && ./reinforce */
#include <l2sr.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 32, SLICES = 8, ENVS = 256, UPDATES = 60, STEPS = 6 };

/* The logit of action a is bias[a] plus weight[k][a] of every acquired line k. */
static struct policy { float bias[N], weight[N][N]; } policy, gradient;

/* What an update remembers of a rollout. */
static struct {
  uint8_t acquired[N];
  float chance[N];
  uint32_t action;
} seen[STEPS][ENVS];

static float image[SLICES][N][N];
static uint64_t state = 1;

static void check(enum l2sr_code code) {
  if (code == L2SR_GOOD) return;
  fprintf(stderr, "reinforce: %s\n", l2sr_last_error());
  exit(1);
}

static float uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (float)(state >> 40) / 0x1p24f;
}

/* Ellipses with stripes: some lines are worth more than others. */
static void make_images(void) {
  for (int s = 0; s < SLICES; s++)
    for (int y = 0; y < N; y++)
      for (int x = 0; x < N; x++) {
        float dx = (float)(x - 16) / (float)(9 + s % 4), dy = (float)(y - 16) / (float)(12 - s % 3);
        image[s][y][x] = dx * dx + dy * dy < 1 ? 0.7f + 0.3f * sinf(0.9f * (float)x + (float)s) : 0.05f;
      }
}

/* Probabilities of the free actions, and one drawn by them. */
static uint32_t choose(const uint8_t *acquired, float *chance) {
  float largest = -INFINITY, sum = 0, left;
  uint32_t last = 0;
  for (int a = 0; a < N; a++) {
    chance[a] = policy.bias[a];
    for (int k = 0; k < N; k++)
      if (acquired[k]) chance[a] += policy.weight[k][a];
    if (!acquired[a] && chance[a] > largest) largest = chance[a];
  }
  for (int a = 0; a < N; a++) sum += chance[a] = acquired[a] ? 0 : expf(chance[a] - largest);
  left = uniform() * sum;
  for (uint32_t a = 0; a < N; a++) {
    if (chance[a] > 0 && left >= 0) last = a;
    left -= chance[a];
    chance[a] /= sum;
  }
  return last;
}

/* The mean reward of a scan of every environment. */
static float play(l2sr_env *env, const uint8_t *acquired, const float *reward) {
  float mean = 0;
  for (int t = 0; t < STEPS; t++) {
    uint32_t actions[ENVS];
    for (int i = 0; i < ENVS; i++) {
      memcpy(seen[t][i].acquired, acquired + i * N, N);
      actions[i] = seen[t][i].action = choose(acquired + i * N, seen[t][i].chance);
    }
    check(l2sr_env_step(env, actions));
  }
  for (int i = 0; i < ENVS; i++) mean += reward[i] / ENVS;
  return mean;
}

/* Advantages: against the mean of the other scans of the slice, over the deviation of all. */
static void find_advantages(const float *reward, const uint32_t *slice, float advantage[ENVS]) {
  float sum[SLICES] = {0}, square = 0;
  int count[SLICES] = {0};
  for (int i = 0; i < ENVS; i++) {
    sum[slice[i]] += reward[i];
    count[slice[i]]++;
  }
  for (int i = 0; i < ENVS; i++) {
    advantage[i] = reward[i] - (sum[slice[i]] - reward[i]) / (float)(count[slice[i]] - 1);
    square += advantage[i] * advantage[i] / ENVS;
  }
  for (int i = 0; i < ENVS; i++) advantage[i] /= sqrtf(square) + 1e-8f;
}

/* Adds the gradient of the logarithm of every action's probability, times the advantage of its scan. */
static void learn(const float *advantage) {
  const float rate = 0.6f;
  memset(&gradient, 0, sizeof gradient);
  for (int t = 0; t < STEPS; t++)
    for (int i = 0; i < ENVS; i++)
      for (uint32_t a = 0; a < N; a++) {
        float slope = advantage[i] * ((a == seen[t][i].action) - seen[t][i].chance[a]) / ENVS;
        gradient.bias[a] += slope;
        for (int k = 0; k < N; k++)
          if (seen[t][i].acquired[k]) gradient.weight[k][a] += slope / N;
      }
  for (int a = 0; a < N; a++) {
    policy.bias[a] += rate * gradient.bias[a];
    for (int k = 0; k < N; k++) policy.weight[k][a] += rate * gradient.weight[k][a];
  }
}

int main(void) {
  static const char *const options[] = {"data.size=32", "acquisition.initial_lines=2",
                                        "acquisition.budget=6"};
  struct l2sr_slices slices = {
      .bytes = sizeof slices, .values = &image[0][0][0], .count = SLICES, .height = N, .width = N};
  struct l2sr_config config = {
      .bytes = sizeof config, .overrides = options, .override_count = 3, .slices = &slices, .envs = ENVS};
  const void *acquired, *reward, *slice;
  float first = 0, mean = 0, advantage[ENVS];
  l2sr_env *env;
  make_images();
  check(l2sr_env_open(&config, &env));
  check(l2sr_env_pin(env, L2SR_ACQUIRED, &acquired));
  check(l2sr_env_pin(env, L2SR_REWARD, &reward));
  check(l2sr_env_pin(env, L2SR_SLICE, &slice));
  for (int update = 0; update < UPDATES; update++) {
    check(l2sr_env_reset(env, NULL, NULL));
    mean = play(env, acquired, reward);
    if (!update) first = mean;
    if (update % 10 == 0) printf("update %d: mean SSIM %.4f\n", update, (double)mean);
    find_advantages(reward, slice, advantage);
    learn(advantage);
  }
  printf("mean SSIM of random masks %.4f, after %d updates %.4f\n", (double)first, UPDATES, (double)mean);
  check(l2sr_env_close(env));
  return mean > first + 0.02f ? 0 : 1;
}
