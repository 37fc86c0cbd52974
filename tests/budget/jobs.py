"""The jobs that budgets are tested with: those of tests/recompute with larger batches, and each of their kinds once more so
deep that activations are most of what it holds (DEEP)."""

import torch
from torch import nn

from tests.recompute import jobs, trainers
from tests.zoo.unet import UNet

LARGER = 16  # times the batch of tests/recompute, where eviction is forced and size does not matter
_supervised, _images = jobs._supervised, jobs._images


def _larger(build):
    def fresh() -> jobs.Trainer:
        with jobs.larger_batches(LARGER):
            return build()
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


def _perceptron() -> nn.Sequential:
    return nn.Sequential(*(layer for _ in range(16) for layer in (nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1))))


def _deep_convolutions() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(True),
                         *(nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(True))
                           for _ in range(9)), nn.AdaptiveAvgPool2d(1), nn.Flatten())


@_job
def deep_perceptron():
    model = _perceptron()
    return _supervised(model, torch.randn(1024, 64), torch.randint(64, (1024,)), _sgd(model))


@_job
def wide_pools():
    """The first ReLU's result is a third of all that it holds; fewer bytes of it and of the pooling's indices are enough."""
    model = nn.Sequential(nn.Conv2d(3, 32, 1), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(32, 32, 1), nn.ReLU(True),
                          nn.MaxPool2d(3, 2, 1), nn.Dropout(0.1), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    return _supervised(model, torch.randn(1, 3, 256, 256), torch.randint(128, (1,)), _sgd(model))


@_job
def wide_convolutions():
    """Tensors of 4 MiB, so that the system's count of pages tells what they hold."""
    model = _deep_convolutions()
    return _supervised(model, torch.randn(16, 3, 64, 64), torch.randint(16, (16,)), _sgd(model))


@_job
def small_gpt():
    model = jobs._Transformer(causal=True, tied=True, width=32, layers=4)
    ids = torch.randint(23, (16, 48))
    return _supervised(model, ids, ids.roll(-1, 1), _sgd(model), jobs.token_loss)


@_job
def wide_perceptron():
    """Tensors of 4 MiB and kernels without scratch, so that the system's count of pages tells what tensors hold."""
    model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(64, 64), nn.GELU())))
    return _supervised(model, torch.randn(16384, 64), torch.randint(64, (16384,)), _sgd(model))


# -- the kinds of jobs of tests/recompute, deep enough that what one op needs is a small part of all activations -----

def _deep_language(model: nn.Module, batch: int = 16, length: int = 48) -> jobs.Trainer:
    ids = torch.randint(23, (batch, length))
    return _supervised(model, ids, ids.roll(-1, 1), _sgd(model), jobs.token_loss)


@_job
def deep_channels_last():
    images, labels = _images(8, 48)
    return _supervised(_deep_convolutions().to(memory_format=torch.channels_last),
                       images.to(memory_format=torch.channels_last), labels)


@_job
def large_resnet18():
    return _supervised(jobs.JOBS["resnet18"]().modules[0], *_images(16, 96))


@_job
def large_unet():
    images, _ = _images(4, 64)
    return _supervised(UNet(8, 3), images, (images[:, 0] > 0).long())


@_job
def large_densenet():
    from torchvision.models import DenseNet
    model = DenseNet(growth_rate=4, block_config=(4, 4, 4), num_init_features=8, bn_size=2, drop_rate=0.1, num_classes=5)
    return _supervised(model, *_images(16, 64))


@_job
def deep_gpt():
    return _deep_language(jobs._Transformer(causal=True, tied=False, width=32, layers=5))


@_job
def deep_bert():
    return _deep_language(jobs._Transformer(causal=False, tied=False, width=32, layers=5))


@_job
def deep_lstm():
    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(23, 16), nn.Linear(16, 23)
            self.lstm = nn.LSTM(16, 16, 6, batch_first=True, dropout=0.2)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.lstm(self.embed(ids))[0])
    return _deep_language(Lstm(), batch=64, length=32)


@_job
def deep_gan():
    width, batch = 32, 2048
    generator = nn.Sequential(*(layer for _ in range(8)
                                for layer in (nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(True))))
    critic = nn.Sequential(*(layer for _ in range(8)
                             for layer in (nn.Linear(width, width), nn.LeakyReLU(0.2, True), nn.Dropout(0.2))),
                           nn.Linear(width, 1))
    return trainers.adversarial(generator, critic, torch.randn(batch, width), width)


@_job
def deep_accumulation():
    return trainers.accumulating(_deep_convolutions(), [_images(4, 48) for _ in range(3)])


@_job
def deep_autocast():
    model = jobs._Transformer(causal=True, tied=True, width=32, layers=5)
    return trainers.under_autocast(model, torch.randint(23, (16, 48)), _sgd(model))


@_job
def deep_custom_function():
    """A function of its own after every fourth layer: what is computed inside such a function stays."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(12))
            self.scale = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for at, layer in enumerate(self.layers):
                x = jobs._Swish.apply(layer(x), self.scale) if at % 4 == 0 else nn.functional.gelu(layer(x))
            return x
    model = Net()
    return _supervised(model, torch.randn(2048, 32), torch.randint(32, (2048,)), _sgd(model))


@_job
def deep_double_backward():
    model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(32, 32), nn.Softplus())), nn.Linear(32, 1))
    return trainers.penalised(model, torch.randn(2048, 32), torch.mean)


class _PartlyCheckpointed(jobs._PartlyCheckpointed):
    def block(self, x: torch.Tensor, layer: int) -> torch.Tensor:
        return super().block(x, layer) if layer < 2 else jobs._Transformer.block(self, x, layer)


@_job
def deep_checkpoint():
    """Two of six layers under torch.utils.checkpoint, one in either of its ways."""
    return _deep_language(_PartlyCheckpointed(causal=True, tied=False, width=32, layers=6))


@_job
def deep_hooks():
    return jobs._with_readers(_deep_convolutions(), (1, 4, 7), 0, 6, *_images(8, 48))


@_job
def deep_in_place_and_views():
    layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(8))
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.05, foreach=True)
    data = torch.randn(1024, 32)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        x = data
        for layer in layers:
            y = torch.relu(layer(x)).clone()
            y[:, ::2] *= 0.5
            y[1:3] = y[3:5].detach() + 1
            z = y.t()[2:20].unsqueeze(0).expand(2, 18, 1024).contiguous()
            x = y.add_(z.mean((0, 1))[:, None])
        spectrum = torch.fft.rfft(x.reshape(2, -1))
        loss = spectrum.abs().mean() + x[torch.tensor([0, 2, 4])].sin().sum()
        loss.backward()
        optimizer.step()
        return [loss.item()]
    return jobs.Trainer([layers], [optimizer], step)


# -- what else a job does beside training steps ---------------------------------------------------------------------

class _Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8192

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        return torch.arange(at, at + 64) % 17 / 17, at % 64


@_job
def evaluated_perceptron():
    """After every third step an evaluation of several batches without gradients."""
    model = _perceptron()
    trainer = _supervised(model, torch.randn(1024, 64), torch.randint(64, (1024,)), _sgd(model))
    held_out = torch.randn(4, 1536, 64)
    train = trainer.step

    def step(iteration: int) -> list[float]:
        losses = train(iteration)
        if iteration % 3 == 2:
            model.eval()
            with torch.no_grad():
                losses += [model(batch).logsumexp(1).mean().item() for batch in held_out]
            model.train()
        return losses
    trainer.step = step
    return trainer


@_job
def fed_by_workers():
    """Batches from a DataLoader's two forked workers, which begin anew every fourth step."""
    model = _perceptron()
    optimizer = _sgd(model)
    loader = torch.utils.data.DataLoader(_Numbers(), batch_size=2048, shuffle=True, num_workers=2,
                                         multiprocessing_context="fork")
    batches = iter(())

    def step(_: int) -> list[float]:
        nonlocal batches
        batch = next(batches, None)
        if batch is None:
            batches = iter(loader)
            batch = next(batches)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return [loss.item()]
    return jobs.Trainer([model], [optimizer], step)


DEEP = {
    "MLP": "deep_perceptron", "MLP, tensors of 4 MiB": "wide_perceptron", "CNN, BN, in-place ReLU": "wide_convolutions",
    "the same, channels last": "deep_channels_last", "ResNet-18": "large_resnet18", "U-Net": "large_unet",
    "DenseNet": "large_densenet", "GPT, dropout": "deep_gpt", "BERT, attention dropout": "deep_bert", "LSTM": "deep_lstm",
    "GAN, two optimizers": "deep_gan", "tied weights": "small_gpt", "gradient accumulation": "deep_accumulation",
    "autocast bfloat16": "deep_autocast", "custom autograd.Function": "deep_custom_function",
    "double backward, retain_graph": "deep_double_backward", "torch.utils.checkpoint in part": "deep_checkpoint",
    "hooks that read": "deep_hooks", "in-place writes and views": "deep_in_place_and_views",
    "evaluation in between": "evaluated_perceptron", "DataLoader's forked workers": "fed_by_workers"}
