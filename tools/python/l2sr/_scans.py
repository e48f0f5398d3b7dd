"""Scans side by side: a handle of the library, its arrays, and its calls."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import _binding as binding
from . import _values as values
from ._arrays import Array
from ._binding import check, library
from ._signals import Calls, raise_kept

_REFUSED = re.compile(r"(environment (\d+) cannot take action )\d+")


class Handle:
    """Open environments of the library. Arrays hold it too, so that it is closed when the last of them is gone."""

    def __init__(self, config: binding.Config) -> None:
        self.value = ctypes.c_void_p()
        self._process = os.getpid()
        with Calls(opens=True):
            check(library.l2sr_env_open(ctypes.byref(config), ctypes.byref(self.value)), config)

    def __reduce__(self) -> NoReturn:
        raise TypeError("open environments cannot be copied; save() and restore() take their state to others")

    def __del__(self, close: Any = library.l2sr_env_close, process: Any = os.getpid) -> None:
        if self.value and self._process == process():
            close(self.value)


class Scans:
    """Environments by the names and units of `l2sr.h`. VectorEnv is made of it."""

    def __init__(self, config: binding.Config, keep: Sequence[Any] = ()) -> None:
        self._open: Handle | None = Handle(config)
        del keep  # it lived while the configuration was read
        facts = binding.Facts()
        check(library.l2sr_env_facts(self.value, ctypes.byref(facts)))
        self.facts = {name: getattr(facts, name) for name, *_ in facts._fields_ if name != "bytes"}
        for name in ("device", "geometry"):
            self.facts[name] = binding.text_of(self.facts[name])
        self._arrays: dict[tuple[str, str], Array] = {}
        self._actions = np.zeros(self.facts["envs"], np.uint32)
        self._actions_address = self._actions.ctypes.data
        self._wanted = f"one whole number an environment, {self._actions.shape}"
        self._given = self._actions
        self.under_way = False
        self.sent: np.ndarray[Any, Any] | None = None  # the actions that a program has given to the last step

    @property
    def handle(self) -> Handle:
        if self._open is None:
            raise RuntimeError("these environments are closed")
        return self._open

    @property
    def value(self) -> ctypes.c_void_p:
        return self.handle.value

    @property
    def closed(self) -> bool:
        return self._open is None

    def close(self) -> None:
        with Calls():  # what a handler raises while the handle is closed must not end in its __del__
            self._arrays = {}
            self._open = None

    # ---- steps -------------------------------------------------------------------------------------------------

    def reset(self, mask: np.ndarray[Any, Any] | None = None, seed: int | None = None) -> None:
        which = None if mask is None else np.ascontiguousarray(mask, np.uint8)
        number = None if seed is None else ctypes.byref(ctypes.c_uint32(seed))
        with Calls():
            check(library.l2sr_env_reset(self.value, None if which is None else which.ctypes.data, number))
        self.facts["seed"] = self.facts["seed"] if seed is None else seed

    def _plain(self, actions: Any) -> np.ndarray[Any, Any]:
        given = values.array("actions", actions, self._wanted)
        if given.shape == (*self._actions.shape, 1):
            given = given[:, 0]
        if given.shape != self._actions.shape:
            raise ValueError(f"actions have shape {given.shape} and type {given.dtype}; expected {self._wanted}")
        return given

    def _take(self, actions: Any) -> int:
        """The address of the actions as the library's numbers; what is no such number becomes one that is no action."""
        plain = type(actions) is np.ndarray and actions.dtype.isnative and actions.shape == self._actions.shape
        given = actions if plain else self._plain(actions)
        if given.dtype.kind not in "iu":
            raise ValueError(f"actions have shape {given.shape} and type {given.dtype}; expected {self._wanted}")
        self._given = given
        np.copyto(self._actions, given, casting="unsafe")
        if given.dtype.itemsize > 4:
            wide = np.ascontiguousarray(given).view(np.uint32)[1::2]  # little-endian: every device of the library is
            if wide.any():
                self._actions[wide != 0] = 0xFFFFFFFF
        elif given.dtype.kind == "i":
            self._actions[given < 0] = 0xFFFFFFFF
        return self._actions_address

    def send(self, actions: Any) -> None:
        """Starts a step; None takes the actions that `decide` chose."""
        address = None if actions is None else self._take(actions)
        before, self.under_way = self.under_way, True  # before it is, for a signal's handler may raise in between
        code = library.l2sr_env_send(self.value, address)
        if code:
            self.under_way = before
        else:
            self.sent = None if actions is None else self._actions
        check(code)

    def wait(self) -> None:
        code = library.l2sr_env_wait(self.value)
        self.under_way = False
        if code and self.sent is not None:
            raise_kept(self._with_given(binding.error_of(code)))
        check(code)

    def _with_given(self, error: Exception) -> Exception:
        """Names the action that was given, as -1, of which the library has got 32 bits."""
        found = _REFUSED.match(str(error))
        return type(error)(f"{found[1]}{self._given[int(found[2])]}{str(error)[found.end():]}") if found else error

    def settle(self) -> np.ndarray[Any, Any]:
        """Waits for what an interrupted call may have left under way; gives the slices of the scans that run then."""
        library.l2sr_env_wait(self.value)
        self.under_way = False
        return self.read("slice")

    def decide(self, sampler: str) -> None:
        with Calls():
            check(library.l2sr_env_decide(self.value, values.name_bytes("sampler", sampler)))

    def play(self, sampler: str, steps: int) -> None:
        name = values.name_bytes("sampler", sampler)
        before, self.under_way = self.under_way, True
        code = library.l2sr_env_play(self.value, name, steps)
        if code:
            self.under_way = before
        self.sent = None
        check(code)

    # ---- arrays ------------------------------------------------------------------------------------------------

    def shape(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Asks for the array, which is computed from then on."""
        shape = binding.Shape()
        check(library.l2sr_env_shape(self.value, binding.choice("array", name, binding.ARRAYS), ctypes.byref(shape)))
        return tuple(shape.extent[: shape.rank]), np.dtype(binding.ELEMENTS[shape.element])

    def pin(self, name: str) -> Array:
        """The array in pinned host memory, which every reset and step renews."""
        if ("host", name) not in self._arrays:
            shape, dtype = self.shape(name)
            address = ctypes.c_void_p()
            check(library.l2sr_env_pin(self.value, binding.ARRAYS.index(name), ctypes.byref(address)))
            self._arrays["host", name] = Array(address.value or 0, shape, dtype, self.handle)
        return self._arrays["host", name]

    def cuda(self, name: str) -> Array:
        """The array in memory that CUDA sees too: the array itself, or its copy where it has more than 510 MiB."""
        if ("cuda", name) not in self._arrays:
            shape, dtype = self.shape(name)
            address, device = ctypes.c_uint64(), ctypes.c_int()
            array = binding.ARRAYS.index(name)
            check(library.l2sr_env_cuda(self.value, array, ctypes.byref(address), ctypes.byref(device)))
            self._arrays["cuda", name] = Array(address.value, shape, dtype, self.handle, device.value)
        return self._arrays["cuda", name]

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """A copy of the array as it is now."""
        values = np.empty(*self.shape(name))
        check(library.l2sr_env_read(self.value, binding.ARRAYS.index(name), values.ctypes.data, values.nbytes))
        return values

    # ---- what is made of the running scans -----------------------------------------------------------------------

    def reconstruct(self) -> np.ndarray[Any, Any]:
        check(library.l2sr_env_reconstruct(self.value))
        return self.read("reconstruction")

    def score(self) -> None:
        check(library.l2sr_env_score(self.value))

    def slice(self, number: int) -> tuple[str, int]:
        """The path of a slice's volume, and its number there."""
        path, inside = ctypes.c_char_p(), ctypes.c_size_t()
        number = values.whole("slice", number, 0, self.facts["slices"] - 1)
        check(library.l2sr_env_slice(self.value, number, ctypes.byref(path), ctypes.byref(inside)))
        return os.fsdecode(path.value or b""), inside.value

    def save(self) -> bytes:
        size = ctypes.c_size_t()
        check(library.l2sr_env_save(self.value, None, 0, ctypes.byref(size)))
        state = ctypes.create_string_buffer(size.value)
        check(library.l2sr_env_save(self.value, state, size, ctypes.byref(size)))
        return state.raw

    def restore(self, state: bytes) -> None:
        try:
            state = bytes(memoryview(state))
        except TypeError:
            raise TypeError(f"the state is {values.kind(state)}; give the bytes that save() has given") from None
        check(library.l2sr_env_restore(self.value, state, len(state)))

    def draw(self, name: str, row: int, path: str | os.PathLike[str]) -> None:
        array = binding.choice("array", name, binding.ARRAYS)
        row = values.whole("row", row, 0, self.facts["envs"] - 1)
        check(library.l2sr_env_draw(self.value, array, row, values.path_bytes("path", path)))
