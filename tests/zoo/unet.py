"""A U-Net as in Ronneberger et al. 2015, with padded convolutions and batch-norm. torchvision has none."""

import torch
from torch import nn


def double_convolution(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """`width` channels at the top, doubled at each of `depth` levels below; image sides divisible by 2**depth."""

    def __init__(self, width: int = 64, depth: int = 4, classes: int = 2):
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        self.enter = double_convolution(3, width)
        self.down = nn.ModuleList(double_convolution(a, b) for a, b in zip(widths, widths[1:]))
        self.widen = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(double_convolution(2 * a, a) for a in widths[:-1])
        self.pool = nn.MaxPool2d(2)
        self.leave = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        skips = []
        for block in self.down:
            skips.append(x)
            x = block(self.pool(x))
        for widen, block in reversed(list(zip(self.widen, self.up))):
            x = block(torch.cat([skips.pop(), widen(x)], dim=1))
        return self.leave(x)
