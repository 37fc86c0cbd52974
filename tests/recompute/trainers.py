"""How jobs train: what a step does with a model, for those that do more than one forward and backward pass."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional as F

from tests.zoo.job import digest_all


@dataclass
class Trainer:
    """`step(i)` trains one iteration and returns the losses; the digests of everything a job leaves follow."""

    modules: list[nn.Module]
    optimizers: list[torch.optim.Optimizer]
    step: Callable[[int], list[float]]
    losses: list[list[float]] = field(default_factory=list)

    def run(self, iterations: int) -> dict[str, str]:
        for i in range(iterations):
            self.losses.append(self.step(i))
        return self.digests()

    def digests(self) -> dict[str, str]:
        """Losses, gradients, parameters, buffers, optimizer and RNG state, bit for bit."""
        found: dict[str, str] = {}
        digest_all(self.losses, "losses", found)
        for at, module in enumerate(self.modules):
            digest_all(dict(module.state_dict()), f"module{at}", found)
            digest_all({n: p.grad for n, p in module.named_parameters() if p.grad is not None}, f"gradient{at}", found)
        for at, optimizer in enumerate(self.optimizers):
            digest_all(optimizer.state_dict()["state"], f"optimizer{at}", found)
        digest_all(torch.get_rng_state(), "rng", found)
        return found


def token_loss(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(scores.flatten(0, -2), targets.flatten())


def adversarial(generator: nn.Module, critic: nn.Module, real: torch.Tensor, noise_width: int) -> Trainer:
    batch = len(real)
    optimizers = [torch.optim.Adam(part.parameters(), lr=1e-3) for part in (generator, critic)]
    judge = F.binary_cross_entropy_with_logits

    def step(_: int) -> list[float]:
        fake = generator(torch.randn(batch, noise_width))
        optimizers[1].zero_grad()
        told = judge(critic(real), torch.ones(batch, 1)) + judge(critic(fake.detach()), torch.zeros(batch, 1))
        told.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        fooled = judge(critic(fake), torch.ones(batch, 1))
        fooled.backward()
        optimizers[0].step()
        return [told.item(), fooled.item()]
    return Trainer([generator, critic], optimizers, step)


def accumulating(model: nn.Module, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> Trainer:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        losses = []
        for images, labels in batches:
            loss = F.cross_entropy(model(images), labels) / len(batches)
            loss.backward()
            losses.append(loss.item())
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return losses
    return Trainer([model], [optimizer], step)


def under_autocast(model: nn.Module, ids: torch.Tensor, optimizer: torch.optim.Optimizer) -> Trainer:
    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = token_loss(model(ids), ids.roll(-1, 1))
        loss.backward()
        optimizer.step()
        return [loss.item()]
    return Trainer([model], [optimizer], step)


def penalised(model: nn.Module, data: torch.Tensor, total) -> Trainer:
    """A gradient penalty, and a graph that is used twice. `total`: what the penalty is of, from the outputs."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        inputs = data.clone().requires_grad_()
        out = total(model(inputs))
        (slope,) = torch.autograd.grad(out, inputs, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        penalty.backward(retain_graph=True)
        (out * 0.01).backward()
        optimizer.step()
        return [penalty.item(), out.item()]
    return Trainer([model], [optimizer], step)
