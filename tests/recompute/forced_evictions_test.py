"""Under random forced evictions, with NaN in the evicted bytes, every job leaves the same bits as without Stowage.

STOWAGE_EVICTION_SEEDS sets how many seeds each job runs with (default 2, of 10 iterations each; the full check is 1,000, of
2 iterations each), STOWAGE_EVICTION_FIRST_SEED the first of them.
"""

import functools
import os

import pytest
import torch

from tests.recompute import probe
from tests.recompute.jobs import JOBS

pytestmark = pytest.mark.usefixtures("deterministic")

SEEDS = int(os.environ.get("STOWAGE_EVICTION_SEEDS", "2"))
FIRST_SEED = int(os.environ.get("STOWAGE_EVICTION_FIRST_SEED", "0"))
ITERATIONS = 10 if SEEDS <= 10 else 2
EVERY = (1, 3, 7, 20, 2)  # ops between forced evictions, in turn


@functools.cache
def plain(name: str) -> dict[str, str]:
    return JOBS[name]().run(ITERATIONS)


def differences(a: dict[str, str], b: dict[str, str]) -> list[str]:
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))


@pytest.mark.parametrize("name", list(JOBS))
def test_same_bits(name):
    evictions = restores = 0
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        trainer = JOBS[name]()
        with probe.installed(EVERY[seed % len(EVERY)], seed):
            trainer.losses += [trainer.step(i) for i in range(ITERATIONS)]
            counted = probe.counters()
        assert differences(plain(name), trainer.digests()) == [], f"seed {seed}"
        evictions += counted["evictions"]
        restores += counted["restores"]
    assert evictions >= SEEDS * ITERATIONS, "too few evictions for the test to say anything"
    assert restores >= SEEDS * ITERATIONS / 2


@pytest.mark.parametrize("name", list(JOBS))
def test_a_job_that_repeats_itself(name):
    """The comparison is worth something: another seed gives other bits, the same seed the same."""
    assert differences(plain(name), JOBS[name]().run(ITERATIONS)) == []
    if name in ("mlp", "lstm"):
        torch.manual_seed(0)
        trainer = JOBS[name]()
        torch.manual_seed(99)
        assert differences(plain(name), trainer.run(ITERATIONS)) != []
