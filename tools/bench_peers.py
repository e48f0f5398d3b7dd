#!/usr/bin/env python3
"""Times PyTorch doing the work of `l2sr bench`, on the same card, for a fair ratio.

    bench_peers.py observe [--size N] [--envs N] [--slices N] [--repeats N] [--json]

observe: one environment-step = choose a random free line, add it to the mask, zero-filled magnitude of the
masked k-space by ifft2, its mean and sample deviation. Eager and torch.compile, float32; the median of the
repeats after a warm-up, synchronised. Needs PyTorch; nothing of l2sr does.
"""
import argparse
import json
import time

import torch


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["observe"])
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument("--slices", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    {"observe": observe}[args.work](args)


if __name__ == "__main__":
    main()
