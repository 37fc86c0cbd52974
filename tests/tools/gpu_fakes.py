"""Steps of the GPU suite that take time on a clock of their own, and none of ours."""

from tools.gpu.results import Result
from tools.gpu.state import State
from tools.gpu.suite import Run, Step, Suite

IDENTITY = {"sources": "0123", "torch": "2.11.0", "python": "3.12.3", "device": "a GPU", "driver": "580", "simulated": False}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """Makes suites over one folder, as calls of the tool are over one checkout."""

    def __init__(self, folder):
        self.folder, self.clock, self.done, self.told = folder, Clock(), [], []
        self.path = folder / "gpu.json"

    def step(self, name: str, seconds: float = 10, work=None, **named) -> Step:
        """One that takes `seconds`, as its estimate says, and passes."""
        def go(run: Run) -> Result:
            self.done.append(name)
            self.clock.now += seconds
            return work(run) if work else passed()
        return Step(name, named.pop("section", "Costs"), go, named.pop("estimate_s", seconds), **named)

    def suite(self, steps: list[Step], seconds: float = 1000, identity: dict = IDENTITY, simulated: bool = False) -> Suite:
        state = State.resumed([self.path], identity)
        return Suite(steps, state, Run(simulated, self.folder, self.clock), self.clock.now + seconds, self.told.append)

    def call(self, steps: list[Step], seconds: float = 1000, **named) -> Suite:
        suite = self.suite(steps, seconds, **named)
        suite.go()
        return suite


def passed() -> Result:
    result = Result()
    result.figure("time", 1.0, "s", ("plain", 2.0))
    return result


def failed() -> Result:
    result = Result()
    result.fail("a job ended with signal SIGSEGV", "the command\n" + "noise\n" * 5000 + "the last line")
    return result


def missed() -> Result:
    result = Result()
    result.figure("memory / peak", 1.5, "ratio", ("native", 1.2), goal={"at_most": 1.02})
    return result
