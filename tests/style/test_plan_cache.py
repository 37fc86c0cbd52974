"""No test, benchmark or tool lets a job read or write the developer's own plans."""
import re

import pytest

from tests.style.files import files, read

# Whoever drops Stowage's settings from an environment drops STOWAGE_PLAN_CACHE=off, too.
DROPS = re.compile(r"""not \w+\.startswith\(\(?["']STOWAGE["']""")


def test_environments_of_jobs_are_made_in_one_place():
    names = files(".py", under=("tests", "benchmarks", "tools", "examples"))
    assert len(names) > 100, "the files were not found"
    assert [name for name in names if DROPS.search(read(name)) and name != "tests/style/test_plan_cache.py"] == []


@pytest.mark.parametrize("planted", ["if not key.startswith('STOWAGE')", 'if not key.startswith(("STOWAGE", "PYTORCH_"))'])
def test_a_planted_mistake_is_found(planted):
    assert DROPS.search(planted)
