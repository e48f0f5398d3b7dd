"""Scans for stable-baselines3, and for sb3-contrib's MaskablePPO."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Optional, Union

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common import vec_env

from . import _values as values
from ._config import Scene
from .vector import VectorEnv

Indices = Optional[Union[int, Iterable[int]]]


# What is of one environment, by its name in Gymnasium; VectorEnv has it of all under that name.
_SINGLE = {"observation_space": "single_observation_space", "action_space": "single_action_space"}


def _masks(vector: VectorEnv, rows: list[int]) -> list[Any]:
    masks = vector.action_masks()
    return [masks[row] for row in rows]


def _pictures(vector: VectorEnv, rows: list[int]) -> list[Any]:
    pictures = vector.render()
    return [None if pictures is None else pictures[row] for row in rows]


def _arrays(vector: VectorEnv, rows: list[int], name: str) -> list[Any]:
    array = vector.scans.read(name)
    return [array[row] for row in rows]


def _slices(vector: VectorEnv, rows: list[int], number: int) -> list[Any]:
    found = vector.slice(number)
    return [found for _ in rows]


def _resets(vector: VectorEnv, rows: list[int], *, seed: None = None, options: None = None) -> list[Any]:
    if seed is not None or options:
        raise ValueError("one seed is of all scans: call env.seed(number) and env.reset()")
    mask = np.zeros(vector.num_envs, np.bool_)
    mask[rows] = True
    seen, info = vector.reset(options=None if mask.all() else {"reset_mask": mask})
    parts = seen.items() if isinstance(seen, dict) else ()
    return [
        ({name: part[row] for name, part in parts} if parts else seen[row], {"action_mask": info["action_mask"][row]})
        for row in rows
    ]


_METHODS: dict[str, Callable[..., list[Any]]] = {
    "action_masks": _masks,
    "render": _pictures,
    "array": _arrays,
    "slice": _slices,
    "reset": _resets,
}


class VecEnv(vec_env.VecEnv):
    """stable-baselines3's VecEnv of `num_envs` scans; takes the arguments of l2sr.VectorEnv.

    Scans that end begin anew in the same step: their `info` has "terminal_observation", "TimeLimit.truncated" (False:
    the budget is a part of the task), "slice" and the metrics. `seed` seeds all scans at the next reset.
    """

    def __init__(self, scene: Scene = None, num_envs: int = 1, **arguments: Any) -> None:
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
            named = [name for name in last if not name.startswith("_") and last.get(f"_{name}", ended)[row]]
            infos[row] = {name: last[name][row] for name in named}
            infos[row].update({"terminal_observation": info["final_obs"][row], "TimeLimit.truncated": False})
        for row in np.flatnonzero(info.get("_action", False)):
            infos[row]["action"] = info["action"][row]
        return seen, reward, ended, infos

    def action_masks(self) -> np.ndarray[Any, Any]:
        """Free actions, [num_envs, actions] bool."""
        return self.vector.action_masks()

    def close(self) -> None:
        self.vector.close()

    # ---- attributes of one environment -----------------------------------------------------------------------

    def _rows(self, indices: Indices) -> list[int]:
        """Numbers of environments; negative ones count from the end, as those of a list do."""
        given = self._get_indices(int(indices) if isinstance(indices, (int, np.integer)) else indices)
        rows = [values.whole("an index", row, -self.num_envs, self.num_envs - 1) for row in given]
        return [row % self.num_envs for row in rows]

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """What one environment has: its spaces, its part of methods that have one (`env_method`), or what is of all."""
        rows = self._rows(indices)
        name = _SINGLE.get(attr_name, attr_name)
        if name in _METHODS:
            return [functools.partial(self._call, row, name) for row in rows]
        found = getattr(self.vector, name)
        if callable(found):
            raise ValueError(f"{name} is of all environments at once; call env.vector.{name}")
        return [found for _ in rows]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        rows = self._rows(indices)
        if attr_name in _SINGLE or callable(getattr(self.vector, attr_name, None)):
            raise ValueError(f"{attr_name} cannot be set: it belongs to what the environments are")
        if sorted(set(rows)) != list(range(self.num_envs)):
            raise ValueError(f"{attr_name} is of all scans; set it without indices")
        setattr(self.vector, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any) -> list[Any]:
        """One result an environment: of "action_masks", "render" and "array" its row, of "reset" what it sees and its info
        ("reset" begins the next scans of these environments alone), of "slice" the same for each."""
        rows = self._rows(indices)
        if method_name not in _METHODS:
            if not hasattr(self.vector, method_name):
                raise AttributeError(f"scans have no method {method_name}")
            raise ValueError(
                f"{method_name} has no result of one environment; call env.vector.{method_name}, or one of "
                f"{', '.join(_METHODS)}"
            )
        return _METHODS[method_name](self.vector, rows, *method_args, **method_kwargs) if rows else []

    def _call(self, row: int, name: str, *arguments: Any, **named: Any) -> Any:
        return self.env_method(name, *arguments, indices=row, **named)[0]

    def env_is_wrapped(self, wrapper_class: Any, indices: Indices = None) -> list[bool]:
        return [False for _ in self._rows(indices)]

    def get_images(self) -> list[Any]:
        return list(self.vector.render() or [None] * self.num_envs)
