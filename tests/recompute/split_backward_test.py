"""A convolution's backward pass in two calls leaves the same bits as in one, for every kind of convolution that PyTorch has
on the CPU; and the input is not in memory while its gradient is made.
"""

import pytest
import torch
from torch.nn import functional as F

from tests.recompute import probe
from tests.recompute.probe import data

pytestmark = pytest.mark.usefixtures("runtime")

MIB = 1 << 20
KINDS = {
    "3x3": (F.conv2d, (2, 8, 9, 9), (6, 8, 3, 3), {"padding": 1}),
    "1x1": (F.conv2d, (2, 8, 9, 9), (6, 8, 1, 1), {}),
    "strided": (F.conv2d, (2, 8, 9, 9), (6, 8, 3, 3), {"stride": 2}),
    "dilated": (F.conv2d, (2, 8, 9, 9), (6, 8, 3, 3), {"dilation": 2}),
    "grouped": (F.conv2d, (2, 8, 9, 9), (6, 4, 3, 3), {"groups": 2}),
    "depthwise": (F.conv2d, (2, 8, 9, 9), (8, 1, 3, 3), {"groups": 8, "padding": 1}),
    "1d": (F.conv1d, (2, 8, 19), (6, 8, 3), {}),
    "3d": (F.conv3d, (2, 4, 5, 6, 7), (6, 4, 3, 3, 3), {}),
    "transposed": (F.conv_transpose2d, (2, 8, 9, 9), (8, 6, 3, 3), {"stride": 2}),
    "transposed 3d": (F.conv_transpose3d, (2, 4, 4, 4, 4), (4, 6, 3, 3, 3), {}),
    "unbatched": (F.conv2d, (8, 9, 9), (6, 8, 3, 3), {}),
}
FORMATS = {"as it is": lambda x: x,
           "channels last": lambda x: x.to(memory_format=torch.channels_last) if x.dim() == 4 else x,
           "transposed": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2)}


def gradients(kind: str, dtype: torch.dtype, form: str, bias: bool, wanted: tuple[bool, bool]):
    apply, size, weight, options = KINDS[kind]
    torch.manual_seed(0)
    x = FORMATS[form](torch.randn(size, dtype=dtype)).detach().requires_grad_(wanted[0])
    weight = torch.randn(weight, dtype=dtype, requires_grad=wanted[1])
    outputs = weight.shape[0] if "transposed" not in kind else weight.shape[1]
    bias = torch.randn(outputs, dtype=dtype, requires_grad=True) if bias else None
    result = apply(x, weight, bias, **options)
    result.backward(torch.randn(result.shape, dtype=dtype))
    return [one.grad for one in (x, weight, bias) if one is not None and one.requires_grad]


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_same_bits(kind, dtype):
    torch.set_num_threads(1)
    split = 0
    for form in FORMATS:
        for bias in (False, True):
            for wanted in ((True, True), (True, False), (False, True)):
                probe.library.probe_note_limit(0)
                before = probe.counters()["ops"]
                whole = gradients(kind, dtype, form, bias, wanted)
                between = probe.counters()["ops"]
                probe.library.probe_note_limit(8)
                parts = gradients(kind, dtype, form, bias, wanted)
                probe.library.probe_note_limit(0)
                more = probe.counters()["ops"] - between - (between - before)
                assert more == int(wanted[0] and (wanted[1] or bias)), (form, bias, wanted)
                split += more
                for one, other in zip(whole, parts, strict=True):
                    assert torch.equal(one, other) and one.stride() == other.stride(), (form, bias, wanted)
    assert split == 3 * 3, split


def test_a_graph_of_the_backward_pass_has_one_node_for_it():
    x, weight = data(2, 8, 9, 9).requires_grad_(), data(6, 8, 3, 3).requires_grad_()
    probe.library.probe_note_limit(8)
    gradient, = torch.autograd.grad(F.conv2d(x, weight).square().sum(), x, create_graph=True)
    probe.library.probe_note_limit(0)
    assert type(gradient.grad_fn).__name__ == "ConvolutionBackwardBackward0"
    gradient.sum().backward()
    assert weight.grad is not None


def trains_within(more: int, limit: int) -> bool:
    """Input, output, gradient and the input's gradient are 4 MiB each; the input and the output can be evicted."""
    source, weight = data(1, 16, 256, 256).requires_grad_(), data(16, 16, 3, 3).requires_grad_()
    result = F.conv2d(source * 2, weight, padding=1)
    gradient = data(*result.shape)
    if not probe.runs_within(lambda: result.backward(gradient), more, limit):
        return False
    return source.grad is not None and weight.grad is not None


def test_the_input_need_not_be_there_while_its_gradient_is_made():
    def least(limit: int) -> int:
        return next(more for more in range(-4 * MIB, 20 * MIB, MIB // 2 + 1) if trains_within(more, limit))
    assert least(16 * MIB) <= least(1 << 40) - 4 * MIB
