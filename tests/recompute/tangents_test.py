"""Primals and tangents of forward-mode AD are tensors like others: made by ops that are seen, evicted and made again."""

import threading

import pytest
import torch
from torch.autograd import forward_ad
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from tests.recompute import probe
from tests.recompute.probe import data, evict

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.fixture(autouse=True)
def level():
    with forward_ad.dual_level():
        yield


def dual(*sizes):
    return forward_ad.make_dual(data(*sizes), data(*sizes))


def both_come_back(made: torch.Tensor) -> bool:
    """Primal and tangent can be evicted, and have the same bits afterwards."""
    pair = [one.detach() for one in forward_ad.unpack_dual(made)]
    before = [one.clone() for one in pair]
    assert all(map(evict, pair))
    return all(map(torch.equal, pair, before))


@pytest.mark.parametrize("op", [
    lambda x, w: x.sin() * 2, lambda x, w: x.exp().mul_(3), lambda x, w: x * x + w.tanh(), lambda x, w: F.gelu(x @ w.t()),
    lambda x, w: torch.cat([x.sin(), w]), lambda x, w: F.linear(x, w, w[0]), lambda x, w: (x * 1).sigmoid_(),
    lambda x, w: F.layer_norm(x, (8,)), lambda x, w: torch.stack([x.exp(), w]).sum(0),
    lambda x, w: F.dropout(x, 0.5), lambda x, w: torch.where(w > 0, x, w)], ids=range(11))
def test_what_a_dual_call_makes_is_evictable(op):
    x, w = dual(8, 8), data(8, 8)
    assert both_come_back(op(x, w))


def test_both_of_what_an_op_read_are_evictable_while_it_is_needed():
    x = dual(40)
    y = x.exp()
    z = y.sin()
    assert both_come_back(y)
    assert both_come_back(z)
    tangent = forward_ad.unpack_dual(y).tangent
    assert evict(tangent) and evict(y.detach())
    assert both_come_back(y.cos()), "what it reads comes back before"


def test_a_write_of_both_makes_further_versions():
    x = dual(40)
    y = x.exp()
    late = y.sin()
    pair = [one.detach() for one in forward_ad.unpack_dual(late)]
    wanted = [one.clone() for one in pair]
    assert all(map(evict, pair))
    y.mul_(2).add_(x)
    assert all(map(torch.equal, pair, wanted)), "they start from what was there before the write"
    assert both_come_back(y)


def test_a_written_view():
    x = dual(6, 6)
    y = x.exp()
    y[1:3] = x[1:3].sin()
    y.t()[0].mul_(2)
    assert both_come_back(y)


def test_an_op_with_a_gradient():
    leaf = data(8, 8).requires_grad_()
    x = forward_ad.make_dual(leaf * 1, data(8, 8))
    y = F.gelu(x @ x)
    assert both_come_back(y)
    made, = torch.autograd.grad(y.sum(), leaf)
    assert both_come_back(made)


def test_lazy_bits():
    x = forward_ad.make_dual(torch.randn(40, dtype=torch.complex64), torch.randn(40, dtype=torch.complex64))
    assert both_come_back(x.conj() * x.exp())
    assert both_come_back(x.exp().conj().imag.sin())


def test_under_a_mode():
    class Passing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = dual(40)
    with Passing():
        made = x.exp().mul_(2)
    assert both_come_back(made)


def test_what_a_function_with_jvp_makes():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, tangent):
            x, = ctx.saved_tensors
            return 3 * x * x * tangent

    assert both_come_back(Cube.apply(dual(40)))


def test_a_custom_op_in_a_hook_of_a_dual_call_stays_opaque():
    """Between its ops it may read through pointers: what these made stays."""
    made = []
    with torch.library._scoped_library("stowage_tangents", "DEF") as library:
        library.define("keeps(Tensor x) -> Tensor")
        library.impl("keeps", lambda x: made.append(x.sin()) or x.cos(), "CompositeExplicitAutograd")

        def pack(tensor):
            with torch.no_grad():
                torch.ops.stowage_tangents.keeps(tensor.detach())
            return tensor
        x = forward_ad.make_dual(data(40).requires_grad_() * 1, data(40))
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            x.exp()
    assert made and not any(map(evict, made))


def test_another_thread_sees_them_too():
    x, given = data(40).requires_grad_(), dual(40)
    y = forward_ad.make_dual(x * 1, data(40)).exp()
    seen = []
    y.register_hook(lambda gradient: seen.append(gradient * 1))
    worker = threading.Thread(target=lambda: y.backward(given))
    worker.start()
    worker.join()
    assert both_come_back(seen[0])


def test_nothing_is_forgotten_of_dual_calls():
    """Forced evictions at each op, over a loss of primal and tangent, and its gradients."""
    def gradients():
        torch.manual_seed(3)
        weights = [data(8, 8).requires_grad_() for _ in range(3)]
        x = dual(8, 8)
        for weight in weights:
            x = (F.gelu(x @ weight) + x).relu_()
        primal, tangent = forward_ad.unpack_dual(x)
        return torch.autograd.grad(primal.sum() + tangent.square().sum(), weights)
    wanted = gradients()
    with probe.installed(every=1):
        assert all(map(torch.equal, gradients(), wanted))
        assert probe.counters()["evictions"] > 100
