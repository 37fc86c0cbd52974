"""What the outcomes of one program in all modes say: bits, requests on and off the plan, memory, CPU time."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from benchmarks.frameworks.run import ON_CUDA, Outcome

REASONS = ("unexpected", "slot_in_use", "beyond_plan")
MIB = 1 << 20


@dataclass
class Measured:
    """Of one program. `cpu` is benchmarks/paired.py's ratio with Stowage to without; None: no pairs were run."""
    outcomes: dict[str, Outcome]  # by mode
    cpu: dict[str, float] | None = None

    def has(self, *modes: str) -> bool:
        return all(mode in self.outcomes and not self.outcomes[mode].failed for mode in modes)


@dataclass
class Counts:
    """Of requests and iterations under a plan."""
    planned: int = 0  # iterations
    clean: int = 0  # of these, without a miss
    hits: int = 0
    upstream: int = 0  # left to PyTorch's allocator by the plan
    improvised: int = 0  # served in the arena where the plan leaves room, or without a plan
    misses: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))

    @property
    def missed(self) -> int:
        return sum(self.misses.values())

    @property
    def requests(self) -> int:
        return self.hits + self.upstream + self.improvised + self.missed

    def share(self, part: float) -> float:
        """Of all requests; 0 where there were none."""
        return part / self.requests if self.requests else 0.0


def counts(report: dict) -> Counts:
    misses = report.get("misses", {})
    return Counts(report.get("planned_iterations", 0), report.get("clean_iterations", 0), report.get("hits", 0),
                  report.get("planned_upstream", 0), report.get("improvised", 0) + report.get("online", 0),
                  {reason: misses.get(reason, 0) for reason in REASONS})


def combined(one: Counts, other: Counts, sign: int) -> Counts:
    """one + sign × other."""
    return Counts(one.planned + sign * other.planned, one.clean + sign * other.clean, one.hits + sign * other.hits,
                  one.upstream + sign * other.upstream, one.improvised + sign * other.improvised,
                  {reason: one.misses[reason] + sign * other.misses[reason] for reason in REASONS})


def whole(reports: Iterable[dict]) -> Counts:
    """Of all processes, since the last switch to a first plan."""
    found = Counts()
    for report in reports:
        found = combined(found, counts(report), 1)
    return found


def late(looks: list[dict]) -> Counts:
    """Between two looks at the report. Where the job was planned anew between them, what was counted since."""
    first, last = looks or ({}, {})
    before, after = counts(first), counts(last)
    anew = first.get("replans", 0) != last.get("replans", 0)
    since = combined(after, before, -1)
    counted_anew = since.planned < since.clean or min(since.planned, since.hits, since.missed) < 0
    return after if anew or counted_anew else since


def clean_share(outcome: Outcome) -> float:
    """Of the planned iterations in the last two thirds of the run; 0 where none was planned."""
    found = late(outcome.left.get("looks", []))
    return found.clean / found.planned if found.planned else 0.0


def off_plan(outcome: Outcome) -> float:
    """Share of the requests since the switch that missed."""
    found = whole(outcome.reports)
    return found.share(found.missed)


def from_arena(outcome: Outcome) -> float:
    """Share of the bytes since the switch that the arena served; of the requests where the report has no bytes."""
    arena, upstream = (sum(report.get(key, 0) for report in outcome.reports) for key in ("served_bytes", "missed_bytes"))
    found = whole(outcome.reports)
    return arena / (arena + upstream) if arena + upstream else found.share(found.hits + found.improvised)


def height(outcome: Outcome) -> tuple[int, int] | None:
    """Bytes of all plans in their arena and of the lower bound; of several processes, the first that has plans."""
    return next(((report["plans_height_bytes"], report["plans_lower_bound_bytes"]) for report in outcome.reports
                 if report.get("plans")), None)


def same_bits(measured: Measured, mode: str) -> bool:
    plain, other = measured.outcomes["plain"].left, measured.outcomes[mode].left
    return all(plain.get(key) == other.get(key) for key in ("losses", "parameters", "steps"))


def reserved(measured: Measured, mode: str) -> int:
    """Bytes, the most in the last third of the iterations."""
    return measured.outcomes[mode].left["reserved"]


def reserved_to_first_run(measured: Measured) -> float | None:
    """The most that the processes of a second run reserved, to that of the run without kept plans."""
    if not measured.has("planned", "again"):
        return None
    most = [sum(report.get("reserved_after_bytes", 0) for report in measured.outcomes[mode].reports)
            for mode in ("again", "planned")]
    return most[0] / most[1] if most[1] else None


def on_device(measured: Measured) -> bool:
    return measured.has(*ON_CUDA)
