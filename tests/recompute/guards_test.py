"""What other code may see or change: it brings values back, keeps them, or ends their recipes."""

import ctypes
import shutil

import pytest
import torch

from tests.recompute import probe
from tests.recompute.probe import data, evict, is_evicted

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.mark.parametrize("look", [
    lambda t: t.data_ptr(), lambda t: t.untyped_storage().data_ptr(), lambda t: t.untyped_storage()[4:8]])
def test_what_hands_out_memory_brings_it_back_for_good(look):
    x = data(30)
    y = x.exp()
    wanted = y.tolist()
    y = x.exp()
    assert evict(y)
    look(y)
    assert not is_evicted(y) and not evict(y)
    assert y.tolist() == wanted


def test_memory_filled_by_unseen_code_stays():
    x = data(30)
    made = torch.empty_like(x)
    assert not evict(made)
    half = torch.empty_like(x)
    half[:10] = 1.0
    assert not evict(half)


class _Raw(torch.autograd.Function):
    """Computes through NumPy, as an extension computes through pointers."""

    @staticmethod
    def forward(ctx, x):
        out = torch.zeros_like(x) + 1
        out.untyped_storage()  # a pointer would be taken here
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        x, out = ctx.saved_tensors
        assert not any(is_evicted(t) for t in (x, out, gradient))
        return gradient * x


def test_custom_functions_find_their_tensors_resident():
    x = data(30).requires_grad_()
    y = x.exp()
    assert evict(y)
    out = _Raw.apply(y)
    assert not is_evicted(y)
    assert not evict(y) and not evict(out)
    out.sum().backward()


def _layers(x, weight):
    return torch.relu(torch.sin(x @ weight) * 2) + 1


_INDUCTOR = pytest.param("inductor", marks=pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler"))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", _INDUCTOR])
def test_compiled_regions_find_their_inputs(backend):
    """Kernels that no op announces (inductor's, in C++) read what is away and write over what ops had made."""
    weight = data(30, 30)
    x = data(30, 30)
    y = x.exp()
    compiled = torch.compile(_layers, backend=backend)
    compiled(x + 1, weight)
    wanted = _layers(x.exp(), weight)
    assert evict(y)
    out = compiled(y, weight)
    assert torch.allclose(out, wanted, atol=1e-4)
    if backend == "inductor":
        assert not is_evicted(y) and not evict(y), "its kernels may have kept a pointer"
        assert not evict(out), "made by kernels that no op announced"
    before = out.clone()
    evict(out)
    assert torch.equal(out, before)


@pytest.mark.parametrize("backend", ["aot_eager", _INDUCTOR])
def test_compiled_training_leaves_the_same_gradients(backend):
    """Forward and backward are regions; what runs between them is evicted."""
    def gradient(step):
        weight = torch.nn.Parameter(start.clone())
        hidden = (x @ weight).exp()
        evict(hidden)
        out = step(hidden, weight)
        between = out.cos()
        evict(between)
        evict(out)
        between.square().mean().backward()
        return weight.grad
    start, x = data(30, 30) * 0.1, data(30, 30)
    compiled = torch.compile(_layers, backend=backend)
    plain = gradient(_layers)
    assert torch.allclose(gradient(compiled), plain, rtol=1e-3, atol=1e-5)
    assert probe.counters()["evictions"] > 2


def test_an_op_of_other_code_reads_through_a_pointer():
    @torch.library.custom_op("stowage_test::first_by_pointer", mutates_args=())
    def first_by_pointer(x: torch.Tensor) -> torch.Tensor:
        address = torch._C._TensorBase.data_ptr(x)  # past the guard of Python, as C++ would
        return torch.tensor([ctypes.cast(address, ctypes.POINTER(ctypes.c_float))[0]])
    x = data(30)
    y = x.exp()
    wanted = y[0].item()
    assert evict(y)
    assert first_by_pointer(y).item() == wanted
    assert not evict(y), "it may have kept the pointer"


def test_sparse_tensors_keep_what_they_hide():
    values = data(3) * 2
    indices = torch.tensor([[0, 1, 2]])
    assert evict(values)
    hidden = torch.sparse_coo_tensor(indices, values, (4,))
    assert not evict(values)
    assert hidden.to_dense().shape == (4,)
