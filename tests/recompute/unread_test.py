"""Tensors of which an op reads only sizes need not be in memory: the list (recompute/ops/unread.cc) against PyTorch's ops.

All of PyTorch's op database runs forward and backward. Of each call, each argument is replaced by one full of NaN: if the
same bits come out in all calls, it is not read. Those that are listed run with that memory evicted, too, where a read is
a crash.
"""

import collections
import warnings

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.recompute import probe
from tests.recompute.op_database import op_db
from tests.recompute.probe import data

POOLS = {f"{kind}_pool{d}d{rest}_backward" for d in (2, 3) for kind, rest in
         (("max", "_with_indices"), ("adaptive_max", ""), ("fractional_max", ""), ("avg", ""), ("_adaptive_avg", ""))}
PADS = {f"{kind}_pad{d}d_backward" for d in (1, 2, 3) for kind in ("reflection", "replication")}
LOSSES = {"nll_loss_backward", "nll_loss2d_backward"}
FACTORIES = {"zeros_like", "ones_like", "full_like", "randn_like", "randint_like", "new_zeros", "new_ones", "new_full"}
LISTED = POOLS | PADS | LOSSES | FACTORIES
READ_IN_EVALUATION = {"rrelu_with_noise_backward"}
EMPTY = {"empty_like", "new_empty", "new_empty_strided"}  # are on the list, too; what they give says nothing
SAMPLES = 12  # of each op
ENOUGH = 3  # calls of each kind that read an argument


def bits(results) -> list[bytes]:
    tensors = [one for one in tree_leaves(results) if isinstance(one, torch.Tensor) and one.numel() > 0]
    return [probe.bits(one) for one in tensors]


def seeded(function, args, kwargs) -> list[bytes]:
    torch.default_generator.manual_seed(0)
    return bits(function(*args, **kwargs))


def may_leave_self_unread(name: str) -> bool:
    return name.endswith(("_backward", "_like")) or name.startswith("aten::new_")


class Watch(TorchDispatchMode):
    """Calls each op several times, and notes which arguments change nothing."""

    def __init__(self):
        super().__init__()
        self.same, self.other, self.evicted = collections.Counter(), collections.Counter(), collections.Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        schema, kwargs = function._schema, kwargs or {}
        looks = may_leave_self_unread(schema.name) and not schema.is_mutable
        for at, argument in enumerate(args) if looks else ():
            is_dense = isinstance(argument, torch.Tensor) and argument.layout == torch.strided
            if is_dense and argument.is_floating_point() and argument.numel() > 1:
                self.look(function, args, kwargs, at)
        return function(*args, **kwargs)

    def look(self, function, args, kwargs, at):
        name = function._schema.name.removeprefix("aten::")
        of = name, function._schema.arguments[at].name
        if self.other[of] >= ENOUGH:
            return

        def with_one(other):
            return [other if i == at else one for i, one in enumerate(args)]
        try:
            expected = seeded(function, args, kwargs)
            if not expected or expected != seeded(function, args, kwargs):
                return
            same = expected == seeded(function, with_one(torch.full_like(args[at], float("nan"))), kwargs)
        except (RuntimeError, NotImplementedError):
            return
        (self.same if same else self.other)[of] += 1
        made_again = args[at] * 1
        if name in LISTED and of[1] == "self" and made_again.stride() == args[at].stride() and probe.evict(made_again):
            assert seeded(function, with_one(made_again), kwargs) == expected, name
            self.evicted[name] += probe.is_evicted(made_again)


def run(op, sample):
    result = op(sample.input, *sample.args, **sample.kwargs)
    outputs = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor) and one.requires_grad]
    if outputs:
        torch.autograd.backward(outputs, [torch.randn_like(one) for one in outputs])


@pytest.fixture(scope="module")
def watch():
    torch.set_num_threads(1)
    watch = Watch()
    with probe.installed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db:
            if op.name.startswith("jiterator") or not op.supports_dtype(torch.float32, "cpu"):
                continue
            for number, sample in enumerate(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)):
                if number >= SAMPLES:
                    break
                try:
                    with watch:
                        run(op, sample)
                except (RuntimeError, NotImplementedError):  # a sample that this way of calling does not suit
                    pass
    return watch


def test_what_no_call_reads_is_listed_and_nothing_else(watch):
    unread = {name for name, argument in watch.same if argument == "self" and not watch.other[name, argument]}
    assert unread - READ_IN_EVALUATION - EMPTY == LISTED
    assert all(watch.same[name, "self"] >= 2 for name in LISTED), watch.same


def test_it_stays_evicted_while_the_op_runs(watch):
    assert {name for name in LISTED if watch.evicted[name] == 0} == set()


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("pool", [
    lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.adaptive_max_pool2d(x, 3),
    lambda x: F.avg_pool2d(x, 2), lambda x: F.adaptive_avg_pool2d(x, 3)],
    ids=["max", "overlapping max", "adaptive max", "average", "adaptive average"])
def test_a_pooling_leaves_its_input_evicted_in_a_backward_pass(pool, dtype, form):
    def gradient(evicts: bool):
        torch.manual_seed(0)
        source = torch.randn(2, 4, 9, 9, dtype=dtype).to(memory_format=form).requires_grad_()
        scaled = source * 2
        result = pool(scaled)
        if evicts:
            assert probe.evict(scaled)
        before = probe.counters()["restores"]
        result.backward(torch.ones_like(result))
        return source.grad, probe.counters()["restores"] - before
    kept, _ = gradient(False)
    made, restores = gradient(True)
    assert torch.equal(kept, made) and kept.stride() == made.stride() and restores == 0


@pytest.mark.usefixtures("runtime")
def test_a_view_that_a_kernel_would_copy_is_restored():
    source = data(2, 4, 9, 18).requires_grad_()
    scaled = source * 2
    result = F.avg_pool2d(scaled[..., ::2], 3)
    assert probe.evict(scaled)
    result.sum().backward()
    assert not probe.is_evicted(scaled)
