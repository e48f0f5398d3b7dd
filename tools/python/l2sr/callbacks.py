"""A program's own functions in scans: images of what is acquired, and numbers of images."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, Union

import numpy as np

from . import _binding as binding
from . import _plugin as plugin
from . import _values as values
from ._arrays import Array
from ._plugin import Batch
from ._signals import keep, outside

Function = Callable[[Batch], Any]
_KEPT = 32  # arrays of a few sizes of batches
Given = Union["Callbacks", str, "os.PathLike[str]", None]


class Callbacks:
    """Functions of the program's own, for scenes whose reconstruct.method or reward.metric is callback.

    Args:
        reconstruct: gets a `Batch` and returns images [scans, height, width]; None: there is none.
        metric: gets a `Batch` and returns a number a scan, more is better; None: there is none.
        convert: a function, as torch.from_dlpack, that makes another library's tensors of the batch's arrays, without a copy;
            None: they are numpy's.
        cuda: the arrays lie in CUDA's memory, on NVIDIA's devices alone; wants `convert`. What the functions start there
            is waited for.
        name: whose they are, in texts of errors; None: "the program".

    A function is called with network.batch scans at most. What it raises comes out of the call that was at work, and ends
    environments: they can only be closed then. Numbers that are not finite, and arrays of other shapes, are errors too.
    """

    def __init__(
        self,
        reconstruct: Function | None = None,
        metric: Function | None = None,
        *,
        convert: Callable[[Array], Any] | None = None,
        cuda: bool = False,
        name: str | None = None,
    ) -> None:
        for what, function in (("reconstruct", reconstruct), ("metric", metric), ("convert", convert)):
            values.function(what, function)
        self._convert, self._cuda = convert, values.truth("cuda", cuda)
        if self._cuda and convert is None:
            raise ValueError("cuda wants tensors of a library that knows CUDA; give convert, as torch.from_dlpack")
        self.name = "the program" if name is None else name
        self._made: dict[tuple[Any, ...], Any] = {}  # tensors of the memory that is the same in every call
        functions = {"reconstruct": reconstruct, "metric": metric}
        self._calls = {what: self._call(what, one) for what, one in functions.items() if one is not None}

    def structure(self) -> binding.Callbacks:
        """For the library, as long as this lives."""
        return binding.Callbacks(
            name=values.name_bytes("name", self.name), place=binding.PLACES.index("cuda" if self._cuda else "host"), **self._calls
        )

    def _call(self, what: str, function: Function) -> Any:
        def call(batch: Any, _context: object) -> int:
            given = batch.contents
            try:
                with outside():
                    plugin.run(what, function, self._batch(what, given))
            except BaseException as error:  # noqa: B902: the library's code must not be left by it
                keep(error)
                text = plugin.text_of(error).encode("utf-8", "backslashreplace")[: binding.FAULT - 1]
                ctypes.memmove(given.fault, text + b"\0", len(text) + 1)
                return 1
            return 0

        return binding.CALLBACK(call)

    def _array(self, given: Any, address: int, kind: Any, axes: tuple[str, ...]) -> Any:
        shape = tuple(getattr(given, axis) for axis in axes)
        key = (address, given.device, shape, kind)
        made = self._made.get(key)
        if made is None:
            if len(self._made) >= _KEPT:
                self._made.clear()
            array = Array(address, shape, kind, None, given.device if self._cuda else None, True)
            made = np.asarray(array) if self._convert is None else self._convert(array)
            self._made[key] = made
        return made[...]

    def _batch(self, what: str, given: Any) -> Batch:
        arrays = {}
        for name, (kind, axes) in plugin.GIVEN.items():
            if getattr(given, name):
                arrays[name] = self._array(given, getattr(given, name), kind, axes)
        result = self._array(given, given.result, np.float32, plugin.RESULTS[what])
        scans = given.scans
        facts: dict[str, Callable[[], Any]] = {
            "slice": lambda: np.array(given.slice[:scans], np.int64),
            "path": lambda: [os.fsdecode(path) for path in given.path[:scans]],
            "number": lambda: np.array(given.number[:scans], np.int64),
        }
        return Batch(arrays, result, scans, facts)


def callbacks_of(given: Given) -> Callbacks | None:
    """What callers give: functions, or the path of a file that defines reconstruct, metric or both."""
    if given is None or isinstance(given, Callbacks):
        return given
    if not values.is_path(given):
        raise TypeError(f"callbacks is {values.kind(given)}; give l2sr.Callbacks, or the path of a Python file")
    path = os.fsdecode(given)
    functions = plugin.load(path)
    if not functions:
        raise ValueError(f"{path} defines neither reconstruct(batch) nor metric(batch)")
    return Callbacks(**functions, name=path)
