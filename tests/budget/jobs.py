"""The jobs that budgets are tested with: those of tests/recompute with larger batches, so that activations are most of what
they hold, and three of their own."""

import torch
from torch import nn

from tests.recompute import jobs

LARGER = 16  # times the batch of tests/recompute, where eviction is forced and size does not matter
_supervised = jobs._supervised


def _supervised_by_more(model, inputs, targets, *rest):
    more = [LARGER] + [1] * (inputs.dim() - 1)
    return _supervised(model, inputs.repeat(more), targets.repeat([LARGER] + [1] * (targets.dim() - 1)), *rest)


def _larger(build):
    def fresh() -> jobs.Trainer:
        jobs._supervised = _supervised_by_more
        try:
            return build()
        finally:
            jobs._supervised = _supervised
    return fresh


JOBS = {name: _larger(build) for name, build in jobs.JOBS.items()}


def _job(build):
    def fresh() -> jobs.Trainer:
        torch.manual_seed(jobs.SEED)
        trainer = build()
        torch.manual_seed(jobs.SEED + 1)
        return trainer
    JOBS[build.__name__] = fresh
    return fresh


def _sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


@_job
def deep_perceptron():
    model = nn.Sequential(*(layer for _ in range(16) for layer in (nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1))))
    return _supervised(model, torch.randn(1024, 64), torch.randint(64, (1024,)), _sgd(model))


@_job
def wide_convolutions():
    """Tensors of 4 MiB, so that the system's count of pages tells what they hold."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(True),
                          *(nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(True))
                            for _ in range(9)), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return _supervised(model, torch.randn(16, 3, 64, 64), torch.randint(16, (16,)), _sgd(model))


@_job
def small_gpt():
    model = jobs._Transformer(causal=True, tied=True, width=32, layers=4)
    ids = torch.randint(23, (16, 48))
    return _supervised(model, ids, ids.roll(-1, 1), _sgd(model), jobs._token_loss)


@_job
def wide_perceptron():
    """Tensors of 4 MiB and kernels without scratch, so that the system's count of pages tells what tensors hold."""
    model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(64, 64), nn.GELU())))
    return _supervised(model, torch.randn(16384, 64), torch.randint(64, (16384,)), _sgd(model))
