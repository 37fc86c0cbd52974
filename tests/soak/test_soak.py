"""Random jobs keep the promises: same bits, budget held, no more memory than PyTorch's allocator under the same settings.

The short form runs two jobs for 40 iterations; STOWAGE_SOAK=20 runs that many for 200, and compares what they reserve
with the better of PyTorch's allocators at any time. A failure prints the job as Python.
"""

import os

import pytest

from tests.soak import program, runs
from tests.zoo import simulated

pytestmark = pytest.mark.skipif(not (simulated.build_folder() / "simulator" / "env.json").exists(),
                                reason="the simulated device is not built")
JOBS = int(os.environ.get("STOWAGE_SOAK", "0"))
FIRST = int(os.environ.get("STOWAGE_SOAK_FIRST_SEED", "0"))
SEEDS, ITERATIONS = (range(FIRST, FIRST + JOBS), runs.ITERATIONS) if JOBS else ((3, 5), 40)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_job_keeps_the_promises(seed):
    faults = runs.run_all(seed, ITERATIONS).faults(strict=JOBS > 0)
    assert not faults, "\n".join([*faults, "The job:", program.source(seed)])


def test_a_seed_always_makes_the_same_job():
    assert program.source(7) == program.source(7) != program.source(8)
