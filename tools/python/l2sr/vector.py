"""Gymnasium environments: thousands of scans side by side, or one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode

from . import _binding as binding
from . import _values as values
from ._arrays import Array, Copies
from ._config import Data, Overrides, Scene, make_config, names_seed
from ._scans import Scans
from ._signals import Calls
from ._spaces import Action, Actions, batch_box
from ._values import Path
from .callbacks import Given

_MODES = {
    AutoresetMode.DISABLED: "disabled",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.NEXT_STEP: "next_step",
}
_SEEDS = 2**32
_SEED = 42  # of scenes that say none: world.seed in scenes/base.yaml
_BLOCK, _PACE = 1024, 0.25  # played steps, and seconds, after which Python sees whether it is interrupted
_BOUNDS = {"observation": (0.0, np.inf), "standardised": (-6.0, 6.0)}
_CHANNELS = {"first": (1, -2), "last": (3, -1)}  # the axis of a batch, and where it goes


def _mode(mode: Any) -> AutoresetMode:
    """Of gymnasium's, by itself, its value or its name."""
    named = {one.value: one for one in AutoresetMode}
    named |= {name: one for one in AutoresetMode for name in (one.name, one.name.lower())}
    if isinstance(mode, AutoresetMode) or (isinstance(mode, str) and mode in named):
        return mode if isinstance(mode, AutoresetMode) else named[mode]
    raise ValueError(f"autoreset_mode is {values.kind(mode)}; it must be one of {', '.join(one.name for one in AutoresetMode)}")


def draw_seed() -> int:
    """One from entropy, of those that the library takes."""
    return int(np.random.SeedSequence().generate_state(1)[0])


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Scans side by side on an OpenCL device. Each begins with the first actions of its setting acquired; every step
    acquires one more, until the budget is used up, which terminates the scan. The reward is the scene's.

    Args:
        scene: a YAML file, the name of a scene that comes with the package, or a mapping of sections; None: defaults.
        num_envs: scans side by side.
        device: a name, a kind ("gpu", "cpu") or a place, as `l2sr info` lists them; None: L2SR_DEVICE, else the first GPU.
        data: a folder, as the scene's data.path; or an array, a tensor, a data set of h5py or a list of them: images
            [count, height, width], or complex k-space [count, coils, height, width] with the zero frequency in the middle;
            or a list of such volumes.
        overrides: options of the scene: {"acquisition.acceleration": 4}, {"acquisition": {"acceleration": 4}}, or a list
            of "section.key=value".
        split: which part of the folder: "train", "val", "test" or "all"; None: the scene's data.split.
        volumes: numbers of the volumes of an array's slices; None: each slice is its own, or of a list of volumes its one's.
        labels: labels of an array's slices, a number each, for `array("label")` and the `label` of callbacks' batches; None: those
            that the scene's data.label names, if it does.
        observation: "standardised" (float32, from -6 to 6: what l2sr's own policies see), or "observation" (the
            zero-filled magnitude, in the type of world.observation).
        channels: "first": observations are [1, height, width], "last": [height, width, 1]; None: [height, width].
        dtype: "uint8": standardised observations from 0 (-6) to 255 (6), as policies for pictures want them; "float32":
            observations in this type; None: their own.
        mask_in_observation: observations are {"observation": ..., "action_mask": ...}.
        autoreset_mode: gymnasium's AutoresetMode, or its name or value.
        invalid: what a step does with an action that is acquired already: "error" raises ValueError and steps no scan,
            "mask" takes the nearest free one, and info["action"] says which, "ignore" acquires nothing. One that is no
            action raises ValueError always.
        scoring: "end", "every_step" or "never": which steps are scored, and so have metrics. Rewards need scores.
        metrics: names of metrics for info, as "ssim,psnr"; None: the scene's evaluate.metrics. The reward's is one too.
        reconstructor: a checkpoint, by which scans are scored; None: the scene's, else the zero-filled image.
        policy: a checkpoint for `decide("policy")`.
        callbacks: `l2sr.Callbacks`, functions that reconstruct and score the scans of scenes that name them; or the path of
            a Python file that defines these.
        copy: True: every step returns arrays of the caller's own. False: observations and masks are views of pinned
            memory, which the next step changes; final_obs and its mask are such views, which the next end of scans
            changes. Without mask_in_observation final_obs is one array of all environments then, in place of an object
            an environment. A copy of many large images takes longer than the step: take views then, or `convert`.
        convert: a function, as torch.from_dlpack, that makes another library's tensors of `l2sr.Array`s: observations,
            rewards, masks, and those of ended scans, are such tensors then, of the library's memory, without a copy.
            final_obs is one tensor of all environments, or a dict of two with mask_in_observation.
        cuda: these tensors are CUDA's, of the memory that the device itself works in; of more than 510 MiB, a copy on
            the device (NVIDIA alone). `convert` None: they are `l2sr.Array`s. Resets and steps wait for what CUDA has
            under way, on all streams.

    `info` has "action_mask" (int8, 1 is free), and of scans that ended "slice", "action_mask" and the metrics: in
    "final_info" where the mode is SAME_STEP, else beside it. Where an action was replaced, "action" is the one that was
    taken, and "_action" says in which environments. With scoring="every_step" the metrics of all others are in
    `info` too.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4, "autoreset_mode": AutoresetMode.SAME_STEP}
    closed = True  # until it is open

    def __init__(
        self,
        scene: Scene = None,
        num_envs: int = 1,
        *,
        device: str | None = None,
        data: Data = None,
        overrides: Overrides = None,
        split: str | None = "train",
        volumes: Any = None,
        labels: Any = None,
        observation: str = "standardised",
        channels: str | None = None,
        dtype: Any = None,
        mask_in_observation: bool = False,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        invalid: str = "error",
        scoring: str = "end",
        metrics: str | Sequence[str] | None = None,
        reconstructor: Path | None = None,
        policy: Path | None = None,
        callbacks: Given = None,
        copy: bool = True,
        convert: Callable[[Array], Any] | None = None,
        cuda: bool = False,
        render_mode: str | None = None,
    ) -> None:
        mode = _mode(autoreset_mode)
        num_envs = values.whole("num_envs", num_envs, 1, 65536)
        self._observation = values.choice("observation", observation, _BOUNDS)
        self._masked = values.truth("mask_in_observation", mask_in_observation)
        self._copy, cuda = values.truth("copy", copy), values.truth("cuda", cuda)
        self._axis = None if channels is None else _CHANNELS[values.choice("channels", channels, _CHANNELS)]
        values.function("convert", convert)
        self._type = self._check_type(dtype, self._copy and convert is None and not cuda)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is {render_mode!r}; it must be None or 'rgb_array'")
        config, keep = make_config(
            scene,
            device=device,
            data=data,
            overrides=overrides,
            volumes=volumes,
            labels=labels,
            metrics=metrics,
            reconstructor=reconstructor,
            policy=policy,
            callbacks=callbacks,
            split=split if data is None or values.is_path(data) else None,
        )
        config.envs = num_envs
        config.autoreset = binding.choice("autoreset_mode", _MODES[mode], binding.AUTORESET)
        config.invalid = binding.choice("invalid", invalid, binding.INVALID)
        config.scoring = binding.choice("scoring", scoring, binding.SCORING)
        self.scans = Scans(config, keep)
        self._kept = keep if callbacks is not None else []
        self.closed = False
        self.num_envs, self.render_mode, self.autoreset_mode = num_envs, render_mode, mode
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self._same_step = mode == AutoresetMode.SAME_STEP
        self._replaces = invalid == "mask"
        self._copies, self._last_copies = Copies(), Copies()
        self._block = 8  # steps that are played at once: as many as take _PACE
        self._all = np.ones(num_envs, np.bool_)
        self._all.flags.writeable = False
        self._make_spaces()
        self._make_arrays(scoring)
        self._make_tensors((lambda array: array) if cuda and convert is None else convert, cuda)
        self._draw_seed(names_seed(scene, config))

    def _check_type(self, dtype: Any, copies: bool) -> np.dtype[Any] | None:
        try:
            kind = None if dtype is None else np.dtype(dtype)
        except TypeError:
            kind = np.dtype(np.void)
        if kind not in (None, np.dtype(np.uint8), np.dtype(np.float32)):
            raise ValueError(f"dtype is {values.kind(dtype)}; it must be 'uint8', 'float32' or None")
        if kind == np.uint8 and self._observation != "standardised":
            raise ValueError("dtype is uint8, and only standardised observations have bounds; leave out observation or dtype")
        if kind is not None and not copies:
            raise ValueError("dtype makes copies in host memory; leave it out, or copy=False, convert and cuda")
        return kind

    def _draw_seed(self, given: bool) -> None:
        """Until a reset has one, the seed is the scene's, or one is drawn, as Gymnasium's environments do."""
        seed = self.scans.facts["seed"] if given or self.scans.facts["seed"] != _SEED else draw_seed()
        self._np_random, self._np_random_seed = seeding.np_random(seed)
        self._fresh = True  # no scan has begun

    def _make_spaces(self) -> None:
        facts = self.scans.facts
        shape, dtype = self.scans.shape(self._observation)
        self._shape = shape if self._axis is None else (*shape[: self._axis[0]], 1, *shape[self._axis[0] :])
        low, high = (0, 255) if self._type == np.uint8 else _BOUNDS[self._observation]
        image = spaces.Box(low, high, self._shape[1:], (self._type or dtype).type)
        images = batch_box(image, self.num_envs)
        mask = spaces.Box(0, 1, (facts["actions"],), np.int8)
        single = spaces.Dict({"observation": image, "action_mask": mask})
        batch = spaces.Dict({"observation": images, "action_mask": batch_box(mask, self.num_envs)})
        self.single_observation_space: Any = single if self._masked else image
        self.observation_space: Any = batch if self._masked else images
        self.single_action_space = Action(facts["actions"], self)
        self.action_space = Actions([facts["actions"]] * self.num_envs, self)

    def _make_arrays(self, scoring: str) -> None:
        scans = self.scans
        self._done = np.asarray(scans.pin("done"))
        self._slices = scans.read("slice")
        self._scored = [] if scoring == "never" else [name for name in binding.METRICS if self._has(name)]
        self._every = scoring == "every_step"
        self._taken = np.asarray(scans.pin("action")) if self._replaces else None

    def _make_tensors(self, convert: Callable[[Array], Any] | None, cuda: bool) -> None:
        """Arrays that resets and steps give: pinned ones, or tensors of these or of the device's own."""
        names = [self._observation, "free", "reward"]
        if self._same_step:
            names += [f"final_{self._observation}", "final_free"]
        arrays = [self.scans.cuda(name) if cuda else self.scans.pin(name) for name in names]
        arrays = [array.as_type(np.int8) if "free" in name else array for name, array in zip(names, arrays)]
        arrays = [array.as_shape(self._shape) if self._observation in name else array for name, array in zip(names, arrays)]
        self._tensors = None if convert is None else [convert(array) for array in arrays]
        views: list[Any] = [None if cuda else np.asarray(array) for array in arrays]
        self._images, self._free, self._reward, *self._last = views

    def _has(self, name: str) -> bool:
        try:
            self.scans.shape(name)
        except ValueError:
            return False
        return True

    # ---- what is given out -------------------------------------------------------------------------------------

    def _own(self, images: np.ndarray[Any, Any], copies: Copies) -> np.ndarray[Any, Any]:
        """A copy in the type that is asked for."""
        if self._type != np.uint8:
            return images.astype(self._type) if self._type not in (None, images.dtype) else copies.take(images)
        low, high = _BOUNDS[self._observation]
        pictures: np.ndarray[Any, Any] = np.rint((images - np.float32(low)) * np.float32(255 / (high - low))).astype(np.uint8)
        return pictures

    def _seen(self) -> tuple[Any, Any]:
        """Observations and free actions."""
        if self._tensors is not None:
            image, free = self._tensors[:2]
        elif self._copy:
            image, free = self._own(self._images, self._copies), self._free.copy()
        else:
            image, free = self._images, self._free
        return ({"observation": image, "action_mask": free} if self._masked else image), free

    def _final(self, ended: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """What ended scans saw last, as gymnasium has it: an object an environment; and their free actions. Without copies
        it is one array of all environments, whose other rows mean nothing, which is faster to make."""
        images, free = self._last if self._tensors is None else self._tensors[3:]
        if self._tensors is not None:
            return ({"observation": images, "action_mask": free} if self._masked else images), free
        if self._copy:
            images, free = self._own(images, self._last_copies), free.copy()
        elif not self._masked:
            return images, free
        seen = np.full(self.num_envs, None, object)
        for row in np.flatnonzero(ended):
            seen[row] = {"observation": images[row], "action_mask": free[row]} if self._masked else images[row]
        return seen, free

    def _metrics(self, rows: np.ndarray[Any, Any]) -> dict[str, Any]:
        scored: dict[str, Any] = {}
        for name in self._scored:
            scored[name], scored[f"_{name}"] = self.scans.read(name), rows
        return scored

    def _replaced(self, rows: np.ndarray[Any, Any]) -> dict[str, Any]:
        """What was taken in place of actions that are acquired already, in these environments."""
        if self._taken is None or self.scans.sent is None:
            return {}
        replaced = rows & (self._taken != self.scans.sent)
        return {"action": self._taken.astype(np.int64), "_action": replaced} if replaced.any() else {}

    def _ended(self, info: dict[str, Any], ended: np.ndarray[Any, Any]) -> None:
        slices = self.scans.read("slice")  # where the step has reset, those of the next scans
        told = self._every and not self._same_step  # of all that took the step, in info already
        scores = {} if told else self._metrics(ended)
        last = {"slice": self._slices if self._same_step else slices, "_slice": ended, **scores}
        self._slices = slices
        if not self._same_step:
            info.update(last)
            return
        info["final_obs"], free = self._final(ended)
        info["final_info"] = {"action_mask": free, "_action_mask": ended, **last, **self._replaced(ended)}
        info["_final_obs"] = info["_final_info"] = ended

    def _begun(self) -> tuple[Any, dict[str, Any]]:
        """Of scans that run from here on, what `reset` gives."""
        self._slices = self.scans.read("slice")
        seen, free = self._seen()
        return seen, {"action_mask": free, "_action_mask": self._all}

    # ---- gymnasium's calls -------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins the next scans of all environments, or of options["reset_mask"]. The same seed gives the same scans; without
        one the first reset takes `np_random_seed`, which was drawn, and later ones go on."""
        if seed is not None:
            seed = values.whole("seed", seed, 0, _SEEDS - 1)
        mask = self._reset_mask(options)
        super().reset(seed=seed)
        if seed is None and self._fresh:
            given = self._np_random_seed  # -1: a program has set the generator
            seed = given if given is not None and 0 <= given < _SEEDS else int(self.np_random.integers(_SEEDS))
        others = self.scans.under_way
        try:
            self.scans.reset(mask, seed)
            self._fresh = False
            return self._begun()
        except BaseException:
            self._settle(others)
            raise

    def _reset_mask(self, options: Any) -> np.ndarray[Any, Any] | None:
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"options is {values.kind(options)}; it must be a dictionary")
        given = (options or {}).get("reset_mask")
        if given is None:
            return None
        wanted = f"{(self.num_envs,)} and bool, with one True at least"
        mask = values.array("reset_mask", given, wanted)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ValueError(f"reset_mask has shape {mask.shape} and type {mask.dtype}; expected {wanted}")
        return mask

    def _settle(self, others: bool) -> None:
        """After an exception from anywhere, as of a signal's handler: what the call has started is over, and the slices are
        known. `others`: a step was under way before the call, which was refused for it."""
        if not others:
            with contextlib.suppress(Exception):  # the first one is raised
                self._slices = self.scans.settle()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One action for every environment."""
        others = self.scans.under_way
        try:
            self.scans.send(actions)
            self.scans.wait()
            return self._stepped()
        except BaseException:
            self._settle(others)
            raise

    def step_async(self, actions: Any) -> None:
        """Starts a step and returns while the device works; None: the actions of `decide`."""
        others = self.scans.under_way
        try:
            self.scans.send(actions)
        except BaseException:
            self._settle(others)
            raise

    def step_wait(self) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """What the step has given."""
        try:
            self.scans.wait()
            return self._stepped()
        except BaseException:
            self._settle(False)
            raise

    def _stepped(self) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        seen, free = self._seen()
        ended = self._done != 0
        reward = self._reward.copy() if self._tensors is None else self._tensors[2]
        info: dict[str, Any] = {"action_mask": free, "_action_mask": self._all}
        running = ~ended if self._same_step else self._all
        if self._every:
            info.update(self._metrics(running))
        if self._replaces:
            info.update(self._replaced(running))
        if ended.any():
            self._ended(info, ended)
        return seen, reward, ended, np.zeros(self.num_envs, np.bool_), info

    def render(self) -> tuple[np.ndarray[Any, Any], ...] | None:
        """Observations as grey pictures, one an environment."""
        if self.render_mode is None:
            return None
        images = self.scans.read(self._observation).astype(np.float32)
        low, high = images.min((1, 2)), images.max((1, 2))
        scale = 255 / np.maximum(high - low, 1e-12)
        grey = ((images - low[:, None, None]) * scale[:, None, None]).astype(np.uint8)
        return tuple(np.repeat(grey[..., None], 3, -1))

    def close_extras(self, **kwargs: Any) -> None:
        """Gives the device back, once no array of it is in use any more."""
        self._tensors = None
        self._images = self._free = self._reward = None
        self._last = []
        self._copies, self._last_copies = Copies(), Copies()
        self._done = np.zeros(0)
        self.scans.close()

    # ---- beside gymnasium --------------------------------------------------------------------------------------

    def runs(self) -> bool:
        """Whether scans have begun, and no step is under way."""
        return not (self._fresh or self.scans.under_way or self.scans.closed)

    def action_masks(self) -> np.ndarray[Any, Any]:
        """Free actions, [num_envs, actions] bool."""
        free: np.ndarray[Any, Any] = self.scans.read("free") if self._free is None else self._free
        return free.astype(np.bool_)

    def decide(self, sampler: str = "random") -> None:
        """Chooses free actions on the device, by a heuristic of `l2sr describe samplers` or by "policy"; then step(None)."""
        self.scans.decide(sampler)

    def play(self, sampler: str = "random", steps: int = 1) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """So many steps by `decide`'s actions, between which the device waits for nobody; gives what the last step gives.
        An exception of a signal's handler ends it after some of them: `step` of `array` tells."""
        steps = values.whole("steps", steps, 1, 2**32 - 1)
        while steps > self._last_block():
            count, before = min(steps - 1, self._block), time.monotonic()
            self._play(sampler, count, lambda: None)
            self._slices = self.scans.read("slice")
            steps -= count
            paced = int(count * _PACE / max(time.monotonic() - before, 1e-6))
            self._block = max(1, min(paced, 8 * self._block, _BLOCK))
        last: tuple[Any, Any, Any, Any, dict[str, Any]] = self._play(sampler, steps, self._stepped)
        return last

    def _last_block(self) -> int:
        """How many of the last steps are played at once: the last one tells the slices of the scans that end with it; where
        scans end and stay ended, what is too many for them is refused before the first."""
        if self._same_step:
            return 1
        return _BLOCK if self.autoreset_mode == AutoresetMode.DISABLED else self._block

    def _play(self, sampler: str, steps: int, see: Callable[[], Any]) -> Any:
        others = self.scans.under_way
        try:
            with Calls():
                self.scans.play(sampler, steps)
                self.scans.wait()
                return see()
        except BaseException:  # scans have begun before a step that is refused, too
            self._settle(others)
            raise

    def array(self, name: str) -> Array:
        """Any array of `enum l2sr_array`, as "target" or "reconstruction", in pinned memory that every step renews."""
        return self.scans.pin(name)

    @property
    def facts(self) -> dict[str, Any]:
        """Of the scans: envs, actions, size (0 where sides differ), height, width, initial, budget, slices, seed, device, geometry."""
        return dict(self.scans.facts)

    def slice(self, number: int) -> tuple[str, int]:
        """Where a slice of info["slice"] is from: the path of its volume, and its number there."""
        return self.scans.slice(number)

    def save(self) -> bytes:
        """The state of all environments: the same scans go on from it, on another device too."""
        return self.scans.save()

    def restore(self, state: bytes) -> tuple[Any, dict[str, Any]]:
        """Goes on from a state of the same scene, data and number of environments; gives what reset gives."""
        others = self.scans.under_way
        try:
            self.scans.restore(state)
            self._fresh = False
            return self._begun()
        except BaseException:
            self._settle(others)
            raise


class Env(gymnasium.Env[Any, Any]):
    """One scan: a VectorEnv of one environment, with its arguments but `autoreset_mode` and `convert`."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}

    def __init__(self, scene: Scene = None, **arguments: Any) -> None:
        for name in ("num_envs", "autoreset_mode"):
            if name in arguments:
                raise TypeError(f"{name} is not for one scan, which reset begins; leave it out, or take l2sr.VectorEnv")
        self.vector = VectorEnv(scene, 1, autoreset_mode=AutoresetMode.DISABLED, **arguments)
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self.render_mode = self.vector.render_mode
        self._np_random, self._np_random_seed = seeding.np_random(self.vector.np_random_seed)

    def _first(self, given: Any) -> Any:
        if isinstance(given, dict):
            return {name: self._first(value) for name, value in given.items() if not name.startswith("_")}
        return given[0]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins the next scan; the same seed gives the same one. Without one the first takes `np_random_seed`."""
        if seed is not None:
            seed = values.whole("seed", seed, 0, 2**128 - 1)
        super().reset(seed=seed)
        if self._np_random_seed == -1:  # a program has set the generator
            self.vector.np_random = self.np_random
        seen, info = self.vector.reset(seed=None if seed is None else seed % _SEEDS, options=options)
        return self._first(seen), self._first(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        wanted = f"a whole number from 0 to {self.vector.facts['actions'] - 1}"
        given = values.array("action", [action], wanted)
        if given.size != 1:
            raise ValueError(f"action has shape {given.shape}; expected {wanted}")
        seen, reward, ended, _, info = self.vector.step(given.reshape(1))
        return self._first(seen), float(reward[0]), bool(ended[0]), False, self._first(info)

    def action_masks(self) -> np.ndarray[Any, Any]:
        """Free actions, for sb3-contrib's MaskablePPO."""
        mask: np.ndarray[Any, Any] = self.vector.action_masks()[0]
        return mask

    def render(self) -> Any:
        pictures = self.vector.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        self.vector.close()
