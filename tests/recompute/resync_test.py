"""Iterations that differ from the schedule's in a few ops follow it all the same: behind these, and with the same bits."""

from collections.abc import Callable

import pytest
import torch

from tests.recompute import jobs, planned_test
from tests.recompute.planned_test import (  # noqa: F401 (fixtures among them)
    LARGE,
    RECORDED,
    Followed,
    exact_allocator,
    nothing_followed,
)

pytestmark = pytest.mark.usefixtures("deterministic")

LAST = 20
WIDTH, BATCH = 64, 512


def trunk() -> torch.nn.Sequential:
    return torch.nn.Sequential(*(layer for _ in range(10) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())))


def job(one_kind: str, between: Callable[[int], None] = lambda i: None) -> jobs.Trainer:
    """Iterations that differ now and then, in the way that `one_kind` names. `between`: behind each one's first ops."""
    torch.manual_seed(jobs.SEED)
    model = trunk()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    inputs = torch.randn(BATCH, WIDTH)
    logged = torch.zeros(())

    def one(i: int) -> list[float]:
        nonlocal logged
        optimizer.zero_grad()
        logged = 0.9 * logged + 0.1
        between(i)
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


def evaluate(model: torch.nn.Module) -> None:
    """More ops than a detour may have, and no sizes that training has."""
    with torch.no_grad():
        for size in (BATCH // 2, BATCH // 4, BATCH // 2, BATCH // 8, BATCH // 4):
            model(torch.ones(size, WIDTH)).abs().mean()


def evaluated(where: str) -> jobs.Trainer:
    """Every fourth iteration evaluates: before its own ops, behind the first of them, or instead."""
    trainer = job("plain", lambda i: evaluate(trainer.modules[0]) if where == "between" and i % 4 == 3 else None)
    one = trainer.step

    def step(i: int) -> list[float]:
        if where == "between" or i % 4 != 3:
            return one(i)
        evaluate(trainer.modules[0])
        return one(i) if where == "before" else [0.0]
    trainer.step = step
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


def of_the_other_kind() -> int:
    return sum(i % 4 == 3 for i in range(RECORDED + 1, LAST))


@pytest.mark.parametrize("where", ("before", "between"))
def test_an_iteration_that_evaluates_too_is_followed_behind_that(where, monkeypatch):
    monkeypatch.setitem(LARGE, where, lambda: evaluated(where))
    followed = follow(where)
    planned = followed.made["replays"]
    counts = followed.counts
    assert counts["left"] == 0 and counts["resynced"] == of_the_other_kind(), counts
    assert counts["iterations"] == len(followed.done)
    assert all(planned <= one["replays"] <= planned + 2 for one in followed.done)


def test_an_iteration_of_another_kind_is_left(monkeypatch):
    monkeypatch.setitem(LARGE, "instead", lambda: evaluated("instead"))
    counts = follow("instead").counts
    assert counts["left"] == of_the_other_kind() and counts["resynced"] == 0, counts
