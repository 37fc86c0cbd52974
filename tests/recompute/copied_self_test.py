"""What autograd copies before an op writes over it is seen: it is evicted and made again like any other tensor."""

import pathlib
import re

import pytest
import torch
import torchgen
from torch.nn import functional as F
from torchgen.api.autograd import match_differentiability_info
from torchgen.gen import parse_native_yaml
from torchgen.model import SchemaKind
from torchgen.packaged.autograd.load_derivatives import load_derivatives

from tests.recompute import probe
from tests.recompute.probe import bits

LIST = pathlib.Path(__file__).resolve().parents[2] / "recompute/ops/copied_self.h"


def test_the_list_is_that_of_pytorchs_derivatives():
    packaged = pathlib.Path(torchgen.__file__).parent / "packaged"
    functions, tags = (str(packaged / "ATen/native" / name) for name in ("native_functions.yaml", "tags.yaml"))
    derivatives, _ = load_derivatives(str(packaged / "autograd/derivatives.yaml"), functions, tags)
    found = set()
    for one in match_differentiability_info(parse_native_yaml(functions, tags).native_functions, derivatives):
        info = one.info and one.info.get("Default")
        if one.func.func.kind() != SchemaKind.inplace or info is None:
            continue
        if any(str(saved.nctype.name) == "self" for saved in info.all_saved_inputs):
            found.add(str(one.func.func.name.name))
    listed = set(re.findall(r'Name\("(\w+)"\)', LIST.read_text()))
    assert listed == {name for name in found if not name.startswith("_foreach_")} and "hardtanh_" in listed


IN_PLACE = {
    "relu6": lambda x: F.relu6(x, inplace=True), "silu": lambda x: F.silu(x, inplace=True),
    "hardswish": lambda x: F.hardswish(x, inplace=True), "mish": lambda x: F.mish(x, inplace=True),
    "hardsigmoid": lambda x: F.hardsigmoid(x, inplace=True), "threshold": lambda x: F.threshold(x, 0.1, 2, True),
    "product": lambda x: x.mul_(x.detach() + 1), "clamp": lambda x: x.clamp_(-1, 1), "power": lambda x: x.pow_(3),
    "of a view": lambda x: (F.hardtanh_(x[1:]), x)[1],
}


def train(op) -> list[bytes]:
    torch.manual_seed(0)
    weight = torch.randn(64, 64, requires_grad=True)
    x = torch.randn(32, 64)
    for _ in range(3):
        x = op(x @ weight)
    x.square().sum().backward()
    return [bits(weight.grad), bits(x.detach())]


@pytest.mark.parametrize("op", list(IN_PLACE))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_same_bits_with_evictions(op, seed):
    wanted = train(IN_PLACE[op])
    with probe.installed(every=1, seed=seed):
        assert train(IN_PLACE[op]) == wanted


@pytest.mark.usefixtures("runtime")
def test_the_copy_is_evicted_and_made_again():
    x = torch.randn(64, 64, requires_grad=True)
    y = F.hardtanh_(x * 2)
    saved = y.grad_fn._saved_self
    wanted = bits(saved * 1)  # its own bytes would be pinned for being looked at
    assert probe.evict(saved) and probe.is_evicted(saved)
    assert bits(saved * 1) == wanted


@pytest.mark.usefixtures("runtime")
def test_without_gradients_nothing_is_copied():
    x = torch.randn(1 << 20)
    with torch.no_grad(), probe.limited(0) as most:
        F.hardtanh_(x)
        assert most() < x.nbytes
