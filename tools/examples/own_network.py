"""A network of your own as reconstructor, and a classifier's logit as reward, in PyTorch: `l2sr train SCENE --plugin own_network.py`.

The scene says reconstruct: {method: callback, input: kspace} and reward: {metric: callback}. The network goes VarNet's way: a few
steps, each a step of data consistency in k-space and a small network's change of the images of all coils. WEIGHTS holds what
`torch.save(network.state_dict(), ...)` wrote after a training of your own; without the variable they are drawn.
"""

import os

import torch
from torch import fft, nn

SHIFT = {"dim": (-2, -1), "norm": "ortho"}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)


def to_kspace(images):
    return fft.fftshift(fft.fft2(fft.ifftshift(images, dim=(-2, -1)), **SHIFT), dim=(-2, -1))


def to_images(kspace):
    return fft.fftshift(fft.ifft2(fft.ifftshift(kspace, dim=(-2, -1)), **SHIFT), dim=(-2, -1))


class Step(nn.Module):
    """One step: what was measured stays near, and a network of two channels (real, imaginary) changes each coil's image."""

    def __init__(self, channels):
        super().__init__()
        layers = [nn.Conv2d(2, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, 2, 3, padding=1)]
        self.network, self.weight = nn.Sequential(*layers), nn.Parameter(torch.ones(1))

    def forward(self, kspace, measured, mask):
        images = torch.view_as_real(to_images(kspace)).flatten(0, 1).permute(0, 3, 1, 2)
        change = self.network(images).permute(0, 2, 3, 1).contiguous().unflatten(0, kspace.shape[:2])
        return kspace - self.weight * mask * (kspace - measured) - 0.1 * to_kspace(torch.view_as_complex(change))


class OwnVarNet(nn.Module):
    def __init__(self, steps=3, channels=8):
        super().__init__()
        self.steps = nn.ModuleList(Step(channels) for _ in range(steps))

    def forward(self, measured):
        scale = to_images(measured).abs().amax((1, 2, 3), keepdim=True)
        measured = kspace = measured / scale
        mask = (measured != 0).any(1, keepdim=True)
        for step in self.steps:
            kspace = step(kspace, measured, mask)
        return to_images(kspace).abs().square().sum(1).sqrt() * scale[:, 0]


network = OwnVarNet().to(DEVICE).eval()
if "WEIGHTS" in os.environ:
    network.load_state_dict(torch.load(os.environ["WEIGHTS"], map_location=DEVICE))
# a toy: whether there is something bright in the middle. Yours is trained on the labels of (batch.path, batch.number).
classifier = nn.Sequential(nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(64, 1)).to(DEVICE).eval()


@torch.no_grad()
def reconstruct(batch):
    """Images [scans, height, width] of batch.kspace [scans, coils, height, width]."""
    return network(torch.as_tensor(batch.kspace, device=DEVICE))


@torch.no_grad()
def metric(batch):
    """How near the classifier's logit is to that of the truth, for every scan: 0 at best."""
    image, target = (classifier(torch.as_tensor(one, device=DEVICE)[:, None])[:, 0] for one in (batch.image, batch.target))
    return -(image - target).abs()
