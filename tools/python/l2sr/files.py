"""Files of other programs as arrays, and arrays as such files: what `l2sr import` and `l2sr export` do, by the program itself."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
from typing import Any

import numpy as np

from . import _dicom as dicom
from . import _values as values
from ._binding import in_python, place, text_of
from ._values import Path

_KINDS = ("auto", "image", "kspace", "complex_image")


def _run(*words: str) -> None:
    """Raises what the program refuses: wrong usage as ValueError, files as OSError."""
    done = subprocess.run([os.fspath(place("bin", "l2sr")), *words], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode == 0:
        return
    lines = [line for line in text_of(done.stderr).splitlines() if line.startswith("l2sr: ")]
    text = in_python(lines[-1].removeprefix("l2sr: ") if lines else f"the program l2sr ended with status {done.returncode}")
    missing = text.startswith("cannot open") and "No such file" in text
    raise (ValueError if done.returncode == 2 else FileNotFoundError if missing else OSError)(text)


def _path(what: str, path: Path) -> str:
    encoded = values.path_bytes(what, path)
    if encoded is None:
        raise ValueError(f"{what} is None; it must be a path")
    return os.path.abspath(os.fsdecode(encoded))


def _reading(axes: str | None, kind: str | None, variable: str | None) -> list[str]:
    words = []
    if axes is not None:
        words += ["--set", f"import.axes=[{','.join(str(axes).replace(',', ' ').replace(' ', ''))}]"]
    if kind is not None:
        words += ["--set", f"import.kind={values.choice('kind', kind, _KINDS)}"]
    if variable is not None:
        words += ["--set", f"import.variable={variable}"]
    return words


def read(
    path: Path,
    what: str | None = None,
    *,
    axes: str | None = None,
    kind: str | None = None,
    variable: str | None = None,
    result: str | None = None,
    row: int = 0,
    data: Path | None = None,
) -> np.ndarray[Any, Any]:
    """What a file holds: a volume, a BART, numpy, NIfTI, MATLAB or ISMRMRD file, a DICOM series, results or a checkpoint.

    Returns images [slices, height, width] in float32 or k-space [slices, coils, height, width] in complex64 (of one coil
    [slices, height, width]) of a volume or a file of another program, which `axes`, `kind` and `variable` tell how to read as
    `l2sr import` does; of results `what` they have (`l2sr export --what`: mask, uint8 [width] or [height, width],
    zero_filled, kspace of the scan `row`; reconstruction, image of all rows that are kept). A DICOM series is a file or a folder of one series, whose
    magnitudes pydicom reads. Raises ValueError for what is asked for wrongly, OSError for
    files that cannot be read, with what to do.
    """
    name = _path("path", path)
    series = dicom.files_of(name)
    if series:
        asked = {"axes": axes, "kind": kind, "variable": variable, "what": what, "result": result, "row": row or None}
        if given := [word for word, value in asked.items() if value is not None]:
            raise ValueError(f"{', '.join(given)} says how other files are read, and {name} is a DICOM series, which has its images alone")
        return dicom.read_series(name, series)
    words = ["export", name, *_reading(axes, kind, variable)]
    for flag, value in (("what", what), ("result", result)):
        words += [] if value is None else [f"--{flag}", str(value)]
    words += [] if data is None else ["--data", _path("data", data)]
    number = values.whole("row", row, 0, 100_000_000)
    with tempfile.TemporaryDirectory(prefix="l2sr-") as folder:
        file = os.path.join(folder, "array.npy")
        _run(*words, *(["--row", str(number)] if number else []), "--output", file)
        made: np.ndarray[Any, Any] = np.load(file)
    return made


def _is_mask(array: np.ndarray[Any, Any]) -> bool:
    return array.ndim == 1 and bool(np.isin(array, (0, 1)).all())


def _write(array: np.ndarray[Any, Any], output: str, folder: str, options: list[str]) -> None:
    """By a .npy or a text that the program reads; its name is that of what is made."""
    ending = ".h5" if output.endswith(".h5") else ".npy"
    source = os.path.join(folder, pathlib.Path(output).name.removesuffix(ending) + ".npy")
    complex_ = np.iscomplexobj(array)
    letters = {2: "hw", 3: "shw", 4: "schw"}.get(array.ndim)
    if _is_mask(array):
        source = os.path.join(folder, "mask.txt")
        np.savetxt(source, array.astype(np.uint8), fmt="%d")
    elif letters is None or (array.ndim == 4 and not complex_):
        raise ValueError(f"the array has the shape {array.shape}; it must be a mask [width] of 0 and 1, images ([slices,] height, width) or "
                         "k-space ([slices,] [coils,] height, width), complex")
    else:
        np.save(source, array.astype(np.complex64 if complex_ else np.float32))
        options = [*options, *_reading(letters, "kspace" if complex_ else "image", None)]
    if ending == ".h5":
        _run("import", source, "--output", os.path.dirname(output), *options)
    else:
        _run("export", source, "--output", output, *options)


def export(source: Path | np.ndarray[Any, Any], output: Path, **options: Any) -> None:
    """Writes `source` as a file for other programs, whose kind the end of `output` says.

    `source` is what `read` takes (a DICOM series becomes a volume of its patient by `export(FOLDER, "volume.h5")`), or an
    array: a mask [width] of 0 and 1, images ([slices,] height, width), k-space ([slices,] [coils,] height, width) of complex
    numbers. `output` ends in .npy, .cfl, .nii, .nii.gz or .mat; an array also
    becomes a volume (.h5), a mask also .txt, .png, .py or .seq. `options` are the flags of `l2sr export`, as
    `what="mask"`, `row=3` or `tr=15` (ms); of a volume that is made, those of `l2sr import`. Raises as `read` does.
    """
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", _path(name, value) if name == "data" else str(value)]
    to = _path("output", output)
    if values.is_path(source):
        name = _path("source", source)  # type: ignore[arg-type]
        series = dicom.files_of(name)
        if not series:
            _run("export", name, "--output", to, *words)
            return
        source = dicom.read_series(name, series)
        patient = dicom.patient_of(series)
        if to.endswith(".h5") and patient and "patient" not in options:
            words += ["--patient", patient]
    with tempfile.TemporaryDirectory(prefix="l2sr-") as folder:
        _write(np.asarray(source), to, folder, words)
