"""What a budget that begins late is told of: every tensor that Python knows of, gradients, and what graphs have saved."""

import gc

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from stowage import _budget


def addresses() -> set[int]:
    gc.collect()
    return {one.untyped_storage().data_ptr() for one in _budget._present()}


def saved_by(output: torch.Tensor) -> set[int]:
    """By autograd's own attributes, node by node."""
    found, nodes = set(), [output.grad_fn]
    while nodes:
        node = nodes.pop()
        for name in dir(node):
            if name.startswith("_saved_") and isinstance(value := getattr(node, name), torch.Tensor):
                found.add(value.untyped_storage().data_ptr())
        nodes += [behind for behind, _ in node.next_functions if behind is not None]
    return found


def test_what_only_a_graph_holds_is_found():
    model = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.GELU(), nn.BatchNorm1d(64))))
    output = model(torch.randn(8, 64)).sum()
    wanted = saved_by(output)
    assert len(wanted) >= 16
    assert wanted <= addresses()
    output.backward()
    assert {p.grad.data_ptr() for p in model.parameters()} <= addresses(), "what a pass has freed is no error"


class Doubled(torch.autograd.Function):
    kept: list[int] = []

    @staticmethod
    def forward(ctx, x):
        made = x * 2
        Doubled.kept.append(made.data_ptr())
        ctx.save_for_backward(made)
        return made + 1

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient


def test_what_a_custom_function_saved_is_found():
    output = Doubled.apply(torch.randn(64, requires_grad=True)).sum()
    assert set(Doubled.kept) <= addresses()
    output.backward()


def test_nothing_is_unpacked_that_hooks_of_the_job_have_packed():
    """A checkpoint would run its region again, and count it as used."""
    runs = []

    def region(x):
        runs.append(1)
        return torch.sin(torch.sin(x))
    x = torch.randn(64, requires_grad=True)
    output = checkpoint(region, x, use_reentrant=False).sum()
    unpacked = []
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one, lambda one: unpacked.append(one) or one):
        output = torch.cos(output)
    assert x.data_ptr() in addresses()
    assert len(runs) == 1 and unpacked == []
    output.backward()
    assert len(runs) == 2 and len(unpacked) == 1


def test_a_view_that_autograd_refuses_is_left_out():
    """It makes the view's node anew when that is asked for, and raises there."""
    x = torch.randn(64, requires_grad=True)
    base = x * 1
    parts = base.unbind()
    base.add_(1)
    assert x.data_ptr() in addresses()
    with pytest.raises(RuntimeError, match="is a view and its base"):
        print(parts[0].grad_fn)


def test_a_tensor_that_was_overwritten_since_is_left_to_autograd():
    x = torch.randn(64, requires_grad=True)
    y = x * 1
    output = (y * y).sum()
    y.detach().add_(1)
    assert x.data_ptr() in addresses()
    try:
        output.backward()
        raise AssertionError("autograd finds it")
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
