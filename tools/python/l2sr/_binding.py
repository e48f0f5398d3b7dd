"""libl2sr through ctypes: its structures and functions as `l2sr.h` declares them, and its errors as Python's."""

from __future__ import annotations

import ctypes
import importlib.resources
import json
import logging
import os
import pathlib
import re
import subprocess
import warnings
from ctypes import POINTER, c_char, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from . import _values as values
from ._signals import has_kept, keep, raise_kept

log = logging.getLogger("l2sr")


def place(*names: str) -> pathlib.Path:
    """A file of the package: beside this one, or in the folder that an editable installation builds in."""
    beside = pathlib.Path(__file__).parent.joinpath(*names)
    built = beside if beside.exists() else importlib.resources.files(__package__).joinpath(*names)
    return built if isinstance(built, pathlib.Path) else beside


class Sized(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **members: Any) -> None:
        super().__init__(**members)
        self.bytes = ctypes.sizeof(self)


class Slices(Sized):
    _fields_ = [
        ("bytes", c_size_t),
        ("values", c_void_p),
        ("count", c_size_t),
        ("coils", c_size_t),
        ("height", c_size_t),
        ("width", c_size_t),
        ("volume", c_void_p),
        ("label", c_void_p),
    ]


STOP = ctypes.CFUNCTYPE(c_int, c_void_p)
FAULT = 1024


class Batch(ctypes.Structure):
    _fields_ = [
        ("bytes", c_size_t),
        ("place", c_int),
        ("device", c_int),
        ("context", c_void_p),
        ("queue", c_void_p),
        *((name, c_size_t) for name in ("scans", "height", "width", "actions", "coils")),
        *((name, c_void_p) for name in ("observation", "acquired", "kspace", "maps", "image", "target", "result")),
        ("slice", POINTER(c_uint32)),
        ("path", POINTER(c_char_p)),
        ("number", POINTER(c_size_t)),
        ("fault", c_void_p),
        ("label", c_void_p),
    ]


CALLBACK = ctypes.CFUNCTYPE(c_int, POINTER(Batch), c_void_p)


class Callbacks(Sized):
    _fields_ = [
        ("bytes", c_size_t),
        ("name", c_char_p),
        ("place", c_int),
        ("reconstruct", CALLBACK),
        ("metric", CALLBACK),
        ("context", c_void_p),
    ]



class Config(Sized):
    _fields_ = [
        ("bytes", c_size_t),
        ("scene", c_char_p),
        ("text", c_char_p),
        ("overrides", POINTER(c_char_p)),
        ("override_count", c_size_t),
        ("device", c_char_p),
        ("context", c_void_p),
        ("queue", c_void_p),
        ("data", c_char_p),
        ("slices", POINTER(Slices)),
        ("reconstructor", c_char_p),
        ("policy", c_char_p),
        ("metrics", c_char_p),
        ("envs", c_uint32),
        ("autoreset", c_int),
        ("invalid", c_int),
        ("scoring", c_int),
        ("stop", STOP),
        ("stop_context", c_void_p),
        ("callbacks", POINTER(Callbacks)),
    ]


class Facts(Sized):
    _fields_ = [
        ("bytes", c_size_t),
        ("envs", c_uint32),
        ("actions", c_uint32),
        ("size", c_uint32),
        ("initial", c_uint32),
        ("budget", c_uint32),
        ("slices", c_uint32),
        ("seed", c_uint32),
        ("device", c_char * 128),
        ("geometry", c_char * 16),
        ("height", c_uint32),
        ("width", c_uint32),
    ]


class Shape(Sized):
    _fields_ = [
        ("bytes", c_size_t),
        ("name", c_char_p),
        ("element", c_int),
        ("total", c_size_t),
        ("rank", c_size_t),
        ("extent", POINTER(c_size_t)),
    ]


class Run(Sized):
    _fields_ = [
        ("bytes", c_size_t),
        ("sampler", c_char_p),
        ("geometry", c_char_p),
        ("horizon", c_char_p),
        ("acceleration", c_uint32),
        ("initial", c_uint32),
        ("budget", c_uint32),
        ("actions", c_uint32),
        ("scans", c_size_t),
        ("steps", c_size_t),
        ("size", c_size_t),
        ("seconds", c_double),
        ("returns", c_void_p),
        ("mask", c_void_p),
        ("action", c_void_p),
        ("images", c_void_p),
        ("height", c_size_t),
        ("width", c_size_t),
        ("metrics", c_size_t),
        ("metric", POINTER(c_int)),
        ("mean", POINTER(c_double)),
        ("deviation", POINTER(c_double)),
        ("scores", POINTER(c_void_p)),
    ]


INVALID = ("error", "ignore", "mask")
AUTORESET = ("disabled", "same_step", "next_step")
SCORING = ("end", "every_step", "never")
PLACES = ("host", "opencl", "cuda")
ELEMENTS = ("uint8", "uint32", "float16", "float32", "complex64")
_METRICS = ("ssim", "ssim_uniform", "psnr", "psnr_unclamped", "nmse", "mse")
_CLASSES = ("log_likelihood", "cross_entropy", "accuracy", "auc")
METRICS = (*_METRICS, "callback", *_CLASSES)
ARRAYS = (
    *("observation", "observation_mean", "observation_std", "standardised", "free", "acquired", "reward", "done"),
    *("step", "slice", "scan", "action", "reconstruction", "target"),
    *_METRICS,
    *("final_observation", "final_standardised", "final_free", "callback", "kspace", "maps"),
    *("final_target", "final_acquired", "final_reconstruction", "label", "final_label"),
    *_CLASSES,
)

LINE = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)
RECORD = ctypes.CFUNCTYPE(c_int, c_char_p, c_void_p)

FUNCTIONS = {
    "l2sr_version": (c_char_p, []),
    "l2sr_last_error": (c_char_p, []),
    "l2sr_on_log": (None, [LINE, c_void_p, c_void_p]),
    "l2sr_look_with": (None, [c_char_p]),
    "l2sr_train": (c_int, [POINTER(Config), c_char_p, c_int, RECORD, c_void_p]),
    "l2sr_evaluate": (c_int, [POINTER(Config), POINTER(c_void_p)]),
    "l2sr_table_close": (c_int, [c_void_p]),
    "l2sr_table_size": (c_int, [c_void_p, POINTER(c_size_t), POINTER(c_size_t)]),
    "l2sr_table_run": (c_int, [c_void_p, c_size_t, POINTER(Run)]),
    "l2sr_table_slice": (c_int, [c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_size_t)]),
    "l2sr_env_open": (c_int, [POINTER(Config), POINTER(c_void_p)]),
    "l2sr_env_close": (c_int, [c_void_p]),
    "l2sr_env_facts": (c_int, [c_void_p, POINTER(Facts)]),
    "l2sr_env_reset": (c_int, [c_void_p, c_void_p, POINTER(c_uint32)]),
    "l2sr_env_decide": (c_int, [c_void_p, c_char_p]),
    "l2sr_env_play": (c_int, [c_void_p, c_char_p, c_uint32]),
    "l2sr_env_send": (c_int, [c_void_p, c_void_p]),
    "l2sr_env_wait": (c_int, [c_void_p]),
    "l2sr_env_step": (c_int, [c_void_p, c_void_p]),
    "l2sr_env_shape": (c_int, [c_void_p, c_int, POINTER(Shape)]),
    "l2sr_env_pin": (c_int, [c_void_p, c_int, POINTER(c_void_p)]),
    "l2sr_env_cuda": (c_int, [c_void_p, c_int, POINTER(c_uint64), POINTER(c_int)]),
    "l2sr_env_read": (c_int, [c_void_p, c_int, c_void_p, c_size_t]),
    "l2sr_env_reconstruct": (c_int, [c_void_p]),
    "l2sr_env_score": (c_int, [c_void_p]),
    "l2sr_env_slice": (c_int, [c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_size_t)]),
    "l2sr_env_save": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(c_size_t)]),
    "l2sr_env_restore": (c_int, [c_void_p, c_void_p, c_size_t]),
    "l2sr_env_draw": (c_int, [c_void_p, c_int, c_size_t, c_char_p]),
}


def _open() -> ctypes.CDLL:
    """The library in the package; else the one that is installed."""
    beside = place("lib", "libl2sr.so")
    library = ctypes.CDLL(str(beside) if beside.exists() else "libl2sr.so.0")
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = _open()
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)


@LINE  # type: ignore[untyped-decorator, unused-ignore]
def _log_line(level: int, text: bytes, _context: object) -> None:
    try:
        log.log(_LEVELS[level], "%s", text_of(text))
    except BaseException as error:  # noqa: B902: the library's code must not be left by it
        keep(error)


def text_of(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")


library.l2sr_on_log(_log_line, None, None)
_program = os.fsencode(place("bin", "l2sr"))
library.l2sr_look_with(_program)
_program_is_known = False


def check_program() -> None:
    """libhdf5 crashes on some damaged files: a child of the program looks at every file first. Says where there is none."""
    global _program_is_known
    if _program_is_known:
        return
    try:
        done = subprocess.run([_program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        fault = text_of(done.stderr).strip() if done.returncode else None
    except (OSError, subprocess.SubprocessError) as error:
        fault = str(error)
    _program_is_known = True
    if fault is not None:
        warnings.warn(
            f"the program {text_of(_program)}, which looks at files before they are opened, does not start: a damaged file can "
            f"end Python; install l2sr again ({fault})",
            RuntimeWarning,
            stacklevel=5,
        )

# ---- errors ----------------------------------------------------------------------------------------------------

_KINDS: dict[int, type[Exception]] = {2: ValueError, 3: OSError, 6: MemoryError, 7: ArithmeticError}
BAD_FILE, STOPPED = 3, 9


# What C's texts name, by the names of this package; a word within a path is none.
_WORDS = {
    "struct l2sr_config": "the call",
    "--resume": "resume=True",
    "--plugin FILE.py (or FILE.so)": "callbacks=l2sr.Callbacks(reconstruct=..., metric=...)",
    "another train.output": "another output",
    "l2sr_env_open": "VectorEnv",
    "l2sr_env_send": "step_async",
    "l2sr_env_wait": "step_wait",
    "L2SR_FREE": 'info["action_mask"]',
    "L2SR_INVALID_MASK": 'invalid="mask"',
    "L2SR_RESET_SAME_STEP": "SAME_STEP",
}
_NAME = re.compile(
    r"(?<![\w./-])(?:struct l2sr_config|--resume|--plugin FILE\.py \(or FILE\.so\)|another train\.output|l2sr_env_\w+|L2SR_FREE|L2SR_INVALID_MASK|"
    r"L2SR_RESET_SAME_STEP)"
    r"(?![\w/-]|\.\w)"
)
_FLAG = re.compile(r"(?<![\w./-])--(reconstructor|policy|data) ")  # with its value
_SET = re.compile(r"(?<![\w./-])--set ([\w.]+)=(.*?)(?=, and with |; |$)")  # whose value may be a path with blanks


def in_python(text: str) -> str:
    text = _FLAG.sub(r"\1=", text)
    text = _SET.sub(lambda found: f"overrides={{{json.dumps(found[1])}: {json.dumps(found[2], ensure_ascii=False)}}}", text)
    return _NAME.sub(lambda found: _WORDS.get(found[0], found[0].removeprefix("l2sr_env_")), text)


def error_of(code: int, config: Config | None = None) -> Exception:
    """The last refusal in this thread, by its kind; `config`: what it was about."""
    text = in_python(text_of(library.l2sr_last_error()))
    files = [] if config is None else [config.data, config.reconstructor, config.policy]
    missing = any(path and not os.path.exists(path) for path in files) or text.startswith("there is no scene")
    if code == BAD_FILE and missing:
        return FileNotFoundError(text)
    return _KINDS.get(code, RuntimeError)(text)


def check(code: int, config: Config | None = None) -> None:
    """Raises what was refused, and what the log's handlers have raised meanwhile."""
    if code or has_kept():
        raise_kept(error_of(code, config) if code else None)


def choice(what: str, value: Any, choices: tuple[str, ...]) -> int:
    """The number of a word in the enumeration of the header."""
    return choices.index(values.choice(what, value, choices))
