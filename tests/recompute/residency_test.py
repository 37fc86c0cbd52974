"""What may be evicted, what a restore gives back, and what stays untouched by it: one rule a test."""

import gc
import subprocess
import sys
import threading

import pytest
import torch
from torch.nn import functional as F

from tests.recompute import probe
from tests.recompute.probe import data, evict, is_evicted

pytestmark = pytest.mark.usefixtures("runtime")


def test_an_evicted_value_comes_back_when_an_op_reads_it():
    x = data(64)
    y = x.sin()
    before, version = y.clone(), y._version
    assert evict(y) and is_evicted(y)
    assert torch.equal(y, before)
    assert not is_evicted(y) and y._version == version
    counted = probe.counters()
    assert (counted["evictions"], counted["restores"], counted["replays"]) == (1, 1, 1)


def test_views_share_one_eviction_and_need_no_restore():
    x = data(6, 8)
    y = x.exp()
    view = y.t()[2:5]
    before = view.clone()
    assert evict(view) and is_evicted(y)
    again = y.view(48)[3:]
    assert is_evicted(again) and view.shape == (3, 6)
    assert torch.equal(view, before) and not is_evicted(y)


def test_what_has_no_recipe_stays():
    x = data(32)
    parameter = torch.nn.Parameter(x.clone())
    (parameter * 2).sum().backward()
    for tensor in (x, parameter, torch.empty(32), torch.zeros(32), torch.full((32,), 2.0), torch.tensor([1.0] * 32),
                   torch.from_numpy(x.clone().numpy()), torch.frombuffer(bytearray(64), dtype=torch.float32)):
        assert not evict(tensor)


@pytest.mark.parametrize(("on", "warns", "repeats"), [(True, False, True), (True, True, False), (False, False, False)])
def test_a_kernel_that_repeats_only_in_deterministic_mode_stays_elsewhere(on, warns, repeats):
    x, base, index = data(32), data(8), torch.arange(32) % 8
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(on, warn_only=warns)
    try:
        y = torch.index_add(base, 0, index, x)
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
    assert evict(y) is repeats


def test_an_in_place_chain_is_one_value_with_versions():
    x = data(40)
    y = x.exp()
    early = y.neg()
    y.relu_().mul_(3.0).add_(x)
    y[3:7].fill_(2.0)
    before, version, before_early = y.clone(), y._version, early.clone()
    assert evict(y) and evict(early)
    assert torch.equal(early, before_early), "made from the first version"
    assert torch.equal(y, before) and y._version == version


def test_a_storage_written_and_read_through_several_views():
    """`y[:, ::2] *= c` ends as a copy of a view onto itself; rows are moved within a tensor; x is added to itself."""
    x = data(6, 8)
    y = x.exp()
    first = y.sum(0)
    y[:, ::2] *= 0.5
    y[1:3] = y[3:5]
    second = y.sin()
    y.mul_(y)
    y[0].add_(y[5])
    torch.mul(y[2], y[3], out=y[4])
    torch._foreach_mul_([y[0], y[1]], 3.0)
    kept = [t.clone() for t in (first, second, y)]
    for away in ((y,), (second, y), (first, second, y)):
        assert all(evict(t) for t in away)
        assert all(torch.equal(t, wanted) for t, wanted in zip((first, second, y), kept))
    twin = y.tanh()
    wanted = twin.clone()
    del y
    assert evict(twin)
    assert torch.equal(twin, wanted)


def test_a_written_input_that_others_need_too_is_copied():
    x = data(40)
    y = x.exp()
    first = y.sin()
    y.mul_(2.0)
    second = y + first
    before = (first.clone(), second.clone())
    del y
    assert evict(first) and evict(second)
    assert torch.equal(second, before[1]) and torch.equal(first, before[0])


def test_all_outputs_of_an_op_come_back_together():
    x = data(2, 3, 8, 8)
    normed, mean, inverse = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    before = [t.clone() for t in (normed, mean, inverse)]
    assert evict(normed) and evict(mean)
    assert torch.equal(mean, before[1])
    assert not is_evicted(normed) and probe.counters()["replays"] == 1
    assert torch.equal(normed, before[0]) and torch.equal(inverse, before[2])


def test_lists_and_optional_tensors():
    x = data(6, 4)
    parts = torch._foreach_mul([x, x + 1], 2.0)
    joined = torch.cat([x, *parts])
    picked = joined[torch.tensor([1, 2]), :]
    pieces = torch.ops.aten.split_copy(joined, 9)
    every = [*parts, joined, picked, *pieces]
    before = [t.clone() for t in every]
    for tensor in every:
        assert evict(tensor)
    for tensor, wanted in zip(reversed(every), reversed(before)):
        assert torch.equal(tensor, wanted)


def test_out_variants_and_optional_none():
    x, w = data(5, 6), data(7, 6)
    out = torch.empty(5, 6)
    torch.sin(x, out=out)
    linear = F.linear(x, w, None)
    before = (out.clone(), linear.clone())
    assert evict(out) and evict(linear)
    assert torch.equal(out, before[0]) and torch.equal(linear, before[1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.complex64])
def test_types_and_strides(dtype):
    x = data(4, 6, 5).to(dtype).transpose(0, 2)[:, 1:5]
    y = (x * 2.5).permute(1, 0, 2)
    source = data(2, 3, 4, 4).to(memory_format=torch.channels_last)
    last = source * 2
    before = (y.clone(), last.clone())
    assert evict(y) and evict(last)
    assert torch.equal(y, before[0]) and y.stride() == (x * 2.5).permute(1, 0, 2).stride()
    assert torch.equal(last, before[1]) and last.is_contiguous(memory_format=torch.channels_last)


def test_random_ops_repeat_and_the_generator_goes_on():
    x = data(1000)
    own = torch.Generator().manual_seed(5)
    y = F.dropout(x, 0.4, True)
    z = torch.empty_like(x).normal_(generator=own)
    before = (y.clone(), z.clone())
    state, own_state = torch.get_rng_state(), own.get_state()
    assert evict(y) and evict(z)
    assert torch.equal(y, before[0]) and torch.equal(z, before[1])
    assert torch.equal(torch.get_rng_state(), state) and torch.equal(own.get_state(), own_state)


def test_batch_norm_counts_once():
    x = data(4, 3, 6, 6)
    norm = torch.nn.BatchNorm2d(3)
    y = norm(x)
    before, buffers = y.clone(), [b.clone() for b in norm.buffers()]
    assert evict(y)
    assert torch.equal(y, before)
    assert all(torch.equal(a, b) for a, b in zip(norm.buffers(), buffers))
    norm.eval()
    still = norm(x)
    before = still.clone()
    assert evict(still)
    assert torch.equal(still, before)


def test_gradients_through_evicted_saved_tensors():
    x = data(8, 16)
    w1, w2 = (torch.nn.Parameter(data(16, 16)) for _ in range(2))

    def loss(away):
        a = (x @ w1).relu_()
        b = torch.softmax(a @ w2, -1)
        out = (b * a).sum()
        if away:
            assert evict(a) and evict(b)
        del a, b
        return out
    wanted = torch.autograd.grad(loss(False), [w1, w2])
    got = torch.autograd.grad(loss(True), [w1, w2])
    assert all(torch.equal(p, q) for p, q in zip(wanted, got))
    assert probe.counters()["restores"] == 2


def test_another_thread_finds_evicted_tensors_whole():
    x = data(50)
    y = x.exp()
    before = y.clone()
    assert evict(y)
    seen = []
    thread = threading.Thread(target=lambda: seen.append((y + 0).clone()))
    thread.start()
    thread.join()
    assert torch.equal(seen[0], before)


@pytest.mark.parametrize("first_op", ["read", "write"])
def test_a_thread_that_was_there_before_is_noticed_at_its_first_op(first_op):
    """It finds what is away; and what it writes is not what other values are made again from."""
    go, seen = threading.Event(), []

    def work():
        go.wait()
        seen.append(x.zero_() if first_op == "write" else y + 0)
    probe.library.probe_uninstall()
    thread = threading.Thread(target=work)
    thread.start()
    with probe.installed():
        x = data(50)
        y, z = x.exp(), x.sin()
        before, wanted = y.clone(), z.clone()
        assert evict(y)
        go.set()
        thread.join()
        assert not is_evicted(y) and torch.equal(y, before)
        assert torch.equal(seen[0], before) or first_op == "write"
        evict(z)
        assert torch.equal(z, wanted)


def test_a_write_by_a_thread_that_joined_is_seen():
    x = data(50)
    y = x.exp()
    before = y.clone()
    thread = threading.Thread(target=x.zero_)
    thread.start()
    thread.join()
    evict(y)
    assert torch.equal(y, before)


def test_calls_that_differ_in_little_come_back_each_as_it_was():
    """Plain arguments, lists of them, types, strides, offsets and aliases all belong to the signature of a call."""
    x = data(8, 8).exp()
    half = x.to(torch.bfloat16)
    calls = [
        lambda: x.clamp(0.5), lambda: x.clamp(0.75), lambda: torch.clamp(x, max=0.5), lambda: torch.copysign(x, 0.0),
        lambda: torch.copysign(x, -0.0), lambda: x.sum(0), lambda: x.sum(1), lambda: x.sum([0, 1]), lambda: x.sum(1, True),
        lambda: x.t().exp(), lambda: x[1:3].exp(), lambda: x[2:4].exp(), lambda: x[:, 1:3].exp(), lambda: half.exp(),
        lambda: x.sum(0, dtype=torch.float64), lambda: x + x, lambda: x + x.t(), lambda: x + 1, lambda: x + 1.0,
        lambda: torch.cat([x, x[:2]]), lambda: torch.cat([x[:2], x]), lambda: torch.cat([x, x], 1),
        lambda: x[:, torch.tensor([1, 3])], lambda: x[torch.tensor([1, 3])],
        lambda: torch.nn.functional.gelu(x), lambda: torch.nn.functional.gelu(x, approximate="tanh")]
    made = [call() for call in calls]
    before = [value.clone() for value in made]
    assert sum(evict(value) for value in made) >= len(made) - 2
    for value, wanted in zip(made, before):
        assert value.dtype == wanted.dtype and torch.equal(value, wanted)
        assert torch.equal(torch.signbit(value), torch.signbit(wanted))


def test_what_passes_unseen_reads_nothing_that_is_away():
    """Views and plain composites are not stopped at; the ops that composites call are, and find what they read."""
    x = data(6, 6)
    picks = (x.sum(1) > 0).long()
    calls = [
        lambda: F.cross_entropy(x, picks), lambda: F.nll_loss(x, picks), lambda: torch.stack([picks, picks]),
        lambda: torch.where(picks[:, None] > 0, x, 0.0), lambda: F.pad(picks, (1, 1)), lambda: picks.reshape(2, 3) + 0,
        lambda: picks.view(3, 2).t().contiguous(), lambda: torch.einsum("i,i->i", picks, picks), lambda: picks.float(),
        lambda: torch.tensor_split(x, picks.clamp(1, 2))[0] + 0, lambda: picks.type_as(x), lambda: picks.narrow(0, 1, 3) + 1]
    wanted = [call() for call in calls]
    seen = probe.counters()["ops"]
    x.view(36)[3:].unsqueeze(0).expand(2, 33).transpose(0, 1)
    assert probe.counters()["ops"] == seen
    for call, value in zip(calls, wanted):
        evict(picks)
        assert torch.equal(call(), value)


@pytest.mark.parametrize("away", [True, False])
def test_an_iteration_may_end_in_the_middle_of_a_graph(away):
    """As where each of two optimizers steps: what was made before may have to be evicted after."""
    x = data(50)
    y = x.exp()
    z = y.sin()
    before = z.clone()
    if away:
        assert evict(y)
    probe.library.probe_end_iteration()
    assert is_evicted(y) == away
    assert evict(z)
    assert torch.equal(z, before)


def test_values_made_from_what_a_step_wrote_stay_behind_it():
    weight, x = data(50), data(50)
    y = x * weight
    weight.add_(1.0)
    probe.library.probe_end_iteration()
    assert not evict(y)


def test_history_does_not_grow_from_iteration_to_iteration():
    """A state that each iteration makes from the one before: what evicting it costs is no more than two of them."""
    x = data(50)
    state, evicted = x.exp(), 0
    for _ in range(12):
        state = (state * 0.5).sin().cos()
        probe.library.probe_end_iteration()
        before, seen = state.clone(), probe.counters()["replays"]
        evicted += evict(state)
        assert torch.equal(state, before)
        assert probe.counters()["replays"] - seen <= 2 * 4
    assert evicted > 0


def test_uninstalling_brings_everything_back():
    x = data(50)
    values = [x * i for i in range(5)]
    before = [v.clone() for v in values]
    assert all(evict(v) for v in values[1:])
    probe.library.probe_uninstall()
    assert all(torch.equal(a, b) for a, b in zip(values, before))
    assert probe.library.probe_install(0, 0, 1, 1) == 0


def test_evicted_tensors_can_die():
    x = data(50)
    values = [x * i for i in range(200)]
    assert all(evict(v) for v in values)
    assert probe.counters()["evicted"] == 200 * 200
    del values
    for _ in range(3000):
        x.neg()
    assert probe.counters()["evicted"] == 0


def test_recipes_keep_nothing_alive():
    x = data(1000)
    y = x.sin()
    watched = y.untyped_storage()._weak_ref()
    z = y.cos()
    assert evict(z)
    del y
    assert torch.UntypedStorage._expired(watched)
    torch.UntypedStorage._free_weak_ref(watched)
    assert torch.equal(z, x.sin().cos())


def test_a_deep_chain_needs_no_stack():
    x = data(8)
    y = x
    for _ in range(15000):
        y = y + 0.125
    before = y.clone()
    assert evict(y)
    assert torch.equal(y, before)
    del y, before
    gc.collect()


def test_the_dropout_gradient_is_the_slope():
    """A finite difference along a random direction, with dropout on and everything evicted in between."""
    x = data(20, 30).double()
    w = torch.nn.Parameter(data(30, 30).double())
    direction = data(30, 30).double()

    def loss(weight):
        torch.manual_seed(11)
        hidden = F.dropout(torch.tanh(x @ weight), 0.5, True)
        out = F.dropout(hidden @ weight, 0.3, True).square().mean()
        return out, hidden
    out, hidden = loss(w)
    assert evict(hidden)
    del hidden
    out.backward()
    assert probe.counters()["restores"] == 1
    step = 1e-6
    with torch.no_grad():
        slope = (loss(w + step * direction)[0] - loss(w - step * direction)[0]) / (2 * step)
    assert torch.isclose((w.grad * direction).sum(), slope, rtol=1e-6)


def test_a_stray_read_is_a_fault_with_a_name():
    script = ("import torch; from tests.recompute import probe\n"
              "probe.library.probe_install(0, 0, 1, 0)\n"
              "x = torch.nn.Parameter(torch.ones(50)); y = x.detach().exp(); assert probe.evict(y)\n"
              "import ctypes; ctypes.string_at(torch._C._TensorBase.data_ptr(y), 8)\n")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode < 0
    assert "touched an evicted tensor" in done.stderr
