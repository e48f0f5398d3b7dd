/* A random agent on 64 scans side by side, and the mean SSIM that its masks reach:
 *
 *   cc random_agent.c -o random_agent $(pkg-config --cflags --libs l2sr) && ./random_agent SCENE DATA */
#include <l2sr.h>
#include <stdio.h>
#include <stdlib.h>

static void check(enum l2sr_code code) {
  if (code == L2SR_GOOD) return;
  fprintf(stderr, "random_agent: %s\n", l2sr_last_error());
  exit(1);
}

int main(int count, char **words) {
  if (count != 3) return fprintf(stderr, "write: random_agent SCENE DATA\n"), 2;
  enum { ENVS = 64, SCANS = 2 };
  struct l2sr_config config = {.bytes = sizeof config,
                               .scene = words[1],
                               .data = words[2],
                               .envs = ENVS,
                               .autoreset = L2SR_RESET_SAME_STEP};
  struct l2sr_facts facts = {.bytes = sizeof facts};
  const void *done, *ssim;
  double sum = 0;
  l2sr_env *env;
  check(l2sr_env_open(&config, &env));
  check(l2sr_env_facts(env, &facts));
  check(l2sr_env_pin(env, L2SR_DONE, &done));
  check(l2sr_env_pin(env, L2SR_SSIM, &ssim));
  check(l2sr_env_reset(env, NULL, NULL));
  for (uint32_t step = 0; step < SCANS * facts.budget; step++) {
    check(l2sr_env_decide(env, "random")); /* on the device; or give actions of your own to l2sr_env_step */
    check(l2sr_env_step(env, NULL));
    for (int i = 0; i < ENVS; i++)
      if (((const uint32_t *)done)[i]) sum += ((const float *)ssim)[i];
  }
  printf("%u actions of %u, %d scans on %s: mean SSIM %.4f\n", facts.initial + facts.budget, facts.actions,
         ENVS * SCANS, facts.device, sum / (ENVS * SCANS));
  check(l2sr_env_close(env));
}
