#!/usr/bin/env python3
"""Times reconstructions without training beside BART's `pics`, on the same processor cores, data, masks, maps and steps.

    bench_bart.py L2SR [--size N] [--coils N] [--scans N] [--threads N] [--rounds N] [--methods cg_sense,tv,wavelet] [--work DIR]

A measured phantom of --coils coils is scanned at x4 and reconstructed by `l2sr evaluate`; one scan's mask, k-space and maps are
exported for BART. Both run by turns, --rounds times, with --threads threads (POCL_MAX_PTHREAD_COUNT, OMP_NUM_THREADS). `process` is
all that a call takes, with so many steps as the second of each pair below; `step` is what one step more takes, from both:
start, files, calibration and scores are left out on either side. Times are medians, by the clock and of the processor, a scan.
Of several scans at once l2sr's are divided by their number. Prints a table, and how far the images are from each other (scaled root
mean squared difference). Needs bart in the path.
"""
import argparse
import os
import resource
import subprocess
import sys
import time

STEPS = {"cg_sense": (5, 20), "tv": (40, 120), "wavelet": (10, 60)}
WEIGHT = 0.01
FLAGS = {"cg_sense": ["-w", "1", "-l2", "-r", str(WEIGHT)], "tv": ["-R", f"T:7:0:{WEIGHT}"], "wavelet": ["-n", "-R", f"W:7:0:{WEIGHT}"]}


def timed(command, environment):
    """Seconds by the clock and of the processor; ends the program with the command's own words where it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"bench_bart.py: {' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Bench:
    def __init__(self, args):
        self.args = args
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "POCL_MAX_PTHREAD_COUNT": str(args.threads),
                            "OPENBLAS_NUM_THREADS": str(args.threads), "L2SR_DEVICE": "cpu"}
        os.makedirs(args.work, exist_ok=True)
        os.chdir(args.work)
        size = str(args.size)
        if not os.path.isdir("data"):
            self.run(args.program, "phantom", "data", "--train", "0", "--val", "0", "--test", "1", "--slices", str(args.scans),
                     "--coils", str(args.coils), "--size", size, "--rows", size, "--columns", size, "--quiet")

    def run(self, *command):
        return timed(list(command), self.environment)

    def ours(self, method, steps):
        options = {"data.path": "data", "data.size": self.args.size, "data.source": "kspace", "data.kspace": "measured",
                   "data.crop": "kspace", "data.slices": "all", "data.fraction": 1, "coils.maps": "prescan",
                   "acquisition.acceleration": "[4]", "acquisition.horizon": "[base]", "world.envs": self.args.scans,
                   "reconstruct.method": method, "reconstruct.weight": WEIGHT, "reconstruct.iterations": steps,
                   "reconstruct.shifts": "false", "evaluate.samplers": "[random]", "evaluate.curves": "false",
                   "evaluate.keep": "[0]", "evaluate.output": "results"}
        words = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
        return self.run(self.args.program, "evaluate", "scene", "--overwrite", "--quiet", *words)

    def export(self, what):
        self.run(self.args.program, "export", "results", "--what", what, "--output", f"{what}.cfl", "--quiet")

    def barts(self, method, steps):
        return self.run("bart", "pics", "-p", "mask", "-S", *FLAGS[method], "-i", str(steps), "kspace", "maps", "found")

    def distance(self):
        self.export("reconstruction")
        self.run("bart", "cabs", "found", "magnitude")
        return subprocess.run(["bart", "nrmse", "-s", "reconstruction", "magnitude"], stdout=subprocess.PIPE, text=True).stdout.split()[-1]


def median(values):
    return sorted(values)[len(values) // 2]


def compare(bench, method):
    few, many = STEPS[method]
    scans, seen = bench.args.scans, {}
    bench.ours(method, few)  # compiles kernels
    for what in ("mask", "kspace", "maps"):
        bench.export(what)
    for _ in range(bench.args.rounds):
        for steps in (few, many):
            for who, times in (("l2sr", bench.ours(method, steps)), ("bart", bench.barts(method, steps))):
                seen.setdefault((who, steps), []).append(times)
    rows = {}
    for who in ("l2sr", "bart"):
        share = scans if who == "l2sr" else 1
        short, long = ([median(column) for column in zip(*seen[who, steps])] for steps in (few, many))
        rows[who] = [1e3 * (b - a) / (many - few) / share for a, b in zip(short, long)] + [b / share for b in long]
    return rows, bench.distance()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="l2sr")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--coils", type=int, default=8)
    parser.add_argument("--scans", type=int, default=1, help="slices that l2sr reconstructs side by side")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--methods", default="cg_sense,tv,wavelet", help="comma list")
    parser.add_argument("--work", default="bench_bart", help="folder for data and results")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    bench = Bench(args)
    with open("scene.yaml", "w") as scene:
        scene.write("# all by flags\n")
    print(f"{args.coils} coils of {args.size}x{args.size}, x4, {args.threads} threads, {args.scans} scans of l2sr at once\n")
    print("| method, steps | who | a step, ms, clock | processor | a process, s, clock | processor | images apart |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for method in args.methods.split(","):
        rows, distance = compare(bench, method)
        for who, row in rows.items():
            print(f"| {method}, {STEPS[method][1]} | {who} | " + " | ".join(f"{value:.3g}" for value in row) + f" | {distance} |", flush=True)


if __name__ == "__main__":
    main()
