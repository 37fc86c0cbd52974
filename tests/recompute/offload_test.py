"""What is offloaded to a spill file comes back with the same bits: under a limit, at random, and where the disk fails."""

import gc
import os
import resource

import numpy
import pytest
import torch

from torch import nn

from tests.recompute import jobs, probe
from tests.recompute.budget_test import counting_allocator  # noqa: F401 (a fixture)
from tests.recompute.forced_evictions_test import EVERY, FIRST_SEED, ITERATIONS, SEEDS, differences, plain
from tests.recompute.fork_test import in_child
from tests.recompute.probe import data, evict, is_evicted, offload

pytestmark = pytest.mark.usefixtures("deterministic")


@pytest.fixture
def spilled(tmp_path):
    with probe.spilling(tmp_path), probe.installed():
        yield tmp_path


# ---- one rule a test

@pytest.mark.usefixtures("spilled")
def test_what_has_no_recipe_is_offloaded_and_comes_back():
    parameter = nn.Parameter(data(64).clone())
    (parameter * 2).sum().backward()
    for tensor in (parameter, parameter.grad, data(64), torch.zeros(64).add_(1), torch.arange(64)):
        (tensor + 1).sum()
        before, version = tensor.detach().clone(), tensor._version
        assert offload(tensor) and is_evicted(tensor)
        assert torch.equal(tensor, before)
        assert not is_evicted(tensor) and tensor._version == version
    counted = probe.counters()
    assert counted["offloads"] == counted["fetches"] == 5
    assert counted["replays"] == 0 and counted["offloaded"] == 0


@pytest.mark.usefixtures("spilled")
def test_an_evicted_value_starts_from_an_offloaded_one():
    leaf = data(64)
    made = leaf.sin()
    before = made.clone()
    assert evict(made) and offload(leaf)
    assert torch.equal(made, before)
    assert not is_evicted(leaf)
    assert evict(made) and offload(leaf)
    leaf.mul_(2)  # first what starts from the old content comes back
    assert torch.equal(made, before)


@pytest.mark.usefixtures("spilled")
def test_a_value_whose_leaf_died_while_it_was_offloaded_is_a_leaf():
    leaf = data(64).clone()
    made = leaf.sin()
    before = made.clone()
    assert offload(made)
    del leaf
    probe.library.probe_end_iteration()
    assert torch.equal(made, before)
    assert not evict(made) and offload(made)
    assert torch.equal(made, before)


@pytest.mark.usefixtures("spilled")
def test_views_share_one_copy():
    x = data(6, 8)
    view = x.t()[2:5]
    before = view.clone()
    assert offload(view) and is_evicted(x)
    assert torch.equal(view, before) and not is_evicted(x)


@pytest.mark.usefixtures("spilled")
def test_what_did_not_change_is_copied_once():
    parameter = nn.Parameter(data(64).clone())
    for _ in range(3):
        assert offload(parameter)
        (parameter * 2).sum().backward()
        probe.library.probe_end_iteration()
    counted = probe.counters()
    assert counted["offloads"] == 3 and counted["copied_total"] == 64 * 4
    with torch.no_grad():
        parameter.add_(1)
    before = parameter.detach().clone()
    assert offload(parameter) and torch.equal(parameter, before)
    assert probe.counters()["copied_total"] == 2 * 64 * 4


@pytest.mark.usefixtures("spilled")
def test_what_a_borrower_wrote_is_copied_again():
    x = data(64).clone()
    (x + 1).sum()
    assert offload(x)
    (x + 1).sum()
    array = x.numpy()
    array[:] = 5
    del array
    gc.collect()
    assert offload(x) and torch.equal(x, torch.full((64,), 5.0))


@pytest.mark.usefixtures("spilled")
def test_the_copy_of_content_that_is_overwritten_goes_to_what_starts_from_it():
    leaf = data(1 << 12).clone()
    made = [leaf.sin() for _ in range(3)]
    before = [one.clone() for one in made]
    assert offload(leaf)
    (leaf + 1).sum()
    assert all(evict(one) for one in made)
    leaf.mul_(2)
    assert offload(leaf)
    assert all(torch.equal(one, other) for one, other in zip(made, before))


@pytest.mark.usefixtures("spilled")
def test_what_dies_offloaded_frees_its_copy():
    x = data(4096)
    assert offload(x)
    del x
    probe.library.probe_end_iteration()
    assert probe.counters()["offloaded"] == 0


@pytest.mark.usefixtures("spilled")
def test_what_unseen_code_may_touch_stays():
    lent, told, wrapped = data(64), data(64), torch.from_numpy(numpy.ones(64, dtype=numpy.float32))
    array, address = lent.numpy(), told.data_ptr()
    for tensor in (lent, told, wrapped):
        (tensor + 1).sum()
        assert not offload(tensor)
    assert array[0] == lent[0] and address
    shared = data(64).share_memory_()
    assert not offload(shared)


@pytest.mark.usefixtures("spilled")
def test_bytes_that_leave_pytorch_come_back_first(tmp_path):
    x = data(64)
    before = x.clone()
    for leave in (lambda: x.tolist(), lambda: x.numpy().copy(), lambda: torch.save(x, tmp_path / "x.pt"),
                  lambda: x.data_ptr()):
        y = before.clone()
        (y + 1).sum()
        x = y
        assert offload(x)
        leave()
        assert not is_evicted(x) and torch.equal(x, before)


@pytest.mark.usefixtures("spilled")
def test_an_index_that_a_composite_reads_stays_no_longer_than_that():
    x, index, other = data(64), torch.tensor([3, 9]), data(64)
    (index + 1).sum(), (other + 1).sum()
    assert offload(other) and offload(index)
    assert [len(part) for part in torch.tensor_split(x, index)] == [3, 6, 55]
    assert offload(index)


@pytest.mark.usefixtures("spilled")
def test_a_child_reads_what_its_parent_offloaded():
    x = data(4096)
    before = x.clone()
    y = data(4096).add(1)
    kept = y.clone()
    assert offload(x) and offload(y)
    assert in_child(lambda: torch.equal(x, before) and torch.equal(y, kept)) == 0
    assert torch.equal(x, before)
    assert offload(x)
    assert torch.equal(x, before) and torch.equal(y, kept)


# ---- under a limit

def _wide(optimizer):
    """Parameters, gradients and optimizer state are nearly all that it holds."""
    model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.GELU())))
    return jobs._supervised(model, torch.randn(4, 256), torch.randint(256, (4,)), optimizer(model.parameters()))


STEPS = 4


def _under(limit: int, optimizer):
    """Digests of the job, the most bytes held above those at its start, and counters. `limit` 0: none."""
    gc.collect()
    torch.manual_seed(jobs.SEED)
    with probe.installed(smallest=256), probe.limited(limit) as most:
        trainer = _wide(optimizer)
        for i in range(STEPS):
            trainer.losses.append(trainer.step(i))
            probe.library.probe_end_iteration()
        counted, peak = probe.counters(), most()
    return trainer.digests(), peak, counted


@pytest.mark.parametrize(("name", "tensors"), [("adam", 3), ("adamw_amsgrad", 3), ("sgd_momentum", 3), ("rmsprop", 5),
                                               ("adagrad", 3)])
def test_the_least_budget_is_what_one_op_reads_and_writes(name, tensors, tmp_path):
    expected, peak, _ = _under(0, jobs.OPTIMIZERS[name])
    limit = int(tensors * 256 * 256 * 4 * 1.1)
    assert limit < peak / 7
    with probe.spilling(tmp_path):
        digests, held, counted = _under(limit, jobs.OPTIMIZERS[name])
    assert differences(expected, digests) == []
    assert held <= limit
    assert counted["offloads"] > 20 and counted["fetches"] > 20


def test_without_a_store_the_error_says_what_would_help():
    _, peak, _ = _under(0, jobs.OPTIMIZERS["adam"])
    with pytest.raises(torch.OutOfMemoryError, match="set STOWAGE_SPILL to a folder"):
        _under(peak // 5, jobs.OPTIMIZERS["adam"])


def test_a_full_disk_loses_nothing(tmp_path):
    """A limit on the size of files stands for it. What was offloaded and what was not are all there afterwards."""
    x = [torch.randn(1 << 18) for _ in range(48)]
    before = [one.clone() for one in x]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with probe.spilling(tmp_path), probe.installed():
        for one in x:
            one.add(0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, limits[1]))
        try:
            for one in x[:12]:
                assert offload(one)
                one.add(0)  # its copy stays, and makes room for those of others
            taken = [offload(one) for one in reversed(x)]
            assert 12 <= sum(taken) < 48
            probe.library.probe_budget(probe.library.probe_held() + 1024)
            with pytest.raises(torch.OutOfMemoryError, match="not offloaded: .*spill file.*File too large"):
                torch.empty(1 << 24)
        finally:
            probe.library.probe_budget(0)
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert all(torch.equal(one, other) for one, other in zip(x, before))


def test_history_does_not_grow_while_state_is_offloaded(tmp_path):
    """Optimizer state that stays offloaded over many iterations does not keep the recipes of all of them."""
    state, gradient = torch.zeros(4096), data(4096)
    with probe.spilling(tmp_path), probe.installed():
        for _ in range(50):
            state.mul_(0.9).add_(gradient)
            probe.library.probe_end_iteration()
            assert offload(state)
            (gradient * 2).sum()
            probe.library.probe_end_iteration()
        assert not evict(state)


def _made_by_many_products(leaf: torch.Tensor) -> torch.Tensor:
    """1/4 MiB that take 200 products of matrices to make again."""
    x = leaf
    for _ in range(200):
        x = (x @ x).tanh()
    return x


def test_contiguous_room_is_not_made_of_what_is_cheaper_to_copy(tmp_path):
    """Such room is worth the history of a cheap value, not a whole pass: whole segments that go back are room, too."""
    with probe.spilling(tmp_path), probe.installed():
        leaf = data(256, 256)
        dear = _made_by_many_products(leaf)
        assert not probe.make_contiguous_room(dear) and not is_evicted(dear)
        for _ in range(8):
            cheap = leaf + 1  # its cost is the least of its first calls
        assert probe.make_contiguous_room(cheap) and is_evicted(cheap)
    with probe.installed():
        dear = _made_by_many_products(leaf)
        before = dear.clone()
        assert probe.make_contiguous_room(dear) and is_evicted(dear), "nothing else would help"
        assert torch.equal(dear, before)


@pytest.mark.parametrize("rows", [64, 96, 100, 112, 150, 200])
def test_equal_values_that_are_cheaper_to_copy_are_not_made_again(rows, tmp_path):
    """Gradients are as large, as dear and as long idle as each other: costs are summed up only until they exceed the next
    candidate's score, and a sum that is cut short is not the cost."""
    leaves = [data(rows, rows) for _ in range(12)]
    with probe.spilling(tmp_path), probe.installed(smallest=4 * rows * rows), probe.limited(0):
        for _ in range(4):
            made = [_made_by_many_products(leaf) for leaf in leaves]
            probe.library.probe_budget(probe.library.probe_held() - 4 * (4 * rows * rows))
            more = torch.ones(16)
            probe.library.probe_budget(0)
            torch.stack(made).sum()
            del made, more
            probe.library.probe_end_iteration()
        counted = probe.counters()
    assert counted["offloads"] > 0 and counted["replays"] == 0


# ---- at random

@pytest.mark.parametrize("name", list(jobs.JOBS))
def test_same_bits_with_evictions_and_offloads_at_random(name, tmp_path):
    offloads = 0
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        trainer = jobs.JOBS[name]()
        with probe.spilling(tmp_path), probe.installed(EVERY[seed % len(EVERY)], seed):
            trainer.losses += [trainer.step(i) for i in range(ITERATIONS)]
            counted = probe.counters()
        assert differences(plain(name), trainer.digests()) == [], f"seed {seed}"
        offloads += counted["offloads"]
    assert offloads >= SEEDS * ITERATIONS
    assert os.listdir(tmp_path) == []
