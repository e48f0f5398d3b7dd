#!/usr/bin/env python3
"""Converts networks between files of PyTorch, safetensors and ONNX and our checkpoints, either way.

    convert_checkpoint.py IN OUT [--size N] [--trust] [--module]

IN and OUT are told by their endings: .h5 (ours), .pt or .ckpt (PyTorch), .safetensors, .onnx. Which network it is follows from the
names of its tensors: U-Nets of fastMRI's first release, its variational networks, policies of L2SR. ONNX holds U-Nets and
policies; a graph that computes something else is refused with its first other operation. Missing, unexpected and mis-shaped
tensors are listed and nothing is written (exit status 1). Parameters alone are converted, not an optimiser's state; what a
checkpoint says of its network and scans goes along.

IN.pt is a state dict, or a dict that holds one as 'model' or 'state_dict', with or without the prefix `module.` that
data-parallel training leaves, or `varnet.` of fastMRI's Lightning module, whose other entries are left out. OUT.pt is
{'model': state dict, 'l2sr': facts}; --module puts the prefix. --size N notes the side of the images a U-Net was trained on, so
that another is refused.

--trust unpickles arbitrary objects: only for files from people you trust. Needs numpy, and h5py, torch, safetensors or onnx for
the files that are named; nothing else of l2sr does.
"""
import argparse
import contextlib
import importlib
import os
import pathlib
import sys


def stop(text):
    sys.exit("convert_checkpoint.py: " + text)


def need(module):
    """A package that a kind of file asks for."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        stop(f"{missing}; install {module.split('.')[0]}")


numpy = need("numpy")

FIRST = "down_sample_layers.0.layers.0.weight"
CASCADE = "cascades.0.model.unet."
SENSE = "sens_net.norm_unet.unet."
ENCODER = "features_extractor.extractors.reconstruction_input."
CHANNEL = ENCODER + "channel_layer.layers.0.weight"
PREFIXES = ("module.", "varnet.")
# what checkpoints say beside the network's own sizes, as numbers or words
FACTS = ("network_size", "network_input", "network_absolute", "data_scale", "scan_geometry", "scan_initial_lines", "scan_budget")


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
        self.actions, self.image = 0, ()
        self.text = f"U-Net, {self.channels} channels, {self.pools} pools"
        self.kind = f"the U-Net of {self.channels} channels and {self.pools} pools"
        self.facts = {"network": "unet", "network_channels": self.channels, "network_pools": self.pools}


class Policy:
    """The policy and critic of L2SR that our checkpoints call policy (PROTOCOL 1.6)."""

    def __init__(self, tensors):
        start = ENCODER + "down_sample_layers."
        self.pools = len({name[len(start):].split(".")[0] for name in tensors if name.startswith(start)})
        self.channels = channels = tensors[CHANNEL].shape[0]
        last = tensors.get(ENCODER + "fc_out.4.weight", numpy.zeros((1, 1)))
        first = tensors.get(ENCODER + "fc_out.0.weight", numpy.zeros((1, 1)))
        self.actions, self.hidden = last.shape
        cells = first.shape[1] * 4 ** self.pools // (channels << self.pools)
        self.image = (cells // self.actions, self.actions)
        self.shapes = {CHANNEL: (channels, 1, 3, 3), CHANNEL[:-6] + "bias": (channels,)}
        for i in range(self.pools):
            self.shapes[f"{start}{i}.layers.0.weight"] = (channels << (i + 1), channels << i, 3, 3)
            self.shapes[f"{start}{i}.layers.0.bias"] = (channels << (i + 1),)
        for place, inputs, outputs in ((0, first.shape[1], self.hidden), (2, self.hidden, self.hidden), (4, self.hidden, self.actions)):
            self.shapes[f"{ENCODER}fc_out.{place}.weight"] = (outputs, inputs)
            self.shapes[f"{ENCODER}fc_out.{place}.bias"] = (outputs,)
        self.shapes["value_net.weight"], self.shapes["value_net.bias"] = (1, 2 * self.actions), (1,)
        self.text = f"policy, {channels} channels, {self.pools} pools, {self.hidden} hidden values, {self.actions} actions"
        self.kind = f"the {self.text}"
        self.facts = {"network": "policy", "network_channels": channels, "network_pools": self.pools, "network_hidden": self.hidden,
                      "network_size": self.actions}


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
    kinds = {FIRST: UNet, CASCADE + FIRST: VarNet, CHANNEL: Policy}
    kind = next((kinds[name] for name in kinds if name in tensors), None)
    if not kind:
        stop(f"{source} holds no {FIRST}: it is no U-Net of the public implementations, no variational network and no policy of L2SR; "
             "it holds " + (", ".join(sorted(tensors)[:8]) or "no tensor"))
    network = kind(tensors)
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
    torch = need("torch")
    allow = getattr(torch.serialization, "safe_globals", None)
    with allow([argparse.Namespace, pathlib.PosixPath]) if allow else contextlib.nullcontext():
        return torch.load(path, map_location="cpu", weights_only=not trust)


def read_pt(path, trust):
    torch = need("torch")
    try:
        content = load(path, trust)
    except Exception as error:  # torch raises a different one for each kind of damage
        hint = "" if trust else "; if it is a sound file from people you trust, --trust reads what else it holds"
        stop(f"cannot read {path}: {type(error).__name__}: {str(error).splitlines()[0]}{hint}")
    facts = content.get("l2sr", {}) if isinstance(content, dict) else {}
    for key in ("model", "state_dict"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict):
        stop(f"{path} holds a {type(content).__name__}, not a state dict")
    tensors = {name: value for name, value in content.items() if isinstance(value, torch.Tensor)}
    if any(name.startswith("varnet.") for name in tensors):  # beside it the Lightning module holds its loss
        tensors = {name: value for name, value in tensors.items() if name.startswith("varnet.")}
    return {name: value.detach().to(torch.float32).numpy() for name, value in tensors.items()}, facts


def read_h5(path, _trust):
    h5py = need("h5py")
    try:
        with h5py.File(path, "r") as file:
            found, facts = {}, {name: file.attrs[name] for name in FACTS if name in file.attrs}
            if "param" in file:
                file["param"].visititems(lambda name, item: found.update({name: item[()]})
                                         if isinstance(item, h5py.Dataset) else None)
    except OSError as error:
        stop(f"cannot read {path}: {error}")
    return found, {name: value.decode() if isinstance(value, bytes) else value for name, value in facts.items()}


def read_safetensors(path, _trust):
    safetensors = need("safetensors")
    try:
        with safetensors.safe_open(path, "np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}
    except Exception as error:  # its own kinds, and those of the file
        stop(f"cannot read {path}: {error}")


def read_onnx(path, _trust):
    need("onnx")
    import onnx_networks
    try:
        tensors, facts, content = onnx_networks.read(path)
    except Exception as error:  # protobuf's, and those of the file
        stop(f"cannot read {path}: {type(error).__name__}: {error}")
    named = {plain(name): numpy.asarray(value, numpy.float32) for name, value in tensors.items()}
    try:
        onnx_networks.check(check(named, path), named, content, plain)
    except KeyError:
        stop(f"{path} holds a variational network, which is not read from ONNX; take its state dict")
    except onnx_networks.Refused as why:
        stop(f"{path} computes something else: {why}")
    return named, facts


def put_h5(path, network, tensors, facts, _module):
    with need("h5py").File(path, "w") as file:
        for name in network.shapes:
            file.create_dataset("param/" + name, data=tensors[name])
        for name, value in facts.items():
            try:
                file.attrs[name] = numpy.asarray(value, numpy.float64)
            except ValueError:
                file.attrs[name] = value


def put_pt(path, network, tensors, facts, module):
    torch = need("torch")
    prefix = "module." if module else ""
    state = {prefix + name: torch.from_numpy(tensors[name].copy()) for name in network.shapes}
    torch.save({"model": state, "l2sr": {name: str(value) for name, value in facts.items()}}, path)


def put_safetensors(path, network, tensors, facts, _module):
    need("safetensors.numpy").save_file({name: tensors[name].copy() for name in network.shapes}, path,
                                        {name: str(value) for name, value in facts.items()})


def put_onnx(path, network, tensors, facts, _module):
    need("onnx")
    import onnx_networks
    if network.facts["network"] not in onnx_networks.BUILDERS:
        stop(f"{network.kind} is not written as ONNX; take .safetensors or .pt")
    onnx_networks.write(path, network, {name: tensors[name] for name in network.shapes}, facts)


READERS = {".pt": read_pt, ".ckpt": read_pt, ".h5": read_h5, ".hdf5": read_h5, ".safetensors": read_safetensors, ".onnx": read_onnx}
WRITERS = {".pt": put_pt, ".ckpt": put_pt, ".h5": put_h5, ".hdf5": put_h5, ".safetensors": put_safetensors, ".onnx": put_onnx}


def of_ending(table, path):
    ending = os.path.splitext(path)[1].lower()
    return table.get(ending) or stop(f"{path} ends in none of {', '.join(table)}")


def value_of(value):
    """A fact as a number or a word: files of other programs hold words only; sides may be two numbers."""
    value = value.tolist() if isinstance(value, (numpy.generic, numpy.ndarray)) else value
    if not isinstance(value, str):
        return value
    try:
        return [float(part) for part in value.strip("[]").split(",")] if value.startswith("[") else float(value)
    except ValueError:
        return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--module", action="store_true")
    parser.add_argument("--trust", action="store_true")
    args = parser.parse_args()
    read, put = of_ending(READERS, args.source), of_ending(WRITERS, args.target)
    tensors, said = read(args.source, args.trust)
    tensors = {plain(name): numpy.asarray(value, numpy.float32) for name, value in tensors.items()}
    network = check(tensors, args.source)
    facts = {**network.facts, **{name: value_of(said[name]) for name in FACTS if name in said}}
    if args.size:
        facts["network_size"] = args.size
    beside = f"{args.target}.{os.getpid()}.part"
    try:
        put(beside, network, tensors, facts, args.module)
        os.replace(beside, args.target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
    print(f"{args.target}: {network.text}, {sum(value.size for value in tensors.values())} parameters")


if __name__ == "__main__":
    main()
