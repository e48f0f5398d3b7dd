#!/usr/bin/env python3
"""Converts reconstructors, U-Nets and variational networks, between the public PyTorch checkpoints and ours.

    convert_checkpoint.py IN.pt OUT.h5 [--size N] [--trust]
    convert_checkpoint.py IN.h5 OUT.pt [--module]

IN.pt (or .ckpt) is a state dict, or a dict that holds one as 'model' or 'state_dict', with or without the prefix
`module.` that data-parallel training leaves, or `varnet.` of fastMRI's Lightning module, whose other entries are left
out. Which network it is follows from its names. --size N notes the side of the images it was trained on, so that another is
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
CASCADE = "cascades.0.model.unet."
SENSE = "sens_net.norm_unet.unet."
PREFIXES = ("module.", "varnet.")


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


def complex_shapes(name, channels, pools):
    """Those of a U-Net of a variational network (systems/networks/net_varnet.h)."""
    shapes = {}

    def block(place, inputs, outputs):
        shapes[f"{name}{place}.layers.0.weight"] = (outputs, inputs, 3, 3)
        shapes[f"{name}{place}.layers.4.weight"] = (outputs, outputs, 3, 3)

    for i in range(pools):
        block(f"down_sample_layers.{i}", channels << (i - 1) if i else 2, channels << i)
    block("conv", channels << (pools - 1), channels << pools)
    for i in range(pools):
        outputs = channels << (pools - 1 - i)
        shapes[f"{name}up_transpose_conv.{i}.layers.0.weight"] = (2 * outputs, outputs, 2, 2)
        block(f"up_conv.{i}" + ("" if i < pools - 1 else ".0"), 2 * outputs, outputs)
    shapes[f"{name}up_conv.{pools - 1}.1.weight"] = (2, channels, 1, 1)
    shapes[f"{name}up_conv.{pools - 1}.1.bias"] = (2,)
    return shapes


def plain(name):
    """A name without the prefixes that wrappers leave."""
    for prefix in PREFIXES:
        name = name[len(prefix):] if name.startswith(prefix) else name
    return name


def sizes(tensors, before):
    """Channels and pools of the U-Net whose names start so."""
    start = before + "down_sample_layers."
    return tensors[before + FIRST].shape[0], len({name[len(start):].split(".")[0] for name in tensors
                                                  if name.startswith(start)})


class UNet:
    """The U-Net of images that our checkpoints call unet."""

    def __init__(self, tensors):
        self.channels, self.pools = sizes(tensors, "")
        self.shapes = expected_shapes(self.channels, self.pools)
        self.text = f"U-Net, {self.channels} channels, {self.pools} pools"
        self.kind = f"the U-Net of {self.channels} channels and {self.pools} pools"
        self.facts = {"network": "unet", "network_channels": self.channels, "network_pools": self.pools}


class VarNet:
    """The variational network, with or without a network of sensitivities."""

    def __init__(self, tensors):
        self.cascades = len({name.split(".")[1] for name in tensors if name.startswith("cascades.")})
        channels, pools = sizes(tensors, CASCADE)
        maps = SENSE + FIRST not in tensors
        sense = (8, 4) if maps else sizes(tensors, SENSE)
        self.shapes = {} if maps else complex_shapes(SENSE, *sense)
        for i in range(self.cascades):
            self.shapes[f"cascades.{i}.dc_weight"] = (1,)
            self.shapes.update(complex_shapes(f"cascades.{i}.model.unet.", channels, pools))
        self.text = f"variational network, {self.cascades} cascades, {channels} channels, {pools} pools, " + (
            "maps" if maps else f"sensitivities {sense[0]} channels, {sense[1]} pools")
        self.kind = f"the {self.text}"
        self.facts = {"network": "varnet", "network_cascades": self.cascades, "network_channels": channels,
                      "network_pools": pools, "network_maps": int(maps), "network_sense_channels": sense[0],
                      "network_sense_pools": sense[1]}


def check(tensors, source):
    """The network that the tensors are of; stops with the list of what does not belong together."""
    if FIRST not in tensors and CASCADE + FIRST not in tensors:
        stop(f"{source} holds no {FIRST}: it is no U-Net of the public implementations; it holds "
             + (", ".join(sorted(tensors)[:8]) or "no tensor"))
    network = (UNet if FIRST in tensors else VarNet)(tensors)
    shapes = network.shapes
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
        stop(f"{source} is not {network.kind}: "
             + ", ".join(f"{len(names)} {what}" for what, names in lists.items()))
    return network


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
    tensors = {name: value for name, value in content.items() if isinstance(value, torch.Tensor)}
    if any(name.startswith("varnet.") for name in tensors):  # beside it the Lightning module holds its loss
        tensors = {name: value for name, value in tensors.items() if name.startswith("varnet.")}
    return {plain(name): value.detach().to(torch.float32).numpy() for name, value in tensors.items()}


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
    network = check(tensors, "the checkpoint")
    beside = f"{path}.{os.getpid()}.part"
    with h5py.File(beside, "w") as file:
        for name in network.shapes:
            file.create_dataset("param/" + name, data=tensors[name])
        for name, value in network.facts.items():
            file.attrs[name] = value if isinstance(value, str) else float(value)
        if size:
            file.attrs["network_size"] = float(size)
    os.replace(beside, path)
    return network


def write_pt(path, tensors, module):
    network = check(tensors, "the checkpoint")
    prefix = "module." if module else ""
    state = {prefix + name: torch.from_numpy(tensors[name].copy()) for name in network.shapes}
    beside = f"{path}.{os.getpid()}.part"
    torch.save({"model": state}, beside)
    os.replace(beside, path)
    return network


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
        network = write_h5(args.target, tensors, args.size)
    else:
        tensors = read_h5(args.source)
        network = write_pt(args.target, tensors, args.module)
    print(f"{args.target}: {network.text}, {sum(value.size for value in tensors.values())} parameters")


if __name__ == "__main__":
    main()
