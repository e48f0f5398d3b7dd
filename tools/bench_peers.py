#!/usr/bin/env python3
"""Times PyTorch doing the work of `l2sr bench`, on the same card, for a fair ratio.

    bench_peers.py observe [--size N] [--envs N] [--slices N] [--repeats N] [--json]
    bench_peers.py network [--size N] [--batch N] [--precisions f32,tf32,autocast] [--kinds eager,compiled,graphs,max-autotune]
                           [--norms module,written] [--layouts first,last] [--works forward,train] [--seconds N] [--json]
    bench_peers.py a2c     the same, and [--envs N]
    bench_peers.py pgmri [--size N] [--batch N] [--envs N] [--precisions f32,tf32,autocast] [--json]
    bench_peers.py varnet [--size N] [--coils N] [--cascades N] [--batch N] [--precisions f32,tf32,autocast]
                          [--works forward,train] [--kinds eager,compiled] [--json]
    bench_peers.py train-unet --data FOLDER [--epochs N] [--batch 16] [--compile] [--json]
    bench_peers.py environment --source FOLDER [--kind l2sr|active-mri] [--size N] [--envs 16] [--repeats N] [--json]

observe: one environment-step = choose a random free line, add it to the mask, zero-filled magnitude of the
masked k-space by ifft2, its mean and sample deviation. Eager and torch.compile, float32; the median of the
repeats after a warm-up, synchronised. network: the U-Net, forward and a training step, by all ways of PyTorch that are asked for: eager
or compiled, with CUDA graphs, max-autotune; InstanceNorm2d or the same written out by single operations; channels first or last in
memory. Every way is timed, one that fails is told, and the best of each work and precision is named at the end. a2c: the
policy by the same ways, forward and a training step (A2C loss, clipping,
RMSprop) on --batch observations, and whole iterations of L2S: 28 steps of --envs scans, the terminal U-Net and SSIM,
the update in micro-batches of --batch (not with CUDA graphs). pgmri: an update of PG-MRI on --envs scans of 28 steps, 8 of a slice: a
reconstruction and its SSIM before every step and after the last, the policy on it, returns of gamma 0.9 beside the mean
of a slice's scans, Adam. varnet: the variational network on --batch slices of --coils coils, forward and a training step; compiled are its
U-Nets, what stands between them is complex. train-unet: the protocol's reconstructor training on real files. Needs PyTorch (train-unet also h5py); nothing of l2sr does.

environment: steps of a public environment, its own code imported from FOLDER and driven with random images past its data
loading; --envs scans in lock-step, random free lines drawn before the clock starts; no step is an episode's last. FOLDER is
a checkout of yangpuPKU/L2SR-Learning-to-Sample-and-Reconstruct (85d8adb) for l2sr, and of
facebookresearch/active-mri-acquisition (2780bd9) for active-mri, which also needs fastmri (pip install --no-deps fastmri).
l2sr: step of SparseVecEnv: mask, masked k-space, inverse FFT, magnitude, normalised observation; the terminal reconstruction
and its score are left out, so l2sr's side is steps never scored. active-mri: step of ActiveMRIEnv with its U-Net's transform
and a reconstructor that returns the zero-filled image, scored after every step by its own mse, nmse, ssim and psnr; without
scikit-image ssim and psnr are left out, and the row says so. Tensors live where the published code keeps them: all on the
CPU; active-mri's reconstructor on the card if there is one. torch.ifft and torch.rfft, which new versions of PyTorch lack,
are made of torch.fft; np.float and np.infty of float and np.inf. Packages not installed and not on the timed path (gym, h5py,
stable_baselines3, ...) are replaced by empty classes.
"""
import argparse
import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import sys
import time
import types

try:
    import torch
except ModuleNotFoundError:
    torch = None
if torch is None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.exit(print(__doc__))
    sys.exit("bench_peers.py: there is no PyTorch, whose times are taken; install it (Debian: python3-torch)")


def make_step(size, slices, device):
    image = torch.rand(slices, size, size, device=device)
    shift = torch.fft.ifftshift(image, dim=(-2, -1))
    kspace = torch.fft.fft2(shift, norm="ortho")  # centre at the start; masks below are in the same order

    def step(slice_of, mask):
        free = (~mask).float()
        action = torch.multinomial(free, 1)
        mask = mask.scatter(1, action, True)
        masked = kspace[slice_of] * mask[:, None, :]
        magnitude = torch.fft.ifft2(masked, norm="ortho").abs()
        mean = magnitude.mean(dim=(1, 2))
        std = magnitude.flatten(1).std(dim=1)
        return mask, magnitude, mean, std

    return step, image


def check(step, image, slices, size, device):
    """A full mask gives the image back."""
    mask = torch.ones(slices, size, dtype=torch.bool, device=device)
    mask[:, 0] = False
    _, magnitude, _, _ = step(torch.arange(slices, device=device), mask)
    error = (torch.fft.fftshift(magnitude, dim=(-2, -1)) - image[:slices]).abs().max().item()
    assert error < 1e-5, f"the step is wrong by {error}"


def time_steps(step, envs, slices, size, budget, repeats, device):
    slice_of = torch.arange(envs, device=device) % slices
    start_mask = torch.zeros(envs, size, dtype=torch.bool, device=device)
    start_mask[:, :2] = True
    start_mask[:, -2:] = True
    seconds = []
    for repeat in range(-2, repeats):
        mask = start_mask.clone()
        torch.cuda.synchronize() if device == "cuda" else None
        start = time.perf_counter()
        for _ in range(budget):
            mask, magnitude, mean, std = step(slice_of, mask)
        torch.cuda.synchronize() if device == "cuda" else None
        if repeat >= 0:
            seconds.append((time.perf_counter() - start) / budget)
        assert int(mask.sum(1).min()) == 4 + budget
    return sorted(seconds)[len(seconds) // 2]


def observe(args):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    for kind in ("eager", "compiled"):
        step, image = make_step(args.size, args.slices, device)
        step = step if kind == "eager" else torch.compile(step)
        check(step, image, min(args.slices, 64), args.size, device)
        seconds = time_steps(step, args.envs, args.slices, args.size, 28, args.repeats, device)
        row = {"peer": f"PyTorch {torch.__version__} {kind}", "bench": "observe", "device": name,
               "size": args.size, "envs": args.envs, "slices": args.slices,
               "steps_per_second": args.envs / seconds, "milliseconds": 1e3 * seconds}
        print(json.dumps(row) if args.json else
              f"{row['peer']}: {row['steps_per_second']:.4g} environment-steps/s ({row['milliseconds']:.4g} ms "
              f"a step of {args.envs} environments of {args.size}x{args.size}) on {name}", flush=True)


# ---- the U-Net of the public implementation, and training it ------------------------------------------------------


class WrittenNorm(torch.nn.Module):
    """InstanceNorm2d by single operations: compiled it is fused, and channels stay last (pytorch/pytorch#59168)."""

    def __init__(self, channels):
        super().__init__()

    def forward(self, x):
        wide = x.float()
        mean = wide.mean((2, 3), keepdim=True)
        spread = (wide - mean).square().mean((2, 3), keepdim=True)
        return ((wide - mean) * torch.rsqrt(spread + 1e-5)).to(x.dtype)


NORMS = {"module": torch.nn.InstanceNorm2d, "written": WrittenNorm}


def block(inputs, outputs, norm):
    layers = []
    for a, b in ((inputs, outputs), (outputs, outputs)):
        layers += [torch.nn.Conv2d(a, b, 3, padding=1), norm(b), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers)


class UNet(torch.nn.Module):
    def __init__(self, channels=16, pools=4, norm=torch.nn.InstanceNorm2d):
        super().__init__()
        sizes = [channels << k for k in range(pools)]
        self.down = torch.nn.ModuleList(block(a, b, norm) for a, b in zip([1] + sizes, sizes))
        self.middle = block(sizes[-1], sizes[-1], norm)
        outs = [max(size // 2, channels) for size in reversed(sizes)]
        self.up = torch.nn.ModuleList(block(2 * size, out, norm) for size, out in zip(reversed(sizes), outs))
        self.head = torch.nn.Sequential(torch.nn.Conv2d(channels, channels // 2, 1), torch.nn.Conv2d(channels // 2, 1, 1),
                                        torch.nn.Conv2d(1, 1, 1))

    def forward(self, x):
        skips = []
        for layer in self.down:
            x = layer(x)
            skips.append(x)
            x = torch.nn.functional.max_pool2d(x, 2)
        x = self.middle(x)
        for layer in self.up:
            x = torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = layer(torch.cat([x, skips.pop()], 1))
        return self.head(x)


def ssim(a, b, length):
    """Mean of the map per image: 11x11 Gaussian, zeros outside; `length` is the data range by image."""
    g = torch.exp(-((torch.arange(11, device=a.device, dtype=torch.float32) - 5) ** 2) / (2 * 1.5 ** 2))
    g = g / g.sum()
    a, b = a.float() / length[:, None, None, None], b.float() / length[:, None, None, None]
    stack = torch.cat([a, b, a * a, b * b, a * b], 1)
    rows = torch.nn.functional.conv2d(stack, g.view(1, 1, 1, 11).repeat(5, 1, 1, 1), padding=(0, 5), groups=5)
    ma, mb, aa, bb, ab = torch.nn.functional.conv2d(rows, g.view(1, 1, 11, 1).repeat(5, 1, 1, 1), padding=(5, 0),
                                                    groups=5).split(1, 1)
    c1, c2 = 0.01 ** 2, 0.03 ** 2
    value = (2 * ma * mb + c1) * (2 * (ab - ma * mb) + c2) / (
        (ma * ma + mb * mb + c1) * (aa - ma * ma + bb - mb * mb + c2))
    return value.mean((1, 2, 3))


def median_seconds(run, device):
    sync = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    for _ in range(3):
        run()
    sync()
    start = time.perf_counter()
    run()
    sync()
    passes = max(1, min(100, int(0.1 / (time.perf_counter() - start))))
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(passes):
            run()
        sync()
        seconds.append((time.perf_counter() - start) / passes)
    return sorted(seconds)[2]


PRECISIONS = {"f32": (False, False), "tf32": (True, False), "autocast": (True, True)}
# torch.compile's modes; graphs: CUDA graphs, which max-autotune has too
KINDS = {"eager": None, "compiled": "default", "graphs": "reduce-overhead", "max-autotune": "max-autotune"}


def half_type(device):
    return torch.float16 if device == "cuda" else torch.bfloat16  # the one that a CPU's autocast takes


def use_precision(precision):
    """Whether it is halves, by autocast."""
    tf32, half = PRECISIONS[precision]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    return half


class Graphs(torch.nn.Module):
    """What a network of CUDA graphs gives, apart from the graphs' memory, which their next run takes."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *inputs):
        torch.compiler.cudagraph_mark_step_begin()
        outputs = self.network(*inputs)
        return tuple(x.clone() for x in outputs) if isinstance(outputs, tuple) else outputs.clone()


def prepare_network(model, kind, layout):
    """The network in a layout of memory, and what runs it."""
    if layout == "last":
        model = model.to(memory_format=torch.channels_last)
    if KINDS[kind] is None:
        return model, model
    fast = torch.compile(model, mode=KINDS[kind])
    return model, Graphs(fast) if torch.cuda.is_available() and kind in ("graphs", "max-autotune") else fast


def words_of(parser_name, text, known):
    words = text.split(",")
    for word in words:
        if word not in known:
            sys.exit(f"--{parser_name}: '{word}' is none of {', '.join(known)}")
    return words


def ways_of(args):
    """Kind, norm and layout of every way that is asked for and that this PyTorch has, the quickest to compile first."""
    kinds = words_of("kinds", args.kinds, KINDS)
    norms, layouts = words_of("norms", args.norms, NORMS), words_of("layouts", args.layouts, ("first", "last"))
    if not hasattr(torch, "compile"):  # before 2.0
        kinds = [kind for kind in kinds if kind == "eager"] or ["eager"]
    if not torch.cuda.is_available() and "graphs" in kinds:
        print("left out: graphs, for there is no CUDA", file=sys.stderr)
        kinds = [kind for kind in kinds if kind != "graphs"]
    return [(kind, norm, layout) for kind in kinds for norm in norms for layout in layouts]


def describe_way(way):
    kind, norm, layout = way
    return f"{kind}, {'norm written out' if norm == 'written' else 'InstanceNorm2d'}, channels {layout}"


def check_norm(device):
    x = 3 * torch.randn(2, 4, 16, 16, device=device) + 1
    error = (WrittenNorm(4)(x) - torch.nn.InstanceNorm2d(4)(x)).abs().max().item()
    assert error < 1e-4, f"the norm that is written out is wrong by {error}"


def time_ways(args, bench, unit, facts, open_way):
    """Times every way in every precision, and names the best of each work. open_way(way, precision) returns rows of work, what
    runs it and how many it does. A way that fails is told, and one that would begin after --seconds is left out."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else f"CPU, threads: {torch.get_num_threads()}"
    start, best = time.perf_counter(), {}
    check_norm(device)
    for way in ways_of(args):
        for precision in words_of("precisions", args.precisions, PRECISIONS):
            if args.seconds and time.perf_counter() - start > args.seconds:
                print(f"left out after {args.seconds} s: {describe_way(way)}, {precision}", file=sys.stderr, flush=True)
                continue
            try:
                if hasattr(torch, "compiler"):  # since 2.1
                    torch.compiler.reset()
                for work, run, count in open_way(way, precision):
                    seconds = median_seconds(run, device)
                    row = {"peer": f"PyTorch {torch.__version__}", "way": describe_way(way), "bench": bench, "work": work,
                           "precision": precision, "device": name, "size": args.size, "batch": args.batch, **facts,
                           unit: count / seconds, "milliseconds": 1e3 * seconds}
                    tell_row(args, row, unit)
                    if (work, precision) not in best or row[unit] > best[work, precision][unit]:
                        best[work, precision] = row
            except Exception as error:  # a compiler that is missing, a mode that this version refuses
                text = str(error).strip().splitlines() or [type(error).__name__]
                print(f"failed: {describe_way(way)}, {precision}: {text[0][:200]}", file=sys.stderr, flush=True)
    if not best:
        sys.exit("bench_peers.py: no way was timed")
    for row in best.values():
        tell_row(args, {**row, "best": True}, unit)


def tell_row(args, row, unit):
    words = unit.replace("_per_second", "/s").replace("per_second", "rows/s")
    print(json.dumps(row) if args.json else
          f"{'best: ' if row.get('best') else ''}{row['peer']}, {row['way']}, {row['precision']}, {row['work']}: "
          f"{row[unit]:.5g} {words} ({row['milliseconds']:.4g} ms) on {row['device']}", flush=True)


def network(args):
    """Images per second of the U-Net, forward and forward + SSIM loss + backward + Adam."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = True
    image = torch.randn(args.batch, 1, args.size, args.size, device=device)
    target = torch.randn_like(image)
    one = torch.ones(args.batch, device=device)

    def open_way(way, precision):
        kind, norm, layout = way
        half = use_precision(precision)
        model, fast = prepare_network(UNet(args.channels, norm=NORMS[norm]).to(device), kind, layout)
        optimiser = torch.optim.Adam(model.parameters(), 1e-3)

        def forward():
            with torch.no_grad(), torch.autocast(device, half_type(device), enabled=half):
                return fast(image)

        def train():
            optimiser.zero_grad(set_to_none=True)
            with torch.autocast(device, half_type(device), enabled=half):
                output = fast(image)
            (-ssim(output, target, one).mean()).backward()
            optimiser.step()

        runs = {"forward": forward, "train": train}
        return [(work, runs[work], args.batch) for work in words_of("works", args.works, runs)]

    time_ways(args, "network", "images_per_second", {"channels": args.channels}, open_way)


# ---- the variational network --------------------------------------------------------------------------------------


def complex_block(inputs, outputs):
    layers = []
    for a, b in ((inputs, outputs), (outputs, outputs)):
        layers += [torch.nn.Conv2d(a, b, 3, padding=1, bias=False), torch.nn.InstanceNorm2d(b), torch.nn.LeakyReLU(0.2)]
    return torch.nn.Sequential(*layers)


class ComplexUNet(torch.nn.Module):
    """fastMRI's NormUnet: two planes, each normalised, through a U-Net whose transposed convolutions double the sides."""

    def __init__(self, channels, pools=4):
        super().__init__()
        sizes = [channels << k for k in range(pools + 1)]
        self.down = torch.nn.ModuleList(complex_block(a, b) for a, b in zip([2] + sizes, sizes))
        self.wide = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.ConvTranspose2d(2 * a, a, 2, stride=2, bias=False), torch.nn.InstanceNorm2d(a),
                                torch.nn.LeakyReLU(0.2)) for a in reversed(sizes[:-1]))
        self.up = torch.nn.ModuleList(complex_block(2 * a, a) for a in reversed(sizes[:-1]))
        self.head = torch.nn.Conv2d(channels, 2, 1)

    def forward(self, image):
        return torch.view_as_complex(self.planes(torch.view_as_real(image)))

    def planes(self, pairs):
        x = pairs.permute(0, 3, 1, 2)
        mean, std = x.mean((2, 3), keepdim=True), x.std((2, 3), keepdim=True)
        x, skips = (x - mean) / std, []
        for layer in self.down[:-1]:
            skips.append(layer(x))
            x = torch.nn.functional.avg_pool2d(skips[-1], 2)
        x = self.down[-1](x)
        for wide, layer in zip(self.wide, self.up):
            x = layer(torch.cat([wide(x), skips.pop()], 1))
        return (self.head(x).float() * std + mean).permute(0, 2, 3, 1).contiguous()


def centred(x, transform):
    return torch.fft.fftshift(transform(torch.fft.ifftshift(x, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))


class VarNet(torch.nn.Module):
    """End-to-end variational network of lines (A. Sriram et al. 2020); the centre is 24 lines."""

    def __init__(self, cascades=12, channels=18, sense_channels=8):
        super().__init__()
        self.sense = ComplexUNet(sense_channels)
        self.cascade = torch.nn.ModuleList(ComplexUNet(channels) for _ in range(cascades))
        self.step = torch.nn.Parameter(torch.ones(cascades))

    def maps(self, kspace):
        batch, coils, height, width = kspace.shape
        centre = torch.zeros(width, device=kspace.device)
        centre[width // 2 - 12:width // 2 + 12] = 1
        images = centred(kspace * centre, torch.fft.ifft2).reshape(batch * coils, height, width)
        maps = self.sense(images).reshape(kspace.shape)
        return maps / maps.abs().square().sum(1, keepdim=True).sqrt()

    def forward(self, measured, mask):
        maps, kspace = self.maps(measured), measured
        for step, cascade in zip(self.step, self.cascade):
            image = (centred(kspace, torch.fft.ifft2) * maps.conj()).sum(1)
            kspace = kspace - step * mask * (kspace - measured) - centred(maps * cascade(image)[:, None], torch.fft.fft2)
        return centred(kspace, torch.fft.ifft2).abs().square().sum(1, keepdim=True).sqrt()


def varnet(args):
    """Slices per second of the variational network, forward and forward + SSIM loss + backward + Adam."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    torch.backends.cudnn.benchmark = True
    shape = (args.batch, args.coils, args.size, args.size)
    mask = (torch.rand(args.size, device=device) < 0.25).float()
    mask[args.size // 2 - 12:args.size // 2 + 12] = 1
    measured = torch.complex(torch.randn(shape, device=device), torch.randn(shape, device=device)) * mask
    target, one = torch.rand(args.batch, 1, args.size, args.size, device=device), torch.ones(args.batch, device=device)
    for precision in args.precisions.split(","):
        half = use_precision(precision)
        for kind in args.kinds.split(","):
            model = VarNet(args.cascades).to(device)
            for net in model.modules() if kind == "compiled" else ():
                if isinstance(net, ComplexUNet):
                    net.planes = torch.compile(net.planes)
            optimiser = torch.optim.Adam(model.parameters(), 3e-4)

            def forward():
                with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=half):
                    return model(measured, mask)

            def train():
                optimiser.zero_grad(set_to_none=True)
                with torch.autocast(device, torch.bfloat16, enabled=half):
                    output = model(measured, mask)
                (-ssim(output, target, one).mean()).backward()
                optimiser.step()

            for work in args.works.split(","):
                seconds = median_seconds({"forward": forward, "train": train}[work], device)
                row = {"peer": f"PyTorch {torch.__version__} {kind}", "bench": "varnet", "work": work,
                       "precision": precision, "device": name, "size": args.size, "coils": args.coils,
                       "cascades": args.cascades, "batch": args.batch, "slices_per_second": args.batch / seconds,
                       "milliseconds": 1e3 * seconds}
                print(json.dumps(row) if args.json else
                      f"{row['peer']}, {precision}, {work}: {row['slices_per_second']:.4g} slices/s "
                      f"({row['milliseconds']:.4g} ms a batch of {args.batch}) on {name}", flush=True)


# ---- the policy and A2C -----------------------------------------------------------------------------------------


class Policy(torch.nn.Module):
    """Encoder, masked actor and critic of the public implementation."""

    def __init__(self, size, channels=16, pools=4, hidden=256, norm=torch.nn.InstanceNorm2d):
        super().__init__()
        layers, inputs = [], 1
        for k in range(pools + 1):
            outputs = channels << k
            layers += [torch.nn.Conv2d(inputs, outputs, 3, padding=1), norm(outputs), torch.nn.ReLU()]
            layers += [torch.nn.MaxPool2d(2)] if k else []
            inputs = outputs
        flat = inputs * (size >> pools) ** 2
        self.maps = torch.nn.Sequential(*layers)
        self.dense = torch.nn.Sequential(torch.nn.Linear(flat, hidden), torch.nn.LeakyReLU(), torch.nn.Linear(hidden, hidden),
                                         torch.nn.LeakyReLU(), torch.nn.Linear(hidden, size))
        self.value = torch.nn.Linear(2 * size, 1)
        for layer in self.modules():
            if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
                torch.nn.init.orthogonal_(layer.weight, 1 if layer is self.value else 2 ** 0.5)
                torch.nn.init.zeros_(layer.bias)

    def forward(self, observation, mask):
        encoded = self.dense(self.maps(observation).flatten(1))
        return encoded.float() - 1e10 * mask, self.value(torch.cat([mask, encoded], 1)).float()[:, 0]


def a2c_loss(logits, value, action, advantage, target):
    spread = torch.distributions.Categorical(logits=logits)
    return (-(advantage * spread.log_prob(action)).mean() - 0.03 * spread.entropy().mean()
            + 0.5 * ((target - value) ** 2).mean())


def start_mask(envs, size, device):
    mask = torch.zeros(envs, size, device=device)
    mask[:, size // 2 - 2:size // 2 + 2] = 1
    return torch.fft.ifftshift(mask, dim=1)


def l2s_iteration(data, model, unet, optimiser, args, half, device, steps=28):
    """A rollout of all scans and one update on all of its steps, gradients added up over micro-batches."""
    rows = torch.randint(len(data["mean"]), (args.envs,), device=device)
    mask, masks, actions, values = start_mask(args.envs, args.size, device), [], [], []
    with torch.no_grad(), torch.autocast(device, half_type(device), enabled=half):
        for _ in range(steps):
            parts = [model(observe_masked(data, rows[k:k + args.batch], mask[k:k + args.batch]), mask[k:k + args.batch])
                     for k in range(0, args.envs, args.batch)]
            logits, value = torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])
            action = torch.distributions.Categorical(logits=logits).sample()
            masks.append(mask)
            actions.append(action)
            values.append(value)
            mask = mask.scatter(1, action[:, None], 1.0)
        reward = 100 * torch.cat([scores(unet, data, rows[k:k + args.batch], mask[k:k + args.batch])
                                  for k in range(0, args.envs, args.batch)])
    advantage, target, carried = [None] * steps, [None] * steps, torch.zeros_like(reward)
    for t in reversed(range(steps)):
        delta = (reward if t == steps - 1 else values[t + 1]) - values[t]
        carried = delta + 0.95 * carried
        advantage[t], target[t] = carried, carried + values[t]
    flat = [torch.cat(x) for x in (masks, actions, advantage, target)]
    optimiser.zero_grad(set_to_none=True)
    total = steps * args.envs
    for k in range(0, total, args.batch):
        part = [x[k:k + args.batch] for x in flat]
        which = rows[torch.arange(k, min(k + args.batch, total), device=device) % args.envs]
        with torch.autocast(device, half_type(device), enabled=half):
            logits, value = model(observe_masked(data, which, part[0]), part[0])
        (a2c_loss(logits, value, part[1], part[2], part[3]) * (len(which) / total)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimiser.step()


def a2c(args):
    """Observations per second of the policy, forward and a training step, and environment-steps of whole iterations."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = True
    images = torch.rand(64, args.size, args.size)
    data = prepare(images, torch.arange(64), device)
    observation = torch.randn(args.batch, 1, args.size, args.size, device=device)
    mask = start_mask(args.batch, args.size, device)
    action = torch.full((args.batch,), args.size // 4, device=device)
    advantage, target = torch.randn(args.batch, device=device), torch.randn(args.batch, device=device)

    def open_way(way, precision):
        kind, norm, layout = way
        half = use_precision(precision)
        model, fast = prepare_network(Policy(args.size, norm=NORMS[norm]).to(device), kind, layout)
        unet, fast_unet = prepare_network(UNet(norm=NORMS[norm]).to(device), kind, layout)
        optimiser = torch.optim.RMSprop(model.parameters(), 3e-4, alpha=0.99, eps=1e-5)

        def forward():
            with torch.no_grad(), torch.autocast(device, half_type(device), enabled=half):
                return fast(observation, mask)

        def train():
            optimiser.zero_grad(set_to_none=True)
            with torch.autocast(device, half_type(device), enabled=half):
                logits, value = fast(observation, mask)
            a2c_loss(logits, value, action, advantage, target).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimiser.step()

        works = [("forward", forward, args.batch), ("train", train, args.batch)]
        # gradients of several passes are added up in memory that a CUDA graph's next run takes
        if args.envs and isinstance(fast, Graphs):
            print(f"left out: {describe_way(way)}, {precision}, l2s: its passes share the memory of CUDA graphs", file=sys.stderr)
        elif args.envs:
            works.append(("l2s", lambda: l2s_iteration(data, fast, fast_unet, optimiser, args, half, device), 28 * args.envs))
        return works

    time_ways(args, "a2c", "per_second", {"envs": args.envs}, open_way)


def reconstruct(data, unet, rows, mask, batch):
    """What the policy sees, and the SSIM, of every scan."""
    seen, score = [], []
    for k in range(0, len(rows), batch):
        which = rows[k:k + batch]
        output = unet(observe_masked(data, which, mask[k:k + batch])).float()
        image = output * data["std"][which, None, None, None] + data["mean"][which, None, None, None]
        seen.append(output)
        score.append(ssim(image, data["target"][which][:, None], data["range"][which]))
    return torch.cat(seen), torch.cat(score)


def pgmri_update(data, model, unet, optimiser, args, half, device, steps=28, trajectories=8):
    """Its update with the non-greedy estimator (PROTOCOL 2); observations are kept, activations are not."""
    rows = (torch.arange(args.envs, device=device) // trajectories) % len(data["mean"])
    mask, seen, masks, actions, scores_seen = start_mask(args.envs, args.size, device), [], [], [], []
    with torch.no_grad(), torch.autocast(device, half_type(device), enabled=half):
        for step in range(steps + 1):
            image, score = reconstruct(data, unet, rows, mask, args.batch)
            scores_seen.append(score)
            if step == steps:
                break
            logits = torch.cat([model(image[k:k + args.batch], mask[k:k + args.batch])[0]
                                for k in range(0, args.envs, args.batch)])
            action = torch.distributions.Categorical(logits=logits).sample()
            seen.append(image)
            masks.append(mask)
            actions.append(action)
            mask = mask.scatter(1, action[:, None], 1.0)
    back, advantage = torch.zeros(args.envs, device=device), [None] * steps
    for t in reversed(range(steps)):
        back = scores_seen[t + 1] - scores_seen[t] + 0.9 * back
        mean = back.view(-1, trajectories).mean(1, keepdim=True)
        advantage[t] = ((back.view(-1, trajectories) - mean) * trajectories / (trajectories - 1)).flatten()
    flat = [torch.cat(x) for x in (seen, masks, actions, advantage)]
    optimiser.zero_grad(set_to_none=True)
    for k in range(0, steps * args.envs, args.batch):
        image, mask, action, weight = [x[k:k + args.batch] for x in flat]
        with torch.autocast(device, half_type(device), enabled=half):
            logits = model(image, mask)[0]
        chosen = torch.log_softmax(logits.float(), 1).gather(1, action[:, None])[:, 0]
        (-(chosen * weight).sum() / args.envs).backward()
    optimiser.step()


def pgmri(args):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    torch.backends.cudnn.benchmark = True
    data = prepare(torch.rand(64, args.size, args.size), torch.arange(64), device)
    for precision in args.precisions.split(","):
        half = use_precision(precision)
        for kind in ("eager", "compiled"):
            model, unet = Policy(args.size).to(device), UNet().to(device)
            if half:
                model, unet = (x.to(memory_format=torch.channels_last) for x in (model, unet))
            optimiser = torch.optim.Adam(model.parameters(), 5e-5)
            fast, fast_unet = (x if kind == "eager" else torch.compile(x) for x in (model, unet))
            seconds = median_seconds(lambda: pgmri_update(data, fast, fast_unet, optimiser, args, half, device), device)
            row = {"peer": f"PyTorch {torch.__version__} {kind}", "bench": "pgmri", "precision": precision, "device": name,
                   "size": args.size, "batch": args.batch, "envs": args.envs,
                   "reconstructions_per_second": 29 * args.envs / seconds, "milliseconds": 1e3 * seconds}
            print(json.dumps(row) if args.json else
                  f"{row['peer']}, {precision}, PG-MRI: {row['reconstructions_per_second']:.5g} reconstructions/s "
                  f"({row['milliseconds']:.4g} ms for {args.envs} scans) on {name}", flush=True)


def read_slices(folder, size):
    """Images, and the volume each is of, from fastMRI-format files whose images are `size` wide."""
    import glob

    import h5py
    images, volume = [], []
    for v, path in enumerate(sorted(glob.glob(folder + "/*.h5"))):
        with h5py.File(path) as f:
            key = "reconstruction_esc" if "reconstruction_esc" in f else "reconstruction_rss"
            stack = f[key][:]
        top, left = (stack.shape[1] - size) // 2, (stack.shape[2] - size) // 2
        images.append(torch.tensor(stack[:, top:top + size, left:left + size]))
        volume += [v] * len(stack)
    return torch.cat(images), torch.tensor(volume)


def prepare(images, volume, device):
    images, volume = images.to(device), volume.to(device)
    mean, std = images.mean((1, 2)), images.flatten(1).std(1)
    target = ((images - mean[:, None, None]) / (std[:, None, None] + 1e-11)).clamp(-6, 6)
    target = target * std[:, None, None] + mean[:, None, None]
    peak = torch.zeros(int(volume.max()) + 1, device=device).scatter_reduce(0, volume, target.amax((1, 2)), "amax")
    kspace = torch.fft.fft2(torch.fft.ifftshift(images, dim=(1, 2)), norm="ortho")
    return {"kspace": kspace, "target": target, "mean": mean, "std": std, "range": peak[volume]}


def bernoulli_mask(count, size, generator, device):
    """x4, initial x8: N/8 central columns, every other with probability p; centre at the start (PROTOCOL 1.10)."""
    low = size // 8
    p = (size / 4 - low) / (size - low)
    mask = torch.rand(count, size, generator=generator, device=device) < p
    start = (size - low + 1) // 2
    mask[:, start:start + low] = True
    return torch.fft.ifftshift(mask, dim=1)


def observe_masked(data, rows, mask):
    a = torch.fft.fftshift(torch.fft.ifft2(data["kspace"][rows] * mask[:, None, :], norm="ortho").abs(), dim=(1, 2))
    mean, std = a.mean((1, 2), keepdim=True), a.flatten(1).std(1)[:, None, None]
    return ((a - mean) / (std + 1e-11)).clamp(-6, 6)[:, None]


def scores(model, data, rows, mask):
    output = model(observe_masked(data, rows, mask)).float()
    image = output * data["std"][rows, None, None, None] + data["mean"][rows, None, None, None]
    return ssim(image, data["target"][rows][:, None], data["range"][rows])


def train_unet(args):
    """The protocol's reconstructor training (x4 Base): validation SSIM by epoch, and the wall time."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.precisions != "f32"
    train = prepare(*read_slices(args.data + "/train", args.size), device)
    val = prepare(*read_slices(args.data + "/val", args.size), device)
    count, val_count = len(train["mean"]), len(val["mean"])
    generator = torch.Generator(device).manual_seed(args.seed)
    val_mask = bernoulli_mask(val_count, args.size, generator, device)
    model = UNet().to(device)
    fast = torch.compile(model) if args.compile else model
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 40, 0.1)
    start, best = time.perf_counter(), -1.0
    for epoch in range(args.epochs):
        order = torch.randperm(count, generator=generator, device=device)
        for first in range(0, count, args.batch):
            rows = order[first:first + args.batch]
            mask = bernoulli_mask(len(rows), args.size, generator, device)
            optimiser.zero_grad(set_to_none=True)
            (-scores(fast, train, rows, mask).mean()).backward()
            optimiser.step()
        schedule.step()
        with torch.no_grad():
            value = torch.cat([scores(fast, val, torch.arange(k, min(k + 64, val_count), device=device), val_mask[k:k + 64])
                               for k in range(0, val_count, 64)]).mean().item()
        best = max(best, value)
        row = {"peer": f"PyTorch {torch.__version__}", "bench": "train-unet", "epoch": epoch + 1, "validation_ssim": value,
               "best": best, "seconds": time.perf_counter() - start}
        print(json.dumps(row) if args.json else
              f"epoch {epoch + 1}: validation SSIM {value:.5f}, best {best:.5f}, {row['seconds']:.1f} s", flush=True)


# ---- the public environments --------------------------------------------------------------------------------------

STUBS = {"gym", "stable_baselines3", "munch", "runstats", "piq", "h5py", "skimage", "ignite", "tensorboardX", "torchvision",
         "matplotlib", "pandas", "requests", "yaml", "tqdm"}


class Stub(types.ModuleType):
    """A package that is not installed: every name in it is an empty class, or in small letters another such module."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        empty = {"__init__": lambda self, *args, **options: None}
        value = Stub(name) if name.islower() else type(name, (), empty)
        setattr(self, name, value)
        return value


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last, so that what is installed is used."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in STUBS else None

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


def old_ifft(x, signal_ndim, normalized=False):
    """torch.ifft as it was before PyTorch 1.8: complex numbers are pairs in the last dimension."""
    dims = tuple(range(-signal_ndim, 0))
    result = torch.fft.ifftn(torch.view_as_complex(x.contiguous()), dim=dims, norm="ortho" if normalized else "backward")
    return torch.view_as_real(result)


def old_rfft(x, signal_ndim, normalized=False, onesided=True):
    transform = torch.fft.rfftn if onesided else torch.fft.fftn
    dims = tuple(range(-signal_ndim, 0))
    return torch.view_as_real(transform(x, dim=dims, norm="ortho" if normalized else "backward"))


def open_source(folder):
    """Makes the published code importable from its checkout with today's packages."""
    import numpy
    if not os.path.isdir(os.path.join(folder, "activemri", "envs")):
        sys.exit(f"{folder}: no activemri/envs, so no checkout of a public environment")
    sys.path.insert(0, folder)
    sys.meta_path.append(StubFinder())
    for module, name, value in ((numpy, "float", float), (numpy, "infty", numpy.inf), (torch, "ifft", old_ifft),
                                (torch, "rfft", old_rfft)):
        if name not in vars(module):
            setattr(module, name, value)


def start_lines(masks, size):
    """The function of the published code that gives a scan its size/32 central lines."""
    return functools.partial(masks.sample_low_frequency_mask, {"width_dim": 1, "max_width": size, "min_cols": size // 64,
                                                               "max_cols": size // 64, "centered": True})


def l2sr_environment(images, size):
    """SparseVecEnv past its constructor; how to reset it, and its observation of full masks beside the normalised image."""
    from activemri.data.pgmri_knee_data import DataTransform
    from activemri.envs import envs, masks, sparse_vecenvs
    env = sparse_vecenvs.SparseVecEnv.__new__(sparse_vecenvs.SparseVecEnv)
    envs.ActiveMRIEnv.__init__(env, [size, size], num_parallel_episodes=len(images), budget=size, seed=0)
    env.num_envs, env.reward_metric = len(images), "ssim"
    env._mask_func, env._transform = start_lines(masks, size), sparse_vecenvs.PPO_EndtoEnd_transform
    env._current_data_range_dict = {"volume": torch.ones(1, 1, 1)}
    transform = DataTransform(size)
    slices = [transform(image.numpy(), {}, "volume", k) for k, image in enumerate(images)]
    data = tuple(list(column) for column in zip(*slices))

    def full():
        return env._compute_obs(torch.ones(len(images), 1, size))["reconstruction_input"][:, 0], torch.stack(data[2])

    return env, lambda: env.reset(data=data), full, {"device": "CPU"}


class ZeroFilled(torch.nn.Module):
    """A reconstructor that gives back what the transform normalised."""

    def forward(self, image, mean, std):
        return {"reconstruction": image.squeeze(1) * std[:, None, None] + mean[:, None, None]}


def active_mri_environment(images, size):
    """ActiveMRIEnv with random slices for its data; how to reset it, and its image of full masks beside the true one."""
    scored = not isinstance(importlib.util.find_spec("skimage").loader, StubFinder)
    from activemri.data import transforms
    from activemri.envs import envs, masks, util
    env = envs.ActiveMRIEnv((size, size), num_parallel_episodes=len(images), budget=size, seed=0)
    env._device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    env._reconstructor, env._transform = ZeroFilled(), transforms.fastmri_unet_transform_singlecoil
    env._mask_func, env.reward_metric = start_lines(masks, size), "ssim" if scored else "mse"
    if not scored:
        env._compute_score_given_tensors = lambda a, b: {"mse": util.compute_mse(a, b), "nmse": util.compute_nmse(a, b)}
    kspace = torch.fft.fft2(torch.fft.ifftshift(images, dim=(-2, -1)), norm="ortho")
    kspace = torch.fft.fftshift(kspace, dim=(-2, -1)).numpy()
    count = len(images)
    batch = (list(kspace), None, list(images.numpy()), [{}] * count, ["volume"] * count, list(range(count)))

    def reset():
        env._current_data_handler = iter([batch])
        env.reset()

    def full():
        return env._compute_obs_and_score(torch.ones(count, 1, size))[0]["reconstruction"], images

    card = f"CPU, reconstructor on {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "CPU"
    left_out = {} if scored else {"left_out": "SSIM and PSNR (no scikit-image)"}
    return env, reset, full, {"device": card, "score": "mse nmse ssim psnr" if scored else "mse nmse", **left_out}


def draw_lines(lines, steps):
    """Random free lines, the environments' at each step: what a random policy chooses on the host."""
    chosen = [random.sample([k for k, taken in enumerate(scan) if not taken], steps) for scan in lines.tolist()]
    return [list(actions) for actions in zip(*chosen)]


def environment_seconds(env, reset, steps):
    """Seconds a step of an episode from a reset; every mask must then have `steps` lines more."""
    with contextlib.redirect_stdout(io.StringIO()):
        reset()
    before = env._current_mask.flatten(1)
    actions = draw_lines(before, steps)
    start = time.perf_counter()
    for action in actions:
        _, _, done, _ = env.step(action)
    seconds = (time.perf_counter() - start) / steps
    assert (env._current_mask.flatten(1).sum(1) == before.sum(1) + steps).all() and not any(done)
    return seconds


def environment(args):
    """Steps per second of a public environment."""
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    open_source(args.source)
    make = {"l2sr": l2sr_environment, "active-mri": active_mri_environment}[args.kind]
    env, reset, full, about = make(torch.rand(args.envs, args.size, args.size), args.size)
    steps = args.size // 4 - args.size // 32
    environment_seconds(env, reset, steps)
    seen, truth = full()
    error = (seen - truth).abs().max().item()
    assert error < 1e-4, f"a full mask's observation is wrong by {error}"
    seconds = sorted(environment_seconds(env, reset, steps) for _ in range(args.repeats))[args.repeats // 2]
    row = {"peer": f"{args.kind}, PyTorch {torch.__version__}", "bench": "environment", **about,
           "threads": torch.get_num_threads(), "size": args.size, "envs": args.envs, "steps": steps,
           "steps_per_second": args.envs / seconds, "milliseconds": 1e3 * seconds}
    left_out = f"; left out: {row['left_out']}" if "left_out" in row else ""
    print(json.dumps(row) if args.json else
          f"{row['peer']}: {row['steps_per_second']:.4g} environment-steps/s ({row['milliseconds']:.4g} ms a step of "
          f"{args.envs} environments of {args.size}x{args.size}) on {row['device']}, {row['threads']} threads{left_out}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["observe", "network", "a2c", "pgmri", "train-unet", "environment", "varnet"])
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--envs", type=int, help="4096; environment: 16")
    parser.add_argument("--slices", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--channels", type=int, default=16, help="network: of the U-Net")
    parser.add_argument("--coils", type=int, default=8, help="varnet: of a slice")
    parser.add_argument("--cascades", type=int, default=12, help="varnet: of the network")
    parser.add_argument("--precisions", default="f32,tf32,autocast", help="comma list of f32, tf32, autocast")
    parser.add_argument("--works", default="forward,train", help="network, varnet: comma list of forward, train")
    parser.add_argument("--kinds", help=f"network, a2c: comma list of {', '.join(KINDS)}; varnet: eager, compiled")
    parser.add_argument("--norms", default="module,written", help="network, a2c: comma list of module, written")
    parser.add_argument("--layouts", default="first,last", help="network, a2c: where channels lie, comma list of first, last")
    parser.add_argument("--seconds", type=float, default=0, help="network, a2c: no other way is begun after so many; 0: all are")
    parser.add_argument("--data", help="train-unet: folder with train and val")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--compile", action="store_true", help="train-unet: torch.compile the network")
    parser.add_argument("--source", help="environment: a checkout of the published code")
    parser.add_argument("--kind", default="l2sr", choices=["l2sr", "active-mri"], help="environment: whose it is")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.work == "environment" and not args.source:
        parser.error("environment needs --source")
    if args.kinds is None:
        args.kinds = "eager,compiled" if args.work == "varnet" else ",".join(KINDS)
    if args.envs is None:
        args.envs = 16 if args.work == "environment" else 4096
    {"observe": observe, "network": network, "a2c": a2c, "pgmri": pgmri, "train-unet": train_unet,
     "environment": environment, "varnet": varnet}[args.work](args)


if __name__ == "__main__":
    main()
