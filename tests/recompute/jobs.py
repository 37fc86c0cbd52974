"""Small training jobs with every habit that eviction must survive. Each is a function that gives a fresh Trainer."""

import contextlib
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.recompute import trainers
from tests.recompute.trainers import Trainer, token_loss
from tests.zoo.unet import UNet

SEED = 3
OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw_amsgrad": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
}
JOBS: dict[str, Callable[[], Trainer]] = {}
_batch_times = 1


def _job(build):
    def fresh() -> Trainer:
        torch.manual_seed(SEED)
        trainer = build()
        torch.manual_seed(SEED + 1)
        return trainer
    JOBS[build.__name__] = fresh
    return fresh


@contextlib.contextmanager
def larger_batches(times: int):
    """Supervised jobs that are made meanwhile have batches so many times as large: the same samples again and again."""
    global _batch_times
    _batch_times = times
    try:
        yield
    finally:
        _batch_times = 1


def _repeated(batch: torch.Tensor) -> torch.Tensor:
    return batch if _batch_times == 1 else batch.repeat([_batch_times] + [1] * (batch.dim() - 1))


def _supervised(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, optimizer=None,
                loss_function=F.cross_entropy) -> Trainer:
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    inputs, targets = _repeated(inputs), _repeated(targets)

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


def _small_resnet18(width: int) -> nn.Sequential:
    """torchvision's blocks in ResNet-18's order, which begins with a width of 64."""
    from torchvision.models.resnet import BasicBlock

    def stage(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
        shortcut = None
        if stride != 1 or inputs != outputs:
            shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        return [BasicBlock(inputs, outputs, stride, shortcut), BasicBlock(outputs, outputs)]
    return nn.Sequential(
        nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        *stage(width, width, 1), *stage(width, 2 * width, 2), *stage(2 * width, 4 * width, 2),
        *stage(4 * width, 8 * width, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 5))


@_job
def resnet18():
    return _supervised(_small_resnet18(8), *_images(2, 32))


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
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1),
                                        float("-inf"))
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


def _language(model: nn.Module) -> Trainer:
    ids = torch.randint(23, (2, 10))
    return _supervised(model, ids, ids.roll(-1, 1), torch.optim.AdamW(model.parameters(), lr=1e-2), token_loss)


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
    return trainers.adversarial(generator, critic, torch.randn(8, 16), noise_width)


@_job
def gradient_accumulation():
    return trainers.accumulating(_convolutions(), [_images(3, 12) for _ in range(3)])


@_job
def autocast_bfloat16():
    model = _Transformer(causal=True, tied=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return trainers.under_autocast(model, torch.randint(23, (2, 10)), optimizer)


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
    model = nn.Sequential(nn.Linear(8, 24), nn.Softplus(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
    return trainers.penalised(model, torch.randn(12, 8), torch.sum)


class _PartlyCheckpointed(_Transformer):
    def block(self, x: torch.Tensor, layer: int) -> torch.Tensor:
        if layer == 0:
            return checkpoint(super().block, x, layer, use_reentrant=False)
        return checkpoint(super().block, x, layer, use_reentrant=True)


@_job
def torch_checkpoint():
    return _language(_PartlyCheckpointed(causal=True, tied=False))


def _with_readers(model: nn.Sequential, read: tuple[int, ...], scaled: int, kept_of: int, *data: torch.Tensor) -> Trainer:
    """Hooks read the outputs of the layers `read`, scale a gradient, and keep the outputs of a layer until the step ends."""
    seen: list[float] = []
    for layer in read:
        model[layer].register_forward_hook(
            lambda module, inputs, output: seen.append(output.detach().abs().mean().item()))
    model[scaled].weight.register_hook(lambda gradient: gradient * 0.9)
    kept: list[torch.Tensor] = []
    model[kept_of].register_forward_hook(lambda module, inputs, output: kept.append(output))
    trainer = _supervised(model, *data)
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
def hooks_that_read():
    return _with_readers(_convolutions(), (1, 2, 6), 4, 3, *_images(4, 12))


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
