#!/usr/bin/env python3
"""Writes tests/data/through_32.h5: one update of a straight-through policy of two steps (PROTOCOL 3.5), with jax in double
precision: through_vectors.py FILE. Needs jax, numpy and h5py."""
import sys

import h5py
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

N, IMAGES, CHANNELS, POOLS, HIDDEN, INITIAL, LINES, SEED, STREAM_EXACT = 32, 4, 2, 2, 16, 4, (2, 2), 42, 6
UNET_CHANNELS, SHARPNESS, SLOPE = 4, 10.0, 10.0
ORDER = (1, 0, 3, 2)  # the slice of every sample of the first epoch


# ---- draws of exactly so many (PROTOCOL 3.4, 7) ------------------------------------------------------------


def philox(scan, step):
    c, key = [scan, step, 0, 0], [SEED, STREAM_EXACT]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def thresholds(p, taken, scan, budget, step):
    p = np.where(taken > 0, 0, p)
    table = np.zeros((N + 1, budget + 1))
    table[N, 0] = 1
    for i in reversed(range(N)):
        table[i] = (1 - p[i]) * table[i + 1]
        table[i, 1:] += p[i] * table[i + 1, :-1]
    out, left = np.empty(N), budget
    for i in range(N):
        words = philox(scan, step * ((N + 1) // 2) + i // 2)[2 * (i % 2):][:2]
        draw, place = [(word >> 9) * 2.0 ** -23 for word in words]
        chosen = taken[i] == 0 and left > 0 and draw * table[i, left] < p[i] * table[i + 1, left - 1]
        left -= chosen
        out[i] = 1 if taken[i] > 0 else place * p[i] if chosen else p[i] + place * (1 - p[i])
    return out


# ---- networks ----------------------------------------------------------------------------------------------


def conv(p, name, x):
    weight, bias = p[name + ".weight"], p[name + ".bias"]
    out = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return out + bias[None, :, None, None]


def norm_relu(x):
    mean = x.mean((2, 3), keepdims=True)
    return jax.nn.relu((x - mean) / jnp.sqrt(((x - mean) ** 2).mean((2, 3), keepdims=True) + 1e-5))


def halve(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


def double(x):
    """Bilinear, half-pixel centres."""
    for axis in (2, 3):
        size = x.shape[axis]
        at = np.clip((np.arange(2 * size) + 0.5) / 2 - 0.5, 0, size - 1)
        low = at.astype(int)
        share = (at - low).reshape([-1 if a == axis else 1 for a in range(4)])
        x = (1 - share) * jnp.take(x, low, axis) + share * jnp.take(x, np.minimum(low + 1, size - 1), axis)
    return x


def block(p, name, x):
    return norm_relu(conv(p, name + ".layers.4", norm_relu(conv(p, name + ".layers.0", x))))


def unet(p, x):
    skips = []
    for i in range(POOLS):
        skips.append(block(p, f"down_sample_layers.{i}", x))
        x = halve(skips[-1])
    x = block(p, "conv", x)
    for i in range(POOLS):
        x = block(p, f"up_sample_layers.{i}", jnp.concatenate([double(x), skips.pop()], 1))
    for i in range(3):
        x = conv(p, f"conv2.{i}", x)
    return x[:, 0]


def policy(p, x):
    x = norm_relu(conv(p, "channel_layer.layers.0", x))
    for i in range(POOLS):
        x = halve(norm_relu(conv(p, f"down_sample_layers.{i}.layers.0", x)))
    x = x.reshape(len(x), -1)
    for i in (0, 2, 4):
        x = x @ p[f"fc_out.{i}.weight"].T + p[f"fc_out.{i}.bias"]
        x = jnp.where(x > 0, x, 0.01 * x) if i < 4 else x
    return x


# ---- a scan ------------------------------------------------------------------------------------------------


def observed(kspace, mask):
    image = jnp.fft.fftshift(jnp.fft.ifft2(jnp.fft.ifftshift(kspace * mask[:, None, :], (1, 2)), norm="ortho"), (1, 2))
    size = jnp.sqrt(image.real ** 2 + image.imag ** 2)
    gap = size - size.mean((1, 2), keepdims=True)
    deviation = jnp.sqrt((gap ** 2).sum((1, 2), keepdims=True) / (N * N - 1))
    return jnp.clip(gap / (deviation + 1e-11), -6, 6)[:, None]


@jax.custom_vjp
def step(p, u):
    return (p > u).astype(p.dtype)


def step_back(kept, gradient):
    s = jax.nn.sigmoid(SLOPE * (kept[0] - kept[1]))
    return gradient * SLOPE * s * (1 - s), None


step.defvjp(lambda p, u: (step(p, u), (p, u)), step_back)


def rescale(x, taken, budget):
    left = 1 - taken
    count = left.sum(1, keepdims=True)
    mean, wanted = (x * left).sum(1, keepdims=True) / count, budget / count
    return left * jnp.where(wanted <= mean, x * wanted / mean, 1 - (1 - x) * (1 - wanted) / (1 - mean))


def masks(p, kspace, initial, kept):
    """All steps; the image that a later step sees passes no gradient. kept: thresholds of each, made where they lack."""
    mask = initial
    for number, lines in enumerate(LINES):
        seen = jax.lax.stop_gradient(mask)
        chance = rescale(jax.nn.sigmoid(SHARPNESS * policy(p, observed(kspace, seen))), seen, lines)
        if len(kept) == number:
            kept.append(np.stack([thresholds(np.asarray(chance[i]), np.asarray(seen[i]), i, lines, number)
                                  for i in range(IMAGES)]))
        mask = mask + step(chance, jnp.asarray(kept[number]))
    return mask


def ssim(a, b, length):
    gauss = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5 ** 2))
    gauss /= gauss.sum()
    window = jnp.asarray(np.outer(gauss, gauss))[None, None]
    f = lambda x: jax.lax.conv_general_dilated(x[:, None], window, (1, 1), "SAME")[:, 0]
    ma, mb = f(a), f(b)
    va, vb, cov = f(a * a) - ma * ma, f(b * b) - mb * mb, f(a * b) - ma * mb
    c1, c2 = (0.01 * length) ** 2, (0.03 * length) ** 2
    return ((2 * ma * mb + c1) * (2 * cov + c2) / ((ma ** 2 + mb ** 2 + c1) * (va + vb + c2))).mean()


def loss(p, net, images, initial, kept):
    kspace = jnp.fft.fftshift(jnp.fft.fft2(jnp.fft.ifftshift(images, (1, 2)), norm="ortho"), (1, 2))
    out = unet(net, observed(kspace, masks(p, kspace, initial, kept)))
    mean = images.mean((1, 2), keepdims=True)
    deviation = jnp.sqrt(((images - mean) ** 2).sum((1, 2), keepdims=True) / (N * N - 1))
    return -ssim(out * deviation + mean, images, images.max())


# ---- the file ----------------------------------------------------------------------------------------------


def parameters(rng, sizes):
    out = {}
    for name, size in sizes:
        out[name + ".weight"] = rng.standard_normal(size) / np.sqrt(np.prod(size[1:]))
        out[name + ".bias"] = 0.1 * rng.standard_normal(size[0])
    return {name: np.asarray(value, np.float32).astype(np.float64) for name, value in out.items()}


def unet_sizes():
    def pair(name, inputs, outputs):
        return [(f"{name}.layers.0", (outputs, inputs, 3, 3)), (f"{name}.layers.4", (outputs, outputs, 3, 3))]
    c = UNET_CHANNELS
    sizes = pair("down_sample_layers.0", 1, c) + pair("down_sample_layers.1", c, 2 * c) + pair("conv", 2 * c, 2 * c)
    sizes += pair("up_sample_layers.0", 4 * c, c) + pair("up_sample_layers.1", 2 * c, c)
    return sizes + [("conv2.0", (c // 2, c, 1, 1)), ("conv2.1", (1, c // 2, 1, 1)), ("conv2.2", (1, 1, 1, 1))]


def policy_sizes():
    sizes = [("channel_layer.layers.0", (CHANNELS, 1, 3, 3))]
    sizes += [(f"down_sample_layers.{i}.layers.0", (CHANNELS << (i + 1), CHANNELS << i, 3, 3)) for i in range(POOLS)]
    flat = (CHANNELS << POOLS) * (N >> POOLS) ** 2
    return sizes + [("fc_out.0", (HIDDEN, flat)), ("fc_out.2", (HIDDEN, HIDDEN)), ("fc_out.4", (N, HIDDEN))]


def main(path):
    rng = np.random.default_rng(11)
    y, x = np.mgrid[0:N, 0:N]
    blobs = [sum(rng.random() * np.exp(-((y - rng.uniform(6, 26)) ** 2 + (x - rng.uniform(6, 26)) ** 2) / rng.uniform(4, 60))
                 for _ in range(8)) + 0.05 * rng.random((N, N)) for _ in range(IMAGES)]
    images = np.asarray(blobs, np.float32)
    net, p = parameters(rng, unet_sizes()), parameters(rng, policy_sizes())
    initial = np.zeros((IMAGES, N))
    initial[:, N // 2 - INITIAL // 2:N // 2 + INITIAL // 2] = 1
    dealt, kept = images[list(ORDER)].astype(np.float64), []
    value = loss(p, net, dealt, initial, kept)
    gradient = jax.grad(loss)(p, net, dealt, initial, kept)
    kspace = jnp.fft.fftshift(jnp.fft.fft2(jnp.fft.ifftshift(dealt, (1, 2)), norm="ortho"), (1, 2))
    with h5py.File(path, "w") as f:
        f.create_dataset("images", data=images, compression="gzip", shuffle=True)
        f["order"] = np.asarray(ORDER, np.uint32)
        f["masks"] = np.asarray(masks(p, kspace, initial, kept), np.float32)
        f["loss"] = np.asarray([value])
        for group, values in (("unet", net), ("policy", p), ("gradient", gradient)):
            for name, data in values.items():
                f[f"{group}/{name}"] = np.asarray(data, np.float32)


if __name__ == "__main__":
    main(sys.argv[1])
