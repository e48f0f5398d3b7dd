/* The systems of environments that a program steps; their context is the struct env. */
#ifndef L2SR_SYSTEMS_ENV_SYSTEMS_H
#define L2SR_SYSTEMS_ENV_SYSTEMS_H

#include "engine/ecs/system.h"

extern const struct system system_env_place, system_env_check, system_env_take, system_env_ended,
    system_env_begin, system_env_reward, system_env_quality, system_env_keep_scores, system_env_clear_scores,
    system_env_free, system_env_standardise, system_env_target, system_env_final_observation,
    system_env_final_standardised, system_env_final_free, system_env_final_target, system_env_final_acquired,
    system_env_final_reconstruction, system_env_label, system_env_final_label, system_env_kspace, system_env_maps;
extern const struct system *const env_systems[]; /* all of them, ended by NULL */

#endif
