"""Jobs with forward-mode AD: dual tensors, with a backward pass too, and the transforms made of them.

    python -m tests.budget.forward_mode NAME     prints the losses of its iterations, as exact numbers
"""

import hashlib
import sys

import torch
from torch import nn
from torch.autograd import forward_ad

ITERATIONS = 10


def _perceptron() -> nn.Module:
    return nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(6)))


class Job:
    """The derivative along one direction is a part of the loss, as where a network learns a differential equation."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = self.make()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-2)

    def make(self) -> nn.Module:
        return _perceptron()

    def batch(self) -> torch.Tensor:
        return torch.randn(1024, 64)

    def derivative(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(self.model(forward_ad.make_dual(x, torch.ones_like(x))))

    def backward(self) -> torch.Tensor:
        value, along = self.derivative(self.batch())
        loss = value.square().mean() + along.square().mean() * 1e-3
        loss.backward()
        return loss

    def run(self) -> list[str]:
        losses = []
        for _ in range(ITERATIONS):
            self.optimizer.zero_grad()
            losses.append(self.backward().item().hex())
            self.optimizer.step()
        left = b"".join(one.detach().numpy().tobytes() for one in self.model.state_dict().values())
        return [*losses, hashlib.sha256(left).hexdigest()]


class Dual(Job):
    pass


class Transformed(Job):
    def derivative(self, x):
        return torch.func.jvp(self.model, (x,), (torch.ones_like(x),))


class Convolutions(Job):
    """Statistics, random numbers and writes in place."""

    def make(self):
        def block():
            return nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Dropout(0.1))
        return nn.Sequential(*(block() for _ in range(6)), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def batch(self):
        return torch.randn(16, 8, 24, 24)


class Spectra(Job):
    """Complex numbers: conjugated tensors are copied below autograd."""

    class Filter(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(33, dtype=torch.complex64) * 0.3 + 1)

        def forward(self, x):
            spectrum = torch.fft.rfft(x) * self.weight
            return torch.tanh(torch.fft.irfft(spectrum * 0.5 + spectrum * spectrum.conj(), n=64))

    def make(self):
        return nn.Sequential(*(nn.Sequential(self.Filter(), nn.Linear(64, 64)) for _ in range(6)))


class Lower(Job):
    """Under autocast."""

    def derivative(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return tuple(one.float() for one in super().derivative(x))


class Hessian(Job):
    """Forward over reverse: products of the Hessian with a vector, by dual parameters."""

    def backward(self):
        with forward_ad.dual_level():
            dual = {name: forward_ad.make_dual(one, torch.ones_like(one)) for name, one in self.model.named_parameters()}
            loss = torch.func.functional_call(self.model, dual, (self.batch(),)).square().mean()
            pairs = [forward_ad.unpack_dual(one) for one in torch.autograd.grad(loss, list(dual.values()))]
            loss = forward_ad.unpack_dual(loss).primal
        for one, pair in zip(self.model.parameters(), pairs):
            one.grad = pair.primal + 0.1 * pair.tangent
        return loss


class TransformedHessian(Job):
    def backward(self):
        x = self.batch()

        def loss(parameters):
            return torch.func.functional_call(self.model, parameters, (x,)).square().mean()
        now = {name: one.detach() for name, one in self.model.named_parameters()}
        gradient, product = torch.func.jvp(torch.func.grad(loss), (now,), ({name: one + 1 for name, one in now.items()},))
        for name, one in self.model.named_parameters():
            one.grad = gradient[name] + 0.1 * product[name]
        return sum(one.sum() for one in product.values())


class Residuals(Job):
    """The Laplacian's part of a differential equation: the gradient's own derivative, and the gradient of that."""

    def backward(self):
        x = self.batch().requires_grad_()
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            energy = self.model(dual).square().sum(1)
            slope, = torch.autograd.grad(energy.sum(), x, create_graph=True)
            value, along = forward_ad.unpack_dual(slope)
            loss = forward_ad.unpack_dual(energy.mean()).primal + value.square().mean() + along.square().mean()
        loss.backward()
        return loss


_ALL = (Dual, Transformed, Convolutions, Spectra, Lower, Hessian, TransformedHessian, Residuals)
JOBS = {job.__name__: job for job in _ALL}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("\n".join(JOBS[sys.argv[1]]().run()))
