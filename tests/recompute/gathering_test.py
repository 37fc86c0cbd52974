"""What outlives iterations is moved to other memory, at the end of each and in the midst of it, beside forced evictions and
offloads: every job leaves the same bits, and what code may reach unseen stays where it is."""

import random
import sys

import pytest
import torch

from tests.recompute import probe
from tests.recompute.jobs import JOBS

ITERATIONS = 4


def gather() -> int:
    return probe.library.probe_gather_lasting()


class _InTheMidst:
    """Gathers at some of Python's calls and returns that are in no backward pass."""

    def __init__(self, seed: str):
        self._random, self.moved = random.Random(seed), 0

    def __call__(self, frame, event, argument):
        if self._random.random() < 0.002 and torch._C._current_graph_task_id() == -1:
            self.moved += gather()


def left_by(name: str, seed: int | None, tmp_path) -> tuple[dict[str, str], int]:
    trainer = JOBS[name]()
    if seed is None:
        trainer.losses += [trainer.step(i) for i in range(ITERATIONS)]
        return trainer.digests(), 0
    moved, midst = 0, _InTheMidst(f"{name} {seed}")
    with probe.spilling(tmp_path), probe.installed((1, 3, 7)[seed % 3], seed):
        for i in range(ITERATIONS):
            sys.setprofile(midst)
            trainer.losses.append(trainer.step(i))
            sys.setprofile(None)
            probe.library.probe_end_iteration()
            moved += gather()
        return trainer.digests(), moved + midst.moved


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", list(JOBS))
def test_same_bits(name, tmp_path):
    plain, _ = left_by(name, None, tmp_path)
    for seed in range(3):
        digests, moved = left_by(name, seed, tmp_path)
        assert digests == plain, f"seed {seed}"
        assert moved > 0


def lasting(*sizes: int) -> torch.Tensor:
    """Used by a later iteration than the one that made it."""
    tensor = probe.data(*sizes)
    for _ in range(2):
        tensor.add_(1)
        probe.library.probe_end_iteration()
    return tensor


def test_a_tensor_moves_with_its_views_and_what_is_evicted_above_it(runtime):
    tensor = lasting(1000)
    view, above = tensor[10:20], tensor.exp()
    expected = above.clone()
    version = tensor._version
    assert probe.evict(above)
    assert gather() == 4000
    assert torch.equal(above, expected) and torch.equal(view, tensor[10:20]) and tensor._version == version
    tensor.mul_(2)
    assert torch.equal(view, tensor[10:20])


def test_what_is_new_stays(runtime):
    probe.data(1000).add_(1)
    probe.library.probe_end_iteration()
    assert gather() == 0


def test_what_code_may_reach_unseen_stays(runtime):
    lent, shown = lasting(1000), lasting(1000)
    array, at = lent.numpy(), shown.data_ptr()
    assert gather() == 0
    array[0] = 7
    assert lent[0] == 7 and shown.data_ptr() == at


def test_what_is_away_stays_away(runtime, tmp_path):
    with probe.spilling(tmp_path):
        tensor = lasting(1000)
        expected = tensor.clone()
        assert probe.offload(tensor)
        assert gather() == 0 and probe.is_evicted(tensor)
        assert torch.equal(tensor, expected)
        assert gather() == 4000
        assert torch.equal(tensor, expected)


def test_what_rescue_offloaded_comes_back(runtime, tmp_path):
    with probe.spilling(tmp_path):
        tensor = lasting(1000)
        expected = tensor.clone()
        probe.library.probe_listen(1)
        assert probe.offload(tensor)
        assert gather() == 4000 and not probe.is_evicted(tensor)
        probe.library.probe_listen(0)
        assert torch.equal(tensor, expected)


def test_a_move_that_finds_no_memory_leaves_all_as_it_was(runtime):
    tensor = lasting(100_000)
    expected = tensor.clone()
    with probe.limited(1000):
        assert gather() == 0
    assert torch.equal(tensor, expected)
