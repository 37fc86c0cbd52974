"""Collectives are never run again: their results stay, and what is computed from them is made from what is there.

A second all-reduce on one rank alone would wait for the others for ever, or take part in their next one.
"""

import pytest
import torch
import torch.distributed
import torch.distributed._functional_collectives as functional
import torch.distributed.nn  # registers its autograd functions

from tests.recompute import probe
from tests.recompute.probe import counters, data, evict

pytestmark = pytest.mark.usefixtures("runtime")

# The runtime runs no op again but those of namespace aten. These have ops that talk to other ranks, or hold memory that
# such ops write; a torch with another one, or with a collective in aten, needs a look.
NAMESPACES = {"c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd", "_dtensor", "fsdp", "symm_mem"}
NAMES = ("all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "all_to_all", "alltoall", "send", "recv")


@pytest.fixture(autouse=True, scope="module")
def alone():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def all_reduce(x):
    y = x.exp()
    torch.distributed.all_reduce(y)
    return y


def all_reduce_later(x):
    y = x.exp()
    torch.distributed.all_reduce(y, async_op=True).wait()
    return y


def broadcast(x):
    y = x.exp()
    torch.distributed.broadcast(y, 0)
    return y


def all_gather(x):
    y = torch.empty_like(x)
    torch.distributed.all_gather([y], x.exp())
    return y


def all_gather_into_tensor(x):
    y = torch.empty_like(x)
    torch.distributed.all_gather_into_tensor(y, x.exp())
    return y


def reduce_scatter_tensor(x):
    y = torch.empty_like(x)
    torch.distributed.reduce_scatter_tensor(y, x.exp())
    return y


def all_to_all_single(x):
    y = torch.empty_like(x)
    torch.distributed.all_to_all_single(y, x.exp())
    return y


def functional_all_reduce(x):
    return functional.all_reduce(x.exp(), "sum", torch.distributed.group.WORLD).wait()


def functional_all_gather(x):
    return functional.all_gather_tensor(x.exp(), 0, torch.distributed.group.WORLD).wait()


def functional_reduce_scatter(x):
    return functional.reduce_scatter_tensor(x.exp(), "sum", 0, torch.distributed.group.WORLD).wait()


COLLECTIVES = (all_reduce, all_reduce_later, broadcast, all_gather, all_gather_into_tensor, reduce_scatter_tensor,
               all_to_all_single, functional_all_reduce, functional_all_gather, functional_reduce_scatter)


@pytest.mark.parametrize("collective", COLLECTIVES, ids=lambda one: one.__name__)
def test_its_result_stays(collective):
    x = data(40)
    y = collective(x)
    assert torch.equal(y, x.exp())
    assert not evict(y)


@pytest.mark.parametrize("collective", COLLECTIVES, ids=lambda one: one.__name__)
def test_what_is_computed_from_it_is_made_again_without_it(collective):
    x = data(40)
    y = collective(x)
    z = y.sin()
    wanted, before = x.exp().sin(), counters()["replays"]
    gone = evict(z)
    assert torch.equal(z, wanted)
    assert counters()["replays"] - before == (1 if gone else 0), "the op that made it, and no other"


@pytest.mark.parametrize("collective", COLLECTIVES, ids=lambda one: one.__name__)
def test_what_it_reads_stays(collective):
    made = []

    class Noting(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if func is torch.ops.aten.exp.default:
                made.append(result)
            return result

    with Noting():
        collective(data(40))
    assert made and not evict(made[0])


def test_no_collective_is_an_op_that_may_be_run_again():
    ops = [name.partition("::") for name in torch._C._dispatch_get_all_op_names()]
    spaces = {space for space, _, _ in ops}
    assert {one for one in spaces if any(word in one for word in ("c10d", "dtensor", "dist", "fsdp", "symm"))} <= NAMESPACES
    assert {"c10d", "_c10d_functional"} <= spaces
    assert [name for space, _, name in ops if space == "aten" and any(word in name for word in NAMES)] == []


def test_under_forced_evictions_a_rank_takes_part_in_each_once(monkeypatch):
    """Counted where PyTorch's collectives all end: in the backend."""
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*(torch.nn.Linear(32, 32) for _ in range(4))), gradient_as_bucket_view=True)
    group = torch.distributed.group.WORLD._get_backend(torch.device("cpu"))

    def steps():
        before = group._get_sequence_number_for_group()
        for i in range(4):
            model(data(32)).square().mean().backward()
        return group._get_sequence_number_for_group() - before

    steps()  # rebuilds its buckets
    wanted = steps()
    assert wanted >= 4
    with probe.installed(every=1, seed=1):
        assert steps() == wanted
