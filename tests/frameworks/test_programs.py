"""The programs of benchmarks/frameworks that need torch alone: the same bits with Stowage as without. Short, on the CPU."""

import json
import os

import pytest

from benchmarks.frameworks.rows import FOLDER, ROWS
from benchmarks.frameworks.run import environment
from tests.warm import client

PLANNED = ("WGAN-GP", "accumulation")
UNEVEN = ("mixture of experts", "GRU")  # Stowage may leave them without a plan


def left(name: str, mode: str, folder) -> dict:
    settings = environment(mode, str(folder)) | {"LONG": "1", "LEFT_LOOKS": "1", "JOB_FOLDER": os.devnull}
    done = client.run(str(FOLDER / ROWS[name].file), environment=settings, folder=FOLDER)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", PLANNED + UNEVEN)
def test_the_same_bits_with_a_plan(name, tmp_path):
    plain, planned = (left(name, mode, tmp_path) for mode in ("plain", "planned"))
    assert all(plain[key] == planned[key] for key in ("losses", "parameters", "steps"))
    assert plain["looks"] == [{}, {}]
    report = planned["looks"][-1]
    assert report["iterations"] > 20 and (name in UNEVEN or report["switched_at_iteration"] > 0), report
