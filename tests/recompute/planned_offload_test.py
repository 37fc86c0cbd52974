"""Following a schedule that offloads: the copies that the scheduler foresees are made, within the bytes that it foresees."""

import gc

import pytest
import torch
from torch import nn

from tests.recompute import jobs, planned_probe, probe
from tests.recompute.forced_evictions_test import differences
from tests.recompute.planned_probe import library

pytestmark = pytest.mark.usefixtures("deterministic")

RECORDED = 2  # the iteration that is written down: optimizers have their state
LIMITED = RECORDED + 3  # from here on: what lasts is known by its use in the iteration before
LAST = LIMITED + 6


@pytest.fixture(autouse=True)
def no_limit():
    library.ledger_limit(0)
    yield
    library.ledger_limit(0)
    library.planned_leave()


def perceptron(optimizer: str, frozen: int = 0) -> jobs.Trainer:
    """Mostly parameters: 10 layers, the first `frozen` of them without gradients."""
    torch.manual_seed(jobs.SEED)
    net = nn.Sequential(*(layer for _ in range(10) for layer in (nn.Linear(128, 128), nn.Tanh())))
    for layer in net[:2 * frozen]:
        layer.requires_grad_(False)
    trained = jobs.OPTIMIZERS[optimizer]([p for p in net.parameters() if p.requires_grad])
    inputs = torch.randn(16, 128)

    def one(i: int) -> list[float]:
        trained.zero_grad()
        loss = (net(inputs) - i).square().mean()
        loss.backward()
        trained.step()
        return [loss.item()]
    return jobs.Trainer([net], [trained], one)


def iterate(trainer: jobs.Trainer, i: int) -> dict[str, int]:
    """What the runtime did in it. It ends with the iteration before."""
    probe.library.probe_end_iteration()
    before = probe.counters()
    trainer.losses.append(trainer.step(i))
    after = probe.counters()
    return {key: after[key] - before[key] for key in ("replays", "offloads", "fetches", "rooms")}


def plain(build) -> dict[str, str]:
    trainer = build()
    with probe.installed(smallest=1):
        for i in range(LAST):
            iterate(trainer, i)
    return trainer.digests()


@pytest.mark.parametrize("share", (0.75, 0.5, 0.33))
@pytest.mark.parametrize(("optimizer", "frozen"), [("adam", 0), ("adamw_amsgrad", 0), ("sgd_momentum", 0), ("adam", 7)])
def test_copies_that_are_planned_happen(tmp_path, optimizer, frozen, share):
    wanted = plain(lambda: perceptron(optimizer, frozen))
    gc.collect()
    outside = library.ledger_held()
    trainer = perceptron(optimizer, frozen)
    with probe.spilling(tmp_path), probe.installed(smallest=1):
        for i in range(RECORDED):
            iterate(trainer, i)
        library.planned_record_next()
        iterate(trainer, RECORDED)
        probe.library.probe_end_iteration()
        log = planned_probe.take_log()
        budget = outside + int((log["peak"] - outside) * share)
        made = planned_probe.make(budget)
        assert made["copies"] > 0 and made["early"] > 0
        planned_probe.follow()
        for i in range(RECORDED + 1, LIMITED):
            iterate(trainer, i)
        before = planned_probe.counts()
        library.ledger_limit(budget)
        library.ledger_peak(1)
        done = [iterate(trainer, i) for i in range(LIMITED, LAST)]
        peak = library.ledger_peak(0)
        library.ledger_limit(0)
        counts = {key: value - before[key] for key, value in planned_probe.counts().items()}
    assert differences(wanted, trainer.digests()) == []
    assert counts["left"] == counts["refused"] == 0
    assert all(one == done[0] for one in done), "the same in every iteration"
    assert done[0]["rooms"] == 0, "rescue has nothing to do"
    assert done[0]["replays"] == made["replays"]
    assert done[0]["fetches"] <= made["copies"] <= done[0]["fetches"] + done[0]["offloads"], "a copy may be there already"
    assert peak <= made["peak"] <= budget
