#!/usr/bin/env python3
"""Writes tests/data/varnet_24x20.h5: a variational network of two cascades, from the description in
systems/networks/net_varnet.h, with PyTorch in double precision: varnet_vectors.py FILE. Needs torch, numpy and h5py."""
import sys

import h5py
import numpy as np
import torch
from torch.nn import functional as F

CASCADES, CHANNELS, POOLS, COILS, IMAGES, HEIGHT, WIDTH = 2, 4, 2, 3, 2, 24, 20


class Parameters(dict):
    """Random weights by name, made when they are first asked for."""

    def __init__(self, seed):
        super().__init__()
        self.random = torch.Generator().manual_seed(seed)

    def of(self, name, *size):
        if name not in self:
            scale = np.sqrt(np.prod(size[1:])) if len(size) > 1 else 4.0
            value = torch.randn(size, generator=self.random, dtype=torch.float64) / scale
            self[name] = value.float().double().requires_grad_()
        return self[name]

    def step(self, name):
        if name not in self:
            value = 1 + 0.3 * torch.randn(1, generator=self.random, dtype=torch.float64)
            self[name] = value.float().double().requires_grad_()
        return self[name]


def transform(x, inverse):
    """Centred and orthonormal, of complex [..., H, W]."""
    x = torch.fft.ifftshift(x, dim=(-2, -1))
    x = (torch.fft.ifft2 if inverse else torch.fft.fft2)(x, norm="ortho")
    return torch.fft.fftshift(x, dim=(-2, -1))


def settle(x):
    return F.leaky_relu(F.instance_norm(x, eps=1e-5), 0.2)


def block(p, name, x, channels):
    for place in (0, 4):
        weight = p.of(f"{name}.layers.{place}.weight", channels, x.shape[1], 3, 3)
        x = settle(F.conv2d(x, weight, padding=1))
    return x


def unet(p, name, x):
    skips = []
    for i in range(POOLS):
        x = block(p, f"{name}.down_sample_layers.{i}", x, CHANNELS * 2 ** i)
        skips.append(x)
        x = F.avg_pool2d(x, 2)
    x = block(p, f"{name}.conv", x, CHANNELS * 2 ** POOLS)
    for i in range(POOLS):
        channels = CHANNELS * 2 ** (POOLS - 1 - i)
        weight = p.of(f"{name}.up_transpose_conv.{i}.layers.0.weight", x.shape[1], channels, 2, 2)
        x = torch.cat([settle(F.conv_transpose2d(x, weight, stride=2)), skips.pop()], dim=1)
        x = block(p, f"{name}.up_conv.{i}" + (".0" if i == POOLS - 1 else ""), x, channels)
    last = f"{name}.up_conv.{POOLS - 1}.1"
    return F.conv2d(x, p.of(f"{last}.weight", 2, CHANNELS, 1, 1), p.of(f"{last}.bias", 2))


def norm_unet(p, name, image):
    """Of complex images [N, H, W]."""
    x = torch.stack([image.real, image.imag], dim=1)
    mean, std = x.mean(dim=(2, 3), keepdim=True), x.std(dim=(2, 3), keepdim=True)
    lack = [-size % 16 for size in (HEIGHT, WIDTH)]
    top, left = lack[0] // 2, lack[1] // 2
    y = F.pad((x - mean) / std, (left, lack[1] - left, top, lack[0] - top))
    y = unet(p, f"{name}.unet", y)[:, :, top:top + HEIGHT, left:left + WIDTH]
    y = y * std + mean
    return torch.complex(y[:, 0], y[:, 1])


def middle(mask):
    """Of masks [N, W] the columns acquired without a gap, as many before the centre as from it on."""
    out = torch.zeros_like(mask)
    for row, bits in zip(out, mask.tolist()):
        centre = WIDTH // 2
        reach = 0
        while reach < min(centre, WIDTH - centre) and bits[centre - 1 - reach] and bits[centre + reach]:
            reach += 1
        count = max(2 * reach, 1)
        start = (WIDTH - count + 1) // 2
        row[start:start + count] = 1
    return out


def sensitivities(p, acquired, mask):
    images = transform(acquired * middle(mask)[:, None, None, :], True)
    maps = norm_unet(p, "sens_net.norm_unet", images.reshape(-1, HEIGHT, WIDTH)).reshape(images.shape)
    return maps / maps.abs().square().sum(dim=1, keepdim=True).sqrt()


def varnet(p, acquired, mask, maps):
    k = acquired
    for i in range(CASCADES):
        image = norm_unet(p, f"cascades.{i}.model", (maps.conj() * transform(k, True)).sum(dim=1))
        gap = mask[:, None, None, :] * (k - acquired)
        k = k - p.step(f"cascades.{i}.dc_weight") * gap - transform(maps * image[:, None], False)
    return transform(k, True).abs().square().sum(dim=1).sqrt()


def planes(x):
    return torch.stack([x.real, x.imag], dim=2).detach().numpy()


def write(file, name, value):
    file[name] = np.asarray(value, np.float32)


def case(file, name, p, acquired, mask, maps):
    """The image, and the gradients of its product with `slope`; with maps of the steps alone."""
    acquired = acquired.clone().requires_grad_()
    out = varnet(p, acquired, mask, sensitivities(p, acquired, mask) if maps is None else maps)
    slope = torch.randn(out.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64).float().double()
    for value in p.values():
        value.grad = None
    (out * slope).sum().backward()
    write(file, f"{name}/out", out.detach().numpy())
    write(file, f"{name}/slope", slope.numpy())
    write(file, f"{name}/grad_frequencies", planes(acquired.grad))
    for key, value in p.items():
        if value.grad is not None and (maps is None or key.endswith("dc_weight")):
            write(file, f"{name}/grad/{key}", value.grad.numpy())


def main(path):
    random = np.random.default_rng(5)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    image = np.stack([np.exp(-((y - 10 - i) ** 2 + (x - 9) ** 2) / 40) + 0.2 * random.random(y.shape)
                      for i in range(IMAGES)])
    maps = np.stack([np.exp(-((y - 24 * np.cos(c)) ** 2 + (x - 20 * np.sin(c)) ** 2) / 900 + 0.05j * (c + 1) * x)
                     for c in range(COILS)])
    maps = (maps / np.sqrt((abs(maps) ** 2).sum(axis=0))).astype(np.complex64)
    mask = (random.random((IMAGES, WIDTH)) < 0.4).astype(np.float64)
    for i in range(IMAGES):
        mask[i, 8 - i:13] = 1
    mask = torch.from_numpy(mask)
    maps = torch.from_numpy(maps).to(torch.complex128)[None].expand(IMAGES, -1, -1, -1)
    acquired = transform(maps * torch.from_numpy(image)[:, None], False) * mask[:, None, None, :]
    acquired = acquired.to(torch.complex64).to(torch.complex128)
    p = Parameters(3)
    with h5py.File(path, "w") as file:
        file.attrs["note"] = "made by tests/varnet_vectors.py in double precision"
        for name, value in [("cascades", CASCADES), ("channels", CHANNELS), ("pools", POOLS)]:
            file.attrs[name] = value
        write(file, "frequencies", planes(acquired))
        write(file, "mask", mask.numpy())
        write(file, "maps", planes(maps))
        case(file, "network", p, acquired, mask, None)
        case(file, "given", p, acquired, mask, maps)
        for key, value in p.items():
            write(file, f"param/{key}", value.detach().numpy())


if __name__ == "__main__":
    main(sys.argv[1])
