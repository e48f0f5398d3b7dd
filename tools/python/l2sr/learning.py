"""The program's own trainings and evaluations, as functions."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _binding as binding
from . import _values as values
from ._binding import check, library
from ._config import Data, Overrides, Scene, make_config
from ._signals import Calls, has_kept, keep
from ._values import Path
from .callbacks import Given

Record = Callable[[dict[str, Any]], Any]


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Numbers of the records by their names; NaN where a record has none."""
    numbers = [{name: value for name, value in one.items() if type(value) in (int, float)} for one in records]
    names = dict.fromkeys(name for one in numbers for name in one)
    return {name: np.array([one.get(name, np.nan) for one in numbers], np.float64) for name in names}


def train(
    scene: Scene = None,
    output: Path | None = None,
    *,
    data: Path | None = None,
    device: str | None = None,
    overrides: Overrides = None,
    resume: bool = False,
    record: Record | None = None,
    callbacks: Given = None,
) -> dict[str, Any]:
    """Trains what train.method of the scene names, as `l2sr train`: on the splits train and val of the folder `data`.

    `record` is called with every line of the log, a dictionary. Where it raises, and at KeyboardInterrupt, the training
    leaves a checkpoint and ends with that exception; `resume=True` goes on with it: a policy from that moment, a
    reconstructor from its last whole epoch.

    `callbacks`: `l2sr.Callbacks`, or the path of a Python file that defines their functions, for a scene that names them.

    Returns {"output": the folder with checkpoints and log, "records": this call's lines, "columns": the numbers in them
    as arrays by name}.
    """
    values.function("record", record)
    if data is not None and not values.is_path(data):
        raise ValueError("training reads the splits train and val of a folder; give data as its path, in place of an array")
    config, functions = make_config(scene, device=device, data=data, overrides=overrides, callbacks=callbacks)
    records: list[dict[str, Any]] = []

    def tell(line: bytes) -> None:
        records.append(json.loads(binding.text_of(line)))
        if record is not None:
            with calls.outside():
                record(records[-1])

    def see(line: bytes | None, _context: object) -> int:
        try:
            calls.renew() if line is None else tell(line)
        except BaseException as error:  # noqa: B902: the library's code must not be left by it
            keep(error)
        return has_kept()

    folder = values.path_bytes("output", output)
    goes_on = values.truth("resume", resume)
    with Calls(opens=True) as calls:
        code = library.l2sr_train(ctypes.byref(config), folder, int(goes_on), binding.RECORD(see), None)
        if code != binding.STOPPED:  # else for what is kept
            check(code, config)
    check(code, config)
    del functions  # they lived while the library called them
    return {"output": None if folder is None else os.fsdecode(folder), "records": records, "columns": _columns(records)}


# ---- evaluating --------------------------------------------------------------------------------------------------


def _array(address: int | None, shape: tuple[int, ...], kind: Any) -> np.ndarray[Any, Any] | None:
    """A copy of what a table holds; None where it holds none."""
    if not address:
        return None
    values = np.empty(shape, kind)
    ctypes.memmove(values.ctypes.data, address, values.nbytes)
    return values


def _run(run: binding.Run) -> dict[str, Any]:
    scans, steps = run.scans, run.steps
    texts = {name: binding.text_of(getattr(run, name)) for name in ("sampler", "geometry", "horizon")}
    numbers = {name: getattr(run, name) for name in ("acceleration", "initial", "budget", "actions", "seconds")}
    metrics = {binding.ARRAYS[run.metric[place]]: place for place in range(run.metrics)}
    scores = {name: _array(run.scores[place], (scans, steps + 1), np.float32) for name, place in metrics.items()}
    scored = [name for name, values in scores.items() if values is not None]
    places = {name: metrics[name] for name in scored}
    return {
        **texts,
        **numbers,
        "mean": {name: run.mean[place] for name, place in places.items()},
        "deviation": {name: run.deviation[place] for name, place in places.items()},
        "scores": {name: scores[name] for name in scored},
        "returns": _array(run.returns, (scans,), np.float32),
        "mask": _array(run.mask, (scans, run.actions), np.uint8),
        "action": _array(run.action, (scans, steps), np.uint32),
        "images": _array(run.images, (scans, run.height, run.width), np.float32),
    }


def _slice(table: ctypes.c_void_p, number: int) -> tuple[str, int]:
    path, inside = ctypes.c_char_p(), ctypes.c_size_t()
    check(library.l2sr_table_slice(table, number, ctypes.byref(path), ctypes.byref(inside)))
    return os.fsdecode(path.value or b""), inside.value


def _table(table: ctypes.c_void_p) -> dict[str, Any]:
    runs, slices = ctypes.c_size_t(), ctypes.c_size_t()
    check(library.l2sr_table_size(table, ctypes.byref(runs), ctypes.byref(slices)))
    found = []
    for number in range(runs.value):
        run = binding.Run()
        check(library.l2sr_table_run(table, number, ctypes.byref(run)))
        found.append(_run(run))
    return {"runs": found, "slices": [_slice(table, number) for number in range(slices.value)]}


def evaluate(
    scene: Scene = None,
    *,
    data: Data = None,
    device: str | None = None,
    overrides: Overrides = None,
    volumes: Any = None,
    labels: Any = None,
    samplers: str | Sequence[str] | None = None,
    metrics: str | Sequence[str] | None = None,
    reconstructor: Path | None = None,
    policy: Path | None = None,
    split: str | None = None,
    callbacks: Given = None,
) -> dict[str, Any]:
    """Scans every slice by every sampler at every setting and scores it, as `l2sr evaluate`; writes no files.

    samplers: names, as "random,policy"; None: the scene's. split: of the folder `data`; None: the scene's, "test" unless
    it says another. `data` may be an array, with `volumes` and `labels`, as VectorEnv takes it; `callbacks` are as `train` takes them.

    KeyboardInterrupt ends it after the batch of world.envs scans that is under way.

    Returns {"runs": [...], "slices": [(path, number in the volume)]}. A run is one sampler at one setting: its name and
    numbers; "mean" and "deviation" of each metric at the end of a scan; "scores" of each [scans, steps + 1]; "returns",
    "mask" [scans, actions], "action" [scans, steps], and "images" with the option evaluate.images.
    """
    config, slices = make_config(
        scene,
        device=device,
        data=data,
        overrides=overrides,
        volumes=volumes,
        labels=labels,
        metrics=metrics,
        reconstructor=reconstructor,
        policy=policy,
        split=split,
        samplers=samplers,
        callbacks=callbacks,
    )
    table = ctypes.c_void_p()

    def stop(_context: object) -> int:
        try:
            calls.renew()
        except BaseException as error:  # noqa: B902: the library's code must not be left by it
            keep(error)
        return has_kept()

    try:
        with Calls(opens=True) as calls:
            config.stop = binding.STOP(stop)
            check(library.l2sr_evaluate(ctypes.byref(config), ctypes.byref(table)), config)
        del slices  # they lived while the slices were read
        return _table(table)
    finally:
        if table:
            library.l2sr_table_close(table)
