"""CUDA tensors of the library's own memory: checks and times them on a card of NVIDIA's, with PyTorch.

    python cuda.py [ENVS]

Prints what it is at, what was compared, and steps a second; ends with 1 where a tensor differs from what OpenCL reads. It
takes less than a minute; where it stands is printed every 20 seconds.
"""

import faulthandler
import sys
import time

import numpy as np
import torch
from speed import Timed, images

import l2sr
from l2sr import _binding

SIZE, wrong, begin = 128, 0, time.perf_counter()


def tell(what):
    print(f"{time.perf_counter() - begin:7.2f} s  {what}", flush=True)


def make(envs, scene=None, **arguments):
    scene = scene or {}
    options = {"data": {"size": SIZE}, "acquisition": {"acceleration": [4], "horizon": ["long"]}, **scene}
    return l2sr.VectorEnv(options, envs, data=images(SIZE), metrics="ssim", **arguments)


def say(what, good):
    global wrong
    wrong += not good
    tell(f"{'good ' if good else 'WRONG'} {what}")


def check_values(observation, precision, envs=64, steps=32):
    """Every array, after every step, is what OpenCL reads."""
    env = make(envs, {"world": {"observation": precision}}, cuda=True, convert=torch.from_dlpack, observation=observation)
    tell(f"{envs} scans of {observation}, {precision}, are open")
    seen, info = env.reset(seed=1)
    names, differ = (observation, "free", "reward", f"final_{observation}"), 0
    tensors = {name: torch.from_dlpack(env.scans.cuda(name)) for name in names}
    for step in range(steps):
        actions = torch.rand(envs, SIZE, device="cuda").mul(info["action_mask"]).argmax(1)
        if not step:
            tell(f"the first actions by PyTorch, whose sum is {actions.sum().item()}")
        seen, reward, ended, _, info = env.step(actions)
        if not step:
            tell("the first step")
        for name in names if ended.any() else names[:3]:
            differ += not np.array_equal(tensors[name].cpu().numpy(), env.scans.read(name), equal_nan=True)
            if not step:
                tell(f"{name} is compared")
    say(f"{steps} steps of {observation}, {precision}: {differ} arrays differ", not differ)
    say("observations have the library's address", seen.data_ptr() == env.scans.cuda(observation).address)
    env.close()
    say("tensors outlive their environments", bool(torch.isfinite(seen).all()))


def check_order():
    """A step waits for what CUDA still reads."""
    env, differ = make(256, cuda=True, convert=torch.from_dlpack), 0
    seen, info = env.reset(seed=1)
    large = torch.rand(8192, 8192, device="cuda")
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
    for turn in range(8):
        before = torch.from_numpy(env.scans.read("standardised"))
        actions = info["action_mask"].argmax(1).cpu()
        with torch.cuda.stream(streams[turn % 2]):
            torch.mm(large, large)
            late = seen.clone()
        _, _, _, _, info = env.step(actions)
        differ += not torch.equal(late.cpu(), before)
    say(f"8 late readers on two streams: {differ} saw another step", not differ)


def rate(envs, turn, env, steps=28 * 4):
    """Steps of scans a second: `turn` takes one step."""
    for _ in range(28):
        turn()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        turn()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    env.close()
    return envs * steps / seconds


def unseen(observations):
    """Leaves them where they are."""


def decided(env, look):
    def turn():
        env.decide("random")
        look(env.step(None)[0])

    return turn


def bare(scans):
    def turn():
        scans.decide("random")
        scans.send(None)
        scans.wait()

    return turn


def chosen(env):
    state = {"mask": env.reset(seed=1)[1]["action_mask"]}

    def turn():
        actions = torch.rand(state["mask"].shape, device="cuda").mul(state["mask"]).argmax(1)
        seen, _, _, _, info = env.step(actions)
        seen.mean()
        state["mask"] = info["action_mask"]

    return turn


def main():
    envs = int(sys.argv[1]) if len(sys.argv) > 1 else 16384
    faulthandler.dump_traceback_later(20, repeat=True)
    env = make(2, cuda=True, device=None)
    tell(f"{env.facts['device']} torch {torch.__version__} {env.scans.cuda('reward')}")
    env.close()
    tell("closed")
    tell(f"PyTorch alone: {torch.rand(1000, device='cuda').sum().item():.1f}")
    for observation, precision in (("standardised", "f32"), ("observation", "f16"), ("observation", "f32")):
        check_values(observation, precision)
    check_values("observation", "f16", 16384, 2)  # pages of 512 MiB begin there
    check_values("standardised", "f32", 20000, 2)
    check_order()
    half = {"world": {"observation": "f16"}}
    magnitudes, never = {"observation": "observation"}, {"scoring": "never"}
    rows = [
        ("the library's calls alone, scored at the end", envs, magnitudes, lambda env: bare(env.scans)),
        ("the library's calls alone, never scored", envs, {**magnitudes, **never}, lambda env: bare(env.scans)),
        ("CUDA tensors of f16 magnitudes, never scored", envs, {"cuda": True, **magnitudes, **never}, lambda env: decided(env, unseen)),
        ("... scored at the end", envs, {"cuda": True, **magnitudes}, lambda env: decided(env, unseen)),
        ("... and their mean by PyTorch", envs, {"cuda": True, **magnitudes}, lambda env: decided(env, lambda seen: seen.mean())),
        ("CUDA tensors of standardised f32", envs, {"cuda": True}, lambda env: decided(env, unseen)),
        ("... and their mean by PyTorch", envs, {"cuda": True}, lambda env: decided(env, lambda seen: seen.mean())),
        ("... and actions by PyTorch", envs, {"cuda": True}, chosen),
        ("views of pinned memory, f16, never scored", 4096, {"copy": False, **magnitudes, **never}, lambda env: decided(env, unseen)),
        ("views of pinned memory, f32, never scored", 4096, {"copy": False, **never}, lambda env: decided(env, unseen)),
    ]
    for what, count, arguments, turns in rows:
        tensors = {"convert": torch.from_dlpack} if arguments.get("cuda") else {}
        env = make(count, half, **arguments, **tensors)
        env.reset(seed=1)
        tell(f"{rate(count, turns(env), env) / 1e6:8.2f} million steps/s  {count:6d} scans  {what}")
    for name in ("l2sr_env_send", "l2sr_env_wait", "l2sr_env_read"):
        setattr(_binding.library, name, Timed(getattr(_binding.library, name)))
    env, spent = make(4096, cuda=True, convert=torch.from_dlpack), []
    env.reset(seed=1)
    for _ in range(28 * 4):
        env.decide("random")
        Timed.spent, start = 0.0, time.thread_time()
        env.step(None)
        spent.append((time.thread_time() - start - Timed.spent) * 1e6)
    tell(f"Python's part of a step: {np.median(spent):.1f} us, at most {np.max(spent):.1f} us where scans end")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
