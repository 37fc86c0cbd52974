"""Runs of `stowage place`, and the problems they are of.

Every placement is checked by the independent validator before the program says it. Seconds are of solving, without
reading and writing files.
"""

import csv
import json
import os
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass, field

from benchmarks.planner.sections.minimalloc import Minimalloc

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("STOWAGE_BUILD", ROOT / "build"))
INSTANCES = ROOT / "benchmarks" / "instances"
CAPACITY = 1048576
CHALLENGING = "ABCDEFGHIJK"

Run = dict  # what `stowage place --json` says


@dataclass
class Settings:
    quick: bool = False  # a few short runs, to see that it works
    threads: int = 2
    seeds: int = 20
    minimalloc: Minimalloc | None = None
    folder: tempfile.TemporaryDirectory = field(default_factory=lambda: tempfile.TemporaryDirectory(prefix="placement-"))

    def made(self, name: str) -> pathlib.Path:
        """Where a problem that is made for this run lies."""
        return pathlib.Path(self.folder.name) / name


def challenging(name: str) -> pathlib.Path:
    return INSTANCES / f"{name}.{CAPACITY}.csv"


def gpt(settings: Settings, buffers: int, lengths: str) -> pathlib.Path:
    """The trace of a GPT of 24 blocks in micro-batches of the same or of varied lengths."""
    path = settings.made(f"gpt_{buffers}_{lengths}.stowtrace")
    if not path.exists():
        program = BUILD / "benchmarks" / "planner" / "planner_make_trace"
        subprocess.run([program, str(buffers), "24", lengths, path], check=True)
    return path


def gapped(settings: Settings) -> pathlib.Path:
    """minimalloc's D, in which each buffer that lives long needs nothing in the middle third of its life."""
    path = settings.made("D_gapped.csv")
    with challenging("D").open() as source, path.open("w") as file:
        file.write("id,lower,upper,size,gaps\n")
        for row in csv.DictReader(source):
            lower, upper = int(row["lower"]), int(row["upper"])
            third = (upper - lower) // 3072 * 1024
            gap = f"{lower + third}-{upper - third}" if third else ""
            file.write(f"{row['id']},{lower},{upper},{row['size']},{gap}\n")
    return path


def place(settings: Settings, problem: pathlib.Path, *options: str) -> Run | None:
    """None if the limits were over before there was any placement."""
    program = BUILD / "replay" / "stowage-replay"
    command = [program, "place", str(problem), "--json", "--output", "none", "--threads", str(settings.threads), *options]
    done = subprocess.run(command, text=True, capture_output=True, timeout=600)
    if "ran out of time before its first result" in done.stderr:
        return None
    if done.returncode not in (0, 3, 4):
        raise SystemExit(f"stowage place {problem.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def ratio(run: Run | None) -> float:
    """Height over bound; infinite if there is no placement."""
    return run["height"] / run["lower_bound"] if run else float("inf")
