"""Small training jobs with every habit that eviction must survive. Each is a function that gives a fresh Trainer."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.zoo.job import digest_all
from tests.zoo.unet import UNet

SEED = 3
JOBS: dict[str, Callable[[], "Trainer"]] = {}


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


def _job(build):
    def fresh() -> Trainer:
        torch.manual_seed(SEED)
        trainer = build()
        torch.manual_seed(SEED + 1)
        return trainer
    JOBS[build.__name__] = fresh
    return fresh


def _supervised(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, optimizer=None,
                loss_function=F.cross_entropy) -> Trainer:
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        loss = loss_function(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return [loss.item()]
    return Trainer([model], [optimizer], step)


def _images(batch: int, side: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(batch, 3, side, side), torch.randint(5, (batch,))


# -- models --------------------------------------------------------------------------------------------------------

@_job
def mlp():
    model = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 48), nn.Tanh(), nn.LayerNorm(48),
                          nn.Linear(48, 5))
    return _supervised(model, torch.randn(16, 24), torch.randint(5, (16,)),
                       torch.optim.AdamW(model.parameters(), lr=1e-2))


def _convolutions() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 3, padding=1), nn.BatchNorm2d(12), nn.LeakyReLU(0.1, inplace=True), nn.Dropout(0.2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5))


@_job
def cnn_batch_norm_in_place():
    return _supervised(_convolutions(), *_images(4, 12))


@_job
def cnn_channels_last():
    images, labels = _images(4, 12)
    return _supervised(_convolutions().to(memory_format=torch.channels_last),
                       images.to(memory_format=torch.channels_last), labels)


@_job
def resnet18():
    """torchvision's blocks in ResNet-18's order, at an eighth of the width."""
    from torchvision.models.resnet import BasicBlock

    def stage(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
        shortcut = None
        if stride != 1 or inputs != outputs:
            shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        return [BasicBlock(inputs, outputs, stride, shortcut), BasicBlock(outputs, outputs)]
    model = nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        *stage(8, 8, 1), *stage(8, 16, 2), *stage(16, 32, 2), *stage(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 5))
    return _supervised(model, *_images(2, 32))


@_job
def unet():
    images, _ = _images(2, 16)
    return _supervised(UNet(4, 2), images, (images[:, 0] > 0).long())


@_job
def densenet():
    from torchvision.models import DenseNet
    model = DenseNet(growth_rate=4, block_config=(2, 3), num_init_features=8, bn_size=2, drop_rate=0.1, num_classes=5)
    return _supervised(model, *_images(2, 32))


class _Attention(nn.Module):
    """Attention written out, so that its softmax and dropout are ops of their own."""

    def __init__(self, width: int, heads: int, causal: bool, dropout: float):
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        if self.causal:
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
        weights = F.dropout(scores.softmax(-1), self.dropout, self.training)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class _Transformer(nn.Module):
    def __init__(self, causal: bool, tied: bool, width: int = 16, vocabulary: int = 23, layers: int = 2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.attention = nn.ModuleList(_Attention(width, 2, causal, 0.2) for _ in range(layers))
        self.perceptron = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))
            for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def block(self, x: torch.Tensor, layer: int) -> torch.Tensor:
        x = x + self.attention[layer](self.norms[2 * layer](x))
        return x + self.perceptron[layer](self.norms[2 * layer + 1](x))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = F.dropout(self.embed(ids), 0.1, self.training)
        for layer in range(len(self.attention)):
            x = self.block(x, layer)
        return self.head(x)


def _token_loss(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(scores.flatten(0, -2), targets.flatten())


def _language(model: nn.Module) -> Trainer:
    ids = torch.randint(23, (2, 10))
    return _supervised(model, ids, ids.roll(-1, 1), torch.optim.AdamW(model.parameters(), lr=1e-2), _token_loss)


@_job
def gpt_dropout():
    return _language(_Transformer(causal=True, tied=False))


@_job
def tied_weights():
    return _language(_Transformer(causal=True, tied=True))


@_job
def bert_attention_dropout():
    return _language(_Transformer(causal=False, tied=False))


@_job
def torch_encoder():
    """PyTorch's own layer, through scaled_dot_product_attention."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True, activation="gelu")
    model = nn.Sequential(nn.Embedding(23, 16), nn.TransformerEncoder(layer, 2), nn.Linear(16, 23))
    return _language(model)


class _Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(23, 12), nn.LSTM(12, 12, 2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(12, 23)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embed(ids))[0])


@_job
def lstm():
    return _language(_Lstm())


# -- habits --------------------------------------------------------------------------------------------------------

@_job
def gan():
    noise_width = 8
    generator = nn.Sequential(nn.Linear(noise_width, 24), nn.BatchNorm1d(24), nn.ReLU(True), nn.Linear(24, 16), nn.Tanh())
    critic = nn.Sequential(nn.Linear(16, 24), nn.LeakyReLU(0.2, True), nn.Dropout(0.2), nn.Linear(24, 1))
    optimizers = [torch.optim.Adam(part.parameters(), lr=1e-3) for part in (generator, critic)]
    real = torch.randn(8, 16)
    judge = F.binary_cross_entropy_with_logits

    def step(_: int) -> list[float]:
        fake = generator(torch.randn(8, noise_width))
        optimizers[1].zero_grad()
        told = judge(critic(real), torch.ones(8, 1)) + judge(critic(fake.detach()), torch.zeros(8, 1))
        told.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        fooled = judge(critic(fake), torch.ones(8, 1))
        fooled.backward()
        optimizers[0].step()
        return [told.item(), fooled.item()]
    return Trainer([generator, critic], optimizers, step)


@_job
def gradient_accumulation():
    model = _convolutions()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batches = [_images(3, 12) for _ in range(3)]

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


@_job
def autocast_bfloat16():
    model = _Transformer(causal=True, tied=True)
    ids = torch.randint(23, (2, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = _token_loss(model(ids), ids.roll(-1, 1))
        loss.backward()
        optimizer.step()
        return [loss.item()]
    return Trainer([model], [optimizer], step)


class _Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        gate = torch.sigmoid(x * scale)
        ctx.save_for_backward(x, gate, scale)
        return x * gate

    @staticmethod
    def backward(ctx, gradient):
        x, gate, scale = ctx.saved_tensors
        slope = gate * (1 - gate)
        return gradient * (gate + x * scale * slope), (gradient * x * x * slope).sum().reshape_as(scale)


class _CustomFunctionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.middle, self.leave = nn.Linear(24, 32), nn.Linear(32, 32), nn.Linear(32, 5)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = _Swish.apply(self.enter(x), self.scale)
        return self.leave(_Swish.apply(self.middle(x), self.scale))


@_job
def custom_function():
    return _supervised(_CustomFunctionNet(), torch.randn(16, 24), torch.randint(5, (16,)))


@_job
def double_backward():
    """A gradient penalty, and a graph that is used twice."""
    model = nn.Sequential(nn.Linear(8, 24), nn.Softplus(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = torch.randn(12, 8)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        inputs = data.clone().requires_grad_()
        out = model(inputs).sum()
        (slope,) = torch.autograd.grad(out, inputs, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        penalty.backward(retain_graph=True)
        (out * 0.01).backward()
        optimizer.step()
        return [penalty.item(), out.item()]
    return Trainer([model], [optimizer], step)


class _PartlyCheckpointed(_Transformer):
    def block(self, x: torch.Tensor, layer: int) -> torch.Tensor:
        if layer == 0:
            return checkpoint(super().block, x, layer, use_reentrant=False)
        return checkpoint(super().block, x, layer, use_reentrant=True)


@_job
def torch_checkpoint():
    return _language(_PartlyCheckpointed(causal=True, tied=False))


@_job
def hooks_that_read():
    model = _convolutions()
    seen: list[float] = []
    for layer in (model[1], model[2], model[6]):
        layer.register_forward_hook(lambda module, inputs, output: seen.append(output.detach().abs().mean().item()))
    model[4].weight.register_hook(lambda gradient: gradient * 0.9)
    kept: list[torch.Tensor] = []
    model[3].register_forward_hook(lambda module, inputs, output: kept.append(output))
    trainer = _supervised(model, *_images(4, 12))
    plain_step = trainer.step

    def step(iteration: int) -> list[float]:
        losses = plain_step(iteration)
        losses += [*seen, kept[-1].sum().item()]
        seen.clear()
        del kept[:-1]
        return losses
    trainer.step = step
    return trainer


@_job
def in_place_and_views():
    """Slices written, residuals added in place, views of views, complex numbers, index and foreach ops."""
    first, second = nn.Linear(12, 24), nn.Linear(24, 24)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05, foreach=True)
    data = torch.randn(6, 12)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        x = first(data)
        y = torch.relu(x).clone()
        y[:, ::2] *= 0.5
        y[1:3] = y[3:5].detach() + 1
        y.add_(second(y.clone()))
        z = y.t()[2:20].unsqueeze(0).expand(2, 18, 6).contiguous()
        spectrum = torch.fft.rfft(z.reshape(2, -1))
        picked = y[torch.tensor([0, 2, 4])][:, torch.tensor([1, 1, 5])]
        out = torch.empty(6, 24)
        with torch.no_grad():
            torch.mul(y, 2.0, out=out)
            torch._foreach_add_([out, x.detach().clone()], 0.5)
        loss = spectrum.abs().mean() + picked.sin().sum() + torch.cat([y, x]).logsumexp(1).mean()
        loss.backward()
        optimizer.step()
        return [loss.item(), out.sum().item()]
    return Trainer([first, second], [optimizer], step)
