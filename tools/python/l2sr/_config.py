"""What the functions of this package take, as the library's `struct l2sr_config`."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from . import _binding as binding

Path = Union[str, "os.PathLike[str]"]
Overrides = Union[Mapping[str, Any], Sequence[str], None]
Data = Union[Path, "np.ndarray[Any, Any]", None]


def _value(value: Any) -> str:
    """As `--set` of the program takes it."""
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_value(one) for one in value)}]"
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _lines(overrides: Overrides) -> list[bytes]:
    """"section.key=value" of each; mappings may hold values, or sections of values."""
    if overrides is None:
        return []
    if not isinstance(overrides, Mapping):
        if isinstance(overrides, str):
            raise ValueError(f"overrides is the text {overrides!r}; give a list of texts or a dictionary")
        return [binding.name_bytes("an override", line) for line in overrides]
    flat: dict[str, Any] = {}
    for name, value in overrides.items():
        section = isinstance(value, Mapping)
        flat.update({f"{name}.{key}": one for key, one in value.items()} if section else {name: value})
    return [binding.name_bytes("an override", f"{key}={_value(value)}") for key, value in flat.items()]


def _list(what: str, names: str | Sequence[str]) -> bytes:
    """Names with commas between, or a list of them."""
    return b",".join(binding.name_bytes(what, name) for name in ([names] if isinstance(names, str) else names))


def _slices(data: np.ndarray[Any, Any], volumes: Any) -> tuple[binding.Slices, list[Any]]:
    """Images [count, height, width], or complex k-space [count, coils, height, width]; and what must outlive them."""
    k_space = np.iscomplexobj(data)
    rank = 4 if k_space else 3
    if data.ndim != rank:
        wanted = "[count, coils, height, width] of complex k-space" if k_space else "[count, height, width] of images"
        raise ValueError(f"data has shape {data.shape}; expected {wanted}")
    if 0 in data.shape:
        raise ValueError(f"data has shape {data.shape}; expected at least one in every direction")
    values = np.ascontiguousarray(data, np.complex64 if k_space else np.float32)
    slices = binding.Slices(
        values=values.ctypes.data,
        count=data.shape[0],
        coils=data.shape[1] if k_space else 0,
        height=data.shape[-2],
        width=data.shape[-1],
    )
    if volumes is None:
        return slices, [values]
    given = np.asarray(volumes)
    numbered = given.dtype.kind in "iuf" and ((given % 1 == 0) & (given >= 0) & (given < 2**32)).all()
    if given.shape != data.shape[:1] or not numbered:
        raise ValueError(
            f"volumes has shape {given.shape} and type {given.dtype}; expected one whole number from 0 to {2**32 - 1} a "
            f"slice, {data.shape[:1]}"
        )
    numbers = np.ascontiguousarray(given, np.uint32)
    slices.volume = numbers.ctypes.data
    return slices, [values, numbers]


def make_config(
    scene: Path | Mapping[str, Any] | None,
    *,
    device: str | None,
    data: Data,
    overrides: Overrides,
    volumes: Any = None,
    metrics: str | Sequence[str] | None = None,
    reconstructor: Path | None = None,
    policy: Path | None = None,
    split: str | None = None,
    samplers: str | Sequence[str] | None = None,
) -> tuple[binding.Config, list[Any]]:
    """The structure, and what must live as long as it is read."""
    lines = [b"data.split=" + binding.name_bytes("split", split)] if split else []
    if samplers is not None:
        lines.append(b"evaluate.samplers=[" + _list("samplers", samplers) + b"]")
    lines += _lines(overrides)
    keep: list[Any] = []
    config = binding.Config(
        overrides=(ctypes.c_char_p * len(lines))(*lines),
        override_count=len(lines),
        device=None if device is None else binding.name_bytes("device", device),
        reconstructor=binding.path_bytes(reconstructor),
        policy=binding.path_bytes(policy),
    )
    if isinstance(scene, Mapping):
        config.text = json.dumps(scene).encode()
    else:
        config.scene = binding.path_bytes(scene)
    if metrics is not None:
        config.metrics = _list("metrics", metrics)
    if isinstance(data, np.ndarray):
        slices, keep = _slices(data, volumes)
        config.slices = ctypes.pointer(slices)
    elif volumes is not None:
        raise ValueError("volumes numbers the slices of an array; give data as one")
    else:
        config.data = binding.path_bytes(data)
    return config, keep
