"""Jobs that go wrong, in values, where an allocator gives memory away too early: streams, graphs, pools, pinned batches.

    job = build("two_streams", "small", torch.device("cuda"))

They need a CUDA device. What a step computes is part of what it leaves, so that a run with another allocator leaves other
bits if any byte was overwritten or read too early.
"""

from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.zoo.job import Job
from tests.zoo.models import SEED

_builders: dict[str, Callable[[str, torch.device], Job]] = {}
SLEEP_CYCLES = 20_000_000  # some 10 ms


def names() -> list[str]:
    return list(_builders)


def build(name: str, size: str, device: torch.device) -> Job:
    torch.manual_seed(SEED)
    with torch.device(device):
        return _builders[name](size, device)


def _register(name: str):
    def keep(builder):
        _builders[name] = builder
        return builder
    return keep


def _perceptron(size: str) -> tuple[nn.Module, int]:
    width, depth = (64, 3) if size == "small" else (512, 8)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.GELU(), nn.Dropout(0.1))]
    return nn.Sequential(*layers, nn.Linear(width, 16)), width


def _samples(size: str, width: int, count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    draw = torch.Generator().manual_seed(SEED)
    batch = 32 if size == "small" else 1024
    return [(torch.randn(batch, width, generator=draw, device="cpu"),
             torch.randint(16, (batch,), generator=draw, device="cpu")) for _ in range(count)]


def _classify(model: nn.Module, batch) -> torch.Tensor:
    inputs, targets = batch
    return F.cross_entropy(model(inputs), targets)


def _job(kind: type[Job], name: str, size: str, device: torch.device) -> Job:
    model, width = _perceptron(size)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return kind(name, device, model, optimizer, _samples(size, width, 2), _classify)


class TwoStreams(Job):
    """A slow reader on another stream, while its tensor is freed and memory of its size is poisoned: right by record_stream
    alone. And a tensor that is made on the other stream and freed on it, while this one takes memory of its size.
    `faults`: iterations in which the reader saw other values than were written."""

    def poison(self, like: torch.Tensor) -> None:
        for _ in range(4):
            torch.full_like(like, float("nan"))

    def step(self, iteration: int) -> None:
        if not hasattr(self, "side"):
            self.side, self.kept, self.faults = torch.cuda.Stream(), [], 0
        inputs = self.load(iteration)[0]
        lent = inputs * 2.0
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(SLEEP_CYCLES)
            read = lent.sum(dim=0)
            made = lent - inputs
            made_sum = made.sum(dim=0)
        lent.record_stream(self.side)
        inputs.record_stream(self.side)
        like = torch.empty_like(lent)
        del lent, made, inputs
        self.poison(like)
        super().step(iteration)
        torch.cuda.current_stream().wait_stream(self.side)
        read.record_stream(torch.cuda.current_stream())
        made_sum.record_stream(torch.cuda.current_stream())
        self.kept = [read.clone(), made_sum.clone()]
        self.faults += not torch.equal(read, 2 * made_sum)  # exact: both sums add the same numbers, doubled

    def state(self) -> dict:
        return super().state() | {"read_by_the_side_stream": self.kept}


class CapturedStep(Job):
    """Eager iterations, then the whole of one as a CUDA graph, replayed from then on beside other allocations."""

    EAGER = 8

    def capture(self) -> None:
        """As PyTorch's documentation has it: behind a few iterations on another stream."""
        self.static = tuple(t.clone() for t in self.load(0))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.optimizer.zero_grad()
                self.loss_function(self.model, self.static).backward()
                self.optimizer.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.optimizer.zero_grad()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.static_loss = self.loss_function(self.model, self.static)
            self.static_loss.backward()
            self.optimizer.step()

    def step(self, iteration: int) -> None:
        if iteration < self.EAGER:
            return super().step(iteration)
        if iteration == self.EAGER:
            self.capture()
        for static, fresh in zip(self.static, self.load(iteration)):
            static.copy_(fresh)
        noise = [torch.full((size,), float("nan"), device=self.device) for size in (1000, 100_000, 1_000_000)]
        self.graph.replay()
        del noise
        self.losses.append(self.static_loss.item())


class GraphedModel(Job):
    """torch.cuda.make_graphed_callables: forward and backward as graphs, the optimizer eager."""

    EAGER = 8

    def step(self, iteration: int) -> None:
        if iteration == self.EAGER:
            sample = self.load(0)[0]
            self.optimizer.zero_grad()
            self.model = torch.cuda.make_graphed_callables(self.model, (sample,))
        super().step(iteration)


class Pool(Job):
    """Part of each iteration's tensors comes from a MemPool of the job's own, and lives into the next iteration."""

    def step(self, iteration: int) -> None:
        if not hasattr(self, "pool"):
            self.pool, self.kept = torch.cuda.MemPool(), None
        with torch.cuda.use_mem_pool(self.pool):
            fresh = self.load(iteration)[0].square()
        super().step(iteration)
        if self.kept is not None:
            self.losses.append((fresh - self.kept).abs().sum().item())
        self.kept = fresh

    def state(self) -> dict:
        return super().state() | {"in_the_pool": self.kept}


class Prefetched(Job):
    """Batches of a DataLoader with workers and pinned memory, copied one ahead on a stream of their own."""

    def batches_ahead(self) -> Iterator[tuple[torch.Tensor, ...]]:
        inputs, targets = (torch.cat(parts) for parts in zip(*self.batches))
        self.loader = DataLoader(TensorDataset(inputs, targets), batch_size=len(inputs) // 4, num_workers=2, pin_memory=True,
                                 persistent_workers=True)
        stream = torch.cuda.Stream()

        def copied(batch):
            with torch.cuda.stream(stream):
                return tuple(t.to(self.device, non_blocking=True) for t in batch)
        ahead = None
        while True:
            for batch in self.loader:
                coming = copied(batch)
                if ahead is not None:
                    yield ahead
                torch.cuda.current_stream().wait_stream(stream)
                for tensor in coming:
                    tensor.record_stream(torch.cuda.current_stream())
                ahead = coming

    def load(self, number: int) -> tuple[torch.Tensor, ...]:
        if not hasattr(self, "coming"):
            self.coming = self.batches_ahead()
        with torch.device("cpu"):
            return next(self.coming)

    def close(self) -> None:
        """Ends the workers; the interpreter's end would wait for them."""
        self.coming.close()
        self.loader._iterator = None


for _name, _kind in (("two_streams", TwoStreams), ("captured_step", CapturedStep), ("graphed_model", GraphedModel),
                     ("mem_pool", Pool), ("prefetched", Prefetched)):
    _register(_name)(lambda size, device, name=_name, kind=_kind: _job(kind, name, size, device))
