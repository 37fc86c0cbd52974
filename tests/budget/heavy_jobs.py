"""Jobs whose parameters, gradients and optimizer state are most of what they hold (HEAVY): added to JOBS of jobs.py.

Small batches, fine-tuning, several networks, large tables: what recomputation alone cannot help.
"""

import copy

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from tests.budget.jobs import JOBS, _job
from tests.recompute import jobs
from tests.recompute.trainers import Trainer

HEAVY: dict[str, str] = {}  # what sort each is, by name


def _heavy(kind: str):
    def register(build):
        HEAVY[build.__name__] = kind
        return _job(build)
    return register


def _adamw(*models: nn.Module, **options) -> torch.optim.Optimizer:
    return torch.optim.AdamW([p for model in models for p in model.parameters() if p.requires_grad], 1e-3, **options)


def _classifier(model: nn.Module, optimizer=None, batch: int = 2, side: int = 64) -> Trainer:
    return jobs._supervised(model, *jobs._images(batch, side), optimizer or _adamw(model))


def _stepper(models, optimizers, loss_of) -> Trainer:
    """One optimizer or more that step together on one loss, with a batch of its own in each iteration."""
    def step(i: int) -> list[float]:
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = loss_of(i)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return [loss.item()]
    return Trainer(models, optimizers, step)


@_heavy("DenseNet-121, Adam")
def densenet121():
    model = torchvision.models.densenet121(num_classes=5)
    return _classifier(model, torch.optim.Adam(model.parameters(), 1e-3))


@_heavy("RegNet-Y 400 MF, AdamW")
def regnet():
    return _classifier(torchvision.models.regnet_y_400mf(num_classes=5))


@_heavy("ConvNeXt, layer scale, AdamW")
def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    blocks = [CNBlockConfig(64, 128, 1), CNBlockConfig(128, 256, 1), CNBlockConfig(256, 512, 2), CNBlockConfig(512, None, 1)]
    return _classifier(ConvNeXt(blocks, num_classes=5))


@_heavy("Swin, shifted windows, AdamW")
def swin():
    model = torchvision.models.SwinTransformer(patch_size=[4, 4], embed_dim=64, depths=[2, 2, 2], num_heads=[2, 4, 8],
                                               window_size=[4, 4], num_classes=5)
    return _classifier(model)


@_heavy("GoogLeNet with auxiliary losses, SGD with momentum")
def googlenet_with_auxiliaries():
    model = torchvision.models.GoogLeNet(num_classes=5, aux_logits=True, init_weights=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    images, labels = jobs._images(2, 64)

    def loss(_: int) -> torch.Tensor:
        outputs = model(images)
        return sum(weight * F.cross_entropy(one, labels) for weight, one in zip((1, 0.3, 0.3), outputs))
    return _stepper([model], [optimizer], loss)


@_heavy("EfficientNet-B0, RMSprop")
def efficientnet():
    model = torchvision.models.efficientnet_b0(num_classes=5)
    return _classifier(model, torch.optim.RMSprop(model.parameters(), 1e-3, momentum=0.9))


def _perceptron(*widths: int) -> nn.Sequential:
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.LeakyReLU(0.2))]
    return nn.Sequential(*layers[:-1])


@_heavy("WGAN with gradient penalty, two Adams")
def wgan():
    critic, generator = _perceptron(256, 512, 512, 1), _perceptron(64, 512, 512, 256)
    optimizers = [torch.optim.Adam(one.parameters(), 1e-4, betas=(0.5, 0.9)) for one in (critic, generator)]
    real = torch.randn(8, 256)

    def step(_: int) -> list[float]:
        fake = generator(torch.randn(8, 64))
        mixed = (0.3 * real + 0.7 * fake.detach()).requires_grad_()
        slope, = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        critic_loss = critic(fake.detach()).mean() - critic(real).mean() + 10 * (slope.norm(2, 1) - 1).square().mean()
        optimizers[0].zero_grad()
        critic_loss.backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        generator_loss = -critic(fake).mean()
        generator_loss.backward()
        optimizers[1].step()
        return [critic_loss.item(), generator_loss.item()]
    return Trainer([critic, generator], optimizers, step)


@_heavy("variational autoencoder, Adam")
def autoencoder():
    encoder, decoder = _perceptron(784, 512, 256, 64), _perceptron(32, 256, 512, 784)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-3)
    images = torch.rand(16, 784)

    def loss(_: int) -> torch.Tensor:
        mean, spread = encoder(images).chunk(2, 1)
        shown = decoder(mean + torch.randn_like(mean) * spread.exp())
        return F.binary_cross_entropy_with_logits(shown, images) + 0.1 * (mean.square() + spread.exp() - spread).mean()
    return _stepper([encoder, decoder], [optimizer], loss)


class _Translator(nn.Module):
    def __init__(self, words: int = 2000, width: int = 128):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder, self.decoder = nn.GRU(width, width, batch_first=True), nn.GRU(width, width, batch_first=True)
        self.words = nn.Linear(width, words)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        _, state = self.encoder(self.source(source))
        return self.words(self.decoder(self.target(target), state)[0])


@_heavy("GRU translator, lengths that vary, AdamW")
def translator():
    model = _Translator()
    optimizer = _adamw(model)

    def loss(i: int) -> torch.Tensor:
        source, target = torch.randint(2000, (4, 6 + i % 5)), torch.randint(2000, (4, 5 + i % 3))
        return F.cross_entropy(model(source, target).flatten(0, 1), target.flatten())
    return _stepper([model], [optimizer], loss)


@_heavy("recommender with large tables, Adagrad")
def recommender():
    tables = nn.ModuleList(nn.Embedding(4000, 64) for _ in range(6))
    top = _perceptron(384, 64, 1)
    optimizer = torch.optim.Adagrad([*tables.parameters(), *top.parameters()], 0.01)
    ids, clicks = torch.randint(4000, (6, 64)), torch.rand(64, 1)

    def loss(_: int) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(top(torch.cat([table(one) for table, one in zip(tables, ids)], 1)), clicks)
    return _stepper([tables, top], [optimizer], loss)


def _language_model(layers: int = 4, width: int = 128) -> nn.Module:
    return jobs._Transformer(causal=True, tied=True, width=width, layers=layers)


@_heavy("full fine-tuning, clipped gradients, AdamW with amsgrad")
def fine_tuning():
    model = _language_model()
    optimizer, ids = _adamw(model, amsgrad=True), torch.randint(23, (2, 16))

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        loss = jobs.token_loss(model(ids), ids.roll(-1, 1))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return [loss.item(), norm.item()]
    return Trainer([model], [optimizer], step)


class _Adapted(nn.Module):
    def __init__(self, frozen: nn.Linear, rank: int = 4):
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.down = nn.Linear(frozen.in_features, rank, bias=False)
        self.up = nn.Linear(rank, frozen.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.frozen(x) + self.up(self.down(x))


@_heavy("LoRA on a frozen network, AdamW")
def low_rank_adapters():
    model = nn.Sequential(*(layer for _ in range(8) for layer in (_Adapted(nn.Linear(256, 256)), nn.GELU())))
    return jobs._supervised(model, torch.randn(8, 256), torch.randint(256, (8,)), _adamw(model))


@_heavy("mixture of experts, AdamW")
def experts():
    gate, heads = nn.Linear(64, 8), nn.ModuleList(_perceptron(64, 256, 64) for _ in range(8))
    optimizer = _adamw(gate, heads)

    def loss(_: int) -> torch.Tensor:
        x = torch.randn(32, 64)
        weights, chosen = gate(x).softmax(1).max(1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(heads):
            rows = (chosen == number).nonzero().flatten()
            out = out.index_copy(0, rows, expert(x[rows]) * weights[rows, None])
        return (out - x).square().mean()
    return _stepper([gate, heads], [optimizer], loss)


@_heavy("teacher as a moving average of the student, SGD with momentum")
def teacher_and_student():
    student = _perceptron(128, 512, 512, 128)
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), 0.05, momentum=0.9)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        x = torch.randn(8, 128)
        with torch.no_grad():
            wanted = teacher(x)
        loss = F.mse_loss(student(x + 0.1 * torch.randn_like(x)), wanted)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters()):
                slow.lerp_(fast, 0.05)
        return [loss.item()]
    return Trainer([student, teacher], [optimizer], step)


@_heavy("perceptron, LBFGS with its history")
def lbfgs():
    model = _perceptron(64, 128, 64)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, history_size=6)
    x, y = torch.randn(16, 64), torch.randn(16, 64)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    def step(_: int) -> list[float]:
        return [optimizer.step(closure).item()]
    return Trainer([model], [optimizer], step)


assert HEAVY.keys() <= JOBS.keys()
