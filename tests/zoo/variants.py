"""Ways to train a job of the zoo, as recipes set them: mixed precision, fused optimizers, gradient accumulation, kernels.

    arguments = parser.parse_args()             # after add_arguments(parser)
    job = vary(models.build("gpt2_medium", "full", "cuda"), arguments)

What is set for the process as a whole (cuDNN's search for the fastest algorithm, deterministic algorithms) is set by
prepare(), before the model is built.
"""

import argparse
import inspect

import torch
from torch import nn
from torch.nn import attention as kernels

from tests.zoo.job import Job

PRECISIONS = ("float32", "bfloat16", "float16", "pure-bfloat16")
ATTENTION = {"any": None, "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
ALIKE, UNLIKE = 2, 4  # of an unsettled job's iterations: so many agree, then so many do not


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--precision", default="float32", choices=PRECISIONS,
                        help="autocast to bfloat16, or to float16 with a GradScaler; pure: the model itself is bfloat16")
    parser.add_argument("--attention", default="any", choices=ATTENTION, help="the kernels that may be used")
    parser.add_argument("--fused", action="store_true", help="the optimizer's fused kernel")
    parser.add_argument("--accumulate", type=int, default=1, help="micro-steps in an iteration")
    parser.add_argument("--batch", type=int, help="samples in a batch, instead of the model's own number")
    parser.add_argument("--adapters", type=int, metavar="RANK",
                        help="train adapters of this rank beside each linear layer (LoRA), and nothing else")
    parser.add_argument("--resident", action="store_true", help="batches lie on the device, none is copied")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--unsettled", action="store_true", help="iterations agree now and then, and never for long")
    parser.add_argument("--compile", metavar="MODE", help="torch.compile in this mode, such as default")
    parser.add_argument("--benchmark", action="store_true", help="torch.backends.cudnn.benchmark")
    parser.add_argument("--deterministic", default="off", choices=("off", "warn", "strict"),
                        help="deterministic algorithms: where there are some, or else an error")


def prepare(arguments: argparse.Namespace) -> None:
    torch.backends.cudnn.benchmark = arguments.benchmark
    if arguments.deterministic != "off":
        torch.use_deterministic_algorithms(True, warn_only=arguments.deterministic == "warn")


class ScaledJob(Job):
    """float16: the loss is scaled, and a step whose gradients overflow is left out."""

    def step(self, iteration: int) -> None:
        self.optimizer.zero_grad()
        total = 0.0
        for micro in range(self.accumulate):
            loss = self.loss_function(self.model, self.load(iteration * self.accumulate + micro)) / self.accumulate
            self.scaler.scale(loss).backward()
            total += loss.item()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.losses.append(total)

    def state(self) -> dict:
        return super().state() | {"scaler": self.scaler.state_dict()}


class UnsettledJob(Job):
    """One tiny allocation is of another size in each iteration, but for ALIKE in a row now and then: a session records
    what comes for ever, ops too, and never plans."""

    def step(self, iteration: int) -> None:
        alike = iteration % (ALIKE + UNLIKE) == 1  # as the one before
        odd = torch.empty(128 * (iteration + 1 - alike), device=self.device)
        super().step(iteration)
        del odd


class Adapted(nn.Module):
    """A linear layer that stays as it is, and a product of two thin ones that is trained (Hu et al. 2021)."""

    def __init__(self, layer: nn.Linear, rank: int):
        super().__init__()
        where = {"device": layer.weight.device, "dtype": layer.weight.dtype}
        self.layer = layer
        self.down = nn.Linear(layer.in_features, rank, bias=False, **where)
        self.up = nn.Linear(rank, layer.out_features, bias=False, **where)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.up(self.down(x))


def _adapt(job: Job, rank: int) -> None:
    job.model.requires_grad_(False)
    for owner in list(job.model.modules()):
        for name, layer in list(owner.named_children()):
            if isinstance(layer, nn.Linear):
                setattr(owner, name, Adapted(layer, rank))
    known = inspect.signature(type(job.optimizer)).parameters
    settings = {name: value for name, value in job.optimizer.defaults.items() if name in known}
    job.optimizer = type(job.optimizer)([p for p in job.model.parameters() if p.requires_grad], **settings)


def _again(job: Job, kind: type[Job]) -> Job:
    """The same job as another class, which adds no fields."""
    if type(job) is not Job:
        raise ValueError(f"{job.name} trains in a way of its own")
    job.__class__ = kind
    return job


def _sized(batch: tuple[torch.Tensor, ...], samples: int) -> tuple[torch.Tensor, ...]:
    times = -(-samples // len(batch[0]))
    return tuple(t.repeat(times, *[1] * (t.dim() - 1))[:samples] for t in batch)


def _fused(optimizer: torch.optim.Optimizer, parameters) -> torch.optim.Optimizer:
    known = inspect.signature(type(optimizer)).parameters
    settings = {name: value for name, value in optimizer.defaults.items() if name in known}
    return type(optimizer)(parameters, **settings | {"fused": True, "foreach": None})


def _within(loss_function, contexts):
    def loss(model, batch):
        with contexts():
            return loss_function(model, batch)
    return loss


def _set_precision(job: Job, precision: str) -> Job:
    if precision == "pure-bfloat16":
        job.model.to(torch.bfloat16)
        as_made = job.batches
        job.batches = [tuple(t.to(torch.bfloat16) if t.is_floating_point() else t for t in batch) for batch in as_made]
    elif precision != "float32":
        kind, device = getattr(torch, precision), job.device.type
        job.loss_function = _within(job.loss_function, lambda: torch.autocast(device, kind))
    if precision == "float16":
        job = _again(job, ScaledJob)
        job.scaler = torch.amp.GradScaler(job.device.type, init_scale=1024.0)
    return job


def vary(job: Job, arguments: argparse.Namespace) -> Job:
    """The job with all that the arguments say. Raises ValueError for what it cannot be combined with."""
    if arguments.batch:
        job.batches = [_sized(batch, arguments.batch) for batch in job.batches]
    if arguments.channels_last:
        job.model.to(memory_format=torch.channels_last)
    if arguments.adapters:
        _adapt(job, arguments.adapters)
    job = _set_precision(job, arguments.precision)
    if arguments.resident:
        job.batches = [tuple(t.to(job.device) for t in batch) for batch in job.batches]
    if backend := ATTENTION[arguments.attention]:
        only = getattr(kernels.SDPBackend, backend)
        job.loss_function = _within(job.loss_function, lambda: kernels.sdpa_kernel(only))
    if arguments.fused:
        job.optimizer = _fused(job.optimizer, job.model.parameters())
    if arguments.compile:
        job.model.compile(mode=None if arguments.compile == "default" else arguments.compile)
    job.accumulate = arguments.accumulate if arguments.accumulate > 1 else job.accumulate
    return _again(job, UnsettledJob) if arguments.unsettled else job
