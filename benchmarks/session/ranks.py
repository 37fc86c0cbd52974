"""What the ranks of a job exchange to share a plan, and how long that takes.

    python benchmarks/session/ranks.py            # its figures
    python benchmarks/session/ranks.py --quick    # does it work?
    python benchmarks/session/ranks.py --write    # and writes docs/results/ranks.md

Each rank is a thread of ranks_probe with a connection of its own to one TCPStore, the store that torchrun's jobs have. It
does what a session's planner does: the first to claim makes the plans, of a trace with the sizes of a real job, and the
others look for them. What a job of 1,000 ranks takes is calculated; the same formula stands beside what was measured.
"""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.pages import Page, machine, table
from tests.zoo import simulated

PAGE = Page(__file__)
JOBS = {"resnet50": "ResNet-50", "gpt2": "GPT-2 small", "micro_batches": "GPT, micro-batches"}
RANKS = (2, 4, 8)
MANY = (64,)  # on one machine
CALCULATED = 1000
BYTES_PER_S = 1e9  # of a network of about 10 Gbit/s
# As in session/ranks/exchange.h, in ms.
FIRST_LOOK, FOR_EACH_RANK, SLOWER = 1.0, 0.05, 0.125


def measure(job: str, repeats: int, ranks: tuple[int, ...]) -> dict:
    program = simulated.build_folder() / "benchmarks" / "session" / "ranks_probe"
    done = subprocess.run([program, job, str(repeats), *map(str, ranks)], text=True, capture_output=True, timeout=900)
    if done.returncode != 0:
        raise SystemExit(f"{program} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def looks_until(ready_ms: float, ranks: int) -> tuple[int, float]:
    """How often a rank looks until what is there after `ready_ms` is found, and how long after that it is."""
    first = FIRST_LOOK + FOR_EACH_RANK * ranks
    looks, now = 1, 0.0
    while now < ready_ms:
        now += max(first, now * SLOWER)
        looks += 1
    return looks, now - ready_ms


def calculated(found: dict, ranks: int) -> dict[str, float]:
    """The last rank has the plans once it looked again, behind the answers to all others. Each rank asks the server to
    connect, twice, to claim, to look, and to wait for and get the plans."""
    looks, late_ms = looks_until(found["planning_ms"], ranks)
    asked = (ranks - 1) * (looks + 5)
    behind_ms = (ranks - 1) * (3 / found["looks_per_s"] + found["plan_bytes"] / BYTES_PER_S) * 1000
    return {"looks": looks, "sent": (ranks - 1) * found["plan_bytes"], "asked": asked,
            "server_ms": asked / found["looks_per_s"] * 1000,
            "last_ms": late_ms + behind_ms}


def kib(count: float) -> str:
    return f"{count / 1024:,.1f} KiB" if count < 2**20 else f"{count / 2**20:,.1f} MiB"


def jobs_table(found: list[dict]) -> str:
    rows = [("job", "allocations", "encoded plan", "planning", "decoding and checking", "connecting",
             "answers of the store")]
    for one in found:
        rows.append((JOBS[one["job"]], f"{one['allocations']:,}", kib(one["plan_bytes"]),
                     f"{one['planning_ms']:.1f} ms",
                     f"{one['check_ms']:.2f} ms", f"{one['connect_ms']:.1f} ms",
                     f"{one['looks_per_s']:,.0f} a second"))
    return table(rows)


def ranks_table(found: list[dict]) -> str:
    rows = [("job", "ranks", "sent in all", "looks of a rank", "half of the ranks have it after", "all of them after",
             "calculated: looks", "all of them after")]
    for one in found:
        for row in one["rows"]:
            sums = calculated(one, row["ranks"])
            rows.append((JOBS[one["job"]], str(row["ranks"]), kib(sums["sent"]), f"{row['looks']:.0f}",
                         f"{row['median_ms']:.1f} ms", f"{row['last_ms']:.1f} ms", str(sums["looks"]),
                         f"{sums['last_ms']:.1f} ms"))
    return table(rows)


def calculated_table(found: list[dict]) -> str:
    rows = [("job", "ranks", "sent in all", "looks of a rank", "requests to the store", "its time for them",
             "all of them have it after")]
    for one in found:
        sums = calculated(one, CALCULATED)
        rows.append((JOBS[one["job"]], f"{CALCULATED:,}", kib(sums["sent"]), str(sums["looks"]), f"{sums['asked']:,}",
                     f"{sums['server_ms']:.0f} ms", f"{sums['last_ms']:.0f} ms"))
    return table(rows)


def page(found: list[dict]) -> str:
    return f"""# What ranks exchange

{PAGE.origin()}

Ranks that do the same make their plans once ([session.md](../session.md#plans-among-ranks)). Each rank here is a
thread with a connection of its own to one TCPStore and does what a session's planner does.

{jobs_table(found)}

"GPT, micro-batches" has 24 blocks and micro-batches of varying length.
"Encoded plan" is what one rank sends, and what each other rank gets. "Decoding and checking" is what it takes there to
read it as a hostile file and to validate the placement. "Connecting" is the median; PyTorch looks up names of
hosts meanwhile, which takes seconds now and then where no server knows them.

{ranks_table(found)}

Times run from the moment at which the plans are made. All ranks beside the one that plans wait in the background; no
training thread does. {MANY[0]} ranks share the machine's cores with the store, as on no cluster.

## Calculated for {CALCULATED:,} ranks

{calculated_table(found)}

With N ranks, a plan of B bytes that is ready T after the claims, and a store that gives C answers a second:

- A rank looks at once, then after f = {FIRST_LOOK:.0f} ms + {FOR_EACH_RANK * 1000:.0f} µs · N, and from 8 f on each time
  after another {SLOWER:.1%} of the time so far. So L looks find it, and the last one comes at most max(f, T / 8) late.
- The store is asked (N − 1) · (L + 5) times: to connect (2), to claim, to look (L), to wait for the plans and to get them.
- It sends (N − 1) · B bytes.
- The last rank has them when it has looked again, and the store has answered what all others then ask, at
  {BYTES_PER_S / 1e9:.0f} GB/s: + (N − 1) · (3 / C + B / 1 GB/s).

Machine: {machine()}.
"""


def main() -> None:
    parser = PAGE.parser(__doc__, quick="one job, few ranks")
    parser.add_argument("--repeats", type=int, default=15)
    options = PAGE.parse(parser, "repeats")
    if options.quick:
        found = [measure("resnet50", 1, RANKS[:2])]
    else:
        found = [measure(job, options.repeats, RANKS + MANY) for job in JOBS]
    shown = page(found)
    print(shown)
    PAGE.write(options, shown)


if __name__ == "__main__":
    main()
