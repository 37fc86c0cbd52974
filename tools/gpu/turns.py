"""Workers that are alive together and take turns on the device, so that what slows one slows all: the base of every ratio.

    with Group(run, result, {"native": spec, "Stowage": spec}) as group:
        group.each("watch", 12)
        times = group.take_turns(rounds=8, turn_s=0.5)
"""

import statistics
from collections.abc import Callable

from benchmarks import paired
from tools.gpu.jobs import JobFailed, Spec, Talk
from tools.gpu.results import Result
from tools.gpu.suite import Run

MOST_ITERATIONS = 200  # in a turn


class Group:
    """Talks by label. One that fails leaves the group and a failure in the result; the others go on."""

    def __init__(self, run: Run, result: Result, specs: dict[str, Spec],
                 tolerated: Callable[[str], bool] = lambda told: False):
        """`tolerated`: says whether what a worker ended with is an answer in itself (out of memory under a budget)."""
        self.run, self.result, self.tolerated = run, result, tolerated
        self.ended: dict[str, str] = {}  # by label: what it ended with, if that was tolerated
        self.talks: dict[str, Talk] = {}
        self._specs = specs

    def __enter__(self) -> "Group":
        try:
            self.add(self._specs)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for talk in self.talks.values():
            talk.close()

    def add(self, specs: dict[str, Spec]) -> None:
        """Starts them all, then waits until each is built."""
        for label, spec in specs.items():
            self.talks[label] = Talk(self.run, spec)
        for label in specs:
            self._guarded(label, lambda talk: talk.receive())

    def _guarded(self, label: str, act: Callable[[Talk], dict]) -> dict | None:
        talk = self.talks.get(label)
        if talk is None:
            return None
        try:
            answer = act(talk)
            if "out_of_memory" not in answer:
                return answer
            told = talk.error
        except JobFailed as error:
            told = str(error)
        self.talks.pop(label).close()
        if self.tolerated(told):
            self.ended[label] = told
        else:
            self.result.fail(label, told)
        return None

    def ask(self, label: str, *command: object) -> dict | None:
        """The answer, or None where that worker is of no use any more."""
        return self._guarded(label, lambda talk: talk.ask(*command))

    def each(self, *command: object) -> dict[str, dict]:
        answers = {label: self.ask(label, *command) for label in list(self.talks)}
        return {label: answer for label, answer in answers.items() if answer is not None}

    def finish(self, label: str) -> None:
        if talk := self.talks.pop(label, None):
            talk.close()

    def take_turns(self, rounds: int, turn_s: float, iteration_s: float) -> dict[str, list[float]]:
        """Seconds of an iteration by label, one for each round; a turn is of some `turn_s`. The order changes each round."""
        iterations = max(1, min(MOST_ITERATIONS, round(turn_s / max(iteration_s, 1e-6))))
        times: dict[str, list[float]] = {label: [] for label in self.talks}
        for number in range(rounds):
            labels = list(times)
            labels = labels[number % len(labels):] + labels[:number % len(labels)] if labels else []
            answers = {label: self.ask(label, "run", iterations) for label in labels}
            for label, answer in answers.items():
                if answer is None:
                    times.pop(label)
                else:
                    times[label].append(answer["seconds"] / iterations)
        return times


def ratio(times: dict[str, list[float]], ours: str, baseline: str) -> dict | None:
    """Of paired turns; None where one of them has none."""
    if not times.get(ours) or not times.get(baseline):
        return None
    return paired.ratio(times[ours], times[baseline])


def median_ms(times: dict[str, list[float]], label: str) -> float | None:
    return statistics.median(times[label]) * 1e3 if times.get(label) else None


def text(found: dict | None) -> str:
    return paired.text(found) if found else "–"


def number(value: float | None, form: str = ",.0f") -> str:
    return "–" if value is None else format(value, form)
