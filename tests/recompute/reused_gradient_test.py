"""The backward pass of an elementwise op writes over a gradient that nobody else has, over no other, with the same bits."""

import pytest
import torch
from torch.nn import functional as F

from tests.recompute import probe
from tests.recompute.probe import bits

pytestmark = pytest.mark.usefixtures("runtime")

MIB = 1 << 20
OPS = {
    "relu": F.relu, "relu in place": lambda x: F.relu_(x.clone()), "relu6": F.relu6, "hardtanh": F.hardtanh,
    "relu6 in place": lambda x: F.relu6(x.clone(), inplace=True), "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "gelu": F.gelu,
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "leaky relu": F.leaky_relu, "leaky relu in place": lambda x: F.leaky_relu_(x.clone()), "elu": F.elu,
    "elu in place": lambda x: F.elu_(x.clone()), "celu": F.celu, "softplus": F.softplus, "softshrink": F.softshrink,
    "hardshrink": F.hardshrink, "hardsigmoid": F.hardsigmoid,
}
SOFTMAXES = {  # along the last dimension and another one
    "softmax": lambda x: F.softmax(x, 3), "softmax of channels": lambda x: F.softmax(x, 1),
    "log-softmax": lambda x: F.log_softmax(x, 3), "log-softmax of channels": lambda x: F.log_softmax(x, 1)}
FORMATS = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}


def edges(dtype, form) -> torch.Tensor:
    """With zeros of both signs, infinities, NaN and the bounds of the ops."""
    torch.manual_seed(0)
    x = torch.randn(2, 4, 5, 7, dtype=dtype)
    values = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 6, -1, 1, 0.5, -0.5, 3, -3]
    x.view(-1)[:12] = torch.tensor(values, dtype=dtype)
    return x.to(memory_format=form)


def gradients(op, dtype, form, limit: int):
    """That of the op's input, and the most memory that the backward pass took, in tensors."""
    source = edges(dtype, form).requires_grad_()
    result = op(source) * 1
    given = torch.randn(result.shape, dtype=dtype)
    given.view(-1)[5:9] = torch.tensor([-0.0, float("nan"), float("inf"), 0.0], dtype=dtype)
    given = given.to(memory_format=form)
    probe.library.probe_note_limit(limit)
    with probe.limited(0) as most:
        result.backward(given)
        tensors = round(most() / given.nbytes)
    probe.library.probe_note_limit(0)
    return source.grad, tensors


@pytest.mark.parametrize("op", list(OPS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("form", list(FORMATS))
def test_same_bits(op, dtype, form):
    plain, in_plain = gradients(OPS[op], dtype, FORMATS[form], 0)
    made, in_place = gradients(OPS[op], dtype, FORMATS[form], 8)
    assert (in_plain, in_place) == (2, 1)
    assert bits(plain) == bits(made) and plain.stride() == made.stride()


@pytest.mark.parametrize("op", list(SOFTMAXES))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_softmaxes_have_the_same_bits(op, dtype):
    plain, in_plain = gradients(SOFTMAXES[op], dtype, torch.contiguous_format, 0)
    made, in_place = gradients(SOFTMAXES[op], dtype, torch.contiguous_format, 8)
    assert in_place < in_plain and bits(plain) == bits(made) and plain.stride() == made.stride()


@pytest.mark.parametrize("op", ["softmax", "log-softmax of channels"])
def test_a_softmax_whose_result_has_another_layout_makes_a_new_one(op):
    plain, in_plain = gradients(SOFTMAXES[op], torch.float32, torch.channels_last, 0)
    made, in_place = gradients(SOFTMAXES[op], torch.float32, torch.channels_last, 8)
    assert in_place == in_plain and bits(plain) == bits(made) and plain.stride() == made.stride()


def test_a_softmax_whose_result_has_another_type_makes_a_new_one():
    def train(limit: int) -> bytes:
        x = edges(torch.bfloat16, torch.contiguous_format).requires_grad_()
        result = F.log_softmax(x, 3, dtype=torch.float32)
        probe.library.probe_note_limit(limit)
        result.backward(torch.linspace(-1, 1, x.numel()).view(x.shape))
        probe.library.probe_note_limit(0)
        return bits(x.grad)
    assert train(0) == train(8)


def test_the_loss_of_many_classes_takes_a_tensor_less():
    def most(limit: int) -> tuple[bytes, float]:
        torch.manual_seed(0)
        x, classes = torch.randn(64, 5000, requires_grad=True), torch.randint(5000, (64,))
        loss = F.cross_entropy(x * 2, classes)
        probe.library.probe_note_limit(limit)
        with probe.limited(0) as held:
            loss.backward()
            tensors = held() / x.nbytes
        probe.library.probe_note_limit(0)
        return bits(x.grad), tensors
    plain, written_over = most(0), most(8)
    assert plain[0] == written_over[0] and written_over[1] <= plain[1] - 0.9


def test_only_a_call_that_is_more_than_an_eighth_of_the_limit_does():
    bytes_of_call = 3 * edges(torch.float32, torch.contiguous_format).nbytes
    for limit, tensors in ((8 * bytes_of_call - 1, 1), (8 * bytes_of_call, 2)):
        assert gradients(F.relu, torch.float32, torch.contiguous_format, limit)[1] == tensors


def fans_out(x, kept):
    return F.relu(x) + x


def is_hooked(x, kept):
    y = F.relu(x)
    y.register_hook(kept.append)
    return y


def retains(x, kept):
    y = F.relu(x)
    y.retain_grad()
    kept.append(y)
    return y


def has_a_hook_on_its_node(x, kept):
    y = F.relu(x)
    y.grad_fn.register_hook(lambda inputs, outputs: kept.extend(outputs))
    return y


def has_a_hook_before_its_node(x, kept):
    y = F.relu(x)
    y.grad_fn.register_prehook(lambda outputs: kept.extend(outputs))
    return y


class Own(torch.autograd.Function):
    """Needs the gradient after PyTorch's op has read it."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.relu(x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(gradient, x, 0) + gradient


def calls_it_itself(x, kept):
    return Own.apply(x)


def has_views_of_it(x, kept):
    y = F.relu(x)
    y.register_hook(lambda gradient: kept.append(gradient[:1]))
    return y


@pytest.mark.parametrize("job", [fans_out, is_hooked, retains, has_a_hook_on_its_node, has_a_hook_before_its_node,
                                 calls_it_itself, has_views_of_it], ids=lambda job: job.__name__)
def test_a_gradient_that_others_have_is_left_alone(job):
    def train(limit: int):
        kept, x = [], edges(torch.float32, torch.contiguous_format).requires_grad_()
        result = job(x * 2, kept) * 3
        probe.library.probe_note_limit(limit)
        result.backward(torch.linspace(-1, 1, result.numel()).view(result.shape))
        probe.library.probe_note_limit(0)
        return [bits(one.grad if one.requires_grad else one) for one in [x, *kept]]
    plain, limited = train(0), train(8)
    assert plain == limited and (len(plain) > 1 or job in (fans_out, calls_it_itself))


def test_a_graph_of_the_backward_pass_keeps_all_gradients():
    def second(limit: int):
        x = edges(torch.float64, torch.contiguous_format).clamp(-2, 2).nan_to_num().requires_grad_()
        probe.library.probe_note_limit(limit)
        first, = torch.autograd.grad((torch.tanh(x * 2) * x).sum(), x, create_graph=True)
        first.square().sum().backward()
        probe.library.probe_note_limit(0)
        return bits(x.grad)
    assert second(0) == second(8)


def test_what_was_written_over_a_gradient_is_evicted_and_made_again():
    def train(limit: int):
        evicted = []
        torch.manual_seed(0)
        x, weight = torch.randn(4, 64, requires_grad=True), torch.randn(4, 64)
        scaled = x * 2
        scaled.register_hook(lambda gradient: evicted.append(probe.evict(gradient)))
        result = F.relu(scaled) * weight
        probe.library.probe_note_limit(limit)
        result.backward(torch.ones_like(result) * 3)
        probe.library.probe_note_limit(0)
        return bits(x.grad), evicted
    assert train(0) == train(8) and train(8)[1] == [True]


def trains_within(more: int, limit: int) -> bool:
    """All tensors are 4 MiB."""
    x, gradient = torch.randn(MIB, requires_grad=True), torch.randn(MIB)
    result = F.relu(x * 2) * 3
    return probe.runs_within(lambda: result.backward(gradient), more, limit) and x.grad is not None


def test_it_takes_a_tensor_less():
    def least(limit: int) -> int:
        return next(more for more in range(-8 * MIB, 24 * MIB, MIB // 2 + 1) if trains_within(more, limit))
    assert least(16 * MIB) <= least(1 << 40) - 4 * MIB
