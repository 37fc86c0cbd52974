"""A training job of the zoo: a model, its optimizers and its made data, stepped one iteration at a time."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

Batch = tuple[torch.Tensor, ...]
LossFunction = Callable[[nn.Module, Batch], torch.Tensor]


def digest(tensor: torch.Tensor) -> str:
    """sha256 of type, shape and every byte: equal if and only if the tensors are equal bit by bit (NaNs too)."""
    data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return hashlib.sha256(f"{tensor.dtype}{tuple(tensor.shape)}".encode() + data.tobytes()).hexdigest()


def digest_all(value, name: str, into: dict[str, str], of: Callable[[torch.Tensor], str] = digest) -> None:
    """Digests every tensor and number of nested dicts, lists and tuples, each under its path."""
    if isinstance(value, torch.Tensor):
        into[name] = of(value)
    elif isinstance(value, dict):
        for key in value:
            digest_all(value[key], f"{name}/{key}", into, of)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            digest_all(item, f"{name}/{index}", into, of)
    else:
        into[name] = value.hex() if isinstance(value, float) else repr(value)


@dataclass
class Job:
    """One model and optimizer. `accumulate` micro-steps make one iteration."""

    name: str
    device: torch.device
    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: list[Batch]  # on the CPU; used in turn
    loss_function: LossFunction
    accumulate: int = 1
    losses: list[float] = field(default_factory=list)

    def load(self, number: int) -> Batch:
        return tuple(t.to(self.device) for t in self.batches[number % len(self.batches)])

    def step(self, iteration: int) -> None:
        """One whole training iteration, as a plain script has it."""
        self.optimizer.zero_grad()
        total = 0.0
        for micro in range(self.accumulate):
            loss = self.loss_function(self.model, self.load(iteration * self.accumulate + micro)) / self.accumulate
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        self.losses.append(total)

    def state(self) -> dict:
        """All that training changes."""
        return {
            "losses": self.losses,
            "gradients": {name: p.grad for name, p in self.model.named_parameters()},
            "parameters": dict(self.model.named_parameters()),
            "buffers": dict(self.model.named_buffers()),
            "optimizer": self.optimizer.state_dict(),
            "rng": rng_state(self.device),
        }

    def digests(self, of: Callable[[torch.Tensor], str] = digest) -> dict[str, str]:
        found: dict[str, str] = {}
        digest_all(self.state(), self.name, found, of)
        return found


@dataclass
class GanJob(Job):
    """Two optimizers in one iteration: `model` holds `generator` and `discriminator`."""

    second_optimizer: torch.optim.Optimizer | None = None  # the discriminator's

    def step(self, iteration: int) -> None:
        (real,) = self.load(iteration)
        noise = torch.randn(real.shape[0], self.model.noise_width, device=self.device)
        judge = nn.functional.binary_cross_entropy_with_logits
        fake = self.model.generator(noise)

        self.second_optimizer.zero_grad()
        on_real, on_fake = self.model.discriminator(real), self.model.discriminator(fake.detach())
        loss = judge(on_real, torch.ones_like(on_real)) + judge(on_fake, torch.zeros_like(on_fake))
        loss.backward()
        self.second_optimizer.step()

        self.optimizer.zero_grad()
        on_fake = self.model.discriminator(fake)
        generator_loss = judge(on_fake, torch.ones_like(on_fake))
        generator_loss.backward()
        self.optimizer.step()
        self.losses += [loss.item(), generator_loss.item()]

    def state(self) -> dict:
        return super().state() | {"second_optimizer": self.second_optimizer.state_dict()}


def rng_state(device: torch.device) -> dict[str, torch.Tensor]:
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state
