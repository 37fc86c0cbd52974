"""Jobs in which an optimizer's step is not the end of an iteration, or not the only one: added to JOBS of jobs.py."""

import threading

import torch
from torch import nn

from tests.budget.jobs import _job, _perceptron
from tests.recompute import jobs


def _adamw(parameters) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, 1e-3)


def _per_parameter(model: nn.Module) -> dict[nn.Parameter, torch.optim.Optimizer]:
    return {parameter: _adamw([parameter]) for parameter in model.parameters()}


def _loss(model: nn.Module, rows: int = 1024) -> torch.Tensor:
    return model(torch.randn(rows, 64)).square().mean()


def _step_in_hooks(optimizers: dict[nn.Parameter, torch.optim.Optimizer]) -> None:
    def hook(parameter: nn.Parameter) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()
    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(hook)


@_job
def steps_inside_the_backward_pass():
    """PyTorch's tutorial: an optimizer for each parameter, which steps as soon as its gradient is there."""
    model = _perceptron()
    optimizers = _per_parameter(model)
    _step_in_hooks(optimizers)

    def step(_: int) -> list[float]:
        loss = _loss(model)
        loss.backward()
        return [loss.item()]
    return jobs.Trainer([model], list(optimizers.values()), step)


@_job
def an_optimizer_for_each_parameter():
    model = _perceptron()
    optimizers = list(_per_parameter(model).values())

    def step(_: int) -> list[float]:
        loss = _loss(model)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        for optimizer in optimizers:
            optimizer.zero_grad()
        return [loss.item()]
    return jobs.Trainer([model], optimizers, step)


@_job
def two_graphs_before_two_steps():
    """The graph of the second loss is alive while the first optimizer steps."""
    models = [_perceptron(), _perceptron()]
    optimizers = [_adamw(model.parameters()) for model in models]

    def step(_: int) -> list[float]:
        losses = [_loss(model) for model in models]
        for loss, optimizer in zip(losses, optimizers):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [loss.item() for loss in losses]
    return jobs.Trainer(models, optimizers, step)


@_job
def ten_critic_steps():
    """As in a WGAN: the generator steps after ten steps of the critic, and needs twice the memory."""
    generator, critic = _perceptron(), _perceptron()
    optimizers = [torch.optim.RMSprop(model.parameters(), 1e-4) for model in (generator, critic)]

    def criticise() -> float:
        with torch.no_grad():
            fake = generator(torch.randn(512, 64))
        optimizers[1].zero_grad()
        loss = critic(fake).mean() - critic(torch.randn(512, 64)).mean()
        loss.backward()
        optimizers[1].step()
        return loss.item()

    def step(_: int) -> list[float]:
        losses = [criticise() for _ in range(10)]
        optimizers[0].zero_grad()
        loss = -critic(generator(torch.randn(1024, 64))).mean()
        loss.backward()
        optimizers[0].step()
        return [*losses, loss.item()]
    return jobs.Trainer([generator, critic], optimizers, step)


@_job
def closures():
    """Several forward and backward passes inside one step."""
    model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(64, 64), nn.GELU())))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, history_size=2)

    def step(_: int) -> list[float]:
        data = torch.randn(1024, 64)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(data).square().mean()
            loss.backward()
            return loss
        return [optimizer.step(closure).item()]
    return jobs.Trainer([model], [optimizer], step)


@_job
def two_threads():
    """Each trains a model of its own; an iteration of the job is three of each."""
    models = [nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(64, 64), nn.GELU()))) for _ in range(2)]
    optimizers = [_adamw(model.parameters()) for model in models]
    data = torch.randn(1024, 64)
    failures: list[BaseException] = []

    def work(at: int, losses: list[float]) -> None:
        try:
            for _ in range(3):
                optimizers[at].zero_grad()
                loss = models[at](data).square().mean()
                loss.backward()
                optimizers[at].step()
                losses.append(loss.item())
        except torch.OutOfMemoryError as error:
            failures.append(error)

    def step(_: int) -> list[float]:
        losses: list[list[float]] = [[], []]
        threads = [threading.Thread(target=work, args=(at, losses[at])) for at in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return losses[0] + losses[1]
    return jobs.Trainer(models, optimizers, step)
