"""Rescue alone under a budget: time against plain, split into recomputation and bookkeeping; and the least budget that does.

    python benchmarks/recompute/rescue.py            # its figures
    python benchmarks/recompute/rescue.py --quick    # one job, few iterations: does it work?
    python benchmarks/recompute/rescue.py --write    # and writes docs/results/rescue.md
    python benchmarks/recompute/rescue.py --counted  # what ran again, without plain iterations: for a loaded machine

Small models with large batches, so that activations are most of what is held, on one thread. The budget is a share of the
most bytes that the plain job holds: parameters, gradients, optimizer state and activations. Plain and rescued iterations
take turns in one process; what is compared is the thread's processor time. Recomputation is the share of the time that ops
take that run again; bookkeeping is what remains of the difference.
"""

import gc
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
BUILD = pathlib.Path(os.environ.get("STOWAGE_BUILD", ROOT / "build"))
os.environ.setdefault("STOWAGE_RECOMPUTE_PROBE", str(BUILD / "tests" / "recompute" / "librecompute_probe.so"))
sys.path.insert(0, str(ROOT / "python"))

import torch
from torch import nn

from benchmarks.pages import Page, machine, table
from tests.recompute import jobs, probe
from tests.zoo.unet import UNet

PAGE = Page(__file__)
SHARES = (0.75, 0.66, 0.5)
LEAST = (0.45, 0.4, 0.35, 0.33, 0.3, 0.25, 0.2, 0.15)
WARM = 4  # iterations until choices repeat
PERIOD = 4  # iterations that may differ: then they come again


def _vision(model: nn.Module, batch: int, side: int) -> jobs.Trainer:
    return jobs._supervised(model, *jobs._images(batch, side))


def resnet18() -> jobs.Trainer:
    """At a quarter of the width."""
    return _vision(jobs._small_resnet18(16), 128, 64)


def unet() -> jobs.Trainer:
    images, _ = jobs._images(4, 64)
    return jobs._supervised(UNet(8, 2), images, (images[:, 0] > 0).long())


def densenet() -> jobs.Trainer:
    from torchvision.models import DenseNet
    return _vision(DenseNet(growth_rate=8, block_config=(4, 4, 4), num_init_features=16, num_classes=5), 16, 64)


def _transformer(causal: bool) -> jobs.Trainer:
    model = jobs._Transformer(causal=causal, tied=False, width=64, layers=6)
    ids = torch.randint(23, (8, 96))
    return jobs._supervised(model, ids, ids.roll(-1, 1), torch.optim.AdamW(model.parameters(), lr=1e-3), jobs.token_loss)


def lstm() -> jobs.Trainer:
    model = jobs._Lstm()
    ids = torch.randint(23, (128, 32))
    return jobs._supervised(model, ids, ids.roll(-1, 1), None, jobs.token_loss)


class Experts(nn.Module):
    """Each row goes to one of eight, which get different shares of the rows in every iteration."""

    def __init__(self, width: int):
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(width), nn.Linear(width, 8)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                                     for _ in range(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.norm(x)
        weights, chosen = self.gate(normed).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(1)
            out = out.index_add(0, rows, expert(normed[rows]) * weights[rows, None])
        return x + out


def _stepper(model: nn.Module, loss_of: Callable[[int], torch.Tensor]) -> jobs.Trainer:
    """With data of its own in each iteration."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step(i: int) -> list[float]:
        optimizer.zero_grad()
        loss = loss_of(i)
        loss.backward()
        optimizer.step()
        return [loss.item()]
    return jobs.Trainer([model], [optimizer], step)


def experts() -> jobs.Trainer:
    model = nn.Sequential(nn.Linear(64, 64), *(Experts(64) for _ in range(4)), nn.Linear(64, 64))

    def loss(_: int) -> torch.Tensor:
        rows = torch.randn(4096, 64)
        return (model(rows) - rows.roll(1, 1)).square().mean()
    return _stepper(model, loss)


def varying_lengths() -> jobs.Trainer:
    embed, gru, head = nn.Embedding(64, 64), nn.GRU(64, 64, 2, batch_first=True, dropout=0.2), nn.Linear(64, 64)
    model = nn.ModuleList([embed, gru, head])

    def loss(i: int) -> torch.Tensor:
        words = torch.randint(64, (128, (24, 40, 32, 36)[i % PERIOD]))
        return nn.functional.cross_entropy(head(gru(embed(words))[0]).flatten(0, 1), words.flatten())
    return _stepper(model, loss)


JOBS = {"ResNet-18": resnet18, "U-Net": unet, "DenseNet": densenet, "GPT": lambda: _transformer(True),
        "BERT": lambda: _transformer(False), "LSTM": lstm, "mixture of experts": experts,
        "GRU, lengths vary": varying_lengths}


class Measured:
    """A job, the bytes it holds and the bytes that were held before it; it has run for some iterations."""

    def __init__(self, build: Callable[[], jobs.Trainer]):
        gc.collect()
        torch.manual_seed(1)
        self.base = probe.library.probe_held()
        self.job, self.number = build(), 0
        self.run(2)
        probe.library.probe_peak(1)
        self.run(PERIOD)
        self.peak = probe.library.probe_peak(1) - self.base

    def run(self, iterations: int) -> tuple[list[float], float]:
        """Processor seconds of each, and wall seconds of all."""
        times, start = [], time.perf_counter()
        for _ in range(iterations):
            begin = time.thread_time()
            self.job.step(self.number)
            probe.library.probe_end_iteration()
            times.append(time.thread_time() - begin)
            self.number += 1
        return times, time.perf_counter() - start

    def rescued(self, share: float, iterations: int) -> tuple[list[float], float, dict[str, int]]:
        """run() under a share of the peak, and what was counted in it. OutOfMemoryError if it does not fit."""
        gc.collect()
        limit = self.base + int(share * self.peak)
        with probe.installed(smallest=1024, poison=False):
            try:
                self.run(1)  # history begins
                probe.library.probe_budget(limit)
                self.run(WARM)
                before = probe.counters()
                probe.library.probe_peak(1)
                times, wall = self.run(iterations)
                counted = {name: value - before[name] for name, value in probe.counters().items()}
                if probe.library.probe_peak(1) > limit:
                    raise SystemExit("the limit was not held")
            finally:
                probe.library.probe_budget(0)
        return times, wall, counted


def weigh(measured: Measured, share: float, rounds: int, iterations: int) -> dict | None:
    """Null if the job does not fit."""
    totals, recomputed, searched, replays = [], [], [], 0
    for _ in range(rounds):
        plain = statistics.median(measured.run(iterations)[0])
        try:
            times, wall, counted = measured.rescued(share, iterations)
        except torch.OutOfMemoryError:
            measured.job.optimizers[0].zero_grad()
            return None
        plain = (plain + statistics.median(measured.run(iterations)[0])) / 2
        totals.append(statistics.median(times) / plain)
        recomputed.append(counted["replay_ns"] / 1e9 / wall * totals[-1])
        searched.append(counted["search_ns"] / 1e9 / wall * totals[-1])
        replays = counted["replays"] // iterations
    total, again = statistics.median(totals), statistics.median(recomputed)
    return {"total": total, "recompute": again, "bookkeeping": total - 1 - again, "search": statistics.median(searched),
            "replays": replays}


def count(measured: Measured, share: float, runs: int) -> dict | None:
    """Host time of ops run again and of the search over that of the job's own ops, medians. Null if it does not fit."""
    try:
        done = [measured.rescued(share, 1)[2] for _ in range(runs)]
    except torch.OutOfMemoryError:
        measured.job.optimizers[0].zero_grad()
        return None
    again, search = (statistics.median(one[key] / one["ops_ns"] for one in done) for key in ("replay_ns", "search_ns"))
    return {"again": again, "search": search, "replays": statistics.median(one["replays"] for one in done)}


def least_share(measured: Measured) -> float:
    fits = 1.0
    for share in (*SHARES, *LEAST):
        try:
            measured.rescued(share, 1)
        except torch.OutOfMemoryError:
            measured.job.optimizers[0].zero_grad()
            break
        fits = share
    return fits


def row(name: str, peak: int, found: dict[float, dict | None], least: float | None) -> tuple[str, ...]:
    cells = [name, f"{peak / 2**20:.0f} MiB"]
    for share in SHARES:
        one = found.get(share)
        cells.append("does not fit" if one is None else
                     f"{one['total']:.2f} = 1 + {one['recompute']:.2f} + {one['bookkeeping']:.2f}; {one['replays']} ops")
    return *cells, "" if least is None else f"{least:.0%}"


def counted_row(name: str, counted: dict[float, dict | None]) -> tuple[str, ...]:
    told = ("does not fit" if one is None else f"{one['again']:.2f}; {one['replays']:.0f}" for one in counted.values())
    return name, *told


def page(rows: list[tuple[str, ...]], counted: dict[str, dict[float, dict | None]]) -> str:
    shares = [f"{share:.0%}" for share in SHARES]
    tried = ", ".join([*shares, *(f"{share:.0%}" for share in LEAST)])
    searches = [100 * one["search"] for shares_of in counted.values() for one in shares_of.values() if one] or [0.0]
    return f"""# Rescue alone: overhead under a budget

{PAGE.origin()}

Models of modest width on one thread, at batches at
which activations are most of what is held (as where memory is short), under a hard limit of a share
of all that the plain job holds at most, parameters and optimizer state included. Time of an iteration against plain
= 1 + recomputation + bookkeeping; then the ops that ran again an iteration. Processor time of the
thread; plain and rescued iterations take turns in one process. Goal:
at 66 % a total of 1.30, at 50 % of 1.60, bookkeeping 0.05.
The last column is the smallest share that ran, among {tried}.

{table([("job", "plain peak", *shares, "least"), *rows])}

## What runs again

Host time of ops run again over that of the job's own in the same iterations (median of several runs), so that load on the
machine tells little; then the ops. The search for what to evict took {min(searches):.1f} to {max(searches):.1f} % of the
job's ops.

{table([("job", *shares), *(counted_row(name, found) for name, found in counted.items())])}

ResNet-18 at 66 % has to evict four gradients while the stem's batch-norm runs backward; the first that comes back costs the
passes behind it, the others little more. At 50 % it does not fit for one op: that backward holds four times its 8 MiB at
once (input, gradient, result and PyTorch's own workspace). The LSTM fits at 50 % in some runs (down to 40 % in
one) and not in others: what is evicted first depends on measured op cost.

Machine: {machine()}.
"""


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one job, few iterations")
    parser.add_argument("--counted", action="store_true", help="only count what runs again")
    parser.add_argument("--only", help="jobs whose name has this")
    parser.add_argument("--no-least", action="store_true", help="leave out the last column")
    arguments = PAGE.parse(parser, "counted", "only", "no_least")
    torch.set_num_threads(1)
    probe.library.probe_budget(0)
    names = [name for name in JOBS if not arguments.only or arguments.only in name]
    rounds, iterations, runs = (1, PERIOD, 1) if arguments.quick else (3, PERIOD, 5)
    rows, counted = [], {}
    for name in names[:1] if arguments.quick else names:
        measured = Measured(JOBS[name])
        counted[name] = {share: count(measured, share, runs) for share in SHARES}
        print(counted_row(name, counted[name]), flush=True)
        if not arguments.counted:
            found = {share: weigh(measured, share, rounds, iterations) for share in SHARES}
            least = None if arguments.quick or arguments.no_least else least_share(measured)
            rows.append(row(name, measured.peak, found, least))
            print(rows[-1], {share: one and f"search {one['search']:.3f}" for share, one in found.items()}, flush=True)
        del measured  # before the next is weighed
    PAGE.write(arguments, page(rows, counted))


if __name__ == "__main__":
    main()
