#!/usr/bin/env python3
"""Converts reconstructors between the public PyTorch checkpoints and ours.

    convert_checkpoint.py IN.pt OUT.h5 [--size N] [--trust]
    convert_checkpoint.py IN.h5 OUT.pt [--module]

IN.pt is a state dict, or a dict that holds one as 'model' or 'state_dict', with or without the prefix `module.`
that data-parallel training leaves. --size N notes the side of the images it was trained on, so that another is
refused. Missing, unexpected and mis-shaped tensors are listed and nothing is written (exit status 1).

OUT.pt is {'model': state dict}; --module puts the prefix. The optimiser's state is not converted.

--trust unpickles arbitrary objects: only for files from people you trust. Needs PyTorch and h5py; nothing else of
l2sr does.
"""
import argparse
import contextlib
import os
import pathlib
import sys


def stop(text):
    sys.exit("convert_checkpoint.py: " + text)


try:
    import h5py
    import numpy
    import torch
except ImportError as missing:
    stop(f"{missing}; install torch, h5py and numpy")

FIRST = "down_sample_layers.0.layers.0.weight"


def expected_shapes(channels, pools):
    """Names and shapes of the U-Net's parameters (PROTOCOL 1.8)."""
    shapes = {}

    def conv(name, inputs, outputs, size):
        shapes[name + ".weight"] = (outputs, inputs, size, size)
        shapes[name + ".bias"] = (outputs,)

    def block(name, inputs, outputs):
        conv(name + ".layers.0", inputs, outputs, 3)
        conv(name + ".layers.4", outputs, outputs, 3)

    for i in range(pools):
        block(f"down_sample_layers.{i}", channels << (i - 1) if i else 1, channels << i)
    block("conv", channels << (pools - 1), channels << (pools - 1))
    for i in range(pools):
        skip = channels << (pools - 1 - i)
        block(f"up_sample_layers.{i}", 2 * skip, max(skip // 2, channels))
    conv("conv2.0", channels, channels // 2, 1)
    conv("conv2.1", channels // 2, 1, 1)
    conv("conv2.2", 1, 1, 1)
    return shapes


def plain(name):
    return name[len("module."):] if name.startswith("module.") else name


def check(tensors, source):
    """Channels and pools of the network; stops with the list of what does not belong together."""
    if FIRST not in tensors:
        stop(f"{source} holds no {FIRST}: it is no U-Net of the public implementations; it holds "
             + (", ".join(sorted(tensors)[:8]) or "no tensor"))
    channels = tensors[FIRST].shape[0]
    pools = len({name.split(".")[1] for name in tensors if name.startswith("down_sample_layers.")})
    shapes = expected_shapes(channels, pools)
    lists = {
        "missing": [name for name in shapes if name not in tensors],
        "unexpected": [name for name in tensors if name not in shapes],
        "of another shape": [f"{name} ({tuple(tensors[name].shape)}, expected {shape})"
                             for name, shape in shapes.items()
                             if name in tensors and tuple(tensors[name].shape) != shape],
    }
    if any(lists.values()):
        for what, names in lists.items():
            for name in names:
                print(f"{what}: {name}", file=sys.stderr)
        stop(f"{source} is not the U-Net of {channels} channels and {pools} pools: "
             + ", ".join(f"{len(names)} {what}" for what, names in lists.items()))
    return channels, pools


def load(path, trust):
    """The public checkpoints also hold the arguments of the training, which PyTorch counts as objects."""
    allow = getattr(torch.serialization, "safe_globals", None)
    with allow([argparse.Namespace, pathlib.PosixPath]) if allow else contextlib.nullcontext():
        return torch.load(path, map_location="cpu", weights_only=not trust)


def read_pt(path, trust):
    try:
        content = load(path, trust)
    except Exception as error:  # torch raises a different one for each kind of damage
        hint = "" if trust else "; if it is a sound file from people you trust, --trust reads what else it holds"
        stop(f"cannot read {path}: {type(error).__name__}: {str(error).splitlines()[0]}{hint}")
    for key in ("model", "state_dict"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict):
        stop(f"{path} holds a {type(content).__name__}, not a state dict")
    return {plain(name): value.detach().to(torch.float32).numpy()
            for name, value in content.items() if isinstance(value, torch.Tensor)}


def read_h5(path):
    try:
        with h5py.File(path, "r") as file:
            found = {}
            if "param" in file:
                file["param"].visititems(lambda name, item: found.update({plain(name): item[()]})
                                         if isinstance(item, h5py.Dataset) else None)
            return {name: numpy.asarray(value, numpy.float32) for name, value in found.items()}
    except OSError as error:
        stop(f"cannot read {path}: {error}")


def write_h5(path, tensors, size):
    channels, pools = check(tensors, "the checkpoint")
    beside = f"{path}.{os.getpid()}.part"
    with h5py.File(beside, "w") as file:
        for name in expected_shapes(channels, pools):
            file.create_dataset("param/" + name, data=tensors[name])
        file.attrs["network"] = "unet"
        file.attrs["network_channels"] = float(channels)
        file.attrs["network_pools"] = float(pools)
        if size:
            file.attrs["network_size"] = float(size)
    os.replace(beside, path)
    return channels, pools


def write_pt(path, tensors, module):
    channels, pools = check(tensors, "the checkpoint")
    prefix = "module." if module else ""
    state = {prefix + name: torch.from_numpy(tensors[name].copy()) for name in expected_shapes(channels, pools)}
    beside = f"{path}.{os.getpid()}.part"
    torch.save({"model": state}, beside)
    os.replace(beside, path)
    return channels, pools


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--module", action="store_true")
    parser.add_argument("--trust", action="store_true")
    args = parser.parse_args()
    if args.target.endswith((".h5", ".hdf5")):
        tensors = read_pt(args.source, args.trust)
        channels, pools = write_h5(args.target, tensors, args.size)
    else:
        tensors = read_h5(args.source)
        channels, pools = write_pt(args.target, tensors, args.module)
    print(f"{args.target}: U-Net, {channels} channels, {pools} pools, "
          f"{sum(value.size for value in tensors.values())} parameters")


if __name__ == "__main__":
    main()
