"""Runs the steps of tools/gpu_check in order, within a time limit; each is saved when it ends, and none ends the others.

A step is begun only where its estimate fits into what is left; a smaller one behind it still may. A step that raises, or
whose job fails, hangs or is killed, leaves a failure with the end of its output. What was not run is listed with its reason.
"""

import contextlib
import pathlib
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tools.gpu.results import Result
from tools.gpu.state import State

SPARE_S = 4.0  # between the end of a step and that of the time, for what follows it
PATIENCE = 4.0  # times its estimate is what a step may take


class OutOfTime(Exception):
    """A step's time is over; the message says what was running."""


@dataclass
class Run:
    """What a step is given. `simulated`: sizes are small, no values are computed, and nothing is judged by its time."""

    simulated: bool
    folder: pathlib.Path  # for logs, caches and plans; stays between calls
    clock: Callable[[], float] = time.monotonic
    ends: float = 0.0  # by the clock: when the present step must have ended
    kept: dict = field(default_factory=dict)  # what an earlier part of the step left
    keep: Callable[[dict], None] = lambda kept: None  # saves that for a next part

    @property
    def device(self) -> str:
        return "simulated" if self.simulated else "cuda"

    @property
    def judged(self) -> bool:
        """Whether figures say anything beyond that they could be measured."""
        return not self.simulated

    def left_s(self) -> float:
        return self.ends - self.clock()


@dataclass(frozen=True)
class Step:
    """`estimate_s`: on a GPU, `simulated_s`: on the simulated device. `lacks`: says why it cannot be run here, or ""."""

    name: str
    section: str
    work: Callable[[Run], Result]
    estimate_s: float
    simulated_s: float | None = None  # None: it is not run there
    lacks: Callable[[Run], str] = lambda run: ""

    def time_s(self, simulated: bool) -> float:
        return self.simulated_s if simulated else self.estimate_s


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """A request to end becomes KeyboardInterrupt, so that jobs are ended and results are written."""
    def stop(*_):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Suite:
    def __init__(self, steps: list[Step], state: State, run: Run, deadline: float,
                 tell: Callable[[str], None] = lambda text: print(text, flush=True)):
        self.steps, self.state, self.run, self.deadline, self.tell = steps, state, run, deadline, tell
        self.not_run: dict[str, str] = {}  # by step: why
        self.interrupted = False

    def reason_against(self, step: Step) -> str:
        if self.run.simulated and step.simulated_s is None:
            return "not on the simulated device"
        if lacking := step.lacks(self.run):
            return lacking
        left, wanted = self.deadline - self.run.clock() - SPARE_S, step.time_s(self.run.simulated)
        return "" if wanted <= left else f"no time: it takes about {wanted:.0f} s, {max(left, 0):.0f} s were left"

    def attempt(self, step: Step) -> Result:
        """Runs it. What it raises becomes a failure, or a cut where only the time was too short for it."""
        patience = self.run.clock() + PATIENCE * step.time_s(self.run.simulated)
        last = self.deadline - SPARE_S
        self.run.ends = min(patience, last)
        self.run.kept = self.state.kept(step.name)
        self.run.keep = lambda kept: self.state.put(step.name, Result(cut=True, kept=kept), ended=False,
                                                        section=step.section)
        try:
            return step.work(self.run)
        except OutOfTime as error:
            if patience > last:
                return Result(cut=True, kept=self.run.kept, notes=[f"cut by the time limit: {error}"])
            result = Result()
            result.fail(f"{step.name} took over {PATIENCE * step.time_s(self.run.simulated):.0f} s", str(error))
            return result
        except Exception:  # whatever it is, the other steps are run
            result = Result()
            result.fail(f"{step.name} broke off", traceback.format_exc())
            return result

    def do(self, step: Step) -> None:
        started = self.run.clock()
        self.tell(f"== {step.name}")
        result = self.attempt(step)
        seconds = self.run.clock() - started
        self.state.put(step.name, result, section=step.section, seconds=round(seconds, 1),
                       estimate_s=step.time_s(self.run.simulated))
        for failure in result.failures:
            self.tell(f"   FAILED: {failure['what']}\n{failure['output'][-1500:]}")
        for check in result.checks:
            if not check["passed"]:
                self.tell(f"   FAILED: {check['what']}: {check['told']}")
        self.tell(f"== {step.name}: {result.status}, {seconds:.0f} s")

    def go(self, after_each: Callable[[], None] = lambda: None) -> None:
        """Does what is missing, until all is done or the time is over."""
        with interruptible():
            for step in self.steps:
                if self.state.is_done(step.name):
                    continue
                if reason := "interrupted" if self.interrupted else self.reason_against(step):
                    self.not_run[step.name] = reason
                    continue
                try:
                    self.do(step)
                except KeyboardInterrupt:
                    self.interrupted = True
                    self.not_run[step.name] = "interrupted"
                after_each()

    def of(self, status: str) -> list[str]:
        return [step.name for step in self.steps if self.state.steps.get(step.name, {}).get("status") == status]

    def exit_status(self) -> int:
        """0 where all that was run passed, and something was run."""
        ended = self.of("passed") + self.of("left out")
        return 1 if self.of("failed") or self.of("missed") or self.interrupted or not ended else 0
