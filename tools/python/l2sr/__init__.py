"""l2sr in Python: environments for other people's training loops, and the program's own trainings.

`VectorEnv` steps thousands of MRI scans side by side on an OpenCL device; `l2sr.sb3.VecEnv` is the same for
stable-baselines3. Importing the package registers one id for each setting of the L2SR paper, so that
`gymnasium.make_vec("l2sr:KneeX4Long-v0", num_envs=64, data=...)` makes one. What the library does is logged by the
logger "l2sr".
"""

from __future__ import annotations

from gymnasium.envs.registration import register as _register
from gymnasium.envs.registration import registry as _registry

from ._arrays import Array
from ._binding import library as _library
from ._plugin import Batch
from .callbacks import Callbacks
from .files import export, read
from .learning import evaluate, train
from .vector import Env, VectorEnv

__all__ = ["Array", "Batch", "Callbacks", "Env", "VectorEnv", "evaluate", "export", "read", "train"]
__version__: str = _library.l2sr_version().decode()

for _body in ("knee_x4", "knee_x8", "brain_x8", "brain_x16", "radial_x4", "radial_x8"):
    for _horizon in ("base", "long"):
        _scene = f"{_body}_{_horizon}"
        _id = "".join(word.capitalize() for word in _scene.split("_")) + "-v0"
        if _id not in _registry:
            _register(
                _id,
                entry_point="l2sr.vector:Env",
                vector_entry_point="l2sr.vector:VectorEnv",
                disable_env_checker=False,
                kwargs={"scene": _scene},
            )
