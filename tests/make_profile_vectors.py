#!/usr/bin/env python3
"""Writes tests/data/profiles_40x33.h5, scores as the programs behind evaluate.profile have them: make_profile_vectors.py FILE.
Needs numpy, h5py, scikit-image (0.26) and torch (2.15); the tests themselves need none of them.

fastmri: whole volumes in double precision by scikit-image's structural_similarity and peak_signal_noise_ratio, as fastMRI's
evaluate.py calls them (91f2df4): images cropped to the square of their width, the data range the truth's largest pixel.
pgmri (d4e4164): slices by an 11x11 Gaussian window as a convolution of torch with zeros around, by the volume's range; PSNR
of the reconstruction clamped to [0, 10] with 1e-8 beside the mean square; and volumes as fastMRI's, not cropped.
pineda (active-mri, 2780bd9): slices by scikit-image, by each slice's range."""
import sys

import h5py
import numpy as np
import torch
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

HEIGHT, WIDTH = 40, 33
VOLUME = np.array([0, 0, 0, 1, 1], np.uint32)


def images():
    """Smooth truths with a bright pixel that the published loader cuts; reconstructions below 0 and above 10 in places."""
    rng = np.random.default_rng(40)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH] / WIDTH - 0.5
    truth = np.stack([(1 + i) * (np.hypot(x, y) < 0.5) * (1 + 0.5 * np.cos(9 * x + i)) + 0.2 * rng.random((HEIGHT, WIDTH))
                      for i in range(len(VOLUME))])
    truth[:, 20, 16] *= 9
    truth[1, 1, 5] = 60  # outside of the square: no range of fastMRI's
    image = truth * (1 + 0.1 * rng.standard_normal(truth.shape)) + 0.3 * rng.standard_normal(truth.shape)
    return image.astype(np.float32), truth.astype(np.float32)


def clamped(truth):
    """As the loaders of L2SR and PG-MRI: six deviations from the mean are cut."""
    t = truth.astype(np.float64)
    m, s = t.mean(axis=(1, 2), keepdims=True), t.std(axis=(1, 2), ddof=1, keepdims=True)
    return np.clip(t, m - 6 * s, m + 6 * s).astype(np.float32)


def volume_scores(image, truth, length):
    ssim = np.mean([structural_similarity(t, i, data_range=length) for i, t in zip(image, truth)])
    return [ssim, peak_signal_noise_ratio(truth, image, data_range=length),
            np.linalg.norm(truth - image) ** 2 / np.linalg.norm(truth) ** 2, np.mean((truth - image) ** 2)]


def square(x):
    top = (HEIGHT - WIDTH) // 2
    return x[:, top:top + WIDTH]


def gaussian_ssim(image, truth, length):
    d = torch.arange(11, dtype=torch.float64) - 5
    line = torch.exp(-d ** 2 / (2 * 1.5 ** 2))
    line /= line.sum()
    window = torch.outer(line, line)[None, None]
    mean = lambda v: torch.nn.functional.conv2d(v[None, None], window, padding=5)[0, 0]
    a, b = torch.from_numpy(image), torch.from_numpy(truth)
    ma, mb, c1, c2 = mean(a), mean(b), (0.01 * length) ** 2, (0.03 * length) ** 2
    va, vb, ab = mean(a * a) - ma ** 2, mean(b * b) - mb ** 2, mean(a * b) - ma * mb
    return ((2 * ma * mb + c1) * (2 * ab + c2) / ((ma ** 2 + mb ** 2 + c1) * (va + vb + c2))).mean().item()


def main(path):
    image, truth = images()
    i64, t64, c64 = image.astype(np.float64), truth.astype(np.float64), clamped(truth).astype(np.float64)
    volumes = [VOLUME == v for v in range(2)]
    with h5py.File(path, "w") as f:
        f.attrs["note"] = "made by tests/make_profile_vectors.py; rows: volumes or slices; columns: ssim, psnr, nmse, mse"
        f["image"], f["truth"], f["volume"] = image, truth, VOLUME
        f["maximum"] = maximum = np.array([14.5, 31.25])
        f["fastmri"] = [volume_scores(square(i64[v]), square(t64[v]), square(t64[v]).max()) for v in volumes]
        f["fastmri_attribute"] = [volume_scores(square(i64[v]), square(t64[v]), m) for v, m in zip(volumes, maximum)]
        f["pgmri_volume"] = [volume_scores(i64[v], c64[v], c64[v].max()) for v in volumes]
        length = [c64[volumes[v]].max() for v in VOLUME]
        f["pgmri"] = [[gaussian_ssim(i, t, L), -10 * np.log10((((np.clip(i, 0, 10) - t) / L) ** 2).mean() + 1e-8)]
                      for i, t, L in zip(i64, c64, length)]
        f["pineda"] = [volume_scores(i[None], t[None], t.max()) for i, t in zip(i64, t64)]


main(sys.argv[1])
