"""The runtime joins in the midst of a job's first iteration, as a budget of "auto" does, at a random step of Python's; from
then on there are forced evictions and offloads, also of what was there before. Every job leaves the same bits as without it.

STOWAGE_JOINING_SEEDS sets how many places to join at each job runs with (default 3).
"""

import contextlib
import functools
import os
import random
import sys

import pytest
import torch

from stowage import _budget
from tests.recompute import probe
from tests.recompute.jobs import JOBS

pytestmark = pytest.mark.usefixtures("deterministic")

SEEDS = int(os.environ.get("STOWAGE_JOINING_SEEDS", "3"))
ITERATIONS = 3
EVERY = (1, 3, 7)  # ops between forced evictions, in turn


class _Steps:
    """Counts the calls and returns of Python's functions, and of C's that they call; `join` runs at number `at`, or at the
    first one behind it that is in no backward pass."""

    def __init__(self, at: int = sys.maxsize, join=None):
        self.count, self._at, self._join = 0, at, join

    def __call__(self, frame, event, argument):
        self.count += 1
        if self.count >= self._at and torch._C._current_graph_task_id() == -1:
            sys.setprofile(None)
            self._join()

    def watch(self, work):
        sys.setprofile(self)
        try:
            return work()
        finally:
            sys.setprofile(None)


@functools.cache
def plain(name: str) -> tuple[dict[str, str], int]:
    """What the job leaves, and how many steps of Python's its first iteration has."""
    trainer, steps = JOBS[name](), _Steps()
    trainer.losses.append(steps.watch(lambda: trainer.step(0)))
    trainer.losses += [trainer.step(i) for i in range(1, ITERATIONS)]
    return trainer.digests(), steps.count


def _join(stack: contextlib.ExitStack, seed: int) -> None:
    stack.enter_context(probe.installed(EVERY[seed % len(EVERY)], seed))
    probe.library.probe_watch_until_iteration_ends()
    for tensor in _budget._present():
        with contextlib.suppress(NotImplementedError, RuntimeError):  # it has no storage
            probe.library.probe_know(probe.storage(tensor))


@pytest.mark.parametrize("name", list(JOBS))
def test_same_bits(name, tmp_path):
    left, steps = plain(name)
    counted = dict.fromkeys(probe.COUNTERS, 0)
    for seed in range(SEEDS):
        trainer = JOBS[name]()
        at = random.Random(f"{name} {seed}").randrange(1, steps)
        with probe.spilling(tmp_path), contextlib.ExitStack() as stack:
            joining = _Steps(at, lambda: _join(stack, seed))
            trainer.losses.append(joining.watch(lambda: trainer.step(0)))
            probe.library.probe_end_iteration()
            trainer.losses += [trainer.step(i) for i in range(1, ITERATIONS)]
            digests = trainer.digests()
            counted = {key: counted[key] + value for key, value in probe.counters().items()}
        assert digests == left, f"joined at step {at} of {steps}, seed {seed}"
    assert counted["evictions"] > 0 and counted["restores"] > 0 and counted["offloads"] > 0
