"""A pooling's gradient gets the zeros of the ReLU before it, whose result nobody reads then. Nobody sees a difference."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.recompute import probe
from tests.recompute.probe import bits

pytestmark = pytest.mark.usefixtures("runtime")

LARGE_LIMIT = 1 << 40  # under which nothing is kept in fewer bytes
TYPES = [torch.float32, torch.float64, torch.bfloat16]
FORMS = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}


def image(dtype: torch.dtype, form: torch.memory_format, *size: int) -> torch.Tensor:
    torch.manual_seed(1)
    x = torch.randn(*size, dtype=torch.float64).to(dtype)
    special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), torch.finfo(dtype).tiny]
    x.view(-1)[:6000] = torch.tensor(special, dtype=torch.float64).to(dtype).repeat(1000)
    return x.to(memory_format=form) if x.dim() == 4 else x


def trained(job, source: torch.Tensor, limit: int, evicts: bool):
    """The gradient of `source`, what else `job` gives, and how many tensors were made again."""
    torch.manual_seed(0)
    probe.evict(torch.randn(512) * 2)
    x = source.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    before = probe.counters()["restores"]
    with probe.ops_under(limit):
        rectified, result, seen = job(x * 1)
        evicted = evicts and probe.evict(rectified)
        if result is not None:
            result.backward(torch.linspace(-1, 1, result.numel()).to(result.dtype).view(result.shape))
    others = [bits(one) for one in seen()]
    return (bits(x.grad) if x.grad is not None else b"", others), (probe.counters()["restores"] - before, evicted)


def pools(kernel: int, *more: int, of=F.max_pool2d):
    def job(x):
        rectified = F.relu(x)
        return rectified, of(rectified, kernel, *more) * 1, lambda: []
    return job


SHAPES = [pools(2), pools(3, 2, 1), pools(3, 1, 1), pools(1, 1), pools(3, 2, 0, 2)]
NAMES = ["2x2", "overlapping", "each", "1x1", "dilated"]


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("job", SHAPES, ids=NAMES)
def test_the_relus_result_is_read_by_nobody(job, dtype, form):
    source = image(dtype, FORMS[form], 4, 8, 65, 129)
    plain, _ = trained(job, source, 0, evicts=False)
    assert trained(job, source, LARGE_LIMIT, evicts=True) == (plain, (0, True))


@pytest.mark.parametrize("dtype", TYPES)
def test_also_of_bodies(dtype):
    source = image(dtype, torch.contiguous_format, 2, 4, 24, 24, 24)
    job = pools(2, of=F.max_pool3d)
    plain, _ = trained(job, source, 0, evicts=False)
    assert trained(job, source, LARGE_LIMIT, evicts=True) == (plain, (0, True))


def in_place(x):
    rectified = F.relu_(x)
    return rectified, F.max_pool2d(rectified, 2) * 1, lambda: []


def of_a_network(x):
    torch.manual_seed(2)
    layers = nn.Sequential(nn.Conv2d(8, 8, 3), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.ReLU(),
                           nn.MaxPool2d(3, 1))
    layers.to(x.dtype)
    first = layers[:2](x)
    return first, layers[2:](first), lambda: [one.grad for one in layers.parameters()]


@pytest.mark.parametrize("job", [in_place, of_a_network], ids=lambda job: job.__name__)
def test_nothing_is_made_again(job):
    source = image(torch.float32, torch.contiguous_format, 4, 8, 66, 130).nan_to_num(0, 1, -1)
    plain, _ = trained(job, source, 0, evicts=False)
    assert trained(job, source, LARGE_LIMIT, evicts=True) == (plain, (0, True))


def retained(x):
    rectified = F.relu(x)
    rectified.retain_grad()
    return rectified, F.max_pool2d(rectified, 2) * 1, lambda: [rectified.grad]


def hooked(x):
    rectified, seen = F.relu(x), []
    rectified.register_hook(lambda gradient: seen.append(gradient.clone()))
    return rectified, F.max_pool2d(rectified, 2) * 1, lambda: seen


def hooked_node(x):
    rectified, seen = F.relu(x), []
    rectified.grad_fn.register_prehook(lambda gradients: seen.append(gradients[0].clone()))
    return rectified, F.max_pool2d(rectified, 2) * 1, lambda: seen


def hooked_pooling(x):
    rectified, seen = F.relu(x), []
    pooled = F.max_pool2d(rectified, 2)
    pooled.grad_fn.register_hook(lambda made, given: seen.extend([made[0].clone(), given[0].clone()]))
    return rectified, pooled * 1, lambda: seen


def hooked_module(x):
    seen = []
    pool = nn.MaxPool2d(2)
    pool.register_full_backward_hook(lambda _module, made, given: seen.extend([made[0].clone(), given[0].clone()]))
    rectified = F.relu(x)
    return rectified, pool(rectified) * 1, lambda: seen


def asked_for(x):
    rectified = F.relu(x)
    pooled = F.max_pool2d(rectified, 2)
    found = torch.autograd.grad(pooled, [rectified, x], torch.full_like(pooled, 2))
    return rectified, None, lambda: found


def read_elsewhere(x):
    rectified = F.relu(x)
    return rectified, F.max_pool2d(rectified, 2).sum() + (rectified * rectified).nan_to_num(0, 0, 0).mean(), lambda: []


def pooled_twice(x):
    rectified = F.relu(x)
    return rectified, F.max_pool2d(rectified, 2) + F.max_pool2d(rectified, 4, 2, 1) * 2, lambda: []


def written_afterwards(x):
    rectified = F.relu(x)
    return rectified, F.max_pool2d(rectified, 2).add_(-0.5) * 2, lambda: []


def written_as_data(x):
    rectified = F.relu(x)
    pooled = F.max_pool2d(rectified, 2)
    pooled.data.sub_(0.5)
    return rectified, pooled * 1, lambda: []


def before_another_op(x):
    y = F.leaky_relu(x, 0.5)
    return y, F.max_pool2d(y, 2) * 1, lambda: []


def gone_through_twice(x):
    rectified = F.relu(x)
    pooled = F.max_pool2d(rectified, 2)
    found = [torch.autograd.grad(pooled, x, torch.full_like(pooled, 2), retain_graph=again)[0] for again in (True, False)]
    return rectified, None, lambda: found


def with_a_graph(x):
    rectified = F.relu(x * x)
    found, = torch.autograd.grad(F.max_pool2d(rectified, 2).sum(), x, create_graph=True)
    return rectified, found * 1, lambda: []


def checkpointed(x):
    def block(y):
        return F.max_pool2d(F.relu(y * 2), 2)
    return x, torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) * 1, lambda: []


OTHERS = [retained, hooked, hooked_node, hooked_pooling, hooked_module, asked_for, read_elsewhere, pooled_twice,
          written_afterwards, written_as_data, before_another_op, gone_through_twice, with_a_graph, checkpointed]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("job", OTHERS, ids=lambda job: job.__name__)
def test_nobody_sees_a_difference(job, dtype):
    source = image(dtype, torch.contiguous_format, 4, 8, 64, 128)
    plain, _ = trained(job, source, 0, evicts=False)
    assert trained(job, source, LARGE_LIMIT, evicts=False)[0] == plain
    assert trained(job, source, LARGE_LIMIT, evicts=True)[0] == plain


def test_what_stands_in_does_not_outlive_a_pass_that_is_given_up():
    def forward():
        F.max_pool2d(F.relu(torch.randn(4, 8, 128, 256, requires_grad=True) * 2), 2)
    assert probe.most_held_by(forward, 40, LARGE_LIMIT) < 20 * (4 << 20)


def test_same_bits_with_forced_evictions():
    def train() -> list[bytes]:
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.ReLU(),
                               nn.MaxPool2d(3, 2), nn.Conv2d(8, 4, 3))
        layers(torch.randn(4, 3, 96, 96)).square().sum().backward()
        return [bits(one.grad) for one in layers.parameters()]
    wanted = train()
    assert probe.results_with_evictions(train, 8, LARGE_LIMIT) == [wanted] * 8
