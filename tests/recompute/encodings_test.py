"""What the backward pass needs of a pooling and of a dropout is the same in fewer bytes."""

import pytest
import torch
from torch.nn import functional as F

from tests.recompute import probe
from tests.recompute.probe import bits

pytestmark = pytest.mark.usefixtures("runtime")

MIB = 1 << 20
SMALL_LIMIT = 8  # bytes: all that is large enough is encoded, once something was evicted
TYPES = [torch.float32, torch.float64, torch.bfloat16]
FORMATS = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}


def evict_something():
    leaf = torch.randn(512)
    made = leaf * 2
    assert probe.evict(made)


def trained(job, source: torch.Tensor, limit: int, evicts: bool = True):
    """The gradient of `source`, what was encoded, and how many tensors had to be made again."""
    torch.manual_seed(0)
    evict_something()
    x = source.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    before = probe.counters()
    probe.library.probe_note_limit(limit)
    kept, result = job(x * 1)
    for one in kept if evicts else ():
        assert probe.evict(one)
    result.backward(torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view(result.shape))
    probe.library.probe_note_limit(0)
    after = probe.counters()
    return bits(x.grad), after["encodings"] - before["encodings"], after["restores"] - before["restores"]


def image(dtype, form, *size) -> torch.Tensor:
    torch.manual_seed(1)
    x = torch.randn(*size, dtype=dtype)
    x.view(-1)[:5] = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan")], dtype=dtype)
    return x.to(memory_format=form)


def pools(kernel: int, *more):
    def job(x):
        rectified = F.relu(x)
        result, indices = F.max_pool2d(rectified, kernel, *more, return_indices=True)
        return (rectified, indices), result * 1
    return job


@pytest.mark.parametrize("form", list(FORMATS))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [(4, 8, 257, 129), (2, 3, 300, 290), (8, 64, 40, 41)], ids=str)
@pytest.mark.parametrize("job", [pools(2), pools(3, 2, 1), pools(1, 1)], ids=["2x2", "overlapping", "1x1"])
def test_a_relu_before_a_pooling(job, size, dtype, form):
    """Of 300 x 290 elements the indices need 32 bits."""
    source = image(dtype, FORMATS[form], *size)
    plain, none, _ = trained(job, source, 0, evicts=False)
    packed, encoded, restores = trained(job, source, SMALL_LIMIT)
    assert plain == packed and none == 0
    large = job(source)[0][1].nbytes >= MIB
    assert encoded >= int(large) and (restores == 0 or not large)


def test_both_are_read_by_nobody_then():
    source = image(torch.float32, torch.contiguous_format, 8, 8, 512, 128)
    assert trained(pools(2), source, SMALL_LIMIT)[1:] == (1, 0)
    assert trained(pools(2), source, 1 << 40)[1:] == (0, 2), "the indices are made from it"


def drops(x):
    mask = None

    def hook(result):
        nonlocal mask
        mask = result
    kept = torch.ops.aten.native_dropout(x, 0.3, True)
    hook(kept[1])
    return (mask,), kept[0] * 1


@pytest.mark.parametrize("size", [(8, 64, 64, 64), (1, 8, 64, 64, 64)], ids=["one", "batch"])
def test_indices_in_a_body_need_more_bits_than_in_its_slices(size):
    def job(x):
        rectified = F.relu(x)
        result, indices = F.max_pool3d(rectified, 2, return_indices=True)
        assert indices.max() > 0xFFFF > 64 * 64
        return (rectified, indices), result * 1
    source = image(torch.float32, torch.contiguous_format, *size)
    plain, _, _ = trained(job, source, 0, evicts=False)
    assert trained(job, source, SMALL_LIMIT) == (plain, 1, 0)


@pytest.mark.parametrize("elements", [8 * MIB, 3 * MIB + 5])
def test_the_mask_of_a_dropout(elements):
    source = torch.randn(elements)
    plain, none, _ = trained(drops, source, 0, evicts=False)
    packed, encoded, restores = trained(drops, source, SMALL_LIMIT)
    assert plain == packed and (none, encoded, restores) == (0, 1, 0)


def skips(x):
    rectified = F.relu(x)
    return (), F.max_pool2d(rectified, 2).sum() + (rectified * rectified).mean()


def in_place(x):
    rectified = F.relu_(x)
    return (rectified,), F.max_pool2d(rectified, 2) * 1


def pools_twice(x):
    rectified = F.relu(x)
    return (), F.max_pool2d(rectified, 2) + F.max_pool2d(rectified, 2, padding=0) * 2


def has_another_threshold(x):
    rectified = F.threshold(F.relu(x), 0.5, 0.25)
    return (), F.max_pool2d(rectified, 2) * 1


def checkpoints(x):
    def block(y):
        return F.max_pool2d(F.relu(y * 2), 2)
    return (), torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) * 1


@pytest.mark.parametrize("job", [skips, in_place, pools_twice, has_another_threshold, checkpoints],
                         ids=lambda job: job.__name__)
def test_jobs_that_use_more_of_it(job):
    source = image(torch.float32, torch.contiguous_format, 8, 8, 512, 128).nan_to_num(0, 1, -1)
    plain, _, _ = trained(job, source, 0, evicts=False)
    assert trained(job, source, SMALL_LIMIT)[0] == plain


def test_a_graph_that_is_kept_is_gone_through_twice():
    def twice(limit: int):
        evict_something()
        x = image(torch.float32, torch.contiguous_format, 8, 8, 512, 128).nan_to_num(0, 1, -1).requires_grad_()
        probe.library.probe_note_limit(limit)
        result = F.max_pool2d(F.relu(x * 1), 2).sum()
        result.backward(retain_graph=True)
        result.backward()
        probe.library.probe_note_limit(0)
        return bits(x.grad)
    assert twice(0) == twice(SMALL_LIMIT)


def test_it_goes_with_the_tensor():
    evict_something()
    x = torch.randn(8, 8, 512, 128, requires_grad=True)
    held = probe.library.probe_held()
    probe.library.probe_note_limit(SMALL_LIMIT)
    for _ in range(3):
        result = F.max_pool2d(F.relu(x), 2)
        del result
        for _ in range(64):
            torch.ones(8).add(1)
    probe.library.probe_note_limit(0)
    assert probe.library.probe_held() - held < MIB


def test_what_is_small_is_left_as_it_is():
    assert trained(pools(2), torch.randn(1, 8, 64, 64), SMALL_LIMIT)[1] == 0
