"""STOWAGE_VERIFY and STOWAGE_EVICT: right recipes are found right, a wrong one is named, evictions keep their numbers."""

import ctypes
import re

import pytest
import torch

from tests.recompute import probe
from tests.recompute.forced_evictions_test import differences
from tests.recompute.jobs import JOBS

pytestmark = pytest.mark.usefixtures("deterministic")

ITERATIONS = 3


def run(name: str, **options) -> tuple[dict[str, str], dict[str, int], str]:
    trainer = JOBS[name]()
    with probe.debugged(**options):
        trainer.losses += [trainer.step(i) for i in range(ITERATIONS)]
        counted = probe.counters()
    return trainer.digests(), counted, probe.told()


@pytest.mark.parametrize("name", list(JOBS))
def test_recipes_replayed_at_once_are_right(name):
    digests, counted, told = run(name, verify=True)
    assert told == "" and counted["wrong"] == 0
    assert counted["verified"] > counted["recorded"] // 2 > 0
    assert differences(JOBS[name]().run(ITERATIONS), digests) == []


@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_what_is_restored_is_what_was_evicted(name):
    _, counted, told = run(name, every=1, seed=3, verify=True)
    assert counted["compared"] == counted["restores"] > 0
    assert told == "" and counted["wrong"] == 0


def softplus_of_a_layer(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.softplus(x, beta=2.0)  # this line is to be named


def test_a_wrong_recipe_is_named_with_arguments_settings_and_line():
    x = torch.randn(8, 16, requires_grad=True)
    with probe.debugged(verify=True, wrong="aten::softplus"):
        softplus_of_a_layer(x * 2).sum().backward()
        counted = probe.counters()
    told = probe.told()
    assert told.startswith("wrong: a recipe that is replayed at once makes other bits, in result 0: 1 of 128 elements")
    assert re.search(r"op +aten::softplus$", told, re.MULTILINE)
    assert "self = float (8, 16) on cpu" in told and "beta = 2" in told
    assert re.search(r"settings +grad mode on, 1 thread, default dtype Float", told)
    assert re.search(r"source .*verify_test.py:\d+ in softplus_of_a_layer.*this line is to be named", told)
    assert counted["wrong"] == 1


def test_only_the_first_of_many_is_told():
    with probe.debugged(verify=True, wrong="aten::softplus"):
        for _ in range(5):
            softplus_of_a_layer(torch.randn(4) * 2)
        assert probe.counters()["wrong"] == 5
    assert probe.told().count("wrong: ") == 1


def test_an_op_that_writes_in_place_is_verified():
    with probe.debugged(verify=True, wrong="aten::add_.Tensor"):
        y = torch.randn(8) * 2
        y.add_(1.0)
    assert "in argument 0: 1 of 8 elements" in probe.told() and "read and written" in probe.told()


def test_a_write_that_nobody_saw_is_found_when_a_tensor_is_restored():
    with probe.debugged(verify=True):
        x = torch.randn(1000) * 2
        y = torch.sin(x)
        data = ctypes.cast(probe.storage(x), ctypes.POINTER(ctypes.c_void_p))[2]  # of a StorageImpl: no guard sees this
        before = y.clone()
        assert probe.evict(y)
        ctypes.memset(data, 0, 4)
        assert not torch.equal(before, y)
    told = probe.told()
    assert "wrong: a restored tensor of 4000 bytes is not what was evicted. It was made by\n  op          aten::sin" in told


def test_choices_have_their_numbers_whatever_was_evicted():
    _, everything, _ = run("mlp", every=2, seed=1)
    _, part, told = run("mlp", every=2, seed=1, first=40, last=60, tells=True)
    _, nothing, _ = run("mlp", every=2, seed=1, first=everything["choices"] + 1)
    assert everything["choices"] == part["choices"] == nothing["choices"] > 100
    assert everything["evictions"] > part["evictions"] > 0 == nothing["evictions"]
    numbers = [int(number) for number in re.findall(r"^eviction (\d+), before op", told, re.MULTILINE)]
    assert len(numbers) == part["evictions"] and all(40 <= number <= 60 for number in numbers)


def test_the_same_seed_evicts_the_same():
    assert run("mlp", every=3, seed=7)[1]["evictions"] == run("mlp", every=3, seed=7)[1]["evictions"]
