#!/usr/bin/env python3
"""Writes tests/data/suno_32.h5: one pass of exchanges over the masks of four slices, for zero-filled images and their NMSE, and
the masks that two other slices take (PROTOCOL 4.2), in double precision: suno_vectors.py FILE. Needs numpy and h5py."""
import sys

import h5py
import numpy as np

N, TRAIN, TEST, INITIAL, BUDGET, SEED, STREAM_MASK, TIE = 32, 4, 2, 4, 4, 42, 2, 2.0 ** -18


def philox(number, step):
    c, key = [number, step, 0, 0], [SEED, STREAM_MASK]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def zero_filled(image, mask):
    k = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(image), norm="ortho")) * mask
    return np.abs(np.fft.ifft2(np.fft.ifftshift(k), norm="ortho"))


def worth(image, mask):
    """Less the error, more is better; images are compared wherever their pixels stand."""
    return -((np.fft.fftshift(zero_filled(image, mask)) - image) ** 2).sum() / (image ** 2).sum()


def start(slice_number, initial):
    weight = np.maximum(1, np.round((1 - np.abs(np.arange(N) - N // 2) / (N / 2)).clip(0) ** 4 * 2 ** 20)).astype(int)
    mask = initial.copy()
    for t in range(BUDGET):
        own = np.where(mask > 0, 0, weight)
        at = philox(slice_number, t)[0] * int(own.sum()) >> 32
        mask[np.searchsorted(np.cumsum(own), at, side="right")] = 1
    return mask


def exchange(image, mask, initial):
    mask = mask.copy()
    for line in [i for i in range(N) if mask[i] and not initial[i]]:
        mask[line] = 0
        quality = np.full(N, -np.inf)
        for other in np.flatnonzero(mask == 0):
            mask[other] = 1
            quality[other] = worth(image, mask)
            mask[other] = 0
        best = quality.max()
        first = np.flatnonzero(quality >= best - TIE * abs(best))[0]
        better = quality[first] > quality[line] + TIE * abs(quality[line])
        mask[first if better else line] = 1
    return mask


def main(path):
    rng = np.random.default_rng(3)
    y, x = np.mgrid[0:N, 0:N]
    images = []
    for _ in range(TRAIN):
        images.append(sum(rng.random() * np.exp(-((y - rng.uniform(5, 27)) ** 2 + (x - rng.uniform(5, 27)) ** 2) / rng.uniform(3, 40))
                          for _ in range(10)) + 0.05 * rng.random((N, N)))
    images += [1.7 * images[2] + 0.02 * rng.random((N, N)), 0.6 * images[0] + 0.1 * images[1]]
    images = np.asarray(images, np.float32)
    initial = np.zeros(N, int)
    initial[N // 2 - INITIAL // 2:N // 2 + INITIAL // 2] = 1
    real = images.astype(np.float64)
    masks = np.stack([exchange(real[i], start(i, initial), initial) for i in range(TRAIN)])
    low = np.stack([zero_filled(image, initial) for image in real])
    low /= low.max((1, 2), keepdims=True)
    nearest = [int(((low[:TRAIN] - low[i]) ** 2).sum((1, 2)).argmin()) for i in range(TRAIN, TRAIN + TEST)]
    with h5py.File(path, "w") as f:
        f.create_dataset("train", data=images[:TRAIN], compression="gzip", shuffle=True)
        f.create_dataset("val", data=images[TRAIN:], compression="gzip", shuffle=True)
        f["start"] = np.stack([start(i, initial) for i in range(TRAIN)]).astype(np.uint8)
        f["masks"] = masks.astype(np.uint8)
        f["nearest"] = masks[nearest].astype(np.uint8)
        f["worth"] = np.asarray([np.mean([worth(real[i], masks[i]) for i in range(TRAIN)])])
    print("changed lines:", [int((masks[i] != start(i, initial)).sum() // 2) for i in range(TRAIN)], "nearest:", nearest)


if __name__ == "__main__":
    main(sys.argv[1])
