"""Iterations that differ from the schedule's in a few ops follow it all the same: behind these, and with the same bits."""

import gc

import pytest
import torch

from tests.recompute import jobs, planned_probe, probe
from tests.recompute.planned_probe import library
from tests.recompute.planned_test import (  # noqa: F401 (fixtures among them)
    LARGE,
    RECORDED,
    deterministic,
    differences,
    exact_allocator,
    fresh,
    nothing_followed,
    plain,
    record,
    schedule,
    step,
)

LAST = 20
WIDTH, BATCH = 64, 512


def trunk() -> torch.nn.Sequential:
    return torch.nn.Sequential(*(layer for _ in range(10) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())))


def job(one_kind: str) -> jobs.Trainer:
    """Iterations that differ now and then, in the way that `one_kind` names."""
    torch.manual_seed(jobs.SEED)
    model = trunk()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    inputs = torch.randn(BATCH, WIDTH)
    logged = torch.zeros(())

    def one(i: int) -> list[float]:
        nonlocal logged
        optimizer.zero_grad()
        now = inputs
        if one_kind == "augmented":  # a rectangle of another size in each iteration, as cutmix has it
            now = inputs.clone()
            now[:, :3 + i] = inputs.flip(0)[:, :3 + i]
        for number, layer in enumerate(model):
            now = layer(now)
            if one_kind == "watched" and number == 9 and i % 3 == 2:
                logged = logged + now.detach().abs().mean()  # a metric in the middle
        loss = now.square().mean()
        if one_kind == "clipped" and i % 4 != 3:
            loss = loss.clamp(max=10.0)
        loss.backward()
        if one_kind == "late" and i % 3 == 2:
            logged = logged + sum(parameter.grad.norm() for parameter in model[0].parameters())
        optimizer.step()
        if one_kind == "told" and i % 3 == 2:
            logged = 0.9 * logged + 0.1 * loss.detach()
        return [loss.item(), float(logged)]
    return jobs.Trainer([model], [optimizer], one)


def followed_by_more_now_and_then() -> jobs.Trainer:
    """Every fourth iteration has a few passes of another size before its own ops."""
    trainer = job("plain")
    model, one = trainer.modules[0], trainer.step

    def step_after_others(i: int) -> list[float]:
        for _ in range(3 if i % 4 == 3 else 0):
            model(torch.ones(BATCH // 2, WIDTH)).sum().backward()
        return one(i)
    trainer.step = step_after_others
    return trainer


def follow(name: str) -> tuple[dict[str, int], list[dict[str, int]], dict[str, int]]:
    """Follows one schedule, at 70 % of what an iteration adds: its facts, what each iteration did, the counts."""
    wanted = plain(name, LAST)
    gc.collect()
    trainer = fresh(name)
    base = library.ledger_held()
    before = planned_probe.counts()
    with probe.installed(smallest=1):
        budget, made = schedule(base, record(trainer), 0.7)
        planned_probe.follow()
        probe.library.probe_end_iteration()
        library.ledger_limit(budget)
        library.ledger_peak(1)
        done = []
        for i in range(RECORDED + 1, LAST):
            done.append(step(trainer, i))
            probe.library.probe_end_iteration()
        peak = library.ledger_peak(0)
        library.ledger_limit(0)
        counts = {key: value - before[key] for key, value in planned_probe.counts().items()}
    assert differences(wanted, trainer.digests()) == []
    assert peak <= budget
    return made, done, counts


@pytest.mark.parametrize("kind", ("augmented", "watched", "clipped", "late", "told"))
def test_a_few_ops_that_differ_are_passed_over(kind, monkeypatch):
    monkeypatch.setitem(LARGE, kind, lambda: job(kind))
    made, done, counts = follow(kind)
    assert counts["iterations"] == len(done) and counts["left"] == 0
    assert 0 < counts["resynced"] <= len(done)
    assert all(made["replays"] <= one["replays"] <= made["replays"] + 2 for one in done), "also behind what differs"


def test_an_iteration_of_another_kind_is_left(monkeypatch):
    monkeypatch.setitem(LARGE, "other", followed_by_more_now_and_then)
    _, _, counts = follow("other")
    assert counts["left"] == sum(i % 4 == 3 for i in range(RECORDED + 1, LAST)) and counts["resynced"] == 0
