"""What values are made again from, and how long it is kept: leaves, leaves that are overwritten, dead values."""

import gc

import pytest
import torch

from tests.recompute import probe
from tests.recompute.probe import data, evict, is_evicted

pytestmark = pytest.mark.usefixtures("runtime")


def test_dead_inputs_are_made_again_and_dropped():
    x = data(100)
    y = x.sin().cos().exp().add(1.0)
    before = y.clone()
    assert evict(y)
    assert torch.equal(y, before)
    assert probe.counters()["replays"] == 4


def test_a_dead_input_of_several_is_made_once_and_kept_for_the_others():
    library = probe.library
    library.probe_budget(0)  # from here on it counts
    x = data(1000)
    held = library.probe_held()
    dead = x.exp()
    made = [dead.sin(), dead.cos(), dead.tanh()]
    before = [y.clone().numpy().copy() for y in made]
    del dead
    assert all(evict(y) for y in made)
    for count, (y, wanted) in enumerate(zip(made, before), 2):
        (y + 0).sum()
        assert probe.counters()["replays"] == count
        assert (y.detach().clone().numpy() == wanted).all()
    assert library.probe_held() - held == 3 * 4000, "nobody wants it any more"


def test_what_is_kept_for_others_goes_when_room_is_needed():
    library = probe.library
    library.probe_budget(0)
    x = data(1000)
    dead = x.exp()
    made = [dead.sin(), dead.cos(), dead.tanh()]
    before = [y.clone() for y in made]
    del dead
    assert all(evict(y) for y in made)
    assert torch.equal(made[0], before[0])
    limit = library.probe_held() + 100
    library.probe_peak(1)
    library.probe_budget(limit)
    try:
        more = x * 2
        assert torch.equal(made[1], before[1]) and torch.equal(made[2], before[2]) and torch.equal(more, x + x)
        assert library.probe_peak(0) <= limit
    finally:
        library.probe_budget(0)
    assert torch.equal(made[0], before[0])


def test_an_input_that_dies_while_needed_is_kept():
    x = data(100)
    expected = x.sin() * 3
    y = x.sin() * 3
    assert evict(y)
    del x
    gc.collect()
    assert torch.equal(y, expected)


def test_a_shared_ancestor_is_made_once():
    x = data(50)
    y = x.sin()
    for _ in range(20):
        y = y + y.cos()
    before = y.clone()
    assert evict(y)
    assert torch.equal(y, before)
    assert probe.counters()["replays"] == 41


def test_what_starts_from_an_input_is_restored_before_it_is_written():
    x = data(40)
    y = x[:10].exp()
    before = y.clone()
    assert evict(y)
    x.add_(1.0)
    assert not is_evicted(y)
    assert torch.equal(y, before)
    assert not evict(y), "what it was made from is gone"


def test_an_input_is_kept_as_it_was_where_that_takes_less():
    """One copy for all that start from it, which goes with the last of them."""
    x, w = data(40), data(20, 40)
    made = [w * x, w + x.exp(), (w - x).relu_()]
    before, live = [y.clone() for y in made], probe.library.probe_held
    probe.library.probe_budget(0)  # from here on it counts
    assert all(evict(y) for y in made)
    held = live()
    x.zero_()
    assert all(is_evicted(y) for y in made) and live() - held == 160
    x.add_(1.0)
    assert torch.equal(made[0], before[0])
    assert evict(made[0]), "the copy is still there for the others"
    assert live() - held == 160
    assert all(torch.equal(y, wanted) for y, wanted in zip(made, before))
    assert live() - held == 3 * 20 * 40 * 4
    assert not evict(made[0]), "what it was made from is gone"


def test_values_that_nobody_needs_any_more_keep_nothing():
    x, w = data(40), data(20, 40)
    y = w * x
    probe.library.probe_budget(0)
    assert evict(y)
    del y
    held, counted = probe.library.probe_held(), probe.counters()["replays"]
    x.add_(1.0)
    assert probe.library.probe_held() == held and probe.counters()["replays"] == counted


def test_a_kept_input_outlives_a_change_of_settings_and_the_runtime():
    x, w = data(40), data(20, 40)
    y, z = w * x, w + x
    before = (y.clone(), z.clone())
    assert evict(y) and evict(z)
    x.zero_()
    assert is_evicted(y) and is_evicted(z)
    probe.library.probe_end_iteration()
    assert torch.equal(y, before[0]) and is_evicted(z)
    probe.library.probe_uninstall()
    assert torch.equal(z, before[1])
    assert probe.library.probe_install(0, 0, 1, 1) == 0
