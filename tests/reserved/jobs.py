"""Small seeded jobs whose iterations are not all alike, as programs: `python jobs.py JOB DEVICE ITERATIONS`.

The last line of output is JSON: the most that was reserved in the last third of the iterations, a digest of the losses
and parameters, and Stowage's report where it is on. Only what a user would write: nothing here knows of Stowage.
"""
import hashlib
import json
import os
import random
import sys

import torch

MIB = 1 << 20


def mlp(width, layers, outputs):
    modules = []
    for _ in range(layers):
        modules += [torch.nn.Linear(width, width), torch.nn.GELU()]
    return torch.nn.Sequential(*modules, torch.nn.Linear(width, outputs))


class Gan:
    """A Wasserstein GAN with gradient penalty: the critic learns at every step, the generator at every second."""

    def __init__(self, device, batch=1024, width=1024):
        self.device, self.batch, self.width = device, batch, width
        self.critic, self.generator = mlp(width, 4, 1).to(device), mlp(width, 4, width).to(device)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), 1e-4)
        self.generator_optimizer = torch.optim.Adam(self.generator.parameters(), 1e-4)
        self.models = (self.critic, self.generator)

    def noise(self):
        return torch.randn(self.batch, self.width, device=self.device)

    def step(self, number):
        real, fake = self.noise(), self.generator(self.noise()).detach()
        share = torch.rand(self.batch, 1, device=self.device)
        between = (share * real + (1 - share) * fake).requires_grad_(True)
        slopes, = torch.autograd.grad(self.critic(between).sum(), between, create_graph=True)
        penalty = 10 * ((slopes.norm(2, dim=1) - 1) ** 2).mean()
        loss = self.critic(fake).mean() - self.critic(real).mean() + penalty
        self.critic_optimizer.zero_grad()
        loss.backward()
        self.critic_optimizer.step()
        if number % 2 == 1:
            self.generator_optimizer.zero_grad()
            (-self.critic(self.generator(self.noise())).mean()).backward()
            self.generator_optimizer.step()
        return loss.detach()


class Evaluated:
    """Training with an evaluation on a larger batch after every third step."""

    def __init__(self, device, batch=512, width=1024):
        self.device, self.batch, self.width = device, batch, width
        self.model = mlp(width, 6, 64).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4)
        self.models = (self.model,)

    def step(self, number):
        inputs = torch.randn(self.batch, self.width, device=self.device)
        loss = self.model(inputs).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if number % 3 == 2:
            with torch.no_grad():
                for length in self.lengths():
                    loss = loss + self.model(torch.randn(length, self.width, device=self.device)).mean()
        return loss.detach()

    def lengths(self):
        return [8 * self.batch]


class Varying(Evaluated):
    """Training with an evaluation after every third step, over as many batches as there are, each of any length."""

    choices = random.Random(0)

    def lengths(self):
        return [self.choices.randint(1, 2 * self.batch) for _ in range(self.choices.randint(1, 5))]


class Accumulated:
    """Gradient accumulation over an epoch of seven batches in groups of three, the last group short."""

    def __init__(self, device, batch=512, width=1024):
        self.device, self.batch, self.width = device, batch, width
        self.model = mlp(width, 6, 64).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-3, momentum=0.9)
        self.models = (self.model,)

    def step(self, number):
        sizes = (3, 3, 1)[number % 3]
        for _ in range(sizes):
            inputs = torch.randn(self.batch, self.width, device=self.device)
            loss = self.model(inputs).square().mean() / sizes
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()


class ConvNext:
    """Blocks of ConvNeXt (Liu, CVPR 2022): depthwise convolution, layer norm over channels, two linear layers."""

    class Block(torch.nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.spread = torch.nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
            self.norm = torch.nn.LayerNorm(channels)
            self.mix = torch.nn.Sequential(torch.nn.Linear(channels, 4 * channels), torch.nn.GELU(),
                                           torch.nn.Linear(4 * channels, channels))

        def forward(self, x):
            y = self.norm(self.spread(x).permute(0, 2, 3, 1))
            return x + self.mix(y).permute(0, 3, 1, 2)

    def __init__(self, device, batch=8, size=64):
        self.device, self.shape = device, (batch, 3, size, size)
        layers, channels = [torch.nn.Conv2d(3, 48, 4, stride=4)], 48
        for depth in (3, 3, 9, 3):
            layers += [self.Block(channels) for _ in range(depth)] + [torch.nn.Conv2d(channels, 2 * channels, 2, stride=2)]
            channels *= 2
        self.model = torch.nn.Sequential(*layers[:-1]).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4)
        self.models = (self.model,)

    def step(self, number):
        loss = self.model(torch.randn(self.shape, device=self.device)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class Kept:
    """A job whose shapes change for a while, and which keeps one activation of an early iteration for good."""

    def __init__(self, device, batch=2048, width=1024):
        self.device, self.batch, self.width = device, batch, width
        self.model = mlp(width, 6, 64).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4)
        self.models, self.kept = (self.model,), []

    def step(self, number):
        batch = self.batch if number < 12 else self.batch // 2 if number % 2 and number < 40 else self.batch * 3 // 4
        hidden = self.model[0](torch.randn(batch, self.width, device=self.device))
        if number == 10:
            self.kept.append(hidden.detach())
        loss = self.model[1:](hidden).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


JOBS = {"gan": Gan, "evaluated": Evaluated, "varying": Varying, "accumulated": Accumulated, "convnext": ConvNext,
        "kept": Kept}
LARGE = dict.fromkeys(JOBS, (4096, 2048)) | {"convnext": (64, 64), "kept": (8192, 2048)}
SMALL = dict.fromkeys(JOBS, (128, 256)) | {"gan": (256, 256), "convnext": (2, 32), "kept": (512, 256)}


def digest(job, losses):
    sha = hashlib.sha256()
    for tensor in [*losses, *(p.detach() for model in job.models for p in model.parameters())]:
        sha.update(tensor.cpu().contiguous().numpy().tobytes())
    return sha.hexdigest()


def main(name, device, iterations):
    torch.manual_seed(0)
    size = "small" if device == "cpu" else os.environ.get("RESERVED_SIZE", "usual")
    job = JOBS[name](device, *{"small": SMALL[name], "usual": (), "large": LARGE[name]}[size])
    losses = []
    for number in range(iterations):
        if device == "cuda" and number == iterations * 2 // 3:
            torch.cuda.reset_peak_memory_stats()
        losses.append(job.step(number))
    report = {}
    if os.environ.get("STOWAGE") == "1":
        import stowage
        report = stowage.report()
    steady = torch.cuda.max_memory_reserved() if device == "cuda" else 0
    result = {"reserved": steady, "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
              "digest": digest(job, losses), "report": report}
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
