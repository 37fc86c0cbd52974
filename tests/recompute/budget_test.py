"""Rescue alone holds a hard limit with the same bits, or ends with an out-of-memory error that says what to do."""

import gc
import threading
import time

import pytest
import torch

from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.recompute import jobs, probe, trainers
from tests.recompute.forced_evictions_test import differences

pytestmark = pytest.mark.usefixtures("deterministic")

ITERATIONS = 4


def _sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05)


def deep_perceptron():
    model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(32, 32), nn.GELU(), nn.Dropout(0.1))))
    return jobs._supervised(model, torch.randn(256, 32), torch.randint(32, (256,)), _sgd(model))


def convolutions():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(True),
                          *(nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(True))
                            for _ in range(5)), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return jobs._supervised(model, *jobs._images(8, 20), _sgd(model))


def transformer():
    model = jobs._Transformer(causal=True, tied=True, layers=3)
    ids = torch.randint(23, (8, 24))
    return jobs._supervised(model, ids, ids.roll(-1, 1), _sgd(model), jobs.token_loss)


def recurrent():
    model = jobs._Lstm()
    ids = torch.randint(23, (16, 24))
    return jobs._supervised(model, ids, ids.roll(-1, 1), _sgd(model), jobs.token_loss)


def penalised():
    model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(32, 32), nn.Softplus())), nn.Linear(32, 1))
    return trainers.penalised(model, torch.randn(512, 32), torch.mean)


JOBS = {"deep_perceptron": deep_perceptron, "convolutions": convolutions, "transformer": transformer,
        "recurrent": recurrent, "unet": jobs.unet, "densenet": jobs.densenet}


def run(name: str, limit: int):
    return run_job(JOBS[name], limit)


def run_job(build, limit: int):
    """Digests of the job under `limit` bytes above what it holds at its start, and the peak above that."""
    gc.collect()
    torch.manual_seed(jobs.SEED)
    trainer = build()
    with probe.installed(smallest=256), probe.limited(limit) as most:
        trainer.losses += [trainer.step(i) for i in range(ITERATIONS)]
        counted, peak = probe.counters(), most()
    return trainer.digests(), peak, counted


@pytest.fixture(scope="module", autouse=True)
def counting_allocator():
    probe.library.probe_budget(0)


@pytest.mark.parametrize("name", list(JOBS))
@pytest.mark.parametrize("share", [0.85, 0.7])
def test_a_limit_is_hard_and_changes_no_bit(name, share):
    plain, peak, counted = run(name, 0)
    assert counted["evictions"] == 0
    limit = int(peak * share)
    rescued, held, counted = run(name, limit)
    assert held <= limit
    assert differences(plain, rescued) == []
    assert counted["evictions"] > 0 and counted["rooms"] > 0


def test_parameters_are_written_while_values_that_start_from_them_are_away():
    """A graph that lives until the optimizer's step, under a budget that has no room for it there."""
    plain, peak, _ = run_job(penalised, 0)
    rescued, held, counted = run_job(penalised, int(peak * 0.42))
    assert held <= int(peak * 0.42)
    assert differences(plain, rescued) == []
    assert counted["restores"] < counted["evictions"], "what nobody reads any more need not come back"


@pytest.mark.parametrize("name", ["convolutions", "transformer", "unet"])
def test_steady_iterations_evict_the_same(name):
    """What is freed, and before which allocation: once costs are known, in every iteration alike."""
    steady = 6
    _, peak, _ = run(name, 0)
    gc.collect()
    trainer = JOBS[name]()
    base = probe.library.probe_held()
    choices = []
    with probe.installed(smallest=256):
        probe.library.probe_budget(base + int(peak * 0.7))
        try:
            for i in range(steady + 6):
                trainer.step(i)
                probe.library.probe_end_iteration()
                before = probe.counters()
                choices.append((probe.library.probe_choices(), before["evictions"], before["replays"]))
        finally:
            probe.library.probe_budget(0)
    digests = [digest for digest, _, _ in choices]
    evictions = [b[1] - a[1] for a, b in zip(choices, choices[1:])]
    assert digests[0] != 0 and evictions[-1] > 0
    assert len(set(digests[steady:])) == 1, digests
    assert len(set(evictions[steady:])) == 1, evictions


def test_a_job_that_cannot_fit_is_told_what_would_do():
    with probe.installed(smallest=256):
        keep = [torch.randn(1000) for _ in range(10)]
        probe.library.probe_budget(probe.library.probe_held() + 1000)
        try:
            with pytest.raises(torch.OutOfMemoryError) as told:
                torch.randn(5000)
        finally:
            probe.library.probe_budget(0)
    for part in ("do not fit", "cannot be recomputed", "A budget of", "would be enough"):
        assert part in str(told.value)
    assert len(keep) == 10


def test_what_a_running_op_reads_is_never_taken():
    """Room for one more result only: each op's inputs stay while its output is allocated."""
    with probe.installed(smallest=256):
        x = torch.randn(10000)
        values = [x.sin()]
        probe.library.probe_budget(probe.library.probe_held() + 3 * 40000 + 4096)
        try:
            for i in range(12):
                values.append(values[-1].cos() + values[0])
            wanted = x.sin()
            for value in values:
                assert torch.equal(value, wanted)
                wanted = wanted.cos() + x.sin()
        finally:
            probe.library.probe_budget(0)
        assert probe.counters()["evictions"] > 5


def test_a_recomputation_waits_for_what_an_op_of_another_thread_reads():
    inside = threading.Event()

    class Slow(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            inside.set()
            time.sleep(0.03)
            return func(*args, **(kwargs or {}))

    def read_slowly(value):
        with Slow():
            value.sum()
    with probe.installed(smallest=256):
        x = probe.data(10000)
        first, second = x.sin(), x.exp()
        assert probe.evict(first)
        probe.library.probe_budget(probe.library.probe_held() + 8192)
        other = threading.Thread(target=read_slowly, args=(second,))
        other.start()
        try:
            assert inside.wait(20)
            total = first.sum()
            assert probe.is_evicted(second)
        finally:
            probe.library.probe_budget(0)
            other.join()
        assert total == x.sin().sum()


def test_a_recomputation_needs_no_room_for_all_that_it_makes_on_its_way():
    """A gradient in the middle of a backward pass starts from the whole forward pass, in reverse order."""
    depth, elements = 24, 4096
    x = torch.linspace(-1, 1, elements)

    def gradient():
        layers = [x]
        for _ in range(depth):
            layers.append(layers[-1].sin())
        made = x
        while layers:
            made = made * layers.pop().cos()
        return made
    expected = gradient()
    with probe.installed():
        made = gradient()
        assert probe.evict(made)
        probe.library.probe_budget(probe.library.probe_held() + 6 * elements * 4)
        try:
            again = made + 0
        finally:
            probe.library.probe_budget(0)
        counted = probe.counters()
    assert torch.equal(again, expected)
    assert counted["replays"] > 3 * depth  # some were made twice
    assert counted["replays"] < 3 * depth * depth / 4


def test_of_two_values_the_one_that_is_used_later_goes():
    """By the iteration before; in the first one that which was not used for longer."""
    leaf = torch.randn(1 << 16)
    gone = []
    with probe.installed(smallest=1 << 18), probe.limited(0):
        for _ in range(4):
            early, late = leaf.sin(), leaf.sin()
            probe.library.probe_budget(probe.library.probe_held() + (1 << 17))
            rows = [torch.ones(1 << 15) for _ in range(2)]  # too small to be evicted themselves
            gone.append([probe.is_evicted(one) for one in (early, late)])
            probe.library.probe_budget(0)
            early.sum()
            for _ in range(64):
                rows[0].sum()
            late.sum()
            del early, late, rows
            probe.library.probe_end_iteration()
    assert gone[0] == [True, False] and gone[2:] == [[False, True]] * 2


def test_what_was_recomputed_before_the_runtime_was_begun_anew_is_no_thrashing():
    """Counts begin at 0 then: of 32,768 ops on, what was recomputed before them is judged no more."""
    def decays() -> float:
        values = [torch.arange(1024.0)]
        for _ in range(60):
            values.append(values[-1] * 0.5)
        return sum(float(value[7]) for value in values)
    expected = decays()
    for limit in 8 * [64 << 10]:
        with probe.installed(smallest=1), probe.limited(limit):
            assert [decays() for _ in range(60)] == 60 * [expected]
            assert probe.counters()["replays"] > 0
