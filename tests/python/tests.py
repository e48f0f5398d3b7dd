"""The Python package: what Gymnasium and stable-baselines3 expect of it, its arrays, its errors."""

import copy
import ctypes
import gc
import importlib.util
import itertools
import logging
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import weakref
from unittest import mock

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

import l2sr

try:
    import torch
except ImportError:
    torch = None

ENVS, SIZE, INITIAL, BUDGET = 5, 32, 5, 3  # x4: 8 lines
SCENE = {
    "data": {"size": SIZE, "order": "permuted"},
    "acquisition": {"acceleration": [4], "horizon": ["long"], "initial_lines": INITIAL},
    "reward": {"metric": "ssim", "form": "sparse"},
}


def images(count=7, size=SIZE):
    y, x = np.mgrid[:size, :size]
    number = np.arange(count)[:, None, None]
    return (0.2 + ((x - 5 - number) ** 2 + (y - 8) ** 2 < 20) + 0.02 * x + 0.3 * ((7 * x + 3 * y + number) % 5 == 0)).astype(
        np.float32
    )


def make(count=ENVS, **arguments):
    return l2sr.VectorEnv(**{"scene": SCENE, "num_envs": count, "data": images(), "metrics": "ssim", **arguments})


def free_actions(info, generator):
    return np.array([generator.choice(np.flatnonzero(mask)) for mask in info["action_mask"]])


def play(env, steps, seed=1):
    """Observations, rewards, ends and infos of random free actions."""
    generator = np.random.default_rng(0)
    seen, info = env.reset(seed=seed)
    told = [(seen, None, None, info)]
    for _ in range(steps):
        seen, reward, ended, _, info = env.step(free_actions(info, generator))
        told.append((seen, reward, ended, info))
    return told


class Vector(unittest.TestCase):
    def test_spaces_hold_what_is_given(self):
        for masked in (False, True):
            env = make(mask_in_observation=masked)
            self.assertEqual(env.observation_space, gymnasium.vector.utils.batch_space(env.single_observation_space, ENVS))
            for seen, *_ in play(env, BUDGET + 1):
                self.assertIn(seen, env.observation_space)
            self.assertEqual(env.single_action_space.n, SIZE)
            self.assertIn(env.action_space.sample(), env.action_space)
            env.close()

    def test_images_may_be_rectangles(self):
        for pairs, actions, budget in ((False, 38, 7), (True, 20, 3)):
            scene = {**SCENE, "data": {"size": (45, 38)}}
            scene["acquisition"] = {"acceleration": [4], "initial_lines": 2, "pairs": pairs}
            env = make(scene=scene, data=images(size=48)[:, :45, :38])
            told = play(env, budget)
            self.assertEqual(env.single_action_space.n, actions)
            self.assertEqual(env.single_observation_space.shape, (45, 38))
            self.assertEqual(told[0][3]["action_mask"].shape, (ENVS, actions))
            self.assertTrue(told[-1][2].all() and not told[-2][2].any())
            env.close()

    def test_a_scan_ends_with_its_budget(self):
        env = make()
        told = play(env, BUDGET)
        self.assertEqual([ended.any() for _, _, ended, _ in told[1:]], [False] * (BUDGET - 1) + [True])
        _, reward, ended, info = told[-1]
        self.assertTrue(ended.all() and (reward > 0).all())
        last = info["final_info"]
        np.testing.assert_allclose(reward, last["ssim"], rtol=1e-5)
        self.assertTrue(info["_final_obs"].all() and last["_ssim"].all())
        self.assertEqual(info["final_obs"][0].shape, (SIZE, SIZE))
        self.assertFalse(np.array_equal(info["final_obs"][0], told[-1][0][0]))
        self.assertEqual(last["action_mask"].sum(), ENVS * (SIZE - INITIAL - BUDGET))
        self.assertEqual(info["action_mask"].sum(), ENVS * (SIZE - INITIAL))
        self.assertEqual(info["action_mask"].dtype, np.int8)

    def test_modes_are_those_of_gymnasium(self):
        for mode in AutoresetMode:
            ours = play(make(autoreset_mode=mode, count=2), BUDGET)
            theirs = SyncVectorEnv([lambda: l2sr.Env(SCENE, data=images(), metrics="ssim")] * 2, autoreset_mode=mode)
            expected = play(theirs, BUDGET)
            for (_, _, ended, info), (_, _, their_end, their_info) in zip(ours[1:], expected[1:]):
                np.testing.assert_array_equal(ended, their_end)
                self.assertLessEqual(set(info), set(their_info) | {"_action_mask"})
                self.assertEqual(set(info.get("final_info", {})), set(their_info.get("final_info", {})))
                for name in set(info) & set(their_info) - {"final_info"}:
                    self.assertEqual(np.asarray(info[name]).dtype.kind, np.asarray(their_info[name]).dtype.kind, name)
            theirs.close()

    def test_the_next_step_resets_where_asked(self):
        env = make(autoreset_mode="NextStep")
        told = play(env, BUDGET + 2)
        _, reward, ended, info = told[BUDGET + 1]
        self.assertFalse(ended.any() or reward.any())
        self.assertEqual(info["action_mask"].sum(), ENVS * (SIZE - INITIAL))
        self.assertEqual(env.metadata["autoreset_mode"], AutoresetMode.NEXT_STEP)

    def test_parts_are_reset_by_a_mask(self):
        env = make(autoreset_mode=AutoresetMode.DISABLED)
        play(env, BUDGET)
        with self.assertRaisesRegex(RuntimeError, "environment 0 has ended"):
            env.step(np.zeros(ENVS, int))
        mask = np.arange(ENVS) % 2 == 0
        _, info = env.reset(options={"reset_mask": mask})
        np.testing.assert_array_equal(info["action_mask"].sum(1), np.where(mask, SIZE - INITIAL, SIZE - INITIAL - BUDGET))
        env.reset(options={"reset_mask": ~mask})
        env.step(np.zeros(ENVS, int))
        for wrong in (np.ones(3, bool), np.ones(ENVS), np.zeros(ENVS, bool)):
            with self.assertRaisesRegex(ValueError, "reset_mask"):
                env.reset(options={"reset_mask": wrong})

    def test_a_seed_gives_the_same_scans(self):
        first, again, other = (play(make(), BUDGET + 1, seed) for seed in (3, 3, 4))
        for (seen, reward, _, info), (same, same_reward, _, same_info) in zip(first, again):
            np.testing.assert_array_equal(seen, same)
            np.testing.assert_array_equal(info["action_mask"], same_info["action_mask"])
            np.testing.assert_array_equal(reward, same_reward)
        self.assertFalse(all(np.array_equal(a[0], b[0]) for a, b in zip(first, other)))

    def test_copies_stay_and_views_change(self):
        for copy in (True, False):
            env = make(copy=copy)
            seen, info = env.reset(seed=1)
            before = seen.copy()
            env.step(free_actions(info, np.random.default_rng(0)))
            self.assertEqual(np.array_equal(seen, before), copy)
            self.assertEqual(seen.flags.writeable, copy)

    def test_invalid_actions(self):
        for invalid, taken in (("mask", 2), ("ignore", 1)):
            env = make(invalid=invalid)
            env.reset(seed=1)
            env.step(np.full(ENVS, 2))
            _, _, _, _, info = env.step(np.full(ENVS, 2))
            self.assertTrue((info["action_mask"].sum(1) == SIZE - INITIAL - taken).all())
        env = make(invalid="error")
        for wrong in (SIZE, -1, 2**32 + 1):
            env.reset(seed=1)
            actions = np.arange(ENVS) + 1
            actions[3] = wrong
            with self.assertRaisesRegex(ValueError, "environment 3 cannot take action"):
                env.step(actions)
        for wrong in (np.zeros(ENVS), np.zeros(ENVS + 1, int), 3):
            with self.assertRaisesRegex(ValueError, "actions have shape"):
                env.step(wrong)

    def test_metrics_of_every_step_and_of_ends(self):
        """Where a scan has begun in the step that ended one, its own metrics are in final_info."""
        env = make(scoring="every_step", metrics=["nmse"])
        env.reset(seed=1)
        for step in range(2 * BUDGET):
            env.decide()
            *_, info = env.step(None)
            ends = step % BUDGET == BUDGET - 1
            self.assertEqual(set(info) & {"nmse", "psnr", "mse", "ssim"}, {"nmse", "ssim"})  # that of the reward too
            self.assertEqual(info["_nmse"].tolist(), [not ends] * ENVS)
            self.assertEqual("final_info" in info, ends)

    def test_metrics_of_every_step_where_scans_end_apart(self):
        for mode in ("NextStep", "Disabled"):
            env = make(autoreset_mode=mode, scoring="every_step")
            env.reset(seed=1)
            env.decide()
            env.step(None)
            env.reset(options={"reset_mask": np.arange(ENVS) == 1})
            for _ in range(BUDGET - 1):
                env.decide()
                _, _, ended, _, info = env.step(None)
            self.assertEqual(ended.tolist(), [True, False, True, True, True])
            self.assertTrue(info["_ssim"].all() and np.isfinite(info["ssim"]).all())
            self.assertEqual(info["_slice"].tolist(), ended.tolist())

    def test_metrics_of_every_step(self):
        env = make(autoreset_mode="Disabled", scoring="every_step", metrics=["ssim", "nmse"])
        told = play(env, BUDGET)
        for _, _, _, info in told[1:]:
            self.assertTrue(np.isfinite(info["ssim"]).all() and np.isfinite(info["nmse"]).all())
        self.assertNotIn("ssim", play(make(scoring="never", autoreset_mode="Disabled"), BUDGET)[-1][3])

    def test_states_go_on(self):
        env, other = make(), make()
        play(env, 1)
        state = env.save()
        other.reset(seed=9)
        seen, info = other.restore(state)
        actions = free_actions(info, np.random.default_rng(4))
        for mine, theirs in zip(env.step(actions)[:3], other.step(actions)[:3]):
            np.testing.assert_array_equal(mine, theirs)
        with self.assertRaises((OSError, ValueError)):
            env.restore(state[:-8])

    def test_the_device_chooses(self):
        env = make()
        env.reset(seed=1)
        env.decide("random")
        _, _, _, _, info = env.step(None)
        self.assertTrue((info["action_mask"].sum(1) == SIZE - INITIAL - 1).all())
        self.assertEqual(np.asarray(env.array("target")).shape, (ENVS, SIZE, SIZE))
        self.assertEqual(env.scans.reconstruct().shape, (ENVS, SIZE, SIZE))

    def test_steps_are_played(self):
        for mode in ("SameStep", "NextStep"):
            env, other = make(autoreset_mode=mode), make(autoreset_mode=mode)
            env.reset(seed=1), other.reset(seed=1)
            mine = env.play("random", 2 * BUDGET)
            for _ in range(2 * BUDGET):
                other.decide("random")
                theirs = other.step(None)
            for a, b in zip(mine[:4], theirs[:4]):
                np.testing.assert_array_equal(a, b)
            self.assertEqual(mine[4].keys(), theirs[4].keys())
            last = [info.get("final_info", info) for info in (mine[4], theirs[4])]
            np.testing.assert_array_equal(last[0].get("slice"), last[1].get("slice"))
        for steps in (0, 2**32):
            for which in (env, make(autoreset_mode="SameStep")):
                with self.assertRaisesRegex(ValueError, f"steps is {steps}"):
                    which.play("random", steps)

    def test_slices_are_known_where_a_played_step_is_refused(self):
        env = make(autoreset_mode="SameStep")
        env.reset(seed=1)
        wait = env.scans.wait

        def refuse():
            wait()
            raise ValueError("refused")

        with mock.patch.object(env.scans, "wait", refuse), self.assertRaisesRegex(ValueError, "refused"):
            env.play("random", BUDGET + 1)
        slices = env.scans.read("slice")
        for _ in range(BUDGET):
            env.decide("random")
            info = env.step(None)[4]
        np.testing.assert_array_equal(info["final_info"]["slice"], slices)

    def test_complex_k_space(self):
        k_space = np.fft.fftshift(np.fft.fft2(images()), axes=(1, 2))[:, None].repeat(2, 1)
        env = make(data=k_space, overrides={"data.kspace": "measured"}, volumes=np.zeros(7))
        self.assertTrue(np.isfinite(play(env, BUDGET)[-1][1]).all())

    def test_wrappers_of_gymnasium(self):
        env = wrappers.RecordEpisodeStatistics(wrappers.FlattenObservation(make(autoreset_mode="NextStep")))
        seen, _, _, info = play(env, BUDGET)[-1]
        self.assertEqual(seen.shape, (ENVS, SIZE * SIZE))
        np.testing.assert_array_equal(info["episode"]["l"], BUDGET)
        env = wrappers.DictInfoToList(make())
        self.assertEqual(len(play(env, 0)[0][3]), ENVS)

    def test_one_environment_passes_the_checkers(self):
        env = l2sr.Env(SCENE, data=images(), render_mode="rgb_array")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*(not within the environment render modes|has not set|spec).*")
            check_env(env)
        self.assertEqual(env.action_masks().shape, (SIZE,))

    def test_settings_of_the_paper_are_registered(self):
        small = {"data.size": 32, "data.source": "auto", "data.fraction": 1, "data.slices": "all"}
        env = gymnasium.make_vec("l2sr:KneeX4Long-v0", num_envs=3, data="DATA", overrides=small)
        self.assertEqual((env.num_envs, env.unwrapped.facts["slices"]), (3, 240))
        self.assertEqual(env.unwrapped.facts["budget"], 7)
        path, inside = env.unwrapped.slice(239)
        self.assertTrue(os.path.exists(path) and inside < 6)
        for wrong in (-1, 240):
            with self.assertRaisesRegex(ValueError, "slice"):
                env.unwrapped.slice(wrong)
        env.close()
        single = gymnasium.make("l2sr:KneeX8Base-v0", data="DATA", overrides=small)
        single.reset(seed=1)
        single.close()
        with open(os.path.join(os.environ["L2SR_SOURCE"], "tools/python/l2sr/__init__.py")) as file:
            self.assertIn("radial_x8", file.read())

    def test_interrupted_plays_end_between_steps(self):
        env, twin = make(), make()
        env.reset(seed=5), twin.reset(seed=5)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            env.play("random", 1_000_000)
        steps = 0
        while not np.array_equal(twin.array("step"), env.array("step")) or not np.array_equal(twin.scans.read("scan"), env.scans.read("scan")):
            twin.play("random")
            steps += 1
            self.assertLess(steps, 1_000_000)
        mine, its = env.play("random", BUDGET), twin.play("random", BUDGET)
        while not mine[2].any():
            mine, its = env.play("random"), twin.play("random")
        np.testing.assert_array_equal(mine[0], its[0])
        np.testing.assert_array_equal(mine[4]["final_info"]["slice"], its[4]["final_info"]["slice"])

    def test_an_interrupted_step_is_over(self):
        env, twin = make(), make()
        env.reset(seed=1), twin.reset(seed=1)
        for step in range(2 * BUDGET):
            env.decide(), twin.decide()
            theirs = twin.step(None)
            if step in (2, BUDGET - 1):
                with mock.patch.object(env.scans, "wait", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
                    env.step(None)
            else:
                mine = env.step(None)
        np.testing.assert_array_equal(mine[0], theirs[0])
        np.testing.assert_array_equal(mine[4]["final_info"]["slice"], theirs[4]["final_info"]["slice"])

    def test_names_and_counts_are_checked(self):
        env = make()
        env.reset(seed=1)
        for name in (None, 5, b"random", "random\0x"):
            for call in (env.decide, env.play):
                with self.assertRaisesRegex(ValueError, "sampler is"):
                    call(name)
        with self.assertRaises(TypeError):
            env.play("random", 2.5)


class Leave(BaseException):
    """What a time limit or a scheduler's warning raises."""


def leave(number, frame):
    raise Leave(number)


class handled:
    """With a handler of a signal."""

    def __init__(self, number, handler=leave):
        self.number, self.handler = number, handler

    def __enter__(self):
        self.before = signal.signal(self.number, self.handler)

    def __exit__(self, *_):
        signal.signal(self.number, self.before)


def soon(number, seconds=0.05):
    threading.Timer(seconds, os.kill, (os.getpid(), number)).start()


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM)


class Signals(unittest.TestCase):
    def test_they_end_a_play_between_steps(self):
        env = make()
        env.reset(seed=1)
        for number in SIGNALS:
            with handled(number), self.assertRaises(Leave):
                soon(number)
                env.play("random", 10_000_000)
            env.play("random", BUDGET)
            env.decide()
            env.step(None)

    def test_plays_of_any_speed_look_for_them_often(self):
        env = make(autoreset_mode="NextStep")
        for seconds, most in ((0.01, 25), (2.0, 8), (1e-5, 1024)):  # a step; the first steps are 8
            blocks, env._block = [], 8
            see = lambda sampler, count, see: blocks.append(count)  # noqa: E731
            clock = lambda: seconds * sum(blocks)  # noqa: E731
            with mock.patch.object(env, "_play", see), mock.patch("l2sr.vector.time.monotonic", clock):
                with mock.patch.object(env.scans, "read"):
                    env.play("random", 5000)
            self.assertEqual((sum(blocks), max(blocks)), (5000, most))

    def test_closing_lets_them_out(self):
        with handled(signal.SIGALRM):
            env = make()
            close = l2sr._scans.library.l2sr_env_close

            def closes(handle):
                signal.raise_signal(signal.SIGALRM)
                return close(handle)

            with mock.patch.object(l2sr._scans.Handle.__del__, "__defaults__", (closes, os.getpid)), self.assertRaises(Leave):
                env.close()
            self.assertTrue(env.scans.closed)
            env.close()
            self.assertTrue(env.closed)

    def test_a_handler_while_a_handle_opens_leaves_no_thread(self):
        start = threading.Thread.start

        def starts(thread):
            signal.raise_signal(signal.SIGALRM)
            start(thread)

        with handled(signal.SIGALRM), mock.patch.object(threading.Thread, "start", starts), self.assertRaises(Leave):
            make()
        gc.collect()
        self.assertEqual(l2sr._signals._actions._calls, 0)
        self.assertFalse([one for one in threading.enumerate() if one.name == "l2sr signals"])

    def test_handlers_stay_and_may_only_look(self):
        env, seen = make(), []
        env.reset(seed=1)
        look = lambda number, frame: seen.append(number)  # noqa: E731
        with handled(signal.SIGUSR1, look):
            signal.siginterrupt(signal.SIGUSR1, False)
            before = l2sr._signals._action(signal.SIGUSR1)
            soon(signal.SIGUSR1)
            env.play("random", 3000)
            signal.raise_signal(signal.SIGUSR1)
            self.assertIs(signal.getsignal(signal.SIGUSR1), look)
            self.assertEqual(l2sr._signals._function(before), l2sr._signals._function(l2sr._signals._action(signal.SIGUSR1)))
        self.assertIn(signal.SIGUSR1, seen)

    def test_a_step_that_is_left_is_over(self):
        env, twin = make(), make()
        env.reset(seed=1), twin.reset(seed=1)
        for place in ("reset", "wait", "send"):
            work = getattr(env.scans, place)

            def left(*arguments, work=work):
                work(*arguments)
                raise Leave

            with mock.patch.object(env.scans, place, left), self.assertRaises(Leave):
                env.reset() if place == "reset" else env.step(np.full(ENVS, 7))
            twin.reset() if place == "reset" else twin.step(np.full(ENVS, 7))
            env.reset(), twin.reset()
            np.testing.assert_array_equal(env.step(np.full(ENVS, 8))[0], twin.step(np.full(ENVS, 8))[0])

    def test_handlers_that_a_driver_replaces_are_put_back(self):
        """LLVM, which PoCL compiles with, swallows SIGUSR1."""
        code = (
            "import os, signal, sys\nimport numpy as np, l2sr\n"
            "def handler(number, frame): raise InterruptedError(number)\n"
            "for name in ('SIGUSR1', 'SIGUSR2', 'SIGHUP', 'SIGTERM'): signal.signal(getattr(signal, name), handler)\n"
            "env = l2sr.VectorEnv({'data': {'size': 32}, 'acquisition': {'acceleration': [4], 'horizon': ['long']}}, 2, "
            "data=np.random.rand(3, 32, 32))\n"
            "for name in ('SIGUSR1', 'SIGUSR2', 'SIGHUP', 'SIGTERM'):\n"
            "    try: os.kill(os.getpid(), getattr(signal, name)); print('lost', name)\n"
            "    except InterruptedError: env.reset()\n"
            "print('good')\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stdout.split("\n")[-2:], ["good", ""], done.stdout + done.stderr)
        self.assertNotIn("lost", done.stdout)

    def test_what_the_log_raises_comes_out(self):
        class Broken(logging.Handler):
            def emit(self, record):
                raise Leave(record.getMessage())

        log, handler = logging.getLogger("l2sr"), Broken()
        before = log.level
        log.addHandler(handler), log.setLevel(logging.INFO)
        try:
            with self.assertRaisesRegex(Leave, "device"):
                make()
        finally:
            log.removeHandler(handler), log.setLevel(before)
        make().close()

    def test_of_two_one_is_the_others_context(self):
        from l2sr import _signals

        first, second = KeyError(1), Leave(2)
        with self.assertRaises(Leave) as raised:
            with _signals.Calls():
                _signals.keep(first), _signals.keep(second), _signals.keep(second)
        self.assertIs(raised.exception.__context__, first)
        with self.assertRaises(Leave) as raised:
            with _signals.Calls():
                _signals.keep(second)
                raise ValueError("refused")
        self.assertIsInstance(first.__context__, ValueError)
        self.assertIsNone(first.__context__.__context__)
        self.assertFalse(_signals.has_kept())


class Seeds(unittest.TestCase):
    """Without a seed one is drawn, as Gymnasium's environments do."""

    def test_copies_differ(self):
        envs = SyncVectorEnv([lambda: l2sr.Env(SCENE, data=images())] * 4)
        self.assertGreater(len({seen.tobytes() for seen in envs.reset()[0]}), 1)
        self.assertEqual(len({env.np_random_seed for env in envs.envs}), 4)
        scans = {make().reset()[0].tobytes() for _ in range(4)}
        self.assertGreater(len(scans), 1)

    def test_what_was_drawn_is_told(self):
        for ours in (make(), l2sr.Env(SCENE, data=images())):
            seed = ours.np_random_seed
            first, second = ours.reset()[0], ours.reset()[0]
            self.assertEqual(ours.np_random_seed, seed)
            again = ours.reset(seed=seed)[0]
            np.testing.assert_array_equal(first, again)
            np.testing.assert_array_equal(second, ours.reset()[0])  # the second goes on
        self.assertEqual(ours.vector.facts["seed"], seed)

    def test_generators_of_the_program(self):
        one, two = make(), make()
        one.np_random, two.np_random = (np.random.default_rng(3) for _ in range(2))
        np.testing.assert_array_equal(one.reset()[0], two.reset()[0])
        env = l2sr.Env(SCENE, data=images())
        self.assertEqual(env.reset(seed=2**40 + 1)[0].tolist(), env.reset(seed=1)[0].tolist())

    def test_a_seed_of_the_scene_is_one(self):
        for given in ({"overrides": {"world.seed": 42}}, {"scene": {**SCENE, "world": {"seed": 42}}}, {"overrides": ["world.seed=42"]}):
            env = make(**given)
            self.assertEqual(env.np_random_seed, 42)
            np.testing.assert_array_equal(env.reset()[0], make().reset(seed=42)[0])
        with open(os.path.join(os.environ["L2SR_SOURCE"], "scenes/base.yaml")) as file:
            self.assertIn("\n  seed: 42\n", file.read())  # what scenes say that say nothing

    def test_restored_scans_go_on(self):
        env, other = make(), make()
        env.reset(seed=5)
        other.restore(env.save())
        np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


class Actions(unittest.TestCase):
    def test_a_taken_one_is_an_error_and_none_always(self):
        ways = ({}, {"invalid": "error"}, {"invalid": "mask"}, {"invalid": "ignore"})
        for way, mode in zip(ways, itertools.cycle(AutoresetMode)):
            env = make(autoreset_mode=mode, **way)
            env.reset(seed=1)
            for wrong in (SIZE, 99, -1, -(2**40), 2**32 + 3):
                with self.assertRaisesRegex(ValueError, rf"environment 2 cannot take action {wrong}: it is none"):
                    env.step(np.where(np.arange(ENVS) == 2, wrong, 3))
            self.assertEqual(env.array("step").__array__().tolist(), [0] * ENVS)
            env.step(np.full(ENVS, 3))
        env = make()
        env.reset(seed=1)
        env.step(np.full(ENVS, 3))
        with self.assertRaisesRegex(ValueError, r'environment 0 cannot take action 3: it is acquired already; .*, and invalid="mask" lets steps'):
            env.step(np.full(ENVS, 3))

    def test_what_was_taken_in_its_place_is_told(self):
        env = make(invalid="mask")
        _, info = env.reset(seed=1)
        self.assertNotIn("action", env.step(np.full(ENVS, 3))[4])
        info = env.step(np.where(np.arange(ENVS) < 2, 3, 9))[4]
        self.assertEqual(info["_action"].tolist(), [True, True, False, False, False])
        self.assertEqual(info["action"].tolist(), [2, 2, 9, 9, 9])
        last = env.step(np.where(np.arange(ENVS) < 1, 3, 10))[4]  # scans end with it
        self.assertNotIn("action", last)
        self.assertEqual((last["final_info"]["action"][0], last["final_info"]["_action"].sum()), (4, 1))
        env.decide()
        self.assertNotIn("action", env.step(None)[4])
        one = l2sr.Env(SCENE, data=images(), invalid="mask")
        one.reset(seed=1), one.step(3)
        self.assertEqual(one.step(3)[4]["action"], 2)
        self.assertNotIn("action", one.step(9)[4])

    def test_samples_are_free(self):
        env, one = make(), l2sr.Env(SCENE, data=images())
        for space, single in ((env.action_space, False), (one.action_space, True)):
            self.assertEqual(copy.deepcopy(space), space)
            self.assertEqual(pickle.loads(pickle.dumps(space)), space)
            space.seed(3)
            self.assertIn(space.sample(), space)  # before a reset
        env.reset(seed=1), one.reset(seed=1)
        for _ in range(BUDGET):
            env.step(env.action_space.sample())
            one.step(one.action_space.sample())
        self.assertIn(one.action_space.sample(), one.action_space)
        env.close(), one.close()
        self.assertIn(env.action_space.sample(), env.action_space)

    def test_kinds_of_numbers(self):
        given = [np.arange(ENVS), list(range(ENVS)), tuple(range(ENVS)), np.arange(ENVS)[:, None], np.ma.arange(ENVS)]
        given += [] if torch is None else [torch.arange(ENVS), torch.arange(ENVS, dtype=torch.uint8)[:, None]]
        env = make()
        for actions in given:
            env.reset(seed=1)
            env.step(actions)
            np.testing.assert_array_equal(env.scans.read("action"), np.arange(ENVS))
        masked = np.ma.masked_array(np.arange(ENVS), np.arange(ENVS) == 1)
        for wrong in (masked, [masked[0], 1, 2, 3, np.ma.masked], "abc", ["1"] * ENVS, np.ones(ENVS, bool), {}, [None] * ENVS):
            with self.assertRaisesRegex((TypeError, ValueError), "action"):
                env.step(wrong)
        one = l2sr.Env(SCENE, data=images())
        for action in (3, np.int64(4), np.array(5), np.array([6])) + (() if torch is None else (torch.tensor(7),)):
            one.reset(seed=1), one.step(action)
        for wrong in (None, "3", 2.5, [1, 2]):
            with self.assertRaisesRegex((TypeError, ValueError), "action"):
                one.step(wrong)


class Types(unittest.TestCase):
    """Taken where the meaning is plain, else refused by a text that says what to pass."""

    def test_data(self):
        plain, again = images(), {}
        given = {"list": list(plain), "nested": plain.tolist(), "float64": plain.astype(">f8"), "unmasked": np.ma.array(plain)}
        if torch is not None:
            given |= {"tensor": torch.from_numpy(plain), "gradient": torch.from_numpy(plain).requires_grad_(True)}
            given |= {"tensors": list(torch.from_numpy(plain))}
        for what, data in given.items():
            again[what] = make(data=data).reset(seed=1)[0]
        expected = make(data=plain).reset(seed=1)[0]
        for what, seen in again.items():
            np.testing.assert_array_equal(seen, expected, what)
        if torch is not None:
            k_space = np.fft.fftshift(np.fft.fft2(plain), axes=(1, 2))[:, None].astype(np.complex64)
            seen = [make(data=one, overrides={"data.kspace": "measured"}).reset(seed=1)[0]
                    for one in (k_space, torch.from_numpy(k_space.conj()).conj())]
            np.testing.assert_array_equal(*seen)

    def test_a_list_of_volumes_is_their_slices(self):
        plain, files = images(), []
        for data, volumes in (([plain[:4], plain[4:]], None), (plain, [0, 0, 0, 0, 1, 1, 1])):
            env = make(data=data, volumes=volumes)
            files.append((env.reset(seed=1)[0], [env.slice(k) for k in range(env.facts["slices"])]))
        np.testing.assert_array_equal(files[0][0], files[1][0])
        self.assertEqual(files[0][1], files[1][1])
        self.assertEqual(len({path for path, _ in files[0][1]}), 2)

    def test_data_that_is_refused(self):
        plain = images()
        masked = np.ma.masked_array(plain, plain > 0.5)
        for data, text in (
            (masked, "masked"), (list(masked), "masked"), (["a.h5", pathlib.Path("b.h5")], "list of paths"), (5, "data"),
            ({"train": plain}, "data is"), ([plain, plain[:, :9]], r"data\[1\] has slices of shape \(9, 32\), and"),
            ([plain, plain + 0j], "real and of complex"), (plain * np.float64(1e300), "beyond"),
            (np.where(np.arange(7)[:, None, None] == 2, np.nan, plain), "not finite .* in 1 of 7 slices, the first of which is slice 2"),
            (plain.astype(str), "type <U"), (object(), "data is"),
        ):
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
                make(data=data)

    @unittest.skipIf(importlib.util.find_spec("h5py") is None, "did not run: h5py is not installed")
    def test_data_sets_of_h5py(self):
        import h5py

        with h5py.File(sorted(pathlib.Path("DATA/train").glob("*.h5"))[0]) as file:
            make(data=file["reconstruction_esc"]).close()
            with self.assertRaisesRegex(TypeError, "data set"):
                make(data=file)

    def test_paths(self):
        for data in ("DATA", pathlib.Path("DATA"), b"DATA"):
            make(data=data, overrides={"data": {"source": "auto", "fraction": np.float64(1), "slices": "all"}}).close()
        scene = pathlib.Path("types.yaml")
        scene.write_text("extends: quickstart_l2sr\n")
        made = l2sr.Env(scene, data=pathlib.Path("DATA"))
        made.reset(), made.vector.scans.draw("target", np.int64(0), pathlib.Path("types.png"))
        self.assertTrue(pathlib.Path("types.png").exists())

    def test_options(self):
        for overrides in ({"data.exclude_constant": np.bool_(True)}, {"data": {"size": np.int64(SIZE)}}, {"data.size": np.array(SIZE)},
                          {"acquisition.acceleration": np.array([4])}, {"acquisition": {"acceleration": (np.int32(4),)}},
                          (line for line in ["data.size=32"])):
            make(overrides=overrides).close()
        make(scene={**SCENE, "data": {"size": np.int64(SIZE), "exclude_constant": np.bool_(True)}}).close()
        make(num_envs=np.int64(2), autoreset_mode="same_step", copy=np.bool_(True), volumes=list(range(7)), metrics=("ssim", "psnr")).close()
        for text, wrong in (
            ("num_envs is '2'", {"num_envs": "2"}), ("num_envs is 2.5", {"num_envs": 2.5}), ("num_envs is None", {"num_envs": None}),
            ("device is 0; .* a place as '0'", {"device": 0}), ("autoreset_mode is 'now'", {"autoreset_mode": "now"}), ("SAME_STEP", {"autoreset_mode": 3}),
            ("copy is 'no'", {"copy": "no"}), ("cuda is None", {"cuda": None}), ("mask_in_observation is 2", {"mask_in_observation": 2}),
            ("observation is", {"observation": ["standardised"]}), ("scoring is", {"scoring": 1}), ("invalid is", {"invalid": None}),
            ("convert is", {"convert": "torch"}), ("scene is 5", {"scene": 5}), ("scene is", {"scene": [SCENE]}),
            ("reconstructor is 3", {"reconstructor": 3}), ("policy is", {"policy": ["p.h5"]}), ("split is 1", {"split": 1, "data": "DATA"}),
            ("metrics is 5", {"metrics": 5}), ("override data.size is None", {"overrides": {"data.size": None}}),
            ("overrides is 5", {"overrides": 5}), ("the scene is no", {"scene": {"data": {"size": object()}}}),
            ("volumes", {"volumes": np.ma.masked_array(np.arange(7), np.arange(7) == 2)}), ("volumes", {"volumes": "abcdefg"}),
            ("channels is", {"channels": 0}), ("dtype is", {"dtype": "int8"}), ("dtype", {"dtype": "no type"}),
            ("uint8", {"dtype": np.uint8, "observation": "observation"}), ("dtype", {"dtype": np.uint8, "copy": False}),
        ):
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
                make(**{"num_envs": 2, **wrong})
        with mock.patch.object(sys, "unraisablehook") as ignored:
            with self.assertRaises(ValueError):
                make(observation="image")
            gc.collect()
        ignored.assert_not_called()
        with self.assertRaisesRegex(TypeError, "num_envs is not for one scan"):
            l2sr.Env(SCENE, data=images(), num_envs=2)

    def test_calls(self):
        env = make()
        env.reset(seed=np.uint8(3))
        env.reset(options={"reset_mask": [True] + [False] * (ENVS - 1)})
        for text, call in (
            ("seed is 'a'", lambda: env.reset(seed="a")), ("options is", lambda: env.reset(options=[1])),
            ("reset_mask", lambda: env.reset(options={"reset_mask": np.ma.masked_array([True] * ENVS, [True] + [False] * (ENVS - 1))})),
            ("steps is '3'", lambda: env.play("random", "3")), ("sampler is", lambda: env.decide(["random"])),
            ("slice is '1'", lambda: env.slice("1")), ("array is", lambda: env.array(3)), ("state is", lambda: env.restore("abc")),
            ("row is", lambda: env.scans.draw("target", "0", "x.png")), ("path is 5", lambda: env.scans.draw("target", 0, 5)),
            ("record is", lambda: l2sr.train("quickstart_l2sr", "none", data="DATA", record=3)),
            ("resume is", lambda: l2sr.train("quickstart_l2sr", "none", data="DATA", resume="yes")),
            ("output is", lambda: l2sr.train("quickstart_l2sr", 3, data="DATA")),
            ("samplers is", lambda: l2sr.evaluate("quickstart_l2sr", data="DATA", samplers=3)),
        ):
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
                call()


class Channels(unittest.TestCase):
    def test_axes_and_pictures(self):
        plain = play(make(), BUDGET)
        for channels, shape in (("first", (1, SIZE, SIZE)), ("last", (SIZE, SIZE, 1))):
            for way in ({}, {"dtype": "uint8"}, {"dtype": "float32"}, {"copy": False}, {"convert": np.asarray}, {"mask_in_observation": True}):
                env = make(channels=channels, **way)
                seen, last = (play(env, BUDGET)[k] for k in (0, BUDGET))
                space, seen, last = env.single_observation_space, seen[0], last[3]["final_obs"]
                if "mask_in_observation" in way:
                    space, seen, last = space["observation"], seen["observation"], [one["observation"] for one in last]
                self.assertEqual((space.shape, seen.shape[1:], seen.dtype), (shape, shape, space.dtype))
                if way.get("copy", True) and "convert" not in way:
                    expected = plain[0][0].reshape(seen.shape)
                    self.assertIn(last[0], space)
                    found = seen if seen.dtype == np.float32 else seen / 255 * 12 - 6
                    np.testing.assert_allclose(found, expected, atol=0 if seen.dtype == np.float32 else 6.1 / 255)
        self.assertEqual(make(observation="observation", dtype="float32").reset(seed=1)[0].dtype, np.float32)
        one = l2sr.Env(SCENE, data=images(), channels="first", dtype="uint8")
        self.assertIn(one.reset(seed=1)[0], one.observation_space)

    @unittest.skipIf(torch is None, "no torch: apt install python3-torch")
    def test_policies_for_pictures(self):
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.preprocessing import is_image_space

        import l2sr.sb3

        env = l2sr.sb3.VecEnv(SCENE, 4, data=images(size=64), overrides={"data.size": 64}, channels="first", dtype="uint8")
        self.assertTrue(is_image_space(env.observation_space, check_channels=True))
        MaskablePPO("CnnPolicy", env, n_steps=4, batch_size=16, n_epochs=1).learn(16)
        env.close()


def installed(name):
    """Of a library that few have: tests/python/run.sh says which tests did not run."""
    return unittest.skipIf(torch is None or importlib.util.find_spec(name) is None, f"did not run: {name} is not installed")


class Libraries(unittest.TestCase):
    """What steps environments of Gymnasium. Where random actions come from a library that knows no masks, taken ones are
    replaced."""

    def test_autoreset_modes_are_attributes(self):
        for mode in AutoresetMode:
            env = make(autoreset_mode=mode)
            self.assertIs(env.autoreset_mode, mode)
            self.assertIs(env.metadata["autoreset_mode"], mode)

    @unittest.skipIf(torch is None, "no torch: apt install python3-torch")
    def test_a_loop_as_cleanrls(self):
        envs = wrappers.RecordEpisodeStatistics(make(autoreset_mode="SAME_STEP"))
        agent = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(SIZE * SIZE, SIZE))
        seen, info = envs.reset(seed=1)
        lengths = []
        for _ in range(2 * BUDGET):
            logits = agent(torch.as_tensor(seen)).masked_fill(torch.as_tensor(info["action_mask"]) == 0, -1e9)
            action = torch.distributions.Categorical(logits=logits).sample()
            seen, reward, terminated, truncated, info = envs.step(action.numpy())
            if "final_info" in info:
                lengths += info["final_info"]["episode"]["l"].tolist() if "episode" in info["final_info"] else info["episode"]["l"].tolist()
        self.assertEqual(lengths, [BUDGET] * 2 * ENVS)

    @installed("torchrl")
    def test_torchrl(self):
        from torchrl.envs import GymWrapper
        from torchrl.envs.utils import check_env_specs

        for mode in ("SAME_STEP", "DISABLED"):
            env = GymWrapper(make(3, invalid="mask", autoreset_mode=mode))
            seen = env.rollout(2 * BUDGET, break_when_any_done=mode == "DISABLED")["observation"]
            self.assertEqual(seen.shape, (3, BUDGET if mode == "DISABLED" else 2 * BUDGET, SIZE, SIZE))
        check_env_specs(GymWrapper(l2sr.Env(SCENE, data=images(), invalid="mask")))

    @installed("skrl")
    def test_skrl(self):
        from skrl.envs.wrappers.torch import wrap_env

        env = wrap_env(make(3), wrapper="gymnasium")
        env.reset()
        for step in range(2 * BUDGET):
            seen, reward, terminated, truncated, info = env.step(torch.full((3, 1), step % BUDGET))
        self.assertEqual((seen.shape, terminated.tolist()), ((3, SIZE * SIZE), [[True]] * 3))

    @installed("tianshou")
    def test_tianshou(self):
        from tianshou.env import DummyVectorEnv

        envs = DummyVectorEnv([lambda: l2sr.Env(SCENE, data=images())] * 3)
        envs.reset()
        for step in range(BUDGET):
            seen, reward, terminated, truncated, info = envs.step(np.full(3, step))
        self.assertEqual((seen.shape, terminated.tolist()), ((3, SIZE, SIZE), [True] * 3))


class Closing(unittest.TestCase):
    def test_no_cycle_keeps_what_is_closed(self):
        gc.collect()
        gc.disable()
        try:
            env = make()
            env.reset(seed=1)
            env.close()
            left = weakref.ref(env)
            del env
            self.assertIsNone(left())
        finally:
            gc.enable()


class Errors(unittest.TestCase):
    def test_kinds(self):
        cases = [
            (ValueError, "data.size", {"overrides": ["data.size=17"]}),
            (ValueError, "unknown|no option", {"overrides": {"data.sise": 17}}),
            (ValueError, "overrides is the text", {"overrides": "data.size=17"}),
            (ValueError, "unknown section nope", {"overrides": {"nope": {}}}),
            (ValueError, "unknown section nope", {"scene": {"nope": {}}}),
            (ValueError, "unknown key nope", {"overrides": {"nope": 1}}),
            (ValueError, "data.size", {"overrides": {"data": {"size": {}}}}),
            (ValueError, "no data.path|no slices", {"data": None}),
            (ValueError, "data has shape", {"data": images()[0]}),
            (ValueError, "volumes", {"volumes": [1, 2]}),
            (ValueError, "observation is", {"observation": "image"}),
            (ValueError, "num_envs is 0", {"num_envs": 0}),
            (ValueError, "invalid is", {"invalid": "raise"}),
            (ValueError, "metric", {"metrics": "beauty"}),
            (FileNotFoundError, "nowhere", {"data": "/nowhere"}),
            (FileNotFoundError, "no_such_scene", {"scene": "no_such_scene"}),
            (FileNotFoundError, "nowhere.h5", {"reconstructor": "/nowhere.h5"}),
            (RuntimeError, "no device of NVIDIA's", {"cuda": True, "device": "cpu"}),
            (RuntimeError, "no OpenCL device matches", {"device": "abacus"}),
            (MemoryError, "fit|room", {"num_envs": 65536, "data": images(size=512), "overrides": {"data.size": 512}}),
        ]
        for kind, text, arguments in cases:
            with self.subTest(arguments={name: str(value)[:40] for name, value in arguments.items()}):
                with self.assertRaisesRegex(kind, text):
                    make(**arguments)

    def test_numbers_that_python_does_not_write(self):
        for text, arguments in (("too many digits", {"overrides": {"data.size": 10**5000}}), ("num_envs is of type int", {"num_envs": 10**5000})):
            with self.assertRaisesRegex(ValueError, text):
                make(**arguments)

    def test_texts_that_no_encoding_has(self):
        odd = "a\ud800"
        cases = [
            {"device": odd}, {"data": odd}, {"data": pathlib.Path(odd)}, {"metrics": odd}, {"metrics": ["ssim", odd]}, {"reconstructor": odd},
            {"policy": odd}, {"split": odd, "data": "DATA"}, {"scene": odd}, {"scene": {"data": {"path": odd}}}, {"scene": {odd: {}}},
            {"overrides": [odd]}, {"overrides": {odd: 1}}, {"overrides": {"data.path": odd}}, {"overrides": {"data": {"path": pathlib.Path(odd)}}},
        ]
        for arguments in cases:
            with self.subTest(arguments=ascii(arguments)):
                with self.assertRaises(ValueError) as raised:
                    make(**arguments)
                self.assertIs(type(raised.exception), ValueError)
                self.assertRegex(str(raised.exception), r"has the character '\\ud800'; it must be a text that utf-8 has")
                self.assertIsNone(raised.exception.__context__)
        env = make()
        for call in (lambda: env.decide(odd), lambda: env.play(odd, 1)):
            with self.assertRaisesRegex(ValueError, "it must be a text that utf-8 has"):
                call()
        env.close()
        make(overrides={"data": {}}).close()

    def test_what_is_given_is_looked_at(self):
        for arguments in (
            {"data": np.zeros((64, 0, SIZE, SIZE), np.complex64)},
            {"data": np.zeros((0, SIZE, SIZE))},
            {"data": "tiny\0zzz"},
            {"volumes": [-1] * len(images())},
            {"volumes": [0.5] * len(images())},
            {"overrides": [3]},
            {"device": 3},
            {"split": "tr\0ain", "data": "DATA"},
            {"metrics": [3]},
            {"num_envs": 2**32 + 1},
        ):
            with self.subTest(arguments=list(arguments)), self.assertRaises(ValueError):
                make(**arguments)
        env = make()
        env.reset(seed=np.int64(3))
        for number in (-1, len(images()), 2**64 + 1):
            with self.assertRaises(ValueError):
                env.slice(number)
        env.restore(bytearray(env.save()))
        with self.assertRaises(TypeError):
            env.restore("abc")
        with self.assertRaises(TypeError):
            copy.deepcopy(env)

    def test_numbers_of_any_byte_order(self):
        env = make(invalid="error")
        for kind in (">i8", "<i8", ">i4", "<u2"):
            env.reset(seed=1)
            env.step(np.arange(ENVS).astype(kind))
            np.testing.assert_array_equal(env.scans.read("action"), np.arange(ENVS))

    def test_a_forked_process_is_told(self):
        env = make()
        env.reset(seed=1)
        for what in (lambda: env.step(np.zeros(ENVS, int)), make, lambda: l2sr.evaluate(SCENE, data=images())):
            read, write = os.pipe()
            child = os.fork()
            if not child:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(20)  # what hangs says nothing
                try:
                    what()
                except RuntimeError as error:
                    os.write(write, str(error).encode())
                finally:
                    os._exit(0)
            os.close(write)
            with os.fdopen(read) as text:
                self.assertIn("this process was forked", text.read())
            os.waitpid(child, 0)
        env.step(np.zeros(ENVS, int))

    def test_memory_that_is_advised_is_enough(self):
        code = """if True:
            import l2sr
            env = l2sr.VectorEnv("quickstart_l2sr", 16384, data="DATA", overrides={"data.size": 64, "data.pad": 64}, scoring="never")
            env.reset(seed=1)"""
        def ends(kib):
            command = ["sh", "-c", f'ulimit -v {kib}; exec "$0" -c "$1"', sys.executable, code]
            return subprocess.run(command, capture_output=True, text=True).stderr

        advice = re.search(r"MemoryError: .*raise the limit to (\d+) MiB", ends(600000))
        self.assertTrue(advice)
        self.assertEqual(ends(int(advice[1]) * 1024), "")

    def test_texts_name_what_python_has(self):
        from l2sr._binding import in_python

        env = make(invalid="error")
        env.reset(seed=1)
        with self.assertRaisesRegex(ValueError, r'none; info\["action_mask"\] has those that are free'):
            env.step(np.full(ENVS, SIZE))
        self.assertEqual(in_python("go on with --resume, or give --policy a/b.h5"), "go on with resume=True, or give policy=a/b.h5")
        other = "choose another train.output; or take --set learn.start=a b/last.h5, and with the reconstructor"
        self.assertEqual(in_python(other), 'choose another output; or take overrides={"learn.start": "a b/last.h5"}, and with the reconstructor')
        path = "cannot open /data/l2sr_env_wait/L2SR_FREE: no such file"
        self.assertEqual(in_python(path), path)

    def test_wrong_order_of_calls(self):
        env = make()
        with self.assertRaisesRegex(RuntimeError, "call reset, without a mask, first"):
            env.step(np.zeros(ENVS, int))
        with self.assertRaisesRegex(RuntimeError, "call step_async first"):
            env.step_wait()
        env.reset(seed=1)
        env.step_async(np.ones(ENVS, int))
        with self.assertRaisesRegex(RuntimeError, "under way"):
            env.reset()
        env.step_wait()
        for seed in (-1, 2**32, [1, 2], 0.5):
            with self.assertRaisesRegex((TypeError, ValueError), "seed is"):
                env.reset(seed=seed)
        env.close()
        env.close()
        for call in (env.reset, env.save, lambda: env.step(np.zeros(ENVS, int)), lambda: env.array("free")):
            with self.assertRaisesRegex(RuntimeError, "closed"):
                call()

    def test_two_threads_on_one_handle(self):
        env = make()
        env.reset(seed=1)
        refused = []

        def work():
            for _ in range(40):
                try:
                    env.scans.read("observation")
                except RuntimeError as error:
                    refused.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all("another call" in text for text in refused))

    def test_the_library_logs(self):
        with self.assertLogs("l2sr", logging.INFO) as told:
            make()
        self.assertTrue(any("device" in line for line in told.output))


OWN = {
    **SCENE,
    "reconstruct": {"method": "callback", "input": "maps"},
    "reward": {"metric": "callback"},
    "evaluate": {"metrics": ["ssim", "callback"], "samplers": ["random"]},
}


class Callbacks(unittest.TestCase):
    def own(self, reconstruct=lambda batch: batch.observation * 0.9, **arguments):
        return l2sr.Callbacks(reconstruct, lambda batch: -abs(batch.image - batch.target).mean((1, 2)), **arguments)

    def test_images_and_rewards_are_the_programs(self):
        batches = []

        def reconstruct(batch):
            batches.append((len(batch), batch.kspace.copy(), batch.acquired.sum(1), batch.path, list(batch.number)))
            self.assertTrue((batch.maps == 1).all() and batch.image is None and batch.target is None)
            space = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(batch.kspace, (-2, -1)), norm="ortho"), (-2, -1))
            np.testing.assert_allclose(abs(space[:, 0]), batch.observation, atol=1e-4)
            batch.result[:] = batch.observation * 0.9

        def metric(batch):
            np.testing.assert_array_equal(batch.label, batch.slice - 3)
            return -abs(batch.image - batch.target).mean((1, 2))

        labels = np.arange(len(images())) - 3
        env = make(scene=OWN, callbacks=l2sr.Callbacks(reconstruct, metric), metrics="ssim,callback", labels=labels)
        names = ("final_target", "final_acquired", "final_reconstruction", "final_label")
        target, acquired, image, label = (env.array(name) for name in names)
        *_, (_, reward, ended, info) = play(env, BUDGET)
        self.assertTrue(ended.all())
        np.testing.assert_allclose(reward, -abs(np.asarray(image) - np.asarray(target)).mean((1, 2)), rtol=1e-4)
        np.testing.assert_array_equal(info["final_info"]["callback"], reward)
        np.testing.assert_array_equal(label, info["final_info"]["slice"] - 3.0)
        np.testing.assert_array_equal(np.asarray(acquired).sum(1), INITIAL + BUDGET)
        count, kspace, taken, paths, _ = batches[-1]
        self.assertEqual((count, kspace.shape, kspace.dtype), (ENVS, (ENVS, 1, SIZE, SIZE), np.complex64))
        self.assertEqual((len(paths), set(taken)), (ENVS, {INITIAL + BUDGET}))
        self.assertEqual((env.array("kspace").shape, env.array("kspace").dtype), (kspace.shape, kspace.dtype))
        env.close()

    def test_a_function_that_fails_is_named(self):
        def fail(_batch):
            raise KeyError("lost weights")

        faults = (
            (fail, KeyError, "lost weights"),
            (lambda batch: batch.observation[:2], ValueError, r"reconstruct returned shape \(2, 32, 32\); expected \(7, 32, 32\)"),
            (lambda batch: batch.acquired, ValueError, "expected"),
            (lambda batch: batch.kspace[:, 0], TypeError, "reconstruct returned type complex64; expected float32"),
            (lambda batch: batch.observation * np.nan, ArithmeticError, "reconstruct of mine gave an image with pixels"),
            (lambda batch: None, TypeError, "reconstruct returned None, and wrote nothing into batch.result"),
        )
        for function, kind, text in faults:
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                l2sr.evaluate(OWN, data=images(), callbacks=self.own(function, name="mine"))
        with self.assertRaisesRegex(ValueError, r"labels has shape \(2,\).*expected one finite number a slice"):
            l2sr.evaluate(OWN, data=images(), labels=[1, 2], callbacks=self.own())
        with self.assertRaisesRegex(ValueError, r"reconstruct.method names callback.*callbacks=l2sr.Callbacks"):
            l2sr.evaluate(OWN, data=images())
        env = make(scene=OWN, callbacks=self.own(fail))
        with self.assertRaisesRegex(KeyError, "lost weights"):
            play(env, BUDGET)
        with self.assertRaisesRegex(RuntimeError, "can only be closed"):
            env.reset()
        env.close()

    def test_a_training_calls_them_and_a_file_holds_them(self):
        example = os.path.join(os.environ["L2SR_SOURCE"], "tools", "examples", "own_network.py")
        scene = {**OWN, "train": {"method": "l2s"}, "learn": {"steps": 24, "scans": 4, "validations": 1}}
        scene["policy"] = {"channels": 2, "pools": 2, "hidden": 16}
        scene["data"] = {"size": SIZE, "source": "auto", "volumes": 1}
        own = self.own() if torch is None else example
        with tempfile.TemporaryDirectory() as folder:
            made = l2sr.train(scene, folder, data="DATA", callbacks=own)
        self.assertTrue(any(one.get("kind") == "stage" for one in made["records"]))
        for wrong, kind in ((3, TypeError), ("none.py", FileNotFoundError)):
            with self.assertRaises(kind):
                l2sr.train(scene, "none", data="DATA", callbacks=wrong)


class Arrays(unittest.TestCase):
    def test_they_outlive_their_environments(self):
        env = make(copy=False)
        seen, _ = env.reset(seed=1)
        before = seen.copy()
        env.close()
        del env
        gc.collect()
        np.testing.assert_array_equal(seen, before)

    def test_final_observations_last_to_the_next_end(self):
        """Copies outlast it. An array, an object an environment, or a converted array: all give the same images."""
        ways = {"copies": {}, "views": {"copy": False}, "converted": {"convert": np.asarray}}
        ends = {}
        for way, arguments in ways.items():
            env = make(**arguments)
            env.reset(seed=1)
            ends[way] = []
            for step in range(2 * BUDGET):
                env.decide()
                *_, info = env.step(None)
                self.assertEqual("final_obs" in info, step % BUDGET == BUDGET - 1)
                if "final_obs" in info:
                    last = info["final_obs"]
                    ends[way].append((last, np.stack(last) if way == "copies" else np.array(last)))
                elif ends[way]:
                    np.testing.assert_array_equal(np.stack(ends[way][0][0]), ends[way][0][1])
            self.assertEqual(len(ends[way]), 2)
            self.assertFalse(np.array_equal(ends[way][0][1], ends[way][1][1]))
        for way in ways:
            for (_, then), (_, expected) in zip(ends[way], ends["copies"]):
                np.testing.assert_array_equal(then, expected)
        np.testing.assert_array_equal(np.stack(ends["copies"][0][0]), ends["copies"][0][1])
        np.testing.assert_array_equal(ends["views"][0][0], ends["views"][1][1])

    def test_copies_are_the_callers(self):
        env = make()
        held = [env.reset(seed=1)[0]]
        rows = held[0][1:, ::2]  # a view holds the whole
        held[0].flags.writeable = False
        first = held[0].copy()
        for _ in range(4):
            env.decide()
            held.append(env.step(None)[0])
        self.assertEqual(len({seen.ctypes.data for seen in held}), 5)
        np.testing.assert_array_equal(held[0], first)
        del held
        np.testing.assert_array_equal(rows, first[1:, ::2])
        places = set()
        for _ in range(6):
            env.decide()
            seen = env.step(None)[0]
            np.testing.assert_array_equal(seen, env.array("standardised"))
            places.add(seen.ctypes.data)
        self.assertEqual(len(places), 2)  # `seen` holds one while the next is made
        np.testing.assert_array_equal(rows, first[1:, ::2])

    def test_dlpack(self):
        env = make()
        env.reset(seed=1)
        array = env.array("standardised")
        for version in (None, (0, 8), (1, 0)):
            name = "dltensor_versioned" if version == (1, 0) else "dltensor"
            self.assertIn(f'"{name}"', repr(array.__dlpack__(max_version=version)))
        self.assertEqual(array.__dlpack_device__(), (1, 0))
        view = np.from_dlpack(array)
        self.assertEqual(view.ctypes.data, array.address)
        np.testing.assert_array_equal(view, np.asarray(array))
        with self.assertRaises(BufferError):
            array.__dlpack__(dl_device=(2, 0))
        with self.assertRaises(BufferError):
            array.__dlpack__(copy=True)
        del view
        gc.collect()
        self.assertFalse(l2sr._arrays._given)

    def test_capsules_where_others_set_types(self):
        shared = ctypes.pythonapi.PyCapsule_GetPointer
        before = shared.argtypes
        shared.argtypes = [ctypes.py_object, ctypes.c_char_p]
        try:
            env = make()
            array = env.array("reward")
            array.__dlpack__()
            self.assertFalse(l2sr._arrays._given)
        finally:
            shared.argtypes = before

    @unittest.skipIf(torch is None, "no torch")
    def test_tensors_share_the_memory(self):
        env = make(convert=torch.from_dlpack)
        seen, info = env.reset(seed=1)
        before = seen.clone()
        same, reward, _, _, info = env.step(torch.ones(ENVS, dtype=torch.int64))
        self.assertEqual(seen.data_ptr(), env.array("standardised").address)
        self.assertIs(seen, same)
        self.assertFalse(torch.equal(seen, before))
        self.assertEqual((info["action_mask"].dtype, reward.dtype), (torch.int8, torch.float32))
        env.close()
        self.assertTrue(torch.isfinite(seen).all())


@unittest.skipIf(torch is None, "no torch: apt install python3-torch")
class StableBaselines(unittest.TestCase):
    def test_checkers_and_infos(self):
        from stable_baselines3.common.env_checker import check_env as check

        import l2sr.sb3

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(l2sr.Env(SCENE, data=images()))
        env = l2sr.sb3.VecEnv(SCENE, 4, data=images(), metrics="ssim")
        env.seed(3)
        seen = env.reset()
        self.assertEqual(seen.shape, (4, SIZE, SIZE))
        self.assertEqual(np.stack(env.env_method("action_masks")).shape, (4, SIZE))
        self.assertTrue(env.has_attr("action_masks") and not env.has_attr("no_such"))
        self.one_result_an_environment(env)
        env.seed(3), env.reset()
        for action in range(BUDGET):
            seen, reward, ended, infos = env.step(np.full(4, action))
        self.assertTrue(ended.all())
        self.assertEqual(infos[0]["terminal_observation"].shape, (SIZE, SIZE))
        self.assertIs(infos[0]["TimeLimit.truncated"], False)
        self.assertAlmostEqual(float(reward[2]), float(infos[2]["ssim"]), places=5)
        with self.assertRaisesRegex(ValueError, "copy"):
            l2sr.sb3.VecEnv(SCENE, 4, data=images(), copy=False)
        env.close()

    def one_result_an_environment(self, env):
        """Or an error before the call."""
        self.assertEqual([one.shape for one in env.env_method("array", "target")], [(SIZE, SIZE)] * 4)
        self.assertEqual(len(set(env.env_method("slice", 3, indices=[0, -1]))), 1)
        before = env.vector.scans.read("scan")
        seen, info = env.env_method("reset", indices=2)[0]
        self.assertEqual((seen.shape, info["action_mask"].shape), ((SIZE, SIZE), (SIZE,)))
        self.assertEqual((env.vector.scans.read("scan") - before).tolist(), [0, 0, 4, 0])
        self.assertEqual([mask().shape for mask in env.get_attr("action_masks")], [(SIZE,)] * 4)
        self.assertEqual(env.get_attr("action_space", [1, 2]), [env.action_space] * 2)
        before = env.vector.save()
        for name, arguments in (("save", ()), ("decide", ("random",)), ("play", ("random",)), ("step", (np.zeros(4, int),)), ("close", ())):
            with self.assertRaisesRegex(ValueError, f"call env.vector.{name}"):
                env.env_method(name, *arguments)
            with self.assertRaisesRegex(ValueError, f"call env.vector.{name}"):
                env.get_attr(name)
        with self.assertRaisesRegex(AttributeError, "no_such"):
            env.env_method("no_such")
        for indices in (4, [0, -5], "a"):
            with self.assertRaisesRegex((TypeError, ValueError), "index"):
                env.env_method("reset", indices=indices)
        for name, indices in (("action_space", None), ("save", None), ("render_mode", [1])):
            with self.assertRaises(ValueError):
                env.set_attr(name, None, indices)
        self.assertEqual(env.vector.save(), before)
        env.set_attr("note", 7)
        self.assertEqual(env.get_attr("note", [0, 3]), [7, 7])

    def test_replaced_actions_are_told(self):
        import l2sr.sb3

        env = l2sr.sb3.VecEnv(SCENE, 2, data=images(), invalid="mask")
        env.reset()
        env.step(np.array([3, 4]))
        self.assertEqual([one.get("action") for one in env.step(np.array([3, 5]))[3]], [2, None])
        self.assertEqual([one.get("action") for one in env.step(np.array([9, 5]))[3]], [None, 6])
        env.close()

    def test_ppo_beats_random_lines(self):
        """On the quickstart's data, in some eight seconds."""
        from sb3_contrib import MaskablePPO

        import l2sr.sb3

        env = l2sr.sb3.VecEnv("quickstart_l2sr", 64, data="DATA")
        env.seed(1)
        model = MaskablePPO("MlpPolicy", env, n_steps=7, batch_size=448, n_epochs=4, learning_rate=1e-3, gamma=1.0,
                            gae_lambda=1.0, ent_coef=0.003, seed=0, policy_kwargs={"net_arch": [64]})
        model.learn(448 * 8)
        env.close()
        generator = np.random.default_rng(0)
        learned = self.score(lambda seen, info: model.predict(seen, action_masks=info["action_mask"], deterministic=True)[0])
        random = self.score(lambda seen, info: free_actions(info, generator))
        self.assertGreater(learned, random + 0.1)

    def score(self, choose):
        """The mean SSIM over the 60 slices of the test split."""
        env = l2sr.VectorEnv("quickstart_l2sr", 60, data="DATA", split="test")
        seen, info = env.reset(seed=5)
        ended = np.zeros(60, bool)
        while not ended.any():
            seen, _, ended, _, info = env.step(choose(seen, info))
        return info["final_info"]["ssim"].mean()


SMALL = {"train.epochs": 2, "learn.steps": 896, "learn.validations": 2, "alternate.rounds": 1, "train.method": "reconstructor"}


class Learning(unittest.TestCase):
    def test_training_and_evaluating(self):
        told = []
        made = l2sr.train("quickstart_l2sr", "run", data="DATA", overrides=SMALL, record=told.append)
        self.assertEqual(told, made["records"])
        self.assertTrue(np.isfinite(made["columns"]["loss"]).all())
        self.assertEqual(made["output"], "run")
        table = l2sr.evaluate("quickstart_l2sr", data="DATA", reconstructor="run/best.h5", samplers="random,low_bias")
        self.assertEqual([run["sampler"] for run in table["runs"]], ["random", "low_bias"])
        run = table["runs"][0]
        self.assertAlmostEqual(run["mean"]["ssim"], float(run["scores"]["ssim"][:, -1].mean()), places=5)
        self.assertEqual((run["mask"].shape, run["action"].shape), ((60, 32), (60, 7)))
        self.assertEqual(len(table["slices"]), 60)
        self.assertTrue(os.path.exists(table["slices"][0][0]))

    def test_interrupted_trainings_go_on(self):
        def interrupt(record):
            if record["kind"] == "look":
                signal.raise_signal(signal.SIGINT)

        arguments = {"data": "DATA", "overrides": {**SMALL, "train.method": "l2s", "learn.log_every": 2}}
        with self.assertRaises(KeyboardInterrupt):
            l2sr.train("quickstart_l2sr", "cut", record=interrupt, **arguments)
        self.assertTrue(pathlib.Path("cut/policy_1/last.h5").exists())
        records = l2sr.train("quickstart_l2sr", "cut", resume=True, **arguments)["records"]
        looks = [one["rollouts"] for one in records if one["kind"] == "look"]
        self.assertEqual(looks[-1], 8)
        self.assertGreater(looks[0], 2)

    def test_interrupted_from_outside(self):
        """The signal comes while the library works; what it raises on the way into a callback is lost."""
        told = []

        def record(one):
            told.append(one)
            looks = [seen["kind"] for seen in told].count("look")
            if one["kind"] == "look" and looks == 2:
                soon(signal.SIGINT, 0.01)  # once: another would come when the training has ended

        arguments = {"data": "DATA", "overrides": {**SMALL, "train.method": "l2s", "learn.steps": 60000, "learn.log_every": 20}}
        with self.assertRaises(KeyboardInterrupt):
            l2sr.train("quickstart_l2sr", "outside", record=record, **arguments)
        self.assertLess(len([one for one in told if one["kind"] == "look"]), 4)
        self.assertTrue(pathlib.Path("outside/policy_1/last.h5").exists())
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_any_signals_exception_comes_out(self):
        few = {**SMALL, "data.fraction": 0.1, "train.epochs": 1}
        l2sr.train("quickstart_l2sr", "reconstructor", data="DATA", overrides=few)
        policy = {"train.method": "l2s", "learn.reconstructor": "reconstructor/best.h5", "learn.steps": 60000, "learn.log_every": 8}
        arguments = {"data": "DATA", "overrides": {**few, **policy}}
        for number in SIGNALS:
            told = []

            def record(one, told=told, number=number):
                told.append(one)
                if [seen["kind"] for seen in told].count("look") == 1 and one["kind"] == "look":
                    soon(number, 0.01)  # once: another would come when its handler is gone

            shutil.rmtree("left", ignore_errors=True)
            with handled(number) as _, self.assertRaises(Leave):
                l2sr.train("quickstart_l2sr", "left", record=record, **arguments)
            self.assertLess(len([one for one in told if one["kind"] == "look"]), 4)
            self.assertTrue(pathlib.Path("left/policy_1/last.h5").exists())
        with handled(signal.SIGALRM), self.assertRaises(Leave):
            soon(signal.SIGALRM, 0.3)
            l2sr.evaluate("quickstart_l2sr", data="DATA", samplers="random", overrides={"evaluate.trajectories": 1024})

    def test_what_record_raises_at_any_line_comes_out(self):
        small = {"data.fraction": 0.1, "train.epochs": 2, "train.log_every": 1, "network.channels": 2, "network.pools": 1}
        arguments = {"data": "DATA", "overrides": {**SMALL, **small}}
        lines = l2sr.train("quickstart_l2sr", "lines", **arguments)["records"]
        self.assertGreater(len(lines), 2)
        for last in range(len(lines)):
            seen = []

            def record(line, seen=seen, last=last):
                seen.append(line)
                if len(seen) > last:
                    raise Leave(last)

            shutil.rmtree("lines")
            with self.assertRaises(Leave):
                l2sr.train("quickstart_l2sr", "lines", record=record, **arguments)
        with self.assertRaisesRegex(Exception, "resume=True"):
            l2sr.train("quickstart_l2sr", "lines", **arguments)
        l2sr.train("quickstart_l2sr", "lines", resume=True, **arguments)

    def test_a_handler_that_record_sets_stays(self):
        self.addCleanup(signal.signal, signal.SIGUSR2, signal.getsignal(signal.SIGUSR2))
        shutil.rmtree("sets", ignore_errors=True)
        l2sr.train("quickstart_l2sr", "sets", data="DATA", overrides={**SMALL, "train.epochs": 1},
                   record=lambda _: signal.signal(signal.SIGUSR2, leave))
        with self.assertRaises(Leave):
            signal.raise_signal(signal.SIGUSR2)

    def test_a_signal_in_record_leaves_it_at_once(self):
        def record(_):
            signal.raise_signal(signal.SIGALRM)
            self.fail("the handler has raised")

        shutil.rmtree("once", ignore_errors=True)
        with handled(signal.SIGALRM), self.assertRaises(Leave):
            l2sr.train("quickstart_l2sr", "once", data="DATA", overrides=SMALL, record=record)

    def test_refusals(self):
        with self.assertRaises(FileNotFoundError):
            l2sr.train("quickstart_l2sr", "none", data="/nowhere")
        with self.assertRaisesRegex(ValueError, "folder for the training"):
            l2sr.train("quickstart_l2sr", data="DATA")
        with self.assertRaisesRegex(ValueError, "folder"):
            l2sr.train("quickstart_l2sr", "none", data=images())
        with self.assertRaisesRegex(ValueError, "sampler"):
            l2sr.evaluate("quickstart_l2sr", data="DATA", samplers="no_such")


class Files(unittest.TestCase):
    """What `l2sr import` and `export` do, from Python: tests/cli/formats.sh tries what they read and write."""

    def test_arrays_go_there_and_back(self):
        generator = np.random.default_rng(1)
        kspace = (generator.normal(size=(2, 3, 8, 6)) + 1j * generator.normal(size=(2, 3, 8, 6))).astype(np.complex64)
        l2sr.export(kspace, "files/there.h5")
        np.testing.assert_array_equal(l2sr.read("files/there.h5"), kspace)
        l2sr.export("files/there.h5", "files/there.cfl")
        np.testing.assert_array_equal(l2sr.read("files/there.cfl", kind="kspace"), kspace)
        image = np.abs(kspace[:, 0])
        l2sr.export(image, "files/image.npy")
        np.testing.assert_array_equal(np.load("files/image.npy"), image)

    def test_masks_become_sequences(self):
        mask = np.zeros(32, np.uint8)
        mask[[3, 15, 16, 17, 30]] = 1
        os.makedirs("files", exist_ok=True)
        l2sr.export(mask, "files/mask.seq", tr=25, fov=200)
        text = pathlib.Path("files/mask.seq").read_text()
        self.assertIn("RepetitionTime 0.025", text)
        self.assertEqual(len(re.findall(r"^\d+ 32 25000 ", text, re.MULTILINE)), 5)
        l2sr.export(mask, "files/mask.npy")
        np.testing.assert_array_equal(np.load("files/mask.npy"), mask)

    @unittest.skipIf(importlib.util.find_spec("pypulseq") is None, "did not run: pypulseq is not installed")
    def test_sequences_are_pulseqs(self):
        """Its own reader and timing check, and where the lines lie."""
        import pypulseq

        mask = np.zeros(32, np.uint8)
        mask[[0, 9, 16, 31]] = 1
        os.makedirs("files", exist_ok=True)
        l2sr.export(mask, "files/play.seq", fov=200)
        sequence = pypulseq.Sequence()
        sequence.read("files/play.seq")
        self.assertEqual(sequence.check_timing()[1], [])
        acquired = sequence.calculate_kspace()[0].reshape(3, -1, 32) * 0.2
        np.testing.assert_array_equal(np.rint(acquired[1].mean(1)), np.flatnonzero(mask) - 16)
        np.testing.assert_allclose(acquired[0], np.broadcast_to(np.arange(-16, 16), (4, 32)), atol=1e-6)

    @unittest.skipIf(importlib.util.find_spec("pydicom") is None, "did not run: pydicom is not installed")
    def test_dicom_series_become_volumes(self):
        """Slices in the order of their places, scaled, of their patient; two series are refused."""
        import pydicom

        os.makedirs("files/series", exist_ok=True)
        images = np.arange(3 * 4 * 6, dtype=np.uint16).reshape(3, 4, 6)
        for name, place, series in (("a", 2, "1.2"), ("b", 0, "1.2"), ("c", 1, "1.2"), ("d", 3, "1.3")):
            one = pydicom.Dataset()
            one.file_meta = pydicom.dataset.FileMetaDataset()
            one.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
            one.PatientID, one.SeriesInstanceUID, one.InstanceNumber = "somebody", series, place
            one.SOPClassUID, one.SOPInstanceUID = pydicom.uid.MRImageStorage, f"1.9.{place}"
            one.ImagePositionPatient, one.ImageOrientationPatient = [0, 0, -5 * place], [1, 0, 0, 0, -1, 0]
            one.Rows, one.Columns, one.SamplesPerPixel, one.PhotometricInterpretation = 4, 6, 1, "MONOCHROME2"
            one.BitsAllocated, one.BitsStored, one.HighBit, one.PixelRepresentation = 16, 16, 15, 0
            one.RescaleSlope, one.RescaleIntercept, one.PixelData = 2, 1, images[place % 3].tobytes()
            one.save_as(f"files/series/{name}.dcm", enforce_file_format=True)
        with self.assertRaisesRegex(OSError, "has images of 2 series, as .*; put each series into a folder of its own"):
            l2sr.read("files/series")
        os.remove("files/series/d.dcm")
        l2sr.export("files/series", "files/series.h5")
        np.testing.assert_array_equal(l2sr.read("files/series.h5"), 2 * images + 1)

    def test_refusals_say_what_to_do(self):
        with self.assertRaisesRegex(FileNotFoundError, "gone.npy"):
            l2sr.read("gone.npy")
        np.save("cube.npy", np.random.default_rng(1).random((8, 9, 10)))
        with self.assertRaisesRegex(OSError, "may be read in several ways; make a volume of it by `l2sr import"):
            l2sr.read("cube.npy")
        self.assertEqual(l2sr.read("cube.npy", axes="h,w,s").shape, (10, 8, 9))
        with self.assertRaisesRegex(ValueError, "kind is 'picture'; it must be one of auto, image"):
            l2sr.read("cube.npy", kind="picture")
        with self.assertRaisesRegex(ValueError, "it must be a mask"):
            l2sr.export(np.zeros((2, 2, 8, 8)), "cube.cfl")

    def test_results_are_read(self):
        l2sr.files._run("evaluate", "quickstart_l2sr", "--data", "DATA", "--set", "evaluate.keep=[0,2]", "--samplers", "random", "--output", "files/results")
        self.assertEqual(l2sr.read("files/results", row=1).shape, (32,))
        self.assertEqual(l2sr.read("files/results", "image").shape, (2, 32, 32))
        with self.assertRaisesRegex(ValueError, "leave .*row out"):
            l2sr.read("files/results", "image", row=1)


class Readme(unittest.TestCase):
    def test_its_lines_run(self):
        with open(os.path.join(os.environ["L2SR_SOURCE"], "README.md")) as file:
            blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertTrue(blocks)
        before = os.getcwd()
        os.chdir("paper")
        self.addCleanup(os.chdir, before)
        for block in blocks:
            exec(compile(block, "README.md", "exec"), {})


if __name__ == "__main__":
    unittest.main()
