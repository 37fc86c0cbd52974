"""Random ops run again with generators of their own: nobody else sees it, and nobody else changes their bits."""

import threading

import pytest
import torch

from tests.recompute import probe
from tests.recompute.probe import data, evict

pytestmark = pytest.mark.usefixtures("runtime")

NOTHING, ARGUMENT, EQUIVALENT, FUSED_DROPOUT, KERNEL, OTHER_OPS, UNKNOWN = range(7)  # random_ops.h
# Tagged ops that draw in kernels of devices or libraries, from a generator that cannot be exchanged.
IN_KERNELS = {"native_dropout", "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
              "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_fused_attention_overrideable",
              "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math_for_mps",
              "_flash_attention_forward", "_efficient_attention_forward", "_cudnn_attention_forward",
              "_triton_scaled_dot_attention", "_cudnn_rnn", "miopen_rnn", "_lstm_mps", "_cudnn_init_dropout_state"}


def tagged() -> list[str]:
    found = []
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        if space == "aten":
            op = getattr(getattr(torch.ops.aten, base), overload or "default")
            if torch.Tag.nondeterministic_seeded in op.tags:
                found.append(rest)
    return found


def draws(name: str) -> int:
    base, _, overload = name.partition(".")
    return probe.library.probe_draws(f"aten::{base}".encode(), overload.encode())


def test_a_saved_state_of_the_generator_stays():
    """Generator.set_state() reads it past the dispatcher, and its type takes no guard."""
    state = torch.get_rng_state()
    saved, other = state.clone(), state.repeat(2)
    assert not evict(saved) and not probe.offload(saved)
    assert evict(other), "of another size"
    torch.set_rng_state(saved)


def test_every_op_that_draws_is_decided():
    """An op that a newer torch adds needs a line in recompute/ops/random_ops.cc; until then it does not run again."""
    names = tagged()
    assert len(names) > 100
    assert [name for name in names if draws(name) == UNKNOWN] == []
    assert {name.partition(".")[0] for name in names if draws(name) == KERNEL} == IN_KERNELS


def test_an_op_with_a_generator_argument_is_given_another():
    assert {draws(name) for name in ("bernoulli_.float", "normal_", "multinomial", "rrelu_with_noise")} == {ARGUMENT}
    assert {draws(name) for name in ("rand_like", "randn_like", "randint_like.low_dtype", "rand")} == {EQUIVALENT}


RANDOM_OPS = {
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.3),
    "native dropout": lambda x: torch.native_dropout(x, 0.3, True)[0],
    "native dropout, of a transposed tensor": lambda x: torch.native_dropout(x.t(), 0.3, None)[0],
    "native dropout, the mask": lambda x: torch.native_dropout(x.double(), 0.3, True)[1],
    "native dropout of all": lambda x: torch.native_dropout(x, 1.0, True)[1],
    "alpha dropout": lambda x: torch.nn.functional.alpha_dropout(x, 0.3, training=True),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randint_like": lambda x: torch.randint_like(x, 100),
    "randint_like, from": lambda x: torch.randint_like(x, 5, 100),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "bernoulli, in place": lambda x: (x * 1).bernoulli_(0.3),
    "normal": lambda x: torch.normal(x, 1.0),
    "normal, in place": lambda x: (x * 1).normal_(),
    "exponential": lambda x: (x * 1).exponential_(),
    "poisson": lambda x: torch.poisson(x.abs()),
    "binomial": lambda x: torch.binomial((x.abs() * 9).floor(), x.sigmoid()),
    "gamma": lambda x: torch._standard_gamma(x.abs()),
    "multinomial": lambda x: torch.multinomial(x.abs(), 5),
}


@pytest.mark.parametrize("op", RANDOM_OPS.values(), ids=RANDOM_OPS)
def test_the_same_numbers_come_again_and_the_generator_is_never_touched(op):
    x = data(50, 7)
    value = op(x)
    bits = value.clone()
    torch.rand(11)
    state = torch.get_rng_state()
    assert evict(value)
    assert torch.equal(value, bits)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_generator_of_the_job_is_kept_too():
    own = torch.Generator().manual_seed(7)
    x = data(50)
    value = torch.bernoulli(x.sigmoid(), generator=own)
    bits, state = value.clone(), own.get_state()
    assert evict(value)
    assert torch.equal(value, bits) and torch.equal(own.get_state(), state)


@pytest.fixture
def while_it_draws():
    """What happens inside `bernoulli_`, which draws as ever; a list of functions, the first is called first."""
    steps: list = []

    def kernel(this, p, *, generator=None):
        if steps:
            steps.pop(0)()
        return this.copy_(torch.rand(this.shape, generator=generator) < p)
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("bernoulli_.float", kernel, "CPU", allow_override=True)
        yield steps


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_another_thread_that_draws_during_a_replay_draws_what_it_would_have_drawn(while_it_draws):
    x = data(50)
    value = torch.nn.functional.dropout(x, 0.3)
    bits, drawn = value.clone(), []
    state = torch.get_rng_state()
    wanted = torch.rand(5)
    torch.set_rng_state(state)
    assert evict(value)
    # Without ops of its own, which would wait for the runtime: the generator, as kernels of other threads find it.
    while_it_draws.append(lambda: drawn.append(torch.default_generator.get_state().clone()))
    assert torch.equal(value, bits)
    assert torch.equal(drawn[0], state) and torch.equal(torch.rand(5), wanted)


def test_an_op_during_which_another_thread_drew_does_not_run_again(while_it_draws):
    x = data(50)
    while_it_draws.append(lambda: in_a_thread(lambda: torch.rand(3)))
    shared = (x * 1).bernoulli_(0.3)
    alone = (x * 1).bernoulli_(0.3)
    bits = alone.clone()
    assert not evict(shared), "nobody knows which numbers it drew"
    assert evict(alone)
    assert torch.equal(alone, bits)


def test_two_generators_at_once_are_no_matter(while_it_draws):
    x = data(50)
    while_it_draws.append(lambda: in_a_thread(lambda: torch.rand(3, generator=torch.Generator())))
    value = (x * 1).bernoulli_(0.3)
    bits = value.clone()
    assert evict(value)
    assert torch.equal(value, bits)
