"""What callers give, as plain values: taken where the meaning is plain, else refused by a text that says what to pass."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

import numpy as np

Path = Union[str, bytes, "os.PathLike[str]"]


def kind(value: Any) -> str:
    """A value in a text: itself where it is short, else its type."""
    try:
        text = repr(value)
    except Exception:  # a whole number of thousands of digits; a class of others
        return f"of type {type(value).__name__}"
    return text if len(text) <= 80 and "\n" not in text else f"of type {type(value).__name__}"


def whole(what: str, value: Any, low: int, high: int) -> int:
    try:
        number = operator.index(_one(value))
    except TypeError:
        raise TypeError(f"{what} is {kind(value)}; it must be a whole number from {low} to {high}") from None
    if not low <= number <= high:
        raise ValueError(f"{what} is {kind(number)}; it must be from {low} to {high}")
    return number


def truth(what: str, value: Any) -> bool:
    one = _one(value)
    if isinstance(one, (bool, np.bool_)) or (isinstance(one, (int, np.integer)) and one in (0, 1)):
        return bool(one)
    raise TypeError(f"{what} is {kind(value)}; it must be True or False")


def choice(what: str, value: Any, choices: Iterable[str]) -> str:
    words = tuple(choices)
    if isinstance(value, str) and value in words:
        return str(value)
    raise ValueError(f"{what} is {kind(value)}; it must be one of {', '.join(words)}")


def _encoded(what: str, value: Any) -> bytes:
    try:
        return os.fsencode(value)
    except UnicodeEncodeError as error:
        odd, encoding = ascii(error.object[error.start]), error.encoding
    raise ValueError(f"{what} is {kind(value)}, which has the character {odd}; it must be a text that {encoding} has")


def name_bytes(what: str, value: Any) -> bytes:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{what} is {kind(value)}; it must be a text without zero bytes")
    return _encoded(what, value)


def names_bytes(what: str, names: Any) -> bytes:
    """A text with commas between names, or several texts."""
    if isinstance(names, (bytes, Mapping)) or not isinstance(names, Iterable):
        raise ValueError(f"{what} is {kind(names)}; give a text, as 'a,b', or a list of texts")
    return b",".join(name_bytes(what, name) for name in ([names] if isinstance(names, str) else names))


def is_path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def path_bytes(what: str, path: Any) -> bytes | None:
    if path is None:
        return None
    if not is_path(path):
        raise TypeError(f"{what} is {kind(path)}; it must be a path: a text or a pathlib.Path")
    name = _encoded(what, path)
    if b"\0" in name:
        raise ValueError(f"{what} is {path!r}, which is no path: it has a zero byte")
    return name


def function(what: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise TypeError(f"{what} is {kind(value)}; it must be a function")


# ---- arrays ------------------------------------------------------------------------------------------------------


def is_array(value: Any) -> bool:
    """An array of any library, or a sequence that becomes one."""
    return isinstance(value, (list, tuple, np.generic)) or any(
        hasattr(value, name) for name in ("__array__", "__array_interface__", "__dlpack__")
    )


def _one(value: Any) -> Any:
    """The number in an array or a tensor of no dimension."""
    return value.item() if is_array(value) and hasattr(value, "item") and getattr(value, "shape", None) == () else value


def _is_masked(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_masked(one) for one in value)
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.getmaskarray(value).any())


def _host(value: Any) -> Any:
    """A tensor of PyTorch as numpy takes it: on the host, without gradient, conjugated in memory."""
    if isinstance(value, (list, tuple)):
        return [_host(one) for one in value]
    if not hasattr(value, "detach"):
        has_numpys = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
        return np.from_dlpack(value) if hasattr(value, "__dlpack__") and not has_numpys else value
    value = value.detach().cpu()
    for step in ("resolve_conj", "resolve_neg"):
        value = getattr(value, step, lambda same=value: same)()
    try:
        return value.numpy()
    except TypeError:  # a type that numpy does not have, as bfloat16
        return value.float().numpy()


def array(what: str, value: Any, wanted: str) -> np.ndarray[Any, Any]:
    """A plain array of numbers of arrays, tensors, data sets of h5py, and lists of these. `wanted`: in words, for texts."""
    if not is_array(value) and not isinstance(value, (int, float, complex)):
        raise TypeError(f"{what} is {kind(value)}; expected {wanted}")
    if _is_masked(value):
        raise ValueError(
            f"{what} has masked values, and a mask would be lost; give a plain array, as {what}.filled(0), of what is meant"
        )
    try:
        found = np.asarray(_host(value))
    except Exception as error:
        raise TypeError(f"{what} is no array of numbers ({error}); expected {wanted}") from error
    if found.dtype.kind not in "biufc":
        raise TypeError(f"{what} has shape {found.shape} and type {found.dtype}; expected {wanted}")
    return found.astype(found.dtype.newbyteorder("="), copy=False)
