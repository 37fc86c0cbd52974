"""Peers beside Stowage on one set of jobs: torch.compile's activation_memory_budget, and torch.utils.checkpoint by hand.

    python benchmarks/recompute/peers.py            # the jobs of rescue.py
    python benchmarks/recompute/peers.py --quick    # one job, one budget: does it work?
    python benchmarks/recompute/peers.py --write    # and writes docs/results/peers.md
    python benchmarks/recompute/peers.py --backend inductor    # compiles C++: many minutes

Each peer's job is measured as it is: the most bytes it holds, its processor time against plain eager iterations that take
turns with its own in one process, and whether it leaves the bits of the plain job. Then Stowage (rescue alone) is held to as
many bytes as the peer needed. The second table asks only what becomes of the jobs of tests/budget under torch.compile.
"""

import collections
import functools
import gc
import logging
import os
import pathlib
import statistics
import sys
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.recompute import rescue  # noqa: E402, first: it sets the paths
from benchmarks.pages import Page, machine, table  # noqa: E402

import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch._functorch.config  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from tests.budget import jobs as budget_jobs  # noqa: E402
from tests.recompute import probe, trainers  # noqa: E402

PAGE = Page(__file__)
BUDGETS = (1.0, 0.75, 0.5, 0.33)
HABITS = 0.5  # the budget of the second table
UNCOMPILED = ("deep_in_place_and_views", "evaluated_perceptron", "fed_by_workers")  # not one model's forward, or like others
PUBLISHED = [
    ("DTR's prototype", "10–35 % at 63–73 % of the peak, 15–42 % at 42–55 %; TreeLSTM 85–202 %", "Kirisame et al. 2021"),
    ("DTR in MegEngine", 'a threshold of 2.5 GB used 6 GB: "a hint, not a limit"', "MegEngine issue 482"),
    ("PyTorch's `activation_memory_budget`",
     "a fraction of saved activations, not bytes and not the peak; only under `torch.compile`", "PyTorch issue 197838")]
BACKEND = "aot_eager_decomp_partition"
Build = Callable[[], trainers.Trainer]


def compiled(build: Build, budget: float, backend: str) -> Build:
    """The job with its models compiled when they first run, under the budget."""
    def fresh() -> trainers.Trainer:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch._functorch.config.activation_memory_budget = budget
        trainer = build()
        for module in trainer.modules:
            module.forward = torch.compile(module.forward, backend=backend)  # compile() leaves torch.nn.Sequential out
        return trainer
    return fresh


def _by_hand(module: torch.nn.Module) -> None:
    module.forward = functools.partial(checkpoint, module.forward, use_reentrant=False)


def checkpointed(name: str, build: Build) -> Build:
    """The job with torch.utils.checkpoint at the segments that its model's author would choose."""
    def fresh() -> trainers.Trainer:
        trainer = build()
        model = trainer.modules[0]
        if name == "ResNet-18":
            for block in model:
                if hasattr(block, "conv2"):
                    _by_hand(block)
        elif name == "U-Net":
            for block in (model.enter, *model.down, *model.up):
                _by_hand(block)
        elif name == "DenseNet":  # torchvision's own switch
            for layer in model.modules():
                if hasattr(layer, "memory_efficient"):
                    layer.memory_efficient = True
        elif name == "LSTM":
            _by_hand(model.lstm)
        else:
            model.block = functools.partial(checkpoint, model.block, use_reentrant=False)
        return trainer
    return fresh


SEGMENTS = {"ResNet-18": "residual blocks", "U-Net": "double convolutions", "DenseNet": "torchvision's `memory_efficient`",
            "GPT": "blocks", "BERT": "blocks", "LSTM": "the LSTM"}


def bits(plain: dict[str, str], left: dict[str, str]) -> str:
    other = [key for key in plain.keys() | left.keys() if plain.get(key) != left.get(key)]
    if not other:
        return "same"
    return "**other statistics**" if all("running_" in key or "num_batches" in key for key in other) else "**other**"


def within(limit: int, build: Build) -> dict[str, str]:
    """What a job leaves that is held to so many bytes from its first on."""
    with probe.installed(smallest=1024, poison=False):
        probe.library.probe_budget(limit)
        try:
            return rescue.Measured(build).job.digests()
        finally:
            probe.library.probe_budget(0)


class Bench:
    """One job of rescue.JOBS, plain, and what is measured against it."""

    def __init__(self, name: str, rounds: int, iterations: int):
        self.name, self.build, self.rounds, self.iterations = name, rescue.JOBS[name], rounds, iterations
        self.plain = rescue.Measured(self.build)
        self.digests = self.plain.job.digests()

    def seconds(self, measured: rescue.Measured) -> float:
        return statistics.median(measured.run(self.iterations)[0])

    def against_plain(self, other: Callable[[], float]) -> float:
        """Seconds of an iteration over a plain one's, which run before and after."""
        ratios, before = [], self.seconds(self.plain)
        for _ in range(self.rounds):
            measured, after = other(), self.seconds(self.plain)
            ratios.append(2 * measured / (before + after))
            before = after
        return statistics.median(ratios)

    def stowage(self, share: float) -> str:
        """Its time against plain within a share of the plain job's peak, and its bits."""
        if share >= 1:
            return "1 (nothing to do)"
        try:
            time_ratio = self.against_plain(
                lambda: statistics.median(self.plain.rescued(share, self.iterations)[0]))
            left = within(probe.library.probe_held() + int(share * self.plain.peak), self.build)
        except torch.OutOfMemoryError:
            self.plain.job.optimizers[0].zero_grad()
            return "does not fit"
        return f"{time_ratio:.2f}, {bits(self.digests, left)} bits"

    def row(self, who: str, build: Build) -> tuple[str, ...]:
        gc.collect()
        before = probe.library.probe_held()
        try:
            peer = rescue.Measured(build)
        except RuntimeError as error:
            return self.name, who, "fails: " + str(error).split("\n")[0][:120], "", "", ""
        told = bits(self.digests, peer.job.digests())
        share = peer.peak / self.plain.peak
        time_ratio = self.against_plain(lambda: self.seconds(peer))
        del peer
        gc.collect()
        self.plain.base += probe.library.probe_held() - before  # what a compiler keeps
        return self.name, who, f"{share:.0%}", f"{time_ratio:.2f}", told, self.stowage(share)

    def rows(self, budgets: tuple[float, ...], backend: str) -> list[tuple[str, ...]]:
        peers = [(f"compiled, {budget:g} asked", compiled(self.build, budget, backend)) for budget in budgets]
        peers.append((f"by hand: {SEGMENTS[self.name]}", checkpointed(self.name, self.build)))
        rows = []
        for who, build in peers:
            rows.append(self.row(who, build))
            print(" | ".join(rows[-1]), flush=True)
        return rows


def habit(kind: str, name: str, backend: str) -> tuple[str, ...]:
    build = budget_jobs.JOBS[name]
    plain = rescue.Measured(build)
    digests, peak = plain.job.digests(), plain.peak
    del plain
    try:
        peer = rescue.Measured(compiled(build, HABITS, backend))
        seen = torch._dynamo.utils.counters
        breaks = str(sum(seen["graph_break"].values())) if seen["stats"]["unique_graphs"] else "not compiled"
        row = kind, name, f"{peer.peak / peak:.0%}", breaks, bits(digests, peer.job.digests())
    except RuntimeError as error:
        row = kind, name, "fails: " + " ".join(str(error).split("\n")[0].split()[:16]), "", ""
    print(" | ".join(row), flush=True)
    return row


def page(rows: list[tuple[str, ...]], habits: list[tuple[str, ...]], backend: str, load: float) -> str:
    failed = collections.Counter(row[2].startswith("fails") for row in habits)
    return f"""# Peers

{PAGE.origin()}

On the CPU, one thread; jobs, bytes and processor time as in
[rescue.md](rescue.md). *Compiled*: `torch.compile(backend="{backend}")` with
`torch._functorch.config.activation_memory_budget` at what was asked, a share of the activations that the compiled
forward would save; 1 is no budget. *By hand*: `torch.utils.checkpoint` (not reentrant) written into the model. *Peak*: the
most bytes the job holds, of the plain job's, parameters and optimizer state included. *Time*: an iteration's processor
time over a plain eager one's; the two take turns in one process. The backend runs PyTorch's decompositions one by one
without fusing them, so what a compiled job's budget costs is to be read against its own row at 1. *Bits*: losses,
gradients, parameters, buffers, optimizer and RNG state after three iterations against the plain job. *Stowage*: rescue
alone, under a hard limit of as many bytes as the peer's peak: its time, and its bits with the limit from the first
byte on.

{table([("job", "peer", "peak", "time", "bits", "Stowage at that peak"), *rows])}

A budget that is asked for is no limit: what is held at most follows from what is saved, from the parameters, and from what
single ops hold while they run, which nobody counts. It applies to what a compiled graph saves for its backward: the
LSTM's forward the compiler leaves as it is, so nothing changes. Bits that are others at 1 already are the compiler's
arithmetic, not the budget. By hand, batch-norm updates its running statistics once more for each recomputation, and the
model must be changed.

## What a compiled job may do

The jobs of [budget.md](budget.md) at {HABITS} asked; the model is compiled, the rest of the job is not. *Breaks*: places
where the graph ends, since the compiler cannot go on. {failed[True]} of {len(habits)} fail. Left out are those that are not
one model's forward pass. Under Stowage all of them run at 50 % of their peak but ResNet-18, with the same bits.

{table([("kind", "job", "peak", "breaks", "bits"), *habits])}

## Figures as published

Not measured here, other jobs, on GPUs. DTR's prototype is a fork of PyTorch of its time (2020) and was not run.

{table([("what", "overhead or property", "source"), *PUBLISHED])}

Machine: {machine()}; {load:.1f} processes wanted to run on it when this began (a quiet one: less than 1).
"""


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one job, one budget, few iterations")
    parser.add_argument("--backend", default=BACKEND, help="of torch.compile")
    parser.add_argument("--only", help="jobs whose name has this")
    arguments = PAGE.parse(parser, "backend", "only")
    logging.disable(logging.WARNING)
    load = os.getloadavg()[0]
    torch.set_num_threads(1)
    probe.library.probe_budget(0)
    names = [name for name in rescue.JOBS if not arguments.only or arguments.only in name]
    habits = [one for one in budget_jobs.DEEP.items() if one[1] not in UNCOMPILED]
    rounds, iterations, budgets = 3, 2, BUDGETS
    if arguments.quick:
        names, habits, rounds, iterations, budgets = ["U-Net"], habits[:1], 1, 1, (HABITS,)
    rows = [row for name in names for row in Bench(name, rounds, iterations).rows(budgets, arguments.backend)]
    found = [habit(kind, name, arguments.backend) for kind, name in habits] if not arguments.only else []
    PAGE.write(arguments, page(rows, found, arguments.backend, load))


if __name__ == "__main__":
    main()
