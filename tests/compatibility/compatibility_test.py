"""No fact of PyTorch's allocator tests holds natively and fails with Stowage, but for those on sizes of segments."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import table  # noqa: E402

# What is known to fail, and why; nothing else may. A line goes when its reason does.
KNOWN: dict[str, str] = {}


@pytest.fixture(scope="module")
def results():
    return table.run_all()


def test_what_holds_natively_holds_with_stowage(results):
    broken = table.broken(table.harness.load(), results)
    assert set(broken) <= set(KNOWN), broken


def test_facts_hold_natively_at_all(results):
    """Else a fact tests nothing."""
    failed = {name: got["why"] for name, got in results["native"].items() if got["result"] != "pass"}
    assert not failed, failed


def test_most_facts_are_planned(results):
    served = [name for name, got in results["planned"].items() if got.get("hits", 0) > 0]
    assert len(served) >= len(results["planned"]) // 2, served


def test_the_page_has_a_row_for_every_fact():
    text = table.PAGE.read_text()
    missing = [fact.name for fact in table.harness.load() if fact.name.replace("_", " ") not in text]
    assert not missing, f"python tests/compatibility/table.py --write: {missing}"
