#!/usr/bin/env python3
"""Writes tests/data/evaluator_32.h5: one update of an evaluator and its reconstructor (PROTOCOL 4.3), with jax in double
precision: evaluator_vectors.py FILE. Needs jax, numpy and h5py."""
import sys

import h5py
import jax
import jax.numpy as jnp
import numpy as np

from through_vectors import IMAGES, N, ORDER, observed, parameters, ssim, unet, unet_sizes

CHANNELS, GAMMA, WEIGHT = 2, 0.5, 0.1


def transform(images):
    return jnp.fft.fftshift(jnp.fft.fft2(jnp.fft.ifftshift(images, (1, 2)), norm="ortho"), (1, 2))


def columns(images):
    """The images whose k-space has one column each: real part, imaginary part, of one column after the other."""
    alone = transform(images)[:, None] * jnp.eye(N)[None, :, None, :]
    shifted = jnp.fft.ifft2(jnp.fft.ifftshift(alone, (2, 3)), norm="ortho")
    maps = jnp.fft.fftshift(shifted, (2, 3))
    return jnp.stack([maps.real, maps.imag], 2).reshape(len(images), 2 * N, N, N)


def halve(p, layer, x):
    weight = p[f"conv.{layer}.weight"].reshape(-1, x.shape[1], 4, 4)
    x = jax.lax.conv_general_dilated(x, weight, (2, 2), ((1, 1), (1, 1)), dimension_numbers=("NCHW", "OIHW", "NCHW"))
    x = x + p[f"conv.{layer}.bias"][None, :, None, None]
    if layer:
        gap = x - x.mean((2, 3), keepdims=True)
        x = gap / jnp.sqrt((gap ** 2).mean((2, 3), keepdims=True) + 1e-5)
    return jnp.where(x > 0, x, 0.2 * x)


def scores(p, images):
    x = columns(images)
    for layer in range(4):
        x = halve(p, layer, x)
    return x.mean((2, 3)) @ p["score.weight"][:, :, 0, 0].T + p["score.bias"]


def sizes():
    out, inputs = [], 2 * N
    for layer, factor in enumerate((1, 2, 4, 4)):
        out.append((f"conv.{layer}", (factor * CHANNELS, 16 * inputs, 1, 1)))
        inputs = factor * CHANNELS
    return out + [("score", (N, inputs, 1, 1))]


def update(net, p, images, masks):
    """The two losses, of the reconstructor and of the evaluator, neither of which learns by the other's."""
    mean = images.mean((1, 2), keepdims=True)
    deviation = jnp.sqrt(((images - mean) ** 2).sum((1, 2), keepdims=True) / (N * N - 1))
    truth = (images - mean) / deviation

    def reconstructs(net):
        out = unet(net, observed(transform(images), masks))
        return -ssim(out * deviation + mean, images, images.max()) + WEIGHT * ((scores(p, out) - 1) ** 2).mean(), out

    (_, out), of_net = jax.value_and_grad(reconstructs, has_aux=True)(net)
    target = jnp.where(masks > 0, 1, jnp.exp(-GAMMA * (jnp.abs(transform(out - truth)) ** 2).sum(1) / (2 * N)))

    def evaluates(p):
        return ((scores(p, out) - target) ** 2).mean() + ((scores(p, truth) - 1) ** 2).mean()

    return target, evaluates(p), of_net, jax.grad(evaluates)(p)


def main(path):
    rng = np.random.default_rng(12)
    y, x = np.mgrid[0:N, 0:N]
    blobs = [sum(rng.random() * np.exp(-((y - rng.uniform(6, 26)) ** 2 + (x - rng.uniform(6, 26)) ** 2) / rng.uniform(4, 60))
                 for _ in range(8)) + 0.05 * rng.random((N, N)) for _ in range(IMAGES)]
    images = np.asarray(blobs, np.float32)
    net, p = parameters(rng, unet_sizes()), parameters(rng, sizes())
    masks = np.zeros((IMAGES, N), np.uint8)
    masks[:, N // 2 - 2:N // 2 + 2] = 1
    for i in range(IMAGES):
        masks[i, rng.choice(N, 3 * i, replace=False)] = 1
    target, loss, of_net, of_p = update(net, p, images[list(ORDER)].astype(np.float64), jnp.asarray(masks, jnp.float64))
    with h5py.File(path, "w") as f:
        f.create_dataset("images", data=images, compression="gzip", shuffle=True)
        f["order"] = np.asarray(ORDER, np.uint32)
        f["masks"] = masks
        f["target"] = np.asarray(target, np.float32)
        f["loss"] = np.asarray([loss])
        for group, values in (("unet", net), ("network", p), ("unet_gradient", of_net), ("gradient", of_p)):
            for name, data in values.items():
                f[f"{group}/{name}"] = np.asarray(data, np.float32)


if __name__ == "__main__":
    main(sys.argv[1])
