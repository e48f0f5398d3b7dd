"""A U-Net of PyTorch's by CUDA tensors, as a callback and alone: checks and times it on a card of NVIDIA's.

    python callback_speed.py [BATCH] [SIZE]

Both wait for the card after every batch, and take turns. Prints images a second of both, and what the callback costs; ends with 1
where its images are not those of the network alone.
"""

import sys
import time

import torch
from speed import images
from torch import nn

import l2sr
from l2sr import _binding

BATCH, SIZE = (int(word) for word in [*sys.argv[1:], *("256", "128")[len(sys.argv) - 1 :]])
ROUNDS, PASSES = 5, 20


def block(before, after):
    layers = [[nn.Conv2d(n, after, 3, padding=1, bias=False), nn.InstanceNorm2d(after), nn.ReLU(inplace=True)] for n in (before, after)]
    return nn.Sequential(*layers[0], *layers[1])


class UNet(nn.Module):
    """fastMRI's, of 16 channels and 4 pools."""

    def __init__(self, channels=16, pools=4):
        super().__init__()
        sizes = [channels << level for level in range(pools + 1)]
        self.down = nn.ModuleList(block(before, after) for before, after in zip([1, *sizes], sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * size, size, 2, stride=2, bias=False) for size in reversed(sizes[:-1]))
        self.join = nn.ModuleList(block(2 * size, size) for size in reversed(sizes[:-1]))
        self.last = nn.Conv2d(channels, 1, 1)

    def forward(self, image):
        kept = []
        for level, down in enumerate(self.down):
            image = down(nn.functional.avg_pool2d(image, 2) if level else image)
            kept.append(image)
        for up, join in zip(self.up, self.join):
            image = join(torch.cat([up(image), kept[-2]], 1))
            kept.pop()
        return self.last(image)


torch.manual_seed(0)
network = UNet().cuda().eval()
half = False


@torch.no_grad()
def reconstruct(observation):
    with torch.autocast("cuda", enabled=half):
        return network(observation[:, None])[:, 0].float()


def rate(one):
    one()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(PASSES):
        one()
        torch.cuda.synchronize()
    return BATCH * PASSES / (time.perf_counter() - begin)


scene = {
    "data": {"size": SIZE},
    "acquisition": {"acceleration": [4], "horizon": ["long"]},
    "reconstruct": {"method": "callback"},
    "network": {"batch": BATCH},
}
given = []  # the last batch's images


def see(batch):
    if not given:
        given.append(batch.observation.clone())
    return reconstruct(batch.observation)


env = l2sr.VectorEnv(
    scene, BATCH, data=images(SIZE), metrics="ssim", callbacks=l2sr.Callbacks(see, convert=torch.from_dlpack, cuda=True)
)
env.reset(seed=1)


def by_callback():
    _binding.check(_binding.library.l2sr_env_reconstruct(env.scans.value))


def alone():
    return reconstruct(given[0])


wrong = 0
for half in (False, True):
    found, expected = torch.from_numpy(env.scans.reconstruct()).cuda(), alone()
    difference = ((found - expected).abs().max() / expected.abs().max()).item()
    wrong += not difference < 1e-2
    ours, its = (sorted(one)[ROUNDS // 2] for one in zip(*[(rate(by_callback), rate(alone)) for _ in range(ROUNDS)]))
    print(
        f"{'half' if half else 'f32'}, batch {BATCH} of {SIZE}x{SIZE}: by callback {ours:.0f} images/s, PyTorch alone {its:.0f}; the "
        f"callback costs {100 * (its / ours - 1):.1f} %; largest difference {difference:.1e}",
        flush=True,
    )
env.close()
sys.exit(wrong != 0)
