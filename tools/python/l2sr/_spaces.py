"""Gymnasium's spaces of scans."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from gymnasium import spaces


def batch_box(box: spaces.Box, count: int) -> spaces.Box:
    """batch_space(box, count), with bounds that take no memory: those of 4096 images would take a gigabyte."""
    batch = spaces.Box(box.low.flat[0], box.high.flat[0], (1,) * (box.low.ndim + 1), box.dtype.type)
    shape = (count, *box.shape)
    batch._shape = shape
    for name in ("low", "high", "bounded_below", "bounded_above"):
        setattr(batch, name, np.broadcast_to(getattr(batch, name), shape))
    return batch


class Action(spaces.Discrete):
    """The actions of a scan: every one is contained, but samples are free ones, so that random agents and checkers can
    take them. Copies are plain spaces, which know of no scan."""

    def __init__(self, count: int, environments: Any) -> None:
        super().__init__(count)
        self._environments = weakref.ref(environments)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        free = None if mask is not None or probability is not None else _free(self._environments())
        return super().sample(mask if free is None else free[0].astype(np.int8), probability)

    def __reduce__(self) -> Any:
        return spaces.Discrete, (int(self.n),)


class Actions(spaces.MultiDiscrete):
    """The same of scans side by side."""

    def __init__(self, counts: Any, environments: Any) -> None:
        super().__init__(counts)
        self._environments = weakref.ref(environments)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        free = None if mask is not None or probability is not None else _free(self._environments())
        if free is None:
            return super().sample(mask, probability)
        return ((1 - self.np_random.random(free.shape)) * free).argmax(1)

    def __reduce__(self) -> Any:
        return spaces.MultiDiscrete, (np.array(self.nvec),)


def _free(environments: Any) -> np.ndarray[Any, Any] | None:
    """Of scans that run, with a free action each; None: there are none such."""
    if environments is None or not environments.runs():
        return None
    free: np.ndarray[Any, Any] = environments.action_masks()
    return free if free.any(1).all() else None
