/* Keeps what a step produced in the step's rows of ROLLOUT: actions, rewards and metrics, never images. */
#include "systems/scan/systems.h"

/* The columns beside the metrics; those that policies learn from are kept for them only
 * (add_record in systems/scan/simulation_lists.c). */
#define RECORD_ROWS(X) X(action, 0) X(reward, 0) X(slice, 0) X(log_prob, 0) X(value, 0) X(done, 0)

static const struct {
  unsigned env, rollout;
#define X(name, ...) {ENV_##name, ROLLOUT_##name},
} pairs[] = {RECORD_ROWS(X) METRIC_ROWS(X)};
#undef X

/* Copies every pair that this list of systems computes: its row in the list (add_record) reads and writes no others. */
static void run_record(struct world *world, void *context) {
  const struct simulation *simulation = context;
  size_t rows = world_rows(world, TABLE_ENV);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (!world_reads(world, pairs[i].env)) continue;
    struct arg from = world_in(world, pairs[i].env), to = world_part(world, pairs[i].rollout);
    size_t bytes = world_column_bytes(world, pairs[i].env);
    device_copy(world_device(world), from.as.m, 0, to.as.m, simulation->rollout_row * bytes, rows * bytes);
  }
}

const struct system system_record = {
    .name = "record",
    .doc = "keep what the step chose and was worth in ROLLOUT",
#define X(name, ...) | SET(ENV_##name)
    .reads = 0 RECORD_ROWS(X) METRIC_ROWS(X),
#undef X
#define X(name, ...) | SET(ROLLOUT_##name)
    .parts = 0 RECORD_ROWS(X) METRIC_ROWS(X),
#undef X
    .run = run_record};

/* Images stay in host memory for who scores them there. */
static void run_hand_over(struct world *world, void *context) {
  const struct simulation *simulation = context;
  size_t rows = world_rows(world, TABLE_ENV), bytes = world_column_bytes(world, ENV_reconstruction);
  struct arg images = world_in(world, ENV_reconstruction);
  if (simulation->rollout_row < simulation->handed.first) return;
  char *to = (char *)simulation->handed.images + (simulation->rollout_row - simulation->handed.first) * bytes;
  device_fetch(world_device(world), images.as.m, 0, rows * bytes, to);
}

const struct system system_hand_over = {.name = "hand_over",
                                        .doc = "reconstructions to the host, which scores them",
                                        .reads = SET(ENV_reconstruction),
                                        .run = run_hand_over};
