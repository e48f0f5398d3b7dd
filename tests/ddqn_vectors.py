"""One update of DDQN's data-set-specific network in double precision from the formulas: drawn steps, targets by the double
estimator of two rewards, Huber's loss, gradients (systems/replay/ddqn.h). For make_vectors.py."""
import h5py
import numpy as np

ACTIONS, STEPS, SCANS, BLOCKS, BATCH, AHEAD, SEED = 32, 6, 3, 3, 8, 2, 7
GAMMA, WIDTH, STREAM = 0.75, 0.0625, 14
PLAYED = 2 * STEPS + 4  # actions of the scans side by side: two blocks are whole, the third is running
LAYERS = [(ACTIONS, 32), (32, 32), (32, 32), (32, ACTIONS)]


def philox(seed, stream, scan, step):
    c, key = [scan, step, 0, 0], [seed, stream]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def draw(row):
    """Every step of the whole scans, and those of the running ones of which both rewards are there."""
    steps = [t * SCANS * BLOCKS + c for t in range(STEPS) for c in range(2 * SCANS)]
    steps += [t * SCANS * BLOCKS + c for t in range(PLAYED % STEPS - AHEAD + 1) for c in range(2 * SCANS, 3 * SCANS)]
    return steps[philox(SEED, STREAM, 0, row)[0] * len(steps) >> 32]


def network(rng):
    parameters = {}
    for i, (inputs, outputs) in enumerate(LAYERS):
        parameters[f"layers.{2 * i}.weight"] = rng.standard_normal((outputs, inputs)) * 0.4
        parameters[f"layers.{2 * i}.bias"] = rng.standard_normal(outputs) * 0.1
    return {name: value.astype(np.float32).astype(np.float64) for name, value in parameters.items()}


def forward(parameters, step):
    """The inputs of every layer, and at last the values."""
    x = [np.eye(ACTIONS)[step]]
    for i in range(4):
        y = parameters[f"layers.{2 * i}.weight"] @ x[-1] + parameters[f"layers.{2 * i}.bias"]
        x.append(np.maximum(y, 0) if i < 3 else y)
    return x


def backward(parameters, x, slope, gradients):
    for i in reversed(range(4)):
        gradients[f"layers.{2 * i}.weight"] += np.outer(slope, x[i])
        gradients[f"layers.{2 * i}.bias"] += slope
        slope = (parameters[f"layers.{2 * i}.weight"].T @ slope) * (x[i] > 0)


def target(online, frozen, action, reward, place):
    columns = SCANS * BLOCKS
    step, sum_ = place // columns, 0
    for k in range(min(AHEAD, STEPS - step)):
        sum_ += GAMMA ** k * reward[place + k * columns]
    if step + AHEAD >= STEPS:
        return sum_
    values = forward(online, step + AHEAD)[-1].copy()
    values[ACTIONS // 2] = -np.inf
    values[[action[t * columns + place % columns] for t in range(step + AHEAD)]] = -np.inf
    return sum_ + GAMMA ** AHEAD * forward(frozen, step + AHEAD)[-1][values.argmax()]


def ddqn(path):
    rng = np.random.default_rng(3)
    online, frozen = network(rng), network(rng)
    free = [a for a in range(ACTIONS) if a != ACTIONS // 2]
    action = np.stack([rng.permutation(free)[:STEPS] for _ in range(SCANS * BLOCKS)], axis=1).astype(np.uint32).ravel()
    reward = (rng.standard_normal(action.size) * 0.2).astype(np.float32)
    drawn = np.array([draw(row) for row in range(BATCH)], np.uint32)
    gradients = {name: np.zeros_like(value) for name, value in online.items()}
    terms = []
    for place in drawn.astype(int):
        x = forward(online, place // (SCANS * BLOCKS))
        y, value = target(online, frozen, action, reward, place), x[-1][action[place]]
        error = value - y
        loss = error ** 2 / 2 if abs(error) < WIDTH else WIDTH * (abs(error) - WIDTH / 2)
        slope = np.zeros(ACTIONS)
        slope[action[place]] = np.clip(error, -WIDTH, WIDTH) / BATCH
        backward(online, x, slope, gradients)
        terms.append([loss, abs(error), value, y])
    with h5py.File(path, "w") as f:
        f.attrs["note"] = "made by tests/make_vectors.py"
        for group, tensors in [("param", online), ("target", frozen), ("grad", gradients)]:
            for name, value in tensors.items():
                f.create_dataset(f"{group}/{name}", data=value if group == "grad" else value.astype(np.float32),
                                 compression="gzip", shuffle=True)
        f["action"], f["reward"], f["drawn"], f["terms"] = action, reward, drawn, np.array(terms)
