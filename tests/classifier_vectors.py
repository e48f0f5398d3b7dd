#!/usr/bin/env python3
"""Writes tests/data/classifier_32.h5: one update of a classifier of zero-filled images (PROTOCOL 4.4), with jax in double
precision: classifier_vectors.py FILE. Needs jax, numpy and h5py."""
import sys

import h5py
import jax
import jax.numpy as jnp
import numpy as np

from through_vectors import CHANNELS, HIDDEN, IMAGES, N, ORDER, POOLS, conv, halve, norm_relu, parameters

CLASSES = 3
LABELS = (2, 0, 1, 2)  # of slices


def sizes():
    out = [("channel_layer.layers.0", (CHANNELS, 1, 3, 3))]
    out += [(f"down_sample_layers.{i}.layers.0", (CHANNELS << (i + 1), CHANNELS << i, 3, 3)) for i in range(POOLS)]
    return out + [("fc_out.0", (HIDDEN, CHANNELS << POOLS)), ("fc_out.2", (HIDDEN, HIDDEN)), ("fc_out.4", (CLASSES, HIDDEN))]


def zero_filled(images, masks):
    kspace = jnp.fft.fftshift(jnp.fft.fft2(jnp.fft.ifftshift(images, (1, 2)), norm="ortho"), (1, 2)) * masks[:, None, :]
    return jnp.abs(jnp.fft.fftshift(jnp.fft.ifft2(jnp.fft.ifftshift(kspace, (1, 2)), norm="ortho"), (1, 2)))


def log_probabilities(p, images):
    gap = images - images.mean((1, 2), keepdims=True)
    x = (gap / (jnp.sqrt((gap ** 2).sum((1, 2), keepdims=True) / (N * N - 1)) + 1e-11))[:, None]
    x = norm_relu(conv(p, "channel_layer.layers.0", x))
    for i in range(POOLS):
        x = halve(norm_relu(conv(p, f"down_sample_layers.{i}.layers.0", x)))
    x = x.max((2, 3))
    for place in (0, 2, 4):
        x = x @ p[f"fc_out.{place}.weight"].T + p[f"fc_out.{place}.bias"]
        x = jnp.where(x > 0, x, 0.01 * x) if place < 4 else x
    return jax.nn.log_softmax(x)


def main(path):
    rng = np.random.default_rng(13)
    y, x = np.mgrid[0:N, 0:N]
    blobs = [sum(rng.random() * np.exp(-((y - rng.uniform(6, 26)) ** 2 + (x - rng.uniform(6, 26)) ** 2) / rng.uniform(4, 60))
                 for _ in range(8)) + 0.05 * rng.random((N, N)) for _ in range(IMAGES)]
    images = np.asarray(blobs, np.float32)
    p = parameters(rng, sizes())
    masks = np.zeros((IMAGES, N), np.uint8)
    masks[:, N // 2 - 2:N // 2 + 2] = 1
    for i in range(IMAGES):
        masks[i, rng.choice(N, 3 * i, replace=False)] = 1
    seen = zero_filled(images[list(ORDER)].astype(np.float64), jnp.asarray(masks, jnp.float64))
    labels = np.asarray(LABELS)[list(ORDER)]
    likely = log_probabilities(p, seen)[np.arange(IMAGES), labels]
    gradient = jax.grad(lambda p: -log_probabilities(p, seen)[np.arange(IMAGES), labels].mean())(p)
    with h5py.File(path, "w") as f:
        f.create_dataset("images", data=images, compression="gzip", shuffle=True)
        f["order"] = np.asarray(ORDER, np.uint32)
        f["masks"] = masks
        f["labels"] = np.asarray(LABELS, np.float32)
        f["log_likelihood"] = np.asarray(likely, np.float32)
        for group, values in (("network", p), ("gradient", gradient)):
            for name, data in values.items():
                f[f"{group}/{name}"] = np.asarray(data, np.float32)


if __name__ == "__main__":
    main(sys.argv[1])
