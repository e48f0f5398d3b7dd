#include "systems/methods/lists.h"

#include "systems/methods/alternate.h"
#include "systems/methods/evaluate.h"
#include "systems/scan/systems.h"
#include "systems/scan/transform.h"

static const struct system *const scan_systems[] = {&system_restart,
                                                    &system_reset,
                                                    &system_repeat_steps,
                                                    &system_decide_draw,
                                                    &system_decide_next,
                                                    &system_decide_disc,
                                                    &system_decide_exact,
                                                    &system_decide_oracle,
                                                    &system_decide_points,
                                                    &system_decide_points_sequence,
                                                    &system_order_lines,
                                                    &system_decide_sequence,
                                                    &system_repeat_policy,
                                                    &system_encode_policy,
                                                    &system_forward_policy,
                                                    &system_act,
                                                    &system_estimate,
                                                    &system_repeat_states,
                                                    &system_encode_reconstruction,
                                                    &system_keep_state,
                                                    &system_act_draws,
                                                    &system_spread,
                                                    &system_follow,
                                                    &system_acquire,
                                                    &system_observe,
                                                    &system_observe_cells,
                                                    &system_observe_coils,
                                                    &system_reconstruct,
                                                    &system_repeat_reconstructor,
                                                    &system_encode,
                                                    &system_encode_complex,
                                                    &system_forward_reconstructor,
                                                    &system_restore,
                                                    &system_score_ssim,
                                                    &system_score_ssim_uniform,
                                                    &system_score_error,
                                                    &system_reward,
                                                    &system_record,
                                                    &system_expand,
                                                    &system_extend,
                                                    &system_weigh,
                                                    NULL};

static const struct system *const load_systems[] = {&system_normalise_slices, &system_transform_lines,
                                                    &system_transform_planes, &system_load_coils,
                                                    &system_scale_coils,      NULL};

const struct system *const *const system_groups[] = {load_systems,      scan_systems,   feed_systems,
                                                     train_systems,     loupe_systems,  tau_systems,
                                                     rollout_systems,   learn_systems,  trajectories_systems,
                                                     pgmri_systems,     NULL};

static void put(struct lists *lists, const char *stage, const char *name, const char *when,
                const struct schedule *schedule) {
  REQUIRE(lists->count < LISTS_MOST, "a scene has at most %d lists", LISTS_MOST);
  if (schedule->count) lists->list[lists->count++] = (struct list){stage, name, when, schedule};
}

/* by_policy: its masks are a policy's. */
static bool add_training(struct lists *lists, const struct options *options, const char *stage, bool by_policy,
                         struct arena *arena, struct error *error) {
  struct training *training = ARENA_NEW(arena, struct training, 1);
  struct schedule *masks = ARENA_NEW(arena, struct schedule, 1);
  if (!training_describe(training, options, by_policy, error)) return false;
  schedule_open(masks, &component_schema);
  feed_add_masks(&training->train, masks);
  if (!schedule_close(masks, false, error)) return false;
  put(lists, stage, "masks", "before every epoch", masks);
  put(lists, stage, "update", "for every minibatch", &training->update);
  put(lists, stage, "validation masks", "after every epoch", &training->draw);
  put(lists, stage, "validate", "for every part of the validation data", &training->validate);
  return true;
}

static bool add_policy(struct lists *lists, const struct options *options, struct arena *arena,
                       struct error *error) {
  struct learning *learning = ARENA_NEW(arena, struct learning, 1);
  struct schedule *play = ARENA_NEW(arena, struct schedule, 1);
  if (!learn_describe(learning, options, play, error)) return false;
  put(lists, "policy", "play", "for every rollout", play);
  put(lists, "policy", "update", "after every rollout", &learning->update);
  put(lists, "policy", "validate", "one scan of every validation slice, by the most probable actions",
      &learning->train.simulation.scan);
  return true;
}

static bool add_pgmri(struct lists *lists, const struct options *options, struct arena *arena,
                      struct error *error) {
  struct pgmri *pgmri = ARENA_NEW(arena, struct pgmri, 1);
  struct schedule *play = ARENA_NEW(arena, struct schedule, 1);
  if (!pgmri_describe(pgmri, options, play, error)) return false;
  put(lists, "policy", "play", "for every update", play);
  put(lists, "policy", "update", "after every play", &pgmri->update);
  put(lists, "policy", "validate", "one scan of every validation slice", &pgmri->validation.simulation.scan);
  return true;
}

static bool add_stages(struct lists *lists, const struct options *options, struct arena *arena,
                       struct error *error) {
  bool first = !*options->learn.reconstructor, pgmri = options->train.method == METHOD_PGMRI;
  if (first && !add_training(lists, options, "reconstructor", false, arena, error)) return false;
  return (pgmri ? add_pgmri : add_policy)(lists, options, arena, error) &&
         (options->train.method != METHOD_L2SR ||
          add_training(lists, options, "reconstructor again", true, arena, error));
}

static bool add_evaluation(struct lists *lists, const struct options *options, struct arena *arena,
                           struct error *error) {
  struct simulation *simulation = ARENA_NEW(arena, struct simulation, 1);
  if (!evaluate_describe(simulation, options, error)) return false;
  put(lists, "evaluate", "scan", "for as many slices as there are environments", &simulation->scan);
  return true;
}

bool lists_make(struct lists *lists, const struct options *options, struct arena *arena, struct error *error) {
  *lists = (struct lists){0};
  return (alternate_takes(options) ? add_stages(lists, options, arena, error)
                                   : add_training(lists, options, "train", false, arena, error)) &&
         add_evaluation(lists, options, arena, error);
}

bool lists_columns(const struct options *options, struct arena *arena, component_set *columns,
                   struct error *error) {
  struct simulation *simulation = ARENA_NEW(arena, struct simulation, 1);
  if (!evaluate_describe(simulation, options, error)) return false;
  *columns = load_columns(options) | simulation->scan.touched;
  return true;
}
