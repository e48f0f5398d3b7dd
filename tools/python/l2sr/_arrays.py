"""Arrays that other libraries see without a copy, through DLPack and numpy."""

from __future__ import annotations

import atexit
import ctypes
import math
import sys
from typing import Any

import numpy as np

CPU, CUDA = 1, 2  # DLDeviceType
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5}  # DLDataTypeCode
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


class _Legacy(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


# What was given away, by its address: it lives until its new owner calls the deleter.
_given: dict[int, tuple[Any, ...]] = {}
_NAMES = (b"dltensor", b"dltensor_versioned")  # capsules point at these bytes
_python = ctypes.PyDLL(None)  # ctypes.pythonapi is one for all: other packages give its functions other types


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator, unused-ignore]
def _delete(address: int, given: dict[int, tuple[Any, ...]] = _given) -> None:
    given.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator, unused-ignore]
def _delete_capsule(capsule: int, given: Any = _given, names: Any = _NAMES, python: Any = _python) -> None:
    """Capsules that nobody took still have their first name."""
    for name in names:
        if python.PyCapsule_IsValid(capsule, name):
            given.pop(python.PyCapsule_GetPointer(capsule, name), None)


_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


@atexit.register
def _keep_for_ever() -> None:
    """After its end Python can delete nothing: tensors that are still held then stay as they are."""
    for managed, *_ in _given.values():
        managed.deleter = None
    for kept in (_given, _NAMES, _delete, _delete_capsule):
        _python.Py_IncRef(ctypes.py_object(kept))


def _holders(kept: list[Any], place: int) -> int:
    return sys.getrefcount(kept[place])


_ALONE = _holders([object()], 0)  # what only the list holds


class Copies:
    """Copies that are the caller's own. The memory of one that nobody holds any more is taken for the next: where copies
    are large, fresh memory takes longer than the copy."""

    def __init__(self) -> None:
        self._kept: list[np.ndarray[Any, Any]] = []  # what callers get are views of these, as are views of theirs

    def take(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        free = [place for place in range(len(self._kept)) if _holders(self._kept, place) == _ALONE]
        if not free:
            self._kept = [*self._kept[-1:], np.empty(values.shape, values.dtype)]
        copy: np.ndarray[Any, Any] = self._kept[free[0] if free else -1][...]
        np.copyto(copy, values)
        return copy


class Array:
    """Memory of the library, which every reset and step renews; not to be written.

    `numpy.asarray(array)`, `torch.from_dlpack(array)` and the like share it without a copy, and keep it alive after the
    environments are closed. `device` is DLPack's pair, as `__dlpack_device__` has it.
    """

    def __init__(
        self, address: int, shape: tuple[int, ...], dtype: Any, owner: Any, cuda: int | None = None, writable: bool = False
    ) -> None:
        self._writable = writable  # what is given to a program's function
        self.shape, self.dtype, self.address = shape, np.dtype(dtype), address
        self.device = (CPU, 0) if cuda is None else (CUDA, cuda)
        self._owner = owner

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * int(self.dtype.itemsize)

    def as_type(self, dtype: Any) -> Array:
        """The same bytes as numbers of another type of the same size."""
        return Array(self.address, self.shape, dtype, self._owner, self.device[1] if self.device[0] == CUDA else None)

    def as_shape(self, shape: tuple[int, ...]) -> Array:
        """The same numbers with other axes."""
        return Array(self.address, shape, self.dtype, self._owner, self.device[1] if self.device[0] == CUDA else None)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.device[0] != CPU:
            raise TypeError("this array is in CUDA's memory; take it by the from_dlpack of a library that knows CUDA")
        memory: Any = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        memory.owner = self._owner
        view: np.ndarray[Any, Any] = np.frombuffer(memory, self.dtype).reshape(self.shape)
        view.flags.writeable = self._writable
        if dtype is not None and np.dtype(dtype) != self.dtype:
            return view.astype(dtype)
        return view.copy() if copy else view

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of the newest kind that the caller knows. Steps end before they return, so no stream waits."""
        if dl_device is not None and tuple(dl_device) != self.device:
            raise BufferError(f"this array is on DLPack device {self.device}, and {tuple(dl_device)} is asked for")
        if copy:
            raise BufferError("a copy is asked for; copy what from_dlpack gives")
        versioned = max_version is not None and max_version[0] >= 1
        rank = len(self.shape)
        steps = [math.prod(self.shape[axis + 1 :]) for axis in range(rank)]
        shape, strides = (ctypes.c_int64 * rank)(*self.shape), (ctypes.c_int64 * rank)(*steps)
        tensor = _Tensor(
            data=self.address,
            device_kind=self.device[0],
            device=self.device[1],
            rank=rank,
            code=_KINDS[self.dtype.kind],
            bits=8 * self.dtype.itemsize,
            lanes=1,
            shape=shape,
            strides=strides,
        )
        deleter = ctypes.cast(_delete, ctypes.c_void_p).value
        managed: _Legacy | _Versioned
        if versioned:
            managed = _Versioned(major=1, minor=0, deleter=deleter, flags=0 if self._writable else _READ_ONLY, tensor=tensor)
        else:
            managed = _Legacy(tensor=tensor, deleter=deleter)
        address = ctypes.addressof(managed)
        _given[address] = (managed, shape, strides, self._owner)
        return _python.PyCapsule_New(address, _NAMES[versioned], ctypes.cast(_delete_capsule, ctypes.c_void_p))

    def __repr__(self) -> str:
        place = "host" if self.device[0] == CPU else f"CUDA device {self.device[1]}"
        return f"l2sr.Array(shape={self.shape}, dtype={self.dtype}, {place})"
