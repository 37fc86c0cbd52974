"""What ordinary programs do around a training step, each a variation of one job that runs at half of its own peak.

    python -m tests.budget.everyday NAME     prints the losses of its iterations, as exact numbers
"""

import copy
import io
import os
import sys
import tempfile

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

ITERATIONS = 10


def _layers() -> nn.Sequential:
    return nn.Sequential(*(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64)) for _ in range(8)))


class Job:
    """A perceptron trained by AdamW; what varies is overridden."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = _layers()
        self.prepare()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)

    def prepare(self) -> None:
        pass

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)

    def after(self, i: int) -> None:
        pass

    def run(self) -> list[str]:
        losses = []
        for i in range(ITERATIONS):
            self.optimizer.zero_grad()
            loss = self.forward(torch.randn(1024, 64)).square().mean()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item().hex())
            self.after(i)
        return losses


class Saves(Job):
    def after(self, i):
        if i % 3 == 2:
            torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, io.BytesIO())


class SavesSafely(Job):
    def after(self, i):
        from safetensors.torch import save
        if i % 3 == 2:
            save(self.model.state_dict())


class ComparesAddresses(Job):
    """As what looks for tied weights does."""

    def after(self, i):
        assert len({parameter.data_ptr() for parameter in self.model.parameters()}) == 32


class AveragesInNumPy(Job):
    def after(self, i):
        now = [parameter.detach().numpy().copy() for parameter in self.model.parameters()]
        self.mean = now if i == 0 else [0.9 * old + 0.1 * new for old, new in zip(self.mean, now)]


class CopiesTheModel(Job):
    def after(self, i):
        self.best = copy.deepcopy(self.model)


class HooksBackward(Job):
    def prepare(self):
        for module in self.model.modules():
            module.register_full_backward_hook(lambda *_: None)


class Checkpoints(Job):
    def forward(self, x):
        x.requires_grad_()
        for layer in self.model:
            x = checkpoint(layer, x, use_reentrant=True)
        return x


class _Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.round(decimals=3)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (ctx.saved_tensors[0].abs() < 10)


class RoundsStraightThrough(Job):
    def forward(self, x):
        for layer in self.model:
            x = _Straight.apply(layer(x))
        return x


class MapsItsParameters(Job):
    def prepare(self):
        path = os.path.join(tempfile.mkdtemp(), "model.pt")
        torch.save(self.model.state_dict(), path)
        self.model.load_state_dict(torch.load(path, mmap=True), assign=True)
        self.model.requires_grad_()


class LoadsSafely(Job):
    def prepare(self):
        from safetensors.torch import load_file, save_file
        path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        save_file(self.model.state_dict(), path)
        self.model.load_state_dict(load_file(path), assign=True)
        self.model.requires_grad_()


class Compiles(Job):
    def prepare(self):
        self.compiled = torch.compile(self.model, backend="aot_eager")

    def forward(self, x):
        return self.compiled(x)


class Functional(Job):
    """No optimizer, no module that holds the parameters."""

    def run(self):
        losses, parameters = [], dict(self.model.named_parameters())
        for _ in range(ITERATIONS):
            x = torch.randn(1024, 64)
            loss = torch.func.functional_call(self.model, parameters, (x,)).square().mean()
            gradients = torch.autograd.grad(loss, list(parameters.values()))
            parameters = {name: (parameter - 0.01 * gradient).detach().requires_grad_()
                          for (name, parameter), gradient in zip(parameters.items(), gradients)}
            losses.append(loss.item().hex())
        return losses


JOBS = {kind.__name__: kind for kind in Job.__subclasses__()}


def main() -> None:
    torch.set_num_threads(1)
    print(*JOBS[sys.argv[1]]().run(), sep="\n")


if __name__ == "__main__":
    main()
