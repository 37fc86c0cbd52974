"""What the interposer costs an op when nothing is evicted, and what it costs when it is not installed.

    python benchmarks/recompute/op_cost.py            # its figures
    python benchmarks/recompute/op_cost.py --quick    # does it work?
    python benchmarks/recompute/op_cost.py --write    # and writes docs/results/op_cost.md
    python benchmarks/recompute/op_cost.py --only NAME --profile 200    # one kind, installed, 200 times: for callgrind

Bursts without and with the runtime take turns in one thread of one process. What is timed is the thread's processor time;
the cost is the difference of a pair of bursts by the number of ops: calls of ATen operators below composites, views among
them, as a dispatch mode of PyTorch's counts them. So it does not depend on what the interposer looks at.
"""

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
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks import paired
from benchmarks.pages import Page, machine, table
from tests.recompute import jobs, probe

PAGE = Page(__file__)
BAR_NS = 2000
Work = Callable[[], None]


def repeated(op: Callable, times: int = 100) -> Work:
    def work() -> None:
        for _ in range(times):
            op()
    return work


def chained(op: Callable, start: torch.Tensor, length: int = 20, times: int = 5) -> Work:
    """Each op reads what the one before made, as in a job."""
    def work() -> None:
        for _ in range(times):
            x = start
            for _ in range(length):
                x = op(x)
    return work


def job(trainer: jobs.Trainer) -> Work:
    def work() -> None:
        trainer.step(0)
        probe.library.probe_end_iteration()
    return work


def transformer() -> jobs.Trainer:
    ids = torch.randint(23, (2, 10))
    model = jobs._Transformer(causal=True, tied=False)
    return jobs._supervised(model, ids, ids.roll(-1, 1), torch.optim.AdamW(model.parameters(), lr=1e-3), jobs.token_loss)


def perceptron() -> jobs.Trainer:
    model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(16, 16), nn.ReLU())))
    return jobs._supervised(model, torch.randn(4, 16), torch.randint(16, (4,)))


def optimizer_step() -> Work:
    parameters = [nn.Parameter(torch.randn(8, 8)) for _ in range(20)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return repeated(torch.optim.AdamW(parameters, lr=1e-3, foreach=True).step, 3)


def kinds() -> dict[str, Work]:
    x, y, w, bias = torch.randn(8, 8), torch.randn(8, 8), torch.randn(8, 8), torch.randn(8)
    gain = torch.ones(8)
    own = torch.randn(8, 8) * 1
    return {
        "add of two tensors": chained(lambda t: t + y, x),
        "add in place": repeated(lambda: own.add_(y)),
        "view": repeated(lambda: x.view(64)),
        "addmm": chained(lambda t: torch.addmm(bias, t, w), x),
        "layer norm (three results)": chained(lambda t: torch.native_layer_norm(t, [8], gain, bias, 1e-5)[0], x),
        "cat of four (list)": repeated(lambda: torch.cat([x, y, w, x])),
        "dropout (random)": chained(lambda t: F.dropout(t, 0.1), x),
        "AdamW, foreach": optimizer_step(),
        "MLP, whole iteration": job(perceptron()),
        "CNN, whole iteration": job(jobs.JOBS["cnn_batch_norm_in_place"]()),
        "GPT, whole iteration": job(transformer()),
    }


def processor_ns(work: Work, times: int) -> int:
    begin = time.thread_time_ns()
    for _ in range(times):
        work()
    return time.thread_time_ns() - begin


class OpCount(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.ops = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ops += 1
        return func(*args, **(kwargs or {}))


def ops_of(work: Work) -> int:
    with OpCount() as count:
        work()
    return count.ops


def weigh(work: Work, rounds: int, times: int) -> dict[str, float]:
    """Nanoseconds per op: plain, and the median and quartiles of what is added."""
    plain, added = [], []
    work()
    ops = ops_of(work) * times
    for _ in range(rounds):
        alone = processor_ns(work, times)
        with probe.installed(smallest=1024, poison=False):
            work()
            seen = processor_ns(work, times)
            probe.library.probe_end_iteration()
        plain.append(alone / ops)
        added.append((seen - alone) / ops)
    low, middle, high = statistics.quantiles(added, n=4) if rounds > 1 else added * 3
    return {"plain": statistics.median(plain), "added": middle, "low": low, "high": high}


def weigh_absence(rounds: int, times: int) -> dict[str, float]:
    """An iteration of the GPT after a budget was needed and is not any more, against one before: a ratio."""
    work = job(transformer())
    for _ in range(3):
        work()
    before = [processor_ns(work, times) for _ in range(rounds)]
    with probe.installed(poison=False):
        work()
    return paired.ratio([processor_ns(work, times) for _ in range(rounds)], before)


def page(found: dict[str, dict[str, float]], absence: dict[str, float]) -> str:
    rows = [("kind of op", "plain, ns per op", "added, ns per op (quartiles)")]
    rows += [(name, f"{f['plain']:.0f}", f"{f['added']:.0f} ({f['low']:.0f}–{f['high']:.0f})") for name, f in found.items()]
    return f"""# Nothing evicted: cost per op

{PAGE.origin()}

Bursts without and with the runtime take turns in one thread; the thread's
processor time, by the number of ATen ops below composites, views included. Tiny tensors, so that plain is little else
than PyTorch's own work per op. Bar: {BAR_NS} ns.

{table(rows)}

Not installed (after a budget was needed and is not any more) against never installed, an iteration of the GPT:
{paired.text(absence)}. Machine: {machine()}.
"""


def main() -> None:
    parser = PAGE.parser(__doc__, quick="few repeats")
    parser.add_argument("--only", help="kinds whose name has this")
    parser.add_argument("--profile", type=int, default=0, help="run the first such kind installed, so many times, and end")
    arguments = PAGE.parse(parser, "only", "profile")
    if arguments.only and arguments.out:
        parser.error("--only leaves no page to write")
    torch.set_num_threads(1)
    rounds, times = (2, 2) if arguments.quick else (15, 20)
    absence = weigh_absence(rounds, times) if not arguments.only else {}
    chosen = {name: work for name, work in kinds().items() if not arguments.only or arguments.only in name}
    if arguments.profile:
        with probe.installed(smallest=1024, poison=False):
            return print(processor_ns(next(iter(chosen.values())), arguments.profile))
    found = {}
    for name, work in chosen.items():
        found[name] = weigh(work, rounds, times)
        print(f"{name:28} plain {found[name]['plain']:7.0f}  added {found[name]['added']:7.0f} ns per op", flush=True)
    if arguments.only:
        return
    print("within the bar" if max(f["added"] for f in found.values()) <= BAR_NS else "The bar is MISSED")
    PAGE.write(arguments, page(found, absence))


if __name__ == "__main__":
    main()
