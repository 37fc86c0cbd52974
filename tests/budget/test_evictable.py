"""examples/evictable: a buffer of other code is pressed out by a budget and comes back whole."""

import os
import pathlib
import shlex
import shutil
import subprocess

import pytest
import torch

from stowage import _library
from tests.python.doors import ROOT, python

EXAMPLE = ROOT / "examples/evictable"


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> pathlib.Path:
    """The example, built by the command that its page gives."""
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    built = tmp_path_factory.mktemp("evictable") / "libspilling_cache.so"
    page = (EXAMPLE / "README.md").read_text()
    command = page.split("```sh\n")[1].split("```")[0]
    values = {"TORCH": str(pathlib.Path(torch.__file__).parent), "STOWAGE": str(ROOT), "OUT": str(built),
              "LIBRARY": str(_library.library_path())}
    done = subprocess.run(["sh", "-ec", "".join(f"{k}={shlex.quote(v)}\n" for k, v in values.items()) + command],
                          cwd=EXAMPLE, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return built


def test_a_cache_spills_under_a_budget_and_comes_back(cache):
    done = python((EXAMPLE / "use_cache.py").read_text(), str(cache), STOWAGE="1", STOWAGE_DEVICES="cpu",
                  STOWAGE_BUDGET="12MB")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    spills, same, held, limit = done.stdout.split()
    assert int(spills) > 0 and same == "True"
    assert int(held) <= int(limit) == 12_000_000


def test_without_a_budget_it_stays_where_it_is(cache):
    done = python((EXAMPLE / "use_cache.py").read_text(), str(cache))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["0", "True"]
