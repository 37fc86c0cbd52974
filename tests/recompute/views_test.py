"""Views made without grad mode: what they show of an activation is as evictable as it is, of a parameter as little."""

import pytest
import torch

from tests.recompute.probe import data, evict

pytestmark = pytest.mark.usefixtures("runtime")


def test_a_view_of_an_activation_is_no_parameter():
    x = data(8, 8).requires_grad_()
    y = x.exp()
    before = y.detach().clone()
    with torch.no_grad():
        y.view(-1).sum()
    assert evict(y) and torch.equal(y.detach(), before)


def test_an_activation_is_written_through_such_a_view():
    x = data(8, 8).requires_grad_()
    y = x.exp()
    with torch.no_grad():
        y.view(-1)[:5].mul_(2)
    before = y.detach().clone()
    assert evict(y) and torch.equal(y.detach(), before)


def test_a_parameter_is_written_through_such_a_view():
    x = (data(8, 8) * 2).requires_grad_()
    y = x.detach().exp()
    before = y.clone()
    with torch.no_grad():
        flat = x.view(-1)
        assert evict(y)
        flat.add_(1)
    assert torch.equal(y, before)
    assert not evict(x)


def test_a_view_that_gradients_are_asked_for_is_a_parameter():
    flat = data(64) * 2
    x = flat[:32].requires_grad_()
    (x * 2).sum().backward()
    assert not evict(flat)


def test_a_copy_without_memory_pins_nothing():
    given = data(8, 8)
    x = given.exp()
    before = x.clone()
    assert x.to("meta").is_meta
    assert evict(x) and torch.equal(x, before)
