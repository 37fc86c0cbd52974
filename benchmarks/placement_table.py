"""Placement in figures: the table of docs/results/placement.md, through the command `stowage place`.

    .venv/bin/python benchmarks/placement_table.py --write    # some minutes
    .venv/bin/python benchmarks/placement_table.py --quick    # does it work

Every placement is checked by the independent validator before the program says it. Seconds are of solving, without
reading and writing files. The figures of minimalloc were measured beforehand on 2 cores; they are quoted, not rerun.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("STOWAGE_BUILD", ROOT / "build"))
INSTANCES = ROOT / "benchmarks" / "instances"
CAPACITY = 1048576
# Seconds of minimalloc (HEAD 9f5cf81, -O3, one thread) at that capacity.
MINIMALLOC = {"A": 5.670, "B": 5.022, "C": 0.785, "D": 4.357, "E": 3.672, "F": 5.442, "G": 1.109, "H": 1.623, "I": 3.780,
              "J": 1.515, "K": 0.507}
REACHABLE = set(MINIMALLOC) - {"D", "J"}  # where the bound is known to be reached


def place(problem: pathlib.Path, *options: str) -> dict:
    program = BUILD / "replay" / "stowage-replay"
    done = subprocess.run([program, "place", str(problem), "--json", "--output", "none", "--threads", "2", *options],
                          text=True, capture_output=True, timeout=300)
    if done.returncode not in (0, 3, 4):
        raise SystemExit(f"stowage place {problem.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def challenging(names: list[str], seeds: int, limit: float) -> list[dict]:
    rows = []
    for name in names:
        runs = [place(INSTANCES / f"{name}.{CAPACITY}.csv", "--capacity", str(CAPACITY), "--seed", str(seed),
                      "--time-limit", str(limit)) for seed in range(1, seeds + 1)]
        rows.append({"name": name, "n": runs[0]["n"], "bound": runs[0]["lower_bound"],
                     "seconds": sorted(run["seconds"] for run in runs), "failed": sum(not run["fits"] for run in runs)})
    return rows


def lowest(names: list[str], limit: float) -> list[dict]:
    return [{"name": name} | place(INSTANCES / f"{name}.{CAPACITY}.csv", "--time-limit", str(limit)) for name in names]


def capacity_lines(rows: list[dict]) -> list[str]:
    lines = ["| problem | buffers | least | median | most | failed | minimalloc | minimalloc ÷ median |",
             "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        seconds, theirs = row["seconds"], MINIMALLOC[row["name"]]
        middle = statistics.median(seconds)
        lines.append(f"| {row['name']} | {row['n']} | {seconds[0]:.3f} | {middle:.3f} | {seconds[-1]:.3f} | "
                     f"{row['failed']} | {theirs:.3f} | {theirs / middle:.0f} |")
    total, theirs = sum(statistics.median(row["seconds"]) for row in rows), sum(MINIMALLOC[row["name"]] for row in rows)
    lines.append(f"| sum |  |  | {total:.3f} | {sum(row['seconds'][-1] for row in rows):.3f} | "
                 f"{sum(row['failed'] for row in rows)} | {theirs:.1f} | {theirs / total:.0f} |")
    return lines


def height_lines(rows: list[dict]) -> list[str]:
    lines = ["| problem | height | lower bound | height ÷ bound | proved | technique | seconds |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row['name']} | {row['height']} | {row['lower_bound']} | "
                     f"{row['height'] / row['lower_bound']:.4f} | {'yes' if row['proved'] else 'no'} | "
                     f"{row['technique']} | {row['seconds']:.2f} |")
    return lines


def ablation_lines(names: list[str], seeds: int, limit: float) -> list[str]:
    """How the capacity runs fare, and what heights a short search reaches, with a technique left out."""
    lines = [f"| without | solved at capacity | sum of medians, s | mean height ÷ bound after {limit:g} s |",
             "|---|---|---|---|"]
    for without in ("", "exact", "bisect", "boosting", "windows", "proofs"):
        options = ["--without", without] if without else []
        runs, ratios = [], []
        for name in names:
            problem = INSTANCES / f"{name}.{CAPACITY}.csv"
            capacity = ("--capacity", str(CAPACITY), "--time-limit", str(limit), *options)
            runs.append([place(problem, *capacity, "--seed", str(seed)) for seed in range(1, seeds + 1)])
            best = place(problem, "--time-limit", str(limit), *options)
            ratios.append(best["height"] / best["lower_bound"])
        solved = sum(run["fits"] for row in runs for run in row)
        total = sum(statistics.median(run["seconds"] for run in row) for row in runs)
        lines.append(f"| {without or 'nothing'} | {solved} of {seeds * len(names)} | {total:.2f} | "
                     f"{statistics.mean(ratios):.4f} |")
    return lines


def ratio(run: dict) -> str:
    return f"{run['height'] / run['lower_bound']:.5f} in {run['seconds']:.2f} s{', proved' if run['proved'] else ''}"


def verdict_lines(fast: list[dict], low: list[dict], resnet: dict, s_1: dict) -> list[str]:
    medians = [statistics.median(row["seconds"]) for row in fast]
    heights = {row["name"]: row["height"] / row["lower_bound"] for row in low}
    reached = sum(heights[name] <= 1 for name in heights if name in REACHABLE)
    open_ones = ", ".join(f"{name} {heights[name]:.4f}" for name in heights if name not in REACHABLE)
    return [
        "| work | bar | goal | measured |", "|---|---|---|---|",
        "| A–K at capacity 1,048,576 | each < 1 s, sum < 3 s, no seed fails | each median < 50 ms, sum < 0.3 s | "
        f"medians up to {max(medians):.3f} s, sum {sum(medians):.3f} s, "
        f"slowest run {max(row['seconds'][-1] for row in fast):.3f} s, "
        f"{sum(row['failed'] for row in fast)} failed |",
        "| least height in 10 s on those | at the bound wherever it is reachable; D ≤ 1.0145, J ≤ 1.035 | "
        "D and J ≤ 1.005 or proved | "
        f"{reached} of {sum(name in REACHABLE for name in heights)} at the bound; {open_ones} |",
        f"| 1,042 buffers (SOMAS ResNet-50) | bound in < 0.5 s | < 50 ms | {ratio(resnet)} |",
        f"| 28,526 buffers (iopddl S_1) | ≤ 1.025 in 5 s | ≤ 1.01 | {ratio(s_1)} |",
    ]


def page(quick: bool) -> str:
    names = ["A", "K"] if quick else sorted(MINIMALLOC)
    fast = challenging(names, 2 if quick else 20, 10)
    low = lowest(names, 0.2 if quick else 10)
    resnet = place(INSTANCES / "somas_resnet50.csv", "--time-limit", "2")
    s_1 = place(INSTANCES / "iopddl_S_1.csv", "--time-limit", "0.5" if quick else "5")
    ablation = ablation_lines(["A"] if quick else ["A", "D", "E", "K"], 1 if quick else 3, 0.2 if quick else 1)
    return "\n".join([
        "# Placement: figures", "",
        "Made by `benchmarks/placement_table.py`. Two threads; seconds are of solving alone, every placement is validated",
        f"within them. Measured on {os.cpu_count()} processors with a load of {os.getloadavg()[0]:.1f}: what else ran",
        "there is in the times.", "", *verdict_lines(fast, low, resnet, s_1), "",
        "## A to K at capacity 1,048,576", "",
        f"Seconds over {2 if quick else 20} seeds. minimalloc: HEAD 9f5cf81, -O3, one thread, measured on another day;",
        "quoted.", "", *capacity_lines(fast), "",
        "## The least height in 10 s", "", *height_lines(low), "",
        "## Ablation", "", "Each technique left out in turn, on A, D, E and K, 3 seeds.", "", *ablation, "",
        "The problems are minimalloc's (Apache-2.0) and idealloc's (MIT), in `benchmarks/instances/`. Rerun:", "",
        "    .venv/bin/python benchmarks/placement_table.py --write", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few short runs; does it work")
    parser.add_argument("--write", action="store_true", help="write docs/results/placement.md")
    options = parser.parse_args()
    text = page(options.quick)
    print(text)
    if options.write:
        (ROOT / "docs" / "results" / "placement.md").write_text(text)


if __name__ == "__main__":
    main()
