"""Functions of a program's own in scans, as `l2sr.Callbacks` calls them, and as the child of `l2sr --plugin FILE.py` does.

The child is this file alone, run by the python3 that has the file's packages: it wants numpy, and nothing of l2sr.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit(f"{sys.executable} has no numpy, which plugins need: install it there, or set L2SR_PYTHON to the python3 that has it")

GIVEN = {
    "observation": (np.float32, ("scans", "height", "width")),
    "acquired": (np.uint8, ("scans", "actions")),
    "kspace": (np.complex64, ("scans", "coils", "height", "width")),
    "maps": (np.complex64, ("scans", "coils", "height", "width")),
    "image": (np.float32, ("scans", "height", "width")),
    "target": (np.float32, ("scans", "height", "width")),
    "label": (np.float32, ("scans",)),
}
RESULTS = {"reconstruct": ("scans", "height", "width"), "metric": ("scans",)}


class Batch:
    """Scans that a function is called for. Arrays last as long as the call: what is to stay must be copied.

    reconstruct gets `observation` [scans, height, width] (the zero-filled magnitude, in units of the image) and `acquired`
    [scans, actions] (1: acquired); where the scene's reconstruct.input is kspace or maps also `kspace` [scans, coils, height,
    width] (complex, zero frequency in the middle, 0 where nothing is acquired), and of maps `maps` (coil sensitivities).
    metric gets `image` and `target` [scans, height, width], and of scenes with data.label `label` [scans], those of the scans'
    slices. What a function does not get is None.

    `slice` [scans], `path` and `number` say which slice of the data each scan is of, the path of its volume and its number
    there. `result` is where the values go: a function returns them, or writes them
    there and returns None.
    """

    def __init__(self, arrays: dict[str, Any], result: Any, scans: int, facts: dict[str, Callable[[], Any]]) -> None:
        self.observation = arrays.get("observation")
        self.acquired = arrays.get("acquired")
        self.kspace = arrays.get("kspace")
        self.maps = arrays.get("maps")
        self.image = arrays.get("image")
        self.target = arrays.get("target")
        self.label = arrays.get("label")
        self.result = result
        self._scans, self._facts = scans, facts  # made when they are asked for: of many scans they take longer than the rest of a call

    @property
    def slice(self) -> Any:
        return self._facts["slice"]()

    @property
    def path(self) -> Any:
        return self._facts["path"]()

    @property
    def number(self) -> Any:
        return self._facts["number"]()

    def __len__(self) -> int:
        return self._scans


def _values_of(what: str, returned: Any, shape: tuple[int, ...]) -> Any:
    """What was returned, where it is numbers of the shape."""
    values = returned if hasattr(returned, "dtype") else np.asarray(returned)
    found, kind = tuple(values.shape), str(values.dtype)
    if found != shape:
        raise ValueError(f"{what} returned shape {found}; expected {shape}, " + ("an image" if len(shape) > 1 else "a number") + " a scan")
    if "float" not in kind:
        raise TypeError(f"{what} returned type {kind}; expected float32")
    return values.detach() if hasattr(values, "detach") else values


def run(what: str, function: Callable[[Batch], Any], batch: Batch) -> None:
    """Calls it, and puts what it returns into the result, whose numbers it must all give."""
    batch.result[...] = np.nan
    returned = function(batch)
    if returned is None and bool((batch.result != batch.result).all()):
        raise TypeError(f"{what} returned None, and wrote nothing into batch.result; return the values, or write them there")
    if returned is None or returned is batch.result:
        return
    values = _values_of(what, returned, tuple(batch.result.shape))
    if isinstance(batch.result, np.ndarray):
        values = np.asarray(values.cpu() if hasattr(values, "cpu") else values)
    elif type(values) is not type(batch.result):
        raise TypeError(f"{what} returned {type(values).__name__}; expected {type(batch.result).__name__}, as its batch has")
    batch.result[...] = values


def load(path: str) -> dict[str, Any]:
    """The functions that a file defines."""
    spec = importlib.util.spec_from_file_location("l2sr_plugin", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = {name: getattr(module, name) for name in RESULTS if hasattr(module, name)}
    for name, one in found.items():
        if not callable(one):
            raise TypeError(f"{name} in {path} is {type(one).__name__}; it must be a function of a batch")
    return found


# ---- the child -----------------------------------------------------------------------------------------------------


class Child:
    """Answers the program's lines: each names a function, the sizes of a batch, and where its arrays lie in shared memory."""

    def __init__(self, functions: dict[str, Any], memory: int) -> None:
        self.functions, self.memory = functions, memory
        self.view: Any = None

    def array(self, ask: dict[str, Any], name: str, kind: Any, axes: Sequence[str]) -> np.ndarray[Any, Any]:
        shape = [ask[axis] for axis in axes]
        count = int(np.prod(shape))
        return np.frombuffer(self.view, kind, count, ask["at"][name]).reshape(shape)

    def answer(self, ask: dict[str, Any]) -> None:
        if self.view is None or len(self.view) != ask["bytes"]:
            self.view = mmap.mmap(self.memory, ask["bytes"])
        arrays = {name: self.array(ask, name, *GIVEN[name]) for name in ask["at"] if name in GIVEN}
        result = self.array(ask, "result", np.float32, RESULTS[ask["what"]])
        facts: dict[str, Callable[[], Any]] = {
            "slice": lambda: np.array(ask["slice"], np.int64),
            "path": lambda: list(ask["path"]),
            "number": lambda: np.array(ask["number"], np.int64),
        }
        batch = Batch(arrays, result, ask["scans"], facts)
        run(ask["what"], self.functions[ask["what"]], batch)


FAULT = 1024  # bytes of a text, of which the last is a zero


def text_of(error: BaseException) -> str:
    """One line: what was raised, and the last place in a file, which the child's text is not."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.exists(frame.filename)]
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    text = "".join(traceback.format_exception_only(type(error), error)).strip().replace("\n", "; ")
    room = max(0, FAULT - 1 - len(place.encode("utf-8", "backslashreplace")))
    return text.encode("utf-8", "backslashreplace")[:room].decode("utf-8", "ignore") + place


def end_with_parent() -> None:
    """Ends this process when the program that started it has ended, in the middle of a function too (Linux: PR_SET_PDEATHSIG)."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main(path: str, line: int, memory: int) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program's: where it ends, the lines do
    os.dup2(2, 1)  # standard output is the program's
    lines = socket.socket(fileno=line).makefile("rw", encoding="utf-8")

    def reply(**answer: Any) -> None:
        lines.write(json.dumps(answer) + "\n")
        lines.flush()

    try:
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        functions = load(path)
    except BaseException as error:  # noqa: B902: told by the program
        traceback.print_exc()
        missing = "; install it there, or set L2SR_PYTHON to the Python that has it" if isinstance(error, ImportError) else ""
        return reply(fault=text_of(error) + missing)
    child = Child(functions, memory)
    reply(functions=list(functions))
    for ask in lines:
        try:
            child.answer(json.loads(ask))
            reply()
        except BaseException as error:  # noqa: B902: told by the program
            traceback.print_exc()
            reply(fault=text_of(error))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
