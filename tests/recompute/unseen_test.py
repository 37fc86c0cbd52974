"""Ops of subclasses, modes, transforms and other kinds of tensors are seen, or what they read stays."""

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from tests.recompute import probe
from tests.recompute.probe import counters, data, evict, is_evicted

pytestmark = pytest.mark.usefixtures("runtime")


class Wrapped(torch.Tensor):
    """Holds another tensor, as quantised weights and distributed tensors do."""

    @staticmethod
    def __new__(cls, inner):
        self = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        self.inner = inner
        return self

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(Wrapped, lambda one: one.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, Wrapped, func(*args, **kwargs))


class Noting(TorchDispatchMode):
    """Adds up everything in a tensor of its own."""

    def __init__(self, total):
        super().__init__()
        self.total = total

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.total.add_(1.0)
        return func(*args, **(kwargs or {}))


def test_a_subclass_reads_what_is_away():
    x = data(40)
    y = x.exp()
    wrapped, wanted = Wrapped(y), x.exp().sin().sum()
    assert evict(y)
    assert torch.equal(wrapped.sin().inner.sum(), wanted)


def test_a_subclass_writes_what_others_start_from():
    x = data(40)
    y = x.exp()
    z = y.cos()
    before, wanted = z.clone(), x.exp() * 3
    assert evict(z)
    Wrapped(y).mul_(3)
    assert torch.equal(z, before)
    assert evict(y), "the op inside was recorded"
    assert torch.equal(y, wanted)


def test_what_a_subclass_makes_is_evictable():
    x = data(40)
    made = (Wrapped(x).sin() * 2).inner
    before = made.clone()
    assert evict(made) and torch.equal(made, before)


def test_a_mode_that_keeps_tensors_of_its_own():
    x = data(40)
    total = x.exp()
    wanted = x.exp() + 1 + 1
    assert evict(total)
    with Noting(total):
        y = x.sin()
        z = y.cos()
    assert torch.equal(total, wanted)
    before = z.clone()
    assert evict(y) and evict(z), "ops under a mode are recorded by what the mode calls"
    assert torch.equal(z, before)


def test_a_mode_ends_and_the_thread_is_seen_as_before():
    x = data(40)
    with Noting(torch.zeros(())):
        x.sin()
    ops = counters()["ops"]
    y = x.cos()
    assert counters()["ops"] == ops + 1 and evict(y)


def test_jagged_tensors():
    x, offsets = data(12, 4), torch.tensor([0, 3, 12])
    values = x.exp()
    nested = torch.nested.nested_tensor_from_jagged(values, offsets=offsets + 0)
    wanted = (x.exp().sin() * 2).sum()
    assert evict(values)
    assert torch.equal((nested.sin() * 2).values().sum(), wanted)


def test_nested_tensors_keep_their_sizes():
    a, b = data(3, 4), data(5, 4)
    nested = torch.nested.as_nested_tensor([a + 0, b + 0])
    wanted = [one.sin() for one in (a, b)]
    for made in (nested.sin(), nested.to_padded_tensor(0.0), nested * 2, nested.transpose(1, 2)):
        evict(made) if not made.is_nested else None
    assert all(torch.equal(one, other) for one, other in zip(nested.sin().unbind(), wanted))


def test_a_sparse_tensor_whose_values_were_given_anew():
    """What `_values()` shows is an ordinary tensor, and a copy into it a recipe."""
    x, indices = data(3), torch.tensor([[0, 1, 2]])
    sparse = torch.sparse_coo_tensor(indices, x.clone(), (4,)).coalesce()
    values = sparse._values()
    values.copy_(x * 2)
    wanted = torch.cat([x * 2, torch.zeros(1)])
    evict(values)
    assert torch.equal(sparse.to_dense(), wanted)
    assert not evict(values), "kernels take it out of the sparse tensor without an op"


def test_a_sparse_op_writes_the_values():
    x, indices = data(3), torch.tensor([[0, 1, 2]])
    sparse = torch.sparse_coo_tensor(indices, x.clone(), (4,)).coalesce()
    made = sparse._values().exp()
    before = made.clone()
    assert evict(made)
    sparse.mul_(2)
    assert torch.equal(made, before)


def test_tangents_are_read_and_written_by_autograd_alone():
    x, v = data(40), data(40)
    tangent = v.exp()
    late = tangent.cos()
    before = late.clone()
    wanted = v.exp() * x.cos() * 2
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone(), tangent)
        assert evict(tangent)
        out = forward_ad.unpack_dual(dual.sin() * 2)
        assert torch.equal(out.tangent, wanted)
        assert evict(late)
        dual.mul_(2)
        assert torch.equal(late, before), "the product wrote the tangent"


def test_zero_tangents():
    x, v = data(40), data(40)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, v)
        out = forward_ad.unpack_dual((dual * 2).detach() + dual * dual.round())
        assert out.tangent.shape == v.shape
    zero = torch._efficientzerotensor((40,))
    assert torch.equal(zero + x, x) and not evict(zero)


def test_lazy_bits():
    """A conjugated or negated argument is copied between op and kernel; the copy must outlive the kernel."""
    x = torch.randn(40, dtype=torch.complex64)
    y, z = x.exp(), x.sin()
    wanted = x.exp().conj().resolve_conj() * x.sin()
    assert evict(y) and evict(z)
    assert torch.equal(y.conj() * z, wanted)
    assert torch.equal(y.conj().imag.neg(), (-x.exp().conj().resolve_conj().imag))


def test_quantised_tensors():
    x = data(4, 6)
    scales, zeros = torch.full((4,), 0.1).double() + 0, torch.zeros(4, dtype=torch.long) + 0
    quantised = torch.quantize_per_channel(x.exp(), scales, zeros, 0, torch.qint8)
    wanted = quantised.dequantize().clone()
    for one in (quantised.q_per_channel_scales(), quantised.q_per_channel_zero_points()):
        evict(one)
    assert torch.equal(quantised.dequantize(), wanted)


@pytest.mark.parametrize("transform", [
    lambda f, x: torch.func.grad(lambda a: f(a).sum())(x), lambda f, x: torch.func.vmap(f)(x),
    lambda f, x: torch.func.jvp(f, (x,), (x,))[1], lambda f, x: torch.func.jacrev(f)(x[0]),
    lambda f, x: torch.func.jacfwd(f)(x[0]), lambda f, x: torch.func.hessian(lambda a: f(a).sum())(x[0]),
    lambda f, x: torch.func.vmap(torch.func.grad(lambda a: f(a).sum()))(x),
    lambda f, x: torch.func.linearize(f, x)[1](x), lambda f, x: torch.func.functionalize(f)(x)])
def test_transforms_read_what_is_away(transform):
    x = data(5, 8)
    captured, given = x.exp(), x.sin()

    def f(a):
        return (a * captured[0]).tanh() + captured[1].cos()
    wanted = transform(f, given.clone())
    assert evict(captured) and evict(given)
    made = transform(f, given)
    assert torch.equal(made, wanted)
    evict(made)
    assert torch.equal(made, wanted)


def _kept(x):
    return x.sin() * 2


def _other(x):
    return x.cos() * 1


def test_higher_order_operators():
    from torch._higher_order_ops.cond import cond_op
    x = data(40)
    y = x.exp()
    assert evict(y)
    with torch.no_grad():
        assert torch.equal(cond_op(torch.tensor(True), _kept, _other, (y,)), _kept(x.exp()))


def test_an_op_of_other_code_keeps_what_it_makes_inside():
    """Between two ops that it calls it may read the first one's result through a pointer."""
    inside = []

    @torch.library.custom_op("stowage_test::keeps_inside", mutates_args=())
    def keeps_inside(x: torch.Tensor) -> torch.Tensor:
        inside.append(x.sin())
        inside.append(evict(inside[0]))
        return inside[0] + 1
    keeps_inside(data(40))
    assert inside[1] is False


GUARDS = {
    "_DisableTorchDispatch": (), "_AutoDispatchBelowAutograd": (), "_AutoDispatchBelowADInplaceOrView": (),
    "_DisableAutocast": (), "_DisableFuncTorch": (), "_DisablePythonDispatcher": (), "_EnablePythonDispatcher": (),
    "_EnablePreDispatch": (), "_InferenceMode": (True,), "DisableTorchFunction": (), "DisableTorchFunctionSubclass": (),
}


@pytest.mark.parametrize("name", [name for name in GUARDS if hasattr(torch._C, name)])
def test_pytorchs_own_guards_leave_ops_seen(name):
    x = data(40)
    y = x.exp()
    wanted = x.exp()
    assert evict(y)
    with getattr(torch._C, name)(*GUARDS[name]):
        assert torch.equal(y, wanted)
    assert not is_evicted(y)


def test_tracing_with_real_tensors():
    from torch.fx.experimental.proxy_tensor import make_fx
    x = data(40)
    y = x.exp()
    assert evict(y)
    traced = make_fx(_kept)(y)
    assert torch.equal(traced(y), _kept(x.exp()))


def test_tracing_with_fake_tensors():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(data(8, 8))

        def forward(self, x):
            return (x @ self.weight).relu().view(-1).sum()
    model, x = Model(), data(8, 8)
    y = x.exp()
    wanted = model(x.exp())
    assert evict(y)
    program = torch.export.export(model, (y,))
    assert is_evicted(y) or torch.equal(y, x.exp()), "no fake op reads it"
    assert torch.equal(program.module()(y), wanted)


def test_meta_tensors_have_no_memory():
    x = torch.empty(40, device="meta")
    assert (x.exp() * 2).sum().shape == () and not evict(x)


def test_functional_modules_and_ensembles():
    models = [torch.nn.Linear(6, 3) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    x = data(5, 6)
    y = x.exp()
    wanted = torch.stack([model(x.exp()) for model in models])
    assert evict(y)

    def one(own, others, given):
        return torch.func.functional_call(models[0], (own, others), (given,))
    assert torch.allclose(torch.func.vmap(one, in_dims=(0, 0, None))(parameters, buffers, y), wanted, atol=1e-6)


def test_scripted_code():
    @torch.jit.script
    def scripted(x: torch.Tensor):
        total = x.sum()
        if bool(total > 0):
            return x.sin() * 2
        return x.cos()
    x = data(40)
    y = x.exp()
    assert evict(y)
    assert torch.equal(scripted(y), x.exp().sin() * 2)


def test_python_dispatch_ignores_lazy_bits():
    """PyTorch excludes the keys that see to them there: a kernel that conjugates inside has other bits, to be had again."""
    x = torch.randn(4, 4, dtype=torch.complex64)
    with Noting(torch.zeros(())):
        under_mode = torch.linalg.pinv(x)
    outside = torch.linalg.pinv(x)
    before = under_mode.clone(), outside.clone()
    evict(under_mode), evict(outside)
    assert torch.equal(under_mode, before[0]) and torch.equal(outside, before[1])


def test_kernels_of_views_keep_what_they_make():
    """They are let pass, and make the sizes of nested tensors by ops."""
    nested = torch.nested.as_nested_tensor([data(3, 4), data(5, 4)])
    wanted = [one.transpose(0, 1) for one in nested.unbind()]
    assert probe.library.probe_install(1, 0, 1, 1) == 0
    for _ in range(5):
        turned = nested.unsqueeze(1).squeeze(1).transpose(1, 2)
        assert all(torch.equal(one, other) for one, other in zip(turned.unbind(), wanted))


def test_a_zero_tensor_that_was_resized():
    """It is an ordinary tensor then, and still without memory."""
    zero = torch._efficientzerotensor(()).resize_(())
    assert not evict(zero.detach().clone() if zero._is_zerotensor() else zero)


def test_a_dual_call_may_run_a_decomposition():
    """Forward-mode AD has no formula for some ops: it computes the primal otherwise than the kernel does, too."""
    x, v = data(5, 5).softmax(0), data(5, 5)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(v.clone(), v * 0.5)
        made = forward_ad.unpack_dual(torch._softmax_backward_data(dual, x, 0, torch.float32)).primal
        before = made.clone()
        evict(made)
        assert torch.equal(made, before)
