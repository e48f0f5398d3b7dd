#!/usr/bin/env python3
"""Writes the small reference vectors of tests/data, in the formats of the large ones, with numpy in double
precision: make_vectors.py FOLDER. Needs numpy and h5py; the tests themselves need neither."""
import sys

import h5py
import numpy as np

from ddqn_vectors import ddqn
from solver_vectors import grids, solvers


def centred(transform, x):
    return np.fft.fftshift(transform(np.fft.ifftshift(x, axes=(-2, -1)), norm="ortho"), axes=(-2, -1))


def acquisition(path, n, count, scale):
    rng = np.random.default_rng(n)
    y, x = np.mgrid[0:n, 0:n] / n - 0.5
    image = np.stack([((x / 0.4) ** 2 + (y / 0.3) ** 2 < 1) * (0.6 + 0.2 * np.cos(20 * x + i)) + 0.1 * rng.random((n, n))
                      for i in range(count)]).astype(np.float32) * np.float32(scale)
    kspace = centred(np.fft.fft2, image.astype(np.float64))
    mask = np.zeros((count, n), np.uint8)
    for i in range(count):
        mask[i, rng.choice(n, n // 4, replace=False)] = 1
        mask[i, n // 2 - 2:n // 2 + 2] = 1
    zero_filled = np.abs(centred(np.fft.ifft2, kspace * mask[:, None, :]))
    mean = zero_filled.mean(axis=(1, 2))
    std = zero_filled.std(axis=(1, 2), ddof=1)
    target_mean = image.astype(np.float64).mean(axis=(1, 2))
    target_std = image.astype(np.float64).std(axis=(1, 2), ddof=1)
    standard = lambda a, m, s: np.clip((a - m[:, None, None]) / (s[:, None, None] + 1e-11), -6, 6)
    with h5py.File(path, "w") as f:
        f.attrs["note"] = "centred orthonormal; sample deviation; made by tests/make_vectors.py"
        for name, data in [("image", image), ("kspace_re", kspace.real), ("kspace_im", kspace.imag),
                           ("zero_filled", zero_filled),
                           ("observation", standard(zero_filled, mean, std)),
                           ("target", standard(image.astype(np.float64), target_mean, target_std))]:
            f.create_dataset(name, data=data.astype(np.float32), compression="gzip", shuffle=True)
        f["mask"] = mask
        for name, data in [("observation_mean", mean), ("observation_std", std), ("target_mean", target_mean),
                           ("target_std", target_std)]:
            f[name] = data


def windowed(x, weights, valid):
    """Separable filter; zeros outside, or only whole windows."""
    radius = len(weights) // 2
    for axis in (0, 1):
        pad = [(0, 0), (0, 0)]
        pad[axis] = (radius, radius)
        padded = np.pad(x, pad)
        n = x.shape[axis]
        x = sum(w * np.take(padded, range(k, k + n), axis=axis) for k, w in enumerate(weights))
    return x[radius:-radius, radius:-radius] if valid else x


def ssim(a, b, length, weights, valid, unbiased):
    f = lambda x: windowed(x, weights, valid)
    ma, mb = f(a), f(b)
    va, vb, cov = unbiased * (f(a * a) - ma * ma), unbiased * (f(b * b) - mb * mb), unbiased * (f(a * b) - ma * mb)
    c1, c2 = (0.01 * length) ** 2, (0.03 * length) ** 2
    return ((2 * ma * mb + c1) * (2 * cov + c2) / ((ma ** 2 + mb ** 2 + c1) * (va + vb + c2))).mean()


def metrics(path, n, count):
    rng = np.random.default_rng(7)
    reference = rng.random((count, n, n)).astype(np.float32)
    distorted = (reference + 0.2 * rng.standard_normal((count, n, n))).astype(np.float32)
    length = reference.max(axis=(1, 2)).astype(np.float64)
    gauss = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5 ** 2))
    gauss /= gauss.sum()
    rows = {name: [] for name in ("ssim_gaussian11", "ssim_uniform7", "psnr_clamped", "psnr", "nmse", "mse")}
    for r, d, l in zip(reference.astype(np.float64), distorted.astype(np.float64), length):
        rows["ssim_gaussian11"].append(ssim(d, r, l, gauss, False, 1))
        rows["ssim_uniform7"].append(ssim(d, r, l, np.full(7, 1 / 7), True, 49 / 48))
        rows["psnr"].append(-10 * np.log10((((d - r) / l) ** 2).mean() + 1e-8))
        rows["psnr_clamped"].append(-10 * np.log10((((np.clip(d, 0, 10) - r) / l) ** 2).mean() + 1e-8))
        rows["nmse"].append(((d - r) ** 2).sum() / (r ** 2).sum())
        rows["mse"].append(((d - r) ** 2).mean())
    with h5py.File(path, "w") as f:
        f.create_dataset("reference", data=reference, compression="gzip", shuffle=True)
        f.create_dataset("distorted", data=distorted, compression="gzip", shuffle=True)
        f["data_range"] = length
        for name, values in rows.items():
            f[name] = np.array(values)


if __name__ == "__main__":
    folder = sys.argv[1]
    acquisition(f"{folder}/acquisition_45.h5", 45, 2, 1)
    acquisition(f"{folder}/acquisition_60.h5", 60, 1, 4e-4)
    acquisition(f"{folder}/acquisition_64.h5", 64, 1, 1000)
    metrics(f"{folder}/metrics_50.h5", 50, 3)
    solvers(f"{folder}/solvers_32.h5", 32, 3, 0.01, 40)
    grids(f"{folder}/solvers_odd.h5", [("lines", 45, 33), ("lines", 37, 34), ("points", 23, 31), ("spokes", 31, 31)], 0.01, 20)
    ddqn(f"{folder}/ddqn_32.h5")
