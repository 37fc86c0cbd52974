"""The result of a ReLU6 or of a leaky ReLU serves its backward pass as well as its input, which is then read by nobody."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from tests.recompute import probe
from tests.recompute.probe import bits

pytestmark = pytest.mark.usefixtures("runtime")

LIMIT = 8  # bytes: anything
TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def numbers(dtype: torch.dtype, count: int) -> torch.Tensor:
    """Around the bounds each number of the type that lies near, and what is special."""
    torch.manual_seed(1)
    x = torch.randn(count, dtype=torch.float64).mul(4).to(dtype)
    special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), torch.finfo(dtype).tiny, -torch.finfo(dtype).tiny]
    for bound in (-1.0, 0.0, 0.1, 1.0, 6.0):
        number = torch.tensor(bound, dtype=dtype)
        for toward in (-float("inf"), float("inf")):
            special += [torch.nextafter(number, torch.tensor(toward, dtype=dtype)).item(), number.item()]
    x[:len(special)] = torch.tensor(special, dtype=torch.float64).to(dtype)
    return x


def trained(job, source: torch.Tensor, limit: int, evicts: bool):
    """Gradients, the results of `job`, and how many tensors were made again. `job` gives what is to be evicted, too."""
    torch.manual_seed(0)
    probe.evict(torch.randn(512) * 2)
    x = source.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    before = probe.counters()["restores"]
    with probe.ops_under(limit):
        saved, result = job(x * 1)
        evicted = [one for one in saved if evicts and probe.evict(one)]
        result.backward(torch.linspace(-1, 1, result.numel()).to(result.dtype).view(result.shape))
    return bits(x.grad), bits(result.detach()), probe.counters()["restores"] - before, len(evicted)


def saved_of(result: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (result.grad_fn._saved_self,)


def relu6(x):
    y = F.relu6(x)
    return saved_of(y), y * 1


def relu6_in_place(x):
    y = F.relu6(x, inplace=True)
    return saved_of(y), y * 1


def tight(x):
    y = F.hardtanh(x, -1, 1)
    return saved_of(y), y * 1


def leaky(x):
    y = F.leaky_relu(x, 0.2)
    return saved_of(y), y * 1


def leaky_flat(x):
    y = F.leaky_relu(x, 0.0)
    return saved_of(y), y * 1


SERVED = [relu6, relu6_in_place, tight, leaky, leaky_flat]
FORMS = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("job", SERVED, ids=lambda job: job.__name__)
def test_what_was_saved_is_read_by_nobody(job, dtype, form):
    source = numbers(dtype, 8 * 16 * 32 * 32).view(8, 16, 32, 32).to(memory_format=FORMS[form])
    plain = trained(job, source, 0, evicts=False)
    assert trained(job, source, LIMIT, evicts=True) == (*plain[:2], 0, 1)


def negative_slope(x):
    y = F.leaky_relu(x, -0.5)
    return saved_of(y), y * 1


def bound_between_numbers(x):
    """0.1 is no number of any of these types: what is cut off there does not compare as the bound does."""
    y = F.hardtanh(x, 0.1, 0.7)
    return saved_of(y), y * 1


def written_afterwards(x):
    y = F.relu6(x * 2)
    saved = saved_of(y)
    return saved, y.add_(3)


def written_twice_as_data(x):
    y = F.relu6(x * 2)
    saved = saved_of(y)
    y.data.add_(3)
    y.data.sub_(1)
    return saved, y * 1


def two_bounds(x):
    """What was saved for one is not read for the other."""
    one, other = F.hardtanh(x, 0, 6), F.hardtanh(x, -1, 1)
    return saved_of(one), one * 3 + other


def before_a_relu(x):
    y = F.relu(x)
    z = F.leaky_relu(y, 0.2)
    return (y,), z.detach() * y


def part_in_place(x):
    y = x * 1
    F.relu6(y[1:], inplace=True)
    return (), y * 1


def flattened(x):
    y = F.relu6(x.t()) if x.dim() == 2 else F.relu6(x.transpose(0, 1))
    return saved_of(y), y * 1


def through_checkpoint(x):
    return (), torch.utils.checkpoint.checkpoint(lambda one: F.relu6(one * 2, inplace=True) * 2, x, use_reentrant=False)


OTHERS = [negative_slope, bound_between_numbers, written_afterwards, written_twice_as_data, two_bounds, before_a_relu,
          part_in_place, flattened, through_checkpoint]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("job", OTHERS, ids=lambda job: job.__name__)
def test_the_bits_are_the_same_where_the_result_does_not_serve(job, dtype):
    source = numbers(dtype, 64 * 4096).view(64, 4096)
    plain = trained(job, source, 0, evicts=False)
    assert trained(job, source, LIMIT, evicts=True)[:2] == plain[:2]


@pytest.mark.parametrize("job", [negative_slope, written_afterwards, written_twice_as_data], ids=lambda job: job.__name__)
def test_then_what_was_saved_is_made_again(job):
    source = numbers(torch.float32, 64 * 4096).view(64, 4096)
    assert trained(job, source, LIMIT, evicts=True)[2:] == (1, 1)


def test_a_graph_that_is_kept_is_gone_through_twice():
    source = numbers(torch.float32, 1 << 18)

    def gradients(limit: int) -> list[bytes]:
        probe.evict(torch.randn(512) * 2)
        x = source.clone().requires_grad_()
        with probe.ops_under(limit):
            y = F.relu6(x * 2)
            return [bits(torch.autograd.grad(y, x, torch.ones_like(y), retain_graph=again)[0]) for again in (True, False)]
    assert gradients(LIMIT) == gradients(0)


def test_a_gradient_of_a_gradient():
    source = numbers(torch.float64, 1 << 18).nan_to_num(0, 1, -1)

    def second(limit: int) -> bytes:
        probe.evict(torch.randn(512) * 2)
        x = source.clone().requires_grad_()
        with probe.ops_under(limit):
            first, = torch.autograd.grad(F.leaky_relu(x * x, 0.1).sum(), x, create_graph=True)
            return bits(torch.autograd.grad(first.sum(), x)[0])
    assert second(LIMIT) == second(0)


def test_a_pass_without_a_backward_pass_leaves_nothing_in_memory():
    def forward():
        F.leaky_relu(torch.randn(1 << 20, requires_grad=True) * 2)
    assert probe.most_held_by(forward, 40, LIMIT) < 20 * (4 << 20)


def test_same_bits_with_forced_evictions():
    def train() -> list[bytes]:
        torch.manual_seed(0)
        weights = [torch.randn(128, 128, requires_grad=True) for _ in range(4)]
        x = torch.randn(256, 128)
        for weight, op in zip(weights, itertools.cycle([F.relu6, lambda y: F.leaky_relu(y, 0.1), F.hardtanh_])):
            x = op(x @ weight * 0.1)
        x.square().sum().backward()
        return [bits(weight.grad) for weight in weights]
    wanted = train()
    assert probe.results_with_evictions(train, 5, LIMIT) == [wanted] * 5


def serves(op, gradient_of) -> bool:
    """The result gives the same gradient as the input, in all types."""
    for dtype in TYPES:
        x = numbers(dtype, 1 << 16)
        gradient = numbers(dtype, 1 << 16).flip(0)
        if bits(gradient_of(gradient, x)) != bits(gradient_of(gradient, op(x))):
            return False
    return True


def ops_whose_backward_reads_self() -> set[str]:
    """Of PyTorch's ops on one tensor and numbers those with a backward op of a gradient, `self` and numbers."""
    found = set()
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith("aten::") or not schema.name.endswith("_backward") or schema.overload_name:
            continue
        name = schema.name.removeprefix("aten::").removesuffix("_backward")
        op = getattr(torch.ops.aten, name, None)
        if op is None or "default" not in op.overloads():
            continue
        forward, *others = [str(one.type) for one in op.default._schema.arguments]
        backward = sorted(str(one.type) for one in schema.arguments)
        reads_self = "self" in [one.name for one in schema.arguments]
        if forward == "Tensor" and not any("Tensor" in one or "List" in one for one in others) and reads_self \
                and [one for one in backward if "Tensor" in one or "List" in one] == ["Tensor", "Tensor"]:
            found.add(name)
    return found


SETTINGS = {"hardtanh": (-1, 1), "leaky_relu": (0.2,), "threshold": (0.5, 0.25), "softplus": (1, 20), "elu": (1, 1, 1),
            "hardshrink": (0.5,), "softshrink": (0.5,), "gelu": (), "silu": (), "mish": (), "hardswish": (),
            "hardsigmoid": (), "logit": (0.25,)}
NOT_OF_ELEMENTS = {"glu", "matrix_exp"}
RARE = {"hardshrink", "threshold"}  # theirs would serve, too


def test_these_are_all_ops_of_which_the_result_serves():
    reads_self = ops_whose_backward_reads_self()
    assert {"hardtanh", "leaky_relu", "silu"} <= reads_self
    assert reads_self <= set(SETTINGS) | NOT_OF_ELEMENTS, "an op that this test does not know"
    found = set()
    for name in sorted(reads_self & set(SETTINGS)):
        op, backward = getattr(torch.ops.aten, name), getattr(torch.ops.aten, f"{name}_backward")
        settings = SETTINGS[name]
        extra = {"leaky_relu": (False,), "elu": (False,)}.get(name, ())
        of_backward = settings[:1] if name == "threshold" else settings

        def gradient_of(gradient, x, b=backward, rest=(*of_backward, *extra), is_elu=name == "elu"):
            return b(gradient, *rest, x) if is_elu else b(gradient, x, *rest)
        if serves(lambda x, o=op, s=settings: o(x, *s), gradient_of):
            found.add(name)
    assert found == {"hardtanh", "leaky_relu"} | RARE
