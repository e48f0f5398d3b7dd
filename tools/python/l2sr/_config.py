"""What the functions of this package take, as the library's `struct l2sr_config`."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np

from . import _binding as binding
from . import _values as values
from ._values import Path
from .callbacks import Given, callbacks_of

Scene = Union[Path, Mapping[str, Any], None]
Overrides = Union[Mapping[str, Any], Iterable[str], None]
Data = Any  # a path, or an array of any library
_DATA = (
    "a folder of files, or an array (or tensor, data set of h5py, list of arrays): images [count, height, width] or complex "
    "k-space [count, coils, height, width], or a list of such volumes"
)


def _plain(value: Any) -> Any:
    """Values of numpy and of paths as Python's own, for JSON and texts."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if values.is_array(value) and hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it has {values.kind(value)}; give numbers, texts, truth values, paths or lists of these")


def _value(key: str, value: Any) -> str:
    """As `--set` of the program takes it."""
    if isinstance(value, (np.generic, os.PathLike)) or not isinstance(value, (bool, int, float, str, list, tuple)):
        try:
            value = _plain(value)
        except TypeError:
            raise TypeError(
                f"override {key} is {values.kind(value)}; give a number, a text, a truth value, a path or a list of these"
            ) from None
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_value(key, one) for one in value)}]"
    if isinstance(value, bool):
        return json.dumps(value)
    try:
        return str(value)
    except ValueError:  # Python writes whole numbers of some thousand digits at most
        raise ValueError(f"override {key} is a number of too many digits; give a smaller one") from None


def _flat(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings may hold values, or sections of values."""
    flat: dict[str, Any] = {}
    for name, value in overrides.items():
        if isinstance(value, Mapping) and value:
            flat.update({f"{name}.{key}": one for key, one in value.items()})
        else:  # the library knows whether there is such a section
            flat[name] = "{}" if isinstance(value, Mapping) else value
    return flat


def _lines(overrides: Overrides) -> list[bytes]:
    """"section.key=value" of each."""
    if overrides is None:
        return []
    if isinstance(overrides, Mapping):
        return [values.name_bytes("an override", f"{key}={_value(key, one)}") for key, one in _flat(overrides).items()]
    if isinstance(overrides, (str, bytes)) or not isinstance(overrides, Iterable):
        what = f"the text {overrides!r}" if isinstance(overrides, str) else values.kind(overrides)
        raise ValueError(f"overrides is {what}; give a list of texts 'section.key=value' or a dictionary")
    return [values.name_bytes("an override", line) for line in overrides]


def names_seed(scene: Scene, config: binding.Config) -> bool:
    """Whether the caller says world.seed, other than in a file."""
    own = isinstance(scene, Mapping) and "seed" in (scene.get("world") or {})
    return own or any(config.overrides[k].startswith(b"world.seed=") for k in range(config.override_count))


def _rank(array: np.ndarray[Any, Any]) -> int:
    """Of slices: of k-space with coils, or of images."""
    return 4 if np.iscomplexobj(array) else 3


def _check_values(array: np.ndarray[Any, Any]) -> None:
    bad = [number for number, one in enumerate(array) if not np.isfinite(one).all()]
    if bad:
        raise ValueError(
            f"data has values that are not finite (NaN, infinite, or beyond what float32 holds) in {len(bad)} of {len(array)} "
            f"slices, the first of which is slice {bad[0]}; leave these out, or put numbers in their place"
        )


def _array(data: Any, what: str = "data") -> np.ndarray[Any, Any]:
    found = values.array(what, data, _DATA)
    if found.ndim != _rank(found):
        wanted = "[count, coils, height, width] of complex k-space" if np.iscomplexobj(found) else "[count, height, width] of images"
        raise ValueError(f"{what} has shape {found.shape}; expected {wanted}")
    if 0 in found.shape:
        raise ValueError(f"{what} has shape {found.shape}; expected at least one in every direction")
    return found


def _is_complex(one: Any) -> bool:
    return "complex" in str(getattr(one, "dtype", ""))


def _is_volume(one: Any) -> bool:
    """An array of slices in place of one slice, of which lists may be made too."""
    return len(getattr(one, "shape", ())) == (4 if _is_complex(one) else 3)


def _joined(volumes: Sequence[Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The slices of all volumes, and of each the number of its volume."""
    arrays = [_array(one, f"data[{number}]") for number, one in enumerate(volumes)]
    for number, one in enumerate(arrays):
        if one.shape[1:] != arrays[0].shape[1:]:
            raise ValueError(
                f"data[{number}] has slices of shape {one.shape[1:]}, and data[0] of {arrays[0].shape[1:]}; give volumes of one "
                "shape, or a folder of files, which may differ"
            )
    return np.concatenate(arrays), np.repeat(np.arange(len(arrays)), [len(one) for one in arrays])


def _slices_of(data: Any) -> tuple[np.ndarray[Any, Any], Any]:
    """An array of slices; of a list of volumes the numbers of their slices' volumes, too."""
    listed = isinstance(data, (list, tuple)) and bool(data)
    if listed and all(values.is_path(one) for one in data):
        raise TypeError("data is a list of paths; give the folder that holds the files in train, val and test, or arrays")
    if listed and any(map(_is_complex, data)) and not all(map(_is_complex, data)):
        raise ValueError("data is a list of real and of complex arrays; give images alone, or k-space alone")
    found, numbers = _joined(data) if listed and all(map(_is_volume, data)) else (_array(data), None)
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(found, np.complex64 if np.iscomplexobj(found) else np.float32)
    _check_values(array)
    return array, numbers


def _numbers(volumes: Any, count: int) -> np.ndarray[Any, Any]:
    wanted = f"one whole number from 0 to {2**32 - 1} a slice, {(count,)}"
    given = values.array("volumes", volumes, wanted)
    numbered = given.dtype.kind in "iuf" and ((given % 1 == 0) & (given >= 0) & (given < 2**32)).all()
    if given.shape != (count,) or not numbered:
        raise ValueError(f"volumes has shape {given.shape} and type {given.dtype}; expected {wanted}")
    return np.ascontiguousarray(given, np.uint32)


def _labels(labels: Any, count: int) -> np.ndarray[Any, Any]:
    wanted = f"one finite number a slice, {(count,)}"
    given = values.array("labels", labels, wanted)
    if given.shape != (count,) or given.dtype.kind not in "biuf" or not np.isfinite(given).all():
        raise ValueError(f"labels has shape {given.shape} and type {given.dtype}; expected {wanted}")
    return np.ascontiguousarray(given, np.float32)


def _slices(data: Any, volumes: Any, labels: Any) -> tuple[binding.Slices, list[Any]]:
    """Images, or complex k-space; and what must outlive them."""
    array, numbers = _slices_of(data)
    volumes = numbers if volumes is None else volumes
    k_space = array.ndim == 4
    slices = binding.Slices(
        values=array.ctypes.data,
        count=array.shape[0],
        coils=array.shape[1] if k_space else 0,
        height=array.shape[-2],
        width=array.shape[-1],
    )
    keep = [array]
    for name, value, make in (("volume", volumes, _numbers), ("label", labels, _labels)):
        if value is not None:
            keep.append(make(value, array.shape[0]))
            setattr(slices, name, keep[-1].ctypes.data)
    return slices, keep


def _text(scene: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(scene), default=_plain, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the scene is no dictionary of sections of values: {error}") from None


def _set_scene(config: binding.Config, scene: Scene) -> None:
    if isinstance(scene, Mapping):
        config.text = values.name_bytes("the scene", _text(scene))
    elif scene is None or values.is_path(scene):
        config.scene = values.path_bytes("scene", scene)
    else:
        raise TypeError(f"scene is {values.kind(scene)}; it must be a path, the name of a scene, or a dictionary of sections")


def _set_data(config: binding.Config, data: Data, volumes: Any, labels: Any) -> list[Any]:
    if data is None or values.is_path(data):
        if volumes is not None:
            raise ValueError("volumes numbers the slices of an array; give data as one")
        if labels is not None:
            raise ValueError("labels are those of an array's slices; give data as one, or data.label and data.labels of the scene")
        config.data = values.path_bytes("data", data)
        return []
    slices, keep = _slices(data, volumes, labels)
    config.slices = ctypes.pointer(slices)
    return keep


def _device(device: Any) -> bytes | None:
    if device is not None and not isinstance(device, str):
        raise ValueError(
            f"device is {values.kind(device)}; it must be a text: a name, a kind, or a place as '0', as `l2sr info` lists them"
        )
    return None if device is None else values.name_bytes("device", device)


def make_config(
    scene: Scene,
    *,
    device: str | None,
    data: Data,
    overrides: Overrides,
    volumes: Any = None,
    labels: Any = None,
    metrics: str | Sequence[str] | None = None,
    reconstructor: Path | None = None,
    policy: Path | None = None,
    split: str | None = None,
    samplers: str | Sequence[str] | None = None,
    callbacks: Given = None,
) -> tuple[binding.Config, list[Any]]:
    """The structure, and what must live as long as it is read."""
    lines = [] if split is None else [b"data.split=" + values.name_bytes("split", split)]
    if samplers is not None:
        lines.append(b"evaluate.samplers=[" + values.names_bytes("samplers", samplers) + b"]")
    lines += _lines(overrides)
    config = binding.Config(
        overrides=(ctypes.c_char_p * len(lines))(*lines),
        override_count=len(lines),
        device=_device(device),
        reconstructor=values.path_bytes("reconstructor", reconstructor),
        policy=values.path_bytes("policy", policy),
    )
    _set_scene(config, scene)
    if metrics is not None:
        config.metrics = values.names_bytes("metrics", metrics)
    keep = _set_data(config, data, volumes, labels)
    functions = callbacks_of(callbacks)
    if functions is not None:
        config.callbacks = ctypes.pointer(functions.structure())
        keep.append(functions)  # which the library calls as long as it has something open
    binding.check_program()
    return config, keep
