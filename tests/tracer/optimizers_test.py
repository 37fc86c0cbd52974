"""Which calls of real optimizers are heard as steps, and when a real loop is steady.

Run by CTest with STOWAGE_TRACER_PROBE naming the probe library.
"""
import ctypes
import os

import pytest
import torch

probe = ctypes.CDLL(os.environ["STOWAGE_TRACER_PROBE"])


@pytest.fixture(autouse=True)
def observed():
    probe.probe_observe_steps()
    yield
    probe.probe_ignore_steps()


def heard():
    assert probe.probe_begins() == probe.probe_ends()
    return probe.probe_ends()


def model_and_loss():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    data = torch.ones(3, 4)
    return model, lambda: model(data).square().sum()


OPTIMIZERS = [
    lambda p: torch.optim.SGD(p, 0.01, momentum=0.9),
    lambda p: torch.optim.SGD(p, 0.01, foreach=True),
    lambda p: torch.optim.AdamW(p, 0.01),
    lambda p: torch.optim.AdamW(p, 0.01, fused=True),
    lambda p: torch.optim.RMSprop(p, 0.01),
]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_each_step_is_heard_once(make):
    model, loss = model_and_loss()
    optimizer = make(model.parameters())
    for _ in range(5):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert heard() == 5


def test_a_closure_that_runs_many_times_is_one_step():
    model, loss = model_and_loss()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=6)

    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    optimizer.step(closure)
    optimizer.step(closure)
    assert heard() == 2


def per_parameter(model):
    return {parameter: torch.optim.AdamW([parameter], 0.01) for parameter in model.parameters()}


def stepping(optimizers):
    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()
    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(step)


def test_steps_inside_a_backward_pass_end_one_iteration_when_it_is_over():
    model, loss = model_and_loss()
    stepping(per_parameter(model))
    for passes in range(1, 5):
        loss().backward()
        assert probe.probe_marks() == passes
    assert heard() == 8


def test_a_backward_pass_that_fails_ends_no_iteration_and_the_next_one_does():
    model, loss = model_and_loss()
    stepping(per_parameter(model))
    x = torch.ones(3, 4, requires_grad=True)
    x.register_hook(lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model(x).sum().backward()
    assert probe.probe_marks() == 0
    loss().backward()
    assert probe.probe_marks() == 1


def test_a_backward_pass_inside_another_one_ends_no_iteration():
    from torch.utils.checkpoint import checkpoint
    model, _ = model_and_loss()
    head = torch.nn.Linear(4, 4)
    stepping(per_parameter(model) | per_parameter(head))
    for passes in range(1, 4):
        checkpoint(model, head(torch.ones(3, 4)), use_reentrant=True).sum().backward()
        assert probe.probe_marks() == passes


def test_many_optimizers_that_step_after_one_backward_pass_end_one_iteration():
    model, loss = model_and_loss()
    optimizers = per_parameter(model).values()
    for passes in range(1, 5):
        loss().backward()
        for optimizer in optimizers:
            optimizer.step()
        assert probe.probe_marks() == passes
    assert heard() == 8


def test_a_learning_rate_scheduler_adds_no_steps():
    model, loss = model_and_loss()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for _ in range(3):
        loss().backward()
        optimizer.step()
        scheduler.step()
    assert heard() == 3


def test_a_step_that_the_scaler_skips_is_not_heard():
    model, loss = model_and_loss()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for factor in (1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        scaler.scale(loss() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
    assert heard() == 2


def test_a_step_that_raises_is_over():
    model, loss = model_and_loss()

    class Failing(torch.optim.SGD):
        def step(self, closure=None):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        Failing(model.parameters(), 0.01).step()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loss().backward()
    optimizer.step()
    assert heard() == 2


def test_transformers_optimizer_is_heard():
    transformers = pytest.importorskip("transformers")
    model, loss = model_and_loss()
    optimizer = transformers.Adafactor(model.parameters(), scale_parameter=True)
    loss().backward()
    optimizer.step()
    assert heard() == 1


def test_a_real_loop_is_steady_by_its_fourth_step():
    probe.probe_record(1)
    model, loss = model_and_loss()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for step in range(6):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        if step >= 3:
            assert probe.probe_period_marks() == 1
    assert probe.probe_steady_ops() > 20
    probe.probe_ignore_ops()
