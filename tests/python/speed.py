"""Python's part of one step: what `step` takes beside the calls of the library.

    python speed.py [ENVS [SIZE [STEPS]]]

Prints microseconds of a step alone, and between the library's work, the median over steps within scans and over those that
end scans. They are the thread's own time on a processor: other programs may run.
"""

import sys
import time

import numpy as np

import l2sr
from l2sr import _binding


class Timed:
    """A function of the library that keeps how long it took."""

    spent = 0.0

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments):
        begin = time.thread_time()
        code = self.function(*arguments)
        Timed.spent += time.thread_time() - begin
        return code


def images(size):
    y, x = np.mgrid[:size, :size] / size
    return np.float32([0.1 + np.exp(-((x - 0.3 - 0.02 * n) ** 2 + (y - 0.5) ** 2) * 30) for n in range(16)])


def make(envs, size, **arguments):
    scene = {"data": {"size": size}, "acquisition": {"acceleration": [4], "horizon": ["long"]}}
    return l2sr.VectorEnv(scene, envs, data=images(size), metrics="ssim", **arguments)


def measure(envs, size, steps, **arguments):
    """With the library's work between, which leaves the caches to others."""
    env = make(envs, size, **arguments)
    _, info = env.reset(seed=1)
    inner, last = [], []
    for _ in range(steps):
        actions = np.asarray(info["action_mask"]).argmax(1)
        Timed.spent, begin = 0.0, time.thread_time()
        _, _, ended, _, info = env.step(actions)
        (last if ended.any() else inner).append((time.thread_time() - begin - Timed.spent) * 1e6)
    env.close()
    return np.median(inner), np.median(last) if last else np.nan


def alone(envs, size, steps=2000):
    """Of a step in which the library does nothing."""
    env, actions = make(envs, size, copy=False), np.zeros(envs, np.int64)
    env.reset(seed=1)
    functions = {name: getattr(_binding.library, name) for name in ("l2sr_env_send", "l2sr_env_wait")}
    for name in functions:
        setattr(_binding.library, name, lambda *arguments: 0)
    begin = time.thread_time()
    for _ in range(steps):
        env.step(actions)
    spent = time.thread_time() - begin
    for name, function in functions.items():
        setattr(_binding.library, name, function)
    return spent / steps * 1e6


def main():
    envs, size, steps = (int(word) for word in (sys.argv[1:] + ["4096", "32", "40"][len(sys.argv) - 1 :]))
    print(f"{envs} scans of {size}x{size}: {alone(envs, size):.1f} us a step alone")
    for name in ("l2sr_env_send", "l2sr_env_wait", "l2sr_env_read"):
        setattr(_binding.library, name, Timed(getattr(_binding.library, name)))
    for copy in (False, True):
        inner, last = measure(envs, size, steps, copy=copy)
        print(f"between the library's work, copy={copy}: {inner:.1f} us a step, {last:.1f} us where scans end")


if __name__ == "__main__":
    main()
