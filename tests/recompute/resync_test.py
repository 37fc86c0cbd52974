"""Iterations that differ from the schedule's in a few ops follow it all the same: behind these, and with the same bits."""

import pytest
import torch

from tests.recompute import jobs, planned_test
from tests.recompute.planned_test import (  # noqa: F401 (fixtures among them)
    LARGE,
    RECORDED,
    Followed,
    deterministic,
    exact_allocator,
    nothing_followed,
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


def follow(name: str) -> Followed:
    followed = planned_test.follow(name, 0.7, LAST)
    assert followed.peak <= followed.budget
    return followed


@pytest.mark.parametrize("kind", ("augmented", "watched", "clipped", "late", "told"))
def test_a_few_ops_that_differ_are_passed_over(kind, monkeypatch):
    monkeypatch.setitem(LARGE, kind, lambda: job(kind))
    followed = follow(kind)
    planned = followed.made["replays"]
    assert followed.counts["iterations"] == len(followed.done) and followed.counts["left"] == 0
    assert 0 < followed.counts["resynced"] <= len(followed.done)
    assert all(planned <= one["replays"] <= planned + 2 for one in followed.done), "also behind what differs"


def test_an_iteration_of_another_kind_is_left(monkeypatch):
    monkeypatch.setitem(LARGE, "other", followed_by_more_now_and_then)
    counts = follow("other").counts
    assert counts["left"] == sum(i % 4 == 3 for i in range(RECORDED + 1, LAST)) and counts["resynced"] == 0
