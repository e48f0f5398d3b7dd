"""Scans for stable-baselines3, and for sb3-contrib's MaskablePPO."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common import vec_env

from ._config import Path
from .vector import VectorEnv

Indices = Optional[Union[int, Iterable[int]]]


class VecEnv(vec_env.VecEnv):
    """stable-baselines3's VecEnv of `num_envs` scans; takes the arguments of l2sr.VectorEnv.

    Scans that end begin anew in the same step: their `info` has "terminal_observation", "TimeLimit.truncated" (False:
    the budget is a part of the task), "slice" and the metrics. `seed` seeds all scans at the next reset.
    """

    def __init__(self, scene: Path | Mapping[str, Any] | None = None, num_envs: int = 1, **arguments: Any) -> None:
        for name in ("autoreset_mode", "copy", "convert"):
            if name in arguments:
                raise ValueError(f"{name} is not for stable-baselines3, whose scans restart at once and whose arrays are "
                                 "copies; leave it out")
        self.vector = VectorEnv(scene, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **arguments)
        super().__init__(num_envs, self.vector.single_observation_space, self.vector.single_action_space)

    def reset(self) -> Any:
        seen, _ = self.vector.reset(seed=self._seeds[0])
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return seen

    def step_async(self, actions: np.ndarray[Any, Any]) -> None:
        self.vector.step_async(actions)

    def step_wait(self) -> tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any], list[dict[str, Any]]]:
        seen, reward, ended, _, info = self.vector.step_wait()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(ended):
            last = info["final_info"]
            infos[row] = {name: values[row] for name, values in last.items() if not name.startswith("_")}
            infos[row].update({"terminal_observation": info["final_obs"][row], "TimeLimit.truncated": False})
        return seen, reward, ended, infos

    def action_masks(self) -> np.ndarray[Any, Any]:
        """Free actions, [num_envs, actions] bool."""
        return self.vector.action_masks()

    def close(self) -> None:
        self.vector.close()

    # ---- attributes of one environment -----------------------------------------------------------------------

    def _rows(self, indices: Indices) -> list[int]:
        return list(self._get_indices(indices))

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        if attr_name == "action_masks":
            return [self.action_masks for _ in self._rows(indices)]
        return [getattr(self.vector, attr_name) for _ in self._rows(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        if len(self._rows(indices)) != self.num_envs:
            raise ValueError(f"{attr_name} is of all scans; set it without indices")
        setattr(self.vector, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any) -> list[Any]:
        """Of methods that give a row a scan: those rows."""
        rows = getattr(self.vector, method_name)(*method_args, **method_kwargs)
        return [rows[row] for row in self._rows(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Indices = None) -> list[bool]:
        return [False for _ in self._rows(indices)]

    def get_images(self) -> list[Any]:
        return list(self.vector.render() or ())
