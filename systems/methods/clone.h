/* A policy imitates a teacher before it learns from rewards (learn.clone, PROTOCOL 1.7). The first rollouts of its first
 * stage are the teacher's: the policy sees the states that the teacher visits, the teacher decides, and an update lowers
 * the cross-entropy of its choices. They stand in ROLLOUT as any; a choice of the teacher has advantage 1, so that the
 * policy's loss is the cross-entropy. Where the critic alone is measured against, it learns the returns of these scans,
 * with its weight; else it does not learn. */
#ifndef L2SR_SYSTEMS_CLONE_H
#define L2SR_SYSTEMS_CLONE_H

#include "systems/methods/rollout.h"

struct learning;
struct trainer_config;

struct clone {
  uint64_t rollouts; /* of the teacher, before those of the policy */
  struct schedule play, update;
  struct policy_update before; /* of the rollout, while the teacher decides */
  size_t members;
};

/* Refuses a mask without an order that the scene's scans can follow. */
bool clone_check(const struct options *options, struct error *error);
/* Rollouts of the teacher in the first round, of `rows` steps each. */
uint64_t clone_rollouts(const struct options *options, uint64_t rows);
/* What its simulation has room for beside the policy's. */
void clone_plan(const struct options *options, struct simulation_plan *plan);
/* Builds its lists over the learning's rollout; they point into both. */
bool clone_build(struct learning *learning, struct error *error);
/* After clone_build: the kernels, the teacher's order, and how long it teaches. */
bool clone_open(struct learning *learning, const struct trainer_config *config, struct error *error);

/* Whether the unit that is next is the teacher's; before and after it. */
bool clone_teaches(const struct learning *learning);
void clone_begin(struct learning *learning);
void clone_end(struct learning *learning);

extern const struct system *const clone_systems[];

#endif
