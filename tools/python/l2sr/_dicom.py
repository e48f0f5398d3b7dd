"""DICOM's images as an array: they are magnitudes, and there is no k-space in them. Needs pydicom."""

from __future__ import annotations

import os
from typing import Any

import numpy as np


def files_of(path: str) -> list[str]:
    """The DICOM files that `path` is, or is a folder of; none: it is something else."""
    inside = sorted(entry.path for entry in os.scandir(path) if entry.is_file()) if os.path.isdir(path) else [path]
    return [file for file in inside if _is_dicom(file)]


def _is_dicom(file: str) -> bool:
    try:
        with open(file, "rb") as opened:
            return opened.read(132)[128:] == b"DICM"
    except OSError:
        return False


def _opened(file: str) -> Any:
    try:
        import pydicom
    except ModuleNotFoundError:
        raise OSError(f"{file} is a DICOM image, which pydicom reads; install it: pip install pydicom") from None
    try:
        return pydicom.dcmread(file)
    except Exception as error:
        raise OSError(f"{file} is no DICOM image that pydicom reads: {error}; fetch it again") from None


def _place(image: Any) -> tuple[float, float]:
    """Where it lies across its plane, and its number; the number where there is no place."""
    number = float(image.get("InstanceNumber") or 0)
    if "ImagePositionPatient" not in image or "ImageOrientationPatient" not in image:
        return number, 0.0
    rows, columns = np.reshape([float(value) for value in image.ImageOrientationPatient], (2, 3))
    return float(np.dot(np.cross(rows, columns), [float(value) for value in image.ImagePositionPatient])), number


def _pixels(file: str, image: Any) -> np.ndarray[Any, Any]:
    try:
        pixels = np.asarray(image.pixel_array, np.float64)
    except Exception as error:
        raise OSError(f"the pixels of {file} cannot be read: {error}") from None
    if int(image.get("SamplesPerPixel", 1)) != 1:
        raise OSError(f"{file} has {image.SamplesPerPixel} samples a pixel, as colours do; a magnitude has one")
    stack = pixels if pixels.ndim == 3 else pixels[None]
    return stack * float(image.get("RescaleSlope", 1)) + float(image.get("RescaleIntercept", 0))


def _check_series(path: str, images: list[tuple[str, Any]]) -> None:
    series = {str(image.get("SeriesInstanceUID")): file for file, image in images}
    if len(series) > 1:
        names = ", ".join(os.path.basename(file) for file in list(series.values())[:4])
        raise OSError(f"{path} has images of {len(series)} series, as {names}; put each series into a folder of its own")
    for file, image in images:
        if "Rows" not in image or "Columns" not in image:
            raise OSError(f"{file} has no image: Rows or Columns is missing")
    sizes = {(int(image.Rows), int(image.Columns)) for _, image in images}
    if len(sizes) > 1:
        raise OSError(f"{path} has images of {len(sizes)} sizes, as {sorted(sizes)[:2]}; put each into a folder of its own")


def read_series(path: str, files: list[str]) -> np.ndarray[Any, Any]:
    """Images [slices, height, width] in float32, in the order of their places. Raises OSError."""
    images = [(file, _opened(file)) for file in files]
    _check_series(path, images)
    images.sort(key=lambda entry: _place(entry[1]))
    return np.concatenate([_pixels(*entry) for entry in images]).astype(np.float32)


def patient_of(files: list[str]) -> str | None:
    """Who it is, where the file says so; for splits that keep patients apart."""
    name = str(_opened(files[0]).get("PatientID") or "")
    return name or None
