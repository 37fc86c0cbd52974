"""`stowage bisect`: finds out why a job's bits differ under Stowage, and names the op.

A job is run plain twice, since only one that repeats itself can be judged. Then each op's recipe is replayed at once
(STOWAGE_VERIFY). If all are right, evictions are forced at random (STOWAGE_EVICT) until a seed makes other bits; its
evictions are numbered, and bisected: first to the number of the last that is needed, then of the first. What is compared is
a digest after each optimizer step (_trail.py), and the exit status.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from stowage import _trail
from stowage._library import StowageError

WRONG = ("a recipe that is replayed at once", "a restored tensor of", "eviction ")  # what the library's findings begin with


@dataclasses.dataclass
class Outcome:
    status: int
    steps: list[_trail.Step]
    different: bool  # its bits, before it was ended for that
    messages: str
    seconds: float

    @property
    def choices(self) -> int:
        return self.steps[-1].choices if self.steps else 0

    def findings(self) -> list[str]:
        """Those of the library's messages that name an op, whole."""
        found: list[str] = []
        for line in self.messages.splitlines():
            text = line.removeprefix("stowage: ").removeprefix("warning: ")
            if text is not line and text.startswith(WRONG):
                found.append(text)
            elif found and line.startswith("  "):
                found[-1] += "\n" + line
        return found


class Job:
    """A command that is run again and again, with other settings of Stowage each time."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: pathlib.Path):
        self._command, self._environment, self._folder = command, environment, folder
        self._reference = folder / "plain.trail"
        self.plain = self._run({"STOWAGE": "0"}, self._reference, None, None)

    def _run(self, settings: dict[str, str], trail: pathlib.Path, reference: pathlib.Path | None,
             limit: float | None) -> Outcome:
        asked = os.pathsep.join((str(os.getpid()), str(trail), str(reference or "")))
        environment = self._environment | settings | {_trail.VARIABLE: asked}
        began = time.monotonic()
        try:
            done = subprocess.run(self._command, env=environment, capture_output=True, text=True, errors="replace",
                                  timeout=limit)
            status, messages = done.returncode, done.stderr
        except subprocess.TimeoutExpired as late:
            status, messages = -1, (late.stderr or b"").decode(errors="replace")
        steps, different = _trail.read(trail)
        if trail != self._reference:
            trail.unlink(missing_ok=True)
        return Outcome(status, steps, different, messages, time.monotonic() - began)

    def run(self, **settings: str) -> Outcome:
        """With Stowage; ended at the first step whose bits differ from the plain run's."""
        limit = 60 + 20 * self.plain.seconds
        return self._run({"STOWAGE": "1"} | settings, self._folder / "run.trail", self._reference, limit)

    def again(self) -> Outcome:
        return self._run({"STOWAGE": "0"}, self._folder / "again.trail", self._reference, None)

    def is_wrong(self, outcome: Outcome) -> bool:
        return outcome.different or outcome.status != self.plain.status or len(outcome.steps) != len(self.plain.steps)

    def how(self, outcome: Outcome) -> str:
        if outcome.different:
            return f"other bits in step {len(outcome.steps)} of {len(self.plain.steps)}"
        if outcome.status != self.plain.status:
            return "it hangs" if outcome.status == -1 else f"exit status {outcome.status} after {len(outcome.steps)} steps"
        return f"{len(outcome.steps)} steps" if self.is_wrong(outcome) else "the same bits"


def least(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least number in [low, high] that `holds`, which is true of `high` and of all above the least."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _say(text: str) -> None:
    print(text, flush=True)


def _require_repeats(job: Job) -> None:
    plain = job.plain
    if plain.status != 0:
        raise StowageError(f"the job ends with status {plain.status} without Stowage: {plain.messages.strip()[-500:]}")
    if not plain.steps:
        raise StowageError("no optimizer step was seen: `stowage bisect` compares the bits after each "
                           "(torch.optim.Optimizer.step, in the process that it starts)")
    again = job.again()
    if job.is_wrong(again):
        raise StowageError(f"without Stowage the job gives {job.how(again)} when it is run again. Seed it, use one "
                           "thread and torch.use_deterministic_algorithms(True), and keep data in order")
    _say(f"plain         {len(plain.steps)} steps in {plain.seconds:.1f} s; run again, the same bits")


def _verify(job: Job) -> list[str]:
    outcome = job.run(STOWAGE_VERIFY="1")
    found = outcome.findings()
    _say(f"verify        {job.how(outcome)}; " + ("a recipe is wrong" if found else "each recipe replayed at once is right"))
    return found


def _narrow(job: Job, seed: int, found: Outcome) -> tuple[int, int]:
    """The numbers of the first and the last eviction that are needed for what was `found` with all of them."""
    def wrong(first: int, last: int) -> bool:
        outcome = job.run(STOWAGE_EVICT=f"forced:{seed}:{first}-{last}")
        _say(f"  evictions {first} to {last}: {job.how(outcome)}")
        return job.is_wrong(outcome)

    high = max(found.choices, 1)
    while not found.different and not wrong(1, high):  # the process ended before it could count
        high *= 4
    last = least(1, high, lambda number: wrong(1, number))
    if wrong(last, last):
        return last, last
    # From here on the least number of evictions to leave out that makes the bits right again.
    return least(1, last - 1, lambda first: not wrong(first + 1, last)), last


def _evict(job: Job, seeds: int) -> list[str]:
    for seed in range(1, seeds + 1):
        outcome = job.run(STOWAGE_EVICT=f"forced:{seed}")
        _say(f"evict         seed {seed}: {outcome.choices} evictions chosen; {job.how(outcome)}")
        if not job.is_wrong(outcome):
            continue
        first, last = _narrow(job, seed, outcome)
        setting = f"forced:{seed}:{first}-{last}"
        named = job.run(STOWAGE_EVICT=setting, STOWAGE_VERIFY="1", STOWAGE_VERBOSE="1")
        return [f"STOWAGE_EVICT={setting} makes: {job.how(named)}", *named.findings(), *_last_words(named)]
    return []


def _last_words(outcome: Outcome) -> list[str]:
    """What a job that failed said last, where nothing else explains it."""
    lines = [line for line in outcome.messages.splitlines() if line.strip()]
    return ["the job's last words: " + lines[-1]] if outcome.status not in (0, 1) and lines else []


def bisect(command: list[str], environment: dict[str, str], seeds: int, only_evictions: bool) -> bool:
    """True if something wrong was found, which is printed."""
    with tempfile.TemporaryDirectory(prefix="stowage-bisect-") as folder:
        job = Job(command, environment, pathlib.Path(folder))
        _require_repeats(job)
        found = [] if only_evictions else _verify(job)
        found = found or _evict(job, seeds)
    if not found:
        _say(f"nothing is wrong with these bits: not when replayed at once, nor under forced evictions of {seeds} seeds")
    for text in found:
        _say("\nfound: " + text if text is found[0] else text)
    return bool(found)


def command_of(script: str, arguments: list[str], is_module: bool) -> list[str]:
    if not is_module and not pathlib.Path(script).exists():
        raise StowageError(f"there is no script {script}")
    return [sys.executable, *(["-m"] if is_module else []), script, *arguments]
