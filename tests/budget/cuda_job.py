"""A training job with CUDA tensors, on a GPU or on the simulated device, under whatever STOWAGE* the environment asks for.

    python -m tests.budget.cuda_job 16 gpt

prints one line of JSON: `error`, the message if the job ran out of memory; `events`, one digest an iteration of all that was
allocated and freed in it, evicted and made again, in order; `evictions` and `recomputed`, one an iteration; `reserved`, the
most bytes that PyTorch's allocator had while there was a limit; `backward_threads`, how many other threads ran backward
passes; `ooms`, PyTorch's count; `digests`, of all that the job left; `report`, Stowage's. On the simulated device
also `held`, the most bytes that it counted itself while there was a limit, and of the same time `launches`, of these
`looked_at`, where it knew a pointer, and `misuses`, pointers that pointed nowhere.
"""

import ctypes
import hashlib
import json
import sys
import threading

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from tests.budget import jobs as budget_jobs
from tests.budget.job import report
from tests.recompute import jobs, trainers
from tests.zoo import counters
from tests.zoo.job import digest_all

MORE = 64  # times the batch of tests/budget/jobs.py: the device's memory is mapped in pages of 12 MiB
JOBS = {}
NEVER_DETERMINISTIC = {"large_unet"}  # CUDA has no such kernel for its loss


def _job(build):
    JOBS[build.__name__] = build
    return build


def _enlarged(name: str):
    def build():
        with jobs.larger_batches(MORE):
            return budget_jobs.JOBS[name]()
    return build


JOBS |= {name: _enlarged(name) for name in (
    "deep_perceptron", "wide_convolutions", "deep_channels_last", "large_resnet18", "large_unet", "large_densenet",
    "deep_gpt", "deep_bert", "small_gpt", "deep_custom_function", "deep_hooks", "deep_checkpoint")}


def _layers(width: int, depth: int, *after) -> nn.Sequential:
    return nn.Sequential(*(layer for _ in range(depth) for layer in (nn.Linear(width, width), *(make() for make in after))))


def _gpt() -> tuple[nn.Module, torch.Tensor, jobs.Trainer]:
    model = jobs._Transformer(causal=True, tied=True, width=128, layers=6)
    ids = torch.randint(23, (32, 256))
    optimizer = torch.optim.AdamW(model.parameters())
    return model, ids, jobs._supervised(model, ids, ids.roll(-1, 1), optimizer, jobs.token_loss)


@_job
def gpt():
    return _gpt()[-1]


@_job
def evaluated():
    """Evaluates once, after it was planned, on more than a batch."""
    model, ids, trainer = _gpt()
    one = trainer.step

    def step(i: int) -> list[float]:
        if i == 24:
            with torch.no_grad():
                jobs.token_loss(model(ids.repeat(2, 1)), ids.repeat(2, 1))
        return one(i)
    trainer.step = step
    return trainer


@_job
def gan():
    generator = _layers(128, 8, lambda: nn.BatchNorm1d(128), lambda: nn.ReLU(True))
    critic = _layers(128, 8, lambda: nn.LeakyReLU(0.2, True), nn.Dropout).append(nn.Linear(128, 1))
    return trainers.adversarial(generator, critic, torch.randn(65536, 128), 128)


@_job
def accumulation():
    return trainers.accumulating(budget_jobs._deep_convolutions(), [jobs._images(256, 48) for _ in range(3)])


@_job
def autocast():
    model = jobs._Transformer(causal=True, tied=True, width=128, layers=6)
    ids = torch.randint(23, (32, 256))

    def loss(scores, targets):
        return jobs.token_loss(scores.float(), targets)
    trainer = jobs._supervised(model, ids, ids.roll(-1, 1), budget_jobs._sgd(model), loss)
    step = trainer.step

    def cast(iteration: int) -> list[float]:
        with torch.autocast("cuda", torch.bfloat16):
            return step(iteration)
    trainer.step = cast
    return trainer


@_job
def double_backward():
    return trainers.penalised(_layers(128, 8, nn.Softplus).append(nn.Linear(128, 1)), torch.randn(65536, 128), torch.mean)


@_job
def lstm():
    """cuDNN does an LSTM's layers in one op, whose results stay; what is between such ops can be made again."""
    class Lstm(nn.Module):
        def __init__(self, width: int):
            super().__init__()
            self.embed, self.head = nn.Embedding(23, width), nn.Linear(width, 23)
            self.layers = nn.ModuleList(nn.LSTM(width, width, depth, batch_first=True, dropout=0.2 * (depth - 1))
                                        for depth in (2, 1, 1))
            self.perceptrons = nn.ModuleList(
                nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * width, width))
                for _ in self.layers)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            x = self.embed(ids)
            for layer, perceptron in zip(self.layers, self.perceptrons):
                x = layer(x)[0]
                x = x + perceptron(x)
            return self.head(x)
    model, ids = Lstm(64), torch.randint(23, (512, 64))
    return jobs._supervised(model, ids, ids.roll(-1, 1), budget_jobs._sgd(model), jobs.token_loss)


@_job
def two_streams():
    """Half of the layers run on a stream of their own; what goes between the two is used on both."""
    model, side = _layers(128, 12, nn.GELU, nn.Dropout), torch.cuda.Stream()
    first, second = model[:18], model[18:]
    data, optimizer = torch.randn(65536, 128), budget_jobs._sgd(model)

    def step(_: int) -> list[float]:
        optimizer.zero_grad()
        x = first(data)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.record_stream(side)
            loss = second(x).square().mean()
        torch.cuda.current_stream().wait_stream(side)
        loss.backward()
        optimizer.step()
        return [loss.item()]
    return jobs.Trainer([model], [optimizer], step)


def _tuned(**how):
    """Parameters, gradients and optimizer state are nearly all: 64 MiB of each but the state, which is twice that."""
    def build():
        model = _layers(2048, 4, nn.GELU)
        optimizer = torch.optim.AdamW(model.parameters(), **how)
        data, scaler = torch.randn(64, 2048), torch.amp.GradScaler("cuda", enabled=how.get("foreach", False))

        def step(_: int) -> list[float]:
            optimizer.zero_grad()
            loss = model(data).square().mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            return [loss.item()]
        return jobs.Trainer([model], [optimizer], step)
    return build


JOBS |= {"tuned_foreach": _tuned(foreach=True), "tuned_fused": _tuned(fused=True), "tuned_one_by_one": _tuned(foreach=False)}


class _Averaging(nn.Linear):
    """Keeps an average of 3 MiB, born among the activations of the first pass."""

    def forward(self, x):
        out = super().forward(x)
        if not hasattr(self, "average"):
            self.register_buffer("average", torch.zeros_like(out[:6144], requires_grad=False))
        self.average.mul_(0.9).add_(out.detach()[:6144])
        return out


@_job
def averages():
    model = nn.Sequential(*(layer for _ in range(12) for layer in (_Averaging(128, 128), nn.GELU())))
    data = torch.randn(65536, 128)
    return jobs._supervised(model, data, data, budget_jobs._sgd(model), nn.functional.mse_loss)


class Events:
    """What PyTorch's own allocator recorded since the last look."""

    def __init__(self):
        torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
        self._seen = 0

    def digest(self) -> str:
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        events = [(event["action"], event["size"]) for event in trace[self._seen:]
                  if event["action"] in ("alloc", "free_requested")]
        self._seen = len(trace)
        return hashlib.sha256(json.dumps(events).encode()).hexdigest()[:16]


def on_the_device(build):
    """Whatever it makes lies on the device, in any thread; optimizers keep the counts of their steps on the CPU, as they do
    by themselves."""
    register_optimizer_step_pre_hook(lambda *_: torch.set_default_device(None))
    register_optimizer_step_post_hook(lambda *_: torch.set_default_device("cuda"))
    torch.set_default_device("cuda")
    return build()


def forget_peaks() -> None:
    torch.cuda.reset_peak_memory_stats()
    if counters.read() is not None:
        ctypes.CDLL(None).stowage_sim_reset()


def seen_by_the_simulator() -> dict:
    device = counters.read()
    if device is None:
        return {}
    looked_at = ctypes.CDLL(None).stowage_sim_checked_launches
    looked_at.restype = ctypes.c_int64
    return {"held": device["peak_bytes"], "misuses": device["misuses"], "launches": device["launches"],
            "looked_at": looked_at()}


def iterate(trainer: trainers.Trainer, iterations: int, left: dict) -> None:
    events, limited = Events(), False
    for i in range(iterations):
        trainer.losses.append(trainer.step(i))
        left["events"].append(events.digest())
        budget = report().get("budget")
        if not budget:
            continue
        left["evictions"].append(budget["evictions"])
        left["recomputed"].append(budget["recomputed_ops"])
        if not limited and budget["limit_bytes"]:
            limited = True
            if budget["own_peak_bytes"]:  # until now there was none
                forget_peaks()
    torch.cuda.synchronize()


def run(name: str, iterations: int) -> dict:
    left: dict = {"error": "", "events": [], "evictions": [], "recomputed": [], "digests": {}}
    threads: set[int] = set()
    trainer = None
    try:
        trainer = on_the_device(JOBS[name])
        next(trainer.modules[0].parameters()).register_hook(lambda _: threads.add(threading.get_ident()))
        iterate(trainer, iterations, left)
    except torch.cuda.OutOfMemoryError as error:
        left["error"] = str(error)
    left |= seen_by_the_simulator()
    left |= {"backward_threads": len(threads - {threading.get_ident()}), "ooms": torch.cuda.memory_stats()["num_ooms"],
             "reserved": torch.cuda.max_memory_reserved(), "report": report()}
    if not left["error"]:
        left["digests"] = trainer.digests()
        digest_all(torch.cuda.get_rng_state(), "cuda_rng", left["digests"])
    return left


if __name__ == "__main__":
    torch.use_deterministic_algorithms(sys.argv[2] not in NEVER_DETERMINISTIC)
    torch.manual_seed(1)
    print(json.dumps(run(sys.argv[2], int(sys.argv[1]))))
