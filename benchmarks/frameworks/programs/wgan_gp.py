"""A WGAN with gradient penalty: the critic learns in each iteration, the generator in every second one."""

import torch
from left import DEVICE, LONG, SCALE, Left, batches
from torch import nn

STEPS, BATCH, NOISE = 30 * LONG, 64 * SCALE, 64
torch.manual_seed(0)


def block(inward: int, outward: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inward, outward, 3, stride, 1), nn.GroupNorm(4, outward), nn.LeakyReLU(0.2))


critic = nn.Sequential(block(3, 16, 2), block(16, 32, 2), block(32, 64, 2), nn.Flatten(), nn.Linear(64 * 4, 1)).to(DEVICE)
generator = nn.Sequential(
    nn.Linear(NOISE, 64 * 16), nn.Unflatten(1, (64, 4, 4)), nn.Upsample(scale_factor=2), block(64, 32, 1),
    nn.Upsample(scale_factor=2), block(32, 16, 1), nn.Conv2d(16, 3, 3, padding=1), nn.Tanh()).to(DEVICE)
of_critic = torch.optim.Adam(critic.parameters(), 1e-4, betas=(0.0, 0.9))
of_generator = torch.optim.Adam(generator.parameters(), 1e-4, betas=(0.0, 0.9))


def penalty(real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    part = torch.rand(BATCH, 1, 1, 1, device=DEVICE)
    mixed = (part * real + (1 - part) * fake).requires_grad_()
    gradient, = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return ((gradient.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


left = Left(STEPS)
for number, real in enumerate(batches(STEPS, BATCH, 3, 16, 16)):
    real = real.to(DEVICE)
    with torch.no_grad():
        fake = generator(torch.randn(BATCH, NOISE, device=DEVICE))
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    if number % 2:
        of_generator.zero_grad()
        (-critic(generator(torch.randn(BATCH, NOISE, device=DEVICE))).mean()).backward()
        of_generator.step()
    left.step(loss)
left.tell(nn.ModuleList([generator, critic]))
