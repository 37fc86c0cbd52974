"""What jobs do that makes one iteration unlike the others. Each habit turns a job into its step function.

A habit is deterministic: the same job with the same habit gives the same bits, with or without Stowage.
"""

import sys
from collections.abc import Callable

import torch

from tests.zoo.job import Job

Step = Callable[[int], None]
ODD = (10, 14)  # the iterations that differ, late enough for a plan to be in use


def plain(job: Job) -> Step:
    return job.step


def one_more(job: Job) -> Step:
    """A tensor is allocated, used and freed that other iterations do not have."""
    def step(iteration: int) -> None:
        if iteration in ODD:
            job.losses.append(torch.ones(3000, device=job.device).sum().item())
        job.step(iteration)
    return step


def one_fewer(job: Job) -> Step:
    """Every iteration has a tensor that a few iterations leave out."""
    def step(iteration: int) -> None:
        if iteration not in ODD:
            job.losses.append(torch.ones(3000, device=job.device).sum().item())
        job.step(iteration)
    return step


def other_size(job: Job) -> Step:
    """A batch of half the size, as at the end of an epoch."""
    whole = job.batches
    halves = [tuple(t[: max(1, len(t) // 2)] for t in batch) for batch in whole]

    def step(iteration: int) -> None:
        job.batches = halves if iteration in ODD else whole
        job.step(iteration)
    return step


def evaluate(job: Job) -> Step:
    """An evaluation after every third iteration."""
    def step(iteration: int) -> None:
        job.step(iteration)
        if iteration % 3 == 2:
            job.model.eval()
            with torch.no_grad():
                job.losses.append(job.loss_function(job.model, job.load(iteration)).item())
            job.model.train()
    return step


def keep_two(job: Job) -> Step:
    """A tensor of each iteration stays alive for two iterations."""
    kept: list[torch.Tensor] = []

    def step(iteration: int) -> None:
        kept.append(torch.full((5000,), float(iteration), device=job.device))
        job.step(iteration)
        if len(kept) > 2:
            job.losses.append(kept.pop(0).sum().item())
    return step


class Interrupted(Exception):
    pass


def interrupt(job: Job) -> Step:
    """An exception in the middle of the forward pass, caught by the job, which goes on."""
    def step(iteration: int) -> None:
        if iteration not in ODD:
            return job.step(iteration)
        leaves = [module for module in job.model.modules() if not list(module.children())]

        def fail(*_):
            raise Interrupted
        hook = leaves[len(leaves) // 2].register_forward_pre_hook(fail)
        try:
            job.step(iteration)
        except Interrupted:
            job.losses.append(-1.0)
        finally:
            hook.remove()
    return step


def micro_steps(job: Job) -> Step:
    """Gradients add up over `job.accumulate` micro-steps; each is an iteration to Stowage where that is in use."""
    def step(iteration: int) -> None:
        number = iteration % job.accumulate
        if number == 0:
            job.optimizer.zero_grad()
        loss = job.loss_function(job.model, job.load(iteration)) / job.accumulate
        loss.backward()
        job.losses.append(loss.item())
        if number == job.accumulate - 1:
            job.optimizer.step()
        if "stowage" in sys.modules:
            sys.modules["stowage"].step()
    return step


HABITS: dict[str, Callable[[Job], Step]] = {
    "none": plain, "one_more": one_more, "one_fewer": one_fewer, "other_size": other_size,
    "evaluate": evaluate, "keep_two": keep_two, "interrupt": interrupt, "micro_steps": micro_steps}
