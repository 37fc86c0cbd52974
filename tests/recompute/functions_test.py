"""Which custom autograd.Functions are taken to call nothing but ops, by their code."""

import ast
import ctypes
import gc
import importlib
import math
import pathlib

import pytest
import torch
from torch.autograd import Function

from stowage._functions import only_calls_ops
from tests.recompute import probe
from tests.recompute.probe import data, evict, is_evicted

_libc = ctypes.CDLL(None)


def _times(x, by):
    return x * by * math.e


def _by_pointer(x):
    _libc.memset(x.data_ptr(), 0, 1)
    return x


class _Plain(Function):
    """Straight-through rounding with a helper: only ops."""

    @staticmethod
    def forward(ctx, x, by=2.0):
        ctx.save_for_backward(x)
        ctx.by = by
        return _times(torch.round(x), by)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.sign(x) * ctx.by, None


class _ByPointer(_Plain):
    @staticmethod
    def backward(ctx, gradient):
        return _by_pointer(gradient), None


class _Importing(_Plain):
    @staticmethod
    def forward(ctx, x):
        import an_extension
        return an_extension.fused(x)


class _Evaluating(_Plain):
    @staticmethod
    def forward(ctx, x):
        return eval("fused(x)")


class _Calling(Function):
    @staticmethod
    def forward(ctx, x, call):
        ctx.call = call
        return call(x)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.call(gradient), None


def _closing_over(kernel):
    class Closing(_Plain):
        @staticmethod
        def forward(ctx, x):
            return kernel(x)
    return Closing


def test_code_that_names_only_ops_is_harmless():
    assert only_calls_ops(_Plain, (data(3), 1.0, [data(2)], None))
    assert only_calls_ops(_closing_over(torch.relu)) and only_calls_ops(_closing_over(lambda x: _times(x, 2)))


@pytest.mark.parametrize("function", [
    _ByPointer, _Importing, _Evaluating, _closing_over(_libc.memset), _closing_over(lambda x: _by_pointer(x)),
    _closing_over(torch.jit.script(torch.nn.ReLU()))])
def test_code_that_may_reach_a_pointer_is_not(function):
    assert not only_calls_ops(function)


def test_what_is_handed_to_a_function_is_part_of_its_code():
    assert not only_calls_ops(_Calling, (data(3), _by_pointer))
    assert not only_calls_ops(_Plain, (data(3), object()))


def _subclasses(kind: type):
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def test_pytorchs_own_functions_are_harmless():
    for name in ("nn.modules._functions", "nn.parallel._functions", "nn.parallel.distributed", "utils.checkpoint",
                 "distributed.nn.functional", "distributed.fsdp._fully_shard._fsdp_param_group", "distributed.tensor._api"):
        importlib.import_module(f"torch.{name}")
    # Those of torch._library belong to custom ops, whose kernels are anybody's.
    found = {one.__name__: only_calls_ops(one) for one in _subclasses(Function)
             if one.__module__.startswith("torch.") and one.__module__ != "torch._library.autograd"}
    assert {"BackwardHookFunction", "CheckpointFunction", "_DDPSink", "RegisterPostBackwardFunction"} <= found.keys()
    assert [name for name, harmless in found.items() if not harmless] == []


def _functions_by_address() -> set[str]:
    """PyTorch's source files with a Function and a way to memory past all ops: pointers, captured graphs, Triton."""
    root = pathlib.Path(torch.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        text = path.read_text(errors="replace")
        if "Function)" not in text or not any(way in text for way in ("data_ptr(", "Graph()", "graph.replay", "triton.jit")):
            continue
        classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
        bases = {ast.unparse(base) for node in classes for base in node.bases}
        if bases & {"Function", "autograd.Function", "torch.autograd.Function"}:
            found.add(path.relative_to(root).with_suffix("").as_posix().replace("/", "."))
    return found


def test_pytorch_has_no_other_function_that_works_by_address():
    """A new one must be looked at: does it only call ops?"""
    looked_at = {"cuda.graphs", "xpu.graphs",  # captured graphs: never harmless
                 "distributed._local_tensor.__init__"}  # data_ptr() of its test helper, in no Function
    assert {name for name in _functions_by_address() if not name.startswith(("_inductor", "testing"))} <= looked_at


@pytest.mark.usefixtures("runtime")
def test_what_a_harmless_function_makes_is_evicted():
    x = data(30).requires_grad_()
    y = x.exp()
    out = _Plain.apply(y)
    before = out.detach().clone()
    assert evict(out) and evict(y)
    assert torch.equal(out, before)
    evict(y)
    out.sum().backward()
    assert torch.equal(x.grad, torch.sign(x.exp()) * 2 * x.exp())


@pytest.mark.usefixtures("runtime")
def test_a_function_that_calls_what_it_is_given_finds_its_tensors_resident():
    """Neither pass may find anything evicted, though the class itself names nothing but ops."""
    def look(x):
        assert not is_evicted(x)
        return x * 2
    x = data(30).requires_grad_()
    y = x.exp()
    assert evict(y)
    out = _Calling.apply(y, look)
    assert not evict(out) and not evict(y)
    start = data(30)
    gradient = start.exp()
    assert evict(gradient)
    out.backward(gradient)


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("hook", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_hooks_on_modules_keep_nothing_resident(hook):
    layer = torch.nn.Sequential(torch.nn.Linear(30, 30), torch.nn.GELU())
    getattr(layer, hook)(lambda *_: None)
    x = data(30, 30).requires_grad_()
    hidden = x.exp()
    out = layer(hidden)
    assert evict(hidden) and evict(out)
    out.sum().backward()
    assert x.grad is not None
    del out
    gc.collect()
    assert probe.counters()["replays"] > 0
