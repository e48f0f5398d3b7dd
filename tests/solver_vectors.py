"""Reconstructions without a network, in double precision from the formulas: what systems/scan/solve.h says of
cg_sense, tv and wavelet, and BART's `pics` computes. For make_vectors.py."""
import h5py
import numpy as np

STEP, RHO, RELAXATION, INNER = 0.95, 0.5, 1.6, 10
LOW = np.array([0.4829629131445341, 0.8365163037378077, 0.2241438680420134, -0.1294095225512603])
HIGH = np.array([LOW[3], -LOW[2], LOW[1], -LOW[0]])


def forward(x):
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(x, axes=(-2, -1)), norm="ortho"), axes=(-2, -1))


def inverse(k):
    return np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(k, axes=(-2, -1)), norm="ortho"), axes=(-2, -1))


class Problem:
    """Centred k-space and maps [coils, H, W], cells [H, W] of 0 and 1."""

    def __init__(self, kspace, maps, cells):
        self.kspace, self.maps, self.cells = kspace * cells, maps, cells

    def adjoint(self, k):
        return (np.conj(self.maps) * inverse(k * self.cells)).sum(axis=0)

    def normal(self, x):
        return self.adjoint(forward(self.maps * x))

    def right(self):
        return self.adjoint(self.kspace)


def dot(a, b):
    return np.vdot(a, b).real


def gradients(normal, x, right, steps, limit):
    """Conjugate gradients from x; returns x and the steps that it took."""
    r = right - normal(x)
    p, square = r.copy(), dot(r, r)
    for taken in range(1, steps + 1):
        q = normal(p)
        length = square / dot(p, q)
        x, r = x + length * p, r - length * q
        after = dot(r, r)
        if after <= limit ** 2:
            return x, taken
        p, square = r + after / square * p, after
    return x, steps


def cg_sense(problem, weight, iterations):
    return gradients(lambda x: problem.normal(x) + weight * x, 0 * problem.right(), problem.right(), iterations, 0)[0]


def brightness(problem):
    """The unit of weights: of the central cells that are acquired, at most 32 a side."""
    h, w = problem.cells.shape

    def place(length, count):
        side = min(length, 32)
        return (length - side) // 2 + (side - count) // 2

    def block(tall, wide):
        top, left = place(h, tall), place(w, wide)
        return slice(top, top + tall), slice(left, left + wide)

    tall = wide = 1
    rows = columns = True
    while rows or columns:
        rows = rows and tall < min(h, 32) and problem.cells[block(tall + 1, wide)].all()
        tall += rows
        columns = columns and wide < min(w, 32) and problem.cells[block(tall, wide + 1)].all()
        wide += columns
    place = block(tall, wide)
    k = problem.kspace[(slice(None),) + place]
    m, n = np.arange(h)[place[0]] - h // 2, np.arange(w)[place[1]] - w // 2
    y, x = np.arange(tall) / tall + 0.5, np.arange(wide) / wide + 0.5
    image = np.exp(2j * np.pi * np.outer(y, m)) @ k @ np.exp(2j * np.pi * np.outer(n, x)) / np.sqrt(tall * wide)
    size = np.sort(np.sqrt((np.abs(image) ** 2).sum(axis=0)).ravel()) * np.sqrt(tall * wide / (h * w))
    median, high, top = size[len(size) // 2], size[int(len(size) * 0.9)], size[-1]
    return high if top - high < 2 * (high - median) else top


def differences(x):
    return np.stack([x - np.roll(x, 1, axis=1), x - np.roll(x, 1, axis=0)])


def differences_adjoint(z):
    return z[0] - np.roll(z[0], -1, axis=1) + z[1] - np.roll(z[1], -1, axis=0)


def tv(problem, weight, iterations):
    right, threshold = problem.right(), weight * brightness(problem) / RHO
    x = 0 * right
    z = differences(x)
    u, taken = 0 * z, 0
    normal = lambda p: problem.normal(p) + RHO * differences_adjoint(differences(p))
    for _ in range(iterations):
        side = right + RHO * differences_adjoint(z - u)
        x, steps = gradients(normal, x, side, INNER, 1e-3 * np.linalg.norm(side))
        taken += steps
        h = RELAXATION * differences(x) + (1 - RELAXATION) * z + u
        size = np.sqrt((np.abs(h) ** 2).sum(axis=0))
        z = h * np.maximum(1 - threshold / np.maximum(size, 1e-300), 0)
        u = h - z
        if taken > iterations:
            break
    return x


def split(x, axis):
    x = np.moveaxis(x, axis, 0)
    n = len(x)
    padded = np.concatenate([x[1::-1], x, x[:-4:-1]])
    band = (n + 3) // 2
    low = sum(LOW[t] * padded[t:t + 2 * band:2] for t in range(4))
    high = sum(HIGH[t] * padded[t:t + 2 * band:2] for t in range(4))
    return np.moveaxis(low, 0, axis), np.moveaxis(high, 0, axis)


def join(low, high, n, axis):
    low, high = np.moveaxis(low, axis, 0), np.moveaxis(high, axis, 0)
    out = np.zeros((2 * len(low) + 2,) + low.shape[1:], complex)
    for t in range(4):
        out[t:t + 2 * len(low):2] += LOW[t] * low + HIGH[t] * high
    return np.moveaxis(out[2:2 + n], 0, axis)


def shrink(x, threshold):
    """The shrinkage of all wavelet coefficients; an axis is split while it has 16 values."""
    soft = lambda c: c * np.maximum(1 - threshold / np.maximum(np.abs(c), 1e-300), 0)
    axes = [axis for axis in (1, 0) if x.shape[axis] >= 16]
    if not axes:
        return soft(x)
    bands = [x]
    for axis in axes:
        bands = [part for band in bands for part in split(band, axis)]
    bands = [shrink(bands[0], threshold)] + [soft(band) for band in bands[1:]]
    for axis in axes[::-1]:
        bands = [join(bands[i], bands[i + 1], x.shape[axis], axis) for i in range(0, len(bands), 2)]
    return bands[0]


def wavelet(problem, weight, iterations):
    right, threshold, t = problem.right(), weight * brightness(problem) * STEP, 1
    x = before = 0 * right
    for _ in range(iterations):
        x = shrink(x, threshold)
        after = (1 + np.sqrt(1 + 4 * t * t)) / 2
        x, before, t = x + (t - 1) / after * (x - before), x, after
        x = x + STEP * (right - problem.normal(x))
    return x


def spoke_cells(n, spokes):
    """Cells of spokes through the centre at pi spoke / n (PROTOCOL 5)."""
    cells, half = np.zeros((n, n)), n // 2
    for spoke in np.flatnonzero(spokes):
        angle = np.pi * spoke / n
        c, s = np.cos(angle), np.sin(angle)
        for r in range(-half, n - half):
            flat = abs(c) >= abs(s)
            along, across = half + r, half + int(np.floor(r * (s / c if flat else c / s) + 0.5))
            if 0 <= across < n:
                cells[(across, along) if flat else (along, across)] = 1
    return cells


def coil_images(n, coils, rng):
    y, x = np.mgrid[0:n, 0:n] / n - 0.5
    image = ((x / 0.4) ** 2 + (y / 0.3) ** 2 < 1) * (0.6 + 0.2 * np.cos(20 * x)) * np.exp(1j * (x + 2 * y * y))
    maps = np.stack([np.exp(-4 * ((x - 0.5 * np.cos(a)) ** 2 + (y - 0.5 * np.sin(a)) ** 2) + 1j * (a + x))
                     for a in 2 * np.pi * np.arange(coils) / coils])
    maps /= np.sqrt((np.abs(maps) ** 2).sum(axis=0))
    noise = 0.02 * (rng.normal(size=maps.shape) + 1j * rng.normal(size=maps.shape))
    return maps.astype(np.complex64), forward(maps * image) + noise


def mask_of(geometry, h, w, rng):
    """Its actions, and its cells."""
    if geometry == "lines":
        lines = np.zeros(w, np.uint8)
        lines[rng.choice(w, w // 4, replace=False)] = 1
        lines[w // 2 - 3:w // 2 + 2] = 1
        return lines, np.broadcast_to(lines, (h, w))
    if geometry == "points":
        points = (rng.random((h, w)) < 0.25).astype(np.uint8)
        points[h // 2 - 5:h // 2 + 5, w // 2 - 5:w // 2 + 5] = 1
        return points, points
    spokes = (np.arange(w) % 4 == 0).astype(np.uint8)
    return spokes, spoke_cells(w, spokes)


def masks(n, rng):
    made = {geometry: mask_of(geometry, n, n, rng) for geometry in ("lines", "points", "spokes")}
    return {geometry: made[geometry] for geometry in ("lines", "spokes", "points")}


def zero_filled(problem, weight, iterations):
    return problem.right()


def grids(path, rows, weight, iterations):
    """Images of sides of odd and prime factors, a group "geometry_HxW" each."""
    with h5py.File(path, "w") as f:
        f.attrs["note"] = "made by tests/make_vectors.py"
        f.attrs["weight"], f.attrs["iterations"] = weight, iterations
        for geometry, h, w in rows:
            rng = np.random.default_rng(h * w)
            y, x = np.mgrid[0:h, 0:w]
            y, x = y / h - 0.5, x / w - 0.5
            image = (((x / 0.4) ** 2 + (y / 0.3) ** 2 < 1) * (0.6 + 0.2 * np.cos(20 * x)) + 0.1 * rng.random((h, w)))
            image = image.astype(np.float32)
            mask, cells = mask_of(geometry, h, w, rng)
            group = f.create_group(f"{geometry}_{h}x{w}")
            group["image"], group["mask"] = image, mask
            problem = Problem(forward(image.astype(float))[None], np.ones((1, h, w)), cells)
            for solve in (zero_filled, cg_sense, tv, wavelet):
                group[solve.__name__] = np.abs(solve(problem, weight, iterations)).astype(np.float32)


def solvers(path, n, coils, weight, iterations):
    rng = np.random.default_rng(n + coils)
    y, x = np.mgrid[0:n, 0:n] / n - 0.5
    image = (((x / 0.4) ** 2 + (y / 0.3) ** 2 < 1) * (0.6 + 0.2 * np.cos(20 * x)) + 0.1 * rng.random((n, n)))
    image = image.astype(np.float32)
    maps, kspace = coil_images(n, coils, rng)
    kspace = np.fft.ifftshift(kspace, axes=(-2, -1)).astype(np.complex64)
    centred = np.fft.fftshift(kspace.astype(complex), axes=(-2, -1))
    kinds = {"image": lambda cells: Problem(forward(image.astype(float))[None], np.ones((1, n, n)), cells),
             "coils": lambda cells: Problem(centred, maps.astype(complex), cells)}
    with h5py.File(path, "w") as f:
        f.attrs["note"] = "made by tests/make_vectors.py; k-space with its centre at the start"
        f.attrs["weight"], f.attrs["iterations"] = weight, iterations
        f["image"], f["maps"], f["kspace"] = image, maps, kspace
        for geometry, (mask, cells) in masks(n, rng).items():
            f[geometry + "/mask"] = mask
            for kind, problem in kinds.items():
                for solve in (cg_sense, tv, wavelet):
                    found = np.abs(solve(problem(cells), weight, iterations))
                    f.create_dataset(f"{geometry}/{kind}/{solve.__name__}", data=found.astype(np.float32))
